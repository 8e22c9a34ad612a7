// Parts that several pages share: headings, pills, notes, tables, diffs, toasts.

import { el } from "./dom.js";
import { plural } from "./format.js";

const TOAST_MS = 6000;
const TOAST_WITH_ACTION_MS = 20000;
/** Longer runs of one kind of line are folded after their first lines. */
const MAX_RUN_LINES = 16;
const FOLDED_RUN_LINES = 8;
const DIFF_CLASSES = { "+": "add", "-": "del", "@": "hunk" };

/** The class of a pill by the level of a finding. */
export const LEVEL_CLASSES = { critical: "bad", warning: "warn", notice: "" };

/** Creates the heading of a page, which takes the focus when the page opens. */
export function heading(title, ...rest) {
  return el("div", { class: "head" }, el("h1", { tabindex: "-1" }, title), ...rest);
}

/** Creates a small label. */
export function pill(kind, text) {
  return el("span", { class: `pill ${kind}` }, text);
}

/** Returns the address of a document, or of one of its headings. */
export function documentAddress(path, headingId) {
  const place = `#/document/${path.split("/").map(encodeURIComponent).join("/")}`;
  return headingId ? `${place}?at=${encodeURIComponent(headingId)}` : place;
}

/** Creates a link to a document. */
export function documentLink(path, label, props) {
  return el("a", { href: documentAddress(path), ...props }, label || path);
}

/** Creates "8 more changes", or nothing if none is left out. */
export function moreNote(n, one, many = `${one}s`) {
  return n > 0 ? el("p", { class: "note" }, plural(n, `more ${one}`, `more ${many}`)) : null;
}

/**
 * Creates a table that scrolls on narrow screens. A column is a title, or a
 * title with a class; a cell is a child, or a `td` of its own.
 */
export function table(label, columns, rows) {
  const heads = columns.map((column) => {
    const [title, kind] = [column].flat();
    return el("th", { scope: "col", class: kind }, title);
  });
  const body = rows.map((cells) =>
    el(
      "tr",
      null,
      cells.map((cell, i) => el("td", { class: [columns[i]].flat()[1] }, cell)),
    ),
  );
  return el(
    "div",
    { class: "table", tabindex: "0", role: "group", "aria-label": label },
    el("table", null, el("thead", null, el("tr", null, heads)), el("tbody", null, body)),
  );
}

/** Shows a message for some seconds, with a button if there is an action. */
export function toast(text, action) {
  const run = () => {
    node.remove();
    action.run();
  };
  const node = el(
    "div",
    { class: "toast" },
    el("span", null, text),
    action && el("button", { type: "button", onclick: run }, action.label),
  );
  document.getElementById("toasts").append(node);
  setTimeout(() => node.remove(), action ? TOAST_WITH_ACTION_MS : TOAST_MS);
}

/** Creates a unified diff; `rows` are pairs of sign and text. */
export function diffView({ rows, leftOut }) {
  return el(
    "div",
    { class: "diff", tabindex: "0", role: "group", "aria-label": "Changes" },
    runsOfLines(rows).map(diffRun),
    leftOut > 0 && el("div", { class: "hunk" }, `… ${plural(leftOut, "more line")}`),
  );
}

function diffRun(run) {
  const kind = DIFF_CLASSES[run[0][0]] || "";
  const lines = run.map(([sign, text]) =>
    el("div", { class: kind }, sign === "@" ? sign + text : [el("span", { class: "sign" }, sign), text]),
  );
  if (lines.length <= MAX_RUN_LINES) return lines;
  const summary = el("summary", null, plural(lines.length - FOLDED_RUN_LINES, "more line"));
  return [
    lines.slice(0, FOLDED_RUN_LINES),
    el("details", { class: kind }, summary, lines.slice(FOLDED_RUN_LINES)),
  ];
}

/** Groups neighbouring rows of one sign. */
function runsOfLines(rows) {
  const runs = [];
  for (const row of rows) {
    const last = runs.at(-1);
    if (last && last[0][0] === row[0]) last.push(row);
    else runs.push([row]);
  }
  return runs;
}
