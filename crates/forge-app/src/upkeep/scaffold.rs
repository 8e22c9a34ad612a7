//! Creates a workspace with a manifest: the files that every session reads,
//! with the subject of the work, and the manifest after them. Existing files
//! are kept.

use jiff::Timestamp;

use crate::document::{day_of_timestamp, escape_markdown_line};
use crate::routing::layout::{self, StateFile};
use crate::routing::manifest::{
    self, MANIFEST_FORMAT_VERSION, Manifest, ManifestMode, SUMMARY_FORMAT_VERSION, format_wikilink,
};
use crate::workspace::{ChangeProposal, ProposedMove, Workspace, WorkspaceError};

/// Plans the files that a workspace lacks. `about` answers "What are you
/// working on?". A manifest without a marker gets one; a managed one is left
/// alone.
pub fn plan_scaffold(
    workspace: &Workspace,
    about: &str,
    now: Timestamp,
) -> Result<ChangeProposal, WorkspaceError> {
    plan_scaffold_after_moves(workspace, about, now, &[])
}

/// Plans as [`plan_scaffold`] does, for a workspace in which these files have moved.
pub(super) fn plan_scaffold_after_moves(
    workspace: &Workspace,
    about: &str,
    now: Timestamp,
    moves: &[ProposedMove],
) -> Result<ChangeProposal, WorkspaceError> {
    super::reject_secrets(about)?;
    let manifest = Manifest::load(workspace)?;
    let mut proposal = ChangeProposal::default();
    let mut rows = String::new();
    for file in StateFile::ALL {
        let path = layout::resolve_state_file(workspace, manifest.as_ref(), file);
        let moved = moves.iter().find(|it| it.from == path);
        let path = moved.map_or(path, |it| it.to.clone());
        // A file that moves there must not be replaced by an empty one.
        let arrives = moves.iter().any(|it| it.to == path);
        let target = path.as_str().trim_end_matches(".md");
        let (summary, volatility) = describe_state_file(file);
        rows += &format!(
            "| {} | {summary} | {volatility} |\n",
            format_wikilink(target)
        );
        if !arrives && workspace.absolute_path(&path).symlink_metadata().is_err() {
            proposal.add(
                path,
                None,
                state_file_text(
                    file,
                    &escape_markdown_line(about),
                    &day_of_timestamp(now).to_string(),
                ),
            );
        }
    }
    let path = manifest::manifest_path();
    match manifest {
        Some(manifest) if manifest.mode() == ManifestMode::Absent => {
            return Err(WorkspaceError::Refused(format!(
                "`{path}` exists and is not a manifest; move it away first"
            )));
        }
        Some(manifest) => {
            let edits = manifest
                .set_version()
                .filter(|_| manifest.mode() == ManifestMode::Compatible);
            super::propose_edit(
                &mut proposal,
                &path,
                manifest.text(),
                manifest.text_after_edits(edits.into_iter().collect()),
            )?;
        }
        None => proposal.add(path, None, render_manifest(&rows)),
    }
    Ok(proposal)
}

/// Renders a new manifest with these rows in Tier 1.
fn render_manifest(rows: &str) -> String {
    format!(
        "# Context Routing\n\
         <!-- memex-managed:{MANIFEST_FORMAT_VERSION} -->\n\
         <!-- summary-format-version:{SUMMARY_FORMAT_VERSION} -->\n\
         > What is where. Read Tier 1 at every start, the closets of a domain when the task touches it.\n\
         > A link is a pointer: open the file behind it only when the task needs it.\n\n\
         ## Tier 1 - Always Load\n\n\
         | File | Summary | Volatility |\n|---|---|---|\n{rows}\n\
         ## Tier 2 - By Domain\n\n\
         ## Tier 3 - Archive\n\n\
         | File | Reason | Date |\n|---|---|---|\n\n\
         ## Hub Map\n\n\
         | Domain | Hub | Summary |\n|---|---|---|\n"
    )
}

/// Returns the summary and the volatility of a state file.
fn describe_state_file(file: StateFile) -> (&'static str, &'static str) {
    match file {
        StateFile::Status => (
            "Phase, focus, work in progress, blockers, next steps",
            "VOLATILE",
        ),
        StateFile::SessionLog => ("What each session did, newest first", "VOLATILE"),
        StateFile::Decisions => ("Dated decisions, one a line", "VOLATILE"),
        StateFile::Glossary => ("Words and names of this work", "STABLE"),
        StateFile::Ideas => ("Inbox of ideas that have no place yet", "VOLATILE"),
    }
}

/// Returns the text of a new state file.
fn state_file_text(file: StateFile, about: &str, day: &str) -> String {
    match file {
        StateFile::Status => format!(
            "# Status\n\nLast updated: {day}\n\n**Phase:** Starting\n\n## Active Focus\n\n- {about}\n\n\
             ## In Progress\n\n## Blocked\n\n## Next Priorities\n\n1. {about}\n"
        ),
        StateFile::SessionLog => format!(
            "# Session Log\n\n---\n\n## {day} - Workspace started\n\n- Started to work on: {about}\n\n---\n"
        ),
        StateFile::Decisions => {
            "# Decisions\n\nOne line each, oldest first; what no longer holds is struck through.\n"
                .to_owned()
        }
        StateFile::Glossary => "# Glossary\n\n| Term | Meaning |\n|---|---|\n".to_owned(),
        StateFile::Ideas => "---\ntags: [inbox]\n---\n\n# Ideas\n".to_owned(),
    }
}
