//! One command of the table, cut off as often as one likes: its workspace is
//! put back as it was, the command is interrupted, and then an ordinary write
//! must find everything as before or as after, and nothing in between.

use std::collections::{BTreeMap, BTreeSet, HashMap};
use std::fs;
use std::io::Write as _;
use std::path::{Path, PathBuf};
use std::process::{Child, Stdio};
use std::time::{Duration, Instant, SystemTime};

use anyhow::{Context, Result, bail, ensure};
use testkit::{Output, TestWorkspace};

use crate::scenarios::Scenario;

/// Has the program announce its file operations and break at none of them,
/// which also spares a test the waiting for a disk.
pub(crate) const QUICK: (&str, &str) = ("MEMORY_FORGE_FAULT", "stop:1000000000");

/// Every file by its name, of the workspace and of the home.
pub(crate) type Files = BTreeMap<String, Vec<u8>>;

/// A scenario with the two states that may follow it.
pub(crate) struct Trial {
    pub(crate) scenario: &'static Scenario,
    pub(crate) ws: TestWorkspace,
    /// The workspace before the command, caches included.
    base: Vec<Kept>,
    /// What the restart's own writes make of the state before and after.
    before: State,
    after: State,
    /// Whether the program knows faults, which only a debug build does.
    debug: bool,
}

struct Kept {
    path: PathBuf,
    what: What,
}

enum What {
    Folder,
    File {
        bytes: Vec<u8>,
        modified: SystemTime,
        mode: fs::Permissions,
    },
    Link(PathBuf),
}

#[derive(PartialEq, Eq)]
struct State {
    files: Files,
    found: String,
}

/// What was found after an interruption and a restart.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Side {
    Before,
    After,
}

impl Trial {
    pub(crate) fn new(scenario: &'static Scenario, binary: &Path, debug: bool) -> Result<Trial> {
        let ws = TestWorkspace::files(scenario.files).binary(binary);
        for file in testkit::fixture::parse(scenario.home) {
            let path = ws
                .home()
                .join(file.path.replace("[slug]", &slug(ws.root())));
            fs::create_dir_all(path.parent().unwrap_or(&path))?;
            fs::write(path, file.text)?;
        }
        if scenario.git {
            ws.git_init();
            ws.commit("first");
        }
        if let Some(make) = scenario.make {
            make(&ws);
        }
        let mut trial = Trial {
            scenario,
            ws,
            base: Vec::new(),
            before: State::empty(),
            after: State::empty(),
            debug,
        };
        trial.prepare()?;
        Ok(trial)
    }

    fn prepare(&mut self) -> Result<()> {
        for arguments in self.scenario.first {
            let output = self.quick("", arguments);
            ensure!(
                matches!(output.status, Some(0 | 1)) && !output.stderr.contains("error:"),
                "`{}` cannot be prepared: {output}",
                arguments.join(" ")
            );
        }
        // An index that is up to date before, as it usually is.
        self.quick("", SEARCH);
        let mut base = Vec::new();
        keep(self.folder(), &mut base)?;
        self.base = base;
        let untouched = self.files()?;
        self.before = self.restart(true)?;
        self.put_back()?;
        let output = self.ordinary();
        ensure!(
            output.status == Some(self.scenario.status),
            "undisturbed, it did not end as expected: {output}"
        );
        ensure!(
            self.files()? != untouched || self.scenario.only_derived,
            "undisturbed, it writes nothing: {output}"
        );
        self.after = self.restart(true)?;
        Ok(())
    }

    /// The command itself, to its end.
    fn ordinary(&self) -> Output {
        self.quick(self.scenario.input, self.scenario.run)
    }

    /// The operations of an undisturbed run: kind, file, new name.
    pub(crate) fn trace(&self) -> Result<Vec<[String; 3]>> {
        let output = self.broken("trace")?;
        let steps = output.stderr.lines().filter_map(|line| {
            let mut parts = line.strip_prefix("step\t")?.split('\t').map(slashed);
            Some([parts.next()?, parts.next()?, parts.next()?])
        });
        Ok(steps.collect())
    }

    /// Runs the command with a fault and gives what it said.
    pub(crate) fn broken(&self, fault: &str) -> Result<Output> {
        self.put_back()?;
        let environment = [("MEMORY_FORGE_FAULT", fault)];
        Ok(self
            .ws
            .feed(self.scenario.input, &environment, self.scenario.run))
    }

    /// How long the command takes when nobody disturbs it.
    pub(crate) fn usual(&self) -> Result<Duration> {
        let mut times = Vec::new();
        for _ in 0..5 {
            self.put_back()?;
            let start = Instant::now();
            let child = self.start()?;
            child.wait_with_output()?;
            times.push(start.elapsed());
        }
        times.sort();
        Ok(times[times.len() / 2])
    }

