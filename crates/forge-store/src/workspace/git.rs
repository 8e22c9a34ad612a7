//! Reads from git which files the workspace had at a time, and their content.
//!
//! Only plumbing commands run, none that prompts or uses a network; the merge
//! driver's two settings are all that is ever written. No text from outside is
//! ever taken for an option.

use std::io::{Read, Write};
use std::path::{Path, PathBuf};
use std::process::{Command, Output, Stdio};
use std::sync::{Mutex, mpsc};
use std::thread;
use std::time::{Duration, Instant};

use jiff::Timestamp;
use jiff::civil::{Date, DateTime};

use super::regular::{self, LinkPolicy};
use super::{RelPath, WorkspaceError};
use crate::system;

mod sound;
mod teams;

pub use teams::{
    MergeDriver, clear_driver, first_commit, list_tracked_ending, list_tracked_named,
    merge_by_lines, merge_driver, repository_prefix, set_driver,
};

/// A past state of the workspace.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct GitRevision {
    /// The id of the commit.
    pub commit: String,
    /// The tree of the workspace's own folder, which may be below the
    /// repository's root.
    pub tree: String,
    /// When it was committed.
    pub date: Timestamp,
}

/// Resolves a name (`HEAD~3`, `v1.0`, `1a2b3c`) or a date (`2026-01-31`,
/// `2026-01-31T10:00`, `2 weeks ago`) to a commit. Names come first. A date
/// without a time means the end of that day.
pub fn resolve_revision(root: &Path, rev_or_date: &str) -> Result<GitRevision, WorkspaceError> {
    let revision = rev_or_date.trim();
    // A leading dash would make it an option of git.
    if revision.is_empty() || revision.starts_with('-') || revision.chars().any(char::is_control) {
        return Err(unknown_revision(rev_or_date));
    }
    require_repository(root)?;
    let commit = match find_commit_named(root, revision)? {
        Some(commit) => commit,
        None => find_commit_before(root, revision)?,
    };
    let tree = run_git(
        root,
        &["rev-parse", "--verify", "--quiet", &format!("{commit}:./")],
    )?;
    if !tree.status.success() {
        return Err(git_error(format!(
            "The workspace did not exist yet in commit `{commit}`"
        )));
    }
    // `<seconds> <commit>`
    let stamp = output_line(run_git(
        root,
        &["rev-list", "-1", "--timestamp", &commit, "--"],
    )?)?;
    let seconds = stamp.split(' ').next().and_then(|s| s.parse().ok());
    let date = seconds.and_then(|s| Timestamp::from_second(s).ok());
    Ok(GitRevision {
        tree: output_line(tree)?,
        date: date.ok_or_else(|| git_error(format!("Commit `{commit}` has no readable date")))?,
        commit,
    })
}

/// A commit in a list.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct GitCommit {
    /// The id of the commit.
    pub id: String,
    /// When it was committed.
    pub date: Timestamp,
    /// The name of its author.
    pub author: String,
    /// The first line of its message.
    pub subject: String,
}

/// Lists the latest commits, newest first: all of them, or those that changed
/// one file. Merges count by their first parent. Empty if there is no commit.
pub fn list_commits(
    root: &Path,
    path: Option<&RelPath>,
    most: usize,
) -> Result<Vec<GitCommit>, WorkspaceError> {
    require_repository(root)?;
    if head_commit(root).is_none() {
        return Ok(Vec::new());
    }
    let most = format!("--max-count={most}");
    let mut args = vec![
        "log",
        "-z",
        "--first-parent",
        "--no-color",
        "--format=%H%x1f%ct%x1f%an%x1f%s",
        &most,
        "HEAD",
        "--",
    ];
    args.push(path.map_or(".", RelPath::as_str));
    let listing = require_success(run_git(root, &args)?)?;
    let listing = String::from_utf8_lossy(&listing);
    let commits = listing.split('\0').filter_map(|line| {
        let mut parts = line.splitn(4, '\u{1f}');
        let id = parts.next().filter(|id| is_object_id(id))?.to_owned();
        let date = parts.next()?.parse().ok()?;
        Some(GitCommit {
            id,
            date: Timestamp::from_second(date).ok()?,
            author: parts.next()?.to_owned(),
            subject: parts.next()?.to_owned(),
        })
    });
    Ok(commits.collect())
}

