//! Normalizes text so that two spellings of one statement are equal: without
//! case, white space, Markdown marks, quotes and punctuation around words.
//! Whatever changes the meaning stays: signs, decimals, units, names with marks
//! in them.
//!
//! Every word is between spaces, so that a phrase is found as whole words; a
//! block ends with a mark that no phrase contains.

use unicode_normalization::UnicodeNormalization;

/// Separates blocks of a text; no word contains it.
const END_OF_BLOCK: char = '\u{1}';

/// Normalizes a text to ` word word `. An empty text becomes a single space.
pub(super) fn normalize_text(text: &str) -> String {
    let mut out = NormalWords::new(text.len());
    for line in text.split(['\n', '\r']) {
        push_line(line, &mut out);
    }
    out.finish()
}

/// Normalizes a part of a line, which begins no block.
pub(super) fn normalize_phrase(text: &str) -> String {
    let mut out = NormalWords::new(text.len());
    push_inline(text, false, &mut out);
    out.finish()
}

/// The normalized words so far.
struct NormalWords {
    text: String,
    /// Number of the last numbered list item in this block.
    number: Option<u64>,
}

impl NormalWords {
    fn new(length: usize) -> NormalWords {
        let mut text = String::with_capacity(length + 2);
        text.push(' ');
        NormalWords { text, number: None }
    }

    /// Returns `true` if a number and a dot begin a list item: at the start of
    /// a block, or if they continue the count. Elsewhere they end a wrapped
    /// sentence.
    fn begins_item(&self, number: u64) -> bool {
        let written = self.text.trim_end_matches(' ');
        let fresh = written.is_empty() || written.ends_with(END_OF_BLOCK);
        fresh
            || self
                .number
                .is_some_and(|it| number == it || number == it + 1)
    }

    fn end_block(&mut self) {
        let written = self.text.trim_end_matches(' ');
        if !written.is_empty() && !written.ends_with(END_OF_BLOCK) {
            self.text.push(END_OF_BLOCK);
            self.text.push(' ');
        }
    }

    fn push_word(&mut self, word: &str) {
        if let Some(core) = word_core(word) {
            self.text.push_str(core);
            self.text.push(' ');
        }
    }

    fn finish(mut self) -> String {
        let trimmed = self.text.trim_end_matches([END_OF_BLOCK, ' ']).len();
        self.text.truncate(trimmed);
        self.text.push(' ');
        // Composed and decomposed accents become equal; ASCII has none.
        if self.text.is_ascii() {
            self.text
        } else {
            self.text.nfc().collect()
        }
    }
}

/// Adds the words of a line, whose beginning may start a block.
fn push_line(line: &str, out: &mut NormalWords) {
    let line = line.trim();
    if line.is_empty() || line.starts_with("```") || line.starts_with("~~~") {
        out.end_block();
        out.number = None;
        return;
    }
    let number = item_number(line.trim_start_matches(['>', ' ']));
    let wrapped = number.is_some_and(|number| !out.begins_item(number));
    let (rest, marked) = if wrapped {
        (line.trim_start_matches(['>', ' ']), false)
    } else {
        strip_block_marks(line)
    };
    if marked {
        out.number = number;
    }
    let row = rest.starts_with('|');
    if marked || row {
        out.end_block();
    }
    push_inline(rest, row, out);
    if line.starts_with('#') && marked {
        out.end_block();
    }
}

/// Strips the marks of quotes, headings and list items at the beginning of a
/// line, and returns whether one of them begins a block.
pub(super) fn strip_block_marks(line: &str) -> (&str, bool) {
    let mut rest = line.trim();
    let mut marked = false;
    loop {
        let hashes = rest.len() - rest.trim_start_matches('#').len();
        let heading = (1..=6).contains(&hashes) && rest[hashes..].starts_with([' ', '\t']);
        // A line may begin with a comparison such as `>=`, which is not a
        // quote.
        let quoted = rest.strip_prefix('>').filter(|it| !it.starts_with('='));
        rest = if heading {
            marked = true;
            rest[hashes..].trim()
        } else if let Some(quoted) = quoted {
            quoted.trim_start()
        } else if let Some(item) = strip_list_marker(rest) {
            marked = true;
            let task = ["[ ] ", "[x] ", "[X] "];
            let task = task.iter().find_map(|mark| item.strip_prefix(mark));
            task.unwrap_or(item)
        } else {
            return (rest, marked);
        };
    }
}

