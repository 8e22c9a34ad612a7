//! A report of what a context contains and what it lacks, and why: one value
//! for the text that people read and the JSON that programs read.

use super::{
    BriefPart, BriefPartState, CHARS_PER_TOKEN, ContextPolicy, ContextRequest, ContextScope,
    LayerText,
};
use crate::tokens::format_thousands;
use crate::workspace::RelPath;

/// A report of the layers of a context, their sizes and their age.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct ContextReport {
    /// The occasion of the context.
    pub scope: ContextScope,
    /// The hash of the policy, which changes with it.
    pub policy_hash: String,
    /// The squad of the agent.
    pub squad: String,
    /// The name of the agent.
    pub agent: String,
    /// The role that decided on the layers.
    pub role: String,
    /// The budget of the role in characters.
    pub budget_chars: usize,
    /// The layers in their order.
    pub layers: Vec<LayerReport>,
    /// Number of characters within the budget, and outside it.
    pub chars: usize,
    /// Number of characters outside the budget.
    pub outside_budget_chars: usize,
    /// Keys of required layers that are not in the context.
    pub failed_required: Vec<String>,
}

/// The outcome of a layer.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum LayerState {
    /// Shown, perhaps shortened.
    Ok,
    /// Required and missing.
    Missing,
    /// Found, without room for it.
    Evicted,
    /// Missing and not required.
    Skipped,
}

/// A report on one layer.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct LayerReport {
    /// The number of the layer.
    pub id: u8,
    /// The key of the layer, by which caps name it.
    pub key: String,
    /// Its name for people.
    pub name: String,
    /// What it contains, as a sentence.
    pub description: String,
    /// The file that was read; none if there is none.
    pub path: Option<RelPath>,
    /// What became of the layer.
    pub state: LayerState,
    /// Number of characters in the context.
    pub chars: usize,
    /// Whether the text was shortened.
    pub cut: bool,
    /// Whether it is older than its policy allows.
    pub stale: bool,
    /// The age of its file in days, if that is known.
    pub age_days: Option<i64>,
    /// Whether it does not count against the budget.
    pub outside_budget: bool,
    /// Whether a context without it is a failure.
    pub required: bool,
    /// What was added to the text of its own file.
    pub supporting: Vec<String>,
    /// The paths that were tried.
    pub looked_for: Vec<String>,
    /// What a person should repair.
    pub problem: Option<String>,
}

impl LayerReport {
    fn from_layer(found: &LayerText, who: (&str, &str)) -> LayerReport {
        let layer = &found.layer;
        // Additional files do not replace a required one.
        let state = match (found.is_resolved(), &found.shown) {
            _ if layer.required && found.path.is_none() => LayerState::Missing,
            (true, Some(_)) => LayerState::Ok,
            (true, None) => LayerState::Evicted,
            (false, _) => LayerState::Skipped,
        };
        let named = |path: &String| path.replace("{squad}", who.0).replace("{agent}", who.1);
        LayerReport {
            id: layer.id,
            key: layer.key.clone(),
            name: layer.name.clone(),
            description: layer.description.clone(),
            path: found.path.clone(),
            state,
            chars: found.shown.as_ref().map_or(0, |it| it.chars().count()),
            cut: found.cut,
            stale: found.is_stale(),
            age_days: found.age_days,
            outside_budget: layer.outside_budget,
            required: layer.required,
            supporting: found.supporting.clone(),
            looked_for: layer.paths.iter().map(named).collect(),
            problem: found.problem.clone(),
        }
    }

    /// Returns `true` if the layer is required and not in the context.
    pub fn has_failed(&self) -> bool {
        self.required && self.state != LayerState::Ok
    }

    /// Returns the layer as a part of a brief.
    pub(super) fn to_brief_part(&self) -> BriefPart {
        BriefPart {
            key: self.key.clone().into(),
            source: self.path.clone(),
            state: match self.state {
                LayerState::Ok if self.cut => BriefPartState::Cut,
                LayerState::Ok => BriefPartState::Shown,
                LayerState::Evicted => BriefPartState::Evicted,
                LayerState::Missing | LayerState::Skipped => BriefPartState::Missing,
            },
            chars: self.chars,
            age_days: self.age_days,
        }
    }

