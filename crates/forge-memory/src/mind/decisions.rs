//! Reads and writes decisions in the three forms that files use: blocks with an
//! id, dated lines, numbered lists. A file keeps its form, and an id is never
//! assigned twice.

use std::ops::Range;

use jiff::Timestamp;
use jiff::civil::Date;

pub(crate) use self::forms::{blocks, lines};
use super::values::{self, edited, indented, marker, plain};
use super::{Error, File, Layout, Mind, outline};
use crate::admit::{AdmittedText, SubmittedText};
use crate::document::{self, Document, Edit, day_of, inert_line};
use crate::workspace::Receipt;

pub(crate) mod condense;
mod forms;
pub(crate) mod shorten;
pub(crate) mod supersede;

pub use supersede::{Decided, Supersession};

/// A decision that was read from a file.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Decision {
    /// `DEC-007` for a block, the number for a list item, none for a dated
    /// line.
    pub id: Option<String>,
    pub title: String,
    pub date: Option<Date>,
    pub decided_by: Option<String>,
    pub decision: Option<String>,
    pub rationale: Option<String>,
    pub status: Option<String>,
    /// Whether it is struck out or its status ends it; it then no longer
    /// applies.
    pub superseded: bool,
    /// The day that the entry gives for its end.
    pub superseded_on: Option<Date>,
    /// The entry verbatim.
    pub text: String,
    pub line: usize,
    pub(super) form: Form,
    pub(crate) span: Range<usize>,
}

/// A decision to write.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct NewDecision {
    pub title: String,
    pub decision: String,
    pub rationale: Option<String>,
    /// Defaults to `agent`.
    pub decided_by: Option<String>,
    /// Defaults to `Final`.
    pub status: Option<String>,
}

/// The form in which a file writes its decisions.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Form {
    /// `## DEC-007: title` with labelled bullets.
    Block,
    /// `**2026-03-01** - fact`.
    Line,
    /// `7. fact`.
    Item,
}

impl Mind<'_> {
    /// Reads every decision, the newest last.
    pub fn decisions(&self) -> Result<Vec<Decision>, Error> {
        let document = self.document(File::Decisions)?;
        Ok(document.map(|document| read(&document)).unwrap_or_default())
    }

    /// Writes a decision and returns its id: `DEC-007`, or what the file's own
    /// form has in its place.
    pub fn decide(&self, new: &NewDecision, now: Timestamp) -> Result<(String, Receipt), Error> {
        self.rewrite(
            File::Decisions,
            "Record a decision",
            now,
            |change, before| {
                let archive = match self.files.layout {
                    Layout::Mind => change.read_text(self.files.path(File::Archive))?,
                    Layout::Manifest => None,
                };
                self.with_decision(before, archive.unwrap_or_default(), &self.admit(new)?, now)
            },
        )
    }

    /// Returns the text of the file with one more decision, and its id.
    /// `archive` is searched for ids as well, because the highest one may have
    /// moved there.
    pub(super) fn with_decision(
        &self,
        before: Option<String>,
        archive: String,
        new: &AdmittedText<&NewDecision>,
        now: Timestamp,
    ) -> Result<(String, String), Error> {
        let new = new.inert()?;
        let path = self.files.path(File::Decisions);
        let text = before.unwrap_or_else(|| match self.files.layout {
            Layout::Mind => "# Decision Log\n".to_owned(),
            Layout::Manifest => "# Decisions\n".to_owned(),
        });
        let archive = document::parse(archive);
        let date = day_of(now);
        let mut id = String::new();
        let count = |text: &str| read(&document::parse(text.to_owned())).len();
        let known = count(&text);
        let after = edited(path, text, |document| {
            let existing = read(document);
            match form_of(document, &existing, self.files.layout) {
                Form::Block => {
                    let number = highest(document).max(highest(&archive)) + 1;
                    id = format!("DEC-{number:03}");
                    let title = format!("{id}: {}", new.title);
                    let first = first_if_newest(document);
                    values::add_entry(document, first, &title, &new.block(date))
                }
                Form::Line => {
                    id = date.to_string();
                    let like = existing.iter().rev().find(|it| it.form == Form::Line);
                    let outer = |it: &&Decision| !document.str(&it.span).starts_with([' ', '\t']);
                    let outer = existing.iter().rev().filter(outer);
                    let outer = outer.into_iter().find(|it| it.form == Form::Line);
                    let bullet = outer.is_some_and(|it| marker(it.text.trim()).is_some());
                    let bullet_mark = if bullet { "- " } else { "" };
                    let line = format!("{bullet_mark}**{date}** - {}", new.line());
                    append_line(document, like, &line, !bullet)
                }
                Form::Item => {
                    let like = existing.iter().rev().find(|it| it.form == Form::Item);
                    let last = existing
                        .iter()
                        .filter_map(|it| it.id.as_deref()?.parse().ok());
                    id = (last.max().unwrap_or(0usize) + 1).to_string();
                    let line = format!("{id}. **{}** ({date}): {}", new.title, new.tail());
                    append_line(document, like, &line, false)
                }
            }
        })?;
        // An open fence or comment in the file could swallow the new entry.
        if count(&after) != known + 1 {
            return Err(Error::Unsafe {
                path: path.to_string(),
                why: "the new decision would not be read as one",
            });
        }
        Ok((after, id))
    }
}

