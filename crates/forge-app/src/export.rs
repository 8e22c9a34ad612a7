//! Exports memory: documents with their front matter, and topic files for
//! Claude Code's own memory.
//!
//! Files there without our mark are never touched; `MEMORY.md` gets pointers to
//! ours and keeps every other byte.

use std::path::Path;

use jiff::Timestamp;

use crate::document::{self, Document};
use crate::secrets;
use crate::state_files::MIND_FOLDER;
use crate::workspace::{
    self, BackupAction, ChangeReceipt, FileRole, OutsideChange, OutsideFile, RelPath, ScannedFile,
    Workspace, change_outside, slugify_name,
};

/// Front matter key that marks a file as written by an export.
const EXPORT_MARK_KEY: &str = "exported_by";
const EXPORTER_NAME: &str = "memory-forge";

/// Lines and bytes of `MEMORY.md` that Claude Code loads; pointers beyond them
/// would never be read.
const MAX_MEMORY_INDEX_LINES: usize = 200;
const MAX_MEMORY_INDEX_BYTES: usize = 25_000;

/// Lists every document of the workspace by its path: knowledge, agents'
/// memory, state, archive and routing files.
pub fn list_exportable_files(workspace: &Workspace) -> Vec<ScannedFile> {
    let mut files = workspace.scan().files;
    for path in workspace.markdown_files_in(MIND_FOLDER) {
        let Ok(meta) = workspace.absolute_path(&path).metadata() else {
            continue;
        };
        files.push(ScannedFile {
            role: workspace::role_by_path(&path),
            size: meta.len(),
            mtime_ns: 0,
            changed_ns: 0,
            path,
        });
    }
    files.retain(|file| !matches!(file.role, FileRole::Derived | FileRole::Untracked));
    files.sort_by(|a, b| a.path.cmp(&b.path));
    files.dedup_by(|a, b| a.path == b.path);
    files
}

/// A document in the form in which it is exported.
#[derive(Debug)]
pub struct ExportedDocument {
    /// The file.
    pub path: RelPath,
    /// Its role.
    pub role: FileRole,
    /// The parsed text.
    pub document: Document,
    /// The hash of the normalised text.
    pub hash: String,
    /// The rule of a credential that the text appears to contain.
    pub secret: Option<&'static str>,
}

/// Passes every document of the wanted roles to `sink`, one after another, so
/// that only one is in memory at a time. A file that cannot be read is passed
/// as its path and the reason.
pub fn export_documents<E>(
    workspace: &Workspace,
    wanted: &dyn Fn(FileRole) -> bool,
    sink: &mut dyn FnMut(Result<ExportedDocument, (RelPath, String)>) -> Result<(), E>,
) -> Result<(), E> {
    for file in list_exportable_files(workspace) {
        // Files that agents load are the user's own, and no memory.
        if file.role == FileRole::Autoload || !wanted(file.role) {
            continue;
        }
        let text = match workspace.read_text(&file.path) {
            Ok(text) => text,
            Err(error) => {
                sink(Err((file.path, error.reason())))?;
                continue;
            }
        };
        let secret = secrets::find_secrets(&text).first().map(|it| it.rule);
        let hash = document::content_hash(&text);
        sink(Ok(ExportedDocument {
            path: file.path,
            role: file.role,
            document: document::parse_document(text),
            hash,
            secret,
        }))?;
    }
    Ok(())
}

/// Writes an export into a file of the workspace.
pub fn write_export(
    workspace: &Workspace,
    path: &RelPath,
    text: String,
    now: Timestamp,
) -> Result<ChangeReceipt, workspace::WorkspaceError> {
    workspace.change(&format!("Export to {path}"), now, |change| {
        change.write(path, text);
        Ok(())
    })
}

/// Returns the documents of `knowledge/` whose front matter gives them at least
/// this importance.
pub fn find_important_documents(workspace: &Workspace, least: u8) -> Vec<RelPath> {
    let knowledge = list_exportable_files(workspace)
        .into_iter()
        .filter(|file| file.role == FileRole::Knowledge);
    let importance = |path: &RelPath| {
        let document = document::parse_document(workspace.read_text(path).ok()?);
        let front = document.front_matter.as_ref();
        front.and_then(|front| front.int("importance"))
    };
    knowledge
        .map(|file| file.path)
        .filter(|path| importance(path).is_some_and(|it| it >= i64::from(least)))
        .collect()
}

