//! Audits what agents load at every start, what it costs, and what is wrong
//! with it.
//!
//! Each client has its own rules for what it loads; the plain view counts every
//! file whole, whichever client loads it. The audit reads and reports: it never
//! writes a file, and it never puts a secret that it found into a report.

use std::path::Path;

use jiff::Timestamp;

use crate::client::AgentClient;
use crate::tokens::{Tokenizer, count_tokens, format_thousands};
use crate::workspace::Workspace;

mod json;
mod claude;
mod codex;
mod copilot;
mod gemini;
mod glob;
mod hidden;
mod imports;
mod knowledge;
mod loads;
mod opencode;
mod plain;
pub mod plugin;
pub mod trend;
mod svg;
mod repeats;
mod report;
mod skills;
mod source;
mod state;

use loads::{ClientLoads, FileLoad};
use source::{SourcePlace, SourceReader};

pub use json::{MergedFinding, merge_findings, to_json};
pub use report::{
    AuditFinding, AuditFindingKind, AuditItem, AuditLevel, AuditReport, AuditSummary, AuditView,
    FileOrigin, TokenLimits,
};
pub use state::{AuditState, STATE_FILE_NAME as STATE_FILE};
pub use svg::render_svg;

/// Options of one audit.
#[derive(Clone, Copy, Debug)]
pub struct AuditOptions<'a> {
    /// Client, or all of them, for which the audit is made.
    pub view: AuditView,
    /// Tokenizer of the numbers that are shown. Limits are compared with counts
    /// by the tokenizer of the configuration, because they were chosen for it.
    pub tokenizer: Tokenizer,
    /// Home of the user, whose own instructions count too; without it none are
    /// looked for.
    pub home: Option<&'a Path>,
    /// Time of the audit, for the state that the next one compares with.
    pub now: Timestamp,
}

/// Audits one view of the workspace.
pub fn audit_workspace(workspace: &Workspace, options: &AuditOptions) -> AuditReport {
    let shared = AuditContext::from_workspace(workspace, options);
    shared.build_report(options.view)
}

/// Returns what is loaded at a start in each view, in the tokenizer of that
/// view's client. Knowledge is not read for it.
pub fn start_costs(
    workspace: &Workspace,
    options: &AuditOptions,
    views: &[AuditView],
) -> Vec<(Tokenizer, AuditSummary)> {
    let mut shared = AuditContext {
        workspace,
        options: *options,
        reader: SourceReader::new(workspace, options.home),
        judge: options.tokenizer,
        findings: Vec::new(),
        knowledge_files: 0,
        state: None,
    };
    let mut costs = Vec::new();
    for view in views {
        let tokenizer = match view {
            AuditView::Client(client) => tokenizer_of(*client).unwrap_or(options.tokenizer),
            AuditView::Plain => options.tokenizer,
        };
        // No limits are compared here, so nothing is counted twice.
        (shared.options.tokenizer, shared.judge) = (tokenizer, tokenizer);
        let loads = shared.loads(*view).loads;
        let items: Vec<AuditItem> = loads.iter().map(|load| shared.measure_load(load)).collect();
        costs.push((tokenizer, shared.summarize_items(&items)));
    }
    costs
}

/// Returns the tokenizer that a client's own counts come nearest to, where it is
/// not the default one.
pub fn tokenizer_of(client: AgentClient) -> Option<Tokenizer> {
    (client == AgentClient::Claude).then_some(Tokenizer::Claude)
}

/// Audits several views and reads what they share once.
pub fn audit_views(
    workspace: &Workspace,
    options: &AuditOptions,
    views: &[AuditView],
) -> Vec<AuditReport> {
    let shared = AuditContext::from_workspace(workspace, options);
    views
        .iter()
        .map(|&view| shared.build_report(view))
        .collect()
}

/// Input that all views of one audit share.
struct AuditContext<'a> {
    workspace: &'a Workspace,
    options: AuditOptions<'a>,
    reader: SourceReader<'a>,
    judge: Tokenizer,
    findings: Vec<AuditFinding>,
    knowledge_files: usize,
    state: Option<AuditState>,
}

