//! Reads and edits retractions: documents that searches leave out, and facts
//! that are wrong. Both are lines of one Markdown list that people can read and
//! edit. This is its only parser, and every change to it is made here.
//!
//! No derived data contains the list, so rebuilding the index changes nothing.
//! Lines that others wrote are never touched, and a forgotten or wrong text
//! stays unchanged in its own file.

use std::collections::HashSet;
use std::ops::Range;

use jiff::Timestamp;
use jiff::civil::Date;

use crate::document::linked_items::find_linked_items;
use crate::document::{self, BlockKind, Document, escape_markdown_line, linked_items};
use crate::workspace::{self, ChangeReceipt, RelPath, Workspace};

mod correct;
mod corrections;
mod normal;
#[cfg(test)]
mod tests;

pub use correct::{
    CorrectionError, CorrectionOutcome, NewCorrection, RemovedCorrections, correct_fact,
    remove_corrections,
};
pub use corrections::{Correction, Corrections, NO_CORRECTIONS};

/// Path of the list, relative to the root.
pub const RETRACTION_LIST: &str = "knowledge/_FORGOTTEN.md";
/// Title of the section with corrected facts, which stays the last one.
pub const FACTS_SECTION: &str = "Corrected facts";

/// The heading of a list that begins with a document. A list that begins with a
/// fact has its introduction inside the section.
pub(crate) const DOCUMENTS_OPENING: &str = "# Forgotten\n\n";
/// The introduction of the forgotten documents.
pub(crate) const ABOUT_DOCUMENTS: &str = "Searches leave these documents out; the files are untouched. `memory-forge restore` brings one back, and so does deleting its line.\n\n";

/// All retractions of a workspace.
#[derive(Debug, Clone, Default)]
pub struct WorkspaceRetractions {
    /// The forgotten documents.
    pub documents: Vec<Tombstone>,
    /// The corrected facts.
    pub facts: Corrections,
}

/// A forgotten document.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Tombstone {
    /// Path relative to the root.
    pub path: String,
    /// The day on which it was forgotten, if the line names one.
    pub date: Option<Date>,
    /// Why it was forgotten, if the line has a reason.
    pub reason: Option<String>,
    /// Whether the file still exists.
    pub exists: bool,
    /// Line number in the list.
    pub line: usize,
}

impl WorkspaceRetractions {
    /// Reads the list; it is empty if there is none. Fails if it exists and
    /// cannot be read: a search must not return what it might forbid.
    pub fn read(workspace: &Workspace) -> Result<WorkspaceRetractions, workspace::WorkspaceError> {
        let Some(list) = RetractionList::read(workspace)? else {
            return Ok(WorkspaceRetractions::default());
        };
        Ok(WorkspaceRetractions {
            documents: list.to_tombstones(workspace),
            facts: Corrections::from_list(list.facts.into_iter().map(|it| it.correction).collect()),
        })
    }

    /// Returns the paths that searches leave out.
    pub fn forgotten_paths(&self) -> HashSet<String> {
        self.documents.iter().map(|it| it.path.clone()).collect()
    }
}

/// Reads the paths in the list, without looking at their files.
pub fn read_forgotten(workspace: &Workspace) -> Result<HashSet<String>, workspace::WorkspaceError> {
    let list = RetractionList::read(workspace)?;
    let documents = list.map_or_else(Vec::new, |list| list.documents);
    Ok(documents.into_iter().map(|it| it.path).collect())
}

/// Reads the documents in the list, in its order.
pub fn read_tombstones(workspace: &Workspace) -> Result<Vec<Tombstone>, workspace::WorkspaceError> {
    let list = RetractionList::read(workspace)?;
    Ok(list.map_or_else(Vec::new, |list| list.to_tombstones(workspace)))
}

/// Reads the corrected facts in the list, in its order. Hooks call this at
/// every prompt: without a list it costs one lookup of the file, and a list
/// that has only documents is not parsed.
fn read_facts(workspace: &Workspace) -> Result<Vec<Correction>, workspace::WorkspaceError> {
    let Some(text) = workspace.read_text_if_present(&list_path())? else {
        return Ok(Vec::new());
    };
    if !text.to_lowercase().contains(&FACTS_SECTION.to_lowercase()) {
        return Ok(Vec::new());
    }
    let facts = RetractionList::parse(text).facts.into_iter();
    Ok(facts.map(|it| it.correction).collect())
}

/// The parsed list: its entries, with the span of their lines.
struct RetractionList {
    document: Document,
    documents: Vec<ListedDocument>,
    facts: Vec<ListedFact>,
}

struct ListedDocument {
    path: String,
    /// The remark after the link.
    remark: String,
    line: usize,
    /// Span of the whole line, including its line end.
    span: Range<usize>,
}

