//! `MEMORY.md`: one line for each topic, always loaded, and so never longer
//! than its caps. It contains pointers; the topics are read on demand.
//!
//! Lines that the user wrote stay as they are, in their order. Pointers that do
//! not fit move to pages behind the index, and come back when there is room;
//! the newest pointer always stays.

use std::collections::HashMap;

use jiff::Timestamp;

use super::topics::{self, Topic};
use super::{Error, Home};
use crate::document;
use crate::document::linked_items;
use crate::index::Index;
use crate::knowledge::readme::Listed;
use crate::workspace::{self, Change, Receipt, RelPath, Workspace};

mod settle;
mod units;

use settle::{Candidate, Texts};

/// The index that is shared with the team.
pub const FILE: &str = "MEMORY.md";
/// The index that stays on this machine.
pub const PRIVATE: &str = "MEMORY.local.md";
/// The file that is read where there is no index yet.
pub const FALLBACK: &str = "state.md";

/// Maximum number of lines of an index: clients cut off the rest.
pub const MAX_LINES: usize = 200;
/// Maximum size of an index: clients cut off the rest.
pub const MAX_BYTES: usize = 25_000;

/// Maximum length of the title in a generated line.
const LONGEST_TITLE: usize = 80;
/// Maximum length of the description in a generated line.
const LONGEST_DESCRIPTION: usize = 160;

/// The result of bringing the indexes of a memory up to date.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Indexed {
    /// The files that changed, or that a check would change.
    pub changed: Vec<RelPath>,
    /// Topics that had no pointer.
    pub added: Vec<RelPath>,
    /// Pointers to files that are missing, or that others do not have.
    pub lost: Vec<Lost>,
    /// The indexes with their current size.
    pub files: Vec<IndexFile>,
    pub topics: usize,
    /// Files that could not be read.
    pub problems: Vec<String>,
    pub receipt: Option<Receipt>,
}

/// A pointer whose file is missing, or is missing for others.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Lost {
    pub file: RelPath,
    pub line: usize,
    pub target: String,
}

/// The size of an index, and what does not fit into it.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct IndexFile {
    pub path: RelPath,
    pub lines: usize,
    pub bytes: usize,
    /// Number of topics that only the pages behind the index point to.
    pub more: usize,
    /// Whether the file was longer than clients load.
    pub was_too_long: bool,
}

/// Brings the indexes of a memory up to date. Keeps pointers to missing files
/// unless `drop_lost` is set: the user may have written them.
pub fn index(
    workspace: &Workspace,
    home: &Home,
    drop_lost: bool,
    now: Timestamp,
) -> Result<Indexed, Error> {
    let mut indexed = Indexed::default();
    let what = format!("Index the memory of {home}");
    let receipt = workspace.change(&what, now, |change| {
        let plan = plan(workspace, home, &[], drop_lost, now, |path| {
            change.read_text(path)
        })?;
        plan.stage(change);
        indexed = plan.indexed;
        Ok(())
    })?;
    indexed.receipt = Some(receipt);
    Ok(indexed)
}

/// Reports what [`index`] would do, without changing a file.
pub fn check(workspace: &Workspace, home: &Home, now: Timestamp) -> Result<Indexed, Error> {
    let read = |path: &RelPath| workspace.text_if_there(path);
    Ok(plan(workspace, home, &[], false, now, read)?.indexed)
}

/// Files with the text that they should have, `None` for those to remove.
#[derive(Debug, Default)]
pub(super) struct Plan {
    pub(super) files: Vec<(RelPath, Option<String>)>,
    pub(super) indexed: Indexed,
}

