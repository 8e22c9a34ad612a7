//! Handles numbers of entries: `DEC-012`, `Session 7`. A renumbered entry lists
//! its former names, and can be found by all of them.

use std::collections::{BTreeMap, BTreeSet};
use std::ops::Range;

use crate::document::{self, Document};
use crate::mind::{list_marker_length, parse_labelled};

#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub(super) enum NumberSeries {
    Decision,
    Session,
}

impl NumberSeries {
    fn prefix(self) -> &'static str {
        match self {
            NumberSeries::Decision => "DEC-",
            NumberSeries::Session => "Session ",
        }
    }

    fn format_digits(self, number: usize) -> String {
        match self {
            NumberSeries::Decision => format!("{number:03}"),
            NumberSeries::Session => number.to_string(),
        }
    }

    pub(super) fn format_name(self, number: usize) -> String {
        format!("{}{}", self.prefix(), self.format_digits(number))
    }
}

/// The number of an entry, with its positions in the entry's text.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) struct EntryNumber {
    pub(super) series: NumberSeries,
    pub(super) number: usize,
    pub(super) former: BTreeSet<usize>,
    digits: Range<usize>,
    /// Span of the line with the former names, including its line end.
    line: Option<Range<usize>>,
}

impl EntryNumber {
    /// Parses an entry that begins with its heading; returns none if the
    /// heading does not contain the number as given.
    pub(super) fn read(series: NumberSeries, number: usize, text: &str) -> Option<EntryNumber> {
        let heading = text.lines().next()?;
        let at = find_ignoring_case(heading, series.prefix())? + series.prefix().len();
        let length = text[at..].bytes().take_while(u8::is_ascii_digit).count();
        if text[at..at + length].parse() != Ok(number) {
            return None;
        }
        let mut former = BTreeSet::new();
        let mut line = None;
        if find_ignoring_case(text, FORMER_LABEL).is_some() {
            let document = document::parse_document(text);
            if let Some((span, value)) = find_former_line(&document) {
                former = find_numbers(series, &value).map(|(it, _)| it).collect();
                line = Some(span);
            }
        }
        Some(EntryNumber {
            series,
            number,
            former,
            digits: at..at + length,
            line,
        })
    }

    /// Returns the text without its number and former names: equal for one
    /// entry under two numbers.
    pub(super) fn strip_number(&self, text: &str) -> String {
        let mut out = text.to_owned();
        if let Some(line) = &self.line {
            out.replace_range(line.clone(), "");
        }
        out.replace_range(self.digits.clone(), "");
        out
    }

    /// Returns the text under another number, with its former names below the
    /// heading.
    pub(super) fn renumber_text(
        &self,
        text: &str,
        number: usize,
        former: &BTreeSet<usize>,
    ) -> String {
        if number == self.number && *former == self.former {
            return text.to_owned();
        }
        let newline = if text.contains("\r\n") { "\r\n" } else { "\n" };
        let mut out = text.to_owned();
        let names: Vec<String> = former
            .iter()
            .map(|it| self.series.format_name(*it))
            .collect();
        let line = format!("- **Formerly:** {}{newline}", names.join(", "));
        // From the end, so that earlier offsets stay valid.
        match (&self.line, former.is_empty()) {
            (Some(at), true) => out.replace_range(at.clone(), ""),
            (Some(at), false) => out.replace_range(at.clone(), &line),
            (None, true) => {}
            (None, false) => {
                let Some(end) = text.find('\n') else {
                    out.push_str(newline);
                    out.push_str(line.trim_end());
                    out.replace_range(self.digits.clone(), &self.series.format_digits(number));
                    return out;
                };
                let body = &text[end + 1..];
                let blank = body.len() - body.trim_start_matches(['\n', '\r']).len();
                let at = end + 1 + blank;
                let first = text[at..].lines().next().unwrap_or_default();
                // A paragraph would continue the line above it, so add a blank
                // line.
                let gap =
                    if first.starts_with(['-', '*', '+']) && list_marker_length(first).is_some() {
                        ""
                    } else {
                        newline
                    };
                out.insert_str(at, &format!("{line}{gap}"));
            }
        }
        out.replace_range(self.digits.clone(), &self.series.format_digits(number));
        out
    }
}

const FORMER_LABEL: &str = "formerly";

/// Finds the line `- **Formerly:** …` of the entry itself, with its value.
fn find_former_line(document: &Document) -> Option<(Range<usize>, String)> {
    let own = &document
        .sections
        .iter()
        .find(|section| section.level > 0)?
        .own;
    let mut at = own.start;
    for line in document.span_text(own).split_inclusive('\n') {
        let span = at..at + line.len();
        at = span.end;
        let text = line.trim();
        let Some(length) = list_marker_length(text) else {
            continue;
        };
        if document.is_in_code(span.start) {
            continue;
        }
        match parse_labelled(&text[length.min(text.len())..]) {
            Some((key, value)) if key == FORMER_LABEL => return Some((span, value.to_owned())),
            _ => {}
        }
    }
    None
}

