//! `init`: makes a directory a workspace, and proposes an order for notes that
//! are there already. It never overwrites a file and never moves one unasked.

use std::path::{Path, PathBuf};
use std::time::Duration;

use clap::{Args, ValueEnum};
use forge_app::check::{CheckSeverity, CheckView, WorkspaceSurvey};
use forge_app::counts::match_number;
use forge_app::inclusion;
use forge_app::indexing;
use forge_app::knowledge::start;
use forge_app::knowledge::templates::WorkspaceTemplate;
use forge_app::routing::manifest::{MANIFEST_FORMAT_VERSION, Manifest, ManifestMode, VersionAge};
use forge_app::session::UntrackedContent;
use forge_app::tokens::format_thousands;
use forge_app::upkeep::organise::{self, OrganisePlan};
use forge_app::upkeep::scaffold;
use forge_app::workspace::{ChangeProposal, RelPath, Workspace};
use forge_clients::setup;
use serde_json::json;

use super::doctor::show_diff;
use crate::library;
use crate::paths;
use crate::report::{CommandError, CommandExit};
use crate::settings::Settings;
use crate::ui::{Ui, escape_hidden};

/// Prepare this directory: `knowledge/` and an ignore rule
///
/// Documents that are there already, such as `docs/` and `README.md`, are found,
/// counted and, after one question, searched as well: `memory-forge.toml` names
/// them. They stay where and as they are.
///
/// With `--workspace`, a whole workspace with `_MANIFEST.md`, the map that shows
/// agents what there is: folders with notes become domains where they are, exact
/// names of notes become links, and `CLAUDE.md` gets a few lines for agents. Where
/// a workspace is there already, its health is checked. With `--organise`, notes that are there already are
/// read and an order is proposed as a file; nothing moves before `--apply`.
#[derive(Debug, Default, Args)]
#[command(after_help = "\
Examples:
  memory-forge init                                 Show what would be added, ask, add it
  memory-forge init --dry-run                       Only show it
  memory-forge init --yes                           Add it, and search the documents that are there
  memory-forge init --include 'docs/**'             Search these documents as well
  memory-forge init --template web-app              Add documents to fill in for such a project
  memory-forge init --workspace \"A billing engine\"  Start a workspace with a manifest
  memory-forge init --organise                      Propose an order for existing notes
  memory-forge init --apply memory-forge-plan.toml  Carry it out, after a look and a yes")]
pub(crate) struct InitArgs {
    /// Agree to the proposal without a question
    #[arg(long, short)]
    pub(crate) yes: bool,

    /// Show what would be created and change nothing
    #[arg(long, short = 'n')]
    pub(crate) dry_run: bool,

    /// Add documents with the questions that agents ask about such a project
    #[arg(long, value_name = "KIND", conflicts_with_all = ["workspace", "organise", "apply"])]
    pub(super) template: Option<TemplateChoice>,

    /// Search documents that are there already as well, such as `docs/**`
    #[arg(long, value_name = "GLOB", conflicts_with_all = ["workspace", "organise", "apply"])]
    pub(super) include: Vec<String>,

    /// Leave these out of what `--include` names
    #[arg(long, value_name = "GLOB", requires = "include")]
    pub(super) exclude: Vec<String>,

    /// Search pages in all their languages; by default one language is kept
    #[arg(long, conflicts_with_all = ["workspace", "organise", "apply", "include"])]
    pub(super) translations: bool,

    /// Start a workspace with a manifest, and describe what you are working on; asks if omitted
    #[arg(long, value_name = "ABOUT", num_args = 0..=1, conflicts_with_all = ["organise", "apply"])]
    pub(super) workspace: Option<Option<String>>,

    /// Read the notes that are there and write a plan for them
    #[arg(long, visible_alias = "organize", conflicts_with = "apply")]
    pub(super) organise: bool,

    /// Where to write the plan
    #[arg(long, value_name = "FILE", requires = "organise")]
    pub(super) plan: Option<PathBuf>,

    /// Carry out a plan
    #[arg(long, value_name = "FILE")]
    pub(super) apply: Option<PathBuf>,

    /// Leave the lines for agents out of `CLAUDE.md`
    #[arg(long)]
    pub(super) no_claude_md: bool,

    /// Print the plan as JSON
    #[arg(long, requires = "organise")]
    pub(super) json: bool,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq, ValueEnum)]
pub(super) enum TemplateChoice {
    /// Requests, data, permissions, deployment
    WebApp,
    /// Commands, output, exit codes, releases
    Cli,
    /// Public API, guarantees, versions
    Library,
}

