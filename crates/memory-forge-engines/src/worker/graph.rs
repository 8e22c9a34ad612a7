//! Runs the operations on a graph server. The graph is built here from the
//! workspace, so that no note crosses the pipe.

use std::path::PathBuf;

use forge_memory::graph::{self, Graph, ask};
use forge_memory::links::Vault;
use forge_memory::mind::Mind;
use forge_memory::wire::{GraphOperation, GraphScope, GraphStatus, PushedGraph, WorkerError};
use forge_store::workspace::identity;

use super::{WorkerContext, WorkerStop};
use crate::bolt::{self, Address, Scope, Server};

/// Runs one operation.
pub(super) fn run(operation: &GraphOperation, context: &WorkerContext) -> Result<(), WorkerStop> {
    // A query that writes is refused before anything is sent.
    if let GraphOperation::Cypher {
        query,
        write: false,
        ..
    } = operation
        && let Some(word) = bolt::writing_clause(query)
    {
        return Err(bolt::Error::Writes(word).into());
    }
    let mut server = connect(operation, context)?;
    let scope = GraphScope {
        tenant: server.scope().tenant().to_owned(),
        workspace: server.scope().workspace().to_owned(),
    };
    match operation {
        GraphOperation::Connect => context.done(scope),
        GraphOperation::Push { force } => {
            let graph = shared_graph(&context.vault(), context);
            let at = context.now.to_string();
            let report = server.push(&graph, &at, *force)?;
            context.done((report, scope))
        }
        GraphOperation::Status => {
            let last = server.standing()?;
            let graph = shared_graph(&context.vault(), context);
            let digest = bolt::digest(&graph, server.scope());
            let is_current = last
                .as_ref()
                .is_some_and(|it| it.complete && it.digest == digest);
            let pushed = last.map(|it| PushedGraph {
                is_complete: it.complete,
                nodes: it.nodes,
                relations: it.relations,
                at: it.at,
            });
            context.done(GraphStatus {
                scope,
                pushed,
                is_current,
            })
        }
        GraphOperation::Drop => context.done(server.drop_all()?),
        GraphOperation::Cypher {
            query,
            write,
            limit,
        } => context.done(server.cypher(query, *write, *limit)?),
        GraphOperation::Ask { questions } => {
            require_push(&mut server, context)?;
            let mut answers = Vec::new();
            for question in questions {
                answers.push(ask::ask(&mut server, question)?);
            }
            context.done(answers)
        }
    }
}

/// Builds the graph that a server may have: without private notes.
fn shared_graph(vault: &Vault, context: &WorkerContext) -> Graph {
    let workspace = context.workspace;
    let graph = graph::build(vault).with_state(vault, &Mind::open(workspace));
    graph.shared_by(&|path| workspace.is_private(path))
}

/// Fails if the workspace was never pushed, and reports if the server is
/// behind. `memory-forge` has already listed the files that it could not read.
fn require_push(server: &mut Server, context: &WorkerContext) -> Result<(), WorkerStop> {
    let Some(last) = server.standing()? else {
        let message = "This workspace was never pushed to the graph server";
        let error = WorkerError::failure("graph.never-pushed", message);
        return Err(WorkerStop::Failed(
            error.hint("`memory-forge graph push` does it"),
        ));
    };
    let vault = Vault::read(context.workspace);
    let graph = shared_graph(&vault, context);
    if !last.complete {
        let line = "The last push did not end; `graph push` completes it";
        context.output.warn(line);
    } else if last.digest != bolt::digest(&graph, server.scope()) {
        let line = "The server's graph is not that of the files; `graph push` brings it up to date";
        context.output.note(line);
    }
    Ok(())
}

/// Connects to the server in the environment or the settings, with the time
/// limit of the operation.
fn connect(operation: &GraphOperation, context: &WorkerContext) -> Result<Server, WorkerStop> {
    let given = &context.surroundings.graph;
    let config = &context.workspace.config().graph;
    let or_else = |given: &Option<String>, set: &str| {
        let set = Some(set.to_owned()).filter(|it| !it.is_empty());
        given.clone().or(set)
    };
    let Some(url) = or_else(&given.url, &config.url) else {
        let error = WorkerError::failure("graph.not-set", "No graph server is set");
        return Err(WorkerStop::Failed(
            error
                .hint(
                    "Set `MEMORY_FORGE_GRAPH_URL`, or `url` below `[graph]` in `memory-forge.toml`",
                )
                .hint("`graph ask --engine embedded` needs no server"),
        ));
    };
    let inside = config.authority.as_ref();
    let inside = inside.map(|it| context.workspace.absolute(it));
    let authority = given.authority.as_ref().map(PathBuf::from).or(inside);
    let address = Address {
        url,
        user: or_else(&given.user, &config.user).unwrap_or_default(),
        password: given.password.clone().unwrap_or_default(),
        database: or_else(&given.database, &config.database),
        authority,
    };
    address.check()?;
    // A server from the user's environment, or on this machine, needs no
    // approval; the project's settings may come from a stranger.
    if given.url.is_none() && !address.is_near() {
        context.require_consent(&address.place(), "MEMORY_FORGE_GRAPH_URL")?;
    }
    if address.is_in_the_clear() {
        let line = "The password travels unencrypted; `bolt+s://` would keep it to yourself";
        context.output.warn(line);
    }
    let server = Server::connect(&address, scope(context)?)?;
    Ok(server.within(operation.limit()))
}

/// Returns the tenant and the workspace from the settings, or the workspace's
/// identity.
fn scope(context: &WorkerContext) -> Result<Scope, WorkerStop> {
    let config = &context.workspace.config().graph;
    let name = match config.workspace.as_str() {
        "" => identity(context.workspace)
            .map(|it| it.id())
            .ok_or_else(|| {
                let message = "This workspace has no git history to take a name from";
                let error = WorkerError::failure("graph.no-name", message).usage();
                WorkerStop::Failed(
                    error.hint("Set `workspace` below `[graph]` in `memory-forge.toml`"),
                )
            })?,
        name => name.to_owned(),
    };
    Ok(Scope::new(&config.tenant, &name)?)
}
