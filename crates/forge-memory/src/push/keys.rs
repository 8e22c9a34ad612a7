//! The table of known keys: made from evidence when a turn ends, read at every
//! action. A key that was contradicted since is not in it.

use std::collections::{BTreeMap, HashMap, HashSet};

use serde::{Deserialize, Serialize};

use super::MAX_KEYS_BYTES;
use crate::evidence::{
    CommandFact, CommandFault, EvidenceEntry, EvidenceFact, EvidenceLog, SimpleCommand,
    TWO_WORD_PROGRAMS, parse_command,
};

/// A key with what is to be shown where it matches.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(tag = "key", rename_all = "kebab-case")]
pub enum PushKey {
    /// Part of a command that failed and never worked.
    Fault {
        /// The program and the part that it did not accept.
        fault: CommandFault,
        /// Number of failures in the log.
        times: usize,
        /// Seconds of the last time.
        last: i64,
        /// The error line of the last failure.
        error: String,
        /// A command that worked next, or nothing.
        #[serde(default, skip_serializing_if = "String::is_empty")]
        instead: String,
        /// Line of the last failure in the log.
        line: usize,
    },
    /// A command that the user refused, and has not allowed since.
    Refused {
        /// The name of the program, without folders.
        program: String,
        /// The words that name what the program does; empty if there are none,
        /// `*` for all that it does.
        subcommand: String,
        /// Number of refusals since the command last ran.
        times: usize,
        /// Time of the last refusal, in seconds since 1970.
        last: i64,
        /// The user's latest reason; empty if none was given.
        #[serde(default, skip_serializing_if = "String::is_empty")]
        words: String,
        /// Line of the last refusal in the log.
        line: usize,
    },
    /// A file that the client refused to read whole, with its size then.
    Large {
        /// The file, relative to the workspace unless outside of it.
        path: String,
        /// Its size in bytes when it was refused.
        bytes: u64,
        /// Time of the last refusal, in seconds since 1970.
        last: i64,
        /// Line of the last refusal in the log.
        line: usize,
    },
    /// A path that a command moved or removed.
    Gone {
        /// The path as the command has it, joined with its folder.
        path: String,
        /// Where it was moved to; empty if it was removed.
        #[serde(default, skip_serializing_if = "String::is_empty")]
        target: String,
        /// Time of the command, in seconds since 1970.
        last: i64,
        /// Line of the command in the log.
        line: usize,
    },
    /// A path that was read or changed.
    Known {
        /// The path, relative to the workspace unless outside of it.
        path: String,
        /// Line of the newest such fact in the log.
        line: usize,
    },
    /// An error that once took several steps, and the command that solved it.
    Solved {
        /// The name of the program, without folders.
        program: String,
        /// The words that name what the program does; empty if there are none.
        subcommand: String,
        /// The error line, without what differs from one time to the next.
        error: String,
        /// The command after which the same command worked.
        instead: String,
        /// Number of steps from the error to the success.
        steps: usize,
        /// Time of the success, in seconds since 1970.
        last: i64,
        /// Line of the solving command in the log.
        line: usize,
    },
    /// A document that states which paths or commands it applies to.
    Rule {
        /// The document, relative to the workspace.
        path: String,
        /// Line of the rule in the document.
        line: usize,
        /// The first line of the document's body that is not a heading,
        /// shortened.
        text: String,
        /// Globs of paths, or the first words of commands.
        applies_to: Vec<String>,
        /// Seconds of the document's last change.
        modified: i64,
    },
}

/// Refusals from which on a command has a key.
const MIN_REFUSALS: usize = 2;
/// Commands after a failure among which the one that worked instead is looked
/// for.
const MAX_STEPS_TO_SOLUTION: usize = 6;
/// Known paths that are kept.
const MAX_KNOWN_PATHS: usize = 400;

/// All keys.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct KeyTable {
    /// Rules, then faults, refusals, solved errors, paths that are gone, large
    /// files and known paths.
    pub keys: Vec<PushKey>,
}

