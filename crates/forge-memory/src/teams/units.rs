//! Splits a file into the pieces that are merged: entries, headings, list items
//! and other text. The pieces and the blank lines between them are the whole
//! file, byte for byte; whatever is not recognized is text.

use std::collections::HashMap;
use std::ops::Range;

use jiff::civil::Date;

use super::MergeKind;
use super::numbers::{self, EntryNumber, NumberSeries, RenameMap};
use crate::document::{self, BlockKind, Document, DocumentBlock, shorten_name};
use crate::mind;

#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub(super) enum MergeUnitKind {
    Front,
    Heading,
    /// An entry with a heading or between rules.
    Entry,
    /// A list item, a task, or an entry of one line.
    Item,
    Text,
}

#[derive(Debug, Clone)]
pub(super) struct MergeUnit<'t> {
    pub(super) what: MergeUnitKind,
    /// Identifies the piece across versions of the file.
    pub(super) key: String,
    /// The text without trailing blank lines.
    pub(super) text: &'t str,
    /// The text for comparison, without line ends and the entry's own number.
    pub(super) same: String,
    /// The heading above it.
    pub(super) section: Option<usize>,
    pub(super) level: u8,
    pub(super) numbered: Option<EntryNumber>,
    pub(super) date: Option<Date>,
    /// The archived entry that a line refers to.
    pub(super) represents: Option<(NumberSeries, usize)>,
}

impl MergeUnit<'_> {
    /// Returns `true` if it links to the pages after a full list of pointers.
    pub(super) fn leads_to_overflow(&self) -> bool {
        let target = self.key.strip_prefix(POINTER_KEY_PREFIX);
        target.is_some_and(|it| it.starts_with(super::OVERFLOW_PAGE_PREFIX))
    }

    /// Recomputes the text for comparison, with mentions under their new
    /// numbers.
    pub(super) fn compare_with_renames(&mut self, renames: &RenameMap, before: Option<&str>) {
        let own = self.numbered.as_ref();
        let text = numbers::follow_renames(self.text, own, before, renames);
        if text != self.text {
            let again = own.and_then(|it| EntryNumber::read(it.series, it.number, &text));
            let text = again.map_or(text.clone(), |it| it.strip_number(&text));
            self.same = document::normalize_text(&text).into_owned();
        }
    }
}

/// Prefix of a pointer's key, before its target.
const POINTER_KEY_PREFIX: char = '→';

#[derive(Debug)]
pub(super) struct FilePieces<'t> {
    pub(super) units: Vec<MergeUnit<'t>>,
    /// The gap before each piece, and the one after the last.
    pub(super) gaps: Vec<&'t str>,
}

pub(super) fn split_pieces<'t>(document: &'t Document, kind: MergeKind) -> FilePieces<'t> {
    let mut cutter = PieceCutter::new(document, kind);
    let front = 0..document.body.start;
    if !document.span_text(&front).trim().is_empty() {
        cutter.push_piece(MergeUnitKind::Front, front);
    }
    let mut index = 0;
    while let Some(block) = document.blocks.get(index) {
        index += 1;
        // An entry may contain several blocks, which are part of its piece.
        if block.span.start < cutter.at {
            continue;
        }
        cutter.push_block(block, &document.blocks[index..]);
    }
    cutter.finish()
}

/// Splits a list into its items at every depth, each without nested ones, for
/// an item that both sides edited.
pub(super) fn split_fine_pieces<'t>(document: &'t Document, kind: MergeKind) -> FilePieces<'t> {
    let mut cutter = PieceCutter::new(document, kind);
    let starts = cutter.item_starts(&(0..document.text.len()), usize::MAX);
    let mut cuts = vec![0];
    cuts.extend(starts.into_iter().filter(|at| *at > 0));
    cuts.push(document.text.len());
    for pair in cuts.windows(2) {
        cutter.push_piece(MergeUnitKind::Item, pair[0]..pair[1]);
    }
    cutter.finish()
}

struct PieceCutter<'t> {
    document: &'t Document,
    kind: MergeKind,
    pieces: FilePieces<'t>,
    /// End of the last piece.
    at: usize,
    /// Entries with headings, by start offset.
    entries: HashMap<usize, EntrySpan>,
    /// Entries of one line, by start offset: date and text.
    lines: HashMap<usize, (Option<Date>, String)>,
    /// The open headings, with their levels.
    open: Vec<(u8, usize)>,
    sections: HashMap<usize, usize>,
}

struct EntrySpan {
    end: usize,
    number: Option<(NumberSeries, usize)>,
    date: Option<Date>,
}

