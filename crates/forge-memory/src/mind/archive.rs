//! Writes the archive of compressed entries: one part per kind, and in each
//! part the entries word for word. The archive only ever grows.

use super::values::{append_entry, apply_edits, edit_text, end_of_text};
use super::{MindError, sessions};
use crate::document::{self, Document, TextEdit};
use crate::workspace::RelPath;

pub(super) struct StateArchive<'a> {
    path: &'a RelPath,
    before: Option<String>,
    text: String,
}

impl<'a> StateArchive<'a> {
    pub(super) fn new(path: &'a RelPath, before: Option<String>) -> StateArchive<'a> {
        StateArchive {
            path,
            text: before.clone().unwrap_or_default(),
            before,
        }
    }

    /// Returns the new text, or none if nothing was added.
    pub(super) fn finish(self) -> Result<Option<String>, MindError> {
        Ok(Some(self.text).filter(|text| Some(text) != self.before.as_ref() && !text.is_empty()))
    }

    /// Adds entries at the end of the part with this title.
    pub(super) fn add_entries(
        &mut self,
        title: &str,
        newline: &str,
        blocks: &[&str],
    ) -> Result<(), MindError> {
        let headings = |text: &str| document::parse_document(text.to_owned()).sections.len();
        self.ensure_part(title, newline)?;
        let document = document::parse_document(std::mem::take(&mut self.text));
        let section = find_part(&document, title).ok_or_else(|| self.unsafe_edit_error())?;
        let before = document.sections.len();
        let blocks: Vec<String> = blocks
            .iter()
            .map(|it| close_entry_fence(it, newline))
            .collect();
        // The preamble of an entry that is parsed alone is not a heading of the
        // archive.
        let wanted: usize = blocks.iter().map(|it| headings(it) - 1).sum();
        // One edit for all entries, because years of entries may move at once.
        let edit = append_to_part(&document, section, &blocks.join(&newline.repeat(2)));
        self.text = apply_edits(self.path, &document.text, vec![edit])?;
        // An open fence or comment in the archive could swallow the entries.
        if headings(&self.text) == before + wanted {
            Ok(())
        } else {
            Err(self.unsafe_edit_error())
        }
    }

    /// Adds lines below a heading of a part: `## Archived on 2026-03-01`.
    pub(super) fn add_lines_below(
        &mut self,
        title: &str,
        heading: &str,
        newline: &str,
        lines: &str,
    ) -> Result<(), MindError> {
        self.ensure_part(title, newline)?;
        let document = document::parse_document(self.text.clone());
        let part = find_part(&document, title).ok_or_else(|| self.unsafe_edit_error())?;
        let span = document.sections[part].span.clone();
        let below = document.sections.iter().position(|it| {
            it.level == 2 && span.contains(&it.heading.start) && it.title == heading
        });
        let edit = match below {
            Some(section) => document.append_to_section(section, lines),
            None => append_to_part(&document, part, &format!("## {heading}{newline}{lines}")),
        };
        self.text = apply_edits(self.path, &document.text, vec![edit])?;
        Ok(())
    }

    /// Adds dated entries, given oldest first, before the existing ones.
    pub(super) fn add_dated_entries(
        &mut self,
        newline: &str,
        blocks: &[&str],
    ) -> Result<(), MindError> {
        if self.text.is_empty() {
            self.text = format!("# Session Log - Archive{newline}");
        }
        let count =
            |text: &str| sessions::session_blocks(&document::parse_document(text.to_owned())).len();
        let before = count(&self.text);
        // The newest entry comes first in this file.
        let entries: Vec<String> = (blocks.iter().rev())
            .map(|block| {
                let block = close_entry_fence(block, newline);
                if block.ends_with("---") {
                    block
                } else {
                    format!("{block}{newline}{newline}---")
                }
            })
            .collect();
        let entries = entries.join(&newline.repeat(2));
        self.text = edit_text(self.path, std::mem::take(&mut self.text), |document| {
            let first = sessions::session_blocks(document)
                .first()
                .map(|it| it.span.start);
            match first {
                Some(at) => TextEdit {
                    span: at..at,
                    text: format!("{entries}{newline}{newline}"),
                },
                None => append_to_file(document, &entries),
            }
        })?;
        if count(&self.text) == before + blocks.len() {
            Ok(())
        } else {
            Err(self.unsafe_edit_error())
        }
    }

    fn ensure_part(&mut self, title: &str, newline: &str) -> Result<(), MindError> {
        let document = document::parse_document(self.text.clone());
        if find_part(&document, title).is_some() {
            return Ok(());
        }
        if self.text.trim().is_empty() {
            self.text = format!("# {title}{newline}");
            return Ok(());
        }
        self.text = apply_edits(
            self.path,
            &document.text,
            vec![append_entry(&document, 1, title, "")],
        )?;
        Ok(())
    }

    fn unsafe_edit_error(&self) -> MindError {
        MindError::Unsafe {
            path: self.path.to_string(),
            why: "what moves there would not read as before",
        }
    }
}

fn find_part(document: &Document, title: &str) -> Option<usize> {
    document
        .sections
        .iter()
        .position(|it| it.level == 1 && it.title.eq_ignore_ascii_case(title))
}

/// Converts an entry to the line ends of the archive and closes a fence that it
/// leaves open; an open fence would swallow the entries after it.
fn close_entry_fence(block: &str, newline: &str) -> String {
    let empty = document::parse_document(newline);
    let bare = empty.append_section(1, "x", "").text;
    let text = empty.append_section(1, "x", block).text;
    text[bare.len()..].trim_matches(['\n', '\r']).to_owned()
}

/// Returns the edit that inserts text after everything that belongs to a
/// section.
fn append_to_part(document: &Document, section: usize, block: &str) -> TextEdit {
    let nl = document.newline();
    let span = &document.sections[section].span;
    let at = end_of_text(&document.text[..span.end]);
    let rest = &document.text[at..span.end];
    let ends = rest.matches('\n').count().max(rest.matches('\r').count());
    let wanted = if span.end < document.text.len() { 2 } else { 1 };
    TextEdit {
        span: at..at,
        text: format!("{nl}{nl}{block}{}", nl.repeat(wanted - ends.min(wanted))),
    }
}

fn append_to_file(document: &Document, block: &str) -> TextEdit {
    let nl = document.newline();
    let at = end_of_text(&document.text);
    let end = if at == document.text.len() { nl } else { "" };
    TextEdit {
        span: at..at,
        text: format!("{nl}{nl}{block}{end}"),
    }
}
