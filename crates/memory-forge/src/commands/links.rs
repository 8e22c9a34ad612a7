//! `links`: checks the links between files, finds those that are missing, and
//! keeps them right when a file moves. Only `apply` and `rename` change files,
//! after a diff and a yes.

use std::path::PathBuf;

use clap::{Args, Subcommand};
use forge_app::check::{CheckView, WorkspaceSurvey};
use forge_app::counts::count_noun;
use forge_app::links::{self, BrokenLink, LinkReport, LinkTrouble, NoteMention, NoteVault};
use forge_app::workspace::{RelPath, Workspace};
use serde_json::{Value, json};

use super::doctor::show_diff;
use crate::paths;
use crate::report::{CommandError, CommandExit};
use crate::settings::Settings;
use crate::ui::{Ui, escape_hidden, style};

/// Check, find and repair the links between files
///
/// Links mean what they mean in Obsidian: `[[note]]`, `[[folder/note#heading]]`,
/// `[[note#^block|label]]`, `![[image.png]]`, and Markdown's own links to files
/// of the workspace.
#[derive(Debug, Args)]
#[command(
    arg_required_else_help = true,
    disable_help_subcommand = true,
    after_help = "\
Examples:
  memory-forge links check                       Which links lead nowhere
  memory-forge links suggest --files notes/a.md  Which notes it speaks of without a link
  memory-forge links apply --dry-run             Show those links as a diff
  memory-forge links rename old-name new-name    Move a note, links and all"
)]
pub(crate) struct LinksArgs {
    #[command(subcommand)]
    command: LinksCommand,
}

#[derive(Debug, Subcommand)]
enum LinksCommand {
    /// List links that lead nowhere; exits with 1 when there are any
    #[command(after_help = "\
Examples:
  memory-forge links check
  memory-forge links check --json")]
    Check(LinksCheckArgs),
    /// List plain-text mentions of notes
    #[command(after_help = "\
Examples:
  memory-forge links suggest")]
    Suggest(LinksSuggestArgs),
    /// Turn mentions of exact file names into links
    Apply(LinksApplyArgs),
    /// Move a file and rewrite every link to it
    Rename(LinksRenameArgs),
}

#[derive(Debug, Args)]
struct LinksCheckArgs {
    /// Report on these files only
    #[arg(long, value_name = "FILE", num_args = 1..)]
    files: Vec<PathBuf>,

    /// Leave out this folder; repeatable
    #[arg(long, value_name = "DIR")]
    skip: Vec<String>,

    /// Show at most this many lines of each kind
    #[arg(long, value_name = "N", default_value_t = 200)]
    limit: usize,

    /// Print the result as JSON, without a limit
    #[arg(long)]
    json: bool,
}

#[derive(Debug, Args)]
struct LinksSuggestArgs {
    /// Look in these files only
    #[arg(long, value_name = "FILE", num_args = 1..)]
    files: Vec<PathBuf>,

    /// Show at most this many
    #[arg(long, value_name = "N", default_value_t = 200)]
    limit: usize,

    /// Print the result as JSON, without a limit
    #[arg(long)]
    json: bool,
}

#[derive(Debug, Args)]
#[command(after_help = "\
Examples:
  memory-forge links apply                 File names that stand there word for word
  memory-forge links apply --all --dry-run  Titles, aliases and other spellings too")]
struct LinksApplyArgs {
    /// Change these files only
    #[arg(long, value_name = "FILE", num_args = 1..)]
    files: Vec<PathBuf>,

    /// Link titles, aliases and other spellings too
    #[arg(long)]
    all: bool,

    /// Show what would change and change nothing
    #[arg(long)]
    dry_run: bool,

    /// Do not ask
    #[arg(long, short)]
    yes: bool,

    /// Print the result as JSON
    #[arg(long)]
    json: bool,
}

