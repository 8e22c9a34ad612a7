//! Lists what Claude Code puts into the context at start.
//!
//! - `CLAUDE.md`, `.claude/CLAUDE.md` and `CLAUDE.local.md` of the folder and
//!   of every folder above: the body without front matter and block comments.
//!   More than 4 MiB are not read at all.
//! - `@path` in these, four hops deep, each file once.
//! - `.claude/rules/**/*.md`, unless `paths` limits them to certain files.
//! - `AGENTS.md` of the same folders, only where none of those files exist.
//! - A line for each skill and command, and one for each agent.
//! - The head of the project's automatic memory: 200 lines, 25,000 characters.
//! - The person's own `CLAUDE.md`, rules and skills from `~/.claude`.
//!
//! Instructions in folders below wait until files there are read.

use std::path::PathBuf;
use std::rc::Rc;

use super::imports::InstructionImporter;
use super::loads::{ClientLoads, FileLoad, head_within, strip_comments};
use super::skills::{self, SkillHeader, SkillListing};
use super::source::{AuditSource, SourcePlace, SourceReader};
use super::{AuditFinding, AuditFindingKind, AuditLevel, FileOrigin, glob::PathPattern};
use crate::agents::claude::resolve_project_folders;
use crate::document::{Document, YamlValue};

pub(super) const MAX_IMPORT_HOPS: usize = 4;
const MAX_INSTRUCTION_BYTES: usize = 4 << 20;
const MAX_MEMORY_LINES: usize = 200;
const MAX_MEMORY_UTF16_UNITS: usize = 25_000;

const SKILL_LISTING: SkillListing = SkillListing {
    project: &[".claude/skills"],
    home: &[".claude/skills"],
    line: |skill, _| skills::claude_line(skill),
    as_claude: true,
    waits_for_paths: true,
    max_description: usize::MAX,
};

pub(super) fn collect_loads(reader: &SourceReader) -> ClientLoads {
    let mut importer = InstructionImporter::new(reader, instruction_load, MAX_IMPORT_HOPS);
    for source in [reader.read_home(".claude/CLAUDE.md")]
        .into_iter()
        .flatten()
    {
        importer.add_file(&source, "your instructions for all projects");
    }
    for source in reader.read_home_files(".claude/rules", 8) {
        if !skills::is_scoped(&source.document) {
            importer.add_file(&source, "your rule for all projects");
        }
    }
    let excluded = excluded_patterns(reader);
    let is_excluded = |source: &AuditSource| {
        let path = match &source.place {
            SourcePlace::Inside(path) => reader.workspace().absolute_path(path),
            SourcePlace::Beyond(path) => path.clone(),
        };
        let path = path.to_string_lossy().replace('\\', "/");
        excluded.iter().any(|pattern| pattern.matches(&path))
    };
    let named = claude_files(reader);
    for source in &named {
        if !is_excluded(source) {
            importer.add_file(source, "instructions");
        }
    }
    let ignored = agents_files(reader);
    if named.is_empty() {
        for source in &ignored {
            importer.add_file(source, "instructions, as there is no CLAUDE.md");
        }
    }
    let mut waiting = Vec::new();
    for source in project_files_below(reader, ".claude/rules/") {
        if skills::is_scoped(&source.document) {
            waiting.push(FileLoad::on_demand(
                &source,
                FileOrigin::Project,
                "rule for matching files",
            ));
        } else if !is_excluded(&source) {
            importer.add_file(&source, "rule");
        }
    }
    let mut unread = Vec::new();
    if !named.is_empty() {
        let own = ignored
            .iter()
            .filter(|s| matches!(s.place, SourcePlace::Inside(_)));
        unread.extend(own.filter(|s| !importer.has_taken(&s.place)).cloned());
    }
    let mut out = importer.finish();
    for source in &unread {
        out.findings.extend(ignored_file_finding(source, &named));
    }
    for load in &out.loads {
        if load.source.text().len() > MAX_INSTRUCTION_BYTES {
            out.findings.push(too_large_finding(&load.source));
        }
    }
    out.loads.extend(auto_memory_load(reader));
    out.loads
        .extend(skills::list_skills(reader, &SKILL_LISTING));
    out.loads.extend(
        project_files_below(reader, ".claude/commands/")
            .iter()
            .map(command_load),
    );
    out.loads.extend(
        project_files_below(reader, ".claude/agents/")
            .iter()
            .map(agent_load),
    );
    out.loads.extend(waiting);
    out.loads.extend(nested_loads(reader));
    for load in &out.loads {
        if load.origin == FileOrigin::Project {
            skills::check_skill(&load.source, &mut out.findings);
        }
    }
    // Stable, so that files keep the order in which the client loads them.
    out.loads.sort_by_key(|load| load.origin);
    out
}

