//! Keeps closets in step with the files of a hub: new and changed files are
//! read again, the others keep their entries byte for byte; recent files stay
//! in `_CLOSETS.md`, the others move to its archive.

use std::collections::HashMap;
use std::time::UNIX_EPOCH;

use jiff::Timestamp;
use jiff::civil::Date;

use super::file::{ClosetBlock, ClosetFile, EntryStamp, source_hash};
use super::merge::merge_refined;
use super::{
    ClosetEntry, ClosetField, EntryContext, MANY_ARCHIVED_ENTRIES, MAX_PRIMARY_ENTRIES,
    MAX_RECENT_ENTRIES, extract_entry,
};
use crate::document::{self, Document, day_of_timestamp, document_date};
use crate::retractions::Corrections;
use crate::routing::archives::{ArchiveRow, list_archive};
use crate::routing::hubs::{self, Hub};
use crate::routing::manifest::{Manifest, ManifestPart};
use crate::workspace::{
    FileRole, RelPath, Workspace, WorkspaceChange, WorkspaceError, role_by_path,
};

/// Result of a build, or of its dry run.
#[derive(Debug, Clone, Default)]
pub struct ClosetBuildReport {
    /// Number of documents that could be read.
    pub files: usize,
    /// Number of entries that were made again.
    pub refreshed: usize,
    /// Number of entries that were kept as they are.
    pub skipped: usize,
    /// Number of removed entries, whose file is gone and which were not refined
    /// by hand.
    pub removed: usize,
    /// Number of entries that came back from the archive.
    pub promoted: usize,
    /// Number of entries that went to the archive, new ones included.
    pub demoted: usize,
    /// Number of entries in the archive afterwards.
    pub archived: usize,
    /// Remarks for a person.
    pub remarks: Vec<String>,
    /// Files that change, with their text before and after.
    pub changes: Vec<(RelPath, String, String)>,
}

/// Options of a build.
#[derive(Debug, Clone, Copy)]
pub struct ClosetBuildOptions {
    /// Reads every file again, including unchanged ones.
    pub force: bool,
    /// Reports the changes without writing them.
    pub dry_run: bool,
}

/// Returns the link to a hub's archive for the manifest's Tier 3: the file's
/// own path, so that the link resolves (W-1).
pub fn archive_link(hub: &Hub) -> String {
    link_to_path(&hub.closets_archive_path())
}

fn link_to_path(path: &RelPath) -> String {
    link_target(path.as_str()).to_owned()
}

fn link_target(path: &str) -> &str {
    path.strip_suffix(".md").unwrap_or(path)
}

/// A document of a hub.
#[derive(Debug, Clone)]
struct HubMember {
    path: RelPath,
    name: String,
    hash: String,
    mtime_ns: i64,
    date: Option<Date>,
    /// A new entry; none if the current one is still valid.
    fresh: Option<ClosetEntry>,
}

/// Lists the hubs that have closets: those of the manifest and `memory/`, or
/// `knowledge/` if there is no manifest.
pub fn closet_hubs(workspace: &Workspace) -> Result<Vec<Hub>, WorkspaceError> {
    let known = hubs::load_hubs(workspace)?;
    let folder = RelPath::new("knowledge")?;
    if !known.is_empty() || !workspace.absolute_path(&folder).is_dir() {
        return Ok(known);
    }
    let members: Vec<RelPath> = workspace
        .scan()
        .files
        .into_iter()
        .filter(|found| found.role == FileRole::Knowledge && found.path.starts_with("knowledge"))
        .map(|found| found.path)
        .collect();
    if members.is_empty() {
        return Ok(known);
    }
    Ok(vec![Hub {
        name: "knowledge".to_owned(),
        folder,
        index: None,
        members,
    }])
}

