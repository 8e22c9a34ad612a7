//! Implements the nine checks of `lint`: whether the state is fresh and
//! consistent, every document is known to a hub, and the manifest is accurate.
//! Each reads the survey and returns its findings, worst first where there is
//! an order.

use std::collections::{HashMap, HashSet};

use super::fix::entry_of;
use super::survey::Survey;
use crate::document::{self, day_of};
use crate::finding::{CheckId, Finding, RepairId, Severity};
use crate::links::{Resolution, fold};
use crate::mind::{File, Layout, cut};
use crate::routing::closets::build::names;
use crate::routing::hubs::Hub;
use crate::routing::layout::{self, Rivalry};
use crate::routing::manifest::{Entry, MAX_HUBS, Part, SUMMARY_FORMAT};
use crate::session::{self, Untracked, days_since};
use crate::thresholds::STATUS_STALE_DAYS;
use crate::upkeep::domain::is_catch_all;
use crate::workspace::{RelPath, shell_word};

/// Returns a warning with advice.
fn warn(check: CheckId, message: impl Into<String>, advice: impl Into<String>) -> Finding {
    Finding::new(check, Severity::Warning, message).advice(advice)
}

/// Returns a note with advice.
fn info(check: CheckId, message: impl Into<String>, advice: impl Into<String>) -> Finding {
    Finding::new(check, Severity::Info, message).advice(advice)
}

