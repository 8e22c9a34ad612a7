//! `audit`: what agents load at every start, and what it costs. It reports and
//! never changes a file of the user's.

use std::path::PathBuf;

use clap::builder::{PossibleValue, PossibleValuesParser, TypedValueParser};
use clap::{Args, ValueEnum};
use forge_app::audit::{
    self, AuditFinding, AuditFindingKind, AuditItem, AuditReport, AuditView, FileOrigin,
    MergedFinding,
};
use forge_app::client::AgentClient;
use forge_app::doctor;
use forge_app::tokens::{Tokenizer, format_thousands};

use crate::paths;
use crate::report::{CommandError, CommandExit};
use crate::settings::Settings;
use crate::ui::{Ui, escape_hidden, style};

mod plugin;

/// Show what agents load at every start and what it costs in tokens
///
/// First every file that agents load, counted whole against the limits; then
/// what each client that is connected or in use here really loads at a start,
/// in its own tokens. It looks for repeated text, hidden characters and secrets
/// as well. It changes nothing; `doctor --fix` does. Limits are settings below
/// `[audit]`.
#[derive(Debug, Args)]
#[command(after_help = "\
Examples:
  memory-forge audit
  memory-forge audit --client codex
  memory-forge audit --ci warning      Exit with 1 at a warning or worse
  memory-forge audit --client all --svg > audit.svg
  memory-forge audit --plugin ./plugin  What a plugin costs, part by part")]
pub(crate) struct AuditArgs {
    /// Count as this client loads, file by file; without it, all files whole and
    /// a line for each client
    #[arg(long, value_parser = ClientChoice::parser())]
    pub(crate) client: Option<ClientChoice>,

    /// Judge the plugin or extension in this folder instead: what each part
    /// costs at every start and when it is used
    #[arg(long, value_name = "DIR")]
    pub(crate) plugin: Option<PathBuf>,

    /// Count with this tokenizer; limits are meant for `o200k`
    #[arg(long)]
    pub(crate) tokenizer: Option<TokenizerChoice>,

    /// Exit with 1 at this level or worse [without a value: critical]
    #[arg(long, value_name = "LEVEL", num_args = 0..=1, default_missing_value = "critical")]
    pub(crate) ci: Option<AuditLevelChoice>,

    /// Draw what is loaded and the limits as a picture, for a README
    #[arg(long, conflicts_with_all = ["json", "ci", "plugin"])]
    pub(crate) svg: bool,

    /// Print the result as JSON
    #[arg(long)]
    pub(crate) json: bool,
}

/// Clients whose rules decide what counts.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum ClientChoice {
    One(AgentClient),
    All,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq, ValueEnum)]
pub(crate) enum TokenizerChoice {
    O200k,
    Cl100k,
    /// An estimate, marked with `~`: no public vocabulary exists
    Claude,
    /// Characters divided by four
    Chars4,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq, ValueEnum)]
pub(crate) enum AuditLevelChoice {
    Warning,
    Critical,
}

impl ClientChoice {
    fn parser() -> impl TypedValueParser<Value = ClientChoice> {
        let names = AgentClient::with_audit().map(|client| PossibleValue::new(client.name()));
        let all = PossibleValue::new("all").help("Each of them in turn");
        PossibleValuesParser::new(names.chain([all]))
            .map(|name| AgentClient::from_name(&name).map_or(ClientChoice::All, ClientChoice::One))
    }

    fn audit_views(self) -> Vec<AuditView> {
        match self {
            ClientChoice::One(client) => vec![AuditView::Client(client)],
            ClientChoice::All => AgentClient::with_audit().map(AuditView::Client).collect(),
        }
    }
}

impl From<TokenizerChoice> for Tokenizer {
    fn from(choice: TokenizerChoice) -> Tokenizer {
        match choice {
            TokenizerChoice::O200k => Tokenizer::O200k,
            TokenizerChoice::Cl100k => Tokenizer::Cl100k,
            TokenizerChoice::Claude => Tokenizer::Claude,
            TokenizerChoice::Chars4 => Tokenizer::Chars4,
        }
    }
}

