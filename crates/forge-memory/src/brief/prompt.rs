//! The one line that a prompt contains. It is made from the state alone,
//! without a cache, so that it is never older than the file.

use jiff::Timestamp;

use super::RenderedBrief;
use super::pack::divide_room;
use crate::mind::{MindFile, MindStore, truncate_at_word};
use crate::quote;

/// Maximum length of the line.
pub const MAX_PROMPT_CHARS: usize = 200;
/// Maximum length of the path; a longer one would leave no room for the rest.
const MAX_PATH_CHARS: usize = 60;

/// Renders phase, next action and blockers on one line, and the age of the
/// state if the last turn ended with an old one. Returns `None` if there is
/// nothing to show.
pub fn brief_prompt(mind: &MindStore<'_>, now: Timestamp) -> Option<RenderedBrief> {
    let state = mind.state_at_a_glance().ok()??;
    let path = mind.file_path(MindFile::State);
    let path = match path.as_str() {
        path if path.chars().count() > MAX_PATH_CHARS => "the state file",
        path => quote::path_outside_fence(path),
    };
    let overdue = mind.overdue_at_last_stop(now);
    if state.is_blank() {
        let line = |age: String| format!("[Memory] {}", render_reminder(path, &age));
        return overdue.map(line).map(RenderedBrief::from_text);
    }
    let tail = match overdue {
        Some(age) => render_reminder(path, &age),
        None => format!("Read {path} for details"),
    };
    let blocked = state.blocked.join("; ");
    let corrections = mind.read_corrections();
    // A value that needs a correction is not shown, as there is no room for the
    // correction.
    let shown = |text: &str| {
        if corrections.check_text(text).is_empty() {
            text.to_owned()
        } else {
            "not shown, repeats a corrected fact".to_owned()
        }
    };
    Some(RenderedBrief::from_text(render_prompt_line(
        &shown(state.phase.as_deref().unwrap_or("not set")),
        &shown(state.next.as_deref().unwrap_or("not set")),
        (state.blocked.len(), &shown(&blocked)),
        &tail,
    )))
}

/// Renders the reminder to update the state.
fn render_reminder(path: &str, age: &str) -> String {
    format!("{path} was last updated {age} ago; `memory-forge mind set --next …` updates it")
}

/// Renders the whole line. The parts come from a file; the rest is ours.
fn render_prompt_line(
    phase: &str,
    next: &str,
    (count, blocked): (usize, &str),
    tail: &str,
) -> String {
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
    divide_room(
        &mut parts,
        MAX_PROMPT_CHARS.saturating_sub(frame),
        quote_within,
    );
    render(&parts[0], &parts[1], &parts[2])
}

/// Shortens a value to this many characters, quotation marks included.
fn quote_within(text: &str, room: usize) -> String {
    let short = truncate_at_word(text, room);
    let value = quote::value_outside_fence(&short);
    if value.chars().count() <= room {
        return value.into_owned();
    }
    let short = truncate_at_word(text, room.saturating_sub(2));
    quote::value_outside_fence(&short).into_owned()
}
#[cfg(test)]
mod tests {
    use super::*;

    const TAIL: &str = "Read .mind/STATE.md for details";

    #[test]
    fn short_parts_stay_whole() {
        assert_eq!(
            render_prompt_line(
                "Phase 2: Build",
                "Finish login",
                (1, "waiting for keys"),
                TAIL
            ),
            "[Memory] Phase: Phase 2: Build | Next: Finish login | BLOCKED: waiting for keys | (Read .mind/STATE.md for details)"
        );
        assert_eq!(
            render_prompt_line("P", "N", (0, ""), TAIL),
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
            let line = render_prompt_line(phase.trim(), next.trim(), (3, blocked.trim()), TAIL);
            assert!(line.chars().count() <= MAX_PROMPT_CHARS, "{line}");
            assert!(line.chars().count() > MAX_PROMPT_CHARS - 25, "{line}");
            assert!(
                line.ends_with("(Read .mind/STATE.md for details)"),
                "{line}"
            );
        }
    }
}
