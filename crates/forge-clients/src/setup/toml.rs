//! Adds our server to Codex's `config.toml`, as a table at the end of the file.
//! The parser only locates things; every other byte stays.

use std::ops::Range;

use toml_edit::{Document, Item};

use super::entries::SERVER_NAME;
use super::json::SyntaxProblem;
use super::lines::{append_block, cut_block, newline_of};

const SERVERS_TABLE: &str = "mcp_servers";

/// State of the table of our name.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum ServerTable {
    /// There is none.
    Absent,
    /// It calls this program.
    Ours,
    /// It calls something else.
    Foreign,
}

/// Returns the state of the table of our name.
pub fn server_table(text: &str) -> Result<ServerTable, SyntaxProblem> {
    let document = parse_toml(text)?;
    let Some(servers) = document.get(SERVERS_TABLE) else {
        return Ok(ServerTable::Absent);
    };
    if !servers.is_table() {
        return Err(SyntaxProblem {
            line: line_at(text, servers.span()),
            what: format!("`{SERVERS_TABLE}` is not a table that can be added to"),
        });
    }
    let Some(server) = servers.get(SERVER_NAME) else {
        return Ok(ServerTable::Absent);
    };
    Ok(if server.is_table() && is_our_server(server) {
        ServerTable::Ours
    } else {
        ServerTable::Foreign
    })
}

/// Returns the program that our table calls, if it is there.
pub fn server_program(text: &str) -> Option<String> {
    let document = parse_toml(text).ok()?;
    let server = document.get(SERVERS_TABLE)?.get(SERVER_NAME)?;
    let program = server.get("command").and_then(Item::as_str);
    program.filter(|_| is_our_server(server)).map(str::to_owned)
}

/// Returns the text with our table, which replaces an older one.
pub fn with_server(current: Option<&str>, program: &str) -> Result<String, SyntaxProblem> {
    let base = match current {
        Some(text) => without_server(text)?,
        None => None,
    };
    // The parser does the quoting, so that any path can be written.
    let program = toml_edit::Value::from(program);
    let table = |newline: &str| {
        format!("[{SERVERS_TABLE}.{SERVER_NAME}]\ncommand = {program}\nargs = [\"mcp\"]")
            .replace('\n', newline)
    };
    let Some(text) = base else {
        return Ok(format!("{}\n", table("\n")));
    };
    let newline = newline_of(&text);
    let table = table(newline);
    Ok(append_block(&text, &table, newline))
}

/// Returns the text without our table; none where the file was made for it.
pub fn without_server(text: &str) -> Result<Option<String>, SyntaxProblem> {
    if server_table(text)? != ServerTable::Ours {
        return Ok(Some(text.to_owned()));
    }
    let document = parse_toml(text)?;
    let table = &document[SERVERS_TABLE][SERVER_NAME];
    let Some(span) = table_extent(table) else {
        return Ok(Some(text.to_owned()));
    };
    Ok(cut_block(text, span))
}

fn parse_toml(text: &str) -> Result<Document<&str>, SyntaxProblem> {
    Document::parse(text).map_err(|error| SyntaxProblem {
        line: line_at(text, error.span()),
        what: error.message().to_owned(),
    })
}

/// Returns the span from the header to the end of the last value, tables below
/// it included.
fn table_extent(item: &Item) -> Option<Range<usize>> {
    let mut span = item.span()?;
    for (_, inner) in item.as_table()?.iter() {
        let inner = match inner {
            Item::Table(_) => table_extent(inner)?,
            other => other.span()?,
        };
        span = span.start.min(inner.start)..span.end.max(inner.end);
    }
    Some(span)
}

fn is_our_server(server: &Item) -> bool {
    let program = server.get("command").and_then(Item::as_str);
    let file = program.and_then(|path| path.rsplit(['/', '\\']).next());
    let first = server.get("args").and_then(|args| args.get(0));
    matches!(file, Some("memory-forge" | "memory-forge.exe"))
        && first.and_then(Item::as_str) == Some("mcp")
}

fn line_at(text: &str, span: Option<Range<usize>>) -> usize {
    let start = span.map_or(0, |span| span.start.min(text.len()));
    1 + text.as_bytes()[..start]
        .iter()
        .filter(|&&b| b == b'\n')
        .count()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn any_file_comes_back() {
        for text in [
            "",
            "model = \"x\"",
            "model = \"x\"\n",
            "# c\nmodel = \"x\" # d\n\n",
            "[mcp_servers.other]\ncommand = \"o\"\n\n[tui]\na = 1\n",
            "a = 1\r\n\r\n[t]\r\nb = 2\r\n",
            "\u{feff}a = 1\n[t]\n",
            "[mcp_servers.other.env]\nA = \"b\"",
        ] {
            let with_it = with_server(Some(text), "memory-forge").expect("it can be read");
            assert_eq!(server_table(&with_it), Ok(ServerTable::Ours), "{with_it}");
            assert_eq!(
                with_server(Some(&with_it), "memory-forge").as_ref(),
                Ok(&with_it)
            );
            assert_eq!(without_server(&with_it), Ok(Some(text.to_owned())));
        }
        let new = with_server(None, "/a \"b\"/memory-forge").expect("new");
        assert_eq!(server_table(&new), Ok(ServerTable::Ours), "{new}");
        assert_eq!(without_server(&new), Ok(None));
    }

    #[test]
    fn what_was_added_to_our_table_goes_with_it_and_nothing_else() {
        let text = with_server(Some("a = 1\n"), "memory-forge").expect("it can be read");
        let edited = format!("{text}enabled = false\n\n[later]\nb = 2\n");
        assert_eq!(
            without_server(&edited),
            Ok(Some("a = 1\n\n[later]\nb = 2\n".to_owned()))
        );
    }

    #[test]
    fn what_cannot_be_added_to_is_told_with_its_line() {
        let check = |text: &str, expect: usize| {
            assert_eq!(with_server(Some(text), "x").expect_err(text).line, expect);
        };
        check("a = 1\nb = \n", 2);
        check("\nmcp_servers = 3\n", 2);
        check("mcp_servers = { a = { command = \"x\" } }\n", 1);
        let foreign = "[mcp_servers.memory-forge]\ncommand = \"else\"\n";
        assert_eq!(server_table(foreign), Ok(ServerTable::Foreign));
        assert_eq!(without_server(foreign), Ok(Some(foreign.to_owned())));
    }
}
