//! A person lets the program look, repairs what it found, and takes it back.

use crate::harness::ws;
use testkit::TestWorkspace;

/// A project whose agents load too much at every start.
fn overgrown() -> TestWorkspace {
    let ws = ws("
        //- knowledge/refunds.md
        # Refunds

        Refunds are paid within five days. Ask billing.
        //- src/main.rs
        fn main() {}
    ");
    let history = "The parser was rewritten in spring because the old one lost text. ".repeat(120);
    ws.write(
        "CLAUDE.md",
        format!(
            "# Shop\r\n\r\nSee @docs/style.md.\r\n\r\n## Commands\r\n\r\n```sh\r\nmake test\r\n```\r\n\r\n\
             ## History\r\n\r\n{history}\r\n\r\nAsk Ada first. <!-- keep -->\r\n"
        ),
    );
    ws
}

#[test]
fn a_check_of_a_new_project_says_what_it_looked_at() {
    let ws = ws("//- knowledge/a.md\n# A\n\nRetry three times.\n");
    ws.git_init();
    ws.run(&["init", "--yes"]).ok();
    ws.run(&["index"]).ok();
    insta::assert_snapshot!(ws.run(&["doctor"]), @r"
    exit: 0
    --- stdout
    ✓ settings: All settings are valid
    ✓ knowledge: Every file is readable text (2 read)
    ✓ front matter: All of it is valid (0 of 2 files have it)
    ✓ secrets: None found (2 files read)
    ✓ index: 2 files and 1 passages, 1 of them with a vector; all pages read, all files compared
    ✓ search: A question made from `knowledge/a.md` found its passage, by words and by meaning
    ✓ readme: Lists every document (1)
    ✓ forgotten: Nothing is forgotten
    ✓ autoload: There is no `CLAUDE.md` or `AGENTS.md`
    ✓ undo: 1 change can be undone; none is half done
    ✓ git: `.memory-forge/` is ignored, by `.gitignore`
    ✓ leftovers: No temporary file was left behind

    Summary: 12 ok, 0 warnings, 0 problems
    ");
}

#[test]
fn what_is_wrong_comes_with_a_place_and_a_next_step_and_exit_code_1() {
    let ws = overgrown();
    ws.write("knowledge/latin.md", b"fine\n\xe9\n");
    let output = ws.run(&["doctor"]);
    output.fails(1);
    for part in [
        "✗ knowledge: problem: knowledge/latin.md:2: `knowledge/latin.md` line 2 is not UTF-8",
        "✗ autoload: problem: CLAUDE.md: ",
        "    → Run `memory-forge doctor --fix`; it shows a diff first",
        "⚠ index: warning: There is no index yet",
        "– search: skipped: Not tried",
    ] {
        assert!(output.stdout.contains(part), "{part}:\n{output}");
    }
    let json: serde_json::Value =
        serde_json::from_str(&ws.run(&["doctor", "--json"]).stdout).unwrap();
    assert_eq!(json["worst"], "problem");
    let finding = json["findings"]
        .as_array()
        .unwrap()
        .iter()
        .find(|f| f["path"] == "knowledge/latin.md")
        .unwrap();
    assert_eq!(
        (&finding["line"], &finding["level"]),
        (&2.into(), &"problem".into())
    );
}

#[test]
fn looking_changes_nothing() {
    let ws = overgrown();
    let before = ws.tree();
    ws.run(&["doctor"]);
    ws.run(&["doctor", "--json"]);
    ws.run(&["doctor", "--fix", "--dry-run"]).ok();
    assert_eq!(ws.tree(), before);
}

#[test]
fn without_a_terminal_a_repair_needs_a_yes() {
    let ws = overgrown();
    let before = ws.tree_of_sources();
    let output = ws.run(&["doctor", "--fix"]);
    assert!(output.fails(2).contains("pass `--yes` to "), "{output}");
    assert!(
        output.stdout.contains("--- a/CLAUDE.md\n+++ b/CLAUDE.md\n"),
        "{output}"
    );
    assert_eq!(ws.tree_of_sources(), before);
}

#[test]
fn a_repair_moves_text_updates_the_index_and_can_be_undone() {
    let ws = overgrown();
    ws.write(
        "AGENTS.md",
        "\u{feff}".to_owned() + &"plain words without end ".repeat(300),
    );
    let before = ws.tree_of_sources();
    let original = ws.read("CLAUDE.md");

    let output = ws.run(&["doctor", "--fix", "--yes"]);
    for line in [
        "✓ Stub generated in CLAUDE.md\n✓ Legacy content moved to knowledge/legacy/CLAUDE.md\n",
        "✓ Stub generated in AGENTS.md\n✓ Legacy content moved to knowledge/legacy/AGENTS.md\n",
        "✓ Created knowledge/README.md\n✓ Index updated\n",
    ] {
        assert!(output.ok().contains(line), "{line}:\n{output}");
    }
    let stub = ws.read("CLAUDE.md");
    for kept in [
        "# Shop\r\n",
        "See @docs/style.md.\r\n",
        "## Commands\r\n\r\n```sh\r\nmake test\r\n```\r\n",
        "Ask Ada first. <!-- keep -->\r\n",
        "`knowledge/legacy/CLAUDE.md`",
    ] {
        assert!(stub.contains(kept), "{kept}:\n{stub}");
    }
    assert!(!stub.contains("the old one lost text"), "{stub}");
    // What moved is there word for word, and what stayed is not there twice.
    let moved = ws.read("knowledge/legacy/CLAUDE.md");
    let history = original.lines().find(|line| line.starts_with("The parser"));
    assert!(moved.contains(history.unwrap()), "{moved}");
    assert!(!moved.contains("Ask Ada first"), "{moved}");
    assert!(
        ws.read("knowledge/README.md")
            .contains("- [Refunds](refunds.md) — Refunds are paid within five days.")
    );
    let found = ws.run(&["search", "--mode", "text", "old parser lost text"]);
    assert!(found.ok().contains("knowledge/legacy/CLAUDE.md"), "{found}");

    // Twice is once.
    let repaired = ws.tree_of_sources();
    assert!(
        ws.run(&["doctor", "--fix", "--yes"])
            .ok()
            .starts_with("✓ Nothing to repair\n")
    );
    assert_eq!(ws.tree_of_sources(), repaired);

    let output = ws.run(&["doctor", "--undo"]);
    assert_eq!(
        output.ok(),
        "✓ Restored AGENTS.md\n✓ Restored CLAUDE.md\n✓ Removed knowledge/README.md\n\
         ✓ Removed knowledge/legacy/AGENTS.md\n✓ Removed knowledge/legacy/CLAUDE.md\n✓ Index updated\n"
    );
    assert_eq!(ws.tree_of_sources(), before);
    let found = ws.run(&["search", "--mode", "text", "old parser lost text"]);
    assert!(!found.stdout.contains("legacy"), "{found}");
}

#[test]
fn an_edit_since_the_repair_is_not_overwritten_by_undo() {
    let ws = overgrown();
    ws.run(&["doctor", "--fix", "--yes"]).ok();
    ws.write("CLAUDE.md", ws.read("CLAUDE.md") + "\r\nmine\r\n");
    let before = ws.tree_of_sources();
    let output = ws.run(&["doctor", "--undo"]);
    insta::assert_snapshot!(output, @r"
    exit: 1
    --- stderr
    error: `CLAUDE.md` was edited after that change; nothing was restored

    hint: The bytes before the change are in `.memory-forge/undo/`, one folder for each change
    ");
    assert_eq!(ws.tree_of_sources(), before);
    let output = ws.run(&["doctor", "--undo", "77"]);
    insta::assert_snapshot!(output, @r"
    exit: 1
    --- stderr
    error: There is no change `77` to undo

    hint: 0001: Repair by `doctor --fix`
    ");
}

/// "`doctor --undo` takes back the last thing that a person asked for; derived
/// lists come again by themselves."
#[test]
fn undo_passes_over_the_list_that_index_wrote() {
    let ws = overgrown();
    let before = ws.read("CLAUDE.md");
    ws.run(&["doctor", "--fix", "--yes"]);
    ws.write("knowledge/new.md", "# New\n\nFresh words.\n");
    ws.run(&["index"]).ok();
    assert!(ws.read("knowledge/README.md").contains("(new.md)"));
    let output = ws.run(&["doctor", "--undo", "--dry-run"]);
    assert!(output.ok().contains("Repair by `doctor --fix`"), "{output}");
    let output = ws.run(&["doctor", "--undo"]);
    assert!(output.ok().contains("Restored CLAUDE.md"), "{output}");
    assert_eq!(ws.read("CLAUDE.md"), before);
    assert!(ws.exists("knowledge/new.md"));
    ws.run(&["index"]).ok();
}

/// D26: "Nested files are touched only when named."
#[test]
fn a_nested_file_is_repaired_by_its_name_from_any_folder() {
    let ws = overgrown();
    let nested = ws.read("CLAUDE.md");
    ws.write("packages/api/CLAUDE.md", &nested);
    ws.run(&["doctor", "--fix", "--yes"]);
    assert_eq!(ws.read("packages/api/CLAUDE.md"), nested);
    let output = ws.run(&["doctor"]);
    let command = "`memory-forge doctor --fix packages/api/CLAUDE.md`";
    assert!(output.stdout.contains(command), "{output}");
    ws.git_init();
    let ws = ws.cwd("packages/api");
    let output = ws.run(&["doctor", "--fix", "CLAUDE.md", "--yes"]);
    let ws = ws.cwd("");
    assert!(
        output
            .stdout
            .contains("Stub generated in packages/api/CLAUDE.md"),
        "{output}"
    );
    let output = ws.run(&["doctor", "packages/api/CLAUDE.md"]);
    assert_eq!(output.status, Some(2), "a name is for a repair: {output}");
    let output = ws.run(&["doctor", "--fix", "knowledge/README.md", "--yes"]);
    assert!(output.stderr.contains("is left alone"), "{output}");
}

#[test]
fn nothing_to_undo_is_said() {
    let output = ws("").run(&["doctor", "--undo"]);
    assert_eq!(output.fails(1), "error: There is nothing to undo\n");
}

#[test]
fn a_dry_run_of_undo_names_the_files() {
    let ws = overgrown();
    ws.run(&["doctor", "--fix", "--yes"]).ok();
    let before = ws.tree();
    let output = ws.run(&["doctor", "--undo", "--dry-run"]);
    assert_eq!(
        output.ok(),
        "Would undo change 0001 of 2026-03-01T09:00:00Z: Repair by `doctor --fix`\n  \
         CLAUDE.md\n  knowledge/README.md\n  knowledge/legacy/CLAUDE.md\n"
    );
    assert_eq!(ws.tree(), before);
}

#[test]
fn programs_get_the_repair_as_json() {
    let ws = overgrown();
    let output = ws.run(&["doctor", "--fix", "--yes", "--json"]);
    let json: serde_json::Value = serde_json::from_str(output.ok()).unwrap();
    assert_eq!(
        (&json["changed"], &json["change"]),
        (&true.into(), &"0001".into())
    );
    assert_eq!(json["stubs"][0]["path"], "CLAUDE.md");
    assert!(
        json["stubs"][0]["tokens_after"].as_u64() < Some(500),
        "{json}"
    );
    let undone = ws.run(&["doctor", "--undo", "--json"]);
    let json: serde_json::Value = serde_json::from_str(undone.ok()).unwrap();
    assert_eq!(
        (&json["undid"], &json["restored"][0]),
        (&"0001".into(), &"CLAUDE.md".into())
    );
}

#[test]
fn what_must_stay_and_is_too_much_is_left_alone() {
    let ws = ws("//- knowledge/README.md\nmine\n");
    ws.write(
        "CLAUDE.md",
        format!("<!-- memory-forge:keep -->\n{}", "many words ".repeat(600)),
    );
    let output = ws.run(&["doctor", "--fix", "--yes"]);
    output.fails(1);
    assert!(
        output
            .stderr
            .contains("warning: `CLAUDE.md` is left alone: All of it stays"),
        "{output}"
    );
    assert!(output.stdout.contains("Left alone, see above"), "{output}");
    assert_eq!(
        ws.read("CLAUDE.md").len(),
        "<!-- memory-forge:keep -->\n".len() + 600 * 11
    );
}

/// Seed 000: "Apply opt-in corrections based on audit". What `audit` says that
/// `doctor --fix` does ends the finding, for a `SKILL.md` too, and leaves no
/// new one behind.
#[test]
fn what_audit_promises_doctor_does() {
    let ws = overgrown();
    let history = "The gateway was replaced because the old one lost payments. ".repeat(80);
    let skill = ".claude/skills/pay/SKILL.md";
    let text = format!(
        "---\nname: pay\ndescription: Takes payments\n---\n\n# Pay\n\nNever charge twice.\n\n## History\n\n{history}\n"
    );
    ws.write(skill, &text);
    ws.write("AGENTS.md", format!("# Agents\n\nUse npm.\n\n{history}\n"));
    let before = ws.tree_of_sources();
    let audit = ws.run(&["audit"]);
    assert!(
        audit
            .ok()
            .contains("doctor --fix` does this and can be undone"),
        "{audit}"
    );
    let fixed = ws.run(&["doctor", "--fix", "--yes"]);
    let moved = "✓ Explanations of .claude/skills/pay/SKILL.md moved to .claude/skills/pay/references/details.md\n";
    assert!(fixed.stdout.contains(moved), "{fixed}");
    assert!(ws.read(skill).contains("Never charge twice."));
    assert!(
        ws.read(".claude/skills/pay/references/details.md")
            .contains(history.trim_end())
    );
    let audit = ws.run(&["audit", "--ci", "warning"]);
    assert!(audit.ok().contains("No issues found."), "{audit}");
    assert!(
        !audit.stdout.contains("repeats"),
        "two stubs are no duplication: {audit}"
    );
    ws.run(&["doctor", "--undo"]).ok();
    assert_eq!(ws.tree_of_sources(), before);
}

/// Rules are not moved, so `audit` does not say that `doctor --fix` would.
#[test]
fn audit_promises_nothing_that_doctor_does_not_do() {
    let ws = ws("");
    let rules = "- Never call the provider twice with one key.\n".repeat(60);
    ws.write(
        ".claude/skills/pay/SKILL.md",
        format!("---\nname: pay\ndescription: Pays\n---\n\n{rules}"),
    );
    let audit = ws.run(&["audit"]);
    assert!(
        audit.ok().contains("CRITICAL") && !audit.stdout.contains("doctor --fix"),
        "{audit}"
    );
    let check = ws.run(&["doctor"]);
    assert!(
        check.stdout.contains("A person has to shorten it"),
        "{check}"
    );
}

/// D27: "neither removes the other; `uninstall` removes its own only".
#[test]
fn d27_setup_and_doctor_leave_each_others_lines_alone() {
    let ws = overgrown();
    ws.run(&["doctor", "--fix", "--yes"]).ok();
    let stub = ws.read("CLAUDE.md");
    ws.run(&["setup", "claude", "--yes"]).ok();
    let both = ws.read("CLAUDE.md");
    assert!(both.contains("memory-forge:begin") && both.contains("memory-forge:stub:begin"));
    ws.run(&["uninstall", "claude", "--yes"]).ok();
    assert_eq!(ws.read("CLAUDE.md"), stub);
}

/// D27: "any order of `doctor`, `setup`, `uninstall`, `undo` ends where it
/// should", byte for byte, on files as people have them.
#[test]
fn d27_any_order_of_doctor_setup_uninstall_and_undo_ends_where_it_should() {
    let history = "The parser was rewritten in spring because the old one lost text. ".repeat(60);
    let shapes = [
        format!("# Shop\n\n## History\n\n{history}\n\n## Rules\n\n- Never push.\n- Use tabs.\n"),
        format!("# Shop\n\n## Rules\n\n- Never push.\n\n## History\n\n{history}"),
        format!(
            "# Shop\r\n\r\nA till.\r\n\r\n## History\r\n\r\n{history}\r\n\r\nNever push.\r\n\r\n\r\n"
        ),
        format!("\u{feff}---\na: b\n---\n{history}\n\n```sh\nmake test\n```\n"),
    ];
    for shape in &shapes {
        let known = walk_orders(&[("CLAUDE.md", shape)], 3, 7, 27);
        let repaired = &known[&(true, false)];
        assert_ne!(repaired, &known[&(false, false)], "{shape}");
    }
}

/// The same over files that people keep in public repositories, where they are
/// at hand: both files at once, one of them importing the other.
#[test]
fn d27_any_order_ends_where_it_should_on_files_that_people_keep() {
    let kept = ws("");
    if !crate::harness::unpack_bench("agent-files-dev.tar.gz", kept.root()) {
        return;
    }
    let tree = kept.tree();
    let paths = tree.lines().filter_map(|line| line.split(' ').next());
    let is_kept = |path: &&str| path.ends_with("/CLAUDE.md") || path.ends_with("/AGENTS.md");
    let paths: Vec<&str> = paths.filter(is_kept).collect();
    assert!(paths.len() > 5, "{tree}");
    let every = paths.len() / 5;
    for (number, path) in paths.iter().step_by(every.max(1)).enumerate() {
        let text = kept.read(path);
        // Names that only their own repositories have would be broken imports.
        let text = text.replace('@', "at ");
        let imports = format!("@AGENTS.md\n\n{text}");
        let files: &[(&str, &str)] = if number % 2 == 0 {
            &[("CLAUDE.md", &text)]
        } else {
            &[("AGENTS.md", &text), ("CLAUDE.md", &imports)]
        };
        walk_orders(files, 2, 8, number as u64 + 1);
    }
}

/// The files of a workspace by whether they are repaired and connected.
type KnownStates = std::collections::BTreeMap<(bool, bool), String>;

/// Runs the commands in orders drawn from `seed`, and compares the files after
/// each with what they were whenever the same was true of them.
fn walk_orders(files: &[(&str, &str)], runs: usize, steps: usize, seed: u64) -> KnownStates {
    // A fixed series of numbers, so that a failure can be repeated.
    let mut seed = seed;
    let mut next = |below: u64| {
        seed = seed.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1);
        (seed >> 33) % below
    };
    let mut known = KnownStates::new();
    for _ in 0..runs {
        let ws = ws("");
        for (path, text) in files {
            ws.write(path, text);
        }
        let mut at = (false, false);
        let mut undoable: Vec<(bool, bool)> = Vec::new();
        let mut done = Vec::new();
        known.entry(at).or_insert_with(|| ws.tree_of_sources());
        for _ in 0..steps {
            let (before, files_before) = (at, ws.tree_of_sources());
            let command: &[&str] = match next(4) {
                0 => {
                    at.0 = true;
                    &["doctor", "--fix", "--yes"]
                }
                1 => {
                    at.1 = true;
                    &["setup", "claude", "--yes"]
                }
                2 => {
                    at.1 = false;
                    &["uninstall", "--yes"]
                }
                _ => match undoable.pop() {
                    Some(back) => {
                        at = back;
                        &["doctor", "--undo"]
                    }
                    None => continue,
                },
            };
            let output = ws.run(command);
            done.push(command.join(" "));
            let files = ws.tree_of_sources();
            if files == files_before && command[1] == "--fix" {
                // There was nothing to repair.
                at = before;
            } else if command[1] != "--undo" && at != before {
                undoable.push(before);
            }
            let expected = known.entry(at).or_insert_with(|| files.clone());
            assert_eq!(&files, expected, "after {done:?}\n{output}");
        }
    }
    known
}

/// The program of a test is no release; what can be known of it is refused with
/// the reason.
#[test]
fn a_program_without_signed_checksums_is_not_called_a_release() {
    let ws = ws("");
    let none = ws.run(&["doctor", "--self"]);
    assert!(none.fails(1).contains("no key of a release"), "{none}");
    let key = "untrusted comment: minisign public key\n\
               RWR0ZXN0a2V5IWHsC/RVubfL26VHS1cG04BHdUnOSK20acA16pXxQLBg\n";
    ws.write("minisign.pub", key);
    let sums = ws.run(&["doctor", "--self", "--key", "minisign.pub"]);
    assert!(
        sums.fails(1).contains("There is no `memory-forge.sums`"),
        "{sums}"
    );
    let missing = ws.run(&["doctor", "--self", "--key", "absent.pub"]);
    assert!(missing.fails(2).contains("absent.pub"), "{missing}");
    ws.write("minisign.pub", "no key\n");
    let bad = ws.run(&["doctor", "--self", "--key", "minisign.pub"]);
    assert!(bad.fails(1).contains("not a public key"), "{bad}");
    assert_eq!(ws.tree_of_sources().lines().count(), 1, "it writes nothing");
}
