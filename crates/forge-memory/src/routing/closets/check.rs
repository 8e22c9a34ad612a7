//! Checks the closets of a hub, read-only.

use super::MAX_ENTRY_CHARS;
use super::build::{EntryMatch, match_entries};
use super::file::ClosetFile;
use crate::routing::hubs::Hub;
use crate::workspace::{RelPath, Workspace, WorkspaceError};

/// The ways in which closets and documents can differ.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum ClosetMismatchKind {
    /// The hub has no `_CLOSETS.md`.
    NoFile,
    /// The file has no version marker.
    NoMarker,
    /// A document without an entry.
    Missing,
    /// The document changed after its entry was written.
    Stale,
    /// The entry does not record the text that it was made from.
    Unstamped,
    /// An entry without a document.
    Orphan,
    /// Two entries for one document.
    Twice,
    /// The entry exceeds the maximum length.
    TooLong,
    /// The document cannot be read.
    Unreadable,
}

impl ClosetMismatchKind {
    /// Every kind.
    pub const ALL: [ClosetMismatchKind; 9] = [
        ClosetMismatchKind::NoFile,
        ClosetMismatchKind::NoMarker,
        ClosetMismatchKind::Missing,
        ClosetMismatchKind::Stale,
        ClosetMismatchKind::Unstamped,
        ClosetMismatchKind::Orphan,
        ClosetMismatchKind::Twice,
        ClosetMismatchKind::TooLong,
        ClosetMismatchKind::Unreadable,
    ];

    /// Returns the name of the kind in machine-readable output.
    pub fn name(self) -> &'static str {
        match self {
            ClosetMismatchKind::NoFile => "no-file",
            ClosetMismatchKind::NoMarker => "no-marker",
            ClosetMismatchKind::Missing => "missing",
            ClosetMismatchKind::Stale => "stale",
            ClosetMismatchKind::Unstamped => "unstamped",
            ClosetMismatchKind::Orphan => "orphan",
            ClosetMismatchKind::Twice => "twice",
            ClosetMismatchKind::TooLong => "too-long",
            ClosetMismatchKind::Unreadable => "unreadable",
        }
    }
}

/// An entry that does not match its document, or a hub without closets.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct ClosetMismatch {
    /// What does not match.
    pub kind: ClosetMismatchKind,
    /// The file to fix.
    pub file: RelPath,
    /// The line of the entry, if there is one.
    pub line: Option<usize>,
    /// The entry or document that it is about.
    pub entry: String,
    detail: String,
    /// Whether the entry was edited after it was built.
    refined: bool,
}

impl ClosetMismatch {
    /// Returns `file` or `file:line`.
    pub fn location(&self) -> String {
        match self.line {
            Some(line) => format!("{}:{line}", self.file),
            None => self.file.to_string(),
        }
    }

    /// Describes the mismatch without a full stop.
    pub fn message(&self) -> String {
        let entry = &self.entry;
        match self.kind {
            ClosetMismatchKind::NoFile => format!("the hub `{entry}` has no closets"),
            ClosetMismatchKind::NoMarker => "missing memex-closets version marker".to_owned(),
            ClosetMismatchKind::Missing => format!("no entry for `{entry}`"),
            ClosetMismatchKind::Stale => format!("closet entry [[{entry}]] is older than its file"),
            ClosetMismatchKind::Unstamped => {
                format!("closet entry [[{entry}]] does not record which text it describes")
            }
            ClosetMismatchKind::Orphan => {
                format!("closet entry [[{entry}]] points to missing file")
            }
            ClosetMismatchKind::Twice => {
                format!("closet entry [[{entry}]] describes a file that has one already")
            }
            ClosetMismatchKind::TooLong => {
                format!("closet entry [[{entry}]] is too long: {}", self.detail)
            }
            ClosetMismatchKind::Unreadable => format!("`{entry}` cannot be read: {}", self.detail),
        }
    }
}

