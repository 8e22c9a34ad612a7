//! Lists what Claude Code puts into the context at start.
//!
//! - `CLAUDE.md`, `.claude/CLAUDE.md` and `CLAUDE.local.md` of the folder and
//!   of every folder above: the body without front matter and block comments.
//!   More than 4 MiB are not read at all.
//! - `@path` in these, four hops deep, each file once.
//! - `.claude/rules/**/*.md`, unless `paths` says for which files they are.
//! - `AGENTS.md` of the same folders, only where none of those files exist.
//! - A line for each skill and command, and one for each agent.
//! - The head of the project's automatic memory: 200 lines, 25,000 characters.
//! - The person's own `CLAUDE.md`, rules and skills from `~/.claude`.
//!
//! Instructions in folders below wait until files there are read.

use std::path::PathBuf;
use std::rc::Rc;

use super::imports::Importer;
use super::loads::{Load, Loads, head, without_comments};
use super::skills::{self, Listing, Skill};
use super::source::{Place, Reader, Source};
use super::{Finding, Kind, Level, Origin, glob};
use crate::agents::claude::project_folders;
use crate::document::{Document, Value};

pub(super) const HOPS: usize = 4;
const MOST_BYTES: usize = 4 << 20;
const MEMORY_LINES: usize = 200;
const MEMORY_UNITS: usize = 25_000;

const SKILLS: Listing = Listing {
    project: &[".claude/skills"],
    home: &[".claude/skills"],
    line: |skill, _| skills::claude_line(skill),
    as_claude: true,
};

pub(super) fn loads(reader: &Reader) -> Loads {
    let mut importer = Importer::new(reader, instructions, HOPS);
    for source in [reader.home(".claude/CLAUDE.md")].into_iter().flatten() {
        importer.file(&source, "your instructions for all projects");
    }
    for source in reader.home_files(".claude/rules", 8) {
        if !skills::is_scoped(&source.document) {
            importer.file(&source, "your rule for all projects");
        }
    }
    let excluded = excluded(reader);
    let is_excluded = |source: &Source| {
        let path = match &source.place {
            Place::Inside(path) => reader.workspace().absolute(path),
            Place::Beyond(path) => path.clone(),
        };
        let path = path.to_string_lossy().replace('\\', "/");
        excluded.iter().any(|pattern| glob::matches(pattern, &path))
    };
    let named = claude_files(reader);
    for source in &named {
        if !is_excluded(source) {
            importer.file(source, "instructions");
        }
    }
    let ignored = agents_files(reader);
    if named.is_empty() {
        for source in &ignored {
            importer.file(source, "instructions, as there is no CLAUDE.md");
        }
    }
    let mut waiting = Vec::new();
    for source in below(reader, ".claude/rules/") {
        if skills::is_scoped(&source.document) {
            waiting.push(Load::waiting(
                &source,
                Origin::Project,
                "rule for matching files",
            ));
        } else if !is_excluded(&source) {
            importer.file(&source, "rule");
        }
    }
    let mut unread = Vec::new();
    if !named.is_empty() {
        let own = ignored
            .iter()
            .filter(|s| matches!(s.place, Place::Inside(_)));
        unread.extend(own.filter(|s| !importer.has(&s.place)).cloned());
    }
    let mut out = importer.finish();
    for source in &unread {
        out.findings.extend(ignored_beside(source, &named));
    }
    for load in &out.loads {
        if load.source.text().len() > MOST_BYTES {
            out.findings.push(too_large(&load.source));
        }
    }
    out.loads.extend(memory(reader));
    out.loads.extend(skills::list(reader, &SKILLS));
    out.loads
        .extend(below(reader, ".claude/commands/").iter().map(command));
    out.loads
        .extend(below(reader, ".claude/agents/").iter().map(agent));
    out.loads.extend(waiting);
    out.loads.extend(nested(reader));
    for load in &out.loads {
        if load.origin == Origin::Project {
            skills::check(&load.source, &mut out.findings);
        }
    }
    // Stable, so that files keep the order in which the client loads them.
    out.loads.sort_by_key(|load| load.origin);
    out
}

/// Returns the load of an instruction file as it arrives in the context.
pub(super) fn instructions(source: &Rc<Source>, origin: Origin, why: &str) -> Load {
    if source.text().len() > MOST_BYTES {
        let part = "nothing: larger than 4 MiB";
        return Load::part(source, origin, why, part, String::new());
    }
    Load::body(source, origin, why)
}

/// Returns a finding if a client does not see a file because of another one,
/// unless both hold the same text.
pub(super) fn ignored_beside(source: &Source, named: &[Rc<Source>]) -> Option<Finding> {
    let same = |other: &Rc<Source>| other.real == source.real || other.text() == source.text();
    if named.iter().any(same) {
        return None;
    }
    let other = &named.last()?.shown;
    let message = format!(
        "{}: Claude Code does not read it, because {other} exists",
        source.shown
    );
    let finding = Finding::new(Level::Notice, Kind::Ignored, &source.shown, message);
    Some(finding.advice(format!(
        "Write `@{}` into {other} if it is meant for Claude Code as well",
        source.shown
    )))
}

fn too_large(source: &Source) -> Finding {
    let message = format!(
        "{}: has more than 4 MiB, and Claude Code reads nothing of it",
        source.shown
    );
    Finding::new(Level::Warning, Kind::Cut, &source.shown, message)
        .advice("Move most of it to knowledge/")
}

