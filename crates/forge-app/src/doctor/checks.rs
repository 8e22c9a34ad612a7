//! Implements the checks of the installation. Each one checks a single thing
//! and adds its findings; a check that could not run reports that instead of
//! `ok`.

use std::collections::HashSet;

use super::ReadingDepth;
use super::findings::OutcomeCollector;
use super::repair::can_shorten;
use super::vouched::{IndexReading, ReadingPlan, read_index};
use crate::corrections;
use crate::document::{self, LineNumbers};
use crate::embed::{self, Embedder};
use crate::finding::{CheckFinding, CheckId, CheckOutcome, CheckSeverity};
use crate::index::{CatalogueEntry, Index};
use crate::knowledge::forget;
use crate::knowledge::readme::{self, ReadmeEntry};
use crate::mind::{self, HOOK_FAILURES_FILE, MindStore, StateLayoutKind};
use crate::recall::{self, RecallMode, RecallQuery};
use crate::routing::layout;
use crate::routing::manifest::Manifest;
use crate::secrets;
use crate::teams::{self, private};
use crate::tokens::{Tokenizer, count_tokens, format_thousands};
use crate::workspace::git::{self, IgnoreStatus, MergeDriver};
use crate::workspace::{
    AutoloadFile, AutoloadScan, DERIVED_FOLDER, RelPath, ScannedFile, UnfinishedEntry, Workspace,
    WorkspaceError, quote_shell_word,
};

/// Checks the settings alone, without opening any file of the workspace.
pub(crate) fn check_settings(workspace: &Workspace) -> Vec<(CheckId, CheckOutcome)> {
    let mut out = OutcomeCollector::default();
    report_settings(workspace, &mut out);
    out.into_outcomes()
}

/// Runs every check but that of the settings, without writing.
pub(crate) fn diagnose_workspace(
    workspace: &Workspace,
    depth: ReadingDepth,
) -> Vec<(CheckId, CheckOutcome)> {
    let mut out = OutcomeCollector::default();
    let scan = workspace.scan();
    // The index is read first, since it decides which files must be opened, and
    // reported after the files.
    let mut of_index = OutcomeCollector::default();
    let index = open_index(workspace, &scan.files, &mut of_index);
    let reading = index.as_ref().map(|it| read_index(workspace, &scan, it));
    let readable = index.as_ref().zip(reading.as_ref());
    let readable = readable.and_then(|(index, reading)| Some((index, reading.as_ref().ok()?)));
    let mut plan = ReadingPlan::for_scan(workspace, &scan, readable, depth);
    for problem in &scan.problems {
        let (path, message) = (&problem.path, &problem.message);
        out.reporter_for(CheckId::KNOWLEDGE_UNREADABLE)
            .add_warning(format!("`{path}` {message}"), "Repair or move it")
            .set_place(path, None);
    }
    let loaded = workspace.find_autoload_files();
    let listed = check_documents(workspace, &scan.files, &loaded, &mut plan, &mut out);
    check_state_files(workspace, &mut out);
    out.append(of_index);
    match index.as_ref().zip(reading) {
        Some((index, reading)) => check_index(workspace, index, reading, &plan, &mut out),
        None => out
            .reporter_for(CheckId::INDEX_SEARCH)
            .add_skipped("Not tried, since there is no index to ask"),
    }
    check_readme_list(workspace, &listed, &plan, &mut out);
    check_forgotten_list(workspace, &mut out);
    check_autoload_sizes(workspace, &loaded, &mut out);
    check_journal(workspace, &mut out);
    check_hook_failures(workspace, &mut out);
    check_git_tracking(workspace, &mut out);
    check_leftovers(workspace, &mut out);
    out.into_outcomes()
}

/// Reports problems of the settings.
fn report_settings(workspace: &Workspace, out: &mut OutcomeCollector) {
    let mut out = out.reporter_for(CheckId::SETTINGS_INVALID);
    for problem in workspace.problems() {
        let next = "Correct it; `memory-forge config` shows every key";
        out.add_warning(problem.to_string(), next)
            .set_place(&problem.file, problem.line);
    }
    out.pass_if_clean(|| "All settings are valid".to_owned());
}

