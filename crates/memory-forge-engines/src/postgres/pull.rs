//! Pulls another workspace's documents, as they were pushed.

use tokio_postgres::Client;
use tokio_postgres::types::Type;

use super::schema::{self, AccessPurpose};
use super::{PostgresEngine, PostgresError, READ_TRANSACTION};

/// A workspace as the server has it.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct WorkspaceSnapshot {
    pub workspace: String,
    pub generation: i64,
    pub commit: Option<String>,
    /// Paths and texts, sorted. Their authors are not trusted.
    pub documents: Vec<(String, String)>,
}

/// Finds the only workspace of a name, or of `team/name`.
pub(super) async fn find_workspace(
    client: &Client,
    tenant: &str,
    name: &str,
) -> Result<tokio_postgres::Row, PostgresError> {
    let sql = "select id, name, team, generation, commit_id from mf.workspaces($1, $2)";
    let mut rows = client
        .query_typed(sql, &[(&tenant, Type::TEXT), (&name, Type::TEXT)])
        .await?;
    match rows.len() {
        0 => Err(PostgresError::usage(
            format!("There is no workspace `{name}` that you may see"),
            "`memory-forge engine status` lists those that you may",
        )),
        1 => Ok(rows.remove(0)),
        _ => {
            let both = |row: &tokio_postgres::Row| {
                format!("`{}/{}`", row.get::<_, &str>(2), row.get::<_, &str>(1))
            };
            let all: Vec<String> = rows.iter().map(both).collect();
            Err(PostgresError::usage(
                format!("More than one team has a workspace `{name}`"),
                format!("Name one of them: {}", all.join(", ")),
            ))
        }
    }
}

impl PostgresEngine {
    /// Returns the documents of a workspace that the caller may see.
    pub fn pull_workspace(&self, workspace: &str) -> Result<WorkspaceSnapshot, PostgresError> {
        self.run_transaction(READ_TRANSACTION, async |client| {
            schema::check_format(client, &self.tenant, AccessPurpose::Read).await?;
            let row = find_workspace(client, &self.tenant, workspace).await?;
            let id: i64 = row.get(0);
            let rows = client
                .query_typed(
                    "select path, body from mf.pull($1, $2)",
                    &[(&self.tenant, Type::TEXT), (&id, Type::INT8)],
                )
                .await?;
            Ok(WorkspaceSnapshot {
                workspace: row.get(1),
                generation: row.get(3),
                commit: row.get(4),
                documents: rows.iter().map(|row| (row.get(0), row.get(1))).collect(),
            })
        })
    }
}
