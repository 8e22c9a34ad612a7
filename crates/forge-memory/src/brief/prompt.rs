//! The one line that a prompt contains. It is made from the state alone,
//! without a cache, so that it is never older than the file.

use jiff::Timestamp;

use super::Brief;
use super::pack::share_out;
use crate::mind::{File, Mind, cut};
use crate::quote;

/// Maximum length of the line.
pub const MAX_PROMPT_CHARS: usize = 200;
/// Maximum length of the path; a longer one would leave no room for the rest.
const MAX_PATH_CHARS: usize = 60;

/// Renders phase, next action and blockers on one line, and the age of the
/// state if the last turn ended with an old one. Returns `None` if there is
/// nothing to show.
pub fn brief_prompt(mind: &Mind<'_>, now: Timestamp) -> Option<Brief> {
    let state = mind.state_at_a_glance().ok()??;
    let path = mind.file(File::State);
    let path = match path.as_str() {
        path if path.chars().count() > MAX_PATH_CHARS => "the state file",
        path => quote::outside(path),
    };
    let overdue = mind.overdue_at_last_stop(now);
    if state.is_blank() {
        let line = |age: String| format!("[Memory] {}", reminder(path, &age));
        return overdue.map(line).map(Brief::of_text);
    }
    let tail = match overdue {
        Some(age) => reminder(path, &age),
        None => format!("Read {path} for details"),
    };
    let blocked = state.blocked.join("; ");
    let corrections = mind.corrections();
    // A value that needs a correction is not shown, as there is no room for the
    // correction.
    let shown = |text: &str| {
        if corrections.check(text).is_empty() {
            text.to_owned()
        } else {
            "not shown, repeats a corrected fact".to_owned()
        }
    };
    Some(Brief::of_text(line(
        &shown(state.phase.as_deref().unwrap_or("not set")),
        &shown(state.next.as_deref().unwrap_or("not set")),
        (state.blocked.len(), &shown(&blocked)),
        &tail,
    )))
}

/// Renders the reminder to update the state.
fn reminder(path: &str, age: &str) -> String {
    format!("{path} was last updated {age} ago; `memory-forge mind set --next …` updates it")
}

/// Renders the whole line. The parts come from a file; the rest is ours.
fn line(phase: &str, next: &str, (count, blocked): (usize, &str), tail: &str) -> String {
    let render = |phase: &str, next: &str, blocked: &str| {
        let blocked = match (blocked.is_empty(), count) {
            (true, _) => String::new(),
            (false, 0 | 1) => format!(" | BLOCKED: {blocked}"),
            (false, count) => format!(" | BLOCKED: ({count}) {blocked}"),
        };
        format!("[Memory] Phase: {phase} | Next: {next}{blocked} | ({tail})")
    };
    // Rendered with a placeholder, since the label of blockers appears only
    // with a value.
    let frame = render("", "", if blocked.is_empty() { "" } else { "?" });
    let frame = frame.chars().count() - usize::from(!blocked.is_empty());
    let mut parts = [phase, next, blocked].map(str::to_owned);
    share_out(&mut parts, MAX_PROMPT_CHARS.saturating_sub(frame), quoted);
    render(&parts[0], &parts[1], &parts[2])
}

/// Shortens a value to this many characters, quotation marks included.
fn quoted(text: &str, room: usize) -> String {
    let short = cut(text, room);
    let value = quote::value(&short);
    if value.chars().count() <= room {
        return value.into_owned();
    }
    let short = cut(text, room.saturating_sub(2));
    quote::value(&short).into_owned()
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
            assert!(line.chars().count() <= MAX_PROMPT_CHARS, "{line}");
            assert!(line.chars().count() > MAX_PROMPT_CHARS - 25, "{line}");
            assert!(
                line.ends_with("(Read .mind/STATE.md for details)"),
                "{line}"
            );
        }
    }
}
