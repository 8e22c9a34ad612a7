//! Opening what every command works on: the workspace, and an index that is
//! up to date. Commands ask once and the server many times, through one door;
//! what a person should know about either is told as remarks.

use std::path::{Path, PathBuf};
use std::time::{Duration, Instant};

use forge::embed::Embedder;
use forge::index::{Entry, Index};
use forge::knowledge::fresh::{self, Fresh, Opening};
use forge::knowledge::{maps, readme, refresh, state};
use forge::recall::{self, Answer, Ask};
use forge::routing::bulk::Who;
use forge::workspace::{FoundBy, RelPath, RootHints, Workspace, discover};
use jiff::Timestamp;

use crate::model;
use crate::report::CommandError;
use crate::settings::Settings;
use crate::ui::Ui;

/// How long a command waits for another process that writes the index.
const WAIT: Duration = Duration::from_secs(5);

/// What is said where there is nothing to search.
pub(crate) const NO_KNOWLEDGE: &str =
    "There is no Markdown under `knowledge/` yet. `memory-forge init` makes a start.";

/// What is said where there is nothing but the list of what there is.
const ONLY_THE_LIST: &str = "`knowledge/` has no document yet. `memory-forge save context <name>` writes one, and so does your editor.";

/// Finds and opens the workspace, and says what is wrong with its settings.
pub(crate) fn workspace(settings: &Settings, ui: &mut Ui) -> Result<Workspace, CommandError> {
    let root = discover(&RootHints {
        flag: settings.root_flag.as_deref(),
        env_root: settings.env_root.as_deref(),
        claude_project_dir: settings.claude_project_dir.as_deref(),
        hook_cwd: None,
        cwd: settings.cwd()?,
        home: settings.home.as_deref(),
    })
    .map_err(|error| match &settings.root_flag {
        Some(flag) => near_folder(error.into(), flag),
        None => error.into(),
    })?;
    ui.detail(&format!(
        "Workspace: {} (found by {:?})",
        root.path.display(),
        root.found_by
    ));
    // Desktop clients start programs there. It would be read as a whole, and
    // written to.
    if root.found_by == FoundBy::Cwd && root.path.parent().is_none() {
        let message = format!("`{}` is not a project", root.path.display());
        return Err(CommandError::usage(message)
            .hint("Change into the project, or name it with `--root <dir>`"));
    }
    let workspace = Workspace::open(&root.path)?;
    for problem in workspace.problems() {
        ui.warn(&problem.to_string());
    }
    Ok(workspace)
}

/// Adds the folder beside it that was most likely meant.
fn near_folder(error: CommandError, named: &Path) -> CommandError {
    let folder = match named.parent() {
        Some(parent) if !parent.as_os_str().is_empty() => parent,
        _ => Path::new("."),
    };
    let entries = std::fs::read_dir(folder).into_iter().flatten().flatten();
    let names: Vec<String> = entries
        .filter(|entry| entry.path().is_dir())
        .filter_map(|entry| entry.file_name().into_string().ok())
        .collect();
    let wanted = named.file_name().unwrap_or_default().to_string_lossy();
    match nearest(&wanted, names.iter().map(String::as_str)) {
        Some(name) => error.hint(format!(
            "Did you mean `{}`?",
            named.with_file_name(name).display()
        )),
        None => error,
    }
}

/// What agrees to a second bulk run of the day where no one can be asked.
pub(crate) const FORCE: &str = "Pass `--force` to run it again now";
/// The same for commands that can show first what they would do.
pub(crate) const FORCE_OR_LOOK: &str =
    "Pass `--force` to run it again now, or `--dry-run` to see what would happen";

/// Who holds the lock of a bulk run.
pub(crate) fn who() -> Who {
    Who {
        pid: std::process::id(),
        agent: "memory-forge".to_owned(),
    }
}

