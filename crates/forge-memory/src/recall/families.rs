//! Makes one result of a page that is there in several languages: the page in
//! the language of the question, which names the others.
//!
//! A page counts as a translation by its path, unless its text is plainly
//! in another language.

use std::collections::HashMap;

use super::{RecallHit, sort_hits};
use crate::translations::PageFamilies;
use crate::translations::language::{is_plainly_english, languages_of_text};

/// The original is shown if it fits at least so well, relative to the page that
/// fits best, where the language of the question is not known.
const LEAST_FIT_OF_ORIGINAL: f32 = 0.8;

/// Keeps the hits of one page of each family, and returns how many were
/// dropped.
pub(super) fn collapse_families(
    hits: &mut Vec<RecallHit>,
    families: &PageFamilies,
    question: &str,
) -> usize {
    if families.is_empty() {
        return 0;
    }
    let mut of_family: HashMap<usize, Vec<usize>> = HashMap::new();
    for (at, hit) in hits.iter().enumerate() {
        if let Some((family, page)) = families.find(&hit.passage.path) {
            let is_copy = |other: &usize| hits[*other].passage.text == hit.passage.text;
            let members = of_family.entry(family).or_default();
            let claimed = page.language.unwrap_or("en");
            if !is_plainly_english(&hit.passage.text, claimed) || members.iter().any(is_copy) {
                members.push(at);
            }
        }
    }
    let wanted = languages_of_text(question);
    let mut dropped = vec![false; hits.len()];
    for (family, members) in of_family {
        let Some(shown) = choose_page(hits, &members, families, wanted) else {
            continue;
        };
        let best = members.iter().map(|at| hits[*at].score).fold(0.0, f32::max);
        let pages = families.pages(family);
        let mut is_first = true;
        for at in members {
            let hit = &mut hits[at];
            if hit.passage.path != shown {
                dropped[at] = true;
                continue;
            }
            // The hits are sorted: the first is the best of its page.
            if std::mem::take(&mut is_first) {
                hit.score = best;
            }
            let others = pages.iter().filter(|page| page.path != shown);
            hit.translations = others.map(|page| page.path.clone()).collect();
            let page = pages.iter().find(|page| page.path == shown);
            hit.language = page.and_then(|page| page.language).map(str::to_owned);
        }
    }
    let mut dropped_hits = dropped.iter();
    hits.retain(|_| !dropped_hits.next().is_some_and(|it| *it));
    sort_hits(hits);
    dropped.iter().filter(|it| **it).count()
}

/// Returns the path of the page to show: in a language of the question, else
/// the original, unless another page fits it clearly better.
fn choose_page(
    hits: &[RecallHit],
    members: &[usize],
    families: &PageFamilies,
    wanted: &[&str],
) -> Option<String> {
    let page_of = |at: &usize| {
        let hit = &hits[*at];
        families
            .find(&hit.passage.path)
            .map(|(_, page)| (page, hit.score))
    };
    let pages: Vec<_> = members.iter().filter_map(page_of).collect();
    let in_wanted = wanted.iter().find_map(|language| {
        // An original without a tag is English, unless another page has that tag.
        let is_original_english =
            *language == "en" && !pages.iter().any(|(page, _)| page.language == Some("en"));
        pages.iter().find(|(page, _)| {
            page.language == Some(language) || page.language.is_none() && is_original_english
        })
    });
    if let Some((page, _)) = in_wanted {
        return Some(page.path.clone());
    }
    let (best, most) = pages.first()?;
    let is_original = |language: Option<&str>| matches!(language, None | Some("en"));
    let original = pages
        .iter()
        .find(|(page, score)| is_original(page.language) && *score >= LEAST_FIT_OF_ORIGINAL * most);
    Some(original.map_or(best, |(page, _)| page).path.clone())
}
