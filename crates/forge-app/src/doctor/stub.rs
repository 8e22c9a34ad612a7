//! What must stay of a file that agents load: front matter, rules, commands,
//! imports, and what its author marked. The rest is explanation: it goes to
//! `knowledge/legacy/`, or for a skill to its `references/`, word for word
//! and under its headings. Lines are kept whole or moved, and where they were a
//! line states what moved and where it is.

use std::collections::{BTreeMap, BTreeSet};
use std::ops::Range;

use forge_clients::setup::stub as setup_lines;

use crate::document::{
    self, BlockKind, Document, DocumentBlock, DocumentSection, LinkKind, TextEdit,
};
use crate::tokens::{Tokenizer, count_tokens};
use crate::workspace::RelPath;

mod rules;

use rules::SectionRole;

/// A stub stays below this many tokens of `o200k`, whatever is configured.
pub const MAX_STUB_TOKENS: usize = 500;

/// Marks of the lines that `setup` writes. They differ from ours, so that
/// `uninstall` never removes a stub.
const SETUP_BEGIN_MARK: &str = "memory-forge:begin";
const SETUP_END_MARK: &str = "memory-forge:end";
const STUB_BEGIN_MARK: &str = "memory-forge:stub:begin";
const STUB_END_MARK: &str = "memory-forge:stub:end";
const KEEP_BEGIN_MARK: &str = "memory-forge:keep";
const KEEP_END_MARK: &str = "/memory-forge:keep";

/// Start of the line that replaces moved text.
const MOVED: &str = "> Moved to `";

/// Choice for a section of a file.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub enum SectionChoice {
    /// All of it stays.
    Keep,
    /// Rules, commands and imports stay, the rest moves.
    #[default]
    KeepRules,
    /// All of it moves that is not marked to stay.
    Move,
}

/// Choices of a person for the sections of a file, by their number in it; the
/// default for those that are not named.
pub type SectionChoices = BTreeMap<usize, SectionChoice>;

/// A section and what a repair does to it, for a person to decide.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct SectionPlan {
    /// Its number in the file, by which it is chosen.
    pub number: usize,
    /// The level of its heading.
    pub level: u8,
    /// The text of its heading; empty above the first one.
    pub title: String,
    /// Tokens of `o200k`, without the sections below it.
    pub tokens: usize,
    /// Of these, those that move.
    pub moved: usize,
    /// What happens to it.
    pub choice: SectionChoice,
}

/// A file in two parts.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct FileParts {
    /// What stays in the file, with the lines that lead to the rest.
    pub stays: String,
    /// Tokens of `o200k` of what stays; above the limit where rules and
    /// commands alone are more.
    pub tokens: usize,
    /// What moves, with the headings that it was under.
    pub moved: String,
    /// The sections of the file, in text order.
    pub sections: Vec<SectionPlan>,
}

/// Reason why nothing moves.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum StubRefusal {
    /// The lines that must stay exceed the limit alone, and moving the rest
    /// saves little.
    TooMuchMustStay {
        /// Tokens of what must stay.
        tokens: usize,
    },
    /// The file has no line that can move.
    NothingToMove,
}

/// Decides what stays of `text`, the text of `source`, when the rest is in
/// `legacy`.
pub fn make_stub(
    text: &str,
    source: &RelPath,
    legacy: &RelPath,
    limit: usize,
    choices: &SectionChoices,
) -> Result<FileParts, StubRefusal> {
    let limit = MAX_STUB_TOKENS.min(limit + 1);
    // The lines of `setup` come and go as if the file had never been shortened.
    let (own, block) = setup_lines::take_block(text);
    let restore = |text: String| match &block {
        Some(block) => setup_lines::put_block(&text, block),
        None => text,
    };
    shorten_to_limit(&own, legacy.as_str(), limit, choices, |text| {
        restore(with_block(&replace_imports_by_paths(&text, source)))
    })
}

/// Splits the text of a skill into what it orders and what explains it, which
/// goes to `reference`, a path relative to the skill.
pub fn split_skill(
    text: &str,
    reference: &str,
    limit: usize,
    choices: &SectionChoices,
) -> Result<FileParts, StubRefusal> {
    shorten_to_limit(text, reference, limit + 1, choices, |text| text)
}

