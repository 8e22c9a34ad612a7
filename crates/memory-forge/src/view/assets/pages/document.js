// Shows one document with its backlinks and history, and edits it.

import { reportChange } from "../changes.js";
import { copy } from "../copy.js";
import { el } from "../dom.js";
import { formatCount, formatDay, plural } from "../format.js";
import { prose } from "../prose.js";
import { confirmDiscard, guardUnsaved, refresh } from "../router.js";
import { query, send } from "../server.js";
import { diffView, documentAddress, documentLink, heading, moreNote, pill, toast } from "../widgets.js";

const MAX_HEADINGS = 40;
const MAX_PROPERTIES = 24;

export const documentPage = { name: "document", title: "Document", key: null, show: showDocument };

async function showDocument(place, visit) {
  const doc = await query("document", { path: place.rest });
  const body = el("div", null, documentNotes(doc), documentText(doc), truncationNote(doc));
  const aside = el("aside", { class: "aside", "aria-label": "About this document" });
  aside.append(...[tableOfContents(doc), propertyList(doc), backlinkList(doc)].filter(Boolean));
  // Checkpoints are not in git.
  if (!copy && doc.role !== "kept") aside.append(historyList(doc, body, visit));
  return [documentHeading(doc, body), el("div", { class: "reader" }, body, aside)];
}

function documentHeading(doc, body) {
  const edit = el(
    "button",
    {
      type: "button",
      id: "edit",
      disabled: Boolean(doc.notEditable),
      title: doc.notEditable,
      onclick: () => startEdit(doc, body, edit),
    },
    "Edit ",
    el("kbd", { "aria-hidden": "true" }, "e"),
  );
  return heading(
    doc.title,
    el("div", { class: "row" }, !copy && edit),
    el(
      "p",
      { class: "row" },
      el("span", { class: "path" }, doc.path),
      pill("", doc.role),
      doc.private && pill("warn", "private"),
      el("small", null, plural(doc.words, "word")),
      !copy && doc.notEditable && el("small", null, doc.notEditable),
    ),
  );
}

function documentNotes(doc) {
  const notes = [...doc.problems];
  if (doc.hidden) notes.unshift(`${plural(doc.hidden, "hidden character")} shown as escapes`);
  if (doc.masked.length) notes.unshift(`Redacted: ${[...new Set(doc.masked)].join(", ")}`);
  return notes.map((note) => el("p", { class: "note warn" }, note));
}

function documentText(doc) {
  if (!doc.html) return el("p", { class: "empty" }, "This document is empty.");
  const text = prose(doc.html);
  // The page's heading is the title already.
  const first = text.querySelector(":scope > h1:first-child");
  if (first?.textContent.trim() === doc.title.trim()) first.remove();
  return text;
}

function truncationNote(doc) {
  return (
    doc.leftOut > 0 && el("p", { class: "note" }, `The last ${formatCount(doc.leftOut)} bytes are not shown.`)
  );
}

function tableOfContents(doc) {
  const isOnlyTitle = ([level]) => level === 1 && doc.headings.length === 1;
  const headings = doc.headings.filter((it) => !isOnlyTitle(it));
  if (headings.length < 2) return null;
  const links = headings
    .slice(0, MAX_HEADINGS)
    .map(([level, title, id]) =>
      el(
        "li",
        { class: `l${level}` },
        el(
          "a",
          { href: documentAddress(doc.path, id), onclick: (event) => scrollToHeading(event, id) },
          title,
        ),
      ),
    );
  return el(
    "section",
    { class: "toc" },
    el("h2", null, "In this document"),
    el("ul", null, links),
    moreNote(headings.length - MAX_HEADINGS, "heading"),
  );
}

/** Scrolls without loading the document again. */
function scrollToHeading(event, id) {
  const target = document.getElementById(id);
  if (!target) return;
  event.preventDefault();
  target.scrollIntoView();
  target.setAttribute("tabindex", "-1");
  target.focus({ preventScroll: true });
}

function propertyList({ frontMatter }) {
  if (!frontMatter.length) return null;
  const shown = frontMatter.slice(0, MAX_PROPERTIES);
  return el(
    "section",
    null,
    el("h2", null, "Properties"),
    el(
      "dl",
      { class: "facts" },
      shown.map(([key, value]) => [el("dt", null, key), el("dd", null, value)]),
    ),
    moreNote(frontMatter.length - MAX_PROPERTIES, "property", "properties"),
  );
}

