//! `agent context`: the layers that an agent starts with, by its role and
//! within its budget. It reads, and writes nothing.

use clap::{Args, ValueEnum};
use forge_app::agents::MemoryHome;
use forge_app::brief::{
    BriefDetail, BriefOccasion, BriefRequest, ContextReport, ContextRequest, ContextScope,
    LayerReport, LayerState, SESSION_BUDGET, build_brief,
};
use forge_app::mind::MindStore;
use forge_app::workspace::Workspace;
use serde_json::{Value, json};

use super::AgentSelector;
use crate::report::{CommandError, CommandExit};
use crate::settings::Settings;
use crate::ui::{Ui, escape_hidden};

/// Put together what an agent starts with, and say what went in
///
/// Layers L0 to L6 come from files under `.agents/`: system, company, goals,
/// agent, memory, feedback, supporting. The role decides which of them and how
/// many characters; `.agents/context-policy.yml` changes both.
///
/// With `--prompt` the text itself is printed: what exists goes in, what does
/// not is left out and named on standard error. Without it the manifest is
/// shown: what went in, what was cut, what is missing; a required layer that is
/// missing is then an error, and the exit code is 1.
#[derive(Debug, Args)]
#[command(after_help = "\
Examples:
  memory-forge agent context --for run --squad eng --agent builder
  memory-forge agent context --for session --agent eng/builder --prompt
  memory-forge agent context --for tick --agent eng/builder --json")]
pub(crate) struct ContextArgs {
    /// What it is for
    #[arg(long = "for", value_name = "WHAT", default_value = "run")]
    scope: ContextPurpose,

    /// The squad of the agent
    #[arg(long, value_name = "SQUAD", requires = "agent")]
    squad: Option<String>,

    #[command(flatten)]
    whose: AgentSelector,

    /// The role, in place of the one that the agent has
    #[arg(long, value_name = "ROLE")]
    role: Option<String>,

    /// Print the text for the agent in place of the manifest
    #[arg(long)]
    prompt: bool,

    /// Print the manifest as JSON, with `--prompt` the text in it
    #[arg(long)]
    json: bool,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq, ValueEnum)]
enum ContextPurpose {
    /// An agent that a program starts: everything
    Run,
    /// A turn of one that runs: what may have changed (L4 to L6)
    Tick,
    /// The start of a conversation: static layers and what was remembered (L0
    /// to L5); ticks bring the rest
    Session,
}

pub(super) fn run_agent_context(
    args: &ContextArgs,
    workspace: &Workspace,
    settings: &Settings,
    ui: &mut Ui,
) -> Result<CommandExit, CommandError> {
    let home = args.agent_home(workspace)?;
    let Some((squad, agent)) = home.squad_and_agent() else {
        return Err(CommandError::usage("`knowledge` is not an agent")
            .hint("Name a squad and an agent: `--agent eng/builder`"));
    };
    let context = ContextRequest {
        scope: match args.scope {
            ContextPurpose::Run => ContextScope::Run,
            ContextPurpose::Tick => ContextScope::Tick,
            ContextPurpose::Session => ContextScope::Session,
        },
        squad,
        agent,
        role: args.role.as_deref(),
        now: settings.now,
    };
    let request = BriefRequest {
        occasion: BriefOccasion::Agent(context),
        budget: SESSION_BUDGET,
        nonce: "",
        now: settings.now,
    };
    let context = build_brief(&MindStore::open(workspace), &request)?.unwrap_or_default();
    let BriefDetail::Context(manifest) = &context.detail else {
        return Err(CommandError::failure("There is no context for this agent"));
    };
    let failures = manifest.list_failures();
    if args.json {
        let mut value = context_json(manifest);
        if args.prompt {
            value["text"] = context.text.as_str().into();
        }
        ui.print_json(&value)?;
    } else if !args.prompt {
        ui.print(&escape_hidden(&manifest.render_text()))?;
    } else {
        ui.print(&context.text)?;
    }
    for failure in &failures {
        let failure = escape_hidden(failure);
        let what = if args.prompt { "Left out" } else { "FAIL LOUD" };
        ui.warn(&format!("{what}: {failure}"));
    }
    let failed = !args.prompt && !failures.is_empty();
    Ok(if failed {
        CommandExit::Failure
    } else {
        CommandExit::Success
    })
}

impl ContextArgs {
    fn agent_home(&self, workspace: &Workspace) -> Result<MemoryHome, CommandError> {
        match (&self.squad, &self.whose.agent) {
            (Some(squad), Some(agent)) => Ok(MemoryHome::for_agent(squad, agent)?),
            _ => self.whose.select_one(workspace),
        }
    }
}

fn context_json(manifest: &ContextReport) -> Value {
    let layers: Vec<Value> = manifest.layers.iter().map(layer_json).collect();
    json!({
        "format": "context-manifest-v1",
        "scope": manifest.scope.name(),
        "policy_hash": manifest.policy_hash,
        "squad": manifest.squad,
        "agent": manifest.agent,
        "role": manifest.role,
        "budget": {
            "chars": manifest.budget_chars,
            "tokensEst": manifest.estimated_budget_tokens(),
        },
        "layers": layers,
        "totals": {
            "chars": manifest.chars,
            "tokensEst": manifest.estimated_tokens(),
            "outsideBudgetChars": manifest.outside_budget_chars,
        },
        "failed_required": manifest.failed_required,
    })
}

fn layer_json(layer: &LayerReport) -> Value {
    json!({
        "id": layer.id,
        "key": layer.key,
        "name": layer.name,
        "description": layer.description,
        "path": layer.path.as_ref().map(ToString::to_string),
        "chars": layer.chars,
        "tokens_est": layer.estimated_tokens(),
        "evicted": layer.state == LayerState::Evicted,
        "cut": layer.cut,
        "resolved": layer.path.is_some() || !layer.supporting.is_empty(),
        "failed": layer.has_failed(),
        "stale": layer.stale,
        "staleness_days": layer.age_days,
        "outside_budget": layer.outside_budget,
        "required": layer.required,
        "supporting_sources": layer.supporting,
        "problem": layer.problem,
    })
}
