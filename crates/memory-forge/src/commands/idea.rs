//! `idea`: a thought for later, kept in the inbox before it is lost.

use clap::{Args, Subcommand};
use forge_app::mind::{Idea, MindStore, NewIdea};
use forge_app::record;
use forge_app::routing::layout;
use forge_app::routing::manifest::Manifest;
use serde_json::json;

use crate::paths;
use crate::recorded::recorded_line;
use crate::report::{CommandError, CommandExit};
use crate::settings::Settings;
use crate::ui::{Ui, escape_hidden};

/// Keep an idea in the inbox, or list what is there
///
/// An idea is appended as one block with its date and a suggested route; it is
/// never sorted in, moved or dropped. The inbox is the file that the manifest
/// names, else `scratch/ideas.md` or `ideas.md`, else a file of that name in any
/// folder; with `.mind/` alone it is `.mind/IDEAS.md`.
#[derive(Debug, Args)]
#[command(
    arg_required_else_help = true,
    disable_help_subcommand = true,
    args_conflicts_with_subcommands = true,
    after_help = "\
Examples:
  memory-forge mind idea Send donors a photo of the well. Ask Ann which one.
  memory-forge mind idea --route fundraising \"A raffle at the spring fair\"
  memory-forge mind idea -- --help should show the version
  memory-forge mind idea list"
)]
pub(crate) struct IdeaArgs {
    #[command(subcommand)]
    command: Option<IdeaCommand>,

    /// The idea, in one to three sentences
    #[arg(value_name = "TEXT", required = true)]
    text: Vec<String>,

    /// Its heading; the beginning of the text unless given
    #[arg(long)]
    title: Option<String>,

    /// The domain that it seems to belong to
    #[arg(long, value_name = "DOMAIN")]
    route: Option<String>,
}

#[derive(Debug, Subcommand)]
enum IdeaCommand {
    /// List the ideas of the inbox, the newest first
    #[command(after_help = "\
Examples:
  memory-forge mind idea list")]
    List(IdeaListArgs),
}

#[derive(Debug, Args)]
struct IdeaListArgs {
    /// How many at most
    #[arg(long, short = 'n', default_value_t = 20)]
    limit: usize,

    /// Print the result as JSON
    #[arg(long)]
    json: bool,
}

pub(crate) fn run_idea(
    args: IdeaArgs,
    settings: &Settings,
    ui: &mut Ui,
) -> Result<CommandExit, CommandError> {
    let workspace = paths::open_workspace(settings, ui)?;
    if let Some(IdeaCommand::List(args)) = args.command {
        list_ideas(&MindStore::open(&workspace), &args, ui)?;
        return Ok(CommandExit::Success);
    }
    let new = NewIdea {
        title: args.title,
        text: args.text.join(" "),
        route: args.route,
    };
    let done = record::record_entry(&workspace, record::NewStateEntry::Idea(new), settings.now)?;
    let manifest = Manifest::read(&workspace);
    for rivalry in layout::find_rivalries(&workspace, manifest.as_ref()) {
        if rivalry.used == done.file {
            let advice = rivalry.advice();
            ui.warn(&escape_hidden(&format!("{}; {advice}", rivalry.message())));
        }
    }
    if matches!(&done.entry, record::RecordedEntry::Idea(kept) if kept.created) {
        ui.note(&format!("Made the inbox `{}`", done.file));
    }
    ui.print_line(&escape_hidden(&recorded_line(&done, str::to_owned)))?;
    Ok(CommandExit::Success)
}

fn list_ideas(mind: &MindStore<'_>, args: &IdeaListArgs, ui: &mut Ui) -> Result<(), CommandError> {
    let ideas = mind.read_ideas()?;
    let newest: Vec<&Idea> = ideas.iter().rev().take(args.limit).collect();
    let path = mind.ideas_path();
    if args.json {
        let shown: Vec<_> = newest
            .iter()
            .map(|it| {
                json!({
                    "title": it.title,
                    "date": it.date.map(|date| date.to_string()),
                    "text": it.text,
                    "route": it.route,
                    "line": it.line,
                })
            })
            .collect();
        let file = path.as_str();
        return ui.print_json(&json!({ "file": file, "total": ideas.len(), "ideas": shown }));
    }
    if ideas.is_empty() {
        return ui.print_line("The inbox is empty.");
    }
    for it in &newest {
        let date = it.date.map_or_else(String::new, |date| date.to_string());
        let route = it.route.as_deref().unwrap_or("unrouted");
        let line = format!("{date}  {} ({route})", it.title);
        ui.print_line(&escape_hidden(&line))?;
    }
    if ideas.len() > newest.len() {
        ui.note(&format!(
            "and {} more in `{path}`; `-n` shows them",
            ideas.len() - newest.len()
        ));
    }
    Ok(())
}