#[derive(Debug, Args)]
#[command(after_help = "\
Examples:
  memory-forge links rename plan roadmap                The note stays in its folder
  memory-forge links rename docs/plan.md archive/       It keeps its name
  memory-forge links rename docs/a.png media/b.png --dry-run")]
struct LinksRenameArgs {
    /// The file, by its path or by the name that links use
    old: String,

    /// Its new name, its new path, or a folder
    new: String,

    /// Show what would change and change nothing
    #[arg(long)]
    dry_run: bool,

    /// Do not ask
    #[arg(long, short)]
    yes: bool,

    /// Print the result as JSON
    #[arg(long)]
    json: bool,
}

pub(crate) fn run_links(
    args: LinksArgs,
    settings: &Settings,
    ui: &mut Ui,
) -> Result<CommandExit, CommandError> {
    let workspace = paths::open_workspace(settings, ui)?;
    // `check` reads the vault through its survey, so that it is read once.
    let args = match args.command {
        LinksCommand::Check(args) => return check_all_links(&workspace, args, settings, ui),
        other => LinksArgs { command: other },
    };
    let vault = read_vault(&workspace, ui);
    match args.command {
        LinksCommand::Check(_) => unreachable!("answered above"),
        LinksCommand::Suggest(args) => suggest_links(&workspace, &vault, args, settings, ui),
        LinksCommand::Apply(args) => apply_links(&workspace, &vault, args, settings, ui),
        LinksCommand::Rename(args) => rename_file(&workspace, &vault, args, settings, ui),
    }
}

/// Reads the vault, and warns of files that could not be read.
pub(super) fn read_vault(workspace: &Workspace, ui: &mut Ui) -> NoteVault {
    let reading = ui.show_busy("Reading notes");
    let vault = NoteVault::read(workspace);
    drop(reading);
    warn_of_problems(&vault, ui);
    vault
}

/// Reads the vault of a survey, with the same warnings.
pub(super) fn read_survey_vault(survey: &WorkspaceSurvey<'_>, ui: &mut Ui) {
    let reading = ui.show_busy("Reading notes");
    let vault = survey.vault();
    drop(reading);
    warn_of_problems(vault, ui);
}

fn warn_of_problems(vault: &NoteVault, ui: &mut Ui) {
    for line in vault.problem_lines() {
        ui.warn(&escape_hidden(&line));
    }
}

/// Resolves the files of `--files`, each of which must exist.
fn resolve_scope(
    workspace: &Workspace,
    vault: &NoteVault,
    settings: &Settings,
    files: &[PathBuf],
) -> Result<Vec<RelPath>, CommandError> {
    let mut paths = Vec::new();
    for file in files {
        let path = paths::resolve_path(workspace, settings, file)?;
        if vault.position_of(&path).is_none() {
            return Err(CommandError::usage(format!("There is no file `{path}`")));
        }
        paths.push(path);
    }
    Ok(paths)
}

fn check_all_links(
    workspace: &Workspace,
    args: LinksCheckArgs,
    settings: &Settings,
    ui: &mut Ui,
) -> Result<CommandExit, CommandError> {
    let mut survey = WorkspaceSurvey::from_workspace(workspace, settings.now);
    read_survey_vault(&survey, ui);
    let only = resolve_scope(workspace, survey.vault(), settings, &args.files)?;
    survey.check_links(|report| {
        if !only.is_empty() {
            report.retain_files(&only);
        }
        for folder in &args.skip {
            let folder = folder.trim_end_matches('/');
            report.troubles.retain(|it| !it.path.starts_with(folder));
            report.closets.retain(|it| !it.path.starts_with(folder));
        }
    });
    let result = CheckView::Links.run(&survey);
    if args.json {
        ui.print_json(&check_json(survey.link_report()))?;
    } else {
        show_report(survey.link_report(), args.limit, ui)?;
    }
    Ok(if result.has_failure(CheckView::Links) {
        CommandExit::Failure
    } else {
        CommandExit::Success
    })
}

