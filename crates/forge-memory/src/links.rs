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

pub use check::{BrokenLink, ClosetProblem, LinkReport, LinkTrouble, check_links};
pub use mentions::{AppliedMentions, NoteMention, link_mentions, suggest_mentions};
pub use names::{LinkNames, LinkResolution, fold_name, reference_target};
pub use notes::{NAMING_KEYS, NoteHeading, NoteLink, NotePlaces, VaultNote, find_naming_key};
pub use rename::{RenameError, RenamePlan, rename_file, rename_files, resolve_destination};
pub use vault::{NoteVault, VaultFile};
