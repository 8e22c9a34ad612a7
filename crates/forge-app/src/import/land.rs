//! Where imported documents come to lie: beside which others, over what, and
//! whether at all.
//!
//! A document knows where it comes from by its front matter, so it may be
//! renamed and moved. What a person has changed in it is never written over
//! unless they ask, and then the bytes before are in the undo journal.

use std::collections::{HashMap, HashSet};

use super::{Error, Landed, Options, Outcome, Report};
use crate::admit::Tally;
use crate::corrections::Corrections;
use crate::document::{self, Document, day_of};
use crate::workspace::{Proposal, RelPath, Role, Workspace, role_by_path};

/// What goes into one change. Most imports are one; more would have to be held
/// in memory all at once.
const BATCH: usize = 16 << 20;

/// The keys that say where a document comes from.
const SOURCE: &str = "source";
const SOURCE_ID: &str = "source_id";
const SOURCE_HASH: &str = "source_hash";
const IMPORTED: &str = "imported";
const IMPORTED_HASH: &str = "imported_hash";
pub(super) const PROVENANCE: [&str; 5] = [SOURCE, SOURCE_ID, SOURCE_HASH, IMPORTED, IMPORTED_HASH];

/// A document on its way in. All of it has been admitted.
pub(super) struct Incoming {
    /// Where it is put when it is new.
    pub(super) path: RelPath,
    pub(super) source: &'static str,
    pub(super) source_id: String,
    pub(super) source_hash: String,
    /// Front matter, where it has some, and Markdown.
    pub(super) text: String,
    /// How many entries, sections or rows it was made from.
    pub(super) entries: usize,
    pub(super) tally: Tally,
}

pub(super) struct Landing<'a> {
    workspace: &'a Workspace,
    options: &'a Options,
    known: HashMap<(String, String), RelPath>,
    /// Documents of this run, by path and by where they come from.
    taken: HashSet<RelPath>,
    met: HashMap<(&'static str, String), RelPath>,
    batch: Proposal,
    batch_bytes: usize,
    corrections: Corrections,
    pub(super) report: Report,
}

impl<'a> Landing<'a> {
    pub(super) fn new(
        workspace: &'a Workspace,
        options: &'a Options,
    ) -> Result<Landing<'a>, Error> {
        let scan = workspace.scan();
        let mut known = HashMap::new();
        for found in &scan.files {
            // What cannot be read cannot be one of ours that may be updated.
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

    /// An old text may repeat what was corrected since. It is taken as it is,
    /// so that a session still reads as it was, with the corrections in its
    /// front matter, where every reader meets them.
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

    /// Decides about one document, and writes what has come together.
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

    pub(super) fn finish(mut self) -> Result<Report, Error> {
        self.write()?;
        Ok(self.report)
    }

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
        let edited = get(IMPORTED_HASH) != Some(print(before, &keys));
        if edited && !self.options.force {
            return (Outcome::Kept, None);
        }
        let imported = get(IMPORTED).unwrap_or(today);
        let after = stamped(incoming, &imported, Some(before));
        match (after == before, edited) {
            (true, _) => (Outcome::Unchanged, None),
            (false, true) => (Outcome::Replaced, Some(after)),
            (false, false) => (Outcome::Updated, Some(after)),
        }
    }

    /// The path, or one beside it where something else is there.
    fn free(&self, wanted: &RelPath) -> Result<RelPath, Error> {
        let folder = wanted.parent().map_or(String::new(), |it| format!("{it}/"));
        let stem = wanted.stem();
        for attempt in 1..1000 {
            let name = match attempt {
                1 => format!("{folder}{stem}.md"),
                number => format!("{folder}{stem}-{number}.md"),
            };
            let mut path = RelPath::new(&name).map_err(crate::workspace::Error::from)?;
            // Names that end in `-index` or `-archive` have a meaning.
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

/// The front matter of a text, read without the rest of it.
struct Head {
    document: Document,
}

impl Head {
    fn of(text: &str) -> Option<Head> {
        let end = head_end(text)?;
        let document = document::parse(&text[..end]);
        document.front_matter.as_ref()?;
        Some(Head { document })
    }

    /// A value as text; numbers and dates count too.
    fn get(&self, key: &str) -> Option<String> {
        let value = self.document.front_matter.as_ref()?.get(key)?;
        Some(value.to_string())
    }

    /// The keys that a text has of its own.
    fn keys_of(text: &str) -> Vec<String> {
        let head = Head::of(text);
        let front = head
            .as_ref()
            .and_then(|it| it.document.front_matter.as_ref());
        let entries = front.map(|it| it.entries.as_slice()).unwrap_or_default();
        entries.iter().map(|(key, _)| key.clone()).collect()
    }
}

/// Where the front matter ends, its last line included.
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

/// A document with its origin in the front matter. Keys that a person has
/// added to the one before stay.
fn stamped(incoming: &Incoming, imported: &str, before: Option<&str>) -> String {
    let text = incoming.text.trim_start_matches('\u{feff}');
    // The head must be one that the parser takes for front matter.
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
    if body.contains("\r\n") && end == 0 {
        format!("{}{body}", format!("{head}{gap}").replace('\n', "\r\n"))
    } else {
        format!("{head}{gap}{body}")
    }
}

/// The entries of the front matter before that the new one does not have.
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

/// What a person would have changed if it is different: the Markdown, and the
/// values that came with it.
fn print(text: &str, keys: &[String]) -> String {
    let end = Head::of(text).and(head_end(text)).unwrap_or(0);
    let (head, body) = text.split_at(end);
    print_of(head, body, keys)
}

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
    // A blank line that was put between belongs to neither.
    whole.push_str(body.trim_matches(['\r', '\n']));
    document::content_hash(&whole)[..32].to_owned()
}

#[cfg(test)]
mod tests;