fn show_report(report: &LinkReport, limit: usize, ui: &mut Ui) -> Result<(), CommandError> {
    let (wiki, plain): (Vec<&BrokenLink>, Vec<&BrokenLink>) =
        report.missing_targets().partition(|it| is_wikilink(it));
    let places: Vec<&BrokenLink> = report.missing_places().collect();
    let ambiguous: Vec<&BrokenLink> = report.ambiguous_links().collect();
    show_section("BROKEN WIKILINKS", &wiki, limit, ui)?;
    show_section("BROKEN MARKDOWN LINKS", &plain, limit, ui)?;
    show_section("MISSING HEADINGS AND BLOCKS", &places, limit, ui)?;
    show_section("AMBIGUOUS LINKS", &ambiguous, limit, ui)?;
    let closets = &report.closets;
    if !closets.is_empty() {
        ui.print_line(&format!("CLOSETS ISSUES ({} found):", closets.len()))?;
        for issue in closets.iter().take(limit) {
            let line = issue.line.map_or(String::new(), |line| format!(":{line}"));
            let path = escape_hidden(issue.path.as_str());
            ui.print_line(&format!(
                "  {path}{line}: {}",
                escape_hidden(&issue.message)
            ))?;
        }
        note_more_lines(closets.len(), limit, ui)?;
    }
    if wiki.is_empty() && plain.is_empty() {
        let warnings = !places.is_empty() || !ambiguous.is_empty();
        ui.print_line(match (warnings, closets.is_empty()) {
            (false, true) => "CLEAN - zero broken wikilinks, closets valid",
            (false, false) => "CLEAN wikilinks (closets issues above are warnings)",
            (true, _) => "CLEAN wikilinks (what is above are warnings)",
        })?;
    }
    let (links, notes) = (report.links, report.notes);
    ui.note(&format!("{links} links in {notes} notes were checked"));
    Ok(())
}

fn show_section(
    title: &str,
    found: &[&BrokenLink],
    limit: usize,
    ui: &mut Ui,
) -> Result<(), CommandError> {
    if found.is_empty() {
        return Ok(());
    }
    ui.print_line(&format!("{title} ({} found):", found.len()))?;
    let path_style = style::PATH;
    for one in found.iter().take(limit) {
        let path = escape_hidden(one.path.as_str());
        let link = escape_hidden(&one.link);
        let link = if is_wikilink(one) {
            format!("[[{link}]]")
        } else {
            format!("({link})")
        };
        let more = match &one.trouble {
            LinkTrouble::Missing {
                nearest: Some(name),
            } => format!(" -> did you mean [[{}]]?", escape_hidden(name)),
            LinkTrouble::Ambiguous(files) => {
                let files: Vec<_> = files
                    .iter()
                    .take(3)
                    .map(|it| escape_hidden(it.as_str()))
                    .collect();
                format!(" may be {}", files.join(" or "))
            }
            LinkTrouble::Missing { nearest: None } | LinkTrouble::NoSuchPlace => String::new(),
        };
        let line = one.line;
        ui.print_line(&format!(
            "  {path_style}{path}:{line}{path_style:#}: {link}{more}"
        ))?;
    }
    note_more_lines(found.len(), limit, ui)
}

fn note_more_lines(count: usize, limit: usize, ui: &mut Ui) -> Result<(), CommandError> {
    if count > limit {
        let more = count - limit;
        ui.print_line(&format!("  … and {more} more; `--json` lists all of them"))?;
    }
    Ok(())
}

fn is_wikilink(broken: &BrokenLink) -> bool {
    use forge_app::document::LinkKind;
    matches!(broken.kind, LinkKind::Wiki | LinkKind::Embed)
}

