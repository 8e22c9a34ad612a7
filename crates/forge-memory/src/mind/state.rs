//! Reads and writes `STATE.md`, or a workspace's `status.md`: phase, status,
//! work, blockers and the next action. A section that the caller does not
//! change keeps its bytes.

use std::collections::HashSet;
use std::ops::Range;

use jiff::Timestamp;
use jiff::civil::Date;

use super::values::{
    self, edit_text, is_unset, parse_labelled, plain_value, split_items, strip_comments,
};
use super::{MindError, MindFile, MindStore, StateLayoutKind, outline};
use crate::admit::{AdmittedText, SubmittedText};
use crate::document::{
    self, Document, TextEdit, day_of_timestamp, escape_markdown_block, escape_markdown_line,
};
use crate::workspace::{self, ChangeReceipt};

/// The status of the work. Unset values and placeholders are none.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct WorkState {
    /// The phase of the work.
    pub phase: Option<String>,
    /// The status of the work.
    pub status: Option<String>,
    /// What is being worked on.
    pub active: Vec<String>,
    /// What is blocked.
    pub blocked: Vec<String>,
    /// The next action.
    pub next: Option<String>,
    /// The day of the last update.
    pub updated: Option<Date>,
    /// The file verbatim.
    pub text: String,
    /// When the file was last written.
    pub modified: Option<Timestamp>,
}

/// Values to change; the others stay.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct StateChange {
    /// The new phase.
    pub phase: Option<String>,
    /// The new status.
    pub status: Option<String>,
    /// What is being worked on from now on.
    pub active: Option<Vec<String>>,
    /// What is blocked from now on.
    pub blocked: Option<Vec<String>>,
    /// The first thing to do; further list items stay.
    pub next: Option<String>,
    /// Everything to do next, in place of the current list.
    pub priorities: Option<Vec<String>>,
}

/// Outcome of setting the state.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct StateSetOutcome {
    /// Whether the file was created.
    pub created: bool,
    /// The phase after the change.
    pub phase: Option<String>,
}

/// A part of the state, with the titles that files use for it. The first two
/// titles are used for new sections, in `.mind/` and in `status.md`.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum StatePart {
    Phase,
    Status,
    Active,
    Blocked,
    Next,
    Updated,
}

impl StatePart {
    pub(crate) const ALL: [StatePart; 6] = [
        StatePart::Phase,
        StatePart::Status,
        StatePart::Active,
        StatePart::Blocked,
        StatePart::Next,
        StatePart::Updated,
    ];

    pub(crate) fn titles(self) -> &'static [&'static str] {
        match self {
            StatePart::Phase => &["Current Phase", "Phase"],
            StatePart::Status => &["Current Status", "Active Focus", "Status"],
            StatePart::Active => &[
                "Active Work",
                "In Progress",
                "What's In Progress",
                "What’s In Progress",
            ],
            StatePart::Blocked => &[
                "Blocked Items",
                "Blocked",
                "What's Blocked",
                "What’s Blocked",
                "Blockers",
            ],
            StatePart::Next => &[
                "Next Action",
                "Next Priorities",
                "Next Actions",
                "Next Steps",
                "What's Next",
                "What’s Next",
            ],
            StatePart::Updated => &["Last Updated"],
        }
    }

    fn title(self, layout: StateLayoutKind) -> &'static str {
        match layout {
            StateLayoutKind::Mind => self.titles()[0],
            StateLayoutKind::Manifest => self.titles().get(1).unwrap_or(&self.titles()[0]),
        }
    }

    /// Finds the first section of the part; a second one of the same title
    /// belongs to the user. The title of the whole file does not count.
    pub(super) fn find_section(self, document: &Document) -> Option<usize> {
        self.titles().iter().find_map(|title| {
            document.sections.iter().position(|section| {
                section.level > 1 && section.title.trim().to_lowercase() == title.to_lowercase()
            })
        })
    }
}

