//! One parser from text to [`Document`]; every feature is a view of it.
//!
//! Parsing never fails: what is wrong becomes a [`ParseProblem`] with its place, and
//! the rest of the text is still used. Nothing here touches a file.

use std::ops::Range;

mod blocks;
mod dates;
mod edit;
mod formats;
mod front_matter;
mod inert;
mod lines;
pub mod linked_items;
mod links;
mod normal;
mod plain;
mod retyped;
mod tables;
mod turns;
mod unmerged;
mod walk;
pub mod html;
pub mod when;

#[cfg(test)]
mod tests;

pub use dates::{DateMention, day_of_timestamp, document_date};
pub use edit::{EditError, TextEdit, apply_edits};
pub use formats::{DocumentFormat, without_ending};
pub use front_matter::{FrontMatter, YamlError, YamlValue, parse_yaml};
pub use inert::{escape_markdown_block, escape_markdown_line};
pub use lines::LineNumbers;
pub use links::{DocumentLink, LinkKind, percent_decode, percent_encode};
pub use normal::{content_hash, normalize_text};
pub use retyped::{normalize_newlines_for_textarea, restore_line_endings, text_version};
pub use tables::{MarkdownCell, MarkdownRow, MarkdownTable, escape_cell_text, unescape_cell_text};
pub use turns::{TurnSpeaker, parse_turn};
pub use unmerged::find_merge_marker;

/// Bytes of a heading, a title or another name that is kept with each of many
/// things: passages, tasks, pieces of a merge. Without a limit a long heading
/// above many of them would take their product.
pub const MAX_NAME_BYTES: usize = 512;

/// The mark at the end of a name that was cut.
pub const NAME_ELLIPSIS: &str = "…";

/// Cuts a name to [`MAX_NAME_BYTES`], at a character and with a mark.
pub fn shorten_name(text: &str) -> String {
    if text.len() <= MAX_NAME_BYTES {
        return text.to_owned();
    }
    // Cut before it is copied: a heading may be as long as the document.
    let end = text.floor_char_boundary(MAX_NAME_BYTES - NAME_ELLIPSIS.len());
    format!("{}{NAME_ELLIPSIS}", &text[..end])
}

/// Returns the title of a heading without the anchor that generators of sites
/// let it end with: `{#retry}`, and in MDX `{/*retry*/}`, where Markdown takes
/// the stars for emphasis and removes them.
pub fn without_heading_anchor(title: &str) -> &str {
    let split = title.trim_end().strip_suffix('}');
    let Some((before, inner)) = split.and_then(|it| it.rsplit_once('{')) else {
        return title;
    };
    let anchor = inner.strip_prefix('#').or_else(|| {
        let comment = inner.strip_prefix('/')?.strip_suffix('/')?;
        Some(comment.trim_matches('*').trim())
    });
    let is_part = |c: char| c.is_alphanumeric() || matches!(c, '-' | '_' | '.' | ':');
    let is_anchor = anchor.is_some_and(|it| !it.is_empty() && it.chars().all(is_part));
    if is_anchor && !before.trim().is_empty() {
        before.trim_end()
    } else {
        title
    }
}

/// Parses a text into a [`Document`]. Never fails and never panics; time grows
/// with the length of the text, also for texts that are meant to slow parsers
/// down.
pub fn parse_document(text: impl Into<String>) -> Document {
    let text = text.into();
    let line_starts = lines::find_line_starts(&text);
    let mut problems = Vec::new();
    let source = lines::with_line_feeds(&text);
    let (front_matter, body) =
        front_matter::read_front_matter(&source, &line_starts, &mut problems);
    let mut outline = walk::outline_body(&source, body.clone(), &line_starts, &mut problems);
    let links = links::find_links(&source, &body, front_matter.as_ref(), &mut outline);
    let dates = dates::find_dates(&source, &body, &outline.code);
    // It may borrow `text`, which moves into the document.
    drop(source);
    Document {
        sections: outline.sections,
        blocks: outline.blocks,
        links,
        tasks: outline.tasks,
        code: outline.code,
        inline_code: outline.inline_code,
        block_ids: outline.block_ids,
        comments: outline.comments,
        dates,
        problems,
        line_starts,
        newline: std::sync::OnceLock::new(),
        front_matter,
        body,
        text,
    }
}

