//! Recognizes what a program itself complained about: an option, a subcommand
//! or a number of arguments that it does not take, a name that it does not
//! know, or that it is missing. These are facts about this machine's programs.
//! Failing tests, lint findings and compile errors are work, and none of them
//! is ever a fault here.

use serde::{Deserialize, Serialize};

use super::command::{CommandWord, SimpleCommand, TWO_WORD_PROGRAMS, parse_command};

/// Lines of a result that are searched, from its beginning and its end.
const SEARCHED_LINES: usize = 40;
/// Characters of a line that are searched.
const MAX_LINE_BYTES: usize = 400;
/// Names longer than this are no options or subcommands.
const MAX_NAME_CHARS: usize = 60;

/// What a program did not accept.
#[derive(Debug, Clone, PartialEq, Eq, Hash, PartialOrd, Ord, Serialize, Deserialize)]
pub struct CommandFault {
    /// The name of the program, without folders.
    pub program: String,
    /// The subcommand whose option was not accepted: others may take it. Empty
    /// for a program without subcommands, and for another part.
    #[serde(default, skip_serializing_if = "String::is_empty")]
    pub subcommand: String,
    /// The part that it did not accept.
    pub part: FaultPart,
}

/// The part of a command that was not accepted.
#[derive(Debug, Clone, PartialEq, Eq, Hash, PartialOrd, Ord, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum FaultPart {
    /// An option, with its dashes.
    Option(String),
    /// The program is missing; the name that the shell looked for.
    Program(String),
    /// A subcommand that the program does not have.
    Subcommand(String),
    /// More operands behind a subcommand than it takes.
    Operands {
        /// The subcommand, of one or two words.
        subcommand: String,
        /// The number of operands that it takes at most.
        most: usize,
    },
    /// A module that `-m` names.
    Module(String),
    /// A table or column that a database does not have.
    Name(String),
}

impl CommandFault {
    /// Returns `true` if a command has the part that was not accepted.
    pub fn occurs_in(&self, command: &SimpleCommand) -> bool {
        if command.program() != self.program {
            return false;
        }
        match &self.part {
            // A folder in front of it finds a program that the shell does not.
            FaultPart::Program(_) => command
                .words
                .first()
                .is_some_and(|word| !word.text.contains('/')),
            FaultPart::Option(option) => {
                (self.subcommand.is_empty() || self.subcommand == option_owner(command))
                    && command.options().any(|word| has_option(word, option))
            }
            FaultPart::Subcommand(name) => {
                let first = command.operands().next();
                first.is_some_and(|word| word.text == *name)
            }
            FaultPart::Operands { subcommand, most } => {
                let names = subcommand.split_whitespace().count();
                command.subcommand() == *subcommand && count_operands(command) > names + most
            }
            FaultPart::Module(name) => {
                let mut words = command.words.iter().map(|word| word.text.as_str());
                words.any(|word| word == "-m") && words.next() == Some(name)
            }
            FaultPart::Name(name) => {
                let mut words = command.words.iter().skip(1);
                words.any(|word| has_word(&word.text, name))
            }
        }
    }

    /// Describes the command that fails, in backticks' content.
    pub fn command_text(&self) -> String {
        match &self.part {
            FaultPart::Program(_) => self.program.clone(),
            FaultPart::Option(option) if self.subcommand.is_empty() => {
                format!("{} {option}", self.program)
            }
            FaultPart::Option(option) => {
                format!("{} {} {option}", self.program, self.subcommand)
            }
            FaultPart::Subcommand(name) => format!("{} {name}", self.program),
            FaultPart::Operands { subcommand, most } => {
                format!(
                    "{} {subcommand} with more than {most} arguments",
                    self.program
                )
            }
            FaultPart::Module(name) => format!("{} -m {name}", self.program),
            FaultPart::Name(name) => format!("{} … {name}", self.program),
        }
    }
}

