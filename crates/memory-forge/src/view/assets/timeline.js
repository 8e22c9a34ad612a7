// Sessions, decisions and checkpoints by day, and what replaced what.
"use strict";

page("timeline", "Timeline", "t", async (at) => {
  const told = await ask("timeline");
  const all = [...told.sessions, ...told.decisions, ...told.checkpoints];
  const show = { session: true, decision: true, checkpoint: true };
  const list = el("ol", { class: "time" });
  const box = (kind, label, n) => {
    const input = el("input", { type: "checkbox", onchange: () => { show[kind] = input.checked; paint(); } });
    input.checked = true;
    return el("label", null, input, `${label} (${count(n)})`);
  };
  function paint() {
    const kept = all.filter((it) => show[it.kind]).sort((a, b) => ((b.date || "") + (b.time || "")).localeCompare((a.date || "") + (a.time || "")));
    list.replaceChildren();
    let last = null;
    for (const it of kept) {
      if (it.date !== last) { last = it.date; list.append(el("li", { class: "day" }, it.date || "Without a date")); }
      list.append(entry(it, told.decisions));
    }
    if (!kept.length) list.append(el("li", { class: "day" }, "Nothing is written down yet."));
  }
  paint();
  const chains = lineage(told.decisions);
  return [heading("Timeline"),
    told.problems.map((it) => el("p", { class: "note warn" }, it)),
    chains && el("section", { class: "card" }, el("h2", null, "Decisions that were replaced"), chains),
    el("div", { class: "filters" }, box("session", "Sessions", told.sessions.length), box("decision", "Decisions", told.decisions.length), box("checkpoint", "Checkpoints", told.checkpoints.length)),
    list, leftOut(told.leftOut, "older entry")].flat().filter(Boolean);
});

function entry(it, decisions) {
  if (it.kind === "checkpoint") return el("li", { class: "entry" }, el("h3", null, toDocument(it.path, it.title)), it.time && el("small", null, it.time.replace("-", ":")));
  const by = it.supersededBy !== null && it.supersededBy !== undefined ? decisions.find((d) => d.number === it.supersededBy) : null;
  const id = it.kind === "decision" ? "d-" + it.number : null;
  return el("li", { class: `entry ${it.kind} ${it.superseded ? "ended" : ""}`, id, tabindex: id ? "-1" : null },
    el("h3", null, it.id && [it.id, " "], it.kind === "session" && it.number ? `Session ${it.number}` : it.title),
    el("div", { class: "row" }, it.superseded && pill("warn", "replaced"), it.by && el("small", null, "by " + it.by), it.status && el("small", null, it.status), el("span", { class: "path" }, toDocument(it.path, `${it.path}:${it.line}`))),
    it.kind === "session" ? el("p", null, it.gist || it.title) : el("p", null, it.decision),
    by && el("p", null, "Replaced by ", el("a", { href: location.hash, onclick: (event) => jump(event, by) }, by.id || by.title)),
    it.text && el("details", null, el("summary", null, "As it was written"), el("pre", { tabindex: "0" }, it.text)));
}
function jump(event, decision) {
  event.preventDefault();
  const target = document.getElementById("d-" + decision.number);
  if (target) { target.scrollIntoView({ block: "center" }); target.focus(); }
}

/** Each chain of decisions as a row of boxes, the oldest at the left. */
function lineage(decisions) {
  const byNumber = new Map(decisions.map((it) => [it.number, it]));
  const linked = decisions.filter((it) => byNumber.has(it.supersededBy));
  if (!linked.length) return null;
  const replaced = new Set(linked.map((it) => it.supersededBy));
  const chains = linked.filter((it) => !replaced.has(it.number)).map((first) => {
    const chain = [first], seen = new Set([first.number]);
    for (let next = byNumber.get(first.supersededBy); next && !seen.has(next.number); next = byNumber.get(next.supersededBy)) { chain.push(next); seen.add(next.number); }
    return chain;
  });
  const [wide, high, gapX, gapY] = [250, 58, 56, 18];
  const shown = chains.slice(0, 12);
  const most = Math.max(...shown.map((it) => it.length));
  const drawing = svg("svg", { width: most * (wide + gapX) - gapX + 4, height: shown.length * (high + gapY) - gapY + 4, role: "group", "aria-label": "Chains of decisions" },
    svg("defs", null, svg("marker", { id: "tip", viewBox: "0 0 8 8", refX: 7, refY: 4, markerWidth: 7, markerHeight: 7, orient: "auto" }, svg("path", { d: "M0 0 L8 4 L0 8 Z" }))));
  shown.forEach((chain, row) => chain.forEach((it, column) => {
    const [x, y] = [column * (wide + gapX) + 2, row * (high + gapY) + 2];
    const clip = (text, n) => (text.length > n ? text.slice(0, n - 1) + "…" : text);
    const link = svg("a", { href: location.hash, class: it.superseded ? "ended" : "holds" },
      svg("rect", { x, y, width: wide, height: high, rx: 8 }),
      svg("text", { x: x + 12, y: y + 23 }, clip([it.id, it.date].filter(Boolean).join("  ·  "), 34)), svg("text", { x: x + 12, y: y + 43 }, clip(it.title, 36)));
    link.addEventListener("click", (event) => jump(event, it));
    drawing.append(link);
    if (column) drawing.append(svg("path", { d: `M${x - gapX + 4} ${y + high / 2} H${x - 4}`, "marker-end": "url(#tip)" }));
  }));
  return el("div", { class: "lineage", tabindex: "0", role: "group", "aria-label": "Drawing" }, drawing, leftOut(chains.length - shown.length, "chain"));
}
