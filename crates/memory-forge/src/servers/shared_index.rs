//! Queries the index that an organisation shares: whose index it is, and the
//! fallback if its server does not answer.

use forge_app::library::AnswerRemark;
use forge_app::recall::{RecallAnswer, RecallQuery};
use forge_app::wire;
use forge_app::workspace::Workspace;
use serde::de::DeserializeOwned;

use super::worker::{EngineWorker, WorkerReply};
use crate::report::CommandError;
use crate::settings::Settings;
use crate::ui::{Ui, escape_hidden};

/// Shared index of one tenant, for one command.
pub(crate) struct SharedIndexClient<'a> {
    worker: EngineWorker<'a>,
    tenant: String,
}

impl<'a> SharedIndexClient<'a> {
    pub(crate) fn new(
        workspace: &'a Workspace,
        settings: &'a Settings,
        tenant: &str,
    ) -> SharedIndexClient<'a> {
        SharedIndexClient {
            worker: EngineWorker::new(workspace, settings),
            tenant: tenant.to_owned(),
        }
    }

    /// Runs an operation on the server, and returns its result with the
    /// server's address.
    pub(crate) fn call<T: DeserializeOwned>(
        &mut self,
        operation: wire::IndexOperation,
        ui: Option<&mut Ui>,
    ) -> Result<wire::FromServer<T>, CommandError> {
        Ok(self.call_with_documents(operation, ui)?.value)
    }

    /// Runs an operation, and returns its result with the documents that came
    /// along.
    pub(crate) fn call_with_documents<T: DeserializeOwned>(
        &mut self,
        operation: wire::IndexOperation,
        ui: Option<&mut Ui>,
    ) -> Result<WorkerReply<wire::FromServer<T>>, CommandError> {
        let operation = wire::WorkerOperation::Index {
            tenant: self.tenant.clone(),
            operation,
        };
        self.worker.call(&operation, ui)
    }
}

/// Answers a question from the shared index. Without a `ui` it does not ask for
/// consent.
pub(crate) fn ask_shared_index(
    workspace: &Workspace,
    ask: &RecallQuery,
    settings: &Settings,
    ui: Option<&mut Ui>,
) -> Result<(RecallAnswer, Vec<AnswerRemark>), CommandError> {
    let tenant = resolve_tenant(workspace, None)?;
    let question = wire::IndexQuestion {
        question: ask.question.to_owned(),
        mode: ask.mode,
        limit: ask.limit,
        unique: ask.unique,
        kinds: ask.kinds.clone(),
        scopes: ask.scopes.iter().map(|it| (*it).to_owned()).collect(),
        since: ask.since,
        today: ask.today,
        explain: ask.explain,
    };
    let mut index = SharedIndexClient::new(workspace, settings, &tenant);
    let found: wire::FromServer<wire::SharedAnswer> =
        index.call(wire::IndexOperation::Search(question), ui)?;
    let warnings = found.value.warnings.iter();
    let remarks = warnings.map(|it| AnswerRemark::Warning(escape_hidden(it).into_owned()));
    Ok((found.value.answer, remarks.collect()))
}

/// Answers from the shared index if the settings choose it. Without the server,
/// returns no answer and a remark, and the workspace's own index is used.
pub(crate) fn answer_if_configured(
    workspace: &Workspace,
    ask: &RecallQuery,
    settings: &Settings,
    ui: Option<&mut Ui>,
) -> (Option<RecallAnswer>, Vec<AnswerRemark>) {
    if workspace.config().search.engine != "server" {
        return (None, Vec::new());
    }
    match ask_shared_index(workspace, ask, settings, ui) {
        Ok((answer, remarks)) => (Some(answer), remarks),
        Err(error) => {
            let why = format!("{error}; this workspace alone was searched");
            (None, vec![AnswerRemark::Warning(why)])
        }
    }
}

pub(crate) fn resolve_tenant(
    workspace: &Workspace,
    flag: Option<&str>,
) -> Result<String, CommandError> {
    let mut config = workspace.config().clone();
    if let Some(flag) = flag {
        let set = config.set("engine.tenant", flag, "--tenant");
        set.map_err(|problem| CommandError::usage(problem.to_string()))?;
    }
    if config.engine.tenant.is_empty() {
        Err(CommandError::failure("The owner of the index is missing")
            .hint("Set `engine.tenant` in `memory-forge.toml` to the name of your organisation"))
    } else {
        Ok(config.engine.tenant)
    }
}
