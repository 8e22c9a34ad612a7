use proptest::prelude::*;

use super::*;
use forge_text::document::parse_document;

fn cut(text: &str, most: usize) -> Vec<DocumentPassage> {
    split_into_passages(&parse_document(text), PassageSizes::with_limit(most))
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
fn anchors_of_headings_are_not_part_of_their_names() {
    let (a, b) = (words(60, "alpha"), words(60, "beta"));
    check(
        &format!("# T {{#top}}\n\n## 用法 {{/*use-it*/}}\n\n{a}\n\n## Set {{a, b}}\n\n{b}\n"),
        90,
        &[
            "1-1 T | # T {#top}",
            "3-5 T > 用法 | ## 用法 {/*use-it*/} alpha",
            "7-9 T > Set {a, b} | ## Set {a, b}",
        ],
    );
}

#[test]
fn spaces_in_place_of_tags_are_left_out_at_the_end_of_lines() {
    let blank = " ".repeat(300);
    let all = cut(
        &format!("# T\r\n\r\nfirst  \r\n{blank}\r\nlast{blank}\r\n"),
        90,
    );
    assert_eq!(all[0].text, "# T\r\n\r\nfirst  \r\n\r\nlast");
    assert_eq!(all[0].lines, (1, 5));
}

#[test]
fn a_line_between_two_parts_is_no_passage() {
    let (a, b) = (words(40, "alpha"), words(40, "beta"));
    let text = format!("# T\n\n{a}\n\n---\n\n## B\n\n{b}\n\n---\n\n## C\n\n{a}\n");
    for most in [70, 80, 100] {
        let all = cut(&text, most);
        assert!(all.iter().all(|it| it.text.trim() != "---"), "{all:?}");
    }
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
    let parts: Vec<DocumentPassage> = cut(&text, 120)
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

/// "Front matter alone is never a hit", and "no text is left out".
#[test]
fn front_matter_is_found_with_text_and_never_alone() {
    let tags: String = (0..200).map(|at| format!("- zebra{at}\n")).collect();
    for front in [
        "tags: [zebra0, zebra199]\n".to_owned(),
        format!("tags:\n{tags}"),
    ] {
        let text = format!("---\n{front}---\n# Title\n\n{}\n", words(300, "x"));
        let all = cut(&text, 60);
        for word in ["zebra0", "zebra199"] {
            assert!(all.iter().any(|c| c.text.contains(word)), "{word}: {all:?}");
        }
        for chunk in &all {
            let alone = chunk.text.contains("zebra") && !chunk.text.contains("Title");
            assert!(!alone && chunk.tokens <= 72, "{chunk:?}");
        }
    }
    assert!(cut("---\ntags: [zebra]\n---\n\n", 60).is_empty());
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
            let document = parse_document(text.clone());
            if document.front_matter.is_some() && document.span_text(&document.body).trim().is_empty() {
                continue;
            }
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

/// What is stored with each passage has a limit: the work of a long heading
/// grows with the document, not with the document times its passages.
#[test]
fn a_long_heading_is_not_repeated_with_every_passage() {
    let heading = words(20_000, "läng");
    let text = format!(
        "# {heading}\n\n{}",
        "A paragraph of words.\n\n".repeat(4_000)
    );
    let all = cut(&text, 100);
    assert!(all.len() > 100, "{}", all.len());
    for chunk in &all {
        let stored: usize = chunk.headings.iter().map(String::len).sum();
        assert!(stored <= MAX_NAME_BYTES + NAME_ELLIPSIS.len(), "{stored}");
    }
    assert!(
        all.last()
            .is_some_and(|it| it.headings[0].ends_with(NAME_ELLIPSIS))
    );
    let found = all.iter().map(|it| it.text.matches("läng").count());
    assert_eq!(found.sum::<usize>(), 20_000, "all of it is still found");
}

#[test]
fn the_innermost_heading_is_kept_longest() {
    let mut path = ["a".repeat(400), "b".repeat(300), "c".repeat(200)];
    limit_headings(&mut path);
    assert_eq!(path[2], "c".repeat(200));
    assert_eq!(path[1], "b".repeat(300));
    assert_eq!(path[0], format!("{}{NAME_ELLIPSIS}", "a".repeat(9)));
}

/// An endless word is one token by estimate; its bytes count as well.
#[test]
fn opening_lines_of_endless_words_are_not_repeated() {
    let word = "x".repeat(50_000);
    for text in [
        format!("| {word} | b |\n|---|---|\n{}", "| a | b |\n".repeat(5_000)),
        format!("```{word}\n{}```\n", "let a = b;\n".repeat(5_000)),
        format!("{}\n", "x".repeat(300_000)),
    ] {
        let all = cut(&text, 100);
        let stored: usize = all.iter().map(|it| it.text.len()).sum();
        assert!(stored < text.len() * 3, "{stored} of {}", text.len());
        assert!(all.iter().all(|it| it.text.len() <= 100 * MAX_TOKEN_BYTES));
    }
}
