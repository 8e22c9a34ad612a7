//! Collects figures of an index: what it contains and how often its documents
//! are found.

use std::collections::BTreeMap;

use forge_text::quote::hidden::escape_for_terminal as printable;
use serde_json::json;

use crate::corrections::Corrections;
use crate::counts::count_noun;
use crate::index::{FileUsage, Index, IndexCounts};
use crate::knowledge::{forget, refresh};
use crate::tokens::format_thousands;
use crate::workspace::Workspace;

/// Files that each list in the text names.
const MAX_LISTED_FILES: usize = 10;

/// Figures of an index, with forgotten documents and corrected facts.
pub struct IndexStats {
    counts: IndexCounts,
    kinds: BTreeMap<&'static str, usize>,
    scopes: BTreeMap<String, usize>,
    model: Option<String>,
    last_indexed: Option<String>,
    bytes: u64,
    changed: usize,
    usage: Vec<FileUsage>,
    skipped: Vec<(String, String)>,
    forgotten: Vec<forget::Tombstone>,
    corrections: Corrections,
}

impl IndexStats {
    /// Collects the figures of an existing index.
    pub fn gather(
        workspace: &Workspace,
        index: &Index,
    ) -> Result<IndexStats, refresh::RefreshError> {
        let catalogue = index.catalogue()?;
        let scan = workspace.scan();
        let mut stats = IndexStats {
            counts: index.counts()?,
            kinds: BTreeMap::new(),
            scopes: BTreeMap::new(),
            model: index.stored_value("model")?,
            last_indexed: index.stored_value("last_indexed")?,
            bytes: std::fs::metadata(index.path()).map_or(0, |m| m.len()),
            changed: refresh::count_behind(workspace, &scan, index, &catalogue)?,
            usage: index.usage()?,
            skipped: Vec::new(),
            forgotten: forget::list_tombstones(workspace)?,
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

    /// Counts the files that have never appeared in a result.
    fn count_never_found(&self) -> usize {
        self.usage.iter().filter(|u| u.count == 0).count()
    }

    /// Returns the files that were found, the most frequent first.
    fn files_by_use(&self) -> Vec<&FileUsage> {
        let mut found: Vec<&FileUsage> = self.usage.iter().filter(|u| u.count > 0).collect();
        found.sort_by(|a, b| b.count.cmp(&a.count).then_with(|| a.path.cmp(&b.path)));
        found
    }

    /// Renders the figures as lines for a person.
    pub fn render_text(&self) -> String {
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
            format_thousands(self.bytes as usize)
        ));
        line(&format!(
            "Last indexed: {}",
            self.last_indexed.as_deref().unwrap_or("never")
        ));
        if self.changed > 0 {
            line(&format!(
                "Changed since: {}; the next search reads them",
                count_noun(self.changed, "file")
            ));
        }
        let found = self.files_by_use();
        line(&format!(
            "\nUse: {} of {} never appeared in a result",
            self.count_never_found(),
            count_noun(self.usage.len(), "file")
        ));
        for usage in found.iter().take(MAX_LISTED_FILES) {
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
        if found.len() > MAX_LISTED_FILES {
            line(&format!(
                "  and {} more; `--json` lists all",
                found.len() - MAX_LISTED_FILES
            ));
        }
        if !self.forgotten.is_empty() {
            line(&format!(
                "\nForgotten: {} (`memory-forge restore` brings them back)",
                self.forgotten.len()
            ));
            for f in self.forgotten.iter().take(MAX_LISTED_FILES) {
                line(&format!("  {}", printable(&f.path)));
            }
        }
        let corrected = self.corrections.all();
        if !corrected.is_empty() {
            line(&format!(
                "\nCorrected facts: {} (`memory-forge restore --fact` withdraws one)",
                corrected.len()
            ));
            for one in corrected.iter().take(MAX_LISTED_FILES) {
                line(&format!("  {}", printable(&one.describe())));
            }
            if corrected.len() > MAX_LISTED_FILES {
                line(&format!(
                    "  and {} more",
                    corrected.len() - MAX_LISTED_FILES
                ));
            }
        }
        if !self.skipped.is_empty() {
            line(&format!("\nSkipped: {}", self.skipped.len()));
            for (path, why) in self.skipped.iter().take(MAX_LISTED_FILES) {
                line(&format!("  {}: {}", printable(path), printable(why)));
            }
        }
        text
    }

    /// Renders the figures as JSON.
    pub fn to_json(&self) -> serde_json::Value {
        json!({
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
            "usage": self.usage.iter().map(|u| json!({
                "path": u.path, "importance": u.importance, "lastFound": u.last, "found": u.count,
            })).collect::<Vec<_>>(),
            "forgotten": self.forgotten.iter().map(|f| f.path.clone()).collect::<Vec<_>>(),
            "corrected": self.corrections.all().iter().map(|it| it.to_json()).collect::<Vec<_>>(),
            "skipped": self.skipped.iter().map(|(path, why)| json!({ "path": path, "why": why })).collect::<Vec<_>>(),
        })
    }
}
