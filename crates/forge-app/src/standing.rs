//! The status of a repository's memory, in a few facts, and the one step
//! that comes next.

use crate::inclusion::{DocumentCandidates, find_candidates};
use crate::status::WorkspaceStatus;
use crate::workspace::FileRole;
use forge_clients::setup::SetupSurroundings;

/// Step that helps most next.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum NextStep {
    /// None or few of the documents can be searched.
    IncludeDocuments,
    /// There is no document at all.
    WriteFirstDocument,
    /// No agent client is connected.
    ConnectAgents,
    /// Agents load more than they should at every start.
    ShortenInstructions,
    /// All is set up.
    Ask,
}

/// A workspace in a few facts.
#[derive(Debug)]
pub struct WorkspaceStanding {
    /// Where the work stands and what memory costs.
    pub status: WorkspaceStatus,
    /// Documents that a search looks at.
    pub documents: usize,
    /// Documents that it does not.
    pub outside: DocumentCandidates,
    /// The most useful thing to do now.
    pub next: NextStep,
}

impl WorkspaceStanding {
    /// Looks at the files as they are. Nothing is written.
    pub fn gather(around: &SetupSurroundings<'_>) -> WorkspaceStanding {
        let workspace = around.workspace;
        let status = WorkspaceStatus::gather(around);
        let scan = workspace.scan();
        let documents = scan
            .files
            .iter()
            .filter(|it| it.role == FileRole::Knowledge);
        let documents = documents.count();
        let outside = find_candidates(workspace);
        let most = workspace.config().audit.total_warn;
        let next = match documents {
            _ if outside.files() > documents => NextStep::IncludeDocuments,
            0 => NextStep::WriteFirstDocument,
            _ if status.installed.is_empty() => NextStep::ConnectAgents,
            _ if status.cost.always_on.iter().any(|it| it.tokens > most) => {
                NextStep::ShortenInstructions
            }
            _ => NextStep::Ask,
        };
        WorkspaceStanding {
            status,
            documents,
            outside,
            next,
        }
    }
}
