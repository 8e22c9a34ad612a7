//! Renders the hits of a search for every door: their JSON, the explanation of
//! their rank, and which files count as used.

use forge_app::corrections::Correction;
use forge_app::index::DocumentStanding;
use forge_app::recall::pack::ContextPacking;
use forge_app::recall::{self, RecallAnswer, RecallHit, context};
use forge_app::tokens::format_thousands;

use crate::ui::escape_hidden;

/// Returns the files that are shown, each once: only those count as used.
pub(crate) fn used_files<'a>(
    answer: &'a RecallAnswer,
    packing: Option<&ContextPacking>,
) -> Vec<&'a str> {
    let shown: Vec<&RecallHit> = match packing {
        Some(packing) => packing.pieces.iter().map(|p| &answer.hits[p.hit]).collect(),
        None => answer.hits.iter().collect(),
    };
    let mut paths: Vec<&str> = shown.iter().map(|h| h.passage.path.as_str()).collect();
    paths.sort_unstable();
    paths.dedup();
    paths
}

/// Returns how an answer was found, in words.
pub(crate) fn describe_mode(answer: &RecallAnswer) -> String {
    let (embedded, all) = answer.embedded;
    match answer.mode {
        recall::RecallMode::Text => "keyword".to_owned(),
        mode if embedded < all => format!(
            "{}; {} of {} passages have a vector so far",
            if mode == recall::RecallMode::Vector {
                "semantic"
            } else {
                "keyword + semantic"
            },
            format_thousands(embedded),
            format_thousands(all)
        ),
        recall::RecallMode::Vector => "semantic".to_owned(),
        recall::RecallMode::Hybrid => "keyword + semantic".to_owned(),
    }
}

/// Explains the rank of a hit in one line.
pub(crate) fn explain_rank(hit: &RecallHit) -> String {
    let e = &hit.evidence;
    let mut parts = vec![format!("score {:.3}", hit.score)];
    if let Some(rank) = e.text_rank {
        let terms: Vec<String> = hit
            .terms
            .iter()
            .map(|t| {
                let mut places = Vec::new();
                if t.body > 0 {
                    places.push(format!("{}× in the text", t.body));
                }
                if t.in_headings {
                    places.push("in a heading".to_owned());
                }
                if t.in_title {
                    places.push("in the title".to_owned());
                }
                format!(
                    "{} {:.2} ({})",
                    escape_hidden(&t.term),
                    t.score,
                    places.join(", ")
                )
            })
            .collect();
        parts.push(format!(
            "full text #{rank}, BM25 {:.2} = {}",
            e.bm25,
            terms.join(" + ")
        ));
    }
    if let Some(rank) = e.vector_rank {
        parts.push(format!("vectors #{rank}, cosine {:.3}", e.cosine));
    }
    if e.exact {
        parts.push("contains the query word for word".to_owned());
    }
    if e.literal {
        parts.push("contains the exact string".to_owned());
    }
    if e.dated {
        parts.push("dated in the time of the query".to_owned());
    }
    if hit.passage.standing != DocumentStanding::Current || hit.replaced_by.is_some() {
        parts.push("lowered: no longer current".to_owned());
    }
    if !hit.corrections.is_empty() {
        parts.push("ranked last: it repeats a corrected fact".to_owned());
    }
    let signals = recall::HitSignals::NAMES
        .into_iter()
        .zip(hit.signals.values());
    let signals = signals.filter(|it| it.1 > 0.0);
    let signals: Vec<String> = signals
        .map(|(name, it)| format!("{name} {it:.2}"))
        .collect();
    parts.push(format!(
        "{} with confidence {:.2} ({})",
        hit.label().name(),
        hit.confidence,
        signals.join(", ")
    ));
    if e.text_rank.is_none() && e.vector_rank.is_none() && !e.literal {
        parts.push("replaces a document that matched".to_owned());
    }
    parts.join("; ")
}

