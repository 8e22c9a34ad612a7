//! Documents: the list, one rendered, its past, and edits of it. An edit is
//! made against the version that was read, goes through the one writer, and
//! can be taken back; an older version is never written over a newer one.

use std::sync::Arc;

use forge_app::admit;
use forge_app::document::{self, Document, html};
use forge_app::quote;
use forge_app::secrets;
use forge_app::workspace::{RelPath, git};
use serde_json::{Value, json};

use super::audit::diff;
use super::known::Known;
use super::{Given, Refused, Told, Visit, clean};

/// Documents in the list.
const MOST: usize = 20_000;
/// Bytes of Markdown that are rendered.
const MOST_RENDERED: usize = 400_000;
const MOST_BACKLINKS: usize = 200;
const MOST_COMMITS: usize = 50;
const MOST_CHANGES: usize = 30;
/// Bytes of an image.
const MOST_IMAGE: u64 = 8_000_000;

pub(super) fn list(visit: &Visit, _: &Given) -> Result<Told, Refused> {
    let known = visit.known();
    let all = known.documents().count();
    let shown: Vec<Value> = known
        .documents()
        .take(MOST)
        .map(|(index, path)| json!([path.as_str(), known.title(index), role_name(&known, index)]))
        .collect();
    let left_out = all - shown.len();
    Ok(json!({ "version": 1, "documents": shown, "leftOut": left_out }).into())
}

fn role_name(known: &Known, index: u32) -> String {
    format!("{:?}", known.vault.file(index).role).to_lowercase()
}

/// The text of a document that may be shown.
fn read(visit: &Visit, path: &RelPath) -> Result<(Arc<Known>, u32, String), Refused> {
    let known = visit.known();
    let Some(index) = known.document(path) else {
        return Err(Refused::new(404, format!("There is no document `{path}`")));
    };
    let text = visit.workspace.read_text(path)?;
    Ok((known, index, text))
}

pub(super) fn document(visit: &Visit, given: &Given) -> Result<Told, Refused> {
    let path = given.path()?;
    let known = visit.known();
    if known.document(&path).is_none() && known.is_kept(&path) {
        return kept(visit, &known, &path);
    }
    let (known, index, text) = read(visit, &path)?;
    let cleaned = quote::cleaned(&text);
    let parsed = document::parse(cleaned.text.as_ref());
    let rendered = render(&known, &path, &parsed);
    let backlinks = known.backlinks.get(&index).map_or(&[][..], Vec::as_slice);
    let leading: Vec<Value> = backlinks
        .iter()
        .take(MOST_BACKLINKS)
        .map(|it| {
            let from = known.vault.file(it.from);
            json!({
                "path": from.path.as_str(), "title": known.title(it.from), "line": it.line,
                "key": it.key,
            })
        })
        .collect();
    let headings: Vec<Value> = parsed
        .sections
        .iter()
        .filter(|it| (1..=4).contains(&it.level))
        .map(|it| json!([it.level, it.title, html::heading_id(&it.title)]))
        .collect();
    let front_matter: Vec<Value> = known
        .vault
        .file(index)
        .note
        .iter()
        .flat_map(|note| note.front_matter.iter().flatten())
        .map(|(key, value)| json!([clean(key), clean(&property(value))]))
        .collect();
    let mut editable = Value::Null;
    if !cleaned.secrets.is_empty() {
        editable =
            "It holds what looks like a secret, which is not shown here; edit the file itself"
                .into();
    }
    Ok(json!({
        "version": 1, "path": path.as_str(), "title": known.title(index),
        "role": role_name(&known, index), "private": path.is_private(),
        "html": rendered.html, "leftOut": rendered.left_out,
        "text": document::version(&text),
        "words": text.split_whitespace().count(), "bytes": text.len(),
        "headings": headings, "frontMatter": front_matter,
        "backlinks": leading, "moreBacklinks": backlinks.len().saturating_sub(MOST_BACKLINKS),
        "masked": cleaned.secrets, "hidden": cleaned.hidden, "notEditable": editable,
        "problems": parsed.problems.iter().take(5)
            .map(|it| format!("line {}: {}", it.line, clean(&it.message))).collect::<Vec<_>>(),
    })
    .into())
}

/// What the machine keeps, such as a checkpoint: to be read alone.
fn kept(visit: &Visit, known: &Known, path: &RelPath) -> Result<Told, Refused> {
    let text = visit.workspace.read_text(path)?;
    let cleaned = quote::cleaned(&text);
    let parsed = document::parse(cleaned.text.as_ref());
    let rendered = render(known, path, &parsed);
    let none: [Value; 0] = [];
    Ok(json!({
        "version": 1, "path": path.as_str(),
        "title": clean(parsed.title().unwrap_or(path.file_name())),
        "role": "kept", "private": false, "html": rendered.html, "leftOut": rendered.left_out,
        "text": document::version(&text),
        "words": text.split_whitespace().count(), "bytes": text.len(),
        "headings": none, "frontMatter": none, "backlinks": none, "moreBacklinks": 0,
        "masked": cleaned.secrets, "hidden": cleaned.hidden, "problems": none,
        "notEditable": "It is kept by the program",
    })
    .into())
}

/// A value as a person would say it: names without the brackets of links.
fn property(value: &document::Value) -> String {
    match value {
        document::Value::List(all) => {
            let all: Vec<String> = all.iter().map(property).collect();
            all.join(", ")
        }
        document::Value::Text(text) => forge_app::links::name_in(text).to_owned(),
        other => other.to_string(),
    }
}

