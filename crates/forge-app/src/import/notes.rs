//! Imports Markdown notes. The text below the front matter is kept byte for
//! byte, except for secrets and hidden characters; links by the old name still
//! find the note.

use std::path::{Path, PathBuf};

use super::land::{ImportWriter, IncomingDocument, PROVENANCE_KEYS};
use super::{ImportError, ImportOptions, ImportReport, derive_file_stem, read_modified_time};
use crate::admit::{ImportTally, admit_import};
use crate::document::{self, Document, day_of_timestamp};
use crate::workspace::regular::{self, FileReadError, LinkPolicy};
use crate::workspace::{RelPath, Workspace};

/// A note in a folder that is imported.
pub(super) struct SourceNote {
    pub(super) file: PathBuf,
    /// Its path relative to the folder, with `/`.
    pub(super) name: String,
}

/// Origin and target of one kind of notes.
pub(super) struct NoteImportSpec<'a> {
    pub(super) source: &'static str,
    /// Prefix of the note's name in its id.
    pub(super) id: &'a str,
    /// The target folder in the workspace.
    pub(super) folder: &'a str,
    /// Whether folders of the source become folders in the workspace.
    pub(super) folders: bool,
    /// Additional names by which links mean a note.
    pub(super) names: fn(&Document) -> Vec<String>,
}

/// Folder levels and notes of the largest import.
const MAX_FOLDER_DEPTH: usize = 8;
const MAX_NOTES: usize = 50_000;

/// Lists the notes of a folder that the options select, by name. Links and
/// folders with a dot are skipped.
pub(super) fn find_notes(
    folder: &Path,
    options: &ImportOptions,
    report: &mut ImportReport,
) -> Vec<SourceNote> {
    let mut notes = Vec::new();
    let mut folders = vec![(folder.to_path_buf(), String::new(), MAX_FOLDER_DEPTH)];
    while let Some((folder, prefix, depth)) = folders.pop() {
        for entry in std::fs::read_dir(&folder).into_iter().flatten().flatten() {
            let Ok(name) = entry.file_name().into_string() else {
                let shown = entry.path().display().to_string();
                report.add_skipped(shown, "its name is not UTF-8");
                continue;
            };
            let Ok(kind) = entry.file_type() else {
                continue;
            };
            let path = entry.path();
            if kind.is_dir() && depth > 0 && !name.starts_with('.') {
                folders.push((path, format!("{prefix}{name}/"), depth - 1));
            } else if kind.is_symlink() && name.ends_with(".md") {
                report.add_skipped(path.display().to_string(), "it is a link");
            } else if kind.is_file() && name.ends_with(".md") && notes.len() < MAX_NOTES {
                notes.push(SourceNote {
                    file: path,
                    name: format!("{prefix}{name}"),
                });
            }
        }
    }
    notes.retain(|note| {
        let old = options.since.is_some_and(|since| {
            read_modified_time(&note.file).is_some_and(|at| day_of_timestamp(at) < since)
        });
        report.older += usize::from(old);
        !old
    });
    // A limit keeps the newest notes, which are then sorted by name again.
    if let Some(limit) = options.limit {
        notes.sort_by_cached_key(|note| {
            (
                std::cmp::Reverse(read_modified_time(&note.file)),
                note.name.clone(),
            )
        });
        report.beyond_limit += notes.len().saturating_sub(limit);
        notes.truncate(limit);
    }
    notes.sort_by(|a, b| a.name.cmp(&b.name));
    notes
}

/// Imports one note, or reports why not.
pub(super) fn import_note(
    workspace: &Workspace,
    note: &SourceNote,
    kind: &NoteImportSpec,
    landing: &mut ImportWriter,
) -> Result<(), ImportError> {
    let Some(text) = read_outside_file(workspace, &note.file, &mut landing.report) else {
        return Ok(());
    };
    let hash = blake3::hash(text.as_bytes()).to_hex()[..32].to_owned();
    let mut tally = ImportTally::default();
    let text = admit_import(&text, &mut tally);
    let name = admit_import(&note.name, &mut tally);
    let path = target_path(&name, kind)?;
    landing.place_document(IncomingDocument {
        text: prepare_note(&text, &name, kind, path.stem()),
        path,
        source: kind.source,
        source_id: document::escape_markdown_line(&format!("{}{name}", kind.id)),
        source_hash: hash,
        entries: 1,
        tally,
    })
}