/// Lists the archives of these hubs in the manifest's Tier 3, if there is a
/// manifest, and returns how many rows are new. Looks at files rather than at
/// this run's results, so that the next run lists an archive that an
/// interrupted one left unlisted.
pub fn list_archives(
    workspace: &Workspace,
    change: &mut WorkspaceChange<'_>,
    hubs: &[&Hub],
    now: Timestamp,
) -> Result<usize, WorkspaceError> {
    // Check before reading: without a row to add, nothing is read that another
    // writer could have changed.
    let Some(manifest) = Manifest::read(workspace) else {
        return Ok(0);
    };
    let mut listed = 0;
    for hub in hubs {
        let archive = hub.closets_archive_path();
        if is_listed(&manifest, hub) || change.read(&archive)?.is_none() {
            continue;
        }
        let row = ArchiveRow {
            target: &archive_link(hub),
            about: &format!("Older closet entries of {}", hub.name),
        };
        listed += usize::from(list_archive(change, &row, now, |it| is_listed(it, hub))?);
    }
    Ok(listed)
}

/// Returns `true` if Tier 3 lists the archive of a hub. A row in another tool's
/// spelling counts, although its link does not resolve.
fn is_listed(manifest: &Manifest, hub: &Hub) -> bool {
    let link = archive_link(hub);
    let old = format!("{}-CLOSETS-archive", hub.folder.file_name());
    let mut entries = manifest.entries_of(ManifestPart::Tier3);
    entries.any(|it| it.target == old || link_target(&it.target) == link)
}

/// Pairs of entries and documents of a hub.
pub(super) struct HubMatches {
    /// One match per entry, in the order of the files.
    pub(super) of_entries: Vec<EntryMatch>,
    /// Documents without an entry.
    pub(super) missing: Vec<RelPath>,
    pub(super) unreadable: Vec<(RelPath, String)>,
}

/// The document that an entry describes, if any.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum EntryMatch {
    /// A document in its current version.
    Current,
    /// A document in an earlier version.
    Stale,
    /// A document that another entry describes already.
    Twice,
    /// The entry has no document.
    Nothing,
}

pub(super) fn match_entries<'a>(
    workspace: &Workspace,
    hub: &Hub,
    files: impl Iterator<Item = &'a ClosetFile>,
) -> HubMatches {
    let mut members = Vec::new();
    let mut unreadable = Vec::new();
    for (path, name) in hub.members.iter().zip(entry_names(hub)) {
        // Only the hash is computed here, so that a check stays fast.
        let hash = match workspace.read_text(path) {
            Ok(text) => source_hash(&text),
            Err(error) => {
                unreadable.push((path.clone(), error.reason()));
                String::new()
            }
        };
        members.push(HubMember {
            path: path.clone(),
            name,
            hash,
            mtime_ns: 0,
            date: None,
            fresh: None,
        });
    }
    let by_stem = index_by_stem(&members);
    let mut taken = vec![false; members.len()];
    let mut of_entries = Vec::new();
    for block in files.flat_map(ClosetFile::entries) {
        of_entries.push(match find_member(block, &members, &by_stem) {
            None => EntryMatch::Nothing,
            Some(at) if std::mem::replace(&mut taken[at], true) => EntryMatch::Twice,
            Some(at) => {
                let member = &members[at];
                let source = block.stamp.as_ref().map(|stamp| &stamp.source);
                if source == Some(&member.hash) || member.hash.is_empty() {
                    EntryMatch::Current
                } else {
                    EntryMatch::Stale
                }
            }
        });
    }
    let missing = members
        .iter()
        .zip(&taken)
        .filter(|(member, taken)| !**taken && !member.hash.is_empty())
        .map(|(member, _)| member.path.clone())
        .collect();
    HubMatches {
        of_entries,
        missing,
        unreadable,
    }
}

