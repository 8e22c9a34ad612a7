//! Checkpoints and the logs of events.

use super::*;

#[test]
fn a_checkpoint_holds_state_and_open_work() {
    let it = Fixture::new(
        "//- .mind/STATE.md\n# Project State\n\n## Next Action\nShip\n//- .mind/PROGRESS.md\n# P\n\n### Completed\n- [x] old\n\n### In Progress\n- [ ] a\n",
    );
    let kept = it.mind().write_checkpoint("auto", now()).unwrap();
    assert_eq!(kept.path.as_str(), ".mind/checkpoints/latest.md");
    assert_eq!(
        kept.copy.as_ref().map(|it| it.as_str()),
        Some(".mind/checkpoints/compact-2026-03-01T09-00-00-000Z.md")
    );
    let text = it.read(".mind/checkpoints/latest.md");
    assert_eq!(text, it.read(kept.copy.unwrap().as_str()));
    assert!(
        text.starts_with(
            "# Pre-Compaction Checkpoint\n\n## Timestamp: 2026-03-01T09:00:00.000Z\n\n## Trigger: auto\n\n\
             ## State at Compaction\n\n# Project State\n\n## Next Action\nShip\n\n\
             ## In-Progress Work\n\n### In Progress\n- [ ] a\n\n## Recovery Instructions\n"
        ),
        "{text}"
    );
    assert!(
        it.workspace.history().unwrap().is_empty(),
        "checkpoints are not in the journal"
    );
}

#[test]
fn checkpoints_are_few_and_not_too_many_at_once() {
    let it = Fixture::new("//- .mind/STATE.md\n# S\n");
    let copies = || {
        let folder = it.files.path(".mind/checkpoints");
        let names = std::fs::read_dir(folder)
            .unwrap()
            .map(|it| it.unwrap().file_name().into_string().unwrap());
        let mut names: Vec<String> = names.filter(|it| it.starts_with("compact-")).collect();
        names.sort();
        names
    };
    for n in 0..14 {
        it.files.write(".mind/STATE.md", format!("# S\n{n}\n"));
        // Later than the copies were written by the file system's clock.
        let at = days_later(3650 + n);
        assert!(
            it.mind()
                .write_checkpoint("auto", at)
                .unwrap()
                .copy
                .is_some()
        );
        // One that says the same is enough, however old it is.
        let again = it
            .mind()
            .write_checkpoint("manual", at + jiff::SignedDuration::from_hours(1));
        assert_eq!(again.unwrap().copy, None);
    }
    assert_eq!(copies().len(), 10);
    assert!(copies()[9].contains("2036-03-11"), "{:?}", copies());
    // A copy that was made a moment ago is enough.
    let newest = it.files.path(&format!(".mind/checkpoints/{}", copies()[9]));
    let made = std::fs::metadata(&newest).unwrap().modified().unwrap();
    let just_now = Timestamp::try_from(made).unwrap();
    let kept = it.mind().write_checkpoint("auto", just_now).unwrap();
    assert_eq!(kept.copy, None);
    assert!(
        it.read(".mind/checkpoints/latest.md")
            .contains(&just_now.to_string()[..19])
    );
}

#[test]
fn events_are_lines_as_they_always_were() {
    let it = Fixture::new("//- .mind/STATE.md\n# S\n");
    let mind = it.mind();
    mind.log_agent_start("builder", "a1", now()).unwrap();
    mind.log_agent_report("builder", "a1\nSTARTED: evil", "", now())
        .unwrap();
    mind.log_agent_report("", "", "", now()).unwrap();
    assert_eq!(
        it.read(".mind/.agent-activity"),
        "[2026-03-01T09:00:00Z] STARTED: builder (a1)\n\
         [2026-03-01T09:00:00Z] STOPPED: builder (a1 STARTED: evil)\n\
         [2026-03-01T09:00:00Z] STOPPED: unknown (unknown)\n"
    );
    mind.log_task_completion("7", "Do X", "", now()).unwrap();
    assert_eq!(
        it.read(".mind/.task-completions"),
        "[2026-03-01T09:00:00Z] COMPLETED: #7 — Do X (by: self)\n"
    );
    mind.log_session_end("logout", now()).unwrap();
    assert_eq!(
        it.read(".mind/.session-tracking"),
        "Session ended: 2026-03-01T09:00:00Z (reason: logout)\n"
    );
    mind.touch_activity(now()).unwrap();
    assert_eq!(it.read(".mind/.last-activity"), "2026-03-01T09:00:00Z\n");
    assert_eq!(mind.read_last_activity(), Some(now()));
}

#[test]
fn a_log_of_events_stays_short_and_whole() {
    let it = Fixture::new("//- .mind/STATE.md\n# S\n");
    let mind = it.mind();
    it.files.write(".mind/.agent-activity", "torn 日本");
    for n in 0..200 {
        mind.log_agent_start("größe 日本", &n.to_string(), now())
            .unwrap();
    }
    let lines = mind.read_events(EventLog::Agents);
    assert_eq!(lines.len(), 100);
    assert!(
        lines
            .iter()
            .all(|it| it.starts_with("[2026") && it.contains("größe 日本")),
        "{lines:?}"
    );
    assert!(
        lines[99].ends_with("(199)") && lines[0].ends_with("(100)"),
        "{}",
        lines[0]
    );
    let done = mind.compress_state(false, now()).unwrap();
    assert_eq!(
        done.tracking[0],
        (
            ".agent-activity",
            EventLogRotation {
                before: 100,
                after: 100
            }
        )
    );
}