/// A plan of the files that an export to Claude Code's memory changes.
#[derive(Debug, Default)]
pub struct ClaudeExportPlan {
    /// The files to write or to remove, with their bytes before and after.
    pub changes: Vec<OutsideChange>,
    /// Documents that are not exported, with the reason.
    pub skipped: Vec<(String, String)>,
    /// Number of files there that are already up to date.
    pub unchanged: usize,
}

impl ClaudeExportPlan {
    /// Writes the planned files, all of them or none.
    pub fn apply(&self) -> Result<(), workspace::WorkspaceError> {
        change_outside(&self.changes, &[])
    }
}

/// Plans topic files for these documents in Claude Code's memory folder, and a
/// pointer to each. `base` is the folder that certainly belongs to the user.
pub fn plan_claude_export(
    workspace: &Workspace,
    documents: &[RelPath],
    base: &Path,
    folder: &Path,
) -> Result<ClaudeExportPlan, workspace::WorkspaceError> {
    let mut plan = ClaudeExportPlan::default();
    let mut pointers: Vec<(String, String)> = Vec::new();
    for path in documents {
        match build_topic_file(workspace, path)? {
            Ok((name, ..)) if pointers.iter().any(|(other, _)| *other == name) => {
                let why = format!("another document is exported as `{name}`");
                plan.skipped.push((path.to_string(), why));
            }
            Ok((name, text, pointer)) => {
                let file = OutsideFile {
                    base: base.to_path_buf(),
                    path: folder.join(&name),
                };
                let before = file.read_text()?;
                match before {
                    Some(before) if before == text => plan.unchanged += 1,
                    Some(before) if !is_export_of(&before, path) => {
                        let why =
                            format!("`{name}` exists already and was not written by this program");
                        plan.skipped.push((path.to_string(), why));
                        continue;
                    }
                    // No backup: the file is new or has our mark. `MEMORY.md`
                    // below is the user's and gets one.
                    before => plan.changes.push(OutsideChange {
                        file,
                        before: before.map(String::into_bytes),
                        after: Some(text.into_bytes()),
                        backup: BackupAction::Leave,
                    }),
                }
                pointers.push((name, pointer));
            }
            Err(why) => plan.skipped.push((path.to_string(), why)),
        }
    }
    let index = OutsideFile {
        base: base.to_path_buf(),
        path: folder.join("MEMORY.md"),
    };
    let before = index.read_text()?;
    let (after, left) = merge_pointers(before.as_deref().unwrap_or_default(), &pointers);
    if left > 0 {
        let why = format!("MEMORY.md is full: {left} pointers would be beyond what is loaded");
        plan.skipped.push(("MEMORY.md".to_owned(), why));
    }
    if before.as_deref() != Some(after.as_str()) && !after.is_empty() {
        let backup = if index.read_backup()?.is_none() && before.is_some() {
            BackupAction::Take
        } else {
            BackupAction::Leave
        };
        plan.changes.push(OutsideChange {
            file: index,
            before: before.map(String::into_bytes),
            after: Some(after.into_bytes()),
            backup,
        });
    }
    Ok(plan)
}

/// Returns `true` if an export wrote this file.
pub fn is_own_export(text: &str) -> bool {
    let document = document::parse_document(text);
    let front = document.front_matter.as_ref();
    front.and_then(|front| front.text(EXPORT_MARK_KEY)) == Some(EXPORTER_NAME)
}

/// Returns `true` if an export wrote this file for this very document.
fn is_export_of(text: &str, path: &RelPath) -> bool {
    let document = document::parse_document(text);
    let front = document.front_matter.as_ref();
    is_own_export(text)
        && front.and_then(|front| front.text("exported_from")) == Some(path.as_str())
}

type TopicExport = (String, String, String);

