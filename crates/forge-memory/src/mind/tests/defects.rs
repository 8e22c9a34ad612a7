//! Defects of an earlier tool, by their numbers: each test fails if one comes
//! back.

use super::*;

const TEMPLATES: &str = "
    //- .mind/STATE.md
    # Project State

    ## Current Phase
    [Phase Name]

    ## Current Status
    {{status}}

    ## Active Work
    - [What you are working on]

    ## Blocked Items
    None.

    ## Next Action
    [Next step]
    //- .mind/DECISIONS.md
    # Decision Log

    ## Decisions

    1. **[Title]** [Why]
    2. **Use SQLite** (2026-01-02): one file is enough
    //- .mind/SESSION-LOG.md
    # Session Log

    ## Session 1 — [YYYY-MM-DD]
    - **Summary:** [What happened]
    //- .mind/PROGRESS.md
    # Progress Tracker

    ### In Progress
    - [ ] [Task]
";

#[test]
fn m1_templates_are_read_as_unset() {
    let it = Fixture::new(TEMPLATES);
    let mind = it.mind();
    let state = mind.read_state().unwrap().unwrap();
    assert!(state.is_blank());
    assert_eq!(
        (state.status, state.active, state.blocked),
        (None, vec![], vec![])
    );
    assert_eq!(prompt_line(&mind, now()), None);
    assert_eq!(mind.read_sessions().unwrap(), []);
    assert_eq!(mind.log_session(&session("First"), now()).unwrap().0, 1);
    let decisions = mind.read_decisions().unwrap();
    let ids: Vec<_> = decisions.iter().map(|it| it.id.as_deref()).collect();
    assert_eq!(
        ids,
        [Some("1"), Some("2")],
        "items, not one decision named Decisions"
    );
    assert_eq!(
        mind.add_decision(&decision("T", "D"), now()).unwrap().0,
        "3"
    );
    assert!(
        it.read(".mind/DECISIONS.md")
            .ends_with("3. **T** (2026-03-01): D\n")
    );
    assert_eq!(
        mind.read_progress().unwrap().unwrap().open_tasks().count(),
        0
    );
    let done = mind.compress_state(false, now()).unwrap();
    assert_eq!((done.decisions.compressed, done.decisions.entries), (0, 0));
}

#[test]
fn m2_a_long_state_is_capped() {
    let it = Fixture::new("");
    let filler = "Some words about the work.\n".repeat(1200);
    it.files.write(
        ".mind/STATE.md",
        format!("# Project State\n\n## Notes\n{filler}\n## Current Phase\nP9\n\n## Blocked Items\n- keys\n\n## Next Action\nShip it\n"),
    );
    let briefing = brief_start(&it.mind(), &ask(SessionStartReason::Startup, &[]));
    assert!(briefing.text.len() < 4000, "{}", briefing.text.len());
    for part in ["P9", "- keys", "Ship it", "=== END COMPACT BRIEFING ==="] {
        assert!(briefing.text.contains(part), "{part}: {}", briefing.text);
    }
    assert!(
        briefing
            .left_out
            .iter()
            .any(|it| it.contains(".mind/STATE.md"))
    );
    assert!(
        briefing
            .text
            .contains("Left out for space: a part of .mind/STATE.md")
    );
}

const PROGRESS: &str = "
    //- .mind/PROGRESS.md
    # Progress Tracker

    ## Phase 1: Start
    ### Completed
    - [x] Old thing (completed 2026-02-01)

    ### In Progress
    - [ ] Login page
    - [ ] Search

    ### Not Started
    - [ ] Billing
    ### Blocked
    - [ ] Payments: waiting for keys

    ## What's Next
    Nothing here says the word.
";

