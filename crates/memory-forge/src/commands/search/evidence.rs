//! Runs `search --scope evidence`: what sessions showed, without an index.

use forge_app::{counts, evidence};
use jiff::civil::Date;
use serde_json::{Value, json};

use super::SearchArgs;
use crate::paths;
use crate::report::{CommandError, CommandExit};
use crate::settings::Settings;
use crate::ui::{Ui, escape_hidden, style};

pub(super) fn run_evidence_search(
    args: &SearchArgs,
    since: Option<Date>,
    settings: &Settings,
    ui: &mut Ui,
) -> Result<CommandExit, CommandError> {
    refuse_other_options(args)?;
    let workspace = paths::open_workspace(settings, ui)?;
    let question = args.question();
    let limit = args.limit.map(|n| n as usize);
    let request = evidence::EvidenceRequest {
        question: &question,
        limit: limit.unwrap_or(workspace.config().search.limit),
        since,
        now: settings.now,
    };
    let answer = evidence::search_evidence(&workspace, &request);
    if args.json {
        ui.print_json(&answer_json(&question, &answer))?;
    } else {
        show_answer(&answer, settings, ui)?;
    }
    Ok(if answer.results.is_empty() {
        CommandExit::Failure
    } else {
        CommandExit::Success
    })
}

/// Refuses options that are about documents; silence would look like an answer
/// to them.
fn refuse_other_options(args: &SearchArgs) -> Result<(), CommandError> {
    let given = [
        (args.mode.is_some(), "--mode"),
        (args.budget.is_some(), "--budget"),
        (!args.kinds.is_empty(), "--type"),
        (args.as_of.is_some(), "--as-of"),
        (args.explain, "--explain"),
        (args.open.is_some(), "--open"),
        (args.context, "--context"),
    ];
    let Some((_, name)) = given.iter().find(|(is_given, _)| *is_given) else {
        return Ok(());
    };
    let message =
        format!("`{name}` is about documents; it cannot be combined with `--scope evidence`");
    Err(CommandError::usage(message).hint("`--limit`, `--since` and `--json` work for evidence"))
}

fn show_answer(
    answer: &evidence::EvidenceAnswer,
    settings: &Settings,
    ui: &mut Ui,
) -> Result<(), CommandError> {
    if answer.results.is_empty() {
        ui.print_line("Nothing in evidence matches.")?;
        if answer.entries == 0 {
            ui.note(
                "There is no evidence yet: hooks record it when a turn or a session ends, and \
                 `memory-forge import transcripts` reads past sessions",
            );
        }
        return Ok(());
    }
    let shown = counts::count_noun(answer.results.len(), "result");
    ui.print_line(&format!("{shown} in evidence:"))?;
    for it in &answer.results {
        show_result(it, settings, ui)?;
    }
    if answer.more > 0 {
        ui.note(&format!("{} more matched; `-n` shows more", answer.more));
    }
    Ok(())
}

fn show_result(
    it: &evidence::EvidenceResult,
    settings: &Settings,
    ui: &mut Ui,
) -> Result<(), CommandError> {
    let kind = match it.kind {
        "worked" => style::GOOD,
        "failed" | "missing" | "too large" | "refused" => style::WARNING,
        _ => style::FAINT,
    };
    let faint = style::FAINT;
    ui.print_line(&format!(
        "\n{kind}{}{kind:#}: {}",
        it.kind,
        escape_hidden(&it.text)
    ))?;
    if !it.detail.is_empty() {
        ui.print_line(&format!("    {}", escape_hidden(&it.detail)))?;
    }
    ui.print_line(&format!(
        "    {faint}{} ({}:{}){faint:#}",
        escape_hidden(&it.circumstances(settings.now)),
        escape_hidden(&it.path),
        it.line
    ))
}

fn answer_json(question: &str, answer: &evidence::EvidenceAnswer) -> Value {
    let results: Vec<Value> = answer.results.iter().map(result_json).collect();
    json!({
        "version": 1, "query": question, "scope": "evidence", "results": results,
        "more": answer.more, "entries": answer.entries,
    })
}

/// Returns a result as JSON, for scripts and for agents.
pub(crate) fn result_json(it: &evidence::EvidenceResult) -> Value {
    let mut value = json!({
        "kind": it.kind, "text": it.text, "times": it.times, "at": it.at.to_string(),
        "path": it.path, "line": it.line,
    });
    for (name, text) in [("dir", &it.dir), ("detail", &it.detail)] {
        if !text.is_empty() {
            value[name] = text.as_str().into();
        }
    }
    if let Some(exit) = it.exit {
        value["exit"] = exit.into();
    }
    if let Some(tests) = it.tests {
        value["tests"] = json!({ "passed": tests.passed, "failed": tests.failed });
    }
    value
}
