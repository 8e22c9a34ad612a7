//! Runs `why`: what hooks brought without a request and what followed, and what
//! they would bring to an action. It changes nothing.

use clap::Args;
use forge_app::push;
use serde_json::{Value, json};

use crate::paths;
use crate::report::{CommandError, CommandExit};
use crate::settings::Settings;
use crate::ui::{Ui, escape_hidden};

/// Explain what hooks brought without a request, or why nothing
#[derive(Debug, Args)]
#[command(after_help = "\
Examples:
  memory-forge why                          The latest, and what followed
  memory-forge why --command 'cat -A x'     What an agent would get before this command
  memory-forge why --read src/main.rs       … before it reads this file whole
  memory-forge why --edit db/schema.sql     … before it changes this file
  memory-forge why --prompt 'How …?'        … with this prompt")]
pub(crate) struct WhyArgs {
    /// A command that an agent would run
    #[arg(long, value_name = "COMMAND", group = "action")]
    pub(crate) command: Option<String>,

    /// A file that an agent would read whole
    #[arg(long, value_name = "PATH", group = "action")]
    pub(crate) read: Option<String>,

    /// A file that an agent would change
    #[arg(long, value_name = "PATH", group = "action")]
    pub(crate) edit: Option<String>,

    /// A prompt that you would write
    #[arg(long, value_name = "TEXT", group = "action")]
    pub(crate) prompt: Option<String>,

    /// How many to show
    #[arg(
        long,
        short = 'n',
        value_name = "N",
        default_value_t = 5,
        conflicts_with = "action"
    )]
    pub(crate) limit: usize,

    /// Print the result as JSON
    #[arg(long)]
    pub(crate) json: bool,
}

pub(crate) fn run_why(
    args: WhyArgs,
    settings: &Settings,
    ui: &mut Ui,
) -> Result<CommandExit, CommandError> {
    let workspace = paths::open_workspace(settings, ui)?;
    if let Some(prompt) = &args.prompt {
        let request = push::PromptRequest {
            session: "",
            prompt,
            transcript: None,
            model: settings.model.as_deref(),
            nonce: "why",
            now: settings.now,
        };
        let explained = push::explain_prompt(&workspace, &request)?;
        return show_explanation(&args, &explained, ui);
    }
    let (tool, input) = match (&args.command, &args.read, &args.edit) {
        (Some(command), _, _) => ("Bash", json!({ "command": command })),
        (_, Some(path), _) => ("Read", json!({ "file_path": path })),
        (_, _, Some(path)) => ("Edit", json!({ "file_path": path })),
        _ => {
            let pushes = push::list_pushes(&workspace, args.limit, settings.now);
            let silenced = push::silenced_pushes(&workspace);
            return show_pushes(&args, &pushes, &silenced, ui);
        }
    };
    let surroundings = settings.surroundings(&workspace);
    let request = push::ActionRequest {
        event: "why",
        session: "",
        call: "",
        tool,
        input: &input,
        cwd: settings.cwd()?,
        transcript: None,
        program_folders: surroundings.places.path,
        max_whole_read: Some(push::MAX_CLAUDE_READ_BYTES),
        nonce: "why",
        now: settings.now,
    };
    show_explanation(&args, &push::explain_action(&workspace, &request), ui)
}

fn show_explanation(
    args: &WhyArgs,
    explained: &push::ActionExplanation,
    ui: &mut Ui,
) -> Result<CommandExit, CommandError> {
    let is_prompt = args.prompt.is_some();
    if args.json {
        ui.print_json(&json!({
            "version": 1, "mode": explained.mode, "text": explained.text,
            "silences": explained.silences, "keys": explained.keys,
        }))?;
        return Ok(CommandExit::Success);
    }
    match &explained.text {
        Some(text) => ui.print_line(&escape_hidden(text))?,
        None if is_prompt => ui.print_line("Nothing is brought to this prompt.")?,
        None => ui.print_line("Nothing is brought to this action.")?,
    }
    for silence in &explained.silences {
        ui.print_line(&format!("  not shown: {}", escape_hidden(silence)))?;
    }
    if explained.text.is_none() && explained.silences.is_empty() {
        ui.print_line(&match explained.keys {
            0 => "  no key is known yet; they are collected when a session starts and ends"
                .to_owned(),
            1 => "  the one known key does not match it".to_owned(),
            keys => format!("  none of {keys} known keys matches it"),
        })?;
    }
    if explained.mode == "off" {
        ui.note("`recall.push` is `off` in memory-forge.toml, so hooks bring nothing");
    } else if is_prompt && explained.mode != "all" {
        ui.note(
            "`recall.push` is `action` in memory-forge.toml, so hooks bring nothing to prompts",
        );
    }
    Ok(CommandExit::Success)
}

fn show_pushes(
    args: &WhyArgs,
    pushes: &[push::ExplainedPush],
    silenced: &[(String, usize)],
    ui: &mut Ui,
) -> Result<CommandExit, CommandError> {
    if args.json {
        let pushes: Vec<Value> = pushes
            .iter()
            .map(|it| {
                json!({
                    "at": it.at.to_string(), "event": it.event, "key": it.key, "item": it.item,
                    "text": it.text, "tokens": it.tokens, "outcome": it.outcome_name(),
                })
            })
            .collect();
        let silenced: Vec<Value> = silenced
            .iter()
            .map(|(item, times)| json!({ "item": item, "times": times }))
            .collect();
        ui.print_json(&json!({ "version": 1, "pushes": pushes, "silenced": silenced }))?;
        return Ok(CommandExit::Success);
    }
    if pushes.is_empty() {
        ui.print_line("Hooks have brought nothing yet.")?;
    }
    for it in pushes {
        ui.print_line(&format!(
            "{}  {}, {}: {} (~{} tokens)",
            it.at,
            it.event,
            it.key,
            it.describe_outcome(),
            it.tokens
        ))?;
        ui.print_line(&format!("  {}", escape_hidden(&it.text)))?;
    }
    for (item, times) in silenced {
        ui.print_line(&format!(
            "Silenced: {} (ignored or contradicted {times} times)",
            escape_hidden(item)
        ))?;
    }
    Ok(CommandExit::Success)
}
