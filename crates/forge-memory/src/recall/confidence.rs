//! How likely a hit answers the question: a number from 0 to 1 that means the
//! same for every question, and the label that people and agents see.
//!
//! The score of a hit is relative to the best hit of its question, so it shows
//! nothing about whether there is an answer at all. The confidence is a
//! logistic model over a few signals, each of which can only raise it.
//! `cargo xtask bench answers` fits the weights and reports on the trees that
//! were not used for the fit; `docs/retrieval.md` has the figures.

use std::collections::HashMap;
use std::ops::Range;

use serde::{Deserialize, Serialize};

use super::{ParsedQuestion, RankEvidence, RecallAnswer, RecallHit, RecallMode, fuse};
use crate::index::idf;

/// Label for how likely a hit answers the query.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Default, Serialize, Deserialize)]
pub enum ConfidenceLabel {
    /// Shares words or meaning with the question and probably does not answer it.
    #[default]
    Weak,
    /// May answer it, or a part of it.
    Partial,
    /// Answers it in nine of ten cases.
    Strong,
}

impl ConfidenceLabel {
    /// Returns the name that people and programs read.
    pub fn name(self) -> &'static str {
        match self {
            ConfidenceLabel::Strong => "strong",
            ConfidenceLabel::Partial => "partial",
            ConfidenceLabel::Weak => "weak",
        }
    }

    /// Returns the label of a confidence.
    pub fn of(confidence: f32) -> ConfidenceLabel {
        match confidence {
            c if c >= STRONG => ConfidenceLabel::Strong,
            c if c >= PARTIAL => ConfidenceLabel::Partial,
            _ => ConfidenceLabel::Weak,
        }
    }
}

/// From this confidence on a hit is strong, or partial.
const STRONG: f32 = 0.7;
const PARTIAL: f32 = 0.35;
/// From this confidence on a hit is worth a line without a request.
/// `cargo xtask bench answers --pointers` shows how often it is right then.
const CERTAIN: f32 = 0.85;
/// Below this confidence of its best hit an answer is noise.
const NOISE: f32 = 0.13;
const BY_MEANING_ALONE: f32 = 0.7;
/// What a hit reaches at most where a token that looks like code is in no
/// document.
const CAPPED: f32 = STRONG - 0.01;

/// Number of nearest passages that the best one is compared with.
const CROWD: usize = 20;
/// The span of text in which words count as being together: about two
/// sentences.
const SPAN_BYTES: usize = 200;
/// Nats of rare words that count as much, on a scale that saturates.
const INFORMATION: f32 = 6.0;
/// The share of a compound's weight that its parts have together: a passage
/// with `retry` and `policy` is not one with `retry_policy`.
const PARTS: f32 = 0.4;

/// Evidence for a hit, each value from 0 to 1.
#[derive(Debug, Clone, Copy, PartialEq, Default, Serialize, Deserialize)]
pub struct HitSignals {
    /// Share of the question's terms in the passage, its headings and title,
    /// weighed by rarity: a term that no document has weighs most.
    pub coverage: f32,
    /// The same for the best stretch of [`SPAN_BYTES`].
    pub together: f32,
    /// The same for headings and title alone.
    pub headings: f32,
    /// Information of the terms that were found: a single common word is always
    /// covered and carries none.
    pub information: f32,
    /// BM25 as a share of what an ideal passage would score.
    pub strength: f32,
    /// Cosine on the scale from unrelated to the same.
    pub nearness: f32,
    /// Distance of the cosine from those of the next passages.
    pub standout: f32,
    /// How far the score is above that of the best other document, from 0 for
    /// a hit far below it, through 0.5 for an equal one, to 1.
    pub margin: f32,
    /// Whether words and meaning agree on its place.
    pub agreement: f32,
}

impl HitSignals {
    /// The names of the signals, in the order of their fields.
    pub const NAMES: [&'static str; 9] = [
        "coverage",
        "together",
        "headings",
        "information",
        "strength",
        "nearness",
        "standout",
        "margin",
        "agreement",
    ];

