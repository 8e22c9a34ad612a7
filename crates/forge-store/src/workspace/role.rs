//! Derives the purpose of a file from its path alone.
//!
//! The role decides whether a file is indexed, audited or linted. Nothing here
//! opens a file: the caller checks `status: archived` in front matter.

use std::sync::Arc;

use forge_text::document::DocumentFormat;

use super::included::IncludedFiles;
use super::{DERIVED_FOLDER, RelPath};

/// The part a document plays, in the order in which they are tried.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum FileRole {
    /// Rebuilt at will, in `.memory-forge/`.
    Derived,
    /// Loaded by an agent without a request.
    Autoload,
    /// Describes other documents and is read first.
    Routing,
    /// One agent's own memory.
    Agent,
    /// The state of the work, shown through the briefing.
    State,
    /// Kept for ever, looked at last.
    Archive,
    /// Found by search.
    Knowledge,
    /// None of ours.
    Untracked,
}

/// Roles in one workspace: by the path alone, by the domains of its manifest,
/// and by what its settings include.
#[derive(Debug, Clone, Default)]
pub struct PathRoles {
    domains: Vec<String>,
    included: Option<Arc<IncludedFiles>>,
}

impl PathRoles {
    pub(crate) fn new(domains: Vec<String>, included: Option<Arc<IncludedFiles>>) -> PathRoles {
        PathRoles { domains, included }
    }

    /// Returns the folders of the manifest's Hub Map.
    pub fn domains(&self) -> &[String] {
        &self.domains
    }

    pub(super) fn included(&self) -> Option<&IncludedFiles> {
        self.included.as_deref()
    }

    /// Returns the role of a path. A file that git ignores is left out of an
    /// included tree by a caller that can look; see `Workspace::role`.
    pub fn of(&self, path: &RelPath) -> FileRole {
        match role_with_domains(path, &self.domains) {
            FileRole::Untracked if self.includes(path) => FileRole::Knowledge,
            // In folders of other tools such a name does not give a file's role.
            role @ (FileRole::Routing | FileRole::Archive)
                if is_by_ending(path.as_str()) && self.includes(path) =>
            {
                if is_knowledge_file(path.as_str(), &self.domains) {
                    role
                } else {
                    FileRole::Knowledge
                }
            }
            role => role,
        }
    }

    /// Returns `true` if the settings name this file, whatever else it is.
    pub fn includes(&self, path: &RelPath) -> bool {
        let included = self.included.as_ref();
        included.is_some_and(|included| included.matches(path.as_str()))
    }
}

/// Returns the role that a path has whatever the manifest contains. Files of a
/// domain are [`FileRole::Untracked`] here: it is for callers that mean
/// `knowledge/` or a folder of ours alone. `Workspace::role` knows domains.
pub fn role_by_path(path: &RelPath) -> FileRole {
    role_with_domains(path, &[])
}

/// Returns the role of a path. `domains` are the folders of the manifest's Hub
/// Map, such as `working/legal`; they count as knowledge.
pub fn role_with_domains(path: &RelPath, domains: &[String]) -> FileRole {
    let path = path.as_str();
    if first_component(path) == DERIVED_FOLDER {
        return FileRole::Derived;
    }
    if is_autoload(path) {
        return FileRole::Autoload;
    }
    // All other roles are for Markdown, and all but knowledge for its usual
    // spelling.
    if !path.ends_with(".md") {
        let is_markdown = DocumentFormat::of(path).is_some_and(DocumentFormat::is_markdown);
        let is_document = is_markdown && is_knowledge_file(path, domains);
        return if is_document && !is_archive_file(path, domains) {
            FileRole::Knowledge
        } else {
            FileRole::Untracked
        };
    }
    if is_routing_file(path) {
        FileRole::Routing
    } else if is_agent_memory(path) {
        FileRole::Agent
    } else if is_state_file(path) {
        FileRole::State
    } else if is_archive_file(path, domains) {
        FileRole::Archive
    } else if is_knowledge_file(path, domains) {
        FileRole::Knowledge
    } else {
        FileRole::Untracked
    }
}

/// Returns `true` for a file that agents load without a request.
pub(super) fn is_autoload(path: &str) -> bool {
    // What was moved out of such a file keeps its name, in `knowledge/legacy/`:
    // there the first folder decides, so that it can be searched.
    let named = matches!(
        file_name(path),
        "CLAUDE.md" | "CLAUDE.local.md" | "AGENTS.md" | "GEMINI.md"
    );
    if named && first_component(path) != "knowledge" {
        return true;
    }
    // Agents also read the folders of nested packages, so any depth counts. A
    // path without a dot folder is the common case and is done at once.
    if !path.starts_with('.') && !path.contains("/.") {
        return false;
    }
    let mut folders = path.split('/').peekable();
    while let Some(folder) = folders.next() {
        // The last component is the file itself.
        let Some(&next) = folders.peek() else { break };
        match (folder, next) {
            (".claude" | ".codex" | ".opencode", _)
            | (".agents", "skills")
            | (".cursor", "rules") => return true,
            (".github", "copilot-instructions.md") => return true,
            _ => {}
        }
    }
    false
}

