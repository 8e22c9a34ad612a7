//! Queries the index that an organisation shares: whose index it is, and the
//! fallback if its server does not answer.

use forge_app::library::Remark;
use forge_app::recall::{Answer, Ask};
use forge_app::wire;
use forge_app::workspace::Workspace;
use serde::de::DeserializeOwned;

use super::worker::{EngineWorker, WorkerReply};
use crate::report::CommandError;
use crate::settings::Settings;
use crate::ui::{Ui, printable};

/// Shared index of one tenant, for one command.
pub(crate) struct SharedIndex<'a> {
    worker: EngineWorker<'a>,
    tenant: String,
}

impl<'a> SharedIndex<'a> {
    pub(crate) fn new(
        workspace: &'a Workspace,
        settings: &'a Settings,
        tenant: &str,
    ) -> SharedIndex<'a> {
        SharedIndex {
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
        Ok(self.reply(operation, ui)?.value)
    }

    /// Runs an operation, and returns its result with the documents that came
    /// along.
    pub(crate) fn reply<T: DeserializeOwned>(
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
pub(crate) fn answer(
    workspace: &Workspace,
    ask: &Ask,
    settings: &Settings,
    ui: Option<&mut Ui>,
) -> Result<(Answer, Vec<Remark>), CommandError> {
    let tenant = tenant(workspace, None)?;
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
    let mut index = SharedIndex::new(workspace, settings, &tenant);
    let found: wire::FromServer<wire::SharedAnswer> =
        index.call(wire::IndexOperation::Search(question), ui)?;
    let warnings = found.value.warnings.iter();
    let remarks = warnings.map(|it| Remark::Warning(printable(it).into_owned()));
    Ok((found.value.answer, remarks.collect()))
}

/// Answers from the shared index if the settings choose it. Without the server,
/// returns no answer and a remark, and the workspace's own index is used.
pub(crate) fn answer_if_configured(
    workspace: &Workspace,
    ask: &Ask,
    settings: &Settings,
    ui: Option<&mut Ui>,
) -> (Option<Answer>, Vec<Remark>) {
    if workspace.config().search.engine != "server" {
        return (None, Vec::new());
    }
    match answer(workspace, ask, settings, ui) {
        Ok((answer, remarks)) => (Some(answer), remarks),
        Err(error) => {
            let why = format!("{error}; this workspace alone was searched");
            (None, vec![Remark::Warning(why)])
        }
    }
}

pub(crate) fn tenant(workspace: &Workspace, flag: Option<&str>) -> Result<String, CommandError> {
    let mut config = workspace.config().clone();
    if let Some(flag) = flag {
        let set = config.set("engine.tenant", flag, "--tenant");
        set.map_err(|problem| CommandError::usage(problem.to_string()))?;
    }
    if config.engine.tenant.is_empty() {
        Err(CommandError::failure("It is not said whose index is meant")
            .hint("Set `engine.tenant` in `memory-forge.toml` to the name of your organisation"))
    } else {
        Ok(config.engine.tenant)
    }
}
