//! Maps an event to a use case, and its answer to the text for the agent.

use std::error::Error;
use std::hash::{DefaultHasher, Hasher};
use std::path::{Path, PathBuf};
use std::sync::OnceLock;
use std::time::Duration;

use forge_app::brief::{self, BriefOccasion, BriefRequest, SESSION_BUDGET, build_brief};
use forge_app::client::AgentClient;
use forge_app::mind::MindStore;
use forge_app::session::{SessionCloseRequest, SessionEnding, close_session};
use forge_app::workspace::{RootHints, Workspace, discover_root};
use forge_app::{evidence, push, session};
use jiff::Timestamp;

use super::client::continues_after_stop_output;
use super::event::SessionEvent;
use super::payload::HookPayload;
use crate::settings::ProcessEnvironment;
use crate::ui::escape_hidden;

/// Handles an event and returns the text for the agent, if any.
pub(super) fn handle_event(
    event: SessionEvent,
    client: Option<AgentClient>,
    payload: &HookPayload,
    process: &ProcessEnvironment,
    root: Option<&str>,
) -> Option<String> {
    let now = process.now();
    let workspace = open_workspace(payload, process, root)?;
    let hook = EventHandler {
        mind: MindStore::open(&workspace),
        client,
        payload,
        nonce: session_nonce(payload),
        plugin_folder: process.claude_plugin_data(),
        workspace: &workspace,
        process,
        now,
    };
    if let Some(what) = payload.garbled {
        hook.note_problem(event, what);
    }
    match hook.run_event(event) {
        Ok(context) => context,
        Err(error) => {
            hook.note_problem(event, &error.to_string());
            None
        }
    }
}

/// Records input that does not name its event. Clients whose hooks all get an
/// empty input would otherwise lose everything silently.
pub(super) fn note_unnamed_event(
    what: &str,
    payload: &HookPayload,
    process: &ProcessEnvironment,
    root: Option<&str>,
) {
    if let Some(workspace) = open_workspace(payload, process, root) {
        let what = format!("Event without a name: {what}");
        note_failure(&MindStore::open(&workspace), &what, process.now());
    }
}

/// Root of the hook's workspace, once it is known, for the note after the
/// deadline.
static HOOK_ROOT: OnceLock<PathBuf> = OnceLock::new();

/// Records that the deadline came first.
pub(super) fn note_missed_deadline(event: Option<SessionEvent>, now: Timestamp) {
    let workspace = HOOK_ROOT.get().and_then(|root| Workspace::open(root).ok());
    // No time is left to wait for a lock.
    if let Some(workspace) = workspace.map(|it| it.with_lock_wait(Duration::ZERO)) {
        let event = event.map_or("A hook", SessionEvent::name);
        let what = format!("{event}: timed out");
        note_failure(&MindStore::open(&workspace), &what, now);
    }
}

/// Limits for waiting on one lock, so that a hook still answers if several
/// locks are held by processes that hang.
const LOCK_WAIT: Duration = Duration::from_millis(600);
const SESSION_END_LOCK_WAIT: Duration = Duration::from_millis(200);
/// Limits for git to list what a session changed, at a start, and at an end,
/// which has less time.
const GIT_WAIT: Duration = Duration::from_millis(1_200);
const SESSION_END_GIT_WAIT: Duration = Duration::from_millis(500);
/// Bytes that every client takes whole.
const MAX_CONTEXT_BYTES: usize = 9_900;
/// Limit for the look around a workspace at a start.
const OVERVIEW_WAIT: Duration = Duration::from_millis(1_000);
/// Limit for waiting until the client has written a helper's task or its last
/// message.
const TRANSCRIPT_WAIT: Duration = Duration::from_millis(300);