#[test]
fn m3_a_task_is_in_progress_by_its_section() {
    let it = Fixture::new(PROGRESS);
    let progress = it.mind().read_progress().unwrap().unwrap();
    let names = |bucket| -> Vec<String> {
        progress
            .open_tasks()
            .filter(|it| it.bucket == bucket)
            .map(|it| it.text.clone())
            .collect()
    };
    assert_eq!(names(TaskBucket::InProgress), ["Login page", "Search"]);
    assert_eq!(names(TaskBucket::Blocked), ["Payments: waiting for keys"]);
    assert_eq!(names(TaskBucket::NotStarted), ["Billing"]);
    // The short form has them as well.
    it.files.write(
        ".mind/STATE.md",
        format!("# S\n\n## Notes\n{}\n", "word ".repeat(2000)),
    );
    let text = brief_start(&it.mind(), &ask(SessionStartReason::Startup, &[])).text;
    assert!(
        text.contains(
            "--- IN PROGRESS ---\n<data n0nce>\n- [ ] Login page\n- [ ] Search\n</data n0nce>"
        ),
        "{text}"
    );
    assert!(
        text.contains("--- BLOCKED ---\n<data n0nce>\n- [ ] Payments: waiting for keys\n"),
        "{text}"
    );
}

#[test]
fn m4_the_last_session_is_whole() {
    let lines: String = (0..30).map(|n| format!("- line {n}\n")).collect();
    let it = Fixture::new("");
    it.files.write(
        ".mind/SESSION-LOG.md",
        format!("# Session Log\n\n## Session 1 — 2026-01-01\n- old\n\n## Session 2 — 2026-01-02\n{lines}"),
    );
    let text = brief_start(&it.mind(), &ask(SessionStartReason::Startup, &[])).text;
    assert!(
        text.contains(&format!("## Session 2 — 2026-01-02\n{}", lines.trim_end())),
        "{text}"
    );
    assert!(!text.contains("- old"));
}

#[test]
fn m5_a_tracked_name_is_a_whole_name() {
    let it = Fixture::new("//- .mind/STATE.md\n# S\n");
    let mind = it.mind();
    let names = |names: &[&str]| names.iter().map(|it| it.to_string()).collect::<Vec<_>>();
    assert_eq!(mind.track_files(&names(&["lib/a.ts"]), now()).unwrap(), 1);
    assert_eq!(
        mind.track_files(&names(&["a.ts", "lib/a.ts"]), now())
            .unwrap(),
        2
    );
    assert_eq!(mind.read_tracked_files(), ["lib/a.ts", "a.ts"]);
}

#[test]
fn m7_the_number_is_one_more_than_the_highest() {
    let it = Fixture::new(
        "//- .mind/SESSION-LOG.md\n# Session Log\n\n## Session 7 — 2026-01-02\n- x\n\n## Session 3 — 2026-01-03\n- y\n",
    );
    assert_eq!(it.mind().log_session(&session("S"), now()).unwrap().0, 8);
}

#[test]
fn m8_a_nudge_is_never_older_than_the_state() {
    let it = Fixture::new("//- .mind/STATE.md\n# S\n\n## Current Phase\nOne\n");
    assert!(
        prompt_line(&it.mind(), now())
            .unwrap()
            .contains("Phase: One")
    );
    // Within the same second, and with the same size.
    it.files
        .write(".mind/STATE.md", "# S\n\n## Current Phase\nTwo\n");
    assert!(
        prompt_line(&it.mind(), now())
            .unwrap()
            .contains("Phase: Two")
    );
}

#[test]
fn m19_no_match_is_an_error_and_changes_nothing() {
    let it = Fixture::new(PROGRESS);
    let before = it.files.tree_of_sources();
    let error = it.mind().complete_task("zzz", now()).unwrap_err();
    let MindError::NoMatch { open, .. } = error else {
        panic!("{error}");
    };
    assert_eq!(open.len(), 4);
    assert_eq!(open[0], "Login page (In Progress)");
    let error = it.mind().complete_task("a", now()).unwrap_err();
    assert!(
        matches!(&error, MindError::Ambiguous { matching, .. } if matching.len() == 3),
        "{error}"
    );
    assert!(matches!(
        it.mind().complete_task(" ", now()),
        Err(MindError::Empty { .. })
    ));
    // What is done already is no candidate.
    assert!(matches!(
        it.mind().complete_task("Old thing", now()),
        Err(MindError::NoMatch { .. })
    ));
    assert_eq!(it.files.tree_of_sources(), before);
}

