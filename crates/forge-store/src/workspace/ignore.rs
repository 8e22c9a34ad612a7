//! Adds rules to `.gitignore`: where they have no effect yet, at the end, once.

use super::git::{self, IgnoreStatus};
use super::{ProposedFile, RelPath, Workspace, WorkspaceError};

/// A rule, and a path that it must keep from git.
#[derive(Debug, Clone, Copy)]
pub struct IgnoreRule<'a> {
    /// The rule as a line of `.gitignore`.
    pub rule: &'a str,
    /// The path that the rule must match.
    pub probe: &'a str,
    /// A file of ours that hides itself does not count.
    pub own: Option<&'a str>,
}

/// Proposes the change of `.gitignore` that these rules need; `None` if git
/// ignores all of it already or if there is no git.
pub fn propose_ignore_rules(
    workspace: &Workspace,
    rules: &[IgnoreRule<'_>],
) -> Result<Option<ProposedFile>, WorkspaceError> {
    let lacks = |it: &&IgnoreRule<'_>| match git::ignore_status(workspace.root(), it.probe) {
        IgnoreStatus::No => true,
        IgnoreStatus::By(file) => it.own.is_some_and(|own| file.starts_with(own)),
        IgnoreStatus::Unknown => false,
    };
    let lacking: Vec<_> = rules.iter().filter(lacks).collect();
    if lacking.is_empty() {
        return Ok(None);
    }
    let path = RelPath::new(".gitignore")?;
    let before = workspace.read_text_if_present(&path)?;
    let text = before.clone().unwrap_or_default();
    let after = lacking
        .iter()
        .fold(text, |text, it| append_rule(&text, it.rule));
    let changes = before.as_deref() != Some(after.as_str());
    Ok(changes.then_some(ProposedFile {
        path,
        before,
        after,
    }))
}

fn append_rule(text: &str, rule: &str) -> String {
    let newline = if text.contains("\r\n") { "\r\n" } else { "\n" };
    let mut out = text.to_owned();
    // A rule that is there without an effect is negated on purpose further
    // down; adding it again would not help.
    if text.lines().any(|line| line.trim() == rule) {
        return out;
    }
    if !out.is_empty() && !out.ends_with('\n') {
        out.push_str(newline);
    }
    out.push_str(rule);
    out.push_str(newline);
    out
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn line_ends_are_kept() {
        assert_eq!(
            append_rule("a\r\nb", ".memory-forge/"),
            "a\r\nb\r\n.memory-forge/\r\n"
        );
        assert_eq!(append_rule("", ".memory-forge/"), ".memory-forge/\n");
    }
}
