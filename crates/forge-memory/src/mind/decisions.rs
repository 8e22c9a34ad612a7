//! Reads and writes decisions in the three forms that files use: blocks with an
//! id, dated lines, numbered lists. A file keeps its form, and an id is never
//! assigned twice.

use std::ops::Range;

use jiff::Timestamp;
use jiff::civil::Date;

pub(crate) use self::forms::{decision_blocks, decision_lines};
use super::values::{self, edit_text, indent_continuation, list_marker_length, plain_value};
use super::{MindError, MindFile, MindStore, StateLayoutKind, outline};
use crate::admit::{AdmittedText, SubmittedText};
use crate::document::{self, Document, TextEdit, day_of_timestamp, escape_markdown_line};
use crate::workspace::ChangeReceipt;

pub(crate) mod condense;
mod forms;
pub(crate) mod shorten;
pub(crate) mod supersede;

pub use supersede::{DecisionSpan, Supersession};

/// A decision that was read from a file.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Decision {
    /// `DEC-007` for a block, the number for a list item, none for a dated
    /// line.
    pub id: Option<String>,
    /// The title, without id and date.
    pub title: String,
    /// The day of the decision, if the entry names one.
    pub date: Option<Date>,
    /// The one that decided.
    pub decided_by: Option<String>,
    /// What was decided.
    pub decision: Option<String>,
    /// Why it was decided.
    pub rationale: Option<String>,
    /// The status as its author wrote it.
    pub status: Option<String>,
    /// Whether it is struck out or its status ends it; it then no longer
    /// applies.
    pub superseded: bool,
    /// The day that the entry gives for its end.
    pub superseded_on: Option<Date>,
    /// The entry verbatim.
    pub text: String,
    /// The line of the entry, counted from 1.
    pub line: usize,
    pub(super) form: DecisionForm,
    pub(crate) span: Range<usize>,
}

/// A decision to write.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct NewDecision {
    /// The title.
    pub title: String,
    /// What was decided.
    pub decision: String,
    /// Why it was decided.
    pub rationale: Option<String>,
    /// Defaults to `agent`.
    pub decided_by: Option<String>,
    /// Defaults to `Final`.
    pub status: Option<String>,
}

/// The form in which a file writes its decisions.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum DecisionForm {
    /// `## DEC-007: title` with labelled bullets.
    Block,
    /// `**2026-03-01** - fact`.
    Line,
    /// `7. fact`.
    Item,
}

impl MindStore<'_> {
    /// Reads every decision, the newest last.
    pub fn read_decisions(&self) -> Result<Vec<Decision>, MindError> {
        let document = self.parse_document(MindFile::Decisions)?;
        Ok(document
            .map(|document| parse_decisions(&document))
            .unwrap_or_default())
    }

    /// Writes a decision and returns its id: `DEC-007`, or what the file's own
    /// form has in its place.
    pub fn add_decision(
        &self,
        new: &NewDecision,
        now: Timestamp,
    ) -> Result<(String, ChangeReceipt), MindError> {
        self.rewrite_file(
            MindFile::Decisions,
            "Record a decision",
            now,
            |change, before| {
                let archive = match self.files.layout {
                    StateLayoutKind::Mind => {
                        change.read_text(self.files.path(MindFile::Archive))?
                    }
                    StateLayoutKind::Manifest => None,
                };
                self.text_with_decision(
                    before,
                    archive.unwrap_or_default(),
                    &self.admit_text(new)?,
                    now,
                )
            },
        )
    }

    /// Returns the text of the file with one more decision, and its id.
    /// `archive` is searched for ids as well, because the highest one may have
    /// moved there.
    pub(super) fn text_with_decision(
        &self,
        before: Option<String>,
        archive: String,
        new: &AdmittedText<&NewDecision>,
        now: Timestamp,
    ) -> Result<(String, String), MindError> {
        let new = new.to_inert()?;
        let path = self.files.path(MindFile::Decisions);
        let text = before.unwrap_or_else(|| match self.files.layout {
            StateLayoutKind::Mind => "# Decision Log\n".to_owned(),
            StateLayoutKind::Manifest => "# Decisions\n".to_owned(),
        });
        let archive = document::parse_document(archive);
        let date = day_of_timestamp(now);
        let mut id = String::new();
        let count = |text: &str| parse_decisions(&document::parse_document(text.to_owned())).len();
        let known = count(&text);
        let after = edit_text(path, text, |document| {
            let existing = parse_decisions(document);
            match detect_form(document, &existing, self.files.layout) {
                DecisionForm::Block => {
                    let number = highest_number(document).max(highest_number(&archive)) + 1;
                    id = format!("DEC-{number:03}");
                    let title = format!("{id}: {}", new.title);
                    let first = newest_first_start(document);
                    values::add_entry(document, first, &title, &new.to_block(date))
                }
                DecisionForm::Line => {
                    id = date.to_string();
                    let like = existing
                        .iter()
                        .rev()
                        .find(|it| it.form == DecisionForm::Line);
                    let outer =
                        |it: &&Decision| !document.span_text(&it.span).starts_with([' ', '\t']);
                    let outer = existing.iter().rev().filter(outer);
                    let outer = outer.into_iter().find(|it| it.form == DecisionForm::Line);
                    let bullet =
                        outer.is_some_and(|it| list_marker_length(it.text.trim()).is_some());
                    let bullet_mark = if bullet { "- " } else { "" };
                    let line = format!("{bullet_mark}**{date}** - {}", new.to_line());
                    append_line(document, like, &line, !bullet)
                }
                DecisionForm::Item => {
                    let like = existing
                        .iter()
                        .rev()
                        .find(|it| it.form == DecisionForm::Item);
                    let last = existing
                        .iter()
                        .filter_map(|it| it.id.as_deref()?.parse().ok());
                    id = (last.max().unwrap_or(0usize) + 1).to_string();
                    let line = format!(
                        "{id}. **{}** ({date}): {}",
                        new.title,
                        new.statement_with_reason()
                    );
                    append_line(document, like, &line, false)
                }
            }
        })?;
        // An open fence or comment in the file could swallow the new entry.
        if count(&after) != known + 1 {
            return Err(MindError::Unsafe {
                path: path.to_string(),
                why: "the new decision would not be read as one",
            });
        }
        Ok((after, id))
    }
}

