//! `init`: makes a directory a workspace, and proposes an order for notes that
//! are there already. It never overwrites a file and never moves one unasked.

use std::path::{Path, PathBuf};
use std::time::Duration;

use clap::{Args, ValueEnum};
use forge_app::check::{CheckView, Severity, Survey};
use forge_app::inclusion;
use forge_app::indexing;
use forge_app::knowledge::start;
use forge_app::knowledge::templates::Template;
use forge_app::routing::manifest::{Age, Manifest, Mode, VERSION};
use forge_app::session::Untracked;
use forge_app::tokens::thousands;
use forge_app::upkeep::organise::{self, Plan};
use forge_app::upkeep::scaffold;
use forge_app::workspace::{Proposal, RelPath, Workspace};
use forge_clients::setup;
use serde_json::json;

use super::doctor::show_diff;
use crate::library;
use crate::paths;
use crate::report::{CommandError, Exit};
use crate::settings::Settings;
use crate::ui::{Ui, printable};

/// Prepare this directory: `knowledge/` and an ignore rule
///
/// Documents that are there already, such as `docs/` and `README.md`, are found,
/// counted and, after one question, searched as well: `memory-forge.toml` names
/// them. They stay where and as they are.
///
/// With `--workspace`, a whole workspace with `_MANIFEST.md`, the map that tells
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
    /// Agree to what is proposed without being asked
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

    /// Start a workspace with a manifest; say what you are working on, or be asked
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

impl From<TemplateChoice> for Template {
    fn from(choice: TemplateChoice) -> Template {
        match choice {
            TemplateChoice::WebApp => Template::WebApp,
            TemplateChoice::Cli => Template::Cli,
            TemplateChoice::Library => Template::Library,
        }
    }
}

pub(crate) fn run(args: InitArgs, settings: &Settings, ui: &mut Ui) -> Result<Exit, CommandError> {
    let workspace = paths::workspace(settings, ui)?;
    if args.organise {
        return plan(&workspace, &args, settings, ui);
    }
    if let Some(file) = &args.apply {
        return apply(&workspace, file, &args, settings, ui);
    }
    if let Some(about) = &args.workspace {
        return start_workspace(&workspace, about.as_deref(), &args, settings, ui);
    }
    let mut proposal = start::propose(&workspace, args.template.map(Template::from))?;
    let Some(chosen) = choose_documents(&workspace, &args, ui)? else {
        ui.note("Nothing was changed");
        return Ok(Exit::Success);
    };
    inclusion::propose_inclusion(&workspace, &chosen.config, &mut proposal)?;
    let is_included = !chosen.config.include.is_empty() && !args.dry_run;
    let next = if is_included { "" } else { NEXT };
    let exit = settle(
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
        ui.note(NEXT);
    }
    mention_what_is_there(&workspace, ui);
    if chosen.config.include.is_empty() && chosen.found == 0 {
        mention_notes(&workspace, ui);
    }
    Ok(exit)
}

