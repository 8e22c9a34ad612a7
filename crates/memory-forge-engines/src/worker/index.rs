//! Runs the operations on an organisation's index: which host is queried, and
//! what a push reads. Documents are read through memory, so that none crosses
//! the pipe.

use std::time::{Duration, Instant};

use forge_embed::Embedder;
use forge_memory::corrections::Corrections;
use forge_memory::knowledge::forget;
use forge_memory::knowledge::fresh::{self, IndexOpening};
use forge_memory::model;
use forge_memory::publish::{self, PublishScope};
use forge_memory::recall::{self, RecallAnswer, RecallQuery};
use forge_memory::wire::{
    FromServer, IndexOperation, IndexPushReport, IndexQuestion, PulledWorkspace, SharedAnswer,
    WorkerError, WorkerLine,
};
use forge_store::workspace::{git, workspace_identity};
use forge_text::diagnostic::Diagnostic;
use serde::Serialize;

use super::{WorkerContext, WorkerStop};
use crate::postgres::{
    HostRole, IndexPush, PostgresEngine, ServerTarget, WaitPolicy, WorkspaceSelection, parse_member,
};

/// Time to wait for another process that writes the workspace's own index.
const INDEX_WAIT: Duration = Duration::from_secs(5);

/// Runs one operation.
pub(super) fn run_index_operation(
    tenant: &str,
    operation: IndexOperation,
    context: &WorkerContext,
) -> Result<(), WorkerStop> {
    if let IndexOperation::Search(question) = &operation {
        return search_shared_index(tenant, question, context);
    }
    let need = if operation.needs_primary() {
        HostRole::Primary
    } else {
        HostRole::Any
    };
    // Arguments are parsed before any connection is made.
    let members = match &operation {
        IndexOperation::Init { members } => {
            let members = members.iter().map(|it| parse_member(it));
            members.collect::<Result<Vec<_>, _>>()?
        }
        _ => Vec::new(),
    };
    let output = context.output.clone();
    let policy = WaitPolicy::for_each_step(operation.time_limit());
    let policy = policy.with_notice(move |line| output.write_note(line));
    let target = resolve_target(&context.workspace.config().engine.url, context)?;
    let engine = PostgresEngine::open_with(&target, tenant, need, policy)?;
    match operation {
        IndexOperation::Search(_) => Ok(()),
        IndexOperation::Connect => send_engine_result(&engine, (), context),
        IndexOperation::Model => send_engine_result(&engine, engine.read_model()?, context),
        IndexOperation::Push {
            name,
            include,
            with_vectors,
            force,
        } => {
            let embedder = with_vectors.then(|| load_embedder(context)).transpose()?;
            let report = push_index(&engine, &name, include, embedder, force, context)?;
            send_engine_result(&engine, report, context)
        }
        IndexOperation::Pull { workspace } => {
            let pulled = engine.pull_workspace(&workspace)?;
            for (path, text) in pulled.documents {
                let line = WorkerLine::<()>::Document { path, text };
                context.output.write_line(&line)?;
            }
            let about = PulledWorkspace {
                generation: pulled.generation,
                commit: pulled.commit,
            };
            send_engine_result(&engine, about, context)
        }
        IndexOperation::Init { .. } => {
            let model = load_embedder(context)?;
            let report = engine.prepare_server(model.id(), model.dimensions(), &members)?;
            send_engine_result(&engine, report, context)
        }
        IndexOperation::Status => send_engine_result(&engine, engine.read_status()?, context),
        IndexOperation::DropWorkspace { name } => {
            let team = &context.workspace.config().engine.team;
            send_engine_result(&engine, engine.drop_workspace(&name, team)?, context)
        }
        IndexOperation::TenantNames => {
            send_engine_result(&engine, engine.list_tenant_names()?, context)
        }
        IndexOperation::DropEverything => {
            send_engine_result(&engine, engine.drop_everything()?, context)
        }
        IndexOperation::Upgrade => send_engine_result(&engine, engine.upgrade_schema()?, context),
        IndexOperation::Members => send_engine_result(&engine, engine.list_members()?, context),
        IndexOperation::AddMember(member) => {
            send_engine_result(&engine, engine.add_member(&member)?, context)
        }
        IndexOperation::RenewMembers { is_rehearsal } => {
            send_engine_result(&engine, engine.renew_members(is_rehearsal)?, context)
        }
        IndexOperation::RemoveMember {
            login,
            team,
            drop_login,
        } => {
            let removal = engine.remove_member(&login, team.as_deref(), drop_login)?;
            send_engine_result(&engine, removal, context)
        }
        IndexOperation::Tenants => send_engine_result(&engine, engine.list_tenants()?, context),
        IndexOperation::DropTenant { name } => {
            send_engine_result(&engine, engine.drop_tenant(&name)?, context)
        }
        IndexOperation::Check => send_engine_result(&engine, engine.check_installation()?, context),
    }
}

