//! Finds temporary files that a crash left behind, anywhere in the tree. They
//! are listed and never removed here: the next change in the same folder does
//! that.

use std::fs;

use super::autoload::is_skipped;
use super::disk::is_temp_name;
use super::path::is_plain_name;
use super::{RelPath, Workspace};

impl Workspace {
    /// Returns our abandoned temporary files, sorted, and the number of folders
    /// that could not be read.
    pub fn find_leftovers(&self) -> (Vec<RelPath>, usize) {
        let mut found = Vec::new();
        let mut unreadable = 0;
        let mut folders = vec![String::new()];
        while let Some(folder) = folders.pop() {
            let Ok(entries) = fs::read_dir(self.root().join(&folder)) else {
                unreadable += 1;
                continue;
            };
            for entry in entries.flatten() {
                let name = entry.file_name();
                let (Some(name), Ok(kind)) = (name.to_str(), entry.file_type()) else {
                    continue;
                };
                if !is_plain_name(name) {
                    continue;
                }
                let path = match folder.as_str() {
                    "" => name.to_owned(),
                    folder => format!("{folder}/{name}"),
                };
                if kind.is_dir() && !is_skipped(&path, name) {
                    folders.push(path);
                } else if kind.is_file() && is_temp_name(&entry.file_name()) {
                    found.push(RelPath::from_checked(path));
                }
            }
        }
        found.sort();
        (found, unreadable)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use testkit::TestWorkspace;

    #[test]
    fn temporary_files_are_found_by_their_name() {
        let ws = TestWorkspace::files(
            "
            //- docs/.memory-forge-Ab12.tmp
            //- .memory-forge-x.tmp
            //- node_modules/.memory-forge-x.tmp
            //- docs/other.tmp
            ",
        );
        let (found, unreadable) = Workspace::open(ws.root()).unwrap().find_leftovers();
        let found: Vec<&str> = found.iter().map(RelPath::as_str).collect();
        assert_eq!(
            found,
            [".memory-forge-x.tmp", "docs/.memory-forge-Ab12.tmp"]
        );
        assert_eq!(unreadable, 0);
    }
}