fn check_json(report: &LinkReport) -> Value {
    let one = |it: &BrokenLink| {
        let (kind, nearest, files) = match &it.trouble {
            LinkTrouble::Missing { nearest } => ("missing", nearest.clone(), Vec::new()),
            LinkTrouble::NoSuchPlace => ("no-such-place", None, Vec::new()),
            LinkTrouble::Ambiguous(files) => {
                let files = files.iter().map(|it| it.as_str()).collect();
                ("ambiguous", None, files)
            }
        };
        json!({
            "path": it.path.as_str(), "line": it.line, "link": it.link,
            "form": if is_wikilink(it) { "wikilink" } else { "markdown" },
            "trouble": kind, "nearest": nearest, "files": files,
        })
    };
    let closets = report
        .closets
        .iter()
        .map(|it| json!({ "path": it.path.as_str(), "line": it.line, "message": it.message }));
    json!({
        "version": 1,
        "broken": report.missing_targets().count(),
        "notes": report.notes, "links": report.links,
        "troubles": report.troubles.iter().map(one).collect::<Vec<_>>(),
        "closets": closets.collect::<Vec<_>>(),
    })
}

fn suggest_links(
    workspace: &Workspace,
    vault: &NoteVault,
    args: LinksSuggestArgs,
    settings: &Settings,
    ui: &mut Ui,
) -> Result<CommandExit, CommandError> {
    let only = resolve_scope(workspace, vault, settings, &args.files)?;
    let looking = ui.show_busy("Looking for mentions");
    let found = links::suggest_mentions(workspace, vault, &only);
    drop(looking);
    if args.json {
        let mentions: Vec<Value> = found.iter().map(mention_json).collect();
        ui.print_json(&json!({ "version": 1, "mentions": mentions }))?;
    } else if found.is_empty() {
        ui.print_line("No plain text file references found - all references use wikilinks")?;
    } else {
        show_mentions(&found, args.limit, ui)?;
    }
    Ok(CommandExit::Success)
}

fn show_mentions(found: &[NoteMention], limit: usize, ui: &mut Ui) -> Result<(), CommandError> {
    ui.print_line(&format!("PLAIN TEXT REFERENCES ({} found):", found.len()))?;
    for one in found.iter().take(limit) {
        let (path, text) = (escape_hidden(one.path.as_str()), escape_hidden(&one.text));
        let name = escape_hidden(&one.name);
        ui.print_line(&format!("  {path}:{}: \"{text}\" -> [[{name}]]", one.line))?;
    }
    note_more_lines(found.len(), limit, ui)
}

fn mention_json(one: &NoteMention) -> Value {
    json!({
        "path": one.path.as_str(), "line": one.line, "text": one.text,
        "note": one.note.as_str(), "link": one.render_link(), "exact": one.exact,
    })
}

fn apply_links(
    workspace: &Workspace,
    vault: &NoteVault,
    args: LinksApplyArgs,
    settings: &Settings,
    ui: &mut Ui,
) -> Result<CommandExit, CommandError> {
    let only = resolve_scope(workspace, vault, settings, &args.files)?;
    let looking = ui.show_busy("Looking for mentions");
    let applied = links::link_mentions(workspace, vault, &only, args.all);
    drop(looking);
    let mut change = None;
    if !applied.proposal.is_empty() {
        if !args.json {
            show_diff(&applied.proposal, ui)?;
        }
        let question = format!("Add {}?", count_noun(applied.linked, "link"));
        if args.dry_run {
            ui.note("Nothing was changed (`--dry-run`)");
        } else if ui.confirm(&question, args.yes)? {
            let what = "Link mentions by `links apply`";
            change = applied.proposal.apply(workspace, what, settings.now)?.id;
        } else {
            ui.note("Nothing was changed");
            return Ok(CommandExit::Success);
        }
    }
    if args.json {
        let left: Vec<Value> = applied.left.iter().map(mention_json).collect();
        let files = applied.proposal.files.iter().map(|it| it.path.as_str());
        ui.print_json(&json!({
            "version": 1, "changed": change.is_some(), "change": change,
            "linked": applied.linked, "files": files.collect::<Vec<_>>(), "proposed": left,
        }))?;
        return Ok(CommandExit::Success);
    }
    let files = count_noun(applied.proposal.files.len(), "file");
    match (&change, applied.proposal.is_empty()) {
        (Some(id), _) => {
            ui.print_line(&format!(
                "✓ Added {} in {files}",
                count_noun(applied.linked, "link")
            ))?;
            undo_note(id, ui);
        }
        (None, true) => ui.print_line("✓ Nothing to link")?,
        (None, false) => {}
    }
    if !applied.left.is_empty() {
        let left = applied.left.len();
        ui.note(&format!(
            "{left} more are only proposed: `links suggest` lists them, `--all` links them"
        ));
    }
    Ok(CommandExit::Success)
}

