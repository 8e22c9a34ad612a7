//! Runs free queries, read-only unless the caller requests writing. Neo4j
//! enforces that; other servers do not, so writing words are searched for
//! first.

use forge_memory::wire::QueryTable;
use serde_json::Value as Json;

use super::values::value_to_json;
use super::{BoltError, BoltGraph};

impl BoltGraph {
    /// Runs a query with `$tenant` and `$workspace` set, and returns at most
    /// this many rows. It may read everything in the database.
    pub fn run_cypher(
        &mut self,
        text: &str,
        write: bool,
        most: usize,
    ) -> Result<QueryTable, BoltError> {
        if !write && let Some(word) = find_writing_clause(text) {
            return Err(BoltError::Writes(word));
        }
        let query = self.scoped_query(text);
        self.wait_for(async {
            let mut stream = if write {
                self.graph.execute(query).await?
            } else {
                self.graph.execute_read(query).await?
            };
            let mut table = QueryTable::default();
            while let Some(row) = stream.next().await? {
                if table.columns.is_empty() {
                    table.columns = row.keys().iter().map(|it| it.value.clone()).collect();
                    // The driver loses the order of columns; the end of the
                    // query has it.
                    let place = |it: &String| (text.rfind(it.as_str()), it.clone());
                    table.columns.sort_by_key(place);
                }
                if table.rows.len() == most {
                    table.more = true;
                    // A write is completed only when all rows are read.
                    if write {
                        continue;
                    }
                    break;
                }
                let cells = table.columns.iter().map(|name| match row.get(name) {
                    Ok(value) => value_to_json(&value),
                    Err(_) => Json::Null,
                });
                table.rows.push(cells.collect());
            }
            Ok(table)
        })
    }
}

/// Words that begin a clause that writes, or may.
const WRITING_WORDS: [&str; 22] = [
    "ALTER",
    "CREATE",
    "DEALLOCATE",
    "DELETE",
    "DENY",
    "DETACH",
    "DROP",
    "DRYRUN",
    "ENABLE",
    "FOREACH",
    "GRANT",
    "INSERT",
    "LOAD",
    "MERGE",
    "REALLOCATE",
    "REMOVE",
    "RENAME",
    "REVOKE",
    "SET",
    "START",
    "STOP",
    "TERMINATE",
];

/// Procedures that only read metadata.
const HARMLESS_PROCEDURES: [&str; 5] = [
    "db.labels",
    "db.propertyKeys",
    "db.relationshipTypes",
    "db.schema.visualization",
    "dbms.components",
];

/// Returns the first word of a query that is, or may be, a writing clause.
/// Strings, comments, quoted names, labels and properties are ignored; a query
/// that cannot be parsed with certainty counts as writing.
pub fn find_writing_clause(text: &str) -> Option<String> {
    // The server decodes such escapes before it parses the query, so they could
    // hide a word.
    if text.contains("\\u") || text.contains("\\U") {
        return Some("\\u".to_owned());
    }
    let tokens = match tokenize_query(text) {
        Ok(tokens) => tokens,
        Err(open) => return Some(open.to_owned()),
    };
    for (at, token) in tokens.iter().enumerate() {
        let before = at.checked_sub(1).map(|it| tokens[it]);
        let number_before = at
            .checked_sub(2)
            .is_some_and(|it| tokens[it].starts_with(|c: char| c.is_ascii_digit()));
        let next = tokens.get(at + 1).copied();
        // `n.set`, `(n:Set)` and `{set: 1}` are names.
        let is_name = before == Some(".") && !number_before
            || before == Some(":")
            || before == Some("$")
            || next == Some(":");
        if is_name {
            continue;
        }
        let word = token.to_ascii_uppercase();
        if WRITING_WORDS.contains(&word.as_str()) {
            return Some(word);
        }
        if word == "CALL" && !matches!(next, Some("{" | "(")) {
            let name = read_procedure_name(&tokens[at + 1..]);
            let known = HARMLESS_PROCEDURES
                .iter()
                .any(|it| name.eq_ignore_ascii_case(it));
            if !known {
                return Some("CALL".to_owned());
            }
        }
    }
    None
}