impl From<TemplateChoice> for WorkspaceTemplate {
    fn from(choice: TemplateChoice) -> WorkspaceTemplate {
        match choice {
            TemplateChoice::WebApp => WorkspaceTemplate::WebApp,
            TemplateChoice::Cli => WorkspaceTemplate::Cli,
            TemplateChoice::Library => WorkspaceTemplate::Library,
        }
    }
}

pub(crate) fn run_init(
    args: InitArgs,
    settings: &Settings,
    ui: &mut Ui,
) -> Result<CommandExit, CommandError> {
    let workspace = paths::open_workspace(settings, ui)?;
    if args.organise {
        return write_plan(&workspace, &args, settings, ui);
    }
    if let Some(file) = &args.apply {
        return apply_plan(&workspace, file, &args, settings, ui);
    }
    if let Some(about) = &args.workspace {
        return start_workspace(&workspace, about.as_deref(), &args, settings, ui);
    }
    let mut proposal =
        start::propose_start(&workspace, args.template.map(WorkspaceTemplate::from))?;
    let Some(chosen) = choose_documents(&workspace, &args, ui)? else {
        ui.note("Nothing was changed");
        return Ok(CommandExit::Success);
    };
    inclusion::propose_inclusion(&workspace, &chosen.config, &mut proposal)?;
    let is_included = !chosen.config.include.is_empty() && !args.dry_run;
    let next = if is_included { "" } else { NEXT_STEPS };
    let exit = confirm_and_apply(
        &workspace,
        &proposal,
        next,
        chosen.agreed,
        &args,
        settings,
        ui,
    )?;
    if is_included {
        index_included(&workspace, settings, ui)?;
        ui.note(NEXT_STEPS);
    }
    note_existing_setup(&workspace, ui);
    if chosen.config.include.is_empty() && chosen.found == 0 {
        note_unsorted_notes(&workspace, ui);
    }
    Ok(exit)
}

/// Documents to include, and whether a person chose them.
#[derive(Default)]
struct ChosenDocuments {
    config: inclusion::KnowledgeConfig,
    agreed: bool,
    /// How many there were to choose from.
    found: usize,
}

/// Finds what the repository has and asks about it, once. None where the input
/// ended instead of an answer.
fn choose_documents(
    workspace: &Workspace,
    args: &InitArgs,
    ui: &mut Ui,
) -> Result<Option<ChosenDocuments>, CommandError> {
    if !args.include.is_empty() {
        return named_documents(workspace, args, ui).map(Some);
    }
    let looking = ui.show_busy("Looking for documents");
    let translations = if args.translations {
        inclusion::TranslationChoice::Include
    } else {
        inclusion::TranslationChoice::LeaveOut
    };
    let found = inclusion::find_candidates_with(workspace, translations);
    drop(looking);
    let mut chosen = ChosenDocuments {
        found: found.files(),
        ..ChosenDocuments::default()
    };
    if chosen.found == 0 {
        return Ok(Some(chosen));
    }
    let summary = format!(
        "Found {} {} in {}",
        format_thousands(chosen.found),
        match_number(chosen.found, "document"),
        found.places()
    );
    let summary = escape_hidden(&summary).into_owned();
    if args.yes || args.dry_run {
        ui.note(&format!("{summary}; searches will find them"));
        say_left_out(&found, ui);
        chosen.config = found.config(&found.groups);
        return Ok(Some(chosen));
    }
    if !ui.can_ask() {
        ui.note(&format!("{summary}; `memory-forge init --yes` includes them in searches, `--include '<glob>'` some of them"));
        say_left_out(&found, ui);
        return Ok(Some(chosen));
    }
    say_left_out(&found, ui);
    let Some(answer) = ui.ask_line(&format!("{summary}: search them too? [Y/n/pick]"))? else {
        return Ok(None);
    };
    let picked: Vec<&inclusion::CandidateGroup> = match answer.to_lowercase().as_str() {
        "" | "y" | "yes" => found.groups.iter().collect(),
        "p" | "pick" => match pick(&found, ui)? {
            Some(picked) => picked,
            None => return Ok(None),
        },
        _ => Vec::new(),
    };
    chosen.agreed = true;
    if !picked.is_empty() {
        chosen.config = found.config(picked);
    }
    Ok(Some(chosen))
}

