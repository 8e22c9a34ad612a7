//! Prints a replay for people: counts, the most useful and the wrong items, and
//! what was missed with the nearest entry. Few pushes get no percentage.

use forge_app::counts::count_noun;
use forge_app::replay;

use super::{describe_precision, explain_need};
use crate::report::CommandError;
use crate::ui::{Ui, escape_hidden};

/// Rows of sessions, items and needs that are printed without `--json`.
const MAX_SESSION_ROWS: usize = 20;
const MAX_ITEM_ROWS: usize = 5;
const MAX_NEED_ROWS: usize = 10;

pub(super) fn print_report(report: &replay::ReplayReport, ui: &mut Ui) -> Result<(), CommandError> {
    let total = report.total();
    ui.print_line(&format!(
        "{} ({}, {}), {}",
        count_noun(report.sessions.len(), "session"),
        count_noun(report.files, "file"),
        match report.copies {
            1 => "1 copy of another".to_owned(),
            copies => format!("{copies} copies of others"),
        },
        count_noun(report.moments(), "moment")
    ))?;
    for skipped in &report.skipped {
        let path = skipped.path.display().to_string();
        ui.note(&format!(
            "Skipped `{}`: {}",
            escape_hidden(&path),
            escape_hidden(&skipped.reason)
        ));
    }
    ui.print_line("")?;
    let rows = report.by_key.iter().map(|(key, counts)| (*key, *counts));
    print_table("key", rows.chain([("total", total)]), ui)?;
    print_sessions(report, ui)?;
    ui.print_line("")?;
    let items = report.items();
    let always_right = items
        .iter()
        .filter(|it| it.counts.right == it.counts.pushes);
    ui.print_line(&format!(
        "{}, {} of them right each time",
        count_noun(items.len(), "different item"),
        always_right.count()
    ))?;
    if let Some(precision) = describe_precision(report) {
        ui.print_line(&precision)?;
    }
    ui.print_line(&format!(
        "{} and {} of the user could have been saved",
        count_noun(total.steps_saved, "step"),
        count_noun(total.turns_saved, "turn")
    ))?;
    ui.print_line(&format!(
        "~{} tokens in all, ~{} a session",
        total.tokens,
        total.tokens / report.sessions.len().max(1)
    ))?;
    print_items(&items, ui)?;
    print_missed(report, ui)?;
    for push in &report.pushes {
        ui.detail(&format!(
            "{} session {} line {}: {}",
            if push.is_right { "right" } else { "wrong" },
            push.place.session,
            push.place.line,
            escape_hidden(&push.text)
        ));
    }
    Ok(())
}

fn print_table<'a>(
    head: &str,
    rows: impl Iterator<Item = (&'a str, replay::ReplayCounts)>,
    ui: &mut Ui,
) -> Result<(), CommandError> {
    ui.print_line(&format!(
        "{head:<16} pushes  right  contradicted  needs  met  late"
    ))?;
    for (name, it) in rows {
        ui.print_line(&format!(
            "{name:<16} {:>6} {:>6} {:>13} {:>6} {:>4} {:>5}",
            it.pushes, it.right, it.contradicted, it.needs, it.met, it.late
        ))?;
    }
    Ok(())
}

/// Prints the sessions with a push or a need.
fn print_sessions(report: &replay::ReplayReport, ui: &mut Ui) -> Result<(), CommandError> {
    let with_any: Vec<_> = report
        .sessions
        .iter()
        .filter(|it| it.counts.pushes + it.counts.needs > 0)
        .collect();
    if with_any.is_empty() {
        return Ok(());
    }
    ui.print_line("")?;
    let names: Vec<String> = with_any
        .iter()
        .map(|it| {
            let id: String = escape_hidden(&it.id).chars().take(8).collect();
            format!("{} {id}", it.number)
        })
        .collect();
    let shown = with_any.iter().zip(&names).take(MAX_SESSION_ROWS);
    print_table(
        "session",
        shown.map(|(it, name)| (name.as_str(), it.counts)),
        ui,
    )?;
    let more = with_any.len().saturating_sub(MAX_SESSION_ROWS);
    if more > 0 {
        ui.print_line(&count_noun(more, "more session"))?;
    }
    Ok(())
}

fn print_items(items: &[replay::ReplayedItem], ui: &mut Ui) -> Result<(), CommandError> {
    let useful: Vec<_> = items.iter().filter(|it| it.counts.right > 0).collect();
    let mut wrong: Vec<_> = items
        .iter()
        .filter(|it| it.counts.right < it.counts.pushes)
        .collect();
    // The worst first: the most wrong pushes.
    wrong.sort_by_key(|it| std::cmp::Reverse(it.counts.pushes - it.counts.right));
    for (title, rows) in [("Most useful:", useful), ("Wrong:", wrong)] {
        if rows.is_empty() {
            continue;
        }
        ui.print_line("")?;
        ui.print_line(title)?;
        for it in rows.iter().take(MAX_ITEM_ROWS) {
            ui.print_line(&format!(
                "  {} of {} right, {} saved: {}",
                it.counts.right,
                it.counts.pushes,
                count_noun(it.counts.steps_saved + it.counts.turns_saved, "call"),
                escape_hidden(&it.item)
            ))?;
        }
    }
    Ok(())
}

fn print_missed(report: &replay::ReplayReport, ui: &mut Ui) -> Result<(), CommandError> {
    let missed: Vec<_> = report.missed().collect();
    if missed.is_empty() {
        return Ok(());
    }
    ui.print_line("")?;
    ui.print_line("Missed:")?;
    for need in missed.iter().take(MAX_NEED_ROWS) {
        ui.print_line(&format!(
            "  session {} line {}: {} ({}): {}",
            need.place.session,
            need.place.line,
            escape_hidden(&need.what),
            need.key,
            escape_hidden(&explain_need(need))
        ))?;
    }
    let more = missed.len().saturating_sub(MAX_NEED_ROWS);
    if more > 0 {
        ui.print_line(&format!("  {more} more"))?;
    }
    Ok(())
}
