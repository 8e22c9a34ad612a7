//! Finds notes that may be the same: names that differ by two letters at most,
//! or the same most used links. Notes are grouped by parts of names and by sets
//! of links, so that ten thousand of them are not compared pairwise.

use std::collections::{BTreeMap, BTreeSet, HashMap};

use crate::links::{NoteVault, fold_name};
use crate::workspace::{FileRole, RelPath};

#[cfg(test)]
mod tests;

/// Files that may be the same note, with the reason.
#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord)]
pub struct DuplicateCandidate {
    /// The files, two or more.
    pub files: Vec<RelPath>,
    /// Why they may be the same note.
    pub why: DuplicateReason,
}

/// Reason for which notes may be the same.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub enum DuplicateReason {
    /// Their names are this many letters apart.
    Name(usize),
    /// They share this many of their most used links, of this many.
    Links(usize, usize),
}

impl DuplicateCandidate {
    /// Renders the candidate as a line.
    pub fn render_line(&self) -> String {
        const MAX_NAMED_FILES: usize = 4;
        let mut names: Vec<&str> = self.files.iter().map(RelPath::as_str).collect();
        let more = names.len().saturating_sub(MAX_NAMED_FILES);
        names.truncate(MAX_NAMED_FILES);
        let more = match more {
            0 => String::new(),
            more => format!(" and {more} more"),
        };
        let why = match self.why {
            DuplicateReason::Name(0) => "the same name".to_owned(),
            DuplicateReason::Name(1) => "names 1 letter apart".to_owned(),
            DuplicateReason::Name(n) => format!("names {n} letters apart"),
            DuplicateReason::Links(shared, of) => format!("{shared} of {of} top links in common"),
        };
        format!("{}{more} ({why})", names.join(", "))
    }
}

/// Letters by which two names may differ.
const MAX_NAME_DISTANCE: usize = 2;
/// Links of a note that are compared, and the fewest that are significant.
const TOP_LINKS: usize = 5;
const MIN_LINKS: usize = 3;
/// Names that may share a piece; a more common piece is not significant.
const MAX_NAMES_PER_PIECE: usize = 200;

/// Finds all candidates, those with similar names first.
pub(super) fn find_duplicates(vault: &NoteVault) -> Vec<DuplicateCandidate> {
    let mut found = find_by_name(vault);
    let known: BTreeSet<Vec<RelPath>> = found.iter().map(|it| it.files.clone()).collect();
    let linked = find_by_links(vault).into_iter();
    found.extend(linked.filter(|it| !known.contains(&it.files)));
    found
}

/// Returns `true` for notes, without files that every folder may have, such as
/// a README.
fn is_comparable_document(path: &RelPath, role: FileRole) -> bool {
    let own = ["readme", "index", "skill", "changelog", "license"];
    matches!(role, FileRole::Knowledge | FileRole::Untracked)
        && path.as_str().ends_with(".md")
        && !own.contains(&fold_name(path.stem()).as_ref())
}

/// Splits a name into letters and digits: `2026-03-01-call` and
/// `2026-03-08-call` are a series and not duplicates.
fn split_digits(stem: &str) -> (String, String) {
    let stem = fold_name(stem);
    let digits = stem.chars().filter(char::is_ascii_digit).collect();
    let letters = stem.chars().filter(|c| !c.is_ascii_digit()).collect();
    (letters, digits)
}

/// Finds notes with similar names and the same digits.
fn find_by_name(vault: &NoteVault) -> Vec<DuplicateCandidate> {
    // Letters → digits → files.
    let mut names: BTreeMap<String, BTreeMap<String, Vec<RelPath>>> = BTreeMap::new();
    for file in &vault.files {
        if is_comparable_document(&file.path, file.role) {
            let (letters, digits) = split_digits(file.path.stem());
            let same = names.entry(letters).or_default().entry(digits);
            same.or_default().push(file.path.clone());
        }
    }
    let mut found = Vec::new();
    for same in names.values().flat_map(BTreeMap::values) {
        if same.len() > 1 {
            found.push(DuplicateCandidate {
                files: same.clone(),
                why: DuplicateReason::Name(0),
            });
        }
    }
    let letters: Vec<&String> = names.keys().collect();
    for (a, b, distance) in find_near_names(&letters) {
        let (a, b) = (&names[letters[a]], &names[letters[b]]);
        for (digits, files) in a {
            if let Some(others) = b.get(digits) {
                let mut files: Vec<RelPath> = files.iter().chain(others).cloned().collect();
                files.sort();
                found.push(DuplicateCandidate {
                    files,
                    why: DuplicateReason::Name(distance),
                });
            }
        }
    }
    found.sort();
    found
}

