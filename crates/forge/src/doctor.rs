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

pub use checks::diagnose;
pub use repair::{LeftAlone, Repair, Step, plan};

/// How a check came out, from best to worst.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum Level {
    Ok,
    /// There was no way to look, so nothing is claimed.
    Skipped,
    /// Works, and could be better.
    Warning,
    /// Something is missing from searches, at risk, or broken.
    Problem,
}

impl Level {
    pub fn name(self) -> &'static str {
        match self {
            Level::Ok => "ok",
            Level::Skipped => "skipped",
            Level::Warning => "warning",
            Level::Problem => "problem",
        }
    }
}

/// What one check found. A check that found nothing wrong says so once.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Finding {
    pub check: &'static str,
    pub level: Level,
    /// A sentence without a full stop.
    pub message: String,
    /// The file it is about, relative to the root.
    pub path: Option<String>,
    pub line: Option<usize>,
    /// What to do about it.
    pub next: Option<String>,
}

/// All checks in the order in which they ran.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Diagnosis {
    pub findings: Vec<Finding>,
}

impl Diagnosis {
    pub fn worst(&self) -> Level {
        let levels = self.findings.iter().map(|finding| finding.level);
        levels.max().unwrap_or(Level::Ok)
    }

    pub fn count(&self, level: Level) -> usize {
        let findings = self.findings.iter();
        findings.filter(|finding| finding.level == level).count()
    }
}
