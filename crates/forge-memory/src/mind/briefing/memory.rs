//! What the files say, each read once, and what of it goes into a briefing
//! first. Nothing here knows how a briefing looks.

use jiff::Timestamp;

use super::frame::Frame;
use super::pack::{Fit, Pack, Room, Slot};
use super::{BriefingAsk, Source, clean};
use crate::mind::decisions::{self, Decision};
use crate::mind::progress::{Bucket, WorkLine, work_document, work_lines};
use crate::mind::sessions::{self, Session};
use crate::mind::state::{self, Part, State};
use crate::mind::{Error, File, Layout, Mind, checkpoint, outline, values};
use crate::quote;

const MOST_EVENTS: usize = 12;
const MOST_ITEMS: usize = 10;
/// Hundredths of a briefing that pointers may take: they come behind what the
/// work is at, and before what was.
const POINTERS: usize = 20;
/// Behind the parts of the state.
const LAST: usize = 9;

/// What the files say, each read once.
pub(super) struct Memory {
    pub(super) layout: Layout,
    pub(super) state_path: String,
    pub(super) state: Result<Option<State>, String>,
    /// When the state was last written.
    pub(super) written: Option<Timestamp>,
    /// The whole file, to compare with and never to show.
    state_text: String,
    /// What a person keeps for themselves beside it, with its path.
    pub(super) private: Option<(String, String)>,
    pub(super) progress_text: Result<Option<String>, String>,
    pub(super) work: Vec<WorkLine>,
    pub(super) decisions: Vec<Decision>,
    /// Why the decisions cannot be read.
    pub(super) decisions_error: Option<String>,
    pub(super) sessions: Vec<Session>,
    /// Why the session log cannot be read.
    pub(super) sessions_error: Option<String>,
    pub(super) most_decisions: usize,
    pub(super) most_lines: usize,
    /// Characters of everything that the long form would show.
    pub(super) size: usize,
    pub(super) checkpoint: Option<String>,
}

