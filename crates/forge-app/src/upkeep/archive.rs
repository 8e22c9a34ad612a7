//! Archives a file: the manifest lists it in Tier 3 with the reason, its hub
//! and its closets are marked, and the file itself is not moved.

use jiff::Timestamp;

use super::{LinkTargets, propose_edit};
use crate::document::{self, TextEdit, day_of_timestamp};
use crate::routing::hubs;
use crate::routing::layout::{self, StateFile};
use crate::routing::manifest::{self, Manifest, ManifestPart, NewManifestEntry};
use crate::workspace::{
    ChangeProposal, FileRole, RelPath, Workspace, WorkspaceError, role_with_domains,
};

/// Plans to archive a file. The proposal is empty if it is archived already.
pub fn plan_archive(
    workspace: &Workspace,
    file: &RelPath,
    reason: &str,
    now: Timestamp,
) -> Result<ChangeProposal, WorkspaceError> {
    super::reject_secrets(reason)?;
    let manifest = super::require_manifest(workspace)?;
    let places = LinkTargets::from_workspace(workspace);
    if !workspace.absolute_path(file).is_file() {
        let message = format!("There is no file `{file}`; name one that exists");
        return Err(WorkspaceError::Refused(message));
    }
    let path = manifest::manifest_path();
    let is = |target: &str, from: &RelPath| places.find_target(target, from.as_str()) == Some(file);
    let state = |which| layout::resolve_state_file(workspace, Some(&manifest), which) == *file;
    let listed = manifest
        .entries_of(ManifestPart::Tier1)
        .any(|entry| is(&entry.target, &path));
    if listed || StateFile::ALL.into_iter().any(state) {
        return Err(WorkspaceError::Refused(format!(
            "`{file}` is in Tier 1 and read at every start; take it out of `_MANIFEST.md` first"
        )));
    }
    if matches!(
        role_with_domains(file, &manifest.domains()),
        FileRole::Routing | FileRole::Autoload
    ) {
        let message = format!("`{file}` leads to other files; archive those instead");
        return Err(WorkspaceError::Refused(message));
    }
    let mut proposal = ChangeProposal::default();
    for hub in hubs::hubs_of_manifest(workspace, &manifest) {
        if let Some(page) = &hub.index
            && let Ok(text) = workspace.read_text(page)
        {
            let list = Manifest::parse_page(text);
            let rows = list.entries().iter().filter(|it| is(&it.target, page));
            let edits = rows.filter_map(|it| list.set_cell_under(it, "Status", "Archived"));
            propose_edit(
                &mut proposal,
                page,
                list.text(),
                list.text_after_edits(edits.collect()),
            )?;
        }
        for closets in [hub.closets_path(), hub.closets_archive_path()] {
            let Ok(text) = workspace.read_text(&closets) else {
                continue;
            };
            let edits = archive_status_edits(&text, |target| is(target, &closets));
            propose_edit(
                &mut proposal,
                &closets,
                &text,
                document::apply_edits(&text, edits),
            )?;
        }
    }
    let mut edits: Vec<TextEdit> = manifest
        .entries_of(ManifestPart::Tier2)
        .filter(|entry| is(&entry.target, &path))
        .filter_map(|entry| manifest.remove_entry(entry))
        .collect();
    let archived = |entry: &manifest::ManifestEntry| is(&entry.target, &path);
    if !manifest.entries_of(ManifestPart::Tier3).any(archived) {
        let new = NewManifestEntry {
            name: "",
            target: &places.link_name(file),
            text: reason,
            note: &day_of_timestamp(now).to_string(),
        };
        edits.extend(manifest.list_entry(ManifestPart::Tier3, &new));
    }
    propose_edit(
        &mut proposal,
        &path,
        manifest.text(),
        manifest.text_after_edits(edits),
    )?;
    Ok(proposal)
}

/// Returns the edits that set `status: archived` in the selected closet
/// entries.
fn archive_status_edits(text: &str, is: impl Fn(&str) -> bool) -> Vec<TextEdit> {
    let document = document::parse_document(text);
    let mut edits = Vec::new();
    for section in document.sections.iter().filter(|it| it.level == 2) {
        let links = document.links.iter();
        let mut heading = links.filter(|link| section.heading.contains(&link.span.start));
        if !heading.next().is_some_and(|link| is(&link.target)) {
            continue;
        }
        let own = document.span_text(&section.own);
        let mut at = section.own.start;
        let mut last = section.own.start;
        let mut found = false;
        for line in own.split_inclusive('\n') {
            let content = line.trim_end();
            let bare = content.trim_start().trim_start_matches(['-', '*', ' ']);
            if let Some(value) = bare.strip_prefix("status:") {
                let end = at + content.len();
                let value = value.trim_start();
                let span = end - value.len()..end;
                if value != "archived" {
                    let gap = if value.is_empty() && content.ends_with(':') {
                        " "
                    } else {
                        ""
                    };
                    let text = format!("{gap}archived");
                    edits.push(TextEdit { span, text });
                }
                found = true;
                break;
            }
            // Fields come before the other lines of an entry, so a new one goes
            // below the last field.
            if bare.split_once(':').is_some() && !content.trim().starts_with("<!--") {
                last = at + line.len();
            }
            at += line.len();
        }
        if !found {
            let newline = document.newline();
            let open = if document.text[..last].ends_with('\n') {
                ""
            } else {
                newline
            };
            edits.push(TextEdit {
                span: last..last,
                text: format!("{open}- status: archived{newline}"),
            });
        }
    }
    edits
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_status_of_one_entry_changes() {
        let text = "# Closets: x\r\n\r\n## [[a]]\r\n- subjects: one\r\n- status: active\r\n\r\n## [[b]]\r\n- subjects: two\r\n\r\n## [[c]]\r\nstatus: active\r\n";
        let set = |name: &'static str| {
            document::apply_edits(text, archive_status_edits(text, |target| target == name))
                .unwrap()
        };
        assert_eq!(
            set("a"),
            text.replace("- status: active", "- status: archived")
        );
        assert_eq!(
            set("b"),
            text.replace(
                "subjects: two\r\n",
                "subjects: two\r\n- status: archived\r\n"
            )
        );
        // Without bullets, as an older document shows them.
        assert_eq!(
            set("c"),
            text.replace("\r\nstatus: active", "\r\nstatus: archived")
        );
        assert_eq!(set("d"), text);
    }
}
