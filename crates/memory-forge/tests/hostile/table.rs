//! Every place that the program reads or writes, in the workspace and in the
//! home. A place that is not here fails a test as soon as a call looks at it.

pub(crate) struct Row {
    /// `*` is any part of a name, `**` any number of folders, `+` a name
    /// without a dot, as folders of notes have; `home:` is the home.
    pub(crate) pattern: &'static str,
    /// Where something is put when no trace says which places a call looks at;
    /// none where names are made up at each call.
    pub(crate) example: Option<&'static str>,
}

const fn row(pattern: &'static str, example: &'static str) -> Row {
    Row {
        pattern,
        example: Some(example),
    }
}

/// The first row that fits counts.
pub(crate) const ROWS: &[Row] = &[
    // Names that are new at each call.
    Row {
        pattern: "**/.memory-forge-*.tmp",
        example: None,
    },
    Row {
        pattern: "home:**/.memory-forge-*.tmp",
        example: None,
    },
    Row {
        pattern: "home:.local/state/memory-forge/.key-*",
        example: None,
    },
    // Copies from before the first change, beside a file.
    row(
        "**/*.memory-forge-backup",
        "DECISIONS.md.memory-forge-backup",
    ),
    row(
        "home:**/*.memory-forge-backup",
        "home:.claude.json.memory-forge-backup",
    ),
    // Settings.
    row("memory-forge.toml", "memory-forge.toml"),
    row(".memoryforge.config.json", ".memoryforge.config.json"),
    row("memory-forge-plan.toml", "memory-forge-plan.toml"),
    row(".memoryforge-version", ".memoryforge-version"),
    // Derived.
    row(".memory-forge", ".memory-forge"),
    row(".memory-forge/*.lock", ".memory-forge/write.lock"),
    row(".memory-forge/index.db*", ".memory-forge/index.db"),
    row(".memory-forge/*", ".memory-forge/manifest.json"),
    row(
        ".memory-forge/undo/**",
        ".memory-forge/undo/0001/entry.json",
    ),
    row(".memory-forge/**", ".memory-forge/audit/a.json"),
    // git.
    row(".git", ".git"),
    row(".git/HEAD", ".git/HEAD"),
    row(".git/config", ".git/config"),
    row(".git/config.*", ".git/config.worktree"),
    row(".git/index", ".git/index"),
    row(".git/packed-refs", ".git/packed-refs"),
    row(".git/commondir", ".git/commondir"),
    row(".git/shallow", ".git/shallow"),
    row(".git/worktrees", ".git/worktrees"),
    row(".git/worktrees/**", ".git/worktrees/other/gitdir"),
    row(".git/info/**", ".git/info/exclude"),
    row(".git/refs/**", ".git/refs/heads/main"),
    row(".git/objects/**", ".git/objects/info/alternates"),
    row(".git/**", ".git/hooks"),
    // A folder that holds this would be a repository without `.git`.
    row("HEAD", "HEAD"),
    row(".gitmodules", ".gitmodules"),
    row(".mailmap", ".mailmap"),
    row(".gitignore", ".gitignore"),
    row(".gitattributes", ".gitattributes"),
    row("**/.gitignore", "knowledge/.gitignore"),
    row("**/.gitattributes", "knowledge/.gitattributes"),
    row("**/.git", "knowledge/.git"),
    // State.
    row(".mind", ".mind"),
    row(".mind/STATE.md", ".mind/STATE.md"),
    row(".mind/PROGRESS.md", ".mind/PROGRESS.md"),
    row(".mind/DECISIONS.md", ".mind/DECISIONS.md"),
    row(".mind/SESSION-LOG.md", ".mind/SESSION-LOG.md"),
    row(".mind/checkpoints/**", ".mind/checkpoints/latest.md"),
    row(".mind/evidence", ".mind/evidence"),
    row(".mind/evidence/**", ".mind/evidence/log.jsonl"),
    row(".mind/.pushes", ".mind/.pushes"),
    row(".mind/.*", ".mind/.session-start"),
    row(".mind/**", ".mind/ARCHIVE.md"),
    row("memory", "memory"),
    row("memory/status.md", "memory/status.md"),
    row("memory/decisions.md", "memory/decisions.md"),
    row("memory/session-log.md", "memory/session-log.md"),
    row("memory/.*", "memory/.upgrade.lock"),
    row("memory/**", "memory/ideas.md"),
    // Knowledge.
    row("knowledge", "knowledge"),
    row("knowledge/_FORGOTTEN.md", "knowledge/_FORGOTTEN.md"),
    row("knowledge/README.md", "knowledge/README.md"),
    row("knowledge/MEMORY.md", "knowledge/MEMORY.md"),
    row("knowledge/*.md", "knowledge/refunds.md"),
    row("knowledge/**", "knowledge/archive"),
    // Routing.
    row("_MANIFEST.md", "_MANIFEST.md"),
    row("**/_CLOSETS*.md", "garden/_CLOSETS.md"),
    // Agents.
    row(".agents", ".agents"),
    row(
        ".agents/**/MEMORY.md",
        ".agents/memory/eng/builder/MEMORY.md",
    ),
    row(".agents/**", ".agents/memory"),
    // What clients load, and their settings.
    row("CLAUDE.md", "CLAUDE.md"),
    row("AGENTS.md", "AGENTS.md"),
    row("GEMINI.md", "GEMINI.md"),
    row(".claude/settings*.json", ".claude/settings.json"),
    row(".claude/**", ".claude/skills/a/SKILL.md"),
    row(".claude", ".claude"),
    row(".mcp.json", ".mcp.json"),
    row(".codex/**", ".codex/config.toml"),
    row(".gemini/**", ".gemini/settings.json"),
    row(".cursor/**", ".cursor/hooks.json"),
    row(".github/**", ".github/hooks/memory-forge.json"),
    row(".opencode/**", ".opencode/plugin/memory-forge.js"),
    row("opencode.json*", "opencode.json"),
    // Other tools that remember.
    row(".claude-mem*", ".claude-mem"),
    row(".ledger", ".ledger"),
    row(".toon", ".toon"),
    // Files of a build or a site, whose presence says that folders have an order.
    row("*.toml", "Cargo.toml"),
    row("*.json", "package.json"),
    row("*.y*ml", "mkdocs.yml"),
    row("*.config.*s", "docusaurus.config.ts"),
    row("setup.*", "setup.py"),
    row("build.gradle*", "build.gradle"),
    row("*.bazel", "BUILD.bazel"),
    row("*.txt", "requirements.txt"),
    row("configure.ac", "configure.ac"),
    row("flake.nix", "flake.nix"),
    row("gatsby-config.js", "gatsby-config.js"),
    row("go.mod", "go.mod"),
    row("Makefile.am", "Makefile.am"),
    row("meson.build", "meson.build"),
    row("mix.exs", "mix.exs"),
    row("Package.swift", "Package.swift"),
    row("pom.xml", "pom.xml"),
    row("tox.ini", "tox.ini"),
    // Other files of the project.
    row("**/*.md", "garden/beans.md"),
    row("**/*.jsonl", "t/a.jsonl"),
    row("*.log", "big.log"),
    row("src/**", "src/main.rs"),
    row("out/**", "out/memory.json"),
    row("site/**", "site/index.html"),
    row("**/+", "garden"),
    // The home.
    row("home:.claude.json", "home:.claude.json"),
    row("home:.claude/projects/**", "home:.claude/projects"),
    row("home:.claude/**", "home:.claude/settings.json"),
    row("home:.codex/**", "home:.codex/config.toml"),
    row("home:.gemini/**", "home:.gemini/settings.json"),
    row("home:.cursor/**", "home:.cursor/hooks.json"),
    row("home:.copilot/**", "home:.copilot/mcp-config.json"),
    row("home:.config/**", "home:.config/opencode/opencode.json"),
    row("home:.memex/**", "home:.memex/sources.md"),
    row("home:.claude-mem/**", "home:.claude-mem/claude-mem.db"),
    // Folders above ours are the person's own arrangement, links included.
    Row {
        pattern: "home:.local",
        example: None,
    },
    Row {
        pattern: "home:.local/state",
        example: None,
    },
    row("home:.local/**", "home:.local/state/memory-forge/key"),
    row("home:.gitconfig", "home:.gitconfig"),
    row("home:.git/**", "home:.git"),
    row("home:HEAD", "home:HEAD"),
    // Another workspace, whose files a source is.
    row("home:club/**", "home:club/knowledge"),
];

