//! Runs `export`: hands memory to others. Nothing in the workspace changes, and
//! outside of it only what is shown and agreed to.

use std::path::PathBuf;

use clap::{Args, Subcommand, ValueEnum};
use forge_app::counts::count_noun;
use forge_app::document::{self, Document, YamlValue as Yaml};
use forge_app::export;
use forge_app::import::native;
use forge_app::workspace::{FileRole, RelPath, Workspace};
use serde_json::{Map, Value, json};

use crate::paths;
use crate::report::{CommandError, CommandExit};
use crate::settings::Settings;
use crate::ui::{Ui, escape_hidden};

/// Hand memory on: as JSON, or to Claude Code's own memory
///
/// `json` and `jsonl` print every document with what is known of it. `native`
/// writes into Claude Code's folder of memory for this project, after a diff
/// and a question; files there that are not marked as ours are never touched.
#[derive(Debug, Args)]
#[command(
    arg_required_else_help = true,
    disable_help_subcommand = true,
    after_help = "\
Examples:
  memory-forge export jsonl > memory.jsonl
  memory-forge export json --role knowledge --role agent
  memory-forge export native knowledge/retry-policy.md --dry-run
  memory-forge export native --importance 8 --yes"
)]
pub(crate) struct ExportArgs {
    #[command(subcommand)]
    format: ExportCommand,
}

#[derive(Debug, Subcommand)]
enum ExportCommand {
    /// All documents as one JSON value
    Json(ExportDocumentsArgs),
    /// All documents, one JSON object a line
    Jsonl(ExportDocumentsArgs),
    /// Documents as topic files of Claude Code's own memory
    Native(ExportNativeArgs),
}

#[derive(Debug, Args)]
#[command(after_help = "\
Examples:
  memory-forge export jsonl --role state
  memory-forge export json --output backup/memory.json

Texts are exported as they are; where one seems to hold a secret, a warning
names the file.")]
struct ExportDocumentsArgs {
    /// Only documents of these roles; give it once for each
    #[arg(long, value_name = "ROLE")]
    role: Vec<ExportRoleChoice>,

    /// Write into this file of the workspace instead of standard output
    #[arg(long, short, value_name = "FILE")]
    output: Option<PathBuf>,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq, ValueEnum)]
enum ExportRoleChoice {
    Knowledge,
    Agent,
    State,
    Archive,
    Routing,
}

#[derive(Debug, Args)]
#[command(after_help = "\
Examples:
  memory-forge export native knowledge/retry-policy.md knowledge/deploys.md
  memory-forge export native --importance 8 --dry-run

Each document becomes a topic file with name, description and type, marked
`exported_by: memory-forge`, and a line in MEMORY.md points to it. Documents
that seem to hold a secret, and those that came from there, are left out.")]
struct ExportNativeArgs {
    /// The documents
    files: Vec<PathBuf>,

    /// Every document of knowledge whose importance is at least this
    #[arg(long, value_name = "1-10", value_parser = clap::value_parser!(u8).range(1..=10))]
    importance: Option<u8>,

    /// Show what would be written and write nothing
    #[arg(long)]
    dry_run: bool,

    /// Do not ask
    #[arg(long, short)]
    yes: bool,
}

pub(crate) fn run_export(
    args: ExportArgs,
    settings: &Settings,
    ui: &mut Ui,
) -> Result<CommandExit, CommandError> {
    let workspace = paths::open_workspace(settings, ui)?;
    match args.format {
        ExportCommand::Json(args) => print_documents(&workspace, &args, false, settings, ui),
        ExportCommand::Jsonl(args) => print_documents(&workspace, &args, true, settings, ui),
        ExportCommand::Native(args) => export_to_claude(&workspace, &args, settings, ui),
    }
}

fn print_documents(
    workspace: &Workspace,
    args: &ExportDocumentsArgs,
    lines: bool,
    settings: &Settings,
    ui: &mut Ui,
) -> Result<CommandExit, CommandError> {
    let mut written = String::new();
    let mut first = true;
    let mut put = |text: &str, ui: &mut Ui| match args.output {
        Some(_) => {
            written.push_str(text);
            Ok(())
        }
        None => ui.print(text),
    };
    if !lines {
        put("{\n  \"version\": 1,\n  \"documents\": [", ui)?;
    }
    let wanted = |role| {
        let role = export_role(role);
        role.is_some_and(|role| args.role.is_empty() || args.role.contains(&role))
    };
    export::export_documents(workspace, &wanted, &mut |found| {
        let found = match found {
            Ok(found) => found,
            Err((path, why)) => {
                ui.warn(&format!("`{path}` was not exported: {why}"));
                return Ok(());
            }
        };
        if let Some(rule) = found.secret {
            ui.warn(&format!(
                "`{}` seems to hold a secret ({rule}) and is exported as it is",
                found.path
            ));
        }
        let value = serde_json::to_string(&document_json(&found))
            .map_err(|error| CommandError::failure(format!("Cannot write JSON: {error}")))?;
        // The JSON means the same, and no longer drives a terminal that it is
        // printed to.
        let value = forge_app::quote::hidden::escape_hidden_json(&value);
        match (lines, std::mem::replace(&mut first, false)) {
            (true, _) => put(&format!("{value}\n"), ui),
            (false, true) => put(&format!("\n    {value}"), ui),
            (false, false) => put(&format!(",\n    {value}"), ui),
        }
    })?;
    if !lines {
        put("\n  ]\n}\n", ui)?;
    }
    if let Some(output) = &args.output {
        let path = paths::resolve_path(workspace, settings, output)?;
        export::write_export(workspace, &path, written, settings.now)?;
        ui.note(&format!("Written to {path}"));
    }
    Ok(CommandExit::Success)
}

