//! Resolution of the words of a link to the file that they mean, by Obsidian's
//! rules.
//!
//! A name leads to the one file that has it, in any folder; a path counts from
//! the right and is as long as its author wrote it. Case and the form of
//! accents never matter. This module looks at names only and opens nothing.

use std::borrow::Cow;
use std::collections::HashMap;

use unicode_normalization::{IsNormalized, UnicodeNormalization, is_nfc_quick};

/// Every way in which a set of files can be named. Files are numbers, in the
/// order in which they were given.
#[derive(Debug, Clone, Default)]
pub struct LinkNames {
    /// Folded, with their endings.
    paths: Vec<String>,
    /// The first file that has each folded path.
    by_path: HashMap<String, u32>,
    /// Folded file names, of notes also without `.md`.
    by_name: HashMap<String, Vec<u32>>,
    aliases: HashMap<String, Vec<u32>>,
}

/// Maximum number of files with one name that are compared with each other.
/// Trees of documentation have thousands of `index.md`, and each of those may
/// link to that name.
const MAX_COMPARED_FILES: usize = 256;
/// Maximum number of files that an ambiguous resolution lists.
const MAX_LISTED_FILES: usize = 32;

/// The file that a link means.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum LinkResolution {
    /// The file with this index.
    File(u32),
    /// Several files match equally well; the first [`MAX_LISTED_FILES`] are listed.
    /// The first is the one that is opened.
    Ambiguous(Vec<u32>),
    /// No file has the name.
    Missing,
}

impl LinkResolution {
    /// Returns the file that a click would open.
    pub fn opened_file(&self) -> Option<u32> {
        match self {
            LinkResolution::File(file) => Some(*file),
            LinkResolution::Ambiguous(files) => files.first().copied(),
            LinkResolution::Missing => None,
        }
    }
}

impl LinkNames {
    /// Indexes paths, which are relative to the root, with `/`.
    pub fn new<'a>(paths: impl IntoIterator<Item = &'a str>) -> LinkNames {
        let mut names = LinkNames::default();
        for path in paths {
            names.add_path(path);
        }
        names
    }

    fn add_path(&mut self, path: &str) {
        let file = self.paths.len() as u32;
        let path = fold_name(path).into_owned();
        let (folder, name) = path.rsplit_once('/').unwrap_or(("", &path));
        if let Some(stem) = name.strip_suffix(".md") {
            self.by_name.entry(stem.to_owned()).or_default().push(file);
            // Older manifests name the archive of a hub's closets by the hub.
            if stem == "_closets-archive" && !folder.is_empty() {
                let hub = last_segment(folder);
                let alias = format!("{hub}-closets-archive");
                self.aliases.entry(alias).or_default().push(file);
            }
        }
        self.by_name.entry(name.to_owned()).or_default().push(file);
        self.by_path.entry(path.clone()).or_insert(file);
        self.paths.push(path);
    }

    /// Adds another name for a file. A file that has the name itself comes
    /// first.
    pub fn add_alias(&mut self, alias: &str, file: u32) {
        let files = self.aliases.entry(fold_name(alias.trim()).into_owned());
        let files = files.or_default();
        if files.last() != Some(&file) {
            files.push(file);
        }
    }

    /// Resolves `target` in a link of the file `from`. The target is the link
    /// without its fragment and label; an empty one means `from` itself.
    pub fn resolve(&self, target: &str, from: &str) -> LinkResolution {
        let target = fold_name(target.trim());
        let from = fold_name(from);
        let folder = from.rsplit_once('/').map_or("", |(folder, _)| folder);
        if let Some(path) = target.strip_prefix('/') {
            return self.resolve_exactly(path);
        }
        if target.starts_with("./") || target.starts_with("../") {
            return match join_path(folder, &target) {
                Some(path) => self.resolve_exactly(&path),
                None => LinkResolution::Missing,
            };
        }
        let found = self.resolve_by_suffix(&target, folder);
        if found != LinkResolution::Missing {
            return found;
        }
        match self.aliases.get(target.as_ref()).map(Vec::as_slice) {
            Some([file]) => LinkResolution::File(*file),
            Some(files) => {
                LinkResolution::Ambiguous(files[..files.len().min(MAX_LISTED_FILES)].to_vec())
            }
            None => LinkResolution::Missing,
        }
    }

    /// Resolves a path from the folder of `from`, or from the root if it begins
    /// with `/`, as Markdown's own links do.
    pub fn resolve_path(&self, path: &str, from: &str) -> LinkResolution {
        let path = fold_name(path.trim());
        let from = fold_name(from);
        let folder = from.rsplit_once('/').map_or("", |(folder, _)| folder);
        match path.strip_prefix('/') {
            Some(path) => self.resolve_exactly(path.trim_end_matches('/')),
            None => match join_path(folder, &path) {
                Some(path) => self.resolve_exactly(&path),
                None => LinkResolution::Missing,
            },
        }
    }

    /// Returns the notes and files that have this name, in any folder.
    pub fn files_named(&self, name: &str) -> &[u32] {
        self.by_name
            .get(fold_name(name.trim()).as_ref())
            .map_or(&[], Vec::as_slice)
    }

    fn resolve_exactly(&self, path: &str) -> LinkResolution {
        let plain = self.by_path.get(path).copied();
        let note = self.by_path.get(&format!("{path}.md")).copied();
        match plain.into_iter().chain(note).min() {
            Some(file) => LinkResolution::File(file),
            None => LinkResolution::Missing,
        }
    }

    /// Returns the note, or else the file, at a path.
    fn find_at(&self, path: &str) -> Option<u32> {
        let note = self.by_path.get(&format!("{path}.md"));
        note.or_else(|| self.by_path.get(path)).copied()
    }

    /// Resolves a target that counts from the right, and prefers files near
    /// `folder`.
    fn resolve_by_suffix(&self, target: &str, folder: &str) -> LinkResolution {
        let Some(candidates) = self.by_name.get(last_segment(target)) else {
            return LinkResolution::Missing;
        };
        let path = |file: u32| self.paths[file as usize].as_str();
        // The exact and the neighbouring file are found without comparing
        // thousands.
        if candidates.len() > MAX_COMPARED_FILES {
            let in_folder = join_path(folder, target).and_then(|path| self.find_at(&path));
            if let Some(file) = self.find_at(target).or(in_folder) {
                return LinkResolution::File(file);
            }
        }
        let mut fit: Vec<u32> = candidates
            .iter()
            .take(MAX_COMPARED_FILES)
            .copied()
            .filter(|file| matches_path(path(*file), target, false))
            .collect();
        // `[[LICENSE]]` is the note, if the folder has one as well as the plain file.
        if fit.len() > 1 && fit.iter().any(|file| is_note_for(path(*file), target)) {
            fit.retain(|file| is_note_for(path(*file), target));
        }
        if let [file] = fit[..] {
            return LinkResolution::File(file);
        }
        if let Some(exact) = fit
            .iter()
            .find(|file| matches_path(path(**file), target, true))
        {
            return LinkResolution::File(*exact);
        }
        let below = |file: u32| {
            folder.is_empty()
                || path(file)
                    .strip_prefix(folder)
                    .is_some_and(|rest| rest.starts_with('/'))
        };
        fit.sort_by_key(|file| (!below(*file), path(*file).len(), *file));
        match fit[..] {
            [] => LinkResolution::Missing,
            [first, second, ..] => {
                let in_folder = path(first).rsplit_once('/').map_or("", |(it, _)| it) == folder;
                if in_folder || below(first) && !below(second) {
                    LinkResolution::File(first)
                } else {
                    fit.truncate(MAX_LISTED_FILES);
                    LinkResolution::Ambiguous(fit)
                }
            }
            [file] => LinkResolution::File(file),
        }
    }
}

