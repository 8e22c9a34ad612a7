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
pub struct Names {
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
const MAX_COMPARED: usize = 256;
/// Maximum number of files that an ambiguous resolution lists.
const MAX_LISTED: usize = 32;

/// The file that a link means.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Resolution {
    File(u32),
    /// Several files match equally well; the first [`MAX_LISTED`] are listed.
    /// The first is the one that is opened.
    Ambiguous(Vec<u32>),
    Missing,
}

impl Resolution {
    /// Returns the file that a click would open.
    pub fn file(&self) -> Option<u32> {
        match self {
            Resolution::File(file) => Some(*file),
            Resolution::Ambiguous(files) => files.first().copied(),
            Resolution::Missing => None,
        }
    }
}

impl Names {
    /// Indexes paths, which are relative to the root, with `/`.
    pub fn new<'a>(paths: impl IntoIterator<Item = &'a str>) -> Names {
        let mut names = Names::default();
        for path in paths {
            names.add(path);
        }
        names
    }

    fn add(&mut self, path: &str) {
        let file = self.paths.len() as u32;
        let path = fold(path).into_owned();
        let (folder, name) = path.rsplit_once('/').unwrap_or(("", &path));
        if let Some(stem) = name.strip_suffix(".md") {
            self.by_name.entry(stem.to_owned()).or_default().push(file);
            // Older manifests name the archive of a hub's closets by the hub.
            if stem == "_closets-archive" && !folder.is_empty() {
                let hub = last(folder);
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
        let files = self.aliases.entry(fold(alias.trim()).into_owned());
        let files = files.or_default();
        if files.last() != Some(&file) {
            files.push(file);
        }
    }

    /// Resolves `target` in a link of the file `from`. The target is the link
    /// without its fragment and label; an empty one means `from` itself.
    pub fn resolve(&self, target: &str, from: &str) -> Resolution {
        let target = fold(target.trim());
        let from = fold(from);
        let folder = from.rsplit_once('/').map_or("", |(folder, _)| folder);
        if let Some(path) = target.strip_prefix('/') {
            return self.exactly(path);
        }
        if target.starts_with("./") || target.starts_with("../") {
            return match joined(folder, &target) {
                Some(path) => self.exactly(&path),
                None => Resolution::Missing,
            };
        }
        let found = self.by_suffix(&target, folder);
        if found != Resolution::Missing {
            return found;
        }
        match self.aliases.get(target.as_ref()).map(Vec::as_slice) {
            Some([file]) => Resolution::File(*file),
            Some(files) => Resolution::Ambiguous(files[..files.len().min(MAX_LISTED)].to_vec()),
            None => Resolution::Missing,
        }
    }

    /// Resolves a path from the folder of `from`, or from the root if it begins
    /// with `/`, as Markdown's own links do.
    pub fn resolve_path(&self, path: &str, from: &str) -> Resolution {
        let path = fold(path.trim());
        let from = fold(from);
        let folder = from.rsplit_once('/').map_or("", |(folder, _)| folder);
        match path.strip_prefix('/') {
            Some(path) => self.exactly(path.trim_end_matches('/')),
            None => match joined(folder, &path) {
                Some(path) => self.exactly(&path),
                None => Resolution::Missing,
            },
        }
    }

    /// Returns the notes and files that have this name, in any folder.
    pub fn named(&self, name: &str) -> &[u32] {
        self.by_name
            .get(fold(name.trim()).as_ref())
            .map_or(&[], Vec::as_slice)
    }

    fn exactly(&self, path: &str) -> Resolution {
        let plain = self.by_path.get(path).copied();
        let note = self.by_path.get(&format!("{path}.md")).copied();
        match plain.into_iter().chain(note).min() {
            Some(file) => Resolution::File(file),
            None => Resolution::Missing,
        }
    }

    /// Returns the note, or else the file, at a path.
    fn at(&self, path: &str) -> Option<u32> {
        let note = self.by_path.get(&format!("{path}.md"));
        note.or_else(|| self.by_path.get(path)).copied()
    }

    /// Resolves a target that counts from the right, and prefers files near
    /// `folder`.
    fn by_suffix(&self, target: &str, folder: &str) -> Resolution {
        let Some(candidates) = self.by_name.get(last(target)) else {
            return Resolution::Missing;
        };
        let path = |file: u32| self.paths[file as usize].as_str();
        // The exact and the neighbouring file are found without comparing
        // thousands.
        if candidates.len() > MAX_COMPARED {
            let beside = joined(folder, target).and_then(|path| self.at(&path));
            if let Some(file) = self.at(target).or(beside) {
                return Resolution::File(file);
            }
        }
        let mut fit: Vec<u32> = candidates
            .iter()
            .take(MAX_COMPARED)
            .copied()
            .filter(|file| fits(path(*file), target, false))
            .collect();
        // `[[LICENSE]]` is the note, if there is one beside the plain file.
        if fit.len() > 1 && fit.iter().any(|file| is_note_for(path(*file), target)) {
            fit.retain(|file| is_note_for(path(*file), target));
        }
        if let [file] = fit[..] {
            return Resolution::File(file);
        }
        if let Some(exact) = fit.iter().find(|file| fits(path(**file), target, true)) {
            return Resolution::File(*exact);
        }
        let below = |file: u32| {
            folder.is_empty()
                || path(file)
                    .strip_prefix(folder)
                    .is_some_and(|rest| rest.starts_with('/'))
        };
        fit.sort_by_key(|file| (!below(*file), path(*file).len(), *file));
        match fit[..] {
            [] => Resolution::Missing,
            [first, second, ..] => {
                let beside = path(first).rsplit_once('/').map_or("", |(it, _)| it) == folder;
                if beside || below(first) && !below(second) {
                    Resolution::File(first)
                } else {
                    fit.truncate(MAX_LISTED);
                    Resolution::Ambiguous(fit)
                }
            }
            [file] => Resolution::File(file),
        }
    }
}

/// Folds a name to the form in which names are compared: composed accents,
/// lower case.
pub fn fold(name: &str) -> Cow<'_, str> {
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
pub fn name_in(text: &str) -> &str {
    let text = text.trim();
    let text = text.strip_prefix("[[").unwrap_or(text);
    let text = text.strip_suffix("]]").unwrap_or(text);
    text.split(['|', '#']).next().unwrap_or(text).trim()
}

/// Returns `true` if a folded path is what the folded `target` means: as a
/// whole, or from the right unless the match must be exact.
fn fits(path: &str, target: &str, exactly: bool) -> bool {
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
pub(super) fn joined(folder: &str, path: &str) -> Option<String> {
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
pub(super) fn last(path: &str) -> &str {
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
        let names = Names::new(paths.iter().map(String::as_str));
        for (file, path) in (0..).zip(&paths) {
            assert_eq!(
                names.resolve("note", path),
                Resolution::File(file),
                "{path}"
            );
            let exact = names.resolve_path("note.md", path);
            assert_eq!(exact, Resolution::File(file), "{path}");
        }
        let Resolution::Ambiguous(files) = names.resolve("note", "other.md") else {
            panic!("one of them was chosen");
        };
        assert_eq!(files.len(), MAX_LISTED);
    }
}