/// A file that was named on the command line, as the workspace names it.
pub(crate) fn path_in(
    workspace: &Workspace,
    settings: &Settings,
    file: &Path,
) -> Result<RelPath, CommandError> {
    let outside = || {
        CommandError::usage(format!(
            "`{}` is not inside the workspace `{}`",
            file.display(),
            workspace.root().display()
        ))
    };
    let absolute = if file.is_absolute() {
        file.to_owned()
    } else {
        settings.cwd()?.join(file)
    };
    // The folder is resolved, the file itself is not: a link is named as it is.
    let folder = absolute.parent().and_then(|p| p.canonicalize().ok());
    let absolute = match (folder, absolute.file_name()) {
        (Some(folder), Some(name)) => folder.join(name),
        _ => absolute,
    };
    // Answers name files from the root, and such a name is understood wherever
    // the command runs.
    let from_root = file.is_relative()
        && absolute.symlink_metadata().is_err()
        && workspace.root().join(file).symlink_metadata().is_ok();
    let relative = match absolute.strip_prefix(workspace.root()) {
        _ if from_root => file,
        Ok(relative) => relative,
        Err(_) if file.is_relative() => file,
        Err(_) => return Err(outside()),
    };
    let text = relative.to_str().ok_or_else(outside)?;
    RelPath::new(text).map_err(|e| CommandError::usage(e.to_string()))
}

/// A document named on the command line: from here, from the root, or from
/// `knowledge/`, whichever exists. One that exists nowhere is taken from the
/// root.
pub(crate) fn document_in(
    workspace: &Workspace,
    settings: &Settings,
    file: &str,
) -> Result<RelPath, CommandError> {
    let from_here = path_in(workspace, settings, Path::new(file))?;
    let from_root = RelPath::new(file).ok();
    let from_knowledge = RelPath::new("knowledge").and_then(|k| k.join(file)).ok();
    let candidates = [
        Some(&from_here),
        from_root.as_ref(),
        from_knowledge.as_ref(),
    ];
    let found = candidates
        .into_iter()
        .flatten()
        .find(|path| workspace.absolute(path).is_file());
    let named = from_root
        .as_ref()
        .filter(|path| path.starts_with("knowledge"));
    Ok(found.or(named).unwrap_or(&from_here).clone())
}

/// The one of these that was most likely meant by a name that none of them
/// has: by the last part of a path, without its ending.
pub(crate) fn nearest<'a>(
    wanted: &str,
    known: impl IntoIterator<Item = &'a str>,
) -> Option<&'a str> {
    const NEAR: f64 = 0.86;
    let stem = |name: &str| {
        let last = name.rsplit('/').next().unwrap_or(name);
        last.strip_suffix(".md").unwrap_or(last).to_lowercase()
    };
    let wanted = stem(wanted);
    let near = |name: &'a str| (strsim::jaro_winkler(&wanted, &stem(name)), name);
    let best = known
        .into_iter()
        .map(near)
        .max_by(|a, b| a.0.total_cmp(&b.0));
    best.filter(|(how, _)| *how >= NEAR).map(|(_, name)| name)
}

/// Adds the document that was most likely meant to an error about one that is
/// not there.
pub(crate) fn did_you_mean(
    error: CommandError,
    workspace: &Workspace,
    wanted: &str,
) -> CommandError {
    let scan = forge::routing::scan(workspace);
    let known = scan.files.iter().map(|found| found.path.as_str());
    match nearest(wanted, known) {
        Some(name) => error.hint(format!("Did you mean `{name}`?")),
        None => error,
    }
}

/// The memory of a workspace, brought up to date for a command.
pub(crate) fn in_step(
    workspace: &Workspace,
    settings: &Settings,
    ui: &mut Ui,
) -> Result<Memory, CommandError> {
    let mut memory = Memory::of(workspace.clone(), settings);
    let (_, remarks) = memory.refreshed(settings.now, false, &mut ui.watch())?;
    ui.remarks(&remarks);
    Ok(memory)
}

/// What should be known about an answer.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) enum Remark {
    Note(String),
    Warning(String),
}

impl Remark {
    pub(crate) fn text(&self) -> &str {
        match self {
            Remark::Note(text) | Remark::Warning(text) => text,
        }
    }
}

