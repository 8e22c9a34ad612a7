//! Links between the files of a workspace: which file each one means, which are
//! broken, where a link is missing, and how links follow a file that moves.
//!
//! A link means what it means in Obsidian. Nothing here writes: changes are a
//! proposal that the caller shows and applies.

mod check;
mod mentions;
mod names;
mod notes;
mod rename;
mod vault;

#[cfg(test)]
mod tests;

pub use check::{Broken, Closet, Report, Trouble, check};
pub use mentions::{Applied, Mention, apply, suggest};
pub use names::{Names, Resolution, fold, name_in};
pub use notes::{Heading, NAMING_KEYS, Note, NoteLink, Places, naming_key};
pub use rename::{Error, Renaming, destination, rename, rename_all};
pub use vault::{File, Vault};
