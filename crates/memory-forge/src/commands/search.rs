//! `search`: a question to the memory, answered with passages and their
//! places. It refreshes the index first and never changes a Markdown file.

use clap::Args;
use forge_app::corrections::Correction;
use forge_app::counts::count_noun;
use forge_app::index::DocumentKind;
use forge_app::recall::pack::{self, ContextPacking};
use forge_app::recall::{self, RecallAnswer, RecallHit, RecallMode, RecallQuery, context, snippet};
use forge_app::search::{SearchRequest, SearchRetractions, SearchScope};
use forge_app::tokens::{Tokenizer, count_tokens};
use forge_app::workspace::Workspace;
use jiff::civil::Date;

use crate::choice;
use crate::hits::{
    describe_mode, explain_rank, hit_json, missing_line, nearest, put_verdict, used_files,
};
use crate::paths;
use crate::report::{CommandError, CommandExit};
use crate::servers::shared_index;
use crate::settings::Settings;
use crate::ui::{Ui, escape_hidden, style};

mod editor;
mod evidence;
mod picker;
mod rendered;
mod sources;

/// Find passages that answer a question or contain some words
///
/// The index is brought up to date before every search. An exact string that
/// is there is always found: put it in quotes.
#[derive(Debug, Args)]
#[command(after_help = "\
Examples:
  memory-forge search how do refunds work
  memory-forge search                                         Ask, and choose while you type
  memory-forge search '\"idempotency key\"' --mode text
  memory-forge search retry policy --budget 800 --context     Evidence for a prompt
  memory-forge search retry policy --as-of v1.4               What was known then
  memory-forge search mike --scope sources                    Ask your other workspaces
  memory-forge search retry policy --scope org                Ask the whole organisation
  memory-forge search cargo test --scope evidence             What worked and what failed
  memory-forge search retry policy --open 1                   Open the first result
  memory-forge search -- --max-files                          Words that look like flags")]
pub(crate) struct SearchArgs {
    /// The question, or words to look for; without any, a terminal asks and
    /// narrows while you type
    #[arg(value_name = "QUERY")]
    pub(crate) query: Vec<String>,

    /// Which documents to look at [default: knowledge, or org where
    /// `search.engine` is `server`]
    #[arg(long, short, value_parser = choice::parser::<SearchScope>())]
    pub(crate) scope: Option<SearchScope>,

    /// How to search [default: `search.mode` of the configuration]
    #[arg(long, short, value_parser = choice::parser::<RecallMode>())]
    pub(crate) mode: Option<RecallMode>,

    /// Show at most this many passages [default: `search.limit`, 5]
    #[arg(long, short = 'n', value_name = "N", value_parser = clap::value_parser!(u32).range(1..))]
    pub(crate) limit: Option<u32>,

    /// Fit the evidence into this many tokens and name what was left out
    #[arg(long, value_name = "TOKENS", value_parser = clap::value_parser!(u32).range(1..))]
    pub(crate) budget: Option<u32>,

    /// Only documents of these kinds, separated by commas
    #[arg(long = "type", value_name = "KIND", value_delimiter = ',', value_parser = choice::parser::<DocumentKind>())]
    pub(crate) kinds: Vec<DocumentKind>,

    /// At most one passage of each file
    #[arg(long)]
    pub(crate) unique: bool,

    /// Only documents dated on or after this day
    #[arg(long, value_name = "DATE")]
    pub(crate) since: Option<String>,

    /// Search the tree as it was at this git revision or date
    #[arg(long, value_name = "REV_OR_DATE")]
    pub(crate) as_of: Option<String>,

    /// Say for each passage why it ranks where it does
    #[arg(long)]
    pub(crate) explain: bool,

    /// Show weak results also where nothing is relevant
    #[arg(long)]
    pub(crate) weak: bool,

    /// Open result N in `$EDITOR` at its line
    #[arg(long, value_name = "N", conflicts_with_all = ["json", "context"], value_parser = clap::value_parser!(u32).range(1..))]
    pub(crate) open: Option<u32>,

    /// Print the result as JSON
    #[arg(long, conflicts_with = "context")]
    pub(crate) json: bool,

    /// Print the passages for a prompt, fenced as data
    #[arg(long)]
    pub(crate) context: bool,
}

impl SearchArgs {
    /// Returns the words as one question.
    pub(crate) fn question(&self) -> String {
        self.query.join(" ")
    }
}

