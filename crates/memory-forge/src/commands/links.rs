//! `links`: checks the links between files, finds those that are missing, and
//! keeps them right when a file moves. Only `apply` and `rename` change files,
//! after a diff and a yes.

use std::path::PathBuf;

use clap::{Args, Subcommand};
use forge_app::check::{CheckView, Survey};
use forge_app::links::{self, Broken, Mention, Report, Trouble, Vault};
use forge_app::workspace::{RelPath, Workspace};
use serde_json::{Value, json};

use super::doctor::show_diff;
use crate::paths;
use crate::report::{CommandError, Exit};
use crate::settings::Settings;
use crate::ui::{Ui, printable, style};

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
    Check(CheckArgs),
    /// List plain-text mentions of notes
    #[command(after_help = "\
Examples:
  memory-forge links suggest")]
    Suggest(SuggestArgs),
    /// Turn mentions of exact file names into links
    Apply(ApplyArgs),
    /// Move a file and rewrite every link to it
    Rename(RenameArgs),
}

#[derive(Debug, Args)]
struct CheckArgs {
    /// Report on these files only
    #[arg(long, value_name = "FILE", num_args = 1..)]
    files: Vec<PathBuf>,

    /// Leave out what lies in this folder; give it once for each
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
struct SuggestArgs {
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
struct ApplyArgs {
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
struct RenameArgs {
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

pub(crate) fn run(args: LinksArgs, settings: &Settings, ui: &mut Ui) -> Result<Exit, CommandError> {
    let workspace = paths::workspace(settings, ui)?;
    // `check` reads the vault through its survey, so that it is read once.
    let args = match args.command {
        LinksCommand::Check(args) => return check(&workspace, args, settings, ui),
        other => LinksArgs { command: other },
    };
    let vault = vault(&workspace, ui);
    match args.command {
        LinksCommand::Check(_) => unreachable!("answered above"),
        LinksCommand::Suggest(args) => suggest(&workspace, &vault, args, settings, ui),
        LinksCommand::Apply(args) => apply(&workspace, &vault, args, settings, ui),
        LinksCommand::Rename(args) => rename(&workspace, &vault, args, settings, ui),
    }
}

/// Reads the vault, and warns of files that could not be read.
pub(super) fn vault(workspace: &Workspace, ui: &mut Ui) -> Vault {
    let reading = ui.busy("Reading notes");
    let vault = Vault::read(workspace);
    drop(reading);
    warn_of_problems(&vault, ui);
    vault
}

/// Reads the vault of a survey, with the same warnings.
pub(super) fn survey_vault(survey: &Survey<'_>, ui: &mut Ui) {
    let reading = ui.busy("Reading notes");
    let vault = survey.vault();
    drop(reading);
    warn_of_problems(vault, ui);
}

fn warn_of_problems(vault: &Vault, ui: &mut Ui) {
    for line in vault.problem_lines() {
        ui.warn(&printable(&line));
    }
}

/// Resolves the files of `--files`, each of which must exist.
fn scope(
    workspace: &Workspace,
    vault: &Vault,
    settings: &Settings,
    files: &[PathBuf],
) -> Result<Vec<RelPath>, CommandError> {
    let mut paths = Vec::new();
    for file in files {
        let path = paths::path_in(workspace, settings, file)?;
        if vault.position(&path).is_none() {
            return Err(CommandError::usage(format!("There is no file `{path}`")));
        }
        paths.push(path);
    }
    Ok(paths)
}

fn check(
    workspace: &Workspace,
    args: CheckArgs,
    settings: &Settings,
    ui: &mut Ui,
) -> Result<Exit, CommandError> {
    let mut survey = Survey::of(workspace, settings.now);
    survey_vault(&survey, ui);
    let only = scope(workspace, survey.vault(), settings, &args.files)?;
    survey.check_links(|report| {
        if !only.is_empty() {
            report.only(&only);
        }
        for folder in &args.skip {
            let folder = folder.trim_end_matches('/');
            report.troubles.retain(|it| !it.path.starts_with(folder));
            report.closets.retain(|it| !it.path.starts_with(folder));
        }
    });
    let result = CheckView::Links.run(&survey);
    if args.json {
        ui.json(&check_json(survey.links()))?;
    } else {
        show_report(survey.links(), args.limit, ui)?;
    }
    Ok(if result.fails(CheckView::Links) {
        Exit::Failure
    } else {
        Exit::Success
    })
}

fn show_report(report: &Report, limit: usize, ui: &mut Ui) -> Result<(), CommandError> {
    let (wiki, plain): (Vec<&Broken>, Vec<&Broken>) = report.missing().partition(|it| is_wiki(it));
    let places: Vec<&Broken> = report.no_such_place().collect();
    let ambiguous: Vec<&Broken> = report.ambiguous().collect();
    section("BROKEN WIKILINKS", &wiki, limit, ui)?;
    section("BROKEN MARKDOWN LINKS", &plain, limit, ui)?;
    section("MISSING HEADINGS AND BLOCKS", &places, limit, ui)?;
    section("AMBIGUOUS LINKS", &ambiguous, limit, ui)?;
    let closets = &report.closets;
    if !closets.is_empty() {
        ui.line(&format!("CLOSETS ISSUES ({} found):", closets.len()))?;
        for issue in closets.iter().take(limit) {
            let line = issue.line.map_or(String::new(), |line| format!(":{line}"));
            let path = printable(issue.path.as_str());
            ui.line(&format!("  {path}{line}: {}", printable(&issue.message)))?;
        }
        and_more(closets.len(), limit, ui)?;
    }
    if wiki.is_empty() && plain.is_empty() {
        let warnings = !places.is_empty() || !ambiguous.is_empty();
        ui.line(match (warnings, closets.is_empty()) {
            (false, true) => "CLEAN - zero broken wikilinks, closets valid",
            (false, false) => "CLEAN wikilinks (closets issues above are warnings)",
            (true, _) => "CLEAN wikilinks (what is above are warnings)",
        })?;
    }
    let (links, notes) = (report.links, report.notes);
    ui.note(&format!("{links} links in {notes} notes were checked"));
    Ok(())
}

fn section(title: &str, found: &[&Broken], limit: usize, ui: &mut Ui) -> Result<(), CommandError> {
    if found.is_empty() {
        return Ok(());
    }
    ui.line(&format!("{title} ({} found):", found.len()))?;
    let path_style = style::PATH;
    for one in found.iter().take(limit) {
        let path = printable(one.path.as_str());
        let link = printable(&one.link);
        let link = if is_wiki(one) {
            format!("[[{link}]]")
        } else {
            format!("({link})")
        };
        let more = match &one.trouble {
            Trouble::Missing {
                nearest: Some(name),
            } => format!(" -> did you mean [[{}]]?", printable(name)),
            Trouble::Ambiguous(files) => {
                let files: Vec<_> = files
                    .iter()
                    .take(3)
                    .map(|it| printable(it.as_str()))
                    .collect();
                format!(" may be {}", files.join(" or "))
            }
            Trouble::Missing { nearest: None } | Trouble::NoSuchPlace => String::new(),
        };
        let line = one.line;
        ui.line(&format!(
            "  {path_style}{path}:{line}{path_style:#}: {link}{more}"
        ))?;
    }
    and_more(found.len(), limit, ui)
}

fn and_more(count: usize, limit: usize, ui: &mut Ui) -> Result<(), CommandError> {
    if count > limit {
        let more = count - limit;
        ui.line(&format!("  … and {more} more; `--json` lists all of them"))?;
    }
    Ok(())
}

fn is_wiki(broken: &Broken) -> bool {
    use forge_app::document::LinkKind;
    matches!(broken.kind, LinkKind::Wiki | LinkKind::Embed)
}

fn check_json(report: &Report) -> Value {
    let one = |it: &Broken| {
        let (kind, nearest, files) = match &it.trouble {
            Trouble::Missing { nearest } => ("missing", nearest.clone(), Vec::new()),
            Trouble::NoSuchPlace => ("no-such-place", None, Vec::new()),
            Trouble::Ambiguous(files) => {
                let files = files.iter().map(|it| it.as_str()).collect();
                ("ambiguous", None, files)
            }
        };
        json!({
            "path": it.path.as_str(), "line": it.line, "link": it.link,
            "form": if is_wiki(it) { "wikilink" } else { "markdown" },
            "trouble": kind, "nearest": nearest, "files": files,
        })
    };
    let closets = report
        .closets
        .iter()
        .map(|it| json!({ "path": it.path.as_str(), "line": it.line, "message": it.message }));
    json!({
        "version": 1,
        "broken": report.missing().count(),
        "notes": report.notes, "links": report.links,
        "troubles": report.troubles.iter().map(one).collect::<Vec<_>>(),
        "closets": closets.collect::<Vec<_>>(),
    })
}

fn suggest(
    workspace: &Workspace,
    vault: &Vault,
    args: SuggestArgs,
    settings: &Settings,
    ui: &mut Ui,
) -> Result<Exit, CommandError> {
    let only = scope(workspace, vault, settings, &args.files)?;
    let looking = ui.busy("Looking for mentions");
    let found = links::suggest(workspace, vault, &only);
    drop(looking);
    if args.json {
        let mentions: Vec<Value> = found.iter().map(mention_json).collect();
        ui.json(&json!({ "version": 1, "mentions": mentions }))?;
    } else if found.is_empty() {
        ui.line("No plain text file references found - all references use wikilinks")?;
    } else {
        show_mentions(&found, args.limit, ui)?;
    }
    Ok(Exit::Success)
}

fn show_mentions(found: &[Mention], limit: usize, ui: &mut Ui) -> Result<(), CommandError> {
    ui.line(&format!("PLAIN TEXT REFERENCES ({} found):", found.len()))?;
    for one in found.iter().take(limit) {
        let (path, text) = (printable(one.path.as_str()), printable(&one.text));
        let name = printable(&one.name);
        ui.line(&format!("  {path}:{}: \"{text}\" -> [[{name}]]", one.line))?;
    }
    and_more(found.len(), limit, ui)
}

fn mention_json(one: &Mention) -> Value {
    json!({
        "path": one.path.as_str(), "line": one.line, "text": one.text,
        "note": one.note.as_str(), "link": one.link(), "exact": one.exact,
    })
}

fn apply(
    workspace: &Workspace,
    vault: &Vault,
    args: ApplyArgs,
    settings: &Settings,
    ui: &mut Ui,
) -> Result<Exit, CommandError> {
    let only = scope(workspace, vault, settings, &args.files)?;
    let looking = ui.busy("Looking for mentions");
    let applied = links::apply(workspace, vault, &only, args.all);
    drop(looking);
    let mut change = None;
    if !applied.proposal.is_empty() {
        if !args.json {
            show_diff(&applied.proposal, ui)?;
        }
        let question = format!("Add {}?", several(applied.linked, "link"));
        if args.dry_run {
            ui.note("Nothing was changed (`--dry-run`)");
        } else if ui.confirm(&question, args.yes)? {
            let what = "Link mentions by `links apply`";
            change = applied.proposal.apply(workspace, what, settings.now)?.id;
        } else {
            ui.note("Nothing was changed");
            return Ok(Exit::Success);
        }
    }
    if args.json {
        let left: Vec<Value> = applied.left.iter().map(mention_json).collect();
        let files = applied.proposal.files.iter().map(|it| it.path.as_str());
        ui.json(&json!({
            "version": 1, "changed": change.is_some(), "change": change,
            "linked": applied.linked, "files": files.collect::<Vec<_>>(), "proposed": left,
        }))?;
        return Ok(Exit::Success);
    }
    let files = several(applied.proposal.files.len(), "file");
    match (&change, applied.proposal.is_empty()) {
        (Some(id), _) => {
            ui.line(&format!(
                "✓ Added {} in {files}",
                several(applied.linked, "link")
            ))?;
            undo_note(id, ui);
        }
        (None, true) => ui.line("✓ Nothing to link")?,
        (None, false) => {}
    }
    if !applied.left.is_empty() {
        let left = applied.left.len();
        ui.note(&format!(
            "{left} more are only proposed: `links suggest` lists them, `--all` links them"
        ));
    }
    Ok(Exit::Success)
}

fn rename(
    workspace: &Workspace,
    vault: &Vault,
    args: RenameArgs,
    settings: &Settings,
    ui: &mut Ui,
) -> Result<Exit, CommandError> {
    let from = named(workspace, vault, settings, &args.old)?;
    let to = links::destination(vault, &from, &args.new)?;
    if from == to {
        return Err(CommandError::usage(format!(
            "`{from}` has that name already"
        )));
    }
    let renaming = links::rename(workspace, vault, &from, &to)?;
    for (path, line) in &renaming.left_alone {
        ui.warn(&format!(
            "`{path}` line {line} is left alone: change that link by hand"
        ));
    }
    let mut change = None;
    if !args.json {
        ui.line(&format!(
            "{} → {}",
            printable(from.as_str()),
            printable(to.as_str())
        ))?;
        show_diff(&renaming.proposal, ui)?;
    }
    let question = format!("Rename it and rewrite {}?", several(renaming.links, "link"));
    if args.dry_run {
        ui.note("Nothing was changed (`--dry-run`)");
    } else if ui.confirm(&question, args.yes)? {
        let what = format!("Rename `{from}` to `{to}`");
        change = renaming.proposal.apply(workspace, &what, settings.now)?.id;
    } else {
        ui.note("Nothing was changed");
        return Ok(Exit::Success);
    }
    if args.json {
        let files = renaming.proposal.files.iter().map(|it| it.path.as_str());
        ui.json(&json!({
            "version": 1, "changed": change.is_some(), "change": change,
            "from": from.as_str(), "to": to.as_str(), "links": renaming.links,
            "files": files.collect::<Vec<_>>(),
        }))?;
    } else if let Some(id) = &change {
        let links = several(renaming.links, "link");
        let files = several(renaming.proposal.files.len(), "file");
        ui.line(&format!("✓ Renamed; rewrote {links} in {files}"))?;
        undo_note(id, ui);
    }
    Ok(Exit::Success)
}

/// Resolves a file by its path, else by the name that a link at the root would
/// use.
pub(super) fn named(
    workspace: &Workspace,
    vault: &Vault,
    settings: &Settings,
    name: &str,
) -> Result<RelPath, CommandError> {
    if let Ok(path) = paths::path_in(workspace, settings, name.as_ref())
        && vault.position(&path).is_some()
    {
        return Ok(path);
    }
    match vault.names.resolve(links::name_in(name), "") {
        links::Resolution::File(file) => Ok(vault.file(file).path.clone()),
        links::Resolution::Ambiguous(files) => Err(links::Error::Ambiguous {
            name: name.to_owned(),
            files: files
                .iter()
                .map(|it| vault.file(*it).path.clone())
                .collect(),
        }
        .into()),
        links::Resolution::Missing => {
            let name = name.to_owned();
            let error = CommandError::from(links::Error::Missing { name: name.clone() });
            Err(paths::did_you_mean(error, workspace, &name))
        }
    }
}

fn undo_note(id: &str, ui: &mut Ui) {
    ui.note(&format!(
        "`memory-forge doctor --undo {id}` takes it back, byte for byte"
    ));
}

fn several(count: usize, word: &str) -> String {
    format!("{count} {word}{}", if count == 1 { "" } else { "s" })
}
