//! Is everything in order here, and if not, what puts it right?
//!
//! A check looks before it speaks: the index is opened, read and asked, files
//! are read and parsed. Nothing is changed by looking; a repair is proposed,
//! shown, applied as one change, and can be undone.

mod checks;
mod findings;
pub mod legacy;
mod repair;
pub mod stub;
mod vouched;

pub use checks::fix_commands;
pub(crate) use checks::{check_settings, diagnose};
pub use repair::{
    FileReview, LeftAlone, Repair, RepairChoices, RepairOffer, Step, plan, plan_chosen,
    repair_offer, shortened,
};
pub use stub::{SectionChoice, SectionChoices, SectionPlan};

/// How much of the files a check reads.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum ReadingDepth {
    /// Where there are more documents than this, those for which the index does
    /// not vouch, and about as many of the others; `turn` chooses which.
    Sample { most: usize, turn: u64 },
    /// All of them, whatever the index says.
    Full,
}

/// Documents that a check opens however many there are: enough that an index
/// which is wrong about one in two hundred is noticed nearly always.
pub const MAX_SAMPLE: usize = 1_000;