struct ListedFact {
    correction: Correction,
    /// Span of the whole line, including its line end.
    span: Range<usize>,
}

impl RetractionList {
    fn read(workspace: &Workspace) -> Result<Option<RetractionList>, workspace::WorkspaceError> {
        let text = workspace.read_text_if_present(&list_path())?;
        Ok(text.map(RetractionList::parse))
    }

    fn parse(text: String) -> RetractionList {
        let document = document::parse_document(text);
        let documents = find_linked_items(&document).map(|entry| ListedDocument {
            path: full_path(entry.target),
            remark: entry.text.to_owned(),
            line: entry.line,
            span: entry.span,
        });
        RetractionList {
            documents: documents.collect(),
            facts: parse_facts(&document),
            document,
        }
    }

    fn to_tombstones(&self, workspace: &Workspace) -> Vec<Tombstone> {
        let tombstone = |one: &ListedDocument| {
            let (date, reason) = parse_remark(&one.remark);
            Tombstone {
                exists: RelPath::new(&one.path)
                    .is_ok_and(|path| workspace.absolute_path(&path).is_file()),
                path: one.path.clone(),
                date,
                reason,
                line: one.line,
            }
        };
        self.documents.iter().map(tombstone).collect()
    }
}

/// Edits the list in one change. `opening` is the text of a new list; without
/// it, a missing list is left missing.
fn change_list<T: Default, E: From<workspace::WorkspaceError>>(
    workspace: &Workspace,
    what: &str,
    opening: Option<&str>,
    now: Timestamp,
    edit: impl FnOnce(&RetractionList) -> Result<(T, Option<String>), E>,
) -> Result<(T, ChangeReceipt), E> {
    workspace.change_with(what, now, |change| {
        let text = change.read_text(&list_path())?;
        let Some(text) = text.or_else(|| opening.map(str::to_owned)) else {
            return Ok(T::default());
        };
        let (value, after) = edit(&RetractionList::parse(text))?;
        if let Some(after) = after {
            change.write(&list_path(), after);
        }
        Ok(value)
    })
}

/// Removes the lines that `wanted` selects.
fn remove_lines(
    workspace: &Workspace,
    what: &str,
    now: Timestamp,
    wanted: impl Fn(&RetractionList) -> Vec<Range<usize>>,
) -> Result<ChangeReceipt, workspace::WorkspaceError> {
    let ((), receipt) = change_list(workspace, what, None, now, |list| {
        let lines = wanted(list).into_iter();
        let edits = lines.map(|span| list.document.delete_lines(span)).collect();
        let after = document::apply_edits(&list.document.text, edits)
            .map_err(|e| workspace::WorkspaceError::Refused(e.to_string()))?;
        Ok::<_, workspace::WorkspaceError>(((), Some(after)))
    })?;
    Ok(receipt)
}

/// An error of adding to the list.
pub(crate) enum ListError {
    Workspace(workspace::WorkspaceError),
    /// A comment or code block in the list is never closed and would swallow
    /// the new lines; the user has to close it.
    OpenEnded,
}

impl From<workspace::WorkspaceError> for ListError {
    fn from(error: workspace::WorkspaceError) -> ListError {
        ListError::Workspace(error)
    }
}

/// Adds documents to the list: each a path relative to the root and a reason.
pub(crate) fn add_documents(
    workspace: &Workspace,
    what: &str,
    documents: &[(&str, &str)],
    now: Timestamp,
) -> Result<ChangeReceipt, ListError> {
    let opening = format!("{DOCUMENTS_OPENING}{ABOUT_DOCUMENTS}");
    let ((), receipt) = change_list(workspace, what, Some(&opening), now, |list| {
        let after = append_documents(list, documents, now);
        let there = RetractionList::parse(after.clone()).documents;
        let is_there = |path: &str| there.iter().any(|it| it.path == path);
        if documents.iter().any(|(path, _)| !is_there(path)) {
            return Err(ListError::OpenEnded);
        }
        Ok(((), Some(after)))
    })?;
    Ok(receipt)
}

/// Removes documents from the list, by their paths relative to the root.
pub(crate) fn remove_documents(
    workspace: &Workspace,
    what: &str,
    paths: &[String],
    now: Timestamp,
) -> Result<ChangeReceipt, workspace::WorkspaceError> {
    remove_lines(workspace, what, now, |list| {
        let documents = list.documents.iter();
        let wanted = documents.filter(|it| paths.contains(&it.path));
        wanted.map(|it| it.span.clone()).collect()
    })
}