/// Brings the closets of one hub up to date.
pub fn build_closets(
    workspace: &Workspace,
    hub: &Hub,
    build: ClosetBuildOptions,
    now: Timestamp,
) -> Result<ClosetBuildReport, WorkspaceError> {
    let survey = HubSurvey::read(workspace, hub, build.force)?;
    if build.dry_run {
        return survey.preview_build(workspace);
    }
    let what = format!("closets of {}", hub.name);
    let (report, _) =
        workspace.change_with(&what, now, |change| survey.write_closets(workspace, change))?;
    Ok(report)
}

/// A hub as it is before the lock is taken: its documents, and new entries for
/// those that changed. Reading them is the slow part, so it happens outside the
/// lock.
pub struct HubSurvey<'h> {
    hub: &'h Hub,
    members: Vec<HubMember>,
    /// Documents that could not be read, and why.
    problems: Vec<String>,
    corrections: Corrections,
    force: bool,
}

impl<'h> HubSurvey<'h> {
    /// Reads the documents of a hub. With `force`, every document gets a new
    /// entry.
    pub fn read(
        workspace: &Workspace,
        hub: &'h Hub,
        force: bool,
    ) -> Result<HubSurvey<'h>, WorkspaceError> {
        let primary = workspace.read_text_if_present(&hub.closets_path())?;
        let archive = workspace.read_text_if_present(&hub.closets_archive_path())?;
        let (members, problems) = survey_members(workspace, hub, &primary, &archive, force);
        Ok(HubSurvey {
            hub,
            members,
            problems,
            corrections: Corrections::read(workspace)?,
            force,
        })
    }

    /// Computes what a build would do, and writes nothing.
    pub fn preview_build(self, workspace: &Workspace) -> Result<ClosetBuildReport, WorkspaceError> {
        let primary = workspace.read_text_if_present(&self.hub.closets_path())?;
        let archive = workspace.read_text_if_present(&self.hub.closets_archive_path())?;
        self.weave_closets(workspace, primary, archive)
    }

    /// Writes the closets as part of a change. Reads them again under its lock,
    /// so that no entry that was edited in the meantime is lost. After an
    /// error, nothing of this hub is staged.
    pub fn write_closets(
        self,
        workspace: &Workspace,
        change: &mut WorkspaceChange<'_>,
    ) -> Result<ClosetBuildReport, WorkspaceError> {
        let primary = change.read_text(&self.hub.closets_path())?;
        let archive = change.read_text(&self.hub.closets_archive_path())?;
        let report = self.weave_closets(workspace, primary, archive)?;
        for (path, _, text) in &report.changes {
            change.write(path, text.clone());
        }
        Ok(report)
    }

    fn weave_closets(
        mut self,
        workspace: &Workspace,
        primary: Option<String>,
        archive: Option<String>,
    ) -> Result<ClosetBuildReport, WorkspaceError> {
        let mut report = ClosetBuildReport::default();
        weave_hub(
            workspace,
            self.hub,
            &self.corrections,
            &mut self.members,
            primary,
            archive,
            self.force,
            &mut report,
        )?;
        report.remarks.splice(0..0, self.problems);
        Ok(report)
    }
}

/// Computes the closets of a hub from texts that may not be on disk yet, and
/// returns path, text before and text after. Writes nothing.
pub fn preview_closets(
    workspace: &Workspace,
    hub: &Hub,
    read: &mut dyn FnMut(&RelPath) -> Option<String>,
) -> Result<Vec<(RelPath, Option<String>, String)>, WorkspaceError> {
    let corrections = Corrections::read(workspace)?;
    let mut members = Vec::new();
    for (path, name) in hub.members.iter().zip(entry_names(hub)) {
        let Some(text) = read(path) else { continue };
        let hash = source_hash(&text);
        let document = document::parse_document(text);
        members.push(HubMember {
            date: document_date(&document, path.stem()),
            fresh: Some(extract_fresh_entry(path, &name, &document)),
            mtime_ns: modified_nanoseconds(workspace, path),
            path: path.clone(),
            name,
            hash,
        });
    }
    let primary = workspace.read_text_if_present(&hub.closets_path())?;
    let archive = workspace.read_text_if_present(&hub.closets_archive_path())?;
    let there = [primary.is_some(), archive.is_some()];
    let mut report = ClosetBuildReport::default();
    weave_hub(
        workspace,
        hub,
        &corrections,
        &mut members,
        primary,
        archive,
        false,
        &mut report,
    )?;
    let changes = report.changes.into_iter().map(|(path, before, after)| {
        let was_there = there[usize::from(path != hub.closets_path())];
        (path, was_there.then_some(before), after)
    });
    Ok(changes.collect())
}

