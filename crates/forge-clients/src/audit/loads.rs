//! Computes what a client takes from a file, and the text that arrives in its
//! context. Pure functions over documents; which files exist is decided
//! elsewhere.

use std::rc::Rc;

use super::source::{AuditSource, SourcePlace};
use super::{AuditFinding, FileOrigin};
use crate::document::Document;

/// Everything that a client loads or could load, with the findings of its
/// rules.
#[derive(Default)]
pub(super) struct ClientLoads {
    pub(super) loads: Vec<FileLoad>,
    pub(super) findings: Vec<AuditFinding>,
}

/// One file as a client takes it.
#[derive(Clone)]
pub(super) struct FileLoad {
    pub(super) source: Rc<AuditSource>,
    pub(super) origin: FileOrigin,
    pub(super) why: String,
    pub(super) part: String,
    /// Text that is in the context at every start; empty for a file that is
    /// loaded on demand.
    pub(super) text: String,
    /// Text that is added when it is used.
    pub(super) invoke: Option<String>,
    pub(super) nested: bool,
    /// Whether the limits of `CLAUDE.md` apply, instead of those of a skill.
    pub(super) is_instructions: bool,
}

impl FileLoad {
    /// Returns the load of a whole file at every start.
    pub(super) fn whole_file(source: &Rc<AuditSource>, origin: FileOrigin, why: &str) -> FileLoad {
        let text = source.text().trim_start_matches('\u{feff}').to_owned();
        FileLoad::with_part(source, origin, why, "whole file", text)
    }

    /// Returns the load of the body at every start: what Claude Code keeps of
    /// its instructions.
    pub(super) fn body_only(source: &Rc<AuditSource>, origin: FileOrigin, why: &str) -> FileLoad {
        let (text, what) = strip_comments(&source.document);
        FileLoad::with_part(source, origin, why, what, text)
    }

    /// Returns the load of some text of a file, with words for which part that
    /// is.
    pub(super) fn with_part(
        source: &Rc<AuditSource>,
        origin: FileOrigin,
        why: &str,
        part: &str,
        text: String,
    ) -> FileLoad {
        FileLoad {
            source: source.clone(),
            origin,
            why: why.to_owned(),
            part: part.to_owned(),
            text,
            invoke: None,
            nested: is_nested(&source.place),
            is_instructions: is_instructions(&source.place),
        }
    }

    /// Returns a load that is empty at start and adds the body on demand.
    pub(super) fn on_demand(source: &Rc<AuditSource>, origin: FileOrigin, why: &str) -> FileLoad {
        let (text, _) = strip_comments(&source.document);
        FileLoad {
            invoke: Some(text),
            ..FileLoad::with_part(source, origin, why, "nothing until then", String::new())
        }
    }
}

/// Returns the body without front matter and without comments that are blocks
/// of their own, and words for what was removed. Comments within a line or in
/// code stay.
pub(super) fn strip_comments(document: &Document) -> (String, &'static str) {
    let body = &document.text[document.body.clone()];
    if document.comments.is_empty() {
        let what = match document.front_matter {
            Some(_) => "body, without front matter",
            None => "whole file",
        };
        return (body.to_owned(), what);
    }
    let mut text = String::with_capacity(body.len());
    let mut at = document.body.start;
    for comment in &document.comments {
        if comment.start < at {
            continue;
        }
        text.push_str(&document.text[at..comment.start]);
        at = comment.end;
        // The line end goes with the comment that fills its line.
        let rest = &document.text[at..];
        let line = rest.strip_prefix("\r\n").or(rest.strip_prefix('\n'));
        if line.is_some() && (text.is_empty() || text.ends_with('\n')) {
            at = document.text.len() - line.map_or(0, str::len);
        }
    }
    text.push_str(&document.text[at..document.body.end]);
    (text, "body, without front matter and comments")
}

/// Returns the first `lines` lines, and of these at most `units` UTF-16 units,
/// cut at a line end. Returns `None` if the text fits.
pub(super) fn head_within(text: &str, lines: usize, units: usize) -> Option<&str> {
    let mut end = 0;
    let mut used = 0;
    for (number, line) in text.split_inclusive('\n').enumerate() {
        used += utf16_len(line);
        if number == lines || used > units {
            return Some(&text[..end]);
        }
        end += line.len();
    }
    None
}

/// Truncates a text to `units` UTF-16 units; a truncated text ends in `…`.
pub(super) fn truncate_to_utf16(text: &str, units: usize) -> String {
    if utf16_len(text) <= units {
        return text.to_owned();
    }
    // One unit is for the ellipsis.
    let mut used = 1;
    let fits = |c: &char| {
        used += c.len_utf16();
        used <= units
    };
    let mut kept: String = text.chars().take_while(fits).collect();
    kept.push('…');
    kept
}