impl KeyTable {
    /// Makes the table from evidence and rules, the most valuable keys first.
    pub fn build(log: &EvidenceLog, rules: Vec<PushKey>) -> KeyTable {
        let parsed: Vec<Vec<SimpleCommand>> = log
            .entries
            .iter()
            .map(|entry| match &entry.fact {
                EvidenceFact::Command(fact) => parse_command(&fact.command),
                EvidenceFact::Refused { command, .. } => parse_command(command),
                _ => Vec::new(),
            })
            .collect();
        let mut keys = rules;
        keys.extend(fault_keys(log, &parsed));
        keys.extend(refusal_keys(log, &parsed));
        keys.extend(super::solved::solved_keys(log, &parsed));
        keys.extend(super::gone::gone_keys(log, &parsed));
        keys.extend(path_keys(log));
        KeyTable { keys }
    }

    /// Replaces the line of each key that comes from evidence, by its line in
    /// the log that the table was built from.
    pub fn set_lines(&mut self, line_of: impl Fn(usize) -> usize) {
        for key in &mut self.keys {
            match key {
                PushKey::Fault { line, .. }
                | PushKey::Refused { line, .. }
                | PushKey::Solved { line, .. }
                | PushKey::Large { line, .. }
                | PushKey::Gone { line, .. }
                | PushKey::Known { line, .. } => *line = line_of(*line),
                PushKey::Rule { .. } => {}
            }
        }
    }

    /// Parses a table; lines that cannot be read are left out.
    pub fn parse(text: &str) -> KeyTable {
        let keys = text
            .lines()
            .filter_map(|line| serde_json::from_str(line).ok());
        KeyTable {
            keys: keys.collect(),
        }
    }

    /// Renders the table within its limit; the last keys are dropped.
    pub fn render(&self) -> String {
        let mut text = String::new();
        for key in &self.keys {
            let Ok(line) = serde_json::to_string(key) else {
                continue;
            };
            if text.len() + line.len() + 1 > MAX_KEYS_BYTES {
                break;
            }
            text.push_str(&line);
            text.push('\n');
        }
        text
    }
}

fn command_of(entry: &EvidenceEntry) -> Option<&CommandFact> {
    match &entry.fact {
        EvidenceFact::Command(fact) => Some(fact),
        _ => None,
    }
}

fn fault_keys(log: &EvidenceLog, parsed: &[Vec<SimpleCommand>]) -> Vec<PushKey> {
    let mut failures: BTreeMap<&CommandFault, Vec<usize>> = BTreeMap::new();
    for (at, entry) in log.entries.iter().enumerate() {
        if let Some(fault) = command_of(entry).and_then(|fact| fact.fault.as_ref()) {
            failures.entry(fault).or_default().push(at);
        }
    }
    let mut found: Vec<(i64, PushKey)> = Vec::new();
    for (fault, places) in failures {
        let has_worked = log.entries.iter().zip(parsed).any(|(entry, commands)| {
            command_of(entry).is_some_and(|fact| fact.worked)
                && commands
                    .iter()
                    .any(|it| !it.hides_errors && fault.occurs_in(it))
        });
        let Some(&last) = places.last() else {
            continue;
        };
        if has_worked {
            continue;
        }
        let solutions = places
            .iter()
            .rev()
            .find_map(|&at| find_solution(log, parsed, at, fault));
        let entry = &log.entries[last];
        found.push((
            entry.at,
            PushKey::Fault {
                fault: fault.clone(),
                times: places.len(),
                last: entry.at,
                error: command_of(entry).map_or_else(String::new, |it| it.error.clone()),
                instead: solutions.unwrap_or_default(),
                line: last + 2,
            },
        ));
    }
    found.sort_by_key(|(at, _)| std::cmp::Reverse(*at));
    found.into_iter().map(|(_, key)| key).collect()
}