fn append_documents(list: &RetractionList, added: &[(&str, &str)], now: Timestamp) -> String {
    let document = &list.document;
    let newline = document.newline();
    // The section of facts stays last, so documents go before it.
    let section = document.find_section(FACTS_SECTION);
    let end = section.map_or(document.text.len(), |at| {
        document.sections[at].heading.start
    });
    let mut text = document.text[..end].to_owned();
    if section.is_some() && list.documents.is_empty() {
        text.push_str(&ABOUT_DOCUMENTS.replace('\n', newline));
    } else if section.is_some() {
        text.truncate(text.trim_end().len());
    }
    if !text.is_empty() && !text.ends_with(['\n', '\r']) {
        text.push_str(newline);
    }
    let day = now.strftime("%Y-%m-%d");
    for (path, reason) in added {
        let target = path.strip_prefix("knowledge/").unwrap_or(path);
        let link = linked_items::format_link(path, target);
        let reason = escape_markdown_line(reason);
        text.push_str(&format!("- {link} — forgotten {day}: {reason}{newline}"));
    }
    if section.is_some() {
        text.push_str(newline);
    }
    text.push_str(&document.text[end..]);
    text
}

fn list_path() -> RelPath {
    RelPath::new(RETRACTION_LIST).expect("a constant that is a valid path")
}

/// Converts a link target, which is relative to `knowledge/`, to a path
/// relative to the root.
fn full_path(target: &str) -> String {
    let path = format!("knowledge/{target}");
    match RelPath::new(&path) {
        Ok(normal) => normal.to_string(),
        Err(_) => path,
    }
}

/// Parses as much of `— forgotten 2026-11-15: reason` as is present.
fn parse_remark(text: &str) -> (Option<Date>, Option<String>) {
    let (date, rest) = split_dated(text, "forgotten");
    let reason = match date {
        Some(_) => rest.trim_start_matches([':', ' ', ',']),
        None => rest,
    };
    (date, (!reason.is_empty()).then(|| reason.to_owned()))
}

/// Splits `— verb 2026-11-15 rest` into the day and the rest.
fn split_dated<'a>(text: &'a str, verb: &str) -> (Option<Date>, &'a str) {
    let text = text.trim_start_matches(['—', '–', '-', ':', ' ']).trim();
    let rest = text.strip_prefix(verb).map_or(text, str::trim_start);
    let date: Option<Date> = rest.get(..10).and_then(|day| day.parse().ok());
    (date, if date.is_some() { &rest[10..] } else { rest })
}

/// Parses every list item of the section of facts; code and comments do not
/// count.
fn parse_facts(document: &Document) -> Vec<ListedFact> {
    let Some(section) = document.find_section(FACTS_SECTION) else {
        return Vec::new();
    };
    let own = document.sections[section].own.clone();
    let lists = document.blocks.iter().filter(|it| {
        it.kind == BlockKind::List && own.start <= it.span.start && it.span.end <= own.end
    });
    let mut facts = Vec::new();
    for list in lists {
        let (first, last) = document.line_range(&list.span);
        for line in first..=last {
            let start = document.line_starts[line - 1];
            let end = document.line_starts.get(line).copied();
            let end = end.unwrap_or(document.text.len());
            let text = document.text[start..end].trim_end();
            let Some(text) = text.strip_prefix(['-', '*', '+']) else {
                continue;
            };
            if let Some(correction) = parse_fact(text.trim(), line) {
                facts.push(ListedFact {
                    correction,
                    span: start..end,
                });
            }
        }
    }
    facts
}

/// Parses as much of `"fact" — corrected 2026-11-15, instead "fact": reason` as
/// is present. A line without quotes is a fact as a whole.
fn parse_fact(text: &str, line: usize) -> Option<Correction> {
    let (fact, rest) = match text.strip_prefix('"').and_then(|text| text.split_once('"')) {
        Some(parts) => parts,
        None => text.split_once(" — corrected").unwrap_or((text, "")),
    };
    let (date, rest) = split_dated(rest, "corrected");
    let rest = rest.trim_start_matches([',', ' ']);
    let instead = rest
        .strip_prefix("instead \"")
        .and_then(|rest| rest.split_once('"'));
    let (instead, rest) = match instead {
        Some((instead, rest)) => (Some(instead.to_owned()), rest),
        None => (None, rest),
    };
    let reason = rest.trim_start_matches([':', ',', ' ']).trim();
    let is_long = |text: &str| text.chars().count() > corrections::MAX_FACT_CHARS;
    if is_long(fact) || instead.as_deref().is_some_and(is_long) {
        return None;
    }
    let has_words = !normal::normalize_phrase(fact).trim().is_empty();
    has_words.then(|| Correction {
        fact: fact.trim().to_owned(),
        instead: instead.filter(|it| !it.trim().is_empty()),
        reason: (!reason.is_empty()).then(|| reason.to_owned()),
        date,
        line,
    })
}