impl SubmittedText for NewDecision {
    fn stated_texts(&self) -> Vec<&str> {
        let texts = [&self.title, &self.decision].into_iter();
        texts.chain(&self.rationale).map(String::as_str).collect()
    }

    fn label_texts(&self) -> Vec<&str> {
        let texts = [&self.decided_by, &self.status].into_iter().flatten();
        texts.map(String::as_str).collect()
    }
}

impl NewDecision {
    /// Creates a decision from one statement, whose beginning becomes the
    /// title.
    pub fn from_statement(text: &str) -> NewDecision {
        NewDecision {
            title: values::truncate_at_word(&plain_value(text), 80),
            decision: text.to_owned(),
            ..NewDecision::default()
        }
    }

    /// Returns `true` if an entry already records this decision. An ended
    /// decision may be recorded again, but not on the same day.
    pub(super) fn matches_entry(&self, entry: &Decision, today: Date) -> Result<bool, MindError> {
        let new = self.to_inert()?;
        if entry.superseded && entry.date != Some(today) {
            return Ok(false);
        }
        let statement = entry.decision.as_deref().unwrap_or(&entry.title);
        Ok(match entry.form {
            DecisionForm::Block => {
                entry.title == plain_value(&new.title) && statement == plain_value(&new.decision)
            }
            DecisionForm::Line => statement == plain_value(&new.to_line()),
            DecisionForm::Item => {
                statement.starts_with(&plain_value(&format!("**{}** (", new.title)))
                    && statement
                        .ends_with(&plain_value(&format!("): {}", new.statement_with_reason())))
            }
        })
    }

    /// Returns a copy whose values cannot become Markdown structure.
    fn to_inert(&self) -> Result<NewDecision, MindError> {
        let line = |text: &Option<String>| {
            text.as_deref()
                .map(escape_markdown_line)
                .filter(|text| !text.is_empty())
        };
        let new = NewDecision {
            title: escape_markdown_line(&self.title),
            decision: indent_continuation(&self.decision),
            rationale: self
                .rationale
                .as_deref()
                .map(indent_continuation)
                .filter(|it| !it.is_empty()),
            decided_by: line(&self.decided_by),
            status: line(&self.status),
        };
        if new.title.is_empty() {
            return Err(MindError::Empty { what: "title" });
        }
        if new.decision.is_empty() {
            return Err(MindError::Empty { what: "decision" });
        }
        Ok(new)
    }

    fn to_block(&self, date: Date) -> String {
        let or = |text: &Option<String>, default: &str| match text {
            Some(text) => text.clone(),
            None => default.to_owned(),
        };
        format!(
            "- **Date:** {date}\n- **Decided by:** {}\n- **Decision:** {}\n- **Rationale:** {}\n- **Status:** {}",
            or(&self.decided_by, "agent"),
            self.decision,
            or(&self.rationale, "Not specified"),
            or(&self.status, "Final"),
        )
    }

    fn to_line(&self) -> String {
        let tail = self.statement_with_reason();
        let title = plain_value(&self.title);
        if plain_value(&self.decision).starts_with(title.trim_end_matches('…')) {
            tail
        } else {
            format!("{}: {tail}", self.title)
        }
    }

    fn statement_with_reason(&self) -> String {
        let decision = escape_markdown_line(&self.decision);
        match &self.rationale {
            Some(why) => format!("{decision} (why: {})", escape_markdown_line(why)),
            None => decision,
        }
    }
}

/// Reads the decisions at both ends of a long file, the newest last.
pub(crate) fn recent_decisions(text: &str) -> Vec<Decision> {
    parse_decisions(&document::parse_document(outline::outline_ends(text)))
}

