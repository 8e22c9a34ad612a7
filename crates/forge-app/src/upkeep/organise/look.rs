//! Reads notes and proposes an order: by existing folders, by words and links
//! that notes share, and by what notes state about themselves.

use std::collections::{BTreeMap, HashMap, HashSet};

use super::anchors::{FixedPaths, is_common_word};
use super::reference::{self, ReferenceKind};
use super::{
    LateralLink, NoteConflict, OrganisePlan, PLAN_VERSION, PlannedDomain, PlannedMove,
    ReferenceNote, StaleNote,
};
use crate::document::{self, Document, content_hash};
use crate::links::{self, NoteVault};
use crate::routing::layout::{self, StateFile};
use crate::routing::manifest::Manifest;
use crate::routing::untracked::{code_folders, is_note};
use crate::upkeep::domain::is_catch_all;
use crate::workspace::{FileRole, RelPath, Workspace, WorkspaceTree, slugify_name};

/// Similarity that a note and a domain need, and its ratio to the next best
/// domain.
const MIN_SIMILARITY: f32 = 0.07;
const MIN_SIMILARITY_RATIO: f32 = 1.25;
/// Words that a note and a domain share at least, or they are not alike.
const MIN_SHARED_WORDS: usize = 3;
/// Score of a link between a note and a domain.
const LINK_SCORE: f32 = 0.15;
/// Notes that make a domain of their own.
const MIN_DOMAIN_NOTES: usize = 3;
const MAX_LATERAL_LINKS: usize = 50;
/// Bytes of a text from which words are taken.
const MAX_OPENING_BYTES: usize = 4000;

/// A note that may be sorted.
struct CandidateNote {
    path: RelPath,
    /// The folder of its domain, if it is in one.
    domain: Option<String>,
    title: String,
    hash: String,
    words: HashMap<String, f32>,
    /// Words in its name, title and headings.
    strong: HashSet<String>,
    stale: Option<String>,
    reference: Option<ReferenceKind>,
}

/// Counts notes that are in no domain, by their paths alone. Files that
/// something reads where they are do not count.
pub fn count_loose_notes(workspace: &Workspace) -> usize {
    let tree = workspace.tree();
    let fixed = FixedPaths::of(workspace, &tree);
    let files = tree
        .files
        .iter()
        .filter(|it| it.role == FileRole::Untracked);
    files
        .filter(|it| is_note(&it.path) && !fixed.is_fixed(&it.path))
        .count()
}

/// Proposes an order for the notes of a workspace, where they have none.
/// Changes nothing. What something reads where it is stays. A repository of
/// software or of a site has its order, and so have notes that all are in
/// folders of their own.
pub fn propose_order(workspace: &Workspace) -> OrganisePlan {
    let tree = workspace.tree();
    let fixed = FixedPaths::of(workspace, &tree);
    let nothing = || OrganisePlan {
        version: PLAN_VERSION,
        about: describe_workspace(workspace),
        ..OrganisePlan::default()
    };
    if fixed.is_project() {
        return nothing();
    }
    let plan = look_at(workspace, tree, &|path| fixed.is_fixed(path));
    // With a manifest, a folder that it does not name is worth a row.
    let is_ordered = plan.moves.is_empty() && plan.catch_alls.is_empty();
    if is_ordered && Manifest::read(workspace).is_none() {
        return nothing();
    }
    plan
}

/// The same over every note, for a workspace that a person starts.
pub(super) fn look_at_all(workspace: &Workspace) -> OrganisePlan {
    look_at(workspace, workspace.tree(), &|_| false)
}