impl AuditLevelChoice {
    fn is_reached_by(self, worst: Option<audit::AuditLevel>) -> bool {
        worst
            >= Some(match self {
                AuditLevelChoice::Warning => audit::AuditLevel::Warning,
                AuditLevelChoice::Critical => audit::AuditLevel::Critical,
            })
    }
}

pub(crate) fn run_audit(
    args: AuditArgs,
    settings: &Settings,
    ui: &mut Ui,
) -> Result<CommandExit, CommandError> {
    let workspace = paths::open_workspace(settings, ui)?;
    let configured = workspace.config().audit.tokenizer;
    // A client's view is in that client's tokens; limits keep their own.
    let usual = match args.client {
        Some(ClientChoice::One(client)) => audit::tokenizer_of(client).unwrap_or(configured),
        _ => configured,
    };
    let tokenizer = args.tokenizer.map_or(usual, Tokenizer::from);
    if args.plugin.is_some() {
        return plugin::run_plugin_audit(&args, &workspace, settings, tokenizer, ui);
    }
    let request = audit::AuditRequest {
        views: args
            .client
            .map_or(vec![AuditView::Plain], ClientChoice::audit_views),
        tokenizer: Some(tokenizer),
        home: settings.home.as_deref(),
        // A drawing names no new files, so the next audit still has to.
        keep_baseline: !args.svg,
        now: settings.now,
    };
    let counting = ui.show_busy("Counting tokens");
    let audited = audit::run_audit(&workspace, &request);
    drop(counting);
    let reports = audited.reports;
    if args.svg {
        ui.print(&audit::render_svg(&reports))?;
        return Ok(CommandExit::Success);
    }
    let findings = audit::merge_findings(&reports);
    let all = findings.iter().map(|one| one.finding);
    let repair = if args.json {
        doctor::RepairOffer::default()
    } else {
        doctor::repair_offer(&workspace, all)
    };
    let starts = match args.client {
        None => audit::measure_starts(&settings.surroundings(&workspace)),
        Some(_) => Vec::new(),
    };
    match (&reports[..], args.json) {
        (reports, true) => {
            let mut value = audit::to_json(reports);
            if args.client.is_none() {
                value["starts"] = starts.iter().map(start_as_json).collect();
            }
            ui.print_json(&value)?;
        }
        ([report], false) => {
            match report.view {
                AuditView::Plain => {
                    show_files(report, ui)?;
                    show_starts(&starts, ui)?;
                }
                AuditView::Client(client) => show_loads(client, report, ui)?,
            }
            show_findings(&findings, &repair, ui)?;
        }
        (several, false) => {
            show_clients(several, ui)?;
            show_findings(&findings, &repair, ui)?;
        }
    }
    if let Some(error) = audited.baseline_error {
        ui.warn(&format!("The next audit cannot show what is new: {error}"));
    }
    let worst = reports.iter().filter_map(AuditReport::worst_level).max();
    let failed = args.ci.is_some_and(|level| level.is_reached_by(worst));
    Ok(if failed {
        CommandExit::Failure
    } else {
        CommandExit::Success
    })
}

/// Upper bound for the lines of a list, which ends with the number left out.
const MAX_LISTED_LINES: usize = 20;

fn show_lines(lines: &[String], what: &str, ui: &mut Ui) -> Result<(), CommandError> {
    for line in lines.iter().take(MAX_LISTED_LINES) {
        ui.print_line(line)?;
    }
    if lines.len() > MAX_LISTED_LINES {
        let left = format_thousands(lines.len() - MAX_LISTED_LINES);
        ui.print_line(&format!("  … and {left} more {what} (`--json` lists all)"))?;
    }
    Ok(())
}

