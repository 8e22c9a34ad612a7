//! Maps an event to a use case, and its answer to the text for the agent.

use std::error::Error;
use std::hash::{DefaultHasher, Hasher};
use std::path::{Path, PathBuf};
use std::sync::OnceLock;
use std::time::Duration;

use forge_app::brief::{BriefRequest, Occasion, SESSION_BUDGET, StartReason, WorkspaceLook, brief};
use forge_app::client::Client;
use forge_app::mind::Mind;
use forge_app::session::{
    SessionClosing, SessionEnding, SessionOpening, close_session, end_turn, open_session,
};
use forge_app::workspace::{RootHints, Workspace, discover};
use jiff::Timestamp;

use super::client::continues_after_stop_output;
use super::event::Event;
use super::payload::Payload;
use crate::settings::Process;
use crate::ui::printable;

/// Handles an event and returns the text for the agent, if any.
pub(super) fn handle(
    event: Event,
    client: Option<Client>,
    payload: &Payload,
    process: &Process,
    root: Option<&str>,
) -> Option<String> {
    let now = process.now();
    let workspace = open(payload, process, root)?;
    let hook = Hook {
        mind: Mind::open(&workspace),
        client,
        payload,
        nonce: nonce(payload),
        plugin_folder: process.claude_plugin_data(),
        now,
    };
    if let Some(what) = payload.garbled {
        hook.note(event, what);
    }
    match hook.run(event) {
        Ok(context) => context,
        Err(error) => {
            hook.note(event, &error.to_string());
            None
        }
    }
}

/// Records input that does not name its event. Clients whose hooks all get an
/// empty input would otherwise lose everything silently.
pub(super) fn unnamed(what: &str, payload: &Payload, process: &Process, root: Option<&str>) {
    if let Some(workspace) = open(payload, process, root) {
        let what = format!("An event that nobody named: {what}");
        note_failure(&Mind::open(&workspace), &what, process.now());
    }
}

/// Root of the hook's workspace, once it is known, for the note after the
/// deadline.
static ROOT: OnceLock<PathBuf> = OnceLock::new();

/// Records that the deadline came first.
pub(super) fn took_too_long(event: Option<Event>, now: Timestamp) {
    let workspace = ROOT.get().and_then(|root| Workspace::open(root).ok());
    // No time is left to wait for a lock.
    if let Some(workspace) = workspace.map(|it| it.waiting(Duration::ZERO)) {
        let event = event.map_or("A hook", Event::name);
        let what = format!("{event}: it took too long and was given up");
        note_failure(&Mind::open(&workspace), &what, now);
    }
}

/// Limits for waiting on one lock, so that a hook still answers if several
/// locks are held by processes that hang.
const LOCK_WAIT: Duration = Duration::from_millis(600);
const LOCK_WAIT_AT_END: Duration = Duration::from_millis(200);
/// Limits for git to list what a session changed, at a start, and at an end,
/// which has less time.
const GIT_WAIT: Duration = Duration::from_millis(1_200);
const GIT_WAIT_AT_END: Duration = Duration::from_millis(500);
/// Limit for the look around a workspace at a start.
const OVERVIEW_WAIT: Duration = Duration::from_millis(1_000);

fn open(payload: &Payload, process: &Process, root: Option<&str>) -> Option<Workspace> {
    let flag = root.map(Path::new);
    let hook_cwd = payload.text(&["cwd"]).map(Path::new);
    let cwd = process.cwd().or(hook_cwd)?;
    let found = discover(&RootHints {
        flag,
        env_root: process.project_root(),
        claude_project_dir: process.claude_project_dir(),
        hook_cwd,
        cwd,
        home: process.home(),
    })
    .ok()?;
    let wait = match payload.event() {
        Some(Event::SessionEnd) => LOCK_WAIT_AT_END,
        _ => LOCK_WAIT,
    };
    let workspace = Workspace::open(&found.path).ok()?.waiting(wait);
    let _ = ROOT.set(workspace.root().to_owned());
    Some(workspace)
}

/// Names that clients have for the id of a session.
const SESSION: &[&str] = &["session_id", "sessionId", "conversation_id"];

/// One event with everything that its handler needs.
struct Hook<'a> {
    mind: Mind<'a>,
    client: Option<Client>,
    payload: &'a Payload,
    nonce: String,
    /// The folder that Claude Code gives its plugin.
    plugin_folder: Option<&'a Path>,
    now: Timestamp,
}

type Answer = Result<Option<String>, Box<dyn Error>>;

