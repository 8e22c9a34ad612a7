//! What stays where it is because something reads it there: files that every
//! repository has, and files that code, a build, a site or a client knows by
//! their paths. A note that moves costs a click; a page that moves breaks links
//! that this workspace cannot see.

use std::collections::HashSet;

use super::PLAN_OPENING;
use crate::workspace::{RelPath, Workspace, WorkspaceTree};

/// Files at the root that say that the repository is software, or the source of
/// a site: its folders have an order that others rely on.
#[rustfmt::skip]
const PROJECT_FILES: &[&str] = &[
    "BUILD.bazel", "CMakeLists.txt", "Cargo.toml", "Gemfile", "Makefile.am", "MODULE.bazel",
    "Package.swift", "Pipfile", "_config.yml", "_quarto.yml", "antora.yml", "astro.config.mjs",
    "astro.config.ts", "book.toml", "build.gradle", "build.gradle.kts", "composer.json",
    "configure.ac", "deno.json", "docs.json", "docusaurus.config.js", "docusaurus.config.ts",
    "flake.nix", "gatsby-config.js", "go.mod", "hugo.toml", "hugo.yaml", "lerna.json",
    "meson.build", "mint.json", "mix.exs", "mkdocs.yaml", "mkdocs.yml", "netlify.toml",
    "package.json", "pnpm-workspace.yaml", "pom.xml", "pubspec.yaml", "pyproject.toml",
    "quartz.config.ts", "requirements.txt", "setup.cfg", "setup.py", "stack.yaml", "tox.ini",
    "turbo.json", "vercel.json", "zensical.toml",
];

/// Files in a folder that say the same of everything below it.
#[rustfmt::skip]
const FOLDER_FILES: &[&str] = &[
    "Cargo.toml", "SKILL.md", "SUMMARY.md", "_category_.json", "_config.yml", "_meta.js",
    "_meta.json", "_meta.ts", "_sidebar.md", "antora.yml", "astro.config.mjs", "book.toml",
    "build.gradle", "composer.json", "conf.py", "docs.json", "docusaurus.config.js",
    "docusaurus.config.ts", "go.mod", "hugo.toml", "meta.json", "mint.json", "mkdocs.yaml",
    "mkdocs.yml", "package.json", "pom.xml", "pyproject.toml", "setup.py", "sidebars.js",
    "sidebars.ts", "toc.yml",
];

/// Names that readers of a repository, its host or its tools look for.
#[rustfmt::skip]
const COMMUNITY_NAMES: &[&str] = &[
    "_index", "agents", "architecture", "authors", "building", "changelog", "changes", "citation",
    "claude", "code-of-conduct", "code_of_conduct", "codeowners", "contributing", "contributors",
    "copying", "credits", "development", "faq", "funding", "gemini", "governance", "guide",
    "hacking", "history", "index", "install", "installation", "issue_template", "licence",
    "license", "maintainers", "manifesto", "memory", "migration", "news", "notice", "owners",
    "publishing", "pull_request_template", "readme", "release", "release-checklist", "releases",
    "releasing", "roadmap", "security", "skill", "styleguide", "summary", "support", "thanks",
    "third-party", "third_party", "todo", "troubleshooting", "upgrading", "versioning",
];

/// Folders whose files tests, tools or hosts read.
#[rustfmt::skip]
const FIXED_FOLDERS: &[&str] = &[
    "__fixtures__", "__snapshots__", "__tests__", "agents", "bench", "benchmarks", "commands",
    "e2e", "evals", "example", "examples", "fixture", "fixtures", "golden", "mocks", "prompts",
    "rules", "samples", "skill", "skills", "snapshots", "spec", "specs", "templates", "test",
    "test-data", "test_data", "testdata", "tests", "vendor", "third_party",
];

/// Files of software that has no such file at its root.
#[rustfmt::skip]
const CODE_EXTENSIONS: &[&str] = &[
    "c", "cc", "cpp", "cs", "dart", "ex", "go", "h", "hpp", "hs", "java", "jl", "js", "jsx", "kt",
    "lua", "m", "ml", "php", "pl", "py", "r", "rb", "rs", "scala", "sh", "sql", "swift", "ts",
    "tsx", "vue", "zig",
];

/// With more files of code than of notes, and at least this many, a repository
/// is software.
const MIN_CODE_FILES: usize = 10;

