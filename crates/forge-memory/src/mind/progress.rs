//! Reads and writes tasks in `PROGRESS.md`, or in the lists of a workspace's
//! `status.md`. A task belongs to the section above it, whatever words its own
//! line contains.

use std::collections::HashSet;
use std::ops::Range;

use jiff::Timestamp;
use jiff::civil::Date;

use super::fields::TaskFields;
use super::values::{self, apply_edits, edit_text, is_unset, list_marker_length, plain_value};
use super::{MindError, MindFile, MindStore, StateLayoutKind, outline};
use crate::admit;
use crate::document::{
    self, Document, TextEdit, day_of_timestamp, escape_markdown_line, shorten_name,
};
use crate::workspace::ChangeReceipt;

/// The tasks of a progress file.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct ProgressTasks {
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
    /// Whether the task is done.
    pub done: bool,
    /// The day on which it was completed, if the task names one.
    pub completed: Option<Date>,
    /// The nearest heading.
    pub section: String,
    /// The purpose of its section.
    pub bucket: TaskBucket,
    /// The line of the task, counted from 1.
    pub line: usize,
    /// The item's lines, without nested items.
    pub(super) span: Range<usize>,
    /// The position of the character in the box; none for an item without a
    /// box.
    pub(super) mark: Option<Range<usize>>,
}

/// The purpose of a section, derived from its title or from one above it.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub enum TaskBucket {
    /// Tasks at work.
    InProgress,
    /// Tasks that wait for something.
    Blocked,
    /// Tasks to begin next.
    Next,
    /// Tasks that were not begun.
    NotStarted,
    /// Tasks that are done.
    Completed,
    /// Any other section.
    Other,
}

impl TaskBucket {
    /// Classifies a section by its title.
    pub fn from_title(title: &str) -> TaskBucket {
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
            TaskBucket::InProgress
        } else if starts(&["blocked", "blockers", "waiting"]) {
            TaskBucket::Blocked
        } else if starts(&["next", "up next"]) {
            TaskBucket::Next
        } else if starts(&["not started", "todo", "to do", "backlog", "planned"]) {
            TaskBucket::NotStarted
        } else if starts(&["completed", "complete", "done", "finished"]) {
            TaskBucket::Completed
        } else {
            TaskBucket::Other
        }
    }
}

impl ProgressTasks {
    pub(super) fn from_document(document: &Document, layout: StateLayoutKind) -> ProgressTasks {
        let mut tasks: Vec<TaskEntry> = document
            .tasks
            .iter()
            .map(|task| {
                let whole = document.span_text(&task.span);
                task_entry(
                    document,
                    task.span.clone(),
                    text_after_box(whole),
                    task.done,
                    Some(task.mark.clone()),
                )
            })
            .filter(|task| !is_unset(&task.text))
            .collect();
        // A status file lists its work as plain bullets.
        if layout == StateLayoutKind::Manifest {
            tasks.extend(find_plain_items(document));
            tasks.sort_by_key(|task| task.span.start);
        }
        ProgressTasks {
            tasks,
            text: document.text.clone(),
        }
    }

    /// Returns the open tasks in text order.
    pub fn open_tasks(&self) -> impl Iterator<Item = &TaskEntry> {
        self.tasks.iter().filter(|task| !task.done)
    }
}

