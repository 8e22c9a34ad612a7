//! Builds a Markdown page from a conversation: entries in their order, each
//! under a heading of its own, within a fixed size.
//!
//! The words of people and agents are plain text of their entry, whatever they
//! look like. A gap reports how many entries were dropped.

use std::collections::VecDeque;

use jiff::Timestamp;
use jiff::tz::TimeZone;

use crate::document::{self, Document};
use crate::secrets;

/// Bytes of a page: its beginning and its end are kept, since a session states
/// its purpose first and its results last.
const HEAD: usize = 128 << 10;
const TAIL: usize = 384 << 10;

/// Bytes of one entry's text.
const MOST_TEXT: usize = 16 << 10;

/// Kind of an entry, which decides its heading.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Kind {
    Prompt,
    Answer,
    /// A tool call, one line among others.
    Tool,
    /// A summary that replaces context which a client dropped.
    Compacted,
    /// The work of a sub-agent, as one entry.
    SubAgent,
    /// A note, with a title of its own.
    Noted,
    /// A summary of the session.
    Summary,
}

impl Kind {
    /// Returns the word that begins the heading.
    fn word(self) -> &'static str {
        match self {
            Kind::Prompt => "Prompt",
            Kind::Answer => "Answer",
            Kind::Tool => "Tools",
            Kind::Compacted => "Compacted",
            Kind::SubAgent => "Sub-agent",
            Kind::Noted => "Noted",
            Kind::Summary => "Summary",
        }
    }

    /// Returns the level of the heading.
    fn level(self) -> usize {
        match self {
            Kind::Prompt | Kind::Noted | Kind::Summary => 2,
            _ => 3,
        }
    }

    const ALL: [Kind; 7] = [
        Kind::Prompt,
        Kind::Answer,
        Kind::Tool,
        Kind::Compacted,
        Kind::SubAgent,
        Kind::Noted,
        Kind::Summary,
    ];
}

/// An entry of a page.
#[derive(Clone, Debug)]
struct Entry {
    kind: Kind,
    when: Option<Timestamp>,
    /// Inert Markdown.
    text: String,
    /// Inert text after the kind in the heading.
    label: String,
    /// The source record, for facts that are known only at the end.
    record: Option<u32>,
    /// Position among the entries of its kind, from one.
    number: usize,
}

/// Id of an entry, for later changes to it.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub(super) struct EntryId(usize);

/// A page that grows. It accepts admitted text and makes it inert.
#[derive(Debug, Default)]
pub(super) struct Page {
    head: Vec<Entry>,
    tail: VecDeque<Entry>,
    head_bytes: usize,
    tail_bytes: usize,
    /// Set once an entry did not fit the head; all later ones go to the tail.
    head_full: bool,
    dropped: usize,
    counts: [usize; Kind::ALL.len()],
}

impl Page {
    /// Adds an entry.
    pub(super) fn add(&mut self, kind: Kind, when: Option<Timestamp>, text: &str) -> EntryId {
        self.push(kind, when, String::new(), quoted(&cut(text, MOST_TEXT)))
    }

    /// Adds an entry as [`Page::add`] does, with a title in its heading.
    pub(super) fn add_titled(
        &mut self,
        kind: Kind,
        when: Option<Timestamp>,
        title: &str,
        text: &str,
    ) -> EntryId {
        let label = heading(title, 120);
        self.push(kind, when, label, quoted(&cut(text, MOST_TEXT)))
    }

    /// Adds a tool call as one line.
    pub(super) fn add_tool(&mut self, when: Option<Timestamp>, call: &str) -> EntryId {
        let call = one_line(call, 200);
        self.push(Kind::Tool, when, String::new(), call)
    }

    /// Sets the source record of an entry.
    pub(super) fn comes_from(&mut self, id: EntryId, record: u32) {
        if let Some(entry) = self.entry(id) {
            entry.record = Some(record);
        }
    }

    /// Appends a result to the line of a tool call, if the page still has it.
    pub(super) fn result(&mut self, id: EntryId, result: &str) {
        let result = one_line(result, 240);
        if result.is_empty() {
            return;
        }
        self.grow(id, |entry| {
            entry.text.push_str(" → ");
            entry.text.push_str(&result);
        });
    }

    /// Replaces the text of an entry.
    pub(super) fn replace(&mut self, id: EntryId, text: &str) {
        let text = quoted(&cut(text, MOST_TEXT));
        self.grow(id, |entry| entry.text = text);
    }

    pub(super) fn is_empty(&self) -> bool {
        self.total() == 0
    }

    /// Counts the entries of a kind, dropped ones included.
    pub(super) fn count(&self, kind: Kind) -> usize {
        self.counts[kind as usize]
    }

    /// Returns the number of entries that the page shows.
    pub(super) fn shown(&self) -> usize {
        self.head.len() + self.tail.len()
    }

