//! Compresses without loss: old entries move to the archive word for word, and
//! each leaves one line with its id and date. Compression is idempotent, byte
//! for byte, and one undo reverts all of it.

use std::ops::Range;

use jiff::Timestamp;
use jiff::civil::Date;

use super::archive::Archive;
use super::decisions::{self, Decision};
use super::progress::Progress;
use super::sessions::{self, Session};
use super::values::{self, apply, edited};
use super::{Error, File, Layout, Log, Mind, tracking};
use crate::document::{self, Document, Edit, day_of, inert_line};
use crate::tokens::estimate;
use crate::workspace::RelPath;

/// What a compression moved, or would move in a dry run.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Compression {
    pub dry_run: bool,
    pub sessions: Store,
    pub decisions: Store,
    /// Number of tasks that moved.
    pub tasks: usize,
    pub tracking: Vec<(&'static str, Rotation)>,
    /// The change id for [`crate::workspace::Workspace::undo`]; none if nothing
    /// changed.
    pub change: Option<String>,
}

/// Size of one file before and after compression, in estimated tokens, and its
/// entries.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub struct Store {
    pub before: usize,
    pub after: usize,
    pub entries: usize,
    pub compressed: usize,
    pub kept: usize,
}

/// Number of lines of an event log before and after rotation.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub struct Rotation {
    pub before: usize,
    pub after: usize,
}

impl Store {
    /// Returns how many tokens the file shrank by.
    pub fn saved(&self) -> i64 {
        self.before as i64 - self.after as i64
    }
}

impl Compression {
    /// Returns the estimated tokens that every later reader saves.
    pub fn saved(&self) -> i64 {
        self.sessions.saved() + self.decisions.saved()
    }

    /// Returns `true` if nothing was moved.
    pub fn is_nothing(&self) -> bool {
        self.sessions.compressed + self.decisions.compressed + self.tasks == 0
    }
}

/// Number of entries that a dated session log keeps.
pub(super) const DATED_SESSIONS: usize = 10;

const SESSIONS: &str = "Archived Sessions";
const DECISIONS: &str = "Archived Decisions";
const TASKS: &str = "Archived Tasks";

