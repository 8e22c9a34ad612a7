//! Finds the days on which the events in a text happen: absolute dates, months,
//! years, weekdays and phrases such as "two weeks ago", as days from and to. A
//! phrase that is relative is left out if there is no day to count from.

use std::ops::Range;

use jiff::ToSpan;
use jiff::civil::{Date, Weekday};

mod words;

/// A range of days that a text names.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct DateRange {
    /// The bytes that name the days.
    pub span: Range<usize>,
    /// First and last day, both included.
    pub from: Date,
    /// The last day, included.
    pub to: Date,
    /// Whether it was counted from the day that was given, wholly or in part.
    pub relative: bool,
}

impl DateRange {
    /// Returns `true` if the two ranges share a day.
    pub fn overlaps(&self, from: Date, to: Date) -> bool {
        self.from <= to && from <= self.to
    }

    /// Formats the range in its shortest form: a day, a month, a year, or first
    /// and last day.
    pub fn to_compact_text(&self) -> String {
        let (from, to) = (self.from, self.to);
        if from == to {
            return from.to_string();
        }
        if from.day() == 1 && to == from.last_of_month() {
            return format!("{:04}-{:02}", from.year(), from.month());
        }
        if from.month() == 1 && from.day() == 1 && to == from.last_of_year() {
            return format!("{:04}", from.year());
        }
        format!("{from}..{to}")
    }
}

/// Finds every range of days in `text`, in order and without overlaps. `anchor`
/// is the day on which the text was written.
pub fn find_date_ranges(text: &str, anchor: Option<Date>) -> Vec<DateRange> {
    let tokens = tokenize_words(text);
    let mut found = Vec::new();
    let mut at = 0;
    while at < tokens.len() {
        let here = PhraseReader {
            text,
            tokens: &tokens[at..],
            anchor,
        };
        match here.read_phrase() {
            Some((length, from, to, relative)) => {
                let span = tokens[at].span.start..tokens[at + length - 1].span.end;
                found.push(DateRange {
                    span,
                    from,
                    to,
                    relative,
                });
                at += length;
            }
            None => at += 1,
        }
    }
    found
}

/// Parses a value such as `2026-03`, `2026` or `2026-03-01..2026-03-07`.
pub fn parse_date_range(value: &str) -> Option<(Date, Date)> {
    let value = value.trim();
    if let Some((from, to)) = value.split_once("..") {
        return Some((parse_date_range(from)?.0, parse_date_range(to)?.1));
    }
    let mut parts = value.splitn(3, '-').map(|part| part.parse::<i16>().ok());
    let year = parts.next()??;
    if !(1000..=9999).contains(&year) || !value.starts_with(|c: char| c.is_ascii_digit()) {
        return None;
    }
    match (parts.next(), parts.next()) {
        (None, _) => {
            let first = Date::new(year, 1, 1).ok()?;
            Some((first, first.last_of_year()))
        }
        (Some(month), None) => {
            let first = Date::new(year, i8::try_from(month?).ok()?, 1).ok()?;
            Some((first, first.last_of_month()))
        }
        (Some(month), Some(day)) => {
            let day = Date::new(year, i8::try_from(month?).ok()?, i8::try_from(day?).ok()?).ok()?;
            Some((day, day))
        }
    }
}

struct TimeToken {
    span: Range<usize>,
    /// Lower case.
    word: String,
    /// A sentence or a clause ended before it.
    apart: bool,
    capital: bool,
}

fn tokenize_words(text: &str) -> Vec<TimeToken> {
    let mut tokens = Vec::new();
    let mut apart = true;
    let mut chars = text.char_indices().peekable();
    while let Some((start, c)) = chars.next() {
        if !c.is_alphanumeric() {
            apart |= matches!(c, '.' | '!' | '?' | ';' | ':' | '\n' | '(' | ')' | '"');
            continue;
        }
        let mut end = start + c.len_utf8();
        while let Some((next, c)) = chars.peek().copied() {
            // A date in digits is one word.
            let joins = c.is_alphanumeric()
                || (c == '-' || c == '/')
                    && text[start..next]
                        .bytes()
                        .all(|b| b.is_ascii_digit() || b == b'-' || b == b'/')
                    && text[next + 1..].starts_with(|c: char| c.is_ascii_digit());
            if !joins {
                break;
            }
            end = next + c.len_utf8();
            chars.next();
        }
        tokens.push(TimeToken {
            word: text[start..end].to_lowercase(),
            capital: c.is_uppercase(),
            span: start..end,
            apart,
        });
        apart = false;
    }
    tokens
}

