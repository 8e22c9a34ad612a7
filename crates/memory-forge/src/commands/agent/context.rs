//! `agent context`: the layers that an agent starts with, by its role and
//! within its budget. It reads, and writes nothing.

use clap::{Args, ValueEnum};
use forge_app::agents::Home;
use forge_app::brief::{
    BriefDetail, BriefRequest, ContextManifest, ContextRequest, ContextScope, LayerReport,
    LayerState, Occasion, SESSION_BUDGET, brief,
};
use forge_app::mind::Mind;
use forge_app::workspace::Workspace;
use serde_json::{Value, json};

use super::Whose;
use crate::report::{CommandError, Exit};
use crate::settings::Settings;
use crate::ui::{Ui, printable};

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
    scope: For,

    /// The squad of the agent
    #[arg(long, value_name = "SQUAD", requires = "agent")]
    squad: Option<String>,

    #[command(flatten)]
    whose: Whose,

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
enum For {
    /// An agent that a program starts: everything
    Run,
    /// A turn of one that runs: what may have changed (L4 to L6)
    Tick,
    /// The start of a conversation: static layers and what was remembered (L0
    /// to L5); ticks bring the rest
    Session,
}

pub(super) fn run(
    args: &ContextArgs,
    workspace: &Workspace,
    settings: &Settings,
    ui: &mut Ui,
) -> Result<Exit, CommandError> {
    let home = args.home(workspace)?;
    let Some((squad, agent)) = home.agent() else {
        return Err(CommandError::usage("`knowledge` is no agent")
            .hint("Name a squad and an agent: `--agent eng/builder`"));
    };
    let context = ContextRequest {
        scope: match args.scope {
            For::Run => ContextScope::Run,
            For::Tick => ContextScope::Tick,
            For::Session => ContextScope::Session,
        },
        squad,
        agent,
        role: args.role.as_deref(),
        now: settings.now,
    };
    let request = BriefRequest {
        occasion: Occasion::Agent(context),
        budget: SESSION_BUDGET,
        nonce: "",
        now: settings.now,
    };
    let context = brief(&Mind::open(workspace), &request)?.unwrap_or_default();
    let BriefDetail::Context(manifest) = &context.detail else {
        return Err(CommandError::failure("There is no context for this agent"));
    };
    let failures = manifest.failures();
    if args.json {
        let mut value = manifest_json(manifest);
        if args.prompt {
            value["text"] = context.text.as_str().into();
        }
        ui.json(&value)?;
    } else if !args.prompt {
        ui.print(&printable(&manifest.text()))?;
    } else {
        ui.print(&context.text)?;
    }
    for failure in &failures {
        let failure = printable(failure);
        let what = if args.prompt { "Left out" } else { "FAIL LOUD" };
        ui.warn(&format!("{what}: {failure}"));
    }
    let failed = !args.prompt && !failures.is_empty();
    Ok(if failed { Exit::Failure } else { Exit::Success })
}

impl ContextArgs {
    fn home(&self, workspace: &Workspace) -> Result<Home, CommandError> {
        match (&self.squad, &self.whose.agent) {
            (Some(squad), Some(agent)) => Ok(Home::open(squad, agent)?),
            _ => self.whose.one(workspace),
        }
    }
}

fn manifest_json(manifest: &ContextManifest) -> Value {
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
            "tokensEst": manifest.budget_tokens_est(),
        },
        "layers": layers,
        "totals": {
            "chars": manifest.chars,
            "tokensEst": manifest.tokens_est(),
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
        "tokens_est": layer.tokens_est(),
        "evicted": layer.state == LayerState::Evicted,
        "cut": layer.cut,
        "resolved": layer.path.is_some() || !layer.supporting.is_empty(),
        "failed": layer.failed(),
        "stale": layer.stale,
        "staleness_days": layer.age_days,
        "outside_budget": layer.outside_budget,
        "required": layer.required,
        "supporting_sources": layer.supporting,
        "problem": layer.problem,
    })
}