/// Shows the plain view: files with their sizes, the worst first.
fn show_files(report: &AuditReport, ui: &mut Ui) -> Result<(), CommandError> {
    if report.items.is_empty() {
        return ui.print_line("No agent loads a file of this project at start.\n");
    }
    let over = report.items.iter().any(|item| item.level.is_some());
    let (sign, word) = if over {
        ("⚠️ ", "Autoload detected")
    } else {
        ("ℹ️ ", "Autoload")
    };
    ui.print_line(&format!("{sign} {word} ({}):", report.tokenizer.label()))?;
    // Files that a skill points to wait until it is used.
    let loaded = |item: &&AuditItem| item.always > 0 || item.on_invoke.is_none();
    let mut items: Vec<&AuditItem> = report.items.iter().filter(loaded).collect();
    items.sort_by_key(|item| std::cmp::Reverse((item.level, item.judged)));
    let lines: Vec<String> = items.iter().map(|item| file_line(item, report)).collect();
    show_lines(&lines, "files", ui)?;
    show_total(report, ui)
}

fn file_line(item: &AuditItem, report: &AuditReport) -> String {
    let size = token_amount(report, item.always, item.judged);
    let verdict = item.limits.and_then(|limits| limits.level_of(item.judged));
    let verdict = verdict.map_or(String::new(), |(level, limit)| verdict_text(level, limit));
    let mut line = format!("  - {}: {size}{verdict}", escape_hidden(&item.path));
    let imported = item.why.starts_with("imported");
    let remarks: Vec<&str> = [(item.nested, "nested"), (imported, item.why.as_str())]
        .into_iter()
        .filter_map(|(holds, remark)| holds.then_some(remark))
        .collect();
    if !remarks.is_empty() {
        let faint = style::FAINT;
        let remarks = remarks.join(", ");
        line.push_str(&format!(", {faint}{}{faint:#}", escape_hidden(&remarks)));
    }
    line
}

fn show_total(report: &AuditReport, ui: &mut Ui) -> Result<(), CommandError> {
    let own = report
        .items
        .iter()
        .filter(|item| item.origin == FileOrigin::Project);
    let judged = own.map(|item| item.judged).sum();
    let size = token_amount(report, report.summary.autoload_tokens, judged);
    let (sign, verdict) = match report.total {
        Some((level, limit)) => ("⚠️ ", verdict_text(level, limit)),
        None => ("ℹ️ ", String::new()),
    };
    let summary = &report.summary;
    let whole = match report.view {
        AuditView::Plain if !report.items.is_empty() => ", if each file were loaded whole",
        _ => "",
    };
    let mut line = format!("\n{sign} Total autoload: {size}{verdict}{whole}");
    if report.view == AuditView::Plain && summary.nested_files > 0 {
        line.push_str(&format!(
            "\n    of which {} in {} below the root, loaded when work happens there",
            format_thousands(summary.nested_tokens),
            file_count(summary.nested_files)
        ));
    }
    ui.print_line(&format!("{line}\n"))
}

/// What each client really loads, a line each.
fn show_starts(starts: &[audit::StartCost], ui: &mut Ui) -> Result<(), CommandError> {
    if starts.is_empty() {
        return Ok(());
    }
    ui.print_line("Loaded at each start (`--client NAME` lists what of which file):")?;
    for start in starts {
        let beyond = match start.beyond_tokens {
            0 => String::new(),
            tokens => format!(", and {} of your own", format_thousands(tokens)),
        };
        ui.print_line(&format!(
            "  - {}: {} tokens ({}) in {}{beyond}",
            start.client.title(),
            format_thousands(start.tokens),
            start.tokenizer.label(),
            file_count(start.files)
        ))?;
    }
    ui.print_line("")
}

fn start_as_json(start: &audit::StartCost) -> serde_json::Value {
    serde_json::json!({
        "client": start.client.name(),
        "tokens": start.tokens,
        "tokenizer": start.tokenizer.to_string(),
        "estimate": start.tokenizer.is_estimate(),
        "files": start.files,
        "userTokens": start.beyond_tokens,
    })
}

fn token_amount(report: &AuditReport, shown: usize, judged: usize) -> String {
    if report.tokenizer == report.judge {
        return format!("{} tokens", format_thousands(shown));
    }
    let (label, judge) = (report.tokenizer.label(), report.judge.label());
    format!(
        "{} {label} tokens, {} {judge}",
        format_thousands(shown),
        format_thousands(judged)
    )
}

