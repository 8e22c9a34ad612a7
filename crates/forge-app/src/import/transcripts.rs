//! Imports sessions that clients keep as JSON lines, as dated pages of
//! knowledge: the prompts, the answers, and the tools that were used.
//!
//! A transcript is read once, line by line, and its page has a limit, so memory
//! is bounded. Text that a client or a hook added to the user's prompts is
//! removed; otherwise memory would import itself.

use std::collections::BTreeMap;
use std::path::{Path, PathBuf};

use jiff::Timestamp;
use serde_json::Value;

use super::land::{ImportWriter, IncomingDocument};
use super::page::{ConversationPage, EntryId, PageEntryKind, format_heading, to_one_line};
use super::{
    ImportError, ImportOptions, ImportReport, SkippedSource, derive_file_stem, jsonl, parse_moment,
    read_modified_time, shorten_id,
};
use crate::admit::{ImportTally, admit_import};
use crate::counts::count_noun;
use crate::document::{self, day_of_timestamp};
use crate::evidence::PastEvidence;
use crate::workspace::{RelPath, Workspace};

mod claude;
mod codex;
mod find;
mod injected;
mod tools;

use find::{FoundTranscript, file_name_of};

/// Folders in which clients keep their sessions.
#[derive(Clone, Debug, Default)]
pub struct ClientHomes {
    /// Claude Code's folder, `~/.claude`.
    pub claude: Option<PathBuf>,
    /// Codex's folder, `~/.codex`.
    pub codex: Option<PathBuf>,
}

/// Format of a transcript, detected from its lines.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum TranscriptFormat {
    Claude,
    Codex,
    /// A known format that is not supported.
    Other(&'static str),
}

/// Imports the named transcripts, or those of this workspace that the clients
/// keep.
pub fn import_transcripts(
    workspace: &Workspace,
    paths: &[PathBuf],
    homes: &ClientHomes,
    options: &ImportOptions,
) -> Result<ImportReport, ImportError> {
    let mut landing = ImportWriter::new(workspace, options)?;
    let mut found = if paths.is_empty() {
        find::find_for_workspace(workspace, homes, &mut landing.report)
    } else {
        find::find_named(paths, &mut landing.report)?
    };
    // Newest first, so that a limit keeps those; then by name, for a stable
    // order.
    found.sort_by_cached_key(|it| {
        (
            std::cmp::Reverse(read_modified_time(&it.path)),
            it.path.clone(),
        )
    });
    let mut imported = 0;
    let mut evidence = PastEvidence::default();
    for found in found {
        if options.limit.is_some_and(|limit| imported >= limit) {
            landing.report.beyond_limit += 1;
            continue;
        }
        let is_imported = import_transcript(&found, options, &mut landing, &mut |id, cwd| {
            evidence.read(workspace, &found.path, id, cwd);
        })?;
        imported += usize::from(is_imported);
    }
    landing.report.files.sort_by(|a, b| a.path.cmp(&b.path));
    let mut report = landing.finish()?;
    report.evidence = evidence.store(workspace, options.dry_run, options.now)?;
    Ok(report)
}

/// Imports one transcript. Returns `true` if there was something to import, and
/// calls `on_session` with the id and the folder of the session then.
fn import_transcript(
    found: &FoundTranscript,
    options: &ImportOptions,
    landing: &mut ImportWriter,
    on_session: &mut dyn FnMut(&str, Option<&str>),
) -> Result<bool, ImportError> {
    let shown = found.path.display().to_string();
    let skip = |report: &mut ImportReport, why: String| {
        report.skipped.push(SkippedSource {
            what: shown.clone(),
            why,
            failed: found.explicit,
        });
        Ok(false)
    };
    let read = match TranscriptSession::read(&found.path) {
        Ok(read) => read,
        Err(error) => return skip(&mut landing.report, format!("could not read it: {error}")),
    };
    let (session, lines) = read;
    for bad in &lines.bad {
        landing
            .report
            .add_problem(&shown, Some(bad.line), bad.why.as_str());
    }
    landing.report.more_problems += lines.more_bad;
    let session = match session {
        Ok(session) => session,
        Err(Some(format)) => {
            let why = format!("it is a session of {format}, which is not supported");
            return skip(&mut landing.report, why);
        }
        Err(None) => {
            let why = "it is not a transcript of Claude Code or Codex".to_owned();
            return skip(&mut landing.report, why);
        }
    };
    if session.page.is_empty() {
        landing.report.add_skipped(shown, "it contains no messages");
        return Ok(false);
    }
    let last = session.ended.or_else(|| read_modified_time(&found.path));
    if let (Some(since), Some(last)) = (options.since, last)
        && day_of_timestamp(last) < since
    {
        landing.report.older += 1;
        return Ok(false);
    }
    let name = file_name_of(&found.path);
    let id = session.id.as_deref();
    let id = id.unwrap_or(name.trim_end_matches(".jsonl"));
    on_session(id, session.cwd.as_deref());
    landing.place_document(session.into_document(&found.path, lines.hash)?)?;
    Ok(true)
}

