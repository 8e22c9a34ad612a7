//! `search`: a question to the memory, answered with passages and their
//! places. It refreshes the index first and never changes a Markdown file.

use clap::{Args, ValueEnum};
use forge::corrections::{Correction, Corrections};
use forge::index::Standing;
use forge::knowledge::forget;
use forge::recall::pack::{self, Packing};
use forge::recall::{self, Answer, Ask, Hit, context, snippet};
use forge::tokens::{Tokenizer, count_tokens};
use forge::workspace::{SearchMode, Workspace};
use jiff::civil::Date;

use crate::commands::engine;
use crate::memory;
use crate::report::{CommandError, Exit};
use crate::settings::Settings;
use crate::ui::{Ui, printable, style};
use forge::library::Asked;

mod sources;

/// Find passages that answer a question or contain some words
///
/// The index is brought up to date before every search. An exact string that
/// is there is always found: put it in quotes.
#[derive(Debug, Args)]
#[command(after_help = "\
Examples:
  memory-forge search how do refunds work
  memory-forge search '\"idempotency key\"' --mode text
  memory-forge search retry policy --budget 800 --context     Evidence for a prompt
  memory-forge search retry policy --as-of v1.4               What was known then
  memory-forge search mike --scope sources                    Ask your other workspaces
  memory-forge search retry policy --scope org                Ask the whole organisation
  memory-forge search -- --max-files                          Words that look like flags")]
pub(crate) struct SearchArgs {
    /// The question, or words to look for
    #[arg(required = true, value_name = "QUERY")]
    pub(crate) query: Vec<String>,

    /// Which documents to look at [default: knowledge, or org where
    /// `search.engine` is `server`]
    #[arg(long, short)]
    pub(crate) scope: Option<Scope>,

    /// How to look; by default as `search.mode` of the configuration says
    #[arg(long, short)]
    pub(crate) mode: Option<Mode>,

    /// Show at most this many passages [default: `search.limit`, 5]
    #[arg(long, short = 'n', value_name = "N", value_parser = clap::value_parser!(u32).range(1..))]
    pub(crate) limit: Option<u32>,

    /// Fit the evidence into this many tokens and name what was left out
    #[arg(long, value_name = "TOKENS", value_parser = clap::value_parser!(u32).range(1..))]
    pub(crate) budget: Option<u32>,

    /// Only documents of these kinds, separated by commas
    #[arg(long = "type", value_name = "KIND", value_delimiter = ',')]
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

    /// Print the result as JSON
    #[arg(long, conflicts_with = "context")]
    pub(crate) json: bool,

    /// Print the passages for a prompt, fenced as data
    #[arg(long)]
    pub(crate) context: bool,
}

impl SearchArgs {
    /// The words as one question.
    pub(crate) fn question(&self) -> String {
        self.query.join(" ")
    }
}

#[derive(Clone, Copy, Debug, PartialEq, Eq, ValueEnum)]
pub(crate) enum Scope {
    /// `knowledge/`
    Knowledge,
    /// The state of the current work
    State,
    /// The manifest and the closets of every hub
    Closets,
    /// What agents remembered for themselves
    Agents,
    /// What was put away
    Archive,
    /// Everything of this workspace, archived documents last
    All,
    /// Your other workspaces, as `memory-forge sources` lists them
    Sources,
    /// Everything that your organisation pushed to its shared index
    Org,
}

impl Scope {
    /// The scopes of the index to look in; none means all of them.
    pub(crate) fn scopes(self) -> Vec<&'static str> {
        match self {
            Scope::Knowledge | Scope::Org => vec!["knowledge", "routing"],
            Scope::State => vec!["state"],
            Scope::Agents => vec!["agents"],
            Scope::Archive => vec!["archive"],
            Scope::Closets | Scope::All | Scope::Sources => Vec::new(),
        }
    }

    pub(crate) fn asked(self) -> Asked {
        match self {
            Scope::State => Asked::State,
            Scope::Closets => Asked::Maps,
            Scope::All => Asked::Both,
            Scope::Knowledge | Scope::Agents | Scope::Archive => Asked::Index,
            Scope::Sources | Scope::Org => Asked::Index,
        }
    }
}

