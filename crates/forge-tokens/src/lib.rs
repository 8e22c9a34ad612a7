//! Counts tokens exactly, with the public vocabularies compiled in.
//!
//! The first exact count in a process loads a vocabulary, which takes about
//! 100 ms. Hooks must never pay for that: they use
//! [`forge_text::tokens::estimate_tokens`], and no crate below the doors of a hook
//! depends on this one.
#![warn(missing_docs)]
#![cfg_attr(not(test), warn(clippy::unwrap_used))]

use forge_text::tokens::Tokenizer;

/// Returns the number of tokens of `text`.
///
/// The first exact count in a process loads that vocabulary, later ones share
/// it. Text that looks like a control token (`<|endoftext|>`) is counted as the
/// ordinary text it is.
pub fn count_tokens(tokenizer: Tokenizer, text: &str) -> usize {
    match tokenizer {
        // An empty text must not pay for a vocabulary.
        _ if text.is_empty() => 0,
        Tokenizer::O200k => load_vocabulary("o200k_base").count(text),
        Tokenizer::Cl100k => load_vocabulary("cl100k_base").count(text),
        Tokenizer::Claude => count_utf16_units(text).div_ceil(3),
        Tokenizer::Chars4 => count_utf16_units(text).div_ceil(4),
    }
}

fn load_vocabulary(encoding: &str) -> &'static tiktoken::CoreBpe {
    tiktoken::get_encoding(encoding)
        .expect("both vocabularies are named in this crate's feature list for `tiktoken`")
}

fn count_utf16_units(text: &str) -> usize {
    text.chars().map(char::len_utf16).sum()
}

#[cfg(test)]
mod tests {
    use forge_text::tokens::estimate_tokens;

    use super::*;

    const PROSE: &str = "The retry policy for payments uses exponential backoff with jitter and a \
        ceiling of thirty seconds. We chose it after the outage in March, when every worker came \
        back at the same moment and the provider answered with an error for another hour.";
    const MARKDOWN: &str = "## Release checklist\n\n- [x] Bump the version in `Cargo.toml`\n\
        - [ ] Run `cargo test` on Linux and macOS\n- [ ] Tag the commit, push the tag, wait for \
        the build\n\nThe changelog is for users: one line for each change they can notice.\n";
    const CODE: &str = "Call the parser once and keep the result:\n\n```rust\nlet document = \
        parse(text);\nfor section in &document.sections {\n    println!(\"{}\", section.title);\n\
        }\n```\n\nIt cannot fail, so there is no error to handle.\n";

    #[test]
    fn exact_counts() {
        fn check(text: &str, o200k: usize, cl100k: usize) {
            assert_eq!(
                count_tokens(Tokenizer::O200k, text),
                o200k,
                "o200k of {text:?}"
            );
            assert_eq!(
                count_tokens(Tokenizer::Cl100k, text),
                cl100k,
                "cl100k of {text:?}"
            );
        }
        check("", 0, 0);
        check("hello", 1, 1);
        check("hello world", 2, 2);
        check("Hello, world!", 4, 4);
        // The two examples of OpenAI's own cookbook.
        check("tiktoken is great!", 6, 6);
        check("antidisestablishmentarianism", 6, 6);
        check("2 + 2 = 4", 7, 7);
        check("お誕生日おめでとう", 8, 9);
        // Control tokens in a user's text are text.
        assert!(count_tokens(Tokenizer::O200k, "<|endoftext|>") > 1);
    }

    #[test]
    fn rules_of_thumb_count_utf16_units_and_round_up() {
        fn check(text: &str, claude: usize, chars4: usize) {
            assert_eq!(count_tokens(Tokenizer::Claude, text), claude, "{text:?}");
            assert_eq!(count_tokens(Tokenizer::Chars4, text), chars4, "{text:?}");
        }
        check("", 0, 0);
        check("a", 1, 1);
        check("abcd", 2, 1);
        check("abcde", 2, 2);
        check("é", 1, 1);
        // One crab is two UTF-16 units.
        check("🦀🦀", 2, 1);
        check("🦀🦀🦀", 2, 2);
    }

    #[test]
    fn estimate_is_near_the_exact_count() {
        fn check(text: &str, tolerance: f64) {
            let exact = count_tokens(Tokenizer::O200k, text) as f64;
            let off = (estimate_tokens(text) as f64 / exact - 1.0) * 100.0;
            assert!(off.abs() <= tolerance, "{off:.1} % off on {text:?}");
        }
        assert_eq!(estimate_tokens(""), 0);
        check(PROSE, 15.0);
        check(MARKDOWN, 15.0);
        check(&[PROSE, MARKDOWN, CODE].join("\n\n"), 15.0);
        // Runs of brackets are single entries of the vocabulary, so that code
        // by itself is overestimated: the safe side for a budget.
        check(CODE, 30.0);
    }
}
