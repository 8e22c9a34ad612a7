//! `agent learn`: short entries on what worked and what did not, and what
//! people thought of an agent's work.

use clap::{Args, ValueEnum};
use forge_app::agents::feedback::{self, Feedback, NewFeedback, Trend};
use forge_app::agents::learnings::{self, Category, Learning, NewLearning};
use forge_app::agents::{Error, Home};
use forge_app::workspace::Workspace;
use serde_json::{Value, json};

use super::text_or_input;
use crate::report::{CommandError, Exit};
use crate::settings::Settings;
use crate::ui::{Ui, printable};

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
    /// What was learnt, or what is said of the work; read from standard input
    /// when this is absent
    text: Option<String>,

    /// The squad; one that is not known is `general` [default: the only one]
    #[arg(long, short)]
    squad: Option<String>,

    /// What it is [default: as its words suggest]
    #[arg(long)]
    category: Option<CategoryName>,

    /// Tags, separated by commas [default: at most three by its words]
    #[arg(long, value_delimiter = ',')]
    tags: Vec<String>,

    /// What it was learnt from
    #[arg(long)]
    context: Option<String>,

    /// Rate the work of `--agent` from 1 to 5; the text says why
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
enum CategoryName {
    Success,
    Failure,
    Pattern,
    Tip,
}

impl CategoryName {
    fn library(self) -> Category {
        match self {
            CategoryName::Success => Category::Success,
            CategoryName::Failure => Category::Failure,
            CategoryName::Pattern => Category::Pattern,
            CategoryName::Tip => Category::Tip,
        }
    }
}

/// Upper bound for the entries that are shown.
const MOST: usize = 20;

pub(super) fn run(
    args: &LearnArgs,
    workspace: &Workspace,
    settings: &Settings,
    ui: &mut Ui,
) -> Result<Exit, CommandError> {
    if !workspace.root().join(".agents").is_dir() {
        return Err(Error::NoMemory.into());
    }
    if args.list {
        return list(args, workspace, ui);
    }
    let text = text_or_input(args.text.as_deref(), settings)?;
    if let (Some(rating), Some(agent)) = (args.rating, &args.agent) {
        let home = Home::find(workspace, agent)?;
        let new = NewFeedback {
            rating,
            text: &text,
            learnings: &args.learning,
        };
        let (given, receipt) = feedback::give(workspace, &home, &new, settings.now)?;
        let path = feedback::file(&home)?;
        return if args.json {
            ui.json(&json!({
                "version": 1, "path": path.as_str(), "feedback": feedback_json(&given),
                "change": receipt.id,
            }))
        } else {
            ui.line(&format!(
                "✓ {rating}/5 noted in {}",
                printable(path.as_str())
            ))
        }
        .map(|()| Exit::Success);
    }
    let squad = squad(args, workspace, ui)?;
    let new = NewLearning {
        text: &text,
        category: args.category.map(CategoryName::library),
        tags: &args.tags,
        context: args.context.as_deref(),
    };
    let learnt = learnings::learn(workspace, &squad, &new, settings.now)?;
    let path = printable(learnt.path.as_str()).into_owned();
    if args.json {
        ui.json(&json!({
            "version": 1, "path": learnt.path.as_str(),
            "learning": learning_json(&learnt.learning), "change": learnt.receipt.id,
        }))?;
    } else if learnt.receipt.id.is_none() {
        ui.line(&format!("{path} says this already"))?;
    } else {
        let one = &learnt.learning;
        let tags = if one.tags.is_empty() {
            String::new()
        } else {
            format!(" ({})", printable(&one.tags.join(", ")))
        };
        ui.line(&format!("✓ {}{tags} noted in {path}", one.category.name()))?;
    }
    Ok(Exit::Success)
}

/// Returns the squad that was named, or the only one; `general` for an unknown
/// one.
fn squad(args: &LearnArgs, workspace: &Workspace, ui: &mut Ui) -> Result<String, CommandError> {
    let Some(asked) = &args.squad else {
        let mut squads = learnings::squads(workspace);
        squads.retain(|squad| squad != learnings::GENERAL);
        return Ok(match squads.as_slice() {
            [one] => one.clone(),
            _ => learnings::GENERAL.to_owned(),
        });
    };
    let (squad, other) = learnings::squad_or_general(workspace, asked)?;
    if other {
        ui.warn(&format!(
            "There is no squad `{}`; this goes to `{squad}`",
            printable(asked)
        ));
    }
    Ok(squad)
}

fn list(args: &LearnArgs, workspace: &Workspace, ui: &mut Ui) -> Result<Exit, CommandError> {
    if let Some(agent) = &args.agent {
        let home = Home::find(workspace, agent)?;
        let all = feedback::list(workspace, &home)?;
        let trend = feedback::trend(&all).map(|trend| match trend {
            Trend::Up => "up",
            Trend::Down => "down",
            Trend::Steady => "steady",
        });
        let newest = &all[all.len().saturating_sub(MOST)..];
        if args.json {
            let shown: Vec<Value> = newest.iter().map(feedback_json).collect();
            ui.json(&json!({ "version": 1, "feedback": shown, "of": all.len(), "trend": trend }))?;
        } else {
            for it in newest {
                let date = it.date.map_or_else(String::new, |date| date.to_string());
                ui.line(&format!("{date} {}/5 {}", it.rating, printable(&it.text)))?;
            }
            say_left_out(newest.len(), all.len(), ui);
            if let Some(trend) = trend {
                ui.note(&format!("Ratings go {trend}"));
            }
        }
        return Ok(Exit::Success);
    }
    let squad = squad(args, workspace, ui)?;
    let all = learnings::list(workspace, &squad)?;
    let newest = &all[all.len().saturating_sub(MOST)..];
    if args.json {
        let shown: Vec<Value> = newest.iter().map(learning_json).collect();
        ui.json(&json!({ "version": 1, "squad": squad, "learnings": shown, "of": all.len() }))?;
    } else {
        for it in newest {
            let date = it.date.map_or_else(String::new, |date| date.to_string());
            let icon = it.category.icon();
            ui.line(&format!("{date} {icon} {}", printable(&it.insight)))?;
        }
        say_left_out(newest.len(), all.len(), ui);
    }
    Ok(Exit::Success)
}

fn say_left_out(shown: usize, all: usize, ui: &mut Ui) {
    if all > shown {
        ui.note(&format!(
            "The newest {shown} of {all}; the file has the others"
        ));
    }
}

fn learning_json(it: &Learning) -> Value {
    json!({
        "date": it.date.map(|date| date.to_string()), "category": it.category.name(),
        "insight": it.insight, "tags": it.tags, "context": it.context,
    })
}

fn feedback_json(it: &Feedback) -> Value {
    json!({
        "date": it.date.map(|date| date.to_string()), "execution": it.execution,
        "rating": it.rating, "text": it.text, "learnings": it.learnings,
    })
}
