//! Finds the people that a text names: by front matter, by links, by what they
//! do, by common given names. A capital letter alone is no evidence, and
//! neither is the first word of a sentence.

use std::collections::HashMap;

use super::prose::ProseSentence;
use super::words::{self, has_word};
use crate::document::TurnSpeaker;
use crate::document::{Document, LinkKind};

const MAX_PEOPLE: usize = 8;
const MAX_NAME_CHARS: usize = 40;
const PEOPLE_KEYS: [&str; 9] = [
    "people",
    "person",
    "attendees",
    "participants",
    "author",
    "authors",
    "owner",
    "with",
    "speakers",
];

/// Finds at most eight names, those with the best evidence first.
pub(super) fn find_people(document: &Document, sentences: &[ProseSentence]) -> Vec<String> {
    let mut found = PeopleNames::default();
    if let Some(front) = &document.front_matter {
        for key in PEOPLE_KEYS {
            for value in front.list(key) {
                found.add_name(&strip_link(value), 10.0);
            }
        }
    }
    for link in &document.links {
        let target = &link.target;
        let by_folder = target.starts_with("people/") || target.contains("/people/");
        if link.kind == LinkKind::Wiki && by_folder {
            found.add_name(target.rsplit('/').next().unwrap_or(target), 6.0);
        }
    }
    for sentence in sentences {
        // An assistant mentions celebrities and authors more often than people
        // of the user.
        let trust = if sentence.voice == TurnSpeaker::Assistant {
            0.3
        } else {
            1.0
        };
        find_in_sentence(&sentence.text, trust, &mut found);
    }
    found.best_names()
}

/// Reduces `[[Alice Wu|Alice]]` to Alice Wu.
fn strip_link(value: &str) -> String {
    let value = value.trim().trim_start_matches("[[").trim_end_matches("]]");
    let value = value.split('|').next().unwrap_or(value);
    value.rsplit('/').next().unwrap_or(value).trim().to_owned()
}

#[derive(Default)]
struct PeopleNames {
    /// Name in lower case → its spelling, the evidence, and its first position.
    known: HashMap<String, (String, f32, usize)>,
}

impl PeopleNames {
    fn add_name(&mut self, name: &str, evidence: f32) {
        let name: String = name
            .chars()
            .map(|c| if c == '_' { ' ' } else { c })
            .filter(|c| c.is_alphanumeric() || matches!(c, ' ' | '-' | '\'' | '’' | '.'))
            .collect();
        let name = name.split_whitespace().collect::<Vec<_>>().join(" ");
        let name = name.trim_matches(|c: char| !c.is_alphanumeric() && c != '.');
        let letters = name.chars().any(char::is_alphabetic);
        if name.is_empty() || !letters || name.chars().count() > MAX_NAME_CHARS {
            return;
        }
        let place = self.known.len();
        let known = self
            .known
            .entry(name.to_lowercase())
            .or_insert_with(|| (name.to_owned(), 0.0, place));
        known.1 += evidence;
    }

    fn best_names(self) -> Vec<String> {
        let mut names: Vec<_> = self.known.into_values().collect();
        // `Ana` is `Ana Wu` if a text has both.
        let full: Vec<String> = names
            .iter()
            .filter(|name| name.0.contains(' '))
            .map(|name| name.0.to_lowercase())
            .collect();
        names.retain(|name| {
            name.0.contains(' ')
                || !full
                    .iter()
                    .any(|full| full.split(' ').next() == Some(name.0.to_lowercase().as_str()))
        });
        names.sort_by(|a, b| b.1.total_cmp(&a.1).then(a.2.cmp(&b.2)));
        names.retain(|name| name.1 >= 1.0);
        names.truncate(MAX_PEOPLE);
        names.into_iter().map(|name| name.0).collect()
    }
}