    /// Starts the command and kills it after `delay`; says whether it had
    /// ended by itself.
    pub(crate) fn killed(&self, delay: Duration) -> Result<bool> {
        self.put_back()?;
        let start = Instant::now();
        let mut child = self.start()?;
        std::thread::sleep(delay.saturating_sub(start.elapsed()));
        let ended = child.try_wait()?.is_some();
        if !ended {
            child.kill()?;
        }
        child.wait()?;
        Ok(ended)
    }

    fn start(&self) -> Result<Child> {
        let mut command = self.ws.command();
        command
            .args(self.scenario.run)
            .stdout(Stdio::null())
            .stderr(Stdio::null());
        let mut child = command.spawn().context("the program cannot be started")?;
        if let Some(mut stdin) = child.stdin.take() {
            // Whoever does not read closes the pipe.
            let _ = stdin.write_all(self.scenario.input.as_bytes());
        }
        Ok(child)
    }

    /// Restarts after an interruption: everything is as before or as after.
    /// A search is the dearest part of it, and not always worth its time.
    /// `told` is whether the command itself named what it could not do, and who
    /// does it.
    pub(crate) fn settle(&self, searching: bool, told: bool) -> Result<Side> {
        let now = self.restart(searching)?;
        let side = match (now.differs(&self.before), now.differs(&self.after)) {
            (None, _) => Side::Before,
            (_, None) => Side::After,
            _ if self.scenario.several => {
                self.go_on(&now, told)?;
                return Ok(Side::After);
            }
            (Some(before), Some(after)) => {
                bail!(
                    "it is neither as before nor as after\nagainst before:\n{before}\nagainst after:\n{after}"
                )
            }
        };
        let left: Vec<&String> = now.files.keys().filter(|it| is_left_over(it)).collect();
        // Beside files that have no journal, the next change there sweeps up.
        let unjournaled =
            |it: &&String| it.starts_with("home/") || it.starts_with("ws/.memory-forge/");
        match left.iter().all(unjournaled) || self.scenario.several {
            true if left.is_empty() => {}
            true => self.go_on(&now, told)?,
            false => bail!("left behind: {left:?}"),
        }
        for (name, bytes) in now.files.iter().filter(|(name, _)| is_of_machine(name)) {
            let known = [&self.before, &self.after]
                .iter()
                .filter_map(|it| it.files.get(name))
                .any(|it| content_of(name, it) == content_of(name, bytes));
            ensure!(
                known
                    || is_lock(name)
                    || name.ends_with("/.hook-failures")
                    || self.is_whole_log(name, bytes),
                "`{name}` is torn: {}",
                String::from_utf8_lossy(bytes)
            );
        }
        let expect = match side {
            Side::Before => &self.before,
            Side::After => &self.after,
        };
        ensure!(
            !searching || now.found == expect.found,
            "a search finds something else than {side:?}: {} instead of {}",
            now.found,
            expect.found
        );
        Ok(side)
    }

    /// Each file is whole, and the same command once more does what is left.
    fn go_on(&self, now: &State, told: bool) -> Result<()> {
        for (name, bytes) in &now.files {
            let known = [&self.before, &self.after]
                .iter()
                .any(|it| it.files.get(name) == Some(bytes));
            let passing = self.scenario.on_its_way.contains(&name.as_str());
            ensure!(
                known || passing || is_of_machine(name) || is_left_over(name) || is_drawn(name),
                "`{name}` is neither as before nor as after"
            );
        }
        for name in self.before.files.keys() {
            ensure!(
                now.files.contains_key(name) || !self.after.files.contains_key(name),
                "`{name}` is gone"
            );
        }
        // A bulk run's lock holds for half an hour, or until somebody deletes
        // it, as the program says.
        for name in now.files.keys().filter(|it| is_lock(it)) {
            fs::remove_file(self.folder().join(name))?;
        }
        let output = self.ordinary();
        let mut files = self.files()?;
        // A copy too many beside a client's settings does no harm.
        files.retain(|name, _| {
            !name.ends_with(".memory-forge-backup") || self.after.files.contains_key(name)
        });
        // Drawn anew from whatever is there, the restart's own note included.
        for name in DRAWN {
            if let Some(drawn) = self.after.files.get(name) {
                files.insert(name.to_owned(), drawn.clone());
            }
        }
        let left: Vec<&String> = files.keys().filter(|it| is_left_over(it)).collect();
        ensure!(left.is_empty(), "left behind: {left:?} by {output}");
        let found = String::new();
        let again = State { files, found };
        match again.differs(&self.after) {
            Some(differs) if !told => bail!("called again, it does not go on: {output}\n{differs}"),
            _ => Ok(()),
        }
    }

    /// Whether the command leaves no trace among what people wrote.
    pub(crate) fn is_same(&self) -> bool {
        self.before.differs(&self.after).is_none()
    }

