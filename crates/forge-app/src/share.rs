//! Sharing a private note, or making one private: the new name, the links and
//! pointers that follow it, and the rule by which git ignores private files.
//!
//! First a plan that is shown, then its application in one change. Nothing with
//! a secret in it is shared.

use jiff::Timestamp;

use crate::diagnostic::Diagnostic;
use crate::links::{self, Vault};
use crate::secrets;
use crate::teams::private;
use crate::workspace::{Error, PathError, Proposal, Receipt, RelPath, Workspace};

/// Which way a note goes.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum ShareDirection {
    /// A private note becomes everyone's.
    Share,
    /// A shared note becomes private.
    MakePrivate,
}

/// What would change.
#[derive(Debug)]
pub struct SharePlan {
    /// The note.
    pub from: RelPath,
    /// Its new name.
    pub to: RelPath,
    /// Its text, which everyone gets where it is shared.
    pub text: String,
    /// The rename and every file whose links follow.
    pub proposal: Proposal,
    /// How many links follow.
    pub links: usize,
    /// File and line of links that have to be changed by hand.
    pub left_alone: Vec<(RelPath, usize)>,
    direction: ShareDirection,
}

/// Why a note stays as it is.
#[derive(Debug, thiserror::Error)]
pub enum ShareError {
    /// It has no private name.
    #[error("`{path}` is no note that can become private")]
    CannotBePrivate {
        /// The note.
        path: RelPath,
    },
    /// It has no private name to begin with.
    #[error("`{path}` is not private")]
    NotPrivate {
        /// The note.
        path: RelPath,
    },
    /// Everyone would get a credential.
    #[error("`{path}` line {line} looks like a secret ({rule})")]
    HoldsSecret {
        /// The note.
        path: RelPath,
        /// The line of the first credential.
        line: usize,
        /// The rule that found it.
        rule: &'static str,
    },
    /// The new name cannot be a path.
    #[error(transparent)]
    Path(#[from] PathError),
    /// The links cannot follow.
    #[error(transparent)]
    Links(#[from] links::Error),
    /// A file could not be read or written.
    #[error(transparent)]
    Workspace(#[from] Error),
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

/// Plans a note's way; nothing is written.
pub fn plan_sharing(
    workspace: &Workspace,
    from: RelPath,
    direction: ShareDirection,
) -> Result<SharePlan, ShareError> {
    let to = match direction {
        ShareDirection::Share => {
            private::shared(&from).ok_or_else(|| ShareError::NotPrivate { path: from.clone() })
        }
        ShareDirection::MakePrivate => {
            private::own(&from).ok_or_else(|| ShareError::CannotBePrivate { path: from.clone() })
        }
    }??;
    let text = workspace.read_text(&from)?;
    if direction == ShareDirection::Share
        && let Some(secret) = secrets::find(&text).first()
    {
        return Err(ShareError::HoldsSecret {
            line: 1 + text[..secret.span.start].matches('\n').count(),
            rule: secret.rule,
            path: from,
        });
    }
    let vault = Vault::read(workspace);
    let renaming = links::rename(workspace, &vault, &from, &to)?;
    let mut proposal = renaming.proposal;
    if direction == ShareDirection::MakePrivate
        && let Some(rule) = private::ignoring(workspace)?
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
    /// Carries it out in one change.
    pub fn apply(&self, workspace: &Workspace, now: Timestamp) -> Result<Receipt, Error> {
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
        write(
            "knowledge/key.local.md",
            "# Key\n\nAKIAIOSFODNN7EXAMPLQ\n",
        );
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
