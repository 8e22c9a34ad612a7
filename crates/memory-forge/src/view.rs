//! Answers the questions of the pages of `view`: one table, each entry answered
//! by the functions that commands use. It knows no sockets; text of files
//! leaves here cleaned and limited, and everything that was left out is
//! counted.

use std::panic::{self, AssertUnwindSafe};
use std::path::PathBuf;
use std::sync::{Arc, Mutex, PoisonError};

use forge_app::admit;
use forge_app::diagnostic::Diagnostic;
use forge_app::document::percent_decode;
use forge_app::documents::{DocumentAudience, DocumentError, KnownDocuments};
use forge_app::quote;
use forge_app::undo::UndoError;
use forge_app::workspace::{RelPath, Workspace};
use forge_serve::{Asset, PageMethod, PageReply, PageRequest};
use jiff::Timestamp;
use serde_json::{Value, json};

use crate::report::CommandError;
use crate::settings::Settings;
use forge_app::library::KnowledgeLibrary;

mod audit;
mod bundle;
mod documents;
mod export;
mod fleet;
mod graph;
mod overview;
mod search;
mod timeline;

pub(crate) use export::export_pages;

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
pub(crate) const PAGE_ASSETS: &[Asset] = &[
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
const PAGE_QUESTIONS: &[PageQuestion] = &[
    get_question("overview", overview::answer_overview),
    get_question("trend", overview::answer_trend),
    get_question("search", search::answer_search),
    get_question("graph", graph::answer_graph),
    get_question("timeline", timeline::answer_timeline),
    get_question("documents", documents::answer_list),
    get_question("document", documents::answer_document),
    get_question("source", documents::answer_source),
    get_question("history", documents::answer_history),
    get_question("past", documents::answer_past),
    get_question("image", documents::answer_image),
    get_question("audit", audit::answer_audit),
    get_question("repair", audit::plan_repair),
    get_question("changes", documents::answer_changes),
    get_question("fleet", fleet::answer_fleet),
    post_question("save", documents::save_document),
    post_question("undo", documents::undo_change),
    post_question("repair", audit::apply_repair),
];

/// Question of a page, with the function that answers it.
struct PageQuestion {
    method: PageMethod,
    name: &'static str,
    answer: fn(&QuestionContext, &QuestionInput) -> Result<PageAnswer, PageRefusal>,
}

const fn get_question(
    name: &'static str,
    answer: fn(&QuestionContext, &QuestionInput) -> Result<PageAnswer, PageRefusal>,
) -> PageQuestion {
    PageQuestion {
        method: PageMethod::Get,
        name,
        answer,
    }
}

const fn post_question(
    name: &'static str,
    answer: fn(&QuestionContext, &QuestionInput) -> Result<PageAnswer, PageRefusal>,
) -> PageQuestion {
    PageQuestion {
        method: PageMethod::Post,
        name,
        answer,
    }
}

/// Answer to a question.
enum PageAnswer {
    Json(Value),
    Bytes(&'static str, Vec<u8>),
}

impl From<Value> for PageAnswer {
    fn from(value: Value) -> PageAnswer {
        PageAnswer::Json(value)
    }
}

/// Refusal of a question, with its HTTP status.
#[derive(Debug)]
struct PageRefusal {
    status: u16,
    /// Stable name of a library's error.
    code: Option<String>,
    why: String,
}

impl PageRefusal {
    fn new(status: u16, why: impl Into<String>) -> PageRefusal {
        PageRefusal {
            status,
            code: None,
            why: why.into(),
        }
    }

    /// Returns a refusal with the hints and the code of a library's error.
    fn of_library(status: u16, error: &dyn Diagnostic) -> PageRefusal {
        let mut sentences = vec![error.to_string()];
        sentences.extend(error.hints());
        PageRefusal {
            code: Some(error.code().to_owned()),
            ..PageRefusal::new(status, sentences.join(". "))
        }
    }
}

impl From<CommandError> for PageRefusal {
    fn from(error: CommandError) -> PageRefusal {
        PageRefusal {
            code: error.code().map(str::to_owned),
            ..PageRefusal::new(
                if error.is_usage() { 400 } else { 500 },
                error.message_with_hints(),
            )
        }
    }
}

impl From<UndoError> for PageRefusal {
    fn from(error: UndoError) -> PageRefusal {
        match error {
            UndoError::Edited { .. } => PageRefusal::new(409, error.to_string()),
            UndoError::NoSuchChange { .. } => PageRefusal::of_library(404, &error),
            UndoError::Workspace(error) => error.into(),
        }
    }
}

impl From<forge_app::workspace::WorkspaceError> for PageRefusal {
    fn from(error: forge_app::workspace::WorkspaceError) -> PageRefusal {
        use forge_app::workspace::WorkspaceError;
        let status = match &error {
            WorkspaceError::ChangedSince { .. } | WorkspaceError::Exists { .. } => 409,
            WorkspaceError::Path(_)
            | WorkspaceError::Outside { .. }
            | WorkspaceError::Symlink { .. } => 400,
            WorkspaceError::NoSuchChange { .. } | WorkspaceError::NothingToUndo => 404,
            WorkspaceError::Refused(_) => 422,
            WorkspaceError::Locked { .. } => 423,
            other if other.is_not_found() => 404,
            _ => 500,
        };
        PageRefusal::of_library(status, &error)
    }
}

impl From<DocumentError> for PageRefusal {
    fn from(error: DocumentError) -> PageRefusal {
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
        PageRefusal::of_library(status, &error)
    }
}

impl From<admit::TextRefusal> for PageRefusal {
    fn from(error: admit::TextRefusal) -> PageRefusal {
        match error {
            admit::TextRefusal::Workspace(error) => error.into(),
            other => PageRefusal::of_library(422, &other),
        }
    }
}

impl From<forge_app::mind::MindError> for PageRefusal {
    fn from(error: forge_app::mind::MindError) -> PageRefusal {
        PageRefusal::of_library(500, &error)
    }
}

/// Query and body of a question.
struct QuestionInput {
    query: Vec<(String, String)>,
    body: Value,
}

impl QuestionInput {
    fn from_query(query: &str, body: Value) -> QuestionInput {
        let pairs = query.split('&').filter(|it| !it.is_empty());
        let decoded = |text: &str| percent_decode(text).into_owned();
        let query = pairs.map(|pair| {
            let (name, value) = pair.split_once('=').unwrap_or((pair, ""));
            (decoded(name), decoded(value))
        });
        QuestionInput {
            query: query.collect(),
            body,
        }
    }

    fn query_value(&self, name: &str) -> Option<&str> {
        let mut found = self.query.iter().filter(|(it, _)| it == name);
        found.next().map(|(_, value)| value.as_str())
    }

    fn required_text(&self, name: &str) -> Result<&str, PageRefusal> {
        let value = self.query_value(name).or_else(|| self.body[name].as_str());
        value.ok_or_else(|| PageRefusal::new(400, format!("`{name}` is missing")))
    }

    fn document_path(&self) -> Result<RelPath, PageRefusal> {
        let path = RelPath::new(self.required_text("path")?);
        path.map_err(|error| PageRefusal::new(400, error.to_string()))
    }
}

/// Server of all questions; shared by those that arrive at one time.
pub(crate) struct PageService {
    settings: Settings,
    root: PathBuf,
    memory: Mutex<KnowledgeLibrary>,
    known: Mutex<Option<(u64, Arc<KnownDocuments>)>>,
    audience: DocumentAudience,
}

/// One question, with what it works on.
struct QuestionContext<'a> {
    service: &'a PageService,
    settings: Settings,
    workspace: Workspace,
    now: Timestamp,
}

impl PageService {
    pub(crate) fn for_workspace(workspace: &Workspace, settings: &Settings) -> PageService {
        PageService {
            settings: settings.clone(),
            root: workspace.root().to_owned(),
            memory: Mutex::new(crate::library::open_library(workspace.clone(), settings)),
            known: Mutex::new(None),
            audience: DocumentAudience::Owner,
        }
    }

    pub(crate) fn answer_request(&self, request: PageRequest) -> PageReply {
        let found = PAGE_QUESTIONS
            .iter()
            .find(|it| it.name == request.name && it.method == request.method);
        let reply = match found {
            None => Err(PageRefusal::new(404, "There is no such question")),
            Some(question) => self.answer_question(question, &request),
        };
        match reply {
            Ok(PageAnswer::Bytes(kind, bytes)) => PageReply {
                status: 200,
                kind,
                body: bytes.into(),
            },
            Ok(PageAnswer::Json(value)) => json_reply(200, &value),
            Err(refused) => {
                let why = quote::sanitize_text(&refused.why);
                let mut body = json!({ "error": why });
                if let Some(code) = refused.code {
                    body["code"] = code.into();
                }
                json_reply(refused.status, &body)
            }
        }
    }

    fn answer_question(
        &self,
        question: &PageQuestion,
        request: &PageRequest,
    ) -> Result<PageAnswer, PageRefusal> {
        let body = match request.method {
            PageMethod::Get => Value::Null,
            PageMethod::Post => serde_json::from_slice(&request.body)
                .map_err(|error| PageRefusal::new(400, format!("This is not JSON: {error}")))?,
        };
        let given = QuestionInput::from_query(&request.query, body);
        let answer = AssertUnwindSafe(|| (question.answer)(&self.open_context()?, &given));
        panic::catch_unwind(answer).unwrap_or_else(|_| {
            // After a panic the memory may be in any state, so it is opened
            // again.
            if let Ok(workspace) = Workspace::open(&self.root) {
                *lock_mutex(&self.memory) = crate::library::open_library(workspace, &self.settings);
            }
            let why = "Memory Forge has a defect; its message is on standard error";
            Err(PageRefusal::new(500, why))
        })
    }

    /// Prepares a question. Reads the settings again, since people edit them
    /// while a page is open.
    fn open_context(&self) -> Result<QuestionContext<'_>, PageRefusal> {
        // A page lives longer than a command, so each question has its own
        // time.
        let mut settings = self.settings.clone();
        settings.now = settings.current_time();
        Ok(QuestionContext {
            service: self,
            workspace: Workspace::open(&self.root)?,
            now: settings.now,
            settings,
        })
    }
}

