//! Imports claude-mem's database: observations, summaries and prompts, a page
//! for each session.
//!
//! It is opened read-only, also while claude-mem runs. Columns are queried by
//! name; a column that a version does not have is reported and left out.

use crate::document::day_of_timestamp;
use std::collections::{BTreeMap, HashMap, HashSet};
use std::path::{Path, PathBuf};

use jiff::Timestamp;
use rusqlite::types::ValueRef;
use rusqlite::{Connection, OpenFlags};
use serde_json::Value;

use super::land::{ImportWriter, IncomingDocument};
use super::page::{ConversationPage, PageEntryKind, format_heading, to_one_line};
use super::transcripts::{build_front_matter, pluralize_count};
use super::{
    ImportError, ImportOptions, ImportReport, derive_file_stem, keep_plausible_moment,
    parse_moment, shorten_id,
};
use crate::admit::{ImportTally, admit_import};
use crate::workspace::{RelPath, Workspace};

/// Selection of sessions: claude-mem keeps those of all projects in one place.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum ProjectSelection {
    /// Sessions of these projects, by the names that claude-mem uses: their
    /// folders'.
    Named(Vec<String>),
    /// Sessions of every project.
    All,
}

/// Columns of each table. The names of ids have changed between versions; the
/// first existing one is used.
const SESSION_ID_COLUMNS: [&str; 2] = ["memory_session_id", "sdk_session_id"];
const CONTENT_ID_COLUMNS: [&str; 2] = ["content_session_id", "claude_session_id"];
const OBSERVATION_COLUMNS: [&str; 10] = [
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
const SUMMARY_COLUMNS: [&str; 8] = [
    "request",
    "investigated",
    "learned",
    "completed",
    "next_steps",
    "notes",
    "files_edited",
    "created_at_epoch",
];
const PROMPT_COLUMNS: [&str; 3] = ["prompt_number", "prompt_text", "created_at_epoch"];

/// Imports the sessions of a claude-mem database.
pub fn import_claude_mem(
    workspace: &Workspace,
    file: &Path,
    projects: &ProjectSelection,
    options: &ImportOptions,
) -> Result<ImportReport, ImportError> {
    let database = ClaudeMemDatabase::open(file)?;
    let mut landing = ImportWriter::new(workspace, options)?;
    for (table, why) in &database.missing {
        let shown = file.display().to_string();
        landing
            .report
            .add_problem(&shown, None, format!("table `{table}`: {why}"));
    }
    let mut sessions = database.list_sessions()?;
    let others: BTreeMap<String, usize> = sessions.iter().fold(BTreeMap::new(), |mut all, it| {
        *all.entry(it.project.clone()).or_default() += 1;
        all
    });
    if let ProjectSelection::Named(names) = projects {
        sessions.retain(|session| names.contains(&session.project));
        if sessions.is_empty() && !others.is_empty() {
            let names: Vec<String> = others
                .iter()
                .take(20)
                .map(|(name, count)| {
                    format!(
                        "{} ({count})",
                        to_one_line(&admit_import(name, &mut ImportTally::default()), 80)
                    )
                })
                .collect();
            let why = format!(
                "it has no session of this project; it has {}",
                names.join(", ")
            );
            landing.report.add_skipped(file.display().to_string(), why);
        }
    }
    sessions.sort_by(|a, b| (b.started, &b.key).cmp(&(a.started, &a.key)));
    let mut imported = 0;
    for session in sessions {
        if options.limit.is_some_and(|limit| imported >= limit) {
            landing.report.beyond_limit += 1;
            continue;
        }
        let Some(page) = database.build_page(&session)? else {
            continue;
        };
        if let (Some(since), Some(last)) = (options.since, page.last)
            && day_of_timestamp(last) < since
        {
            landing.report.older += 1;
            continue;
        }
        imported += 1;
        landing.place_document(page.incoming)?;
    }
    landing.report.files.sort_by(|a, b| a.path.cmp(&b.path));
    landing.finish()
}

/// A session, as the tables describe it.
struct ClaudeMemSession {
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
struct SessionPage {
    incoming: IncomingDocument,
    last: Option<Timestamp>,
}

/// A claude-mem database and its columns.
struct ClaudeMemDatabase {
    file: PathBuf,
    connection: Connection,
    columns: HashMap<&'static str, Vec<String>>,
    missing: Vec<(&'static str, String)>,
}

/// A row by column names, without empty values.
type ClaudeMemRow = HashMap<String, String>;

impl ClaudeMemDatabase {
    /// Opens a database and reads which columns it has.
    fn open(file: &Path) -> Result<ClaudeMemDatabase, ImportError> {
        if !file.is_file() {
            return Err(ImportError::Missing {
                path: file.to_path_buf(),
            });
        }
        let unreadable = |why: String| ImportError::Unreadable {
            path: file.to_path_buf(),
            why,
        };
        let connection = open_read_only(file).map_err(|error| unreadable(error.to_string()))?;
        let mut database = ClaudeMemDatabase {
            file: file.to_path_buf(),
            connection,
            columns: HashMap::new(),
            missing: Vec::new(),
        };
        let tables: [(&'static str, &[&str]); 4] = [
            ("sdk_sessions", &["project", "started_at_epoch"]),
            ("observations", &OBSERVATION_COLUMNS),
            ("session_summaries", &SUMMARY_COLUMNS),
            ("user_prompts", &PROMPT_COLUMNS),
        ];
        for (table, wanted) in tables {
            let columns = database.list_columns(table)?;
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
            return Err(unreadable("it is not a database of claude-mem".to_owned()));
        }
        Ok(database)
    }

    /// Lists the columns of a table.
    fn list_columns(&self, table: &str) -> Result<Vec<String>, ImportError> {
        let names = self.query_rows("SELECT name FROM pragma_table_info(?1)", &[table])?;
        Ok(names
            .into_iter()
            .filter_map(|mut row| row.remove("name"))
            .collect())
    }

    /// Returns the first of these columns that the table has.
    fn find_column(&self, table: &str, names: &[&'static str]) -> Option<&'static str> {
        let columns = self.columns.get(table)?;
        names
            .iter()
            .copied()
            .find(|name| columns.iter().any(|it| it == name))
    }

    /// Lists every session that occurs in any table.
    fn list_sessions(&self) -> Result<Vec<ClaudeMemSession>, ImportError> {
        let mut sessions: Vec<ClaudeMemSession> = Vec::new();
        let table = "sdk_sessions";
        let memory = self.find_column(table, &SESSION_ID_COLUMNS);
        let content = self.find_column(table, &CONTENT_ID_COLUMNS);
        if memory.is_some() || content.is_some() {
            for mut row in self.query_rows("SELECT * FROM sdk_sessions", &[])? {
                let memory = memory.and_then(|name| row.remove(name));
                let content = content.and_then(|name| row.remove(name));
                let Some(key) = content.clone().or_else(|| memory.clone()) else {
                    continue;
                };
                sessions.push(ClaudeMemSession {
                    key,
                    memory,
                    content,
                    project: row.remove("project").unwrap_or_default(),
                    title: row
                        .remove("custom_title")
                        .or_else(|| row.remove("user_prompt")),
                    started: parse_time(&row, "started_at"),
                });
            }
        }
        let ids = |which: fn(&ClaudeMemSession) -> Option<&String>| -> HashSet<String> {
            sessions.iter().filter_map(which).cloned().collect()
        };
        let mut memories = ids(|it| it.memory.as_ref());
        let mut contents = ids(|it| it.content.as_ref());
        for (table, names, is_memory) in [
            ("observations", SESSION_ID_COLUMNS, true),
            ("session_summaries", SESSION_ID_COLUMNS, true),
            ("user_prompts", CONTENT_ID_COLUMNS, false),
        ] {
            let Some(id) = self.find_column(table, &names) else {
                continue;
            };
            let project = self.find_column(table, &["project"]).unwrap_or("''");
            let sql = format!("SELECT {id} AS id, {project} AS project FROM {table} GROUP BY {id}");
            for mut row in self.query_rows(&sql, &[])? {
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
                sessions.push(ClaudeMemSession {
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
    fn session_rows(
        &self,
        table: &str,
        ids: &[&'static str],
        id: Option<&String>,
    ) -> Result<Vec<ClaudeMemRow>, ImportError> {
        let (Some(column), Some(id)) = (self.find_column(table, ids), id) else {
            return Ok(Vec::new());
        };
        let order = self
            .find_column(table, &["created_at_epoch", "created_at"])
            .unwrap_or("rowid");
        let sql = format!("SELECT * FROM {table} WHERE {column} = ?1 ORDER BY {order}, rowid");
        self.query_rows(&sql, &[id])
    }

    /// Runs a query and returns its rows as text.
    fn query_rows(&self, sql: &str, values: &[&str]) -> Result<Vec<ClaudeMemRow>, ImportError> {
        let run = || -> rusqlite::Result<Vec<ClaudeMemRow>> {
            let mut statement = self.connection.prepare_cached(sql)?;
            let names: Vec<String> = statement.column_names().map(str::to_owned).collect();
            let mut rows = statement.query(rusqlite::params_from_iter(values))?;
            let mut all = Vec::new();
            while let Some(row) = rows.next()? {
                let mut fields = ClaudeMemRow::new();
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
        run().map_err(|error| ImportError::Unreadable {
            path: self.file.clone(),
            why: error.to_string(),
        })
    }

    /// Builds the page of a session. Returns `None` if it has no entries.
    fn build_page(&self, session: &ClaudeMemSession) -> Result<Option<SessionPage>, ImportError> {
        let mut entries: Vec<(Option<Timestamp>, PageEntryKind, ClaudeMemRow)> = Vec::new();
        let tables = [
            (
                "user_prompts",
                CONTENT_ID_COLUMNS,
                session.content.as_ref(),
                PageEntryKind::Prompt,
            ),
            (
                "observations",
                SESSION_ID_COLUMNS,
                session.memory.as_ref(),
                PageEntryKind::Noted,
            ),
            (
                "session_summaries",
                SESSION_ID_COLUMNS,
                session.memory.as_ref(),
                PageEntryKind::Summary,
            ),
        ];
        for (table, ids, id, kind) in tables {
            for row in self.session_rows(table, &ids, id)? {
                entries.push((parse_time(&row, "created_at"), kind, row));
            }
        }
        if entries.is_empty() {
            return Ok(None);
        }
        // A stable sort: of one moment, prompts come before the notes about
        // them.
        entries.sort_by_key(|(when, ..)| *when);
        let (mut page, mut tally) = (ConversationPage::default(), ImportTally::default());
        let mut title = session.title.clone();
        let mut hasher = blake3::Hasher::new();
        for (when, kind, row) in &entries {
            let (label, text) = format_entry(*kind, row);
            hasher.update(format!("{when:?}\0{label}\0{text}\0").as_bytes());
            if title.is_none() && matches!(kind, PageEntryKind::Prompt | PageEntryKind::Summary) {
                title = Some(row.get("request").unwrap_or(&text).clone());
            }
            let text = admit_import(&text, &mut tally);
            if label.is_empty() {
                page.add_entry(*kind, *when, &text)
            } else {
                page.add_titled_entry(*kind, *when, &admit_import(&label, &mut tally), &text)
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
        let id = to_one_line(&admit_import(&session.key, &mut tally), 300);
        let date = first.map_or("undated".to_owned(), |first| {
            day_of_timestamp(first).to_string()
        });
        let name = format!(
            "knowledge/imported/claude-mem/{date}-{}-{}.md",
            derive_file_stem(&words).as_deref().unwrap_or("session"),
            shorten_id(&id)
        );
        let title = match format_heading(&words, 100) {
            title if title.is_empty() => "Session".to_owned(),
            title => title,
        };
        let project = to_one_line(&admit_import(&session.project, &mut tally), 100);
        let head = build_front_matter(&[
            ("title", &title),
            ("date", &date),
            ("type", "session"),
            ("project", &project),
        ]);
        let about = format!(
            "What claude-mem kept of a session: {}, {}, {}.",
            pluralize_count(page.count_kind(PageEntryKind::Prompt), "prompt"),
            pluralize_count(page.count_kind(PageEntryKind::Noted), "observation"),
            pluralize_count(page.count_kind(PageEntryKind::Summary), "summary")
        );
        let left_out = match page.dropped_entries() {
            0 => String::new(),
            count => format!(" Left out: entries in the middle ({count})."),
        };
        let body = page.render(|_| None);
        Ok(Some(SessionPage {
            incoming: IncomingDocument {
                path: RelPath::new(&name).map_err(crate::workspace::WorkspaceError::from)?,
                source: "claude-mem",
                source_id: id,
                source_hash: hasher.finalize().to_hex()[..32].to_owned(),
                text: format!("{head}\n# {title}\n\n{about}{left_out}\n{body}"),
                entries: page.shown_entries(),
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
fn open_read_only(file: &Path) -> rusqlite::Result<Connection> {
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
    let siblings =
        ["-wal", "-journal", "-shm"].map(|suffix| std::fs::symlink_metadata(beside(suffix)).ok());
    let [log, journal, _] = &siblings;
    // SQLite would wait for ever for the other end of a pipe in such a place,
    // and follow a link. Opened as immutable, it looks at none of them.
    let are_regular = siblings.iter().flatten().all(std::fs::Metadata::is_file);
    if are_regular && (log.is_some() || journal.is_some()) {
        open("mode=ro").or_else(|_| open("mode=ro&immutable=1"))
    } else {
        open("mode=ro&immutable=1")
    }
}

/// Parses `created_at` as text, or else as milliseconds or seconds.
fn parse_time(row: &ClaudeMemRow, name: &str) -> Option<Timestamp> {
    if let Some(when) = row.get(name).and_then(|text| parse_moment(text)) {
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
    keep_plausible_moment(Timestamp::from_millisecond(millis).ok()?)
}

/// Returns the heading and the text of an entry.
fn format_entry(kind: PageEntryKind, row: &ClaudeMemRow) -> (String, String) {
    let get = |name: &str| row.get(name).map(String::as_str).unwrap_or_default();
    let mut text = String::new();
    let mut add = |part: &str| {
        if !part.trim().is_empty() {
            text.push_str(part.trim());
            text.push_str("\n\n");
        }
    };
    let label = match kind {
        PageEntryKind::Prompt => {
            add(get("prompt_text"));
            String::new()
        }
        PageEntryKind::Summary => {
            for name in &SUMMARY_COLUMNS[..6] {
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
            add(&join_json_list("Files edited: ", get("files_edited"), ", "));
            String::new()
        }
        _ => {
            add(get("subtitle"));
            add(get("narrative"));
            if get("text") != get("narrative") {
                add(get("text"));
            }
            add(&join_json_list("• ", get("facts"), "\n• "));
            add(&join_json_list("Concepts: ", get("concepts"), ", "));
            add(&join_json_list("Files read: ", get("files_read"), ", "));
            add(&join_json_list(
                "Files modified: ",
                get("files_modified"),
                ", ",
            ));
            let title = [get("type"), get("title")];
            let title: Vec<&str> = title.into_iter().filter(|it| !it.is_empty()).collect();
            title.join(": ")
        }
    };
    (label, text.trim_end().to_owned())
}

/// Joins a list that is stored as JSON. Other values are used as they are.
fn join_json_list(before: &str, value: &str, between: &str) -> String {
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
