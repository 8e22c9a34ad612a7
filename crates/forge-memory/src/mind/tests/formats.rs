//! Files as other people and tools leave them.

use super::*;

#[test]
fn any_order_extra_sections_and_blank_lines() {
    let it = Fixture::new(
        "
        //- .mind/STATE.md
        # My project

        ## Next Action

        - [ ] Write the docs
        - Then ship

        ## Notes
        anything

        ## blocked items

        * keys
        * a long one
          that goes on

        ## Current Phase

        <!-- one line -->
        Phase 2: Build
        more

        ## Last Updated

        March 2026, 2026-02-03
        ",
    );
    let state = it.mind().read_state().unwrap().unwrap();
    assert_eq!(state.phase.as_deref(), Some("Phase 2: Build"));
    assert_eq!(state.blocked, ["keys", "a long one that goes on"]);
    assert_eq!(state.next.as_deref(), Some("[ ] Write the docs"));
    assert_eq!(
        state.updated.map(|it| it.to_string()).as_deref(),
        Some("2026-02-03")
    );
    assert!(state.modified.is_some());
}

const STATUS: &str = "
    //- _MANIFEST.md
    # Context Routing
    //- memory/status.md
    # Status

    Last updated: 2026-02-01

    **Phase:** Discovery

    ## Active Focus
    Talking to users

    ## What's In Progress
    - Interviews

    ## Blocked
    - Budget

    ## Next Priorities
    1. Write it up
    2. Present it
    //- memory/session-log.md
    # Session Log

    Header.

    ---

    ## 2026-02-02 - Second
    - did b

    ---

    ## 2026-02-01 - First
    - did a

    ---
    //- memory/decisions.md
    # Decisions

    **2026-01-01** - Use Rust
    ~~**2026-01-02** - Use Go~~ (superseded 2026-01-03)
    **2026-01-03** - Keep Rust
";

#[test]
fn a_workspace_keeps_its_own_formats() {
    let it = Fixture::new(STATUS);
    let mind = it.mind();
    assert_eq!(mind.layout_kind(), StateLayoutKind::Manifest);
    let state = mind.read_state().unwrap().unwrap();
    assert_eq!(state.phase.as_deref(), Some("Discovery"));
    assert_eq!(state.status.as_deref(), Some("Talking to users"));
    assert_eq!(state.active, ["Interviews"]);
    assert_eq!(state.blocked, ["Budget"]);
    assert_eq!(state.next.as_deref(), Some("Write it up"));
    assert_eq!(
        state.updated.map(|it| it.to_string()).as_deref(),
        Some("2026-02-01")
    );
    let change = StateChange {
        phase: Some("Build".into()),
        next: Some("Code".into()),
        blocked: Some(vec![]),
        ..StateChange::default()
    };
    mind.set_state(&change, now()).unwrap();
    assert_eq!(
        it.read("memory/status.md"),
        "# Status\n\nLast updated: 2026-03-01\n\n**Phase:** Build\n\n## Active Focus\nTalking to users\n\n\
         ## What's In Progress\n- Interviews\n\n## Blocked\nNone\n\n## Next Priorities\n1. Code\n2. Present it\n"
    );
    let decisions = mind.read_decisions().unwrap();
    let titles: Vec<_> = decisions
        .iter()
        .map(|it| (it.title.as_str(), it.superseded))
        .collect();
    assert_eq!(
        titles,
        [("Use Rust", false), ("Use Go", true), ("Keep Rust", false)]
    );
    mind.add_decision(&decision("Queue", "Use the database"), now())
        .unwrap();
    assert!(
        it.read("memory/decisions.md")
            .ends_with("**2026-01-03** - Keep Rust\n**2026-03-01** - Queue: Use the database\n"),
        "{}",
        it.read("memory/decisions.md")
    );
    let sessions = mind.read_sessions().unwrap();
    assert_eq!(sessions.last().unwrap().title, "2026-02-02 - Second");
    assert_eq!(
        sessions.last().unwrap().text,
        "## 2026-02-02 - Second\n- did b"
    );
    mind.log_session(&session("Third"), now()).unwrap();
    assert!(
        it.read("memory/session-log.md").contains(
            "---\n\n## 2026-03-01 - Third\n- **Summary:** Third\n\n---\n\n## 2026-02-02 - Second\n"
        ),
        "{}",
        it.read("memory/session-log.md")
    );
    assert_eq!(
        mind.read_sessions().unwrap().last().unwrap().title,
        "2026-03-01 - Third"
    );
    mind.add_task("Recruit", "In Progress", now()).unwrap();
    assert!(
        it.read("memory/status.md")
            .contains("- Interviews\n- Recruit\n")
    );
    assert_eq!(
        mind.complete_task("interviews", now()).unwrap().0,
        "Interviews"
    );
    assert!(
        it.read("memory/status.md")
            .contains("- [x] Interviews (completed 2026-03-01)\n- Recruit\n")
    );
    let text = brief_start(&mind, &ask(SessionStartReason::Startup, &[])).text;
    assert!(
        text.contains("--- CURRENT STATE (memory/status.md) ---"),
        "{text}"
    );
    assert!(
        text.contains("2026-03-01 - Third") && !text.contains("did a"),
        "{text}"
    );
    assert!(!it.files.exists(".mind"));
}

