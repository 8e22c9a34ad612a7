//! Operations on a graph server, and their results.

use std::time::Duration;

use serde::{Deserialize, Serialize};
use serde_json::Value;

use crate::graph::ask::GraphQuestion;

/// Time limits for a question to the server, a free query, and a push.
const QUESTION_TIMEOUT: Duration = Duration::from_secs(30);
const FREE_QUERY_TIMEOUT: Duration = Duration::from_secs(120);
const PUSH_TIMEOUT: Duration = Duration::from_secs(30 * 60);

/// An operation on the graph server that environment or settings name.
#[derive(Debug, Clone, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum GraphOperation {
    /// Logs in and returns whose nodes are meant, as [`GraphScope`].
    Connect,
    /// Returns a [`GraphPushReport`].
    Push {
        /// Whether everything is sent again, whatever the server has.
        force: bool,
    },
    /// Returns a [`GraphStatus`].
    Status,
    /// Returns the number of removed nodes.
    Drop,
    /// Returns a [`QueryTable`].
    Cypher {
        /// The query in Cypher.
        query: String,
        /// Whether it may change data.
        write: bool,
        /// Maximum number of rows.
        limit: usize,
    },
    /// Returns a list of answers, one per question.
    Ask {
        /// The questions, answered in this order.
        questions: Vec<GraphQuestion>,
    },
}

impl GraphOperation {
    /// Returns the time limit for the whole operation, without the login.
    pub fn time_limit(&self) -> Duration {
        match self {
            GraphOperation::Connect | GraphOperation::Status | GraphOperation::Ask { .. } => {
                QUESTION_TIMEOUT
            }
            GraphOperation::Cypher { .. } => FREE_QUERY_TIMEOUT,
            GraphOperation::Push { .. } | GraphOperation::Drop => PUSH_TIMEOUT,
        }
    }
}

/// The owner of a set of nodes.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct GraphScope {
    /// The organization.
    pub tenant: String,
    /// The name of the workspace.
    pub workspace: String,
}

/// Changes by a push to a graph server.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct GraphPushReport {
    /// Number of nodes in the graph.
    pub nodes: usize,
    /// Number of relations in the graph.
    pub relations: usize,
    /// Number of nodes and relations that were written, and that were removed.
    pub written: usize,
    /// Number of nodes and relations that were removed.
    pub removed: usize,
}

/// Contents of a graph server for a workspace.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct GraphStatus {
    /// Whose nodes are meant.
    pub scope: GraphScope,
    /// The last push, if any.
    pub pushed: Option<PushedGraph>,
    /// Whether the push is complete, and no file has changed since.
    pub is_current: bool,
}

/// The last push, as the server recorded it.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct PushedGraph {
    /// Whether the push ended.
    pub is_complete: bool,
    /// Number of nodes on the server.
    pub nodes: i64,
    /// Number of relations on the server.
    pub relations: i64,
    /// When it ended, in RFC 3339.
    pub at: String,
}

/// The result of a free query.
#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize)]
pub struct QueryTable {
    /// The names of the columns.
    pub columns: Vec<String>,
    /// The rows, with a value for each column.
    pub rows: Vec<Vec<Value>>,
    /// Whether there were more rows than requested.
    pub more: bool,
}
