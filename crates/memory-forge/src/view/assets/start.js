// Starts the page: navigation, theme, shortcuts, and the first page.

import { copy } from "./copy.js";
import { el } from "./dom.js";
import { auditPage } from "./pages/audit.js";
import { documentPage } from "./pages/document.js";
import { documentsPage } from "./pages/documents.js";
import { fleetPage } from "./pages/fleet.js";
import { graphPage } from "./pages/graph.js";
import { overviewPage } from "./pages/overview.js";
import { searchPage } from "./pages/search.js";
import { timelinePage } from "./pages/timeline.js";
import { refresh, startRouter } from "./router.js";
import { hasTokenInAddress, onTokenShared, takeToken } from "./server.js";

/** The time in which the second key of `g s` must follow. */
const KEY_SEQUENCE_MS = 1500;
const THEMES = ["auto", "light", "dark"];

const allPages = [
  overviewPage,
  searchPage,
  graphPage,
  timelinePage,
  documentsPage,
  documentPage,
  auditPage,
  fleetPage,
];
// Other workspaces are not part of a copy.
const pages = copy ? allPages.filter((page) => page !== fleetPage) : allPages;
/** Pages with a key are in the navigation. */
const mainPages = pages.filter((page) => page.key);

showNavigation();
showThemeSwitch();
listenForShortcuts(showShortcutDialog());
window.addEventListener("hashchange", () => {
  // A second run of `view` may give its address to this tab.
  if (hasTokenInAddress()) takeToken();
  refresh();
});
if (!copy) {
  onTokenShared(refresh);
  takeToken();
}
startRouter(pages);

function showNavigation() {
  for (const { name, title, key } of mainPages) {
    const hint = el("kbd", { "aria-hidden": "true" }, `g ${key}`);
    document.getElementById("nav").append(el("a", { href: `#/${name}`, "data-page": name }, title, hint));
  }
}

function showThemeSwitch() {
  const root = document.documentElement;
  const button = document.getElementById("theme");
  const theme = () => root.dataset.theme || "auto";
  const showLabel = () => {
    button.textContent = `Theme: ${theme()}`;
  };
  button.addEventListener("click", () => {
    const next = THEMES[(THEMES.indexOf(theme()) + 1) % THEMES.length];
    if (next === "auto") delete root.dataset.theme;
    else root.dataset.theme = next;
    writeSetting("theme", next);
    showLabel();
    window.dispatchEvent(new Event("themechange"));
  });
  showLabel();
}

/** Fills the dialog that lists the shortcuts; returns it with its switch. */
function showShortcutDialog() {
  const dialog = document.getElementById("shortcuts");
  const shortcuts = [
    ["/", "Search"],
    ...mainPages.map((page) => [`g ${page.key}`, page.title]),
    ["e", "Edit the document"],
    ["Esc", "Leave a field, close this dialog"],
    ["?", "Show these shortcuts"],
  ];
  const rows = shortcuts.map(([keys, action]) => {
    const shown = keys.split(" ").map((key) => [el("kbd", null, key), " "]);
    return el("tr", null, el("td", null, shown), el("td", null, action));
  });
  const enabled = el("input", {
    type: "checkbox",
    onchange: () => writeSetting("shortcuts", enabled.checked ? "on" : "off"),
  });
  enabled.checked = readSetting("shortcuts") !== "off";
  dialog.append(
    el("h2", { id: "shortcuts-title" }, "Keyboard shortcuts"),
    el("table", null, el("tbody", null, rows)),
    el(
      "p",
      { class: "row spread" },
      el("label", { class: "row" }, enabled, "Shortcuts on"),
      el("button", { type: "button", onclick: () => dialog.close() }, "Close"),
    ),
  );
  document.getElementById("help").addEventListener("click", () => dialog.showModal());
  return { dialog, enabled };
}

function listenForShortcuts({ dialog, enabled }) {
  let sequenceStart = 0;
  const actions = {
    g: () => {
      sequenceStart = Date.now();
    },
    "?": () => dialog.showModal(),
    "/": () => {
      const field = document.querySelector("main input[type=search]");
      if (field) field.focus();
      else location.hash = "#/search";
    },
    e: () => {
      const button = document.getElementById("edit");
      if (button && !button.disabled) button.click();
    },
  };
  document.addEventListener("keydown", (event) => {
    const isTyping = event.target.closest?.("input, textarea, select");
    if (event.key === "Escape" && isTyping) event.target.blur();
    if (!enabled.checked || isTyping || dialog.open || event.ctrlKey || event.metaKey || event.altKey) return;
    const isSequence = Date.now() - sequenceStart < KEY_SEQUENCE_MS;
    sequenceStart = 0;
    const page = isSequence && mainPages.find((it) => it.key === event.key);
    const action = isSequence ? page && (() => openPage(page)) : actions[event.key];
    if (!action) return;
    event.preventDefault();
    action();
  });
}

function openPage(page) {
  location.hash = `#/${page.name}`;
}

function readSetting(name) {
  try {
    return localStorage.getItem(name);
  } catch {
    return null;
  }
}

function writeSetting(name, value) {
  try {
    localStorage.setItem(name, value);
  } catch {
    // Without storage the setting lasts as long as the page.
  }
}
