//! Saving a topic in two steps that happen together: the topic's file, then the
//! pointer to it. Text that should not be kept is refused with the reason, and
//! a similar topic is named instead of written again.

use std::collections::HashSet;

use jiff::Timestamp;

use super::topics::{self, TopicFile, TopicType, is_topic};
use super::{AgentError, MemoryHome, pointers};
use crate::admit::{self, AdmittedText, SubmittedText};
use crate::document::{self, Document, TextEdit};
use crate::index::terms::fold_text;
use crate::teams::private;
use crate::workspace::{
    self, ChangeReceipt, PRIVATE_SUFFIX, RelPath, Workspace, WorkspaceChange, slugify_name,
};

/// A topic to save.
#[derive(Debug, Clone, Copy)]
pub struct NewTopic<'a> {
    /// The name, from which the file's name is made.
    pub name: &'a str,
    /// One line; the first sentence of the body if it is missing.
    pub description: Option<&'a str>,
    /// The type of the topic.
    pub kind: TopicType,
    /// The text of the topic.
    pub body: &'a str,
    /// From 1 to 10.
    pub importance: Option<u8>,
    /// Whether the topic stays on this machine; by default topics about a
    /// person do.
    pub private: Option<bool>,
    /// Whether to keep it in addition to similar topics.
    pub allow_similar: bool,
}

/// Changes to a topic; everything else in it stays.
#[derive(Debug, Clone, Copy, Default)]
pub struct TopicUpdate<'a> {
    /// The new description; none keeps the old one.
    pub description: Option<&'a str>,
    /// The new type; none keeps the old one.
    pub kind: Option<TopicType>,
    /// The new importance, from 1 to 10; none keeps the old one.
    pub importance: Option<u8>,
    /// Text to add; empty if only the front matter changes.
    pub body: &'a str,
    /// The section that the text replaces; a missing section is added.
    pub section: Option<&'a str>,
}

impl SubmittedText for NewTopic<'_> {
    fn stated_texts(&self) -> Vec<&str> {
        let texts = [Some(self.name), self.description, Some(self.body)];
        texts.into_iter().flatten().collect()
    }
}

impl SubmittedText for TopicUpdate<'_> {
    fn stated_texts(&self) -> Vec<&str> {
        let texts = [self.description, Some(self.body)];
        texts.into_iter().flatten().collect()
    }

    fn label_texts(&self) -> Vec<&str> {
        self.section.into_iter().collect()
    }
}

/// The topic that was written, with its index and receipt.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct RememberedTopic {
    /// The path of the topic.
    pub path: RelPath,
    /// The index that points to the topic.
    pub index: RelPath,
    /// The receipt of the change, which covers topic and index.
    pub receipt: ChangeReceipt,
    /// Pointers that moved to make room, or lead nowhere.
    pub indexed: pointers::PointerReport,
}

/// Writes a topic and the pointer to it. Fails if a similar topic exists,
/// unless [`NewTopic`] allows it.
pub fn remember_topic(
    workspace: &Workspace,
    home: &MemoryHome,
    new: &NewTopic,
    now: Timestamp,
) -> Result<RememberedTopic, AgentError> {
    let body = clean_body(new.body);
    if body.is_empty() {
        return Err(AgentError::NoText);
    }
    admit::refuse_secrets([home.to_string().as_str()])?;
    let new = admit::admit_text(workspace, new)?;
    refuse_kept_elsewhere(&body)?;
    let own = new.private.unwrap_or(new.kind == TopicType::User);
    let suffix = if own { PRIVATE_SUFFIX } else { ".md" };
    let path = home.file_path(&format!("{}{suffix}", slugify_name(new.name)?))?;
    // On file systems that ignore case, `memory.md` is the index.
    let name = path.file_name();
    let is_index = name.starts_with("memory.") || name.starts_with("memory-more");
    if !is_topic(home, &path) || is_index {
        return Err(AgentError::NotATopic { path });
    }
    let text = render_topic(&new, &body, now)?;
    write_topic(workspace, home, &path, now, |_, topics| {
        let wanted = TopicFile::from_text(home, path.clone(), text.clone(), now);
        let same_file = topics.iter().find(|it| {
            // Some file systems ignore case.
            it.path.as_str().to_lowercase() == path.as_str().to_lowercase()
        });
        let like = same_file.or_else(|| {
            if new.allow_similar {
                None
            } else {
                topics.iter().find(|topic| is_same_topic(topic, &wanted))
            }
        });
        match like {
            Some(topic) => Err(AgentError::Known {
                path: topic.path.clone(),
                title: topic.title.clone(),
            }),
            None => Ok(text.clone()),
        }
    })
}

