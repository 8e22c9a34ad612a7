//! Documents that a repository has and no search finds: where they lie, in
//! groups that a person can agree to, with globs that name them. Tests' data
//! and translations of the same pages are left out and counted.

use std::collections::{BTreeMap, BTreeSet};

use crate::document::DocumentFormat;
use crate::translations;
use crate::workspace::{
    FileRole, IncludedFiles, KnowledgeConfig, LeftOutCounts, RelPath, Workspace,
};

/// Documents outside of what is searched, by where they lie.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct DocumentCandidates {
    /// The largest first.
    pub groups: Vec<CandidateGroup>,
    /// Globs for what is left out of all groups.
    pub exclude: Vec<String>,
    /// Pages of which another language is among the groups.
    pub translations: usize,
    /// Data of tests, nested change logs and the like.
    pub other: usize,
    /// What the walk passed over.
    pub left_out: LeftOutCounts,
}

/// Documents of one place.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct CandidateGroup {
    /// The glob that would include them.
    pub glob: String,
    /// The number of documents that it matches.
    pub files: usize,
}

impl CandidateGroup {
    /// Returns the place as a person would name it.
    pub fn place(&self) -> &str {
        self.glob.strip_suffix("**").unwrap_or(&self.glob)
    }
}

impl DocumentCandidates {
    /// Returns how many documents there are in all groups.
    pub fn files(&self) -> usize {
        self.groups.iter().map(|group| group.files).sum()
    }

    /// Returns the settings that include these groups.
    pub fn config<'a>(
        &self,
        groups: impl IntoIterator<Item = &'a CandidateGroup>,
    ) -> KnowledgeConfig {
        KnowledgeConfig {
            include: groups.into_iter().map(|group| group.glob.clone()).collect(),
            exclude: self.exclude.clone(),
        }
    }

    /// Names the largest places: `docs/, crates/*/docs/ and 3 more places`.
    pub fn places(&self) -> String {
        const MOST: usize = 4;
        let named = self.groups.iter().take(MOST).map(CandidateGroup::place);
        let mut text = named.collect::<Vec<_>>().join(", ");
        match self.groups.len().saturating_sub(MOST) {
            0 => {}
            1 => text += " and one more place",
            more => text += &format!(" and {more} more places"),
        }
        text
    }
}

/// Every format of which a file is taken for a document without being named.
/// Plain text is not: most of it is no prose.
const ALL: [&str; 6] = [
    "**/*.md",
    "**/*.markdown",
    "**/*.mdx",
    "**/*.rst",
    "**/*.adoc",
    "**/*.asciidoc",
];

/// Folders that hold documents and hardly anything else.
const FOLDERS: [&str; 22] = [
    "adr",
    "adrs",
    "architecture",
    "book",
    "content",
    "contributing",
    "decisions",
    "design",
    "doc",
    "docs",
    "documentation",
    "guide",
    "guides",
    "handbook",
    "manual",
    "proposals",
    "rfc",
    "rfcs",
    "specs",
    "tutorial",
    "tutorials",
    "wiki",
];

/// Folders whose documents are data of tests, or orders to agents.
const NO_DOCUMENTS: [&str; 24] = [
    "__fixtures__",
    "__snapshots__",
    "__tests__",
    "agents",
    "changelogs",
    "commands",
    "e2e",
    "examples",
    "fixture",
    "fixtures",
    "mocks",
    "prompts",
    "skills",
    "snapshots",
    "spec_data",
    "templates",
    "test",
    "test-data",
    "test_data",
    "testdata",
    "tests",
    "testsuite",
    "testing-data",
    "testcases",
];

/// What becomes of pages of which another language is there.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub enum TranslationChoice {
    /// One language is kept.
    #[default]
    LeaveOut,
    /// Every language is kept.
    Include,
}

/// Finds the documents that are not searched yet. It lists folders and opens
/// no document.
pub fn find_candidates(workspace: &Workspace) -> DocumentCandidates {
    find_candidates_with(workspace, TranslationChoice::LeaveOut)
}

/// Finds the same with or without pages of which another language is there.
pub fn find_candidates_with(
    workspace: &Workspace,
    choice: TranslationChoice,
) -> DocumentCandidates {
    let everything = KnowledgeConfig {
        include: ALL.map(str::to_owned).to_vec(),
        exclude: workspace.config().knowledge.exclude.clone(),
    };
    let scan = workspace.scan_including(&everything);
    let roles = workspace.roles();
    let is_new = |path: &RelPath| roles.of(path) == FileRole::Untracked;
    let found = scan.files.iter().map(|found| &found.path);
    let paths: Vec<&str> = found
        .filter(|path| is_new(path))
        .map(RelPath::as_str)
        .collect();
    let mut candidates = sorted_into_groups(&paths, choice);
    candidates.left_out = scan.left_out;
    if candidates.groups.is_empty() {
        return candidates;
    }
    // Globs may name more than the files that they were made of, and the same
    // ones; what is shown is what will be searched. A glob for all of a folder
    // leaves nothing to those for parts of it.
    let mut left: Vec<&str> = paths.clone();
    let is_whole = |group: &CandidateGroup| group.glob.matches('/').count() == 2;
    candidates.groups.sort_by_key(|group| !is_whole(group));
    for group in &mut candidates.groups {
        let only = KnowledgeConfig {
            include: vec![group.glob.clone()],
            exclude: candidates.exclude.clone(),
        };
        let Some(included) = IncludedFiles::of(&only) else {
            continue;
        };
        let before = left.len();
        left.retain(|path| !included.matches(path));
        group.files = before - left.len();
    }
    candidates.groups.retain(|group| group.files > 0);
    let order = |group: &CandidateGroup| (std::cmp::Reverse(group.files), group.glob.clone());
    candidates.groups.sort_by_key(order);
    candidates
}

