//! Closes a session: refreshes the maps of touched files, records state, log
//! and decisions, verifies links, and reads all of it back.
//!
//! The time of the last record decides which files count as touched, so the
//! record is written after the maps: if the close is interrupted in between, a
//! second one finds the same files touched.

use std::path::Path;
use std::time::Duration;

use jiff::civil::Date;
use jiff::{SignedDuration, Timestamp};

use super::closes::log_close;
use super::open::OpenSession;
use crate::brief::overview::{last_close_time, newest_note_after_close};
use crate::bulk::{BulkSkill, last_successful_run};
use crate::closets::{self, ClosetBuildRequest};
use crate::document::day_of_timestamp;
use crate::links::{self, NoteVault};
use crate::mind::{
    DecisionFullness, MindError, MindFile, MindStore, NewSession, RecordOutcome, SessionCapture,
    SessionRecord, StateLayoutKind, StateWriteOutcome, days_since,
};
use crate::routing::archives::{ArchiveRow, list_archive};
use crate::routing::hubs::{Hub, hubs_of_manifest};
use crate::routing::manifest::{self, Manifest, ManifestMode, SUMMARY_FORMAT_VERSION};
use crate::routing::untracked::{UntrackedContent, is_skipped_path};
use crate::thresholds::{CONSOLIDATE_NAG_DAYS, MAX_DECISION_LINES};
use crate::upkeep::resummarize;
use crate::workspace::{self, FileRole, RelPath, Workspace, WorkspaceTree};

/// A request to close a session.
#[derive(Debug, Clone)]
pub struct SessionCloseRequest<'a> {
    /// How the end became known, with what is known about the session.
    pub ending: SessionEnding<'a>,
    /// The folder that a client gives its plugin, for the log of clean closes.
    pub log_folder: Option<&'a Path>,
    /// The time of the end.
    pub now: Timestamp,
}

/// The way in which a session's end became known.
#[derive(Debug, Clone)]
pub enum SessionEnding<'a> {
    /// An agent or a person describes it. The session stays open until its
    /// client reports the end, which then finds the description.
    Described {
        /// The description.
        record: Box<SessionRecord>,
        /// The files that were worked on; by their times where they are not named.
        touched: Option<Vec<RelPath>>,
    },
    /// A client reports it. A session without a description is captured from
    /// git, which may take this long.
    Reported {
        /// The reason that the client gives.
        reason: &'a str,
        /// How long git may take.
        git_wait: Duration,
    },
}

/// Records that the end of a session wrote.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct SessionReport {
    /// What the state files got.
    pub recorded: RecordOutcome,
    /// The file of the state, where there is one.
    pub state: Option<RelPath>,
    /// The files that were worked on.
    pub touched: Vec<RelPath>,
    /// Hubs whose closets were refreshed, with the number of entries.
    pub hubs: Vec<(String, usize)>,
    /// Whether the manifest changed.
    pub manifest: bool,
    /// Hub tables (`*-index.md`) that changed.
    pub pages: usize,
    /// Mentions of touched files' words that became links.
    pub linked: usize,
    /// Links to missing files, as `file:line: [[link]]`.
    pub broken: Vec<String>,
    /// Content that no domain of the manifest covers.
    pub untracked: UntrackedContent,
    /// Number of ideas in the inbox.
    pub ideas: usize,
    /// Remarks for a person.
    pub notes: Vec<String>,
    /// Parts that should have been written and are missing.
    pub incomplete: Vec<String>,
    /// Age of the state, where it counts as stale and a client reported the
    /// end.
    pub stale_for: Option<String>,
}

/// Command that shortens a file of decisions that is nearly full. It passes
/// `--force`, because a run a moment ago is no reason to wait.
pub(crate) const SHORTEN_COMMAND: &str = "memory-forge consolidate --fix --force";
/// Advice where that command would not help.
pub(crate) const SHORTEN_BY_HAND_ADVICE: &str =
    "it is not filled by old decisions, so a person has to shorten it";

