//! A first order for notes that have none: which folders become domains, what
//! moves where, what is stale, what contradicts itself, and which notes should
//! know of each other, as one plan that a person edits and applies.
//!
//! The plan is TOML: a name with any character is quoted exactly, a line is
//! one step and can be deleted, and what cannot be read is told with its line.
//! Nothing is moved that is not in the plan, and all of it is one change.

use std::collections::BTreeMap;
use std::fmt::Write as _;

use jiff::Timestamp;
use serde::Deserialize;

use super::scaffold;
use crate::document::{self, Edit, day_of, inert_line};
use crate::links::{self, Vault};
use crate::routing::manifest::{self, Manifest, New, Part};
use crate::workspace::{Error, Move, Proposal, RelPath, Workspace};

mod look;
#[cfg(test)]
mod tests;

pub use look::{look, loose_notes};

/// Where a plan is written unless told otherwise.
pub const FILE: &str = "memory-forge-plan.toml";
const VERSION: u32 = 1;

/// All paths are as they are before anything moves.
#[derive(Debug, Clone, Default, PartialEq, Eq, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Plan {
    pub version: u32,
    /// What the work is about, for the files of a new workspace.
    #[serde(default)]
    pub about: String,
    #[serde(default)]
    pub domains: Vec<Domain>,
    #[serde(default)]
    pub moves: Vec<MoveTo>,
    #[serde(default)]
    pub archive: Vec<Stale>,
    #[serde(default)]
    pub links: Vec<Lateral>,
    /// For a person to decide; applying skips them.
    #[serde(default)]
    pub conflicts: Vec<Conflict>,
    #[serde(default)]
    pub unsorted: Vec<String>,
}

#[derive(Debug, Clone, PartialEq, Eq, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Domain {
    pub folder: String,
    pub name: String,
    #[serde(default)]
    pub about: String,
}

#[derive(Debug, Clone, PartialEq, Eq, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct MoveTo {
    pub from: String,
    pub to: String,
    #[serde(default)]
    pub why: String,
}

#[derive(Debug, Clone, PartialEq, Eq, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Stale {
    pub file: String,
    pub reason: String,
}

/// Words in a note that name a note of another domain.
#[derive(Debug, Clone, PartialEq, Eq, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Lateral {
    pub file: String,
    pub line: usize,
    pub text: String,
    pub to: String,
}

#[derive(Debug, Clone, PartialEq, Eq, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Conflict {
    pub files: Vec<String>,
    pub why: String,
}

impl Plan {
    pub fn is_empty(&self) -> bool {
        let steps = self.domains.len() + self.moves.len() + self.archive.len() + self.links.len();
        steps == 0
    }

    /// Reads a plan that a person may have edited.
    pub fn parse(text: &str, name: &str) -> Result<Plan, Error> {
        let plan: Plan = toml::from_str(text).map_err(|e| {
            let message = e.to_string();
            Error::Refused(format!(
                "`{name}` cannot be read as a plan: {}",
                message.trim()
            ))
        })?;
        match plan.version {
            VERSION => Ok(plan),
            other => Err(Error::Refused(format!(
                "`{name}` is a plan of version {other}; make a new one with `memory-forge init --organise`"
            ))),
        }
    }

