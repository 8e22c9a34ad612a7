//! Keeps the inbox of ideas: one block each, in order of arrival. Nothing is
//! ever moved out of it; the place where an idea belongs is only a suggestion.

use jiff::Timestamp;
use jiff::civil::Date;

use super::values::{self, apply_edits, plain_value};
use super::{MindError, MindStore, StateLayoutKind};
use crate::admit::SubmittedText;
use crate::document::{self, Document, TextEdit, day_of_timestamp, escape_markdown_line};
use crate::state_files::IDEAS_FILE;
use crate::workspace::{ChangeReceipt, RelPath};

/// An idea of the inbox.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Idea {
    /// The title.
    pub title: String,
    /// The day of the idea, if the entry names one.
    pub date: Option<Date>,
    /// The idea in words.
    pub text: String,
    /// The suggested domain; none for `unrouted`.
    pub route: Option<String>,
    /// The line of the entry, counted from 1.
    pub line: usize,
}

/// An idea to add.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct NewIdea {
    /// Defaults to the beginning of the text.
    pub title: Option<String>,
    /// The idea in words.
    pub text: String,
    /// The domain that it probably belongs to.
    pub route: Option<String>,
}

/// Place of a written idea, and whether it was new.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct IdeaOutcome {
    /// The file of the inbox.
    pub path: RelPath,
    /// The title of the entry.
    pub title: String,
    /// `false` if the same idea of that day already exists.
    pub added: bool,
    /// Whether the file was created.
    pub created: bool,
}

const ROUTE_PREFIX: &str = "-> Suggested route:";
const MAX_TITLE_CHARS: usize = 60;

impl MindStore<'_> {
    /// Returns the path of the inbox, whether or not it exists.
    pub fn ideas_path(&self) -> RelPath {
        self.files.ideas_path(self.workspace)
    }

    /// Reads every idea in the order of the file; returns an empty list without
    /// a file.
    pub fn read_ideas(&self) -> Result<Vec<Idea>, MindError> {
        match self.workspace.read_text(&self.ideas_path()) {
            Ok(text) => Ok(parse_ideas(&document::parse_document(text))),
            Err(error) if error.is_not_found() => Ok(Vec::new()),
            Err(error) => Err(error.into()),
        }
    }

    /// Appends an idea to the inbox.
    pub fn add_idea(
        &self,
        new: &NewIdea,
        now: Timestamp,
    ) -> Result<(IdeaOutcome, ChangeReceipt), MindError> {
        let text = escape_markdown_line(&new.text);
        if text.is_empty() {
            return Err(MindError::Empty { what: "idea" });
        }
        let title = match new.title.as_deref().map(escape_markdown_line) {
            Some(title) if !title.is_empty() => title,
            _ => derive_title(&text),
        };
        let title = title.trim_end_matches('#').trim().to_owned();
        let new = self.admit_text(new)?;
        let route = new.route.as_deref().map(escape_markdown_line);
        let route = route.filter(|it| !it.is_empty());
        let route = route.unwrap_or_else(|| "unrouted".to_owned());
        let path = self.ideas_path();
        let date = day_of_timestamp(now);
        self.change_workspace("Keep an idea", now, |change| {
            let before = change.read_text(&path)?;
            let created = before.is_none();
            let document = document::parse_document(before.unwrap_or_else(blank_inbox));
            let known = parse_ideas(&document);
            let mut kept = IdeaOutcome {
                path: path.clone(),
                title: plain_value(&title),
                added: false,
                created,
            };
            let edit = append_idea(&document, &format!("{title} - {date}"), &text, &route);
            let after = apply_edits(&path, &document.text, vec![edit])?;
            let mut all = parse_ideas(&document::parse_document(after.clone()));
            // The new idea must be parsed as the last one, and all others as
            // before.
            let idea = all.pop().filter(|_| all == known);
            let Some(idea) = idea else {
                return Err(MindError::Unsafe {
                    path: path.to_string(),
                    why: "the new idea would not be read as one",
                });
            };
            // Compares parsed ideas, so that a difference in markup does not
            // count.
            let same =
                |it: &Idea| (it.date, &it.title, &it.text) == (idea.date, &idea.title, &idea.text);
            if known.iter().any(same) {
                return Ok(kept);
            }
            change.write(&path, after);
            kept.added = true;
            Ok(kept)
        })
    }
}

impl SubmittedText for NewIdea {
    fn stated_texts(&self) -> Vec<&str> {
        let texts = self.title.iter().chain([&self.text]);
        texts.map(String::as_str).collect()
    }

    fn label_texts(&self) -> Vec<&str> {
        self.route.iter().map(String::as_str).collect()
    }
}

impl super::layout::StateLayout {
    /// Returns the place that the manifest states, else an existing inbox, else
    /// the default of this layout.
    fn ideas_path(&self, workspace: &crate::workspace::Workspace) -> RelPath {
        let known = |path| RelPath::new(path).expect("a constant that is a valid path");
        let resolved = super::layout::resolve_ideas_path(workspace);
        let there = workspace.absolute_path(&resolved).is_file();
        match self.layout {
            StateLayoutKind::Mind if !there => known(IDEAS_FILE.mind),
            _ => resolved,
        }
    }
}

fn blank_inbox() -> String {
    "---\ntags: [inbox]\n---\n# Ideas\n".to_owned()
}

/// Returns the first sentence, truncated to the length of a title.
fn derive_title(text: &str) -> String {
    let end = text.find(". ").unwrap_or(text.len());
    let title = text[..end].trim_end_matches('.');
    escape_markdown_line(&plain_value(&values::truncate_at_word(
        title,
        MAX_TITLE_CHARS,
    )))
}

fn append_idea(document: &Document, title: &str, text: &str, route: &str) -> TextEdit {
    let nl = document.newline();
    document.append_section(3, title, &format!("{text}{nl}{nl}{ROUTE_PREFIX} {route}"))
}

/// Parses headings with a date at their end.
pub(super) fn parse_ideas(document: &Document) -> Vec<Idea> {
    let mut found = Vec::new();
    for section in &document.sections {
        if !(2..=4).contains(&section.level) {
            continue;
        }
        let title = section.title.trim();
        let Some(date) = title.get(title.len().saturating_sub(10)..) else {
            continue;
        };
        let Ok(date) = date.parse::<Date>() else {
            continue;
        };
        let title = title[..title.len() - 10].trim_end_matches([' ', '-', '–', '—']);
        let own = document.span_text(&section.own);
        let mut route = None;
        let mut text = Vec::new();
        for line in own.lines().map(str::trim) {
            let arrow = line.strip_prefix("->").or_else(|| line.strip_prefix('→'));
            match arrow.and_then(|it| it.trim().strip_prefix("Suggested route:")) {
                Some(to) => route = Some(plain_value(to)),
                None if line == "---" => {}
                None => text.push(line),
            }
        }
        found.push(Idea {
            title: plain_value(title),
            date: Some(date),
            text: plain_value(&text.join("\n")),
            route: route.filter(|it| !it.is_empty() && it != "unrouted"),
            line: document.line_number_at(section.heading.start),
        });
    }
    found
}