/// Reads the members, and extracts entries for those that differ from their
/// stamp.
fn survey_members(
    workspace: &Workspace,
    hub: &Hub,
    primary: &Option<String>,
    archive: &Option<String>,
    force: bool,
) -> (Vec<HubMember>, Vec<String>) {
    let files: Vec<ClosetFile> = [primary, archive]
        .into_iter()
        .flatten()
        .map(|text| ClosetFile::parse(text.clone()))
        .collect();
    let known: HashMap<(&str, &str), ()> = files
        .iter()
        .flat_map(ClosetFile::entries)
        .filter_map(|block| {
            Some((
                (
                    name_stem(&block.name),
                    block.stamp.as_ref()?.source.as_str(),
                ),
                (),
            ))
        })
        .collect();
    let names = entry_names(hub);
    let mut members = Vec::new();
    let mut problems = Vec::new();
    for (path, name) in hub.members.iter().zip(names) {
        let text = match workspace.read_text(path) {
            Ok(text) => text,
            Err(error) => {
                problems.push(format!("`{path}`: {}", error.reason()));
                continue;
            }
        };
        let hash = source_hash(&text);
        let current = !force && known.contains_key(&(path.stem(), hash.as_str()));
        let document = document::parse_document(text);
        members.push(HubMember {
            date: document_date(&document, path.stem()),
            fresh: (!current).then(|| extract_fresh_entry(path, &name, &document)),
            mtime_ns: modified_nanoseconds(workspace, path),
            path: path.clone(),
            name,
            hash,
        });
    }
    (members, problems)
}

fn extract_fresh_entry(path: &RelPath, name: &str, document: &Document) -> ClosetEntry {
    let context = EntryContext {
        name,
        archived: role_by_path(path) == FileRole::Archive,
    };
    extract_entry(document, &context)
}

fn modified_nanoseconds(workspace: &Workspace, path: &RelPath) -> i64 {
    let modified =
        std::fs::metadata(workspace.absolute_path(path)).and_then(|meta| meta.modified());
    modified
        .ok()
        .and_then(|time| time.duration_since(UNIX_EPOCH).ok())
        .map_or(0, |since| since.as_nanos() as i64)
}

/// Returns the names of entries: the stem, with as many parent folders as
/// needed to be unique.
pub fn entry_names(hub: &Hub) -> Vec<String> {
    unique_names(&hub.members)
}

pub(super) fn unique_names(members: &[RelPath]) -> Vec<String> {
    let mut count: HashMap<String, usize> = HashMap::new();
    let tail = |path: &RelPath, parts: usize| -> String {
        let link = link_to_path(path);
        let all: Vec<&str> = link.split('/').collect();
        all[all.len().saturating_sub(parts)..].join("/")
    };
    for path in members {
        let depth = path.components().count();
        for parts in 1..=depth {
            *count.entry(tail(path, parts).to_lowercase()).or_default() += 1;
        }
    }
    members
        .iter()
        .map(|path| {
            let depth = path.components().count();
            (1..=depth)
                .map(|parts| tail(path, parts))
                .find(|name| count[&name.to_lowercase()] == 1)
                .unwrap_or_else(|| tail(path, depth))
        })
        .map(|name| name.replace(['[', ']', '|', '#', '^'], "-"))
        .collect()
}

