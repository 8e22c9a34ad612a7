//! Handles private files, `*.local.md`, which git ignores. They are searched
//! and briefed like others; sharing one is a separate action.

use crate::workspace::{
    self, IgnoreRule, PRIVATE_SUFFIX, PathError, ProposedFile, RelPath, Workspace, WorkspaceError,
    git,
};

/// The rule that makes git ignore private files.
pub const PRIVATE_IGNORE_RULE: IgnoreRule<'static> = IgnoreRule {
    rule: "*.local.md",
    probe: "knowledge/private.local.md",
    own: None,
};

/// Returns the path under which a private file would be shared.
pub fn shared_path_for(path: &RelPath) -> Option<Result<RelPath, PathError>> {
    let text = path.as_str();
    let (stem, ending) = text.split_at_checked(text.len().checked_sub(PRIVATE_SUFFIX.len())?)?;
    let shared = RelPath::new(&format!("{stem}.md"));
    // In a private folder, no path is shared.
    let is_own = path.is_private() && ending.eq_ignore_ascii_case(PRIVATE_SUFFIX);
    let is_shared = shared.as_ref().is_ok_and(|it| !it.is_private());
    (is_own && (is_shared || shared.is_err())).then_some(shared)
}

/// Returns the path under which a shared file would be private.
pub fn private_path_for(path: &RelPath) -> Option<Result<RelPath, PathError>> {
    let stem = path
        .as_str()
        .strip_suffix(".md")
        .filter(|_| !path.is_private())?;
    Some(RelPath::new(&format!("{stem}{PRIVATE_SUFFIX}")))
}

/// Proposes the change of `.gitignore` that private files need, if any.
pub fn propose_ignore_rule(workspace: &Workspace) -> Result<Option<ProposedFile>, WorkspaceError> {
    workspace::propose_ignore_rules(workspace, &[PRIVATE_IGNORE_RULE])
}

/// Lists private files that git tracks anyway, so that everyone receives them.
pub fn list_tracked_private_files(workspace: &Workspace) -> Result<Vec<String>, WorkspaceError> {
    git::list_tracked_ending(workspace.root(), PRIVATE_SUFFIX)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn names_go_both_ways() {
        let path = |text: &str| RelPath::new(text).expect("a path");
        for (private, public) in [("a.local.md", "a.md"), ("k/b.c.local.md", "k/b.c.md")] {
            assert!(path(private).is_private() && !path(public).is_private());
            assert_eq!(shared_path_for(&path(private)), Some(Ok(path(public))));
            assert_eq!(private_path_for(&path(public)), Some(Ok(path(private))));
        }
        assert!(!path("k/.local.md").is_private());
        for private in [
            "a.LOCAL.md",
            "k/A.Local.MD",
            "me.local/b.md",
            "k/Me.LOCAL/c/b.md",
        ] {
            assert!(path(private).is_private(), "{private}");
        }
        for public in [
            "local.md",
            "locals/b.md",
            "a.locale.md",
            "k/local/b.md",
            "élocal.md",
        ] {
            assert!(!path(public).is_private(), "{public}");
        }
        assert_eq!(
            shared_path_for(&path("k/A.LOCAL.md")),
            Some(Ok(path("k/A.md")))
        );
        assert_eq!(shared_path_for(&path("me.local/b.md")), None);
        assert_eq!(shared_path_for(&path("me.local/b.local.md")), None);
        assert_eq!(private_path_for(&path("a.txt")), None);
    }
}
