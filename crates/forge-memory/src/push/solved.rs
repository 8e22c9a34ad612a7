//! Errors that took several steps before, and the command that solved them. An
//! error that was solved at once, or by changing files, is work and has no key.

use std::collections::BTreeMap;

use super::keys::{KeyTable, PushKey, command_form};
use super::sentence::PushItem;
use crate::evidence::{CommandFact, EvidenceFact, EvidenceLog, SimpleCommand, parse_command};

/// Steps from which on knowing the solution would have saved some.
const MIN_STEPS: usize = 3;
/// Steps after which a success has another cause.
const MAX_STEPS: usize = 30;
/// Keys that are kept, the newest first.
const MAX_SOLVED: usize = 50;

/// The program, its subcommand, and the error that it reported.
type ErrorForm = (String, String, String);

/// An error of a session that is not solved yet.
struct OpenError {
    steps: usize,
    /// Whether a file was changed since: then the change may be the solution.
    has_changes: bool,
    /// The latest command that may have solved it.
    candidate: Option<usize>,
}

pub(super) fn solved_keys(log: &EvidenceLog, parsed: &[Vec<SimpleCommand>]) -> Vec<PushKey> {
    let mut open: BTreeMap<&str, BTreeMap<ErrorForm, OpenError>> = BTreeMap::new();
    // The newest end of each error counts.
    let mut ends: BTreeMap<ErrorForm, Option<PushKey>> = BTreeMap::new();
    for (at, (entry, commands)) in log.entries.iter().zip(parsed).enumerate() {
        let of_session = open.entry(&entry.session).or_default();
        let fact = match &entry.fact {
            EvidenceFact::Changed { .. } => {
                of_session.values_mut().for_each(|it| it.has_changes = true);
                continue;
            }
            EvidenceFact::Command(fact) => fact,
            _ => continue,
        };
        of_session.values_mut().for_each(|it| it.steps += 1);
        if let Some(form) = error_form(fact, commands) {
            of_session.entry(form).or_insert(OpenError {
                steps: 0,
                has_changes: false,
                candidate: None,
            });
            continue;
        }
        if !fact.worked {
            continue;
        }
        let worked = commands.iter().filter_map(command_form);
        let worked: Vec<(String, String)> = worked.collect();
        let solved: Vec<ErrorForm> = of_session
            .keys()
            .filter(|(program, subcommand, _)| {
                let mut worked = worked.iter();
                worked.any(|(name, words)| name == program && words == subcommand)
            })
            .cloned()
            .collect();
        for form in solved {
            if let Some(error) = of_session.remove(&form) {
                let key = solved_key(&form, &error, log, entry.at);
                ends.insert(form, key);
            }
        }
        // A command that only reads has no form, and solves nothing.
        if !worked.is_empty() {
            of_session
                .values_mut()
                .for_each(|it| it.candidate = Some(at));
        }
        of_session.retain(|_, it| it.steps <= MAX_STEPS);
    }
    let mut keys: Vec<(i64, PushKey)> = ends
        .into_values()
        .flatten()
        .filter_map(|key| match key {
            PushKey::Solved { last, .. } => Some((last, key)),
            _ => None,
        })
        .collect();
    keys.sort_by_key(|(last, _)| std::cmp::Reverse(*last));
    keys.into_iter()
        .take(MAX_SOLVED)
        .map(|(_, key)| key)
        .collect()
}

fn solved_key(
    (program, subcommand, error): &ErrorForm,
    open: &OpenError,
    log: &EvidenceLog,
    last: i64,
) -> Option<PushKey> {
    let at = open.candidate?;
    let EvidenceFact::Command(solution) = &log.entries[at].fact else {
        return None;
    };
    let is_key = open.steps >= MIN_STEPS && !open.has_changes;
    is_key.then(|| PushKey::Solved {
        program: program.clone(),
        subcommand: subcommand.clone(),
        error: error.clone(),
        instead: solution.command.clone(),
        steps: open.steps,
        last,
        line: at + 2,
    })
}

