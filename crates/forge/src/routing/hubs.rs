//! Hubs: the folders of the manifest's Hub Map, and which files belong to them.

use crate::workspace::RelPath;

/// A folder of documents that is described by a closets file, a hub page, or
/// both.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Hub {
    /// As the Hub Map names it.
    pub name: String,
    pub folder: RelPath,
    /// `<name>-index.md`, where there is one.
    pub index: Option<RelPath>,
    /// The documents, sorted by path; closets, hub pages and archives of
    /// closets are not among them.
    pub members: Vec<RelPath>,
}

impl Hub {
    /// The hub of the state files, which is kept whole.
    pub fn is_memory(&self) -> bool {
        self.folder.as_str() == "memory"
    }

    pub fn closets(&self) -> RelPath {
        self.file("_CLOSETS.md")
    }

    pub fn closets_archive(&self) -> RelPath {
        self.file("_CLOSETS-archive.md")
    }

    fn file(&self, name: &str) -> RelPath {
        self.folder.join(name).expect("a plain name in a folder")
    }
}