/// Results of reading documents, for checks that need several of them.
#[derive(Default)]
struct DocumentScan {
    listed: Vec<ReadmeEntry>,
    read: usize,
    front_matter: usize,
    found: Vec<CheckFinding>,
}

/// Reads and parses documents once, for all checks of their text, and returns
/// the entries of the list for people.
fn check_documents(
    workspace: &Workspace,
    files: &[ScannedFile],
    loaded: &AutoloadScan,
    plan: &mut ReadingPlan,
    out: &mut OutcomeCollector,
) -> Vec<ReadmeEntry> {
    let mut all = DocumentScan::default();
    let mut believed = 0;
    for (at, file) in files.iter().enumerate() {
        match plan.believed_traits(at) {
            Some(traits) => {
                believed += 1;
                all.front_matter += usize::from(traits.has_front_matter());
            }
            None => check_document(workspace, file, at, plan, &mut all, out),
        }
    }
    // One file differs from the index although its size and time do not: none
    // of its claims is trusted, and all files are read.
    if !plan.contradicted.is_empty() {
        // Files that were counted by the claims of the index are counted again
        // when they are read.
        all.front_matter = all
            .front_matter
            .saturating_sub(plan.count_believed_front_matter());
        believed = 0;
        for at in plan.distrust_index() {
            check_document(workspace, &files[at], at, plan, &mut all, out);
        }
        all.listed.sort_by(|a, b| a.path.cmp(&b.path));
    }
    let DocumentScan {
        listed,
        mut read,
        front_matter,
        mut found,
    } = all;
    let knowledge = read + believed;
    for path in list_files_near_documents(workspace, files, loaded) {
        let Ok(text) = workspace.read_text(&path) else {
            continue;
        };
        read += 1;
        let lines = LineNumbers::of(&text);
        for secret in secrets::find_secrets(&text) {
            let line = lines.line_number_at(secret.span.start);
            found.push(secret_finding(path.as_str(), secret.rule, line));
        }
    }
    let unread = match believed {
        0 => String::new(),
        n => format!(
            ", {} unchanged since the index read them; `--deep` reads all",
            format_thousands(n)
        ),
    };
    out.reporter_for(CheckId::KNOWLEDGE_UNREADABLE)
        .pass_if_clean(|| match knowledge {
            0 => "There is no document yet".to_owned(),
            _ => format!(
                "Every file is readable text ({} read{unread})",
                knowledge - believed
            ),
        });
    for (check, word) in [
        (CheckId::KNOWLEDGE_FRONT_MATTER, front_matter),
        (CheckId::FILES_SECRET, read),
    ] {
        let mut out = out.reporter_for(check);
        for finding in found.iter().filter(|it| it.check == check) {
            out.add_finding(finding.clone());
        }
        out.pass_if_clean(|| match check {
            CheckId::FILES_SECRET => format!("None found ({word} files read{unread})"),
            _ => format!("All of it is valid ({word} of {knowledge} files have it)"),
        });
    }
    listed
}