/// Told how far the work is: what is done, how much of it, of how much.
pub(crate) type Watch<'a> = &'a mut dyn FnMut(&'static str, usize, usize);

/// Which documents a question is asked of.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Asked {
    Index,
    State,
    /// Manifest and closets.
    Maps,
    Both,
}

/// A workspace with its index, which stays open from one question to the next
/// and is in step with the files at each.
pub(crate) struct Memory {
    pub(crate) workspace: Workspace,
    /// The model file that the user's environment names.
    model: Option<PathBuf>,
    fresh: Option<Fresh>,
}

impl Memory {
    pub(crate) fn of(workspace: Workspace, settings: &Settings) -> Memory {
        Memory {
            workspace,
            model: settings.model.clone(),
            fresh: None,
        }
    }

    /// The index in step with the files, and what is to be said about it.
    pub(crate) fn refreshed(
        &mut self,
        now: Timestamp,
        force: bool,
        watch: Watch,
    ) -> Result<(&mut Fresh, Vec<Remark>), CommandError> {
        let before = self.fresh.take();
        let fresh = up_to_date(&self.workspace, before, now, force, watch)?;
        let remarks = remarks(&fresh);
        Ok((self.fresh.insert(fresh), remarks))
    }

    /// Brings the list of documents in `knowledge/README.md` up to date, where
    /// it has one, and the index with it. Gives whether the file was written.
    pub(crate) fn list_documents(
        &mut self,
        now: Timestamp,
        watch: Watch,
    ) -> Result<(bool, Vec<Remark>), CommandError> {
        // Writing the file takes a lock of its own; no one waits with two.
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
                    // Remembers that the list fits the files.
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

    /// Embeds what has no vector yet; see [`embed`]. Without a usable model
    /// nothing is embedded, and the remark says why.
    pub(crate) fn embed(
        &mut self,
        budget: Option<Duration>,
        watch: Watch,
    ) -> Result<Vec<Remark>, CommandError> {
        let model = match self.model() {
            Ok(model) => model,
            Err(remark) => return Ok(vec![remark]),
        };
        if let Some(fresh) = &mut self.fresh {
            embed(&self.workspace, fresh, model, budget, watch)?;
        }
        Ok(Vec::new())
    }

    fn model(&self) -> Result<&'static dyn Embedder, Remark> {
        let model = model::of(&self.workspace, self.model.as_deref());
        model.map_err(|why| Remark::Warning(format!("{why}; searching by full text")))
    }

    /// The index as it was last asked.
    pub(crate) fn index(&self) -> Option<&Index> {
        self.fresh.as_ref().map(|fresh| &fresh.index)
    }

    /// The index and its catalogue as they were last brought up to date.
    pub(crate) fn fresh(&self) -> Option<&Fresh> {
        self.fresh.as_ref()
    }

    /// Lets others at the index, which stays open.
    pub(crate) fn release(&mut self) {
        if let Some(fresh) = &mut self.fresh {
            fresh.lock = None;
        }
    }

    /// Answers from the files as they are now.
    pub(crate) fn ask(
        &mut self,
        ask: &Ask,
        asked: Asked,
        now: Timestamp,
        watch: Watch,
    ) -> Result<(Answer, Vec<Remark>), CommandError> {
        match asked {
            Asked::State => return Ok((of_state(&self.workspace, ask)?, Vec::new())),
            Asked::Maps => return self.ask_maps(ask),
            Asked::Index | Asked::Both => {}
        }
        let (mut answer, mut remarks) = self.ask_of(ask, &|_| true, now, watch)?;
        if asked == Asked::Both {
            let state = of_state(&self.workspace, ask)?;
            answer = recall::join(answer, state, ask.limit);
        }
        if answer.hits.is_empty() {
            let fresh = self.fresh.as_ref();
            remarks.extend(fresh.and_then(nothing_to_search));
        }
        Ok((answer, remarks))
    }