/// Programs whose first operand is no subcommand.
const PLAIN_PROGRAMS: [&str; 44] = [
    "awk", "bash", "bat", "cat", "chmod", "cp", "curl", "cut", "date", "df", "diff", "du", "echo",
    "egrep", "fd", "file", "find", "grep", "head", "jq", "less", "ln", "ls", "make", "mkdir", "mv",
    "node", "ps", "pytest", "python", "python3", "rg", "rm", "sed", "sh", "sort", "stat", "tail",
    "tar", "touch", "tree", "uniq", "wc", "xargs",
];

/// Words behind which another word names the program or the subcommand.
const GROUP_WORDS: [&str; 9] = [
    "compose", "dlx", "exec", "pip", "remote", "run", "stash", "tool", "worktree",
];

/// Returns the subcommand that takes the options of a command; empty for a
/// program without subcommands.
fn option_owner(command: &SimpleCommand) -> String {
    let program = command.program();
    if PLAIN_PROGRAMS.contains(&program) {
        return String::new();
    }
    let is_name = |word: &&CommandWord| {
        let mut chars = word.text.chars();
        !word.is_quoted
            && chars.next().is_some_and(|c| c.is_ascii_lowercase())
            && chars.all(|c| c.is_ascii_lowercase() || c == '-')
    };
    // The value of an option may be in front: `git -C ../x log`.
    let mut names = command
        .operands()
        .skip_while(|word| !is_name(word))
        .take_while(is_name)
        .map(|word| word.text.as_str());
    let Some(first) = names.next() else {
        return String::new();
    };
    let has_second = TWO_WORD_PROGRAMS.contains(&program) || GROUP_WORDS.contains(&first);
    match names.next().filter(|_| has_second) {
        Some(second) => format!("{first} {second}"),
        None => first.to_owned(),
    }
}

/// Counts the words that are operands for certain: one behind an option may be
/// its value, as in `--repo owner/name`.
fn count_operands(command: &SimpleCommand) -> usize {
    let is_option = |text: &str| text.len() > 1 && text.starts_with('-');
    let mut count = 0;
    let mut is_behind_option = false;
    let mut has_ended = false;
    for word in command.words.iter().skip(1) {
        let text = word.text.as_str();
        if text == "--" && !has_ended {
            (has_ended, is_behind_option) = (true, false);
        } else if !has_ended && is_option(text) {
            is_behind_option = !text.contains('=');
        } else {
            count += usize::from(!is_behind_option);
            is_behind_option = false;
        }
    }
    count
}

/// Returns `true` if a word is an option or, for a short one, a cluster that
/// contains it.
fn has_option(word: &str, option: &str) -> bool {
    let name = word.split_once('=').map_or(word, |(name, _)| name);
    if name == option {
        return true;
    }
    let mut short = option.chars();
    let (Some('-'), Some(letter), None) = (short.next(), short.next(), short.next()) else {
        return false;
    };
    let cluster = name.strip_prefix('-').unwrap_or_default();
    letter != '-'
        && cluster.len() <= 5
        && !cluster.starts_with('-')
        && cluster.chars().all(|c| c.is_ascii_alphabetic())
        && cluster.contains(letter)
}

fn has_word(text: &str, name: &str) -> bool {
    let is_part = |c: char| c.is_alphanumeric() || c == '_';
    text.match_indices(name).any(|(at, _)| {
        let before = text[..at].chars().next_back();
        let after = text[at + name.len()..].chars().next();
        !before.is_some_and(is_part) && !after.is_some_and(is_part)
    })
}

/// The line of a result that names a fault.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct FoundFault {
    pub fault: CommandFault,
    pub line: String,
}

/// Finds the fault that a result names, where it clearly is one of this
/// command.
pub fn find_fault(command: &str, result: &str) -> Option<FoundFault> {
    let commands = parse_command(command);
    searched_lines(result).find_map(|line| {
        let fault = fault_of_line(line, &commands)?;
        Some(FoundFault {
            fault,
            line: line.to_owned(),
        })
    })
}