fn rename_file(
    workspace: &Workspace,
    vault: &NoteVault,
    args: LinksRenameArgs,
    settings: &Settings,
    ui: &mut Ui,
) -> Result<CommandExit, CommandError> {
    let from = resolve_file(workspace, vault, settings, &args.old)?;
    let to = links::resolve_destination(vault, &from, &args.new)?;
    if from == to {
        return Err(CommandError::usage(format!(
            "`{from}` has that name already"
        )));
    }
    let renaming = links::rename_file(workspace, vault, &from, &to)?;
    for (path, line) in &renaming.left_alone {
        ui.warn(&format!(
            "`{path}` line {line} is left alone: change that link by hand"
        ));
    }
    let mut change = None;
    if !args.json {
        ui.print_line(&format!(
            "{} → {}",
            escape_hidden(from.as_str()),
            escape_hidden(to.as_str())
        ))?;
        show_diff(&renaming.proposal, ui)?;
    }
    let question = format!(
        "Rename it and rewrite {}?",
        count_noun(renaming.links, "link")
    );
    if args.dry_run {
        ui.note("Nothing was changed (`--dry-run`)");
    } else if ui.confirm(&question, args.yes)? {
        let what = format!("Rename `{from}` to `{to}`");
        change = renaming.proposal.apply(workspace, &what, settings.now)?.id;
    } else {
        ui.note("Nothing was changed");
        return Ok(CommandExit::Success);
    }
    if args.json {
        let files = renaming.proposal.files.iter().map(|it| it.path.as_str());
        ui.print_json(&json!({
            "version": 1, "changed": change.is_some(), "change": change,
            "from": from.as_str(), "to": to.as_str(), "links": renaming.links,
            "files": files.collect::<Vec<_>>(),
        }))?;
    } else if let Some(id) = &change {
        let links = count_noun(renaming.links, "link");
        let files = count_noun(renaming.proposal.files.len(), "file");
        ui.print_line(&format!("✓ Renamed; rewrote {links} in {files}"))?;
        undo_note(id, ui);
    }
    Ok(CommandExit::Success)
}

/// Resolves a file by its path, else by the name that a link at the root would
/// use.
pub(super) fn resolve_file(
    workspace: &Workspace,
    vault: &NoteVault,
    settings: &Settings,
    name: &str,
) -> Result<RelPath, CommandError> {
    if let Ok(path) = paths::resolve_path(workspace, settings, name.as_ref())
        && vault.position_of(&path).is_some()
    {
        return Ok(path);
    }
    match vault.names.resolve(links::reference_target(name), "") {
        links::LinkResolution::File(file) => Ok(vault.file(file).path.clone()),
        links::LinkResolution::Ambiguous(files) => Err(links::RenameError::Ambiguous {
            name: name.to_owned(),
            files: files
                .iter()
                .map(|it| vault.file(*it).path.clone())
                .collect(),
        }
        .into()),
        links::LinkResolution::Missing => {
            let name = name.to_owned();
            let error = CommandError::from(links::RenameError::Missing { name: name.clone() });
            Err(paths::suggest_document(error, workspace, &name))
        }
    }
}

fn undo_note(id: &str, ui: &mut Ui) {
    ui.note(&format!(
        "`memory-forge doctor --undo {id}` restores the exact bytes"
    ));
}
