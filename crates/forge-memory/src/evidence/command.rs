//! Splits a shell's command line into simple commands, as far as evidence needs
//! them: programs, options and other words. It never runs or expands anything,
//! and takes what it does not understand as a plain word.

/// Bytes of a command line that are read; a longer one is a script.
const MAX_PARSED_BYTES: usize = 4 << 10;
/// Simple commands that are read from one line.
const MAX_SIMPLE_COMMANDS: usize = 32;

/// A word of a command, without its quotes.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct CommandWord {
    /// The word after quotes and backslashes are resolved; variables and globs
    /// are not expanded.
    pub text: String,
    /// Whether any part of it is in quotes, so that it may be a pattern rather
    /// than a path.
    pub is_quoted: bool,
    /// Whether it has a variable, glob, brace or tilde that the shell would
    /// expand, so that it is not a literal path.
    pub is_expanded: bool,
}

/// One program with its words.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub struct SimpleCommand {
    /// The words behind assignments and wrappers such as `sudo`; the first is
    /// the program.
    pub words: Vec<CommandWord>,
    /// Whether its failure would not be seen: `2>/dev/null`, or `||` behind it.
    pub hides_errors: bool,
    /// Whether another command takes over where it fails: `||` behind it, with
    /// more than `true` or `echo`.
    pub has_fallback: bool,
    /// Whether a pipe takes its output, so that its exit code is lost.
    pub is_piped: bool,
}

impl SimpleCommand {
    /// Returns `true` for a program that is started by a path and is not one of
    /// the system: most often the project's own.
    pub fn is_own_program(&self) -> bool {
        const OF_THE_SYSTEM: [&str; 6] = ["/usr/", "/bin/", "/sbin/", "/opt/", "/nix/", "/snap/"];
        let word = self.words.first().map_or("", |word| word.text.as_str());
        word.contains('/') && !OF_THE_SYSTEM.iter().any(|it| word.starts_with(it))
    }

    /// Returns `true` if a program only prints what it is and can do.
    pub fn asks_for_help(&self) -> bool {
        let is_help = |word: &str| matches!(word, "--help" | "--version");
        self.options().any(is_help)
            || matches!(self.subcommand().as_str(), "help" | "version") && self.words.len() == 2
    }

    /// Returns the name of the program, without folders.
    pub fn program(&self) -> &str {
        let word = self.words.first().map_or("", |word| word.text.as_str());
        word.rsplit('/').next().unwrap_or(word)
    }

    /// Returns the options, up to `--`.
    pub fn options(&self) -> impl Iterator<Item = &str> {
        let words = self.words.iter().skip(1).map(|word| word.text.as_str());
        words
            .take_while(|word| *word != "--")
            .filter(|word| word.len() > 1 && word.starts_with('-'))
    }

    /// Returns the words that are neither the program nor options.
    pub fn operands(&self) -> impl Iterator<Item = &CommandWord> {
        let is_option = |word: &&CommandWord| !word.text.starts_with('-') || word.text.len() == 1;
        self.words.iter().skip(1).filter(is_option)
    }

    /// Returns the first operands that name what a program does: `pr diff` of
    /// `gh pr diff 150`. Paths, numbers and quoted words end them.
    pub fn subcommand(&self) -> String {
        let is_name = |word: &&CommandWord| {
            let mut chars = word.text.chars();
            !word.is_quoted
                && !word.is_expanded
                && chars.next().is_some_and(|c| c.is_ascii_lowercase())
                && chars.all(|c| c.is_ascii_lowercase() || c == '-')
        };
        let words = self.words.iter().skip(1).take(2);
        let names: Vec<&str> = words
            .take_while(is_name)
            .map(|it| it.text.as_str())
            .collect();
        names.join(" ")
    }
}

/// Programs in front of the one that matters. Their own options are skipped.
const WRAPPERS: [&str; 8] = [
    "sudo", "time", "command", "nohup", "exec", "builtin", "nice", "env",
];

/// Programs whose first two words name what they do.
pub(crate) const TWO_WORD_PROGRAMS: [&str; 8] = [
    "gh",
    "glab",
    "aws",
    "gcloud",
    "az",
    "kubectl",
    "docker",
    "terraform",
];