fn find_in_sentence(text: &str, trust: f32, found: &mut PeopleNames) {
    let tokens: Vec<&str> = text.split(' ').collect();
    let lower: Vec<String> = tokens.iter().map(|t| bare_word(t).to_lowercase()).collect();
    // A line in capitals, or a title, capitalizes every word.
    let capitals = tokens.iter().filter(|t| is_name_word(bare_word(t))).count();
    let title = tokens.len() >= 4 && capitals * 3 > tokens.len() * 2;
    let mut at = 0;
    while at < tokens.len() {
        let word = bare_word(tokens[at]);
        if !is_name_word(word) || words::is_empty_word(&lower[at]) || is_calendar_word(&lower[at]) {
            at += 1;
            continue;
        }
        // `meine Schwester Ana`: the relation is not part of the name.
        if has_word(words::RELATION_WORDS, &lower[at]) && at + 1 < tokens.len() {
            at += 1;
            continue;
        }
        let first = at == 0 || ends_sentence(tokens[at - 1]);
        let before = if at > 0 { lower[at - 1].as_str() } else { "" };
        let mut end = at + 1;
        while end < tokens.len()
            && end < at + 3
            && !ends_clause(tokens[end - 1])
            && !tokens[end - 1].ends_with("'s")
            && !tokens[end - 1].ends_with("’s")
            && is_name_word(bare_word(tokens[end]))
            && !words::is_empty_word(&lower[end])
            && !is_calendar_word(&lower[end])
        {
            end += 1;
        }
        let honorific = has_word(words::HONORIFIC_WORDS, before) && at > 0 && !first
            || at > 0 && tokens[at - 1].ends_with('.') && has_word(words::HONORIFIC_WORDS, before);
        let relation = has_word(words::RELATION_WORDS, before);
        let has_person_verb = lower
            .get(end)
            .is_some_and(|next| has_word(words::PERSON_VERBS, next))
            && !ends_clause(tokens[end - 1]);
        let given = has_word(words::GIVEN_NAMES, &lower[at]);
        let ambiguous = has_word(words::AMBIGUOUS_NAMES, &lower[at]);
        let label = at == 0 && tokens[end - 1].ends_with(':') && given;
        let evidence = if honorific || relation || (has_person_verb && (given || !first)) || label {
            2.0
        } else if given && !title && (end == at + 2 || !first && (end > at + 1 || !ambiguous)) {
            1.0
        } else if given && !ambiguous && !title {
            0.5
        } else {
            0.0
        };
        // After a relation or before a verb, another capitalized word may be a
        // place.
        let take = if given || honorific || relation || has_person_verb {
            end
        } else {
            at + 1
        };
        if evidence > 0.0 && !(has_word(words::HONORIFIC_WORDS, &lower[at]) && end == at + 1) {
            let from = at + (has_word(words::HONORIFIC_WORDS, &lower[at]) && end > at + 1) as usize;
            let name: Vec<&str> = tokens[from..take].iter().map(|t| bare_word(t)).collect();
            found.add_name(&name.join(" "), evidence * trust);
        }
        at = end;
    }
}

/// Strips punctuation and a possessive ending from a word.
fn bare_word(token: &str) -> &str {
    let word = token.trim_matches(|c: char| !c.is_alphanumeric());
    word.strip_suffix("'s")
        .or_else(|| word.strip_suffix("’s"))
        .unwrap_or(word)
}

/// Returns `true` for `Ana`, `O'Neill`, `Jean-Luc`, but not for `API` or
/// `iPhone4`.
fn is_name_word(word: &str) -> bool {
    let mut chars = word.chars();
    chars.next().is_some_and(char::is_uppercase)
        && chars.clone().any(char::is_lowercase)
        && chars.all(|c| c.is_alphabetic() || matches!(c, '\'' | '’' | '-'))
}

fn is_calendar_word(word: &str) -> bool {
    const CALENDAR_WORDS: &str = "january february march april may june july august september october \
        november december monday tuesday wednesday thursday friday saturday sunday christmas easter \
        januar februar märz mai juni juli oktober dezember montag dienstag mittwoch donnerstag \
        freitag samstag sonntag";
    has_word(CALENDAR_WORDS, word)
}

fn ends_sentence(token: &str) -> bool {
    token.ends_with(['.', '!', '?', ':', '"', '”']) && token.len() > 1
}

fn ends_clause(token: &str) -> bool {
    token.ends_with([',', '.', '!', '?', ';', ':', ')', '"', '”']) && token.len() > 1
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::document::parse_document;
    use crate::routing::closets::prose::document_sentences;

    #[track_caller]
    fn check(text: &str, expect: &[&str]) {
        let document = parse_document(text);
        assert_eq!(
            find_people(&document, &document_sentences(&document)),
            expect,
            "{text}"
        );
    }

    #[test]
    fn names_and_not_sentence_starts() {
        check("Running helps. Weather was bad. Paris is nice.", &[]);
        check(
            "We met Alice and Bob Miller today.",
            &["Alice", "Bob Miller"],
        );
        check("I told my sister Xiomara about it.", &["Xiomara"]);
        check(
            "Then Okonkwo said no. Dr. Zhivago agreed.",
            &["Okonkwo", "Zhivago"],
        );
        check("We went to New York in May with Google Maps.", &[]);
        check("On Monday, Emma's plan won.", &["Emma"]);
    }

    #[test]
    fn front_matter_and_links_name_people() {
        check(
            "---\npeople: [\"[[Alice]]\", Bob]\n---\nText\n",
            &["Alice", "Bob"],
        );
        check("See [[people/Carla Diaz]].", &["Carla Diaz"]);
    }

    #[test]
    fn other_languages() {
        check(
            "Gestern sagte ich meiner Schwester Anneliese alles.",
            &["Anneliese"],
        );
        check("Ayer mi hermana Lucía dijo que sí.", &["Lucía"]);
    }
}