/// Writes a result with the name of its server.
fn send_engine_result<T: Serialize>(
    engine: &PostgresEngine,
    value: T,
    context: &WorkerContext,
) -> Result<(), WorkerStop> {
    context.send_result(FromServer {
        shown: engine.shown.clone(),
        value,
    })
}

/// Returns a server that may be connected to.
fn resolve_target(url: &str, context: &WorkerContext) -> Result<ServerTarget, WorkerStop> {
    let target = ServerTarget::read(url, &context.surroundings.engine)?;
    if !target.is_users_own {
        context.require_consent(&target.address, "MEMORY_FORGE_ENGINE_URL")?;
    }
    Ok(target)
}

/// Loads the model that embeds.
fn load_embedder(context: &WorkerContext) -> Result<&'static dyn Embedder, WorkerStop> {
    model::model_for_workspace(context.workspace, context.surroundings.model.as_deref())
        .map_err(WorkerStop::failed)
}

/// Pushes the workspace.
fn push_index(
    engine: &PostgresEngine,
    name: &str,
    include: PublishScope,
    embedder: Option<&dyn Embedder>,
    force: bool,
    context: &WorkerContext,
) -> Result<IndexPushReport, WorkerStop> {
    let workspace = context.workspace;
    // `memory-forge` has updated the index and reported its problems; only
    // later changes are read here.
    let mut opening = IndexOpening {
        now: context.now,
        wait: INDEX_WAIT,
        force: false,
        progress: &mut |_, _| {},
    };
    let mut fresh = fresh::open_fresh(workspace, &mut opening)?;
    // Released before the push, which may take minutes.
    fresh.lock = None;
    let (index, catalogue) = (&fresh.index, &fresh.catalogue);
    let model = embedder.map(Embedder::id);
    let (items, kept) = publish::list_publishable(workspace, index, catalogue, include, model)?;
    let edges = publish::published_edges(workspace, &items);
    let root = workspace.root().to_owned();
    let commit = git::head_commit(&root);
    let identity = workspace_identity(workspace).map_or_else(String::new, |it| it.id());
    let push = IndexPush {
        workspace: name,
        identity: &identity,
        team: &workspace.config().engine.team,
        commit: commit.as_deref(),
        items: &items,
        edges: &edges,
        knows: &|commit| git::is_in_history(&root, commit),
        force,
    };
    let report = engine.push_workspace(
        &push,
        &mut |item| {
            publish::read_published(workspace, index, item, embedder, include).map_err(Into::into)
        },
        &mut |done, total| context.output.write_progress(done, total),
    )?;
    Ok(IndexPushReport {
        kept,
        commit,
        ..report
    })
}

