//! Splits text into the terms of full-text search: words are folded and
//! stemmed, identifiers are kept whole *and* taken apart, CJK runs become pairs
//! of characters. Documents and queries go through the same function, or they
//! would not meet.

use std::collections::{HashMap, HashSet};
use std::ops::Range;

use rust_stemmers::{Algorithm, Stemmer};
use unicode_normalization::UnicodeNormalization;
use unicode_normalization::char::is_combining_mark;

/// The length at which terms are cut: longer ones are never typed, and base64
/// would fill the index.
const MAX_TERM_BYTES: usize = 64;
/// The length up to which a run of word characters is language; a longer run is
/// data.
const MAX_RUN_BYTES: usize = 512;

/// Splits text into terms and remembers what it has already worked out, which
/// makes the second occurrence of a word cost one look-up.
pub struct TermSplitter {
    stemmer: Stemmer,
    /// Raw run → the terms that it gives.
    known: HashMap<String, Box<[String]>>,
}

impl Default for TermSplitter {
    fn default() -> Self {
        TermSplitter {
            stemmer: Stemmer::create(Algorithm::English),
            known: HashMap::new(),
        }
    }
}

impl TermSplitter {
    /// Calls `each` for every term of `text`, in order, repeats included.
    pub fn for_each_term(&mut self, text: &str, mut each: impl FnMut(&str)) {
        self.for_each_with_place(text, |_, term| each(term));
    }

    /// Calls `each` as [`TermSplitter::for_each_term`], with the place in the text that gave
    /// the term.
    pub fn for_each_with_place(&mut self, text: &str, mut each: impl FnMut(Range<usize>, &str)) {
        let mut at = 0;
        while let Some(skipped) = text[at..].find(can_start_run) {
            let start = at + skipped;
            let run = &text[start..];
            let cjk = run.starts_with(is_cjk);
            let inside: fn(char) -> bool = if cjk { is_cjk } else { can_continue_run };
            let end = start + run.find(|c| !inside(c)).unwrap_or(run.len());
            if cjk {
                for_each_pair(text, start..end, &mut each);
            } else {
                self.split_run(&text[start..end], &mut |term| each(start..end, term));
            }
            at = end;
        }
    }

    /// Calls `each` for every term that may be one of those wanted, and with
    /// `None` for a word that cannot be: most words need not be stemmed to see
    /// that.
    pub(super) fn for_each_starting(
        &mut self,
        text: &str,
        wanted: &TermInitials,
        mut each: impl FnMut(Option<&str>),
    ) {
        let mut at = 0;
        while let Some(skipped) = text[at..].find(can_start_run) {
            let start = at + skipped;
            let run = &text[start..];
            let cjk = run.starts_with(is_cjk);
            let inside: fn(char) -> bool = if cjk { is_cjk } else { can_continue_run };
            let end = start + run.find(|c| !inside(c)).unwrap_or(run.len());
            if cjk {
                for_each_pair(text, start..end, &mut |_, term: &str| each(Some(term)));
            } else if wanted.can_yield_term(&text[start..end]) {
                self.split_run(&text[start..end], &mut |term: &str| each(Some(term)));
            } else {
                each(None);
            }
            at = end;
        }
    }

    /// Returns the distinct terms of a query, in order of first appearance.
    pub fn distinct_terms(&mut self, text: &str) -> Vec<String> {
        let mut terms: Vec<String> = Vec::new();
        let mut known: HashSet<String> = HashSet::new();
        self.for_each_term(text, |t| {
            if !known.contains(t) {
                known.insert(t.to_owned());
                terms.push(t.to_owned());
            }
        });
        terms
    }

    fn split_run(&mut self, run: &str, each: &mut impl FnMut(&str)) {
        if run.len() > MAX_RUN_BYTES {
            // Data rather than language: its parts are found, the whole is not
            // worth a term. Searching for the exact string still finds it.
            for part in run.split(|c: char| !c.is_alphanumeric()) {
                if !part.is_empty() {
                    each(truncate_term(&fold_text(part)));
                }
            }
            return;
        }
        if let Some(terms) = self.known.get(run) {
            terms.iter().for_each(|t| each(t));
            return;
        }
        let terms = self.terms_of_run(run);
        terms.iter().for_each(|t| each(t));
        self.known.insert(run.to_owned(), terms);
    }