    /// Returns the signals in the order of [`HitSignals::NAMES`].
    pub fn values(&self) -> [f32; 9] {
        [
            self.coverage,
            self.together,
            self.headings,
            self.information,
            self.strength,
            self.nearness,
            self.standout,
            self.margin,
            self.agreement,
        ]
    }

    /// Returns the confidence by words and meaning.
    fn by_both(&self) -> f32 {
        WITH_VECTORS.confidence(self)
    }

    /// Returns the confidence by words alone.
    fn by_words(&self) -> f32 {
        WORDS_ALONE.confidence(self)
    }
}

/// A logistic model. No weight is negative, so that a hit never loses by
/// holding more of the question.
struct LogisticModel {
    bias: f32,
    weights: [f32; 9],
}

impl LogisticModel {
    fn confidence(&self, signals: &HitSignals) -> f32 {
        let sum: f32 = signals
            .values()
            .iter()
            .zip(self.weights)
            .map(|(x, w)| x * w)
            .sum();
        1.0 / (1.0 + (-self.bias - sum).exp())
    }
}

/// Weights in the order of [`HitSignals::NAMES`], from `cargo xtask bench answers
/// --fit`.
const WITH_VECTORS: LogisticModel = LogisticModel {
    bias: -4.94,
    weights: [1.06, 1.07, 1.9, 0.65, 0.0, 4.29, 2.47, 1.27, 0.47],
};
/// The same where there are no vectors; the signals of vectors have no weight.
const WORDS_ALONE: LogisticModel = LogisticModel {
    bias: -5.16,
    weights: [1.33, 1.78, 2.54, 1.5, 1.29, 0.0, 0.0, 1.22, 0.0],
};

/// Weights of the words of a query, computed once for all hits.
pub(super) struct QuestionScale<'a> {
    question: &'a ParsedQuestion,
    /// Weight of each term, in the order of `question.terms`, by its rarity.
    worth: Vec<f32>,
    /// The same for terms that some document has.
    known: Vec<f32>,
    ideal: f32,
    mode: RecallMode,
    /// Reliability of a cosine for this query, from 0 to 1.
    trust: f32,
    unrelated: f32,
    /// Cosine of the passage that is the end of the crowd.
    crowd: f32,
    /// Whether every passage has a vector.
    is_embedded: bool,
}

/// Facts about an answer, apart from its hits.
pub(super) struct AnswerContext<'a> {
    pub(super) passages: usize,
    pub(super) holding: &'a [(String, usize)],
    pub(super) ideal: f32,
    pub(super) vector: &'a [(u32, f32)],
    pub(super) mode: RecallMode,
    pub(super) trust: f32,
    pub(super) unrelated: f32,
    pub(super) is_embedded: bool,
}

