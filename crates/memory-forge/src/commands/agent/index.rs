//! `agent index`: one pointer for each topic, within the caps; and a look at
//! the index that Claude Code keeps for itself.

use clap::Args;
use forge_app::agents::claude::ClaudeIndexReport;
use forge_app::agents::pointers::{self, MAX_INDEX_BYTES, MAX_INDEX_LINES, PointerReport};
use forge_app::check::{CheckView, WorkspaceSurvey};
use forge_app::workspace::Workspace;
use serde_json::{Value, json};

use super::AgentSelector;
use crate::report::{CommandError, CommandExit};
use crate::settings::Settings;
use crate::ui::{Ui, escape_hidden};

/// Bring `MEMORY.md` up to date, or check it
///
/// Every topic gets a line `- [Title](file.md) — description`; new ones stand
/// first. What you wrote stays as it is, in its order. An index never has more
/// than 200 lines or 25,000 bytes: the pointers that are worth least, by age,
/// use and importance, move to `MEMORY-more.md` and come back when there is
/// room. Private topics (`*.local.md`) are listed in `MEMORY.local.md`.
#[derive(Debug, Args)]
#[command(after_help = "\
Examples:
  memory-forge agent index                      All agents
  memory-forge agent index --agent knowledge    An index of `knowledge/`
  memory-forge agent index --fix                Drop pointers to files that are gone
  memory-forge agent index --check              Change nothing; Claude Code's own too")]
pub(crate) struct AgentIndexArgs {
    #[command(flatten)]
    whose: AgentSelector,

    /// Take out pointers to files that are gone, also those written by hand
    #[arg(long)]
    fix: bool,

    /// Change nothing; exit with 1 when something needs attention
    #[arg(long, conflicts_with = "fix")]
    check: bool,

    /// Print the result as JSON
    #[arg(long)]
    json: bool,
}

pub(super) fn run_agent_index(
    args: &AgentIndexArgs,
    workspace: &Workspace,
    settings: &Settings,
    ui: &mut Ui,
) -> Result<CommandExit, CommandError> {
    let homes = args.whose.select_all(workspace)?;
    let mut survey = WorkspaceSurvey::from_workspace(workspace, settings.now)
        .with_surroundings(settings.surroundings(workspace));
    let mut all = Vec::new();
    let mut own = None;
    let mut is_fine = true;
    if args.check {
        survey.check_memories(&homes)?;
        is_fine = !CheckView::Agents
            .run(&survey)
            .has_failure(CheckView::Agents);
        let checked = survey.agent_memories().unwrap_or_default();
        all.extend(
            checked
                .iter()
                .map(|(home, it)| (home.to_string(), it.clone())),
        );
        own = survey.claude_memory();
    } else {
        for home in &homes {
            let done = pointers::update_pointer_indexes(workspace, home, args.fix, settings.now)?;
            all.push((home.to_string(), done));
        }
    }
    if args.json {
        ui.print_json(&json!({
            "version": 1,
            "memories": all.iter().map(|(name, done)| index_json(name, done)).collect::<Vec<_>>(),
            "claude": own.map(claude_index_json),
            "checked": args.check,
        }))?;
    } else {
        for (name, done) in &all {
            show_index(name, done, args, ui)?;
        }
        if let Some(own) = own {
            show_claude_index(own, ui)?;
        }
        if all.is_empty() && own.is_none() {
            ui.note("No agent has a memory here yet; `memory-forge agent remember` begins one");
        }
    }
    Ok(if !is_fine {
        CommandExit::Failure
    } else {
        CommandExit::Success
    })
}

