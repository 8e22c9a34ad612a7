//! Keeps the knowledge of a workspace ready for queries: an index that is in
//! step with the files at every query, and the model that embeds them.
//!
//! Commands query once and a server many times, through the same type. It
//! prints nothing: what a person should know about an answer is returned as
//! remarks.

use std::path::PathBuf;
use std::time::{Duration, Instant};

use jiff::Timestamp;

use crate::counts::count_noun;
use crate::embed::Embedder;
use crate::index::{self, CatalogueEntry, Index};
use crate::knowledge::fresh::{self, FreshIndex, IndexOpening};
use crate::knowledge::{maps, readme, refresh};
use crate::model;
use crate::recall::{self, RecallAnswer, RecallQuery};
use crate::workspace::Workspace;

/// Time limit of a command that waits for another process to write the index.
const INDEX_LOCK_WAIT: Duration = Duration::from_secs(5);

/// The error for a workspace without anything to search.
pub const NO_KNOWLEDGE_MESSAGE: &str = "There is nothing to search yet: no Markdown under `knowledge/`, and none included. `memory-forge init` makes a start.";

/// Message for a workspace whose only document is the list of documents.
const ONLY_LIST_MESSAGE: &str = "`knowledge/` has no document yet. `memory-forge save context <name>` writes one, and so does your editor.";

/// A remark about an answer, for the person who reads it.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum AnswerRemark {
    /// Something to know.
    Note(String),
    /// Something that may make the answer incomplete.
    Warning(String),
}

impl AnswerRemark {
    /// Returns the text, without its level.
    pub fn text(&self) -> &str {
        match self {
            AnswerRemark::Note(text) | AnswerRemark::Warning(text) => text,
        }
    }
}

