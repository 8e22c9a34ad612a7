//! The view of work that the graph gives, as a part of the state file between
//! two marks. Text of the user is not touched, and removing the part restores
//! the exact bytes.

use std::fmt::Write;

use jiff::Timestamp;

use super::ask::{ActiveTask, BlockedItem};
use crate::document::{self, escape_markdown_line};
use crate::mind::{MindFile, MindStore};
use crate::workspace::{self, RelPath};

/// The start of the mark before the part. The number behind it counts the line
/// ends that were added before it.
const BEGIN_MARK: &str = "<!-- memory-forge:graph begin ";
/// The mark after the part.
const END_MARK: &str = "<!-- memory-forge:graph end -->";

/// Maximum number of lines of each list.
const MAX_LIST_LINES: usize = 20;

/// The state file, and whether the view changed it.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct PulledState {
    /// The file of the state.
    pub path: RelPath,
    /// Whether its text changed.
    pub changed: bool,
}

/// Writes the part, or removes it without a view.
pub fn pull_state(
    mind: &MindStore<'_>,
    view: Option<(&[BlockedItem], &[ActiveTask])>,
    dry_run: bool,
    now: Timestamp,
) -> Result<PulledState, workspace::WorkspaceError> {
    let path = mind.file_path(MindFile::State);
    let workspace = mind.workspace();
    let before = workspace.read_text_if_present(&path)?;
    let after = replace_part(before.as_deref(), view);
    let changed = after != before;
    if changed && !dry_run {
        workspace.change("Write the view of the graph", now, |change| {
            // Read again under the lock: another process may have written
            // since.
            let before = change.read_text(&path)?;
            if let Some(after) = replace_part(before.as_deref(), view)
                && Some(&after) != before.as_ref()
            {
                change.write(&path, after);
            }
            Ok(())
        })?;
    }
    Ok(PulledState { path, changed })
}

/// Returns the text with the current part; `None` if there is no file and
/// nothing to write.
fn replace_part(
    before: Option<&str>,
    view: Option<(&[BlockedItem], &[ActiveTask])>,
) -> Option<String> {
    let text = before.unwrap_or("");
    let newline = if text.contains("\r\n") { "\r\n" } else { "\n" };
    let found = find_part(text);
    let Some((blocked, active)) = view else {
        return match found {
            Some(found) => Some(format!("{}{}", &text[..found.start], &text[found.end..])),
            None => before.map(str::to_owned),
        };
    };
    let body = render_part(blocked, active).replace('\n', newline);
    // An existing part stays where it is, with the line ends before it.
    if let Some(found) = found {
        let head = &text[found.start..found.body];
        let (start, end) = (&text[..found.start], &text[found.end..]);
        return Some(format!("{start}{head}{body}{end}"));
    }
    // Kept in the mark, so that removing the part restores the exact bytes.
    let gap = match text {
        "" => 0,
        text if text.ends_with(&newline.repeat(2)) => 0,
        text if text.ends_with('\n') => 1,
        _ => 2,
    };
    let ends = newline.repeat(gap);
    Some(format!("{text}{ends}{BEGIN_MARK}{gap} -->{newline}{body}"))
}

struct GraphPart {
    /// Includes the line ends that were added before the mark.
    start: usize,
    /// After the line of the first mark.
    body: usize,
    end: usize,
}

/// Finds the generated part: the first mark that has an end before the next
/// mark. Ignores marks in code and marks without an end.
fn find_part(text: &str) -> Option<GraphPart> {
    let document = document::parse_document(text.to_owned());
    let marks: Vec<usize> = text.match_indices(BEGIN_MARK).map(|it| it.0).collect();
    for (index, at) in marks.iter().copied().enumerate() {
        let next = marks.get(index + 1).copied().unwrap_or(text.len());
        let starts_a_line = at == 0 || text[..at].ends_with('\n');
        if starts_a_line
            && !document.is_in_code(at)
            && let Some(part) = parse_part_at(text, at, next)
        {
            return Some(part);
        }
    }
    None
}

/// Parses the part that begins at a mark; `None` if the mark has no end.
fn parse_part_at(text: &str, at: usize, next: usize) -> Option<GraphPart> {
    let (line, _) = text[at + BEGIN_MARK.len()..next].split_once('\n')?;
    let gap = line.trim_end().strip_suffix(" -->")?;
    // At most two line ends are ever added; a larger number is not our mark.
    let gap: usize = gap.parse().ok().filter(|it| *it <= 2)?;
    let body = at + BEGIN_MARK.len() + line.len() + 1;
    let end = body + text[body..next].find(END_MARK)? + END_MARK.len();
    let after = &text[end..];
    let after = after.strip_prefix('\r').unwrap_or(after);
    let after = after.strip_prefix('\n').unwrap_or(after);
    let mut start = at;
    for _ in 0..gap {
        let before = text[..start].strip_suffix('\n')?;
        start = before.strip_suffix('\r').unwrap_or(before).len();
    }
    Some(GraphPart {
        start,
        body,
        end: text.len() - after.len(),
    })
}

/// Renders the part for the state file.
fn render_part(blocked: &[BlockedItem], active: &[ActiveTask]) -> String {
    // No heading that the state file knows, and no links: both would be read
    // back as if the user had written them.
    let mut out = String::from(
        "## Work in the Graph\n\n\
         Made by `memory-forge graph pull --state`; what is written here is replaced.\n\n\
         **Blocked**\n\n",
    );
    let name = |text: &str| escape_markdown_line(&text.replace("[[", "").replace("]]", ""));
    let list = |out: &mut String, lines: Vec<String>| {
        for line in lines.iter().take(MAX_LIST_LINES) {
            let _ = writeln!(out, "- {line}");
        }
        if lines.is_empty() {
            out.push_str("None.\n");
        }
        if lines.len() > MAX_LIST_LINES {
            let _ = writeln!(out, "- … and {} more", lines.len() - MAX_LIST_LINES);
        }
    };
    let blocked = blocked.iter().map(|it| {
        let by: Vec<String> = it.by.iter().map(|by| name(&by.name)).collect();
        if by.is_empty() {
            name(&it.item.name)
        } else {
            format!("{} — waits for {}", name(&it.item.name), by.join("; "))
        }
    });
    list(&mut out, blocked.collect());
    out.push_str("\n**At work**\n\n");
    let active = active.iter().map(|it| {
        let who: Vec<String> = it.assigned.iter().map(|who| name(&who.name)).collect();
        if who.is_empty() {
            name(&it.task.name)
        } else {
            format!("{} — {}", name(&it.task.name), who.join(", "))
        }
    });
    list(&mut out, active.collect());
    let _ = writeln!(out, "{END_MARK}");
    out
}
