//! `save`: writes down something learnt. It never overwrites a file.

use std::io::Read;

use clap::{Args, ValueEnum};
use forge_app::client::AgentClient;
use forge_app::knowledge::readme;
use forge_app::remember;
use forge_app::system;
use forge_app::workspace::Workspace;

use crate::choice::client_parser;
use crate::library;
use crate::paths;
use crate::report::{CommandError, CommandExit};
use crate::settings::Settings;
use crate::ui::Ui;

/// Write down a skill or a piece of knowledge as a new file
///
/// `context` becomes `knowledge/<name>.md` and can be searched at once.
/// `skill` goes where agents load skills from; it is audited, not indexed.
/// A file that exists is never overwritten.
#[derive(Debug, Args)]
#[command(after_help = "\
Examples:
  memory-forge save context retry-policy --content \"Retry three times, then park.\"
  memory-forge save context retry-policy < notes.md
  memory-forge save context retry-policy --into-context < notes.md
  memory-forge save skill flaky-webhooks --description \"Webhook tests fail at random\" \\
      --trigger \"timeout in webhook_spec\" --content \"Freeze the clock.\"")]
pub(crate) struct SaveArgs {
    /// What it is
    pub(crate) kind: SaveKindChoice,

    /// Its name; the file's name is made from it
    pub(crate) name: String,

    /// The text; read from standard input when this is absent
    #[arg(long, short)]
    pub(crate) content: Option<String>,

    /// Skill: what it is about, in a sentence
    #[arg(long, short)]
    pub(crate) description: Option<String>,

    /// Skill: when an agent should think of it
    #[arg(long, short)]
    pub(crate) trigger: Option<String>,

    /// Skill: the problem that it solves
    #[arg(long)]
    pub(crate) problem: Option<String>,

    /// From 1 to 10; from 8 on it is never forgotten
    #[arg(
        long,
        short,
        value_name = "1-10",
        default_value = "5",
        value_parser = clap::value_parser!(u8).range(1..=10)
    )]
    pub(crate) importance: u8,

    /// Write it for these clients too, separated by commas
    #[arg(long, value_delimiter = ',', value_parser = client_parser(AgentClient::with_skills()))]
    pub(crate) client: Vec<AgentClient>,

    /// Context: add it to the `CLAUDE.md` or `AGENTS.md` of the module that
    /// you are in, or of the root, instead of `knowledge/`
    #[arg(long)]
    pub(crate) into_context: bool,

    /// Print the result as JSON
    #[arg(long)]
    pub(crate) json: bool,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq, ValueEnum)]
pub(crate) enum SaveKindChoice {
    /// How to solve a problem that comes back
    Skill,
    /// A fact, a decision, a convention
    Context,
}

pub(crate) fn run_save(
    args: SaveArgs,
    settings: &Settings,
    ui: &mut Ui,
) -> Result<CommandExit, CommandError> {
    if args.into_context && args.kind == SaveKindChoice::Skill {
        return Err(CommandError::usage(
            "`--into-context` is for `save context`; a skill has a file of its own",
        ));
    }
    let content = match &args.content {
        Some(content) => content.clone(),
        None => read_standard_input(settings)?,
    };
    let workspace = paths::open_workspace(settings, ui)?;
    let note = remember::NewDocument {
        name: &args.name,
        content: &content,
        importance: args.importance,
    };
    let route = if args.into_context {
        Some(resolve_route(&workspace, settings, &args.client)?)
    } else {
        None
    };
    let (new, became) = match (args.kind, &route) {
        (SaveKindChoice::Skill, _) => {
            let skill = remember::NewSkill {
                name: &args.name,
                content: &content,
                description: args.description.as_deref(),
                trigger: args.trigger.as_deref(),
                problem: args.problem.as_deref(),
                importance: args.importance,
                clients: &args.client,
            };
            (
                remember::NewKnowledge::Skill(skill),
                "Agents load it automatically, so it is audited and not indexed",
            )
        }
        (SaveKindChoice::Context, Some(route)) => {
            let files = &route.files;
            (
                remember::NewKnowledge::Section { note, files },
                "Agents load it at every start; `memory-forge audit` shows what that costs",
            )
        }
        (SaveKindChoice::Context, None) => (
            remember::NewKnowledge::Document(note),
            "Indexed: a search finds it from now on",
        ),
    };
    let mut library = library::open_library(workspace.clone(), settings);
    let done = remember::save_knowledge(&mut library, &new, settings.now, &mut ui.watch_stages())?;
    ui.show_remarks(&done.remarks);
    let saved = done.saved;
    let files: Vec<&str> = saved.files.iter().map(|path| path.as_str()).collect();
    if args.json {
        ui.print_json(&serde_json::json!({
            "version": 1, "title": saved.title, "files": files, "change": saved.receipt.id,
            "indexed": done.is_indexed,
        }))?;
    } else {
        for file in files {
            ui.print_line(&format!("✓ Saved {file}"))?;
        }
        if saved.receipt.files.contains(&readme::readme_path()) {
            ui.note(&format!("Listed in `{}`", readme::README_PATH));
        }
        ui.note(became);
    }
    if done.is_indexed {
        note_module(&workspace, settings, &args.client, ui)?;
    }
    Ok(CommandExit::Success)
}

/// Notes the file of the module, to which knowledge of one module only belongs.
fn note_module(
    workspace: &Workspace,
    settings: &Settings,
    clients: &[AgentClient],
    ui: &mut Ui,
) -> Result<(), CommandError> {
    let route = resolve_route(workspace, settings, clients)?;
    if let Some(module) = route.module {
        let files: Vec<String> = route.files.iter().map(|path| format!("`{path}`")).collect();
        ui.note(&format!(
            "If it holds in `{module}` only, `--into-context` adds it to {} instead",
            files.join(" and ")
        ));
    }
    Ok(())
}

fn resolve_route(
    workspace: &Workspace,
    settings: &Settings,
    clients: &[AgentClient],
) -> Result<remember::NoteRoute, CommandError> {
    let folder = system::canonicalize(settings.cwd()?).ok();
    // Claude Code sets this variable for the programs that it runs.
    let running = settings
        .claude_project_dir
        .is_some()
        .then_some(AgentClient::Claude);
    let client = clients.first().copied().or(running);
    Ok(remember::route_note(workspace, folder.as_deref(), client))
}

fn read_standard_input(settings: &Settings) -> Result<String, CommandError> {
    if settings.stdin_terminal {
        return Err(CommandError::usage("There is no text to save").hint(
            "Give it with `--content`, or pipe it in: `memory-forge save context x < notes.md`",
        ));
    }
    let mut bytes = Vec::new();
    std::io::stdin()
        .lock()
        .read_to_end(&mut bytes)
        .map_err(|error| CommandError::failure(format!("Cannot read standard input: {error}")))?;
    String::from_utf8(bytes).map_err(|_| {
        CommandError::failure("The text on standard input is not UTF-8").hint("Convert it first")
    })
}