/// Closes a session. Returns `None` where there is neither a manifest nor any
/// state; then nothing is written.
pub fn close_session(
    mind: &MindStore<'_>,
    closing: &SessionCloseRequest<'_>,
) -> Result<Option<SessionReport>, MindError> {
    let workspace = mind.workspace();
    let now = closing.now;
    let report = match &closing.ending {
        SessionEnding::Described { record, touched } => {
            record_description(workspace, mind, record, touched.as_deref(), now)?
        }
        SessionEnding::Reported { reason, git_wait } => {
            record_reported_end(mind, reason, *git_wait, now)?
        }
    };
    let is_clean = report.as_ref().is_some_and(|it| it.incomplete.is_empty());
    if let (true, Some(folder)) = (is_clean, closing.log_folder) {
        // The log is optional, so an error is dropped.
        let _ = log_close(folder, workspace, now);
    }
    Ok(report)
}

/// Records a reported end, and captures for the next session what would be
/// lost.
fn record_reported_end(
    mind: &MindStore<'_>,
    reason: &str,
    git_wait: Duration,
    now: Timestamp,
) -> Result<Option<SessionReport>, MindError> {
    if !mind.has_state_files() {
        return Ok(None);
    }
    let report = SessionReport {
        state: Some(mind.file_path(MindFile::State)),
        stale_for: mind.stale_duration(now),
        ..SessionReport::default()
    };
    mind.touch_activity(now)?;
    mind.log_session_end(reason, now)?;
    mind.write_session_end_checkpoint(reason, now)?;
    if let Some(open) = OpenSession::read(mind) {
        open.close(mind, reason, git_wait, now)?;
    }
    Ok(Some(report))
}

/// Records the description of a session and everything that follows from it.
fn record_description(
    workspace: &Workspace,
    mind: &MindStore<'_>,
    record: &SessionRecord,
    named: Option<&[RelPath]>,
    now: Timestamp,
) -> Result<Option<SessionReport>, MindError> {
    let manifest = Manifest::load(workspace)?.filter(|it| it.mode() != ManifestMode::Absent);
    if manifest.is_none() && !mind.has_state_files() {
        return Ok(None);
    }
    let mut ended = SessionReport {
        state: Some(mind.file_path(MindFile::State)),
        ..SessionReport::default()
    };
    let tree = manifest.as_ref().map(|it| it.tree(workspace));
    if let Some(tree) = &tree {
        ended.touched = match named {
            Some(named) => named.to_vec(),
            None => find_touched_notes(tree, mind),
        };
    }
    // An error in the maps must not lose the description of the session: it is
    // kept and reported at the end.
    let maps = match &manifest {
        Some(manifest) => update_links_and_closets(workspace, manifest, now, &mut ended),
        None => Ok(()),
    };
    let mut written = record.clone();
    if let Some(tree) = &tree
        && is_empty_record(&written)
        && mind.layout_kind() == StateLayoutKind::Manifest
        && newest_note_after_close(tree, mind).is_some()
    {
        written.session = Some(build_unclosed_entry(&ended.touched));
    }
    ended.recorded = mind.write_record("Close the session", &written, now)?;
    if let (Some(manifest), Some(tree)) = (&manifest, &tree) {
        update_manifest_and_check(workspace, mind, manifest, tree, now, &mut ended)?;
    }
    ended.ideas = mind.read_ideas().map(|it| it.len()).unwrap_or_default();
    add_remarks(workspace, mind, manifest.as_ref(), now, &mut ended);
    ended.incomplete = find_missing_records(workspace, mind, record, &ended);
    if let Err(error) = maps {
        ended.incomplete.push(format!(
            "links and closets of what was touched: {error}; `memory-forge links apply` and \
             `memory-forge closets build` do the rest"
        ));
    }
    Ok(Some(ended))
}

/// Returns `true` if the record describes nothing.
fn is_empty_record(record: &SessionRecord) -> bool {
    record.state.is_empty() && record.decisions.is_empty() && record.session.is_none()
}

/// Builds the log entry of a session that was not closed; without it, the next
/// start would report it again.
fn build_unclosed_entry(touched: &[RelPath]) -> NewSession {
    NewSession {
        captured: Some(SessionCapture {
            reason: "the session was not closed".to_owned(),
            files: touched.iter().map(ToString::to_string).collect(),
        }),
        ..NewSession::default()
    }
}

