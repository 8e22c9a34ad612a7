//! Runs `search --scope sources`: one question to the user's other workspaces,
//! shown workspace by workspace.

use forge_app::federation::{self, FromSource, Registry};
use forge_app::recall::pack::Packing;
use forge_app::recall::{self, Answer, Ask, context, snippet};
use forge_app::workspace::Workspace;

use super::{SNIPPET_LINES, SearchArgs, fit, say_budget, show_hit};
use crate::hits::hit_json;
use crate::report::{CommandError, Exit};
use crate::settings::Settings;
use crate::ui::{Ui, printable, style};

pub(super) fn run(
    args: &SearchArgs,
    ask: &Ask,
    workspace: &Workspace,
    settings: &Settings,
    ui: &mut Ui,
) -> Result<Exit, CommandError> {
    if args.as_of.is_some() {
        return Err(CommandError::usage(
            "`--as-of` asks the history of this workspace; it does not go with `--scope sources`",
        ));
    }
    let registry = Registry::of_home(settings.home.as_deref())?;
    let sources = registry.sources()?;
    let here = Some(workspace.root());
    let found = federation::ask(&sources, here, forge_app::embed::builtin(), ask);
    for one in &found {
        match &one.answer {
            Err(why) => ui.warn(&format!("`{}` was passed over: {why}", one.source.name)),
            Ok(answered) => answered
                .notes
                .iter()
                .for_each(|note| ui.note(&format!("{}: {note}", one.source.name))),
        }
    }
    if found.is_empty() && !args.json {
        return nothing(&registry, sources.is_empty(), ui);
    }
    let all = joined(&found, ask.limit);
    let nonce = settings.nonce();
    let packing = args
        .budget
        .map(|budget| fit(args, &all, budget as usize, &nonce));
    if args.json {
        ui.json(&json(args, &found, &all, packing.as_ref()))?;
    } else if args.context {
        let (pieces, left_out) = match &packing {
            Some(p) => (p.pieces.clone(), p.left_out.clone()),
            None => (context::whole(&all), Vec::new()),
        };
        ui.print(&context::render(&all, &pieces, &left_out, &nonce))?;
    } else {
        show(args, &found, &all, packing.as_ref(), settings, ui)?;
    }
    if let Some(packing) = &packing {
        say_budget(packing, &all, args.budget.unwrap_or(0), ui);
    }
    Ok(Exit::Success)
}

fn nothing(registry: &Registry, empty: bool, ui: &mut Ui) -> Result<Exit, CommandError> {
    ui.line("No searchable sources registered.")?;
    let hint = if empty {
        "`memory-forge sources add NAME PATH` registers one"
    } else {
        "`memory-forge sources list` shows those that are kept out"
    };
    ui.note(&format!("{hint}; registry: {}", registry.path().display()));
    Ok(Exit::Success)
}

/// Joins all answers into one, for budgets and prompts.
fn joined(found: &[FromSource], limit: usize) -> Answer {
    let mut answers = found
        .iter()
        .filter_map(|one| one.answer.as_ref().ok())
        .map(|answered| answered.answer.clone());
    let first = answers.next().unwrap_or_else(Answer::nothing);
    // Each workspace contributes up to the limit: one with many hits must not
    // hide the others.
    answers.fold(first, |all, one| {
        recall::join(all, one, limit * found.len())
    })
}

fn show(
    args: &SearchArgs,
    found: &[FromSource],
    all: &Answer,
    packing: Option<&Packing>,
    settings: &Settings,
    ui: &mut Ui,
) -> Result<(), CommandError> {
    let question = args.question();
    ui.line(&format!(
        "Searching {} source(s) for: {}",
        found.len(),
        printable(&question)
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
        ui.line(&format!(
            "\n{heading}=== {} ({}) ==={heading:#}",
            printable(&one.source.name),
            printable(&one.source.path.display().to_string())
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
                width * SNIPPET_LINES,
            );
            let text = &hit.passage.text[window.clone()];
            show_hit(hit, text, window.start, args.explain, settings, ui)?;
            count += 1;
        }
        if count == 0 {
            ui.line("  No matches.")?;
        }
        if answered.answer.more > 0 {
            ui.line(&format!("  ... and {} more matches", answered.answer.more))?;
        }
        total += count;
    }
    super::say_corrections(all, ui);
    ui.line(&format!(
        "\nTotal hits: {total} across {} sources",
        found.len()
    ))
}

fn json(
    args: &SearchArgs,
    found: &[FromSource],
    all: &Answer,
    packing: Option<&Packing>,
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
        let left = p.left_out.iter().map(|i| context::source(&all.hits[*i]));
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