fn look_at(
    workspace: &Workspace,
    tree: WorkspaceTree,
    is_fixed: &dyn Fn(&RelPath) -> bool,
) -> OrganisePlan {
    let manifest = Manifest::read(workspace);
    let known = manifest.as_ref().map(Manifest::domains).unwrap_or_default();
    let code = code_folders(tree.files.iter().map(|it| &it.path));
    let paths = tree
        .files
        .iter()
        .filter(|it| matches!(it.role, FileRole::Untracked | FileRole::Knowledge))
        .map(|it| &it.path)
        .filter(|path| is_note(path) && !path.starts_with("knowledge") && !is_fixed(path));
    // Files of the state are found by their names, wherever they are.
    let state = layout::existing_state_files(workspace, manifest.as_ref());
    let paths: Vec<&RelPath> = paths
        .filter(|path| {
            path.components()
                .next()
                .is_none_or(|top| !code.contains(top))
        })
        .filter(|path| !state.contains(path) || is_in_catch_all(path))
        .collect();
    let folders = find_domain_folders(&paths, &known);
    let mut notes: Vec<CandidateNote> = paths
        .iter()
        .filter_map(|path| read_note(workspace, path, &folders))
        .collect();
    weigh_words(&mut notes);
    let vault = NoteVault::read(workspace);
    let mut plan = OrganisePlan {
        version: PLAN_VERSION,
        about: describe_workspace(workspace),
        ..OrganisePlan::default()
    };
    let mut home: BTreeMap<RelPath, String> = notes
        .iter()
        .filter_map(|note| Some((note.path.clone(), note.domain.clone()?)))
        .collect();
    place_references(workspace, manifest.as_ref(), &notes, &mut home, &mut plan);
    assign_loose_notes(&notes, &folders, &vault, &mut home, &mut plan);
    group_remaining_notes(&notes, &mut home, &mut plan);
    dissolve_catch_alls(&notes, manifest.is_some(), &mut home, &mut plan);
    for note in &notes {
        if let Some(reason) = &note.stale
            && !manifest
                .as_ref()
                .is_some_and(|it| it.retired_files().contains_path(note.path.as_str()))
        {
            plan.archive.push(StaleNote {
                file: note.path.to_string(),
                reason: reason.clone(),
            });
        }
        if !home.contains_key(&note.path) {
            plan.unsorted.push(note.path.to_string());
        }
    }
    add_new_domains(&notes, &home, &known, &mut plan);
    plan.conflicts = find_conflicts(&notes, &plan.moves);
    plan.links = find_lateral_links(workspace, &vault, &notes, &home);
    plan
}

/// Returns the folder above the file that holds unsorted files. One inside a
/// domain is the domain's own affair.
fn find_catch_all(path: &RelPath) -> Option<String> {
    let folders: Vec<&str> = path.components().collect();
    let (_, folders) = folders.split_last()?;
    let at = folders.iter().position(|it| is_catch_all(it))?;
    Some(folders[..=at].join("/"))
}

/// Returns `true` if the file is in a folder of unsorted files.
fn is_in_catch_all(path: &RelPath) -> bool {
    find_catch_all(path).is_some()
}

/// Lists glossaries, contacts and quick references, and moves the only glossary
/// and the only list of contacts to their usual places, unless they belong to a
/// domain.
fn place_references(
    workspace: &Workspace,
    manifest: Option<&Manifest>,
    notes: &[CandidateNote],
    home: &mut BTreeMap<RelPath, String>,
    plan: &mut OrganisePlan,
) {
    for note in notes {
        let Some(kind) = note.reference else { continue };
        // Inside of a domain, a page of commands is one among many.
        if kind == ReferenceKind::QuickReference && note.domain.is_some() {
            continue;
        }
        plan.references.push(ReferenceNote {
            file: note.path.to_string(),
            kind: kind.name().to_owned(),
        });
        let Some(place) = kind.usual_path().filter(|_| note.domain.is_none()) else {
            continue;
        };
        let same = |it: &&CandidateNote| it.domain.is_none() && it.reference == Some(kind);
        let alone = notes.iter().filter(same).count() == 1;
        let glossary = layout::resolve_state_file(workspace, manifest, StateFile::Glossary);
        let other = kind == ReferenceKind::Glossary
            && glossary != note.path
            && workspace.absolute_path(&glossary).is_file();
        if alone && !other && !workspace.root().join(place).exists() {
            home.insert(note.path.clone(), "memory".to_owned());
            plan.moves.push(PlannedMove {
                from: note.path.to_string(),
                to: place.to_owned(),
                why: format!("it is the {} of the workspace", kind.name()),
            });
        }
    }
}

