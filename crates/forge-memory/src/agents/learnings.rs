//! The learnings of a squad: short dated entries in a file that the squad
//! shares. Any text stays one entry and reads back unchanged; older forms of
//! the file are read as well.

use std::ops::Range;

use jiff::Timestamp;
use jiff::civil::Date;

use super::{AGENT_MEMORY_FOLDER, AgentError, check_folder_name, list_subfolders};
use crate::admit::{self, AdmittedText, SubmittedText};
use crate::document::{self, BlockKind, Document, day_of_timestamp};
use crate::workspace::{ChangeReceipt, RelPath, Workspace};

/// The squad of learnings that belong to no squad.
pub const GENERAL_SQUAD: &str = "general";

/// The category of a learning.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum LearningCategory {
    /// Something that worked.
    Success,
    /// Something that did not work.
    Failure,
    /// Something that repeats.
    Pattern,
    /// A piece of advice.
    Tip,
}

impl LearningCategory {
    /// All categories.
    pub const ALL: [LearningCategory; 4] = [
        LearningCategory::Success,
        LearningCategory::Failure,
        LearningCategory::Pattern,
        LearningCategory::Tip,
    ];

    /// Returns the label of the category.
    pub fn name(self) -> &'static str {
        match self {
            LearningCategory::Success => "Success",
            LearningCategory::Failure => "Failure",
            LearningCategory::Pattern => "Pattern",
            LearningCategory::Tip => "Tip",
        }
    }

    /// Returns the sign before the label.
    pub fn icon(self) -> char {
        match self {
            LearningCategory::Success => '●',
            LearningCategory::Failure => '✗',
            LearningCategory::Pattern => '◆',
            LearningCategory::Tip => '→',
        }
    }

    fn from_name(text: &str) -> Option<LearningCategory> {
        let mut all = LearningCategory::ALL.into_iter();
        all.find(|it| it.name().eq_ignore_ascii_case(text.trim()))
    }

    /// Guesses the category from the words of a text. The first match in this
    /// order wins.
    pub fn guess_from_text(text: &str) -> LearningCategory {
        let text = text.to_lowercase();
        let has = |words: &[&str]| words.iter().any(|word| text.contains(word));
        match () {
            () if has(&["worked", "success", "fixed"]) => LearningCategory::Success,
            () if has(&["failed", "error", "didn't work", "didn’t work"]) => {
                LearningCategory::Failure
            }
            () if has(&["pattern", "always", "whenever"]) => LearningCategory::Pattern,
            () => LearningCategory::Tip,
        }
    }
}

/// The tags, each with the words that suggest it.
const TAG_WORDS: [(&str, &[&str]); 8] = [
    ("auth", &["auth", "login", "token", "session", "password"]),
    ("api", &["api", "endpoint", "request", "response", "rest"]),
    ("bug", &["bug", "fix", "error", "issue", "crash"]),
    (
        "perf",
        &["performance", "slow", "fast", "optimize", "cache"],
    ),
    ("ux", &["user", "ui", "interface", "design", "experience"]),
    ("test", &["test", "spec", "coverage", "assert"]),
    ("db", &["database", "query", "sql", "postgres", "redis"]),
    ("deploy", &["deploy", "release", "production", "staging"]),
];
const MAX_TAGS: usize = 3;

/// Suggests at most three tags by the words of a text. A word counts where a
/// word of the text begins with it: `ui` is not in `build`, and `fix` is in
/// `fixed`.
pub fn suggest_tags(text: &str) -> Vec<String> {
    let text = text.to_lowercase();
    let words: Vec<&str> = text
        .split(|c: char| !c.is_alphanumeric())
        .filter(|word| !word.is_empty())
        .collect();
    let has = |sign: &&str| match sign.len() {
        // Short words are the beginnings of unrelated words.
        0..=3 if *sign != "fix" && *sign != "bug" => words
            .iter()
            .any(|word| word == sign || *word == format!("{sign}s")),
        // The word begins others, such as `restore`.
        _ if *sign == "rest" => words.contains(sign),
        _ => words.iter().any(|word| word.starts_with(*sign)),
    };
    let found = TAG_WORDS.iter().filter(|(_, signs)| signs.iter().any(has));
    found
        .take(MAX_TAGS)
        .map(|(tag, _)| (*tag).to_owned())
        .collect()
}

/// One thing that a squad learnt.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct SquadLearning {
    /// The day of the entry, if it names one.
    pub date: Option<Date>,
    /// Its category.
    pub category: LearningCategory,
    /// What was learnt.
    pub insight: String,
    /// Words to find it by.
    pub tags: Vec<String>,
    /// The occasion on which it was learnt.
    pub context: Option<String>,
}