    /// Lines of a log are those of before or after, and perhaps fewer; the last
    /// may be cut, which the next one to come ends.
    fn is_whole_log(&self, name: &str, bytes: &[u8]) -> bool {
        let lines: BTreeSet<&[u8]> = [&self.before, &self.after]
            .iter()
            .filter_map(|it| it.files.get(name))
            .flat_map(|bytes| bytes.split(|byte| *byte == b'\n'))
            .collect();
        let mut own: Vec<&[u8]> = bytes.split(|byte| *byte == b'\n').collect();
        let last = own.pop().unwrap_or_default();
        own.iter().all(|line| lines.contains(line)) && lines.iter().any(|it| it.starts_with(last))
    }

    /// What anybody does next: a write, a hook, a search.
    fn restart(&self, searching: bool) -> Result<State> {
        let written = self.quick("", WRITE);
        ensure!(
            written.status == Some(0),
            "the next write does not succeed: {written}"
        );
        if self.ws.exists(".mind") {
            let hook = self.quick("{\"hook_event_name\":\"Stop\"}", &["hook"]);
            ensure!(hook.status == Some(0), "the next hook fails: {hook}");
        }
        let mut found = String::new();
        if searching {
            let output = self.quick("", SEARCH);
            ensure!(
                // 1 is the answer that nothing is relevant.
                matches!(output.status, Some(0 | 1)) && output.stdout.starts_with('{'),
                "the next search does not succeed: {output}"
            );
            // How many vectors are there already is the machine's mood.
            let answer: serde_json::Value = serde_json::from_str(&output.stdout)?;
            found = ranked(&answer["results"]);
        }
        Ok(State {
            files: self.files()?,
            found,
        })
    }

    fn quick(&self, input: &str, arguments: &[&str]) -> Output {
        let environment: &[(&str, &str)] = if self.debug { &[QUICK] } else { &[] };
        self.ws.feed(input, environment, arguments)
    }

    fn folder(&self) -> &Path {
        self.ws.root().parent().unwrap_or(self.ws.root())
    }

    /// Every file that is not a cache.
    fn files(&self) -> Result<Files> {
        let mut kept = Vec::new();
        keep(self.folder(), &mut kept)?;
        let mut files = Files::new();
        for it in kept {
            let name = it.path.strip_prefix(self.folder())?;
            let name = slashed(&name.to_string_lossy());
            let derived = name.starts_with("ws/.memory-forge/") && !name.contains("/undo/");
            if derived && !is_left_over(&name) || name.starts_with("ws/.git/") {
                continue;
            }
            // What the journal holds is nobody's state; only what it left open.
            if name.contains("/.memory-forge/undo") && !is_left_over(&name) {
                continue;
            }
            match it.what {
                What::File { bytes, .. } => files.insert(name, bytes),
                What::Link(to) => {
                    files.insert(name, to.to_string_lossy().into_owned().into_bytes())
                }
                What::Folder if is_left_over(&name) => files.insert(name, Vec::new()),
                What::Folder => None,
            };
        }
        Ok(files)
    }

    fn put_back(&self) -> Result<()> {
        // What is there stays the same file: marks of derived files hold for it
        // and not for a copy.
        let wanted = self.base.iter().map(|it| (it.path.as_path(), &it.what));
        remove_others(self.folder(), &wanted.collect())?;
        for it in &self.base {
            match &it.what {
                What::Folder => fs::create_dir_all(&it.path)?,
                What::Link(to) => {
                    #[cfg(unix)]
                    std::os::unix::fs::symlink(to, &it.path)?;
                    #[cfg(not(unix))]
                    let _ = to;
                }
                What::File {
                    bytes,
                    modified,
                    mode,
                } => {
                    let mut file = fs::File::create(&it.path)?;
                    file.write_all(bytes)?;
                    file.set_permissions(mode.clone())?;
                    file.set_modified(*modified)?;
                }
            }
        }
        Ok(())
    }
}

impl State {
    fn empty() -> State {
        State {
            files: Files::new(),
            found: String::new(),
        }
    }

    /// What people wrote that is not the same, one a line.
    fn differs(&self, other: &State) -> Option<String> {
        let names: BTreeSet<&String> = self.files.keys().chain(other.files.keys()).collect();
        let mut told = String::new();
        for name in names {
            let (is, was) = (self.files.get(name), other.files.get(name));
            if is == was || is_of_machine(name) || is_left_over(name) {
                continue;
            }
            let show = |it: Option<&Vec<u8>>| {
                it.map_or("missing".to_owned(), |bytes| {
                    format!("{} bytes", bytes.len())
                })
            };
            told.push_str(&format!(
                "  {name}: {} instead of {}\n",
                show(is),
                show(was)
            ));
        }
        (!told.is_empty()).then_some(told)
    }
}

