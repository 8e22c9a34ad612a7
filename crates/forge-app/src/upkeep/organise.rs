//! Plans a first order for unsorted notes: which folders become domains, what
//! moves where, what is stale, what contradicts itself, and which notes should
//! link to each other, as one plan that a person edits and applies.
//!
//! The plan is TOML: a name with any character is quoted exactly, a line is one
//! step and can be deleted, and an error is reported with its line. Only files
//! in the plan are moved, and all of it is one change.

use std::collections::BTreeMap;
use std::fmt::Write as _;

use jiff::Timestamp;
use serde::Deserialize;

use super::{plan_hub, scaffold};
use crate::document::{self, Document, TextEdit, day_of_timestamp, escape_markdown_line};
use crate::links::{self, NoteVault};
use crate::routing::closets::build;
use crate::routing::hubs::{self, Hub, hubs_of_manifest};
use crate::routing::manifest::{self, Manifest, ManifestMode, ManifestPart, NewManifestEntry};
use crate::workspace::{ChangeProposal, ProposedMove, RelPath, Workspace, WorkspaceError};

mod anchors;
mod look;
#[cfg(test)]
mod tests;

mod reference;

use anchors::{FixedPaths, is_common_word};

pub use look::{count_loose_notes, propose_order};

/// Default file name of a plan.
pub const PLAN_FILE: &str = "memory-forge-plan.toml";
const PLAN_VERSION: u32 = 1;
/// Words that every plan begins with.
const PLAN_OPENING: &str = "# What `memory-forge init --organise` proposes";

/// A plan. All its paths are those before anything moves.
#[derive(Debug, Clone, Default, PartialEq, Eq, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct OrganisePlan {
    /// The version of the plan's format.
    pub version: u32,
    /// The subject of the work, for the files of a new workspace.
    #[serde(default)]
    pub about: String,
    /// Folders that become domains.
    #[serde(default)]
    pub domains: Vec<PlannedDomain>,
    /// Files that move.
    #[serde(default)]
    pub moves: Vec<PlannedMove>,
    /// Notes that are archived.
    #[serde(default)]
    pub archive: Vec<StaleNote>,
    /// Links between notes of different domains.
    #[serde(default)]
    pub links: Vec<LateralLink>,
    /// Folders of unsorted files, which the moves empty.
    #[serde(default)]
    pub catch_alls: Vec<String>,
    /// Notes by the kind of reference that they are. Applying the plan skips
    /// them.
    #[serde(default)]
    pub references: Vec<ReferenceNote>,
    /// Conflicts for a person to resolve. Applying the plan skips them.
    #[serde(default)]
    pub conflicts: Vec<NoteConflict>,
    /// Files for which no domain was found.
    #[serde(default)]
    pub unsorted: Vec<String>,
}

/// A folder that becomes a domain.
#[derive(Debug, Clone, PartialEq, Eq, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct PlannedDomain {
    /// The folder, relative to the root.
    pub folder: String,
    /// The name of the domain.
    pub name: String,
    /// The subject of the domain, for the manifest.
    #[serde(default)]
    pub about: String,
}

/// A file that moves.
#[derive(Debug, Clone, PartialEq, Eq, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct PlannedMove {
    /// The path before.
    pub from: String,
    /// The path after.
    pub to: String,
    /// Why it moves.
    #[serde(default)]
    pub why: String,
}

/// A note that appears stale and is archived.
#[derive(Debug, Clone, PartialEq, Eq, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct StaleNote {
    /// The note.
    pub file: String,
    /// Why it appears stale.
    pub reason: String,
}

/// A note that people look things up in.
#[derive(Debug, Clone, PartialEq, Eq, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct ReferenceNote {
    /// The note.
    pub file: String,
    /// `glossary`, `contacts` or `quick reference`.
    pub kind: String,
}

/// A text in a note that names a note of another domain.
#[derive(Debug, Clone, PartialEq, Eq, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct LateralLink {
    /// The note that contains the text.
    pub file: String,
    /// The line of the text.
    pub line: usize,
    /// The text that becomes a link.
    pub text: String,
    /// The note that it names.
    pub to: String,
}

/// Notes that may contradict each other.
#[derive(Debug, Clone, PartialEq, Eq, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct NoteConflict {
    /// The notes, two or more.
    pub files: Vec<String>,
    /// What they seem to disagree about.
    pub why: String,
}

