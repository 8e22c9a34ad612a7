//! Saves knowledge, in one way for every door: a document that a search finds
//! at once, a skill, or a section in a file that agents load.
//!
//! A document is indexed and embedded here, within the budget of a query, so
//! that no door forgets it. Existing files are never overwritten.

use std::time::Duration;

use jiff::Timestamp;

use crate::diagnostic::Diagnostic;
use crate::knowledge::{refresh, save};
use crate::library::{AnswerRemark, KnowledgeLibrary, ProgressCallback};
use crate::workspace::RelPath;

pub use crate::knowledge::save::{NewDocument, NewSkill, NoteRoute, SavedDocument, route_note};

/// Knowledge to save.
#[derive(Debug, Clone, Copy)]
pub enum NewKnowledge<'a> {
    /// A document of `knowledge/`.
    Document(NewDocument<'a>),
    /// A skill, where agents load skills from.
    Skill(NewSkill<'a>),
    /// A section of the files that agents load.
    Section {
        /// The section's name and text.
        note: NewDocument<'a>,
        /// The files that get it.
        files: &'a [RelPath],
    },
}

/// The files that [`save_knowledge`] saved.
#[derive(Debug)]
pub struct RememberResponse {
    /// The files, and the receipt of the change.
    pub saved: SavedDocument,
    /// Whether searches find it from now on.
    pub is_indexed: bool,
    /// Remarks about the index, for a person.
    pub remarks: Vec<AnswerRemark>,
}

/// Errors of saving knowledge, or of indexing it afterwards.
#[derive(Debug, thiserror::Error)]
pub enum RememberError {
    /// The request was invalid or the file exists; nothing was written.
    #[error(transparent)]
    Save(#[from] save::SaveError),
    /// The document was written, and the index could not be updated.
    #[error(transparent)]
    Index(#[from] refresh::RefreshError),
}

impl RememberError {
    /// Returns the error that this one wraps.
    fn as_diagnostic(&self) -> &dyn Diagnostic {
        match self {
            RememberError::Save(error) => error,
            RememberError::Index(error) => error,
        }
    }
}

impl Diagnostic for RememberError {
    fn code(&self) -> &'static str {
        self.as_diagnostic().code()
    }

    fn hints(&self) -> Vec<String> {
        self.as_diagnostic().hints()
    }

    fn is_usage(&self) -> bool {
        self.as_diagnostic().is_usage()
    }
}

/// Saves knowledge, and updates the index for a new document.
pub fn save_knowledge(
    library: &mut KnowledgeLibrary,
    new: &NewKnowledge<'_>,
    now: Timestamp,
    watch: ProgressCallback<'_>,
) -> Result<RememberResponse, RememberError> {
    let workspace = library.workspace.clone();
    let saved = match new {
        NewKnowledge::Document(document) => save::save_document(&workspace, document, now)?,
        NewKnowledge::Skill(skill) => save::save_skill(&workspace, skill, now)?,
        NewKnowledge::Section { note, files } => save::save_section(&workspace, note, files, now)?,
    };
    let is_indexed = matches!(new, NewKnowledge::Document(_));
    let mut remarks = Vec::new();
    if is_indexed {
        remarks = library.refresh_index(now, false, watch)?.1;
        // A model that cannot be used is left for the next search to report:
        // the document was saved, and full text finds it.
        let budget = Duration::from_millis(workspace.config().search.embed_budget_ms);
        library.embed_passages(Some(budget), watch)?;
        library.release_lock();
    }
    Ok(RememberResponse {
        saved,
        is_indexed,
        remarks,
    })
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::workspace::Workspace;

    #[test]
    fn a_document_is_indexed_and_embedded_and_a_skill_is_not() {
        let dir = tempfile::tempdir().expect("a folder can be made");
        let workspace = Workspace::open(dir.path()).expect("it can be opened");
        let mut library = KnowledgeLibrary::new(workspace, None);
        let now = "2026-03-01T09:00:00Z".parse().expect("a time");
        let skill = NewKnowledge::Skill(NewSkill {
            name: "Flaky webhooks",
            content: "Freeze the clock.",
            description: Some("Webhook tests fail at random"),
            trigger: None,
            problem: None,
            importance: 5,
            clients: &[],
        });
        let done = save_knowledge(&mut library, &skill, now, &mut |_, _, _| {});
        assert!(!done.expect("it is saved").is_indexed);
        assert!(library.index().is_none());
        let document = NewKnowledge::Document(NewDocument {
            name: "Retry policy",
            content: "Retry three times, then park.",
            importance: 5,
        });
        let done = save_knowledge(&mut library, &document, now, &mut |_, _, _| {});
        let done = done.expect("it is saved");
        assert!(done.is_indexed);
        let file = &done.saved.files[0];
        let change = done
            .saved
            .receipt
            .change_of_file(file)
            .expect("it was made");
        assert!(change.before.is_none() && change.after_text().contains("then park"));
        let index = library.index().expect("it was brought up to date");
        let counts = index.counts().expect("it can be read");
        assert!(counts.chunks > 0 && counts.embedded == counts.chunks);
    }
}