/// Reads a file from a commit; `None` if the commit has no such file.
pub fn read_file_at(
    root: &Path,
    commit: &str,
    path: &RelPath,
) -> Result<Option<Vec<u8>>, WorkspaceError> {
    require_id(commit)?;
    let name = format!("{commit}:./{path}");
    let found = run_git(root, &["rev-parse", "--verify", "--quiet", &name])?;
    if !found.status.success() {
        return Ok(None);
    }
    Ok(read_blobs(root, &[output_line(found)?])?.pop())
}

/// Lists the files of that state in a folder, with the ids of their content. An
/// empty prefix means all; symlinks, submodules and names that are not UTF-8
/// are left out.
pub fn list_files_at(
    root: &Path,
    rev: &GitRevision,
    prefix: &str,
) -> Result<Vec<(String, String)>, WorkspaceError> {
    require_id(&rev.tree)?;
    let mut args = vec!["ls-tree", "-r", "-z", "--full-tree", &rev.tree];
    let prefix = match prefix.trim_end_matches('/') {
        "" => None,
        prefix => Some(RelPath::new(prefix)?),
    };
    if let Some(prefix) = &prefix {
        args.extend(["--", prefix.as_str()]);
    }
    let listing = require_success(run_git(root, &args)?)?;
    let mut files = Vec::new();
    for entry in listing.split(|&b| b == 0).filter(|entry| !entry.is_empty()) {
        let Ok(entry) = std::str::from_utf8(entry) else {
            continue;
        };
        // `100644 blob <id>\t<path>`
        let parsed = entry.split_once('\t').and_then(|(facts, path)| {
            let mut facts = facts.split(' ');
            Some((facts.next()?, facts.next()?, facts.next()?, path))
        });
        match parsed {
            // The content of a symlink is its target and no document.
            Some((mode, "blob", id, path)) if mode != "120000" => {
                files.push((path.to_string(), id.to_string()));
            }
            Some(_) => {}
            None => {
                return Err(git_error(format!(
                    "git listed something unexpected: `{entry}`"
                )));
            }
        }
    }
    Ok(files)
}

/// Reads the contents with these ids, in this order, by a single process.
pub fn read_blobs(root: &Path, ids: &[impl AsRef<str>]) -> Result<Vec<Vec<u8>>, WorkspaceError> {
    if ids.is_empty() {
        return Ok(Vec::new());
    }
    let mut request = String::new();
    for id in ids {
        require_id(id.as_ref())?;
        request.push_str(id.as_ref());
        request.push('\n');
    }
    let mut command = git_command(root, &["cat-file", "--batch"]);
    command.stdin(Stdio::piped());
    let output = run_command(
        root,
        command,
        Some(request),
        AnswerWait::Silent(ANSWER_WAIT),
    )?;
    if !output.status.success() {
        return Err(git_error(
            "git could not read from its object store".to_string(),
        ));
    }
    split_batch(&output.stdout, ids)
}

/// Returns the commit that is checked out, if there is one.
pub fn head_commit(root: &Path) -> Option<String> {
    // A hook waits for this, and can do without.
    const HEAD_WAIT: Duration = Duration::from_millis(800);
    read_head_file(root).or_else(|| {
        let args = ["rev-parse", "--verify", "--quiet", "HEAD^{commit}"];
        let output = run_git_within(root, &args, HEAD_WAIT).ok().flatten()?;
        let commit = String::from_utf8_lossy(&output).trim().to_owned();
        is_object_id(&commit).then_some(commit)
    })
}

