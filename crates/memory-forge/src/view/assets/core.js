// What every page needs: elements, questions to the server, pages and keys.
// Text becomes HTML in `rendered` alone, from what the server made.
"use strict";

const copy = window.MEMORY_FORGE_COPY || null;
const pages = [];
const page = (name, title, key, show) => pages.push({ name, title, key, show });

// ── Elements ────────────────────────────────────────────────────────────────
function el(tag, props, ...children) {
  const node = document.createElement(tag);
  for (const [name, value] of Object.entries(props || {})) {
    if (value === null || value === undefined || value === false) continue;
    if (name.startsWith("on")) node.addEventListener(name.slice(2), value);
    else if (name === "class") node.className = value;
    else node.setAttribute(name, value === true ? "" : value);
  }
  node.append(...children.flat(9).filter((it) => it !== null && it !== undefined && it !== false));
  return node;
}
function svg(tag, props, ...children) {
  const node = document.createElementNS("http://www.w3.org/2000/svg", tag);
  for (const [name, value] of Object.entries(props || {})) {
    if (value !== null && value !== undefined) node.setAttribute(name, value);
  }
  node.append(...children.flat(9).filter((it) => it !== null && it !== undefined));
  return node;
}
const policy = window.trustedTypes
  ? trustedTypes.createPolicy("rendered", { createHTML: (html) => html })
  : { createHTML: (html) => html };
/** HTML that the server has made of a document; its images come by the token. */
function rendered(html) {
  const node = el("div", { class: "prose" });
  node.innerHTML = policy.createHTML(html);
  for (const image of node.querySelectorAll("img[data-path]")) show(image);
  return node;
  async function show(image) {
    const path = image.dataset.path;
    if (copy) { if (Object.hasOwn(copy.files, path)) image.src = copy.files[path]; return; }
    try {
      const answer = await request("image?" + new URLSearchParams({ path }).toString().replace(/\+/g, "%20"));
      image.src = URL.createObjectURL(await answer.blob());
      image.addEventListener("load", () => URL.revokeObjectURL(image.src), { once: true });
    } catch (error) { image.alt += ` (${error.message})`; }
  }
}

// ── Words and numbers ───────────────────────────────────────────────────────
const count = (n) => Number(n || 0).toLocaleString("en-US");
const several = (n, word) => `${count(n)} ${word}${n === 1 ? "" : "s"}`;
const day = (moment) => (moment ? String(moment).slice(0, 10) : "");
let present = Date.now();
function ago(moment) {
  const seconds = Math.max(0, (present - Date.parse(moment)) / 1000);
  for (const [length, word] of [[86400 * 365, "year"], [86400 * 30, "month"], [86400, "day"], [3600, "hour"], [60, "minute"]]) {
    const n = Math.floor(seconds / length);
    if (n >= 1) return several(n, word) + " ago";
  }
  return "just now";
}
const address = (path, at) => "#/document/" + path.split("/").map(encodeURIComponent).join("/") + (at ? "?at=" + encodeURIComponent(at) : "");
const toDocument = (path, label, props) => el("a", { href: address(path), ...props }, label || path);