/// Adds text to a topic, or replaces one of its sections.
pub fn update_topic(
    workspace: &Workspace,
    home: &MemoryHome,
    file: &str,
    update: &TopicUpdate,
    now: Timestamp,
) -> Result<RememberedTopic, AgentError> {
    let body = clean_body(update.body);
    let update = admit::admit_text(workspace, update)?;
    refuse_kept_elsewhere(&body)?;
    let path = resolve_topic_path(home, file)?;
    write_topic(workspace, home, &path, now, |change, _| {
        let Some(before) = change.read_text(&path)? else {
            return Err(AgentError::NoTopic { path: path.clone() });
        };
        let mut after = before.clone();
        let mut set = |key: &str, value: &str| -> Result<(), AgentError> {
            after = apply_edit(&after, |document| document.set_front_matter(key, value))?;
            Ok(())
        };
        if let Some(description) = update.description {
            set("description", &document::escape_markdown_line(description))?;
        }
        if let Some(kind) = update.kind {
            set("type", kind.name())?;
        }
        if let Some(importance) = update.importance {
            set("importance", &importance.to_string())?;
        }
        if !body.is_empty() {
            after = insert_body(&after, update.section, &body)?;
        }
        if after != before {
            after = apply_edit(&after, |it| {
                it.set_front_matter("modified", &format_timestamp(now))
            })?;
        }
        Ok(after)
    })
}

/// Resolves the file name of a topic: from the folder of the memory, or from
/// the root of the workspace.
fn resolve_topic_path(home: &MemoryHome, file: &str) -> Result<RelPath, AgentError> {
    let from_root = RelPath::new(file)?;
    let path = if from_root.starts_with(home.folder().as_str()) {
        from_root
    } else {
        home.file_path(file)?
    };
    if is_topic(home, &path) {
        Ok(path)
    } else {
        Err(AgentError::NotATopic { path })
    }
}