impl Mode {
    pub(crate) fn recall(self) -> recall::Mode {
        match self {
            Mode::Hybrid => recall::Mode::Hybrid,
            Mode::Text => recall::Mode::Text,
            Mode::Vector => recall::Mode::Vector,
        }
    }
}

impl DocumentKind {
    pub(crate) fn index(self) -> forge::index::Kind {
        match self {
            DocumentKind::Skill => forge::index::Kind::Skill,
            DocumentKind::Knowledge => forge::index::Kind::Knowledge,
        }
    }
}

#[derive(Clone, Copy, Debug, PartialEq, Eq, ValueEnum)]
pub(crate) enum Mode {
    /// Words and meaning together
    Hybrid,
    /// Words only
    Text,
    /// Meaning only
    Vector,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq, ValueEnum)]
pub(crate) enum DocumentKind {
    /// Documents with a name and a description in their front matter
    Skill,
    /// All others
    Knowledge,
}

pub(crate) fn run(
    args: SearchArgs,
    settings: &Settings,
    ui: &mut Ui,
) -> Result<Exit, CommandError> {
    let question = args.question();
    if question.trim().is_empty() {
        return Err(CommandError::usage("The query is empty")
            .hint("Say what to look for: `memory-forge search retry policy`"));
    }
    let since = args.since.as_deref().map(parse_since).transpose()?;
    let mut memory = crate::memory::library(memory::workspace(settings, ui)?, settings);
    let workspace = memory.workspace.clone();
    let scope = args.scope.unwrap_or(Scope::Knowledge);
    let limit = args
        .limit
        .map_or(workspace.config().search.limit, |n| n as usize);
    let mode = args
        .mode
        .map_or_else(|| configured_mode(&workspace), Mode::recall);
    let forgotten = forget::forgotten(&workspace)?;
    let corrections = Corrections::read(&workspace)?;
    let ask = Ask {
        question: &question,
        mode,
        // A budget decides how many passages there are, not the default limit.
        limit: if args.budget.is_some() && args.limit.is_none() {
            BUDGET_LIMIT
        } else {
            limit
        },
        unique: args.unique,
        kinds: args.kinds.iter().map(|k| k.index()).collect(),
        scopes: scope.scopes(),
        since,
        today: Some(forge::document::day_of(settings.now)),
        forgotten: &forgotten,
        corrections: &corrections,
        explain: args.explain,
    };
    if scope == Scope::Sources {
        return sources::run(&args, &ask, &workspace, settings, ui);
    }
    let answer = match &args.as_of {
        Some(_) if scope == Scope::Org => {
            return Err(CommandError::usage(
                "`--as-of` asks the history of this workspace; it does not go with `--scope org`",
            ));
        }
        Some(rev) => past(&workspace, rev, &ask, ui)?,
        None => {
            let (shared, remarks) = match args.scope {
                None => engine::answer_if_configured(&workspace, &ask, settings, Some(ui)),
                Some(Scope::Org) => {
                    let (answer, remarks) = engine::answer(&workspace, &ask, settings, Some(ui))?;
                    (Some(answer), remarks)
                }
                Some(_) => (None, Vec::new()),
            };
            ui.remarks(&remarks);
            match shared {
                Some(answer) => answer,
                None => {
                    let asked = memory.ask(&ask, scope.asked(), settings.now, &mut ui.watch());
                    let (answer, remarks) = asked?;
                    ui.remarks(&remarks);
                    answer
                }
            }
        }
    };
    if answer.undated > 0 {
        ui.note(&format!(
            "{} document(s) without a date were left out by `--since`",
            answer.undated
        ));
    }
    if let Some(note) = &answer.mode_note {
        ui.note(&format!("Searched by full text alone: {note}"));
    }
    let nonce = settings.nonce();
    let packing = args
        .budget
        .map(|budget| fit(&args, &answer, budget as usize, &nonce));
    if let Some(index) = memory.index() {
        index.touch(&used(&answer, packing.as_ref()), &settings.now.to_string());
    }
    if args.json {
        ui.json(&json(&question, &answer, packing.as_ref()))?;
    } else if args.context {
        let (pieces, left_out) = match &packing {
            Some(p) => (p.pieces.clone(), p.left_out.clone()),
            None => (context::whole(&answer), Vec::new()),
        };
        ui.print(&context::render(&answer, &pieces, &left_out, &nonce))?;
    } else {
        show(
            &answer,
            packing.as_ref(),
            &args,
            settings.width.clamp(40, 120),
            ui,
        )?;
    }
    if let Some(p) = &packing {
        say_budget(p, &answer, args.budget.unwrap_or(0), ui);
    }
    Ok(Exit::Success)
}

