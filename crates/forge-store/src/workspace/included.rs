//! Documents outside of `knowledge/` that the settings name, and what is left
//! out of them unasked: other people's code, what is generated, hidden
//! folders, and what git ignores.

use std::path::{Path, PathBuf};
use std::sync::Arc;

use forge_text::document::DocumentFormat;
use globset::{Glob, GlobBuilder, GlobSet, GlobSetBuilder};
use ignore::gitignore::{Gitignore, GitignoreBuilder};

use super::config::KnowledgeConfig;
use super::regular::{self, LinkPolicy};

/// The globs of `[knowledge]`, compiled.
#[derive(Debug)]
pub struct IncludedFiles {
    include: GlobSet,
    /// Globs that name plain text. Most of it is no prose, so that `docs/**`
    /// does not mean it.
    include_text: GlobSet,
    exclude: GlobSet,
    /// Folders below which something may be included.
    folders: GlobSet,
    /// Folders that a glob names, so that they are not left out unasked.
    named: Vec<String>,
}

/// Folders with other people's code, or with what a tool made.
const VENDORED: [&str; 15] = [
    "__pycache__",
    "_site",
    "_vendor",
    "bower_components",
    "coverage",
    "dist",
    "jspm_packages",
    "node_modules",
    "Pods",
    "site-packages",
    "target",
    "third-party",
    "third_party",
    "vendor",
    "venv",
];

/// Returns `true` for a folder of this name that others wrote or a tool made.
pub fn is_vendored(name: &str) -> bool {
    VENDORED.contains(&name)
}

impl IncludedFiles {
    /// Returns the globs of the settings; none where nothing is included.
    pub fn of(config: &KnowledgeConfig) -> Option<IncludedFiles> {
        let include = globs_of(&config.include);
        if include.is_empty() {
            return None;
        }
        let mut folders = Vec::new();
        let mut named = Vec::new();
        for pattern in config.include.iter().map(|it| cleaned(it)) {
            folders_of(pattern, &mut folders);
            let plain = |part: &&str| !part.contains(['*', '?', '[', '{']);
            named.extend(pattern.split('/').filter(plain).map(str::to_owned));
        }
        Some(IncludedFiles {
            include: set_of(include),
            include_text: set_of(globs_of(&texts_of(&config.include))),
            exclude: set_of(globs_of(&config.exclude)),
            folders: set_of(folders),
            named,
        })
    }

    /// Returns `true` if the settings name this file. What git ignores is for
    /// the caller to see.
    pub fn matches(&self, path: &str) -> bool {
        let include = match DocumentFormat::of(path) {
            None => return false,
            Some(DocumentFormat::PlainText) => &self.include_text,
            Some(_) => &self.include,
        };
        include.is_match(path) && !self.exclude.is_match(path) && !self.is_left_out(path)
    }

    /// Returns `true` if something below this folder may be included.
    pub fn may_hold(&self, folder: &str) -> bool {
        self.folders.is_match(folder)
    }

    /// Returns `true` if a glob names this folder in plain words.
    pub fn names(&self, folder: &str) -> bool {
        self.named.iter().any(|it| it == folder)
    }

    fn is_left_out(&self, path: &str) -> bool {
        let mut parts = path.split('/');
        parts.next_back();
        parts.any(|part| (part.starts_with('.') || is_vendored(part)) && !self.names(part))
    }
}

/// Returns what is wrong with a glob.
pub(super) fn glob_fault(text: &str) -> Option<String> {
    let pattern = cleaned(text);
    if pattern.is_empty() {
        return Some("has an empty glob, which is not used".to_owned());
    }
    if text.starts_with('/') || pattern.split('/').any(|part| part == "..") {
        return Some(format!(
            "has the glob `{text}`, which leads out of the workspace and is not used"
        ));
    }
    let error = glob(pattern).err()?;
    Some(format!(
        "has the glob `{text}`, which is not used: {}",
        error.kind()
    ))
}

fn cleaned(text: &str) -> &str {
    text.trim_start_matches("./").trim_end_matches('/')
}

fn glob(pattern: &str) -> Result<Glob, globset::Error> {
    GlobBuilder::new(pattern)
        .literal_separator(true)
        .backslash_escape(true)
        .build()
}

/// The globs themselves, and for a name that may be a folder's all that is
/// below it.
fn globs_of(texts: &[String]) -> Vec<Glob> {
    let mut globs = Vec::new();
    for pattern in texts.iter().map(|it| cleaned(it)) {
        globs.extend(glob(pattern));
        let last = pattern.rsplit('/').next().unwrap_or(pattern);
        if last != "**" && DocumentFormat::of(last).is_none() {
            globs.extend(glob(&format!("{pattern}/**")));
        }
    }
    globs
}

