//! One memory shared through git: branches that each grow it, merged in any
//! order, in a real repository with the driver that `setup --git` wires.

use std::collections::BTreeSet;
use std::path::Path;
use std::time::Instant;

use testkit::{TestWorkspace, git};

use crate::harness::{json, ws};

const POINTERS: &str = ".agents/memory/team/lead/MEMORY.md";

/// Runs git and gives whether it succeeded, with all it said.
fn try_git(root: &Path, arguments: &[&str]) -> (bool, String) {
    let output = git::command(root, git::DATE).args(arguments).output();
    let output = output.unwrap_or_else(|error| panic!("cannot run git: {error}"));
    let said = [output.stdout, output.stderr].concat();
    (
        output.status.success(),
        String::from_utf8_lossy(&said).into_owned(),
    )
}

#[track_caller]
fn merges(ws: &TestWorkspace, branch: &str) {
    let (done, said) = try_git(ws.root(), &["merge", "--quiet", "--no-edit", branch]);
    assert!(
        done,
        "{branch}: {said}\n{}",
        try_git(ws.root(), &["diff"]).1
    );
}

/// A memory with one entry of each kind, and the driver.
fn shared_memory() -> TestWorkspace {
    let ws = ws("");
    ws.git_init();
    ws.run(&["mind", "log", "The beginning"]).ok();
    ws.run(&["mind", "decide", "Common", "--decision", "We share"])
        .ok();
    ws.run(&["mind", "task", "add", "Common task"]).ok();
    ws.write(POINTERS, "# Memory\n\n- [Base](base.md) — where it began\n");
    ws.run(&["setup", "--git", "--absolute", "--yes"]).ok();
    ws.commit("base");
    ws
}

/// One branch's work: decisions of which the second mentions the first, a
/// session, tasks and a pointer.
fn grow(ws: &TestWorkspace, name: &str) {
    ws.git(&["checkout", "--quiet", "-b", name, "main"]);
    let run = |arguments: &[&str]| ws.run(&[&["mind"], arguments].concat()).ok().to_owned();
    let title = format!("First of {name}");
    let said = run(&["decide", &title, "--decision", &format!("{name} decides")]);
    assert!(said.contains("DEC-002"), "{said}");
    let second = format!("{name} goes on from DEC-002");
    run(&[
        "decide",
        &format!("Second of {name}"),
        "--decision",
        &second,
    ]);
    run(&[
        "log",
        &format!("Worked on {name}"),
        "--next",
        &format!("More {name}"),
    ]);
    run(&["task", "add", &format!("Task of {name}")]);
    run(&[
        "task",
        "add",
        &format!("Later, {name}"),
        "-s",
        "Not Started",
    ]);
    run(&["task", "done", "Common task"]);
    let pointers = ws.read(POINTERS);
    ws.write(
        POINTERS,
        format!("{pointers}- [{name}]({name}.md) — what {name} knows\n"),
    );
    ws.commit(name);
}

/// The headings of a file that begin like this, numbers only.
fn numbers(text: &str, before: &str) -> Vec<usize> {
    let headings = text.lines().filter_map(|line| line.strip_prefix(before));
    headings
        .map(|rest| {
            let digits = rest.bytes().take_while(u8::is_ascii_digit).count();
            rest[..digits].parse().expect("a number")
        })
        .collect()
}

