//! Words what is brought: one line of at most [`MAX_PUSH_TOKENS`] tokens, in
//! which the texts that are not ours stand between marks.

use super::MAX_PUSH_TOKENS;
use super::pushes::PushSubject;
use crate::evidence::EVIDENCE_FILE;
use crate::{quote, tokens};

/// An item that may be brought.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct PushItem {
    /// Identifies the item by its kind and what it is about.
    pub item: String,
    /// A short hash that changes with what the item states.
    pub version: String,
    /// The key's content that its outcome is judged by.
    pub subject: PushSubject,
    /// Our sentence with its quoted parts.
    pub(super) parts: PushSentence,
    /// Path and line of the fact; empty for what was just looked up.
    pub source: String,
    /// Seconds of the fact.
    pub at: i64,
}

/// A sentence of ours around texts that are not ours.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) struct PushSentence {
    /// Pieces of ours; a text of others is between each two.
    ours: Vec<String>,
    theirs: Vec<String>,
    /// The texts without which the item is of no use, or states something
    /// else: they are never shortened.
    needed: Vec<usize>,
    /// The text that is shortened before the others.
    least: Option<usize>,
}

/// Hashes what an item states, so that the same statement has the same version.
pub(super) fn version_of(parts: &[&str]) -> String {
    let mut hasher = blake3::Hasher::new();
    for part in parts {
        hasher.update(&(part.len() as u64).to_le_bytes());
        hasher.update(part.as_bytes());
    }
    hasher.finalize().to_hex()[..8].to_owned()
}

/// Returns the place of an entry. Line 0 is an entry of another checkout.
pub(super) fn evidence_place(line: usize) -> String {
    match line {
        0 => EVIDENCE_FILE.to_owned(),
        line => format!("{EVIDENCE_FILE}:{line}"),
    }
}

impl PushSentence {
    pub(super) fn new(start: &str) -> PushSentence {
        PushSentence {
            ours: vec![start.to_owned()],
            theirs: Vec::new(),
            needed: Vec::new(),
            least: None,
        }
    }

    /// Adds words of ours behind the last text.
    pub(super) fn say(&mut self, words: &str) {
        if let Some(last) = self.ours.last_mut() {
            last.push_str(words);
        }
    }

    /// Adds a text of others.
    pub(super) fn quoting(mut self, text: &str) -> PushSentence {
        // An order in it is not passed on, and what is left is one line.
        let clean = quote::sanitize_unrequested(text);
        let line: String = clean
            .trim()
            .chars()
            .map(|c| match c {
                '"' => '\'',
                c if c.is_control() => ' ',
                c => c,
            })
            .collect();
        self.theirs.push(line);
        self.ours.push(String::new());
        self
    }

    /// Adds a text of others that is shown whole or not at all.
    pub(super) fn quoting_whole(mut self, text: &str) -> PushSentence {
        self.needed.push(self.theirs.len());
        self.quoting(text)
    }

    /// Adds a text of others that is shortened before the others.
    pub(super) fn quoting_least(mut self, text: &str) -> PushSentence {
        self.least = Some(self.theirs.len());
        self.quoting(text)
    }

    /// Renders the sentence with each text of at most `most` characters, and
    /// the one that is shortened first of at most `least`.
    fn render(&self, most: usize, least: usize) -> String {
        let mut text = String::new();
        for (at, ours) in self.ours.iter().enumerate() {
            text.push_str(ours);
            if let Some(theirs) = self.theirs.get(at) {
                let count = theirs.chars().count();
                let most = if self.needed.contains(&at) {
                    count
                } else if self.least == Some(at) {
                    least
                } else {
                    most
                };
                let short = shorten(theirs, most);
                let more = if count > most { "…" } else { "" };
                text.push_str(&format!("\"{short}{more}\""));
            }
        }
        text
    }
}

/// Returns the beginning of a text, of at most this many characters. It ends
/// with a whole word where one ends nearby.
fn shorten(text: &str, most: usize) -> &str {
    let Some((end, next)) = text.char_indices().nth(most) else {
        return text;
    };
    let short = &text[..end];
    let last = short.rfind(' ').filter(|_| next != ' ');
    match last {
        Some(at) if short[at..].chars().count() <= most / 4 => &short[..at],
        _ => short.trim_end(),
    }
}

impl PushItem {
    /// Returns the item for a prompt that repeats a corrected fact.
    /// `description` states what is right.
    pub fn of_correction(description: &str, line: usize) -> PushItem {
        let parts = PushSentence::new("About this prompt: ");
        let version = version_of(&[description]);
        PushItem {
            item: format!("correction {version}"),
            version,
            subject: PushSubject::Correction,
            parts: parts.quoting(description),
            source: format!("{}:{line}", crate::retractions::RETRACTION_LIST),
            at: 0,
        }
    }

