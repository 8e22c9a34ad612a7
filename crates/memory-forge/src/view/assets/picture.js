// Draws a graph on a canvas that can be moved, zoomed and clicked.

import { plural } from "./format.js";
import { GraphLayout } from "./layout.js";
import { documentAddress } from "./widgets.js";

/** Time for layout steps in a frame; the rest of 16 ms is for drawing. */
const LAYOUT_MS_PER_FRAME = 9;
const MIN_SCALE = 0.02;
const MAX_SCALE = 8;
/** Fitting never enlarges a small graph more than this. */
const MAX_FIT_SCALE = 2.2;
const FIT_MARGIN = 60;
/** A pointer this near to a node's centre is on it. */
const HIT_RADIUS = 14;
/** A pointer that moves less than this between press and release is a click. */
const MIN_DRAG = 4;
const COLOUR_COUNT = 7;
const MAX_LABELS = 60;
const MAX_LABEL_CHARS = 34;
const LABEL_FONT = "12px ui-sans-serif, system-ui, sans-serif";

/** The picture of a graph; `stop` ends it. */
export class GraphPicture {
  constructor(canvas, tip, nodes, edges) {
    this.canvas = canvas;
    this.tip = tip;
    this.nodes = nodes;
    this.edges = edges;
    this.scale = 1;
    this.offsetX = 0;
    this.offsetY = 0;
    this.hovered = -1;
    this.isRunning = true;
    this.needsDraw = true;
    /** Whether the user chose the view, so that it is no longer fitted. */
    this.hasUserView = false;
    const folders = nodes.map((node) => (node.path || node.kind).split("/").slice(0, -1).join("/"));
    const ends = Uint32Array.from(edges.flat());
    this.layout = new GraphLayout(nodes.length, ends, folders);
    this.isStill = matchMedia("(prefers-reduced-motion: reduce)").matches;
    this.abort = new AbortController();
    this.resizes = new ResizeObserver(() => this.#resize());
    this.resizes.observe(canvas);
    this.#listen();
    this.#readColours();
    this.#resize();
    this.fit();
    this.#loop();
  }

  /** Ends drawing and listening. */
  stop() {
    this.isRunning = false;
    this.abort.abort();
    this.resizes.disconnect();
  }

  /** Shows the whole graph, and follows it while it settles. */
  fitAgain() {
    this.hasUserView = false;
    this.fit();
    this.needsDraw = true;
  }

  fit() {
    if (!this.layout.count || !this.width) return;
    const { left, top, right, bottom } = this.layout.bounds();
    const scaleX = (this.width - FIT_MARGIN) / Math.max(FIT_MARGIN, right - left);
    const scaleY = (this.height - FIT_MARGIN) / Math.max(FIT_MARGIN, bottom - top);
    this.scale = Math.min(MAX_FIT_SCALE, scaleX, scaleY);
    this.offsetX = this.width / 2 - ((left + right) / 2) * this.scale;
    this.offsetY = this.height / 2 - ((top + bottom) / 2) * this.scale;
  }

  /** Zooms around a point, or around the middle. */
  zoom(factor, px = this.width / 2, py = this.height / 2) {
    const scale = Math.max(MIN_SCALE, Math.min(MAX_SCALE, this.scale * factor));
    const change = scale / this.scale;
    this.offsetX = px - (px - this.offsetX) * change;
    this.offsetY = py - (py - this.offsetY) * change;
    this.scale = scale;
    this.hasUserView = true;
    this.needsDraw = true;
  }

  #listen() {
    const on = (target, name, listener) =>
      target.addEventListener(name, listener, { signal: this.abort.signal, passive: false });
    const { canvas } = this;
    /** Where each finger or button that is down was last seen. */
    this.pointers = new Map();
    this.wasDragged = false;
    on(canvas, "wheel", (event) => {
      event.preventDefault();
      this.zoom(Math.exp(-event.deltaY * 0.0014), event.offsetX, event.offsetY);
    });
    on(canvas, "pointerdown", (event) => {
      canvas.setPointerCapture(event.pointerId);
      this.pointers.set(event.pointerId, [event.offsetX, event.offsetY]);
      this.wasDragged = false;
    });
    on(canvas, "pointermove", (event) => {
      if (!this.pointers.has(event.pointerId)) this.#hover(event.offsetX, event.offsetY);
      else if (this.pointers.size === 2) this.#pinch(event);
      else this.#drag(event);
    });
    const release = (event) => this.pointers.delete(event.pointerId);
    on(canvas, "pointerup", release);
    on(canvas, "pointercancel", release);
    on(canvas, "click", (event) => {
      if (!this.wasDragged) this.#open(this.nodes[this.#nodeAt(event.offsetX, event.offsetY)]);
    });
    const recolour = () => {
      this.#readColours();
      this.needsDraw = true;
    };
    on(window, "themechange", recolour);
    on(matchMedia("(prefers-color-scheme: dark)"), "change", recolour);
  }

