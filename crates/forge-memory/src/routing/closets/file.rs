//! Parses and renders `_CLOSETS.md` and its archive. An unchanged part keeps
//! its bytes, and lines of an entry that are not fields stay with it.

use std::ops::Range;

use super::extract::clean_value;
use super::{ClosetEntry, ClosetField};
use crate::document::{self, Document, content_hash};

/// A closets file as a sequence of parts.
#[derive(Debug, Clone)]
pub struct ClosetFile {
    text: String,
    newline: &'static str,
    parts: Vec<ClosetFilePart>,
    /// The texts of the parts as they were read.
    before: Vec<String>,
}

/// A part of a closets file.
#[derive(Debug, Clone, PartialEq, Eq)]
#[expect(clippy::large_enum_variant, reason = "nearly every part is an entry")]
pub enum ClosetFilePart {
    /// Title, marker and the text before the first entry.
    Head(String),
    /// The summary of one file.
    Entry(ClosetBlock),
    /// The section that names recently archived entries.
    Recent(String),
    /// Other sections, which belong to the user.
    Other(String),
}

/// An entry as it appears in a file.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct ClosetBlock {
    /// The link target of the heading: `stem` or `folder/stem`.
    pub name: String,
    /// The fields of the entry.
    pub entry: ClosetEntry,
    /// The origin of the entry; none if it was written by hand.
    pub stamp: Option<EntryStamp>,
    /// Lines that are not fields, verbatim.
    others: Vec<String>,
    /// Its bytes, including the heading, without trailing blank lines.
    text: String,
    /// Line number, from 1.
    pub line: usize,
}

/// The origin of an entry, in an HTML comment that other tools ignore.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct EntryStamp {
    /// Hash of the file that the entry describes.
    pub source: String,
    /// Hash of the fields as the extractor made them.
    pub fields: String,
}

impl EntryStamp {
    /// Creates the stamp of an entry that was extracted from a text.
    pub fn new(source_text: &str, extracted: &ClosetEntry) -> EntryStamp {
        EntryStamp {
            source: source_hash(source_text),
            fields: fields_hash(extracted),
        }
    }

    fn to_comment(&self) -> String {
        format!("<!-- forge {} {} -->", self.source, self.fields)
    }

    fn parse_comment(line: &str) -> Option<EntryStamp> {
        let inner = line
            .trim()
            .strip_prefix("<!-- forge ")?
            .strip_suffix("-->")?;
        let mut words = inner.split_ascii_whitespace();
        let (source, fields) = (words.next()?, words.next()?);
        let hex = |word: &str| word.bytes().all(|b| b.is_ascii_hexdigit());
        (words.next().is_none() && hex(source) && hex(fields)).then(|| EntryStamp {
            source: source.to_owned(),
            fields: fields.to_owned(),
        })
    }
}

pub(super) fn source_hash(text: &str) -> String {
    content_hash(text)[..12].to_owned()
}

fn fields_hash(entry: &ClosetEntry) -> String {
    content_hash(&entry.render_lines().join("\n"))[..8].to_owned()
}

impl ClosetBlock {
    /// Creates an entry with its text.
    pub fn new(name: &str, entry: ClosetEntry, stamp: EntryStamp, newline: &str) -> ClosetBlock {
        ClosetBlock::with_lines(name, entry, stamp, Vec::new(), newline)
    }

    /// Returns a copy with other fields; its lines that are not fields stay.
    pub(super) fn with_fields(
        &self,
        name: &str,
        entry: ClosetEntry,
        stamp: EntryStamp,
        newline: &str,
    ) -> ClosetBlock {
        ClosetBlock::with_lines(name, entry, stamp, self.others.clone(), newline)
    }

    fn with_lines(
        name: &str,
        entry: ClosetEntry,
        stamp: EntryStamp,
        others: Vec<String>,
        newline: &str,
    ) -> ClosetBlock {
        let mut lines = vec![format!("## [[{name}]]"), stamp.to_comment()];
        lines.extend(entry.render_lines());
        lines.extend(others.iter().cloned());
        ClosetBlock {
            name: name.to_owned(),
            entry,
            stamp: Some(stamp),
            others,
            text: lines.join(newline),
            line: 0,
        }
    }

    /// Returns `true` if the fields differ from what the extractor made.
    pub fn is_refined(&self) -> bool {
        self.stamp
            .as_ref()
            .is_none_or(|stamp| stamp.fields != fields_hash(&self.entry))
    }

