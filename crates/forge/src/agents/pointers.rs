//! `MEMORY.md`: one line for each topic, always loaded, and so never longer
//! than its caps. It holds pointers; what they point to is read on demand.

use super::Home;
use crate::document;
use crate::workspace::Workspace;

/// The index that everyone shares.
pub const FILE: &str = "MEMORY.md";
/// The index of what stays on this machine.
pub const PRIVATE: &str = "MEMORY.local.md";
/// What is read where there is no index yet.
pub const FALLBACK: &str = "state.md";

/// More is cut off by those who load it.
pub const MAX_LINES: usize = 200;
pub const MAX_BYTES: usize = 25_000;

/// What an agent is told of its memory at its start: the index, shared and
/// private, within `max_bytes` and the caps of the file; where there is none,
/// `state.md`. What was left out is named at the end. It reads these files and
/// nothing else, since hooks call it.
pub fn briefing(workspace: &Workspace, home: &Home, max_bytes: usize) -> Option<String> {
    let read = |name: &str| -> Option<(String, String)> {
        let path = home.file(name).ok()?;
        let text = workspace.read_text(&path).ok()?;
        let shown = shown(&text);
        (!shown.is_empty()).then(|| (path.to_string(), shown))
    };
    let mut parts: Vec<(String, String)> = [FILE, PRIVATE].into_iter().filter_map(read).collect();
    if parts.is_empty() {
        parts.extend(home.agent().and_then(|_| read(FALLBACK)));
    }
    within(&parts, max_bytes.min(MAX_BYTES), MAX_LINES)
}

/// The lines of a file as a prompt takes them: without front matter and
/// without characters that cannot be seen.
fn shown(text: &str) -> String {
    let document = document::parse(document::normalise(text));
    let visible = |c: &char| {
        (!c.is_control() || matches!(c, '\n' | '\t'))
            && !matches!(c, '\u{feff}' | '\u{202a}'..='\u{202e}' | '\u{2066}'..='\u{2069}')
    };
    let body = document.text[document.body.clone()].chars();
    let body: String = body.filter(visible).collect();
    body.trim_matches('\n').to_owned()
}

/// Whole lines of these files in their order, as many as fit. The last line
/// says how many did not and where they are.
fn within(parts: &[(String, String)], max_bytes: usize, max_lines: usize) -> Option<String> {
    let whole: Vec<&str> = parts.iter().map(|(_, text)| text.as_str()).collect();
    let whole = whole.join("\n");
    if whole.len() < max_bytes && whole.lines().count() <= max_lines {
        return (!whole.is_empty()).then(|| whole + "\n");
    }
    let note = |left: &[(&str, usize)]| {
        let told: Vec<String> = left
            .iter()
            .map(|(path, count)| format!("{count} more lines in {path}"))
            .collect();
        format!("… {}\n", told.join(", "))
    };
    let all: Vec<(&str, usize)> = parts
        .iter()
        .map(|(path, text)| (path.as_str(), text.lines().count()))
        .collect();
    // The longest that the note can get.
    let room = max_bytes.checked_sub(note(&all).len())?;
    let (mut out, mut taken) = (String::new(), 0);
    let mut left: Vec<(&str, usize)> = Vec::new();
    for (path, text) in parts {
        let mut lines = text.lines();
        let mut rest = lines.clone().count();
        // Nothing behind the first line that does not fit: order is meaning.
        while left.is_empty()
            && let Some(line) = lines.next()
            && out.len() + line.len() < room
            && taken + 1 < max_lines
        {
            out.push_str(line);
            out.push('\n');
            taken += 1;
            rest -= 1;
        }
        if rest > 0 {
            left.push((path, rest));
        }
    }
    Some(out + &note(&left))
}
