//! Feedback on an agent's work: dated ratings with text, in the agent's own
//! folder. [`feedback_path()`] is the one place that knows its path, for writing and
//! reading alike.

use jiff::Timestamp;
use jiff::civil::Date;

use super::learnings::{self, NewLearning, append_entry, normalize_lines, unescape_line};
use super::{AgentError, MemoryHome};
use crate::admit::{self, SubmittedText};
use crate::document::{self, day_of_timestamp};
use crate::workspace::{self, ChangeReceipt, RelPath, Workspace};

const MAX_STARS: usize = 5;

/// One dated rating of an agent's work.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct AgentFeedback {
    /// The day of the rating, if the entry names one.
    pub date: Option<Date>,
    /// The title of the rated work.
    pub execution: String,
    /// From 1 to 5.
    pub rating: u8,
    /// The rating in words.
    pub text: String,
    /// What was learnt, one sentence each.
    pub learnings: Vec<String>,
}

/// A rating to add.
#[derive(Debug, Clone, Copy)]
pub struct NewFeedback<'a> {
    /// From 1 to 5.
    pub rating: u8,
    /// The rating in words.
    pub text: &'a str,
    /// What was learnt, one sentence each.
    pub learnings: &'a [String],
}

impl SubmittedText for NewFeedback<'_> {
    fn stated_texts(&self) -> Vec<&str> {
        let learnings = self.learnings.iter().map(String::as_str);
        [self.text].into_iter().chain(learnings).collect()
    }
}

/// The direction of ratings: the last three against the three before.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum RatingTrend {
    /// The last three are better.
    Up,
    /// The last three are worse.
    Down,
    /// The means of both are the same.
    Steady,
}

/// Returns the path of an agent's feedback.
pub fn feedback_path(home: &MemoryHome) -> Result<RelPath, AgentError> {
    home.file_path("feedback.md")
}

/// Adds feedback, and what it taught to the squad's learnings: both or neither.
pub fn add_feedback(
    workspace: &Workspace,
    home: &MemoryHome,
    new: &NewFeedback,
    now: Timestamp,
) -> Result<(AgentFeedback, ChangeReceipt), AgentError> {
    if !(1..=5).contains(&new.rating) {
        let given = new.rating.to_string();
        return Err(AgentError::Rating { given });
    }
    let (Some((squad, _)), path) = (home.squad_and_agent(), feedback_path(home)?) else {
        let name = home.to_string();
        let homes = MemoryHome::list_agent_homes(workspace);
        return Err(AgentError::Unknown { name, homes });
    };
    let text = normalize_lines(new.text);
    if text.is_empty() {
        return Err(AgentError::NoText);
    }
    admit::refuse_secrets([home.to_string().as_str()])?;
    let new = admit::admit_text(workspace, new)?;
    let feedback = AgentFeedback {
        date: Some(day_of_timestamp(now)),
        execution: last_execution_title(workspace, home),
        rating: new.rating,
        text,
        learnings: new
            .learnings
            .iter()
            .map(|it| unescape_line(&document::escape_markdown_line(it)))
            .filter(|it| !it.is_empty())
            .collect(),
    };
    // Admitted again with the prefix, as the learning is a text of its own.
    let mut learnt = Vec::new();
    for it in &feedback.learnings {
        let text = format!("From feedback ({}): {it}", day_of_timestamp(now));
        let new = NewLearning {
            text: &text,
            category: None,
            tags: &[],
            context: None,
        };
        learnt.push(learnings::build_learning(
            &admit::admit_text(workspace, &new)?,
            now,
        )?);
    }
    let shared = learnings::learnings_path(squad)?;
    let receipt = workspace.change(&format!("Feedback for {home}"), now, |change| {
        let before = change.read_text(&path)?.unwrap_or_default();
        let document = document::parse_document(before);
        let start = if document.text.trim().is_empty() {
            format!("# {squad} - Feedback Log\n\n> Execution feedback and learnings\n")
        } else {
            String::new()
        };
        change.write(
            &path,
            append_entry(&document, &start, &render_feedback(&feedback)),
        );
        for learning in &learnt {
            let before = change.read_text(&shared)?;
            if let Some(after) = learnings::append_learning(before, squad, learning) {
                change.write(&shared, after);
            }
        }
        Ok(())
    })?;
    Ok((feedback, receipt))
}

