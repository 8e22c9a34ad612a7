//! Lists every entry of a workspace's closets, with the file that it describes.

use std::collections::HashMap;

use super::ClosetEntry;
use super::build::{closet_hubs, unique_names};
use super::file::ClosetFile;
use crate::routing::hubs::{CLOSETS_ARCHIVE_FILE, CLOSETS_FILE, Hub};
use crate::workspace::{RelPath, Workspace, WorkspaceError};

/// An entry and its location.
#[derive(Debug, Clone)]
pub struct ListedEntry {
    /// The name in the heading.
    pub name: String,
    /// The file that it describes, if it exists.
    pub path: Option<String>,
    /// The name of the hub.
    pub hub: String,
    /// Whether it is in the hub's archive.
    pub archived: bool,
    /// The closets file, and the first and last line of the entry in it.
    pub closets: String,
    /// The first and last line of the entry.
    pub lines: (usize, usize),
    /// The entry as it is written, without its stamp.
    pub text: String,
    /// Its lines that are not fields.
    pub notes: String,
    /// The fields of the entry.
    pub entry: ClosetEntry,
}

/// The content of all closets of a workspace.
#[derive(Debug, Clone, Default)]
pub struct ClosetListing {
    /// The entries of all hubs.
    pub entries: Vec<ListedEntry>,
    /// Text of closets files outside of entries, at its line numbers.
    pub others: Vec<(RelPath, String)>,
    /// Closets files that could not be read, and why.
    pub unread: Vec<String>,
}

/// A folder with closets, and the documents that they may describe.
struct ClosetFolder {
    name: String,
    closets: RelPath,
    archive: RelPath,
    members: Vec<RelPath>,
}

/// Lists the entries of every hub, and of closets files in folders that are not
/// hubs: other tools write those too.
pub fn list_closets(workspace: &Workspace) -> Result<ClosetListing, WorkspaceError> {
    let mut places: Vec<ClosetFolder> = closet_hubs(workspace)?
        .into_iter()
        .map(ClosetFolder::from_hub)
        .collect();
    let tree = workspace.tree().files.into_iter().map(|found| found.path);
    let tree: Vec<RelPath> = tree.collect();
    for path in tree.iter().filter(|path| is_closets_file(path)) {
        let known = |place: &ClosetFolder| place.closets == *path || place.archive == *path;
        if !places.iter().any(known) {
            places.push(ClosetFolder::around_file(path, &tree)?);
        }
    }
    let mut listing = ClosetListing::default();
    for place in &places {
        place.list_entries(workspace, &mut listing);
    }
    Ok(listing)
}

fn is_closets_file(path: &RelPath) -> bool {
    matches!(path.file_name(), CLOSETS_FILE | CLOSETS_ARCHIVE_FILE)
}

impl ClosetFolder {
    fn from_hub(hub: Hub) -> ClosetFolder {
        ClosetFolder {
            closets: hub.closets_path(),
            archive: hub.closets_archive_path(),
            name: hub.name,
            members: hub.members,
        }
    }

    /// Creates the folder of a closets file that belongs to no hub.
    fn around_file(path: &RelPath, tree: &[RelPath]) -> Result<ClosetFolder, WorkspaceError> {
        let folder = path.parent();
        let in_folder = |name: &str| match &folder {
            Some(folder) => folder.join(name),
            None => RelPath::new(name),
        };
        let inside = |path: &RelPath| match &folder {
            Some(folder) => path.starts_with(folder.as_str()),
            None => true,
        };
        let described = |path: &&RelPath| {
            let document = path.as_str().ends_with(".md") && !path.is_private();
            document && inside(path) && !is_closets_file(path)
        };
        Ok(ClosetFolder {
            name: match &folder {
                Some(folder) => folder.file_name().to_owned(),
                None => "workspace".to_owned(),
            },
            closets: in_folder(CLOSETS_FILE)?,
            archive: in_folder(CLOSETS_ARCHIVE_FILE)?,
            members: tree.iter().filter(described).cloned().collect(),
        })
    }

    fn list_entries(&self, workspace: &Workspace, listing: &mut ClosetListing) {
        let names = unique_names(&self.members).into_iter();
        let by_name: HashMap<String, &RelPath> = names
            .map(|name| name.to_lowercase())
            .zip(&self.members)
            .collect();
        for (archived, path) in [(false, &self.closets), (true, &self.archive)] {
            let text = match workspace.read_text(path) {
                Ok(text) => text,
                Err(error) if error.is_not_found() => continue,
                Err(error) => {
                    listing.unread.push(format!("{path}: {}", error.reason()));
                    continue;
                }
            };
            let file = ClosetFile::parse(text);
            let entries = file.entries().map(|block| ListedEntry {
                path: self.described_member(&block.name, &by_name),
                hub: self.name.clone(),
                archived,
                closets: path.as_str().to_owned(),
                lines: block.line_range(),
                text: block.text_without_stamp(),
                notes: block.note_lines(),
                name: block.name.clone(),
                entry: block.entry.clone(),
            });
            listing.entries.extend(entries);
            let others = file.text_outside_entries().map(|text| (path.clone(), text));
            listing.others.extend(others);
        }
    }

    /// Finds the member that an entry names, by its short name or by the end of
    /// its path.
    fn described_member(&self, name: &str, by_name: &HashMap<String, &RelPath>) -> Option<String> {
        let name = name.to_lowercase();
        if let Some(path) = by_name.get(&name) {
            return Some(path.as_str().to_owned());
        }
        let ending = format!("{name}.md");
        let mut same = self.members.iter().filter(|path| {
            let path = path.as_str().to_lowercase();
            let before = path.strip_suffix(&ending);
            before.is_some_and(|before| before.is_empty() || before.ends_with('/'))
        });
        match (same.next(), same.next()) {
            (Some(only), None) => Some(only.as_str().to_owned()),
            _ => None,
        }
    }
}
