//! Keeps the knowledge of a workspace ready for queries: an index that is in
//! step with the files at every query, and the model that embeds them.
//!
//! Commands query once and a server many times, through the same type. It
//! prints nothing: what a person should know about an answer is returned as
//! remarks.

use std::path::PathBuf;
use std::time::{Duration, Instant};

use jiff::Timestamp;

use crate::embed::Embedder;
use crate::index::{self, Entry, Index};
use crate::knowledge::fresh::{self, Fresh, Opening};
use crate::knowledge::{maps, readme, refresh};
use crate::model;
use crate::recall::{self, Answer, Ask};
use crate::workspace::Workspace;

/// How long a command waits for another process that writes the index.
const WAIT: Duration = Duration::from_secs(5);

/// What is said where there is nothing to search.
pub const NO_KNOWLEDGE: &str = "There is nothing to search yet: no Markdown under `knowledge/`, and none included. `memory-forge init` makes a start.";

/// Message for a workspace whose only document is the list of documents.
const ONLY_THE_LIST: &str = "`knowledge/` has no document yet. `memory-forge save context <name>` writes one, and so does your editor.";

/// A remark about an answer, for the person who reads it.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Remark {
    Note(String),
    Warning(String),
}

impl Remark {
    /// Returns the text, without its level.
    pub fn text(&self) -> &str {
        match self {
            Remark::Note(text) | Remark::Warning(text) => text,
        }
    }
}