/// Lists the notes that were written since the last session was closed.
fn find_touched_notes(tree: &WorkspaceTree, mind: &MindStore<'_>) -> Vec<RelPath> {
    let Some(closed) = last_close_time(mind) else {
        return Vec::new();
    };
    let closed = closed.as_nanosecond();
    tree.files
        .iter()
        .filter(|it| {
            it.is_markdown() && matches!(it.role, FileRole::Knowledge | FileRole::Untracked)
        })
        .filter(|it| !is_skipped_path(&it.path) && i128::from(it.mtime_ns) > closed)
        .map(|it| it.path.clone())
        .collect()
}

/// Updates links and closets of the touched notes.
fn update_links_and_closets(
    workspace: &Workspace,
    manifest: &Manifest,
    now: Timestamp,
    ended: &mut SessionReport,
) -> Result<(), MindError> {
    if !ended.touched.is_empty() {
        let vault = NoteVault::read(workspace);
        let applied = links::link_mentions(workspace, &vault, &ended.touched, false);
        if !applied.proposal.is_empty() {
            let what = "Link mentions of the session";
            applied.proposal.apply(workspace, what, now)?;
            ended.linked = applied.linked;
        }
    }
    let hubs = hubs_of_manifest(workspace, manifest);
    let touched = |hub: &Hub| hub.members.iter().any(|it| ended.touched.contains(it));
    let hubs: Vec<&Hub> = hubs.iter().filter(|it| touched(it)).collect();
    let pages = resummarize::plan_hub_pages(workspace, &hubs)?;
    let receipt = pages
        .proposal
        .apply(workspace, "Hub tables of the session", now)?;
    pages.remember_summaries(workspace)?;
    ended.pages = receipt.files.len();
    if manifest.mode() == ManifestMode::Full {
        refresh_closets(workspace, &hubs, now, ended)?;
    }
    Ok(())
}

/// Updates what depends on the record as well as on the notes: the state's own
/// closets, summaries, the manifest. It considers all files, so it is
/// idempotent.
fn update_manifest_and_check(
    workspace: &Workspace,
    mind: &MindStore<'_>,
    manifest: &Manifest,
    tree: &WorkspaceTree,
    now: Timestamp,
    ended: &mut SessionReport,
) -> Result<(), MindError> {
    if manifest.mode() == ManifestMode::Full {
        let hubs = hubs_of_manifest(workspace, manifest);
        // The state files are a hub only once they have closets: a close never
        // creates the first ones.
        let has = |hub: &Hub| {
            hub.is_memory_hub() && workspace.absolute_path(&hub.closets_path()).is_file()
        };
        let hubs: Vec<&Hub> = hubs.iter().filter(|it| has(it)).collect();
        refresh_closets(workspace, &hubs, now, ended)?;
    }
    // Summaries of an older format are for `manifest refresh` and `upgrade`.
    let current = manifest.summary_format() >= Some(SUMMARY_FORMAT_VERSION);
    if manifest.mode() == ManifestMode::Full && current {
        let plan = resummarize::plan_summaries(workspace, false)?;
        let receipt = plan
            .proposal
            .apply(workspace, "Summaries of the session", now)?;
        plan.remember_summaries(workspace)?;
        ended.manifest |= !receipt.files.is_empty();
    }
    ended.untracked = UntrackedContent::find_in_tree(workspace, tree, manifest).with_min_notes(3);
    let (archive, state) = (
        mind.file_path(MindFile::Archive),
        mind.file_path(MindFile::State),
    );
    if mind.layout_kind() == StateLayoutKind::Manifest
        && workspace.absolute_path(&archive).is_file()
    {
        ended.manifest |= list_log_archive(workspace, &archive, &state, now)?;
    }
    // The vault is read again, because the entries that were just written may
    // contain links.
    let report = links::check_links(&NoteVault::read(workspace));
    let broken = report.missing_targets();
    ended.broken = broken
        .map(|it| format!("{}:{}: [[{}]]", it.path, it.line, it.link))
        .collect();
    Ok(())
}