impl WorkState {
    pub(super) fn from_document(document: &Document, modified: Option<Timestamp>) -> WorkState {
        let own = |part: StatePart| {
            let section = part.find_section(document)?;
            Some(strip_comments(document, &document.sections[section].own))
        };
        let value = |part: StatePart| own(part).filter(|text| !is_unset(text));
        let list = |part: StatePart| -> Vec<String> {
            split_items(&own(part).unwrap_or_default())
                .into_iter()
                .filter(|item| !item.starts_with("[x]") && !item.starts_with("[X]"))
                .map(|item| plain_value(item.strip_prefix("[ ]").unwrap_or(&item)))
                .filter(|item| !is_unset(item))
                .collect()
        };
        let updated = match own(StatePart::Updated) {
            Some(text) => values::first_date(&text),
            None => find_label_line(document, "last updated")
                .and_then(|span| values::first_date(document.span_text(&span))),
        };
        WorkState {
            phase: value(StatePart::Phase)
                .or_else(|| read_label_value(document, "phase"))
                .map(|text| plain_value(first_nonblank_line(&text)))
                .filter(|text| !is_unset(text)),
            status: value(StatePart::Status).map(|text| plain_value(&text)),
            active: list(StatePart::Active),
            blocked: list(StatePart::Blocked),
            next: StatePart::Next
                .find_section(document)
                .and_then(|section| value_span(document, section))
                .and_then(|span| first_list_entry(document.span_text(&span))),
            updated,
            text: document.text.clone(),
            modified,
        }
    }

    /// Returns `true` if the state has nothing worth showing at a prompt.
    pub fn is_blank(&self) -> bool {
        self.phase.is_none() && self.next.is_none()
    }
}

impl MindStore<'_> {
    /// Reads the state; returns none if the file does not exist.
    pub fn read_state(&self) -> Result<Option<WorkState>, MindError> {
        let modified = self.modified_at(MindFile::State);
        let document = self.parse_document(MindFile::State)?;
        Ok(document.map(|document| WorkState::from_document(&document, modified)))
    }

    /// Reads only the known parts of a long file, redacted for an agent that
    /// did not request them.
    pub(crate) fn state_at_a_glance(&self) -> Result<Option<WorkState>, MindError> {
        let text = self.read_text(MindFile::State)?;
        Ok(text.map(|text| state_at_a_glance(&text)))
    }

    /// Changes the given parts and the date; creates the file if it is missing.
    pub fn set_state(
        &self,
        change: &StateChange,
        now: Timestamp,
    ) -> Result<(StateSetOutcome, ChangeReceipt), MindError> {
        self.rewrite_file(MindFile::State, "Set the state", now, |files, before| {
            let new = self.apply_state_change(before, &self.admit_text(change)?, now)?;
            // In the same change, so that no crash can lose the replaced lines.
            self.archive_replaced_lines(files, &new.replaced, now)?;
            Ok((new.text, new.outcome))
        })
    }

    /// Computes the text of the state file after a change.
    pub(super) fn apply_state_change(
        &self,
        before: Option<String>,
        change: &AdmittedText<&StateChange>,
        now: Timestamp,
    ) -> Result<StateRewrite, MindError> {
        let created = before.is_none();
        let path = self.files.path(MindFile::State);
        let mut text = before.unwrap_or_else(|| blank_state(self.files.layout));
        let original = text.clone();
        for (part, body) in change.section_bodies(self.files.layout) {
            text = edit_text(path, text, |document| {
                put_part(document, part, &body, self.files.layout)
            })?;
        }
        if let Some(list) = change.render_priorities() {
            text = edit_text(path, text, |document| {
                match StatePart::Next.find_section(document) {
                    Some(section) => document.replace_section(section, &list),
                    None => {
                        let title = StatePart::Next.title(self.files.layout);
                        values::append_entry(document, 2, title, &list)
                    }
                }
            })?;
        }
        let replaced = find_replaced_lines(&original, &text);
        let today = day_of_timestamp(now).to_string();
        text = edit_text(path, text, |document| {
            put_date(document, &today, self.files.layout)
        })?;
        let phase = WorkState::from_document(&document::parse_document(text.clone()), None).phase;
        Ok(StateRewrite {
            text,
            outcome: StateSetOutcome { created, phase },
            replaced,
        })
    }

    /// Appends replaced lines to the archive of the state, word for word: a
    /// person may have written them, and no other copy exists. Lines that the
    /// archive already has are not repeated.
    pub(super) fn archive_replaced_lines(
        &self,
        change: &mut workspace::WorkspaceChange<'_>,
        replaced: &[ReplacedLines],
        now: Timestamp,
    ) -> Result<(), MindError> {
        if replaced.is_empty() {
            return Ok(());
        }
        let path = self.files.replaced_state_path(self.workspace)?;
        let state = self.files.path(MindFile::State);
        let mut text = change.read_text(&path)?.unwrap_or_else(|| {
            format!("# Replaced State\n\nLines that `{state}` no longer has, the newest last.\n")
        });
        let known: HashSet<String> = text.lines().map(str::to_owned).collect();
        let mut grown = false;
        for ReplacedLines { section, lines } in replaced {
            // A quote keeps any line as text, even a heading or an open fence.
            let lines = lines.iter().map(|line| format!("> {line}"));
            let new: Vec<String> = lines.filter(|line| !known.contains(line)).collect();
            if new.is_empty() {
                continue;
            }
            if !text.ends_with('\n') {
                text.push('\n');
            }
            let title = values::inert_line_or(section, "Top of the file");
            let (date, body) = (day_of_timestamp(now), new.join("\n"));
            text.push_str(&format!("\n## {date} - {title}\n\n{body}\n"));
            grown = true;
        }
        if grown {
            change.write(&path, text);
        }
        Ok(())
    }
}

