//! An index split into pieces that can move as they are: pointers, and the
//! user's text around them. The pieces, joined in order, are the text.

use std::collections::HashSet;
use std::ops::Range;

use super::PointerShelf;
use crate::document::linked_items;
use crate::document::{self, BlockKind, Document, DocumentLink, LinkKind};

/// A piece of an index with its line ends.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) struct IndexUnit {
    pub(super) text: String,
    pub(super) kind: UnitKind,
    /// Topics that its links lead to.
    pub(super) targets: Vec<String>,
    /// The line that it begins on, counted from 1.
    pub(super) line: usize,
    /// The level of the section around it; 0 before any heading.
    pub(super) section: u8,
    /// Whether a block of the document begins here.
    pub(super) begins: bool,
}

/// The role of a piece in an index.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) enum UnitKind {
    /// A list item that begins with a link to a topic.
    Pointer,
    /// A list item whose link leads to a missing file, or to one that others do
    /// not have.
    Lost { target: String },
    /// The generated line that leads to the next page.
    Note,
    /// The generated heading of a page.
    Title,
    /// A heading of this level.
    Heading(u8),
    /// Everything else.
    Other,
}

/// The context that decides what a target in an index is.
pub(super) struct PointerTargets<'a> {
    pub(super) shelf: &'a PointerShelf,
    pub(super) topics: &'a HashSet<String>,
    /// Returns `true` if a file exists that this index may point to.
    pub(super) exists: &'a dyn Fn(&str) -> bool,
}

/// Maximum size of a movable item. A longer item is content, not a pointer, and
/// stays in its place.
pub(super) const MAX_UNIT_BYTES: usize = 2_000;
/// Lines and bytes of a text.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub(super) struct IndexSize {
    pub(super) lines: usize,
    pub(super) bytes: usize,
}

impl IndexSize {
    /// Measures a text that other text may follow: its last line counts as
    /// ended.
    pub(super) fn of_text(text: &str) -> IndexSize {
        let ends = text.ends_with(['\n', '\r']) || text.is_empty();
        IndexSize {
            lines: count_lines(text),
            // The longest line end has two bytes.
            bytes: text.len() + if ends { 0 } else { 2 },
        }
    }

    /// Returns `true` if this size does not exceed the other.
    pub(super) fn fits_within(self, most: IndexSize) -> bool {
        self.lines <= most.lines && self.bytes <= most.bytes
    }

    pub(super) fn plus(self, other: IndexSize) -> IndexSize {
        IndexSize {
            lines: self.lines + other.lines,
            bytes: self.bytes + other.bytes,
        }
    }
}

/// Counts the lines of a text, whatever ends them.
pub(super) fn count_lines(text: &str) -> usize {
    let bytes = text.as_bytes();
    let mut count = 0;
    for at in memchr::memchr2_iter(b'\n', b'\r', bytes) {
        // Of a pair only the line feed counts.
        let crlf = bytes[at] == b'\r' && bytes.get(at + 1) == Some(&b'\n');
        count += usize::from(!crlf);
    }
    count + usize::from(!text.is_empty() && !text.ends_with(['\n', '\r']))
}

/// Returns the topics that any link of a text leads to.
pub(super) fn find_targets(text: &str, names: &PointerTargets) -> HashSet<String> {
    let document = document::parse_document(text);
    let links = document.links.iter();
    links.filter_map(|link| names.find_topic(link)).collect()
}

/// Splits a text into units; joined in order they are that text.
pub(super) fn split_units(text: &str, names: &PointerTargets) -> Vec<IndexUnit> {
    let document = document::parse_document(text);
    let pieces = find_movable_items(&document, names);
    let mut cuts: Vec<(usize, UnitKind, bool)> = Vec::new();
    for block in &document.blocks {
        let kind = match block.kind {
            BlockKind::Heading => classify_heading(&document, &block.span, names),
            _ => UnitKind::Other,
        };
        cuts.push((block.span.start, kind, true));
    }
    let starts: HashSet<usize> = cuts.iter().map(|(at, ..)| *at).collect();
    cuts.retain(|(at, ..)| {
        let before = pieces.partition_point(|(span, _)| span.start <= *at);
        before == 0 || pieces[before - 1].0.end <= *at
    });
    for (span, kind) in &pieces {
        cuts.push((span.start, kind.clone(), starts.contains(&span.start)));
        cuts.push((span.end, UnitKind::Other, false));
    }
    cuts.push((0, UnitKind::Other, false));
    // At one position the specific kind comes first, and `dedup` keeps it.
    cuts.sort_by_key(|(at, kind, _)| (*at, *kind == UnitKind::Other));
    cuts.dedup_by_key(|(at, ..)| *at);
    let mut units = Vec::new();
    for (index, (start, kind, begins)) in cuts.iter().enumerate() {
        let end = cuts.get(index + 1).map_or(text.len(), |next| next.0);
        if *start >= end {
            continue;
        }
        let kind = kind.clone();
        units.push(build_unit(&document, names, *start..end, kind, *begins));
    }
    units
}