#[track_caller]
fn has_everything_of(ws: &TestWorkspace, names: &[String]) {
    let decisions = ws.read(".mind/DECISIONS.md");
    let sessions = ws.read(".mind/SESSION-LOG.md");
    let tasks = ws.read(".mind/PROGRESS.md");
    let pointers = ws.read(POINTERS);
    for text in [&decisions, &sessions, &tasks, &pointers] {
        assert!(
            !text.contains("<<<<<<<") && !text.contains(">>>>>>>"),
            "{text}"
        );
    }
    let once = |text: &str, what: &str| assert_eq!(text.matches(what).count(), 1, "{what}\n{text}");
    for name in names {
        once(&decisions, &format!(": First of {name}\n"));
        once(&decisions, &format!(": Second of {name}\n"));
        once(&sessions, &format!("Worked on {name}\n"));
        once(&tasks, &format!("- [ ] Task of {name}\n"));
        once(&tasks, &format!("- [ ] Later, {name}\n"));
        once(
            &pointers,
            &format!("- [{name}]({name}.md) — what {name} knows\n"),
        );
        // What the second decision mentions is the first, whatever its id is.
        let first = decisions
            .lines()
            .find(|it| it.ends_with(&format!(": First of {name}")));
        let id = first
            .and_then(|it| it.get(3..)?.split(':').next())
            .expect("an id");
        once(&decisions, &format!("{name} goes on from {id}\n"));
        if id != "DEC-002" {
            let block = decisions
                .split("\n## ")
                .find(|it| it.starts_with(id))
                .expect("a block");
            assert!(block.contains("- **Formerly:** DEC-002"), "{block}");
        }
    }
    once(&tasks, "- [x] Common task (completed 2026-03-01)\n");
    for (text, before, each) in [(&decisions, "## DEC-", 2), (&sessions, "## Session ", 1)] {
        let numbers = numbers(text, before);
        assert_eq!(numbers.len(), 1 + each * names.len(), "{text}");
        assert_eq!(
            numbers.iter().collect::<BTreeSet<_>>().len(),
            numbers.len(),
            "{text}"
        );
    }
    let all = json(&ws.run(&["mind", "show", "decisions", "--json"]));
    let all = all["decisions"]
        .as_array()
        .or(all.as_array())
        .expect("decisions");
    assert_eq!(all.len(), 1 + 2 * names.len());
}

/// The same order for the same seed, everywhere.
fn shuffled(names: &[String], mut seed: u64) -> Vec<String> {
    let mut names = names.to_vec();
    for at in (1..names.len()).rev() {
        seed = seed
            .wrapping_mul(6_364_136_223_846_793_005)
            .wrapping_add(1_442_695_040_888_963_407);
        names.swap(at, (seed >> 33) as usize % (at + 1));
    }
    names
}

#[test]
fn twenty_branches_in_any_order_lose_nothing() {
    let ws = shared_memory();
    let names: Vec<String> = (0..20).map(|it| format!("b{it:02}")).collect();
    for name in &names {
        grow(&ws, name);
    }
    let mut firsts = BTreeSet::new();
    for seed in [1, 2, 3] {
        let order = shuffled(&names, seed);
        let main = format!("main-{seed}");
        ws.git(&["checkout", "--quiet", "-b", &main, "main"]);
        let start = Instant::now();
        for name in &order {
            merges(&ws, name);
        }
        eprintln!(
            "seed {seed}: 20 branches of 6 entries merged in {:?}",
            start.elapsed()
        );
        has_everything_of(&ws, &names);
        firsts.insert(order[0].clone());
    }
    assert!(firsts.len() > 1, "the orders differ");
    // By an old id, everything that ever had it.
    let answer = json(&ws.run(&[
        "search", "--json", "--scope", "state", "-n", "50", "--", "DEC-002",
    ]));
    assert!(
        answer["results"]
            .as_array()
            .is_some_and(|it| !it.is_empty()),
        "{answer}"
    );
    // A branch that was merged goes on, and main too; then halves meet.
    ws.git(&["checkout", "--quiet", "b07"]);
    let edited = ws
        .read(".mind/DECISIONS.md")
        .replace("b07 decides", "b07 decides anew");
    ws.write(".mind/DECISIONS.md", edited);
    ws.commit("b07 goes on");
    ws.git(&["checkout", "--quiet", "main-3"]);
    merges(&ws, "b07");
    let decisions = ws.read(".mind/DECISIONS.md");
    assert_eq!(
        decisions.matches("b07 decides anew").count(),
        1,
        "{decisions}"
    );
    assert_eq!(numbers(&decisions, "## DEC-").len(), 41);
}

#[test]
fn halves_that_met_before_meet_again() {
    let ws = shared_memory();
    let names: Vec<String> = (0..4).map(|it| format!("b{it}")).collect();
    for name in &names {
        grow(&ws, name);
    }
    for (half, parts) in [("left", ["b0", "b1"]), ("right", ["b2", "b3"])] {
        ws.git(&["checkout", "--quiet", "-b", half, "main"]);
        for part in parts {
            merges(&ws, part);
        }
    }
    merges(&ws, "left");
    has_everything_of(&ws, &names);
    ws.git(&["checkout", "--quiet", "left"]);
    merges(&ws, "right");
    has_everything_of(&ws, &names);
}