/// Returns `true` if a result of a command that ended with 0 shows that one of
/// its programs failed: behind a pipe, or before the last program.
pub(super) fn shows_hidden_failure(command: &str, result: &str) -> bool {
    const COMPLAINTS: [&str; 6] = [
        "No such file or directory",
        "Permission denied",
        "Is a directory",
        "Not a directory",
        "command not found",
        "cannot access",
    ];
    let commands = parse_command(command);
    if !commands.iter().any(|it| it.is_piped) && commands.len() < 2 {
        return false;
    }
    find_fault(command, result).is_some()
        || searched_lines(result).any(|line| {
            let (program, rest) = line.split_once(": ").unwrap_or_default();
            let is_ours = commands.iter().any(|it| it.program() == program);
            is_ours && COMPLAINTS.iter().any(|it| rest.contains(it))
        })
}

/// Returns the lines at the beginning and the end of a result, each cut.
fn searched_lines(result: &str) -> impl Iterator<Item = &str> {
    let head = result.lines().take(SEARCHED_LINES);
    let (count, tail) = tail_lines(result);
    let tail = tail.filter(move |_| count);
    head.chain(tail)
        .map(|line| line[..line.floor_char_boundary(MAX_LINE_BYTES)].trim())
        .filter(|line| !line.is_empty())
}

/// Returns the last lines, and whether they are not among the first.
fn tail_lines(result: &str) -> (bool, impl Iterator<Item = &str>) {
    let is_long = result.lines().nth(2 * SEARCHED_LINES).is_some();
    (is_long, result.lines().rev().take(SEARCHED_LINES))
}

fn fault_of_line(line: &str, commands: &[SimpleCommand]) -> Option<CommandFault> {
    let lower = line.to_ascii_lowercase();
    if lower.len() != line.len() {
        return None;
    }
    find_missing_program(line, &lower, commands)
        .or_else(|| find_refused_option(line, &lower, commands))
        .or_else(|| find_refused_operands(&lower, commands))
        .or_else(|| find_refused_subcommand(line, &lower, commands))
        .or_else(|| find_unknown_name(line, &lower, commands))
}

fn find_missing_program(
    line: &str,
    lower: &str,
    commands: &[SimpleCommand],
) -> Option<CommandFault> {
    let name = if let Some(at) = lower.find("command not found: ") {
        first_name(&line[at + "command not found: ".len()..])
    } else if let Some(before) = lower.strip_suffix(": command not found") {
        last_name(&line[..before.len()])
    } else if let Some(before) = lower.strip_suffix(": not found") {
        // `sh: 1: rg: not found`; other programs use the words for other things.
        let is_shell = ["sh", "dash", "bash", "/bin/sh"].iter().any(|shell| {
            before
                .strip_prefix(shell)
                .is_some_and(|rest| rest.starts_with(':'))
        });
        is_shell.then(|| last_name(&line[..before.len()])).flatten()
    } else {
        None
    }?;
    // An alias may have another name than the word that was typed.
    let program = match commands.iter().find(|it| it.program() == name) {
        Some(command) => command.program(),
        None => {
            let mut named = commands
                .iter()
                .filter(|it| it.program().len() > 2 && name.starts_with(it.program()));
            named.next()?.program()
        }
    };
    Some(CommandFault {
        program: program.to_owned(),
        subcommand: String::new(),
        part: FaultPart::Program(name),
    })
}

