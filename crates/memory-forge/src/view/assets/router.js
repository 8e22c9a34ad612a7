// Shows the page that the fragment of the address names.

import { el } from "./dom.js";
import { heading } from "./widgets.js";

/** Faster answers show no "Loading", which would only flicker. */
const LOADING_DELAY_MS = 150;

let pages = [];
let main = null;
/** The number of the latest navigation; answers to earlier ones are dropped. */
let navigation = 0;
let shownHash = "";
let leavePage = null;
let hasUnsavedText = () => false;

/** Takes the pages and shows the current one; the first page is the default. */
export function startRouter(allPages) {
  pages = allPages;
  main = document.getElementById("main");
  window.addEventListener("beforeunload", (event) => {
    if (hasUnsavedText()) event.preventDefault();
  });
  refresh();
}

/** Replaces the address without showing the page again. */
export function replaceAddress(hash) {
  shownHash = hash;
  history.replaceState(null, "", hash);
}

/** Sets the check that asks before unsaved text is lost; null removes it. */
export function guardUnsaved(check) {
  hasUnsavedText = check || (() => false);
}

/** Returns false if the user wants to keep the unsaved text. */
export function confirmDiscard() {
  return !hasUnsavedText() || confirm("Discard unsaved changes?");
}

/** Shows the page of the current address, again if it is shown already. */
export async function refresh() {
  if (location.hash === "#main") {
    main.focus();
    return;
  }
  const isSamePlace = location.hash === shownHash;
  if (!isSamePlace && !confirmDiscard()) {
    history.replaceState(null, "", shownHash);
    return;
  }
  guardUnsaved(null);
  shownHash = location.hash;
  navigation += 1;
  const current = navigation;
  leavePage?.();
  leavePage = null;
  const place = parsePlace(location.hash);
  const page = pages.find((it) => it.name === place.name) || pages[0];
  document.title = `${page.title} · Memory Forge`;
  markCurrentLink(page);
  const visit = {
    isOver: () => navigation !== current,
    onLeave: (callback) => {
      leavePage = callback;
    },
  };
  const waiting = setTimeout(() => {
    if (visit.isOver()) return;
    main.replaceChildren(el("p", { class: "loading", role: "status" }, "Loading …"));
  }, LOADING_DELAY_MS);
  try {
    const content = await page.show(place, visit);
    clearTimeout(waiting);
    if (visit.isOver()) return;
    main.replaceChildren(...[content].flat().filter(Boolean));
    if (page.name === "document") document.title = `${pageTitle()} · Memory Forge`;
    placeFocus(isSamePlace);
    const target = document.getElementById(place.params.get("at") || "");
    target?.scrollIntoView();
  } catch (error) {
    clearTimeout(waiting);
    if (visit.isOver() || error.name === "AbortError") return;
    showError(error);
  }
}

/** Splits `#/name/rest?params`. */
function parsePlace(hash) {
  const [path, search] = hash.replace(/^#\/?/, "").split("?");
  const [name, ...rest] = path.split("/");
  return {
    name: name || "overview",
    rest: rest.map(decodeURIComponent).join("/"),
    params: new URLSearchParams(search || ""),
  };
}

function markCurrentLink(page) {
  // One document belongs to the list of documents.
  const name = page.name === "document" ? "documents" : page.name;
  for (const link of document.querySelectorAll("#nav a")) {
    if (link.dataset.page === name) link.setAttribute("aria-current", "page");
    else link.removeAttribute("aria-current");
  }
}

function pageTitle() {
  return main.querySelector("h1")?.textContent || "";
}

/** Moves the focus into a new page; a page that is drawn again keeps its place. */
function placeFocus(isSamePlace) {
  const field = main.querySelector("[autofocus]");
  if (field) {
    field.focus();
  } else if (!isSamePlace) {
    main.querySelector("h1")?.focus({ preventScroll: true });
    window.scrollTo(0, 0);
  }
}

function showError(error) {
  const message = el("p", { class: "note bad" }, error.message);
  if (error.status === 401) {
    const command = el("code", null, "memory-forge view");
    const advice = el("p", null, "Open the address that ", command, " printed; it ends with the token.");
    main.replaceChildren(heading("This tab has no token"), message, advice);
  } else {
    main.replaceChildren(heading("Something went wrong"), message);
  }
}