/// Returns as many whole characters as fit into `bytes` bytes.
pub(super) fn first_bytes(text: &str, bytes: usize) -> &str {
    &text[..text.floor_char_boundary(bytes)]
}

/// Returns the length in UTF-16 units, in which clients count characters.
pub(super) fn utf16_len(text: &str) -> usize {
    text.chars().map(char::len_utf16).sum()
}

/// Folders in which clients look for files of their own.
pub(super) const CLIENT_FOLDERS: [&str; 7] = [
    ".agents",
    ".claude",
    ".codex",
    ".cursor",
    ".gemini",
    ".github",
    ".opencode",
];

/// Names of instruction files, which clients read in any folder.
const INSTRUCTION_NAMES: [&str; 5] = [
    "AGENTS.md",
    "AGENTS.override.md",
    "CLAUDE.local.md",
    "CLAUDE.md",
    "GEMINI.md",
];

/// Returns `true` for files that clients read as instructions, as opposed to
/// the many small files of a client's folder. Files that instructions import
/// count as instructions too.
fn is_instructions(place: &SourcePlace) -> bool {
    let SourcePlace::Inside(path) = place else {
        return true;
    };
    let many = path.components().any(|name| CLIENT_FOLDERS.contains(&name))
        && path.file_name() != "copilot-instructions.md";
    INSTRUCTION_NAMES.contains(&path.file_name()) || !many
}

fn is_nested(place: &SourcePlace) -> bool {
    !owner_folder(place).is_empty()
}

/// Returns the folder whose instructions a file belongs to: `a` for
/// `a/CLAUDE.md` and for `a/.claude/rules/b.md`, and the root for everything
/// that is imported.
pub(super) fn owner_folder(place: &SourcePlace) -> &str {
    let SourcePlace::Inside(path) = place else {
        return "";
    };
    let named = INSTRUCTION_NAMES.contains(&path.file_name());
    let text = path.as_str();
    let mut start = 0;
    for name in path.components() {
        // `.github` holds Copilot's instructions; other names there are the
        // folder's own.
        if CLIENT_FOLDERS.contains(&name) && !(named && name == ".github") {
            return text[..start].trim_end_matches('/');
        }
        start += name.len() + 1;
    }
    match text.rsplit_once('/') {
        Some((folder, _)) if named => folder,
        _ => "",
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::document::parse_document;

    #[test]
    fn front_matter_and_block_comments_are_stripped() {
        let check = |text: &str, expect: &str| {
            assert_eq!(strip_comments(&parse_document(text)).0, expect, "{text:?}");
        };
        check("a\n", "a\n");
        check("---\npaths: x\n---\na\n", "a\n");
        check("a\n\n<!-- gone\n\nall of it -->\n\nb\n", "a\n\n\nb\n");
        check("a <!-- kept --> b\n", "a <!-- kept --> b\n");
        check("```\n<!-- kept -->\n```\n", "```\n<!-- kept -->\n```\n");
        check("<!-- one --> <!-- two -->\nx\n", " \nx\n");
        check("\u{feff}---\na: b\n---\nx", "x");
        check("<!-- open", "");
        check("", "");
    }

    #[test]
    fn a_head_ends_at_a_line() {
        let check =
            |text, lines, units, expect| assert_eq!(head_within(text, lines, units), expect);
        check("a\nb\nc\n", 3, 99, None);
        check("a\nb\nc", 3, 99, None);
        check("a\nb\nc\n", 2, 99, Some("a\nb\n"));
        check("aaaa\nbbbb\n", 9, 9, Some("aaaa\n"));
        check("aaaa\nbbbb\n", 9, 10, None);
        // One character of two UTF-16 units.
        check("😀\n", 9, 2, Some(""));
        check("", 0, 0, None);
    }

    #[test]
    fn cut_text_says_so() {
        let check = |text, units, expect: &str| assert_eq!(truncate_to_utf16(text, units), expect);
        check("abc", 3, "abc");
        check("abcd", 3, "ab…");
        check("😀😀😀", 4, "😀…");
        assert_eq!(first_bytes("aé", 2), "a");
        assert_eq!(first_bytes("ab", 9), "ab");
    }

    #[test]
    fn nested_means_below_another_folder() {
        let check = |path: &str, nested, instructions| {
            let place = SourcePlace::Inside(crate::workspace::RelPath::new(path).expect("a path"));
            assert_eq!(is_nested(&place), nested, "{path}");
            assert_eq!(is_instructions(&place), instructions, "{path}");
        };
        check("CLAUDE.md", false, true);
        check("a/CLAUDE.md", true, true);
        check(".claude/CLAUDE.md", false, true);
        check(".claude/skills/a/SKILL.md", false, false);
        check("a/.claude/skills/a/SKILL.md", true, false);
        check(".github/copilot-instructions.md", false, true);
        check("docs/imported.md", false, true);
        check(".github/AGENTS.md", true, true);
    }
}
