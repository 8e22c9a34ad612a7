//! `agent learn`: short entries on what worked and what did not, and what
//! people thought of an agent's work.

use clap::{Args, ValueEnum};
use forge_app::agents::feedback::{self, AgentFeedback, NewFeedback, RatingTrend};
use forge_app::agents::learnings::{self, LearningCategory, NewLearning, SquadLearning};
use forge_app::agents::{AgentError, MemoryHome};
use forge_app::workspace::Workspace;
use serde_json::{Value, json};

use super::text_or_input;
use crate::report::{CommandError, CommandExit};
use crate::settings::Settings;
use crate::ui::{Ui, escape_hidden};

/// Note what was learnt for a squad, or rate an agent's work
///
/// An entry goes to `.agents/memory/<squad>/shared/learnings.md`. Category and
/// tags follow from its words unless they are given. With `--rating` it is
/// feedback on an agent's work and goes to the agent's own `feedback.md`.
#[derive(Debug, Args)]
#[command(after_help = "\
Examples:
  memory-forge agent learn \"Freezing the clock fixed the flaky tests\" --squad eng
  memory-forge agent learn \"Ask before a release\" --category pattern --tags deploy,ops
  memory-forge agent learn \"Good, but too long\" --rating 4 --agent eng/builder \\
      --learning \"Summaries fit on one screen\"
  memory-forge agent learn --list --squad eng --json")]
pub(crate) struct LearnArgs {
    /// The learning, or the feedback on the work; read from standard input
    /// when this is absent
    text: Option<String>,

    /// The squad; one that is not known is `general` [default: the only one]
    #[arg(long, short)]
    squad: Option<String>,

    /// What it is [default: as its words suggest]
    #[arg(long)]
    category: Option<CategoryChoice>,

    /// Tags, separated by commas [default: at most three by its words]
    #[arg(long, value_delimiter = ',')]
    tags: Vec<String>,

    /// What it was learnt from
    #[arg(long)]
    context: Option<String>,

    /// Rate the work of `--agent` from 1 to 5; the text gives the reason
    #[arg(long, value_name = "1-5", requires = "agent", value_parser = clap::value_parser!(u8).range(1..=5))]
    rating: Option<u8>,

    /// With `--rating`: whose work; with `--list`: whose feedback
    #[arg(long, short, value_name = "AGENT", conflicts_with = "squad")]
    agent: Option<String>,

    /// With `--rating`: what it teaches, also for the squad; give it once for
    /// each
    #[arg(long, requires = "rating", value_name = "TEXT")]
    learning: Vec<String>,

    /// Show what is there instead, the newest twenty
    #[arg(long, conflicts_with_all = ["text", "rating"])]
    list: bool,

    /// Print the result as JSON
    #[arg(long)]
    json: bool,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq, ValueEnum)]
enum CategoryChoice {
    Success,
    Failure,
    Pattern,
    Tip,
}

impl CategoryChoice {
    fn to_category(self) -> LearningCategory {
        match self {
            CategoryChoice::Success => LearningCategory::Success,
            CategoryChoice::Failure => LearningCategory::Failure,
            CategoryChoice::Pattern => LearningCategory::Pattern,
            CategoryChoice::Tip => LearningCategory::Tip,
        }
    }
}

/// Upper bound for the entries that are shown.
const MAX_SHOWN_ENTRIES: usize = 20;

pub(super) fn run_agent_learn(
    args: &LearnArgs,
    workspace: &Workspace,
    settings: &Settings,
    ui: &mut Ui,
) -> Result<CommandExit, CommandError> {
    if !workspace.root().join(".agents").is_dir() {
        return Err(AgentError::NoMemory.into());
    }
    if args.list {
        return list_entries(args, workspace, ui);
    }
    let text = text_or_input(args.text.as_deref(), settings)?;
    if let (Some(rating), Some(agent)) = (args.rating, &args.agent) {
        let home = MemoryHome::find_by_name(workspace, agent)?;
        let new = NewFeedback {
            rating,
            text: &text,
            learnings: &args.learning,
        };
        let (given, receipt) = feedback::add_feedback(workspace, &home, &new, settings.now)?;
        let path = feedback::feedback_path(&home)?;
        return if args.json {
            ui.print_json(&json!({
                "version": 1, "path": path.as_str(), "feedback": feedback_json(&given),
                "change": receipt.id,
            }))
        } else {
            ui.print_line(&format!(
                "✓ {rating}/5 noted in {}",
                escape_hidden(path.as_str())
            ))
        }
        .map(|()| CommandExit::Success);
    }
    let squad = resolve_squad(args, workspace, ui)?;
    let new = NewLearning {
        text: &text,
        category: args.category.map(CategoryChoice::to_category),
        tags: &args.tags,
        context: args.context.as_deref(),
    };
    let learnt = learnings::add_learning(workspace, &squad, &new, settings.now)?;
    let path = escape_hidden(learnt.path.as_str()).into_owned();
    if args.json {
        ui.print_json(&json!({
            "version": 1, "path": learnt.path.as_str(),
            "learning": learning_json(&learnt.learning), "change": learnt.receipt.id,
        }))?;
    } else if learnt.receipt.id.is_none() {
        ui.print_line(&format!("{path} contains this already"))?;
    } else {
        let one = &learnt.learning;
        let tags = if one.tags.is_empty() {
            String::new()
        } else {
            format!(" ({})", escape_hidden(&one.tags.join(", ")))
        };
        ui.print_line(&format!("✓ {}{tags} noted in {path}", one.category.name()))?;
    }
    Ok(CommandExit::Success)
}

