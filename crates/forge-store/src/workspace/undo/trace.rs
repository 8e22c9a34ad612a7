//! Follows a file through the journal, from its bytes before the first change
//! to its bytes now. It reads, and changes nothing.

use std::collections::BTreeMap;

use super::journal::{FileRecord, Journal, hash_bytes};
use super::{JournalEntry, parse_paths};
use crate::workspace::{RelPath, Workspace, WorkspaceError};

/// Who wanted a change.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum ChangeAuthor {
    /// The program prepared the workspace: the changes that are looked for.
    Preparation,
    /// The program, in another way that leaves nothing of a person's behind.
    Program,
    /// A person or an agent wrote something.
    Person,
}

/// A file that was prepared and still differs from what it was before.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct TracedFile {
    /// The file, relative to the workspace.
    pub path: RelPath,
    /// Its bytes now; none where there is no file.
    pub current: Option<Vec<u8>>,
    /// Its bytes before; none where there was no file.
    pub original: Option<Vec<u8>>,
    /// What was done to it and is still in effect, oldest first.
    pub changes: Vec<String>,
    /// Whether anyone else has changed it as well, so that the bytes before
    /// would lose that, or those bytes are not known.
    pub was_edited: bool,
    /// The folders that these changes made, outermost first.
    pub folders: Vec<RelPath>,
}

/// The states that a file had, by hash, and the changes between them.
struct FileStates {
    states: Vec<Option<String>>,
    changes: Vec<(ChangeAuthor, String)>,
    /// Why there may be none: its copy in the journal is damaged.
    original: Result<Option<Vec<u8>>, WorkspaceError>,
}

impl FileStates {
    /// Adds a state. A state that the file had before takes back everything
    /// since, whether by an undo or by hand.
    fn advance(&mut self, state: &Option<String>, author: ChangeAuthor, what: &str) {
        match self.states.iter().position(|it| it == state) {
            Some(at) => {
                self.states.truncate(at + 1);
                self.changes.truncate(at);
            }
            None => {
                self.states.push(state.clone());
                self.changes.push((author, what.to_owned()));
            }
        }
    }
}

impl Workspace {
    /// Follows every file of the journal and returns those that preparations
    /// changed and that are not as they were. `current` replaces the bytes of
    /// files that are about to change.
    pub fn trace_preparations(
        &self,
        author: impl Fn(&JournalEntry, &RelPath) -> ChangeAuthor,
        current: &BTreeMap<RelPath, Option<Vec<u8>>>,
    ) -> Result<Vec<TracedFile>, WorkspaceError> {
        let journal = Journal::of(self);
        let mut entries = self.history()?;
        // Oldest first.
        entries.reverse();
        let mut files: BTreeMap<RelPath, FileStates> = BTreeMap::new();
        let mut folders = Vec::new();
        for entry in &entries {
            let folder = journal.entry_folder(entry);
            let record = journal.read_record(&folder)?;
            folders.extend(parse_paths(&record.folders)?);
            for (index, file) in record.files.iter().enumerate() {
                let path = RelPath::new(&file.path)?;
                if !files.contains_key(&path) {
                    let original = journal.bytes_before(&folder, index, file);
                    files.insert(path.clone(), begin(file, original));
                }
                if let Some(states) = files.get_mut(&path) {
                    let author = match entry.undoes {
                        Some(_) => ChangeAuthor::Program,
                        None => author(entry, &path),
                    };
                    states.advance(&file.before, ChangeAuthor::Person, "");
                    states.advance(&file.after, author, &entry.what);
                }
            }
        }
        let mut traced = Vec::new();
        for (path, mut states) in files {
            let now = match current.get(&path) {
                Some(bytes) => bytes.clone(),
                // A link or a folder in its place is not ours to remove.
                None => match self.read_if_present(&path) {
                    Ok(bytes) => bytes,
                    Err(_) => continue,
                },
            };
            let hash = now.as_deref().map(hash_bytes);
            states.advance(&hash, ChangeAuthor::Person, "");
            let is_prepared = |it: &&(ChangeAuthor, String)| it.0 == ChangeAuthor::Preparation;
            let changes = states.changes.iter().filter(is_prepared);
            let changes: Vec<String> = changes.map(|it| it.1.clone()).collect();
            if changes.is_empty() {
                continue;
            }
            let above = |folder: &&RelPath| path.starts_with(folder.as_str());
            traced.push(TracedFile {
                folders: folders.iter().filter(above).cloned().collect(),
                was_edited: states.original.is_err()
                    || states.changes.iter().any(|it| it.0 == ChangeAuthor::Person),
                current: now,
                original: states.original.unwrap_or_default(),
                changes,
                path,
            });
        }
        Ok(traced)
    }
}

fn begin(file: &FileRecord, original: Result<Option<Vec<u8>>, WorkspaceError>) -> FileStates {
    FileStates {
        states: vec![file.before.clone()],
        changes: Vec::new(),
        original,
    }
}
