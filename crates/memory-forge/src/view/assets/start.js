// Puts the page together: navigation, colours, keys.
"use strict";
(() => {
  const nav = document.getElementById("nav");
  for (const it of pages) {
    if (!it.key || (copy && it.name === "fleet")) continue;
    nav.append(el("a", { href: "#/" + it.name, "data-page": it.name }, it.title, el("kbd", { "aria-hidden": "true" }, "g " + it.key)));
  }

  const root = document.documentElement;
  const themes = ["auto", "light", "dark"];
  const button = document.getElementById("theme");
  const current = () => root.dataset.theme || "auto";
  const label = () => { button.textContent = "Theme: " + current(); };
  button.addEventListener("click", () => {
    const next = themes[(themes.indexOf(current()) + 1) % themes.length];
    if (next === "auto") delete root.dataset.theme; else root.dataset.theme = next;
    try { localStorage.setItem("theme", next); } catch { /* then it lasts for this page */ }
    label();
    window.dispatchEvent(new Event("themechange"));
  });
  label();

  const dialog = document.getElementById("keys");
  const rows = [["/", "Search"], ...pages.filter((it) => it.key).map((it) => ["g " + it.key, it.title]), ["e", "Edit the document"], ["Esc", "Leave a field or this list"], ["?", "These keys"]];
  let on = true;
  try { on = localStorage.getItem("keys") !== "off"; } catch { on = true; }
  const box = el("input", { type: "checkbox", id: "keys-on", onchange: () => { on = box.checked; try { localStorage.setItem("keys", on ? "on" : "off"); } catch { /* for this page */ } } });
  box.checked = on;
  dialog.append(el("h2", { id: "keys-title" }, "Keys"),
    el("table", null, el("tbody", null, rows.map(([key, what]) => el("tr", null, el("td", null, key.split(" ").map((k) => [el("kbd", null, k), " "])), el("td", null, what))))),
    el("p", { class: "row spread" }, el("label", { class: "row" }, box, "Keys are on"), el("button", { type: "button", onclick: () => dialog.close() }, "Close")));
  document.getElementById("help").addEventListener("click", () => dialog.showModal());

  let pending = 0;
  document.addEventListener("keydown", (event) => {
    const typing = event.target.closest && event.target.closest("input, textarea, select");
    if (event.key === "Escape" && typing) { event.target.blur(); return; }
    if (!on || typing || dialog.open || event.ctrlKey || event.metaKey || event.altKey) return;
    if (Date.now() - pending < 1500) {
      pending = 0;
      const found = pages.find((it) => it.key === event.key);
      if (found) { event.preventDefault(); location.hash = "#/" + found.name; }
      return;
    }
    if (event.key === "g") pending = Date.now();
    else if (event.key === "?") { event.preventDefault(); dialog.showModal(); }
    else if (event.key === "/") {
      event.preventDefault();
      const field = document.querySelector("main input[type=search]");
      if (field) field.focus(); else location.hash = "#/search";
    } else if (event.key === "e") {
      const edit = document.getElementById("edit");
      if (edit && !edit.disabled) { event.preventDefault(); edit.click(); }
    }
  });
  window.addEventListener("beforeunload", (event) => { if (unsaved()) event.preventDefault(); });
  window.addEventListener("hashchange", () => { if (/token=/.test(location.hash)) takeToken(); go(); });
  if (!copy) takeToken();
  go();
})();