/// Where a limit cannot be reached, a move must save this many tokens to be
/// worth a change.
const MIN_SAVED: usize = 100;

/// Returns the longest form with fewer tokens than `limit`, else the shortest.
fn shorten_to_limit(
    text: &str,
    target: &str,
    limit: usize,
    choices: &SectionChoices,
    finish: impl Fn(String) -> String,
) -> Result<FileParts, StubRefusal> {
    let document = document::parse_document(text);
    let mut least: Option<FileParts> = None;
    for extent in [CommandExtent::Sections, CommandExtent::Commands] {
        let stays = KeptLines::of(&document, extent, choices, target, MIN_MOVED);
        if stays.places(&document).is_empty() {
            continue;
        }
        let parts = FileParts {
            stays: finish(stays.render(&document)),
            tokens: 0,
            moved: stays.moved(&document),
            sections: stays.sections(&document, choices),
        };
        let tokens = count_tokens(Tokenizer::O200k, &parts.stays);
        let parts = FileParts { tokens, ..parts };
        if tokens < limit {
            return Ok(parts);
        }
        if least.as_ref().is_none_or(|known| tokens < known.tokens) {
            least = Some(parts);
        }
    }
    let Some(parts) = least else {
        return Err(StubRefusal::NothingToMove);
    };
    let before = count_tokens(Tokenizer::O200k, &document.text);
    // After a choice by a person, no note that it saves little.
    if choices.is_empty() && before.saturating_sub(parts.tokens) < MIN_SAVED {
        let tokens = parts.tokens;
        return Err(StubRefusal::TooMuchMustStay { tokens });
    }
    Ok(parts)
}

/// Extent to which sections about commands stay; the first one that fits is
/// used.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum CommandExtent {
    Sections,
    /// Only the commands of those sections: code, and lines with code in them.
    Commands,
}

/// For every line whether it stays.
#[derive(Clone)]
struct KeptLines {
    lines: Vec<bool>,
    /// The block of each line; none for blank ones.
    blocks: Vec<Option<usize>>,
    /// Notes about moved text, by the line that each is inserted before.
    pointers: BTreeMap<usize, String>,
}

/// Fewer tokens than this in one place are not worth a line that leads to them.
const MIN_MOVED: usize = 40;

/// An introduction with more words than this is an explanation.
const MAX_INTRODUCTION_WORDS: usize = 60;

impl KeptLines {
    fn of(
        document: &Document,
        extent: CommandExtent,
        choices: &SectionChoices,
        target: &str,
        least: usize,
    ) -> KeptLines {
        let mut blocks = vec![None; document.line_starts.len()];
        for (index, block) in document.blocks.iter().enumerate() {
            if !block.span.is_empty() {
                let (first, last) = document.line_range(&block.span);
                blocks[first - 1..last].fill(Some(index));
            }
        }
        let mut stays = KeptLines {
            lines: vec![false; document.line_starts.len()],
            blocks,
            pointers: BTreeMap::new(),
        };
        let roles = rules::section_roles(document);
        stays.keep_command_sections(document, extent, &roles);
        stays.keep_introduction(document);
        stays.keep_rules(document, &roles);
        stays.keep_code(document, &roles);
        stays.complete(document);
        stays.keep_groups(document, &roles);
        stays.keep_small(document, least);
        stays.obey(document, choices);
        // What must stay stays, whatever was chosen.
        if let Some(front) = &document.front_matter {
            stays.keep(document, &front.span);
        }
        stays.keep_marked(document);
        for link in &document.links {
            if link.kind == LinkKind::Import {
                stays.keep(document, &link.span);
            }
        }
        stays.complete(document);
        stays.point(document, target);
        stays
    }

    /// Returns the moved text, with the headings above it.
    fn moved(&self, document: &Document) -> String {
        let mut moves = KeptLines {
            lines: self.lines.iter().map(|stays| !stays).collect(),
            blocks: self.blocks.clone(),
            pointers: BTreeMap::new(),
        };
        moves.complete(document);
        let text = moves.render(document);
        text.trim_start_matches('\u{feff}').to_owned()
    }

    /// Keeps the lines of a span.
    fn keep(&mut self, document: &Document, span: &Range<usize>) {
        if span.is_empty() {
            return;
        }
        let (first, last) = document.line_range(span);
        self.lines[first - 1..last].fill(true);
    }