/// Returns the squad that was named, or the only one; `general` for an unknown
/// one.
fn resolve_squad(
    args: &LearnArgs,
    workspace: &Workspace,
    ui: &mut Ui,
) -> Result<String, CommandError> {
    let Some(squad_name) = &args.squad else {
        let mut squads = learnings::list_squads(workspace);
        squads.retain(|squad| squad != learnings::GENERAL_SQUAD);
        return Ok(match squads.as_slice() {
            [one] => one.clone(),
            _ => learnings::GENERAL_SQUAD.to_owned(),
        });
    };
    let (squad, other) = learnings::resolve_squad(workspace, squad_name)?;
    if other {
        ui.warn(&format!(
            "There is no squad `{}`; this goes to `{squad}`",
            escape_hidden(squad_name)
        ));
    }
    Ok(squad)
}

fn list_entries(
    args: &LearnArgs,
    workspace: &Workspace,
    ui: &mut Ui,
) -> Result<CommandExit, CommandError> {
    if let Some(agent) = &args.agent {
        let home = MemoryHome::find_by_name(workspace, agent)?;
        let all = feedback::list_feedback(workspace, &home)?;
        let trend = feedback::rating_trend(&all).map(|trend| match trend {
            RatingTrend::Up => "up",
            RatingTrend::Down => "down",
            RatingTrend::Steady => "steady",
        });
        let newest = &all[all.len().saturating_sub(MAX_SHOWN_ENTRIES)..];
        if args.json {
            let shown: Vec<Value> = newest.iter().map(feedback_json).collect();
            ui.print_json(
                &json!({ "version": 1, "feedback": shown, "of": all.len(), "trend": trend }),
            )?;
        } else {
            for it in newest {
                let date = it.date.map_or_else(String::new, |date| date.to_string());
                ui.print_line(&format!(
                    "{date} {}/5 {}",
                    it.rating,
                    escape_hidden(&it.text)
                ))?;
            }
            note_left_out(newest.len(), all.len(), ui);
            if let Some(trend) = trend {
                ui.note(&format!("Ratings go {trend}"));
            }
        }
        return Ok(CommandExit::Success);
    }
    let squad = resolve_squad(args, workspace, ui)?;
    let all = learnings::list_learnings(workspace, &squad)?;
    let newest = &all[all.len().saturating_sub(MAX_SHOWN_ENTRIES)..];
    if args.json {
        let shown: Vec<Value> = newest.iter().map(learning_json).collect();
        ui.print_json(
            &json!({ "version": 1, "squad": squad, "learnings": shown, "of": all.len() }),
        )?;
    } else {
        for it in newest {
            let date = it.date.map_or_else(String::new, |date| date.to_string());
            let icon = it.category.icon();
            ui.print_line(&format!("{date} {icon} {}", escape_hidden(&it.insight)))?;
        }
        note_left_out(newest.len(), all.len(), ui);
    }
    Ok(CommandExit::Success)
}

fn note_left_out(shown: usize, all: usize, ui: &mut Ui) {
    if all > shown {
        ui.note(&format!(
            "The newest {shown} of {all}; the file has the others"
        ));
    }
}

fn learning_json(it: &SquadLearning) -> Value {
    json!({
        "date": it.date.map(|date| date.to_string()), "category": it.category.name(),
        "insight": it.insight, "tags": it.tags, "context": it.context,
    })
}

fn feedback_json(it: &AgentFeedback) -> Value {
    json!({
        "date": it.date.map(|date| date.to_string()), "execution": it.execution,
        "rating": it.rating, "text": it.text, "learnings": it.learnings,
    })
}