/// What was found with its score, one a line. Among equals the order is open,
/// and so is which of them are beyond the last place.
fn ranked(results: &serde_json::Value) -> String {
    let results = results.as_array().map(Vec::as_slice).unwrap_or_default();
    let last = results.last().map(|it| it["score"].to_string());
    let mut lines: Vec<String> = results
        .iter()
        .filter(|it| results.len() < 20 || Some(it["score"].to_string()) != last)
        .map(|it| format!("{} {} {}\n", it["score"], it["path"], it["lines"]))
        .collect();
    lines.sort();
    lines.concat()
}

/// Files that tell of all the others, the restart's own note included.
const DRAWN: [&str; 2] = ["ws/memory/.graph.md", "ws/site/data.js"];

fn is_drawn(name: &str) -> bool {
    DRAWN.contains(&name)
}

/// A write that no scenario makes.
const WRITE: &[&str] = &[
    "agent",
    "remember",
    "zz",
    "--agent",
    "zz/zz",
    "--type",
    "project",
    "--content",
    "Written after the restart",
];
const SEARCH: &[&str] = &[
    "search",
    "--json",
    "--mode",
    "text",
    "--scope",
    "all",
    "-n",
    "20",
    "--",
    "lease office seeds restart billing",
];

const EVIDENCE: &str = ".mind/evidence/";

/// Returns what a file says: evidence without the mark in its first line, which
/// differs from run to run.
fn content_of<'a>(name: &str, bytes: &'a [u8]) -> &'a [u8] {
    match bytes.iter().position(|it| *it == b'\n') {
        Some(end) if name.contains(EVIDENCE) && name.ends_with(".jsonl") => &bytes[end..],
        _ => bytes,
    }
}

/// Files that hooks and bulk runs keep: each is whole by itself, and which of
/// them came before the knife is nobody's concern.
fn is_of_machine(name: &str) -> bool {
    let inside = name.strip_prefix("ws/").unwrap_or(name);
    inside.starts_with(".mind/.")
        || inside.starts_with(".mind/checkpoints/")
        || inside.starts_with(EVIDENCE)
        || is_lock(name)
        || (inside.starts_with("memory/.") && inside.ends_with("-runs.log"))
}

fn is_lock(name: &str) -> bool {
    name.rsplit('/')
        .next()
        .is_some_and(|it| it.starts_with('.') && it.ends_with(".lock"))
}

/// Temporary files, and changes that did not come to their end.
fn is_left_over(name: &str) -> bool {
    let last = name.rsplit('/').next().unwrap_or(name);
    let temporary = last.starts_with(".memory-forge-") && last.ends_with(".tmp");
    let journal = name.contains("/.memory-forge/undo/")
        && [".new", ".pending", ".dropped", ".interrupted"]
            .iter()
            .any(|end| last.ends_with(end));
    temporary || journal
}

/// Writes a path with the separator that the names in the table have.
fn slashed(path: &str) -> String {
    path.replace(std::path::MAIN_SEPARATOR, "/")
}

fn slug(root: &Path) -> String {
    let plain = |c: char| if c.is_ascii_alphanumeric() { c } else { '-' };
    root.to_string_lossy().chars().map(plain).collect()
}

/// Removes what is not wanted below a folder, and what is of another kind.
fn remove_others(folder: &Path, wanted: &HashMap<&Path, &What>) -> Result<()> {
    for entry in fs::read_dir(folder)? {
        let entry = entry?;
        let (path, kind) = (entry.path(), entry.file_type()?);
        match wanted.get(path.as_path()) {
            Some(What::Folder) if kind.is_dir() => remove_others(&path, wanted)?,
            Some(What::File { .. }) if kind.is_file() => {}
            _ if kind.is_dir() => fs::remove_dir_all(&path)?,
            _ => fs::remove_file(&path)?,
        }
    }
    Ok(())
}

/// Everything below a folder, folders before what is in them.
fn keep(folder: &Path, kept: &mut Vec<Kept>) -> Result<()> {
    let mut entries: Vec<PathBuf> = Vec::new();
    for entry in fs::read_dir(folder)? {
        entries.push(entry?.path());
    }
    entries.sort();
    for path in entries {
        let meta = path.symlink_metadata()?;
        if meta.is_symlink() {
            let what = What::Link(fs::read_link(&path)?);
            kept.push(Kept { path, what });
        } else if meta.is_dir() {
            kept.push(Kept {
                path: path.clone(),
                what: What::Folder,
            });
            keep(&path, kept)?;
        } else {
            let what = What::File {
                bytes: fs::read(&path)?,
                modified: meta.modified()?,
                mode: meta.permissions(),
            };
            kept.push(Kept { path, what });
        }
    }
    Ok(())
}