    fn terms_of_run(&self, run: &str) -> Box<[String]> {
        let mut terms: Vec<String> = Vec::new();
        let mut add = |term: String| {
            let term = truncate_term(&term).to_owned();
            if !term.is_empty() && !terms.contains(&term) {
                terms.push(term);
            }
        };
        let core = run.trim_matches(|c: char| !c.is_alphanumeric());
        let core = core
            .strip_suffix("'s")
            .or_else(|| core.strip_suffix("’s"))
            .unwrap_or(core);
        if core.is_empty() {
            return Box::default();
        }
        let parts = identifier_parts(core);
        if parts.len() == 1 && parts[0].len() == core.len() {
            add(self.stem_word(&fold_text(core)));
        } else {
            add(fold_text(core));
            for part in parts {
                add(self.stem_word(&fold_text(part)));
            }
        }
        // `--dry-run`, `-x`: flags are looked for with their dashes.
        if run.starts_with('-') {
            let flag = run.trim_end_matches(|c: char| !c.is_alphanumeric());
            add(fold_text(flag));
        }
        terms.into_boxed_slice()
    }

    fn stem_word(&self, word: &str) -> String {
        let plain = word.len() > 3 && word.bytes().all(|b| b.is_ascii_lowercase());
        if plain {
            self.stemmer.stem(word).into_owned()
        } else {
            word.to_owned()
        }
    }
}

/// The first letters of some terms.
#[derive(Default)]
pub(super) struct TermInitials([bool; 26]);

impl TermInitials {
    pub(super) fn add_term(&mut self, term: &str) {
        if let Some(first @ b'a'..=b'z') = term.bytes().next() {
            self.0[(first - b'a') as usize] = true;
        }
    }

    /// Returns `true` if a run may give one of the terms. A stem begins like
    /// its word; a run that is not a plain word has parts, or letters to be
    /// folded.
    fn can_yield_term(&self, run: &str) -> bool {
        let bytes = run.as_bytes();
        let first = bytes[0].to_ascii_lowercase();
        let plain = first.is_ascii_lowercase()
            && bytes[1..]
                .iter()
                .all(|b| b.is_ascii_lowercase() || *b == b'.');
        !plain || self.0[(first - b'a') as usize]
    }
}

/// Folds text to lower case without accents, the form that two spellings of a
/// word share.
pub fn fold_text(text: &str) -> String {
    if text.is_ascii() {
        return text.to_ascii_lowercase();
    }
    let mut out = String::with_capacity(text.len());
    for c in text.chars() {
        match c {
            c if c.is_ascii() => out.push(c.to_ascii_lowercase()),
            // Marks carry meaning in these scripts: only width is folded.
            c if is_cjk(c) => out.extend(std::iter::once(c).nfkc()),
            c => out.extend(
                std::iter::once(c)
                    .nfkd()
                    .filter(|c| !is_combining_mark(*c))
                    .flat_map(char::to_lowercase),
            ),
        }
    }
    out
}

/// Splits an identifier into words: `snake_case`, `camelCase`, `HTTPServer`,
/// `path/to.rs`, `foo::bar`.
fn identifier_parts(core: &str) -> Vec<&str> {
    let mut parts = Vec::new();
    for piece in core.split(|c: char| !c.is_alphanumeric()) {
        let chars: Vec<(usize, char)> = piece.char_indices().collect();
        let mut start = 0;
        for i in 1..chars.len() {
            let (before, here) = (chars[i - 1].1, chars[i].1);
            let after = chars.get(i + 1).map(|c| c.1);
            let hump = before.is_lowercase() && here.is_uppercase();
            // `HTTPServer`: the last capital of a run begins the next word.
            let acronym_end = before.is_uppercase()
                && here.is_uppercase()
                && after.is_some_and(char::is_lowercase);
            if hump || acronym_end {
                parts.push(&piece[start..chars[i].0]);
                start = chars[i].0;
            }
        }
        if start < piece.len() {
            parts.push(&piece[start..]);
        }
    }
    parts
}

/// Calls `each` for neighbouring pairs of a run without spaces; a single
/// character is a term of its own.
fn for_each_pair(text: &str, run: Range<usize>, each: &mut impl FnMut(Range<usize>, &str)) {
    let at: Vec<usize> = text[run.clone()]
        .char_indices()
        .map(|(i, _)| run.start + i)
        .chain([run.end])
        .collect();
    if at.len() == 2 {
        each(run.clone(), &fold_text(&text[run]));
    }
    for w in at.windows(3) {
        each(w[0]..w[2], &fold_text(&text[w[0]..w[2]]));
    }
}

fn truncate_term(term: &str) -> &str {
    let mut end = term.len().min(MAX_TERM_BYTES);
    while !term.is_char_boundary(end) {
        end -= 1;
    }
    &term[..end]
}

fn can_start_run(c: char) -> bool {
    c.is_ascii_alphanumeric() || c == '-' || (!c.is_ascii() && c.is_alphanumeric())
}

