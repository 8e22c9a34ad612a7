//! Reads and writes the session log: numbered entries with the newest last, or
//! dated entries with the newest first. Each file keeps its order.

use std::ops::Range;

use jiff::Timestamp;
use jiff::civil::Date;

use super::values::{self, edit_text, inert_line_or, is_unset, list_marker_length};
use super::{MindError, MindFile, MindStore, StateLayoutKind, outline};
use crate::admit::{AdmittedText, SubmittedText};
use crate::document::{self, Document, day_of_timestamp, escape_markdown_line};
use crate::workspace::ChangeReceipt;

/// An entry of the session log.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct SessionEntry {
    /// The number of the entry; none for dated entries.
    pub number: Option<usize>,
    /// The day of the session, if the entry names one.
    pub date: Option<Date>,
    /// The heading.
    pub title: String,
    /// Heading and text verbatim, without a closing rule.
    pub text: String,
    /// The line of the entry, counted from 1.
    pub line: usize,
    pub(crate) span: Range<usize>,
}

/// The content of a log entry for a session that ends.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct NewSession {
    /// What the session was about, in one sentence.
    pub summary: String,
    /// What was done, one sentence each. A dated log lists them verbatim below
    /// the summary as title.
    pub did: Vec<String>,
    /// What was completed, one sentence each.
    pub completed: Vec<String>,
    /// What was decided, one sentence each.
    pub decisions: Vec<String>,
    /// What is blocked, one sentence each.
    pub blockers: Vec<String>,
    /// The next action.
    pub next: Option<String>,
    /// For an automatic entry; the fields above are then not used.
    pub captured: Option<SessionCapture>,
}

/// Facts about a session that ended without a summary.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct SessionCapture {
    /// Why the session ended, as its client reported it.
    pub reason: String,
    /// The files that changed during the session.
    pub files: Vec<String>,
}

/// Maximum number of files that an entry names.
const MAX_FILES_IN_ENTRY: usize = 15;

impl MindStore<'_> {
    /// Reads every entry, the newest last.
    pub fn read_sessions(&self) -> Result<Vec<SessionEntry>, MindError> {
        let document = self.parse_document(MindFile::SessionLog)?;
        Ok(document
            .map(|document| parse_sessions(&document, self.files.layout))
            .unwrap_or_default())
    }

    /// Writes an entry and returns its number; for dated entries, the number of
    /// entries.
    pub fn log_session(
        &self,
        new: &NewSession,
        now: Timestamp,
    ) -> Result<(usize, ChangeReceipt), MindError> {
        if new.captured.is_none() && escape_markdown_line(&new.summary).is_empty() {
            return Err(MindError::Empty { what: "summary" });
        }
        self.rewrite_file(
            MindFile::SessionLog,
            "Log a session",
            now,
            |change, before| {
                let archive = change.read_text(self.files.path(MindFile::Archive))?;
                self.text_with_session(
                    before,
                    archive.unwrap_or_default(),
                    &self.admit_text(new)?,
                    now,
                )
            },
        )
    }

    /// Returns the text of the log with one more entry, and its number.
    /// `archive` is searched as well, because the highest number may have moved
    /// there.
    pub(super) fn text_with_session(
        &self,
        before: Option<String>,
        archive: String,
        new: &AdmittedText<&NewSession>,
        now: Timestamp,
    ) -> Result<(String, usize), MindError> {
        let path = self.files.path(MindFile::SessionLog);
        let text = before.unwrap_or_else(|| match self.files.layout {
            StateLayoutKind::Mind => "# Session Log\n".to_owned(),
            StateLayoutKind::Manifest => "# Session Log\n\n---\n".to_owned(),
        });
        let archive = document::parse_document(archive);
        let mut number = 0;
        let known =
            parse_sessions(&document::parse_document(text.clone()), self.files.layout).len();
        let after = edit_text(path, text, |document| {
            let existing = session_blocks(document);
            let dated = match existing.last() {
                Some(last) => last.number.is_none(),
                None => {
                    self.files.layout == StateLayoutKind::Manifest && highest_number(document) == 0
                }
            };
            number = if dated {
                existing.len() + 1
            } else {
                highest_number(document).max(highest_number(&archive)) + 1
            };
            let newest_first =
                is_newest_first_on(&existing, self.files.layout, day_of_timestamp(now));
            let first = existing.first().map(|session| session.span.start);
            if dated {
                let title = new.dated_title(now);
                let body = format!("{}\n\n---", new.entry_body(true));
                return match (newest_first, first) {
                    (true, Some(at)) => values::add_entry(document, Some(at), &title, &body),
                    _ => values::append_entry(document, 2, &title, &body),
                };
            }
            let title = match new.captured {
                Some(_) => format!(
                    "Session {number} — {} (auto-captured)",
                    day_of_timestamp(now)
                ),
                None => format!("Session {number} — {}", values::format_date_time(now)),
            };
            let before = first.filter(|_| newest_first);
            values::add_entry(document, before, &title, &new.entry_body(false))
        })?;
        // An open fence or comment in the file could swallow the new entry.
        if parse_sessions(&document::parse_document(after.clone()), self.files.layout).len()
            != known + 1
        {
            return Err(MindError::Unsafe {
                path: path.to_string(),
                why: "the new entry would not be read as one",
            });
        }
        Ok((after, number))
    }
}