/// Callback for progress: the stage, the work done, and the total.
pub type ProgressCallback<'a> = &'a mut dyn FnMut(&'static str, usize, usize);

/// A workspace with its index, which stays open between queries and is in step
/// with the files at each.
pub struct KnowledgeLibrary {
    /// The workspace, opened once.
    pub workspace: Workspace,
    /// The model file that the user's environment names.
    model: Option<PathBuf>,
    fresh: Option<FreshIndex>,
}

impl KnowledgeLibrary {
    /// Returns a library whose index is not yet open, with the model file that
    /// the user's environment names, if any.
    pub fn new(workspace: Workspace, model: Option<PathBuf>) -> KnowledgeLibrary {
        KnowledgeLibrary {
            workspace,
            model,
            fresh: None,
        }
    }

    /// Updates the index and returns it, with remarks about its state.
    pub fn refresh_index(
        &mut self,
        now: Timestamp,
        force: bool,
        watch: ProgressCallback,
    ) -> Result<(&mut FreshIndex, Vec<AnswerRemark>), refresh::RefreshError> {
        let before = self.fresh.take();
        let fresh = open_fresh_index(&self.workspace, before, now, force, watch)?;
        let remarks = convert_remarks(&fresh);
        Ok((self.fresh.insert(fresh), remarks))
    }

    /// Updates the list of documents in `knowledge/README.md`, where it exists,
    /// and the index with it. Returns whether the file was written.
    pub fn update_document_list(
        &mut self,
        now: Timestamp,
        watch: ProgressCallback,
    ) -> Result<(bool, Vec<AnswerRemark>), refresh::RefreshError> {
        // Writing the file takes a lock of its own, and no process waits for
        // one lock while it holds another: two of them could deadlock.
        self.release_lock();
        let Some(fresh) = &self.fresh else {
            return Ok((false, Vec::new()));
        };
        match readme::keep_list(&self.workspace, fresh, now) {
            Ok(false) => Ok((false, Vec::new())),
            Ok(true) => {
                let (_, remarks) = self.refresh_index(now, false, watch)?;
                self.release_lock();
                if let Some(fresh) = &self.fresh {
                    // The second call writes nothing: it records in the index
                    // that the list matches the files.
                    let _ = readme::keep_list(&self.workspace, fresh, now);
                }
                Ok((true, remarks))
            }
            Err(error) => {
                let why = format!(
                    "The list in `{}` is as it was: {error}",
                    readme::README_PATH
                );
                Ok((false, vec![AnswerRemark::Warning(why)]))
            }
        }
    }

    /// Embeds the passages without a vector; see [`embed_missing_vectors`]. Without a usable
    /// model it does nothing and returns a remark with the reason.
    pub fn embed_passages(
        &mut self,
        budget: Option<Duration>,
        watch: ProgressCallback,
    ) -> Result<Vec<AnswerRemark>, refresh::RefreshError> {
        self.embed_first(&[], budget, watch)
    }

    /// Computes missing vectors like [`KnowledgeLibrary::embed_missing_vectors`],
    /// these passages first.
    fn embed_first(
        &mut self,
        needed: &[u32],
        budget: Option<Duration>,
        watch: ProgressCallback,
    ) -> Result<Vec<AnswerRemark>, refresh::RefreshError> {
        let model = match self.load_model() {
            Ok(model) => model,
            Err(remark) => return Ok(vec![remark]),
        };
        if let Some(fresh) = &mut self.fresh {
            embed_missing_vectors(&self.workspace, fresh, model, needed, budget, watch)?;
        }
        Ok(Vec::new())
    }

    /// The passages whose vectors this question needs first, where not all
    /// have one: those that its words find.
    fn needed_first(&self, ask: &RecallQuery) -> Result<Vec<u32>, index::IndexError> {
        let Some(fresh) = &self.fresh else {
            return Ok(Vec::new());
        };
        let counts = fresh.index.passage_counts()?;
        // Where few are missing, all of them are done at once.
        if counts.chunks - counts.embedded <= recall::FEW_PASSAGES {
            return Ok(Vec::new());
        }
        recall::found_by_words(&fresh.index, &fresh.catalogue, ask)
    }

    fn load_model(&self) -> Result<&'static dyn Embedder, AnswerRemark> {
        let model = model::model_for_workspace(&self.workspace, self.model.as_deref());
        model.map_err(|why| AnswerRemark::Warning(format!("{why}; searching by keyword only")))
    }

    /// Returns the index of the last query.
    pub fn index(&self) -> Option<&Index> {
        self.fresh.as_ref().map(|fresh| &fresh.index)
    }

    /// Releases the lock of the index, which stays open.
    pub fn release_lock(&mut self) {
        if let Some(fresh) = &mut self.fresh {
            fresh.lock = None;
        }
    }

    /// Searches the manifest and the closets.
    pub(crate) fn search_maps(
        &self,
        ask: &RecallQuery,
    ) -> Result<(RecallAnswer, Vec<AnswerRemark>), refresh::RefreshError> {
        let (model, mut remarks) = self.model_for(ask.mode);
        let mapped = maps::search_maps(&self.workspace, ask, model)?;
        remarks.extend(mapped.unread.into_iter().map(AnswerRemark::Warning));
        remarks.extend(mapped.notes.into_iter().map(AnswerRemark::Note));
        if mapped.answer.is_none() {
            let none = "There is no manifest and there are no closets yet; `memory-forge closets build` writes them";
            remarks.push(AnswerRemark::Note(none.to_owned()));
        }
        Ok((mapped.answer.unwrap_or_else(RecallAnswer::empty), remarks))
    }

    /// Returns a remark for a workspace without documents, whose answers are
    /// always empty.
    pub(crate) fn empty_library_remark(&self) -> Option<AnswerRemark> {
        let fresh = self.fresh.as_ref()?;
        let note = match &fresh.catalogue[..] {
            [] => NO_KNOWLEDGE_MESSAGE,
            [only] if only.path == readme::README_PATH => {
                let counts = fresh.index.counts().ok()?;
                (counts.chunks == 0).then_some(ONLY_LIST_MESSAGE)?
            }
            _ => return None,
        };
        Some(AnswerRemark::Note(note.to_owned()))
    }

    /// Returns the model that a mode needs, or a warning without one.
    pub fn model_for(
        &self,
        mode: recall::RecallMode,
    ) -> (Option<&'static dyn Embedder>, Vec<AnswerRemark>) {
        if mode == recall::RecallMode::Text {
            return (None, Vec::new());
        }
        match self.load_model() {
            Ok(model) => (Some(model), Vec::new()),
            Err(remark) => (None, vec![remark]),
        }
    }

    /// Searches the documents that `wanted` accepts.
    pub fn search_index(
        &mut self,
        ask: &RecallQuery,
        wanted: &dyn Fn(&CatalogueEntry) -> bool,
        now: Timestamp,
        watch: ProgressCallback,
    ) -> Result<(RecallAnswer, Vec<AnswerRemark>), refresh::RefreshError> {
        let (fresh, mut remarks) = self.refresh_index(now, false, watch)?;
        remarks.extend(list_unusable_files(fresh));
        let mut model = None;
        if ask.mode != recall::RecallMode::Text {
            let budget = self.workspace.config().search.embed_budget_ms;
            let needed = self.needed_first(ask)?;
            let budget = Some(Duration::from_millis(budget));
            remarks.extend(self.embed_first(&needed, budget, watch)?);
            model = self.load_model().ok();
        }
        let fresh = self.fresh.as_ref().expect("it was refreshed above");
        let answer = match search_wanted_entries(fresh, model, ask, wanted) {
            Err(index::IndexError::Damaged { why, .. }) => {
                // The damaged file must not be open while it is replaced.
                self.fresh = None;
                let fresh = rebuild_damaged_index(&self.workspace, now, why)?;
                remarks.extend(self::convert_remarks(&fresh));
                search_wanted_entries(self.fresh.insert(fresh), model, ask, wanted)?
            }
            other => other?,
        };
        self.release_lock();
        Ok((answer, remarks))
    }
}