    /// Keeps marked parts. Marks are comments on lines of their own around a
    /// part, or one at the end of a line. An unclosed part extends to the end:
    /// where the author's intention is unclear, nothing moves.
    fn keep_marked(&mut self, document: &Document) {
        let code = rules::code_lines(document);
        let mut closing: Option<&str> = None;
        for (index, is_code) in code.into_iter().enumerate() {
            let span = line_span(document, index);
            let text = document
                .span_text(&span)
                .trim_start_matches('\u{feff}')
                .trim();
            let in_front = document.body.start > span.start && !text.is_empty();
            if in_front || is_code && closing.is_none() {
                // A marker inside code is an example, except as a trailing comment.
                self.lines[index] |= trailing_comment(text) == Some("keep");
                continue;
            }
            match (closing, whole_line_comment(text)) {
                (Some(close), found) => {
                    self.lines[index] = true;
                    if found == Some(close) {
                        closing = None;
                    }
                }
                (None, Some(STUB_BEGIN_MARK)) => closing = Some(STUB_END_MARK),
                (None, Some(SETUP_BEGIN_MARK)) => closing = Some(SETUP_END_MARK),
                (None, Some(KEEP_BEGIN_MARK)) => closing = Some(KEEP_END_MARK),
                (None, _) => self.lines[index] |= trailing_comment(text) == Some("keep"),
            }
            // Other tools' marks, tags around parts, and what led to a move before.
            self.lines[index] |=
                whole_line_comment(text).is_some() || is_tag(text) || text.starts_with(MOVED);
            self.lines[index] |= closing.is_some();
        }
    }

    fn keep_command_sections(
        &mut self,
        document: &Document,
        extent: CommandExtent,
        roles: &[SectionRole],
    ) {
        for (section, role) in document.sections.iter().zip(roles) {
            if *role != SectionRole::Commands {
                continue;
            }
            if extent == CommandExtent::Sections {
                self.keep(document, &section.own);
                continue;
            }
            let (first, last) = document.line_range(&section.own);
            for index in first - 1..last {
                let text = document.span_text(&line_span(document, index));
                self.lines[index] |= text.contains('`');
            }
        }
    }

    /// Keeps the first paragraph below the title, which describes the whole
    /// about.
    fn keep_introduction(&mut self, document: &Document) {
        let is_text = |block: &&DocumentBlock| block.kind == BlockKind::Paragraph;
        let Some(first) = document.blocks.iter().find(is_text) else {
            return;
        };
        let title = document.sections.get(1).filter(|it| it.level == 1);
        let is_below_title = document.sections[0].own.contains(&first.span.start)
            || title.is_some_and(|it| it.own.contains(&first.span.start));
        let words = document.span_text(&first.span).split_whitespace().count();
        if is_below_title && words <= MAX_INTRODUCTION_WORDS {
            self.keep(document, &first.span);
        }
    }

    fn keep_rules(&mut self, document: &Document, roles: &[SectionRole]) {
        let items = rules::items(document, roles);
        for (item, is_rule) in items.iter().zip(rules::find_rules(&items)) {
            if is_rule {
                self.lines[item.lines.clone()].fill(true);
            }
        }
        // A heading that orders is a rule itself.
        for section in document.sections.iter().filter(|it| it.level > 1) {
            if rules::orders(&section.title) {
                self.keep(document, &section.heading);
            }
        }
    }

    /// Keeps what a part that stays needs to be read: the rest of its item, the
    /// other steps, and the list that it introduces.
    fn keep_groups(&mut self, document: &Document, roles: &[SectionRole]) {
        let groups = rules::line_groups(&rules::items(document, roles));
        let mut is_done = false;
        while !is_done {
            is_done = true;
            for group in &groups {
                if !group.stays(&self.lines) {
                    continue;
                }
                for part in &group.parts {
                    is_done &= !self.lines[part.clone()].contains(&false);
                    self.lines[part.clone()].fill(true);
                }
            }
        }
        self.complete(document);
        // Of a step in a section of its own at least the heading stays, so that
        // the order of the steps is seen.
        let is_step = |it: &&DocumentSection| rules::is_step_title(&it.title);
        let steps: Vec<&DocumentSection> = document.sections.iter().filter(is_step).collect();
        let kept: BTreeSet<Option<usize>> = steps
            .iter()
            .filter(|it| self.any(document, &it.span))
            .map(|it| it.parent)
            .collect();
        for step in steps.iter().filter(|it| kept.contains(&it.parent)) {
            self.keep(document, &step.heading);
        }
    }

