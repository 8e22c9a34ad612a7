//! Finds the people that a text names: by front matter, by links, by what they
//! do, by common given names. A capital letter alone is no evidence, and
//! neither is the first word of a sentence.

use std::collections::HashMap;

use super::prose::Sentence;
use super::words::{self, has};
use crate::document::Voice;
use crate::document::{Document, LinkKind};

const MOST: usize = 8;
const LONGEST: usize = 40;
const KEYS: [&str; 9] = [
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
pub(super) fn people(document: &Document, sentences: &[Sentence]) -> Vec<String> {
    let mut found = Names::default();
    if let Some(front) = &document.front_matter {
        for key in KEYS {
            for value in front.list(key) {
                found.add(&unlinked(value), 10.0);
            }
        }
    }
    for link in &document.links {
        let target = &link.target;
        let by_folder = target.starts_with("people/") || target.contains("/people/");
        if link.kind == LinkKind::Wiki && by_folder {
            found.add(target.rsplit('/').next().unwrap_or(target), 6.0);
        }
    }
    for sentence in sentences {
        // An assistant mentions celebrities and authors more often than people
        // of the user.
        let trust = if sentence.voice == Voice::Assistant {
            0.3
        } else {
            1.0
        };
        in_sentence(&sentence.text, trust, &mut found);
    }
    found.best()
}

/// Reduces `[[Alice Wu|Alice]]` to Alice Wu.
fn unlinked(value: &str) -> String {
    let value = value.trim().trim_start_matches("[[").trim_end_matches("]]");
    let value = value.split('|').next().unwrap_or(value);
    value.rsplit('/').next().unwrap_or(value).trim().to_owned()
}

#[derive(Default)]
struct Names {
    /// Name in lower case → its spelling, the evidence, and its first position.
    known: HashMap<String, (String, f32, usize)>,
}

impl Names {
    fn add(&mut self, name: &str, evidence: f32) {
        let name: String = name
            .chars()
            .map(|c| if c == '_' { ' ' } else { c })
            .filter(|c| c.is_alphanumeric() || matches!(c, ' ' | '-' | '\'' | '’' | '.'))
            .collect();
        let name = name.split_whitespace().collect::<Vec<_>>().join(" ");
        let name = name.trim_matches(|c: char| !c.is_alphanumeric() && c != '.');
        let letters = name.chars().any(char::is_alphabetic);
        if name.is_empty() || !letters || name.chars().count() > LONGEST {
            return;
        }
        let place = self.known.len();
        let known = self
            .known
            .entry(name.to_lowercase())
            .or_insert_with(|| (name.to_owned(), 0.0, place));
        known.1 += evidence;
    }

    fn best(self) -> Vec<String> {
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
        names.truncate(MOST);
        names.into_iter().map(|name| name.0).collect()
    }
}

fn in_sentence(text: &str, trust: f32, found: &mut Names) {
    let tokens: Vec<&str> = text.split(' ').collect();
    let lower: Vec<String> = tokens.iter().map(|t| bare(t).to_lowercase()).collect();
    // A line in capitals, or a title, capitalizes every word.
    let capitals = tokens.iter().filter(|t| is_name(bare(t))).count();
    let title = tokens.len() >= 4 && capitals * 3 > tokens.len() * 2;
    let mut at = 0;
    while at < tokens.len() {
        let word = bare(tokens[at]);
        if !is_name(word) || words::is_empty_word(&lower[at]) || is_calendar(&lower[at]) {
            at += 1;
            continue;
        }
        // `meine Schwester Ana`: the relation is not part of the name.
        if has(words::RELATIONS, &lower[at]) && at + 1 < tokens.len() {
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
            && is_name(bare(tokens[end]))
            && !words::is_empty_word(&lower[end])
            && !is_calendar(&lower[end])
        {
            end += 1;
        }
        let honorific = has(words::HONORIFICS, before) && at > 0 && !first
            || at > 0 && tokens[at - 1].ends_with('.') && has(words::HONORIFICS, before);
        let relation = has(words::RELATIONS, before);
        let said = lower.get(end).is_some_and(|next| has(words::SAYING, next))
            && !ends_clause(tokens[end - 1]);
        let given = has(words::GIVEN, &lower[at]);
        let ambiguous = has(words::AMBIGUOUS, &lower[at]);
        let label = at == 0 && tokens[end - 1].ends_with(':') && given;
        let evidence = if honorific || relation || (said && (given || !first)) || label {
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
        let take = if given || honorific || relation || said {
            end
        } else {
            at + 1
        };
        if evidence > 0.0 && !(has(words::HONORIFICS, &lower[at]) && end == at + 1) {
            let from = at + (has(words::HONORIFICS, &lower[at]) && end > at + 1) as usize;
            let name: Vec<&str> = tokens[from..take].iter().map(|t| bare(t)).collect();
            found.add(&name.join(" "), evidence * trust);
        }
        at = end;
    }
}

/// Strips punctuation and a possessive ending from a word.
fn bare(token: &str) -> &str {
    let word = token.trim_matches(|c: char| !c.is_alphanumeric());
    word.strip_suffix("'s")
        .or_else(|| word.strip_suffix("’s"))
        .unwrap_or(word)
}

/// Returns `true` for `Ana`, `O'Neill`, `Jean-Luc`, but not for `API` or
/// `iPhone4`.
fn is_name(word: &str) -> bool {
    let mut chars = word.chars();
    chars.next().is_some_and(char::is_uppercase)
        && chars.clone().any(char::is_lowercase)
        && chars.all(|c| c.is_alphabetic() || matches!(c, '\'' | '’' | '-'))
}

fn is_calendar(word: &str) -> bool {
    const CALENDAR: &str = "january february march april may june july august september october \
        november december monday tuesday wednesday thursday friday saturday sunday christmas easter \
        januar februar märz mai juni juli oktober dezember montag dienstag mittwoch donnerstag \
        freitag samstag sonntag";
    has(CALENDAR, word)
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
    use crate::document::parse;
    use crate::routing::closets::prose::sentences;

    #[track_caller]
    fn check(text: &str, expect: &[&str]) {
        let document = parse(text);
        assert_eq!(people(&document, &sentences(&document)), expect, "{text}");
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