impl Mind<'_> {
    /// Returns `true` if the files exceed the configured size; compares file
    /// sizes only.
    pub fn wants_compression(&self) -> bool {
        self.state_bytes() > self.workspace.config().mind.compress_bytes
    }

    /// Returns the total size of the state files in bytes.
    pub fn state_bytes(&self) -> u64 {
        let mut paths = vec![
            self.file(File::State),
            self.file(File::Progress),
            self.file(File::Decisions),
            self.file(File::SessionLog),
        ];
        paths.dedup();
        let size = |path: &RelPath| {
            std::fs::metadata(self.workspace.absolute(path)).map_or(0, |meta| meta.len())
        };
        paths.iter().map(size).sum()
    }

    /// Moves old entries to the archive. A dry run only reports what would
    /// move.
    pub fn compress(&self, dry_run: bool, now: Timestamp) -> Result<Compression, Error> {
        let mut done = if dry_run {
            let read = |path: &RelPath| self.workspace.text_if_there(path);
            self.plan(read, now)?.report
        } else {
            let (report, receipt) = self.change("Compress the state", now, |change| {
                let plan = self.plan(|path| change.read_text(path), now)?;
                for (path, text) in plan.files {
                    change.write(&path, text);
                }
                Ok(plan.report)
            })?;
            Compression {
                change: receipt.id,
                ..report
            }
        };
        done.dry_run = dry_run;
        for log in Log::ALL {
            done.tracking.push((log.name(), self.rotate(log, dry_run)?));
        }
        Ok(done)
    }

    fn rotate(&self, log: Log, dry_run: bool) -> Result<Rotation, Error> {
        let keep = self.workspace.config().mind.tracking_max_lines;
        if dry_run {
            let before = self.events(log).len();
            return Ok(Rotation {
                before,
                after: before.min(keep),
            });
        }
        let path = tracking::machine(log.name())?;
        let (before, after) = self.workspace.rotate_machine(&path, keep, keep)?;
        Ok(Rotation { before, after })
    }

    fn plan(
        &self,
        mut read: impl FnMut(&RelPath) -> Result<Option<String>, crate::workspace::Error>,
        now: Timestamp,
    ) -> Result<Plan, Error> {
        let config = &self.workspace.config().mind;
        let path = |which| self.files.path(which);
        let archive_path = path(File::Archive);
        let mut archive = Archive::new(archive_path, read(archive_path)?);
        let mut plan = Plan::default();
        if let Some(text) = read(path(File::SessionLog))? {
            let keep = match self.files.layout {
                Layout::Mind => config.keep_sessions,
                Layout::Manifest => DATED_SESSIONS,
            };
            let today = day_of(now);
            let (store, after) = self.compress_sessions(text, keep, today, &mut archive)?;
            plan.report.sessions = store;
            plan.put(path(File::SessionLog), after);
        }
        // Dated lines are short already, and a status file has no list of
        // completed work: only the files of `.mind/` have more to move.
        if self.files.layout == Layout::Mind {
            if let Some(text) = read(path(File::Decisions))? {
                let keep = config.keep_decisions;
                let (store, after) = self.compress_decisions(text, keep, &mut archive)?;
                plan.report.decisions = store;
                plan.put(path(File::Decisions), after);
            }
            if let Some(text) = read(path(File::Progress))? {
                let (tasks, after) = self.archive_tasks(text, now, &mut archive)?;
                plan.report.tasks = tasks;
                plan.put(path(File::Progress), after);
            }
        }
        plan.put(archive_path, archive.finish()?);
        Ok(plan)
    }

    pub(super) fn compress_sessions(
        &self,
        text: String,
        keep: usize,
        today: Date,
        archive: &mut Archive<'_>,
    ) -> Result<(Store, Option<String>), Error> {
        let path = self.files.path(File::SessionLog);
        let document = document::parse(text);
        let layout = self.files.layout;
        let mut all = sessions::in_order(&document);
        let newest_first = sessions::newest_first_on(&all, layout, today);
        if newest_first {
            all.reverse();
        }
        let (old, kept) = all.split_at(all.len().saturating_sub(keep));
        let mut store = Store::of(&document.text, all.len(), old.len());
        if old.is_empty() {
            return Ok((store, None));
        }
        let level = level_at(&document, kept[0].span.start);
        let spans: Vec<Range<usize>> = old.iter().map(|it| it.span.clone()).collect();
        let blocks: Vec<&str> = spans.iter().map(|it| document.str(it)).collect();
        let text = without(path, &document, &spans)?;
        let after = match layout {
            Layout::Mind => {
                archive.add(SESSIONS, document.newline(), &blocks)?;
                let lines: Vec<String> = old.iter().map(session_pointer).collect();
                let heading = format!("{SESSIONS} (compressed)");
                let first = |it: &Document| sessions::in_order(it).first().map(|it| it.span.start);
                let before = if newest_first {
                    None
                } else {
                    Some(&first as _)
                };
                with_pointers(path, text, level, &heading, &lines, before)?
            }
            Layout::Manifest => {
                archive.add_dated(document.newline(), &blocks)?;
                let name = self.files.path(File::Archive);
                with_line_below_title(path, text, &format!("Older sessions: [[{}]]", name.stem()))?
            }
        };
        // The kept entries must be parsed exactly as before, or nothing is
        // written.
        let mut left = sessions::in_order(&document::parse(after.clone()));
        if newest_first {
            left.reverse();
        }
        let same = left
            .iter()
            .map(|it| &it.text)
            .eq(kept.iter().map(|it| &it.text));
        safe(same, path)?;
        store.after = estimate(&after);
        Ok((store, Some(after)))
    }

    fn compress_decisions(
        &self,
        text: String,
        keep: usize,
        archive: &mut Archive<'_>,
    ) -> Result<(Store, Option<String>), Error> {
        let path = self.files.path(File::Decisions);
        let document = document::parse(text);
        let mut all = decisions::blocks(&document);
        let newest_first = decisions::newest_first(&all);
        if newest_first {
            all.reverse();
        }
        let (old, kept) = all.split_at(all.len().saturating_sub(keep));
        let mut store = Store::of(&document.text, all.len(), old.len());
        if old.is_empty() {
            return Ok((store, None));
        }
        let level = level_at(&document, kept[0].span.start);
        let spans: Vec<Range<usize>> = old.iter().map(|it| it.span.clone()).collect();
        let blocks: Vec<&str> = spans.iter().map(|it| document.str(it)).collect();
        let text = without(path, &document, &spans)?;
        archive.add(DECISIONS, document.newline(), &blocks)?;
        let lines: Vec<String> = old.iter().map(decision_pointer).collect();
        let heading = format!("{DECISIONS} (compressed)");
        let first = |it: &Document| decisions::blocks(it).first().map(|it| it.span.start);
        let before = if newest_first {
            None
        } else {
            Some(&first as _)
        };
        let after = with_pointers(path, text, level, &heading, &lines, before)?;
        // The kept entries must be parsed exactly as before, or nothing is
        // written.
        let mut left = decisions::blocks(&document::parse(after.clone()));
        if newest_first {
            left.reverse();
        }
        let same = left
            .iter()
            .map(|it| &it.text)
            .eq(kept.iter().map(|it| &it.text));
        safe(same, path)?;
        store.after = estimate(&after);
        Ok((store, Some(after)))
    }

    fn archive_tasks(
        &self,
        text: String,
        now: Timestamp,
        archive: &mut Archive<'_>,
    ) -> Result<(usize, Option<String>), Error> {
        let path = self.files.path(File::Progress);
        let document = document::parse(text);
        let today = day_of(now);
        let most =
            i32::try_from(self.workspace.config().mind.archive_after_days).unwrap_or(i32::MAX);
        let progress = Progress::read(&document, self.files.layout);
        let mut spans: Vec<Range<usize>> = Vec::new();
        for task in progress.tasks.iter().filter(|it| it.done) {
            let old = task
                .completed
                .is_some_and(|day| (today - day).get_days() > most);
            let item = whole_item(&document, task.span.start);
            let inside = progress.open().any(|it| item.contains(&it.span.start));
            let known = spans.last().is_some_and(|it| it.end > item.start);
            if old && !inside && !known && indent(&document.text[item.start..]) < 2 {
                spans.push(item);
            }
        }
        if spans.is_empty() {
            return Ok((0, None));
        }
        let lines: Vec<&str> = spans
            .iter()
            .map(|it| document.str(it).trim_end_matches(['\n', '\r']))
            .collect();
        let lines = lines.join(document.newline());
        archive.add_below(
            TASKS,
            &format!("Archived on {today}"),
            document.newline(),
            &lines,
        )?;
        let after = without(path, &document, &spans)?;
        let after = with_line_below_title(
            path,
            after,
            "Older completed tasks: [ARCHIVE.md](ARCHIVE.md)",
        )?;
        let left = Progress::read(&document::parse(after.clone()), self.files.layout);
        let open = |it: &Progress| it.open().map(|it| it.text.clone()).collect::<Vec<_>>();
        safe(open(&left) == open(&progress), path)?;
        Ok((spans.len(), Some(after)))
    }
}