    /// Keeps commands, and code that is part of a rule.
    fn keep_code(&mut self, document: &Document, roles: &[SectionRole]) {
        let mut section = 0;
        for code in &document.code {
            let starts = |index: usize| {
                let next = document.sections.get(index + 1);
                next.is_some_and(|next| next.heading.start <= code.span.start)
            };
            while starts(section) {
                section += 1;
            }
            let role = roles.get(section).copied().unwrap_or(SectionRole::Other);
            let introduction = self.introduction(document, code.span.start);
            let is_introduced = introduction.as_ref().is_some_and(|it| self.lines[it.start]);
            if rules::is_shell(document, code)
                || rules::is_rule_code(document, code, role, is_introduced)
            {
                self.keep(document, &code.span);
                if let Some(lines) = introduction {
                    self.lines[lines].fill(true);
                }
            }
        }
    }

    /// The lines before a block of code that end in a colon: a paragraph, or the
    /// last line of a list.
    fn introduction(&self, document: &Document, code: usize) -> Option<Range<usize>> {
        let line = document.line_number_at(code) - 1;
        let mut above = (0..line).rev();
        let last = above.find(|index| {
            !document
                .span_text(&line_span(document, *index))
                .trim()
                .is_empty()
        })?;
        let text = document.span_text(&line_span(document, last));
        let ends = text.trim().trim_end_matches(['*', '_']).ends_with(':');
        let block = &document.blocks[self.blocks[last].filter(|_| ends)?];
        match block.kind {
            BlockKind::Paragraph => {
                let (first, last) = document.line_range(&block.span);
                Some(first - 1..last)
            }
            BlockKind::List => Some(last..last + 1),
            _ => None,
        }
    }

    /// Adds the context that kept lines need: whole code blocks, the head of a
    /// table, the headings above, and the file's title.
    fn complete(&mut self, document: &Document) {
        for code in &document.code {
            if self.any(document, &code.span) {
                self.keep(document, &code.span);
            }
        }
        for block in &document.blocks {
            match block.kind {
                BlockKind::Table if self.any(document, &block.span) => {
                    let (first, last) = document.line_range(&block.span);
                    self.lines[first - 1..last.min(first + 1)].fill(true);
                }
                // Markup is closed by what is further down.
                BlockKind::Html if self.any(document, &block.span) => {
                    self.keep(document, &block.span);
                }
                _ => {}
            }
        }
        for (index, section) in document.sections.iter().enumerate() {
            let is_title = section.level == 1 && index <= 1;
            if section.level > 0 && (is_title || self.any(document, &section.span)) {
                self.keep(document, &section.heading);
            }
        }
    }

    /// Keeps what would move from one place where it is too little for a line
    /// that leads to it.
    fn keep_small(&mut self, document: &Document, least: usize) {
        for place in self.places(document) {
            let text: String = place
                .iter()
                .map(|index| document.span_text(&line_span(document, *index)))
                .collect();
            if count_tokens(Tokenizer::O200k, &text) < least {
                place.iter().for_each(|index| self.lines[*index] = true);
            }
        }
        self.complete(document);
    }

    /// The lines that move, without blank ones, in groups: those of one section,
    /// and of sections that follow each other and move as a whole.
    fn places(&self, document: &Document) -> Vec<Vec<usize>> {
        let mut places: Vec<Vec<usize>> = Vec::new();
        let mut is_open = false;
        for section in &document.sections {
            let is_gone = section.level > 0 && !self.any(document, &section.heading);
            let span = section.heading.start..section.own.end;
            if !is_gone {
                is_open = false;
            }
            if span.is_empty() {
                continue;
            }
            let (first, last) = document.line_range(&span);
            for index in first - 1..last {
                let is_blank = document
                    .span_text(&line_span(document, index))
                    .trim()
                    .is_empty();
                if is_blank
                    || self.lines[index]
                    || line_span(document, index).end <= document.body.start
                {
                    continue;
                }
                match places.last_mut().filter(|_| is_open) {
                    Some(place) => place.push(index),
                    None => places.push(vec![index]),
                }
                is_open = true;
            }
        }
        places
    }