impl Memory {
    pub(super) fn read(mind: &Mind<'_>) -> Memory {
        let told = |error: Error| error.to_string();
        // Whole, before anything is cut: half a secret is not known as one.
        let safe = |text: String| quote::unasked(&text).into_owned();
        let text = |which| mind.text(which).map_err(told);
        let config = &mind.workspace.config().mind;
        let characters = |text: &Result<Option<String>, String>| match text {
            Ok(Some(text)) => text.chars().count(),
            _ => 0,
        };
        let state_text = text(File::State);
        let private = mind.private_state();
        let private = private.map(|(path, text)| (path, safe(text)));
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
            Ok(Some(text)) => decisions::recent(text),
            _ => Vec::new(),
        };
        let sessions = match &sessions_text {
            Ok(Some(text)) => sessions::recent(text, mind.files.layout),
            _ => Vec::new(),
        };
        Memory {
            layout: mind.files.layout,
            state_path: mind.file(File::State).to_string(),
            state: match &state_text {
                Ok(text) => Ok(text.as_deref().map(state::glance)),
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

    /// Puts everything in, the most valuable first.
    pub(super) fn fill(
        &self,
        pack: &mut Pack<'_>,
        frame: &Frame,
        ask: &BriefingAsk<'_>,
        left_out: &mut Vec<String>,
    ) {
        let all = pack.left();
        let clean = |text: &str| clean(text, ask.nonce);
        let state = self.state.as_ref().ok().and_then(Option::as_ref);
        let mut cut_state = false;
        if let Some(state) = state {
            let text = clean(&state.text);
            let whole =
                !outline::is_long(&self.state_text) && all.share(45).holds(Room::of(text.trim()));
            if whole {
                pack.add(Slot::State, 0, text.trim());
            } else {
                cut_state = true;
                self.essentials(state, pack, all, ask);
            }
        }
        if let Some((path, text)) = &self.private {
            let text = format!("Private, from {path}:\n{}", clean(text.trim()));
            if pack.add_within(Slot::State, LAST, &text, all.share(12)) != Fit::Whole {
                left_out.push(format!("a part of {path}"));
            }
        }
        // The newest decision is in whatever else there is.
        let mut recent = self.decisions.iter().rev().take(self.most_decisions);
        let order = |index: usize| usize::MAX - index;
        if let Some(newest) = recent.next() {
            pack.add_within(
                Slot::Decisions,
                order(0),
                &clean(&newest.text),
                all.share(20),
            );
        }
        // So is the newest session, before anything that may be many lines.
        if let Some(last) = self.sessions.last() {
            let fit = pack.add_within(Slot::Session, 0, &clean(&last.text), all.share(20));
            if fit != Fit::Whole {
                left_out.push("a part of the last session".to_owned());
            }
        }
        if let Some(lines) = self.changed_since_checkpoint(ask) {
            let fit = pack.add_within(Slot::Checkpoint, 0, &clean(&lines), all.share(30));
            if fit != Fit::Whole {
                left_out.push("a part of .mind/checkpoints/latest.md".to_owned());
            }
        }
        let mut skipped = self.add_work(
            pack,
            frame,
            all,
            ask,
            &[Bucket::Blocked, Bucket::InProgress],
        );
        if let Some(pointers) = ask.pointers {
            let left = pack.lines(Slot::Pointers, pointers.text, all.share(POINTERS));
            if left > 0 {
                let path = quote::outside(pointers.path);
                left_out.push(format!("{left} line(s) of {path}"));
            }
        }
        let mut remarks = 0;
        for (index, remark) in ask.overview.iter().enumerate() {
            let remark = clean(&values::cut(&values::plain(&quote::unasked(remark)), 300));
            if index >= MOST_EVENTS || pack.add(Slot::Overview, index, &remark) == Fit::Out {
                remarks += 1;
            }
        }
        if remarks > 0 {
            left_out.push(format!("{remarks} line(s) on the workspace"));
        }
        let mut events = 0;
        for (index, event) in ask.events.iter().enumerate() {
            let event = clean(&values::cut(&values::plain(&quote::unasked(event)), 200));
            if index >= MOST_EVENTS || pack.add(Slot::Events, index, &event) == Fit::Out {
                events += 1;
            }
        }
        if events > 0 {
            left_out.push(format!("{events} event(s)"));
        }
        let mut missing = 0;
        for (index, decision) in recent.enumerate() {
            let text = clean(&decision.text);
            let fit = pack.add_within(Slot::Decisions, order(index + 1), &text, all.share(12));
            missing += usize::from(fit == Fit::Out);
        }
        if missing > 0 {
            left_out.push(format!("{missing} recent decision(s)"));
        }
        skipped += self.add_work(pack, frame, all, ask, &[Bucket::Next, Bucket::NotStarted]);
        if skipped > 0 {
            left_out.push(format!("{skipped} line(s) of progress"));
        }
        if cut_state {
            let path = quote::outside(self.state_path.as_str());
            left_out.push(format!("a part of {path}"));
        }
    }

    /// The known parts of a state file that is too long to be shown whole.
    fn essentials(&self, state: &State, pack: &mut Pack<'_>, all: Room, ask: &BriefingAsk<'_>) {
        let title = |part: Part| match self.layout {
            Layout::Mind => part.titles()[0],
            Layout::Manifest => part.titles().get(1).unwrap_or(&part.titles()[0]),
        };
        let list = |items: &[String]| -> Option<String> {
            let lines: Vec<String> = items
                .iter()
                .take(MOST_ITEMS)
                .map(|item| format!("- {}", values::cut(item, 160)))
                .collect();
            let more = items.len().saturating_sub(MOST_ITEMS);
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
                let text = format!("## {}\n{}", title(part), clean(&value, ask.nonce));
                pack.add_within(Slot::State, order, &text, all.share(share));
            }
        }
    }

    /// Lines of the sections of these kinds; gives how many were left out.
    fn add_work(
        &self,
        pack: &mut Pack<'_>,
        frame: &Frame,
        all: Room,
        ask: &BriefingAsk<'_>,
        buckets: &[Bucket],
    ) -> usize {
        // No list of tasks may take the room of the decisions and the session.
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
                let line = clean(&values::cut(&work.line, 240), ask.nonce);
                let text = if heading != work.heading && !frame.short {
                    format!(
                        "{}\n{line}",
                        clean(&values::cut(&work.heading, 120), ask.nonce)
                    )
                } else {
                    line
                };
                let room = pack.left().holds(floor);
                if shown >= most || !room || pack.add(slot, index, &text) == Fit::Out {
                    skipped += 1;
                    continue;
                }
                heading = &work.heading;
                shown += 1;
            }
        }
        skipped
    }

    fn changed_since_checkpoint(&self, ask: &BriefingAsk<'_>) -> Option<String> {
        if ask.source != Source::Compact {
            return None;
        }
        let text = self.checkpoint.as_deref()?;
        if !checkpoint::has_known_form(text) {
            return Some(format!(
                "`.mind/checkpoints/latest.md` has a form of its own, and is given as it is:\n{}",
                quote::unasked(text).trim()
            ));
        }
        let progress = self.progress_text.as_ref().ok().and_then(Option::as_deref);
        let (made, lines) =
            checkpoint::differences(text, &self.state_text, progress.unwrap_or_default());
        let made = values::cut(&values::plain(&made), 40);
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
