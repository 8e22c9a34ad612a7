//! Broken links and their likely targets. This module only reports and never
//! changes a file.

use std::collections::{BTreeSet, HashMap};

use super::names::{LinkResolution, fold_name, join_path, last_segment};
use super::notes::{NoteLink, NotePlaces};
use super::vault::{NoteVault, is_local_link};
use crate::document::LinkKind;
use crate::workspace::RelPath;

/// A report on all links of a workspace.
#[derive(Debug, Clone, Default, PartialEq)]
pub struct LinkReport {
    /// In the order of files and lines.
    pub troubles: Vec<BrokenLink>,
    /// Problems of the closets files that contain the links.
    pub closets: Vec<ClosetProblem>,
    /// Number of notes that were read.
    pub notes: usize,
    /// Number of links that could be checked.
    pub links: usize,
}

/// A link that does not lead where its author wanted.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct BrokenLink {
    /// The note that contains the link.
    pub path: RelPath,
    /// The line of the link.
    pub line: usize,
    /// The link as written, without label and brackets: `note#part`.
    pub link: String,
    /// The form in which it is written.
    pub kind: LinkKind,
    /// What is wrong with it.
    pub trouble: LinkTrouble,
}

/// The problem of a link.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum LinkTrouble {
    /// There is no such file. The nearest name, if one is near.
    Missing {
        /// The nearest name of a file.
        nearest: Option<String>,
    },
    /// The file exists, and the heading or block in it does not.
    NoSuchPlace,
    /// Several files have the name; the first is the one that is opened.
    Ambiguous(Vec<RelPath>),
}

/// A problem of a closets file.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct ClosetProblem {
    /// The closets file.
    pub path: RelPath,
    /// The line, if one is at fault.
    pub line: Option<usize>,
    /// What is wrong, as a sentence.
    pub message: String,
}

impl LinkReport {
    /// Returns the links to files that do not exist.
    pub fn missing_targets(&self) -> impl Iterator<Item = &BrokenLink> {
        self.with_trouble(|it| matches!(it, LinkTrouble::Missing { .. }))
    }

    /// Returns the links to headings or blocks that do not exist.
    pub fn missing_places(&self) -> impl Iterator<Item = &BrokenLink> {
        self.with_trouble(|it| matches!(it, LinkTrouble::NoSuchPlace))
    }

    /// Returns the links that may mean several files.
    pub fn ambiguous_links(&self) -> impl Iterator<Item = &BrokenLink> {
        self.with_trouble(|it| matches!(it, LinkTrouble::Ambiguous(_)))
    }

    fn with_trouble(
        &self,
        fits: impl Fn(&LinkTrouble) -> bool,
    ) -> impl Iterator<Item = &BrokenLink> {
        self.troubles.iter().filter(move |it| fits(&it.trouble))
    }

    /// Drops findings about other files.
    pub fn retain_files(&mut self, files: &[RelPath]) {
        self.troubles.retain(|it| files.contains(&it.path));
        self.closets.retain(|it| files.contains(&it.path));
    }
}

