//! `preview`: how one file looks to a search. It changes nothing.

use std::path::PathBuf;

use clap::Args;
use forge_app::counts::count_noun;
use forge_app::documents;
use forge_app::routing::closets::ClosetField;

use crate::paths;
use crate::report::{CommandError, CommandExit};
use crate::settings::Settings;
use crate::ui::{Ui, escape_hidden, style};

/// Show how a file is cut into passages, and the problems in it
///
/// It also shows what the file's closet entry would say.
#[derive(Debug, Args)]
#[command(after_help = "\
Examples:
  memory-forge preview knowledge/refunds.md
  memory-forge preview knowledge/refunds.md --json")]
pub(crate) struct PreviewArgs {
    /// The file to look at
    pub(crate) file: PathBuf,

    /// Print the result as JSON
    #[arg(long)]
    pub(crate) json: bool,
}

pub(crate) fn run_preview(
    args: PreviewArgs,
    settings: &Settings,
    ui: &mut Ui,
) -> Result<CommandExit, CommandError> {
    let workspace = paths::open_workspace(settings, ui)?;
    let path = paths::resolve_document(&workspace, settings, &args.file.to_string_lossy())?;
    if !workspace.absolute_path(&path).exists() {
        let error = CommandError::failure(format!("There is no document `{path}`"));
        return Err(paths::suggest_document(error, &workspace, path.as_str()));
    }
    let preview = documents::preview_document(&workspace, &path)?;
    let (document, passages) = (&preview.document, &preview.passages);
    let (entry, role) = (&preview.entry, documents::role_name(preview.role));
    if args.json {
        ui.print_json(&serde_json::json!({
            "version": 1,
            "path": path.as_str(),
            "role": role,
            "title": document.title(),
            "passages": passages.iter().map(|p| serde_json::json!({
                "lines": [p.lines.0, p.lines.1], "headings": p.headings, "tokens": p.tokens, "text": p.text,
            })).collect::<Vec<_>>(),
            "closet": ClosetField::ALL.iter().map(|field| {
                (field.name(), serde_json::json!(entry.values(*field)))
            }).collect::<std::collections::BTreeMap<_, _>>(),
            "problems": document.problems.iter().map(|p| serde_json::json!({
                "line": p.line, "message": p.message,
            })).collect::<Vec<_>>(),
        }))?;
        return Ok(CommandExit::Success);
    }
    if !preview.is_indexed() {
        ui.note(&format!("`{path}` is not indexed: its role is {role}"));
    }
    for (i, p) in passages.iter().enumerate() {
        let (heading, faint) = (style::HEADING, style::FAINT);
        ui.print_line(&format!(
            "{heading}{}. {}{heading:#}  {faint}lines {}–{}, ~{} tokens{faint:#}",
            i + 1,
            escape_hidden(&p.headings.join(" > ")),
            p.lines.0,
            p.lines.1,
            p.tokens
        ))?;
        for line in p.text.lines() {
            ui.print_line(&format!("    {}", escape_hidden(line)))?;
        }
        ui.print_line("")?;
    }
    let heading = style::HEADING;
    ui.print_line(&format!("{heading}Closet entry{heading:#}"))?;
    for line in entry.render_lines() {
        ui.print_line(&format!("    {}", escape_hidden(&line)))?;
    }
    for problem in &document.problems {
        ui.warn(&format!(
            "`{path}` line {}: {}",
            problem.line, problem.message
        ));
    }
    ui.note(&format!(
        "{}; token counts are estimates",
        count_noun(passages.len(), "passage")
    ));
    Ok(CommandExit::Success)
}
