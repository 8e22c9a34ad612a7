//! Parses a task into parts, so that ticking it on one side and rewording it on
//! the other can both be kept.

use jiff::civil::Date;

/// The parts of `- [x] Ship it (completed 2026-03-01)` and of what is nested
/// below it.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) struct TaskParts<'t> {
    /// Everything up to the box.
    before: &'t str,
    mark: &'t str,
    /// Everything from the box to the completion date.
    body: &'t str,
    completed: Option<(Date, &'t str)>,
    after: &'t str,
}

const COMPLETED_PREFIX: &str = "(completed ";

impl<'t> TaskParts<'t> {
    pub(super) fn read(text: &'t str) -> Option<TaskParts<'t>> {
        let indent = text.len() - text.trim_start().len();
        let length = crate::mind::list_marker_length(&text[indent..])?;
        let open = indent + length;
        let inside = text.get(open..)?.strip_prefix('[')?;
        let mark = inside.chars().next()?;
        let width = mark.len_utf8();
        if !inside[width..].starts_with(']') {
            return None;
        }
        let from = open + 1 + width;
        let rest = &text[from..];
        let own = &rest[..own_text_end(rest)];
        let completed = own.match_indices(COMPLETED_PREFIX).find_map(|(at, _)| {
            let inside = &own[at + COMPLETED_PREFIX.len()..];
            let close = inside.find(')')?;
            let date = inside[..close].trim().parse().ok()?;
            Some((at, at + COMPLETED_PREFIX.len() + close + 1, date))
        });
        let (body, completed, after) = match completed {
            Some((start, end, date)) => {
                // The space before the date belongs to it.
                let body = rest[..start].trim_end();
                let own = &rest[body.len()..end];
                (body, Some((date, own)), &rest[end..])
            }
            None => {
                let body = own.trim_end();
                (body, None, &rest[body.len()..])
            }
        };
        Some(TaskParts {
            before: &text[..open + 1],
            mark: &text[open + 1..from],
            body,
            completed,
            after,
        })
    }

    /// Returns the text of the task.
    pub(super) fn description(&self) -> &'t str {
        self.body.trim_start_matches(']').trim()
    }

    pub(super) fn is_done(&self) -> bool {
        self.mark != " "
    }

    /// Merges three versions; returns none if both sides reworded it
    /// differently.
    pub(super) fn merge_versions(
        base: Option<&TaskParts<'t>>,
        ours: &TaskParts<'t>,
        theirs: &TaskParts<'t>,
        after: impl FnOnce(Option<&str>, &str, &str) -> Option<String>,
    ) -> Option<String> {
        let body = pick_changed(base.map(|it| it.body), ours.body, theirs.body)?;
        // Without a base, or if both sides changed the mark differently, a
        // completed task stays completed.
        let mark = pick_changed(base.map(|it| it.mark), ours.mark, theirs.mark).unwrap_or(
            if ours.is_done() {
                ours.mark
            } else {
                theirs.mark
            },
        );
        let before = pick_changed(base.map(|it| it.before), ours.before, theirs.before);
        let completed = match (ours.completed, theirs.completed) {
            (ours, theirs) if ours == theirs => ours,
            (ours, theirs) if base.is_some_and(|it| it.completed == ours) => theirs,
            (ours, theirs) if base.is_some_and(|it| it.completed == theirs) => ours,
            // Both completed it: the earlier date is when it was done.
            (Some(ours), Some(theirs)) => Some(if theirs.0 < ours.0 { theirs } else { ours }),
            (ours, theirs) => ours.or(theirs),
        };
        let completed = completed.map_or("", |it| it.1);
        let after = after(base.map(|it| it.after), ours.after, theirs.after)?;
        let before = before.unwrap_or(ours.before);
        Some(format!("{before}{mark}{body}{completed}{after}"))
    }
}

/// Returns the end of the item's own text: before a blank line or a nested
/// item.
fn own_text_end(text: &str) -> usize {
    let mut end = 0;
    for (index, line) in text.split_inclusive('\n').enumerate() {
        let trimmed = line.trim();
        if index > 0 && (trimmed.is_empty() || crate::mind::list_marker_length(trimmed).is_some()) {
            break;
        }
        end += line.len();
    }
    end
}

fn pick_changed<'t>(base: Option<&'t str>, ours: &'t str, theirs: &'t str) -> Option<&'t str> {
    match base {
        _ if ours == theirs => Some(ours),
        Some(base) if base == ours => Some(theirs),
        Some(base) if base == theirs => Some(ours),
        _ => None,
    }
}
