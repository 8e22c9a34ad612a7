//! Answers the questions of the pages of `view`: one table, each entry answered
//! by the functions that commands use. It knows no sockets; text of files
//! leaves here cleaned and limited, and everything that was left out is
//! counted.

use std::panic::{self, AssertUnwindSafe};
use std::path::PathBuf;
use std::sync::{Arc, Mutex, PoisonError};

use forge_app::admit;
use forge_app::diagnostic::Diagnostic;
use forge_app::document::percent_decoded;
use forge_app::documents::{Audience, DocumentError, KnownDocuments};
use forge_app::quote;
use forge_app::undo::UndoError;
use forge_app::workspace::{RelPath, Workspace};
use jiff::Timestamp;
use serde_json::{Value, json};
use serve::{Asked, Asset, Method, Reply};

use crate::report::CommandError;
use crate::settings::Settings;
use forge_app::library::Library;

mod audit;
mod bundle;
mod documents;
mod export;
mod fleet;
mod graph;
mod overview;
mod search;
mod timeline;

pub(crate) use export::export;

macro_rules! asset {
    ($path:literal, $kind:literal) => {
        Asset {
            path: concat!("/", $path),
            kind: concat!($kind, "; charset=utf-8"),
            bytes: include_bytes!(concat!("view/assets/", $path)),
        }
    };
}

/// The page itself: `theme.js` is a classic script, the others are modules.
pub(crate) const ASSETS: &[Asset] = &[
    asset!("index.html", "text/html"),
    asset!("page.css", "text/css"),
    asset!("theme.js", "text/javascript"),
    asset!("start.js", "text/javascript"),
    asset!("dom.js", "text/javascript"),
    asset!("format.js", "text/javascript"),
    asset!("errors.js", "text/javascript"),
    asset!("copy.js", "text/javascript"),
    asset!("server.js", "text/javascript"),
    asset!("widgets.js", "text/javascript"),
    asset!("router.js", "text/javascript"),
    asset!("changes.js", "text/javascript"),
    asset!("prose.js", "text/javascript"),
    asset!("chart.js", "text/javascript"),
    asset!("layout.js", "text/javascript"),
    asset!("picture.js", "text/javascript"),
    asset!("pages/overview.js", "text/javascript"),
    asset!("pages/search.js", "text/javascript"),
    asset!("pages/graph.js", "text/javascript"),
    asset!("pages/timeline.js", "text/javascript"),
    asset!("pages/documents.js", "text/javascript"),
    asset!("pages/document.js", "text/javascript"),
    asset!("pages/audit.js", "text/javascript"),
    asset!("pages/fleet.js", "text/javascript"),
    Asset {
        path: "/icon.svg",
        kind: "image/svg+xml",
        bytes: include_bytes!("view/assets/icon.svg"),
    },
];

/// All questions that a page can send.
const QUESTIONS: &[Question] = &[
    get("overview", overview::overview),
    get("trend", overview::trend),
    get("search", search::search),
    get("graph", graph::graph),
    get("timeline", timeline::timeline),
    get("documents", documents::list),
    get("document", documents::document),
    get("source", documents::source),
    get("history", documents::history),
    get("past", documents::past),
    get("image", documents::image),
    get("audit", audit::audit),
    get("repair", audit::plan),
    get("changes", documents::changes),
    get("fleet", fleet::fleet),
    post("save", documents::save),
    post("undo", documents::undo),
    post("repair", audit::repair),
];

/// Question of a page, with the function that answers it.
struct Question {
    method: Method,
    name: &'static str,
    answer: fn(&Visit, &Given) -> Result<Told, Refused>,
}

const fn get(name: &'static str, answer: fn(&Visit, &Given) -> Result<Told, Refused>) -> Question {
    Question {
        method: Method::Get,
        name,
        answer,
    }
}

const fn post(name: &'static str, answer: fn(&Visit, &Given) -> Result<Told, Refused>) -> Question {
    Question {
        method: Method::Post,
        name,
        answer,
    }
}