#[derive(Debug, Default)]
struct Plan {
    files: Vec<(RelPath, String)>,
    report: Compression,
}

impl Plan {
    fn put(&mut self, path: &RelPath, text: Option<String>) {
        self.files.extend(text.map(|text| (path.clone(), text)));
    }
}

impl Store {
    fn of(text: &str, entries: usize, compressed: usize) -> Store {
        let size = estimate(text);
        Store {
            before: size,
            after: size,
            entries,
            compressed,
            kept: entries - compressed,
        }
    }
}

/// Renders `- Session 3 (2026-01-01 10:00:00): what it was about → ARCHIVE.md`.
fn session_pointer(session: &Session) -> String {
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
        .gist()
        .unwrap_or_else(|| "(session data)".to_owned());
    pointer(&name, &about)
}

/// Renders `- DEC-003 (2026-01-01): title [Final] → ARCHIVE.md`.
fn decision_pointer(decision: &Decision) -> String {
    let id = decision.id.as_deref().unwrap_or("Decision");
    let name = match decision.date {
        Some(date) => format!("{id} ({date})"),
        None => id.to_owned(),
    };
    let status = decision
        .status
        .as_ref()
        .map(|it| format!(" [{}]", values::cut(it, 40)));
    let title = values::cut(&decision.title, 80);
    pointer(&name, &format!("{title}{}", status.unwrap_or_default()))
}