/// Reads one document and adds what its text shows.
fn check_document(
    workspace: &Workspace,
    file: &ScannedFile,
    at: usize,
    plan: &mut ReadingPlan,
    all: &mut DocumentScan,
    out: &mut OutcomeCollector,
) {
    let path = file.path.as_str();
    let text = match workspace.read_text(&file.path) {
        Ok(text) => text,
        // The file was deleted after the scan.
        Err(e) if e.is_not_found() => return,
        Err(e) => {
            let line = match &e {
                WorkspaceError::NotUtf8 { line, .. } => Some(*line),
                _ => None,
            };
            let next = match &e {
                WorkspaceError::Io { .. } => "Make it readable; until then searches leave it out",
                _ => "Until then searches leave it out",
            };
            let mut out = out.reporter_for(CheckId::KNOWLEDGE_UNREADABLE);
            out.add_problem(
                e.to_string().replace(
                    &*workspace.absolute_path(&file.path).to_string_lossy(),
                    path,
                ),
                next,
            )
            .set_place(path, line);
            return;
        }
    };
    all.read += 1;
    let document = document::parse_document(text);
    all.front_matter += usize::from(document.front_matter.is_some());
    if readme::belongs_in_list(&file.path) {
        all.listed
            .push(ReadmeEntry::from_document(file.path.clone(), &document));
    }
    if let Some(line) = document::find_merge_marker(&document.text) {
        out.reporter_for(CheckId::KNOWLEDGE_UNREADABLE)
            .add_problem(UNMERGED_MESSAGE, UNMERGED_ADVICE)
            .set_place(path, Some(line));
    }
    for problem in &document.problems {
        let finding = CheckFinding::new(
            CheckId::KNOWLEDGE_FRONT_MATTER,
            CheckSeverity::Warning,
            problem.message.clone(),
        );
        all.found.push(
            finding
                .with_place(path, Some(problem.line))
                .with_advice("Correct that line; the text itself is still searched"),
        );
    }
    let secrets = secrets::find_secrets(&document.text);
    for secret in &secrets {
        let line = document.line_number_at(secret.span.start);
        all.found.push(secret_finding(path, secret.rule, line));
    }
    plan.check_document(at, &file.path, &document, !secrets.is_empty());
}

/// Lists the state files and the files that agents load: they are not
/// documents, and may contain a secret all the same.
fn list_files_near_documents(
    workspace: &Workspace,
    files: &[ScannedFile],
    loaded: &AutoloadScan,
) -> Vec<RelPath> {
    let mut all = MindStore::list_all_files(workspace);
    all.extend(loaded.files.iter().map(|it| it.path.clone()));
    all.sort();
    all.dedup();
    let documents: HashSet<&RelPath> = files.iter().map(|it| &it.path).collect();
    all.retain(|path| !documents.contains(path));
    all
}

/// Builds the finding about a secret: its place and its rule, never its text.
fn secret_finding(path: &str, rule: &str, line: usize) -> CheckFinding {
    let message = format!("Looks like a secret ({rule})");
    CheckFinding::new(CheckId::FILES_SECRET, CheckSeverity::Error, message)
        .with_place(path, Some(line))
        .with_advice("Revoke it, then take it out of the file and of git's history")
}

/// Message about an unfinished merge, and its advice.
const UNMERGED_MESSAGE: &str = "Git left both sides of a merge in it";
const UNMERGED_ADVICE: &str = "Decide which side holds and delete the marks";

/// Checks the state files, whose content every session receives.
fn check_state_files(workspace: &Workspace, out: &mut OutcomeCollector) {
    let mind = MindStore::open(workspace);
    if let (Some(message), Some(first)) = (
        mind.describe_layout_conflict(),
        mind.unused_state_files().first(),
    ) {
        let next = format!(
            "Move what still holds into `{}` and its neighbours, then delete the ignored files",
            mind.file_path(mind::MindFile::State)
        );
        out.reporter_for(CheckId::STATE_CONFLICT)
            .add_warning(message, &next)
            .set_place(first.as_str(), None);
    }
    if mind.layout_kind() == StateLayoutKind::Manifest {
        for rivalry in layout::find_rivalries(workspace, Manifest::read(workspace).as_ref()) {
            out.reporter_for(CheckId::STATE_CONFLICT)
                .add_warning(rivalry.message(), &rivalry.advice())
                .set_place(rivalry.used.as_str(), None);
        }
    }
    for (path, line) in mind.find_unfinished_merges() {
        out.reporter_for(CheckId::STATE_CONFLICT)
            .add_problem(UNMERGED_MESSAGE, UNMERGED_ADVICE)
            .set_place(path.as_str(), Some(line));
    }
}