impl SubmittedText for StateChange {
    fn stated_texts(&self) -> Vec<&str> {
        let lists = [&self.active, &self.blocked, &self.priorities];
        let lists = lists.into_iter().flatten().flatten();
        let lines = [&self.phase, &self.status, &self.next];
        let texts = lines.into_iter().flatten().chain(lists);
        texts.map(String::as_str).collect()
    }
}

/// The state file after a change.
pub(super) struct StateRewrite {
    pub(super) text: String,
    pub(super) outcome: StateSetOutcome,
    /// Lines that the file no longer has.
    pub(super) replaced: Vec<ReplacedLines>,
}

/// Lines that a change removed from a section.
pub(super) struct ReplacedLines {
    section: String,
    lines: Vec<String>,
}

/// Finds lines of `before` that `after` does not have, in text order. Compares
/// the two texts instead of tracking each edit, so that no edit can lose a
/// line.
fn find_replaced_lines(before: &str, after: &str) -> Vec<ReplacedLines> {
    if before == after {
        return Vec::new();
    }
    let kept: HashSet<&str> = after.lines().map(str::trim).collect();
    let document = document::parse_document(before.to_owned());
    let mut all: Vec<ReplacedLines> = Vec::new();
    for section in &document.sections {
        let lines = document.span_text(&section.own).lines().map(str::trim_end);
        let lines: Vec<String> = lines
            .filter(|line| {
                let text = line.trim();
                let value = &text[values::list_marker_length(text)
                    .unwrap_or(0)
                    .min(text.len())..];
                !values::is_filler(value) && !kept.contains(text)
            })
            .map(str::to_owned)
            .collect();
        if !lines.is_empty() {
            let section = section.title.clone();
            all.push(ReplacedLines { section, lines });
        }
    }
    all
}

