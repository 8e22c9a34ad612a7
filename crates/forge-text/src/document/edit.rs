//! Edits as byte ranges of a document: what an edit does not name stays as it is.
//! Computes new text; writing it to disk is the workspace's.

use std::ops::Range;

use crate::diagnostic::Diagnostic;

use super::plain::CodeFence;
use super::{BlockKind, Document, DocumentBlock, lines};

/// A replacement of `span` by `text`. An empty span inserts.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct TextEdit {
    /// The bytes that are replaced.
    pub span: Range<usize>,
    /// The text in their place.
    pub text: String,
}

/// An error of applying edits. All but `Disturbs` are faults of the caller.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum EditError {
    /// The edit is outside of the text: it was computed on another one.
    #[error("Edit of bytes {}..{} is outside of a text of {len} bytes", span.start, span.end)]
    OutOfBounds {
        /// The bytes that the edit names.
        span: Range<usize>,
        /// The length of the text.
        len: usize,
    },
    /// The edit begins or ends inside of a character.
    #[error("Edit of bytes {}..{} would cut a character in two", span.start, span.end)]
    NotOnCharBoundary {
        /// The bytes that the edit names.
        span: Range<usize>,
    },
    /// Two edits change the same bytes.
    #[error("Edits of bytes {}..{} and {}..{} overlap", first.start, first.end, second.start, second.end)]
    Overlap {
        /// The bytes of the earlier edit.
        first: Range<usize>,
        /// The bytes of the later edit.
        second: Range<usize>,
    },
    /// Something above the edited line is left open, so that the edit would
    /// change how other lines are read. The document is at fault; the user can
    /// close what is open.
    #[error(
        "Line {line} would change its meaning with this edit; something above it is left open \
         (a bracket, a comment, a block of code)"
    )]
    Disturbs {
        /// The line that would be read in another way.
        line: usize,
    },
}

impl Diagnostic for EditError {
    fn code(&self) -> &'static str {
        match self {
            EditError::OutOfBounds { .. } => "edit.out-of-bounds",
            EditError::NotOnCharBoundary { .. } => "edit.inside-character",
            EditError::Overlap { .. } => "edit.overlap",
            EditError::Disturbs { .. } => "edit.disturbs",
        }
    }
}

/// Applies edits that were all computed on `text`. Insertions at one place keep
/// their order.
pub fn apply_edits(text: &str, mut edits: Vec<TextEdit>) -> Result<String, EditError> {
    // The sort is stable, so insertions at one place keep their order.
    edits.sort_by_key(|edit| (edit.span.start, edit.span.end));
    let grown: usize = edits.iter().map(|edit| edit.text.len()).sum();
    let mut out = String::with_capacity(text.len() + grown);
    let mut last = 0..0;
    for TextEdit { span, text: new } in edits {
        if span.start > span.end || span.end > text.len() {
            return Err(EditError::OutOfBounds {
                span,
                len: text.len(),
            });
        }
        if !text.is_char_boundary(span.start) || !text.is_char_boundary(span.end) {
            return Err(EditError::NotOnCharBoundary { span });
        }
        if span.start < last.end {
            return Err(EditError::Overlap {
                first: last,
                second: span,
            });
        }
        out.push_str(&text[last.end..span.start]);
        out.push_str(&new);
        last = span;
    }
    out.push_str(&text[last.end..]);
    Ok(out)
}

impl Document {
    /// Returns an edit that deletes whole lines. Where the line before ends
    /// with CR alone and an empty line ended by LF follows, a CR stays, because
    /// the two would become one line end.
    pub fn delete_lines(&self, span: Range<usize>) -> TextEdit {
        let joins = self.text[..span.start].ends_with('\r')
            && !self.text[span.start..].starts_with('\n')
            && self.text[span.end..].starts_with('\n');
        let text = if joins { "\r" } else { "" }.to_owned();
        TextEdit { span, text }
    }

