//! The knowledge of a workspace: indexed, saved, forgotten, restored. Files are
//! the source of truth; everything here follows them.

pub use crate::retractions as corrections;

pub mod describe;
pub mod forget;
pub mod fresh;
pub mod maps;
pub mod past;
/// Changes that are shown before they are made; they belong to the workspace.
pub mod proposal {
    pub use crate::workspace::{ChangeProposal, ProposedFile};
}
pub mod readme;
pub mod refresh;
pub mod save;
pub mod start;
pub mod state;
pub mod templates;
