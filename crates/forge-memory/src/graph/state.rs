//! Decisions and tasks as nodes, with the people and items that they name.
//! Their ids are made from words, so that a change elsewhere in the file keeps
//! them.

use std::collections::HashMap;

use jiff::civil::Date;

use super::ids::{UniqueIds, make_slug};
use super::{EdgeKind, GraphBuilder, GraphNode, NodeKind, NodeWork, WorkspaceGraph};
use crate::document;
use crate::links::{NoteVault, find_naming_key, fold_name, reference_target};
use crate::mind::fields::{self, TaskFields};
use crate::mind::{MindStore, TaskBucket, TaskEntry};

impl WorkspaceGraph {
    /// Adds decisions and tasks. A file that cannot be read adds nothing.
    pub fn with_state(self, vault: &NoteVault, mind: &MindStore<'_>) -> WorkspaceGraph {
        let notes = self.notes;
        // Ids are made from words, which must not include a credential.
        let mind = &mind.redact_for_display();
        let mut builder = GraphBuilder::from_graph(self);
        let decisions = mind.read_decisions().unwrap_or_default();
        let mut replaced = Vec::new();
        let mut once = UniqueIds::default();
        for decision in &decisions {
            let id = once.make_unique(match (&decision.id, decision.date) {
                (Some(id), _) if id.starts_with("DEC-") => id.clone(),
                (_, Some(date)) => format!("decision:{date}-{}", make_slug(&decision.title)),
                _ => format!("decision:{}", make_slug(&decision.title)),
            });
            let status = if decision.superseded {
                Some("superseded".to_owned())
            } else {
                decision.status.clone()
            };
            let node = builder.add_node(GraphNode {
                name: id.clone(),
                id,
                kind: NodeKind::Decision,
                path: None,
                title: Some(decision.title.clone()),
                type_name: Some("decision".to_owned()),
                status,
                date: decision.date.map(|date| date.to_string()),
                work: NodeWork::default(),
                has_front_matter: false,
            });
            if let Some(by) = decision.decided_by.as_deref().map(str::trim)
                && !by.is_empty()
            {
                let maker = if by.eq_ignore_ascii_case("agent") {
                    builder.add_fileless("agent", by, NodeKind::Agent)
                } else {
                    builder.add_person(by)
                };
                builder.add_edge(node, maker, EdgeKind::MadeBy);
            }
            replaced.extend(find_successor(&decision.text).map(|newer| (node, newer)));
            builder.add_links(vault, node, &decision.text);
        }
        // The successor may come later in the file.
        for (node, newer) in replaced {
            if let Some(newer) = builder.by_id.get(newer).copied() {
                builder.add_edge(node, newer, EdgeKind::SupersededBy);
            }
        }
        builder.add_tasks(vault, mind);
        let mut graph = builder.finish();
        graph.notes = notes;
        graph
    }
}

impl GraphBuilder {
    /// Adds the tasks of the progress file and the blockers of the state file,
    /// with the people and items that their fields name.
    fn add_tasks(&mut self, vault: &NoteVault, mind: &MindStore<'_>) {
        let blocked = mind.read_state().ok().flatten().unwrap_or_default().blocked;
        let tasks = mind
            .read_progress()
            .ok()
            .flatten()
            .unwrap_or_default()
            .tasks;
        let items = collect_items(&tasks, &blocked);
        let mut once = UniqueIds::default();
        let mut by_name: HashMap<String, u32> = HashMap::new();
        let mut nodes = Vec::new();
        for item in &items {
            let fields = &item.fields;
            let words = fields.id.clone().unwrap_or_else(|| make_slug(&fields.text));
            let node = self.add_node(item.to_node(once.make_unique(format!("task:{words}"))));
            // A name means the first of two tasks with the same words.
            by_name
                .entry(fold_name(&fields.text).into_owned())
                .or_insert(node);
            by_name
                .entry(fold_name(&words).into_owned())
                .or_insert(node);
            nodes.push(node);
        }
        for (node, item) in nodes.into_iter().zip(&items) {
            self.add_links(vault, node, &item.fields.text);
            for (key, value) in &item.fields.values {
                let Some(kind) = find_naming_key(key).and_then(EdgeKind::from_name) else {
                    continue;
                };
                for name in fields::split_names(value) {
                    let name = reference_target(name).trim_start_matches('^');
                    let to = self.resolve_field_name(vault, name, kind, &by_name);
                    self.add_edge(node, to, kind);
                }
            }
        }
    }

    /// Returns the node that a field of a task names: another task, a decision,
    /// a note, or a person.
    fn resolve_field_name(
        &mut self,
        vault: &NoteVault,
        name: &str,
        kind: EdgeKind,
        tasks: &HashMap<String, u32>,
    ) -> u32 {
        let task = name.strip_prefix("task:").unwrap_or(name);
        let known = tasks
            .get(fold_name(task).as_ref())
            .filter(|_| !kind.names_someone());
        if let Some(known) = known.or_else(|| self.by_id.get(name)) {
            return *known;
        }
        match vault.names.resolve(name, "").opened_file() {
            Some(file) => self.add_file(vault, file),
            None => self.add_unknown(name, kind),
        }
    }

