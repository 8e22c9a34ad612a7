//! Decisions in the three forms that files have them: blocks with an id, dated
//! lines, numbered lists. A file keeps its own form, and an id that was given
//! once is never given again.

use std::ops::Range;

use jiff::Timestamp;
use jiff::civil::Date;

use super::values::{self, edited, indented, is_unset, labelled, marker, plain};
use super::{Error, File, Layout, Mind, outline};
use crate::document::{self, Document, Edit, inert_line};

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
    /// The entry as it stands in the file.
    pub text: String,
    pub line: usize,
    pub(super) form: Form,
    pub(super) span: Range<usize>,
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
    pub fn decide(&self, new: &NewDecision, now: Timestamp) -> Result<String, Error> {
        let new = new.inert()?;
        self.rewrite(
            File::Decisions,
            "Record a decision",
            now,
            |change, before| {
                let path = self.files.path(File::Decisions);
                let text = before.unwrap_or_else(|| match self.files.layout {
                    Layout::Mind => "# Decision Log\n".to_owned(),
                    Layout::Manifest => "# Decisions\n".to_owned(),
                });
                let archive = match self.files.layout {
                    Layout::Mind => change.read_text(self.files.path(File::Archive))?,
                    Layout::Manifest => None,
                };
                let archive = document::parse(archive.unwrap_or_default());
                let date = values::date(now);
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
                            values::add_entry(
                                document,
                                first_if_newest(document),
                                &title,
                                &new.block(date),
                            )
                        }
                        Form::Line => {
                            id = date.to_string();
                            let like = existing.iter().rev().find(|it| it.form == Form::Line);
                            let bullet = like.is_some_and(|it| marker(it.text.trim()).is_some());
                            let line = format!(
                                "{}**{date}** - {}",
                                if bullet { "- " } else { "" },
                                new.line()
                            );
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
            },
        )
    }
}