impl ClosetMismatch {
    /// Returns what to do about it. A build keeps edits by hand, so a person
    /// has to resolve some mismatches.
    pub fn advice(&self) -> &'static str {
        const BUILD_ADVICE: &str = "run `memory-forge closets build`";
        match self.kind {
            ClosetMismatchKind::NoFile
            | ClosetMismatchKind::NoMarker
            | ClosetMismatchKind::Missing
            | ClosetMismatchKind::Stale
            | ClosetMismatchKind::Unstamped => BUILD_ADVICE,
            ClosetMismatchKind::Orphan | ClosetMismatchKind::Twice if !self.refined => BUILD_ADVICE,
            ClosetMismatchKind::Orphan | ClosetMismatchKind::Twice => {
                "it was edited by hand; delete the entry, or correct its name"
            }
            ClosetMismatchKind::TooLong => "it was edited by hand; shorten it",
            ClosetMismatchKind::Unreadable => "make it readable text",
        }
    }
}

/// Finds every mismatch in a hub's closets.
pub fn check_closets(
    workspace: &Workspace,
    hub: &Hub,
) -> Result<Vec<ClosetMismatch>, WorkspaceError> {
    let mut findings = Vec::new();
    let mut add = |kind, file: &RelPath, line, entry: &str, detail: String| {
        findings.push(ClosetMismatch {
            kind,
            file: file.clone(),
            line,
            entry: entry.to_owned(),
            detail,
            refined: false,
        });
    };
    let mut files = Vec::new();
    for path in [hub.closets_path(), hub.closets_archive_path()] {
        match workspace.read_text(&path) {
            Ok(text) => files.push((path, ClosetFile::parse(text))),
            Err(error) if error.is_not_found() => {}
            Err(error) => return Err(error),
        }
    }
    let has_primary = files
        .first()
        .is_some_and(|(path, _)| *path == hub.closets_path());
    if !has_primary {
        add(
            ClosetMismatchKind::NoFile,
            &hub.closets_path(),
            None,
            &hub.name,
            String::new(),
        );
        return Ok(findings);
    }
    for (path, file) in &files {
        if file.marker_version().is_none() {
            add(
                ClosetMismatchKind::NoMarker,
                path,
                Some(1),
                "",
                String::new(),
            );
        }
    }
    let matched = match_entries(workspace, hub, files.iter().map(|it| &it.1));
    for (path, reason) in matched.unreadable {
        add(
            ClosetMismatchKind::Unreadable,
            &path,
            None,
            path.as_str(),
            reason,
        );
    }
    let mut of_entries = matched.of_entries.into_iter();
    for (path, file) in &files {
        for block in file.entries() {
            let line = Some(block.line);
            match of_entries.next() {
                Some(EntryMatch::Current) => {}
                Some(EntryMatch::Stale) if block.stamp.is_none() => {
                    add(
                        ClosetMismatchKind::Unstamped,
                        path,
                        line,
                        &block.name,
                        String::new(),
                    );
                }
                Some(EntryMatch::Stale) => add(
                    ClosetMismatchKind::Stale,
                    path,
                    line,
                    &block.name,
                    String::new(),
                ),
                Some(EntryMatch::Twice) => add(
                    ClosetMismatchKind::Twice,
                    path,
                    line,
                    &block.name,
                    String::new(),
                ),
                Some(EntryMatch::Nothing) | None => {
                    add(
                        ClosetMismatchKind::Orphan,
                        path,
                        line,
                        &block.name,
                        String::new(),
                    );
                }
            }
            if block.char_length() > MAX_ENTRY_CHARS {
                let length = format!(
                    "{} characters, {MAX_ENTRY_CHARS} at most",
                    block.char_length()
                );
                add(ClosetMismatchKind::TooLong, path, line, &block.name, length);
            }
        }
    }
    for path in matched.missing {
        add(
            ClosetMismatchKind::Missing,
            &hub.closets_path(),
            None,
            path.as_str(),
            String::new(),
        );
    }
    for finding in &mut findings {
        let mut blocks = files.iter().filter(|(path, _)| *path == finding.file);
        finding.refined = blocks.any(|(_, file)| {
            let mut entries = file.entries();
            entries.any(|it| Some(it.line) == finding.line && it.is_refined())
        });
    }
    Ok(findings)
}
