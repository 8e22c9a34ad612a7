//! Compresses without loss: old entries move to the archive word for word, and
//! each leaves one line with its id and date. Compression is idempotent, byte
//! for byte, and one undo reverts all of it.

use std::ops::Range;

use jiff::Timestamp;
use jiff::civil::Date;

use super::archive::StateArchive;
use super::decisions::{self, Decision};
use super::progress::ProgressTasks;
use super::sessions::{self, SessionEntry};
use super::values::{self, apply_edits, edit_text};
use super::{EventLog, MindError, MindFile, MindStore, StateLayoutKind, tracking};
use crate::document::{self, Document, TextEdit, day_of_timestamp, escape_markdown_line};
use crate::tokens::estimate_tokens;
use crate::workspace::RelPath;

/// Entries that a compression moved, or would move in a dry run.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct CompressionReport {
    /// Whether nothing was written.
    pub dry_run: bool,
    /// The session log.
    pub sessions: FileCompression,
    /// The file of decisions.
    pub decisions: FileCompression,
    /// Number of tasks that moved.
    pub tasks: usize,
    /// The event logs that were rotated, by name.
    pub tracking: Vec<(&'static str, EventLogRotation)>,
    /// The change id for [`crate::workspace::Workspace::undo`]; none if nothing
    /// changed.
    pub change: Option<String>,
}

/// Size of one file before and after compression, in estimated tokens, and its
/// entries.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub struct FileCompression {
    /// Tokens before.
    pub before: usize,
    /// Tokens after.
    pub after: usize,
    /// Number of entries before.
    pub entries: usize,
    /// Number of entries that moved.
    pub compressed: usize,
    /// Number of entries that stayed.
    pub kept: usize,
}

/// Number of lines of an event log before and after rotation.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub struct EventLogRotation {
    /// Lines before.
    pub before: usize,
    /// Lines after.
    pub after: usize,
}

impl FileCompression {
    /// Returns how many tokens the file shrank by.
    pub fn saved_tokens(&self) -> i64 {
        self.before as i64 - self.after as i64
    }
}

impl CompressionReport {
    /// Returns the estimated tokens that every later reader saves.
    pub fn saved_tokens(&self) -> i64 {
        self.sessions.saved_tokens() + self.decisions.saved_tokens()
    }

    /// Returns `true` if nothing was moved.
    pub fn is_noop(&self) -> bool {
        self.sessions.compressed + self.decisions.compressed + self.tasks == 0
    }
}

/// Number of entries that a dated session log keeps.
pub(super) const MAX_DATED_SESSIONS: usize = 10;

const ARCHIVED_SESSIONS_TITLE: &str = "Archived Sessions";
const ARCHIVED_DECISIONS_TITLE: &str = "Archived Decisions";
const ARCHIVED_TASKS_TITLE: &str = "Archived Tasks";

/// An entry that may move to the archive, and the line that then replaces it.
struct ArchivableEntry {
    span: Range<usize>,
    text: String,
    pointer: String,
}

/// Entries of one kind: their file, and how they are found in it.
struct EntryKind<'a> {
    file: MindFile,
    archived_title: &'static str,
    /// Lists the entries in text order, and whether the newest is the first.
    list: &'a dyn Fn(&Document) -> (Vec<ArchivableEntry>, bool),
}

