// Documents and what leads from one to another, as a picture and as a list.
"use strict";

// By the names of the kinds.
const COLOURS = { Knowledge: 1, Task: 2, Decision: 3, Person: 4, Project: 5, Agent: 6, Artifact: 7, Missing: 7 };

page("graph", "Graph", "g", async (at, visit) => {
  const told = await ask("graph");
  const nodes = told.nodes.map(([title, kind, path, type, status, date], index) => ({ index, title, kind: told.kinds[kind], colour: COLOURS[told.kinds[kind]] || 7, path, type, status, date, degree: 0 }));
  for (const [from, to] of told.edges) { nodes[from].degree++; nodes[to].degree++; }
  const unique = (name) => [...new Set(nodes.map((it) => it[name]).filter(Boolean))].sort();
  const pick = (name, label, values) => {
    const select = el("select", { name, onchange: () => filter() }, el("option", { value: "" }, "any"), values.map((it) => el("option", { value: it }, it)));
    select.value = at.params.get(name) || "";
    return el("label", null, label, select);
  };
  const words = el("input", { type: "search", name: "find", placeholder: "Find a node", "aria-label": "Find a node", oninput: () => filter() });
  const since = el("input", { type: "date", name: "since", onchange: () => filter() });
  const until = el("input", { type: "date", name: "until", onchange: () => filter() });
  const typed = el("input", { type: "checkbox", onchange: () => filter() });
  const filters = el("div", { class: "filters" }, words, pick("kind", "Kind", unique("kind")), pick("type", "Type", unique("type")), pick("status", "Status", unique("status")),
    el("label", null, "From", since), el("label", null, "to", until), el("label", null, typed, "Typed edges only"));
  const said = el("p", { class: "soft", role: "status" });
  const list = el("div");
  const tip = el("div", { class: "tip" });
  const canvas = el("canvas", { role: "img", "aria-label": "Picture of the graph; the list below has the same nodes" });
  const stage = el("div", { class: "stage" }, canvas, tip, el("div", { class: "zoom" },
    el("button", { type: "button", "aria-label": "Closer", onclick: () => picture && picture.zoom(1.4) }, "+"),
    el("button", { type: "button", "aria-label": "Farther", onclick: () => picture && picture.zoom(1 / 1.4) }, "−"),
    el("button", { type: "button", onclick: () => picture && picture.fit(true) }, "Fit")));
  let picture = null, rows = 100;
  function filter() {
    const value = (name) => filters.querySelector(`[name=${name}]`).value;
    const find = words.value.trim().toLowerCase();
    const kept = nodes.filter((it) => (!value("kind") || it.kind === value("kind")) && (!value("type") || it.type === value("type")) && (!value("status") || it.status === value("status"))
      && (!since.value || (it.date && it.date >= since.value)) && (!until.value || (it.date && it.date.slice(0, until.value.length) <= until.value)) && (!find || it.title.toLowerCase().includes(find) || (it.path || "").toLowerCase().includes(find)));
    const place = new Map(kept.map((it, index) => [it.index, index]));
    const edges = told.edges.filter(([from, to, kind]) => place.has(from) && place.has(to) && (!typed.checked || told.edgeKinds[kind] !== "links")).map(([from, to, kind]) => [place.get(from), place.get(to), kind]);
    said.textContent = `${several(kept.length, "node")}, ${several(edges.length, "edge")}` + (told.leftOut.nodes + told.leftOut.edges > 0 ? `; ${count(told.leftOut.nodes)} nodes and ${count(told.leftOut.edges)} edges are too many to draw` : "");
    if (picture) picture.stop();
    picture = new Picture(canvas, tip, kept, edges);
    rows = 100; showList(kept);
  }
  function showList(kept) {
    const shown = [...kept].sort((a, b) => b.degree - a.degree || (a.title < b.title ? -1 : 1)).slice(0, rows);
    list.replaceChildren(el("div", { class: "table", tabindex: "0", role: "group", "aria-label": "Nodes" }, el("table", null,
      el("thead", null, el("tr", null, ["Node", "Kind", "Status", "Date", "Edges"].map((it) => el("th", { scope: "col", class: it === "Edges" ? "num" : null }, it)))),
      el("tbody", null, shown.map((it) => el("tr", null, el("td", null, it.path && it.path.endsWith(".md") ? toDocument(it.path, it.title) : it.title), el("td", null, it.type || it.kind), el("td", null, it.status || ""), el("td", { class: "num" }, it.date || ""), el("td", { class: "num" }, it.degree)))))),
      kept.length > rows ? el("p", null, el("button", { type: "button", onclick: () => { rows += 400; showList(kept); } }, `${count(kept.length - rows)} more`)) : "");
  }
  visit.onLeave(() => picture && picture.stop());
  // The canvas must be on the page to have a size.
  setTimeout(() => { if (!visit.gone()) filter(); }, 0);
  const kinds = [...new Set(nodes.map((it) => it.kind))];
  return [heading("Graph"), filters, said, stage,
    el("ul", { class: "legend" }, kinds.map((kind) => el("li", null, el("span", { class: "swatch f" + nodes.find((it) => it.kind === kind).colour }), kind))),
    el("section", { class: "list" }, el("h2", null, "The same as a list"), list)];
});

