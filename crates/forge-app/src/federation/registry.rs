//! Reads and edits `~/.memex/sources.md`, the registry of a person's
//! workspaces. The file is shared with other tools, so only the lines of an
//! entry are ever touched.

use std::ops::Range;
use std::path::{Path, PathBuf};

use jiff::civil::Date;

use crate::diagnostic::Diagnostic;
use crate::document::{self, Document, TextEdit};
use crate::secrets;
use crate::state_files::MIND_FOLDER;
use crate::workspace::{
    self, BackupAction, OutsideChange, OutsideFile, Workspace, change_outside, lock_outside,
    workspace_identity,
};

const REGISTRY_TEMPLATE: &str = "\
# Memex Sources

> Workspaces that may be searched from one another, each under its own name.
> `searchable: false` keeps one registered and out of every search.

<!-- memex-sources-version:1 -->
";

/// Characters of the longest source name, so that it fits a list.
const MAX_SOURCE_NAME_CHARS: usize = 64;

/// A registered workspace.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct SourceWorkspace {
    /// The name under which it is registered.
    pub name: String,
    /// The folder of the workspace.
    pub path: PathBuf,
    /// The date as the file has it.
    pub registered: Option<String>,
    /// Whether searches of all sources include it.
    pub searchable: bool,
    /// The identity of the workspace, independent of its path, if recorded.
    pub id: Option<String>,
}

/// Errors of the registry.
#[derive(Debug, thiserror::Error)]
pub enum RegistryError {
    /// The user has no home folder.
    #[error("There is no home folder, and so no registry of sources")]
    NoHome,
    /// The caller gave a name that is taken.
    #[error("source name '{0}' already registered")]
    Registered(String),
    /// The caller gave a name that is not registered.
    #[error("no source named '{0}'")]
    Unknown(String),
    /// The caller gave an invalid name.
    #[error("'{name}' cannot be the name of a source: {why}")]
    Name {
        /// The name that was given.
        name: String,
        /// Why it is not valid.
        why: &'static str,
    },
    /// The caller gave a folder whose path the file cannot hold.
    #[error("`{}` cannot be registered: {why}", path.display())]
    Folder {
        /// The folder that was given.
        path: PathBuf,
        /// Why it cannot be registered.
        why: String,
    },
    /// The registry could not be read or written.
    #[error(transparent)]
    File(#[from] workspace::WorkspaceError),
}

impl Diagnostic for RegistryError {
    fn code(&self) -> &'static str {
        match self {
            RegistryError::NoHome => "sources.no-home",
            RegistryError::Registered(_) => "sources.registered",
            RegistryError::Unknown(_) => "sources.unknown",
            RegistryError::Name { .. } => "sources.invalid-name",
            RegistryError::Folder { .. } => "sources.invalid-folder",
            RegistryError::File(error) => error.code(),
        }
    }

    fn hints(&self) -> Vec<String> {
        let hint = match self {
            RegistryError::File(error) => return error.hints(),
            RegistryError::Name { .. } | RegistryError::Folder { .. } => return Vec::new(),
            RegistryError::NoHome => "Set `HOME`",
            RegistryError::Registered(_) | RegistryError::Unknown(_) => {
                "`memory-forge sources list` shows the names"
            }
        };
        vec![hint.to_owned()]
    }

    fn is_usage(&self) -> bool {
        !matches!(self, RegistryError::NoHome | RegistryError::File(_))
    }
}

/// A new registration.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct SourceRegistration {
    /// The folder of the workspace.
    pub path: PathBuf,
    /// Whether it has anything to search yet.
    pub has_memory: bool,
}

/// The registry of one person.
#[derive(Debug, Clone)]
pub struct SourceRegistry {
    file: OutsideFile,
    home: PathBuf,
}

/// An entry of the file, with its spans.
struct RegistryEntry {
    source: SourceWorkspace,
    /// The heading and the lines up to the next one.
    span: Range<usize>,
    /// The value of `searchable:`, if that line exists.
    searchable: Option<Range<usize>>,
    /// The value of `path:`.
    path: Range<usize>,
}

impl SourceRegistry {
    /// Returns the registry in a home folder. Fails if the user has none.
    pub fn of_home(home: Option<&Path>) -> Result<SourceRegistry, RegistryError> {
        home.map(SourceRegistry::in_folder)
            .ok_or(RegistryError::NoHome)
    }

    /// Returns the registry in this home folder.
    pub fn in_folder(home: &Path) -> SourceRegistry {
        SourceRegistry {
            file: OutsideFile {
                base: home.to_owned(),
                path: home.join(".memex").join("sources.md"),
            },
            home: home.to_owned(),
        }
    }

    /// Returns the path of the file.
    pub fn path(&self) -> &Path {
        &self.file.path
    }

