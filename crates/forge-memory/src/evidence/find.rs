//! Finds entries of evidence by words. The log has a limit, so all of it is
//! scanned and there is no index that could be behind. Nothing here decides
//! whether an entry is still true.

use std::collections::{BTreeMap, HashSet};

use super::entry::{EvidenceEntry, EvidenceFact};
use crate::index::terms::TermSplitter;
use crate::recall::ParsedQuestion;

/// Bytes of a question that are read.
const MAX_QUESTION_BYTES: usize = 2_000;
/// Share of a question's weight that an entry has to cover.
const MIN_COVERAGE: f32 = 0.3;

/// An entry that matches a question.
#[derive(Debug, Clone, PartialEq)]
pub struct EvidenceMatch {
    /// Place of the newest such entry.
    pub at: usize,
    /// How many entries state the same.
    pub times: usize,
    /// Share of the question that it covers; above 1 where it has the question
    /// word for word.
    pub score: f32,
}

/// Returns the entries that match, the best first and of equal ones the newest.
/// Entries that state the same are one.
pub fn find_entries(entries: &[EvidenceEntry], question: &str) -> Vec<EvidenceMatch> {
    let question = &question[..question.floor_char_boundary(MAX_QUESTION_BYTES)];
    // A command has quotes of its own, which do not mean "word for word" here.
    let plain = without_quotes(question);
    let parsed = ParsedQuestion::read(&plain);
    let words = parsed.query_words();
    let literals: Vec<String> = plain
        .split_whitespace()
        .filter(|word| word.len() > 1 && word.contains(|c: char| !c.is_alphanumeric()))
        .map(str::to_lowercase)
        .collect();
    let whole = collapse(&plain);
    let (mut splitter, mut texts) = (TermSplitter::default(), Vec::new());
    for entry in entries {
        let text = searched_text(&entry.fact).to_lowercase();
        let mut terms: HashSet<String> = HashSet::new();
        splitter.for_each_term(&text, |term| {
            terms.insert(term.to_owned());
        });
        texts.push((text, terms));
    }
    let rarity = |count: usize| {
        ((entries.len() as f32 + 1.0) / (count as f32 + 0.5))
            .ln()
            .max(0.1)
    };
    let mut parts: Vec<(f32, Vec<bool>)> = Vec::new();
    for (at, term) in words.terms.iter().enumerate() {
        let has: Vec<bool> = texts
            .iter()
            .map(|(_, terms)| terms.contains(term))
            .collect();
        parts.push((words.term_weight(at) * rarity(count_true(&has)), has));
    }
    for literal in &literals {
        let has: Vec<bool> = texts
            .iter()
            .map(|(text, _)| text.contains(literal))
            .collect();
        parts.push((rarity(count_true(&has)), has));
    }
    let best: f32 = parts.iter().map(|(weight, _)| weight).sum();
    let mut found: BTreeMap<String, EvidenceMatch> = BTreeMap::new();
    for (at, entry) in entries.iter().enumerate() {
        let covered = parts.iter().filter(|(_, has)| has[at]);
        let mut score = covered.map(|(weight, _)| weight).sum::<f32>() / best.max(f32::EPSILON);
        let main = collapse(&without_quotes(main_text(&entry.fact)));
        if !whole.is_empty() && main == whole {
            score += 2.0;
        } else if whole.len() > 2 && main.contains(&whole) {
            score += 1.0;
        }
        if score < MIN_COVERAGE {
            continue;
        }
        let same = found.entry(identity(&entry.fact)).or_insert(EvidenceMatch {
            at,
            times: 0,
            score,
        });
        same.times += 1;
        if entries[same.at].at <= entry.at {
            same.at = at;
        }
        same.score = same.score.max(score);
    }
    let mut found: Vec<EvidenceMatch> = found.into_values().collect();
    found.sort_by(|a, b| {
        let newer = entries[b.at].at.cmp(&entries[a.at].at);
        b.score
            .total_cmp(&a.score)
            .then(newer)
            .then(b.at.cmp(&a.at))
    });
    found
}

fn count_true(has: &[bool]) -> usize {
    has.iter().filter(|it| **it).count()
}

/// Returns a text without quotation marks, which make a query literal. Queries
/// that are made from commands or prompts go through here.
pub fn without_quotes(text: &str) -> String {
    text.replace(['"', '\'', '`', '“', '”', '‘', '’'], " ")
}

fn collapse(text: &str) -> String {
    let words: Vec<String> = text.split_whitespace().map(str::to_lowercase).collect();
    words.join(" ")
}

/// Returns the command, the path or the words of a fact.
pub fn main_text(fact: &EvidenceFact) -> &str {
    match fact {
        EvidenceFact::Command(it) => &it.command,
        EvidenceFact::Refused { command, .. } => command,
        EvidenceFact::Corrected { words } => words,
        EvidenceFact::Missing { path }
        | EvidenceFact::TooLarge { path, .. }
        | EvidenceFact::Read { path }
        | EvidenceFact::Changed { path } => path,
    }
}

