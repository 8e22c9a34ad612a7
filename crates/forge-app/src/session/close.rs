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
use crate::brief::overview::{closed_at, unclean};
use crate::bulk::{Skill, last_ok};
use crate::closets::{self, BuildRequest};
use crate::document::day_of;
use crate::links::{self, Vault};
use crate::mind::{
    Captured, Error, File, Fullness, Layout, Mind, NewSession, Record, Recorded, Written,
    days_since,
};
use crate::routing::archives::{ArchiveRow, list_archive};
use crate::routing::hubs::{Hub, hubs_of};
use crate::routing::manifest::{self, Manifest, Mode, SUMMARY_FORMAT};
use crate::routing::untracked::{Untracked, is_skipped};
use crate::thresholds::{CONSOLIDATE_NAG_DAYS, MAX_DECISION_LINES};
use crate::upkeep::resummarize;
use crate::workspace::{self, RelPath, Role, Tree, Workspace};

/// A request to close a session.
#[derive(Debug, Clone)]
pub struct SessionClosing<'a> {
    pub ending: SessionEnding<'a>,
    /// The folder that a client gives its plugin, for the log of clean closes.
    pub log_folder: Option<&'a Path>,
    pub now: Timestamp,
}

/// The way in which a session's end became known.
#[derive(Debug, Clone)]
pub enum SessionEnding<'a> {
    /// An agent or a person describes it. The session stays open until its
    /// client reports the end, which then finds the description.
    Described {
        record: Box<Record>,
        /// The files that were worked on; by their times where they are not named.
        touched: Option<Vec<RelPath>>,
    },
    /// A client reports it. A session without a description is captured from
    /// git, which may take this long.
    Reported { reason: &'a str, git_wait: Duration },
}

/// What the end of a session recorded.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct SessionReport {
    pub recorded: Recorded,
    pub state: Option<RelPath>,
    pub touched: Vec<RelPath>,
    /// Hubs whose closets were refreshed, with the number of entries.
    pub hubs: Vec<(String, usize)>,
    pub manifest: bool,
    /// Hub tables (`*-index.md`) that changed.
    pub pages: usize,
    /// Mentions of touched files' words that became links.
    pub linked: usize,
    /// Links to missing files, as `file:line: [[link]]`.
    pub broken: Vec<String>,
    pub untracked: Untracked,
    pub ideas: usize,
    pub notes: Vec<String>,
    /// Parts that should have been written and are missing.
    pub incomplete: Vec<String>,
    /// Age of the state, where it counts as stale and a client reported the
    /// end.
    pub stale_for: Option<String>,
}

/// Command that shortens a file of decisions that is nearly full. It passes
/// `--force`, because a run a moment ago is no reason to wait.
pub(crate) const SHORTEN: &str = "memory-forge consolidate --fix --force";
/// Advice where that command would not help.
pub(crate) const SHORTEN_BY_HAND: &str =
    "it is not filled by old decisions, so a person has to shorten it";

