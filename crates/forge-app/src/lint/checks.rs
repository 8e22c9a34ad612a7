//! The nine checks. Each gets the survey and says what it found, worst first
//! where there is an order.

use std::collections::{HashMap, HashSet};

use jiff::Timestamp;

use super::fix::entry_of;
use super::{Finding, Level, Survey};
use crate::document::{self, day_of};
use crate::links::{Resolution, fold};
use crate::mind::{File, Layout, cut};
use crate::routing::closets::build::names;
use crate::routing::hubs::Hub;
use crate::routing::layout::{self, Rivalry};
use crate::routing::manifest::{Entry, MAX_HUBS, Part, SUMMARY_FORMAT};
use crate::session::{self, Untracked, days_since};
use crate::upkeep::domain::is_catch_all;
use crate::workspace::{RelPath, shell_word};

type CheckFn = fn(&Survey<'_>, Timestamp) -> Vec<Finding>;

/// Name, what is wrong when it finds something, and the check itself.
pub(super) const ALL: [(&str, &str, CheckFn); 9] = [
    (
        "STATUS FRESHNESS",
        "The state is missing, has no date, or was last updated more than three days ago",
        status_freshness,
    ),
    (
        "DECISION CONSISTENCY",
        "A later decision takes an earlier one back, and the earlier one does not say so",
        decision_consistency,
    ),
    (
        "ORPHAN FILES",
        "A file of a domain is in no list of it, or a list names a file that is gone",
        orphan_files,
    ),
    (
        "ORPHAN FOLDERS",
        "A folder with Markdown is missing from the Hub Map",
        orphan_folders,
    ),
    (
        "STALE BLOCKERS",
        "Something is blocked for seven days, or in three entries of the session log",
        stale_blockers,
    ),
    (
        "CLOSETS COVERAGE",
        "A domain has no `_CLOSETS.md`",
        closets_coverage,
    ),
    (
        "TYPED-EDGE GRAPH",
        "Front matter names a document that does not exist",
        typed_edges,
    ),
    (
        "SUMMARY FORMAT VERSION",
        "The manifest's summaries are in an older form",
        summary_format,
    ),
    (
        "MANIFEST CONSISTENCY",
        "The manifest lists a file that is gone, or one without a summary, or two files could be the same file of the state",
        manifest_consistency,
    ),
];

const STALE_DAYS: i64 = 3;

fn warn(message: String, fix: impl Into<String>) -> Finding {
    Finding {
        level: Level::Warn,
        message,
        fix: fix.into(),
    }
}

fn info(message: String, fix: impl Into<String>) -> Finding {
    Finding {
        level: Level::Info,
        ..warn(message, fix)
    }
}

fn status_freshness(survey: &Survey<'_>, now: Timestamp) -> Vec<Finding> {
    let path = survey.mind.file(File::State);
    let update = "run `memory-forge session update`";
    let state = match survey.mind.state() {
        Ok(Some(state)) => state,
        Ok(None) => return vec![warn(format!("{path} is missing"), update)],
        Err(error) => return vec![warn(error.to_string(), "repair the file")],
    };
    match state.updated {
        None => vec![warn(
            format!("{path} has no date of its last update"),
            update,
        )],
        Some(on) => {
            let days = days_since(on, day_of(now));
            if days > STALE_DAYS {
                vec![warn(
                    format!("{path} was last updated {on}, {days} days ago"),
                    update,
                )]
            } else {
                Vec::new()
            }
        }
    }
}

fn decision_consistency(survey: &Survey<'_>, _: Timestamp) -> Vec<Finding> {
    let path = survey.mind.file(File::Decisions);
    let found = match survey.mind.supersessions() {
        Ok(found) => found,
        Err(error) => return vec![warn(error.to_string(), "repair the file")],
    };
    found
        .iter()
        .map(|it| {
            let (older, newer) = (&it.older, &it.newer);
            let said = |text: &str| cut(text, 80);
            warn(
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
        })
        .collect()
}

fn orphan_files(survey: &Survey<'_>, _: Timestamp) -> Vec<Finding> {
    unlisted(survey)
}

/// Files that no list of their hub names, and entries of files that are gone.
fn unlisted(survey: &Survey<'_>) -> Vec<Finding> {
    let mut found = Vec::new();
    for hub in survey.hubs.iter().filter(|it| !it.is_memory()) {
        let registered = Registered::of(survey, hub);
        // A hub without any list is for the check of coverage.
        if !registered.lists.is_empty() {
            for path in &hub.members {
                if !registered.files.contains(path) {
                    found.push(warn(
                        format!("{path} is in no list of {}", hub.name),
                        "run `memory-forge closets build`",
                    ));
                }
            }
        }
        for (list, line, target) in registered.dead {
            found.push(info(
                format!("{list}:{line} lists [[{target}]], which is not there"),
                "drop it (`memory-forge lint --fix`)",
            ));
        }
    }
    found
}

pub(super) fn orphans(survey: &Survey<'_>) -> Vec<Finding> {
    let mut found = unlisted(survey);
    found.extend(danglers(survey));
    found
}

/// What the lists of a hub name: its closets, their archive, its hub page.
pub(super) struct Registered {
    pub(super) lists: Vec<RelPath>,
    pub(super) files: HashSet<RelPath>,
    /// List, line and target of what is not there.
    pub(super) dead: Vec<(RelPath, usize, String)>,
}

impl Registered {
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
            let Some(index) = survey.vault.position(&list) else {
                continue;
            };
            let Some(note) = &survey.vault.file(index).note else {
                continue;
            };
            let is_closets = hub.index.as_ref() != Some(&list);
            let mut document = None;
            for link in &note.links {
                // In its closets a hub calls its files by names of its own:
                // another folder's `README` is not meant.
                if let Some(member) = members
                    .get(&link.target.to_lowercase())
                    .filter(|_| is_closets)
                {
                    registered.files.insert((*member).clone());
                    continue;
                }
                match survey.vault.resolve(index, link) {
                    Resolution::Missing => {
                        // Entries are headings and rows; people and places in
                        // their fields need no page.
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
                        let paths = files.iter().map(|it| survey.vault.file(*it).path.clone());
                        registered.files.extend(paths);
                    }
                }
            }
            registered.lists.push(list);
        }
        registered
    }
}

