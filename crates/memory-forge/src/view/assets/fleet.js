// The registered workspaces, and where the work stands in each.
"use strict";

page("fleet", "Fleet", "f", async () => {
  const told = await ask("fleet");
  const ship = (it) => el("article", { class: "card ship w6" },
    el("div", { class: "row spread" }, el("h3", null, it.name), el("span", { class: "row" }, it.here && pill("good", "this one"), !it.present && pill("bad", "missing"), !it.searchable && pill("", "not searched"), it.state && it.state.blocked > 0 && pill("warn", several(it.state.blocked, "blocker")))),
    el("p", { class: "path" }, it.path),
    it.state ? el("dl", { class: "facts" }, [["Next", it.state.next], ["Phase", it.state.phase], ["Written", it.state.modified && ago(it.state.modified)]].filter(([, v]) => v).map(([k, v]) => [el("dt", null, k), el("dd", null, v)])) : el("p", { class: "soft" }, it.present ? "No state is written down there." : "The folder is not there; it may have moved."),
    it.tokens !== undefined && el("p", { class: "soft" }, `${several(it.documents, "document")}, ${count(it.tokens)} tokens at every start `, it.level && it.level !== "notice" ? pill(levels[it.level], it.level) : ""));
  return [heading("Fleet", el("p", null, "Workspaces that can be searched from one another.")),
    told.workspaces.length ? el("div", { class: "grid" }, told.workspaces.map(ship)) : el("p", { class: "empty" }, "None is registered. ", el("code", null, "memory-forge sources add"), " registers this one."),
    leftOut(told.leftOut, "workspace") || "", el("p", { class: "soft" }, "Registry: ", el("span", { class: "path" }, told.registry))];
});
