// What the audit found, and its repair: seen first, applied as it was seen.
"use strict";

page("audit", "Audit", "a", async () => {
  const told = await ask("audit");
  const all = ["critical", "warnings", "notices"].flatMap((level) => told[level]);
  const fix = el("section", { id: "fix", "aria-live": "polite" });
  const repairable = new Set(told.repairable);
  const finding = (it) => el("div", { class: "finding" },
    el("div", { class: "row spread" }, el("div", { class: "row" }, pill(levels[it.level], it.level), el("strong", null, it.kind), el("span", { class: "path" }, it.file === "TOTAL" ? "all files" : it.line ? `${it.file}:${it.line}` : it.file), it.clients && el("small", null, it.clients.join(", "))),
      repairable.size > 0 && (repairable.has(it.file) || it.kind === "total") ? el("button", { type: "button", onclick: () => showFix(fix, it.file) }, "Show the fix") : null),
    el("p", null, it.message), it.advice && el("p", { class: "soft" }, it.advice));
  const serious = all.filter((it) => it.level !== "notice"), notices = all.filter((it) => it.level === "notice");
  const summary = told.clients.map((it) => el("tr", null, el("td", null, it.client), el("td", { class: "num" }, count(it.summary.autoloadFiles)), el("td", { class: "num" }, count(it.summary.totalAutoloadTokens)), el("td", { class: "num" }, count(it.summary.onInvokeTokens)), el("td", { class: "num" }, count(it.summary.userTokens))));
  return [heading("Audit", el("p", null, "What agents load at every start, and what is odd about it.")), 
    serious.length ? el("section", { class: "card" }, el("h2", null, several(serious.length, "finding")), serious.map(finding)) : el("section", { class: "card" }, el("h2", null, "Findings"), el("p", null, pill("good", "clean"), " No issues found.")),
    repairable.size > 0 ? el("p", { class: "row" }, el("button", { type: "button", class: "primary", onclick: () => showFix(fix) }, `Show all fixes (${several(repairable.size, "file")})`), el("small", null, "Nothing is changed by looking.")) : "",
    fix,
    notices.length ? el("section", { class: "card" }, el("details", { open: !serious.length }, el("summary", null, several(notices.length, "notice")), notices.map(finding))) : "",
    leftOut(told.leftOut, "finding") || "",
    el("section", { class: "card" }, el("h2", null, `By client, in tokens (${told.tokenizer})`), el("div", { class: "table", tabindex: "0" }, el("table", null, el("thead", null, el("tr", null, ["Client", "Files", "Always on", "When used", "Yours"].map((it, i) => el("th", { scope: "col", class: i ? "num" : null }, it)))), el("tbody", null, summary))))];
});

async function showFix(fix, file) {
  let plan;
  try { plan = await ask("repair"); } catch (error) { toast(error.message); return; }
  const files = [...plan.files].sort((a, b) => Number(b.path === file) - Number(a.path === file));
  if (!files.length) { fix.replaceChildren(el("p", { class: "note" }, "There is nothing left to repair.")); return; }
  const apply = el("button", { type: "button", class: "primary", id: "apply", onclick: async () => {
    apply.disabled = true;
    try {
      const done = await send("repair", { plan: plan.plan });
      toast(`Repaired ${several(done.files.length, "file")}`, done.change && { label: "Undo", run: () => undo(done.change) });
      go();
    } catch (error) { apply.disabled = false; toast(error.message); }
  } }, "Apply");
  fix.replaceChildren(el("div", { class: "card" }, el("h2", { tabindex: "-1", id: "fix-title" }, "What the fix would change"),
    el("p", { class: "soft" }, "As ", el("code", null, "memory-forge doctor --fix"), " does it: one change, which can be taken back byte for byte."),
    files.map((it) => [el("h3", { class: "path" }, it.path, it.created ? " (new)" : ""), diffOf(it.diff)]),
    plan.leftAlone.map((it) => el("p", { class: "note warn" }, `${it.path} is left alone: ${it.why}`)),
    copy ? "" : el("div", { class: "row" }, apply, el("button", { type: "button", onclick: () => fix.replaceChildren() }, "Close"))));
  const title = document.getElementById("fix-title");
  title.focus(); fix.scrollIntoView({ block: "start" });
}
