//! Another workspace's documents, as they were pushed.

use super::{Engine, Error, READ, schema};

/// A workspace as it came back.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Pulled {
    pub workspace: String,
    pub generation: i64,
    pub commit: Option<String>,
    /// Paths and texts, sorted. Whoever wrote them is not to be trusted.
    pub documents: Vec<(String, String)>,
}

impl Engine {
    pub fn pull(&self, workspace: &str) -> Result<Pulled, Error> {
        self.within(READ, async |client| {
            schema::check(client).await?;
            let row = client
                .query_opt(
                    "select id, generation, commit_id from mf.workspace where name = $1",
                    &[&workspace],
                )
                .await?
                .ok_or_else(|| {
                    Error::usage(
                        format!("There is no workspace `{workspace}` that you may see"),
                        "`memory-forge engine status` lists those that you may",
                    )
                })?;
            let id: i64 = row.get(0);
            let rows = client
                .query(
                    "select path, text from mf.document where workspace = $1
                     order by path collate \"C\"",
                    &[&id],
                )
                .await?;
            Ok(Pulled {
                workspace: workspace.to_owned(),
                generation: row.get(1),
                commit: row.get(2),
                documents: rows.iter().map(|row| (row.get(0), row.get(1))).collect(),
            })
        })
    }
}