/// Returns the form of an error that is not the program's refusal of a part of
/// the command, which has a key of its own.
fn error_form(fact: &CommandFact, commands: &[SimpleCommand]) -> Option<ErrorForm> {
    if fact.worked || fact.fault.is_some() {
        return None;
    }
    let (program, subcommand) = commands.iter().rev().find_map(command_form)?;
    Some((program, subcommand, error_pattern(&fact.error)?))
}

/// Returns an error line without numbers, which differ from one time to the
/// next; `None` for a line that many errors have.
fn error_pattern(error: &str) -> Option<String> {
    let mut pattern = String::new();
    for c in error.trim().chars() {
        if !c.is_ascii_digit() {
            pattern.extend(c.to_lowercase());
        } else if !pattern.ends_with('#') {
            pattern.push('#');
        }
    }
    let words = pattern.split_whitespace().count();
    (words >= 4 && pattern.len() >= 20).then_some(pattern)
}

/// Returns the item for a command that has just failed as one did before.
pub fn solved_item(table: &KeyTable, fact: &CommandFact) -> Option<PushItem> {
    let form = error_form(fact, &parse_command(&fact.command))?;
    table.keys.iter().find_map(|key| {
        let PushKey::Solved {
            program,
            subcommand,
            error,
            instead,
            steps,
            last,
            line,
        } = key
        else {
            return None;
        };
        let is_same = (program, subcommand, error) == (&form.0, &form.1, &form.2);
        is_same.then(|| PushItem::of_solution(error, instead, *steps, (*last, *line)))
    })
}

#[cfg(test)]
mod tests {
    use super::super::keys::tests::{keys, log};
    use super::*;

    const FAILS: &str = "s1 | Bash | make test | Exit code 2 / error: could not connect to port 5432 of the database\n";

    #[test]
    fn a_command_that_solved_an_error_after_some_steps_is_a_key() {
        let steps = "
            s1 | Bash | make lint | fine
            s1 | Bash | cat Makefile | test:
            s1 | Bash | docker compose up -d db | started
            s1 | Bash | make test | fine
        ";
        let found = keys(&format!("{FAILS}{steps}"));
        assert_eq!(found, ["make solved after 4 → docker compose up -d db"]);
        // Another number is the same error.
        let table = KeyTable::build(&log(&format!("{FAILS}{steps}")), Vec::new());
        let again = log(&FAILS.replace("5432", "6000"));
        let EvidenceFact::Command(fact) = &again.entries[0].fact else {
            panic!("a command");
        };
        let item = solved_item(&table, fact).expect("an item");
        let text = item.render("nonce", 2_000).expect("it fits");
        assert!(text.contains("docker compose up -d db"), "{text}");
    }

    #[test]
    fn what_is_solved_at_once_or_by_work_has_no_key() {
        // `gofmt` finds something and is run with `-w`.
        let at_once =
            "s1 | Bash | docker compose up -d db | started\ns1 | Bash | make test | fine\n";
        assert!(keys(&format!("{FAILS}{at_once}")).is_empty());
        let work = "
            s1 | Bash | docker compose up -d db | started
            s1 | Edit | src/a.go | The file has been updated.
            s1 | Bash | cat src/a.go | package a
            s1 | Bash | make test | fine
        ";
        assert!(
            keys(&format!("{FAILS}{work}"))
                .iter()
                .all(|it| !it.contains("solved"))
        );
        // Nothing but reading was done: the success has another cause.
        let reading = "s1 | Bash | cat a.txt | x\n".repeat(4);
        assert!(keys(&format!("{FAILS}{reading}s1 | Bash | make test | fine")).is_empty());
        // The last time it was solved at once.
        let long = "
            s1 | Bash | make lint | fine
            s1 | Bash | make docs | fine
            s1 | Bash | docker compose up -d db | started
            s1 | Bash | make test | fine
        ";
        assert_eq!(keys(&format!("{FAILS}{long}")).len(), 1);
        assert!(keys(&format!("{FAILS}{long}{FAILS}{at_once}")).is_empty());
    }
}
