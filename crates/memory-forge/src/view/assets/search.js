// Search as you type, by the engine that the command uses; the filters are the
// command's own.
"use strict";

page("search", "Search", "s", async (at, visit) => {
  const chosen = (name) => at.params.get(name) || "";
  const field = el("input", { type: "search", name: "q", placeholder: "Ask the memory …", "aria-label": "Question", autocomplete: "off", spellcheck: "false", autofocus: true });
  field.value = chosen("q");
  const pick = (name, label, options) => {
    const select = el("select", { name, onchange: () => run(0) }, options.map(([value, text]) => el("option", { value }, text)));
    select.value = chosen(name);
    if (select.selectedIndex < 0) select.selectedIndex = 0;
    return el("label", null, label, select);
  };
  const explain = el("input", { type: "checkbox", name: "explain", onchange: () => { results.classList.toggle("explain", explain.checked); keep(); paint(); } });
  explain.checked = chosen("explain") === "1";
  const since = el("input", { type: "date", name: "since", onchange: () => run(0) });
  since.value = chosen("since");
  const filters = copy ? el("p", { class: "note" }, "This is a copy: its search compares words. The program itself also searches by meaning.") : el("div", { class: "filters" },
    pick("scope", "In", [["knowledge", "knowledge"], ["all", "everything"], ["state", "state"], ["agents", "agents"], ["archive", "archive"], ["closets", "closets"], ["sources", "other workspaces"]]),
    pick("mode", "By", [["", "as configured"], ["hybrid", "words and meaning"], ["text", "words"], ["vector", "meaning"]]),
    pick("kind", "Kind", [["", "any"], ["skill", "skills"], ["knowledge", "knowledge"]]),
    el("label", null, "Since", since), el("label", null, explain, "Say why"));
  const said = el("p", { class: "soft", role: "status" });
  const results = el("div", { id: "results" });
  let limit = 12, timer = 0, running = null, answer = null;
  const values = () => {
    const form = { q: field.value.trim() };
    for (const it of filters.querySelectorAll("select, input[type=date]")) if (it.value) form[it.name] = it.value;
    return form;
  };
  function keep() {
    const form = { ...values(), ...(explain.checked ? { explain: "1" } : {}) };
    if (form.scope === "knowledge") delete form.scope;
    shownAt = "#/search" + (form.q ? "?" + new URLSearchParams(form) : "");
    history.replaceState(null, "", shownAt);
  }
  function run(wait) {
    clearTimeout(timer);
    timer = setTimeout(async () => {
      if (visit.gone()) return;
      keep();
      if (running) running.abort();
      const form = values();
      if (!form.q) { answer = null; said.textContent = "Words, a question, or a string in quotes."; results.replaceChildren(); return; }
      running = new AbortController();
      const start = performance.now();
      try {
        answer = await ask("search", { ...form, limit }, running.signal);
        if (visit.gone()) return;
        said.textContent = answer.results.length ? `${several(answer.results.length, "passage")} by ${answer.how}, in ${Math.round(performance.now() - start)} ms` : "Nothing was found.";
        paint();
      } catch (error) {
        if (error.name === "AbortError" || visit.gone()) return;
        said.textContent = error.message; results.replaceChildren();
      }
    }, wait);
  }
  function paint() {
    if (!answer) return;
    results.replaceChildren(...answer.notes.slice(0, 5).map((it) => el("p", { class: "note warn" }, it)),
      ...answer.results.map((it) => hit(it, explain.checked)),
      answer.more > 0 ? el("p", null, el("button", { type: "button", onclick: () => { limit = Math.min(50, limit + 20); run(0); }, disabled: limit >= 50 }, limit >= 50 ? `${count(answer.more)} more match; ask for less` : `${count(answer.more)} more match`)) : "");
    results.dataset.for = field.value.trim();
  }
  field.addEventListener("input", () => { limit = 12; run(140); });
  field.addEventListener("keydown", (event) => {
    if (event.key === "ArrowDown") { const first = results.querySelector("h3 a"); if (first) { event.preventDefault(); first.focus(); } }
    if (event.key === "Enter") run(0);
  });
  results.addEventListener("keydown", (event) => {
    if (event.key !== "ArrowDown" && event.key !== "ArrowUp") return;
    const all = [...results.querySelectorAll("h3 a")];
    const next = all[all.indexOf(document.activeElement) + (event.key === "ArrowDown" ? 1 : -1)];
    event.preventDefault();
    (next || (event.key === "ArrowUp" ? field : all[all.length - 1] || field)).focus();
  });
  run(0);
  return [heading("Search"), el("form", { class: "ask", role: "search", onsubmit: (event) => event.preventDefault() }, field), filters, said, results];
});