/// Returns the command that worked next in the same session: without the part
/// that failed, and about the same things.
fn find_solution(
    log: &EvidenceLog,
    parsed: &[Vec<SimpleCommand>],
    at: usize,
    fault: &CommandFault,
) -> Option<String> {
    let session = &log.entries[at].session;
    let things: HashSet<&str> = operand_texts(&parsed[at]).collect();
    let mut steps = 0;
    for (entry, commands) in log.entries.iter().zip(parsed).skip(at + 1) {
        let Some(fact) = command_of(entry).filter(|_| entry.session == *session) else {
            continue;
        };
        steps += 1;
        if steps > MAX_STEPS_TO_SOLUTION {
            return None;
        }
        let is_without = !commands.iter().any(|it| fault.occurs_in(it));
        let is_similar = operand_texts(commands).any(|text| things.contains(text));
        if fact.worked && is_without && is_similar {
            return Some(shorten_command(&fact.command, commands, &fault.program));
        }
    }
    None
}

/// Returns how a command was written: only the call of the program whose part
/// failed, if it has one, and without long operands, which are that session's
/// files and texts. An item has room for little more.
fn shorten_command(command: &str, parsed: &[SimpleCommand], program: &str) -> String {
    const MAX_OPERAND_CHARS: usize = 16;
    let is_long = |text: &str| text.chars().count() > MAX_OPERAND_CHARS;
    if let Some(call) = parsed.iter().find(|it| it.program() == program) {
        let words = call.words.iter().enumerate().map(|(at, word)| {
            let is_shown = at == 0 || !is_long(&word.text) && !word.text.contains(' ');
            if is_shown { word.text.as_str() } else { "…" }
        });
        return words.collect::<Vec<_>>().join(" ");
    }
    let mut long: Vec<&str> = operand_texts(parsed).filter(|text| is_long(text)).collect();
    // One text may be within another.
    long.sort_unstable_by_key(|text| std::cmp::Reverse(text.len()));
    let mut short = command.to_owned();
    for text in long {
        short = short.replace(text, "…");
    }
    match short.split_once(" && ") {
        Some((before, rest)) if before.starts_with("cd ") => rest.trim_start().to_owned(),
        _ => short,
    }
}

fn operand_texts(commands: &[SimpleCommand]) -> impl Iterator<Item = &str> {
    let operands = commands.iter().flat_map(SimpleCommand::operands);
    operands
        .map(|word| word.text.as_str())
        .filter(|text| text.len() >= 3)
}

/// Programs whose refusal says nothing about the program: they take any work.
const GENERAL_PROGRAMS: [&str; 16] = [
    "cd", "echo", "ls", "cat", "pwd", "sleep", "head", "tail", "grep", "rg", "true", "python",
    "python3", "node", "bash", "sh",
];

/// Returns the form by which commands are compared: program and subcommand.
pub fn command_form(command: &SimpleCommand) -> Option<(String, String)> {
    let program = command.program();
    let is_specific = !program.is_empty() && !GENERAL_PROGRAMS.contains(&program);
    let subcommand = command.subcommand();
    let subcommand = if TWO_WORD_PROGRAMS.contains(&program) {
        subcommand
    } else {
        subcommand.split(' ').next().unwrap_or_default().to_owned()
    };
    is_specific.then(|| (program.to_owned(), subcommand))
}

/// The subcommand of a key that covers all that a program does.
const ANY_SUBCOMMAND: &str = "*";

/// Returns the forms by which refusals of a command are counted: its program
/// with its subcommand and, for the project's own program, the program with
/// whatever it does. Who does not want it to be run does not want it for one
/// purpose alone.
pub fn refusal_forms(command: &SimpleCommand) -> Vec<(String, String)> {
    let Some(form) = command_form(command) else {
        return Vec::new();
    };
    let any = (form.0.clone(), ANY_SUBCOMMAND.to_owned());
    let is_own = command.is_own_program();
    std::iter::once(form).chain(is_own.then_some(any)).collect()
}

