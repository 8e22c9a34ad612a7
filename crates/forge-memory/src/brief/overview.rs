//! The overview of a workspace at the start of a session: its state in at most
//! twenty lines, and what needs attention before work begins. It only reads,
//! and a missing file is a remark.

use jiff::Timestamp;

use super::{BriefDetail, RenderedBrief};
use crate::document::day_of_timestamp;
use crate::links::fold_name;
use crate::mind::{
    Decision, Idea, MindFile, MindStore, SessionEntry, StaleBlocker, StateLayoutKind, WorkState,
    content_words, days_since, find_stale_blockers, truncate_at_word,
};
use crate::quote;
use crate::retractions::Corrections;
use crate::routing::hubs::hubs_of_manifest;
use crate::routing::layout;
use crate::routing::manifest::{Manifest, ManifestMode, VersionAge};
use crate::routing::untracked::{UntrackedContent, is_skipped_path};
use crate::thresholds::{STATUS_STALE_DAYS, UNCLEAN_CLOSE_GRACE};
use crate::workspace::{FileRole, RelPath, Workspace, WorkspaceTree};

/// The state of a workspace, and what needs attention, part by part.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct SessionOverview {
    /// The phase of the work.
    pub phase: Option<String>,
    /// The status of the work in a line.
    pub focus: Option<String>,
    /// The next action.
    pub next: Option<String>,
    /// The day of the last update if it is too old, and the days since.
    pub stale: Option<(String, i64)>,
    /// The newest entry of the session log.
    pub last_session: Option<LastSession>,
    /// What is being worked on.
    pub in_flight: Vec<String>,
    /// What is blocked.
    pub blocked: Vec<String>,
    /// Blockers that have been open for too long.
    pub stale_blockers: Vec<StaleBlocker>,
    /// Decisions that matter now, one line each.
    pub decisions: Vec<String>,
    /// Number of ideas, and the title of the newest.
    pub ideas: (usize, Option<String>),
    /// A file that changed after the last session was closed.
    pub unclean: Option<RelPath>,
    /// Content that no domain of the manifest covers.
    pub untracked: UntrackedContent,
    /// The version of a manifest that is older than the current one.
    pub old_version: Option<String>,
    /// Number of hubs without closets, and of all hubs.
    pub closets: Option<(usize, usize)>,
    /// Name and summary of each domain in the manifest.
    pub hub_map: Vec<(String, String)>,
    /// Domains that the prompt names, each with the file to read first.
    pub domains: Vec<(String, RelPath)>,
    /// Remarks for a person.
    pub notes: Vec<String>,
    /// Corrections of the statements above, in plain words.
    pub corrections: Vec<String>,
}

/// The newest entry of the session log.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct LastSession {
    /// The heading of the entry.
    pub title: String,
    /// The first points of the entry.
    pub bullets: Vec<String>,
    /// Number of points that are not shown.
    pub more: usize,
    /// The file of the log.
    pub path: RelPath,
}

/// Maximum number of points shown of the last session.
const MAX_BULLETS: usize = 3;
/// Maximum number of decisions shown.
const MAX_DECISIONS: usize = 2;
/// Number of newest decisions that are considered.
const MAX_RECENT_DECISIONS: usize = 5;
/// Minimum number of notes for which a folder deserves a hub.
const MIN_HUB_NOTES: usize = 3;
/// Maximum length of a line.
const MAX_LINE_CHARS: usize = 240;
/// Maximum number of remarks.
const MAX_REMARK_LINES: usize = 6;

/// Renders the state of a workspace; `prompt` is the user's task, if it is
/// known. Returns `None` if there is neither a manifest nor any state.
pub fn brief_overview(
    workspace: &Workspace,
    prompt: &str,
    now: Timestamp,
) -> Option<RenderedBrief> {
    let overview = build_overview(workspace, prompt, now)?;
    let text = overview.render();
    Some(RenderedBrief {
        detail: BriefDetail::Overview(Box::new(overview)),
        ..RenderedBrief::from_text(text)
    })
}