/// Files that are searched for the names of notes; with more of them no one can
/// say what is read, so everything stays.
const MAX_READERS: usize = 2_000;

/// Files with more bytes than this are data.
const MAX_READER_BYTES: usize = 256 * 1024;

/// Files and folders that must not move.
pub(super) struct FixedPaths {
    /// Whether the whole repository is software or the source of a site.
    is_project: bool,
    folders: Vec<String>,
    /// Names of Markdown files that other files mention.
    mentioned: HashSet<String>,
    is_unknown: bool,
}

impl FixedPaths {
    pub(super) fn of(workspace: &Workspace, tree: &WorkspaceTree) -> FixedPaths {
        let root = workspace.root();
        let mut fixed = FixedPaths {
            is_project: PROJECT_FILES.iter().any(|name| root.join(name).is_file()),
            folders: Vec::new(),
            mentioned: HashSet::new(),
            is_unknown: false,
        };
        let is_code = |path: &RelPath| {
            let extension = path.file_name().rsplit_once('.').map(|(_, it)| it);
            extension.is_some_and(|it| CODE_EXTENSIONS.contains(&it))
        };
        let code = tree.files.iter().filter(|it| is_code(&it.path)).count();
        let notes = tree.files.iter().filter(|it| it.is_markdown()).count();
        fixed.is_project |= code >= MIN_CODE_FILES && code > notes;
        if fixed.is_project {
            return fixed;
        }
        let mut readers = 0;
        for file in &tree.files {
            let path = &file.path;
            if FOLDER_FILES.contains(&path.file_name())
                && let Some(folder) = path.parent()
            {
                fixed.folders.push(format!("{folder}/"));
            }
            if file.is_markdown() {
                continue;
            }
            readers += 1;
            if readers > MAX_READERS {
                fixed.is_unknown = true;
                break;
            }
            // A plan names all the notes that it is about, and reads none.
            if let Ok(text) = workspace.read_text(path)
                && text.len() <= MAX_READER_BYTES
                && !text.starts_with(PLAN_OPENING)
            {
                fixed.mentioned.extend(markdown_names(&text));
            }
        }
        fixed
    }

    /// Returns whether the whole repository is software or the source of a site.
    pub(super) fn is_project(&self) -> bool {
        self.is_project
    }

    /// Returns whether something reads this file where it is.
    pub(super) fn is_fixed(&self, path: &RelPath) -> bool {
        let stem = path.stem().to_lowercase();
        let folders: Vec<&str> = path.components().collect();
        let is_in_fixed = folders[..folders.len().saturating_sub(1)]
            .iter()
            .any(|name| {
                name.starts_with('.') || FIXED_FOLDERS.contains(&name.to_lowercase().as_str())
            });
        self.is_project
            || self.is_unknown
            || is_in_fixed
            || COMMUNITY_NAMES.contains(&stem.as_str())
            || self.folders.iter().any(|it| path.as_str().starts_with(it))
            || self.mentioned.contains(path.file_name())
    }
}

/// The names of Markdown files that a text mentions.
fn markdown_names(text: &str) -> impl Iterator<Item = String> + '_ {
    [".md", ".mdx", ".markdown"]
        .into_iter()
        .flat_map(move |ending| {
            text.match_indices(ending).filter_map(move |(at, _)| {
                let is_name = |c: char| c.is_alphanumeric() || matches!(c, '-' | '_' | '.');
                let start = text[..at].rfind(|c| !is_name(c)).map_or(0, |it| {
                    it + text[it..].chars().next().map_or(1, char::len_utf8)
                });
                (start < at).then(|| format!("{}{ending}", &text[start..at]))
            })
        })
}