impl OrganisePlan {
    /// Returns `true` if the plan has no steps.
    pub fn is_empty(&self) -> bool {
        let steps = self.domains.len() + self.moves.len() + self.archive.len() + self.links.len();
        steps == 0
    }

    /// Parses a plan that a person may have edited.
    pub fn parse(text: &str, name: &str) -> Result<OrganisePlan, WorkspaceError> {
        let plan: OrganisePlan = toml::from_str(text).map_err(|e| {
            let message = e.to_string();
            WorkspaceError::Refused(format!(
                "`{name}` cannot be read as a plan: {}",
                message.trim()
            ))
        })?;
        match plan.version {
            PLAN_VERSION => Ok(plan),
            other => Err(WorkspaceError::Refused(format!(
                "`{name}` is a plan of version {other}; make a new one with `memory-forge init --organise`"
            ))),
        }
    }

    /// Renders the plan as a file, one step a line.
    pub fn render(&self, name: &str) -> String {
        let mut out = format!(
            "{PLAN_OPENING}. Nothing has been changed yet.\n\
             # Delete the lines that you do not want, correct the others, then run\n\
             #   memory-forge init --apply {}\n\
             # Paths are as they are now. All of it is one change, and\n\
             # `memory-forge doctor --undo` reverts it.\n\n\
             version = {}\nabout = {}\n",
            escape_markdown_line(name),
            self.version,
            quote_toml(&self.about)
        );
        let mut list = |title: &str, key: &str, lines: Vec<String>| {
            let _ = write!(out, "\n# {title}\n{key} = [\n");
            for line in lines {
                let _ = writeln!(out, "  {line},");
            }
            out.push_str("]\n");
        };
        let rows = self.domains.iter().map(|it| {
            let (folder, name, about) = (
                quote_toml(&it.folder),
                quote_toml(&it.name),
                quote_toml(&it.about),
            );
            format!("{{ folder = {folder}, name = {name}, about = {about} }}")
        });
        list(
            "Folders that become domains, with closets and a row in the manifest.",
            "domains",
            rows.collect(),
        );
        let rows = self.moves.iter().map(|it| {
            let (from, to, why) = (
                quote_toml(&it.from),
                quote_toml(&it.to),
                quote_toml(&it.why),
            );
            format!("{{ from = {from}, to = {to}, why = {why} }}")
        });
        list(
            "Files that move; links to them are rewritten.",
            "moves",
            rows.collect(),
        );
        let rows = self.archive.iter().map(|it| {
            format!(
                "{{ file = {}, reason = {} }}",
                quote_toml(&it.file),
                quote_toml(&it.reason)
            )
        });
        list(
            "Files that look stale and go to Tier 3. They stay where they are.",
            "archive",
            rows.collect(),
        );
        let rows = self.links.iter().map(|it| {
            let (file, text, to) = (
                quote_toml(&it.file),
                quote_toml(&it.text),
                quote_toml(&it.to),
            );
            format!(
                "{{ file = {file}, line = {}, text = {text}, to = {to} }}",
                it.line
            )
        });
        list(
            "Words that become links to notes of other domains. Exact names of files become\n# links in any case.",
            "links",
            rows.collect(),
        );
        let conflicts = self.conflicts.iter().map(|it| {
            let files: Vec<String> = it.files.iter().map(|it| quote_toml(it)).collect();
            format!(
                "{{ files = [{}], why = {} }}",
                files.join(", "),
                quote_toml(&it.why)
            )
        });
        let rows = self.catch_alls.iter().map(|it| quote_toml(it));
        list(
            "Catch-all folders, where files are hard to find again. The moves above dissolve them.",
            "catch_alls",
            rows.collect(),
        );
        let rows = self.references.iter().map(|it| {
            let (file, kind) = (quote_toml(&it.file), quote_toml(&it.kind));
            format!("{{ file = {file}, kind = {kind} }}")
        });
        list(
            "Reference notes, by their contents; they stay.",
            "references",
            rows.collect(),
        );
        list(
            "For you to decide which one holds; nothing is done about these.",
            "conflicts",
            conflicts.collect(),
        );
        let rows = self.unsorted.iter().map(|it| quote_toml(it));
        list(
            "Notes for which no domain was found; they stay.",
            "unsorted",
            rows.collect(),
        );
        out
    }
}

/// Quotes a text as a TOML string.
fn quote_toml(text: &str) -> String {
    toml::Value::String(text.to_owned()).to_string()
}