/// Empties the catch-all folders of which at least half finds a domain: the
/// other notes move to `scratch/`. Another catch-all for all of them would be
/// no order. In a workspace with a manifest, whose lint asks for it, every one
/// is emptied.
fn dissolve_catch_alls(
    notes: &[CandidateNote],
    has_manifest: bool,
    home: &mut BTreeMap<RelPath, String>,
    plan: &mut OrganisePlan,
) {
    let mut counts: BTreeMap<String, (usize, usize)> = BTreeMap::new();
    for note in notes.iter().filter(|it| it.domain.is_none()) {
        if let Some(folder) = find_catch_all(&note.path) {
            let (all, at_home) = counts.entry(folder).or_default();
            *all += 1;
            *at_home += usize::from(home.contains_key(&note.path));
        }
    }
    counts.retain(|_, (all, at_home)| has_manifest || *at_home * 2 >= *all);
    let dissolving: HashSet<String> = counts.into_keys().collect();
    for note in notes.iter().filter(|it| it.domain.is_none()) {
        let Some(folder) = find_catch_all(&note.path) else {
            continue;
        };
        if !dissolving.contains(&folder) {
            continue;
        }
        if !home.contains_key(&note.path) {
            let why = format!("{folder}/ is a catch-all, and no domain was found for it");
            add_move(note, "scratch", why, home, plan);
        }
        if !plan.catch_alls.contains(&folder) {
            plan.catch_alls.push(folder);
        }
    }
}

/// Returns the folders that are domains or can become one as they are. A folder
/// that contains only folders is replaced by those.
fn find_domain_folders(paths: &[&RelPath], known: &[String]) -> Vec<String> {
    let mut folders: Vec<String> = known.to_vec();
    let tops: BTreeMap<&str, bool> = paths
        .iter()
        .filter_map(|path| path.as_str().split_once('/'))
        .fold(BTreeMap::new(), |mut tops, (top, rest)| {
            *tops.entry(top).or_default() |= !rest.contains('/');
            tops
        });
    for path in paths {
        let parts: Vec<&str> = path.components().collect();
        let folder = match parts.len() {
            0 | 1 => continue,
            _ if tops.get(parts[0]) == Some(&true) || parts.len() == 2 => parts[0].to_owned(),
            _ => format!("{}/{}", parts[0], parts[1]),
        };
        let inside = |it: &String| RelPath::new(it).is_ok_and(|it| path.starts_with(it.as_str()));
        let last = folder.rsplit('/').next().unwrap_or(&folder);
        if !is_catch_all(last) && last != "archive" && !folders.iter().any(inside) {
            folders.push(folder);
        }
    }
    folders
}

/// Reads a note and weighs its words.
fn read_note(workspace: &Workspace, path: &RelPath, folders: &[String]) -> Option<CandidateNote> {
    let text = workspace.read_text(path).ok()?;
    let hash = content_hash(&text);
    let document = document::parse_document(text);
    let title = document.title().unwrap_or(path.stem()).trim().to_owned();
    let mut strong: HashSet<String> = HashSet::new();
    let mut words: HashMap<String, f32> = HashMap::new();
    let headings = document.sections.iter().map(|it| it.title.as_str());
    for named in [path.stem(), &title].into_iter().chain(headings) {
        for word in extract_words(named) {
            // A word in a name or a heading counts half as much again as one in
            // the text.
            *words.entry(word.clone()).or_default() += 1.5;
            strong.insert(word);
        }
    }
    let body = document.span_text(&document.body);
    let end = (0..=MAX_OPENING_BYTES.min(body.len()))
        .rev()
        .find(|at| body.is_char_boundary(*at));
    for word in extract_words(&body[..end.unwrap_or(0)]) {
        *words.entry(word).or_default() += 1.0;
    }
    Some(CandidateNote {
        domain: folders.iter().find(|it| path.starts_with(it)).cloned(),
        stale: find_stale_reason(&document),
        reference: reference::detect_reference_kind(&document, path.stem()),
        path: path.clone(),
        title,
        hash,
        words,
        strong,
    })
}

