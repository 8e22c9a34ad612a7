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
const MAX_HEAD_BYTES: usize = 128 << 10;
const MAX_TAIL_BYTES: usize = 384 << 10;

/// Bytes of one entry's text.
const MAX_ENTRY_BYTES: usize = 16 << 10;

/// Kind of an entry, which decides its heading.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum PageEntryKind {
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

impl PageEntryKind {
    /// Returns the word that begins the heading.
    fn heading_word(self) -> &'static str {
        match self {
            PageEntryKind::Prompt => "Prompt",
            PageEntryKind::Answer => "Answer",
            PageEntryKind::Tool => "Tools",
            PageEntryKind::Compacted => "Compacted",
            PageEntryKind::SubAgent => "Sub-agent",
            PageEntryKind::Noted => "Noted",
            PageEntryKind::Summary => "Summary",
        }
    }

    /// Returns the level of the heading.
    fn heading_level(self) -> usize {
        match self {
            PageEntryKind::Prompt | PageEntryKind::Noted | PageEntryKind::Summary => 2,
            _ => 3,
        }
    }

    const ALL: [PageEntryKind; 7] = [
        PageEntryKind::Prompt,
        PageEntryKind::Answer,
        PageEntryKind::Tool,
        PageEntryKind::Compacted,
        PageEntryKind::SubAgent,
        PageEntryKind::Noted,
        PageEntryKind::Summary,
    ];
}

/// An entry of a page.
#[derive(Clone, Debug)]
struct PageEntry {
    kind: PageEntryKind,
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
pub(super) struct ConversationPage {
    head: Vec<PageEntry>,
    tail: VecDeque<PageEntry>,
    head_bytes: usize,
    tail_bytes: usize,
    /// Set once an entry did not fit the head; all later ones go to the tail.
    head_full: bool,
    dropped: usize,
    counts: [usize; PageEntryKind::ALL.len()],
}

impl ConversationPage {
    /// Adds an entry.
    pub(super) fn add_entry(
        &mut self,
        kind: PageEntryKind,
        when: Option<Timestamp>,
        text: &str,
    ) -> EntryId {
        self.push_entry(
            kind,
            when,
            String::new(),
            quote_text(&cut_text(text, MAX_ENTRY_BYTES)),
        )
    }

    /// Adds an entry as [`ConversationPage::add_entry`] does, with a title in its heading.
    pub(super) fn add_titled_entry(
        &mut self,
        kind: PageEntryKind,
        when: Option<Timestamp>,
        title: &str,
        text: &str,
    ) -> EntryId {
        let label = format_heading(title, 120);
        self.push_entry(
            kind,
            when,
            label,
            quote_text(&cut_text(text, MAX_ENTRY_BYTES)),
        )
    }

    /// Adds a tool call as one line.
    pub(super) fn add_tool_call(&mut self, when: Option<Timestamp>, call: &str) -> EntryId {
        let call = to_one_line(call, 200);
        self.push_entry(PageEntryKind::Tool, when, String::new(), call)
    }

    /// Sets the source record of an entry.
    pub(super) fn set_record(&mut self, id: EntryId, record: u32) {
        if let Some(entry) = self.entry_mut(id) {
            entry.record = Some(record);
        }
    }

    /// Appends a result to the line of a tool call, if the page still has it.
    pub(super) fn add_result(&mut self, id: EntryId, result: &str) {
        let result = to_one_line(result, 240);
        if result.is_empty() {
            return;
        }
        self.edit_entry(id, |entry| {
            entry.text.push_str(" → ");
            entry.text.push_str(&result);
        });
    }

    /// Replaces the text of an entry.
    pub(super) fn replace_text(&mut self, id: EntryId, text: &str) {
        let text = quote_text(&cut_text(text, MAX_ENTRY_BYTES));
        self.edit_entry(id, |entry| entry.text = text);
    }

    pub(super) fn is_empty(&self) -> bool {
        self.total_entries() == 0
    }

