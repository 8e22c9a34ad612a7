//! The health of a workspace in nine checks: is the state fresh and consistent,
//! is every document known to a hub, and does the manifest tell the truth?
//!
//! Checks read and never write. Repairs are proposals: what loses nothing is
//! one change, and what takes something out is asked about one by one.

mod checks;
mod fix;

pub use fix::{Fixes, Removal, fixes, remove};

use jiff::Timestamp;

use crate::graph::{self, Graph};
use crate::links::Vault;
use crate::mind::Mind;
use crate::routing::hubs::{Hub, hubs_of};
use crate::routing::manifest::{Manifest, Mode};
use crate::workspace::{Tree, Workspace};

/// Everything that checks look at, read once.
pub struct Survey<'a> {
    pub workspace: &'a Workspace,
    pub mind: Mind<'a>,
    pub manifest: Option<Manifest>,
    pub hubs: Vec<Hub>,
    pub tree: Tree,
    pub vault: Vault,
    pub graph: Graph,
}

impl<'a> Survey<'a> {
    pub fn of(workspace: &'a Workspace) -> Survey<'a> {
        let manifest = Manifest::read(workspace).filter(|it| it.mode() != Mode::Absent);
        let hubs = manifest
            .as_ref()
            .map(|it| hubs_of(workspace, it))
            .unwrap_or_default();
        let vault = Vault::read(workspace);
        Survey {
            workspace,
            mind: Mind::open(workspace),
            hubs,
            tree: workspace.tree(),
            graph: graph::build(&vault),
            vault,
            manifest,
        }
    }

    /// Whether the manifest has a marker, so that everything is kept up.
    pub fn is_full(&self) -> bool {
        let mode = self.manifest.as_ref().map(Manifest::mode);
        mode == Some(Mode::Full)
    }
}

#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Report {
    pub checks: Vec<Check>,
}

#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Check {
    pub name: &'static str,
    pub findings: Vec<Finding>,
}

#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Finding {
    pub level: Level,
    pub message: String,
    /// What to do about it.
    pub fix: String,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Level {
    Warn,
    Info,
}

impl Level {
    pub fn name(self) -> &'static str {
        match self {
            Level::Warn => "WARN",
            Level::Info => "INFO",
        }
    }
}

/// The name of each check and what is wrong when it finds something.
pub fn rules() -> impl Iterator<Item = (&'static str, &'static str)> {
    checks::ALL.iter().map(|(name, about, _)| (*name, *about))
}

/// Runs the nine checks, in the order in which they are reported.
pub fn lint(survey: &Survey<'_>, now: Timestamp) -> Report {
    let checks = checks::ALL
        .iter()
        .map(|(name, _, check)| Check {
            name,
            findings: check(survey, now),
        })
        .collect();
    Report { checks }
}

/// What no list of its hub knows, and edges of the graph without a page.
pub fn orphans_of(survey: &Survey<'_>) -> Vec<String> {
    checks::orphans(survey)
        .into_iter()
        .map(|it| it.message)
        .collect()
}

/// Findings of one check that are shown.
const SHOWN: usize = 20;

impl Report {
    pub fn warnings(&self) -> usize {
        self.count(Level::Warn)
    }

    pub fn infos(&self) -> usize {
        self.count(Level::Info)
    }

    fn count(&self, level: Level) -> usize {
        let all = self.checks.iter().flat_map(|it| &it.findings);
        all.filter(|it| it.level == level).count()
    }

    /// Renders the report as text, in the form that other tools know.
    pub fn render(&self) -> String {
        let mut out = String::from("Workspace Health Report\n\n");
        for check in &self.checks {
            let count = check.findings.len();
            match count {
                0 => out.push_str(&format!("{}: PASS\n", check.name)),
                _ => out.push_str(&format!("{}: {count} issues\n", check.name)),
            }
            for it in check.findings.iter().take(SHOWN) {
                let level = it.level.name();
                out.push_str(&format!("  [{level}] {} -- fix: {}\n", it.message, it.fix));
            }
            if count > SHOWN {
                let more = count - SHOWN;
                out.push_str(&format!("  and {more} more; `--json` lists them all\n"));
            }
        }
        let (warnings, infos) = (self.warnings(), self.infos());
        let checks = self.checks.len();
        out.push_str(&format!(
            "\nSummary: {warnings} warnings, {infos} info across {checks} checks\n"
        ));
        let failed: Vec<&Check> = self
            .checks
            .iter()
            .filter(|it| !it.findings.is_empty())
            .collect();
        if failed.is_empty() {
            out.push_str("All checks passed. Workspace is clean.\n");
            return out;
        }
        out.push_str("\nSuggested next actions:\n");
        for check in failed {
            let fix = &check.findings[0].fix;
            out.push_str(&format!("- {}: {fix}\n", check.name));
        }
        out
    }
}