/// Returns `true` if the commit is an ancestor of the one that is checked out.
pub fn is_in_history(root: &Path, commit: &str) -> bool {
    let args = ["merge-base", "--is-ancestor", commit, "HEAD"];
    is_object_id(commit) && run_git(root, &args).is_ok_and(|answer| answer.status.success())
}

/// Reads the commit of a usual repository without starting git: hooks have
/// milliseconds.
fn read_head_file(root: &Path) -> Option<String> {
    let folder = root.join(".git");
    let head = read_short_text(&folder.join("HEAD"))?;
    let commit = match head.trim().strip_prefix("ref: ") {
        // An absolute name would take the place of the folder.
        Some(name) if !name.starts_with("refs/") => return None,
        Some(name) => read_short_text(&folder.join(name))?,
        None => head,
    };
    let commit = commit.trim();
    is_object_id(commit).then(|| commit.to_owned())
}

/// Reads a file that holds a name or an id, if no link and no `..` is on the
/// way to it: other files are not part of this repository.
fn read_short_text(path: &Path) -> Option<String> {
    const MAX_REF_BYTES: u64 = 4096;
    let real = system::canonicalize(path).ok()?;
    if real != path {
        return None;
    }
    regular::read_text(path, LinkPolicy::Refuse, MAX_REF_BYTES).ok()
}

/// Lists files that changed after a moment, committed or not, sorted: those
/// that differ between `commit` and now, and uncommitted ones that were written
/// since. Changes that were uncommitted before that moment do not count. Empty
/// without a repository. Fails if git takes longer than `wait` for one of its
/// answers, since hooks call this.
pub fn files_changed_since(
    root: &Path,
    commit: Option<&str>,
    since: Timestamp,
    wait: Duration,
) -> Result<Vec<String>, WorkspaceError> {
    let filters = filter_settings(root, wait)?;
    let names = |args: &[&str]| -> Result<Vec<String>, WorkspaceError> {
        let output = run_within(root, git_command_unsetting(root, args, &filters), wait)?
            .unwrap_or_default();
        let names = output
            .split(|byte| *byte == 0)
            .filter(|name| !name.is_empty());
        Ok(names
            .map(|name| String::from_utf8_lossy(name).into_owned())
            .collect())
    };
    let mut changed = Vec::new();
    // Anything else could be an option of git.
    if let Some(commit) = commit.filter(|it| it.bytes().all(|b| b.is_ascii_hexdigit())) {
        changed = names(&[
            "diff",
            "--name-only",
            "--ignore-submodules=all",
            "--relative",
            "-z",
            commit,
            "HEAD",
            "--",
        ])?;
    }
    let mut open = names(&[
        "diff",
        "--name-only",
        "--ignore-submodules=all",
        "--relative",
        "-z",
        "HEAD",
        "--",
    ])?;
    open.extend(names(&[
        "ls-files",
        "--others",
        "--exclude-standard",
        "-z",
    ])?);
    changed.extend(
        open.into_iter()
            .filter(|name| is_written_since(&root.join(name), since)),
    );
    changed.sort();
    changed.dedup();
    Ok(changed)
}

/// Returns `true` if a file was written at or after a moment. One that is gone
/// was removed when its folder last changed.
fn is_written_since(path: &Path, since: Timestamp) -> bool {
    let modified = |path: &Path| {
        let time = std::fs::symlink_metadata(path).ok()?.modified().ok()?;
        Timestamp::try_from(time).ok()
    };
    modified(path)
        .or_else(|| modified(path.parent()?))
        .is_some_and(|at| at.as_second() >= since.as_second())
}

/// The time to wait for git's first or next output at a user's request.
const ANSWER_WAIT: Duration = Duration::from_secs(8);

/// Upper bound for the bytes of an answer; the ones that are used are shorter.
const MAX_ANSWER_BYTES: usize = 128 << 20;

