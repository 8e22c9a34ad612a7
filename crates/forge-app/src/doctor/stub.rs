//! Selects what must stay in a file that agents load: front matter, rules,
//! commands, imports, and parts that its author marked. The rest is
//! explanation: it goes to `knowledge/legacy/`, or for a skill to `references/`
//! in its folder. Lines are kept or moved whole. Of a long paragraph only the
//! sentences stay that are rules; an import of a file that a search finds
//! becomes a path.

use std::collections::BTreeMap;
use std::ops::Range;

use crate::document::{self, BlockKind, CodeBlock, Document, LinkKind, TextEdit};
use crate::knowledge::readme::find_sentence_end;
use crate::tokens::{Tokenizer, count_tokens};
use crate::workspace::RelPath;

/// Tokens of `o200k` that a stub stays below, whatever is configured.
pub const MAX_STUB_TOKENS: usize = 500;

/// Marks of the lines that `setup` writes. They differ from ours, so that
/// `uninstall` never removes a stub.
const SETUP_BEGIN_MARK: &str = "memory-forge:begin";
const SETUP_END_MARK: &str = "memory-forge:end";
const STUB_BEGIN_MARK: &str = "memory-forge:stub:begin";
const STUB_END_MARK: &str = "memory-forge:stub:end";
const KEEP_BEGIN_MARK: &str = "memory-forge:keep";
const KEEP_END_MARK: &str = "/memory-forge:keep";

/// Result of shortening a file.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum StubVerdict {
    /// A shorter file.
    Stub {
        text: String,
        /// Above the limit if rules and commands alone exceed it.
        tokens: usize,
    },
    /// The part that must stay is too large itself, and moving the rest saves
    /// little.
    TooMuchMustStay { tokens: usize },
    /// Nothing can move.
    NothingToMove,
}

/// Makes a stub of `text`, the text of `source`, whose rest goes to `legacy`.
pub fn make_stub(text: &str, source: &RelPath, legacy: &RelPath, limit: usize) -> StubVerdict {
    // `shorten` stays below its limit, while the configured one may be reached:
    // hence the one more.
    let limit = MAX_STUB_TOKENS.min(limit + 1);
    let shortened = shorten_to_limit(text, limit, |stays, document| {
        insert_pointer(
            &replace_imports_by_paths(&stays.render(document), source),
            legacy,
        )
    });
    match shortened {
        Ok((_, text, tokens)) => StubVerdict::Stub { text, tokens },
        Err(verdict) => verdict,
    }
}

/// A skill, split into two parts.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct SkillParts {
    /// The part that stays in `SKILL.md`.
    pub core: String,
    pub tokens: usize,
    /// The part that moves, with its headings.
    pub moved: String,
}

/// Splits a skill into instructions, which stay, and explanations, which go to
/// `reference`, a path relative to the skill.
pub fn split_skill(text: &str, reference: &str, limit: usize) -> Result<SkillParts, StubVerdict> {
    let shortened = shorten_to_limit(text, limit + 1, |stays, document| {
        insert_reference(&stays.render(document), reference)
    });
    let (stays, core, tokens) = shortened?;
    let document = document::parse_document(text);
    let moved = stays.invert_selection(&document).render(&document);
    Ok(SkillParts {
        core,
        tokens,
        moved: moved.trim_start_matches('\u{feff}').to_owned(),
    })
}

/// Tokens that a move must save to be worth a change, if the limit cannot be
/// reached.
const MIN_SAVED_TOKENS: usize = 100;

