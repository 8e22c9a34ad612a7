// Draws two charts: stacked bars with limits, and a line over time. Pages show
// the same figures as a table or as text, for readers without the picture.

import { svg } from "./dom.js";
import { formatCount, formatDay } from "./format.js";

/** Draws a bar per row: `name` and `parts` of [label, value, colour]. */
export function stackedBars(rows, limits, unit) {
  const sums = rows.map((row) => row.parts.reduce((sum, [, value]) => sum + value, 0));
  const maxValue = Math.max(1, ...sums, ...limits.map((limit) => limit.value)) * 1.1;
  const isNarrow = matchMedia("(max-width: 560px)").matches;
  // On a phone the names are above the bars.
  const [left, width, step] = isNarrow ? [0, 360, 58] : [104, 560, 42];
  const top = 26;
  const bottom = top + rows.length * step;
  const fullWidth = left + width + (isNarrow ? 0 : 60);
  const x = (value) => left + (value / maxValue) * width;
  const chart = svg("svg", {
    class: "chart",
    viewBox: `0 0 ${fullWidth} ${bottom + 8}`,
    role: "img",
    "aria-label": rows.map((row, i) => `${row.name}: ${formatCount(sums[i])} ${unit}`).join("; "),
  });
  for (const limit of limits) {
    const at = x(limit.value);
    const label = `${limit.name} ${formatCount(limit.value)}`;
    chart.append(
      svg("line", { class: `limit ${limit.kind}`, x1: at, x2: at, y1: 18, y2: bottom }),
      svg("text", { class: limit.kind, x: at, y: 11, "text-anchor": "middle" }, label),
    );
  }
  rows.forEach((row, index) => {
    const y = top + index * step + (isNarrow ? 22 : 8);
    const name = isNarrow
      ? { x: 0, y: y - 6, "text-anchor": "start" }
      : { x: left - 12, y: y + 16, "text-anchor": "end" };
    chart.append(svg("text", { class: "name", ...name }, row.name));
    let sum = 0;
    for (const [label, value, colour] of row.parts) {
      if (value <= 0) continue;
      const barWidth = Math.max(1, x(sum + value) - x(sum) - 1);
      const title = svg("title", null, `${label}: ${formatCount(value)} ${unit}`);
      chart.append(
        svg("rect", { class: `f${colour}`, x: x(sum), y, width: barWidth, height: 24, rx: 3 }, title),
      );
      sum += value;
    }
    chart.append(svg("text", { class: "name num", x: x(sum) + 8, y: y + 16 }, formatCount(sum)));
  });
  return chart;
}

/** Draws a line through `points`: `date`, `value` and `title`. */
export function lineOverTime(points, limits, unit) {
  const [width, height, left, bottom] = [640, 190, 46, 24];
  const times = points.map((point) => Date.parse(point.date));
  const [firstTime, lastTime] = [Math.min(...times), Math.max(...times)];
  const [first, last] = [points[0], points.at(-1)];
  const maxData = Math.max(1, ...points.map((point) => point.value));
  const maxValue = maxData * 1.15;
  const share = (time) => (lastTime === firstTime ? 0.5 : (time - firstTime) / (lastTime - firstTime));
  const x = (time) => left + share(time) * (width - left - 14);
  const y = (value) => 12 + (1 - value / maxValue) * (height - bottom - 12);
  const chart = svg("svg", {
    class: "chart",
    viewBox: `0 0 ${width} ${height}`,
    role: "img",
    "aria-label": `From ${formatCount(first.value)} to ${formatCount(last.value)} ${unit}`,
  });
  for (const part of [0, 0.5, 1]) {
    const value = Math.round(maxData * part);
    const label = { x: left - 8, y: y(value) + 4, "text-anchor": "end" };
    chart.append(
      svg("line", { class: "axis", x1: left, x2: width, y1: y(value), y2: y(value) }),
      svg("text", label, formatCount(value)),
    );
  }
  for (const limit of limits.filter((it) => it.value < maxValue)) {
    const at = y(limit.value);
    const title = svg("title", null, `${limit.name} ${formatCount(limit.value)}`);
    chart.append(svg("line", { class: `limit ${limit.kind}`, x1: left, x2: width, y1: at, y2: at }, title));
  }
  const places = points.map((point, i) => [x(times[i]), y(point.value)]);
  if (places.length > 1) {
    const path = places.map(([px, py], i) => `${i ? "L" : "M"}${px.toFixed(1)} ${py.toFixed(1)}`).join(" ");
    const area = `${path} L${places.at(-1)[0]} ${y(0)} L${places[0][0]} ${y(0)} Z`;
    chart.append(svg("path", { class: "area", d: area }), svg("path", { class: "line", d: path }));
  }
  places.forEach(([px, py], i) => {
    const { date, value, title } = points[i];
    const label = `${formatDay(date)}: ${formatCount(value)} ${unit}\n${title}`;
    chart.append(svg("circle", { cx: px, cy: py, r: 3.4 }, svg("title", null, label)));
  });
  chart.append(
    svg("text", { x: left, y: height - 4 }, formatDay(first.date)),
    svg("text", { x: width, y: height - 4, "text-anchor": "end" }, formatDay(last.date)),
  );
  return chart;
}