    fn ask_maps(&self, ask: &Ask) -> Result<(Answer, Vec<Remark>), CommandError> {
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

    /// The model that a mode needs, or a warning that there is none.
    pub(crate) fn model_for(
        &self,
        mode: recall::Mode,
    ) -> (Option<&'static dyn Embedder>, Vec<Remark>) {
        if mode == recall::Mode::Text {
            return (None, Vec::new());
        }
        match self.model() {
            Ok(model) => (Some(model), Vec::new()),
            Err(remark) => (None, vec![remark]),
        }
    }

    /// Answers from those documents of the index that `wanted` names.
    pub(crate) fn ask_of(
        &mut self,
        ask: &Ask,
        wanted: &dyn Fn(&Entry) -> bool,
        now: Timestamp,
        watch: Watch,
    ) -> Result<(Answer, Vec<Remark>), CommandError> {
        let (fresh, mut remarks) = self.refreshed(now, false, watch)?;
        remarks.extend(unusable(fresh));
        let mut model = None;
        if ask.mode != recall::Mode::Text {
            let budget = self.workspace.config().search.embed_budget_ms;
            remarks.extend(self.embed(Some(Duration::from_millis(budget)), watch)?);
            model = self.model().ok();
        }
        let fresh = self.fresh.as_ref().expect("it was refreshed above");
        let answer = match answer(fresh, model, ask, wanted) {
            Err(forge::index::Error::Damaged { why, .. }) => {
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

fn answer(
    fresh: &Fresh,
    model: Option<&dyn Embedder>,
    ask: &Ask,
    wanted: &dyn Fn(&Entry) -> bool,
) -> Result<Answer, forge::index::Error> {
    let all = &fresh.catalogue;
    let some: Vec<Entry>;
    let catalogue = if all.iter().all(wanted) {
        all
    } else {
        some = all.iter().filter(|it| wanted(it)).cloned().collect();
        &some
    };
    recall::ask(&fresh.index, catalogue, model, ask)
}

fn of_state(workspace: &Workspace, ask: &Ask) -> Result<Answer, CommandError> {
    Ok(state::ask(workspace, ask)?)
}

fn up_to_date(
    workspace: &Workspace,
    before: Option<Fresh>,
    now: Timestamp,
    force: bool,
    watch: Watch,
) -> Result<Fresh, CommandError> {
    let mut opening = Opening {
        now,
        wait: WAIT,
        force,
        progress: &mut |done, total| watch("Reading", done, total),
    };
    Ok(match before {
        Some(before) => fresh::again(workspace, before, &mut opening)?,
        None => fresh::fresh(workspace, &mut opening)?,
    })
}

/// A new index after the old one proved to be damaged while it was asked.
fn rebuilt(workspace: &Workspace, now: Timestamp, why: String) -> Result<Fresh, CommandError> {
    let mut opening = Opening {
        now,
        wait: WAIT,
        force: true,
        progress: &mut |_, _| {},
    };
    Ok(fresh::rebuilt(workspace, &mut opening, why)?)
}

/// Embeds what has no vector yet, for at most `budget`; `None` means to the end.
fn embed(
    workspace: &Workspace,
    fresh: &mut Fresh,
    model: &dyn Embedder,
    budget: Option<Duration>,
    watch: Watch,
) -> Result<(), CommandError> {
    let counts = fresh.index.passage_counts()?;
    let done = counts.embedded == counts.chunks;
    if counts.chunks == 0 || done && fresh.index.has_model(model.id(), model.dimensions())? {
        return Ok(());
    }
    // From here on others may read and write the index.
    fresh.lock = None;
    let _lock = match fresh.in_memory() {
        Some(_) => None,
        None => match workspace.lock_vectors() {
            Ok(lock) => Some(lock),
            // Somebody is at it already; there is no need to wait.
            Err(e) if e.is_locked() => return Ok(()),
            Err(e) => return Err(e.into()),
        },
    };
    let start = Instant::now();
    refresh::embed(&mut fresh.index, model, &mut |done, waiting| {
        watch("Embedding", done, waiting);
        budget.is_none_or(|b| start.elapsed() < b)
    })?;
    Ok(())
}

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

/// A file that is there and cannot be found must not go unnoticed.
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

/// Says why nothing could be found where there is no document at all.
fn nothing_to_search(fresh: &Fresh) -> Option<Remark> {
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
