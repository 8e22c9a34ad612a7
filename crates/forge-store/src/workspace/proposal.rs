//! Proposes changes that a person reviews before they happen. What is applied
//! is what was shown: a file that has changed since stops all of it.

use jiff::Timestamp;

use super::{ChangeReceipt, RelPath, Workspace, WorkspaceError};

/// Files with their text before and after, in the order in which to show them.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct ChangeProposal {
    /// Come first: the files below are named as they are after them.
    pub moves: Vec<ProposedMove>,
    /// The files with their texts.
    pub files: Vec<ProposedFile>,
}

/// A move of a file to another path, whatever its bytes are.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct ProposedMove {
    /// The path before.
    pub from: RelPath,
    /// The path after.
    pub to: RelPath,
}

/// A file with its text before and after.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct ProposedFile {
    /// The path of the file.
    pub path: RelPath,
    /// None where there is no file yet.
    pub before: Option<String>,
    /// The text that it would have.
    pub after: String,
}

impl ChangeProposal {
    /// Adds a file, unless it would stay as it is.
    pub fn add(&mut self, path: RelPath, before: Option<String>, after: String) {
        if before.as_deref() != Some(after.as_str()) {
            self.files.push(ProposedFile {
                path,
                before,
                after,
            });
        }
    }

    /// Returns `true` if nothing would change.
    pub fn is_empty(&self) -> bool {
        self.files.is_empty() && self.moves.is_empty()
    }

    /// Returns a hash of the changes, so that consent covers exactly what was
    /// shown.
    pub fn version(&self) -> String {
        let mut hasher = blake3::Hasher::new();
        let mut add = |text: &str| {
            hasher.update(&(text.len() as u64).to_le_bytes());
            hasher.update(text.as_bytes());
        };
        for ProposedMove { from, to } in &self.moves {
            add(from.as_str());
            add(to.as_str());
        }
        for file in &self.files {
            add(file.path.as_str());
            add(file.before.as_deref().unwrap_or("\0"));
            add(&file.after);
        }
        hasher.finalize().to_hex()[..32].to_owned()
    }

    /// Returns the text that a file would have, if it is among those to change.
    pub fn text_after(&self, path: &RelPath) -> Option<&str> {
        let file = self.files.iter().find(|file| file.path == *path)?;
        Some(&file.after)
    }

    /// Returns the text that a path will have: as the proposal leaves it, else
    /// that of the file which moves there or is there.
    pub fn read_after(&self, workspace: &Workspace, path: &RelPath) -> Option<String> {
        if let Some(after) = self.text_after(path) {
            return Some(after.to_owned());
        }
        let moved = self.moves.iter().find(|it| it.to == *path);
        workspace.read_text(moved.map_or(path, |it| &it.from)).ok()
    }

    /// Applies all of it as one change that can be undone.
    pub fn apply(
        &self,
        workspace: &Workspace,
        what: &str,
        now: Timestamp,
    ) -> Result<ChangeReceipt, WorkspaceError> {
        workspace.change(what, now, |change| {
            for ProposedMove { from, to } in &self.moves {
                let Some(bytes) = change.read(from)? else {
                    return Err(WorkspaceError::ChangedSince {
                        path: workspace.absolute_path(from),
                    });
                };
                // A move never replaces a file that appeared since.
                change.create(to, bytes)?;
                change.remove(from);
                if let Some(folder) = from.parent() {
                    change.drop_folder_if_empty(&folder);
                }
            }
            for file in &self.files {
                let current = change.read(&file.path)?;
                if current.as_deref() != file.before.as_deref().map(str::as_bytes) {
                    return Err(WorkspaceError::ChangedSince {
                        path: workspace.absolute_path(&file.path),
                    });
                }
                change.write(&file.path, file.after.as_bytes());
            }
            Ok(())
        })
    }
}
