//! Compression: nothing is lost, and twice is once.

use super::*;
use crate::workspace::RelPath;

/// Seven sessions, twelve decisions, one old task.
fn grown() -> Fixture {
    let it = Fixture::new(
        "//- .mind/PROGRESS.md\n# Progress Tracker\n\n### Completed\n- [x] Ancient (completed 2025-11-01)\n  with a note\n- [x] Recent (completed 2026-02-27)\n- [x] Undated\n\n### In Progress\n- [ ] Open\n",
    );
    let mind = it.mind();
    for n in 1..=7 {
        let mut new = session(&format!("summary of {n}"));
        new.completed = vec![format!("thing {n}")];
        mind.log_session(&new, days_later(n)).unwrap();
    }
    for n in 1..=12 {
        let new = NewDecision {
            rationale: Some(format!("why {n}\nand more of it")),
            ..decision(
                &format!("Title {n}"),
                &format!("Decided {n}\n\nin two paragraphs"),
            )
        };
        mind.add_decision(&new, days_later(n)).unwrap();
    }
    it
}

fn all_text(it: &Fixture) -> String {
    [
        "SESSION-LOG.md",
        "DECISIONS.md",
        "PROGRESS.md",
        "ARCHIVE.md",
    ]
    .iter()
    .map(|name| it.files.path(&format!(".mind/{name}")))
    .filter_map(|path| std::fs::read_to_string(path).ok())
    .collect()
}

#[test]
fn old_entries_move_word_for_word() {
    let it = grown();
    let before = all_text(&it);
    let sessions = it.mind().read_sessions().unwrap();
    let decisions = it.mind().read_decisions().unwrap();
    let done = it.mind().compress_state(false, now()).unwrap();
    assert_eq!(
        (
            done.sessions.entries,
            done.sessions.compressed,
            done.sessions.kept
        ),
        (7, 2, 5)
    );
    assert_eq!(
        (
            done.decisions.entries,
            done.decisions.compressed,
            done.decisions.kept
        ),
        (12, 2, 10)
    );
    assert_eq!(done.tasks, 1);
    assert_eq!(
        done.saved_tokens(),
        done.sessions.saved_tokens() + done.decisions.saved_tokens()
    );
    assert!(done.decisions.saved_tokens() > 0);
    let after = all_text(&it);
    for line in before.lines().filter(|line| !line.trim().is_empty()) {
        assert!(after.contains(line), "lost: {line}");
    }
    let archive = it.read(".mind/ARCHIVE.md");
    for text in sessions[..2]
        .iter()
        .map(|it| &it.text)
        .chain(decisions[..2].iter().map(|it| &it.text))
    {
        assert!(archive.contains(text.as_str()), "{text}\n---\n{archive}");
    }
    assert_eq!(it.mind().read_sessions().unwrap(), {
        let mut kept = sessions[2..].to_vec();
        let lines = it.mind().read_sessions().unwrap();
        for (kept, now) in kept.iter_mut().zip(&lines) {
            (kept.line, kept.span) = (now.line, now.span.clone());
        }
        kept
    });
}

#[test]
fn the_files_after_compression() {
    let it = grown();
    it.mind().compress_state(false, now()).unwrap();
    let log = it.read(".mind/SESSION-LOG.md");
    assert!(
        log.starts_with(
            "# Session Log\n\n## Archived Sessions (compressed)\n\
             - Session 1 (2026-03-02 09:00:00): summary of 1 → ARCHIVE.md\n\
             - Session 2 (2026-03-03 09:00:00): summary of 2 → ARCHIVE.md\n\n\
             ## Session 3 — 2026-03-04 09:00:00\n"
        ),
        "{log}"
    );
    let decisions = it.read(".mind/DECISIONS.md");
    assert!(
        decisions.starts_with(
            "# Decision Log\n\n## Archived Decisions (compressed)\n\
             - DEC-001 (2026-03-02): Title 1 [Final] → ARCHIVE.md\n\
             - DEC-002 (2026-03-03): Title 2 [Final] → ARCHIVE.md\n\n\
             ## DEC-003: Title 3\n"
        ),
        "{decisions}"
    );
    assert_eq!(
        it.read(".mind/PROGRESS.md"),
        "# Progress Tracker\n\nOlder completed tasks: [ARCHIVE.md](ARCHIVE.md)\n\n### Completed\n- [x] Recent (completed 2026-02-27)\n- [x] Undated\n\n### In Progress\n- [ ] Open\n"
    );
    let archive = it.read(".mind/ARCHIVE.md");
    assert!(archive.starts_with("# Archived Sessions\n\n## Session 1 — 2026-03-02 09:00:00\n- **Summary:** summary of 1\n"), "{archive}");
    assert!(
        archive.contains("\n\n# Archived Decisions\n\n## DEC-001: Title 1\n"),
        "{archive}"
    );
    assert!(
        archive.ends_with("\n\n# Archived Tasks\n\n## Archived on 2026-03-01\n- [x] Ancient (completed 2025-11-01)\n  with a note\n"),
        "{archive}"
    );
}

