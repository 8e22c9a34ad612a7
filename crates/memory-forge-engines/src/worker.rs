//! Answers one request of `memory-forge`, in lines: see `forge_memory::wire`.
//!
//! It never prompts a person and never writes a user's file: whether a server
//! may be connected to is read from the list that `memory-forge` keeps, and
//! pulled documents are returned to it.

use std::io::{self, Read, Write};
use std::path::{Path, PathBuf};
use std::process::ExitCode;
use std::sync::{Arc, Mutex, PoisonError};

use forge_memory::links;
use forge_memory::wire::{
    self, MAX_LINE_BYTES, MAX_REQUEST_BYTES, ProgramVersion, UnapprovedServer, WorkerError,
    WorkerLine, WorkerOperation, WorkerRequest,
};
use forge_store::servers::ApprovedServers;
use forge_store::workspace::Workspace;
use forge_text::diagnostic::Diagnostic;
use jiff::Timestamp;
use serde::{Deserialize, Serialize};

use crate::postgres;

mod graph;
mod index;

/// The environment's settings for servers. The worker reads them itself, so
/// that no password passes from one program to another.
#[derive(Clone, Default)]
pub struct WorkerSurroundings {
    pub engine: postgres::ServerEnvironment,
    pub graph: GraphVariables,
    /// The folder of the user's settings, `~/.config` or its equivalent.
    pub config: Option<PathBuf>,
    /// `MEMORY_FORGE_MODEL`
    pub model: Option<PathBuf>,
}

/// Values of `MEMORY_FORGE_GRAPH_URL`, `_USER`, `_PASSWORD`, `_DATABASE` and
/// `_AUTHORITY`, which override the workspace's settings.
#[derive(Clone, Default)]
pub struct GraphVariables {
    pub url: Option<String>,
    pub user: Option<String>,
    pub password: Option<String>,
    pub database: Option<String>,
    pub authority: Option<String>,
}

/// Reason why an operation has no result.
enum WorkerStop {
    /// It failed.
    Failed(WorkerError),
    /// The user has not approved the server that the project names.
    NotAgreed(UnapprovedServer),
}

impl<E: Diagnostic> From<E> for WorkerStop {
    fn from(error: E) -> WorkerStop {
        WorkerStop::Failed(WorkerError::from_diagnostic(&error))
    }
}

impl WorkerStop {
    /// Returns a failure without a hint.
    fn failed(message: impl Into<String>) -> WorkerStop {
        WorkerStop::Failed(WorkerError::failure("engine.failed", message))
    }
}

/// The output of lines, cloned into every callback that reports progress.
#[derive(Clone)]
struct LineOutput(Arc<Mutex<dyn Write + Send>>);

impl LineOutput {
    /// Writes a line. An error is ignored: without a reader there is nothing
    /// left to do, and the thread that watches the input ends the process.
    fn write_line<T: Serialize>(&self, line: &WorkerLine<T>) -> Result<(), WorkerStop> {
        let bytes = wire::to_line(line);
        let bytes = bytes.map_err(|error| WorkerStop::failed(format!("No answer: {error}")))?;
        if bytes.len() > MAX_LINE_BYTES {
            let mib = MAX_LINE_BYTES >> 20;
            return Err(WorkerStop::failed(format!(
                "The answer is larger than {mib} MiB"
            )));
        }
        let mut output = self.0.lock().unwrap_or_else(PoisonError::into_inner);
        let _ = output.write_all(&bytes).and_then(|()| output.flush());
        Ok(())
    }

    /// Writes a note for the user.
    fn write_note(&self, text: &str) {
        let _ = self.write_line(&WorkerLine::<()>::Note(text.to_owned()));
    }

    /// Writes a warning for the user.
    fn write_warning(&self, text: &str) {
        let _ = self.write_line(&WorkerLine::<()>::Warning(text.to_owned()));
    }

    /// Writes the progress of the operation.
    fn write_progress(&self, done: usize, total: usize) {
        let _ = self.write_line(&WorkerLine::<()>::Progress { done, total });
    }
}