    /// Renders the layer on one line.
    fn render_line(&self) -> String {
        let state = match self.state {
            LayerState::Ok => "OK",
            LayerState::Missing => "MISSING",
            LayerState::Evicted => "EVICTED",
            LayerState::Skipped => "skip",
        };
        let mut line = format!("L{} {:<30} {state:<8}", self.id, self.name);
        if self.state == LayerState::Ok {
            line.push_str(&format!("{:>8} characters", format_thousands(self.chars)));
        }
        if let Some(path) = &self.path {
            line.push_str(&format!("  {path}"));
        }
        let mut marks: Vec<String> = Vec::new();
        if !self.supporting.is_empty() {
            marks.push(format!("with {}", self.supporting.join(", ")));
        }
        if self.cut && self.state == LayerState::Ok {
            marks.push("cut".to_owned());
        }
        if self.outside_budget && self.state == LayerState::Ok {
            marks.push("outside the budget".to_owned());
        }
        if let Some(days) = self.age_days.filter(|_| self.stale) {
            marks.push(format!("stale, {days} days old"));
        }
        marks.extend(self.problem.clone());
        if !marks.is_empty() {
            line.push_str(&format!("  ({})", marks.join("; ")));
        }
        line.trim_end().to_owned()
    }
}

impl ContextReport {
    pub(super) fn from_layers(
        request: &ContextRequest<'_>,
        policy: &ContextPolicy,
        role: String,
        budget_chars: usize,
        found: &[LayerText],
    ) -> ContextReport {
        let who = (request.squad, request.agent);
        let layers: Vec<LayerReport> = found
            .iter()
            .map(|it| LayerReport::from_layer(it, who))
            .collect();
        let sum = |outside: bool| {
            let of = layers.iter().filter(|it| it.outside_budget == outside);
            of.map(|it| it.chars).sum()
        };
        let failed = layers.iter().filter(|it| it.has_failed());
        ContextReport {
            scope: request.scope,
            policy_hash: policy.hash.clone(),
            squad: request.squad.to_owned(),
            agent: request.agent.to_owned(),
            role,
            budget_chars,
            chars: sum(false),
            outside_budget_chars: sum(true),
            failed_required: failed.map(|it| it.key.clone()).collect(),
            layers,
        }
    }

    /// Renders the report for people.
    pub fn render_text(&self) -> String {
        let mut lines = vec![
            format!("Context manifest — {}/{}", self.squad, self.agent),
            format!(
                "scope: {} · role: {} · policy: {}",
                self.scope.name(),
                self.role,
                self.policy_hash
            ),
            String::new(),
        ];
        lines.extend(self.layers.iter().map(LayerReport::render_line));
        lines.push(String::new());
        for layer in self.layers.iter().filter(|it| it.has_failed()) {
            lines.push(format!("FAIL LOUD: {}", self.explain_failure(layer)));
        }
        lines.push(format!(
            "Totals: {} characters (~{} tokens, chars/4), {} outside the budget",
            format_thousands(self.chars),
            format_thousands(tokens_of_chars(self.chars)),
            format_thousands(self.outside_budget_chars)
        ));
        lines.push(format!(
            "Budget: {} characters (~{} tokens, chars/4)",
            format_thousands(self.budget_chars),
            format_thousands(tokens_of_chars(self.budget_chars))
        ));
        lines.join("\n") + "\n"
    }

    /// Names the layers for which there was no room, and those that were cut.
    pub(super) fn list_left_out(&self) -> Vec<String> {
        let lacking = |it: &&LayerReport| it.state == LayerState::Evicted || it.cut;
        let layers = self.layers.iter().filter(lacking);
        let name = |it: &LayerReport| match it.state {
            LayerState::Evicted => format!("L{} {}", it.id, it.key),
            _ => format!("a part of L{} {}", it.id, it.key),
        };
        layers.map(name).collect()
    }

    /// Reports for each required layer why it is missing, and what to do.
    pub fn list_failures(&self) -> Vec<String> {
        let failed = self.layers.iter().filter(|it| it.has_failed());
        failed.map(|it| self.explain_failure(it)).collect()
    }

    /// Reports why a required layer is not in the context.
    fn explain_failure(&self, layer: &LayerReport) -> String {
        let name = format!("required layer L{} {}", layer.id, layer.key);
        match (layer.state, &layer.problem) {
            (LayerState::Evicted, _) => format!(
                "{name} does not fit into {} characters; raise `budget_chars` or `max_context_tokens`",
                format_thousands(self.budget_chars)
            ),
            (_, Some(problem)) => format!("{name} cannot be used: {problem}"),
            _ => format!("{name} is missing; write {}", layer.looked_for.join(" or ")),
        }
    }
}

/// Estimates the tokens of this many characters.
pub(super) fn tokens_of_chars(chars: usize) -> usize {
    chars.div_ceil(CHARS_PER_TOKEN)
}

impl LayerReport {
    /// Estimates the tokens of the layer.
    pub fn estimated_tokens(&self) -> usize {
        tokens_of_chars(self.chars)
    }
}

impl ContextReport {
    /// Estimates the tokens within the budget.
    pub fn estimated_tokens(&self) -> usize {
        tokens_of_chars(self.chars)
    }

    /// Estimates the tokens of the budget.
    pub fn estimated_budget_tokens(&self) -> usize {
        tokens_of_chars(self.budget_chars)
    }
}