/// Words that name notes and that people use in sentences all the same.
#[rustfmt::skip]
const COMMON_WORDS: &[&str] = &[
    "about", "access", "account", "agent", "agents", "alert", "api", "app", "apps", "architecture",
    "archive", "asset", "assets", "auth", "backend", "backup", "base", "basic", "basics", "bench",
    "book", "bug", "bugs", "build", "cache", "changes", "chat", "check", "class", "cli", "client",
    "clients", "code", "command", "commands", "common", "community", "component", "components",
    "concept", "concepts", "config", "configuration", "contact", "contacts", "container", "content",
    "context", "core", "create", "data", "database", "debug", "default", "demo", "deploy",
    "deployment", "design", "develop", "development", "document", "documents", "email",
    "environment", "error", "errors", "event", "events", "example", "examples", "export", "faq",
    "feature", "features", "file", "files", "filter", "format", "frontend", "function", "functions",
    "general", "getting", "git", "goal", "goals", "group", "guide", "guides", "help", "history",
    "home", "hooks", "idea", "ideas", "image", "images", "import", "index", "info", "input",
    "install", "installation", "integration", "integrations", "intro", "introduction", "issue",
    "issues", "journal", "key", "keys", "language", "layout", "library", "license", "link", "links",
    "list", "local", "logging", "logs", "main", "manual", "meeting", "memory", "message",
    "messages", "method", "metrics", "migration", "model", "models", "module", "modules", "name",
    "network", "news", "note", "notes", "object", "objects", "option", "options", "order", "output",
    "overview", "package", "packages", "page", "pages", "people", "performance", "permission",
    "permissions", "plan", "plans", "platform", "plugin", "plugins", "policy", "problem", "process",
    "product", "production", "profile", "project", "projects", "provider", "query", "question",
    "questions", "queue", "quick", "quickstart", "reference", "references", "release", "releases",
    "report", "request", "resources", "response", "result", "results", "review", "roadmap", "role",
    "rules", "schema", "scope", "scripts", "search", "secret", "secrets", "security", "server",
    "servers", "service", "services", "session", "settings", "setup", "source", "sources",
    "staging", "start", "started", "state", "status", "storage", "structure", "style", "summary",
    "support", "syntax", "system", "table", "tables", "target", "task", "tasks", "team", "teams",
    "template", "templates", "terminal", "test", "testing", "tests", "text", "theme", "thread",
    "time", "title", "todo", "token", "tokens", "tool", "tools", "topic", "topics", "type", "types",
    "update", "updates", "upgrade", "usage", "user", "users", "value", "values", "variables",
    "version", "versions", "view", "views", "volume", "web", "work", "workflow", "workspace",
];

/// Whether a name is a word that sentences use without meaning the note.
pub(super) fn is_common_word(name: &str) -> bool {
    let lower = name.to_lowercase();
    let mut words = lower.split([' ', '-', '_']);
    words.all(|word| word.chars().count() < 3 || COMMON_WORDS.contains(&word))
}

#[cfg(test)]
mod tests {
    use super::*;
    use testkit::TestWorkspace;

    fn fixed(files: &str, path: &str) -> bool {
        let ws = TestWorkspace::files(files);
        let workspace = Workspace::open(ws.root()).unwrap();
        let fixed = FixedPaths::of(&workspace, &workspace.tree());
        fixed.is_fixed(&RelPath::new(path).unwrap())
    }

    #[test]
    fn what_something_reads_by_its_path_is_fixed() {
        let check = |files: &str, path: &str| assert!(fixed(files, path), "{path}");
        check("//- Cargo.toml\n[package]\n", "ideas.md");
        check("//- mkdocs.yml\nsite_name: a\n", "docs/guide/ideas.md");
        check("//- book/book.toml\n[book]\n", "book/src/ideas.md");
        check("//- a/SUMMARY.md\n# Summary\n", "a/b/ideas.md");
        check("//- tools/SKILL.md\n# Tool\n", "tools/ideas.md");
        check("//- publish.sh\ncp misc/ideas.md out/\n", "misc/ideas.md");
        check("//- a.md\n# A\n", "SECURITY.md");
        check("//- a.md\n# A\n", "x/Contributing.md");
        check("//- a.md\n# A\n", "tests/data/ideas.md");
        check("//- a.md\n# A\n", ".github/ideas.md");
        assert!(!fixed("//- a.md\n# A\n", "misc/ideas.md"));
        assert!(!fixed(
            "//- run.sh\ncat ideas.md\n",
            "misc/plans-for-may.md"
        ));
    }

    #[test]
    fn common_words_name_no_note() {
        for common in [
            "config",
            "Settings",
            "api-reference",
            "getting started",
            "to do",
        ] {
            assert!(is_common_word(common), "{common}");
        }
        for rare in ["lease", "rye-bread", "Release Checklist May", "landlord"] {
            assert!(!is_common_word(rare), "{rare}");
        }
    }
}