pub(crate) fn run_search(
    args: SearchArgs,
    settings: &Settings,
    ui: &mut Ui,
) -> Result<CommandExit, CommandError> {
    let question = args.question();
    let since = args.since.as_deref().map(parse_since).transpose()?;
    if picker::asks_question(&args, ui) {
        return picker::pick_hit(&args, since, settings, ui);
    }
    if args.query.is_empty() {
        return Err(CommandError::usage("Missing: `<QUERY>...`")
            .hint("Run `memory-forge search --help` to see its options"));
    }
    if question.trim().is_empty() {
        return Err(CommandError::usage("The query is empty")
            .hint("Add the words to search for: `memory-forge search retry policy`"));
    }
    if args.scope == Some(SearchScope::Evidence) {
        return evidence::run_evidence_search(&args, since, settings, ui);
    }
    let mut memory = crate::library::open_library(paths::open_workspace(settings, ui)?, settings);
    let workspace = memory.workspace.clone();
    let limit = args
        .limit
        .map_or(workspace.config().search.limit, |n| n as usize);
    let request = SearchRequest {
        scope: args.scope,
        mode: args.mode,
        // A budget decides how many passages are shown, not the default limit.
        limit: if args.budget.is_some() && args.limit.is_none() {
            MAX_BUDGET_PASSAGES
        } else {
            limit
        },
        unique: args.unique,
        kinds: args.kinds.clone(),
        since,
        explain: args.explain,
        keep_noise: args.weak,
        ..SearchRequest::new(&question, limit, settings.now)
    };
    let scope = request.effective_scope();
    let is_here = args.as_of.is_none() && !matches!(scope, SearchScope::Sources | SearchScope::Org);
    let mut answer = if is_here {
        let mut watch = ui.watch_stages();
        let mut shared = |ask: &RecallQuery| {
            shared_index::answer_if_configured(&workspace, ask, settings, Some(ui))
        };
        let found =
            forge_app::search::run_search(&mut memory, &request, Some(&mut shared), &mut watch)?;
        ui.show_remarks(&found.remarks);
        found.answer
    } else {
        let retractions = SearchRetractions::read(&workspace)?;
        let ask = retractions.prepare_query(&workspace, &request);
        match (&args.as_of, scope) {
            (_, SearchScope::Sources) => {
                return sources::run_sources_search(&args, &ask, &workspace, settings, ui);
            }
            (Some(_), SearchScope::Org) => {
                return Err(CommandError::usage(
                    "`--as-of` searches the history of this workspace; it cannot be combined with `--scope org`",
                ));
            }
            (Some(rev), _) => search_past(&workspace, rev, &ask, ui)?,
            (None, _) => {
                let (answer, remarks) =
                    shared_index::ask_shared_index(&workspace, &ask, settings, Some(ui))?;
                ui.show_remarks(&remarks);
                answer
            }
        }
    };
    if !is_here {
        request.withhold_noise(&mut answer);
    }
    if let Some(number) = args.open {
        return editor::open_hit(&answer, number as usize, &workspace, settings, ui);
    }
    if answer.undated > 0 {
        ui.note(&format!(
            "Left out {} without a date (`--since`)",
            count_noun(answer.undated, "document")
        ));
    }
    if let Some(note) = &answer.mode_note {
        ui.note(&format!("Searched by keyword only: {note}"));
    }
    let nonce = settings.nonce();
    let packing = args
        .budget
        .map(|budget| fit_budget(&args, &answer, budget as usize, &nonce));
    // Only shown files count as used; `forget` chooses by these counts.
    if let Some(index) = memory.index() {
        index.record_uses(
            &used_files(&answer, packing.as_ref()),
            &settings.now.to_string(),
        );
    }
    if args.json {
        ui.print_json(&answer_json(&question, &answer, packing.as_ref()))?;
    } else if answer.hits.is_empty() && !args.context {
        show_nothing(&answer, ui)?;
    } else if args.context {
        let (pieces, left_out) = match &packing {
            Some(p) => (p.pieces.clone(), p.left_out.clone()),
            None => (context::whole_pieces(&answer), Vec::new()),
        };
        ui.print(&context::render_context(
            &answer, &pieces, &left_out, &nonce,
        ))?;
    } else {
        show_answer(&answer, packing.as_ref(), &args, settings, ui)?;
    }
    if let Some(p) = &packing {
        note_budget(p, &answer, args.budget.unwrap_or(0), ui);
    }
    Ok(if answer.hits.is_empty() {
        CommandExit::Failure
    } else {
        CommandExit::Success
    })
}

/// Upper bound for the passages that are ranked for a budget.
const MAX_BUDGET_PASSAGES: usize = 40;

/// Searches the files as they were at a revision, by full text: the vectors of
/// the past are not kept.
fn search_past(
    workspace: &Workspace,
    rev: &str,
    ask: &RecallQuery,
    ui: &mut Ui,
) -> Result<RecallAnswer, CommandError> {
    let bar = ui.show_progress("Reading", 0);
    let past = forge_app::knowledge::past::index_revision(workspace, rev, &mut |done, total| {
        bar.set(done as u64, total as u64)
    })?;
    drop(bar);
    ui.note(&format!(
        "Searching the tree of commit {} ({})",
        &past.commit[..past.commit.len().min(12)],
        past.date
    ));
    let ask = RecallQuery {
        mode: RecallMode::Text,
        ..ask.clone()
    };
    Ok(recall::rank_passages(
        &past.index,
        &past.catalogue,
        None,
        &ask,
    )?)
}