#[test]
fn a_manifest_says_where_its_files_are() {
    let it = Fixture::new(
        "
        //- _MANIFEST.md
        # Context Routing

        ## Config
        | Key | Value |
        |---|---|
        | status | `notes/now.md` |
        | Session log | [[notes/log]] |
        | decisions | ../outside.md |
        //- notes/now.md
        # Status
        //- notes/log.md
        # Log
        //- team/decisions.md
        # Decisions
        ",
    );
    let mind = it.mind();
    assert_eq!(mind.file_path(MindFile::State).as_str(), "notes/now.md");
    assert_eq!(
        mind.file_path(MindFile::SessionLog).as_str(),
        "notes/log.md"
    );
    assert_eq!(
        mind.file_path(MindFile::Decisions).as_str(),
        "team/decisions.md"
    );
    assert_eq!(
        mind.file_path(MindFile::Archive).as_str(),
        "notes/log-archive.md"
    );
    // Without anything to go by, the usual place.
    let bare = Fixture::new("//- _MANIFEST.md\n# Context Routing\n");
    assert_eq!(
        bare.mind().file_path(MindFile::State).as_str(),
        "memory/status.md"
    );
    assert!(!bare.mind().has_state_files());
    // State in `.mind/` is used where there is some.
    let both = Fixture::new("//- _MANIFEST.md\n# C\n//- .mind/STATE.md\n# S\n");
    assert_eq!(both.mind().layout_kind(), StateLayoutKind::Mind);
    assert_eq!(both.mind().describe_layout_conflict(), None);
}

/// "One resolution of the layout; when both exist `doctor` reports it and
/// nothing switches silently."
#[test]
fn files_of_the_other_layout_never_hide_the_state() {
    let it = Fixture::new("//- _MANIFEST.md\n# C\n//- memory/status.md\n**Phase:** One\n");
    for stray in ["PROGRESS", "DECISIONS", "SESSION-LOG", "STATE"] {
        it.files.write(&format!(".mind/{stray}.md"), "# Stray\n");
        assert_eq!(
            it.mind().layout_kind(),
            StateLayoutKind::Manifest,
            "{stray}"
        );
        let phase = it.mind().read_state().unwrap().and_then(|it| it.phase);
        assert_eq!(phase.as_deref(), Some("One"), "{stray}");
        let said = it.mind().describe_layout_conflict().unwrap();
        assert!(
            said.contains("The state is in `memory/status.md`"),
            "{said}"
        );
        assert!(said.contains(&format!("`.mind/{stray}.md`")), "{said}");
    }
    let it = Fixture::new("//- _MANIFEST.md\n# C\n//- .mind/STATE.md\n# S\n");
    it.files.write("memory/session-log.md", "# Log\n");
    it.files.write("memory/decisions.md", "# Decisions\n");
    assert_eq!(it.mind().layout_kind(), StateLayoutKind::Mind);
    let said = it.mind().describe_layout_conflict().unwrap();
    assert!(said.contains("The state is in `.mind/STATE.md`"), "{said}");
    // A file that has only the name is nobody's state.
    let it =
        Fixture::new("//- _MANIFEST.md\n# C\n//- .mind/STATE.md\n# S\n//- docs/status.md\nx\n");
    assert_eq!(it.mind().layout_kind(), StateLayoutKind::Mind);
    assert_eq!(it.mind().describe_layout_conflict(), None);
    // A status file alone is a workspace, and no stray file ends that.
    let it = Fixture::new("//- memory/status.md\n# S\n//- .mind/PROGRESS.md\n# P\n");
    assert_eq!(it.mind().layout_kind(), StateLayoutKind::Manifest);
    assert!(it.mind().describe_layout_conflict().is_some());
    // Without a manifest `memory/` belongs to somebody else.
    let it = Fixture::new("//- memory/decisions.md\n# D\n//- .mind/PROGRESS.md\n# P\n");
    assert_eq!(it.mind().describe_layout_conflict(), None);
}

