//! The state files, each read once, and the order in which their parts enter a
//! briefing. Nothing here knows the form of a briefing.

use jiff::Timestamp;

use super::BriefSlot;
use super::frame::BriefFrame;
use crate::brief::fence::clean_for_fence;
use crate::brief::pack::{BriefBudget, BriefPacker, BriefPiece, PieceFit};
use crate::brief::{BriefInput, SessionStartReason};
use crate::counts::count_noun;
use crate::mind::parts::{
    StatePart, WorkLine, has_known_form, is_long, lost_since_checkpoint, recent_decisions,
    recent_sessions, state_at_a_glance, work_document, work_lines,
};
use crate::mind::{
    Decision, MindError, MindFile, MindStore, SessionEntry, StateLayoutKind, TaskBucket, WorkState,
    plain_value, truncate_at_word,
};
use crate::quote;

/// Maximum number of events, and of remarks.
const MAX_EVENT_LINES: usize = 12;
/// Maximum number of items of a list in the state.
const MAX_LIST_ITEMS: usize = 10;
/// Share of a briefing for pointers, in percent: they come after the current
/// work and before past work.
const POINTERS_SHARE_PERCENT: usize = 20;
/// The order of the private state, after the parts of the state.
const PRIVATE_PART_ORDER: usize = 9;

/// The text of the files, and the time of the state.
pub(crate) struct BriefSources {
    pub(crate) layout: StateLayoutKind,
    pub(crate) state_path: String,
    pub(crate) state: Result<Option<WorkState>, String>,
    /// The time at which the state was last written.
    pub(super) written: Option<Timestamp>,
    /// The whole file, to compare with and never to show.
    state_text: String,
    /// The user's private state and its path.
    pub(super) private: Option<(String, String)>,
    pub(super) progress_text: Result<Option<String>, String>,
    pub(super) work: Vec<WorkLine>,
    pub(crate) decisions: Vec<Decision>,
    /// The reason why the decisions cannot be read.
    pub(super) decisions_error: Option<String>,
    pub(super) sessions: Vec<SessionEntry>,
    /// The reason why the session log cannot be read.
    pub(super) sessions_error: Option<String>,
    pub(crate) most_decisions: usize,
    pub(super) most_lines: usize,
    /// Number of characters that the long form would show.
    pub(super) size: usize,
    pub(super) checkpoint: Option<String>,
}

impl BriefSources {
    /// Reads the state files once.
    pub(crate) fn read(mind: &MindStore<'_>) -> BriefSources {
        let to_message = |error: MindError| error.to_string();
        // Redacts the whole text before anything is cut: half a secret is not
        // recognized.
        let safe = |text: String| quote::sanitize_unrequested(&text).into_owned();
        let text = |which| mind.read_text(which).map_err(to_message);
        let config = &mind.workspace().config().mind;
        let characters = |text: &Result<Option<String>, String>| match text {
            Ok(Some(text)) => text.chars().count(),
            _ => 0,
        };
        let state_text = text(MindFile::State);
        let private = mind.read_private_state();
        let private = private.map(|(path, text)| (path, safe(text)));
        // Under a manifest one file has both, and its text must not appear
        // twice.
        let same = mind.file_path(MindFile::State) == mind.file_path(MindFile::Progress);
        let progress_text = if same {
            Ok(None)
        } else {
            text(MindFile::Progress)
        };
        let decisions_text = text(MindFile::Decisions);
        let sessions_text = text(MindFile::SessionLog);
        let tail: usize = match &sessions_text {
            Ok(Some(text)) => text
                .lines()
                .rev()
                .take(config.session_log_tail_lines)
                .map(|line| line.chars().count() + 1)
                .sum(),
            _ => 0,
        };
        let size = characters(&state_text)
            + characters(&progress_text)
            + characters(&decisions_text)
            + tail;
        let work = match &progress_text {
            Ok(Some(text)) => work_lines(&work_document(text)),
            _ => Vec::new(),
        };
        let decisions = match &decisions_text {
            Ok(Some(text)) => recent_decisions(text),
            _ => Vec::new(),
        };
        let sessions = match &sessions_text {
            Ok(Some(text)) => recent_sessions(text, mind.layout_kind()),
            _ => Vec::new(),
        };
        BriefSources {
            layout: mind.layout_kind(),
            state_path: mind.file_path(MindFile::State).to_string(),
            state: match &state_text {
                Ok(text) => Ok(text.as_deref().map(state_at_a_glance)),
                Err(error) => Err(error.clone()),
            },
            written: mind.modified_at(MindFile::State),
            state_text: state_text.ok().flatten().unwrap_or_default(),
            private,
            progress_text,
            work,
            decisions,
            decisions_error: decisions_text.err(),
            sessions,
            sessions_error: sessions_text.err(),
            most_decisions: config.briefing_decisions,
            most_lines: config.briefing_progress_lines,
            size,
            checkpoint: mind.read_last_checkpoint().ok().flatten(),
        }
    }

