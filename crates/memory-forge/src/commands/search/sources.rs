//! Runs `search --scope sources`: one question to the user's other workspaces,
//! shown workspace by workspace.

use forge_app::federation::{self, SourceRegistry, SourceResponse};
use forge_app::recall::pack::ContextPacking;
use forge_app::recall::{self, RecallAnswer, RecallQuery, context, snippet};
use forge_app::workspace::Workspace;

use super::{MAX_SNIPPET_LINES, SearchArgs, fit_budget, note_budget, show_hit};
use crate::hits::hit_json;
use crate::report::{CommandError, CommandExit};
use crate::settings::Settings;
use crate::ui::{Ui, escape_hidden, style};

pub(super) fn run_sources_search(
    args: &SearchArgs,
    ask: &RecallQuery,
    workspace: &Workspace,
    settings: &Settings,
    ui: &mut Ui,
) -> Result<CommandExit, CommandError> {
    if args.as_of.is_some() {
        return Err(CommandError::usage(
            "`--as-of` searches the history of this workspace; it cannot be combined with `--scope sources`",
        ));
    }
    let registry = SourceRegistry::of_home(settings.home.as_deref())?;
    let sources = registry.sources()?;
    let here = Some(workspace.root());
    let found =
        federation::search_sources(&sources, here, forge_app::embed::builtin_embedder(), ask);
    for one in &found {
        match &one.answer {
            Err(why) => ui.warn(&format!("Skipped `{}`: {why}", one.source.name)),
            Ok(answered) => answered
                .notes
                .iter()
                .for_each(|note| ui.note(&format!("{}: {note}", one.source.name))),
        }
    }
    if found.is_empty() && !args.json {
        return report_no_sources(&registry, sources.is_empty(), ui);
    }
    let all = join_answers(&found, ask.limit);
    let nonce = settings.nonce();
    let packing = args
        .budget
        .map(|budget| fit_budget(args, &all, budget as usize, &nonce));
    if args.json {
        ui.print_json(&sources_json(args, &found, &all, packing.as_ref()))?;
    } else if args.context {
        let (pieces, left_out) = match &packing {
            Some(p) => (p.pieces.clone(), p.left_out.clone()),
            None => (context::whole_pieces(&all), Vec::new()),
        };
        ui.print(&context::render_context(&all, &pieces, &left_out, &nonce))?;
    } else {
        show_sources(args, &found, &all, packing.as_ref(), settings, ui)?;
    }
    if let Some(packing) = &packing {
        note_budget(packing, &all, args.budget.unwrap_or(0), ui);
    }
    Ok(CommandExit::Success)
}

fn report_no_sources(
    registry: &SourceRegistry,
    empty: bool,
    ui: &mut Ui,
) -> Result<CommandExit, CommandError> {
    ui.print_line("No searchable sources registered.")?;
    let hint = if empty {
        "`memory-forge sources add NAME PATH` registers one"
    } else {
        "`memory-forge sources list` shows those that are kept out"
    };
    ui.note(&format!("{hint}; registry: {}", registry.path().display()));
    Ok(CommandExit::Success)
}

/// Joins all answers into one, for budgets and prompts.
fn join_answers(found: &[SourceResponse], limit: usize) -> RecallAnswer {
    let mut answers = found
        .iter()
        .filter_map(|one| one.answer.as_ref().ok())
        .map(|answered| answered.answer.clone());
    let first = answers.next().unwrap_or_else(RecallAnswer::empty);
    // Each workspace contributes up to the limit: one with many hits must not
    // hide the others.
    answers.fold(first, |all, one| {
        recall::merge_answers(all, one, limit * found.len())
    })
}

fn show_sources(
    args: &SearchArgs,
    found: &[SourceResponse],
    all: &RecallAnswer,
    packing: Option<&ContextPacking>,
    settings: &Settings,
    ui: &mut Ui,
) -> Result<(), CommandError> {
    let question = args.question();
    ui.print_line(&format!(
        "Searching {} source(s) for: {}",
        found.len(),
        escape_hidden(&question)
    ))?;
    let width = settings.width.clamp(40, 120);
    let kept = |path: &str, line: usize| {
        packing.is_none_or(|p| {
            p.pieces.iter().any(|piece| {
                let passage = &all.hits[piece.hit].passage;
                passage.path == path && passage.lines.0 == line
            })
        })
    };
    let mut total = 0;
    for one in found {
        let Ok(answered) = &one.answer else { continue };
        let heading = style::HEADING;
        ui.print_line(&format!(
            "\n{heading}=== {} ({}) ==={heading:#}",
            escape_hidden(&one.source.name),
            escape_hidden(&one.source.path.display().to_string())
        ))?;
        let hits = &answered.answer.hits;
        let shown = hits
            .iter()
            .filter(|h| kept(&h.passage.path, h.passage.lines.0));
        let mut count = 0;
        for hit in shown {
            let window = snippet::excerpt(
                &hit.passage.text,
                &hit.matches,
                &hit.passage.headings,
                width * MAX_SNIPPET_LINES,
            );
            let text = &hit.passage.text[window.clone()];
            show_hit(hit, text, window.start, args.explain, settings, ui)?;
            count += 1;
        }
        if count == 0 {
            ui.print_line("  No matches.")?;
        }
        if answered.answer.more > 0 {
            ui.print_line(&format!("  ... and {} more matches", answered.answer.more))?;
        }
        total += count;
    }
    super::note_corrections(all, ui);
    ui.print_line(&format!(
        "\nTotal hits: {total} across {} sources",
        found.len()
    ))
}

fn sources_json(
    args: &SearchArgs,
    found: &[SourceResponse],
    all: &RecallAnswer,
    packing: Option<&ContextPacking>,
) -> serde_json::Value {
    let sources: Vec<_> = found
        .iter()
        .map(|one| {
            let mut value = serde_json::json!({
                "name": one.source.name,
                "path": one.source.path,
            });
            match &one.answer {
                Err(why) => value["skipped"] = why.clone().into(),
                Ok(answered) => {
                    let hits = answered.answer.hits.iter();
                    value["mode"] = answered.answer.mode.name().into();
                    value["results"] = hits
                        .map(|hit| hit_json(hit, &hit.passage.text, false))
                        .collect();
                    value["more"] = answered.answer.more.into();
                    value["notes"] = answered.notes.clone().into();
                }
            }
            value
        })
        .collect();
    let mut value = serde_json::json!({
        "version": 1,
        "query": args.question(),
        "sources": sources,
    });
    if let Some(p) = packing {
        let left = p
            .left_out
            .iter()
            .map(|i| context::source_reference(&all.hits[*i]));
        let pieces = p.pieces.iter();
        value["budget"] = serde_json::json!({
            "used": p.used, "tokenizer": "o200k", "counts": "text of results",
            "pieces": pieces.map(|piece| hit_json(&all.hits[piece.hit], &piece.text, piece.cut))
                .collect::<Vec<_>>(),
            "leftOut": left.collect::<Vec<_>>(),
        });
    }
    value
}
