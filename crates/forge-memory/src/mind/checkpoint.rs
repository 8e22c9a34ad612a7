//! Saves the state just before a client compacts its context, and finds the
//! lines of it that the live files no longer have afterwards. A checkpoint is a
//! copy: it never replaces the state itself.

use std::collections::HashSet;
use std::fs;

use jiff::Timestamp;

use super::progress::TaskBucket;
use super::{FOLDER, MindError, MindFile, MindStore, values};
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
    /// The text as it was written.
    pub text: String,
    /// The state and the work in progress, as they appear in the checkpoint.
    pub state: Option<String>,
    /// The tasks in progress.
    pub work: Option<String>,
}

/// Age in seconds up to which the newest copy makes another one unnecessary.
const DEBOUNCE_SECONDS: i64 = 5;

const STATE_HEADING: &str = "## State at Compaction";
const WORK_HEADING: &str = "## In-Progress Work";
const RECOVERY_HEADING: &str = "## Recovery Instructions";
const COPY_NAME_PREFIX: &str = "compact-";
const LATEST_CHECKPOINT_FILE: &str = "latest.md";

impl MindStore<'_> {
    /// Writes the checkpoint. `trigger` names what caused it: `auto`, `manual`
    /// or `stop`.
    pub fn write_checkpoint(&self, trigger: &str, now: Timestamp) -> Result<Checkpoint, MindError> {
        let mut checkpoint = self.draft_checkpoint(trigger, now)?;
        let text = &checkpoint.text;
        self.workspace
            .write_machine(&checkpoint.path, text.as_bytes())?;
        let folder = checkpoints_folder()?;
        let copies = self.list_copies_in(&folder);
        let enough = copies.last().is_some_and(|newest| {
            let fresh =
                super::file_modified_at(&self.workspace.absolute_path(newest)).is_some_and(|at| {
                    (0..DEBOUNCE_SECONDS).contains(&(now.as_second() - at.as_second()))
                });
            // Gemini CLI announces a compaction at every turn; without this
            // check, equal copies would push out the different ones.
            fresh
                || self
                    .workspace
                    .read_text(newest)
                    .is_ok_and(|kept| checkpoint_body(&kept) == checkpoint_body(text))
        });
        if !enough {
            let stamp = values::format_milliseconds(now).replace([':', '.'], "-");
            let path = folder.join(&format!("{COPY_NAME_PREFIX}{stamp}.md"))?;
            self.workspace.write_machine(&path, text.as_bytes())?;
            checkpoint.copy = Some(path);
        }
        self.remove_surplus_copies(&folder, checkpoint.copy.as_ref());
        Ok(checkpoint)
    }

    /// Writes a checkpoint if the state or the work in progress differs from
    /// the latest one. Cheap enough for the end of every turn: files that are
    /// older than the checkpoint are not read.
    pub fn write_checkpoint_if_changed(
        &self,
        trigger: &str,
        now: Timestamp,
    ) -> Result<Option<Checkpoint>, MindError> {
        let latest = super::file_modified_at(
            &self
                .workspace
                .absolute_path(&checkpoints_folder()?.join(LATEST_CHECKPOINT_FILE)?),
        );
        let files = [MindFile::State, MindFile::Progress];
        let written = files
            .into_iter()
            .filter_map(|it| self.modified_at(it))
            .max();
        // With equal times either may be newer, so the texts are compared.
        if latest.is_some() && written < latest {
            return Ok(None);
        }
        let kept = self.read_last_checkpoint()?.unwrap_or_default();
        if checkpoint_body(&kept) == checkpoint_body(&self.draft_checkpoint(trigger, now)?.text) {
            return Ok(None);
        }
        self.write_checkpoint(trigger, now).map(Some)
    }

    /// Builds the checkpoint without writing it.
    fn draft_checkpoint(&self, trigger: &str, now: Timestamp) -> Result<Checkpoint, MindError> {
        // An unreadable file must not prevent the others from being saved.
        let describe_error = |error: MindError| Some(format!("({error})"));
        // A copy never contains secrets, even if the file does.
        let safe = |text: String| admit::redact_text(&text).to_string();
        let trigger = &admit::redact_text(trigger);
        let state = self
            .read_text(MindFile::State)
            .unwrap_or_else(describe_error)
            .map(safe);
        let work = match self.parse_document(MindFile::Progress) {
            Ok(Some(document)) => work_sections(&document).map(safe),
            Ok(None) => None,
            Err(error) => describe_error(error),
        };
        let text = format!(
            "# Pre-Compaction Checkpoint\n\n## Timestamp: {}\n\n## Trigger: {}\n\n{STATE_HEADING}\n\n{}\n\n{WORK_HEADING}\n\n{}\n\n{RECOVERY_HEADING}\n\n\
             1. Read `{}` for where the work stands.\n\
             2. Compare it with the state above: what differs was changed since.\n\
             3. Go on with the next action; ask before starting over.\n",
            values::format_milliseconds(now),
            values::inert_line_or(trigger, "unknown"),
            state.as_deref().unwrap_or("(no state)").trim_end(),
            work.as_deref().unwrap_or("(no progress data)").trim_end(),
            self.files.path(MindFile::State),
        );
        Ok(Checkpoint {
            path: checkpoints_folder()?.join(LATEST_CHECKPOINT_FILE)?,
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
        let copies = self.list_copies_in(folder);
        let keep = self.workspace.config().mind.checkpoints;
        let surplus = copies.len().saturating_sub(keep);
        let old = copies.iter().filter(|copy| Some(*copy) != made);
        for copy in old.take(surplus) {
            let _ = self.workspace.remove_machine(copy);
        }
    }

    /// Records how a session ended, for the next session.
    pub fn write_session_end_checkpoint(
        &self,
        reason: &str,
        now: Timestamp,
    ) -> Result<(), MindError> {
        let text = format!(
            "# Session End Checkpoint\n\n## Timestamp: {}\n\n## Reason: {}\n\n\
             ## Note: State may not have been saved. Check {} freshness.\n",
            values::format_seconds(now),
            values::inert_line_or(&admit::redact_text(reason), "unknown"),
            self.files.path(MindFile::State),
        );
        let path = RelPath::new(FOLDER)?.join("checkpoints/session-end-latest.md")?;
        self.workspace.write_machine(&path, text.as_bytes())?;
        Ok(())
    }

    /// Reads the latest checkpoint; returns none if there is none.
    pub fn read_last_checkpoint(&self) -> Result<Option<String>, MindError> {
        Ok(self
            .workspace
            .read_text_if_present(&checkpoints_folder()?.join(LATEST_CHECKPOINT_FILE)?)?)
    }

    /// Lists the kept copies, oldest first, by the time in their names.
    pub fn list_checkpoint_copies(&self) -> Vec<RelPath> {
        checkpoints_folder().map_or_else(|_| Vec::new(), |folder| self.list_copies_in(&folder))
    }

    fn list_copies_in(&self, folder: &RelPath) -> Vec<RelPath> {
        let entries = fs::read_dir(self.workspace.absolute_path(folder));
        let mut copies: Vec<RelPath> = entries
            .into_iter()
            .flatten()
            .flatten()
            .filter(|entry| entry.file_type().is_ok_and(|kind| kind.is_file()))
            .filter_map(|entry| entry.file_name().into_string().ok())
            .filter(|name| name.starts_with(COPY_NAME_PREFIX) && name.ends_with(".md"))
            .filter_map(|name| folder.join(&name).ok())
            .collect();
        copies.sort();
        copies
    }
}

fn checkpoints_folder() -> Result<RelPath, MindError> {
    Ok(RelPath::new(FOLDER)?.join("checkpoints")?)
}

/// Returns `true` if a checkpoint has the form that [`lost_since_checkpoint`] parses. A
/// checkpoint that another tool wrote is shown unparsed.
pub(crate) fn has_known_form(checkpoint: &str) -> bool {
    checkpoint
        .lines()
        .any(|line| line.trim_end() == STATE_HEADING)
}

/// Returns a checkpoint without its time and trigger, for comparison.
fn checkpoint_body(checkpoint: &str) -> &str {
    let start = checkpoint.find(STATE_HEADING).unwrap_or(checkpoint.len());
    &checkpoint[start..]
}

/// Collects the sections about current work, verbatim.
pub(super) fn work_sections(document: &document::Document) -> Option<String> {
    let mut text = String::new();
    let mut end = 0;
    for section in &document.sections {
        let bucket = TaskBucket::from_title(&section.title);
        let wanted = matches!(
            bucket,
            TaskBucket::InProgress | TaskBucket::Blocked | TaskBucket::Next
        );
        if section.level > 1 && wanted && section.span.start >= end {
            text.push_str(document.span_text(&section.span).trim_end());
            text.push_str("\n\n");
            end = section.span.end;
        }
    }
    (!text.is_empty()).then_some(text)
}

/// Returns when a checkpoint was made, and its lines that the live files no
/// longer have, each after the heading that it was below.
pub(crate) fn lost_since_checkpoint(
    checkpoint: &str,
    state: &str,
    progress: &str,
) -> (String, Vec<String>) {
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
        .find(STATE_HEADING)
        .map_or(checkpoint.len(), |at| at + STATE_HEADING.len());
    let end = checkpoint
        .rfind(RECOVERY_HEADING)
        .unwrap_or(checkpoint.len())
        .max(start);
    let body = &checkpoint[start..end];
    let mut heading = None;
    let mut lines = Vec::new();
    for line in body.lines().map(str::trim_end) {
        let bare = line.trim();
        if bare.starts_with('#') {
            heading = (bare != WORK_HEADING).then_some(bare);
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