    /// Adds edges for the links in a text.
    fn add_links(&mut self, vault: &NoteVault, node: u32, text: &str) {
        for link in document::parse_document(text).links {
            if let Some(file) = vault.names.resolve(&link.target, "").opened_file()
                && !link.target.is_empty()
            {
                let to = self.add_file(vault, file);
                self.add_edge(node, to, EdgeKind::Links);
            }
        }
    }
}

/// Something to do, as the files of state have it.
struct WorkItem {
    fields: TaskFields,
    status: &'static str,
    completed: Option<Date>,
}

/// Collects every task once. Blockers of the state file are tasks too; one that
/// the progress file also has is that task, and blocked unless it is done.
fn collect_items(tasks: &[TaskEntry], blocked: &[String]) -> Vec<WorkItem> {
    let mut waiting = WaitingTasks::from_blockers(blocked);
    let mut items: Vec<WorkItem> = Vec::new();
    for task in tasks {
        let fields = TaskFields::read(&task.text);
        let is_blocked = waiting.take_name(&fields.text);
        let status = match (task.done, task.bucket) {
            (true, _) | (_, TaskBucket::Completed) => "done",
            _ if is_blocked => "blocked",
            (_, TaskBucket::InProgress) => "in_progress",
            (_, TaskBucket::Blocked) => "blocked",
            _ => "pending",
        };
        let completed = task.completed;
        items.push(WorkItem {
            fields,
            status,
            completed,
        });
    }
    items.extend(waiting.into_unmatched().map(|fields| WorkItem {
        fields,
        status: "blocked",
        completed: None,
    }));
    items
}

/// Blockers of the state file that no task has claimed yet. They are found by
/// name, since there may be as many of them as tasks.
#[derive(Default)]
struct WaitingTasks {
    blockers: Vec<Option<TaskFields>>,
    by_name: HashMap<String, Vec<usize>>,
}

impl WaitingTasks {
    fn from_blockers(blocked: &[String]) -> WaitingTasks {
        let mut waiting = WaitingTasks::default();
        for (nth, text) in blocked.iter().enumerate() {
            let fields = TaskFields::read(text);
            let name = fold_name(&fields.text).into_owned();
            waiting.by_name.entry(name).or_default().push(nth);
            waiting.blockers.push(Some(fields));
        }
        waiting
    }

    /// Returns `true` if a task of this name is blocked; the first such task
    /// claims the name.
    fn take_name(&mut self, name: &str) -> bool {
        let places = self.by_name.remove(fold_name(name).as_ref());
        for &nth in places.iter().flatten() {
            self.blockers[nth] = None;
        }
        places.is_some()
    }

    /// Returns the unclaimed blockers, in the order of the file.
    fn into_unmatched(self) -> impl Iterator<Item = TaskFields> {
        self.blockers.into_iter().flatten()
    }
}

impl WorkItem {
    fn to_node(&self, id: String) -> GraphNode {
        let fields = &self.fields;
        // A ticked box outweighs a status that was left behind.
        let status = match fields.get("status") {
            Some(written_status) if self.status != "done" => written_status,
            _ => self.status,
        };
        let mut work = NodeWork::from_fields(|keys| {
            let found = keys.iter().find_map(|key| fields.get(key));
            found.map(str::to_owned)
        });
        work.completed = self.completed.map(|it| it.to_string()).or(work.completed);
        GraphNode {
            id,
            name: fields.text.clone(),
            kind: NodeKind::Task,
            path: None,
            title: None,
            type_name: Some("task".to_owned()),
            status: Some(status.to_owned()),
            date: self.completed.map(|date| date.to_string()),
            work,
            has_front_matter: false,
        }
    }
}

/// Returns `DEC-009` of `superseded by DEC-009`.
fn find_successor(text: &str) -> Option<&str> {
    let lower = text.to_ascii_lowercase();
    let at = lower.find("superseded by ")? + "superseded by ".len();
    let word = text[at..]
        .split(|c: char| !(c.is_ascii_alphanumeric() || c == '-'))
        .next()?;
    word.starts_with("DEC-").then_some(word)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_blocker_belongs_to_the_first_task_of_its_name() {
        let blocked = ["Paint", "Dig", "paint", "Saw"].map(str::to_owned);
        let mut waiting = WaitingTasks::from_blockers(&blocked);
        assert!(waiting.take_name("PAINT"));
        assert!(!waiting.take_name("paint"), "it is taken");
        assert!(!waiting.take_name("Weed"));
        let left: Vec<String> = waiting.into_unmatched().map(|it| it.text).collect();
        assert_eq!(left, ["Dig", "Saw"]);
    }
}