    /// Returns the registered workspaces in the order of the file.
    pub fn sources(&self) -> Result<Vec<SourceWorkspace>, RegistryError> {
        let Some(text) = self.file.read_text()? else {
            return Ok(Vec::new());
        };
        let entries = self.parse_entries(&document::parse_document(text));
        Ok(entries.into_iter().map(|entry| entry.source).collect())
    }

    /// Registers the folder at `path` under `name`, with links in the path
    /// resolved, so that it has a single path.
    pub fn add_source(
        &self,
        name: &str,
        path: &Path,
        today: Date,
    ) -> Result<SourceRegistration, RegistryError> {
        let name = validate_name(name)?;
        let (real, shown) = resolve_folder(path)?;
        let id =
            workspace_identity(&Workspace::open(&real)?).map(|it| format!("- id: {}", it.id()));
        self.edit_file(|document, entries| {
            if entries.iter().any(|e| is_same_name(&e.source.name, name)) {
                return Err(RegistryError::Registered(name.to_owned()));
            }
            let eol = document.newline();
            let end = document.text.len();
            let close = if document.text.ends_with('\n') || end == 0 {
                ""
            } else {
                eol
            };
            // Other readers expect the lines directly below the heading.
            let mut lines = vec![
                String::new(),
                format!("## {name}"),
                format!("- path: {shown}"),
                format!("- registered: {today}"),
                "- searchable: true".to_owned(),
            ];
            lines.extend(id.clone());
            lines.push(String::new());
            Ok(replace_span(end..end, close.to_owned() + &lines.join(eol)))
        })?;
        Ok(SourceRegistration {
            has_memory: has_memory(&real),
            path: real,
        })
    }

    /// Removes the entry; the workspace itself is not touched.
    pub fn remove_source(&self, name: &str) -> Result<(), RegistryError> {
        self.edit_file(|document, entries| {
            let entry = find_entry(entries, name)?;
            let mut span = entry.span.clone();
            // The blank line above the entry came with it.
            let before = &document.text[..span.start];
            let blank = before.trim_end_matches(['\n', '\r', ' ', '\t']).len();
            if span.end == document.text.len() && blank > 0 {
                let line = before[blank..].find('\n').map_or(0, |at| at + 1);
                span.start = blank + line;
            }
            Ok(replace_span(span, String::new()))
        })
    }

    /// Sets whether a workspace is searched.
    pub fn set_searchable(&self, name: &str, searchable: bool) -> Result<(), RegistryError> {
        self.edit_file(|document, entries| {
            let entry = find_entry(entries, name)?;
            Ok(match &entry.searchable {
                Some(value) => replace_span(value.clone(), searchable.to_string()),
                None => {
                    let eol = document.newline();
                    let at = entry.path.end;
                    replace_span(at..at, format!("{eol}- searchable: {searchable}"))
                }
            })
        })
    }

    /// Changes the path of an entry whose workspace was moved.
    pub fn set_path(&self, name: &str, path: &Path) -> Result<PathBuf, RegistryError> {
        let (real, shown) = resolve_folder(path)?;
        self.edit_file(|_, entries| {
            Ok(replace_span(
                find_entry(entries, name)?.path.clone(),
                shown.clone(),
            ))
        })?;
        Ok(real)
    }

    /// Makes one edit of the file under its lock, and writes only if it changes
    /// something.
    fn edit_file(
        &self,
        edit: impl FnOnce(&Document, &[RegistryEntry]) -> Result<TextEdit, RegistryError>,
    ) -> Result<(), RegistryError> {
        // Two processes may register workspaces at the same moment.
        let _lock = lock_outside(&self.file, "The registry of sources")?;
        let before = self.file.read_text()?;
        let text = before
            .clone()
            .unwrap_or_else(|| REGISTRY_TEMPLATE.to_owned());
        let document = document::parse_document(text);
        let entries = self.parse_entries(&document);
        let after = document::apply_edits(&document.text, vec![edit(&document, &entries)?])
            .map_err(|e| workspace::WorkspaceError::Refused(e.to_string()))?;
        if before.as_deref() == Some(after.as_str()) {
            return Ok(());
        }
        // Only the first edit makes a backup, which keeps the file as it was
        // before this program.
        let had_backup = self.file.read_backup()?.is_some();
        let change = OutsideChange {
            file: self.file.clone(),
            backup: if before.is_none() || had_backup {
                BackupAction::Leave
            } else {
                BackupAction::Take
            },
            before: before.map(String::into_bytes),
            after: Some(after.into_bytes()),
        };
        Ok(change_outside(&[change], &[])?)
    }

