//! Implements the nine checks of `lint`: whether the state is fresh and
//! consistent, every document is known to a hub, and the manifest is accurate.
//! Each reads the survey and returns its findings, worst first where there is
//! an order.

use std::collections::{HashMap, HashSet};

use super::fix::entry_span;
use super::survey::WorkspaceSurvey;
use crate::document::{self, day_of_timestamp};
use crate::finding::{CheckFinding, CheckId, CheckSeverity, RepairId};
use crate::links::{LinkResolution, fold_name};
use crate::mind::{MindFile, StateLayoutKind, truncate_at_word};
use crate::routing::closets::build::entry_names;
use crate::routing::hubs::Hub;
use crate::routing::layout::{self, StateFileRivalry};
use crate::routing::manifest::{MAX_HUBS, ManifestEntry, ManifestPart, SUMMARY_FORMAT_VERSION};
use crate::session::{self, UntrackedContent, days_since};
use crate::thresholds::STATUS_STALE_DAYS;
use crate::upkeep::domain::is_catch_all;
use crate::workspace::{RelPath, quote_shell_word};

/// Returns a warning with advice.
fn warning_with_advice(
    check: CheckId,
    message: impl Into<String>,
    advice: impl Into<String>,
) -> CheckFinding {
    CheckFinding::new(check, CheckSeverity::Warning, message).with_advice(advice)
}

/// Returns a note with advice.
fn info_with_advice(
    check: CheckId,
    message: impl Into<String>,
    advice: impl Into<String>,
) -> CheckFinding {
    CheckFinding::new(check, CheckSeverity::Info, message).with_advice(advice)
}

/// Checks the age of the state.
pub(super) fn check_state_stale(survey: &WorkspaceSurvey<'_>) -> Vec<CheckFinding> {
    let stale = |message: String, advice| {
        vec![
            warning_with_advice(CheckId::STATE_STALE, message, advice)
                .in_file(&survey.mind.file_path(MindFile::State)),
        ]
    };
    let path = survey.mind.file_path(MindFile::State);
    let update = "run `memory-forge session update`";
    let state = match survey.mind.read_state() {
        Ok(Some(state)) => state,
        Ok(None) => return stale(format!("{path} is missing"), update),
        Err(error) => return stale(error.to_string(), "repair the file"),
    };
    match state.updated {
        None => stale(format!("{path} has no date of its last update"), update),
        Some(on) => {
            let days = days_since(on, day_of_timestamp(survey.now));
            if days > STATUS_STALE_DAYS {
                stale(
                    format!("{path} was last updated {on}, {days} days ago"),
                    update,
                )
            } else {
                Vec::new()
            }
        }
    }
}

/// Checks for replaced decisions without a mark.
pub(super) fn check_decisions_superseded(survey: &WorkspaceSurvey<'_>) -> Vec<CheckFinding> {
    let path = survey.mind.file_path(MindFile::Decisions);
    let found = match survey.mind.find_supersessions() {
        Ok(found) => found,
        Err(error) => {
            let finding = warning_with_advice(
                CheckId::DECISIONS_SUPERSEDED,
                error.to_string(),
                "repair the file",
            );
            return vec![finding.in_file(&path)];
        }
    };
    found
        .iter()
        .map(|it| {
            let (older, newer) = (&it.older, &it.newer);
            let shortened = |text: &str| truncate_at_word(text, 80);
            warning_with_advice(
                CheckId::DECISIONS_SUPERSEDED,
                format!(
                    "{path}:{} \"{}\" is superseded by line {} \"{}\" ({})",
                    older.line,
                    shortened(&older.title),
                    newer.line,
                    shortened(newer.decision.as_deref().unwrap_or(&newer.title)),
                    it.word
                ),
                "mark it (`memory-forge lint --fix`)",
            )
            .with_place(path.as_str(), Some(older.line))
            .with_subject(&older.title)
            .with_repair(RepairId::MarkDecision)
        })
        .collect()
}

/// Checks for files that no list of their hub names, and for entries of missing
/// files.
pub(super) fn check_manifest_unlisted(survey: &WorkspaceSurvey<'_>) -> Vec<CheckFinding> {
    let mut found = Vec::new();
    for hub in survey.hubs().iter().filter(|it| !it.is_memory_hub()) {
        let registered = HubListing::read_lists(survey, hub);
        // A hub without any list is for the check of coverage.
        if !registered.lists.is_empty() {
            for path in &hub.members {
                if !registered.files.contains(path) {
                    let finding = warning_with_advice(
                        CheckId::MANIFEST_UNLISTED,
                        format!("{path} is in no list of {}", hub.name),
                        "run `memory-forge closets build`",
                    );
                    found.push(finding.in_file(path).with_subject(path.as_str()));
                }
            }
        }
        for (list, line, target) in registered.dead {
            let finding = info_with_advice(
                CheckId::MANIFEST_UNLISTED,
                format!("{list}:{line} lists [[{target}]], which is not there"),
                "drop it (`memory-forge lint --fix`)",
            );
            let finding = finding
                .with_place(list.as_str(), Some(line))
                .with_subject(target);
            found.push(finding.with_repair(RepairId::DropEntry));
        }
    }
    found
}

