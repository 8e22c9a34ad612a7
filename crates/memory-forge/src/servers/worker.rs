//! Runs the second program, `memory-forge-engines`, which can talk to servers:
//! found next to this one or on `PATH`, as git finds its own, started for one
//! request, and ended with it. See `forge_memory::wire`.
//!
//! Whatever the worker does, a command continues: a worker that hangs, dies or
//! prints something else is an error within the command's own limits. It ends
//! when its standard input does, so that none outlives this program.

use std::collections::HashSet;
use std::io::{self, BufReader, Read, Write};
use std::path::{Path, PathBuf};
use std::process::{Child, Command, Stdio};
use std::sync::mpsc::{Receiver, RecvTimeoutError, SyncSender, sync_channel};
use std::time::{Duration, Instant};

use forge_app::wire;
use forge_app::workspace::Workspace;
use serde::de::DeserializeOwned;

use super::ask_consent;
use crate::report::CommandError;
use crate::settings::{PROGRAM_SUFFIX, Settings};
use crate::ui::{Ui, escape_hidden};

/// Upper bound for the worker's start, unless a limit is shorter.
const MAX_START_TIME: Duration = Duration::from_secs(30);
/// Extra time of the worker over its servers: it reports a server that does not
/// answer by name, and needs time to do so.
const ANSWER_MARGIN: Duration = Duration::from_secs(1);
/// Extra time for commands that read a workspace on the way.
const LONG_MARGIN: Duration = Duration::from_secs(120);
/// Upper bound for requests of one call: a search may name a replica and a
/// primary, and each needs consent once.
const MAX_ATTEMPTS: usize = 4;
/// Upper bound for what is kept of the worker's standard error.
const MAX_COMPLAINT_BYTES: u64 = 64 << 10;
/// Upper bound for lines that wait to be read.
const MAX_WAITING_LINES: usize = 16;

/// Hint on how to install the worker, however this program was installed.
const INSTALL_HINT: &str = "`cargo install --locked --path crates/memory-forge-engines` installs it; where \
     `memory-forge` came by npm or Homebrew, `npm install -g memory-forge-engines` or \
     `brew install memory-forge-engines`";

/// Worker for the requests of one command.
pub(crate) struct EngineWorker<'a> {
    settings: &'a Settings,
    root: &'a Path,
    /// Limit of a search, `engine.timeout_ms`.
    search_limit: Duration,
    /// Lines that were shown: a command may need more than one request.
    printed_warnings: HashSet<String>,
}

/// Result, and the documents that came with it.
pub(crate) struct WorkerReply<T> {
    pub(crate) value: T,
    /// Paths and texts; the server's data is not trusted.
    pub(crate) documents: Vec<(String, String)>,
}

/// Outcome of a request that did not fail.
enum CallOutcome<T> {
    Done(WorkerReply<T>),
    NotAgreed(wire::UnapprovedServer),
}

/// Limits for waiting on the worker.
#[derive(Clone, Copy)]
struct WorkerLimits {
    /// Until its first line.
    start: Duration,
    /// Between two lines.
    silence: Duration,
    /// For everything.
    total: Option<Duration>,
}