/// Returns the word for what a fact states.
pub fn kind_name(fact: &EvidenceFact) -> &'static str {
    match fact {
        EvidenceFact::Command(it) if it.worked => "worked",
        EvidenceFact::Command(_) => "failed",
        EvidenceFact::Missing { .. } => "missing",
        EvidenceFact::TooLarge { .. } => "too large",
        EvidenceFact::Refused { .. } => "refused",
        EvidenceFact::Corrected { .. } => "corrected",
        EvidenceFact::Read { .. } => "read",
        EvidenceFact::Changed { .. } => "changed",
    }
}

fn searched_text(fact: &EvidenceFact) -> String {
    let (dir, more) = match fact {
        EvidenceFact::Command(it) => (it.dir.as_str(), it.error.as_str()),
        EvidenceFact::Refused { words, .. } => ("", words.as_str()),
        _ => ("", ""),
    };
    // "What failed" is a question as well.
    format!("{}\n{dir}\n{more}\n{}", main_text(fact), kind_name(fact))
}

fn identity(fact: &EvidenceFact) -> String {
    let dir = match fact {
        EvidenceFact::Command(it) => it.dir.as_str(),
        _ => "",
    };
    format!("{}\n{dir}\n{}", kind_name(fact), main_text(fact))
}

#[cfg(test)]
mod tests {
    use super::super::entry::CommandFact;
    use super::*;

    fn command(at: i64, dir: &str, command: &str, error: &str) -> EvidenceEntry {
        EvidenceEntry {
            at,
            session: "s".to_owned(),
            id: at.to_string(),
            fact: EvidenceFact::Command(CommandFact {
                dir: dir.to_owned(),
                command: command.to_owned(),
                worked: error.is_empty(),
                exit: None,
                error: error.to_owned(),
                fault: None,
                tests: None,
            }),
        }
    }

    fn changed(at: i64, path: &str) -> EvidenceEntry {
        EvidenceEntry {
            at,
            session: "s".to_owned(),
            id: at.to_string(),
            fact: EvidenceFact::Changed {
                path: path.to_owned(),
            },
        }
    }

    fn log() -> Vec<EvidenceEntry> {
        vec![
            command(1, "", "cargo test -p api", ""),
            command(
                2,
                "",
                "cargo test -p store",
                "error: could not compile store",
            ),
            command(3, "web", "npm run build", ""),
            command(4, "", "cargo test -p api", ""),
            command(5, "", "psql -c \"select count(*) from orders\"", ""),
            changed(6, "src/billing/refund.rs"),
            changed(7, "src/billing/invoice.rs"),
        ]
    }

    fn check(question: &str, first: &str) {
        let entries = log();
        let found = find_entries(&entries, question);
        let texts: Vec<&str> = found
            .iter()
            .map(|it| main_text(&entries[it.at].fact))
            .collect();
        assert_eq!(
            texts.first().copied().unwrap_or("nothing"),
            first,
            "{question}: {texts:?}"
        );
    }

    #[test]
    fn commands_and_files_are_found_by_their_words() {
        check("cargo test store", "cargo test -p store");
        check("what failed to compile", "cargo test -p store");
        check("web build", "npm run build");
        check("refund", "src/billing/refund.rs");
        check("src/billing/invoice.rs", "src/billing/invoice.rs");
        // Quotes of a command do not make the question literal.
        check(
            "psql -c \"select count(*) from orders\"",
            "psql -c \"select count(*) from orders\"",
        );
        check(
            "\"orders\" 'psql'",
            "psql -c \"select count(*) from orders\"",
        );
        check("kubernetes", "nothing");
        check("\"'`", "nothing");
        check("", "nothing");
    }

    #[test]
    fn what_states_the_same_is_one_and_the_newest() {
        let entries = log();
        let found = find_entries(&entries, "cargo test -p api");
        assert_eq!((found[0].at, found[0].times), (3, 2));
    }

    proptest::proptest! {
        #[test]
        fn every_command_is_found_by_itself(words in proptest::collection::vec("[a-z]{2,8}( --?[a-z]{1,6}| [a-z]{1,5}/[a-z]{1,5}\\.rs|)", 1..60)) {
            let entries: Vec<EvidenceEntry> = words
                .iter()
                .enumerate()
                .map(|(at, text)| command(at as i64, "", text, ""))
                .collect();
            for text in &words {
                let found = find_entries(&entries, text);
                proptest::prop_assert_eq!(main_text(&entries[found[0].at].fact), text);
            }
        }

        #[test]
        fn any_question_is_answered(text in "(?s).{0,200}") {
            let entries = log();
            proptest::prop_assert!(find_entries(&entries, &text).len() <= entries.len());
        }
    }
}
