//! A temporary directory with files, in which a program runs with nothing of
//! the machine's own: no environment, no home, no clock, no colours.

use std::ffi::OsStr;
use std::fmt::Write as _;
use std::fs;
use std::io::Write as _;
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};

use sha2::{Digest, Sha256};
use tempfile::TempDir;

use crate::{Output, fixture, git};

/// The moment at which programs believe to run.
pub const NOW: &str = "2026-03-01T09:00:00Z";

/// Deleted when dropped. The workspace is a directory `ws` inside the
/// temporary one and `home` stands beside it, so that a program that climbs
/// out of its workspace is seen to.
pub struct TestWorkspace {
    directory: TempDir,
    state: TempDir,
    root: PathBuf,
    binary: Option<PathBuf>,
    environment: Vec<(String, String)>,
    directory_inside: String,
    standard_input: Vec<u8>,
}

impl TestWorkspace {
    /// An empty workspace.
    pub fn empty() -> TestWorkspace {
        let directory = tempfile::Builder::new()
            .prefix("memory-forge-test-")
            .tempdir()
            .expect("a temporary directory can be made");
        // Programs print canonical paths, and snapshots replace this one.
        let base = canonicalize(directory.path());
        let root = base.join("ws");
        for path in [&root, &base.join("home")] {
            fs::create_dir(path).expect("the directory was just made and is empty");
        }
        let state = tempfile::Builder::new()
            .prefix("memory-forge-state-")
            .tempdir()
            .expect("a temporary directory can be made");
        TestWorkspace {
            directory,
            state,
            root,
            binary: None,
            environment: Vec::new(),
            directory_inside: String::new(),
            standard_input: Vec::new(),
        }
    }

    /// A workspace with the files of a fixture; see [`fixture::parse`].
    #[track_caller]
    pub fn files(fixture: &str) -> TestWorkspace {
        let workspace = TestWorkspace::empty();
        workspace.add(fixture);
        workspace
    }

    /// The program that [`run`](Self::run) starts.
    pub fn binary(mut self, path: impl Into<PathBuf>) -> TestWorkspace {
        self.binary = Some(path.into());
        self
    }

    /// Adds a variable to the environment of programs.
    pub fn env(mut self, name: &str, value: &str) -> TestWorkspace {
        self.environment.push((name.to_owned(), value.to_owned()));
        self
    }

    /// Runs programs at this moment instead of [`NOW`]. RFC 3339.
    pub fn now(self, moment: &str) -> TestWorkspace {
        self.env("MEMORY_FORGE_NOW", moment)
    }

    /// Runs programs in this directory of the workspace.
    pub fn cwd(mut self, path: &str) -> TestWorkspace {
        self.directory_inside = path.to_owned();
        self
    }

    /// What programs read from standard input; nothing unless set.
    pub fn stdin(mut self, text: impl Into<Vec<u8>>) -> TestWorkspace {
        self.standard_input = text.into();
        self
    }

    /// The workspace's root, canonical.
    pub fn root(&self) -> &Path {
        &self.root
    }

    /// The home directory that programs see, canonical.
    pub fn home(&self) -> PathBuf {
        self.root.with_file_name("home")
    }

    /// The folder in which programs keep the key of their marks. It is neither
    /// in the home nor beside the workspace, so that tests see what else a
    /// program leaves there.
    pub fn state_home(&self) -> &Path {
        self.state.path()
    }

    pub fn path(&self, path: &str) -> PathBuf {
        self.root.join(path)
    }

    /// Writes more files of the same form as [`files`](Self::files).
    #[track_caller]
    pub fn add(&self, fixture: &str) {
        for file in fixture::parse(fixture) {
            self.write(&file.path, file.text);
        }
    }

    /// Writes a file with exactly these bytes, making its directories.
    #[track_caller]
    pub fn write(&self, path: &str, bytes: impl AsRef<[u8]>) {
        let file = self.path(path);
        if let Some(parent) = file.parent() {
            fs::create_dir_all(parent).unwrap_or_else(|error| panic!("{path}: {error}"));
        }
        fs::write(&file, bytes).unwrap_or_else(|error| panic!("{path}: {error}"));
    }

    #[track_caller]
    pub fn remove(&self, path: &str) {
        let file = self.path(path);
        let removed = if file.is_dir() && !file.is_symlink() {
            fs::remove_dir_all(&file)
        } else {
            fs::remove_file(&file)
        };
        removed.unwrap_or_else(|error| panic!("{path}: {error}"));
    }

    /// A file's text.
    #[track_caller]
    pub fn read(&self, path: &str) -> String {
        String::from_utf8(self.read_bytes(path)).unwrap_or_else(|error| panic!("{path}: {error}"))
    }