/// Returns the longest form with fewer tokens than `limit`, else the shortest.
fn shorten_to_limit(
    text: &str,
    limit: usize,
    render: impl Fn(&KeptLines, &Document) -> String,
) -> Result<(KeptLines, String, usize), StubVerdict> {
    let document = document::parse_document(text);
    let mut least: Option<(KeptLines, String, usize)> = None;
    // The more generous extent comes first, since the first text below the
    // limit is used.
    for extent in [CommandExtent::Sections, CommandExtent::Commands] {
        let stays = KeptLines::select_lines(&document, extent);
        let text = render(&stays, &document);
        // The pointer takes space too, so a form may be longer than the
        // original.
        if stays.lines.iter().all(|stays| *stays) || text.len() >= document.text.len() {
            continue;
        }
        let tokens = count_tokens(Tokenizer::O200k, &text);
        if tokens < limit {
            return Ok((stays, text, tokens));
        }
        if least.as_ref().is_none_or(|(.., known)| tokens < *known) {
            least = Some((stays, text, tokens));
        }
    }
    let Some((stays, text, tokens)) = least else {
        return Err(StubVerdict::NothingToMove);
    };
    let before = count_tokens(Tokenizer::O200k, &document.text);
    if before.saturating_sub(tokens) < MIN_SAVED_TOKENS {
        return Err(StubVerdict::TooMuchMustStay { tokens });
    }
    Ok((stays, text, tokens))
}

/// Extent to which sections about commands stay; the first one that fits is
/// used.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum CommandExtent {
    Sections,
    /// Only the commands of those sections: code, and lines with code in them.
    Commands,
}

/// Flags of the lines that stay.
struct KeptLines {
    lines: Vec<bool>,
    /// Rules from long paragraphs, by the first line of each; they stay without
    /// the lines around them.
    extracts: BTreeMap<usize, String>,
}

impl KeptLines {
    /// Selects the lines that stay.
    fn select_lines(document: &Document, extent: CommandExtent) -> KeptLines {
        let mut stays = KeptLines {
            lines: vec![false; document.line_starts.len()],
            extracts: BTreeMap::new(),
        };
        if let Some(front) = &document.front_matter {
            stays.keep_span(document, &front.span);
        }
        stays.keep_marked_parts(document);
        for link in &document.links {
            if link.kind == LinkKind::Import {
                stays.keep_span(document, &link.span);
            }
        }
        for code in document
            .code
            .iter()
            .filter(|code| is_shell_code(document, code))
        {
            stays.keep_span(document, &code.span);
            stays.keep_lead_in(document, code.span.start);
        }
        stays.keep_command_sections(document, extent);
        stays.keep_rules(document);
        stays.add_context_lines(document);
        stays
    }

    /// Returns every line that does not stay, with the context that it needs.
    fn invert_selection(&self, document: &Document) -> KeptLines {
        let mut moves = KeptLines {
            lines: self.lines.iter().map(|stays| !stays).collect(),
            extracts: BTreeMap::new(),
        };
        moves.add_context_lines(document);
        moves
    }

    /// Keeps the lines of a span.
    fn keep_span(&mut self, document: &Document, span: &Range<usize>) {
        if span.is_empty() {
            return;
        }
        let (first, last) = document.line_range(span);
        self.lines[first - 1..last].fill(true);
    }

