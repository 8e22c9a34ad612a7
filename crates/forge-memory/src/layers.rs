//! The context that an agent starts with, put together from layers by its role
//! and within its budget, and a manifest that says what went in and why.
//!
//! One numbering and one order hold for the text and for the manifest: L0 to
//! L6, from what hardly ever changes to what changes daily, so that the text
//! begins with the same bytes from day to day. How old something is stands at
//! the very end, and nothing else depends on the day.

use jiff::Timestamp;

use crate::agents;
use crate::diagnostic::Diagnostic;
use crate::document::{self, Document, FrontMatter, day_of};
use crate::quote;
use crate::retractions::Corrections;
use crate::workspace::{self, PathError, RelPath, Workspace};

mod budget;
pub mod injection;
mod manifest;
mod policy;
mod roles;
#[cfg(test)]
mod tests;

pub use manifest::{Manifest, Placed, State};
pub use policy::{Channel, FILE, Layer, Policy, RolePolicy};
pub use roles::resolve;

/// What a context is for; which of the three channels it carries.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Scope {
    /// An agent that knows nothing yet: everything.
    Run,
    /// The start of a conversation: what is static and what a session needs.
    Session,
    /// A turn of one that runs: what may have changed, without what is static.
    Tick,
}

impl Scope {
    pub fn name(self) -> &'static str {
        match self {
            Scope::Run => "run",
            Scope::Session => "session",
            Scope::Tick => "tick",
        }
    }

    fn carries(self, channel: Channel) -> bool {
        match self {
            Scope::Run => true,
            Scope::Session => channel != Channel::Turn,
            Scope::Tick => channel != Channel::Static,
        }
    }
}

#[derive(Debug, Clone, Copy)]
pub struct Asked<'a> {
    pub scope: Scope,
    pub squad: &'a str,
    pub agent: &'a str,
    /// In place of the role that the agent's definition or name gives it.
    pub role: Option<&'a str>,
    pub now: Timestamp,
}

#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Assembly {
    pub manifest: Manifest,
    /// The layers as text; never longer than the budget, without those that
    /// stand outside it.
    pub text: String,
}