/// What `--include` names. A glob that names nothing is a mistake.
fn named_documents(
    workspace: &Workspace,
    args: &InitArgs,
    ui: &mut Ui,
) -> Result<ChosenDocuments, CommandError> {
    let config = inclusion::KnowledgeConfig {
        include: args.include.clone(),
        exclude: args.exclude.clone(),
    };
    if let Some(glob) = inclusion::glob_without_document(workspace, &config) {
        let message = format!("`{}` names no document", escape_hidden(glob));
        return Err(CommandError::usage(message).hint(
            "Name Markdown, `.rst` or `.adoc`, such as `docs/**`; for plain text say `docs/**/*.txt`",
        ));
    }
    let left_out = workspace.scan_including(&config).left_out;
    if let Some(line) = inclusion::left_out_line(&left_out) {
        ui.note(&line);
    }
    Ok(ChosenDocuments {
        config,
        agreed: true,
        found: 0,
    })
}

fn pick<'a>(
    found: &'a inclusion::DocumentCandidates,
    ui: &mut Ui,
) -> Result<Option<Vec<&'a inclusion::CandidateGroup>>, CommandError> {
    for (at, group) in found.groups.iter().enumerate() {
        ui.note(&escape_hidden(&format!(
            "{:>3}  {} ({})",
            at + 1,
            group.place(),
            format_thousands(group.files)
        )));
    }
    let Some(answer) = ui.ask_line("Which ones? Numbers, separated by commas:")? else {
        return Ok(None);
    };
    let mut picked = Vec::new();
    for part in answer.split([',', ' ']).filter(|part| !part.is_empty()) {
        let group = part
            .parse::<usize>()
            .ok()
            .and_then(|at| found.groups.get(at.checked_sub(1)?));
        match group {
            Some(group) => picked.push(group),
            None => {
                let message = format!("`{}` is not one of the numbers", escape_hidden(part));
                return Err(CommandError::usage(message));
            }
        }
    }
    Ok(Some(picked))
}

fn say_left_out(found: &inclusion::DocumentCandidates, ui: &mut Ui) {
    let counted = |count: usize, one: &str, many: &str| match count {
        0 => None,
        1 => Some(format!("1 {one}")),
        count => Some(format!("{} {many}", format_thousands(count))),
    };
    let parts = [
        counted(
            found.translations,
            "translation (`--translations` includes it)",
            "translations (`--translations` includes them)",
        ),
        counted(
            found.other,
            "file of tests, examples or prompts",
            "files of tests, examples or prompts",
        ),
    ];
    let mut parts: Vec<String> = parts.into_iter().flatten().collect();
    parts.extend(inclusion::left_out_parts(&found.left_out));
    if !parts.is_empty() {
        ui.note(&format!("Left out: {}", parts.join(", ")));
    }
}

/// How long `init` computes vectors; searches go on from there.
const VECTOR_TIME: Duration = Duration::from_secs(10);

/// Reads what was included, so that the first search is answered at once.
fn index_included(
    workspace: &Workspace,
    settings: &Settings,
    ui: &mut Ui,
) -> Result<(), CommandError> {
    // The settings are new.
    let workspace = Workspace::open(workspace.root())?;
    let mut library = library::open_library(workspace, settings);
    let request = indexing::IndexRequest {
        force: false,
        keep_list: false,
        vectors: indexing::VectorBudget::For(VECTOR_TIME),
        must_be_kept: true,
        now: settings.now,
    };
    let done = indexing::update_index(&mut library, &request, &mut ui.watch_stages())?;
    ui.show_remarks(&done.remarks);
    if done.not_kept.is_some() {
        return Ok(());
    }
    let mut searched = done.files.iter().filter(|(path, outcome)| {
        path != indexing::LIST
            && !matches!(
                outcome,
                indexing::FileOutcome::Removed | indexing::FileOutcome::Skipped(_)
            )
    });
    let files = match searched.by_ref().count() {
        1 => "1 document".to_owned(),
        files => format!("{} documents", format_thousands(files)),
    };
    ui.print_line(&format!(
        "✓ {files} can be searched, in {} {}",
        format_thousands(done.counts.chunks),
        match_number(done.counts.chunks, "passage")
    ))?;
    let translations = inclusion::count_translations(&library.workspace);
    if translations > 0 {
        let (number, are) = (
            format_thousands(translations),
            if translations == 1 {
                "is a translation"
            } else {
                "are translations"
            },
        );
        ui.note(&format!(
            "{number} of them {are}; a search shows such a page once, in the language of the question"
        ));
    }
    if let Some(vectors) = done.vectors_line() {
        ui.note(&format!(
            "{vectors}. Keyword search is complete; each search computes more vectors, and `memory-forge index` computes all"
        ));
    }
    Ok(())
}

