// Shows a document that the server rendered as HTML, with its images.

import { copy } from "./copy.js";
import { el, trustHtml } from "./dom.js";
import { request } from "./server.js";

/** Creates the element of a rendered document. */
export function prose(html) {
  const node = el("div", { class: "prose" });
  node.innerHTML = trustHtml(html);
  for (const image of node.querySelectorAll("img[data-path]")) loadImage(image);
  return node;
}

/** Loads an image by a request, since `src` alone would not send the token. */
async function loadImage(image) {
  const path = image.dataset.path;
  if (copy) {
    if (Object.hasOwn(copy.files, path)) image.src = copy.files[path];
    return;
  }
  try {
    const response = await request(`image?path=${encodeURIComponent(path)}`);
    image.src = URL.createObjectURL(await response.blob());
    image.addEventListener("load", () => URL.revokeObjectURL(image.src), { once: true });
  } catch (error) {
    image.alt += ` (${error.message})`;
  }
}