fn refusal_keys(log: &EvidenceLog, parsed: &[Vec<SimpleCommand>]) -> Vec<PushKey> {
    struct RefusalTally<'a> {
        times: usize,
        last: i64,
        line: usize,
        words: &'a str,
        was_alone: bool,
    }
    let forms_of = |commands: &[SimpleCommand]| -> HashSet<(String, String)> {
        commands.iter().flat_map(refusal_forms).collect()
    };
    // What ran was allowed; that a program printed its help allows nothing.
    let allowed_of = |entry: &EvidenceEntry, commands: &[SimpleCommand]| {
        let ran = command_of(entry).map_or(&[][..], |_| commands);
        let ran = ran.iter().filter(|it| !it.asks_for_help());
        ran.flat_map(refusal_forms).collect::<HashSet<_>>()
    };
    let pairs = || log.entries.iter().zip(parsed);
    let ever_allowed: HashSet<(String, String)> = pairs()
        .flat_map(|(entry, commands)| allowed_of(entry, commands))
        .collect();
    let mut forms: BTreeMap<(String, String), RefusalTally<'_>> = BTreeMap::new();
    for (at, (entry, commands)) in pairs().enumerate() {
        for form in allowed_of(entry, commands) {
            // The user has changed their mind.
            forms.remove(&form);
        }
        let EvidenceFact::Refused { words, .. } = &entry.fact else {
            continue;
        };
        for form in forms_of(commands) {
            // Of several commands on one line, it is not known which was
            // refused, unless the others have been allowed and it has not.
            let is_other = |it: &&SimpleCommand| !refusal_forms(it).contains(&form);
            let others = commands.iter().filter(is_other).filter_map(command_form);
            let others: Vec<(String, String)> = others.collect();
            let is_left =
                !ever_allowed.contains(&form) && others.iter().all(|it| ever_allowed.contains(it));
            let is_alone = others.is_empty() || is_left;
            let tally = forms.entry(form).or_insert(RefusalTally {
                times: 0,
                last: entry.at,
                line: 0,
                words,
                was_alone: false,
            });
            tally.times += 1;
            tally.was_alone |= is_alone;
            (tally.last, tally.line) = (entry.at, at + 2);
            if !words.is_empty() {
                tally.words = words;
            }
        }
    }
    forms.retain(|form, tally| {
        let is_often = tally.times >= MIN_REFUSALS && tally.was_alone;
        // A program that the user lets do some things is not refused whole.
        is_often && (form.1 != ANY_SUBCOMMAND || !ever_allowed.contains(form))
    });
    let whole: HashSet<String> = forms
        .keys()
        .filter(|form| form.1 == ANY_SUBCOMMAND)
        .map(|form| form.0.clone())
        .collect();
    let often = forms.into_iter().filter(|((program, subcommand), _)| {
        subcommand == ANY_SUBCOMMAND || !whole.contains(program)
    });
    often
        .map(|((program, subcommand), tally)| PushKey::Refused {
            program,
            subcommand,
            times: tally.times,
            last: tally.last,
            words: tally.words.to_owned(),
            line: tally.line,
        })
        .collect()
}

/// Returns the files that are too large, then the newest known paths.
fn path_keys(log: &EvidenceLog) -> Vec<PushKey> {
    // The newest fact about a path counts. A read of a part of a large file
    // does not make it smaller; its size is looked at before anything is said.
    let (mut newest, mut newest_large): (HashMap<&str, usize>, HashMap<&str, usize>) =
        (HashMap::new(), HashMap::new());
    for (at, entry) in log.entries.iter().enumerate() {
        match (&entry.fact, entry.fact.path()) {
            (EvidenceFact::TooLarge { .. }, Some(path)) => newest_large.insert(path, at),
            (_, Some(path)) => newest.insert(path, at),
            _ => None,
        };
    }
    let mut places: Vec<usize> = newest
        .into_values()
        .chain(newest_large.into_values())
        .collect();
    places.sort_unstable_by_key(|at| std::cmp::Reverse(*at));
    let (mut large, mut known) = (Vec::new(), Vec::new());
    for at in places {
        let entry = &log.entries[at];
        match &entry.fact {
            EvidenceFact::TooLarge {
                path,
                bytes: Some(bytes),
            } => large.push(PushKey::Large {
                path: path.clone(),
                bytes: *bytes,
                last: entry.at,
                line: at + 2,
            }),
            EvidenceFact::Read { path } | EvidenceFact::Changed { path }
                if known.len() < MAX_KNOWN_PATHS =>
            {
                known.push(PushKey::Known {
                    path: path.clone(),
                    line: at + 2,
                });
            }
            _ => {}
        }
    }
    large.extend(known);
    large
}

