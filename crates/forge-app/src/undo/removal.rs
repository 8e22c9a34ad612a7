//! Takes out what the program itself put into a workspace: what `init` made,
//! what a repair moved, and the cache. It never removes a line that a person or
//! an agent wrote: where one was added in between, the file stays and is named.

use std::collections::BTreeMap;

use jiff::Timestamp;

use crate::doctor::REPAIR_TITLE;
use crate::inclusion::PREPARATION_TITLE;
use crate::knowledge::readme;
use crate::state_files::MIND_FOLDER;
use crate::teams::private;
use crate::workspace::{
    self, CONFIG_FILE, ChangeAuthor, DERIVED_FOLDER, JournalEntry, RelPath, TracedFile, Workspace,
    WorkspaceError, git,
};

/// What the journal calls a removal.
const REMOVAL_TITLE: &str = "Take out what the program made";
/// How the journal's titles of `setup` and `uninstall` begin.
const SETUP_TITLES: [&str; 2] = ["Set up ", "Uninstall from "];

const IGNORE_FILE: &str = ".gitignore";

/// Files that are about to change, with their bytes afterwards.
pub type PendingFiles = BTreeMap<RelPath, Option<Vec<u8>>>;

/// What leaves a workspace, and what stays.
#[derive(Debug, Default)]
pub struct WorkspaceRemoval {
    /// The files to change or remove, by path.
    pub files: Vec<RemovedPart>,
    /// Ours, and not removed.
    pub kept: Vec<KeptPart>,
    /// Folders and files that people and agents wrote, for which nothing is
    /// ever removed.
    pub written: Vec<&'static str>,
    /// Whether the cache leaves.
    pub drops_cache: bool,
    folders: Vec<RelPath>,
}

/// A file from which our part leaves.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct RemovedPart {
    /// The file, relative to the workspace.
    pub path: RelPath,
    /// Its bytes when the removal was planned; `apply` fails if they have
    /// changed.
    pub before: Vec<u8>,
    /// None where the file leaves.
    pub after: Option<Vec<u8>>,
}

/// A file that the program made or changed and that stays.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct KeptPart {
    /// The file, relative to the workspace.
    pub path: RelPath,
    /// The reason, as a clause for the user.
    pub why: &'static str,
}

/// Places in which people and agents write.
const WRITTEN_PLACES: [&str; 4] = ["knowledge", MIND_FOLDER, ".agents/memory", "_MANIFEST.md"];

impl WorkspaceRemoval {
    /// Finds out what can leave. `pending` are files that an uninstallation is
    /// about to change.
    pub fn plan(
        workspace: &Workspace,
        pending: &PendingFiles,
    ) -> Result<WorkspaceRemoval, WorkspaceError> {
        let mut removal = WorkspaceRemoval::default();
        let mut traced = workspace.trace_preparations(author_of, pending)?;
        let has_private = has_private_files(workspace);
        let is_repair = |file: &TracedFile| file.changes.iter().any(|it| it == REPAIR_TITLE);
        // A repair moves text from one file to another: both go back, or none.
        let repaired = traced.iter().filter(|it| is_repair(it));
        let why_repair_stays = repaired
            .filter_map(|file| why_it_stays(workspace, file, true))
            .next();
        traced.retain(|file| file.current != file.original);
        let mut known: Vec<RelPath> = Vec::new();
        for file in traced {
            known.push(file.path.clone());
            let why = if is_repair(&file) {
                why_repair_stays
            } else {
                why_it_stays(workspace, &file, false)
            };
            let why = why.or((file.path.as_str() == IGNORE_FILE && has_private).then_some(PRIVATE));
            match (why, file.current) {
                (Some(why), _) => removal.kept.push(KeptPart {
                    path: file.path,
                    why,
                }),
                (None, Some(before)) => {
                    if file.original.is_none() {
                        removal.folders.extend(file.folders);
                    }
                    removal.files.push(RemovedPart {
                        path: file.path,
                        before,
                        after: file.original,
                    });
                }
                // It is gone already, and the change did not remove it.
                (None, None) => {}
            }
        }
        for path in [IGNORE_FILE, CONFIG_FILE, readme::README_PATH] {
            let path = RelPath::new(path)?;
            if !known.contains(&path) {
                removal.recognize(workspace, path, has_private)?;
            }
        }
        removal.find_machine_files(workspace)?;
        removal.files.sort_by(|a, b| a.path.cmp(&b.path));
        removal.folders.sort();
        removal.folders.dedup();
        removal.written = WRITTEN_PLACES
            .into_iter()
            .filter(|place| removal.leaves_something(workspace, place))
            .collect();
        let tracked = git::count_tracked_below(workspace.root(), DERIVED_FOLDER).unwrap_or(0);
        let is_there = workspace.derived_folder().symlink_metadata().is_ok();
        removal.drops_cache = is_there && tracked == 0;
        Ok(removal)
    }

