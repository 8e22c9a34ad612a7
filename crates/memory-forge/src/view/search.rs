//! A question to the memory, as `search` asks it.

use clap::ValueEnum;
use forge::corrections::Corrections;
use forge::document::day_of;
use forge::federation;
use forge::knowledge::forget;
use forge::recall::{Answer, Ask, Hit, context};
use serde_json::{Value, json};

use super::{Given, Refused, Told, Visit, locked};
use crate::commands::search::{
    DocumentKind, Mode, Scope, configured_mode, hit_json, mode_line, why,
};
use crate::commands::sources::registry;
use crate::report::CommandError;

/// Passages that are shown unless more are asked for, and at most.
const USUAL: usize = 12;
const MOST: usize = 50;
/// The longest question.
const LONGEST: usize = 2_000;

pub(super) fn search(visit: &Visit, given: &Given) -> Result<Told, Refused> {
    let question = given.text("q")?.trim();
    if question.is_empty() || question.len() > LONGEST {
        let why = format!("A question has between 1 and {LONGEST} bytes");
        return Err(Refused::new(400, why));
    }
    let scope = chosen::<Scope>(given, "scope")?.unwrap_or(Scope::Knowledge);
    let mode = chosen::<Mode>(given, "mode")?;
    let kind = chosen::<DocumentKind>(given, "kind")?;
    let since = match given.get("since").filter(|it| !it.is_empty()) {
        Some(day) => Some(
            day.parse()
                .map_err(|_| Refused::new(400, "`since` is not a day"))?,
        ),
        None => None,
    };
    let limit = given
        .get("limit")
        .and_then(|it| it.parse().ok())
        .unwrap_or(USUAL);
    let forgotten = forget::forgotten(&visit.workspace).map_err(CommandError::from)?;
    let corrections = Corrections::read(&visit.workspace)?;
    let ask = Ask {
        question,
        mode: mode.map_or_else(|| configured_mode(&visit.workspace), Mode::recall),
        limit: limit.clamp(1, MOST),
        unique: given.get("unique") == Some("1"),
        kinds: kind.into_iter().map(DocumentKind::index).collect(),
        scopes: scope.scopes(),
        since,
        today: Some(day_of(visit.now)),
        forgotten: &forgotten,
        corrections: &corrections,
        explain: true,
    };
    if scope == Scope::Sources {
        return sources(visit, &ask);
    }
    let mut memory = locked(&visit.desk.memory);
    memory.workspace = visit.workspace.clone();
    let asked = memory.ask(&ask, scope.asked(), visit.now, &mut |_, _, _| {});
    drop(memory);
    let (answer, remarks) = asked.map_err(CommandError::from)?;
    let mut notes: Vec<String> = remarks.iter().map(|it| it.text().to_owned()).collect();
    notes.extend(context::corrections_beside(&answer));
    if let Some(note) = &answer.mode_note {
        notes.push(format!("Searched by full text alone: {note}"));
    }
    if answer.undated > 0 {
        let count = answer.undated;
        notes.push(format!("{count} document(s) without a date were left out"));
    }
    let results: Vec<Value> = answer.hits.iter().map(|it| hit(it, None)).collect();
    Ok(told(&answer, results, notes, answer.more))
}

/// The user's other workspaces, each with its own best passages.
fn sources(visit: &Visit, ask: &Ask) -> Result<Told, Refused> {
    let all = registry(&visit.settings)?.sources();
    let all = all.map_err(CommandError::from)?;
    let here = Some(visit.workspace.root());
    let found = federation::ask(&all, here, forge::embed::builtin(), ask);
    let (mut results, mut notes, mut more) = (Vec::new(), Vec::new(), 0);
    for one in &found {
        match &one.answer {
            Err(why) => notes.push(format!("`{}` was passed over: {why}", one.source.name)),
            Ok(answered) => {
                more += answered.answer.more;
                notes.extend(answered.notes.iter().cloned());
                let hits = answered.answer.hits.iter();
                results.extend(hits.map(|it| hit(it, Some(&one.source.name))));
            }
        }
    }
    if found.is_empty() {
        notes.push(
            "No other workspace is registered; `memory-forge sources add` does it".to_owned(),
        );
    }
    more += results.len().saturating_sub(MOST);
    results.truncate(MOST);
    Ok(told(&Answer::nothing(), results, notes, more))
}

fn told(answer: &Answer, results: Vec<Value>, notes: Vec<String>, more: usize) -> Told {
    json!({
        "version": 1, "how": mode_line(answer), "results": results, "more": more,
        "notes": notes,
    })
    .into()
}

/// A passage in pieces, every second of which is a match.
fn hit(hit: &Hit, source: Option<&str>) -> Value {
    let text = &hit.passage.text;
    let mut value = hit_json(hit, "", false);
    let mut pieces: Vec<&str> = Vec::new();
    // Properties are shown with the document, unless there is nothing else.
    let body = text
        .strip_prefix("---\n")
        .and_then(|rest| rest.find("\n---\n"));
    let start = body.map_or(0, |end| end + "---\n\n---\n".len());
    let mut at = if text[start..].trim().is_empty() {
        0
    } else {
        start
    };
    at += text[at..].len() - text[at..].trim_start().len();
    for found in &hit.matches {
        if found.start < at || text.get(found.clone()).is_none() {
            continue;
        }
        pieces.extend([&text[at..found.start], &text[found.clone()]]);
        at = found.end;
    }
    pieces.push(&text[at..]);
    value["text"] = pieces.into();
    value["reason"] = why(hit).into();
    value["source"] = source.into();
    value
}

fn chosen<T: ValueEnum>(given: &Given, name: &str) -> Result<Option<T>, Refused> {
    match given.get(name).filter(|it| !it.is_empty()) {
        None => Ok(None),
        Some(value) => T::from_str(value, true)
            .map(Some)
            .map_err(|_| Refused::new(400, format!("`{name}` has no value `{value}`"))),
    }
}
