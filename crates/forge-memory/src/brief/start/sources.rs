//! The state files, each read once, and the order in which their parts enter a
//! briefing. Nothing here knows the form of a briefing.

use jiff::Timestamp;

use super::Slot;
use super::frame::Frame;
use crate::brief::fence::clean;
use crate::brief::pack::{Budget, Fit, Packer, Piece};
use crate::brief::{BriefInput, StartReason};
use crate::mind::parts::{
    Part, WorkLine, has_known_form, is_long, lost_since_checkpoint, recent_decisions,
    recent_sessions, state_at_a_glance, work_document, work_lines,
};
use crate::mind::{Bucket, Decision, Error, File, Layout, Mind, Session, State, cut, plain};
use crate::quote;

/// Maximum number of events, and of remarks.
const MAX_EVENTS: usize = 12;
/// Maximum number of items of a list in the state.
const MAX_ITEMS: usize = 10;
/// Share of a briefing for pointers, in percent: they come after the current
/// work and before past work.
const POINTERS_SHARE: usize = 20;
/// The order of the private state, after the parts of the state.
const LAST: usize = 9;

/// The text of the files, and the time of the state.
pub(crate) struct Sources {
    pub(crate) layout: Layout,
    pub(crate) state_path: String,
    pub(crate) state: Result<Option<State>, String>,
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
    pub(super) sessions: Vec<Session>,
    /// The reason why the session log cannot be read.
    pub(super) sessions_error: Option<String>,
    pub(crate) most_decisions: usize,
    pub(super) most_lines: usize,
    /// Number of characters that the long form would show.
    pub(super) size: usize,
    pub(super) checkpoint: Option<String>,
}