/// The row of a place.
pub(crate) fn row_of(place: &str) -> Option<usize> {
    ROWS.iter().position(|row| fits(row.pattern, place))
}

pub(crate) fn found(place: &str) -> Option<&'static Row> {
    row_of(place).map(|at| &ROWS[at])
}

fn fits(pattern: &str, place: &str) -> bool {
    let (home, pattern) = parted(pattern);
    let (in_home, place) = parted(place);
    let names = |text: &str| text.split('/').map(str::to_owned).collect::<Vec<_>>();
    home == in_home && fit(&names(pattern), &names(place))
}

/// Whether it lies in the home, and where.
fn parted(text: &str) -> (bool, &str) {
    match text.strip_prefix("home:") {
        Some(rest) => (true, rest),
        None => (false, text),
    }
}

fn fit(pattern: &[String], place: &[String]) -> bool {
    match pattern.split_first() {
        None => place.is_empty(),
        Some((first, rest)) if first == "**" => {
            (0..=place.len()).any(|skipped| fit(rest, &place[skipped..]))
        }
        Some((first, rest)) => place
            .split_first()
            .is_some_and(|(name, others)| named(first, name) && fit(rest, others)),
    }
}

fn named(pattern: &str, name: &str) -> bool {
    match pattern.split_once('*') {
        None if pattern == "+" => !name.contains('.'),
        None => pattern == name,
        Some((before, after)) => {
            let Some(rest) = name.strip_prefix(before) else {
                return false;
            };
            (0..=rest.len())
                .filter(|at| rest.is_char_boundary(*at))
                .any(|at| named(after, &rest[at..]))
        }
    }
}

#[test]
fn patterns_fit_what_they_say() {
    for (pattern, place, expect) in [
        ("a.md", "a.md", true),
        ("a.md", "b/a.md", false),
        ("**/*.md", "a.md", true),
        ("**/*.md", "b/c/a.md", true),
        (".git/**", ".git", true),
        (".git/**", ".gitignore", false),
        ("home:.claude/**", "home:.claude/a/b", true),
        ("**/*.md", "home:a.md", false),
        ("home:**/*.md", "home:b/a.md", true),
        ("**/+", "a/b", true),
        ("**/+", "a/b.json", false),
        (
            ".memory-forge/index.db*",
            ".memory-forge/index.db-wal",
            true,
        ),
        ("**/_CLOSETS*.md", "garden/_CLOSETS-archive.md", true),
    ] {
        assert_eq!(fits(pattern, place), expect, "{pattern} {place}");
    }
}