fn name_stem(name: &str) -> &str {
    name.rsplit('/').next().unwrap_or(name)
}

fn index_by_stem(members: &[HubMember]) -> HashMap<String, Vec<usize>> {
    let mut by_stem: HashMap<String, Vec<usize>> = HashMap::new();
    for (at, member) in members.iter().enumerate() {
        for name in [name_stem(&member.name), member.path.stem()] {
            let same = by_stem.entry(name.to_lowercase()).or_default();
            if !same.contains(&at) {
                same.push(at);
            }
        }
    }
    by_stem
}

/// Finds the member that an entry describes.
fn find_member(
    block: &ClosetBlock,
    members: &[HubMember],
    by_stem: &HashMap<String, Vec<usize>>,
) -> Option<usize> {
    let name = block.name.to_lowercase();
    let same: Vec<usize> = by_stem
        .get(name_stem(&name))?
        .iter()
        .copied()
        .filter(|at| {
            let path = link_to_path(&members[*at].path).to_lowercase();
            let own = members[*at].name.to_lowercase();
            own == name || path == name || path.ends_with(&format!("/{name}"))
        })
        .collect();
    let by_hash = same.iter().copied().find(|at| {
        block
            .stamp
            .as_ref()
            .is_some_and(|stamp| stamp.source == members[*at].hash)
    });
    by_hash.or(same.first().copied())
}