/// Answer to a question.
enum Told {
    Json(Value),
    Bytes(&'static str, Vec<u8>),
}

impl From<Value> for Told {
    fn from(value: Value) -> Told {
        Told::Json(value)
    }
}

/// Refusal of a question, with its HTTP status.
#[derive(Debug)]
struct Refused {
    status: u16,
    /// Stable name of a library's error.
    code: Option<String>,
    why: String,
}

impl Refused {
    fn new(status: u16, why: impl Into<String>) -> Refused {
        Refused {
            status,
            code: None,
            why: why.into(),
        }
    }

    /// Returns a refusal with the hints and the code of a library's error.
    fn of_library(status: u16, error: &dyn Diagnostic) -> Refused {
        let mut sentences = vec![error.to_string()];
        sentences.extend(error.hints());
        Refused {
            code: Some(error.code().to_owned()),
            ..Refused::new(status, sentences.join(". "))
        }
    }
}

impl From<CommandError> for Refused {
    fn from(error: CommandError) -> Refused {
        Refused {
            code: error.code().map(str::to_owned),
            ..Refused::new(if error.is_usage() { 400 } else { 500 }, error.told())
        }
    }
}

impl From<UndoError> for Refused {
    fn from(error: UndoError) -> Refused {
        match error {
            UndoError::Edited { .. } => Refused::new(409, error.to_string()),
            UndoError::NoSuchChange { .. } => Refused::of_library(404, &error),
            UndoError::Workspace(error) => error.into(),
        }
    }
}

impl From<forge_app::workspace::Error> for Refused {
    fn from(error: forge_app::workspace::Error) -> Refused {
        use forge_app::workspace::Error;
        let status = match &error {
            Error::ChangedSince { .. } | Error::Exists { .. } => 409,
            Error::Path(_) | Error::Outside { .. } | Error::Symlink { .. } => 400,
            Error::NoSuchChange { .. } | Error::NothingToUndo => 404,
            Error::Refused(_) => 422,
            Error::Locked { .. } => 423,
            other if other.is_not_found() => 404,
            _ => 500,
        };
        Refused::of_library(status, &error)
    }
}

impl From<DocumentError> for Refused {
    fn from(error: DocumentError) -> Refused {
        let status = match error {
            DocumentError::Refused(error) => return error.into(),
            DocumentError::Workspace(error) => return error.into(),
            DocumentError::Missing { .. }
            | DocumentError::MissingThen { .. }
            | DocumentError::NotAnImage
            | DocumentError::MissingImage => 404,
            DocumentError::HoldsSecret => 422,
            DocumentError::Changed { .. } => 409,
            DocumentError::Commit(_) => 400,
        };
        Refused::of_library(status, &error)
    }
}

impl From<admit::Refusal> for Refused {
    fn from(error: admit::Refusal) -> Refused {
        match error {
            admit::Refusal::Workspace(error) => error.into(),
            other => Refused::of_library(422, &other),
        }
    }
}

impl From<forge_app::mind::Error> for Refused {
    fn from(error: forge_app::mind::Error) -> Refused {
        Refused::of_library(500, &error)
    }
}

/// Query and body of a question.
struct Given {
    query: Vec<(String, String)>,
    body: Value,
}

impl Given {
    fn of(query: &str, body: Value) -> Given {
        let pairs = query.split('&').filter(|it| !it.is_empty());
        let decoded = |text: &str| percent_decoded(text).into_owned();
        let query = pairs.map(|pair| {
            let (name, value) = pair.split_once('=').unwrap_or((pair, ""));
            (decoded(name), decoded(value))
        });
        Given {
            query: query.collect(),
            body,
        }
    }

    fn get(&self, name: &str) -> Option<&str> {
        let mut found = self.query.iter().filter(|(it, _)| it == name);
        found.next().map(|(_, value)| value.as_str())
    }

    fn text(&self, name: &str) -> Result<&str, Refused> {
        let value = self.get(name).or_else(|| self.body[name].as_str());
        value.ok_or_else(|| Refused::new(400, format!("`{name}` is missing")))
    }

