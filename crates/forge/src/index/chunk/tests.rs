use proptest::prelude::*;

use super::*;
use crate::document::parse;

fn cut(text: &str, most: usize) -> Vec<Chunk> {
    chunks(&parse(text), Sizes::up_to(most))
}

/// Passages as `first-last heading > path | first words`.
fn check(text: &str, most: usize, expect: &[&str]) {
    let got: Vec<String> = cut(text, most)
        .iter()
        .map(|c| {
            let words: Vec<&str> = c.text.split_whitespace().take(4).collect();
            let (first, last) = c.lines;
            format!(
                "{first}-{last} {} | {}",
                c.headings.join(" > "),
                words.join(" ")
            )
        })
        .collect();
    assert_eq!(got, expect, "{text}");
}

fn words(n: usize, word: &str) -> String {
    format!("{word} ").repeat(n)
}

#[test]
fn a_small_document_is_one_passage() {
    check(
        "# A\n\ntext\n\n## B\n\nmore\n",
        500,
        &["1-7 A | # A text ##"],
    );
}

#[test]
fn sections_become_passages_with_their_heading_path() {
    let (a, b, c) = (words(60, "alpha"), words(60, "beta"), words(60, "gamma"));
    let text = format!("# T\n\nintro\n\n## One\n\n{a}\n\n### Deep\n\n{b}\n\n## Two\n\n{c}\n");
    check(
        &text,
        140,
        &[
            "1-3 T | # T intro",
            "5-7 T > One | ## One alpha alpha",
            "9-11 T > One > Deep | ### Deep beta beta",
            "13-15 T > Two | ## Two gamma gamma",
        ],
    );
}

#[test]
fn k8_text_before_the_first_heading_is_kept() {
    let text = format!("before everything\n\n## One\n\n{}\n", words(200, "x"));
    let all = cut(&text, 60);
    assert!(all[0].text.contains("before everything"), "{all:?}");
}

#[test]
fn k8_duplicate_headings_survive() {
    let text = format!(
        "## Same\n\nfirst {}\n\n## Same\n\nsecond {}\n",
        words(80, "x"),
        words(80, "y")
    );
    let all = cut(&text, 100);
    let with = |w: &str| all.iter().any(|c| c.text.contains(w));
    assert!(with("first") && with("second"), "{all:?}");
}

#[test]
fn k8_a_heading_inside_a_fence_starts_nothing() {
    let text = format!(
        "## Real\n\n```sh\n# not a heading\n```\n\n{}\n",
        words(80, "x")
    );
    for chunk in cut(&text, 60) {
        assert_eq!(chunk.headings, ["Real"]);
    }
}

#[test]
fn k8_a_line_of_ten_thousand_characters_is_cut_and_kept() {
    let line: String = (0..1500).map(|i| format!("word{i} ")).collect();
    let all = cut(&line, 100);
    let joined: String = all
        .iter()
        .map(|c| c.text.as_str())
        .collect::<Vec<_>>()
        .join(" ");
    for i in 0..1500 {
        assert!(
            joined.contains(&format!("word{i} ")) || joined.ends_with(&format!("word{i}")),
            "word{i}"
        );
    }
    assert!(all.iter().all(|c| c.tokens <= 100));
}

#[test]
fn a_long_code_block_is_fenced_again_in_every_part() {
    let code: String = (0..200)
        .map(|i| format!("let value_{i} = compute({i});\n"))
        .collect();
    let text = format!("## Code\n\n```rust\n{code}```\n");
    let parts: Vec<Chunk> = cut(&text, 120)
        .into_iter()
        .filter(|c| c.text.contains("value_"))
        .collect();
    assert!(parts.len() > 3);
    for part in &parts {
        assert!(
            part.text.starts_with("```rust\n") && part.text.ends_with("```"),
            "{}",
            part.text
        );
    }
    assert!(
        parts.windows(2).all(|w| w[0].lines.1 < w[1].lines.0),
        "{parts:?}"
    );
}

#[test]
fn a_long_table_repeats_its_header() {
    let rows: String = (0..100)
        .map(|i| format!("| key{i} | value number {i} |\n"))
        .collect();
    let text = format!("| Key | Meaning |\n|---|---|\n{rows}");
    let parts = cut(&text, 100);
    assert!(parts.len() > 3);
    for part in &parts {
        assert!(
            part.text.starts_with("| Key | Meaning |\n|---|---|\n"),
            "{}",
            part.text
        );
    }
}

#[test]
fn front_matter_can_be_found() {
    let text = format!("---\ntags: [zebra]\n---\n# T\n\n{}\n", words(300, "x"));
    assert!(cut(&text, 60).iter().any(|c| c.text.contains("zebra")));
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(200))]

    #[test]
    fn every_word_lands_in_some_passage_and_none_is_too_large(
        parts in proptest::collection::vec(
            prop_oneof![
                Just("# Head\n\n".to_owned()), Just("## Sub\n\n".to_owned()), Just("```\n".to_owned()),
                Just("> quote\n".to_owned()), Just("- item\n".to_owned()), Just("| a | b |\n|---|---|\n| c | d |\n".to_owned()),
                Just("\n\n".to_owned()), Just("---\n".to_owned()), Just("<!-- note -->\n".to_owned()),
                "[a-z]{1,12}( [a-z]{1,12}){0,40}\n", "[\\PC]{0,60}\n",
            ],
            0..30,
        ),
        most in 20usize..200,
    ) {
        let marked: String = parts.iter().enumerate().map(|(i, p)| format!("mark{i}x {p}")).collect();
        for text in [parts.concat(), marked] {
            let all = cut(&text, most);
            for word in text.split_whitespace().filter(|w| w.chars().all(|c| c.is_ascii_alphanumeric())) {
                prop_assert!(all.iter().any(|c| c.text.contains(word)), "{word} of {text:?} is lost");
            }
            for chunk in &all {
                prop_assert!(chunk.tokens <= most + 12, "{} tokens of {most}: {:?}", chunk.tokens, chunk.text);
                prop_assert!(chunk.lines.0 >= 1 && chunk.lines.0 <= chunk.lines.1);
            }
        }
    }
}