/// Documents to include, and whether a person said so.
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
        return named_documents(workspace, args).map(Some);
    }
    let looking = ui.busy("Looking for documents");
    let found = inclusion::find_candidates(workspace);
    drop(looking);
    let mut chosen = ChosenDocuments {
        found: found.files(),
        ..ChosenDocuments::default()
    };
    if chosen.found == 0 {
        return Ok(Some(chosen));
    }
    let files = thousands(chosen.found);
    let summary = printable(&format!("Found {files} documents in {}", found.places())).into_owned();
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
    let Some(answer) = ui.ask(&format!("{summary}: search them too? [Y/n/pick]"))? else {
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
) -> Result<ChosenDocuments, CommandError> {
    let config = inclusion::KnowledgeConfig {
        include: args.include.clone(),
        exclude: args.exclude.clone(),
    };
    if let Some(glob) = inclusion::glob_without_document(workspace, &config) {
        let message = format!("`{}` names no document", printable(glob));
        return Err(CommandError::usage(message).hint(
            "Name Markdown, `.rst` or `.adoc`, such as `docs/**`; for plain text say `docs/**/*.txt`",
        ));
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
        ui.note(&printable(&format!(
            "{:>3}  {} ({})",
            at + 1,
            group.place(),
            thousands(group.files)
        )));
    }
    let Some(answer) = ui.ask("Which ones? Numbers, separated by commas:")? else {
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
                let message = format!("`{}` is none of the numbers", printable(part));
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
        count => Some(format!("{} {many}", thousands(count))),
    };
    let parts = [
        counted(found.translations, "translation", "translations"),
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
    let mut library = library::open(workspace, settings);
    let request = indexing::IndexRequest {
        force: false,
        keep_list: false,
        vectors: indexing::VectorBudget::For(VECTOR_TIME),
        must_be_kept: true,
        now: settings.now,
    };
    let done = indexing::bring_in_step(&mut library, &request, &mut ui.watch())?;
    ui.remarks(&done.remarks);
    if done.not_kept.is_some() {
        return Ok(());
    }
    let mut searched = done.files.iter().filter(|(path, outcome)| {
        path != indexing::LIST
            && !matches!(
                outcome,
                indexing::Outcome::Removed | indexing::Outcome::Skipped(_)
            )
    });
    let files = match searched.by_ref().count() {
        1 => "1 document".to_owned(),
        files => format!("{} documents", thousands(files)),
    };
    ui.line(&format!(
        "✓ {files} can be searched, in {} passages",
        thousands(done.counts.chunks)
    ))?;
    if let Some(vectors) = done.vectors_line() {
        ui.note(&format!(
            "{vectors}. Searches by words are complete; each search adds vectors, `memory-forge index` all of them"
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
) -> Result<Exit, CommandError> {
    let manifest = Manifest::load(workspace)?;
    let mode = manifest.as_ref().map_or(Mode::Absent, Manifest::mode);
    match (mode, manifest.as_ref().and_then(Manifest::age)) {
        (Mode::Full, Some(Age::Current)) => return health(workspace, settings, ui),
        (Mode::Full, Some(age)) => {
            let version = manifest.as_ref().and_then(Manifest::version);
            let version = printable(version.unwrap_or_default()).into_owned();
            return Err(match age {
                Age::Newer => CommandError::failure(format!(
                    "`_MANIFEST.md` is of version {version}, newer than {VERSION}"
                ))
                .hint("Update memory-forge"),
                _ => CommandError::failure(format!(
                    "`_MANIFEST.md` is of version {version}, older than {VERSION}"
                ))
                .hint("Run `memory-forge upgrade`; it keeps every note as it is"),
            });
        }
        _ => {}
    }
    let adopts = mode == Mode::Compatible;
    let (about, asked) = match about {
        Some(about) => (about.to_owned(), false),
        None if adopts || args.yes || args.dry_run || !ui.can_ask() => (name_of(workspace), false),
        None => match ui.ask("What are you working on?")? {
            Some(answer) if answer.is_empty() => (name_of(workspace), true),
            Some(answer) => (answer, true),
            None => {
                ui.note("Nothing was changed");
                return Ok(Exit::Success);
            }
        },
    };
    let mut proposal = if adopts {
        scaffold::plan(workspace, &about, settings.now)?
    } else {
        let reading = ui.busy("Reading notes");
        let applied = organise::begin(workspace, &about, settings.now)?;
        drop(reading);
        for remark in &applied.remarks {
            ui.warn(&printable(remark));
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
    let agreed = asked && proposal.files.iter().all(|it| it.before.is_none());
    let exit = settle(workspace, &proposal, next, agreed, args, settings, ui)?;
    if !adopts {
        mention_catch_alls(workspace, settings, ui);
    }
    Ok(exit)
}

/// Notes folders and notes that were left where they are.
fn mention_catch_alls(workspace: &Workspace, settings: &Settings, ui: &mut Ui) {
    let plan = organise::look(workspace, settings.now);
    let folders: Vec<String> = plan
        .catch_alls
        .iter()
        .map(|it| format!("`{it}/`"))
        .collect();
    if !folders.is_empty() {
        ui.note(&printable(&format!(
            "{} hold whatever fits nowhere else, and nothing is found there again; \
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
fn health(workspace: &Workspace, settings: &Settings, ui: &mut Ui) -> Result<Exit, CommandError> {
    let reading = ui.busy("Checking");
    let survey = Survey::of(workspace, settings.now);
    let report = CheckView::Lint.run(&survey);
    let broken = survey.links().missing().count();
    let untracked = match survey.manifest() {
        Some(manifest) => Untracked::of(workspace, survey.tree(), manifest),
        None => Untracked::default(),
    };
    drop(reading);
    let (warnings, infos) = (
        report.count(Severity::Warning),
        report.count(Severity::Info),
    );
    let untracked = untracked.folders.len() + untracked.loose.len();
    let line = |label: &str, good: bool, said: String, next: &str| {
        if good {
            format!("{label}: {said}")
        } else {
            format!("{label}: {said} -- see `{next}`")
        }
    };
    ui.line(&line(
        "Lint",
        warnings + infos == 0,
        match warnings + infos {
            0 => "all checks passed".to_owned(),
            _ => format!("{warnings} warnings, {infos} info"),
        },
        "memory-forge lint",
    ))?;
    ui.line(&line(
        "Wikilinks",
        broken == 0,
        match broken {
            0 => "zero broken".to_owned(),
            n => format!("{n} broken"),
        },
        "memory-forge links check",
    ))?;
    ui.line(&line(
        "Untracked",
        untracked == 0,
        match untracked {
            0 => "none".to_owned(),
            n => format!("{n} folders and files"),
        },
        "memory-forge init --organise",
    ))?;
    let healthy = warnings + broken == 0;
    ui.line(if healthy {
        "Overall: healthy"
    } else {
        "Overall: needs attention"
    })?;
    Ok(if healthy {
        Exit::Success
    } else {
        Exit::Failure
    })
}

const NEXT: &str = "
Next:
  memory-forge save context <name>   Write something down, or use an editor
  memory-forge search \"<question>\"   Find it again
  memory-forge setup                 Connect your agents, so that they do both";

/// Notes what a new user may not expect of this directory.
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

/// Lower bound of notes without an order for which a hint is shown.
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
    agreed: bool,
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
    if !ui.confirm(&format!("Prepare `{place}` like this?"), args.yes || agreed)? {
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
    if !next.is_empty() {
        ui.note(next);
    }
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
        Some(_) => paths::path_in(workspace, settings, file)?,
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
        let folders: Vec<String> = plan.catch_alls.iter().map(|it| format!("{it}/")).collect();
        if !folders.is_empty() {
            let folders = folders.join(", ");
            ui.line(&printable(&format!(
                "Catch-all folders to dissolve: {folders}"
            )))?;
        }
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
    let path = paths::path_in(workspace, settings, file)?;
    let plan = Plan::parse(&workspace.read_text(&path)?, path.as_str())?;
    let is_new = Manifest::read(workspace).is_none();
    let mut applied = organise::apply(workspace, &plan, settings.now)?;
    for remark in &applied.remarks {
        ui.warn(&printable(remark));
    }
    if is_new && !applied.proposal.is_empty() && !args.no_claude_md {
        setup::propose_lines(workspace, &mut applied.proposal)?;
    }
    let next = "`memory-forge doctor --undo` takes all of it back";
    settle(
        workspace,
        &applied.proposal,
        next,
        false,
        args,
        settings,
        ui,
    )
}

fn as_json(plan: &Plan) -> serde_json::Value {
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

fn name_of(workspace: &Workspace) -> String {
    let name = workspace.root().file_name();
    name.map_or_else(String::new, |it| it.to_string_lossy().into_owned())
}