#[test]
fn a_full_archive_of_the_state_is_followed_by_another() {
    let it = Fixture::new("//- .mind/STATE.md\n# S\n\n## Next Action\nOne\n");
    it.files
        .write(".mind/STATE-archive.md", "> old\n".repeat(30_000));
    let full = it.read(".mind/STATE-archive.md");
    for next in ["Two", "Three"] {
        let change = StateChange {
            next: Some(next.to_owned()),
            ..StateChange::default()
        };
        it.mind().set_state(&change, now()).unwrap();
    }
    assert_eq!(it.read(".mind/STATE-archive.md"), full);
    let second = it.read(".mind/STATE-2-archive.md");
    assert!(
        second.contains("> One\n") && second.contains("> Two\n"),
        "{second}"
    );
}

#[test]
fn decisions_in_every_form() {
    let check = |text: &str, expect: &[(Option<&str>, &str, Option<&str>)], next: &str| {
        let it = Fixture::new("");
        it.files.write(".mind/DECISIONS.md", text);
        let found = it.mind().read_decisions().unwrap();
        let found: Vec<_> = found
            .iter()
            .map(|it| {
                (
                    it.id.clone(),
                    it.title.clone(),
                    it.date.map(|it| it.to_string()),
                )
            })
            .collect();
        let found: Vec<_> = found
            .iter()
            .map(|(id, title, date)| (id.as_deref(), title.as_str(), date.as_deref()))
            .collect();
        assert_eq!(found, expect, "{text}");
        assert_eq!(
            it.mind()
                .add_decision(&decision("N", "D"), now())
                .unwrap()
                .0,
            next,
            "{text}"
        );
    };
    check("", &[], "DEC-001");
    check(
        "# Decision Log\n\n## DEC-007: Seven\n- **Date:** 2026-01-07\n\n## DEC-3: Three\n- Date: no\n",
        &[
            (Some("DEC-3"), "Three", None),
            (Some("DEC-007"), "Seven", Some("2026-01-07")),
        ],
        "DEC-008",
    );
    check(
        "## Decision: first\n\ntext\n\n### Decision\nnested\n\n## Decision 2 — second\n- **Date:** 2026-01-02\n",
        &[
            (None, "first", None),
            (None, "2 — second", Some("2026-01-02")),
        ],
        "DEC-001",
    );
    check(
        "# Decisions\n\n- **2026-01-01** - one\n- ~~**2026-01-02** - two~~ (superseded 2026-01-03)\n",
        &[
            (None, "one", Some("2026-01-01")),
            (None, "two", Some("2026-01-02")),
        ],
        "2026-03-01",
    );
    check(
        "# Decision Log\n\n1. Use Rust\n2. Use SQLite (2026-01-02)\n",
        &[
            (Some("1"), "Use Rust", None),
            (Some("2"), "Use SQLite (2026-01-02)", Some("2026-01-02")),
        ],
        "3",
    );
    // Ids that are spoken of, or stand in code, are not given.
    check(
        "## DEC-001: a\nSee DEC-900.\n\n```\n## DEC-800: code\n```\n",
        &[(Some("DEC-001"), "a", None)],
        "DEC-002",
    );
}

#[test]
fn new_entries_follow_the_order_of_the_file() {
    let it = Fixture::new(
        "
        //- .mind/SESSION-LOG.md
        # Log

        ## Session 2 — 2026-01-02
        - b

        ## Session 1 — 2026-01-01
        - a
        //- .mind/DECISIONS.md
        # Decision Log

        ## DEC-002: b
        - **Decision:** b

        ## DEC-001: a
        - **Decision:** a
        ",
    );
    let mind = it.mind();
    assert_eq!(mind.log_session(&session("c"), now()).unwrap().0, 3);
    assert!(it.read(".mind/SESSION-LOG.md").starts_with(
        "# Log\n\n## Session 3 — 2026-03-01 09:00:00\n- **Summary:** c\n\n## Session 2"
    ));
    assert_eq!(
        mind.read_sessions().unwrap().last().unwrap().number,
        Some(3)
    );
    assert_eq!(
        mind.add_decision(&decision("c", "c"), now()).unwrap().0,
        "DEC-003"
    );
    assert!(
        it.read(".mind/DECISIONS.md")
            .starts_with("# Decision Log\n\n## DEC-003: c\n")
    );
    assert_eq!(
        mind.read_decisions().unwrap().last().unwrap().id.as_deref(),
        Some("DEC-003")
    );
}