    /// Returns `true` if there is nothing to take out.
    pub fn is_empty(&self) -> bool {
        self.files.is_empty() && !self.drops_cache
    }

    /// Takes everything out. The cache goes last: its journal can revert the
    /// rest until then.
    pub fn apply(&self, workspace: &Workspace, now: Timestamp) -> Result<(), WorkspaceError> {
        if !self.files.is_empty() {
            workspace.change(REMOVAL_TITLE, now, |change| {
                for file in &self.files {
                    if change.read(&file.path)?.as_ref() != Some(&file.before) {
                        return Err(WorkspaceError::ChangedSince {
                            path: workspace.absolute_path(&file.path),
                        });
                    }
                    match &file.after {
                        Some(bytes) => change.write(&file.path, bytes.clone()),
                        None => change.remove(&file.path),
                    }
                }
                for folder in &self.folders {
                    change.drop_folder_if_empty(folder);
                }
                Ok(())
            })?;
        }
        if self.drops_cache {
            workspace.remove_derived_folder()?;
        }
        Ok(())
    }

    /// Recognizes by its text what `init` made, for a clone without a journal
    /// and for one that has forgotten such an old change.
    fn recognize(
        &mut self,
        workspace: &Workspace,
        path: RelPath,
        has_private: bool,
    ) -> Result<(), WorkspaceError> {
        let Ok(Some(text)) = workspace.read_text_if_present(&path) else {
            return Ok(());
        };
        let after = match path.as_str() {
            IGNORE_FILE => match without_ignore_rules(&text) {
                Some(_) if has_private => {
                    self.kept.push(KeptPart { path, why: PRIVATE });
                    return Ok(());
                }
                Some("") => None,
                Some(rest) => Some(rest.as_bytes().to_vec()),
                None => return Ok(()),
            },
            CONFIG_FILE => {
                let config = &workspace.config().knowledge;
                let made = workspace::with_included(None, config);
                if config.include.is_empty() || made.as_ref() != Ok(&text) {
                    return Ok(());
                }
                None
            }
            _ => {
                let documents = readme::list_documents(workspace, &[]);
                let made = readme::refresh_list(None, &documents);
                if !documents.is_empty() || !made.is_ok_and(|made| made == text) {
                    return Ok(());
                }
                self.folders.extend(path.parent());
                None
            }
        };
        self.files.push(RemovedPart {
            path,
            before: text.into_bytes(),
            after,
        });
        Ok(())
    }

    /// Adds what hooks keep in `.mind/`, where no state is that it belongs to.
    fn find_machine_files(&mut self, workspace: &Workspace) -> Result<(), WorkspaceError> {
        let folder = RelPath::new(MIND_FOLDER)?;
        let mut found = Vec::new();
        if !collect_machine_files(workspace, &folder, &mut found) {
            return Ok(());
        }
        for path in found {
            // Hooks write these at every turn; what cannot be read stays.
            if let Ok(before) = workspace.read(&path) {
                self.folders.extend(path.parent());
                self.files.push(RemovedPart {
                    path,
                    before,
                    after: None,
                });
            }
        }
        Ok(())
    }