    /// Returns the length in characters.
    pub fn char_length(&self) -> usize {
        self.text.chars().count() + 1
    }

    /// Returns the first and last line in the file.
    pub fn line_range(&self) -> (usize, usize) {
        let further = self.text.matches('\n').count();
        (self.line, self.line + further)
    }

    /// Returns the lines that are not fields.
    pub fn note_lines(&self) -> String {
        self.others.join("\n")
    }

    /// Returns the text without the stamp, which matches no query.
    pub fn text_without_stamp(&self) -> String {
        let lines = self
            .text
            .lines()
            .filter(|line| EntryStamp::parse_comment(line).is_none());
        lines.collect::<Vec<_>>().join("\n")
    }

    fn parse_section(document: &Document, span: &Range<usize>, name: &str) -> ClosetBlock {
        let text = document.span_text(span).trim_end();
        let mut block = ClosetBlock {
            name: name.to_owned(),
            entry: ClosetEntry::default(),
            stamp: None,
            others: Vec::new(),
            text: text.to_owned(),
            line: document.line_number_at(span.start),
        };
        let end = span.start + text.len();
        // The document knows where lines begin: a lone CR ends one too.
        let starts = &document.line_starts[block.line - 1..];
        let ends = starts[1..].iter().copied().chain([end]);
        for (number, (start, next)) in starts.iter().copied().zip(ends).enumerate() {
            if start >= end {
                break;
            }
            let line = &document.text[start.max(span.start)..next.min(end)];
            let line = line.trim_end_matches(['\n', '\r']);
            if number == 0 || line.trim().is_empty() && !document.is_in_code(start) {
                continue;
            }
            if document.is_in_code(start) {
                block.others.push(line.to_owned());
            } else if let Some(stamp) = EntryStamp::parse_comment(line) {
                block.stamp = Some(stamp);
            } else if let Some((field, values)) = parse_field(line) {
                match block.entry.values_mut(field) {
                    Some(list) => list.extend(values),
                    None => block.entry.status = values.join(" "),
                }
            } else {
                block.others.push(line.to_owned());
            }
        }
        block
    }
}

/// Parses `- subjects: a, b`, with or without the bullet.
fn parse_field(line: &str) -> Option<(ClosetField, Vec<String>)> {
    let line = line.trim();
    let line = line.strip_prefix(['-', '*', '+']).unwrap_or(line);
    let (name, written) = line.split_once(':')?;
    let name = name.trim().trim_matches('*');
    let field = ClosetField::from_name(name)?;
    let written = written.trim_start_matches('*').trim();
    let mut values: Vec<String> = match field {
        ClosetField::Subjects => written.split(',').map(str::to_owned).collect(),
        ClosetField::People => parse_people(written),
        ClosetField::Claims => parse_claims(written),
        ClosetField::Decisions => written.split("; ").map(str::to_owned).collect(),
        ClosetField::Dates => split_outside_brackets(written),
        ClosetField::Status => vec![written.to_owned()],
    };
    values
        .iter_mut()
        .for_each(|value| *value = value.trim().to_owned());
    values.retain(|value| !value.is_empty());
    Some((field, values))
}

fn parse_people(written: &str) -> Vec<String> {
    let mut out = Vec::new();
    for part in written.split([',', ';']) {
        let name = part.trim().trim_start_matches("[[").trim_end_matches("]]");
        let name = name.split('|').next().unwrap_or(name);
        out.push(
            name.chars()
                .filter(|c| !matches!(c, '[' | ']' | '<'))
                .collect(),
        );
    }
    out
}

/// Splits quoted facts; without quotation marks, splits at semicolons or bars.
fn parse_claims(written: &str) -> Vec<String> {
    let pieces: Vec<&str> = written.split('"').collect();
    let between = pieces.iter().step_by(2);
    let quoted = pieces.len() % 2 == 1
        && pieces.len() > 1
        && between
            .clone()
            .all(|gap| gap.chars().all(|c| c.is_whitespace() || ",;|".contains(c)));
    if quoted {
        return pieces
            .iter()
            .skip(1)
            .step_by(2)
            .map(|it| (*it).to_owned())
            .collect();
    }
    written
        .split("; ")
        .flat_map(|part| part.split(" | "))
        .map(|part| clean_value(part, ClosetField::Claims))
        .collect()
}

