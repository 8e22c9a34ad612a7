// Where the work stands, and what memory costs.
"use strict";

page("overview", "Overview", "o", async (_at, visit) => {
  const told = await ask("overview");
  present = Date.parse(told.now);
  const limits = [{ value: told.cost.warn, name: "warning", kind: "warn" }, { value: told.cost.critical, name: "critical", kind: "bad" }];
  const trend = el("section", { class: "card w7" }, el("h2", null, "Weight over time"), el("p", { class: "loading" }, "Asking git …"));
  const changes = el("section", { class: "card w5" }, el("h2", null, "Latest changes"), el("p", { class: "soft" }, copy ? "A copy has none." : "Reading …"));
  ask("trend").then((it) => { if (!visit.gone()) showTrend(trend, it, limits, told.cost.tokenizer); }, (error) => trend.replaceChildren(el("h2", null, "Weight over time"), el("p", { class: "note" }, error.message)));
  if (!copy) ask("changes").then((it) => { if (!visit.gone()) showChanges(changes, it); }, (error) => changes.replaceChildren(el("h2", null, "Latest changes"), el("p", { class: "note" }, error.message)));
  return [
    heading(told.workspace.name, el("p", null, [told.workspace.root && el("span", { class: "path" }, told.workspace.root), told.workspace.commit && [" at ", el("span", { class: "path" }, told.workspace.commit)]])),
    el("div", { class: "grid" }, now(told), figures(told), cost(told, limits), trend, changes),
  ];
});

function now(told) {
  const state = told.state;
  const card = el("section", { class: "card now w8" }, el("h2", null, "Next action"));
  if (!state || state.error) {
    card.append(el("p", { class: "empty" }, state ? state.error : ["Nothing is written down yet. ", el("code", null, "memory-forge mind set --next …"), " begins it."]));
    return card;
  }
  const stale = state.staleSeconds !== null && state.staleSeconds !== undefined;
  card.append(
    el("p", { class: "next" }, state.next || el("span", { class: "soft" }, "Not set")),
    el("dl", null,
      [["Phase", state.phase], ["Status", state.status]].filter(([, it]) => it).map(([name, it]) => [el("dt", null, name), el("dd", null, it)]),
      state.active && state.active.length ? [el("dt", null, "Active"), el("dd", null, el("ul", null, state.active.slice(0, 8).map((it) => el("li", null, it)), state.active.length > 8 && el("li", null, `and ${state.active.length - 8} more`)))] : [],
      state.blocked && state.blocked.length ? [el("dt", null, "Blocked"), el("dd", null, el("ul", null, state.blocked.slice(0, 8).map((it) => el("li", { class: "blocked" }, it)), state.blocked.length > 8 && el("li", null, `and ${state.blocked.length - 8} more`)))] : [],
      [el("dt", null, "Written"), el("dd", null, toDocument(state.file), " ", state.modified && el("span", { class: "soft" }, ago(state.modified)), " ", stale ? pill("warn", "stale") : pill("good", "fresh"))]),
  );
  return card;
}

function figures(told) {
  const found = told.findings;
  const session = told.tokens.briefing.count + told.tokens.stub.count;
  const stat = (value, label, href) => el("div", { class: "stat" }, el(href ? "a" : "div", href ? { href } : null, el("b", null, value), el("small", null, label)));
  const index = told.index && !told.index.error ? `${told.index.changedSince ? several(told.index.changedSince, "file") + " to read" : "up to date"}` : null;
  return el("section", { class: "card w4" }, el("h2", null, "At a glance"), el("div", { class: "stats" },
    stat(count(told.documents), told.documents === 1 ? "document" : "documents", "#/graph"),
    stat(count(found.critical + found.warnings), found.critical ? `findings, ${found.critical} critical` : "findings", "#/audit"),
    stat("~" + count(session), "tokens of memory a session"),
    stat("~" + count(told.tokens.nudge.count), "tokens more a prompt"),
    index && stat(told.index ? count(told.index.files) : "–", "files in the index, " + index, "#/search")));
}

