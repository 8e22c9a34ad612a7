// One document: read it, see what leads to it and what it was, edit it.
"use strict";

page("documents", "Documents", "d", async () => {
  const told = await ask("documents");
  const words = el("input", { type: "search", placeholder: "Filter by name", "aria-label": "Filter by name", oninput: () => paint() });
  const list = el("div");
  let most = 200;
  function paint() {
    const find = words.value.trim().toLowerCase();
    const kept = told.documents.filter(([path, title]) => !find || path.toLowerCase().includes(find) || title.toLowerCase().includes(find));
    list.replaceChildren(el("div", { class: "table", tabindex: "0", role: "group", "aria-label": "Documents" }, el("table", null, el("thead", null, el("tr", null, ["Title", "File", "Role"].map((it) => el("th", { scope: "col" }, it)))),
      el("tbody", null, kept.slice(0, most).map(([path, title, role]) => el("tr", null, el("td", null, toDocument(path, title)), el("td", { class: "path" }, path), el("td", null, el("small", null, role))))))),
      kept.length > most ? el("p", null, el("button", { type: "button", onclick: () => { most += 1000; paint(); } }, `${count(kept.length - most)} more`)) : "", kept.length ? "" : el("p", { class: "empty" }, "No document has such a name."));
  }
  paint();
  return [heading("Documents"), el("div", { class: "filters" }, words), list, leftOut(told.leftOut, "document")].filter(Boolean);
});

page("document", "Document", null, async (at, visit) => {
  const path = at.rest;
  const told = await ask("document", { path });
  const body = el("div", null);
  const aside = el("aside", { class: "aside", "aria-label": "About this document" });
  const edit = el("button", { type: "button", id: "edit", disabled: Boolean(told.notEditable), title: told.notEditable || null, onclick: () => startEdit(told, body, edit) }, "Edit ", el("kbd", { "aria-hidden": "true" }, "e"));
  const own = el("div", null, told.html ? rendered(told.html) : el("p", { class: "empty" }, "It is empty."));
  // The title stands above already.
  const first = own.querySelector(".prose > h1:first-child");
  if (first && first.textContent.trim() === told.title.trim()) first.remove();
  body.append(
    told.masked.length ? el("p", { class: "note warn" }, `What looks like a secret (${[...new Set(told.masked)].join(", ")}) is not shown.`) : "",
    told.hidden ? el("p", { class: "note warn" }, `${several(told.hidden, "hidden character")} ${told.hidden === 1 ? "is" : "are"} written out.`) : "",
    ...told.problems.map((it) => el("p", { class: "note warn" }, it)), own,
    told.leftOut ? el("p", { class: "note" }, `${count(told.leftOut)} bytes at the end are not shown here.`) : "");
  facts(aside, told);
  if (!copy && told.role !== "kept") past(aside, told, body, visit);
  return [
    heading(told.title, el("div", { class: "row" }, !copy && edit), el("p", { class: "row" }, el("span", { class: "path" }, told.path), pill("", told.role), told.private && pill("warn", "private"), el("small", null, several(told.words, "word")), copy ? null : told.notEditable && el("small", null, told.notEditable))),
    el("div", { class: "reader" }, body, aside),
  ];
});

function facts(aside, told) {
  const inside = told.headings.filter(([level]) => level > 1 || told.headings.length > 1);
  if (inside.length > 1) aside.append(el("section", { class: "toc" }, el("h2", null, "In this document"), el("ul", null, inside.slice(0, 40).map(([level, title, id]) => el("li", { class: "l" + level }, el("a", { href: address(told.path, id), onclick: (event) => { const target = document.getElementById(id); if (target) { event.preventDefault(); target.scrollIntoView(); target.setAttribute("tabindex", "-1"); target.focus({ preventScroll: true }); } } }, title)))), leftOut(inside.length - 40, "heading")));
  if (told.frontMatter.length) aside.append(el("section", null, el("h2", null, "Properties"), el("dl", { class: "facts" }, told.frontMatter.slice(0, 24).map(([key, value]) => [el("dt", null, key), el("dd", null, value)]))));
  aside.append(el("section", { id: "backlinks" }, el("h2", null, "Linked from"), told.backlinks.length
    ? el("ul", null, told.backlinks.map((it) => el("li", null, toDocument(it.path, it.title), " ", el("small", null, it.key ? it.key : "line " + it.line))))
    : el("p", { class: "soft" }, "Nothing leads here."), leftOut(told.moreBacklinks, "link")));
}

function past(aside, told, body, visit) {
  const section = el("section", { id: "history" }, el("h2", null, "History"), el("p", { class: "soft" }, "Asking git …"));
  aside.append(section);
  ask("history", { path: told.path }).then((it) => {
    if (visit.gone()) return;
    section.replaceChildren(el("h2", null, "History"), it.commits.length ? el("ul", null, it.commits.map((commit) => el("li", null,
      el("button", { type: "button", class: "quiet", onclick: () => showPast(told, commit, body) }, day(commit.date)), " ", commit.subject, " ", el("small", null, commit.author)))) : el("p", { class: "soft" }, it.why || "It was never committed."),
      it.capped ? el("p", { class: "soft" }, "Older commits are not listed.") : "");
  }, (error) => section.replaceChildren(el("h2", null, "History"), el("p", { class: "note" }, error.message)));
}

async function showPast(told, commit, body) {
  try {
    const then = await ask("past", { path: told.path, commit: commit.commit });
    const text = rendered(then.html);
    const back = el("button", { type: "button", onclick: () => go() }, "Back to today");
    body.replaceChildren(el("p", { class: "row note" }, `As of ${day(commit.date)}, ${commit.subject}`, back),
      el("h2", null, "What changed since"), then.diff.rows.length ? diffOf(then.diff) : el("p", { class: "empty" }, "Nothing."), el("h2", null, "As it was"), text);
    back.focus();
  } catch (error) { toast(error.message); }
}

async function startEdit(told, body, button) {
  let given;
  try { given = await ask("source", { path: told.path }); } catch (error) { toast(error.message); return; }
  button.disabled = true;
  const box = el("textarea", { spellcheck: "true", "aria-label": "Text of " + told.path });
  box.value = given.source;
  const note = el("p", { class: "note bad", role: "alert", hidden: true });
  unsaved = () => box.value !== given.source;
  const save = async () => {
    if (box.value === given.source) { unsaved = () => false; go(); return; }
    saving.disabled = true;
    try {
      const done = await send("save", { path: told.path, base: given.text, source: box.value });
      unsaved = () => false;
      toast("Saved " + told.path, done.change && { label: "Undo", run: () => undo(done.change) });
      go();
    } catch (error) {
      saving.disabled = false;
      note.hidden = false; note.textContent = error.message;
    }
  };
  const saving = el("button", { type: "button", class: "primary", id: "save", onclick: save }, "Save ", el("kbd", { "aria-hidden": "true" }, "Ctrl S"));
  const cancel = el("button", { type: "button", onclick: () => { if (!unsaved() || confirm("Drop what you typed?")) { unsaved = () => false; go(); } } }, "Cancel");
  box.addEventListener("keydown", (event) => { if ((event.ctrlKey || event.metaKey) && event.key === "s") { event.preventDefault(); save(); } });
  body.replaceChildren(el("div", { class: "editor" }, note, box, el("p", { class: "row" }, saving, cancel, el("small", null, "Written through the journal: it can be taken back."))));
  box.focus();
  box.setSelectionRange(0, 0);
}
