//! `stats`: what the index holds and how it is used. It changes nothing.

use std::collections::BTreeMap;

use clap::Args;
use forge::corrections::Corrections;
use forge::index::{Counts, Index, Usage};
use forge::knowledge::{forget, refresh};
use forge::tokens::thousands;
use forge::workspace::Workspace;

use crate::hits::correction_json;
use crate::memory;
use crate::report::{CommandError, Exit};
use crate::settings::Settings;
use crate::ui::{Ui, printable};

/// Show what the index holds, what is used and what was forgotten
#[derive(Debug, Args)]
#[command(after_help = "\
Examples:
  memory-forge stats
  memory-forge stats --json")]
pub(crate) struct StatsArgs {
    /// Print the result as JSON
    #[arg(long)]
    pub(crate) json: bool,
}

pub(crate) fn run(args: StatsArgs, settings: &Settings, ui: &mut Ui) -> Result<Exit, CommandError> {
    let workspace = memory::workspace(settings, ui)?;
    let Some(index) = Index::open_existing(&workspace.derived())? else {
        if args.json {
            ui.json(&serde_json::json!({ "version": 1, "index": null }))?;
        } else {
            ui.line("No index found. Run `memory-forge index` to create one.")?;
        }
        return Ok(Exit::Success);
    };
    let stats = Stats::gather(&workspace, &index)?;
    if args.json {
        ui.json(&stats.json())?;
        return Ok(Exit::Success);
    }
    ui.print(&stats.text())?;
    Ok(Exit::Success)
}

/// Files named in a list at most.
const MOST: usize = 10;

pub(crate) struct Stats {
    counts: Counts,
    kinds: BTreeMap<&'static str, usize>,
    scopes: BTreeMap<String, usize>,
    model: Option<String>,
    last_indexed: Option<String>,
    bytes: u64,
    changed: usize,
    usage: Vec<Usage>,
    skipped: Vec<(String, String)>,
    forgotten: Vec<forget::Tombstone>,
    corrections: Corrections,
}

impl Stats {
    pub(crate) fn gather(workspace: &Workspace, index: &Index) -> Result<Stats, CommandError> {
        let catalogue = index.catalogue()?;
        let scan = forge::routing::scan(workspace);
        let mut stats = Stats {
            counts: index.counts()?,
            kinds: BTreeMap::new(),
            scopes: BTreeMap::new(),
            model: index.note("model")?,
            last_indexed: index.note("last_indexed")?,
            bytes: std::fs::metadata(index.path()).map_or(0, |m| m.len()),
            changed: refresh::behind(workspace, &scan, index, &catalogue)?,
            usage: index.usage()?,
            skipped: Vec::new(),
            forgotten: forget::list(workspace)?,
            corrections: Corrections::read(workspace)?,
        };
        for entry in catalogue {
            if let Some(why) = entry.problem {
                stats.skipped.push((entry.path, why));
                continue;
            }
            *stats.kinds.entry(entry.kind.name()).or_default() += 1;
            *stats.scopes.entry(entry.scope).or_default() += 1;
        }
        Ok(stats)
    }

    fn never_found(&self) -> usize {
        self.usage.iter().filter(|u| u.count == 0).count()
    }

    fn most_found(&self) -> Vec<&Usage> {
        let mut found: Vec<&Usage> = self.usage.iter().filter(|u| u.count > 0).collect();
        found.sort_by(|a, b| b.count.cmp(&a.count).then_with(|| a.path.cmp(&b.path)));
        found
    }

    /// The screen that the command shows.
    pub(crate) fn text(&self) -> String {
        let mut text = String::new();
        let mut line = |line: &str| {
            text.push_str(line);
            text.push('\n');
        };
        let kinds: Vec<String> = self
            .kinds
            .iter()
            .map(|(kind, n)| format!("{n} {kind}"))
            .collect();
        let scopes: Vec<String> = self
            .scopes
            .iter()
            .map(|(scope, n)| format!("{n} {scope}"))
            .collect();
        let c = &self.counts;
        line(&format!("Files:        {} ({})", c.files, kinds.join(", ")));
        line(&format!("Scopes:       {}", scopes.join(", ")));
        let model = self.model.as_deref().unwrap_or("none yet");
        line(&format!(
            "Passages:     {}, {} with a vector (model: {model})",
            c.chunks, c.embedded
        ));
        line(&format!(
            "Index size:   {} bytes",
            thousands(self.bytes as usize)
        ));
        line(&format!(
            "Last indexed: {}",
            self.last_indexed.as_deref().unwrap_or("never")
        ));
        if self.changed > 0 {
            line(&format!(
                "Changed since: {} file(s); the next search reads them",
                self.changed
            ));
        }
        let found = self.most_found();
        line(&format!(
            "\nUse: {} of {} files were never found by a search",
            self.never_found(),
            self.usage.len()
        ));
        for usage in found.iter().take(MOST) {
            let last = usage
                .last
                .as_deref()
                .and_then(|l| l.get(..10))
                .unwrap_or("never");
            line(&format!(
                "  {:>5}×  {} (last {last})",
                usage.count,
                printable(&usage.path)
            ));
        }
        if found.len() > MOST {
            line(&format!(
                "  and {} more; `--json` lists all",
                found.len() - MOST
            ));
        }
        if !self.forgotten.is_empty() {
            line(&format!(
                "\nForgotten: {} (`memory-forge restore` brings them back)",
                self.forgotten.len()
            ));
            for f in self.forgotten.iter().take(MOST) {
                line(&format!("  {}", printable(&f.path)));
            }
        }
        let corrected = self.corrections.all();
        if !corrected.is_empty() {
            line(&format!(
                "\nCorrected facts: {} (`memory-forge restore --fact` lifts one)",
                corrected.len()
            ));
            for one in corrected.iter().take(MOST) {
                line(&format!("  {}", printable(&one.told())));
            }
            if corrected.len() > MOST {
                line(&format!("  and {} more", corrected.len() - MOST));
            }
        }
        if !self.skipped.is_empty() {
            line(&format!("\nSkipped: {}", self.skipped.len()));
            for (path, why) in self.skipped.iter().take(MOST) {
                line(&format!("  {}: {}", printable(path), printable(why)));
            }
        }
        text
    }

    pub(crate) fn json(&self) -> serde_json::Value {
        serde_json::json!({
            "version": 1,
            "index": {
                "files": self.counts.files,
                "passages": self.counts.chunks,
                "embedded": self.counts.embedded,
                "types": self.kinds,
                "scopes": self.scopes,
                "model": self.model,
                "bytes": self.bytes,
                "lastIndexed": self.last_indexed,
                "changedSince": self.changed,
            },
            "usage": self.usage.iter().map(|u| serde_json::json!({
                "path": u.path, "importance": u.importance, "lastFound": u.last, "found": u.count,
            })).collect::<Vec<_>>(),
            "forgotten": self.forgotten.iter().map(|f| f.path.clone()).collect::<Vec<_>>(),
            "corrected": self.corrections.all().iter().map(correction_json).collect::<Vec<_>>(),
            "skipped": self.skipped.iter().map(|(path, why)| serde_json::json!({ "path": path, "why": why })).collect::<Vec<_>>(),
        })
    }
}
