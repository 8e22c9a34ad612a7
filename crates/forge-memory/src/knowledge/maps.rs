//! Manifest and closets as searchable text. An entry of the closets represents
//! the file that it describes; the manifest, and the rest of a closets file,
//! are searched as plain text.

use super::describe::of_text;
use super::refresh::Error;
use crate::embed::Embedder;
use crate::index::{Change, Index, Sizes};
use crate::recall::{self, Answer, Ask, Mode, closets};
use crate::routing::closets::{Field, Listing, list};
use crate::routing::manifest;
use crate::workspace::{RelPath, Role, Workspace};

/// An answer and the entries that it was chosen from.
pub struct Mapped {
    /// The entries; the number of a hit of [`closets::SCOPE`] is its position
    /// here.
    pub listing: Listing,
    /// `None` if there is nothing to search.
    pub answer: Option<Answer>,
    /// Files that could not be read, and why.
    pub unread: Vec<String>,
    /// Notes for the reader about how the query was answered.
    pub notes: Vec<String>,
}

/// A filter for the entries that are searched.
#[derive(Debug, Clone, Copy, Default)]
pub struct Only<'a> {
    /// Restricts the search to one field of each entry.
    pub field: Option<Field>,
    /// Restricts the search to the entries of one hub.
    pub hub: Option<&'a str>,
}

/// Searches the closets alone.
pub fn ask_closets(
    workspace: &Workspace,
    ask: &Ask<'_>,
    only: Only,
    embedder: Option<&dyn Embedder>,
) -> Result<Mapped, Error> {
    let mut listing = list(workspace)?;
    if let Some(hub) = only.hub {
        listing.entries.retain(|it| it.hub == hub);
    }
    let (mut notes, unread) = (Vec::new(), listing.unread.clone());
    if listing.entries.is_empty() {
        return Ok(Mapped {
            listing,
            answer: None,
            unread,
            notes,
        });
    }
    let answer = closets::ask(&listing.entries, embedder, only.field, ask)?;
    let (compared, all) = (closets::MAX_EMBEDDED, listing.entries.len());
    if answer.mode != Mode::Text && all > compared {
        notes.push(format!(
            "Vectors were compared for the {compared} of {all} entries that match best by words"
        ));
    }
    Ok(Mapped {
        listing,
        answer: Some(answer),
        unread,
        notes,
    })
}

/// Searches the closets, and the manifest by full text. If each file counts
/// once, closets files are no hits, and the manifest comes after all entries.
pub fn ask(
    workspace: &Workspace,
    ask: &Ask<'_>,
    embedder: Option<&dyn Embedder>,
) -> Result<Mapped, Error> {
    let mut mapped = ask_closets(workspace, ask, Only::default(), embedder)?;
    let Some(others) = ask_others(workspace, &mapped.listing, ask, &mut mapped.unread)? else {
        return Ok(mapped);
    };
    mapped.answer = Some(match mapped.answer.take() {
        None => others,
        Some(entries) if !ask.unique => recall::join(entries, others, ask.limit),
        Some(entries) => recall::append(entries, others, ask.limit),
    });
    Ok(mapped)
}

/// Searches the manifest, and the text of closets files outside entries.
fn ask_others(
    workspace: &Workspace,
    listing: &Listing,
    ask: &Ask,
    unread: &mut Vec<String>,
) -> Result<Option<Answer>, Error> {
    let mut texts: Vec<(RelPath, String)> = Vec::new();
    if !ask.unique {
        texts.extend(listing.others.iter().cloned());
    }
    let path = manifest::path();
    match workspace.read_text(&path) {
        Ok(text) => texts.push((path, text)),
        Err(error) if error.is_not_found() => {}
        Err(error) => unread.push(format!("{path}: {}", error.reason())),
    }
    if texts.is_empty() {
        return Ok(None);
    }
    let sizes = Sizes::up_to(workspace.config().index.chunk_tokens);
    let put = |(path, text): (_, String)| {
        Change::Put(Box::new(of_text(&path, Role::Routing, &text, sizes).1))
    };
    let mut index = Index::in_memory()?;
    index.apply(texts.into_iter().map(put).collect())?;
    let catalogue = index.catalogue()?;
    let ask = Ask {
        // Nothing embeds an index that exists for one query.
        mode: Mode::Text,
        scopes: Vec::new(),
        kinds: Vec::new(),
        since: None,
        ..ask.clone()
    };
    Ok(Some(recall::ask(&index, &catalogue, None, &ask)?))
}
