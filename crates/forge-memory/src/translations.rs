//! The same pages in several languages: a tree for each (`docs/de/`), or a
//! name for each (`README.zh-CN.md`). Paths alone decide which pages belong
//! together; it opens no file.

use std::collections::{BTreeMap, BTreeSet, HashMap, HashSet};

pub mod language;

use language::language_of_tag;

/// Pages of which another language is kept, which is English where there is
/// any, else what is outside of the trees, else the largest.
#[derive(Debug, Default)]
pub struct TranslatedPages {
    /// The paths of these pages.
    pub paths: HashSet<String>,
    /// What names them.
    pub globs: Vec<String>,
}

/// Of the pages of one language so many must have an original.
const LEAST_SHARE: usize = 3;

/// Returns the pages that are translations of others.
pub fn find_translated(paths: &[&str]) -> TranslatedPages {
    let mut found = TranslatedPages::default();
    for tree in language_trees(paths) {
        for tag in &tree.translated {
            let pages = tree.pages.get(tag).into_iter().flatten();
            found.paths.extend(pages.map(|page| tree.path(tag, page)));
        }
        let place = below(tree.folder);
        match &tree.translated[..] {
            [] => {}
            [one] => found.globs.push(format!("{place}{one}/**")),
            many => found
                .globs
                .push(format!("{place}{{{}}}/**", many.join(","))),
        }
    }
    let mut globs = BTreeSet::new();
    for named in pages_by_name(paths) {
        if named.language != "en" {
            found.paths.insert(named.path.to_owned());
            globs.insert(if named.glob_names_only_translations {
                named.glob
            } else {
                named.path.to_owned()
            });
        }
    }
    found.globs.extend(globs);
    found
}

/// A page by the folder of its language: where that is, its name, the page.
fn split_at_language(path: &str) -> Option<(&str, &str, &str)> {
    let mut from = 0;
    for part in path.split('/') {
        let end = from + part.len();
        if end < path.len() && language_of_tag(part).is_some() {
            return Some((path[..from].trim_end_matches('/'), part, &path[end + 1..]));
        }
        from = end + 1;
    }
    None
}

fn below(folder: &str) -> String {
    if folder.is_empty() {
        String::new()
    } else {
        format!("{folder}/")
    }
}

/// Folders for languages beside one another.
struct LanguageTree<'a> {
    folder: &'a str,
    /// The pages below each tag.
    pages: BTreeMap<&'a str, Vec<&'a str>>,
    /// The tag of the originals; none where they are outside of the folders.
    original: Option<&'a str>,
    /// Tags of which enough pages have an original.
    translated: Vec<&'a str>,
}

impl LanguageTree<'_> {
    fn path(&self, tag: &str, page: &str) -> String {
        format!("{}{tag}/{page}", below(self.folder))
    }

    /// The places where originals without a tag may be: beside the folders for
    /// languages, and one level above.
    fn outside(&self, page: &str) -> [String; 2] {
        outside_of(self.folder, page)
    }
}

fn outside_of(folder: &str, page: &str) -> [String; 2] {
    let outer = folder.rsplit_once('/').map_or("", |(outer, _)| outer);
    [folder, outer].map(|place| format!("{}{page}", below(place)))
}

