//! Imports Markdown notes. The text below the front matter is kept byte for
//! byte, except for secrets and hidden characters; links by the old name still
//! find the note.

use std::path::{Path, PathBuf};

use super::land::{Incoming, Landing, PROVENANCE};
use super::{Error, Options, Report, modified, name_from};
use crate::admit::{Tally, admit_import};
use crate::document::{self, Document, day_of};
use crate::workspace::regular::{self, Links, Unreadable};
use crate::workspace::{RelPath, Workspace};

/// A note in a folder that is imported.
pub(super) struct Note {
    pub(super) file: PathBuf,
    /// Its path relative to the folder, with `/`.
    pub(super) name: String,
}

/// Origin and target of one kind of notes.
pub(super) struct Kind<'a> {
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
const DEPTH: usize = 8;
const MOST: usize = 50_000;

/// Lists the notes of a folder that the options select, by name. Links and
/// folders with a dot are skipped.
pub(super) fn below(folder: &Path, options: &Options, report: &mut Report) -> Vec<Note> {
    let mut notes = Vec::new();
    let mut folders = vec![(folder.to_path_buf(), String::new(), DEPTH)];
    while let Some((folder, prefix, depth)) = folders.pop() {
        for entry in std::fs::read_dir(&folder).into_iter().flatten().flatten() {
            let Ok(name) = entry.file_name().into_string() else {
                let shown = entry.path().display().to_string();
                report.skip(shown, "its name is not UTF-8");
                continue;
            };
            let Ok(kind) = entry.file_type() else {
                continue;
            };
            let path = entry.path();
            if kind.is_dir() && depth > 0 && !name.starts_with('.') {
                folders.push((path, format!("{prefix}{name}/"), depth - 1));
            } else if kind.is_symlink() && name.ends_with(".md") {
                report.skip(path.display().to_string(), "it is a link");
            } else if kind.is_file() && name.ends_with(".md") && notes.len() < MOST {
                notes.push(Note {
                    file: path,
                    name: format!("{prefix}{name}"),
                });
            }
        }
    }
    notes.retain(|note| {
        let old = options
            .since
            .is_some_and(|since| modified(&note.file).is_some_and(|at| day_of(at) < since));
        report.older += usize::from(old);
        !old
    });
    // A limit keeps the newest notes, which are then sorted by name again.
    if let Some(limit) = options.limit {
        notes.sort_by_cached_key(|note| {
            (std::cmp::Reverse(modified(&note.file)), note.name.clone())
        });
        report.beyond_limit += notes.len().saturating_sub(limit);
        notes.truncate(limit);
    }
    notes.sort_by(|a, b| a.name.cmp(&b.name));
    notes
}

/// Imports one note, or reports why not.
pub(super) fn place(
    workspace: &Workspace,
    note: &Note,
    kind: &Kind,
    landing: &mut Landing,
) -> Result<(), Error> {
    let Some(text) = read(workspace, &note.file, &mut landing.report) else {
        return Ok(());
    };
    let hash = blake3::hash(text.as_bytes()).to_hex()[..32].to_owned();
    let mut tally = Tally::default();
    let text = admit_import(&text, &mut tally);
    let name = admit_import(&note.name, &mut tally);
    let path = path(&name, kind)?;
    landing.place(Incoming {
        text: prepared(&text, &name, kind, path.stem()),
        path,
        source: kind.source,
        source_id: document::inert_line(&format!("{}{name}", kind.id)),
        source_hash: hash,
        entries: 1,
        tally,
    })
}

/// Reads a file outside the workspace. Returns `None` after it has reported why
/// the file is skipped.
pub(super) fn read(workspace: &Workspace, file: &Path, report: &mut Report) -> Option<String> {
    let shown = file.display().to_string();
    let limit = workspace.config().index.max_file_bytes;
    let why = match regular::read_text(file, Links::Follow, limit) {
        Ok(text) if !text.trim().is_empty() => return Some(text),
        Ok(_) => "it is empty".to_owned(),
        Err(Unreadable::TooLarge { size, .. }) => {
            format!("it has {size} bytes, more than `index.max_file_bytes` allows")
        }
        Err(Unreadable::Io(error)) => format!("could not read it: {error}"),
        Err(other) => other.to_string(),
    };
    report.skip(shown, why);
    None
}

/// Derives the path of a note from its name.
fn path(name: &str, kind: &Kind) -> Result<RelPath, Error> {
    let name = name.trim_end_matches(".md");
    let mut parts: Vec<String> = name
        .split('/')
        .map(|part| name_from(part).unwrap_or_else(|| "note".to_owned()))
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
    Ok(path.map_err(crate::workspace::Error::from)?)
}

/// Prepares a note: renames keys of its front matter that we use, and adds its
/// names as aliases.
fn prepared(text: &str, name: &str, kind: &Kind, stem: &str) -> String {
    let text = text.trim_start_matches('\u{feff}');
    let document = document::parse(text);
    let (head, body) = text.split_at(document.front_matter.as_ref().map_or(0, |it| it.span.end));
    // A `: ` would end a plain value of YAML.
    let mut head = head.replace("‹redacted: ", "‹redacted:");
    // Keys of an earlier import describe the source's origin, and get a prefix
    // so that ours do not collide with them.
    for key in PROVENANCE {
        let document = document::parse(head.as_str());
        let spans = document.front_matter.as_ref().map(|it| it.spans(&head));
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
    let head = with_aliases(head, names);
    let gap = match head.is_empty() || document.front_matter.is_some() {
        true => "",
        false if body.starts_with(['\n', '\r']) => "",
        false => "\n",
    };
    format!("{head}{gap}{body}")
}

/// Adds names to the aliases of the front matter.
fn with_aliases(head: String, names: Vec<String>) -> String {
    let document = document::parse(head);
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
        let name = document::inert_line(&name);
        if !name.is_empty() && !aliases.contains(&name) {
            aliases.push(name);
        }
    }
    if aliases.len() == had {
        return document.text;
    }
    let aliases: Vec<&str> = aliases.iter().map(String::as_str).collect();
    let edit = document.set_front_matter_list("aliases", &aliases);
    document::apply(&document.text, vec![edit]).unwrap_or(document.text)
}

/// Returns the folder. Fails if it is missing or a file.
pub(super) fn folder(path: &Path) -> Result<&Path, Error> {
    let path_buf = || path.to_path_buf();
    match std::fs::metadata(path) {
        Ok(meta) if meta.is_dir() => Ok(path),
        Ok(_) => Err(Error::NotAFolder { path: path_buf() }),
        Err(_) => Err(Error::Missing { path: path_buf() }),
    }
}