/// Writes a topic and both indexes in one change. The closure returns the
/// topic's text, or the reason to refuse it, from the state under the lock.
fn write_topic(
    workspace: &Workspace,
    home: &MemoryHome,
    path: &RelPath,
    now: Timestamp,
    text: impl FnOnce(&mut WorkspaceChange<'_>, &[TopicFile]) -> Result<String, AgentError>,
) -> Result<RememberedTopic, AgentError> {
    let what = format!("Remember {path}");
    let (indexed, receipt) = workspace.change_with(&what, now, |change| {
        let (topics, _) = topics::list_topics(workspace, home, &[]);
        let text = text(change, &topics)?;
        let before = topics.iter().find(|topic| topic.path == *path);
        // The file is about to be written, so that it counts as newer than
        // every other.
        let after = TopicFile::from_text(home, path.clone(), text.clone(), Timestamp::MAX);
        change.write(path, text.as_bytes());
        // The rule that git ignores private files is part of the same change,
        // so that the first private topic is never visible to git.
        if path.is_private()
            && let Some(rule) = private::propose_ignore_rule(workspace)?
        {
            // Read for its side effect: the change is refused if the file
            // differs by the time of the write.
            change.read(&rule.path)?;
            change.write(&rule.path, rule.after);
        }
        if let Some(before) = before {
            // Before the plan, which reads the index as this change leaves it.
            pointers::reword_pointer(change, workspace, home, before, &after)?;
        }
        let overlay = [(path.clone(), text)];
        let plan = pointers::plan_pointers(workspace, home, &overlay, false, now, |path| {
            change.read_text(path)
        })?;
        plan.stage_files(change);
        Ok::<_, AgentError>(plan.indexed)
    })?;
    Ok(RememberedTopic {
        path: path.clone(),
        index: home.file_path(pointers::index_name_of(path))?,
        receipt,
        indexed,
    })
}

/// Renders the front matter and the body of a new topic.
fn render_topic(
    new: &AdmittedText<&NewTopic>,
    body: &str,
    now: Timestamp,
) -> Result<String, AgentError> {
    let name = document::escape_markdown_line(new.name);
    let described = new.description.map(document::escape_markdown_line);
    let described = described.filter(|it| !it.is_empty());
    let description = described.unwrap_or_else(|| pointers::first_sentence(body));
    let importance = new.importance.map(|it| it.to_string());
    let mut text = String::new();
    let entries = [
        ("name", Some(name)),
        ("description", Some(description)),
        ("type", Some(new.kind.name().to_owned())),
        ("importance", importance),
        ("modified", Some(format_timestamp(now))),
    ];
    for (key, value) in entries {
        let Some(value) = value.filter(|value| !value.is_empty()) else {
            continue;
        };
        text = apply_edit(&text, |document| document.set_front_matter(key, &value))?;
    }
    Ok(format!("{text}\n{body}\n"))
}

/// Adds text at the end, or sets a section. Text that is already there is not
/// added again, so that saving is idempotent.
fn insert_body(text: &str, section: Option<&str>, body: &str) -> Result<String, AgentError> {
    let Some(title) = section else {
        if document::normalize_text(text).contains(body) {
            return Ok(text.to_owned());
        }
        return apply_edit(text, |document| {
            let last = document.sections.len() - 1;
            document.append_to_section(last, body)
        });
    };
    // A heading in the text would end its section.
    let has_headings = document::parse_document(body).sections.len() > 1;
    let body = if has_headings {
        document::escape_markdown_block(body)
    } else {
        body.to_owned()
    };
    apply_edit(text, |document| match document.find_section(title) {
        Some(section) => document.replace_section(section, &body),
        None => document.append_section(2, title, &body),
    })
}

/// Applies one edit. Fails if the edit does not fit the text.
fn apply_edit(text: &str, edit: impl FnOnce(&Document) -> TextEdit) -> Result<String, AgentError> {
    let document = document::parse_document(text);
    let edit = edit(&document);
    let after = document::apply_edits(text, vec![edit]);
    after.map_err(|error| workspace::WorkspaceError::Refused(error.to_string()).into())
}

/// Removes the byte order mark, carriage returns and blank lines around a text.
fn clean_body(body: &str) -> String {
    let body = body.trim_start_matches('\u{feff}').replace("\r\n", "\n");
    body.trim_matches('\n').trim_end().to_owned()
}

/// Formats a time as UTC with milliseconds, so that of two memories one is the
/// newer.
fn format_timestamp(now: Timestamp) -> String {
    format!("{now:.3}")
}

/// Refuses diffs, logs and stack traces. A program cannot judge a memory, but
/// git and the terminal keep these anyway.
fn refuse_kept_elsewhere(body: &str) -> Result<(), AgentError> {
    let lines: Vec<&str> = body
        .lines()
        .map(str::trim_end)
        .filter(|line| !line.is_empty() && !line.starts_with("```"))
        .collect();
    let first = lines.first().copied().unwrap_or_default();
    let has = |start: &str| lines.iter().any(|line| line.starts_with(start));
    let is_commit = |line: &str| {
        let id = line.strip_prefix("commit ").unwrap_or_default();
        id.len() >= 40 && id.bytes().take(40).all(|byte| byte.is_ascii_hexdigit())
    };
    let frames = lines
        .iter()
        .filter(|line| {
            let line = line.trim_start();
            line.starts_with("at ") && line.contains(':') || line.starts_with("File \"")
        })
        .count();
    let what = if first.starts_with("diff --git ")
        || first.starts_with("--- ") && has("+++ ") && has("@@ ")
    {
        "a diff"
    } else if is_commit(first) && has("Author: ") {
        "a `git log`"
    } else if first.starts_with("Traceback (most recent call last)")
        || first.starts_with("thread '") && first.contains("panicked at")
        || frames >= 3 && frames * 2 > lines.len()
    {
        "a stack trace"
    } else {
        return Ok(());
    };
    Err(AgentError::KeptElsewhere { what })
}

/// Minimum similarity of two names for them to be one topic.
const SAME_NAME_SIMILARITY: f64 = 0.85;
/// Minimum share of common words for two texts to be one topic.
const SAME_TEXT_SIMILARITY: f64 = 0.7;
/// Minimum number of words for a comparison of texts.
const MIN_COMPARED_WORDS: usize = 8;

/// Returns `true` if two topics are probably the same.
fn is_same_topic(a: &TopicFile, b: &TopicFile) -> bool {
    let (first, second) = (fold_text(&a.title), fold_text(&b.title));
    // `phase-1` and `phase-2` differ in one letter and are different topics.
    let numbers = |text: &str| -> String { text.chars().filter(char::is_ascii_digit).collect() };
    let same_name = numbers(&first) == numbers(&second)
        && strsim::normalized_damerau_levenshtein(&first, &second) >= SAME_NAME_SIMILARITY;
    same_name
        || shared_word_ratio(&a.description, &b.description) >= SAME_NAME_SIMILARITY
        || shared_word_ratio(&topic_body(a), &topic_body(b)) >= SAME_TEXT_SIMILARITY
}

/// Returns the text of a topic without its front matter.
fn topic_body(topic: &TopicFile) -> String {
    let document = document::parse_document(topic.text.as_str());
    document.text[document.body.clone()].to_owned()
}

/// Returns the share of words that two texts have in common.
fn shared_word_ratio(a: &str, b: &str) -> f64 {
    let words = |text: &str| -> HashSet<String> {
        fold_text(text)
            .split(|c: char| !c.is_alphanumeric())
            .filter(|word| !word.is_empty())
            .map(str::to_owned)
            .collect()
    };
    let (a, b) = (words(a), words(b));
    if a.len().min(b.len()) < MIN_COMPARED_WORDS {
        return 0.0;
    }
    a.intersection(&b).count() as f64 / a.union(&b).count() as f64
}

#[cfg(test)]
mod tests;
