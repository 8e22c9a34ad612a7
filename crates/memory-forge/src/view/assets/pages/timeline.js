// Shows sessions, decisions and checkpoints by day, and which decision
// superseded which.

import { el, svg } from "../dom.js";
import { formatCount, plural } from "../format.js";
import { query } from "../server.js";
import { documentLink, heading, moreNote, pill } from "../widgets.js";

const MAX_CHAINS = 12;
const BOX_WIDTH = 250;
const BOX_HEIGHT = 58;
const GAP_X = 56;
const GAP_Y = 18;
const MAX_ID_CHARS = 34;
const MAX_TITLE_CHARS = 36;

export const timelinePage = { name: "timeline", title: "Timeline", key: "t", show: showTimeline };

async function showTimeline() {
  const { sessions, decisions, checkpoints, problems, leftOut } = await query("timeline");
  const moment = (entry) => (entry.date || "") + (entry.time || "");
  const entries = [...sessions, ...decisions, ...checkpoints];
  entries.sort((a, b) => moment(b).localeCompare(moment(a)));
  const isShown = { session: true, decision: true, checkpoint: true };
  const list = el("ol", { class: "time" });
  const switchFor = (kind, label, count) => {
    const toggle = () => {
      isShown[kind] = box.checked;
      showEntries();
    };
    const box = el("input", { type: "checkbox", checked: true, onchange: toggle });
    return el("label", null, box, `${label} (${formatCount(count)})`);
  };
  function showEntries() {
    const rows = [];
    let day;
    for (const entry of entries.filter(({ kind }) => isShown[kind])) {
      if (entry.date !== day) rows.push(el("li", { class: "day" }, entry.date || "No date"));
      day = entry.date;
      rows.push(entryView(entry, decisions));
    }
    list.replaceChildren(...(rows.length ? rows : [el("li", { class: "day" }, "No entries")]));
  }
  showEntries();
  const chains = chainDrawing(decisions);
  return [
    heading("Timeline"),
    problems.map((problem) => el("p", { class: "note warn" }, problem)),
    chains && el("section", { class: "card" }, el("h2", null, "Superseded decisions"), chains),
    el(
      "div",
      { class: "filters" },
      switchFor("session", "Sessions", sessions.length),
      switchFor("decision", "Decisions", decisions.length),
      switchFor("checkpoint", "Checkpoints", checkpoints.length),
    ),
    list,
    leftOut > 0 && el("p", { class: "note" }, `${plural(leftOut, "older entry", "older entries")} not shown`),
  ].flat();
}

function entryView(entry, decisions) {
  if (entry.kind === "checkpoint") {
    const time = entry.time && el("small", null, entry.time.replace("-", ":"));
    return el("li", { class: "entry" }, el("h3", null, documentLink(entry.path, entry.title)), time);
  }
  const isSession = entry.kind === "session";
  const title = isSession && entry.number ? `Session ${entry.number}` : entry.title;
  const id = isSession ? null : decisionElementId(entry);
  return el(
    "li",
    { class: `entry ${entry.kind} ${entry.superseded ? "ended" : ""}`, id, tabindex: id && "-1" },
    el("h3", null, entry.id && [entry.id, " "], title),
    el(
      "div",
      { class: "row" },
      entry.superseded && pill("warn", "superseded"),
      entry.by && el("small", null, `by ${entry.by}`),
      entry.status && el("small", null, entry.status),
      el("span", { class: "path" }, documentLink(entry.path, `${entry.path}:${entry.line}`)),
    ),
    el("p", null, isSession ? entry.gist || entry.title : entry.decision),
    successorLink(entry, decisions),
    entry.text &&
      el("details", null, el("summary", null, "Source"), el("pre", { tabindex: "0" }, entry.text)),
  );
}

function successorLink({ supersededBy }, decisions) {
  const successor = decisions.find((it) => it.number === supersededBy);
  if (!successor) return null;
  const jump = (event) => jumpToDecision(event, successor);
  const link = el("a", { href: location.hash, onclick: jump }, successor.id || successor.title);
  return el("p", null, "Superseded by ", link);
}

function decisionElementId({ number }) {
  return `d-${number}`;
}

function jumpToDecision(event, decision) {
  event.preventDefault();
  const target = document.getElementById(decisionElementId(decision));
  target?.scrollIntoView({ block: "center" });
  target?.focus();
}

/** Draws each chain of decisions as a row of boxes, the oldest at the left. */
function chainDrawing(decisions) {
  const chains = decisionChains(decisions);
  if (!chains.length) return null;
  const shown = chains.slice(0, MAX_CHAINS);
  const maxLength = Math.max(...shown.map((chain) => chain.length));
  const arrow = svg(
    "marker",
    { id: "tip", viewBox: "0 0 8 8", refX: 7, refY: 4, markerWidth: 7, markerHeight: 7, orient: "auto" },
    svg("path", { d: "M0 0 L8 4 L0 8 Z" }),
  );
  const drawing = svg(
    "svg",
    {
      width: maxLength * (BOX_WIDTH + GAP_X) - GAP_X + 4,
      height: shown.length * (BOX_HEIGHT + GAP_Y) - GAP_Y + 4,
      role: "group",
      "aria-label": "Chains of decisions",
    },
    svg("defs", null, arrow),
  );
  shown.forEach((chain, row) => {
    chain.forEach((decision, column) => {
      const x = column * (BOX_WIDTH + GAP_X) + 2;
      const y = row * (BOX_HEIGHT + GAP_Y) + 2;
      drawing.append(decisionBox(decision, x, y));
      if (!column) return;
      const line = `M${x - GAP_X + 4} ${y + BOX_HEIGHT / 2} H${x - 4}`;
      drawing.append(svg("path", { d: line, "marker-end": "url(#tip)" }));
    });
  });
  return el(
    "div",
    { class: "lineage", tabindex: "0", role: "group", "aria-label": "Drawing" },
    drawing,
    moreNote(chains.length - shown.length, "chain"),
  );
}

function decisionBox(decision, x, y) {
  const label = [decision.id, decision.date].filter(Boolean).join("  ·  ");
  const box = svg(
    "a",
    { href: location.hash, class: decision.superseded ? "ended" : "holds" },
    svg("rect", { x, y, width: BOX_WIDTH, height: BOX_HEIGHT, rx: 8 }),
    svg("text", { x: x + 12, y: y + 23 }, clip(label, MAX_ID_CHARS)),
    svg("text", { x: x + 12, y: y + 43 }, clip(decision.title, MAX_TITLE_CHARS)),
  );
  box.addEventListener("click", (event) => jumpToDecision(event, decision));
  return box;
}

function clip(text, maxChars) {
  return text.length > maxChars ? `${text.slice(0, maxChars - 1)}…` : text;
}

/** Follows each decision that supersedes none to its successors. */
function decisionChains(decisions) {
  const byNumber = new Map(decisions.map((it) => [it.number, it]));
  const superseded = decisions.filter((it) => byNumber.has(it.supersededBy));
  const successors = new Set(superseded.map((it) => it.supersededBy));
  const oldest = superseded.filter((it) => !successors.has(it.number));
  return oldest.map((first) => {
    const chain = new Set([first]);
    let next = byNumber.get(first.supersededBy);
    // A file can hold decisions that supersede each other in a circle.
    while (next && !chain.has(next)) {
      chain.add(next);
      next = byNumber.get(next.supersededBy);
    }
    return [...chain];
  });
}
