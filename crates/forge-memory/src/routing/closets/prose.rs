//! Splits a document into sentences, with their speaker and position. Omits
//! code, HTML and front matter, and strips emphasis and links.

use std::ops::Range;

use crate::document::{BlockKind, Document, TurnSpeaker, parse_turn};

/// The position of a sentence.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum SentencePlace {
    Heading,
    Item,
    Running,
}

#[derive(Debug, Clone)]
pub(super) struct ProseSentence {
    pub(super) text: String,
    pub(super) voice: TurnSpeaker,
    pub(super) place: SentencePlace,
}

/// Splits a document into sentences, in order.
pub(super) fn document_sentences(document: &Document) -> Vec<ProseSentence> {
    let mut out = Vec::new();
    let chat = is_chat_transcript(document);
    let mut voice = if chat {
        TurnSpeaker::User
    } else {
        TurnSpeaker::Author
    };
    for block in &document.blocks {
        let place = match block.kind {
            BlockKind::Heading => SentencePlace::Heading,
            BlockKind::List | BlockKind::Table => SentencePlace::Item,
            BlockKind::Paragraph | BlockKind::Quote | BlockKind::Other => SentencePlace::Running,
            BlockKind::Code | BlockKind::Html | BlockKind::Rule => continue,
        };
        let mut pending = String::new();
        for line in document.span_text(&block.span).lines() {
            if is_link_definition(line) {
                continue;
            }
            let (spoken, line) = match chat.then(|| parse_turn(line)).flatten() {
                Some((spoken, rest)) => (Some(spoken), rest),
                None => (None, line),
            };
            let (marked, line) = strip_line_marks(line);
            let wrapped = place == SentencePlace::Running && !marked && spoken.is_none();
            if !wrapped {
                push_sentences(&mut out, &mut pending, voice, place);
            }
            if let Some(spoken) = spoken {
                voice = spoken;
            }
            if !pending.is_empty() {
                pending.push(' ');
            }
            pending.push_str(line);
        }
        push_sentences(&mut out, &mut pending, voice, place);
    }
    out
}

fn push_sentences(
    out: &mut Vec<ProseSentence>,
    pending: &mut String,
    voice: TurnSpeaker,
    place: SentencePlace,
) {
    let text = plain_text(pending);
    pending.clear();
    for span in split_sentences(&text) {
        let text = text[span].trim();
        if text.chars().any(char::is_alphanumeric) {
            out.push(ProseSentence {
                text: text.to_owned(),
                voice,
                place,
            });
        }
    }
}

/// Returns `true` for a link definition, `[label]: address "title"`, which is
/// not prose. A footnote is prose.
fn is_link_definition(line: &str) -> bool {
    let inner = line.trim().strip_prefix('[');
    let Some((label, target)) = inner.and_then(|inner| inner.split_once("]:")) else {
        return false;
    };
    let mut parts = target.trim().splitn(2, char::is_whitespace);
    let address = parts.next().is_some_and(|address| !address.is_empty());
    let title = parts.next().map(str::trim_start);
    let titled = title.is_none_or(|title| title.starts_with(['"', '\'', '(']));
    !label.starts_with(['^', '[']) && address && titled
}

/// Returns `true` if a user and an assistant take turns.
fn is_chat_transcript(document: &Document) -> bool {
    let mut users = 0;
    let mut assistants = 0;
    for line in document.span_text(&document.body).lines() {
        match parse_turn(line) {
            Some((TurnSpeaker::User, _)) => users += 1,
            Some((TurnSpeaker::Assistant, _)) => assistants += 1,
            _ => {}
        }
    }
    users > 0 && assistants > 0
}

/// Strips the marks of lists, quotes, headings and table rows from a line, and
/// returns whether there was one.
fn strip_line_marks(line: &str) -> (bool, &str) {
    let text = line.trim_start_matches(|c: char| c.is_whitespace() || c == '>');
    let bytes = text.as_bytes();
    let digits = bytes.iter().take_while(|b| b.is_ascii_digit()).count();
    let rest = match bytes.first() {
        Some(b'-' | b'*' | b'+') if bytes.get(1) == Some(&b' ') => &text[2..],
        Some(b'#') => text.trim_start_matches('#'),
        Some(b'|') => &text[1..],
        _ if (1..=3).contains(&digits) && matches!(bytes.get(digits), Some(b'.' | b')')) => {
            &text[digits + 1..]
        }
        _ => return (false, text),
    };
    let rest = rest.trim_start();
    let rest = ["[ ] ", "[x] ", "[X] "]
        .iter()
        .find_map(|mark| rest.strip_prefix(mark))
        .unwrap_or(rest);
    (true, rest)
}

