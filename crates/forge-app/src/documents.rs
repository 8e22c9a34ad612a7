//! Lists, renders and edits documents for people, and decides which files an
//! agent may read by name.
//!
//! What an audience must not see is removed here, so that no door has to
//! remember it. An edit names the version that it was made from and passes the
//! gate and the one writer: an older version never overwrites a newer one.

use jiff::Timestamp;

use crate::admit;
use crate::diagnostic::Diagnostic;
use crate::document::{self, Document, DocumentLink, YamlValue, html};
use crate::index::PassageSizes;
use crate::index::chunk::{DocumentPassage, split_into_passages};
use crate::links;
use crate::quote;
use crate::routing::closets;
use crate::secrets;
use crate::workspace::git::{self, GitCommit};
use crate::workspace::{FileRole, RelPath, Workspace, WorkspaceError};

mod known;
mod readable;

pub use known::{DocumentBacklink, KnownDocuments};
pub use readable::{is_readable, list_readable_files, list_state_files};

/// Bytes of Markdown that are rendered; the rest is counted.
const MAX_RENDERED_BYTES: usize = 400_000;
const MAX_BACKLINKS: usize = 200;
const MAX_PROBLEMS: usize = 5;
/// Commits of one document's history.
pub const MAX_COMMITS: usize = 50;
const MAX_IMAGE_BYTES: u64 = 8_000_000;
/// Deepest heading level that a page lists for navigation.
const MAX_HEADING_LEVEL: usize = 4;

/// Reader of a document, which decides what is shown.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum DocumentAudience {
    /// The person at this machine.
    Owner,
    /// Recipients of an exported copy: nothing private, and nothing about the
    /// machine.
    Others,
}

/// Errors of showing or editing a document.
#[derive(Debug, thiserror::Error)]
pub enum DocumentError {
    /// The document does not exist, or is hidden from this audience.
    #[error("There is no document `{path}`")]
    Missing {
        /// The document.
        path: RelPath,
    },
    /// The caller named a commit in which the document did not exist.
    #[error("There was no `{path}` then")]
    MissingThen {
        /// The document.
        path: RelPath,
    },
    /// The source contains a credential, which a page must not receive.
    #[error(
        "This document holds what looks like a secret and is not given to a page; edit the file itself"
    )]
    HoldsSecret,
    /// The file was changed after the caller read it; nothing was written.
    #[error(
        "`{path}` was changed by another program since you began; nothing was written, and your text is still here"
    )]
    Changed {
        /// The document.
        path: RelPath,
    },
    /// The requested file is not an image.
    #[error("The file is not an image")]
    NotAnImage,
    /// The requested image is derived data, which a page never receives.
    #[error("There is no such image")]
    MissingImage,
    /// Git does not know the commit.
    #[error("{0}")]
    Commit(WorkspaceError),
    /// The new text contains a secret or a corrected fact.
    #[error(transparent)]
    Refused(#[from] admit::TextRefusal),
    /// A file could not be read or written.
    #[error(transparent)]
    Workspace(#[from] WorkspaceError),
}

impl Diagnostic for DocumentError {
    fn code(&self) -> &'static str {
        match self {
            DocumentError::Missing { .. } => "document.missing",
            DocumentError::MissingThen { .. } => "document.missing-then",
            DocumentError::HoldsSecret => "document.holds-secret",
            DocumentError::Changed { .. } => "document.changed",
            DocumentError::NotAnImage => "document.not-an-image",
            DocumentError::MissingImage => "document.missing-image",
            DocumentError::Refused(error) => error.code(),
            DocumentError::Commit(error) | DocumentError::Workspace(error) => error.code(),
        }
    }

    fn hints(&self) -> Vec<String> {
        match self {
            DocumentError::Refused(error) => error.hints(),
            DocumentError::Workspace(error) => error.hints(),
            _ => Vec::new(),
        }
    }
}

/// A document as a page shows it.
#[derive(Debug)]
pub struct RenderedDocument {
    /// Its title, without what is secret or hidden.
    pub title: String,
    /// Its role; `None` for a file that the program keeps next to the notes.
    pub role: Option<FileRole>,
    /// The page, and how much of the text is behind the cut.
    pub page: html::HtmlOutput,
    /// The version that an edit has to name.
    pub version: String,
    /// Words of the whole text.
    pub words: usize,
    /// Bytes of the whole text.
    pub bytes: usize,
    /// Headings with their level and their place on the page.
    pub headings: Vec<DocumentHeading>,
    /// Front matter as plain names and values.
    pub properties: Vec<(String, String)>,
    /// Links of other documents that lead here.
    pub backlinks: Vec<DocumentBacklink>,
    /// How many more there are.
    pub more_backlinks: usize,
    /// The rules of the credentials that were taken out.
    pub secrets: Vec<&'static str>,
    /// How many hidden characters were written out.
    pub hidden: usize,
    /// Why it cannot be edited on a page; `None` if it can.
    pub not_editable: Option<&'static str>,
    /// Problems of its Markdown, each with its line.
    pub problems: Vec<String>,
}

