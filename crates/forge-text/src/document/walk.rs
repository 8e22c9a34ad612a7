//! One pass over the CommonMark events of a body: headings, blocks, tasks,
//! code, comments, block ids and the links that the grammar itself knows.
//!
//! Structure comes from the parser's events alone, never from a pattern.

use std::ops::Range;
use std::panic::{AssertUnwindSafe, catch_unwind};

use pulldown_cmark::{CodeBlockKind, Event, LinkType, Options, Parser, Tag, TagEnd};

use super::blocks::{BlockBuilder, HeadingLine, build_sections};
use super::links::{self, DocumentLink, LinkKind};
use super::{
    BlockId, BlockKind, CodeBlock, DocumentBlock, DocumentSection, ParseProblem, TaskItem, lines,
    plain,
};

/// The structure that one pass over the body finds.
#[derive(Debug, Default)]
pub(super) struct BodyOutline {
    pub(super) sections: Vec<DocumentSection>,
    pub(super) blocks: Vec<DocumentBlock>,
    pub(super) tasks: Vec<TaskItem>,
    pub(super) code: Vec<CodeBlock>,
    pub(super) inline_code: Vec<Range<usize>>,
    pub(super) block_ids: Vec<BlockId>,
    pub(super) comments: Vec<Range<usize>>,
    /// Links that are part of the grammar, in text order.
    pub(super) links: Vec<DocumentLink>,
    /// Ranges in which no further link is searched: code, HTML, autolinks and
    /// link definitions. Sorted and disjoint.
    pub(super) opaque: Vec<Range<usize>>,
    /// Outermost links and images. Sorted and disjoint.
    pub(super) linked: Vec<Range<usize>>,
}

/// The nesting of containers beyond which a text is not read as Markdown. No
/// person writes such a text, and every line behind it costs the parser time
/// for each level.
pub(super) const MAX_NESTING_DEPTH: usize = 200;

/// The dialect: CommonMark with its common extensions.
pub(super) const PARSER_OPTIONS: Options = Options::ENABLE_TABLES
    .union(Options::ENABLE_FOOTNOTES)
    .union(Options::ENABLE_STRIKETHROUGH)
    .union(Options::ENABLE_TASKLISTS);

/// Reads the structure of the body from the parser's events. `source` is the
/// text with every lone CR as LF, so that offsets are those of the text and the
/// parser sees the lines that a person sees.
pub(super) fn outline_body(
    source: &str,
    body: Range<usize>,
    line_starts: &[usize],
    problems: &mut Vec<ParseProblem>,
) -> BodyOutline {
    let reason = if plain::nesting_depth(&source[body.clone()]) > MAX_NESTING_DEPTH {
        "Quotes or lists are nested too deeply to be read as Markdown"
    } else {
        // The parser is another project's code, and one malformed file must not
        // end a run over thousands; so a panic in it costs this file its finer
        // structure and nothing else.
        let walk =
            AssertUnwindSafe(|| EventWalk::new(source, body.clone(), line_starts).walk_events());
        match catch_unwind(walk) {
            Ok(outline) => return outline,
            Err(_) => "The text could not be read as Markdown",
        }
    };
    problems.push(ParseProblem {
        span: body.start..body.start,
        line: lines::line_number_of(line_starts, body.start),
        message: format!("{reason}; only headings, paragraphs and fenced code were recognised"),
    });
    plain::coarse_outline(source, body, line_starts)
}

struct EventWalk<'a> {
    source: &'a str,
    body: Range<usize>,
    line_starts: &'a [usize],
    out: BodyOutline,
    blocks: BlockBuilder<'a>,
    headings: Vec<HeadingLine>,
    depth: usize,
    /// Title of the top-level heading that is open.
    title: Option<OpenHeading>,
    items: Vec<OpenItem>,
    links: Vec<OpenLink>,
    /// End of the last inline element of the block that is open, if a block id
    /// may stand there.
    inline_end: Option<usize>,
}