#[test]
fn a_rebase_and_a_cherry_pick_go_the_same_way() {
    let ws = shared_memory();
    for name in ["one", "two", "three"] {
        grow(&ws, name);
    }
    let names = ["one", "two", "three"].map(str::to_owned);
    ws.git(&["rebase", "--quiet", "one", "two"]);
    has_everything_of(&ws, &names[..2]);
    ws.git(&["cherry-pick", "three"]);
    has_everything_of(&ws, &names);
    // What was picked arrives once more with its branch.
    merges(&ws, "three");
    has_everything_of(&ws, &names);
}

#[test]
fn an_entry_that_both_changed_is_shown_and_the_rest_is_merged() {
    let ws = shared_memory();
    for (branch, said) in [("a", "Mine"), ("b", "Yours")] {
        ws.git(&["checkout", "--quiet", "-b", branch, "main"]);
        let text = ws.read(".mind/DECISIONS.md").replace("We share", said);
        ws.write(".mind/DECISIONS.md", text);
        ws.run(&["mind", "decide", branch, "--decision", branch])
            .ok();
        ws.commit(branch);
    }
    let (done, said) = try_git(ws.root(), &["merge", "--no-edit", "a"]);
    assert!(!done && said.contains("CONFLICT"), "{said}");
    assert!(said.contains("1 entry was changed on both sides"), "{said}");
    let text = ws.read(".mind/DECISIONS.md");
    let between = text
        .split("<<<<<<< ours\n")
        .nth(1)
        .and_then(|it| it.split(">>>>>>> theirs\n").next());
    let between = between.expect("markers");
    assert!(
        between.contains("Mine") && between.contains("Yours"),
        "{text}"
    );
    assert!(
        !between.contains("DEC-002") && text.contains("## DEC-003: a"),
        "{text}"
    );
}

/// Each `save` adds a line to the list of documents, each replaced line of the
/// state goes to its archive, and each `forget` adds a line to another list.
#[test]
fn lists_that_commands_keep_are_merged_too() {
    let ws = shared_memory();
    ws.run(&["init", "--yes"]).ok();
    ws.run(&["mind", "set", "--active", "Common work", "--next", "Begin"])
        .ok();
    ws.run(&["save", "context", "common", "--content", "Tea is at four."])
        .ok();
    ws.commit("more");
    let grow = |name: &str, field: &str| {
        ws.git(&["checkout", "--quiet", "-b", name, "main"]);
        let text = format!("What {name} has to say about it.");
        let page = format!("{name}-page");
        ws.run(&["save", "context", &page, "--content", &text]).ok();
        ws.run(&["mind", "set", field, &format!("New in {name}")])
            .ok();
        let fact = format!("Water is dry in {name}");
        ws.run(&["forget", "--fact", &fact, "--yes"]).ok();
        ws.commit(name);
    };
    grow("left", "--active");
    grow("right", "--next");
    merges(&ws, "left");
    let readme = ws.read("knowledge/README.md");
    let state = ws.read(".mind/STATE.md") + &ws.read(".mind/STATE-archive.md");
    let facts = ws.read("knowledge/_FORGOTTEN.md");
    for (text, parts) in [
        (&readme, ["common.md", "left-page.md", "right-page.md"]),
        (&state, ["New in left", "New in right", "> - Common work"]),
        (
            &facts,
            ["dry in left", "dry in right", "## Corrected facts"],
        ),
    ] {
        for part in parts {
            assert_eq!(text.matches(part).count(), 1, "{part} in\n{text}");
        }
    }
    assert!(state.contains("> Begin"), "{state}");
    // The next writer has nothing to add, and puts the lines in their order.
    ws.run(&["index"]).ok();
    let sorted = |text: &str| {
        let mut lines: Vec<String> = text.lines().map(str::to_owned).collect();
        lines.sort();
        lines
    };
    assert_eq!(sorted(&ws.read("knowledge/README.md")), sorted(&readme));
}

