//! The coarse view of a text that the Markdown parser must not be given:
//! headings by `#`, fenced code, and paragraphs between blank lines.
//!
//! Looks at one line at a time and keeps no nesting, so no text can make it slow.

use std::ops::Range;

use super::blocks::{BlockBuilder, HeadingLine, build_sections};
use super::walk::{BodyOutline, find_block_id};
use super::{BlockKind, CodeBlock, TaskItem, lines};

pub(super) fn coarse_outline(
    source: &str,
    body: Range<usize>,
    line_starts: &[usize],
) -> BodyOutline {
    let mut out = BodyOutline::default();
    let mut blocks = BlockBuilder::new(source, line_starts, body.start);
    let mut headings = Vec::new();
    let mut paragraph: Option<Range<usize>> = None;
    let mut fence: Option<CodeFence> = None;
    let mut at = body.start;
    for line in lines::split_lines(&source[body.clone()]) {
        let span = at..at + line.len();
        at = span.end;
        if let Some(open) = &fence {
            if open.is_closed_by(line) {
                let code = open.start..span.end;
                blocks.push_block(BlockKind::Code, code.clone());
                out.close_fence(fence.take(), code);
            }
            continue;
        }
        let opened = CodeFence::parse_opening(line, span.start);
        let heading = parse_atx_heading(line);
        if opened.is_none()
            && heading.is_none()
            && !line.trim_matches(lines::BLANK_CHARS).is_empty()
        {
            out.tasks.extend(parse_task(line, &span));
            paragraph.get_or_insert(span.clone()).end = span.end;
            continue;
        }
        if let Some(span) = paragraph.take() {
            out.block_ids.extend(find_block_id(source, span.end));
            blocks.push_block(BlockKind::Paragraph, span);
        }
        if let Some((level, title)) = heading {
            blocks.push_block(BlockKind::Heading, span.clone());
            headings.push(HeadingLine {
                level,
                title: title.to_owned(),
                span,
            });
        }
        fence = opened;
    }
    if let Some(open) = fence {
        let code = open.start..body.end;
        blocks.push_block(BlockKind::Code, code.clone());
        out.close_fence(Some(open), code);
    }
    if let Some(span) = paragraph {
        out.block_ids.extend(find_block_id(source, span.end));
        blocks.push_block(BlockKind::Paragraph, span);
    }
    out.blocks = blocks.finish(body.end);
    out.sections = build_sections(headings, &body);
    out
}

/// Returns how deeply some line may nest quotes and list items, from the
/// markers at its start. Indentation counts for little: a line may be indented
/// for other reasons, and deep nesting by indentation makes a text long.
pub(super) fn nesting_depth(body: &str) -> usize {
    let bytes = body.as_bytes();
    let mut deepest = count_block_markers(bytes);
    for end in memchr::memchr_iter(b'\n', bytes) {
        deepest = deepest.max(count_block_markers(&bytes[end + 1..]));
    }
    deepest
}

fn count_block_markers(line: &[u8]) -> usize {
    let mut count = 0;
    let mut digits = 0;
    let mut columns = 0;
    for (at, byte) in line.iter().enumerate() {
        let blank_next = || matches!(line.get(at + 1), None | Some(b' ' | b'\t' | b'\r' | b'\n'));
        match byte {
            b' ' | b'\t' => {
                digits = 0;
                columns += if *byte == b'\t' { 4 } else { 1 };
            }
            b'>' => count += 1,
            b'-' | b'+' | b'*' if blank_next() => count += 1,
            b'.' | b')' if digits > 0 && blank_next() => count += 1,
            b'0'..=b'9' if digits < 9 => digits += 1,
            _ => break,
        }
    }
    if count == 0 { 0 } else { count + columns / 10 }
}

impl BodyOutline {
    fn close_fence(&mut self, fence: Option<CodeFence>, span: Range<usize>) {
        self.opaque.push(span.clone());
        self.code.push(CodeBlock {
            language: fence.map(|fence| fence.language).unwrap_or_default(),
            fenced: true,
            span,
        });
    }
}

/// The opening line of a code block.
pub(super) struct CodeFence {
    mark: u8,
    len: usize,
    start: usize,
    language: String,
}

impl CodeFence {
    pub(super) fn parse_opening(line: &str, start: usize) -> Option<CodeFence> {
        let text = trim_indentation(line)?;
        let mark = *text
            .as_bytes()
            .first()
            .filter(|mark| matches!(mark, b'`' | b'~'))?;
        let len = text.bytes().take_while(|byte| *byte == mark).count();
        let info = text[len..].trim();
        let valid = len >= 3 && (mark == b'~' || !info.contains('`'));
        valid.then(|| CodeFence {
            mark,
            len,
            start,
            language: info.split_whitespace().next().unwrap_or("").to_owned(),
        })
    }

    pub(super) fn is_closed_by(&self, line: &str) -> bool {
        trim_indentation(line).is_some_and(|text| {
            let text = text.trim_end_matches(lines::BLANK_CHARS);
            text.len() >= self.len && text.bytes().all(|byte| byte == self.mark)
        })
    }
}

impl CodeFence {
    pub(super) fn closing_line(&self) -> String {
        char::from(self.mark).to_string().repeat(self.len)
    }
}

/// Returns the line without its indentation, if that is less than code would
/// need.
fn trim_indentation(line: &str) -> Option<&str> {
    let text = line.trim_start_matches(' ');
    (line.len() - text.len() < 4 && !text.starts_with('\t')).then_some(text)
}

fn parse_atx_heading(line: &str) -> Option<(u8, &str)> {
    let text = trim_indentation(line)?.trim_end_matches(lines::BLANK_CHARS);
    let level = text.bytes().take_while(|byte| *byte == b'#').count();
    let rest = &text[level..];
    if !(1..=6).contains(&level) || !(rest.is_empty() || rest.starts_with([' ', '\t'])) {
        return None;
    }
    let title = rest.trim();
    let open = title.trim_end_matches('#');
    let closed = open.is_empty() || open.ends_with([' ', '\t']);
    Some((level as u8, if closed { open.trim_end() } else { title }))
}

fn parse_task(line: &str, span: &Range<usize>) -> Option<TaskItem> {
    let indent = line.len() - line.trim_start_matches(lines::BLANK_CHARS).len();
    let item = line[indent..]
        .strip_prefix(['-', '*', '+'])?
        .strip_prefix(" [")?;
    let mark = *item
        .as_bytes()
        .first()
        .filter(|mark| matches!(mark, b' ' | b'x' | b'X'))?;
    let text = item[1..].strip_prefix("] ")?;
    let at = span.start + indent + 3;
    Some(TaskItem {
        done: mark != b' ',
        text: text.trim().to_owned(),
        span: span.clone(),
        mark: at..at + 1,
    })
}
