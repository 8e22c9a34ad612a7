//! What agents load by themselves is never indexed. Where an answer is there
//! and nowhere else, a search reports it; the files are few and small, so that
//! they are read for the question.

use super::describe::describe_text;
use super::refresh::RefreshError;
use crate::index::{Index, IndexChange, PassageSizes};
use crate::recall::{self, RecallHit, RecallMode, RecallQuery};
use crate::workspace::{self, FileRole, RelPath, Workspace};

/// The files at the top that clients load whole. Those of nested projects are
/// not looked for: that would walk the tree for every question.
const FILES: [&str; 6] = [
    "AGENTS.md",
    "CLAUDE.md",
    "CLAUDE.local.md",
    "GEMINI.md",
    ".claude/CLAUDE.md",
    ".github/copilot-instructions.md",
];

/// Folders of rules that are loaded as well.
const FOLDERS: [&str; 1] = [".claude/rules"];

/// Upper bound for the bytes of a file that is read.
const MOST_BYTES: u64 = 1 << 20;

/// Place of an answer that a search does not show.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct LoadedPlace {
    /// The file that agents load.
    pub path: RelPath,
    /// The line of the answer in it.
    pub line: usize,
}

/// Finds the place in files that agents load which answers more of the question
/// than any of these hits does.
pub fn better_place(
    workspace: &Workspace,
    ask: &RecallQuery<'_>,
    hits: &[RecallHit],
) -> Result<Option<LoadedPlace>, RefreshError> {
    let sizes = PassageSizes::with_limit(workspace.config().index.chunk_tokens);
    let mut changes = Vec::new();
    let mut seen = Vec::new();
    let named = FILES.iter().filter_map(|path| RelPath::new(path).ok());
    let rules = FOLDERS
        .iter()
        .flat_map(|it| workspace.markdown_files_in(it));
    for path in named.chain(rules) {
        let Ok(bytes) = workspace.read_up_to_limit(&path, MOST_BYTES) else {
            continue;
        };
        let Ok(text) = String::from_utf8(bytes) else {
            continue;
        };
        // One file is often a link to another, or its copy.
        if seen.contains(&text) {
            continue;
        }
        let (_, put) = describe_text(&path, FileRole::Knowledge, &text, sizes);
        changes.push(IndexChange::Put(Box::new(put)));
        seen.push(text);
    }
    if changes.is_empty() {
        return Ok(None);
    }
    // The hits shown are ranked with them, so that both are judged by
    // the same measure.
    for (at, hit) in hits.iter().take(MOST_SHOWN).enumerate() {
        let path =
            RelPath::new(&format!("{SHOWN}/{at}.md")).map_err(workspace::WorkspaceError::from)?;
        let headings = hit.passage.headings.join("\n\n");
        let text = format!("{headings}\n\n{}", hit.passage.text);
        let (_, put) = describe_text(&path, FileRole::Knowledge, &text, sizes);
        changes.push(IndexChange::Put(Box::new(put)));
    }
    let mut index = Index::in_memory()?;
    index.apply_changes(changes)?;
    let catalogue = index.catalogue()?;
    let ask = RecallQuery {
        mode: RecallMode::Text,
        limit: 2 * MOST_SHOWN,
        scopes: Vec::new(),
        kinds: Vec::new(),
        since: None,
        explain: true,
        ..ask.clone()
    };
    let answer = recall::rank_passages(&index, &catalogue, None, &ask)?;
    let is_shown = |hit: &&RecallHit| hit.passage.path.starts_with(SHOWN);
    let Some(best) = answer.hits.first().filter(|hit| !is_shown(hit)) else {
        return Ok(None);
    };
    let shown = answer.hits.iter().filter(is_shown);
    let shown = shown.map(|hit| hit.terms.len()).max().unwrap_or(0);
    let here = best.terms.len();
    if here <= shown || here < LEAST_WORDS && best.relevance < LEAST_RELEVANCE {
        return Ok(None);
    }
    let before = best.matches.first().map_or(0, |first| first.start);
    let text = best.passage.text.get(..before).unwrap_or_default();
    let line = best.passage.lines.0 + text.matches('\n').count();
    Ok(RelPath::new(&best.passage.path)
        .ok()
        .map(|path| LoadedPlace { path, line }))
}

/// Hits that are looked at.
const MOST_SHOWN: usize = 3;

/// Where they stand in the index of one question.
const SHOWN: &str = "shown";

/// One word of a long question is weak evidence.
const LEAST_WORDS: usize = 2;
const LEAST_RELEVANCE: f32 = 0.9;