/// Returns the load of an instruction file as it arrives in the context.
pub(super) fn instruction_load(
    source: &Rc<AuditSource>,
    origin: FileOrigin,
    why: &str,
) -> FileLoad {
    if source.text().len() > MAX_INSTRUCTION_BYTES {
        let part = "nothing: larger than 4 MiB";
        return FileLoad::with_part(source, origin, why, part, String::new());
    }
    FileLoad::body_only(source, origin, why)
}

/// Returns a finding if a client does not see a file because of another one,
/// unless both hold the same text.
pub(super) fn ignored_file_finding(
    source: &AuditSource,
    named: &[Rc<AuditSource>],
) -> Option<AuditFinding> {
    let same = |other: &Rc<AuditSource>| other.real == source.real || other.text() == source.text();
    if named.iter().any(same) {
        return None;
    }
    let other = &named.last()?.shown;
    let message = format!(
        "{}: Claude Code does not read it, because {other} exists",
        source.shown
    );
    let finding = AuditFinding::new(
        AuditLevel::Notice,
        AuditFindingKind::Ignored,
        &source.shown,
        message,
    );
    Some(finding.with_advice(format!(
        "Write `@{}` into {other} if it is meant for Claude Code as well",
        source.shown
    )))
}

fn too_large_finding(source: &AuditSource) -> AuditFinding {
    let message = format!(
        "{}: has more than 4 MiB, and Claude Code reads nothing of it",
        source.shown
    );
    AuditFinding::new(
        AuditLevel::Warning,
        AuditFindingKind::Cut,
        &source.shown,
        message,
    )
    .with_advice("Move most of it to knowledge/")
}

/// Returns the files whose presence makes Claude Code skip `AGENTS.md`, from
/// the outermost folder to the root.
pub(super) fn claude_files(reader: &SourceReader) -> Vec<Rc<AuditSource>> {
    const NAMES: [&str; 3] = ["CLAUDE.md", ".claude/CLAUDE.md", "CLAUDE.local.md"];
    read_files_above(reader, &reader.folders_above(), &NAMES)
}

pub(super) fn agents_files(reader: &SourceReader) -> Vec<Rc<AuditSource>> {
    read_files_above(reader, &reader.folders_above(), &["AGENTS.md"])
}

/// Reads files of these names in the folders above and at the root. A user's
/// own `~/.claude/CLAUDE.md` is not a file of the folder above.
pub(super) fn read_files_above(
    reader: &SourceReader,
    above: &[PathBuf],
    names: &[&str],
) -> Vec<Rc<AuditSource>> {
    let mut found = Vec::new();
    for folder in above
        .iter()
        .map(PathBuf::as_path)
        .chain([reader.workspace().root()])
    {
        for name in names {
            let place = reader.place_of(&folder.join(name));
            let source = place.and_then(|place| reader.read_source(&place));
            found.extend(source.filter(|s| !s.shown.starts_with("~/.claude/")));
        }
    }
    found
}

/// Returns the project's Markdown files below a folder at the root.
fn project_files_below(reader: &SourceReader, folder: &str) -> Vec<Rc<AuditSource>> {
    let files = reader.autoload_files().iter();
    let mine =
        files.filter(|f| f.path.as_str().starts_with(folder) && f.path.as_str().ends_with(".md"));
    mine.filter_map(|f| reader.read_source(&SourcePlace::Inside(f.path.clone())))
        .collect()
}

