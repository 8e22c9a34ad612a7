//! The frame around the commands: help, version, errors, completions, pipes.

use std::process::Stdio;

use crate::harness::ws;

const COMMANDS: &[&str] = &[
    "init",
    "setup",
    "uninstall",
    "status",
    "view",
    "index",
    "search",
    "save",
    "forget",
    "import",
    "export",
    "audit",
    "doctor",
    "check",
    "undo",
    "why",
    "mind",
    "agent",
    "workspace",
    "links",
    "graph",
    "share",
    "engine",
    "lint",
    "consolidate",
    "restore",
    "stats",
    "preview",
    "replay",
    "mcp",
    "merge",
    "config",
    "hook",
    "completion",
    "man",
];

/// How many of them `help` shows; `help --all` shows the others too.
const SHOWN: usize = 23;

#[test]
fn help_lists_the_commands_and_shows_examples() {
    let (usual, all) = (ws("").run(&["--help"]), ws("").run(&["help", "--all"]));
    let help = usual.ok();
    for (at, command) in COMMANDS.iter().enumerate() {
        let line = format!("\n  {command} ");
        assert!(all.ok().contains(&line), "{command} is missing:\n{all}");
        assert_eq!(help.contains(&line), at < SHOWN, "{command}:\n{help}");
    }
    assert!(help.contains("Examples:\n  memory-forge search"), "{help}");
}

/// `bench growth` refuses to run while one is missing, which nobody sees before
/// the next time somebody waits hours for it.
#[test]
fn growth_is_measured_for_every_command() {
    let table = concat!(
        env!("CARGO_MANIFEST_DIR"),
        "/../../xtask/src/bench/growth/commands.rs"
    );
    let table = std::fs::read_to_string(table).expect("the table of the bench");
    for command in &COMMANDS[..SHOWN] {
        let is_there = ["|", "\""].iter().any(|end| {
            let line = format!("\"{command}{end}");
            table.contains(&line)
        });
        assert!(is_there, "`{command}` is not in `bench growth`");
    }
}

#[test]
fn each_command_has_help_with_an_example() {
    let ws = ws("");
    for command in COMMANDS {
        for flag in ["-h", "--help"] {
            let output = ws.run(&[command, flag]);
            let example = format!("Examples:\n  memory-forge {command}");
            assert!(output.ok().contains(&example), "{output}");
            assert_eq!(output.stderr, "");
        }
    }
}

#[test]
fn old_names_of_moved_commands_keep_working() {
    let ws = ws("");
    for (parent, name) in [
        ("mind", "session"),
        ("mind", "idea"),
        ("workspace", "manifest"),
        ("workspace", "domain"),
        ("workspace", "closets"),
        ("workspace", "archive"),
        ("workspace", "upgrade"),
        ("workspace", "sources"),
    ] {
        let now = ws.run(&[parent, name, "--help"]);
        let example = format!("Examples:\n  memory-forge {parent} {name}");
        assert!(now.ok().contains(&example), "{now}");
        for old in [&[name, "--help"][..], &["help", name], &["-q", name, "-h"]] {
            assert_eq!(ws.run(old).ok().lines().next(), now.stdout.lines().next());
        }
        assert_eq!(
            ws.run(&["man", name]).ok(),
            ws.run(&["man", parent, name]).ok()
        );
    }
}

