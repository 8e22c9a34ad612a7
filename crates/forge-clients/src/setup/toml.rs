//! Adds our server to Codex's `config.toml`, as a table at the end of the file.
//! The parser only locates things; every other byte stays.

use std::ops::Range;

use toml_edit::{Document, Item};

use super::entries::SERVER;
use super::json::Broken;
use super::lines::{appended, cut_out, newline_of};

const SERVERS: &str = "mcp_servers";

/// State of the table of our name.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Server {
    /// There is none.
    Absent,
    /// It calls this program.
    Ours,
    /// It calls something else.
    Foreign,
}

/// Returns the state of the table of our name.
pub fn server(text: &str) -> Result<Server, Broken> {
    let document = parse(text)?;
    let Some(servers) = document.get(SERVERS) else {
        return Ok(Server::Absent);
    };
    if !servers.is_table() {
        return Err(Broken {
            line: line(text, servers.span()),
            what: format!("`{SERVERS}` is not a table that can be added to"),
        });
    }
    let Some(server) = servers.get(SERVER) else {
        return Ok(Server::Absent);
    };
    Ok(if server.is_table() && is_ours(server) {
        Server::Ours
    } else {
        Server::Foreign
    })
}

/// Returns the program that our table calls, if it is there.
pub fn program(text: &str) -> Option<String> {
    let document = parse(text).ok()?;
    let server = document.get(SERVERS)?.get(SERVER)?;
    let program = server.get("command").and_then(Item::as_str);
    program.filter(|_| is_ours(server)).map(str::to_owned)
}

/// Returns the text with our table, which replaces an older one.
pub fn with(current: Option<&str>, program: &str) -> Result<String, Broken> {
    let base = match current {
        Some(text) => without(text)?,
        None => None,
    };
    // The parser does the quoting, so that any path can be written.
    let program = toml_edit::Value::from(program);
    let table = |newline: &str| {
        format!("[{SERVERS}.{SERVER}]\ncommand = {program}\nargs = [\"mcp\"]")
            .replace('\n', newline)
    };
    let Some(text) = base else {
        return Ok(format!("{}\n", table("\n")));
    };
    let newline = newline_of(&text);
    let table = table(newline);
    Ok(appended(&text, &table, newline))
}

/// Returns the text without our table; none where the file was made for it.
pub fn without(text: &str) -> Result<Option<String>, Broken> {
    if server(text)? != Server::Ours {
        return Ok(Some(text.to_owned()));
    }
    let document = parse(text)?;
    let table = &document[SERVERS][SERVER];
    let Some(span) = extent(table) else {
        return Ok(Some(text.to_owned()));
    };
    Ok(cut_out(text, span))
}

fn parse(text: &str) -> Result<Document<&str>, Broken> {
    Document::parse(text).map_err(|error| Broken {
        line: line(text, error.span()),
        what: error.message().to_owned(),
    })
}

/// Returns the span from the header to the end of the last value, tables below
/// it included.
fn extent(item: &Item) -> Option<Range<usize>> {
    let mut span = item.span()?;
    for (_, inner) in item.as_table()?.iter() {
        let inner = match inner {
            Item::Table(_) => extent(inner)?,
            other => other.span()?,
        };
        span = span.start.min(inner.start)..span.end.max(inner.end);
    }
    Some(span)
}

fn is_ours(server: &Item) -> bool {
    let program = server.get("command").and_then(Item::as_str);
    let file = program.and_then(|path| path.rsplit(['/', '\\']).next());
    let first = server.get("args").and_then(|args| args.get(0));
    matches!(file, Some("memory-forge" | "memory-forge.exe"))
        && first.and_then(Item::as_str) == Some("mcp")
}

fn line(text: &str, span: Option<Range<usize>>) -> usize {
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
            let with_it = with(Some(text), "memory-forge").expect("it can be read");
            assert_eq!(server(&with_it), Ok(Server::Ours), "{with_it}");
            assert_eq!(with(Some(&with_it), "memory-forge").as_ref(), Ok(&with_it));
            assert_eq!(without(&with_it), Ok(Some(text.to_owned())));
        }
        let new = with(None, "/a \"b\"/memory-forge").expect("new");
        assert_eq!(server(&new), Ok(Server::Ours), "{new}");
        assert_eq!(without(&new), Ok(None));
    }

    #[test]
    fn what_was_added_to_our_table_goes_with_it_and_nothing_else() {
        let text = with(Some("a = 1\n"), "memory-forge").expect("it can be read");
        let edited = format!("{text}enabled = false\n\n[later]\nb = 2\n");
        assert_eq!(
            without(&edited),
            Ok(Some("a = 1\n\n[later]\nb = 2\n".to_owned()))
        );
    }

    #[test]
    fn what_cannot_be_added_to_is_told_with_its_line() {
        let check = |text: &str, expect: usize| {
            assert_eq!(with(Some(text), "x").expect_err(text).line, expect);
        };
        check("a = 1\nb = \n", 2);
        check("\nmcp_servers = 3\n", 2);
        check("mcp_servers = { a = { command = \"x\" } }\n", 1);
        let foreign = "[mcp_servers.memory-forge]\ncommand = \"else\"\n";
        assert_eq!(server(foreign), Ok(Server::Foreign));
        assert_eq!(without(foreign), Ok(Some(foreign.to_owned())));
    }
}
