//! Finds and opens the workspace, resolves paths of a command line in it, and
//! suggests what was most likely meant. It opens no index.

use std::path::Path;

use forge_app::system;
use forge_app::workspace::{FoundBy, RelPath, RootHints, Workspace, discover_root};

use crate::report::CommandError;
use crate::settings::Settings;
use crate::ui::Ui;

/// Finds and opens the workspace, and warns of problems in its settings.
pub(crate) fn open_workspace(settings: &Settings, ui: &mut Ui) -> Result<Workspace, CommandError> {
    let root = discover_root(&RootHints {
        flag: settings.root_flag.as_deref(),
        env_root: settings.env_root.as_deref(),
        claude_project_dir: settings.claude_project_dir.as_deref(),
        hook_cwd: None,
        cwd: settings.cwd()?,
        home: settings.home.as_deref(),
    })
    .map_err(|error| match &settings.root_flag {
        Some(flag) => suggest_folder(error.into(), flag),
        None => error.into(),
    })?;
    ui.detail(&format!(
        "Workspace: {} (found by {:?})",
        root.path.display(),
        root.found_by
    ));
    // Desktop clients start programs in the root of the file system. It would
    // be read as a whole, and written to.
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

/// Adds the sibling folder that was most likely meant.
fn suggest_folder(error: CommandError, named: &Path) -> CommandError {
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
    match nearest_name(&wanted, names.iter().map(String::as_str)) {
        Some(name) => error.hint(format!(
            "Did you mean `{}`?",
            named.with_file_name(name).display()
        )),
        None => error,
    }
}

/// Resolves a file of the command line to its path in the workspace.
pub(crate) fn resolve_path(
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
    // The folder is resolved and the file itself is not: a link is named as it
    // is.
    let folder = absolute.parent().and_then(|p| system::canonicalize(p).ok());
    let absolute = match (folder, absolute.file_name()) {
        (Some(folder), Some(name)) => folder.join(name),
        _ => absolute,
    };
    // Answers name files from the root, and such a name is accepted wherever
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

/// Resolves a document of the command line: from here, from the root, or from
/// `knowledge/`, whichever exists. One that exists nowhere is taken from the
/// root.
pub(crate) fn resolve_document(
    workspace: &Workspace,
    settings: &Settings,
    file: &str,
) -> Result<RelPath, CommandError> {
    let from_here = resolve_path(workspace, settings, Path::new(file))?;
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
        .find(|path| workspace.absolute_path(path).is_file());
    let named = from_root
        .as_ref()
        .filter(|path| path.starts_with("knowledge"));
    Ok(found.or(named).unwrap_or(&from_here).clone())
}

/// Returns the known name that was most likely meant by an unknown one,
/// compared by the last part of a path without its ending.
pub(crate) fn nearest_name<'a>(
    wanted: &str,
    known: impl IntoIterator<Item = &'a str>,
) -> Option<&'a str> {
    /// Lower bound for the similarity of a suggestion.
    const MIN_SIMILARITY: f64 = 0.86;
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
    best.filter(|(how, _)| *how >= MIN_SIMILARITY)
        .map(|(_, name)| name)
}

/// Adds the document that was most likely meant to an error about a missing
/// one.
pub(crate) fn suggest_document(
    error: CommandError,
    workspace: &Workspace,
    wanted: &str,
) -> CommandError {
    let scan = workspace.scan();
    let known = scan.files.iter().map(|found| found.path.as_str());
    match nearest_name(wanted, known) {
        Some(name) => error.hint(format!("Did you mean `{name}`?")),
        None => error,
    }
}