fn export_role(role: FileRole) -> Option<ExportRoleChoice> {
    match role {
        FileRole::Knowledge => Some(ExportRoleChoice::Knowledge),
        FileRole::Agent => Some(ExportRoleChoice::Agent),
        FileRole::State => Some(ExportRoleChoice::State),
        FileRole::Archive => Some(ExportRoleChoice::Archive),
        FileRole::Routing => Some(ExportRoleChoice::Routing),
        FileRole::Derived | FileRole::Autoload | FileRole::Untracked => None,
    }
}

fn document_json(found: &export::ExportedDocument) -> Value {
    let document = &found.document;
    let role = export_role(found.role).and_then(|it| it.to_possible_value());
    json!({
        "path": found.path.as_str(),
        "role": role.map(|it| it.get_name().to_owned()),
        "title": document.title(),
        "date": document::document_date(document, found.path.stem()).map(|date| date.to_string()),
        "sha256": found.hash,
        "frontMatter": front_matter_json(document),
        "text": document.text,
    })
}

fn front_matter_json(document: &Document) -> Value {
    let Some(front) = &document.front_matter else {
        return json!({});
    };
    map_json(&front.entries)
}

fn map_json(entries: &[(String, Yaml)]) -> Value {
    let fields: Map<String, Value> = entries
        .iter()
        .map(|(key, value)| (key.clone(), yaml_json(value)))
        .collect();
    Value::Object(fields)
}

fn yaml_json(value: &Yaml) -> Value {
    match value {
        Yaml::Null => Value::Null,
        Yaml::Bool(value) => json!(value),
        Yaml::Int(value) => json!(value),
        Yaml::Float(value) => json!(value),
        Yaml::Text(value) => json!(value),
        Yaml::List(values) => values.iter().map(yaml_json).collect(),
        Yaml::Map(entries) => map_json(entries),
    }
}

fn export_to_claude(
    workspace: &Workspace,
    args: &ExportNativeArgs,
    settings: &Settings,
    ui: &mut Ui,
) -> Result<CommandExit, CommandError> {
    let documents = select_documents(workspace, args, settings)?;
    let claude = super::import::claude_home(settings)?;
    let folder = native::claude_memory_folder(workspace, &claude);
    let base = match (&settings.claude_config_dir, &settings.home) {
        (Some(named), _) => named.clone(),
        (None, Some(home)) => home.clone(),
        (None, None) => claude.clone(),
    };
    let plan = export::plan_claude_export(workspace, &documents, &base, &folder)?;
    for (what, why) in &plan.skipped {
        ui.warn(&format!(
            "`{}` was left out: {}",
            escape_hidden(what),
            escape_hidden(why)
        ));
    }
    if plan.changes.is_empty() {
        ui.print_line(&format!(
            "✓ Nothing to write: {} files are as they should be",
            plan.unchanged
        ))?;
        return Ok(CommandExit::Success);
    }
    let text = |bytes: &Option<Vec<u8>>| {
        let bytes = bytes.as_deref().unwrap_or_default();
        String::from_utf8_lossy(bytes).into_owned()
    };
    for change in &plan.changes {
        let shown = change.file.path.display().to_string();
        ui.print_diff(&shown, &text(&change.before), &text(&change.after))?;
    }
    if args.dry_run {
        ui.note("Nothing was written (`--dry-run`)");
        return Ok(CommandExit::Success);
    }
    let question = format!(
        "Write {} into `{}`?",
        count_noun(plan.changes.len(), "file"),
        folder.display()
    );
    if !ui.confirm(&question, args.yes)? {
        ui.note("Nothing was written");
        return Ok(CommandExit::Success);
    }
    plan.apply()?;
    ui.print_line(&format!(
        "✓ Wrote {}",
        count_noun(plan.changes.len(), "file")
    ))?;
    Ok(CommandExit::Success)
}

/// Returns the documents that were named, and those that are important enough.
fn select_documents(
    workspace: &Workspace,
    args: &ExportNativeArgs,
    settings: &Settings,
) -> Result<Vec<RelPath>, CommandError> {
    if args.files.is_empty() && args.importance.is_none() {
        return Err(CommandError::usage("No document was named")
            .hint("Name documents, or pass `--importance 8` for those that matter most"));
    }
    let mut chosen = Vec::new();
    for file in &args.files {
        let path = paths::resolve_document(workspace, settings, &file.to_string_lossy())?;
        // Names the file in the error if it is missing.
        workspace.read_text(&path)?;
        chosen.push(path);
    }
    if let Some(least) = args.importance {
        chosen.extend(export::find_important_documents(workspace, least));
    }
    chosen.sort();
    chosen.dedup();
    Ok(chosen)
}
