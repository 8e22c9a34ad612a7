//! Prepares documents of a workspace for an index that others share: text
//! without secrets, passages, vectors, fields and edges.
//!
//! Private notes and agents' memory are excluded unless requested. Nothing is
//! sent from here; the caller sends document by document.

use std::collections::{HashMap, HashSet};

use serde::{Deserialize, Serialize};

use crate::document::{self, YamlValue};
use crate::embed::Embedder;
use crate::graph;
use crate::index::{
    CatalogueEntry, DocumentRecord, Index, PackedVector, PassageSizes, embedding_text,
};
use crate::knowledge::refresh::RefreshError;
use crate::knowledge::{describe, forget};
use crate::links::NoteVault;
use crate::quote;
use crate::recall;
use crate::state_files::MIND_FOLDER;
use crate::workspace::{FileRole, RelPath, Workspace};

mod land;

pub use land::{FOLDER as PULLED, LandedDocuments, land_documents};

/// Version of the published form: part of every hash, so that raising it
/// publishes all documents again.
const PUBLISH_FORMAT_VERSION: u32 = 1;

/// Documents to publish in addition to the shared knowledge.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default, Serialize, Deserialize)]
pub struct PublishScope {
    /// Files named `*.local.md`.
    pub private: bool,
    /// Files in which agents keep their own memory.
    pub agents: bool,
}

/// A document to publish.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct PublishItem {
    /// The document.
    pub path: RelPath,
    /// Hash of everything that would be published.
    pub hash: String,
    /// The scope of searches that finds it.
    pub scope: String,
    /// The document that replaced it.
    pub replaced_by: Option<String>,
}

/// A document in the form that others receive.
pub struct PublishedDocument {
    /// The path relative to the root.
    pub path: RelPath,
    /// The hash of everything that is published.
    pub hash: String,
    /// The whole text, redacted.
    pub text: String,
    /// The document as an index keeps it.
    pub put: DocumentRecord,
    /// One vector per passage.
    pub vectors: Vec<Option<PackedVector>>,
    /// The front matter as JSON.
    pub fields: String,
    /// The last document in its chain of replacements.
    pub replaced_by: Option<String>,
    /// Number of redacted secrets.
    pub secrets: usize,
}

/// A relation between two published nodes of the graph.
#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct PublishedEdge {
    /// The id of the node where it begins.
    pub from: String,
    /// The name of the relation.
    pub kind: &'static str,
    /// The id of the node that it leads to.
    pub to: String,
}

/// Lists the documents to publish, sorted by path, and counts those that stay
/// in the workspace.
pub fn list_publishable(
    workspace: &Workspace,
    index: &Index,
    catalogue: &[CatalogueEntry],
    include: PublishScope,
    model: Option<&str>,
) -> Result<(Vec<PublishItem>, usize), RefreshError> {
    let forgotten = forget::read_forgotten_paths(workspace)?;
    let hashes: HashMap<String, String> = index.content_hashes()?.into_iter().collect();
    let mut replaced = recall::resolve_replacements(index, catalogue)?;
    let mut items = Vec::new();
    let mut kept = 0;
    for entry in catalogue {
        let (Ok(path), Some(content)) = (RelPath::new(&entry.path), hashes.get(&entry.path)) else {
            continue;
        };
        // Paths are published too and cannot be redacted, because they identify
        // the document; so a path with a secret keeps its document out.
        let has_secret_name = !quote::sanitize_with_report(path.as_str())
            .secrets
            .is_empty();
        let own = resolve_publishable(workspace, &path, include).is_none()
            || entry.scope == "agents" && !include.agents
            || entry.scope == "state"
            || has_secret_name;
        if own || forgotten.contains(&entry.path) {
            kept += 1;
            continue;
        }
        items.push(PublishItem {
            hash: String::new(),
            scope: entry.scope.clone(),
            replaced_by: replaced.remove(&entry.path),
            path,
        });
        let item = items.last_mut().expect("it was pushed");
        item.hash = item.hash_with(content, model);
    }
    // The path of a document that is not published must not leave the workspace
    // as a successor's name either.
    let out: HashSet<String> = items.iter().map(|it| it.path.to_string()).collect();
    for item in &mut items {
        if item
            .replaced_by
            .as_ref()
            .is_some_and(|by| !out.contains(by))
        {
            item.replaced_by = None;
            let content = hashes.get(item.path.as_str()).map_or("", String::as_str);
            item.hash = item.hash_with(content, model);
        }
    }
    Ok((items, kept))
}

impl PublishItem {
    fn hash_with(&self, content: &str, model: Option<&str>) -> String {
        let by = self.replaced_by.as_deref().unwrap_or("");
        let model = model.unwrap_or("");
        let all = format!(
            "{PUBLISH_FORMAT_VERSION}\n{content}\n{}\n{by}\n{model}",
            self.scope
        );
        blake3::hash(all.as_bytes()).to_hex()[..32].to_owned()
    }
}