/// A session while it is read: its metadata and its page.
struct TranscriptSession {
    format: TranscriptFormat,
    id: Option<String>,
    /// The first record, from which a session without an id gets one.
    first: Option<String>,
    cwd: Option<String>,
    branch: Option<String>,
    version: Option<String>,
    /// A title from the client or the user.
    title: Option<String>,
    /// The first words of the first prompt.
    prompt: Option<String>,
    started: Option<Timestamp>,
    ended: Option<Timestamp>,
    page: ConversationPage,
    tally: ImportTally,
    /// Number of texts that were left out, by kind.
    left_out: BTreeMap<&'static str, usize>,
    /// Tool calls without a result so far.
    waiting: BTreeMap<String, EntryId>,
    /// Flags of the records on branches that the user abandoned.
    abandoned: Vec<bool>,
}

/// Tool calls that wait for a result; a client that never answers its tools
/// must not fill the memory.
const MAX_WAITING_RESULTS: usize = 4096;

/// Unknown lines after which a file is no transcript.
const MAX_UNKNOWN_LINES: usize = 64;

/// A session, or the name of an unsupported format, and the result of reading.
type SessionReadResult = (
    Result<TranscriptSession, Option<&'static str>>,
    jsonl::JsonlReadResult,
);

impl TranscriptSession {
    /// Returns a session without entries.
    fn new(format: TranscriptFormat) -> TranscriptSession {
        TranscriptSession {
            format,
            id: None,
            first: None,
            cwd: None,
            branch: None,
            version: None,
            title: None,
            prompt: None,
            started: None,
            ended: None,
            page: ConversationPage::default(),
            tally: ImportTally::default(),
            left_out: BTreeMap::new(),
            waiting: BTreeMap::new(),
            abandoned: Vec::new(),
        }
    }

    /// Reads a transcript, or detects that its format is not supported.
    fn read(path: &Path) -> std::io::Result<SessionReadResult> {
        let mut reader: Option<FormatReader> = None;
        let mut foreign = None;
        let mut unknown = 0;
        // The file of a sub-agent contains only its side of the conversation.
        let is_helper = file_name_of(path).starts_with("agent-");
        let lines = jsonl::for_each_object(path, |_, record| {
            if reader.is_none() {
                match detect_format(record) {
                    Some(TranscriptFormat::Other(name)) => foreign = Some(name),
                    Some(TranscriptFormat::Claude) => {
                        reader = Some(FormatReader::Claude(claude::ClaudeReader::new(is_helper)));
                    }
                    Some(TranscriptFormat::Codex) => {
                        reader = Some(FormatReader::Codex(codex::CodexReader::new()))
                    }
                    None => unknown += 1,
                }
            }
            match &mut reader {
                Some(FormatReader::Claude(reader)) => reader.read_record(record),
                Some(FormatReader::Codex(reader)) => reader.read_record(record),
                None => {}
            }
            // A file of another format is not read to its end.
            foreign.is_none() && unknown < MAX_UNKNOWN_LINES
        })?;
        let session = match reader {
            Some(FormatReader::Claude(reader)) => Ok(reader.finish()),
            Some(FormatReader::Codex(reader)) => Ok(reader.finish()),
            None => Err(foreign),
        };
        Ok((session, lines))
    }

    /// Redacts a text and counts what was removed.
    fn admit_text(&mut self, text: &str) -> String {
        admit_import(text, &mut self.tally)
    }

    /// Counts a text that is left out.
    fn count_left_out(&mut self, what: &'static str) {
        *self.left_out.entry(what).or_default() += 1;
    }

    /// Returns the time of a record, and extends the session to it.
    fn note_time(&mut self, record: &Value) -> Option<Timestamp> {
        let when = record["timestamp"].as_str().and_then(parse_moment)?;
        self.started = Some(self.started.map_or(when, |started| started.min(when)));
        self.ended = Some(self.ended.map_or(when, |ended| ended.max(when)));
        Some(when)
    }

    /// Sets a field of the session, unless it has a value.
    fn learn_once(
        &mut self,
        which: fn(&mut TranscriptSession) -> &mut Option<String>,
        value: &Value,
    ) {
        if which(self).is_some() {
            return;
        }
        if let Some(text) = value.as_str().filter(|text| !text.trim().is_empty()) {
            let text = self.admit_text(text);
            *which(self) = Some(to_one_line(&text, 300));
        }
    }

