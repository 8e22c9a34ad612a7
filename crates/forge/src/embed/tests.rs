//! The encoder against its reference. `training/reference.py` wrote
//! `reference.json` and `tokens.json` from the same 4-bit weights with numpy
//! and the `tokenizers` library: token ids, and coordinates times 100,000.
//! It rounds no activations, which is what the tolerance is for.

use super::builtin;
use super::encoder::Encoder;
use super::kernels::Level;
use super::{Embedder, wordpiece::MAX_TOKENS};

#[derive(serde::Deserialize)]
struct Reference {
    text: String,
    ids: Vec<u16>,
    /// As a passage, and as a question.
    #[serde(default)]
    vector: Vec<f32>,
    #[serde(default)]
    question: Vec<f32>,
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
    let model = Encoder::builtin();
    let tricky: Vec<Reference> = serde_json::from_str(include_str!("tokens.json")).unwrap();
    for Reference { text, ids, .. } in references().into_iter().chain(tricky) {
        assert_eq!(model.tokens(&text), ids, "{text:?}");
    }
}

#[test]
fn vectors_equal_the_reference() {
    for reference in references() {
        let text = &reference.text;
        for (ours, theirs) in [
            (builtin().embed(text), &reference.vector),
            (builtin().embed_query(text), &reference.question),
        ] {
            let cosine = cosine(&ours, theirs);
            println!(
                "{cosine:.6} {:?}",
                text.chars().take(50).collect::<String>()
            );
            assert!(cosine >= 0.999, "{cosine} for {text:?}");
        }
    }
}

#[test]
fn the_card_is_that_of_the_file() {
    use sha2::{Digest, Sha256};
    let file = include_bytes!("forge-3-6x384.bin");
    let sum: String = Sha256::digest(file)
        .iter()
        .map(|byte| format!("{byte:02x}"))
        .collect();
    let card = include_str!("MODEL.md");
    for fact in [&sum, &file.len().to_string(), builtin().id()] {
        assert!(card.contains(&format!("`{fact}`")), "the card lacks {fact}");
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
        let plain = Encoder::with_level(levels[0]);
        for &level in &levels[1..] {
            let wide = Encoder::with_level(level);
            let same = plain.embed(text) == wide.embed(text)
                && plain.embed_query(text) == wide.embed_query(text);
            assert!(same, "{level:?} differs on {text:?}");
        }
    }
}

/// Unrelated texts of this model have a cosine of some 0.6, not of nothing.
#[test]
fn near_meanings_are_near() {
    for [text, near, far] in [
        ["Send a document", "Transfer a file", "A volcano erupts"],
        [
            "how do we retry a payment that failed",
            "Charges are attempted again with exponential backoff",
            "The office plants are watered on Fridays",
        ],
        [
            "Where do the database backups live?",
            "Nightly dumps of Postgres are kept in the archive bucket",
            "She likes hiking in the Alps",
        ],
        [
            "read a file line by line",
            "with open(path) as f: for line in f: yield line",
            "def area(radius): return math.pi * radius ** 2",
        ],
    ] {
        let vector = builtin().embed_query(text);
        let [near, far] = [near, far].map(|t| builtin().embed(t));
        let (near, far) = (cosine(&vector, &near), cosine(&vector, &far));
        assert!(near > far + 0.12, "{near} and {far} for {text:?}");
    }
}

#[test]
fn vectors_have_unit_length() {
    for text in ["a", "word 🦀", &"long ".repeat(300), "\u{0}x\u{301}"] {
        for vector in [builtin().embed(text), builtin().embed_query(text)] {
            assert_eq!(vector.len(), builtin().dimensions());
            let length: f64 = vector.iter().map(|&x| f64::from(x) * f64::from(x)).sum();
            assert!((length - 1.0).abs() < 1e-5, "{length} for {text:?}");
        }
    }
}

#[test]
fn nothing_known_gives_zero() {
    for text in ["", " \n\t", "\u{0}\u{200b}", "🦀", &"x".repeat(101)] {
        for vector in [builtin().embed(text), builtin().embed_query(text)] {
            assert_eq!(vector, vec![0.0; builtin().dimensions()], "{text:?}");
        }
    }
}

#[test]
fn control_tokens_in_a_text_are_text() {
    let ids = Encoder::builtin().tokens("[SEP] [MASK]");
    assert_eq!(
        ids[1..ids.len() - 1].iter().filter(|&&id| id < 3).count(),
        0
    );
}

#[test]
fn text_beyond_the_window_changes_nothing() {
    let window = "word ".repeat(MAX_TOKENS - 2);
    let model = Encoder::builtin();
    assert_eq!(model.tokens(&window).len(), MAX_TOKENS);
    let longer = format!("{window}more");
    assert_eq!(model.tokens(&window), model.tokens(&longer));
}