    /// Keeps marked parts. Marks are comments on lines of their own around a
    /// part, or one at the end of a line. An unclosed part extends to the end:
    /// where the author's intention is unclear, nothing moves.
    fn keep_marked_parts(&mut self, document: &Document) {
        let mut closing: Option<&str> = None;
        for index in 0..self.lines.len() {
            let span = line_span(document, index);
            let text = document
                .span_text(&span)
                .trim_start_matches('\u{feff}')
                .trim();
            let in_front = document.body.start > span.start && !text.is_empty();
            if in_front || document.is_in_code(span.start) && closing.is_none() {
                // A comment alone on a line of code is an example; one at the
                // end of the line is meant.
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
            self.lines[index] |= closing.is_some();
        }
    }

    /// Keeps sections about commands, to this extent.
    fn keep_command_sections(&mut self, document: &Document, extent: CommandExtent) {
        for (index, section) in document.sections.iter().enumerate() {
            // The title of the whole file does not describe its parts.
            let is_title = section.level == 1 && has_children(document, index);
            if section.level == 0 || is_title || !is_about_commands(&section.title) {
                continue;
            }
            if extent != CommandExtent::Commands {
                self.keep_span(document, &section.span);
                continue;
            }
            let (first, last) = document.line_range(&section.span);
            for index in first - 1..last {
                let text = document.span_text(&line_span(document, index));
                self.lines[index] |= text.contains('`');
            }
        }
    }

    /// Keeps paragraphs and list items that order or forbid something, lists in
    /// which most items do, and the line that introduces them.
    fn keep_rules(&mut self, document: &Document) {
        let items = collect_items(document);
        let mut rules: Vec<bool> = items.iter().map(is_rule_item).collect();
        let mut first = 0;
        for list in items.chunk_by(|a, b| a.list == b.list) {
            let all = &mut rules[first..first + list.len()];
            first += list.len();
            let ordering = all.iter().filter(|is_rule| **is_rule).count();
            if list[0].list.is_some() && ordering * 2 > all.len() {
                all.fill(true);
            }
        }
        // From the end, so that a line which introduces a kept introduction is
        // kept as well.
        for at in (0..items.len()).rev() {
            let introduces = items[at].text.ends_with(':');
            let next = items.get(at + 1).zip(rules.get(at + 1));
            if introduces && next.is_some_and(|(next, is_rule)| *is_rule && next.list.is_some()) {
                rules[at] = true;
            }
        }
        for (item, is_rule) in items.iter().zip(rules) {
            let kept = &mut self.lines[item.lines.clone()];
            match extract_rules(item).filter(|_| !is_rule) {
                _ if is_rule => kept.fill(true),
                // A part of it stays for another reason, such as an import.
                Some(_) if kept.contains(&true) => kept.fill(true),
                Some(text) => drop(self.extracts.insert(item.lines.start, text)),
                None => {}
            }
        }
    }

    /// Keeps a sentence in front of a code block that ends in a colon.
    fn keep_lead_in(&mut self, document: &Document, code: usize) {
        let before = document.blocks.iter().rfind(|block| block.span.end <= code);
        if let Some(block) = before
            && block.kind == BlockKind::Paragraph
        {
            let (first, last) = document.line_range(&block.span);
            if first == last && document.span_text(&block.span).trim_end().ends_with(':') {
                self.keep_span(document, &block.span);
            }
        }
    }

    /// Adds the context that kept lines need: whole code blocks, the head of a
    /// table, the headings above, and the file's title.
    fn add_context_lines(&mut self, document: &Document) {
        for code in &document.code {
            if self.has_text_in(document, &code.span) {
                self.keep_span(document, &code.span);
            }
        }
        for block in &document.blocks {
            if block.kind == BlockKind::Table && self.has_text_in(document, &block.span) {
                let (first, last) = document.line_range(&block.span);
                self.lines[first - 1..last.min(first + 1)].fill(true);
            }
        }
        for (index, section) in document.sections.iter().enumerate() {
            let is_title = section.level == 1 && index <= 1;
            if section.level > 0 && (is_title || self.has_text_in(document, &section.span)) {
                self.keep_span(document, &section.heading);
            }
        }
    }

    /// Returns `true` if a line of the span stays that is not blank.
    fn has_text_in(&self, document: &Document, span: &Range<usize>) -> bool {
        if span.is_empty() {
            return false;
        }
        let (first, last) = document.line_range(span);
        self.extracts.range(first - 1..last).next().is_some()
            || (first - 1..last).any(|index| {
                self.lines[index]
                    && !document
                        .span_text(&line_span(document, index))
                        .trim()
                        .is_empty()
            })
    }

    /// Renders the lines that stay, with one blank line for each gap.
    fn render(&self, document: &Document) -> String {
        let newline = document.newline();
        let mut text = String::new();
        if document.text.starts_with('\u{feff}') {
            text.push('\u{feff}');
        }
        let start = text.len();
        let mut gap = false;
        for (index, stays) in self.lines.iter().enumerate() {
            if let Some(extract) = self.extracts.get(&index) {
                let end = text.trim_end().len().max(start);
                text.truncate(end);
                if end > start {
                    text.push_str(newline);
                    text.push_str(newline);
                }
                text.push_str(extract);
                text.push_str(newline);
            }
            if !stays {
                gap = true;
                continue;
            }
            let line = document.span_text(&line_span(document, index));
            let line = line.strip_prefix('\u{feff}').unwrap_or(line);
            // The gap adds a blank line of its own.
            if (gap || text.len() == start) && line.trim().is_empty() {
                continue;
            }
            if gap && text.len() > start {
                let end = text.trim_end().len().max(start);
                text.truncate(end);
                text.push_str(newline);
                text.push_str(newline);
            }
            gap = false;
            text.push_str(line);
        }
        if gap {
            let end = text.trim_end().len().max(start);
            text.truncate(end);
            if end > start {
                text.push_str(newline);
            }
        }
        text
    }
}

/// Adds the lines that point to the moved text, below the title, where an
/// unclosed code block cannot swallow them. Existing ones are enough.
fn insert_pointer(text: &str, legacy: &RelPath) -> String {
    if text.contains(&format!("`{legacy}`")) {
        return text.to_owned();
    }
    let newline = document::parse_document(text).newline();
    let pointer = [
        &format!("<!-- {STUB_BEGIN_MARK} -->"),
        "What this project knows is in `knowledge/` and is not loaded automatically.",
        "Search it before you change something: `memory-forge search \"<question>\"`.",
        "Without the tool, begin with `knowledge/README.md`.",
        &format!("The former text of this file is in `{legacy}`."),
        &format!("<!-- {STUB_END_MARK} -->"),
    ];
    insert_behind_title(text, &pointer.join(newline))
}

/// Adds the line that points from a skill to its moved text. The mark at its
/// end keeps it there the next time.
fn insert_reference(text: &str, reference: &str) -> String {
    if text.contains(&format!("`{reference}`")) {
        return text.to_owned();
    }
    let pointer =
        format!("Explanations are in `{reference}`; read it when you need them. <!-- keep -->");
    insert_behind_title(text, &pointer)
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

/// Returns the span of a line.
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

/// Returns `true` if a section has subsections.
fn has_children(document: &Document, index: usize) -> bool {
    let mut sections = document.sections.iter();
    sections.any(|section| section.parent == Some(index))
}

/// Words of headings above instructions to build, test and run.
const COMMAND_WORDS: [&str; 22] = [
    "build",
    "building",
    "builds",
    "check",
    "checks",
    "cli",
    "command",
    "commands",
    "format",
    "formatting",
    "install",
    "installation",
    "installing",
    "lint",
    "linting",
    "run",
    "running",
    "script",
    "scripts",
    "test",
    "testing",
    "tests",
];

/// Words of the longest title that is a label; a longer one is a statement.
const MAX_LABEL_WORDS: usize = 6;

/// Returns `true` if a title is a label about commands.
fn is_about_commands(title: &str) -> bool {
    let title = title.to_lowercase();
    let words: Vec<&str> = title
        .split(|c: char| !c.is_alphanumeric())
        .filter(|word| !word.is_empty())
        .collect();
    words.len() <= MAX_LABEL_WORDS && words.iter().any(|word| COMMAND_WORDS.contains(word))
}

/// A paragraph, a list item, or another run of lines that is read as one.
struct TextItem {
    lines: Range<usize>,
    text: String,
    /// The indentation of its list, and the line where that begins.
    list: Option<(usize, usize)>,
}

/// Splits a document into items, without front matter, code and headings.
fn collect_items(document: &Document) -> Vec<TextItem> {
    let mut items: Vec<TextItem> = Vec::new();
    let mut open = false;
    let mut lists: Vec<(usize, usize)> = Vec::new();
    for index in 0..document.line_starts.len() {
        let span = line_span(document, index);
        let raw = document.span_text(&span);
        let text = raw.trim_start_matches('\u{feff}').trim();
        let skipped = document.is_in_code(span.start) || span.start < document.body.start;
        if text.is_empty() || skipped || text.starts_with('#') {
            open = false;
            if !text.is_empty() {
                lists.clear();
            }
            continue;
        }
        let indent = raw.len() - raw.trim_start().len();
        let marker = is_list_marker(text);
        if marker {
            lists.retain(|(known, _)| *known <= indent);
            if lists.last().is_none_or(|(known, _)| *known < indent) {
                lists.push((indent, index));
            }
        } else if !open && indent == 0 {
            lists.clear();
        }
        let begins = marker || text.starts_with(['|', '>']);
        match items.last_mut().filter(|_| open && !begins) {
            Some(item) => {
                item.lines.end = index + 1;
                item.text.push(' ');
                item.text.push_str(text);
            }
            None => items.push(TextItem {
                lines: index..index + 1,
                text: text.to_owned(),
                list: lists.last().copied().filter(|_| marker),
            }),
        }
        open = true;
    }
    items
}

/// Returns `true` if the line begins a list item.
fn is_list_marker(text: &str) -> bool {
    let digits = text.trim_start_matches(|c: char| c.is_ascii_digit());
    text.starts_with("- ")
        || text.starts_with("* ")
        || text.starts_with("+ ")
        || digits.len() < text.len() && (digits.starts_with(". ") || digits.starts_with(") "))
}

/// Words that order or forbid in any position.
const ORDER_WORDS: [&str; 13] = [
    "always",
    "never",
    "must",
    "mustn't",
    "shall",
    "don't",
    "forbidden",
    "prohibited",
    "mandatory",
    "do not",
    "may not",
    "not allowed",
    "make sure",
];

/// Words that order in a short item only, since explanations use them too.
const SHORT_ORDER_WORDS: [&str; 8] = [
    "only",
    "required",
    "requires",
    "avoid",
    "ensure",
    "prefer",
    "should",
    "instead of",
];

/// Verbs at the beginning of an instruction.
const IMPERATIVE_VERBS: [&str; 42] = [
    "add", "ask", "avoid", "build", "call", "check", "commit", "create", "delete", "do",
    "document", "ensure", "follow", "format", "give", "include", "keep", "leave", "limit", "make",
    "name", "only", "pass", "prefer", "put", "read", "remove", "report", "return", "review", "run",
    "set", "skip", "start", "stop", "test", "treat", "update", "use", "verify", "wait", "write",
];

/// Words of the longest item that can be one rule; a longer one explains and
/// may contain rules.
const MAX_SHORT_WORDS: usize = 40;

/// Returns `true` if an item as a whole orders or forbids something.
fn is_rule_item(item: &TextItem) -> bool {
    let sentences = split_sentences(&item.text);
    let ordering = sentences
        .iter()
        .filter(|sentence| is_order(sentence))
        .count();
    if item.list.is_some() || count_words(&item.text) <= MAX_SHORT_WORDS {
        let words = pad_words(&item.text);
        let has = |order: &&str| words.contains(&format!(" {order} "));
        let short = count_words(&item.text) <= MAX_SHORT_WORDS;
        return ordering > 0 || short && SHORT_ORDER_WORDS.iter().any(has);
    }
    // What would become a heading or a list at the beginning of a line stays
    // where it is.
    let structural = |it: &&str| is_order(it) && !can_begin_line(it);
    ordering * 2 > sentences.len() || sentences.iter().any(structural)
}

/// Returns `true` if a sentence is still plain text at the beginning of a line.
fn can_begin_line(sentence: &str) -> bool {
    let first = sentence.chars().next();
    let plain = |c: char| c.is_alphabetic() || matches!(c, '`' | '"' | '\'' | '(' | '“' | '*');
    first.is_some_and(plain) && !is_list_marker(sentence) && !sentence.starts_with("```")
}

/// Extracts the sentences of a long paragraph that order or forbid, word for
/// word.
fn extract_rules(item: &TextItem) -> Option<String> {
    // Rows of tables and quotations are not taken apart.
    if item.list.is_some() || item.text.starts_with(['|', '>']) {
        return None;
    }
    let mut rules = split_sentences(&item.text);
    rules.retain(|sentence| is_order(sentence));
    (!rules.is_empty()).then(|| rules.join(" "))
}

/// Splits a text into sentences.
fn split_sentences(text: &str) -> Vec<&str> {
    let mut rest = text.trim();
    let mut found = Vec::new();
    while !rest.is_empty() {
        let (sentence, behind) = rest.split_at(find_sentence_end(rest));
        found.push(sentence.trim());
        rest = behind.trim_start();
    }
    found
}

/// Returns `true` if a sentence orders or forbids something.
fn is_order(sentence: &str) -> bool {
    let shouts =
        |word: &str| matches!(word, "NEVER" | "ALWAYS" | "MUST" | "CRITICAL" | "IMPORTANT");
    if sentence.split(|c: char| !c.is_alphanumeric()).any(shouts) {
        return true;
    }
    let words = pad_words(sentence);
    if ORDER_WORDS
        .iter()
        .any(|order| words.contains(&format!(" {order} ")))
    {
        return true;
    }
    let is_number = |word: &str| word.bytes().all(|b| b.is_ascii_digit());
    let first = words.split_whitespace().find(|word| !is_number(word));
    first.is_some_and(|word| IMPERATIVE_VERBS.contains(&word))
}

/// Returns the words in lower case with a space around each, so that whole
/// words and phrases can be searched.
fn pad_words(text: &str) -> String {
    let lower = text.to_lowercase().replace('’', "'");
    let words: Vec<&str> = lower
        .split(|c: char| !c.is_alphanumeric() && c != '\'')
        .filter(|word| !word.is_empty())
        .collect();
    format!(" {} ", words.join(" "))
}

/// Counts words.
fn count_words(text: &str) -> usize {
    text.split_whitespace().count()
}

/// Programs that mark a line as a command.
const COMMAND_PROGRAMS: [&str; 36] = [
    "bash", "bun", "bundle", "bunx", "cargo", "cmake", "composer", "deno", "docker", "dotnet",
    "git", "go", "gradle", "just", "make", "mix", "mvn", "nix", "node", "npm", "npx", "php", "pip",
    "pnpm", "poetry", "pytest", "python", "python3", "rake", "ruff", "sbt", "swift", "task", "tox",
    "uv", "yarn",
];

/// Returns `true` if a code block contains shell commands.
fn is_shell_code(document: &Document, code: &CodeBlock) -> bool {
    let mut lines = document.span_text(&code.span).lines().map(str::trim);
    let is_command = |line: &str| {
        let line = line.strip_prefix("$ ").unwrap_or(line);
        let program = line.split_whitespace().next().unwrap_or_default();
        COMMAND_PROGRAMS.contains(&program) || program.starts_with("./")
    };
    let language = code.language.to_lowercase();
    match language.as_str() {
        "bash" | "sh" | "shell" | "zsh" | "console" | "fish" | "powershell" | "ps1" | "bat"
        | "cmd" | "terminal" | "shellscript" => {
            lines.any(|line| !line.is_empty() && !line.starts_with(['#', '`', '~']))
        }
        "" | "text" | "txt" => code.fenced && lines.any(is_command),
        _ => false,
    }
}

#[cfg(test)]
mod tests;
