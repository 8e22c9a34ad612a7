//! Making a folder a workspace: a README for people, and the ignore rule for
//! what is derived. It proposes, never overwrites, and twice is once.

use super::proposal::Proposal;
use super::readme;
use crate::teams::private;
use crate::workspace::{DERIVED, Error, IgnoreRule, Workspace, ignoring};

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
    let derived = IgnoreRule {
        rule: &own,
        probe: &own,
        own: Some(&own),
    };
    if let Some(it) = ignoring(workspace, &[derived, private::RULE])? {
        proposal.add(it.path, it.before, it.after);
    }
    Ok(proposal)
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
        assert_eq!(
            ws.read(".gitignore"),
            "target\n.memory-forge/\n*.local.md\n"
        );
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
        let ws = TestWorkspace::files(
            "//- .gitignore\n.memory-forge\n*.local.md\n//- knowledge/README.md\nmine\n",
        );
        ws.git_init();
        assert_eq!(paths(&ws), Vec::<String>::new());
        assert_eq!(ws.read("knowledge/README.md"), "mine\n");
    }
}
