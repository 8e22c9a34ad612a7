//! Opening what every command works on: the workspace, and an index that is
//! up to date. What a person should know about either goes to standard error.

use std::path::Path;
use std::time::{Duration, Instant};

use forge::embed::{self, Embedder};
use forge::knowledge::fresh::{self, Fresh, Opening, Remark};
use forge::knowledge::refresh;
use forge::routing::bulk::Who;
use forge::workspace::{RelPath, RootHints, Workspace, discover};

use crate::report::CommandError;
use crate::settings::Settings;
use crate::ui::Ui;

/// How long a command waits for another process that writes the index.
const WAIT: Duration = Duration::from_secs(5);

/// What is said where there is nothing to search.
pub(crate) const NO_KNOWLEDGE: &str =
    "There is no Markdown under `knowledge/` yet. `memory-forge init` makes a start.";

/// Finds and opens the workspace, and says what is wrong with its settings.
pub(crate) fn workspace(settings: &Settings, ui: &mut Ui) -> Result<Workspace, CommandError> {
    let root = discover(&RootHints {
        flag: settings.root_flag.as_deref(),
        env_root: settings.env_root.as_deref(),
        claude_project_dir: settings.claude_project_dir.as_deref(),
        hook_cwd: None,
        cwd: settings.cwd()?,
        home: settings.home.as_deref(),
    })?;
    ui.detail(&format!(
        "Workspace: {} (found by {:?})",
        root.path.display(),
        root.found_by
    ));
    let workspace = Workspace::open(&root.path)?;
    for problem in workspace.problems() {
        ui.warn(&problem.to_string());
    }
    Ok(workspace)
}

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

/// An index in step with the files.
pub(crate) fn fresh_index(
    workspace: &Workspace,
    settings: &Settings,
    ui: &mut Ui,
    force: bool,
) -> Result<Fresh, CommandError> {
    let bar = ui.progress("Reading", 0);
    let mut opening = Opening {
        now: settings.now,
        wait: WAIT,
        force,
        progress: &mut |done, total| bar.set(done as u64, total as u64),
    };
    let fresh = fresh::fresh(workspace, &mut opening)?;
    drop(bar);
    remarks(&fresh, ui);
    Ok(fresh)
}

/// The same after the index proved to be damaged while it was asked.
pub(crate) fn rebuilt_index(
    workspace: &Workspace,
    settings: &Settings,
    ui: &mut Ui,
    why: String,
) -> Result<Fresh, CommandError> {
    let mut opening = Opening {
        now: settings.now,
        wait: WAIT,
        force: true,
        progress: &mut |_, _| {},
    };
    let fresh = fresh::rebuilt(workspace, &mut opening, why)?;
    remarks(&fresh, ui);
    Ok(fresh)
}

/// Embeds what has no vector yet, for at most `budget`; `None` means to the end.
pub(crate) fn embed_pending(
    workspace: &Workspace,
    fresh: &mut Fresh,
    ui: &mut Ui,
    budget: Option<Duration>,
) -> Result<(), CommandError> {
    let counts = fresh.index.counts()?;
    let model: &dyn Embedder = embed::builtin();
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
    let bar = ui.progress("Embedding", 0);
    let start = Instant::now();
    refresh::embed(&mut fresh.index, model, &mut |done, waiting| {
        bar.set(done as u64, waiting as u64);
        budget.is_none_or(|b| start.elapsed() < b)
    })?;
    Ok(())
}

fn remarks(fresh: &Fresh, ui: &mut Ui) {
    for remark in &fresh.remarks {
        match remark {
            Remark::Rebuilt(why) => ui.note(&format!("The index was built anew: {why}")),
            Remark::Beside { newer, path } => ui.warn(&format!(
                "The index was made by a newer version (format {newer}) and is left alone; using `{path}`"
            )),
            Remark::Behind { files } => ui.warn(&format!(
                "Another process is updating the index; {files} changed file(s) may be answered from older text"
            )),
            Remark::InMemory(why) => ui.warn(&format!("The index is kept in memory for this run: {why}")),
            Remark::Unreadable(what) => ui.warn(what),
        }
    }
}
