// Shows the state of the work, what memory costs, and the latest changes.

import { undoChange } from "../changes.js";
import { lineOverTime, stackedBars } from "../chart.js";
import { copy } from "../copy.js";
import { el } from "../dom.js";
import { formatAge, formatCount, plural } from "../format.js";
import { query } from "../server.js";
import { documentLink, heading, LEVEL_CLASSES, moreNote, pill, table } from "../widgets.js";

const MAX_STATE_ITEMS = 8;
const MAX_CHANGES = 8;
/** Files with a colour of their own; the others share one. */
const MAX_COLOURED_FILES = 6;
const OTHER_COLOUR = 7;
const BRIEFING_COLOUR = 0;

export const overviewPage = { name: "overview", title: "Overview", key: "o", show: showOverview };

async function showOverview(_place, visit) {
  const overview = await query("overview");
  const { workspace, cost } = overview;
  const now = Date.parse(overview.now);
  const limits = [
    { value: cost.warn, name: "warning", kind: "warn" },
    { value: cost.critical, name: "critical", kind: "bad" },
  ];
  const trend = lateCard("w7", "Tokens over time", "Reading git history …", visit, "trend", (answer) =>
    trendContent(answer, limits, cost.tokenizer),
  );
  const changes = copy
    ? el(
        "section",
        { class: "card w5" },
        el("h2", null, "Latest changes"),
        el("p", null, "Not included in a copy"),
      )
    : lateCard("w5", "Latest changes", "Loading …", visit, "changes", (answer) =>
        changesContent(answer, now),
      );
  const path = (text) => el("span", { class: "path" }, text);
  const place = el("p", null, workspace.root && path(workspace.root));
  if (workspace.commit) place.append(" at ", path(workspace.commit));
  return [
    heading(workspace.name, place),
    el(
      "div",
      { class: "grid" },
      stateCard(overview.state, now),
      figuresCard(overview),
      costCard(cost, limits),
      trend,
      changes,
    ),
  ];
}

/** Creates a card whose content arrives after the page is shown. */
function lateCard(width, title, loadingText, visit, name, content) {
  const head = el("h2", null, title);
  const card = el("section", { class: `card ${width}` }, head, el("p", { class: "loading" }, loadingText));
  const fill = (...children) => {
    if (!visit.isOver()) card.replaceChildren(head, ...children.filter(Boolean));
  };
  query(name).then(
    (answer) => fill(...content(answer)),
    (error) => fill(el("p", { class: "note" }, error.message)),
  );
  return card;
}

function stateCard(state, now) {
  const card = el("section", { class: "card now w8" }, el("h2", null, "Next action"));
  if (!state || state.error) {
    const command = el("code", null, "memory-forge mind set --next …");
    const advice = ["No state recorded. Run ", command, " to begin."];
    card.append(el("p", { class: "empty" }, state ? state.error : advice));
    return card;
  }
  const isStale = state.staleSeconds !== null && state.staleSeconds !== undefined;
  card.append(
    el("p", { class: "next" }, state.next || el("span", { class: "soft" }, "Not set")),
    el(
      "dl",
      null,
      state.phase && [el("dt", null, "Phase"), el("dd", null, state.phase)],
      state.status && [el("dt", null, "Status"), el("dd", null, state.status)],
      stateItems("Active", state.active || []),
      stateItems("Blocked", state.blocked || [], "blocked"),
      el("dt", null, "Updated"),
      el(
        "dd",
        null,
        documentLink(state.file),
        " ",
        state.modified && el("span", { class: "soft" }, formatAge(state.modified, now)),
        " ",
        isStale ? pill("warn", "stale") : pill("good", "fresh"),
      ),
    ),
  );
  return card;
}

function stateItems(name, items, kind) {
  if (!items.length) return null;
  const shown = items.slice(0, MAX_STATE_ITEMS).map((item) => el("li", { class: kind }, item));
  const more = items.length - shown.length;
  return [
    el("dt", null, name),
    el("dd", null, el("ul", null, shown, more > 0 && el("li", null, `${formatCount(more)} more`))),
  ];
}

function figuresCard({ documents, findings, tokens, index, pushes }) {
  const figure = (value, label, href) => {
    const content = [el("b", null, value), el("small", null, label)];
    return el("div", { class: "stat" }, href ? el("a", { href }, content) : content);
  };
  const serious = findings.critical + findings.warnings;
  const noun = serious === 1 ? "finding" : "findings";
  return el(
    "section",
    { class: "card w4" },
    el("h2", null, "At a glance"),
    el(
      "div",
      { class: "stats" },
      figure(formatCount(documents), documents === 1 ? "document" : "documents", "#/documents"),
      figure(
        formatCount(serious),
        findings.critical ? `${noun}, ${findings.critical} critical` : noun,
        "#/audit",
      ),
      figure(`~${formatCount(tokens.briefing.count + tokens.stub.count)}`, "tokens of memory per session"),
      figure(`~${formatCount(tokens.nudge.count)}`, "more tokens per prompt"),
      index &&
        !index.error &&
        figure(formatCount(index.files), `files indexed, ${indexAge(index)}`, "#/search"),
      pushes?.count > 0 && pushFigure(pushes),
    ),
  );
}