/// Returns the files whose presence makes Claude Code skip `AGENTS.md`, from
/// the outermost folder to the root.
pub(super) fn claude_files(reader: &Reader) -> Vec<Rc<Source>> {
    const NAMES: [&str; 3] = ["CLAUDE.md", ".claude/CLAUDE.md", "CLAUDE.local.md"];
    from_above(reader, &reader.above(), &NAMES)
}

pub(super) fn agents_files(reader: &Reader) -> Vec<Rc<Source>> {
    from_above(reader, &reader.above(), &["AGENTS.md"])
}

/// Reads files of these names in the folders above and at the root. A user's
/// own `~/.claude/CLAUDE.md` is not a file of the folder above.
pub(super) fn from_above(reader: &Reader, above: &[PathBuf], names: &[&str]) -> Vec<Rc<Source>> {
    let mut found = Vec::new();
    for folder in above
        .iter()
        .map(PathBuf::as_path)
        .chain([reader.workspace().root()])
    {
        for name in names {
            let place = reader.place(&folder.join(name));
            let source = place.and_then(|place| reader.read(&place));
            found.extend(source.filter(|s| !s.shown.starts_with("~/.claude/")));
        }
    }
    found
}

/// Returns the project's Markdown files below a folder at the root.
fn below(reader: &Reader, folder: &str) -> Vec<Rc<Source>> {
    let files = reader.files().iter();
    let mine =
        files.filter(|f| f.path.as_str().starts_with(folder) && f.path.as_str().ends_with(".md"));
    mine.filter_map(|f| reader.read(&Place::Inside(f.path.clone())))
        .collect()
}

/// Returns the load of a command: `.claude/commands/a/b.md` is `/a:b` and
/// listed like a skill.
fn command(source: &Rc<Source>) -> Load {
    let name = source.shown.trim_start_matches(".claude/commands/");
    let name = name.trim_end_matches(".md").replace('/', ":");
    let mut skill = Skill::of(&source.document, &name);
    skill.name = name;
    if skill.description.is_empty() {
        skill.description = skills::first_paragraph(&source.document);
    }
    let text = if skill.hidden {
        String::new()
    } else {
        skills::claude_line(&skill)
    };
    let part = if skill.hidden {
        "nothing until then"
    } else {
        "name and description"
    };
    Load {
        invoke: Some(without_comments(&source.document).0),
        ..Load::part(source, Origin::Project, "command", part, text)
    }
}

/// Returns the load of an agent, listed as `- name: description (Tools: …)`.
fn agent(source: &Rc<Source>) -> Load {
    let stem = source.shown.rsplit('/').next().unwrap_or("");
    let skill = Skill::of(&source.document, stem.trim_end_matches(".md"));
    let tools = tools_of(&source.document);
    let text = format!("- {}: {} (Tools: {tools})\n", skill.name, skill.description);
    Load {
        invoke: Some(without_comments(&source.document).0),
        ..Load::part(
            source,
            Origin::Project,
            "agent",
            "name and description",
            text,
        )
    }
}

/// Returns the tools of an agent as they are listed.
pub(super) fn tools_of(document: &Document) -> String {
    let front = document.front_matter.as_ref();
    match front.and_then(|front| front.get("tools")) {
        Some(Value::Text(text)) => skills::one_line(text),
        Some(Value::List(list)) => {
            let names: Vec<String> = list.iter().map(Value::to_string).collect();
            names.join(", ")
        }
        _ => "All tools".to_owned(),
    }
}

/// Returns instructions and skills of folders below, which are loaded on
/// demand.
fn nested(reader: &Reader) -> Vec<Load> {
    let mut loads = Vec::new();
    for file in reader.files() {
        let instructions = matches!(file.path.file_name(), "CLAUDE.md" | "CLAUDE.local.md");
        let skill =
            file.path.as_str().contains("/.claude/skills/") && file.path.file_name() == "SKILL.md";
        if !(instructions || skill) {
            continue;
        }
        let Some(source) = reader.read(&Place::Inside(file.path.clone())) else {
            continue;
        };
        let load = Load::waiting(&source, Origin::Project, "when files there are read");
        if load.nested {
            loads.push(load);
        }
    }
    loads
}

/// Returns the load of the memory that Claude Code keeps for the project below
/// the home.
fn memory(reader: &Reader) -> Option<Load> {
    let slug = project_folders(reader.workspace().root()).memory;
    let source = reader.home(&format!(".claude/projects/{slug}/memory/MEMORY.md"))?;
    let why = "what Claude Code remembers of this project";
    Some(match head(source.text(), MEMORY_LINES, MEMORY_UNITS) {
        Some(text) => {
            let part = "first 200 lines, at most 25,000 characters";
            Load::part(&source, Origin::User, why, part, text.to_owned())
        }
        None => Load::whole(&source, Origin::User, why),
    })
}

/// Reads the patterns of files that the settings keep out of the context.
fn excluded(reader: &Reader) -> Vec<String> {
    let mut patterns = Vec::new();
    for file in [
        "~/.claude/settings.json",
        ".claude/settings.json",
        ".claude/settings.local.json",
    ] {
        let settings = reader
            .settings(file)
            .and_then(|text| serde_json::from_str(&text).ok());
        let settings: serde_json::Value = settings.unwrap_or_default();
        let list = settings["claudeMdExcludes"]
            .as_array()
            .into_iter()
            .flatten();
        patterns.extend(list.filter_map(|p| p.as_str().map(str::to_owned)));
    }
    patterns
}