/// Lists an agent's feedback, oldest first as in the file.
pub fn list_feedback(
    workspace: &Workspace,
    home: &MemoryHome,
) -> Result<Vec<AgentFeedback>, AgentError> {
    let text = workspace.read_text_if_present(&feedback_path(home)?)?;
    let document = document::parse_document(text.unwrap_or_default());
    let entries = learnings::find_dated_entries(&document);
    let read = entries
        .iter()
        .filter_map(|entry| parse_feedback(&document.text[entry.body.clone()], entry.date));
    Ok(read.collect())
}

/// Compares the means of the last three and the three ratings before; `None`
/// with fewer than six ratings.
pub fn rating_trend(feedback: &[AgentFeedback]) -> Option<RatingTrend> {
    let ratings: Vec<u8> = feedback.iter().rev().take(6).map(|it| it.rating).collect();
    let (last, before) = (ratings.get(..3)?, ratings.get(3..6)?);
    let mean = |part: &[u8]| part.iter().map(|it| f64::from(*it)).sum::<f64>() / 3.0;
    let change = mean(last) - mean(before);
    Some(match change {
        // Means of three differ by thirds: 0.3 is just below the smallest
        // difference and above any rounding error.
        change if change > 0.3 => RatingTrend::Up,
        change if change < -0.3 => RatingTrend::Down,
        _ => RatingTrend::Steady,
    })
}

/// Returns the title of the agent's last output.
fn last_execution_title(workspace: &Workspace, home: &MemoryHome) -> String {
    let title = || -> Result<Option<String>, workspace::WorkspaceError> {
        let path = home.folder().join("output.md")?;
        let text = workspace.read_text_if_present(&path)?;
        let document = text.map(document::parse_document);
        Ok(document.and_then(|it| it.title().map(str::to_owned)))
    };
    let title = title()
        .ok()
        .flatten()
        .map(|it| document::escape_markdown_line(&it));
    let title = title
        .map(|it| unescape_line(&it))
        .filter(|it| !it.is_empty());
    title.unwrap_or_else(|| "Manual feedback".to_owned())
}

fn render_feedback(feedback: &AgentFeedback) -> String {
    let date = feedback.date.map_or_else(String::new, |it| it.to_string());
    let rating = usize::from(feedback.rating);
    let mut out = format!(
        "---\n_Date: {date}_\n\n**Execution**: {}\n\n**Rating**: {rating}/5 {}{}\n\n**Feedback**: {}\n",
        document::escape_markdown_line(&feedback.execution),
        "★".repeat(rating),
        "☆".repeat(MAX_STARS.saturating_sub(rating)),
        document::escape_markdown_block(&feedback.text),
    );
    if !feedback.learnings.is_empty() {
        out.push_str("\n**Learnings**:\n");
        for it in &feedback.learnings {
            out.push_str(&format!("- {}\n", document::escape_markdown_line(it)));
        }
    }
    out
}

fn parse_feedback(body: &str, date: Option<Date>) -> Option<AgentFeedback> {
    let mut feedback = AgentFeedback {
        date,
        execution: String::new(),
        rating: 0,
        text: String::new(),
        learnings: Vec::new(),
    };
    // Labels come in this order; a later line that looks like a label is part
    // of the feedback.
    let mut text: Option<Vec<&str>> = None;
    let mut in_learnings = false;
    for line in body.lines().map(str::trim_end) {
        if let Some(rest) = line.strip_prefix("**Execution**:")
            && text.is_none()
        {
            feedback.execution = unescape_line(rest.trim());
        } else if let Some(rest) = line.strip_prefix("**Rating**:")
            && text.is_none()
        {
            let digits = rest.trim().split('/').next().unwrap_or_default();
            feedback.rating = digits.trim().parse().unwrap_or(0);
        } else if let Some(rest) = line.strip_prefix("**Feedback**:")
            && text.is_none()
        {
            text = Some(vec![rest.trim_start()]);
        } else if line == "**Learnings**:" && !in_learnings {
            in_learnings = true;
        } else if in_learnings {
            let item = line.trim().strip_prefix("- ").map(unescape_line);
            feedback.learnings.extend(item);
        } else if let Some(text) = &mut text {
            text.push(line);
        }
    }
    let text = text.unwrap_or_default();
    let text: Vec<String> = text.iter().map(|line| unescape_line(line)).collect();
    feedback.text = text.join("\n").trim().to_owned();
    // An entry without a valid rating is not feedback.
    (1..=5).contains(&feedback.rating).then_some(feedback)
}