impl MindStore<'_> {
    /// Returns `true` if the files exceed the configured size; compares file
    /// sizes only.
    pub fn should_compress(&self) -> bool {
        self.total_state_bytes() > self.workspace.config().mind.compress_bytes
    }

    /// Returns the total size of the state files in bytes.
    pub fn total_state_bytes(&self) -> u64 {
        let mut paths = vec![
            self.file_path(MindFile::State),
            self.file_path(MindFile::Progress),
            self.file_path(MindFile::Decisions),
            self.file_path(MindFile::SessionLog),
        ];
        paths.dedup();
        let size = |path: &RelPath| {
            std::fs::metadata(self.workspace.absolute_path(path)).map_or(0, |meta| meta.len())
        };
        paths.iter().map(size).sum()
    }

    /// Moves old entries to the archive. A dry run only reports what would
    /// move.
    pub fn compress_state(
        &self,
        dry_run: bool,
        now: Timestamp,
    ) -> Result<CompressionReport, MindError> {
        let mut done = if dry_run {
            let read = |path: &RelPath| self.workspace.read_text_if_present(path);
            self.plan_compression(read, now)?.report
        } else {
            let (report, receipt) = self.change_workspace("Compress the state", now, |change| {
                let plan = self.plan_compression(|path| change.read_text(path), now)?;
                for (path, text) in plan.files {
                    change.write(&path, text);
                }
                Ok(plan.report)
            })?;
            CompressionReport {
                change: receipt.id,
                ..report
            }
        };
        done.dry_run = dry_run;
        for log in EventLog::ALL {
            done.tracking
                .push((log.name(), self.rotate_log(log, dry_run)?));
        }
        Ok(done)
    }

    fn rotate_log(&self, log: EventLog, dry_run: bool) -> Result<EventLogRotation, MindError> {
        let keep = self.workspace.config().mind.tracking_max_lines;
        if dry_run {
            let before = self.read_events(log).len();
            return Ok(EventLogRotation {
                before,
                after: before.min(keep),
            });
        }
        let path = tracking::tracking_path(log.name())?;
        let (before, after) = self.workspace.rotate_machine(&path, keep, keep)?;
        Ok(EventLogRotation { before, after })
    }

    fn plan_compression(
        &self,
        mut read: impl FnMut(&RelPath) -> Result<Option<String>, crate::workspace::WorkspaceError>,
        now: Timestamp,
    ) -> Result<CompressionPlan, MindError> {
        let config = &self.workspace.config().mind;
        let path = |which| self.files.path(which);
        let archive_path = path(MindFile::Archive);
        let mut archive = StateArchive::new(archive_path, read(archive_path)?);
        let mut plan = CompressionPlan::default();
        if let Some(text) = read(path(MindFile::SessionLog))? {
            let keep = match self.files.layout {
                StateLayoutKind::Mind => config.keep_sessions,
                StateLayoutKind::Manifest => MAX_DATED_SESSIONS,
            };
            let today = day_of_timestamp(now);
            let (store, after) = self.compress_sessions(text, keep, today, &mut archive)?;
            plan.report.sessions = store;
            plan.put_file(path(MindFile::SessionLog), after);
        }
        // Dated lines are short already, and a status file has no list of
        // completed work: only the files of `.mind/` have more to move.
        if self.files.layout == StateLayoutKind::Mind {
            if let Some(text) = read(path(MindFile::Decisions))? {
                let keep = config.keep_decisions;
                let (store, after) = self.compress_decisions(text, keep, &mut archive)?;
                plan.report.decisions = store;
                plan.put_file(path(MindFile::Decisions), after);
            }
            if let Some(text) = read(path(MindFile::Progress))? {
                let (tasks, after) = self.archive_tasks(text, now, &mut archive)?;
                plan.report.tasks = tasks;
                plan.put_file(path(MindFile::Progress), after);
            }
        }
        plan.put_file(archive_path, archive.finish()?);
        Ok(plan)
    }

    pub(super) fn compress_sessions(
        &self,
        text: String,
        keep: usize,
        today: Date,
        archive: &mut StateArchive<'_>,
    ) -> Result<(FileCompression, Option<String>), MindError> {
        let layout = self.files.layout;
        let list = |document: &Document| {
            let all = sessions::session_blocks(document);
            let newest_first = sessions::is_newest_first_on(&all, layout, today);
            let entries = all.into_iter().map(|it| ArchivableEntry {
                pointer: render_session_pointer(&it),
                span: it.span,
                text: it.text,
            });
            (entries.collect(), newest_first)
        };
        let kind = EntryKind {
            file: MindFile::SessionLog,
            archived_title: ARCHIVED_SESSIONS_TITLE,
            list: &list,
        };
        self.compress_entries(text, keep, &kind, archive)
    }

    fn compress_decisions(
        &self,
        text: String,
        keep: usize,
        archive: &mut StateArchive<'_>,
    ) -> Result<(FileCompression, Option<String>), MindError> {
        let list = |document: &Document| {
            let all = decisions::decision_blocks(document);
            let newest_first = decisions::is_newest_first(&all);
            let entries = all.into_iter().map(|it| ArchivableEntry {
                pointer: render_decision_pointer(&it),
                span: it.span,
                text: it.text,
            });
            (entries.collect(), newest_first)
        };
        let kind = EntryKind {
            file: MindFile::Decisions,
            archived_title: ARCHIVED_DECISIONS_TITLE,
            list: &list,
        };
        self.compress_entries(text, keep, &kind, archive)
    }

    /// Moves all but the newest `keep` entries of a file to the archive, word
    /// for word, and leaves a line for each.
    fn compress_entries(
        &self,
        text: String,
        keep: usize,
        kind: &EntryKind<'_>,
        archive: &mut StateArchive<'_>,
    ) -> Result<(FileCompression, Option<String>), MindError> {
        let path = self.files.path(kind.file);
        let document = document::parse_document(text);
        let (mut all, newest_first) = (kind.list)(&document);
        if newest_first {
            all.reverse();
        }
        let (old, kept) = all.split_at(all.len().saturating_sub(keep));
        let mut store = FileCompression::measure_file(&document.text, all.len(), old.len());
        if old.is_empty() {
            return Ok((store, None));
        }
        let level = heading_level_at(&document, kept[0].span.start);
        let spans: Vec<Range<usize>> = old.iter().map(|it| it.span.clone()).collect();
        let blocks: Vec<&str> = spans.iter().map(|it| document.span_text(it)).collect();
        let text = remove_spans(path, &document, &spans)?;
        let after = match self.files.layout {
            StateLayoutKind::Mind => {
                archive.add_entries(kind.archived_title, document.newline(), &blocks)?;
                let lines: Vec<String> = old.iter().map(|it| it.pointer.clone()).collect();
                let heading = format!("{} (compressed)", kind.archived_title);
                let first = |document: &Document| Some((kind.list)(document).0.first()?.span.start);
                let before = (!newest_first).then_some(&first as _);
                insert_pointers(path, text, level, &heading, &lines, before)?
            }
            StateLayoutKind::Manifest => {
                archive.add_dated_entries(document.newline(), &blocks)?;
                let name = self.files.path(MindFile::Archive);
                insert_line_below_title(
                    path,
                    text,
                    &format!("Older sessions: [[{}]]", name.stem()),
                )?
            }
        };
        // The kept entries must be parsed exactly as before, or nothing is
        // written.
        let (mut left, _) = (kind.list)(&document::parse_document(after.clone()));
        if newest_first {
            left.reverse();
        }
        let same = left
            .iter()
            .map(|it| &it.text)
            .eq(kept.iter().map(|it| &it.text));
        require_unchanged(same, path)?;
        store.after = estimate_tokens(&after);
        Ok((store, Some(after)))
    }

    fn archive_tasks(
        &self,
        text: String,
        now: Timestamp,
        archive: &mut StateArchive<'_>,
    ) -> Result<(usize, Option<String>), MindError> {
        let path = self.files.path(MindFile::Progress);
        let document = document::parse_document(text);
        let today = day_of_timestamp(now);
        let most =
            i32::try_from(self.workspace.config().mind.archive_after_days).unwrap_or(i32::MAX);
        let progress = ProgressTasks::from_document(&document, self.files.layout);
        let mut spans: Vec<Range<usize>> = Vec::new();
        for task in progress.tasks.iter().filter(|it| it.done) {
            let old = task
                .completed
                .is_some_and(|day| (today - day).get_days() > most);
            let item = item_span(&document, task.span.start);
            let inside = progress
                .open_tasks()
                .any(|it| item.contains(&it.span.start));
            let known = spans.last().is_some_and(|it| it.end > item.start);
            if old && !inside && !known && indent_width(&document.text[item.start..]) < 2 {
                spans.push(item);
            }
        }
        if spans.is_empty() {
            return Ok((0, None));
        }
        let lines: Vec<&str> = spans
            .iter()
            .map(|it| document.span_text(it).trim_end_matches(['\n', '\r']))
            .collect();
        let lines = lines.join(document.newline());
        archive.add_lines_below(
            ARCHIVED_TASKS_TITLE,
            &format!("Archived on {today}"),
            document.newline(),
            &lines,
        )?;
        let after = remove_spans(path, &document, &spans)?;
        let after = insert_line_below_title(
            path,
            after,
            "Older completed tasks: [ARCHIVE.md](ARCHIVE.md)",
        )?;
        let left = ProgressTasks::from_document(
            &document::parse_document(after.clone()),
            self.files.layout,
        );
        let open = |it: &ProgressTasks| {
            it.open_tasks()
                .map(|it| it.text.clone())
                .collect::<Vec<_>>()
        };
        require_unchanged(open(&left) == open(&progress), path)?;
        Ok((spans.len(), Some(after)))
    }
}