/// A folder without a manifest gets one; a manifest that is kept by hand gets
/// a marker; one of an older version is for `upgrade`; a current one is looked
/// at and left as it is.
fn start_workspace(
    workspace: &Workspace,
    about: Option<&str>,
    args: &InitArgs,
    settings: &Settings,
    ui: &mut Ui,
) -> Result<CommandExit, CommandError> {
    let manifest = Manifest::load(workspace)?;
    let mode = manifest
        .as_ref()
        .map_or(ManifestMode::Absent, Manifest::mode);
    match (mode, manifest.as_ref().and_then(Manifest::age)) {
        (ManifestMode::Full, Some(VersionAge::Current)) => {
            return show_health(workspace, settings, ui);
        }
        (ManifestMode::Full, Some(age)) => {
            let version = manifest.as_ref().and_then(Manifest::version);
            let version = escape_hidden(version.unwrap_or_default()).into_owned();
            return Err(match age {
                VersionAge::Newer => CommandError::failure(format!(
                    "`_MANIFEST.md` is of version {version}, newer than {MANIFEST_FORMAT_VERSION}"
                ))
                .hint("Update memory-forge"),
                _ => CommandError::failure(format!(
                    "`_MANIFEST.md` is of version {version}, older than {MANIFEST_FORMAT_VERSION}"
                ))
                .hint("Run `memory-forge upgrade`; it keeps every note as it is"),
            });
        }
        _ => {}
    }
    let adopts = mode == ManifestMode::Compatible;
    let (about, is_answered) = match about {
        Some(about) => (about.to_owned(), false),
        None if adopts || args.yes || args.dry_run || !ui.can_ask() => {
            (folder_name(workspace), false)
        }
        None => match ui.ask_line("What are you working on?")? {
            Some(answer) if answer.is_empty() => (folder_name(workspace), true),
            Some(answer) => (answer, true),
            None => {
                ui.note("Nothing was changed");
                return Ok(CommandExit::Success);
            }
        },
    };
    let mut proposal = if adopts {
        scaffold::plan_scaffold(workspace, &about, settings.now)?
    } else {
        let reading = ui.show_busy("Reading notes");
        let applied = organise::begin_workspace(workspace, &about, settings.now)?;
        drop(reading);
        for remark in &applied.remarks {
            ui.warn(&escape_hidden(remark));
        }
        applied.proposal
    };
    if !args.no_claude_md {
        setup::propose_lines(workspace, &mut proposal)?;
    }
    let next = if adopts {
        "`memory-forge upgrade` writes the closets and summaries that it still lacks"
    } else {
        "Add subjects with `memory-forge domain add <name>`"
    };
    // The one question is enough if no file of the user would change.
    let agreed = is_answered && proposal.files.iter().all(|it| it.before.is_none());
    let exit = confirm_and_apply(workspace, &proposal, next, agreed, args, settings, ui)?;
    if !adopts {
        note_catch_alls(workspace, ui);
    }
    Ok(exit)
}

/// Notes folders and notes that were left where they are.
fn note_catch_alls(workspace: &Workspace, ui: &mut Ui) {
    let plan = organise::propose_order(workspace);
    let folders: Vec<String> = plan
        .catch_alls
        .iter()
        .map(|it| format!("`{it}/`"))
        .collect();
    if !folders.is_empty() {
        ui.note(&escape_hidden(&format!(
            "{} are catch-all folders, where files are hard to find again; \
             `memory-forge init --organise` proposes where their notes belong",
            folders.join(", ")
        )));
    } else if !plan.moves.is_empty() {
        ui.note(&format!(
            "{} notes have no domain yet; `memory-forge init --organise` proposes one for each",
            plan.moves.len()
        ));
    }
}