pub(super) fn render(known: &Known, path: &RelPath, document: &Document) -> html::Html {
    let goal = |link: &document::Link| match known.goal(path, link) {
        Some(found) if found == path || known.document(found).is_some() => {
            html::Goal::File(found.to_string())
        }
        Some(found) if html::image_kind(found.as_str()).is_some() => {
            html::Goal::File(found.to_string())
        }
        _ => html::Goal::Missing,
    };
    html::html(document, &goal, MOST_RENDERED)
}

/// The text for an edit, with the version that it is.
pub(super) fn source(visit: &Visit, given: &Given) -> Result<Told, Refused> {
    let path = given.path()?;
    let (_, _, text) = read(visit, &path)?;
    if !secrets::find(&text).is_empty() {
        let why = "This document holds what looks like a secret and is not given to a page; edit the file itself";
        return Err(Refused::new(422, why));
    }
    let shown = document::for_a_box(&text);
    Ok(json!({ "version": 1, "path": path.as_str(), "source": shown, "text": document::version(&text) }).into())
}

pub(super) fn save(visit: &Visit, given: &Given) -> Result<Told, Refused> {
    let path = given.path()?;
    let (base, typed) = (given.text("base")?, given.text("source")?);
    read(visit, &path)?;
    let what = format!("Edit `{path}` in the browser");
    let ((), receipt) = visit.workspace.change_with(&what, visit.now, |change| {
        let before = change.read_text(&path)?;
        let same = before.as_deref().filter(|it| document::version(it) == base);
        let Some(before) = same else {
            let why = format!(
                "`{path}` was changed by somebody else since you began; nothing was written, and your text is still here"
            );
            return Err(Refused::new(409, why));
        };
        let typed = admit::admit_edit(&visit.workspace, before, typed.to_owned())?;
        change.write(&path, document::retyped(before, &typed));
        Ok(())
    })?;
    let after = visit.workspace.read_text(&path)?;
    Ok(json!({ "version": 1, "change": receipt.id, "text": document::version(&after) }).into())
}

pub(super) fn undo(visit: &Visit, given: &Given) -> Result<Told, Refused> {
    let receipt = forge_app::undo::undo(&visit.workspace, Some(given.text("id")?), visit.now)?;
    let files: Vec<&str> = receipt.files.iter().map(|it| it.path.as_str()).collect();
    Ok(json!({
        "version": 1, "undid": receipt.undid, "what": clean(&receipt.what), "files": files,
        "change": receipt.id,
    })
    .into())
}

/// What can be taken back, the latest first.
pub(super) fn changes(visit: &Visit, _: &Given) -> Result<Told, Refused> {
    let all = visit.workspace.history()?;
    let shown: Vec<Value> = all
        .iter()
        .take(MOST_CHANGES)
        .map(|it| {
            let files: Vec<&str> = it.files.iter().map(|file| file.path.as_str()).collect();
            json!({
                "id": it.id, "what": clean(&it.what), "time": it.time, "files": files,
                "undone": it.undone, "undoes": it.undoes, "interrupted": it.interrupted,
            })
        })
        .collect();
    let left_out = all.len().saturating_sub(MOST_CHANGES);
    Ok(json!({ "version": 1, "changes": shown, "leftOut": left_out }).into())
}

/// The commits that changed a document.
pub(super) fn history(visit: &Visit, given: &Given) -> Result<Told, Refused> {
    let path = given.path()?;
    read(visit, &path)?;
    let none: [Value; 0] = [];
    let commits = match git::log(visit.workspace.root(), Some(&path), MOST_COMMITS) {
        Ok(commits) => commits,
        Err(error) => {
            let why = clean(&error.to_string());
            return Ok(json!({ "version": 1, "commits": none, "why": why }).into());
        }
    };
    let shown: Vec<Value> = commits
        .iter()
        .map(|it| {
            json!({
                "commit": it.id, "date": it.date, "author": clean(&it.author),
                "subject": clean(&it.subject),
            })
        })
        .collect();
    Ok(json!({ "version": 1, "commits": shown, "capped": shown.len() == MOST_COMMITS }).into())
}

/// What a document held in a commit, and how it differs from today.
pub(super) fn past(visit: &Visit, given: &Given) -> Result<Told, Refused> {
    let path = given.path()?;
    let (known, _, now) = read(visit, &path)?;
    let commit = given.text("commit")?;
    let bytes = git::file_at(visit.workspace.root(), commit, &path)
        .map_err(|error| Refused::new(400, error.to_string()))?;
    let Some(bytes) = bytes else {
        return Err(Refused::new(404, format!("There was no `{path}` then")));
    };
    let text = String::from_utf8_lossy(&bytes).into_owned();
    let cleaned = quote::clean(&text);
    let rendered = render(&known, &path, &document::parse(cleaned.as_ref()));
    Ok(json!({
        "version": 1, "html": rendered.html, "leftOut": rendered.left_out,
        "diff": diff(&text, &now),
    })
    .into())
}

/// An image of the workspace, for a document that shows it.
pub(super) fn image(visit: &Visit, given: &Given) -> Result<Told, Refused> {
    let path = given.path()?;
    let Some(kind) = html::image_kind(path.as_str()) else {
        return Err(Refused::new(404, "That is no image"));
    };
    if path.is_derived() {
        return Err(Refused::new(404, "There is no such image"));
    }
    let bytes = visit.workspace.read_at_most(&path, MOST_IMAGE)?;
    Ok(Told::Bytes(kind, bytes))
}
