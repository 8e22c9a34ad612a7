//! The formats of package managers, a module each. A module gets the release and
//! the archives that are already made, and returns files with their names.

pub mod debian;
pub mod homebrew;
pub mod mcp;
pub mod npm;
pub mod oci;
pub mod python;
pub mod scripts;
pub mod windows;

/// File of a release: its name and its bytes.
pub type Published = (String, Vec<u8>);

/// Archive that is already made, for those who point to it.
pub struct Archive<'a> {
    /// What it is for.
    pub program: &'static crate::table::Program,
    /// For which system.
    pub target: &'static crate::table::Target,
    /// Its file name.
    pub name: &'a str,
    /// Its SHA-256.
    pub sum: &'a str,
}

impl Archive<'_> {
    /// Returns the address from which everyone gets it.
    pub fn address(&self) -> String {
        format!("{}/{}", crate::table::download_folder(), self.name)
    }
}
