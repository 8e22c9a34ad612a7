//! A workspace that is put back as it was after each trial, and the program
//! run in it within limits. It knows what has changed, and judges nothing.

use std::collections::{BTreeMap, BTreeSet};
use std::fs;
use std::io::Write as _;
use std::os::unix::fs::{MetadataExt, PermissionsExt, symlink};
use std::os::unix::process::ExitStatusExt;
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};

use testkit::TestWorkspace;

use crate::cases::Case;
use crate::plant::{CANARY, Outside, remove};

/// Within ten seconds and 500 MB of memory.
const SECONDS: &str = "10";
const LIMITS: &str = "ulimit -v 512000 && exec \"$0\" \"$@\"";

/// Where a case is played.
pub(crate) struct Stage {
    pub(crate) case: Case,
    ws: TestWorkspace,
    base: PathBuf,
    pub(crate) outside: Outside,
    /// The workspace and the home before.
    kept: BTreeMap<PathBuf, Kept>,
    /// The world outside before.
    beyond: BTreeMap<PathBuf, Kept>,
    /// What the case changes in the home when nothing is in its way.
    pub(crate) usual_in_home: BTreeSet<PathBuf>,
}

#[derive(PartialEq, Eq)]
enum Kept {
    Folder,
    File { bytes: Vec<u8>, mode: u32 },
    Link(PathBuf),
    Other,
}

/// What the program did.
pub(crate) struct Answer {
    /// None where it was ended by a signal.
    pub(crate) code: Option<i32>,
    pub(crate) signal: Option<i32>,
    pub(crate) stdout: String,
    pub(crate) stderr: String,
}

impl Stage {
    pub(crate) fn new(case: Case) -> Stage {
        let ws = case.workspace();
        let base = ws.root().parent().expect("it lies in a folder").to_owned();
        let outside = Outside::make(&base);
        let mut stage = Stage {
            case,
            base,
            outside,
            kept: BTreeMap::new(),
            beyond: BTreeMap::new(),
            usual_in_home: BTreeSet::new(),
            ws,
        };
        stage.kept = stage.now();
        stage.beyond = kept(stage.outside.folder());
        let answer = stage.play();
        assert!(
            matches!(answer.code, Some(0..=2)),
            "`{}` does not work by itself: {:?} {:?}\n{}{}",
            stage.case.name,
            answer.code,
            answer.signal,
            answer.stdout,
            answer.stderr
        );
        stage.usual_in_home = stage.changed_in_home();
        stage.put_back();
        stage
    }

    /// A place by its name in the table: `home:` is the home, the rest lies in
    /// the workspace.
    pub(crate) fn path(&self, place: &str) -> PathBuf {
        match place.strip_prefix("home:") {
            Some(place) => self.ws.home().join(place),
            None => self.ws.path(place),
        }
    }

    /// The place that a path is, if it lies in the workspace or the home.
    pub(crate) fn place(&self, path: &Path) -> Option<String> {
        let text = |path: &Path| path.to_str().map(str::to_owned);
        if let Ok(inside) = path.strip_prefix(self.ws.root()) {
            return text(inside);
        }
        let inside = path.strip_prefix(self.ws.home()).ok()?;
        Some(format!("home:{}", text(inside)?))
    }

    pub(crate) fn root(&self) -> &Path {
        self.ws.root()
    }

    /// Runs the program within the limits.
    pub(crate) fn play(&self) -> Answer {
        let line = ["timeout", "-s", "KILL", SECONDS, "sh", "-c", LIMITS];
        self.below(&line)
    }

    /// Runs the program below another one, in its usual surroundings.
    pub(crate) fn below(&self, wrapper: &[&str]) -> Answer {
        let plain = self.ws.command();
        let mut command = Command::new(wrapper[0]);
        command
            .args(&wrapper[1..])
            .arg(plain.get_program())
            .args(&self.case.run)
            .current_dir(self.ws.root())
            .env_clear()
            .envs(
                plain
                    .get_envs()
                    .filter_map(|(name, value)| Some((name, value?))),
            )
            // Where it is without a setting, so that the table has it.
            .env("XDG_STATE_HOME", self.ws.home().join(".local/state"))
            // Memory is counted by addresses, of which each arena takes many.
            .env("MALLOC_ARENA_MAX", "1")
            // Spares the waiting for a disk.
            .env("MEMORY_FORGE_FAULT", "stop:1000000000")
            .stdin(Stdio::piped())
            .stdout(Stdio::piped())
            .stderr(Stdio::piped());
        let mut child = command.spawn().expect("it can be started");
        let mut stdin = child.stdin.take().expect("a pipe");
        // Inputs fit into a pipe; who does not read them closes it.
        let _ = stdin.write_all(self.case.input.as_bytes());
        drop(stdin);
        let output = child.wait_with_output().expect("it was started");
        Answer {
            code: output.status.code(),
            signal: output.status.signal(),
            stdout: String::from_utf8_lossy(&output.stdout).into_owned(),
            stderr: String::from_utf8_lossy(&output.stderr).into_owned(),
        }
    }