#[derive(Default)]
struct OpenHeading {
    level: u8,
    span: Range<usize>,
    text: String,
    /// Parts of `text` that were code, where `[[` is not a link.
    code: Vec<Range<usize>>,
}

struct OpenItem {
    start: usize,
    /// The start of the first nested list.
    nested: Option<usize>,
    task: Option<usize>,
}

struct OpenLink {
    kind: LinkKind,
    destination: String,
    label: String,
    span: Range<usize>,
}

/// A label takes in the labels nested in it only this far, else images within
/// images would copy their text once for each level.
const MAX_NESTED_LABELS: usize = 4;

impl<'a> EventWalk<'a> {
    fn new(source: &'a str, body: Range<usize>, line_starts: &'a [usize]) -> Self {
        EventWalk {
            source,
            line_starts,
            out: BodyOutline::default(),
            blocks: BlockBuilder::new(source, line_starts, body.start),
            headings: Vec::new(),
            depth: 0,
            title: None,
            items: Vec::new(),
            links: Vec::new(),
            inline_end: None,
            body,
        }
    }

    fn walk_events(mut self) -> BodyOutline {
        let base = self.body.start;
        let events =
            Parser::new_ext(&self.source[self.body.clone()], PARSER_OPTIONS).into_offset_iter();
        for (_, definition) in events.reference_definitions().iter() {
            self.out
                .opaque
                .push(shift_range(definition.span.clone(), base));
        }
        for (event, range) in events {
            self.handle_event(event, shift_range(range, base));
        }
        let mut out = self.out;
        out.blocks = self.blocks.finish(self.body.end);
        out.sections = build_sections(self.headings, &self.body);
        make_disjoint(&mut out.opaque);
        out.links.sort_by_key(|link| link.span.start);
        out
    }

    fn handle_event(&mut self, event: Event<'a>, range: Range<usize>) {
        match event {
            Event::Start(tag) => {
                self.handle_start(tag, range);
                self.depth += 1;
            }
            Event::End(tag) => {
                self.depth -= 1;
                self.handle_end(tag, range);
            }
            Event::Text(text) => self.add_text(&text, range),
            Event::Code(text) => {
                let text = text.trim();
                if let Some(title) = &mut self.title {
                    let start = title.text.len();
                    title.code.push(start..start + text.len());
                }
                self.add_text(text, range.clone());
                self.inline_end = None;
                self.out.inline_code.push(range.clone());
                self.out.opaque.push(range);
            }
            Event::InlineHtml(_) => {
                self.inline_end = None;
                self.out.opaque.push(range);
            }
            Event::SoftBreak | Event::HardBreak => self.add_text(" ", range),
            Event::Rule => {
                if self.depth == 0 {
                    self.blocks.push_block(BlockKind::Rule, range);
                }
            }
            Event::TaskListMarker(done) => self.add_task(done, range),
            Event::FootnoteReference(_)
            | Event::Html(_)
            | Event::InlineMath(_)
            | Event::DisplayMath(_) => {}
        }
    }

    fn add_text(&mut self, text: &str, range: Range<usize>) {
        self.inline_end = Some(range.end);
        if let Some(title) = &mut self.title {
            title.text.push_str(text);
        }
        if let Some(link) = self.links.last_mut() {
            link.label.push_str(text);
        }
    }

