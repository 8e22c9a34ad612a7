//! The documents of a workspace and what leads to what, read once for many
//! questions. What a copy for others must not speak of is left out here, so
//! that no page has to think of it.

use std::collections::HashMap;

use forge_app::document::{Link, LinkKind};
use forge_app::graph::{self, Graph, Kind};
use forge_app::links::{Resolution, Vault};
use forge_app::mind::Mind;
use forge_app::workspace::{RelPath, Role, Workspace};

use super::Eyes;

pub(super) struct Known {
    pub(super) vault: Vault,
    pub(super) graph: Graph,
    /// For each file those that lead to it: the file, the line, and the key of
    /// the front matter in which the link stands.
    pub(super) backlinks: HashMap<u32, Vec<Backlink>>,
    hidden: Vec<bool>,
    /// What is kept beside the notes: checkpoints and the like, to be read.
    kept: Vec<RelPath>,
}

#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) struct Backlink {
    pub(super) from: u32,
    pub(super) line: usize,
    pub(super) key: Option<String>,
}

impl Known {
    pub(super) fn read(workspace: &Workspace, eyes: Eyes) -> Known {
        let vault = Vault::read(workspace);
        let mut graph = graph::build(&vault).with_state(&vault, &Mind::open(workspace).shown());
        let private = |path: &RelPath| eyes == Eyes::Others && workspace.is_private(path);
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
            // Whom only a private note names is not spoken of either.
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
        Known {
            vault,
            graph,
            backlinks,
            hidden,
            kept: match eyes {
                Eyes::Own => Mind::all_files(workspace),
                Eyes::Others => Vec::new(),
            },
        }
    }

    /// The number of a document that may be shown: Markdown, inside, and ours
    /// to read.
    pub(super) fn document(&self, path: &RelPath) -> Option<u32> {
        let index = self.vault.position(path)?;
        let file = self.vault.file(index);
        let shown = path.as_str().ends_with(".md") && file.role != Role::Derived;
        (shown && !self.hidden[index as usize]).then_some(index)
    }

    /// Whether it is Markdown that is kept beside the notes.
    pub(super) fn is_kept(&self, path: &RelPath) -> bool {
        path.as_str().ends_with(".md") && self.kept.contains(path)
    }

    /// The documents that may be shown.
    pub(super) fn documents(&self) -> impl Iterator<Item = (u32, &RelPath)> {
        let all = self
            .vault
            .notes()
            .map(|(index, file, _)| (index, &file.path));
        all.filter(|(_, path)| self.document(path).is_some())
    }

    pub(super) fn title(&self, index: u32) -> String {
        let file = self.vault.file(index);
        let title = file.note.as_ref().and_then(|note| note.title.as_deref());
        super::clean(title.unwrap_or_else(|| file.path.file_name()))
    }

    /// The file that a link of the document at `from` means.
    pub(super) fn goal<'a>(&'a self, from: &'a RelPath, link: &Link) -> Option<&'a RelPath> {
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