/// The files that are shown, each once: only those count as used.
pub(crate) fn used<'a>(answer: &'a Answer, packing: Option<&Packing>) -> Vec<&'a str> {
    let shown: Vec<&Hit> = match packing {
        Some(packing) => packing.pieces.iter().map(|p| &answer.hits[p.hit]).collect(),
        None => answer.hits.iter().collect(),
    };
    let mut paths: Vec<&str> = shown.iter().map(|h| h.passage.path.as_str()).collect();
    paths.sort_unstable();
    paths.dedup();
    paths
}

/// Passages that are ranked when a budget says how many are shown.
const BUDGET_LIMIT: usize = 40;

pub(crate) fn configured_mode(workspace: &Workspace) -> recall::Mode {
    match workspace.config().search.mode {
        SearchMode::Hybrid => recall::Mode::Hybrid,
        SearchMode::Text => recall::Mode::Text,
        SearchMode::Vector => recall::Mode::Vector,
    }
}

/// Asks the files as they were at a revision, by full text: the vectors of the
/// past are not kept.
fn past(workspace: &Workspace, rev: &str, ask: &Ask, ui: &mut Ui) -> Result<Answer, CommandError> {
    let bar = ui.progress("Reading", 0);
    let past = forge::knowledge::past::at(workspace, rev, &mut |done, total| {
        bar.set(done as u64, total as u64)
    })?;
    drop(bar);
    ui.note(&format!(
        "Searching the tree of commit {} ({})",
        &past.commit[..past.commit.len().min(12)],
        past.date
    ));
    let ask = Ask {
        mode: recall::Mode::Text,
        ..ask.clone()
    };
    Ok(recall::ask(&past.index, &past.catalogue, None, &ask)?)
}

fn parse_since(text: &str) -> Result<Date, CommandError> {
    text.trim().parse().map_err(|_| {
        CommandError::usage(format!("`--since {text}` is not a day"))
            .hint("Write it as `2026-03-01`")
    })
}

/// Packs the evidence into a budget of o200k tokens. What is counted is what is
/// printed: the whole text for `--context`, the passages otherwise.
fn fit(args: &SearchArgs, answer: &Answer, budget: usize, nonce: &str) -> Packing {
    let tokenizer = Tokenizer::O200k;
    pack::fit(&answer.hits, budget, &|pieces, left_out| {
        if args.context {
            return count_tokens(tokenizer, &context::render(answer, pieces, left_out, nonce));
        }
        pieces
            .iter()
            .map(|p| count_tokens(tokenizer, &p.text))
            .sum()
    })
}