#[derive(Debug, Default)]
struct CompressionPlan {
    files: Vec<(RelPath, String)>,
    report: CompressionReport,
}

impl CompressionPlan {
    fn put_file(&mut self, path: &RelPath, text: Option<String>) {
        self.files.extend(text.map(|text| (path.clone(), text)));
    }
}

impl FileCompression {
    fn measure_file(text: &str, entries: usize, compressed: usize) -> FileCompression {
        let size = estimate_tokens(text);
        FileCompression {
            before: size,
            after: size,
            entries,
            compressed,
            kept: entries - compressed,
        }
    }
}

/// Renders `- Session 3 (2026-01-01 10:00:00): what it was about → ARCHIVE.md`.
fn render_session_pointer(session: &SessionEntry) -> String {
    let rest = match session.number {
        Some(number) => session
            .title
            .trim_start_matches(&format!("Session {number}")),
        None => &session.title,
    };
    let when = rest.trim_matches(|c: char| c.is_whitespace() || matches!(c, '—' | '–' | '-' | ':'));
    let name = match session.number {
        Some(number) => format!("Session {number} ({when})"),
        None => when.to_owned(),
    };
    let about = session
        .one_line_summary()
        .unwrap_or_else(|| "(session data)".to_owned());
    archive_pointer(&name, &about)
}