/// A learning to add.
#[derive(Debug, Clone, Copy)]
pub struct NewLearning<'a> {
    /// What was learnt.
    pub text: &'a str,
    /// The category; none means the one that the text suggests.
    pub category: Option<LearningCategory>,
    /// An empty list means the tags that the text suggests.
    pub tags: &'a [String],
    /// The occasion on which it was learnt.
    pub context: Option<&'a str>,
}

impl SubmittedText for NewLearning<'_> {
    fn stated_texts(&self) -> Vec<&str> {
        [Some(self.text), self.context]
            .into_iter()
            .flatten()
            .collect()
    }

    fn label_texts(&self) -> Vec<&str> {
        self.tags.iter().map(String::as_str).collect()
    }
}

/// The learning that was added, and the receipt of the change.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct SavedLearning {
    /// The file of the learnings.
    pub path: RelPath,
    /// The learning as it is written.
    pub learning: SquadLearning,
    /// Empty if the entry existed already.
    pub receipt: ChangeReceipt,
}

/// Returns the path of the file that a squad shares.
pub fn learnings_path(squad: &str) -> Result<RelPath, AgentError> {
    let squad = check_folder_name("a squad", squad)?;
    Ok(RelPath::new(&format!(
        "{AGENT_MEMORY_FOLDER}/{squad}/shared/learnings.md"
    ))?)
}

/// Lists the squads that have a definition or a memory.
pub fn list_squads(workspace: &Workspace) -> Vec<String> {
    let mut squads = Vec::new();
    for folder in [AGENT_MEMORY_FOLDER, ".agents/squads"] {
        let folder = RelPath::new(folder).expect("a constant that is a valid path");
        squads.extend(list_subfolders(workspace, &folder));
    }
    // `company/` has the strategy of all squads and is none of them.
    squads.retain(|squad| check_folder_name("a squad", squad).is_ok() && squad != "company");
    squads.sort();
    squads.dedup();
    squads
}

/// Returns the squad if it exists, else [`GENERAL_SQUAD`]; the flag is `true` for a
/// fallback.
pub fn resolve_squad(
    workspace: &Workspace,
    squad_name: &str,
) -> Result<(String, bool), AgentError> {
    let squad = check_folder_name("a squad", squad_name)?;
    let known = squad == GENERAL_SQUAD || list_squads(workspace).iter().any(|it| it == squad);
    Ok(if known {
        (squad.to_owned(), false)
    } else {
        (GENERAL_SQUAD.to_owned(), true)
    })
}

/// Adds an entry to the file of a squad. Adding the same entry again on the
/// same day changes nothing.
pub fn add_learning(
    workspace: &Workspace,
    squad: &str,
    new: &NewLearning,
    now: Timestamp,
) -> Result<SavedLearning, AgentError> {
    let path = learnings_path(squad)?;
    let learning = build_learning(&admit::admit_text(workspace, new)?, now)?;
    let receipt = workspace.change(&format!("Learn for {squad}"), now, |change| {
        let before = change.read_text(&path)?;
        let after = append_learning(before, squad, &learning);
        if let Some(after) = after {
            change.write(&path, after);
        }
        Ok(())
    })?;
    Ok(SavedLearning {
        path,
        learning,
        receipt,
    })
}

/// Builds a learning from admitted text. Fails if the text is empty.
pub(super) fn build_learning(
    new: &AdmittedText<&NewLearning>,
    now: Timestamp,
) -> Result<SquadLearning, AgentError> {
    let insight = normalize_lines(new.text);
    if insight.is_empty() {
        return Err(AgentError::NoText);
    }
    let context = new
        .context
        .map(document::escape_markdown_line)
        .map(|it| unescape_line(&it));
    let tags = match new.tags {
        [] => suggest_tags(new.text),
        tags => tags.iter().map(|tag| clean_tag(tag)).collect(),
    };
    Ok(SquadLearning {
        date: Some(day_of_timestamp(now)),
        category: new
            .category
            .unwrap_or_else(|| LearningCategory::guess_from_text(new.text)),
        insight,
        tags: tags.into_iter().filter(|tag| !tag.is_empty()).collect(),
        context: context.filter(|context| !context.is_empty()),
    })
}

/// Returns the text with the entry added, or `None` if it has that entry.
pub(super) fn append_learning(
    before: Option<String>,
    squad: &str,
    learning: &SquadLearning,
) -> Option<String> {
    let before = before.unwrap_or_default();
    let document = document::parse_document(before);
    // Compared as parsed, so that the same entry in an older form counts too.
    if parse_learnings(&document).contains(learning) {
        return None;
    }
    let start = if document.text[document.body.clone()].trim().is_empty() {
        format!("# {squad} - Learnings\n\n> Accumulated knowledge from sessions\n")
    } else {
        String::new()
    };
    Some(append_entry(&document, &start, &render_learning(learning)))
}

