//! Splits a document into passages that follow its headings. Every character of
//! the text is in some passage; code fences and tables that must be cut repeat
//! their opening lines.

use std::ops::Range;

use forge_text::document::{
    BlockKind, Document, MAX_NAME_BYTES, NAME_ELLIPSIS, shorten_name, without_heading_anchor,
};
use forge_text::tokens;

/// The version of the cut. Raised whenever [`split_into_passages`] cuts the same document in
/// another way, so that older indexes are filled again. A test notices when it
/// should be.
pub const PASSAGE_FORMAT_VERSION: u32 = 2;

/// A passage: the unit that search finds, ranks and returns.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct DocumentPassage {
    /// Titles from the outermost heading to the passage's own.
    pub headings: Vec<String>,
    /// First and last line in the file, counted from 1.
    pub lines: (usize, usize),
    /// The text of the passage, as the file has it.
    pub text: String,
    /// The size by [`tokens::estimate_tokens`].
    pub tokens: usize,
}

/// Cuts headings to [`MAX_NAME_BYTES`] together, since they are stored with
/// each passage. The innermost keeps the most, because it describes its passage
/// best. A heading is still found whole, as part of the text.
pub fn limit_headings(headings: &mut [String]) {
    let mut left = MAX_NAME_BYTES;
    for heading in headings.iter_mut().rev() {
        if heading.len() > left {
            let room = left.saturating_sub(NAME_ELLIPSIS.len());
            heading.truncate(heading.floor_char_boundary(room));
            heading.push_str(NAME_ELLIPSIS);
        }
        left = left.saturating_sub(heading.len());
    }
}

/// The bytes that a passage may have for each of its estimated tokens: an
/// endless word counts as one.
const MAX_TOKEN_BYTES: usize = 64;

/// The sizes of passages, in estimated tokens.
#[derive(Debug, Clone, Copy)]
pub struct PassageSizes {
    /// The largest size of a passage.
    pub most: usize,
    /// Blocks are packed together up to about this size; a section that fits
    /// with everything below it stays in one piece.
    pub aim: usize,
}

impl PassageSizes {
    /// Returns sizes with this limit, which aim at half of it.
    pub fn with_limit(most: usize) -> Self {
        PassageSizes {
            most,
            aim: (most / 2).max(1),
        }
    }
}

/// Splits a document into passages. A document of front matter alone has none.
pub fn split_into_passages(document: &Document, sizes: PassageSizes) -> Vec<DocumentPassage> {
    let mut cutter = PassageCutter {
        document,
        sizes,
        chunks: Vec::new(),
    };
    let start = document
        .front_matter
        .as_ref()
        .map_or(document.body.start, |f| f.span.start);
    let whole = start..document.text.len();
    // Front matter alone answers nothing.
    if document.front_matter.is_some() && document.span_text(&document.body).trim().is_empty() {
        return Vec::new();
    }
    if cutter.fits_in_passage(&whole) {
        // Text that begins with its own heading is below that heading.
        let preamble = document.span_text(&document.sections[0].own);
        let headed = preamble.trim().is_empty() && document.sections.len() > 1;
        cutter.push_passage(headed as usize, whole);
        return cutter.chunks;
    }
    let mut section = 0;
    while section < document.sections.len() {
        section = cutter.cut_section(section);
    }
    cutter.add_front_matter();
    cutter.chunks
}

struct PassageCutter<'a> {
    document: &'a Document,
    sizes: PassageSizes,
    chunks: Vec<DocumentPassage>,
}