/// Searches the shared index.
///
/// The replica's hosts are queried first, then those of `engine.url`, until one
/// answers. All of them share `engine.timeout_ms`: each gets an equal part of
/// what is left, so that a silent one leaves time for the next.
fn search_shared_index(
    tenant: &str,
    question: &IndexQuestion,
    context: &WorkerContext,
) -> Result<(), WorkerStop> {
    let workspace = context.workspace;
    let mut warnings = Vec::new();
    let config = &workspace.config().engine;
    // Read before the clock starts, as is the model: both come from the disk.
    let forgotten = forget::read_forgotten_paths(workspace)?;
    let corrections = Corrections::read(workspace)?;
    let embedder =
        match model::model_for_workspace(workspace, context.surroundings.model.as_deref()) {
            Ok(model) => Some(model),
            Err(why) => {
                warnings.push(format!("{why}; searching by keyword only"));
                None
            }
        };
    let ask = RecallQuery {
        question: &question.question,
        mode: question.mode,
        limit: question.limit,
        unique: question.unique,
        kinds: question.kinds.clone(),
        scopes: question.scopes.iter().map(String::as_str).collect(),
        since: question.since,
        today: question.today,
        forgotten: &forgotten,
        corrections: &corrections,
        explain: question.explain,
    };
    // The user's own address replaces all configured ones.
    let has_own_url = context.surroundings.engine.url.is_some();
    let mut left = Duration::from_millis(config.timeout_ms);
    if !config.replica.is_empty() && !has_own_url {
        let hosts = resolve_target(&config.replica, context)?.hosts();
        for (at, host) in hosts.iter().enumerate() {
            let question = HostQuestion {
                tenant,
                ask: &ask,
                embedder,
                max_lag: Some(Duration::from_secs(config.max_lag_s)),
                // One part more than there are replicas left, for the primary
                // after them.
                limit: left / (hosts.len() - at + 1) as u32,
            };
            let started = Instant::now();
            match question.ask_host(host) {
                Ok((answer, shown)) => return send_answer(answer, warnings, shown, context),
                Err(error) if error.is_usage => return Err(WorkerStop::Failed(error)),
                Err(error) => {
                    let next = if at + 1 < hosts.len() {
                        "trying the next replica"
                    } else {
                        "trying the primary"
                    };
                    warnings.push(format!("{error}; {next}"));
                }
            }
            left = left.saturating_sub(started.elapsed());
        }
    }
    let hosts = resolve_target(&config.url, context)?.hosts();
    let mut failed = None;
    for (at, host) in hosts.iter().enumerate() {
        let question = HostQuestion {
            tenant,
            ask: &ask,
            embedder,
            max_lag: None,
            limit: left / (hosts.len() - at) as u32,
        };
        let started = Instant::now();
        match question.ask_host(host) {
            Ok((answer, shown)) => return send_answer(answer, warnings, shown, context),
            Err(error) if error.is_usage => return Err(WorkerStop::Failed(error)),
            Err(error) => {
                if at + 1 < hosts.len() {
                    warnings.push(format!("{error}; trying the next host"));
                }
                failed = Some(error);
            }
        }
        left = left.saturating_sub(started.elapsed());
    }
    Err(match failed {
        Some(error) => WorkerStop::Failed(error),
        None => WorkerStop::failed("The address names no host"),
    })
}

/// Writes an answer with its warnings.
fn send_answer(
    answer: RecallAnswer,
    warnings: Vec<String>,
    shown: String,
    context: &WorkerContext,
) -> Result<(), WorkerStop> {
    let value = SharedAnswer { answer, warnings };
    context.send_result(FromServer { shown, value })
}

/// A query with everything that one host needs.
struct HostQuestion<'a> {
    tenant: &'a str,
    ask: &'a RecallQuery<'a>,
    embedder: Option<&'a dyn Embedder>,
    /// How far a replica may be behind.
    max_lag: Option<Duration>,
    /// From the first packet to the last.
    limit: Duration,
}

impl HostQuestion<'_> {
    /// Sends the query to one host. Fails if the host is a replica that is too
    /// far behind.
    fn ask_host(&self, host: &ServerTarget) -> Result<(RecallAnswer, String), WorkerError> {
        let of = |error: &dyn Diagnostic| WorkerError::from_diagnostic(error);
        let policy = WaitPolicy::until_deadline(Instant::now() + self.limit);
        let engine = PostgresEngine::open_with(host, self.tenant, HostRole::Any, policy);
        let engine = engine.map_err(|error| of(&error))?;
        if let Some(max_lag) = self.max_lag
            && let Some(lag) = engine.replica_lag().map_err(|error| of(&error))?
            && lag > max_lag
        {
            let message = format!(
                "The replica `{}` is {} s behind",
                engine.shown,
                lag.as_secs()
            );
            return Err(WorkerError::failure("engine.behind", message));
        }
        let search = engine.begin_search(WorkspaceSelection::Everything);
        let search = search.map_err(|error| of(&error))?;
        let answer = recall::rank_from_source(&search, self.embedder, self.ask);
        let answer = answer.map_err(|error| of(&error))?;
        drop(search);
        Ok((answer, engine.shown.clone()))
    }
}