    fn obey(&mut self, document: &Document, choices: &SectionChoices) {
        for (index, section) in document.sections.iter().enumerate() {
            match choices.get(&index) {
                Some(SectionChoice::Keep) => self.keep(document, &section.own),
                Some(SectionChoice::Move) if !section.own.is_empty() => {
                    let (first, last) = document.line_range(&section.own);
                    self.lines[first - 1..last].fill(false);
                    // Its heading stays where something below it does.
                    if section.level > 1 {
                        let (first, last) = document.line_range(&section.heading);
                        self.lines[first - 1..last].fill(false);
                    }
                }
                _ => {}
            }
        }
    }

    /// Returns what becomes of each section.
    fn sections(&self, document: &Document, choices: &SectionChoices) -> Vec<SectionPlan> {
        let mut plans = Vec::new();
        for (number, section) in document.sections.iter().enumerate() {
            let span = section.heading.start.max(document.body.start)..section.own.end;
            let text = document.span_text(&span);
            if text.trim().is_empty() {
                continue;
            }
            let (first, last) = document.line_range(&span);
            let moved: String = (first - 1..last)
                .filter(|index| !self.lines[*index])
                .map(|index| document.span_text(&line_span(document, index)))
                .collect();
            plans.push(SectionPlan {
                number,
                level: section.level,
                title: section.title.clone(),
                tokens: count_tokens(Tokenizer::O200k, text),
                moved: count_tokens(Tokenizer::O200k, moved.trim()),
                choice: choices.get(&number).copied().unwrap_or_default(),
            });
        }
        plans
    }

    /// Leaves a line in place of moved text that states what moved, and where to.
    fn point(&mut self, document: &Document, target: &str) {
        let mut all: Vec<(usize, Vec<String>)> = Vec::new();
        for place in self.places(document) {
            let Some(&first) = place.first() else {
                continue;
            };
            let labels = self.labels(document, &place);
            // Not between the items of a list or the rows of a table.
            let at = self.blocks[first]
                .map(|index| &document.blocks[index])
                .filter(|block| is_tight(block) && self.any(document, &block.span))
                .map_or(first, |block| document.line_range(&block.span).1);
            match all.last_mut() {
                // Nothing stays between the two.
                Some((before, known))
                    if (*before..at).all(|it| !self.is_kept_text(document, it)) =>
                {
                    known.extend(labels);
                }
                _ => all.push((at, labels)),
            }
        }
        for (at, labels) in all {
            let shown = labels.len().min(MAX_LABELS);
            let mut text = format!("{MOVED}{target}`: {}", labels[..shown].join("; "));
            if labels.len() > shown {
                text.push_str(&format!("; and {} more", labels.len() - shown));
            }
            self.pointers.insert(at, text);
        }
    }

    /// Describes these lines: the titles of sections that move as a whole,
    /// else what kind of text.
    fn labels(&self, document: &Document, lines: &[usize]) -> Vec<String> {
        let mut labels: Vec<String> = Vec::new();
        let mut known = None;
        let mut gone_until = 0;
        for &index in lines {
            let span = line_span(document, index);
            let block = self.blocks[index];
            if span.start < gone_until || block.is_some() && block == known {
                continue;
            }
            known = block;
            let Some(block) = block.map(|index| &document.blocks[index]) else {
                continue;
            };
            let text = document.span_text(&span);
            let label = match block.kind {
                BlockKind::Heading => {
                    let at = document
                        .sections
                        .partition_point(|it| it.heading.start <= span.start);
                    let section = &document.sections[at - 1];
                    gone_until = section.span.end;
                    short_label(&section.title)
                }
                BlockKind::Table => {
                    let head = document.span_text(&block.span).lines().next();
                    format!("table of {}", short_label(head.unwrap_or_default()))
                }
                BlockKind::Code => {
                    let at = document
                        .code
                        .partition_point(|it| it.span.end <= block.span.start);
                    match document.code.get(at) {
                        Some(code) if rules::is_tree(document, code) => {
                            "diagram or listing".to_owned()
                        }
                        Some(code) if !code.language.is_empty() => {
                            format!("{} example", short_label(&code.language))
                        }
                        _ => "example".to_owned(),
                    }
                }
                _ => format!("“{}”", short_label(text)),
            };
            if labels.last() != Some(&label) {
                labels.push(label);
            }
        }
        labels
    }