/// A line with an old name, and the line that does the same today.
const OLD_LINES: [(&[&str], &[&str]); 29] = [
    (&["sync"], &["index"]),
    (&["query", "beans"], &["search", "beans"]),
    (&["memory"], &["stats"]),
    (&["session", "start"], &["mind", "session", "start"]),
    (
        &["session", "update", "--next", "Sow"],
        &["mind", "session", "update", "--next", "Sow"],
    ),
    (
        &["session", "end", "--title", "Sown", "--did", "Sowed"],
        &[
            "mind", "session", "end", "--title", "Sown", "--did", "Sowed",
        ],
    ),
    (&["idea", "A bench"], &["mind", "idea", "A bench"]),
    (&["idea", "list"], &["mind", "idea", "list"]),
    (&["manifest", "show"], &["workspace", "manifest", "show"]),
    (
        &["manifest", "refresh"],
        &["workspace", "manifest", "refresh"],
    ),
    (&["domain", "list"], &["workspace", "domain", "list"]),
    (
        &["domain", "add", "tools"],
        &["workspace", "domain", "add", "tools"],
    ),
    (&["closets", "build"], &["workspace", "closets", "build"]),
    (&["closets", "check"], &["workspace", "closets", "check"]),
    (
        &["closets", "show", "beans"],
        &["workspace", "closets", "show", "beans"],
    ),
    (
        &["archive", "garden/beans.md", "--reason", "Eaten"],
        &[
            "workspace",
            "archive",
            "garden/beans.md",
            "--reason",
            "Eaten",
        ],
    ),
    (
        &["upgrade", "--dry-run"],
        &["workspace", "upgrade", "--dry-run"],
    ),
    (&["upgrade"], &["workspace", "upgrade"]),
    (&["sources", "add"], &["workspace", "sources", "add"]),
    (&["sources", "list"], &["workspace", "sources", "list"]),
    (
        &["sources", "set", "shed", "--searchable", "false"],
        &[
            "workspace",
            "sources",
            "set",
            "shed",
            "--searchable",
            "false",
        ],
    ),
    (
        &["sources", "remove", "shed"],
        &["workspace", "sources", "remove", "shed"],
    ),
    (
        &["init", "--organise", "--dry-run"],
        &["workspace", "organise", "--dry-run"],
    ),
    (
        &["workspace", "organize", "--dry-run"],
        &["workspace", "organise", "--dry-run"],
    ),
    (&["undo"], &["doctor", "--undo"]),
    (
        &["--quiet", "idea", "list"],
        &["mind", "idea", "list", "-q"],
    ),
    (&["--path", ".", "status"], &["--root", ".", "status"]),
    (&["list"], &["list", "--discover"]),
    (
        &["-p", ".", "session", "start"],
        &["mind", "session", "start"],
    ),
];

#[test]
fn lines_with_old_names_do_what_the_new_ones_do() {
    for (old, new) in OLD_LINES {
        let run = |line: &[&str]| {
            let ws = ws(crate::lint::CLEAN);
            let output = ws.run(line);
            let folders = [(ws.root().to_owned(), "<root>"), (ws.home(), "<home>")];
            let plain = |text: &str| {
                folders
                    .iter()
                    .fold(text.to_owned(), |text, (folder, name)| {
                        text.replace(&folder.display().to_string(), name)
                    })
            };
            (
                output.status,
                plain(&output.stdout),
                plain(&output.stderr),
                ws.tree_of_sources(),
            )
        };
        let (before, now) = (run(old), run(new));
        assert_eq!(before, now, "{old:?} and {new:?}");
        let is_answered = !before.2.contains("Unknown command");
        assert!(is_answered, "{old:?}: {}", before.2);
    }
}

/// A name that is added to the definition joins the lines above.
#[test]
fn every_old_name_is_in_a_line() {
    let source = concat!(env!("CARGO_MANIFEST_DIR"), "/src/cli.rs");
    let source = std::fs::read_to_string(source).expect("the definition");
    let moved = source.split("const MOVED_COMMANDS").nth(1);
    let moved = moved.and_then(|it| it.split("];").next()).unwrap_or("");
    let moved = moved.lines().filter_map(|it| it.trim().strip_prefix("(\""));
    let aliases = source.split("alias = \"").skip(1);
    let names: Vec<&str> = moved
        .chain(aliases)
        .map(|it| it.split('"').next().unwrap_or_default())
        .collect();
    assert!(names.len() >= 11, "{names:?}");
    for name in names {
        let is_there = OLD_LINES.iter().any(|(old, _)| {
            let flag = format!("--{name}");
            old.contains(&name) || old.contains(&flag.as_str())
        });
        assert!(is_there, "no line has the old name `{name}`");
    }
}

/// `check` unites these; skills, scripts and habits use their names.
#[test]
fn commands_that_check_unites_keep_working() {
    let ws = ws(crate::lint::CLEAN);
    for line in [
        &["lint"][..],
        &["links", "check"],
        &["graph", "check"],
        &["closets", "check"],
        &["workspace", "closets", "check"],
        &["consolidate"],
        &["mind", "health"],
    ] {
        let output = ws.run(line);
        assert!(matches!(output.status, Some(0 | 1)), "{line:?}: {output}");
        assert!(!output.stderr.contains("error:"), "{line:?}: {output}");
    }
}

#[test]
fn help_fits_its_columns() {
    let ws = ws("");
    for command in COMMANDS {
        for line in ws.run(&[command, "--help"]).ok().lines() {
            assert!(line.chars().count() <= 100, "{command}: {line}");
        }
    }
}

#[test]
fn version_names_program_and_number() {
    let expect = format!("memory-forge {}\n", env!("CARGO_PKG_VERSION"));
    assert_eq!(ws("").run(&["--version"]).ok(), expect);
    assert_eq!(ws("").run(&["-V"]).ok(), expect);
}

#[test]
fn no_command_shows_the_overview_as_an_error() {
    let output = ws("").run::<&str>(&[]);
    assert!(output.fails(2).contains("Usage: memory-forge"), "{output}");
    assert_eq!(output.stdout, "");
}