/// Returns the significant words of a text.
fn extract_words(text: &str) -> impl Iterator<Item = String> + '_ {
    /// Parts of addresses, which notes on any subject have.
    const ADDRESS_WORDS: [&str; 8] = [
        "http", "https", "www", "com", "org", "net", "html", "website",
    ];
    const STOP_WORDS: [&str; 60] = [
        "about", "after", "all", "also", "and", "any", "are", "been", "but", "can", "das", "der",
        "die", "das", "does", "each", "ein", "eine", "for", "from", "had", "has", "have", "how",
        "into", "its", "list", "may", "more", "must", "new", "not", "note", "notes", "old", "one",
        "only", "our", "out", "over", "plan", "see", "should", "some", "than", "that", "the",
        "their", "them", "then", "there", "they", "this", "und", "use", "was", "what", "when",
        "will", "with",
    ];
    text.split(|c: char| !c.is_alphanumeric())
        .filter(|word| word.chars().count() >= 3 && !word.chars().all(char::is_numeric))
        .map(str::to_lowercase)
        .filter(|word| !STOP_WORDS.contains(&word.as_str()))
        .filter(|word| !ADDRESS_WORDS.contains(&word.as_str()))
        // Plurals count as their singular, which is enough for likeness.
        .map(|word| match word.strip_suffix('s') {
            Some(one) if one.len() > 3 && !one.ends_with('s') => one.to_owned(),
            _ => word,
        })
}

/// Weighs words by their rarity, and scales each note to length one.
fn weigh_words(notes: &mut [CandidateNote]) {
    let mut holding: HashMap<String, f32> = HashMap::new();
    for note in notes.iter() {
        for word in note.words.keys() {
            *holding.entry(word.clone()).or_default() += 1.0;
        }
    }
    let total = notes.len() as f32;
    for note in notes {
        for (word, weight) in &mut note.words {
            *weight = (1.0 + weight.ln()) * (1.0 + total / holding[word]).ln();
        }
        let length = note.words.values().map(|it| it * it).sum::<f32>().sqrt();
        note.words
            .values_mut()
            .for_each(|it| *it /= length.max(f32::MIN_POSITIVE));
    }
}

/// Assigns notes without a domain to the one with the most similar notes.
fn assign_loose_notes(
    notes: &[CandidateNote],
    folders: &[String],
    vault: &NoteVault,
    home: &mut BTreeMap<RelPath, String>,
    plan: &mut OrganisePlan,
) {
    let mut centres: Vec<(&str, HashMap<&str, f32>)> = Vec::new();
    for folder in folders.iter().filter(|it| !is_series(it, notes)) {
        let members = notes
            .iter()
            .filter(|it| it.domain.as_deref() == Some(folder));
        let mut sum: HashMap<&str, f32> = HashMap::new();
        for (word, weight) in members.flat_map(|it| &it.words) {
            *sum.entry(word).or_default() += weight;
        }
        let length = sum.values().map(|it| it * it).sum::<f32>().sqrt();
        sum.values_mut()
            .for_each(|it| *it /= length.max(f32::MIN_POSITIVE));
        centres.push((folder, sum));
    }
    let links = links_between(vault);
    let homeless = |it: &&CandidateNote| it.domain.is_none() && !home.contains_key(&it.path);
    let homeless: Vec<&CandidateNote> = notes.iter().filter(homeless).collect();
    for note in homeless {
        let mut scores: Vec<(f32, &str, Vec<&str>)> = centres
            .iter()
            .map(|(folder, centre)| {
                let mut shared: Vec<(f32, &str)> = note
                    .words
                    .iter()
                    .filter_map(|(word, weight)| {
                        let there = centre.get(word.as_str())?;
                        Some((weight * there, word.as_str()))
                    })
                    .collect();
                let alike: f32 = shared.iter().map(|(it, _)| it).sum();
                shared.sort_by(|a, b| b.0.total_cmp(&a.0).then(a.1.cmp(b.1)));
                let is_coincidence = shared.len() < MIN_SHARED_WORDS;
                let words = shared.into_iter().take(3).map(|(_, word)| word).collect();
                let of_note = links.get(note.path.as_str());
                let linked = of_note.map_or(0, |it| {
                    it.iter()
                        .filter(|it| it.starts_with(&format!("{folder}/")))
                        .count()
                });
                let alike = if is_coincidence { 0.0 } else { alike };
                (alike + LINK_SCORE * linked as f32, *folder, words)
            })
            .collect();
        scores.sort_by(|a, b| b.0.total_cmp(&a.0).then(a.1.cmp(b.1)));
        let next = scores.get(1).map_or(0.0, |it| it.0);
        let Some((score, folder, words)) = scores.into_iter().next() else {
            continue;
        };
        // A note that is similar to no domain, or about equally to two, stays
        // where it is.
        if score < MIN_SIMILARITY || score < MIN_SIMILARITY_RATIO * next {
            continue;
        }
        let why = format!("shares {} with {folder}/", words.join(", "));
        add_move(note, folder, why, home, plan);
    }
}