    /// Returns the item for a missing path that a command removed, with the time
    /// and line of that.
    pub(super) fn of_removal(path: &str, last: i64, line: usize) -> PushItem {
        let mut parts = PushSentence::new("").quoting(path);
        parts.say(" does not exist: a command removed it");
        PushItem {
            item: format!("removed {path}"),
            version: version_of(&[path]),
            subject: PushSubject::Removed {
                path: path.to_owned(),
            },
            parts,
            source: evidence_place(line),
            at: last,
        }
    }

    /// Returns the item for a command that failed as one did before: the error
    /// without its numbers, the command that solved it, after how many steps,
    /// and the time and line of that.
    pub(super) fn of_solution(
        error: &str,
        instead: &str,
        steps: usize,
        (last, line): (i64, usize),
    ) -> PushItem {
        let mut parts = PushSentence::new("This error was solved here before, after ");
        parts.say(&format!("{steps} steps, by "));
        PushItem {
            item: format!("solved {error}"),
            version: version_of(&[instead]),
            subject: PushSubject::Solved {
                instead: instead.to_owned(),
            },
            parts: parts.quoting(instead),
            source: evidence_place(line),
            at: last,
        }
    }

    /// Renders the line for the agent: data between marks that it cannot
    /// contain, with its source and age, within [`MAX_PUSH_TOKENS`]. Returns
    /// `None` if it does not fit.
    pub fn render(&self, nonce: &str, now: i64) -> Option<String> {
        let texts = self.parts.theirs.iter().map(String::as_str);
        let mark = quote::line_mark(nonce, texts);
        let age = match (now - self.at) / 86_400 {
            _ if self.at == 0 => String::new(),
            ..=0 => ", today".to_owned(),
            1 => ", 1 day ago".to_owned(),
            days => format!(", {days} days ago"),
        };
        let source = quote::path_outside_fence(self.source.split(':').next().unwrap_or_default());
        let line = self.source.rsplit_once(':').map_or("", |(_, line)| line);
        let colon = if line.is_empty() { "" } else { ":" };
        let origin = if self.source.is_empty() {
            String::new()
        } else {
            format!(" ({source}{colon}{line}{age})")
        };
        const LENGTHS: [usize; 15] = [120, 105, 92, 80, 70, 60, 52, 45, 38, 32, 28, 24, 20, 16, 10];
        let shorter = |most: usize| LENGTHS.into_iter().filter(move |least| *least <= most);
        LENGTHS
            .into_iter()
            .flat_map(|most| shorter(most).map(move |least| (most, least)))
            .find_map(|(most, least)| {
                let text = self.parts.render(most, least);
                let line = format!("[Memory] <data {mark}>{text}</data {mark}>{origin}");
                (tokens::estimate_tokens(&line) <= MAX_PUSH_TOKENS).then_some(line)
            })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_text_is_cut_between_words() {
        assert_eq!(
            shorten("delete the file and run", 19),
            "delete the file and"
        );
        assert_eq!(
            shorten("delete the file and run", 21),
            "delete the file and"
        );
        assert_eq!(shorten("delete the file", 15), "delete the file");
        // A word that is longer than what is left of the text is cut.
        assert_eq!(
            shorten("an option_of_many_letters", 20),
            "an option_of_many_le"
        );
        assert_eq!(shorten("äöü äöü", 4), "äöü");
    }

    proptest::proptest! {
        #[test]
        fn a_line_fits_its_budget(error in ".{0,300}", instead in ".{0,300}", path in "[a-z/]{1,80}") {
            let sentence = PushSentence::new("").quoting_least(&error).quoting(&instead);
            let item = PushItem {
                item: "x".to_owned(),
                version: "1".to_owned(),
                subject: PushSubject::Large { path: path.clone() },
                parts: sentence,
                source: format!("{path}:12"),
                at: 5,
            };
            if let Some(line) = item.render("n", 900_000) {
                proptest::prop_assert!(tokens::estimate_tokens(&line) <= MAX_PUSH_TOKENS);
                proptest::prop_assert!(!line.contains('\n'));
            }
        }

        #[test]
        fn a_shortened_text_is_a_beginning(text in ".{0,80}", most in 0usize..60) {
            let short = shorten(&text, most);
            proptest::prop_assert!(text.starts_with(short));
            proptest::prop_assert!(short.chars().count() <= most);
        }
    }
}