fn orphan_folders(survey: &Survey<'_>, _: Timestamp) -> Vec<Finding> {
    let Some(manifest) = &survey.manifest else {
        return Vec::new();
    };
    let untracked = Untracked::of(survey.workspace, &survey.tree, manifest);
    let beyond = match manifest.hubs_left_out() {
        0 => None,
        count => Some(warn(
            format!("{count} rows of the Hub Map are not used: it has more than {MAX_HUBS}"),
            "join domains that belong together",
        )),
    };
    let one = |(folder, notes): &(String, usize)| {
        let files = if *notes == 1 { "file" } else { "files" };
        let message = format!("{folder}/ has {notes} Markdown {files} and is not in the Hub Map");
        if is_catch_all(folder.rsplit('/').next().unwrap_or(folder)) {
            // Nothing is found again in a domain of that name, and `init` has
            // proposed to dissolve it: no reason to fail a fresh workspace.
            return info(
                message,
                "let its notes be sorted: run `memory-forge init --organise`, then apply the plan",
            );
        }
        let add = format!("run `memory-forge domain add {}`", shell_word(folder));
        warn(message, add)
    };
    let folders = untracked.folders.iter().map(one);
    beyond.into_iter().chain(folders).collect()
}

fn stale_blockers(survey: &Survey<'_>, now: Timestamp) -> Vec<Finding> {
    let Ok(Some(state)) = survey.mind.state() else {
        return Vec::new();
    };
    let sessions = survey.mind.sessions().unwrap_or_default();
    session::stale(&state, &sessions, day_of(now))
        .into_iter()
        .map(|it| {
            let since = it.since.map(|day| format!(" since {day}"));
            let entries = it.entries;
            warn(
                format!(
                    "\"{}\" is blocked{} ({entries} log entries)",
                    cut(&it.text, 120),
                    since.unwrap_or_default()
                ),
                "a person has to resolve it; then say what is still blocked, or nothing: \
                 `memory-forge session update --blocked ''`",
            )
        })
        .collect()
}

/// Every hub of the Hub Map, whether it is a page or closets (W-5).
fn closets_coverage(survey: &Survey<'_>, _: Timestamp) -> Vec<Finding> {
    if !survey.is_full() {
        return Vec::new();
    }
    let there = |path: &RelPath| survey.workspace.absolute(path).is_file();
    let mut found = Vec::new();
    for hub in &survey.hubs {
        let closets = hub.closets();
        let wanted = !hub.is_memory() || keeps_memory_closets(survey);
        if wanted && !there(&closets) {
            found.push(warn(
                format!("{} has no {closets}", hub.name),
                "run `memory-forge closets build`",
            ));
        }
    }
    found
}

/// From version 2.1 on the state files are a hub as well.
fn keeps_memory_closets(survey: &Survey<'_>) -> bool {
    let version = survey.manifest.as_ref().and_then(|it| it.version());
    let mut parts = version
        .unwrap_or("")
        .split('.')
        .map(|it| it.parse::<u32>().unwrap_or(0));
    let version = (parts.next().unwrap_or(0), parts.next().unwrap_or(0));
    survey.mind.layout() == Layout::Manifest && version >= (2, 1)
}

fn typed_edges(survey: &Survey<'_>, _: Timestamp) -> Vec<Finding> {
    danglers(survey)
}

fn danglers(survey: &Survey<'_>) -> Vec<Finding> {
    let graph = &survey.graph;
    graph
        .dangling()
        .map(|edge| {
            let (from, to) = (graph.node(edge.from), graph.node(edge.to));
            warn(
                format!(
                    "{} {} -> {} leads nowhere",
                    from.id,
                    edge.kind.name(),
                    to.name
                ),
                "correct the front matter, or write the page",
            )
        })
        .collect()
}