    fn leaves_something(&self, workspace: &Workspace, place: &str) -> bool {
        let goes = |path: &RelPath| {
            let mut files = self.files.iter();
            files.any(|it| it.path == *path && it.after.is_none())
        };
        let Ok(place) = RelPath::new(place) else {
            return false;
        };
        let mut folders = vec![place];
        while let Some(path) = folders.pop() {
            let absolute = workspace.absolute_path(&path);
            match absolute.symlink_metadata() {
                Err(_) => {}
                Ok(meta) if !meta.is_dir() => {
                    if !goes(&path) {
                        return true;
                    }
                }
                Ok(_) => {
                    let entries = std::fs::read_dir(absolute).into_iter().flatten().flatten();
                    let names = entries.map(|it| it.file_name());
                    folders
                        .extend(names.filter_map(|name| path.join(&name.to_string_lossy()).ok()));
                }
            }
        }
        false
    }
}

const PRIVATE: &str = "it keeps private notes (`*.local.md`) out of git";
const EDITED: &str = "it was edited since";
const COMMITTED: &str = "the repair is committed; `git revert` takes it back";

fn author_of(entry: &JournalEntry, path: &RelPath) -> ChangeAuthor {
    let is_setup = SETUP_TITLES.iter().any(|it| entry.what.starts_with(it));
    match entry.what.as_str() {
        PREPARATION_TITLE | REPAIR_TITLE => ChangeAuthor::Preparation,
        // Clients' files are cleaned by their entries; this one has a plain
        // line.
        _ if is_setup && path.as_str() == IGNORE_FILE => ChangeAuthor::Preparation,
        REMOVAL_TITLE => ChangeAuthor::Program,
        _ if is_setup || entry.automatic => ChangeAuthor::Program,
        _ => ChangeAuthor::Person,
    }
}

fn why_it_stays(workspace: &Workspace, file: &TracedFile, repair: bool) -> Option<&'static str> {
    if file.was_edited {
        return Some(EDITED);
    }
    let committed = || {
        let head = git::head_commit(workspace.root())?;
        let there = git::read_file_at(workspace.root(), &head, &file.path).ok()??;
        (Some(there) == file.current).then_some(COMMITTED)
    };
    if repair { committed() } else { None }
}

fn has_private_files(workspace: &Workspace) -> bool {
    let scan = workspace.scan();
    scan.files.iter().any(|it| it.path.is_private())
}

/// Returns the text without the rules that `init` adds at its end, none where
/// they are not there.
fn without_ignore_rules(text: &str) -> Option<&str> {
    let own = format!("{DERIVED_FOLDER}/");
    let without = |text: &'_ str, rule: &str| -> Option<usize> {
        let rest = text.strip_suffix('\n')?;
        let rest = rest.strip_suffix('\r').unwrap_or(rest).strip_suffix(rule)?;
        (rest.is_empty() || rest.ends_with('\n')).then_some(rest.len())
    };
    let end = without(text, private::PRIVATE_IGNORE_RULE.rule).unwrap_or(text.len());
    let end = without(&text[..end], &own)?;
    Some(&text[..end])
}

/// Collects what hooks keep below a folder; `false` where it has anything else.
fn collect_machine_files(
    workspace: &Workspace,
    folder: &RelPath,
    found: &mut Vec<RelPath>,
) -> bool {
    let Ok(entries) = std::fs::read_dir(workspace.absolute_path(folder)) else {
        return false;
    };
    for entry in entries {
        let Ok(entry) = entry else { return false };
        let name = entry.file_name().to_string_lossy().into_owned();
        let (Ok(path), Ok(kind)) = (folder.join(&name), entry.file_type()) else {
            return false;
        };
        let is_machines = name.starts_with('.') || folder.as_str() != MIND_FOLDER;
        if kind.is_dir() && folder.as_str() == MIND_FOLDER && name == "checkpoints" {
            if !collect_machine_files(workspace, &path, found) {
                return false;
            }
        } else if kind.is_file() && is_machines {
            found.push(path);
        } else {
            return false;
        }
    }
    true
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_rules_at_the_end_are_recognized() {
        let check = |text: &str, rest: Option<&str>| assert_eq!(without_ignore_rules(text), rest);
        check(".memory-forge/\n*.local.md\n", Some(""));
        check("target\n.memory-forge/\n", Some("target\n"));
        check("a\r\n.memory-forge/\r\n*.local.md\r\n", Some("a\r\n"));
        check("*.local.md\n", None);
        check("x.memory-forge/\n*.local.md\n", None);
        check(".memory-forge/\nmine\n", None);
    }
}
