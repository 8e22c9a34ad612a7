//! The checks. Each one looks at a single thing and adds what it found; one
//! that could not look says that instead of `ok`.

use std::collections::HashSet;

use super::findings::Findings;
use super::repair::shortens;
use crate::corrections;
use crate::document::{self, LineNumbers};
use crate::embed::{self, Embedder};
use crate::finding::{CheckId, CheckOutcome, Finding, Severity};
use crate::index::{Entry, Index};
use crate::knowledge::readme::{self, Listed};
use crate::knowledge::{forget, refresh};
use crate::mind::{self, HOOK_FAILURES, Layout, Mind};
use crate::recall::{self, Ask, Mode};
use crate::routing::manifest::Manifest;
use crate::routing::{self, layout};
use crate::secrets;
use crate::teams::{self, private};
use crate::tokens::{Tokenizer, count_tokens, thousands};
use crate::workspace::git::{self, Driver, Ignored};
use crate::workspace::{
    Autoload, AutoloadFile, DERIVED, Error, Found, RelPath, Scan, Unfinished, Workspace, shell_word,
};

/// Checks the settings alone, which takes no look at any file.
pub(crate) fn check_settings(workspace: &Workspace) -> Vec<(CheckId, CheckOutcome)> {
    let mut out = Findings::default();
    settings(workspace, &mut out);
    out.all()
}

/// Runs every check but that of the settings. Nothing is changed.
pub(crate) fn diagnose(workspace: &Workspace) -> Vec<(CheckId, CheckOutcome)> {
    let mut out = Findings::default();
    let scan = routing::scan(workspace);
    for problem in &scan.problems {
        let (path, message) = (&problem.path, &problem.message);
        out.of(CheckId::KNOWLEDGE_UNREADABLE)
            .warn(format!("`{path}` {message}"), "Repair or move it")
            .at(path, None);
    }
    let loaded = workspace.autoload();
    let listed = documents(workspace, &scan.files, &loaded, &mut out);
    state(workspace, &mut out);
    match open(workspace, &scan.files, &mut out) {
        Some(index) => index_holds(workspace, &scan, &index, &mut out),
        None => out
            .of(CheckId::INDEX_SEARCH)
            .skip("Not tried, since there is no index to ask"),
    }
    list_for_people(workspace, &listed, &mut out);
    tombstones(workspace, &mut out);
    autoload(workspace, &loaded, &mut out);
    journal(workspace, &mut out);
    hooks(workspace, &mut out);
    out_of_gits_sight(workspace, &mut out);
    leftovers(workspace, &mut out);
    out.all()
}

fn settings(workspace: &Workspace, out: &mut Findings) {
    let mut out = out.of(CheckId::SETTINGS_INVALID);
    for problem in workspace.problems() {
        let next = "Correct it; `memory-forge config` shows every key";
        out.warn(problem.to_string(), next)
            .at(&problem.file, problem.line);
    }
    out.ok(|| "Every setting that is given is understood".to_owned());
}

/// Reads and parses every document once, for what only its text can tell, and
/// gives what the list for people should name.
fn documents(
    workspace: &Workspace,
    files: &[Found],
    loaded: &Autoload,
    out: &mut Findings,
) -> Vec<Listed> {
    let mut listed = Vec::new();
    let mut read = 0;
    let mut front_matter = 0;
    let mut found: Vec<Finding> = Vec::new();
    for file in files {
        let path = file.path.as_str();
        let text = match workspace.read_text(&file.path) {
            Ok(text) => text,
            // It was deleted while we looked.
            Err(e) if e.is_not_found() => continue,
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
                continue;
            }
        };
        read += 1;
        let document = document::parse(text);
        front_matter += usize::from(document.front_matter.is_some());
        if readme::is_listed(&file.path) {
            listed.push(Listed::of(file.path.clone(), &document));
        }
        if let Some(line) = document::unmerged(&document.text) {
            out.of(CheckId::KNOWLEDGE_UNREADABLE)
                .problem(UNMERGED, DECIDE)
                .at(path, Some(line));
        }
        for problem in &document.problems {
            found.push(
                Finding::new(
                    CheckId::KNOWLEDGE_FRONT_MATTER,
                    Severity::Warning,
                    problem.message.clone(),
                )
                .at(path, Some(problem.line))
                .advice("Correct that line; the text itself is still searched"),
            );
        }
        for secret in secrets::find(&document.text) {
            let line = document.line_of(secret.span.start);
            found.push(looks_secret(path, secret.rule, line));
        }
    }
    let knowledge = read;
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
    out.of(CheckId::KNOWLEDGE_UNREADABLE)
        .ok(|| match knowledge {
            0 => "There is no document yet".to_owned(),
            _ => format!("Every file is readable text ({knowledge} read)"),
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
            CheckId::FILES_SECRET => format!("None found ({word} files read)"),
            _ => format!("All of it is valid ({word} of {knowledge} files have it)"),
        });
    }
    listed
}