/// The lists of a hub: its closets, their archive, its hub page.
pub(super) struct HubListing {
    pub(super) lists: Vec<RelPath>,
    pub(super) files: HashSet<RelPath>,
    /// List, line and target of entries of missing files.
    pub(super) dead: Vec<(RelPath, usize, String)>,
}

impl HubListing {
    /// Reads the lists of a hub.
    pub(super) fn read_lists(survey: &WorkspaceSurvey<'_>, hub: &Hub) -> HubListing {
        let mut registered = HubListing {
            lists: Vec::new(),
            files: HashSet::new(),
            dead: Vec::new(),
        };
        let members: HashMap<String, &RelPath> = entry_names(hub)
            .into_iter()
            .map(|name| name.to_lowercase())
            .zip(&hub.members)
            .collect();
        let lists = [Some(hub.closets_path()), Some(hub.closets_archive_path())];
        for list in lists.into_iter().chain([hub.index.clone()]).flatten() {
            let Some(index) = survey.vault().position_of(&list) else {
                continue;
            };
            let Some(note) = &survey.vault().file(index).note else {
                continue;
            };
            let is_closets = hub.index.as_ref() != Some(&list);
            let mut document = None;
            for link in &note.links {
                // In its closets a hub calls its files by names of its own: the
                // `README` of another folder is not meant.
                if let Some(member) = members
                    .get(&link.target.to_lowercase())
                    .filter(|_| is_closets)
                {
                    registered.files.insert((*member).clone());
                    continue;
                }
                match survey.vault().resolve(index, link) {
                    LinkResolution::Missing => {
                        // Only headings and rows are entries: people and places
                        // in their fields need no page. The text is parsed when
                        // the first such link is met.
                        let document = document.get_or_insert_with(|| {
                            let text = survey.workspace.read_text(&list);
                            document::parse_document(text.unwrap_or_default())
                        });
                        if link.is_wikilink() && entry_span(document, link, is_closets).is_some() {
                            let target = link.target.clone();
                            registered.dead.push((list.clone(), link.line, target));
                        }
                    }
                    found => {
                        let files: Vec<u32> = match found {
                            LinkResolution::File(file) => vec![file],
                            LinkResolution::Ambiguous(files) => files,
                            LinkResolution::Missing => Vec::new(),
                        };
                        let paths = files.iter().map(|it| survey.vault().file(*it).path.clone());
                        registered.files.extend(paths);
                    }
                }
            }
            registered.lists.push(list);
        }
        registered
    }
}

/// Checks for folders with Markdown that are not in the Hub Map.
pub(super) fn check_manifest_folders(survey: &WorkspaceSurvey<'_>) -> Vec<CheckFinding> {
    let Some(manifest) = survey.manifest() else {
        return Vec::new();
    };
    let untracked = UntrackedContent::find_in_tree(survey.workspace, survey.tree(), manifest);
    let beyond = match manifest.hubs_left_out() {
        0 => None,
        count => Some(
            warning_with_advice(
                CheckId::MANIFEST_FOLDERS,
                format!("{count} rows of the Hub Map are not used: it has more than {MAX_HUBS}"),
                "join domains that belong together",
            )
            .with_place("_MANIFEST.md", None),
        ),
    };
    let one = |(folder, notes): &(String, usize)| {
        let files = if *notes == 1 { "file" } else { "files" };
        let message = format!("{folder}/ has {notes} Markdown {files} and is not in the Hub Map");
        if is_catch_all(folder.rsplit('/').next().unwrap_or(folder)) {
            // A note and not a warning: nothing is found again in a domain of
            // such a name, and `init` has already proposed to dissolve it, so a
            // fresh workspace must not fail.
            return info_with_advice(
                CheckId::MANIFEST_FOLDERS,
                message,
                "let its notes be sorted: run `memory-forge init --organise`, then apply the plan",
            )
            .with_subject(folder);
        }
        let add = format!("run `memory-forge domain add {}`", quote_shell_word(folder));
        warning_with_advice(CheckId::MANIFEST_FOLDERS, message, add).with_subject(folder)
    };
    let folders = untracked.folders.iter().map(one);
    beyond.into_iter().chain(folders).collect()
}

