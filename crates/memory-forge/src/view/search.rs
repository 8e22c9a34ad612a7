//! Answers a question to the memory, in the same way as `search`.

use forge_app::counts::count_noun;
use forge_app::federation::{self, SourceRegistry};
use forge_app::index::DocumentKind;
use forge_app::recall::{RecallAnswer, RecallHit, RecallMode, RecallQuery, context};
use forge_app::search::{SearchRequest, SearchRetractions, SearchScope};
use serde_json::{Value, json};

use super::{PageAnswer, PageRefusal, QuestionContext, QuestionInput, lock_mutex};
use crate::choice::Choice;
use crate::hits::{describe_mode, explain_rank, hit_json};
use crate::report::CommandError;

/// Default and upper bound for the passages that are shown.
const DEFAULT_RESULTS: usize = 12;
const MAX_RESULTS: usize = 50;
/// Upper bound for the bytes of a question.
const MAX_QUESTION_BYTES: usize = 2_000;

pub(super) fn answer_search(
    visit: &QuestionContext,
    given: &QuestionInput,
) -> Result<PageAnswer, PageRefusal> {
    let question = given.required_text("q")?.trim();
    if question.is_empty() || question.len() > MAX_QUESTION_BYTES {
        let why = format!("A question has between 1 and {MAX_QUESTION_BYTES} bytes");
        return Err(PageRefusal::new(400, why));
    }
    let scope = parse_choice::<SearchScope>(given, "scope")?;
    let mode = parse_choice::<RecallMode>(given, "mode")?;
    let kind = parse_choice::<DocumentKind>(given, "kind")?;
    let since = match given.query_value("since").filter(|it| !it.is_empty()) {
        Some(day) => Some(
            day.parse()
                .map_err(|_| PageRefusal::new(400, "`since` is not a day"))?,
        ),
        None => None,
    };
    let limit = given
        .query_value("limit")
        .and_then(|it| it.parse().ok())
        .unwrap_or(DEFAULT_RESULTS);
    let request = SearchRequest {
        // The page asks the shared index only by name.
        scope: Some(scope.unwrap_or(SearchScope::Knowledge)),
        mode,
        unique: given.query_value("unique") == Some("1"),
        kinds: kind.into_iter().collect(),
        since,
        explain: true,
        keep_noise: true,
        ..SearchRequest::new(question, limit.clamp(1, MAX_RESULTS), visit.now)
    };
    if scope == Some(SearchScope::Evidence) {
        let why = "The page shows documents; `memory-forge search --scope evidence` shows evidence";
        return Err(PageRefusal::new(400, why));
    }
    if scope == Some(SearchScope::Sources) {
        let retractions = SearchRetractions::read(&visit.workspace).map_err(CommandError::from)?;
        return search_sources(
            visit,
            &retractions.prepare_query(&visit.workspace, &request),
        );
    }
    let mut memory = lock_mutex(&visit.service.memory);
    memory.workspace = visit.workspace.clone();
    let found = forge_app::search::run_search(&mut memory, &request, None, &mut |_, _, _| {});
    drop(memory);
    let found = found.map_err(CommandError::from)?;
    let (answer, remarks) = (found.answer, found.remarks);
    let mut notes: Vec<String> = remarks.iter().map(|it| it.text().to_owned()).collect();
    notes.extend(context::extra_correction_notes(&answer));
    if let Some(note) = &answer.mode_note {
        notes.push(format!("Searched by keyword only: {note}"));
    }
    if answer.undated > 0 {
        let count = answer.undated;
        notes.push(format!(
            "Left out {} without a date",
            count_noun(count, "document")
        ));
    }
    let results: Vec<Value> = answer
        .hits
        .iter()
        .map(|it| hit_pieces_json(it, None))
        .collect();
    Ok(search_answer(&answer, results, notes, answer.more))
}

/// Searches the user's other workspaces, each for its own best passages.
fn search_sources(visit: &QuestionContext, ask: &RecallQuery) -> Result<PageAnswer, PageRefusal> {
    let all = SourceRegistry::of_home(visit.settings.home.as_deref())
        .map_err(CommandError::from)?
        .sources();
    let all = all.map_err(CommandError::from)?;
    let here = Some(visit.workspace.root());
    let found = federation::search_sources(&all, here, forge_app::embed::builtin_embedder(), ask);
    let (mut results, mut notes, mut more) = (Vec::new(), Vec::new(), 0);
    for one in &found {
        match &one.answer {
            Err(why) => notes.push(format!("Skipped `{}`: {why}", one.source.name)),
            Ok(answered) => {
                more += answered.answer.more;
                notes.extend(answered.notes.iter().cloned());
                let hits = answered.answer.hits.iter();
                results.extend(hits.map(|it| hit_pieces_json(it, Some(&one.source.name))));
            }
        }
    }
    if found.is_empty() {
        notes.push(
            "No other workspace is registered; `memory-forge sources add` registers one".to_owned(),
        );
    }
    more += results.len().saturating_sub(MAX_RESULTS);
    results.truncate(MAX_RESULTS);
    Ok(search_answer(&RecallAnswer::empty(), results, notes, more))
}

fn search_answer(
    answer: &RecallAnswer,
    results: Vec<Value>,
    notes: Vec<String>,
    more: usize,
) -> PageAnswer {
    json!({
        "version": 1, "how": describe_mode(answer), "results": results, "more": more,
        "notes": notes,
    })
    .into()
}

/// Renders a passage in pieces, every second of which is a match.
fn hit_pieces_json(hit: &RecallHit, source: Option<&str>) -> Value {
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
    value["reason"] = explain_rank(hit).into();
    value["source"] = source.into();
    value
}

fn parse_choice<T: Choice>(given: &QuestionInput, name: &str) -> Result<Option<T>, PageRefusal> {
    let Some(value) = given.query_value(name).filter(|it| !it.is_empty()) else {
        return Ok(None);
    };
    let known = T::parse(value).map(Some);
    known.ok_or_else(|| PageRefusal::new(400, format!("`{name}` has no value `{value}`")))
}