/// Reads every decision of a file, the newest last.
pub(super) fn parse_decisions(document: &Document) -> Vec<Decision> {
    let mut found = decision_blocks(document);
    // Blocks are in text order and do not overlap, so a binary search finds the
    // enclosing one.
    let inside = |at: usize, found: &[Decision]| {
        let next = found.partition_point(|it| it.span.start <= at);
        next > 0 && found[next - 1].span.contains(&at)
    };
    let entries = decision_lines(document);
    let entries: Vec<Decision> = entries
        .into_iter()
        .filter(|it| !inside(it.span.start, &found))
        .collect();
    found.extend(entries);
    found.sort_by_key(|it| it.span.start);
    if is_newest_first(&found) {
        found.reverse();
    }
    found
}

/// Returns the start of the first block if the file lists the newest first.
fn newest_first_start(document: &Document) -> Option<usize> {
    let mut found = decision_blocks(document);
    found.sort_by_key(|it| it.span.start);
    is_newest_first(&found).then(|| found[0].span.start)
}

pub(super) fn is_newest_first(found: &[Decision]) -> bool {
    let number = |it: &Decision| it.id.as_deref().and_then(decision_number);
    let numbers: Vec<usize> = found.iter().filter_map(number).collect();
    if let (Some(first), Some(last)) = (numbers.first(), numbers.last())
        && numbers.len() > 1
    {
        return first > last;
    }
    let dates: Vec<Date> = found.iter().filter_map(|it| it.date).collect();
    matches!((dates.first(), dates.last()), (Some(first), Some(last)) if first > last)
}

/// Parses the number of `DEC-007`.
pub(crate) fn decision_number(id: &str) -> Option<usize> {
    id.strip_prefix("DEC-")?.parse().ok()
}

/// Splits `DEC-007` off the start of a text, in any case.
pub(crate) fn id_at_start(text: &str) -> Option<(String, &str)> {
    let head = text.get(..4)?;
    if !head.eq_ignore_ascii_case("DEC-") {
        return None;
    }
    let digits = text[4..].bytes().take_while(u8::is_ascii_digit).count();
    let rest = &text[4 + digits..];
    let ends = !rest.starts_with(|c: char| c.is_alphanumeric() || c == '-' || c == '_');
    (digits > 0 && digits <= 9 && ends).then(|| (format!("DEC-{}", &text[4..4 + digits]), rest))
}

/// Returns the highest number that a file has assigned, to a decision or to the
/// line of an archived one. Ids that a text only mentions do not count.
fn highest_number(document: &Document) -> usize {
    let in_headings = document
        .sections
        .iter()
        .filter(|section| section.level > 1)
        .filter_map(|section| id_at_start(&section.title));
    let in_lines = document
        .text
        .lines()
        .filter_map(|line| {
            let line = line.trim_end();
            let length = list_marker_length(line)?;
            Some(line[length.min(line.len())..].trim_start_matches('*'))
        })
        .filter_map(id_at_start);
    in_headings
        .chain(in_lines)
        .filter_map(|(id, _)| decision_number(&id))
        .max()
        .unwrap_or(0)
}

/// Returns the form of the file: that of its blocks, else that of its newest
/// entry, else the default of its layout.
fn detect_form(
    document: &Document,
    existing: &[Decision],
    layout: StateLayoutKind,
) -> DecisionForm {
    if existing.iter().any(|it| it.form == DecisionForm::Block) || highest_number(document) > 0 {
        return DecisionForm::Block;
    }
    match (existing.last(), layout) {
        (Some(last), _) => last.form,
        (None, StateLayoutKind::Mind) => DecisionForm::Block,
        (None, StateLayoutKind::Manifest) => DecisionForm::Line,
    }
}

/// Returns the edit that adds a line after the last one of its form, as a
/// separate paragraph where lines would otherwise run together.
fn append_line(document: &Document, like: Option<&Decision>, line: &str, alone: bool) -> TextEdit {
    let nl = document.newline();
    let Some(last) = like else {
        // The blank line starts a separate paragraph or list.
        let at = values::end_of_text(&document.text);
        return TextEdit {
            span: at..at,
            text: match at {
                0 => format!("{line}{nl}"),
                _ => format!(
                    "{nl}{nl}{line}{}",
                    if at == document.text.len() { nl } else { "" }
                ),
            },
        };
    };
    // Indented lines below the last entry belong to it.
    let mut end = last.span.end;
    for next in document.text[end..].split_inclusive('\n') {
        if !next.starts_with([' ', '\t']) || next.trim().is_empty() {
            break;
        }
        end += next.len();
    }
    let before = document.text[..end].trim_end_matches(['\n', '\r']);
    let spaced = alone
        && document.text[..last.span.start].ends_with(&format!("{nl}{nl}"))
        && parse_decisions(document)
            .iter()
            .filter(|it| it.form == DecisionForm::Line)
            .count()
            > 1;
    let gap = if spaced { nl } else { "" };
    TextEdit {
        span: before.len()..before.len(),
        text: format!(
            "{nl}{gap}{line}{}",
            if before.len() == document.text.len() {
                nl
            } else {
                ""
            }
        ),
    }
}