/// Returns a text with an entry added at its end, in the file's line ends.
pub(super) fn append_entry(document: &Document, start: &str, entry: &str) -> String {
    let newline = document.newline();
    let mut out = document.text.clone();
    if !start.is_empty() {
        out.push_str(&start.replace('\n', newline));
    }
    if !out.is_empty() && !out.ends_with(['\n', '\r']) {
        out.push_str(newline);
    }
    // An open fence would swallow the entry, and the next one.
    if let Some(code) = document.code.iter().rfind(|code| code.fenced) {
        let text = document.span_text(&code.span);
        let fence: String = {
            // The closing fence must be as long as the opening one, and of its
            // character.
            let first = text.trim_start().chars().next().unwrap_or('`');
            text.trim_start()
                .chars()
                .take_while(|c| *c == first)
                .collect()
        };
        let last = text.trim_end().lines().next_back().unwrap_or_default();
        let is_closed = text.trim_end().lines().count() > 1 && last.trim().starts_with(&fence);
        if !is_closed && code.span.end >= document.text.trim_end().len() {
            out.push_str(&fence);
            out.push_str(newline);
        }
    }
    out.push_str(newline);
    out.push_str(&entry.replace('\n', newline));
    out
}

fn render_learning(learning: &SquadLearning) -> String {
    let date = learning.date.map_or_else(String::new, |it| it.to_string());
    let category = learning.category;
    let mut out = format!(
        "---\n_{date}_\n\n{} **{}**: {}\n",
        category.icon(),
        category.name(),
        escape_labels(&learning.insight)
    );
    if !learning.tags.is_empty() {
        out.push_str(&format!("\nTags: `{}`\n", learning.tags.join(", ")));
    }
    if let Some(context) = &learning.context {
        out.push_str(&format!(
            "\n_Context: {}_\n",
            document::escape_markdown_line(context)
        ));
    }
    out
}

/// Escapes the structure of a text, and lines that would parse as tags or
/// context.
fn escape_labels(text: &str) -> String {
    let block = document::escape_markdown_block(text);
    let lines = block.lines().map(|line| {
        let tags = line.strip_prefix("Tags: `");
        let context = line.strip_prefix("_Context:");
        match (tags, context) {
            (Some(rest), _) => format!("Tags\\: `{rest}"),
            (_, Some(rest)) => format!("\\_Context:{rest}"),
            _ => line.to_owned(),
        }
    });
    lines.collect::<Vec<_>>().join("\n")
}

/// Reverts [`escape_labels`] for one line.
fn unescape_labels(line: &str) -> String {
    let tags = line.strip_prefix("Tags\\: `");
    let context = line.strip_prefix("\\_Context:");
    match (tags, context) {
        (Some(rest), _) => format!("Tags: `{rest}"),
        (_, Some(rest)) => format!("_Context:{rest}"),
        _ => unescape_line(line),
    }
}

/// Parses every entry of a file, in its order, whatever form it has.
pub fn parse_learnings(document: &Document) -> Vec<SquadLearning> {
    find_dated_entries(document)
        .iter()
        .filter_map(|entry| parse_learning(&document.text[entry.body.clone()], entry.date))
        .collect()
}

/// Lists the learnings of a squad, oldest first as in the file.
pub fn list_learnings(
    workspace: &Workspace,
    squad: &str,
) -> Result<Vec<SquadLearning>, AgentError> {
    let text = workspace.read_text_if_present(&learnings_path(squad)?)?;
    Ok(text.map_or_else(Vec::new, |text| {
        parse_learnings(&document::parse_document(text))
    }))
}

/// A dated entry of a file that grows at its end.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) struct DatedEntry {
    pub(super) date: Option<Date>,
    /// From its rule or heading up to the next entry.
    pub(super) span: Range<usize>,
    /// The text after the date.
    pub(super) body: Range<usize>,
}

/// Finds the dated entries of a file. An entry begins with a rule and a date
/// below it, or with a heading that begins with a date; a rule without a date
/// is part of an entry.
pub(super) fn find_dated_entries(document: &Document) -> Vec<DatedEntry> {
    let text = &document.text;
    let mut found: Vec<DatedEntry> = Vec::new();
    for block in &document.blocks {
        let (date, body) = match block.kind {
            BlockKind::Rule => {
                let rest = &text[block.span.end..];
                let skipped = rest.len() - rest.trim_start().len();
                let start = block.span.end + skipped;
                let line = text[start..].lines().next().unwrap_or_default();
                let Some(date) = parse_date_line(line) else {
                    continue;
                };
                (date, start + line.len())
            }
            BlockKind::Heading => {
                let heading = document.section_at(block.span.start);
                let title = heading.map_or("", |section| section.title.as_str());
                let Some(date) = title.get(..10).and_then(|it| it.parse::<Date>().ok()) else {
                    continue;
                };
                // The text after the date is the first line of the entry.
                let line = document.span_text(&block.span);
                let at = line.find(&title[..10]).map_or(line.len(), |at| at + 10);
                (date, block.span.start + at)
            }
            _ => continue,
        };
        if let Some(last) = found.last_mut() {
            last.span.end = block.span.start;
            last.body.end = block.span.start;
        }
        found.push(DatedEntry {
            date: Some(date),
            span: block.span.start..text.len(),
            body: body..text.len(),
        });
    }
    found
}