impl MindStore<'_> {
    /// Reads every task with its section; returns none if the file does not
    /// exist.
    pub fn read_progress(&self) -> Result<Option<ProgressTasks>, MindError> {
        let document = self.parse_document(MindFile::Progress)?;
        Ok(document.map(|document| ProgressTasks::from_document(&document, self.files.layout)))
    }

    /// Adds an open task below the first heading that begins with `section`, or
    /// below a new heading. Returns the section's title.
    pub fn add_task(
        &self,
        text: &str,
        section: &str,
        now: Timestamp,
    ) -> Result<(String, ChangeReceipt), MindError> {
        let task = escape_markdown_line(text);
        let section = escape_markdown_line(section);
        if task.is_empty() {
            return Err(MindError::Empty { what: "task" });
        }
        if section.is_empty() {
            return Err(MindError::Empty { what: "section" });
        }
        let task = self.admit_text(task)?;
        admit::refuse_secrets([section.as_str()])?;
        self.rewrite_file(MindFile::Progress, "Add a task", now, |_, before| {
            let layout = self.files.layout;
            let path = self.files.path(MindFile::Progress);
            let text = before.unwrap_or_else(|| match layout {
                StateLayoutKind::Mind => "# Progress Tracker\n".to_owned(),
                StateLayoutKind::Manifest => "# Status\n".to_owned(),
            });
            let mut title = section.clone();
            let after = edit_text(path, text, |document| {
                match find_section(document, &section) {
                    Some(index) => {
                        title = document.sections[index].title.clone();
                        add_item_edit(document, index, &task, layout)
                    }
                    None => {
                        let level = if layout == StateLayoutKind::Mind {
                            3
                        } else {
                            2
                        };
                        let item = render_item(&task, layout == StateLayoutKind::Mind);
                        values::append_entry(document, level, &section, &item)
                    }
                }
            })?;
            let added = document::parse_document(after.clone());
            if ProgressTasks::from_document(&added, layout)
                .open_tasks()
                .all(|it| it.text != plain_value(&task))
            {
                return Err(MindError::Unsafe {
                    path: path.to_string(),
                    why: "the new task would not be read as one",
                });
            }
            Ok((after, title))
        })
    }

    /// Completes the one open task that equals `text`, or the only one that
    /// contains it. Returns the task's text.
    pub fn complete_task(
        &self,
        text: &str,
        now: Timestamp,
    ) -> Result<(String, ChangeReceipt), MindError> {
        let wanted = plain_value(&escape_markdown_line(text));
        if wanted.is_empty() {
            return Err(MindError::Empty { what: "task" });
        }
        self.rewrite_file(MindFile::Progress, "Complete a task", now, |_, before| {
            let document = document::parse_document(before.unwrap_or_default());
            let progress = ProgressTasks::from_document(&document, self.files.layout);
            let task = pick_task(&progress, &wanted)?;
            let path = self.files.path(MindFile::Progress);
            let mut edits = vec![TextEdit {
                span: item_text_end(&document, &task.span),
                text: format!(" (completed {})", day_of_timestamp(now)),
            }];
            edits.push(match &task.mark {
                Some(mark) => TextEdit {
                    span: mark.clone(),
                    text: "x".to_owned(),
                },
                None => {
                    let line = document.span_text(&task.span);
                    let indent = line.len() - line.trim_start().len();
                    let length = list_marker_length(line.trim_start()).unwrap_or(0);
                    let at = task.span.start + indent + length;
                    TextEdit {
                        span: at..at,
                        text: "[x] ".to_owned(),
                    }
                }
            });
            let done = task.text.clone();
            Ok((apply_edits(path, &document.text, edits)?, done))
        })
    }
}

/// Picks the task that equals `wanted`, else the only one that contains it; of
/// several with the same words the first. Fails if none or different ones match.
fn pick_task<'a>(progress: &'a ProgressTasks, wanted: &str) -> Result<&'a TaskEntry, MindError> {
    let open: Vec<&TaskEntry> = progress.open_tasks().collect();
    let names = |tasks: &[&TaskEntry]| -> Vec<String> {
        tasks
            .iter()
            .map(|task| format!("{} ({})", task.text, task.section))
            .collect()
    };
    let lower = wanted.to_lowercase();
    let filters: [&dyn Fn(&str) -> bool; 4] = [
        &|text| text == wanted,
        &|text| TaskFields::read(text).text == wanted,
        &|text| text.to_lowercase() == lower,
        &|text| text.to_lowercase().contains(&lower),
    ];
    for filter in filters {
        let found: Vec<&TaskEntry> = open.iter().copied().filter(|t| filter(&t.text)).collect();
        match found[..] {
            [] => continue,
            // Tasks of the same words cannot be distinguished by name, so the
            // first one is meant: an agent that repeats a command adds a second.
            [task, ref same @ ..] if same.iter().all(|it| it.text == task.text) => {
                return Ok(task);
            }
            _ => {
                return Err(MindError::Ambiguous {
                    text: wanted.to_owned(),
                    matching: names(&found),
                });
            }
        }
    }
    Err(MindError::NoMatch {
        text: wanted.to_owned(),
        open: names(&open),
    })
}

/// Finds the heading with this title, else the first that begins with it.
fn find_section(document: &Document, section: &str) -> Option<usize> {
    let wanted = plain_value(section).to_lowercase();
    let find = |matches: &dyn Fn(&str) -> bool| {
        document.sections.iter().position(|it| {
            it.level > 1 && matches(&it.title.trim().to_lowercase().replace('’', "'"))
        })
    };
    find(&|title| title == wanted)
        .or_else(|| find(&|title| title == format!("what's {wanted}")))
        .or_else(|| find(&|title| title.starts_with(&wanted)))
}