/// Where the work stands and what agents load: no documents, and yet places in
/// which a secret may lie.
fn beside(workspace: &Workspace, files: &[Found], loaded: &Autoload) -> Vec<RelPath> {
    let mut all = Mind::all_files(workspace);
    all.extend(loaded.files.iter().map(|it| it.path.clone()));
    all.sort();
    all.dedup();
    let documents: HashSet<&RelPath> = files.iter().map(|it| &it.path).collect();
    all.retain(|path| !documents.contains(path));
    all
}

/// Says where and of which kind, never what.
fn looks_secret(path: &str, rule: &str, line: usize) -> Finding {
    let message = format!("Looks like a secret ({rule})");
    Finding::new(CheckId::FILES_SECRET, Severity::Error, message)
        .at(path, Some(line))
        .advice("Revoke it, then take it out of the file and of git's history")
}

const UNMERGED: &str = "Git left both sides of a merge in it";
const DECIDE: &str = "Decide which side holds and delete the marks";

/// What the state files say is told to every session.
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

/// Reads the index in full, compares it with the files, and asks it.
fn index_holds(workspace: &Workspace, scan: &Scan, index: &Index, out: &mut Findings) {
    let rebuild = "Run `memory-forge index --force`; the index is rebuilt from the files";
    let looked = (|| {
        let wrong = index.verify()?;
        let catalogue = index.catalogue()?;
        let behind = refresh::behind(workspace, scan, index, &catalogue)?;
        let counts = index.counts()?;
        Ok::<_, crate::index::Error>((wrong, catalogue, behind, counts))
    })();
    let (wrong, catalogue, behind, counts) = match looked {
        Ok(looked) => looked,
        Err(e) => {
            out.of(CheckId::INDEX_DAMAGED)
                .problem(e.to_string(), rebuild);
            out.of(CheckId::INDEX_SEARCH)
                .skip("Not tried, since the index cannot be read");
            return;
        }
    };
    let mut findings = out.of(CheckId::INDEX_DAMAGED);
    for sentence in &wrong {
        findings.problem(format!("The index is damaged: {sentence}"), rebuild);
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

enum Answered {
    Yes { path: String, by_meaning: bool },
    No { path: String },
    NothingToAsk,
}

/// Asks one real question: the words of an indexed passage, as a phrase.
fn answers(
    workspace: &Workspace,
    index: &Index,
    catalogue: &[Entry],
    (embedded, all): (usize, usize),
) -> Result<Answered, crate::index::Error> {
    let forgotten = forget::forgotten(workspace).unwrap_or_default();
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
            // The passage itself is near to itself; a word of it may be near
            // to nothing. While vectors are still being made, this one may
            // not have its own.
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

/// Characters of a passage with which its vector is asked for.
const LIKE_IT: usize = 400;

/// Up to six words that stand in a row and hold nothing that a question would
/// take for more than words.
fn phrase(text: &str) -> Option<String> {
    text.lines().find_map(|line| {
        let words: Vec<&str> = line
            .split_whitespace()
            .skip_while(|word| !word.contains(char::is_alphanumeric))
            .take_while(|word| !word.contains(['"', '“', '”', '*']))
            .take(6)
            .collect();
        let letters = words
            .concat()
            .chars()
            .filter(|c| c.is_alphanumeric())
            .count();
        (letters >= 3).then(|| words.join(" "))
    })
}

fn list_for_people(workspace: &Workspace, documents: &[Listed], out: &mut Findings) {
    let mut out = out.of(CheckId::KNOWLEDGE_README);
    let next = "Run `memory-forge doctor --fix`";
    match workspace.read_text(&readme::path()) {
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

/// Files that a repair can make into a stub, each once: a link to another of
/// them is that file.
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

/// Skills that a repair can shorten.
pub(super) fn skill_files(loaded: &Autoload) -> impl Iterator<Item = &AutoloadFile> {
    loaded.files.iter().filter(|file| {
        let mut parts = file.path.components();
        parts.any(is_client_folder)
            && parts.any(|part| matches!(part, "skills" | "skill"))
            && file.path.file_name() == "SKILL.md"
    })
}

fn is_client_folder(name: &str) -> bool {
    matches!(name, ".claude" | ".codex" | ".opencode" | ".agents")
}

/// Returns `true` for a file of a part of the project, such as a package. It is
/// its owners' business: a repair touches it only when it is named.
pub(super) fn is_nested(path: &RelPath) -> bool {
    let first = path.components().next().unwrap_or_default();
    path.parent().is_some() && !is_client_folder(first)
}

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

/// What ends a finding about the size of a file.
fn next_step(workspace: &Workspace, loaded: &Autoload, path: &RelPath) -> String {
    if shortens(workspace, loaded, path) {
        let command = fix_commands(&[path]).concat();
        format!("Run `{command}`; it shows a diff first")
    } else {
        "A person has to shorten it; what it holds must stay where agents load it".to_owned()
    }
}

/// Files of parts of the project that one command names at most.
const MAX_NAMED: usize = 3;

/// The commands that shorten these files: one for those of the project itself,
/// which need no name, and one that names the first of the others.
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

/// Hooks may not print what went wrong; they note it. Each note is something
/// that memory missed, so it is not a warning.
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

fn files_word(count: usize) -> &'static str {
    if count == 1 { "file" } else { "files" }
}

#[cfg(test)]
mod tests;