    fn handle_start(&mut self, tag: Tag<'a>, range: Range<usize>) {
        if self.depth == 0
            && let Some(kind) = block_kind(&tag)
        {
            let lines = self.blocks.push_block(kind, range.clone());
            if let Tag::Heading { level, .. } = &tag {
                let level = *level as u8;
                self.title = Some(OpenHeading {
                    level,
                    span: lines,
                    ..OpenHeading::default()
                });
            }
        }
        match tag {
            Tag::Paragraph | Tag::Heading { .. } => self.inline_end = None,
            Tag::CodeBlock(kind) => self.add_code_block(kind, range),
            Tag::HtmlBlock => {
                collect_comments(self.source, range.clone(), &mut self.out.comments);
                self.out.opaque.push(range);
            }
            Tag::List(_) => {
                self.close_leaf();
                if let Some(item) = self.items.last_mut() {
                    item.nested.get_or_insert(range.start);
                }
            }
            Tag::Item => self.items.push(OpenItem {
                start: range.start,
                nested: None,
                task: None,
            }),
            Tag::Link {
                link_type,
                dest_url,
                ..
            } => {
                let kind = match link_type {
                    LinkType::Autolink | LinkType::Email => LinkKind::Auto,
                    LinkType::Inline => LinkKind::Inline,
                    _ => LinkKind::Reference,
                };
                self.open_link(kind, dest_url.into_string(), range);
            }
            Tag::Image { dest_url, .. } => {
                self.open_link(LinkKind::Image, dest_url.into_string(), range);
            }
            _ => {}
        }
    }

    fn handle_end(&mut self, tag: TagEnd, range: Range<usize>) {
        match tag {
            TagEnd::Paragraph => self.close_leaf(),
            TagEnd::Heading(_) => {
                self.close_leaf();
                if let Some(title) = self.title.take() {
                    self.headings.push(HeadingLine {
                        level: title.level,
                        title: collapse_spaces(&links::without_wiki_marks(
                            &title.text,
                            &title.code,
                        )),
                        span: title.span,
                    });
                }
            }
            TagEnd::Item => {
                self.close_leaf();
                self.close_item(range);
            }
            TagEnd::Link | TagEnd::Image => self.close_link(),
            _ => {}
        }
    }

    fn open_link(&mut self, kind: LinkKind, destination: String, span: Range<usize>) {
        if kind == LinkKind::Auto {
            self.out.opaque.push(span.clone());
        } else if self.links.is_empty() {
            self.out.linked.push(span.clone());
        }
        self.links.push(OpenLink {
            kind,
            destination,
            label: String::new(),
            span,
        });
    }

    fn close_link(&mut self) {
        let Some(link) = self.links.pop() else { return };
        if self.links.len() < MAX_NESTED_LABELS
            && let Some(outer) = self.links.last_mut()
        {
            outer.label.push_str(&link.label);
        }
        self.inline_end = Some(link.span.end);
        self.out.links.push(DocumentLink::from_destination(
            link.kind,
            &link.destination,
            link.label,
            link.span,
        ));
    }

    fn add_code_block(&mut self, kind: CodeBlockKind<'a>, range: Range<usize>) {
        let (language, fenced) = match kind {
            CodeBlockKind::Indented => (String::new(), false),
            CodeBlockKind::Fenced(info) => {
                // `rust,ignore` begins with the language.
                let word = info.split(|c: char| c.is_whitespace() || c == ',').next();
                (word.unwrap_or("").to_owned(), true)
            }
        };
        // The parser leaves the indentation out of indented code.
        let line = lines::line_start_of(self.line_starts, range.start).max(self.body.start);
        let indented = self.source[line..range.start]
            .bytes()
            .all(|b| b == b' ' || b == b'\t');
        let start = if indented { line } else { range.start };
        self.out.opaque.push(start..range.end);
        self.out.code.push(CodeBlock {
            language,
            fenced,
            span: start..range.end,
        });
    }

    fn add_task(&mut self, done: bool, range: Range<usize>) {
        let source = self.source.as_bytes();
        let Some(open) = memchr::memchr(b'[', &source[range.clone()]) else {
            return;
        };
        let mark = range.start + open + 1..range.start + open + 2;
        if self.source.get(mark.clone()).is_none() {
            return;
        }
        let Some(item) = self.items.last_mut() else {
            return;
        };
        item.task = Some(self.out.tasks.len());
        let line = lines::line_end_of(self.line_starts, range.start, self.source.len());
        self.out.tasks.push(TaskItem {
            done,
            text: self.source[range.end.min(line)..line].trim().to_owned(),
            span: item.start..line,
            mark,
        });
    }

