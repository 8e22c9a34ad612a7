//! Shares a private note, or makes one private: the new name, the links and
//! pointers that follow it, and the ignore rule for private files.
//!
//! A plan is shown first, then applied in one change. A note that contains a
//! secret is never shared.

use jiff::Timestamp;

use crate::diagnostic::Diagnostic;
use crate::links::{self, NoteVault};
use crate::secrets;
use crate::teams::private;
use crate::workspace::{
    ChangeProposal, ChangeReceipt, PathError, RelPath, Workspace, WorkspaceError,
};

/// Direction of a change of visibility.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum ShareDirection {
    /// A private note becomes everyone's.
    Share,
    /// A shared note becomes private.
    MakePrivate,
}

/// A plan of the files that sharing a note changes.
#[derive(Debug)]
pub struct SharePlan {
    /// The note.
    pub from: RelPath,
    /// Its new name.
    pub to: RelPath,
    /// Its text, which everyone receives if it is shared.
    pub text: String,
    /// The rename and every file whose links follow.
    pub proposal: ChangeProposal,
    /// Number of links that follow.
    pub links: usize,
    /// File and line of links that a person has to change.
    pub left_alone: Vec<(RelPath, usize)>,
    direction: ShareDirection,
}

/// Errors that keep a note as it is.
#[derive(Debug, thiserror::Error)]
pub enum ShareError {
    /// The caller named a file that has no private form, or is private already.
    #[error("`{path}` cannot become private: only a note can")]
    CannotBePrivate {
        /// The note.
        path: RelPath,
    },
    /// The caller named a note to share that is not private.
    #[error("`{path}` is not private")]
    NotPrivate {
        /// The note.
        path: RelPath,
    },
    /// The note contains a credential, which everyone would receive.
    #[error("`{path}` line {line} looks like a secret ({rule})")]
    HoldsSecret {
        /// The note.
        path: RelPath,
        /// The line of the first credential.
        line: usize,
        /// The rule that found it.
        rule: &'static str,
    },
    /// The new name is not a valid path.
    #[error(transparent)]
    Path(#[from] PathError),
    /// The links cannot be rewritten, such as when the new name is taken.
    #[error(transparent)]
    Links(#[from] links::RenameError),
    /// A file could not be read or written.
    #[error(transparent)]
    Workspace(#[from] WorkspaceError),
}

impl Diagnostic for ShareError {
    fn code(&self) -> &'static str {
        match self {
            ShareError::CannotBePrivate { .. } => "share.cannot-be-private",
            ShareError::NotPrivate { .. } => "share.not-private",
            ShareError::HoldsSecret { .. } => "share.holds-secret",
            ShareError::Path(error) => error.code(),
            ShareError::Links(error) => error.code(),
            ShareError::Workspace(error) => error.code(),
        }
    }

    fn hints(&self) -> Vec<String> {
        let hint = match self {
            ShareError::CannotBePrivate { .. } => "Name a `.md` file that is shared",
            ShareError::NotPrivate { .. } => {
                "Private notes end in `.local.md`; `--private` makes one"
            }
            ShareError::HoldsSecret { .. } => "Take it out of the note, then share it",
            ShareError::Path(error) => return error.hints(),
            ShareError::Links(error) => return error.hints(),
            ShareError::Workspace(error) => return error.hints(),
        };
        vec![hint.to_owned()]
    }

    fn is_usage(&self) -> bool {
        match self {
            ShareError::CannotBePrivate { .. } | ShareError::NotPrivate { .. } => true,
            ShareError::HoldsSecret { .. } => false,
            ShareError::Path(_) => true,
            ShareError::Links(error) => error.is_usage(),
            ShareError::Workspace(error) => error.is_usage(),
        }
    }
}

/// Plans the renaming of a note, without writing.
pub fn plan_sharing(
    workspace: &Workspace,
    from: RelPath,
    direction: ShareDirection,
) -> Result<SharePlan, ShareError> {
    let to = match direction {
        ShareDirection::Share => private::shared_path_for(&from)
            .ok_or_else(|| ShareError::NotPrivate { path: from.clone() }),
        ShareDirection::MakePrivate => private::private_path_for(&from)
            .ok_or_else(|| ShareError::CannotBePrivate { path: from.clone() }),
    }??;
    let text = workspace.read_text(&from)?;
    if direction == ShareDirection::Share
        && let Some(secret) = secrets::find_secrets(&text).first()
    {
        return Err(ShareError::HoldsSecret {
            line: 1 + text[..secret.span.start].matches('\n').count(),
            rule: secret.rule,
            path: from,
        });
    }
    let vault = NoteVault::read(workspace);
    let renaming = links::rename_file(workspace, &vault, &from, &to)?;
    let mut proposal = renaming.proposal;
    // Without the ignore rule, the next `git add .` would publish the private
    // file.
    if direction == ShareDirection::MakePrivate
        && let Some(rule) = private::propose_ignore_rule(workspace)?
    {
        proposal.add(rule.path, rule.before, rule.after);
    }
    Ok(SharePlan {
        from,
        to,
        text,
        proposal,
        links: renaming.links,
        left_alone: renaming.left_alone,
        direction,
    })
}

impl SharePlan {
    /// Applies the plan in one change.
    pub fn apply(
        &self,
        workspace: &Workspace,
        now: Timestamp,
    ) -> Result<ChangeReceipt, WorkspaceError> {
        let done = match self.direction {
            ShareDirection::Share => "Shared",
            ShareDirection::MakePrivate => "Made private",
        };
        let what = format!("{done}: `{}` is `{}`", self.from, self.to);
        self.proposal.apply(workspace, &what, now)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_note_is_shared_unless_it_holds_a_secret() {
        let dir = tempfile::tempdir().expect("a folder can be made");
        let write = |name: &str, text: &str| {
            let path = dir.path().join(name);
            std::fs::create_dir_all(path.parent().expect("below")).expect("made");
            std::fs::write(path, text).expect("written");
        };
        write("knowledge/plan.local.md", "# Plan\n");
        write("knowledge/key.local.md", "# Key\n\nAKIAIOSFODNN7EXAMPLQ\n");
        let workspace = Workspace::open(dir.path()).expect("it can be opened");
        let path = |text: &str| RelPath::new(text).expect("a path");
        let plan = |name: &str| plan_sharing(&workspace, path(name), ShareDirection::Share);
        let now = "2026-03-01T09:00:00Z".parse().expect("a time");
        let shared = plan("knowledge/plan.local.md").expect("it may be shared");
        assert_eq!(shared.to.as_str(), "knowledge/plan.md");
        shared.apply(&workspace, now).expect("it is renamed");
        assert!(dir.path().join("knowledge/plan.md").is_file());
        let secret = plan("knowledge/key.local.md").expect_err("it holds a secret");
        assert_eq!(secret.code(), "share.holds-secret");
        let public = plan("knowledge/plan.md").expect_err("it is shared already");
        assert!(public.is_usage());
    }
}
