//! Summarizes a file in one line, for rows of the manifest and of hub pages:
//! its subjects, facts in their own words, names, reversals and dates, without
//! introductory words.

use super::closets::{ClosetEntry, EntryContext, extract_entry};
use crate::document::Document;

/// Maximum length of a summary.
pub const MAX_SUMMARY_CHARS: usize = 250;

/// Summarizes a file in at most [`MAX_SUMMARY_CHARS`] characters. Deterministic, so that
/// a row changes only with its file.
pub fn summarize_document(document: &Document, stem: &str) -> String {
    let context = EntryContext {
        name: stem,
        archived: false,
    };
    summarize_entry(&extract_entry(document, &context), document.title())
}

/// Summarizes an entry of the closets.
pub fn summarize_entry(entry: &ClosetEntry, title: Option<&str>) -> String {
    let mut line = SummaryLine::default();
    // A reader without the reversal and the stated fact would be misled, so one
    // of each has a reserved place; subjects fill the rest.
    let title = title.map(str::to_lowercase);
    let decisions: Vec<&String> = entry.decisions.iter().collect();
    let claims: Vec<String> = entry.claims.iter().map(|it| format!("\"{it}\"")).collect();
    let dates: Vec<String> = entry
        .dates
        .iter()
        .map(|date| date.split(" (").next().unwrap_or(date).to_owned())
        .collect();
    let subjects: Vec<&String> = entry
        .subjects
        .iter()
        .filter(|it| title.as_deref() != Some(it.to_lowercase().as_str()))
        .collect();
    let first = |list: &[String], most: usize| -> Vec<String> {
        list.iter()
            .filter(|it| it.chars().count() <= most)
            .take(1)
            .cloned()
            .collect()
    };
    let sure: Vec<String> = first(&claims, 90)
        .into_iter()
        .chain(
            decisions
                .iter()
                .find(|it| it.chars().count() <= 90)
                .map(|it| (*it).clone()),
        )
        .chain(entry.people.iter().take(3).cloned())
        .chain(dates.iter().take(2).cloned())
        .collect();
    let reserved: usize = sure.iter().map(|it| it.chars().count() + 2).sum();
    let known_text = sure.join(" ").to_lowercase();
    for subject in subjects {
        if known_text.contains(&subject.to_lowercase()) {
            continue;
        }
        line.add_within(subject, MAX_SUMMARY_CHARS.saturating_sub(reserved));
    }
    for value in &sure {
        line.add_within(value, MAX_SUMMARY_CHARS);
    }
    for value in claims
        .iter()
        .chain(decisions)
        .chain(&entry.people)
        .chain(&dates)
    {
        line.add_within(value, MAX_SUMMARY_CHARS);
    }
    line.text
}

#[derive(Default)]
struct SummaryLine {
    text: String,
    /// Length in characters.
    length: usize,
    seen: Vec<String>,
}

impl SummaryLine {
    /// Adds a whole value if it fits and is not a duplicate.
    fn add_within(&mut self, value: &str, most: usize) {
        let key = value.to_lowercase();
        let between = if self.text.is_empty() { "" } else { "; " };
        let between = match between {
            "" => "",
            _ if value.starts_with('"') || self.text.ends_with('"') => "; ",
            _ => ", ",
        };
        let length = value.chars().count() + between.len();
        if value.is_empty() || self.length + length > most || self.seen.contains(&key) {
            return;
        }
        self.text.push_str(between);
        self.text.push_str(value);
        self.length += length;
        self.seen.push(key);
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::document::parse_document;

    #[test]
    fn subjects_facts_people_reversals_and_dates_are_kept() {
        let text = "# Billing\n\nIn this document we will look at billing.\n\n\
            We switched from Stripe to Adyen on 2026-03-12. Maria Lopez owns the ledger.\n\n\
            I am allergic to penicillin.\n\n- dunning emails\n- SEPA mandates\n";
        let summary = summarize_document(&parse_document(text), "billing");
        for wanted in [
            "Stripe",
            "Adyen",
            "2026-03-12",
            "Maria Lopez",
            "penicillin",
            "SEPA",
        ] {
            assert!(summary.contains(wanted), "{wanted}: {summary}");
        }
        assert!(summary.chars().count() <= MAX_SUMMARY_CHARS, "{summary}");
        assert!(
            !summary.to_lowercase().contains("in this document"),
            "{summary}"
        );
    }

    #[test]
    fn an_empty_file_has_an_empty_summary() {
        assert_eq!(summarize_document(&parse_document(""), "x"), "");
    }

    proptest::proptest! {
        #[test]
        fn any_text_gives_one_short_line(text in ".{0,600}") {
            let summary = summarize_document(&parse_document(text), "x");
            proptest::prop_assert!(summary.chars().count() <= MAX_SUMMARY_CHARS);
            proptest::prop_assert!(!summary.contains(['\n', '\r', '|']) || summary.contains("\\|"));
        }
    }
}