/// Renders `- DEC-003 (2026-01-01): title [Final] → ARCHIVE.md`.
fn render_decision_pointer(decision: &Decision) -> String {
    let id = decision.id.as_deref().unwrap_or("Decision");
    let name = match decision.date {
        Some(date) => format!("{id} ({date})"),
        None => id.to_owned(),
    };
    let status = decision
        .status
        .as_ref()
        .map(|it| format!(" [{}]", values::truncate_at_word(it, 40)));
    let title = values::truncate_at_word(&decision.title, 80);
    archive_pointer(&name, &format!("{title}{}", status.unwrap_or_default()))
}

fn archive_pointer(name: &str, about: &str) -> String {
    let about = values::truncate_at_word(about, 120);
    format!(
        "- {} → ARCHIVE.md",
        escape_markdown_line(&format!("{name}: {about}"))
    )
}

fn heading_level_at(document: &Document, heading: usize) -> u8 {
    document
        .sections
        .iter()
        .find(|it| it.level > 0 && it.heading.start == heading)
        .map_or(2, |it| it.level)
}

fn remove_spans(
    path: &RelPath,
    document: &Document,
    spans: &[Range<usize>],
) -> Result<String, MindError> {
    let removals = spans.iter().map(|span| document.delete_lines(span.clone()));
    apply_edits(path, &document.text, removals.collect())
}

type InsertionFinder<'a> = &'a dyn Fn(&Document) -> Option<usize>;

/// Inserts the lines that replace moved entries into their section. A new
/// section goes before the first entry, or to the end of the file.
fn insert_pointers(
    path: &RelPath,
    text: String,
    level: u8,
    heading: &str,
    lines: &[String],
    before: Option<InsertionFinder<'_>>,
) -> Result<String, MindError> {
    edit_text(path, text, |document| {
        let body = lines.join("\n");
        if let Some(section) = document.find_section(heading) {
            return document.append_to_section(section, &body);
        }
        match before.and_then(|place| place(document)) {
            Some(at) => {
                let nl = document.newline();
                let marks = "#".repeat(usize::from(level));
                let body = lines.join(nl);
                TextEdit {
                    span: at..at,
                    text: format!("{marks} {heading}{nl}{body}{nl}{nl}"),
                }
            }
            None => values::append_entry(document, level, heading, &body),
        }
    })
}

pub(super) fn insert_line_below_title(
    path: &RelPath,
    text: String,
    line: &str,
) -> Result<String, MindError> {
    if text.lines().any(|it| it.trim() == line) {
        return Ok(text);
    }
    edit_text(path, text, |document| {
        values::insert_below_title(document, line)
    })
}

/// Returns the span of a list item with everything nested in it.
fn item_span(document: &Document, start: usize) -> Range<usize> {
    let text = &document.text;
    let start = text[..start].rfind('\n').map_or(0, |at| at + 1);
    let depth = indent_width(&text[start..]);
    let mut end = start;
    let mut at = start;
    for (index, line) in text[start..].split_inclusive('\n').enumerate() {
        at += line.len();
        let blank = line.trim().is_empty();
        if index > 0 && !blank && indent_width(line) <= depth {
            break;
        }
        if !blank {
            end = at;
        }
    }
    start..end
}

fn indent_width(line: &str) -> usize {
    line.len() - line.trim_start_matches([' ', '\t']).len()
}

fn require_unchanged(is_safe: bool, path: &RelPath) -> Result<(), MindError> {
    if is_safe {
        Ok(())
    } else {
        Err(MindError::Unsafe {
            path: path.to_string(),
            why: "what is kept would not read as before",
        })
    }
}
