//! Sends events that need nothing through the real hook, in a workspace with
//! the evidence of real sessions and with documents: small talk, questions
//! about the world, calls of another project. Nothing should be brought.

use std::fs;
use std::io::Write;
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};

use anyhow::{Context, Result, ensure};
use serde_json::{Value, json};
use testkit::negatives::{other_project_calls, small_talk, unrelated_questions};

use super::exported::{ExportedSession, SessionRoots, write_transcript};

/// A workspace with a memory.
struct Memory<'a> {
    binary: &'a Path,
    home: PathBuf,
    root: PathBuf,
}

pub(super) fn run(binary: &Path, sessions: &[ExportedSession]) -> Result<()> {
    let folder = tempfile::tempdir()?;
    let memory = Memory {
        binary,
        home: folder.path().join("home"),
        root: folder.path().join("work"),
    };
    memory.fill(sessions)?;
    let evidence = memory.count_lines(".mind/evidence/log.jsonl");
    let mut events = Vec::new();
    let prompt = |text: String| json!({ "hook_event_name": "UserPromptSubmit", "prompt": text });
    events.push((
        "small talk",
        small_talk().into_iter().map(prompt).collect::<Vec<Value>>(),
    ));
    let questions = unrelated_questions().into_iter().map(prompt).collect();
    events.push(("unrelated questions", questions));
    let calls = other_project_calls().into_iter().map(|(tool, input)| {
        json!({ "hook_event_name": "PreToolUse", "tool_name": tool, "tool_input": input })
    });
    events.push(("another project's calls", calls.collect()));
    println!("{evidence} entries of evidence, `recall.push = \"all\"`");
    let (mut all, mut brought) = (0, 0);
    for (kind, events) in events {
        let mut of_kind = 0;
        for (at, mut event) in events.iter().cloned().enumerate() {
            // Each in a session of its own: nothing is spared as a repetition.
            event["session_id"] = format!("{kind} {at}").into();
            event["tool_use_id"] = format!("call {at}").into();
            let before = memory.count_lines(".mind/.pushes");
            memory.send(&event)?;
            if memory.count_lines(".mind/.pushes") > before {
                println!("  pushed at {event}");
                of_kind += 1;
            }
        }
        println!("{kind:<26} {:>5} events {of_kind:>3} pushes", events.len());
        all += events.len();
        brought += of_kind;
    }
    println!("{:<26} {all:>5} events {brought:>3} pushes", "all");
    Ok(())
}

impl Memory<'_> {
    /// Fills the evidence with the sessions, by the hook at the end of each
    /// turn, and the knowledge with the documents of this repository.
    fn fill(&self, sessions: &[ExportedSession]) -> Result<()> {
        let knowledge = self.root.join("knowledge");
        let projects = self.home.join(".claude/projects/x");
        for folder in [&knowledge, &projects, &self.root.join(".mind")] {
            fs::create_dir_all(folder)?;
        }
        fs::write(
            self.root.join("memory-forge.toml"),
            "[recall]\npush = \"all\"\n",
        )?;
        let state = "# State\n\n## Next Action\nFinish the login\n";
        fs::write(self.root.join(".mind/STATE.md"), state)?;
        let docs = crate::repository().join("docs/explanation");
        for entry in fs::read_dir(docs)?.flatten() {
            let is_page = entry.path().extension().is_some_and(|it| it == "md");
            if is_page {
                fs::copy(entry.path(), knowledge.join(entry.file_name()))?;
            }
        }
        let roots = SessionRoots::find(sessions);
        for session in sessions {
            let path = projects.join(session.name.replace(".md", ".jsonl"));
            let written = write_transcript(session, &roots.of_session(session), "", 0);
            fs::write(&path, written.text)?;
            self.send(&json!({
                "hook_event_name": "Stop", "session_id": session.id,
                "stop_hook_active": false, "transcript_path": path,
            }))?;
        }
        Ok(())
    }

    fn count_lines(&self, path: &str) -> usize {
        let text = fs::read_to_string(self.root.join(path)).unwrap_or_default();
        text.lines().filter(|line| line.starts_with('{')).count()
    }

    fn send(&self, event: &Value) -> Result<()> {
        let mut child = Command::new(self.binary)
            .args(["hook", "--client=claude"])
            .current_dir(&self.root)
            .env_clear()
            .env("HOME", &self.home)
            .env("PATH", std::env::var_os("PATH").unwrap_or_default())
            // Of the data, the newest entry is a few months old.
            .env("MEMORY_FORGE_NOW", "2026-03-01T12:00:00Z")
            .stdin(Stdio::piped())
            .stdout(Stdio::null())
            .stderr(Stdio::null())
            .spawn()?;
        let mut input = child.stdin.take().context("the input is a pipe")?;
        input.write_all(event.to_string().as_bytes())?;
        drop(input);
        ensure!(child.wait()?.success(), "a hook failed at {event}");
        Ok(())
    }
}