fn verdict_text(level: audit::AuditLevel, limit: usize) -> String {
    let style = match level {
        audit::AuditLevel::Critical => style::CRITICAL,
        _ => style::WARNING,
    };
    format!(
        " ({style}{}{style:#}, threshold: {})",
        level.name(),
        format_thousands(limit)
    )
}

/// Shows one client: what each file costs always, and when it is used.
fn show_loads(client: AgentClient, report: &AuditReport, ui: &mut Ui) -> Result<(), CommandError> {
    let label = report.tokenizer.label();
    if report.items.is_empty() {
        return ui.print_line(&format!(
            "{} loads nothing here at start.\n",
            client.title()
        ));
    }
    ui.print_line(&format!(
        "{} at start, in tokens ({label}):",
        client.title()
    ))?;
    let bold = style::HEADING;
    ui.print_line(&format!("  {bold}Always-on  On-invoke{bold:#}"))?;
    let (own, beyond): (Vec<&AuditItem>, Vec<&AuditItem>) = report
        .items
        .iter()
        .partition(|item| item.origin == FileOrigin::Project);
    let lines: Vec<String> = own.iter().map(|item| load_line(item)).collect();
    show_lines(&lines, "files", ui)?;
    if !beyond.is_empty() {
        let sum = format_thousands(report.summary.beyond_tokens);
        ui.print_line(&format!("\n  Yours, not the project's: {sum} more"))?;
        let lines: Vec<String> = beyond.iter().map(|item| load_line(item)).collect();
        show_lines(&lines, "files", ui)?;
    }
    show_total(report, ui)
}

fn load_line(item: &AuditItem) -> String {
    let invoke = item.on_invoke.map_or("-".to_owned(), format_thousands);
    let verdict = item.limits.and_then(|limits| limits.level_of(item.judged));
    let verdict = verdict.map_or(String::new(), |(level, limit)| verdict_text(level, limit));
    let faint = style::FAINT;
    let about = format!("{}; {}", item.why, item.part);
    format!(
        "  {:>9}  {invoke:>9}  {}{verdict}  {faint}{}{faint:#}",
        format_thousands(item.always),
        escape_hidden(&item.path),
        escape_hidden(&about)
    )
}

/// Shows all clients in one table.
fn show_clients(reports: &[AuditReport], ui: &mut Ui) -> Result<(), CommandError> {
    let label = reports
        .first()
        .map_or("", |report| report.tokenizer.label());
    ui.print_line(&format!(
        "What each client loads at start, in tokens ({label}):"
    ))?;
    let bold = style::HEADING;
    ui.print_line(&format!(
        "  {bold}Client       Files  Always-on  On-invoke   Yours{bold:#}"
    ))?;
    for report in reports {
        let AuditView::Client(client) = report.view else {
            continue;
        };
        let summary = &report.summary;
        let verdict = report.total;
        let verdict = verdict.map_or(String::new(), |(level, limit)| verdict_text(level, limit));
        ui.print_line(&format!(
            "  {:11}  {:>5}  {:>9}  {:>9}  {:>6}{verdict}",
            client.title(),
            summary.autoload_files,
            format_thousands(summary.autoload_tokens),
            format_thousands(summary.on_invoke_tokens),
            format_thousands(summary.beyond_tokens),
        ))?;
    }
    ui.print_line("")
}