    /// Returns the line end that most lines of the text have; LF if there is
    /// none.
    pub fn newline(&self) -> &'static str {
        self.newline.get_or_init(|| self.dominant_newline())
    }

    fn dominant_newline(&self) -> &'static str {
        let (mut lf, mut crlf, mut cr) = (0, 0, 0);
        let bytes = self.text.as_bytes();
        for at in memchr::memchr2_iter(b'\n', b'\r', bytes) {
            match (bytes[at], bytes.get(at + 1)) {
                (b'\r', Some(b'\n')) => crlf += 1,
                (b'\r', _) => cr += 1,
                _ if at > 0 && bytes[at - 1] == b'\r' => {}
                _ => lf += 1,
            }
        }
        if crlf > lf && crlf >= cr {
            "\r\n"
        } else if cr > lf {
            "\r"
        } else {
            "\n"
        }
    }

    /// Replaces a section's own text. The heading and the sections below it
    /// stay, and so do the blank lines around the text.
    pub fn replace_section(&self, section: usize, body: &str) -> TextEdit {
        let own = self.sections[section].own.clone();
        let Some(core) = self.content_span(&own) else {
            return self.fill_section(section, body);
        };
        let body = self.prepare_text(body);
        if body.is_empty() {
            let next = if own.end < self.text.len() {
                self.newline()
            } else {
                ""
            };
            let text = self.with_heading_newline(section, next.to_owned());
            return TextEdit { span: own, text };
        }
        let tail = self.separator_after(&own, core.end);
        // Text that differs only in line ends keeps its own, which may be
        // mixed.
        let same = line_texts(self.span_text(&core)).eq(line_texts(&body));
        let body = if same { self.span_text(&core) } else { &body };
        TextEdit {
            text: format!("{body}{tail}"),
            span: core,
        }
    }

    /// Adds text after the last line of a section that is not blank. A list
    /// item joins a list and a row a table; anything else gets a blank line
    /// before it.
    pub fn append_to_section(&self, section: usize, text: &str) -> TextEdit {
        let own = self.sections[section].own.clone();
        let Some(core) = self.content_span(&own) else {
            return self.fill_section(section, text);
        };
        let text = self.prepare_text(text);
        if text.is_empty() {
            return TextEdit {
                span: core.end..core.end,
                text,
            };
        }
        let newline = self.newline();
        let mut new = String::new();
        if let Some(close) = self.closing_marker(core.end) {
            new.push_str(newline);
            new.push_str(&close);
        }
        new.push_str(newline);
        if !self.continues_block(core.end, &text) {
            new.push_str(newline);
        }
        new.push_str(&text);
        new.push_str(&self.separator_after(&own, core.end));
        TextEdit {
            span: core.end..core.end,
            text: new,
        }
    }

    /// Adds a section at the end of the document. The title is one line of
    /// Markdown, whatever it holds.
    pub fn append_section(&self, level: u8, title: &str, body: &str) -> TextEdit {
        let newline = self.newline();
        let end = self.text.len();
        let (from, wanted) = match self.content_span(&self.body) {
            Some(core) => (core.end, 2),
            None => (self.body.start, usize::from(self.front_matter.is_some())),
        };
        let mut line_ends = count_line_ends(&self.text[from..]);
        let mut text = String::new();
        if end > self.bom_len() && !self.text.ends_with(['\n', '\r']) {
            text.push_str(newline);
            line_ends += usize::from(end > self.body.start);
        }
        if self.text.ends_with('\r') && newline == "\n" {
            // The two become one line end.
            line_ends = line_ends.saturating_sub(1);
        }
        if let Some(close) = self.closing_marker(from) {
            text.push_str(&close);
            text.push_str(newline);
            line_ends = 1;
        }
        text.push_str(&newline.repeat(wanted.max(line_ends) - line_ends));
        text.extend(std::iter::repeat_n('#', usize::from(level.clamp(1, 6))));
        text.push(' ');
        text.push_str(&escape_heading_text(title));
        text.push_str(newline);
        let body = self.prepare_text(body);
        if !body.is_empty() {
            text.push_str(newline);
            text.push_str(&body);
            text.push_str(newline);
        }
        TextEdit {
            span: end..end,
            text,
        }
    }

    /// Adds a section after everything that another one encloses.
    pub fn append_subsection(
        &self,
        section: usize,
        level: u8,
        title: &str,
        body: &str,
    ) -> TextEdit {
        let span = self.sections[section].span.clone();
        let end = self.content_span(&span).map_or(span.end, |core| core.end);
        let newline = self.newline();
        let mut text = String::new();
        if let Some(close) = self.closing_marker(end) {
            text.push_str(newline);
            text.push_str(&close);
        }
        let marks = "#".repeat(usize::from(level.clamp(1, 6)));
        let title = escape_heading_text(title);
        text.push_str(&format!("{newline}{newline}{marks} {title}"));
        let body = self.prepare_text(body);
        if !body.is_empty() {
            text.push_str(&format!("{newline}{newline}{body}"));
        }
        text.push_str(&self.separator_after(&span, end));
        TextEdit {
            span: end..end,
            text,
        }
    }

    /// Marks a task as done or as open.
    pub fn set_task_done(&self, task: usize, done: bool) -> TextEdit {
        let task = &self.tasks[task];
        let text = match (done, task.done) {
            (true, true) => self.span_text(&task.mark),
            (true, false) => "x",
            (false, _) => " ",
        };
        TextEdit {
            span: task.mark.clone(),
            text: text.to_owned(),
        }
    }

    /// Returns the lines of a span without blank lines around them and without
    /// the last line end; `None` if all are blank.
    fn content_span(&self, span: &Range<usize>) -> Option<Range<usize>> {
        let text = self.span_text(span);
        let end = span.start + text.trim_end_matches(lines::BLANK_CHARS).len();
        let first = span.end - text.trim_start_matches(lines::BLANK_CHARS).len();
        if first >= end {
            return None;
        }
        let start = lines::line_start_of(&self.line_starts, first).max(span.start);
        let line_end =
            lines::line_end_of(&self.line_starts, end - 1, self.text.len()).min(span.end);
        Some(start..lines::trim_line_end(&self.text, start..line_end).end)
    }

    /// Writes the text of a section that has none yet.
    fn fill_section(&self, section: usize, body: &str) -> TextEdit {
        let own = self.sections[section].own.clone();
        let newline = self.newline();
        let body = self.prepare_text(body);
        if body.is_empty() {
            return TextEdit {
                span: own.start..own.start,
                text: body,
            };
        }
        let before = if own.start > 0 && own.start > self.bom_len() {
            newline
        } else {
            ""
        };
        let after = if own.end < self.text.len() {
            newline
        } else {
            ""
        };
        let text = self.with_heading_newline(section, format!("{before}{body}{newline}{after}"));
        TextEdit { span: own, text }
    }

    /// Returns `text` with a line end before it if the heading has none: a
    /// heading on the last line may lack it.
    fn with_heading_newline(&self, section: usize, text: String) -> String {
        let start = self.sections[section].own.start;
        let open = start > self.bom_len() && !self.text[..start].ends_with(['\n', '\r']);
        if open && !text.is_empty() {
            format!("{}{text}", self.newline())
        } else {
            text
        }
    }

    /// Returns what must follow new text that ends at `end` of a section's own
    /// text: a line end at the end of the file, a blank line before a heading.
    fn separator_after(&self, own: &Range<usize>, end: usize) -> String {
        let rest = &self.text[end..own.end];
        let line_ends = count_line_ends(rest);
        let wanted = if own.end < self.text.len() { 2 } else { 1 };
        let newline = match self.newline() {
            // Before a line feed it would be one line end with it, not two.
            "\r" if rest.starts_with('\n') => "\n",
            newline => newline,
        };
        newline.repeat(wanted.max(line_ends) - line_ends)
    }

    /// Returns new text in the document's own line ends and without blank lines
    /// around it. A fence or comment that it leaves open is closed, else it
    /// would swallow the sections behind it.
    fn prepare_text(&self, text: &str) -> String {
        let mut lines: Vec<&str> = line_texts(text)
            .skip_while(|line| is_blank_line(line))
            .collect();
        lines.truncate(
            lines
                .iter()
                .rposition(|line| !is_blank_line(line))
                .map_or(0, |last| last + 1),
        );
        let new = lines.join(self.newline());
        let read = super::parse_document(new);
        match read
            .content_span(&read.body)
            .and_then(|core| read.closing_marker(core.end))
        {
            Some(close) => read.text + self.newline() + &close,
            None => read.text,
        }
    }

    /// Returns `true` if `text` continues the list or table that ends at `end`.
    fn continues_block(&self, end: usize, text: &str) -> bool {
        match self.block_ending_at(end).map(|block| block.kind) {
            Some(BlockKind::List) => {
                let first = text.trim_start_matches(' ');
                let digits = first.bytes().take_while(u8::is_ascii_digit).count();
                ["- ", "* ", "+ "]
                    .iter()
                    .any(|mark| first.starts_with(mark))
                    || (digits > 0
                        && [". ", ") "]
                            .iter()
                            .any(|mark| first[digits..].starts_with(mark)))
            }
            Some(BlockKind::Table) => text.starts_with('|'),
            _ => false,
        }
    }

    /// Returns what closes a fence, comment or tag that would swallow all that
    /// follows.
    fn closing_marker(&self, end: usize) -> Option<String> {
        let block = self.block_ending_at(end)?;
        let text = self.span_text(&block.span).trim_matches(lines::BLANK_CHARS);
        match block.kind {
            BlockKind::Code => {
                let index = self
                    .code
                    .partition_point(|code| code.span.start < block.span.start);
                self.code
                    .get(index)
                    .filter(|code| code.fenced)
                    .and_then(|_| unclosed_fence(self.span_text(&block.span)))
            }
            BlockKind::Html => unclosed_html_marker(text).map(str::to_owned),
            _ => None,
        }
    }

    fn block_ending_at(&self, end: usize) -> Option<&DocumentBlock> {
        let index = self.blocks.partition_point(|block| block.span.start < end);
        self.blocks[..index]
            .last()
            .filter(|block| end <= block.span.end)
    }

    fn bom_len(&self) -> usize {
        if self.text.starts_with('\u{feff}') {
            '\u{feff}'.len_utf8()
        } else {
            0
        }
    }
}