struct PhraseReader<'a> {
    text: &'a str,
    tokens: &'a [TimeToken],
    anchor: Option<Date>,
}

/// The number of tokens, first day, last day, and whether the anchor was used.
type PhraseMatch = (usize, Date, Date, bool);

impl PhraseReader<'_> {
    fn word_at(&self, at: usize) -> &str {
        match self.tokens.get(at) {
            Some(token) if at == 0 || !token.apart || self.follows_abbreviation(at) => &token.word,
            _ => "",
        }
    }

    /// Returns `true` if the full stop before this token ends an abbreviation
    /// and no sentence: `Sept. 2025`.
    fn follows_abbreviation(&self, at: usize) -> bool {
        let before = &self.tokens[at - 1];
        before.word.len() <= 4
            && words::parse_month(&before.word).is_some()
            && self.text[before.span.end..self.tokens[at].span.start] == *". "
    }

    fn read_phrase(&self) -> Option<PhraseMatch> {
        // The longer forms first: the month of `March 3` is part of a day.
        self.read_iso_date()
            .or_else(|| self.read_relative_span())
            .or_else(|| self.read_day_and_month())
            .or_else(|| self.read_month())
            .or_else(|| self.read_named_day())
            .or_else(|| self.read_near_unit())
            .or_else(|| self.read_year())
    }

    /// Reads `2026-03-01`, `2026/03/01`, `2026-03`.
    fn read_iso_date(&self) -> Option<PhraseMatch> {
        let word = self.word_at(0);
        if !word.contains(['-', '/']) {
            return None;
        }
        let (from, to) = parse_date_range(&word.replace('/', "-"))?;
        (word.len() >= 7).then_some((1, from, to, false))
    }

    /// Reads `two weeks ago`, `vor zwei Wochen`, `il y a deux semaines`, `in 3
    /// days`.
    fn read_relative_span(&self) -> Option<PhraseMatch> {
        let anchor = self.anchor?;
        let before = words::ago_before(|at| self.word_at(at));
        let (skip, sign) = before.unwrap_or((0, 0));
        let (more, count) = self.read_count(skip)?;
        let unit = words::parse_unit(self.word_at(skip + more))?;
        let mut length = skip + more + 1;
        let sign = match sign {
            0 if words::is_ago_word(self.word_at(length)) => {
                length += 1;
                -1
            }
            0 if self.word_at(length) == "from" && self.word_at(length + 1) == "now" => {
                length += 2;
                1
            }
            0 => return None,
            sign => sign,
        };
        let (from, to) = shift_by_units(anchor, unit, sign * count)?;
        Some((length, from, to, true))
    }

    fn read_count(&self, at: usize) -> Option<(usize, i64)> {
        let word = self.word_at(at);
        if let Some(number) = words::parse_number(word) {
            let of = matches!(self.word_at(at + 1), "couple" | "few") as usize;
            let number = match self.word_at(at + of) {
                "couple" => 2,
                "few" => 3,
                _ => number,
            };
            let of = of + (of > 0 && self.word_at(at + of + 1) == "of") as usize;
            return Some((1 + of, number));
        }
        word.parse().ok().filter(|n| *n < 1000).map(|n| (1, n))
    }

    /// Reads `3 March 2026`, `March 3rd`, `3. März`, `le 3 mars`.
    fn read_day_and_month(&self) -> Option<PhraseMatch> {
        let ordinal = |at: usize| parse_day_number(self.word_at(at));
        let (length, day, month) = if let Some(month) = words::parse_month(self.word_at(0)) {
            if !self.is_name_of_month(0) {
                return None;
            }
            (2, ordinal(1)?, month)
        } else {
            let day = ordinal(0)?;
            let mut at = 1;
            // `3. März`: the full stop belongs to the number.
            let dotted = self.tokens.get(1).is_some_and(|t| {
                t.apart && self.text[self.tokens[0].span.end..t.span.start] == *". "
            });
            if matches!(self.word_at(at), "of" | "de" | "di") {
                at += 1;
            }
            let word = match self.tokens.get(at) {
                Some(token) if dotted => token.word.as_str(),
                _ => self.word_at(at),
            };
            (at + 1, day, words::parse_month(word)?)
        };
        let of = matches!(self.word_at(length), "of" | "de" | "del") as usize;
        if let Some(year) = parse_year(self.word_at(length + of)) {
            let date = Date::new(year, month, day).ok()?;
            return Some((length + of + 1, date, date, false));
        }
        let anchor = self.anchor?;
        let date = nearest_year_date(anchor, |year| Date::new(year, month, day).ok())?;
        Some((length, date, date, true))
    }

    /// Reads `March 2026`, `in March`, `last March`.
    fn read_month(&self) -> Option<PhraseMatch> {
        let (skip, step) = match words::step_before(self.word_at(0)) {
            Some(step) if words::parse_month(self.word_at(1)).is_some() => (1, Some(step)),
            _ => (0, None),
        };
        let month = words::parse_month(self.word_at(skip))?;
        if !self.is_name_of_month(skip) {
            return None;
        }
        let of = matches!(self.word_at(skip + 1), "of" | "de" | "del") as usize;
        let first = |year| Date::new(year, month, 1).ok();
        if let Some(year) = parse_year(self.word_at(skip + 1 + of)) {
            let first = first(year)?;
            return Some((skip + 2 + of, first, first.last_of_month(), false));
        }
        let anchor = self.anchor?;
        let first = match step {
            Some(-1) if month >= anchor.month() => first(anchor.year() - 1)?,
            Some(1) if month <= anchor.month() => first(anchor.year() + 1)?,
            Some(_) => first(anchor.year())?,
            None => nearest_year_date(anchor, first)?,
        };
        Some((skip + 1, first, first.last_of_month(), true))
    }

    /// Returns `true` if the word is the name of a month here. `may`, `march`
    /// and `mars` are also other words: in small letters, or at the start of a
    /// sentence, they are a month only if a number follows.
    fn is_name_of_month(&self, at: usize) -> bool {
        let Some(token) = self.tokens.get(at) else {
            return false;
        };
        let numbered = parse_day_number(self.word_at(at + 1)).is_some()
            || parse_year(self.word_at(at + 1)).is_some();
        let led = at > 0;
        !words::is_common_word(&token.word)
            || numbered
            || led
            || token.capital && !token.apart && token.word != "mars"
    }

    /// Reads `yesterday`, `last Thursday`, `on Friday`.
    fn read_named_day(&self) -> Option<PhraseMatch> {
        let anchor = self.anchor?;
        if let Some(days) = words::day_offset(self.word_at(0)) {
            let day = anchor.checked_add(days.days()).ok()?;
            return Some((1, day, day, true));
        }
        let (skip, step) = match words::step_before(self.word_at(0)) {
            Some(step) => (1, Some(step)),
            None => (0, None),
        };
        let weekday = words::parse_weekday(self.word_at(skip))?;
        let after = words::step_before(self.word_at(skip + 1)).filter(|_| skip == 0);
        let length = skip + 1 + after.is_some() as usize;
        let step = step.or(after).unwrap_or(-1);
        let day = date_of_weekday(anchor, weekday, step)?;
        Some((length, day, day, true))
    }

    /// Reads `last week`, `this month`, `la semaine dernière`, `last summer`.
    fn read_near_unit(&self) -> Option<PhraseMatch> {
        let anchor = self.anchor?;
        if let Some(step) = words::step_before(self.word_at(0)) {
            // `the past two months` is no month.
            if let Some(unit) =
                words::parse_unit(self.word_at(1)).filter(|_| !self.word_at(1).ends_with('s'))
            {
                let (from, to) = calendar_period(anchor, unit, step)?;
                return Some((2, from, to, true));
            }
            if let Some(month) = words::season_start(self.word_at(1)) {
                let first = Date::new(anchor.year(), month, 1).ok()?;
                let first = match step {
                    -1 if first.last_of_month() >= anchor => {
                        Date::new(anchor.year() - 1, month, 1).ok()?
                    }
                    1 if first <= anchor => Date::new(anchor.year() + 1, month, 1).ok()?,
                    _ => first,
                };
                let to = first.checked_add(2.months()).ok()?.last_of_month();
                return Some((2, first, to, true));
            }
            if matches!(self.word_at(1), "weekend" | "wochenende") {
                let saturday =
                    date_of_weekday(anchor, Weekday::Saturday, if step < 0 { -1 } else { 1 })?;
                return Some((2, saturday, saturday.tomorrow().ok()?, true));
            }
        }
        // The languages that put the word behind: `la semana pasada`.
        let unit = words::parse_unit(self.word_at(0))?;
        let step = words::step_behind(self.word_at(1))?;
        let (from, to) = calendar_period(anchor, unit, step)?;
        Some((2, from, to, true))
    }

    /// Reads `in 2024`, `2024`, if the number can be nothing else.
    fn read_year(&self) -> Option<PhraseMatch> {
        let year = parse_year(self.word_at(0))?;
        let before = self.text[..self.tokens[0].span.start].chars().next_back();
        let after = self.text[self.tokens[0].span.end..].chars().next();
        // Prices, issue numbers, paths and ports are no years.
        let alone = |c: Option<char>| {
            c.is_none_or(|c| !matches!(c, '$' | '€' | '£' | '#' | '-' | '/' | '_' | '%' | ':'))
        };
        let led = matches!(before, None | Some(' ' | '(' | '\n'));
        let first = Date::new(year, 1, 1).ok()?;
        (led && alone(before) && alone(after) && (1900..=2099).contains(&year))
            .then(|| (1, first, first.last_of_year(), false))
    }
}

