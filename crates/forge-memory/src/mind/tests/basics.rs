//! The texts of the four files as writers make them from nothing.

use super::*;

#[test]
fn a_first_state_has_all_six_sections() {
    let it = Fixture::new("");
    let (outcome, _) = it
        .mind()
        .set_state(
            &StateChange {
                phase: Some("P1".into()),
                active: Some(vec!["a".into(), "b".into()]),
                ..StateChange::default()
            },
            now(),
        )
        .unwrap();
    assert!(outcome.created);
    assert_eq!(outcome.phase.as_deref(), Some("P1"));
    let next = StateChange {
        next: Some("N".into()),
        ..StateChange::default()
    };
    let outcome = it.mind().set_state(&next, now()).unwrap().0;
    assert!(!outcome.created);
    assert_eq!(
        it.read(".mind/STATE.md"),
        "# Project State\n\n## Current Phase\nP1\n\n## Current Status\nNot set\n\n## Active Work\n- a\n- b\n\n\
         ## Blocked Items\nNone\n\n## Next Action\nN\n\n## Last Updated\n2026-03-01\n"
    );
    let state = it.mind().read_state().unwrap().unwrap();
    assert_eq!(state.status, None);
    assert_eq!(state.active, ["a", "b"]);
    assert_eq!(state.blocked, Vec::<String>::new());
    assert_eq!(state.next.as_deref(), Some("N"));
}

#[test]
fn m22_new_files_begin_with_their_title() {
    let it = Fixture::new("");
    let mind = it.mind();
    let new = NewDecision {
        title: "T".into(),
        decision: "D".into(),
        ..NewDecision::default()
    };
    assert_eq!(mind.add_decision(&new, now()).unwrap().0, "DEC-001");
    assert_eq!(
        it.read(".mind/DECISIONS.md"),
        "# Decision Log\n\n## DEC-001: T\n- **Date:** 2026-03-01\n- **Decided by:** agent\n- **Decision:** D\n\
         - **Rationale:** Not specified\n- **Status:** Final\n"
    );
    let session = NewSession {
        summary: "S".into(),
        completed: vec!["x".into(), "y".into()],
        next: Some("n".into()),
        ..NewSession::default()
    };
    assert_eq!(mind.log_session(&session, now()).unwrap().0, 1);
    assert_eq!(
        it.read(".mind/SESSION-LOG.md"),
        "# Session Log\n\n## Session 1 — 2026-03-01 09:00:00\n- **Summary:** S\n- **Completed:** x, y\n- **Next session:** n\n"
    );
    assert_eq!(
        mind.add_task("Do it", "In Progress", now()).unwrap().0,
        "In Progress"
    );
    assert_eq!(
        it.read(".mind/PROGRESS.md"),
        "# Progress Tracker\n\n### In Progress\n- [ ] Do it\n"
    );
    assert_eq!(mind.complete_task("do", now()).unwrap().0, "Do it");
    assert_eq!(
        it.read(".mind/PROGRESS.md"),
        "# Progress Tracker\n\n### In Progress\n- [x] Do it (completed 2026-03-01)\n"
    );
}

#[test]
fn a_briefing_without_any_memory() {
    let it = Fixture::new("//- a.md\nx\n");
    let briefing = brief_start(&it.mind(), &ask(SessionStartReason::Startup, &[]));
    for part in [
        "=== SESSION BRIEFING ===",
        "--- CURRENT STATE (.mind/STATE.md) ---\n(no state file found — this may be the first session)",
        "=== END BRIEFING ===\nIMPORTANT: Keep",
    ] {
        assert!(briefing.text.contains(part), "{part}\n{}", briefing.text);
    }
    // "Empty sections are left out."
    for part in ["PROGRESS SUMMARY", "RECENT DECISIONS", "LAST SESSION"] {
        assert!(!briefing.text.contains(part), "{part}\n{}", briefing.text);
    }
    assert_eq!(
        it.files.tree(),
        "a.md 73cb3858a687\n",
        "looking creates nothing"
    );
    assert_eq!(prompt_line(&it.mind(), now()), None);
    assert_eq!(
        helper_text(&it.mind(), &ask(SessionStartReason::Startup, &[])),
        None
    );
}
