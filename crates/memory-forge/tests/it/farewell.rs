//! Saying goodbye: `uninstall --all` leaves the tree as it was before the
//! program came, to the byte, and every line that someone else wrote.

use testkit::TestWorkspace;

use crate::harness::{self, found};

/// A repository as people have it: a rule file without a line end, documents,
/// and instructions that have grown.
fn repository() -> TestWorkspace {
    let ws = harness::ws(
        "
        //- README.md
        # Otter

        Otter counts fish.
        //- docs/tides.md
        # Tides

        High water at noon.
    ",
    );
    let history = "The parser was rewritten in spring because the old one lost text. ".repeat(60);
    ws.write(
        "CLAUDE.md",
        format!("# Otter\n\n## History\n\n{history}\n\n## Rules\n\n- Never push.\n"),
    );
    ws.write(".gitignore", "target");
    ws.git_init();
    ws.commit("Begin");
    ws
}

fn run(ws: &TestWorkspace, line: &str) {
    let words: Vec<&str> = line.split(' ').collect();
    let output = ws.run(&words);
    assert!(matches!(output.status, Some(0 | 1)), "{line}: {output}");
}

#[track_caller]
fn assert_gone(ws: &TestWorkspace, before: &str, done: &[&str]) {
    run(ws, "uninstall --all --yes");
    assert_eq!(ws.tree(), before, "after {done:?}");
    assert!(!ws.exists(".memory-forge"), "after {done:?}");
    let git = ws.git(&["status", "--porcelain", "--ignored"]);
    assert_eq!(git, "", "after {done:?}");
}

#[test]
fn everything_that_the_program_made_leaves_the_tree_as_git_has_it() {
    let ws = repository();
    let before = ws.tree();
    let done = [
        "init --yes",
        "search noon",
        "setup claude codex gemini --git --yes",
        "doctor --fix --yes",
        "index",
        "status",
    ];
    for line in done {
        run(&ws, line);
    }
    assert_eq!(found(&ws, "high water", &["-n", "1"]), ["docs/tides.md"]);
    assert_ne!(ws.tree(), before);
    assert_gone(&ws, &before, &done);
    let again = ws.run(&["uninstall", "--all", "--yes"]);
    assert!(again.ok().contains("Nothing of ours is here"), "{again}");
    assert_eq!(ws.tree(), before);
}

/// Any order of what a newcomer tries ends in the same tree.
#[test]
fn any_order_of_what_was_tried_can_be_taken_out() {
    let commands = [
        "init --yes",
        "setup claude --yes",
        "setup codex opencode copilot --yes",
        "uninstall --yes",
        "doctor --fix --yes",
        "doctor --undo",
        "search noon",
        "index",
    ];
    // A fixed series of numbers, so that a failure can be repeated.
    let mut seed = 24_u64;
    let mut next = |below: usize| {
        seed = seed.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1);
        (seed >> 33) as usize % below
    };
    for _ in 0..8 {
        let ws = repository();
        let before = ws.tree();
        let mut done = Vec::new();
        for _ in 0..6 {
            let line = commands[next(commands.len())];
            run(&ws, line);
            done.push(line);
        }
        assert_gone(&ws, &before, &done);
    }
}

/// A clone has no journal, and an old change is forgotten after fifty others.
#[test]
fn a_clone_without_a_journal_is_recognized_by_its_text() {
    let ws = repository();
    ws.write(".gitignore", "target\n");
    ws.commit("End the line");
    let before = ws.tree();
    run(&ws, "init --yes");
    run(&ws, "setup claude --yes");
    std::fs::remove_dir_all(ws.path(".memory-forge")).expect("it is there");
    assert_gone(&ws, &before, &["init", "setup"]);
}

#[test]
fn what_people_wrote_stays_and_is_named() {
    let ws = repository();
    run(&ws, "init --yes");
    run(&ws, "setup claude --yes");
    ws.run(&[
        "save",
        "context",
        "seals",
        "--content",
        "Seals sleep at noon.",
    ])
    .ok();
    run(&ws, "mind set --next Count");
    let rules = ws.read(".gitignore") + "mine.txt\n";
    ws.write(".gitignore", &rules);
    let settings = ws.read("memory-forge.toml") + "\n[audit]\ntotal_warn = 900\n";
    ws.write("memory-forge.toml", &settings);
    let readme = ws.read("knowledge/README.md");
    let plain = ws.run(&["uninstall", "--yes"]);
    for part in [
        "Still here: the cache `.memory-forge/`; `memory-forge uninstall --all`",
        "`.gitignore` stays: it was edited since",
        "What you and your agents wrote stays: `knowledge`, `.mind`",
    ] {
        assert!(plain.stderr.contains(part), "{part}: {plain}");
    }
    let output = ws.run(&["uninstall", "--all", "--yes"]);
    output.ok();
    assert_eq!(ws.read(".gitignore"), rules);
    assert_eq!(ws.read("memory-forge.toml"), settings);
    assert_eq!(ws.read("knowledge/README.md"), readme);
    assert!(ws.read("knowledge/seals.md").contains("Seals sleep"));
    assert!(ws.read(".mind/STATE.md").contains("Count"));
    assert!(!ws.exists(".memory-forge") && !ws.exists(".mcp.json"));
}

