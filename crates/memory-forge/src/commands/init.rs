//! `init`: makes a directory a workspace, and proposes an order for notes that
//! are there already. It never overwrites a file and never moves one unasked.

use std::path::{Path, PathBuf};

use clap::Args;
use forge::knowledge::start;
use forge::routing::manifest::{Manifest, Mode};
use forge::upkeep::organise::{self, Plan};
use forge::upkeep::scaffold;
use forge::workspace::{Proposal, RelPath, Workspace};
use serde_json::json;

use super::doctor::show_diff;
use crate::memory;
use crate::report::{CommandError, Exit};
use crate::settings::Settings;
use crate::ui::{Ui, printable};

/// Prepare this directory: `knowledge/` and an ignore rule
///
/// With `--workspace`, a whole workspace with `_MANIFEST.md`, the map that tells
/// agents what there is. With `--organise`, notes that are there already are
/// read and an order is proposed as a file; nothing moves before `--apply`.
#[derive(Debug, Args)]
#[command(after_help = "\
Examples:
  memory-forge init                                 Show what would be added, ask, add it
  memory-forge init --dry-run                       Only show it
  memory-forge init --workspace \"A billing engine\"  Start a workspace with a manifest
  memory-forge init --organise                      Propose an order for existing notes
  memory-forge init --apply memory-forge-plan.toml  Carry it out, after a look and a yes")]
pub(crate) struct InitArgs {
    /// Agree to what is proposed without being asked
    #[arg(long, short)]
    pub(crate) yes: bool,

    /// Show what would be created and change nothing
    #[arg(long, short = 'n')]
    pub(crate) dry_run: bool,

    /// Start a workspace with a manifest; say what you are working on
    #[arg(long, value_name = "ABOUT", num_args = 0..=1, conflicts_with_all = ["organise", "apply"])]
    workspace: Option<Option<String>>,

    /// Read the notes that are there and write a plan for them
    #[arg(long, visible_alias = "organize", conflicts_with = "apply")]
    organise: bool,

    /// Where to write the plan
    #[arg(long, value_name = "FILE", requires = "organise")]
    plan: Option<PathBuf>,

    /// Carry out a plan
    #[arg(long, value_name = "FILE")]
    apply: Option<PathBuf>,

    /// Print the plan as JSON
    #[arg(long, requires = "organise")]
    json: bool,
}

pub(crate) fn run(args: InitArgs, settings: &Settings, ui: &mut Ui) -> Result<Exit, CommandError> {
    let workspace = memory::workspace(settings, ui)?;
    if args.organise {
        return plan(&workspace, &args, settings, ui);
    }
    if let Some(file) = &args.apply {
        return apply(&workspace, file, &args, settings, ui);
    }
    if let Some(about) = &args.workspace {
        let about = match about {
            Some(about) => about.clone(),
            None => name_of(&workspace),
        };
        let proposal = scaffold::plan(&workspace, &about, settings.now)?;
        let next = "Add subjects with `memory-forge domain add <name>`";
        return settle(&workspace, &proposal, next, &args, settings, ui);
    }
    let proposal = start::propose(&workspace)?;
    let exit = settle(&workspace, &proposal, NEXT, &args, settings, ui)?;
    mention_what_is_there(&workspace, ui);
    mention_notes(&workspace, ui);
    Ok(exit)
}

const NEXT: &str = "
Next:
  memory-forge save context <name>   Write something down, or use an editor
  memory-forge search \"<question>\"   Find it again
  memory-forge setup                 Connect your agents, so that they do both";

/// What a newcomer may not expect of this directory.
fn mention_what_is_there(workspace: &Workspace, ui: &mut Ui) {
    let there = |name: &&&str| workspace.root().join(name).exists();
    if let Some(name) = ["CLAUDE.md", "AGENTS.md", "GEMINI.md"].iter().find(there) {
        ui.note(&format!(
            "`{name}` stays as it is; `memory-forge audit` says what it costs at every start"
        ));
    }
    let in_git = workspace
        .root()
        .ancestors()
        .any(|it| it.join(".git").exists());
    if !in_git {
        ui.note("This is no git repository; `git init` makes one, which keeps what was written and shares it");
    }
}

/// So many notes without an order are worth a word.
const WORTH_A_WORD: usize = 3;

fn mention_notes(workspace: &Workspace, ui: &mut Ui) {
    let managed = Manifest::read(workspace).is_some_and(|it| it.mode() != Mode::Absent);
    let notes = organise::loose_notes(workspace);
    if !managed && notes >= WORTH_A_WORD {
        ui.note(&format!(
            "{notes} Markdown files lie outside of `knowledge/`; `memory-forge init --organise` proposes an order for them"
        ));
    }
}