/// Opens the index, or reports why it is missing.
fn open_index(
    workspace: &Workspace,
    files: &[ScannedFile],
    out: &mut OutcomeCollector,
) -> Option<Index> {
    let mut out = out.reporter_for(CheckId::INDEX_DAMAGED);
    match Index::open_existing(&workspace.derived_folder()) {
        Ok(Some(index)) => return Some(index),
        Ok(None)
            if workspace
                .derived_folder()
                .join("index.db")
                .symlink_metadata()
                .is_ok() =>
        {
            out.add_problem(
                format!(
                    "`{DERIVED_FOLDER}/index.db` is not used: this version of the program did not make it here"
                ),
                "Run `memory-forge index`; it builds one from the files",
            );
        }
        Ok(None) if files.is_empty() => {
            out.add_passed("Not needed: there are no documents to index")
        }
        Ok(None) => {
            out.add_warning(
                "There is no index yet",
                "Run `memory-forge index`, or just search",
            );
        }
        Err(e) => {
            out.add_problem(
                e.to_string(),
                "Run `memory-forge index --force`; the index is rebuilt from the files",
            );
        }
    }
    None
}

/// Reports the result of reading the whole index, and runs a query against it.
fn check_index(
    workspace: &Workspace,
    index: &Index,
    reading: Result<IndexReading, crate::index::IndexError>,
    plan: &ReadingPlan,
    out: &mut OutcomeCollector,
) {
    let rebuild = "Run `memory-forge index --force`; the index is rebuilt from the files";
    let reading = match reading {
        Ok(reading) => reading,
        Err(e) => {
            out.reporter_for(CheckId::INDEX_DAMAGED)
                .add_problem(e.to_string(), rebuild);
            out.reporter_for(CheckId::INDEX_SEARCH)
                .add_skipped("Not tried, since the index cannot be read");
            return;
        }
    };
    let IndexReading {
        wrong,
        catalogue,
        behind,
        counts,
        ..
    } = reading;
    let mut findings = out.reporter_for(CheckId::INDEX_DAMAGED);
    for sentence in &wrong {
        findings.add_problem(format!("The index is damaged: {sentence}"), rebuild);
    }
    for path in &plan.contradicted {
        findings
            .add_problem(
                "The indexed text differs, although size and time are the same",
                rebuild,
            )
            .set_place(path.as_str(), None);
    }
    if behind > 0 {
        let now = "The next search reads them; `memory-forge index` does so now";
        findings.add_warning(
            match behind {
                1 => "1 file differs from what was indexed".to_owned(),
                behind => format!("{behind} files differ from what was indexed"),
            },
            now,
        );
    }
    findings.pass_if_clean(|| {
        format!(
            "{} {} and {} passages, {} of them with a vector; all pages read, all files compared",
            format_thousands(counts.files),
            files_word(counts.files),
            format_thousands(counts.chunks),
            format_thousands(counts.embedded)
        )
    });
    let mut findings = out.reporter_for(CheckId::INDEX_SEARCH);
    match probe_search(
        workspace,
        index,
        &catalogue,
        (counts.embedded, counts.chunks),
    ) {
        Ok(SearchProbeOutcome::Yes { path, by_meaning }) => {
            let how = if by_meaning {
                "by words and by meaning"
            } else {
                "by words"
            };
            findings.pass_if_clean(|| {
                format!("A question made from `{path}` found its passage, {how}")
            });
        }
        Ok(SearchProbeOutcome::No { path }) => {
            findings.add_problem(
                format!("A question made from `{path}` did not find its passage"),
                rebuild,
            );
        }
        Ok(SearchProbeOutcome::NothingToAsk) => {
            findings.add_skipped("Not tried, since no passage has words to ask for")
        }
        Err(e) => {
            findings.add_problem(e.to_string(), rebuild);
        }
    }
}

/// Outcome of a query against the index.
enum SearchProbeOutcome {
    Yes { path: String, by_meaning: bool },
    No { path: String },
    NothingToAsk,
}

