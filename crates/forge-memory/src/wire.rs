//! Defines the messages between `memory-forge` and its worker
//! `memory-forge-engines`: one request on the worker's standard input, lines on
//! its standard output.
//!
//! The protocol is internal: both programs have the same version, and a worker
//! of another version is refused, so these types may change at any time. They
//! are here because this is the lowest crate that knows every transferred type,
//! and the only one below both programs that may know queries and answers.
//! Passwords are never transferred: the worker reads them where the user keeps
//! them.

use std::io::{self, BufRead, Read};

use jiff::Timestamp;
use serde::{Deserialize, Serialize};

use crate::diagnostic::Diagnostic;

mod graph;
mod index;

pub use graph::{
    GraphOperation, GraphPushReport, GraphScope, GraphStatus, PushedGraph, QueryTable,
};
pub use index::{
    FindingSeverity, IndexOperation, IndexPushReport, IndexQuestion, InitReport,
    InstallationFinding, ListedMember, MemberAccess, MemberRemoval, PulledWorkspace, SharedAnswer,
    SharedIndexStatus, SharedWorkspace, TeamMember, TenantSummary, UpgradeReport,
};

/// The worker's name, without a system's suffix for programs.
pub const WORKER_PROGRAM: &str = "memory-forge-engines";

/// Version of the requests and lines. It distinguishes programs that were built
/// from different states of one version.
pub const WIRE_FORMAT_VERSION: u32 = 1;

/// Maximum size of a request, which is a query with its settings, never a
/// document.
pub const MAX_REQUEST_BYTES: usize = 16 << 20;
/// Maximum size of a line, which is at most an answer with all its passages, or
/// one document.
pub const MAX_LINE_BYTES: usize = 256 << 20;
/// Maximum size of all lines of one answer, which may be a whole pulled
/// workspace.
pub const MAX_ANSWER_BYTES: usize = 1 << 30;

/// The version of a program.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct ProgramVersion {
    /// The version of the program.
    pub version: String,
    /// The version of the messages.
    pub format: u32,
}

impl ProgramVersion {
    /// Returns the version of a program that was built from this source.
    pub fn current() -> ProgramVersion {
        ProgramVersion {
            version: env!("CARGO_PKG_VERSION").to_owned(),
            format: WIRE_FORMAT_VERSION,
        }
    }
}

/// A request to the worker. The version is read first, because a worker of
/// another version might not understand the rest. The workspace's folder is the
/// worker's only argument, since a path need not be valid text.
#[derive(Debug, Clone, Serialize, Deserialize)]
pub struct WorkerRequest {
    /// The program that asks.
    pub program: ProgramVersion,
    /// The time of the request.
    pub now: Timestamp,
    /// What the worker has to do.
    pub operation: WorkerOperation,
}

/// The operation that the worker performs.
#[derive(Debug, Clone, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum WorkerOperation {
    /// An operation on the index that an organisation shares.
    Index {
        /// The organization whose index it is.
        tenant: String,
        /// What to do with the index.
        operation: IndexOperation,
    },
    /// An operation on a graph server.
    Graph(GraphOperation),
}

/// One line of the worker's output. The last one is `Done`, `Failed` or
/// `NotAgreed`.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum WorkerLine<T> {
    /// The first line of every answer.
    Hello(ProgramVersion),
    /// A message for people that `--quiet` hides.
    Note(String),
    /// A message for people that `--quiet` does not hide.
    Warning(String),
    /// How far the operation is.
    Progress {
        /// The part that is done.
        done: usize,
        /// All of it.
        total: usize,
    },
    /// A document of a pulled workspace: its path and its text, both of them
    /// from an untrusted author.
    Document {
        /// The path that the document is put at.
        path: String,
        /// The text of the document.
        text: String,
    },
    /// The result.
    Done(T),
    /// The error that ended the operation.
    Failed(WorkerError),
    /// A project names this server, and the user has not approved it. Nothing
    /// was sent there.
    NotAgreed(UnapprovedServer),
}