/// Whether a folder keeps what was sent or written on a day: letters, minutes,
/// an archive. What is added later belongs somewhere else.
fn is_series(folder: &str, notes: &[CandidateNote]) -> bool {
    let is_dated = |note: &&CandidateNote| {
        let digits = note.path.stem().chars().take(4);
        digits.filter(char::is_ascii_digit).count() == 4
    };
    let members = || {
        let inside = |it: &&CandidateNote| it.domain.as_deref() == Some(folder);
        notes.iter().filter(inside)
    };
    let dated = members().filter(is_dated).count();
    folder.to_lowercase().contains("archive") || dated > 1 && dated * 2 > members().count()
}

/// Groups the remaining notes into domains, by words that they share in names,
/// titles or headings.
fn group_remaining_notes(
    notes: &[CandidateNote],
    home: &mut BTreeMap<RelPath, String>,
    plan: &mut OrganisePlan,
) {
    loop {
        let rest: Vec<&CandidateNote> = notes
            .iter()
            .filter(|it| !home.contains_key(&it.path))
            .collect();
        let mut holding: BTreeMap<&str, Vec<&CandidateNote>> = BTreeMap::new();
        for note in &rest {
            for word in &note.strong {
                holding.entry(word).or_default().push(note);
            }
        }
        // A word in all of them does not distinguish them, and is used only
        // without another one.
        let best = holding
            .into_iter()
            .filter(|(word, of)| of.len() >= MIN_DOMAIN_NOTES && !is_catch_all(word))
            .max_by(|a, b| a.1.len().cmp(&b.1.len()).then(b.0.cmp(a.0)));
        let Some((word, group)) = best else { return };
        let Ok(folder) = slugify_name(word) else {
            return;
        };
        let before = home.len();
        for note in group {
            let why = format!("speaks of {word}");
            add_move(note, &folder, why, home, plan);
        }
        // Each round must sort a note, or the loop would not end.
        if home.len() == before {
            return;
        }
    }
}

/// Adds a move to the plan.
fn add_move(
    note: &CandidateNote,
    folder: &str,
    why: String,
    home: &mut BTreeMap<RelPath, String>,
    plan: &mut OrganisePlan,
) {
    home.insert(note.path.clone(), folder.to_owned());
    plan.moves.push(PlannedMove {
        from: note.path.to_string(),
        to: format!("{folder}/{}", note.path.file_name()),
        why,
    });
}

/// Adds domains that the manifest does not have, with the titles of their
/// notes.
fn add_new_domains(
    notes: &[CandidateNote],
    home: &BTreeMap<RelPath, String>,
    known: &[String],
    plan: &mut OrganisePlan,
) {
    let mut titles: BTreeMap<&str, Vec<&str>> = BTreeMap::new();
    for note in notes {
        if let Some(folder) = home.get(&note.path)
            && !known.contains(folder)
            && !["memory", "scratch"].contains(&folder.as_str())
        {
            titles.entry(folder).or_default().push(&note.title);
        }
    }
    for (folder, titles) in titles {
        let mut about = String::new();
        for title in titles {
            if about.chars().count() + title.chars().count() > 240 {
                about.push_str("; …");
                break;
            }
            if !about.is_empty() {
                about.push_str("; ");
            }
            about.push_str(title);
        }
        let last = folder.rsplit('/').next().unwrap_or(folder);
        let spaced = last.replace(['-', '_'], " ");
        let mut chars = spaced.chars();
        let first: String = chars
            .next()
            .into_iter()
            .flat_map(char::to_uppercase)
            .collect();
        plan.domains.push(PlannedDomain {
            folder: folder.to_owned(),
            name: first + chars.as_str(),
            about,
        });
    }
}

