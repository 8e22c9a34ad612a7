//! Decisions and tasks as nodes, with the people and items that they name.
//! Their ids are made from words, so that a change elsewhere in the file keeps
//! them.

use std::collections::HashMap;

use jiff::civil::Date;

use super::ids::{Once, slug};
use super::{Builder, EdgeKind, Graph, Kind, Node, Work};
use crate::document;
use crate::links::{Vault, fold, name_in, naming_key};
use crate::mind::fields::{self, Fields};
use crate::mind::{Bucket, Mind, TaskEntry};

impl Graph {
    /// Adds decisions and tasks. A file that cannot be read adds nothing.
    pub fn with_state(self, vault: &Vault, mind: &Mind<'_>) -> Graph {
        let notes = self.notes;
        // Ids are made from words, which must not include a credential.
        let mind = &mind.shown();
        let mut builder = Builder::from(self);
        let decisions = mind.decisions().unwrap_or_default();
        let mut replaced = Vec::new();
        let mut once = Once::default();
        for decision in &decisions {
            let id = once.give(match (&decision.id, decision.date) {
                (Some(id), _) if id.starts_with("DEC-") => id.clone(),
                (_, Some(date)) => format!("decision:{date}-{}", slug(&decision.title)),
                _ => format!("decision:{}", slug(&decision.title)),
            });
            let status = if decision.superseded {
                Some("superseded".to_owned())
            } else {
                decision.status.clone()
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
                work: Work::default(),
                has_front_matter: false,
            });
            if let Some(by) = decision.decided_by.as_deref().map(str::trim)
                && !by.is_empty()
            {
                let maker = if by.eq_ignore_ascii_case("agent") {
                    builder.plain("agent", by, Kind::Agent)
                } else {
                    builder.person(by)
                };
                builder.edge(node, maker, EdgeKind::MadeBy);
            }
            replaced.extend(successor(&decision.text).map(|newer| (node, newer)));
            builder.links_in(vault, node, &decision.text);
        }
        // The successor may come later in the file.
        for (node, newer) in replaced {
            if let Some(newer) = builder.by_id.get(newer).copied() {
                builder.edge(node, newer, EdgeKind::SupersededBy);
            }
        }
        builder.tasks(vault, mind);
        let mut graph = builder.finish();
        graph.notes = notes;
        graph
    }
}

impl Builder {
    /// Adds the tasks of the progress file and the blockers of the state file,
    /// with the people and items that their fields name.
    fn tasks(&mut self, vault: &Vault, mind: &Mind<'_>) {
        let blocked = mind.state().ok().flatten().unwrap_or_default().blocked;
        let tasks = mind.progress().ok().flatten().unwrap_or_default().tasks;
        let items = items(&tasks, &blocked);
        let mut once = Once::default();
        let mut by_name: HashMap<String, u32> = HashMap::new();
        let mut nodes = Vec::new();
        for item in &items {
            let fields = &item.fields;
            let words = fields.id.clone().unwrap_or_else(|| slug(&fields.text));
            let node = self.add(item.node(once.give(format!("task:{words}"))));
            // A name means the first of two tasks with the same words.
            by_name
                .entry(fold(&fields.text).into_owned())
                .or_insert(node);
            by_name.entry(fold(&words).into_owned()).or_insert(node);
            nodes.push(node);
        }
        for (node, item) in nodes.into_iter().zip(&items) {
            self.links_in(vault, node, &item.fields.text);
            for (key, value) in &item.fields.values {
                let Some(kind) = naming_key(key).and_then(EdgeKind::of) else {
                    continue;
                };
                for name in fields::names(value) {
                    let name = name_in(name).trim_start_matches('^');
                    let to = self.meant(vault, name, kind, &by_name);
                    self.edge(node, to, kind);
                }
            }
        }
    }

    /// Returns the node that a field of a task names: another task, a decision,
    /// a note, or a person.
    fn meant(
        &mut self,
        vault: &Vault,
        name: &str,
        kind: EdgeKind,
        tasks: &HashMap<String, u32>,
    ) -> u32 {
        let task = name.strip_prefix("task:").unwrap_or(name);
        let known = tasks
            .get(fold(task).as_ref())
            .filter(|_| !kind.names_someone());
        if let Some(known) = known.or_else(|| self.by_id.get(name)) {
            return *known;
        }
        match vault.names.resolve(name, "").file() {
            Some(file) => self.file(vault, file),
            None => self.unknown(name, kind),
        }
    }

    /// Adds edges for the links in a text.
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

/// Something to do, as the files of state have it.
struct Item {
    fields: Fields,
    status: &'static str,
    completed: Option<Date>,
}

/// Collects every task once. Blockers of the state file are tasks too; one that
/// the progress file also has is that task, and blocked unless it is done.
fn items(tasks: &[TaskEntry], blocked: &[String]) -> Vec<Item> {
    let mut waiting = WaitingTasks::read(blocked);
    let mut items: Vec<Item> = Vec::new();
    for task in tasks {
        let fields = Fields::read(&task.text);
        let is_blocked = waiting.take(&fields.text);
        let status = match (task.done, task.bucket) {
            (true, _) | (_, Bucket::Completed) => "done",
            _ if is_blocked => "blocked",
            (_, Bucket::InProgress) => "in_progress",
            (_, Bucket::Blocked) => "blocked",
            _ => "pending",
        };
        let completed = task.completed;
        items.push(Item {
            fields,
            status,
            completed,
        });
    }
    items.extend(waiting.left().map(|fields| Item {
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
    blockers: Vec<Option<Fields>>,
    by_name: HashMap<String, Vec<usize>>,
}

impl WaitingTasks {
    fn read(blocked: &[String]) -> WaitingTasks {
        let mut waiting = WaitingTasks::default();
        for (nth, text) in blocked.iter().enumerate() {
            let fields = Fields::read(text);
            let name = fold(&fields.text).into_owned();
            waiting.by_name.entry(name).or_default().push(nth);
            waiting.blockers.push(Some(fields));
        }
        waiting
    }

    /// Returns `true` if a task of this name is blocked; the first such task
    /// claims the name.
    fn take(&mut self, name: &str) -> bool {
        let places = self.by_name.remove(fold(name).as_ref());
        for &nth in places.iter().flatten() {
            self.blockers[nth] = None;
        }
        places.is_some()
    }

    /// Returns the unclaimed blockers, in the order of the file.
    fn left(self) -> impl Iterator<Item = Fields> {
        self.blockers.into_iter().flatten()
    }
}

impl Item {
    fn node(&self, id: String) -> Node {
        let fields = &self.fields;
        // A ticked box outweighs a status that was left behind.
        let status = match fields.get("status") {
            Some(said) if self.status != "done" => said,
            _ => self.status,
        };
        let mut work = Work::read(|keys| {
            let found = keys.iter().find_map(|key| fields.get(key));
            found.map(str::to_owned)
        });
        work.completed = self.completed.map(|it| it.to_string()).or(work.completed);
        Node {
            id,
            name: fields.text.clone(),
            kind: Kind::Task,
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
fn successor(text: &str) -> Option<&str> {
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
        let mut waiting = WaitingTasks::read(&blocked);
        assert!(waiting.take("PAINT"));
        assert!(!waiting.take("paint"), "it is taken");
        assert!(!waiting.take("Weed"));
        let left: Vec<String> = waiting.left().map(|it| it.text).collect();
        assert_eq!(left, ["Dig", "Saw"]);
    }
}