// ── Questions ───────────────────────────────────────────────────────────────
// The token comes behind `#`, which no request carries, and is kept for this
// tab. Another tab of the same page may ask for it; another page cannot.
let token = null;
const tabs = !copy && "BroadcastChannel" in window ? new BroadcastChannel("memory-forge") : null;
function takeToken() {
  const found = /[#&]token=([0-9a-f]+)/.exec(location.hash);
  if (found) {
    token = found[1];
    try { sessionStorage.setItem("token", token); } catch { /* then it lasts until a reload */ }
    history.replaceState(null, "", location.pathname + "#/overview");
  } else {
    try { token = sessionStorage.getItem("token"); } catch { token = null; }
  }
  if (!token && tabs) tabs.postMessage("token?");
}
if (tabs) tabs.addEventListener("message", ({ data }) => {
  if (data === "token?" && token) tabs.postMessage({ token });
  if (data && data.token && !token) { token = data.token; try { sessionStorage.setItem("token", token); } catch { /* as above */ } go(); }
});
class Refused extends Error { constructor(status, message) { super(message); this.status = status; } }
async function request(what, options = {}) {
  let answer;
  try {
    answer = await fetch("/api/" + what, { ...options, cache: "no-store", credentials: "omit", referrerPolicy: "no-referrer",
      headers: { Authorization: "Bearer " + (token || "none"), ...(options.headers || {}) } });
  } catch (error) {
    if (error.name === "AbortError") throw error;
    throw new Refused(0, "The server has ended. Start `memory-forge view` again.");
  }
  if (answer.ok) return answer;
  const text = await answer.text();
  let why = text;
  try { why = JSON.parse(text).error || text; } catch { /* refusals before the data are plain text */ }
  throw new Refused(answer.status, why);
}
async function ask(name, params, signal) {
  if (copy) return fromCopy(name, params);
  const query = params ? "?" + Object.entries(params).filter(([, v]) => v !== null && v !== undefined && v !== "")
    .map(([k, v]) => k + "=" + encodeURIComponent(v)).join("&") : "";
  return (await request(name + query, { signal })).json();
}
async function send(name, body) {
  if (copy) throw new Refused(403, "This is a copy; nothing can be changed in it.");
  return (await request(name, { method: "POST", headers: { "Content-Type": "application/json" }, body: JSON.stringify(body) })).json();
}
function fromCopy(name, params) {
  const key = name === "document" ? "document?" + params.path : name;
  if (name === "search") return searchCopy(params);
  if (!Object.hasOwn(copy, key)) throw new Refused(404, "This is not part of the copy.");
  return copy[key];
}

// ── Messages ────────────────────────────────────────────────────────────────
function toast(text, action) {
  const node = el("div", { class: "toast" }, el("span", null, text),
    action && el("button", { type: "button", onclick: () => { node.remove(); action.run(); } }, action.label));
  document.getElementById("toasts").append(node);
  setTimeout(() => node.remove(), action ? 20000 : 6000);
}
async function undo(id) {
  try {
    const done = await send("undo", { id });
    toast("Taken back: " + done.what, done.change && { label: "Do it again", run: () => undo(done.change) });
    go();
  } catch (error) { toast(error.message); }
}
const heading = (title, ...rest) => el("div", { class: "head" }, el("h1", { tabindex: "-1" }, title), ...rest);
const pill = (kind, text) => el("span", { class: "pill " + kind }, text);
const levels = { critical: "bad", warning: "warn", notice: "" };
const leftOut = (n, what) => (n > 0 ? el("p", { class: "note" }, `${several(n, what)} more ${n === 1 ? "is" : "are"} not shown here.`) : null);
function diffOf(diff) {
  const names = { "+": "add", "-": "del", "@": "hunk" };
  return el("div", { class: "diff", tabindex: "0", role: "group", "aria-label": "Changes" },
    runs(diff.rows).map((run) => {
      const lines = run.map(([sign, text]) => el("div", { class: names[sign] || "" }, sign === "@" ? sign + text : [el("span", { class: "sign" }, sign), text]));
      // A long run of one kind says little after its first lines.
      return lines.length > 16 ? [lines.slice(0, 8), el("details", { class: names[run[0][0]] || "" }, el("summary", null, `${several(lines.length - 8, "line")} more`), lines.slice(8))] : lines;
    }),
    diff.leftOut > 0 && el("div", { class: "hunk" }, `… ${several(diff.leftOut, "line")} more`));
}

function runs(rows) {
  const out = [];
  for (const row of rows) {
    if (out.length && out[out.length - 1][0][0] === row[0]) out[out.length - 1].push(row); else out.push([row]);
  }
  return out;
}

// ── Pages ───────────────────────────────────────────────────────────────────
let turn = 0;
let leave = null;
/** Whether something would be lost by going elsewhere. */
let unsaved = () => false;
function place() {
  const [path, query] = location.hash.replace(/^#\/?/, "").split("?");
  const [name, ...rest] = path.split("/");
  return { name: name || "overview", rest: rest.map(decodeURIComponent).join("/"), params: new URLSearchParams(query || "") };
}
let shownAt = "";
async function go() {
  const at = place();
  const main = document.getElementById("main");
  if (location.hash === "#main") { main.focus(); return; }
  if (unsaved() && location.hash !== shownAt && !confirm("Leave without saving?")) { history.replaceState(null, "", shownAt); return; }
  unsaved = () => false;
  const again = location.hash === shownAt;
  shownAt = location.hash;
  const mine = ++turn;
  if (leave) { leave(); leave = null; }
  const found = pages.find((it) => it.name === at.name) || pages[0];
  document.title = found.title + " · Memory Forge";
  for (const link of document.querySelectorAll("#nav a")) {
    if (link.dataset.page === (found.name === "document" ? "documents" : found.name)) link.setAttribute("aria-current", "page"); else link.removeAttribute("aria-current");
  }
  const waiting = setTimeout(() => { if (turn === mine) main.replaceChildren(el("p", { class: "loading", role: "status" }, "Reading …")); }, 150);
  try {
    const shown = await found.show(at, { gone: () => turn !== mine, onLeave: (f) => { leave = f; } });
    if (turn !== mine) return;
    main.replaceChildren(...[shown].flat());
    const title = main.querySelector("h1");
    if (title) {
      if (found.name === "document") document.title = title.textContent + " · Memory Forge";
      if (!again && !main.querySelector("[autofocus]")) { title.focus({ preventScroll: true }); window.scrollTo(0, 0); }
      const first = main.querySelector("[autofocus]");
      if (first) first.focus();
    }
    const anchor = at.params.get("at");
    if (anchor) { const target = document.getElementById(anchor); if (target) target.scrollIntoView(); }
  } catch (error) {
    if (turn !== mine || error.name === "AbortError") return;
    main.replaceChildren(heading(error.status === 401 ? "This tab has no key" : "That did not work"),
      el("p", { class: "note bad" }, error.message),
      error.status === 401 ? el("p", null, "Open the address that ", el("code", null, "memory-forge view"), " printed: it ends in a token that only you have.") : null);
  } finally { clearTimeout(waiting); main.dataset.shown = String(mine); }
}