/// Plans both indexes. `overlay` contains topics that are about to be written;
/// the closure reads files as they are.
pub(super) fn plan(
    workspace: &Workspace,
    home: &Home,
    overlay: &[(RelPath, String)],
    drop_lost: bool,
    now: Timestamp,
    mut read: impl FnMut(&RelPath) -> Result<Option<String>, workspace::Error>,
) -> Result<Plan, workspace::Error> {
    let (topics, problems) = topics::list(workspace, home, overlay);
    let uses = uses(workspace);
    let mut plan = Plan::default();
    plan.indexed.topics = topics.len();
    plan.indexed.problems = problems;
    for shelf in &SHELVES {
        let candidates: Vec<Candidate> = topics
            .iter()
            .filter(|topic| topic.is_private() == shelf.private)
            .map(|topic| candidate(topic, &uses, now))
            .collect();
        let index_path = home.folder().join(shelf.index)?;
        let names = shelf.pages(workspace, home);
        let mut before = Texts {
            index: read(&index_path)?,
            pages: Vec::new(),
        };
        for name in &names {
            before.pages.extend(read(&home.folder().join(name)?)?);
        }
        // Nothing is created for a memory without topics.
        if before == Texts::default() && candidates.is_empty() {
            continue;
        }
        // The shared index must not name a private topic, in whatever case its
        // ending is written.
        let exists = |target: &str| shelf.may_point_to(workspace, home, target);
        let settled = settle::settle(shelf, &before, &candidates, &exists, drop_lost);
        for (page, line, target) in settled.lost {
            let name = match page {
                0 => shelf.index.to_owned(),
                page => names.get(page - 1).cloned().unwrap_or_default(),
            };
            let file = home.folder().join(&name)?;
            plan.indexed.lost.push(Lost { file, line, target });
        }
        for target in settled.added {
            plan.indexed.added.push(home.folder().join(&target)?);
        }
        let after = settled.texts;
        let text = after.index.clone().unwrap_or_default();
        let was = before.index.clone().unwrap_or_default();
        plan.indexed.files.push(IndexFile {
            path: index_path.clone(),
            lines: units::lines(&text),
            bytes: text.len(),
            more: settled.more,
            was_too_long: units::lines(&was) > MAX_LINES || was.len() > MAX_BYTES,
        });
        if after.index != before.index {
            plan.put(index_path, after.index);
        }
        let written: Vec<String> = (1..=after.pages.len()).map(|n| shelf.page(n)).collect();
        for (name, text) in written.iter().zip(after.pages) {
            let path = home.folder().join(name)?;
            // An unchanged page must not be reported as changed.
            if read(&path)?.as_deref() != Some(text.as_str()) {
                plan.put(path, Some(text));
            }
        }
        for name in names.iter().filter(|name| !written.contains(name)) {
            plan.put(home.folder().join(name)?, None);
        }
    }
    Ok(plan)
}

impl Plan {
    /// Stages the planned files in a change.
    pub(super) fn stage(&self, change: &mut Change<'_>) {
        for (path, after) in &self.files {
            match after {
                Some(text) => change.write(path, text.as_bytes()),
                None => change.remove(path),
            }
        }
    }

    fn put(&mut self, path: RelPath, after: Option<String>) {
        self.indexed.changed.push(path.clone());
        self.files.push((path, after));
    }
}

/// Returns the name of the index that points to a topic.
pub(super) fn index_of(path: &RelPath) -> &'static str {
    let private = path.is_private();
    SHELVES[usize::from(private)].index
}

/// Updates a topic's line if it still is the line that we generated. A line in
/// other words belongs to its author.
pub(super) fn reword(
    change: &mut Change<'_>,
    workspace: &Workspace,
    home: &Home,
    before: &Topic,
    after: &Topic,
) -> Result<(), workspace::Error> {
    let of = |topic: &Topic| {
        let line = line(&topic.title, &topic.target, &topic.description);
        format!("- {line}")
    };
    let (old, new) = (of(before), of(after));
    if old == new {
        return Ok(());
    }
    let shelf = &SHELVES[usize::from(before.is_private())];
    let mut names = vec![shelf.index.to_owned()];
    names.extend(shelf.pages(workspace, home));
    for name in names {
        let path = home.folder().join(&name)?;
        let Some(text) = change.read_text(&path)? else {
            continue;
        };
        let document = document::parse(text);
        let entries = linked_items::entries(&document)
            .filter(|it| document.str(&it.span).trim_end_matches(['\n', '\r']) == old);
        let edits = entries.map(|it| document::Edit {
            span: it.span.start..it.span.start + old.len(),
            text: new.clone(),
        });
        let edits: Vec<document::Edit> = edits.collect();
        if edits.is_empty() {
            continue;
        }
        let text = document::apply(&document.text, edits);
        let text = text.map_err(|error| workspace::Error::Refused(error.to_string()))?;
        change.write(&path, text);
    }
    Ok(())
}

/// Returns the first sentence of a text that has no description.
pub(super) fn first_sentence(text: &str) -> String {
    let path = RelPath::new("x.md").expect("a constant that is a valid path");
    Listed::new(path, text).summary
}

/// Renders the line of a topic, without its marker.
pub(super) fn line(title: &str, target: &str, description: &str) -> String {
    let link = linked_items::link(&cut(title, LONGEST_TITLE), target);
    let mut text = String::new();
    let mut escaped = false;
    // A link in a description would be a pointer of its own.
    for c in cut(&document::inert_line(description), LONGEST_DESCRIPTION).chars() {
        if matches!(c, '[' | '<') && !escaped {
            text.push('\\');
        }
        text.push(c);
        escaped = c == '\\' && !escaped;
    }
    if text.is_empty() {
        link
    } else {
        format!("{link} — {text}")
    }
}

/// Builds the candidate of a topic from its age and use count.
fn candidate(topic: &Topic, uses: &HashMap<String, u64>, now: Timestamp) -> Candidate {
    // A date in the future must not stay the newest forever.
    let written = topic.written.min(now);
    let used = uses.get(topic.path.as_str()).copied().unwrap_or(0);
    Candidate {
        target: topic.target.clone(),
        line: line(&topic.title, &topic.target, &topic.description),
        worth: worth(topic.importance, age_in_days(written, now), used),
        // The file's time orders topics of one moment.
        written: (written, topic.modified),
    }
}

