// Formats numbers, dates and counted words.

const UNITS = [
  [86400 * 365, "year"],
  [86400 * 30, "month"],
  [86400, "day"],
  [3600, "hour"],
  [60, "minute"],
];

/** Formats a number with separators: 12,345. */
export function formatCount(n) {
  return Number(n || 0).toLocaleString("en-US");
}

/** Formats a number with its noun: "1 file", "2 files", "3 entries". */
export function plural(n, one, many = `${one}s`) {
  return `${formatCount(n)} ${n === 1 ? one : many}`;
}

/** Returns the date of a moment in ISO 8601, without its time. */
export function formatDay(moment) {
  return moment ? String(moment).slice(0, 10) : "";
}

/** Formats how long before `now` (milliseconds) a moment is: "3 days ago". */
export function formatAge(moment, now) {
  const seconds = Math.max(0, (now - Date.parse(moment)) / 1000);
  for (const [length, unit] of UNITS) {
    const n = Math.floor(seconds / length);
    if (n >= 1) return `${plural(n, unit)} ago`;
  }
  return "just now";
}
