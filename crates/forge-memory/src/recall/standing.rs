//! Ranks documents that are no longer valid below those that replaced them, and
//! marks them.

use std::collections::HashMap;

use super::{HitSignals, PassageSource, RecallHit, RecallQuery};
use crate::index::{CatalogueEntry, DocumentStanding, Index, IndexError};
use crate::links::{LinkNames, reference_target};

/// Lowers outdated hits, and raises their successors to at least the score that
/// the outdated ones had.
pub(super) fn apply_standing(
    source: &dyn PassageSource,
    ask: &RecallQuery,
    hits: &mut Vec<RecallHit>,
    outdated: f32,
) -> Result<(), IndexError> {
    let paths = hits.iter().map(|hit| hit.passage.path.as_str()).collect();
    let replaced = source.find_replacements(&paths)?;
    let mut earned: HashMap<&str, f32> = HashMap::new();
    for hit in hits.iter_mut() {
        let successor = replaced.get(&hit.passage.path);
        if successor.is_none() && hit.passage.standing == DocumentStanding::Current {
            continue;
        }
        if let Some(path) = successor {
            hit.replaced_by = Some(path.clone());
            let best = earned.entry(path.as_str()).or_insert(0.0);
            *best = best.max(hit.score);
        }
        hit.score *= outdated;
    }
    for (path, score) in earned {
        let best = hits
            .iter_mut()
            .filter(|h| h.passage.path == path)
            .max_by(|a, b| a.score.total_cmp(&b.score));
        if let Some(hit) = best {
            hit.score = hit.score.max(score);
            continue;
        }
        if let Some(passage) = source.opening_passage(ask, path)? {
            hits.push(RecallHit {
                passage,
                score,
                relevance: 0.5,
                confidence: 0.0,
                signals: HitSignals::default(),
                is_literal: false,
                evidence: Default::default(),
                replaced_by: None,
                language: None,
                translations: Vec::new(),
                corrections: Vec::new(),
                terms: Vec::new(),
                order: None,
                matches: Vec::new(),
            });
        }
    }
    Ok(())
}

/// Maps the path of each outdated document to the last one in its chain of
/// replacements.
pub fn resolve_replacements(
    index: &Index,
    catalogue: &[CatalogueEntry],
) -> Result<HashMap<String, String>, IndexError> {
    let mut direct: HashMap<String, String> = HashMap::new();
    let mut names: Option<LinkNames> = None;
    let mut resolve = |name: &str, near: &str| -> Option<String> {
        let paths = || catalogue.iter().map(|entry| entry.path.as_str());
        let names = names.get_or_insert_with(|| LinkNames::new(paths()));
        let file = names.resolve(reference_target(name), near).opened_file()?;
        Some(catalogue[file as usize].path.clone())
    };
    for entry in catalogue {
        if let DocumentStanding::SupersededBy(name) = &entry.standing
            && let Some(path) = resolve(name, &entry.path)
        {
            direct.insert(entry.path.clone(), path);
        }
    }
    for (name, by) in index.replacements()? {
        if let Some(old) = resolve(&name, &by)
            && old != by
        {
            direct.entry(old).or_insert(by);
        }
    }
    // A chain ends at its last document; a cycle replaces nothing.
    let mut last = HashMap::new();
    for old in direct.keys() {
        let mut at = old;
        let mut steps = 0;
        while let Some(next) = direct.get(at) {
            at = next;
            steps += 1;
            if steps > direct.len() {
                break;
            }
        }
        if steps <= direct.len() && at != old {
            last.insert(old.clone(), at.clone());
        }
    }
    Ok(last)
}
