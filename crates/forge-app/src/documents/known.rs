//! Reads the documents of a workspace and their links, once for many queries.
//! What an exported copy must not mention is removed here, so that no page has
//! to check it.

use std::collections::HashMap;
use std::collections::hash_map::DefaultHasher;
use std::hash::{Hash, Hasher};

use crate::document::{DocumentLink, LinkKind};
use crate::graph::{self, NodeKind, WorkspaceGraph};
use crate::links::{LinkResolution, NoteVault};
use crate::mind::MindStore;
use crate::quote;
use crate::workspace::{FileRole, RelPath, Workspace};

use super::DocumentAudience;

/// Every document of a workspace with its links, as one audience may see them.
pub struct KnownDocuments {
    /// The files and what each holds.
    pub vault: NoteVault,
    /// Notes, people, decisions and tasks, and their connections.
    pub graph: WorkspaceGraph,
    /// For each file those that lead to it.
    pub backlinks: HashMap<u32, Vec<DocumentBacklink>>,
    hidden: Vec<bool>,
    /// Files that the program keeps next to the notes, such as checkpoints.
    kept: Vec<RelPath>,
}

/// A link that leads to a document.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct DocumentBacklink {
    /// The number of the file that has it.
    pub from: u32,
    /// Its line.
    pub line: usize,
    /// The key of the front matter that it is in.
    pub key: Option<String>,
}

impl KnownDocuments {
    /// Reads all documents and their links.
    pub fn read(workspace: &Workspace, audience: DocumentAudience) -> KnownDocuments {
        let vault = NoteVault::read(workspace);
        let mut graph = graph::build_graph(&vault)
            .with_state(&vault, &MindStore::open(workspace).redact_for_display());
        let private =
            |path: &RelPath| audience == DocumentAudience::Others && workspace.is_private(path);
        if graph
            .nodes
            .iter()
            .any(|it| it.path.as_ref().is_some_and(private))
        {
            let open = |graph: &WorkspaceGraph, wanted: &dyn Fn(u32) -> bool| {
                let all: Vec<u32> = (0..graph.nodes.len() as u32).collect();
                graph.subgraph_of(&all.into_iter().filter(|it| wanted(*it)).collect::<Vec<_>>())
            };
            let shown = |node: u32| !graph.node(node).path.as_ref().is_some_and(private);
            graph = open(&graph, &shown);
            // A second pass, after the private notes are removed: a person or
            // project that only they mention must not appear either.
            let mut named = vec![false; graph.nodes.len()];
            for edge in &graph.edges {
                named[edge.from as usize] = true;
                named[edge.to as usize] = true;
            }
            let own = [NodeKind::Decision, NodeKind::Task];
            let known = |node: u32| {
                let it = graph.node(node);
                named[node as usize] || it.path.is_some() || own.contains(&it.kind)
            };
            graph = open(&graph, &known);
        }
        let hidden: Vec<bool> = vault.files.iter().map(|file| private(&file.path)).collect();
        let mut backlinks: HashMap<u32, Vec<DocumentBacklink>> = HashMap::new();
        for (from, _, note) in vault.notes() {
            if hidden[from as usize] {
                continue;
            }
            for link in &note.links {
                let Some(to) = vault
                    .resolve(from, link)
                    .opened_file()
                    .filter(|to| *to != from)
                else {
                    continue;
                };
                backlinks.entry(to).or_default().push(DocumentBacklink {
                    from,
                    line: link.line,
                    key: link.key.clone(),
                });
            }
        }
        KnownDocuments {
            vault,
            graph,
            backlinks,
            hidden,
            kept: match audience {
                DocumentAudience::Owner => MindStore::list_all_files(workspace),
                DocumentAudience::Others => Vec::new(),
            },
        }
    }

    /// Returns the number of a document that the audience may see: Markdown
    /// that is not derived.
    pub fn visible_document(&self, path: &RelPath) -> Option<u32> {
        let index = self.vault.position_of(path)?;
        let file = self.vault.file(index);
        let shown = path.as_str().ends_with(".md") && file.role != FileRole::Derived;
        (shown && !self.hidden[index as usize]).then_some(index)
    }

    /// Returns a number that changes whenever a file is added, removed or
    /// written.
    pub fn compute_stamp(workspace: &Workspace) -> u64 {
        let mut hasher = DefaultHasher::new();
        let files = workspace.tree().files.into_iter();
        for found in files.chain(workspace.scan().files) {
            (found.path.as_str(), found.mtime_ns, found.size).hash(&mut hasher);
        }
        for path in MindStore::list_all_files(workspace) {
            let facts = std::fs::metadata(workspace.absolute_path(&path)).ok();
            let facts = facts.and_then(|it| Some((it.modified().ok()?, it.len())));
            (path.as_str(), facts).hash(&mut hasher);
        }
        hasher.finish()
    }

    /// Returns `true` for Markdown that the program keeps next to the notes.
    pub fn is_kept_file(&self, path: &RelPath) -> bool {
        path.as_str().ends_with(".md") && self.kept.contains(path)
    }

    /// Returns the visible documents, each with its number.
    pub fn documents(&self) -> impl Iterator<Item = (u32, &RelPath)> {
        let all = self
            .vault
            .notes()
            .map(|(index, file, _)| (index, &file.path));
        all.filter(|(_, path)| self.visible_document(path).is_some())
    }

    /// Returns the title of a document, or the name of its file.
    pub fn title(&self, index: u32) -> String {
        let file = self.vault.file(index);
        let title = file.note.as_ref().and_then(|note| note.title.as_deref());
        quote::sanitize_text(title.unwrap_or_else(|| file.path.file_name())).into_owned()
    }

    /// Returns the file that a link of the document at `from` leads to.
    pub fn resolve_link<'a>(
        &'a self,
        from: &'a RelPath,
        link: &DocumentLink,
    ) -> Option<&'a RelPath> {
        let names = &self.vault.names;
        let found = match link.kind {
            _ if link.target.is_empty() => return Some(from),
            LinkKind::Wiki | LinkKind::Embed => names.resolve(&link.target, from.as_str()),
            _ => match names.resolve_path(&link.target, from.as_str()) {
                LinkResolution::Missing => names.resolve(&link.target, from.as_str()),
                found => found,
            },
        };
        let index = found.opened_file()?;
        (!self.hidden[index as usize]).then(|| &self.vault.file(index).path)
    }
}
