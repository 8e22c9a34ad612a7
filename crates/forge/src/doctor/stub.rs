//! What must stay of a file that agents load at every start: front matter,
//! imports, commands, and what its author marked. The rest is for
//! `knowledge/legacy/`. Lines are kept whole or dropped, never rewritten.

use std::ops::Range;

use crate::document::{self, BlockKind, Code, Document, LinkKind};
use crate::tokens::Tokenizer;
use crate::workspace::RelPath;

/// A stub stays below this many tokens of `o200k`, whatever is configured.
pub const STUB_TOKENS: usize = 500;

const BEGIN: &str = "memory-forge:begin";
const END: &str = "memory-forge:end";
const KEEP: &str = "memory-forge:keep";
const END_KEEP: &str = "/memory-forge:keep";

/// What would become of a file.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Verdict {
    Stub {
        text: String,
        tokens: usize,
    },
    /// What must stay is itself too much.
    TooMuchMustStay {
        tokens: usize,
    },
    /// There is nothing that could go.
    NothingToMove,
}

/// Decides what stays of `text`, when the rest is in `legacy`.
pub fn stub(text: &str, legacy: &RelPath, limit: usize) -> Verdict {
    let document = document::parse(text);
    let mut least: Option<usize> = None;
    for extent in [Extent::WithRules, Extent::Sections, Extent::Commands] {
        let stays = Stays::of(&document, extent);
        let text = with_pointer(&stays.render(&document), legacy);
        if stays.lines.iter().all(|stays| *stays) || text.len() >= document.text.len() {
            continue;
        }
        let tokens = Tokenizer::O200k.count(&text);
        if tokens < STUB_TOKENS.min(limit + 1) {
            return Verdict::Stub { text, tokens };
        }
        least = Some(least.map_or(tokens, |least| least.min(tokens)));
    }
    match least {
        Some(tokens) => Verdict::TooMuchMustStay { tokens },
        None => Verdict::NothingToMove,
    }
}

/// How much stays, from most to least; the first that fits is taken.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Extent {
    /// Sections about commands, and the rules that their author shouts.
    WithRules,
    Sections,
    /// Of those sections the commands alone: code, and lines with code in them.
    Commands,
}

/// For every line whether it stays.
struct Stays {
    lines: Vec<bool>,
}

