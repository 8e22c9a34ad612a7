//! The encoder against its reference. `reference.json` and `tokens.json` were
//! printed by `pocket-encoder` 0.1.2 and the `tokenizers` crate it uses:
//! token ids, and coordinates times 100,000.

use super::builtin;
use super::kernels::Level;
use super::minilm::MiniLm;
use super::{Embedder, wordpiece::MAX_TOKENS};

#[derive(serde::Deserialize)]
struct Reference {
    text: String,
    ids: Vec<u16>,
    vector: Vec<f32>,
}

fn references() -> Vec<Reference> {
    serde_json::from_str(include_str!("reference.json")).unwrap()
}

fn cosine(a: &[f32], b: &[f32]) -> f64 {
    let dot = |a: &[f32], b: &[f32]| -> f64 {
        a.iter()
            .zip(b)
            .map(|(a, b)| f64::from(*a) * f64::from(*b))
            .sum()
    };
    dot(a, b) / (dot(a, a) * dot(b, b)).sqrt()
}

#[test]
fn token_ids_equal_the_reference() {
    let model = MiniLm::builtin();
    let tricky: Vec<Reference> = serde_json::from_str(include_str!("tokens.json")).unwrap();
    for Reference { text, ids, .. } in references().into_iter().chain(tricky) {
        assert_eq!(model.tokens(&text), ids, "{text:?}");
    }
}

#[test]
fn vectors_equal_the_reference() {
    for Reference { text, vector, .. } in references() {
        let ours = builtin().embed(&text);
        let cosine = cosine(&ours, &vector);
        println!(
            "{cosine:.6} {:?}",
            text.chars().take(50).collect::<String>()
        );
        assert!(cosine >= 0.999, "{cosine} for {text:?}");
    }
}

#[test]
fn every_level_gives_the_same_bits() {
    // All sizes of tiles, and more keys than are scored side by side.
    let texts = [
        "one two three four five",
        "Café crème à Zürich 日本語",
        "a b c d e f g h i j k l m n o",
        "The retry policy uses exponential backoff with jitter, and a ceiling of thirty seconds \
         since the outage in March, when every worker came back at the same moment.",
    ];
    let levels = Level::available();
    println!("{levels:?}");
    for text in texts {
        let expect = MiniLm::with_level(levels[0]).embed(text);
        for &level in &levels[1..] {
            let vector = MiniLm::with_level(level).embed(text);
            assert!(vector == expect, "{level:?} differs on {text:?}");
        }
    }
}

#[test]
fn near_meanings_are_near() {
    let [send, transfer, volcano] =
        ["Send a document", "Transfer a file", "A volcano erupts"].map(|t| builtin().embed(t));
    assert!(cosine(&send, &transfer) > cosine(&send, &volcano) + 0.3);
}

#[test]
fn vectors_have_unit_length() {
    for text in ["a", "word 🦀", &"long ".repeat(300), "\u{0}x\u{301}"] {
        let vector = builtin().embed(text);
        assert_eq!(vector.len(), builtin().dimensions());
        let length: f64 = vector.iter().map(|&x| f64::from(x) * f64::from(x)).sum();
        assert!((length - 1.0).abs() < 1e-5, "{length} for {text:?}");
    }
}

#[test]
fn nothing_known_gives_zero() {
    for text in ["", " \n\t", "\u{0}\u{200b}", "🦀", &"x".repeat(101)] {
        let vector = builtin().embed(text);
        assert_eq!(vector, vec![0.0; builtin().dimensions()], "{text:?}");
    }
}

#[test]
fn control_tokens_in_a_text_are_text() {
    let ids = MiniLm::builtin().tokens("[SEP] [MASK]");
    assert_eq!(
        ids[1..ids.len() - 1].iter().filter(|&&id| id < 104).count(),
        0
    );
}

#[test]
fn text_beyond_the_window_changes_nothing() {
    let window = "word ".repeat(MAX_TOKENS - 2);
    let model = MiniLm::builtin();
    assert_eq!(model.tokens(&window).len(), MAX_TOKENS);
    let longer = format!("{window}more");
    assert_eq!(model.tokens(&window), model.tokens(&longer));
}
