//! The context of an agent, built from layers by its role and within its
//! budget, with a report of what it contains and why.
//!
//! One numbering and one order hold for the text and for the report: L0 to L6,
//! from what hardly ever changes to what changes daily, so that the text begins
//! with the same bytes from day to day. Ages are at the very end, and nothing
//! else depends on the day.

use jiff::Timestamp;

use super::pack::{BriefBudget, BriefPacker, BriefPiece, PieceFit, ShorteningRule, ZERO_COST};
use super::{BriefDetail, BriefPart, BriefPartState, RenderedBrief};
use crate::agents;
use crate::diagnostic::Diagnostic;
use crate::document::{self, Document, FrontMatter, day_of_timestamp};
use crate::quote;
use crate::retractions::{self as corrections, Corrections};
use crate::workspace::{self, PathError, RelPath, Workspace};

mod manifest;
mod policy;
mod roles;
#[cfg(test)]
mod tests;

pub use manifest::{ContextReport, LayerReport, LayerState};
pub use policy::{ContextLayer, ContextPolicy, LayerChannel, POLICY_FILE, RolePolicy};
pub use roles::resolve_role;

/// The moment for which a context is built; selects the channels that it
/// includes.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum ContextScope {
    /// An agent without any context: everything.
    Run,
    /// The start of a conversation: static layers and those of a session.
    Session,
    /// A turn of a running conversation: what may have changed, without static
    /// layers.
    Tick,
}

impl ContextScope {
    /// Returns the name for flags and JSON.
    pub fn name(self) -> &'static str {
        match self {
            ContextScope::Run => "run",
            ContextScope::Session => "session",
            ContextScope::Tick => "tick",
        }
    }

    /// Returns `true` if this scope includes the layers of a channel.
    fn has_channel(self, channel: LayerChannel) -> bool {
        match self {
            ContextScope::Run => true,
            ContextScope::Session => channel != LayerChannel::Turn,
            ContextScope::Tick => channel != LayerChannel::Static,
        }
    }
}

/// A request for the context of an agent.
#[derive(Debug, Clone, Copy)]
pub struct ContextRequest<'a> {
    /// The occasion, which decides the layers.
    pub scope: ContextScope,
    /// The squad of the agent.
    pub squad: &'a str,
    /// The name of the agent.
    pub agent: &'a str,
    /// Replaces the role of the agent's definition or name.
    pub role: Option<&'a str>,
    /// The time against which ages are counted.
    pub now: Timestamp,
}

