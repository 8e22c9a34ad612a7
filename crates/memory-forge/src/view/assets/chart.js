// Two drawings: bars of parts with limits across them, and a line over time.
// Each has its figures as a table as well, for those who do not see it.
"use strict";

/** `rows`: name, parts of [label, value, colour]; `limits`: value, name, class. */
function stackedBars(rows, limits, unit) {
  const most = Math.max(1, ...rows.map((row) => row.parts.reduce((sum, it) => sum + it[1], 0)), ...limits.map((it) => it.value)) * 1.1;
  const narrow = matchMedia("(max-width: 560px)").matches;
  const [left, width, step] = narrow ? [0, 360, 58] : [104, 560, 42];
  const top = 26, bottom = top + rows.length * step;
  const total = left + width + (narrow ? 0 : 60);
  const x = (value) => left + (value / most) * width;
  const drawing = svg("svg", { class: "chart", viewBox: `0 0 ${total} ${bottom + 8}`, role: "img", "aria-label": rows.map((row) => `${row.name}: ${count(row.parts.reduce((s, it) => s + it[1], 0))} ${unit}`).join("; ") });
  limits.forEach((limit, index) => {
    drawing.append(svg("line", { class: "limit " + limit.kind, x1: x(limit.value), x2: x(limit.value), y1: 18, y2: bottom }),
      svg("text", { class: limit.kind, x: x(limit.value), y: 11, "text-anchor": index ? "middle" : "middle" }, `${limit.name} ${count(limit.value)}`));
  });
  rows.forEach((row, index) => {
    const y = top + index * step + (narrow ? 22 : 8);
    drawing.append(svg("text", { class: "name", x: narrow ? 0 : left - 12, y: narrow ? y - 6 : y + 16, "text-anchor": narrow ? "start" : "end" }, row.name));
    let at = 0;
    for (const [label, value, colour] of row.parts) {
      if (value <= 0) continue;
      drawing.append(svg("rect", { class: "f" + colour, x: x(at), y, width: Math.max(1, x(at + value) - x(at) - 1), height: 24, rx: 3 }, svg("title", null, `${label}: ${count(value)} ${unit}`)));
      at += value;
    }
    drawing.append(svg("text", { class: "name num", x: x(at) + 8, y: y + 16 }, count(at)));
  });
  return drawing;
}

/** `points`: date, value, title. */
function lineOverTime(points, limits, unit) {
  const [width, height, left, bottom] = [640, 190, 46, 24];
  const times = points.map((it) => Date.parse(it.date));
  const [first, last] = [Math.min(...times), Math.max(...times)];
  const most = Math.max(1, ...points.map((it) => it.value)) * 1.15;
  const x = (time) => left + (last === first ? 0.5 : (time - first) / (last - first)) * (width - left - 14);
  const y = (value) => 12 + (1 - value / most) * (height - bottom - 12);
  const at = points.map((it, index) => [x(times[index]), y(it.value)]);
  const path = at.map(([px, py], index) => (index ? "L" : "M") + px.toFixed(1) + " " + py.toFixed(1)).join(" ");
  const drawing = svg("svg", { class: "chart", viewBox: `0 0 ${width} ${height}`, role: "img", "aria-label": `From ${count(points[0].value)} to ${count(points[points.length - 1].value)} ${unit}` });
  for (const share of [0, 0.5, 1]) {
    const value = Math.round((most / 1.15) * share);
    drawing.append(svg("line", { class: "axis", x1: left, x2: width, y1: y(value), y2: y(value) }), svg("text", { x: left - 8, y: y(value) + 4, "text-anchor": "end" }, count(value)));
  }
  for (const limit of limits.filter((it) => it.value < most)) {
    drawing.append(svg("line", { class: "limit " + limit.kind, x1: left, x2: width, y1: y(limit.value), y2: y(limit.value) }, svg("title", null, `${limit.name} ${count(limit.value)}`)));
  }
  if (at.length > 1) drawing.append(svg("path", { class: "area", d: `${path} L${at[at.length - 1][0]} ${y(0)} L${at[0][0]} ${y(0)} Z` }), svg("path", { class: "line", d: path }));
  at.forEach(([px, py], index) => drawing.append(svg("circle", { cx: px, cy: py, r: 3.4 }, svg("title", null, `${day(points[index].date)}: ${count(points[index].value)} ${unit}\n${points[index].title}`))));
  drawing.append(svg("text", { x: left, y: height - 4 }, day(points[0].date)), svg("text", { x: width, y: height - 4, "text-anchor": "end" }, day(points[points.length - 1].date)));
  return drawing;
}
