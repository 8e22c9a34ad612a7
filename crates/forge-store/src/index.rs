//! The derived index: one SQLite file with catalogue, postings and vectors.
//!
//! It knows files and passages, not what they mean, and never reads a user's
//! file: the caller passes the content in, and deleting it loses only
//! statistics.

pub mod chunk;
mod mark;
mod postings;
mod query;
mod reread;
mod store;
mod sync;
pub mod terms;
mod vectors;

use std::path::PathBuf;

use forge_text::diagnostic::Diagnostic;
use serde::{Deserialize, Serialize};

pub use chunk::{DocumentPassage, PassageSizes};
pub use postings::{BM25_B, BM25_K1, PassageTerms, TermCounts, bm25_score, idf};
pub use query::{PassageSlots, PrefixTerm, StoredPassage, TermMatch, TextHits, TextQuery};
pub use reread::{MAX_REREAD_HITS, PassageReader, explain_rerank as explain_reading, rerank_hits};
#[cfg(debug_assertions)]
pub use store::pretend_version;
pub use store::{FileUsage, Index, IndexCounts, OpenNote, OpenedIndex, PassageCounts};
pub use sync::{DocumentRecord, IndexChange, embedding_text};
pub use vectors::PackedVector;

/// A file in the catalogue, as far as it is known without opening it.
#[derive(Debug, Clone, PartialEq)]
pub struct CatalogueEntry {
    /// The number that passages refer to it by.
    pub id: u32,
    /// The path relative to the root.
    pub path: String,
    /// The size and time by which a change is noticed.
    pub stamp: FileStamp,
    /// The search scope that finds it; a word that the caller defines.
    pub scope: String,
    /// The kind, which filters of a search select.
    pub kind: DocumentKind,
    /// The day of the document, as `YYYY-MM-DD`, where it names one.
    pub date: Option<String>,
    /// Whether another document replaced it.
    pub standing: DocumentStanding,
    /// The reason why the file could not be indexed.
    pub problem: Option<String>,
}

/// A file's size and time as they were when it was read.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct FileStamp {
    /// The size in bytes.
    pub size: u64,
    /// When it last changed.
    pub mtime_ns: i64,
    /// When the reading began, by the file system's own clock.
    pub recorded_ns: i64,
}

/// The coarsest resolution of the time stamps of file systems and kernels:
/// within it, a change may leave size and time as they were.
const RACY_NS: i64 = 50_000_000;

impl FileStamp {
    /// Returns `true` if a file that now has `size` and `mtime_ns` is surely
    /// the one that was read. If not, its content decides.
    pub fn proves_unchanged(&self, size: u64, mtime_ns: i64) -> bool {
        self.size == size
            && self.mtime_ns == mtime_ns
            // Changed within the resolution of the clock, it may have changed
            // again.
            && mtime_ns.saturating_add(RACY_NS) < self.recorded_ns
    }
}

/// The kind of a document, by its front matter.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, Serialize, Deserialize)]
pub enum DocumentKind {
    /// Any other document.
    Knowledge,
    /// Has both `name` and `description`.
    Skill,
}

impl DocumentKind {
    /// All kinds, the more specific first.
    pub const ALL: [DocumentKind; 2] = [DocumentKind::Skill, DocumentKind::Knowledge];

    /// Describes the documents of this kind in one line.
    pub fn description(self) -> &'static str {
        match self {
            DocumentKind::Skill => "Documents with a name and a description in their front matter",
            DocumentKind::Knowledge => "All others",
        }
    }

    /// Returns the name of the kind, as it is stored and printed.
    pub fn name(self) -> &'static str {
        match self {
            DocumentKind::Knowledge => "knowledge",
            DocumentKind::Skill => "skill",
        }
    }
}

/// The state of a document: current, or replaced.
#[derive(Debug, Clone, PartialEq, Eq, Default, Serialize, Deserialize)]
pub enum DocumentStanding {
    /// Nothing replaced it.
    #[default]
    Current,
    /// Out of date, without a successor that is named.
    Deprecated,
    /// Replaced by another document, named as the author named it.
    SupersededBy(String),
}

/// An error of the index. Except for `Remote`, the user did nothing wrong.
#[derive(Debug, thiserror::Error)]
pub enum IndexError {
    /// The file is not what this program wrote; rebuilding it helps.
    #[error("the index at `{}` is damaged: {why}", path.display())]
    Damaged {
        /// The file of the index.
        path: PathBuf,
        /// What is wrong with it.
        why: String,
    },
    /// SQLite failed because of the system: a full disk, a lock, a read-only
    /// folder.
    #[error("cannot use the index at `{}`: {source}", path.display())]
    Sqlite {
        /// The file of the index.
        path: PathBuf,
        /// The error of SQLite.
        source: rusqlite::Error,
    },
    /// A file of the index could not be read, made or moved.
    #[error("cannot prepare the index at `{}`: {source}", path.display())]
    Io {
        /// The file or the folder of the index.
        path: PathBuf,
        /// The reason of the operating system.
        source: std::io::Error,
    },
    /// The user has no place for the key, so no index can be kept.
    #[error(transparent)]
    NoKey(crate::trust::NoKey),
    /// An index on a server could not be searched.
    #[error(transparent)]
    Remote(RemoteError),
}

/// An error of an index on a server, with its advice.
#[derive(Debug, thiserror::Error)]
#[error("{message}")]
pub struct RemoteError {
    /// What happened, for people.
    pub message: String,
    /// What the user can do about it, where that is known.
    pub hint: Option<String>,
    /// Whether the request was wrong, rather than the server.
    pub is_usage: bool,
}

impl IndexError {
    /// Returns `true` if rebuilding the index is the cure.
    pub fn is_damage(&self) -> bool {
        matches!(self, IndexError::Damaged { .. })
    }
}

impl Diagnostic for IndexError {
    fn code(&self) -> &'static str {
        match self {
            IndexError::Damaged { .. } => "index.damaged",
            IndexError::Sqlite { .. } => "index.database",
            IndexError::Io { .. } => "index.io",
            IndexError::NoKey(error) => error.code(),
            IndexError::Remote(_) => "index.server",
        }
    }

    fn hints(&self) -> Vec<String> {
        match self {
            IndexError::Damaged { .. } => {
                vec!["Delete `.memory-forge/`; it is rebuilt from the files".to_owned()]
            }
            IndexError::Remote(error) => error.hint.iter().cloned().collect(),
            IndexError::Sqlite { .. } | IndexError::Io { .. } | IndexError::NoKey(_) => Vec::new(),
        }
    }

    fn is_usage(&self) -> bool {
        matches!(self, IndexError::Remote(error) if error.is_usage)
    }
}

#[cfg(test)]
mod tests;
