//! Decides which documents need not be opened, because the index that this
//! user's program made here has checked them and they are unchanged. A share of
//! the files is opened to verify the index; it is never trusted without its
//! mark, or where it has something to report.

use super::ReadingDepth;
use crate::document::{self, Document};
use crate::index::{self, CatalogueEntry, Index, IndexCounts};
use crate::knowledge::describe::TextTraits;
use crate::knowledge::{readme, refresh};
use crate::workspace::{RelPath, ScannedFile, Workspace, WorkspaceScan};

/// An index that was read completely and compared with the files.
pub(super) struct IndexReading {
    /// Damages of the index, as sentences.
    pub(super) wrong: Vec<String>,
    pub(super) catalogue: Vec<CatalogueEntry>,
    /// Number of files that differ from the index.
    pub(super) behind: usize,
    pub(super) counts: IndexCounts,
    has_current_shape: bool,
}

/// Reads the whole index and compares it with the files.
pub(super) fn read_index(
    workspace: &Workspace,
    scan: &WorkspaceScan,
    index: &Index,
) -> Result<IndexReading, index::IndexError> {
    let wrong = index.verify()?;
    let catalogue = index.catalogue()?;
    Ok(IndexReading {
        wrong,
        behind: refresh::count_behind(workspace, scan, index, &catalogue)?,
        counts: index.counts()?,
        has_current_shape: refresh::has_current_shape(workspace, index)?,
        catalogue,
    })
}

/// Claim of the index about one file, and how far to trust it.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum IndexVoucher {
    /// No claim: the file is opened.
    None,
    /// The file is opened to verify the claim.
    Checked(TextTraits),
    /// The claim is trusted, and the file is not opened.
    Believed(TextTraits),
}

/// A plan of the files to open, with the index's claims about the rest.
pub(super) struct ReadingPlan<'a> {
    index: Option<&'a Index>,
    /// One for each file of the scan; empty if all are opened.
    vouchers: Vec<IndexVoucher>,
    /// Whether the list for people is known to match these files.
    pub(super) list_is_current: bool,
    /// Files whose text differs from the index although size and time do not.
    pub(super) contradicted: Vec<RelPath>,
}

impl<'a> ReadingPlan<'a> {
    /// Plans to open every file.
    pub(super) fn for_every_file() -> ReadingPlan<'a> {
        ReadingPlan {
            index: None,
            vouchers: Vec::new(),
            list_is_current: false,
            contradicted: Vec::new(),
        }
    }

    /// Plans to open the files that a sound index does not vouch for, those
    /// with something to report, and a share of the rest.
    pub(super) fn for_scan(
        workspace: &Workspace,
        scan: &WorkspaceScan,
        index: Option<(&'a Index, &IndexReading)>,
        depth: ReadingDepth,
    ) -> ReadingPlan<'a> {
        // Opening 200,000 files alone takes as long as two searches without
        // changes, hence the sample.
        let (Some((index, reading)), ReadingDepth::Sample { most, turn }) = (index, depth) else {
            return ReadingPlan::for_every_file();
        };
        let is_sound = reading.wrong.is_empty() && reading.has_current_shape;
        let (true, Ok(traits)) = (is_sound && scan.files.len() > most, index.document_traits())
        else {
            return ReadingPlan::for_every_file();
        };
        let catalogue = &reading.catalogue;
        let list_is_current =
            readme::is_list_current(index, catalogue) && refresh::is_in_step(scan, catalogue);
        // Its lines are made of texts, and only a list that we made for these
        // very files shows what is in them.
        let list_needs_texts = !list_is_current
            && workspace
                .read_text(&readme::readme_path())
                .is_ok_and(|text| readme::has_list(&text));
        let vouch = |found: &ScannedFile, entry: &CatalogueEntry| {
            let traits = traits.get(&entry.id).copied().unwrap_or_default();
            let traits = TextTraits::from_bits(traits);
            // A stamp proves that a file is unchanged only if the file was
            // older than the moment of reading, by the file system's own clock.
            let is_vouched = entry.problem.is_none()
                && entry.stamp.proves_unchanged(found.size, found.changed_ns)
                && !traits.has_findings()
                && found.path.as_str() != readme::README_PATH
                && !(list_needs_texts && readme::belongs_in_list(&found.path));
            if is_vouched {
                IndexVoucher::Believed(traits)
            } else {
                IndexVoucher::None
            }
        };
        // Both are sorted by path.
        let mut known = catalogue.iter().peekable();
        let mut vouchers: Vec<IndexVoucher> = scan
            .files
            .iter()
            .map(|found| {
                let path = found.path.as_str();
                while known.next_if(|entry| entry.path.as_str() < path).is_some() {}
                let entry = known.next_if(|entry| entry.path == path);
                entry.map_or(IndexVoucher::None, |entry| vouch(found, entry))
            })
            .collect();
        // Spread evenly over the whole, and others at each run, so that
        // repeated runs verify every file.
        let step = vouchers.len().div_ceil(most.max(1));
        for voucher in vouchers.iter_mut().skip(turn as usize % step).step_by(step) {
            if let IndexVoucher::Believed(traits) = *voucher {
                *voucher = IndexVoucher::Checked(traits);
            }
        }
        ReadingPlan {
            index: Some(index),
            vouchers,
            list_is_current,
            contradicted: Vec::new(),
        }
    }

    /// Returns the traits of a file that need not be opened.
    pub(super) fn believed_traits(&self, at: usize) -> Option<TextTraits> {
        match self.vouchers.get(at)? {
            IndexVoucher::Believed(traits) => Some(*traits),
            IndexVoucher::None | IndexVoucher::Checked(_) => None,
        }
    }

    /// Returns how many files that were not opened have front matter.
    pub(super) fn count_believed_front_matter(&self) -> usize {
        let believed = (0..self.vouchers.len()).filter_map(|at| self.believed_traits(at));
        believed.filter(|traits| traits.has_front_matter()).count()
    }

    /// Compares a document with the claim of the index, if it is to be
    /// verified.
    pub(super) fn check_document(
        &mut self,
        at: usize,
        path: &RelPath,
        document: &Document,
        secrets: bool,
    ) {
        let (Some(IndexVoucher::Checked(traits)), Some(index)) =
            (self.vouchers.get(at), self.index)
        else {
            return;
        };
        let hash = document::content_hash(&document.text);
        let is_same = TextTraits::of_document(document, secrets) == *traits
            && index.content_hash_of(path.as_str()).ok().flatten() == Some(hash);
        if !is_same {
            self.contradicted.push(path.clone());
        }
    }

    /// Stops trusting the index after a contradiction. Returns the positions of
    /// the files that must be read now.
    pub(super) fn distrust_index(&mut self) -> Vec<usize> {
        let is_believed = |voucher: &IndexVoucher| matches!(voucher, IndexVoucher::Believed(_));
        let believed = (0..self.vouchers.len())
            .filter(|at| is_believed(&self.vouchers[*at]))
            .collect();
        // Without vouchers no file counts as believed any more.
        self.vouchers.clear();
        self.list_is_current = false;
        believed
    }
}