    /// Returns the number of entries that did not fit.
    pub(super) fn dropped(&self) -> usize {
        self.dropped
    }

    /// Returns the number of all entries.
    fn total(&self) -> usize {
        self.shown() + self.dropped
    }

    /// Appends an entry to the head while it fits, then to the tail.
    fn push(
        &mut self,
        kind: Kind,
        when: Option<Timestamp>,
        label: String,
        text: String,
    ) -> EntryId {
        let id = EntryId(self.total());
        self.counts[kind as usize] += 1;
        let entry = Entry {
            kind,
            when,
            text: if text.is_empty() {
                "(no text)".to_owned()
            } else {
                text
            },
            label,
            record: None,
            number: self.counts[kind as usize],
        };
        let bytes = entry.bytes();
        if !self.head_full && self.head_bytes + bytes <= HEAD {
            self.head_bytes += bytes;
            self.head.push(entry);
            return id;
        }
        self.head_full = true;
        self.tail_bytes += bytes;
        self.tail.push_back(entry);
        self.shed();
        id
    }

    /// Changes an entry and updates the size.
    fn grow(&mut self, id: EntryId, change: impl FnOnce(&mut Entry)) {
        let in_head = id.0 < self.head.len();
        let Some(entry) = self.entry(id) else { return };
        let before = entry.bytes();
        change(entry);
        let after = entry.bytes();
        // The head may grow beyond its part by what results add; lines of
        // results are short, so it stays near it.
        let bytes = if in_head {
            &mut self.head_bytes
        } else {
            &mut self.tail_bytes
        };
        *bytes = *bytes - before + after;
        self.shed();
    }

    /// Drops the oldest entries of the tail until it fits. The last entry
    /// always stays.
    fn shed(&mut self) {
        while self.tail_bytes > TAIL && self.tail.len() > 1 {
            let Some(entry) = self.tail.pop_front() else {
                break;
            };
            self.tail_bytes -= entry.bytes();
            self.dropped += 1;
        }
    }

    /// Returns an entry, unless it was dropped.
    fn entry(&mut self, id: EntryId) -> Option<&mut Entry> {
        if id.0 < self.head.len() {
            return self.head.get_mut(id.0);
        }
        let at = id.0.checked_sub(self.head.len() + self.dropped)?;
        self.tail.get_mut(at)
    }

    /// Renders the page below its title. `remark` returns a remark about the
    /// source record of an entry.
    pub(super) fn render(&self, remark: impl Fn(u32) -> Option<&'static str>) -> String {
        let mut out = String::with_capacity(self.head_bytes + self.tail_bytes);
        let mut last = None;
        let mut day = None;
        for entry in &self.head {
            entry.render(&mut out, &mut last, &mut day, &remark);
        }
        if self.dropped > 0 {
            out.push_str(&format!(
                "\n### Left out\n\n{} entries in the middle: a page has at most {} KiB.\n",
                self.dropped,
                (HEAD + TAIL) >> 10
            ));
            last = None;
        }
        for entry in &self.tail {
            entry.render(&mut out, &mut last, &mut day, &remark);
        }
        out
    }
}

impl Entry {
    /// Returns the size of the entry on the page, with its heading.
    fn bytes(&self) -> usize {
        self.text.len() + self.label.len() + 32
    }