fn parse_since(text: &str) -> Result<Date, CommandError> {
    text.trim().parse().map_err(|_| {
        CommandError::usage(format!("`--since {text}` is not a day"))
            .hint("Write it as `2026-03-01`")
    })
}

/// Packs the evidence into a budget of o200k tokens. The count is of what is
/// printed: the whole text for `--context`, the passages otherwise.
fn fit_budget(
    args: &SearchArgs,
    answer: &RecallAnswer,
    budget: usize,
    nonce: &str,
) -> ContextPacking {
    let tokenizer = Tokenizer::O200k;
    pack::pack_hits(&answer.hits, budget, &|pieces, left_out| {
        if args.context {
            return count_tokens(
                tokenizer,
                &context::render_context(answer, pieces, left_out, nonce),
            );
        }
        pieces
            .iter()
            .map(|p| count_tokens(tokenizer, &p.text))
            .sum()
    })
}

fn note_budget(packing: &ContextPacking, answer: &RecallAnswer, budget: u32, ui: &mut Ui) {
    let mut text = format!("{} of {budget} tokens (o200k) used", packing.used);
    if !packing.left_out.is_empty() {
        let names: Vec<String> = packing
            .left_out
            .iter()
            .take(5)
            .map(|i| context::source_reference(&answer.hits[*i]))
            .collect();
        let more = packing.left_out.len() - names.len();
        text += &format!("; left out: {}", names.join(", "));
        if more > 0 {
            text += &format!(" and {more} more");
        }
        text += ". A larger `--budget` shows them";
    }
    ui.note(&text);
}

/// Upper bound for the lines of a passage that are shown to people.
const MAX_SNIPPET_LINES: usize = 4;

fn show_answer(
    answer: &RecallAnswer,
    packing: Option<&ContextPacking>,
    args: &SearchArgs,
    settings: &Settings,
    ui: &mut Ui,
) -> Result<(), CommandError> {
    let width = settings.width.clamp(40, 120);
    let shown = packing.map_or(answer.hits.len(), |p| p.pieces.len());
    ui.print_line(&format!(
        "{} ({}):",
        count_noun(shown, "result"),
        describe_mode(answer)
    ))?;
    if let Some(missing) = missing_line(answer) {
        let warning = style::WARNING;
        ui.print_line(&format!("{warning}{missing}{warning:#}"))?;
    }
    let pieces: Vec<(&RecallHit, String, usize)> = match packing {
        Some(p) => p
            .pieces
            .iter()
            .map(|piece| {
                let hit = &answer.hits[piece.hit];
                // A piece may begin inside its passage, and matches count from
                // the passage's start.
                let start = hit.passage.text.find(&piece.text).unwrap_or(0);
                (hit, piece.text.clone(), start)
            })
            .collect(),
        None => answer
            .hits
            .iter()
            .map(|hit| {
                let window = snippet::excerpt(
                    &hit.passage.text,
                    &hit.matches,
                    &hit.passage.headings,
                    width * MAX_SNIPPET_LINES,
                );
                (
                    hit,
                    hit.passage.text[window.clone()].to_owned(),
                    window.start,
                )
            })
            .collect(),
    };
    for (hit, text, start) in pieces {
        show_hit(hit, &text, start, args.explain, settings, ui)?;
    }
    note_corrections(answer, ui);
    if answer.more > 0 {
        let passages = if answer.more == 1 {
            "passage"
        } else {
            "passages"
        };
        ui.note(&format!(
            "{} more {passages} matched; `-n` shows more",
            answer.more
        ));
    }
    Ok(())
}

/// Notes corrected facts of passages that matched and rank below the best,
/// because the facts are wrong.
fn note_corrections(answer: &RecallAnswer, ui: &mut Ui) {
    for note in context::extra_correction_notes(answer) {
        ui.note(&escape_hidden(&note));
    }
}

/// Returns the headings above a hit; the title of its document where there are
/// none, as in pages that have it in their front matter.
fn heading_of(hit: &RecallHit) -> String {
    if hit.passage.headings.is_empty() {
        hit.passage.title.clone()
    } else {
        hit.passage.headings.join(" > ")
    }
}