/// Queries the index for the words of an indexed passage, as a phrase.
fn probe_search(
    workspace: &Workspace,
    index: &Index,
    catalogue: &[CatalogueEntry],
    (embedded, all): (usize, usize),
) -> Result<SearchProbeOutcome, crate::index::IndexError> {
    let forgotten = forget::read_forgotten_paths(workspace).unwrap_or_default();
    // Forgotten documents are excluded from searches, so no query can find
    // them.
    let usable =
        |entry: &&CatalogueEntry| entry.problem.is_none() && !forgotten.contains(&entry.path);
    for entry in catalogue.iter().filter(usable) {
        for passage in index.passages_of_file(&entry.path)? {
            let Some(phrase) = pick_phrase(&passage.text) else {
                continue;
            };
            let quoted = format!("\"{phrase}\"");
            let ask = |question, mode, embedder: Option<&dyn Embedder>| {
                let ask = RecallQuery {
                    question,
                    mode,
                    limit: 5000,
                    unique: false,
                    kinds: Vec::new(),
                    scopes: Vec::new(),
                    since: None,
                    today: None,
                    forgotten: &forgotten,
                    corrections: &corrections::NO_CORRECTIONS,
                    explain: false,
                };
                recall::rank_passages(index, catalogue, embedder, &ask)
            };
            let found = ask(&quoted, RecallMode::Text, None)?;
            let path = entry.path.clone();
            if found
                .hits
                .iter()
                .all(|hit| hit.passage.chunk != passage.chunk)
            {
                return Ok(SearchProbeOutcome::No { path });
            }
            let model = embed::builtin_embedder();
            let mut by_meaning =
                embedded > 0 && index.has_vectors_of_model(model.id(), model.dimensions())?;
            // The vector search gets the passage and not the phrase: a passage
            // is always near to itself, while a few of its words may be near to
            // nothing. While vectors are still being computed, this passage may
            // have none yet.
            let like_it: String = passage.text.chars().take(MAX_PROBE_CHARS).collect();
            if by_meaning
                && ask(&like_it, RecallMode::Vector, Some(model))?
                    .hits
                    .is_empty()
            {
                if embedded == all {
                    return Ok(SearchProbeOutcome::No { path });
                }
                by_meaning = false;
            }
            return Ok(SearchProbeOutcome::Yes { path, by_meaning });
        }
    }
    Ok(SearchProbeOutcome::NothingToAsk)
}

/// Characters of a passage that the vector search receives.
const MAX_PROBE_CHARS: usize = 400;

/// Picks up to six consecutive words without query syntax, from the line that
/// gives the most letters: short lines such as titles occur in many documents.
fn pick_phrase(text: &str) -> Option<String> {
    const MAX_PHRASE_LINES: usize = 20;
    let phrases = text.lines().take(MAX_PHRASE_LINES).map(|line| {
        let words: Vec<&str> = line
            .split_whitespace()
            .skip_while(|word| !word.contains(char::is_alphanumeric))
            .take_while(|word| !word.contains(['"', '“', '”', '*']))
            .take(6)
            .collect();
        words.join(" ")
    });
    let letters = |phrase: &String| phrase.chars().filter(|c| c.is_alphanumeric()).count();
    let best = phrases.max_by_key(letters)?;
    (letters(&best) >= 3).then_some(best)
}

/// Checks the list of documents in `knowledge/README.md`.
fn check_readme_list(
    workspace: &Workspace,
    documents: &[ReadmeEntry],
    plan: &ReadingPlan,
    out: &mut OutcomeCollector,
) {
    let mut out = out.reporter_for(CheckId::KNOWLEDGE_README);
    let next = "Run `memory-forge doctor --fix`";
    match workspace.read_text(&readme::readme_path()) {
        Ok(text) if plan.list_is_current && readme::has_list(&text) => {
            out.pass_if_clean(|| "Lists every document, as `index` wrote it".to_owned());
        }
        Ok(text) => match readme::refresh_list(Some(&text), documents) {
            Err(e) => {
                out.add_warning(e.to_string(), "Then run `memory-forge doctor --fix`")
                    .set_place(readme::README_PATH, None);
            }
            Ok(after) if after != text && readme::has_list(&text) => {
                out.add_warning("Its list of documents is out of date", next)
                    .set_place(readme::README_PATH, None);
            }
            Ok(after) => out.pass_if_clean(|| {
                if after == text {
                    format!("Lists every document ({})", documents.len())
                } else {
                    "Written by hand; `doctor --fix` would add a list of the documents".to_owned()
                }
            }),
        },
        Err(e) if e.is_not_found() && documents.is_empty() => {
            out.add_passed("Not needed: `knowledge/` has no documents");
        }
        Err(e) if e.is_not_found() => {
            out.add_warning(
                "`knowledge/README.md`, the list of documents for people, is missing",
                next,
            )
            .set_place(readme::README_PATH, None);
        }
        Err(_) => out.add_skipped("Could not be read; see above"),
    }
}