/// Returns the worth of a pointer: importance, age and use count weigh alike,
/// each from 0 to 1. A month halves the part for age, three uses give half of
/// the part for use.
fn worth(importance: u8, days: f64, uses: u64) -> f64 {
    let uses = uses as f64;
    f64::from(importance) / 10.0 + 30.0 / (30.0 + days) + uses / (uses + 3.0)
}

/// Returns the days between two moments as a fraction, never below 0.
pub(super) fn age_in_days(written: Timestamp, now: Timestamp) -> f64 {
    let seconds = now.as_second().saturating_sub(written.as_second()).max(0);
    seconds as f64 / 86_400.0
}

/// Returns how often each file was found, as far as an index knows.
fn uses(workspace: &Workspace) -> HashMap<String, u64> {
    // Without an index every use count is 0, and the order comes from
    // importance and age.
    let index = Index::open_read_only(&workspace.derived()).ok().flatten();
    let usage = index.and_then(|index| index.usage().ok());
    let of = |it: crate::index::Usage| (it.path, it.count);
    usage.unwrap_or_default().into_iter().map(of).collect()
}

/// Truncates a text to at most `most` characters, at a space if one is near.
fn cut(text: &str, most: usize) -> String {
    match text.char_indices().nth(most) {
        None => text.to_owned(),
        Some((end, _)) => {
            let head = &text[..end];
            // Cuts at a space only if that keeps two thirds of the text.
            let word = head.rfind(' ').filter(|at| at * 3 > end * 2);
            let head = head[..word.unwrap_or(end)].trim_end_matches(['\\', ' ']);
            format!("{head}…")
        }
    }
}

/// An index with the pages behind it.
#[derive(Debug)]
struct Shelf {
    index: &'static str,
    /// The ending of the names of its pages.
    suffix: &'static str,
    private: bool,
}

const SHELVES: [Shelf; 2] = [
    Shelf {
        index: FILE,
        suffix: ".md",
        private: false,
    },
    Shelf {
        index: PRIVATE,
        suffix: workspace::PRIVATE,
        private: true,
    },
];

/// The prefix of the names of pages.
const MORE: &str = "MEMORY-more";

impl Shelf {
    /// Returns the file name of a page, counted from 1.
    fn page(&self, number: usize) -> String {
        match number {
            1 => format!("{MORE}{}", self.suffix),
            _ => format!("{MORE}-{number}{}", self.suffix),
        }
    }

    /// Lists the pages that exist, in their order.
    fn pages(&self, workspace: &Workspace, home: &Home) -> Vec<String> {
        let names = workspace.markdown_in(home.folder().as_str());
        let number = |path: &RelPath| -> Option<usize> {
            let name = path.file_name();
            let middle = name.strip_prefix(MORE)?.strip_suffix(self.suffix)?;
            match middle.strip_prefix('-') {
                None => middle.is_empty().then_some(1),
                Some(digits) => {
                    let number = digits.parse().ok()?;
                    // Only names that we generate: `MEMORY-more-01.md` belongs
                    // to the user.
                    (self.page(number) == name).then_some(number)
                }
            }
        };
        let mut numbers: Vec<usize> = names.iter().filter_map(number).collect();
        numbers.sort_unstable();
        numbers.iter().map(|number| self.page(*number)).collect()
    }

    /// Returns the heading that each page begins with.
    fn title(&self) -> &'static str {
        "# More memories"
    }

    /// Renders the line that leads from the index to its pages.
    fn note(&self, more: usize) -> String {
        let page = self.page(1);
        match more {
            0 => format!("- [More notes]({page}) — what did not fit here"),
            1 => format!("- [1 more memory]({page}) — look there when nothing here fits"),
            _ => format!("- [{more} more memories]({page}) — look there when nothing here fits"),
        }
    }

    /// Renders the line that leads from one page to the next.
    fn next(&self, number: usize) -> String {
        format!("- [More memories]({}) — the next page", self.page(number))
    }

    /// Returns `true` if a line is a generated one, whatever its number.
    fn is_note(&self, text: &str, target: &str) -> bool {
        if !target.starts_with(MORE) {
            return false;
        }
        let text = text.trim();
        let digits: String = text
            .chars()
            .skip_while(|c| !c.is_ascii_digit())
            .take_while(char::is_ascii_digit)
            .collect();
        let more = digits.parse().unwrap_or(0);
        let middle = target
            .strip_prefix(MORE)
            .and_then(|rest| rest.strip_suffix(self.suffix))
            .and_then(|rest| rest.strip_prefix('-'));
        let number = middle.and_then(|digits| digits.parse().ok());
        text == self.note(more) || number.is_some_and(|number| text == self.next(number))
    }

    /// Returns `true` if a file exists and is available to those who read this
    /// index.
    fn may_point_to(&self, workspace: &Workspace, home: &Home, target: &str) -> bool {
        let Ok(path) = home.folder().join(target) else {
            return false;
        };
        (self.private || !path.is_private()) && workspace.absolute(&path).symlink_metadata().is_ok()
    }
}

#[cfg(test)]
mod tests;