fn sorted_into_groups(paths: &[&str], choice: TranslationChoice) -> DocumentCandidates {
    let (documents, others): (Vec<&str>, Vec<&str>) =
        paths.iter().partition(|path| is_document(path));
    let translated = match choice {
        TranslationChoice::LeaveOut => translations::find_translated(&documents),
        TranslationChoice::Include => translations::TranslatedPages::default(),
    };
    let is_original = |path: &&&str| !translated.paths.contains(**path);
    let originals: Vec<&str> = documents.iter().filter(is_original).copied().collect();
    let mut exclude = translated.globs;
    let folders: BTreeSet<&str> = originals
        .iter()
        .filter_map(|path| folder_of_documents(path))
        .collect();
    let mut globs: BTreeMap<String, usize> = BTreeMap::new();
    let mut rest: BTreeMap<&str, Vec<&str>> = BTreeMap::new();
    for path in &originals {
        match folder_of_documents(path) {
            Some(folder) => *globs.entry(glob_of(folder, &folders)).or_default() += 1,
            None => {
                let top = path.split_once('/').map_or("", |(top, _)| top);
                rest.entry(top).or_default().push(path);
            }
        }
    }
    for (top, paths) in rest {
        let below = if top.is_empty() {
            String::new()
        } else {
            format!("{top}/**/")
        };
        let is_readme = |path: &&str| name_of(path).starts_with("README.");
        let stem = if !top.is_empty() && paths.iter().all(is_readme) {
            "README"
        } else {
            "*"
        };
        let endings: BTreeSet<&str> = paths.iter().map(|path| ending_of(path)).collect();
        for ending in endings {
            let mine = paths.iter().filter(|path| ending_of(path) == ending);
            globs.insert(format!("{below}{stem}.{ending}"), mine.count());
        }
    }
    // What the globs would take along, although it is none of the documents.
    let config = KnowledgeConfig {
        include: globs.keys().cloned().collect(),
        exclude: Vec::new(),
    };
    let mut taken = BTreeSet::new();
    if let Some(included) = IncludedFiles::of(&config) {
        for path in others.iter().filter(|path| included.matches(path)) {
            let top = path.split_once('/').map_or("", |(top, _)| top);
            taken.insert(match no_documents(path) {
                Some(folder) if folder == top => format!("{top}/**"),
                Some(folder) => format!("{top}/**/{folder}/**"),
                None if top.is_empty() => (*path).to_owned(),
                None => format!("{top}/**/{}", name_of(path)),
            });
        }
    }
    exclude.extend(taken);
    let groups = globs
        .into_iter()
        .map(|(glob, files)| CandidateGroup { glob, files });
    DocumentCandidates {
        groups: groups.collect(),
        exclude,
        translations: translated.paths.len(),
        other: others.len(),
        left_out: LeftOutCounts::default(),
    }
}

fn name_of(path: &str) -> &str {
    path.rsplit('/').next().unwrap_or(path)
}

fn ending_of(path: &str) -> &str {
    let name = name_of(path);
    name.rsplit_once('.').map_or(name, |(_, ending)| ending)
}

/// Whether a file is one that a person reads to learn something.
fn is_document(path: &str) -> bool {
    if DocumentFormat::of(path).is_none() || no_documents(path).is_some() {
        return false;
    }
    let name = name_of(path).to_uppercase();
    // A tool writes `CHANGELOG.md`; a page of a site that has this name is often
    // the guide for an upgrade.
    let is_log = name.starts_with("CHANGELOG.") && !name.ends_with(".MDX");
    let is_nested_log = path.contains('/') && is_log;
    let is_form = name.contains("_TEMPLATE.");
    !is_nested_log && !is_form
}

/// The outermost folder on the way whose documents are none. Below a folder of
/// documents such a name is a subject.
fn no_documents(path: &str) -> Option<&str> {
    for part in path
        .split('/')
        .rev()
        .skip(1)
        .collect::<Vec<_>>()
        .into_iter()
        .rev()
    {
        let folded = part.to_lowercase();
        if NO_DOCUMENTS.contains(&folded.as_str()) {
            return Some(part);
        }
        if FOLDERS.contains(&folded.as_str()) {
            return None;
        }
    }
    None
}