impl QuestionContext<'_> {
    /// Returns every document and all links, read again if a file changed; an
    /// exported copy is of one moment.
    fn known_documents(&self) -> Arc<KnownDocuments> {
        let mut kept = lock_mutex(&self.service.known);
        if let (DocumentAudience::Others, Some((_, known))) = (self.service.audience, &*kept) {
            return known.clone();
        }
        let stamp = KnownDocuments::compute_stamp(&self.workspace);
        match &*kept {
            Some((at, known)) if *at == stamp => known.clone(),
            _ => {
                let known = KnownDocuments::read(&self.workspace, self.service.audience);
                let known = Arc::new(known);
                *kept = Some((stamp, known.clone()));
                known
            }
        }
    }
}

/// Locks, also after a panic: the value is only ever replaced as a whole.
fn lock_mutex<T>(mutex: &Mutex<T>) -> std::sync::MutexGuard<'_, T> {
    mutex.lock().unwrap_or_else(PoisonError::into_inner)
}

fn json_reply(status: u16, value: &Value) -> PageReply {
    let text = serde_json::to_vec(value).expect("values are plain data");
    PageReply {
        status,
        kind: "application/json; charset=utf-8",
        body: text.into(),
    }
}

/// Cleans a line of text that is not ours for display.
fn clean_text(text: &str) -> String {
    quote::sanitize_text(text).into_owned()
}