/// Parses `_2026-03-01_`, `_Date: 2026-03-01_`, `Added: 2026-03-01` and the
/// like.
fn parse_date_line(line: &str) -> Option<Date> {
    let line = line.trim().trim_matches(['_', '*']).trim();
    let line = ["Added:", "Date:", "added:", "date:"]
        .iter()
        .find_map(|label| line.strip_prefix(label))
        .unwrap_or(line);
    let line = line.trim_matches(['_', '*', ' ']);
    let date = line.get(..10)?.parse().ok()?;
    // A sentence that begins with a date is not a date line.
    (line.len() == 10 || line[10..].starts_with(['T', ' ']) && line.len() <= 30).then_some(date)
}

fn parse_learning(body: &str, date: Option<Date>) -> Option<SquadLearning> {
    let (mut tags, mut context) = (Vec::new(), None);
    let mut lines: Vec<&str> = body.lines().map(str::trim_end).collect();
    // Tags and context are at the end, each on a line of its own.
    while let Some(last) = lines.last() {
        let line = last.trim();
        if line.is_empty() {
            lines.pop();
        } else if context.is_none()
            && tags.is_empty()
            && let Some(inner) = line.strip_prefix("_Context:")
            && let Some(inner) = inner.strip_suffix('_')
        {
            context = Some(unescape_line(inner.trim()));
            lines.pop();
        } else if tags.is_empty()
            && let Some(list) = line.strip_prefix("Tags: `")
            && let Some(list) = list.strip_suffix('`')
        {
            tags = list.split(',').map(|tag| tag.trim().to_owned()).collect();
            lines.pop();
            break;
        } else {
            break;
        }
    }
    let text = lines.join("\n");
    // A heading may have a colon between its date and its text.
    let text = text.trim().trim_start_matches(':').trim_start();
    let (category, insight) = split_category_label(text);
    let insight: Vec<String> = insight.lines().map(unescape_labels).collect();
    let insight = insight.join("\n");
    let insight = insight.trim().to_owned();
    (!insight.is_empty()).then(|| SquadLearning {
        date,
        category: category.unwrap_or_else(|| LearningCategory::guess_from_text(&insight)),
        insight,
        tags,
        context,
    })
}

/// Splits `● **Success**: text` into category and text, without the icon.
fn split_category_label(text: &str) -> (Option<LearningCategory>, &str) {
    let bare = text
        .trim_start_matches(['●', '✗', '◆', '→', '✓', '•'])
        .trim_start();
    let parts = bare
        .strip_prefix("**")
        .and_then(|rest| rest.split_once("**"));
    if let Some((name, rest)) = parts {
        let (name, rest) = match name.strip_suffix(':') {
            Some(name) => (name, Some(rest)),
            None => (name, rest.strip_prefix(':')),
        };
        if let (Some(category), Some(rest)) = (LearningCategory::from_name(name), rest) {
            return (Some(category), rest.trim_start());
        }
    }
    (None, text)
}

/// Reverts [`document::escape_markdown_line`] for one line.
pub(super) fn unescape_line(line: &str) -> String {
    let mut plain = String::with_capacity(line.len());
    let mut chars = line.chars().peekable();
    while let Some(c) = chars.next() {
        match c {
            '\\' if chars.peek().is_some_and(char::is_ascii_punctuation) => {
                plain.extend(chars.next());
            }
            c => plain.push(c),
        }
    }
    // Keeps a backslash that the author wrote: only text that escapes to the
    // same line was escaped.
    if document::escape_markdown_line(&plain) == line {
        plain
    } else {
        line.to_owned()
    }
}

/// Returns a text in the form in which it reads back: lines without surrounding
/// spaces.
pub(super) fn normalize_lines(text: &str) -> String {
    let block = document::escape_markdown_block(text);
    block
        .lines()
        .map(unescape_line)
        .collect::<Vec<_>>()
        .join("\n")
}

/// Cleans a tag so that it cannot end its list.
fn clean_tag(tag: &str) -> String {
    let line = document::escape_markdown_line(tag);
    line.replace(['`', ',', '\\'], "").trim().to_owned()
}

#[cfg(test)]
mod tests;
