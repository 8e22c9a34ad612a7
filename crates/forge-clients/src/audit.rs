//! Audits what agents load at every start, what it costs, and what is wrong
//! with it.
//!
//! Each client has its own rules for what it loads; the plain view counts every
//! file whole, whichever client loads it. The audit reads and reports: it never
//! writes a file, and it never puts a secret that it found into a report.

use std::path::Path;

use jiff::Timestamp;

use crate::client::Client;
use crate::tokens::{Tokenizer, count_tokens, thousands};
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

use loads::{Load, Loads};
use source::{Place, Reader};

pub use json::{MergedFinding, merge_findings, to_json};
pub use report::{Finding, Item, Kind, Level, Limits, Origin, Report, Summary, View};
pub use state::{FILE as STATE_FILE, State};
pub use svg::svg;

/// Options of one audit.
#[derive(Clone, Copy, Debug)]
pub struct AuditOptions<'a> {
    pub view: View,
    /// Tokenizer of the numbers that are shown. Limits are compared with counts
    /// by the tokenizer of the configuration, because they were chosen for it.
    pub tokenizer: Tokenizer,
    /// Home of the user, whose own instructions count too; without it none are
    /// looked for.
    pub home: Option<&'a Path>,
    pub now: Timestamp,
}

/// Audits one view of the workspace.
pub fn run(workspace: &Workspace, options: &AuditOptions) -> Report {
    let shared = Shared::gather(workspace, options);
    shared.report(options.view)
}

/// Returns what is loaded at a start in each view, in the tokenizer of that
/// view's client. Knowledge is not read for it.
pub fn start_costs(
    workspace: &Workspace,
    options: &AuditOptions,
    views: &[View],
) -> Vec<(Tokenizer, Summary)> {
    let mut shared = Shared {
        workspace,
        options: *options,
        reader: Reader::new(workspace, options.home),
        judge: options.tokenizer,
        findings: Vec::new(),
        knowledge_files: 0,
        state: None,
    };
    let mut costs = Vec::new();
    for view in views {
        let tokenizer = match view {
            View::Client(client) => tokenizer_of(*client).unwrap_or(options.tokenizer),
            View::Plain => options.tokenizer,
        };
        // No limits are compared here, so nothing is counted twice.
        (shared.options.tokenizer, shared.judge) = (tokenizer, tokenizer);
        let loads = shared.loads(*view).loads;
        let items: Vec<Item> = loads.iter().map(|load| shared.item(load)).collect();
        costs.push((tokenizer, shared.summary(&items)));
    }
    costs
}

/// Returns the tokenizer that a client's own counts come nearest to, where it is
/// not the default one.
pub fn tokenizer_of(client: Client) -> Option<Tokenizer> {
    (client == Client::Claude).then_some(Tokenizer::Claude)
}

/// Audits several views and reads what they share once.
pub fn run_each(workspace: &Workspace, options: &AuditOptions, views: &[View]) -> Vec<Report> {
    let shared = Shared::gather(workspace, options);
    views.iter().map(|&view| shared.report(view)).collect()
}

/// Input that all views of one audit share.
struct Shared<'a> {
    workspace: &'a Workspace,
    options: AuditOptions<'a>,
    reader: Reader<'a>,
    judge: Tokenizer,
    findings: Vec<Finding>,
    knowledge_files: usize,
    state: Option<State>,
}

