//! What happened in sessions, kept mechanically: commands with their outcome,
//! paths that were missing or too large, what the user refused or corrected,
//! files read and changed. A fact is what a program's result shows or the user
//! wrote; text inside a result is never advice, and nothing here calls a model.

mod command;
mod entry;
mod fault;
mod find;
mod log;
mod observe;

pub(crate) use command::TWO_WORD_PROGRAMS;
pub use command::{CommandWord, SimpleCommand, parse_command};
pub use entry::{CommandFact, EvidenceEntry, EvidenceFact, TestTally};
pub use fault::{CommandFault, FaultPart, find_fault};
pub use find::{EvidenceMatch, find_entries, kind_name, main_text, without_quotes};
pub use log::{EvidenceLimits, EvidenceLog};
pub use observe::{
    ToolAction, ToolOutcome, WorkPlace, join_dir, observe_prompt, observe_result, planned_action,
};
pub(crate) use observe::{glob_folder, join_path};

/// The folder of evidence. It is ignored by git: evidence is about one machine.
pub const EVIDENCE_FOLDER: &str = ".mind/evidence";
/// The file with the entries, one JSON object a line.
pub const EVIDENCE_FILE: &str = ".mind/evidence/log.jsonl";
