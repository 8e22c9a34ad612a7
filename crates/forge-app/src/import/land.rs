//! Writes imported documents: decides the path of each, whether it is new, and
//! whether it may replace an existing one.
//!
//! A document records its origin in its front matter, so it may be renamed and
//! moved. A person's changes are never overwritten unless they request it, and
//! then the undo journal has the earlier bytes.

use std::collections::{HashMap, HashSet};

use super::{Error, Landed, Options, Outcome, Report};
use crate::admit::Tally;
use crate::corrections::Corrections;
use crate::document::{self, Document, day_of};
use crate::workspace::{Proposal, RelPath, Role, Workspace, role_by_path};

/// Bytes of one change. Most imports are one change; a larger one would hold
/// all documents in memory at once.
const BATCH: usize = 16 << 20;

/// Front matter keys with the origin of a document.
const SOURCE: &str = "source";
const SOURCE_ID: &str = "source_id";
const SOURCE_HASH: &str = "source_hash";
const IMPORTED: &str = "imported";
const IMPORTED_HASH: &str = "imported_hash";
pub(super) const PROVENANCE: [&str; 5] = [SOURCE, SOURCE_ID, SOURCE_HASH, IMPORTED, IMPORTED_HASH];

/// A document to import, already redacted.
pub(super) struct Incoming {
    /// The path for a new document.
    pub(super) path: RelPath,
    pub(super) source: &'static str,
    pub(super) source_id: String,
    pub(super) source_hash: String,
    /// Markdown, with front matter if it has some.
    pub(super) text: String,
    /// Number of entries, sections or rows that it was made from.
    pub(super) entries: usize,
    pub(super) tally: Tally,
}

/// The writer of one import: it knows earlier imports and collects changes.
pub(super) struct Landing<'a> {
    workspace: &'a Workspace,
    options: &'a Options,
    known: HashMap<(String, String), RelPath>,
    /// Documents of this import, by path and by origin.
    taken: HashSet<RelPath>,
    met: HashMap<(&'static str, String), RelPath>,
    batch: Proposal,
    batch_bytes: usize,
    corrections: Corrections,
    pub(super) report: Report,
}

impl<'a> Landing<'a> {
    /// Returns a writer that knows the origins of all documents in the
    /// workspace.
    pub(super) fn new(
        workspace: &'a Workspace,
        options: &'a Options,
    ) -> Result<Landing<'a>, Error> {
        let scan = workspace.scan();
        let mut known = HashMap::new();
        for found in &scan.files {
            // A file that cannot be read is never updated, so its origin does
            // not matter.
            let Ok(text) = workspace.read_text(&found.path) else {
                continue;
            };
            let Some(head) = Head::of(&text) else {
                continue;
            };
            if let (Some(source), Some(id)) = (head.get(SOURCE), head.get(SOURCE_ID)) {
                known.insert((source, id), found.path.clone());
            }
        }
        Ok(Landing {
            workspace,
            options,
            known,
            taken: HashSet::new(),
            met: HashMap::new(),
            batch: Proposal::default(),
            batch_bytes: 0,
            corrections: Corrections::read(workspace)?,
            report: Report::default(),
        })
    }

    /// Adds the corrections that a text repeats to its front matter, where
    /// every reader sees them. The text itself stays as it was.
    fn mark(&self, text: &mut String) {
        let told = self.corrections.told_of(text);
        if told.is_empty() {
            return;
        }
        let told: Vec<&str> = told.iter().map(String::as_str).collect();
        let document = document::parse(text.as_str());
        let edit = document.set_front_matter_list("corrected", &told);
        if let Ok(marked) = document::apply(&document.text, vec![edit]) {
            *text = marked;
        }
    }

    /// Decides about one document, and writes the collected ones when they
    /// reach the size of a change.
    pub(super) fn place(&mut self, mut incoming: Incoming) -> Result<(), Error> {
        self.report.tally.add(&incoming.tally);
        self.mark(&mut incoming.text);
        let key = (incoming.source, incoming.source_id.clone());
        if let Some(other) = self.met.get(&key) {
            let why = format!("it is the same as what became `{other}`");
            self.report.skip(incoming.source_id, why);
            return Ok(());
        }
        let there = self.known.get(&(key.0.to_owned(), key.1.clone())).cloned();
        let path = match &there {
            Some(path) => path.clone(),
            None => self.free(&incoming.path)?,
        };
        let before = match there {
            Some(_) => self.workspace.text_if_there(&path)?,
            None => None,
        };
        let (outcome, after) = self.decide(&incoming, before.as_deref());
        self.taken.insert(path.clone());
        self.met.insert(key, path.clone());
        self.report.files.push(Landed {
            path: path.clone(),
            source_id: incoming.source_id,
            outcome,
            entries: incoming.entries,
            tally: incoming.tally,
        });
        if let (Some(after), false) = (after, self.options.dry_run) {
            self.batch_bytes += after.len() + before.as_ref().map_or(0, String::len);
            self.batch.add(path, before, after);
            if self.batch_bytes > BATCH {
                self.write()?;
            }
        }
        Ok(())
    }

    /// Writes the remaining documents and returns the report.
    pub(super) fn finish(mut self) -> Result<Report, Error> {
        self.write()?;
        Ok(self.report)
    }

    /// Writes the collected documents as one change.
    fn write(&mut self) -> Result<(), Error> {
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
    fn decide(&self, incoming: &Incoming, before: Option<&str>) -> (Outcome, Option<String>) {
        let today = day_of(self.options.now).to_string();
        let Some(before) = before else {
            return (Outcome::New, Some(stamped(incoming, &today, None)));
        };
        let old = Head::of(before);
        let get = |key| old.as_ref().and_then(|head| head.get(key));
        let same_source = get(SOURCE_HASH).as_deref() == Some(incoming.source_hash.as_str());
        if same_source && !self.options.force {
            return (Outcome::Unchanged, None);
        }
        let keys = Head::keys_of(&incoming.text);
        // The hash of the last import differs from that of the text now only if
        // a person has edited it.
        let edited = get(IMPORTED_HASH) != Some(print(before, &keys));
        if edited && !self.options.force {
            return (Outcome::Kept, None);
        }
        // An update keeps the day of the first import, so that an unchanged
        // document stays the same to the byte.
        let imported = get(IMPORTED).unwrap_or(today);
        let after = stamped(incoming, &imported, Some(before));
        match (after == before, edited) {
            (true, _) => (Outcome::Unchanged, None),
            (false, true) => (Outcome::Replaced, Some(after)),
            (false, false) => (Outcome::Updated, Some(after)),
        }
    }

    /// Returns the path, or a similar one if it is taken.
    fn free(&self, wanted: &RelPath) -> Result<RelPath, Error> {
        let folder = wanted.parent().map_or(String::new(), |it| format!("{it}/"));
        let stem = wanted.stem();
        for attempt in 1..1000 {
            let name = match attempt {
                1 => format!("{folder}{stem}.md"),
                number => format!("{folder}{stem}-{number}.md"),
            };
            let mut path = RelPath::new(&name).map_err(crate::workspace::Error::from)?;
            // Names that end in `-index` or `-archive` have a role of their
            // own.
            if !matches!(role_by_path(&path), Role::Knowledge | Role::Agent) {
                let name = format!("{}-note.md", name.trim_end_matches(".md"));
                path = RelPath::new(&name).map_err(crate::workspace::Error::from)?;
            }
            let there = self.workspace.absolute(&path).symlink_metadata().is_ok();
            if !there && !self.taken.contains(&path) {
                return Ok(path);
            }
        }
        Err(Error::NoName {
            path: wanted.clone(),
        })
    }
}

