//! Reports characters that people do not see and agents read.

use std::collections::BTreeMap;

use super::{Finding, Kind, Level};
use crate::quote::hidden::{Class, each, name};

/// Checks a text. In files that agents load at every start, text that steers
/// them unseen is critical; elsewhere it is a warning.
pub(super) fn check(shown: &str, text: &str, at_start: bool, findings: &mut Vec<Finding>) {
    let mut found: BTreeMap<Class, Seen> = BTreeMap::new();
    each(text, |class, c, line, _| {
        let seen = found.entry(class).or_insert(Seen {
            line,
            count: 0,
            points: Vec::new(),
        });
        seen.count += 1;
        if !seen.points.contains(&c) {
            seen.points.push(c);
        }
    });
    for (class, seen) in found {
        let level = match class {
            Class::Reordering | Class::Smuggled if at_start => Level::Critical,
            _ => Level::Warning,
        };
        let shown_points: Vec<String> = seen.points.iter().take(3).map(|c| name(*c)).collect();
        let mut points = shown_points.join(", ");
        if seen.points.len() > 3 {
            points.push_str(&format!(" and {} others", seen.points.len() - 3));
        }
        let times = match seen.count {
            1 => String::new(),
            count => format!(", {count} times from this line on"),
        };
        let what = sentence(class);
        let message = format!("{shown}:{}: {what}: {points}{times}", seen.line);
        let finding = Finding::new(level, Kind::Hidden, shown, message).line(seen.line);
        findings.push(finding.advice(advice(class)));
    }
}

fn sentence(class: Class) -> &'static str {
    match class {
        Class::Reordering => "text that is shown in another order than it is read",
        Class::Smuggled => "text in characters that cannot be seen",
        Class::Invisible => "invisible characters",
        Class::Control => "control characters",
    }
}

fn advice(class: Class) -> &'static str {
    match class {
        Class::Reordering | Class::Smuggled => "Find out who wrote it, and delete these characters",
        Class::Invisible | Class::Control => "Delete them unless they are meant",
    }
}

/// Occurrences of one class of characters in a file, at the line of the first.
struct Seen {
    line: usize,
    count: usize,
    points: Vec<char>,
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_finding_names_line_and_code_point() {
        let mut found = Vec::new();
        check("CLAUDE.md", "a\n\u{202e}b\n\u{202e}c", true, &mut found);
        let expect = "CLAUDE.md:2: text that is shown in another order than it is read: \
            U+202E (right-to-left override), 2 times from this line on";
        assert_eq!(found[0].message, expect);
        assert_eq!((found[0].level, found[0].line), (Level::Critical, Some(2)));
    }
}
