//! The same pages in several languages: a tree for each (`content/de/`), or
//! a name for each (`README.zh-CN.md`). One language is kept: English where
//! there is any, else what lies outside of the trees, else the largest.

use std::collections::{BTreeMap, HashSet};

/// Pages of which another language is kept.
#[derive(Debug, Default)]
pub(super) struct TranslatedPages {
    pub(super) paths: HashSet<String>,
    /// What names them.
    pub(super) globs: Vec<String>,
}

/// Languages that documents are commonly translated to.
const LANGUAGES: [&str; 50] = [
    "ar", "az", "bg", "bn", "bs", "ca", "cn", "cs", "da", "de", "el", "en", "es", "et", "fa", "fi",
    "fr", "gl", "he", "hi", "hr", "hu", "hy", "id", "it", "ja", "jp", "ka", "ko", "kr", "lt", "lv",
    "mk", "ms", "nl", "pl", "pt", "ro", "ru", "sk", "sl", "sr", "sv", "ta", "th", "tlh", "tr",
    "uk", "vi", "zh",
];

/// Of the pages of one language so many must have an original.
const LEAST_SHARE: usize = 3;

pub(super) fn find(paths: &[&str]) -> TranslatedPages {
    let mut found = TranslatedPages::default();
    in_trees(paths, &mut found);
    by_name(paths, &mut found);
    found
}

fn is_language(name: &str) -> bool {
    let folded = name.to_lowercase().replace('_', "-");
    let (language, region) = folded.split_once('-').unwrap_or((&folded, ""));
    let is_region = region.is_empty()
        || (2..=4).contains(&region.len()) && region.chars().all(|c| c.is_ascii_alphanumeric());
    LANGUAGES.contains(&language) && is_region
}

/// A page by the folder of its language: where that lies, its name, the page.
fn split_at_language(path: &str) -> Option<(&str, &str, &str)> {
    let mut from = 0;
    for part in path.split('/') {
        let end = from + part.len();
        if end < path.len() && is_language(part) {
            return Some((path[..from].trim_end_matches('/'), part, &path[end + 1..]));
        }
        from = end + 1;
    }
    None
}

fn in_trees(paths: &[&str], found: &mut TranslatedPages) {
    let mut trees: BTreeMap<&str, BTreeMap<&str, Vec<&str>>> = BTreeMap::new();
    for path in paths {
        if let Some((folder, language, page)) = split_at_language(path) {
            let languages = trees.entry(folder).or_default();
            languages.entry(language).or_default().push(page);
        }
    }
    let all: HashSet<&str> = paths.iter().copied().collect();
    for (folder, languages) in trees {
        let english = |name: &&&str| name.to_lowercase().starts_with("en");
        let outer = folder.rsplit_once('/').map_or("", |(outer, _)| outer);
        let outside = |page: &str| {
            [folder, outer].iter().any(|place| {
                let path = match *place {
                    "" => page.to_owned(),
                    place => format!("{place}/{page}"),
                };
                all.contains(path.as_str())
            })
        };
        let is_outside = languages.values().flatten().any(|page| outside(page));
        let largest = || languages.iter().max_by_key(|(_, pages)| pages.len());
        let kept: Option<&str> = match languages.keys().find(english) {
            Some(english) => Some(english),
            None if is_outside => None,
            None if languages.len() > 1 => largest().map(|(name, _)| *name),
            None => continue,
        };
        let originals: HashSet<&str> = kept
            .and_then(|kept| languages.get(kept))
            .into_iter()
            .flatten()
            .copied()
            .collect();
        let mut names = Vec::new();
        for (language, pages) in &languages {
            if kept == Some(*language) {
                continue;
            }
            let known = pages
                .iter()
                .filter(|page| originals.contains(**page) || kept.is_none() && outside(page));
            if known.count() * LEAST_SHARE < pages.len() {
                continue;
            }
            names.push(*language);
            let below = pages.iter().map(|page| match folder {
                "" => format!("{language}/{page}"),
                folder => format!("{folder}/{language}/{page}"),
            });
            found.paths.extend(below);
        }
        let place = if folder.is_empty() {
            String::new()
        } else {
            format!("{folder}/")
        };
        match &names[..] {
            [] => {}
            [one] => found.globs.push(format!("{place}{one}/**")),
            many => found
                .globs
                .push(format!("{place}{{{}}}/**", many.join(","))),
        }
    }
}

fn by_name(paths: &[&str], found: &mut TranslatedPages) {
    let all: HashSet<&str> = paths.iter().copied().collect();
    let mut translated: BTreeMap<String, Vec<&str>> = BTreeMap::new();
    for path in paths {
        let Some((before, ending)) = path.rsplit_once('.') else {
            continue;
        };
        let signs = before.rmatch_indices(['.', '_', '-']);
        for (at, sign) in signs.take(2) {
            let (stem, language) = (&before[..at], &before[at + 1..]);
            let is_original = all.contains(format!("{stem}.{ending}").as_str());
            if is_language(language) && is_original && !language.to_lowercase().starts_with("en") {
                let end = format!("{sign}{language}.{ending}");
                translated.entry(end).or_default().push(path);
                break;
            }
        }
    }
    for (end, pages) in translated {
        let named = paths.iter().filter(|path| path.ends_with(&end)).count();
        // `client-id.md` is no Indonesian: most pages that end like this have
        // no original.
        if pages.len() * LEAST_SHARE < named {
            continue;
        }
        found
            .paths
            .extend(pages.iter().map(|path| (*path).to_owned()));
        if pages.len() == named {
            found.globs.push(format!("**/*{end}"));
        } else {
            found
                .globs
                .extend(pages.iter().map(|path| (*path).to_owned()));
        }
    }
}
