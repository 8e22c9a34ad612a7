//! Checks the installation and proposes repairs.
//!
//! A check verifies instead of assuming: the index is opened, read and queried,
//! files are read and parsed. A check changes nothing; a repair is proposed,
//! shown, applied as one change, and can be undone.

mod checks;
mod findings;
pub mod legacy;
pub mod release_check;
mod repair;
pub mod stub;
mod vouched;

pub use checks::list_fix_commands;
pub(crate) use checks::{check_settings, diagnose_workspace};
pub use repair::{
    FileReview, RepairChoices, RepairOffer, RepairPlan, RepairStep, UnrepairedFile,
    filter_shortenable, plan_chosen, plan_repair, repair_offer,
};
pub use stub::{SectionChoice, SectionChoices, SectionPlan};

/// What the journal calls a repair.
pub const REPAIR_TITLE: &str = "Repair by `doctor --fix`";

/// Number of files that the checks open.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum ReadingDepth {
    /// If there are more documents than `most`: those for which the index does
    /// not vouch, and about as many of the others; `turn` selects which.
    Sample {
        /// The number of documents up to which all are opened.
        most: usize,
        /// A number that changes from run to run.
        turn: u64,
    },
    /// All of them, whatever the index contains.
    Full,
}

/// Documents that a check opens in a larger workspace: enough that an index
/// which is wrong about one in two hundred is detected nearly always.
pub const MAX_SAMPLE_DOCUMENTS: usize = 1_000;
