// Creates elements. Text becomes HTML only in `trustHtml`, and only if the
// server rendered it.

const SVG = "http://www.w3.org/2000/svg";

/** Creates an HTML element; `onclick` and the like are listeners, empty values are left out. */
export function el(tag, props, ...children) {
  const node = document.createElement(tag);
  for (const [name, value] of Object.entries(props || {})) {
    if (isEmpty(value)) continue;
    if (name.startsWith("on")) node.addEventListener(name.slice(2), value);
    else if (name === "class") node.className = value;
    else node.setAttribute(name, value === true ? "" : value);
  }
  node.append(...children.flat(9).filter((child) => !isEmpty(child)));
  return node;
}

/** Creates an SVG element. */
export function svg(tag, props, ...children) {
  const node = document.createElementNS(SVG, tag);
  for (const [name, value] of Object.entries(props || {})) {
    if (!isEmpty(value)) node.setAttribute(name, value);
  }
  node.append(...children.flat(9).filter((child) => !isEmpty(child)));
  return node;
}

/** Returns whether a property or a child is left out; 0 and "" are kept. */
function isEmpty(value) {
  return value === null || value === undefined || value === false;
}

// The page's policy allows one creator of HTML, under this name.
const htmlPolicy = window.trustedTypes
  ? trustedTypes.createPolicy("rendered", { createHTML: (html) => html })
  : { createHTML: (html) => html };

/** Marks HTML as safe to insert. Only for HTML that the server rendered. */
export function trustHtml(html) {
  return htmlPolicy.createHTML(html);
}