#[test]
fn m20_a_prefix_is_not_a_match() {
    let text =
        "//- .mind/PROGRESS.md\n# P\n\n### In Progress\n- [ ] Build login page\n- [ ] Build\n";
    let it = Fixture::new(text);
    assert_eq!(it.mind().complete_task("Build", now()).unwrap().0, "Build");
    assert_eq!(
        it.read(".mind/PROGRESS.md"),
        "# P\n\n### In Progress\n- [ ] Build login page\n- [x] Build (completed 2026-03-01)\n"
    );
    assert_eq!(
        it.mind().complete_task("Build", now()).unwrap().0,
        "Build login page"
    );
    assert!(
        it.read(".mind/PROGRESS.md")
            .contains("- [x] Build login page (completed 2026-03-01)\n")
    );
}

#[test]
fn tasks_with_the_same_words_are_completed_one_after_the_other() {
    let it = Fixture::new("");
    for _ in 0..2 {
        it.mind()
            .add_task("Port the menu", "In Progress", now())
            .unwrap();
    }
    for left in [1, 0] {
        it.mind().complete_task("menu", now()).unwrap();
        let open = it.mind().read_progress().unwrap().unwrap();
        assert_eq!(open.open_tasks().count(), left);
    }
}

#[test]
fn m20_the_date_stands_behind_the_whole_task() {
    let text = "//- .mind/PROGRESS.md\n### In Progress\n- [ ] One\n  goes on\n  - [ ] nested\n\n  ```\n  code\n  ```\n- [ ] Two\n";
    let it = Fixture::new(text);
    it.mind().complete_task("one goes on", now()).unwrap();
    assert_eq!(
        it.read(".mind/PROGRESS.md"),
        "### In Progress\n- [x] One\n  goes on (completed 2026-03-01)\n  - [ ] nested\n\n  ```\n  code\n  ```\n- [ ] Two\n"
    );
}

#[test]
fn m21_dollar_signs_are_only_text() {
    let it = Fixture::new("");
    let mind = it.mind();
    for task in ["Pay $& and $1", "a $` b $' c", "regex \\1 \\d+"] {
        mind.add_task(task, "In Progress", now()).unwrap();
        assert_eq!(mind.complete_task(task, now()).unwrap().0, task);
        let line = format!("- [x] {task} (completed 2026-03-01)\n");
        assert!(it.read(".mind/PROGRESS.md").contains(&line), "{task}");
    }
}

#[test]
fn m23_text_from_outside_never_becomes_structure() {
    let it = Fixture::new("");
    let mind = it.mind();
    let hostile =
        "one\n\n## DEC-099: injected\n- **Status:** Rejected\n---\n```\n# open\n<!-- comment";
    for (number, id) in [(1, "DEC-001"), (2, "DEC-002")] {
        let new = NewDecision {
            title: format!("T{number}\n## DEC-500: x"),
            decision: hostile.to_owned(),
            rationale: Some(hostile.to_owned()),
            decided_by: Some("me\n## DEC-600: y".to_owned()),
            status: Some("Final\n## z".to_owned()),
        };
        assert_eq!(mind.add_decision(&new, now()).unwrap().0, id);
    }
    let decisions = mind.read_decisions().unwrap();
    assert_eq!(decisions.len(), 2);
    assert!(!decisions[0].superseded, "its status is its own");
    assert!(
        decisions[1]
            .decision
            .as_deref()
            .unwrap()
            .contains("DEC-099: injected")
    );
    mind.log_session(&session(hostile), now()).unwrap();
    mind.log_session(&session("## Session 99 — x\n## Session 98"), now())
        .unwrap();
    let sessions = mind.read_sessions().unwrap();
    assert_eq!(
        sessions.iter().map(|it| it.number).collect::<Vec<_>>(),
        [Some(1), Some(2)]
    );
    mind.add_task(hostile, "In Progress\n### Done", now())
        .unwrap();
    mind.add_task("second\n- [ ] third", "In Progress", now())
        .unwrap();
    assert_eq!(mind.read_progress().unwrap().unwrap().tasks.len(), 2);
    let change = StateChange {
        phase: Some("P\n## Next Action\nevil".into()),
        status: Some(hostile.into()),
        active: Some(vec!["a\n- b".into(), hostile.into()]),
        blocked: Some(vec!["## Current Phase".into()]),
        next: Some("real\n\n## Current Phase\nevil".into()),
        priorities: None,
    };
    mind.set_state(&change, now()).unwrap();
    mind.set_state(&change, now()).unwrap();
    let document = document::parse_document(it.read(".mind/STATE.md"));
    assert_eq!(
        document.sections.len(),
        8,
        "preamble, title and six sections"
    );
    let state = mind.read_state().unwrap().unwrap();
    assert_eq!(state.phase.as_deref(), Some("P ## Next Action evil"));
    assert_eq!(state.active.len(), 2);
    assert_eq!(state.blocked, ["## Current Phase"]);
    assert_eq!(state.next.as_deref(), Some("real ## Current Phase evil"));
}