/// Explains why a note may be out of date: a statement about the whole note. A
/// note that speaks of deprecated things is not stale, and neither is one with an
/// old date: a meeting, a day or a book is a record.
fn find_stale_reason(document: &Document) -> Option<String> {
    let front = document.front_matter.as_ref();
    let status = front
        .and_then(|it| it.text("status"))
        .unwrap_or_default()
        .to_lowercase();
    if ["archived", "superseded", "deprecated", "obsolete"].contains(&status.as_str()) {
        return Some(format!("its front matter has the status {status}"));
    }
    let (body, _) = document.line_range(&document.body);
    let first = (0..8).filter_map(|at| {
        let start = *document.line_starts.get(body - 1 + at)?;
        let end = document.line_starts.get(body + at).copied();
        let text = &document.text[start..end.unwrap_or(document.text.len())];
        (!document.is_in_code(start)).then_some((body + at, text))
    });
    // A heading names what is below it.
    let mut texts = first.filter(|(_, text)| !text.starts_with('#'));
    texts.find_map(|(line, text)| {
        let word = statement_of_age(text)?;
        Some(format!("has the word \"{word}\" in line {line}"))
    })
}

/// The word by which a line calls the whole note out of date: "Deprecated.",
/// "Superseded by …", "This page is outdated".
fn statement_of_age(line: &str) -> Option<&'static str> {
    const STALE_WORDS: [&str; 4] = ["deprecated", "obsolete", "outdated", "superseded"];
    let plain = line.replace(['*', '_', '>', '#', '`', '!', '[', ']', '~', '⚠'], " ");
    let lower = plain.to_lowercase();
    lower.split(". ").find_map(|sentence| {
        let words: Vec<&str> = sentence
            .split(|c: char| !c.is_alphanumeric())
            .filter(|word| !word.is_empty() && !matches!(*word, "status" | "note" | "warning"))
            .collect();
        let (first, rest) = words.split_first()?;
        let found = |word: &str| STALE_WORDS.into_iter().find(|it| *it == word);
        if let Some(word) = found(first) {
            let is_whole = rest.is_empty() || matches!(rest[0], "by" | "in" | "since" | "see");
            return is_whole.then_some(word);
        }
        // "This page is now outdated": the subject is the note.
        let verb = words
            .iter()
            .position(|it| matches!(*it, "is" | "was" | "are"))?;
        let is_self = *first == "this" && verb <= 3;
        let stated = words[verb + 1..].iter().take(3).find_map(|it| found(it));
        stated.filter(|_| is_self && !words[verb + 1..].contains(&"not"))
    })
}

/// Notes with nearly the same name or the same title and different texts, and
/// moves that would meet.
fn find_conflicts(notes: &[CandidateNote], moves: &[PlannedMove]) -> Vec<NoteConflict> {
    let mut groups: BTreeMap<String, Vec<&CandidateNote>> = BTreeMap::new();
    for note in notes {
        groups
            .entry(strip_copy_words(note.path.stem()))
            .or_default()
            .push(note);
    }
    let mut seen: HashSet<Vec<String>> = HashSet::new();
    let mut found = Vec::new();
    let mut report = |of: &[&CandidateNote], why: &str| {
        // A name belongs to its folder's subject: the same one
        // elsewhere is about something else.
        let is_apart =
            |it: &&CandidateNote| it.domain.is_some() && it.path.parent() != of[0].path.parent();
        if of.iter().any(is_apart) {
            return;
        }
        let mut files: Vec<String> = of.iter().map(|it| it.path.to_string()).collect();
        files.sort();
        if files.len() > 1 && seen.insert(files.clone()) {
            let same = of.iter().all(|it| it.hash == of[0].hash);
            let text = if same {
                "the same text"
            } else {
                "different texts"
            };
            let why = format!("{why}, {text}");
            found.push(NoteConflict { files, why });
        }
    };
    for group in groups.values() {
        report(group, "nearly the same name");
    }
    let mut titles: BTreeMap<String, Vec<&CandidateNote>> = BTreeMap::new();
    for note in notes {
        titles
            .entry(note.title.to_lowercase())
            .or_default()
            .push(note);
    }
    for group in titles.values() {
        report(group, "the same title");
    }
    let mut targets: BTreeMap<&str, Vec<String>> = BTreeMap::new();
    for it in moves {
        targets.entry(&it.to).or_default().push(it.from.clone());
    }
    let taken: HashSet<&str> = notes.iter().map(|it| it.path.as_str()).collect();
    for (to, mut files) in targets {
        if taken.contains(to) {
            files.push(to.to_owned());
        }
        if files.len() > 1 {
            let why = format!("all of them would be {to}; rename one in the plan");
            found.push(NoteConflict { files, why });
        }
    }
    found
}