fn summary_format(survey: &Survey<'_>, _: Timestamp) -> Vec<Finding> {
    let Some(manifest) = survey.manifest.as_ref().filter(|_| survey.is_full()) else {
        return Vec::new();
    };
    let refresh = "run `memory-forge manifest refresh`";
    match manifest.summary_format() {
        Some(format) if format >= SUMMARY_FORMAT => Vec::new(),
        Some(format) => vec![warn(
            format!("summaries have format {format}, and {SUMMARY_FORMAT} is current"),
            refresh,
        )],
        None => vec![warn("summaries have no format version".to_owned(), refresh)],
    }
}

fn manifest_consistency(survey: &Survey<'_>, _: Timestamp) -> Vec<Finding> {
    let mut found = Vec::new();
    if survey.mind.layout() == Layout::Manifest {
        let rivalries = layout::rivalries(survey.workspace, survey.manifest.as_ref());
        let one = |it: &Rivalry| warn(it.message(), it.advice());
        found.extend(rivalries.iter().map(one));
    }
    let Some(manifest) = &survey.manifest else {
        return found;
    };
    for entry in manifest.entries() {
        if is_dead(survey, entry) {
            let message = format!(
                "{} lists [[{}]], which is not there",
                name(entry.part),
                entry.target
            );
            // Lines and lists are people's own; only rows are taken out.
            let fix = if entry.is_row() {
                "restore the file, or drop the row (`memory-forge lint --fix`)"
            } else {
                "restore the file, or take the line out of _MANIFEST.md by hand"
            };
            found.push(match entry.part {
                Part::Tier3 => info(message, fix),
                _ => warn(message, fix),
            });
        } else if lacks_summary(entry) && !is_empty_hub(survey, entry) {
            let row = if entry.target.is_empty() {
                &entry.name
            } else {
                &entry.target
            };
            found.push(info(
                format!("{} has no summary of [[{row}]]", name(entry.part)),
                match manifest.summary_format() >= Some(SUMMARY_FORMAT) {
                    _ if !has_text(survey, entry) => {
                        "write it by hand; there is no text to take it from"
                    }
                    true => "fill it in (`memory-forge lint --fix`)",
                    false => "run `memory-forge manifest refresh`",
                },
            ));
        }
    }
    found
}

/// Whether a row of the Hub Map is about a hub without documents, of which
/// there is nothing to say.
fn is_empty_hub(survey: &Survey<'_>, entry: &Entry) -> bool {
    hub_of(survey, entry).is_some_and(|hub| hub.members.is_empty())
}

fn hub_of<'s>(survey: &'s Survey<'_>, entry: &Entry) -> Option<&'s Hub> {
    let manifest = survey.manifest.as_ref()?;
    let rows = manifest.hub_map();
    let (_, folder) = rows
        .into_iter()
        .find(|(it, _)| it.words() == entry.words())?;
    survey.hubs.iter().find(|hub| Some(&hub.folder) == folder)
}

/// Whether what a row is about has text that a summary could be made from.
fn has_text(survey: &Survey<'_>, entry: &Entry) -> bool {
    if entry.part == Part::HubMap {
        return hub_of(survey, entry).is_some();
    }
    let found = survey.vault.names.resolve(&entry.target, "_MANIFEST.md");
    let path = found.file().map(|it| survey.vault.file(it).path.clone());
    let text = path.and_then(|it| survey.workspace.read_text(&it).ok());
    text.is_some_and(|text| {
        let document = document::parse(text);
        !document.str(&document.body).trim().is_empty()
    })
}

/// Whether an entry names a file that is not there.
pub(super) fn is_dead(survey: &Survey<'_>, entry: &Entry) -> bool {
    let names = &survey.vault.names;
    !entry.target.is_empty()
        && entry.part != Part::Config
        && names.resolve(&entry.target, "_MANIFEST.md") == Resolution::Missing
        && !is_folder(survey, &entry.target)
}

/// Whether it names the folder of a hub, or closets that are still to be
/// built there: that is for the check of coverage.
fn is_folder(survey: &Survey<'_>, target: &str) -> bool {
    let target = fold(target.trim_end_matches('/'));
    if let Some(folder) = target.strip_suffix("/_closets") {
        let hub = survey
            .hubs
            .iter()
            .find(|it| fold(it.folder.as_str()) == folder);
        return hub.is_some_and(|it| survey.workspace.absolute(&it.folder).is_dir());
    }
    survey
        .hubs
        .iter()
        .any(|it| fold(it.folder.as_str()) == target)
}

pub(super) fn lacks_summary(entry: &Entry) -> bool {
    matches!(entry.part, Part::Tier1 | Part::HubMap)
        && entry.is_row()
        && entry.text.trim().is_empty()
}

fn name(part: Part) -> &'static str {
    match part {
        Part::Tier1 => "Tier 1",
        Part::Tier2 => "Tier 2",
        Part::Tier3 => "Tier 3",
        Part::HubMap => "Hub Map",
        Part::Config => "Config",
    }
}
