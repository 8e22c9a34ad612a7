//! Selects what must stay in a file that agents load: front matter, rules,
//! commands, imports, and parts that its author marked. The rest is
//! explanation: it goes to `knowledge/legacy/`, or for a skill to `references/`
//! in its folder. Lines are kept or moved whole. Of a long paragraph only the
//! sentences stay that are rules; an import of a file that a search finds
//! becomes a path.

use std::collections::BTreeMap;
use std::ops::Range;

use crate::document::{self, BlockKind, Code, Document, Edit, LinkKind};
use crate::knowledge::readme::sentence_end;
use crate::tokens::{Tokenizer, count_tokens};
use crate::workspace::RelPath;

/// Tokens of `o200k` that a stub stays below, whatever is configured.
pub const STUB_TOKENS: usize = 500;

/// Marks of the lines that `setup` writes. They differ from ours, so that
/// `uninstall` never removes a stub.
const SETUP: &str = "memory-forge:begin";
const END_SETUP: &str = "memory-forge:end";
const BEGIN: &str = "memory-forge:stub:begin";
const END: &str = "memory-forge:stub:end";
const KEEP: &str = "memory-forge:keep";
const END_KEEP: &str = "/memory-forge:keep";

/// Result of shortening a file.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Verdict {
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
pub fn stub(text: &str, source: &RelPath, legacy: &RelPath, limit: usize) -> Verdict {
    // `shorten` stays below its limit, while the configured one may be reached:
    // hence the one more.
    let limit = STUB_TOKENS.min(limit + 1);
    let shortened = shorten(text, limit, |stays, document| {
        with_pointer(&with_paths(&stays.render(document), source), legacy)
    });
    match shortened {
        Ok((_, text, tokens)) => Verdict::Stub { text, tokens },
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
pub fn split_skill(text: &str, reference: &str, limit: usize) -> Result<SkillParts, Verdict> {
    let shortened = shorten(text, limit + 1, |stays, document| {
        with_reference(&stays.render(document), reference)
    });
    let (stays, core, tokens) = shortened?;
    let document = document::parse(text);
    let moved = stays.inverted(&document).render(&document);
    Ok(SkillParts {
        core,
        tokens,
        moved: moved.trim_start_matches('\u{feff}').to_owned(),
    })
}

/// Tokens that a move must save to be worth a change, if the limit cannot be
/// reached.
const LEAST_SAVED: usize = 100;

/// Returns the longest form with fewer tokens than `limit`, else the shortest.
fn shorten(
    text: &str,
    limit: usize,
    render: impl Fn(&Stays, &Document) -> String,
) -> Result<(Stays, String, usize), Verdict> {
    let document = document::parse(text);
    let mut least: Option<(Stays, String, usize)> = None;
    // The more generous extent comes first, since the first text below the
    // limit is used.
    for extent in [Extent::Sections, Extent::Commands] {
        let stays = Stays::of(&document, extent);
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
        return Err(Verdict::NothingToMove);
    };
    let before = count_tokens(Tokenizer::O200k, &document.text);
    if before.saturating_sub(tokens) < LEAST_SAVED {
        return Err(Verdict::TooMuchMustStay { tokens });
    }
    Ok((stays, text, tokens))
}

/// Extent to which sections about commands stay; the first one that fits is
/// used.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Extent {
    Sections,
    /// Only the commands of those sections: code, and lines with code in them.
    Commands,
}

/// Flags of the lines that stay.
struct Stays {
    lines: Vec<bool>,
    /// Rules from long paragraphs, by the first line of each; they stay without
    /// the lines around them.
    extracts: BTreeMap<usize, String>,
}

impl Stays {
    /// Selects the lines that stay.
    fn of(document: &Document, extent: Extent) -> Stays {
        let mut stays = Stays {
            lines: vec![false; document.line_starts.len()],
            extracts: BTreeMap::new(),
        };
        if let Some(front) = &document.front_matter {
            stays.keep(document, &front.span);
        }
        stays.keep_marked(document);
        for link in &document.links {
            if link.kind == LinkKind::Import {
                stays.keep(document, &link.span);
            }
        }
        for code in document.code.iter().filter(|code| is_shell(document, code)) {
            stays.keep(document, &code.span);
            stays.keep_lead_in(document, code.span.start);
        }
        stays.keep_command_sections(document, extent);
        stays.keep_rules(document);
        stays.complete(document);
        stays
    }

    /// Returns every line that does not stay, with the context that it needs.
    fn inverted(&self, document: &Document) -> Stays {
        let mut moves = Stays {
            lines: self.lines.iter().map(|stays| !stays).collect(),
            extracts: BTreeMap::new(),
        };
        moves.complete(document);
        moves
    }

    /// Keeps the lines of a span.
    fn keep(&mut self, document: &Document, span: &Range<usize>) {
        if span.is_empty() {
            return;
        }
        let (first, last) = document.lines_of(span);
        self.lines[first - 1..last].fill(true);
    }

    /// Keeps marked parts. Marks are comments on lines of their own around a
    /// part, or one at the end of a line. An unclosed part extends to the end:
    /// where the author's intention is unclear, nothing moves.
    fn keep_marked(&mut self, document: &Document) {
        let mut closing: Option<&str> = None;
        for index in 0..self.lines.len() {
            let span = line(document, index);
            let text = document.str(&span).trim_start_matches('\u{feff}').trim();
            let in_front = document.body.start > span.start && !text.is_empty();
            if in_front || document.in_code(span.start) && closing.is_none() {
                // A comment alone on a line of code is an example; one at the
                // end of the line is meant.
                self.lines[index] |= comment_at_end(text) == Some("keep");
                continue;
            }
            match (closing, comment(text)) {
                (Some(close), found) => {
                    self.lines[index] = true;
                    if found == Some(close) {
                        closing = None;
                    }
                }
                (None, Some(BEGIN)) => closing = Some(END),
                (None, Some(SETUP)) => closing = Some(END_SETUP),
                (None, Some(KEEP)) => closing = Some(END_KEEP),
                (None, _) => self.lines[index] |= comment_at_end(text) == Some("keep"),
            }
            self.lines[index] |= closing.is_some();
        }
    }

    /// Keeps sections about commands, to this extent.
    fn keep_command_sections(&mut self, document: &Document, extent: Extent) {
        for (index, section) in document.sections.iter().enumerate() {
            // The title of the whole file does not describe its parts.
            let is_title = section.level == 1 && has_children(document, index);
            if section.level == 0 || is_title || !is_about_commands(&section.title) {
                continue;
            }
            if extent != Extent::Commands {
                self.keep(document, &section.span);
                continue;
            }
            let (first, last) = document.lines_of(&section.span);
            for index in first - 1..last {
                let text = document.str(&line(document, index));
                self.lines[index] |= text.contains('`');
            }
        }
    }

    /// Keeps paragraphs and list items that order or forbid something, lists in
    /// which most items do, and the line that introduces them.
    fn keep_rules(&mut self, document: &Document) {
        let items = items(document);
        let mut rules: Vec<bool> = items.iter().map(is_rule).collect();
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
            match rules_in(item).filter(|_| !is_rule) {
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
            let (first, last) = document.lines_of(&block.span);
            if first == last && document.str(&block.span).trim_end().ends_with(':') {
                self.keep(document, &block.span);
            }
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
            if block.kind == BlockKind::Table && self.any(document, &block.span) {
                let (first, last) = document.lines_of(&block.span);
                self.lines[first - 1..last.min(first + 1)].fill(true);
            }
        }
        for (index, section) in document.sections.iter().enumerate() {
            let is_title = section.level == 1 && index <= 1;
            if section.level > 0 && (is_title || self.any(document, &section.span)) {
                self.keep(document, &section.heading);
            }
        }
    }

    /// Returns `true` if a line of the span stays that is not blank.
    fn any(&self, document: &Document, span: &Range<usize>) -> bool {
        if span.is_empty() {
            return false;
        }
        let (first, last) = document.lines_of(span);
        self.extracts.range(first - 1..last).next().is_some()
            || (first - 1..last).any(|index| {
                self.lines[index] && !document.str(&line(document, index)).trim().is_empty()
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
            let line = document.str(&line(document, index));
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
fn with_pointer(text: &str, legacy: &RelPath) -> String {
    if text.contains(&format!("`{legacy}`")) {
        return text.to_owned();
    }
    let newline = document::parse(text).newline();
    let pointer = [
        &format!("<!-- {BEGIN} -->"),
        "What this project knows is in `knowledge/` and is not loaded automatically.",
        "Search it before you change something: `memory-forge search \"<question>\"`.",
        "Without the tool, begin with `knowledge/README.md`.",
        &format!("The former text of this file is in `{legacy}`."),
        &format!("<!-- {END} -->"),
    ];
    behind_title(text, &pointer.join(newline))
}

/// Adds the line that points from a skill to its moved text. The mark at its
/// end keeps it there the next time.
fn with_reference(text: &str, reference: &str) -> String {
    if text.contains(&format!("`{reference}`")) {
        return text.to_owned();
    }
    let pointer =
        format!("Explanations are in `{reference}`; read it when you need them. <!-- keep -->");
    behind_title(text, &pointer)
}

/// Inserts lines below the title, or at the top without one.
fn behind_title(text: &str, lines: &str) -> String {
    let document = document::parse(text);
    let newline = document.newline();
    let title = document.sections.get(1).filter(|section| {
        section.level == 1 && document.str(&document.sections[0].own).trim().is_empty()
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
fn with_paths(text: &str, source: &RelPath) -> String {
    let document = document::parse(text);
    let mut edits = Vec::new();
    for link in document
        .links
        .iter()
        .filter(|link| link.kind == LinkKind::Import)
    {
        if let Some(path) = path_in_knowledge(source, &link.target) {
            edits.push(Edit {
                span: link.span.clone(),
                text: format!("`{path}`"),
            });
        }
    }
    document::apply(text, edits).unwrap_or_else(|_| text.to_owned())
}

/// Resolves an import in `source` to a document that a search finds.
fn path_in_knowledge(source: &RelPath, target: &str) -> Option<RelPath> {
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
fn line(document: &Document, index: usize) -> Range<usize> {
    let end = document.line_starts.get(index + 1).copied();
    document.line_starts[index]..end.unwrap_or(document.text.len())
}

/// Returns the text of a comment that fills a line.
fn comment(text: &str) -> Option<&str> {
    let inner = text.strip_prefix("<!--")?.strip_suffix("-->")?;
    (!inner.contains("-->")).then(|| inner.trim())
}

/// Returns the text of a comment at the end of a line.
fn comment_at_end(text: &str) -> Option<&str> {
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
const MOST_WORDS: usize = 6;

/// Returns `true` if a title is a label about commands.
fn is_about_commands(title: &str) -> bool {
    let title = title.to_lowercase();
    let words: Vec<&str> = title
        .split(|c: char| !c.is_alphanumeric())
        .filter(|word| !word.is_empty())
        .collect();
    words.len() <= MOST_WORDS && words.iter().any(|word| COMMAND_WORDS.contains(word))
}

/// A paragraph, a list item, or another run of lines that is read as one.
struct Item {
    lines: Range<usize>,
    text: String,
    /// The indentation of its list, and the line where that begins.
    list: Option<(usize, usize)>,
}

/// Splits a document into items, without front matter, code and headings.
fn items(document: &Document) -> Vec<Item> {
    let mut items: Vec<Item> = Vec::new();
    let mut open = false;
    let mut lists: Vec<(usize, usize)> = Vec::new();
    for index in 0..document.line_starts.len() {
        let span = line(document, index);
        let raw = document.str(&span);
        let text = raw.trim_start_matches('\u{feff}').trim();
        let skipped = document.in_code(span.start) || span.start < document.body.start;
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
            None => items.push(Item {
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
const ORDERS: [&str; 13] = [
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
const ORDERS_IN_SHORT: [&str; 8] = [
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
const IMPERATIVES: [&str; 42] = [
    "add", "ask", "avoid", "build", "call", "check", "commit", "create", "delete", "do",
    "document", "ensure", "follow", "format", "give", "include", "keep", "leave", "limit", "make",
    "name", "only", "pass", "prefer", "put", "read", "remove", "report", "return", "review", "run",
    "set", "skip", "start", "stop", "test", "treat", "update", "use", "verify", "wait", "write",
];

/// Words of the longest item that can be one rule; a longer one explains and
/// may contain rules.
const MAX_SHORT_WORDS: usize = 40;

/// Returns `true` if an item as a whole orders or forbids something.
fn is_rule(item: &Item) -> bool {
    let sentences = sentences(&item.text);
    let ordering = sentences.iter().filter(|sentence| orders(sentence)).count();
    if item.list.is_some() || count_words(&item.text) <= MAX_SHORT_WORDS {
        let words = spaced(&item.text);
        let has = |order: &&str| words.contains(&format!(" {order} "));
        let short = count_words(&item.text) <= MAX_SHORT_WORDS;
        return ordering > 0 || short && ORDERS_IN_SHORT.iter().any(has);
    }
    // What would become a heading or a list at the beginning of a line stays
    // where it is.
    let structural = |it: &&str| orders(it) && !begins_plainly(it);
    ordering * 2 > sentences.len() || sentences.iter().any(structural)
}

/// Returns `true` if a sentence is still plain text at the beginning of a line.
fn begins_plainly(sentence: &str) -> bool {
    let first = sentence.chars().next();
    let plain = |c: char| c.is_alphabetic() || matches!(c, '`' | '"' | '\'' | '(' | '“' | '*');
    first.is_some_and(plain) && !is_list_marker(sentence) && !sentence.starts_with("```")
}

/// Extracts the sentences of a long paragraph that order or forbid, word for
/// word.
fn rules_in(item: &Item) -> Option<String> {
    // Rows of tables and quotations are not taken apart.
    if item.list.is_some() || item.text.starts_with(['|', '>']) {
        return None;
    }
    let mut rules = sentences(&item.text);
    rules.retain(|sentence| orders(sentence));
    (!rules.is_empty()).then(|| rules.join(" "))
}

/// Splits a text into sentences.
fn sentences(text: &str) -> Vec<&str> {
    let mut rest = text.trim();
    let mut found = Vec::new();
    while !rest.is_empty() {
        let (sentence, behind) = rest.split_at(sentence_end(rest));
        found.push(sentence.trim());
        rest = behind.trim_start();
    }
    found
}

/// Returns `true` if a sentence orders or forbids something.
fn orders(sentence: &str) -> bool {
    let shouts =
        |word: &str| matches!(word, "NEVER" | "ALWAYS" | "MUST" | "CRITICAL" | "IMPORTANT");
    if sentence.split(|c: char| !c.is_alphanumeric()).any(shouts) {
        return true;
    }
    let words = spaced(sentence);
    if ORDERS
        .iter()
        .any(|order| words.contains(&format!(" {order} ")))
    {
        return true;
    }
    let is_number = |word: &str| word.bytes().all(|b| b.is_ascii_digit());
    let first = words.split_whitespace().find(|word| !is_number(word));
    first.is_some_and(|word| IMPERATIVES.contains(&word))
}

/// Returns the words in lower case with a space around each, so that whole
/// words and phrases can be searched.
fn spaced(text: &str) -> String {
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
const PROGRAMS: [&str; 36] = [
    "bash", "bun", "bundle", "bunx", "cargo", "cmake", "composer", "deno", "docker", "dotnet",
    "git", "go", "gradle", "just", "make", "mix", "mvn", "nix", "node", "npm", "npx", "php", "pip",
    "pnpm", "poetry", "pytest", "python", "python3", "rake", "ruff", "sbt", "swift", "task", "tox",
    "uv", "yarn",
];

/// Returns `true` if a code block contains shell commands.
fn is_shell(document: &Document, code: &Code) -> bool {
    let mut lines = document.str(&code.span).lines().map(str::trim);
    let is_command = |line: &str| {
        let line = line.strip_prefix("$ ").unwrap_or(line);
        let program = line.split_whitespace().next().unwrap_or_default();
        PROGRAMS.contains(&program) || program.starts_with("./")
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