fn split_outside_brackets(written: &str) -> Vec<String> {
    let mut out = Vec::new();
    let mut depth = 0usize;
    let mut start = 0;
    for (at, c) in written.char_indices() {
        match c {
            '(' => depth += 1,
            ')' => depth = depth.saturating_sub(1),
            ',' if depth == 0 => {
                out.push(written[start..at].to_owned());
                start = at + 1;
            }
            _ => {}
        }
    }
    out.push(written[start..].to_owned());
    out
}

impl ClosetFile {
    /// Parses a file; never fails.
    pub fn parse(text: impl Into<String>) -> ClosetFile {
        let document = document::parse_document(text);
        let mut parts = Vec::new();
        let mut at = 0;
        for section in document.sections.iter().filter(|it| it.level == 2) {
            let span = section.span.clone();
            if span.start < at {
                continue;
            }
            push_rest(&document, at..span.start, &mut parts);
            let part = match entry_name(document.span_text(&section.heading)) {
                Some(name) => {
                    ClosetFilePart::Entry(ClosetBlock::parse_section(&document, &span, &name))
                }
                None if section
                    .title
                    .trim()
                    .eq_ignore_ascii_case("recently archived") =>
                {
                    ClosetFilePart::Recent(document.span_text(&span).trim_end().to_owned())
                }
                None => ClosetFilePart::Other(document.span_text(&span).trim_end().to_owned()),
            };
            parts.push(part);
            at = span.end;
        }
        push_rest(&document, at..document.text.len(), &mut parts);
        if !matches!(parts.first(), Some(ClosetFilePart::Head(_))) {
            parts.insert(0, ClosetFilePart::Head(String::new()));
        }
        let newline = document.newline();
        let before = parts.iter().map(|part| part.text().to_owned()).collect();
        ClosetFile {
            text: document.text,
            newline,
            parts,
            before,
        }
    }

    /// Creates an empty file for a hub.
    pub fn new(title: &str, paginated: bool) -> ClosetFile {
        let version = if paginated { "1.1" } else { "1.0" };
        let head = format!("# {title}\n\n<!-- memex-closets:{version} -->");
        ClosetFile {
            text: String::new(),
            newline: "\n",
            parts: vec![ClosetFilePart::Head(head)],
            before: Vec::new(),
        }
    }

