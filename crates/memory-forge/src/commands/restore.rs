//! `restore`: brings forgotten documents back into searches. It never touches
//! the files themselves.

use clap::{ArgGroup, Args};
use forge::knowledge::forget;

use crate::memory;
use crate::report::{CommandError, Exit};
use crate::settings::Settings;
use crate::ui::{Ui, printable};

/// Bring forgotten documents back into searches
#[derive(Debug, Args)]
#[command(
    group = ArgGroup::new("what").required(true),
    after_help = "\
Examples:
  memory-forge restore knowledge/old-billing.md
  memory-forge restore --all"
)]
pub(crate) struct RestoreArgs {
    /// Documents to bring back
    #[arg(group = "what", value_name = "PATH")]
    pub(crate) paths: Vec<String>,

    /// Bring all of them back
    #[arg(long, group = "what")]
    pub(crate) all: bool,

    /// Print the result as JSON
    #[arg(long)]
    pub(crate) json: bool,
}

pub(crate) fn run(
    args: RestoreArgs,
    settings: &Settings,
    ui: &mut Ui,
) -> Result<Exit, CommandError> {
    let workspace = memory::workspace(settings, ui)?;
    let paths = args
        .paths
        .iter()
        .map(|path| memory::document_in(&workspace, settings, path))
        .collect::<Result<Vec<_>, _>>()?;
    let which = (!args.all).then_some(paths.as_slice());
    let (restored, receipt) = forget::restore(&workspace, which, settings.now)?;
    if args.json {
        ui.json(&serde_json::json!({
            "version": 1, "changed": receipt.id.is_some(), "change": receipt.id, "restored": restored,
        }))?;
        return Ok(Exit::Success);
    }
    for path in &restored {
        ui.line(&format!("✓ Restored {}", printable(path)))?;
    }
    if restored.is_empty() {
        ui.line("Nothing is forgotten.")?;
    }
    Ok(Exit::Success)
}