/// The reason why a context cannot be built.
#[derive(Debug, thiserror::Error)]
pub enum ContextError {
    /// The caller's squad or agent is not a valid name.
    #[error(transparent)]
    Agent(#[from] agents::AgentError),
    /// The workspace cannot be read; the file system is at fault.
    #[error(transparent)]
    Workspace(#[from] workspace::WorkspaceError),
    /// The user's policy file is malformed.
    #[error("`{POLICY_FILE}`{}: {message}", .line.map(|line| format!(" line {line}")).unwrap_or_default())]
    Policy {
        /// The line that cannot be parsed, if it is known.
        line: Option<usize>,
        /// What is wrong with it.
        message: String,
    },
    /// The caller named a role that the policy does not have.
    #[error("There is no role `{role}`")]
    Role {
        /// The role that was named.
        role: String,
        /// The roles of the policy.
        known: Vec<String>,
    },
}

impl Diagnostic for ContextError {
    fn code(&self) -> &'static str {
        match self {
            ContextError::Agent(error) => error.code(),
            ContextError::Workspace(error) => error.code(),
            ContextError::Policy { .. } => "context.policy",
            ContextError::Role { .. } => "context.no-such-role",
        }
    }

    fn hints(&self) -> Vec<String> {
        let hint = match self {
            ContextError::Agent(error) => return error.hints(),
            ContextError::Workspace(error) => return error.hints(),
            ContextError::Policy { .. } => "`roles` are merged into the built-in ones, `layers` replace them; without the file the built-in policy holds".to_owned(),
            ContextError::Role { known, .. } => format!("There are {}", known.join(", ")),
        };
        vec![hint]
    }

    fn is_usage(&self) -> bool {
        match self {
            ContextError::Agent(error) => error.is_usage(),
            ContextError::Workspace(error) => error.is_usage(),
            ContextError::Policy { .. } => false,
            ContextError::Role { .. } => true,
        }
    }
}

/// Builds the context of an agent. Reports missing layers in the manifest;
/// fails only if no answer is possible.
pub fn brief_agent(
    workspace: &Workspace,
    request: &ContextRequest<'_>,
) -> Result<RenderedBrief, ContextError> {
    agents::check_folder_name("a squad", request.squad)?;
    agents::check_folder_name("an agent", request.agent)?;
    let policy = ContextPolicy::read(workspace)?;
    let corrections = Corrections::read(workspace)?;
    let agent = AgentDefinition::read_definition(workspace, request);
    let role = match request.role {
        Some(role) => role.to_owned(),
        None => roles::resolve_role(agent.role.as_deref(), request.agent, &policy),
    };
    let Some(of_role) = policy.roles.get(&role) else {
        let known = policy.roles.keys().cloned().collect();
        return Err(ContextError::Role { role, known });
    };
    let budget = agent.max_chars.unwrap_or(of_role.budget_chars);
    let wanted = policy
        .layers
        .iter()
        .filter(|it| of_role.layers.contains(&it.id) && request.scope.has_channel(it.channel));
    let mut layers: Vec<LayerText> = wanted
        .map(|layer| LayerText::read_layer(workspace, layer, &agent, &corrections, request.now))
        .collect();
    allocate_layers(&mut layers, budget, of_role);
    let text = render_layers(&layers);
    let manifest = ContextReport::from_layers(request, &policy, role, budget, &layers);
    Ok(RenderedBrief {
        text,
        parts: manifest
            .layers
            .iter()
            .map(LayerReport::to_brief_part)
            .collect(),
        left_out: manifest.list_left_out(),
        detail: BriefDetail::Context(Box::new(manifest)),
    })
}

/// Reserved room for a line about the age of a layer, whatever it contains.
const MAX_AGE_NOTE_CHARS: usize = 90;

/// Allocates the budget to layers. Early layers go first, and each of the
/// others keeps a floor, so that a long file cannot push out the layers behind
/// it. The result does not depend on the day.
fn allocate_layers(layers: &mut [LayerText], budget: usize, role: &RolePolicy) {
    for layer in layers.iter_mut().filter(|it| it.layer.outside_budget) {
        layer.shown = layer.is_resolved().then(|| layer.text.clone());
    }
    // Reserved whether or not a layer is old, so that the cut of a layer does
    // not change from day to day.
    let notes = MAX_AGE_NOTE_CHARS * layers.len();
    let mut within: Vec<&mut LayerText> = layers
        .iter_mut()
        .filter(|it| !it.layer.outside_budget && it.is_resolved())
        .collect();
    let frame = CONTEXT_TITLE.chars().count() + AGE_HEADING.chars().count() + notes;
    let all = BriefBudget::of_chars(budget.saturating_sub(frame));
    // Half of an equal share is kept for each layer; the other half goes to the
    // layers that come first.
    let half_a_share = all.chars / (2 * within.len().max(1));
    let caps: Vec<BriefBudget> = within
        .iter()
        .map(|it| {
            let cap = role.caps.get(&it.layer.key).copied();
            let most = it.text.chars().count().min(cap.unwrap_or(usize::MAX));
            BriefBudget::of_chars(all.cost_of("").chars + most + it.layer_heading().chars().count())
        })
        .collect();
    let floors: Vec<usize> = caps.iter().map(|it| it.chars.min(half_a_share)).collect();
    // Corrections are in the text of a layer already.
    let mut packer = BriefPacker::new(all, &corrections::NO_CORRECTIONS, "");
    for (at, layer) in within.iter_mut().enumerate() {
        let all = layer.text.chars().count();
        let path = layer.path.as_ref().map(|path| format!(" in {path}"));
        let path = path.unwrap_or_default();
        let note =
            |shown: usize| format!("\n[… cut: {shown} of {all} characters; all of it is{path}]");
        let fit = packer.put(&BriefPiece {
            slot: at,
            order: 0,
            text: &layer.text,
            cap: caps[at],
            floor: chars_budget(floors[at + 1..].iter().sum()),
            around: chars_budget(layer.layer_heading().chars().count()),
            shortening: ShorteningRule::Noted {
                note: &note,
                close: layer.fence_end(),
            },
        });
        layer.cut = fit != PieceFit::Whole;
        layer.shown = (fit != PieceFit::Out).then(|| packer.take_slot(at, ""));
    }
}

/// Returns a budget that limits characters alone.
fn chars_budget(chars: usize) -> BriefBudget {
    BriefBudget { chars, ..ZERO_COST }
}

/// The properties of an agent that its definition sets.
struct AgentDefinition {
    squad: String,
    /// The possible folders of its memory, its own name first.
    folders: Vec<String>,
    role: Option<String>,
    max_chars: Option<usize>,
    /// Squads whose learnings it reads, sorted.
    context_from: Vec<String>,
}

impl AgentDefinition {
    fn read_definition(workspace: &Workspace, request: &ContextRequest<'_>) -> AgentDefinition {
        let mut agent = AgentDefinition {
            squad: request.squad.to_owned(),
            folders: list_memory_folders(request.squad, request.agent),
            role: None,
            max_chars: None,
            context_from: Vec::new(),
        };
        let path = format!(".agents/squads/{}/{}.md", request.squad, request.agent);
        let text = RelPath::new(&path)
            .ok()
            .and_then(|path| workspace.read_text_if_present(&path).ok().flatten());
        let Some(definition) = text.map(document::parse_document) else {
            return agent;
        };
        let Some(front) = definition_fields(&definition) else {
            return agent;
        };
        let tokens = ["max_context_tokens", "maxTokens"].map(|key| front.int(key));
        let tokens = tokens.into_iter().flatten().find(|tokens| *tokens > 0);
        agent.max_chars = tokens
            .and_then(|it| usize::try_from(it).ok())
            .map(|it| it.saturating_mul(CHARS_PER_TOKEN));
        agent.role = front.text("role").map(str::to_owned);
        let from = front.list("context_from").into_iter();
        let named = from.filter(|squad| agents::check_folder_name("a squad", squad).is_ok());
        agent.context_from = named.map(str::to_owned).collect();
        // The context must not depend on the order in the definition.
        agent.context_from.sort();
        agent.context_from.dedup();
        agent
    }
}

/// Sizes are in characters, and a token has about four (T2).
pub const CHARS_PER_TOKEN: usize = 4;

/// Returns the front matter of a definition; some have it behind their heading.
fn definition_fields(definition: &Document) -> Option<FrontMatter> {
    if definition.front_matter.is_some() {
        return definition.front_matter.clone();
    }
    let heading = definition.sections.iter().find(|it| it.level > 0)?;
    let behind = definition.text[heading.heading.end..].trim_start();
    document::parse_document(behind).front_matter
}

/// Returns the folders of an agent's memory. The lead of a squad is called
/// `lead`, `<squad>-lead` or `squad-lead`; text under one of these names is
/// read under all.
fn list_memory_folders(squad: &str, agent: &str) -> Vec<String> {
    let names = [
        "lead".to_owned(),
        format!("{squad}-lead"),
        "squad-lead".to_owned(),
    ];
    let mut folders = vec![agent.to_owned()];
    if names.iter().any(|name| name == agent) {
        folders.extend(names.into_iter().filter(|name| name != agent));
    }
    folders
}

/// A layer with the text of its files.
struct LayerText {
    layer: ContextLayer,
    /// The first of its paths that exists.
    path: Option<RelPath>,
    /// Names of the additional files.
    supporting: Vec<String>,
    /// The whole text, corrections included.
    text: String,
    age_days: Option<i64>,
    /// The reason why an existing file could not be used.
    problem: Option<String>,
    /// The text that is shown; `None` without room.
    shown: Option<String>,
    cut: bool,
}

impl LayerText {
    fn read_layer(
        workspace: &Workspace,
        layer: &ContextLayer,
        agent: &AgentDefinition,
        corrections: &Corrections,
        now: Timestamp,
    ) -> LayerText {
        let mut found = LayerText {
            layer: layer.clone(),
            path: None,
            supporting: Vec::new(),
            text: String::new(),
            age_days: None,
            problem: None,
            shown: None,
            cut: false,
        };
        for template in &layer.paths {
            let paths = expand_path_template(template, agent);
            for (_, path) in paths.into_iter().flatten() {
                if found.path.is_none()
                    && let Some(body) = found.read_body(workspace, &path, now)
                {
                    found.text = body;
                    found.path = Some(path);
                }
            }
        }
        for template in &layer.also {
            for (ctx, path) in expand_path_template(template, agent).into_iter().flatten() {
                if found.path.as_ref() == Some(&path) {
                    continue;
                }
                if let Some(body) = found.read_body(workspace, &path, now) {
                    let name = match ctx {
                        Some(ctx) => format!("{}:{ctx}", path.stem()),
                        None => path.stem().to_owned(),
                    };
                    if !found.text.is_empty() {
                        found.text.push_str("\n\n");
                    }
                    found.text.push_str(&format!("### {name}\n\n{body}"));
                    found.supporting.push(name);
                }
            }
        }
        // In front, so that no truncation removes them.
        let notes = corrections.describe_found(&found.text).into_iter();
        let notes: String = notes.map(|note| format!("[{note}]\n")).collect();
        found.text.insert_str(0, &notes);
        if !found.text.is_empty() && layer.channel != LayerChannel::Static {
            // Memory is data; only the definitions instruct. There is no nonce,
            // since the text before a prompt must begin with the same bytes
            // from turn to turn, and no text can contain a hash of itself.
            let mark = quote::fence_mark("", std::iter::once(found.text.as_str()));
            found.text = format!("<data {mark}>\n{}\n</data {mark}>", found.text);
        }
        found
    }