fn is_routing_file(path: &str) -> bool {
    let name = file_name(path);
    matches!(
        name,
        "_MANIFEST.md" | "_CLOSETS.md" | "_CLOSETS-archive.md" | "MEMORY.md" | "MEMORY.local.md"
    ) || name.starts_with("MEMORY-more")
        || name.ends_with("-index.md")
        || matches!(path, "knowledge/README.md" | "knowledge/_FORGOTTEN.md")
}

/// The endings that make a hub page and an archive of a document of ours.
fn is_by_ending(path: &str) -> bool {
    path.ends_with("-index.md")
        || path.ends_with("-archive.md") && first_component(path) != "memory"
}

/// The squad and the agent are both needed; files above them have no owner.
fn is_agent_memory(path: &str) -> bool {
    path.starts_with(".agents/memory/") && path.split('/').count() == 5
}

fn is_state_file(path: &str) -> bool {
    matches!(
        path,
        "memory/status.md"
            | "memory/session-log.md"
            | "memory/decisions.md"
            | "memory/glossary.md"
            | "scratch/ideas.md"
    ) || path
        .strip_prefix(".mind/")
        .is_some_and(|rest| !rest.contains('/'))
}

fn is_archive_file(path: &str, domains: &[String]) -> bool {
    let name = file_name(path);
    if name == "ARCHIVE.md" || name.ends_with("-archive.md") {
        return true;
    }
    // `src/archive/` is code of the project; ours is at the root or in our
    // folders.
    first_component(path) == "archive"
        || (path.contains("/archive/")
            && (matches!(first_component(path), "knowledge" | "memory" | ".mind")
                || path.starts_with(".agents/memory/")
                || is_in_domain(path, domains)))
}

fn is_knowledge_file(path: &str, domains: &[String]) -> bool {
    path.starts_with("knowledge/") || is_in_domain(path, domains)
}

fn is_in_domain(path: &str, domains: &[String]) -> bool {
    domains.iter().any(|domain| {
        path.strip_prefix(domain.trim_end_matches('/'))
            .is_some_and(|rest| rest.starts_with('/'))
    })
}

fn first_component(path: &str) -> &str {
    path.split_once('/').map_or(path, |(first, _)| first)
}

