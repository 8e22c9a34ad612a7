//! Decisions and tasks as nodes, with what they name.

use super::{Builder, EdgeKind, Graph, Kind, Node};
use crate::document;
use crate::links::Vault;
use crate::mind::{Bucket, Mind};

impl Graph {
    /// Adds what the state files know. A file that cannot be read adds nothing.
    pub fn with_state(self, vault: &Vault, mind: &Mind<'_>) -> Graph {
        let notes = self.notes;
        let mut builder = Builder::from(self);
        let decisions = mind.decisions().unwrap_or_default();
        let mut replaced = Vec::new();
        for decision in &decisions {
            let id = match &decision.id {
                Some(id) if id.starts_with("DEC-") => id.clone(),
                _ => format!("decision:{}", decision.line),
            };
            let status = match decision.superseded {
                true => Some("superseded".to_owned()),
                false => decision.status.clone(),
            };
            let node = builder.add(Node {
                name: id.clone(),
                id,
                kind: Kind::Decision,
                path: None,
                title: Some(decision.title.clone()),
                type_name: Some("decision".to_owned()),
                status,
                date: decision.date.map(|date| date.to_string()),
                has_front_matter: false,
            });
            if let Some(by) = decision.decided_by.as_deref().map(str::trim)
                && !by.is_empty()
            {
                let maker = match by.eq_ignore_ascii_case("agent") {
                    true => builder.plain("agent", by, Kind::Agent),
                    false => builder.person(by),
                };
                builder.edge(node, maker, EdgeKind::MadeBy);
            }
            replaced.extend(successor(&decision.text).map(|newer| (node, newer)));
            builder.links_in(vault, node, &decision.text);
        }
        // The newer one may stand further down.
        for (node, newer) in replaced {
            if let Some(newer) = builder.by_id.get(newer).copied() {
                builder.edge(node, newer, EdgeKind::SupersededBy);
            }
        }
        let tasks = mind.progress().ok().flatten().unwrap_or_default().tasks;
        for (number, task) in (1..).zip(&tasks) {
            let status = match (task.done, task.bucket) {
                (true, _) | (_, Bucket::Completed) => "done",
                (_, Bucket::InProgress) => "in_progress",
                (_, Bucket::Blocked) => "blocked",
                _ => "pending",
            };
            let node = builder.add(Node {
                id: format!("task:{number}"),
                name: task.text.clone(),
                kind: Kind::Task,
                path: None,
                title: None,
                type_name: Some("task".to_owned()),
                status: Some(status.to_owned()),
                date: task.completed.map(|date| date.to_string()),
                has_front_matter: false,
            });
            builder.links_in(vault, node, &task.text);
        }
        let mut graph = builder.finish();
        graph.notes = notes;
        graph
    }
}

impl Builder {
    fn links_in(&mut self, vault: &Vault, node: u32, text: &str) {
        for link in document::parse(text).links {
            if let Some(file) = vault.names.resolve(&link.target, "").file()
                && !link.target.is_empty()
            {
                let to = self.file(vault, file);
                self.edge(node, to, EdgeKind::Links);
            }
        }
    }
}

/// `DEC-009` in `superseded by DEC-009`.
fn successor(text: &str) -> Option<&str> {
    let lower = text.to_ascii_lowercase();
    let at = lower.find("superseded by ")? + "superseded by ".len();
    let word = text[at..]
        .split(|c: char| !(c.is_ascii_alphanumeric() || c == '-'))
        .next()?;
    word.starts_with("DEC-").then_some(word)
}