impl PassageCutter<'_> {
    /// Cuts one section and returns the next that is not yet covered.
    fn cut_section(&mut self, at: usize) -> usize {
        let section = &self.document.sections[at];
        if section.level > 0 && self.fits_in_passage(&section.span) {
            self.push_passage(at, section.span.clone());
            let end = section.span.end;
            let covered = self.document.sections[at..]
                .iter()
                .take_while(|s| s.heading.start < end)
                .count();
            return at + covered.max(1);
        }
        self.pack_blocks(at, section.heading.start..section.own.end);
        at + 1
    }

    /// Adds the front matter, so that a word that is only there is still
    /// found: to the first passage, or where it is too long for that, in parts
    /// that are each followed by how the text begins. A passage that is
    /// nothing but front matter would answer nothing.
    fn add_front_matter(&mut self) {
        let max_bytes = self.max_block_bytes();
        let (Some(front), Some(first)) = (&self.document.front_matter, self.chunks.first_mut())
        else {
            return;
        };
        let joined = format!(
            "{}\n\n{}",
            self.document.span_text(&front.span).trim(),
            first.text
        );
        let size = tokens::estimate_tokens(&joined);
        if size <= self.sizes.most && joined.len() <= max_bytes {
            first.lines.0 = self.document.line_number_at(front.span.start);
            (first.text, first.tokens) = (joined, size);
            return;
        }
        let headings = first.headings.clone();
        let beginning = find_boundary(&first.text, 0, first.text.len(), self.sizes.most / 2);
        let beginning = first.text[..beginning].trim_end().to_owned();
        let cost = tokens::estimate_tokens(&beginning) + 1;
        let mut parts = Vec::new();
        for part in self.split_range(front.span.clone(), cost) {
            let text = self.document.span_text(&part).trim();
            if text.is_empty() {
                continue;
            }
            let text = format!("{text}\n\n{beginning}");
            parts.push(DocumentPassage {
                headings: headings.clone(),
                lines: self.document.line_range(&part),
                tokens: tokens::estimate_tokens(&text),
                text,
            });
        }
        self.chunks.splice(0..0, parts);
    }

    /// Packs the blocks of a range greedily up to the size aimed at.
    fn pack_blocks(&mut self, section: usize, range: Range<usize>) {
        let blocks = self.document.blocks.as_slice();
        let first = blocks.partition_point(|b| b.span.end <= range.start);
        let mut pending: Option<(Range<usize>, usize)> = None;
        for block in blocks[first..]
            .iter()
            .take_while(|b| b.span.start < range.end)
        {
            let span = block.span.start.max(range.start)..block.span.end.min(range.end);
            let size = tokens::estimate_tokens(&self.document.text[span.clone()]);
            let is_whole = size <= self.sizes.most && span.len() <= self.max_block_bytes();
            if let Some((open, total)) = pending.as_mut().filter(|_| is_whole) {
                // A heading alone is no passage: what follows belongs to it.
                let heading_only = self.document.sections[section].heading == *open;
                // A line between two parts alone says nothing, and would be a
                // hit for the title of its document.
                let belongs = heading_only || block.kind == BlockKind::Rule;
                if *total + size <= self.sizes.aim || (belongs && *total + size <= self.sizes.most)
                {
                    open.end = span.end;
                    *total += size;
                    continue;
                }
            }
            if let Some((open, _)) = pending.take() {
                self.push_passage(section, open);
            }
            if is_whole {
                pending = Some((span, size));
            } else {
                match block.kind {
                    BlockKind::Code => self.pack_code_block(section, span),
                    BlockKind::Table => self.pack_table(section, span),
                    _ => self.pack_lines(section, span),
                }
            }
        }
        if let Some((open, _)) = pending {
            self.push_passage(section, open);
        }
    }

    /// Packs a code block that is too large for one passage: each part is
    /// fenced again.
    fn pack_code_block(&mut self, section: usize, span: Range<usize>) {
        let text = &self.document.text[span.clone()];
        let opening = first_line(text);
        let fence: String = opening
            .trim_start()
            .chars()
            .take_while(|c| matches!(c, '`' | '~'))
            .collect();
        if fence.len() < 3 {
            return self.pack_lines(section, span);
        }
        let closing = text
            .trim_end()
            .rfind(['\n', '\r'])
            .map(|i| i + 1)
            .filter(|i| {
                text[*i..].trim().chars().all(|c| fence.contains(c)) && *i >= opening.len()
            });
        let inside = span.start + opening.len()..span.start + closing.unwrap_or(text.len());
        let header = opening.trim_end().to_owned() + "\n";
        // Of the closing fence only what is longer than usual.
        let cost = tokens::estimate_tokens(&header) + tokens::estimate_tokens(&fence[3..]);
        if cost * 2 > self.sizes.most || header.len() + fence.len() > self.max_repeated_bytes() {
            return self.pack_lines(section, span);
        }
        for part in self.split_range(inside, cost) {
            let body = &self.document.text[part.clone()];
            let line_end = if body.ends_with(['\n', '\r']) {
                ""
            } else {
                "\n"
            };
            self.push_passage_text(
                section,
                part.clone(),
                format!("{header}{body}{line_end}{fence}"),
            );
        }
    }

    /// Packs a table that is too large for one passage: each part repeats the
    /// header rows.
    fn pack_table(&mut self, section: usize, span: Range<usize>) {
        let text = &self.document.text[span.clone()];
        let header_end = {
            let first = first_line(text).len();
            first + first_line(&text[first..]).len()
        };
        let header = &text[..header_end];
        let rows = span.start + header_end..span.end;
        let cost = tokens::estimate_tokens(header);
        let too_long = cost * 2 > self.sizes.most || header.len() > self.max_repeated_bytes();
        if too_long || rows.is_empty() {
            return self.pack_lines(section, span);
        }
        for part in self.split_range(rows, cost) {
            let text = format!("{header}{}", &self.document.text[part.clone()]);
            self.push_passage_text(section, part, text);
        }
    }

    fn pack_lines(&mut self, section: usize, span: Range<usize>) {
        for part in self.split_range(span, 0) {
            self.push_passage(section, part);
        }
    }

    /// Cuts a range into pieces that fit when `extra` tokens are added to each:
    /// at line ends where possible, then at sentences, words, characters.
    fn split_range(&self, range: Range<usize>, extra: usize) -> Vec<Range<usize>> {
        let text = &self.document.text;
        // However long the repeated lines are, every part makes progress.
        let most = self.sizes.most.saturating_sub(extra).max(8);
        let mut parts: Vec<(Range<usize>, usize)> = Vec::new();
        let mut add = |piece: Range<usize>, size: usize| match parts.last_mut() {
            Some((open, total)) if *total + size <= most => {
                open.end = piece.end;
                *total += size;
            }
            _ => parts.push((piece, size)),
        };
        let mut at = range.start;
        for line in text[range.clone()].split_inclusive(['\n', '\r']) {
            let span = at..at + line.len();
            at = span.end;
            let size = tokens::estimate_tokens(line);
            if size <= most && line.len() <= most * MAX_TOKEN_BYTES {
                add(span, size);
            } else {
                for piece in split_line(text, span, most) {
                    let size = tokens::estimate_tokens(&text[piece.clone()]);
                    add(piece, size);
                }
            }
        }
        parts.into_iter().map(|(range, _)| range).collect()
    }

    /// Returns the largest size in bytes of a block that stays in one piece.
    fn max_block_bytes(&self) -> usize {
        self.sizes.most * MAX_TOKEN_BYTES
    }

    /// Returns the largest size in bytes of opening lines that are repeated in
    /// each part.
    fn max_repeated_bytes(&self) -> usize {
        self.sizes.most * 8
    }

    fn fits_in_passage(&self, span: &Range<usize>) -> bool {
        // An estimated token never spans more than a word, so a long text is
        // known not to fit without counting it.
        span.len() <= self.sizes.aim * MAX_TOKEN_BYTES
            && tokens::estimate_tokens(&self.document.text[span.clone()]) <= self.sizes.aim
    }

    fn push_passage(&mut self, section: usize, span: Range<usize>) {
        let text = self.document.text[span.clone()].to_owned();
        self.push_passage_text(section, span, text);
    }

    fn push_passage_text(&mut self, section: usize, span: Range<usize>, text: String) {
        let text = text.trim_start_matches('\u{feff}');
        if text.trim().is_empty() {
            return;
        }
        let leading = text.len() - text.trim_start_matches(['\n', '\r']).len();
        let text = without_blank_ends(text[leading..].trim_end());
        let source = &self.document.text[span.clone()];
        let start = span.start + (source.len() - source.trim_start().len());
        let end = span.start + source.trim_end().len();
        let path = self.document.heading_path(section).into_iter();
        let path = path.map(without_heading_anchor);
        let mut headings: Vec<String> = path.map(shorten_name).collect();
        limit_headings(&mut headings);
        self.chunks.push(DocumentPassage {
            headings,
            lines: self.document.line_range(&(start..end.max(start))),
            tokens: tokens::estimate_tokens(&text),
            text,
        });
    }
}

