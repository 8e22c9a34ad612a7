// Searches as the user types, with the engine and the filters of `search`.

import { copy } from "../copy.js";
import { el } from "../dom.js";
import { formatCount, plural } from "../format.js";
import { replaceAddress } from "../router.js";
import { query } from "../server.js";
import { documentAddress, heading, pill, table } from "../widgets.js";

const TYPING_DELAY_MS = 140;
const FIRST_RESULTS = 12;
const MORE_RESULTS = 20;
/** The server returns no more than this. */
const MAX_RESULTS = 50;
const MAX_NOTES = 5;

const SCOPES = [
  ["knowledge", "knowledge"],
  ["all", "everything"],
  ["state", "state"],
  ["agents", "agents"],
  ["archive", "archive"],
  ["closets", "closets"],
  ["sources", "other workspaces"],
];
const MODES = [
  ["", "default"],
  ["hybrid", "hybrid"],
  ["text", "keyword"],
  ["vector", "semantic"],
];
const KINDS = [
  ["", "any"],
  ["skill", "skills"],
  ["knowledge", "knowledge"],
];

export const searchPage = { name: "search", title: "Search", key: "s", show: showSearch };

async function showSearch(place, visit) {
  const param = (name) => place.params.get(name) || "";
  const field = el("input", {
    type: "search",
    name: "q",
    placeholder: "Search memory …",
    "aria-label": "Search query",
    autocomplete: "off",
    spellcheck: "false",
    autofocus: true,
  });
  field.value = param("q");
  const explain = el("input", {
    type: "checkbox",
    name: "explain",
    onchange: () => {
      keepInAddress();
      showAnswer();
    },
  });
  explain.checked = param("explain") === "1";
  const filters = searchFilters(param, explain, () => search(0));
  const status = el("p", { class: "soft", role: "status" });
  const results = el("div", { id: "results" });
  let limit = FIRST_RESULTS;
  let timer = 0;
  let running = null;
  let answer = null;

  function readForm() {
    const form = { q: field.value.trim() };
    for (const input of filters.querySelectorAll("select, input[type=date]")) {
      if (input.value) form[input.name] = input.value;
    }
    return form;
  }
  /** Keeps the query in the address, so that Back returns to it. */
  function keepInAddress() {
    const form = readForm();
    if (form.scope === "knowledge") delete form.scope;
    if (explain.checked) form.explain = "1";
    replaceAddress(form.q ? `#/search?${new URLSearchParams(form)}` : "#/search");
  }
  function search(delay) {
    clearTimeout(timer);
    timer = setTimeout(runSearch, delay);
  }
  async function runSearch() {
    if (visit.isOver()) return;
    keepInAddress();
    running?.abort();
    const form = readForm();
    if (!form.q) {
      answer = null;
      status.textContent = "Type words, a question, or a phrase in quotes.";
      results.replaceChildren();
      return;
    }
    running = new AbortController();
    const start = performance.now();
    try {
      answer = await query("search", { ...form, limit }, running.signal);
      if (visit.isOver()) return;
      const took = Math.round(performance.now() - start);
      const found = answer.results.length;
      status.textContent = found ? `${plural(found, "result")} (${answer.how}) in ${took} ms` : "No results";
      showAnswer();
    } catch (error) {
      if (error.name === "AbortError" || visit.isOver()) return;
      status.textContent = error.message;
      results.replaceChildren();
    }
  }
  function showAnswer() {
    if (!answer) return;
    results.replaceChildren(
      ...answer.notes.slice(0, MAX_NOTES).map((note) => el("p", { class: "note warn" }, note)),
      ...answer.results.map((hit) => hitView(hit, explain.checked)),
      answer.more > 0 ? moreButton() : "",
    );
    results.dataset.for = field.value.trim();
  }
  function moreButton() {
    const isLast = limit >= MAX_RESULTS;
    const showMore = () => {
      limit = Math.min(MAX_RESULTS, limit + MORE_RESULTS);
      search(0);
    };
    const label = `${formatCount(answer.more)} more${isLast ? "; refine the query" : ""}`;
    return el("p", null, el("button", { type: "button", onclick: showMore, disabled: isLast }, label));
  }

  field.addEventListener("input", () => {
    limit = FIRST_RESULTS;
    search(TYPING_DELAY_MS);
  });
  listenForArrows(field, results, () => search(0));
  search(0);
  const form = el(
    "form",
    { class: "ask", role: "search", onsubmit: (event) => event.preventDefault() },
    field,
  );
  return [heading("Search"), form, filters, status, results];
}

