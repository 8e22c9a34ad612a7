//! Brings what solved an error before to a command that has just failed with
//! it. Only errors that took several steps have a key.

use jiff::Timestamp;

use super::{ShownItem, log_item};
use crate::evidence::{ToolEvent, failed_command, read_keys, read_pushes, short_id};
use crate::workspace::{PushMode, Workspace, WorkspaceError};
use forge_memory::push::solved_item;

/// A command that has ended.
#[derive(Debug, Clone, Copy)]
pub struct FailureRequest<'a> {
    /// The client's name for the event.
    pub event: &'a str,
    /// The call with its result.
    pub call: &'a ToolEvent<'a>,
    /// The value from which the marks around quoted text are derived.
    pub nonce: &'a str,
    /// The current time.
    pub now: Timestamp,
}

/// Returns what solved the same error before, where the settings allow it, and
/// logs it.
pub fn push_after_failure(
    workspace: &Workspace,
    request: &FailureRequest<'_>,
) -> Result<Option<String>, WorkspaceError> {
    if workspace.config().recall.push != PushMode::All {
        return Ok(None);
    }
    let Some(fact) = failed_command(workspace, request.call) else {
        return Ok(None);
    };
    let Some(item) = solved_item(&read_keys(workspace), &fact) else {
        return Ok(None);
    };
    let session = short_id(request.call.session);
    if read_pushes(workspace).is_spent(&session, &item.item, &item.version) {
        return Ok(None);
    }
    let shown = ShownItem {
        event: request.event,
        session: request.call.session,
        call: request.call.call,
        nonce: request.nonce,
        now: request.now,
    };
    log_item(workspace, item, &shown)
}
