//! Finds the entry of evidence that is nearest to a need by its words. It is
//! for people who want to know why nothing was brought; no push depends on it.

use std::collections::{BTreeMap, BTreeSet};

use forge_memory::evidence::{EvidenceEntry, EvidenceFact};

/// Characters of an entry that are shown.
const MAX_TEXT_CHARS: usize = 120;

/// An entry of an earlier session.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct NearestEntry {
    /// What it states, shortened.
    pub text: String,
    /// Seconds since 1970.
    pub at: i64,
}

/// Returns the entry with the rarest words in common, the newest of equals.
pub(super) fn find_nearest(what: &str, entries: &[EvidenceEntry]) -> Option<NearestEntry> {
    let wanted = split_words(what);
    let shared: Vec<BTreeSet<String>> = entries
        .iter()
        .map(|entry| {
            let words = split_words(&describe_entry(&entry.fact));
            words.intersection(&wanted).cloned().collect()
        })
        .collect();
    let mut files: BTreeMap<&str, usize> = BTreeMap::new();
    for word in shared.iter().flatten() {
        *files.entry(word).or_default() += 1;
    }
    // Thousandths of a word: in whole numbers, sums do not depend on order.
    let weight = |word: &String| 1_000_000 / files.get(word.as_str()).copied().unwrap_or(1);
    let scored = shared.iter().enumerate();
    let (score, at) = scored
        .map(|(at, words)| (words.iter().map(weight).sum::<usize>(), at))
        .max()?;
    (score > 0).then(|| NearestEntry {
        text: describe_entry(&entries[at].fact)
            .chars()
            .take(MAX_TEXT_CHARS)
            .collect(),
        at: entries[at].at,
    })
}

fn split_words(text: &str) -> BTreeSet<String> {
    text.split(|c: char| !c.is_alphanumeric())
        .filter(|word| word.chars().count() >= 2)
        .map(str::to_lowercase)
        .collect()
}

/// Returns an entry as one line.
fn describe_entry(fact: &EvidenceFact) -> String {
    match fact {
        EvidenceFact::Command(it) if it.worked => format!("worked: {}", it.command),
        EvidenceFact::Command(it) => format!("failed: {} ({})", it.command, it.error),
        EvidenceFact::Missing { path } => format!("missing: {path}"),
        EvidenceFact::TooLarge { path, .. } => format!("too large: {path}"),
        EvidenceFact::Refused { command, words } => format!("refused: {command} {words}"),
        EvidenceFact::Corrected { words } => format!("corrected: {words}"),
        EvidenceFact::Read { path } => format!("read: {path}"),
        EvidenceFact::Changed { path } => format!("changed: {path}"),
    }
}