/// The bytes of git's error output that are kept.
const MAX_STDERR_BYTES: usize = 64 << 10;

/// Returns when a file was last committed; `None` for one that git does not
/// know, or that was edited since.
pub fn last_commit_time(root: &Path, path: &str) -> Option<Timestamp> {
    let filters = filter_settings(root, ANSWER_WAIT).ok()?;
    let run = |args: &[&str]| require_success(git_on_files(root, args, &filters).ok()?).ok();
    // A submodule has settings of its own, which those above do not reach.
    let edited = run(&[
        "status",
        "--porcelain",
        "--ignore-submodules=all",
        "-z",
        "--",
        path,
    ])?;
    if !edited.is_empty() {
        return None;
    }
    let seconds = run(&["log", "-1", "--format=%ct", "--", path])?;
    let seconds = String::from_utf8_lossy(&seconds).trim().parse().ok()?;
    Timestamp::from_second(seconds).ok()
}

/// The treatment of an untracked path by git.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum IgnoreStatus {
    /// Ignored by a rule in this file, relative to the root or absolute.
    By(String),
    /// No rule ignores it.
    No,
    /// There is no repository, or no git to ask.
    Unknown,
}

/// Returns why git does not run in this folder, if there is a `.git` that leads
/// elsewhere or would block git.
pub fn repository_refusal(root: &Path) -> Option<String> {
    sound::check_repository(root)
        .err()
        .map(|error| error.to_string())
}

/// Returns whether git ignores a path. A folder has a slash at its end.
pub fn ignore_status(root: &Path, path: &str) -> IgnoreStatus {
    let mut command = git_command(root, &["check-ignore", "--verbose", "--", path]);
    // This command takes plain names and fails if this is set.
    command.env_remove("GIT_LITERAL_PATHSPECS");
    let Ok(output) = run_command(root, command, None, AnswerWait::Silent(ANSWER_WAIT)) else {
        return IgnoreStatus::Unknown;
    };
    match output.status.code() {
        // `<file>:<line>:<pattern>\t<path>`; a pattern that begins with `!`
        // means that the path is not ignored.
        Some(0) => {
            let git_text = String::from_utf8_lossy(&output.stdout);
            let mut parts = git_text.splitn(3, ':');
            match (parts.next(), parts.nth(1)) {
                (Some(file), Some(pattern)) if !pattern.starts_with('!') => {
                    IgnoreStatus::By(file.to_string())
                }
                _ => IgnoreStatus::No,
            }
        }
        Some(1) => IgnoreStatus::No,
        _ => IgnoreStatus::Unknown,
    }
}

/// Returns the name under which this person commits here, if there is one.
pub fn user_name(root: &Path) -> Option<String> {
    const NAME_WAIT: Duration = Duration::from_millis(800);
    let name = run_git_within(root, &["config", "user.name"], NAME_WAIT).ok()??;
    let name = String::from_utf8(name).ok()?.trim().to_owned();
    (!name.is_empty()).then_some(name)
}

/// Counts the files that git tracks below a folder.
pub fn count_tracked_below(root: &Path, folder: &str) -> Result<usize, WorkspaceError> {
    let listing = require_success(run_git(root, &["ls-files", "-z", "--", folder])?)?;
    Ok(memchr::memchr_iter(0, &listing).count())
}

fn find_commit_named(root: &Path, name: &str) -> Result<Option<String>, WorkspaceError> {
    let name = format!("{name}^{{commit}}");
    let args = [
        "rev-parse",
        "--verify",
        "--quiet",
        "--end-of-options",
        &name,
    ];
    let output = run_git(root, &args)?;
    if !output.status.success() {
        return Ok(None);
    }
    // Older versions print the separator as if it were an answer.
    let text = String::from_utf8_lossy(&output.stdout);
    Ok(text
        .lines()
        .rfind(|line| is_object_id(line))
        .map(str::to_string))
}

