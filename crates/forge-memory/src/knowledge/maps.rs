//! Manifest and closets as searchable text. An entry of the closets represents
//! the file that it describes; the manifest, and the rest of a closets file,
//! are searched as plain text.

use super::describe::describe_text;
use super::refresh::RefreshError;
use crate::embed::Embedder;
use crate::index::{Index, IndexChange, PassageSizes};
use crate::recall::{self, RecallAnswer, RecallMode, RecallQuery, closets};
use crate::routing::closets::{ClosetField, ClosetListing, list_closets};
use crate::routing::manifest;
use crate::workspace::{FileRole, RelPath, Workspace};

/// An answer and the entries that it was chosen from.
pub struct MapAnswer {
    /// The entries; the number of a hit of [`closets::CLOSETS_SCOPE`] is its position
    /// here.
    pub listing: ClosetListing,
    /// `None` if there is nothing to search.
    pub answer: Option<RecallAnswer>,
    /// Files that could not be read, and why.
    pub unread: Vec<String>,
    /// Notes for the reader about how the query was answered.
    pub notes: Vec<String>,
}

/// A filter for the entries that are searched.
#[derive(Debug, Clone, Copy, Default)]
pub struct ClosetFilter<'a> {
    /// Restricts the search to one field of each entry.
    pub field: Option<ClosetField>,
    /// Restricts the search to the entries of one hub.
    pub hub: Option<&'a str>,
}

/// Searches the closets alone.
pub fn search_closets(
    workspace: &Workspace,
    ask: &RecallQuery<'_>,
    only: ClosetFilter,
    embedder: Option<&dyn Embedder>,
) -> Result<MapAnswer, RefreshError> {
    let mut listing = list_closets(workspace)?;
    if let Some(hub) = only.hub {
        listing.entries.retain(|it| it.hub == hub);
    }
    let (mut notes, unread) = (Vec::new(), listing.unread.clone());
    if listing.entries.is_empty() {
        return Ok(MapAnswer {
            listing,
            answer: None,
            unread,
            notes,
        });
    }
    let answer = closets::rank_entries(&listing.entries, embedder, only.field, ask)?;
    let (compared, all) = (closets::MAX_EMBEDDED_ENTRIES, listing.entries.len());
    if answer.mode != RecallMode::Text && all > compared {
        notes.push(format!(
            "Vectors were compared for the {compared} of {all} entries that match best by words"
        ));
    }
    Ok(MapAnswer {
        listing,
        answer: Some(answer),
        unread,
        notes,
    })
}

/// Searches the closets, and the manifest by full text. If each file counts
/// once, closets files are no hits, and the manifest comes after all entries.
pub fn search_maps(
    workspace: &Workspace,
    ask: &RecallQuery<'_>,
    embedder: Option<&dyn Embedder>,
) -> Result<MapAnswer, RefreshError> {
    let mut mapped = search_closets(workspace, ask, ClosetFilter::default(), embedder)?;
    let Some(others) = search_other_texts(workspace, &mapped.listing, ask, &mut mapped.unread)?
    else {
        return Ok(mapped);
    };
    mapped.answer = Some(match mapped.answer.take() {
        None => others,
        Some(entries) if !ask.unique => recall::merge_answers(entries, others, ask.limit),
        Some(entries) => recall::append_answer(entries, others, ask.limit),
    });
    Ok(mapped)
}

/// Searches the manifest, and the text of closets files outside entries.
fn search_other_texts(
    workspace: &Workspace,
    listing: &ClosetListing,
    ask: &RecallQuery,
    unread: &mut Vec<String>,
) -> Result<Option<RecallAnswer>, RefreshError> {
    let mut texts: Vec<(RelPath, String)> = Vec::new();
    if !ask.unique {
        texts.extend(listing.others.iter().cloned());
    }
    let path = manifest::manifest_path();
    match workspace.read_text(&path) {
        Ok(text) => texts.push((path, text)),
        Err(error) if error.is_not_found() => {}
        Err(error) => unread.push(format!("{path}: {}", error.reason())),
    }
    if texts.is_empty() {
        return Ok(None);
    }
    let sizes = PassageSizes::with_limit(workspace.config().index.chunk_tokens);
    let put = |(path, text): (_, String)| {
        IndexChange::Put(Box::new(
            describe_text(&path, FileRole::Routing, &text, sizes).1,
        ))
    };
    let mut index = Index::in_memory()?;
    index.apply_changes(texts.into_iter().map(put).collect())?;
    let catalogue = index.catalogue()?;
    let ask = RecallQuery {
        // Nothing embeds an index that exists for one query.
        mode: RecallMode::Text,
        scopes: Vec::new(),
        kinds: Vec::new(),
        since: None,
        ..ask.clone()
    };
    Ok(Some(recall::rank_passages(&index, &catalogue, None, &ask)?))
}
