//! The commands of the check, and what each of them promised: what was
//! confirmed must be there once, and what was cut off once or not at all.

use std::collections::HashMap;

use anyhow::{Result, bail, ensure};
use serde_json::json;

use crate::seeded::STATE;

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Kind {
    Set,
    Decide,
    TaskAdd,
    TaskDone,
    Log,
    Checkpoint,
    Compress,
    SessionStart,
    Stop,
    PreCompact,
    SessionEnd,
    SubagentStop,
    TaskCompleted,
}

impl Kind {
    pub(super) const ALL: [Kind; 13] = [
        Kind::Set,
        Kind::Decide,
        Kind::TaskAdd,
        Kind::TaskDone,
        Kind::Log,
        Kind::Checkpoint,
        Kind::Compress,
        Kind::SessionStart,
        Kind::Stop,
        Kind::PreCompact,
        Kind::SessionEnd,
        Kind::SubagentStop,
        Kind::TaskCompleted,
    ];

    pub(super) fn name(self) -> &'static str {
        match self {
            Kind::Set => "mind set",
            Kind::Decide => "mind decide",
            Kind::TaskAdd => "mind task add",
            Kind::TaskDone => "mind task done",
            Kind::Log => "mind log",
            Kind::Checkpoint => "mind checkpoint",
            Kind::Compress => "mind compress",
            Kind::SessionStart => "hook SessionStart",
            Kind::Stop => "hook Stop",
            Kind::PreCompact => "hook PreCompact",
            Kind::SessionEnd => "hook SessionEnd",
            Kind::SubagentStop => "hook SubagentStop",
            Kind::TaskCompleted => "hook TaskCompleted",
        }
    }
}

/// One command with what it is to leave behind.
pub(super) struct Step {
    pub(super) arguments: Vec<String>,
    pub(super) input: Vec<u8>,
    promise: Promise,
}

#[derive(Debug, Clone)]
enum Promise {
    Nothing,
    /// A line with this word in it, once, in a state file or the archive.
    Entry {
        word: String,
        is_task: bool,
    },
    /// The task with this word is ticked.
    Ticked(String),
    /// The next action in the state.
    Aim(String),
}

/// What was promised so far.
#[derive(Default)]
pub(super) struct Script {
    count: usize,
    entries: Vec<String>,
    open_tasks: Vec<String>,
    ticked: Vec<String>,
    aim: Option<String>,
    /// Of the one command that was cut off.
    unsure: Option<Promise>,
}

impl Script {
    pub(super) fn has_open_task(&self) -> bool {
        !self.open_tasks.is_empty()
    }

    pub(super) fn next(&mut self, kind: Kind) -> Step {
        self.count += 1;
        let number = self.count;
        let word = format!("entry-{number:06}");
        let plain = |arguments: &[&str], promise: Promise| Step {
            arguments: arguments.iter().map(|it| (*it).to_owned()).collect(),
            input: Vec::new(),
            promise,
        };
        let entry = |is_task: bool| Promise::Entry {
            word: word.clone(),
            is_task,
        };
        let title = format!("{word} has a name");
        match kind {
            Kind::Set => {
                let aim = format!("aim-{number:06} comes first");
                let phase = format!("Phase {number}: Build");
                plain(
                    &["mind", "set", "--phase", &phase, "--next", &aim],
                    Promise::Aim(aim.clone()),
                )
            }
            Kind::Decide => {
                let why = ["--rationale", "It was measured"];
                let decide = ["mind", "decide", &title, "--decision", "Do it"];
                plain(&[&decide[..], &why[..]].concat(), entry(false))
            }
            Kind::TaskAdd => plain(&["mind", "task", "add", &title], entry(true)),
            Kind::TaskDone => {
                let task = self.open_tasks.first().cloned().unwrap_or_default();
                plain(
                    &["mind", "task", "done", &task],
                    Promise::Ticked(task.clone()),
                )
            }
            Kind::Log => plain(&["mind", "log", &title, "--next", "Go on"], entry(false)),
            Kind::Checkpoint => plain(&["mind", "checkpoint"], Promise::Nothing),
            Kind::Compress => plain(&["mind", "compress"], Promise::Nothing),
            _ => hook(kind, number),
        }
    }

