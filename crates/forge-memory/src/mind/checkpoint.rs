//! Saves the state just before a client compacts its context, and finds the
//! lines of it that the live files no longer have afterwards. A checkpoint is a
//! copy: it never replaces the state itself.

use std::collections::HashSet;
use std::fs;

use jiff::Timestamp;

use super::progress::Bucket;
use super::{Error, FOLDER, File, Mind, values};
use crate::admit;
use crate::document;
use crate::workspace::RelPath;

/// A checkpoint as it was written, with the parts that it contains.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Checkpoint {
    /// `.mind/checkpoints/latest.md`.
    pub path: RelPath,
    /// The numbered copy next to it; none if a recent or equal copy exists.
    pub copy: Option<RelPath>,
    pub text: String,
    /// The state and the work in progress, as they appear in the checkpoint.
    pub state: Option<String>,
    pub work: Option<String>,
}

/// Age in seconds up to which the newest copy makes another one unnecessary.
const DEBOUNCE_SECONDS: i64 = 5;

const STATE: &str = "## State at Compaction";
const WORK: &str = "## In-Progress Work";
const RECOVERY: &str = "## Recovery Instructions";
const COPY: &str = "compact-";
const LATEST: &str = "latest.md";

impl Mind<'_> {
    /// Writes the checkpoint. `trigger` names what caused it: `auto`, `manual`
    /// or `stop`.
    pub fn checkpoint(&self, trigger: &str, now: Timestamp) -> Result<Checkpoint, Error> {
        let mut checkpoint = self.draft(trigger, now)?;
        let text = &checkpoint.text;
        self.workspace
            .write_machine(&checkpoint.path, text.as_bytes())?;
        let folder = folder()?;
        let copies = self.copies(&folder);
        let enough = copies.last().is_some_and(|newest| {
            let fresh = super::modified(&self.workspace.absolute(newest)).is_some_and(|at| {
                (0..DEBOUNCE_SECONDS).contains(&(now.as_second() - at.as_second()))
            });
            // Gemini CLI announces a compaction at every turn; without this
            // check, equal copies would push out the different ones.
            fresh
                || self
                    .workspace
                    .read_text(newest)
                    .is_ok_and(|kept| body(&kept) == body(text))
        });
        if !enough {
            let stamp = values::milliseconds(now).replace([':', '.'], "-");
            let path = folder.join(&format!("{COPY}{stamp}.md"))?;
            self.workspace.write_machine(&path, text.as_bytes())?;
            checkpoint.copy = Some(path);
        }
        self.remove_surplus_copies(&folder, checkpoint.copy.as_ref());
        Ok(checkpoint)
    }

    /// Writes a checkpoint if the state or the work in progress differs from
    /// the latest one. Cheap enough for the end of every turn: files that are
    /// older than the checkpoint are not read.
    pub fn checkpoint_if_changed(
        &self,
        trigger: &str,
        now: Timestamp,
    ) -> Result<Option<Checkpoint>, Error> {
        let latest = super::modified(&self.workspace.absolute(&folder()?.join(LATEST)?));
        let files = [File::State, File::Progress];
        let written = files.into_iter().filter_map(|it| self.modified(it)).max();
        // With equal times either may be newer, so the texts are compared.
        if latest.is_some() && written < latest {
            return Ok(None);
        }
        let kept = self.last_checkpoint()?.unwrap_or_default();
        if body(&kept) == body(&self.draft(trigger, now)?.text) {
            return Ok(None);
        }
        self.checkpoint(trigger, now).map(Some)
    }

    /// Builds the checkpoint without writing it.
    fn draft(&self, trigger: &str, now: Timestamp) -> Result<Checkpoint, Error> {
        // An unreadable file must not prevent the others from being saved.
        let told = |error: Error| Some(format!("({error})"));
        // A copy never contains secrets, even if the file does.
        let safe = |text: String| admit::redact(&text).to_string();
        let trigger = &admit::redact(trigger);
        let state = self.text(File::State).unwrap_or_else(told).map(safe);
        let work = match self.document(File::Progress) {
            Ok(Some(document)) => work(&document).map(safe),
            Ok(None) => None,
            Err(error) => told(error),
        };
        let text = format!(
            "# Pre-Compaction Checkpoint\n\n## Timestamp: {}\n\n## Trigger: {}\n\n{STATE}\n\n{}\n\n{WORK}\n\n{}\n\n{RECOVERY}\n\n\
             1. Read `{}` for where the work stands.\n\
             2. Compare it with the state above: what differs was changed since.\n\
             3. Go on with the next action; ask before starting over.\n",
            values::milliseconds(now),
            values::inert_or(trigger, "unknown"),
            state.as_deref().unwrap_or("(no state)").trim_end(),
            work.as_deref().unwrap_or("(no progress data)").trim_end(),
            self.files.path(File::State),
        );
        Ok(Checkpoint {
            path: folder()?.join(LATEST)?,
            copy: None,
            text,
            state,
            work,
        })
    }

    /// Removes the oldest copies above the limit. Never removes the copy that
    /// was just made, whatever its name sorts as, and continues if a removal
    /// fails.
    fn remove_surplus_copies(&self, folder: &RelPath, made: Option<&RelPath>) {
        let copies = self.copies(folder);
        let keep = self.workspace.config().mind.checkpoints;
        let surplus = copies.len().saturating_sub(keep);
        let old = copies.iter().filter(|copy| Some(*copy) != made);
        for copy in old.take(surplus) {
            let _ = self.workspace.remove_machine(copy);
        }
    }

    /// Records how a session ended, for the next session.
    pub fn session_end_checkpoint(&self, reason: &str, now: Timestamp) -> Result<(), Error> {
        let text = format!(
            "# Session End Checkpoint\n\n## Timestamp: {}\n\n## Reason: {}\n\n\
             ## Note: State may not have been saved. Check {} freshness.\n",
            values::seconds(now),
            values::inert_or(&admit::redact(reason), "unknown"),
            self.files.path(File::State),
        );
        let path = RelPath::new(FOLDER)?.join("checkpoints/session-end-latest.md")?;
        self.workspace.write_machine(&path, text.as_bytes())?;
        Ok(())
    }

    /// Reads the latest checkpoint; returns none if there is none.
    pub fn last_checkpoint(&self) -> Result<Option<String>, Error> {
        Ok(self.workspace.text_if_there(&folder()?.join(LATEST)?)?)
    }

    /// Lists the kept copies, oldest first, by the time in their names.
    pub fn checkpoints(&self) -> Vec<RelPath> {
        folder().map_or_else(|_| Vec::new(), |folder| self.copies(&folder))
    }

    fn copies(&self, folder: &RelPath) -> Vec<RelPath> {
        let entries = fs::read_dir(self.workspace.absolute(folder));
        let mut copies: Vec<RelPath> = entries
            .into_iter()
            .flatten()
            .flatten()
            .filter(|entry| entry.file_type().is_ok_and(|kind| kind.is_file()))
            .filter_map(|entry| entry.file_name().into_string().ok())
            .filter(|name| name.starts_with(COPY) && name.ends_with(".md"))
            .filter_map(|name| folder.join(&name).ok())
            .collect();
        copies.sort();
        copies
    }
}