fn find_commit_before(root: &Path, revision: &str) -> Result<String, WorkspaceError> {
    // git takes any words at all for a date, most of them for today, so what is
    // not clearly a date must not reach it.
    let date = date_for_git(revision).ok_or_else(|| unknown_revision(revision))?;
    if head_commit(root).is_none() {
        return Err(git_error("The repository has no commit yet".to_string()));
    }
    let before = format!("--before={date}");
    let commit = output_line(run_git(root, &["rev-list", "-1", &before, "HEAD", "--"])?)?;
    if is_object_id(&commit) {
        Ok(commit)
    } else {
        Err(git_error(format!("There is no commit before `{revision}`")))
    }
}

/// Converts a date to a form that git reads without guessing; `None` if it is
/// not a date.
fn date_for_git(revision: &str) -> Option<String> {
    if let Ok(instant) = revision.parse::<Timestamp>() {
        return Some(instant.to_string());
    }
    if revision.len() == 10 {
        let date: Date = revision.parse().ok()?;
        return Some(format!("{date}T23:59:59"));
    }
    if revision.starts_with(|c: char| c.is_ascii_digit()) && revision.contains('-') {
        let time: DateTime = revision.parse().ok()?;
        return Some(time.strftime("%Y-%m-%dT%H:%M:%S").to_string());
    }
    let words: Vec<String> = revision.split_whitespace().map(str::to_lowercase).collect();
    let words: Vec<&str> = words.iter().map(String::as_str).collect();
    match words[..] {
        ["yesterday"] => Some("1.day.ago".to_string()),
        [count, unit, "ago"] => {
            let count: u32 = match count {
                "a" | "an" | "one" => 1,
                count => count.parse().ok()?,
            };
            let unit = unit.strip_suffix('s').unwrap_or(unit);
            let known = ["second", "minute", "hour", "day", "week", "month", "year"];
            known
                .contains(&unit)
                .then(|| format!("{count}.{unit}s.ago"))
        }
        _ => None,
    }
}

fn split_batch(answer: &[u8], ids: &[impl AsRef<str>]) -> Result<Vec<Vec<u8>>, WorkspaceError> {
    let cut_off = || git_error("git ended in the middle of an answer".to_string());
    let mut blobs = Vec::with_capacity(ids.len());
    let mut rest = answer;
    for id in ids {
        let id = id.as_ref();
        // `<id> blob <size>\n<bytes>\n`, or `<id> missing\n`
        let end = memchr::memchr(b'\n', rest).ok_or_else(cut_off)?;
        let header = String::from_utf8_lossy(&rest[..end]).into_owned();
        rest = &rest[end + 1..];
        let mut facts = header.split(' ').skip(1);
        let size = match (facts.next(), facts.next()) {
            (Some("blob"), Some(size)) => size.parse::<usize>().ok(),
            _ => None,
        };
        let size = size.ok_or_else(|| git_error(format!("git has no file content `{id}` here")))?;
        if rest.len() <= size {
            return Err(cut_off());
        }
        blobs.push(rest[..size].to_vec());
        rest = &rest[size + 1..];
    }
    Ok(blobs)
}

fn require_repository(root: &Path) -> Result<(), WorkspaceError> {
    let output = run_git(root, &["rev-parse", "--git-dir"])?;
    if output.status.success() {
        return Ok(());
    }
    let git_text = String::from_utf8_lossy(&output.stderr);
    Err(if git_text.contains("not a git repository") {
        git_error(format!(
            "`{}` is not in a git repository, so it has no history to search",
            root.display()
        ))
    } else {
        git_error(format!("git refused: {}", git_text.trim()))
    })
}

fn require_id(id: &str) -> Result<(), WorkspaceError> {
    if is_object_id(id) {
        Ok(())
    } else {
        Err(git_error(format!("`{id}` is not the id of a git object")))
    }
}

