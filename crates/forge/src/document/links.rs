//! Links of every kind that a Markdown text can hold.
use std::ops::Range;

#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Link {
    pub kind: LinkKind,
    pub target: String,
    pub fragment: Option<String>,
    pub label: String,
    pub span: Range<usize>,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum LinkKind {
    Wiki,
    Embed,
    Inline,
    Image,
    Reference,
    Auto,
    Import,
}
