//! Implements the checks of the installation. Each one checks a single thing
//! and adds its findings; a check that could not run reports that instead of
//! `ok`.

use std::collections::HashSet;

use super::ReadingDepth;
use super::findings::Findings;
use super::repair::shortens;
use super::vouched::{IndexReading, ReadingPlan, read_index};
use crate::corrections;
use crate::document::{self, LineNumbers};
use crate::embed::{self, Embedder};
use crate::finding::{CheckId, CheckOutcome, Finding, Severity};
use crate::index::{Entry, Index};
use crate::knowledge::forget;
use crate::knowledge::readme::{self, Listed};
use crate::mind::{self, HOOK_FAILURES, Layout, Mind};
use crate::recall::{self, Ask, Mode};
use crate::routing::layout;
use crate::routing::manifest::Manifest;
use crate::secrets;
use crate::teams::{self, private};
use crate::tokens::{Tokenizer, count_tokens, thousands};
use crate::workspace::git::{self, Driver, Ignored};
use crate::workspace::{
    Autoload, AutoloadFile, DERIVED, Error, Found, RelPath, Unfinished, Workspace, shell_word,
};

/// Checks the settings alone, without opening any file of the workspace.
pub(crate) fn check_settings(workspace: &Workspace) -> Vec<(CheckId, CheckOutcome)> {
    let mut out = Findings::default();
    settings(workspace, &mut out);
    out.all()
}

/// Runs every check but that of the settings, without writing.
pub(crate) fn diagnose(workspace: &Workspace, depth: ReadingDepth) -> Vec<(CheckId, CheckOutcome)> {
    let mut out = Findings::default();
    let scan = workspace.scan();
    // The index is read first, since it decides which files must be opened, and
    // reported after the files.
    let mut of_index = Findings::default();
    let index = open(workspace, &scan.files, &mut of_index);
    let reading = index.as_ref().map(|it| read_index(workspace, &scan, it));
    let readable = index.as_ref().zip(reading.as_ref());
    let readable = readable.and_then(|(index, reading)| Some((index, reading.as_ref().ok()?)));
    let mut plan = ReadingPlan::of(workspace, &scan, readable, depth);
    for problem in &scan.problems {
        let (path, message) = (&problem.path, &problem.message);
        out.of(CheckId::KNOWLEDGE_UNREADABLE)
            .warn(format!("`{path}` {message}"), "Repair or move it")
            .at(path, None);
    }
    let loaded = workspace.autoload();
    let listed = documents(workspace, &scan.files, &loaded, &mut plan, &mut out);
    state(workspace, &mut out);
    out.append(of_index);
    match index.as_ref().zip(reading) {
        Some((index, reading)) => index_holds(workspace, index, reading, &plan, &mut out),
        None => out
            .of(CheckId::INDEX_SEARCH)
            .skip("Not tried, since there is no index to ask"),
    }
    list_for_people(workspace, &listed, &plan, &mut out);
    tombstones(workspace, &mut out);
    autoload(workspace, &loaded, &mut out);
    journal(workspace, &mut out);
    hooks(workspace, &mut out);
    out_of_gits_sight(workspace, &mut out);
    leftovers(workspace, &mut out);
    out.all()
}

/// Reports problems of the settings.
fn settings(workspace: &Workspace, out: &mut Findings) {
    let mut out = out.of(CheckId::SETTINGS_INVALID);
    for problem in workspace.problems() {
        let next = "Correct it; `memory-forge config` shows every key";
        out.warn(problem.to_string(), next)
            .at(&problem.file, problem.line);
    }
    out.ok(|| "Every setting that is given is understood".to_owned());
}

/// Results of reading documents, for checks that need several of them.
#[derive(Default)]
struct DocumentsRead {
    listed: Vec<Listed>,
    read: usize,
    front_matter: usize,
    found: Vec<Finding>,
}