    /// Adds a prompt, without text that a client or a hook added. Returns
    /// `None` if nothing remains.
    fn add_prompt(&mut self, when: Option<Timestamp>, text: &str) -> Option<EntryId> {
        let text = injected::remove_injected_text(text);
        if text.dropped {
            self.count_left_out("texts that clients and hooks put in");
        }
        if text.text.trim().is_empty() {
            return None;
        }
        let text = self.admit_text(text.text.trim());
        // A command such as `/clear` describes a session poorly, so a later
        // prompt replaces it as the title.
        let telling = |text: &str| !text.starts_with('/');
        if self
            .prompt
            .as_deref()
            .is_none_or(|it| !telling(it) && telling(&text))
        {
            let words = text
                .lines()
                .find(|line| line.chars().any(char::is_alphanumeric));
            self.prompt = words.map(|line| line.chars().take(300).collect());
        }
        Some(self.page.add_entry(PageEntryKind::Prompt, when, &text))
    }

    /// Adds an answer, unless it is empty.
    fn add_answer(&mut self, when: Option<Timestamp>, text: &str) -> Option<EntryId> {
        if text.trim().is_empty() {
            return None;
        }
        let text = self.admit_text(text.trim());
        Some(self.page.add_entry(PageEntryKind::Answer, when, &text))
    }

    /// Adds a summary of compacted context.
    fn add_compacted(&mut self, when: Option<Timestamp>, text: &str) -> EntryId {
        let text = self.admit_text(text.trim());
        self.page.add_entry(PageEntryKind::Compacted, when, &text)
    }

    /// Adds a tool call: its name and its main argument.
    fn add_tool_call(
        &mut self,
        when: Option<Timestamp>,
        id: Option<&str>,
        name: &str,
        input: &Value,
    ) -> EntryId {
        let call = tools::format_call(name, input);
        let call = self.admit_text(&call);
        let entry = self.page.add_tool_call(when, &call);
        if let Some(id) = id {
            if self.waiting.len() >= MAX_WAITING_RESULTS {
                self.waiting.pop_first();
            }
            self.waiting.insert(id.to_owned(), entry);
        }
        entry
    }

    /// Adds the head of a tool's result to the line of its call.
    fn add_result(&mut self, id: Option<&str>, result: &Value, failed: bool) {
        let Some(entry) = id.and_then(|id| self.waiting.remove(id)) else {
            return;
        };
        let text = tools::result_text(result);
        // The whole result is redacted before it is cut.
        let text = self.admit_text(injected::remove_injected_text(&text).text.trim());
        let head = tools::summarize_head(&text);
        let head = if failed && !head.is_empty() {
            format!("failed: {head}")
        } else {
            head
        };
        self.page.add_result(entry, &head);
    }

    /// Converts the page to a document.
    fn into_document(mut self, path: &Path, hash: String) -> Result<IncomingDocument, ImportError> {
        let stem = file_name_of(path).trim_end_matches(".jsonl").to_owned();
        let source = match self.format {
            TranscriptFormat::Codex => "codex",
            _ => "claude-code",
        };
        let id = match (self.id.take(), self.first.take()) {
            (Some(id), _) if stem.contains(&id) => id,
            // A resumed session may continue in another file under the same id,
            // so the file is a part of the id.
            (Some(id), _) => format!("{id}/{stem}"),
            (None, Some(first)) => format!("{}/{stem}", shorten_id(&first)),
            (None, None) => stem,
        };
        let id = to_one_line(&admit_import(&id, &mut self.tally), 300);
        let title = self.prompt.as_deref().or(self.title.as_deref());
        let title = title
            .map(|title| format_heading(title, 100))
            .unwrap_or_default();
        let title = if title.is_empty() {
            "Session".to_owned()
        } else {
            title
        };
        let date = self
            .started
            .or_else(|| read_modified_time(path))
            .map(day_of_timestamp);
        let date = date.map_or("undated".to_owned(), |date| date.to_string());
        let words = self.prompt.as_deref().and_then(derive_file_stem);
        let name = format!(
            "knowledge/sessions/{date}-{}-{}.md",
            words.as_deref().unwrap_or("session"),
            shorten_id(&id)
        );
        let abandoned = std::mem::take(&mut self.abandoned);
        let body = self.page.render(|record| {
            let is = abandoned.get(record as usize).copied().unwrap_or(false);
            is.then_some(" (abandoned)")
        });
        let head = build_front_matter(&[("title", &title), ("date", &date), ("type", "session")]);
        let about = self.describe_session();
        Ok(IncomingDocument {
            path: RelPath::new(&name).map_err(crate::workspace::WorkspaceError::from)?,
            source,
            source_id: id,
            source_hash: hash,
            text: format!("{head}\n# {title}\n\n{about}\n{body}"),
            entries: self.page.shown_entries(),
            tally: self.tally,
        })
    }