fn parse_day_number(word: &str) -> Option<i8> {
    let digits = word.bytes().take_while(u8::is_ascii_digit).count();
    let suffix = &word[digits..];
    let ordinal = matches!(suffix, "" | "st" | "nd" | "rd" | "th" | "er" | "º" | "ª");
    (ordinal && (1..=2).contains(&digits))
        .then(|| word[..digits].parse().ok())
        .flatten()
        .filter(|day| (1..=31).contains(day))
}

fn parse_year(word: &str) -> Option<i16> {
    (word.len() == 4 && word.bytes().all(|b| b.is_ascii_digit()))
        .then(|| word.parse().ok())
        .flatten()
        .filter(|year| (1900..=2100).contains(year))
}

/// Returns the nearest of this year's, last year's and next year's date. A
/// future date counts as twice as far: notes are mostly about the past.
fn nearest_year_date(anchor: Date, make: impl Fn(i16) -> Option<Date>) -> Option<Date> {
    let distance = |date: &Date| {
        let days = (*date - anchor).get_days();
        if days > 0 { days * 2 } else { -days }
    };
    (-1..=1)
        .filter_map(|step| make(anchor.year() + step))
        .min_by_key(distance)
}

fn date_of_weekday(anchor: Date, weekday: Weekday, step: i64) -> Option<Date> {
    let ahead = i64::from(anchor.weekday().until(weekday));
    let days = match step {
        1.. => match ahead {
            0 => 7,
            ahead => ahead,
        },
        0 => ahead,
        _ => match ahead {
            0 => -7,
            ahead => ahead - 7,
        },
    };
    anchor.checked_add(days.days()).ok()
}