/// A repair moves text to another file: either both go back, or none.
#[test]
fn a_repair_that_was_edited_or_committed_stays_whole() {
    let ws = repository();
    run(&ws, "init --yes");
    run(&ws, "doctor --fix --yes");
    let legacy = ws.read("knowledge/legacy/CLAUDE.md");
    ws.commit("Repair");
    let output = ws.run(&["uninstall", "--all", "--yes"]);
    assert!(output.stderr.contains("`git revert`"), "{output}");
    assert_eq!(ws.read("knowledge/legacy/CLAUDE.md"), legacy);

    let ws = repository();
    run(&ws, "init --yes");
    run(&ws, "doctor --fix --yes");
    let edited = ws.read("CLAUDE.md") + "\n- Use tabs.\n";
    ws.write("CLAUDE.md", &edited);
    run(&ws, "uninstall --all --yes");
    assert_eq!(ws.read("CLAUDE.md"), edited);
    assert_eq!(ws.read("knowledge/legacy/CLAUDE.md"), legacy);
}

/// Without the rule, a private note would be one `git add` away from everyone.
#[test]
fn private_notes_stay_out_of_git() {
    let ws = repository();
    run(&ws, "init --yes");
    ws.write("knowledge/plan.local.md", "# Plan\n\nSell.\n");
    let output = ws.run(&["uninstall", "--all", "--yes"]);
    assert!(output.stderr.contains("private notes"), "{output}");
    assert!(ws.read(".gitignore").contains("*.local.md"));
    assert!(ws.exists("knowledge/plan.local.md"));
}

#[test]
fn looking_at_a_removal_changes_nothing() {
    let ws = repository();
    run(&ws, "init --yes");
    run(&ws, "setup claude --yes");
    let before = ws.tree_of_sources();
    let output = ws.run(&["uninstall", "--all", "--dry-run"]);
    let text = output.ok();
    for part in [
        "-.memory-forge/",
        "- .memory-forge/ (the index",
        "-[knowledge]",
        "a/.mcp.json",
    ] {
        assert!(text.contains(part), "{part}: {output}");
    }
    assert_eq!(ws.tree_of_sources(), before);
    assert!(ws.run(&["uninstall", "--all"]).fails(2).contains("--yes"));
    assert_eq!(ws.tree_of_sources(), before);
}

#[cfg(unix)]
mod at_a_terminal {
    use testkit::terminal;

    use super::*;

    /// `setup` names each client with the reason and the files, and asks.
    #[test]
    fn setup_asks_about_each_client() {
        let prepared = || {
            let ws = harness::ws("//- .gemini/settings.json\n{}\n").env("PATH", "/nowhere");
            std::fs::create_dir_all(ws.home().join(".codex")).expect("made");
            ws
        };
        let ws = prepared();
        let mut command = ws.command();
        command.args(["setup"]);
        let screen = terminal::run(command, 120, "n\ny\ny\n");
        let text = screen.text();
        assert_eq!(screen.status, Some(0), "{text}");
        assert!(
            text.contains("Found Codex") && text.contains("Found Gemini CLI"),
            "{text}"
        );
        assert!(text.contains("Connect Codex (.codex/hooks.json"), "{text}");
        assert!(
            text.contains("Connect Gemini CLI (.gemini/settings.json"),
            "{text}"
        );
        assert!(!ws.exists(".codex") && ws.read(".gemini/settings.json").contains("memory-forge"));

        let ws = prepared();
        let mut command = ws.command();
        command.args(["setup", "--all"]);
        let screen = terminal::run(command, 120, "");
        assert_eq!(screen.status, Some(0), "{}", screen.text());
        assert!(!screen.text().contains("[Y/n]") && !screen.text().contains("[y/N]"));
        assert!(ws.exists(".codex/hooks.json"), "{}", screen.text());
        assert!(ws.read(".gemini/settings.json").contains("memory-forge"));
    }

    /// A person who decides is known to git; an agent has no terminal.
    #[test]
    fn a_decision_at_a_terminal_names_the_person() {
        let ws = repository();
        ws.git(&["config", "user.name", "Grace Hopper"]);
        let mut command = ws.command();
        command.args(["mind", "decide", "Tides", "--decision", "Noon"]);
        let screen = terminal::run(command, 100, "");
        assert_eq!(screen.status, Some(0), "{}", screen.text());
        run(&ws, "mind decide Fish --decision Count");
        let decisions = ws.read(".mind/DECISIONS.md");
        assert!(
            decisions.contains("**Decided by:** Grace Hopper"),
            "{decisions}"
        );
        assert!(decisions.contains("**Decided by:** agent"), "{decisions}");
    }
}