    /// Counts the entries of a kind, dropped ones included.
    pub(super) fn count_kind(&self, kind: PageEntryKind) -> usize {
        self.counts[kind as usize]
    }

    /// Returns the number of entries that the page shows.
    pub(super) fn shown_entries(&self) -> usize {
        self.head.len() + self.tail.len()
    }

    /// Returns the number of entries that did not fit.
    pub(super) fn dropped_entries(&self) -> usize {
        self.dropped
    }

    /// Returns the number of all entries.
    fn total_entries(&self) -> usize {
        self.shown_entries() + self.dropped
    }

    /// Appends an entry to the head while it fits, then to the tail.
    fn push_entry(
        &mut self,
        kind: PageEntryKind,
        when: Option<Timestamp>,
        label: String,
        text: String,
    ) -> EntryId {
        let id = EntryId(self.total_entries());
        self.counts[kind as usize] += 1;
        let entry = PageEntry {
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
        let bytes = entry.size_bytes();
        if !self.head_full && self.head_bytes + bytes <= MAX_HEAD_BYTES {
            self.head_bytes += bytes;
            self.head.push(entry);
            return id;
        }
        self.head_full = true;
        self.tail_bytes += bytes;
        self.tail.push_back(entry);
        self.drop_middle();
        id
    }

    /// Changes an entry and updates the size.
    fn edit_entry(&mut self, id: EntryId, change: impl FnOnce(&mut PageEntry)) {
        let in_head = id.0 < self.head.len();
        let Some(entry) = self.entry_mut(id) else {
            return;
        };
        let before = entry.size_bytes();
        change(entry);
        let after = entry.size_bytes();
        // The head may grow beyond its part by what results add; lines of
        // results are short, so it stays near it.
        let bytes = if in_head {
            &mut self.head_bytes
        } else {
            &mut self.tail_bytes
        };
        *bytes = *bytes - before + after;
        self.drop_middle();
    }

    /// Drops the oldest entries of the tail until it fits. The last entry
    /// always stays.
    fn drop_middle(&mut self) {
        while self.tail_bytes > MAX_TAIL_BYTES && self.tail.len() > 1 {
            let Some(entry) = self.tail.pop_front() else {
                break;
            };
            self.tail_bytes -= entry.size_bytes();
            self.dropped += 1;
        }
    }

    /// Returns an entry, unless it was dropped.
    fn entry_mut(&mut self, id: EntryId) -> Option<&mut PageEntry> {
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
                (MAX_HEAD_BYTES + MAX_TAIL_BYTES) >> 10
            ));
            last = None;
        }
        for entry in &self.tail {
            entry.render(&mut out, &mut last, &mut day, &remark);
        }
        out
    }
}

impl PageEntry {
    /// Returns the size of the entry on the page, with its heading.
    fn size_bytes(&self) -> usize {
        self.text.len() + self.label.len() + 32
    }