fn show_index(
    name: &str,
    done: &PointerReport,
    args: &AgentIndexArgs,
    ui: &mut Ui,
) -> Result<(), CommandError> {
    let would = if args.check { "would be " } else { "" };
    ui.print_line(&format!("{}: {} topics", escape_hidden(name), done.topics))?;
    for file in &done.files {
        let more = match file.more {
            0 => String::new(),
            more => format!(", {more} more on further pages"),
        };
        let state = if done.changed.contains(&file.path) {
            format!(" ({would}written)")
        } else {
            String::new()
        };
        ui.print_line(&format!(
            "  {}: {} of {MAX_INDEX_LINES} lines, {} of {MAX_INDEX_BYTES} bytes{more}{state}",
            escape_hidden(file.path.as_str()),
            file.lines,
            file.bytes
        ))?;
        if file.was_too_long && args.check {
            ui.print_line("  It is longer than what clients load")?;
        }
    }
    const MAX_SHOWN_PATHS: usize = 10;
    for path in done.added.iter().take(MAX_SHOWN_PATHS) {
        ui.print_line(&format!("  + {}", escape_hidden(path.as_str())))?;
    }
    if done.added.len() > MAX_SHOWN_PATHS {
        ui.print_line(&format!(
            "  + and {} more",
            done.added.len() - MAX_SHOWN_PATHS
        ))?;
    }
    for lost in done.lost.iter().take(MAX_SHOWN_PATHS) {
        let described = format!(
            "`{}` line {}: `{}` is not there, or others lack it",
            lost.file, lost.line, lost.target
        );
        if args.fix {
            ui.print_line(&format!("  - {}", escape_hidden(&described)))?
        } else {
            ui.warn(&escape_hidden(&described))
        }
    }
    if done.lost.len() > MAX_SHOWN_PATHS {
        ui.warn(&format!("and {} more", done.lost.len() - MAX_SHOWN_PATHS));
    }
    if !done.lost.is_empty() && !args.fix {
        ui.note("`memory-forge agent index --fix` removes such pointers");
    }
    for problem in &done.problems {
        ui.warn(&escape_hidden(problem));
    }
    Ok(())
}

fn show_claude_index(own: &ClaudeIndexReport, ui: &mut Ui) -> Result<(), CommandError> {
    ui.print_line(&format!(
        "Claude Code's own: {}\n  {} of {MAX_INDEX_LINES} lines, {} of {MAX_INDEX_BYTES} bytes",
        escape_hidden(&own.path.display().to_string()),
        own.lines,
        own.bytes
    ))?;
    if own.is_too_long() {
        ui.warn("Claude Code reads only its first 200 lines and 25,000 characters");
    }
    for (line, target) in &own.lost {
        ui.warn(&escape_hidden(&format!(
            "line {line}: `{target}` is not there"
        )));
    }
    for name in &own.unlisted {
        ui.warn(&escape_hidden(&format!("nothing points to `{name}`")));
    }
    Ok(())
}

fn index_json(name: &str, done: &PointerReport) -> Value {
    json!({
        "agent": name,
        "topics": done.topics,
        "files": done.files.iter().map(|file| json!({
            "path": file.path.as_str(), "lines": file.lines, "bytes": file.bytes,
            "more": file.more, "wasTooLong": file.was_too_long,
        })).collect::<Vec<_>>(),
        "changed": done.changed.iter().map(|it| it.as_str()).collect::<Vec<_>>(),
        "added": done.added.iter().map(|it| it.as_str()).collect::<Vec<_>>(),
        "lost": done.lost.iter().map(|it| json!({
            "file": it.file.as_str(), "line": it.line, "target": it.target,
        })).collect::<Vec<_>>(),
        "problems": done.problems,
        "change": done.receipt.as_ref().and_then(|it| it.id.clone()),
    })
}

fn claude_index_json(own: &ClaudeIndexReport) -> Value {
    json!({
        "path": own.path.display().to_string(),
        "lines": own.lines,
        "bytes": own.bytes,
        "tooLong": own.is_too_long(),
        "lost": own.lost.iter().map(|(line, target)| json!({ "line": line, "target": target }))
            .collect::<Vec<_>>(),
        "unlisted": own.unlisted,
    })
}
