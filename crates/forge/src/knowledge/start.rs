//! Making a folder a workspace: a README for people, and the ignore rule for
//! what is derived. It proposes, never overwrites, and twice is once.

use super::proposal::Proposal;
use super::readme;
use crate::workspace::git::{self, Ignored};
use crate::workspace::{DERIVED, Error, RelPath, Workspace};

/// What a workspace still lacks.
pub fn propose(workspace: &Workspace) -> Result<Proposal, Error> {
    let mut proposal = Proposal::default();
    if !workspace.absolute(&readme::path()).exists() {
        let documents = readme::documents(workspace, &[]);
        proposal.add(readme::path(), None, readme::refreshed(None, &documents)?);
    }
    // The folder hides itself once it is there; a rule that is committed says
    // so to everyone who looks.
    let own = format!("{DERIVED}/");
    let lacks = match git::ignored(workspace.root(), &own) {
        Ignored::No => true,
        Ignored::By(file) => file.starts_with(&own),
        Ignored::Unknown => false,
    };
    if lacks {
        let path = RelPath::new(".gitignore")?;
        let before = workspace.text_if_there(&path)?;
        let after = with_rule(before.as_deref().unwrap_or_default(), &own);
        proposal.add(path, before, after);
    }
    Ok(proposal)
}

fn with_rule(text: &str, rule: &str) -> String {
    let newline = if text.contains("\r\n") { "\r\n" } else { "\n" };
    let mut out = text.to_owned();
    // A rule that is there and has no effect was lifted on purpose further
    // down; once more would not help anyone.
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
    use testkit::TestWorkspace;

    fn paths(ws: &TestWorkspace) -> Vec<String> {
        let workspace = Workspace::open(ws.root()).unwrap();
        let proposal = propose(&workspace).unwrap();
        let now = "2026-03-01T09:00:00Z".parse().unwrap();
        proposal
            .apply(&workspace, "Prepare the workspace", now)
            .unwrap();
        proposal
            .files
            .iter()
            .map(|file| file.path.to_string())
            .collect()
    }

    #[test]
    fn a_repository_gets_a_readme_and_an_ignore_rule_once() {
        let ws = TestWorkspace::files("//- .gitignore\ntarget\n//- knowledge/a.md\n# A\n\nText.\n");
        ws.git_init();
        assert_eq!(paths(&ws), ["knowledge/README.md", ".gitignore"]);
        assert_eq!(ws.read(".gitignore"), "target\n.memory-forge/\n");
        assert!(
            ws.read("knowledge/README.md")
                .contains("- [A](a.md) — Text.")
        );
        assert_eq!(paths(&ws), Vec::<String>::new());
    }

    #[test]
    fn without_git_there_is_nothing_to_ignore() {
        let ws = TestWorkspace::empty();
        assert_eq!(paths(&ws), ["knowledge/README.md"]);
        assert!(!ws.exists(".gitignore"));
    }

    #[test]
    fn what_is_there_stays() {
        let ws =
            TestWorkspace::files("//- .gitignore\n.memory-forge\n//- knowledge/README.md\nmine\n");
        ws.git_init();
        assert_eq!(paths(&ws), Vec::<String>::new());
        assert_eq!(ws.read("knowledge/README.md"), "mine\n");
    }

    #[test]
    fn line_ends_are_kept() {
        assert_eq!(
            with_rule("a\r\nb", ".memory-forge/"),
            "a\r\nb\r\n.memory-forge/\r\n"
        );
        assert_eq!(with_rule("", ".memory-forge/"), ".memory-forge/\n");
    }
}