/// A server that the user has to approve first.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct UnapprovedServer {
    /// The address without names and passwords, as in the list of approved
    /// servers.
    pub address: String,
    /// The environment variable with which a user names a server without a
    /// question.
    pub variable: String,
}

/// A result of the shared index, with the server that it came from.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct FromServer<T> {
    /// The server's address for display.
    pub shown: String,
    /// The result itself.
    pub value: T,
}

/// An error of the worker, with everything that [`Diagnostic`] provides.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error, Serialize, Deserialize)]
#[error("{message}")]
pub struct WorkerError {
    /// The stable name of the kind of error.
    pub code: String,
    /// What happened, for people.
    pub message: String,
    /// What the user can do about it, the most useful first.
    pub hints: Vec<String>,
    /// Whether the request was wrong, rather than what it met.
    pub is_usage: bool,
}

impl WorkerError {
    /// Converts an error of a library.
    pub fn from_diagnostic(error: &dyn Diagnostic) -> WorkerError {
        WorkerError {
            code: error.code().to_owned(),
            message: error.to_string(),
            hints: error.hints(),
            is_usage: error.is_usage(),
        }
    }

    /// Creates an error that has only a message.
    pub fn failure(code: &str, message: impl Into<String>) -> WorkerError {
        WorkerError {
            code: code.to_owned(),
            message: message.into(),
            hints: Vec::new(),
            is_usage: false,
        }
    }

    /// Adds a hint.
    pub fn with_hint(mut self, hint: impl Into<String>) -> WorkerError {
        self.hints.push(hint.into());
        self
    }

    /// Marks the error as one of invalid usage.
    pub fn as_usage(mut self) -> WorkerError {
        self.is_usage = true;
        self
    }
}

/// Serializes a value as one line.
pub fn to_line(value: &impl Serialize) -> Result<Vec<u8>, serde_json::Error> {
    let mut line = serde_json::to_vec(value)?;
    line.push(b'\n');
    Ok(line)
}

/// Reads one line of at most `limit` bytes, without its end; returns none at
/// the end of the input. Fails if a line is longer or incomplete.
pub fn read_line(input: &mut impl BufRead, limit: usize) -> io::Result<Option<Vec<u8>>> {
    let mut line = Vec::new();
    // The extra byte is the line end of a line of exactly `limit` bytes.
    let mut bounded = input.take(limit as u64 + 1);
    bounded.read_until(b'\n', &mut line)?;
    match line.pop() {
        None => Ok(None),
        Some(b'\n') => Ok(Some(line)),
        Some(_) if line.len() < limit => Err(io::ErrorKind::UnexpectedEof.into()),
        Some(_) => Err(io::Error::new(
            io::ErrorKind::InvalidData,
            format!("a line is longer than {limit} bytes"),
        )),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn lines_are_read_whole_and_bounded() {
        let read = |text: &str| {
            let mut input = text.as_bytes();
            read_line(&mut input, 4).map_err(|error| error.kind())
        };
        assert_eq!(read(""), Ok(None));
        assert_eq!(read("abcd\nmore\n"), Ok(Some(b"abcd".to_vec())));
        assert_eq!(read("abcde\n"), Err(io::ErrorKind::InvalidData));
        assert_eq!(read("abc"), Err(io::ErrorKind::UnexpectedEof));
    }

    #[test]
    fn a_line_is_read_back() {
        let lines: [WorkerLine<FromServer<u32>>; 3] = [
            WorkerLine::Hello(ProgramVersion::current()),
            WorkerLine::Done(FromServer {
                shown: "db\n".to_owned(),
                value: 7,
            }),
            WorkerLine::Failed(WorkerError::failure("engine.failed", "No").with_hint("Yes")),
        ];
        for line in lines {
            let written = to_line(&line).expect("it is plain data");
            let ends: Vec<usize> = (0..written.len())
                .filter(|at| written[*at] == b'\n')
                .collect();
            assert_eq!(ends, [written.len() - 1], "text holds no end of a line");
            let read: WorkerLine<FromServer<u32>> =
                serde_json::from_slice(&written).expect("it was just written");
            assert_eq!(read, line);
        }
    }
}