/// Returns text without emphasis and code marks, with links as their labels and
/// single spaces.
pub(super) fn plain_text(text: &str) -> String {
    let mut out = String::with_capacity(text.len());
    let bytes = text.as_bytes();
    let mut at = 0;
    let mut space = false;
    while at < bytes.len() {
        let c = text[at..].chars().next().expect("within the text");
        let next = at + c.len_utf8();
        match c {
            '*' | '`' => at = next,
            '_' if space
                || !out.ends_with(char::is_alphanumeric)
                || !text[next..].starts_with(char::is_alphanumeric) =>
            {
                at = next;
            }
            '[' if bytes.get(next) == Some(&b'[') => {
                // A wikilink, reduced to its alias.
                match find_within(text, next + 1, "]]", MAX_NAME_BYTES) {
                    Some(end) => {
                        let inner = &text[next + 1..end];
                        let label = inner.rsplit('|').next().unwrap_or(inner);
                        push_word_space(&mut out, &mut space);
                        out.push_str(label.trim());
                        at = end + 2;
                    }
                    None => at = next + 1,
                }
            }
            ']' if bytes.get(next) == Some(&b'(') => {
                let end = find_within(text, next, ")", MAX_ADDRESS_BYTES);
                at = end.map_or(next + 1, |end| end + 1);
            }
            '[' | ']' | '|' => {
                at = next;
                space |= c == '|';
            }
            '!' if bytes.get(next) == Some(&b'[') => at = next,
            c if c.is_whitespace() || c.is_control() => {
                space = true;
                at = next;
            }
            c => {
                push_word_space(&mut out, &mut space);
                out.push(c);
                at = next;
            }
        }
    }
    out
}

/// Maximum lengths of a wikilink's name and of a link's address; longer ones
/// are plain text.
const MAX_NAME_BYTES: usize = 200;
const MAX_ADDRESS_BYTES: usize = 500;

/// Finds `mark` within `max_bytes`. Without the limit, every bracket that is
/// never closed would cause a scan of the rest of the text.
fn find_within(text: &str, from: usize, mark: &str, max_bytes: usize) -> Option<usize> {
    let end = text.len().min(from + max_bytes);
    let found = memchr::memmem::find(&text.as_bytes()[from..end], mark.as_bytes());
    found.map(|at| from + at)
}

fn push_word_space(out: &mut String, space: &mut bool) {
    if std::mem::take(space) && !out.is_empty() {
        out.push(' ');
    }
}

/// Splits plain text into sentences.
fn split_sentences(text: &str) -> Vec<Range<usize>> {
    let mut spans = Vec::new();
    let mut start = 0;
    let mut chars = text.char_indices().peekable();
    while let Some((at, c)) = chars.next() {
        let wide = matches!(c, '。' | '！' | '？');
        if !wide && !matches!(c, '.' | '!' | '?' | '…') {
            continue;
        }
        let mut end = at + c.len_utf8();
        while let Some((next, c)) = chars.peek().copied() {
            if !matches!(c, '.' | '!' | '?' | '"' | '”' | ')' | '\'' | '’') {
                break;
            }
            end = next + c.len_utf8();
            chars.next();
        }
        let behind = &text[end..];
        let ends = wide
            || behind.is_empty()
            || behind.starts_with(' ')
                && (c != '.'
                    || (!is_abbreviation(&text[start..at])
                        && !behind[1..].starts_with(char::is_lowercase)));
        if ends {
            spans.push(start..end);
            start = end;
        }
    }
    if start < text.len() {
        spans.push(start..text.len());
    }
    spans
}

/// Returns `true` if the full stop after this text belongs to its last word.
fn is_abbreviation(text: &str) -> bool {
    let word = text.rsplit([' ', '(']).next().unwrap_or(text);
    let lower = word.to_lowercase();
    let initial = word.chars().count() == 1 && word.starts_with(char::is_uppercase) && word != "I";
    initial
        || matches!(
            lower.as_str(),
            "mr" | "mrs"
                | "ms"
                | "dr"
                | "prof"
                | "st"
                | "vs"
                | "etc"
                | "e.g"
                | "i.e"
                | "no"
                | "jr"
                | "sr"
                | "approx"
                | "z.b"
                | "bzw"
                | "ca"
                | "nr"
                | "sra"
                | "mme"
        ) && lower != "no"
}