impl<'a> AuditContext<'a> {
    fn from_workspace(workspace: &'a Workspace, options: &AuditOptions<'a>) -> AuditContext<'a> {
        let reader = SourceReader::new(workspace, options.home);
        let judge = workspace.config().audit.tokenizer;
        let mut findings = Vec::new();
        for problem in reader.scan_problems() {
            let message = format!("`{}` {}", problem.path, problem.message);
            let finding = AuditFinding::new(
                AuditLevel::Notice,
                AuditFindingKind::Unreadable,
                &problem.path,
                message,
            );
            findings.push(finding.with_advice("It was not counted"));
        }
        let state = state::compare_with_last(&reader, options.now, &mut findings);
        let plain = plain::collect_loads(&reader);
        let knowledge_files = knowledge::check_knowledge(workspace, &plain, judge, &mut findings);
        AuditContext {
            workspace,
            options: *options,
            reader,
            judge,
            findings,
            knowledge_files,
            state,
        }
    }

    fn loads(&self, view: AuditView) -> ClientLoads {
        match view {
            AuditView::Plain => plain::collect_loads(&self.reader),
            AuditView::Client(AgentClient::Claude) => claude::collect_loads(&self.reader),
            AuditView::Client(AgentClient::Codex) => codex::collect_loads(&self.reader),
            AuditView::Client(AgentClient::OpenCode) => opencode::collect_loads(&self.reader),
            AuditView::Client(AgentClient::Gemini) => gemini::collect_loads(&self.reader),
            AuditView::Client(AgentClient::Copilot) => copilot::collect_loads(&self.reader),
            // Its loading rules are unknown, so no command offers it.
            AuditView::Client(AgentClient::Cursor) => Default::default(),
        }
    }

    fn build_report(&self, view: AuditView) -> AuditReport {
        let ClientLoads { loads, findings } = self.loads(view);
        let mut all = self.findings.clone();
        // A file that only another client loads does not concern this view.
        let loaded = |file: &str| loads.iter().any(|load| load.source.shown == file);
        all.retain(|f| {
            f.kind != AuditFindingKind::RepeatsKnowledge
                || view == AuditView::Plain
                || loaded(&f.file)
        });
        all.extend(findings);
        let items: Vec<AuditItem> = loads.iter().map(|load| self.measure_load(load)).collect();
        let config = &self.workspace.config().audit;
        let total_limits = TokenLimits {
            warn: config.total_warn,
            critical: config.total_critical,
        };
        let summary = self.summarize_items(&items);
        // Limits judge the project's own files; the user's are the same for all
        // projects.
        let own = |item: &&AuditItem| item.origin == FileOrigin::Project;
        let judged: usize = items.iter().filter(own).map(|item| item.judged).sum();
        let total = total_limits.level_of(judged);
        self.check_sizes(&items, &mut all);
        if let Some((level, limit)) = total {
            let shown = self.describe_amount(summary.autoload_tokens, judged);
            let message = format!("Total autoload: {shown} {}", threshold_note(level, limit));
            let mut finding = AuditFinding::new(level, AuditFindingKind::Total, "TOTAL", message);
            finding.tokens = Some(judged);
            all.push(finding.with_advice("Move stable knowledge to knowledge/"));
        }
        all.extend(self.reader.read_findings());
        check_file_contents(&loads, &mut all);
        repeats::check_repeats(&loads, view, self.judge, &mut all);
        all.sort_by(|a, b| {
            let key = |f: &AuditFinding| (std::cmp::Reverse(f.level), f.file.clone(), f.line);
            key(a).cmp(&key(b))
        });
        all.dedup();
        AuditReport {
            view,
            tokenizer: self.options.tokenizer,
            judge: self.judge,
            items,
            findings: all,
            total,
            total_limits,
            summary,
            state: self.state.clone(),
        }
    }

    fn measure_load(&self, load: &FileLoad) -> AuditItem {
        let shown = self.options.tokenizer;
        let always = count_tokens(shown, &load.text);
        // Counting is the expensive step, so equal tokenizers and equal texts
        // are counted once.
        let judged = if shown == self.judge {
            always
        } else {
            count_tokens(self.judge, &load.text)
        };
        let whole = if load.text == load.source.document.text {
            always
        } else {
            count_tokens(shown, &load.source.document.text)
        };
        let config = &self.workspace.config().audit;
        let limits = (load.origin == FileOrigin::Project).then_some(if load.is_instructions {
            self.instruction_limits()
        } else {
            TokenLimits {
                warn: config.skill_warn,
                critical: config.skill_critical,
            }
        });
        AuditItem {
            path: load.source.shown.clone(),
            origin: load.origin,
            why: load.why.clone(),
            part: load.part.clone(),
            always,
            whole,
            on_invoke: load.invoke.as_ref().map(|text| count_tokens(shown, text)),
            nested: load.nested,
            judged,
            limits,
            level: limits
                .and_then(|l| l.level_of(judged))
                .map(|(level, _)| level),
        }
    }

    fn instruction_limits(&self) -> TokenLimits {
        let config = &self.workspace.config().audit;
        TokenLimits {
            warn: config.file_warn,
            critical: config.file_critical,
        }
    }

    fn check_sizes(&self, items: &[AuditItem], findings: &mut Vec<AuditFinding>) {
        for item in items {
            let Some((level, limit)) = item.limits.and_then(|l| l.level_of(item.judged)) else {
                continue;
            };
            let shown = self.describe_amount(item.always, item.judged);
            let message = format!("{}: {shown} {}", item.path, threshold_note(level, limit));
            let warn = item.limits.map_or(limit, |l| l.warn);
            let warn = format_thousands(warn);
            let file = &item.path;
            let advice = if item.limits == Some(self.instruction_limits()) {
                format!("Reduce {file} to a stub (< {warn} tokens)")
            } else if file.ends_with("/SKILL.md") {
                format!(
                    "Keep each skill under {warn} tokens, with the rest in `references/` in the same folder"
                )
            } else {
                format!("Keep each rule, command and agent under {warn} tokens")
            };
            let mut finding = AuditFinding::new(level, AuditFindingKind::Size, &item.path, message);
            finding.tokens = Some(item.judged);
            findings.push(finding.with_advice(advice));
        }
    }

    /// Returns a count for people, followed by the count that limits are
    /// compared with if that is another one.
    fn describe_amount(&self, shown: usize, judged: usize) -> String {
        if self.options.tokenizer == self.judge {
            return format!("{} tokens", format_thousands(shown));
        }
        format!(
            "{} {} tokens, {} {}",
            format_thousands(shown),
            self.options.tokenizer.label(),
            format_thousands(judged),
            self.judge.label()
        )
    }

    fn summarize_items(&self, items: &[AuditItem]) -> AuditSummary {
        let mut summary = AuditSummary {
            knowledge_files: self.knowledge_files,
            ..AuditSummary::default()
        };
        for item in items {
            let loaded = usize::from(item.always > 0 || item.whole == 0);
            if item.origin == FileOrigin::Project {
                summary.autoload_tokens += item.always;
                summary.autoload_files += loaded;
                summary.on_invoke_tokens += item.on_invoke.unwrap_or(0);
                if item.nested {
                    summary.nested_tokens += item.always;
                    summary.nested_files += loaded;
                }
            } else {
                summary.beyond_tokens += item.always;
                summary.beyond_files += loaded;
            }
        }
        summary
    }
}

fn threshold_note(level: AuditLevel, limit: usize) -> String {
    format!("({}, threshold: {})", level.name(), format_thousands(limit))
}

/// Reports secrets, hidden characters and broken front matter in the project's
/// files.
fn check_file_contents(loads: &[FileLoad], findings: &mut Vec<AuditFinding>) {
    let mut seen = std::collections::HashSet::new();
    for load in loads {
        let source = &load.source;
        let SourcePlace::Inside(_) = &source.place else {
            continue;
        };
        // Several links may lead to one file.
        if !seen.insert(source.real.clone()) {
            continue;
        }
        hidden::check_hidden_characters(&source.shown, &source.document.text, true, findings);
        source::check_secrets(&source.shown, &source.document.text, findings);
        source::check_agent_orders(&source.shown, &source.document.text, true, findings);
        for problem in &source.document.problems {
            let message = format!("{}:{}: {}", source.shown, problem.line, problem.message);
            let finding = AuditFinding::new(
                AuditLevel::Warning,
                AuditFindingKind::FrontMatter,
                &source.shown,
                message,
            );
            findings.push(finding.at_line(problem.line));
        }
    }
}

#[cfg(test)]
mod tests;