    #[track_caller]
    pub fn read_bytes(&self, path: &str) -> Vec<u8> {
        fs::read(self.path(path)).unwrap_or_else(|error| panic!("{path}: {error}"))
    }

    pub fn exists(&self, path: &str) -> bool {
        self.path(path).symlink_metadata().is_ok()
    }

    /// Every file with the beginning of its SHA-256, sorted, one a line; what
    /// must not change is compared by this. `.git` is left out, directories
    /// without files end in `/`, links show their target.
    pub fn tree(&self) -> String {
        let mut lines = String::new();
        list(&self.root, "", &mut lines);
        lines
    }

    /// Like [`tree`](Self::tree), without what is derived: `.memory-forge/`.
    pub fn tree_of_sources(&self) -> String {
        let tree = self.tree();
        tree.split_inclusive('\n')
            .filter(|line| !line.starts_with(".memory-forge"))
            .collect()
    }

    /// Runs the program and waits for it.
    #[track_caller]
    pub fn run<S: AsRef<OsStr>>(&self, arguments: &[S]) -> Output {
        let mut command = self.command();
        command.args(arguments);
        self.finish(command, self.standard_input.clone())
    }

    /// Runs the program once with this on its standard input and these
    /// variables added to its environment.
    #[track_caller]
    pub fn feed(
        &self,
        input: impl Into<Vec<u8>>,
        environment: &[(&str, &str)],
        arguments: &[&str],
    ) -> Output {
        let mut command = self.command();
        command.args(arguments).envs(environment.iter().copied());
        self.finish(command, input.into())
    }

    #[track_caller]
    fn finish(&self, mut command: Command, input: Vec<u8>) -> Output {
        command.stdout(Stdio::piped()).stderr(Stdio::piped());
        let mut child = command.spawn().expect("the program can be started");
        let mut stdin = child.stdin.take().expect("standard input is a pipe");
        // A program may fill its output before it reads; writing from another
        // thread keeps the two from waiting for each other. A program that
        // does not read closes the pipe, and that is its right.
        let writer = std::thread::spawn(move || drop(stdin.write_all(&input)));
        let output = child.wait_with_output().expect("the program was started");
        writer.join().expect("writing does not panic");
        Output {
            status: output.status.code(),
            stdout: self.neutral(&output.stdout),
            stderr: self.neutral(&output.stderr),
        }
    }

    /// The program with its surroundings and standard input as a pipe, for
    /// tests that start it in ways of their own.
    #[track_caller]
    pub fn command(&self) -> Command {
        let binary = self
            .binary
            .as_ref()
            .expect("`binary` names the program to run");
        let mut command = Command::new(binary);
        command
            .current_dir(self.path(&self.directory_inside))
            .env_clear()
            .stdin(Stdio::piped());
        for name in ["PATH", "SystemRoot"] {
            if let Some(value) = std::env::var_os(name) {
                command.env(name, value);
            }
        }
        command
            .env("HOME", self.home())
            .env("USERPROFILE", self.home())
            .env("XDG_STATE_HOME", self.state_home())
            .env("LOCALAPPDATA", self.state_home())
            .env("TMPDIR", self.directory.path())
            .env("MEMORY_FORGE_NOW", NOW)
            .env("NO_COLOR", "1")
            .env("COLUMNS", "100")
            .env("LC_ALL", "C.UTF-8")
            .env("TZ", "UTC")
            .env("GIT_CONFIG_NOSYSTEM", "1")
            .envs(self.environment.iter().map(|(name, value)| (name, value)));
        command
    }

    /// Makes the workspace a git repository on the branch `main`.
    #[track_caller]
    pub fn git_init(&self) {
        self.git(&["init", "--quiet", "--initial-branch=main"]);
    }

    /// Runs git with a fixed identity and date; gives its standard output.
    #[track_caller]
    pub fn git(&self, arguments: &[&str]) -> String {
        git::run(&self.root, git::DATE, arguments)
    }

    /// Commits everything and gives the commit's id, the same on any machine.
    #[track_caller]
    pub fn commit(&self, message: &str) -> String {
        self.commit_at(message, git::DATE)
    }

    /// Commits everything as if it were this moment. ISO 8601.
    #[track_caller]
    pub fn commit_at(&self, message: &str, date: &str) -> String {
        git::run(&self.root, date, &["add", "--all"]);
        git::run(
            &self.root,
            date,
            &["commit", "--quiet", "--allow-empty", "-m", message],
        );
        git::run(&self.root, date, &["rev-parse", "HEAD"])
    }