function hit(it, explained) {
  const id = it.headings.length ? "h-" + it.headings[it.headings.length - 1].toLowerCase().replace(/[^\p{L}\p{N}]+/gu, "-").replace(/-+$/, "") : null;
  const text = el("p", { class: "text" }, it.text.map((piece, index) => (index % 2 ? el("mark", null, piece) : piece)));
  const place = `${it.path}:${it.lines[0]}`;
  return el("article", { class: "hit" },
    el("h3", null, it.source ? el("span", null, it.title || it.path) : el("a", { href: address(it.path, id) }, it.title || it.path)),
    el("div", { class: "row" }, el("span", { class: "path" }, place), it.headings.length > 1 && el("small", null, it.headings.slice(1).join(" › ")), it.source && pill("", it.source), it.date && el("small", null, it.date), it.scope !== "knowledge" && pill("", it.scope)),
    [it.standing, it.careful, ...(it.corrections || []).map((c) => c.told)].filter(Boolean).map((note) => el("p", { class: "note warn" }, note)),
    text,
    explained && why(it));
}
function why(it) {
  const bar = (share) => { const fill = el("i"); fill.style.width = Math.round(Math.max(0, Math.min(1, share)) * 100) + "%"; return el("span", { class: "meter", "aria-hidden": "true" }, fill); };
  return el("div", { class: "why" }, el("p", null, bar(it.relevance || it.score), " ", it.reason),
    it.why.terms && it.why.terms.length ? el("div", { class: "table", tabindex: "0" }, el("table", null,
      el("thead", null, el("tr", null, ["Word", "Weight", "In the text", "Heading", "Title", "Score"].map((t, i) => el("th", { scope: "col", class: i && i !== 3 && i !== 4 ? "num" : null }, t)))),
      el("tbody", null, it.why.terms.map((t) => el("tr", null, el("td", null, t.term), el("td", { class: "num" }, t.idf), el("td", { class: "num" }, t.body + "×"), el("td", null, t.inHeadings ? "yes" : "–"), el("td", null, t.inTitle ? "yes" : "–"), el("td", { class: "num" }, t.score)))))) : null);
}

// A copy has no engine: all words must be there, and titles count more.
let copied = null;
function searchCopy({ q, limit }) {
  copied ||= copy.documents.documents.map(([path, title, scope]) => {
    const parser = new DOMParser();
    const body = parser.parseFromString(policy.createHTML(copy["document?" + path].html), "text/html").body.textContent;
    return { path, title, scope, body, low: body.toLowerCase(), lowTitle: title.toLowerCase() };
  });
  const words = q.toLowerCase().split(/\s+/).filter(Boolean);
  const found = [];
  for (const it of copied) {
    let score = 0;
    for (const word of words) {
      const times = it.low.split(word).length - 1, named = it.lowTitle.includes(word);
      if (!times && !named) { score = 0; break; }
      score += Math.log2(1 + times) + (named ? 4 : 0);
    }
    if (score) found.push([score, it]);
  }
  found.sort((a, b) => b[0] - a[0]);
  const results = found.slice(0, limit).map(([score, it]) => {
    const place = Math.max(0, it.low.indexOf(words[0]));
    const start = Math.max(0, place - 90), end = Math.min(it.body.length, place + 260);
    const hitText = place ? [it.body.slice(start, place), it.body.slice(place, place + words[0].length), it.body.slice(place + words[0].length, end)] : [it.body.slice(0, 300)];
    return { path: it.path, title: it.title, headings: [], lines: [1, 1], scope: it.scope, text: hitText, score, relevance: 1, reason: "holds all words", why: {} };
  });
  return { results, more: found.length - results.length, notes: [], how: "comparing words" };
}