impl NewDecision {
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
        match plain(&self.decision) == plain(&self.title) {
            true => tail,
            false => format!("{}: {tail}", self.title),
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
pub(super) fn recent(text: &str) -> Vec<Decision> {
    read(&document::parse(outline::ends(text).into_owned()))
}

/// Every decision of a file, the newest last.
pub(super) fn read(document: &Document) -> Vec<Decision> {
    let mut found = blocks(document);
    let inside = |at: usize, found: &[Decision]| found.iter().any(|it| it.span.contains(&at));
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
pub(super) fn number_of(id: &str) -> Option<usize> {
    id.strip_prefix("DEC-")?.parse().ok()
}

/// `DEC-007` at the start of a text, in any case.
pub(super) fn id_at_start(text: &str) -> Option<(String, &str)> {
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

/// The decisions that are blocks, in the order of the file.
pub(super) fn blocks(document: &Document) -> Vec<Decision> {
    let mut found: Vec<Decision> = Vec::new();
    for section in &document.sections {
        if section.level < 2
            || found
                .iter()
                .any(|it| it.span.contains(&section.heading.start))
        {
            continue;
        }
        let Some((id, title)) = block_title(&section.title) else {
            continue;
        };
        if is_unset(&title) || section.title.contains("[YYYY-MM-DD]") {
            continue;
        }
        let mut decision = Decision {
            id,
            title,
            date: None,
            decided_by: None,
            decision: None,
            rationale: None,
            status: None,
            superseded: document.str(&section.heading).contains("~~"),
            text: document.str(&section.span).trim().to_owned(),
            line: document.line_of(section.heading.start),
            form: Form::Block,
            span: section.span.clone(),
        };
        for (key, value) in fields(document.str(&section.own)) {
            let date = values::first_date(&value);
            let value = Some(plain(&value)).filter(|value| !is_unset(value));
            match key.as_str() {
                "date" => decision.date = date,
                "decided by" | "by" => decision.decided_by = value,
                "decision" => decision.decision = value,
                "rationale" | "why" | "reason" => decision.rationale = value,
                "status" => decision.status = value,
                _ => {}
            }
        }
        let void = |status: &String| {
            let status = status.to_lowercase();
            [
                "superseded",
                "rejected",
                "deprecated",
                "withdrawn",
                "reversed",
            ]
            .iter()
            .any(|word| status.starts_with(word))
        };
        decision.superseded |= decision.status.as_ref().is_some_and(void);
        if decision.date.is_none() {
            decision.date = values::first_date(&section.title);
        }
        found.push(decision);
    }
    found
}

/// `DEC-007: title` or `Decision 7: title`; a heading over many decisions is
/// none of them.
fn block_title(title: &str) -> Option<(Option<String>, String)> {
    let clean = |rest: &str| {
        rest.trim_start_matches(|c: char| {
            c.is_whitespace() || matches!(c, ':' | '-' | '–' | '—' | '.')
        })
        .trim()
        .to_owned()
    };
    if let Some((id, rest)) = id_at_start(title) {
        let rest = clean(rest);
        let title = if rest.is_empty() { id.clone() } else { rest };
        return Some((Some(id), title));
    }
    let rest = title.strip_prefix("Decision")?;
    if rest.starts_with(|c: char| c.is_alphanumeric()) || rest.trim().eq_ignore_ascii_case("log") {
        return None;
    }
    let rest = clean(rest);
    Some((
        None,
        if rest.is_empty() {
            "Decision".to_owned()
        } else {
            rest
        },
    ))
}

/// `- **Key:** value` with the lines that continue it.
fn fields(text: &str) -> Vec<(String, String)> {
    let mut found: Vec<(String, String)> = Vec::new();
    for line in text.lines() {
        let trimmed = line.trim();
        let body = marker(trimmed).map_or(trimmed, |length| &trimmed[length.min(trimmed.len())..]);
        match labelled(body) {
            Some((key, value)) => found.push((key, value.to_owned())),
            None => {
                if let Some((_, value)) = found.last_mut()
                    && !trimmed.is_empty()
                {
                    value.push('\n');
                    value.push_str(trimmed);
                }
            }
        }
    }
    found
}

/// Dated lines anywhere, and numbered items below a heading that speaks of
/// decisions.
fn lines(document: &Document) -> Vec<Decision> {
    let mut found = Vec::new();
    let mut at = document.body.start;
    for line in document.text[at..].split_inclusive('\n') {
        let span = at..at + line.len();
        at = span.end;
        let text = line.trim_end();
        if text.is_empty() || document.in_code(span.start) {
            continue;
        }
        let indent = text.len() - text.trim_start().len();
        if indent > 1 {
            continue;
        }
        let text = text.trim_start();
        let length = marker(text);
        let body = length.map_or(text, |length| text[length.min(text.len())..].trim_start());
        let number = length.and_then(|length| {
            text[..length]
                .trim_end()
                .trim_end_matches(['.', ')'])
                .parse::<usize>()
                .ok()
        });
        let entry = |id: Option<String>, date, title: &str, superseded, form| Decision {
            id,
            title: plain(title),
            date,
            decided_by: None,
            decision: Some(plain(title)),
            rationale: None,
            status: None,
            superseded,
            text: text.to_owned(),
            line: document.line_of(span.start),
            form,
            span: span.clone(),
        };
        if let Some((date, fact, struck)) = dated(body) {
            if number.is_none() {
                found.push(entry(None, Some(date), fact, struck, Form::Line));
                continue;
            }
        }
        let Some(number) = number else { continue };
        if !is_unset(body) && below_decisions(document, span.start) {
            let struck = body.starts_with("~~");
            let date = values::first_date(body);
            let title = body.trim_matches('~');
            found.push(entry(
                Some(number.to_string()),
                date,
                title,
                struck,
                Form::Item,
            ));
        }
    }
    found
}

/// `**2026-03-01** - fact`, possibly struck out.
fn dated(line: &str) -> Option<(Date, &str, bool)> {
    let (line, struck) = match line.strip_prefix("~~") {
        Some(rest) => (rest, true),
        None => (line, false),
    };
    let rest = line.strip_prefix("**")?;
    let date = rest.get(..10)?.parse().ok()?;
    let (_, fact) = rest[10..].split_once("**")?;
    let fact = fact
        .trim_start()
        .trim_start_matches(['-', '–', '—', ':'])
        .trim();
    // `~~fact~~ (superseded 2026-04-01)` strikes the fact alone as well.
    let struck = struck || fact.starts_with("~~");
    let fact = fact.strip_prefix("~~").unwrap_or(fact);
    let fact = fact.split_once("~~").map_or(fact, |(fact, _)| fact);
    (!fact.is_empty()).then_some((date, fact, struck))
}

fn below_decisions(document: &Document, at: usize) -> bool {
    let section = document
        .sections
        .partition_point(|section| section.heading.start <= at)
        .saturating_sub(1);
    document.heading_path(section).iter().any(|title| {
        title.to_lowercase().contains("decision") && !title.to_lowercase().contains("archived")
    })
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
        let text = document.text.trim_end_matches(['\n', '\r', ' ', '\t']);
        let at = text.len();
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