/// Checks a workspace that is current.
fn show_health(
    workspace: &Workspace,
    settings: &Settings,
    ui: &mut Ui,
) -> Result<CommandExit, CommandError> {
    let reading = ui.show_busy("Checking");
    let survey = WorkspaceSurvey::from_workspace(workspace, settings.now);
    let report = CheckView::Lint.run(&survey);
    let broken = survey.link_report().missing_targets().count();
    let untracked = match survey.manifest() {
        Some(manifest) => UntrackedContent::find_in_tree(workspace, survey.tree(), manifest),
        None => UntrackedContent::default(),
    };
    drop(reading);
    let (warnings, infos) = (
        report.count_severity(CheckSeverity::Warning),
        report.count_severity(CheckSeverity::Info),
    );
    let untracked = untracked.folders.len() + untracked.loose.len();
    let line = |label: &str, good: bool, state: String, next: &str| {
        if good {
            format!("{label}: {state}")
        } else {
            format!("{label}: {state} -- see `{next}`")
        }
    };
    ui.print_line(&line(
        "Lint",
        warnings + infos == 0,
        match warnings + infos {
            0 => "all checks passed".to_owned(),
            _ => format!("{warnings} warnings, {infos} info"),
        },
        "memory-forge lint",
    ))?;
    ui.print_line(&line(
        "Wikilinks",
        broken == 0,
        match broken {
            0 => "zero broken".to_owned(),
            n => format!("{n} broken"),
        },
        "memory-forge links check",
    ))?;
    ui.print_line(&line(
        "Untracked",
        untracked == 0,
        match untracked {
            0 => "none".to_owned(),
            n => format!("{n} folders and files"),
        },
        "memory-forge init --organise",
    ))?;
    let healthy = warnings + broken == 0;
    ui.print_line(if healthy {
        "Overall: healthy"
    } else {
        "Overall: needs attention"
    })?;
    Ok(if healthy {
        CommandExit::Success
    } else {
        CommandExit::Failure
    })
}

const NEXT_STEPS: &str = "
Next:
  memory-forge save context <name>   Write something down, or use an editor
  memory-forge search \"<question>\"   Find it again
  memory-forge setup                 Connect your agents, so that they do both";

/// Notes what a new user may not expect of this directory.
fn note_existing_setup(workspace: &Workspace, ui: &mut Ui) {
    let there = |name: &&&str| workspace.root().join(name).exists();
    if let Some(name) = ["CLAUDE.md", "AGENTS.md", "GEMINI.md"].iter().find(there) {
        ui.note(&format!(
            "`{name}` stays as it is; `memory-forge audit` shows what it costs at every start"
        ));
    }
    let in_git = workspace
        .root()
        .ancestors()
        .any(|it| it.join(".git").exists());
    if !in_git {
        ui.note("Not a git repository; `git init` makes one, which keeps the history of your files and shares them");
    }
}

/// Lower bound of notes without an order for which a hint is shown.
const MIN_NOTES_FOR_HINT: usize = 3;

fn note_unsorted_notes(workspace: &Workspace, ui: &mut Ui) {
    let managed = Manifest::read(workspace).is_some_and(|it| it.mode() != ManifestMode::Absent);
    let notes = organise::count_loose_notes(workspace);
    if !managed && notes >= MIN_NOTES_FOR_HINT {
        ui.note(&format!(
            "{notes} Markdown files outside `knowledge/` are not searched; `memory-forge init --organise` proposes an order for them"
        ));
    }
}

/// Shows what would change, asks, and does it.
fn confirm_and_apply(
    workspace: &Workspace,
    proposal: &ChangeProposal,
    next: &str,
    agreed: bool,
    args: &InitArgs,
    settings: &Settings,
    ui: &mut Ui,
) -> Result<CommandExit, CommandError> {
    if proposal.is_empty() {
        ui.print_line("✓ Everything is in place")?;
        return Ok(CommandExit::Success);
    }
    for it in &proposal.moves {
        let (from, to) = (
            escape_hidden(it.from.as_str()),
            escape_hidden(it.to.as_str()),
        );
        ui.print_line(&format!("Move {from} to {to}"))?;
    }
    show_diff(proposal, ui)?;
    if args.dry_run {
        ui.note("Nothing was changed (`--dry-run`)");
        return Ok(CommandExit::Success);
    }
    let place = workspace.root().display();
    if !ui.confirm(&format!("Prepare `{place}` like this?"), args.yes || agreed)? {
        ui.note("Nothing was changed");
        return Ok(CommandExit::Success);
    }
    let title = if args.workspace.is_some() {
        "Start a workspace"
    } else if args.apply.is_some() {
        "Carry out a plan"
    } else {
        inclusion::PREPARATION_TITLE
    };
    proposal.apply(workspace, title, settings.now)?;
    for it in &proposal.moves {
        let (from, to) = (
            escape_hidden(it.from.as_str()),
            escape_hidden(it.to.as_str()),
        );
        ui.print_line(&format!("✓ Moved {from} to {to}"))?;
    }
    for file in &proposal.files {
        let done = if file.before.is_some() {
            "Updated"
        } else {
            "Created"
        };
        ui.print_line(&format!("✓ {done} {}", escape_hidden(file.path.as_str())))?;
    }
    if !next.is_empty() {
        ui.note(next);
    }
    Ok(CommandExit::Success)
}

