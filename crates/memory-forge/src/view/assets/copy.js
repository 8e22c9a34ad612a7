// Answers requests in an exported copy, which has its data in `data.js` and no
// server. Its search has no index: it compares words.

import { trustHtml } from "./dom.js";
import { RequestError } from "./errors.js";

const CHARS_BEFORE_HIT = 90;
const CHARS_AFTER_HIT = 260;
const CHARS_WITHOUT_HIT = 300;
/** A word in the title counts as much as 15 occurrences in the text. */
const TITLE_SCORE = 4;

/** The data of an exported copy, or null if a server answers. */
export const copy = window.MEMORY_FORGE_COPY || null;

/** Returns the exported answer to a request. */
export function answerFromCopy(name, params) {
  if (name === "search") return searchCopy(params);
  const key = name === "document" ? `document?${params.path}` : name;
  if (!Object.hasOwn(copy, key)) throw new RequestError(404, "This copy does not contain that.");
  return copy[key];
}

let indexed = null;

/** Reads the text of every document once. */
function indexCopy() {
  const parser = new DOMParser();
  indexed ||= copy.documents.documents.map(([path, title, scope]) => {
    const { html } = copy[`document?${path}`];
    const text = parser.parseFromString(trustHtml(html), "text/html").body.textContent;
    return {
      path,
      title,
      scope,
      text,
      lowerText: text.toLowerCase(),
      lowerTitle: title.toLowerCase(),
    };
  });
  return indexed;
}

/** Finds the documents that contain every word; titles count more. */
function searchCopy({ q, limit }) {
  const words = q.toLowerCase().split(/\s+/).filter(Boolean);
  const found = [];
  for (const doc of indexCopy()) {
    const score = scoreDocument(doc, words);
    if (score) found.push({ doc, score });
  }
  found.sort((a, b) => b.score - a.score);
  const results = found.slice(0, limit).map(({ doc, score }) => ({
    path: doc.path,
    title: doc.title,
    headings: [],
    lines: [1, 1],
    scope: doc.scope,
    text: snippet(doc, words[0]),
    score,
    relevance: 1,
    reason: "contains every word",
    why: {},
  }));
  return { results, more: found.length - results.length, notes: [], how: "keyword" };
}

function scoreDocument(doc, words) {
  let score = 0;
  for (const word of words) {
    const count = doc.lowerText.split(word).length - 1;
    const isInTitle = doc.lowerTitle.includes(word);
    if (!count && !isInTitle) return 0;
    score += Math.log2(1 + count) + (isInTitle ? TITLE_SCORE : 0);
  }
  return score;
}

/** Cuts the text around the first hit; every second piece is a match. */
function snippet(doc, word) {
  const at = doc.lowerText.indexOf(word);
  if (at < 0) return [doc.text.slice(0, CHARS_WITHOUT_HIT)];
  const end = at + word.length;
  return [
    doc.text.slice(Math.max(0, at - CHARS_BEFORE_HIT), at),
    doc.text.slice(at, end),
    doc.text.slice(end, at + CHARS_AFTER_HIT),
  ];
}
