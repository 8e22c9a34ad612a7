//! Updates the index on request, in one way for every door: reads what changed,
//! maintains the list in `knowledge/README.md`, computes vectors. It returns
//! figures; which lines are printed is a door's business.

use std::time::{Duration, Instant};

use jiff::Timestamp;

use crate::index::IndexCounts;
use crate::knowledge::refresh;
use crate::library::{AnswerRemark, KnowledgeLibrary, ProgressCallback};
use crate::tokens::format_thousands;

pub use crate::knowledge::readme::README_PATH as LIST;
pub use crate::knowledge::refresh::FileOutcome;

/// Time budget for computing vectors.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum VectorBudget {
    /// Not at all.
    Nothing,
    /// For at most this long; the next run continues from there.
    For(Duration),
    /// Until every passage has a vector.
    ToTheEnd,
}

/// A request to update the index.
#[derive(Debug, Clone, Copy)]
pub struct IndexRequest {
    /// Whether to read unchanged files again.
    pub force: bool,
    /// Whether to update the list of documents.
    pub keep_list: bool,
    /// Time limit for computing vectors.
    pub vectors: VectorBudget,
    /// Whether the index must be stored for the next process. A server answers
    /// from memory as well.
    pub must_be_kept: bool,
    /// The moment of the request.
    pub now: Timestamp,
}

/// The result of an update.
#[derive(Debug)]
pub struct IndexResponse {
    /// Every file with its outcome.
    pub files: Vec<(String, FileOutcome)>,
    /// Whether the list of documents was written.
    pub is_list_written: bool,
    /// Contents of the index after the update.
    pub counts: IndexCounts,
    /// Estimated time for the missing vectors, if known.
    pub vectors_left: Option<Duration>,
    /// Reason why the index is in memory only, if it is.
    pub not_kept: Option<String>,
    /// Remarks for a person.
    pub remarks: Vec<AnswerRemark>,
}

/// Number of files by outcome.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct OutcomeCounts {
    /// New ones.
    pub added: usize,
    /// Those that changed.
    pub updated: usize,
    /// Those that are gone.
    pub removed: usize,
    /// Those that are as they were.
    pub unchanged: usize,
    /// Those that cannot be read.
    pub skipped: usize,
}

impl OutcomeCounts {
    /// Counts the outcomes of files.
    pub fn from_files(files: &[(String, FileOutcome)]) -> OutcomeCounts {
        let skipped = |it: &&(String, FileOutcome)| matches!(it.1, FileOutcome::Skipped(_));
        OutcomeCounts {
            added: FileOutcome::Indexed.count_in(files),
            updated: FileOutcome::Reindexed.count_in(files),
            removed: FileOutcome::Removed.count_in(files),
            unchanged: FileOutcome::Unchanged.count_in(files),
            skipped: files.iter().filter(skipped).count(),
        }
    }
}

/// Estimates the time for the rest from the pace so far.
fn time_left(counts: &IndexCounts, done: usize, took: Duration) -> Option<Duration> {
    let missing = counts.chunks.saturating_sub(counts.embedded);
    if missing == 0 || done == 0 {
        return None;
    }
    Some(took.mul_f64(missing as f64 / done as f64))
}

impl IndexResponse {
    /// Reports how many vectors are computed, if some are missing.
    pub fn vectors_line(&self) -> Option<String> {
        let IndexCounts {
            chunks, embedded, ..
        } = self.counts;
        (embedded < chunks).then(|| {
            let so_far = format!(
                "{} of {} passages have a vector so far",
                format_thousands(embedded),
                format_thousands(chunks)
            );
            match self.vectors_left {
                Some(left) => format!("{so_far}; the rest takes about {}", in_words(left)),
                None => so_far,
            }
        })
    }
}

fn in_words(time: Duration) -> String {
    match time.as_secs() + 1 {
        seconds @ ..100 => format!("{seconds} s"),
        seconds => format!("{} minutes", seconds.div_ceil(60)),
    }
}

/// Brings the index in step with the files. Where it can be kept in memory
/// alone, a request that has it kept ends there, with the reason.
pub fn update_index(
    library: &mut KnowledgeLibrary,
    request: &IndexRequest,
    watch: ProgressCallback<'_>,
) -> Result<IndexResponse, refresh::RefreshError> {
    let (fresh, mut remarks) = library.refresh_index(request.now, request.force, watch)?;
    let files = fresh.file_outcomes();
    let not_kept = fresh.in_memory_reason().map(str::to_owned);
    let counts = fresh.index.counts()?;
    let mut response = IndexResponse {
        files,
        is_list_written: false,
        counts,
        vectors_left: None,
        not_kept,
        remarks: Vec::new(),
    };
    if response.not_kept.is_some() && request.must_be_kept {
        response.remarks = remarks;
        return Ok(response);
    }
    if request.keep_list {
        let (is_written, more) = library.update_document_list(request.now, watch)?;
        response.is_list_written = is_written;
        remarks.extend(more);
    }
    let budget = match request.vectors {
        VectorBudget::Nothing => None,
        VectorBudget::For(budget) => Some(Some(budget)),
        VectorBudget::ToTheEnd => Some(None),
    };
    let begin = Instant::now();
    let before = match library.index() {
        Some(index) => index.passage_counts()?.embedded,
        None => 0,
    };
    if let Some(budget) = budget {
        remarks.extend(library.embed_passages(budget, watch)?);
    }
    let took = begin.elapsed();
    library.release_lock();
    if let Some(index) = library.index() {
        if request.must_be_kept {
            // Moves the write-ahead log into the main file, so that the next
            // process starts without a replay.
            index.checkpoint_log();
        }
        response.counts = index.counts()?;
        let done = response.counts.embedded.saturating_sub(before);
        response.vectors_left = time_left(&response.counts, done, took);
    }
    response.remarks = remarks;
    Ok(response)
}