impl Stays {
    fn of(document: &Document, extent: Extent) -> Stays {
        let mut stays = Stays {
            lines: vec![false; document.line_starts.len()],
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
        if extent == Extent::WithRules {
            stays.keep_rules(document);
        }
        stays.complete(document);
        stays
    }

    fn keep(&mut self, document: &Document, span: &Range<usize>) {
        if span.is_empty() {
            return;
        }
        let (first, last) = document.lines_of(span);
        self.lines[first - 1..last].fill(true);
    }

    /// Marks are comments on lines of their own around a part, or one at the
    /// end of a line. A part that is not closed goes on to the end: where the
    /// author's wish is unclear, nothing leaves.
    fn keep_marked(&mut self, document: &Document) {
        let mut closing: Option<&str> = None;
        for index in 0..self.lines.len() {
            let span = line(document, index);
            let text = document.str(&span).trim_start_matches('\u{feff}').trim();
            let in_front = document.body.start > span.start && !text.is_empty();
            if in_front || document.in_code(span.start) && closing.is_none() {
                // A comment in code is shown, not meant; at its end it is.
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
                (None, Some(KEEP)) => closing = Some(END_KEEP),
                (None, _) => self.lines[index] |= comment_at_end(text) == Some("keep"),
            }
            self.lines[index] |= closing.is_some();
        }
    }

    fn keep_command_sections(&mut self, document: &Document, extent: Extent) {
        for (index, section) in document.sections.iter().enumerate() {
            // The title of the whole file says nothing about its parts.
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

    /// Paragraphs and list items with a word in capitals that forbids or
    /// demands. They are no commands, so they stay only where there is room.
    fn keep_rules(&mut self, document: &Document) {
        let mut goes_on = false;
        for index in 0..self.lines.len() {
            let span = line(document, index);
            let text = document.str(&span).trim();
            let in_code = document.in_code(span.start);
            let ends = text.is_empty() || in_code || span.start < document.body.start;
            let begins = text.starts_with(['-', '*', '+', '#', '|', '>'])
                || text.starts_with(|c: char| c.is_ascii_digit());
            goes_on = !ends && (goes_on && !begins || is_shouted(text));
            self.lines[index] |= goes_on;
        }
    }

    /// A sentence that ends in a colon belongs to the block behind it.
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

    /// Adds what kept lines need to be understood: whole code blocks, the head
    /// of a table, the headings above, and the file's title.
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

    /// Whether a line of the span stays that is not blank.
    fn any(&self, document: &Document, span: &Range<usize>) -> bool {
        if span.is_empty() {
            return false;
        }
        let (first, last) = document.lines_of(span);
        (first - 1..last).any(|index| {
            self.lines[index] && !document.str(&line(document, index)).trim().is_empty()
        })
    }

    /// The lines that stay, one blank line where others were.
    fn render(&self, document: &Document) -> String {
        let newline = document.newline();
        let mut text = String::new();
        if document.text.starts_with('\u{feff}') {
            text.push('\u{feff}');
        }
        let start = text.len();
        let mut gap = false;
        for (index, stays) in self.lines.iter().enumerate() {
            if !stays {
                gap = true;
                continue;
            }
            let line = document.str(&line(document, index));
            let line = line.strip_prefix('\u{feff}').unwrap_or(line);
            // A blank line that begins a part would make two of one.
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

/// Adds the lines that lead to what left the file: behind the title, where no
/// unclosed code can swallow them. Lines that do so already are enough.
fn with_pointer(text: &str, legacy: &RelPath) -> String {
    if text.contains(&format!("`{legacy}`")) {
        return text.to_owned();
    }
    let document = document::parse(text);
    let newline = document.newline();
    let taken = (0..document.line_starts.len())
        .any(|index| comment(document.str(&line(&document, index)).trim()) == Some(BEGIN));
    // The block between these two is also what sets a client up; there is
    // only one of it in a file.
    let (open, close) = if taken {
        (KEEP, END_KEEP)
    } else {
        (BEGIN, END)
    };
    let pointer = [
        &format!("<!-- {open} -->"),
        "What this project knows is in `knowledge/` and is not loaded by itself.",
        "Search it before you change something: `memory-forge search \"<question>\"`.",
        "Without the tool, begin with `knowledge/README.md`.",
        &format!("The former text of this file is in `{legacy}`."),
        &format!("<!-- {close} -->"),
    ]
    .join(newline);
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
    out.push_str(&pointer);
    out.push_str(newline);
    let after = after.trim_start_matches(['\n', '\r']);
    if !after.is_empty() {
        out.push_str(newline);
        out.push_str(after);
    }
    out
}

fn line(document: &Document, index: usize) -> Range<usize> {
    let end = document.line_starts.get(index + 1).copied();
    document.line_starts[index]..end.unwrap_or(document.text.len())
}

/// What a comment says that is all there is on a line.
fn comment(text: &str) -> Option<&str> {
    let inner = text.strip_prefix("<!--")?.strip_suffix("-->")?;
    (!inner.contains("-->")).then(|| inner.trim())
}

fn comment_at_end(text: &str) -> Option<&str> {
    let inner = text.trim_end().strip_suffix("-->")?;
    Some(inner[inner.rfind("<!--")? + 4..].trim())
}

fn has_children(document: &Document, index: usize) -> bool {
    let mut sections = document.sections.iter();
    sections.any(|section| section.parent == Some(index))
}

/// Words of headings under which people write how to build, test and run.
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

/// A title with more words than this is a statement, not a label.
const MOST_WORDS: usize = 6;

fn is_about_commands(title: &str) -> bool {
    let title = title.to_lowercase();
    let words: Vec<&str> = title
        .split(|c: char| !c.is_alphanumeric())
        .filter(|word| !word.is_empty())
        .collect();
    words.len() <= MOST_WORDS && words.iter().any(|word| COMMAND_WORDS.contains(word))
}

fn is_shouted(line: &str) -> bool {
    let shouts =
        |word: &str| matches!(word, "NEVER" | "ALWAYS" | "MUST" | "CRITICAL" | "IMPORTANT");
    let mut words = line.split(|c: char| !c.is_alphanumeric());
    !line.starts_with('#') && (line.contains("DO NOT") || words.any(shouts))
}

/// Programs whose name at the beginning of a line tells a command.
const PROGRAMS: [&str; 36] = [
    "bash", "bun", "bundle", "bunx", "cargo", "cmake", "composer", "deno", "docker", "dotnet",
    "git", "go", "gradle", "just", "make", "mix", "mvn", "nix", "node", "npm", "npx", "php", "pip",
    "pnpm", "poetry", "pytest", "python", "python3", "rake", "ruff", "sbt", "swift", "task", "tox",
    "uv", "yarn",
];

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