    /// Returns the text of a file without its front matter; `None` if it has no
    /// text.
    fn read_body(
        &mut self,
        workspace: &Workspace,
        path: &RelPath,
        now: Timestamp,
    ) -> Option<String> {
        let text = match workspace.read_text_if_present(path) {
            Ok(text) => text?,
            Err(error) => {
                let problem = format!("`{path}`: {}", error.reason());
                self.problem.get_or_insert(problem);
                return None;
            }
        };
        let text = document::normalize_text(&text);
        let text = match self.layer.channel {
            // The purpose of a definition is to instruct.
            LayerChannel::Static => quote::sanitize_text(&text),
            _ => quote::sanitize_unrequested(&text),
        };
        let document = document::parse_document(text.into_owned());
        let body = document.text[document.body.clone()]
            .trim_start_matches('\u{feff}')
            .trim()
            .to_owned();
        if body.is_empty() {
            return None;
        }
        if let Some(days) = days_since_update(workspace, path, &document, now) {
            // A layer is as old as the oldest of its files.
            self.age_days = Some(self.age_days.map_or(days, |it| it.max(days)));
        }
        Some(body)
    }

    /// Returns `true` if a file of the layer has text.
    fn is_resolved(&self) -> bool {
        !self.text.is_empty()
    }

    /// Returns `true` if the layer is older than its decay.
    fn is_stale(&self) -> bool {
        let limit = i64::from(self.layer.decay_days);
        limit > 0 && self.age_days.is_some_and(|days| days > limit)
    }