/// A heading of a rendered document.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct DocumentHeading {
    /// Its level, from one to four.
    pub level: usize,
    /// Its text.
    pub title: String,
    /// Its place on the page.
    pub id: String,
}

/// Renders a document, or a file that the program keeps next to the notes.
/// Fails if the audience may not see it.
pub fn render_document(
    workspace: &Workspace,
    known: &KnownDocuments,
    path: &RelPath,
) -> Result<RenderedDocument, DocumentError> {
    let index = known.visible_document(path);
    if index.is_none() && !known.is_kept_file(path) {
        return Err(missing_document(path));
    }
    let text = workspace.read_text(path)?;
    // The whole text is cleaned before it is cut into blocks, since a
    // credential may span several.
    let cleaned = quote::sanitize_with_report(&text);
    let parsed = document::parse_document(cleaned.text.as_ref());
    let title = parsed.title().unwrap_or(path.file_name());
    let mut rendered = RenderedDocument {
        title: quote::sanitize_text(title).into_owned(),
        role: None,
        page: render_page(known, path, &parsed),
        version: document::text_version(&text),
        words: text.split_whitespace().count(),
        bytes: text.len(),
        headings: Vec::new(),
        properties: Vec::new(),
        backlinks: Vec::new(),
        more_backlinks: 0,
        not_editable: Some("It is written by the program"),
        problems: Vec::new(),
        secrets: cleaned.secrets,
        hidden: cleaned.hidden,
    };
    let Some(index) = index else {
        return Ok(rendered);
    };
    let file = known.vault.file(index);
    rendered.title = known.title(index);
    rendered.role = Some(file.role);
    rendered.headings = parsed
        .sections
        .iter()
        .map(|it| (usize::from(it.level), it))
        .filter(|(level, _)| (1..=MAX_HEADING_LEVEL).contains(level))
        .map(|(level, it)| DocumentHeading {
            level,
            title: it.title.clone(),
            id: html::heading_id(&it.title),
        })
        .collect();
    let front_matter = file.note.iter().flat_map(|it| it.front_matter.iter());
    rendered.properties = front_matter
        .flatten()
        .map(|(key, value)| {
            let value = format_property(value);
            (
                quote::sanitize_text(key).into_owned(),
                quote::sanitize_text(&value).into_owned(),
            )
        })
        .collect();
    let backlinks = known.backlinks.get(&index).map_or(&[][..], Vec::as_slice);
    rendered.backlinks = backlinks.iter().take(MAX_BACKLINKS).cloned().collect();
    rendered.more_backlinks = backlinks.len().saturating_sub(MAX_BACKLINKS);
    rendered.not_editable = (!rendered.secrets.is_empty()).then_some(
        "It holds what looks like a secret, which is not shown here; edit the file itself",
    );
    let problems = parsed.problems.iter().take(MAX_PROBLEMS);
    rendered.problems = problems
        .map(|it| format!("line {}: {}", it.line, quote::sanitize_text(&it.message)))
        .collect();
    Ok(rendered)
}

/// Builds the error for a document that is missing or hidden.
fn missing_document(path: &RelPath) -> DocumentError {
    DocumentError::Missing { path: path.clone() }
}

/// Reads the text of a visible document.
fn read_document(
    workspace: &Workspace,
    known: &KnownDocuments,
    path: &RelPath,
) -> Result<String, DocumentError> {
    known
        .visible_document(path)
        .ok_or_else(|| missing_document(path))?;
    Ok(workspace.read_text(path)?)
}

/// Formats a value as plain text, without the brackets of links.
fn format_property(value: &YamlValue) -> String {
    match value {
        YamlValue::List(all) => {
            let all: Vec<String> = all.iter().map(format_property).collect();
            all.join(", ")
        }
        YamlValue::Text(text) => links::reference_target(text).to_owned(),
        other => other.to_string(),
    }
}

/// Renders Markdown to a page, with links resolved for this audience.
fn render_page(known: &KnownDocuments, path: &RelPath, document: &Document) -> html::HtmlOutput {
    let goal = |link: &DocumentLink| match known.resolve_link(path, link) {
        Some(found) if found == path || known.visible_document(found).is_some() => {
            html::LinkDestination::File(found.to_string())
        }
        Some(found) if html::image_media_type(found.as_str()).is_some() => {
            html::LinkDestination::File(found.to_string())
        }
        _ => html::LinkDestination::Missing,
    };
    html::render_html(document, &goal, MAX_RENDERED_BYTES)
}