fn can_continue_run(c: char) -> bool {
    match c {
        'a'..='z' | 'A'..='Z' | '0'..='9' => true,
        '_' | '-' | '.' | '/' | ':' | '@' | '\'' | '’' | '\\' | '+' | '#' => true,
        _ => !c.is_ascii() && (c.is_alphanumeric() || is_combining_mark(c)) && !is_cjk(c),
    }
}

/// Returns `true` for scripts that are written without spaces between words.
pub fn is_cjk(c: char) -> bool {
    matches!(c as u32,
        0x3040..=0x30FF | 0x31F0..=0x31FF | 0x3400..=0x4DBF | 0x4E00..=0x9FFF
        | 0xAC00..=0xD7AF | 0xF900..=0xFAFF | 0xFF66..=0xFF9F | 0x20000..=0x3FFFF
        | 0x0E00..=0x0E7F)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn check(text: &str, expect: &[&str]) {
        let mut got = Vec::new();
        TermSplitter::default().for_each_term(text, |t| got.push(t.to_owned()));
        assert_eq!(got, expect, "terms of {text:?}");
    }

    #[test]
    fn words_are_folded_and_stemmed() {
        check("Running the tests.", &["run", "the", "test"]);
        check("Café résumé Ünïcode", &["cafe", "resum", "unicod"]);
        check("the team's plan", &["the", "team", "plan"]);
    }

    #[test]
    fn identifiers_are_kept_whole_and_taken_apart() {
        check("snake_case", &["snake_case", "snake", "case"]);
        check(
            "parseHTTPHeader",
            &["parsehttpheader", "pars", "http", "header"],
        );
        check("src/main.rs", &["src/main.rs", "src", "main", "rs"]);
        check("E0433", &["e0433"]);
        check("ERR_CONN_42", &["err_conn_42", "err", "conn", "42"]);
        check("std::fs", &["std::fs", "std", "fs"]);
        check("v1.2.3", &["v1.2.3", "v1", "2", "3"]);
    }

    #[test]
    fn flags_keep_their_dashes() {
        check("--dry-run", &["dry-run", "dry", "run", "--dry-run"]);
        check("-x", &["x", "-x"]);
        check("- item", &["item"]);
    }

    #[test]
    fn cjk_becomes_pairs() {
        check("記憶の鍛冶", &["記憶", "憶の", "の鍛", "鍛冶"]);
        check("水", &["水"]);
        check("API設計 ok", &["api", "設計", "ok"]);
    }

    #[test]
    fn data_does_not_fill_the_index() {
        let long = "a".repeat(100_000);
        check(&long, &[&"a".repeat(64)]);
    }

    #[test]
    fn questions_and_documents_meet() {
        let mut terms = TermSplitter::default();
        let question = terms.distinct_terms("retries retrying");
        let document = terms.distinct_terms("retry");
        assert_eq!(question, document);
    }

    #[test]
    fn every_script_is_folded() {
        check("Ελλάδα ΕΛΛΑΔΑ", &["ελλαδα", "ελλαδα"]);
        check("Ёлка елка", &["елка", "елка"]);
        check("مُحَمَّد محمد", &["محمد", "محمد"]);
        check("שָׁלוֹם שלום", &["שלום", "שלום"]);
        check("ＡＰＩ ﾃｽﾄ", &["api", "テス", "スト"]);
    }

    proptest::proptest! {
        #[test]
        fn skipping_words_by_their_first_letter_misses_none(
            words in proptest::collection::vec("[a-zA-Z]{1,9}|[a-z]{2,4}_[a-z]{2,4}|Straße|ÉTÉ|don't|--flag|dying|記憶の", 1..30),
            wanted in proptest::collection::vec("[a-z]{1,7}|[a-z]{2,4}_[a-z]{2,4}|ete|die|flag|憶の", 1..4),
        ) {
            let text = words.join(" ");
            let mut terms = TermSplitter::default();
            let mut starts = TermInitials::default();
            let mut all = terms.distinct_terms(&wanted.join(" "));
            all.extend(terms.distinct_terms(&words[0]));
            all.iter().for_each(|term| starts.add_term(term));
            let mut expect = Vec::new();
            terms.for_each_term(&text, |t| expect.push(t.to_owned()));
            expect.retain(|t| all.contains(t));
            let mut got = Vec::new();
            terms.for_each_starting(&text, &starts, |t| got.extend(t.map(str::to_owned)));
            got.retain(|t| all.contains(t));
            proptest::prop_assert_eq!(got, expect);
        }
    }
}
