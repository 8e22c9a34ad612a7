//! Lists every entry of a workspace's closets, with the file that it describes.

use std::collections::HashMap;

use super::Entry;
use super::build::{hubs, names_of};
use super::file::File;
use crate::routing::hubs::{CLOSETS, CLOSETS_ARCHIVE, Hub};
use crate::workspace::{Error, RelPath, Workspace};

/// An entry and its location.
#[derive(Debug, Clone)]
pub struct Listed {
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
    pub lines: (usize, usize),
    /// The entry as it is written, without its stamp.
    pub text: String,
    /// Its lines that are not fields.
    pub notes: String,
    pub entry: Entry,
}

/// The content of all closets of a workspace.
#[derive(Debug, Clone, Default)]
pub struct Listing {
    pub entries: Vec<Listed>,
    /// Text of closets files outside of entries, at its line numbers.
    pub others: Vec<(RelPath, String)>,
    /// Closets files that could not be read, and why.
    pub unread: Vec<String>,
}

/// A folder with closets, and the documents that they may describe.
struct Place {
    name: String,
    closets: RelPath,
    archive: RelPath,
    members: Vec<RelPath>,
}

/// Lists the entries of every hub, and of closets files in folders that are not
/// hubs: other tools write those too.
pub fn list(workspace: &Workspace) -> Result<Listing, Error> {
    let mut places: Vec<Place> = hubs(workspace)?.into_iter().map(Place::of).collect();
    let tree = workspace.tree().files.into_iter().map(|found| found.path);
    let tree: Vec<RelPath> = tree.collect();
    for path in tree.iter().filter(|path| is_closets(path)) {
        let known = |place: &Place| place.closets == *path || place.archive == *path;
        if !places.iter().any(known) {
            places.push(Place::around(path, &tree)?);
        }
    }
    let mut listing = Listing::default();
    for place in &places {
        place.list(workspace, &mut listing);
    }
    Ok(listing)
}

fn is_closets(path: &RelPath) -> bool {
    matches!(path.file_name(), CLOSETS | CLOSETS_ARCHIVE)
}

impl Place {
    fn of(hub: Hub) -> Place {
        Place {
            closets: hub.closets(),
            archive: hub.closets_archive(),
            name: hub.name,
            members: hub.members,
        }
    }

    /// Creates the folder of a closets file that belongs to no hub.
    fn around(path: &RelPath, tree: &[RelPath]) -> Result<Place, Error> {
        let folder = path.parent();
        let beside = |name: &str| match &folder {
            Some(folder) => folder.join(name),
            None => RelPath::new(name),
        };
        let inside = |path: &RelPath| match &folder {
            Some(folder) => path.starts_with(folder.as_str()),
            None => true,
        };
        let described = |path: &&RelPath| {
            let document = path.as_str().ends_with(".md") && !path.is_private();
            document && inside(path) && !is_closets(path)
        };
        Ok(Place {
            name: match &folder {
                Some(folder) => folder.file_name().to_owned(),
                None => "workspace".to_owned(),
            },
            closets: beside(CLOSETS)?,
            archive: beside(CLOSETS_ARCHIVE)?,
            members: tree.iter().filter(described).cloned().collect(),
        })
    }

    fn list(&self, workspace: &Workspace, listing: &mut Listing) {
        let names = names_of(&self.members).into_iter();
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
            let file = File::parse(text);
            let entries = file.entries().map(|block| Listed {
                path: self.described(&block.name, &by_name),
                hub: self.name.clone(),
                archived,
                closets: path.as_str().to_owned(),
                lines: block.lines(),
                text: block.without_stamp(),
                notes: block.notes(),
                name: block.name.clone(),
                entry: block.entry.clone(),
            });
            listing.entries.extend(entries);
            let others = file.others().map(|text| (path.clone(), text));
            listing.others.extend(others);
        }
    }

    /// Finds the member that an entry names, by its short name or by the end of
    /// its path.
    fn described(&self, name: &str, by_name: &HashMap<String, &RelPath>) -> Option<String> {
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