#[test]
fn a_clone_without_the_driver_merges_as_git_does_and_is_told() {
    let ws = shared_memory();
    grow(&ws, "a");
    ws.git(&["checkout", "--quiet", "main"]);
    ws.run(&["mind", "decide", "Here", "--decision", "Here"])
        .ok();
    ws.commit("here");
    let clone = ws.root().with_file_name("clone");
    let root = clone.to_string_lossy().into_owned();
    ws.git(&["clone", "--quiet", ".", &root]);
    let (done, said) = try_git(&clone, &["merge", "--no-edit", "origin/a"]);
    assert!(!done && said.contains("CONFLICT"), "{said}");
    let text = std::fs::read_to_string(clone.join(".mind/DECISIONS.md")).expect("a file");
    assert!(
        text.contains("<<<<<<< HEAD") && text.contains("First of a"),
        "{text}"
    );
    try_git(&clone, &["merge", "--abort"]);
    let status = json(&ws.run(&["status", "--json", "--root", &root]));
    assert_eq!(status["mergeDriver"], "not-in-this-clone");
    assert!(
        ws.run(&["status", "--root", &root])
            .ok()
            .contains("memory-forge setup --git")
    );
    let doctor = ws.run(&["doctor", "--root", &root]);
    assert!(doctor.stdout.contains("setup --git"), "{doctor}");
    let here = json(&ws.run(&["status", "--json"]));
    assert_eq!(here["mergeDriver"], "whole");
    assert_eq!(here["identity"]["id"], status["identity"]["id"]);
}

#[test]
fn a_missing_program_leaves_the_merge_to_git() {
    let ws = shared_memory();
    let driver = ws.git(&["config", "merge.memory-forge.driver"]);
    let program = env!("CARGO_BIN_EXE_memory-forge");
    assert!(driver.contains(program), "{driver}");
    ws.git(&[
        "config",
        "merge.memory-forge.driver",
        &driver.replace(program, "/no/such/program"),
    ]);
    grow(&ws, "a");
    ws.git(&["checkout", "--quiet", "main"]);
    ws.run(&["mind", "decide", "Here", "--decision", "Here"])
        .ok();
    ws.commit("here");
    let (done, said) = try_git(ws.root(), &["merge", "--no-edit", "a"]);
    assert!(!done, "{said}");
    let text = ws.read(".mind/DECISIONS.md");
    assert!(
        text.contains("<<<<<<<") && text.contains("First of a") && text.contains("Here"),
        "{text}"
    );
}

#[test]
fn set_up_twice_is_once_and_uninstall_takes_both_out() {
    let ws = ws("//- .gitattributes\n*.png binary\n//- .gitignore\ntarget\n");
    ws.git_init();
    ws.commit("first");
    let before = ws.read(".git/config");
    ws.run(&["setup", "--git", "--yes"]).ok();
    let tree = ws.tree();
    let attributes = ws.read(".gitattributes");
    assert!(
        attributes.starts_with("*.png binary\n\n# memory-forge:begin\n"),
        "{attributes}"
    );
    assert!(
        attributes.contains("\n.mind/DECISIONS.md merge=memory-forge\n"),
        "{attributes}"
    );
    assert_eq!(ws.read(".gitignore"), "target\n*.local.md\n");
    assert_eq!(
        ws.git(&["check-attr", "merge", ".mind/DECISIONS.md"]),
        ".mind/DECISIONS.md: merge: memory-forge"
    );
    assert!(
        ws.run(&["setup", "--git", "--yes"])
            .ok()
            .contains("Nothing to do")
    );
    assert_eq!(ws.tree(), tree);
    ws.run(&["uninstall", "--yes"]).ok();
    assert_eq!(ws.read(".gitattributes"), "*.png binary\n");
    assert_eq!(ws.read(".git/config"), before);
    assert_eq!(
        ws.read(".gitignore"),
        "target\n*.local.md\n",
        "private files stay private"
    );
    let nowhere = crate::harness::ws("");
    assert!(
        nowhere
            .run(&["setup", "--git", "--yes"])
            .fails(2)
            .contains("no git repository")
    );
}