impl<'a> QuestionScale<'a> {
    pub(super) fn new(question: &'a ParsedQuestion, found: &AnswerContext) -> QuestionScale<'a> {
        let holding: HashMap<&str, usize> = found
            .holding
            .iter()
            .map(|(term, n)| (term.as_str(), *n))
            .collect();
        let words = question.query_words();
        let mut worth = vec![0.0; question.terms.len()];
        let mut known = vec![0.0; question.terms.len()];
        for token in &question.tokens {
            let share = match token.terms.len() {
                0 | 1 => 0.0,
                n => PARTS / (n - 1) as f32,
            };
            for (nth, at) in token.terms.iter().enumerate() {
                let share = match (nth, token.terms.len()) {
                    (_, 1) => 1.0,
                    (0, _) => 1.0 - PARTS,
                    _ => share,
                };
                let held = holding
                    .get(question.terms[*at].as_str())
                    .copied()
                    .unwrap_or(0);
                let rarity = share * words.term_weight(*at) * idf(found.passages, held);
                worth[*at] = f32::max(worth[*at], rarity);
                if held > 0 {
                    known[*at] = worth[*at];
                }
            }
        }
        let crowd = found.vector.get(CROWD - 1).or(found.vector.last());
        QuestionScale {
            question,
            // A search by vectors alone does not count terms.
            known: if found.holding.is_empty() {
                worth.clone()
            } else {
                known
            },
            worth,
            ideal: found.ideal,
            mode: found.mode,
            trust: found.trust,
            unrelated: found.unrelated,
            crowd: crowd.map_or(found.unrelated, |it| it.1.min(found.vector[0].1)),
            is_embedded: found.is_embedded,
        }
    }

    /// Whether an identifier of the question is in a text as it was typed.
    pub(super) fn has_identifier(&self, marks: &[(Range<usize>, usize)]) -> bool {
        let codes = self.question.tokens.iter().filter(|it| it.is_code());
        let mut wholes = codes.filter_map(|it| it.terms.first());
        wholes.any(|whole| marks.iter().any(|(_, at)| at == whole))
    }

    /// Returns what speaks for a hit, of which `marks` are the places of terms
    /// in its text. `other` is the best score of another document.
    pub(super) fn signals(
        &self,
        hit: &RecallHit,
        marks: &[(Range<usize>, usize)],
        other: f32,
    ) -> HitSignals {
        let evidence = &hit.evidence;
        let mut in_headings = vec![false; self.worth.len()];
        let headings = hit.passage.headings.iter().chain([&hit.passage.title]);
        let mut terms = crate::index::terms::TermSplitter::default();
        for heading in headings {
            terms.for_each_term(heading, |term| {
                if let Some(at) = self.question.terms.iter().position(|it| it == term) {
                    in_headings[at] = true;
                }
            });
        }
        let mut held = in_headings.clone();
        marks.iter().for_each(|(_, at)| held[*at] = true);
        let top = hit.score.max(other).max(f32::MIN_POSITIVE);
        HitSignals {
            coverage: self.share(&held),
            together: self.together(marks),
            headings: self.share(&in_headings),
            information: 1.0 - (-self.sum(&held) / INFORMATION).exp(),
            strength: match self.ideal {
                ideal if ideal > 0.0 => (evidence.bm25 / ideal).clamp(0.0, 1.0),
                _ => 0.0,
            },
            nearness: fuse::scale_nearness(evidence.cosine, self.unrelated).clamp(0.0, 1.0),
            standout: match evidence.vector_rank {
                Some(_) => {
                    ((evidence.cosine - self.crowd) / (1.0 - self.unrelated)).clamp(0.0, 1.0)
                }
                None => 0.0,
            },
            margin: (0.5 + (hit.score - other) / top / 2.0).clamp(0.0, 1.0),
            agreement: match (evidence.text_rank, evidence.vector_rank) {
                (Some(a), Some(b)) => 1.0 / ((a * b) as f32).sqrt(),
                _ => 0.0,
            },
        }
    }

    /// Returns the confidence of a hit.
    pub(super) fn confidence(&self, signals: &HitSignals, evidence: &RankEvidence) -> f32 {
        let has_vector = evidence.vector_rank.is_some() || self.is_embedded;
        let words = signals.by_words();
        if self.mode == RecallMode::Text || !has_vector {
            return words;
        }
        self.trust * signals.by_both() + (1.0 - self.trust) * words
    }

    fn sum(&self, held: &[bool]) -> f32 {
        let worth = self.known.iter().zip(held);
        worth.filter(|it| *it.1).map(|it| it.0).sum()
    }

    fn share(&self, held: &[bool]) -> f32 {
        let all: f32 = self.worth.iter().sum();
        if all <= 0.0 {
            return 0.0;
        }
        let worth = self.worth.iter().zip(held);
        (worth.filter(|it| *it.1).map(|it| it.0).sum::<f32>() / all).min(1.0)
    }

    /// Returns the largest share of the question in any stretch of the text.
    fn together(&self, marks: &[(Range<usize>, usize)]) -> f32 {
        let all: f32 = self.worth.iter().sum();
        if all <= 0.0 {
            return 0.0;
        }
        let mut counts = vec![0u32; self.worth.len()];
        let (mut first, mut held, mut most) = (0, 0.0f32, 0.0f32);
        for (last, (place, at)) in marks.iter().enumerate() {
            counts[*at] += 1;
            if counts[*at] == 1 {
                held += self.worth[*at];
            }
            // A term of a long address has the place of the whole address,
            // which may be longer than a stretch: it stays as the only one.
            while first < last && place.end.saturating_sub(marks[first].0.start) > SPAN_BYTES {
                let gone = marks[first].1;
                counts[gone] -= 1;
                if counts[gone] == 0 {
                    held -= self.worth[gone];
                }
                first += 1;
            }
            most = most.max(held);
        }
        (most / all).clamp(0.0, 1.0)
    }
}

/// Lowers every hit below strong where the question names something that no
/// document has.
pub(super) fn cap(answer: &mut RecallAnswer) {
    if !answer.missing.is_empty() {
        for hit in &mut answer.hits {
            hit.confidence = hit.confidence.min(CAPPED);
        }
    }
}

/// Raises a hit that contains the exact string of the query.
pub(super) fn raise(confidence: f32, is_best: bool) -> f32 {
    confidence.max(if is_best { STRONG } else { PARTIAL })
}

/// Returns the best hit of an answer if it answers the question with so little
/// doubt that it can be pointed to without a request: words and meaning were
/// both compared, the document is current, and nothing in the question is
/// unknown to the documents.
pub fn find_certain_hit(answer: &RecallAnswer) -> Option<&RecallHit> {
    let hit = answer.hits.first()?;
    let is_compared = answer.mode == RecallMode::Hybrid && !answer.lacks_vectors();
    let is_current = hit.replaced_by.is_none() && hit.corrections.is_empty();
    let is_certain = hit.confidence >= CERTAIN && hit.evidence.text_rank.is_some();
    let is_clean = hit.order.is_none() && answer.missing.is_empty() && !answer.is_noise;
    (is_compared && is_current && is_certain && is_clean).then_some(hit)
}

/// Number of documents that are listed if nothing is relevant.
const NEAREST: usize = 2;

/// Withholds the hits of an answer that is noise and keeps the nearest ones of
/// different documents, for their titles. An answer with one hit that holds
/// the whole query is never withheld.
pub fn withhold_noise(answer: &mut RecallAnswer) {
    if !answer.is_noise {
        return;
    }
    answer.withheld = answer.hits.len() + answer.more;
    answer.more = 0;
    answer.corrections.clear();
    for hit in std::mem::take(&mut answer.hits) {
        let is_new = |other: &RecallHit| other.passage.path != hit.passage.path;
        if answer.nearest.len() < NEAREST && answer.nearest.iter().all(is_new) {
            answer.nearest.push(hit);
        }
    }
}

/// Returns `true` if none of the hits of an answer is relevant.
pub(super) fn is_noise(answer: &RecallAnswer) -> bool {
    // What meaning alone found has passed a floor of its own, and has no words
    // that could speak for it.
    let floor = |hit: &RecallHit| match hit.evidence.text_rank {
        Some(_) => NOISE,
        None => NOISE * BY_MEANING_ALONE,
    };
    let is_noise = |hit: &RecallHit| hit.confidence < floor(hit) && !hit.is_literal;
    // A query of vectors alone wants whatever is nearest.
    answer.mode != RecallMode::Vector && !answer.hits.is_empty() && answer.hits.iter().all(is_noise)
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    fn signals(values: &[f32]) -> HitSignals {
        HitSignals {
            coverage: values[0],
            together: values[1],
            headings: values[2],
            information: values[3],
            strength: values[4],
            nearness: values[5],
            standout: values[6],
            margin: values[7],
            agreement: values[8],
        }
    }

    proptest! {
        /// More of anything that speaks for a hit never lowers its confidence.
        #[test]
        fn confidence_never_falls_when_a_signal_rises(
            values in proptest::collection::vec(0f32..=1.0, 9),
            at in 0usize..9,
            more in 0f32..=1.0,
        ) {
            let before = signals(&values);
            prop_assert_eq!(before.values().to_vec(), values.clone());
            let mut risen = values;
            risen[at] = risen[at].max(more);
            let after = signals(&risen);
            for (a, b) in [
                (before.by_both(), after.by_both()),
                (before.by_words(), after.by_words()),
            ] {
                prop_assert!(b >= a, "{a} {b}");
                prop_assert!((0.0..=1.0).contains(&b));
            }
        }
    }

    #[test]
    fn all_or_nothing_is_strong_or_noise() {
        let all = signals(&[1.0; 9]);
        let none = signals(&[0.0; 9]);
        for confidence in [all.by_both(), all.by_words()] {
            assert_eq!(ConfidenceLabel::of(confidence), ConfidenceLabel::Strong);
        }
        for confidence in [none.by_both(), none.by_words()] {
            assert!(confidence < NOISE);
        }
    }

    /// How a passage is judged by words for a question, in an index in which
    /// each term is in so many of a thousand passages.
    fn judged(question: &str, held: &[usize], text: &str) -> HitSignals {
        let question = ParsedQuestion::read(question);
        let holding = question.terms.iter().cloned().zip(held.iter().copied());
        let holding: Vec<(String, usize)> = holding.collect();
        let found = AnswerContext {
            passages: 1000,
            holding: &holding,
            ideal: 0.0,
            vector: &[],
            mode: RecallMode::Text,
            trust: 1.0,
            unrelated: 0.5,
            is_embedded: false,
        };
        let marks = super::super::snippet::marks(text, &question);
        let passage = crate::index::StoredPassage {
            chunk: 0,
            file: 0,
            path: "knowledge/a.md".to_owned(),
            title: String::new(),
            scope: "knowledge".to_owned(),
            kind: crate::index::DocumentKind::Knowledge,
            date: None,
            importance: 5,
            standing: crate::index::DocumentStanding::Current,
            ordinal: 0,
            headings: Vec::new(),
            lines: (1, 1),
            tokens: 1,
            text: text.to_owned(),
        };
        let hit = super::super::build_hit(passage, RankEvidence::default(), 0.0, 0.0, &question);
        QuestionScale::new(&question, &found).signals(&hit, &marks, 0.0)
    }

    #[test]
    fn rare_terms_decide_coverage() {
        let question = "the kubernetes port";
        let rare = judged(question, &[900, 2, 300], "kubernetes is here");
        let common = judged(question, &[900, 2, 300], "the port is here");
        assert!(rare.coverage > 0.6, "{rare:?}");
        assert!(common.coverage < 0.4, "{common:?}");
        // A word that no document has is the rarest of all.
        let unknown = judged(question, &[900, 0, 300], "the port is here");
        assert!(unknown.coverage < common.coverage);
    }

    #[test]
    fn parts_of_an_identifier_are_not_the_identifier() {
        let whole = judged("retry_policy", &[3, 3, 3], "set retry_policy");
        let parts = judged("retry_policy", &[3, 3, 3], "the policy is to retry");
        assert_eq!(whole.coverage, 1.0);
        assert!(parts.coverage < 0.5, "{parts:?}");
    }

    #[test]
    fn words_far_from_each_other_are_not_together() {
        let near = judged("red door", &[9, 9], "the red door is open");
        let far = format!("red {} door", "filler ".repeat(60));
        let far = judged("red door", &[9, 9], &far);
        assert_eq!((near.coverage, far.coverage), (1.0, 1.0));
        assert_eq!(near.together, 1.0);
        assert!(far.together < 0.6, "{far:?}");
    }

    /// The parts of an address are terms with the place of the whole address.
    #[test]
    fn an_address_longer_than_a_stretch_is_judged() {
        let address = format!("https://example.com/red/{}/door", "x".repeat(300));
        for text in [
            address.clone(),
            format!("{address} red door"),
            format!("red {address} door"),
        ] {
            let judged = judged("red door", &[9, 9], &text);
            assert_eq!(judged.coverage, 1.0, "{text}");
            assert!((0.4..=1.0).contains(&judged.together), "{judged:?} {text}");
        }
    }

    #[test]
    fn a_common_word_says_nothing_though_it_is_covered() {
        let common = judged("port", &[900], "the port");
        let rare = judged("capstan", &[1], "the capstan");
        assert_eq!((common.coverage, rare.coverage), (1.0, 1.0));
        assert!(common.information < 0.1, "{common:?}");
        assert!(rare.information > 0.5, "{rare:?}");
    }
}