/// Reads the name of a procedure: words with dots between them.
fn read_procedure_name(tokens: &[&str]) -> String {
    let mut name = tokens.first().copied().unwrap_or("").to_owned();
    for pair in tokens.get(1..).unwrap_or_default().chunks(2) {
        match pair {
            [".", word] => {
                name.push('.');
                name.push_str(word);
            }
            _ => break,
        }
    }
    name
}

/// Splits a query into words and single characters, without strings and
/// comments. Fails for an unclosed one.
fn tokenize_query(text: &str) -> Result<Vec<&str>, &'static str> {
    let mut tokens = Vec::new();
    let mut rest = text;
    while let Some(first) = rest.chars().next() {
        let length = if rest.starts_with("//") {
            rest.find(['\n', '\r']).unwrap_or(rest.len())
        } else if let Some(comment) = rest.strip_prefix("/*") {
            comment.find("*/").ok_or("/*")? + 4
        } else if first == '\'' || first == '"' {
            quoted_length(rest, first).ok_or("'")?
        } else if first == '`' {
            1 + rest[1..].find('`').ok_or("`")? + 1
        } else if first.is_alphanumeric() || first == '_' {
            let end = rest.find(|c: char| !c.is_alphanumeric() && c != '_');
            let length = end.unwrap_or(rest.len());
            tokens.push(&rest[..length]);
            length
        } else {
            if !first.is_whitespace() {
                tokens.push(&rest[..first.len_utf8()]);
            }
            first.len_utf8()
        };
        rest = &rest[length..];
    }
    Ok(tokens)
}

/// Returns the length of a quoted string, with its escapes.
fn quoted_length(text: &str, quote: char) -> Option<usize> {
    let mut escaped = false;
    for (at, char) in text.char_indices().skip(1) {
        match char {
            _ if escaped => escaped = false,
            '\\' => escaped = true,
            char if char == quote => return Some(at + 1),
            _ => {}
        }
    }
    None
}

#[cfg(test)]
mod tests {
    use super::find_writing_clause;

    #[test]
    fn reading_queries_are_let_through() {
        for query in [
            "MATCH (n:Task {workspace: $workspace}) RETURN n.set, n.delete ORDER BY n.id LIMIT 5",
            "MATCH (n:Set)-[:CREATE]->(m) RETURN {merge: n.x, remove: 2}",
            "MATCH (n) WHERE n.name = 'SET n.x = 1' RETURN n // DELETE n",
            "MATCH (n) /* CREATE */ WITH n.name AS `delete` RETURN `delete`",
            "MATCH (a) CALL { WITH a MATCH (a)-->(b) RETURN b } RETURN a, b",
            "CALL db.labels() YIELD label RETURN label",
            "RETURN \"it's \\\" DELETE\" AS text",
            "MATCH (reset) RETURN reset.offset",
            "MATCH (n) WHERE n.x = $set RETURN n",
        ] {
            assert_eq!(find_writing_clause(query), None, "{query}");
        }
    }

    #[test]
    fn whatever_may_write_is_refused() {
        for query in [
            "CREATE (n) RETURN n",
            "match (n) set n.x = 1",
            "MATCH (n) DETACH DELETE n",
            "MATCH (n)\nREMOVE n.x",
            "MERGE (n:Task) RETURN n",
            "RETURN 'a' AS a UNION CREATE (n) RETURN 1 AS a",
            "MATCH (n) FOREACH (x IN [1] | SET n.y = x)",
            "MATCH (n) WHERE n.x = 1.SET n.y = 2",
            "MATCH (n) WHERE n.name = 'a\\'b' SET n.x = 1",
            "MATCH (n) /**/SET/**/n.x = 1",
            "CALL apoc.create.node(['A'], {})",
            "CALL db.labelsish.write()",
            "CALL `apoc`.`cypher`.`run`('x', {})",
            "LOAD CSV FROM 'file:///etc/passwd' AS line RETURN line",
            "DROP INDEX forge_task_key",
            "MATCH (n) \\u0053ET n.x = 1",
            "RETURN 'open",
            "RETURN 1 /* open",
            "RETURN `open",
        ] {
            assert!(find_writing_clause(query).is_some(), "{query}");
        }
    }
}
