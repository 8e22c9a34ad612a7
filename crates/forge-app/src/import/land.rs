//! Writes imported documents: decides the path of each, whether it is new, and
//! whether it may replace an existing one.
//!
//! A document records its origin in its front matter, so it may be renamed and
//! moved. A person's changes are never overwritten unless they request it, and
//! then the undo journal has the earlier bytes.

use std::collections::{HashMap, HashSet};

use super::{ImportError, ImportOptions, ImportOutcome, ImportReport, ImportedDocument};
use crate::admit::ImportTally;
use crate::corrections::Corrections;
use crate::document::{self, Document, day_of_timestamp};
use crate::workspace::{ChangeProposal, FileRole, RelPath, Workspace, role_by_path};

/// Bytes of one change. Most imports are one change; a larger one would hold
/// all documents in memory at once.
const BATCH_BYTES: usize = 16 << 20;

/// Front matter keys with the origin of a document.
const SOURCE_KEY: &str = "source";
const SOURCE_ID_KEY: &str = "source_id";
const SOURCE_HASH_KEY: &str = "source_hash";
const IMPORTED_KEY: &str = "imported";
const IMPORTED_HASH_KEY: &str = "imported_hash";
pub(super) const PROVENANCE_KEYS: [&str; 5] = [
    SOURCE_KEY,
    SOURCE_ID_KEY,
    SOURCE_HASH_KEY,
    IMPORTED_KEY,
    IMPORTED_HASH_KEY,
];

/// A document to import, already redacted.
pub(super) struct IncomingDocument {
    /// The path for a new document.
    pub(super) path: RelPath,
    pub(super) source: &'static str,
    pub(super) source_id: String,
    pub(super) source_hash: String,
    /// Markdown, with front matter if it has some.
    pub(super) text: String,
    /// Number of entries, sections or rows that it was made from.
    pub(super) entries: usize,
    pub(super) tally: ImportTally,
}

/// The writer of one import: it knows earlier imports and collects changes.
pub(super) struct ImportWriter<'a> {
    workspace: &'a Workspace,
    options: &'a ImportOptions,
    known: HashMap<(String, String), RelPath>,
    /// Documents of this import, by path and by origin.
    taken: HashSet<RelPath>,
    met: HashMap<(&'static str, String), RelPath>,
    batch: ChangeProposal,
    batch_bytes: usize,
    corrections: Corrections,
    pub(super) report: ImportReport,
}

