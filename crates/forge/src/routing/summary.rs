//! One line about a document.

use crate::document::{BlockKind, Document};

/// The first sentences of a document, at most 250 characters.
pub fn summary(document: &Document) -> String {
    let mut blocks = document.blocks.iter();
    let first = blocks.find(|block| block.kind == BlockKind::Paragraph);
    let text = first.map_or("", |block| document.str(&block.span));
    let line: Vec<&str> = text.split_whitespace().collect();
    line.join(" ").chars().take(250).collect()
}