/// Builds the overview from state, manifest and corrections.
fn build_overview(workspace: &Workspace, prompt: &str, now: Timestamp) -> Option<SessionOverview> {
    // The agent did not request this text, so that instructions to agents are
    // removed from it.
    let mind = MindStore::open(workspace).redact_for_briefing();
    let manifest = Manifest::read(workspace).filter(|it| it.mode() != ManifestMode::Absent);
    if manifest.is_none() && !mind.has_state_files() {
        return None;
    }
    let today = day_of_timestamp(now);
    let mut overview = SessionOverview::default();
    let state = read_or_note(&mut overview, &mind, MindFile::State, mind.read_state()).flatten();
    let sessions = read_or_note(
        &mut overview,
        &mind,
        MindFile::SessionLog,
        mind.read_sessions(),
    );
    let sessions = sessions.unwrap_or_default();
    let decisions = read_or_note(
        &mut overview,
        &mind,
        MindFile::Decisions,
        mind.read_decisions(),
    );
    match mind.read_ideas() {
        Ok(ideas) => overview.ideas = (ideas.len(), newest_idea_title(&ideas)),
        Err(error) => overview.notes.push(error.to_string()),
    }
    if let Some(state) = &state {
        overview.stale_blockers = find_stale_blockers(state, &sessions, today);
        overview.stale = state
            .updated
            .map(|on| (on.to_string(), days_since(on, today)))
            .filter(|(_, days)| *days > STATUS_STALE_DAYS);
    }
    overview.last_session = sessions.last().map(|it| summarize_session(it, &mind));
    let about = session_topic_text(state.as_ref(), prompt);
    overview.decisions = choose_relevant_decisions(&decisions.unwrap_or_default(), &about);
    if let Some(state) = state {
        overview.phase = state.phase;
        overview.focus = state.status;
        overview.next = state.next;
        overview.in_flight = state.active;
        overview.blocked = state.blocked;
    }
    if mind.layout_kind() == StateLayoutKind::Manifest {
        for rivalry in layout::find_rivalries(workspace, manifest.as_ref()) {
            let note = format!("{}; {}", rivalry.message(), rivalry.advice());
            overview.notes.push(note);
        }
    }
    if let Some(manifest) = manifest {
        add_manifest_findings(&mut overview, workspace, &mind, &manifest, prompt);
    }
    match Corrections::read(workspace) {
        Ok(known) => {
            overview.corrections = known.describe_found(&overview.label_lines().join("\n\n"))
        }
        Err(error) => overview.notes.push(error.to_string()),
    }
    Some(overview)
}

/// Returns the part of the overview that a briefing by hooks does not contain
/// already: domains, ideas, an old status, and all remarks. Empty without a
/// manifest.
pub fn list_remarks(workspace: &Workspace, now: Timestamp) -> Vec<String> {
    let has_manifest =
        Manifest::read(workspace).is_some_and(|it| it.mode() != ManifestMode::Absent);
    let overview = if has_manifest {
        build_overview(workspace, "", now)
    } else {
        None
    };
    overview.map(|it| it.workspace_lines()).unwrap_or_default()
}

/// Returns what was read from a file; adds a note if the file is missing or
/// malformed.
fn read_or_note<T>(
    overview: &mut SessionOverview,
    mind: &MindStore<'_>,
    file: MindFile,
    result: Result<T, crate::mind::MindError>,
) -> Option<T> {
    let path = mind.file_path(file);
    match result {
        Ok(value) => {
            if !mind.workspace().absolute_path(&path).is_file() {
                overview.notes.push(format!("{path} is missing"));
            }
            Some(value)
        }
        Err(error) => {
            overview.notes.push(error.to_string());
            None
        }
    }
}

fn newest_idea_title(ideas: &[Idea]) -> Option<String> {
    ideas
        .last()
        .map(|it| quote::sanitize_unrequested(&it.title).into_owned())
}