#[test]
fn m24_any_title_is_just_a_title() {
    let text = "# Project State\n\n## constructor\nmine\n\n## __proto__\ntoo\n\n## toString\n\n## Next Action\nold\n";
    let it = Fixture::new("");
    it.files.write(".mind/STATE.md", text);
    let change = StateChange {
        next: Some("new".into()),
        ..StateChange::default()
    };
    it.mind().set_state(&change, now()).unwrap();
    let expect = text.replace("old", "new") + "\n## Last Updated\n2026-03-01\n";
    assert_eq!(it.read(".mind/STATE.md"), expect);
}

#[test]
fn m25_only_the_folder_itself_is_ours() {
    let it = Fixture::new("//- .mind-evil/.log\nx\n//- .mind/STATE.md\n# S\n");
    for path in [
        ".mind-evil/.log",
        "knowledge/.x",
        ".mind/STATE.md",
        ".mind/sub/x",
    ] {
        let path = crate::workspace::RelPath::new(path).unwrap();
        assert!(
            it.workspace.append_machine(&path, "x", 9, 9).is_err(),
            "{path}"
        );
        assert!(it.workspace.write_machine(&path, b"x").is_err(), "{path}");
        assert!(
            it.workspace.remove_machine(&path).is_err()
                || !it.workspace.absolute_path(&path).exists(),
            "{path}"
        );
    }
}

#[test]
fn m26_many_writers_lose_nothing() {
    let it = Fixture::new("");
    // Under wine one process answers for all files, and 64 wait for it too long.
    const WRITERS: usize = if cfg!(windows) { 8 } else { 64 };
    std::thread::scope(|scope| {
        for writer in 0..WRITERS {
            let root = it.files.root();
            scope.spawn(move || {
                let workspace = Workspace::open(root).unwrap();
                let mind = MindStore::open(&workspace);
                // Waiting for so many others may take longer than one wait.
                let again = |f: &dyn Fn() -> Result<(), MindError>| {
                    while let Err(error) = f() {
                        assert!(
                            matches!(&error, MindError::Workspace(it) if it.is_locked()),
                            "{error}"
                        );
                    }
                };
                again(&|| {
                    mind.add_decision(&decision(&format!("D{writer}"), "x"), now())
                        .map(drop)
                });
                again(&|| {
                    mind.log_session(&session(&format!("S{writer}")), now())
                        .map(drop)
                });
                again(&|| {
                    mind.add_task(&format!("T{writer}."), "In Progress", now())
                        .map(drop)
                });
                again(&|| mind.complete_task(&format!("T{writer}."), now()).map(drop));
                again(&|| mind.log_agent_start("builder", &format!("a{writer}"), now()));
            });
        }
    });
    let mind = it.mind();
    let mut ids: Vec<String> = mind
        .read_decisions()
        .unwrap()
        .into_iter()
        .filter_map(|it| it.id)
        .collect();
    ids.sort();
    ids.dedup();
    assert_eq!(ids.len(), WRITERS);
    assert_eq!(ids.last().cloned(), Some(format!("DEC-{WRITERS:03}")));
    let numbers: Vec<_> = mind
        .read_sessions()
        .unwrap()
        .iter()
        .filter_map(|it| it.number)
        .collect();
    assert_eq!(numbers, (1..=WRITERS).collect::<Vec<_>>());
    let progress = mind.read_progress().unwrap().unwrap();
    assert_eq!(progress.tasks.len(), WRITERS);
    assert!(
        progress
            .tasks
            .iter()
            .all(|it| it.done && it.completed.is_some())
    );
    assert_eq!(mind.read_events(EventLog::Agents).len(), WRITERS);
}

