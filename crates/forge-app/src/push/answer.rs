//! Points to the document that answers the question of a prompt. The search is
//! the one of every door, and the hook has an index at hand or stays silent.
//! It speaks only where the best hit is so certain that a line without a
//! request is worth it.

use super::PromptRequest;
use crate::evidence::{loaded_documents, new_entries, read_evidence, read_pushes, short_id};
use crate::knowledge::refresh::RefreshError;
use crate::library::search_near;
use crate::recall::{RecallMode, find_certain_hit};
use crate::search::{SearchRequest, SearchRetractions, SearchScope, configured_mode};
use crate::workspace::Workspace;
use forge_memory::evidence::EvidenceFact;
use forge_memory::push::{AnswerPointer, find_question};

/// Number of hits by which the certainty of the first is judged.
const COMPARED_HITS: usize = 5;
/// The folder of pages that have what was said, also what was only proposed.
const SESSION_PAGES: &str = "knowledge/sessions/";

/// A pointer, or the reason why a prompt gets none.
pub(super) type AnswerChoice = Result<AnswerPointer, String>;

/// Chooses the document to point to.
pub(super) fn choose_answer(
    workspace: &Workspace,
    request: &PromptRequest<'_>,
    prompt: &str,
) -> Result<AnswerChoice, RefreshError> {
    let silence = |why: &str| Ok(Err(why.to_owned()));
    let Some(question) = find_question(prompt) else {
        return silence("it is no question that a document could answer");
    };
    if configured_mode(workspace) != RecallMode::Hybrid {
        return silence("`search.mode` is not `hybrid`, by which certainty is measured");
    }
    let search = SearchRequest {
        scope: Some(SearchScope::Knowledge),
        ..SearchRequest::new(question, COMPARED_HITS, request.now)
    };
    let retractions = SearchRetractions::read(workspace)?;
    let ask = retractions.prepare_query(workspace, &search);
    let Some(answer) = search_near(workspace, request.model, &ask, request.now)? else {
        return silence("the index is not up to date; `memory-forge index` updates it");
    };
    let Some(best) = answer.hits.first() else {
        return silence("no document matches the question");
    };
    let Some(hit) = find_certain_hit(&answer) else {
        return Ok(Err(format!(
            "{} is the nearest, and it is not certain that it answers the question (confidence {:.2})",
            best.passage.path, best.confidence
        )));
    };
    let path = &hit.passage.path;
    if hit.passage.scope != "knowledge" || path.starts_with(SESSION_PAGES) {
        return Ok(Err(format!("{path} is no document of the knowledge")));
    }
    let Some(pointer) = AnswerPointer::to_hit(hit) else {
        return Ok(Err(format!("{path} has no name that can be shown")));
    };
    if loaded_documents(workspace).contains(&format!("@{path}")) {
        return Ok(Err(format!("the client loads {path}")));
    }
    let pushes = read_pushes(workspace);
    if pushes.silenced_items().contains_key(&pointer.item()) {
        return Ok(Err(format!(
            "{path}: silenced, because it was ignored three times"
        )));
    }
    let session = short_id(request.session);
    if pushes.was_shown(&session, &pointer.item(), pointer.version()) {
        return Ok(Err(format!("{path}: shown in this session already")));
    }
    if was_read(workspace, request, &session, path) {
        return Ok(Err(format!("{path} was read in this session")));
    }
    Ok(Ok(pointer))
}

/// Returns `true` if the agent has read or changed a document in this session.
fn was_read(workspace: &Workspace, request: &PromptRequest<'_>, session: &str, path: &str) -> bool {
    if request.session.is_empty() {
        return false;
    }
    let newer = request.transcript.as_ref();
    let newer = newer.map_or_else(Vec::new, |source| new_entries(workspace, source));
    let entries = read_evidence(workspace).entries;
    let mut of_session = entries
        .iter()
        .chain(&newer)
        .filter(|it| it.session == session);
    of_session.any(|entry| match &entry.fact {
        EvidenceFact::Read { path: read, .. } | EvidenceFact::Changed { path: read, .. } => {
            read == path
        }
        _ => false,
    })
}