fn summarize_session(session: &SessionEntry, mind: &MindStore<'_>) -> LastSession {
    let mut bullets: Vec<String> = session
        .bullet_points()
        .into_iter()
        .map(|it| truncate_at_word(&it, MAX_LINE_CHARS))
        .collect();
    let more = bullets.len().saturating_sub(MAX_BULLETS);
    bullets.truncate(MAX_BULLETS);
    LastSession {
        title: session.title.clone(),
        bullets,
        more,
        path: mind.file_path(MindFile::SessionLog),
    }
}

/// Returns the text that describes the subject of the session.
fn session_topic_text(state: Option<&WorkState>, prompt: &str) -> String {
    let mut text = prompt.to_owned();
    for part in state.iter().flat_map(|it| {
        let parts = [&it.status, &it.next];
        parts.into_iter().flatten().chain(&it.active)
    }) {
        text.push(' ');
        text.push_str(part);
    }
    text
}

/// Returns the newest decisions in force that share words with the subject,
/// else the newest one.
fn choose_relevant_decisions(all: &[Decision], about: &str) -> Vec<String> {
    let words = content_words(about);
    let mut recent: Vec<(usize, &Decision)> = all
        .iter()
        .rev()
        .take(MAX_RECENT_DECISIONS)
        .filter(|it| !it.superseded)
        .map(|it| {
            let own = content_words(&format!("{} {}", it.title, it.text));
            (own.intersection(&words).count(), it)
        })
        .collect();
    // A stable sort: among equals the newest stays first.
    recent.sort_by_key(|(shared, _)| std::cmp::Reverse(*shared));
    let most = match recent.first() {
        Some((0, _)) => 1,
        _ => MAX_DECISIONS,
    };
    let worth = |shared: usize| shared > 0 || most == 1;
    recent
        .into_iter()
        .take(most)
        .filter(|(shared, _)| worth(*shared))
        .map(|(_, it)| {
            let id = it.id.as_ref().filter(|id| id.starts_with("DEC-"));
            let date = it.date.map(|date| date.to_string());
            let name = id.cloned().or(date).unwrap_or_default();
            let statement = it.decision.as_deref().unwrap_or(&it.title);
            truncate_at_word(
                format!("{name} - {statement}").trim_start_matches(" - "),
                MAX_LINE_CHARS,
            )
        })
        .collect()
}

/// Adds what the manifest, its hubs and untracked files show.
fn add_manifest_findings(
    overview: &mut SessionOverview,
    workspace: &Workspace,
    mind: &MindStore<'_>,
    manifest: &Manifest,
    prompt: &str,
) {
    let row = |text: &str| quote::sanitize_unrequested(text).trim().to_owned();
    overview.hub_map = (manifest.hub_map().into_iter())
        .map(|(entry, _)| (row(&entry.name), row(&entry.text)))
        .collect();
    let tree = manifest.tree(workspace);
    if mind.layout_kind() == StateLayoutKind::Manifest {
        overview.unclean = newest_note_after_close(&tree, mind);
    }
    overview.untracked =
        UntrackedContent::find_in_tree(workspace, &tree, manifest).with_min_notes(MIN_HUB_NOTES);
    let hubs = hubs_of_manifest(workspace, manifest);
    let wanted = split_words(prompt);
    for hub in hubs.iter().filter(|hub| !hub.is_memory_hub()) {
        let names = [hub.name.as_str(), hub.folder.file_name()].map(split_words);
        let named = |name: &Vec<String>| {
            !name.is_empty() && wanted.windows(name.len()).any(|it| it == &name[..])
        };
        if names.iter().any(named) {
            overview
                .domains
                .push((hub.name.clone(), hub.closets_path()));
        }
    }
    if manifest.mode() != ManifestMode::Full {
        return;
    }
    let own: Vec<_> = hubs.iter().filter(|hub| !hub.is_memory_hub()).collect();
    let missing = own
        .iter()
        .filter(|hub| !workspace.absolute_path(&hub.closets_path()).is_file())
        .count();
    overview.closets = (missing > 0).then_some((missing, own.len()));
    if manifest.age() == Some(VersionAge::Older) {
        let mut parts = manifest.version().unwrap_or("1").split('.');
        let major = parts.next().filter(|it| !it.is_empty()).unwrap_or("1");
        overview.old_version = Some(match (major, parts.next()) {
            ("1", _) | (_, None) => format!("v{major}"),
            (_, Some(minor)) => format!("v{major}.{minor}"),
        });
    }
}