    /// Returns the line ending of the file.
    pub fn newline(&self) -> &'static str {
        self.newline
    }

    /// Returns the parts in order.
    pub fn parts(&self) -> &[ClosetFilePart] {
        &self.parts
    }

    /// Returns the entries in order.
    pub fn entries(&self) -> impl Iterator<Item = &ClosetBlock> {
        self.parts.iter().filter_map(|part| match part {
            ClosetFilePart::Entry(block) => Some(block),
            _ => None,
        })
    }

    /// Returns the text outside of entries, each line at its line number in the
    /// file; none if there is only title, marker and the list of archived
    /// entries.
    pub fn text_outside_entries(&self) -> Option<String> {
        let mut out = String::new();
        let mut at = 0;
        let empty = |text: &str| text.replace(|c| !matches!(c, '\n' | '\r'), "");
        for part in &self.parts {
            let Some(found) = self.text[at..].find(part.text()) else {
                continue;
            };
            out += &empty(&self.text[at..at + found]);
            at += found + part.text().len();
            match part {
                ClosetFilePart::Entry(_) | ClosetFilePart::Recent(_) => out += &empty(part.text()),
                ClosetFilePart::Head(text) | ClosetFilePart::Other(text) => out += text,
            }
        }
        let written = |line: &str| {
            let line = line.trim();
            !line.is_empty() && !line.starts_with('#') && !line.starts_with("<!-- memex-closets")
        };
        out.lines().any(written).then_some(out)
    }

    /// Returns the version that the marker states, `1.0` or `1.1`.
    pub fn marker_version(&self) -> Option<&str> {
        let Some(ClosetFilePart::Head(head)) = self.parts.first() else {
            return None;
        };
        let (_, rest) = head.split_once("<!-- memex-closets:")?;
        rest.split("-->").next().map(str::trim)
    }

    /// Adds the marker, and raises its version once the file has an archive.
    pub(super) fn set_marker(&mut self, paginated: bool) {
        let version = self.marker_version().map(str::to_owned);
        let newline = self.newline;
        let Some(ClosetFilePart::Head(head)) = self.parts.first_mut() else {
            return;
        };
        match version.as_deref() {
            Some("1.0") if paginated => {
                *head = head.replacen("memex-closets:1.0", "memex-closets:1.1", 1);
            }
            Some(_) => {}
            None => {
                let version = if paginated { "1.1" } else { "1.0" };
                let marker = format!("<!-- memex-closets:{version} -->");
                // After the title, if there is one.
                let title = head.trim_start_matches('\u{feff}').starts_with("# ");
                let end = head.find(newline).unwrap_or(head.len());
                let (first, rest) = head.split_at(if title { end } else { 0 });
                let rest = rest.trim_start_matches(['\r', '\n']);
                let texts = [first, marker.as_str(), rest];
                let texts: Vec<&str> = texts.into_iter().filter(|it| !it.is_empty()).collect();
                *head = texts.join(&newline.repeat(2));
            }
        }
    }

    /// Replaces the entries: `kept` returns the new version of each entry or
    /// none, `first` go before all others, `last` after them.
    pub(super) fn arrange_entries(
        &mut self,
        mut kept: impl FnMut(ClosetBlock) -> Option<ClosetBlock>,
        first: Vec<ClosetBlock>,
        last: Vec<ClosetBlock>,
    ) {
        let parts = std::mem::take(&mut self.parts);
        let mut out: Vec<ClosetFilePart> = Vec::with_capacity(parts.len());
        let mut behind = 1;
        let mut before = 1;
        for (at, part) in parts.into_iter().enumerate() {
            match part {
                ClosetFilePart::Entry(block) => {
                    if let Some(block) = kept(block) {
                        out.push(ClosetFilePart::Entry(block));
                        behind = out.len();
                    }
                }
                part => {
                    out.push(part);
                    if at == 0 {
                        before = out.len();
                        behind = out.len();
                    }
                }
            }
        }
        let behind = behind.max(before);
        out.splice(behind..behind, last.into_iter().map(ClosetFilePart::Entry));
        out.splice(before..before, first.into_iter().map(ClosetFilePart::Entry));
        self.parts = out;
    }

    /// Sets or removes the section of recently archived entries.
    pub(super) fn set_recent(&mut self, lines: &[String]) {
        let at = self
            .parts
            .iter()
            .position(|it| matches!(it, ClosetFilePart::Recent(_)));
        if lines.is_empty() {
            self.parts
                .retain(|it| !matches!(it, ClosetFilePart::Recent(_)));
            return;
        }
        let mut text = vec!["## Recently Archived".to_owned()];
        text.extend(lines.iter().cloned());
        let part = ClosetFilePart::Recent(text.join(self.newline));
        match at {
            Some(at) => self.parts[at] = part,
            None => {
                let behind = self
                    .parts
                    .iter()
                    .rposition(|it| {
                        matches!(it, ClosetFilePart::Entry(_) | ClosetFilePart::Head(_))
                    })
                    .map_or(0, |at| at + 1);
                self.parts.insert(behind, part);
            }
        }
    }

    /// Renders the file: the original bytes if nothing changed, else the parts
    /// with blank lines between them.
    pub fn render(&self) -> String {
        let texts: Vec<&str> = self.parts.iter().map(ClosetFilePart::text).collect();
        if texts == self.before {
            return self.text.clone();
        }
        let texts: Vec<&str> = texts.into_iter().filter(|text| !text.is_empty()).collect();
        texts.join(&self.newline.repeat(2)) + self.newline
    }
}

impl ClosetFilePart {
    fn text(&self) -> &str {
        match self {
            ClosetFilePart::Entry(block) => &block.text,
            ClosetFilePart::Head(text)
            | ClosetFilePart::Recent(text)
            | ClosetFilePart::Other(text) => text,
        }
    }
}

/// Adds the text before an entry that belongs to none.
fn push_rest(document: &Document, span: Range<usize>, parts: &mut Vec<ClosetFilePart>) {
    let text = document.span_text(&span).trim_end();
    if parts.is_empty() {
        parts.push(ClosetFilePart::Head(text.to_owned()));
    } else if !text.trim().is_empty() {
        parts.push(ClosetFilePart::Other(text.to_owned()));
    }
}

/// Parses the name in `## [[name]]`.
fn entry_name(heading: &str) -> Option<String> {
    let text = heading
        .trim()
        .trim_start_matches('#')
        .trim_end_matches('#')
        .trim();
    let inner = text.strip_prefix("[[")?.strip_suffix("]]")?;
    let name = inner.split('|').next().unwrap_or(inner).trim();
    let name = name.strip_suffix(".md").unwrap_or(name);
    (!name.is_empty() && !name.contains("[[") && !name.contains("]]")).then(|| name.to_owned())
}