fn file_name(path: &str) -> &str {
    path.rsplit_once('/').map_or(path, |(_, name)| name)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn by_the_table_first_match_in_order() {
        use FileRole::*;
        let domains = ["working/legal".to_string(), "people/".to_string()];
        let table = [
            (".memory-forge/index.db", Derived),
            (".memory-forge/knowledge/x.md", Derived),
            ("sub/.memory-forge/x.md", Untracked),
            ("CLAUDE.md", Autoload),
            ("CLAUDE.local.md", Autoload),
            ("AGENTS.md", Autoload),
            ("GEMINI.md", Autoload),
            ("packages/a/CLAUDE.md", Autoload),
            ("knowledge/legacy/CLAUDE.md", Knowledge),
            ("knowledge/legacy/packages-a-AGENTS.md", Knowledge),
            ("knowledge/CLAUDE.md", Knowledge),
            ("knowledge/.claude/CLAUDE.md", Autoload),
            ("docs/knowledge/CLAUDE.md", Autoload),
            ("claude.md", Untracked),
            (".github/copilot-instructions.md", Autoload),
            (".github/README.md", Untracked),
            ("copilot-instructions.md", Untracked),
            (".claude/knowledge/x.md", Autoload),
            (".claude/settings.json", Autoload),
            (".claude/skills/a/SKILL.md", Autoload),
            ("packages/a/.claude/skills/b/SKILL.md", Autoload),
            (".codex/x.md", Autoload),
            (".opencode/skill/a/SKILL.md", Autoload),
            (".agents/skills/a/SKILL.md", Autoload),
            (".cursor/rules/style.mdc", Autoload),
            (".cursor/other.md", Untracked),
            ("knowledge/.claude/x.md", Autoload),
            (".claude", Untracked),
            ("_MANIFEST.md", Routing),
            ("_CLOSETS.md", Routing),
            ("working/legal/_CLOSETS.md", Routing),
            ("working/legal/_CLOSETS-archive.md", Routing),
            ("working/legal/legal-index.md", Routing),
            ("knowledge/api-index.md", Routing),
            ("knowledge/index.md", Knowledge),
            ("MEMORY.md", Routing),
            (".agents/memory/squad/agent/MEMORY.md", Routing),
            (".agents/memory/squad/agent/MEMORY.local.md", Routing),
            (".agents/memory/squad/agent/MEMORY-more-2.local.md", Routing),
            ("knowledge/MEMORY-more.md", Routing),
            ("knowledge/README.md", Routing),
            ("knowledge/deep/README.md", Knowledge),
            ("README.md", Untracked),
            ("knowledge/_FORGOTTEN.md", Routing),
            ("knowledge/deep/_FORGOTTEN.md", Knowledge),
            (".agents/memory/squad/agent/state.md", Agent),
            (".agents/memory/squad/shared/learnings.md", Agent),
            (".agents/memory/squad/agent/old-archive.md", Agent),
            (".agents/memory/squad/goals.md", Untracked),
            (".agents/memory/squad/agent/deep/x.md", Untracked),
            (".agents/squads/a/b.md", Untracked),
            (".mind/STATE.md", State),
            (".mind/ARCHIVE.md", State),
            (".mind/checkpoints/1.md", Untracked),
            (".mind/checkpoints/1.json", Untracked),
            ("memory/status.md", State),
            ("memory/session-log.md", State),
            ("memory/decisions.md", State),
            ("memory/glossary.md", State),
            ("memory/other.md", Untracked),
            ("scratch/ideas.md", State),
            ("scratch/other.md", Untracked),
            ("ARCHIVE.md", Archive),
            ("memory/session-log-archive.md", Archive),
            ("archive/2025/x.md", Archive),
            ("knowledge/archive/x.md", Archive),
            ("knowledge/deep/archive/x.md", Archive),
            ("knowledge/foo-archive.md", Archive),
            ("working/legal/archive/x.md", Archive),
            ("src/archive/x.md", Untracked),
            ("knowledge/archive.md", Knowledge),
            ("knowledge/archives/x.md", Knowledge),
            ("knowledge/x.md", Knowledge),
            ("knowledge/a/b/c.md", Knowledge),
            ("knowledge/x.txt", Untracked),
            ("knowledge/x.mdx", Knowledge),
            ("knowledge/x.html.markdown", Knowledge),
            ("knowledge/x.rst", Untracked),
            ("docs/x.mdx", Untracked),
            ("knowledge", Untracked),
            ("knowledge.md", Untracked),
            ("src/knowledge/x.md", Untracked),
            ("src/myknowledge/x.md", Untracked),
            ("knowledge2/x.md", Untracked),
            ("Knowledge/x.md", Untracked),
            ("working/legal/contract.md", Knowledge),
            ("working/legality/contract.md", Untracked),
            ("working/x.md", Untracked),
            ("people/anna.md", Knowledge),
        ];
        for (path, expect) in table {
            let got = role_with_domains(&RelPath::new(path).unwrap(), &domains);
            assert_eq!(got, expect, "for {path}");
        }
    }

    #[test]
    fn what_the_settings_include_is_knowledge_and_autoload_stays_autoload() {
        use FileRole::*;
        let config = super::super::config::KnowledgeConfig {
            include: vec!["**".to_owned()],
            exclude: vec!["docs/old/**".to_owned()],
        };
        let included = IncludedFiles::of(&config).map(Arc::new);
        let roles = PathRoles::new(vec!["working/legal".to_owned()], included);
        for (path, expect) in [
            ("docs/a.md", Knowledge),
            ("docs/a.rst", Knowledge),
            ("docs/old/a.md", Untracked),
            ("docs/api-index.md", Knowledge),
            ("working/legal/legal-index.md", Routing),
            ("knowledge/api-index.md", Routing),
            ("_MANIFEST.md", Routing),
            ("AGENTS.md", Autoload),
            ("packages/a/CLAUDE.md", Autoload),
            (".claude/skills/a/SKILL.md", Autoload),
            (".codex/x.md", Autoload),
            (".memory-forge/x.md", Derived),
            (".mind/STATE.md", State),
            ("ARCHIVE.md", Archive),
            ("node_modules/a/README.md", Untracked),
            ("src/main.rs", Untracked),
        ] {
            assert_eq!(roles.of(&RelPath::new(path).unwrap()), expect, "{path}");
        }
    }

    #[test]
    fn without_a_manifest_no_domain_is_knowledge() {
        let path = RelPath::new("working/legal/contract.md").unwrap();
        assert_eq!(role_by_path(&path), FileRole::Untracked);
    }
}