    fn is_kept_text(&self, document: &Document, index: usize) -> bool {
        self.lines[index]
            && !document
                .span_text(&line_span(document, index))
                .trim()
                .is_empty()
    }

    /// Whether a line of the span stays that is not blank.
    fn any(&self, document: &Document, span: &Range<usize>) -> bool {
        if span.is_empty() {
            return false;
        }
        let (first, last) = document.line_range(span);
        (first - 1..last).any(|index| self.is_kept_text(document, index))
    }

    /// The lines that stay, one blank line where others were, and none between
    /// the items of a list.
    fn render(&self, document: &Document) -> String {
        let newline = document.newline();
        let tight = |first: usize, second: usize| {
            let block = self.blocks[first].filter(|_| self.blocks[first] == self.blocks[second]);
            block.is_some_and(|index| is_tight(&document.blocks[index]))
        };
        let mut text = String::new();
        if document.text.starts_with('\u{feff}') {
            text.push('\u{feff}');
        }
        let start = text.len();
        let mut gap = false;
        // Blank lines between lines that stay are no gap of ours: one of them
        // may separate a paragraph of an item from the list in it.
        let mut has_moved = false;
        let mut latest = None;
        let separate = |text: &mut String, is_tight: bool| {
            let end = end_of_text(text).max(start);
            text.truncate(end);
            if end > start {
                text.push_str(newline);
                if !is_tight {
                    text.push_str(newline);
                }
            }
        };
        for index in 0..=self.lines.len() {
            if let Some(pointer) = self.pointers.get(&index) {
                separate(&mut text, false);
                text.push_str(pointer);
                text.push_str(newline);
                gap = true;
                has_moved = true;
                latest = None;
            }
            let Some(stays) = self.lines.get(index) else {
                break;
            };
            let line = document.span_text(&line_span(document, index));
            if !stays {
                gap = true;
                has_moved |= !line.trim().is_empty();
                continue;
            }
            let line = line.strip_prefix('\u{feff}').unwrap_or(line);
            // The gap adds a blank line of its own.
            if (gap || text.len() == start) && line.trim().is_empty() {
                continue;
            }
            if gap && text.len() > start {
                let joins = has_moved && latest.is_some_and(|it| tight(it, index));
                separate(&mut text, joins);
            }
            gap = false;
            has_moved = false;
            if !line.trim().is_empty() {
                latest = Some(index);
            }
            text.push_str(line);
        }
        if gap {
            separate(&mut text, true);
        }
        text
    }
}

/// Returns the end of the last line with text, including trailing spaces: two
/// of them break a line.
fn end_of_text(text: &str) -> usize {
    let end = text.trim_end().len();
    let rest = &text[end..];
    end + rest.find(['\n', '\r']).unwrap_or(rest.len())
}

/// Things that one line names before it counts the others.
const MAX_LABELS: usize = 6;

/// Whether what stays of a block is still one block.
fn is_tight(block: &DocumentBlock) -> bool {
    matches!(block.kind, BlockKind::List | BlockKind::Table)
}

/// Words of a label before it is cut.
const MAX_LABEL_WORDS: usize = 8;

/// The beginning of a line as plain words, in which nothing is a link, an
/// import or markup.
fn short_label(text: &str) -> String {
    let text = text.trim_start_matches('\u{feff}').trim();
    let text = if rules::is_list_marker(text) {
        text.split_once(' ').map_or(text, |(_, rest)| rest)
    } else {
        text
    };
    // Of a link its words, not its target.
    let mut plain = String::new();
    let mut rest = text;
    while let Some(at) = rest.find("](") {
        plain.push_str(&rest[..at]);
        rest = rest[at + 2..].split_once(')').map_or("", |(_, rest)| rest);
    }
    plain.push_str(rest);
    // Marks around words leave no space, or one would be before a comma.
    let plain = plain.replace(['`', '*', '~'], "");
    let is_markup = |c: char| {
        matches!(
            c,
            '[' | ']' | '<' | '>' | '|' | '@' | '#' | '\\' | '!' | '$'
        ) || c.is_control()
    };
    let plain = plain.replace(is_markup, " ");
    let words: Vec<&str> = plain.split_whitespace().collect();
    let shown = words[..words.len().min(MAX_LABEL_WORDS)].join(" ");
    let cut: String = shown.chars().take(80).collect();
    let cut = cut.trim_end_matches([':', ',', ';', '.', '-', '—', ' ']);
    let ends = words.len() <= MAX_LABEL_WORDS && cut.len() + 2 >= shown.len();
    format!("{cut}{}", if ends { "" } else { "…" })
}