/// Computes new texts of both files, from the members and the current texts.
#[expect(clippy::too_many_arguments, reason = "both files, before and after")]
fn weave_hub(
    workspace: &Workspace,
    hub: &Hub,
    corrections: &Corrections,
    members: &mut [HubMember],
    primary_text: Option<String>,
    archive_text: Option<String>,
    force: bool,
    report: &mut ClosetBuildReport,
) -> Result<(), WorkspaceError> {
    let mut primary = match &primary_text {
        Some(text) => ClosetFile::parse(text.clone()),
        None => ClosetFile::new(&format!("Closets: {}", hub.name), hub.is_memory_hub()),
    };
    let archive_known = archive_text
        .as_ref()
        .map(|text| ClosetFile::parse(text.clone()));
    let mut archive = archive_known
        .unwrap_or_else(|| ClosetFile::new(&format!("Closets archive: {}", hub.name), true));
    let by_stem = index_by_stem(members);
    // The block of each member with the file that it is in, and the member of
    // each block in the order of the files.
    let mut blocks: Vec<Option<(bool, ClosetBlock)>> = vec![None; members.len()];
    let mut assigned: [Vec<Option<usize>>; 2] = Default::default();
    for (file, list) in [&primary, &archive].into_iter().zip(&mut assigned) {
        let in_primary = std::ptr::eq(file, &primary);
        for block in file.entries() {
            let at = find_member(block, members, &by_stem).filter(|at| blocks[*at].is_none());
            match at {
                Some(at) => blocks[at] = Some((in_primary, block.clone())),
                None if block.is_refined() => report.remarks.push(format!(
                    "`{}` line {}: [[{}]] describes a file that is not there; the entry was \
                     edited by hand and is kept",
                    if in_primary {
                        hub.closets_path()
                    } else {
                        hub.closets_archive_path()
                    },
                    block.line,
                    block.name
                )),
                None => report.removed += 1,
            }
            list.push(at);
        }
    }
    report.files = members.len();
    let mut done: Vec<ClosetBlock> = Vec::with_capacity(members.len());
    for (member, known) in members.iter_mut().zip(&blocks) {
        let current = known.as_ref().is_some_and(|(_, block)| {
            block
                .stamp
                .as_ref()
                .is_some_and(|stamp| stamp.source == member.hash)
        });
        match known {
            Some((_, block))
                if current && !force && !has_corrected_fact(&block.entry, corrections) =>
            {
                report.skipped += 1;
                done.push(block.clone());
            }
            _ => {
                report.refreshed += 1;
                let newline = primary.newline();
                done.push(refresh_entry(
                    workspace,
                    member,
                    known.as_ref().map(|it| &it.1),
                    corrections,
                    newline,
                )?);
            }
        }
    }
    let keep = primary_members(members, hub);
    let mut order: Vec<usize> = (0..members.len()).collect();
    sort_by_age(&mut order, members);
    let was_in = |at: usize| blocks[at].as_ref().map(|it| it.0);
    let to_archive: Vec<usize> = order
        .iter()
        .copied()
        .filter(|at| !keep[*at] && was_in(*at) != Some(false))
        .collect();
    // New entries are in the order of their paths, promoted ones too.
    let to_primary: Vec<usize> = (0..members.len())
        .filter(|at| keep[*at] && was_in(*at) != Some(true))
        .collect();
    report.promoted = to_primary
        .iter()
        .filter(|at| was_in(**at).is_some())
        .count();
    report.demoted = to_archive.len();
    let [of_primary, of_archive] = assigned;
    let stays = |block: ClosetBlock, at: Option<usize>, here: bool| match at {
        Some(at) => (keep[at] == here).then(|| done[at].clone()),
        None => block.is_refined().then_some(block),
    };
    let moved = |list: &[usize]| list.iter().map(|at| done[*at].clone()).collect();
    let mut places = of_primary.into_iter();
    primary.arrange_entries(
        |block| stays(block, places.next().flatten(), true),
        Vec::new(),
        moved(&to_primary),
    );
    let mut places = of_archive.into_iter();
    archive.arrange_entries(
        |block| stays(block, places.next().flatten(), false),
        moved(&to_archive),
        Vec::new(),
    );

    report.archived = archive.entries().count();
    let paginated = report.archived > 0 || archive_text.is_some();
    primary.set_marker(paginated || hub.is_memory_hub());
    let recent: Vec<String> = archive
        .entries()
        .take(MAX_RECENT_ENTRIES)
        .map(|block| render_recent_line(block, members))
        .collect();
    primary.set_recent(&recent);
    if report.archived > MANY_ARCHIVED_ENTRIES {
        report.remarks.push(format!(
            "`{}` holds {} entries; a person decides which notes to merge, and \
             `memory-forge consolidate` names those that may be the same",
            hub.closets_archive_path(),
            report.archived
        ));
    }
    for (file, path) in [
        (&primary, hub.closets_path()),
        (&archive, hub.closets_archive_path()),
    ] {
        // An unclosed fence or comment would swallow the entries.
        if ClosetFile::parse(file.render()).entries().count() != file.entries().count() {
            return Err(WorkspaceError::Refused(format!(
                "`{path}` has a code fence or a comment that is never closed; close it and try again"
            )));
        }
    }
    let mut change = |path: RelPath, before: Option<String>, after: String| {
        if before.as_deref() != Some(after.as_str()) {
            report
                .changes
                .push((path, before.unwrap_or_default(), after));
        }
    };
    // An empty hub gets a file too; otherwise every check would report it as
    // missing.
    change(hub.closets_path(), primary_text, primary.render());
    if paginated {
        archive.set_marker(true);
        change(hub.closets_archive_path(), archive_text, archive.render());
    }
    Ok(())
}