#[test]
fn an_auto_captured_entry_reads_as_it_always_did() {
    let it =
        Fixture::new("//- .mind/SESSION-LOG.md\n# Session Log\n\n## Session 1 — 2026-01-01\n- x\n");
    let new = NewSession {
        captured: Some(SessionCapture {
            reason: "logout".into(),
            files: vec!["a.ts".into(), "lib/b.ts".into()],
        }),
        ..NewSession::default()
    };
    assert_eq!(it.mind().log_session(&new, now()).unwrap().0, 2);
    assert_eq!(
        it.read(".mind/SESSION-LOG.md"),
        "# Session Log\n\n## Session 1 — 2026-01-01\n- x\n\n## Session 2 — 2026-03-01 (auto-captured)\n\
         - **Reason ended:** logout\n- **Files changed:** 2\n  - a.ts\n  - lib/b.ts\n\
         - **Note:** This entry was auto-generated because SESSION-LOG.md wasn't updated manually.\n  \
         Review and enrich with context about what was accomplished.\n"
    );
    let many = NewSession {
        captured: Some(SessionCapture {
            reason: String::new(),
            files: (0..20).map(|n| format!("f{n}\n## Session 99")).collect(),
        }),
        ..NewSession::default()
    };
    assert_eq!(it.mind().log_session(&many, now()).unwrap().0, 3);
    let text = it.read(".mind/SESSION-LOG.md");
    assert!(
        text.contains("- **Files changed:** 20\n") && text.contains("  - ... and 5 more\n"),
        "{text}"
    );
    assert_eq!(it.mind().read_sessions().unwrap().len(), 3);
}

#[test]
fn tasks_go_where_their_section_is() {
    let check = |before: &str, section: &str, expect: &str| {
        let it = Fixture::new("");
        it.files.write(".mind/PROGRESS.md", before);
        it.mind().add_task("New", section, now()).unwrap();
        assert_eq!(it.read(".mind/PROGRESS.md"), expect, "{before}");
    };
    check(
        "### In Progress\n- [ ] a\n\n### Blocked\n",
        "in progress",
        "### In Progress\n- [ ] a\n- [ ] New\n\n### Blocked\n",
    );
    check(
        "### In Progress (3)\nNone.\n",
        "In Progress",
        "### In Progress (3)\n- [ ] New\n",
    );
    // An empty bullet was written by hand; no template has one.
    check(
        "### In Progress\n-\n",
        "In Progress",
        "### In Progress\n-\n- [ ] New\n",
    );
    check(
        "### In Progress\n- -\n\n### Blocked\n",
        "In Progress",
        "### In Progress\n- -\n- [ ] New\n\n### Blocked\n",
    );
    check(
        "### In Progress\n- None.\n",
        "In Progress",
        "### In Progress\n- [ ] New\n",
    );
    check(
        "### In Progress\n\n### Blocked\n",
        "Blocked",
        "### In Progress\n\n### Blocked\n- [ ] New\n",
    );
    check(
        "# P\n\ntext",
        "Ideas",
        "# P\n\ntext\n\n### Ideas\n- [ ] New\n",
    );
    check(
        "### In Progress\r\n- [ ] a\r\n",
        "In Progress",
        "### In Progress\r\n- [ ] a\r\n- [ ] New\r\n",
    );
    check(
        "```\n### In Progress\n```\n",
        "In Progress",
        "```\n### In Progress\n```\n\n### In Progress\n- [ ] New\n",
    );
}

#[test]
fn broken_files_are_named_and_left_alone() {
    let it = Fixture::new("//- .mind/PROGRESS.md\n### In Progress\n- [ ] a\n");
    it.files.write(".mind/STATE.md", b"# S\n\xff\n");
    let before = it.files.tree_of_sources();
    let mind = it.mind();
    assert!(mind.read_state().is_err());
    let change = StateChange {
        phase: Some("P".into()),
        ..StateChange::default()
    };
    assert!(mind.set_state(&change, now()).is_err());
    let text = brief_start(&mind, &ask(SessionStartReason::Startup, &[])).text;
    assert!(text.contains("STATE.md` line 2 is not UTF-8"), "{text}");
    assert!(text.contains("- [ ] a"), "{text}");
    assert_eq!(prompt_line(&mind, now()), None);
    assert_eq!(it.files.tree_of_sources(), before);
    mind.write_checkpoint("auto", now()).unwrap();
}