#[cfg(test)]
pub(super) mod tests {
    use serde_json::json;

    use super::*;
    use crate::evidence::{ToolOutcome, WorkPlace, observe_result, planned_action};

    /// Makes a log from lines `session | tool | argument | result`.
    pub(crate) fn log(lines: &str) -> EvidenceLog {
        let mut log = EvidenceLog::default();
        let place = WorkPlace {
            root: "/w".as_ref(),
            cwd: "/w".as_ref(),
        };
        let lines = lines.lines().filter(|line| !line.trim().is_empty());
        for (at, line) in lines.enumerate() {
            let parts: Vec<&str> = line.split('|').map(str::trim).collect();
            let [session, tool, argument, result] = parts[..] else {
                panic!("{line}");
            };
            let argument = argument.replace('¦', "|");
            let input = json!({"command": argument, "file_path": argument});
            let action = planned_action(tool, &input, place).expect("a known tool");
            let outcome = ToolOutcome {
                text: result,
                is_error: result.starts_with("Exit code"),
                bytes: Some(100_000),
            };
            // A line break in a result is written as a slash between spaces.
            let text = result.replace(" / ", "\n");
            let outcome = ToolOutcome {
                text: &text,
                ..outcome
            };
            for fact in observe_result(&action, outcome) {
                log.entries.push(EvidenceEntry {
                    at: 1_000 + at as i64,
                    session: session.to_owned(),
                    id: format!("{at}"),
                    fact,
                });
            }
        }
        log
    }

    pub(in crate::push) fn keys(lines: &str) -> Vec<String> {
        let table = KeyTable::build(&log(lines), Vec::new());
        assert_eq!(KeyTable::parse(&table.render()), table);
        let shown = table.keys.iter().map(|key| match key {
            PushKey::Fault {
                fault,
                times,
                instead,
                ..
            } => {
                format!("{} ×{times} → {instead}", fault.command_text())
            }
            PushKey::Refused {
                program,
                subcommand,
                times,
                ..
            } => {
                format!("{program} {subcommand} refused ×{times}")
            }
            PushKey::Large { path, .. } => format!("{path} large"),
            PushKey::Gone { path, target, .. } => format!("{path} gone → {target}"),
            PushKey::Known { path, .. } => format!("{path} known"),
            PushKey::Solved {
                program,
                instead,
                steps,
                ..
            } => format!("{program} solved after {steps} → {instead}"),
            PushKey::Rule { path, .. } => path.clone(),
        });
        shown.collect()
    }

    const REFUSAL: &str = "The user doesn't want to proceed with this tool use";

    #[test]
    fn what_failed_and_never_worked_is_a_key() {
        assert_eq!(
            keys(
                "
                s1 | Bash | sed -n 1p a.go ¦ cat -A | Exit code 1 / cat: illegal option -- A
                s1 | Bash | sed -n 1p a.go ¦ cat -vet | x
                s2 | Bash | cat -A b.go | Exit code 1 / cat: illegal option -- A
            "
            ),
            ["cat -A ×2 → cat -vet"]
        );
        // Files of that session say nothing about another one.
        assert_eq!(
            keys(
                "
                s1 | Bash | cd /home/someone/project && cat -A src/provider/registry.go | Exit code 1 / cat: illegal option -- A
                s1 | Bash | cd /home/someone/project && sed -n l src/provider/registry.go | x
            "
            ),
            ["cat -A ×1 → sed -n l …"]
        );
        // It has worked: nothing is known.
        let worked = "
            s1 | Bash | rg --pcre x | Exit code 2 / error: unexpected argument '--pcre' found
            s2 | Bash | rg --pcre x a.txt | a
        ";
        assert!(keys(worked).is_empty());
        // A program that the shell does not find may be started by its path.
        let elsewhere = "
            s1 | Bash | python3 tool.py x | Exit code 127 / bash: python3: command not found
            s1 | Bash | /usr/bin/python3 tool.py x | done
        ";
        assert_eq!(keys(elsewhere), ["python3 ×1 → /usr/bin/python3 tool.py x"]);
        // Work is no fault, whatever its result says.
        assert!(keys("s1 | Bash | go test ./... | Exit code 1 / --- FAIL: TestX").is_empty());
    }

