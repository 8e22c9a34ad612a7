//! Answers with documents: the list, one rendered, its past, and edits of it,
//! as the use case returns them. It only renders JSON.

use forge_app::documents;
use forge_app::undo;
use serde_json::{Value, json};

use super::audit::diff_rows;
use super::{PageAnswer, PageRefusal, QuestionContext, QuestionInput, clean_text};

/// Upper bound for documents in the list.
const MAX_LISTED_DOCUMENTS: usize = 20_000;
const MAX_LISTED_CHANGES: usize = 30;

pub(super) fn answer_list(
    visit: &QuestionContext,
    _: &QuestionInput,
) -> Result<PageAnswer, PageRefusal> {
    let known = visit.known_documents();
    let all = known.documents().count();
    let shown: Vec<Value> = known
        .documents()
        .take(MAX_LISTED_DOCUMENTS)
        .map(|(index, path)| {
            let role = documents::role_name(known.vault.file(index).role);
            json!([path.as_str(), known.title(index), role])
        })
        .collect();
    let left_out = all - shown.len();
    Ok(json!({ "version": 1, "documents": shown, "leftOut": left_out }).into())
}

pub(super) fn answer_document(
    visit: &QuestionContext,
    given: &QuestionInput,
) -> Result<PageAnswer, PageRefusal> {
    let path = given.document_path()?;
    let known = visit.known_documents();
    let it = documents::render_document(&visit.workspace, &known, &path)?;
    let role = it
        .role
        .map_or_else(|| "kept".to_owned(), documents::role_name);
    let headings: Vec<Value> = it
        .headings
        .iter()
        .map(|it| json!([it.level, it.title, it.id]))
        .collect();
    let leading: Vec<Value> = it
        .backlinks
        .iter()
        .map(|it| {
            let from = known.vault.file(it.from);
            json!({
                "path": from.path.as_str(), "title": known.title(it.from), "line": it.line,
                "key": it.key,
            })
        })
        .collect();
    Ok(json!({
        "version": 1, "path": path.as_str(), "title": it.title,
        "role": role, "private": it.role.is_some() && path.is_private(),
        "html": it.page.html, "leftOut": it.page.left_out,
        "text": it.version, "words": it.words, "bytes": it.bytes,
        "headings": headings, "frontMatter": it.properties,
        "backlinks": leading, "moreBacklinks": it.more_backlinks,
        "masked": it.secrets, "hidden": it.hidden, "notEditable": it.not_editable,
        "problems": it.problems,
    })
    .into())
}

/// Answers with the text for an edit, and its version.
pub(super) fn answer_source(
    visit: &QuestionContext,
    given: &QuestionInput,
) -> Result<PageAnswer, PageRefusal> {
    let path = given.document_path()?;
    let source =
        documents::read_document_source(&visit.workspace, &visit.known_documents(), &path)?;
    Ok(json!({
        "version": 1, "path": path.as_str(), "source": source.text, "text": source.version,
    })
    .into())
}

pub(super) fn save_document(
    visit: &QuestionContext,
    given: &QuestionInput,
) -> Result<PageAnswer, PageRefusal> {
    let path = given.document_path()?;
    let edit = documents::DocumentEdit {
        path: &path,
        version: given.required_text("base")?,
        text: given.required_text("source")?,
    };
    let done =
        documents::edit_document(&visit.workspace, &visit.known_documents(), &edit, visit.now)?;
    Ok(json!({ "version": 1, "change": done.change, "text": done.version }).into())
}

pub(super) fn undo_change(
    visit: &QuestionContext,
    given: &QuestionInput,
) -> Result<PageAnswer, PageRefusal> {
    let receipt = undo::undo_change(
        &visit.workspace,
        Some(given.required_text("id")?),
        visit.now,
    )?;
    let files: Vec<&str> = receipt.files.iter().map(|it| it.path.as_str()).collect();
    Ok(json!({
        "version": 1, "undid": receipt.undid, "what": clean_text(&receipt.what), "files": files,
        "change": receipt.id,
    })
    .into())
}

/// Answers with the changes that can be reverted, the latest first.
pub(super) fn answer_changes(
    visit: &QuestionContext,
    _: &QuestionInput,
) -> Result<PageAnswer, PageRefusal> {
    let all = visit.workspace.history()?;
    let shown: Vec<Value> = all
        .iter()
        .take(MAX_LISTED_CHANGES)
        .map(|it| {
            let files: Vec<&str> = it.files.iter().map(|file| file.path.as_str()).collect();
            json!({
                "id": it.id, "what": clean_text(&it.what), "time": it.time, "files": files,
                "undone": it.undone, "undoes": it.undoes, "interrupted": it.interrupted,
            })
        })
        .collect();
    let left_out = all.len().saturating_sub(MAX_LISTED_CHANGES);
    Ok(json!({ "version": 1, "changes": shown, "leftOut": left_out }).into())
}

/// Answers with the commits that changed a document.
pub(super) fn answer_history(
    visit: &QuestionContext,
    given: &QuestionInput,
) -> Result<PageAnswer, PageRefusal> {
    let path = given.document_path()?;
    let history =
        documents::load_document_history(&visit.workspace, &visit.known_documents(), &path)?;
    if let Some(why) = &history.problem {
        let none: [Value; 0] = [];
        return Ok(json!({ "version": 1, "commits": none, "why": clean_text(why) }).into());
    }
    let shown: Vec<Value> = history
        .commits
        .iter()
        .map(|it| {
            json!({
                "commit": it.id, "date": it.date, "author": clean_text(&it.author),
                "subject": clean_text(&it.subject),
            })
        })
        .collect();
    let is_capped = shown.len() == documents::MAX_COMMITS;
    Ok(json!({ "version": 1, "commits": shown, "capped": is_capped }).into())
}

/// Answers with the text of a document in a commit, and its difference from
/// today.
pub(super) fn answer_past(
    visit: &QuestionContext,
    given: &QuestionInput,
) -> Result<PageAnswer, PageRefusal> {
    let path = given.document_path()?;
    let commit = given.required_text("commit")?;
    let past =
        documents::load_past_document(&visit.workspace, &visit.known_documents(), &path, commit)?;
    Ok(json!({
        "version": 1, "html": past.page.html, "leftOut": past.page.left_out,
        "diff": diff_rows(&past.before, &past.now),
    })
    .into())
}

/// Answers with an image of the workspace, for a document that shows it.
pub(super) fn answer_image(
    visit: &QuestionContext,
    given: &QuestionInput,
) -> Result<PageAnswer, PageRefusal> {
    let (kind, bytes) = documents::read_image(&visit.workspace, &given.document_path()?)?;
    Ok(PageAnswer::Bytes(kind, bytes))
}