    fn now(&self) -> BTreeMap<PathBuf, Kept> {
        let mut all = kept(self.ws.root());
        all.extend(kept(&self.ws.home()));
        all
    }

    /// What differs in the home, by its path there.
    pub(crate) fn changed_in_home(&self) -> BTreeSet<PathBuf> {
        let home = self.ws.home();
        let now = kept(&home);
        let before = self.kept.iter().filter(|(path, _)| path.starts_with(&home));
        let gone = before
            .filter(|(path, what)| now.get(*path) != Some(what))
            .map(|(path, _)| path);
        let new = now.keys().filter(|path| !self.kept.contains_key(*path));
        let all = gone.chain(new).filter(|path| **path != home);
        let inside = all.filter_map(|path| path.strip_prefix(&home).ok());
        inside.map(Path::to_owned).collect()
    }

    /// What differs outside of both.
    pub(crate) fn changed_outside(&self) -> Vec<PathBuf> {
        let now = kept(self.outside.folder());
        let all: BTreeSet<&PathBuf> = now.keys().chain(self.beyond.keys()).collect();
        let differs = |path: &&&PathBuf| now.get(**path) != self.beyond.get(**path);
        let mut changed: Vec<PathBuf> =
            all.iter().filter(differs).map(|it| (*it).clone()).collect();
        // Somebody may write beside the workspace instead.
        let beside = fs::read_dir(&self.base)
            .expect("the base is ours")
            .flatten();
        let beside = beside.map(|entry| entry.path());
        changed.extend(beside.filter(|path| {
            let name = path
                .file_name()
                .and_then(|it| it.to_str())
                .unwrap_or_default();
            // The system's folder for temporary files is this one, too.
            let ours = name.starts_with("memory-forge-");
            !ours && !["ws", "home", "outside", "kinds"].contains(&name)
        }));
        changed
    }

    /// Files of the workspace and of the home that hold the canary.
    pub(crate) fn copies_of_the_canary(&self) -> Vec<PathBuf> {
        let holds = |what: &Kept| match what {
            Kept::File { bytes, .. } => String::from_utf8_lossy(bytes).contains(CANARY),
            _ => false,
        };
        let now = self.now();
        let with = now.into_iter().filter(|(_, what)| holds(what));
        with.map(|(path, _)| path).collect()
    }

    /// Puts back what a trial has changed, and touches nothing else: the
    /// program knows its own files by more than their bytes.
    pub(crate) fn put_back(&self) {
        for (path, what) in self.now().into_iter().rev() {
            if self.kept.get(&path) != Some(&what) {
                remove(&path);
            }
        }
        for (path, what) in &self.kept {
            if path.symlink_metadata().is_ok() {
                continue;
            }
            let put = match what {
                Kept::Folder => fs::create_dir(path),
                Kept::Link(to) => symlink(to, path),
                Kept::File { bytes, mode } => fs::write(path, bytes).and_then(|()| {
                    let mode = fs::Permissions::from_mode(*mode);
                    fs::set_permissions(path, mode)
                }),
                Kept::Other => Ok(()),
            };
            put.unwrap_or_else(|error| panic!("{}: {error}", path.display()));
        }
        let outside = self.changed_outside();
        for path in outside.iter().rev() {
            remove(path);
        }
        for (path, what) in &self.beyond {
            if let (Kept::File { bytes, .. }, true) = (what, outside.contains(path)) {
                fs::write(path, bytes).expect("the base is ours");
            }
        }
    }
}

/// Everything below a folder, itself included.
fn kept(folder: &Path) -> BTreeMap<PathBuf, Kept> {
    let mut all = BTreeMap::new();
    let mut open = vec![folder.to_owned()];
    while let Some(path) = open.pop() {
        let Ok(meta) = path.symlink_metadata() else {
            continue;
        };
        let what = if meta.is_symlink() {
            Kept::Link(fs::read_link(&path).unwrap_or_default())
        } else if meta.is_dir() {
            let entries = fs::read_dir(&path).into_iter().flatten().flatten();
            open.extend(entries.map(|entry| entry.path()));
            Kept::Folder
        } else if meta.is_file() && meta.len() <= MAX_KEPT {
            Kept::File {
                bytes: fs::read(&path).unwrap_or_default(),
                mode: meta.mode() & 0o7777,
            }
        } else {
            Kept::Other
        };
        all.insert(path, what);
    }
    all
}

/// What is larger was planted.
const MAX_KEPT: u64 = 64 << 20;

pub(crate) fn is_root() -> bool {
    fs::metadata("/proc/self").is_ok_and(|meta| meta.uid() == 0)
}
