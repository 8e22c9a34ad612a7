//! Broken links and their likely targets. This module only reports and never
//! changes a file.

use std::collections::{BTreeSet, HashMap};

use super::names::{Resolution, fold, joined, last};
use super::notes::{NoteLink, Places};
use super::vault::{Vault, is_local};
use crate::document::LinkKind;
use crate::workspace::RelPath;

/// A report on all links of a workspace.
#[derive(Debug, Clone, Default, PartialEq)]
pub struct Report {
    /// In the order of files and lines.
    pub troubles: Vec<Broken>,
    pub closets: Vec<Closet>,
    pub notes: usize,
    /// Number of links that could be checked.
    pub links: usize,
}

/// A link that does not lead where its author wanted.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Broken {
    pub path: RelPath,
    pub line: usize,
    /// The link as written, without label and brackets: `note#part`.
    pub link: String,
    pub kind: LinkKind,
    pub trouble: Trouble,
}

/// The problem of a link.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Trouble {
    /// There is no such file. The nearest name, if one is near.
    Missing { nearest: Option<String> },
    /// The file exists, and the heading or block in it does not.
    NoSuchPlace,
    /// Several files have the name; the first is the one that is opened.
    Ambiguous(Vec<RelPath>),
}

/// A problem of a closets file.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Closet {
    pub path: RelPath,
    pub line: Option<usize>,
    pub message: String,
}

impl Report {
    /// Returns the links to files that do not exist.
    pub fn missing(&self) -> impl Iterator<Item = &Broken> {
        self.of(|it| matches!(it, Trouble::Missing { .. }))
    }

    /// Returns the links to headings or blocks that do not exist.
    pub fn no_such_place(&self) -> impl Iterator<Item = &Broken> {
        self.of(|it| matches!(it, Trouble::NoSuchPlace))
    }

    /// Returns the links that may mean several files.
    pub fn ambiguous(&self) -> impl Iterator<Item = &Broken> {
        self.of(|it| matches!(it, Trouble::Ambiguous(_)))
    }

    fn of(&self, fits: impl Fn(&Trouble) -> bool) -> impl Iterator<Item = &Broken> {
        self.troubles.iter().filter(move |it| fits(&it.trouble))
    }

    /// Drops findings about other files.
    pub fn only(&mut self, files: &[RelPath]) {
        self.troubles.retain(|it| files.contains(&it.path));
        self.closets.retain(|it| files.contains(&it.path));
    }
}

/// Checks every link of the vault.
pub fn check(vault: &Vault) -> Report {
    let mut report = Report::default();
    let mut places: HashMap<u32, Places> = HashMap::new();
    let mut nearest = Nearest::new(vault);
    let folders = folders(vault);
    for (index, file, note) in vault.notes() {
        report.notes += 1;
        let closets = is_closets(&file.path);
        if closets && !note.closets_marker {
            report.closets.push(Closet {
                path: file.path.clone(),
                line: None,
                message: "missing memex-closets version marker".to_owned(),
            });
        }
        for link in &note.links {
            let path = file.path.as_str();
            // Imports belong to the audit, which knows which clients follow
            // them.
            if link.kind == LinkKind::Import || !is_local(path, link) {
                continue;
            }
            report.links += 1;
            let found = vault.resolve(index, link);
            if closets {
                // People in a field need no page.
                if found == Resolution::Missing && link.is_wiki() && link.leads {
                    report.closets.push(Closet {
                        path: file.path.clone(),
                        line: Some(link.line),
                        message: format!("closet entry [[{}]] points to missing file", link.target),
                    });
                }
                continue;
            }
            let trouble = match &found {
                // People need no page (W-14).
                Resolution::Missing if link.names("people") => None,
                Resolution::Missing if is_folder(&folders, path, link) => None,
                Resolution::Missing => Some(Trouble::Missing {
                    nearest: nearest.to(&link.target),
                }),
                Resolution::File(target) => {
                    let there = has_place(vault, &mut places, &[*target], link);
                    (!there).then_some(Trouble::NoSuchPlace)
                }
                Resolution::Ambiguous(files) => {
                    let there = has_place(vault, &mut places, files, link);
                    let paths = files.iter().map(|it| vault.file(*it).path.clone());
                    Some(if there {
                        Trouble::Ambiguous(paths.collect())
                    } else {
                        Trouble::NoSuchPlace
                    })
                }
            };
            if let Some(trouble) = trouble {
                report.troubles.push(Broken {
                    path: file.path.clone(),
                    line: link.line,
                    link: written(link),
                    kind: link.kind,
                    trouble,
                });
            }
        }
    }
    report
}

/// Returns the link as its author wrote it, without label and brackets.
fn written(link: &NoteLink) -> String {
    match &link.fragment {
        Some(fragment) => format!("{}#{fragment}", link.target),
        None => link.target.clone(),
    }
}

/// Returns `true` for a closets file and its archive.
pub(super) fn is_closets(path: &RelPath) -> bool {
    matches!(path.file_name(), "_CLOSETS.md" | "_CLOSETS-archive.md")
}