/// Parses the number of a numbered list item.
fn item_number(line: &str) -> Option<u64> {
    let digits = line.bytes().take_while(u8::is_ascii_digit).count();
    strip_list_marker(line).and_then(|_| line[..digits].parse().ok())
}

fn strip_list_marker(line: &str) -> Option<&str> {
    let digits = line.bytes().take_while(u8::is_ascii_digit).count();
    let rest = match digits {
        0 => line.strip_prefix(['-', '*', '+'])?,
        1..=9 => line[digits..].strip_prefix(['.', ')'])?,
        _ => return None,
    };
    rest.starts_with([' ', '\t']).then(|| rest.trim_start())
}

/// Adds the words of a line without inline marks; each cell of a table row ends
/// a block.
fn push_inline(line: &str, row: bool, out: &mut NormalWords) {
    let mut word = String::new();
    let mut at = 0;
    while let Some(c) = line[at..].chars().next() {
        let rest = &line[at..];
        let next = rest[c.len_utf8()..].chars().next();
        let mut length = c.len_utf8();
        match c {
            '\\' if next == Some('|') => {
                word.push('|');
                length += 1;
            }
            '\\' if next.is_some_and(|it| it.is_ascii_punctuation()) => {}
            '`' => {}
            '~' if next == Some('~') => length += 1,
            '*' => {
                let times = word.ends_with(|it: char| it.is_ascii_digit())
                    && next.is_some_and(|it| it.is_ascii_digit());
                if times {
                    word.push('*');
                }
            }
            '[' if rest.starts_with("[[") => length = wikilink_length(rest),
            '[' if rest.starts_with("[^") => {
                length = limit_bytes(rest, 100)
                    .find(']')
                    .map_or(length, |end| end + 1);
            }
            ']' if rest.starts_with("]]") => length = 2,
            ']' => length = link_end_length(rest),
            '<' => match tag_length(rest) {
                Some(tag) => length = tag,
                None => word.push('<'),
            },
            '&' => match parse_entity(rest) {
                Some((char, entity)) => {
                    length = entity;
                    push_letter(char, &mut word, out);
                }
                None => word.push('&'),
            },
            '|' if row => {
                out.push_word(&std::mem::take(&mut word));
                out.end_block();
            }
            c => push_letter(c, &mut word, out),
        }
        at += length;
    }
    out.push_word(&word);
}

/// Adds one character of the text itself.
fn push_letter(c: char, word: &mut String, out: &mut NormalWords) {
    // Full-width forms of ASCII are the same letters.
    let c = match c {
        '\u{ff01}'..='\u{ff5e}' => char::from_u32(u32::from(c) - 0xfee0).unwrap_or(c),
        '\u{2010}'..='\u{2013}' | '\u{2212}' => '-',
        '"' | '\u{2018}'..='\u{201f}' | '«' | '»' | '‹' | '›' | '′' | '″' => '\'',
        c => c,
    };
    match c {
        c if c.is_whitespace() => out.push_word(&std::mem::take(word)),
        '\u{2014}' | '\u{2015}' | '…' | '。' | '、' | '「' | '」' | '『' | '』' | '·' | '•' =>
        {
            out.push_word(&std::mem::take(word));
        }
        c if is_invisible(c) => {}
        c if has_no_spaces(c) => {
            out.push_word(&std::mem::take(word));
            out.push_word(c.encode_utf8(&mut [0; 4]));
        }
        c if c.is_ascii() => word.push(c.to_ascii_lowercase()),
        // Upper-casing first merges letters that lower-casing alone keeps
        // apart, such as `ß` and `ss`.
        c => word.extend(c.to_uppercase().flat_map(char::to_lowercase)),
    }
}

/// Maximum length of a link or tag, so that an unclosed one does not make
/// parsing quadratic.
const MAX_LINK_BYTES: usize = 1000;

fn limit_bytes(rest: &str, most: usize) -> &str {
    &rest[..rest.floor_char_boundary(most)]
}

/// Returns the length of `[[`, or of `[[target|` if a label follows.
fn wikilink_length(rest: &str) -> usize {
    let rest = limit_bytes(rest, MAX_LINK_BYTES);
    let inner = rest[2..].find("]]").map(|end| &rest[2..2 + end]);
    inner
        .and_then(|inner| inner.rfind('|'))
        .map_or(2, |bar| 2 + bar + 1)
}

