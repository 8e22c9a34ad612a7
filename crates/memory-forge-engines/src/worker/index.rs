//! Runs the operations on an organisation's index: which host is queried, and
//! what a push reads. Documents are read through memory, so that none crosses
//! the pipe.

use std::time::{Duration, Instant};

use forge_embed::Embedder;
use forge_memory::corrections::Corrections;
use forge_memory::knowledge::forget;
use forge_memory::knowledge::fresh::{self, Opening};
use forge_memory::model;
use forge_memory::publish::{self, Include};
use forge_memory::recall::{self, Answer, Ask};
use forge_memory::wire::{
    FromServer, IndexOperation, IndexPushReport, IndexQuestion, PulledWorkspace, SharedAnswer,
    WorkerError, WorkerLine,
};
use forge_store::workspace::{git, identity};
use forge_text::diagnostic::Diagnostic;
use serde::Serialize;

use super::{WorkerContext, WorkerStop};
use crate::postgres::{Engine, HostRole, Push, Target, WaitPolicy, Within, read_member};

/// Time to wait for another process that writes the workspace's own index.
const INDEX_WAIT: Duration = Duration::from_secs(5);

/// Runs one operation.
pub(super) fn run(
    tenant: &str,
    operation: IndexOperation,
    context: &WorkerContext,
) -> Result<(), WorkerStop> {
    if let IndexOperation::Search(question) = &operation {
        return search(tenant, question, context);
    }
    let need = if operation.needs_primary() {
        HostRole::Primary
    } else {
        HostRole::Any
    };
    // Arguments are parsed before any connection is made.
    let members = match &operation {
        IndexOperation::Init { members } => {
            let members = members.iter().map(|it| read_member(it));
            members.collect::<Result<Vec<_>, _>>()?
        }
        _ => Vec::new(),
    };
    let output = context.output.clone();
    let policy = WaitPolicy::of_each(operation.limit());
    let policy = policy.with_notice(move |line| output.note(line));
    let target = target(&context.workspace.config().engine.url, context)?;
    let engine = Engine::open_with(&target, tenant, need, policy)?;
    match operation {
        IndexOperation::Search(_) => Ok(()),
        IndexOperation::Connect => done(&engine, (), context),
        IndexOperation::Model => done(&engine, engine.model()?, context),
        IndexOperation::Push {
            name,
            include,
            with_vectors,
            force,
        } => {
            let embedder = with_vectors.then(|| embedder(context)).transpose()?;
            let report = push(&engine, &name, include, embedder, force, context)?;
            done(&engine, report, context)
        }
        IndexOperation::Pull { workspace } => {
            let pulled = engine.pull(&workspace)?;
            for (path, text) in pulled.documents {
                let line = WorkerLine::<()>::Document { path, text };
                context.output.line(&line)?;
            }
            let about = PulledWorkspace {
                generation: pulled.generation,
                commit: pulled.commit,
            };
            done(&engine, about, context)
        }
        IndexOperation::Init { .. } => {
            let model = embedder(context)?;
            let report = engine.init(model.id(), model.dimensions(), &members)?;
            done(&engine, report, context)
        }
        IndexOperation::Status => done(&engine, engine.status()?, context),
        IndexOperation::DropWorkspace { name } => {
            let team = &context.workspace.config().engine.team;
            done(&engine, engine.drop_workspace(&name, team)?, context)
        }
        IndexOperation::TenantNames => done(&engine, engine.everyone_there()?, context),
        IndexOperation::DropEverything => done(&engine, engine.drop_all()?, context),
        IndexOperation::Upgrade => done(&engine, engine.upgrade()?, context),
        IndexOperation::Members => done(&engine, engine.members()?, context),
        IndexOperation::AddMember(member) => done(&engine, engine.add_member(&member)?, context),
        IndexOperation::RenewMembers { is_rehearsal } => {
            done(&engine, engine.renew_members(is_rehearsal)?, context)
        }
        IndexOperation::RemoveMember {
            login,
            team,
            drop_login,
        } => {
            let removal = engine.remove_member(&login, team.as_deref(), drop_login)?;
            done(&engine, removal, context)
        }
        IndexOperation::Tenants => done(&engine, engine.tenants()?, context),
        IndexOperation::DropTenant { name } => done(&engine, engine.drop_tenant(&name)?, context),
        IndexOperation::Check => done(&engine, engine.check()?, context),
    }
}

/// Writes a result with the name of its server.
fn done<T: Serialize>(
    engine: &Engine,
    value: T,
    context: &WorkerContext,
) -> Result<(), WorkerStop> {
    context.done(FromServer {
        shown: engine.shown.clone(),
        value,
    })
}

/// Returns a server that may be connected to.
fn target(url: &str, context: &WorkerContext) -> Result<Target, WorkerStop> {
    let target = Target::read(url, &context.surroundings.engine)?;
    if !target.is_users_own {
        context.require_consent(&target.address, "MEMORY_FORGE_ENGINE_URL")?;
    }
    Ok(target)
}