fn write_plan(
    workspace: &Workspace,
    args: &InitArgs,
    settings: &Settings,
    ui: &mut Ui,
) -> Result<CommandExit, CommandError> {
    let reading = ui.show_busy("Reading notes");
    let plan = organise::propose_order(workspace);
    drop(reading);
    let file = args
        .plan
        .as_deref()
        .unwrap_or(Path::new(organise::PLAN_FILE));
    if args.json {
        ui.print_json(&plan_json(&plan))?;
    }
    if args.json && args.plan.is_none() || args.dry_run {
        if !args.json {
            ui.print(&plan.render(organise::PLAN_FILE))?;
            ui.note("Nothing was written (`--dry-run`)");
        }
        return Ok(CommandExit::Success);
    }
    if plan.is_empty() && plan.conflicts.is_empty() {
        ui.note("There are no files to organise");
        return Ok(CommandExit::Success);
    }
    let path = match args.plan {
        Some(_) => paths::resolve_path(workspace, settings, file)?,
        None => {
            RelPath::new(organise::PLAN_FILE).map_err(|e| CommandError::usage(e.to_string()))?
        }
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
        ui.print_line(&format!(
            "✓ Wrote {}: {} domains, {} moves, {} stale files, {} links, {} conflicts",
            escape_hidden(path.as_str()),
            plan.domains.len(),
            plan.moves.len(),
            plan.archive.len(),
            plan.links.len(),
            plan.conflicts.len()
        ))?;
        let folders: Vec<String> = plan.catch_alls.iter().map(|it| format!("{it}/")).collect();
        if !folders.is_empty() {
            let folders = folders.join(", ");
            ui.print_line(&escape_hidden(&format!(
                "Catch-all folders to dissolve: {folders}"
            )))?;
        }
    }
    ui.note(&format!(
        "Review and edit it, then run `memory-forge init --apply {path}`"
    ));
    Ok(CommandExit::Success)
}

fn apply_plan(
    workspace: &Workspace,
    file: &Path,
    args: &InitArgs,
    settings: &Settings,
    ui: &mut Ui,
) -> Result<CommandExit, CommandError> {
    let path = paths::resolve_path(workspace, settings, file)?;
    let plan = OrganisePlan::parse(&workspace.read_text(&path)?, path.as_str())?;
    let is_new = Manifest::read(workspace).is_none();
    let mut applied = organise::apply_plan(workspace, &plan, settings.now)?;
    for remark in &applied.remarks {
        ui.warn(&escape_hidden(remark));
    }
    if is_new && !applied.proposal.is_empty() && !args.no_claude_md {
        setup::propose_lines(workspace, &mut applied.proposal)?;
    }
    let next = "`memory-forge doctor --undo` reverts all of it";
    confirm_and_apply(
        workspace,
        &applied.proposal,
        next,
        false,
        args,
        settings,
        ui,
    )
}

fn plan_json(plan: &OrganisePlan) -> serde_json::Value {
    json!({
        "version": plan.version,
        "about": plan.about,
        "domains": plan.domains.iter().map(|it| json!({ "folder": it.folder, "name": it.name, "about": it.about })).collect::<Vec<_>>(),
        "moves": plan.moves.iter().map(|it| json!({ "from": it.from, "to": it.to, "why": it.why })).collect::<Vec<_>>(),
        "archive": plan.archive.iter().map(|it| json!({ "file": it.file, "reason": it.reason })).collect::<Vec<_>>(),
        "links": plan.links.iter().map(|it| json!({ "file": it.file, "line": it.line, "text": it.text, "to": it.to })).collect::<Vec<_>>(),
        "catch_alls": plan.catch_alls,
        "references": plan.references.iter().map(|it| json!({ "file": it.file, "kind": it.kind })).collect::<Vec<_>>(),
        "conflicts": plan.conflicts.iter().map(|it| json!({ "files": it.files, "why": it.why })).collect::<Vec<_>>(),
        "unsorted": plan.unsorted,
    })
}

fn folder_name(workspace: &Workspace) -> String {
    let name = workspace.root().file_name();
    name.map_or_else(String::new, |it| it.to_string_lossy().into_owned())
}
