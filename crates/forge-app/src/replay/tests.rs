use serde_json::json;

use super::*;

/// Writes a transcript of commands with their results.
fn transcript(folder: &Path, name: &str, day: u32, commands: &[(&str, &str)]) -> PathBuf {
    let calls = commands
        .iter()
        .map(|(command, result)| ("Bash", json!({"command": command}), *result));
    transcript_of_calls(folder, name, day, &calls.collect::<Vec<_>>())
}

/// Writes a transcript of calls: tool, arguments and result.
fn transcript_of_calls(
    folder: &Path,
    name: &str,
    day: u32,
    calls: &[(&str, serde_json::Value, &str)],
) -> PathBuf {
    let path = folder.join(name);
    let mut text = String::new();
    for (at, (tool, input, result)) in calls.iter().enumerate() {
        let id = format!("{name}-{at}");
        let time = format!("2026-03-{day:02}T10:00:{at:02}Z");
        let call = json!({"type": "assistant", "sessionId": name, "cwd": "/w", "timestamp": time, "message": {"content": [
            {"type": "tool_use", "id": id, "name": tool, "input": input}]}});
        let is_error = result.starts_with("Exit") || result.starts_with("File does not");
        let result = json!({"type": "user", "timestamp": time, "message": {"content": [
            {"type": "tool_result", "tool_use_id": id, "content": result, "is_error": is_error}]}});
        text += &format!("{call}\n{result}\n");
    }
    std::fs::write(&path, text).expect("written");
    path
}

#[test]
fn later_sessions_get_what_earlier_ones_left() {
    let folder = tempfile::tempdir().expect("a folder");
    let fails = ("cat -A a.go", "Exit code 1\ncat: illegal option -- A");
    let paths = [
        transcript(folder.path(), "c", 3, &[("cat -A a.go", "it works here")]),
        transcript(folder.path(), "b", 2, &[fails, fails]),
        transcript(folder.path(), "a", 1, &[fails, ("ls", "a.go")]),
    ];
    let report = replay_transcripts(&paths, ReplayPart::All);
    let total = report.total();
    assert_eq!((report.sessions.len(), report.moments()), (3, 5));
    assert_eq!((total.needs, total.met), (1, 1), "{report:?}");
    // The third one works: the push was wrong, once.
    assert_eq!((total.pushes, total.right, total.contradicted), (2, 1, 1));
    let items = report.items();
    assert_eq!((items.len(), items[0].counts.right), (1, 1));
    let second = replay_transcripts(&paths, ReplayPart::Second);
    assert_eq!(second.total().pushes, 2);
    assert_eq!(replay_transcripts(&paths, ReplayPart::All), report);
}

#[test]
fn intervals_are_wide_for_few() {
    assert_eq!(share_interval(11, 11), (741, 1000));
    assert_eq!(share_interval(0, 0), (0, 1000));
}

/// Appends records to a transcript, each with its own time.
fn overlapping(folder: &Path, name: &str, calls: &[(&str, &str, &str)]) -> PathBuf {
    let path = folder.join(name);
    let mut text = String::new();
    for (at, (time, command, result)) in calls.iter().enumerate() {
        let id = format!("{name}-{at}");
        let time = format!("2026-03-01T{time}:00Z");
        let prompt = json!({"type": "user", "sessionId": name, "cwd": "/w", "timestamp": time,
            "message": {"content": format!("Step {at}")}});
        let call = json!({"type": "assistant", "sessionId": name, "timestamp": time, "message": {"content": [
            {"type": "tool_use", "id": id, "name": "Bash", "input": {"command": command}}]}});
        let result = json!({"type": "user", "timestamp": time, "message": {"content": [
            {"type": "tool_result", "tool_use_id": id, "content": result, "is_error": result.starts_with("Exit")}]}});
        text += &format!("{prompt}\n{call}\n{result}\n");
    }
    std::fs::write(&path, text).expect("written");
    path
}

const CAT_FAILS: (&str, &str) = ("cat -A a.go", "Exit code 1\ncat: illegal option -- A");

#[test]
fn sessions_that_overlap_know_what_happened_before_each_turn() {
    let folder = tempfile::tempdir().expect("a folder");
    // The long session begins first and fails last.
    let long = [("10:00", "ls", "a.go"), ("12:00", CAT_FAILS.0, CAT_FAILS.1)];
    let short = [("11:00", CAT_FAILS.0, CAT_FAILS.1)];
    let paths = [
        overlapping(folder.path(), "long", &long),
        overlapping(folder.path(), "short", &short),
    ];
    let report = replay_transcripts(&paths, ReplayPart::All);
    let total = report.total();
    assert_eq!(
        (total.needs, total.met, total.right),
        (1, 1, 1),
        "{report:?}"
    );
    assert_eq!(report.pushes[0].place.session, 0);
    assert_eq!(report.pushes[0].place.line, 5);
    // What comes later is not known: the short one gets nothing.
    let early = [("10:30", CAT_FAILS.0, CAT_FAILS.1)];
    let paths = [
        paths[0].clone(),
        overlapping(folder.path(), "early", &early),
    ];
    let report = replay_transcripts(&paths, ReplayPart::All);
    assert_eq!(report.pushes.len(), 1);
    assert_eq!(report.pushes[0].place.session, 0);
}