    /// Describes when and where the session took place, and what is left out.
    fn describe_session(&self) -> String {
        let who = match self.format {
            TranscriptFormat::Codex => "Codex",
            _ => "Claude Code",
        };
        let mut about = format!("A session with {who}");
        if let Some(version) = &self.version {
            about.push_str(&format!(" {version}"));
        }
        if let Some(cwd) = &self.cwd {
            about.push_str(&format!(" in {cwd}"));
        }
        if let Some(branch) = &self.branch {
            about.push_str(&format!(" on branch {branch}"));
        }
        let times: Vec<String> = [self.started, self.ended]
            .into_iter()
            .flatten()
            .map(|time| {
                time.to_zoned(jiff::tz::TimeZone::UTC)
                    .strftime("%Y-%m-%d %H:%M")
                    .to_string()
            })
            .collect();
        if let [from, to] = &times[..] {
            about.push_str(&format!(", {from} to {to} UTC"));
        }
        let counts = [
            (PageEntryKind::Prompt, "prompt"),
            (PageEntryKind::Answer, "answer"),
            (PageEntryKind::Tool, "tool call"),
            (PageEntryKind::SubAgent, "sub-agent"),
            (PageEntryKind::Compacted, "compaction"),
        ];
        let counts: Vec<String> = counts
            .iter()
            .filter(|(kind, _)| self.page.count_kind(*kind) > 0)
            .map(|(kind, name)| pluralize_count(self.page.count_kind(*kind), name))
            .collect();
        about.push_str(&format!(": {}.", counts.join(", ")));
        let mut left_out: Vec<String> = self
            .left_out
            .iter()
            .map(|(what, count)| format!("{what} ({count})"))
            .collect();
        if self.page.dropped_entries() > 0 {
            left_out.insert(
                0,
                format!("entries in the middle ({})", self.page.dropped_entries()),
            );
        }
        if !left_out.is_empty() {
            about.push_str(&format!(" Left out: {}.", left_out.join(", ")));
        }
        if let Some(title) = &self.title {
            about.push_str(&format!("\n\nThe client's title: {title}"));
        }
        document::escape_markdown_block(&about)
    }
}

/// The reader of a supported format.
enum FormatReader {
    Claude(claude::ClaudeReader),
    Codex(codex::CodexReader),
}

/// Detects the format of a record; `None` if several could have written it.
fn detect_format(record: &Value) -> Option<TranscriptFormat> {
    let kind = record["type"].as_str().unwrap_or_default();
    let has = |key: &str| record.get(key).is_some();
    match kind {
        "session_meta" | "response_item" | "event_msg" | "turn_context" if has("payload") => {
            Some(TranscriptFormat::Codex)
        }
        // How Codex wrote before it had a `payload`.
        "message" | "function_call" | "reasoning" if has("role") || has("call_id") => {
            Some(TranscriptFormat::Codex)
        }
        "user" | "assistant" if has("message") => Some(TranscriptFormat::Claude),
        "summary" if has("leafUuid") => Some(TranscriptFormat::Claude),
        "attachment"
        | "system"
        | "permission-mode"
        | "queue-operation"
        | "custom-title"
        | "progress"
        | "last-prompt"
        | "file-history-snapshot"
            if has("sessionId") || has("messageId") =>
        {
            Some(TranscriptFormat::Claude)
        }
        "session" if has("version") && has("id") => {
            Some(TranscriptFormat::Other("the pi coding agent"))
        }
        "message" if record["message"]["role"].is_string() && has("id") => {
            Some(TranscriptFormat::Other("the pi coding agent"))
        }
        "thread.started" | "turn.started" | "item.completed" => {
            Some(TranscriptFormat::Other("`codex exec --json`"))
        }
        "session.start" if has("data") => Some(TranscriptFormat::Other("Copilot CLI")),
        "" if has("instructions") && has("id") && has("timestamp") => Some(TranscriptFormat::Codex),
        "" if record["messages"].is_array() => Some(TranscriptFormat::Other("another program")),
        _ => None,
    }
}

/// Formats a count: `1 prompt`, `2 prompts`; also for `summary`.
pub(super) fn pluralize_count(count: usize, name: &str) -> String {
    count_noun(count, name)
}

/// Builds a block of front matter.
pub(super) fn build_front_matter(entries: &[(&str, &str)]) -> String {
    let mut head = String::new();
    for (key, value) in entries {
        let document = document::parse_document(head);
        let edit = document.set_front_matter(key, value);
        head = document::apply_edits(&document.text, vec![edit]).unwrap_or(document.text);
    }
    head
}

#[cfg(test)]
mod tests;