    /// The plan as a file, one step a line.
    pub fn render(&self, name: &str) -> String {
        let mut out = format!(
            "# What `memory-forge init --organise` proposes. Nothing has been changed yet.\n\
             # Delete the lines that you do not want, correct the others, then run\n\
             #   memory-forge init --apply {}\n\
             # Paths are as they are now. All of it is one change, and\n\
             # `memory-forge doctor --undo` takes it back.\n\n\
             version = {}\nabout = {}\n",
            inert_line(name),
            self.version,
            quoted(&self.about)
        );
        let mut list = |title: &str, key: &str, lines: Vec<String>| {
            let _ = write!(out, "\n# {title}\n{key} = [\n");
            for line in lines {
                let _ = writeln!(out, "  {line},");
            }
            out.push_str("]\n");
        };
        let rows = self.domains.iter().map(|it| {
            let (folder, name, about) = (quoted(&it.folder), quoted(&it.name), quoted(&it.about));
            format!("{{ folder = {folder}, name = {name}, about = {about} }}")
        });
        list(
            "Folders that become domains, with closets and a row in the manifest.",
            "domains",
            rows.collect(),
        );
        let rows = self.moves.iter().map(|it| {
            let (from, to, why) = (quoted(&it.from), quoted(&it.to), quoted(&it.why));
            format!("{{ from = {from}, to = {to}, why = {why} }}")
        });
        list(
            "Files that move; links to them are written anew.",
            "moves",
            rows.collect(),
        );
        let rows = self.archive.iter().map(|it| {
            format!(
                "{{ file = {}, reason = {} }}",
                quoted(&it.file),
                quoted(&it.reason)
            )
        });
        list(
            "Files that look stale and go to Tier 3. They stay where they are.",
            "archive",
            rows.collect(),
        );
        let rows = self.links.iter().map(|it| {
            let (file, text, to) = (quoted(&it.file), quoted(&it.text), quoted(&it.to));
            format!(
                "{{ file = {file}, line = {}, text = {text}, to = {to} }}",
                it.line
            )
        });
        list(
            "Words that become links to notes of other domains.",
            "links",
            rows.collect(),
        );
        let rows = self.conflicts.iter().map(|it| {
            let files: Vec<String> = it.files.iter().map(|it| quoted(it)).collect();
            format!(
                "{{ files = [{}], why = {} }}",
                files.join(", "),
                quoted(&it.why)
            )
        });
        list(
            "For you to decide which one holds; nothing is done about these.",
            "conflicts",
            rows.collect(),
        );
        let rows = self.unsorted.iter().map(|it| quoted(it));
        list(
            "Notes for which no domain was found; they stay.",
            "unsorted",
            rows.collect(),
        );
        out
    }
}

fn quoted(text: &str) -> String {
    toml::Value::String(text.to_owned()).to_string()
}

/// What applying a plan would change, and what of it cannot be done.
#[derive(Debug)]
pub struct Applied {
    pub proposal: Proposal,
    pub links: usize,
    pub remarks: Vec<String>,
}

/// Turns a plan into changes. Nothing is written.
pub fn apply(workspace: &Workspace, plan: &Plan, now: Timestamp) -> Result<Applied, Error> {
    let mut texts = Texts::default();
    let mut applied = Applied {
        proposal: Proposal::default(),
        links: 0,
        remarks: Vec::new(),
    };
    let mut moves = Vec::new();
    for step in &plan.moves {
        let (from, to) = (RelPath::new(&step.from)?, RelPath::new(&step.to)?);
        if from != to {
            moves.push(Move { from, to });
        }
    }
    if !moves.is_empty() {
        let vault = Vault::read(workspace);
        let renaming = links::rename_all(workspace, &vault, moves)
            .map_err(|e| Error::Refused(e.to_string()))?;
        applied.links = renaming.links;
        for (file, line) in renaming.left_alone {
            let remark = format!("`{file}` line {line} has a link that could not be rewritten");
            applied.remarks.push(remark);
        }
        for file in renaming.proposal.files {
            texts.0.insert(file.path, (file.before, file.after));
        }
        applied.proposal.moves = renaming.proposal.moves;
    }
    let after = |path: &RelPath| -> RelPath {
        let mut moves = applied.proposal.moves.iter();
        let moved = moves.find(|it| it.from == *path);
        moved.map_or_else(|| path.clone(), |it| it.to.clone())
    };
    for step in &plan.links {
        let from = RelPath::new(&step.file)?;
        let to = after(&RelPath::new(&step.to)?);
        let Some(text) = texts.of(workspace, &from, &after(&from)) else {
            let remark = format!("`{from}` cannot be read, so no link was set in it");
            applied.remarks.push(remark);
            continue;
        };
        match linked(&text, step, &to) {
            Some(changed) => texts.set(&after(&from), changed),
            None => applied.remarks.push(format!(
                "`{from}` line {} does not say `{}` any more, so no link was set",
                step.line,
                inert_line(&step.text)
            )),
        }
    }
    manifest_of(workspace, plan, now, &after, &mut texts)?;
    for (path, (before, after)) in texts.0 {
        applied.proposal.add(path, before, after);
    }
    // People look at the notes first; the manifest speaks of them.
    let last = |path: &RelPath| *path == manifest::path();
    applied.proposal.files.sort_by_key(|file| last(&file.path));
    Ok(applied)
}