/// Checks the list of forgotten documents.
fn check_forgotten_list(workspace: &Workspace, out: &mut OutcomeCollector) {
    let mut out = out.reporter_for(CheckId::KNOWLEDGE_FORGOTTEN);
    let listed = match forget::list_tombstones(workspace) {
        Ok(listed) => listed,
        Err(e) => {
            out.add_problem(e.to_string(), "Repair it; until then searches fail")
                .set_place(forget::RETRACTION_LIST, None);
            return;
        }
    };
    for one in listed.iter().filter(|one| !one.exists) {
        let next = format!(
            "Delete the line, or run `memory-forge restore '{}'`",
            one.path
        );
        out.add_warning(
            format!("`{}` is listed and does not exist", one.path),
            &next,
        )
        .set_place(forget::RETRACTION_LIST, Some(one.line));
    }
    out.pass_if_clean(|| match listed.len() {
        0 => "Nothing is forgotten".to_owned(),
        n => format!(
            "{n} {} left out of searches; `memory-forge restore` brings it back",
            files_word(n)
        ),
    });
}

/// Lists the files that a repair can turn into a stub, each once: a link to
/// another of them is that file.
pub(super) fn list_context_files(loaded: &AutoloadScan) -> impl Iterator<Item = &AutoloadFile> {
    let is_context = |path: &RelPath| matches!(path.file_name(), "CLAUDE.md" | "AGENTS.md");
    let is_listed = move |path: &RelPath| {
        is_context(path) && loaded.files.iter().any(|other| other.path == *path)
    };
    loaded
        .files
        .iter()
        .filter(move |file| is_context(&file.path) && !file.real.as_ref().is_some_and(is_listed))
}

/// Lists the skills that a repair can shorten.
pub(super) fn list_skill_files(loaded: &AutoloadScan) -> impl Iterator<Item = &AutoloadFile> {
    loaded.files.iter().filter(|file| {
        let mut parts = file.path.components();
        parts.any(is_client_folder)
            && parts.any(|part| matches!(part, "skills" | "skill"))
            && file.path.file_name() == "SKILL.md"
    })
}

/// Returns `true` for the folder of an agent client.
fn is_client_folder(name: &str) -> bool {
    matches!(name, ".claude" | ".codex" | ".opencode" | ".agents")
}

/// Returns `true` for a file of a part of the project, such as a package. It is
/// its owners' business: a repair touches it only when it is named.
pub(super) fn is_nested(path: &RelPath) -> bool {
    let first = path.components().next().unwrap_or_default();
    path.parent().is_some() && !is_client_folder(first)
}

