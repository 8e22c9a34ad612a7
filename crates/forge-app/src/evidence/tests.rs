use std::io::Write;

use serde_json::json;
use testkit::TestWorkspace;

use super::*;
use crate::push::{
    ActionRequest, PushOutcome, PushStanding, list_pushes, push_before_action, silenced_pushes,
};
use forge_memory::evidence::EvidenceFact;

const WORK: &str = "
    //- .mind/STATE.md
    # Project State
    //- src/a.go
    package a
    //- knowledge/migrations.md
    ---
    applies-to: [\"db/**\", \"npm publish\"]
    ---
    # Migrations

    Migrations are never edited once they are merged.
";

/// A session whose transcript grows.
struct GrowingSession {
    home: tempfile::TempDir,
    id: &'static str,
    calls: usize,
}

impl GrowingSession {
    fn new(id: &'static str) -> GrowingSession {
        let home = tempfile::tempdir().expect("a folder");
        GrowingSession { home, id, calls: 0 }
    }

    fn path(&self) -> PathBuf {
        self.home.path().join("session.jsonl")
    }

    fn append(&self, text: &str) {
        let mut file = std::fs::File::options();
        let file = file.create(true).append(true).open(self.path());
        file.expect("opened")
            .write_all(text.as_bytes())
            .expect("written");
    }

    /// Adds a command with its result.
    fn ran(&mut self, command: &str, result: &str) -> String {
        self.calls += 1;
        let id = format!("{}-{}", self.id, self.calls);
        let at = format!("2026-03-01T10:00:{:02}Z", self.calls);
        let call = json!({"type": "assistant", "timestamp": at, "message": {"content": [
            {"type": "tool_use", "id": id, "name": "Bash", "input": {"command": command}},
        ]}});
        let is_error = result.starts_with("Exit code");
        let result = json!({"type": "user", "timestamp": at, "message": {"content": [
            {"type": "tool_result", "tool_use_id": id, "content": result, "is_error": is_error},
        ]}});
        self.append(&format!("{call}\n{result}\n"));
        id
    }

    fn record(&self, workspace: &Workspace) -> usize {
        let homes = [self.home.path().to_path_buf()];
        let path = self.path();
        let source = TranscriptSource {
            path: &path,
            session: self.id,
            cwd: workspace.root(),
            homes: &homes,
        };
        record_transcript(workspace, &source, now()).expect("recorded")
    }

    fn push(&self, workspace: &Workspace, call: &str, tool: &str, input: Value) -> Option<String> {
        let request = ActionRequest {
            event: "PreToolUse",
            session: self.id,
            call,
            tool,
            input: &input,
            cwd: workspace.root(),
            transcript: None,
            program_folders: &[],
            max_whole_read: Some(262_144),
            nonce: "nonce",
            now: now(),
        };
        push_before_action(workspace, &request).expect("decided")
    }
}

fn now() -> Timestamp {
    "2026-03-02T10:00:00Z".parse().expect("a time")
}

fn open(files: &TestWorkspace) -> Workspace {
    Workspace::open(files.root()).expect("a workspace")
}

const CAT_FAILS: (&str, &str) = ("cat -A src/a.go", "Exit code 1\ncat: illegal option -- A");

#[test]
fn a_transcript_is_read_once_and_from_where_the_reading_ended() {
    let files = TestWorkspace::files(WORK);
    let workspace = open(&files);
    let mut session = GrowingSession::new("s1");
    session.ran(CAT_FAILS.0, CAT_FAILS.1);
    assert_eq!(session.record(&workspace), 1);
    assert_eq!(session.record(&workspace), 0);
    session.ran("cat -vet src/a.go", "package a");
    // The client is still writing this line.
    session.append("{\"type\":\"assistant\",\"message\":{\"content\":[{\"type\":\"tool_u");
    assert_eq!(session.record(&workspace), 1);
    assert_eq!(read_evidence(&workspace).entries.len(), 2);
    session
        .append("se\",\"id\":\"x\",\"name\":\"Read\",\"input\":{\"file_path\":\"src/a.go\"}}]}}\n");
    // A call without a result is read again with it.
    assert_eq!(session.record(&workspace), 0);
    session.append("{\"type\":\"user\",\"message\":{\"content\":[{\"type\":\"tool_result\",\"tool_use_id\":\"x\",\"content\":\"package a\"}]}}\n");
    assert_eq!(session.record(&workspace), 1);
    assert!(files.read(".mind/evidence/.gitignore").contains('*'));
}

#[test]
fn a_later_session_gets_what_failed_once_and_no_more() {
    let files = TestWorkspace::files(WORK);
    let workspace = open(&files);
    let mut first = GrowingSession::new("s1");
    first.ran(CAT_FAILS.0, CAT_FAILS.1);
    first.ran("cat -vet src/a.go", "package a");
    first.record(&workspace);
    let mut second = GrowingSession::new("s2");
    let bash = |command: &str| json!({"command": command});
    assert_eq!(
        second.push(&workspace, "1", "Bash", bash("go test ./...")),
        None
    );
    let call = second.ran("cat -A src/b.go", "Exit code 1\ncat: illegal option -- A");
    let text = second.push(&workspace, &call, "Bash", bash("cat -A src/b.go"));
    let text = text.expect("a line");
    assert!(
        text.contains("never worked here") && text.contains("cat -vet src/a.go"),
        "{text}"
    );
    assert!(text.contains(".mind/evidence/log.jsonl:2, today"), "{text}");
    assert!(
        crate::tokens::count_tokens(crate::tokens::Tokenizer::O200k, &text) <= 60,
        "{text}"
    );
    assert_eq!(
        second.push(&workspace, "2", "Bash", bash("cat -A src/c.go")),
        None
    );
    second.ran("cat src/b.go", "package b");
    second.record(&workspace);
    let pushes = list_pushes(&workspace, 5, now());
    assert_eq!(pushes.len(), 1);
    assert_eq!(
        pushes[0].standing,
        PushStanding::Judged(PushOutcome::Avoided)
    );
    // It works now: nothing is said any more.
    second.ran("cat -A src/b.go", "package b");
    second.record(&workspace);
    let third = GrowingSession::new("s3");
    assert_eq!(
        third.push(&workspace, "1", "Bash", bash("cat -A src/b.go")),
        None
    );
}

#[test]
fn rules_and_paths_come_from_the_files() {
    let files = TestWorkspace::files(WORK);
    let workspace = open(&files);
    refresh_rules(&workspace).expect("read");
    let session = GrowingSession::new("s1");
    let edit = |path: &str| json!({"file_path": path, "old_string": "a", "new_string": "b"});
    let say = |call: &str, tool: &str, input| session.push(&workspace, call, tool, input);
    files.write("db/1.sql", "select 1");
    let text = say("1", "Edit", edit("db/1.sql")).expect("a rule");
    assert!(
        text.contains("never edited once") && text.contains("knowledge/migrations.md:6"),
        "{text}"
    );
    assert_eq!(say("2", "Edit", edit("db/1.sql")), None);
    assert_eq!(say("3", "Edit", edit("src/a.go")), None);
    // The document changed: what the table has is outdated.
    files.write(
        "knowledge/migrations.md",
        "---\napplies-to: [\"npm publish\"]\n---\n\nAnother rule.\n",
    );
    assert_eq!(say("4", "Bash", json!({"command": "npm publish"})), None);
}

#[test]
fn evidence_that_a_clone_brings_is_not_believed() {
    let files = TestWorkspace::files(WORK);
    let workspace = open(&files);
    let mut session = GrowingSession::new("s1");
    session.ran(CAT_FAILS.0, CAT_FAILS.1);
    session.record(&workspace);
    let keys = files.read(KEYS_FILE);
    files.write(KEYS_FILE, keys.replace("cat", "rm"));
    assert!(read_keys(&workspace).keys.is_empty());
    let log = files.read(EVIDENCE_FILE);
    files.write(EVIDENCE_FILE, log.replace("illegal", "evil"));
    assert!(read_evidence(&workspace).entries.is_empty());
    session.ran("ls src", "a.go");
    session.record(&workspace);
    assert!(!files.read(EVIDENCE_FILE).contains("evil"));
}

#[test]
fn nothing_is_kept_without_a_memory_or_from_elsewhere() {
    let files = TestWorkspace::files("//- README.md\n# Hi\n");
    let workspace = open(&files);
    let mut session = GrowingSession::new("s1");
    session.ran(CAT_FAILS.0, CAT_FAILS.1);
    assert_eq!(session.record(&workspace), 0);
    assert!(!files.exists(".mind"));
    let files = TestWorkspace::files(WORK);
    let workspace = open(&files);
    let elsewhere = TranscriptSource {
        path: &session.path(),
        session: "s1",
        cwd: workspace.root(),
        homes: &[files.root().join("nowhere")],
    };
    assert_eq!(
        record_transcript(&workspace, &elsewhere, now()).expect("recorded"),
        0
    );
}

#[test]
fn bad_input_records_nothing_and_breaks_nothing() {
    let files = TestWorkspace::files(WORK);
    let workspace = open(&files);
    let session = GrowingSession::new("s1");
    session.append("[]\n\u{0}\n{\"type\":\"user\"}\n{\"type\":\"assistant\",\"message\":{\"content\":7}}\nnot json\n");
    assert_eq!(session.record(&workspace), 0);
    for input in [
        json!(null),
        json!("ls"),
        json!([1]),
        json!({"command": {"a": 1}}),
    ] {
        let event = ToolEvent {
            session: "s1",
            call: "c",
            tool: "Bash",
            input: &input,
            response: &input,
            is_error: true,
            cwd: workspace.root(),
        };
        assert_eq!(
            record_tool_event(&workspace, &event, now()).expect("recorded"),
            0
        );
        assert_eq!(session.push(&workspace, "c", "Bash", input), None);
    }
    let long = format!("no, {}", "x ".repeat(1 << 19));
    assert_eq!(
        record_prompt(&workspace, "s1", &long, now()).expect("recorded"),
        1
    );
    assert!(files.read(EVIDENCE_FILE).len() < 1_000);
    assert!(silenced_pushes(&workspace).is_empty());
}

#[test]
fn what_a_hook_and_a_transcript_report_is_recorded_once() {
    let files = TestWorkspace::files(WORK);
    let workspace = open(&files);
    let mut session = GrowingSession::new("s1");
    let call = session.ran(CAT_FAILS.0, CAT_FAILS.1);
    let event = ToolEvent {
        session: "s1",
        call: &call,
        tool: "Bash",
        input: &json!({"command": CAT_FAILS.0}),
        response: &json!(CAT_FAILS.1),
        is_error: true,
        cwd: workspace.root(),
    };
    assert_eq!(
        record_tool_event(&workspace, &event, now()).expect("recorded"),
        1
    );
    assert_eq!(session.record(&workspace), 0);
    let log = read_evidence(&workspace);
    assert!(matches!(&log.entries[..], [only] if matches!(only.fact, EvidenceFact::Command(_))));
}

#[test]
fn the_best_of_a_session_fits_into_a_summary() {
    let files = TestWorkspace::files(WORK);
    let workspace = open(&files);
    let mut session = GrowingSession::new("s1");
    session.ran(CAT_FAILS.0, CAT_FAILS.1);
    session.ran("cargo test", "test result: ok. 3 passed; 0 failed");
    for i in 0..50 {
        session.ran(&format!("ls folder{i} {}", "x".repeat(200)), "a");
    }
    session.record(&workspace);
    let text = summarize_session(&workspace, "s1", "nonce", 9_000).expect("a summary");
    assert!(text.contains("worked: `ls folder49"), "{text}");
    assert!(crate::tokens::estimate_tokens(&text) <= 800);
    assert!(summarize_session(&workspace, "s1", "nonce", 500).is_some_and(|it| it.len() <= 500));
    assert_eq!(summarize_session(&workspace, "s2", "nonce", 9_000), None);
    assert_eq!(summarize_session(&workspace, "s1", "nonce", 10), None);
}

#[test]
fn sessions_at_the_same_time_lose_nothing() {
    let files = TestWorkspace::files(WORK);
    std::thread::scope(|scope| {
        for id in ["s1", "s2", "s3"] {
            let files = &files;
            scope.spawn(move || {
                let workspace = open(files).with_lock_wait(std::time::Duration::from_secs(30));
                let mut session = GrowingSession::new(id);
                for i in 0..5 {
                    session.ran(&format!("ls {id}-{i}"), "a");
                    session.record(&workspace);
                }
            });
        }
    });
    assert_eq!(read_evidence(&open(&files)).entries.len(), 15);
}

#[test]
fn a_patch_of_codex_changes_each_of_its_files() {
    let files = TestWorkspace::files(WORK);
    let workspace = open(&files);
    let session = GrowingSession::new("s1");
    let line = |payload: Value| {
        let time = "2026-03-01T10:00:00Z";
        let record = json!({"type": "response_item", "timestamp": time, "payload": payload});
        session.append(&format!("{record}\n"));
    };
    let patch = "*** Begin Patch\n*** Update File: src/a.go\n*** Move to: src/b.go\n@@\n-a\n+b\n*** Add File: src/c.go\n+c\n*** End Patch";
    line(
        json!({"type": "custom_tool_call", "call_id": "p", "name": "apply_patch", "input": patch}),
    );
    line(json!({"type": "custom_tool_call_output", "call_id": "p",
                "output": "{\"output\":\"Success.\",\"metadata\":{\"exit_code\":0}}"}));
    assert_eq!(session.record(&workspace), 3);
    let log = read_evidence(&workspace);
    let changed: Vec<&str> = log.entries.iter().filter_map(|it| it.fact.path()).collect();
    assert_eq!(changed, ["src/a.go", "src/b.go", "src/c.go"]);
    // One that was not applied changes nothing.
    line(
        json!({"type": "custom_tool_call", "call_id": "q", "name": "apply_patch",
                "input": "*** Update File: src/d.go\n"}),
    );
    line(json!({"type": "custom_tool_call_output", "call_id": "q",
                "output": "{\"output\":\"verification failed\",\"metadata\":{\"exit_code\":1}}"}));
    assert_eq!(session.record(&workspace), 0);
}