/// Closes a session. Returns `None` where there is neither a manifest nor any
/// state; then nothing is written.
pub fn close_session(
    mind: &Mind<'_>,
    closing: &SessionClosing<'_>,
) -> Result<Option<SessionReport>, Error> {
    let workspace = mind.workspace();
    let now = closing.now;
    let report = match &closing.ending {
        SessionEnding::Described { record, touched } => {
            describe(workspace, mind, record, touched.as_deref(), now)?
        }
        SessionEnding::Reported { reason, git_wait } => report_end(mind, reason, *git_wait, now)?,
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
fn report_end(
    mind: &Mind<'_>,
    reason: &str,
    git_wait: Duration,
    now: Timestamp,
) -> Result<Option<SessionReport>, Error> {
    if !mind.exists() {
        return Ok(None);
    }
    let report = SessionReport {
        state: Some(mind.file(File::State)),
        stale_for: mind.stale_for(now),
        ..SessionReport::default()
    };
    mind.touch(now)?;
    mind.session_ended(reason, now)?;
    mind.session_end_checkpoint(reason, now)?;
    if let Some(open) = OpenSession::read(mind) {
        open.close(mind, reason, git_wait, now)?;
    }
    Ok(Some(report))
}

/// Records the description of a session and everything that follows from it.
fn describe(
    workspace: &Workspace,
    mind: &Mind<'_>,
    record: &Record,
    named: Option<&[RelPath]>,
    now: Timestamp,
) -> Result<Option<SessionReport>, Error> {
    let manifest = Manifest::load(workspace)?.filter(|it| it.mode() != Mode::Absent);
    if manifest.is_none() && !mind.exists() {
        return Ok(None);
    }
    let mut ended = SessionReport {
        state: Some(mind.file(File::State)),
        ..SessionReport::default()
    };
    let tree = manifest.as_ref().map(|it| it.tree(workspace));
    if let Some(tree) = &tree {
        ended.touched = match named {
            Some(named) => named.to_vec(),
            None => touched(tree, mind),
        };
    }
    // An error in the maps must not lose the description of the session: it is
    // kept and reported at the end.
    let maps = match &manifest {
        Some(manifest) => keep_maps(workspace, manifest, now, &mut ended),
        None => Ok(()),
    };
    let mut written = record.clone();
    if let Some(tree) = &tree
        && says_nothing(&written)
        && mind.layout() == Layout::Manifest
        && unclean(tree, mind).is_some()
    {
        written.session = Some(left_open(&ended.touched));
    }
    ended.recorded = mind.record("Close the session", &written, now)?;
    if let (Some(manifest), Some(tree)) = (&manifest, &tree) {
        list_and_check(workspace, mind, manifest, tree, now, &mut ended)?;
    }
    ended.ideas = mind.ideas().map(|it| it.len()).unwrap_or_default();
    remarks(workspace, mind, manifest.as_ref(), now, &mut ended);
    ended.incomplete = self_test(workspace, mind, record, &ended);
    if let Err(error) = maps {
        ended.incomplete.push(format!(
            "links and closets of what was touched: {error}; `memory-forge links apply` and \
             `memory-forge closets build` do the rest"
        ));
    }
    Ok(Some(ended))
}

/// Returns `true` if the record describes nothing.
fn says_nothing(record: &Record) -> bool {
    record.state.is_empty() && record.decisions.is_empty() && record.session.is_none()
}

/// Builds the log entry of a session that was not closed; without it, the next
/// start would report it again.
fn left_open(touched: &[RelPath]) -> NewSession {
    NewSession {
        captured: Some(Captured {
            reason: "the session was not closed".to_owned(),
            files: touched.iter().map(ToString::to_string).collect(),
        }),
        ..NewSession::default()
    }
}

/// Lists the notes that were written since the last session was closed.
fn touched(tree: &Tree, mind: &Mind<'_>) -> Vec<RelPath> {
    let Some(closed) = closed_at(mind) else {
        return Vec::new();
    };
    let closed = closed.as_nanosecond();
    tree.files
        .iter()
        .filter(|it| it.is_markdown() && matches!(it.role, Role::Knowledge | Role::Untracked))
        .filter(|it| !is_skipped(&it.path) && i128::from(it.mtime_ns) > closed)
        .map(|it| it.path.clone())
        .collect()
}

/// Updates links and closets of the touched notes.
fn keep_maps(
    workspace: &Workspace,
    manifest: &Manifest,
    now: Timestamp,
    ended: &mut SessionReport,
) -> Result<(), Error> {
    if !ended.touched.is_empty() {
        let vault = Vault::read(workspace);
        let applied = links::apply(workspace, &vault, &ended.touched, false);
        if !applied.proposal.is_empty() {
            let what = "Link mentions of the session";
            applied.proposal.apply(workspace, what, now)?;
            ended.linked = applied.linked;
        }
    }
    let hubs = hubs_of(workspace, manifest);
    let touched = |hub: &Hub| hub.members.iter().any(|it| ended.touched.contains(it));
    let hubs: Vec<&Hub> = hubs.iter().filter(|it| touched(it)).collect();
    let pages = resummarize::pages(workspace, &hubs)?;
    let receipt = pages
        .proposal
        .apply(workspace, "Hub tables of the session", now)?;
    pages.remember(workspace)?;
    ended.pages = receipt.files.len();
    if manifest.mode() == Mode::Full {
        refresh_closets(workspace, &hubs, now, ended)?;
    }
    Ok(())
}

/// Updates what depends on the record as well as on the notes: the state's own
/// closets, summaries, the manifest. It considers all files, so it is
/// idempotent.
fn list_and_check(
    workspace: &Workspace,
    mind: &Mind<'_>,
    manifest: &Manifest,
    tree: &Tree,
    now: Timestamp,
    ended: &mut SessionReport,
) -> Result<(), Error> {
    if manifest.mode() == Mode::Full {
        let hubs = hubs_of(workspace, manifest);
        // The state files are a hub only once they have closets: a close never
        // creates the first ones.
        let has = |hub: &Hub| hub.is_memory() && workspace.absolute(&hub.closets()).is_file();
        let hubs: Vec<&Hub> = hubs.iter().filter(|it| has(it)).collect();
        refresh_closets(workspace, &hubs, now, ended)?;
    }
    // Summaries of an older format are for `manifest refresh` and `upgrade`.
    let current = manifest.summary_format() >= Some(SUMMARY_FORMAT);
    if manifest.mode() == Mode::Full && current {
        let plan = resummarize::plan(workspace, false)?;
        let receipt = plan
            .proposal
            .apply(workspace, "Summaries of the session", now)?;
        plan.remember(workspace)?;
        ended.manifest |= !receipt.files.is_empty();
    }
    ended.untracked = Untracked::of(workspace, tree, manifest).at_least(3);
    let (archive, state) = (mind.file(File::Archive), mind.file(File::State));
    if mind.layout() == Layout::Manifest && workspace.absolute(&archive).is_file() {
        ended.manifest |= list_log_archive(workspace, &archive, &state, now)?;
    }
    // The vault is read again, because the entries that were just written may
    // contain links.
    let report = links::check(&Vault::read(workspace));
    let broken = report.missing();
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
) -> Result<(), workspace::Error> {
    let request = BuildRequest {
        hubs: hubs.to_vec(),
        force: false,
        dry_run: false,
        draw_graph: false,
    };
    // Without the lock of a bulk run: a session must end even while another
    // process builds.
    let built = closets::build(workspace, &request, now, |_| {})?;
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
) -> Result<bool, Error> {
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
        |change| -> Result<_, Error> {
            let listed = list_archive(change, &row, now, |it| it.retired().holds(path))?;
            Ok(listed)
        },
    )?;
    Ok(listed)
}

/// Adds remarks about a nearly full file of decisions and about consolidation.
fn remarks(
    workspace: &Workspace,
    mind: &Mind<'_>,
    manifest: Option<&Manifest>,
    now: Timestamp,
    ended: &mut SessionReport,
) {
    let lines = ended.recorded.decision_lines;
    let advice = match mind.decisions_fullness() {
        Fullness::Fine => None,
        Fullness::CanBeShortened => Some(format!("run `{SHORTEN}`")),
        Fullness::ByHand => Some(SHORTEN_BY_HAND.to_owned()),
    };
    if let Some(advice) = advice {
        ended.notes.push(format!(
            "{} has {lines} lines of at most {MAX_DECISION_LINES}; {advice}",
            mind.file(File::Decisions)
        ));
    }
    if manifest.is_some()
        && let Some(note) = consolidate_nag(workspace, mind, now)
    {
        ended.notes.push(note);
    }
}

/// Returns a reminder if it is time to consolidate. A manifest is rewritten
/// often, so the oldest date in the state files shows the age of the workspace
/// as well.
fn consolidate_nag(workspace: &Workspace, mind: &Mind<'_>, now: Timestamp) -> Option<String> {
    let today = day_of(now);
    let written = std::fs::metadata(workspace.absolute(&manifest::path())).ok()?;
    let written = Timestamp::try_from(written.modified().ok()?)
        .ok()
        .map(day_of);
    let logged = mind.sessions().unwrap_or_default().into_iter();
    let decided = mind.decisions().unwrap_or_default().into_iter();
    let dates = logged
        .filter_map(|it| it.date)
        .chain(decided.filter_map(|it| it.date));
    let oldest: Date = dates.chain(written).min()?;
    if days_since(oldest, today) < CONSOLIDATE_NAG_DAYS {
        return None;
    }
    let last = last_ok(workspace, Skill::Consolidate).map(|it| it.when);
    match last {
        None => Some("consolidate has never run; run `memory-forge consolidate`".to_owned()),
        Some(when)
            if now.duration_since(when) > SignedDuration::from_hours(24 * CONSOLIDATE_NAG_DAYS) =>
        {
            let on = day_of(when);
            Some(format!(
                "consolidate last ran {on}; run `memory-forge consolidate`"
            ))
        }
        Some(_) => None,
    }
}

/// Reads everything back as the next session will, and lists what is missing.
fn self_test(
    workspace: &Workspace,
    mind: &Mind<'_>,
    record: &Record,
    ended: &SessionReport,
) -> Vec<String> {
    let mut missing = Vec::new();
    let state = mind.state().ok().flatten();
    let wanted = !record.state.is_empty();
    if wanted && state.as_ref().is_none_or(|it| it.updated.is_none()) {
        missing.push(format!("{} has no date", mind.file(File::State)));
    }
    if let Some(logged) = &ended.recorded.session {
        let there = mind.sessions().unwrap_or_default();
        if !there.iter().any(|it| it.title == logged.title) {
            missing.push(format!("`{}` is not in the log", logged.title));
        }
    }
    let decided = mind.decisions().unwrap_or_default();
    let wanted = record.decisions.len();
    let held = ended.recorded.decided.len() + ended.recorded.known_decisions;
    if held != wanted || decided.len() < ended.recorded.decided.len() {
        missing.push(format!("{held} of {wanted} decisions were recorded"));
    }
    for path in &ended.touched {
        if !workspace.absolute(path).is_file() {
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
                Written::Created => format!("- Status: created {path}"),
                Written::Updated => format!("- Status: updated {path}"),
                Written::Unchanged => format!("- Status: unchanged {path}"),
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