/// The context of an operation.
struct WorkerContext<'a> {
    workspace: &'a Workspace,
    surroundings: &'a WorkerSurroundings,
    now: Timestamp,
    output: LineOutput,
}

impl WorkerContext<'_> {
    /// Fails unless the user has approved the server, which a project names.
    fn require_consent(&self, address: &str, variable: &str) -> Result<(), WorkerStop> {
        let config = self.surroundings.config.as_deref();
        let config = config.ok_or_else(|| WorkerStop::failed("There is no home directory"))?;
        if ApprovedServers::in_config_folder(config).is_approved(address)? {
            return Ok(());
        }
        Err(WorkerStop::NotAgreed(UnapprovedServer {
            address: address.to_owned(),
            variable: variable.to_owned(),
        }))
    }

    /// Writes the result of the operation.
    fn send_result<T: Serialize>(&self, result: T) -> Result<(), WorkerStop> {
        self.output.write_line(&WorkerLine::Done(result))
    }

    /// Reads the notes, and warns about files that cannot be read.
    fn read_vault(&self) -> links::NoteVault {
        let vault = links::NoteVault::read(self.workspace);
        for line in vault.problem_lines() {
            self.output.write_warning(&line);
        }
        vault
    }
}

/// The part of a request that every version understands.
#[derive(Deserialize)]
struct RequestHead {
    program: ProgramVersion,
}

/// Answers the one request on standard input, about the workspace in `folder`.
/// If standard input ends earlier, its parent is gone, and the process exits:
/// an unfinished change on a server has not happened.
pub fn serve_request(folder: &Path, surroundings: &WorkerSurroundings) -> ExitCode {
    let output = LineOutput(Arc::new(Mutex::new(io::stdout())));
    let _ = output.write_line(&WorkerLine::<()>::Hello(ProgramVersion::current()));
    let line = wire::read_line(&mut io::stdin().lock(), MAX_REQUEST_BYTES);
    // Watches for the end of the input, so that no worker outlives the command
    // that started it.
    std::thread::spawn(|| {
        let mut rest = [0; 64];
        while let Ok(1..) = io::stdin().lock().read(&mut rest) {}
        std::process::exit(1);
    });
    let outcome = line
        .map_err(|error| WorkerStop::failed(format!("The request cannot be read: {error}")))
        .and_then(|line| line.ok_or_else(|| WorkerStop::failed("There is no request")))
        .and_then(|line| answer_request(&line, folder, surroundings, &output));
    let line: WorkerLine<()> = match outcome {
        Ok(()) => return ExitCode::SUCCESS,
        Err(WorkerStop::Failed(error)) => WorkerLine::Failed(error),
        Err(WorkerStop::NotAgreed(server)) => WorkerLine::NotAgreed(server),
    };
    let _ = output.write_line(&line);
    ExitCode::from(1)
}

/// Parses a request, and runs its operation.
fn answer_request(
    line: &[u8],
    folder: &Path,
    surroundings: &WorkerSurroundings,
    output: &LineOutput,
) -> Result<(), WorkerStop> {
    let unknown = |error| WorkerStop::failed(format!("Unknown request: {error}"));
    // The version comes first: a request of another version may not parse, and
    // the error would be misleading.
    let head: RequestHead = serde_json::from_slice(line).map_err(unknown)?;
    let own = ProgramVersion::current();
    if head.program != own {
        return Err(WorkerStop::Failed(WorkerError::failure(
            "engine.worker-version",
            format!(
                "`{}` has version {}, and was started by version {}",
                wire::WORKER_PROGRAM,
                own.version,
                head.program.version
            ),
        )));
    }
    let request: WorkerRequest = serde_json::from_slice(line).map_err(unknown)?;
    let workspace = Workspace::open(folder)?;
    let context = WorkerContext {
        workspace: &workspace,
        surroundings,
        now: request.now,
        output: output.clone(),
    };
    match request.operation {
        WorkerOperation::Index { tenant, operation } => {
            index::run_index_operation(&tenant, operation, &context)
        }
        WorkerOperation::Graph(operation) => graph::run_graph_operation(&operation, &context),
    }
}
