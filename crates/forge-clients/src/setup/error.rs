//! Defines the errors of connecting clients, with advice. A file that cannot be
//! edited is named with its line, and nothing was changed.

use thiserror::Error;

use super::json::SyntaxProblem;
use crate::diagnostic::Diagnostic;
use crate::workspace;

/// Reason why clients could not be connected or disconnected.
#[derive(Debug, Error)]
pub enum SetupError {
    /// The request needs a file in the home, and the environment names no home.
    #[error("There is no home directory to look into")]
    NoHome,
    /// The request needs a merge driver, and the workspace is not in a git
    /// repository.
    #[error("There is no git repository here")]
    NoRepository,
    /// The path of the running program is not UTF-8, so JSON cannot hold it.
    #[error("The path of this program cannot be written into JSON")]
    UnwritableProgram,
    /// A client's file has a syntax that cannot be edited; the owner of that
    /// file has to repair it.
    #[error("`{file}` line {}: {}", .broken.line, .broken.what)]
    BrokenFile {
        /// The file as people write it.
        file: String,
        /// The line, and what is wrong with it.
        broken: SyntaxProblem,
        /// What to do instead of editing it.
        hint: &'static str,
    },
    /// A name cannot be a path of the workspace, which is a defect of ours.
    #[error(transparent)]
    Path(#[from] workspace::PathError),
    /// The file system refused to read or write a file, or the file changed in
    /// between.
    #[error(transparent)]
    Workspace(#[from] workspace::WorkspaceError),
}

impl Diagnostic for SetupError {
    fn code(&self) -> &'static str {
        match self {
            SetupError::NoHome => "setup.no-home",
            SetupError::NoRepository => "setup.no-repository",
            SetupError::UnwritableProgram => "setup.unwritable-program",
            SetupError::BrokenFile { .. } => "setup.broken-file",
            SetupError::Path(error) => error.code(),
            SetupError::Workspace(error) => error.code(),
        }
    }

    fn hints(&self) -> Vec<String> {
        let hint = match self {
            SetupError::NoHome => "Set `HOME`, or use `--scope project`",
            SetupError::NoRepository => "Run `git init` first",
            SetupError::UnwritableProgram => "Put `memory-forge` on your `PATH`",
            SetupError::BrokenFile { hint, .. } => hint,
            SetupError::Path(error) => return error.hints(),
            SetupError::Workspace(error) => return error.hints(),
        };
        vec![hint.to_owned()]
    }

    fn is_usage(&self) -> bool {
        match self {
            SetupError::NoRepository => true,
            SetupError::Path(error) => error.is_usage(),
            SetupError::Workspace(error) => error.is_usage(),
            _ => false,
        }
    }
}