/// The changes of a plan, with remarks about steps that cannot be done.
#[derive(Debug)]
pub struct OrganiseProposal {
    /// The files that move or change.
    pub proposal: ChangeProposal,
    /// The number of links that are added.
    pub links: usize,
    /// Steps that cannot be done, and why.
    pub remarks: Vec<String>,
}

/// Converts a plan to changes, without writing.
pub fn apply_plan(
    workspace: &Workspace,
    plan: &OrganisePlan,
    now: Timestamp,
) -> Result<OrganiseProposal, WorkspaceError> {
    build_proposal(workspace, plan, now, false)
}

/// Plans a new workspace: the files that every session reads, and the existing
/// folders of notes as domains. Nothing moves; the plan of [`propose_order`] does that.
pub fn begin_workspace(
    workspace: &Workspace,
    about: &str,
    now: Timestamp,
) -> Result<OrganiseProposal, WorkspaceError> {
    let found = look::look_at_all(workspace);
    let stays = |folder: &str| workspace.root().join(folder).is_dir();
    let plan = OrganisePlan {
        version: PLAN_VERSION,
        about: about.to_owned(),
        domains: found
            .domains
            .into_iter()
            .filter(|it| stays(&it.folder))
            .collect(),
        ..OrganisePlan::default()
    };
    build_proposal(workspace, &plan, now, true)
}

/// Converts a plan to changes, with a manifest also for an empty plan if this
/// is a new workspace.
fn build_proposal(
    workspace: &Workspace,
    plan: &OrganisePlan,
    now: Timestamp,
    begin: bool,
) -> Result<OrganiseProposal, WorkspaceError> {
    // The plan is a file that anyone may have edited, so it is checked for
    // secrets as any other input.
    super::reject_secrets(&plan.render(PLAN_FILE))?;
    let mut texts = PlannedTexts::default();
    let mut applied = OrganiseProposal {
        proposal: ChangeProposal::default(),
        links: 0,
        remarks: Vec::new(),
    };
    let mut moves = Vec::new();
    for step in &plan.moves {
        let (from, to) = (RelPath::new(&step.from)?, RelPath::new(&step.to)?);
        if from != to {
            moves.push(ProposedMove { from, to });
        }
    }
    if !moves.is_empty() {
        let vault = NoteVault::read(workspace);
        let renaming = links::rename_files(workspace, &vault, moves)
            .map_err(|e| WorkspaceError::Refused(e.to_string()))?;
        applied.links = renaming.links;
        for (file, line) in renaming.left_alone {
            let remark = format!("`{file}` line {line} has a link that could not be rewritten");
            applied.remarks.push(remark);
        }
        for file in renaming.proposal.files {
            texts.0.insert(file.path, (file.before, file.after));
        }
        applied.proposal.moves = renaming.proposal.moves;
    }
    let moves = applied.proposal.moves.clone();
    let after = |path: &RelPath| path_after_moves(&moves, path);
    let mut steps: BTreeMap<&str, Vec<&LateralLink>> = BTreeMap::new();
    let exact = find_exact_mentions(workspace, plan, &after);
    for step in plan.links.iter().chain(&exact) {
        steps.entry(&step.file).or_default().push(step);
    }
    for (file, steps) in steps {
        let from = RelPath::new(file)?;
        let Some(text) = texts.text_after(workspace, &from, &after(&from)) else {
            let remark = format!("`{from}` cannot be read, so no link was set in it");
            applied.remarks.push(remark);
            continue;
        };
        let (changed, missed) = link_mentions(&text, &steps, &after)?;
        texts.set_text(&after(&from), changed);
        applied.remarks.extend(missed.into_iter().map(|step| {
            format!(
                "`{from}` line {} no longer contains `{}`, so no link was set",
                step.line,
                escape_markdown_line(&step.text)
            )
        }));
    }
    if begin || !plan.is_empty() {
        plan_manifest(workspace, plan, now, &moves, &mut texts)?;
    }
    for (path, (before, after)) in texts.0 {
        applied.proposal.add(path, before, after);
    }
    // The manifest comes last, after the notes that it names.
    let last = |path: &RelPath| *path == manifest::manifest_path();
    applied.proposal.files.sort_by_key(|file| last(&file.path));
    Ok(applied)
}

/// Texts of files before and after the changes, by their paths afterwards.
#[derive(Default)]
struct PlannedTexts(BTreeMap<RelPath, (Option<String>, String)>);