/// Checks for entries that have been blocked for too long.
pub(super) fn check_state_blocked(survey: &WorkspaceSurvey<'_>) -> Vec<CheckFinding> {
    let Ok(Some(state)) = survey.mind.read_state() else {
        return Vec::new();
    };
    let sessions = survey.mind.read_sessions().unwrap_or_default();
    session::stale(&state, &sessions, day_of_timestamp(survey.now))
        .into_iter()
        .map(|it| {
            let since = it.since.map(|day| format!(" since {day}"));
            let entries = it.entries;
            warning_with_advice(
                CheckId::STATE_BLOCKED,
                format!(
                    "\"{}\" is blocked{} ({entries} log entries)",
                    truncate_at_word(&it.text, 120),
                    since.unwrap_or_default()
                ),
                "a person has to resolve it; then say what is still blocked, or nothing: \
                 `memory-forge session update --blocked ''`",
            )
            .in_file(&survey.mind.file_path(MindFile::State))
            .with_subject(&it.text)
        })
        .collect()
}

/// Checks that every hub of the Hub Map has closets, also one with a hub page
/// (W-5).
pub(super) fn check_closets_coverage(survey: &WorkspaceSurvey<'_>) -> Vec<CheckFinding> {
    if !survey.is_fully_managed() {
        return Vec::new();
    }
    let there = |path: &RelPath| survey.workspace.absolute_path(path).is_file();
    let mut found = Vec::new();
    for hub in survey.hubs() {
        let closets = hub.closets_path();
        let wanted = !hub.is_memory_hub() || needs_memory_closets(survey);
        if wanted && !there(&closets) {
            let finding = warning_with_advice(
                CheckId::CLOSETS_COVERAGE,
                format!("{} has no {closets}", hub.name),
                "run `memory-forge closets build`",
            );
            found.push(finding.in_file(&closets).with_subject(&hub.name));
        }
    }
    found
}

/// Returns `true` if the state files need closets, as from version 2.1 on.
fn needs_memory_closets(survey: &WorkspaceSurvey<'_>) -> bool {
    let version = survey.manifest().and_then(|it| it.version());
    let mut parts = version
        .unwrap_or("")
        .split('.')
        .map(|it| it.parse::<u32>().unwrap_or(0));
    let version = (parts.next().unwrap_or(0), parts.next().unwrap_or(0));
    survey.mind.layout_kind() == StateLayoutKind::Manifest && version >= (2, 1)
}

/// Checks for edges to missing documents.
pub(super) fn check_graph_dangling(survey: &WorkspaceSurvey<'_>) -> Vec<CheckFinding> {
    let graph = survey.graph();
    graph
        .dangling_edges()
        .map(|edge| {
            let (from, to) = (graph.node(edge.from), graph.node(edge.to));
            let finding = warning_with_advice(
                CheckId::GRAPH_DANGLING,
                format!(
                    "{} {} -> {} leads nowhere",
                    from.id,
                    edge.kind.name(),
                    to.name
                ),
                "correct the front matter, or write the page",
            );
            let finding = finding.with_subject(&to.name);
            match &from.path {
                Some(path) => finding.in_file(path),
                None => finding,
            }
        })
        .collect()
}

/// Checks the format version of the manifest's summaries.
pub(super) fn check_manifest_summaries(survey: &WorkspaceSurvey<'_>) -> Vec<CheckFinding> {
    let Some(manifest) = survey.manifest().filter(|_| survey.is_fully_managed()) else {
        return Vec::new();
    };
    let outdated = |message: String| {
        let advice = "run `memory-forge manifest refresh`";
        vec![
            warning_with_advice(CheckId::MANIFEST_SUMMARIES, message, advice)
                .with_place("_MANIFEST.md", None),
        ]
    };
    match manifest.summary_format() {
        Some(format) if format >= SUMMARY_FORMAT_VERSION => Vec::new(),
        Some(format) => outdated(format!(
            "summaries have format {format}, and {SUMMARY_FORMAT_VERSION} is current"
        )),
        None => outdated("summaries have no format version".to_owned()),
    }
}

