//! Reports characters that people do not see and agents read.

use std::collections::BTreeMap;

use super::{AuditFinding, AuditFindingKind, AuditLevel};
use crate::quote::hidden::{HiddenClass, describe_char, for_each_hidden};

/// Checks a text. In files that agents load at every start, text that steers
/// them unseen is critical; elsewhere it is a warning.
pub(super) fn check_hidden_characters(
    shown: &str,
    text: &str,
    at_start: bool,
    findings: &mut Vec<AuditFinding>,
) {
    let mut found: BTreeMap<HiddenClass, ClassOccurrences> = BTreeMap::new();
    for_each_hidden(text, |class, c, line, _| {
        let seen = found.entry(class).or_insert(ClassOccurrences {
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
            HiddenClass::Reordering | HiddenClass::Smuggled if at_start => AuditLevel::Critical,
            _ => AuditLevel::Warning,
        };
        let shown_points: Vec<String> = seen
            .points
            .iter()
            .take(3)
            .map(|c| describe_char(*c))
            .collect();
        let mut points = shown_points.join(", ");
        if seen.points.len() > 3 {
            points.push_str(&format!(" and {} others", seen.points.len() - 3));
        }
        let times = match seen.count {
            1 => String::new(),
            count => format!(", {count} times from this line on"),
        };
        let what = describe_class(class);
        let message = format!("{shown}:{}: {what}: {points}{times}", seen.line);
        let finding =
            AuditFinding::new(level, AuditFindingKind::Hidden, shown, message).at_line(seen.line);
        findings.push(finding.with_advice(class_advice(class)));
    }
}

fn describe_class(class: HiddenClass) -> &'static str {
    match class {
        HiddenClass::Reordering => "text that is shown in another order than it is read",
        HiddenClass::Smuggled => "text in characters that cannot be seen",
        HiddenClass::Invisible => "invisible characters",
        HiddenClass::Control => "control characters",
    }
}

fn class_advice(class: HiddenClass) -> &'static str {
    match class {
        HiddenClass::Reordering | HiddenClass::Smuggled => {
            "Find out who wrote it, and delete these characters"
        }
        HiddenClass::Invisible | HiddenClass::Control => "Delete them unless they are meant",
    }
}

/// Occurrences of one class of characters in a file, at the line of the first.
struct ClassOccurrences {
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
        check_hidden_characters("CLAUDE.md", "a\n\u{202e}b\n\u{202e}c", true, &mut found);
        let expect = "CLAUDE.md:2: text that is shown in another order than it is read: \
            U+202E (right-to-left override), 2 times from this line on";
        assert_eq!(found[0].message, expect);
        assert_eq!(
            (found[0].level, found[0].line),
            (AuditLevel::Critical, Some(2))
        );
    }
}