impl PlannedTexts {
    /// Returns the text of a file after the changes so far, and reads it on
    /// first use.
    fn text_after(
        &mut self,
        workspace: &Workspace,
        now: &RelPath,
        then: &RelPath,
    ) -> Option<String> {
        if !self.0.contains_key(then) {
            let text = workspace.read_text(now).ok()?;
            let pair = (Some(text.clone()), text);
            self.0.insert(then.clone(), pair);
        }
        self.0.get(then).map(|(_, after)| after.clone())
    }

    /// Sets the text of a file.
    fn set_text(&mut self, path: &RelPath, text: String) {
        let entry = self.0.entry(path.clone()).or_default();
        entry.1 = text;
    }
}

/// Finds the exact names of notes in other notes of domains, which become links
/// (pass 1).
fn find_exact_mentions(
    workspace: &Workspace,
    plan: &OrganisePlan,
    after: &dyn Fn(&RelPath) -> RelPath,
) -> Vec<LateralLink> {
    let in_domain = |path: &RelPath| {
        let path = after(path);
        plan.domains.iter().any(|it| path.starts_with(&it.folder))
    };
    let vault = NoteVault::read(workspace);
    let notes = vault.notes().map(|(_, file, _)| file.path.clone());
    // Pages of a site and files of a project are not notes to link.
    let fixed = FixedPaths::of(workspace, &workspace.tree());
    let notes: Vec<RelPath> = notes
        .filter(|it| in_domain(it) && !fixed.is_fixed(it))
        .collect();
    if notes.is_empty() {
        return Vec::new();
    }
    let planned = |it: &links::NoteMention| {
        let same = |step: &LateralLink| step.file == it.path.as_str() && step.line == it.line;
        plan.links
            .iter()
            .any(|step| same(step) && step.text == it.text)
    };
    links::suggest_mentions(workspace, &vault, &notes)
        .into_iter()
        .filter(|it| it.exact && in_domain(&it.note) && !planned(it))
        .filter(|it| !is_common_word(&it.text) && !fixed.is_fixed(&it.path))
        .map(|it| LateralLink {
            file: it.path.to_string(),
            line: it.line,
            text: it.text,
            to: it.note.to_string(),
        })
        .collect()
}

/// Returns the text with a link for each step, and the steps whose words are
/// missing or not free.
fn link_mentions<'s>(
    text: &str,
    steps: &[&'s LateralLink],
    after: &dyn Fn(&RelPath) -> RelPath,
) -> Result<(String, Vec<&'s LateralLink>), WorkspaceError> {
    let document = document::parse_document(text);
    let tables = document.tables(&document.body);
    let mut edits: Vec<TextEdit> = Vec::new();
    let mut missed = Vec::new();
    for step in steps {
        let to = after(&RelPath::new(&step.to)?);
        let target = to.as_str().strip_suffix(".md").unwrap_or(to.as_str());
        let linkable = manifest::format_wikilink(target).starts_with("[[")
            && !step.text.contains(['[', ']', '|', '\n']);
        let Some(at) = find_link_place(&document, step, &edits).filter(|_| linkable) else {
            missed.push(*step);
            continue;
        };
        let in_table = tables.iter().any(|table| table.span.contains(&at));
        let bar = if in_table { "\\|" } else { "|" };
        let link = if to.stem() == step.text {
            format!("[[{}]]", step.text)
        } else {
            format!("[[{target}{bar}{}]]", step.text)
        };
        let span = at..at + step.text.len();
        edits.push(TextEdit { span, text: link });
    }
    let changed =
        document::apply_edits(text, edits).map_err(|e| WorkspaceError::Refused(e.to_string()))?;
    Ok((changed, missed))
}

/// Returns the position of a step's words, outside of links, code and other
/// edits.
fn find_link_place(document: &Document, step: &LateralLink, edits: &[TextEdit]) -> Option<usize> {
    let start = *document.line_starts.get(step.line.checked_sub(1)?)?;
    let end = document.line_starts.get(step.line).copied();
    let line = &document.text[start..end.unwrap_or(document.text.len())];
    let free = |at: &usize| {
        let in_link = document.links.iter().any(|link| link.span.contains(at));
        let span = *at..*at + step.text.len();
        let taken = |it: &TextEdit| it.span.start < span.end && span.start < it.span.end;
        !in_link
            && !document.is_in_code(*at)
            && *at >= document.body.start
            && !edits.iter().any(taken)
    };
    let places = line.match_indices(step.text.as_str());
    places.map(|(at, _)| start + at).find(free)
}

