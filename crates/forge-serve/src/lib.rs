//! Serves an MCP handler on standard input and output or on loopback HTTP, and
//! a page for a person's browser. It knows wires and nothing of memory;
//! standard output carries protocol alone, and no address but the loopback's is
//! ever used.
#![warn(missing_docs)]
#![cfg_attr(not(test), warn(clippy::unwrap_used))]

use rmcp::model::{ErrorCode, ErrorData, RequestMetaObject};

mod ends;
mod framing;
mod http;
mod page;
mod scan;
mod stdio;

pub use http::{HttpOptions, serve_http};
pub use page::{Asset, PageMethod, PageOptions, PageReply, PageRequest, serve_page};
pub use stdio::serve_stdio;

/// Upper bound for one message, on either wire.
pub const MAX_MESSAGE_BYTES: usize = 10_000_000;

/// Reason why a server could not run. The end of input, a signal, a closed pipe
/// and the parent's death are regular ways to finish and no errors.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum ServeError {
    /// The operating system refused a thread, a signal handler or a runtime.
    #[error("Cannot start the server: {0}")]
    Start(#[source] std::io::Error),
    /// The port is taken or not allowed; the user has to choose another one.
    #[error("Cannot listen on 127.0.0.1:{port}: {source}")]
    Bind {
        /// Port that was requested; 0 lets the system choose.
        port: u16,
        /// Reason of the operating system.
        #[source]
        source: std::io::Error,
    },
    /// The caller passed an empty token, which is a defect of the caller.
    #[error("An HTTP server needs a token that is not empty")]
    NoToken,
    /// The connection could not be set up: the client broke the protocol, or a
    /// task of the SDK failed.
    #[error("The connection could not be set up: {0}")]
    Handshake(String),
}

/// Returns a secret for [`HttpOptions`]: 256 bits from the operating system, as
/// hexadecimal digits.
///
/// # Panics
///
/// Panics if the operating system has no randomness to give.
pub fn new_token() -> String {
    let mut bytes = [0_u8; 32];
    getrandom::fill(&mut bytes).expect("the operating system gives random bytes");
    bytes.iter().map(|byte| format!("{byte:02x}")).collect()
}

/// Methods of the protocol whose parameters the SDK reads. If it cannot read
/// them, it passes the request on like one with a foreign method.
const PROTOCOL_METHODS: [&str; 18] = [
    "initialize",
    "ping",
    "server/discover",
    "completion/complete",
    "logging/setLevel",
    "prompts/get",
    "prompts/list",
    "resources/list",
    "resources/templates/list",
    "resources/read",
    "resources/subscribe",
    "resources/unsubscribe",
    "subscriptions/listen",
    "tools/call",
    "tools/list",
    "tasks/get",
    "tasks/update",
    "tasks/cancel",
];

/// Methods that revision 2026-07-28 removed. Its requests name their revision
/// in their metadata.
const REMOVED_METHODS: [&str; 4] = [
    "initialize",
    "logging/setLevel",
    "resources/subscribe",
    "resources/unsubscribe",
];

/// Returns the protocol's error for a request that no handler takes: −32602
/// where the method is known and its parameters are missing or malformed,
/// −32601 where the method is unknown in the request's revision.
pub fn unhandled_error(method: &str, meta: &RequestMetaObject) -> ErrorData {
    let is_removed = meta.protocol_version().is_some() && REMOVED_METHODS.contains(&method);
    if PROTOCOL_METHODS.contains(&method) && !is_removed {
        let why = format!("Invalid params: `{method}` needs parameters that can be read");
        return ErrorData::invalid_params(why, None);
    }
    let why = format!("Method not found: {method}");
    ErrorData::new(ErrorCode::METHOD_NOT_FOUND, why, None)
}

/// Builds a runtime on the caller's thread, as nothing here needs a second one.
fn build_runtime() -> Result<tokio::runtime::Runtime, ServeError> {
    tokio::runtime::Builder::new_current_thread()
        .enable_all()
        .build()
        .map_err(ServeError::Start)
}

/// Writes a line for people to standard error, which clients keep as the
/// server's log. A closed standard error does not stop the server.
fn log_line(line: std::fmt::Arguments) {
    use std::io::Write;
    let _ = writeln!(std::io::stderr(), "memory-forge: {line}");
}

#[cfg(test)]
mod tests {
    #[test]
    fn tokens_are_long_and_differ() {
        let (one, two) = (super::new_token(), super::new_token());
        assert_eq!(one.len(), 64);
        assert!(one.bytes().all(|byte| byte.is_ascii_hexdigit()), "{one}");
        assert_ne!(one, two);
    }
}
