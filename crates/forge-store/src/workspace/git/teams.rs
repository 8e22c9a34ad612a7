//! Supports sharing a memory through git: the settings of the merge driver, a
//! merge by lines, and the identity of a repository.

use std::path::Path;

use super::{
    ANSWER_WAIT, AnswerWait, WorkspaceError, git_command, git_error, is_object_id, output_line,
    require_success, run_command, run_git,
};

/// The state of the merge driver in a clone.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum MergeDriver {
    /// There is no repository, or no git to ask.
    NoRepository,
    /// The clone has no merge driver of this name.
    Missing,
    /// The command that git calls.
    Set(String),
}

const DRIVER_NAME_KEY: &str = "merge.memory-forge.name";
const DRIVER_COMMAND_KEY: &str = "merge.memory-forge.driver";

/// Returns the command of this clone for files with `merge=memory-forge`.
pub fn merge_driver(root: &Path) -> MergeDriver {
    let Ok(output) = run_git(root, &["config", "--local", "--get", DRIVER_COMMAND_KEY]) else {
        return MergeDriver::NoRepository;
    };
    match output.status.code() {
        Some(0) => {
            let git_text = String::from_utf8_lossy(&output.stdout);
            MergeDriver::Set(git_text.trim_end_matches('\n').to_owned())
        }
        Some(1) => MergeDriver::Missing,
        _ => MergeDriver::NoRepository,
    }
}

/// Sets the command, a line for the shell.
pub fn set_driver(root: &Path, command: &str) -> Result<(), WorkspaceError> {
    for (key, value) in [
        (DRIVER_NAME_KEY, "Memory Forge, entry by entry"),
        (DRIVER_COMMAND_KEY, command),
    ] {
        require_success(run_git(root, &["config", "--local", key, value])?)?;
    }
    Ok(())
}

/// Removes both settings, and the section of the config if it had nothing else.
pub fn clear_driver(root: &Path) -> Result<(), WorkspaceError> {
    let section = [
        "config",
        "--local",
        "--remove-section",
        "merge.memory-forge",
    ];
    match merge_driver(root) {
        MergeDriver::Set(_) => require_success(run_git(root, &section)?).map(drop),
        MergeDriver::Missing | MergeDriver::NoRepository => Ok(()),
    }
}

/// Merges by lines as git does, into `ours`; returns whether there was no
/// conflict.
pub fn merge_by_lines(
    cwd: &Path,
    ours: &Path,
    base: &Path,
    theirs: &Path,
) -> Result<bool, WorkspaceError> {
    let mut command = git_command(cwd, &["merge-file", "-q", "-L", "ours", "-L", "base", "-L"]);
    command.arg("theirs").arg(ours).arg(base).arg(theirs);
    let output = run_command(cwd, command, None, AnswerWait::Silent(ANSWER_WAIT))?;
    match output.status.code() {
        Some(0) => Ok(true),
        // So many conflicts.
        Some(1..=127) => Ok(false),
        _ => {
            let git_text = String::from_utf8_lossy(&output.stderr);
            Err(git_error(format!(
                "git could not merge the file: {}",
                git_text.trim()
            )))
        }
    }
}

/// Returns the first commit of the history along first parents; `None` without
/// history, or in a clone with only a part of it.
pub fn first_commit(root: &Path) -> Option<String> {
    // The oldest commit of a shallow clone is not the first one.
    let shallow =
        output_line(run_git(root, &["rev-parse", "--is-shallow-repository"]).ok()?).ok()?;
    if shallow != "false" {
        return None;
    }
    let args = [
        "rev-list",
        "--first-parent",
        "--max-parents=0",
        "HEAD",
        "--",
    ];
    let first = output_line(run_git(root, &args).ok()?).ok()?;
    first
        .lines()
        .last()
        .filter(|it| is_object_id(it))
        .map(str::to_owned)
}

/// Returns the place of the folder in its repository, `""` at the top; `None`
/// outside of one.
pub fn repository_prefix(root: &Path) -> Option<String> {
    let prefix = output_line(run_git(root, &["rev-parse", "--show-prefix"]).ok()?).ok()?;
    Some(prefix.trim_end_matches('/').to_owned())
}

/// Lists tracked files of one name, and files in folders of that name. Globs
/// are off in every call of git, so the whole list is filtered here.
pub fn list_tracked_named(root: &Path, name: &str) -> Result<Vec<String>, WorkspaceError> {
    let listing = require_success(run_git(root, &["ls-files", "-z", "--", "."])?)?;
    let names = listing.split(|&byte| byte == 0);
    let names = names.filter_map(|it| std::str::from_utf8(it).ok());
    let has_name = |path: &&str| path.split('/').any(|part| part == name);
    Ok(names.filter(has_name).map(str::to_owned).collect())
}

/// Lists the tracked files whose names end like this, sorted.
pub fn list_tracked_ending(root: &Path, ending: &str) -> Result<Vec<String>, WorkspaceError> {
    let listing = require_success(run_git(root, &["ls-files", "-z", "--", "."])?)?;
    let names = listing.split(|&byte| byte == 0);
    let names = names.filter_map(|it| std::str::from_utf8(it).ok());
    let mut names: Vec<String> = names
        .filter(|it| it.to_ascii_lowercase().ends_with(ending))
        .map(str::to_owned)
        .collect();
    names.sort();
    Ok(names)
}