/// Returns a file without its update date, for comparison.
pub(super) fn strip_update_date(text: &str) -> String {
    let document = document::parse_document(text.to_owned());
    let mut dated: Vec<Range<usize>> = Vec::new();
    if let Some(section) = StatePart::Updated.find_section(&document) {
        dated.extend(find_date_line(&document, section));
    } else if let Some(span) = find_label_line(&document, "last updated") {
        dated.push(span);
    }
    let mut out = String::with_capacity(text.len());
    let mut at = 0;
    for span in dated {
        out.push_str(&text[at..span.start]);
        at = span.end;
    }
    out.push_str(&text[at..]);
    out
}

impl StateChange {
    /// Returns `true` if nothing is to be changed.
    pub fn is_empty(&self) -> bool {
        *self == StateChange::default()
    }

    fn section_bodies(&self, layout: StateLayoutKind) -> Vec<(StatePart, String)> {
        let or_unset = |text: String| {
            if text.is_empty() {
                "Not set".to_owned()
            } else {
                text
            }
        };
        let mut bodies = Vec::new();
        if let Some(phase) = &self.phase {
            bodies.push((StatePart::Phase, or_unset(escape_markdown_line(phase))));
        }
        if let Some(status) = &self.status {
            bodies.push((StatePart::Status, or_unset(escape_markdown_block(status))));
        }
        if let Some(active) = &self.active {
            bodies.push((StatePart::Active, values::render_bullets(active)));
        }
        if let Some(blocked) = &self.blocked {
            bodies.push((StatePart::Blocked, values::render_bullets(blocked)));
        }
        if let Some(next) = &self.next {
            let next = match layout {
                StateLayoutKind::Mind => escape_markdown_block(next),
                StateLayoutKind::Manifest => escape_markdown_line(next),
            };
            bodies.push((StatePart::Next, or_unset(next)));
        }
        bodies
    }

    fn render_priorities(&self) -> Option<String> {
        let lines: Vec<String> = (self.priorities.as_ref()?.iter())
            .map(|it| escape_markdown_line(it))
            .filter(|it| !it.is_empty())
            .enumerate()
            .map(|(at, it)| format!("{}. {it}", at + 1))
            .collect();
        Some(if lines.is_empty() {
            "None".to_owned()
        } else {
            lines.join("\n")
        })
    }
}

/// Reads the known parts of a file of any length; for a long file, the state's
/// `text` contains only those.
pub(crate) fn state_at_a_glance(text: &str) -> WorkState {
    // If a title appears twice, the first one counts.
    let mut seen = HashSet::new();
    let short = outline::outline_sections(text, |level, title| {
        let mut titles = StatePart::ALL.iter().flat_map(|part| part.titles());
        let known = titles.any(|it| it.to_lowercase() == title);
        level > 1 && known && seen.insert(title.to_owned())
    });
    WorkState::from_document(&document::parse_document(short), None)
}

/// Returns a new file with every part unset.
fn blank_state(layout: StateLayoutKind) -> String {
    match layout {
        StateLayoutKind::Mind => {
            "# Project State\n\n## Current Phase\nNot set\n\n## Current Status\nNot set\n\n\
             ## Active Work\nNone\n\n## Blocked Items\nNone\n\n## Next Action\nNot set\n\n\
             ## Last Updated\nNot set\n"
                .to_owned()
        }
        StateLayoutKind::Manifest => {
            "# Status\n\nLast updated: Not set\n\n**Phase:** Not set\n\n## Active Focus\n\
             Not set\n\n## In Progress\nNone\n\n## Blocked\nNone\n\n## Next Priorities\nNone\n"
                .to_owned()
        }
    }
}