fn texts_of(globs: &[String]) -> Vec<String> {
    let named = globs.iter().filter(|glob| {
        let last = glob.rsplit('/').next().unwrap_or(glob);
        last.contains("txt")
    });
    named.cloned().collect()
}

/// The folders on the way to what a glob names: `a`, `a/*` and `a/*/b` for
/// `a/*/b/*.md`, and everything from the first `**` on.
fn folders_of(pattern: &str, folders: &mut Vec<Glob>) {
    let mut end = 0;
    let mut braces = 0_i32;
    let parts: Vec<&str> = pattern.split('/').collect();
    for (at, part) in parts.iter().enumerate() {
        braces += part.matches('{').count() as i32 - part.matches('}').count() as i32;
        let before = pattern[..end].trim_end_matches('/');
        end += part.len() + 1;
        let is_file = at + 1 == parts.len() && DocumentFormat::of(part).is_some();
        if *part == "**" || braces != 0 {
            let below = if before.is_empty() {
                "**".to_owned()
            } else {
                format!("{before}/**")
            };
            folders.extend(glob(&below));
            return;
        }
        if !is_file {
            folders.extend(glob(&pattern[..end - 1]));
        }
        if at + 1 == parts.len() && !is_file {
            folders.extend(glob(&format!("{pattern}/**")));
        }
    }
}

fn set_of(globs: Vec<Glob>) -> GlobSet {
    let mut set = GlobSetBuilder::new();
    for glob in globs {
        set.add(glob);
    }
    set.build().unwrap_or_else(|_| GlobSet::empty())
}

/// The rules of `.gitignore` that hold in a folder, innermost first.
#[derive(Debug)]
pub(super) struct IgnoreRules {
    /// Folder of the rules, relative to the root of the workspace; none for
    /// rules from above it.
    folder: Option<String>,
    rules: Gitignore,
    outer: Option<Arc<IgnoreRules>>,
}

/// Upper bound for the bytes of a list of rules; a longer file is something
/// else.
const MAX_RULE_FILE_BYTES: u64 = 1 << 20;

impl IgnoreRules {
    /// Returns the rules from above the workspace's root: of the repository
    /// that contains it, and of that repository alone.
    pub(super) fn above(root: &Path) -> Option<Arc<IgnoreRules>> {
        let is_top = |folder: &Path| folder.join(".git").symlink_metadata().is_ok();
        let top = root.ancestors().find(|folder| is_top(folder))?;
        let mut rules = None;
        let exclude = top.join(".git/info/exclude");
        rules = read_rules(top, &exclude, None, rules.clone()).or(rules);
        let mut between: Vec<PathBuf> = root
            .ancestors()
            .skip(1)
            .take_while(|folder| folder.starts_with(top))
            .map(Path::to_path_buf)
            .collect();
        between.reverse();
        for folder in between {
            let file = folder.join(".gitignore");
            rules = read_rules(&folder, &file, None, rules.clone()).or(rules);
        }
        rules
    }

    /// Returns the rules that hold in a folder which has a `.gitignore`.
    pub(super) fn inside(
        root: &Path,
        folder: &str,
        outer: Option<Arc<IgnoreRules>>,
    ) -> Option<Arc<IgnoreRules>> {
        let absolute = root.join(folder);
        let file = absolute.join(".gitignore");
        read_rules(&absolute, &file, Some(folder.to_owned()), outer.clone()).or(outer)
    }

    /// Returns `true` if git ignores this path of the workspace.
    pub(super) fn ignores(&self, root: &Path, path: &str, is_folder: bool) -> bool {
        let matched = match &self.folder {
            Some(folder) => {
                let inner = path.strip_prefix(folder.as_str()).unwrap_or(path);
                self.rules.matched(inner.trim_start_matches('/'), is_folder)
            }
            None => self.rules.matched(root.join(path), is_folder),
        };
        match matched {
            ignore::Match::Ignore(_) => true,
            ignore::Match::Whitelist(_) => false,
            ignore::Match::None => {
                let outer = self.outer.as_ref();
                outer.is_some_and(|outer| outer.ignores(root, path, is_folder))
            }
        }
    }
}

fn read_rules(
    folder: &Path,
    file: &Path,
    name: Option<String>,
    outer: Option<Arc<IgnoreRules>>,
) -> Option<Arc<IgnoreRules>> {
    let text = regular::read_text(file, LinkPolicy::Refuse, MAX_RULE_FILE_BYTES).ok()?;
    let mut builder = GitignoreBuilder::new(folder);
    for line in text.lines() {
        // A rule that git would not understand either has no effect.
        let _ = builder.add_line(None, line);
    }
    let rules = builder.build().ok()?;
    Some(Arc::new(IgnoreRules {
        folder: name,
        rules,
        outer,
    }))
}