/// Finds pairs of similar names, with their distance. Two changes leave one of
/// three pieces of a name intact, at most two letters from its position.
fn find_near_names(names: &[&String]) -> Vec<(usize, usize, usize)> {
    let chars: Vec<Vec<char>> = names.iter().map(|it| it.chars().collect()).collect();
    let mut pieces: HashMap<(usize, usize, &[char]), Vec<usize>> = HashMap::new();
    for (at, name) in chars.iter().enumerate() {
        for (piece, (from, to)) in split_thirds(name.len()).into_iter().enumerate() {
            let key = (name.len(), piece, &name[from..to]);
            pieces.entry(key).or_default().push(at);
        }
    }
    let letters: Vec<u32> = chars.iter().map(|it| letter_bitmask(it)).collect();
    // For each name, the last one that it was compared with.
    let mut looked: Vec<usize> = vec![usize::MAX; chars.len()];
    let mut found = Vec::new();
    for (at, name) in chars.iter().enumerate() {
        looked[at] = at;
        // Names of four letters may differ by one only: two of four make
        // another word.
        let most = MAX_NAME_DISTANCE.min(name.len().saturating_sub(1) / 2);
        for other in name.len()..=name.len() + most {
            for (piece, (from, to)) in split_thirds(other).into_iter().enumerate() {
                let length = to - from;
                for from in from.saturating_sub(MAX_NAME_DISTANCE)..=from + MAX_NAME_DISTANCE {
                    let Some(part) = name.get(from..from + length) else {
                        continue;
                    };
                    let same = pieces.get(&(other, piece, part));
                    let same = same.filter(|it| it.len() <= MAX_NAMES_PER_PIECE);
                    for &candidate in same.into_iter().flatten() {
                        // Of two names of one length, the first has already
                        // compared the pair.
                        let known =
                            looked[candidate] == at || other == name.len() && candidate < at;
                        if known {
                            continue;
                        }
                        looked[candidate] = at;
                        // A cheap lower bound of the distance, before the
                        // costly one.
                        let differ = (letters[at] ^ letters[candidate]).count_ones() as usize;
                        if differ > 2 * most {
                            continue;
                        }
                        let distance = strsim::generic_levenshtein(name, &chars[candidate]);
                        if (1..=most).contains(&distance) {
                            found.push((at.min(candidate), at.max(candidate), distance));
                        }
                    }
                }
            }
        }
    }
    found.sort_unstable();
    found
}

/// Returns a bit mask of the letters in a name. Each change of a letter flips
/// two bits at most.
fn letter_bitmask(name: &[char]) -> u32 {
    name.iter().fold(0, |all, c| all | 1 << (*c as u32 % 32))
}

/// Splits a length into three ranges.
fn split_thirds(length: usize) -> [(usize, usize); 3] {
    let (a, b) = (length / 3, length * 2 / 3);
    [(0, a), (a, b), (b, length)]
}

/// Finds notes with the same most used links, at least four of five.
fn find_by_links(vault: &NoteVault) -> Vec<DuplicateCandidate> {
    let mut groups: HashMap<Vec<u32>, Vec<(u32, usize)>> = HashMap::new();
    for (index, file, note) in vault.notes() {
        if !is_comparable_document(&file.path, file.role) {
            continue;
        }
        let mut counts: BTreeMap<u32, usize> = BTreeMap::new();
        for link in &note.links {
            if let Some(target) = vault.resolve(index, link).opened_file()
                && target != index
            {
                *counts.entry(target).or_default() += 1;
            }
        }
        let mut top: Vec<(u32, usize)> = counts.into_iter().collect();
        top.sort_by_key(|(target, count)| (usize::MAX - count, *target));
        top.truncate(TOP_LINKS);
        let mut top: Vec<u32> = top.into_iter().map(|(target, _)| target).collect();
        top.sort_unstable();
        if top.len() < MIN_LINKS {
            continue;
        }
        // Four of five is 80 %: a key for each subset of four groups such notes
        // without comparing pairs. Fewer than five links must all match.
        if top.len() == TOP_LINKS {
            for left_out in 0..TOP_LINKS {
                let mut key = top.clone();
                key.remove(left_out);
                groups.entry(key).or_default().push((index, TOP_LINKS));
            }
        }
        let count = top.len();
        groups.entry(top).or_default().push((index, count));
    }
    let mut best: BTreeMap<Vec<RelPath>, (usize, usize)> = BTreeMap::new();
    for (key, mut members) in groups {
        members.sort_unstable();
        members.dedup();
        if members.len() < 2 {
            continue;
        }
        let files = members.iter().map(|(it, _)| vault.file(*it).path.clone());
        let of = members
            .iter()
            .map(|(_, count)| *count)
            .max()
            .unwrap_or(TOP_LINKS);
        let shared = best.entry(files.collect()).or_insert((0, of));
        *shared = (shared.0.max(key.len()), of);
    }
    best.into_iter()
        .map(|(files, (shared, of))| DuplicateCandidate {
            files,
            why: DuplicateReason::Links(shared, of),
        })
        .collect()
}