/// Rounds to three digits, after widening: `0.74` would otherwise be written as
/// `0.7400000095367432`.
pub(crate) fn round_to_thousandths(value: f32) -> f64 {
    (f64::from(value) * 1000.0).round() / 1000.0
}

/// Names the tokens that look like code and are in no document.
pub(crate) fn missing_line(answer: &RecallAnswer) -> Option<String> {
    let names: Vec<String> = answer
        .missing
        .iter()
        .map(|token| format!("`{}`", escape_hidden(token)))
        .collect();
    (!names.is_empty()).then(|| format!("no exact match for {}", names.join(", ")))
}

/// The nearest documents of an answer whose hits were withheld, as a title
/// and a place each.
pub(crate) fn nearest(answer: &RecallAnswer) -> Vec<(String, String)> {
    let one = |hit: &RecallHit| {
        let p = &hit.passage;
        let title = if p.title.is_empty() {
            &p.path
        } else {
            &p.title
        };
        (
            escape_hidden(title).into_owned(),
            escape_hidden(&format!("{}:{}", p.path, p.lines.0)).into_owned(),
        )
    };
    answer.nearest.iter().map(one).collect()
}

/// Fields that both JSON formats have for an answer, apart from its hits.
pub(crate) fn put_verdict(value: &mut serde_json::Value, answer: &RecallAnswer) {
    if !answer.missing.is_empty() {
        value["noExactMatch"] = answer.missing.clone().into();
    }
    if answer.withheld > 0 {
        value["withheld"] = answer.withheld.into();
        let nearest = answer.nearest.iter().map(|hit| {
            let p = &hit.passage;
            serde_json::json!({ "path": p.path, "lines": [p.lines.0, p.lines.1], "title": p.title })
        });
        value["nearest"] = nearest.collect();
    }
}

pub(crate) fn hit_json(hit: &RecallHit, text: &str, cut: bool) -> serde_json::Value {
    let p = &hit.passage;
    let e = &hit.evidence;
    let mut value = serde_json::json!({
        "path": p.path,
        "lines": [p.lines.0, p.lines.1],
        "title": p.title,
        "headings": p.headings,
        "type": p.kind.name(),
        "scope": p.scope,
        "date": p.date,
        "importance": p.importance,
        "score": round_to_thousandths(hit.score),
        "relevance": round_to_thousandths(hit.confidence),
        "label": hit.label().name(),
        "text": text,
    });
    if cut {
        value["cut"] = true.into();
    }
    if let Some(note) = context::standing_note(hit) {
        value["standing"] = note.into();
    }
    if !hit.translations.is_empty() {
        value["language"] = hit.language.as_deref().into();
        value["translations"] = hit.translations.clone().into();
    }
    if let Some(note) = context::order_note(hit) {
        value["careful"] = note.into();
    }
    if !hit.corrections.is_empty() {
        value["corrections"] = hit.corrections.iter().map(Correction::to_json).collect();
    }
    value["why"] = serde_json::json!({
        "textRank": e.text_rank, "bm25": round_to_thousandths(e.bm25),
        "vectorRank": e.vector_rank, "cosine": round_to_thousandths(e.cosine),
        "exact": e.exact, "literal": e.literal, "dated": e.dated,
    });
    let signals = recall::HitSignals::NAMES
        .into_iter()
        .zip(hit.signals.values());
    value["why"]["signals"] = signals
        .map(|(name, signal)| (name.to_owned(), round_to_thousandths(signal).into()))
        .collect::<serde_json::Map<String, serde_json::Value>>()
        .into();
    if !hit.terms.is_empty() {
        value["why"]["terms"] = hit
            .terms
            .iter()
            .map(|t| {
                serde_json::json!({ "term": t.term, "idf": round_to_thousandths(t.idf), "body": t.body,
                    "inHeadings": t.in_headings, "inTitle": t.in_title, "score": round_to_thousandths(t.score) })
            })
            .collect();
    }
    value
}