fn open_workspace(
    payload: &HookPayload,
    process: &ProcessEnvironment,
    root: Option<&str>,
) -> Option<Workspace> {
    let flag = root.map(Path::new);
    let hook_cwd = payload.text_field(&["cwd"]).map(Path::new);
    let cwd = process.cwd().or(hook_cwd)?;
    let found = discover_root(&RootHints {
        flag,
        env_root: process.project_root(),
        claude_project_dir: process.claude_project_dir(),
        hook_cwd,
        cwd,
        home: process.home(),
    })
    .ok()?;
    let wait = match payload.named_event() {
        Some(SessionEvent::SessionEnd) => SESSION_END_LOCK_WAIT,
        _ => LOCK_WAIT,
    };
    let workspace = Workspace::open(&found.path).ok()?.with_lock_wait(wait);
    let _ = HOOK_ROOT.set(workspace.root().to_owned());
    Some(workspace)
}

/// Names that clients have for the id of a session.
const SESSION_ID_KEYS: &[&str] = &["session_id", "sessionId", "conversation_id"];

/// One event with everything that its handler needs.
struct EventHandler<'a> {
    mind: MindStore<'a>,
    client: Option<AgentClient>,
    payload: &'a HookPayload,
    nonce: String,
    /// The folder that Claude Code gives its plugin.
    plugin_folder: Option<&'a Path>,
    workspace: &'a Workspace,
    process: &'a ProcessEnvironment,
    now: Timestamp,
}

type HookAnswer = Result<Option<String>, Box<dyn Error>>;