fn is_blank_line(line: &str) -> bool {
    line.trim_matches(lines::BLANK_CHARS).is_empty()
}

/// Returns the lines without their ends.
fn line_texts(text: &str) -> impl Iterator<Item = &str> {
    lines::split_lines(text).map(|line| &line[..lines::trim_line_end(line, 0..line.len()).end])
}

fn count_line_ends(text: &str) -> usize {
    lines::split_lines(text)
        .filter(|line| line.ends_with(['\n', '\r']))
        .count()
}

/// Escapes a title so that it stays one line and keeps its last `#`.
fn escape_heading_text(title: &str) -> String {
    let mut text = super::inert::to_single_line(title);
    let open = text.trim_end_matches('#').len();
    if open < text.len() && (open == 0 || text[..open].ends_with(' ')) {
        text.insert(open, '\\');
    }
    text
}

/// Returns the fence that closes a code block which the text leaves open.
fn unclosed_fence(block: &str) -> Option<String> {
    let mut lines = lines::split_lines(block);
    let fence = CodeFence::parse_opening(lines.next()?, 0)?;
    let closed = lines.last().is_some_and(|line| fence.is_closed_by(line));
    (!closed).then(|| fence.closing_line())
}

/// Returns what closes an HTML block that blank lines do not end. The parser
/// waits for the tag that it began with, in small letters, whatever else there
/// is.
fn unclosed_html_marker(text: &str) -> Option<&'static str> {
    let raw = [
        ("pre", "</pre>"),
        ("script", "</script>"),
        ("style", "</style>"),
        ("textarea", "</textarea>"),
    ];
    let close = if text.starts_with("<!--") {
        "-->"
    } else if text.starts_with("<?") {
        "?>"
    } else if text.starts_with("<![CDATA[") {
        "]]>"
    } else if text.starts_with("<!") {
        ">"
    } else {
        let tag = text.strip_prefix('<')?;
        let begins = |name: &str| {
            tag.get(..name.len())
                .is_some_and(|it| it.eq_ignore_ascii_case(name))
                // The vertical tab is white space to it, and not to Rust.
                && tag[name.len()..]
                    .chars()
                    .next()
                    .is_none_or(|c| matches!(c, '\t'..='\r' | ' ' | '>'))
        };
        raw.iter().find(|(name, _)| begins(name))?.1
    };
    (!text.contains(close)).then_some(close)
}
