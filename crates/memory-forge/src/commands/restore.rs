//! Runs `restore`: brings forgotten documents back into searches, and removes
//! corrections of facts. It never touches the files themselves.

use clap::{ArgGroup, Args};
use forge_app::forget;
use forge_app::workspace::Workspace;

use crate::paths;
use crate::report::{CommandError, CommandExit};
use crate::settings::Settings;
use crate::ui::{Ui, escape_hidden};

/// Bring back what was forgotten, or withdraw a correction
#[derive(Debug, Args)]
#[command(
    group = ArgGroup::new("what").required(true),
    after_help = "\
Examples:
  memory-forge restore knowledge/old-billing.md
  memory-forge restore --all
  memory-forge restore --fact 'The port is 8080'"
)]
pub(crate) struct RestoreArgs {
    /// Documents to bring back
    #[arg(group = "what", value_name = "PATH")]
    pub(crate) paths: Vec<String>,

    /// Bring all documents back; corrections stay
    #[arg(long, group = "what")]
    pub(crate) all: bool,

    /// Lift the correction of this statement, in any spelling
    #[arg(long, group = "what", value_name = "TEXT")]
    pub(crate) fact: Vec<String>,

    /// Print the result as JSON
    #[arg(long)]
    pub(crate) json: bool,
}

pub(crate) fn run_restore(
    args: RestoreArgs,
    settings: &Settings,
    ui: &mut Ui,
) -> Result<CommandExit, CommandError> {
    let workspace = paths::open_workspace(settings, ui)?;
    if !args.fact.is_empty() {
        return lift_corrections(&workspace, &args, settings, ui);
    }
    let paths = args
        .paths
        .iter()
        .map(|path| paths::resolve_document(&workspace, settings, path))
        .collect::<Result<Vec<_>, _>>()?;
    let which = (!args.all).then_some(paths.as_slice());
    let (restored, receipt) = forget::restore_documents(&workspace, which, settings.now)?;
    if args.json {
        ui.print_json(&serde_json::json!({
            "version": 1, "changed": receipt.id.is_some(), "change": receipt.id, "restored": restored,
        }))?;
        return Ok(CommandExit::Success);
    }
    for path in &restored {
        ui.print_line(&format!("✓ Restored {}", escape_hidden(path)))?;
    }
    if restored.is_empty() {
        ui.print_line("Nothing is forgotten.")?;
    }
    Ok(CommandExit::Success)
}

fn lift_corrections(
    workspace: &Workspace,
    args: &RestoreArgs,
    settings: &Settings,
    ui: &mut Ui,
) -> Result<CommandExit, CommandError> {
    let lifted = forget::remove_fact_corrections(workspace, &args.fact, settings.now)?;
    if args.json {
        let corrections: Vec<_> = lifted
            .corrections
            .iter()
            .map(forget::Correction::to_json)
            .collect();
        ui.print_json(&serde_json::json!({
            "version": 1, "changed": lifted.receipt.id.is_some(), "change": lifted.receipt.id,
            "lifted": corrections,
        }))?;
        return Ok(CommandExit::Success);
    }
    for one in &lifted.corrections {
        ui.print_line(&format!("✓ Lifted: \"{}\"", escape_hidden(&one.fact)))?;
    }
    ui.note(
        "It may be saved again; `memory-forge closets build --force` brings it back into closets",
    );
    Ok(CommandExit::Success)
}
