//! Finds a text literally in the state files, without an index, so that an
//! entry written a moment ago is found.

use crate::corrections::Corrections;
use crate::mind::{MindFile, MindStore};
use crate::quote;
use crate::secrets;
use crate::workspace::{RelPath, Workspace, WorkspaceError};

/// Matches listed for one file.
const MAX_PLACES_PER_FILE: usize = 10;

/// The files to search, in the order of an answer.
const SEARCHED_STATE_FILES: [MindFile; 5] = [
    MindFile::State,
    MindFile::Progress,
    MindFile::Decisions,
    MindFile::SessionLog,
    MindFile::Archive,
];

/// The matches in one file.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct StateMatches {
    /// The file.
    pub path: RelPath,
    /// The first matches.
    pub places: Vec<StatePlace>,
    /// How many more there are.
    pub more: usize,
}

/// A line that contains the text.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct StatePlace {
    /// The line, counted from one.
    pub line: usize,
    /// The line with its neighbours, redacted and with hidden characters
    /// escaped.
    pub snippet: String,
    /// Corrections of what the snippet repeats.
    pub notes: Vec<String>,
}

/// Finds the lines of the state files that contain a text, ignoring case.
pub fn find_in_state(
    workspace: &Workspace,
    text: &str,
) -> Result<Vec<StateMatches>, WorkspaceError> {
    let wanted = text.trim().to_lowercase();
    let mind = MindStore::open(workspace);
    let corrections = Corrections::read(workspace)?;
    let mut found = Vec::new();
    let mut seen = Vec::new();
    for which in SEARCHED_STATE_FILES {
        let path = mind.file_path(which);
        if seen.contains(&path) {
            continue;
        }
        seen.push(path.clone());
        let Ok(text) = workspace.read_text(&path) else {
            continue;
        };
        // The whole file is redacted before it is cut: a secret may be longer
        // than a snippet.
        let text = secrets::redact_keeping_lines(&text);
        let lines: Vec<&str> = text.lines().collect();
        let places: Vec<usize> = (0..lines.len())
            .filter(|at| lines[*at].to_lowercase().contains(&wanted))
            .collect();
        if places.is_empty() {
            continue;
        }
        let place = |at: &usize| {
            let around = at.saturating_sub(1)..(at + 2).min(lines.len());
            let snippet = quote::sanitize_part(&lines[around].join("\n"))
                .text
                .into_owned();
            StatePlace {
                line: at + 1,
                notes: corrections.describe_found(&snippet),
                snippet,
            }
        };
        found.push(StateMatches {
            path,
            places: places.iter().take(MAX_PLACES_PER_FILE).map(place).collect(),
            more: places.len().saturating_sub(MAX_PLACES_PER_FILE),
        });
    }
    Ok(found)
}