impl<'t> PieceCutter<'t> {
    fn new(document: &'t Document, kind: MergeKind) -> PieceCutter<'t> {
        let mut entries = HashMap::new();
        if matches!(kind, MergeKind::Decisions | MergeKind::Archive) {
            for it in mind::decision_blocks(document) {
                let number = it.id.as_deref().and_then(mind::id_at_start);
                let number = number.and_then(|(id, _)| id[4..].parse().ok());
                let at = EntrySpan {
                    end: it.span.end,
                    number: number.map(|number| (NumberSeries::Decision, number)),
                    date: it.date,
                };
                entries.insert(it.span.start, at);
            }
        }
        if matches!(
            kind,
            MergeKind::Sessions | MergeKind::Archive | MergeKind::Learnings
        ) {
            for it in mind::session_blocks(document) {
                let at = EntrySpan {
                    end: it.span.end,
                    number: it.number.map(|number| (NumberSeries::Session, number)),
                    date: it.date,
                };
                entries.entry(it.span.start).or_insert(at);
            }
        }
        if kind == MergeKind::Ideas {
            for it in document.sections.iter().filter(|it| it.level == 3) {
                let at = EntrySpan {
                    end: it.span.end,
                    number: None,
                    date: None,
                };
                entries.insert(it.heading.start, at);
            }
        }
        let mut lines = HashMap::new();
        if kind == MergeKind::Decisions {
            for it in mind::decision_lines(document) {
                lines.insert(it.span.start, (it.date, it.title));
            }
        }
        let sections = document.sections.iter().enumerate();
        PieceCutter {
            document,
            kind,
            pieces: FilePieces {
                units: Vec::new(),
                gaps: Vec::new(),
            },
            at: 0,
            entries,
            lines,
            open: Vec::new(),
            sections: sections
                .filter(|(_, it)| it.level > 0)
                .map(|(index, it)| (it.heading.start, index))
                .collect(),
        }
    }

    fn push_block(&mut self, block: &DocumentBlock, rest: &[DocumentBlock]) {
        let span = block.span.clone();
        if let Some(entry) = self.entries.get(&span.start) {
            return self.push_piece(MergeUnitKind::Entry, span.start..entry.end);
        }
        match block.kind {
            BlockKind::Heading => self.push_piece(MergeUnitKind::Heading, span),
            // A learning follows its rule.
            BlockKind::Rule if self.kind == MergeKind::Learnings => {
                let ends = |it: &&DocumentBlock| {
                    matches!(it.kind, BlockKind::Rule | BlockKind::Heading)
                        || self.entries.contains_key(&it.span.start)
                };
                let end = rest.iter().find(ends).map(|it| it.span.start);
                let end = end.unwrap_or(self.document.text.len());
                self.push_piece(MergeUnitKind::Entry, span.start..end);
            }
            BlockKind::List => {
                let cuts = self.item_starts(&span, 0);
                self.push_items(span, cuts);
            }
            BlockKind::Paragraph => {
                let starts = self.document.span_text(&span).split_inclusive('\n');
                let starts = starts.scan(span.start, |at, line| {
                    let start = *at;
                    *at += line.len();
                    Some(start)
                });
                let cuts = starts.filter(|at| self.lines.contains_key(at)).collect();
                self.push_items(span, cuts);
            }
            _ => self.push_piece(MergeUnitKind::Text, span),
        }
    }

    /// Adds the pieces of a block that begin at these offsets; text before the
    /// first one is a piece too.
    fn push_items(&mut self, span: Range<usize>, cuts: Vec<usize>) {
        let Some(first) = cuts.first() else {
            return self.push_piece(MergeUnitKind::Text, span);
        };
        if *first > span.start {
            self.push_piece(MergeUnitKind::Text, span.start..*first);
        }
        for (index, start) in cuts.iter().enumerate() {
            let end = cuts.get(index + 1).copied().unwrap_or(span.end);
            self.push_piece(MergeUnitKind::Item, *start..end);
        }
    }

    /// Returns the start offsets of list items, up to `deeper` more columns
    /// than the first one.
    fn item_starts(&self, span: &Range<usize>, deeper: usize) -> Vec<usize> {
        let mut starts = Vec::new();
        let mut most = None;
        let mut at = span.start;
        for line in self.document.span_text(span).split_inclusive('\n') {
            let start = at;
            at += line.len();
            let text = line.trim();
            let indent = line.len() - line.trim_start_matches([' ', '\t']).len();
            let most = most.get_or_insert(indent.saturating_add(deeper));
            let in_code = self.document.is_in_code(start + indent);
            if indent <= *most && !in_code && mind::list_marker_length(text).is_some() {
                starts.push(start);
            }
        }
        starts
    }

    fn push_piece(&mut self, what: MergeUnitKind, span: Range<usize>) {
        let document = self.document;
        // Text outside of blocks is a piece too, so that no byte is lost.
        let before = &document.text[self.at..span.start];
        if !before.trim().is_empty() {
            let at = self.at + (before.len() - before.trim_start_matches(['\n', '\r']).len());
            let lost = at..span.start;
            self.add_gap(lost.start);
            self.place_unit(MergeUnitKind::Text, lost);
        }
        self.add_gap(span.start);
        self.place_unit(what, span);
    }

    fn add_gap(&mut self, start: usize) {
        let from = self.at.min(start);
        self.pieces.gaps.push(&self.document.text[from..start]);
    }

    fn place_unit(&mut self, what: MergeUnitKind, span: Range<usize>) {
        let whole = self.document.span_text(&span);
        let end = span.start + mind::end_of_text(whole);
        let text = &self.document.text[span.start..end];
        self.at = end;
        let (mut level, mut numbered, mut date) = (0, None, None);
        let mut key = String::new();
        match what {
            MergeUnitKind::Front => {}
            MergeUnitKind::Heading => {
                let index = self.sections.get(&span.start).copied();
                level = index.map_or(0, |it| self.document.sections[it].level);
                // A heading's key contains the headings above it.
                let names = |it| self.document.heading_path(it).into_iter().map(shorten_name);
                let path = index.map(|it| names(it).collect::<Vec<_>>().join("\u{1f}"));
                key = path.unwrap_or_else(|| text.to_owned());
                self.open.retain(|(it, _)| *it < level);
            }
            MergeUnitKind::Entry => {
                let entry = self.entries.get(&span.start);
                let section = self.sections.get(&span.start);
                level = section.map_or(0, |it| self.document.sections[*it].level);
                if level > 0 {
                    self.open.retain(|(it, _)| *it < level);
                }
                date = entry.and_then(|it| it.date);
                let number = entry.and_then(|it| it.number);
                numbered = number.and_then(|(series, it)| EntryNumber::read(series, it, text));
                key = match (&numbered, section) {
                    (Some(it), _) => it.series.format_name(it.number),
                    (None, Some(it)) => self.document.sections[*it].title.clone(),
                    (None, None) => String::new(),
                };
                date = date.or_else(|| mind::first_date(text));
            }
            MergeUnitKind::Item => {
                let line = self.lines.get(&span.start);
                date = line.and_then(|it| it.0);
                key = match line {
                    Some((Some(date), title)) => format!("{date} {title}"),
                    Some((None, title)) => title.clone(),
                    None => self.item_key(text, span.start),
                };
            }
            MergeUnitKind::Text => {}
        }
        let same = match &numbered {
            Some(it) => document::normalize_text(&it.strip_number(text)).into_owned(),
            None => document::normalize_text(text).into_owned(),
        };
        if matches!(what, MergeUnitKind::Text) || (what == MergeUnitKind::Entry && key.is_empty()) {
            key.clone_from(&same);
        }
        let section = self.open.last().map(|(_, index)| *index);
        if what == MergeUnitKind::Heading {
            self.open.push((level, self.pieces.units.len()));
        }
        let represents = match what {
            MergeUnitKind::Item => parse_archive_pointer(&key),
            _ => None,
        };
        self.pieces.units.push(MergeUnit {
            represents,
            what,
            key,
            text,
            same,
            section,
            level,
            numbered,
            date,
        });
    }

    /// Returns the text of an item without marker, box and completion date; or
    /// the target of a pointer.
    fn item_key(&self, text: &str, at: usize) -> String {
        let indent = text.len() - text.trim_start().len();
        let item = text.trim_start();
        let length = mind::list_marker_length(item).unwrap_or(0);
        if self.kind == MergeKind::Pointers {
            let begins = at + indent + length.min(item.len());
            let links = &self.document.links;
            let next = links.partition_point(|it| it.span.start < begins);
            if let Some(link) = links.get(next).filter(|it| it.span.start == begins) {
                return format!(
                    "{POINTER_KEY_PREFIX}{}",
                    link.target.trim_start_matches("./")
                );
            }
        }
        let task = super::task::TaskParts::read(text);
        mind::plain_value(
            task.as_ref()
                .map_or(&item[length.min(item.len())..], |it| it.description()),
        )
    }

    fn finish(mut self) -> FilePieces<'t> {
        let rest = &self.document.text[self.at..];
        if !rest.trim().is_empty() {
            let end = self.document.text.len();
            self.push_piece(MergeUnitKind::Text, self.at..end);
        }
        self.pieces.gaps.push(&self.document.text[self.at..]);
        self.pieces
    }
}

/// Parses `DEC-003 (2026-01-01): what it was about → ARCHIVE.md`.
fn parse_archive_pointer(line_text: &str) -> Option<(NumberSeries, usize)> {
    if let Some((id, _)) = mind::id_at_start(line_text) {
        return Some((NumberSeries::Decision, id[4..].parse().ok()?));
    }
    mind::session_number(line_text).map(|it| (NumberSeries::Session, it))
}
