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

pub use checks::fix_commands;
pub(crate) use checks::{check_settings, diagnose};
pub use repair::{LeftAlone, Repair, Step, plan, repair_commands, shortened};