    /// Output with the places that differ on every run replaced.
    fn neutral(&self, bytes: &[u8]) -> String {
        let text = String::from_utf8_lossy(bytes);
        let text = text.replace(&*self.root.to_string_lossy(), "[root]");
        text.replace(&*self.home().to_string_lossy(), "[home]")
    }
}

/// The path of a folder without links, as programs print it: on Windows without
/// the prefix that the system puts before such paths.
///
/// # Panics
/// When it is not there.
#[track_caller]
pub fn canonicalize(path: &Path) -> PathBuf {
    let real = path.canonicalize().expect("the folder is there");
    match real.to_str().and_then(|it| it.strip_prefix(r"\\?\")) {
        Some(short) if cfg!(windows) => short.into(),
        _ => real,
    }
}

/// Copies what is in a folder into another one.
pub fn copy(from: &Path, to: &Path) {
    fs::create_dir_all(to).expect("the folder can be made");
    for entry in fs::read_dir(from).expect("the folder is there") {
        let entry = entry.expect("the folder can be read");
        let to = to.join(entry.file_name());
        if entry.path().is_dir() {
            copy(&entry.path(), &to);
        } else {
            fs::copy(entry.path(), to).expect("the file can be copied");
        }
    }
}

fn list(directory: &Path, prefix: &str, lines: &mut String) {
    let entries = fs::read_dir(directory).unwrap_or_else(|error| panic!("{prefix}: {error}"));
    let mut names: Vec<_> = entries
        .map(|entry| entry.expect("the directory can be read").file_name())
        .filter(|name| !(prefix.is_empty() && name == ".git"))
        .collect();
    names.sort();
    if names.is_empty() && !prefix.is_empty() {
        let _ = writeln!(lines, "{prefix}");
    }
    for name in names {
        let path = directory.join(&name);
        let shown = format!("{prefix}{}", name.to_string_lossy());
        let kind = path
            .symlink_metadata()
            .expect("it was just listed")
            .file_type();
        if kind.is_symlink() {
            let target = fs::read_link(&path).expect("it is a link");
            let _ = writeln!(lines, "{shown} -> {}", target.display());
        } else if kind.is_dir() {
            list(&path, &format!("{shown}/"), lines);
        } else {
            let _ = writeln!(lines, "{shown} {}", short_hash(&path));
        }
    }
}

fn short_hash(path: &Path) -> String {
    let Ok(bytes) = fs::read(path) else {
        return "unreadable".to_owned();
    };
    Sha256::digest(bytes)
        .iter()
        .take(6)
        .fold(String::new(), |mut hex, byte| {
            let _ = write!(hex, "{byte:02x}");
            hex
        })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_tree_lists_files_with_hashes() {
        let ws = TestWorkspace::files("//- b/c.md\nx\n//- a.md\n");
        fs::create_dir(ws.path("empty")).expect("it is not there yet");
        assert_eq!(
            ws.tree(),
            "a.md e3b0c44298fc\nb/c.md 73cb3858a687\nempty/\n"
        );
    }

    #[test]
    fn commits_are_the_same_everywhere() {
        let commit = || {
            let ws = TestWorkspace::files("//- a.md\nhello\n");
            ws.git_init();
            ws.commit("first")
        };
        let first = commit();
        assert_eq!(first.len(), 40);
        assert_eq!(first, commit());
    }

    #[test]
    #[cfg(unix)]
    fn programs_see_nothing_of_the_machine() {
        let ws = TestWorkspace::files("//- a.md\nhello\n").binary("/usr/bin/env");
        let output = ws.run::<&str>(&[]);
        let mut names: Vec<&str> = output
            .ok()
            .lines()
            .filter_map(|line| line.split_once('='))
            .map(|(name, _)| name)
            .collect();
        names.sort_unstable();
        let expect = [
            "COLUMNS",
            "GIT_CONFIG_NOSYSTEM",
            "HOME",
            "LC_ALL",
            "LOCALAPPDATA",
            "MEMORY_FORGE_NOW",
            "NO_COLOR",
            "PATH",
            "TMPDIR",
            "TZ",
            "USERPROFILE",
            "XDG_STATE_HOME",
        ];
        assert_eq!(names, expect);
        assert!(output.stdout.contains("HOME=[home]"), "{output}");
    }

    #[test]
    #[cfg(unix)]
    fn standard_input_and_exit_codes_pass_through() {
        let ws = TestWorkspace::empty().binary("/bin/sh").stdin("in");
        let output = ws.run(&["-c", "cat; echo oops >&2; exit 3"]);
        assert_eq!(
            output.to_string(),
            "exit: 3\n--- stdout\nin⏎ (no newline at the end)\n--- stderr\noops\n"
        );
    }
}