fn pointer(name: &str, about: &str) -> String {
    let about = values::cut(about, 120);
    format!("- {} → ARCHIVE.md", inert_line(&format!("{name}: {about}")))
}

fn level_at(document: &Document, heading: usize) -> u8 {
    document
        .sections
        .iter()
        .find(|it| it.level > 0 && it.heading.start == heading)
        .map_or(2, |it| it.level)
}

fn without(path: &RelPath, document: &Document, spans: &[Range<usize>]) -> Result<String, Error> {
    let removals = spans.iter().map(|span| document.take_out(span.clone()));
    apply(path, &document.text, removals.collect())
}

type Place<'a> = &'a dyn Fn(&Document) -> Option<usize>;

/// Inserts the lines that replace moved entries into their section. A new
/// section goes before the first entry, or to the end of the file.
fn with_pointers(
    path: &RelPath,
    text: String,
    level: u8,
    heading: &str,
    lines: &[String],
    before: Option<Place<'_>>,
) -> Result<String, Error> {
    edited(path, text, |document| {
        let body = lines.join("\n");
        if let Some(section) = document.find_section(heading) {
            return document.append_to_section(section, &body);
        }
        match before.and_then(|place| place(document)) {
            Some(at) => {
                let nl = document.newline();
                let marks = "#".repeat(usize::from(level));
                let body = lines.join(nl);
                Edit {
                    span: at..at,
                    text: format!("{marks} {heading}{nl}{body}{nl}{nl}"),
                }
            }
            None => values::append_entry(document, level, heading, &body),
        }
    })
}

pub(super) fn with_line_below_title(
    path: &RelPath,
    text: String,
    line: &str,
) -> Result<String, Error> {
    if text.lines().any(|it| it.trim() == line) {
        return Ok(text);
    }
    edited(path, text, |document| values::below_title(document, line))
}

/// Returns the span of a list item with everything nested in it.
fn whole_item(document: &Document, start: usize) -> Range<usize> {
    let text = &document.text;
    let start = text[..start].rfind('\n').map_or(0, |at| at + 1);
    let depth = indent(&text[start..]);
    let mut end = start;
    let mut at = start;
    for (index, line) in text[start..].split_inclusive('\n').enumerate() {
        at += line.len();
        let blank = line.trim().is_empty();
        if index > 0 && !blank && indent(line) <= depth {
            break;
        }
        if !blank {
            end = at;
        }
    }
    start..end
}

fn indent(line: &str) -> usize {
    line.len() - line.trim_start_matches([' ', '\t']).len()
}

fn safe(is_safe: bool, path: &RelPath) -> Result<(), Error> {
    if is_safe {
        Ok(())
    } else {
        Err(Error::Unsafe {
            path: path.to_string(),
            why: "what is kept would not read as before",
        })
    }
}
