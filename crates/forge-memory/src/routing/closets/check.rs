//! Checks the closets of a hub, read-only.

use super::LONGEST_ENTRY;
use super::build::{Found, matched};
use super::file::File;
use crate::routing::hubs::Hub;
use crate::workspace::{Error, RelPath, Workspace};

/// The ways in which closets and documents can differ.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Kind {
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

impl Kind {
    /// Every kind.
    pub const ALL: [Kind; 9] = [
        Kind::NoFile,
        Kind::NoMarker,
        Kind::Missing,
        Kind::Stale,
        Kind::Unstamped,
        Kind::Orphan,
        Kind::Twice,
        Kind::TooLong,
        Kind::Unreadable,
    ];

    /// Returns the name of the kind in machine-readable output.
    pub fn name(self) -> &'static str {
        match self {
            Kind::NoFile => "no-file",
            Kind::NoMarker => "no-marker",
            Kind::Missing => "missing",
            Kind::Stale => "stale",
            Kind::Unstamped => "unstamped",
            Kind::Orphan => "orphan",
            Kind::Twice => "twice",
            Kind::TooLong => "too-long",
            Kind::Unreadable => "unreadable",
        }
    }
}

/// An entry that does not match its document, or a hub without closets.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct ClosetMismatch {
    pub kind: Kind,
    /// The file to fix.
    pub file: RelPath,
    pub line: Option<usize>,
    /// The entry or document that it is about.
    pub entry: String,
    detail: String,
    /// Whether the entry was edited after it was built.
    refined: bool,
}

impl ClosetMismatch {
    /// Returns `file` or `file:line`.
    pub fn place(&self) -> String {
        match self.line {
            Some(line) => format!("{}:{line}", self.file),
            None => self.file.to_string(),
        }
    }

    /// Describes the mismatch without a full stop.
    pub fn message(&self) -> String {
        let entry = &self.entry;
        match self.kind {
            Kind::NoFile => format!("the hub `{entry}` has no closets"),
            Kind::NoMarker => "missing memex-closets version marker".to_owned(),
            Kind::Missing => format!("no entry for `{entry}`"),
            Kind::Stale => format!("closet entry [[{entry}]] is older than its file"),
            Kind::Unstamped => {
                format!("closet entry [[{entry}]] does not say which text it describes")
            }
            Kind::Orphan => format!("closet entry [[{entry}]] points to missing file"),
            Kind::Twice => {
                format!("closet entry [[{entry}]] describes a file that has one already")
            }
            Kind::TooLong => format!("closet entry [[{entry}]] is too long: {}", self.detail),
            Kind::Unreadable => format!("`{entry}` cannot be read: {}", self.detail),
        }
    }
}

impl ClosetMismatch {
    /// Returns what to do about it. A build keeps edits by hand, so a person
    /// has to resolve some mismatches.
    pub fn advice(&self) -> &'static str {
        const BUILD: &str = "run `memory-forge closets build`";
        match self.kind {
            Kind::NoFile | Kind::NoMarker | Kind::Missing | Kind::Stale | Kind::Unstamped => BUILD,
            Kind::Orphan | Kind::Twice if !self.refined => BUILD,
            Kind::Orphan | Kind::Twice => {
                "it was edited by hand; delete the entry, or correct its name"
            }
            Kind::TooLong => "it was edited by hand; shorten it",
            Kind::Unreadable => "make it readable text",
        }
    }
}

/// Finds every mismatch in a hub's closets.
pub fn check(workspace: &Workspace, hub: &Hub) -> Result<Vec<ClosetMismatch>, Error> {
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
    for path in [hub.closets(), hub.closets_archive()] {
        match workspace.read_text(&path) {
            Ok(text) => files.push((path, File::parse(text))),
            Err(error) if error.is_not_found() => {}
            Err(error) => return Err(error),
        }
    }
    let has_primary = files
        .first()
        .is_some_and(|(path, _)| *path == hub.closets());
    if !has_primary {
        add(Kind::NoFile, &hub.closets(), None, &hub.name, String::new());
        return Ok(findings);
    }
    for (path, file) in &files {
        if file.version().is_none() {
            add(Kind::NoMarker, path, Some(1), "", String::new());
        }
    }
    let matched = matched(workspace, hub, files.iter().map(|it| &it.1));
    for (path, reason) in matched.unreadable {
        add(Kind::Unreadable, &path, None, path.as_str(), reason);
    }
    let mut of_entries = matched.of_entries.into_iter();
    for (path, file) in &files {
        for block in file.entries() {
            let line = Some(block.line);
            match of_entries.next() {
                Some(Found::Current) => {}
                Some(Found::Stale) if block.stamp.is_none() => {
                    add(Kind::Unstamped, path, line, &block.name, String::new());
                }
                Some(Found::Stale) => add(Kind::Stale, path, line, &block.name, String::new()),
                Some(Found::Twice) => add(Kind::Twice, path, line, &block.name, String::new()),
                Some(Found::Nothing) | None => {
                    add(Kind::Orphan, path, line, &block.name, String::new());
                }
            }
            if block.length() > LONGEST_ENTRY {
                let length = format!("{} characters, {LONGEST_ENTRY} at most", block.length());
                add(Kind::TooLong, path, line, &block.name, length);
            }
        }
    }
    for path in matched.missing {
        add(
            Kind::Missing,
            &hub.closets(),
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
