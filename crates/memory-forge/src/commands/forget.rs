//! `forget`: takes documents out of searches until `restore` brings them
//! back, and corrects facts so that they are not learnt again. It never touches
//! the files themselves.

use clap::Args;
use forge_app::forget;

use crate::library;
use crate::paths;
use crate::report::{CommandError, CommandExit};
use crate::settings::Settings;
use crate::ui::{Ui, escape_hidden};

/// Take documents out of searches, or correct a fact
///
/// Name the documents, or let `--max-files` and `--max-age` choose those that
/// matter least. Importance 8 and above is never chosen. `restore` lifts it,
/// `stats` shows it, and `index --force` does not change it.
///
/// `--fact` marks a statement as wrong, in any spelling. Texts that
/// repeat it are not saved any more, and what a search finds of it carries the
/// correction and stands last.
#[derive(Debug, Args)]
#[command(after_help = "\
Examples:
  memory-forge forget knowledge/old-billing.md
  memory-forge forget --max-age 180 --dry-run     Not found by a search for half a year
  memory-forge forget --max-files 500 --yes       Keep the 500 that matter most
  memory-forge forget --fact 'The port is 8080' --instead 'The port is 9090' --reason moved")]
pub(crate) struct ForgetArgs {
    /// Documents to forget
    #[arg(value_name = "PATH")]
    pub(crate) paths: Vec<String>,

    /// Keep at most this many documents
    #[arg(long, value_name = "N")]
    pub(crate) max_files: Option<usize>,

    /// Forget what no search has found for this many days
    #[arg(long, value_name = "DAYS")]
    pub(crate) max_age: Option<u32>,

    /// A statement that is wrong
    #[arg(long, value_name = "TEXT", conflicts_with_all = ["paths", "max_files", "max_age"])]
    pub(crate) fact: Option<String>,

    /// What holds instead of the fact
    #[arg(long, value_name = "TEXT", requires = "fact")]
    pub(crate) instead: Option<String>,

    /// Why, in a few words
    #[arg(long, value_name = "TEXT")]
    pub(crate) reason: Option<String>,

    /// Show what would be forgotten and change nothing
    #[arg(long)]
    pub(crate) dry_run: bool,

    /// Do not ask
    #[arg(long, short)]
    pub(crate) yes: bool,

    /// Print the result as JSON
    #[arg(long)]
    pub(crate) json: bool,
}

pub(crate) fn run_forget(
    args: ForgetArgs,
    settings: &Settings,
    ui: &mut Ui,
) -> Result<CommandExit, CommandError> {
    if let Some(fact) = &args.fact {
        return correct_fact(fact, &args, settings, ui);
    }
    if args.paths.is_empty() && args.max_files.is_none() && args.max_age.is_none() {
        return Err(CommandError::usage(
            "Specify at least one of a path, `--max-files`, `--max-age` or `--fact`",
        )
        .hint("Run `memory-forge forget --help` to see its options"));
    }
    let workspace = paths::open_workspace(settings, ui)?;
    let memory = library::open_refreshed(&workspace, settings, ui)?;
    let index = memory.index().expect("it was just brought up to date");
    let wanted = forget::ForgetRequest {
        paths: args
            .paths
            .iter()
            .map(|path| paths::resolve_document(&workspace, settings, path))
            .collect::<Result<_, _>>()?,
        reason: args.reason.clone(),
        max_files: args.max_files,
        max_age_days: args.max_age,
    };
    let plan = forget::plan_forgetting(&workspace, index, &wanted, settings.now);
    let plan = plan.map_err(|error| match &error {
        forget::ForgetError::Missing { path } => {
            let missing = path.to_string();
            paths::suggest_document(error.into(), &workspace, &missing)
        }
        _ => error.into(),
    })?;
    // The list is about to change, so the open index is given up first.
    drop(memory);
    let chosen = &plan.chosen;
    if plan.is_empty() {
        return report_nothing(&args, ui);
    }
    if !args.json {
        for one in chosen {
            ui.print_line(&describe_choice(one))?;
        }
    }
    let mut change = None;
    if args.dry_run {
        ui.note("Nothing was changed (`--dry-run`)");
    } else {
        let question = format!("Forget {}?", document_count(chosen.len()));
        if !ui.confirm(&question, args.yes)? {
            ui.note("Nothing was changed");
            return Ok(CommandExit::Success);
        }
        change = plan.apply(&workspace, settings.now)?.id;
    }
    if args.json {
        ui.print_json(&forgotten_json(chosen, change.as_deref()))?;
    } else if change.is_some() {
        let count = document_count(chosen.len());
        ui.print_line(&format!(
            "✓ Forgot {count}; listed in {}",
            forget::RETRACTION_LIST
        ))?;
        ui.note("The files are untouched; `memory-forge restore` brings them back");
    }
    Ok(CommandExit::Success)
}