/// Returns the length of `]` with the link target or reference after it.
fn link_end_length(rest: &str) -> usize {
    let behind = &limit_bytes(rest, MAX_LINK_BYTES)[1..];
    let (open, close) = match behind.as_bytes().first() {
        Some(b'(') => ('(', ')'),
        Some(b'[') => ('[', ']'),
        _ => return 1,
    };
    let Some(end) = behind.find(close) else {
        return 1;
    };
    // `a[0][1]` is not a link.
    let inside = behind[..end].trim_start_matches(open);
    let number = open == '[' && !inside.is_empty() && inside.bytes().all(|b| b.is_ascii_digit());
    if number { 1 } else { 1 + end + 1 }
}

const INLINE_TAGS: [&str; 17] = [
    "b", "i", "u", "s", "em", "strong", "del", "ins", "code", "mark", "span", "br", "kbd", "sub",
    "sup", "small", "a",
];

/// Returns the length of an inline HTML tag or of a comment's opening mark.
fn tag_length(rest: &str) -> Option<usize> {
    if rest.starts_with("<!--") {
        return Some(4);
    }
    let inside = &rest[1..limit_bytes(rest, MAX_LINK_BYTES).find('>')?];
    let name = inside.trim_start_matches('/').trim_end_matches('/');
    let name = name.split(char::is_whitespace).next()?;
    let known = INLINE_TAGS.iter().any(|tag| tag.eq_ignore_ascii_case(name));
    known.then_some(inside.len() + 2)
}

fn parse_entity(rest: &str) -> Option<(char, usize)> {
    const HTML_ENTITIES: [(&str, char); 8] = [
        ("&nbsp;", ' '),
        ("&amp;", '&'),
        ("&lt;", '<'),
        ("&gt;", '>'),
        ("&quot;", '"'),
        ("&apos;", '\''),
        ("&#39;", '\''),
        ("&#x27;", '\''),
    ];
    HTML_ENTITIES
        .iter()
        .find(|(name, _)| rest.starts_with(name))
        .map(|(name, char)| (*char, name.len()))
}

/// Strips punctuation around a word; returns none if nothing else is left.
fn word_core(word: &str) -> Option<&str> {
    let counts = |c: char| c.is_alphanumeric();
    if !word.contains(counts) {
        // `->` and `!=` carry meaning, a dash between spaces does not.
        let word = word.trim_matches(['\'', '(', ')', '[', ']', '{', '}', ',', ';', '.']);
        let has_meaning = word == "!=" || word.contains(|c: char| !EDGE_PUNCTUATION.contains(c));
        return (!word.is_empty() && has_meaning).then_some(word);
    }
    let mut core = word;
    loop {
        let before = core.len();
        core = core.trim_end_matches(|c| EDGE_PUNCTUATION.contains(c) && c != '#');
        core = core
            .trim_start_matches(|c| EDGE_PUNCTUATION.contains(c) && !matches!(c, '-' | '.' | '#'));
        // A sign, a flag, a hidden file and a number keep their first
        // character.
        let marks = core.len() - core.trim_start_matches(['-', '.', '#']).len();
        if marks > 0 && !core[marks..].starts_with(counts) {
            core = &core[marks..];
        }
        if core.len() == before {
            return Some(core);
        }
    }
}

/// Punctuation without meaning at the edge of a word.
const EDGE_PUNCTUATION: &str = "'()[]{},;:!?.*_=-#|¿¡";

fn is_invisible(c: char) -> bool {
    matches!(c,
        '\u{ad}' | '\u{34f}' | '\u{180e}' | '\u{200b}'..='\u{200f}' | '\u{202a}'..='\u{202e}'
        | '\u{2060}'..='\u{2069}' | '\u{fe00}'..='\u{fe0f}' | '\u{feff}')
        || c.is_control()
}

/// Returns `true` for scripts without spaces between words; each character
/// counts as a word.
fn has_no_spaces(c: char) -> bool {
    matches!(c, '\u{3041}'..='\u{30ff}' | '\u{3400}'..='\u{4dbf}' | '\u{4e00}'..='\u{9fff}'
        | '\u{f900}'..='\u{faff}' | '\u{20000}'..='\u{3ffff}')
}
