//! Imports claude-mem's database: observations, summaries and prompts, a page
//! for each session.
//!
//! It is opened read-only, also while claude-mem runs. Columns are queried by
//! name; a column that a version does not have is reported and left out.

use crate::document::day_of;
use std::collections::{BTreeMap, HashMap, HashSet};
use std::path::{Path, PathBuf};

use jiff::Timestamp;
use rusqlite::types::ValueRef;
use rusqlite::{Connection, OpenFlags};
use serde_json::Value;

use super::land::{Incoming, Landing};
use super::page::{Kind, Page, heading, one_line};
use super::transcripts::{counted, front};
use super::{Error, Options, Report, moment, name_from, short, usual};
use crate::admit::{Tally, admit_import};
use crate::workspace::{RelPath, Workspace};

/// Selection of sessions: claude-mem keeps those of all projects in one place.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Projects {
    /// Sessions of these projects, by the names that claude-mem uses: their
    /// folders'.
    Named(Vec<String>),
    /// Sessions of every project.
    All,
}

/// Columns of each table. The names of ids have changed between versions; the
/// first existing one is used.
const SESSION_IDS: [&str; 2] = ["memory_session_id", "sdk_session_id"];
const CONTENT_IDS: [&str; 2] = ["content_session_id", "claude_session_id"];
const OBSERVATION: [&str; 10] = [
    "type",
    "title",
    "subtitle",
    "narrative",
    "text",
    "facts",
    "concepts",
    "files_read",
    "files_modified",
    "created_at_epoch",
];
const SUMMARY: [&str; 8] = [
    "request",
    "investigated",
    "learned",
    "completed",
    "next_steps",
    "notes",
    "files_edited",
    "created_at_epoch",
];
const PROMPT: [&str; 3] = ["prompt_number", "prompt_text", "created_at_epoch"];

/// Imports the sessions of a claude-mem database.
pub fn run(
    workspace: &Workspace,
    file: &Path,
    projects: &Projects,
    options: &Options,
) -> Result<Report, Error> {
    let database = Database::open(file)?;
    let mut landing = Landing::new(workspace, options)?;
    for (table, why) in &database.missing {
        let shown = file.display().to_string();
        landing
            .report
            .problem(&shown, None, format!("table `{table}`: {why}"));
    }
    let mut sessions = database.sessions()?;
    let others: BTreeMap<String, usize> = sessions.iter().fold(BTreeMap::new(), |mut all, it| {
        *all.entry(it.project.clone()).or_default() += 1;
        all
    });
    if let Projects::Named(names) = projects {
        sessions.retain(|session| names.contains(&session.project));
        if sessions.is_empty() && !others.is_empty() {
            let names: Vec<String> = others
                .iter()
                .take(20)
                .map(|(name, count)| {
                    format!(
                        "{} ({count})",
                        one_line(&admit_import(name, &mut Tally::default()), 80)
                    )
                })
                .collect();
            let why = format!(
                "it has no session of this project; it has {}",
                names.join(", ")
            );
            landing.report.skip(file.display().to_string(), why);
        }
    }
    sessions.sort_by(|a, b| (b.started, &b.key).cmp(&(a.started, &a.key)));
    let mut imported = 0;
    for session in sessions {
        if options.limit.is_some_and(|limit| imported >= limit) {
            landing.report.beyond_limit += 1;
            continue;
        }
        let Some(page) = database.page(&session)? else {
            continue;
        };
        if let (Some(since), Some(last)) = (options.since, page.last)
            && day_of(last) < since
        {
            landing.report.older += 1;
            continue;
        }
        imported += 1;
        landing.place(page.incoming)?;
    }
    landing.report.files.sort_by(|a, b| a.path.cmp(&b.path));
    landing.finish()
}

/// A session, as the tables describe it.
struct Session {
    /// The id of its page.
    key: String,
    /// Its id in observations and summaries, and the one in prompts.
    memory: Option<String>,
    content: Option<String>,
    project: String,
    title: Option<String>,
    started: Option<Timestamp>,
}

/// A page that is ready for import, and the time of its last entry.
struct Made {
    incoming: Incoming,
    last: Option<Timestamp>,
}

