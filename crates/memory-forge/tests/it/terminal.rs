//! What a person sees: the main commands on terminals of 80 and of 200
//! columns, with colours and without, and on those that can only print.

use std::fmt::Write as _;

use testkit::TestWorkspace;
use testkit::terminal::{self, Screen};

use crate::harness::ws;

/// A workspace with what makes lines long: paragraphs on one line, deep paths,
/// wide characters, emoji, a state with more words than a line holds.
fn shop() -> TestWorkspace {
    let ws = ws("
        //- knowledge/README.md
        # Knowledge
        //- knowledge/refunds.md
        # Refunds

        A refund above 500 euros needs the approval of a second person, who must not be the one that asked for it, and both names are written into the ledger together with the reason that the customer gave.
        //- knowledge/決済/返金の手順.md
        # 返金の手順 🧾

        500ユーロを超える返金には、二人目の承認が必要です。 承認した人の名前は、理由と一緒に帳簿に記録されます。 refund
        //- knowledge/incidents/2026/02/a-payout-that-was-sent-twice-because-the-lease-ran-out.md
        # A payout that was sent twice 🚨

        The refund worker took 31 seconds, and its lease 30.
    ");
    ws.write(
        "CLAUDE.md",
        format!(
            "# Shop 🏪\n\n## Commands\n\n`make test`\n\n## History\n\n{}\n",
            "The parser was rewritten in spring because the old one lost text. ".repeat(90)
        ),
    );
    ws.git_init();
    ws.run(&[
        "mind",
        "set",
        "--phase",
        "Refunds 返金",
        "--active",
        "Refund form",
    ])
    .ok();
    ws.run(&["mind", "set", "--next", "Write the migration for refund approvals, then tell the people in support that the form 🧾 asks for a second name from now on, and why"]).ok();
    ws.run(&[
        "mind",
        "set",
        "--blocked",
        "No test account at the bank",
        "--blocked",
        "監査人の返事を待っています",
    ])
    .ok();
    ws.run(&["mind", "task", "add", "Write the migration"]).ok();
    ws.run(&["index"]).ok();
    ws
}

fn on(
    ws: &TestWorkspace,
    columns: u16,
    environment: &[(&str, &str)],
    arguments: &[&str],
) -> Screen {
    let mut command = ws.command();
    command
        .args(arguments)
        .env_remove("COLUMNS")
        .env_remove("NO_COLOR");
    command
        .env("TERM", "xterm-256color")
        .envs(environment.iter().copied());
    terminal::run(command, columns, "")
}

/// The columns that a line takes: an emoji or a letter of East Asia takes two.
fn columns(line: &str) -> usize {
    let wide = |c: char| matches!(c, '\u{1100}'..='\u{115f}' | '\u{2e80}'..='\u{a4cf}' | '\u{ac00}'..='\u{d7a3}' | '\u{f900}'..='\u{faff}' | '\u{fe30}'..='\u{fe6f}' | '\u{ff00}'..='\u{ff60}' | '\u{1f300}'..='\u{1faff}');
    line.chars().map(|c| if wide(c) { 2 } else { 1 }).sum()
}

const MAIN: [&[&str]; 8] = [
    &["status"],
    &["search", "refund", "-n", "3"],
    &["audit"],
    &["doctor"],
    &["lint"],
    &["mind", "show"],
    &["graph", "query"],
    &["links", "check"],
];

#[test]
fn lines_fit_the_terminal() {
    let ws = shop();
    let mut long = String::new();
    for arguments in MAIN {
        for width in [80, 200] {
            let text = on(&ws, width, &[], arguments).text();
            let root = ws.root().to_string_lossy().into_owned();
            for line in text.lines().map(|line| line.replace(&root, "[root]")) {
                // A path is not broken, so that it can be copied.
                let longest = line.split_whitespace().map(columns).max().unwrap_or(0);
                if columns(&line) > usize::from(width) && longest + 8 < usize::from(width) {
                    let _ = writeln!(long, "{arguments:?} at {width}: {line}");
                }
            }
        }
    }
    assert!(long.is_empty(), "\n{long}");
}

#[test]
fn five_commands_at_80_and_at_200_columns() {
    let ws = shop();
    for (name, arguments) in [
        ("status", &["status"][..]),
        ("search", &["search", "refund", "-n", "3"]),
        ("audit", &["audit"]),
        ("doctor", &["doctor"]),
        ("init", &["init", "--dry-run"]),
    ] {
        for width in [80, 200] {
            let screen = on(&ws, width, &[], arguments);
            insta::assert_snapshot!(format!("{name}_{width}"), screen.styled());
        }
    }
}

#[test]
fn no_escape_reaches_those_who_cannot_use_it() {
    let ws = shop();
    for arguments in MAIN {
        let bytes = on(&ws, 80, &[("TERM", "dumb")], arguments).bytes;
        let text = String::from_utf8_lossy(&bytes);
        assert!(!text.contains('\u{1b}'), "{arguments:?}: {text}");
        // Progress may still be drawn over where colours are unwanted.
        let screen = on(&ws, 80, &[("NO_COLOR", "1")], arguments);
        assert_eq!(screen.styled(), screen.text(), "{arguments:?}");
        let piped = ws.run(arguments);
        assert!(!piped.to_string().contains('\u{1b}'), "{piped}");
    }
}

/// A pipe gets every line whole, whatever the terminal beside it is like.
#[test]
fn a_pipe_gets_lines_unfolded() {
    let ws = shop();
    let output = ws.run(&["search", "refund", "-n", "3"]);
    assert!(
        output
            .ok()
            .contains("together with the reason that the customer gave."),
        "{output}"
    );
    let longest = output.stdout.lines().map(columns).max();
    assert!(longest > Some(150), "{output}");
}

#[test]
fn errors_are_folded_too() {
    let screen = on(&ws(""), 60, &[("NO_COLOR", "1")], &["lint"]);
    assert_eq!(
        screen.text(),
        "error: There is no _MANIFEST.md and no state here to check\n\n\
         hint: `memory-forge init --workspace` starts a workspace\n  \
         with a manifest, `memory-forge mind set` the state\n"
    );
}

#[test]
fn a_question_is_asked_and_answered_on_a_terminal() {
    let ws = ws("");
    let mut command = ws.command();
    command.args(["init"]);
    let screen = terminal::run(command, 100, "y\n");
    assert_eq!(screen.status, Some(0), "{}", screen.text());
    assert!(
        screen.text().contains("like this? [y/N]"),
        "{}",
        screen.text()
    );
    assert!(ws.exists("knowledge/README.md"));
}

/// "A person sees the sections with their token counts and what would happen
/// to each, and can change it before anything is written."
#[test]
fn a_repair_shows_its_sections_and_takes_changes_on_a_terminal() {
    let ws = shop();
    let why = "The till was replaced because the old one lost receipts. ".repeat(60);
    ws.write(
        "CLAUDE.md",
        format!("# Shop\n\n## Rules\n\nNever push.\n\n## History\n\n{why}\n\n## Design\n\n{why}\n"),
    );
    let before = ws.read("CLAUDE.md");
    let repair = |answers| {
        let mut command = ws.command();
        command.args(["doctor", "--fix"]);
        terminal::run(command, 100, answers)
    };
    let screen = repair("keep 3\n\nn\n");
    let text = screen.text();
    for part in [
        "  N  Tokens   Moves  Section",
        "kept, as you chose",
        "Apply these changes? [y/N]",
    ] {
        assert!(text.contains(part), "{part}:\n{text}");
    }
    assert_eq!(ws.read("CLAUDE.md"), before);
    repair("keep 3\n\ny\n");
    let after = ws.read("CLAUDE.md");
    assert!(
        after.contains(why.trim_end()) && after.contains("Never push."),
        "{after}"
    );
    assert!(
        after.contains("> Moved to `knowledge/legacy/CLAUDE.md`: Design"),
        "{after}"
    );
}

/// The first five minutes: nothing is there, and each answer says what to do.
#[test]
fn a_newcomer_is_told_what_to_do_next() {
    let ws = ws("");
    let said = |arguments: &[&str]| ws.run(arguments).to_string();
    let check = |text: String, part: &str| assert!(text.contains(part), "{part}\n{text}");
    check(said(&[]), "Begin here:\n  memory-forge init");
    check(
        said(&["status"]),
        "none yet; `memory-forge init` creates it",
    );
    check(
        said(&["search", "refunds"]),
        "`memory-forge init` makes a start",
    );
    check(
        said(&["init", "--yes"]),
        "Next:\n  memory-forge save context",
    );
    check(said(&["init", "--yes"]), "Everything is in place");
    check(
        said(&["search", "refunds"]),
        "`memory-forge save context <name>` writes one",
    );
    ws.write("CLAUDE.md", "# Shop\n");
    check(
        said(&["init", "--yes"]),
        "`memory-forge audit` shows what it costs",
    );
    check(
        said(&["init", "--yes"]),
        "Not a git repository; `git init` makes one",
    );
    ws.git_init();
    assert!(!said(&["init", "--yes"]).contains("git init"));
}

#[test]
fn help_answers_as_it_does_elsewhere() {
    let ws = ws("");
    assert_eq!(ws.run(&["help"]).ok(), ws.run(&["-h"]).ok());
    assert_eq!(
        ws.run(&["help", "mind", "set"]).ok(),
        ws.run(&["mind", "set", "--help"]).ok()
    );
    let unknown = ws.run(&["help", "serch"]);
    assert!(
        unknown.fails(2).contains("Did you mean `search`?"),
        "{unknown}"
    );
}

#[test]
fn a_name_with_a_slip_is_told_from_the_one_that_was_meant() {
    let ws = shop();
    let check = |arguments: &[&str], expect: &str| {
        let output = ws.run(arguments);
        assert_ne!(output.status, Some(0), "{output}");
        assert!(
            output.stderr.contains(&format!("Did you mean `{expect}`?")),
            "{arguments:?}: {output}"
        );
    };
    check(&["preview", "knowledge/refnds.md"], "knowledge/refunds.md");
    check(
        &["links", "rename", "refnds.md", "x.md"],
        "knowledge/refunds.md",
    );
    check(&["forget", "knowledge/refnds.md"], "knowledge/refunds.md");
    check(&["graph", "show", "refnds"], "refunds");
    check(
        &["--root", &format!("{}x", ws.root().display()), "status"],
        &ws.root()
            .display()
            .to_string()
            .replace(&*ws.root().to_string_lossy(), "[root]"),
    );
}

/// A question asked on a terminal, key by key.
fn picked(ws: &TestWorkspace, editor: Option<&str>, typed: &str) -> Screen {
    let mut command = ws.command();
    command.args(["search"]).env("TERM", "xterm-256color");
    if let Some(editor) = editor {
        command.env("EDITOR", editor);
    }
    terminal::run(command, 100, typed)
}

/// "`search` on a terminal without arguments asks and narrows as one types."
#[test]
fn a_search_without_words_asks_and_shows_what_is_chosen() {
    let ws = shop();
    let screen = picked(&ws, None, "refund appr\n");
    let text = screen.text();
    assert_eq!(screen.status, Some(0), "{text}");
    assert!(
        text.contains("knowledge/refunds.md:") && text.contains("approval of a second person"),
        "{text}"
    );
    // What was drawn while typing is gone.
    assert!(
        !text.contains("Esc leaves") && !text.contains("Search:"),
        "{text}"
    );
    let drawn = String::from_utf8_lossy(&screen.bytes).into_owned();
    assert!(
        drawn.contains("Search:") && drawn.contains("Enter shows it"),
        "{drawn}"
    );

    // Half a word narrows already, and the keys choose another hit.
    let chosen = |typed: &str| {
        let screen = picked(&ws, None, typed);
        assert_eq!(screen.status, Some(0), "{}", screen.text());
        let text = screen.text();
        let place = text.lines().find(|line| line.starts_with("knowledge/"));
        place.map(str::to_owned).expect("a hit is shown")
    };
    assert_ne!(chosen("refun\n"), chosen("refun\u{1b}[B\n"));
}

#[test]
fn a_choice_opens_in_the_editor_and_leaving_chooses_nothing() {
    let ws = shop();
    ws.write("show.sh", "echo opened \"$1\"\n");
    let editor = format!("sh {}", ws.path("show.sh").display());
    let opened = picked(&ws, Some(&editor), "payout sent twice\n");
    assert_eq!(opened.status, Some(0), "{}", opened.text());
    assert!(
        opened.text().contains("opened ") && opened.text().contains("a-payout-that-was-sent-twice"),
        "{}",
        opened.text()
    );
    let left = picked(&ws, Some(&editor), "payout\u{1b}");
    assert_eq!(left.status, Some(1), "{}", left.text());
    assert!(!left.text().contains("opened "), "{}", left.text());
    // Nothing matches: there is nothing to choose, and the next key leaves.
    let none = picked(&ws, Some(&editor), "zzqqx\n\u{1b}");
    assert_eq!(none.status, Some(1), "{}", none.text());
}