impl SubmittedText for NewDecision {
    fn statements(&self) -> Vec<&str> {
        let texts = [&self.title, &self.decision].into_iter();
        texts.chain(&self.rationale).map(String::as_str).collect()
    }

    fn names(&self) -> Vec<&str> {
        let texts = [&self.decided_by, &self.status].into_iter().flatten();
        texts.map(String::as_str).collect()
    }
}

impl NewDecision {
    /// Creates a decision from one statement, whose beginning becomes the
    /// title.
    pub fn said(text: &str) -> NewDecision {
        NewDecision {
            title: values::cut(&plain(text), 80),
            decision: text.to_owned(),
            ..NewDecision::default()
        }
    }

    /// Returns `true` if an entry already records this decision. An ended
    /// decision may be recorded again, but not on the same day.
    pub(super) fn is(&self, entry: &Decision, today: Date) -> Result<bool, Error> {
        let new = self.inert()?;
        if entry.superseded && entry.date != Some(today) {
            return Ok(false);
        }
        let said = entry.decision.as_deref().unwrap_or(&entry.title);
        Ok(match entry.form {
            Form::Block => entry.title == plain(&new.title) && said == plain(&new.decision),
            Form::Line => said == plain(&new.line()),
            Form::Item => {
                said.starts_with(&plain(&format!("**{}** (", new.title)))
                    && said.ends_with(&plain(&format!("): {}", new.tail())))
            }
        })
    }

    /// Returns a copy whose values cannot become Markdown structure.
    fn inert(&self) -> Result<NewDecision, Error> {
        let line = |text: &Option<String>| {
            text.as_deref()
                .map(inert_line)
                .filter(|text| !text.is_empty())
        };
        let new = NewDecision {
            title: inert_line(&self.title),
            decision: indented(&self.decision),
            rationale: self
                .rationale
                .as_deref()
                .map(indented)
                .filter(|it| !it.is_empty()),
            decided_by: line(&self.decided_by),
            status: line(&self.status),
        };
        if new.title.is_empty() {
            return Err(Error::Empty { what: "title" });
        }
        if new.decision.is_empty() {
            return Err(Error::Empty { what: "decision" });
        }
        Ok(new)
    }

    fn block(&self, date: Date) -> String {
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

    fn line(&self) -> String {
        let tail = self.tail();
        let title = plain(&self.title);
        if plain(&self.decision).starts_with(title.trim_end_matches('…')) {
            tail
        } else {
            format!("{}: {tail}", self.title)
        }
    }

    fn tail(&self) -> String {
        let decision = inert_line(&self.decision);
        match &self.rationale {
            Some(why) => format!("{decision} (why: {})", inert_line(why)),
            None => decision,
        }
    }
}

/// Reads the decisions at both ends of a long file, the newest last.
pub(crate) fn recent(text: &str) -> Vec<Decision> {
    read(&document::parse(outline::ends(text)))
}

/// Reads every decision of a file, the newest last.
pub(super) fn read(document: &Document) -> Vec<Decision> {
    let mut found = blocks(document);
    // Blocks are in text order and do not overlap, so a binary search finds the
    // enclosing one.
    let inside = |at: usize, found: &[Decision]| {
        let next = found.partition_point(|it| it.span.start <= at);
        next > 0 && found[next - 1].span.contains(&at)
    };
    let entries = lines(document);
    let entries: Vec<Decision> = entries
        .into_iter()
        .filter(|it| !inside(it.span.start, &found))
        .collect();
    found.extend(entries);
    found.sort_by_key(|it| it.span.start);
    if newest_first(&found) {
        found.reverse();
    }
    found
}

/// Returns the start of the first block if the file lists the newest first.
fn first_if_newest(document: &Document) -> Option<usize> {
    let mut found = blocks(document);
    found.sort_by_key(|it| it.span.start);
    newest_first(&found).then(|| found[0].span.start)
}

pub(super) fn newest_first(found: &[Decision]) -> bool {
    let number = |it: &Decision| it.id.as_deref().and_then(number_of);
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
pub(crate) fn number_of(id: &str) -> Option<usize> {
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
fn highest(document: &Document) -> usize {
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
            let length = marker(line)?;
            Some(line[length.min(line.len())..].trim_start_matches('*'))
        })
        .filter_map(id_at_start);
    in_headings
        .chain(in_lines)
        .filter_map(|(id, _)| number_of(&id))
        .max()
        .unwrap_or(0)
}

/// Returns the form of the file: that of its blocks, else that of its newest
/// entry, else the default of its layout.
fn form_of(document: &Document, existing: &[Decision], layout: Layout) -> Form {
    if existing.iter().any(|it| it.form == Form::Block) || highest(document) > 0 {
        return Form::Block;
    }
    match (existing.last(), layout) {
        (Some(last), _) => last.form,
        (None, Layout::Mind) => Form::Block,
        (None, Layout::Manifest) => Form::Line,
    }
}

/// Returns the edit that adds a line after the last one of its form, as a
/// separate paragraph where lines would otherwise run together.
fn append_line(document: &Document, like: Option<&Decision>, line: &str, alone: bool) -> Edit {
    let nl = document.newline();
    let Some(last) = like else {
        // The blank line starts a separate paragraph or list.
        let at = values::end_of_text(&document.text);
        return Edit {
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
        && read(document)
            .iter()
            .filter(|it| it.form == Form::Line)
            .count()
            > 1;
    let gap = if spaced { nl } else { "" };
    Edit {
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