    /// Adds everything to the packer, the most valuable first.
    pub(super) fn fill_packer(
        &self,
        packer: &mut BriefPacker<'_, BriefSlot>,
        frame: &BriefFrame,
        input: &BriefInput<'_>,
        left_out: &mut Vec<String>,
    ) {
        // Shares are of all the room, not of what is left when a part is added.
        let all = packer.room_left();
        let clean = |text: &str| clean_for_fence(text, input.nonce);
        let state = self.state.as_ref().ok().and_then(Option::as_ref);
        let mut cut_state = false;
        if let Some(state) = state {
            let text = clean(&state.text);
            let whole = !is_long(&self.state_text)
                && all.percent_share(45).can_hold(all.cost_of(text.trim()));
            if whole {
                packer.put(&BriefPiece::new_whole(BriefSlot::State, 0, text.trim()));
            } else {
                cut_state = true;
                packer.note_lack(BriefSlot::State);
                self.add_essentials(state, packer, all, input);
            }
        }
        if let Some((path, text)) = &self.private {
            let text = format!("Private, from {path}:\n{}", clean(text.trim()));
            if packer.put(&BriefPiece::new_within(
                BriefSlot::State,
                PRIVATE_PART_ORDER,
                &text,
                all.percent_share(12),
            )) != PieceFit::Whole
            {
                left_out.push(format!("a part of {path}"));
            }
        }
        // The newest decision is always included.
        let mut recent = self.decisions.iter().rev().take(self.most_decisions);
        // Decisions are added newest first and shown oldest first.
        let order = |index: usize| usize::MAX - index;
        if let Some(newest) = recent.next() {
            let text = clean(&newest.text);
            packer.put(&BriefPiece::new_within(
                BriefSlot::Decisions,
                order(0),
                &text,
                all.percent_share(20),
            ));
        }
        // So is the newest session, before anything that may have many lines:
        // events and tasks once crowded it out.
        if let Some(last) = self.sessions.last() {
            let fit = packer.put(&BriefPiece::new_within(
                BriefSlot::Session,
                0,
                &clean(&last.text),
                all.percent_share(20),
            ));
            if fit != PieceFit::Whole {
                left_out.push("a part of the last session".to_owned());
            }
        }
        if let Some(lines) = self.changed_since_checkpoint(input) {
            let fit = packer.put(&BriefPiece::new_within(
                BriefSlot::Checkpoint,
                0,
                &clean(&lines),
                all.percent_share(30),
            ));
            if fit != PieceFit::Whole {
                left_out.push("a part of .mind/checkpoints/latest.md".to_owned());
            }
        }
        let mut skipped = self.add_work(
            packer,
            frame,
            all,
            input,
            &[TaskBucket::Blocked, TaskBucket::InProgress],
        );
        if let Some(pointers) = input.pointers {
            let left = packer.put_lines(
                BriefSlot::Pointers,
                &pointers.text,
                all.percent_share(POINTERS_SHARE_PERCENT),
            );
            if left > 0 {
                let path = quote::path_outside_fence(&pointers.path);
                left_out.push(format!("{} of {path}", count_noun(left, "line")));
            }
        }
        let mut remarks = 0;
        for (index, remark) in input.overview.iter().enumerate() {
            let remark = clean(&truncate_at_word(
                &plain_value(&quote::sanitize_unrequested(remark)),
                300,
            ));
            if index >= MAX_EVENT_LINES
                || packer.put(&BriefPiece::new_whole(BriefSlot::Overview, index, &remark))
                    == PieceFit::Out
            {
                remarks += 1;
            }
        }
        if remarks > 0 {
            left_out.push(format!("{} on the workspace", count_noun(remarks, "line")));
        }
        let mut events = 0;
        for (index, event) in input.events.iter().enumerate() {
            let event = clean(&truncate_at_word(
                &plain_value(&quote::sanitize_unrequested(event)),
                200,
            ));
            if index >= MAX_EVENT_LINES
                || packer.put(&BriefPiece::new_whole(BriefSlot::Events, index, &event))
                    == PieceFit::Out
            {
                events += 1;
            }
        }
        if events > 0 {
            left_out.push(count_noun(events, "event"));
        }
        let mut missing = 0;
        for (index, decision) in recent.enumerate() {
            let text = clean(&decision.text);
            let fit = packer.put(&BriefPiece::new_within(
                BriefSlot::Decisions,
                order(index + 1),
                &text,
                all.percent_share(12),
            ));
            missing += usize::from(fit == PieceFit::Out);
        }
        if missing > 0 {
            left_out.push(count_noun(missing, "recent decision"));
        }
        skipped += self.add_work(
            packer,
            frame,
            all,
            input,
            &[TaskBucket::Next, TaskBucket::NotStarted],
        );
        if skipped > 0 {
            left_out.push(format!("{} of progress", count_noun(skipped, "line")));
        }
        if cut_state {
            let path = quote::path_outside_fence(self.state_path.as_str());
            left_out.push(format!("a part of {path}"));
        }
    }