/// Returns the file to read for `path` if it may be published. A symlink must
/// be publishable by its own name and by its target.
fn resolve_publishable(
    workspace: &Workspace,
    path: &RelPath,
    include: PublishScope,
) -> Option<RelPath> {
    let real = workspace.resolve_real_path(path)?;
    let is_private = path.is_private() || real.is_private();
    let is_link = real != *path;
    let is_of_agents = is_link && real.starts_with(".agents");
    let is_state = is_link && real.starts_with(MIND_FOLDER);
    let stays = is_private && !include.private || is_of_agents && !include.agents || is_state;
    (!stays).then_some(real)
}

/// Reads a document in its published form; returns none if it is gone, or has
/// become private since it was listed.
pub fn read_published(
    workspace: &Workspace,
    index: &Index,
    item: &PublishItem,
    embedder: Option<&dyn Embedder>,
    include: PublishScope,
) -> Result<Option<PublishedDocument>, RefreshError> {
    let Some(real) = resolve_publishable(workspace, &item.path, include) else {
        return Ok(None);
    };
    // Reads the file that was checked, even if the symlink has changed since.
    let Some(raw) = workspace.read_text_if_present(&real)? else {
        return Ok(None);
    };
    let content = document::content_hash(&raw);
    let cleaned = quote::sanitize_with_report(&raw);
    // PostgreSQL stores no NUL, neither in text nor as an escape in JSON.
    let (text, secrets) = (
        cleaned.text.replace('\0', "\u{fffd}"),
        cleaned.secrets.len(),
    );
    let sizes = PassageSizes::with_limit(workspace.config().index.chunk_tokens);
    let (document, mut put) =
        describe::describe_text(&item.path, FileRole::Knowledge, &text, sizes);
    put.scope.clone_from(&item.scope);
    let mut vectors = Vec::new();
    for chunk in &put.chunks {
        let Some(embedder) = embedder else {
            vectors.push(None);
            continue;
        };
        // The vector of a passage without secrets is in the index already.
        let known = if index.has_vectors_of_model(embedder.id(), embedder.dimensions())? {
            index.find_vector_of(&put.title, chunk)?
        } else {
            None
        };
        let make = || {
            let text = embedding_text(&put.title, &chunk.headings.join("\n"), &chunk.text);
            PackedVector::from_floats(&embedder.embed(&text))
        };
        vectors.push(Some(known.unwrap_or_else(make)));
    }
    let entries = document
        .front_matter
        .as_ref()
        .map(|it| it.entries.as_slice());
    let fields = entries.unwrap_or_default().iter();
    let fields: serde_json::Map<String, serde_json::Value> = fields
        .map(|(key, value)| (key.clone(), value_to_json(value)))
        .collect();
    let model = embedder.map(Embedder::id);
    Ok(Some(PublishedDocument {
        path: item.path.clone(),
        hash: item.hash_with(&content, model),
        fields: serde_json::Value::Object(fields)
            .to_string()
            .replace("\\u0000", ""),
        text,
        put,
        vectors,
        replaced_by: item.replaced_by.clone(),
        secrets,
    }))
}

/// Lists the edges between published documents, sorted.
pub fn published_edges(workspace: &Workspace, items: &[PublishItem]) -> Vec<PublishedEdge> {
    let out: HashSet<&str> = items.iter().map(|it| it.path.as_str()).collect();
    let graph = graph::build_graph(&NoteVault::read(workspace));
    let goes = |node: &graph::GraphNode| match &node.path {
        Some(path) => out.contains(path.as_str()),
        // Nodes without a file, such as names, may be published.
        None => true,
    };
    let mut edges: Vec<PublishedEdge> = Vec::new();
    for edge in &graph.edges {
        let (from, to) = (graph.node(edge.from), graph.node(edge.to));
        // A node's id is text from a file too, so it is redacted.
        if from.path.is_some() && goes(from) && goes(to) {
            edges.push(PublishedEdge {
                from: quote::sanitize_text(&from.id).into_owned(),
                kind: edge.kind.name(),
                to: quote::sanitize_text(&to.id).into_owned(),
            });
        }
    }
    edges.sort();
    edges.dedup();
    edges
}

fn value_to_json(value: &YamlValue) -> serde_json::Value {
    match value {
        YamlValue::Null => serde_json::Value::Null,
        YamlValue::Bool(it) => (*it).into(),
        YamlValue::Int(it) => (*it).into(),
        YamlValue::Float(it) => (*it).into(),
        YamlValue::Text(it) => it.as_str().into(),
        YamlValue::List(all) => all.iter().map(value_to_json).collect(),
        YamlValue::Map(all) => {
            let entries = all
                .iter()
                .map(|(key, value)| (key.clone(), value_to_json(value)));
            serde_json::Value::Object(entries.collect())
        }
    }
}