/// The outermost folder of documents that contains a file.
fn folder_of_documents(path: &str) -> Option<&str> {
    let mut end = 0;
    for part in path.split('/') {
        end += part.len();
        if end < path.len() && FOLDERS.contains(&part.to_lowercase().as_str()) {
            return Some(&path[..end]);
        }
        end += 1;
    }
    None
}

/// `crates/*/docs/**` for `crates/a/docs` where `crates/b/docs` is there too.
fn glob_of(folder: &str, all: &BTreeSet<&str>) -> String {
    let parts: Vec<&str> = folder.split('/').collect();
    if let [outer @ .., _, last] = &parts[..]
        && !outer.is_empty()
    {
        let outer = outer.join("/");
        let is_sibling = |other: &&&str| {
            let inner = other
                .strip_prefix(&outer)
                .and_then(|it| it.strip_prefix('/'));
            inner.is_some_and(|it| it.split_once('/').is_some_and(|(_, rest)| rest == *last))
        };
        if all.iter().filter(is_sibling).count() > 1 {
            return format!("{outer}/*/{last}/**");
        }
    }
    format!("{folder}/**")
}

#[cfg(test)]
mod tests {
    use super::*;

    fn groups(paths: &[&str]) -> (Vec<(String, usize)>, Vec<String>) {
        let found = sorted_into_groups(paths, TranslationChoice::LeaveOut);
        let groups = found.groups.into_iter();
        (
            groups.map(|it| (it.glob, it.files)).collect(),
            found.exclude,
        )
    }

    fn expect(groups: &[(&str, usize)]) -> Vec<(String, usize)> {
        let owned = groups
            .iter()
            .map(|(glob, files)| (glob.to_string(), *files));
        owned.collect()
    }

    #[test]
    fn documents_are_grouped_by_where_they_lie() {
        let (found, exclude) = groups(&[
            "CONTRIBUTING.md",
            "README.md",
            "crates/a/README.md",
            "crates/a/docs/x.md",
            "crates/b/docs/y.md",
            "crates/b/tests/z.md",
            "docs/a.md",
            "docs/deep/b.mdx",
            "docs/tests/how.md",
            "website/pages/c.mdx",
            "docs/v4/changelog.mdx",
            "packages/p/CHANGELOG.md",
        ]);
        let want = [
            ("*.md", 2),
            ("crates/**/README.md", 1),
            ("crates/*/docs/**", 2),
            ("docs/**", 4),
            ("website/**/*.mdx", 1),
        ];
        assert_eq!(found, expect(&want));
        assert!(exclude.is_empty(), "{exclude:?}");
        // A folder's name is excluded where it was found, and not in `docs/`.
        let (found, exclude) = groups(&[
            "CHANGELOG.md",
            "docs/skills/use.md",
            "plugins/CHANGELOG.md",
            "plugins/a.md",
            "plugins/x/skills/b.md",
        ]);
        let want = [("*.md", 1), ("docs/**", 1), ("plugins/**/*.md", 1)];
        assert_eq!(found, expect(&want));
        assert_eq!(exclude, ["plugins/**/CHANGELOG.md", "plugins/**/skills/**"]);
    }

    #[test]
    fn the_same_pages_in_other_languages_are_left_out() {
        let (found, exclude) = groups(&[
            "README.md",
            "README_CN.md",
            "README.ja.md",
            "content/en/a.md",
            "content/en/b.md",
            "content/de/a.md",
            "content/zh-cn/a.md",
            "content/zh-cn/b.md",
        ]);
        assert_eq!(found, expect(&[("*.md", 1), ("content/**", 2)]));
        assert_eq!(
            exclude,
            ["content/{de,zh-cn}/**", "**/*.ja.md", "**/*_CN.md"]
        );
    }

    /// `id` is a language, and the end of many names.
    #[test]
    fn a_name_that_ends_like_a_language_is_no_translation() {
        let pages = [
            "a/key.md",
            "a/key-id.md",
            "b/client-id.md",
            "c/app-id.md",
            "d/e-id.md",
        ];
        let (found, exclude) = groups(&pages);
        assert_eq!(found.iter().map(|it| it.1).sum::<usize>(), pages.len());
        assert!(exclude.is_empty(), "{exclude:?}");
        // Where some are translations, these alone are left out.
        let (_, exclude) = groups(&["a/x.md", "a/x-it.md", "b/y.md", "b/y-it.md", "c/do-it.md"]);
        assert_eq!(exclude, ["a/x-it.md", "b/y-it.md"]);
    }

    #[test]
    fn a_page_that_only_one_language_has_keeps_its_tree() {
        let (found, exclude) = groups(&["docs/it/setup.md", "docs/no/other.md", "docs/a.md"]);
        assert_eq!(found, expect(&[("docs/**", 3)]));
        assert!(exclude.is_empty(), "{exclude:?}");
    }
}