#[test]
fn errors_in_the_request_exit_with_2_and_say_what_to_do() {
    let check = |arguments: &[&str], expect: &str| {
        let output = ws("").run(arguments);
        output.fails(2);
        assert_eq!(output.stderr, expect, "{arguments:?}");
        assert_eq!(output.stdout, "", "{arguments:?}");
    };
    check(
        &["serch", "x"],
        "error: Unknown command `serch`\n\n\
         hint: Did you mean `search`?\n\
         hint: Run `memory-forge --help` to see its options\n",
    );
    check(
        &["search"],
        "error: Missing: `<QUERY>...`\n\n\
         hint: Run `memory-forge search --help` to see its options\n",
    );
    check(
        &["search", "x", "--mode", "texx"],
        "error: Invalid value `texx` for `--mode <MODE>`\n\n\
         hint: Did you mean `text`?\n\
         hint: Possible values: hybrid · text · vector\n\
         hint: Run `memory-forge search --help` to see its options\n",
    );
    check(
        &["search", "--max-files"],
        "error: Unexpected argument `--max-files`\n\n\
         hint: To pass `--max-files` as text, put `--` before it\n\
         hint: Run `memory-forge search --help` to see its options\n",
    );
    check(
        &["search", "x", "--json", "--context"],
        "error: `--json` cannot be used together with `--context`\n\n\
         hint: Run `memory-forge search --help` to see its options\n",
    );
    check(
        &["forget", "--dry-run"],
        "error: Specify at least one of a path, `--max-files`, `--max-age` or `--fact`\n\n\
         hint: Run `memory-forge forget --help` to see its options\n",
    );
    check(
        &["man", "fly"],
        &format!(
            "error: There is no command `fly`\n\nhint: The commands are {}\n",
            COMMANDS.join(", ")
        ),
    );
}

#[test]
fn a_clock_that_is_no_time_is_refused() {
    let output = ws("").now("noon").run(&["man"]);
    assert!(
        output
            .fails(2)
            .starts_with("error: `MEMORY_FORGE_NOW` is not a point in time"),
        "{output}"
    );
}

#[test]
fn completions_know_the_commands() {
    let ws = ws("");
    for shell in ["bash", "zsh", "fish", "powershell", "elvish"] {
        let output = ws.run(&["completion", shell]);
        let script = output.ok();
        for word in ["memory-forge", "doctor", "as-of", "knowledge"] {
            assert!(script.contains(word), "{shell} does not know {word}");
        }
    }
}

/// What a shell proposes after these words, one a line; none where there is no
/// such shell here.
#[cfg(unix)]
fn proposed(shell: &str, words: &[&str]) -> Option<Vec<String>> {
    let ws = ws("");
    ws.write("script", ws.run(&["completion", shell]).ok());
    let line = words.join(" ");
    let driver = match shell {
        "bash" => format!(
            "source ./script\nCOMP_WORDS=(memory-forge {line})\n[ -z '{last}' ] && COMP_WORDS+=('')\n\
             COMP_CWORD=$(( ${{#COMP_WORDS[@]}} - 1 ))\n\
             function=$(complete -p memory-forge | sed 's/.*-F \\([^ ]*\\).*/\\1/')\n\
             \"$function\" memory-forge '{last}' \"${{COMP_WORDS[COMP_CWORD-1]}}\"\n\
             printf '%s\\n' \"${{COMPREPLY[@]}}\"\n",
            last = words.last().unwrap_or(&"")
        ),
        "fish" => format!("source ./script\ncomplete -C 'memory-forge {line}' | cut -f1\n"),
        // A completion of zsh runs in its line editor only; the table of
        // commands is what it would offer there.
        "zsh" => "autoload -Uz compinit; compinit -u -D\nsource ./script\n\
             _describe() { print -l -- ${${(P@)4}%%:*} }\n_memory-forge_commands\n"
            .to_owned(),
        _ => panic!("{shell}"),
    };
    ws.write("driver", driver);
    let output = std::process::Command::new(shell)
        .arg("driver")
        .current_dir(ws.root())
        .env("HOME", ws.home())
        .output();
    let Ok(output) = output else {
        testkit::skip(format!("there is no {shell} here"));
        return None;
    };
    let said = String::from_utf8_lossy(&output.stdout);
    let errors = String::from_utf8_lossy(&output.stderr);
    assert!(
        !said.trim().is_empty(),
        "{shell} proposes nothing: {errors}"
    );
    Some(said.lines().map(|line| line.trim().to_owned()).collect())
}