/// Creates the entry of a new or changed file. Refinements by an agent are
/// merged with the new text (D14); the stamp records the extractor's result, so
/// that the refinement is recognized as one next time.
fn refresh_entry(
    workspace: &Workspace,
    member: &mut HubMember,
    known: Option<&ClosetBlock>,
    corrections: &Corrections,
    newline: &str,
) -> Result<ClosetBlock, WorkspaceError> {
    let mut document = None;
    let read = || -> Result<Document, WorkspaceError> {
        Ok(document::parse_document(workspace.read_text(&member.path)?))
    };
    let fresh = match member.fresh.take() {
        Some(fresh) => fresh,
        None => {
            let read = read()?;
            let entry = extract_fresh_entry(&member.path, &member.name, &read);
            document = Some(read);
            entry
        }
    };
    let fresh = drop_corrected_facts(fresh, corrections);
    let mut stamp = EntryStamp::new("", &fresh);
    stamp.source = member.hash.clone();
    Ok(match known {
        Some(block) if block.is_refined() => {
            let document = match document {
                Some(document) => document,
                None => read()?,
            };
            let merged = merge_refined(&block.entry, &fresh, &document, &member.name);
            let merged = drop_corrected_facts(merged, corrections);
            block.with_fields(&member.name, merged, stamp, newline)
        }
        Some(block) => block.with_fields(&member.name, fresh, stamp, newline),
        None => ClosetBlock::new(&member.name, fresh, stamp, newline),
    })
}

/// The fields that state facts.
const STATEMENT_FIELDS: [ClosetField; 2] = [ClosetField::Claims, ClosetField::Decisions];

/// Returns `true` if an entry repeats a corrected fact.
fn has_corrected_fact(entry: &ClosetEntry, corrections: &Corrections) -> bool {
    let mut said = STATEMENT_FIELDS
        .iter()
        .flat_map(|field| entry.values(*field));
    !corrections.is_empty() && said.any(|value| !corrections.check_text(value).is_empty())
}

/// Removes corrected facts from an entry: a person's correction overrides the
/// text.
fn drop_corrected_facts(mut entry: ClosetEntry, corrections: &Corrections) -> ClosetEntry {
    for field in STATEMENT_FIELDS {
        if let Some(values) = entry.values_mut(field) {
            values.retain(|value| corrections.check_text(value).is_empty());
        }
    }
    entry
}

/// Sorts newest first. A checkout gives all files nearly the same time, which
/// then means nothing: the documents' own dates decide, and then their paths.
fn sort_by_age(order: &mut [usize], members: &[HubMember]) {
    const ONE_CHECKOUT_NS: i64 = 600 * 1_000_000_000;
    let times = members.iter().map(|it| it.mtime_ns);
    let spread = times.clone().max().unwrap_or(0) - times.min().unwrap_or(0);
    let time = |at: usize| {
        if spread > ONE_CHECKOUT_NS {
            members[at].mtime_ns
        } else {
            0
        }
    };
    order.sort_by(|a, b| {
        time(*b)
            .cmp(&time(*a))
            .then_with(|| members[*b].date.cmp(&members[*a].date))
            .then_with(|| members[*a].path.cmp(&members[*b].path))
    });
}

/// Selects the members that stay in `_CLOSETS.md`. The hub of the state files
/// keeps all.
fn primary_members(members: &[HubMember], hub: &Hub) -> Vec<bool> {
    let mut order: Vec<usize> = (0..members.len()).collect();
    sort_by_age(&mut order, members);
    let most = if hub.is_memory_hub() {
        usize::MAX
    } else {
        MAX_PRIMARY_ENTRIES
    };
    let mut keep = vec![false; members.len()];
    order.into_iter().take(most).for_each(|at| keep[at] = true);
    keep
}

fn render_recent_line(block: &ClosetBlock, members: &[HubMember]) -> String {
    let subjects = block
        .entry
        .subjects
        .iter()
        .take(3)
        .cloned()
        .collect::<Vec<_>>()
        .join(", ");
    let member = members.iter().find(|it| it.name == block.name);
    let touched = member.and_then(|it| {
        let modified = Timestamp::from_nanosecond(i128::from(it.mtime_ns)).ok()?;
        Some(it.date.unwrap_or(day_of_timestamp(modified)))
    });
    let subjects = if subjects.is_empty() {
        block.entry.status.clone()
    } else {
        subjects
    };
    match touched {
        Some(day) => format!("- [[{}]] — {subjects}, last touched {day}", block.name),
        None => format!("- [[{}]] — {subjects}", block.name),
    }
}
