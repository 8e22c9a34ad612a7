//! Excludes documents from searches and corrects facts, in one way for every
//! door: a plan, then, after a confirmation, the list.
//!
//! The files of forgotten documents are never touched. Every answer has a
//! receipt with the list before and after, so that no door reads the list
//! itself.

use jiff::Timestamp;

use crate::corrections::{self, Corrections};
use crate::index::Index;
use crate::knowledge::forget;
use crate::workspace::{self, ChangeReceipt, FileChange, RelPath, Workspace};

pub use crate::corrections::{
    Correction, CorrectionOutcome, NewCorrection, RemovedCorrections, correct_fact,
};
pub use crate::knowledge::forget::{
    ForgetChoice, ForgetError, ForgetRequest, RETRACTION_LIST, restore_documents,
};

/// A plan of the documents to forget, for a person to confirm.
#[derive(Debug, Clone, PartialEq)]
pub struct ForgetPlan {
    /// The documents with their reasons, least important first.
    pub chosen: Vec<ForgetChoice>,
}

/// Plans which documents to forget, without writing. The index must be up to
/// date, since the use of documents decides.
pub fn plan_forgetting(
    workspace: &Workspace,
    index: &Index,
    wanted: &ForgetRequest,
    now: Timestamp,
) -> Result<ForgetPlan, ForgetError> {
    let chosen = forget::choose_documents(workspace, index, wanted, now)?;
    Ok(ForgetPlan { chosen })
}

impl ForgetPlan {
    /// Returns `true` if there is nothing to forget.
    pub fn is_empty(&self) -> bool {
        self.chosen.is_empty()
    }

    /// Adds the documents to the list of forgotten ones.
    pub fn apply(
        &self,
        workspace: &Workspace,
        now: Timestamp,
    ) -> Result<ChangeReceipt, ForgetError> {
        forget::forget_documents(workspace, &self.chosen, now)
    }
}

/// Returns the corrections that a text repeats, to show them before another one
/// is added.
pub fn find_known_corrections(
    workspace: &Workspace,
    fact: &str,
) -> Result<Vec<Correction>, workspace::WorkspaceError> {
    let known = Corrections::read(workspace)?;
    Ok(known.check_text(fact).into_iter().cloned().collect())
}

/// Removes the corrections of these facts, in any spelling.
pub fn remove_fact_corrections(
    workspace: &Workspace,
    facts: &[String],
    now: Timestamp,
) -> Result<RemovedCorrections, corrections::CorrectionError> {
    corrections::remove_corrections(workspace, Some(facts), now)
}

/// Returns the file with the list of forgotten documents and corrected facts,
/// before and after a change of it.
pub fn find_list_change(receipt: &ChangeReceipt) -> Option<&FileChange> {
    let list = RelPath::new(RETRACTION_LIST).ok()?;
    receipt.change_of_file(&list)
}