    /// Parses the entries of the file.
    fn parse_entries(&self, document: &Document) -> Vec<RegistryEntry> {
        let sections = document.sections.iter().filter(|s| s.level == 2);
        sections
            .filter_map(|section| {
                let mut path = None;
                let mut registered = None;
                let mut searchable = None;
                let mut id = None;
                let mut start = section.own.start;
                for line in document.span_text(&section.own).split_inclusive('\n') {
                    if let Some((key, at)) = parse_field(line) {
                        let at = start + at.start..start + at.end;
                        match key.as_str() {
                            "path" => path = path.or(Some(at)),
                            "registered" => registered = registered.or(Some(at)),
                            "searchable" => searchable = searchable.or(Some(at)),
                            "id" => id = id.or(Some(at)),
                            _ => {}
                        }
                    }
                    start += line.len();
                }
                let path = path?;
                let searchable_text = searchable.as_ref().map(|at| document.span_text(at));
                Some(RegistryEntry {
                    source: SourceWorkspace {
                        name: section.title.trim().to_owned(),
                        path: self.expand_home(document.span_text(&path)),
                        registered: registered.map(|at| document.span_text(&at).to_owned()),
                        // Any value other than `true` keeps a workspace
                        // private.
                        searchable: searchable_text.is_none_or(|v| v.eq_ignore_ascii_case("true")),
                        id: id.map(|at| document.span_text(&at).to_owned()),
                    },
                    span: section.heading.start..section.own.end,
                    searchable,
                    path,
                })
            })
            .collect()
    }

    /// Expands `~/` in a path.
    fn expand_home(&self, path: &str) -> PathBuf {
        match path.strip_prefix("~/") {
            Some(rest) => self.home.join(rest),
            None => PathBuf::from(path),
        }
    }
}

/// Parses `- key: value` to the key and the span of the value.
fn parse_field(line: &str) -> Option<(String, Range<usize>)> {
    let body = line.trim_start();
    let indent = line.len() - body.len();
    let marked = body.trim_start_matches(['-', '*', ' ']);
    let (key, value) = marked.split_once(':')?;
    let from = indent + (body.len() - marked.len()) + key.len() + 1;
    let skipped = value.len() - value.trim_start().len();
    let value = value.trim();
    let start = from + skipped;
    Some((key.trim().to_lowercase(), start..start + value.len()))
}

/// Returns an edit of this span.
fn replace_span(span: Range<usize>, text: String) -> TextEdit {
    TextEdit { span, text }
}

/// Returns the entry with this name, or fails.
fn find_entry<'a>(
    entries: &'a [RegistryEntry],
    name: &str,
) -> Result<&'a RegistryEntry, RegistryError> {
    let found = entries.iter().find(|e| is_same_name(&e.source.name, name));
    found.ok_or_else(|| RegistryError::Unknown(name.to_owned()))
}

/// Compares names without case and surrounding spaces.
fn is_same_name(a: &str, b: &str) -> bool {
    a.trim().to_lowercase() == b.trim().to_lowercase()
}

/// Validates a name, which must have the same meaning in a heading and in
/// lists.
fn validate_name(name: &str) -> Result<&str, RegistryError> {
    let trimmed = name.trim();
    let plain = |c: char| c.is_alphanumeric() || matches!(c, '-' | '_' | '.' | ' ');
    let why = if trimmed.is_empty() {
        "it is empty"
    } else if trimmed.chars().count() > MAX_SOURCE_NAME_CHARS {
        "it has more than 64 characters"
    } else if !trimmed.chars().all(plain) {
        "only letters, digits, spaces, `-`, `_` and `.` may be in it"
    } else if document::escape_markdown_line(trimmed) != trimmed || trimmed.starts_with(['-', '.'])
    {
        "Markdown or a shell would read it as something else"
    } else if !secrets::find_secrets(trimmed).is_empty() {
        "it looks as if it held a secret"
    } else {
        return Ok(trimmed);
    };
    Err(RegistryError::Name {
        name: secrets::redact_secrets(name).into_owned(),
        why,
    })
}

/// Resolves a folder to its real path, and returns that path as the file writes
/// it.
fn resolve_folder(path: &Path) -> Result<(PathBuf, String), RegistryError> {
    let real = Workspace::open(path)?.root().to_owned();
    let shown = path_value(&real).ok_or_else(|| RegistryError::Folder {
        path: real.clone(),
        why: "its name cannot be written on one line of UTF-8".to_owned(),
    })?;
    Ok((real, shown))
}

/// Returns a path as the value of a line, if it can be read back unchanged.
fn path_value(path: &Path) -> Option<String> {
    let text = path.to_str()?;
    let one_line = !text.chars().any(char::is_control) && text.trim() == text;
    one_line.then(|| text.to_owned())
}

/// Returns `true` if a folder contains anything to search.
fn has_memory(root: &Path) -> bool {
    ["_MANIFEST.md", "knowledge", MIND_FOLDER, ".agents/memory"]
        .iter()
        .any(|name| root.join(name).exists())
}

#[cfg(test)]
mod tests;