/// Checks the entries of the manifest.
pub(super) fn check_manifest_entries(survey: &WorkspaceSurvey<'_>) -> Vec<CheckFinding> {
    const CHECK_ID: CheckId = CheckId::MANIFEST_ENTRIES;
    let mut found = Vec::new();
    if survey.mind.layout_kind() == StateLayoutKind::Manifest {
        let rivalries = layout::find_rivalries(survey.workspace, survey.manifest());
        let one = |it: &StateFileRivalry| {
            warning_with_advice(CHECK_ID, it.message(), it.advice()).in_file(&it.used)
        };
        found.extend(rivalries.iter().map(one));
    }
    let Some(manifest) = survey.manifest() else {
        return found;
    };
    for entry in manifest.entries() {
        if is_dead_entry(survey, entry) {
            let message = format!(
                "{} lists [[{}]], which is not there",
                part_title(entry.part),
                entry.target
            );
            // Only rows are removed automatically; other lines and lists belong
            // to people.
            let fix = if entry.is_table_row() {
                "restore the file, or drop the row (`memory-forge lint --fix`)"
            } else {
                "restore the file, or take the line out of _MANIFEST.md by hand"
            };
            let finding = match entry.part {
                ManifestPart::Tier3 => info_with_advice(CHECK_ID, message, fix),
                _ => warning_with_advice(CHECK_ID, message, fix),
            };
            let finding = finding
                .with_place("_MANIFEST.md", None)
                .with_subject(&entry.target);
            found.push(if entry.is_table_row() {
                finding.with_repair(RepairId::DropEntry)
            } else {
                finding
            });
        } else if lacks_summary(entry) && !is_empty_hub(survey, entry) {
            let row = if entry.target.is_empty() {
                &entry.name
            } else {
                &entry.target
            };
            let message = format!("{} has no summary of [[{row}]]", part_title(entry.part));
            let finding = if !has_text(survey, entry) {
                let by_hand = "write it by hand; there is no text to take it from";
                info_with_advice(CHECK_ID, message, by_hand)
            } else if manifest.summary_format() >= Some(SUMMARY_FORMAT_VERSION) {
                info_with_advice(CHECK_ID, message, "fill it in (`memory-forge lint --fix`)")
                    .with_repair(RepairId::FillSummary)
            } else {
                info_with_advice(CHECK_ID, message, "run `memory-forge manifest refresh`")
            };
            found.push(finding.with_place("_MANIFEST.md", None).with_subject(row));
        }
    }
    found
}

/// Returns `true` if a row of the Hub Map is about a hub without documents,
/// which has nothing to summarize.
fn is_empty_hub(survey: &WorkspaceSurvey<'_>, entry: &ManifestEntry) -> bool {
    find_hub(survey, entry).is_some_and(|hub| hub.members.is_empty())
}

/// Returns the hub that a row of the Hub Map is about.
fn find_hub<'s>(survey: &'s WorkspaceSurvey<'_>, entry: &ManifestEntry) -> Option<&'s Hub> {
    let manifest = survey.manifest()?;
    let rows = manifest.hub_map();
    let (_, folder) = rows
        .into_iter()
        .find(|(it, _)| it.cell_values() == entry.cell_values())?;
    survey.hubs().iter().find(|hub| Some(&hub.folder) == folder)
}

/// Returns `true` if the file or hub of a row has text for a summary.
fn has_text(survey: &WorkspaceSurvey<'_>, entry: &ManifestEntry) -> bool {
    if entry.part == ManifestPart::HubMap {
        return find_hub(survey, entry).is_some();
    }
    let found = survey.vault().names.resolve(&entry.target, "_MANIFEST.md");
    let path = found
        .opened_file()
        .map(|it| survey.vault().file(it).path.clone());
    let text = path.and_then(|it| survey.workspace.read_text(&it).ok());
    text.is_some_and(|text| {
        let document = document::parse_document(text);
        !document.span_text(&document.body).trim().is_empty()
    })
}

/// Returns `true` if an entry names a missing file.
pub(super) fn is_dead_entry(survey: &WorkspaceSurvey<'_>, entry: &ManifestEntry) -> bool {
    let names = &survey.vault().names;
    !entry.target.is_empty()
        && entry.part != ManifestPart::Config
        && names.resolve(&entry.target, "_MANIFEST.md") == LinkResolution::Missing
        && !is_hub_folder(survey, &entry.target)
}

/// Returns `true` if the target is the folder of a hub, or closets that a hub
/// does not have yet: the check of coverage reports those.
fn is_hub_folder(survey: &WorkspaceSurvey<'_>, target: &str) -> bool {
    let target = fold_name(target.trim_end_matches('/'));
    if let Some(folder) = target.strip_suffix("/_closets") {
        let hub = survey
            .hubs()
            .iter()
            .find(|it| fold_name(it.folder.as_str()) == folder);
        return hub.is_some_and(|it| survey.workspace.absolute_path(&it.folder).is_dir());
    }
    survey
        .hubs()
        .iter()
        .any(|it| fold_name(it.folder.as_str()) == target)
}

/// Returns `true` if a row should have a summary and has none.
pub(super) fn lacks_summary(entry: &ManifestEntry) -> bool {
    matches!(entry.part, ManifestPart::Tier1 | ManifestPart::HubMap)
        && entry.is_table_row()
        && entry.text.trim().is_empty()
}

/// Returns the title of a part of the manifest.
fn part_title(part: ManifestPart) -> &'static str {
    match part {
        ManifestPart::Tier1 => "Tier 1",
        ManifestPart::Tier2 => "Tier 2",
        ManifestPart::Tier3 => "Tier 3",
        ManifestPart::HubMap => "Hub Map",
        ManifestPart::Config => "Config",
    }
}