/// Returns `true` for the id of an object. SHA-1 and SHA-256 repositories
/// differ in length.
fn is_object_id(text: &str) -> bool {
    matches!(text.len(), 40 | 64) && text.bytes().all(|b| b.is_ascii_hexdigit())
}

/// The settings by which a repository's own `.git/config` names programs that
/// git runs: a monitor of files, hooks, a checker of signatures. The commands
/// here need none of them.
const DISABLED_PROGRAMS: &[(&str, &str)] = &[
    ("core.fsmonitor", "false"),
    ("core.hooksPath", "/dev/null"),
    ("core.pager", "cat"),
    ("core.sshCommand", "false"),
    ("core.askPass", ""),
    ("core.alternateRefsCommand", "false"),
    ("credential.helper", ""),
    ("diff.external", ""),
    ("gpg.program", "false"),
    ("gpg.ssh.program", "false"),
    ("gpg.x509.program", "false"),
    ("log.showSignature", "false"),
    ("protocol.allow", "never"),
    ("submodule.recurse", "false"),
    // A folder that was cloned can hold all that makes a bare repository.
    ("safe.bareRepository", "explicit"),
];

/// The variables that point a git hook to its repository, or that make git run
/// or write something.
const REMOVED_VARIABLES: &[&str] = &[
    "GIT_DIR",
    "GIT_WORK_TREE",
    "GIT_INDEX_FILE",
    "GIT_OBJECT_DIRECTORY",
    "GIT_ALTERNATE_OBJECT_DIRECTORIES",
    "GIT_PREFIX",
    "GIT_NAMESPACE",
    "GIT_COMMON_DIR",
    "GIT_CONFIG",
    "GIT_CONFIG_PARAMETERS",
    "GIT_EXTERNAL_DIFF",
    "GIT_PAGER",
    "GIT_SSH",
    "GIT_SSH_COMMAND",
    "GIT_PROXY_COMMAND",
    "GIT_ASKPASS",
    "GIT_TRACE",
    "GIT_TRACE2",
    "GIT_TRACE2_EVENT",
    "GIT_TRACE2_PERF",
    "GIT_ATTR_SOURCE",
    "GIT_SHALLOW_FILE",
    "GIT_REPLACE_REF_BASE",
];

fn git_command(root: &Path, args: &[&str]) -> Command {
    git_command_unsetting(root, args, &[])
}

/// Builds a command as `command` does, with more of the repository's settings
/// set to nothing.
fn git_command_unsetting(root: &Path, args: &[&str], unset: &[String]) -> Command {
    let mut command = Command::new("git");
    command.arg("--no-pager").arg("-C").arg(root);
    for (key, value) in DISABLED_PROGRAMS {
        command.arg("-c").arg(format!("{key}={value}"));
    }
    command.args(args);
    for name in REMOVED_VARIABLES {
        command.env_remove(name);
    }
    // By variables and not by `-c`, where a name could not have a `=` in it.
    for (at, key) in unset.iter().enumerate() {
        command
            .env(format!("GIT_CONFIG_KEY_{at}"), key)
            .env(format!("GIT_CONFIG_VALUE_{at}"), "");
    }
    command
        .env("GIT_CONFIG_COUNT", unset.len().to_string())
        .env("GIT_ALLOW_PROTOCOL", "none")
        // Else `status` would write git's index.
        .env("GIT_OPTIONAL_LOCKS", "0")
        .env("GIT_TERMINAL_PROMPT", "0")
        // Else a partial clone would fetch missing objects.
        .env("GIT_NO_LAZY_FETCH", "1")
        // A file may have the name `:(glob)*`.
        .env("GIT_LITERAL_PATHSPECS", "1")
        // Errors are recognized by their English text.
        .env("LC_ALL", "C")
        .stdin(Stdio::null())
        .stdout(Stdio::piped())
        .stderr(Stdio::piped());
    command
}