/// Shows what would change, asks, and does it.
fn settle(
    workspace: &Workspace,
    proposal: &Proposal,
    next: &str,
    args: &InitArgs,
    settings: &Settings,
    ui: &mut Ui,
) -> Result<Exit, CommandError> {
    if proposal.is_empty() {
        ui.line("✓ Everything is in place")?;
        return Ok(Exit::Success);
    }
    for it in &proposal.moves {
        let (from, to) = (printable(it.from.as_str()), printable(it.to.as_str()));
        ui.line(&format!("Move {from} to {to}"))?;
    }
    show_diff(proposal, ui)?;
    if args.dry_run {
        ui.note("Nothing was changed (`--dry-run`)");
        return Ok(Exit::Success);
    }
    let place = workspace.root().display();
    if !ui.confirm(&format!("Prepare `{place}` like this?"), args.yes)? {
        ui.note("Nothing was changed");
        return Ok(Exit::Success);
    }
    proposal.apply(workspace, "Prepare the workspace", settings.now)?;
    for it in &proposal.moves {
        let (from, to) = (printable(it.from.as_str()), printable(it.to.as_str()));
        ui.line(&format!("✓ Moved {from} to {to}"))?;
    }
    for file in &proposal.files {
        let done = if file.before.is_some() {
            "Updated"
        } else {
            "Created"
        };
        ui.line(&format!("✓ {done} {}", printable(file.path.as_str())))?;
    }
    ui.note(next);
    Ok(Exit::Success)
}

fn plan(
    workspace: &Workspace,
    args: &InitArgs,
    settings: &Settings,
    ui: &mut Ui,
) -> Result<Exit, CommandError> {
    let reading = ui.busy("Reading notes");
    let plan = organise::look(workspace, settings.now);
    drop(reading);
    let file = args.plan.as_deref().unwrap_or(Path::new(organise::FILE));
    if args.json {
        ui.json(&as_json(&plan))?;
    }
    if args.json && args.plan.is_none() || args.dry_run {
        if !args.json {
            ui.print(&plan.render(organise::FILE))?;
            ui.note("Nothing was written (`--dry-run`)");
        }
        return Ok(Exit::Success);
    }
    if plan.is_empty() && plan.conflicts.is_empty() {
        ui.note("There is nothing to put in order");
        return Ok(Exit::Success);
    }
    let path = match args.plan {
        Some(_) => memory::path_in(workspace, settings, file)?,
        None => RelPath::new(organise::FILE).map_err(|e| CommandError::usage(e.to_string()))?,
    };
    let text = plan.render(path.as_str());
    workspace
        .change("Write a plan", settings.now, |change| {
            change.create(&path, text)
        })
        .map_err(|e| {
            CommandError::from(e)
                .hint("Apply that plan, delete it, or name another file with `--plan`")
        })?;
    if !args.json {
        ui.line(&format!(
            "✓ Wrote {}: {} domains, {} moves, {} stale files, {} links, {} conflicts",
            printable(path.as_str()),
            plan.domains.len(),
            plan.moves.len(),
            plan.archive.len(),
            plan.links.len(),
            plan.conflicts.len()
        ))?;
    }
    ui.note(&format!(
        "Look at it, change it as you like, then run `memory-forge init --apply {path}`"
    ));
    Ok(Exit::Success)
}

fn apply(
    workspace: &Workspace,
    file: &Path,
    args: &InitArgs,
    settings: &Settings,
    ui: &mut Ui,
) -> Result<Exit, CommandError> {
    let path = memory::path_in(workspace, settings, file)?;
    let plan = Plan::parse(&workspace.read_text(&path)?, path.as_str())?;
    let applied = organise::apply(workspace, &plan, settings.now)?;
    for remark in &applied.remarks {
        ui.warn(&printable(remark));
    }
    let next = "`memory-forge closets build` describes the notes; `memory-forge doctor --undo` takes all of it back";
    settle(workspace, &applied.proposal, next, args, settings, ui)
}

fn as_json(plan: &Plan) -> serde_json::Value {
    json!({
        "version": plan.version,
        "about": plan.about,
        "domains": plan.domains.iter().map(|it| json!({ "folder": it.folder, "name": it.name, "about": it.about })).collect::<Vec<_>>(),
        "moves": plan.moves.iter().map(|it| json!({ "from": it.from, "to": it.to, "why": it.why })).collect::<Vec<_>>(),
        "archive": plan.archive.iter().map(|it| json!({ "file": it.file, "reason": it.reason })).collect::<Vec<_>>(),
        "links": plan.links.iter().map(|it| json!({ "file": it.file, "line": it.line, "text": it.text, "to": it.to })).collect::<Vec<_>>(),
        "conflicts": plan.conflicts.iter().map(|it| json!({ "files": it.files, "why": it.why })).collect::<Vec<_>>(),
        "unsorted": plan.unsorted,
    })
}

fn name_of(workspace: &Workspace) -> String {
    let name = workspace.root().file_name();
    name.map_or_else(String::new, |it| it.to_string_lossy().into_owned())
}