impl<'a> ImportWriter<'a> {
    /// Returns a writer that knows the origins of all documents in the
    /// workspace.
    pub(super) fn new(
        workspace: &'a Workspace,
        options: &'a ImportOptions,
    ) -> Result<ImportWriter<'a>, ImportError> {
        let scan = workspace.scan();
        let mut known = HashMap::new();
        for found in &scan.files {
            // A file that cannot be read is never updated, so its origin does
            // not matter.
            let Ok(text) = workspace.read_text(&found.path) else {
                continue;
            };
            let Some(head) = FrontMatterHead::parse(&text) else {
                continue;
            };
            if let (Some(source), Some(id)) = (head.get(SOURCE_KEY), head.get(SOURCE_ID_KEY)) {
                known.insert((source, id), found.path.clone());
            }
        }
        Ok(ImportWriter {
            workspace,
            options,
            known,
            taken: HashSet::new(),
            met: HashMap::new(),
            batch: ChangeProposal::default(),
            batch_bytes: 0,
            corrections: Corrections::read(workspace)?,
            report: ImportReport::default(),
        })
    }

    /// Adds the corrections that a text repeats to its front matter, where
    /// every reader sees them. The text itself stays as it was.
    fn mark_corrections(&self, text: &mut String) {
        let corrected_facts = self.corrections.describe_found(text);
        if corrected_facts.is_empty() {
            return;
        }
        let corrected_facts: Vec<&str> = corrected_facts.iter().map(String::as_str).collect();
        let document = document::parse_document(text.as_str());
        let edit = document.set_front_matter_list("corrected", &corrected_facts);
        if let Ok(marked) = document::apply_edits(&document.text, vec![edit]) {
            *text = marked;
        }
    }

    /// Decides about one document, and writes the collected ones when they
    /// reach the size of a change.
    pub(super) fn place_document(
        &mut self,
        mut incoming: IncomingDocument,
    ) -> Result<(), ImportError> {
        self.report.tally.add_counts(&incoming.tally);
        self.mark_corrections(&mut incoming.text);
        let key = (incoming.source, incoming.source_id.clone());
        if let Some(other) = self.met.get(&key) {
            let why = format!("it is the same as what became `{other}`");
            self.report.add_skipped(incoming.source_id, why);
            return Ok(());
        }
        let there = self.known.get(&(key.0.to_owned(), key.1.clone())).cloned();
        let path = match &there {
            Some(path) => path.clone(),
            None => self.find_free_path(&incoming.path)?,
        };
        let before = match there {
            Some(_) => self.workspace.read_text_if_present(&path)?,
            None => None,
        };
        let (outcome, after) = self.decide_outcome(&incoming, before.as_deref());
        self.taken.insert(path.clone());
        self.met.insert(key, path.clone());
        self.report.files.push(ImportedDocument {
            path: path.clone(),
            source_id: incoming.source_id,
            outcome,
            entries: incoming.entries,
            tally: incoming.tally,
        });
        if let (Some(after), false) = (after, self.options.dry_run) {
            self.batch_bytes += after.len() + before.as_ref().map_or(0, String::len);
            self.batch.add(path, before, after);
            if self.batch_bytes > BATCH_BYTES {
                self.write_batch()?;
            }
        }
        Ok(())
    }

    /// Writes the remaining documents and returns the report.
    pub(super) fn finish(mut self) -> Result<ImportReport, ImportError> {
        self.write_batch()?;
        Ok(self.report)
    }

    /// Writes the collected documents as one change.
    fn write_batch(&mut self) -> Result<(), ImportError> {
        let batch = std::mem::take(&mut self.batch);
        self.batch_bytes = 0;
        if batch.is_empty() {
            return Ok(());
        }
        let what = match &batch.files[..] {
            [one] => format!("Import {}", one.path),
            many => format!("Import {} documents", many.len()),
        };
        let receipt = batch.apply(self.workspace, &what, self.options.now)?;
        self.report.changes.extend(receipt.id);
        Ok(())
    }

    /// Decides the outcome of a document, and returns its new text if it is
    /// written.
    fn decide_outcome(
        &self,
        incoming: &IncomingDocument,
        before: Option<&str>,
    ) -> (ImportOutcome, Option<String>) {
        let today = day_of_timestamp(self.options.now).to_string();
        let Some(before) = before else {
            return (
                ImportOutcome::New,
                Some(stamp_origin(incoming, &today, None)),
            );
        };
        let old = FrontMatterHead::parse(before);
        let get = |key| old.as_ref().and_then(|head| head.get(key));
        let same_source = get(SOURCE_HASH_KEY).as_deref() == Some(incoming.source_hash.as_str());
        if same_source && !self.options.force {
            return (ImportOutcome::Unchanged, None);
        }
        let keys = FrontMatterHead::own_keys(&incoming.text);
        // The hash of the last import differs from that of the text now only if
        // a person has edited it.
        let edited = get(IMPORTED_HASH_KEY) != Some(fingerprint_text(before, &keys));
        if edited && !self.options.force {
            return (ImportOutcome::Kept, None);
        }
        // An update keeps the day of the first import, so that an unchanged
        // document stays the same to the byte.
        let imported = get(IMPORTED_KEY).unwrap_or(today);
        let after = stamp_origin(incoming, &imported, Some(before));
        match (after == before, edited) {
            (true, _) => (ImportOutcome::Unchanged, None),
            (false, true) => (ImportOutcome::Replaced, Some(after)),
            (false, false) => (ImportOutcome::Updated, Some(after)),
        }
    }

    /// Returns the path, or a similar one if it is taken.
    fn find_free_path(&self, wanted: &RelPath) -> Result<RelPath, ImportError> {
        let folder = wanted.parent().map_or(String::new(), |it| format!("{it}/"));
        let stem = wanted.stem();
        for attempt in 1..1000 {
            let name = match attempt {
                1 => format!("{folder}{stem}.md"),
                number => format!("{folder}{stem}-{number}.md"),
            };
            let mut path = RelPath::new(&name).map_err(crate::workspace::WorkspaceError::from)?;
            // Names that end in `-index` or `-archive` have a role of their
            // own.
            if !matches!(role_by_path(&path), FileRole::Knowledge | FileRole::Agent) {
                let name = format!("{}-note.md", name.trim_end_matches(".md"));
                path = RelPath::new(&name).map_err(crate::workspace::WorkspaceError::from)?;
            }
            let there = self
                .workspace
                .absolute_path(&path)
                .symlink_metadata()
                .is_ok();
            if !there && !self.taken.contains(&path) {
                return Ok(path);
            }
        }
        Err(ImportError::NoName {
            path: wanted.clone(),
        })
    }
}

/// The front matter of a text, parsed without the rest of it.
struct FrontMatterHead {
    document: Document,
}

impl FrontMatterHead {
    /// Parses the front matter. Returns `None` without any.
    fn parse(text: &str) -> Option<FrontMatterHead> {
        let end = front_matter_end(text)?;
        let document = document::parse_document(&text[..end]);
        document.front_matter.as_ref()?;
        Some(FrontMatterHead { document })
    }