/// Reads and parses documents once, for all checks of their text, and returns
/// the entries of the list for people.
fn documents(
    workspace: &Workspace,
    files: &[Found],
    loaded: &Autoload,
    plan: &mut ReadingPlan,
    out: &mut Findings,
) -> Vec<Listed> {
    let mut all = DocumentsRead::default();
    let mut believed = 0;
    for (at, file) in files.iter().enumerate() {
        match plan.believed(at) {
            Some(traits) => {
                believed += 1;
                all.front_matter += usize::from(traits.has_front_matter());
            }
            None => look_at(workspace, file, at, plan, &mut all, out),
        }
    }
    // One file differs from the index although its size and time do not: none
    // of its claims is trusted, and all files are read.
    if !plan.contradicted.is_empty() {
        // Files that were counted by the claims of the index are counted again
        // when they are read.
        all.front_matter = all
            .front_matter
            .saturating_sub(plan.believed_front_matter());
        believed = 0;
        for at in plan.distrust() {
            look_at(workspace, &files[at], at, plan, &mut all, out);
        }
        all.listed.sort_by(|a, b| a.path.cmp(&b.path));
    }
    let DocumentsRead {
        listed,
        mut read,
        front_matter,
        mut found,
    } = all;
    let knowledge = read + believed;
    for path in beside(workspace, files, loaded) {
        let Ok(text) = workspace.read_text(&path) else {
            continue;
        };
        read += 1;
        let lines = LineNumbers::of(&text);
        for secret in secrets::find(&text) {
            let line = lines.at(secret.span.start);
            found.push(looks_secret(path.as_str(), secret.rule, line));
        }
    }
    let unread = match believed {
        0 => String::new(),
        n => format!(
            ", {} unchanged since the index read them; `--deep` reads all",
            thousands(n)
        ),
    };
    out.of(CheckId::KNOWLEDGE_UNREADABLE)
        .ok(|| match knowledge {
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
        let mut out = out.of(check);
        for finding in found.iter().filter(|it| it.check == check) {
            out.push(finding.clone());
        }
        out.ok(|| match check {
            CheckId::FILES_SECRET => format!("None found ({word} files read{unread})"),
            _ => format!("All of it is valid ({word} of {knowledge} files have it)"),
        });
    }
    listed
}

/// Reads one document and adds what its text shows.
fn look_at(
    workspace: &Workspace,
    file: &Found,
    at: usize,
    plan: &mut ReadingPlan,
    all: &mut DocumentsRead,
    out: &mut Findings,
) {
    let path = file.path.as_str();
    let text = match workspace.read_text(&file.path) {
        Ok(text) => text,
        // The file was deleted after the scan.
        Err(e) if e.is_not_found() => return,
        Err(e) => {
            let line = match &e {
                Error::NotUtf8 { line, .. } => Some(*line),
                _ => None,
            };
            let next = match &e {
                Error::Io { .. } => "Make it readable; until then searches leave it out",
                _ => "Until then searches leave it out",
            };
            let mut out = out.of(CheckId::KNOWLEDGE_UNREADABLE);
            out.problem(
                e.to_string()
                    .replace(&*workspace.absolute(&file.path).to_string_lossy(), path),
                next,
            )
            .at(path, line);
            return;
        }
    };
    all.read += 1;
    let document = document::parse(text);
    all.front_matter += usize::from(document.front_matter.is_some());
    if readme::is_listed(&file.path) {
        all.listed.push(Listed::of(file.path.clone(), &document));
    }
    if let Some(line) = document::unmerged(&document.text) {
        out.of(CheckId::KNOWLEDGE_UNREADABLE)
            .problem(UNMERGED, DECIDE)
            .at(path, Some(line));
    }
    for problem in &document.problems {
        let finding = Finding::new(
            CheckId::KNOWLEDGE_FRONT_MATTER,
            Severity::Warning,
            problem.message.clone(),
        );
        all.found.push(
            finding
                .at(path, Some(problem.line))
                .advice("Correct that line; the text itself is still searched"),
        );
    }
    let secrets = secrets::find(&document.text);
    for secret in &secrets {
        let line = document.line_of(secret.span.start);
        all.found.push(looks_secret(path, secret.rule, line));
    }
    plan.check(at, &file.path, &document, !secrets.is_empty());
}

/// Lists the state files and the files that agents load: they are not
/// documents, and may contain a secret all the same.
fn beside(workspace: &Workspace, files: &[Found], loaded: &Autoload) -> Vec<RelPath> {
    let mut all = Mind::all_files(workspace);
    all.extend(loaded.files.iter().map(|it| it.path.clone()));
    all.sort();
    all.dedup();
    let documents: HashSet<&RelPath> = files.iter().map(|it| &it.path).collect();
    all.retain(|path| !documents.contains(path));
    all
}

/// Builds the finding about a secret: its place and its rule, never its text.
fn looks_secret(path: &str, rule: &str, line: usize) -> Finding {
    let message = format!("Looks like a secret ({rule})");
    Finding::new(CheckId::FILES_SECRET, Severity::Error, message)
        .at(path, Some(line))
        .advice("Revoke it, then take it out of the file and of git's history")
}

/// Message about an unfinished merge, and its advice.
const UNMERGED: &str = "Git left both sides of a merge in it";
const DECIDE: &str = "Decide which side holds and delete the marks";

/// Checks the state files, whose content every session receives.
fn state(workspace: &Workspace, out: &mut Findings) {
    let mind = Mind::open(workspace);
    if let (Some(message), Some(first)) = (mind.two_layouts(), mind.unused_state().first()) {
        let next = format!(
            "Move what still holds into `{}` and its neighbours, then delete the ignored files",
            mind.file(mind::File::State)
        );
        out.of(CheckId::STATE_CONFLICT)
            .warn(message, &next)
            .at(first.as_str(), None);
    }
    if mind.layout() == Layout::Manifest {
        for rivalry in layout::rivalries(workspace, Manifest::read(workspace).as_ref()) {
            out.of(CheckId::STATE_CONFLICT)
                .warn(rivalry.message(), &rivalry.advice())
                .at(rivalry.used.as_str(), None);
        }
    }
    for (path, line) in mind.unmerged() {
        out.of(CheckId::STATE_CONFLICT)
            .problem(UNMERGED, DECIDE)
            .at(path.as_str(), Some(line));
    }
}

/// Opens the index, or reports why it is missing.
fn open(workspace: &Workspace, files: &[Found], out: &mut Findings) -> Option<Index> {
    let mut out = out.of(CheckId::INDEX_DAMAGED);
    match Index::open_existing(&workspace.derived()) {
        Ok(Some(index)) => return Some(index),
        Ok(None)
            if workspace
                .derived()
                .join("index.db")
                .symlink_metadata()
                .is_ok() =>
        {
            out.problem(
                format!(
                    "`{DERIVED}/index.db` is not used: this version of the program did not make it here"
                ),
                "Run `memory-forge index`; it builds one from the files",
            );
        }
        Ok(None) if files.is_empty() => out.none("Not there, and there is nothing to index"),
        Ok(None) => {
            out.warn(
                "There is no index yet",
                "Run `memory-forge index`, or just search",
            );
        }
        Err(e) => {
            out.problem(
                e.to_string(),
                "Run `memory-forge index --force`; the index is rebuilt from the files",
            );
        }
    }
    None
}

/// Reports the result of reading the whole index, and runs a query against it.
fn index_holds(
    workspace: &Workspace,
    index: &Index,
    reading: Result<IndexReading, crate::index::Error>,
    plan: &ReadingPlan,
    out: &mut Findings,
) {
    let rebuild = "Run `memory-forge index --force`; the index is rebuilt from the files";
    let reading = match reading {
        Ok(reading) => reading,
        Err(e) => {
            out.of(CheckId::INDEX_DAMAGED)
                .problem(e.to_string(), rebuild);
            out.of(CheckId::INDEX_SEARCH)
                .skip("Not tried, since the index cannot be read");
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
    let mut findings = out.of(CheckId::INDEX_DAMAGED);
    for sentence in &wrong {
        findings.problem(format!("The index is damaged: {sentence}"), rebuild);
    }
    for path in &plan.contradicted {
        findings
            .problem(
                "The index has another text, though size and time are as they were",
                rebuild,
            )
            .at(path.as_str(), None);
    }
    if behind > 0 {
        let now = "The next search reads them; `memory-forge index` does so now";
        findings.warn(
            match behind {
                1 => "1 file differs from what was indexed".to_owned(),
                behind => format!("{behind} files differ from what was indexed"),
            },
            now,
        );
    }
    findings.ok(|| {
        format!(
            "{} {} and {} passages, {} of them with a vector; all pages read, all files compared",
            thousands(counts.files),
            files_word(counts.files),
            thousands(counts.chunks),
            thousands(counts.embedded)
        )
    });
    let mut findings = out.of(CheckId::INDEX_SEARCH);
    match answers(
        workspace,
        index,
        &catalogue,
        (counts.embedded, counts.chunks),
    ) {
        Ok(Answered::Yes { path, by_meaning }) => {
            let how = if by_meaning {
                "by words and by meaning"
            } else {
                "by words"
            };
            findings.ok(|| format!("A question made from `{path}` found its passage, {how}"));
        }
        Ok(Answered::No { path }) => {
            findings.problem(
                format!("A question made from `{path}` did not find its passage"),
                rebuild,
            );
        }
        Ok(Answered::NothingToAsk) => {
            findings.skip("Not tried, since no passage has words to ask for")
        }
        Err(e) => {
            findings.problem(e.to_string(), rebuild);
        }
    }
}

/// Outcome of a query against the index.
enum Answered {
    Yes { path: String, by_meaning: bool },
    No { path: String },
    NothingToAsk,
}

/// Queries the index for the words of an indexed passage, as a phrase.
fn answers(
    workspace: &Workspace,
    index: &Index,
    catalogue: &[Entry],
    (embedded, all): (usize, usize),
) -> Result<Answered, crate::index::Error> {
    let forgotten = forget::forgotten(workspace).unwrap_or_default();
    // Forgotten documents are excluded from searches, so no query can find
    // them.
    let usable = |entry: &&Entry| entry.problem.is_none() && !forgotten.contains(&entry.path);
    for entry in catalogue.iter().filter(usable) {
        for passage in index.passages_of(&entry.path)? {
            let Some(phrase) = phrase(&passage.text) else {
                continue;
            };
            let quoted = format!("\"{phrase}\"");
            let ask = |question, mode, embedder: Option<&dyn Embedder>| {
                let ask = Ask {
                    question,
                    mode,
                    limit: 5000,
                    unique: false,
                    kinds: Vec::new(),
                    scopes: Vec::new(),
                    since: None,
                    today: None,
                    forgotten: &forgotten,
                    corrections: &corrections::NONE,
                    explain: false,
                };
                recall::ask(index, catalogue, embedder, &ask)
            };
            let found = ask(&quoted, Mode::Text, None)?;
            let path = entry.path.clone();
            if found
                .hits
                .iter()
                .all(|hit| hit.passage.chunk != passage.chunk)
            {
                return Ok(Answered::No { path });
            }
            let model = embed::builtin();
            let mut by_meaning = embedded > 0 && index.has_model(model.id(), model.dimensions())?;
            // The vector search gets the passage and not the phrase: a passage
            // is always near to itself, while a few of its words may be near to
            // nothing. While vectors are still being computed, this passage may
            // have none yet.
            let like_it: String = passage.text.chars().take(LIKE_IT).collect();
            if by_meaning && ask(&like_it, Mode::Vector, Some(model))?.hits.is_empty() {
                if embedded == all {
                    return Ok(Answered::No { path });
                }
                by_meaning = false;
            }
            return Ok(Answered::Yes { path, by_meaning });
        }
    }
    Ok(Answered::NothingToAsk)
}

/// Characters of a passage that the vector search receives.
const LIKE_IT: usize = 400;

/// Picks up to six consecutive words without query syntax, from the line that
/// gives the most letters: short lines such as titles occur in many documents.
fn phrase(text: &str) -> Option<String> {
    const MAX_LINES: usize = 20;
    let phrases = text.lines().take(MAX_LINES).map(|line| {
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
fn list_for_people(
    workspace: &Workspace,
    documents: &[Listed],
    plan: &ReadingPlan,
    out: &mut Findings,
) {
    let mut out = out.of(CheckId::KNOWLEDGE_README);
    let next = "Run `memory-forge doctor --fix`";
    match workspace.read_text(&readme::path()) {
        Ok(text) if plan.list_is_current && readme::has_list(&text) => {
            out.ok(|| "Lists every document, as `index` wrote it".to_owned());
        }
        Ok(text) => match readme::refreshed(Some(&text), documents) {
            Err(e) => {
                out.warn(e.to_string(), "Then run `memory-forge doctor --fix`")
                    .at(readme::PATH, None);
            }
            Ok(after) if after != text && readme::has_list(&text) => {
                out.warn("Its list of documents is out of date", next)
                    .at(readme::PATH, None);
            }
            Ok(after) => out.ok(|| {
                if after == text {
                    format!("Lists every document ({})", documents.len())
                } else {
                    "Written by hand; `doctor --fix` would add a list of the documents".to_owned()
                }
            }),
        },
        Err(e) if e.is_not_found() && documents.is_empty() => {
            out.none("Not there, and there is nothing to list");
        }
        Err(e) if e.is_not_found() => {
            out.warn("People have no index of what is in `knowledge/`", next)
                .at(readme::PATH, None);
        }
        Err(_) => out.skip("Could not be read; see above"),
    }
}

/// Checks the list of forgotten documents.
fn tombstones(workspace: &Workspace, out: &mut Findings) {
    let mut out = out.of(CheckId::KNOWLEDGE_FORGOTTEN);
    let listed = match forget::list(workspace) {
        Ok(listed) => listed,
        Err(e) => {
            out.problem(e.to_string(), "Repair it; until then searches fail")
                .at(forget::LIST, None);
            return;
        }
    };
    for one in listed.iter().filter(|one| !one.exists) {
        let next = format!(
            "Delete the line, or run `memory-forge restore '{}'`",
            one.path
        );
        out.warn(
            format!("`{}` is listed and does not exist", one.path),
            &next,
        )
        .at(forget::LIST, Some(one.line));
    }
    out.ok(|| match listed.len() {
        0 => "Nothing is forgotten".to_owned(),
        n => format!(
            "{n} {} left out of searches; `memory-forge restore` lifts it",
            files_word(n)
        ),
    });
}

/// Lists the files that a repair can turn into a stub, each once: a link to
/// another of them is that file.
pub(super) fn context_files(loaded: &Autoload) -> impl Iterator<Item = &AutoloadFile> {
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
pub(super) fn skill_files(loaded: &Autoload) -> impl Iterator<Item = &AutoloadFile> {
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
fn autoload(workspace: &Workspace, loaded: &Autoload, out: &mut Findings) {
    let mut out = out.of(CheckId::AUTOLOAD_SIZE);
    let limits = &workspace.config().audit;
    let mut counted = 0;
    for file in context_files(loaded) {
        let path = file.path.as_str();
        let text = match workspace.read_text(&file.path) {
            Ok(text) => text,
            Err(e) => {
                out.warn(e.to_string(), "Agents may read it differently from us")
                    .at(path, None);
                continue;
            }
        };
        counted += 1;
        let tokens = count_tokens(Tokenizer::O200k, &text);
        let when = match file.path.parent().filter(|_| is_nested(&file.path)) {
            Some(folder) => format!("loaded by work in `{folder}/`"),
            None => "loaded at every start".to_owned(),
        };
        let size = format!("{} tokens (o200k) {when}", thousands(tokens));
        if tokens <= limits.file_warn {
            continue;
        }
        let next = next_step(workspace, loaded, &file.path);
        if tokens > limits.file_critical {
            out.problem(
                format!("{size}, above {} (CRITICAL)", limits.file_critical),
                &next,
            )
            .at(path, None);
        } else {
            out.warn(
                format!("{size}, above {} (WARNING)", limits.file_warn),
                &next,
            )
            .at(path, None);
        }
    }
    for file in skill_files(loaded).filter(|file| !is_nested(&file.path)) {
        let Ok(text) = workspace.read_text(&file.path) else {
            continue;
        };
        let tokens = count_tokens(Tokenizer::O200k, &text);
        if tokens > limits.skill_warn {
            // A skill is read when it is used, not at every start.
            let size = format!(
                "{} tokens (o200k) in a skill, above {}",
                thousands(tokens),
                limits.skill_warn
            );
            out.warn(size, &next_step(workspace, loaded, &file.path))
                .at(file.path.as_str(), None);
        }
    }
    for problem in &loaded.problems {
        out.warn(problem.to_string(), "Repair it, so that it can be counted")
            .at(&problem.path, None);
    }
    out.ok(|| match counted {
        0 => "There is no `CLAUDE.md` or `AGENTS.md`".to_owned(),
        n => format!(
            "{n} context {} counted, none above {} tokens",
            files_word(n),
            limits.file_warn
        ),
    });
}

/// Returns advice that ends a finding about the size of a file.
fn next_step(workspace: &Workspace, loaded: &Autoload, path: &RelPath) -> String {
    if shortens(workspace, loaded, path) {
        let command = fix_commands(&[path]).concat();
        format!("Run `{command}`; it shows a diff first")
    } else {
        "A person has to shorten it; what it holds must stay where agents load it".to_owned()
    }
}

/// Files of parts of the project that one command names.
const MAX_NAMED: usize = 3;

/// Returns the commands that shorten these files: one for those of the project
/// itself, which need no name, and one that names the first of the others.
pub fn fix_commands(paths: &[&RelPath]) -> Vec<String> {
    const FIX: &str = "memory-forge doctor --fix";
    let mut commands = Vec::new();
    if paths.iter().any(|path| !is_nested(path)) {
        commands.push(FIX.to_owned());
    }
    let nested = paths.iter().filter(|path| is_nested(path)).take(MAX_NAMED);
    let names: Vec<String> = nested.map(|path| shell_word(path.as_str())).collect();
    if !names.is_empty() {
        commands.push(format!("{FIX} {}", names.join(" ")));
    }
    commands
}

/// Checks the journal for interrupted and damaged changes.
fn journal(workspace: &Workspace, out: &mut Findings) {
    let mut out = out.of(CheckId::UNDO_JOURNAL);
    let looked = workspace
        .history()
        .and_then(|history| Ok((history, workspace.unfinished()?)));
    let (history, unfinished) = match looked {
        Ok(looked) => looked,
        Err(e) => {
            out.problem(e.to_string(), "Until then nothing can be changed or undone");
            return;
        }
    };
    for entry in &unfinished {
        match entry {
            Unfinished::Pending { id } => out.warn(
                format!("Change {id} is under way or was cut off"),
                "If no other process is writing, the next change rolls it back",
            ),
            Unfinished::Interrupted { id } => out.warn(
                format!("Change {id} was cut off, and a file was edited since"),
                &format!("Compare with the bytes before in `{DERIVED}/undo/{id}.interrupted/`"),
            ),
            Unfinished::Damaged { id, why } => out.warn(
                format!("Change {id} cannot be undone: {why}"),
                &format!("Move `{DERIVED}/undo/{id}` away"),
            ),
        };
    }
    out.ok(|| match history.len() {
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
fn hooks(workspace: &Workspace, out: &mut Findings) {
    if let Some(failures) = mind::failures(workspace) {
        let latest = document::inert_line(&secrets::redact(&failures.latest));
        out.of(CheckId::HOOKS_FAILED)
            .problem(
                format!(
                    "Hooks failed, {} in all, the latest: {latest}",
                    failures.count
                ),
                &format!("Delete `{HOOK_FAILURES}` when it is settled"),
            )
            .at(HOOK_FAILURES, None);
    }
}

/// Checks that git ignores derived and private files and knows the merge
/// driver.
fn out_of_gits_sight(workspace: &Workspace, out: &mut Findings) {
    let mut out = out.of(CheckId::GIT_TRACKED);
    let root = workspace.root();
    match git::ignored(root, &format!("{DERIVED}/")) {
        Ignored::Unknown => {
            return match git::refusal(root) {
                Some(why) => {
                    out.warn(
                        format!("git was not asked: {why}"),
                        "Look at `.git`; where it is not yours, remove it",
                    );
                }
                None => out.none("There is no git repository here"),
            };
        }
        Ignored::By(file) => out.ok_later(format!("`{DERIVED}/` is ignored, by `{file}`")),
        Ignored::No => {
            out.warn(
                format!("`{DERIVED}/` is not ignored"),
                "Run `memory-forge init`",
            );
        }
    }
    match git::tracked_below(root, DERIVED) {
        Ok(0) => {}
        Ok(n) => {
            let next = format!("Run `git rm -r --cached {DERIVED}`; the files stay where they are");
            out.problem(
                format!("git tracks {n} {} of `{DERIVED}/`", files_word(n)),
                &next,
            );
        }
        Err(e) => {
            out.warn(e.to_string(), "Repair the repository");
        }
    }
    for path in private::tracked(workspace).unwrap_or_default() {
        let next = format!("Run `git rm --cached {path}`, or `memory-forge share {path}`");
        out.problem("git tracks it though its name says private", &next)
            .at(&path, None);
    }
    if teams::names_driver(workspace) && git::driver(root) == Driver::Missing {
        out.warn(
            "`.gitattributes` names our merge driver, and this clone does not know it: \
             memory is merged by lines",
            "Run `memory-forge setup --git`",
        );
    }
    out.finish();
}

/// Checks for temporary files of interrupted writes.
fn leftovers(workspace: &Workspace, out: &mut Findings) {
    let mut out = out.of(CheckId::FILES_LEFTOVER);
    let (files, unreadable) = workspace.leftovers();
    for path in &files {
        out.warn("Left over from a write that was cut off", "Delete it")
            .at(path.as_str(), None);
    }
    if unreadable > 0 {
        out.warn(
            format!("{unreadable} folders could not be looked into"),
            "Make them readable",
        );
    }
    out.ok(|| "No temporary file was left behind".to_owned());
}

/// Returns `file` or `files`.
fn files_word(count: usize) -> &'static str {
    if count == 1 { "file" } else { "files" }
}

#[cfg(test)]
mod tests;
