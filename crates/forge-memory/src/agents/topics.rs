//! Topic files: one memory each, with `name`, `description` and `type` in their
//! front matter. Files of other people may lack any of these; then title and
//! first sentence replace them.

use std::fmt;

use jiff::Timestamp;
use jiff::tz::TimeZone;

use super::MemoryHome;
use crate::document::{self, Document};
use crate::knowledge::forget;
use crate::knowledge::readme::ReadmeEntry;
use crate::workspace::{FileRole, RelPath, Workspace, role_by_path};

/// The subject of a memory, which decides who may see it.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum TopicType {
    /// About a person; stays on this machine.
    User,
    /// How a person wants the work to be done.
    Feedback,
    /// About the project.
    Project,
    /// Where to find something.
    Reference,
}

impl TopicType {
    /// All types.
    pub const ALL: [TopicType; 4] = [
        TopicType::User,
        TopicType::Feedback,
        TopicType::Project,
        TopicType::Reference,
    ];

    /// Returns the value of `type` in the front matter.
    pub fn name(self) -> &'static str {
        match self {
            TopicType::User => "user",
            TopicType::Feedback => "feedback",
            TopicType::Project => "project",
            TopicType::Reference => "reference",
        }
    }

    /// Parses the value of `type` in the front matter.
    pub fn from_name(text: &str) -> Option<TopicType> {
        let text = text.trim().to_lowercase();
        TopicType::ALL.into_iter().find(|kind| kind.name() == text)
    }
}

impl fmt::Display for TopicType {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(self.name())
    }
}

/// Files of an agent's folder that other commands maintain.
pub const STATE_FILES: [&str; 4] = ["state.md", "learnings.md", "output.md", "feedback.md"];

/// A topic file with the fields that pointers need.
#[derive(Debug, Clone, PartialEq)]
pub struct TopicFile {
    /// The path of the topic, relative to the root.
    pub path: RelPath,
    /// Path relative to the folder of the memory, as a pointer contains it.
    pub target: String,
    /// The title.
    pub title: String,
    /// One line; may be empty.
    pub description: String,
    /// The type, if it names one.
    pub kind: Option<TopicType>,
    /// From 1 to 10.
    pub importance: u8,
    /// The time at which it was written, by its front matter or else the file.
    pub written: Timestamp,
    /// The file's own time, which orders topics written at the same moment.
    pub modified: Timestamp,
    /// Whether it is archived, so that no pointer leads to it.
    pub archived: bool,
    /// The whole text of the file.
    pub text: String,
}

impl TopicFile {
    /// Parses a topic; the last argument is the modification time of its file.
    pub fn from_text(
        home: &MemoryHome,
        path: RelPath,
        text: String,
        modified: Timestamp,
    ) -> TopicFile {
        let document = document::parse_document(text);
        let front = document.front_matter.as_ref();
        let of = |key: &str| {
            let line = document::escape_markdown_line(front?.text(key)?);
            (!line.is_empty()).then_some(line)
        };
        let listed = ReadmeEntry::from_document(path.clone(), &document);
        let below = path.as_str().strip_prefix(home.folder().as_str());
        let target = below.unwrap_or(path.as_str()).trim_start_matches('/');
        let importance = front
            .and_then(|front| front.int("importance"))
            .and_then(|it| u8::try_from(it).ok())
            .filter(|it| (1..=10).contains(it));
        TopicFile {
            target: target.to_owned(),
            title: of("name").unwrap_or(listed.title),
            description: of("description").unwrap_or(listed.summary),
            kind: front
                .and_then(|front| front.text("type"))
                .and_then(TopicType::from_name),
            // Unrated topics rank between important and minor ones.
            importance: importance.unwrap_or(5),
            written: stated_time(&document, path.stem()).unwrap_or(modified),
            modified,
            archived: of("status").is_some_and(|it| it.eq_ignore_ascii_case("archived")),
            text: document.text,
            path,
        }
    }

    /// Returns `true` if the topic stays on this machine.
    pub fn is_private(&self) -> bool {
        self.path.is_private()
    }
}

/// Returns the time at which a document states that it was written.
pub fn stated_time(document: &Document, stem: &str) -> Option<Timestamp> {
    let front = document.front_matter.as_ref();
    let modified = front.and_then(|front| front.text("modified"));
    if let Some(time) = modified.and_then(|text| text.trim().parse().ok()) {
        return Some(time);
    }
    let day = modified
        .and_then(|text| text.trim().get(..10)?.parse().ok())
        .or_else(|| document::document_date(document, stem))?;
    let start = day.to_zoned(TimeZone::UTC).ok()?;
    Some(start.timestamp())
}

/// Lists every topic of a memory, sorted by path, and the files that cannot be
/// read. `overlay` contains texts that are about to be written.
pub fn list_topics(
    workspace: &Workspace,
    home: &MemoryHome,
    overlay: &[(RelPath, String)],
) -> (Vec<TopicFile>, Vec<String>) {
    let mut topics = Vec::new();
    let mut problems = Vec::new();
    for path in list_topic_paths(workspace, home) {
        if overlay.iter().any(|(new, _)| *new == path) {
            continue;
        }
        let modified = modified_time(workspace, &path);
        match workspace.read_text(&path) {
            Ok(text) => topics.push(TopicFile::from_text(home, path, text, modified)),
            // Removed between the listing and this read.
            Err(error) if error.is_not_found() => {}
            Err(error) => problems.push(format!("`{path}`: {}", error.reason())),
        }
    }
    for (path, text) in overlay {
        let topic = TopicFile::from_text(home, path.clone(), text.clone(), Timestamp::MAX);
        topics.push(topic);
    }
    // The search reports an unreadable list; here it must not hide topics.
    let forgotten = forget::read_forgotten_paths(workspace).unwrap_or_default();
    topics.retain(|topic| !topic.archived && !forgotten.contains(topic.path.as_str()));
    topics.sort_by(|a, b| a.path.cmp(&b.path));
    (topics, problems)
}

/// Returns `true` if a file of this memory is a topic, by its name alone.
pub fn is_topic(home: &MemoryHome, path: &RelPath) -> bool {
    if !path.starts_with(home.folder().as_str()) {
        return false;
    }
    let name = path.file_name();
    match home.squad_and_agent() {
        Some(_) => {
            role_by_path(path) == FileRole::Agent
                && !STATE_FILES.contains(&name)
                && !name.ends_with("-archive.md")
                && !name.starts_with('.')
        }
        // Topics of the project are in `knowledge/` alone, not in domains.
        None => path.starts_with("knowledge") && role_by_path(path) == FileRole::Knowledge,
    }
}

fn list_topic_paths(workspace: &Workspace, home: &MemoryHome) -> Vec<RelPath> {
    let mut paths = match home.squad_and_agent() {
        Some(_) => workspace.markdown_files_in(home.folder().as_str()),
        None => workspace
            .scan()
            .files
            .into_iter()
            .map(|it| it.path)
            .collect(),
    };
    paths.retain(|path| is_topic(home, path));
    paths
}

/// Returns the modification time of a file; the epoch if it is unknown.
pub(super) fn modified_time(workspace: &Workspace, path: &RelPath) -> Timestamp {
    let meta = std::fs::symlink_metadata(workspace.absolute_path(path));
    let time = meta.and_then(|meta| meta.modified()).ok();
    time.and_then(|time| Timestamp::try_from(time).ok())
        .unwrap_or(Timestamp::UNIX_EPOCH)
}