fn folder() -> Result<RelPath, Error> {
    Ok(RelPath::new(FOLDER)?.join("checkpoints")?)
}

/// Returns `true` if a checkpoint has the form that [`differences`] parses. A
/// checkpoint that another tool wrote is shown unparsed.
pub(crate) fn has_known_form(checkpoint: &str) -> bool {
    checkpoint.lines().any(|line| line.trim_end() == STATE)
}

/// Returns a checkpoint without its time and trigger, for comparison.
fn body(checkpoint: &str) -> &str {
    let start = checkpoint.find(STATE).unwrap_or(checkpoint.len());
    &checkpoint[start..]
}

/// Collects the sections about current work, verbatim.
pub(super) fn work(document: &document::Document) -> Option<String> {
    let mut text = String::new();
    let mut end = 0;
    for section in &document.sections {
        let bucket = Bucket::of(&section.title);
        let wanted = matches!(bucket, Bucket::InProgress | Bucket::Blocked | Bucket::Next);
        if section.level > 1 && wanted && section.span.start >= end {
            text.push_str(document.str(&section.span).trim_end());
            text.push_str("\n\n");
            end = section.span.end;
        }
    }
    (!text.is_empty()).then_some(text)
}

/// Returns when a checkpoint was made, and its lines that the live files no
/// longer have, each after the heading that it was below.
pub(crate) fn differences(checkpoint: &str, state: &str, progress: &str) -> (String, Vec<String>) {
    let value = |label: &str| {
        checkpoint
            .lines()
            .find_map(|line| line.strip_prefix(label))
            .map(|value| value.trim().to_owned())
    };
    let made = value("## Timestamp:").unwrap_or_else(|| "an unknown time".to_owned());
    let live: HashSet<&str> = state
        .lines()
        .chain(progress.lines())
        .map(str::trim)
        .collect();
    let start = checkpoint
        .find(STATE)
        .map_or(checkpoint.len(), |at| at + STATE.len());
    let end = checkpoint
        .rfind(RECOVERY)
        .unwrap_or(checkpoint.len())
        .max(start);
    let body = &checkpoint[start..end];
    let mut heading = None;
    let mut lines = Vec::new();
    for line in body.lines().map(str::trim_end) {
        let bare = line.trim();
        if bare.starts_with('#') {
            heading = (bare != WORK).then_some(bare);
            continue;
        }
        let filler = bare.is_empty() || matches!(bare, "(no state)" | "(no progress data)");
        if filler || live.contains(bare) {
            continue;
        }
        // The day of the last update always differs, so it is not a difference.
        if heading.is_some_and(|it| it.to_lowercase().contains("last updated")) {
            continue;
        }
        if let Some(heading) = heading.take() {
            lines.push(heading.to_owned());
        }
        lines.push(line.to_owned());
    }
    (made, lines)
}