/// Callback for progress: the stage, the work done, and the total.
pub type Watch<'a> = &'a mut dyn FnMut(&'static str, usize, usize);

/// A workspace with its index, which stays open between queries and is in step
/// with the files at each.
pub struct Library {
    pub workspace: Workspace,
    /// The model file that the user's environment names.
    model: Option<PathBuf>,
    fresh: Option<Fresh>,
}

impl Library {
    /// Returns a library whose index is not yet open, with the model file that
    /// the user's environment names, if any.
    pub fn new(workspace: Workspace, model: Option<PathBuf>) -> Library {
        Library {
            workspace,
            model,
            fresh: None,
        }
    }

    /// Updates the index and returns it, with remarks about its state.
    pub fn refreshed(
        &mut self,
        now: Timestamp,
        force: bool,
        watch: Watch,
    ) -> Result<(&mut Fresh, Vec<Remark>), refresh::Error> {
        let before = self.fresh.take();
        let fresh = up_to_date(&self.workspace, before, now, force, watch)?;
        let remarks = remarks(&fresh);
        Ok((self.fresh.insert(fresh), remarks))
    }

    /// Updates the list of documents in `knowledge/README.md`, where it exists,
    /// and the index with it. Returns whether the file was written.
    pub fn list_documents(
        &mut self,
        now: Timestamp,
        watch: Watch,
    ) -> Result<(bool, Vec<Remark>), refresh::Error> {
        // Writing the file takes a lock of its own, and no process waits for
        // one lock while it holds another: two of them could deadlock.
        self.release();
        let Some(fresh) = &self.fresh else {
            return Ok((false, Vec::new()));
        };
        match readme::keep(&self.workspace, fresh, now) {
            Ok(false) => Ok((false, Vec::new())),
            Ok(true) => {
                let (_, remarks) = self.refreshed(now, false, watch)?;
                self.release();
                if let Some(fresh) = &self.fresh {
                    // The second call writes nothing: it records in the index
                    // that the list matches the files.
                    let _ = readme::keep(&self.workspace, fresh, now);
                }
                Ok((true, remarks))
            }
            Err(error) => {
                let why = format!("The list in `{}` is as it was: {error}", readme::PATH);
                Ok((false, vec![Remark::Warning(why)]))
            }
        }
    }

    /// Embeds the passages without a vector; see [`embed`]. Without a usable
    /// model it does nothing and returns a remark with the reason.
    pub fn embed(
        &mut self,
        budget: Option<Duration>,
        watch: Watch,
    ) -> Result<Vec<Remark>, refresh::Error> {
        self.embed_first(&[], budget, watch)
    }

    /// As [`Library::embed`], these passages before all others.
    fn embed_first(
        &mut self,
        needed: &[u32],
        budget: Option<Duration>,
        watch: Watch,
    ) -> Result<Vec<Remark>, refresh::Error> {
        let model = match self.model() {
            Ok(model) => model,
            Err(remark) => return Ok(vec![remark]),
        };
        if let Some(fresh) = &mut self.fresh {
            embed(&self.workspace, fresh, model, needed, budget, watch)?;
        }
        Ok(Vec::new())
    }

    /// The passages whose vectors this question needs first, where not all
    /// have one: those that its words find.
    fn needed_first(&self, ask: &Ask) -> Result<Vec<u32>, index::Error> {
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

    fn model(&self) -> Result<&'static dyn Embedder, Remark> {
        let model = model::of(&self.workspace, self.model.as_deref());
        model.map_err(|why| Remark::Warning(format!("{why}; searching by full text")))
    }

    /// Returns the index of the last query.
    pub fn index(&self) -> Option<&Index> {
        self.fresh.as_ref().map(|fresh| &fresh.index)
    }

    /// Returns the index with its catalogue as of the last update.
    pub fn fresh(&self) -> Option<&Fresh> {
        self.fresh.as_ref()
    }

    /// Releases the lock of the index, which stays open.
    pub fn release(&mut self) {
        if let Some(fresh) = &mut self.fresh {
            fresh.lock = None;
        }
    }

    /// Searches the manifest and the closets.
    pub(crate) fn ask_maps(&self, ask: &Ask) -> Result<(Answer, Vec<Remark>), refresh::Error> {
        let (model, mut remarks) = self.model_for(ask.mode);
        let mapped = maps::ask(&self.workspace, ask, model)?;
        remarks.extend(mapped.unread.into_iter().map(Remark::Warning));
        remarks.extend(mapped.notes.into_iter().map(Remark::Note));
        if mapped.answer.is_none() {
            let none = "There is no manifest and there are no closets yet; `memory-forge closets build` writes them";
            remarks.push(Remark::Note(none.to_owned()));
        }
        Ok((mapped.answer.unwrap_or_else(Answer::nothing), remarks))
    }

    /// Returns a remark for a workspace without documents, whose answers are
    /// always empty.
    pub(crate) fn nothing_to_search(&self) -> Option<Remark> {
        let fresh = self.fresh.as_ref()?;
        let note = match &fresh.catalogue[..] {
            [] => NO_KNOWLEDGE,
            [only] if only.path == readme::PATH => {
                let counts = fresh.index.counts().ok()?;
                (counts.chunks == 0).then_some(ONLY_THE_LIST)?
            }
            _ => return None,
        };
        Some(Remark::Note(note.to_owned()))
    }

    /// Returns the model that a mode needs, or a warning without one.
    pub fn model_for(&self, mode: recall::Mode) -> (Option<&'static dyn Embedder>, Vec<Remark>) {
        if mode == recall::Mode::Text {
            return (None, Vec::new());
        }
        match self.model() {
            Ok(model) => (Some(model), Vec::new()),
            Err(remark) => (None, vec![remark]),
        }
    }

    /// Searches the documents that `wanted` accepts.
    pub fn ask_of(
        &mut self,
        ask: &Ask,
        wanted: &dyn Fn(&Entry) -> bool,
        now: Timestamp,
        watch: Watch,
    ) -> Result<(Answer, Vec<Remark>), refresh::Error> {
        let (fresh, mut remarks) = self.refreshed(now, false, watch)?;
        remarks.extend(unusable(fresh));
        let mut model = None;
        if ask.mode != recall::Mode::Text {
            let budget = self.workspace.config().search.embed_budget_ms;
            let needed = self.needed_first(ask)?;
            let budget = Some(Duration::from_millis(budget));
            remarks.extend(self.embed_first(&needed, budget, watch)?);
            model = self.model().ok();
        }
        let fresh = self.fresh.as_ref().expect("it was refreshed above");
        let answer = match answer(fresh, model, ask, wanted) {
            Err(index::Error::Damaged { why, .. }) => {
                // The damaged file must not be open while it is replaced.
                self.fresh = None;
                let fresh = rebuilt(&self.workspace, now, why)?;
                remarks.extend(self::remarks(&fresh));
                answer(self.fresh.insert(fresh), model, ask, wanted)?
            }
            other => other?,
        };
        self.release();
        Ok((answer, remarks))
    }
}

/// Ranks the catalogue entries that `wanted` accepts.
fn answer(
    fresh: &Fresh,
    model: Option<&dyn Embedder>,
    ask: &Ask,
    wanted: &dyn Fn(&Entry) -> bool,
) -> Result<Answer, index::Error> {
    let all = &fresh.catalogue;
    let some: Vec<Entry>;
    // The common case borrows the catalogue instead of cloning every entry.
    let catalogue = if all.iter().all(wanted) {
        all
    } else {
        some = all.iter().filter(|it| wanted(it)).cloned().collect();
        &some
    };
    recall::ask(&fresh.index, catalogue, model, ask)
}

/// Opens the index, or updates the open one.
fn up_to_date(
    workspace: &Workspace,
    before: Option<Fresh>,
    now: Timestamp,
    force: bool,
    watch: Watch,
) -> Result<Fresh, refresh::Error> {
    let mut opening = Opening {
        now,
        wait: WAIT,
        force,
        progress: &mut |done, total| watch("Reading", done, total),
    };
    match before {
        Some(before) => fresh::again(workspace, before, &mut opening),
        None => fresh::fresh(workspace, &mut opening),
    }
}

/// Rebuilds an index that proved damaged during a query.
fn rebuilt(workspace: &Workspace, now: Timestamp, why: String) -> Result<Fresh, refresh::Error> {
    let mut opening = Opening {
        now,
        wait: WAIT,
        force: true,
        progress: &mut |_, _| {},
    };
    fresh::rebuilt(workspace, &mut opening, why)
}

/// Embeds what has no vector yet, what is needed first, for at most `budget`;
/// `None` means to the end.
fn embed(
    workspace: &Workspace,
    fresh: &mut Fresh,
    model: &dyn Embedder,
    needed: &[u32],
    budget: Option<Duration>,
    watch: Watch,
) -> Result<(), refresh::Error> {
    let counts = fresh.index.passage_counts()?;
    let done = counts.embedded == counts.chunks;
    if counts.chunks == 0 || done && fresh.index.has_model(model.id(), model.dimensions())? {
        return Ok(());
    }
    // From here on other processes may read and write the index: embedding
    // takes seconds and must not block them.
    fresh.lock = None;
    let _lock = match fresh.in_memory() {
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
    refresh::embed(&mut fresh.index, model, needed, &mut |done, waiting| {
        watch("Embedding", done, waiting);
        budget.is_none_or(|b| start.elapsed() < b)
    })?;
    Ok(())
}

/// Converts remarks of the index to remarks for a person.
fn remarks(fresh: &Fresh) -> Vec<Remark> {
    use fresh::Remark as Found;
    let remark = |found: &Found| match found {
        Found::Rebuilt(why) => Remark::Note(format!("The index was built anew: {why}")),
        Found::Beside { newer, path } => Remark::Warning(format!(
            "The index was made by a newer version (format {newer}) and is left alone; using `{path}`"
        )),
        Found::Behind { files } => Remark::Warning(format!(
            "Another process is updating the index; {files} changed file(s) may be answered from older text"
        )),
        Found::InMemory(why) => {
            Remark::Warning(format!("The index is kept in memory for this run: {why}"))
        }
        Found::Unreadable(what) => Remark::Warning(what.clone()),
    };
    fresh.remarks.iter().map(remark).collect()
}

/// Returns a warning for files that exist and are not indexed, so that they do
/// not go unnoticed.
fn unusable(fresh: &Fresh) -> Vec<Remark> {
    const MOST: usize = 3;
    let unusable = || fresh.catalogue.iter().filter(|e| e.problem.is_some());
    let named = unusable().take(MOST).map(|entry| {
        let why = entry.problem.as_deref().unwrap_or_default();
        Remark::Warning(format!("`{}` is not in the index: {why}", entry.path))
    });
    let mut remarks: Vec<Remark> = named.collect();
    let more = unusable().count().saturating_sub(MOST);
    if more > 0 {
        remarks.push(Remark::Warning(format!(
            "{more} more file(s) are not in the index; `memory-forge index` names them"
        )));
    }
    remarks
}