/// Number of changed files that a search without a request reads.
const MAX_NEAR_CHANGES: usize = 64;
/// Time in which such a search computes missing vectors.
const NEAR_EMBED_TIME: Duration = Duration::from_millis(15);

/// Searches an index that is there and almost up to date; without one it
/// returns no answer instead of building it. It never waits for another
/// process.
pub(crate) fn search_near(
    workspace: &Workspace,
    model: Option<&std::path::Path>,
    ask: &RecallQuery,
    now: Timestamp,
) -> Result<Option<RecallAnswer>, refresh::RefreshError> {
    let Some(mut fresh) = fresh::open_near(workspace, MAX_NEAR_CHANGES, now)? else {
        return Ok(None);
    };
    let Ok(model) = model::model_for_workspace(workspace, model) else {
        return Ok(None);
    };
    let time = Some(NEAR_EMBED_TIME);
    // The index is only locked, and so can only be written, if a file changed.
    if fresh.lock.is_some() {
        embed_missing_vectors(workspace, &mut fresh, model, &[], time, &mut |_, _, _| {})?;
    }
    let answer = search_wanted_entries(&fresh, Some(model), ask, &|_| true)?;
    Ok(Some(answer))
}

/// Ranks the catalogue entries that `wanted` accepts.
fn search_wanted_entries(
    fresh: &FreshIndex,
    model: Option<&dyn Embedder>,
    ask: &RecallQuery,
    wanted: &dyn Fn(&CatalogueEntry) -> bool,
) -> Result<RecallAnswer, index::IndexError> {
    let all = &fresh.catalogue;
    let some: Vec<CatalogueEntry>;
    // The common case borrows the catalogue instead of cloning every entry.
    let catalogue = if all.iter().all(wanted) {
        all
    } else {
        some = all.iter().filter(|it| wanted(it)).cloned().collect();
        &some
    };
    recall::rank_passages(&fresh.index, catalogue, model, ask)
}

/// Opens the index, or updates the open one.
fn open_fresh_index(
    workspace: &Workspace,
    before: Option<FreshIndex>,
    now: Timestamp,
    force: bool,
    watch: ProgressCallback,
) -> Result<FreshIndex, refresh::RefreshError> {
    let mut opening = IndexOpening {
        now,
        wait: INDEX_LOCK_WAIT,
        force,
        progress: &mut |done, total| watch("Reading", done, total),
    };
    match before {
        Some(before) => fresh::reopen_fresh(workspace, before, &mut opening),
        None => fresh::open_fresh(workspace, &mut opening),
    }
}