fn say_budget(packing: &Packing, answer: &Answer, budget: u32, ui: &mut Ui) {
    let mut text = format!("{} of {budget} tokens (o200k) used", packing.used);
    if !packing.left_out.is_empty() {
        let names: Vec<String> = packing
            .left_out
            .iter()
            .take(5)
            .map(|i| context::source(&answer.hits[*i]))
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

/// Lines of a passage that are shown to people.
const SNIPPET_LINES: usize = 4;

fn show(
    answer: &Answer,
    packing: Option<&Packing>,
    args: &SearchArgs,
    width: usize,
    ui: &mut Ui,
) -> Result<(), CommandError> {
    if answer.hits.is_empty() {
        return ui.line("No matching results found.");
    }
    let shown = packing.map_or(answer.hits.len(), |p| p.pieces.len());
    ui.line(&format!(
        "Found {shown} relevant result(s), searched by {}:",
        mode_line(answer)
    ))?;
    let pieces: Vec<(&Hit, String, usize)> = match packing {
        Some(p) => p
            .pieces
            .iter()
            .map(|piece| {
                let hit = &answer.hits[piece.hit];
                let start = hit.passage.text.find(&piece.text).unwrap_or(0);
                (hit, piece.text.clone(), start)
            })
            .collect(),
        None => answer
            .hits
            .iter()
            .map(|hit| {
                let window =
                    snippet::window(&hit.passage.text, &hit.matches, width * SNIPPET_LINES);
                (
                    hit,
                    hit.passage.text[window.clone()].to_owned(),
                    window.start,
                )
            })
            .collect(),
    };
    for (hit, text, start) in pieces {
        show_hit(hit, &text, start, args.explain, ui)?;
    }
    say_corrections(answer, ui);
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

/// Facts of passages that were found and do not stand among the best, because
/// they are wrong.
fn say_corrections(answer: &Answer, ui: &mut Ui) {
    for note in context::corrections_beside(answer) {
        ui.note(&printable(&note));
    }
}

fn show_hit(
    hit: &Hit,
    text: &str,
    start: usize,
    explain: bool,
    ui: &mut Ui,
) -> Result<(), CommandError> {
    let p = &hit.passage;
    let (path, heading) = (style::PATH, style::HEADING);
    ui.line(&format!(
        "\n{path}{}{path:#}  {heading}{}{heading:#}",
        printable(&format!("{}:{}", p.path, first_line(hit, start))),
        printable(&p.headings.join(" > "))
    ))?;
    if let Some(note) = context::standing(hit) {
        let warning = style::WARNING;
        ui.line(&format!("    {warning}{}{warning:#}", printable(&note)))?;
    }
    let careful = context::order(hit).into_iter();
    for note in context::corrections(hit).into_iter().chain(careful) {
        let warning = style::WARNING;
        ui.line(&format!("    {warning}{}{warning:#}", printable(&note)))?;
    }
    for line in highlighted(text, start, &hit.matches).lines() {
        if !line.trim().is_empty() {
            ui.line(&format!("    {line}"))?;
        }
    }
    if explain {
        let faint = style::FAINT;
        ui.line(&format!("    {faint}why: {}{faint:#}", why(hit)))?;
    }
    Ok(())
}

/// The line of the file on which the shown part of a passage begins.
fn first_line(hit: &Hit, start: usize) -> usize {
    let (first, last) = hit.passage.lines;
    let above = hit.passage.text[..start].matches('\n').count();
    (first + above).min(last)
}

/// Text from a file with its matches marked, safe for a terminal.
fn highlighted(text: &str, start: usize, matches: &[std::ops::Range<usize>]) -> String {
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
        out += &printable(&text[at..from]);
        out += &format!("{mark}{}{mark:#}", printable(&text[from..to]));
        at = to;
    }
    out += &printable(&text[at..]);
    out
}

pub(crate) fn mode_line(answer: &Answer) -> String {
    let (embedded, all) = answer.embedded;
    match answer.mode {
        recall::Mode::Text => "full text".to_owned(),
        mode if embedded < all => format!(
            "{} ({embedded} of {all} passages have a vector so far)",
            mode.name()
        ),
        recall::Mode::Vector => "vectors".to_owned(),
        recall::Mode::Hybrid => "full text and vectors".to_owned(),
    }
}

pub(crate) fn why(hit: &Hit) -> String {
    let e = &hit.evidence;
    let mut parts = vec![format!("score {:.3}", hit.score)];
    if let Some(rank) = e.text_rank {
        let terms: Vec<String> = hit
            .terms
            .iter()
            .map(|t| {
                let mut places = Vec::new();
                if t.body > 0 {
                    places.push(format!("{}× in the text", t.body));
                }
                if t.in_headings {
                    places.push("in a heading".to_owned());
                }
                if t.in_title {
                    places.push("in the title".to_owned());
                }
                format!(
                    "{} {:.2} ({})",
                    printable(&t.term),
                    t.score,
                    places.join(", ")
                )
            })
            .collect();
        parts.push(format!(
            "full text #{rank}, BM25 {:.2} = {}",
            e.bm25,
            terms.join(" + ")
        ));
    }
    if let Some(rank) = e.vector_rank {
        parts.push(format!("vectors #{rank}, cosine {:.3}", e.cosine));
    }
    if e.exact {
        parts.push("holds the question word for word".to_owned());
    }
    if e.literal {
        parts.push("holds the string".to_owned());
    }
    if e.dated {
        parts.push("dated in the time asked for".to_owned());
    }
    if hit.passage.standing != Standing::Current || hit.replaced_by.is_some() {
        parts.push("lowered: no longer current".to_owned());
    }
    if !hit.corrections.is_empty() {
        parts.push("behind the others: it repeats a corrected fact".to_owned());
    }
    if e.text_rank.is_none() && e.vector_rank.is_none() && !e.literal {
        parts.push("replaces a document that matched".to_owned());
    }
    parts.join("; ")
}

/// Rounded after it was made longer: `0.74` would else be written as
/// `0.7400000095367432`.
pub(crate) fn thousandths(value: f32) -> f64 {
    (f64::from(value) * 1000.0).round() / 1000.0
}

pub(crate) fn hit_json(hit: &Hit, text: &str, cut: bool) -> serde_json::Value {
    let p = &hit.passage;
    let e = &hit.evidence;
    let mut value = serde_json::json!({
        "path": p.path,
        "lines": [p.lines.0, p.lines.1],
        "title": p.title,
        "headings": p.headings,
        "type": p.kind.name(),
        "scope": p.scope,
        "date": p.date,
        "importance": p.importance,
        "score": thousandths(hit.score),
        "relevance": thousandths(hit.relevance),
        "text": text,
    });
    if cut {
        value["cut"] = true.into();
    }
    if let Some(note) = context::standing(hit) {
        value["standing"] = note.into();
    }
    if let Some(note) = context::order(hit) {
        value["careful"] = note.into();
    }
    if !hit.corrections.is_empty() {
        value["corrections"] = hit.corrections.iter().map(correction_json).collect();
    }
    value["why"] = serde_json::json!({
        "textRank": e.text_rank, "bm25": thousandths(e.bm25),
        "vectorRank": e.vector_rank, "cosine": thousandths(e.cosine),
        "exact": e.exact, "literal": e.literal, "dated": e.dated,
    });
    if !hit.terms.is_empty() {
        value["why"]["terms"] = hit
            .terms
            .iter()
            .map(|t| {
                serde_json::json!({ "term": t.term, "idf": thousandths(t.idf), "body": t.body,
                    "inHeadings": t.in_headings, "inTitle": t.in_title, "score": thousandths(t.score) })
            })
            .collect();
    }
    value
}

/// A correction as every answer has it.
pub(crate) fn correction_json(one: &Correction) -> serde_json::Value {
    serde_json::json!({
        "fact": one.fact, "instead": one.instead, "reason": one.reason,
        "date": one.date.map(|date| date.to_string()), "told": one.told(),
    })
}

fn json(question: &str, answer: &Answer, packing: Option<&Packing>) -> serde_json::Value {
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
    if !answer.corrections.is_empty() {
        value["corrections"] = answer.corrections.iter().map(correction_json).collect();
    }
    if let Some(p) = packing {
        let left: Vec<String> = p
            .left_out
            .iter()
            .map(|i| context::source(&answer.hits[*i]))
            .collect();
        value["budget"] = serde_json::json!({ "used": p.used, "tokenizer": "o200k", "counts": "text of results", "leftOut": left });
    }
    value
}
