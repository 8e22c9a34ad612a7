//! Documents that a repository has and no search finds: what to say of them,
//! and the settings that include them.

use crate::translations::PageFamilies;
use crate::workspace::{
    CONFIG_FILE, ChangeProposal, FileRole, LeftOutCounts, RelPath, Workspace, WorkspaceError,
    with_included,
};

pub use crate::workspace::KnowledgeConfig;

pub use crate::knowledge::candidates::{
    CandidateGroup, DocumentCandidates, TranslationChoice, find_candidates, find_candidates_with,
};

/// What the journal calls a preparation by `init`.
pub const PREPARATION_TITLE: &str = "Prepare the workspace";

/// Adds globs to the settings, which else stay as they are.
pub fn propose_inclusion(
    workspace: &Workspace,
    more: &KnowledgeConfig,
    proposal: &mut ChangeProposal,
) -> Result<(), WorkspaceError> {
    if more.include.is_empty() {
        return Ok(());
    }
    let path = RelPath::new(CONFIG_FILE)?;
    let before = workspace.read_text_if_present(&path)?;
    let after = with_included(before.as_deref(), more)
        .map_err(|why| WorkspaceError::Refused(format!("`{path}` {why}; nothing was included")))?;
    proposal.add(path, before, after);
    Ok(())
}

/// Returns a glob that names no document, and so was meant otherwise.
pub fn glob_without_document<'a>(
    workspace: &Workspace,
    config: &'a KnowledgeConfig,
) -> Option<&'a str> {
    let names_one = |glob: &&String| {
        let only = KnowledgeConfig {
            include: vec![(*glob).clone()],
            exclude: config.exclude.clone(),
        };
        let scan = workspace.scan_including(&only);
        let is_by_glob = |path: &RelPath| !path.starts_with("knowledge");
        let mut files = scan.files.iter();
        files.any(|it| it.role == FileRole::Knowledge && is_by_glob(&it.path))
    };
    config
        .include
        .iter()
        .find(|glob| !names_one(glob))
        .map(String::as_str)
}

/// Returns how many of the documents that are searched are there in another
/// language as well.
pub fn count_translations(workspace: &Workspace) -> usize {
    let scan = workspace.scan();
    let searched = scan
        .files
        .iter()
        .filter(|it| it.role == FileRole::Knowledge);
    let paths: Vec<&str> = searched.map(|it| it.path.as_str()).collect();
    PageFamilies::of_paths(&paths).translations()
}

/// Says which documents are not searched, and the command that includes them.
/// None where there are none.
pub fn documents_outside(workspace: &Workspace) -> Option<String> {
    let found = find_candidates(workspace);
    let files = found.files();
    (files > 0).then(|| {
        let (documents, are) = match files {
            1 => ("document", "is"),
            _ => ("documents", "are"),
        };
        format!(
            "{files} {documents} in {} {are} not searched; `memory-forge init --yes` includes them",
            found.places()
        )
    })
}

/// Says what of included folders was left out unasked. None where nothing was.
pub fn left_out_line(left_out: &LeftOutCounts) -> Option<String> {
    let said = left_out_parts(left_out);
    (!said.is_empty()).then(|| format!("Left out: {}", said.join(", ")))
}

/// What was left out, each kind with its number.
pub fn left_out_parts(left_out: &LeftOutCounts) -> Vec<String> {
    let parts = [
        (left_out.hidden_folders, "hidden folder"),
        (left_out.vendored_folders, "folder of others' code"),
        (left_out.ignored, "path that git ignores"),
        (left_out.links, "link to a folder"),
    ];
    let plural = |what: &str| match what.split_once(' ') {
        Some(("hidden", _)) => "hidden folders".to_owned(),
        Some((first, rest)) => format!("{first}s {rest}"),
        None => format!("{what}s"),
    };
    parts
        .iter()
        .filter(|(count, _)| *count > 0)
        .map(|(count, what)| match count {
            1 => format!("1 {what}"),
            count => format!("{count} {}", plural(what)),
        })
        .collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_is_left_out_is_counted_in_words() {
        let none = LeftOutCounts::default();
        assert_eq!(left_out_line(&none), None);
        let some = LeftOutCounts {
            hidden_folders: 2,
            vendored_folders: 3,
            ignored: 1,
            links: 2,
        };
        assert_eq!(
            left_out_line(&some).as_deref(),
            Some(
                "Left out: 2 hidden folders, 3 folders of others' code, 1 path that git ignores, 2 links to a folder"
            )
        );
    }
}
