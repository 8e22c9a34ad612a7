//! Finds documents whose front matter states what they apply to:
//! `applies-to:` with globs of paths, or the first words of commands.

use std::io::Read;

use crate::workspace::{RelPath, Workspace};
use forge_memory::push::PushKey;
use forge_store::regular::{self, LinkPolicy};

/// Documents whose beginning is read at a start.
const MAX_SCANNED_DOCUMENTS: usize = 1_000;
/// Bytes of a document that are read.
const MAX_HEAD_BYTES: u64 = 4 << 10;
/// Rules that are kept.
const MAX_RULES: usize = 100;
/// Patterns of a document that are kept.
const MAX_PATTERNS: usize = 20;
/// Characters of a rule that are kept; less of it is shown.
const MAX_RULE_CHARS: usize = 200;

/// Returns the rules of the knowledge folder, by path.
pub(super) fn find_rules(workspace: &Workspace) -> Vec<PushKey> {
    let mut files = workspace.markdown_files_in("knowledge");
    files.sort_by(|a, b| a.as_str().cmp(b.as_str()));
    let rules = files
        .iter()
        .take(MAX_SCANNED_DOCUMENTS)
        .filter_map(|path| read_rule(workspace, path));
    rules.take(MAX_RULES).collect()
}

fn read_rule(workspace: &Workspace, path: &RelPath) -> Option<PushKey> {
    let file = regular::open_regular(&workspace.absolute_path(path), LinkPolicy::Refuse).ok()?;
    let modified = file.metadata().and_then(|it| it.modified()).ok();
    let since = modified.and_then(|it| it.duration_since(std::time::UNIX_EPOCH).ok());
    let mut bytes = Vec::new();
    file.take(MAX_HEAD_BYTES).read_to_end(&mut bytes).ok()?;
    let text = String::from_utf8_lossy(&bytes);
    // Most documents have none, and parsing takes longer than searching.
    if !text.starts_with("---") || !text.contains("applies-to:") {
        return None;
    }
    let document = crate::document::parse_document(text.as_ref());
    let front_matter = document.front_matter.as_ref()?;
    let patterns: Vec<String> = front_matter
        .list("applies-to")
        .into_iter()
        .map(str::trim)
        .filter(|it| !it.is_empty())
        .take(MAX_PATTERNS)
        .map(str::to_owned)
        .collect();
    let (line, rule) = first_statement(&text)?;
    (!patterns.is_empty()).then(|| PushKey::Rule {
        path: path.to_string(),
        line,
        text: rule,
        applies_to: patterns,
        modified: since.map_or(0, |it| it.as_secs() as i64),
    })
}

/// Returns the first line of the body that is no heading, with its number.
fn first_statement(text: &str) -> Option<(usize, String)> {
    let mut lines = text.lines().enumerate().skip(1);
    lines.by_ref().find(|(_, line)| line.trim_end() == "---")?;
    let (at, _) = lines.find(|(_, line)| !line.trim().is_empty() && !line.starts_with('#'))?;
    Some((at + 1, statement_at(text, at + 1)?))
}

/// Returns a line of a document as it is shown.
pub(crate) fn statement_at(text: &str, line: usize) -> Option<String> {
    let line = text.lines().nth(line.checked_sub(1)?)?.trim();
    let line = line.trim_start_matches(['-', '*', '>', ' ']);
    Some(line.chars().take(MAX_RULE_CHARS).collect())
}
