//! Adds a domain: a folder with its closets, and its rows in the manifest.

use super::resummarize::summarize_hub;
use super::{plan_hub, propose_edit};
use crate::links::{self, NoteVault};
use crate::routing::closets::build;
use crate::routing::manifest::{self, Manifest, ManifestMode, ManifestPart, NewManifestEntry};
use crate::workspace::{
    ChangeProposal, FileRole, ProposedMove, RelPath, ScannedFile, Workspace, WorkspaceError,
    slugify_name,
};

/// Names of folders in which nothing is found again.
const CATCH_ALL_NAMES: [&str; 20] = [
    "all",
    "anything",
    "etc",
    "everything",
    "general",
    "junk",
    "misc",
    "miscellaneous",
    "other",
    "others",
    "random",
    "sonstiges",
    "stuff",
    "temp",
    "things",
    "tmp",
    "uncategorised",
    "uncategorized",
    "unsorted",
    "various",
];
/// Folder names that have a meaning already.
const RESERVED_FOLDERS: [&str; 6] = [
    "archive",
    "knowledge",
    "memory",
    "scratch",
    "node_modules",
    "target",
];

/// A plan to add a domain.
#[derive(Debug)]
pub struct DomainPlan {
    /// The folder of the domain.
    pub folder: RelPath,
    /// The files that change.
    pub proposal: ChangeProposal,
    /// Domains with nearly the same name.
    pub similar: Vec<String>,
    /// Number of links that are rewritten because files move.
    pub links: usize,
    /// File and line of links that could not be rewritten.
    pub left_alone: Vec<(RelPath, usize)>,
    /// Whether the manifest lists the domain already.
    pub exists: bool,
}

/// Returns `true` if a folder of this name holds unsorted files.
pub fn is_catch_all(name: &str) -> bool {
    CATCH_ALL_NAMES.contains(&name.to_lowercase().as_str())
}

/// Plans to add a domain. A name with a slash states its parent folder.
pub fn plan_domain(
    workspace: &Workspace,
    name: &str,
    files: &[RelPath],
) -> Result<DomainPlan, WorkspaceError> {
    super::reject_secrets(name)?;
    let manifest = super::require_manifest(workspace)?;
    let given_parent = match name.trim_end_matches('/').rsplit_once('/') {
        Some((parent, _)) => Some(RelPath::new(parent)?),
        None => None,
    };
    let name = name
        .trim_end_matches('/')
        .rsplit('/')
        .next()
        .unwrap_or(name);
    // An existing folder keeps its name, whatever it is.
    let exact = RelPath::new(&match &given_parent {
        Some(parent) => format!("{parent}/{name}"),
        None => name.to_owned(),
    });
    let is_folder = |it: &RelPath| {
        let meta = workspace.absolute_path(it).symlink_metadata();
        meta.is_ok_and(|meta| meta.is_dir())
    };
    let exact = exact.ok().filter(is_folder);
    let slug = match &exact {
        Some(folder) => folder.file_name().to_owned(),
        None => slugify_name(name)?,
    };
    if is_catch_all(&slug) {
        return Err(WorkspaceError::Refused(format!(
            "`{slug}` is a catch-all name, and files in such a folder are hard to find again; \
             name the subject, or leave the file unsorted"
        )));
    }
    if RESERVED_FOLDERS.contains(&slug.as_str()) {
        let message = format!("`{slug}` has a meaning of its own; choose another name");
        return Err(WorkspaceError::Refused(message));
    }
    let domains = manifest.domains();
    let last = |domain: &String| domain.rsplit('/').next().unwrap_or(domain).to_owned();
    let there = match &exact {
        Some(folder) => domains.iter().find(|domain| *domain == folder.as_str()),
        None => domains.iter().find(|domain| last(domain) == slug),
    };
    let folder = match (there, exact) {
        (Some(folder), _) => RelPath::new(folder)?,
        (None, Some(folder)) => folder,
        (None, None) => match (given_parent, find_folder_with_notes(workspace, &slug)) {
            (Some(parent), _) => parent.join(&slug)?,
            (None, Some(folder)) => folder,
            (None, None) => find_common_parent(&domains)
                .map_or_else(|| RelPath::new(&slug), |it| it.join(&slug))?,
        },
    };
    let similar = domains
        .iter()
        .map(last)
        .filter(|it| is_similar_name(it, &slug));
    let mut plan = DomainPlan {
        similar: similar.collect(),
        exists: there.is_some(),
        proposal: ChangeProposal::default(),
        links: 0,
        left_alone: Vec::new(),
        folder,
    };
    let moves = plan_moves(&plan.folder, files)?;
    if !moves.is_empty() {
        let vault = NoteVault::read(workspace);
        let renaming = links::rename_files(workspace, &vault, moves)
            .map_err(|e| WorkspaceError::Refused(e.to_string()))?;
        plan.links = renaming.links;
        plan.left_alone = renaming.left_alone;
        plan.proposal = renaming.proposal;
    }
    register_domain(workspace, &manifest, name, &mut plan)?;
    Ok(plan)
}