impl Hook<'_> {
    fn run(&self, event: Event) -> Answer {
        match event {
            Event::SessionStart => self.session_start(),
            Event::UserPromptSubmit => self.brief(Occasion::Prompt),
            Event::Stop => self.stop(),
            Event::PreCompact => self.pre_compact(),
            Event::PostCompact => Ok(None),
            Event::SessionEnd => self.session_end(),
            Event::SubagentStart => self.subagent_start(),
            Event::SubagentStop => self.subagent_stop(),
            Event::TaskCompleted => self.task_completed(),
        }
    }

    fn session_start(&self) -> Answer {
        let reason = match self.payload.text(&["source"]) {
            Some("resume") => StartReason::Resume,
            Some("clear") => StartReason::Clear,
            Some("compact") => StartReason::Compact,
            Some("fork") => StartReason::Fork,
            _ => StartReason::Startup,
        };
        // A session that was left open is closed before this one gets anything,
        // and an error in that must not cost the briefing.
        let opening = SessionOpening {
            id: self.session(),
            reason,
            git_wait: GIT_WAIT,
            now: self.now,
        };
        let news = open_session(&self.mind, &opening);
        for problem in &news.problems {
            self.note(Event::SessionStart, &problem.to_string());
        }
        self.brief(Occasion::Start {
            reason,
            events: &news.lines,
            look: WorkspaceLook::AtMost(OVERVIEW_WAIT),
        })
    }

    fn stop(&self) -> Answer {
        let turn = end_turn(&self.mind, self.now)?;
        if let Some(problem) = &turn.problem {
            self.note(Event::Stop, &problem.to_string());
        }
        // Text at a stop would make the client continue, or call this hook
        // again.
        let quiet =
            self.payload.flag("stop_hook_active") || continues_after_stop_output(self.client);
        Ok(turn.reminder.filter(|_| !quiet))
    }

    fn pre_compact(&self) -> Answer {
        if !self.mind.exists() {
            return Ok(None);
        }
        let trigger = self.payload.text(&["trigger"]).unwrap_or("auto");
        let checkpoint = self.mind.checkpoint(trigger, self.now)?;
        self.brief(Occasion::Compaction(&checkpoint))
    }

    fn session_end(&self) -> Answer {
        let closing = SessionClosing {
            ending: SessionEnding::Reported {
                reason: self.payload.text(&["reason"]).unwrap_or("unknown"),
                git_wait: GIT_WAIT_AT_END,
            },
            log_folder: self.plugin_folder,
            now: self.now,
        };
        let report = close_session(&self.mind, &closing)?.unwrap_or_default();
        if let (Some(path), Some(age)) = (report.state, report.stale_for) {
            let path = printable(path.as_str());
            super::warn(&format!(
                "[Memory] WARNING: {path} was last updated {age} ago.\n\
                 [Memory] The next session starts from it; `memory-forge mind set --next …` updates it."
            ));
        }
        Ok(None)
    }

    fn subagent_start(&self) -> Answer {
        let (kind, id) = self.agent();
        if self.mind.exists() && self.payload.garbled.is_none() {
            self.mind.agent_started(kind, id, self.now)?;
        }
        self.brief(Occasion::Subagent(kind))
    }

    fn subagent_stop(&self) -> Answer {
        if !self.mind.exists() {
            return Ok(None);
        }
        let (kind, id) = self.agent();
        let said = self.payload.text(&["last_assistant_message"]);
        // The beginning states what was done; the log keeps no secrets of it.
        let said = said.map(|it| &it[..it.floor_char_boundary(2_000)]);
        let said = said.unwrap_or_default();
        self.mind.agent_reported(kind, id, said, self.now)?;
        let text = self.mind.agent_stop_line(kind, id);
        let quiet =
            continues_after_stop_output(self.client) || self.payload.flag("stop_hook_active");
        Ok((!quiet).then_some(text))
    }

    fn task_completed(&self) -> Answer {
        if self.mind.exists() && self.payload.garbled.is_none() {
            let field = |names: &[&str]| self.payload.text(names).unwrap_or("unknown");
            self.mind.task_completed(
                field(&["task_id"]),
                field(&["task_subject"]),
                self.payload.text(&["teammate_name"]).unwrap_or("self"),
                self.now,
            )?;
        }
        Ok(None)
    }

    fn brief(&self, occasion: Occasion<'_>) -> Answer {
        let request = BriefRequest {
            occasion,
            budget: SESSION_BUDGET,
            nonce: &self.nonce,
            now: self.now,
        };
        Ok(brief(&self.mind, &request)?.map(|it| it.text))
    }

    fn agent(&self) -> (&str, &str) {
        (
            self.payload.text(&["agent_type"]).unwrap_or("unknown"),
            self.payload.text(&["agent_id"]).unwrap_or("unknown"),
        )
    }

    fn session(&self) -> &str {
        self.payload.text(SESSION).unwrap_or("unknown")
    }

    /// Records a line for `doctor`, which a hook may not print. The payload
    /// itself is never recorded: it holds what the user typed.
    fn note(&self, event: Event, what: &str) {
        note_failure(&self.mind, &format!("{}: {what}", event.name()), self.now);
    }
}

/// Adds a line to what `doctor` shows. A failure to do so is the one error that
/// cannot be reported.
fn note_failure(mind: &Mind<'_>, what: &str, now: Timestamp) {
    if mind.exists() {
        let _ = mind.hook_failed(what, now);
    }
}

/// Returns a mark that no author of a file could have known. It stays the same
/// within a session: clients drop context that they have already, word for
/// word.
fn nonce(payload: &Payload) -> String {
    let mark = match payload.text(SESSION) {
        Some(session) => {
            let mut hasher = DefaultHasher::new();
            hasher.write(session.as_bytes());
            hasher.finish()
        }
        None => return crate::settings::nonce(),
    };
    format!("{mark:016x}")
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_spelling_of_an_event_is_understood() {
        let check = |name: &str, expect| assert_eq!(Event::named(name), expect, "{name}");
        check("SessionStart", Some(Event::SessionStart));
        check("session-start", Some(Event::SessionStart));
        check("sessionStart", Some(Event::SessionStart));
        check("BeforeAgent", Some(Event::UserPromptSubmit));
        check("user-prompt-context", Some(Event::UserPromptSubmit));
        check("PreCompress", Some(Event::PreCompact));
        check("PreToolUse", None);
        check("", None);
    }
}