impl<'a> EngineWorker<'a> {
    /// Returns a worker for a workspace. Nothing is started yet.
    pub(crate) fn new(workspace: &'a Workspace, settings: &'a Settings) -> EngineWorker<'a> {
        EngineWorker {
            settings,
            root: workspace.root(),
            search_limit: Duration::from_millis(workspace.config().engine.timeout_ms),
            printed_warnings: HashSet::new(),
        }
    }

    /// Runs an operation. If a project's server has no consent yet, asks the
    /// user and repeats the operation; without a `ui` it neither asks nor shows
    /// progress.
    pub(crate) fn call<T: DeserializeOwned>(
        &mut self,
        operation: &wire::WorkerOperation,
        mut ui: Option<&mut Ui>,
    ) -> Result<WorkerReply<T>, CommandError> {
        for _ in 0..MAX_ATTEMPTS {
            match self.call_once(operation, ui.as_deref_mut())? {
                CallOutcome::Done(reply) => return Ok(reply),
                CallOutcome::NotAgreed(server) => {
                    ask_consent(&server, self.settings, ui.as_deref_mut())?;
                }
            }
        }
        Err(worker_failed("asks for the same server again and again"))
    }

    fn call_once<T: DeserializeOwned>(
        &mut self,
        operation: &wire::WorkerOperation,
        mut ui: Option<&mut Ui>,
    ) -> Result<CallOutcome<T>, CommandError> {
        let limits = self.limits_for(operation);
        let started = Instant::now();
        let request = wire::WorkerRequest {
            program: wire::ProgramVersion::current(),
            now: self.settings.current_time(),
            operation: operation.clone(),
        };
        let request = request_line(&request)?;
        let mut running = RunningWorker::start_worker(self.settings, self.root, request)?;
        let mut watch = ui.as_deref().map(|ui| ui.watch_stages());
        let mut documents = Vec::new();
        let mut has_begun = false;
        loop {
            let limit = if has_begun {
                limits.silence
            } else {
                limits.start
            };
            let left = limits.total.map(|it| it.saturating_sub(started.elapsed()));
            let shown = limits.total.filter(|_| has_begun).unwrap_or(limit);
            let line = running.next_line(left.map_or(limit, |left| left.min(limit)), shown)?;
            let line: wire::WorkerLine<T> = serde_json::from_slice(&line).map_err(|_| {
                worker_failed("answered with a line that its protocol does not have")
            })?;
            match line {
                wire::WorkerLine::Hello(program) if program == wire::ProgramVersion::current() => {
                    has_begun = true;
                }
                wire::WorkerLine::Hello(program) => {
                    return Err(version_mismatch(&program, &running.path));
                }
                _ if !has_begun => {
                    return Err(worker_failed("answered before it named its version"));
                }
                wire::WorkerLine::Note(text) => self.show_once(&text, ui.as_deref_mut(), Ui::note),
                wire::WorkerLine::Warning(text) => {
                    self.show_once(&text, ui.as_deref_mut(), Ui::warn)
                }
                wire::WorkerLine::Progress { done, total } => {
                    if let Some(watch) = &mut watch {
                        watch("Pushing", done, total);
                    }
                }
                wire::WorkerLine::Document { path, text } => documents.push((path, text)),
                wire::WorkerLine::Done(value) => {
                    return Ok(CallOutcome::Done(WorkerReply { value, documents }));
                }
                wire::WorkerLine::Failed(error) => return Err(CommandError::of_worker(error)),
                wire::WorkerLine::NotAgreed(server) => return Ok(CallOutcome::NotAgreed(server)),
            }
        }
    }

    /// Shows a line to the user, once for each command.
    fn show_once(&mut self, text: &str, ui: Option<&mut Ui>, how: fn(&mut Ui, &str)) {
        if let Some(ui) = ui
            && self.printed_warnings.insert(text.to_owned())
        {
            how(ui, &escape_hidden(text));
        }
    }

    fn limits_for(&self, operation: &wire::WorkerOperation) -> WorkerLimits {
        match operation {
            wire::WorkerOperation::Index {
                operation: wire::IndexOperation::Search(_),
                ..
            } => WorkerLimits {
                start: self.search_limit.min(MAX_START_TIME),
                silence: self.search_limit + ANSWER_MARGIN,
                total: Some(self.search_limit + ANSWER_MARGIN),
            },
            // The worker runs at most two transactions in a row without sending
            // a line.
            wire::WorkerOperation::Index { operation, .. } => WorkerLimits {
                start: MAX_START_TIME,
                silence: operation.time_limit() * 2 + LONG_MARGIN,
                total: None,
            },
            wire::WorkerOperation::Graph(operation) => WorkerLimits {
                start: MAX_START_TIME,
                silence: operation.time_limit() + LONG_MARGIN,
                total: None,
            },
        }
    }
}

/// Running process, which ends when it is dropped.
struct RunningWorker {
    child: Child,
    path: PathBuf,
    /// Dropped when the answer is there, which ends the worker's standard input.
    _open: SyncSender<()>,
    lines: Receiver<io::Result<Vec<u8>>>,
    complaint: Receiver<String>,
}

impl Drop for RunningWorker {
    fn drop(&mut self) {
        // Work that was finished on a server stays; work in progress is
        // abandoned. The process may have ended already.
        let _ = self.child.kill();
        let _ = self.child.wait();
    }
}