/// Rebuilds an index that proved damaged during a query.
fn rebuild_damaged_index(
    workspace: &Workspace,
    now: Timestamp,
    why: String,
) -> Result<FreshIndex, refresh::RefreshError> {
    let mut opening = IndexOpening {
        now,
        wait: INDEX_LOCK_WAIT,
        force: true,
        progress: &mut |_, _| {},
    };
    fresh::rebuild_index(workspace, &mut opening, why)
}

/// Embeds what has no vector yet, what is needed first, for at most `budget`;
/// `None` means to the end.
fn embed_missing_vectors(
    workspace: &Workspace,
    fresh: &mut FreshIndex,
    model: &dyn Embedder,
    needed: &[u32],
    budget: Option<Duration>,
    watch: ProgressCallback,
) -> Result<(), refresh::RefreshError> {
    let counts = fresh.index.passage_counts()?;
    let done = counts.embedded == counts.chunks;
    if counts.chunks == 0
        || done
            && fresh
                .index
                .has_vectors_of_model(model.id(), model.dimensions())?
    {
        return Ok(());
    }
    // From here on other processes may read and write the index: embedding
    // takes seconds and must not block them.
    fresh.lock = None;
    let _lock = match fresh.in_memory_reason() {
        Some(_) => None,
        None => match workspace.lock_vectors() {
            Ok(lock) => Some(lock),
            // Another process is computing the same vectors; this query ranks
            // with those that exist.
            Err(e) if e.is_locked() => return Ok(()),
            Err(e) => return Err(e.into()),
        },
    };
    let start = Instant::now();
    refresh::embed_passages(&mut fresh.index, model, needed, &mut |done, waiting| {
        watch("Embedding", done, waiting);
        budget.is_none_or(|b| start.elapsed() < b)
    })?;
    Ok(())
}

/// Converts remarks of the index to remarks for a person.
fn convert_remarks(fresh: &FreshIndex) -> Vec<AnswerRemark> {
    use fresh::IndexRemark as Found;
    let remark = |found: &Found| match found {
        Found::Rebuilt(why) => AnswerRemark::Note(format!("Rebuilt the index: {why}")),
        Found::KeptNewer { newer, path } => AnswerRemark::Warning(format!(
            "The index was made by a newer version (format {newer}) and is left alone; using `{path}`"
        )),
        Found::Behind { files } => AnswerRemark::Warning(format!(
            "Another process is updating the index; answers from {} may be out of date",
            count_noun(*files, "changed file")
        )),
        Found::InMemory(why) => {
            AnswerRemark::Warning(format!("The index is kept in memory for this run: {why}"))
        }
        Found::Unreadable(what) => AnswerRemark::Warning(what.clone()),
    };
    fresh.remarks.iter().map(remark).collect()
}

/// Returns a warning for files that exist and are not indexed, so that they do
/// not go unnoticed.
fn list_unusable_files(fresh: &FreshIndex) -> Vec<AnswerRemark> {
    const MAX_NAMED_FILES: usize = 3;
    let unusable = || fresh.catalogue.iter().filter(|e| e.problem.is_some());
    let named = unusable().take(MAX_NAMED_FILES).map(|entry| {
        let why = entry.problem.as_deref().unwrap_or_default();
        AnswerRemark::Warning(format!("`{}` is not in the index: {why}", entry.path))
    });
    let mut remarks: Vec<AnswerRemark> = named.collect();
    let more = unusable().count().saturating_sub(MAX_NAMED_FILES);
    if more > 0 {
        remarks.push(AnswerRemark::Warning(format!(
            "{} not in the index; `memory-forge index` lists them",
            if more == 1 {
                "1 more file is".to_owned()
            } else {
                format!("{more} more files are")
            }
        )));
    }
    remarks
}
