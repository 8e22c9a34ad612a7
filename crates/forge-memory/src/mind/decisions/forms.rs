//! Parses the three forms in which files record decisions. Never writes.

use jiff::civil::Date;

use super::{Decision, DecisionForm, id_at_start};
use crate::document::Document;
use crate::mind::values::{self, is_unset, list_marker_length, parse_labelled, plain_value};

/// Parses decisions that are blocks, in the order of the file.
pub(crate) fn decision_blocks(document: &Document) -> Vec<Decision> {
    let mut found: Vec<Decision> = Vec::new();
    for section in &document.sections {
        if section.level < 2
            || (found.last()).is_some_and(|it| it.span.contains(&section.heading.start))
        {
            continue;
        }
        let Some((id, title)) = parse_block_title(&section.title) else {
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
            superseded: document.span_text(&section.heading).contains("~~"),
            superseded_on: None,
            text: document.span_text(&section.span).trim().to_owned(),
            line: document.line_number_at(section.heading.start),
            form: DecisionForm::Block,
            span: section.span.clone(),
        };
        for (key, value) in parse_labelled_fields(document.span_text(&section.own)) {
            let date = values::first_date(&value);
            let value = Some(plain_value(&value)).filter(|value| !is_unset(value));
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
        if decision.superseded {
            decision.superseded_on = decision.status.as_deref().and_then(values::first_date);
        }
        if decision.date.is_none() {
            decision.date = values::first_date(&section.title);
        }
        found.push(decision);
    }
    found
}

/// Parses `DEC-007: title` or `Decision 7: title`; a heading above many
/// decisions is not a decision.
fn parse_block_title(title: &str) -> Option<(Option<String>, String)> {
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

/// Parses `- **Key:** value` with its continuation lines.
fn parse_labelled_fields(text: &str) -> Vec<(String, String)> {
    let mut found: Vec<(String, String)> = Vec::new();
    for line in text.lines() {
        let trimmed = line.trim();
        let body = list_marker_length(trimmed)
            .map_or(trimmed, |length| &trimmed[length.min(trimmed.len())..]);
        match parse_labelled(body) {
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

/// Parses dated lines anywhere, and numbered items below a heading about
/// decisions.
pub(crate) fn decision_lines(document: &Document) -> Vec<Decision> {
    let mut found = Vec::new();
    let mut at = document.body.start;
    for line in document.text[at..].split_inclusive('\n') {
        let span = at..at + line.len();
        at = span.end;
        let text = line.trim_end();
        if text.is_empty() || document.is_in_code(span.start) {
            continue;
        }
        let indent = text.len() - text.trim_start().len();
        let text = text.trim_start();
        let length = list_marker_length(text);
        // Deeper levels contain the decisions of a gathered week.
        if indent > 4 || indent > 1 && length.is_none() {
            continue;
        }
        let body = length.map_or(text, |length| text[length.min(text.len())..].trim_start());
        let number = length.and_then(|length| {
            text[..length]
                .trim_end()
                .trim_end_matches(['.', ')'])
                .parse::<usize>()
                .ok()
        });
        let ended = supersession_date(body);
        let entry = |id: Option<String>, date, title: &str, struck: bool, form| Decision {
            id,
            title: plain_value(title),
            date,
            decided_by: None,
            decision: Some(plain_value(title)),
            rationale: None,
            status: None,
            superseded: struck || ended.is_some(),
            superseded_on: ended,
            text: text.to_owned(),
            line: document.line_number_at(span.start),
            form,
            span: span.clone(),
        };
        if let (Some((date, fact, struck)), None) = (parse_dated_line(body), number) {
            found.push(entry(None, Some(date), fact, struck, DecisionForm::Line));
            continue;
        }
        let Some(number) = number.filter(|_| indent <= 1) else {
            continue;
        };
        if !is_unset(body) && is_below_decisions_heading(document, span.start) {
            let struck = body.starts_with("~~");
            let title = body.strip_prefix("~~").unwrap_or(body);
            let title = if struck {
                title.split_once("~~").map_or(title, |(title, _)| title)
            } else {
                title
            };
            let title = strip_annotation(title);
            let date = values::first_date(title);
            found.push(entry(
                Some(number.to_string()),
                date,
                title,
                struck,
                DecisionForm::Item,
            ));
        }
    }
    found
}

/// Parses `**2026-03-01** - fact`, possibly struck out.
fn parse_dated_line(line: &str) -> Option<(Date, &str, bool)> {
    let (line, struck) = match line.strip_prefix("~~") {
        Some(rest) => (rest, true),
        None => (line, false),
    };
    let rest = line.strip_prefix("**")?;
    let date = rest.get(..10)?.parse().ok()?;
    let (more, fact) = rest[10..].split_once("**")?;
    // `**2026-03-02–2026-03-05** - topic` introduces several decisions and is
    // not one.
    if more.starts_with('–') {
        return None;
    }
    let fact = fact
        .trim_start()
        .trim_start_matches(['-', '–', '—', ':'])
        .trim();
    // `~~fact~~ (superseded 2026-04-01)` strikes out only the fact.
    let struck = struck || fact.starts_with("~~");
    let fact = fact.strip_prefix("~~").unwrap_or(fact);
    let fact = if struck {
        fact.split_once("~~").map_or(fact, |(fact, _)| fact)
    } else {
        fact
    };
    let fact = strip_annotation(fact);
    (!fact.is_empty()).then_some((date, fact, struck))
}

/// Parses the day of `(superseded 2026-04-01)` at the end of an entry.
pub(super) fn supersession_date(line: &str) -> Option<Date> {
    let (_, rest) = line.trim_end().rsplit_once("(superseded ")?;
    let inside = rest.strip_suffix(')')?;
    inside.get(..10)?.parse().ok()
}

pub(super) fn strip_annotation(fact: &str) -> &str {
    match supersession_date(fact) {
        Some(_) => fact
            .rsplit_once("(superseded ")
            .map_or(fact, |(fact, _)| fact.trim_end()),
        None => fact,
    }
}

fn is_below_decisions_heading(document: &Document, at: usize) -> bool {
    let section = document
        .sections
        .partition_point(|section| section.heading.start <= at)
        .saturating_sub(1);
    document.heading_path(section).iter().any(|title| {
        title.to_lowercase().contains("decision") && !title.to_lowercase().contains("archived")
    })
}
