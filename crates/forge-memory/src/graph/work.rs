//! A node as a piece of work: how far it is, what it weighs, how often it was
//! sent back. Words that people use for the same thing mean the same here.

use serde::{Deserialize, Serialize};

use super::{Kind, Node};
use crate::links::fold;

/// What front matter or the fields of a task say beyond its status.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Work {
    pub priority: Option<String>,
    pub phase: Option<String>,
    /// The day on which it was done, `2026-03-01`.
    pub completed: Option<String>,
    /// How long it takes, in whatever unit the team counts.
    pub estimate: Option<u32>,
    /// How often a checker sent it back.
    pub rejections: u32,
}

/// How far something is.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
pub enum Standing {
    Open,
    Active,
    Blocked,
    Done,
    /// Ended without being done, and in nobody's way any more.
    Dropped,
}

impl Standing {
    pub const ALL: [Standing; 5] = [
        Standing::Open,
        Standing::Active,
        Standing::Blocked,
        Standing::Done,
        Standing::Dropped,
    ];

    pub fn name(self) -> &'static str {
        match self {
            Standing::Open => "open",
            Standing::Active => "active",
            Standing::Blocked => "blocked",
            Standing::Done => "done",
            Standing::Dropped => "dropped",
        }
    }

    pub fn of(name: &str) -> Option<Standing> {
        Standing::ALL.into_iter().find(|it| it.name() == name)
    }

    /// Whether others still wait for it.
    pub fn is_open(self) -> bool {
        !matches!(self, Standing::Done | Standing::Dropped)
    }
}

impl Work {
    /// `field` gives the value of the first of some keys.
    pub(super) fn read(field: impl Fn(&[&str]) -> Option<String>) -> Work {
        let number = |keys: &[&str]| field(keys)?.trim().parse::<u32>().ok();
        Work {
            priority: field(&["priority"]),
            phase: field(&["phase"]),
            completed: field(&["completed", "completed-at", "completed_at"])
                .and_then(|it| day(&it)),
            estimate: number(&["estimate", "weight"]).map(|it| it.clamp(1, 1_000_000)),
            rejections: number(&["rejections", "rejection-count", "rejection_count"]).unwrap_or(0),
        }
    }

    /// What it counts for on a chain; unknown is one.
    pub fn weight(&self) -> u32 {
        self.estimate.unwrap_or(1).max(1)
    }
}

impl Node {
    pub fn standing(&self) -> Standing {
        let status = self.status.as_deref().map(|it| {
            let words = fold(it.trim()).replace(['-', '_', '’', '\''], " ");
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
            return Standing::Dropped;
        }
        if self.kind == Kind::Decision {
            return match status {
                "pending" | "proposed" | "open" | "draft" | "deferred" | "in discussion"
                | "under review" | "review" => Standing::Open,
                "blocked" | "waiting" | "on hold" => Standing::Blocked,
                // A decision in the log was taken, whatever it says.
                _ => Standing::Done,
            };
        }
        match status {
            "done" | "complete" | "completed" | "closed" | "finished" | "resolved" | "shipped"
            | "merged" => Standing::Done,
            "in progress" | "active" | "assigned" | "working" | "doing" | "started" | "review"
            | "in review" | "ongoing" => Standing::Active,
            "blocked" | "waiting" | "on hold" | "paused" => Standing::Blocked,
            _ => Standing::Open,
        }
    }

    /// Whether it is of a kind whose front matter speaks of work.
    pub(super) fn is_about_work(&self) -> bool {
        let typed = self.type_name.as_deref().map(fold);
        matches!(
            self.kind,
            Kind::Task | Kind::Agent | Kind::Decision | Kind::Project
        ) || typed.as_deref() == Some("artifact")
    }

    /// Whether it is an entry of a state file, which is no file itself.
    pub(super) fn is_entry(&self) -> bool {
        self.path.is_none() && matches!(self.kind, Kind::Task | Kind::Decision)
    }
}

/// The day at the start of a date or time.
fn day(text: &str) -> Option<String> {
    let day: jiff::civil::Date = text.trim().get(..10)?.parse().ok()?;
    Some(day.to_string())
}