#[test]
fn called_by_hand_it_says_what_it_did() {
    let ws = ws("//- base.md\n# Decision Log\n\
                 //- DECISIONS.md\n# Decision Log\n\n## DEC-001: Ours\n- a\n\
                 //- theirs.md\n# Decision Log\n\n## DEC-001: Theirs\n- b\n");
    let output = ws.run(&["merge", "base.md", "DECISIONS.md", "theirs.md"]);
    output.ok();
    assert!(
        output.stderr.contains("their DEC-001 is now DEC-002"),
        "{output}"
    );
    assert_eq!(
        ws.read("DECISIONS.md"),
        "# Decision Log\n\n## DEC-001: Ours\n- a\n\n## DEC-002: Theirs\n- **Formerly:** DEC-001\n- b\n"
    );
    if testkit::git::is_missing() {
        return;
    }
    // What is not text, and what is no file of ours, git merges by lines.
    ws.write("theirs.md", b"# Decision Log\n\xff\n");
    let before = ws.read_bytes("DECISIONS.md");
    ws.run(&["merge", "base.md", "DECISIONS.md", "theirs.md"])
        .fails(1);
    assert_ne!(
        ws.read_bytes("DECISIONS.md"),
        before,
        "both sides are shown"
    );
    ws.run(&["merge", "base.md", "missing.md", "theirs.md"])
        .fails(2);
}

#[test]
fn a_private_note_is_shared_by_choice_and_taken_back() {
    let ws = ws("//- knowledge/plan.local.md\n# Plan\n\nTurnips first.\n\
                 //- knowledge/README.md\n- [Plan](plan.local.md) — mine\n");
    ws.git_init();
    ws.run(&["setup", "--git", "--yes"]).ok();
    ws.commit("first");
    assert!(!ws.git(&["ls-files"]).contains("local"), "git ignores it");
    let found = ws.run(&["search", "--json", "--", "turnips"]);
    assert!(found.ok().contains("plan.local.md"), "{found}");
    ws.run(&["share", "knowledge/plan.md", "--yes"]).fails(2);
    let before = ws.tree_of_sources();
    ws.run(&["share", "knowledge/plan.local.md", "--dry-run"])
        .ok();
    assert_eq!(ws.tree_of_sources(), before);
    let shown = ws.run(&["share", "knowledge/plan.local.md", "--yes"]);
    assert!(shown.ok().contains("+Turnips first."), "{shown}");
    assert!(ws.read("knowledge/README.md").contains("[Plan](plan.md)"));
    assert!(ws.exists("knowledge/plan.md") && !ws.exists("knowledge/plan.local.md"));
    ws.run(&["share", "--private", "knowledge/plan.md", "--yes"])
        .ok();
    assert_eq!(ws.tree_of_sources(), before);
    ws.write("knowledge/key.local.md", "# Key\n\nAKIAIOSFODNN7EXAMPLQ\n");
    let refused = ws.run(&["share", "knowledge/key.local.md", "--yes"]);
    assert!(
        refused.fails(1).contains("line 3 looks like a secret"),
        "{refused}"
    );
    ws.git(&["add", "--force", "knowledge/plan.local.md"]);
    let doctor = ws.run(&["doctor"]);
    assert!(doctor.stdout.contains("plan.local.md"), "{doctor}");
}

