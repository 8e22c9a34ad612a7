//! Checks knowledge for the audit: files that the index lacks, files that
//! agents load although a search could find them, and text that belongs
//! nowhere.

use std::collections::HashSet;
use std::sync::atomic::{AtomicUsize, Ordering};

use super::loads::ClientLoads;
use super::repeats::{self, LineIndex};
use super::source::{self, SourcePlace};
use super::{AuditFinding, AuditFindingKind, AuditLevel, hidden};
use crate::document::content_hash;
use crate::index::Index;
use crate::knowledge::refresh::find_differences;
use crate::mind::MindStore;
use crate::tokens::{Tokenizer, count_tokens, format_thousands};
use crate::workspace::{FileRole, RelPath, ScannedFile, Workspace, WorkspaceScan};

/// Folder in which `doctor` keeps what it took out of files that agents load.
const LEGACY_FOLDER: &str = "knowledge/legacy";
/// Path of the list of forgotten files, which is not knowledge itself.
const FORGOTTEN_LIST_PATH: &str = "knowledge/_FORGOTTEN.md";

/// Checks every file of `knowledge/` and of the manifest's domains, and returns
/// their number.
pub(super) fn check_knowledge(
    workspace: &Workspace,
    plain: &ClientLoads,
    judge: Tokenizer,
    findings: &mut Vec<AuditFinding>,
) -> usize {
    let scan = workspace.scan();
    for problem in &scan.problems {
        let message = format!("`{}` {}", problem.path, problem.message);
        findings.push(AuditFinding::new(
            AuditLevel::Notice,
            AuditFindingKind::Unreadable,
            &problem.path,
            message,
        ));
    }
    let knowledge = |f: &&ScannedFile| {
        (f.path.starts_with("knowledge") || f.role == FileRole::Knowledge)
            && f.path.as_str() != FORGOTTEN_LIST_PATH
    };
    let files: Vec<&ScannedFile> = scan.files.iter().filter(knowledge).collect();
    check_index_coverage(workspace, &scan, files.len(), findings);
    scan_files(workspace, &files, plain, judge, findings);
    check_other_memory(workspace, &scan, &files, findings);
    files.len()
}

/// Checks files that agents are shown although no search covers them: the
/// state, what agents remember, the maps.
fn check_other_memory(
    workspace: &Workspace,
    scan: &WorkspaceScan,
    files: &[&ScannedFile],
    findings: &mut Vec<AuditFinding>,
) {
    let others = scan.files.iter().map(|it| &it.path);
    let mut all: Vec<RelPath> = others
        .cloned()
        .chain(MindStore::list_all_files(workspace))
        .collect();
    all.sort();
    all.dedup();
    let done: HashSet<&RelPath> = files.iter().map(|it| &it.path).collect();
    for path in all.iter().filter(|path| !done.contains(path)) {
        if let Ok(text) = workspace.read_text(path) {
            hidden::check_hidden_characters(path.as_str(), &text, false, findings);
            source::check_secrets(path.as_str(), &text, findings);
            source::check_agent_orders(path.as_str(), &text, false, findings);
        }
    }
}

/// Reports files that a search would have to read first, and files that it can
/// never find.
fn check_index_coverage(
    workspace: &Workspace,
    scan: &WorkspaceScan,
    files: usize,
    findings: &mut Vec<AuditFinding>,
) {
    let advice = "Run `memory-forge index`; a search also updates it";
    let mut say = |level, file: &str, what: &str, advice: &str| {
        let message = format!("{file}: {what}");
        findings.push(
            AuditFinding::new(level, AuditFindingKind::NotIndexed, file, message)
                .with_advice(advice),
        );
    };
    let index = match Index::open_existing(&workspace.derived_folder()) {
        Ok(Some(index)) => index,
        Ok(None) if files == 0 => return,
        Ok(None) => {
            let what = match files {
                1 => "1 file is not indexed; there is no index yet".to_owned(),
                n => format!(
                    "{} files are not indexed; there is no index yet",
                    format_thousands(n)
                ),
            };
            return say(AuditLevel::Notice, "knowledge/", &what, advice);
        }
        Err(e) => return say(AuditLevel::Notice, "knowledge/", &e.to_string(), advice),
    };
    let catalogue = match index.catalogue() {
        Ok(catalogue) => catalogue,
        Err(e) => return say(AuditLevel::Notice, "knowledge/", &e.to_string(), advice),
    };
    let differences = find_differences(scan, &catalogue, false);
    let unusable = |path: &str, why: &str| {
        let what = format!("not indexed: {why}");
        (
            AuditLevel::Warning,
            path.to_owned(),
            what,
            "Until then, no search finds it",
        )
    };
    let mut all = Vec::new();
    for found in &differences.to_read {
        let path = found.path.as_str();
        let known = index.content_hash_of(path).ok().flatten();
        let what = match (workspace.read_text(&found.path), known) {
            (Err(e), _) if e.is_not_found() => continue,
            (Err(e), _) => {
                all.push(unusable(path, &e.to_string()));
                continue;
            }
            // The file was touched, but its text is what was indexed.
            (Ok(text), Some(hash)) if content_hash(&text) == hash => continue,
            (Ok(_), Some(hash)) if !hash.is_empty() => "changed since it was indexed",
            (Ok(_), _) => "not indexed",
        };
        all.push((AuditLevel::Notice, path.to_owned(), what.to_owned(), advice));
    }
    all.extend(
        differences
            .unusable
            .iter()
            .map(|(path, why)| unusable(path, why)),
    );
    for (level, file, what, advice) in all {
        say(level, &file, &what, advice);
    }
}

