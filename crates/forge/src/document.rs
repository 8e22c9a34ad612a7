//! One parser from text to [`Document`]; every feature is a view of it.
//!
//! Parsing never fails: what is wrong becomes a [`Problem`] with its place, and
//! the rest of the text is still used. Nothing here touches a file.

use std::ops::Range;

mod dates;
mod front_matter;
mod links;

pub use dates::DateMention;
pub use front_matter::{FrontMatter, Value};
pub use links::{Link, LinkKind};

/// A Markdown text and everything that features ask of it. All ranges are byte
/// ranges into `text`; all line numbers count from 1.
#[derive(Debug, Clone)]
pub struct Document {
    /// The text exactly as it was read: BOM, CRLF and trailing spaces included.
    pub text: String,
    /// Where the Markdown begins: behind the BOM and the front matter.
    pub body: Range<usize>,
    pub front_matter: Option<FrontMatter>,
    /// Every heading with what belongs to it, in text order. The first entry is
    /// the preamble (level 0, no title), present also when empty.
    pub sections: Vec<Section>,
    /// Top-level blocks of the body in text order, without gaps that hold text.
    pub blocks: Vec<Block>,
    pub links: Vec<Link>,
    pub tasks: Vec<Task>,
    /// Fenced and indented code, nested ones included.
    pub code: Vec<Code>,
    /// `^id` at the end of a block, Obsidian's way.
    pub block_ids: Vec<BlockId>,
    /// HTML comments that stand as blocks of their own.
    pub comments: Vec<Range<usize>>,
    pub dates: Vec<DateMention>,
    pub problems: Vec<Problem>,
    /// Byte offset at which each line starts.
    pub line_starts: Vec<usize>,
}

/// A heading and the text up to the next heading of any level.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Section {
    /// 1 to 6; 0 for the text before the first heading.
    pub level: u8,
    /// The heading as plain text, markup removed.
    pub title: String,
    /// The heading's own line or lines (setext), line end included.
    pub heading: Range<usize>,
    /// Behind the heading up to the next heading of any level.
    pub own: Range<usize>,
    /// `heading.start` up to the next heading of the same or a higher level.
    pub span: Range<usize>,
    /// Index of the enclosing section in `Document::sections`.
    pub parent: Option<usize>,
}

#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Block {
    pub kind: BlockKind,
    pub span: Range<usize>,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum BlockKind {
    Heading,
    Paragraph,
    List,
    Quote,
    Code,
    Table,
    Html,
    Rule,
    /// Footnote definitions, link reference definitions and whatever else stands alone.
    Other,
}

#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Task {
    pub done: bool,
    /// The item's text without the marker, first line only.
    pub text: String,
    /// The item's line or lines, nested items excluded.
    pub span: Range<usize>,
    /// The single character between the brackets.
    pub mark: Range<usize>,
}

#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Code {
    /// First word of the info string; empty for indented code.
    pub language: String,
    pub fenced: bool,
    /// Fences included.
    pub span: Range<usize>,
}

#[derive(Debug, Clone, PartialEq, Eq)]
pub struct BlockId {
    pub id: String,
    pub span: Range<usize>,
}

/// Something wrong with the text, with its place.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Problem {
    pub span: Range<usize>,
    pub line: usize,
    pub message: String,
}