/// Shows the findings that the sizes above do not cover, then what to do.
fn show_findings(
    findings: &[MergedFinding],
    repair: &doctor::RepairOffer,
    ui: &mut Ui,
) -> Result<(), CommandError> {
    let single = findings.iter().all(|one| one.is_everywhere);
    let (serious, notices): (Vec<&MergedFinding>, Vec<&MergedFinding>) = findings
        .iter()
        .partition(|one| one.finding.level > audit::AuditLevel::Notice);
    // With one view, the list of files shows sizes already.
    let others = serious
        .iter()
        .copied()
        .filter(|one| !(single && is_size(one.finding)));
    let lines = findings_with_advice(others);
    if !lines.is_empty() {
        ui.print_line("⚠️  Found in these files:")?;
        show_lines(&lines, "findings", ui)?;
        ui.print_line("")?;
    }
    let lines = findings_with_advice(notices.into_iter());
    if !lines.is_empty() {
        ui.print_line("ℹ️  Good to know:")?;
        show_lines(&lines, "notices", ui)?;
        ui.print_line("")?;
    }
    if serious.is_empty() {
        return ui.print_line("No issues found.");
    }
    let advice = size_recommendations(serious.iter().map(|one| one.finding), repair);
    if advice.is_empty() {
        return Ok(());
    }
    ui.print_line("ℹ️  Recommendation:")?;
    let lines: Vec<String> = advice
        .iter()
        .map(|a| format!("  - {}", escape_hidden(a)))
        .collect();
    show_lines(&lines, "recommendations", ui)
}

fn is_size(finding: &AuditFinding) -> bool {
    matches!(
        finding.kind,
        AuditFindingKind::Size | AuditFindingKind::Total
    )
}

/// Returns one entry per finding, with its advice unless an earlier entry had
/// the same. Sizes have their advice at the end.
fn findings_with_advice<'a>(findings: impl Iterator<Item = &'a MergedFinding<'a>>) -> Vec<String> {
    let mut given_advice = std::collections::HashSet::new();
    let mut lines = Vec::new();
    for one in findings {
        let finding = one.finding;
        let level = match finding.level {
            _ if is_size(finding) => String::new(),
            audit::AuditLevel::Critical => style_text(style::CRITICAL, "CRITICAL "),
            audit::AuditLevel::Warning => style_text(style::WARNING, "WARNING "),
            audit::AuditLevel::Notice => String::new(),
        };
        let mut line = format!("  - {level}{}", one.message());
        if let Some(advice) = finding.advice.as_ref().filter(|_| !is_size(finding))
            && given_advice.insert(advice)
        {
            let faint = style::FAINT;
            line.push_str(&format!("\n    {faint}{}{faint:#}", escape_hidden(advice)));
        }
        lines.push(line);
    }
    lines
}

fn style_text(style: anstyle::Style, text: &str) -> String {
    format!("{style}{text}{style:#}")
}

/// Upper bound for files that are named one by one; the others are counted.
const MAX_NAMED_FILES: usize = 3;

/// Returns advice on sizes, the largest saving first.
fn size_recommendations<'a>(
    findings: impl Iterator<Item = &'a AuditFinding>,
    repair: &doctor::RepairOffer,
) -> Vec<String> {
    // Advice that no command carries out would only repeat the finding.
    let is_offered = |finding: &&AuditFinding| {
        repair
            .paths
            .iter()
            .any(|path| path.as_str() == finding.file)
    };
    let sizes = findings.filter(|finding| is_size(finding));
    let mut sizes: Vec<&AuditFinding> = sizes.filter(is_offered).collect();
    if sizes.is_empty() {
        return Vec::new();
    }
    sizes.sort_by_key(|finding| std::cmp::Reverse(finding.tokens));
    let mut advice = vec!["Move stable knowledge to knowledge/".to_owned()];
    let mut stubs = 0;
    for one in sizes.iter().filter_map(|finding| finding.advice.as_ref()) {
        if advice.contains(one) {
            continue;
        }
        stubs += usize::from(one.starts_with("Reduce "));
        if !one.starts_with("Reduce ") || stubs <= MAX_NAMED_FILES {
            advice.push(one.clone());
        }
    }
    if stubs > MAX_NAMED_FILES {
        let others = file_count(stubs - MAX_NAMED_FILES);
        advice.push(format!("Do the same for {others} more of the files above"));
    }
    if let [command, more @ ..] = &repair.commands[..] {
        advice.push(format!("`{command}` does this and can be undone"));
        advice.extend(more.iter().map(|command| format!("`{command}` as well")));
    }
    advice
}

fn file_count(count: usize) -> String {
    match count {
        1 => "1 file".to_owned(),
        count => format!("{} files", format_thousands(count)),
    }
}
