//! Memory goes elsewhere: as it is, or as topic files of Claude Code's.

use std::path::PathBuf;

use testkit::TestWorkspace;

use crate::harness::{json, ws};

fn workspace() -> TestWorkspace {
    ws("
        //- knowledge/retry-policy.md
        ---
        importance: 9
        tags: [http, queue]
        ---
        # Retry policy
        Retry three times, then park. The rest is detail.
        //- knowledge/deploys.md
        # Deploys
        Blue first.
        //- .mind/STATE.md
        # State
    ")
}

#[test]
fn every_document_is_exported_with_what_is_known_of_it() {
    let ws = workspace();
    let value = json(&ws.run(&["export", "json"]));
    let documents = value["documents"].as_array().expect("a list");
    let paths: Vec<&str> = documents
        .iter()
        .filter_map(|it| it["path"].as_str())
        .collect();
    assert_eq!(
        paths,
        [
            ".mind/STATE.md",
            "knowledge/deploys.md",
            "knowledge/retry-policy.md"
        ]
    );
    assert_eq!(documents[2]["frontMatter"]["tags"][1], "queue");
    assert_eq!(
        (&documents[2]["title"], &documents[2]["role"]),
        (&"Retry policy".into(), &"knowledge".into())
    );
    assert_eq!(documents[1]["text"], "# Deploys\nBlue first.\n");
    let lines = ws.run(&["export", "jsonl", "--role", "state"]);
    assert_eq!(lines.ok().lines().count(), 1);
    let before = ws.tree_of_sources();
    ws.run(&["export", "jsonl", "--output", "out/memory.jsonl"])
        .ok();
    assert_eq!(ws.read("out/memory.jsonl").lines().count(), 3);
    ws.run(&["export", "jsonl", "--output", "../memory.jsonl"])
        .fails(2);
    ws.remove("out");
    assert_eq!(ws.tree_of_sources(), before);
}

#[test]
fn claude_gets_topics_and_pointers_and_keeps_its_own() {
    let ws = workspace();
    let slug: String = ws
        .root()
        .to_string_lossy()
        .chars()
        .map(|c| if c.is_ascii_alphanumeric() { c } else { '-' })
        .collect();
    let memory: PathBuf = ws.home().join(".claude/projects").join(slug).join("memory");
    std::fs::create_dir_all(&memory).expect("it can be made");
    let put = |name: &str, text: &str| {
        std::fs::write(memory.join(name), text).expect("it can be written")
    };
    let read = |name: &str| std::fs::read_to_string(memory.join(name)).expect("it is there");
    put("MEMORY.md", "- [Mine](mine.md) — stays\n");
    put("deploys.md", "Claude's own\n");

    let both = [
        "export",
        "native",
        "knowledge/retry-policy.md",
        "knowledge/deploys.md",
    ];
    let asked = ws.run(&both);
    assert!(
        asked.fails(2).contains("Not a terminal: pass `--yes` to "),
        "{asked}"
    );
    assert!(
        asked
            .stdout
            .contains("+- [Retry policy](retry-policy.md) — Retry three times, then park\n"),
        "{asked}"
    );
    let output = ws.run(&[&both[..], &["--yes"]].concat());
    assert!(output.ok().ends_with("✓ Wrote 2 files\n"), "{output}");
    assert!(
        output.stderr.contains(
            "`knowledge/deploys.md` was left out: `deploys.md` exists already and was not written by this program"
        ),
        "{output}"
    );
    assert_eq!(read("deploys.md"), "Claude's own\n");
    assert_eq!(
        read("MEMORY.md"),
        "- [Mine](mine.md) — stays\n- [Retry policy](retry-policy.md) — Retry three times, then park\n"
    );
    assert_eq!(
        read("retry-policy.md"),
        "---\nname: Retry policy\ndescription: Retry three times, then park\ntype: reference\nexported_by: memory-forge\n\
         exported_from: knowledge/retry-policy.md\n---\n\n# Retry policy\nRetry three times, then park. The rest is detail.\n"
    );
    let again = ws.run(&["export", "native", "--importance", "8", "--yes"]);
    assert!(
        again.ok().starts_with("✓ Nothing to write: 1 files"),
        "{again}"
    );

    // What went out does not come back in, and what came in does not go out.
    let back = ws.run(&["import", "native"]);
    assert!(
        back.stderr
            .contains("retry-policy.md` was not imported: it was exported from here"),
        "{back}"
    );
    assert!(
        back.ok().contains("1 new") && ws.exists("knowledge/claude/deploys.md"),
        "{back}"
    );
    let out = ws.run(&["export", "native", "knowledge/claude/deploys.md", "--yes"]);
    assert!(
        out.stderr
            .contains("was left out: it was imported from there"),
        "{out}"
    );
    ws.run(&["export", "native"]).fails(2);
}
