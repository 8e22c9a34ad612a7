//! Answers a question to the memory, in the same way as `search`.

use forge_app::federation::{self, Registry};
use forge_app::index::Kind;
use forge_app::recall::{Answer, Ask, Hit, Mode, context};
use forge_app::search::{Retractions, SearchRequest, SearchScope};
use serde_json::{Value, json};

use super::{Given, Refused, Told, Visit, locked};
use crate::choice::Choice;
use crate::hits::{hit_json, mode_line, why};
use crate::report::CommandError;

/// Default and upper bound for the passages that are shown.
const USUAL: usize = 12;
const MOST: usize = 50;
/// Upper bound for the bytes of a question.
const LONGEST: usize = 2_000;

pub(super) fn search(visit: &Visit, given: &Given) -> Result<Told, Refused> {
    let question = given.text("q")?.trim();
    if question.is_empty() || question.len() > LONGEST {
        let why = format!("A question has between 1 and {LONGEST} bytes");
        return Err(Refused::new(400, why));
    }
    let scope = chosen::<SearchScope>(given, "scope")?;
    let mode = chosen::<Mode>(given, "mode")?;
    let kind = chosen::<Kind>(given, "kind")?;
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
    let request = SearchRequest {
        // The page asks the shared index only by name.
        scope: Some(scope.unwrap_or(SearchScope::Knowledge)),
        mode,
        unique: given.get("unique") == Some("1"),
        kinds: kind.into_iter().collect(),
        since,
        explain: true,
        keep_noise: true,
        ..SearchRequest::new(question, limit.clamp(1, MOST), visit.now)
    };
    if scope == Some(SearchScope::Sources) {
        let retractions = Retractions::read(&visit.workspace).map_err(CommandError::from)?;
        return sources(visit, &retractions.ask(&visit.workspace, &request));
    }
    let mut memory = locked(&visit.desk.memory);
    memory.workspace = visit.workspace.clone();
    let found = forge_app::search::search(&mut memory, &request, None, &mut |_, _, _| {});
    drop(memory);
    let found = found.map_err(CommandError::from)?;
    let (answer, remarks) = (found.answer, found.remarks);
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

/// Searches the user's other workspaces, each for its own best passages.
fn sources(visit: &Visit, ask: &Ask) -> Result<Told, Refused> {
    let all = Registry::of_home(visit.settings.home.as_deref())
        .map_err(CommandError::from)?
        .sources();
    let all = all.map_err(CommandError::from)?;
    let here = Some(visit.workspace.root());
    let found = federation::ask(&all, here, forge_app::embed::builtin(), ask);
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

/// Renders a passage in pieces, every second of which is a match.
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

fn chosen<T: Choice>(given: &Given, name: &str) -> Result<Option<T>, Refused> {
    let Some(value) = given.get(name).filter(|it| !it.is_empty()) else {
        return Ok(None);
    };
    let known = T::parse(value).map(Some);
    known.ok_or_else(|| Refused::new(400, format!("`{name}` has no value `{value}`")))
}
