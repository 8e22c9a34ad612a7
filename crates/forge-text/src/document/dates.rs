//! Dates that a text mentions: `2026-03-01`, `March 3, 2026`, `3 March 2026`.
//! Only dates with day, month and year; anything that two people could read
//! differently is left alone.

use std::ops::Range;

use jiff::Timestamp;
use jiff::civil::Date;
use jiff::tz::Offset;

use super::{CodeBlock, Document};

/// Returns the day of a moment in universal time: time zone data takes long to
/// load, and with it two machines could write different days.
pub fn day_of_timestamp(moment: Timestamp) -> Date {
    Offset::UTC.to_datetime(moment).date()
}

/// Returns the document's own date: from its front matter, else from its file
/// name.
pub fn document_date(document: &Document, stem: &str) -> Option<Date> {
    let front = document.front_matter.as_ref();
    ["date", "updated", "modified", "last_updated", "created"]
        .iter()
        .filter_map(|key| front?.text(key))
        .chain([stem.rsplit('/').next().unwrap_or(stem)])
        .find_map(parse_leading_date)
}

fn parse_leading_date(text: &str) -> Option<Date> {
    let text = text.trim();
    let iso = text.get(..10)?;
    if let Ok(date) = iso.parse() {
        return Some(date);
    }
    // 2026/05/30 and 2026_05_30 are common in exports.
    let separated =
        iso.as_bytes()[4] == iso.as_bytes()[7] && matches!(iso.as_bytes()[4], b'/' | b'_' | b'.');
    separated
        .then(|| iso.replace(['/', '_', '.'], "-").parse().ok())
        .flatten()
}

/// A date in the text, with its place.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct DateMention {
    /// The day.
    pub date: Date,
    /// The bytes that name it.
    pub span: Range<usize>,
}

/// Finds the dates of the body outside of code blocks, in text order.
pub(super) fn find_dates(
    source: &str,
    body: &Range<usize>,
    code: &[CodeBlock],
) -> Vec<DateMention> {
    let mut dates = Vec::new();
    let in_code = |at: usize| {
        let index = code.partition_point(|code| code.span.start <= at);
        index > 0 && at < code[index - 1].span.end
    };
    let bytes = &source.as_bytes()[..body.end];
    // The year is searched first, because both forms hold one and two digits
    // are found fast.
    for century in ["20", "19"] {
        for at in memchr::memmem::find_iter(&bytes[body.start..], century) {
            let at = body.start + at;
            let year = at..at + 4;
            let is_year = bytes.get(at + 2).is_some_and(u8::is_ascii_digit)
                && bytes.get(at + 3).is_some_and(u8::is_ascii_digit)
                && !bytes.get(at + 4).is_some_and(u8::is_ascii_digit);
            if !is_year || (at > body.start && bytes[at - 1].is_ascii_alphanumeric()) {
                continue;
            }
            let found =
                parse_iso_date(bytes, at).or_else(|| parse_prose_date(source, body.start, year));
            dates.extend(found.filter(|found| !in_code(found.span.start)));
        }
    }
    // They were found by century.
    dates.sort_by_key(|mention| mention.span.start);
    dates
}

fn parse_iso_date(bytes: &[u8], at: usize) -> Option<DateMention> {
    let text = bytes.get(at..at + 10)?;
    let number = |digits: &[u8]| -> Option<i16> {
        digits.iter().try_fold(0, |sum, digit| {
            digit
                .is_ascii_digit()
                .then(|| sum * 10 + i16::from(digit - b'0'))
        })
    };
    let behind = bytes.get(at + 10);
    let ends =
        // A time may follow the day.
        behind.is_none_or(|byte| matches!(byte, b'T' | b't') || !byte.is_ascii_alphanumeric());
    if text[4] != b'-' || text[7] != b'-' || !ends {
        return None;
    }
    let [year, month, day] = [&text[..4], &text[5..7], &text[8..]].map(number);
    let date = Date::new(year?, i8::try_from(month?).ok()?, i8::try_from(day?).ok()?).ok()?;
    Some(DateMention {
        date,
        span: at..at + 10,
    })
}