/// Builds the topic file of a document: its name, its text, and the line that
/// points to it. Returns the reason for a document that cannot become one.
fn build_topic_file(
    workspace: &Workspace,
    path: &RelPath,
) -> Result<Result<TopicExport, String>, workspace::WorkspaceError> {
    let text = workspace.read_text(path)?;
    if let [first, ..] = &crate::secrets::find_secrets(&text)[..] {
        return Ok(Err(format!("it seems to hold a secret ({})", first.rule)));
    }
    let document = document::parse_document(text);
    let front = document.front_matter.as_ref();
    // A document that was imported from Claude Code's memory is not exported
    // back to it.
    let from = front.and_then(|front| front.text("source"));
    if from.is_some_and(|it| it.starts_with("claude-memory")) {
        return Ok(Err("it was imported from there".to_owned()));
    }
    let title = document.title().unwrap_or(path.stem()).to_owned();
    let name = match slugify_name(path.stem()) {
        // On a file system that ignores case, `memory.md` is the index itself.
        Ok(name) if name != "memory" => format!("{name}.md"),
        _ => return Ok(Err("its name is not valid there".to_owned())),
    };
    let described = front
        .and_then(|front| front.text("description"))
        .map(str::to_owned);
    let description = described.unwrap_or_else(|| first_sentence(&document));
    let kind = front.and_then(|front| front.text("type"));
    let kind = kind.filter(|it| matches!(*it, "user" | "feedback" | "project" | "reference"));
    let title = document::escape_markdown_line(&title);
    let description = document::escape_markdown_line(&description);
    let mut head = String::new();
    for (key, value) in [
        ("name", title.as_str()),
        ("description", &description),
        ("type", kind.unwrap_or("reference")),
        (EXPORT_MARK_KEY, EXPORTER_NAME),
        ("exported_from", path.as_str()),
    ] {
        let document = document::parse_document(head);
        let edit = document.set_front_matter(key, value);
        head = document::apply_edits(&document.text, vec![edit]).unwrap_or(document.text);
    }
    let body = document
        .span_text(&document.body)
        .trim_start_matches(['\r', '\n']);
    let pointer = if description.is_empty() {
        format!("- [{}]({name})", replace_brackets(&title))
    } else {
        format!("- [{}]({name}) — {description}", replace_brackets(&title))
    };
    Ok(Ok((name.clone(), format!("{head}\n{body}"), pointer)))
}

/// Replaces square brackets, which would end the title of a link.
fn replace_brackets(title: &str) -> String {
    title.replace('[', "(").replace(']', ")")
}

/// Returns about the first sentence of the text.
fn first_sentence(document: &Document) -> String {
    let paragraph = document
        .blocks
        .iter()
        .find(|block| block.kind == document::BlockKind::Paragraph);
    let text = paragraph
        .map(|block| document.span_text(&block.span))
        .unwrap_or_default();
    let mut words: String = text.split_whitespace().collect::<Vec<_>>().join(" ");
    if let Some(end) = words.find(". ") {
        words.truncate(end);
    }
    if words.chars().count() > 140 {
        words = words.chars().take(139).chain(['…']).collect();
    }
    words
}

/// Merges our pointers into `MEMORY.md`: replaces the line of each known file
/// and appends new ones, up to the loaded size. Returns the text and the number
/// of pointers that did not fit.
fn merge_pointers(text: &str, pointers: &[(String, String)]) -> (String, usize) {
    let newline = document::parse_document(text).newline();
    let mut lines: Vec<String> = text.split_inclusive('\n').map(str::to_owned).collect();
    let (mut count, mut bytes) = (lines.len(), text.len());
    let mut left = 0;
    for (name, pointer) in pointers {
        let link = format!("]({name})");
        let line = format!("{pointer}{newline}");
        if let Some(there) = lines.iter_mut().find(|line| line.contains(&link)) {
            *there = line;
            continue;
        }
        if count + 1 > MAX_MEMORY_INDEX_LINES || bytes + line.len() > MAX_MEMORY_INDEX_BYTES {
            left += 1;
            continue;
        }
        if let Some(last) = lines.last_mut()
            && !last.ends_with('\n')
        {
            last.push_str(newline);
        }
        (count, bytes) = (count + 1, bytes + line.len());
        lines.push(line);
    }
    (lines.concat(), left)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn pointers_are_renewed_in_place_and_added_at_the_end() {
        let ours = [
            ("a.md".to_owned(), "- [A](a.md) — new".to_owned()),
            ("b.md".to_owned(), "- [B](b.md)".to_owned()),
        ];
        let check = |before: &str, expect: &str| {
            let (after, left) = merge_pointers(before, &ours);
            assert_eq!((after.as_str(), left), (expect, 0));
            assert_eq!(merge_pointers(&after, &ours).0, after, "twice is once");
        };
        check("", "- [A](a.md) — new\n- [B](b.md)\n");
        check(
            "# Mine\n- [A](a.md) — old\n- [Z](z.md)",
            "# Mine\n- [A](a.md) — new\n- [Z](z.md)\n- [B](b.md)\n",
        );
        let full = "- x\n".repeat(MAX_MEMORY_INDEX_LINES);
        assert_eq!(merge_pointers(&full, &ours), (full.clone(), 2));
    }
}