/// The text of a document, for an editor.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct DocumentSource {
    /// The text, with the line ends of a text box.
    pub text: String,
    /// The version that the edit has to name.
    pub version: String,
}

/// Reads the text for an editor. Fails if it contains a secret.
pub fn read_document_source(
    workspace: &Workspace,
    known: &KnownDocuments,
    path: &RelPath,
) -> Result<DocumentSource, DocumentError> {
    let text = read_document(workspace, known, path)?;
    if !secrets::find_secrets(&text).is_empty() {
        return Err(DocumentError::HoldsSecret);
    }
    Ok(DocumentSource {
        text: document::normalize_newlines_for_textarea(&text).into_owned(),
        version: document::text_version(&text),
    })
}

/// An edit of a document, against the version that was read.
#[derive(Debug, Clone, Copy)]
pub struct DocumentEdit<'a> {
    /// The document.
    pub path: &'a RelPath,
    /// The version that the text was made from.
    pub version: &'a str,
    /// The new text.
    pub text: &'a str,
}

/// The version and the change after an edit.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct EditedDocument {
    /// The id of the change, for undo; `None` where the text was the same.
    pub change: Option<String>,
    /// The version after the edit.
    pub version: String,
}

/// Writes a new text over the version that it was made from, with the line ends
/// and the byte order mark that the file has.
pub fn edit_document(
    workspace: &Workspace,
    known: &KnownDocuments,
    edit: &DocumentEdit<'_>,
    now: Timestamp,
) -> Result<EditedDocument, DocumentError> {
    let path = edit.path;
    known
        .visible_document(path)
        .ok_or_else(|| missing_document(path))?;
    let what = format!("Edit `{path}` in the browser");
    // The version is compared inside the change, under its lock: a check before
    // it would miss a write that comes between.
    let (version, receipt) = workspace.change_with(&what, now, |change| {
        let before = change.read_text(path)?;
        let same = before.filter(|it| document::text_version(it) == edit.version);
        let Some(before) = same else {
            return Err(DocumentError::Changed { path: path.clone() });
        };
        let admitted = admit::admit_edit(workspace, &before, edit.text.to_owned())?;
        let after = document::restore_line_endings(&before, &admitted);
        let version = document::text_version(&after);
        change.write(path, after);
        Ok(version)
    })?;
    Ok(EditedDocument {
        change: receipt.id,
        version,
    })
}

/// The commits that changed a document.
#[derive(Debug)]
pub struct DocumentHistory {
    /// The latest, newest first.
    pub commits: Vec<GitCommit>,
    /// Why there are none, such as a folder without a repository.
    pub problem: Option<String>,
}

/// Lists the commits that changed a document, at most [`MAX_COMMITS`].
pub fn load_document_history(
    workspace: &Workspace,
    known: &KnownDocuments,
    path: &RelPath,
) -> Result<DocumentHistory, DocumentError> {
    read_document(workspace, known, path)?;
    let found = git::list_commits(workspace.root(), Some(path), MAX_COMMITS);
    let (commits, problem) = match found {
        Ok(commits) => (commits, None),
        Err(error) => (Vec::new(), Some(error.to_string())),
    };
    Ok(DocumentHistory { commits, problem })
}

/// A document as it was in a commit.
#[derive(Debug)]
pub struct PastDocument {
    /// The rendered text of the commit, with the links of today.
    pub page: html::HtmlOutput,
    /// Its text then.
    pub before: String,
    /// Its text today.
    pub now: String,
}

/// Loads a document as it was in a commit.
pub fn load_past_document(
    workspace: &Workspace,
    known: &KnownDocuments,
    path: &RelPath,
    commit: &str,
) -> Result<PastDocument, DocumentError> {
    let now = read_document(workspace, known, path)?;
    let bytes = git::read_file_at(workspace.root(), commit, path).map_err(DocumentError::Commit)?;
    let bytes = bytes.ok_or_else(|| DocumentError::MissingThen { path: path.clone() })?;
    let before = String::from_utf8_lossy(&bytes).into_owned();
    let cleaned = quote::sanitize_text(&before);
    let page = render_page(known, path, &document::parse_document(cleaned.as_ref()));
    Ok(PastDocument { page, before, now })
}

/// Reads an image of the workspace and its media type, for a document that
/// shows it.
pub fn read_image(
    workspace: &Workspace,
    path: &RelPath,
) -> Result<(&'static str, Vec<u8>), DocumentError> {
    let kind = html::image_media_type(path.as_str()).ok_or(DocumentError::NotAnImage)?;
    if path.is_derived() {
        return Err(DocumentError::MissingImage);
    }
    Ok((kind, workspace.read_up_to_limit(path, MAX_IMAGE_BYTES)?))
}

