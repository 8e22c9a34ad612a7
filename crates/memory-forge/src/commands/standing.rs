//! The program's name alone, in a project: its status and the next step,
//! in at most ten lines.

use forge_app::standing;
use forge_app::tokens::format_thousands;
use forge_app::workspace::{FoundBy, RootHints, discover_root};

use crate::paths;
use crate::report::{CommandError, CommandExit};
use crate::settings::Settings;
use crate::ui::{Ui, cut_to_columns, escape_hidden};

/// Whether this is a place that can have a memory: elsewhere a newcomer is
/// shown how to begin.
pub(crate) fn is_in_project(settings: &Settings) -> bool {
    let Ok(cwd) = settings.cwd() else {
        return false;
    };
    let root = discover_root(&RootHints {
        flag: None,
        env_root: settings.env_root.as_deref(),
        claude_project_dir: settings.claude_project_dir.as_deref(),
        hook_cwd: None,
        cwd,
        home: settings.home.as_deref(),
    });
    root.is_ok_and(|root| root.found_by != FoundBy::Cwd)
}

pub(crate) fn run(settings: &Settings, ui: &mut Ui) -> Result<CommandExit, CommandError> {
    let workspace = paths::open_workspace(settings, ui)?;
    let looking = ui.show_busy("Looking");
    let standing = standing::WorkspaceStanding::gather(&settings.surroundings(&workspace));
    drop(looking);
    let width = settings.width;
    let mut line = |label: &str, text: &str| {
        ui.print_line(&cut_to_columns(
            &format!("{label:<LABEL_COLUMNS$}{}", escape_hidden(text)),
            width,
        ))
    };
    line("Memory", &workspace.root().display().to_string())?;
    line("Search", &searched(&standing))?;
    if standing.outside.files() > 0 {
        let text = unsearched(
            standing.outside.files(),
            &standing.outside.places(),
            width.saturating_sub(LABEL_COLUMNS),
        );
        line("", &text)?;
    }
    line("Loaded", &loaded(&standing))?;
    line("Agents", &agents(&standing))?;
    if let Ok(Some(state)) = &standing.status.state
        && let Some(next) = &state.next
    {
        line("Work", next)?;
    }
    let (command, why) = next_step(standing.next);
    ui.print_line("")?;
    ui.print_line(&format!("Next: {command}   {why}"))?;
    ui.note("`memory-forge help` lists the commands");
    Ok(CommandExit::Success)
}

/// Width of the labels before the lines of the screen.
const LABEL_COLUMNS: usize = 10;

/// States which documents are not searched. The places come last if they do not
/// fit, so that what is cut off is not the point of the line.
fn unsearched(files: usize, places: &str, width: usize) -> String {
    let documents = count(files, "document");
    let are = if files == 1 { "is" } else { "are" };
    let text = format!("{documents} in {places} {are} not searched");
    if text.chars().count() <= width {
        text
    } else {
        format!("{documents} {are} not searched: {places}")
    }
}

fn searched(standing: &standing::WorkspaceStanding) -> String {
    let mut text = count(standing.documents, "document");
    match &standing.status.index {
        Ok(Some(index)) => {
            text += &format!(" in {}", count(index.passages, "passage"));
            if index.lacks_vectors() {
                text += &format!(
                    ", {} with a vector so far",
                    format_thousands(index.embedded)
                );
            }
        }
        Ok(None) if standing.documents > 0 => text += "; the first search reads them",
        Ok(None) => {}
        Err(error) => text += &format!("; {error}"),
    }
    text
}

/// Describes the client that loads most at every start.
fn loaded(standing: &standing::WorkspaceStanding) -> String {
    let costs = &standing.status.cost.always_on;
    match costs.iter().max_by_key(|it| it.tokens) {
        Some(cost) if cost.files > 0 => format!(
            "{} {} tokens in {} at every start of {}",
            format_thousands(cost.tokens),
            cost.tokenizer.label(),
            count(cost.files, "file"),
            cost.client.title()
        ),
        _ => "nothing at a start".to_owned(),
    }
}

fn agents(standing: &standing::WorkspaceStanding) -> String {
    let mut names: Vec<&str> = standing
        .status
        .installed
        .iter()
        .map(|it| it.client.title())
        .collect();
    names.dedup();
    if names.is_empty() {
        "none connected".to_owned()
    } else {
        format!("{} connected", names.join(", "))
    }
}

fn next_step(next: standing::NextStep) -> (&'static str, &'static str) {
    use standing::NextStep;
    match next {
        NextStep::IncludeDocuments => ("memory-forge init", "Search the documents that are here"),
        NextStep::WriteFirstDocument => (
            "memory-forge save context <name>",
            "Write something down to be found",
        ),
        NextStep::ConnectAgents => ("memory-forge setup", "Connect your agents to it"),
        NextStep::ShortenInstructions => {
            ("memory-forge audit", "See what agents load at every start")
        }
        NextStep::Ask => ("memory-forge search \"<question>\"", "Ask what is known"),
    }
}

fn count(number: usize, what: &str) -> String {
    match number {
        1 => format!("1 {what}"),
        number => format!("{} {what}s", format_thousands(number)),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_line_about_documents_states_the_point_before_it_is_cut() {
        assert_eq!(
            unsearched(1, "docs/", 40),
            "1 document in docs/ is not searched"
        );
        assert_eq!(
            unsearched(58, "web/**/*.md, packages/**/*.md and 4 more places", 40),
            "58 documents are not searched: web/**/*.md, packages/**/*.md and 4 more places"
        );
    }
}