/// Returns the load of a command: `.claude/commands/a/b.md` is `/a:b` and
/// listed like a skill.
fn command_load(source: &Rc<AuditSource>) -> FileLoad {
    let name = source.shown.trim_start_matches(".claude/commands/");
    let name = name.trim_end_matches(".md").replace('/', ":");
    let mut skill = SkillHeader::from_document(&source.document, &name);
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
    FileLoad {
        invoke: Some(strip_comments(&source.document).0),
        ..FileLoad::with_part(source, FileOrigin::Project, "command", part, text)
    }
}

/// Returns the load of an agent, listed as `- name: description (Tools: …)`.
fn agent_load(source: &Rc<AuditSource>) -> FileLoad {
    let stem = source.shown.rsplit('/').next().unwrap_or("");
    let skill = SkillHeader::from_document(&source.document, stem.trim_end_matches(".md"));
    let tools = agent_tools(&source.document);
    let text = format!("- {}: {} (Tools: {tools})\n", skill.name, skill.description);
    FileLoad {
        invoke: Some(strip_comments(&source.document).0),
        ..FileLoad::with_part(
            source,
            FileOrigin::Project,
            "agent",
            "name and description",
            text,
        )
    }
}

/// Returns the tools of an agent as they are listed.
pub(super) fn agent_tools(document: &Document) -> String {
    let front = document.front_matter.as_ref();
    match front.and_then(|front| front.get("tools")) {
        Some(YamlValue::Text(text)) => skills::one_line(text),
        Some(YamlValue::List(list)) => {
            let names: Vec<String> = list.iter().map(YamlValue::to_string).collect();
            names.join(", ")
        }
        _ => "All tools".to_owned(),
    }
}

/// Returns instructions and skills of folders below, which are loaded on
/// demand.
fn nested_loads(reader: &SourceReader) -> Vec<FileLoad> {
    let mut loads = Vec::new();
    for file in reader.autoload_files() {
        let instructions = matches!(file.path.file_name(), "CLAUDE.md" | "CLAUDE.local.md");
        let skill =
            file.path.as_str().contains("/.claude/skills/") && file.path.file_name() == "SKILL.md";
        if !(instructions || skill) {
            continue;
        }
        let Some(source) = reader.read_source(&SourcePlace::Inside(file.path.clone())) else {
            continue;
        };
        let load = FileLoad::on_demand(&source, FileOrigin::Project, "when files there are read");
        if load.nested {
            loads.push(load);
        }
    }
    loads
}

/// Returns the load of the memory that Claude Code keeps for the project below
/// the home.
fn auto_memory_load(reader: &SourceReader) -> Option<FileLoad> {
    let slug = resolve_project_folders(reader.workspace().root()).memory;
    let source = reader.read_home(&format!(".claude/projects/{slug}/memory/MEMORY.md"))?;
    let why = "what Claude Code remembers of this project";
    Some(
        match head_within(source.text(), MAX_MEMORY_LINES, MAX_MEMORY_UTF16_UNITS) {
            Some(text) => {
                let part = "first 200 lines, at most 25,000 characters";
                FileLoad::with_part(&source, FileOrigin::User, why, part, text.to_owned())
            }
            None => FileLoad::whole_file(&source, FileOrigin::User, why),
        },
    )
}

/// Reads the patterns of files that the settings keep out of the context.
fn excluded_patterns(reader: &SourceReader) -> Vec<PathPattern> {
    let mut patterns = Vec::new();
    for file in [
        "~/.claude/settings.json",
        ".claude/settings.json",
        ".claude/settings.local.json",
    ] {
        let settings = reader
            .settings_text(file)
            .and_then(|text| serde_json::from_str(&text).ok());
        let settings: serde_json::Value = settings.unwrap_or_default();
        let list = settings["claudeMdExcludes"]
            .as_array()
            .into_iter()
            .flatten();
        patterns.extend(list.filter_map(|p| p.as_str().map(PathPattern::new)));
    }
    patterns
}