/// Folds a name to the form in which names are compared: composed accents,
/// lower case.
pub fn fold_name(name: &str) -> Cow<'_, str> {
    if name.is_ascii() {
        if !name.bytes().any(|byte| byte.is_ascii_uppercase()) {
            return Cow::Borrowed(name);
        }
        return Cow::Owned(name.to_ascii_lowercase());
    }
    // Nearly all text is composed already, and the check is cheaper than
    // composing.
    match is_nfc_quick(name.chars()) {
        // Letter by letter, as below: lowercasing a whole word would end it in
        // another sigma.
        IsNormalized::Yes => Cow::Owned(name.chars().flat_map(char::to_lowercase).collect()),
        _ => Cow::Owned(name.nfc().flat_map(char::to_lowercase).collect()),
    }
}

/// Returns the target of a reference in front matter: `note`, `[[note]]`,
/// `[[note#part|label]]`, `./note.md`.
pub fn reference_target(text: &str) -> &str {
    let text = text.trim();
    let text = text.strip_prefix("[[").unwrap_or(text);
    let text = text.strip_suffix("]]").unwrap_or(text);
    text.split(['|', '#']).next().unwrap_or(text).trim()
}

/// Returns `true` if a folded path is what the folded `target` means: as a
/// whole, or from the right unless the match must be exact.
fn matches_path(path: &str, target: &str, exactly: bool) -> bool {
    let ends = |path: &str| match path.strip_suffix(target) {
        Some("") => true,
        Some(rest) => !exactly && rest.ends_with('/'),
        None => false,
    };
    ends(path) || path.strip_suffix(".md").is_some_and(ends)
}

/// Returns `true` if the path is a note that the target names without its
/// ending.
fn is_note_for(path: &str, target: &str) -> bool {
    path.strip_suffix(".md")
        .is_some_and(|it| it.ends_with(target))
}

/// Joins `path` to `folder`, without dots; `None` if it leads out.
pub(super) fn join_path(folder: &str, path: &str) -> Option<String> {
    let mut parts: Vec<&str> = folder.split('/').filter(|part| !part.is_empty()).collect();
    for part in path.split('/') {
        match part {
            "" | "." => {}
            ".." => {
                parts.pop()?;
            }
            part => parts.push(part),
        }
    }
    Some(parts.join("/"))
}

/// Returns the last part of a path.
pub(super) fn last_segment(path: &str) -> &str {
    path.rsplit_once('/').map_or(path, |(_, name)| name)
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Every note of a tree may have one name, and each may link to it: what
    /// a link means is looked up, and an answer has a limit.
    #[test]
    fn a_name_that_very_many_files_have_is_looked_up() {
        const MANY: usize = 3_000;
        let paths: Vec<String> = (0..MANY).map(|i| format!("f{i}/note.md")).collect();
        let names = LinkNames::new(paths.iter().map(String::as_str));
        for (file, path) in (0..).zip(&paths) {
            assert_eq!(
                names.resolve("note", path),
                LinkResolution::File(file),
                "{path}"
            );
            let exact = names.resolve_path("note.md", path);
            assert_eq!(exact, LinkResolution::File(file), "{path}");
        }
        let LinkResolution::Ambiguous(files) = names.resolve("note", "other.md") else {
            panic!("one of them was chosen");
        };
        assert_eq!(files.len(), MAX_LISTED_FILES);
    }
}