function cost(told, limits) {
  // A file has one colour in every bar.
  const weight = new Map();
  for (const client of told.cost.clients) for (const part of client.parts) weight.set(part.path, Math.max(weight.get(part.path) || 0, part.tokens));
  const order = [...weight.keys()].sort((a, b) => weight.get(b) - weight.get(a)).slice(0, 6);
  const colour = (path) => (order.includes(path) ? order.indexOf(path) + 1 : 7);
  const briefed = told.cost.clients.some((it) => it.briefing > 0);
  const rows = told.cost.clients.map((client) => {
    const parts = client.parts.map((part) => [part.path, part.tokens, colour(part.path)]).sort((a, b) => a[2] - b[2]);
    if (client.more.tokens) parts.push([several(client.more.files, "more file"), client.more.tokens, 7]);
    if (client.briefing) parts.push(["Briefing (estimated)", client.briefing, 0]);
    return { name: client.name, parts };
  });
  const others = [...weight.keys()].length > order.length || told.cost.clients.some((it) => it.more.files);
  return el("section", { class: "card" }, el("h2", null, "What each client loads at every start"),
    stackedBars(rows, limits, "tokens"),
    el("ul", { class: "legend" }, order.map((path, index) => el("li", null, el("span", { class: "swatch f" + (index + 1) }), path)),
      others && el("li", null, el("span", { class: "swatch f7" }), "other files"), briefed && el("li", null, el("span", { class: "swatch f0" }), "briefing, estimated")),
    el("details", null, el("summary", null, `As a table (tokens by ${told.cost.tokenizer})`),
      el("div", { class: "table", tabindex: "0" }, el("table", null,
        el("thead", null, el("tr", null, ["Client", "Project", "Briefing", "Yours", ""].map((it, i) => el("th", { scope: "col", class: i > 0 && i < 4 ? "num" : null }, it || el("span", { class: "sr" }, "Level"))))),
        el("tbody", null, told.cost.clients.map((it) => el("tr", null, el("td", null, it.name), el("td", { class: "num" }, count(it.tokens)), el("td", { class: "num" }, it.briefing ? "~" + count(it.briefing) : "–"), el("td", { class: "num" }, count(it.yours)), el("td", null, it.level ? pill(levels[it.level], it.level) : "")))))) ));
}

function showTrend(card, told, limits, tokenizer) {
  const title = el("h2", null, "Weight over time");
  if (!told.points.length) { card.replaceChildren(title, el("p", { class: "empty" }, told.why || "Nothing was committed yet.")); return; }
  const last = told.points[told.points.length - 1];
  card.replaceChildren(title,
    lineOverTime(told.points.map((it) => ({ date: it.date, value: it.tokens, title: it.subject })), limits, "tokens"),
    el("p", { class: "soft" }, `${count(last.tokens)} tokens (${tokenizer}) in ${several(last.files, "file")} that some client loads, ${several(last.documents, "document")} of knowledge. `,
      told.leftOut > 0 ? `${several(told.points.length, "point")} of ${count(told.points.length + told.leftOut)} commits.` : `${several(told.points.length, "commit")}.`));
}

function showChanges(card, told) {
  const title = el("h2", null, "Latest changes");
  if (!told.changes.length) { card.replaceChildren(title, el("p", { class: "empty" }, "Nothing was changed through Memory Forge yet.")); return; }
  card.replaceChildren(title, el("ul", { class: "plain" }, told.changes.slice(0, 8).map((it) => el("li", { class: "row spread" },
    el("span", null, it.what, el("br"), el("small", null, ago(it.time), it.undone ? ", taken back" : "")),
    !it.undone && !it.undoes && !it.interrupted && el("button", { type: "button", class: "quiet", onclick: () => undo(it.id), "aria-label": "Undo: " + it.what }, "Undo")))),
    leftOut(told.changes.length - 8 + told.leftOut, "change"));
}