/// Returns `true` if git ignores a path or a folder on the way to it.
pub(super) fn is_ignored(root: &Path, path: &str) -> bool {
    let mut rules = IgnoreRules::above(root);
    let mut folder = "";
    loop {
        rules = IgnoreRules::inside(root, folder, rules);
        let from = if folder.is_empty() {
            0
        } else {
            folder.len() + 1
        };
        let next = path[from..].find('/').map(|at| &path[..from + at]);
        let (part, is_folder) = next.map_or((path, false), |it| (it, true));
        let ignores = |it: &Arc<IgnoreRules>| it.ignores(root, part, is_folder);
        if rules.as_ref().is_some_and(ignores) {
            return true;
        }
        let Some(next) = next else { return false };
        folder = next;
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn included(include: &[&str], exclude: &[&str]) -> IncludedFiles {
        let texts = |globs: &[&str]| globs.iter().map(|it| it.to_string()).collect();
        let config = KnowledgeConfig {
            include: texts(include),
            exclude: texts(exclude),
        };
        IncludedFiles::of(&config).expect("there are globs")
    }

    #[test]
    fn globs_name_documents_and_no_other_files() {
        let table = [
            ("docs/**", "docs/a/b.md", true),
            ("docs/**", "docs/a.html.markdown", true),
            ("docs/**", "docs/a.mdx", true),
            ("docs/**", "docs/a.txt", false),
            ("docs/**/*.txt", "docs/a.txt", true),
            ("docs/**/*.{md,txt}", "docs/b/a.txt", true),
            ("docs/**", "docs/a.png", false),
            ("docs", "docs/a/b.md", true),
            ("docs/", "docs/b.md", true),
            ("docs/*", "docs/b.md", true),
            ("docs/*.md", "docs/a/b.md", false),
            ("./README.md", "README.md", true),
            ("README.md", "docs/README.md", false),
            ("crates/*/docs/**", "crates/a/docs/b.md", true),
            ("crates/*/docs/**", "crates/a/src/b.md", false),
            ("**/*.mdx", "a/b/c.mdx", true),
            ("**/*.mdx", "c.mdx", true),
            ("{docs,rfcs}/**", "rfcs/a.md", true),
            ("**", "node_modules/a/README.md", false),
            ("**", ".github/a.md", false),
            (".github/*.md", ".github/a.md", true),
            ("vendor/x/**", "vendor/x/a.md", true),
        ];
        for (glob, path, expect) in table {
            assert_eq!(
                included(&[glob], &[]).matches(path),
                expect,
                "{glob} {path}"
            );
            if expect {
                let mut folder = path;
                while let Some((outer, _)) = folder.rsplit_once('/') {
                    folder = outer;
                    assert!(included(&[glob], &[]).may_hold(folder), "{glob} {folder}");
                }
            }
        }
        assert!(!included(&["docs/**"], &["docs/old/**"]).matches("docs/old/a.md"));
        assert!(!included(&["crates/*/docs/**"], &[]).may_hold("crates/a/src"));
        assert!(!included(&["README.md"], &[]).may_hold("src"));
    }

    #[test]
    fn a_glob_that_leads_out_or_is_broken_is_a_fault() {
        for glob in ["", "/etc/**", "../x/**", "a/../../b", "docs/[a", "{a"] {
            assert!(glob_fault(glob).is_some(), "{glob}");
        }
        assert_eq!(glob_fault("docs/**/*.{md,mdx}"), None);
    }

    #[test]
    fn what_git_ignores_is_known_without_git() {
        let dir = tempfile::tempdir().expect("there is room");
        let top = dir.path();
        let write = |path: &str, text: &str| {
            let path = top.join(path);
            std::fs::create_dir_all(path.parent().expect("it has one")).expect("there is room");
            std::fs::write(path, text).expect("there is room");
        };
        write(".git/info/exclude", "private.md\n");
        write(".gitignore", "*.gen.md\n/pkg/build/\n");
        write("pkg/docs/.gitignore", "draft.md\n!keep.gen.md\n");
        let root = top.join("pkg");
        for (path, expect) in [
            ("docs/a.md", false),
            ("docs/a.gen.md", true),
            ("docs/keep.gen.md", false),
            ("docs/deep/draft.md", true),
            ("build/a.md", true),
            ("docs/build/a.md", false),
            ("private.md", true),
        ] {
            assert_eq!(is_ignored(&root, path), expect, "{path}");
        }
    }
}