fn first_line(text: &str) -> &str {
    text.split_inclusive('\n').next().unwrap_or("")
}

/// Splits a line that is too long for a passage at sentence ends, else between
/// words, else between characters.
fn split_line(text: &str, line: Range<usize>, most: usize) -> Vec<Range<usize>> {
    // A token is at least one byte, so a piece of `most` bytes always fits; four
    // bytes a token is the usual case and is checked below.
    let mut pieces = Vec::new();
    let mut start = line.start;
    while start < line.end {
        let mut width = most * 4;
        let end = loop {
            let end = find_boundary(text, start, line.end, width);
            if width <= most || tokens::estimate_tokens(&text[start..end]) <= most {
                break end;
            }
            width /= 2;
        };
        pieces.push(start..end);
        start = end;
    }
    pieces
}

/// Finds the best place to cut within `width` bytes of `start`.
fn find_boundary(text: &str, start: usize, limit: usize, width: usize) -> usize {
    if start + width >= limit {
        return limit;
    }
    let mut hard = start + width;
    while !text.is_char_boundary(hard) {
        hard -= 1;
    }
    if hard == start {
        return start + text[start..].chars().next().map_or(1, char::len_utf8);
    }
    let window = &text[start..hard];
    let sentence = window
        .char_indices()
        .zip(window.chars().skip(1))
        .filter(|((_, c), next)| {
            matches!(c, '.' | '!' | '?') && next.is_whitespace() || matches!(c, '。' | '！' | '？')
        })
        .map(|((i, c), _)| i + c.len_utf8())
        // A sentence end in the first half would make the piece too short.
        .filter(|i| *i > window.len() / 2)
        .last();
    sentence
        .or_else(|| {
            let (i, c) = window
                .char_indices()
                .rev()
                .find(|(_, c)| c.is_whitespace())?;
            (i > 0).then_some(i + c.len_utf8())
        })
        .map_or(hard, |i| start + i)
}

/// Returns a text without the runs of spaces that end its lines, and with all
/// its lines. Tags and drawings in a page are as many spaces as they had bytes,
/// which would be most of what an agent gets of it. Two spaces break a line.
fn without_blank_ends(text: &str) -> String {
    let mut out = String::with_capacity(text.len());
    for line in text.split_inclusive('\n') {
        let body = line.trim_end_matches(['\n', '\r']);
        let words = body.trim_end_matches([' ', '\t']);
        let kept = if body.len() - words.len() > 2 {
            words
        } else {
            body
        };
        out.push_str(kept);
        out.push_str(&line[body.len()..]);
    }
    out
}

#[cfg(test)]
mod tests;