/// Adds the lines that lead to what this project knows: behind the title, where
/// no unclosed code can swallow them. Lines that do so already are enough.
fn with_block(text: &str) -> String {
    if text.contains(&format!("<!-- {STUB_BEGIN_MARK} -->")) {
        return text.to_owned();
    }
    let newline = document::parse_document(text).newline();
    let block = [
        &format!("<!-- {STUB_BEGIN_MARK} -->"),
        "More about this project is in `knowledge/`, which is not loaded automatically. Search it",
        "before you change something: `memory-forge search \"<question>\"`, or begin with",
        "`knowledge/README.md`.",
        &format!("<!-- {STUB_END_MARK} -->"),
    ];
    insert_behind_title(text, &block.join(newline))
}

/// Inserts lines below the title, or at the top without one.
fn insert_behind_title(text: &str, lines: &str) -> String {
    let document = document::parse_document(text);
    let newline = document.newline();
    let title = document.sections.get(1).filter(|section| {
        section.level == 1
            && document
                .span_text(&document.sections[0].own)
                .trim()
                .is_empty()
    });
    let at = title.map_or(document.body.start, |title| title.heading.end);
    let (before, after) = text.split_at(at);
    let mut out = before.to_owned();
    if at > document.body.start || document.front_matter.is_some() {
        if !out.ends_with(['\n', '\r']) {
            out.push_str(newline);
        }
        out.push_str(newline);
    }
    out.push_str(lines);
    out.push_str(newline);
    let after = after.trim_start_matches(['\n', '\r']);
    if !after.is_empty() {
        out.push_str(newline);
        out.push_str(after);
    }
    out
}

/// Replaces imports of documents in `knowledge/` by their paths: the stub
/// advises to search there, so loading them at every start is redundant.
fn replace_imports_by_paths(text: &str, source: &RelPath) -> String {
    let document = document::parse_document(text);
    let mut edits = Vec::new();
    for link in document
        .links
        .iter()
        .filter(|link| link.kind == LinkKind::Import)
    {
        if let Some(path) = resolve_knowledge_path(source, &link.target) {
            edits.push(TextEdit {
                span: link.span.clone(),
                text: format!("`{path}`"),
            });
        }
    }
    document::apply_edits(text, edits).unwrap_or_else(|_| text.to_owned())
}

/// Resolves an import in `source` to a document that a search finds.
fn resolve_knowledge_path(source: &RelPath, target: &str) -> Option<RelPath> {
    let mut parts: Vec<&str> = source.components().collect();
    parts.pop();
    for part in target.split('/') {
        match part {
            "." => {}
            ".." => drop(parts.pop()?),
            part => parts.push(part),
        }
    }
    let path = RelPath::new(&parts.join("/")).ok()?;
    (path.starts_with("knowledge") && path.as_str().ends_with(".md")).then_some(path)
}

fn line_span(document: &Document, index: usize) -> Range<usize> {
    let end = document.line_starts.get(index + 1).copied();
    document.line_starts[index]..end.unwrap_or(document.text.len())
}

/// Returns the text of a comment that fills a line.
fn whole_line_comment(text: &str) -> Option<&str> {
    let inner = text.strip_prefix("<!--")?.strip_suffix("-->")?;
    (!inner.contains("-->")).then(|| inner.trim())
}

/// Returns the text of a comment at the end of a line.
fn trailing_comment(text: &str) -> Option<&str> {
    let inner = text.trim_end().strip_suffix("-->")?;
    Some(inner[inner.rfind("<!--")? + 4..].trim())
}

/// Whether a line is one tag alone, as people put them around parts.
fn is_tag(text: &str) -> bool {
    let inner = text.strip_prefix('<').and_then(|it| it.strip_suffix('>'));
    inner.is_some_and(|it| {
        let name = it.trim_start_matches('/');
        name.starts_with(|c: char| c.is_ascii_alphabetic()) && !it.contains(['<', '>', ':', '@'])
    })
}

#[cfg(test)]
mod tests;