impl SubmittedText for NewSession {
    /// Returns nothing for a captured session, which makes no statements of its
    /// own.
    fn stated_texts(&self) -> Vec<&str> {
        if self.captured.is_some() {
            return Vec::new();
        }
        let lists = [&self.did, &self.completed, &self.decisions, &self.blockers];
        let lines = [Some(&self.summary), self.next.as_ref()];
        let texts = lines.into_iter().flatten();
        let texts = texts.chain(lists.into_iter().flatten());
        texts.map(String::as_str).collect()
    }
}

impl NewSession {
    /// Renders the text below the heading. If the heading contains the summary,
    /// bullets of what was done are enough.
    fn entry_body(&self, titled: bool) -> String {
        if let Some(captured) = &self.captured {
            return captured.entry_body();
        }
        if titled && !self.did.is_empty() {
            return values::render_bullets(&self.did);
        }
        let mut lines = vec![format!(
            "- **Summary:** {}",
            values::indent_continuation(&self.summary)
        )];
        for (label, values) in [
            ("Completed", &[&self.completed[..], &self.did[..]].concat()),
            ("Decisions", &self.decisions),
            ("Blockers", &self.blockers),
        ] {
            let values: Vec<String> = values
                .iter()
                .map(|value| escape_markdown_line(value))
                .filter(|value| !value.is_empty())
                .collect();
            if !values.is_empty() {
                lines.push(format!("- **{label}:** {}", values.join(", ")));
            }
        }
        if let Some(next) = &self.next
            && !escape_markdown_line(next).is_empty()
        {
            lines.push(format!(
                "- **Next session:** {}",
                values::indent_continuation(next)
            ));
        }
        lines.join("\n")
    }

    /// Renders `2026-03-01 - what it was about`.
    fn dated_title(&self, now: Timestamp) -> String {
        let what = match &self.captured {
            Some(_) => "auto-captured".to_owned(),
            // With bullets below, the title is the only place for the summary,
            // so it is not truncated.
            None if !self.did.is_empty() => escape_markdown_line(&self.summary),
            None => values::truncate_at_word(&escape_markdown_line(&self.summary), 60),
        };
        format!("{} - {what}", day_of_timestamp(now))
    }
}

impl SessionCapture {
    fn entry_body(&self) -> String {
        let mut body = format!(
            "- **Reason ended:** {}\n- **Files changed:** {}\n",
            inert_line_or(&self.reason, "unknown"),
            self.files.len()
        );
        for file in self.files.iter().take(MAX_FILES_IN_ENTRY) {
            body.push_str(&format!("  - {}\n", inert_line_or(file, "?")));
        }
        if self.files.len() > MAX_FILES_IN_ENTRY {
            body.push_str(&format!(
                "  - ... and {} more\n",
                self.files.len() - MAX_FILES_IN_ENTRY
            ));
        }
        body.push_str(
            "- **Note:** This entry was auto-generated because SESSION-LOG.md wasn't updated manually.\n  \
             Review and enrich with context about what was accomplished.",
        );
        body
    }
}

/// Reads the entries at both ends of a long log, the newest last.
pub(crate) fn recent_sessions(text: &str, layout: StateLayoutKind) -> Vec<SessionEntry> {
    parse_sessions(
        &document::parse_document(outline::outline_ends(text)),
        layout,
    )
}

/// Reads every entry, the newest last.
pub(super) fn parse_sessions(document: &Document, layout: StateLayoutKind) -> Vec<SessionEntry> {
    let mut found = session_blocks(document);
    if is_newest_first(&found, layout) {
        found.reverse();
    }
    found
}