fn split_words(text: &str) -> Vec<String> {
    fold_name(text)
        .split(|c: char| !c.is_alphanumeric())
        .filter(|it| !it.is_empty())
        .map(str::to_owned)
        .collect()
}

/// Returns the newest note that was written after the last session was closed.
/// Ignores maps and closets, which upkeep rewrites.
pub fn newest_note_after_close(tree: &WorkspaceTree, mind: &MindStore<'_>) -> Option<RelPath> {
    let closed = last_close_time(mind)?;
    // The last writes of a session may come shortly after its end.
    let limit = (closed + UNCLEAN_CLOSE_GRACE).as_nanosecond();
    tree.files
        .iter()
        .filter(|it| it.is_markdown() && !matches!(it.role, FileRole::Routing | FileRole::Autoload))
        .filter(|it| it.role == FileRole::State || !is_skipped_path(&it.path))
        .filter(|it| i128::from(it.mtime_ns) > limit)
        .max_by_key(|it| it.mtime_ns)
        .map(|it| it.path.clone())
}

/// Returns the time at which the last session was closed. An unchanged status
/// is not written, but the log is.
pub fn last_close_time(mind: &MindStore<'_>) -> Option<Timestamp> {
    let status = mind.modified_at(MindFile::State)?;
    Some(
        mind.modified_at(MindFile::SessionLog)
            .map_or(status, |it| it.max(status)),
    )
}

impl SessionOverview {
    /// Renders the overview for agents: labels in their order, then remarks,
    /// then the next steps.
    pub fn render(&self) -> String {
        let mut lines = self.label_lines();
        let remarks = self.remark_lines();
        if !remarks.is_empty() {
            lines.push(String::new());
            lines.extend(remarks);
        }
        lines.push(String::new());
        lines.push("→ **Start session** - continue with the next priority".to_owned());
        lines.push("→ **Update first** - bring status and decisions up to date".to_owned());
        lines.join("\n") + "\n"
    }

    fn workspace_lines(&self) -> Vec<String> {
        let mut lines = Vec::new();
        let domains: Vec<String> = (self.hub_map.iter())
            .map(|(name, summary)| {
                if summary.is_empty() {
                    name.clone()
                } else {
                    format!("{name} ({summary})")
                }
            })
            .collect();
        if !domains.is_empty() {
            lines.push(format!("Domains: {}", join_within_width(&domains)));
        }
        lines.extend(self.stale_line());
        if self.ideas.0 > 0 {
            lines.push(self.ideas_line());
        }
        lines.extend(self.remark_lines());
        lines
    }

    fn stale_line(&self) -> Option<String> {
        let (date, days) = self.stale.as_ref()?;
        Some(format!("**Stale:** Last updated {date}, {days} days ago."))
    }

    fn ideas_line(&self) -> String {
        match &self.ideas {
            (0, _) => "**Ideas inbox:** Empty.".to_owned(),
            (count, Some(newest)) => {
                let newest = truncate_at_word(newest, 80);
                let ideas = if *count == 1 { "idea" } else { "ideas" };
                format!("**Ideas inbox:** {count} {ideas}, the newest: {newest}")
            }
            (count, None) => format!("**Ideas inbox:** {count} ideas"),
        }
    }