/// Parses a command line.
pub fn parse_command(line: &str) -> Vec<SimpleCommand> {
    let line = &line[..line.floor_char_boundary(MAX_PARSED_BYTES)];
    let mut commands = split_commands(line);
    // `bash -lc '…'` is what is in the quotes.
    if let [only] = &commands[..]
        && matches!(only.program(), "bash" | "sh" | "zsh")
        && let [_, flag, script] = &only.words[..]
        && flag.text.starts_with('-')
        && flag.text.ends_with('c')
    {
        commands = split_commands(&script.text.clone());
    }
    // What only says that it failed takes nothing over.
    for at in 1..commands.len() {
        if matches!(commands[at].program(), "true" | ":" | "echo") {
            commands[at - 1].has_fallback = false;
        }
    }
    commands
}

fn split_commands(line: &str) -> Vec<SimpleCommand> {
    let mut splitter = CommandSplitter::default();
    let mut chars = line.chars().peekable();
    while let Some(c) = chars.next() {
        if splitter.commands.len() >= MAX_SIMPLE_COMMANDS {
            return splitter.commands;
        }
        match c {
            '\\' => match chars.next() {
                Some('\n') | None => {}
                Some(next) => splitter.push(next),
            },
            '\'' => {
                splitter.mark_quoted();
                for next in chars.by_ref() {
                    if next == '\'' {
                        break;
                    }
                    splitter.push(next);
                }
            }
            '"' => {
                splitter.mark_quoted();
                while let Some(next) = chars.next() {
                    match next {
                        '"' => break,
                        '\\' => splitter.push(chars.next().unwrap_or('\\')),
                        '$' | '`' => {
                            splitter.mark_expanded();
                            splitter.push(next);
                        }
                        _ => splitter.push(next),
                    }
                }
            }
            '$' | '`' | '*' | '?' | '{' | '~' | '[' => {
                splitter.mark_expanded();
                splitter.push(c);
            }
            '#' if splitter.word.is_none() => {
                while chars.peek().is_some_and(|next| *next != '\n') {
                    chars.next();
                }
            }
            ' ' | '\t' | '\r' => splitter.end_word(),
            '\n' | ';' | '(' | ')' => splitter.end_command(false, false),
            '&' if chars.peek() == Some(&'&') => {
                chars.next();
                splitter.end_command(false, false);
            }
            '&' if chars.peek() == Some(&'>') => splitter.end_word(),
            // The `&` of `2>&1` belongs to the redirection.
            '&' if splitter.redirects && splitter.word.is_none() => splitter.push(c),
            '&' => splitter.end_command(false, false),
            '|' if chars.peek() == Some(&'|') => {
                chars.next();
                splitter.end_command(true, false);
            }
            '|' => splitter.end_command(false, true),
            '<' if chars.peek() == Some(&'<') => {
                // What follows is the text of a document.
                splitter.end_command(false, false);
                return splitter.commands;
            }
            '<' | '>' => {
                let is_error = splitter.word.as_ref().is_some_and(|it| it.text == "2");
                if is_error {
                    splitter.word = None;
                }
                splitter.end_word();
                if chars.peek() == Some(&'>') {
                    chars.next();
                }
                splitter.redirects = true;
                splitter.redirects_errors = is_error;
            }
            _ => splitter.push(c),
        }
    }
    splitter.end_command(false, false);
    splitter.commands
}

/// The state between two characters of a command line.
#[derive(Default)]
struct CommandSplitter {
    commands: Vec<SimpleCommand>,
    current: SimpleCommand,
    word: Option<CommandWord>,
    /// Whether the next word is the target of a redirection.
    redirects: bool,
    redirects_errors: bool,
}

impl CommandSplitter {
    fn word(&mut self) -> &mut CommandWord {
        self.word.get_or_insert_with(|| CommandWord {
            text: String::new(),
            is_quoted: false,
            is_expanded: false,
        })
    }

    fn push(&mut self, c: char) {
        self.word().text.push(c);
    }

    fn mark_quoted(&mut self) {
        self.word().is_quoted = true;
    }

    fn mark_expanded(&mut self) {
        self.word().is_expanded = true;
    }