#[test]
fn m27_duplicate_and_fenced_headings_are_left_alone() {
    let text = "# S\n\n```\n## Active Work\nin code\n```\n\n## Active Work\n- first\n\n## Mine\nkept\n\n## Active Work\n- second\n";
    let it = Fixture::new("");
    it.files.write(".mind/STATE.md", text);
    let change = StateChange {
        active: Some(vec!["new".into()]),
        ..StateChange::default()
    };
    it.mind().set_state(&change, now()).unwrap();
    let after = it.read(".mind/STATE.md");
    assert_eq!(
        after,
        text.replace("- first", "- new") + "\n## Last Updated\n2026-03-01\n"
    );
}

const STATE: &str = "# Project State\n\n## Current Phase\nBuild\n\n## Active Work\n- Login page\n\n## Blocked Items\n- keys\n\n## Next Action\nFinish login\n";

#[test]
fn m28_after_compaction_nothing_is_there_twice() {
    let it = Fixture::new(PROGRESS);
    it.files.write(".mind/STATE.md", STATE);
    it.mind().write_checkpoint("auto", now()).unwrap();
    let text = brief_start(&it.mind(), &ask(SessionStartReason::Compact, &[])).text;
    assert!(text.starts_with("=== CONTEXT RESTORED (post-compaction) ==="));
    assert!(text.contains("--- PRE-COMPACTION CHECKPOINT ---"));
    assert!(
        text.contains(
            "The checkpoint of 2026-03-01T09:00:00.000Z has the same contents as the files."
        ),
        "{text}"
    );
    for once in [
        "Finish login",
        "- keys",
        "## Next Action",
        "### In Progress",
        "- [ ] Search",
    ] {
        assert_eq!(text.matches(once).count(), 1, "{once}: {text}");
    }
    // What differs is there, with its heading.
    it.files.write(
        ".mind/STATE.md",
        STATE.replace("Finish login", "Start search"),
    );
    let text = brief_start(&it.mind(), &ask(SessionStartReason::Compact, &[])).text;
    assert!(
        text.contains("no longer in the files:\n## Next Action\nFinish login\n</data"),
        "{text}"
    );
    assert_eq!(text.matches("- keys").count(), 1, "{text}");
}

#[test]
fn m30_the_nudge_has_every_blocker_without_bullets() {
    let it = Fixture::new("");
    it.files.write(
        ".mind/STATE.md",
        STATE.replace("- keys", "- waiting for keys\n- review of #4"),
    );
    assert_eq!(
        prompt_line(&it.mind(), now()).unwrap(),
        "[Memory] Phase: Build | Next: Finish login | BLOCKED: (2) \"waiting for keys; review of #4\" | (Read .mind/STATE.md for details)"
    );
    it.files
        .write(".mind/STATE.md", STATE.replace("- keys", "None."));
    assert!(!prompt_line(&it.mind(), now()).unwrap().contains("BLOCKED"));
    let many: String = (0..40).map(|n| format!("- blocker number {n}\n")).collect();
    it.files
        .write(".mind/STATE.md", STATE.replace("- keys\n", &many));
    let nudge = prompt_line(&it.mind(), now()).unwrap();
    assert!(
        nudge.chars().count() <= 200 && nudge.contains("(40) \"blocker number 0;"),
        "{nudge}"
    );
}