class Picture {
  constructor(canvas, tip, nodes, edges) {
    Object.assign(this, { canvas, tip, nodes, edges, scale: 1, ox: 0, oy: 0, over: -1, running: true, moved: false });
    this.layout = new Layout(nodes.length, Uint32Array.from(edges.flatMap(([a, b]) => [a, b])), nodes.map((it) => (it.path || it.kind).split("/").slice(0, -1).join("/")));
    this.abort = new AbortController();
    const on = (target, name, f) => target.addEventListener(name, f, { signal: this.abort.signal, passive: false });
    on(canvas, "wheel", (event) => { event.preventDefault(); this.zoom(Math.exp(-event.deltaY * 0.0014), event.offsetX, event.offsetY); });
    const held = new Map();
    on(canvas, "pointerdown", (event) => { canvas.setPointerCapture(event.pointerId); held.set(event.pointerId, [event.offsetX, event.offsetY]); this.moved = false; });
    on(canvas, "pointermove", (event) => {
      const before = held.get(event.pointerId);
      if (before && held.size === 2) {
        const other = [...held].find(([id]) => id !== event.pointerId)[1];
        const was = Math.hypot(before[0] - other[0], before[1] - other[1]), is = Math.hypot(event.offsetX - other[0], event.offsetY - other[1]);
        if (was > 0) this.zoom(is / was, other[0], other[1]);
        held.set(event.pointerId, [event.offsetX, event.offsetY]); this.moved = true;
      } else if (before) {
        const [px, py] = [event.offsetX - before[0], event.offsetY - before[1]];
        if (this.moved || Math.hypot(px, py) > 4) { this.ox += px; this.oy += py; this.moved = true; this.own = true; held.set(event.pointerId, [event.offsetX, event.offsetY]); this.ask(); }
      } else this.hover(event.offsetX, event.offsetY);
    });
    const up = (event) => { held.delete(event.pointerId); };
    on(canvas, "pointerup", up); on(canvas, "pointercancel", up);
    on(canvas, "click", (event) => {
      if (this.moved) return;
      const node = this.nodes[this.at(event.offsetX, event.offsetY)];
      if (node && node.path && node.path.endsWith(".md")) location.hash = address(node.path).slice(1);
    });
    on(window, "themechange", () => { this.colours(); this.ask(); });
    on(matchMedia("(prefers-color-scheme: dark)"), "change", () => { this.colours(); this.ask(); });
    this.watch = new ResizeObserver(() => this.size());
    this.watch.observe(canvas);
    this.colours(); this.size(); this.fit();
    this.still = matchMedia("(prefers-reduced-motion: reduce)").matches;
    this.loop();
  }
  stop() { this.running = false; this.abort.abort(); this.watch.disconnect(); }
  colours() {
    const style = getComputedStyle(document.documentElement), get = (name) => style.getPropertyValue(name).trim();
    this.ink = get("--ink"); this.line = get("--strong-line"); this.panel = get("--panel"); this.accent = get("--accent");
    this.fills = [null, 1, 2, 3, 4, 5, 6, 7].map((it) => it && get("--c" + it));
  }
  size() {
    const ratio = window.devicePixelRatio || 1, box = this.canvas.getBoundingClientRect();
    if (!box.width) return;
    this.width = box.width; this.height = box.height; this.ratio = ratio;
    this.canvas.width = Math.round(box.width * ratio); this.canvas.height = Math.round(box.height * ratio);
    if (!this.own) this.fit();
    this.ask();
  }
  fit(asked) {
    const { x, y, count } = this.layout;
    let [ax, ay, bx, by] = [Infinity, Infinity, -Infinity, -Infinity];
    for (let i = 0; i < count; i++) { ax = Math.min(ax, x[i]); bx = Math.max(bx, x[i]); ay = Math.min(ay, y[i]); by = Math.max(by, y[i]); }
    if (!count || !this.width) return;
    this.scale = Math.min(2.2, (this.width - 60) / Math.max(60, bx - ax), (this.height - 60) / Math.max(60, by - ay));
    this.ox = this.width / 2 - ((ax + bx) / 2) * this.scale; this.oy = this.height / 2 - ((ay + by) / 2) * this.scale;
    if (asked) { this.own = false; this.ask(); }
  }
  zoom(by, px = this.width / 2, py = this.height / 2) {
    const next = Math.max(0.02, Math.min(8, this.scale * by)), real = next / this.scale;
    this.ox = px - (px - this.ox) * real; this.oy = py - (py - this.oy) * real; this.scale = next; this.own = true; this.ask();
  }
  at(px, py) {
    const { x, y, count } = this.layout;
    let best = -1, near = 14 * 14;
    for (let i = 0; i < count; i++) {
      const d = (x[i] * this.scale + this.ox - px) ** 2 + (y[i] * this.scale + this.oy - py) ** 2;
      if (d < near) { near = d; best = i; }
    }
    return best;
  }
  hover(px, py) {
    const found = this.at(px, py);
    if (found === this.over) return;
    this.over = found;
    const node = this.nodes[found];
    this.tip.textContent = node ? [node.title, node.type || node.kind, node.status, node.date, several(node.degree, "edge")].filter(Boolean).join(" · ") : "";
    this.canvas.classList.toggle("over", Boolean(node && node.path));
    this.ask();
  }
  ask() { this.dirty = true; }
  loop() {
    if (!this.running) return;
    // As many steps as fit a frame: the page stays responsive.
    const until = performance.now() + 9;
    let moving = true;
    do { moving = this.layout.step(); } while (moving && performance.now() < until);
    if (moving && !this.own) this.fit();
    if ((moving && !this.still) || this.dirty || moving !== this.was) { this.was = moving; this.dirty = false; this.draw(); }
    this.canvas.dataset.settled = String(!moving);
    requestAnimationFrame(() => this.loop());
  }
  draw() {
    const c = this.canvas.getContext("2d"), { x, y } = this.layout, { scale, ox, oy } = this;
    if (!c || !this.width) return;
    c.setTransform(this.ratio, 0, 0, this.ratio, 0, 0);
    c.clearRect(0, 0, this.width, this.height);
    const near = this.over >= 0 ? new Set([this.over]) : null;
    c.lineWidth = Math.max(0.4, Math.min(1.2, scale));
    c.globalAlpha = near ? 0.1 : Math.max(0.1, Math.min(0.5, 900 / (this.edges.length + 1)));
    for (const own of [false, true]) {
      if (own && !near) break;
      c.beginPath();
      for (const [a, b] of this.edges) {
        const mine = near && (a === this.over || b === this.over);
        if (Boolean(mine) !== own) continue;
        if (mine) { near.add(a); near.add(b); }
        c.moveTo(x[a] * scale + ox, y[a] * scale + oy); c.lineTo(x[b] * scale + ox, y[b] * scale + oy);
      }
      if (own) c.globalAlpha = 0.9;
      c.strokeStyle = own ? this.accent : this.line;
      c.stroke();
    }
    for (let fill = 1; fill <= 7; fill++) {
      c.fillStyle = this.fills[fill];
      for (const faint of [true, false]) {
        if (faint && !near) continue;
        c.globalAlpha = faint ? 0.25 : 1;
        c.beginPath();
        for (let i = 0; i < this.nodes.length; i++) {
          if (this.nodes[i].colour !== fill || (near && near.has(i) === faint)) continue;
          const px = x[i] * scale + ox, py = y[i] * scale + oy;
          if (px < -20 || py < -20 || px > this.width + 20 || py > this.height + 20) continue;
          const radius = this.radius(i);
          c.moveTo(px + radius, py); c.arc(px, py, radius, 0, 7);
        }
        c.fill();
      }
    }
    c.globalAlpha = 1; c.fillStyle = this.ink; c.strokeStyle = this.panel; c.lineWidth = 3; c.lineJoin = "round"; c.font = "12px ui-sans-serif, system-ui, sans-serif";
    const named = near ? [...near] : this.named();
    const taken = [];
    for (const i of named.slice(0, 60)) {
      const px = x[i] * scale + ox + this.radius(i) + 4, py = y[i] * scale + oy + 4;
      if (px < 0 || px > this.width || py < 0 || py > this.height) continue;
      const title = this.nodes[i].title.length > 34 ? this.nodes[i].title.slice(0, 33) + "…" : this.nodes[i].title;
      const wide = c.measureText(title).width;
      if (taken.some(([tx, ty, tw]) => Math.abs(ty - py) < 14 && px < tx + tw && tx < px + wide)) continue;
      taken.push([px, py, wide]);
      c.strokeText(title, px, py); c.fillText(title, px, py);
    }
  }
  radius(i) { return Math.max(1.6, Math.min(11, (2.6 + Math.sqrt(this.nodes[i].degree) * 1.3) * Math.min(1.4, Math.max(0.5, this.scale)))); }
  named() { return (this.order ||= this.nodes.map((_, i) => i).sort((a, b) => this.nodes[b].degree - this.nodes[a].degree)).slice(0, this.nodes.length < 60 ? 60 : Math.round(24 * Math.max(1, this.scale))); }
}