/// Checks every link of the vault.
pub fn check_links(vault: &NoteVault) -> LinkReport {
    let mut report = LinkReport::default();
    let mut places: HashMap<u32, NotePlaces> = HashMap::new();
    let mut nearest = NearestFinder::new(vault);
    let folders = collect_folders(vault);
    for (index, file, note) in vault.notes() {
        report.notes += 1;
        let closets = is_closets_file(&file.path);
        if closets && !note.closets_marker {
            report.closets.push(ClosetProblem {
                path: file.path.clone(),
                line: None,
                message: "missing memex-closets version marker".to_owned(),
            });
        }
        for link in &note.links {
            let path = file.path.as_str();
            // Imports belong to the audit, which knows which clients follow
            // them.
            if link.kind == LinkKind::Import || !is_local_link(path, link) {
                continue;
            }
            report.links += 1;
            let found = vault.resolve(index, link);
            if closets {
                // People in a field need no page.
                if found == LinkResolution::Missing && link.is_wikilink() && link.leads {
                    report.closets.push(ClosetProblem {
                        path: file.path.clone(),
                        line: Some(link.line),
                        message: format!("closet entry [[{}]] points to missing file", link.target),
                    });
                }
                continue;
            }
            let trouble = match &found {
                // People need no page (W-14).
                LinkResolution::Missing if link.is_under_key("people") => None,
                LinkResolution::Missing if leads_to_folder(&folders, path, link) => None,
                LinkResolution::Missing => Some(LinkTrouble::Missing {
                    nearest: nearest.find_nearest(&link.target),
                }),
                LinkResolution::File(target) => {
                    let there = has_place(vault, &mut places, &[*target], link);
                    (!there).then_some(LinkTrouble::NoSuchPlace)
                }
                LinkResolution::Ambiguous(files) => {
                    let there = has_place(vault, &mut places, files, link);
                    let paths = files.iter().map(|it| vault.file(*it).path.clone());
                    Some(if there {
                        LinkTrouble::Ambiguous(paths.collect())
                    } else {
                        LinkTrouble::NoSuchPlace
                    })
                }
            };
            if let Some(trouble) = trouble {
                report.troubles.push(BrokenLink {
                    path: file.path.clone(),
                    line: link.line,
                    link: target_as_written(link),
                    kind: link.kind,
                    trouble,
                });
            }
        }
    }
    report
}

/// Returns the link as its author wrote it, without label and brackets.
fn target_as_written(link: &NoteLink) -> String {
    match &link.fragment {
        Some(fragment) => format!("{}#{fragment}", link.target),
        None => link.target.clone(),
    }
}

/// Returns `true` for a closets file and its archive.
pub(super) fn is_closets_file(path: &RelPath) -> bool {
    matches!(path.file_name(), "_CLOSETS.md" | "_CLOSETS-archive.md")
}

/// Returns `true` if one of the files has the heading or block of a link.
fn has_place(
    vault: &NoteVault,
    places: &mut HashMap<u32, NotePlaces>,
    files: &[u32],
    link: &NoteLink,
) -> bool {
    let Some(fragment) = link.fragment.as_deref() else {
        return true;
    };
    files.iter().any(|&file| match &vault.file(file).note {
        Some(note) => note.has_fragment(
            fragment,
            places.entry(file).or_insert_with(|| note.link_places()),
        ),
        // The fragment of a picture or a page is for its viewer.
        None => true,
    })
}

/// Returns all folders, with folded names.
fn collect_folders(vault: &NoteVault) -> BTreeSet<String> {
    let mut folders = BTreeSet::new();
    for file in &vault.files {
        let mut path = file.path.as_str();
        while let Some((folder, _)) = path.rsplit_once('/') {
            if !folders.insert(fold_name(folder).into_owned()) {
                break;
            }
            path = folder;
        }
    }
    folders
}

/// Returns `true` if one of Markdown's own links leads to a folder.
fn leads_to_folder(folders: &BTreeSet<String>, path: &str, link: &NoteLink) -> bool {
    if link.is_wikilink() {
        return false;
    }
    let folder = path.rsplit_once('/').map_or("", |(folder, _)| folder);
    let full = match link.target.strip_prefix('/') {
        Some(rest) => join_path("", rest),
        None => join_path(folder, &link.target),
    };
    full.is_some_and(|full| full.is_empty() || folders.contains(fold_name(&full).as_ref()))
}

/// Finds the name that a missing one was probably meant to be.
struct NearestFinder<'a> {
    vault: &'a NoteVault,
    /// Names without anything but letters and digits. Built at the first
    /// missing link, since most vaults have none.
    names: Option<NearNames>,
    known: HashMap<String, Option<String>>,
}

