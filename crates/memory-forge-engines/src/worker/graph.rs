//! Runs the operations on a graph server. The graph is built here from the
//! workspace, so that no note crosses the pipe.

use std::path::PathBuf;

use forge_memory::graph::{self, WorkspaceGraph, ask};
use forge_memory::links::NoteVault;
use forge_memory::mind::MindStore;
use forge_memory::wire::{GraphOperation, GraphScope, GraphStatus, PushedGraph, WorkerError};
use forge_store::workspace::workspace_identity;

use super::{WorkerContext, WorkerStop};
use crate::bolt::{self, BoltGraph, GraphAddress, NodeScope};

/// Runs one operation.
pub(super) fn run_graph_operation(
    operation: &GraphOperation,
    context: &WorkerContext,
) -> Result<(), WorkerStop> {
    // A query that writes is refused before anything is sent.
    if let GraphOperation::Cypher {
        query,
        write: false,
        ..
    } = operation
        && let Some(word) = bolt::find_writing_clause(query)
    {
        return Err(bolt::BoltError::Writes(word).into());
    }
    let mut server = connect_server(operation, context)?;
    let scope = GraphScope {
        tenant: server.scope().tenant().to_owned(),
        workspace: server.scope().workspace().to_owned(),
    };
    match operation {
        GraphOperation::Connect => context.send_result(scope),
        GraphOperation::Push { force } => {
            let graph = build_shared_graph(&context.read_vault(), context);
            let at = context.now.to_string();
            let report = server.push_graph(&graph, &at, *force)?;
            context.send_result((report, scope))
        }
        GraphOperation::Status => {
            let last = server.read_push_state()?;
            let graph = build_shared_graph(&context.read_vault(), context);
            let digest = bolt::compute_digest(&graph, server.scope());
            let is_current = last
                .as_ref()
                .is_some_and(|it| it.complete && it.digest == digest);
            let pushed = last.map(|it| PushedGraph {
                is_complete: it.complete,
                nodes: it.nodes,
                relations: it.relations,
                at: it.at,
            });
            context.send_result(GraphStatus {
                scope,
                pushed,
                is_current,
            })
        }
        GraphOperation::Drop => context.send_result(server.drop_workspace()?),
        GraphOperation::Cypher {
            query,
            write,
            limit,
        } => context.send_result(server.run_cypher(query, *write, *limit)?),
        GraphOperation::Ask { questions } => {
            require_push(&mut server, context)?;
            let mut answers = Vec::new();
            for question in questions {
                answers.push(ask::answer_question(&mut server, question)?);
            }
            context.send_result(answers)
        }
    }
}

/// Builds the graph that a server may have: without private notes.
fn build_shared_graph(vault: &NoteVault, context: &WorkerContext) -> WorkspaceGraph {
    let workspace = context.workspace;
    let graph = graph::build_graph(vault).with_state(vault, &MindStore::open(workspace));
    graph.shared_part_by(&|path| workspace.is_private(path))
}

/// Fails if the workspace was never pushed, and reports if the server is
/// behind. `memory-forge` has already listed the files that it could not read.
fn require_push(server: &mut BoltGraph, context: &WorkerContext) -> Result<(), WorkerStop> {
    let Some(last) = server.read_push_state()? else {
        let message = "This workspace was never pushed to the graph server";
        let error = WorkerError::failure("graph.never-pushed", message);
        return Err(WorkerStop::Failed(
            error.with_hint("`memory-forge graph push` does it"),
        ));
    };
    let vault = NoteVault::read(context.workspace);
    let graph = build_shared_graph(&vault, context);
    if !last.complete {
        let line = "The last push did not end; `graph push` completes it";
        context.output.write_warning(line);
    } else if last.digest != bolt::compute_digest(&graph, server.scope()) {
        let line = "The server's graph is not that of the files; `graph push` brings it up to date";
        context.output.write_note(line);
    }
    Ok(())
}

/// Connects to the server in the environment or the settings, with the time
/// limit of the operation.
fn connect_server(
    operation: &GraphOperation,
    context: &WorkerContext,
) -> Result<BoltGraph, WorkerStop> {
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
                .with_hint(
                    "Set `MEMORY_FORGE_GRAPH_URL`, or `url` below `[graph]` in `memory-forge.toml`",
                )
                .with_hint("`graph ask --engine embedded` needs no server"),
        ));
    };
    let inside = config.authority.as_ref();
    let inside = inside.map(|it| context.workspace.absolute_path(it));
    let authority = given.authority.as_ref().map(PathBuf::from).or(inside);
    let address = GraphAddress {
        url,
        user: or_else(&given.user, &config.user).unwrap_or_default(),
        password: given.password.clone().unwrap_or_default(),
        database: or_else(&given.database, &config.database),
        authority,
    };
    address.validate_url()?;
    // A server from the user's environment, or on this machine, needs no
    // approval; the project's settings may come from a stranger.
    if given.url.is_none() && !address.is_local() {
        context.require_consent(&address.server_origin(), "MEMORY_FORGE_GRAPH_URL")?;
    }
    if address.is_password_exposed() {
        let line = "The password is sent unencrypted; use `bolt+s://`";
        context.output.write_warning(line);
    }
    let server = BoltGraph::connect(&address, read_scope(context)?)?;
    Ok(server.with_limit(operation.time_limit()))
}

/// Returns the tenant and the workspace from the settings, or the workspace's
/// identity.
fn read_scope(context: &WorkerContext) -> Result<NodeScope, WorkerStop> {
    let config = &context.workspace.config().graph;
    let name = match config.workspace.as_str() {
        "" => workspace_identity(context.workspace)
            .map(|it| it.id())
            .ok_or_else(|| {
                let message = "This workspace has no git history to take a name from";
                let error = WorkerError::failure("graph.no-name", message).as_usage();
                WorkerStop::Failed(
                    error.with_hint("Set `workspace` below `[graph]` in `memory-forge.toml`"),
                )
            })?,
        name => name.to_owned(),
    };
    Ok(NodeScope::new(&config.tenant, &name)?)
}
