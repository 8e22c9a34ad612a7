// Places the nodes of a graph: springs along edges, repulsion between
// neighbours on a grid and from the centres of distant regions. Each step is
// linear in nodes and edges, so that thousands of nodes move smoothly.

/** The length of an edge at rest, in pixels at scale 1. */
const EDGE_LENGTH = 46;
/** The size of a grid cell in which nodes repel each other one by one. */
const CELL_SIZE = 70;
/** Fuller cells repel by their centre. */
const MAX_CELL_NODES = 14;
/** Distant regions are the fields of a square grid with this many columns. */
const REGION_COLUMNS = 8;
/** Regions nearer than this (squared) are left to the cells. */
const MIN_REGION_DISTANCE_SQUARED = 200 ** 2;
/** The layout is settled below this energy. */
const MIN_ENERGY = 0.012;
const COOLING = 0.984;
/** The angle between neighbours on a spiral that spreads them evenly. */
const GOLDEN_ANGLE = 2.39996;

/** Positions of nodes, improved step by step. */
export class GraphLayout {
  /** `edges` are pairs of node numbers in one array; `groups` names a group per node. */
  constructor(count, edges, groups) {
    this.count = count;
    this.edges = edges;
    this.energy = 1;
    this.x = new Float32Array(count);
    this.y = new Float32Array(count);
    this.dx = new Float32Array(count);
    this.dy = new Float32Array(count);
    this.degree = new Uint32Array(count);
    for (const node of edges) this.degree[node] += 1;
    this.#placeOnSpiral(groups);
  }