impl RunningWorker {
    fn start_worker(
        settings: &Settings,
        root: &Path,
        request: Vec<u8>,
    ) -> Result<RunningWorker, CommandError> {
        let path = find_worker(settings).ok_or_else(worker_missing)?;
        let started = Command::new(&path)
            .arg(root)
            .stdin(Stdio::piped())
            .stdout(Stdio::piped())
            .stderr(Stdio::piped())
            .spawn();
        let mut child = started.map_err(|error| {
            let path = path.display();
            worker_error(
                "engine.worker-failed",
                format!("`{path}` cannot be started: {error}"),
            )
        })?;
        let pipes = (child.stdin.take(), child.stdout.take(), child.stderr.take());
        let (Some(stdin), Some(stdout), Some(stderr)) = pipes else {
            return Err(worker_failed("has no standard streams"));
        };
        // On another thread, since a worker that hangs does not read.
        let (open, until) = sync_channel(0);
        std::thread::spawn(move || {
            let mut stdin = stdin;
            let written = stdin.write_all(&request).and_then(|()| stdin.flush());
            // A worker that has ended does not read; its error is read below.
            if written.is_ok() {
                let _ = until.recv();
            }
        });
        let (to_lines, lines) = sync_channel(MAX_WAITING_LINES);
        std::thread::spawn(move || {
            let mut stdout = BufReader::new(stdout.take(wire::MAX_ANSWER_BYTES as u64));
            while let Some(line) = wire::read_line(&mut stdout, wire::MAX_LINE_BYTES).transpose() {
                let is_end = line.is_err();
                if to_lines.send(line).is_err() || is_end {
                    return;
                }
            }
        });
        let (to_complaint, complaint) = sync_channel(1);
        std::thread::spawn(move || {
            let mut stderr = stderr;
            let mut kept = Vec::new();
            let _ = stderr
                .by_ref()
                .take(MAX_COMPLAINT_BYTES)
                .read_to_end(&mut kept);
            let _ = to_complaint.send(String::from_utf8_lossy(&kept).into_owned());
            // A pipe that is not drained would block the worker.
            let _ = io::copy(&mut stderr, &mut io::sink());
        });
        Ok(RunningWorker {
            child,
            path,
            _open: open,
            lines,
            complaint,
        })
    }

    /// Returns the next line, which has to come within `limit`; `shown` is the
    /// limit as the user knows it.
    fn next_line(&mut self, limit: Duration, shown: Duration) -> Result<Vec<u8>, CommandError> {
        match self.lines.recv_timeout(limit) {
            Ok(Ok(line)) => Ok(line),
            Ok(Err(error)) if error.kind() == io::ErrorKind::UnexpectedEof => {
                Err(self.ended_early())
            }
            Ok(Err(error)) => Err(worker_failed(&format!("cannot be heard: {error}"))),
            Err(RecvTimeoutError::Timeout) => {
                let (name, seconds) = (wire::WORKER_PROGRAM, shown.as_secs_f64());
                let message = format!("`{name}` did not answer in {seconds} s");
                Err(worker_error("engine.worker-silent", message))
            }
            Err(RecvTimeoutError::Disconnected) => Err(self.ended_early()),
        }
    }

    /// Returns the error for a worker that ended without an answer, with its
    /// last words.
    fn ended_early(&mut self) -> CommandError {
        let last_words = self
            .complaint
            .recv_timeout(ANSWER_MARGIN)
            .unwrap_or_default();
        match last_words.lines().find(|line| !line.trim().is_empty()) {
            Some(line) => {
                worker_failed(&format!("ended without an answer: {}", escape_hidden(line)))
            }
            None => worker_failed("ended without an answer"),
        }
    }
}

/// Returns a request as the one line that the worker reads.
fn request_line(request: &wire::WorkerRequest) -> Result<Vec<u8>, CommandError> {
    let line = wire::to_line(request);
    let line = line.map_err(|error| worker_failed(&format!("cannot be reached: {error}")))?;
    if line.len() > wire::MAX_REQUEST_BYTES {
        let mib = wire::MAX_REQUEST_BYTES >> 20;
        return Err(CommandError::usage(format!(
            "The request is larger than {mib} MiB"
        )));
    }
    Ok(line)
}

/// Finds the worker next to this program, else on `PATH`. Relative folders of
/// `PATH` are skipped: they would mean another folder in each project, which
/// could then choose the program that runs.
fn find_worker(settings: &Settings) -> Option<PathBuf> {
    let name = format!("{}{}", wire::WORKER_PROGRAM, PROGRAM_SUFFIX);
    let sibling = settings.binary.as_ref().and_then(|it| it.parent());
    let on_path = settings.path.iter().map(PathBuf::as_path);
    sibling
        .into_iter()
        .chain(on_path)
        .filter(|folder| folder.is_absolute())
        .map(|folder| folder.join(&name))
        .find(|path| path.is_file())
}

fn worker_error(code: &str, message: String) -> CommandError {
    CommandError::of_worker(wire::WorkerError::failure(code, message))
}

fn worker_failed(what: &str) -> CommandError {
    worker_error(
        "engine.worker-failed",
        format!("`{}` {what}", wire::WORKER_PROGRAM),
    )
}

fn worker_missing() -> CommandError {
    let message = format!(
        "`{}`, the program that talks to servers, is neither in the folder of `memory-forge` nor on `PATH`",
        wire::WORKER_PROGRAM
    );
    worker_error("engine.worker-missing", message).hint(INSTALL_HINT)
}

fn version_mismatch(program: &wire::ProgramVersion, path: &Path) -> CommandError {
    let own = wire::ProgramVersion::current();
    let message = format!(
        "`{}` is of version {} (format {}), and this is {} (format {})",
        path.display(),
        program.version,
        program.format,
        own.version,
        own.format
    );
    worker_error("engine.worker-version", message).hint(INSTALL_HINT)
}