  #drag(event) {
    const [beforeX, beforeY] = this.pointers.get(event.pointerId);
    const moveX = event.offsetX - beforeX;
    const moveY = event.offsetY - beforeY;
    if (!this.wasDragged && Math.hypot(moveX, moveY) <= MIN_DRAG) return;
    this.offsetX += moveX;
    this.offsetY += moveY;
    this.wasDragged = true;
    this.hasUserView = true;
    this.pointers.set(event.pointerId, [event.offsetX, event.offsetY]);
    this.needsDraw = true;
  }

  #pinch(event) {
    const [beforeX, beforeY] = this.pointers.get(event.pointerId);
    const [, [otherX, otherY]] = [...this.pointers].find(([id]) => id !== event.pointerId);
    const before = Math.hypot(beforeX - otherX, beforeY - otherY);
    const now = Math.hypot(event.offsetX - otherX, event.offsetY - otherY);
    if (before > 0) this.zoom(now / before, otherX, otherY);
    this.pointers.set(event.pointerId, [event.offsetX, event.offsetY]);
    this.wasDragged = true;
  }

  #open(node) {
    if (node?.path?.endsWith(".md")) location.hash = documentAddress(node.path);
  }

  /** Returns the number of the node at a point, or -1. */
  #nodeAt(px, py) {
    const { x, y, count } = this.layout;
    let nearest = -1;
    let least = HIT_RADIUS ** 2;
    for (let i = 0; i < count; i++) {
      const square =
        (x[i] * this.scale + this.offsetX - px) ** 2 + (y[i] * this.scale + this.offsetY - py) ** 2;
      if (square < least) {
        least = square;
        nearest = i;
      }
    }
    return nearest;
  }

  #hover(px, py) {
    const found = this.#nodeAt(px, py);
    if (found === this.hovered) return;
    this.hovered = found;
    const node = this.nodes[found];
    const parts = node
      ? [node.title, node.type || node.kind, node.status, node.date, plural(node.degree, "edge")]
      : [];
    this.tip.textContent = parts.filter(Boolean).join(" · ");
    this.canvas.classList.toggle("over", Boolean(node?.path));
    this.needsDraw = true;
  }

  #readColours() {
    const style = getComputedStyle(document.documentElement);
    const read = (name) => style.getPropertyValue(name).trim();
    this.inkColour = read("--ink");
    this.lineColour = read("--strong-line");
    this.panelColour = read("--panel");
    this.accentColour = read("--accent");
    this.fills = Array.from({ length: COLOUR_COUNT + 1 }, (_, i) => read(`--c${i}`));
  }

  #resize() {
    const box = this.canvas.getBoundingClientRect();
    if (!box.width) return;
    this.width = box.width;
    this.height = box.height;
    this.pixelRatio = window.devicePixelRatio || 1;
    this.canvas.width = Math.round(box.width * this.pixelRatio);
    this.canvas.height = Math.round(box.height * this.pixelRatio);
    if (!this.hasUserView) this.fit();
    this.needsDraw = true;
  }

  #loop() {
    if (!this.isRunning) return;
    const until = performance.now() + LAYOUT_MS_PER_FRAME;
    let isMoving = true;
    while (isMoving && performance.now() < until) isMoving = this.layout.step();
    if (isMoving && !this.hasUserView) this.fit();
    const hasSettled = !isMoving && this.wasMoving !== false;
    this.wasMoving = isMoving;
    // With reduced motion only the settled graph is drawn.
    if ((isMoving && !this.isStill) || hasSettled || this.needsDraw) {
      this.needsDraw = false;
      this.#draw();
    }
    this.canvas.dataset.settled = String(!isMoving);
    requestAnimationFrame(() => this.#loop());
  }

  #draw() {
    const context = this.canvas.getContext("2d");
    if (!context || !this.width) return;
    context.setTransform(this.pixelRatio, 0, 0, this.pixelRatio, 0, 0);
    context.clearRect(0, 0, this.width, this.height);
    const highlighted = this.#drawEdges(context);
    this.#drawNodes(context, highlighted);
    this.#drawLabels(context, highlighted);
  }

  /** Draws all edges; returns the hovered node with its neighbours, or null. */
  #drawEdges(context) {
    const { x, y } = this.layout;
    const { scale, offsetX, offsetY, hovered } = this;
    const isHovered = ([from, to]) => from === hovered || to === hovered;
    const stroke = (edges) => {
      context.beginPath();
      for (const [from, to] of edges) {
        context.moveTo(x[from] * scale + offsetX, y[from] * scale + offsetY);
        context.lineTo(x[to] * scale + offsetX, y[to] * scale + offsetY);
      }
      context.stroke();
    };
    context.lineWidth = Math.max(0.4, Math.min(1.2, scale));
    context.strokeStyle = this.lineColour;
    if (hovered < 0) {
      // Many edges are drawn fainter, or they would hide the nodes.
      context.globalAlpha = Math.max(0.1, Math.min(0.5, 900 / (this.edges.length + 1)));
      stroke(this.edges);
      return null;
    }
    context.globalAlpha = 0.1;
    stroke(this.edges.filter((edge) => !isHovered(edge)));
    const own = this.edges.filter(isHovered);
    context.globalAlpha = 0.9;
    context.strokeStyle = this.accentColour;
    stroke(own);
    return new Set([hovered, ...own.flat()]);
  }

  /** Draws all nodes, those that are not highlighted faintly. */
  #drawNodes(context, highlighted) {
    const { x, y } = this.layout;
    for (let fill = 1; fill <= COLOUR_COUNT; fill++) {
      context.fillStyle = this.fills[fill];
      for (const isFaint of highlighted ? [true, false] : [false]) {
        context.globalAlpha = isFaint ? 0.25 : 1;
        context.beginPath();
        for (let i = 0; i < this.nodes.length; i++) {
          if (this.nodes[i].colour !== fill || highlighted?.has(i) === isFaint) continue;
          const px = x[i] * this.scale + this.offsetX;
          const py = y[i] * this.scale + this.offsetY;
          if (px < -20 || py < -20 || px > this.width + 20 || py > this.height + 20) continue;
          const radius = this.#radius(i);
          context.moveTo(px + radius, py);
          context.arc(px, py, radius, 0, 7);
        }
        context.fill();
      }
    }
  }

  #drawLabels(context, highlighted) {
    const { x, y } = this.layout;
    context.globalAlpha = 1;
    context.fillStyle = this.inkColour;
    context.strokeStyle = this.panelColour;
    context.lineWidth = 3;
    context.lineJoin = "round";
    context.font = LABEL_FONT;
    const labelled = highlighted ? [...highlighted] : this.#mostLinked();
    const drawn = [];
    for (const i of labelled.slice(0, MAX_LABELS)) {
      const px = x[i] * this.scale + this.offsetX + this.#radius(i) + 4;
      const py = y[i] * this.scale + this.offsetY + 4;
      if (px < 0 || px > this.width || py < 0 || py > this.height) continue;
      const { title } = this.nodes[i];
      const label = title.length > MAX_LABEL_CHARS ? `${title.slice(0, MAX_LABEL_CHARS - 1)}…` : title;
      const { width } = context.measureText(label);
      const overlaps = (it) => Math.abs(it.y - py) < 14 && px < it.x + it.width && it.x < px + width;
      if (drawn.some(overlaps)) continue;
      drawn.push({ x: px, y: py, width });
      context.strokeText(label, px, py);
      context.fillText(label, px, py);
    }
  }

  #radius(i) {
    const size = 2.6 + Math.sqrt(this.nodes[i].degree) * 1.3;
    return Math.max(1.6, Math.min(11, size * Math.min(1.4, Math.max(0.5, this.scale))));
  }

  /** Returns the nodes with the most edges; more of them the closer the view is. */
  #mostLinked() {
    const byDegree = (a, b) => this.nodes[b].degree - this.nodes[a].degree;
    this.byDegree ||= this.nodes.map((_, i) => i).sort(byDegree);
    const isSmall = this.nodes.length < MAX_LABELS;
    return this.byDegree.slice(0, isSmall ? MAX_LABELS : Math.round(24 * Math.max(1, this.scale)));
  }
}