/// Loads the model that embeds.
fn embedder(context: &WorkerContext) -> Result<&'static dyn Embedder, WorkerStop> {
    model::of(context.workspace, context.surroundings.model.as_deref()).map_err(WorkerStop::failed)
}

/// Pushes the workspace.
fn push(
    engine: &Engine,
    name: &str,
    include: Include,
    embedder: Option<&dyn Embedder>,
    force: bool,
    context: &WorkerContext,
) -> Result<IndexPushReport, WorkerStop> {
    let workspace = context.workspace;
    // `memory-forge` has updated the index and reported its problems; only
    // later changes are read here.
    let mut opening = Opening {
        now: context.now,
        wait: INDEX_WAIT,
        force: false,
        progress: &mut |_, _| {},
    };
    let mut fresh = fresh::fresh(workspace, &mut opening)?;
    // Released before the push, which may take minutes.
    fresh.lock = None;
    let (index, catalogue) = (&fresh.index, &fresh.catalogue);
    let model = embedder.map(Embedder::id);
    let (items, kept) = publish::list(workspace, index, catalogue, include, model)?;
    let edges = publish::edges(workspace, &items);
    let root = workspace.root().to_owned();
    let commit = git::head(&root);
    let identity = identity(workspace).map_or_else(String::new, |it| it.id());
    let push = Push {
        workspace: name,
        identity: &identity,
        team: &workspace.config().engine.team,
        commit: commit.as_deref(),
        items: &items,
        edges: &edges,
        knows: &|commit| git::has(&root, commit),
        force,
    };
    let report = engine.push(
        &push,
        &mut |item| publish::read(workspace, index, item, embedder, include).map_err(Into::into),
        &mut |done, total| context.output.progress(done, total),
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
fn search(
    tenant: &str,
    question: &IndexQuestion,
    context: &WorkerContext,
) -> Result<(), WorkerStop> {
    let workspace = context.workspace;
    let mut warnings = Vec::new();
    let config = &workspace.config().engine;
    // Read before the clock starts, as is the model: both come from the disk.
    let forgotten = forget::forgotten(workspace)?;
    let corrections = Corrections::read(workspace)?;
    let embedder = match model::of(workspace, context.surroundings.model.as_deref()) {
        Ok(model) => Some(model),
        Err(why) => {
            warnings.push(format!("{why}; searching by full text"));
            None
        }
    };
    let ask = Ask {
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
        let hosts = target(&config.replica, context)?.hosts();
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
            match question.put_to(host) {
                Ok((answer, shown)) => return answered(answer, warnings, shown, context),
                Err(error) if error.is_usage => return Err(WorkerStop::Failed(error)),
                Err(error) => {
                    let next = if at + 1 < hosts.len() {
                        "asking the next replica"
                    } else {
                        "asking the primary"
                    };
                    warnings.push(format!("{error}; {next}"));
                }
            }
            left = left.saturating_sub(started.elapsed());
        }
    }
    let hosts = target(&config.url, context)?.hosts();
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
        match question.put_to(host) {
            Ok((answer, shown)) => return answered(answer, warnings, shown, context),
            Err(error) if error.is_usage => return Err(WorkerStop::Failed(error)),
            Err(error) => {
                if at + 1 < hosts.len() {
                    warnings.push(format!("{error}; asking the next host"));
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
fn answered(
    answer: Answer,
    warnings: Vec<String>,
    shown: String,
    context: &WorkerContext,
) -> Result<(), WorkerStop> {
    let value = SharedAnswer { answer, warnings };
    context.done(FromServer { shown, value })
}

/// A query with everything that one host needs.
struct HostQuestion<'a> {
    tenant: &'a str,
    ask: &'a Ask<'a>,
    embedder: Option<&'a dyn Embedder>,
    /// How far a replica may be behind.
    max_lag: Option<Duration>,
    /// From the first packet to the last.
    limit: Duration,
}

impl HostQuestion<'_> {
    /// Sends the query to one host. Fails if the host is a replica that is too
    /// far behind.
    fn put_to(&self, host: &Target) -> Result<(Answer, String), WorkerError> {
        let of = |error: &dyn Diagnostic| WorkerError::of(error);
        let policy = WaitPolicy::until(Instant::now() + self.limit);
        let engine = Engine::open_with(host, self.tenant, HostRole::Any, policy);
        let engine = engine.map_err(|error| of(&error))?;
        if let Some(max_lag) = self.max_lag
            && let Some(lag) = engine.lag().map_err(|error| of(&error))?
            && lag > max_lag
        {
            let message = format!(
                "The replica `{}` is {} s behind",
                engine.shown,
                lag.as_secs()
            );
            return Err(WorkerError::failure("engine.behind", message));
        }
        let search = engine.search(Within::Everything);
        let search = search.map_err(|error| of(&error))?;
        let answer = recall::ask_of(&search, self.embedder, self.ask);
        let answer = answer.map_err(|error| of(&error))?;
        drop(search);
        Ok((answer, engine.shown.clone()))
    }
}