/// Lists the settings by which a repository names programs that convert files.
/// git runs them to compare files with the index, and they can have any name,
/// so they must be listed to be disabled.
fn filter_settings(root: &Path, wait: Duration) -> Result<Vec<String>, WorkspaceError> {
    const MAX_FILTERS: usize = 1_000;
    let args = ["config", "--name-only", "-z", "--get-regexp", r"^filter\."];
    let listing = run_git_within(root, &args, wait)?.unwrap_or_default();
    let mut names = Vec::new();
    for name in listing.split(|byte| *byte == 0).filter(|it| !it.is_empty()) {
        // One that cannot be unset would run.
        let name = std::str::from_utf8(name)
            .map_err(|_| git_error("A filter in git's settings has no readable name".to_owned()))?;
        names.push(name.to_owned());
    }
    names.sort();
    names.dedup();
    if names.len() > MAX_FILTERS {
        Err(git_error(format!(
            "Git's settings have more than {MAX_FILTERS} lines about filters"
        )))
    } else {
        Ok(names)
    }
}

/// Runs a command for which git may read files of the work tree.
fn git_on_files(root: &Path, args: &[&str], filters: &[String]) -> Result<Output, WorkspaceError> {
    let command = git_command_unsetting(root, args, filters);
    run_command(root, command, None, AnswerWait::Silent(ANSWER_WAIT))
}

fn run_git(root: &Path, args: &[&str]) -> Result<Output, WorkspaceError> {
    run_command(
        root,
        git_command(root, args),
        None,
        AnswerWait::Silent(ANSWER_WAIT),
    )
}

/// Returns git's output; `None` if git fails or must not run. A command that
/// takes longer than `wait` is killed.
fn run_git_within(
    root: &Path,
    args: &[&str],
    wait: Duration,
) -> Result<Option<Vec<u8>>, WorkspaceError> {
    run_within(root, git_command(root, args), wait)
}

fn run_within(
    root: &Path,
    command: Command,
    wait: Duration,
) -> Result<Option<Vec<u8>>, WorkspaceError> {
    if sound::check_repository(root).is_err() {
        return Ok(None);
    }
    match run_command(root, command, None, AnswerWait::Whole(wait)) {
        Ok(output) => Ok(output.status.success().then_some(output.stdout)),
        Err(error) if is_known_late(root, wait) => Err(error),
        Err(_) => Ok(None),
    }
}

/// The time that an answer may take.
#[derive(Debug, Clone, Copy)]
enum AnswerWait {
    /// From the question to the end of the answer.
    Whole(Duration),
    /// Between one piece of the answer and the next.
    Silent(Duration),
}

/// Repositories in which git gave no answer in time. It would not the next time
/// either, and a program that runs five commands must not wait five times.
static LATE: Mutex<Vec<LateRepository>> = Mutex::new(Vec::new());

struct LateRepository {
    root: PathBuf,
    at: Instant,
    /// The wait that was too short; a longer one may try again.
    wait: Duration,
}

/// The time for which git is not run there again.
const LATE_DURATION: Duration = Duration::from_secs(60);

fn is_known_late(root: &Path, wait: Duration) -> bool {
    let late = LATE.lock().unwrap_or_else(|it| it.into_inner());
    late.iter()
        .any(|it| it.root == root && it.wait >= wait && it.at.elapsed() < LATE_DURATION)
}

