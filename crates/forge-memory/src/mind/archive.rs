//! Writes the archive of compressed entries: one part per kind, and in each
//! part the entries word for word. The archive only ever grows.

use super::values::{append_entry, apply, edited, end_of_text};
use super::{Error, sessions};
use crate::document::{self, Document, Edit};
use crate::workspace::RelPath;

pub(super) struct Archive<'a> {
    path: &'a RelPath,
    before: Option<String>,
    text: String,
}

impl<'a> Archive<'a> {
    pub(super) fn new(path: &'a RelPath, before: Option<String>) -> Archive<'a> {
        Archive {
            path,
            text: before.clone().unwrap_or_default(),
            before,
        }
    }

    /// Returns the new text, or none if nothing was added.
    pub(super) fn finish(self) -> Result<Option<String>, Error> {
        Ok(Some(self.text).filter(|text| Some(text) != self.before.as_ref() && !text.is_empty()))
    }

    /// Adds entries at the end of the part with this title.
    pub(super) fn add(&mut self, title: &str, newline: &str, blocks: &[&str]) -> Result<(), Error> {
        let headings = |text: &str| document::parse(text.to_owned()).sections.len();
        self.begin(title, newline)?;
        let document = document::parse(std::mem::take(&mut self.text));
        let section = part(&document, title).ok_or_else(|| self.unsafe_edit())?;
        let before = document.sections.len();
        let blocks: Vec<String> = blocks.iter().map(|it| closed(it, newline)).collect();
        // The preamble of an entry that is parsed alone is not a heading of the
        // archive.
        let wanted: usize = blocks.iter().map(|it| headings(it) - 1).sum();
        // One edit for all entries, because years of entries may move at once.
        let edit = at_end(&document, section, &blocks.join(&newline.repeat(2)));
        self.text = apply(self.path, &document.text, vec![edit])?;
        // An open fence or comment in the archive could swallow the entries.
        if headings(&self.text) == before + wanted {
            Ok(())
        } else {
            Err(self.unsafe_edit())
        }
    }

    /// Adds lines below a heading of a part: `## Archived on 2026-03-01`.
    pub(super) fn add_below(
        &mut self,
        title: &str,
        heading: &str,
        newline: &str,
        lines: &str,
    ) -> Result<(), Error> {
        self.begin(title, newline)?;
        let document = document::parse(self.text.clone());
        let part = part(&document, title).ok_or_else(|| self.unsafe_edit())?;
        let span = document.sections[part].span.clone();
        let below = document.sections.iter().position(|it| {
            it.level == 2 && span.contains(&it.heading.start) && it.title == heading
        });
        let edit = match below {
            Some(section) => document.append_to_section(section, lines),
            None => at_end(&document, part, &format!("## {heading}{newline}{lines}")),
        };
        self.text = apply(self.path, &document.text, vec![edit])?;
        Ok(())
    }

    /// Adds dated entries, given oldest first, before the existing ones.
    pub(super) fn add_dated(&mut self, newline: &str, blocks: &[&str]) -> Result<(), Error> {
        if self.text.is_empty() {
            self.text = format!("# Session Log - Archive{newline}");
        }
        let count = |text: &str| sessions::in_order(&document::parse(text.to_owned())).len();
        let before = count(&self.text);
        // The newest entry comes first in this file.
        let entries: Vec<String> = (blocks.iter().rev())
            .map(|block| {
                let block = closed(block, newline);
                if block.ends_with("---") {
                    block
                } else {
                    format!("{block}{newline}{newline}---")
                }
            })
            .collect();
        let entries = entries.join(&newline.repeat(2));
        self.text = edited(self.path, std::mem::take(&mut self.text), |document| {
            let first = sessions::in_order(document).first().map(|it| it.span.start);
            match first {
                Some(at) => Edit {
                    span: at..at,
                    text: format!("{entries}{newline}{newline}"),
                },
                None => at_end_of_file(document, &entries),
            }
        })?;
        if count(&self.text) == before + blocks.len() {
            Ok(())
        } else {
            Err(self.unsafe_edit())
        }
    }

    fn begin(&mut self, title: &str, newline: &str) -> Result<(), Error> {
        let document = document::parse(self.text.clone());
        if part(&document, title).is_some() {
            return Ok(());
        }
        if self.text.trim().is_empty() {
            self.text = format!("# {title}{newline}");
            return Ok(());
        }
        self.text = apply(
            self.path,
            &document.text,
            vec![append_entry(&document, 1, title, "")],
        )?;
        Ok(())
    }

    fn unsafe_edit(&self) -> Error {
        Error::Unsafe {
            path: self.path.to_string(),
            why: "what moves there would not read as before",
        }
    }
}

fn part(document: &Document, title: &str) -> Option<usize> {
    document
        .sections
        .iter()
        .position(|it| it.level == 1 && it.title.eq_ignore_ascii_case(title))
}

/// Converts an entry to the line ends of the archive and closes a fence that it
/// leaves open; an open fence would swallow the entries after it.
fn closed(block: &str, newline: &str) -> String {
    let empty = document::parse(newline);
    let bare = empty.append_section(1, "x", "").text;
    let text = empty.append_section(1, "x", block).text;
    text[bare.len()..].trim_matches(['\n', '\r']).to_owned()
}

/// Returns the edit that inserts text after everything that belongs to a
/// section.
fn at_end(document: &Document, section: usize, block: &str) -> Edit {
    let nl = document.newline();
    let span = &document.sections[section].span;
    let at = end_of_text(&document.text[..span.end]);
    let rest = &document.text[at..span.end];
    let ends = rest.matches('\n').count().max(rest.matches('\r').count());
    let wanted = if span.end < document.text.len() { 2 } else { 1 };
    Edit {
        span: at..at,
        text: format!("{nl}{nl}{block}{}", nl.repeat(wanted - ends.min(wanted))),
    }
}

fn at_end_of_file(document: &Document, block: &str) -> Edit {
    let nl = document.newline();
    let at = end_of_text(&document.text);
    let end = if at == document.text.len() { nl } else { "" };
    Edit {
        span: at..at,
        text: format!("{nl}{nl}{block}{end}"),
    }
}