/// Reads all files on all cores and reports in the order of the files.
fn scan_files(
    workspace: &Workspace,
    files: &[&ScannedFile],
    plain: &ClientLoads,
    judge: Tokenizer,
    findings: &mut Vec<AuditFinding>,
) {
    let mut lines = LineIndex::default();
    let mut loaded = Vec::new();
    for load in &plain.loads {
        match &load.source.place {
            SourcePlace::Inside(path) if path.starts_with("knowledge") => {
                let message = format!("{path}: loaded at every start, {}", load.why);
                let finding = AuditFinding::new(
                    AuditLevel::Notice,
                    AuditFindingKind::RepeatsKnowledge,
                    path.as_str(),
                    message,
                );
                findings.push(finding.with_advice(
                    "Write the path in backticks instead of `@path` so that it is read on demand",
                ));
            }
            _ => {
                lines.add_file(LineIndex::hash_document(&load.source.document));
                loaded.push(load);
            }
        }
    }
    let next = AtomicUsize::new(0);
    let (next, lines) = (&next, &lines);
    let work = || {
        let mut found = Vec::new();
        while let Some(file) = files.get(next.fetch_add(1, Ordering::Relaxed)) {
            scan_file(workspace, file, lines, &mut found);
        }
        found
    };
    let threads = std::thread::available_parallelism()
        .map_or(2, |n| n.get())
        .clamp(1, 8);
    // Each thread takes the next file when it is done, so that one long file
    // does not hold up the others.
    let mut found: Vec<KnowledgeFileScan> = std::thread::scope(|scope| {
        let workers: Vec<_> = (1..threads.min(files.len()))
            .map(|_| scope.spawn(work))
            .collect();
        let mut found = work();
        for worker in workers {
            match worker.join() {
                Ok(part) => found.extend(part),
                Err(panic) => std::panic::resume_unwind(panic),
            }
        }
        found
    });
    found.sort_by(|a, b| a.path.cmp(&b.path));
    for file in found {
        findings.extend(file.findings);
        for (which, place, line) in file.repeated {
            let load = loaded[which];
            let tokens = count_tokens(judge, repeats::span_text(&load.source.document, place));
            let message = format!(
                "{}:{} repeats {} tokens ({}) of {}:{line}",
                load.source.shown,
                place.0,
                format_thousands(tokens),
                judge.label(),
                file.path
            );
            let shown = &load.source.shown;
            let mut finding = AuditFinding::new(
                AuditLevel::Warning,
                AuditFindingKind::RepeatsKnowledge,
                shown,
                message,
            )
            .at_line(place.0);
            finding.tokens = Some(tokens);
            findings
                .push(finding.with_advice("Keep it in knowledge/, where it is found when needed"));
        }
    }
}

/// Result of checking one file of knowledge.
struct KnowledgeFileScan {
    path: String,
    findings: Vec<AuditFinding>,
    /// Index of the loaded file that repeats it, the lines there, and the line
    /// here.
    repeated: Vec<(usize, (usize, usize), usize)>,
}

fn scan_file(
    workspace: &Workspace,
    file: &ScannedFile,
    lines: &LineIndex,
    out: &mut Vec<KnowledgeFileScan>,
) {
    // Unreadable files are reported with the index, which cannot read them
    // either.
    let Ok(text) = workspace.read_text(&file.path) else {
        return;
    };
    let path = file.path.as_str();
    let mut found = KnowledgeFileScan {
        path: path.to_owned(),
        findings: Vec::new(),
        repeated: Vec::new(),
    };
    hidden::check_hidden_characters(path, &text, false, &mut found.findings);
    source::check_secrets(path, &text, &mut found.findings);
    source::check_agent_orders(path, &text, false, &mut found.findings);
    // `doctor` moved this text out of the files that it would seem to repeat.
    if !file.path.starts_with(LEGACY_FOLDER) {
        let own = LineIndex::hash_text(&text, 1);
        for run in lines.find_runs(&own, true, |_| true) {
            let place = lines.indexed_span(&run);
            found
                .repeated
                .push((run.file, place, repeats::compared_span(&own, &run).0));
        }
    }
    out.push(found);
}
