//! Reads and writes tasks in `PROGRESS.md`, or in the lists of a workspace's
//! `status.md`. A task belongs to the section above it, whatever words its own
//! line contains.

use std::collections::HashSet;
use std::ops::Range;

use jiff::Timestamp;
use jiff::civil::Date;

use super::fields::Fields;
use super::values::{self, apply, edited, is_unset, marker, plain};
use super::{Error, File, Layout, Mind, outline};
use crate::admit;
use crate::document::{self, Document, Edit, day_of, inert_line, short_name};
use crate::workspace::Receipt;

/// The tasks of a progress file.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Progress {
    /// The tasks in text order.
    pub tasks: Vec<TaskEntry>,
    /// The file verbatim.
    pub text: String,
}

/// A task of a progress file.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct TaskEntry {
    /// One line, without marker, box and completion date.
    pub text: String,
    pub done: bool,
    pub completed: Option<Date>,
    /// The nearest heading.
    pub section: String,
    pub bucket: Bucket,
    pub line: usize,
    /// The item's lines, without nested items.
    pub(super) span: Range<usize>,
    /// The position of the character in the box; none for an item without a
    /// box.
    pub(super) mark: Option<Range<usize>>,
}

/// The purpose of a section, derived from its title or from one above it.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub enum Bucket {
    InProgress,
    Blocked,
    Next,
    NotStarted,
    Completed,
    Other,
}

impl Bucket {
    /// Classifies a section by its title.
    pub fn of(title: &str) -> Bucket {
        // No bucket title is longer than this, and a title is classified for
        // every task.
        let title = title.trim();
        let title = title[..title.floor_char_boundary(64)].to_lowercase();
        let title = title.replace('’', "'");
        let title = title.strip_prefix("what's ").unwrap_or(&title);
        let starts = |words: &[&str]| words.iter().any(|word| title.starts_with(word));
        if starts(&[
            "in progress",
            "in-progress",
            "active",
            "doing",
            "current work",
        ]) {
            Bucket::InProgress
        } else if starts(&["blocked", "blockers", "waiting"]) {
            Bucket::Blocked
        } else if starts(&["next", "up next"]) {
            Bucket::Next
        } else if starts(&["not started", "todo", "to do", "backlog", "planned"]) {
            Bucket::NotStarted
        } else if starts(&["completed", "complete", "done", "finished"]) {
            Bucket::Completed
        } else {
            Bucket::Other
        }
    }
}

impl Progress {
    pub(super) fn read(document: &Document, layout: Layout) -> Progress {
        let mut tasks: Vec<TaskEntry> = document
            .tasks
            .iter()
            .map(|task| {
                let whole = document.str(&task.span);
                entry(
                    document,
                    task.span.clone(),
                    box_text(whole),
                    task.done,
                    Some(task.mark.clone()),
                )
            })
            .filter(|task| !is_unset(&task.text))
            .collect();
        // A status file lists its work as plain bullets.
        if layout == Layout::Manifest {
            tasks.extend(plain_items(document));
            tasks.sort_by_key(|task| task.span.start);
        }
        Progress {
            tasks,
            text: document.text.clone(),
        }
    }

    /// Returns the open tasks in text order.
    pub fn open(&self) -> impl Iterator<Item = &TaskEntry> {
        self.tasks.iter().filter(|task| !task.done)
    }

    /// Returns the open tasks in sections of one kind.
    pub fn open_in(&self, bucket: Bucket) -> impl Iterator<Item = &TaskEntry> {
        self.open().filter(move |task| task.bucket == bucket)
    }
}

