//! Detects notes that people look things up in: a glossary, contacts, or a
//! quick reference. The content decides; the name counts only if that is
//! inconclusive.

use crate::document::Document;
use crate::state_files;

/// Kind of a reference note.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum ReferenceKind {
    Glossary,
    Contacts,
    QuickReference,
}

impl ReferenceKind {
    /// Returns the name that plans use.
    pub(super) fn name(self) -> &'static str {
        match self {
            ReferenceKind::Glossary => "glossary",
            ReferenceKind::Contacts => "contacts",
            ReferenceKind::QuickReference => "quick reference",
        }
    }

    /// Returns the usual path of the workspace's own one; a quick reference
    /// stays with its subject.
    pub(super) fn usual_path(self) -> Option<&'static str> {
        match self {
            ReferenceKind::Glossary => Some(state_files::GLOSSARY_FILE),
            ReferenceKind::Contacts => Some("memory/contacts.md"),
            ReferenceKind::QuickReference => None,
        }
    }
}

/// Entries of the shortest list.
const MIN_ENTRIES: usize = 3;

/// Detects the kind of a reference note; `None` for a note that is read as a
/// text.
pub(super) fn detect_reference_kind(document: &Document, stem: &str) -> Option<ReferenceKind> {
    let body = document.span_text(&document.body);
    let lines: Vec<&str> = body
        .lines()
        .map(str::trim)
        .filter(|it| !it.is_empty() && !it.starts_with('#') && !is_table_rule(it))
        .collect();
    let total = lines.len();
    let share = |count: usize| count >= MIN_ENTRIES && count * 2 >= total;
    let reachable = lines.iter().filter(|it| is_contact_line(it)).count();
    let in_code = |it: &&&str| starts_with_code(it);
    let fenced: usize = document
        .code
        .iter()
        .map(|code| document.span_text(&code.span).lines().count())
        .sum();
    let commands = fenced + lines.iter().filter(in_code).count();
    let defined = lines.iter().filter(|it| is_definition(it)).count();
    if share(reachable) {
        return Some(ReferenceKind::Contacts);
    }
    if share(commands) {
        return Some(ReferenceKind::QuickReference);
    }
    if share(defined) {
        return Some(ReferenceKind::Glossary);
    }
    // A list that was only started is recognised by its name.
    let named = format!("{stem} {}", document.title().unwrap_or_default()).to_lowercase();
    let has_any = |words: &[&str]| words.iter().any(|word| named.contains(word));
    if total > MIN_ENTRIES {
        None
    } else if has_any(&["glossary", "glossar", "terminology", "acronyms"]) {
        Some(ReferenceKind::Glossary)
    } else if has_any(&["contacts", "address book", "phone list", "kontakte"]) {
        Some(ReferenceKind::Contacts)
    } else if has_any(&[
        "cheat sheet",
        "cheatsheet",
        "cheat-sheet",
        "quick reference",
        "quickref",
    ]) {
        Some(ReferenceKind::QuickReference)
    } else {
        None
    }
}

/// Returns `true` for a line without words, such as the rule of a table.
fn is_table_rule(line: &str) -> bool {
    line.bytes().all(|it| b"|:- *_".contains(&it))
}

/// Returns an entry without the mark of a list or a table.
fn strip_list_mark(line: &str) -> &str {
    line.trim_start_matches(['-', '*', '+', '|', ' '])
}

/// Returns `true` if a line contains an e-mail address or a phone number.
fn is_contact_line(line: &str) -> bool {
    let mail = line.split_whitespace().any(|word| {
        let word = word.trim_matches(|c: char| !c.is_alphanumeric());
        let parts = word.split_once('@');
        parts.is_some_and(|(name, host)| !name.is_empty() && host.contains('.'))
    });
    mail || has_phone_number(line)
}

/// Returns `true` if a line contains a phone number: nine digits, or seven
/// after `+`, with the usual separators between them.
fn has_phone_number(line: &str) -> bool {
    let mut digits = 0;
    let mut plus = false;
    for c in line.chars() {
        match c {
            '0'..='9' => digits += 1,
            '+' if digits == 0 => plus = true,
            ' ' | '-' | '/' | '(' | ')' | '.' if digits > 0 || plus => {}
            _ => {
                if digits >= 9 || plus && digits >= 7 {
                    return true;
                }
                (digits, plus) = (0, false);
            }
        }
    }
    digits >= 9 || plus && digits >= 7
}

/// Returns `true` if an entry begins with code.
fn starts_with_code(line: &str) -> bool {
    let words = strip_list_mark(line).trim_start_matches("**");
    words.starts_with('`') && !words.starts_with("```")
}

/// Returns `true` for `**Term**: meaning`, `Term - meaning`, or a row of a
/// table whose first cell is a word or two.
fn is_definition(line: &str) -> bool {
    const MAX_TERM_CHARS: usize = 40;
    let row = line.starts_with('|');
    let words = strip_list_mark(line);
    let (term, meaning) = if row {
        match words.split_once('|') {
            Some((term, rest)) => (term, rest.trim_matches(['|', ' '])),
            None => return false,
        }
    } else {
        let ends = [": ", " - ", " – ", " — "].iter();
        let ends = ends.filter_map(|mark| words.split_once(mark));
        match ends.min_by_key(|(term, _)| term.len()) {
            Some(parts) => parts,
            None => return false,
        }
    };
    let term = term.trim_matches(['*', ' ', ':', '_']);
    let short = !term.is_empty() && term.chars().count() <= MAX_TERM_CHARS;
    let date = term.starts_with(|c: char| c.is_ascii_digit());
    short && !date && term.split_whitespace().count() <= 4 && !meaning.trim().is_empty()
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::document::parse_document;

    fn of(text: &str, stem: &str) -> Option<&'static str> {
        detect_reference_kind(&parse_document(text), stem).map(ReferenceKind::name)
    }

    #[test]
    fn content_tells_references_apart_whatever_their_name() {
        let glossary = "# Words\n\n| Term | Meaning |\n|---|---|\n| Proof | The last rise |\n| Crumb | The inside |\n| Levain | The starter |\n";
        let contacts = "# Words\n\n- **Maria** - maria@mill.example\n- **Otto** - +49 30 1234567\n- **Ada** - ada@dairy.example, bookkeeping\n";
        let quick = "# Words\n\n- `make bake` starts the oven\n- `make cool` stops it\n- `make log` shows the day\n";
        let fenced = "# Words\n\nThe usual:\n\n```sh\nmake bake\nmake cool\nmake log\n```\n";
        for stem in ["words", "glossary", "contacts"] {
            assert_eq!(of(glossary, stem), Some("glossary"), "{stem}");
            assert_eq!(of(contacts, stem), Some("contacts"), "{stem}");
            assert_eq!(of(quick, stem), Some("quick reference"), "{stem}");
            assert_eq!(of(fenced, stem), Some("quick reference"), "{stem}");
        }
        let lines = "# Words\n\n**Proof**: the last rise\n\n**Crumb**: the inside\n\n**Levain**: the starter\n";
        assert_eq!(of(lines, "words"), Some("glossary"));
    }

    #[test]
    fn what_is_read_is_no_reference() {
        let prose = "# Rent\n\nThe landlord raises the rent. We said no, and wrote to him.\nHe answered: the contract says so.\n\nCall him on Monday.\nAsk for the contract.\nThe city knows.\nNobody else does.\n";
        assert_eq!(of(prose, "rent"), None);
        assert_eq!(
            of(prose, "glossary-of-rent"),
            None,
            "its content says otherwise"
        );
        assert_eq!(of("# Glossary\n", "glossary"), Some("glossary"));
    }
}
