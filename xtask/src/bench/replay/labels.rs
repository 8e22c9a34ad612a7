//! Compares a replay with needs that a person labelled, and two readers with
//! each other. The labels are a Python file beside the data; they are only
//! read.

use std::collections::{BTreeMap, BTreeSet};
use std::path::Path;
use std::process::Command;

use anyhow::{Context, Result, ensure};
use forge_app::replay::{MIN_PUSHES_FOR_SHARES, share_interval};
use serde_json::Value;

/// A need: in which session, and at which events a push is in time.
pub(super) struct LabelledNeed {
    name: String,
    session: usize,
    kind: &'static str,
    events: BTreeSet<usize>,
    /// Whether a step or a turn would surely have been saved.
    is_strong: bool,
}

/// Reads the labels; `None`, with a line, where they are absent.
pub(super) fn read_needs() -> Result<Option<Vec<LabelledNeed>>> {
    let folder = super::super::data_folder().map(|it| it.join("push"));
    let Some(folder) = folder.filter(|it| it.join("labels.py").is_file()) else {
        println!("skipped: no push/labels.py in MEMORY_FORGE_BENCH_DATA");
        return Ok(None);
    };
    let output = Command::new("python3")
        .args([
            "-B",
            "-c",
            "import json, labels; print(json.dumps(labels.N))",
        ])
        .current_dir(&folder)
        .output();
    let Ok(output) = output else {
        println!("skipped: the labels need `python3`");
        return Ok(None);
    };
    ensure!(output.status.success(), "push/labels.py cannot be read");
    let rows: Vec<Value> = serde_json::from_slice(&output.stdout)?;
    Ok(Some(rows.iter().filter_map(parse_need).collect()))
}

fn parse_need(row: &Value) -> Option<LabelledNeed> {
    let name = row["id"].as_str()?.to_owned();
    let events = ["before", "after", "prompt"]
        .iter()
        .flat_map(|field| row[field].as_array().into_iter().flatten())
        .filter_map(|it| usize::try_from(it.as_u64()?).ok());
    let kind = match (row["kind"].as_str()?, name.starts_with("man")) {
        (_, true) => "refusal",
        ("a" | "d", _) if name.starts_with("big") || name.starts_with("log") => "size",
        ("a" | "d", _) => "command",
        ("b", _) => "path",
        ("c", _) => "correction",
        _ => "answer",
    };
    Some(LabelledNeed {
        session: usize::try_from(row["s"].as_u64()?).ok()?,
        kind,
        events: events.collect(),
        is_strong: row["cls"] == "S",
        name,
    })
}

/// Kinds that a key can see.
const KEY_KINDS: [&str; 4] = ["command", "path", "size", "refusal"];

/// Which event each line of a transcript has.
#[derive(Default)]
pub(super) struct LabelledEvents {
    /// By the name of the transcript.
    pub(super) lines: BTreeMap<String, Vec<usize>>,
    /// Ids of sessions in the order that the labels count.
    pub(super) order: Vec<String>,
}

impl LabelledEvents {
    /// Prints which labelled needs of the replayed sessions were met, and how
    /// many pushes were at one.
    pub(super) fn compare(&self, report: &Value, needs: &[LabelledNeed]) {
        // Numbers of the replay, as label number and transcript.
        let mut sessions: BTreeMap<u64, (usize, &Vec<usize>)> = BTreeMap::new();
        for row in list(report, "by_session") {
            let place = || {
                let id = row["id"].as_str()?;
                let name = row["path"].as_str()?.rsplit('/').next()?;
                let label = self.order.iter().position(|it| it == id)?;
                Some((row["session"].as_u64()?, (label, self.lines.get(name)?)))
            };
            sessions.extend(place());
        }
        let counted: BTreeSet<usize> = sessions.values().map(|(label, _)| *label).collect();
        let place = |row: &Value| -> Option<(usize, usize)> {
            let (label, events) = sessions.get(&row["session"].as_u64()?)?;
            let line = usize::try_from(row["line"].as_u64()?).ok()?;
            Some((*label, *events.get(line.checked_sub(1)?)?))
        };
        let mut pushed: BTreeMap<(usize, usize), bool> = BTreeMap::new();
        for push in list(report, "pushes") {
            if let Some(at) = place(push) {
                pushed.insert(at, push["right"] == true);
            }
        }
        let is_met = |need: &LabelledNeed| {
            let mut at = need.events.iter().map(|event| (need.session, *event));
            at.any(|at| pushed.get(&at) == Some(&true))
        };
        let of_part: Vec<&LabelledNeed> = needs
            .iter()
            .filter(|it| it.is_strong && counted.contains(&it.session))
            .collect();
        println!("\nlabelled needs   needs  met in time");
        let row = |name: &str, kinds: &[&str]| {
            let kind: Vec<_> = of_part
                .iter()
                .filter(|it| kinds.contains(&it.kind))
                .collect();
            let met: Vec<&str> = kind
                .iter()
                .filter(|it| is_met(it))
                .map(|it| it.name.as_str())
                .collect();
            println!(
                "{name:<16} {:>5} {:>12}  {}",
                kind.len(),
                met.len(),
                met.join(" ")
            );
        };
        for kind in ["command", "path", "size", "refusal", "correction", "answer"] {
            row(kind, &[kind]);
        }
        row("key kinds", &KEY_KINDS);
        row(
            "all",
            &["command", "path", "size", "refusal", "correction", "answer"],
        );
        let missed: Vec<&str> = of_part
            .iter()
            .filter(|it| KEY_KINDS.contains(&it.kind) && !is_met(it))
            .map(|it| it.name.as_str())
            .collect();
        println!("missed, of key kinds: {}", missed.join(" "));
        let labelled: BTreeSet<(usize, usize)> = of_part
            .iter()
            .flat_map(|need| need.events.iter().map(|event| (need.session, *event)))
            .collect();
        let at_need = pushed.keys().filter(|at| labelled.contains(at)).count();
        println!(
            "{at_need} of {} pushes are at a labelled need",
            pushed.len()
        );
        for (session, event) in pushed.keys().filter(|at| !labelled.contains(at)) {
            println!("  none is labelled at session {session} event {event}");
        }
        print_aims(report);
    }
}