/// Adds the page of the hub, then the rows of the manifest.
fn register_domain(
    workspace: &Workspace,
    manifest: &Manifest,
    name: &str,
    plan: &mut DomainPlan,
) -> Result<(), WorkspaceError> {
    let folder = &plan.folder;
    let title = name.trim();
    let shown = crate::document::escape_markdown_line(title);
    // A manifest without a marker knows no closets.
    let (target, page, text) = match manifest.mode() {
        ManifestMode::Full => (
            format!("{folder}/_CLOSETS"),
            folder.join("_CLOSETS.md")?,
            format!("# Closets: {shown}\n\n<!-- memex-closets:1.0 -->\n"),
        ),
        _ => {
            let stem = format!("{}-index", folder.file_name());
            let page = folder.join(&format!("{stem}.md"))?;
            let text = format!("# {shown}\n\n| File | Purpose | Status |\n|---|---|---|\n");
            (stem, page, text)
        }
    };
    let hub = manifest.hub_map();
    let listed = hub.iter().any(|(_, it)| *it == Some(folder));
    let mut summary = String::new();
    if !listed && workspace.absolute_path(&page).symlink_metadata().is_err() {
        plan.proposal.add(page, None, text);
    }
    // Existing notes are described at once: a domain with empty closets would
    // be the next finding.
    if !listed && manifest.mode() == ManifestMode::Full {
        // Notes that are there are described at once: a domain whose closets
        // are empty is the next finding.
        let mut domains = manifest.domains();
        domains.push(folder.to_string());
        let hub = plan_hub(workspace, &shown, folder, &domains, &plan.proposal.moves);
        let known = plan.proposal.clone();
        let mut read = |path: &RelPath| known.read_after(workspace, path);
        summary = summarize_hub(&hub, &mut read).unwrap_or_default();
        for (path, before, after) in build::preview_closets(workspace, &hub, &mut read)? {
            plan.proposal.files.retain(|it| it.path != path);
            plan.proposal.add(path, before, after);
        }
    }
    let path = manifest::manifest_path();
    // A move may have rewritten links in the manifest.
    let before = plan.proposal.files.iter().position(|it| it.path == path);
    let (disk, current) = match before.map(|at| plan.proposal.files.remove(at)) {
        Some(file) => (file.before, file.after),
        None => (Some(manifest.text().to_owned()), manifest.text().to_owned()),
    };
    if listed {
        plan.proposal.add(path, disk, current);
        return Ok(());
    }
    let now = Manifest::parse(current);
    let new = NewManifestEntry {
        name: title,
        target: &target,
        text: &summary,
        ..NewManifestEntry::default()
    };
    let edits = [
        now.add_domain(title, &target),
        now.list_entry(ManifestPart::HubMap, &new),
    ];
    let mut own = ChangeProposal::default();
    propose_edit(
        &mut own,
        &path,
        now.text(),
        now.text_after_edits(edits.into_iter().flatten().collect()),
    )?;
    let after = own.text_after(&path).unwrap_or(now.text()).to_owned();
    plan.proposal.add(path, disk, after);
    Ok(())
}

/// Returns how many documents below a folder a search looks at.
pub fn count_searched(workspace: &Workspace, folder: &RelPath) -> usize {
    let scan = workspace.scan();
    let inside =
        |it: &&ScannedFile| it.role == FileRole::Knowledge && it.path.starts_with(folder.as_str());
    scan.files.iter().filter(inside).count()
}

/// The one folder of this name that has notes already: they are what is meant.
fn find_folder_with_notes(workspace: &Workspace, slug: &str) -> Option<RelPath> {
    let mut folders: Vec<RelPath> = workspace
        .tree()
        .files
        .iter()
        .filter(|found| found.is_markdown())
        .filter_map(|found| found.path.parent())
        .filter(|folder| folder.file_name() == slug)
        .collect();
    folders.sort();
    folders.dedup();
    match folders.len() {
        1 => folders.pop(),
        _ => None,
    }
}

/// Returns the folder that contains most domains; `None` for the root.
fn find_common_parent(domains: &[String]) -> Option<RelPath> {
    let mut parents: Vec<(Option<RelPath>, usize)> = Vec::new();
    for domain in domains {
        let parent = RelPath::new(domain).ok().and_then(|it| it.parent());
        match parents.iter_mut().find(|(it, _)| *it == parent) {
            Some((_, count)) => *count += 1,
            None => parents.push((parent, 1)),
        }
    }
    let most = parents.iter().map(|(_, count)| *count).max()?;
    let first = parents.into_iter().find(|(_, count)| *count == most)?;
    first.0
}

/// Plans the moves of files into the folder.
fn plan_moves(folder: &RelPath, files: &[RelPath]) -> Result<Vec<ProposedMove>, WorkspaceError> {
    let mut moves = Vec::new();
    for from in files {
        let to = folder.join(from.file_name())?;
        if *from != to {
            let from = from.clone();
            moves.push(ProposedMove { from, to });
        }
    }
    Ok(moves)
}

/// Returns `true` if two names are easily confused.
fn is_similar_name(a: &str, b: &str) -> bool {
    let long = a.len().min(b.len()) >= 4;
    a != b
        && (long && strsim::levenshtein(a, b) <= 2
            || a.trim_end_matches('s') == b.trim_end_matches('s'))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn near_names() {
        assert!(is_similar_name("legal", "legals") && is_similar_name("people", "poeple"));
        assert!(
            !is_similar_name("legal", "legal")
                && !is_similar_name("hr", "it")
                && !is_similar_name("legal", "finance")
        );
    }

    #[test]
    fn new_domains_lie_beside_the_others() {
        let check = |domains: &[&str], expect: Option<&str>| {
            let domains: Vec<String> = domains.iter().map(|it| (*it).to_owned()).collect();
            let found = find_common_parent(&domains).map(|it| it.to_string());
            assert_eq!(found.as_deref(), expect, "{domains:?}");
        };
        check(&[], None);
        check(&["legal", "people"], None);
        check(&["working/legal", "people", "working/hr"], Some("working"));
    }
}
