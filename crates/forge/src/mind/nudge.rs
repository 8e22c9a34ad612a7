//! The one line that a prompt carries, and the reminder at a stop. Reads the
//! state alone and keeps no cache, so it is never older than the file.

use jiff::Timestamp;

use super::{File, Mind, values};

/// Characters of the line at most.
const MOST: usize = 200;

impl Mind<'_> {
    /// Phase, next action and blockers on one line; none where neither phase
    /// nor next action is set.
    pub fn nudge(&self, _now: Timestamp) -> Option<String> {
        let state = self.state_at_a_glance().ok()??;
        if state.is_blank() {
            return None;
        }
        let path = self.files.path(File::State);
        let blocked = match state.blocked.len() {
            0 => String::new(),
            1 => state.blocked[0].clone(),
            n => format!("({n}) {}", state.blocked.join("; ")),
        };
        let corrections = self.corrections();
        // There is no room for a correction, so what would need one is not said.
        let shown = |text: &str| match corrections.check(text).is_empty() {
            true => text.to_owned(),
            false => "(repeats a corrected fact)".to_owned(),
        };
        Some(line(
            &shown(state.phase.as_deref().unwrap_or("not set")),
            &shown(state.next.as_deref().unwrap_or("not set")),
            &shown(&blocked),
            path.as_str(),
        ))
    }

    /// A reminder to write the state down when that is long ago.
    pub fn stale_reminder(&self, now: Timestamp) -> Option<String> {
        let modified = self.modified(File::State)?;
        let stale = i64::try_from(self.workspace.config().mind.stale_seconds).ok()?;
        if now.as_second() - modified.as_second() < stale {
            return None;
        }
        let path = self.files.path(File::State);
        let folder = path.parent().map_or(String::new(), |it| format!("{it}/ "));
        Some(format!(
            "[Memory] Reminder: {path} has not been updated in {}+ minutes. If significant work was done, update {folder}files to preserve progress.",
            stale / 60
        ))
    }
}

/// Each part gets its share of the line, and what one does not need goes to
/// the others.
fn line(phase: &str, next: &str, blocked: &str, path: &str) -> String {
    let render = |phase: &str, next: &str, blocked: &str, path: &str| {
        let blocked = match blocked.is_empty() {
            true => String::new(),
            false => format!(" | BLOCKED: {blocked}"),
        };
        format!("[Memory] Phase: {phase} | Next: {next}{blocked} | (Read {path} for details)")
    };
    let path = match path.chars().count() > 60 {
        true => "the state file",
        false => path,
    };
    let frame = render("", "", if blocked.is_empty() { "" } else { "?" }, path);
    let mut room = MOST - frame.chars().count().min(MOST) + usize::from(!blocked.is_empty());
    let mut parts = [phase, next, blocked].map(str::to_owned);
    let mut order: Vec<usize> = (0..3).filter(|i| !parts[*i].is_empty()).collect();
    order.sort_by_key(|i| parts[*i].chars().count());
    for (done, index) in order.iter().enumerate() {
        let share = room / (order.len() - done);
        parts[*index] = values::cut(&parts[*index], share);
        room -= parts[*index].chars().count().min(room);
    }
    render(&parts[0], &parts[1], &parts[2], path)
}

#[cfg(test)]
mod tests {
    use super::*;

    const PATH: &str = ".mind/STATE.md";

    #[test]
    fn short_parts_stay_whole() {
        assert_eq!(
            line("Phase 2: Build", "Finish login", "waiting for keys", PATH),
            "[Memory] Phase: Phase 2: Build | Next: Finish login | BLOCKED: waiting for keys | (Read .mind/STATE.md for details)"
        );
        assert_eq!(
            line("P", "N", "", PATH),
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
            let line = line(phase.trim(), next.trim(), blocked.trim(), PATH);
            assert!(line.chars().count() <= MOST, "{line}");
            assert!(line.chars().count() > MOST - 25, "{line}");
            assert!(
                line.ends_with("(Read .mind/STATE.md for details)"),
                "{line}"
            );
        }
    }
}
