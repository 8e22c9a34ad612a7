//! `config`: every key, its value here and where that comes from. It changes
//! nothing.

use clap::Args;

use crate::paths;
use crate::report::{CommandError, CommandExit};
use crate::settings::Settings;
use crate::ui::{Ui, style};

/// Show every configuration key with its value, default and meaning
///
/// Keys are set in `memory-forge.toml` at the root of the workspace.
#[derive(Debug, Args)]
#[command(after_help = "\
Examples:
  memory-forge config
  memory-forge config --json")]
pub(crate) struct ConfigArgs {
    /// Print the result as JSON
    #[arg(long)]
    pub(crate) json: bool,
}

pub(crate) fn run_config(
    args: ConfigArgs,
    settings: &Settings,
    ui: &mut Ui,
) -> Result<CommandExit, CommandError> {
    let workspace = paths::open_workspace(settings, ui)?;
    let config = workspace.config();
    let keys = forge_app::workspace::config_reference();
    if args.json {
        let shown: Vec<_> = keys
            .iter()
            .map(|key| {
                serde_json::json!({
                    "key": key.key, "value": value_as_json(config.get(key.key)),
                    "default": value_as_json(Some(key.default.clone())),
                    "origin": config.origin(key.key).unwrap_or("default"),
                    "kind": key.kind, "about": key.about, "old_name": key.old_name,
                })
            })
            .collect();
        ui.print_json(
            &serde_json::json!({ "version": 1, "root": workspace.root(), "keys": shown }),
        )?;
        return Ok(CommandExit::Success);
    }
    let bold = style::HEADING;
    let mut section = "";
    for key in &keys {
        let (of, _) = key.key.split_once('.').unwrap_or((key.key, ""));
        if !section.is_empty() && section != of {
            ui.print_line("")?;
        }
        section = of;
        let value = config.get(key.key).unwrap_or_default();
        let origin = match config.origin(key.key) {
            Some(file) => format!("{file}; default {}", key.default),
            None => "default".to_owned(),
        };
        ui.print_line(&format!("{bold}{}{bold:#} = {value} ({origin})", key.key))?;
        ui.print_line(&format!("    {} [{}]", key.about, key.kind))?;
    }
    Ok(CommandExit::Success)
}

/// Returns a value as JSON: the text of a file is nearly that already.
fn value_as_json(value: Option<String>) -> serde_json::Value {
    let value = value.unwrap_or_default();
    serde_json::from_str(&value).unwrap_or(serde_json::Value::String(value))
}