    /// Takes note of a step that was `confirmed`, or cut off.
    pub(super) fn settle(&mut self, step: &Step, confirmed: bool) {
        if confirmed {
            self.confirm(step.promise.clone())
        } else {
            self.unsure = Some(step.promise.clone())
        }
    }

    fn confirm(&mut self, promise: Promise) {
        match promise {
            Promise::Nothing => {}
            Promise::Entry { word, is_task } => {
                if is_task {
                    self.open_tasks.push(word.clone());
                }
                self.entries.push(word);
            }
            Promise::Ticked(word) => {
                self.open_tasks.retain(|it| *it != word);
                self.ticked.push(word);
            }
            Promise::Aim(aim) => self.aim = Some(aim),
        }
    }

    /// Compares the files with what was promised, and says whether what was
    /// unsure turned out to be there.
    pub(super) fn check(&mut self, texts: &[(&str, String)]) -> Result<bool> {
        let seen = Seen::read(texts);
        let unsure = self.unsure.take();
        let kept = match &unsure {
            None | Some(Promise::Nothing) => false,
            Some(Promise::Entry { word, .. }) => seen.words.contains_key(word.as_str()),
            Some(Promise::Ticked(word)) => seen.is_ticked(word),
            Some(Promise::Aim(aim)) => seen.has_aim(aim),
        };
        // A later command may have set another aim; then nobody can tell.
        if let Some(promise) = unsure.filter(|_| kept) {
            self.confirm(promise);
        }
        for word in &self.entries {
            let count = seen.words.get(word.as_str()).copied().unwrap_or(0);
            ensure!(
                count == 1,
                "`{word}` was confirmed and is there {count} times"
            );
        }
        if seen.words.len() != self.entries.len() {
            let known = |word: &&str| self.entries.iter().any(|it| it == word);
            let extra: Vec<&&str> = seen.words.keys().filter(|it| !known(it)).collect();
            bail!("entries that were never confirmed have come back: {extra:?}");
        }
        for word in &self.ticked {
            ensure!(seen.is_ticked(word), "`{word}` was ticked and is not");
        }
        for word in &self.open_tasks {
            ensure!(!seen.is_ticked(word), "nobody ticked `{word}`");
        }
        if let Some(aim) = &self.aim {
            ensure!(seen.has_aim(aim), "the next action is not `{aim}`");
        }
        Ok(kept)
    }
}

fn hook(kind: Kind, number: usize) -> Step {
    let event = kind.name().trim_start_matches("hook ");
    let mut payload = json!({ "hook_event_name": event, "session_id": format!("s{number}") });
    let mut more = |name: &str, value: &str| payload[name] = json!(value);
    match kind {
        Kind::SessionStart => more("source", "startup"),
        Kind::PreCompact => more("trigger", "auto"),
        Kind::SessionEnd => more("reason", "logout"),
        Kind::SubagentStop => {
            more("agent_type", "reviewer");
            more("agent_id", &format!("a{number}"));
        }
        Kind::TaskCompleted => {
            more("task_id", &number.to_string());
            more("task_subject", "Read every file of the ledger");
        }
        _ => {}
    }
    Step {
        arguments: vec!["hook".to_owned()],
        input: payload.to_string().into_bytes(),
        promise: Promise::Nothing,
    }
}

/// The words of the check that stand in the files.
struct Seen<'a> {
    words: HashMap<&'a str, usize>,
    ticked: Vec<&'a str>,
    state: &'a str,
}

impl<'a> Seen<'a> {
    fn read(texts: &'a [(&str, String)]) -> Seen<'a> {
        let mut seen = Seen {
            words: HashMap::new(),
            ticked: Vec::new(),
            state: "",
        };
        for (path, text) in texts {
            if *path == STATE {
                seen.state = text;
            }
            for line in text.lines() {
                let Some(at) = line.find("entry-") else {
                    continue;
                };
                // A pointer stands for an entry that moved to the archive.
                if line.ends_with("→ ARCHIVE.md") {
                    continue;
                }
                let end = (at + "entry-000000".len()).min(line.len());
                let word = &line[at..end];
                *seen.words.entry(word).or_default() += 1;
                if line.starts_with("- [x]") {
                    seen.ticked.push(word);
                }
            }
        }
        seen
    }

    fn is_ticked(&self, word: &str) -> bool {
        self.ticked.contains(&word)
    }

    fn has_aim(&self, aim: &str) -> bool {
        self.state.lines().any(|line| line == aim)
    }
}