/// Splits a long sentence into clauses that can be read alone.
pub(super) fn split_clauses(sentence: &str) -> Vec<&str> {
    const CLAUSE_CUTS: [&str; 9] = [
        "; ",
        " - ",
        " — ",
        " – ",
        ", and ",
        ", but ",
        ", so ",
        ", which ",
        ", because ",
    ];
    let mut out = Vec::new();
    let (mut start, mut at) = (0, 0);
    // One pass: a search for each separator in turn would scan the rest of the
    // sentence for every separator that it does not contain.
    while let Some(next) = sentence[at..].find([';', ',', ' ']).map(|it| at + it) {
        let cut = CLAUSE_CUTS
            .iter()
            .find(|cut| sentence[next..].starts_with(**cut));
        at = next + cut.map_or(1, |cut| cut.len());
        if cut.is_some() {
            out.push(sentence[start..next].trim());
            start = at;
        }
    }
    out.push(sentence[start..].trim());
    out.retain(|clause| !clause.is_empty());
    out
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::document::parse_document;

    fn said(text: &str) -> Vec<(TurnSpeaker, String)> {
        document_sentences(&parse_document(text))
            .into_iter()
            .map(|it| (it.voice, it.text))
            .collect()
    }

    #[test]
    fn turns_of_a_chat_have_their_voice() {
        for text in [
            "**User:** I moved. Then I slept.\n\n**Assistant:** Nice.\n",
            "## user\n\nI moved. Then I slept.\n\n## assistant\n\nNice.\n",
            "User: I moved. Then\nI slept.\nAssistant: Nice.\n",
        ] {
            let found = said(text);
            let spoken: Vec<&(TurnSpeaker, String)> = found
                .iter()
                .filter(|it| it.1.contains(' ') || it.1 == "Nice.")
                .collect();
            assert_eq!(
                spoken[0],
                &(TurnSpeaker::User, "I moved.".to_owned()),
                "{text}"
            );
            assert_eq!(spoken[1], &(TurnSpeaker::User, "Then I slept.".to_owned()));
            assert_eq!(spoken[2], &(TurnSpeaker::Assistant, "Nice.".to_owned()));
        }
    }

    #[test]
    fn a_text_without_turns_has_one_author() {
        let found = said("# Plan\n\nDr. Ana Wu said *no*.\n\n- one\n- two\n\n```\ncode\n```\n");
        let texts: Vec<&str> = found.iter().map(|it| it.1.as_str()).collect();
        assert_eq!(texts, ["Plan", "Dr. Ana Wu said no.", "one", "two"]);
        assert!(found.iter().all(|it| it.0 == TurnSpeaker::Author));
    }

    #[test]
    fn marks_go_and_words_stay() {
        assert_eq!(
            plain_text("**a** `b` [c](d) [[e|f]] snake_case _g_"),
            "a b c f snake_case g"
        );
        assert_eq!(plain_text("![x](y) [[z"), "x z");
    }

    /// Each of these took time by the square of its length: a bracket that is
    /// never closed had the rest of the text read for it.
    #[test]
    fn brackets_that_are_never_closed_are_read_once() {
        const MANY: usize = 2_000_000;
        for unit in ["[", "[[", "](", "![", "[a"] {
            let text = unit.repeat(MANY);
            assert!(plain_text(&text).len() <= text.len());
        }
        assert_eq!(split_clauses(&", and a".repeat(MANY)).len(), MANY);
        assert_eq!(find_within("[[abc]]", 2, "]]", 5), Some(5));
        assert_eq!(find_within("[[abc]]", 2, "]]", 4), None);
    }

    #[test]
    fn a_long_sentence_is_cut_at_its_clauses() {
        let found =
            split_clauses("It rained, so we left; nobody — not one - stayed, which was sad");
        assert_eq!(
            found,
            [
                "It rained",
                "we left",
                "nobody",
                "not one",
                "stayed",
                "was sad"
            ]
        );
        assert_eq!(split_clauses("one, and"), ["one, and"]);
    }
}