    /// Adds the known parts of a state file that is too long to be shown whole.
    fn add_essentials(
        &self,
        state: &WorkState,
        packer: &mut BriefPacker<'_, BriefSlot>,
        all: BriefBudget,
        input: &BriefInput<'_>,
    ) {
        let title = |part: StatePart| match self.layout {
            StateLayoutKind::Mind => part.titles()[0],
            StateLayoutKind::Manifest => part.titles().get(1).unwrap_or(&part.titles()[0]),
        };
        let list = |items: &[String]| -> Option<String> {
            let lines: Vec<String> = items
                .iter()
                .take(MAX_LIST_ITEMS)
                .map(|item| format!("- {}", truncate_at_word(item, 160)))
                .collect();
            let more = items.len().saturating_sub(MAX_LIST_ITEMS);
            let more = (more > 0).then(|| format!("- … and {more} more"));
            let lines: Vec<String> = lines.into_iter().chain(more).collect();
            (!lines.is_empty()).then(|| lines.join("\n"))
        };
        let parts = [
            (StatePart::Next, 4, 12, state.next.clone()),
            (StatePart::Blocked, 3, 12, list(&state.blocked)),
            (StatePart::Phase, 0, 4, state.phase.clone()),
            (StatePart::Active, 2, 8, list(&state.active)),
            (StatePart::Status, 1, 8, state.status.clone()),
        ];
        for (part, order, share, value) in parts {
            if let Some(value) = value {
                let text = format!(
                    "## {}\n{}",
                    title(part),
                    clean_for_fence(&value, input.nonce)
                );
                packer.put(&BriefPiece::new_within(
                    BriefSlot::State,
                    order,
                    &text,
                    all.percent_share(share),
                ));
            }
        }
    }

    /// Adds lines of the sections of these kinds; returns the number of lines
    /// left out.
    fn add_work(
        &self,
        packer: &mut BriefPacker<'_, BriefSlot>,
        frame: &BriefFrame,
        all: BriefBudget,
        input: &BriefInput<'_>,
        buckets: &[TaskBucket],
    ) -> usize {
        // No list of tasks may take the room of decisions and sessions.
        let floor = all.minus(all.percent_share(65));
        let mut skipped = 0;
        for bucket in buckets {
            let most = match (frame.short, bucket) {
                (true, TaskBucket::InProgress) => 5,
                (true, TaskBucket::Blocked) => 3,
                (true, _) => 0,
                (false, _) => self.most_lines,
            };
            let slot = match (frame.short, bucket) {
                (true, TaskBucket::Blocked) => BriefSlot::Blocked,
                _ => BriefSlot::Progress,
            };
            let mut shown = 0;
            let mut heading = "";
            for (index, work) in self.work.iter().enumerate() {
                if work.bucket != *bucket {
                    continue;
                }
                let line = clean_for_fence(&truncate_at_word(&work.line, 240), input.nonce);
                let text = if heading != work.heading && !frame.short {
                    format!(
                        "{}\n{line}",
                        clean_for_fence(&truncate_at_word(&work.heading, 120), input.nonce)
                    )
                } else {
                    line
                };
                let room = packer.room_left().can_hold(floor);
                if shown >= most
                    || !room
                    || packer.put(&BriefPiece::new_whole(slot, index, &text)) == PieceFit::Out
                {
                    packer.note_lack(slot);
                    skipped += 1;
                    continue;
                }
                heading = &work.heading;
                shown += 1;
            }
        }
        skipped
    }

    /// Returns what the checkpoint has and the files no longer have; `None`
    /// unless the session starts after a compaction.
    fn changed_since_checkpoint(&self, input: &BriefInput<'_>) -> Option<String> {
        if input.reason != SessionStartReason::Compact {
            return None;
        }
        let text = self.checkpoint.as_deref()?;
        if !has_known_form(text) {
            return Some(format!(
                "`.mind/checkpoints/latest.md` has an unknown format and is shown unchanged:\n{}",
                quote::sanitize_unrequested(text).trim()
            ));
        }
        let progress = self.progress_text.as_ref().ok().and_then(Option::as_deref);
        let (made, lines) =
            lost_since_checkpoint(text, &self.state_text, progress.unwrap_or_default());
        let made = truncate_at_word(&plain_value(&made), 40);
        Some(if lines.is_empty() {
            format!("The checkpoint of {made} has the same contents as the files.")
        } else {
            format!(
                "In the checkpoint of {made} and no longer in the files:\n{}",
                quote::sanitize_unrequested_part(&lines.join("\n"))
            )
        })
    }
}
