//! Every line that the program prints, one snapshot per command in `messages/`,
//! to be read from top to bottom: the help, what success prints, the errors of
//! bad input, and each finding of the checks.
//!
//! A transcript has the command line after `$`, standard output as it is,
//! standard error after `! `, and the exit code if it is not 0. After a change:
//! `INSTA_UPDATE=always cargo test -p memory-forge --test it messages`.

use std::collections::BTreeSet;
use std::fmt::Write as _;

use testkit::TestWorkspace;

use crate::advice::{each_finding, split_words};
use crate::harness::ws;
use crate::lint::CLEAN;

/// A command with the workspace and the command lines of its snapshot.
struct Transcript {
    command: &'static str,
    workspace: fn() -> TestWorkspace,
    lines: &'static [&'static str],
}

fn shop() -> TestWorkspace {
    let ws = ws("
        //- CLAUDE.md
        # Shop

        Run `make test`. See @knowledge/refunds.md.
        //- knowledge/README.md
        # Knowledge
        //- knowledge/refunds.md
        ---
        title: Refunds
        date: 2026-01-10
        ---
        # Refunds

        A refund above 500 euros needs the approval of a second person.

        ## Ledger

        Both names are written into the ledger. See [[payouts]] and [[nowhere]].
        //- knowledge/payouts.md
        # Payouts

        Payouts run at noon. The lease of a worker takes 30 seconds.
        //- knowledge/mine.local.md
        # Mine

        My notes on refunds.
        //- docs/guide.md
        # Guide

        How to run the shop.
    ");
    ws.git_init();
    ws.commit("start");
    ws.run(&["index"]).ok();
    ws
}

fn project() -> TestWorkspace {
    let ws = shop();
    for line in [
        "mind set --phase Refunds --active 'Refund form' --next 'Write the migration' --blocked 'No test account'",
        "mind decide Ledger --decision 'Keep the ledger in Postgres' --rationale 'One backup'",
        "mind task add 'Write the migration'",
    ] {
        ws.run(&split_words(line)).ok();
    }
    ws
}

fn garden() -> TestWorkspace {
    let ws = ws(CLEAN);
    ws.git_init();
    ws.commit("start");
    ws
}

fn untidy() -> TestWorkspace {
    let ws = garden();
    ws.write("garden/beans.md", "# Beans\nThey climb. See [[pease]].\n");
    ws.write("garden/peas.md", "# Peas\n\nBeans are better.\n");
    ws.write(
        "memory/decisions.md",
        "# Decisions\n\n**2026-01-04** - Seeds from Bloom\n**2026-02-01** - Dropped Bloom\n",
    );
    ws
}

fn squad() -> TestWorkspace {
    let ws = ws("//- knowledge/a.md\n# A\n\nText.\n");
    let line = "agent remember 'API migration' --agent eng/builder --type project --description 'Alembic, revision 37' --content 'Revision 37 is deployed.'";
    ws.run(&split_words(line)).ok();
    ws
}

fn empty() -> TestWorkspace {
    ws("")
}

const TRANSCRIPTS: &[Transcript] = &[
    Transcript {
        command: "init",
        workspace: || ws("//- docs/guide.md\n# Guide\n\nHow to run it.\n"),
        lines: &[
            "init --dry-run",
            "init",
            "init --yes",
            "init --yes",
            "init --include 'docs/**' --yes",
            "init --template shop",
            "init --workspace Billing --yes",
            "init --organise",
            "init --apply gone.toml",
            "init --include '['",
        ],
    },
    Transcript {
        command: "setup",
        workspace: shop,
        lines: &[
            "setup claude --dry-run",
            "setup claude",
            "setup claude --yes",
            "setup claude --yes",
            "setup emacs",
            "setup",
        ],
    },
    Transcript {
        command: "uninstall",
        workspace: shop,
        lines: &[
            "uninstall claude",
            "setup claude --yes",
            "uninstall claude --dry-run",
            "uninstall claude",
            "uninstall claude --yes",
            "uninstall emacs",
        ],
    },
    Transcript {
        command: "status",
        workspace: project,
        lines: &["status", "status extra"],
    },
    Transcript {
        command: "view",
        workspace: shop,
        lines: &["view --port x", "view extra"],
    },
    Transcript {
        command: "index",
        workspace: shop,
        lines: &[
            "index",
            "index --all",
            "index --force",
            "index --quiet",
            "index --vectors never",
        ],
    },
    Transcript {
        command: "search",
        workspace: shop,
        lines: &[
            "search refund approval",
            "search refund --mode text --explain",
            "search refund --budget 100",
            "search refund --context",
            "search zebra",
            "search ''",
            "search refund --mode fast",
            "search refund --scope everywhere",
            "search refund --since yesterday-ish",
            "search refund --since 2026-01-01",
            "search refund --as-of HEAD",
            "search refund --as-of v9",
            "search refund --scope sources",
            "search refund --scope org",
            "search refund --scope closets",
            "search refund --scope agents",
            "search refund --type poem",
        ],
    },
    Transcript {
        command: "save",
        workspace: shop,
        lines: &[
            "save context opening-hours --content 'Open at nine.'",
            "save context opening-hours --content 'Open at nine.'",
            "save poem ode --content x",
            "save context ../up --content x",
            "save context empty --content ''",
        ],
    },
    Transcript {
        command: "forget",
        workspace: shop,
        lines: &[
            "forget",
            "forget payouts.md --dry-run",
            "forget payouts.md",
            "forget payouts.md --yes",
            "forget payouts.md --yes",
            "forget gone.md --yes",
            "forget --max-files 0 --yes",
            "forget --fact 'The lease takes 30 seconds' --instead 'It takes 60'",
            "forget --fact 'The lease takes 30 seconds' --instead 'It takes 60'",
            "forget --fact ''",
        ],
    },
    Transcript {
        command: "restore",
        workspace: shop,
        lines: &[
            "restore",
            "restore payouts.md",
            "forget payouts.md --yes",
            "restore payouts.md",
            "restore gone.md",
            "restore --fact 'no such fact'",
        ],
    },
    Transcript {
        command: "import",
        workspace: shop,
        lines: &[
            "import transcripts gone.jsonl",
            "import memory-bank gone",
            "import claude-mem gone.db",
            "import basic-memory gone",
            "import memory-bank docs --dry-run",
            "import",
        ],
    },
    Transcript {
        command: "export",
        workspace: shop,
        lines: &[
            "export json",
            "export jsonl",
            "export native",
            "export tables",
        ],
    },
    Transcript {
        command: "audit",
        workspace: shop,
        lines: &[
            "audit",
            "audit",
            "audit --client claude",
            "audit --client emacs",
            "audit --ci",
            "audit --tokenizer words",
        ],
    },
    Transcript {
        command: "doctor",
        workspace: shop,
        lines: &[
            "doctor",
            "doctor --fix --dry-run",
            "doctor --fix",
            "doctor --fix --yes",
            "doctor --undo",
            "doctor --undo",
        ],
    },
    Transcript {
        command: "check",
        workspace: untidy,
        lines: &[
            "check",
            "check --fix --dry-run",
            "check --fix",
            "check --fix --yes",
            "check --only links",
            "check --only nothing",
            "check --list",
        ],
    },
    Transcript {
        command: "undo",
        workspace: shop,
        lines: &[
            "undo",
            "save context a --content Text.",
            "undo --dry-run",
            "undo",
            "undo 99",
        ],
    },
    Transcript {
        command: "why",
        workspace: with_transcripts,
        lines: &[
            "why",
            "why --edit db/1.sql",
            "why --command 'npm publish'",
            "why --command ls",
            "why --read gone.md",
            "why --json",
            "why --limit 0",
        ],
    },
    Transcript {
        command: "replay",
        workspace: with_transcripts,
        lines: &[
            "replay",
            "replay t",
            "replay t --part first",
            "replay t --json",
            "replay gone",
        ],
    },
    Transcript {
        command: "mind",
        workspace: project,
        lines: &[
            "mind show",
            "mind show briefing",
            "mind show nothing",
            "mind set --phase Payouts",
            "mind set",
            "mind decide Noon --decision 'Pay at noon' --rationale 'Banks are open'",
            "mind decide Noon --decision 'Pay at noon' --rationale 'Banks are open'",
            "mind decide ''",
            "mind task add 'Test the form'",
            "mind task add 'Test the form'",
            "mind task done 'Test the form'",
            "mind task done 'Paint the shop'",
            "mind log 'Wrote the form'",
            "mind checkpoint",
            "mind compress",
            "mind health",
            "mind session start",
            "mind session update --focus Tests",
            "mind session end --did 'Wrote the form' --next 'Release it'",
            "mind session end",
            "mind idea 'Gift cards'",
            "mind idea list",
            "mind idea ''",
        ],
    },
    Transcript {
        command: "agent",
        workspace: squad,
        lines: &[
            "agent init",
            "agent init",
            "agent remember 'Old API' --agent eng/builder --type poem --description x --content y",
            "agent remember 'API migration' --agent eng/builder --type project --description 'Alembic, revision 37' --content 'Revision 37 is deployed.'",
            "agent remember Key --agent builder --type project --description x --content y",
            "agent recall migration --agent eng/builder",
            "agent recall zebra --agent eng/builder",
            "agent recall migration --agent eng/nobody",
            "agent learn 'Run the linter first' --squad eng",
            "agent learn 'Run the linter first' --squad eng",
            "agent learn 'Good work' --agent eng/builder --rating 9",
            "agent context --agent eng/builder",
            "agent index --agent eng/builder",
            "agent index --check",
            "agent rotate --agent eng/builder",
        ],
    },
    Transcript {
        command: "workspace",
        workspace: garden,
        lines: &[
            "workspace manifest show",
            "workspace manifest refresh --dry-run",
            "workspace domain list",
            "workspace domain add orchard",
            "workspace domain add orchard",
            "workspace domain add ../up",
            "workspace closets build",
            "workspace closets check",
            "workspace closets show beans",
            "workspace closets show zebra",
            "workspace closets build --hub gone",
            "workspace archive garden/beans.md",
            "workspace archive garden/gone.md --reason old",
            "workspace archive garden/beans.md --reason eaten",
            "workspace organise",
            "workspace upgrade --dry-run",
            "workspace upgrade",
            "workspace sources list",
            "workspace sources add club ../gone",
            "workspace sources add club .",
            "workspace sources list",
            "workspace sources set gone --private",
            "workspace sources remove gone",
        ],
    },
    Transcript {
        command: "links",
        workspace: untidy,
        lines: &[
            "links check",
            "links suggest",
            "links apply",
            "links apply --yes",
            "links rename garden/peas.md garden/pea.md",
            "links rename garden/peas.md garden/pea.md --yes",
            "links rename garden/gone.md garden/here.md",
        ],
    },
    Transcript {
        command: "graph",
        workspace: untidy,
        lines: &[
            "graph show beans",
            "graph show gone",
            "graph check",
            "graph query",
            "graph query --kind poem",
            "graph path beans peas",
            "graph path beans gone",
            "graph export --format dot",
            "graph export --format poem",
            "graph write",
            "graph ask blocked",
            "graph ask active",
            "graph ask idle",
            "graph ask critical-path",
            "graph ask done",
            "graph ask rejections",
            "graph ask impact beans",
            "graph ask path beans peas",
            "graph push",
            "graph status",
            "graph cypher 'match (n) return n'",
            "graph drop",
            "graph pull",
        ],
    },
    Transcript {
        command: "share",
        workspace: shop,
        lines: &[
            "share knowledge/mine.local.md --dry-run",
            "share knowledge/mine.local.md",
            "share knowledge/mine.local.md --yes",
            "share knowledge/mine.local.md --yes",
            "share knowledge/gone.local.md",
        ],
    },
    Transcript {
        command: "engine",
        workspace: shop,
        lines: &[
            "engine status",
            "engine push",
            "engine push --dry-run",
            "engine pull",
            "engine search refund",
            "engine check",
            "engine drop",
            "engine member list",
            "engine tenant list",
            "engine init",
            "engine upgrade",
        ],
    },
    Transcript {
        command: "lint",
        workspace: untidy,
        lines: &["lint", "lint --fix", "lint --fix --yes", "lint extra"],
    },
    Transcript {
        command: "consolidate",
        workspace: untidy,
        lines: &[
            "consolidate",
            "consolidate --fix",
            "consolidate --fix --force",
        ],
    },
    Transcript {
        command: "stats",
        workspace: shop,
        lines: &[
            "stats",
            "search refund --mode text -q",
            "stats",
            "stats extra",
        ],
    },
    Transcript {
        command: "preview",
        workspace: shop,
        lines: &[
            "preview knowledge/refunds.md",
            "preview knowledge/gone.md",
            "preview",
        ],
    },
    Transcript {
        command: "mcp",
        workspace: shop,
        lines: &["mcp --list", "mcp --http", "mcp --port x", "mcp"],
    },
    Transcript {
        command: "merge",
        workspace: shop,
        lines: &[
            "merge",
            "merge a b c",
            "merge gone1 gone2 gone3 knowledge/refunds.md",
        ],
    },
    Transcript {
        command: "config",
        workspace: || ws("//- memory-forge.toml\n[search]\nlimti = 3\nlimit = 0\n"),
        lines: &["config", "config extra"],
    },
    Transcript {
        command: "hook",
        workspace: project,
        lines: &["hook", "hook nothing", "hook session-start", "hook stop"],
    },
    Transcript {
        command: "completion",
        workspace: empty,
        lines: &["completion", "completion tcl"],
    },
    Transcript {
        command: "man",
        workspace: empty,
        lines: &["man gone", "man a b"],
    },
    Transcript {
        command: "memory-forge",
        workspace: empty,
        lines: &[
            "",
            "help",
            "help --all",
            "serach x",
            "status",
            "search x",
            "--root gone status",
            "mind show",
            "check",
            "lint",
            "stats",
            "doctor",
            "audit",
            "workspace manifest show",
            "links check",
            "graph show",
            "consolidate",
            "agent index",
            "export json",
            "list",
        ],
    },
];

/// Commands of the reference that begin with these words, in its order.
fn commands_below(command: &str) -> Vec<String> {
    let page = include_str!("../../../../docs/reference/commands.md");
    let headings = page.lines().filter_map(|line| line.strip_prefix("###"));
    let names = headings.filter_map(|it| it.trim_start_matches('#').strip_prefix(" memory-forge "));
    let below = names.filter(|it| it.split(' ').next() == Some(command));
    below.map(str::to_owned).collect()
}

fn transcribe(out: &mut String, ws: &TestWorkspace, line: &str) {
    let output = ws.run(&split_words(line));
    let _ = writeln!(out, "{}", format!("$ memory-forge {line}").trim_end());
    let mut is_diff = false;
    for line in output.stdout.lines() {
        // A change is the user's text; its file is enough.
        is_diff = line.starts_with("--- a/")
            || is_diff && (line.is_empty() || line.starts_with(['+', '-', '@', ' ']));
        match line.strip_prefix("--- a/") {
            Some(path) if is_diff => {
                let _ = writeln!(out, "[diff of {path}]");
            }
            _ if is_diff => {}
            _ => {
                let _ = writeln!(out, "{line}");
            }
        }
    }
    for line in output.stderr.lines() {
        let _ = writeln!(out, "! {line}");
    }
    if output.status != Some(0) {
        let _ = writeln!(out, "[exit {}]", output.status.unwrap_or(-1));
    }
    out.push('\n');
}

/// Replaces what differs between two runs or versions: the program's version
/// and ids of 16 or more hexadecimal digits.
fn neutral(text: &str) -> String {
    const MIN_ID_DIGITS: usize = 16;
    let version = concat!("memory-forge ", env!("CARGO_PKG_VERSION"));
    let text = text.replace(version, "memory-forge [version]");
    let pieces = text.split_inclusive(|c: char| !c.is_ascii_alphanumeric());
    let shown = pieces.map(|piece| {
        let word = piece.trim_end_matches(|c: char| !c.is_ascii_alphanumeric());
        let is_id = word.len() >= MIN_ID_DIGITS && word.bytes().all(|b| b.is_ascii_hexdigit());
        if is_id {
            piece.replace(word, "[id]")
        } else {
            piece.to_owned()
        }
    });
    shown.collect()
}

fn assert_transcript(name: &str, text: &str) {
    insta::with_settings!({
        snapshot_path => "messages",
        prepend_module_to_snapshot => false,
        omit_expression => true,
    }, {
        insta::assert_snapshot!(name, neutral(text));
    });
}

#[test]
#[cfg_attr(windows, ignore = "errors of the system and paths read differently")]
fn each_command_prints_what_its_snapshot_has() {
    for it in TRANSCRIPTS {
        let mut text = String::new();
        let helpless = empty();
        for name in commands_below(it.command) {
            transcribe(&mut text, &helpless, &format!("{name} --help"));
        }
        let ws = (it.workspace)();
        for line in it.lines {
            transcribe(&mut text, &ws, line);
        }
        assert_transcript(it.command, &text);
    }
}

#[test]
fn each_finding_has_a_message_and_advice() {
    let mut text = String::new();
    each_finding(|check, message, advice| {
        let _ = writeln!(text, "{check}\n  {message}");
        if !advice.is_empty() {
            let _ = writeln!(text, "  → {advice}");
        }
        text.push('\n');
    });
    assert_transcript("findings", &text);
}

/// A project with a rule about some files, and three sessions in which the same
/// command was not accepted.
fn with_transcripts() -> TestWorkspace {
    let ws = crate::push::project_with_a_rule();
    crate::push::write_transcripts(&ws);
    // The table of keys is made when a session starts.
    let start = r#"{"hook_event_name":"SessionStart","session_id":"s"}"#;
    ws.feed(start, &[], &["hook", "--client=claude"]).ok();
    ws
}

/// A command without a snapshot is one whose messages nobody reads.
#[test]
fn every_visible_command_has_a_snapshot() {
    let listed: BTreeSet<&str> = TRANSCRIPTS.iter().map(|it| it.command).collect();
    let page = include_str!("../../../../docs/reference/commands.md");
    let names = page
        .lines()
        .filter_map(|it| it.strip_prefix("### memory-forge "));
    let missing: Vec<&str> = names.filter(|it| !listed.contains(it)).collect();
    assert!(missing.is_empty(), "no row in TRANSCRIPTS for {missing:?}");
}

/// Plurals agree, and the program speaks of itself alone.
#[test]
fn no_snapshot_has_a_plural_in_brackets() {
    let folder = concat!(env!("CARGO_MANIFEST_DIR"), "/tests/it/messages");
    let mut wrong = String::new();
    for entry in std::fs::read_dir(folder).expect("the snapshots are there") {
        let path = entry.expect("the folder can be read").path();
        let text = std::fs::read_to_string(&path).expect("a snapshot is text");
        for line in text.lines() {
            // The two lines of the agents' protocol that other programs read.
            let is_kept = line.contains("Missing required field(s)") || line.contains("source(s)");
            if (line.contains("(s)") && !is_kept) || line.contains("Memex") {
                let _ = writeln!(wrong, "{}: {line}", path.display());
            }
        }
    }
    assert!(wrong.is_empty(), "\n{wrong}");
}