impl Sources {
    /// Reads the state files once.
    pub(crate) fn read(mind: &Mind<'_>) -> Sources {
        let told = |error: Error| error.to_string();
        // Redacts the whole text before anything is cut: half a secret is not
        // recognized.
        let safe = |text: String| quote::unasked(&text).into_owned();
        let text = |which| mind.text(which).map_err(told);
        let config = &mind.workspace().config().mind;
        let characters = |text: &Result<Option<String>, String>| match text {
            Ok(Some(text)) => text.chars().count(),
            _ => 0,
        };
        let state_text = text(File::State);
        let private = mind.private_state();
        let private = private.map(|(path, text)| (path, safe(text)));
        // Under a manifest one file has both, and its text must not appear
        // twice.
        let same = mind.file(File::State) == mind.file(File::Progress);
        let progress_text = if same { Ok(None) } else { text(File::Progress) };
        let decisions_text = text(File::Decisions);
        let sessions_text = text(File::SessionLog);
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
            Ok(Some(text)) => recent_sessions(text, mind.layout()),
            _ => Vec::new(),
        };
        Sources {
            layout: mind.layout(),
            state_path: mind.file(File::State).to_string(),
            state: match &state_text {
                Ok(text) => Ok(text.as_deref().map(state_at_a_glance)),
                Err(error) => Err(error.clone()),
            },
            written: mind.modified(File::State),
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
            checkpoint: mind.last_checkpoint().ok().flatten(),
        }
    }

    /// Adds everything to the packer, the most valuable first.
    pub(super) fn fill(
        &self,
        packer: &mut Packer<'_, Slot>,
        frame: &Frame,
        input: &BriefInput<'_>,
        left_out: &mut Vec<String>,
    ) {
        // Shares are of all the room, not of what is left when a part is added.
        let all = packer.left();
        let clean = |text: &str| clean(text, input.nonce);
        let state = self.state.as_ref().ok().and_then(Option::as_ref);
        let mut cut_state = false;
        if let Some(state) = state {
            let text = clean(&state.text);
            let whole = !is_long(&self.state_text) && all.share(45).holds(all.cost(text.trim()));
            if whole {
                packer.put(&Piece::whole(Slot::State, 0, text.trim()));
            } else {
                cut_state = true;
                packer.note_lack(Slot::State);
                self.essentials(state, packer, all, input);
            }
        }
        if let Some((path, text)) = &self.private {
            let text = format!("Private, from {path}:\n{}", clean(text.trim()));
            if packer.put(&Piece::within(Slot::State, LAST, &text, all.share(12))) != Fit::Whole {
                left_out.push(format!("a part of {path}"));
            }
        }
        // The newest decision is always included.
        let mut recent = self.decisions.iter().rev().take(self.most_decisions);
        // Decisions are added newest first and shown oldest first.
        let order = |index: usize| usize::MAX - index;
        if let Some(newest) = recent.next() {
            let text = clean(&newest.text);
            packer.put(&Piece::within(
                Slot::Decisions,
                order(0),
                &text,
                all.share(20),
            ));
        }
        // So is the newest session, before anything that may have many lines:
        // events and tasks once crowded it out.
        if let Some(last) = self.sessions.last() {
            let fit = packer.put(&Piece::within(
                Slot::Session,
                0,
                &clean(&last.text),
                all.share(20),
            ));
            if fit != Fit::Whole {
                left_out.push("a part of the last session".to_owned());
            }
        }
        if let Some(lines) = self.changed_since_checkpoint(input) {
            let fit = packer.put(&Piece::within(
                Slot::Checkpoint,
                0,
                &clean(&lines),
                all.share(30),
            ));
            if fit != Fit::Whole {
                left_out.push("a part of .mind/checkpoints/latest.md".to_owned());
            }
        }
        let mut skipped = self.add_work(
            packer,
            frame,
            all,
            input,
            &[Bucket::Blocked, Bucket::InProgress],
        );
        if let Some(pointers) = input.pointers {
            let left = packer.put_lines(Slot::Pointers, &pointers.text, all.share(POINTERS_SHARE));
            if left > 0 {
                let path = quote::outside(&pointers.path);
                left_out.push(format!("{left} line(s) of {path}"));
            }
        }
        let mut remarks = 0;
        for (index, remark) in input.overview.iter().enumerate() {
            let remark = clean(&cut(&plain(&quote::unasked(remark)), 300));
            if index >= MAX_EVENTS
                || packer.put(&Piece::whole(Slot::Overview, index, &remark)) == Fit::Out
            {
                remarks += 1;
            }
        }
        if remarks > 0 {
            left_out.push(format!("{remarks} line(s) on the workspace"));
        }
        let mut events = 0;
        for (index, event) in input.events.iter().enumerate() {
            let event = clean(&cut(&plain(&quote::unasked(event)), 200));
            if index >= MAX_EVENTS
                || packer.put(&Piece::whole(Slot::Events, index, &event)) == Fit::Out
            {
                events += 1;
            }
        }
        if events > 0 {
            left_out.push(format!("{events} event(s)"));
        }
        let mut missing = 0;
        for (index, decision) in recent.enumerate() {
            let text = clean(&decision.text);
            let fit = packer.put(&Piece::within(
                Slot::Decisions,
                order(index + 1),
                &text,
                all.share(12),
            ));
            missing += usize::from(fit == Fit::Out);
        }
        if missing > 0 {
            left_out.push(format!("{missing} recent decision(s)"));
        }
        skipped += self.add_work(
            packer,
            frame,
            all,
            input,
            &[Bucket::Next, Bucket::NotStarted],
        );
        if skipped > 0 {
            left_out.push(format!("{skipped} line(s) of progress"));
        }
        if cut_state {
            let path = quote::outside(self.state_path.as_str());
            left_out.push(format!("a part of {path}"));
        }
    }

    /// Adds the known parts of a state file that is too long to be shown whole.
    fn essentials(
        &self,
        state: &State,
        packer: &mut Packer<'_, Slot>,
        all: Budget,
        input: &BriefInput<'_>,
    ) {
        let title = |part: Part| match self.layout {
            Layout::Mind => part.titles()[0],
            Layout::Manifest => part.titles().get(1).unwrap_or(&part.titles()[0]),
        };
        let list = |items: &[String]| -> Option<String> {
            let lines: Vec<String> = items
                .iter()
                .take(MAX_ITEMS)
                .map(|item| format!("- {}", cut(item, 160)))
                .collect();
            let more = items.len().saturating_sub(MAX_ITEMS);
            let more = (more > 0).then(|| format!("- … and {more} more"));
            let lines: Vec<String> = lines.into_iter().chain(more).collect();
            (!lines.is_empty()).then(|| lines.join("\n"))
        };
        let parts = [
            (Part::Next, 4, 12, state.next.clone()),
            (Part::Blocked, 3, 12, list(&state.blocked)),
            (Part::Phase, 0, 4, state.phase.clone()),
            (Part::Active, 2, 8, list(&state.active)),
            (Part::Status, 1, 8, state.status.clone()),
        ];
        for (part, order, share, value) in parts {
            if let Some(value) = value {
                let text = format!("## {}\n{}", title(part), clean(&value, input.nonce));
                packer.put(&Piece::within(Slot::State, order, &text, all.share(share)));
            }
        }
    }

    /// Adds lines of the sections of these kinds; returns the number of lines
    /// left out.
    fn add_work(
        &self,
        packer: &mut Packer<'_, Slot>,
        frame: &Frame,
        all: Budget,
        input: &BriefInput<'_>,
        buckets: &[Bucket],
    ) -> usize {
        // No list of tasks may take the room of decisions and sessions.
        let floor = all.minus(all.share(65));
        let mut skipped = 0;
        for bucket in buckets {
            let most = match (frame.short, bucket) {
                (true, Bucket::InProgress) => 5,
                (true, Bucket::Blocked) => 3,
                (true, _) => 0,
                (false, _) => self.most_lines,
            };
            let slot = match (frame.short, bucket) {
                (true, Bucket::Blocked) => Slot::Blocked,
                _ => Slot::Progress,
            };
            let mut shown = 0;
            let mut heading = "";
            for (index, work) in self.work.iter().enumerate() {
                if work.bucket != *bucket {
                    continue;
                }
                let line = clean(&cut(&work.line, 240), input.nonce);
                let text = if heading != work.heading && !frame.short {
                    format!("{}\n{line}", clean(&cut(&work.heading, 120), input.nonce))
                } else {
                    line
                };
                let room = packer.left().holds(floor);
                if shown >= most
                    || !room
                    || packer.put(&Piece::whole(slot, index, &text)) == Fit::Out
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
        if input.reason != StartReason::Compact {
            return None;
        }
        let text = self.checkpoint.as_deref()?;
        if !has_known_form(text) {
            return Some(format!(
                "`.mind/checkpoints/latest.md` has a form of its own, and is given as it is:\n{}",
                quote::unasked(text).trim()
            ));
        }
        let progress = self.progress_text.as_ref().ok().and_then(Option::as_deref);
        let (made, lines) =
            lost_since_checkpoint(text, &self.state_text, progress.unwrap_or_default());
        let made = cut(&plain(&made), 40);
        Some(if lines.is_empty() {
            format!("The checkpoint of {made} says what the files say.")
        } else {
            format!(
                "In the checkpoint of {made} and no longer in the files:\n{}",
                quote::unasked_part(&lines.join("\n"))
            )
        })
    }
}