    fn end_word(&mut self) {
        let Some(word) = self.word.take() else {
            return;
        };
        if self.redirects {
            self.redirects = false;
            if self.redirects_errors && word.text == "/dev/null" {
                self.current.hides_errors = true;
            }
            return;
        }
        if self.current.words.is_empty() {
            let is_assignment = word.text.split_once('=').is_some_and(|(name, _)| {
                !name.is_empty() && name.chars().all(|c| c.is_ascii_alphanumeric() || c == '_')
            });
            let is_wrapper = WRAPPERS.contains(&word.text.as_str());
            let is_keyword = matches!(
                word.text.as_str(),
                "if" | "then" | "else" | "do" | "while" | "!" | "fi" | "done" | "}"
            );
            if is_assignment || is_wrapper || is_keyword {
                return;
            }
        }
        self.current.words.push(word);
    }

    fn end_command(&mut self, or: bool, piped: bool) {
        self.end_word();
        self.redirects = false;
        let mut command = std::mem::take(&mut self.current);
        if command.words.is_empty() {
            return;
        }
        command.hides_errors |= or;
        command.has_fallback = or;
        command.is_piped = piped;
        self.commands.push(command);
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn check(line: &str, expect: &[&str]) {
        let commands = parse_command(line);
        let shown: Vec<String> = commands
            .iter()
            .map(|it| {
                let words: Vec<&str> = it.words.iter().map(|word| word.text.as_str()).collect();
                let marks = match (it.hides_errors, it.is_piped) {
                    (false, false) => "",
                    (true, _) => " (quiet)",
                    (false, true) => " (piped)",
                };
                format!("{}{marks}", words.join("·"))
            })
            .collect();
        assert_eq!(shown, expect, "{line}");
    }

    #[test]
    fn a_line_is_split_into_programs_and_words() {
        check("ls -la docs/", &["ls·-la·docs/"]);
        check(
            "sed -n '1,2p' \"a b.go\" | cat -A",
            &["sed·-n·1,2p·a b.go (piped)", "cat·-A"],
        );
        check(
            "cd x && FOO=1 go test ./... 2>&1",
            &["cd·x", "go·test·./..."],
        );
        check(
            "ls y 2>/dev/null; rg z || true",
            &["ls·y (quiet)", "rg·z (quiet)", "true"],
        );
        check("cat > out.txt <<EOF\nrm -rf /\nEOF", &["cat"]);
        check(
            "bash -lc 'grep -P x | head'",
            &["grep·-P·x (piped)", "head"],
        );
        check("sudo make # all", &["make"]);
        check("echo 'open", &["echo·open"]);
        check("  ", &[]);
    }

    #[test]
    fn a_fallback_does_something() {
        let has = |line: &str| parse_command(line)[0].has_fallback;
        assert!(has("rg x || grep -r x"));
        for line in [
            "rg x 2>/dev/null",
            "rg x || true",
            "rg x || echo no",
            "rg x; ls",
        ] {
            assert!(!has(line), "{line}");
        }
    }

    #[test]
    fn the_projects_own_programs_are_started_by_a_path() {
        let of = |line: &str| parse_command(line).remove(0);
        assert!(of("./app run").is_own_program() && of("/home/a/p/app x").is_own_program());
        assert!(!of("app run").is_own_program() && !of("/usr/bin/git push").is_own_program());
        assert!(of("./app sync --help").asks_for_help() && of("go version").asks_for_help());
        assert!(!of("./app help me").asks_for_help() && !of("./app sync").asks_for_help());
    }

    #[test]
    fn names_behind_a_program_are_its_subcommand() {
        let name = |line: &str| parse_command(line)[0].subcommand();
        assert_eq!(name("gh pr diff 150"), "pr diff");
        assert_eq!(name("go test ./..."), "test");
        assert_eq!(name("/usr/bin/python3 a.py"), "");
        assert_eq!(
            parse_command("/usr/bin/python3 a.py")[0].program(),
            "python3"
        );
    }

    proptest::proptest! {
        #[test]
        fn any_text_is_parsed_within_bounds(line in ".{0,300}") {
            let commands = parse_command(&line);
            proptest::prop_assert!(commands.len() <= MAX_SIMPLE_COMMANDS + 1);
            proptest::prop_assert!(commands.iter().all(|it| !it.words.is_empty()));
        }
    }
}
