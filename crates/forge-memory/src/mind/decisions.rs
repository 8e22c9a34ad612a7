//! Decisions in the three forms that files have them: blocks with an id, dated
//! lines, numbered lists. A file keeps its own form, and an id that was given
//! once is never given again.

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

#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Decision {
    /// `DEC-007`; dated lines have none, and items of a list have their number.
    pub id: Option<String>,
    pub title: String,
    pub date: Option<Date>,
    pub decided_by: Option<String>,
    pub decision: Option<String>,
    pub rationale: Option<String>,
    pub status: Option<String>,
    /// Struck out, or with a status that says so: it binds nobody.
    pub superseded: bool,
    /// The day that the entry gives for it.
    pub superseded_on: Option<Date>,
    /// The entry as it stands in the file.
    pub text: String,
    pub line: usize,
    pub(super) form: Form,
    pub(crate) span: Range<usize>,
}

#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct NewDecision {
    pub title: String,
    pub decision: String,
    pub rationale: Option<String>,
    /// `agent` unless given.
    pub decided_by: Option<String>,
    /// `Final` unless given.
    pub status: Option<String>,
}

/// How a file writes its decisions.
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
    /// Every decision, the newest last.
    pub fn decisions(&self) -> Result<Vec<Decision>, Error> {
        let document = self.document(File::Decisions)?;
        Ok(document.map(|document| read(&document)).unwrap_or_default())
    }

    /// Writes a decision down and gives its id: `DEC-007`, or what the file's
    /// own form has in its place.
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

    /// The text of the file with one decision more, and its id. The archive
    /// may hold higher ids.
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
    /// A decision said in a sentence, with the beginning of it as its title.
    pub fn said(text: &str) -> NewDecision {
        NewDecision {
            title: values::cut(&plain(text), 80),
            decision: text.to_owned(),
            ..NewDecision::default()
        }
    }

    /// Whether an entry says this already. One that was ended may be decided
    /// anew, though not on the same day.
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

    /// The same with values that cannot become structure.
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

/// The decisions at both ends of a long file, the newest last.
pub(crate) fn recent(text: &str) -> Vec<Decision> {
    read(&document::parse(outline::ends(text)))
}

/// Every decision of a file, the newest last.
pub(super) fn read(document: &Document) -> Vec<Decision> {
    let mut found = blocks(document);
    // Blocks stand in text order and apart from one another.
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

/// Where the newest block stands in a file that has the newest first.
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

/// The number of `DEC-007`.
pub(crate) fn number_of(id: &str) -> Option<usize> {
    id.strip_prefix("DEC-")?.parse().ok()
}

/// `DEC-007` at the start of a text, in any case.
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

/// The highest number that a file has given: to a decision or to the line that
/// stands for an archived one. Ids that are merely spoken of do not count.
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

/// The form of the file: that of its blocks, else that of its newest entry,
/// else that of its kind.
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

/// A line behind the last one of its kind; a paragraph of its own where lines
/// would run together.
fn append_line(document: &Document, like: Option<&Decision>, line: &str, alone: bool) -> Edit {
    let nl = document.newline();
    let Some(last) = like else {
        // The blank line makes it a paragraph or list of its own.
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
    // What is indented below the last entry belongs to it.
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
