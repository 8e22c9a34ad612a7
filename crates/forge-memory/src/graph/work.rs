//! A node as a piece of work: its progress, its weight, and how often it was
//! sent back. Different words that people use for the same status mean the same
//! here.

use serde::{Deserialize, Serialize};

use super::{GraphNode, NodeKind};
use crate::links::fold_name;

/// The properties of a piece of work beyond its status.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct NodeWork {
    /// The priority as its author wrote it.
    pub priority: Option<String>,
    /// The phase that it belongs to.
    pub phase: Option<String>,
    /// The day on which it was completed, `2026-03-01`.
    pub completed: Option<String>,
    /// The estimate, in whatever unit the team counts.
    pub estimate: Option<u32>,
    /// Number of times that a checker sent it back.
    pub rejections: u32,
}

/// The progress of a piece of work.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
pub enum WorkStanding {
    /// Not begun.
    Open,
    /// At work.
    Active,
    /// Waiting for something.
    Blocked,
    /// Completed.
    Done,
    /// Ended without being done; nothing waits for it any more.
    Dropped,
}

impl WorkStanding {
    /// All states of progress.
    pub const ALL: [WorkStanding; 5] = [
        WorkStanding::Open,
        WorkStanding::Active,
        WorkStanding::Blocked,
        WorkStanding::Done,
        WorkStanding::Dropped,
    ];

    /// Returns the name for flags and JSON.
    pub fn name(self) -> &'static str {
        match self {
            WorkStanding::Open => "open",
            WorkStanding::Active => "active",
            WorkStanding::Blocked => "blocked",
            WorkStanding::Done => "done",
            WorkStanding::Dropped => "dropped",
        }
    }

    /// Returns the state with this name.
    pub fn from_name(name: &str) -> Option<WorkStanding> {
        WorkStanding::ALL.into_iter().find(|it| it.name() == name)
    }

    /// Returns `true` if others still wait for it.
    pub fn is_open(self) -> bool {
        !matches!(self, WorkStanding::Done | WorkStanding::Dropped)
    }
}

impl NodeWork {
    /// Reads the properties; `field` returns the value of the first key that is
    /// set.
    pub(super) fn from_fields(field: impl Fn(&[&str]) -> Option<String>) -> NodeWork {
        let number = |keys: &[&str]| field(keys)?.trim().parse::<u32>().ok();
        NodeWork {
            priority: field(&["priority"]),
            phase: field(&["phase"]),
            completed: field(&["completed", "completed-at", "completed_at"])
                .and_then(|it| parse_day(&it)),
            estimate: number(&["estimate", "weight"]).map(|it| it.clamp(1, 1_000_000)),
            rejections: number(&["rejections", "rejection-count", "rejection_count"]).unwrap_or(0),
        }
    }

    /// Returns the weight on a chain; 1 if it is unknown.
    pub fn weight(&self) -> u32 {
        self.estimate.unwrap_or(1).max(1)
    }
}

impl GraphNode {
    /// Returns the progress that the status of the node means.
    pub fn work_standing(&self) -> WorkStanding {
        let status = self.status.as_deref().map(|it| {
            let words = fold_name(it.trim()).replace(['-', '_', '’', '\''], " ");
            words.split_whitespace().collect::<Vec<_>>().join(" ")
        });
        let status = status.as_deref().unwrap_or("");
        let dropped = matches!(
            status,
            "cancelled"
                | "canceled"
                | "dropped"
                | "abandoned"
                | "archived"
                | "obsolete"
                | "rejected"
                | "superseded"
                | "won t do"
                | "wont do"
        ) || status.starts_with("superseded ");
        if dropped {
            return WorkStanding::Dropped;
        }
        if self.kind == NodeKind::Decision {
            return match status {
                "pending" | "proposed" | "open" | "draft" | "deferred" | "in discussion"
                | "under review" | "review" => WorkStanding::Open,
                "blocked" | "waiting" | "on hold" => WorkStanding::Blocked,
                // A decision in the log is made unless its status is a known
                // open one.
                _ => WorkStanding::Done,
            };
        }
        match status {
            "done" | "complete" | "completed" | "closed" | "finished" | "resolved" | "shipped"
            | "merged" => WorkStanding::Done,
            "in progress" | "active" | "assigned" | "working" | "doing" | "started" | "review"
            | "in review" | "ongoing" => WorkStanding::Active,
            "blocked" | "waiting" | "on hold" | "paused" => WorkStanding::Blocked,
            _ => WorkStanding::Open,
        }
    }

    /// Returns `true` if front matter of this kind of node describes work.
    pub(super) fn is_about_work(&self) -> bool {
        let typed = self.type_name.as_deref().map(fold_name);
        matches!(
            self.kind,
            NodeKind::Task | NodeKind::Agent | NodeKind::Decision | NodeKind::Project
        ) || typed.as_deref() == Some("artifact")
    }

    /// Returns `true` if the node is an entry of a state file and not a file
    /// itself.
    pub(super) fn is_state_entry(&self) -> bool {
        self.path.is_none() && matches!(self.kind, NodeKind::Task | NodeKind::Decision)
    }
}

/// Returns the day at the start of a date or time.
fn parse_day(text: &str) -> Option<String> {
    let day: jiff::civil::Date = text.trim().get(..10)?.parse().ok()?;
    Some(day.to_string())
}
