//! Makes a folder a workspace: a README for people, documents to begin with,
//! and the ignore rule for derived files. It only proposes and is idempotent;
//! of existing text it changes the README's own list alone.

use super::proposal::ChangeProposal;
use super::readme;
use super::templates::WorkspaceTemplate;
use crate::teams::private;
use crate::workspace::{
    DERIVED_FOLDER, IgnoreRule, RelPath, Workspace, WorkspaceError, propose_ignore_rules,
};

/// Proposes the files that a workspace still lacks. Files of a template that
/// exist stay as they are.
pub fn propose_start(
    workspace: &Workspace,
    template: Option<WorkspaceTemplate>,
) -> Result<ChangeProposal, WorkspaceError> {
    let mut proposal = ChangeProposal::default();
    for (path, text) in template
        .map(WorkspaceTemplate::template_files)
        .into_iter()
        .flatten()
    {
        let path = RelPath::new(path).map_err(|e| WorkspaceError::Refused(e.to_string()))?;
        if workspace.absolute_path(&path).symlink_metadata().is_err() {
            proposal.add(path, None, text.to_owned());
        }
    }
    propose_readme(workspace, &mut proposal)?;
    // The derived folder ignores itself once it exists; a committed rule shows
    // that to everyone.
    let own = format!("{DERIVED_FOLDER}/");
    let derived = IgnoreRule {
        rule: &own,
        probe: &own,
        own: Some(&own),
    };
    if let Some(it) = propose_ignore_rules(workspace, &[derived, private::PRIVATE_IGNORE_RULE])? {
        proposal.add(it.path, it.before, it.after);
    }
    Ok(proposal)
}

/// Proposes a new README, or an updated list. Leaves a README without a list
/// alone, since it was written by hand; `doctor` reports a malformed one.
fn propose_readme(
    workspace: &Workspace,
    proposal: &mut ChangeProposal,
) -> Result<(), WorkspaceError> {
    let new: Vec<(RelPath, String)> = proposal
        .files
        .iter()
        .map(|file| (file.path.clone(), file.after.clone()))
        .collect();
    let documents = || readme::list_documents(workspace, &new);
    match workspace.read_text_if_present(&readme::readme_path()) {
        Ok(None) => {
            let text = readme::refresh_list(None, &documents())?;
            proposal.add(readme::readme_path(), None, text);
        }
        Ok(Some(text)) if readme::has_list(&text) => {
            if let Ok(after) = readme::refresh_list(Some(&text), &documents()) {
                proposal.add(readme::readme_path(), Some(text), after);
            }
        }
        Ok(Some(_)) | Err(_) => {}
    }
    Ok(())
}

#[cfg(test)]
mod tests {
    use super::*;
    use testkit::TestWorkspace;

    fn paths(ws: &TestWorkspace) -> Vec<String> {
        let workspace = Workspace::open(ws.root()).unwrap();
        let proposal = propose_start(&workspace, None).unwrap();
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

    /// Seed 000: "`knowledge/README.md` acts as manual index": `init` fills it
    /// within its marks, and the rest of it stays.
    #[test]
    fn a_list_that_is_there_is_filled_and_the_rest_stays() {
        let ws = TestWorkspace::files("//- knowledge/a.md\n# A\n\nText.\n");
        paths(&ws);
        let mine = ws.read("knowledge/README.md") + "\nMine.\n";
        ws.write("knowledge/README.md", &mine);
        ws.write("knowledge/b.md", "# B\n\nMore.\n");
        assert_eq!(paths(&ws), ["knowledge/README.md"]);
        let line = "- [A](a.md) — Text.\n";
        let expect = mine.replace(line, &format!("{line}- [B](b.md) — More.\n"));
        assert_eq!(ws.read("knowledge/README.md"), expect);
        assert_eq!(paths(&ws), Vec::<String>::new());
    }

    #[test]
    fn a_template_never_replaces_what_is_there() {
        for template in WorkspaceTemplate::ALL {
            let ws = TestWorkspace::files("//- knowledge/architecture.md\nmine\n");
            let workspace = Workspace::open(ws.root()).unwrap();
            let now = "2026-03-01T09:00:00Z".parse().unwrap();
            let proposal = propose_start(&workspace, Some(template)).unwrap();
            proposal.apply(&workspace, "Prepare", now).unwrap();
            assert_eq!(ws.read("knowledge/architecture.md"), "mine\n");
            let readme = ws.read("knowledge/README.md");
            for (path, text) in template.template_files() {
                let document = crate::document::parse_document(text);
                assert!(
                    document.problems.is_empty() && document.title().is_some(),
                    "{path}"
                );
                assert!(ws.exists(path), "{path}");
                let target = path.strip_prefix("knowledge/").unwrap();
                assert!(readme.contains(&format!("]({target})")), "{path}: {readme}");
            }
            assert!(
                propose_start(&workspace, Some(template))
                    .unwrap()
                    .is_empty()
            );
        }
    }
}
