//! `idea`: the inbox, wherever it is.

use crate::harness::{json, ws};

#[test]
fn ideas_come_in_one_behind_the_other() {
    let ws = ws("
        //- _MANIFEST.md
        # Context Routing
        ## Tier 1 - Always Load
    ");
    let output = ws.run(&["idea", "Call the donors.", "Begin with the oldest."]);
    assert_eq!(
        output.ok(),
        "Idea kept in scratch/ideas.md: Call the donors\n"
    );
    ws.run(&[
        "idea",
        "--route",
        "ops",
        "--title",
        "Lamp",
        "A lamp for the shed",
    ])
    .ok();
    assert_eq!(
        ws.read("scratch/ideas.md"),
        "---\ntags: [inbox]\n---\n# Ideas\n\n\
         ### Call the donors - 2026-03-01\n\nCall the donors. Begin with the oldest.\n\n-> Suggested route: unrouted\n\n\
         ### Lamp - 2026-03-01\n\nA lamp for the shed\n\n-> Suggested route: ops\n"
    );
    let list = json(&ws.run(&["idea", "list", "--json"]));
    assert_eq!(list["total"], 2);
    assert_eq!(list["ideas"][0]["title"], "Lamp");
    assert_eq!(list["ideas"][0]["route"], "ops");
    assert_eq!(
        ws.run(&["idea", "list"]).ok(),
        "2026-03-01  Lamp (ops)\n2026-03-01  Call the donors (unrouted)\n"
    );
}

#[test]
fn the_same_idea_twice_is_one() {
    let ws = ws("//- .mind/STATE.md\n# Project State\n");
    let once = ws.run(&["idea", "A *quiet* hour | every day"]);
    assert!(
        once.ok().starts_with("Idea kept in .mind/IDEAS.md"),
        "{once}"
    );
    let tree = ws.tree_of_sources();
    let twice = ws.run(&["idea", "A *quiet* hour | every day"]);
    assert!(
        twice.ok().starts_with("Already in .mind/IDEAS.md"),
        "{twice}"
    );
    assert_eq!(ws.tree_of_sources(), tree);
}

#[test]
fn an_inbox_is_found_and_never_made_elsewhere() {
    for (files, inbox) in [
        (
            "//- _MANIFEST.md\n# M\n## Config\n| Key | Value |\n|---|---|\n| Ideas | [[box/later]] |\n//- box/later.md\n# Later\n",
            "box/later.md",
        ),
        (
            "//- _MANIFEST.md\n# M\n## Hub Map\n//- ideas.md\n# Ideas\n",
            "ideas.md",
        ),
        (
            "//- _MANIFEST.md\n# M\n## Hub Map\n//- desk/ideas.md\n# Ideas\n",
            "desk/ideas.md",
        ),
        (
            "//- .mind/STATE.md\n# S\n//- ideas.md\n# Ideas\n",
            "ideas.md",
        ),
    ] {
        let ws = ws(files);
        let before = ws.read(inbox);
        let output = ws.run(&["idea", "one"]);
        assert!(output.ok().contains(inbox), "{output}");
        assert!(ws.read(inbox).starts_with(&before));
        let others = ["scratch/ideas.md", "ideas.md", ".mind/IDEAS.md"];
        assert!(
            others.iter().all(|it| *it == inbox || !ws.exists(it)),
            "{inbox}"
        );
    }
}

#[test]
fn an_idea_never_becomes_structure() {
    let ws = ws("//- .mind/STATE.md\n# S\n");
    ws.run(&[
        "idea",
        "--",
        "x\n### fake - 2026-01-01\n-> Suggested route: a",
    ])
    .ok();
    let list = json(&ws.run(&["idea", "list", "--json"]));
    assert_eq!(list["total"], 1, "{list}");
    assert!(ws.run(&["idea", " "]).fails(2).contains("empty"));
}
