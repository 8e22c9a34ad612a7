//! The one line that a prompt carries, and the reminder at a stop. Reads the
//! state alone and keeps no cache, so it is never older than the file.

use jiff::Timestamp;

use super::{File, Mind, values};
use crate::quote;

/// Characters of the line at most.
const MOST: usize = 200;

impl Mind<'_> {
    /// Phase, next action and blockers on one line, and how old the state is
    /// where the last turn ended with an old one. None where there is nothing
    /// of this to say.
    pub fn nudge(&self, now: Timestamp) -> Option<String> {
        let state = self.state_at_a_glance().ok()??;
        let path = match self.files.path(File::State).as_str() {
            path if path.chars().count() > 60 => "the state file",
            path => quote::outside(path),
        };
        let overdue = self.overdue_at_last_stop(now);
        if state.is_blank() {
            return overdue.map(|age| format!("[Memory] {}", reminder(path, &age)));
        }
        let tail = match overdue {
            Some(age) => reminder(path, &age),
            None => format!("Read {path} for details"),
        };
        let blocked = state.blocked.join("; ");
        let corrections = self.corrections();
        // There is no room for a correction, so what would need one is not said.
        let shown = |text: &str| {
            if corrections.check(text).is_empty() {
                text.to_owned()
            } else {
                "not shown, repeats a corrected fact".to_owned()
            }
        };
        Some(line(
            &shown(state.phase.as_deref().unwrap_or("not set")),
            &shown(state.next.as_deref().unwrap_or("not set")),
            (state.blocked.len(), &shown(&blocked)),
            &tail,
        ))
    }

    /// A reminder to write the state down when that is long ago.
    pub fn stale_reminder(&self, now: Timestamp) -> Option<String> {
        self.stale_for(now)?;
        let path = self.files.path(File::State);
        let folder = path
            .parent()
            .filter(|it| quote::outside(it.as_str()) == it.as_str());
        let folder = folder.map_or(String::new(), |it| format!("{it}/ "));
        let path = quote::outside(path.as_str());
        let minutes = self.stale_seconds() / 60;
        Some(format!(
            "[Memory] Reminder: {path} has not been updated in {minutes}+ minutes. If significant work was done, update {folder}files to preserve progress.",
        ))
    }

    /// How long ago the state was written, in words, where that counts as stale.
    pub fn stale_for(&self, now: Timestamp) -> Option<String> {
        let seconds = now.as_second() - self.modified(File::State)?.as_second();
        (seconds >= self.stale_seconds()).then(|| values::duration_in_words(seconds))
    }

    /// The age of the state, where it was already stale when the last turn
    /// ended. Clients such as Claude Code take no context at that moment without
    /// going on to talk, so the next prompt brings the reminder. A state that is
    /// old only because nobody worked is no reason for one.
    fn overdue_at_last_stop(&self, now: Timestamp) -> Option<String> {
        let stopped = self.last_activity().filter(|stopped| *stopped <= now)?;
        self.stale_for(stopped)?;
        self.stale_for(now)
    }

    fn stale_seconds(&self) -> i64 {
        i64::try_from(self.workspace.config().mind.stale_seconds).unwrap_or(i64::MAX)
    }
}

fn reminder(path: &str, age: &str) -> String {
    format!("{path} was last updated {age} ago; `memory-forge mind set --next …` updates it")
}

/// Each part gets its share of the line, and what one does not need goes to
/// the others. Parts are values of a file; the rest is ours.
fn line(phase: &str, next: &str, (count, blocked): (usize, &str), tail: &str) -> String {
    let render = |phase: &str, next: &str, blocked: &str| {
        let blocked = match (blocked.is_empty(), count) {
            (true, _) => String::new(),
            (false, 0 | 1) => format!(" | BLOCKED: {blocked}"),
            (false, count) => format!(" | BLOCKED: ({count}) {blocked}"),
        };
        format!("[Memory] Phase: {phase} | Next: {next}{blocked} | ({tail})")
    };
    let frame = render("", "", if blocked.is_empty() { "" } else { "?" });
    let mut room = MOST - frame.chars().count().min(MOST) + usize::from(!blocked.is_empty());
    let mut parts = [phase, next, blocked].map(str::to_owned);
    let mut order: Vec<usize> = (0..3).filter(|i| !parts[*i].is_empty()).collect();
    order.sort_by_key(|i| parts[*i].chars().count());
    for (done, index) in order.iter().enumerate() {
        let share = room / (order.len() - done);
        parts[*index] = quoted(&parts[*index], share);
        room -= parts[*index].chars().count().min(room);
    }
    render(&parts[0], &parts[1], &parts[2])
}

/// Cuts a value to this many characters, quotation marks included.
fn quoted(text: &str, room: usize) -> String {
    let cut = values::cut(text, room);
    let value = quote::value(&cut);
    if value.chars().count() <= room {
        return value.into_owned();
    }
    let cut = values::cut(text, room.saturating_sub(2));
    quote::value(&cut).into_owned()
}

#[cfg(test)]
mod tests {
    use super::*;

    const TAIL: &str = "Read .mind/STATE.md for details";

    #[test]
    fn short_parts_stay_whole() {
        assert_eq!(
            line(
                "Phase 2: Build",
                "Finish login",
                (1, "waiting for keys"),
                TAIL
            ),
            "[Memory] Phase: Phase 2: Build | Next: Finish login | BLOCKED: waiting for keys | (Read .mind/STATE.md for details)"
        );
        assert_eq!(
            line("P", "N", (0, ""), TAIL),
            "[Memory] Phase: P | Next: N | (Read .mind/STATE.md for details)"
        );
    }

    #[test]
    fn long_parts_share_the_line() {
        let long = "word ".repeat(100);
        for (phase, next, blocked) in [
            (long.as_str(), long.as_str(), long.as_str()),
            ("P", long.as_str(), ""),
            (long.as_str(), "N", "b"),
            ("é", long.as_str(), "keys"),
        ] {
            let line = line(phase.trim(), next.trim(), (3, blocked.trim()), TAIL);
            assert!(line.chars().count() <= MOST, "{line}");
            assert!(line.chars().count() > MOST - 25, "{line}");
            assert!(
                line.ends_with("(Read .mind/STATE.md for details)"),
                "{line}"
            );
        }
    }
}