#[test]
fn copies_of_a_session_count_once_and_the_longest_is_played() {
    let folder = tempfile::tempdir().expect("a folder");
    let one = transcript(folder.path(), "a", 1, &[CAT_FAILS]);
    let two = transcript(folder.path(), "b", 2, &[CAT_FAILS, ("ls", "a.go")]);
    let text = std::fs::read_to_string(&two).expect("read");
    let short: String = text.split_inclusive('\n').take(2).collect();
    let copy = folder.path().join("0-copy");
    std::fs::write(&copy, short).expect("written");
    let report = replay_transcripts(&[copy, one, two.clone()], ReplayPart::All);
    assert_eq!(
        (report.files, report.copies, report.sessions.len()),
        (3, 1, 2)
    );
    assert_eq!(report.sessions[1].path, two);
    assert_eq!(report.total().needs, 1);
}

#[test]
fn a_missed_need_has_its_reason_and_the_nearest_entry() {
    let folder = tempfile::tempdir().expect("a folder");
    let refuses = (
        "npm publish",
        "The user doesn't want to proceed with this tool use.",
    );
    let paths = [
        transcript(folder.path(), "a", 1, &[refuses, ("ls", "a.go")]),
        transcript(folder.path(), "b", 2, &[refuses]),
    ];
    // One refusal is not enough for a key.
    let report = replay_transcripts(&paths, ReplayPart::All);
    let need = report.missed().next().expect("a need");
    assert_eq!(
        (need.key, need.timing),
        ("refused before", NeedTiming::Missed)
    );
    let nearest = need.nearest.as_ref().expect("an entry");
    assert!(nearest.text.starts_with("refused: npm publish"), "{need:?}");
}

#[test]
fn steps_that_a_push_saves_are_the_failures_from_its_call_on() {
    let folder = tempfile::tempdir().expect("a folder");
    let paths = [
        transcript(folder.path(), "a", 1, &[CAT_FAILS]),
        transcript(
            folder.path(),
            "b",
            2,
            &[CAT_FAILS, ("ls", "a.go"), CAT_FAILS],
        ),
    ];
    let report = replay_transcripts(&paths, ReplayPart::All);
    let total = report.total();
    assert_eq!(
        (total.pushes, total.steps_saved, total.turns_saved),
        (1, 2, 0)
    );
    let items = report.items();
    assert_eq!(items[0].item, "fault cat -A");
    assert!(items[0].text.contains("never worked"));
}

#[test]
fn drawing_items_again_is_wider_than_drawing_pushes() {
    let item = |name: &str, right, pushes| ReplayedItem {
        item: name.to_owned(),
        key: "failed before",
        counts: ReplayCounts {
            right,
            pushes,
            ..ReplayCounts::default()
        },
        text: String::new(),
    };
    let items = [item("a", 30, 30), item("b", 5, 10)];
    let (low, high) = resampled_interval(&items);
    let (low_pushes, high_pushes) = share_interval(35, 40);
    assert!(low < low_pushes && high >= high_pushes, "{low} {high}");
    assert_eq!(resampled_interval(&items), (low, high));
    assert_eq!(resampled_interval(&[]), (0, 1000));
}

#[test]
fn a_glob_in_a_folder_that_nothing_is_known_of_is_one_in_a_missing_folder() {
    let folder = tempfile::tempdir().expect("a folder");
    let read = |path: &str| ("Read", json!({"file_path": path}), "1 text");
    let glob = |pattern: &str| ("Glob", json!({"pattern": pattern}), "No files found");
    let first = [
        read("/w/src/order-service/a.go"),
        read("/w/src/user-service/a.go"),
        read("/w/docs/a.md"),
    ];
    let second = [
        glob("/w/src/order/*.go"),
        read("/w/src/order-service/b.go"),
        // The folder is there, and has no such file.
        glob("docs/*.go"),
        // Nothing is like it.
        glob("src/billing/*.go"),
        // The workspace is `/w`.
        glob("w/**/*.go"),
        read("/w/src/user-service/a.go"),
    ];
    let paths = [
        transcript_of_calls(folder.path(), "a", 1, &first),
        transcript_of_calls(folder.path(), "b", 2, &second),
    ];
    let report = replay_transcripts(&paths, ReplayPart::All);
    let items: Vec<(&str, bool)> = report
        .pushes
        .iter()
        .map(|it| (it.item.as_str(), it.is_right))
        .collect();
    assert_eq!(items, [("path src/order", true), ("path w", true)]);
}

#[test]
fn a_failure_whose_complaint_is_thrown_away_is_the_same_one() {
    let folder = tempfile::tempdir().expect("a folder");
    let hidden = ("cat -A b.go 2>/dev/null", "Exit code 1");
    let piped = ("cat -A c.go 2>/dev/null | head", "");
    let paths = [
        transcript(folder.path(), "a", 1, &[CAT_FAILS]),
        transcript(folder.path(), "b", 2, &[hidden]),
        transcript(folder.path(), "c", 3, &[piped]),
    ];
    let report = replay_transcripts(&paths, ReplayPart::All);
    let total = report.total();
    assert_eq!((total.needs, total.met), (1, 1), "{report:?}");
    // Behind the pipe, nothing shows whether it failed.
    assert_eq!((total.pushes, total.right, total.contradicted), (2, 1, 0));
}

#[test]
fn a_file_that_was_removed_is_said_before_it_is_read() {
    let folder = tempfile::tempdir().expect("a folder");
    let read = |result| ("Read", json!({"file_path": "/w/src/debug.go"}), result);
    let removes = ("Bash", json!({"command": "rm src/debug.go"}), "");
    let paths = [
        transcript_of_calls(folder.path(), "a", 1, &[read("1 text"), removes]),
        transcript_of_calls(folder.path(), "b", 2, &[read("File does not exist.")]),
    ];
    let report = replay_transcripts(&paths, ReplayPart::All);
    assert_eq!(report.pushes.len(), 1, "{report:?}");
    assert_eq!(
        (report.pushes[0].key, report.pushes[0].is_right),
        ("path removed", true)
    );
}
