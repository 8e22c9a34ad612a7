// Lists the registered workspaces with the state of each.

import { el } from "../dom.js";
import { formatAge, formatCount, plural } from "../format.js";
import { query } from "../server.js";
import { heading, LEVEL_CLASSES, moreNote, pill } from "../widgets.js";

export const fleetPage = { name: "fleet", title: "Fleet", key: "f", show: showFleet };

async function showFleet() {
  const fleet = await query("fleet");
  const now = Date.parse(fleet.now);
  const command = el("code", null, "memory-forge sources add");
  return [
    heading("Fleet", el("p", null, "Registered workspaces and the state of each.")),
    fleet.workspaces.length
      ? el(
          "div",
          { class: "grid" },
          fleet.workspaces.map((it) => workspaceCard(it, now)),
        )
      : el("p", { class: "empty" }, "No workspaces registered. Run ", command, " to register this one."),
    moreNote(fleet.leftOut, "workspace"),
    el("p", { class: "soft" }, "Registry: ", el("span", { class: "path" }, fleet.registry)),
  ];
}

function workspaceCard(workspace, now) {
  const { state } = workspace;
  return el(
    "article",
    { class: "card ship w6" },
    el(
      "div",
      { class: "row spread" },
      el("h3", null, workspace.name),
      el(
        "span",
        { class: "row" },
        workspace.here && pill("good", "this workspace"),
        !workspace.present && pill("bad", "missing"),
        !workspace.searchable && pill("", "not searchable"),
        state?.blocked > 0 && pill("warn", plural(state.blocked, "blocker")),
      ),
    ),
    el("p", { class: "path" }, workspace.path),
    state ? stateList(state, now) : el("p", { class: "soft" }, missingState(workspace)),
    workspace.tokens !== undefined && startCost(workspace),
  );
}

function missingState(workspace) {
  return workspace.present ? "No state recorded" : "Folder not found; it may have moved.";
}

function stateList({ next, phase, modified }, now) {
  const facts = [
    ["Next", next],
    ["Phase", phase],
    ["Updated", modified && formatAge(modified, now)],
  ];
  const shown = facts.filter(([, value]) => value);
  return el(
    "dl",
    { class: "facts" },
    shown.map(([name, value]) => [el("dt", null, name), el("dd", null, value)]),
  );
}

function startCost({ documents, tokens, level }) {
  const text = `${plural(documents, "document")}, ${formatCount(tokens)} tokens at session start `;
  return el("p", { class: "soft" }, text, level && level !== "notice" && pill(LEVEL_CLASSES[level], level));
}
