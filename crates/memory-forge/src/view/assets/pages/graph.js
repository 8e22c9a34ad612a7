// Shows documents and their links as a picture and as a list.

import { el } from "../dom.js";
import { formatCount, plural } from "../format.js";
import { GraphPicture } from "../picture.js";
import { query } from "../server.js";
import { documentLink, heading, table } from "../widgets.js";

const FIRST_ROWS = 100;
const MORE_ROWS = 400;
const ZOOM_STEP = 1.4;
const OTHER_COLOUR = 7;
const KIND_COLOURS = { Knowledge: 1, Task: 2, Decision: 3, Person: 4, Project: 5, Agent: 6 };

export const graphPage = { name: "graph", title: "Graph", key: "g", show: showGraph };

async function showGraph(place, visit) {
  const graph = await query("graph");
  const nodes = readNodes(graph);
  const filters = graphFilters(nodes, place, () => applyFilters());
  const status = el("p", { class: "soft", role: "status" });
  const list = el("div");
  const tip = el("div", { class: "tip" });
  const canvas = el("canvas", { role: "img", "aria-label": "Graph; the list below contains the same nodes" });
  let picture = null;
  function applyFilters() {
    const kept = nodes.filter(filters.matchesNode);
    const edges = edgesBetween(kept, graph, filters.isTypedOnly());
    status.textContent = [
      `${plural(kept.length, "node")}, ${plural(edges.length, "edge")}`,
      leftOutText(graph),
    ]
      .filter(Boolean)
      .join("; ");
    picture?.stop();
    picture = new GraphPicture(canvas, tip, kept, edges);
    showNodeList(list, kept, FIRST_ROWS);
  }
  visit.onLeave(() => picture?.stop());
  // The canvas has a size only after it is on the page.
  setTimeout(() => !visit.isOver() && applyFilters(), 0);
  const button = (label, run, name) =>
    el("button", { type: "button", "aria-label": name, onclick: run }, label);
  return [
    heading("Graph"),
    filters.element,
    status,
    el(
      "div",
      { class: "stage" },
      canvas,
      tip,
      el(
        "div",
        { class: "zoom" },
        button("+", () => picture?.zoom(ZOOM_STEP), "Zoom in"),
        button("−", () => picture?.zoom(1 / ZOOM_STEP), "Zoom out"),
        button("Fit", () => picture?.fitAgain()),
      ),
    ),
    legend(nodes),
    el("section", { class: "list" }, el("h2", null, "All nodes"), list),
  ];
}

/** Reads nodes from rows, and counts their edges. */
function readNodes(graph) {
  const nodes = graph.nodes.map(([title, kindIndex, path, type, status, date], index) => {
    const kind = graph.kinds[kindIndex];
    const colour = KIND_COLOURS[kind] || OTHER_COLOUR;
    return { index, title, kind, colour, path, type, status, date, degree: 0 };
  });
  for (const [from, to] of graph.edges) {
    nodes[from].degree += 1;
    nodes[to].degree += 1;
  }
  return nodes;
}

function graphFilters(nodes, place, onChange) {
  const select = (name, label) => {
    const values = [...new Set(nodes.map((node) => node[name]).filter(Boolean))].sort();
    const options = values.map((value) => el("option", { value }, value));
    const field = el("select", { name, onchange: onChange }, el("option", { value: "" }, "any"), options);
    field.value = place.params.get(name) || "";
    return { field, label: el("label", null, label, field) };
  };
  const words = el("input", {
    type: "search",
    name: "find",
    placeholder: "Find a node",
    "aria-label": "Find a node",
    oninput: onChange,
  });
  const kind = select("kind", "Kind");
  const type = select("type", "Type");
  const status = select("status", "Status");
  const since = el("input", { type: "date", name: "since", onchange: onChange });
  const until = el("input", { type: "date", name: "until", onchange: onChange });
  const typedOnly = el("input", { type: "checkbox", onchange: onChange });
  const matchesNode = (node) => {
    const text = words.value.trim().toLowerCase();
    // A date in a document may be a day, a month or a year; the field has a day.
    const isAfter = !since.value || (node.date && node.date >= since.value);
    const isBefore = !until.value || (node.date && node.date.slice(0, until.value.length) <= until.value);
    return (
      (!kind.field.value || node.kind === kind.field.value) &&
      (!type.field.value || node.type === type.field.value) &&
      (!status.field.value || node.status === status.field.value) &&
      isAfter &&
      isBefore &&
      `${node.title}\n${node.path || ""}`.toLowerCase().includes(text)
    );
  };
  const element = el(
    "div",
    { class: "filters" },
    words,
    kind.label,
    type.label,
    status.label,
    el("label", null, "From", since),
    el("label", null, "to", until),
    el("label", null, typedOnly, "Typed edges only"),
  );
  return { element, matchesNode, isTypedOnly: () => typedOnly.checked };
}

/** Returns the edges between these nodes, by their places in the list. */
function edgesBetween(nodes, graph, isTypedOnly) {
  const places = new Map(nodes.map((node, i) => [node.index, i]));
  const isKept = ([from, to, kind]) =>
    places.has(from) && places.has(to) && !(isTypedOnly && graph.edgeKinds[kind] === "links");
  return graph.edges.filter(isKept).map(([from, to]) => [places.get(from), places.get(to)]);
}

function leftOutText({ leftOut }) {
  if (!leftOut.nodes && !leftOut.edges) return null;
  return `not drawn: ${plural(leftOut.nodes, "node")} and ${plural(leftOut.edges, "edge")}`;
}

function legend(nodes) {
  const colours = new Map(nodes.map((node) => [node.kind, node.colour]));
  const items = [...colours].map(([kind, colour]) =>
    el("li", null, el("span", { class: `swatch f${colour}` }), kind),
  );
  return el("ul", { class: "legend" }, items);
}

/** Lists nodes, those with the most edges first. */
function showNodeList(list, nodes, maxRows) {
  const sorted = nodes.toSorted((a, b) => b.degree - a.degree || (a.title < b.title ? -1 : 1));
  const columns = ["Node", "Kind", "Status", ["Date", "num"], ["Edges", "num"]];
  const rows = sorted
    .slice(0, maxRows)
    .map((node) => [
      node.path?.endsWith(".md") ? documentLink(node.path, node.title) : node.title,
      node.type || node.kind,
      node.status || "",
      node.date || "",
      node.degree,
    ]);
  const more = nodes.length - maxRows;
  const showMore = () => showNodeList(list, nodes, maxRows + MORE_ROWS);
  list.replaceChildren(
    table("Nodes", columns, rows),
    more > 0
      ? el("p", null, el("button", { type: "button", onclick: showMore }, `${formatCount(more)} more`))
      : "",
  );
}