impl<'a> Shared<'a> {
    fn gather(workspace: &'a Workspace, options: &AuditOptions<'a>) -> Shared<'a> {
        let reader = Reader::new(workspace, options.home);
        let judge = workspace.config().audit.tokenizer;
        let mut findings = Vec::new();
        for problem in reader.problems() {
            let message = format!("`{}` {}", problem.path, problem.message);
            let finding = Finding::new(Level::Notice, Kind::Unreadable, &problem.path, message);
            findings.push(finding.advice("It was not counted"));
        }
        let state = state::compare(&reader, options.now, &mut findings);
        let plain = plain::loads(&reader);
        let knowledge_files = knowledge::check(workspace, &plain, judge, &mut findings);
        Shared {
            workspace,
            options: *options,
            reader,
            judge,
            findings,
            knowledge_files,
            state,
        }
    }

    fn loads(&self, view: View) -> Loads {
        match view {
            View::Plain => plain::loads(&self.reader),
            View::Client(Client::Claude) => claude::loads(&self.reader),
            View::Client(Client::Codex) => codex::loads(&self.reader),
            View::Client(Client::OpenCode) => opencode::loads(&self.reader),
            View::Client(Client::Gemini) => gemini::loads(&self.reader),
            View::Client(Client::Copilot) => copilot::loads(&self.reader),
            // Not audited, see `Client::audited`; no door offers it.
            View::Client(Client::Cursor) => Default::default(),
        }
    }

    fn report(&self, view: View) -> Report {
        let Loads { loads, findings } = self.loads(view);
        let mut all = self.findings.clone();
        // A file that only another client loads does not concern this view.
        let loaded = |file: &str| loads.iter().any(|load| load.source.shown == file);
        all.retain(|f| f.kind != Kind::RepeatsKnowledge || view == View::Plain || loaded(&f.file));
        all.extend(findings);
        let items: Vec<Item> = loads.iter().map(|load| self.item(load)).collect();
        let config = &self.workspace.config().audit;
        let total_limits = Limits {
            warn: config.total_warn,
            critical: config.total_critical,
        };
        let summary = self.summary(&items);
        // Limits judge the project's own files; the user's are the same for all
        // projects.
        let own = |item: &&Item| item.origin == Origin::Project;
        let judged: usize = items.iter().filter(own).map(|item| item.judged).sum();
        let total = total_limits.judge(judged);
        self.sizes(&items, &mut all);
        if let Some((level, limit)) = total {
            let shown = self.amount(summary.autoload_tokens, judged);
            let message = format!("Total autoload: {shown} {}", verdict(level, limit));
            let mut finding = Finding::new(level, Kind::Total, "TOTAL", message);
            finding.tokens = Some(judged);
            all.push(finding.advice("Move stable knowledge to knowledge/"));
        }
        all.extend(self.reader.findings());
        look_inside(&loads, &mut all);
        repeats::across(&loads, view, self.judge, &mut all);
        all.sort_by(|a, b| {
            let key = |f: &Finding| (std::cmp::Reverse(f.level), f.file.clone(), f.line);
            key(a).cmp(&key(b))
        });
        all.dedup();
        Report {
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

    fn item(&self, load: &Load) -> Item {
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
        let limits = (load.origin == Origin::Project).then_some(if load.is_instructions {
            self.instruction_limits()
        } else {
            Limits {
                warn: config.skill_warn,
                critical: config.skill_critical,
            }
        });
        Item {
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
            level: limits.and_then(|l| l.judge(judged)).map(|(level, _)| level),
        }
    }

    fn instruction_limits(&self) -> Limits {
        let config = &self.workspace.config().audit;
        Limits {
            warn: config.file_warn,
            critical: config.file_critical,
        }
    }

    fn sizes(&self, items: &[Item], findings: &mut Vec<Finding>) {
        for item in items {
            let Some((level, limit)) = item.limits.and_then(|l| l.judge(item.judged)) else {
                continue;
            };
            let shown = self.amount(item.always, item.judged);
            let message = format!("{}: {shown} {}", item.path, verdict(level, limit));
            let warn = item.limits.map_or(limit, |l| l.warn);
            let warn = thousands(warn);
            let file = &item.path;
            let advice = if item.limits == Some(self.instruction_limits()) {
                format!("Reduce {file} to a stub (< {warn} tokens)")
            } else if file.ends_with("/SKILL.md") {
                format!(
                    "Keep each skill under {warn} tokens, with the rest in `references/` beside it"
                )
            } else {
                format!("Keep each rule, command and agent under {warn} tokens")
            };
            let mut finding = Finding::new(level, Kind::Size, &item.path, message);
            finding.tokens = Some(item.judged);
            findings.push(finding.advice(advice));
        }
    }

    /// Returns a count for people, followed by the count that limits are
    /// compared with if that is another one.
    fn amount(&self, shown: usize, judged: usize) -> String {
        if self.options.tokenizer == self.judge {
            return format!("{} tokens", thousands(shown));
        }
        format!(
            "{} {} tokens, {} {}",
            thousands(shown),
            self.options.tokenizer.label(),
            thousands(judged),
            self.judge.label()
        )
    }

    fn summary(&self, items: &[Item]) -> Summary {
        let mut summary = Summary {
            knowledge_files: self.knowledge_files,
            ..Summary::default()
        };
        for item in items {
            let loaded = usize::from(item.always > 0 || item.whole == 0);
            if item.origin == Origin::Project {
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

fn verdict(level: Level, limit: usize) -> String {
    format!("({}, threshold: {})", level.name(), thousands(limit))
}

/// Reports secrets, hidden characters and broken front matter in the project's
/// files.
fn look_inside(loads: &[Load], findings: &mut Vec<Finding>) {
    let mut seen = std::collections::HashSet::new();
    for load in loads {
        let source = &load.source;
        let Place::Inside(_) = &source.place else {
            continue;
        };
        // Several links may lead to one file.
        if !seen.insert(source.real.clone()) {
            continue;
        }
        hidden::check(&source.shown, &source.document.text, true, findings);
        source::secrets(&source.shown, &source.document.text, findings);
        source::orders(&source.shown, &source.document.text, true, findings);
        for problem in &source.document.problems {
            let message = format!("{}:{}: {}", source.shown, problem.line, problem.message);
            let finding = Finding::new(Level::Warning, Kind::FrontMatter, &source.shown, message);
            findings.push(finding.line(problem.line));
        }
    }
}

#[cfg(test)]
mod tests;