    #[test]
    fn refusals_count_until_the_command_is_allowed() {
        let refused = |session: &str| format!("{session} | Bash | ./app run x | {REFUSAL}\n");
        assert!(keys(&refused("s1")).is_empty());
        let twice = refused("s1") + &refused("s2");
        assert_eq!(keys(&twice), ["app * refused ×2"]);
        assert!(keys(&(twice + "s3 | Bash | ./app run y | done")).is_empty());
        let both = format!("s1 | Bash | git commit -m x && git push | {REFUSAL}\n");
        assert!(keys(&(both.clone() + &both)).is_empty());
        let alone = format!("s2 | Bash | git push | {REFUSAL}\n");
        assert_eq!(keys(&(both.clone() + &alone)), ["git push refused ×2"]);
        // Commits are allowed, so what was refused is the push.
        let commits = "s1 | Bash | git commit -m x | done\n";
        assert_eq!(
            keys(&format!("{both}{both}{commits}")),
            ["git push refused ×2"]
        );
        // Both have been allowed before: it is not known which was refused.
        let pushes = "s1 | Bash | git push | done\n";
        assert!(keys(&format!("{commits}{pushes}{both}{both}")).is_empty());
    }

    #[test]
    fn refusals_of_the_projects_own_program_add_up() {
        let refused = |line: &str| format!("s1 | Bash | {line} | {REFUSAL}\n");
        let both = refused("./app run a") + &refused("cd x && /home/someone/work/app test b");
        assert_eq!(keys(&both), ["app * refused ×2"]);
        // A program of the system does many things for many people.
        assert!(keys(&(refused("docker run a") + &refused("docker push b"))).is_empty());
        // Its help tells nothing, unless even that is refused.
        let help = "s1 | Bash | ./app run --help | usage\n";
        assert_eq!(keys(&format!("{both}{help}")), ["app * refused ×2"]);
        let even = refused("./app run --help") + &refused("./app test b");
        assert_eq!(keys(&even), ["app * refused ×2"]);
        // The user lets it do some things.
        for allowed in ["./app run c", "./app list"] {
            let ran = format!("s0 | Bash | {allowed} | done\n");
            assert!(keys(&format!("{ran}{both}")).is_empty(), "{allowed}");
        }
        // A build in front, which is allowed elsewhere, is not what was refused.
        let built = refused("go build && ./app run a") + &refused("go build && ./app run b");
        assert!(keys(&built).is_empty());
        assert_eq!(
            keys(&format!("s1 | Bash | go build | done\n{built}")),
            ["app * refused ×2"]
        );
    }

    #[test]
    fn the_newest_fact_about_a_path_counts() {
        assert_eq!(
            keys(
                "
                s1 | Read | src/big.log | File content (9 tokens) exceeds maximum allowed tokens
                s1 | Read | src/a.go | 1 text
                s1 | Read | src/b.go | 1 text
                s2 | Read | src/b.go | File does not exist.
            "
            ),
            ["src/big.log large", "src/a.go known"]
        );
    }

    #[test]
    fn the_table_has_a_limit() {
        let path = |i: usize| format!("{i}{}", "x".repeat(300));
        let keys = (0..1_000).map(|i| PushKey::Known {
            path: path(i),
            line: 1,
        });
        let table = KeyTable {
            keys: keys.collect(),
        };
        let text = table.render();
        assert!(text.len() <= MAX_KEYS_BYTES && text.ends_with('\n'));
    }
}
