//! Reads the documents of a workspace and their links, once for many queries.
//! What an exported copy must not mention is removed here, so that no page has
//! to check it.

use std::collections::HashMap;
use std::collections::hash_map::DefaultHasher;
use std::hash::{Hash, Hasher};

use crate::document::{Link, LinkKind};
use crate::graph::{self, Graph, Kind};
use crate::links::{Resolution, Vault};
use crate::mind::Mind;
use crate::quote;
use crate::workspace::{RelPath, Role, Workspace};

use super::Audience;

/// Every document of a workspace with its links, as one audience may see them.
pub struct KnownDocuments {
    /// The files and what each holds.
    pub vault: Vault,
    /// Notes, people, decisions and tasks, and their connections.
    pub graph: Graph,
    /// For each file those that lead to it.
    pub backlinks: HashMap<u32, Vec<Backlink>>,
    hidden: Vec<bool>,
    /// Files that the program keeps next to the notes, such as checkpoints.
    kept: Vec<RelPath>,
}

/// A link that leads to a document.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Backlink {
    /// The number of the file that has it.
    pub from: u32,
    /// Its line.
    pub line: usize,
    /// The key of the front matter that it is in.
    pub key: Option<String>,
}

impl KnownDocuments {
    /// Reads all documents and their links.
    pub fn read(workspace: &Workspace, audience: Audience) -> KnownDocuments {
        let vault = Vault::read(workspace);
        let mut graph = graph::build(&vault).with_state(&vault, &Mind::open(workspace).shown());
        let private = |path: &RelPath| audience == Audience::Others && workspace.is_private(path);
        if graph
            .nodes
            .iter()
            .any(|it| it.path.as_ref().is_some_and(private))
        {
            let open = |graph: &Graph, wanted: &dyn Fn(u32) -> bool| {
                let all: Vec<u32> = (0..graph.nodes.len() as u32).collect();
                graph.part(&all.into_iter().filter(|it| wanted(*it)).collect::<Vec<_>>())
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
            let own = [Kind::Decision, Kind::Task];
            let known = |node: u32| {
                let it = graph.node(node);
                named[node as usize] || it.path.is_some() || own.contains(&it.kind)
            };
            graph = open(&graph, &known);
        }
        let hidden: Vec<bool> = vault.files.iter().map(|file| private(&file.path)).collect();
        let mut backlinks: HashMap<u32, Vec<Backlink>> = HashMap::new();
        for (from, _, note) in vault.notes() {
            if hidden[from as usize] {
                continue;
            }
            for link in &note.links {
                let Some(to) = vault.resolve(from, link).file().filter(|to| *to != from) else {
                    continue;
                };
                backlinks.entry(to).or_default().push(Backlink {
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
                Audience::Owner => Mind::all_files(workspace),
                Audience::Others => Vec::new(),
            },
        }
    }

    /// Returns the number of a document that the audience may see: Markdown
    /// that is not derived.
    pub fn document(&self, path: &RelPath) -> Option<u32> {
        let index = self.vault.position(path)?;
        let file = self.vault.file(index);
        let shown = path.as_str().ends_with(".md") && file.role != Role::Derived;
        (shown && !self.hidden[index as usize]).then_some(index)
    }

    /// Returns a number that changes whenever a file is added, removed or
    /// written.
    pub fn stamp(workspace: &Workspace) -> u64 {
        let mut hasher = DefaultHasher::new();
        let files = workspace.tree().files.into_iter();
        for found in files.chain(workspace.scan().files) {
            (found.path.as_str(), found.mtime_ns, found.size).hash(&mut hasher);
        }
        for path in Mind::all_files(workspace) {
            let facts = std::fs::metadata(workspace.absolute(&path)).ok();
            let facts = facts.and_then(|it| Some((it.modified().ok()?, it.len())));
            (path.as_str(), facts).hash(&mut hasher);
        }
        hasher.finish()
    }

    /// Returns `true` for Markdown that the program keeps next to the notes.
    pub fn is_kept(&self, path: &RelPath) -> bool {
        path.as_str().ends_with(".md") && self.kept.contains(path)
    }

    /// Returns the visible documents, each with its number.
    pub fn documents(&self) -> impl Iterator<Item = (u32, &RelPath)> {
        let all = self
            .vault
            .notes()
            .map(|(index, file, _)| (index, &file.path));
        all.filter(|(_, path)| self.document(path).is_some())
    }

    /// Returns the title of a document, or the name of its file.
    pub fn title(&self, index: u32) -> String {
        let file = self.vault.file(index);
        let title = file.note.as_ref().and_then(|note| note.title.as_deref());
        quote::clean(title.unwrap_or_else(|| file.path.file_name())).into_owned()
    }

    /// Returns the file that a link of the document at `from` leads to.
    pub fn goal<'a>(&'a self, from: &'a RelPath, link: &Link) -> Option<&'a RelPath> {
        let names = &self.vault.names;
        let found = match link.kind {
            _ if link.target.is_empty() => return Some(from),
            LinkKind::Wiki | LinkKind::Embed => names.resolve(&link.target, from.as_str()),
            _ => match names.resolve_path(&link.target, from.as_str()) {
                Resolution::Missing => names.resolve(&link.target, from.as_str()),
                found => found,
            },
        };
        let index = found.file()?;
        (!self.hidden[index as usize]).then(|| &self.vault.file(index).path)
    }
}