fn find_refused_option(
    line: &str,
    lower: &str,
    commands: &[SimpleCommand],
) -> Option<CommandFault> {
    const SHORT: [&str; 3] = [
        "illegal option -- ",
        "invalid option -- ",
        "unknown option -- ",
    ];
    const LONG: [&str; 14] = [
        "unrecognized option ",
        "unrecognized option: ",
        "unknown option ",
        "unknown option: ",
        "unknown flag: ",
        "unknown shorthand flag: ",
        "unexpected argument ",
        "unrecognized argument: ",
        "unrecognized arguments: ",
        "no such option: ",
        "no such option ",
        "invalid option ",
        "bad option: ",
        "flag provided but not defined: ",
    ];
    let found = |mark: &str| lower.find(mark).map(|at| &line[at + mark.len()..]);
    let option = if let Some(rest) = SHORT.iter().find_map(|mark| found(mark)) {
        let letter = rest
            .trim_start_matches(['\'', '"', '`', '‘'])
            .chars()
            .next()?;
        format!("-{letter}")
    } else {
        let rest = LONG.iter().find_map(|mark| found(mark))?;
        let name = first_name(rest)?;
        match name.strip_prefix('-') {
            Some(_) => name,
            // `unknown shorthand flag: 'x' in -x`
            None if lower.contains("shorthand") && name.chars().count() == 1 => format!("-{name}"),
            // git leaves the dashes out; the command has to have them.
            None => format!("--{name}"),
        }
    };
    let option = option
        .split_once('=')
        .map_or(&*option, |(name, _)| name)
        .to_owned();
    let has = |it: &&SimpleCommand| it.options().any(|word| has_option(word, &option));
    let mut named = commands
        .iter()
        .filter(|it| names_program(line, it.program()));
    let command = named.find(has).or_else(|| {
        // A line without the program's name means the only command with such
        // an option.
        let mut with = commands.iter().filter(has);
        let only = with.next();
        only.filter(|_| with.next().is_none())
    })?;
    Some(CommandFault {
        program: command.program().to_owned(),
        subcommand: option_owner(command),
        part: FaultPart::Option(option),
    })
}

fn find_refused_operands(lower: &str, commands: &[SimpleCommand]) -> Option<CommandFault> {
    let rest = lower.split_once("accepts at most ").map(|(_, rest)| rest)?;
    let most: usize = rest.split(' ').next()?.parse().ok()?;
    let is_it = |it: &&SimpleCommand| {
        let subcommand = it.subcommand();
        let names = subcommand.split_whitespace().count();
        !subcommand.is_empty() && count_operands(it) > names + most
    };
    let mut fit = commands.iter().filter(is_it);
    let command = fit.next().filter(|_| fit.next().is_none())?;
    Some(CommandFault {
        program: command.program().to_owned(),
        subcommand: String::new(),
        part: FaultPart::Operands {
            subcommand: command.subcommand(),
            most,
        },
    })
}

fn find_refused_subcommand(
    line: &str,
    lower: &str,
    commands: &[SimpleCommand],
) -> Option<CommandFault> {
    const MARKS: [&str; 5] = [
        "unknown command ",
        "unknown command: ",
        "unrecognized subcommand ",
        "no such command: ",
        "no such subcommand: ",
    ];
    if let Some(at) = lower.find("no module named ") {
        let name = first_name(&line[at + "no module named ".len()..])?;
        let fault = |it: &SimpleCommand| CommandFault {
            program: it.program().to_owned(),
            subcommand: String::new(),
            part: FaultPart::Module(name.clone()),
        };
        return commands
            .iter()
            .map(fault)
            .find(|fault| commands.iter().any(|it| fault.occurs_in(it)));
    }
    let name = match MARKS
        .iter()
        .find_map(|mark| lower.find(mark).map(|at| at + mark.len()))
    {
        Some(at) => first_name(&line[at..])?,
        // git: 'x' is not a git command. See 'git --help'.
        None if lower.starts_with("git: ") && lower.contains("is not a git command") => {
            first_name(&line["git: ".len()..])?
        }
        None => return None,
    };
    let has = |it: &&SimpleCommand| it.operands().next().is_some_and(|word| word.text == name);
    let command = commands.iter().find(has)?;
    Some(CommandFault {
        program: command.program().to_owned(),
        subcommand: String::new(),
        part: FaultPart::Subcommand(name),
    })
}