#[test]
fn names_with_any_characters_come_back() {
    let it = Fixture::new("//- .mind/STATE.md\n# S\n");
    let mind = it.mind();
    let names: Vec<String> = ["a.ts", "# b", "\"c\"", "d\ne", " f ", "größe/日本.md"]
        .map(String::from)
        .to_vec();
    assert_eq!(mind.track_files(&names, now()).unwrap(), 6);
    assert_eq!(mind.track_files(&names, now()).unwrap(), 6);
    assert_eq!(mind.read_tracked_files(), names);
    assert!(
        it.read(".mind/.file-tracker")
            .starts_with("# Session file changes (tracked since 2026-03-01T09:00:00Z)\na.ts\n")
    );
    mind.forget_tracked_files().unwrap();
    mind.forget_tracked_files().unwrap();
    assert!(mind.read_tracked_files().is_empty() && !it.files.exists(".mind/.file-tracker"));
}

#[test]
#[cfg(unix)]
fn nothing_is_written_through_a_link() {
    let it = Fixture::new("//- .mind/STATE.md\n# S\n//- target\nx\n");
    std::os::unix::fs::symlink(
        it.files.path("target"),
        it.files.path(".mind/.agent-activity"),
    )
    .unwrap();
    std::os::unix::fs::symlink(it.files.path("target"), it.files.path(".mind/DECISIONS.md"))
        .unwrap();
    assert!(it.mind().log_agent_start("a", "b", now()).is_err());
    assert!(it.mind().add_decision(&decision("T", "D"), now()).is_err());
    assert_eq!(it.read("target"), "x\n");
}

#[test]
fn a_state_that_is_long_ago_is_called_stale() {
    let it = Fixture::new("//- .mind/STATE.md\n# S\n");
    let made = file_modified_at(&it.files.path(".mind/STATE.md")).unwrap();
    assert_eq!(it.mind().stale_reminder(made), None);
    let later = made + jiff::SignedDuration::from_hours(2);
    assert_eq!(
        it.mind().stale_reminder(later).unwrap(),
        "[Memory] Reminder: .mind/STATE.md has not been updated in 30+ minutes. If significant work was done, update .mind/ files to preserve progress."
    );
}

#[test]
fn health_names_what_is_wrong() {
    let problems = |it: &Fixture, now| it.mind().check_health(now).problems;
    let none = Fixture::new("");
    assert_eq!(problems(&none, now())[0], HealthProblem::NoFolder);
    let it =
        Fixture::new("//- .mind/STATE.md\n# S\n//- .mcp.json\n{}\n//- .claude/settings.json\n{}\n");
    let made = file_modified_at(&it.files.path(".mind/STATE.md")).unwrap();
    assert_eq!(problems(&it, made), []);
    let later = made + jiff::SignedDuration::from_hours(25);
    let state = it.mind().file_path(MindFile::State);
    let found = problems(&it, later);
    assert_eq!(found, [HealthProblem::Untouched(state)]);
    assert!(found[0].message().contains("more than 24 hours ago"));
    let large = |it: &Fixture| problems(it, made)[0].message();
    it.files.write(".mind/DECISIONS.md", "x".repeat(50_001));
    assert!(large(&it).contains("a person has to shorten it"));
    let decision = |n: usize| format!("## DEC-{n:03}: Choice {n}\n\n{}\n\n", "y".repeat(3000));
    let many: String = (1..=20).map(decision).collect();
    it.files
        .write(".mind/DECISIONS.md", format!("# Decisions\n\n{many}"));
    assert!(large(&it).contains("mind compress"));
    it.files.write(".mind/PROGRESS.md", b"\xff");
    let found = problems(&it, made);
    assert!(matches!(found[0], HealthProblem::Unreadable(..)));
}

#[test]
fn failures_of_hooks_are_counted_beyond_those_that_are_kept() {
    let it = Fixture::new("//- .mind/STATE.md\n# S\n");
    assert_eq!(read_hook_failures(&it.workspace), None);
    for _ in 0..250 {
        let what = "Stop: the client\nsent nothing";
        it.mind().log_hook_failure(what, now()).unwrap();
    }
    let seen = read_hook_failures(&it.workspace).expect("they were noted");
    assert_eq!(seen.count, 250);
    assert!(
        seen.latest
            .ends_with("] #250 Stop: the client sent nothing"),
        "{seen:?}"
    );
    let kept = it.read(HOOK_FAILURES_FILE).lines().count();
    assert!(kept <= 200, "{kept}");
    // Lines of an older version have no numbers.
    it.files
        .write(HOOK_FAILURES_FILE, "[t] Stop: x\n[t] Stop: y\n");
    assert_eq!(
        read_hook_failures(&it.workspace).map(|it| it.count),
        Some(2)
    );
    it.mind().log_hook_failure("Stop: z", now()).unwrap();
    assert_eq!(
        read_hook_failures(&it.workspace).map(|it| it.count),
        Some(3)
    );
}
