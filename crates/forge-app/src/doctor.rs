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

pub use checks::{diagnose, fix_commands};
pub use repair::{LeftAlone, Repair, Step, plan, repair_commands, shortened};

/// The name of each check and what is wrong when it finds something.
pub const CHECKS: [(&str, &str); 14] = [
    ("settings", "A setting is not understood"),
    (
        "knowledge",
        "A file cannot be read as text, or a merge was left in it",
    ),
    ("front matter", "Front matter is malformed"),
    ("secrets", "A file holds what looks like a secret"),
    (
        "state",
        "The state files have a merge left in them, are in two places, or compete for a name",
    ),
    (
        "index",
        "There is no index, or it is damaged or behind the files",
    ),
    ("search", "A question made from a document does not find it"),
    (
        "readme",
        "The list in `knowledge/README.md` is missing or out of date",
    ),
    (
        "forgotten",
        "The list of forgotten documents names one that is gone",
    ),
    ("autoload", "A file that agents load is above its limit"),
    ("undo", "A change was cut off, or cannot be undone"),
    ("hooks", "A hook failed"),
    (
        "git",
        "git sees what is derived or private, or lacks the merge driver",
    ),
    ("leftovers", "A temporary file was left behind"),
];

/// How much of the files a check reads.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Depth {
    /// Where there are more documents than this, those for which the index does
    /// not vouch, and about as many of the others; `turn` chooses which.
    Sample { most: usize, turn: u64 },
    /// All of them, whatever the index says.
    Full,
}

/// Documents that a check opens however many there are: enough that an index
/// which is wrong about one in two hundred is noticed nearly always.
pub const MAX_SAMPLE: usize = 1_000;

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