    fn path(&self) -> Result<RelPath, Refused> {
        let path = RelPath::new(self.text("path")?);
        path.map_err(|error| Refused::new(400, error.to_string()))
    }
}

/// Server of all questions; shared by those that arrive at one time.
pub(crate) struct Desk {
    settings: Settings,
    root: PathBuf,
    memory: Mutex<Library>,
    known: Mutex<Option<(u64, Arc<KnownDocuments>)>>,
    audience: Audience,
}

/// One question, with what it works on.
struct Visit<'a> {
    desk: &'a Desk,
    settings: Settings,
    workspace: Workspace,
    now: Timestamp,
}

impl Desk {
    pub(crate) fn of(workspace: &Workspace, settings: &Settings) -> Desk {
        Desk {
            settings: settings.clone(),
            root: workspace.root().to_owned(),
            memory: Mutex::new(crate::library::open(workspace.clone(), settings)),
            known: Mutex::new(None),
            audience: Audience::Owner,
        }
    }

    pub(crate) fn answer(&self, asked: Asked) -> Reply {
        let found = QUESTIONS
            .iter()
            .find(|it| it.name == asked.name && it.method == asked.method);
        let told = match found {
            None => Err(Refused::new(404, "There is no such question")),
            Some(question) => self.told(question, &asked),
        };
        match told {
            Ok(Told::Bytes(kind, bytes)) => Reply {
                status: 200,
                kind,
                body: bytes.into(),
            },
            Ok(Told::Json(value)) => reply(200, &value),
            Err(refused) => {
                let why = quote::clean(&refused.why);
                let mut body = json!({ "error": why });
                if let Some(code) = refused.code {
                    body["code"] = code.into();
                }
                reply(refused.status, &body)
            }
        }
    }

    fn told(&self, question: &Question, asked: &Asked) -> Result<Told, Refused> {
        let body = match asked.method {
            Method::Get => Value::Null,
            Method::Post => serde_json::from_slice(&asked.body)
                .map_err(|error| Refused::new(400, format!("This is not JSON: {error}")))?,
        };
        let given = Given::of(&asked.query, body);
        let answer = AssertUnwindSafe(|| (question.answer)(&self.visit()?, &given));
        panic::catch_unwind(answer).unwrap_or_else(|_| {
            // After a panic the memory may be in any state, so it is opened
            // again.
            if let Ok(workspace) = Workspace::open(&self.root) {
                *locked(&self.memory) = crate::library::open(workspace, &self.settings);
            }
            let why = "Memory Forge has a defect; its message is on standard error";
            Err(Refused::new(500, why))
        })
    }

    /// Prepares a question. Reads the settings again, since people edit them
    /// while a page is open.
    fn visit(&self) -> Result<Visit<'_>, Refused> {
        // A page lives longer than a command, so each question has its own
        // time.
        let mut settings = self.settings.clone();
        settings.now = settings.moment();
        Ok(Visit {
            desk: self,
            workspace: Workspace::open(&self.root)?,
            now: settings.now,
            settings,
        })
    }
}

impl Visit<'_> {
    /// Returns every document and all links, read again if a file changed; an
    /// exported copy is of one moment.
    fn known(&self) -> Arc<KnownDocuments> {
        let mut kept = locked(&self.desk.known);
        if let (Audience::Others, Some((_, known))) = (self.desk.audience, &*kept) {
            return known.clone();
        }
        let stamp = KnownDocuments::stamp(&self.workspace);
        match &*kept {
            Some((at, known)) if *at == stamp => known.clone(),
            _ => {
                let known = KnownDocuments::read(&self.workspace, self.desk.audience);
                let known = Arc::new(known);
                *kept = Some((stamp, known.clone()));
                known
            }
        }
    }
}

/// Locks, also after a panic: the value is only ever replaced as a whole.
fn locked<T>(mutex: &Mutex<T>) -> std::sync::MutexGuard<'_, T> {
    mutex.lock().unwrap_or_else(PoisonError::into_inner)
}

fn reply(status: u16, value: &Value) -> Reply {
    let text = serde_json::to_vec(value).expect("values are plain data");
    Reply {
        status,
        kind: "application/json; charset=utf-8",
        body: text.into(),
    }
}

/// Cleans a line of text that is not ours for display.
fn clean(text: &str) -> String {
    quote::clean(text).into_owned()
}