function searchFilters(param, explain, onChange) {
  if (copy) {
    const command = el("code", null, "memory-forge view");
    return el(
      "p",
      { class: "note" },
      "This copy searches by keyword. ",
      command,
      " also searches by meaning.",
    );
  }
  const select = (name, label, values) => {
    const options = values.map(([value, text]) => el("option", { value }, text));
    const field = el("select", { name, onchange: onChange }, options);
    field.value = param(name);
    if (field.selectedIndex < 0) field.selectedIndex = 0;
    return el("label", null, label, field);
  };
  const since = el("input", { type: "date", name: "since", onchange: onChange });
  since.value = param("since");
  return el(
    "div",
    { class: "filters" },
    select("scope", "Scope", SCOPES),
    select("mode", "Mode", MODES),
    select("kind", "Kind", KINDS),
    el("label", null, "Since", since),
    el("label", null, explain, "Explain"),
  );
}

/** Moves between the field and the results by arrow keys. */
function listenForArrows(field, results, onEnter) {
  const links = () => [...results.querySelectorAll("h3 a")];
  field.addEventListener("keydown", (event) => {
    const [first] = links();
    if (event.key === "Enter") onEnter();
    if (event.key === "ArrowDown" && first) {
      event.preventDefault();
      first.focus();
    }
  });
  results.addEventListener("keydown", (event) => {
    const steps = { ArrowDown: 1, ArrowUp: -1 };
    if (!Object.hasOwn(steps, event.key)) return;
    event.preventDefault();
    const all = links();
    const next = all.indexOf(document.activeElement) + steps[event.key];
    (next < 0 ? field : all[Math.min(next, all.length - 1)])?.focus();
  });
}

function hitView(hit, isExplained) {
  const title = hit.title || hit.path;
  const notes = [hit.standing, hit.careful, ...(hit.corrections || []).map((it) => it.told)].filter(Boolean);
  return el(
    "article",
    { class: "hit" },
    // Documents of other workspaces are not served here.
    el("h3", null, hit.source ? title : el("a", { href: documentAddress(hit.path, headingId(hit)) }, title)),
    el(
      "div",
      { class: "row" },
      el("span", { class: "path" }, `${hit.path}:${hit.lines[0]}`),
      hit.headings.length > 1 && el("small", null, hit.headings.slice(1).join(" › ")),
      hit.source && pill("", hit.source),
      hit.date && el("small", null, hit.date),
      hit.scope !== "knowledge" && pill("", hit.scope),
    ),
    notes.map((note) => el("p", { class: "note warn" }, note)),
    el(
      "p",
      { class: "text" },
      hit.text.map((piece, i) => (i % 2 ? el("mark", null, piece) : piece)),
    ),
    isExplained && explanation(hit),
  );
}

/** Returns the id that the server gives to the heading above a hit. */
function headingId({ headings }) {
  const words = headings
    .at(-1)
    ?.toLowerCase()
    .replace(/[^\p{L}\p{N}]+/gu, "-");
  return words && `h-${words.replace(/-+$/, "")}`;
}

function explanation(hit) {
  const share = Math.max(0, Math.min(1, hit.relevance || hit.score));
  const bar = el("i");
  bar.style.width = `${Math.round(share * 100)}%`;
  const meter = el("span", { class: "meter", "aria-hidden": "true" }, bar);
  return el("div", { class: "why" }, el("p", null, meter, " ", hit.reason), termTable(hit.why.terms || []));
}

function termTable(terms) {
  if (!terms.length) return null;
  const columns = ["Term", ["IDF", "num"], ["In text", "num"], "In heading", "In title", ["Score", "num"]];
  const yes = (value) => (value ? "yes" : "–");
  const rows = terms.map((term) => [
    term.term,
    term.idf,
    `${term.body}×`,
    yes(term.inHeadings),
    yes(term.inTitle),
    term.score,
  ]);
  return table("Score by term", columns, rows);
}
