//! The vault: every file of the workspace as links see it, read once. Files
//! that cannot be read keep their names, so that links to them stay valid.

use std::num::NonZero;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::thread;

use super::names::{LinkNames, LinkResolution, join_path, last_segment};
use super::notes::{NoteLink, VaultNote};
use crate::document::LinkKind;
use crate::state_files::MIND_FOLDER;
use crate::workspace::{FileRole, RelPath, ScanProblem, Workspace, role_by_path};

/// Maximum number of unreadable files that are listed.
const MAX_PROBLEM_LINES: usize = 10;

/// Sorted by path. Files that cannot be read are there, as names.
#[derive(Debug, Clone, Default)]
pub struct NoteVault {
    /// The files.
    pub files: Vec<VaultFile>,
    /// The names by which links find them.
    pub names: LinkNames,
    /// What could not be read, and why.
    pub problems: Vec<ScanProblem>,
}

/// A file of the vault.
#[derive(Debug, Clone, PartialEq)]
pub struct VaultFile {
    /// The path relative to the root.
    pub path: RelPath,
    /// The role of the file.
    pub role: FileRole,
    /// When it last changed, in nanoseconds since 1970.
    pub mtime_ns: i64,
    /// The content of a Markdown file.
    pub note: Option<VaultNote>,
}

impl NoteVault {
    /// Reads every file of the workspace, Markdown with its links.
    pub fn read(workspace: &Workspace) -> NoteVault {
        let mut tree = workspace.tree();
        // Memory is also in folders whose names begin with a dot.
        for found in workspace.scan().files {
            if found.path.as_str().starts_with('.') {
                tree.files.push(found);
            }
        }
        let mut problems = tree.problems;
        let mut files: Vec<VaultFile> = tree
            .files
            .into_iter()
            .map(|found| VaultFile {
                role: found.role,
                path: found.path,
                mtime_ns: found.mtime_ns,
                note: None,
            })
            .collect();
        files.extend(
            workspace
                .markdown_files_in(MIND_FOLDER)
                .into_iter()
                .map(|path| VaultFile {
                    path,
                    role: FileRole::State,
                    mtime_ns: 0,
                    note: None,
                }),
        );
        files.sort_by(|a, b| a.path.cmp(&b.path));
        read_notes(workspace, &mut files, &mut problems);
        problems.sort();
        NoteVault::from_files(files, problems)
    }

    /// Returns the vault as it is once these files are there. Those that it has
    /// already stay as they are.
    pub fn with_new_files(self, texts: Vec<(RelPath, String)>) -> NoteVault {
        let new: Vec<VaultFile> = texts
            .into_iter()
            .filter(|(path, _)| self.position_of(path).is_none())
            .map(|(path, text)| VaultFile {
                role: role_by_path(&path),
                path,
                mtime_ns: 0,
                note: Some(VaultNote::from_text(text, false)),
            })
            .collect();
        let mut files = self.files;
        files.extend(new);
        files.sort_by(|a, b| a.path.cmp(&b.path));
        NoteVault::from_files(files, self.problems)
    }

    /// Builds the vault and the index of its names.
    fn from_files(files: Vec<VaultFile>, problems: Vec<ScanProblem>) -> NoteVault {
        let mut names = LinkNames::new(files.iter().map(|file| file.path.as_str()));
        for (index, file) in files.iter().enumerate() {
            for alias in file.note.iter().flat_map(|note| &note.aliases) {
                names.add_alias(alias, index as u32);
            }
        }
        NoteVault {
            files,
            names,
            problems,
        }
    }

    /// Returns what could not be read, in lines for a person.
    pub fn problem_lines(&self) -> Vec<String> {
        let shown = self.problems.iter().take(MAX_PROBLEM_LINES);
        let mut lines: Vec<String> = shown.map(ToString::to_string).collect();
        let more = self.problems.len() - lines.len();
        if more > 0 {
            lines.push(format!("{more} more files could not be read"));
        }
        lines
    }

    /// Returns the file with this index. Panics if there is none.
    pub fn file(&self, index: u32) -> &VaultFile {
        &self.files[index as usize]
    }

    /// Returns the notes with their indexes.
    pub fn notes(&self) -> impl Iterator<Item = (u32, &VaultFile, &VaultNote)> {
        let numbered = (0..).zip(&self.files);
        numbered.filter_map(|(index, file)| Some((index, file, file.note.as_ref()?)))
    }

    /// Returns the index of the file with this path.
    pub fn position_of(&self, path: &RelPath) -> Option<u32> {
        let found = self.files.binary_search_by(|file| file.path.cmp(path));
        found.ok().map(|index| index as u32)
    }

    /// Resolves a link of the file `from`.
    pub fn resolve(&self, from: u32, link: &NoteLink) -> LinkResolution {
        resolve_with_names(&self.names, self.file(from).path.as_str(), from, link)
    }

    /// Returns the shortest name by which every file of the vault finds this
    /// one: its name alone, or its path if others have the same name.
    pub fn link_name(&self, index: u32) -> &str {
        let path = self.file(index).path.as_str();
        let path = path.strip_suffix(".md").unwrap_or(path);
        match self.names.files_named(last_segment(path)) {
            [_] => last_segment(path),
            _ => path,
        }
    }
}