/// Adds a fact to the list of those that are wrong.
fn correct_fact(
    fact: &str,
    args: &ForgetArgs,
    settings: &Settings,
    ui: &mut Ui,
) -> Result<CommandExit, CommandError> {
    let workspace = paths::open_workspace(settings, ui)?;
    let new = forget::NewCorrection {
        fact,
        instead: args.instead.as_deref(),
        reason: args.reason.as_deref(),
    };
    if args.dry_run {
        let known = forget::find_known_corrections(&workspace, fact)?;
        if args.json {
            let known: Vec<_> = known.iter().map(forget::Correction::to_json).collect();
            ui.print_json(&serde_json::json!({ "version": 1, "changed": false, "known": known }))?;
        }
        for one in &known {
            ui.note(&escape_hidden(&one.describe()));
        }
        ui.note("Nothing was changed (`--dry-run`)");
        return Ok(CommandExit::Success);
    }
    let done = forget::correct_fact(&workspace, &new, settings.now)?;
    if args.json {
        ui.print_json(&serde_json::json!({
            "version": 1, "changed": done.receipt.id.is_some(), "change": done.receipt.id,
            "correction": done.correction.to_json(),
            "before": done.before.as_ref().map(forget::Correction::to_json),
        }))?;
        return Ok(CommandExit::Success);
    }
    let described = done.correction.describe();
    let described = escape_hidden(&described);
    match done.receipt.id {
        Some(_) => ui.print_line(&format!(
            "✓ {described}; listed in {}",
            forget::RETRACTION_LIST
        ))?,
        None => ui.print_line(&format!("It is corrected already. {described}"))?,
    }
    ui.note("Files that contain it are untouched; `memory-forge restore --fact` withdraws the correction");
    Ok(CommandExit::Success)
}

/// Reports that nothing was chosen.
fn report_nothing(args: &ForgetArgs, ui: &mut Ui) -> Result<CommandExit, CommandError> {
    if args.json {
        ui.print_json(&forgotten_json(&[], None))?;
    } else if args.paths.is_empty() {
        ui.print_line("No stale documents found to forget.")?;
    } else {
        ui.print_line("Already forgotten.")?;
    }
    Ok(CommandExit::Success)
}

fn describe_choice(one: &forget::ForgetChoice) -> String {
    let last = match &one.last {
        Some(last) => {
            let day = last.get(..10).unwrap_or(last);
            let times = if one.count == 1 { "time" } else { "times" };
            format!("found {} {times}, last {day}", one.count)
        }
        None => "never found".to_owned(),
    };
    format!(
        "{} (importance {}, {last}): {}",
        escape_hidden(&one.path),
        one.importance,
        escape_hidden(&one.reason)
    )
}

fn document_count(count: usize) -> String {
    format!("{count} document{}", if count == 1 { "" } else { "s" })
}

fn forgotten_json(chosen: &[forget::ForgetChoice], change: Option<&str>) -> serde_json::Value {
    let forgotten: Vec<_> = chosen
        .iter()
        .map(|one| {
            serde_json::json!({
                "path": one.path, "importance": one.importance, "count": one.count,
                "last": one.last, "reason": one.reason,
            })
        })
        .collect();
    serde_json::json!({
        "version": 1, "changed": change.is_some(), "change": change, "forgotten": forgotten,
    })
}