impl Mind<'_> {
    /// Reads every task with its section; returns none if the file does not
    /// exist.
    pub fn progress(&self) -> Result<Option<Progress>, Error> {
        let document = self.document(File::Progress)?;
        Ok(document.map(|document| Progress::read(&document, self.files.layout)))
    }

    /// Adds an open task below the first heading that begins with `section`, or
    /// below a new heading. Returns the section's title.
    pub fn task_add(
        &self,
        text: &str,
        section: &str,
        now: Timestamp,
    ) -> Result<(String, Receipt), Error> {
        let task = inert_line(text);
        let section = inert_line(section);
        if task.is_empty() {
            return Err(Error::Empty { what: "task" });
        }
        if section.is_empty() {
            return Err(Error::Empty { what: "section" });
        }
        let task = self.admit(task)?;
        admit::refuse_secrets([section.as_str()])?;
        self.rewrite(File::Progress, "Add a task", now, |_, before| {
            let layout = self.files.layout;
            let path = self.files.path(File::Progress);
            let text = before.unwrap_or_else(|| match layout {
                Layout::Mind => "# Progress Tracker\n".to_owned(),
                Layout::Manifest => "# Status\n".to_owned(),
            });
            let mut title = section.clone();
            let after = edited(path, text, |document| {
                match find_section(document, &section) {
                    Some(index) => {
                        title = document.sections[index].title.clone();
                        add_item(document, index, &task, layout)
                    }
                    None => {
                        let level = if layout == Layout::Mind { 3 } else { 2 };
                        let item = item(&task, layout == Layout::Mind);
                        values::append_entry(document, level, &section, &item)
                    }
                }
            })?;
            let added = document::parse(after.clone());
            if Progress::read(&added, layout)
                .open()
                .all(|it| it.text != plain(&task))
            {
                return Err(Error::Unsafe {
                    path: path.to_string(),
                    why: "the new task would not be read as one",
                });
            }
            Ok((after, title))
        })
    }

    /// Completes the one open task that equals `text`, or the only one that
    /// contains it. Returns the task's text.
    pub fn task_done(&self, text: &str, now: Timestamp) -> Result<(String, Receipt), Error> {
        let wanted = plain(&inert_line(text));
        if wanted.is_empty() {
            return Err(Error::Empty { what: "task" });
        }
        self.rewrite(File::Progress, "Complete a task", now, |_, before| {
            let document = document::parse(before.unwrap_or_default());
            let progress = Progress::read(&document, self.files.layout);
            let task = pick(&progress, &wanted)?;
            let path = self.files.path(File::Progress);
            let mut edits = vec![Edit {
                span: end_of_text(&document, &task.span),
                text: format!(" (completed {})", day_of(now)),
            }];
            edits.push(match &task.mark {
                Some(mark) => Edit {
                    span: mark.clone(),
                    text: "x".to_owned(),
                },
                None => {
                    let line = document.str(&task.span);
                    let indent = line.len() - line.trim_start().len();
                    let length = marker(line.trim_start()).unwrap_or(0);
                    let at = task.span.start + indent + length;
                    Edit {
                        span: at..at,
                        text: "[x] ".to_owned(),
                    }
                }
            });
            let done = task.text.clone();
            Ok((apply(path, &document.text, edits)?, done))
        })
    }
}

/// Picks the task that equals `wanted`, else the only one that contains it.
/// Fails if none or several match.
fn pick<'a>(progress: &'a Progress, wanted: &str) -> Result<&'a TaskEntry, Error> {
    let open: Vec<&TaskEntry> = progress.open().collect();
    let names = |tasks: &[&TaskEntry]| -> Vec<String> {
        tasks
            .iter()
            .map(|task| format!("{} ({})", task.text, task.section))
            .collect()
    };
    let lower = wanted.to_lowercase();
    let filters: [&dyn Fn(&str) -> bool; 4] = [
        &|text| text == wanted,
        &|text| Fields::read(text).text == wanted,
        &|text| text.to_lowercase() == lower,
        &|text| text.to_lowercase().contains(&lower),
    ];
    for filter in filters {
        let found: Vec<&TaskEntry> = open.iter().copied().filter(|t| filter(&t.text)).collect();
        match found[..] {
            [] => continue,
            [task] => return Ok(task),
            _ => {
                return Err(Error::Ambiguous {
                    text: wanted.to_owned(),
                    matching: names(&found),
                });
            }
        }
    }
    Err(Error::NoMatch {
        text: wanted.to_owned(),
        open: names(&open),
    })
}

/// Finds the heading with this title, else the first that begins with it.
fn find_section(document: &Document, section: &str) -> Option<usize> {
    let wanted = plain(section).to_lowercase();
    let find = |matches: &dyn Fn(&str) -> bool| {
        document.sections.iter().position(|it| {
            it.level > 1 && matches(&it.title.trim().to_lowercase().replace('’', "'"))
        })
    };
    find(&|title| title == wanted)
        .or_else(|| find(&|title| title == format!("what's {wanted}")))
        .or_else(|| find(&|title| title.starts_with(&wanted)))
}

fn item(task: &str, boxed: bool) -> String {
    if boxed {
        format!("- [ ] {task}")
    } else {
        format!("- {task}")
    }
}

fn add_item(document: &Document, section: usize, task: &str, layout: Layout) -> Edit {
    let own = document.sections[section].own.clone();
    let has_boxes = document
        .tasks
        .iter()
        .any(|it| it.span.start >= own.start && it.span.end <= own.end);
    let item = item(task, layout == Layout::Mind || has_boxes);
    let text = values::without_comments(document, &own);
    let only_unset =
        !text.is_empty() && values::items(&text).iter().all(|it| values::is_filler(it));
    if only_unset && text == document.str(&own).trim() {
        return document.replace_section(section, &item);
    }
    let mut edit = document.append_to_section(section, &item);
    // Below a heading without text, tasks follow without a blank line.
    if text.is_empty() && document.str(&own).trim().is_empty() {
        let nl = document.newline();
        edit.text = edit.text.replacen(&format!("{nl}{item}"), &item, 1);
    }
    edit
}