    /// Renders the entry. Consecutive tool calls share a heading, and the date
    /// is written once a day.
    fn render(
        &self,
        out: &mut String,
        last: &mut Option<(Kind, Option<&'static str>)>,
        day: &mut Option<jiff::civil::Date>,
        remark: &impl Fn(u32) -> Option<&'static str>,
    ) {
        let remark = self.record.and_then(remark);
        let same = *last == Some((self.kind, remark));
        *last = Some((self.kind, remark));
        if self.kind == Kind::Tool {
            if !same {
                out.push_str(&format!("\n### Tools{}\n\n", remark.unwrap_or_default()));
            }
            out.push_str(&format!("- {}\n", self.text));
            return;
        }
        out.push('\n');
        out.extend(std::iter::repeat_n('#', self.kind.level()));
        out.push(' ');
        out.push_str(self.kind.word());
        if self.kind == Kind::Prompt {
            out.push_str(&format!(" {}", self.number));
        }
        if !self.label.is_empty() {
            out.push_str(&format!(": {}", self.label));
        }
        if let Some(when) = self.when {
            let time = when.to_zoned(TimeZone::UTC).datetime();
            let new_day = *day != Some(time.date());
            *day = Some(time.date());
            if new_day {
                out.push_str(&format!(" · {}", time.strftime("%Y-%m-%d %H:%M")))
            } else {
                out.push_str(&format!(" · {}", time.strftime("%H:%M")))
            }
        }
        out.push_str(remark.unwrap_or_default());
        out.push_str("\n\n");
        out.push_str(&self.text);
        out.push('\n');
    }
}

/// Counts the entries of a page from its Markdown.
pub fn entries(page: &Document) -> usize {
    let mut entries = 0;
    for section in page.sections.iter().filter(|section| section.level > 1) {
        let is = |kind: &&Kind| {
            usize::from(section.level) == kind.level() && section.title.starts_with(kind.word())
        };
        match Kind::ALL.iter().find(is) {
            Some(Kind::Tool) => {
                let lines = page.str(&section.own).lines();
                entries += lines.filter(|line| line.starts_with("- ")).count();
            }
            Some(_) => entries += 1,
            None => {}
        }
    }
    entries
}

/// Quotes a text as plain Markdown text. Fenced code stays code, with its
/// indentation, inside a fence that nothing in it can close.
pub(super) fn quoted(text: &str) -> String {
    let mut out = String::with_capacity(text.len() + 64);
    let mut prose = String::new();
    let mut lines = text.lines().peekable();
    let flush = |prose: &mut String, out: &mut String| {
        // A link or an image in a conversation must not become one of the page.
        let inert = document::inert_block(prose).replace("](", "]\\(");
        prose.clear();
        if !inert.is_empty() {
            if !out.is_empty() {
                out.push_str("\n\n");
            }
            out.push_str(&inert);
        }
    };
    while let Some(line) = lines.next() {
        let Some((mark, length, info)) = fence(line) else {
            prose.push_str(line);
            prose.push('\n');
            continue;
        };
        flush(&mut prose, &mut out);
        let mut code = Vec::new();
        for line in lines.by_ref() {
            if fence(line).is_some_and(|(m, l, info)| m == mark && l >= length && info.is_empty()) {
                break;
            }
            code.push(line);
        }
        if !out.is_empty() {
            out.push_str("\n\n");
        }
        let longest = code.iter().map(|line| longest_run(line)).max().unwrap_or(0);
        // One backtick more than the longest run inside, so that no line of the
        // code closes the fence.
        let marks = "`".repeat(longest.max(2) + 1);
        out.push_str(&format!("{marks}{}\n", language(info)));
        for line in code {
            out.push_str(&visible(line));
            out.push('\n');
        }
        out.push_str(&marks);
    }
    flush(&mut prose, &mut out);
    out
}

/// Parses a line that opens or closes code: its mark, length and info string.
fn fence(line: &str) -> Option<(char, usize, &str)> {
    let line = line.trim_end();
    let start = line.trim_start();
    let mark = start.chars().next().filter(|c| matches!(c, '`' | '~'))?;
    let length = start.chars().take_while(|c| *c == mark).count();
    let info = start[length..].trim();
    (length >= 3 && !info.contains('`')).then_some((mark, length, info))
}

/// Returns the length of the longest run of backticks.
fn longest_run(line: &str) -> usize {
    let runs = line.split(|c| c != '`').map(str::len);
    runs.max().unwrap_or(0)
}

/// Returns the language of an info string, if it is a plain word.
fn language(info: &str) -> &str {
    let word = info.split_whitespace().next().unwrap_or_default();
    let plain = |c: char| c.is_ascii_alphanumeric() || matches!(c, '+' | '-' | '_' | '#' | '.');
    if word.len() <= 24 && word.chars().all(plain) {
        word
    } else {
        ""
    }
}

/// Removes characters from a line of code that would end it or control a
/// terminal.
fn visible(line: &str) -> String {
    let shown = line.trim_end_matches(['\r', ' ', '\t']).chars();
    shown
        .filter(|c| !c.is_control() || *c == '\t')
        .map(|c| match c {
            '\u{2028}' | '\u{2029}' | '\u{85}' => ' ',
            c => c,
        })
        .collect()
}

/// Formats a heading: one line, inert, with a limited length.
pub(super) fn heading(text: &str, most: usize) -> String {
    let line = one_line(text, most);
    // A trailing `#` would be taken for the end of the heading.
    line.trim_end_matches(['#', ' ']).to_owned()
}

/// Formats a text as one inert line of at most this many characters.
pub(super) fn one_line(text: &str, most: usize) -> String {
    let mut chars = text.trim().chars();
    let mut line: String = chars.by_ref().take(most).collect();
    if chars.next().is_some() {
        line.push('…');
        line = judged_anew(&line);
    }
    document::inert_line(&line).replace("](", "]\\(")
}

/// Cuts a text to this many bytes, with a note of how much is missing.
fn cut(text: &str, most: usize) -> String {
    if text.len() <= most {
        return text.to_owned();
    }
    let kept = &text[..text.floor_char_boundary(most)];
    let left = text[kept.len()..].chars().count();
    let kept = judged_anew(kept);
    format!("{kept}\n\n(… {left} more characters left out)")
}

/// Redacts a text again after it was cut: a credential that its end marked as
/// an example may look real without it.
fn judged_anew(cut: &str) -> String {
    secrets::redact(cut).into_owned()
}

#[cfg(test)]
mod tests;