/// Checks the sizes of the files that agents load.
fn check_autoload_sizes(workspace: &Workspace, loaded: &AutoloadScan, out: &mut OutcomeCollector) {
    let mut out = out.reporter_for(CheckId::AUTOLOAD_SIZE);
    let limits = &workspace.config().audit;
    let mut counted = 0;
    for file in list_context_files(loaded) {
        let path = file.path.as_str();
        let text = match workspace.read_text(&file.path) {
            Ok(text) => text,
            Err(e) => {
                out.add_warning(e.to_string(), "Agents may read it differently from us")
                    .set_place(path, None);
                continue;
            }
        };
        counted += 1;
        let tokens = count_tokens(Tokenizer::O200k, &text);
        let when = match file.path.parent().filter(|_| is_nested(&file.path)) {
            Some(folder) => format!("loaded by work in `{folder}/`"),
            None => "loaded at every start".to_owned(),
        };
        let size = format!("{} tokens (o200k) {when}", format_thousands(tokens));
        if tokens <= limits.file_warn {
            continue;
        }
        let next = advise_on_size(workspace, loaded, &file.path);
        if tokens > limits.file_critical {
            out.add_problem(
                format!("{size}, above {} (CRITICAL)", limits.file_critical),
                &next,
            )
            .set_place(path, None);
        } else {
            out.add_warning(
                format!("{size}, above {} (WARNING)", limits.file_warn),
                &next,
            )
            .set_place(path, None);
        }
    }
    for file in list_skill_files(loaded).filter(|file| !is_nested(&file.path)) {
        let Ok(text) = workspace.read_text(&file.path) else {
            continue;
        };
        let tokens = count_tokens(Tokenizer::O200k, &text);
        if tokens > limits.skill_warn {
            // A skill is read when it is used, not at every start.
            let size = format!(
                "{} tokens (o200k) in a skill, above {}",
                format_thousands(tokens),
                limits.skill_warn
            );
            out.add_warning(size, &advise_on_size(workspace, loaded, &file.path))
                .set_place(file.path.as_str(), None);
        }
    }
    for problem in &loaded.problems {
        out.add_warning(problem.to_string(), "Repair it, so that it can be counted")
            .set_place(&problem.path, None);
    }
    out.pass_if_clean(|| match counted {
        0 => "There is no `CLAUDE.md` or `AGENTS.md`".to_owned(),
        n => format!(
            "{n} context {} counted, none above {} tokens",
            files_word(n),
            limits.file_warn
        ),
    });
}

/// Returns advice that ends a finding about the size of a file.
fn advise_on_size(workspace: &Workspace, loaded: &AutoloadScan, path: &RelPath) -> String {
    if can_shorten(workspace, loaded, path) {
        let command = list_fix_commands(&[path]).concat();
        format!("Run `{command}`; it shows a diff first")
    } else {
        "A person has to shorten it; what it holds must stay where agents load it".to_owned()
    }
}

/// Files of parts of the project that one command names.
const MAX_NAMED_FILES: usize = 3;

/// Returns the commands that shorten these files: one for those of the project
/// itself, which need no name, and one that names the first of the others.
pub fn list_fix_commands(paths: &[&RelPath]) -> Vec<String> {
    const FIX_COMMAND: &str = "memory-forge doctor --fix";
    let mut commands = Vec::new();
    if paths.iter().any(|path| !is_nested(path)) {
        commands.push(FIX_COMMAND.to_owned());
    }
    let nested = paths
        .iter()
        .filter(|path| is_nested(path))
        .take(MAX_NAMED_FILES);
    let names: Vec<String> = nested.map(|path| quote_shell_word(path.as_str())).collect();
    if !names.is_empty() {
        commands.push(format!("{FIX_COMMAND} {}", names.join(" ")));
    }
    commands
}

/// Checks the journal for interrupted and damaged changes.
fn check_journal(workspace: &Workspace, out: &mut OutcomeCollector) {
    let mut out = out.reporter_for(CheckId::UNDO_JOURNAL);
    let looked = workspace
        .history()
        .and_then(|history| Ok((history, workspace.unfinished_entries()?)));
    let (history, unfinished) = match looked {
        Ok(looked) => looked,
        Err(e) => {
            out.add_problem(e.to_string(), "Until then nothing can be changed or undone");
            return;
        }
    };
    for entry in &unfinished {
        match entry {
            UnfinishedEntry::Pending { id } => out.add_warning(
                format!("Change {id} is under way or was cut off"),
                "If no other process is writing, the next change rolls it back",
            ),
            UnfinishedEntry::Interrupted { id } => out.add_warning(
                format!("Change {id} was cut off, and a file was edited since"),
                &format!(
                    "Compare with the bytes before in `{DERIVED_FOLDER}/undo/{id}.interrupted/`"
                ),
            ),
            UnfinishedEntry::Damaged { id, why } => out.add_warning(
                format!("Change {id} cannot be undone: {why}"),
                &format!("Move `{DERIVED_FOLDER}/undo/{id}` away"),
            ),
        };
    }
    out.pass_if_clean(|| match history.len() {
        0 => "No change was made yet".to_owned(),
        n => format!(
            "{n} {} can be undone; none is half done",
            if n == 1 { "change" } else { "changes" }
        ),
    });
}