#[test]
fn m12_twice_is_once_byte_for_byte() {
    let it = grown();
    it.mind().compress_state(false, now()).unwrap();
    let once = it.files.tree();
    let again = it.mind().compress_state(false, days_later(0)).unwrap();
    assert!(again.is_noop() && again.change.is_none());
    assert_eq!(it.files.tree(), once);
    // More of the same joins what is there.
    for n in 8..=9 {
        it.mind()
            .log_session(&session(&format!("summary of {n}")), days_later(n))
            .unwrap();
        it.mind()
            .add_decision(&decision(&format!("Title {}", n + 5), "x"), days_later(n))
            .unwrap();
    }
    it.mind().compress_state(false, now()).unwrap();
    let log = it.read(".mind/SESSION-LOG.md");
    assert_eq!(log.matches("## Archived Sessions").count(), 1);
    assert_eq!(log.matches("→ ARCHIVE.md").count(), 4);
    assert!(!log.contains("\n\n\n"), "{log}");
    let archive = it.read(".mind/ARCHIVE.md");
    for part in [
        "# Archived Sessions\n",
        "# Archived Decisions\n",
        "# Archived Tasks\n",
    ] {
        assert_eq!(archive.matches(part).count(), 1, "{part}");
    }
    let once = it.files.tree();
    it.mind().compress_state(false, now()).unwrap();
    assert_eq!(it.files.tree(), once);
}

#[test]
fn m13_no_copies_are_left_and_one_undo_takes_it_back() {
    let it = grown();
    let before = it.files.tree_of_sources();
    let done = it.mind().compress_state(false, now()).unwrap();
    assert!(!it.files.tree().contains("pre-compress"));
    it.workspace.undo(done.change.as_deref(), now()).unwrap();
    assert_eq!(it.files.tree_of_sources(), before);
}

#[test]
fn m14_the_summary_is_kept() {
    let it = grown();
    it.mind().compress_state(false, now()).unwrap();
    assert!(it.read(".mind/SESSION-LOG.md").contains("summary of 1"));
    assert!(
        it.read(".mind/ARCHIVE.md")
            .contains("- **Summary:** summary of 1\n- **Completed:** thing 1\n")
    );
}

#[test]
fn m15_ids_stay_and_are_never_given_again() {
    let it = grown();
    it.mind().compress_state(false, now()).unwrap();
    assert!(
        it.read(".mind/ARCHIVE.md")
            .contains("- **Rationale:** why 1\n  and more of it\n")
    );
    // Even when only the archive, or only the pointer, still knows them.
    it.files.write(".mind/DECISIONS.md", "# Decision Log\n");
    it.files.write(".mind/SESSION-LOG.md", "# Session Log\n");
    assert_eq!(
        it.mind()
            .add_decision(&decision("T", "D"), now())
            .unwrap()
            .0,
        "DEC-003"
    );
    assert_eq!(it.mind().log_session(&session("S"), now()).unwrap().0, 3);
    it.files.remove(".mind/ARCHIVE.md");
    it.files.write(".mind/DECISIONS.md", "# Decision Log\n\n## Archived Decisions (compressed)\n- DEC-041 (2026-01-01): x → ARCHIVE.md\n");
    it.files.write(".mind/SESSION-LOG.md", "# Session Log\n\n## Archived Sessions (compressed)\n- Session 17 (2026-01-01): x → ARCHIVE.md\n");
    assert_eq!(
        it.mind()
            .add_decision(&decision("T", "D"), now())
            .unwrap()
            .0,
        "DEC-042"
    );
    assert_eq!(it.mind().log_session(&session("S"), now()).unwrap().0, 18);
}

#[test]
fn m16_compression_waits_for_its_lock() {
    let it = grown();
    let before = it.files.tree_of_sources();
    it.workspace
        .change("Hold", now(), |_| {
            let other = Workspace::open(it.files.root()).unwrap();
            let error = MindStore::open(&other)
                .compress_state(false, now())
                .unwrap_err();
            assert!(
                matches!(&error, MindError::Workspace(it) if it.is_locked()),
                "{error}"
            );
            Ok(())
        })
        .unwrap();
    assert_eq!(it.files.tree_of_sources(), before);
}