/// A claude-mem database and its columns.
struct Database {
    file: PathBuf,
    connection: Connection,
    columns: HashMap<&'static str, Vec<String>>,
    missing: Vec<(&'static str, String)>,
}

/// A row by column names, without empty values.
type Row = HashMap<String, String>;

impl Database {
    /// Opens a database and reads which columns it has.
    fn open(file: &Path) -> Result<Database, Error> {
        if !file.is_file() {
            return Err(Error::Missing {
                path: file.to_path_buf(),
            });
        }
        let unreadable = |why: String| Error::Unreadable {
            path: file.to_path_buf(),
            why,
        };
        let connection = connect(file).map_err(|error| unreadable(error.to_string()))?;
        let mut database = Database {
            file: file.to_path_buf(),
            connection,
            columns: HashMap::new(),
            missing: Vec::new(),
        };
        let tables: [(&'static str, &[&str]); 4] = [
            ("sdk_sessions", &["project", "started_at_epoch"]),
            ("observations", &OBSERVATION),
            ("session_summaries", &SUMMARY),
            ("user_prompts", &PROMPT),
        ];
        for (table, wanted) in tables {
            let columns = database.columns_of(table)?;
            let lacks: Vec<&str> = wanted
                .iter()
                .copied()
                .filter(|name| !columns.iter().any(|it| it == name))
                .collect();
            if columns.is_empty() {
                database.missing.push((table, "it is not there".to_owned()));
            } else if !lacks.is_empty() {
                let why = format!("without {}", lacks.join(", "));
                database.missing.push((table, why));
            }
            database.columns.insert(table, columns);
        }
        let has = |table: &str| database.columns.get(table).is_some_and(|it| !it.is_empty());
        if !["observations", "session_summaries", "user_prompts"]
            .into_iter()
            .any(has)
        {
            return Err(unreadable("it is no database of claude-mem".to_owned()));
        }
        Ok(database)
    }

    /// Lists the columns of a table.
    fn columns_of(&self, table: &str) -> Result<Vec<String>, Error> {
        let names = self.query("SELECT name FROM pragma_table_info(?1)", &[table])?;
        Ok(names
            .into_iter()
            .filter_map(|mut row| row.remove("name"))
            .collect())
    }

    /// Returns the first of these columns that the table has.
    fn column(&self, table: &str, names: &[&'static str]) -> Option<&'static str> {
        let columns = self.columns.get(table)?;
        names
            .iter()
            .copied()
            .find(|name| columns.iter().any(|it| it == name))
    }

    /// Lists every session that occurs in any table.
    fn sessions(&self) -> Result<Vec<Session>, Error> {
        let mut sessions: Vec<Session> = Vec::new();
        let table = "sdk_sessions";
        let memory = self.column(table, &SESSION_IDS);
        let content = self.column(table, &CONTENT_IDS);
        if memory.is_some() || content.is_some() {
            for mut row in self.query("SELECT * FROM sdk_sessions", &[])? {
                let memory = memory.and_then(|name| row.remove(name));
                let content = content.and_then(|name| row.remove(name));
                let Some(key) = content.clone().or_else(|| memory.clone()) else {
                    continue;
                };
                sessions.push(Session {
                    key,
                    memory,
                    content,
                    project: row.remove("project").unwrap_or_default(),
                    title: row
                        .remove("custom_title")
                        .or_else(|| row.remove("user_prompt")),
                    started: when(&row, "started_at"),
                });
            }
        }
        let ids = |which: fn(&Session) -> Option<&String>| -> HashSet<String> {
            sessions.iter().filter_map(which).cloned().collect()
        };
        let mut memories = ids(|it| it.memory.as_ref());
        let mut contents = ids(|it| it.content.as_ref());
        for (table, names, is_memory) in [
            ("observations", SESSION_IDS, true),
            ("session_summaries", SESSION_IDS, true),
            ("user_prompts", CONTENT_IDS, false),
        ] {
            let Some(id) = self.column(table, &names) else {
                continue;
            };
            let project = self.column(table, &["project"]).unwrap_or("''");
            let sql = format!("SELECT {id} AS id, {project} AS project FROM {table} GROUP BY {id}");
            for mut row in self.query(&sql, &[])? {
                let Some(key) = row.remove("id") else {
                    continue;
                };
                let known = if is_memory {
                    &mut memories
                } else {
                    &mut contents
                };
                if !known.insert(key.clone()) {
                    continue;
                }
                sessions.push(Session {
                    memory: is_memory.then(|| key.clone()),
                    content: (!is_memory).then(|| key.clone()),
                    key,
                    project: row.remove("project").unwrap_or_default(),
                    title: None,
                    started: None,
                });
            }
        }
        Ok(sessions)
    }

    /// Returns the rows of a session in a table, oldest first.
    fn rows(
        &self,
        table: &str,
        ids: &[&'static str],
        id: Option<&String>,
    ) -> Result<Vec<Row>, Error> {
        let (Some(column), Some(id)) = (self.column(table, ids), id) else {
            return Ok(Vec::new());
        };
        let order = self
            .column(table, &["created_at_epoch", "created_at"])
            .unwrap_or("rowid");
        let sql = format!("SELECT * FROM {table} WHERE {column} = ?1 ORDER BY {order}, rowid");
        self.query(&sql, &[id])
    }

    /// Runs a query and returns its rows as text.
    fn query(&self, sql: &str, values: &[&str]) -> Result<Vec<Row>, Error> {
        let run = || -> rusqlite::Result<Vec<Row>> {
            let mut statement = self.connection.prepare_cached(sql)?;
            let names: Vec<String> = statement.column_names().map(str::to_owned).collect();
            let mut rows = statement.query(rusqlite::params_from_iter(values))?;
            let mut all = Vec::new();
            while let Some(row) = rows.next()? {
                let mut fields = Row::new();
                for (at, name) in names.iter().enumerate() {
                    let text = match row.get_ref(at)? {
                        ValueRef::Text(text) => String::from_utf8_lossy(text).into_owned(),
                        ValueRef::Integer(number) => number.to_string(),
                        ValueRef::Real(number) => number.to_string(),
                        ValueRef::Null | ValueRef::Blob(_) => continue,
                    };
                    if !text.trim().is_empty() {
                        fields.insert(name.clone(), text);
                    }
                }
                all.push(fields);
            }
            Ok(all)
        };
        run().map_err(|error| Error::Unreadable {
            path: self.file.clone(),
            why: error.to_string(),
        })
    }

    /// Builds the page of a session. Returns `None` if it has no entries.
    fn page(&self, session: &Session) -> Result<Option<Made>, Error> {
        let mut entries: Vec<(Option<Timestamp>, Kind, Row)> = Vec::new();
        let tables = [
            (
                "user_prompts",
                CONTENT_IDS,
                session.content.as_ref(),
                Kind::Prompt,
            ),
            (
                "observations",
                SESSION_IDS,
                session.memory.as_ref(),
                Kind::Noted,
            ),
            (
                "session_summaries",
                SESSION_IDS,
                session.memory.as_ref(),
                Kind::Summary,
            ),
        ];
        for (table, ids, id, kind) in tables {
            for row in self.rows(table, &ids, id)? {
                entries.push((when(&row, "created_at"), kind, row));
            }
        }
        if entries.is_empty() {
            return Ok(None);
        }
        // A stable sort: of one moment, prompts come before the notes about
        // them.
        entries.sort_by_key(|(when, ..)| *when);
        let (mut page, mut tally) = (Page::default(), Tally::default());
        let mut title = session.title.clone();
        let mut hasher = blake3::Hasher::new();
        for (when, kind, row) in &entries {
            let (label, text) = words(*kind, row);
            hasher.update(format!("{when:?}\0{label}\0{text}\0").as_bytes());
            if title.is_none() && matches!(kind, Kind::Prompt | Kind::Summary) {
                title = Some(row.get("request").unwrap_or(&text).clone());
            }
            let text = admit_import(&text, &mut tally);
            if label.is_empty() {
                page.add(*kind, *when, &text)
            } else {
                page.add_titled(*kind, *when, &admit_import(&label, &mut tally), &text)
            };
        }
        let title = admit_import(title.as_deref().unwrap_or_default(), &mut tally);
        let words = title
            .lines()
            .find(|line| line.chars().any(char::is_alphanumeric));
        let words = words.unwrap_or("Session").to_owned();
        let first = session
            .started
            .or_else(|| entries.iter().find_map(|(when, ..)| *when));
        let last = entries.iter().rev().find_map(|(when, ..)| *when);
        let id = one_line(&admit_import(&session.key, &mut tally), 300);
        let date = first.map_or("undated".to_owned(), |first| day_of(first).to_string());
        let name = format!(
            "knowledge/imported/claude-mem/{date}-{}-{}.md",
            name_from(&words).as_deref().unwrap_or("session"),
            short(&id)
        );
        let title = match heading(&words, 100) {
            title if title.is_empty() => "Session".to_owned(),
            title => title,
        };
        let project = one_line(&admit_import(&session.project, &mut tally), 100);
        let head = front(&[
            ("title", &title),
            ("date", &date),
            ("type", "session"),
            ("project", &project),
        ]);
        let about = format!(
            "What claude-mem kept of a session: {}, {}, {}.",
            counted(page.count(Kind::Prompt), "prompt"),
            counted(page.count(Kind::Noted), "observation"),
            counted(page.count(Kind::Summary), "summary")
        );
        let left_out = match page.dropped() {
            0 => String::new(),
            count => format!(" Left out: entries in the middle ({count})."),
        };
        let body = page.render(|_| None);
        Ok(Some(Made {
            incoming: Incoming {
                path: RelPath::new(&name).map_err(crate::workspace::Error::from)?,
                source: "claude-mem",
                source_id: id,
                source_hash: hasher.finalize().to_hex()[..32].to_owned(),
                text: format!("{head}\n# {title}\n\n{about}{left_out}\n{body}"),
                entries: page.shown(),
                tally,
            },
            last,
        }))
    }
}

/// Opens a database without writing anything, also to its folder. A database in
/// WAL mode gets files in its folder even from a reader, unless it is opened as
/// immutable; that is only safe while no other program has it open, in which
/// case the files exist already.
fn connect(file: &Path) -> rusqlite::Result<Connection> {
    let beside = |suffix: &str| {
        let mut name = file.as_os_str().to_owned();
        name.push(suffix);
        PathBuf::from(name)
    };
    let open = |mode: &str| {
        // These characters have a meaning in a URI.
        let path = file.to_string_lossy();
        let path = path
            .replace('%', "%25")
            .replace('?', "%3f")
            .replace('#', "%23");
        let flags = OpenFlags::SQLITE_OPEN_READ_ONLY | OpenFlags::SQLITE_OPEN_URI;
        let connection = Connection::open_with_flags(format!("file:{path}?{mode}"), flags)?;
        connection.busy_timeout(std::time::Duration::from_secs(5))?;
        // Opening always succeeds; the first read is what fails.
        connection.query_row("SELECT count(*) FROM sqlite_master", [], |_| Ok(()))?;
        Ok(connection)
    };
    if beside("-wal").exists() || beside("-journal").exists() {
        open("mode=ro").or_else(|_| open("mode=ro&immutable=1"))
    } else {
        open("mode=ro&immutable=1")
    }
}

/// Parses `created_at` as text, or else as milliseconds or seconds.
fn when(row: &Row, name: &str) -> Option<Timestamp> {
    if let Some(when) = row.get(name).and_then(|text| moment(text)) {
        return Some(when);
    }
    let number: i64 = row.get(&format!("{name}_epoch"))?.parse().ok()?;
    // As milliseconds this is a day in 1973, as seconds one in the year 5138,
    // so the two units cannot be confused.
    let millis = if number > 100_000_000_000 {
        number
    } else {
        number.checked_mul(1000)?
    };
    usual(Timestamp::from_millisecond(millis).ok()?)
}

/// Returns the heading and the text of an entry.
fn words(kind: Kind, row: &Row) -> (String, String) {
    let get = |name: &str| row.get(name).map(String::as_str).unwrap_or_default();
    let mut text = String::new();
    let mut add = |part: &str| {
        if !part.trim().is_empty() {
            text.push_str(part.trim());
            text.push_str("\n\n");
        }
    };
    let label = match kind {
        Kind::Prompt => {
            add(get("prompt_text"));
            String::new()
        }
        Kind::Summary => {
            for name in &SUMMARY[..6] {
                let part = get(name);
                if !part.is_empty() {
                    let title = name.replace('_', " ");
                    add(&format!(
                        "{}{}: {part}",
                        title[..1].to_uppercase(),
                        &title[1..]
                    ));
                }
            }
            add(&listed("Files edited: ", get("files_edited"), ", "));
            String::new()
        }
        _ => {
            add(get("subtitle"));
            add(get("narrative"));
            if get("text") != get("narrative") {
                add(get("text"));
            }
            add(&listed("• ", get("facts"), "\n• "));
            add(&listed("Concepts: ", get("concepts"), ", "));
            add(&listed("Files read: ", get("files_read"), ", "));
            add(&listed("Files modified: ", get("files_modified"), ", "));
            let title = [get("type"), get("title")];
            let title: Vec<&str> = title.into_iter().filter(|it| !it.is_empty()).collect();
            title.join(": ")
        }
    };
    (label, text.trim_end().to_owned())
}

/// Joins a list that is stored as JSON. Other values are used as they are.
fn listed(before: &str, value: &str, between: &str) -> String {
    let items: Vec<String> = match serde_json::from_str::<Value>(value) {
        Ok(Value::Array(items)) => items
            .iter()
            .map(|item| {
                item.as_str()
                    .map_or_else(|| item.to_string(), str::to_owned)
            })
            .collect(),
        _ => vec![value.to_owned()],
    };
    let items: Vec<String> = items
        .into_iter()
        .filter(|item| !item.trim().is_empty())
        .collect();
    if items.is_empty() {
        String::new()
    } else {
        format!("{before}{}", items.join(between))
    }
}