fn language_trees<'a>(paths: &[&'a str]) -> Vec<LanguageTree<'a>> {
    let mut trees: BTreeMap<&str, BTreeMap<&str, Vec<&str>>> = BTreeMap::new();
    for path in paths {
        if let Some((folder, tag, page)) = split_at_language(path) {
            let tags = trees.entry(folder).or_default();
            tags.entry(tag).or_default().push(page);
        }
    }
    if trees.is_empty() {
        return Vec::new();
    }
    let all: HashSet<&str> = paths.iter().copied().collect();
    let mut found = Vec::new();
    for (folder, pages) in trees {
        let is_english = |tag: &&&str| language_of_tag(tag) == Some("en");
        let has_outside = |page: &str| {
            let places = outside_of(folder, page);
            places.iter().any(|place| all.contains(place.as_str()))
        };
        let is_outside = pages.values().flatten().any(|page| has_outside(page));
        let largest = || pages.iter().max_by_key(|(_, pages)| pages.len());
        let original: Option<&str> = match pages.keys().find(is_english) {
            Some(english) => Some(english),
            None if is_outside => None,
            None if pages.len() > 1 => largest().map(|(tag, _)| *tag),
            None => continue,
        };
        let originals: HashSet<&str> = original
            .and_then(|tag| pages.get(tag))
            .into_iter()
            .flatten()
            .copied()
            .collect();
        let is_translated = |tag: &str, its_pages: &[&str]| {
            let known = its_pages.iter().filter(|page| {
                originals.contains(**page) || original.is_none() && has_outside(page)
            });
            original != Some(tag) && known.count() * LEAST_SHARE >= its_pages.len()
        };
        let translated = pages
            .iter()
            .filter(|(tag, pages)| is_translated(tag, pages))
            .map(|(tag, _)| *tag)
            .collect();
        found.push(LanguageTree {
            folder,
            original,
            translated,
            pages,
        });
    }
    found
}

/// A page whose name has a tag, such as `README.ja.md` beside `README.md`.
struct PageByName<'a> {
    path: &'a str,
    original: String,
    language: &'static str,
    /// What names all pages of this tag.
    glob: String,
    /// Whether each page that it names has an original.
    glob_names_only_translations: bool,
}

fn pages_by_name<'a>(paths: &[&'a str]) -> Vec<PageByName<'a>> {
    let mut tagged = Vec::new();
    for path in paths {
        let Some((before, ending)) = path.rsplit_once('.') else {
            continue;
        };
        for (at, sign) in before.rmatch_indices(['.', '_', '-']).take(2) {
            let (stem, tag) = (&before[..at], &before[at + 1..]);
            if let Some(language) = language_of_tag(tag) {
                tagged.push(PageByName {
                    path,
                    original: format!("{stem}.{ending}"),
                    language,
                    glob: format!("**/*{sign}{tag}.{ending}"),
                    glob_names_only_translations: false,
                });
            }
        }
    }
    if tagged.is_empty() {
        return tagged;
    }
    let count_by_glob = |pages: &[PageByName]| {
        let mut counts: HashMap<String, usize> = HashMap::new();
        for page in pages {
            *counts.entry(page.glob.clone()).or_default() += 1;
        }
        counts
    };
    let named = count_by_glob(&tagged);
    let all: HashSet<&str> = paths.iter().copied().collect();
    tagged.retain(|page| all.contains(page.original.as_str()));
    tagged.dedup_by_key(|page| page.path);
    let translated = count_by_glob(&tagged);
    tagged.retain_mut(|page| {
        let (named, translated) = (named[&page.glob], translated[&page.glob]);
        page.glob_names_only_translations = named == translated;
        // `client-id.md` is no Indonesian: most pages that end like this have
        // no original.
        translated * LEAST_SHARE >= named
    });
    tagged
}

/// Pages that are the same in several languages, by their paths.
#[derive(Debug, Default)]
pub struct PageFamilies {
    families: Vec<Vec<FamilyPage>>,
    /// The family of a path.
    of: HashMap<String, usize>,
}

/// A page of a family.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct FamilyPage {
    /// The page, relative to the workspace.
    pub path: String,
    /// None for an original whose path has no tag.
    pub language: Option<&'static str>,
}

