//! The sections of the files that a repair shortens, for a person at a terminal
//! to look at and to change before anything is written.

use forge_app::doctor::{self, RepairPlan};
use forge_app::tokens::format_thousands;
use forge_app::workspace::{RelPath, Workspace};

use crate::report::CommandError;
use crate::settings::Settings;
use crate::ui::{Ui, escape_hidden, style};

/// Shows each file section by section and plans again after every change.
pub(super) fn review(
    workspace: &Workspace,
    named: &[RelPath],
    settings: &Settings,
    ui: &mut Ui,
) -> Result<RepairPlan, CommandError> {
    let mut choices = doctor::RepairChoices::new();
    let mut repair = doctor::plan_repair(workspace, named, settings.now);
    let paths: Vec<RelPath> = repair.reviews.iter().map(|it| it.path.clone()).collect();
    for path in paths {
        loop {
            match repair.reviews.iter().find(|it| it.path == path) {
                Some(review) => show(review, ui)?,
                None => ui.print_line(&format!("{path}: nothing moves"))?,
            }
            let question = "Change a section with `keep N`, `move N` or `rules N`, or press Enter \
                            to go on:";
            let Some(answer) = ui.ask_line(question)?.filter(|it| !it.is_empty()) else {
                break;
            };
            match parse_answer(&answer) {
                Some((choice, numbers)) => {
                    let chosen = choices.entry(path.clone()).or_default();
                    chosen.extend(numbers.into_iter().map(|number| (number, choice)));
                }
                None => ui.warn("Not understood: write for example `keep 2 5`"),
            }
            repair = doctor::plan_chosen(workspace, named, &choices, settings.now);
        }
    }
    Ok(repair)
}

fn show(review: &doctor::FileReview, ui: &mut Ui) -> Result<(), CommandError> {
    let (bold, faint) = (style::HEADING, style::FAINT);
    ui.print_line(&format!(
        "{bold}{}{bold:#}: {} → {} tokens (o200k), limit {}",
        escape_hidden(review.path.as_str()),
        format_thousands(review.before),
        format_thousands(review.after),
        format_thousands(review.limit)
    ))?;
    ui.print_line(&format!("  {bold}  N  Tokens   Moves  Section{bold:#}"))?;
    for section in &review.sections {
        let title = match section.title.as_str() {
            "" => "(beginning)",
            title => title,
        };
        let moves = match section.moved {
            0 => "-".to_owned(),
            moved => format_thousands(moved),
        };
        let chosen = match section.choice {
            doctor::SectionChoice::KeepRules => "",
            doctor::SectionChoice::Keep => "kept, as you chose",
            doctor::SectionChoice::Move => "moved, as you chose",
        };
        ui.print_line(&format!(
            "  {:>3}  {:>6}  {moves:>6}  {}{}  {faint}{chosen}{faint:#}",
            section.number,
            format_thousands(section.tokens),
            "  ".repeat(usize::from(section.level.saturating_sub(1))),
            escape_hidden(title),
        ))?;
    }
    if let Some(remaining) = review.remaining() {
        ui.print_line(&format!("  {}", escape_hidden(&remaining)))?;
    }
    Ok(())
}

/// Reads `keep 2 5`: what to do, and with which sections.
fn parse_answer(answer: &str) -> Option<(doctor::SectionChoice, Vec<usize>)> {
    let mut words = answer.split([' ', ',']).filter(|word| !word.is_empty());
    let choice = match words.next()?.to_lowercase().as_str() {
        "keep" | "k" => doctor::SectionChoice::Keep,
        "move" | "m" => doctor::SectionChoice::Move,
        "rules" | "r" => doctor::SectionChoice::KeepRules,
        _ => return None,
    };
    let numbers: Vec<usize> = words.map(|word| word.parse().ok()).collect::<Option<_>>()?;
    (!numbers.is_empty()).then_some((choice, numbers))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn an_answer_names_a_choice_and_sections() {
        assert_eq!(
            parse_answer("keep 2, 5"),
            Some((doctor::SectionChoice::Keep, vec![2, 5]))
        );
        assert_eq!(
            parse_answer("M 3"),
            Some((doctor::SectionChoice::Move, vec![3]))
        );
        for wrong in ["", "keep", "keep x", "drop 2"] {
            assert_eq!(parse_answer(wrong), None, "{wrong}");
        }
    }
}