    fn close_item(&mut self, range: Range<usize>) {
        let Some(item) = self.items.pop() else { return };
        let Some(task) = item.task else { return };
        let end = item.nested.unwrap_or(range.end);
        let line = lines::line_start_of(self.line_starts, item.start).max(self.body.start);
        let alone = self.source[line..item.start]
            .trim_matches(lines::BLANK_CHARS)
            .is_empty();
        let start = if alone { line } else { item.start };
        let text = self.source[start..end.max(start)].trim_end_matches(lines::BLANK_CHARS);
        let last = (start + text.len()).saturating_sub(1).max(start);
        let stop = lines::line_end_of(self.line_starts, last, self.source.len());
        self.out.tasks[task].span = start..stop;
    }

    /// Closes a block of running text, whose last word may be a block id.
    fn close_leaf(&mut self) {
        let Some(end) = self.inline_end.take() else {
            return;
        };
        self.out.block_ids.extend(find_block_id(self.source, end));
    }
}

/// Returns the block id that ends at `end`, ignoring trailing spaces.
pub(super) fn find_block_id(source: &str, end: usize) -> Option<BlockId> {
    let text = source[..end].trim_end_matches(lines::BLANK_CHARS);
    let bytes = text.as_bytes();
    let id_len = bytes
        .iter()
        .rev()
        .take_while(|b| b.is_ascii_alphanumeric() || **b == b'-')
        .count();
    let caret = (bytes.len() - id_len).checked_sub(1)?;
    let after_space = caret == 0 || bytes[caret - 1].is_ascii_whitespace();
    (id_len > 0 && bytes[caret] == b'^' && after_space).then(|| BlockId {
        id: text[caret + 1..].to_owned(),
        span: caret..text.len(),
    })
}

fn block_kind(tag: &Tag<'_>) -> Option<BlockKind> {
    Some(match tag {
        Tag::Paragraph => BlockKind::Paragraph,
        Tag::Heading { .. } => BlockKind::Heading,
        Tag::BlockQuote(_) => BlockKind::Quote,
        Tag::CodeBlock(_) => BlockKind::Code,
        Tag::HtmlBlock => BlockKind::Html,
        Tag::List(_) => BlockKind::List,
        Tag::Table(_) => BlockKind::Table,
        Tag::FootnoteDefinition(_) => BlockKind::Other,
        _ => return None,
    })
}

/// Collects the comments of an HTML block that begins with one.
fn collect_comments(source: &str, block: Range<usize>, out: &mut Vec<Range<usize>>) {
    let html = &source[block.clone()];
    let mut at = html.len() - html.trim_start_matches(lines::BLANK_CHARS).len();
    while html[at..].starts_with("<!--") {
        let end = html[at + 4..].find("-->").map(|close| at + 4 + close + 3);
        let stop = end.unwrap_or(html.trim_end_matches(lines::BLANK_CHARS).len());
        out.push(block.start + at..block.start + stop);
        at = stop + html[stop..].len() - html[stop..].trim_start_matches(lines::BLANK_CHARS).len();
    }
}

/// Collapses the white space of a title to single spaces.
fn collapse_spaces(text: &str) -> String {
    let mut out = String::with_capacity(text.len());
    for word in text.split_ascii_whitespace() {
        if !out.is_empty() {
            out.push(' ');
        }
        out.push_str(word);
    }
    out
}

fn shift_range(range: Range<usize>, base: usize) -> Range<usize> {
    range.start + base..range.end + base
}

/// Sorts ranges and drops those that begin inside an earlier one.
fn make_disjoint(ranges: &mut Vec<Range<usize>>) {
    ranges.sort_by_key(|range| (range.start, std::cmp::Reverse(range.end)));
    let mut end = 0;
    ranges.retain(|range| {
        let keep = range.start >= end && !range.is_empty();
        if keep {
            end = range.end;
        }
        keep
    });
}