/// Reads a file outside the workspace. Returns `None` after it has reported why
/// the file is skipped.
pub(super) fn read_outside_file(
    workspace: &Workspace,
    file: &Path,
    report: &mut ImportReport,
) -> Option<String> {
    let shown = file.display().to_string();
    let limit = workspace.config().index.max_file_bytes;
    let why = match regular::read_text(file, LinkPolicy::Follow, limit) {
        Ok(text) if !text.trim().is_empty() => return Some(text),
        Ok(_) => "it is empty".to_owned(),
        Err(FileReadError::TooLarge { size, .. }) => {
            format!("it has {size} bytes, more than `index.max_file_bytes` allows")
        }
        Err(FileReadError::Io(error)) => format!("could not read it: {error}"),
        Err(other) => other.to_string(),
    };
    report.add_skipped(shown, why);
    None
}

/// Derives the path of a note from its name.
fn target_path(name: &str, kind: &NoteImportSpec) -> Result<RelPath, ImportError> {
    let name = name.trim_end_matches(".md");
    let mut parts: Vec<String> = name
        .split('/')
        .map(|part| derive_file_stem(part).unwrap_or_else(|| "note".to_owned()))
        .collect();
    if !kind.folders {
        parts = vec![parts.join("-")];
    }
    // On a file system that ignores case, `memory.md` is `MEMORY.md`, an index.
    if let Some(last) = parts.last_mut()
        && last == "memory"
    {
        last.push_str("-notes");
    }
    let path = RelPath::new(&format!("{}/{}.md", kind.folder, parts.join("/")));
    Ok(path.map_err(crate::workspace::WorkspaceError::from)?)
}

/// Prepares a note: renames keys of its front matter that we use, and adds its
/// names as aliases.
fn prepare_note(text: &str, name: &str, kind: &NoteImportSpec, stem: &str) -> String {
    let text = text.trim_start_matches('\u{feff}');
    let document = document::parse_document(text);
    let (head, body) = text.split_at(document.front_matter.as_ref().map_or(0, |it| it.span.end));
    // A `: ` would end a plain value of YAML.
    let mut head = head.replace("‹redacted: ", "‹redacted:");
    // Keys of an earlier import describe the source's origin, and get a prefix
    // so that ours do not collide with them.
    for key in PROVENANCE_KEYS {
        let document = document::parse_document(head.as_str());
        let spans = document
            .front_matter
            .as_ref()
            .map(|it| it.entry_spans(&head));
        let span = spans.into_iter().flatten().find(|(name, _)| name == key);
        if let Some((_, span)) = span
            && head[span.start..].starts_with(key)
        {
            head.insert_str(span.start, "original_");
        }
    }
    let old = name.trim_end_matches(".md");
    let old = old.rsplit('/').next().unwrap_or_default();
    let mut names = (kind.names)(&document);
    if old != stem {
        names.push(old.to_owned());
    }
    let head = add_aliases(head, names);
    let needs_gap = !head.is_empty() && document.front_matter.is_none();
    let gap = if needs_gap && !body.starts_with(['\n', '\r']) {
        "\n"
    } else {
        ""
    };
    format!("{head}{gap}{body}")
}

/// Adds names to the aliases of the front matter.
fn add_aliases(head: String, names: Vec<String>) -> String {
    let document = document::parse_document(head);
    let mut aliases: Vec<String> = match &document.front_matter {
        Some(front) => front
            .list("aliases")
            .iter()
            .map(ToString::to_string)
            .collect(),
        None => Vec::new(),
    };
    let had = aliases.len();
    for name in names {
        let name = document::escape_markdown_line(&name);
        if !name.is_empty() && !aliases.contains(&name) {
            aliases.push(name);
        }
    }
    if aliases.len() == had {
        return document.text;
    }
    let aliases: Vec<&str> = aliases.iter().map(String::as_str).collect();
    let edit = document.set_front_matter_list("aliases", &aliases);
    document::apply_edits(&document.text, vec![edit]).unwrap_or(document.text)
}

/// Returns the folder. Fails if it is missing or a file.
pub(super) fn require_folder(path: &Path) -> Result<&Path, ImportError> {
    let path_buf = || path.to_path_buf();
    match std::fs::metadata(path) {
        Ok(meta) if meta.is_dir() => Ok(path),
        Ok(_) => Err(ImportError::NotAFolder { path: path_buf() }),
        Err(_) => Err(ImportError::Missing { path: path_buf() }),
    }
}