impl EventHandler<'_> {
    fn run_event(&self, event: SessionEvent) -> HookAnswer {
        match event {
            SessionEvent::SessionStart => self.session_start(),
            SessionEvent::UserPromptSubmit => self.prompt(),
            SessionEvent::Stop => self.stop_turn(),
            SessionEvent::PreCompact => self.pre_compact(),
            SessionEvent::PostCompact => Ok(None),
            SessionEvent::SessionEnd => self.session_end(),
            SessionEvent::SubagentStart => self.subagent_start(),
            SessionEvent::SubagentStop => self.subagent_stop(),
            SessionEvent::TaskCompleted => self.task_completed(),
            SessionEvent::PreToolUse => self.before_tool(),
            SessionEvent::PostToolUse | SessionEvent::PostToolUseFailure => self.after_tool(event),
        }
    }

    fn session_start(&self) -> HookAnswer {
        let reason = match self.payload.text_field(&["source"]) {
            Some("resume") => brief::SessionStartReason::Resume,
            Some("clear") => brief::SessionStartReason::Clear,
            Some("compact") => brief::SessionStartReason::Compact,
            Some("fork") => brief::SessionStartReason::Fork,
            _ => brief::SessionStartReason::Startup,
        };
        // A session that was left open is closed before this one gets anything,
        // and an error in that must not cost the briefing.
        let opening = session::SessionOpenRequest {
            id: self.session_id(),
            reason,
            git_wait: GIT_WAIT,
            now: self.now,
        };
        let news = session::open_session(&self.mind, &opening);
        for problem in &news.problems {
            self.note_problem(SessionEvent::SessionStart, &problem.to_string());
        }
        if let Err(problem) = evidence::refresh_rules(self.workspace) {
            self.note_problem(SessionEvent::SessionStart, &problem.to_string());
        }
        let brief = self.brief_for(BriefOccasion::Start {
            reason,
            events: &news.lines,
            look: brief::WorkspaceLook::AtMost(OVERVIEW_WAIT),
        })?;
        if reason != brief::SessionStartReason::Compact {
            return Ok(brief);
        }
        let brief = brief.unwrap_or_default();
        let room = MAX_CONTEXT_BYTES.saturating_sub(brief.len() + 1);
        let summary =
            evidence::summarize_session(self.workspace, self.session_id(), &self.nonce, room);
        let text = brief + &summary.map_or_else(String::new, |it| format!("\n{it}"));
        Ok((!text.is_empty()).then_some(text))
    }

    fn stop_turn(&self) -> HookAnswer {
        self.record_transcript(SessionEvent::Stop);
        let turn = session::end_turn(&self.mind, self.now)?;
        if let Some(problem) = &turn.problem {
            self.note_problem(SessionEvent::Stop, &problem.to_string());
        }
        // Text at a stop would make the client continue, or call this hook
        // again.
        let quiet =
            self.payload.is_set("stop_hook_active") || continues_after_stop_output(self.client);
        Ok(turn.reminder.filter(|_| !quiet))
    }

    fn pre_compact(&self) -> HookAnswer {
        self.record_transcript(SessionEvent::PreCompact);
        if !self.mind.has_state_files() {
            return Ok(None);
        }
        let trigger = self.payload.text_field(&["trigger"]).unwrap_or("auto");
        let checkpoint = self.mind.write_checkpoint(trigger, self.now)?;
        self.brief_for(BriefOccasion::Compaction(&checkpoint))
    }

    fn session_end(&self) -> HookAnswer {
        self.record_transcript(SessionEvent::SessionEnd);
        let closing = SessionCloseRequest {
            ending: SessionEnding::Reported {
                reason: self.payload.text_field(&["reason"]).unwrap_or("unknown"),
                git_wait: SESSION_END_GIT_WAIT,
            },
            log_folder: self.plugin_folder,
            now: self.now,
        };
        let report = close_session(&self.mind, &closing)?.unwrap_or_default();
        if let (Some(path), Some(age)) = (report.state, report.stale_for) {
            let path = escape_hidden(path.as_str());
            super::warn_user(&format!(
                "[Memory] WARNING: {path} was last updated {age} ago.\n\
                 [Memory] The next session starts from it; `memory-forge mind set --next …` updates it."
            ));
        }
        Ok(None)
    }

    fn subagent_start(&self) -> HookAnswer {
        let (kind, id) = self.agent_identity();
        if self.mind.has_state_files() && self.payload.garbled.is_none() {
            self.mind.log_agent_start(kind, id, self.now)?;
        }
        let brief = self.brief_for(BriefOccasion::Subagent(kind))?;
        let homes = self.transcript_homes();
        let source = self.transcript_source(&homes);
        let Some(transcript) = source.filter(|_| !self.process.is_push_off()) else {
            return Ok(brief);
        };
        let request = push::HelperRequest {
            event: SessionEvent::SubagentStart.name(),
            kind,
            id,
            transcript,
            wait: TRANSCRIPT_WAIT,
            program_folders: self.process.client_places().path,
            nonce: &self.nonce,
            now: self.now,
        };
        let items = push::push_to_helper(self.workspace, &request);
        let items = items.unwrap_or_else(|problem| {
            // An error must not cost the briefing.
            self.note_problem(SessionEvent::SubagentStart, &problem.to_string());
            Vec::new()
        });
        let lines: Vec<String> = brief.into_iter().chain(items).collect();
        Ok((!lines.is_empty()).then(|| lines.join("\n")))
    }

    fn subagent_stop(&self) -> HookAnswer {
        self.judge_helper();
        if !self.mind.has_state_files() {
            return Ok(None);
        }
        let (kind, id) = self.agent_identity();
        let last_message = self.payload.text_field(&["last_assistant_message"]);
        // The beginning states what was done; the log keeps no secrets of it.
        let last_message = last_message.map(|it| &it[..it.floor_char_boundary(2_000)]);
        let last_message = last_message.unwrap_or_default();
        self.mind
            .log_agent_report(kind, id, last_message, self.now)?;
        let text = self.mind.render_agent_stop(kind, id);
        let quiet =
            continues_after_stop_output(self.client) || self.payload.is_set("stop_hook_active");
        Ok((!quiet).then_some(text))
    }

    /// Judges what the helper got by its own calls. An error must not cost the
    /// log of its work.
    fn judge_helper(&self) {
        let field = |name: &str| self.payload.text_field(&[name]);
        let (Some(id), Some(path)) = (field("agent_id"), field("agent_transcript_path")) else {
            return;
        };
        let homes = self.transcript_homes();
        let end = push::HelperEnd {
            id,
            transcript: evidence::TranscriptSource {
                path: Path::new(path),
                session: self.session_id(),
                cwd: self.tool_cwd(),
                homes: &homes,
            },
            last_message: field("last_assistant_message").unwrap_or_default(),
            wait: TRANSCRIPT_WAIT,
        };
        if let Err(problem) = push::judge_helper(self.workspace, &end) {
            self.note_problem(SessionEvent::SubagentStop, &problem.to_string());
        }
    }

    fn task_completed(&self) -> HookAnswer {
        if self.mind.has_state_files() && self.payload.garbled.is_none() {
            let field = |names: &[&str]| self.payload.text_field(names).unwrap_or("unknown");
            self.mind.log_task_completion(
                field(&["task_id"]),
                field(&["task_subject"]),
                self.payload
                    .text_field(&["teammate_name"])
                    .unwrap_or("self"),
                self.now,
            )?;
        }
        Ok(None)
    }

    fn prompt(&self) -> HookAnswer {
        let prompt = self
            .payload
            .text_field(&["prompt", "user_prompt"])
            .unwrap_or_default();
        // Gemini CLI puts the context of a start in front of the first prompt.
        let prompt = match prompt.rsplit_once("</hook_context>") {
            Some((_, written)) => written.trim_start(),
            None => prompt,
        };
        let recorded = evidence::record_prompt(self.workspace, self.session_id(), prompt, self.now);
        if let Err(problem) = recorded {
            self.note_problem(SessionEvent::UserPromptSubmit, &problem.to_string());
        }
        let brief = self.brief_for(BriefOccasion::Prompt)?;
        if self.process.is_push_off() {
            return Ok(brief);
        }
        let homes = self.transcript_homes();
        let request = push::PromptRequest {
            session: self.session_id(),
            prompt,
            transcript: self.transcript_source(&homes),
            model: self.process.model(),
            nonce: &self.nonce,
            now: self.now,
        };
        let item = push::push_at_prompt(self.workspace, &request);
        let item = item.unwrap_or_else(|problem| {
            self.note_problem(SessionEvent::UserPromptSubmit, &problem.to_string());
            None
        });
        let lines: Vec<String> = brief.into_iter().chain(item).collect();
        Ok((!lines.is_empty()).then(|| lines.join("\n")))
    }

    /// Brings what is known about an action. The answer never decides whether
    /// the tool may run.
    fn before_tool(&self) -> HookAnswer {
        if self.process.is_push_off() || !self.takes_context() {
            return Ok(None);
        }
        let (Some(tool), Some(input)) = (
            self.payload.text_field(&["tool_name"]),
            self.payload.field("tool_input"),
        ) else {
            return Ok(None);
        };
        let homes = self.transcript_homes();
        let session = match self.payload.text_field(&["agent_id"]) {
            Some(helper) => push::helper_session(self.session_id(), helper),
            None => self.session_id().to_owned(),
        };
        let request = push::ActionRequest {
            event: SessionEvent::PreToolUse.name(),
            session: &session,
            call: self
                .payload
                .text_field(&["tool_use_id"])
                .unwrap_or_default(),
            tool,
            input,
            cwd: self.tool_cwd(),
            transcript: self.transcript_source(&homes),
            program_folders: self.process.client_places().path,
            max_whole_read: (self.client == Some(AgentClient::Claude))
                .then_some(push::MAX_CLAUDE_READ_BYTES),
            nonce: &self.nonce,
            now: self.now,
        };
        Ok(push::push_before_action(self.workspace, &request)?)
    }

    /// Returns `true` if the client shows context before an action to the
    /// model: others would only pay for finding it.
    fn takes_context(&self) -> bool {
        matches!(self.client, None | Some(AgentClient::Claude))
    }

    /// Records the end of a call, and brings what solved its error before.
    fn after_tool(&self, event: SessionEvent) -> HookAnswer {
        let null = serde_json::Value::Null;
        let is_error = event == SessionEvent::PostToolUseFailure;
        let field = |name: &str| self.payload.field(name).unwrap_or(&null);
        let response = if is_error { "error" } else { "tool_response" };
        let call = evidence::ToolEvent {
            session: self.session_id(),
            call: self
                .payload
                .text_field(&["tool_use_id"])
                .unwrap_or_default(),
            tool: self.payload.text_field(&["tool_name"]).unwrap_or_default(),
            input: field("tool_input"),
            response: field(response),
            is_error,
            cwd: self.tool_cwd(),
        };
        let mut item = None;
        if !self.process.is_push_off() && self.takes_context() {
            let request = push::FailureRequest {
                event: event.name(),
                call: &call,
                nonce: &self.nonce,
                now: self.now,
            };
            let found = push::push_after_failure(self.workspace, &request);
            item = found.unwrap_or_else(|problem| {
                self.note_problem(event, &problem.to_string());
                None
            });
        }
        evidence::record_tool_event(self.workspace, &call, self.now)?;
        Ok(item)
    }

    /// Records what is new in the session's transcript. An error must not cost
    /// the answer of the event.
    fn record_transcript(&self, event: SessionEvent) {
        let homes = self.transcript_homes();
        let Some(source) = self.transcript_source(&homes) else {
            return;
        };
        let recorded = evidence::record_transcript(self.workspace, &source, self.now);
        if let Err(problem) = recorded {
            self.note_problem(event, &problem.to_string());
        }
    }

    fn transcript_source<'s>(
        &'s self,
        homes: &'s [PathBuf],
    ) -> Option<evidence::TranscriptSource<'s>> {
        Some(evidence::TranscriptSource {
            path: Path::new(self.payload.text_field(&["transcript_path"])?),
            session: self.session_id(),
            cwd: self.tool_cwd(),
            homes,
        })
    }

    /// Returns the folders in which clients keep transcripts.
    fn transcript_homes(&self) -> Vec<PathBuf> {
        let places = self.process.client_places();
        let homes = [places.home, places.claude_config_dir, places.codex_home];
        homes.into_iter().flatten().map(Path::to_owned).collect()
    }

    /// Returns the folder in which the agent's tools run.
    fn tool_cwd(&self) -> &Path {
        let cwd = self.payload.text_field(&["cwd"]).map(Path::new);
        cwd.unwrap_or(self.workspace.root())
    }

    fn brief_for(&self, occasion: BriefOccasion<'_>) -> HookAnswer {
        let request = BriefRequest {
            occasion,
            budget: SESSION_BUDGET,
            nonce: &self.nonce,
            now: self.now,
        };
        Ok(build_brief(&self.mind, &request)?.map(|it| it.text))
    }

    fn agent_identity(&self) -> (&str, &str) {
        (
            self.payload
                .text_field(&["agent_type"])
                .unwrap_or("unknown"),
            self.payload.text_field(&["agent_id"]).unwrap_or("unknown"),
        )
    }

    fn session_id(&self) -> &str {
        self.payload
            .text_field(SESSION_ID_KEYS)
            .unwrap_or("unknown")
    }

    /// Records a line for `doctor`, which a hook may not print. The payload
    /// itself is never recorded: it holds what the user typed.
    fn note_problem(&self, event: SessionEvent, what: &str) {
        note_failure(&self.mind, &format!("{}: {what}", event.name()), self.now);
    }
}

