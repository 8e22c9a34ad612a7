//! Which places of the workspace and the home a call looks at: opened, listed,
//! measured, made, renamed or removed, there or not, by the program or by a
//! git that it started.

use std::collections::{BTreeMap, BTreeSet};
use std::fs;
use std::path::{Path, PathBuf};
use std::process::Command;
use std::sync::OnceLock;

use crate::cases;
use crate::stage::Stage;

pub(crate) struct Looked {
    /// The name of the case.
    pub(crate) case: String,
    pub(crate) places: BTreeSet<String>,
}

pub(crate) fn works() -> bool {
    let traced = Command::new("strace")
        .args(["-qq", "-e", "trace=none", "true"])
        .output();
    traced.is_ok_and(|output| output.status.success())
}

/// What every case looks at; nothing where nothing can be traced.
pub(crate) fn all() -> &'static [Looked] {
    static ALL: OnceLock<Vec<Looked>> = OnceLock::new();
    ALL.get_or_init(|| {
        if !works() {
            return Vec::new();
        }
        let cases = cases::all();
        let next = std::sync::atomic::AtomicUsize::new(0);
        let found = std::sync::Mutex::new(Vec::new());
        std::thread::scope(|scope| {
            for _ in 0..std::thread::available_parallelism().map_or(2, usize::from) {
                scope.spawn(|| {
                    loop {
                        let at = next.fetch_add(1, std::sync::atomic::Ordering::Relaxed);
                        let Some(case) = cases.get(at) else { return };
                        let looked = look(&Stage::new(case.clone()));
                        found.lock().expect("no panic").push((at, looked));
                    }
                });
            }
        });
        let mut found = found.into_inner().expect("no panic");
        found.sort_by_key(|(at, _)| *at);
        found.into_iter().map(|(_, looked)| looked).collect()
    })
}

fn look(stage: &Stage) -> Looked {
    let log = stage.outside.folder().with_file_name("calls.log");
    let log_name = log.to_string_lossy().into_owned();
    stage.below(&[
        "strace",
        "-f",
        "-qq",
        "-y",
        "-s",
        "4096",
        "-e",
        "trace=%file",
        "-o",
        &log_name,
    ]);
    let calls = fs::read(&log).expect("strace wrote it");
    let _ = fs::remove_file(&log);
    let places = places(stage, &String::from_utf8_lossy(&calls));
    Looked {
        case: stage.case.name.clone(),
        places,
    }
}

/// The places that stand in the lines of a trace, such as
/// `7 openat(AT_FDCWD</ws>, "knowledge/a.md", O_RDONLY) = 5</ws/knowledge/a.md>`.
fn places(stage: &Stage, calls: &str) -> BTreeSet<String> {
    let mut places = BTreeSet::new();
    // What the numbers of open folders stand for, by process.
    let mut open: BTreeMap<(&str, String), PathBuf> = BTreeMap::new();
    for line in calls.lines() {
        let (process, call) = line.trim_start().split_once(' ').unwrap_or(("", line));
        let call = call.trim_start();
        if let Some((_, result)) = call.rsplit_once(" = ")
            && let Some((number, path)) = result.split_once('<')
            && let Some(path) = path.strip_suffix('>')
        {
            open.insert((process, number.to_owned()), path.into());
        }
        let mut folder = stage.root().to_owned();
        for part in arguments(call) {
            match part {
                Part::Folder(path) => folder = path.into(),
                Part::Path(path) => {
                    let path = through(&open, process, &folder.join(path));
                    if let Some(place) = stage.place(&plain(&path))
                        && !matches!(place.as_str(), "" | "home:")
                    {
                        places.insert(place);
                    }
                }
            }
        }
    }
    places
}

enum Part<'a> {
    /// Where the paths after it begin.
    Folder(&'a str),
    Path(&'a str),
}

/// The folders and the quoted names of a call. Names with escapes in them are
/// not ours.
fn arguments(call: &str) -> Vec<Part<'_>> {
    let mut parts = Vec::new();
    // Only paths are traced, and a program that is run has its words in a list.
    let call = call.split(", [").next().unwrap_or(call);
    let call = call.rsplit_once(" = ").map_or(call, |(call, _)| call);
    let mut rest = call;
    while let Some(at) = rest.find(['<', '"']) {
        let end = if rest[at..].starts_with('<') {
            '>'
        } else {
            '"'
        };
        let inside = &rest[at + 1..];
        let Some(length) = inside.find(end) else {
            break;
        };
        let text = &inside[..length];
        match end {
            '>' => parts.push(Part::Folder(text)),
            _ => parts.push(Part::Path(text)),
        }
        rest = &inside[length + 1..];
    }
    parts
}

/// A path below `/proc/self/fd`, as it is without.
fn through(open: &BTreeMap<(&str, String), PathBuf>, process: &str, path: &Path) -> PathBuf {
    let Ok(below) = path.strip_prefix("/proc/self/fd") else {
        return path.to_owned();
    };
    let mut names = below.components();
    let number = names.next().map(|it| it.as_os_str().to_string_lossy());
    let number = number.unwrap_or_default().into_owned();
    // Threads have numbers of their own and share what is open.
    let known = open.get(&(process, number.clone())).or_else(|| {
        let mut others = open.iter().filter(|((_, it), _)| *it == number);
        others.next_back().map(|(_, path)| path)
    });
    known.map_or_else(|| path.to_owned(), |folder| folder.join(names.as_path()))
}

/// Without `.` and `..`.
fn plain(path: &Path) -> PathBuf {
    let mut plain = PathBuf::new();
    for part in path.components() {
        match part {
            std::path::Component::CurDir => {}
            std::path::Component::ParentDir => drop(plain.pop()),
            other => plain.push(other),
        }
    }
    plain
}