fn render_item(task: &str, boxed: bool) -> String {
    if boxed {
        format!("- [ ] {task}")
    } else {
        format!("- {task}")
    }
}

fn add_item_edit(
    document: &Document,
    section: usize,
    task: &str,
    layout: StateLayoutKind,
) -> TextEdit {
    let own = document.sections[section].own.clone();
    let has_boxes = document
        .tasks
        .iter()
        .any(|it| it.span.start >= own.start && it.span.end <= own.end);
    let item = render_item(task, layout == StateLayoutKind::Mind || has_boxes);
    let text = values::strip_comments(document, &own);
    // A bullet without words is a person's: no template of ours has one.
    let is_unset = |it: &String| !matches!(it.as_str(), "" | "-") && values::is_filler(it);
    let only_unset = !text.is_empty() && values::split_items(&text).iter().all(is_unset);
    if only_unset && text == document.span_text(&own).trim() {
        return document.replace_section(section, &item);
    }
    let mut edit = document.append_to_section(section, &item);
    // Below a heading without text, tasks follow without a blank line.
    if text.is_empty() && document.span_text(&own).trim().is_empty() {
        let nl = document.newline();
        edit.text = edit.text.replacen(&format!("{nl}{item}"), &item, 1);
    }
    edit
}

fn task_entry(
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
        .map(|title| TaskBucket::from_title(title))
        .find(|bucket| *bucket != TaskBucket::Other)
        .unwrap_or(TaskBucket::Other);
    let (text, completed) = split_completion_date(text);
    TaskEntry {
        text: plain_value(text),
        done,
        completed,
        section: shorten_name(path.last().copied().unwrap_or_default()),
        bucket,
        line: document.line_number_at(span.start),
        span,
        mark,
    }
}

/// Returns the text after the box.
fn text_after_box(item: &str) -> &str {
    item.find(']').map_or(item, |at| &item[at + 1..])
}

/// Splits `Ship it (completed 2026-03-01)` into text and date.
fn split_completion_date(text: &str) -> (&str, Option<Date>) {
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
fn find_plain_items(document: &Document) -> Vec<TaskEntry> {
    let mut found = Vec::new();
    let boxes: HashSet<usize> = document.tasks.iter().map(|it| it.span.start).collect();
    for section in &document.sections {
        let bucket = TaskBucket::from_title(&section.title);
        if section.level < 2 || !matches!(bucket, TaskBucket::InProgress | TaskBucket::Blocked) {
            continue;
        }
        let mut at = section.own.start;
        for line in document.span_text(&section.own).split_inclusive('\n') {
            let start = at;
            at += line.len();
            let text = line.trim_end();
            let Some(length) = list_marker_length(text) else {
                continue;
            };
            let rest = text[length.min(text.len())..].trim_start();
            if boxes.contains(&start) || is_unset(rest) || document.is_in_code(start) {
                continue;
            }
            found.push(task_entry(document, start..at, rest, false, None));
        }
    }
    found
}

/// Returns where the text of an item ends: after its first paragraph, so that
/// the completion date follows all of it and never lands in nested code.
fn item_text_end(document: &Document, span: &Range<usize>) -> Range<usize> {
    let mut end = span.start;
    let mut at = span.start;
    for (index, line) in document.span_text(span).split_inclusive('\n').enumerate() {
        let text = line.trim();
        let opens = ["```", "~~~", ">", "|", "#", "<"]
            .iter()
            .any(|mark| text.starts_with(mark));
        if index > 0 && (text.is_empty() || opens || document.is_in_code(at)) {
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
    pub(crate) bucket: TaskBucket,
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
        let mut buckets = path.iter().rev().map(|title| TaskBucket::from_title(title));
        let bucket = buckets
            .find(|it| *it != TaskBucket::Other)
            .unwrap_or(TaskBucket::Other);
        if section.level < 2 || matches!(bucket, TaskBucket::Completed | TaskBucket::Other) {
            continue;
        }
        let mut at = section.own.start;
        for line in document.span_text(&section.own).split_inclusive('\n') {
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
                heading: shorten_name(document.span_text(&section.heading).trim_end()),
                line: line.to_owned(),
            });
        }
    }
    found
}

/// Parses a long file without its completed sections.
pub(crate) fn work_document(text: &str) -> Document {
    // Every section counts, since later phases may repeat a title.
    let short = outline::outline_sections(text, |_, title| {
        !matches!(
            TaskBucket::from_title(title),
            TaskBucket::Completed | TaskBucket::Other
        )
    });
    document::parse_document(short)
}