/// Adds a line to what `doctor` shows. A failure to do so is the one error that
/// cannot be reported.
fn note_failure(mind: &MindStore<'_>, what: &str, now: Timestamp) {
    if mind.has_state_files() {
        let _ = mind.log_hook_failure(what, now);
    }
}

/// Returns a mark that no author of a file could have known. It stays the same
/// within a session: clients drop context that they have already, word for
/// word.
fn session_nonce(payload: &HookPayload) -> String {
    let mark = match payload.text_field(SESSION_ID_KEYS) {
        Some(session) => {
            let mut hasher = DefaultHasher::new();
            hasher.write(session.as_bytes());
            hasher.finish()
        }
        None => return crate::settings::new_nonce(),
    };
    format!("{mark:016x}")
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_spelling_of_an_event_is_understood() {
        let check =
            |name: &str, expect| assert_eq!(SessionEvent::from_name(name), expect, "{name}");
        check("SessionStart", Some(SessionEvent::SessionStart));
        check("session-start", Some(SessionEvent::SessionStart));
        check("sessionStart", Some(SessionEvent::SessionStart));
        check("BeforeAgent", Some(SessionEvent::UserPromptSubmit));
        check("user-prompt-context", Some(SessionEvent::UserPromptSubmit));
        check("PreCompress", Some(SessionEvent::PreCompact));
        check("PreToolUse", Some(SessionEvent::PreToolUse));
        check("", None);
    }
}
