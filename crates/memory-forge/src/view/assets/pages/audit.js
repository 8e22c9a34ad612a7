// Lists the findings of the audit and fixes them: first a preview, then the
// change exactly as it was previewed.

import { reportChange } from "../changes.js";
import { copy } from "../copy.js";
import { el } from "../dom.js";
import { formatCount, plural } from "../format.js";
import { refresh } from "../router.js";
import { query, send } from "../server.js";
import { diffView, heading, LEVEL_CLASSES, moreNote, pill, table, toast } from "../widgets.js";

export const auditPage = { name: "audit", title: "Audit", key: "a", show: showAudit };

async function showAudit() {
  const audit = await query("audit");
  const findings = [...audit.critical, ...audit.warnings, ...audit.notices];
  const serious = findings.filter((finding) => finding.level !== "notice");
  const notices = findings.filter((finding) => finding.level === "notice");
  const preview = el("section", { id: "fix", "aria-live": "polite" });
  const fixable = new Set(audit.repairable);
  const card = (finding) => findingView(finding, fixable, preview);
  return [
    heading("Audit", el("p", null, "What agents load at session start, and its problems.")),
    serious.length
      ? el("section", { class: "card" }, el("h2", null, plural(serious.length, "finding")), serious.map(card))
      : el(
          "section",
          { class: "card" },
          el("h2", null, "Findings"),
          el("p", null, pill("good", "clean"), " No issues"),
        ),
    fixable.size > 0 && fixAllButton(fixable, preview),
    preview,
    notices.length > 0 &&
      el(
        "section",
        { class: "card" },
        el(
          "details",
          { open: !serious.length },
          el("summary", null, plural(notices.length, "notice")),
          notices.map(card),
        ),
      ),
    moreNote(audit.leftOut, "finding"),
    clientTable(audit),
  ];
}

function findingView(finding, fixable, preview) {
  const isFixable = fixable.has(finding.file) || (finding.kind === "total" && fixable.size > 0);
  const showFix = () => showPreview(preview, finding.file);
  return el(
    "div",
    { class: "finding" },
    el(
      "div",
      { class: "row spread" },
      el(
        "div",
        { class: "row" },
        pill(LEVEL_CLASSES[finding.level], finding.level),
        el("strong", null, finding.kind),
        el("span", { class: "path" }, findingPlace(finding)),
        finding.clients && el("small", null, finding.clients.join(", ")),
      ),
      isFixable && el("button", { type: "button", onclick: showFix }, "Show fix"),
    ),
    el("p", null, finding.message),
    finding.advice && el("p", { class: "soft" }, finding.advice),
  );
}

function findingPlace({ file, line }) {
  if (file === "TOTAL") return "all files";
  return line ? `${file}:${line}` : file;
}

function fixAllButton(fixable, preview) {
  const label = `Show all fixes (${plural(fixable.size, "file")})`;
  const button = el(
    "button",
    { type: "button", class: "primary", onclick: () => showPreview(preview) },
    label,
  );
  return el("p", { class: "row" }, button, el("small", null, "Preview only"));
}

function clientTable(audit) {
  const columns = ["Client", ["Files", "num"], ["At start", "num"], ["On use", "num"], ["User files", "num"]];
  const rows = audit.clients.map(({ client, summary }) => [
    client,
    formatCount(summary.autoloadFiles),
    formatCount(summary.totalAutoloadTokens),
    formatCount(summary.onInvokeTokens),
    formatCount(summary.userTokens),
  ]);
  return el(
    "section",
    { class: "card" },
    el("h2", null, `Tokens by client (${audit.tokenizer})`),
    table("Tokens by client", columns, rows),
  );
}

/** Shows what the fix would change, the given file first. */
async function showPreview(preview, file) {
  let plan;
  try {
    plan = await query("repair");
  } catch (error) {
    toast(error.message);
    return;
  }
  const files = plan.files.toSorted((a, b) => Number(b.path === file) - Number(a.path === file));
  if (!files.length) {
    preview.replaceChildren(el("p", { class: "note" }, "Nothing to fix"));
    return;
  }
  const title = el("h2", { tabindex: "-1" }, "Proposed changes");
  const command = el("code", null, "memory-forge doctor --fix");
  preview.replaceChildren(
    el(
      "div",
      { class: "card" },
      title,
      el("p", { class: "soft" }, "The same as ", command, ": one change, which you can undo."),
      files.map((it) => [el("h3", { class: "path" }, it.path, it.created && " (new)"), diffView(it.diff)]),
      plan.leftAlone.map(({ path, why }) =>
        el("p", { class: "note warn" }, `${path} stays unchanged: ${why}`),
      ),
      !copy && applyButtons(plan, preview),
    ),
  );
  title.focus();
  preview.scrollIntoView({ block: "start" });
}

function applyButtons(plan, preview) {
  const run = async () => {
    apply.disabled = true;
    try {
      // The server refuses a plan that no longer matches the files.
      const done = await send("repair", { plan: plan.plan });
      reportChange(`Fixed ${plural(done.files.length, "file")}`, done.change);
      refresh();
    } catch (error) {
      apply.disabled = false;
      toast(error.message);
    }
  };
  const apply = el("button", { type: "button", class: "primary", id: "apply", onclick: run }, "Apply");
  const close = el("button", { type: "button", onclick: () => preview.replaceChildren() }, "Close");
  return el("div", { class: "row" }, apply, close);
}