/** Shows the items that hooks brought before actions, and what followed. */
function pushFigure({ count, tokens, avoided, used, ignored, contradicted, open, unknown }) {
  const noun = count === 1 ? "item" : "items";
  const outcomes = Object.entries({ avoided, used, ignored, contradicted, open, unknown })
    .filter(([, number]) => number > 0)
    .map(([name, number]) => el("li", null, `${formatCount(number)} ${name}`));
  return el(
    "div",
    { class: "stat wide" },
    el("b", null, formatCount(count)),
    el("small", null, `${noun} brought to agents, ~${formatCount(tokens.count)} tokens`),
    el("ul", null, outcomes),
  );
}

function indexAge({ changedSince }) {
  return changedSince ? `${formatCount(changedSince)} changed since` : "up to date";
}

function costCard(cost, limits) {
  const colours = fileColours(cost.clients);
  const colour = (path) => colours.get(path) || OTHER_COLOUR;
  const rows = cost.clients.map((client) => {
    const parts = client.parts.map((part) => [part.path, part.tokens, colour(part.path)]);
    parts.sort(([, , a], [, , b]) => a - b);
    const { more, briefing } = client;
    if (more.tokens) parts.push([plural(more.files, "more file"), more.tokens, OTHER_COLOUR]);
    if (briefing) parts.push(["Briefing (estimated)", briefing, BRIEFING_COLOUR]);
    return { name: client.name, parts };
  });
  const legend = [...colours].map(([path, number]) => [number, path]);
  const usesColour = (number) => rows.some((row) => row.parts.some(([, , used]) => used === number));
  if (usesColour(OTHER_COLOUR)) legend.push([OTHER_COLOUR, "other files"]);
  if (usesColour(BRIEFING_COLOUR)) legend.push([BRIEFING_COLOUR, "briefing (estimated)"]);
  const items = legend.map(([number, label]) =>
    el("li", null, el("span", { class: `swatch f${number}` }), label),
  );
  return el(
    "section",
    { class: "card" },
    el("h2", null, "Loaded by each client at session start"),
    stackedBars(rows, limits, "tokens"),
    el("ul", { class: "legend" }, items),
    el("details", null, el("summary", null, "As a table (tokens)"), costTable(cost.clients)),
  );
}

/** Gives the heaviest files a colour, the same in every bar. */
function fileColours(clients) {
  const weights = new Map();
  for (const { path, tokens } of clients.flatMap((client) => client.parts)) {
    weights.set(path, Math.max(weights.get(path) || 0, tokens));
  }
  const paths = [...weights.keys()].sort((a, b) => weights.get(b) - weights.get(a));
  return new Map(paths.slice(0, MAX_COLOURED_FILES).map((path, i) => [path, i + 1]));
}

function costTable(clients) {
  const level = el("span", { class: "sr" }, "Level");
  const columns = ["Client", ["Project", "num"], ["Briefing", "num"], ["User files", "num"], level];
  const rows = clients.map((client) => [
    client.name,
    `${formatCount(client.tokens)} ${client.tokenizer}`,
    client.briefing ? `~${formatCount(client.briefing)}` : "–",
    formatCount(client.yours),
    client.level ? pill(LEVEL_CLASSES[client.level], client.level) : "",
  ]);
  return table("Tokens by client", columns, rows);
}

function trendContent({ points, leftOut, why }, limits, tokenizer) {
  if (!points.length) return [el("p", { class: "empty" }, why || "No commits")];
  const last = points.at(-1);
  const chartPoints = points.map(({ date, tokens, subject }) => ({ date, value: tokens, title: subject }));
  const size = `${formatCount(last.tokens)} tokens (${tokenizer}) in ${plural(last.files, "file")} that clients load`;
  const documents = plural(last.documents, "knowledge document");
  const commits = plural(points.length + leftOut, "commit");
  const shown = leftOut > 0 ? `${formatCount(points.length)} of ${commits}` : commits;
  return [
    lineOverTime(chartPoints, limits, "tokens"),
    el("p", { class: "soft" }, `${size}; ${documents}; ${shown}`),
  ];
}

function changesContent({ changes, leftOut }, now) {
  if (!changes.length) return [el("p", { class: "empty" }, "No changes by Memory Forge")];
  const rows = changes.slice(0, MAX_CHANGES).map((change) => changeRow(change, now));
  return [el("ul", { class: "plain" }, rows), moreNote(changes.length - rows.length + leftOut, "change")];
}

function changeRow(change, now) {
  const canUndo = !change.undone && !change.undoes && !change.interrupted;
  const props = {
    type: "button",
    class: "quiet",
    "aria-label": `Undo: ${change.what}`,
    onclick: () => undoChange(change.id),
  };
  const age = el("small", null, formatAge(change.time, now), change.undone && ", undone");
  return el(
    "li",
    { class: "row spread" },
    el("span", null, change.what, el("br"), age),
    canUndo && el("button", props, "Undo"),
  );
}