/// Reads a text as the format of its file has it. Where that is not Markdown,
/// the text of the document is the prose of the file, with spans of its own.
pub fn parse_as(path: &str, text: String) -> Document {
    let format = DocumentFormat::of(path).unwrap_or(DocumentFormat::Markdown);
    match format.prose(&text) {
        std::borrow::Cow::Owned(prose) => parse_document(prose),
        std::borrow::Cow::Borrowed(_) => parse_document(text),
    }
}

/// A Markdown text and everything that features ask of it. All ranges are byte
/// ranges into `text`; all line numbers count from 1.
#[derive(Debug, Clone)]
pub struct Document {
    /// The text exactly as it was read: BOM, CRLF and trailing spaces included.
    pub text: String,
    /// Where the Markdown begins: behind the BOM and the front matter.
    pub body: Range<usize>,
    /// The metadata above the Markdown, where there is any.
    pub front_matter: Option<FrontMatter>,
    /// Every heading with what belongs to it, in text order. The first entry is
    /// the preamble (level 0, no title), present also when empty.
    pub sections: Vec<DocumentSection>,
    /// Top-level blocks of the body in text order, without gaps that hold text.
    pub blocks: Vec<DocumentBlock>,
    /// Links of all kinds, in text order.
    pub links: Vec<DocumentLink>,
    /// Items of task lists, in text order.
    pub tasks: Vec<TaskItem>,
    /// Fenced and indented code, nested ones included.
    pub code: Vec<CodeBlock>,
    /// Code within a line, backticks included.
    pub inline_code: Vec<Range<usize>>,
    /// `^id` at the end of a block, Obsidian's way.
    pub block_ids: Vec<BlockId>,
    /// HTML comments that stand as blocks of their own.
    pub comments: Vec<Range<usize>>,
    /// Dates in the text, in text order.
    pub dates: Vec<DateMention>,
    /// Malformed parts, each with its place.
    pub problems: Vec<ParseProblem>,
    /// Byte offset at which each line starts.
    pub line_starts: Vec<usize>,
    /// See [`Document::newline`]: counted once, however many edits ask.
    newline: std::sync::OnceLock<&'static str>,
}

impl Document {
    /// Returns the number of the line that holds `offset`, counted from 1.
    pub fn line_number_at(&self, offset: usize) -> usize {
        lines::line_number_of(&self.line_starts, offset)
    }

    /// Returns the first and the last line of a span, both included. The line
    /// end at the end of a span belongs to its last line; an empty span is on
    /// one line.
    pub fn line_range(&self, span: &Range<usize>) -> (usize, usize) {
        let first = self.line_number_at(span.start);
        let last = if span.end > span.start {
            self.line_number_at(span.end - 1)
        } else {
            first
        };
        (first, last)
    }

    /// Returns the text of a span of this document.
    pub fn span_text(&self, span: &Range<usize>) -> &str {
        &self.text[span.clone()]
    }

    /// Returns the `title` of the front matter, else the first heading of level
    /// 1.
    pub fn title(&self) -> Option<&str> {
        self.front_matter_title().or_else(|| {
            self.sections
                .iter()
                .find(|section| section.level == 1 && !section.title.is_empty())
                .map(|section| section.title.as_str())
        })
    }

    /// Returns the titles from the outermost ancestor to the section itself;
    /// nothing for the preamble.
    pub fn heading_path(&self, section: usize) -> Vec<&str> {
        let mut path = Vec::new();
        let mut next = Some(section);
        while let Some(section) = next.and_then(|index| self.sections.get(index)) {
            if section.level > 0 {
                path.push(section.title.as_str());
            }
            next = section.parent;
        }
        path.reverse();
        path
    }