/// Returns the day, or for months and years the calendar unit, that many units
/// away.
fn shift_by_units(anchor: Date, unit: words::TimeUnit, count: i64) -> Option<(Date, Date)> {
    let day = match unit {
        words::TimeUnit::Day => anchor.checked_add(count.days()),
        words::TimeUnit::Week => anchor.checked_add((count * 7).days()),
        words::TimeUnit::Month => anchor.checked_add(count.months()),
        words::TimeUnit::Year => anchor.checked_add(count.years()),
    }
    .ok()?;
    match unit {
        words::TimeUnit::Day | words::TimeUnit::Week => Some((day, day)),
        words::TimeUnit::Month => Some((day.first_of_month(), day.last_of_month())),
        words::TimeUnit::Year => Some((day.first_of_year(), day.last_of_year())),
    }
}

/// Returns the whole week, month or year `step` away from the anchor's own.
fn calendar_period(anchor: Date, unit: words::TimeUnit, step: i64) -> Option<(Date, Date)> {
    let (day, _) = shift_by_units(anchor, unit, step)?;
    match unit {
        words::TimeUnit::Day => Some((day, day)),
        words::TimeUnit::Week => {
            let back = i64::from(day.weekday().since(Weekday::Monday));
            let monday = day.checked_sub(back.days()).ok()?;
            Some((monday, monday.checked_add(6.days()).ok()?))
        }
        words::TimeUnit::Month => Some((day.first_of_month(), day.last_of_month())),
        words::TimeUnit::Year => Some((day.first_of_year(), day.last_of_year())),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Counted from Monday, 16 March 2026.
    #[track_caller]
    fn check(text: &str, expect: &[&str]) {
        let anchor = Date::new(2026, 3, 16).ok();
        let found: Vec<String> = find_date_ranges(text, anchor)
            .iter()
            .map(|it| format!("{} {}", it.to_compact_text(), &text[it.span.clone()]))
            .collect();
        assert_eq!(found, expect, "{text:?}");
    }

    #[test]
    fn absolute_dates_months_and_years() {
        check("on 2026-03-01.", &["2026-03-01 2026-03-01"]);
        check("March 3, 2025", &["2025-03-03 March 3, 2025"]);
        check("since 3 May 2024", &["2024-05-03 3 May 2024"]);
        check("in Sept. 2025", &["2025-09 Sept. 2025"]);
        check("back in 2019, twice", &["2019 2019"]);
        check("it costs $2000 and port 2049/tcp", &[]);
    }

    #[test]
    fn relative_dates_are_counted_from_the_anchor() {
        check("last Thursday we met", &["2026-03-12 last Thursday"]);
        check("two weeks ago", &["2026-03-02 two weeks ago"]);
        check("a couple of days ago", &["2026-03-14 a couple of days ago"]);
        check("Yesterday.", &["2026-03-15 Yesterday"]);
        check("last week", &["2026-03-09..2026-03-15 last week"]);
        check("next month", &["2026-04 next month"]);
        check("in March and in May", &["2026-03 March", "2026-05 May"]);
        check("on the 3rd of April", &["2026-04-03 3rd of April"]);
        check("in 3 days", &["2026-03-19 in 3 days"]);
        check("last summer", &["2025-06-01..2025-08-31 last summer"]);
    }

    #[test]
    fn other_languages() {
        check("vor zwei Wochen", &["2026-03-02 vor zwei Wochen"]);
        check("letzten Donnerstag", &["2026-03-12 letzten Donnerstag"]);
        check("am 3. März 2025", &["2025-03-03 3. März 2025"]);
        check("il y a deux semaines", &["2026-03-02 il y a deux semaines"]);
        check(
            "la semaine dernière",
            &["2026-03-09..2026-03-15 semaine dernière"],
        );
        check("hace dos semanas", &["2026-03-02 hace dos semanas"]);
        check("el 3 de abril de 2025", &["2025-04-03 3 de abril de 2025"]);
        check("due settimane fa", &["2026-03-02 due settimane fa"]);
        check("há duas semanas", &["2026-03-02 há duas semanas"]);
    }

    #[test]
    fn words_that_are_months_only_by_chance() {
        check("You may march on. March on! May I?", &[]);
        check(
            "They mars it. And may 3 people come?",
            &["2026-05-03 may 3"],
        );
    }

    #[test]
    fn without_an_anchor_only_absolute_dates_count() {
        assert_eq!(
            find_date_ranges("yesterday, last May, two weeks ago", None),
            []
        );
        assert_eq!(find_date_ranges("on 2026-03-01", None).len(), 1);
    }

    #[test]
    fn what_is_written_is_read_again() {
        for text in ["2026-03-01", "2026-03", "2026", "2026-03-09..2026-03-15"] {
            let (from, to) = parse_date_range(text).expect("a stretch");
            let when = DateRange {
                span: 0..0,
                from,
                to,
                relative: false,
            };
            assert_eq!(when.to_compact_text(), text);
        }
        for text in ["", "x", "26-03", "2026-13", "2026-02-30", "-2026"] {
            assert_eq!(parse_date_range(text), None, "{text}");
        }
    }
}