/// Finds every number of a series, with the span of its digits.
fn find_numbers(series: NumberSeries, text: &str) -> impl Iterator<Item = (usize, Range<usize>)> {
    let prefix = series.prefix();
    let mut at = 0;
    std::iter::from_fn(move || {
        while let Some(found) = text[at..].find(prefix) {
            let start = at + found;
            let digits = start + prefix.len();
            let length = text[digits..]
                .bytes()
                .take_while(u8::is_ascii_digit)
                .count();
            at = digits + length;
            let word = |c: char| c.is_alphanumeric() || c == '_' || c == '-';
            let whole =
                !text[..start].ends_with(word) && !text[at..].starts_with(|c| word(c) && c != '-');
            if whole
                && (1..=9).contains(&length)
                && let Ok(number) = text[digits..at].parse()
            {
                return Some((number, digits..at));
            }
        }
        None
    })
}

/// Finds every number of a series outside of code.
fn find_mentions(series: NumberSeries, text: &str) -> Vec<(usize, Range<usize>)> {
    if !text.contains(series.prefix()) {
        return Vec::new();
    }
    let document = document::parse_document(text);
    find_numbers(series, text)
        .filter(|(_, span)| !document.is_in_code(span.start))
        .collect()
}

/// New numbers of renumbered entries, by series and old number.
pub(super) type RenameMap = BTreeMap<(NumberSeries, usize), usize>;

/// Updates mentions of renumbered entries. Mentions that `before` already had
/// refer to another entry and stay; so do an entry's own name and its former
/// ones.
pub(super) fn follow_renames(
    text: &str,
    own: Option<&EntryNumber>,
    before: Option<&str>,
    renames: &RenameMap,
) -> String {
    let mut out = text.to_owned();
    if renames.is_empty() {
        return out;
    }
    let is_own = |at: usize| {
        own.is_some_and(|it| {
            it.digits.start == at || it.line.as_ref().is_some_and(|it| it.contains(&at))
        })
    };
    let mut edits = Vec::new();
    for series in [NumberSeries::Decision, NumberSeries::Session] {
        if !renames.keys().any(|(it, _)| *it == series) {
            continue;
        }
        let known: BTreeSet<usize> = before
            .map(|it| {
                find_mentions(series, it)
                    .into_iter()
                    .map(|(n, _)| n)
                    .collect()
            })
            .unwrap_or_default();
        for (number, span) in find_mentions(series, text) {
            if let Some(new) = renames.get(&(series, number))
                && !known.contains(&number)
                && !is_own(span.start)
            {
                edits.push((span, series.format_digits(*new)));
            }
        }
    }
    // From the end, so that earlier offsets stay valid.
    edits.sort_by_key(|(span, _)| std::cmp::Reverse(span.start));
    for (span, digits) in edits {
        out.replace_range(span, &digits);
    }
    out
}

fn find_ignoring_case(text: &str, word: &str) -> Option<usize> {
    let (text, word) = (text.as_bytes(), word.as_bytes());
    text.windows(word.len())
        .position(|it| it.eq_ignore_ascii_case(word))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn renamed(text: &str, number: usize, former: &[usize]) -> String {
        let it = EntryNumber::read(NumberSeries::Decision, 12, text).expect("a number");
        it.renumber_text(text, number, &former.iter().copied().collect())
    }

    #[test]
    fn a_new_number_says_the_old_one() {
        assert_eq!(
            renamed("## DEC-012: T\n- **Date:** d", 13, &[12]),
            "## DEC-013: T\n- **Formerly:** DEC-012\n- **Date:** d"
        );
        assert_eq!(
            renamed("## DEC-012: T\r\n\r\nText.\r\n", 13, &[12]),
            "## DEC-013: T\r\n\r\n- **Formerly:** DEC-012\r\n\r\nText.\r\n"
        );
        assert_eq!(
            renamed("## DEC-012: T", 13, &[12]),
            "## DEC-013: T\n- **Formerly:** DEC-012"
        );
        assert_eq!(
            renamed("## DEC-012: T\n- **Formerly:** DEC-004\n- x", 15, &[4, 12]),
            "## DEC-015: T\n- **Formerly:** DEC-004, DEC-012\n- x"
        );
    }

    #[test]
    fn the_same_entry_is_known_under_both_numbers() {
        let text = "## DEC-012: T\n- **Date:** d";
        let before = EntryNumber::read(NumberSeries::Decision, 12, text).expect("a number");
        let after = renamed(text, 13, &[12]);
        let new = EntryNumber::read(NumberSeries::Decision, 13, &after).expect("a number");
        assert_eq!(new.strip_number(&after), before.strip_number(text));
        assert_eq!(new.former, BTreeSet::from([12]));
        let shown = "## DEC-1: x\n```\n- **Formerly:** DEC-9\n```";
        let shown = EntryNumber::read(NumberSeries::Decision, 1, shown).expect("a number");
        assert!(shown.former.is_empty(), "code is not meant");
    }

    #[test]
    fn mentions_follow_and_others_stay() {
        let renames = RenameMap::from([((NumberSeries::Decision, 12), 13)]);
        let check = |text: &str, before, expect: &str| {
            assert_eq!(follow_renames(text, None, before, &renames), expect);
        };
        check(
            "see DEC-012, DEC-0120 and XDEC-012",
            None,
            "see DEC-013, DEC-0120 and XDEC-012",
        );
        check("`DEC-012` and DEC-012.", None, "`DEC-012` and DEC-013.");
        check("by DEC-012", Some("DEC-012 was here"), "by DEC-012");
    }
}