/// Checks the age of the state.
pub(super) fn state_stale(survey: &Survey<'_>) -> Vec<Finding> {
    let stale = |message: String, advice| {
        vec![warn(CheckId::STATE_STALE, message, advice).in_file(&survey.mind.file(File::State))]
    };
    let path = survey.mind.file(File::State);
    let update = "run `memory-forge session update`";
    let state = match survey.mind.state() {
        Ok(Some(state)) => state,
        Ok(None) => return stale(format!("{path} is missing"), update),
        Err(error) => return stale(error.to_string(), "repair the file"),
    };
    match state.updated {
        None => stale(format!("{path} has no date of its last update"), update),
        Some(on) => {
            let days = days_since(on, day_of(survey.now));
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
pub(super) fn decisions_superseded(survey: &Survey<'_>) -> Vec<Finding> {
    let path = survey.mind.file(File::Decisions);
    let found = match survey.mind.supersessions() {
        Ok(found) => found,
        Err(error) => {
            let finding = warn(
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
            let said = |text: &str| cut(text, 80);
            warn(
                CheckId::DECISIONS_SUPERSEDED,
                format!(
                    "{path}:{} \"{}\" is superseded by line {} \"{}\" ({})",
                    older.line,
                    said(&older.title),
                    newer.line,
                    said(newer.decision.as_deref().unwrap_or(&newer.title)),
                    it.word
                ),
                "mark it (`memory-forge lint --fix`)",
            )
            .at(path.as_str(), Some(older.line))
            .about(&older.title)
            .repaired_by(RepairId::MarkDecision)
        })
        .collect()
}

/// Checks for files that no list of their hub names, and for entries of missing
/// files.
pub(super) fn manifest_unlisted(survey: &Survey<'_>) -> Vec<Finding> {
    let mut found = Vec::new();
    for hub in survey.hubs().iter().filter(|it| !it.is_memory()) {
        let registered = Registered::of(survey, hub);
        // A hub without any list is for the check of coverage.
        if !registered.lists.is_empty() {
            for path in &hub.members {
                if !registered.files.contains(path) {
                    let finding = warn(
                        CheckId::MANIFEST_UNLISTED,
                        format!("{path} is in no list of {}", hub.name),
                        "run `memory-forge closets build`",
                    );
                    found.push(finding.in_file(path).about(path.as_str()));
                }
            }
        }
        for (list, line, target) in registered.dead {
            let finding = info(
                CheckId::MANIFEST_UNLISTED,
                format!("{list}:{line} lists [[{target}]], which is not there"),
                "drop it (`memory-forge lint --fix`)",
            );
            let finding = finding.at(list.as_str(), Some(line)).about(target);
            found.push(finding.repaired_by(RepairId::DropEntry));
        }
    }
    found
}

/// The lists of a hub: its closets, their archive, its hub page.
pub(super) struct Registered {
    pub(super) lists: Vec<RelPath>,
    pub(super) files: HashSet<RelPath>,
    /// List, line and target of entries of missing files.
    pub(super) dead: Vec<(RelPath, usize, String)>,
}

impl Registered {
    /// Reads the lists of a hub.
    pub(super) fn of(survey: &Survey<'_>, hub: &Hub) -> Registered {
        let mut registered = Registered {
            lists: Vec::new(),
            files: HashSet::new(),
            dead: Vec::new(),
        };
        let members: HashMap<String, &RelPath> = names(hub)
            .into_iter()
            .map(|name| name.to_lowercase())
            .zip(&hub.members)
            .collect();
        let lists = [Some(hub.closets()), Some(hub.closets_archive())];
        for list in lists.into_iter().chain([hub.index.clone()]).flatten() {
            let Some(index) = survey.vault().position(&list) else {
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
                    Resolution::Missing => {
                        // Only headings and rows are entries: people and places
                        // in their fields need no page. The text is parsed when
                        // the first such link is met.
                        let document = document.get_or_insert_with(|| {
                            let text = survey.workspace.read_text(&list);
                            document::parse(text.unwrap_or_default())
                        });
                        if link.is_wiki() && entry_of(document, link, is_closets).is_some() {
                            let target = link.target.clone();
                            registered.dead.push((list.clone(), link.line, target));
                        }
                    }
                    found => {
                        let files: Vec<u32> = match found {
                            Resolution::File(file) => vec![file],
                            Resolution::Ambiguous(files) => files,
                            Resolution::Missing => Vec::new(),
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
pub(super) fn manifest_folders(survey: &Survey<'_>) -> Vec<Finding> {
    let Some(manifest) = survey.manifest() else {
        return Vec::new();
    };
    let untracked = Untracked::of(survey.workspace, survey.tree(), manifest);
    let beyond = match manifest.hubs_left_out() {
        0 => None,
        count => Some(
            warn(
                CheckId::MANIFEST_FOLDERS,
                format!("{count} rows of the Hub Map are not used: it has more than {MAX_HUBS}"),
                "join domains that belong together",
            )
            .at("_MANIFEST.md", None),
        ),
    };
    let one = |(folder, notes): &(String, usize)| {
        let files = if *notes == 1 { "file" } else { "files" };
        let message = format!("{folder}/ has {notes} Markdown {files} and is not in the Hub Map");
        if is_catch_all(folder.rsplit('/').next().unwrap_or(folder)) {
            // A note and not a warning: nothing is found again in a domain of
            // such a name, and `init` has already proposed to dissolve it, so a
            // fresh workspace must not fail.
            return info(
                CheckId::MANIFEST_FOLDERS,
                message,
                "let its notes be sorted: run `memory-forge init --organise`, then apply the plan",
            )
            .about(folder);
        }
        let add = format!("run `memory-forge domain add {}`", shell_word(folder));
        warn(CheckId::MANIFEST_FOLDERS, message, add).about(folder)
    };
    let folders = untracked.folders.iter().map(one);
    beyond.into_iter().chain(folders).collect()
}

/// Checks for entries that have been blocked for too long.
pub(super) fn state_blocked(survey: &Survey<'_>) -> Vec<Finding> {
    let Ok(Some(state)) = survey.mind.state() else {
        return Vec::new();
    };
    let sessions = survey.mind.sessions().unwrap_or_default();
    session::stale(&state, &sessions, day_of(survey.now))
        .into_iter()
        .map(|it| {
            let since = it.since.map(|day| format!(" since {day}"));
            let entries = it.entries;
            warn(
                CheckId::STATE_BLOCKED,
                format!(
                    "\"{}\" is blocked{} ({entries} log entries)",
                    cut(&it.text, 120),
                    since.unwrap_or_default()
                ),
                "a person has to resolve it; then say what is still blocked, or nothing: \
                 `memory-forge session update --blocked ''`",
            )
            .in_file(&survey.mind.file(File::State))
            .about(&it.text)
        })
        .collect()
}

/// Checks that every hub of the Hub Map has closets, also one with a hub page
/// (W-5).
pub(super) fn closets_coverage(survey: &Survey<'_>) -> Vec<Finding> {
    if !survey.is_full() {
        return Vec::new();
    }
    let there = |path: &RelPath| survey.workspace.absolute(path).is_file();
    let mut found = Vec::new();
    for hub in survey.hubs() {
        let closets = hub.closets();
        let wanted = !hub.is_memory() || keeps_memory_closets(survey);
        if wanted && !there(&closets) {
            let finding = warn(
                CheckId::CLOSETS_COVERAGE,
                format!("{} has no {closets}", hub.name),
                "run `memory-forge closets build`",
            );
            found.push(finding.in_file(&closets).about(&hub.name));
        }
    }
    found
}

/// Returns `true` if the state files need closets, as from version 2.1 on.
fn keeps_memory_closets(survey: &Survey<'_>) -> bool {
    let version = survey.manifest().and_then(|it| it.version());
    let mut parts = version
        .unwrap_or("")
        .split('.')
        .map(|it| it.parse::<u32>().unwrap_or(0));
    let version = (parts.next().unwrap_or(0), parts.next().unwrap_or(0));
    survey.mind.layout() == Layout::Manifest && version >= (2, 1)
}

/// Checks for edges to missing documents.
pub(super) fn graph_dangling(survey: &Survey<'_>) -> Vec<Finding> {
    let graph = survey.graph();
    graph
        .dangling()
        .map(|edge| {
            let (from, to) = (graph.node(edge.from), graph.node(edge.to));
            let finding = warn(
                CheckId::GRAPH_DANGLING,
                format!(
                    "{} {} -> {} leads nowhere",
                    from.id,
                    edge.kind.name(),
                    to.name
                ),
                "correct the front matter, or write the page",
            );
            let finding = finding.about(&to.name);
            match &from.path {
                Some(path) => finding.in_file(path),
                None => finding,
            }
        })
        .collect()
}

/// Checks the format version of the manifest's summaries.
pub(super) fn manifest_summaries(survey: &Survey<'_>) -> Vec<Finding> {
    let Some(manifest) = survey.manifest().filter(|_| survey.is_full()) else {
        return Vec::new();
    };
    let outdated = |message: String| {
        let advice = "run `memory-forge manifest refresh`";
        vec![warn(CheckId::MANIFEST_SUMMARIES, message, advice).at("_MANIFEST.md", None)]
    };
    match manifest.summary_format() {
        Some(format) if format >= SUMMARY_FORMAT => Vec::new(),
        Some(format) => outdated(format!(
            "summaries have format {format}, and {SUMMARY_FORMAT} is current"
        )),
        None => outdated("summaries have no format version".to_owned()),
    }
}

/// Checks the entries of the manifest.
pub(super) fn manifest_entries(survey: &Survey<'_>) -> Vec<Finding> {
    const CHECK: CheckId = CheckId::MANIFEST_ENTRIES;
    let mut found = Vec::new();
    if survey.mind.layout() == Layout::Manifest {
        let rivalries = layout::rivalries(survey.workspace, survey.manifest());
        let one = |it: &Rivalry| warn(CHECK, it.message(), it.advice()).in_file(&it.used);
        found.extend(rivalries.iter().map(one));
    }
    let Some(manifest) = survey.manifest() else {
        return found;
    };
    for entry in manifest.entries() {
        if is_dead(survey, entry) {
            let message = format!(
                "{} lists [[{}]], which is not there",
                name(entry.part),
                entry.target
            );
            // Only rows are removed automatically; other lines and lists belong
            // to people.
            let fix = if entry.is_row() {
                "restore the file, or drop the row (`memory-forge lint --fix`)"
            } else {
                "restore the file, or take the line out of _MANIFEST.md by hand"
            };
            let finding = match entry.part {
                Part::Tier3 => info(CHECK, message, fix),
                _ => warn(CHECK, message, fix),
            };
            let finding = finding.at("_MANIFEST.md", None).about(&entry.target);
            found.push(if entry.is_row() {
                finding.repaired_by(RepairId::DropEntry)
            } else {
                finding
            });
        } else if lacks_summary(entry) && !is_empty_hub(survey, entry) {
            let row = if entry.target.is_empty() {
                &entry.name
            } else {
                &entry.target
            };
            let message = format!("{} has no summary of [[{row}]]", name(entry.part));
            let finding = if !has_text(survey, entry) {
                let by_hand = "write it by hand; there is no text to take it from";
                info(CHECK, message, by_hand)
            } else if manifest.summary_format() >= Some(SUMMARY_FORMAT) {
                info(CHECK, message, "fill it in (`memory-forge lint --fix`)")
                    .repaired_by(RepairId::FillSummary)
            } else {
                info(CHECK, message, "run `memory-forge manifest refresh`")
            };
            found.push(finding.at("_MANIFEST.md", None).about(row));
        }
    }
    found
}

/// Returns `true` if a row of the Hub Map is about a hub without documents,
/// which has nothing to summarize.
fn is_empty_hub(survey: &Survey<'_>, entry: &Entry) -> bool {
    hub_of(survey, entry).is_some_and(|hub| hub.members.is_empty())
}

/// Returns the hub that a row of the Hub Map is about.
fn hub_of<'s>(survey: &'s Survey<'_>, entry: &Entry) -> Option<&'s Hub> {
    let manifest = survey.manifest()?;
    let rows = manifest.hub_map();
    let (_, folder) = rows
        .into_iter()
        .find(|(it, _)| it.words() == entry.words())?;
    survey.hubs().iter().find(|hub| Some(&hub.folder) == folder)
}

/// Returns `true` if the file or hub of a row has text for a summary.
fn has_text(survey: &Survey<'_>, entry: &Entry) -> bool {
    if entry.part == Part::HubMap {
        return hub_of(survey, entry).is_some();
    }
    let found = survey.vault().names.resolve(&entry.target, "_MANIFEST.md");
    let path = found.file().map(|it| survey.vault().file(it).path.clone());
    let text = path.and_then(|it| survey.workspace.read_text(&it).ok());
    text.is_some_and(|text| {
        let document = document::parse(text);
        !document.str(&document.body).trim().is_empty()
    })
}

/// Returns `true` if an entry names a missing file.
pub(super) fn is_dead(survey: &Survey<'_>, entry: &Entry) -> bool {
    let names = &survey.vault().names;
    !entry.target.is_empty()
        && entry.part != Part::Config
        && names.resolve(&entry.target, "_MANIFEST.md") == Resolution::Missing
        && !is_folder(survey, &entry.target)
}

/// Returns `true` if the target is the folder of a hub, or closets that are
/// still to be built there, which is for the check of coverage.
fn is_folder(survey: &Survey<'_>, target: &str) -> bool {
    let target = fold(target.trim_end_matches('/'));
    if let Some(folder) = target.strip_suffix("/_closets") {
        let hub = survey
            .hubs()
            .iter()
            .find(|it| fold(it.folder.as_str()) == folder);
        return hub.is_some_and(|it| survey.workspace.absolute(&it.folder).is_dir());
    }
    survey
        .hubs()
        .iter()
        .any(|it| fold(it.folder.as_str()) == target)
}

/// Returns `true` if a row should have a summary and has none.
pub(super) fn lacks_summary(entry: &Entry) -> bool {
    matches!(entry.part, Part::Tier1 | Part::HubMap)
        && entry.is_row()
        && entry.text.trim().is_empty()
}

/// Returns the title of a part of the manifest.
fn name(part: Part) -> &'static str {
    match part {
        Part::Tier1 => "Tier 1",
        Part::Tier2 => "Tier 2",
        Part::Tier3 => "Tier 3",
        Part::HubMap => "Hub Map",
        Part::Config => "Config",
    }
}