/// Reads every entry in the order of the file, without entries of a template,
/// which only have placeholders.
pub(crate) fn session_blocks(document: &Document) -> Vec<SessionEntry> {
    let mut found: Vec<SessionEntry> = Vec::new();
    for section in &document.sections {
        if section.level < 2
            || section.level > 3
            || (found.last()).is_some_and(|it| it.span.contains(&section.heading.start))
        {
            continue;
        }
        let number = session_number(&section.title);
        let date = values::first_date(&section.title);
        let dated = section
            .title
            .get(..10)
            .is_some_and(|it| it.parse::<Date>().is_ok());
        let template = section.title.contains("[YYYY") || section.title.contains("{{");
        if (number.is_none() && !dated) || template {
            continue;
        }
        let text = document.span_text(&section.span).trim();
        let text = text.strip_suffix("---").map_or(text, str::trim_end);
        found.push(SessionEntry {
            number,
            date,
            title: section.title.clone(),
            text: text.to_owned(),
            line: document.line_number_at(section.heading.start),
            span: section.span.clone(),
        });
    }
    found
}

/// Returns `true` if a log lists its newest entry first.
pub(super) fn is_newest_first(found: &[SessionEntry], layout: StateLayoutKind) -> bool {
    is_newest_first_on(found, layout, Date::MAX)
}

/// Decides as [`is_newest_first`] does, for a writer: ignores entries dated after
/// `today`, because an entry of today would contradict the order that they
/// suggest.
pub(super) fn is_newest_first_on(
    found: &[SessionEntry],
    layout: StateLayoutKind,
    today: Date,
) -> bool {
    let numbers: Vec<usize> = found.iter().filter_map(|it| it.number).collect();
    let dates = found.iter().filter_map(|it| it.date);
    let dates: Vec<Date> = dates.filter(|date| *date <= today).collect();
    match (&numbers[..], &dates[..]) {
        ([first, .., last], _) if first != last => first > last,
        (_, [first, .., last]) if first != last => first > last,
        _ => layout == StateLayoutKind::Manifest,
    }
}

/// Parses the number of `Session 7 — …`.
pub(crate) fn session_number(title: &str) -> Option<usize> {
    let rest = title.strip_prefix("Session ")?;
    let digits = rest.bytes().take_while(u8::is_ascii_digit).count();
    let ends = !rest[digits..].starts_with(|c: char| c.is_alphanumeric());
    (ends && digits <= 9)
        .then(|| rest[..digits].parse().ok())
        .flatten()
}

/// Returns the highest number that a file has assigned, to an entry or to the
/// line of an archived one.
fn highest_number(document: &Document) -> usize {
    let in_headings = session_blocks(document)
        .into_iter()
        .filter_map(|it| it.number);
    let in_lines = document.text.lines().filter_map(|line| {
        let line = line.trim_end();
        let length = list_marker_length(line)?;
        session_number(&line[length.min(line.len())..])
    });
    in_headings.chain(in_lines).max().unwrap_or(0)
}

impl SessionEntry {
    /// Returns the bullets of the entry, each on one line.
    pub fn bullet_points(&self) -> Vec<String> {
        let body: Vec<&str> = self.text.lines().skip(1).collect();
        values::split_items(&body.join("\n"))
            .into_iter()
            .filter(|it| !is_unset(it) && it != "---")
            .map(|it| values::plain_value(&it))
            .collect()
    }

    /// Summarizes the entry in one line: its summary, else what was completed,
    /// else how many files changed, else its first line.
    pub fn one_line_summary(&self) -> Option<String> {
        let lines = || {
            self.text
                .lines()
                .skip(1)
                .map(str::trim)
                .filter(|it| !it.is_empty())
        };
        let body = |line: &str| {
            let length = list_marker_length(line).unwrap_or(0);
            line[length.min(line.len())..].to_owned()
        };
        let field = |name: &str| {
            lines().find_map(|line| {
                let line = body(line);
                let (key, value) = values::parse_labelled(&line)?;
                (key == name && !is_unset(value)).then(|| value.to_owned())
            })
        };
        field("summary")
            .or_else(|| field("completed"))
            .or_else(|| {
                let changed = field("files changed")?;
                let reason = field("reason ended").map(|it| format!(" ({it})"));
                Some(format!(
                    "{changed} files changed{}",
                    reason.unwrap_or_default()
                ))
            })
            .or_else(|| lines().map(body).find(|line| !is_unset(line)))
            .map(|text| values::plain_value(&text))
    }
}