fn show_hit(
    hit: &RecallHit,
    text: &str,
    start: usize,
    explain: bool,
    settings: &Settings,
    ui: &mut Ui,
) -> Result<(), CommandError> {
    let p = &hit.passage;
    let (path, heading) = (style::PATH, style::HEADING);
    let label = match hit.label().name() {
        "strong" => style::GOOD,
        "partial" => style::WARNING,
        _ => style::FAINT,
    };
    ui.print_line(&format!(
        "\n{path}{}{path:#}  {heading}{}{heading:#}  {label}[{}]{label:#}",
        escape_hidden(&format!("{}:{}", p.path, first_shown_line(hit, start))),
        escape_hidden(&heading_of(hit)),
        hit.label().name()
    ))?;
    if let Some(note) = context::standing_note(hit) {
        let warning = style::WARNING;
        ui.print_line(&format!("    {warning}{}{warning:#}", escape_hidden(&note)))?;
    }
    if let Some(note) = context::translation_note(hit) {
        let faint = style::FAINT;
        ui.print_line(&format!("    {faint}{}{faint:#}", escape_hidden(&note)))?;
    }
    let careful = context::order_note(hit).into_iter();
    for note in context::correction_notes(hit).into_iter().chain(careful) {
        let warning = style::WARNING;
        ui.print_line(&format!("    {warning}{}{warning:#}", escape_hidden(&note)))?;
    }
    let text = if settings.stdout_terminal {
        rendered::for_terminal(text, start, &hit.matches)
    } else {
        highlight_matches(text, start, &hit.matches)
    };
    for line in text.lines() {
        if !line.trim().is_empty() {
            ui.print_line(&format!("    {line}"))?;
        }
    }
    if explain {
        let faint = style::FAINT;
        ui.print_line(&format!("    {faint}why: {}{faint:#}", explain_rank(hit)))?;
    }
    Ok(())
}

/// Reports that nothing is relevant, and what is nearest.
fn show_nothing(answer: &RecallAnswer, ui: &mut Ui) -> Result<(), CommandError> {
    if answer.withheld == 0 {
        ui.print_line("No matching results found.")?;
    } else {
        ui.print_line("Nothing relevant found. The nearest documents:")?;
    }
    for (title, place) in nearest(answer) {
        let path = style::PATH;
        ui.print_line(&format!("  {title}  {path}{place}{path:#}"))?;
    }
    if let Some(missing) = missing_line(answer) {
        ui.print_line(&missing)?;
    }
    match answer.withheld {
        0 => {}
        1 => ui.note("1 weak result is not shown; `--weak` shows it"),
        n => ui.note(&format!(
            "{n} weak results are not shown; `--weak` shows them"
        )),
    }
    Ok(())
}

/// The line of the file on which the shown part of a passage begins.
fn first_shown_line(hit: &RecallHit, start: usize) -> usize {
    let (first, last) = hit.passage.lines;
    let above = hit.passage.text[..start].matches('\n').count();
    (first + above).min(last)
}

/// Marks the matches in a text of a file, safe for a terminal.
fn highlight_matches(text: &str, start: usize, matches: &[std::ops::Range<usize>]) -> String {
    let mark = style::MATCH;
    let mut out = String::new();
    let mut at = 0;
    for m in matches {
        let (Some(from), Some(to)) = (m.start.checked_sub(start), m.end.checked_sub(start)) else {
            continue;
        };
        if from < at || to > text.len() {
            continue;
        }
        out += &escape_hidden(&text[at..from]);
        out += &format!("{mark}{}{mark:#}", escape_hidden(&text[from..to]));
        at = to;
    }
    out += &escape_hidden(&text[at..]);
    out
}

fn answer_json(
    question: &str,
    answer: &RecallAnswer,
    packing: Option<&ContextPacking>,
) -> serde_json::Value {
    let results: Vec<_> = match packing {
        Some(p) => p
            .pieces
            .iter()
            .map(|piece| hit_json(&answer.hits[piece.hit], &piece.text, piece.cut))
            .collect(),
        None => answer
            .hits
            .iter()
            .map(|h| hit_json(h, &h.passage.text, false))
            .collect(),
    };
    let mut value = serde_json::json!({
        "version": 1,
        "query": question,
        "mode": answer.mode.name(),
        "embedded": { "passages": answer.embedded.0, "of": answer.embedded.1 },
        "results": results,
        "more": answer.more,
    });
    if let Some(note) = &answer.mode_note {
        value["modeNote"] = note.as_str().into();
    }
    put_verdict(&mut value, answer);
    if !answer.corrections.is_empty() {
        value["corrections"] = answer.corrections.iter().map(Correction::to_json).collect();
    }
    if let Some(p) = packing {
        let left: Vec<String> = p
            .left_out
            .iter()
            .map(|i| context::source_reference(&answer.hits[*i]))
            .collect();
        value["budget"] = serde_json::json!({ "used": p.used, "tokenizer": "o200k", "counts": "text of results", "leftOut": left });
    }
    value
}
