//! Which call is tried with what in which place, and what must hold then.

use std::collections::{BTreeMap, BTreeSet};
use std::fmt;
use std::sync::Mutex;
use std::sync::atomic::{AtomicUsize, Ordering};

use crate::cases;
use crate::plant::{CANARY, Hostility};
use crate::stage::{Answer, Stage};
use crate::table::{ROWS, row_of};
use crate::trace;

/// Something in the place of a file, and the call that meets it.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub(crate) struct Trial {
    /// The number of the case.
    case: usize,
    hostility: Hostility,
    place: String,
}

impl fmt::Display for Trial {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{:?} at `{}`", self.hostility, self.place)
    }
}

/// How often each place is tried with each hostility, in other calls.
const TIMES: usize = 2;

/// The places that each case looks at, by row. Without a trace every case is
/// taken to look at every row.
fn looked() -> Vec<BTreeMap<usize, Vec<String>>> {
    let traced: Vec<_> = trace::all()
        .iter()
        .map(|looked| {
            let mut rows: BTreeMap<usize, Vec<String>> = BTreeMap::new();
            for place in &looked.places {
                let Some(row) = row_of(place) else { continue };
                let places = rows.entry(row).or_default();
                if ROWS[row].example.is_some() {
                    places.push(place.clone());
                }
            }
            rows.retain(|_, places| !places.is_empty());
            rows
        })
        .collect();
    if traced.is_empty() {
        cases::all().iter().map(|_| examples()).collect()
    } else {
        traced
    }
}

fn examples() -> BTreeMap<usize, Vec<String>> {
    let rows = ROWS.iter().enumerate();
    rows.filter_map(|(at, row)| Some((at, vec![row.example?.to_owned()])))
        .collect()
}

/// Each row with each hostility [`TIMES`] times, each case with each hostility
/// at least once.
pub(crate) fn covering(hostilities: &[Hostility]) -> Vec<Trial> {
    let looked = looked();
    let mut trials = BTreeSet::new();
    for &hostility in hostilities {
        let mut used = vec![0_usize; looked.len()];
        for row in examples().into_keys() {
            let lookers = || (0..looked.len()).filter(|case| looked[*case].contains_key(&row));
            for time in 0..TIMES {
                let Some(case) = lookers().min_by_key(|case| used[*case]) else {
                    break;
                };
                used[case] += 1;
                let places = &looked[case][&row];
                // Other places of the row for each hostility, so that names such
                // as the index's log and lock get their turn.
                let turn = time + row + TIMES * hostility as usize;
                let place = places[turn % places.len()].clone();
                trials.insert(Trial {
                    case,
                    hostility,
                    place,
                });
            }
        }
        for case in (0..looked.len()).filter(|case| used[*case] == 0) {
            // Another row for each, so that all are tried.
            let rows: Vec<&Vec<String>> = looked[case].values().collect();
            let Some(places) = rows.get((case * 7 + hostility as usize) % rows.len().max(1)) else {
                continue;
            };
            trials.insert(Trial {
                case,
                hostility,
                place: places[(case + hostility as usize) % places.len()].clone(),
            });
        }
    }
    trials.into_iter().collect()
}

/// Each case with each row and each hostility. A part of it can be asked for:
/// `MEMORY_FORGE_HOSTILE_PART=2/5` is the second fifth.
pub(crate) fn product(hostilities: &[Hostility]) -> Vec<Trial> {
    let mut trials = Vec::new();
    for (case, looked) in looked().iter().enumerate() {
        let mut rows = examples();
        rows.extend(looked.clone());
        for place in rows.into_values().flatten() {
            for &hostility in hostilities {
                let place = place.clone();
                trials.push(Trial {
                    case,
                    hostility,
                    place,
                });
            }
        }
    }
    let part = std::env::var("MEMORY_FORGE_HOSTILE_PART").unwrap_or_default();
    let part = part.split_once('/').and_then(|(part, of)| {
        let (part, of): (usize, usize) = (part.parse().ok()?, of.parse().ok()?);
        (part > 0).then(|| (part - 1, of))
    });
    match part {
        Some((part, of)) => trials.into_iter().skip(part).step_by(of.max(1)).collect(),
        None => trials,
    }
}

