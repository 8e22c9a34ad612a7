//! The encoder against its reference. `training/reference.py` wrote
//! `reference.json` and `tokens.json` from the same 4-bit weights with numpy
//! and the `tokenizers` library: token ids, and coordinates times 100,000.
//! It rounds no activations, which is what the tolerance is for.

use super::builtin_embedder;
use super::encoder::BertEncoder;
use super::kernels::SimdLevel;
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
    serde_json::from_str(include_str!("../model/reference.json")).unwrap()
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
    let model = BertEncoder::builtin();
    let tricky: Vec<Reference> =
        serde_json::from_str(include_str!("../model/tokens.json")).unwrap();
    for Reference { text, ids, .. } in references().into_iter().chain(tricky) {
        assert_eq!(model.tokens(&text), ids, "{text:?}");
    }
}

#[test]
fn vectors_equal_the_reference() {
    for reference in references() {
        let text = &reference.text;
        for (ours, theirs) in [
            (builtin_embedder().embed(text), &reference.vector),
            (builtin_embedder().embed_query(text), &reference.question),
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
    let file = include_bytes!("../model/forge-3-6x384.bin");
    let sum: String = Sha256::digest(file)
        .iter()
        .map(|byte| format!("{byte:02x}"))
        .collect();
    let card = include_str!("../model/MODEL.md");
    for fact in [&sum, &file.len().to_string(), builtin_embedder().id()] {
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
    let levels = SimdLevel::available();
    println!("{levels:?}");
    for text in texts {
        let plain = BertEncoder::with_level(levels[0]);
        for &level in &levels[1..] {
            let wide = BertEncoder::with_level(level);
            let same = plain.embed(text) == wide.embed(text)
                && plain.embed_query(text) == wide.embed_query(text);
            assert!(same, "{level:?} differs on {text:?}");
        }
    }
}

/// An index may be built on one machine and searched on another, so every
/// processor has to give the bits that this digest was made from.
#[test]
fn vectors_have_the_same_bits_on_every_processor() {
    const DIGEST: &str = "75eacea9d72a12695d5419d03c5faba8ee0126213b35f14d950c7a23d7c00168";
    // One token, all sizes of tiles, accents that are taken apart, signs and
    // scripts that are not in the vocabulary, and more than the window.
    let long = "Every worker retries with jitter, up to thirty seconds. ".repeat(40);
    let texts = [
        "a",
        "Where do the database backups live?",
        "Café crème à Zürich, 日本語, 🦀",
        "def area(radius): return math.pi * radius ** 2  # 0x7f",
        "The retry policy uses exponential backoff with jitter, and a ceiling of thirty seconds \
         since the outage in March, when every worker came back at the same moment.",
        &long,
    ];
    for level in SimdLevel::available() {
        let encoder = BertEncoder::with_level(level);
        let mut hasher = blake3::Hasher::new();
        for text in texts {
            for vector in [encoder.embed(text), encoder.embed_query(text)] {
                for number in vector {
                    hasher.update(&number.to_bits().to_le_bytes());
                }
            }
        }
        println!("{level:?}");
        assert_eq!(hasher.finalize().to_hex().as_str(), DIGEST, "{level:?}");
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
        let vector = builtin_embedder().embed_query(text);
        let [near, far] = [near, far].map(|t| builtin_embedder().embed(t));
        let (near, far) = (cosine(&vector, &near), cosine(&vector, &far));
        assert!(near > far + 0.12, "{near} and {far} for {text:?}");
    }
}

#[test]
fn vectors_have_unit_length() {
    for text in ["a", "word 🦀", &"long ".repeat(300), "\u{0}x\u{301}"] {
        for vector in [
            builtin_embedder().embed(text),
            builtin_embedder().embed_query(text),
        ] {
            assert_eq!(vector.len(), builtin_embedder().dimensions());
            let length: f64 = vector.iter().map(|&x| f64::from(x) * f64::from(x)).sum();
            assert!((length - 1.0).abs() < 1e-5, "{length} for {text:?}");
        }
    }
}

#[test]
fn nothing_known_gives_zero() {
    for text in ["", " \n\t", "\u{0}\u{200b}", "🦀", &"x".repeat(101)] {
        for vector in [
            builtin_embedder().embed(text),
            builtin_embedder().embed_query(text),
        ] {
            assert_eq!(
                vector,
                vec![0.0; builtin_embedder().dimensions()],
                "{text:?}"
            );
        }
    }
}

#[test]
fn control_tokens_in_a_text_are_text() {
    let ids = BertEncoder::builtin().tokens("[SEP] [MASK]");
    assert_eq!(
        ids[1..ids.len() - 1].iter().filter(|&&id| id < 3).count(),
        0
    );
}

#[test]
fn text_beyond_the_window_changes_nothing() {
    let window = "word ".repeat(MAX_TOKENS - 2);
    let model = BertEncoder::builtin();
    assert_eq!(model.tokens(&window).len(), MAX_TOKENS);
    let longer = format!("{window}more");
    assert_eq!(model.tokens(&window), model.tokens(&longer));
}

fn file() -> Vec<u8> {
    include_bytes!("../model/forge-3-6x384.bin").to_vec()
}

/// Where a section lies in the file.
fn section(file: &[u8], name: &str) -> std::ops::Range<usize> {
    let entries = file[16..].as_chunks::<32>().0;
    let entry = entries.iter().find(|entry| {
        let rest = entry[..24].strip_prefix(name.as_bytes());
        rest.is_some_and(|rest| rest.iter().all(|&byte| byte == 0))
    });
    let entry = entry.unwrap();
    let number = |at: usize| u32::from_le_bytes(*entry[at..].first_chunk().unwrap()) as usize;
    number(24)..number(24) + number(28)
}

#[test]
fn the_built_in_model_as_a_file_gives_the_same_vectors_under_another_id() {
    let model = super::embedder_from_file(&file()).unwrap();
    assert!(model.id().starts_with("file-"), "{}", model.id());
    assert_eq!(
        model.unrelated_cosine(),
        builtin_embedder().unrelated_cosine()
    );
    let text = "The gateway retries a payment three times.";
    assert_eq!(model.embed(text), builtin_embedder().embed(text));
    assert_eq!(
        model.embed_query(text),
        builtin_embedder().embed_query(text)
    );
}

#[test]
fn a_file_that_is_no_sound_model_is_an_error_that_says_what_is_wrong() {
    fn check(change: impl Fn(&mut Vec<u8>), expect: &str) {
        let mut bytes = file();
        change(&mut bytes);
        let error = super::embedder_from_file(&bytes)
            .err()
            .map(|it| it.to_string());
        assert_eq!(error.as_deref(), Some(expect));
    }
    let put = |bytes: &mut Vec<u8>, name: &str, new: &[u8]| {
        let at = section(bytes, name).start;
        bytes[at..at + new.len()].copy_from_slice(new);
    };
    check(Vec::clear, "it is not a model file of this program");
    for length in [15, 999, 100_000, 1_000_000, 15_000_000] {
        check(|it| it.truncate(length), "it is cut short");
    }
    check(
        // Of the first section, which is that of the vocabulary's text.
        |it| it[16] = b'x',
        "it has no section `vocab.text`",
    );
    // A table without an end would be searched for ever.
    check(
        |it| {
            let slots = section(it, "vocab.slots");
            it[slots].fill(0);
        },
        "its section `vocab.slots` contains invalid values",
    );
    check(
        |it| put(it, "vocab.starts", &[1]),
        "its section `vocab.starts` contains invalid values",
    );
    check(
        |it| put(it, "classes", &[255; 4]),
        "its section `classes` contains invalid values",
    );
    check(
        |it| put(it, "q.2.up.scales", &[0xff, 0x7f]),
        "its section `q.2` contains invalid values",
    );
    check(
        |it| put(it, "d.norm.gain", &f32::NAN.to_le_bytes()),
        "its section `d` contains invalid values",
    );
}

#[test]
fn bytes_that_were_changed_anywhere_give_an_error_or_finite_vectors() {
    let sound = file();
    let mut seed = 5u64;
    let mut random = |below: usize| {
        seed = seed.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1);
        (seed >> 33) as usize % below
    };
    for round in 0..24 {
        let mut bytes = sound.clone();
        // The table and what follows it, the vocabulary, are the touchy parts.
        let reach = [64, 4_000, 700_000, sound.len()][round % 4];
        for _ in 0..8 {
            bytes[random(reach)] = random(256) as u8;
        }
        if let Ok(model) = super::embedder_from_file(&bytes) {
            let vector = model.embed("What was decided about the ledger?");
            assert!(vector.iter().all(|x| x.is_finite()), "round {round}");
        }
    }
}