/// Refreshes the closets of some hubs.
fn refresh_closets(
    workspace: &Workspace,
    hubs: &[&Hub],
    now: Timestamp,
    ended: &mut SessionReport,
) -> Result<(), workspace::WorkspaceError> {
    let request = ClosetBuildRequest {
        hubs: hubs.to_vec(),
        force: false,
        dry_run: false,
        draw_graph: false,
    };
    // Without the lock of a bulk run: a session must end even while another
    // process builds.
    let built = closets::build_closets(workspace, &request, now, |_| {})?;
    ended.manifest |= built.listed > 0;
    for (hub, report) in built.hubs {
        let report = report?;
        if !report.changes.is_empty() {
            ended.hubs.push((hub.name.clone(), report.refreshed));
        }
        ended.notes.extend(report.remarks);
    }
    Ok(())
}

/// Lists the archive of the session log in Tier 3 of the manifest.
fn list_log_archive(
    workspace: &Workspace,
    archive: &RelPath,
    state: &RelPath,
    now: Timestamp,
) -> Result<bool, MindError> {
    let path = archive.as_str();
    // Next to the state, its stem is enough for a link.
    let target = if archive.parent() == state.parent() {
        archive.stem()
    } else {
        path.strip_suffix(".md").unwrap_or(path)
    };
    let row = ArchiveRow {
        target,
        about: "Older entries of the session log",
    };
    let (listed, _) = workspace.change_with(
        "List the archive of the session log",
        now,
        |change| -> Result<_, MindError> {
            let listed = list_archive(change, &row, now, |it| {
                it.retired_files().contains_path(path)
            })?;
            Ok(listed)
        },
    )?;
    Ok(listed)
}

/// Adds remarks about a nearly full file of decisions and about consolidation.
fn add_remarks(
    workspace: &Workspace,
    mind: &MindStore<'_>,
    manifest: Option<&Manifest>,
    now: Timestamp,
    ended: &mut SessionReport,
) {
    let lines = ended.recorded.decision_lines;
    let advice = match mind.check_decisions_fullness() {
        DecisionFullness::Fine => None,
        DecisionFullness::CanBeShortened => Some(format!("run `{SHORTEN_COMMAND}`")),
        DecisionFullness::ByHand => Some(SHORTEN_BY_HAND_ADVICE.to_owned()),
    };
    if let Some(advice) = advice {
        ended.notes.push(format!(
            "{} has {lines} lines of at most {MAX_DECISION_LINES}; {advice}",
            mind.file_path(MindFile::Decisions)
        ));
    }
    if manifest.is_some()
        && let Some(note) = consolidation_reminder(workspace, mind, now)
    {
        ended.notes.push(note);
    }
}

/// Returns a reminder if it is time to consolidate. A manifest is rewritten
/// often, so the oldest date in the state files shows the age of the workspace
/// as well.
fn consolidation_reminder(
    workspace: &Workspace,
    mind: &MindStore<'_>,
    now: Timestamp,
) -> Option<String> {
    let today = day_of_timestamp(now);
    let written = std::fs::metadata(workspace.absolute_path(&manifest::manifest_path())).ok()?;
    let written = Timestamp::try_from(written.modified().ok()?)
        .ok()
        .map(day_of_timestamp);
    let logged = mind.read_sessions().unwrap_or_default().into_iter();
    let decided = mind.read_decisions().unwrap_or_default().into_iter();
    let dates = logged
        .filter_map(|it| it.date)
        .chain(decided.filter_map(|it| it.date));
    let oldest: Date = dates.chain(written).min()?;
    if days_since(oldest, today) < CONSOLIDATE_NAG_DAYS {
        return None;
    }
    let last = last_successful_run(workspace, BulkSkill::Consolidate).map(|it| it.when);
    match last {
        None => Some("consolidate has never run; run `memory-forge consolidate`".to_owned()),
        Some(when)
            if now.duration_since(when) > SignedDuration::from_hours(24 * CONSOLIDATE_NAG_DAYS) =>
        {
            let on = day_of_timestamp(when);
            Some(format!(
                "consolidate last ran {on}; run `memory-forge consolidate`"
            ))
        }
        Some(_) => None,
    }
}