#[test]
fn m29_the_decision_itself_is_kept() {
    let it = grown();
    it.mind().compress_state(false, now()).unwrap();
    assert!(
        it.read(".mind/ARCHIVE.md")
            .contains("- **Decision:** Decided 1\n\n  in two paragraphs\n")
    );
}

#[test]
fn a_dry_run_says_the_same_and_changes_nothing() {
    let it = grown();
    let before = it.files.tree();
    let dry = it.mind().compress_state(true, now()).unwrap();
    assert_eq!(it.files.tree(), before);
    let wet = it.mind().compress_state(false, now()).unwrap();
    assert_eq!(
        (dry.sessions, dry.decisions, dry.tasks),
        (wet.sessions, wet.decisions, wet.tasks)
    );
}

#[test]
fn an_archive_of_the_earlier_tool_is_joined() {
    let it = grown();
    let old = "# Archived Tasks\n\n## Archived on 2025-01-01\n- [x] Older (completed 2024-11-01)\n";
    it.files.write(".mind/ARCHIVE.md", old);
    it.mind().compress_state(false, now()).unwrap();
    let archive = it.read(".mind/ARCHIVE.md");
    assert!(
        archive.starts_with(&format!("{old}\n## Archived on 2026-03-01\n- [x] Ancient")),
        "{archive}"
    );
    assert_eq!(archive.matches("# Archived Tasks").count(), 1);
}

#[test]
fn line_ends_and_open_fences_survive() {
    let entry =
        |n: usize| format!("## Session {n} — 2026-01-{n:02}\r\n- **Summary:** s{n}\r\n\r\n");
    let log: String = (1..=7).rev().map(entry).collect();
    let it = Fixture::new("");
    it.files.write(
        ".mind/SESSION-LOG.md",
        format!("# Session Log\r\n\r\n<!-- keep -->\r\n\r\n{log}```\r\nnever closed\r\n"),
    );
    it.mind().compress_state(false, now()).unwrap();
    let log = it.read(".mind/SESSION-LOG.md");
    assert!(!log.replace("\r\n", "").contains('\n'), "{log:?}");
    assert!(
        log.starts_with("# Session Log\r\n\r\n<!-- keep -->\r\n\r\n## Session 7"),
        "{log:?}"
    );
    let archive = it.read(".mind/ARCHIVE.md");
    assert!(
        archive.contains("```\r\nnever closed\r\n```"),
        "{archive:?}"
    );
    assert_eq!(it.mind().read_sessions().unwrap().len(), 5);
}

#[test]
fn a_workspace_moves_its_oldest_entries_to_its_own_archive() {
    let entry = |n: usize| format!("## 2026-01-{n:02} - day {n}\n- did {n}\n\n---\n\n");
    let log: String = (1..=12).rev().map(entry).collect();
    let it = Fixture::new("//- _MANIFEST.md\n# Context Routing\n//- memory/status.md\n# Status\n");
    it.files.write(
        "memory/session-log.md",
        format!("# Session Log\n\n---\n\n{log}"),
    );
    let done = it.mind().compress_state(false, now()).unwrap();
    assert_eq!((done.sessions.compressed, done.sessions.kept), (2, 10));
    assert_eq!(
        it.read("memory/session-log-archive.md"),
        "# Session Log - Archive\n\n## 2026-01-02 - day 2\n- did 2\n\n---\n\n## 2026-01-01 - day 1\n- did 1\n\n---\n"
    );
    let log = it.read("memory/session-log.md");
    assert!(
        log.starts_with(
            "# Session Log\n\nOlder sessions: [[session-log-archive]]\n\n---\n\n## 2026-01-12"
        ),
        "{log}"
    );
    let once = it.files.tree();
    it.mind().compress_state(false, now()).unwrap();
    assert_eq!(it.files.tree(), once);
}

#[test]
fn the_threshold_is_one_of_bytes() {
    let it = Fixture::new("//- .mind/STATE.md\n# S\n");
    assert!(!it.mind().should_compress());
    it.files.write(".mind/SESSION-LOG.md", "x".repeat(12_001));
    assert!(it.mind().should_compress());
    assert!(
        it.workspace
            .absolute_path(&RelPath::new(".mind").unwrap())
            .is_dir()
    );
}