fn put_part(document: &Document, part: StatePart, body: &str, layout: StateLayoutKind) -> TextEdit {
    if let Some(section) = part.find_section(document) {
        if part == StatePart::Next && layout == StateLayoutKind::Manifest {
            return put_first_priority(document, section, body);
        }
        return match part {
            StatePart::Active | StatePart::Blocked => document.replace_section(section, body),
            StatePart::Phase | StatePart::Status | StatePart::Next | StatePart::Updated => {
                put_value(document, section, body)
            }
        };
    }
    if part == StatePart::Phase && layout == StateLayoutKind::Manifest {
        return match find_label_line(document, "phase") {
            Some(span) => TextEdit {
                span,
                text: format!("**Phase:** {body}"),
            },
            None => values::insert_below_title(document, &format!("**Phase:** {body}")),
        };
    }
    let body = match (part, layout) {
        (StatePart::Next, StateLayoutKind::Manifest) => format!("1. {body}"),
        _ => body.to_owned(),
    };
    values::append_entry(document, 2, part.title(layout), &body)
}

/// Returns the edit that replaces the first priority; the others stay.
fn put_first_priority(document: &Document, section: usize, body: &str) -> TextEdit {
    let own = document.sections[section].own.clone();
    let mut at = own.start;
    for line in document.span_text(&own).split_inclusive('\n') {
        let text = line.trim_end();
        if let Some(length) = values::list_marker_length(text)
            && !is_unset(&text[length.min(text.len())..])
        {
            let end = at + text.len();
            return TextEdit {
                span: at + length..end,
                text: body.to_owned(),
            };
        }
        at += line.len();
    }
    document.replace_section(section, &format!("1. {body}"))
}

/// Returns the span of a section's value: its paragraphs up to the first list,
/// quote, table, code or comment, which the user added below. If the value is a
/// list, or introduces one with a colon, it includes the list.
fn value_span(document: &Document, section: usize) -> Option<Range<usize>> {
    let own = document.sections[section].own.clone();
    let mut found: Option<Range<usize>> = None;
    let mut has_list = false;
    let mut at = own.start;
    for line in document.span_text(&own).split_inclusive('\n') {
        let start = at;
        at += line.len();
        let text = line.trim();
        if text.is_empty() || found.as_ref().is_some_and(|it| start < it.end) {
            continue;
        }
        let end = start + line.trim_end().len();
        let is_comment = document.comments.iter().any(|it| it.contains(&(end - 1)));
        let is_item = values::list_marker_length(text).is_some();
        let code = document.code.iter().find(|it| it.span.contains(&(end - 1)));
        let begins_block = is_item || code.is_some() || text.starts_with(['>', '|']);
        let Some(value) = found.as_mut() else {
            has_list = is_item;
            // Cutting a code block in half would turn the rest of the file into
            // code.
            let end = code.map_or(end, |code| code.span.end.min(own.end));
            found = Some(start..end).filter(|_| !is_comment);
            continue;
        };
        has_list |= is_item && document.span_text(value).ends_with(':');
        if is_comment || begins_block && !has_list {
            break;
        }
        value.end = end;
    }
    found
}

/// Replaces the value of a section and keeps the text around it.
fn put_value(document: &Document, section: usize, body: &str) -> TextEdit {
    let Some(span) = value_span(document, section) else {
        return match document.span_text(&document.sections[section].own).trim() {
            "" => document.replace_section(section, body),
            _ => document.append_to_section(section, body),
        };
    };
    // A value that is already present keeps its bytes, and the list below it.
    let there = document.span_text(&span).lines().map(str::trim_end);
    let wanted = body.lines().count();
    let is_all = body.ends_with(':') || there.clone().count() == wanted;
    let mut text = body.replace('\n', document.newline());
    if is_all && there.take(wanted).eq(body.lines()) {
        text = document.span_text(&span).to_owned();
    } else if document.span_text(&span).ends_with('\n') {
        text.push_str(document.newline());
    }
    TextEdit { span, text }
}