fn find_unknown_name(line: &str, lower: &str, commands: &[SimpleCommand]) -> Option<CommandFault> {
    const MARKS: [&str; 3] = ["no such table: ", "no such column: ", "unknown table "];
    const DATABASES: [&str; 4] = ["sqlite3", "duckdb", "mysql", "psql"];
    let at = MARKS
        .iter()
        .find_map(|mark| lower.find(mark).map(|at| at + mark.len()))?;
    let name = first_name(&line[at..])?;
    let command = commands.iter().find(|it| {
        DATABASES.contains(&it.program()) && it.words.iter().any(|word| has_word(&word.text, &name))
    })?;
    Some(CommandFault {
        program: command.program().to_owned(),
        subcommand: String::new(),
        part: FaultPart::Name(name),
    })
}

/// Returns `true` if a line names the program in front of its message:
/// `cat: illegal option`, `error: git: …`.
fn names_program(line: &str, program: &str) -> bool {
    let mut parts = line.split(": ").take(3);
    !program.is_empty() && parts.any(|part| part.rsplit('/').next() == Some(program))
}

/// Returns the first word without quotes and full stops.
fn first_name(text: &str) -> Option<String> {
    clean_name(text.split_whitespace().next()?)
}

/// Returns the last part behind a colon: `rg` of `sh: 1: rg`.
fn last_name(text: &str) -> Option<String> {
    clean_name(text.rsplit(": ").next()?)
}

fn clean_name(word: &str) -> Option<String> {
    let quotes = ['\'', '"', '`', '‘', '’', '“', '”', ',', ';', ':', '(', ')'];
    let name = word.trim_matches(quotes).trim_end_matches(['.', '!']);
    let plain = |c: char| c.is_alphanumeric() || "-_.+/=".contains(c);
    let fits =
        !name.is_empty() && name.chars().count() <= MAX_NAME_CHARS && name.chars().all(plain);
    fits.then(|| name.to_owned())
}

#[cfg(test)]
mod tests {
    use super::*;

    fn check(command: &str, result: &str, expect: Option<&str>) {
        let found = find_fault(command, result).map(|it| it.fault.command_text());
        assert_eq!(found.as_deref(), expect, "{command}: {result}");
    }

    #[test]
    fn complaints_of_programs_are_faults() {
        check(
            "sed -n 1p a | cat -A",
            "cat: illegal option -- A\nusage: cat",
            Some("cat -A"),
        );
        check(
            "ls --colour x",
            "ls: unrecognized option '--colour'",
            Some("ls --colour"),
        );
        check(
            "git show x --no-stat",
            "fatal: unrecognized argument: --no-stat",
            Some("git show --no-stat"),
        );
        check(
            "gh run view --logs 3",
            "unknown flag: --logs\n\nUsage: gh run view",
            Some("gh run view --logs"),
        );
        check(
            "cargo test --libs",
            "error: unexpected argument '--libs' found",
            Some("cargo test --libs"),
        );
        check(
            "go run . -x1",
            "flag provided but not defined: -x1",
            Some("go run -x1"),
        );
        check(
            "gh pr diff 150 -- a.md",
            "accepts at most 1 arg(s), received 2",
            Some("gh pr diff with more than 1 arguments"),
        );
        check("rg x", "bash: rg: command not found", Some("rg"));
        check("rg x", "sh: 1: rg: not found", Some("rg"));
        check(
            "python3 -c 'x'",
            "(eval):1: command not found: python3.12",
            Some("python3"),
        );
        check(
            "git comit",
            "git: 'comit' is not a git command. See 'git --help'.",
            Some("git comit"),
        );
        check(
            "gh pull list",
            "unknown command \"pull\" for \"gh\"",
            Some("gh pull"),
        );
        check(
            "python3 -m pytest",
            "/usr/bin/python3: No module named pytest",
            Some("python3 -m pytest"),
        );
        check(
            "sqlite3 a.db \"SELECT * FROM agent_events\"",
            "Error: in prepare, no such table: agent_events",
            Some("sqlite3 … agent_events"),
        );
    }

