// Places for the nodes of a graph: springs along edges, repulsion between
// neighbours on a grid and between far parts by their centres. Each step is
// linear, so that thousands of nodes move smoothly.
"use strict";

class Layout {
  constructor(count, edges, groups) {
    this.count = count; this.edges = edges; this.alpha = 1;
    this.x = new Float32Array(count); this.y = new Float32Array(count);
    this.dx = new Float32Array(count); this.dy = new Float32Array(count);
    this.degree = new Uint32Array(count);
    for (let i = 0; i < edges.length; i += 2) { this.degree[edges[i]]++; this.degree[edges[i + 1]]++; }
    // Those of one folder begin near one another, on a spiral.
    const order = Array.from({ length: count }, (_, i) => i).sort((a, b) => (groups[a] < groups[b] ? -1 : groups[a] > groups[b] ? 1 : a - b));
    order.forEach((node, rank) => {
      const angle = rank * 2.39996, radius = 14 * Math.sqrt(rank + 0.5);
      this.x[node] = radius * Math.cos(angle); this.y[node] = radius * Math.sin(angle);
    });
  }
  /** One step; false once it stands still. */
  step() {
    if (this.alpha < 0.012) return false;
    const { count, x, y, dx, dy, edges, degree } = this, cell = 70;
    dx.fill(0); dy.fill(0);
    const cells = new Map();
    let minX = Infinity, minY = Infinity, maxX = -Infinity, maxY = -Infinity;
    for (let i = 0; i < count; i++) {
      if (x[i] < minX) minX = x[i]; if (x[i] > maxX) maxX = x[i]; if (y[i] < minY) minY = y[i]; if (y[i] > maxY) maxY = y[i];
      const key = Math.floor(x[i] / cell) * 65536 + Math.floor(y[i] / cell);
      let it = cells.get(key);
      if (!it) cells.set(key, (it = { nodes: [], x: 0, y: 0 }));
      it.nodes.push(i); it.x += x[i]; it.y += y[i];
    }
    for (const it of cells.values()) { it.x /= it.nodes.length; it.y /= it.nodes.length; }
    const push = (i, ox, oy, weight) => {
      let ax = x[i] - ox, ay = y[i] - oy;
      let square = ax * ax + ay * ay;
      if (square < 0.5) { ax = ((i * 7919) % 17) - 8; ay = ((i * 104729) % 17) - 8; square = ax * ax + ay * ay + 1; }
      const force = (weight * 900) / (square + 40);
      dx[i] += ax * force * 0.12; dy[i] += ay * force * 0.12;
    };
    for (let i = 0; i < count; i++) {
      const cx = Math.floor(x[i] / cell), cy = Math.floor(y[i] / cell);
      for (let gx = cx - 1; gx <= cx + 1; gx++) for (let gy = cy - 1; gy <= cy + 1; gy++) {
        const it = cells.get(gx * 65536 + gy);
        if (!it) continue;
        if (it.nodes.length <= 14) { for (const j of it.nodes) if (j !== i) push(i, x[j], y[j], 1); }
        else push(i, it.x, it.y, it.nodes.length);
      }
    }
    // Far away, only parts of an 8 by 8 grid count.
    const far = Array.from({ length: 64 }, () => [0, 0, 0]), wide = Math.max(1, maxX - minX) / 7.999, high = Math.max(1, maxY - minY) / 7.999;
    for (let i = 0; i < count; i++) { const it = far[Math.floor((x[i] - minX) / wide) * 8 + Math.floor((y[i] - minY) / high)]; it[0] += x[i]; it[1] += y[i]; it[2]++; }
    for (const it of far) if (it[2]) { it[0] /= it[2]; it[1] /= it[2]; }
    for (let i = 0; i < count; i++) for (const it of far) if (it[2]) {
      const ax = x[i] - it[0], ay = y[i] - it[1], square = ax * ax + ay * ay;
      if (square > 40000) { const force = (it[2] * 60) / square; dx[i] += ax * force; dy[i] += ay * force; }
    }
    for (let e = 0; e < edges.length; e += 2) {
      const a = edges[e], b = edges[e + 1], ax = x[b] - x[a], ay = y[b] - y[a];
      const length = Math.sqrt(ax * ax + ay * ay) || 1, crowd = Math.sqrt(Math.min(degree[a], degree[b]) || 1);
      const pull = ((length - 46) / length) * 0.22 / crowd;
      dx[a] += ax * pull; dy[a] += ay * pull; dx[b] -= ax * pull; dy[b] -= ay * pull;
    }
    const most = 40 * this.alpha + 1;
    for (let i = 0; i < count; i++) {
      dx[i] -= x[i] * (degree[i] ? 0.006 : 0.02); dy[i] -= y[i] * (degree[i] ? 0.006 : 0.02);
      const length = Math.hypot(dx[i], dy[i]), scale = length > most ? most / length : 1;
      x[i] += dx[i] * scale * this.alpha; y[i] += dy[i] * scale * this.alpha;
    }
    this.alpha *= 0.984;
    return true;
  }
}