/// Checks for failures of hooks. Hooks may not print errors, so they record
/// them; each record is an event that memory missed, hence an error and not a
/// warning.
fn check_hook_failures(workspace: &Workspace, out: &mut OutcomeCollector) {
    if let Some(failures) = mind::read_hook_failures(workspace) {
        let latest = document::escape_markdown_line(&secrets::redact_secrets(&failures.latest));
        out.reporter_for(CheckId::HOOKS_FAILED)
            .add_problem(
                format!(
                    "Hooks failed, {} in all, the latest: {latest}",
                    failures.count
                ),
                &format!("Delete `{HOOK_FAILURES_FILE}` when the cause is fixed"),
            )
            .set_place(HOOK_FAILURES_FILE, None);
    }
}

/// Checks that git ignores derived and private files and knows the merge
/// driver.
fn check_git_tracking(workspace: &Workspace, out: &mut OutcomeCollector) {
    let mut out = out.reporter_for(CheckId::GIT_TRACKED);
    let root = workspace.root();
    match git::ignore_status(root, &format!("{DERIVED_FOLDER}/")) {
        IgnoreStatus::Unknown => {
            return match git::repository_refusal(root) {
                Some(why) => {
                    out.add_warning(
                        format!("git was not run: {why}"),
                        "Inspect `.git`, and remove it if it is not yours",
                    );
                }
                None => out.add_passed("There is no git repository here"),
            };
        }
        IgnoreStatus::By(file) => {
            out.pass_later(format!("`{DERIVED_FOLDER}/` is ignored, by `{file}`"))
        }
        IgnoreStatus::No => {
            out.add_warning(
                format!("`{DERIVED_FOLDER}/` is not ignored"),
                "Run `memory-forge init`",
            );
        }
    }
    match git::count_tracked_below(root, DERIVED_FOLDER) {
        Ok(0) => {}
        Ok(n) => {
            let next =
                format!("Run `git rm -r --cached {DERIVED_FOLDER}`; the files stay where they are");
            out.add_problem(
                format!("git tracks {n} {} of `{DERIVED_FOLDER}/`", files_word(n)),
                &next,
            );
        }
        Err(e) => {
            out.add_warning(e.to_string(), "Repair the repository");
        }
    }
    for path in private::list_tracked_private_files(workspace).unwrap_or_default() {
        let next = format!("Run `git rm --cached {path}`, or `memory-forge share {path}`");
        out.add_problem("git tracks it although its name marks it as private", &next)
            .set_place(&path, None);
    }
    if teams::has_merge_driver(workspace) && git::merge_driver(root) == MergeDriver::Missing {
        out.add_warning(
            "`.gitattributes` names our merge driver, and this clone does not know it: \
             memory is merged by lines",
            "Run `memory-forge setup --git`",
        );
    }
    out.finish();
}

/// Checks for temporary files of interrupted writes.
fn check_leftovers(workspace: &Workspace, out: &mut OutcomeCollector) {
    let mut out = out.reporter_for(CheckId::FILES_LEFTOVER);
    let (files, unreadable) = workspace.find_leftovers();
    for path in &files {
        out.add_warning("Left over from a write that was cut off", "Delete it")
            .set_place(path.as_str(), None);
    }
    if unreadable > 0 {
        out.add_warning(
            format!("{unreadable} folders could not be looked into"),
            "Make them readable",
        );
    }
    out.pass_if_clean(|| "No temporary file was left behind".to_owned());
}

/// Returns `file` or `files`.
fn files_word(count: usize) -> &'static str {
    if count == 1 { "file" } else { "files" }
}

#[cfg(test)]
mod tests;