/// Returns `true` if one of the files has the heading or block of a link.
fn has_place(
    vault: &Vault,
    places: &mut HashMap<u32, Places>,
    files: &[u32],
    link: &NoteLink,
) -> bool {
    let Some(fragment) = link.fragment.as_deref() else {
        return true;
    };
    files.iter().any(|&file| match &vault.file(file).note {
        Some(note) => note.has(
            fragment,
            places.entry(file).or_insert_with(|| note.places()),
        ),
        // The fragment of a picture or a page is for its viewer.
        None => true,
    })
}

/// Returns all folders, with folded names.
fn folders(vault: &Vault) -> BTreeSet<String> {
    let mut folders = BTreeSet::new();
    for file in &vault.files {
        let mut path = file.path.as_str();
        while let Some((folder, _)) = path.rsplit_once('/') {
            if !folders.insert(fold(folder).into_owned()) {
                break;
            }
            path = folder;
        }
    }
    folders
}

/// Returns `true` if one of Markdown's own links leads to a folder.
fn is_folder(folders: &BTreeSet<String>, path: &str, link: &NoteLink) -> bool {
    if link.is_wiki() {
        return false;
    }
    let folder = path.rsplit_once('/').map_or("", |(folder, _)| folder);
    let full = match link.target.strip_prefix('/') {
        Some(rest) => joined("", rest),
        None => joined(folder, &link.target),
    };
    full.is_some_and(|full| full.is_empty() || folders.contains(fold(&full).as_ref()))
}

/// Finds the name that a missing one was probably meant to be.
struct Nearest<'a> {
    vault: &'a Vault,
    /// Names without anything but letters and digits. Built at the first
    /// missing link, since most vaults have none.
    names: Option<Names>,
    known: HashMap<String, Option<String>>,
}

struct Names {
    by_letters: HashMap<String, u32>,
    all: Vec<(u32, Vec<char>, [u8; 32])>,
}

/// Maximum number of names that are looked up by similarity; more would take
/// too long.
const MOST: usize = 1_000;

impl<'a> Nearest<'a> {
    fn new(vault: &'a Vault) -> Nearest<'a> {
        Nearest {
            vault,
            names: None,
            known: HashMap::new(),
        }
    }

    fn to(&mut self, target: &str) -> Option<String> {
        let target = fold(target.trim());
        if let Some(known) = self.known.get(target.as_ref()) {
            return known.clone();
        }
        if self.known.len() >= MOST {
            return None;
        }
        let found = self.look_for(&target);
        self.known.insert(target.into_owned(), found.clone());
        found
    }

    /// Finds the nearest name: in another folder, with other punctuation, or
    /// within a small edit distance.
    fn look_for(&mut self, target: &str) -> Option<String> {
        let vault = self.vault;
        let name = last(target.trim_end_matches('/'));
        // The right name in a wrong folder.
        if let [file, ..] = vault.names.named(name) {
            return Some(vault.link_name(*file).to_owned());
        }
        let names = self.names.get_or_insert_with(|| Names::of(vault));
        let stem = name.strip_suffix(".md").unwrap_or(name);
        if let Some(file) = names.by_letters.get(&letters(stem)) {
            return Some(vault.link_name(*file).to_owned());
        }
        let wanted: Vec<char> = stem.chars().collect();
        let counts = histogram(&wanted);
        // A quarter of the letters may differ; more would suggest unrelated
        // names.
        let limit = (wanted.len() / 4).max(1);
        let mut best: Option<(usize, u32)> = None;
        for (file, name, their) in &names.all {
            let most = best.map_or(limit, |(distance, _)| distance.saturating_sub(1));
            // Both are cheap lower bounds of the distance, which is costly to
            // compute.
            if name.len().abs_diff(wanted.len()) > most || apart(&counts, their) > 2 * most {
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

impl Names {
    fn of(vault: &Vault) -> Names {
        let mut names = Names {
            by_letters: HashMap::new(),
            all: Vec::new(),
        };
        for (index, file) in (0..).zip(&vault.files) {
            let name = fold(file.path.file_name());
            let stem = name.strip_suffix(".md").unwrap_or(&name);
            names.by_letters.entry(letters(stem)).or_insert(index);
            // Leaving out the ending of a picture is a common slip.
            if let Some((stem, _)) = stem.rsplit_once('.') {
                names.by_letters.entry(letters(stem)).or_insert(index);
            }
            let chars: Vec<char> = stem.chars().collect();
            let counts = histogram(&chars);
            names.all.push((index, chars, counts));
        }
        names
    }
}

fn letters(name: &str) -> String {
    name.chars().filter(|it| it.is_alphanumeric()).collect()
}

fn histogram(name: &[char]) -> [u8; 32] {
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
fn apart(a: &[u8; 32], b: &[u8; 32]) -> usize {
    a.iter()
        .zip(b)
        .map(|(a, b)| usize::from(a.abs_diff(*b)))
        .sum()
}