#[derive(Debug, thiserror::Error)]
pub enum Error {
    #[error(transparent)]
    Agent(#[from] agents::Error),
    #[error(transparent)]
    Workspace(#[from] workspace::Error),
    #[error("`{FILE}`{}: {message}", .line.map(|line| format!(" line {line}")).unwrap_or_default())]
    Policy {
        line: Option<usize>,
        message: String,
    },
    #[error("There is no role `{role}`")]
    Role { role: String, known: Vec<String> },
}

impl Diagnostic for Error {
    fn code(&self) -> &'static str {
        match self {
            Error::Agent(error) => error.code(),
            Error::Workspace(error) => error.code(),
            Error::Policy { .. } => "context.policy",
            Error::Role { .. } => "context.no-such-role",
        }
    }

    fn hints(&self) -> Vec<String> {
        let hint = match self {
            Error::Agent(error) => return error.hints(),
            Error::Workspace(error) => return error.hints(),
            Error::Policy { .. } => "`roles` are merged into the built-in ones, `layers` replace them; without the file the built-in policy holds".to_owned(),
            Error::Role { known, .. } => format!("There are {}", known.join(", ")),
        };
        vec![hint]
    }

    fn is_usage(&self) -> bool {
        match self {
            Error::Agent(error) => error.is_usage(),
            Error::Workspace(error) => error.is_usage(),
            Error::Policy { .. } => false,
            Error::Role { .. } => true,
        }
    }
}

/// Puts the context of an agent together. Missing layers are in the manifest;
/// an error is what makes an answer impossible.
pub fn assemble(workspace: &Workspace, asked: &Asked) -> Result<Assembly, Error> {
    agents::segment("a squad", asked.squad)?;
    agents::segment("an agent", asked.agent)?;
    let policy = Policy::read(workspace)?;
    let corrections = Corrections::read(workspace)?;
    let who = Who::read(workspace, asked);
    let role = match asked.role {
        Some(role) => role.to_owned(),
        None => roles::resolve(who.role.as_deref(), asked.agent, &policy),
    };
    let Some(of_role) = policy.roles.get(&role) else {
        let known = policy.roles.keys().cloned().collect();
        return Err(Error::Role { role, known });
    };
    let budget = who.max_chars.unwrap_or(of_role.budget_chars);
    let wanted = policy
        .layers
        .iter()
        .filter(|it| of_role.layers.contains(&it.id) && asked.scope.carries(it.channel));
    let mut found: Vec<Found> = wanted
        .map(|layer| Found::read(workspace, layer, &who, &corrections, asked.now))
        .collect();
    budget::share(&mut found, budget, of_role);
    let text = render(&found);
    Ok(Assembly {
        manifest: Manifest::of(asked, &policy, role, budget, &found),
        text,
    })
}

/// What the agent's definition says about it.
struct Who {
    squad: String,
    /// The folders that its memory may have, its own name first.
    folders: Vec<String>,
    role: Option<String>,
    max_chars: Option<usize>,
    /// Squads whose learnings it reads, sorted.
    context_from: Vec<String>,
}

impl Who {
    fn read(workspace: &Workspace, asked: &Asked) -> Who {
        let mut who = Who {
            squad: asked.squad.to_owned(),
            folders: folders(asked.squad, asked.agent),
            role: None,
            max_chars: None,
            context_from: Vec::new(),
        };
        let path = format!(".agents/squads/{}/{}.md", asked.squad, asked.agent);
        let text = RelPath::new(&path)
            .ok()
            .and_then(|path| workspace.text_if_there(&path).ok().flatten());
        let Some(definition) = text.map(document::parse) else {
            return who;
        };
        let Some(front) = fields(&definition) else {
            return who;
        };
        let tokens = ["max_context_tokens", "maxTokens"].map(|key| front.int(key));
        let tokens = tokens.into_iter().flatten().find(|tokens| *tokens > 0);
        who.max_chars = tokens
            .and_then(|it| usize::try_from(it).ok())
            .map(|it| it.saturating_mul(CHARS_PER_TOKEN));
        who.role = front.text("role").map(str::to_owned);
        let from = front.list("context_from").into_iter();
        let named = from.filter(|squad| agents::segment("a squad", squad).is_ok());
        who.context_from = named.map(str::to_owned).collect();
        who.context_from.sort();
        who.context_from.dedup();
        who
    }
}

/// Sizes are in characters, and a token has about four (T2).
pub const CHARS_PER_TOKEN: usize = 4;

/// The front matter of a definition; some have it behind their heading.
fn fields(definition: &Document) -> Option<FrontMatter> {
    if definition.front_matter.is_some() {
        return definition.front_matter.clone();
    }
    let heading = definition.sections.iter().find(|it| it.level > 0)?;
    let behind = definition.text[heading.heading.end..].trim_start();
    document::parse(behind).front_matter
}

/// Whoever leads a squad is called `lead`, `<squad>-lead` or `squad-lead`; what
/// is written under one of these names is read under all.
fn folders(squad: &str, agent: &str) -> Vec<String> {
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

/// A layer with what its files say.
struct Found {
    layer: Layer,
    /// The first of its paths that is there.
    path: Option<RelPath>,
    /// Names of the files that stand beside it.
    supporting: Vec<String>,
    /// Everything that it has to say, corrections included.
    text: String,
    age_days: Option<i64>,
    /// Why a file that is there could not be used.
    problem: Option<String>,
    /// As it goes in; none where there is no room.
    shown: Option<String>,
    cut: bool,
}

impl Found {
    fn read(
        workspace: &Workspace,
        layer: &Layer,
        who: &Who,
        corrections: &Corrections,
        now: Timestamp,
    ) -> Found {
        let mut found = Found {
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
            let paths = expanded(template, who);
            for (_, path) in paths.into_iter().flatten() {
                if found.path.is_none()
                    && let Some(body) = found.body(workspace, &path, now)
                {
                    found.text = body;
                    found.path = Some(path);
                }
            }
        }
        for template in &layer.also {
            for (ctx, path) in expanded(template, who).into_iter().flatten() {
                if found.path.as_ref() == Some(&path) {
                    continue;
                }
                if let Some(body) = found.body(workspace, &path, now) {
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
        // In front, where no cut takes them away.
        let notes = corrections.told_of(&found.text).into_iter();
        let notes: String = notes.map(|note| format!("[{note}]\n")).collect();
        found.text.insert_str(0, &notes);
        if !found.text.is_empty() && layer.channel != Channel::Static {
            // What was remembered is data; only the definitions instruct.
            // No nonce: what is before the model must begin with the same bytes
            // from turn to turn, and no text can hold a sum of itself.
            let mark = quote::mark("", std::iter::once(found.text.as_str()));
            found.text = format!("<data {mark}>\n{}\n</data {mark}>", found.text);
        }
        found
    }

    /// The text of a file without its front matter; none where it has none.
    fn body(&mut self, workspace: &Workspace, path: &RelPath, now: Timestamp) -> Option<String> {
        let text = match workspace.text_if_there(path) {
            Ok(text) => text?,
            Err(error) => {
                let problem = format!("`{path}`: {}", error.reason());
                self.problem.get_or_insert(problem);
                return None;
            }
        };
        let text = document::normalise(&text);
        let text = match self.layer.channel {
            // A definition instructs: that is what it is for.
            Channel::Static => quote::clean(&text),
            _ => quote::unasked(&text),
        };
        let document = document::parse(text.into_owned());
        let body = document.text[document.body.clone()]
            .trim_start_matches('\u{feff}')
            .trim()
            .to_owned();
        if body.is_empty() {
            return None;
        }
        if let Some(days) = age_days(workspace, path, &document, now) {
            // A layer is as old as the oldest of what it says.
            self.age_days = Some(self.age_days.map_or(days, |it| it.max(days)));
        }
        Some(body)
    }

    fn is_resolved(&self) -> bool {
        !self.text.is_empty()
    }

    fn is_stale(&self) -> bool {
        let limit = i64::from(self.layer.decay_days);
        limit > 0 && self.age_days.is_some_and(|days| days > limit)
    }

    fn heading(&self) -> String {
        format!("## L{} {}\n\n", self.layer.id, self.layer.name)
    }

    /// What is said about its age: of what was remembered from a day on, of
    /// everything else once it is stale.
    fn age_note(&self) -> Option<String> {
        let days = self.age_days.filter(|days| *days >= 1)?;
        let remembered = self.layer.channel != Channel::Static;
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

/// The paths that a template means, with the squad that `{ctx}` stood for. A
/// name that makes no path makes none.
fn expanded(template: &str, who: &Who) -> Vec<Result<(Option<String>, RelPath), PathError>> {
    let template = template.replace("{squad}", &who.squad);
    let contexts: Vec<Option<&String>> = if template.contains("{ctx}") {
        who.context_from.iter().map(Some).collect()
    } else {
        vec![None]
    };
    let agents: &[String] = if template.contains("{agent}") {
        &who.folders
    } else {
        &who.folders[..1]
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

/// Days since a file was last updated: by its own word, else by its time.
fn age_days(
    workspace: &Workspace,
    path: &RelPath,
    document: &Document,
    now: Timestamp,
) -> Option<i64> {
    let today = day_of(now);
    let said = document.front_matter.as_ref().and_then(|front| {
        let texts = ["updated", "last_updated", "date"].map(|key| front.text(key));
        let text = texts.into_iter().flatten().next()?;
        text.get(..10)?.parse::<jiff::civil::Date>().ok()
    });
    if let Some(day) = said {
        let days = today.since((jiff::Unit::Day, day)).ok()?.get_days();
        return Some(i64::from(days).max(0));
    }
    let time = std::fs::metadata(workspace.absolute(path))
        .ok()?
        .modified()
        .ok()?;
    let time = Timestamp::try_from(time).ok()?;
    Some(((now.as_second() - time.as_second()) / 86_400).max(0))
}

/// The layers in their order, and behind them how old they are.
fn render(found: &[Found]) -> String {
    let mut text = String::new();
    for layer in found {
        if let Some(shown) = &layer.shown {
            text.push_str(&format!("{}{shown}\n\n", layer.heading()));
        }
    }
    if text.is_empty() {
        return text;
    }
    let notes: String = found.iter().filter_map(Found::age_note).collect();
    if !notes.is_empty() {
        text.push_str(&format!("{AGE}{notes}"));
    }
    format!("{TITLE}{}\n", text.trim_end())
}

const TITLE: &str = "# CONTEXT\n\n";
const AGE: &str = "## Age\n\n";