/// Plans the files of a new workspace, the closets of its domains, and the
/// manifest.
fn plan_manifest(
    workspace: &Workspace,
    plan: &OrganisePlan,
    now: Timestamp,
    moves: &[ProposedMove],
    texts: &mut PlannedTexts,
) -> Result<(), WorkspaceError> {
    let after = |path: &RelPath| path_after_moves(moves, path);
    let path = manifest::manifest_path();
    let known = Manifest::load(workspace)?;
    if known.is_none() {
        for file in scaffold::plan_scaffold_after_moves(workspace, &plan.about, now, moves)?.files {
            texts.0.insert(file.path, (file.before, file.after));
        }
    }
    let Some(mut text) = texts.text_after(workspace, &path, &path) else {
        return Ok(());
    };
    let mut edit =
        |make: &dyn Fn(&Manifest) -> Vec<Option<TextEdit>>| -> Result<(), WorkspaceError> {
            let manifest = Manifest::parse(text.as_str());
            let edits = make(&manifest).into_iter().flatten().collect();
            text = manifest
                .text_after_edits(edits)
                .map_err(|e| WorkspaceError::Refused(format!("`{path}`: {e}")))?;
            Ok(())
        };
    for domain in &plan.domains {
        let folder = RelPath::new(&domain.folder)?;
        let name = domain.name.trim();
        let target = format!("{folder}/_CLOSETS");
        let new = NewManifestEntry {
            name,
            target: &target,
            text: &domain.about,
            note: "",
        };
        edit(&|it| {
            vec![
                it.add_domain(name, &target),
                it.list_entry(ManifestPart::HubMap, &new),
            ]
        })?;
    }
    for stale in &plan.archive {
        let file = after(&RelPath::new(&stale.file)?);
        let target = file.as_str().strip_suffix(".md").unwrap_or(file.as_str());
        let new = NewManifestEntry {
            name: "",
            target,
            text: &stale.reason,
            note: &day_of_timestamp(now).to_string(),
        };
        edit(&|it| vec![it.list_entry(ManifestPart::Tier3, &new)])?;
    }
    texts.set_text(&path, text);
    build_hub_closets(workspace, plan, known.as_ref(), moves, texts)
}

/// Builds the closets of every hub that is new or whose files change, so that
/// its lists have the files that were just sorted.
fn build_hub_closets(
    workspace: &Workspace,
    plan: &OrganisePlan,
    known: Option<&Manifest>,
    moves: &[ProposedMove],
    texts: &mut PlannedTexts,
) -> Result<(), WorkspaceError> {
    let mut hubs: Vec<(String, RelPath)> = Vec::new();
    for domain in &plan.domains {
        let name = escape_markdown_line(domain.name.trim());
        hubs.push((name, RelPath::new(&domain.folder)?));
    }
    for hub in known.iter().flat_map(|it| hubs_of_manifest(workspace, it)) {
        let inside = |path: &RelPath| path.starts_with(hub.folder.as_str());
        let touched = moves.iter().any(|it| inside(&it.from) || inside(&it.to));
        if touched
            && known.is_some_and(|it| it.mode() == ManifestMode::Full)
            && !hub.is_memory_hub()
        {
            hubs.push((hub.name, hub.folder));
        }
    }
    let mut domains = known.map(Manifest::domains).unwrap_or_default();
    domains.extend(plan.domains.iter().map(|it| it.folder.clone()));
    let mut planned: Vec<Hub> = Vec::new();
    for (name, folder) in &hubs {
        planned.push(plan_hub(workspace, name, folder, &domains, moves));
    }
    if known.is_none() {
        let there = workspace.markdown_files_in("memory");
        let paths = texts.0.keys().chain(&there);
        let paths = paths.chain(moves.iter().map(|it| &it.to));
        planned.extend(hubs::planned_memory_hub(paths));
    }
    for hub in &planned {
        let before = |path: &RelPath| {
            let from = moves.iter().find(|it| it.to == *path);
            from.map_or_else(|| path.clone(), |it| it.from.clone())
        };
        let closets = {
            let mut read = |path: &RelPath| texts.text_after(workspace, &before(path), path);
            build::preview_closets(workspace, hub, &mut read)?
        };
        for (path, before, after) in closets {
            texts.0.insert(path, (before, after));
        }
    }
    Ok(())
}

/// Returns the path of a file after these moves.
fn path_after_moves(moves: &[ProposedMove], path: &RelPath) -> RelPath {
    let moved = moves.iter().find(|it| it.from == *path);
    moved.map_or_else(|| path.clone(), |it| it.to.clone())
}