/// A file as a search sees it.
#[derive(Debug)]
pub struct DocumentPreview {
    /// The parsed file.
    pub document: Document,
    /// The passages that it is cut into.
    pub passages: Vec<DocumentPassage>,
    /// Its role, which decides whether it is indexed.
    pub role: FileRole,
    /// Its closet entry.
    pub entry: closets::ClosetEntry,
}

impl DocumentPreview {
    /// Returns `true` if searches find the file.
    pub fn is_indexed(&self) -> bool {
        matches!(
            self.role,
            FileRole::Knowledge | FileRole::Archive | FileRole::Agent
        )
    }
}

/// Splits a file into passages as the index does, without writing.
pub fn preview_document(
    workspace: &Workspace,
    path: &RelPath,
) -> Result<DocumentPreview, WorkspaceError> {
    let document = document::parse_as(path.as_str(), workspace.read_text(path)?);
    let sizes = PassageSizes::with_limit(workspace.config().index.chunk_tokens);
    let role = workspace.role(path);
    let context = closets::EntryContext {
        name: path.stem(),
        archived: role == FileRole::Archive,
    };
    Ok(DocumentPreview {
        passages: split_into_passages(&document, sizes),
        entry: closets::extract_entry(&document, &context),
        role,
        document,
    })
}

/// Returns the word that doors show for a role.
pub fn role_name(role: FileRole) -> String {
    format!("{role:?}").to_lowercase()
}

#[cfg(test)]
mod tests {
    use super::*;

    fn workspace(files: &[(&str, &str)]) -> (tempfile::TempDir, Workspace) {
        let dir = tempfile::tempdir().expect("a folder can be made");
        for (name, text) in files {
            let path = dir.path().join(name);
            let folder = path.parent().expect("it is below the root");
            std::fs::create_dir_all(folder).expect("made");
            std::fs::write(path, text).expect("written");
        }
        let workspace = Workspace::open(dir.path()).expect("it can be opened");
        (dir, workspace)
    }

    fn path(text: &str) -> RelPath {
        RelPath::new(text).expect("a path")
    }

    #[test]
    fn an_edit_of_an_older_version_writes_nothing() {
        let (_dir, workspace) = workspace(&[("knowledge/a.md", "# A\r\n\r\nOne\r\n")]);
        let known = KnownDocuments::read(&workspace, DocumentAudience::Owner);
        let path = path("knowledge/a.md");
        let now = "2026-03-01T09:00:00Z".parse().expect("a time");
        let source = read_document_source(&workspace, &known, &path).expect("it may be edited");
        assert_eq!(source.text, "# A\n\nOne\n");
        let edit = DocumentEdit {
            path: &path,
            version: &source.version,
            text: "# A\n\nTwo\n",
        };
        let edited = edit_document(&workspace, &known, &edit, now).expect("it is written");
        let there = workspace.read_text(&path).expect("it is there");
        assert_eq!(there, "# A\r\n\r\nTwo\r\n");
        assert_eq!(edited.version, document::text_version(&there));
        let again = edit_document(&workspace, &known, &edit, now).expect_err("it is older");
        assert_eq!(again.code(), "document.changed");
        assert_eq!(workspace.read_text(&path).expect("it is there"), there);
    }

    #[test]
    fn others_see_nothing_private() {
        let files = [
            ("knowledge/a.md", "# A\n"),
            ("knowledge/b.local.md", "# B\n\n[[a]]\n"),
        ];
        let (_dir, workspace) = workspace(&files);
        for (audience, shown) in [
            (DocumentAudience::Owner, true),
            (DocumentAudience::Others, false),
        ] {
            let known = KnownDocuments::read(&workspace, audience);
            let b = render_document(&workspace, &known, &path("knowledge/b.local.md"));
            assert_eq!(b.is_ok(), shown);
            let a = render_document(&workspace, &known, &path("knowledge/a.md"));
            assert_eq!(a.expect("it is shared").backlinks.len(), usize::from(shown));
        }
    }

    #[test]
    fn what_agents_load_is_not_readable() {
        let files = [("knowledge/a.md", "# A\n"), ("CLAUDE.md", "# C\n")];
        let (_dir, workspace) = workspace(&files);
        let found = list_readable_files(&workspace, &|_| true);
        let found: Vec<&str> = found.iter().map(|it| it.path.as_str()).collect();
        assert_eq!(found, ["knowledge/a.md"]);
        assert!(!is_readable(&workspace, &path("CLAUDE.md")));
    }
}