fn build_unit(
    document: &Document,
    names: &PointerTargets,
    span: Range<usize>,
    kind: UnitKind,
    begins: bool,
) -> IndexUnit {
    let links = &document.links;
    let first = links.partition_point(|link| link.span.start < span.start);
    let inside = links[first..]
        .iter()
        .take_while(|link| link.span.start < span.end);
    let sections = &document.sections;
    let above = sections.partition_point(|it| it.level == 0 || it.heading.start <= span.start);
    let section = above.checked_sub(1).map(|index| &sections[index]);
    IndexUnit {
        text: document.span_text(&span).to_owned(),
        kind,
        targets: inside.filter_map(|link| names.find_topic(link)).collect(),
        line: document.line_number_at(span.start),
        section: section.map_or(0, |section| section.level),
        begins,
    }
}

/// Finds the list items that may move, with everything nested in them.
fn find_movable_items(
    document: &Document,
    names: &PointerTargets,
) -> Vec<(Range<usize>, UnitKind)> {
    let mut pieces: Vec<(Range<usize>, UnitKind)> = Vec::new();
    for found in linked_items::find_linked_items(document) {
        let start = found.span.start;
        if pieces.last().is_some_and(|(span, _)| start < span.end) {
            continue;
        }
        let inside = document.blocks.partition_point(|it| it.span.start <= start);
        let Some(block) = inside.checked_sub(1).map(|at| &document.blocks[at]) else {
            continue;
        };
        if block.kind != BlockKind::List || start >= block.span.end {
            continue;
        }
        let text = &document.text[start..block.span.end];
        let indent = text.len() - text.trim_start_matches(' ').len();
        // A deeper item would become a code block at its new place.
        if indent > 3 || text[indent..].starts_with('\t') {
            continue;
        }
        let span = start..start + find_item_end(text, indent);
        if span.len() > MAX_UNIT_BYTES {
            continue;
        }
        if let Some(kind) = names.classify_item(&found, document.span_text(&span)) {
            pieces.push((span, kind));
        }
    }
    pieces
}

/// Returns the end of an item whose marker is at `indent`: the start of the next
/// item of the same or an outer list, less the blank lines before it.
fn find_item_end(text: &str, indent: usize) -> usize {
    let (mut end, mut at) = (0, 0);
    for line in text.split_inclusive('\n') {
        let bare = line.trim_start_matches(' ');
        if at > 0 && line.len() - bare.len() <= indent && is_list_item(bare) {
            break;
        }
        at += line.len();
        if !line.trim().is_empty() {
            end = at;
        }
    }
    end
}

/// Returns `true` if a line begins with the marker of a list item.
fn is_list_item(line: &str) -> bool {
    let digits = line.len() - line.trim_start_matches(|c: char| c.is_ascii_digit()).len();
    let rest = match digits {
        0 => line.strip_prefix(['-', '*', '+']),
        _ => line[digits..].strip_prefix(['.', ')']),
    };
    rest.is_some_and(|rest| rest.is_empty() || rest.starts_with([' ', '\t', '\n', '\r']))
}

fn classify_heading(document: &Document, span: &Range<usize>, names: &PointerTargets) -> UnitKind {
    match document.section_at(span.start) {
        Some(section) if document.span_text(span).trim_end() == names.shelf.page_title() => {
            debug_assert_eq!(section.level, 1);
            UnitKind::Title
        }
        Some(section) => UnitKind::Heading(section.level),
        None => UnitKind::Other,
    }
}

impl PointerTargets<'_> {
    /// Returns the topic that a link leads to.
    fn find_topic(&self, link: &DocumentLink) -> Option<String> {
        let target = local_target(&link.target)?;
        if self.topics.contains(&target) {
            return Some(target);
        }
        let wiki = matches!(link.kind, LinkKind::Wiki | LinkKind::Embed);
        let named = format!("{target}.md");
        (wiki && self.topics.contains(&named)).then_some(named)
    }

    /// Classifies a list item that begins with a link; `None` if it is not
    /// movable.
    fn classify_item(&self, found: &linked_items::LinkedItem<'_>, text: &str) -> Option<UnitKind> {
        let target = local_target(found.target)?;
        if self.shelf.is_generated_line(text, &target) {
            return Some(UnitKind::Note);
        }
        if self.topics.contains(&target) {
            return Some(UnitKind::Pointer);
        }
        let lost = target.ends_with(".md") && !(self.exists)(&target);
        lost.then_some(UnitKind::Lost { target })
    }
}

/// Returns a target below the folder of the index; `None` for one that leads
/// elsewhere.
fn local_target(target: &str) -> Option<String> {
    // A colon may begin a URL, and a backslash separates folders on Windows.
    if target.is_empty() || target.starts_with('/') || target.contains([':', '\\']) {
        return None;
    }
    let mut parts = Vec::new();
    for part in target.split('/') {
        match part {
            "" | "." => {}
            ".." => return None,
            part => parts.push(part),
        }
    }
    (!parts.is_empty()).then(|| parts.join("/"))
}