/// Reads everything back as the next session will, and lists what is missing.
fn find_missing_records(
    workspace: &Workspace,
    mind: &MindStore<'_>,
    record: &SessionRecord,
    ended: &SessionReport,
) -> Vec<String> {
    let mut missing = Vec::new();
    let state = mind.read_state().ok().flatten();
    let wanted = !record.state.is_empty();
    if wanted && state.as_ref().is_none_or(|it| it.updated.is_none()) {
        missing.push(format!("{} has no date", mind.file_path(MindFile::State)));
    }
    if let Some(logged) = &ended.recorded.session {
        let there = mind.read_sessions().unwrap_or_default();
        if !there.iter().any(|it| it.title == logged.title) {
            missing.push(format!("`{}` is not in the log", logged.title));
        }
    }
    let decided = mind.read_decisions().unwrap_or_default();
    let wanted = record.decisions.len();
    let held = ended.recorded.decided.len() + ended.recorded.known_decisions;
    if held != wanted || decided.len() < ended.recorded.decided.len() {
        missing.push(format!("{held} of {wanted} decisions were recorded"));
    }
    for path in &ended.touched {
        if !workspace.absolute_path(path).is_file() {
            missing.push(format!("{path} is not there"));
        }
    }
    missing
}

impl SessionReport {
    /// Renders `Session closed.` and a line for each part.
    pub fn render(&self) -> String {
        let mut lines = vec!["Session closed.".to_owned()];
        if let Some(path) = &self.state {
            lines.push(match self.recorded.state {
                StateWriteOutcome::Created => format!("- Status: created {path}"),
                StateWriteOutcome::Updated => format!("- Status: updated {path}"),
                StateWriteOutcome::Unchanged => format!("- Status: unchanged {path}"),
            });
        }
        if let Some(logged) = &self.recorded.session {
            let title = &logged.title;
            let mut line = if logged.added {
                format!("- Session log: added \"{title}\"")
            } else {
                format!("- Session log: \"{title}\" is there already")
            };
            if logged.archived > 0 {
                line.push_str(&format!("; {} moved to the archive", logged.archived));
            }
            lines.push(line);
        }
        let (added, known) = (&self.recorded.decided, self.recorded.known_decisions);
        if !added.is_empty() || known > 0 {
            let known = match known {
                0 => String::new(),
                known => format!(", {known} there already"),
            };
            lines.push(format!("- Decisions: {} added{known}", added.len()));
        }
        if !self.hubs.is_empty() {
            let hubs = self.hubs.iter();
            let hubs: Vec<String> = hubs
                .map(|(hub, files)| format!("{hub} ({files})"))
                .collect();
            lines.push(format!("- Hubs: {}", hubs.join(", ")));
        }
        if self.pages > 0 {
            lines.push(format!("- Hub tables: {} updated", self.pages));
        }
        if self.manifest {
            lines.push("- Manifest: updated".to_owned());
        }
        if self.linked > 0 {
            lines.push(format!("- Wikilinks: {} added", self.linked));
        }
        match &self.broken[..] {
            [] => lines.push("- Wikilinks: zero broken".to_owned()),
            broken => {
                let count = broken.len();
                lines.push(format!("- Wikilinks: {count} broken"));
                lines.extend(broken.iter().take(5).map(|it| format!("  {it}")));
                if count > 5 {
                    lines.push(format!(
                        "  and {} more: `memory-forge links check`",
                        count - 5
                    ));
                }
            }
        }
        if !self.untracked.is_empty() {
            let (folders, loose) = (&self.untracked.folders, &self.untracked.loose);
            let mut names: Vec<String> = folders.iter().map(|(it, _)| format!("{it}/")).collect();
            names.extend(loose.iter().map(ToString::to_string));
            let more = names.len().saturating_sub(5);
            names.truncate(5);
            let more = match more {
                0 => String::new(),
                more => format!(" and {more} more"),
            };
            lines.push(format!("- Untracked: {}{more}", names.join(", ")));
        }
        lines.push(format!("- Ideas inbox: {}", self.ideas));
        lines.extend(self.notes.iter().map(|it| format!("- Note: {it}")));
        lines.extend(
            self.incomplete
                .iter()
                .map(|it| format!("[INCOMPLETE] {it}")),
        );
        lines.join("\n") + "\n"
    }
}