/// Runs all of them and fails with everything that did not hold.
pub(crate) fn run(trials: Vec<Trial>) {
    let only = std::env::var("MEMORY_FORGE_HOSTILE_ONLY").unwrap_or_default();
    let cases = cases::all();
    let mut by_case: BTreeMap<usize, Vec<Trial>> = BTreeMap::new();
    for trial in trials {
        let line = format!("{}: {trial}", cases[trial.case].name);
        if line.contains(&only) {
            by_case.entry(trial.case).or_default().push(trial);
        }
    }
    let total: usize = by_case.values().map(Vec::len).sum();
    let queue: Vec<(usize, Vec<Trial>)> = by_case.into_iter().collect();
    let next = AtomicUsize::new(0);
    let found = Mutex::new(Vec::new());
    std::thread::scope(|scope| {
        for _ in 0..std::thread::available_parallelism().map_or(2, usize::from) {
            scope.spawn(|| {
                while let Some((case, trials)) = queue.get(next.fetch_add(1, Ordering::Relaxed)) {
                    let stage = Stage::new(cases[*case].clone());
                    for trial in trials {
                        let wrong = tried(&stage, trial);
                        let mut found = found.lock().expect("no panic");
                        for what in wrong {
                            let line = format!("{}: {trial}: {what}", stage.case.name);
                            eprintln!("{line}");
                            found.push(line);
                        }
                    }
                }
            });
        }
    });
    let mut found = found.into_inner().expect("no panic");
    found.sort();
    println!(
        "{total} trials in {} cases, {} findings",
        queue.len(),
        found.len()
    );
    assert!(total > 0, "nothing was tried");
    assert!(
        found.is_empty(),
        "{} of {total} trials:\n  {}",
        found.len(),
        found.join("\n  ")
    );
}

/// Plays a case with something planted, and gives what did not hold.
fn tried(stage: &Stage, trial: &Trial) -> Vec<String> {
    let path = stage.path(&trial.place);
    if !stage.outside.plant(trial.hostility, &path) {
        return Vec::new();
    }
    let mut answer = stage.play();
    if answer.signal.is_some() {
        // A machine may stand still for a while; a program that hangs does it
        // again.
        stage.put_back();
        stage.outside.plant(trial.hostility, &path);
        answer = stage.play();
    }
    let mut wrong = judged(stage, &answer);
    for path in stage.changed_outside() {
        wrong.push(format!("changed outside: {}", path.display()));
    }
    let in_home = trial.place.starts_with("home:");
    if !in_home {
        let changed = stage.changed_in_home();
        for path in changed.difference(&stage.usual_in_home) {
            wrong.push(format!("changed in the home: {}", path.display()));
        }
    }
    // Links in the home are a person's own, and lead where that person says.
    if trial.hostility.leads_to_the_canary() && !in_home {
        for (name, text) in [("stdout", &answer.stdout), ("stderr", &answer.stderr)] {
            if let Some(line) = text.lines().find(|line| line.contains(CANARY)) {
                wrong.push(format!("{name} shows what lies outside: {line:.200}"));
            }
        }
        for path in stage.copies_of_the_canary() {
            wrong.push(format!("what lies outside was copied: {}", path.display()));
        }
    }
    stage.put_back();
    wrong
}

/// What the answer itself must be.
fn judged(stage: &Stage, answer: &Answer) -> Vec<String> {
    let mut wrong = Vec::new();
    let said = || answer.stderr.lines().last().unwrap_or_default();
    match (answer.code, answer.signal) {
        (None, Some(9)) => wrong.push("hangs".to_owned()),
        (None, signal) => wrong.push(format!("ended by signal {signal:?}: {:.300}", said())),
        (Some(0..=2), _) => {}
        // The shell's way to say that a signal ended it: 134 where memory ends.
        (Some(code), _) => wrong.push(format!("exit {code}: {:.300}", said())),
    }
    if answer.stderr.contains("panicked at") {
        wrong.push(format!("panics: {:.300}", answer.stderr));
    }
    if stage.case.is_hook() && wrong.is_empty() {
        let object = serde_json::from_str::<serde_json::Value>(&answer.stdout);
        if answer.code != Some(0) || !object.is_ok_and(|it| it.is_object()) {
            let (code, text) = (answer.code, &answer.stdout);
            wrong.push(format!("no hook's answer: {code:?} {text:.200}"));
        }
    }
    wrong
}