/// Prints counts, and shares where there are pushes enough.
fn print_aims(report: &Value) {
    let number = |value: &Value| usize::try_from(value.as_u64().unwrap_or_default()).unwrap_or(0);
    let total = &report["total"];
    let (pushes, right) = (number(&total["pushes"]), number(&total["right"]));
    let (sessions, moments) = (number(&report["sessions"]), number(&report["moments"]));
    println!(
        "{} wrong pushes ({} contradicted) in {moments} moments of {sessions} sessions, ~{} tokens in all",
        pushes - right,
        number(&total["contradicted"]),
        number(&total["tokens"])
    );
    if pushes >= MIN_PUSHES_FOR_SHARES {
        let (low, high) = share_interval(right, pushes);
        println!(
            "precision {:.1} % ({:.1}–{:.1}), {:.2} wrong pushes in 100 moments, {:.1} tokens a session",
            100.0 * right as f64 / pushes as f64,
            low as f64 / 10.0,
            high as f64 / 10.0,
            100.0 * (pushes - right) as f64 / moments.max(1) as f64,
            number(&total["tokens"]) as f64 / sessions.max(1) as f64
        );
    }
}

/// Prints how far a second reader agrees: of events that both judged, which
/// are at a need. The file is a list of `{"s", "i", "need"}`.
pub(super) fn compare_readers(needs: &[LabelledNeed], path: &Path) -> Result<()> {
    let text = std::fs::read_to_string(path).with_context(|| path.display().to_string())?;
    let rows: Vec<Value> = serde_json::from_str(&text)?;
    let first: BTreeSet<(usize, usize)> = needs
        .iter()
        .filter(|it| it.is_strong)
        .flat_map(|need| need.events.iter().map(|event| (need.session, *event)))
        .collect();
    // Neither, the second alone, the first alone, both.
    let mut counts = [0usize; 4];
    for row in &rows {
        let at = |field: &str| usize::try_from(row[field].as_u64()?).ok();
        let (Some(session), Some(event)) = (at("s"), at("i")) else {
            continue;
        };
        let is_first = first.contains(&(session, event));
        counts[usize::from(is_first) * 2 + usize::from(row["need"] == true)] += 1;
    }
    let [neither, second, one, both] = counts;
    println!(
        "\nTwo readers, {} events: both {both}, the first alone {one}, the second alone {second}, neither {neither}; kappa {:.2}",
        rows.len(),
        kappa(counts)
    );
    Ok(())
}

/// Returns Cohen's kappa of two readers with two labels.
fn kappa([neither, second, first, both]: [usize; 4]) -> f64 {
    let all = (neither + second + first + both) as f64;
    let share = |count: usize| count as f64 / all;
    let (yes_first, yes_second) = (share(first + both), share(second + both));
    let by_chance = yes_first * yes_second + (1.0 - yes_first) * (1.0 - yes_second);
    (share(neither + both) - by_chance) / (1.0 - by_chance)
}

fn list<'a>(report: &'a Value, field: &str) -> impl Iterator<Item = &'a Value> {
    report[field].as_array().into_iter().flatten()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn kappa_is_one_for_agreement_and_none_for_chance() {
        assert!((kappa([5, 0, 0, 5]) - 1.0).abs() < 1e-9);
        assert!(kappa([25, 25, 25, 25]).abs() < 1e-9);
        assert!((kappa([68, 2, 10, 40]) - 0.7895).abs() < 1e-3);
    }
}