/// Reads a date in words that ends with this year; the words before the year
/// decide.
fn parse_prose_date(source: &str, start: usize, year: Range<usize>) -> Option<DateMention> {
    let bytes = source.as_bytes();
    if bytes
        .get(year.end)
        .is_some_and(|b| b.is_ascii_alphanumeric() || *b == b'-')
        || !bytes[start..year.start]
            .last()
            .is_some_and(u8::is_ascii_whitespace)
    {
        return None;
    }
    // No date in words is longer than this before its year.
    let mut from = year.start.saturating_sub(40).max(start);
    while !source.is_char_boundary(from) {
        from += 1;
    }
    let mut words = source[from..year.start].split_ascii_whitespace().rev();
    let second = words.next()?;
    let first = words
        .next()
        .filter(|word| *word != "of")
        .or_else(|| words.next())?;
    let bare = second.trim_end_matches(',');
    let (day, month) = match parse_month_name(bare) {
        Some(month) => (parse_day(trim_opening_marks(first))?, month),
        None => (
            parse_day(bare)?,
            parse_month_name(trim_opening_marks(first))?,
        ),
    };
    let begin = trim_opening_marks(first).as_ptr() as usize - source.as_ptr() as usize;
    let lines = bytes[begin..year.start]
        .iter()
        .filter(|byte| **byte == b'\n')
        .count();
    if lines > 1 {
        return None;
    }
    let number = source[year.clone()].parse().ok()?;
    let date = Date::new(number, month, day).ok()?;
    Some(DateMention {
        date,
        span: begin..year.end,
    })
}

/// Removes the bracket, quote or emphasis before a word.
fn trim_opening_marks(word: &str) -> &str {
    word.trim_start_matches(|c: char| !c.is_alphanumeric())
}

fn parse_day(word: &str) -> Option<i8> {
    let digits = word.bytes().take_while(u8::is_ascii_digit).count();
    let (number, suffix) = word.split_at(digits);
    let ordinal = suffix.is_empty()
        || ["st", "nd", "rd", "th"]
            .iter()
            .any(|it| it.eq_ignore_ascii_case(suffix));
    (ordinal && digits <= 2)
        .then(|| number.parse().ok())
        .flatten()
}

fn parse_month_name(word: &str) -> Option<i8> {
    const MONTH_NAMES: [&str; 12] = [
        "january",
        "february",
        "march",
        "april",
        "may",
        "june",
        "july",
        "august",
        "september",
        "october",
        "november",
        "december",
    ];
    let word = word.strip_suffix('.').unwrap_or(word);
    if word.len() < 3 || word.len() > 9 {
        return None;
    }
    let index = MONTH_NAMES.iter().position(|name| {
        let short = if word.eq_ignore_ascii_case("sept") {
            4
        } else {
            3
        };
        name.eq_ignore_ascii_case(word)
            || name
                .get(..short)
                .is_some_and(|name| name.eq_ignore_ascii_case(word))
    })?;
    i8::try_from(index + 1).ok()
}

#[cfg(test)]
mod tests {
    fn check(text: &str, expect: &[&str]) {
        let document = crate::document::parse_document(text);
        let found: Vec<String> = document
            .dates
            .iter()
            .map(|it| {
                format!(
                    "{} {}",
                    it.date,
                    document.span_text(&it.span).replace('\n', " ")
                )
            })
            .collect();
        let expect: Vec<String> = expect.iter().map(|it| it.to_string()).collect();
        assert_eq!(found, expect, "{text:?}");
    }

    #[test]
    fn iso_dates() {
        check("on 2026-03-01.", &["2026-03-01 2026-03-01"]);
        check(
            "## 2026-03-01T10:00Z and `2026-03-02`",
            &["2026-03-01 2026-03-01", "2026-03-02 2026-03-02"],
        );
        check("2026-03-01-notes.md", &["2026-03-01 2026-03-01"]);
        check(
            "2026-13-01 2026-02-30 12026-01-01 2026-01-011 a2026-01-01 2026-1-1",
            &[],
        );
        check("```\n2026-03-01\n```\n", &[]);
    }

    #[test]
    fn dates_in_words() {
        check("March 3, 2026", &["2026-03-03 March 3, 2026"]);
        check("(3 March 2026)", &["2026-03-03 3 March 2026"]);
        check(
            "the 1st of Sept. 2025 and\nDec 24th\n1999",
            &["2025-09-01 1st of Sept. 2025", "1999-12-24 Dec 24th 1999"],
        );
        check("March 2026, 3/4/2026, 31 June 2026, in 2026", &[]);
        check("May 3\n\n2026", &[]);
        check("Ähm — 3 März 2026", &[]);
    }
}