  /** Starts nodes of one group near each other. */
  #placeOnSpiral(groups) {
    const compare = (a, b) => (groups[a] < groups[b] ? -1 : groups[a] > groups[b] ? 1 : a - b);
    const order = Array.from({ length: this.count }, (_, i) => i).sort(compare);
    order.forEach((node, rank) => {
      const radius = 14 * Math.sqrt(rank + 0.5);
      this.x[node] = radius * Math.cos(rank * GOLDEN_ANGLE);
      this.y[node] = radius * Math.sin(rank * GOLDEN_ANGLE);
    });
  }

  /** Moves every node once; returns false when the layout is settled. */
  step() {
    if (this.energy < MIN_ENERGY) return false;
    this.dx.fill(0);
    this.dy.fill(0);
    this.#repelNeighbours();
    this.#repelRegions();
    this.#pullEdges();
    this.#move();
    this.energy *= COOLING;
    return true;
  }

  #repelNeighbours() {
    const { count, x, y } = this;
    const cells = new Map();
    const cellKey = (column, row) => column * 65536 + row;
    for (let i = 0; i < count; i++) {
      const key = cellKey(Math.floor(x[i] / CELL_SIZE), Math.floor(y[i] / CELL_SIZE));
      let cell = cells.get(key);
      if (!cell) {
        cell = { nodes: [], x: 0, y: 0 };
        cells.set(key, cell);
      }
      cell.nodes.push(i);
      cell.x += x[i];
      cell.y += y[i];
    }
    for (const cell of cells.values()) {
      cell.x /= cell.nodes.length;
      cell.y /= cell.nodes.length;
    }
    for (let i = 0; i < count; i++) {
      const column = Math.floor(x[i] / CELL_SIZE);
      const row = Math.floor(y[i] / CELL_SIZE);
      for (let c = column - 1; c <= column + 1; c++) {
        for (let r = row - 1; r <= row + 1; r++) {
          const cell = cells.get(cellKey(c, r));
          if (cell) this.#repelFromCell(i, cell);
        }
      }
    }
  }

  #repelFromCell(node, cell) {
    if (cell.nodes.length > MAX_CELL_NODES) {
      this.#repel(node, cell.x, cell.y, cell.nodes.length);
      return;
    }
    for (const other of cell.nodes) {
      if (other !== node) this.#repel(node, this.x[other], this.y[other], 1);
    }
  }

  #repel(node, fromX, fromY, weight) {
    let ax = this.x[node] - fromX;
    let ay = this.y[node] - fromY;
    let square = ax * ax + ay * ay;
    if (square < 0.5) {
      // Nodes in one place need a direction: one from their number keeps the
      // layout the same in every run, which a random one would not.
      ax = ((node * 7919) % 17) - 8;
      ay = ((node * 104729) % 17) - 8;
      square = ax * ax + ay * ay + 1;
    }
    const force = (weight * 900) / (square + 40);
    this.dx[node] += ax * force * 0.12;
    this.dy[node] += ay * force * 0.12;
  }

  #repelRegions() {
    const { count, x, y, dx, dy } = this;
    const regions = this.#regions();
    for (let i = 0; i < count; i++) {
      for (const region of regions) {
        const ax = x[i] - region.x;
        const ay = y[i] - region.y;
        const square = ax * ax + ay * ay;
        if (square <= MIN_REGION_DISTANCE_SQUARED) continue;
        const force = (region.count * 60) / square;
        dx[i] += ax * force;
        dy[i] += ay * force;
      }
    }
  }

  /** Returns the centre and the number of nodes of every region that has some. */
  #regions() {
    const { count, x, y } = this;
    const box = this.bounds();
    // A little more than the whole, so that the last node is in the last column.
    const columnWidth = Math.max(1, box.right - box.left) / (REGION_COLUMNS - 0.001);
    const rowHeight = Math.max(1, box.bottom - box.top) / (REGION_COLUMNS - 0.001);
    const regions = Array.from({ length: REGION_COLUMNS ** 2 }, () => ({ x: 0, y: 0, count: 0 }));
    for (let i = 0; i < count; i++) {
      const column = Math.floor((x[i] - box.left) / columnWidth);
      const row = Math.floor((y[i] - box.top) / rowHeight);
      const region = regions[column * REGION_COLUMNS + row];
      region.x += x[i];
      region.y += y[i];
      region.count += 1;
    }
    const filled = regions.filter((region) => region.count > 0);
    for (const region of filled) {
      region.x /= region.count;
      region.y /= region.count;
    }
    return filled;
  }

  #pullEdges() {
    const { x, y, dx, dy, edges, degree } = this;
    for (let e = 0; e < edges.length; e += 2) {
      const a = edges[e];
      const b = edges[e + 1];
      const ax = x[b] - x[a];
      const ay = y[b] - y[a];
      const length = Math.sqrt(ax * ax + ay * ay) || 1;
      // Hubs would collapse if each of their many edges pulled in full.
      const crowding = Math.sqrt(Math.min(degree[a], degree[b]) || 1);
      const pull = (((length - EDGE_LENGTH) / length) * 0.22) / crowding;
      dx[a] += ax * pull;
      dy[a] += ay * pull;
      dx[b] -= ax * pull;
      dy[b] -= ay * pull;
    }
  }

  #move() {
    const { count, x, y, dx, dy, degree, energy } = this;
    const maxStep = 40 * energy + 1;
    for (let i = 0; i < count; i++) {
      const gravity = degree[i] ? 0.006 : 0.02;
      dx[i] -= x[i] * gravity;
      dy[i] -= y[i] * gravity;
      const length = Math.hypot(dx[i], dy[i]);
      const scale = length > maxStep ? maxStep / length : 1;
      x[i] += dx[i] * scale * energy;
      y[i] += dy[i] * scale * energy;
    }
  }

  /** Returns the box around all nodes. */
  bounds() {
    const { count, x, y } = this;
    const box = { left: Infinity, top: Infinity, right: -Infinity, bottom: -Infinity };
    for (let i = 0; i < count; i++) {
      if (x[i] < box.left) box.left = x[i];
      if (x[i] > box.right) box.right = x[i];
      if (y[i] < box.top) box.top = y[i];
      if (y[i] > box.bottom) box.bottom = y[i];
    }
    return box;
  }
}
