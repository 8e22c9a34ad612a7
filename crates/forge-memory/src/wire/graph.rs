//! Operations on a graph server, and what they report.

use std::time::Duration;

use serde::{Deserialize, Serialize};
use serde_json::Value;

use crate::graph::ask::Question;

/// How long a question to the server may take, a free query, and a push.
const QUESTION: Duration = Duration::from_secs(30);
const FREE_QUERY: Duration = Duration::from_secs(120);
const PUSH: Duration = Duration::from_secs(30 * 60);

/// What is to be done on the graph server that environment or settings name.
#[derive(Debug, Clone, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum GraphOperation {
    /// Logs in and reports whose nodes are meant: [`GraphScope`].
    Connect,
    /// [`GraphPushReport`]
    Push { force: bool },
    /// [`GraphStatus`]
    Status,
    /// The number of nodes that were removed.
    Drop,
    /// [`QueryTable`]
    Cypher {
        query: String,
        write: bool,
        limit: usize,
    },
    /// A list of [`Answer`](crate::graph::ask::Answer), one a question.
    Ask { questions: Vec<Question> },
}

impl GraphOperation {
    /// Returns how long the server may take for all of it, after the login.
    pub fn limit(&self) -> Duration {
        match self {
            GraphOperation::Connect | GraphOperation::Status | GraphOperation::Ask { .. } => {
                QUESTION
            }
            GraphOperation::Cypher { .. } => FREE_QUERY,
            GraphOperation::Push { .. } | GraphOperation::Drop => PUSH,
        }
    }
}

/// Whose nodes are meant.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct GraphScope {
    pub tenant: String,
    pub workspace: String,
}

/// What a push to a graph server did.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct GraphPushReport {
    pub nodes: usize,
    pub relations: usize,
    /// Nodes and relations that were written, and that were taken away.
    pub written: usize,
    pub removed: usize,
}

/// What a graph server has of a workspace.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct GraphStatus {
    pub scope: GraphScope,
    /// The last push, where there was one.
    pub pushed: Option<PushedGraph>,
    /// Whether it is complete, and the files have not changed since.
    pub is_current: bool,
}

/// The last push as the server knows it.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct PushedGraph {
    pub is_complete: bool,
    pub nodes: i64,
    pub relations: i64,
    pub at: String,
}

/// Rows of a free query.
#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize)]
pub struct QueryTable {
    pub columns: Vec<String>,
    pub rows: Vec<Vec<Value>>,
    /// Whether there were more rows than were asked for.
    pub more: bool,
}