    #[test]
    fn work_is_never_a_fault() {
        check(
            "go test ./...",
            "--- FAIL: TestX (0.01s)\nunknown option in config",
            None,
        );
        check(
            "cargo build",
            "error[E0425]: cannot find value `x` in this scope",
            None,
        );
        check(
            "golangci-lint run",
            "main.go:1:1: File is not properly formatted (gofmt)",
            None,
        );
        // The option is not in the command: the result quotes something else.
        check("cat notes.md", "grep: illegal option -- P", None);
        check("./app", "user not found", None);
        check("curl x", "HTTP 404: not found", None);
    }

    #[test]
    fn an_option_of_a_subcommand_says_nothing_about_another_one() {
        let occurs = |failed: &str, result: &str, line: &str| {
            let fault = find_fault(failed, result).expect("a fault").fault;
            parse_command(line).iter().any(|it| fault.occurs_in(it))
        };
        let cargo = "error: unexpected argument '--check' found";
        let check = |line: &str| occurs("cargo test --check", cargo, line);
        assert!(check("cargo test -p api --check"));
        assert!(!check("cargo fmt --check"));
        let pytest = "ERROR: usage: pytest\nerror: unrecognized arguments: --timeout=9";
        let timeout = |line: &str| occurs("uv run pytest --timeout=9 tests", pytest, line);
        assert!(timeout("uv run pytest --timeout=20"));
        assert!(!timeout("uv run mypy --timeout=20"));
        assert!(!timeout("uv pip install x --timeout=20"));
        let git = "error: unknown option `shrt'";
        let short = |line: &str| occurs("git -C ../x status --shrt", git, line);
        assert!(short("git status --shrt"));
        // A pattern is no subcommand.
        assert!(occurs(
            "rg needle --pcre",
            "error: unexpected argument '--pcre' found",
            "rg other --pcre"
        ));
    }

    #[test]
    fn the_value_of_an_option_is_no_operand() {
        let fault = find_fault(
            "gh pr diff 1 -- a.md",
            "accepts at most 1 arg(s), received 2",
        )
        .expect("a fault")
        .fault;
        let occurs = |line: &str| fault.occurs_in(&parse_command(line)[0]);
        assert!(occurs("gh pr diff 2 -- b.md --x") && occurs("gh pr diff 2 --color=no b.md"));
        assert!(!occurs("gh pr diff 2 --repo owner/name") && !occurs("gh pr diff 2 --name-only"));
    }

    #[test]
    fn evidence_without_a_subcommand_is_still_read() {
        let text = r#"{"program":"cat","part":{"option":"-A"}}"#;
        let fault: CommandFault = serde_json::from_str(text).expect("JSON");
        assert_eq!(serde_json::to_string(&fault).expect("JSON"), text);
        assert!(fault.occurs_in(&parse_command("cat -A x")[0]));
    }

    #[test]
    fn a_fault_is_found_in_other_commands_of_its_form() {
        let fault = find_fault("cat -A x", "cat: illegal option -- A")
            .expect("a fault")
            .fault;
        let occurs = |line: &str| parse_command(line).iter().any(|it| fault.occurs_in(it));
        for line in ["cat -A y", "head x | cat -nA", "cd a && cat -A"] {
            assert!(occurs(line), "{line}");
        }
        for line in ["cat y", "cat -v A", "grep -A 3 x", "cat -- -A", "cat --All"] {
            assert!(!occurs(line), "{line}");
        }
    }

    #[test]
    fn a_failure_behind_a_pipe_is_seen() {
        let check = |command: &str, result: &str, expect| {
            assert_eq!(shows_hidden_failure(command, result), expect, "{command}");
        };
        check("cat -A x | head -3", "cat: illegal option -- A", true);
        check(
            "ls nowhere | wc -l",
            "ls: nowhere: No such file or directory\n0",
            true,
        );
        check("cat log.txt", "ls: x: No such file or directory", false);
        check(
            "cat log.txt | head",
            "ls: x: No such file or directory",
            false,
        );
        check("echo a | cat", "a", false);
    }
}