/// Finds the line of a section that is a date or a placeholder for one.
fn find_date_line(document: &Document, section: usize) -> Option<Range<usize>> {
    let own = document.sections[section].own.clone();
    let mut at = own.start;
    for line in document.span_text(&own).split_inclusive('\n') {
        let start = at;
        at += line.len();
        let text = line.trim_end();
        let is_placeholder = values::is_filler(text) && !text.is_empty();
        let is_date = values::is_date_alone(text) || is_placeholder || text.contains("YYYY");
        if is_date && !document.is_in_code(start) {
            return Some(start..start + text.len());
        }
    }
    None
}

/// Returns the edit that changes only the date: `## Last Updated` is often the
/// last section, and lines that a person appends to the file become part of it.
fn put_date(document: &Document, today: &str, layout: StateLayoutKind) -> TextEdit {
    if let Some(section) = StatePart::Updated.find_section(document) {
        let own = document.sections[section].own.clone();
        if let Some(span) = find_date_line(document, section) {
            let text = today.to_owned();
            return TextEdit { span, text };
        }
        let text = document.span_text(&own);
        if text.trim().is_empty() {
            return document.replace_section(section, today);
        }
        let blank = text.len() - text.trim_start_matches(['\n', '\r']).len();
        let at = own.start + blank;
        let nl = document.newline();
        return TextEdit {
            span: at..at,
            text: format!("{today}{nl}{nl}"),
        };
    }
    if let Some(span) = find_label_line(document, "last updated") {
        let line = document.span_text(&span);
        let kept = line.find(':').map_or(line.len(), |colon| colon + 1);
        // `**Last updated:** …` keeps its closing stars.
        let kept = kept + line[kept..].len() - line[kept..].trim_start_matches('*').len();
        let rest = &line[kept..];
        let start = span.start + kept;
        if let Some(date) = values::first_date_span(rest) {
            return TextEdit {
                span: start + date.start..start + date.end,
                text: today.to_owned(),
            };
        }
        let end = if is_unset(rest) { span.end } else { start };
        return TextEdit {
            span: start..end,
            text: format!(" {today}"),
        };
    }
    match layout {
        StateLayoutKind::Mind => values::append_entry(document, 2, "Last Updated", today),
        StateLayoutKind::Manifest => {
            values::insert_below_title(document, &format!("Last updated: {today}"))
        }
    }
}

/// Finds a line `**Key:** value` or `Key: value` above the second heading,
/// without its line end.
fn find_label_line(document: &Document, key: &str) -> Option<Range<usize>> {
    let end = document
        .sections
        .iter()
        .find(|section| section.level > 1)
        .map_or(document.text.len(), |section| section.heading.start);
    let mut at = document.body.start;
    for line in document.text[at..end].split_inclusive('\n') {
        let text = line.trim_end();
        let labelled = parse_labelled(text).map(|(key, _)| key).or_else(|| {
            let (key, _) = text.split_once(':')?;
            Some(key.trim().to_lowercase())
        });
        if labelled.as_deref() == Some(key) && !document.is_in_code(at) {
            return Some(at..at + text.len());
        }
        at += line.len();
    }
    None
}

fn read_label_value(document: &Document, key: &str) -> Option<String> {
    let span = find_label_line(document, key)?;
    let line = document.span_text(&span);
    let value = match parse_labelled(line) {
        Some((_, value)) => value,
        None => line.split_once(':')?.1.trim(),
    };
    Some(value.to_owned()).filter(|value| !is_unset(value))
}

fn first_nonblank_line(text: &str) -> &str {
    text.lines()
        .map(str::trim)
        .find(|line| !line.is_empty())
        .unwrap_or("")
}

/// Returns the first entry of a list, or the whole text if it is not a list.
fn first_list_entry(text: &str) -> Option<String> {
    let is_list = values::list_marker_length(text.trim_start()).is_some();
    let next = if is_list {
        split_items(text)
            .into_iter()
            .map(|item| plain_value(&item))
            .find(|item| !is_unset(item))
    } else {
        Some(plain_value(text))
    };
    next.filter(|next| !next.is_empty() && !is_unset(next))
}