    /// Returns the heading above the layer.
    fn layer_heading(&self) -> String {
        format!("## L{} {}\n\n", self.layer.id, self.layer.name)
    }

    /// Returns the mark that closes the fence of the layer; empty without a
    /// fence.
    fn fence_end(&self) -> &str {
        match self.text.rfind("\n</data ") {
            Some(at) if self.text.starts_with("<data ") => &self.text[at..],
            _ => "",
        }
    }

    /// Returns the line about the age of the layer: for memory after one day,
    /// for everything else once it is stale.
    fn age_note(&self) -> Option<String> {
        let days = self.age_days.filter(|days| *days >= 1)?;
        let remembered = self.layer.channel != LayerChannel::Static;
        if self.shown.is_none() || !(remembered || self.is_stale()) {
            return None;
        }
        let s = if days == 1 { "" } else { "s" };
        let stale = if self.is_stale() { ", stale" } else { "" };
        Some(format!(
            "- L{}: last updated {days} day{s} ago{stale} — verify before relying on it\n",
            self.layer.id
        ))
    }
}

/// Expands a path template, with the squad in place of `{ctx}`. Drops names
/// that cannot be a path.
fn expand_path_template(
    template: &str,
    definition: &AgentDefinition,
) -> Vec<Result<(Option<String>, RelPath), PathError>> {
    let template = template.replace("{squad}", &definition.squad);
    let contexts: Vec<Option<&String>> = if template.contains("{ctx}") {
        definition.context_from.iter().map(Some).collect()
    } else {
        vec![None]
    };
    let agents: &[String] = if template.contains("{agent}") {
        &definition.folders
    } else {
        &definition.folders[..1]
    };
    let mut paths = Vec::new();
    for ctx in contexts {
        for agent in agents {
            let path = template.replace("{agent}", agent);
            let path = match ctx {
                Some(ctx) => path.replace("{ctx}", ctx),
                None => path,
            };
            paths.push(RelPath::new(&path).map(|path| (ctx.cloned(), path)));
        }
    }
    paths
}

/// Returns the days since a file was last updated: by its front matter, else by
/// its modification time.
fn days_since_update(
    workspace: &Workspace,
    path: &RelPath,
    document: &Document,
    now: Timestamp,
) -> Option<i64> {
    let today = day_of_timestamp(now);
    let stated_day = document.front_matter.as_ref().and_then(|front| {
        let texts = ["updated", "last_updated", "date"].map(|key| front.text(key));
        let text = texts.into_iter().flatten().next()?;
        text.get(..10)?.parse::<jiff::civil::Date>().ok()
    });
    if let Some(day) = stated_day {
        let days = today.since((jiff::Unit::Day, day)).ok()?.get_days();
        return Some(i64::from(days).max(0));
    }
    let time = std::fs::metadata(workspace.absolute_path(path))
        .ok()?
        .modified()
        .ok()?;
    let time = Timestamp::try_from(time).ok()?;
    Some(((now.as_second() - time.as_second()) / 86_400).max(0))
}

/// Renders the layers in their order, then their age.
fn render_layers(found: &[LayerText]) -> String {
    let mut text = String::new();
    for layer in found {
        if let Some(shown) = &layer.shown {
            text.push_str(&format!("{}{shown}\n\n", layer.layer_heading()));
        }
    }
    if text.is_empty() {
        return text;
    }
    let notes: String = found.iter().filter_map(LayerText::age_note).collect();
    if !notes.is_empty() {
        text.push_str(&format!("{AGE_HEADING}{notes}"));
    }
    format!("{CONTEXT_TITLE}{}\n", text.trim_end())
}

/// The first line of a context.
const CONTEXT_TITLE: &str = "# CONTEXT\n\n";
/// The heading above the ages of layers.
const AGE_HEADING: &str = "## Age\n\n";