struct NearNames {
    by_letters: HashMap<String, u32>,
    all: Vec<(u32, Vec<char>, [u8; 32])>,
}

/// Maximum number of names that are looked up by similarity; more would take
/// too long.
const MAX_NEAREST_LOOKUPS: usize = 1_000;

impl<'a> NearestFinder<'a> {
    fn new(vault: &'a NoteVault) -> NearestFinder<'a> {
        NearestFinder {
            vault,
            names: None,
            known: HashMap::new(),
        }
    }

    fn find_nearest(&mut self, target: &str) -> Option<String> {
        let target = fold_name(target.trim());
        if let Some(known) = self.known.get(target.as_ref()) {
            return known.clone();
        }
        if self.known.len() >= MAX_NEAREST_LOOKUPS {
            return None;
        }
        let found = self.search_nearest(&target);
        self.known.insert(target.into_owned(), found.clone());
        found
    }

    /// Finds the nearest name: in another folder, with other punctuation, or
    /// within a small edit distance.
    fn search_nearest(&mut self, target: &str) -> Option<String> {
        let vault = self.vault;
        let name = last_segment(target.trim_end_matches('/'));
        // The right name in a wrong folder.
        if let [file, ..] = vault.names.files_named(name) {
            return Some(vault.link_name(*file).to_owned());
        }
        let names = self
            .names
            .get_or_insert_with(|| NearNames::from_vault(vault));
        let stem = name.strip_suffix(".md").unwrap_or(name);
        if let Some(file) = names.by_letters.get(&letters_only(stem)) {
            return Some(vault.link_name(*file).to_owned());
        }
        let wanted: Vec<char> = stem.chars().collect();
        let counts = letter_histogram(&wanted);
        // A quarter of the letters may differ; more would suggest unrelated
        // names.
        let limit = (wanted.len() / 4).max(1);
        let mut best: Option<(usize, u32)> = None;
        for (file, name, their) in &names.all {
            let most = best.map_or(limit, |(distance, _)| distance.saturating_sub(1));
            // Both are cheap lower bounds of the distance, which is costly to
            // compute.
            if name.len().abs_diff(wanted.len()) > most || distance_bound(&counts, their) > 2 * most
            {
                continue;
            }
            let distance = strsim::generic_damerau_levenshtein(name, &wanted);
            if distance <= most {
                best = Some((distance, *file));
            }
        }
        best.map(|(_, file)| vault.link_name(file).to_owned())
    }
}

impl NearNames {
    fn from_vault(vault: &NoteVault) -> NearNames {
        let mut names = NearNames {
            by_letters: HashMap::new(),
            all: Vec::new(),
        };
        for (index, file) in (0..).zip(&vault.files) {
            let name = fold_name(file.path.file_name());
            let stem = name.strip_suffix(".md").unwrap_or(&name);
            names.by_letters.entry(letters_only(stem)).or_insert(index);
            // Leaving out the ending of a picture is a common slip.
            if let Some((stem, _)) = stem.rsplit_once('.') {
                names.by_letters.entry(letters_only(stem)).or_insert(index);
            }
            let chars: Vec<char> = stem.chars().collect();
            let counts = letter_histogram(&chars);
            names.all.push((index, chars, counts));
        }
        names
    }
}

fn letters_only(name: &str) -> String {
    name.chars().filter(|it| it.is_alphanumeric()).collect()
}

fn letter_histogram(name: &[char]) -> [u8; 32] {
    let mut counts = [0u8; 32];
    for char in name {
        // Letters that share a slot lower the bound and never make it wrong.
        let slot = &mut counts[*char as usize % 32];
        *slot = slot.saturating_add(1);
    }
    counts
}

/// Returns a lower bound of twice the edit distance of two names, without
/// comparing them.
fn distance_bound(a: &[u8; 32], b: &[u8; 32]) -> usize {
    a.iter()
        .zip(b)
        .map(|(a, b)| usize::from(a.abs_diff(*b)))
        .sum()
}