#[test]
#[cfg(unix)]
fn real_shells_complete_commands_flags_and_values() {
    for (shell, words, expect) in [
        ("bash", &["se"][..], &["search", "setup"][..]),
        ("bash", &["search", "--sc"], &["--scope"]),
        (
            "bash",
            &["search", "x", "--mode", ""],
            &["hybrid", "text", "vector"],
        ),
        ("bash", &["mind", "task", ""], &["add", "done"]),
        ("bash", &["setup", "cl"], &["claude"]),
        ("bash", &["import", "memory-bank", "--d"], &["--dry-run"]),
        ("fish", &["se"], &["search", "setup"]),
        ("fish", &["search", "--sc"], &["--scope"]),
        (
            "fish",
            &["search", "x", "--mode", ""],
            &["hybrid", "text", "vector"],
        ),
        ("fish", &["mind", "task", ""], &["add", "done"]),
        ("zsh", &[""], &["search", "setup"]),
    ] {
        let Some(found) = proposed(shell, words) else {
            continue;
        };
        for word in expect {
            assert!(
                found.iter().any(|it| it == word),
                "{shell} {words:?}: {word} is missing in {found:?}"
            );
        }
    }
}

#[test]
fn manual_pages_come_from_the_same_definition() {
    let ws = ws("");
    assert!(ws.run(&["man"]).ok().contains(".TH memory-forge 1"));
    let search = ws.run(&["man", "search"]);
    for part in [".TH memory-forge-search 1", "\\-\\-as\\-of", "Examples:"] {
        assert!(search.ok().contains(part), "{part}: {search}");
    }
    assert_eq!(
        ws.run(&["man", "mind", "set"]).ok(),
        ws.run(&["man", "mind-set"]).ok()
    );
    let listed = ws.run(&["man", "--list"]);
    for page in ["search", "mind", "mind-set", "import-memory-bank"] {
        assert!(listed.ok().lines().any(|it| it == page), "{listed}");
    }
    for page in listed.stdout.lines() {
        let text = ws.run(&["man", page]);
        let title = format!(".TH memory-forge-{page} 1");
        assert!(text.ok().contains(&title), "{title}: {text}");
    }
}

#[test]
fn colours_follow_the_flag_and_never_reach_a_pipe() {
    let ws = ws("");
    assert!(!ws.run(&["man", "fly"]).stderr.contains('\u{1b}'));
    assert!(
        ws.run(&["man", "fly", "--color", "always"])
            .stderr
            .contains("\u{1b}[")
    );
    assert!(
        !ws.run(&["man", "fly", "--color", "never"])
            .stderr
            .contains('\u{1b}')
    );
}

#[test]
fn a_reader_that_leaves_early_is_no_error() {
    let ws = ws("");
    for arguments in [
        &["completion", "bash"][..],
        &["--help"],
        &["--version"],
        &["man"],
    ] {
        let (reader, writer) = std::io::pipe().expect("a pipe can be made");
        drop(reader);
        let child = ws
            .command()
            .args(arguments)
            .stdout(writer)
            .stderr(Stdio::piped())
            .spawn();
        let output = child
            .and_then(|child| child.wait_with_output())
            .expect("it runs");
        assert_eq!(output.status.code(), Some(0), "{arguments:?}");
        assert_eq!(String::from_utf8_lossy(&output.stderr), "", "{arguments:?}");
    }
}

#[test]
#[cfg(target_os = "linux")]
fn a_full_disk_behind_standard_output_is_an_error() {
    let ws = ws("");
    for arguments in [&["completion", "bash"][..], &["--help"]] {
        let full = std::fs::OpenOptions::new()
            .write(true)
            .open("/dev/full")
            .expect("Linux has it");
        let child = ws
            .command()
            .args(arguments)
            .stdout(full)
            .stderr(Stdio::piped())
            .spawn();
        let output = child
            .and_then(|child| child.wait_with_output())
            .expect("it runs");
        let stderr = String::from_utf8_lossy(&output.stderr);
        assert_eq!(output.status.code(), Some(1), "{arguments:?}: {stderr}");
        assert!(
            stderr.starts_with("error: Cannot write to standard output: No space"),
            "{stderr}"
        );
    }
}

#[test]
fn nothing_is_created_by_looking_around() {
    let ws = ws("//- knowledge/a.md\n# A\n");
    let before = ws.tree();
    for arguments in [
        &["--help"][..],
        &["man"],
        &["completion", "zsh"],
        &["serch"],
    ] {
        ws.run(arguments);
    }
    assert_eq!(ws.tree(), before);
    assert_eq!(
        std::fs::read_dir(ws.home()).expect("home is there").count(),
        0
    );
}
