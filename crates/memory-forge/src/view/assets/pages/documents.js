// Lists every document, filtered by name.

import { el } from "../dom.js";
import { formatCount } from "../format.js";
import { query } from "../server.js";
import { documentLink, heading, moreNote, table } from "../widgets.js";

const FIRST_ROWS = 200;
const MORE_ROWS = 1000;

export const documentsPage = { name: "documents", title: "Documents", key: "d", show: showDocuments };

async function showDocuments() {
  const { documents, leftOut } = await query("documents");
  const filter = el("input", {
    type: "search",
    placeholder: "Filter by name",
    "aria-label": "Filter by name",
    oninput: () => showRows(FIRST_ROWS),
  });
  const list = el("div");
  function showRows(maxRows) {
    const text = filter.value.trim().toLowerCase();
    const matches = documents.filter(([path, title]) => `${path}\n${title}`.toLowerCase().includes(text));
    const rows = matches
      .slice(0, maxRows)
      .map(([path, title, role]) => [
        documentLink(path, title),
        el("span", { class: "path" }, path),
        el("small", null, role),
      ]);
    const more = matches.length - maxRows;
    const showMore = () => showRows(maxRows + MORE_ROWS);
    list.replaceChildren(
      table("Documents", ["Title", "File", "Role"], rows),
      more > 0
        ? el("p", null, el("button", { type: "button", onclick: showMore }, `${formatCount(more)} more`))
        : "",
      matches.length ? "" : el("p", { class: "empty" }, "No matching documents"),
    );
  }
  showRows(FIRST_ROWS);
  return [heading("Documents"), el("div", { class: "filters" }, filter), list, moreNote(leftOut, "document")];
}