    fn label_lines(&self) -> Vec<String> {
        let mut lines = Vec::new();
        let focus = self.focus.as_deref().or(self.next.as_deref());
        // Joins a list of several items on one line.
        let focus = focus.map(|text| {
            let items = text
                .lines()
                .map(|line| line.trim().trim_start_matches("- "));
            items.collect::<Vec<_>>().join("; ")
        });
        let status = match (self.phase.as_deref(), focus.as_deref()) {
            (Some(phase), Some(focus)) => format!("{phase} - {focus}"),
            (Some(text), None) | (None, Some(text)) => text.to_owned(),
            (None, None) => "Not set.".to_owned(),
        };
        lines.push(format!(
            "**Status:** {}",
            truncate_at_word(&status, MAX_LINE_CHARS)
        ));
        lines.extend(self.stale_line());
        match &self.last_session {
            Some(last) => {
                lines.push(format!(
                    "**Last session:** {}",
                    truncate_at_word(&last.title, MAX_LINE_CHARS)
                ));
                lines.extend(last.bullets.iter().map(|it| format!("- {it}")));
                if last.more > 0 {
                    let (more, path) = (last.more, &last.path);
                    let line = lines.last_mut().expect("there are bullets");
                    line.push_str(&format!(" (and {more} more in {path})"));
                }
            }
            None => lines.push("**Last session:** None logged.".to_owned()),
        }
        lines.push(format!(
            "**In flight:** {}",
            join_within_width(&self.in_flight)
        ));
        lines.push(format!("**Blocked:** {}", join_within_width(&self.blocked)));
        if !self.decisions.is_empty() {
            lines.push("**Relevant decisions:**".to_owned());
            lines.extend(self.decisions.iter().map(|it| format!("- {it}")));
        }
        lines.push(self.ideas_line());
        lines
    }

    fn remark_lines(&self) -> Vec<String> {
        let mut remarks = Vec::new();
        if !self.corrections.is_empty() {
            remarks.push(self.corrections.join(". "));
        }
        if let Some(path) = &self.unclean {
            remarks.push(format!(
                "Warning: the last session was not closed: {path} was changed after it. \
                 Run `memory-forge session end` to catch up."
            ));
        }
        if !self.stale_blockers.is_empty() {
            let blockers: Vec<String> = self.stale_blockers.iter().map(describe_blocker).collect();
            remarks.push(format!("Stale blockers: {}", join_within_width(&blockers)));
        }
        if !self.untracked.is_empty() {
            let folders = self.untracked.folders.iter();
            let mut parts: Vec<String> = folders
                .map(|(folder, notes)| format!("{folder}/ ({notes} files)"))
                .collect();
            parts.extend(self.untracked.loose.iter().map(ToString::to_string));
            remarks.push(format!(
                "Untracked content detected: {}",
                join_within_width(&parts)
            ));
        }
        if let Some(version) = &self.old_version {
            remarks.push(format!(
                "Upgrade available — workspace is on {version}; run `memory-forge upgrade`."
            ));
        }
        if let Some((missing, all)) = self.closets {
            remarks.push(format!(
                "Closets missing for {missing} of {all} hubs — run `memory-forge closets build` to backfill."
            ));
        }
        for (name, closets) in self.domains.iter().take(2) {
            remarks.push(format!("Domain named: {name}. Read {closets} first."));
        }
        if !self.notes.is_empty() {
            remarks.push(format!("Note: {}", join_within_width(&self.notes)));
        }
        let more = remarks.len().saturating_sub(MAX_REMARK_LINES);
        if more > 0 {
            remarks.truncate(MAX_REMARK_LINES - 1);
            remarks.push(format!(
                "{} more remarks; `memory-forge session start --json` has them all.",
                more + 1
            ));
        }
        remarks
    }
}

fn describe_blocker(blocker: &StaleBlocker) -> String {
    match (blocker.entries, blocker.since) {
        (entries, _) if entries >= 3 => format!("{} (in {entries} sessions)", blocker.text),
        (_, Some(since)) => format!("{} (since {since})", blocker.text),
        _ => blocker.text.clone(),
    }
}

/// Joins several items on one line, and counts those that did not fit.
fn join_within_width(items: &[String]) -> String {
    if items.is_empty() {
        return "None.".to_owned();
    }
    let mut line = String::new();
    for (at, item) in items.iter().enumerate() {
        let item = truncate_at_word(item, MAX_LINE_CHARS / 2);
        if at > 0 && line.chars().count() + item.chars().count() > MAX_LINE_CHARS {
            return format!("{line}; and {} more", items.len() - at);
        }
        if at > 0 {
            line.push_str("; ");
        }
        line.push_str(&item);
    }
    line
}