/// Files as they are and as they will be, by their path afterwards.
#[derive(Default)]
struct Texts(BTreeMap<RelPath, (Option<String>, String)>);

impl Texts {
    fn of(&mut self, workspace: &Workspace, now: &RelPath, then: &RelPath) -> Option<String> {
        if !self.0.contains_key(then) {
            let text = workspace.read_text(now).ok()?;
            let pair = (Some(text.clone()), text);
            self.0.insert(then.clone(), pair);
        }
        self.0.get(then).map(|(_, after)| after.clone())
    }

    fn set(&mut self, path: &RelPath, text: String) {
        let entry = self.0.entry(path.clone()).or_default();
        entry.1 = text;
    }
}

/// The text with the words of a step as a link, if they are there and free.
fn linked(text: &str, step: &Lateral, to: &RelPath) -> Option<String> {
    let document = document::parse(text);
    let start = *document.line_starts.get(step.line.checked_sub(1)?)?;
    let end = document.line_starts.get(step.line).copied();
    let line = &text[start..end.unwrap_or(text.len())];
    let free = |at: usize| {
        let in_link = document.links.iter().any(|link| link.span.contains(&at));
        !in_link && !document.in_code(at) && at >= document.body.start
    };
    let at = line
        .match_indices(step.text.as_str())
        .map(|(at, _)| start + at)
        .find(|at| free(*at))?;
    let target = to.as_str().strip_suffix(".md").unwrap_or(to.as_str());
    if !manifest::link(target).starts_with("[[") || step.text.contains(['[', ']', '|', '\n']) {
        return None;
    }
    let table = document.tables(&document.body);
    let in_table = table.iter().any(|table| table.span.contains(&at));
    let bar = if in_table { "\\|" } else { "|" };
    let link = match to.stem() == step.text {
        true => format!("[[{}]]", step.text),
        false => format!("[[{target}{bar}{}]]", step.text),
    };
    let span = at..at + step.text.len();
    document::apply(text, vec![Edit { span, text: link }]).ok()
}

/// The files of a new workspace, the closets of its domains, the manifest.
fn manifest_of(
    workspace: &Workspace,
    plan: &Plan,
    now: Timestamp,
    after: &dyn Fn(&RelPath) -> RelPath,
    texts: &mut Texts,
) -> Result<(), Error> {
    if plan.is_empty() {
        return Ok(());
    }
    let path = manifest::path();
    let there = Manifest::load(workspace)?.is_some();
    if !there {
        for file in scaffold::plan(workspace, &plan.about, now)?.files {
            texts.0.insert(file.path, (file.before, file.after));
        }
    }
    let Some(mut text) = texts.of(workspace, &path, &path) else {
        return Ok(());
    };
    let mut edit = |make: &dyn Fn(&Manifest) -> Vec<Option<Edit>>| -> Result<(), Error> {
        let manifest = Manifest::parse(text.as_str());
        let edits = make(&manifest).into_iter().flatten().collect();
        text = manifest
            .edited(edits)
            .map_err(|e| Error::Refused(format!("`{path}`: {e}")))?;
        Ok(())
    };
    for domain in &plan.domains {
        let folder = RelPath::new(&domain.folder)?;
        let closets = folder.join("_CLOSETS.md")?;
        let name = domain.name.trim();
        if workspace.absolute(&closets).symlink_metadata().is_err() {
            let name = inert_line(name);
            let text = format!("# Closets: {name}\n\n<!-- memex-closets:1.0 -->\n");
            texts.0.insert(closets, (None, text));
        }
        let target = format!("{folder}/_CLOSETS");
        let new = New {
            name,
            target: &target,
            text: &domain.about,
            note: "",
        };
        edit(&|it| vec![it.add_domain(name, &target), it.list(Part::HubMap, &new)])?;
    }
    for stale in &plan.archive {
        let file = after(&RelPath::new(&stale.file)?);
        let target = file.as_str().strip_suffix(".md").unwrap_or(file.as_str());
        let new = New {
            name: "",
            target,
            text: &stale.reason,
            note: &day_of(now).to_string(),
        };
        edit(&|it| vec![it.list(Part::Tier3, &new)])?;
    }
    texts.set(&path, text);
    Ok(())
}