#[test]
fn a_renamed_folder_is_the_same_workspace() {
    let ws = ws("//- knowledge/a.md\n# A\n\nTurnips grow.\n");
    ws.git_init();
    ws.commit("first");
    ws.run(&["search", "turnips"]).ok();
    ws.run(&["sources", "add", "garden"]).ok();
    ws.run(&["mind", "set", "--phase", "P1"]).ok();
    ws.run(&["mind", "set", "--phase", "P2"]).ok();
    // A file that was read in the moment of its writing is not known as
    // unchanged until it is read again.
    ws.run(&["search", "turnips"]).ok();
    let identity = json(&ws.run(&["status", "--json"]))["identity"]["id"].clone();
    assert!(identity.is_string(), "{identity}");
    let beside = ws.root().with_file_name("tree");
    ws.git(&[
        "worktree",
        "add",
        "--quiet",
        "-b",
        "other",
        &beside.to_string_lossy(),
    ]);
    let status = ws.run(&["status", "--json", "--root", &beside.to_string_lossy()]);
    assert_eq!(json(&status)["identity"]["id"], identity, "a worktree");
    let moved = ws.root().with_file_name("moved");
    std::fs::rename(ws.root(), &moved).expect("it can be renamed");
    std::fs::create_dir(ws.root()).expect("its name is free");
    let at = |path: &Path, arguments: &[&str]| {
        let root = path.to_string_lossy().into_owned();
        ws.run(&[arguments, &["--root", &root]].concat())
    };
    assert_eq!(
        json(&at(&moved, &["status", "--json"]))["identity"]["id"],
        identity
    );
    assert_eq!(
        json(&at(&moved, &["status", "--json"]))["index"]["changedSince"],
        0
    );
    assert!(
        at(&moved, &["search", "turnips"])
            .ok()
            .contains("knowledge/a.md")
    );
    at(&moved, &["doctor", "--undo"]).ok();
    let state = std::fs::read_to_string(moved.join(".mind/STATE.md")).expect("a state");
    assert!(state.contains("P1"), "{state}");
    // Programs of this test need the old folder to run in, so the registry
    // names one that is not there.
    let garden = std::fs::read_to_string(ws.home().join(".memex/sources.md")).expect("a registry");
    let gone = garden.replace("/ws\n", "/gone\n");
    std::fs::write(ws.home().join(".memex/sources.md"), gone).expect("it can be written");
    let listed = at(&moved, &["sources", "list"]);
    listed.ok();
    assert!(
        listed.stderr.contains("'garden' seems to have moved here"),
        "{listed}"
    );
}

#[test]
fn a_private_state_is_briefed_behind_the_shared_one() {
    let ws = ws(
        "//- .mind/STATE.md\n# S\n\n## Current Phase\nShared phase\n\
                 //- .mind/STATE.local.md\nRemember the milk.\n",
    );
    let briefing = ws.run(&["mind", "show", "briefing"]);
    let (shared, private) = (
        briefing.ok().find("Shared phase"),
        briefing.ok().find("Remember the milk."),
    );
    assert!(shared.is_some() && shared < private, "{briefing}");
    assert!(
        briefing
            .stdout
            .contains("Private, from .mind/STATE.local.md:"),
        "{briefing}"
    );
}

#[test]
fn what_is_written_for_everyone_speaks_of_nothing_private() {
    let private = "---\ntype: person\npeople: [\"[[Zebedee]]\"]\n---\n# Zebedee\n\nI owe Zebedee 400 francs.\n";
    let ws = ws(&format!(
        "//- _MANIFEST.md\n# Context Routing\n<!-- memex-managed:2.1.3 -->\n\n## Hub Map\n\n\
         | Domain | Hub | Summary |\n|---|---|---|\n| Legal | [[legal/_CLOSETS]] | Contracts |\n\
         //- memory/status.md\n# Status\n\nLast updated: 2026-03-01\n\
         //- memory/debts.local.md\n{private}\
         //- legal/lease.md\n---\ntype: deal\npeople: [\"[[Tobias]]\"]\n---\n# Lease\n\nTobias said yes.\n\
         //- legal/zebedee.local.md\n{private}\
         //- knowledge/a.md\n# A\n\nText.\n\
         //- knowledge/zebedee.local.md\n{private}"
    ));
    ws.git_init();
    ws.run(&["init", "--yes"]).ok();
    ws.run(&["closets", "build"]).ok();
    ws.run(&["graph", "write", "--yes"]);
    ws.commit("all of it");
    let shared: Vec<String> = ws.git(&["ls-files"]).lines().map(str::to_owned).collect();
    for path in [
        "legal/_CLOSETS.md",
        "memory/_CLOSETS.md",
        "knowledge/README.md",
    ] {
        assert!(
            shared.iter().any(|it| it == path),
            "{path} is in {shared:?}"
        );
    }
    for path in &shared {
        assert!(!path.ends_with(".local.md"), "{path}");
        let text = ws.read(path).to_lowercase();
        assert!(!text.contains("zebedee"), "{path}:\n{text}");
    }
}