fn entry(
    document: &Document,
    span: Range<usize>,
    text: &str,
    done: bool,
    mark: Option<Range<usize>>,
) -> TaskEntry {
    let section = document
        .sections
        .partition_point(|section| section.heading.start <= span.start)
        .saturating_sub(1);
    let path = document.heading_path(section);
    let bucket = path
        .iter()
        .rev()
        .map(|title| Bucket::of(title))
        .find(|bucket| *bucket != Bucket::Other)
        .unwrap_or(Bucket::Other);
    let (text, completed) = without_completion(text);
    TaskEntry {
        text: plain(text),
        done,
        completed,
        section: short_name(path.last().copied().unwrap_or_default()),
        bucket,
        line: document.line_of(span.start),
        span,
        mark,
    }
}

/// Returns the text after the box.
fn box_text(item: &str) -> &str {
    item.find(']').map_or(item, |at| &item[at + 1..])
}

/// Splits `Ship it (completed 2026-03-01)` into text and date.
fn without_completion(text: &str) -> (&str, Option<Date>) {
    let Some(at) = text.rfind("(completed ") else {
        return (text, None);
    };
    let rest = &text[at + "(completed ".len()..];
    let Some((date, tail)) = rest.split_once(')') else {
        return (text, None);
    };
    match (date.trim().parse().ok(), tail.trim().is_empty()) {
        (Some(date), true) => (&text[..at], Some(date)),
        (Some(date), false) => (text, Some(date)),
        (None, _) => (text, None),
    }
}

/// Parses bullets without a box in the sections that list work.
fn plain_items(document: &Document) -> Vec<TaskEntry> {
    let mut found = Vec::new();
    let boxes: HashSet<usize> = document.tasks.iter().map(|it| it.span.start).collect();
    for section in &document.sections {
        let bucket = Bucket::of(&section.title);
        if section.level < 2 || !matches!(bucket, Bucket::InProgress | Bucket::Blocked) {
            continue;
        }
        let mut at = section.own.start;
        for line in document.str(&section.own).split_inclusive('\n') {
            let start = at;
            at += line.len();
            let text = line.trim_end();
            let Some(length) = marker(text) else { continue };
            let rest = text[length.min(text.len())..].trim_start();
            if boxes.contains(&start) || is_unset(rest) || document.in_code(start) {
                continue;
            }
            found.push(entry(document, start..at, rest, false, None));
        }
    }
    found
}

/// Returns where the text of an item ends: after its first paragraph, so that
/// the completion date follows all of it and never lands in nested code.
fn end_of_text(document: &Document, span: &Range<usize>) -> Range<usize> {
    let mut end = span.start;
    let mut at = span.start;
    for (index, line) in document.str(span).split_inclusive('\n').enumerate() {
        let text = line.trim();
        let opens = ["```", "~~~", ">", "|", "#", "<"]
            .iter()
            .any(|mark| text.starts_with(mark));
        if index > 0 && (text.is_empty() || opens || document.in_code(at)) {
            break;
        }
        end = at + line.trim_end().len();
        at += line.len();
    }
    end..end
}

/// A line of a section about current work.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct WorkLine {
    pub(crate) bucket: Bucket,
    /// The heading as it appears in the file.
    pub(crate) heading: String,
    pub(crate) line: String,
}

/// Collects the lines of sections about current work, in text order, without
/// completed tasks.
pub(crate) fn work_lines(document: &Document) -> Vec<WorkLine> {
    let mut found = Vec::new();
    for (index, section) in document.sections.iter().enumerate() {
        let path = document.heading_path(index);
        let mut buckets = path.iter().rev().map(|title| Bucket::of(title));
        let bucket = buckets
            .find(|it| *it != Bucket::Other)
            .unwrap_or(Bucket::Other);
        if section.level < 2 || matches!(bucket, Bucket::Completed | Bucket::Other) {
            continue;
        }
        let mut at = section.own.start;
        for line in document.str(&section.own).split_inclusive('\n') {
            let start = at;
            at += line.len();
            let done = document
                .tasks
                .iter()
                .any(|task| task.done && task.span.contains(&start));
            let line = line.trim_end();
            let comment = document.comments.iter().any(|it| it.contains(&start));
            if done || comment || is_unset(line) {
                continue;
            }
            found.push(WorkLine {
                bucket,
                heading: short_name(document.str(&section.heading).trim_end()),
                line: line.to_owned(),
            });
        }
    }
    found
}

/// Parses a long file without its completed sections.
pub(crate) fn work_document(text: &str) -> Document {
    // Every section counts, since later phases may repeat a title.
    let short = outline::sections(text, |_, title| {
        !matches!(Bucket::of(title), Bucket::Completed | Bucket::Other)
    });
    document::parse(short)
}