/// Runs git and collects its output, within bounds of time and size.
fn run_command(
    root: &Path,
    mut command: Command,
    input: Option<String>,
    wait: AnswerWait,
) -> Result<Output, WorkspaceError> {
    sound::check_repository(root)?;
    let late = |wait: Duration| git_error(format!("git took longer than {wait:?} to answer"));
    let (AnswerWait::Whole(patience) | AnswerWait::Silent(patience)) = wait;
    if is_known_late(root, patience) {
        return Err(late(patience));
    }
    let mut child = command.spawn().map_err(spawn_error)?;
    if let (Some(input), Some(mut to)) = (input, child.stdin.take()) {
        // Written by another thread: git stops reading when its output is not
        // read.
        thread::spawn(move || drop(to.write_all(input.as_bytes())));
    }
    let (sender, output_chunks) = mpsc::channel();
    forward_output(child.stdout.take(), OutputStream::Out, &sender);
    forward_output(child.stderr.take(), OutputStream::Err, &sender);
    // Else the channel would stay connected and the loop never end.
    drop(sender);
    let (mut stdout, mut stderr) = (Vec::new(), Vec::new());
    let began = Instant::now();
    let failed = loop {
        let left = match wait {
            AnswerWait::Whole(wait) => wait.saturating_sub(began.elapsed()),
            AnswerWait::Silent(wait) => wait,
        };
        match output_chunks.recv_timeout(left) {
            Ok((OutputStream::Out, bytes)) if stdout.len() + bytes.len() > MAX_ANSWER_BYTES => {
                break Some(git_error(format!(
                    "git's answer has more than {MAX_ANSWER_BYTES} bytes"
                )));
            }
            Ok((OutputStream::Out, bytes)) => stdout.extend(bytes),
            Ok((OutputStream::Err, bytes)) if stderr.len() < MAX_STDERR_BYTES => {
                stderr.extend(bytes)
            }
            Ok((OutputStream::Err, _)) => {}
            Err(mpsc::RecvTimeoutError::Disconnected) => break None,
            Err(mpsc::RecvTimeoutError::Timeout) => {
                let mut known = LATE.lock().unwrap_or_else(|it| it.into_inner());
                known.retain(|it| it.root != root);
                known.push(LateRepository {
                    root: root.to_path_buf(),
                    at: Instant::now(),
                    wait: patience,
                });
                break Some(late(patience));
            }
        }
    };
    if let Some(error) = failed {
        let _ = child.kill();
        let _ = child.wait();
        return Err(error);
    }
    let status = child.wait().map_err(spawn_error)?;
    Ok(Output {
        status,
        stdout,
        stderr,
    })
}

#[derive(Debug, Clone, Copy)]
enum OutputStream {
    Out,
    Err,
}

/// Reads a pipe and sends what comes from it. The end of the pipe is not waited
/// for: a helper of git may keep it open.
fn forward_output(
    pipe: Option<impl Read + Send + 'static>,
    stream: OutputStream,
    sender: &mpsc::Sender<(OutputStream, Vec<u8>)>,
) {
    let (Some(mut pipe), sender) = (pipe, sender.clone()) else {
        return;
    };
    thread::spawn(move || {
        let mut buffer = vec![0; 64 << 10];
        while let Ok(count @ 1..) = pipe.read(&mut buffer) {
            if sender.send((stream, buffer[..count].to_vec())).is_err() {
                return;
            }
        }
    });
}

fn require_success(output: Output) -> Result<Vec<u8>, WorkspaceError> {
    if output.status.success() {
        Ok(output.stdout)
    } else {
        let git_text = String::from_utf8_lossy(&output.stderr);
        Err(git_error(format!("git refused: {}", git_text.trim())))
    }
}

fn output_line(output: Output) -> Result<String, WorkspaceError> {
    Ok(String::from_utf8_lossy(&require_success(output)?)
        .trim()
        .to_string())
}

fn spawn_error(error: std::io::Error) -> WorkspaceError {
    match error.kind() {
        std::io::ErrorKind::NotFound => {
            git_error("git is not installed or not on the path".to_string())
        }
        _ => git_error(format!("git could not be run: {error}")),
    }
}

fn unknown_revision(revision: &str) -> WorkspaceError {
    git_error(format!(
        "`{}` is neither a commit, branch or tag nor a date; try `2026-01-31` or `2 weeks ago`",
        revision.escape_debug()
    ))
}

fn git_error(message: String) -> WorkspaceError {
    WorkspaceError::Git { message }
}

#[cfg(test)]
mod tests;