impl PageFamilies {
    /// Groups the pages of a workspace. Costs little where no path has a tag.
    pub fn of_paths(paths: &[&str]) -> PageFamilies {
        let mut found = PageFamilies::default();
        let trees = language_trees(paths);
        let named = pages_by_name(paths);
        if trees.is_empty() && named.is_empty() {
            return found;
        }
        let all: HashSet<&str> = paths.iter().copied().collect();
        for tree in &trees {
            let mut pages: BTreeMap<&str, Vec<FamilyPage>> = BTreeMap::new();
            for tag in tree.original.iter().chain(&tree.translated) {
                for page in tree.pages.get(tag).into_iter().flatten() {
                    pages.entry(page).or_default().push(FamilyPage {
                        path: tree.path(tag, page),
                        language: language_of_tag(tag),
                    });
                }
            }
            for (page, mut members) in pages {
                let mut outside = tree.outside(page).into_iter();
                if tree.original.is_none()
                    && let Some(path) = outside.find(|path| all.contains(path.as_str()))
                {
                    let language = None;
                    members.insert(0, FamilyPage { path, language });
                }
                found.add(members);
            }
        }
        let mut by_original: BTreeMap<&str, Vec<FamilyPage>> = BTreeMap::new();
        for page in &named {
            let members = by_original.entry(&page.original).or_insert_with(|| {
                let path = page.original.clone();
                let language = None;
                vec![FamilyPage { path, language }]
            });
            members.push(FamilyPage {
                path: page.path.to_owned(),
                language: Some(page.language),
            });
        }
        by_original.into_values().for_each(|it| found.add(it));
        found
    }

    fn add(&mut self, mut members: Vec<FamilyPage>) {
        members.retain(|page| !self.of.contains_key(&page.path));
        if members.len() < 2 {
            return;
        }
        let paths = members.iter().map(|page| page.path.clone());
        self.of
            .extend(paths.map(|path| (path, self.families.len())));
        self.families.push(members);
    }

    /// Returns the number of a page's family, and the page.
    pub fn find(&self, path: &str) -> Option<(usize, &FamilyPage)> {
        let at = *self.of.get(path)?;
        let page = self.families[at].iter().find(|page| page.path == path)?;
        Some((at, page))
    }

    /// Returns the pages of a family, the original first.
    pub fn pages(&self, family: usize) -> &[FamilyPage] {
        self.families.get(family).map_or(&[], Vec::as_slice)
    }

    /// Returns `true` if no page is there in two languages.
    pub fn is_empty(&self) -> bool {
        self.families.is_empty()
    }

    /// Returns how many pages there are beside one of each family.
    pub fn translations(&self) -> usize {
        self.families.iter().map(|pages| pages.len() - 1).sum()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn families(paths: &[&str]) -> Vec<Vec<(String, Option<&'static str>)>> {
        let found = PageFamilies::of_paths(paths);
        let named = |page: FamilyPage| (page.path, page.language);
        let one = |pages: Vec<FamilyPage>| pages.into_iter().map(named).collect();
        found.families.into_iter().map(one).collect()
    }

    #[test]
    fn pages_of_language_folders_belong_together() {
        let found = families(&[
            "docs/de/guide.md",
            "docs/en/guide.md",
            "docs/en/only.md",
            "docs/zh-CN/guide.md",
            "src/de/notes.md",
        ]);
        let page = |path: &str, language| (path.to_owned(), Some(language));
        assert_eq!(
            found,
            [[
                page("docs/en/guide.md", "en"),
                page("docs/de/guide.md", "de"),
                page("docs/zh-CN/guide.md", "zh"),
            ]]
        );
    }

    #[test]
    fn an_original_without_a_tag_is_the_first_of_its_family() {
        let found = families(&["docs/a.md", "docs/fr/a.md", "README.ja.md", "README.md"]);
        let page = |path: &str, language| (path.to_owned(), language);
        assert_eq!(
            found,
            [
                [page("docs/a.md", None), page("docs/fr/a.md", Some("fr"))],
                [page("README.md", None), page("README.ja.md", Some("ja"))],
            ]
        );
    }

    #[test]
    fn folders_that_only_look_like_languages_make_no_family() {
        let found = families(&[
            "docs/it/setup.md",
            "docs/it/orders.md",
            "docs/a.md",
            "x-id.md",
        ]);
        assert!(found.is_empty(), "{found:?}");
    }
}