/// Resolves a link by the rules of its kind.
pub(super) fn resolve_with_names(
    names: &LinkNames,
    path: &str,
    from: u32,
    link: &NoteLink,
) -> LinkResolution {
    if link.target.is_empty() {
        return LinkResolution::File(from);
    }
    match link.kind {
        LinkKind::Wiki | LinkKind::Embed => names.resolve(&link.target, path),
        LinkKind::Import => names.resolve_path(&link.target, path),
        // Markdown's own links start at the folder; Obsidian also resolves them
        // as its own.
        _ => match names.resolve_path(&link.target, path) {
            LinkResolution::Missing => names.resolve(&link.target, path),
            found => found,
        },
    }
}

/// Returns `true` if a listing of files decides whether the link is broken: not
/// for links to the network, out of the workspace, or into a folder that is not
/// listed.
pub(super) fn is_local_link(path: &str, link: &NoteLink) -> bool {
    let target = link.target.as_str();
    // A name may contain a colon; a scheme with slashes is a URL.
    let url = target.split_once(':').is_some_and(|(scheme, rest)| {
        scheme.len() > 1
            && scheme
                .bytes()
                .all(|it| it.is_ascii_alphanumeric() || b"+-.".contains(&it))
            && (rest.starts_with("//") || !link.is_wikilink())
    });
    if url || target.contains("://") || target.starts_with('~') || target.starts_with("//") {
        return false;
    }
    let folder = path.rsplit_once('/').map_or("", |(folder, _)| folder);
    let Some(full) = (match target.strip_prefix('/') {
        Some(rest) => Some(rest.to_owned()),
        None => join_path(folder, target),
    }) else {
        return false;
    };
    let hidden = |part: &str| {
        part.starts_with('.') && part.len() > 1
            || matches!(part, "node_modules" | "target" | "venv" | "__pycache__")
    };
    let mut folders = full.split('/').rev().skip(1);
    link.is_wikilink() || !folders.any(hidden)
}

/// The fields that Dendron gives to every note.
const DENDRON_FIELDS: [&str; 3] = ["id", "desc", "created"];

fn read_notes(workspace: &Workspace, files: &mut [VaultFile], problems: &mut Vec<ScanProblem>) {
    let wanted: Vec<usize> = files
        .iter()
        .enumerate()
        .filter(|(_, file)| is_note_path(&file.path))
        .map(|(index, _)| index)
        .collect();
    let label_first = is_dendron_vault(workspace, files, &wanted);
    let next = AtomicUsize::new(0);
    let shared: &[VaultFile] = files;
    let work = || {
        let mut read = Vec::new();
        loop {
            let at = next.fetch_add(1, Ordering::Relaxed);
            let Some(&index) = wanted.get(at) else {
                return read;
            };
            let note = workspace
                .read_text(&shared[index].path)
                .map(|text| VaultNote::from_text(text, label_first));
            read.push((index, note));
        }
    };
    let threads = thread::available_parallelism()
        .map_or(2, NonZero::get)
        .clamp(1, 8);
    let mut read = Vec::new();
    thread::scope(|scope| {
        let others: Vec<_> = (1..threads).map(|_| scope.spawn(work)).collect();
        read = work();
        for other in others {
            match other.join() {
                Ok(part) => read.extend(part),
                Err(panic) => std::panic::resume_unwind(panic),
            }
        }
    });
    for (index, note) in read {
        match note {
            Ok(note) => files[index].note = Some(note),
            Err(error) => problems.push(ScanProblem {
                path: files[index].path.to_string(),
                message: error.reason(),
            }),
        }
    }
}

/// Returns `true` for Markdown that people write. Files with a dot are
/// generated, such as `memory/.graph.md`.
fn is_note_path(path: &RelPath) -> bool {
    path.as_str().ends_with(".md") && !path.file_name().starts_with('.')
}

/// Returns `true` for a vault of Dendron's, where a link is `[[label|note]]`
/// and every note carries the fields of Dendron. A sample of the notes decides.
fn is_dendron_vault(workspace: &Workspace, files: &[VaultFile], notes: &[usize]) -> bool {
    const SAMPLE_NOTES: usize = 16;
    // Spread over the vault, since one folder may come from elsewhere.
    let step = (notes.len() / SAMPLE_NOTES).max(1);
    let sample: Vec<usize> = notes
        .iter()
        .copied()
        .step_by(step)
        .take(SAMPLE_NOTES)
        .collect();
    let with_fields = sample.iter().filter(|&&index| {
        let Ok(text) = workspace.read_text(&files[index].path) else {
            return false;
        };
        let head: Vec<&str> = text.lines().take(30).collect();
        DENDRON_FIELDS.iter().all(|field| {
            head.iter().any(|line| {
                line.strip_prefix(field)
                    .is_some_and(|it| it.starts_with(':'))
            })
        })
    });
    with_fields.count() * 2 > sample.len()
}