    /// Returns a value as text, also a number or a date.
    fn get(&self, key: &str) -> Option<String> {
        let value = self.document.front_matter.as_ref()?.get(key)?;
        Some(value.to_string())
    }

    /// Returns the keys of a text's front matter.
    fn own_keys(text: &str) -> Vec<String> {
        let head = FrontMatterHead::parse(text);
        let front = head
            .as_ref()
            .and_then(|it| it.document.front_matter.as_ref());
        let entries = front.map(|it| it.entries.as_slice()).unwrap_or_default();
        entries.iter().map(|(key, _)| key.clone()).collect()
    }
}

/// Returns the end of the front matter, with its last line.
fn front_matter_end(text: &str) -> Option<usize> {
    let start = text.strip_prefix('\u{feff}').unwrap_or(text);
    if !start.starts_with("---") {
        return None;
    }
    let mut at = text.len() - start.len();
    for (number, line) in start.split_inclusive('\n').enumerate() {
        at += line.len();
        if number > 0 && matches!(line.trim_end(), "---" | "...") {
            return Some(at);
        }
    }
    None
}

/// Returns the document with its origin in the front matter. Keys that a person
/// added to the earlier version are kept.
fn stamp_origin(incoming: &IncomingDocument, imported: &str, before: Option<&str>) -> String {
    let text = incoming.text.trim_start_matches('\u{feff}');
    // Only a head that the parser accepts as front matter counts as one.
    let end = FrontMatterHead::parse(text)
        .and(front_matter_end(text))
        .unwrap_or(0);
    let (head, body) = text.split_at(end);
    let mut head = head.to_owned();
    if let Some(before) = before {
        head = keep_added_keys(head, before);
    }
    let keys = FrontMatterHead::own_keys(text);
    let hash = fingerprint_parts(&head, body, &keys);
    for (key, value) in [
        (SOURCE_KEY, incoming.source),
        (SOURCE_ID_KEY, &incoming.source_id),
        (SOURCE_HASH_KEY, &incoming.source_hash),
        (IMPORTED_KEY, imported),
        (IMPORTED_HASH_KEY, &hash),
    ] {
        let document = document::parse_document(head);
        let edit = document.set_front_matter(key, value);
        head = document::apply_edits(&document.text, vec![edit]).unwrap_or(document.text);
    }
    let gap = if end == 0 && !body.is_empty() && !body.starts_with(['\n', '\r']) {
        "\n"
    } else {
        ""
    };
    // A new front matter gets the line ends of the body.
    if body.contains("\r\n") && end == 0 {
        format!("{}{body}", format!("{head}{gap}").replace('\n', "\r\n"))
    } else {
        format!("{head}{gap}{body}")
    }
}

/// Adds the entries of the earlier front matter that the new one lacks.
fn keep_added_keys(head: String, before: &str) -> String {
    let Some(old) = FrontMatterHead::parse(before) else {
        return head;
    };
    let Some(front) = &old.document.front_matter else {
        return head;
    };
    let keys = FrontMatterHead::own_keys(&head);
    let mut added = String::new();
    for (key, span) in front.entry_spans(&old.document.text) {
        if !keys.contains(&key) && !PROVENANCE_KEYS.contains(&key.as_str()) {
            added.push_str(old.document.span_text(&span));
        }
    }
    if added.is_empty() {
        return head;
    }
    let document = document::parse_document(head.as_str());
    match &document.front_matter {
        None => format!("---\n{added}---\n"),
        Some(front) => {
            let at = front.yaml.end;
            format!("{}{added}{}", &head[..at], &head[at..])
        }
    }
}

/// Returns a hash of the parts that a person may edit: the Markdown, and the
/// imported front matter values. It detects edits since the import.
fn fingerprint_text(text: &str, keys: &[String]) -> String {
    let end = FrontMatterHead::parse(text)
        .and(front_matter_end(text))
        .unwrap_or(0);
    let (head, body) = text.split_at(end);
    fingerprint_parts(head, body, keys)
}

/// Returns that hash for a head and a body.
fn fingerprint_parts(head: &str, body: &str, keys: &[String]) -> String {
    let head = FrontMatterHead::parse(head);
    let mut whole = String::new();
    for key in keys
        .iter()
        .filter(|key| !PROVENANCE_KEYS.contains(&key.as_str()))
    {
        if let Some(value) = head.as_ref().and_then(|head| head.get(key)) {
            whole.push_str(&format!("{key}={value}\n"));
        }
    }
    // Blank lines between the two belong to neither, so they are no edit.
    whole.push_str(body.trim_matches(['\r', '\n']));
    document::content_hash(&whole)[..32].to_owned()
}

#[cfg(test)]
mod tests;
