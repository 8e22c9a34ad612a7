//! Sends one query to every searchable workspace, each ranked separately.

use std::path::Path;

use crate::corrections::Corrections;
use crate::counts::count_noun;
use crate::embed::Embedder;
use crate::index::Index;
use crate::knowledge::{forget, fresh, maps, refresh};
use crate::recall::{self, RecallAnswer, RecallMode, RecallQuery};
use crate::workspace::{Workspace, workspace_identity};

use super::SourceWorkspace;

/// The answer of one workspace.
#[derive(Debug)]
pub struct SourceResponse {
    /// The workspace that was searched.
    pub source: SourceWorkspace,
    /// Its hits, or why it was skipped.
    pub answer: Result<SourceAnswer, String>,
}

/// Hits of one workspace, with notes for the reader.
#[derive(Debug)]
pub struct SourceAnswer {
    /// The hits. Their paths are absolute, since they are outside the current
    /// workspace.
    pub answer: RecallAnswer,
    /// Notes about how the answer was found.
    pub notes: Vec<String>,
}

/// Searches every searchable source, except the workspace at `here`, which has
/// its own searches: neither this folder nor another checkout of it. Nothing
/// there is written and no text of a query is a pattern.
pub fn search_sources(
    sources: &[SourceWorkspace],
    here: Option<&Path>,
    embedder: &dyn Embedder,
    ask: &RecallQuery,
) -> Vec<SourceResponse> {
    let searchable = sources.iter().filter(|source| source.searchable);
    let mut others: Vec<&SourceWorkspace> = searchable
        .filter(|source| here != Some(source.path.as_path()))
        .collect();
    if others.iter().any(|source| source.id.is_some())
        && let Some(own) = here.and_then(|it| workspace_identity(&Workspace::open(it).ok()?))
    {
        others.retain(|source| source.id.as_ref() != Some(&own.id()));
    }
    let others = others.into_iter();
    others
        .map(|source| SourceResponse {
            source: source.clone(),
            answer: search_source(source, embedder, ask),
        })
        .collect()
}

/// Searches one source through its maps and its index.
fn search_source(
    source: &SourceWorkspace,
    embedder: &dyn Embedder,
    ask: &RecallQuery,
) -> Result<SourceAnswer, String> {
    // A relative path would depend on the current directory.
    if !source.path.is_absolute() {
        return Err(format!(
            "its path is not absolute: {}",
            source.path.display()
        ));
    }
    if source.path.symlink_metadata().is_err() {
        return Err(format!("path missing: {}", source.path.display()));
    }
    let workspace = Workspace::open(&source.path).map_err(|e| e.to_string())?;
    let mut notes = Vec::new();
    let mapped = maps::search_maps(&workspace, ask, Some(embedder)).map_err(|e| e.to_string())?;
    notes.extend(mapped.unread.into_iter().chain(mapped.notes));
    let routing = mapped.answer;
    let indexed = match search_source_index(&workspace, embedder, ask, &mut notes) {
        Ok(answer) => answer,
        Err(error) => {
            notes.push(format!("its index cannot be searched: {error}"));
            None
        }
    };
    let mut answer = match (indexed, routing) {
        (Some(indexed), Some(routing)) => recall::merge_answers(indexed, routing, ask.limit),
        (Some(one), None) | (None, Some(one)) => one,
        (None, None) => return Err("it has neither closets nor a manifest nor an index".into()),
    };
    for hit in &mut answer.hits {
        let path = workspace.root().join(&hit.passage.path);
        hit.passage.path = path.display().to_string();
        if let Some(by) = &mut hit.replaced_by {
            *by = workspace.root().join(&*by).display().to_string();
        }
    }
    Ok(SourceAnswer { answer, notes })
}

/// Searches the index of a source, read-only. Returns `None` without one.
fn search_source_index(
    workspace: &Workspace,
    embedder: &dyn Embedder,
    ask: &RecallQuery,
    notes: &mut Vec<String>,
) -> Result<Option<RecallAnswer>, refresh::RefreshError> {
    // Read-only, so that a search leaves no trace in another workspace.
    let Some(index) = Index::open_read_only(&workspace.derived_folder())? else {
        return Ok(None);
    };
    let (scan, manifest) = workspace.scan_and_manifest();
    let mut catalogue = index.catalogue()?;
    fresh::archive_retired(&mut catalogue, manifest.as_ref());
    let forgotten = forget::read_forgotten_paths(workspace)?;
    // Facts that are corrected here count as corrected there as well.
    let own = Corrections::read(workspace)?;
    let corrections = Corrections::from_list([own.all(), ask.corrections.all()].concat());
    let behind = refresh::find_differences(&scan, &catalogue, false);
    let behind = behind.to_read.len() + behind.gone.len();
    if behind > 0 {
        notes.push(format!(
            "{} changed there since its index was made; `memory-forge index` there updates it",
            count_noun(behind, "file")
        ));
    }
    let ask = RecallQuery {
        scopes: vec!["knowledge", "routing"],
        forgotten: &forgotten,
        corrections: &corrections,
        ..ask.clone()
    };
    // Vectors of different models cannot be compared, so an index with another
    // model is searched by text.
    let ours = index.has_vectors_of_model(embedder.id(), embedder.dimensions())?;
    let ask = if ours {
        ask
    } else {
        RecallQuery {
            mode: RecallMode::Text,
            ..ask
        }
    };
    Ok(Some(recall::rank_passages(
        &index,
        &catalogue,
        Some(embedder),
        &ask,
    )?))
}