/// The front matter of a text, parsed without the rest of it.
struct Head {
    document: Document,
}

impl Head {
    /// Parses the front matter. Returns `None` without any.
    fn of(text: &str) -> Option<Head> {
        let end = head_end(text)?;
        let document = document::parse(&text[..end]);
        document.front_matter.as_ref()?;
        Some(Head { document })
    }

    /// Returns a value as text, also a number or a date.
    fn get(&self, key: &str) -> Option<String> {
        let value = self.document.front_matter.as_ref()?.get(key)?;
        Some(value.to_string())
    }

    /// Returns the keys of a text's front matter.
    fn keys_of(text: &str) -> Vec<String> {
        let head = Head::of(text);
        let front = head
            .as_ref()
            .and_then(|it| it.document.front_matter.as_ref());
        let entries = front.map(|it| it.entries.as_slice()).unwrap_or_default();
        entries.iter().map(|(key, _)| key.clone()).collect()
    }
}

/// Returns the end of the front matter, with its last line.
fn head_end(text: &str) -> Option<usize> {
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
fn stamped(incoming: &Incoming, imported: &str, before: Option<&str>) -> String {
    let text = incoming.text.trim_start_matches('\u{feff}');
    // Only a head that the parser accepts as front matter counts as one.
    let end = Head::of(text).and(head_end(text)).unwrap_or(0);
    let (head, body) = text.split_at(end);
    let mut head = head.to_owned();
    if let Some(before) = before {
        head = with_added(head, before);
    }
    let keys = Head::keys_of(text);
    let hash = print_of(&head, body, &keys);
    for (key, value) in [
        (SOURCE, incoming.source),
        (SOURCE_ID, &incoming.source_id),
        (SOURCE_HASH, &incoming.source_hash),
        (IMPORTED, imported),
        (IMPORTED_HASH, &hash),
    ] {
        let document = document::parse(head);
        let edit = document.set_front_matter(key, value);
        head = document::apply(&document.text, vec![edit]).unwrap_or(document.text);
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
fn with_added(head: String, before: &str) -> String {
    let Some(old) = Head::of(before) else {
        return head;
    };
    let Some(front) = &old.document.front_matter else {
        return head;
    };
    let keys = Head::keys_of(&head);
    let mut added = String::new();
    for (key, span) in front.spans(&old.document.text) {
        if !keys.contains(&key) && !PROVENANCE.contains(&key.as_str()) {
            added.push_str(old.document.str(&span));
        }
    }
    if added.is_empty() {
        return head;
    }
    let document = document::parse(head.as_str());
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
fn print(text: &str, keys: &[String]) -> String {
    let end = Head::of(text).and(head_end(text)).unwrap_or(0);
    let (head, body) = text.split_at(end);
    print_of(head, body, keys)
}

/// Returns that hash for a head and a body.
fn print_of(head: &str, body: &str, keys: &[String]) -> String {
    let head = Head::of(head);
    let mut whole = String::new();
    for key in keys
        .iter()
        .filter(|key| !PROVENANCE.contains(&key.as_str()))
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
