//! Sections and top-level blocks as lines of the body, whichever view of the
//! text found them. Every line with text ends up in exactly one block.

use std::ops::Range;

use super::{BlockKind, DocumentBlock, DocumentSection, lines};

pub(super) struct HeadingLine {
    pub(super) level: u8,
    pub(super) title: String,
    /// Whole lines.
    pub(super) span: Range<usize>,
}

/// Turns the headings of a body into sections, the preamble first.
pub(super) fn build_sections(
    headings: Vec<HeadingLine>,
    body: &Range<usize>,
) -> Vec<DocumentSection> {
    let starts: Vec<usize> = headings.iter().map(|heading| heading.span.start).collect();
    let own_end = |index: usize| starts.get(index).copied().unwrap_or(body.end);
    let preamble = body.start..own_end(0);
    let mut sections = Vec::with_capacity(headings.len() + 1);
    sections.push(DocumentSection {
        level: 0,
        title: String::new(),
        heading: body.start..body.start,
        own: preamble.clone(),
        span: preamble,
        parent: None,
    });
    // Sections that can still enclose the next heading, levels rising.
    let mut open: Vec<usize> = Vec::new();
    for (index, heading) in headings.into_iter().enumerate() {
        while let Some(&last) = open.last()
            && sections[last].level >= heading.level
        {
            sections[last].span.end = heading.span.start;
            open.pop();
        }
        let parent = open.last().copied();
        open.push(sections.len());
        sections.push(DocumentSection {
            level: heading.level,
            title: heading.title,
            own: heading.span.end..own_end(index + 1),
            span: heading.span.start..body.end,
            heading: heading.span,
            parent,
        });
    }
    sections
}

/// A builder of blocks as whole lines in text order. Text that no block claims,
/// such as link definitions, becomes a block of its own, so that every text is
/// in a block.
pub(super) struct BlockBuilder<'a> {
    source: &'a str,
    line_starts: &'a [usize],
    at: usize,
    blocks: Vec<DocumentBlock>,
}

impl<'a> BlockBuilder<'a> {
    pub(super) fn new(source: &'a str, line_starts: &'a [usize], start: usize) -> Self {
        BlockBuilder {
            source,
            line_starts,
            at: start,
            blocks: Vec::new(),
        }
    }

    /// Adds a block and returns the lines that it was given.
    pub(super) fn push_block(&mut self, kind: BlockKind, span: Range<usize>) -> Range<usize> {
        let text = self.source[span.clone()].trim_end_matches(lines::BLANK_CHARS);
        if text.is_empty() {
            return span.start..span.start;
        }
        let last = span.start + text.len() - 1;
        let mut start = lines::line_start_of(self.line_starts, span.start).max(self.at);
        let end = lines::line_end_of(self.line_starts, last, self.source.len());
        if kind == BlockKind::Heading && text.contains('\n') {
            start = self.paragraph_start(start);
        }
        self.fill_gap(start);
        self.at = end.max(self.at);
        let span = start..self.at;
        if !span.is_empty() {
            self.blocks.push(DocumentBlock {
                kind,
                span: span.clone(),
            });
        }
        span
    }

    /// Returns where the paragraph around a heading starts. Link definitions
    /// right above an underlined heading are one paragraph with it: set apart
    /// from them, its first line could become a list or code. So they count as
    /// lines of the heading.
    fn paragraph_start(&self, heading: usize) -> usize {
        let gap = &self.source[self.at..heading];
        let blank = lines::split_lines(gap)
            .scan(self.at, |at, line| {
                *at += line.len();
                Some((*at, line.trim_matches(lines::BLANK_CHARS).is_empty()))
            })
            .filter(|(_, blank)| *blank)
            .last();
        blank.map_or(self.at, |(end, _)| end)
    }

    pub(super) fn finish(mut self, end: usize) -> Vec<DocumentBlock> {
        self.fill_gap(end);
        self.blocks
    }

    fn fill_gap(&mut self, end: usize) {
        if self.at >= end {
            return;
        }
        let gap = &self.source[self.at..end];
        let skipped = gap.len() - gap.trim_start_matches(lines::BLANK_CHARS).len();
        let text = gap.trim_matches(lines::BLANK_CHARS);
        if text.is_empty() {
            return;
        }
        let first = self.at + skipped;
        let start = lines::line_start_of(self.line_starts, first).max(self.at);
        let last = first + text.len() - 1;
        let stop = lines::line_end_of(self.line_starts, last, self.source.len()).min(end);
        self.blocks.push(DocumentBlock {
            kind: BlockKind::Other,
            span: start..stop,
        });
        self.at = stop;
    }
}