function backlinkList({ backlinks, moreBacklinks }) {
  const place = ({ key, line }) => el("small", null, key || `line ${line}`);
  const items = backlinks.map((it) => el("li", null, documentLink(it.path, it.title), " ", place(it)));
  return el(
    "section",
    { id: "backlinks" },
    el("h2", null, "Backlinks"),
    items.length ? el("ul", null, items) : el("p", { class: "soft" }, "None"),
    moreNote(moreBacklinks, "backlink"),
  );
}

/** Lists the commits of a document, once git has answered. */
function historyList(doc, body, visit) {
  const title = el("h2", null, "History");
  const section = el(
    "section",
    { id: "history" },
    title,
    el("p", { class: "loading" }, "Reading git history …"),
  );
  const showCommits = ({ commits, why, capped }) => {
    if (visit.isOver()) return;
    const items = commits.map((commit) => {
      const open = () => showCommit(doc, commit, body);
      const button = el("button", { type: "button", class: "quiet", onclick: open }, formatDay(commit.date));
      return el("li", null, button, " ", commit.subject, " ", el("small", null, commit.author));
    });
    section.replaceChildren(
      title,
      items.length ? el("ul", null, items) : el("p", { class: "soft" }, why || "No commits"),
      capped ? el("p", { class: "soft" }, "Older commits are not shown.") : "",
    );
  };
  const showError = (error) => section.replaceChildren(title, el("p", { class: "note" }, error.message));
  query("history", { path: doc.path }).then(showCommits, showError);
  return section;
}

/** Shows the document as it was in a commit, with what changed since. */
async function showCommit(doc, commit, body) {
  try {
    const past = await query("past", { path: doc.path, commit: commit.commit });
    const back = el("button", { type: "button", onclick: refresh }, "Show current version");
    body.replaceChildren(
      el("p", { class: "row note" }, `As of ${formatDay(commit.date)}: ${commit.subject}`, back),
      el("h2", null, "Changes since then"),
      past.diff.rows.length ? diffView(past.diff) : el("p", { class: "empty" }, "No changes"),
      el("h2", null, "Document at that commit"),
      prose(past.html),
    );
    back.focus();
  } catch (error) {
    toast(error.message);
  }
}

/** Replaces the document by an editor of its source. */
async function startEdit(doc, body, editButton) {
  let original;
  try {
    original = await query("source", { path: doc.path });
  } catch (error) {
    toast(error.message);
    return;
  }
  editButton.disabled = true;
  const box = el("textarea", { spellcheck: "true", "aria-label": `Source of ${doc.path}` });
  box.value = original.source;
  const isChanged = () => box.value !== original.source;
  guardUnsaved(isChanged);
  const close = () => {
    guardUnsaved(null);
    refresh();
  };
  const message = el("p", { class: "note bad", role: "alert", hidden: true });
  const save = async () => {
    if (!isChanged()) {
      close();
      return;
    }
    saveButton.disabled = true;
    try {
      // The server refuses the change if the file is no longer this version.
      const change = { path: doc.path, base: original.text, source: box.value };
      const done = await send("save", change);
      reportChange(`Saved ${doc.path}`, done.change);
      close();
    } catch (error) {
      saveButton.disabled = false;
      message.hidden = false;
      message.textContent = error.message;
    }
  };
  const saveButton = el(
    "button",
    { type: "button", class: "primary", id: "save", onclick: save },
    "Save ",
    el("kbd", { "aria-hidden": "true" }, "Ctrl S"),
  );
  const cancel = () => {
    if (confirmDiscard()) close();
  };
  const cancelButton = el("button", { type: "button", id: "cancel", onclick: cancel }, "Cancel");
  box.addEventListener("keydown", (event) => {
    if ((event.ctrlKey || event.metaKey) && event.key === "s") {
      event.preventDefault();
      save();
    }
  });
  const hint = el("small", null, "You can undo this after saving.");
  body.replaceChildren(
    el("div", { class: "editor" }, message, box, el("p", { class: "row" }, saveButton, cancelButton, hint)),
  );
  box.focus();
  box.setSelectionRange(0, 0);
}