    /// Renders the entry. Consecutive tool calls share a heading, and the date
    /// is written once a day.
    fn render(
        &self,
        out: &mut String,
        last: &mut Option<(PageEntryKind, Option<&'static str>)>,
        day: &mut Option<jiff::civil::Date>,
        remark: &impl Fn(u32) -> Option<&'static str>,
    ) {
        let remark = self.record.and_then(remark);
        let same = *last == Some((self.kind, remark));
        *last = Some((self.kind, remark));
        if self.kind == PageEntryKind::Tool {
            if !same {
                out.push_str(&format!("\n### Tools{}\n\n", remark.unwrap_or_default()));
            }
            out.push_str(&format!("- {}\n", self.text));
            return;
        }
        out.push('\n');
        out.extend(std::iter::repeat_n('#', self.kind.heading_level()));
        out.push(' ');
        out.push_str(self.kind.heading_word());
        if self.kind == PageEntryKind::Prompt {
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
pub fn count_entries(page: &Document) -> usize {
    let mut entries = 0;
    for section in page.sections.iter().filter(|section| section.level > 1) {
        let is = |kind: &&PageEntryKind| {
            usize::from(section.level) == kind.heading_level()
                && section.title.starts_with(kind.heading_word())
        };
        match PageEntryKind::ALL.iter().find(is) {
            Some(PageEntryKind::Tool) => {
                let lines = page.span_text(&section.own).lines();
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
pub(super) fn quote_text(text: &str) -> String {
    let mut out = String::with_capacity(text.len() + 64);
    let mut prose = String::new();
    let mut lines = text.lines().peekable();
    let flush = |prose: &mut String, out: &mut String| {
        // A link or an image in a conversation must not become one of the page.
        let inert = document::escape_markdown_block(prose).replace("](", "]\\(");
        prose.clear();
        if !inert.is_empty() {
            if !out.is_empty() {
                out.push_str("\n\n");
            }
            out.push_str(&inert);
        }
    };
    while let Some(line) = lines.next() {
        let Some((mark, length, info)) = parse_fence(line) else {
            prose.push_str(line);
            prose.push('\n');
            continue;
        };
        flush(&mut prose, &mut out);
        let mut code = Vec::new();
        for line in lines.by_ref() {
            if parse_fence(line)
                .is_some_and(|(m, l, info)| m == mark && l >= length && info.is_empty())
            {
                break;
            }
            code.push(line);
        }
        if !out.is_empty() {
            out.push_str("\n\n");
        }
        let longest = code
            .iter()
            .map(|line| longest_backtick_run(line))
            .max()
            .unwrap_or(0);
        // One backtick more than the longest run inside, so that no line of the
        // code closes the fence.
        let marks = "`".repeat(longest.max(2) + 1);
        out.push_str(&format!("{marks}{}\n", clean_language(info)));
        for line in code {
            out.push_str(&strip_control_chars(line));
            out.push('\n');
        }
        out.push_str(&marks);
    }
    flush(&mut prose, &mut out);
    out
}

/// Parses a line that opens or closes code: its mark, length and info string.
fn parse_fence(line: &str) -> Option<(char, usize, &str)> {
    let line = line.trim_end();
    let start = line.trim_start();
    let mark = start.chars().next().filter(|c| matches!(c, '`' | '~'))?;
    let length = start.chars().take_while(|c| *c == mark).count();
    let info = start[length..].trim();
    (length >= 3 && !info.contains('`')).then_some((mark, length, info))
}

/// Returns the length of the longest run of backticks.
fn longest_backtick_run(line: &str) -> usize {
    let runs = line.split(|c| c != '`').map(str::len);
    runs.max().unwrap_or(0)
}

/// Returns the language of an info string, if it is a plain word.
fn clean_language(info: &str) -> &str {
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
fn strip_control_chars(line: &str) -> String {
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
pub(super) fn format_heading(text: &str, most: usize) -> String {
    let line = to_one_line(text, most);
    // A trailing `#` would be taken for the end of the heading.
    line.trim_end_matches(['#', ' ']).to_owned()
}

/// Formats a text as one inert line of at most this many characters.
pub(super) fn to_one_line(text: &str, most: usize) -> String {
    let mut chars = text.trim().chars();
    let mut line: String = chars.by_ref().take(most).collect();
    if chars.next().is_some() {
        line.push('…');
        line = redact_again(&line);
    }
    document::escape_markdown_line(&line).replace("](", "]\\(")
}

/// Cuts a text to this many bytes, with a note of how much is missing.
fn cut_text(text: &str, most: usize) -> String {
    if text.len() <= most {
        return text.to_owned();
    }
    let kept = &text[..text.floor_char_boundary(most)];
    let left = text[kept.len()..].chars().count();
    let kept = redact_again(kept);
    format!("{kept}\n\n(… {left} more characters left out)")
}

/// Redacts a text again after it was cut: a credential that its end marked as
/// an example may look real without it.
fn redact_again(cut: &str) -> String {
    secrets::redact_secrets(cut).into_owned()
}

#[cfg(test)]
mod tests;