    /// Finds the first section with this title, ignoring case and outer spaces.
    pub fn find_section(&self, title: &str) -> Option<usize> {
        let wanted = title.trim().to_lowercase();
        self.sections
            .iter()
            .position(|section| section.level > 0 && section.title.trim().to_lowercase() == wanted)
    }

    /// Returns the section whose heading begins at `offset`.
    pub fn section_at(&self, offset: usize) -> Option<&DocumentSection> {
        // Behind the preamble, headings stand in the order of the text.
        let headings = self.sections.get(1..)?;
        let found = headings.binary_search_by_key(&offset, |section| section.heading.start);
        found.ok().map(|index| &headings[index])
    }

    /// Returns `true` if `offset` is in a code block or in inline code.
    pub fn is_in_code(&self, offset: usize) -> bool {
        // Code blocks can contain no other code, so both lists are sorted and
        // disjoint, and the last one that starts before `offset` decides.
        let block = self.code.partition_point(|code| code.span.start <= offset);
        let inline = self
            .inline_code
            .partition_point(|span| span.start <= offset);
        (block > 0 && offset < self.code[block - 1].span.end)
            || (inline > 0 && offset < self.inline_code[inline - 1].end)
    }

    /// Returns the title of the front matter. A numeric title (`title: 1984`)
    /// is still a title, so its source text is used where YAML reads a number.
    fn front_matter_title(&self) -> Option<&str> {
        let front_matter = self.front_matter.as_ref()?;
        match front_matter.get("title")? {
            YamlValue::Text(title) => Some(title.trim()).filter(|title| !title.is_empty()),
            YamlValue::Int(_) | YamlValue::Float(_) => {
                front_matter.scalar_source(&self.text, "title")
            }
            _ => None,
        }
    }
}

/// A heading and the text up to the next heading of any level.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct DocumentSection {
    /// 1 to 6; 0 for the text before the first heading.
    pub level: u8,
    /// The heading as plain text, markup removed.
    pub title: String,
    /// The heading's own line or lines (setext), line end included.
    pub heading: Range<usize>,
    /// Behind the heading up to the next heading of any level.
    pub own: Range<usize>,
    /// `heading.start` up to the next heading of the same or a higher level.
    /// The preamble encloses nothing: its span is its own text.
    pub span: Range<usize>,
    /// Index of the enclosing section in `Document::sections`; none for the
    /// preamble and for headings that no other heading encloses.
    pub parent: Option<usize>,
}

/// A top-level block, as whole lines; blank lines between blocks belong to
/// none.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct DocumentBlock {
    /// What the block is.
    pub kind: BlockKind,
    /// The whole lines of the block.
    pub span: Range<usize>,
}

/// The kind of a top-level block.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum BlockKind {
    /// A heading of either form.
    Heading,
    /// A paragraph.
    Paragraph,
    /// A list, ordered or not, with all its items.
    List,
    /// A quotation.
    Quote,
    /// Fenced or indented code.
    Code,
    /// A table.
    Table,
    /// Raw HTML.
    Html,
    /// A thematic break.
    Rule,
    /// Footnote definitions, link reference definitions and all other blocks.
    Other,
}

/// A task list item (`- [ ] text`).
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct TaskItem {
    /// Whether the box is checked.
    pub done: bool,
    /// The item's text without the marker, first line only.
    pub text: String,
    /// The item's line or lines, nested items excluded.
    pub span: Range<usize>,
    /// The single character between the brackets.
    pub mark: Range<usize>,
}

/// A fenced or indented code block.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct CodeBlock {
    /// First word of the info string; empty for indented code.
    pub language: String,
    /// Whether it has fences; indented code has none.
    pub fenced: bool,
    /// Fences included.
    pub span: Range<usize>,
}

/// The id of a block (`^id`), as Obsidian writes it.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct BlockId {
    /// The id, without `^`.
    pub id: String,
    /// The bytes of `^id`.
    pub span: Range<usize>,
}

/// A problem in the text, with its place.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct ParseProblem {
    /// The malformed bytes.
    pub span: Range<usize>,
    /// The line at which they begin.
    pub line: usize,
    /// What is wrong, as a sentence for the author.
    pub message: String,
}