/// Removes the words from a name that distinguish copies.
fn strip_copy_words(stem: &str) -> String {
    const COPY_WORDS: [&str; 10] = [
        "copy", "draft", "final", "new", "old", "updated", "v1", "v2", "v3", "latest",
    ];
    let lower = stem.to_lowercase();
    let parts = lower.split(|c: char| !c.is_alphanumeric());
    let kept: Vec<&str> = parts
        .filter(|it| {
            !it.is_empty()
                && !COPY_WORDS.contains(it)
                && (it.len() > 1 || !it.chars().all(char::is_numeric))
        })
        .collect();
    if kept.is_empty() {
        lower
    } else {
        kept.join("-")
    }
}

/// Returns, for each note, the notes that it links to or that link to it.
fn links_between(vault: &NoteVault) -> HashMap<&str, Vec<&str>> {
    let mut links: HashMap<&str, Vec<&str>> = HashMap::new();
    for (index, file, note) in vault.notes() {
        for link in &note.links {
            let Some(target) = vault.resolve(index, link).opened_file() else {
                continue;
            };
            let (a, b) = (file.path.as_str(), vault.file(target).path.as_str());
            links.entry(a).or_default().push(b);
            links.entry(b).or_default().push(a);
        }
    }
    links
}

/// Finds notes of other domains that a note mentions by their titles or in
/// another spelling (pass 2). Exact names become links without a proposal.
fn find_lateral_links(
    workspace: &Workspace,
    vault: &NoteVault,
    notes: &[CandidateNote],
    home: &BTreeMap<RelPath, String>,
) -> Vec<LateralLink> {
    let only: Vec<RelPath> = notes.iter().map(|it| it.path.clone()).collect();
    if only.is_empty() {
        return Vec::new();
    }
    let mut seen = HashSet::new();
    links::suggest_mentions(workspace, vault, &only)
        .into_iter()
        .filter(|it| !it.exact && it.text.chars().count() > 3 && !is_common_word(&it.text))
        .filter(|it| match (home.get(&it.path), home.get(&it.note)) {
            (Some(a), Some(b)) => a != b && b != "memory" && b != "scratch",
            _ => false,
        })
        .filter(|it| seen.insert((it.path.clone(), it.note.clone())))
        .take(MAX_LATERAL_LINKS)
        .map(|it| LateralLink {
            file: it.path.to_string(),
            line: it.line,
            text: it.text,
            to: it.note.to_string(),
        })
        .collect()
}

/// Returns the title of the README, or the name of the folder.
fn describe_workspace(workspace: &Workspace) -> String {
    let readme = RelPath::new("README.md").ok();
    let text = readme.and_then(|it| workspace.read_text(&it).ok());
    let title = text.and_then(|it| document::parse_document(it).title().map(str::to_owned));
    let folder = workspace
        .root()
        .file_name()
        .map(|it| it.to_string_lossy().into_owned());
    title.or(folder).unwrap_or_default()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_note_is_stale_when_it_says_so_of_itself() {
        for line in [
            "Deprecated.",
            "> **Deprecated**",
            "Status: Superseded by [[new]]",
            "This recipe is outdated.",
            "Bake it hot. Deprecated.",
            "This page was superseded in May",
        ] {
            assert!(statement_of_age(line).is_some(), "{line}");
        }
        for line in [
            "Deprecated APIs",
            "# Deprecation policy",
            "How to find outdated packages",
            "This page lists flags that are deprecated",
            "This page is not outdated",
            "The old parser is deprecated",
        ] {
            assert_eq!(statement_of_age(line), None, "{line}");
        }
    }
}
