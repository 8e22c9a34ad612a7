//! Lists what Copilot CLI puts into the context at start.
//!
//! - `.github/copilot-instructions.md`, `AGENTS.md`, `CLAUDE.md` and
//!   `GEMINI.md`, all of them together and whole. Of several with exactly the
//!   same text it takes one.
//! - `@path` in these, except in `GEMINI.md`, eight hops deep: a file that two
//!   of them import is loaded twice.
//! - Whole `.github/instructions/**/*.instructions.md` and
//!   `.claude/rules/**/*.md` that are for all files; of those for some files, a
//!   row of a table.
//! - Name and description, 15,000 characters of them, of each skill in `.github/skills`, `.agents/skills`
//!   and `.claude/skills`, of each command in `.claude/commands`, and of each
//!   agent in `.claude/agents` and `.github/agents`.
//! - The person's own `~/.copilot/copilot-instructions.md`.

use std::collections::HashSet;
use std::rc::Rc;

use super::FileOrigin;
use super::claude::read_files_above;
use super::imports::InstructionImporter;
use super::loads::{ClientLoads, FileLoad, strip_comments, utf16_len};
use super::skills::{self, SkillHeader, SkillListing, skill_xml};
use super::source::{AuditSource, SourcePlace, SourceReader};
use crate::document::Document;

/// Instruction files that Copilot loads all together.
pub(super) const INSTRUCTION_FILES: [&str; 4] = [
    ".github/copilot-instructions.md",
    "AGENTS.md",
    "CLAUDE.md",
    "GEMINI.md",
];

const MAX_IMPORT_HOPS: usize = 8;
/// Upper bound for the list of skills; the rest of them have a name alone.
const MAX_SKILL_UTF16_UNITS: usize = 15_000;

const SKILL_LISTING: SkillListing = SkillListing {
    project: &[".github/skills", ".agents/skills", ".claude/skills"],
    home: &[".copilot/skills", ".agents/skills"],
    line: |skill, source| {
        let owner = match source.place {
            SourcePlace::Inside(_) => "project",
            SourcePlace::Beyond(_) => "user",
        };
        skill_xml(&skill.name, &skill.description, owner)
    },
    as_claude: true,
    waits_for_paths: false,
    max_description: 1024,
};

pub(super) fn collect_loads(reader: &SourceReader) -> ClientLoads {
    let mut out = ClientLoads::default();
    if let Some(source) = reader.read_home(".copilot/copilot-instructions.md") {
        add_instructions(
            reader,
            &source,
            "your instructions for all projects",
            &mut out,
        );
    }
    let mut texts = HashSet::new();
    for source in read_files_above(
        reader,
        &reader.repository_folders_above(),
        &INSTRUCTION_FILES,
    ) {
        if texts.insert(source.text().to_owned()) {
            add_instructions(reader, &source, "instructions", &mut out);
        } else {
            let origin = reader.origin_of(&source.place);
            let why = "another file has this text";
            let load = FileLoad::with_part(&source, origin, why, "nothing", String::new());
            out.loads.push(load);
        }
    }
    let mut listed = skills::list_skills(reader, &SKILL_LISTING);
    shorten_listing(&mut listed);
    out.loads.extend(listed);
    add_client_files(reader, &mut out);
    for load in &out.loads {
        if load.origin == FileOrigin::Project {
            skills::check_skill(&load.source, &mut out.findings);
        }
    }
    out.loads.sort_by_key(|load| load.origin);
    out
}

/// Adds an instruction file with what it imports. Each file is followed by
/// itself, so that it does not matter what others import.
fn add_instructions(
    reader: &SourceReader,
    source: &Rc<AuditSource>,
    why: &str,
    out: &mut ClientLoads,
) {
    let importer = InstructionImporter::new(reader, FileLoad::whole_file, MAX_IMPORT_HOPS);
    let mut importer = importer.with_copilot_rules();
    if source.shown.ends_with("GEMINI.md") {
        importer.add_file_alone(source, why);
    } else {
        importer.add_file(source, why);
    }
    let found = importer.finish();
    out.loads.extend(found.loads);
    out.findings.extend(found.findings);
}

/// Leaves the names alone of those skills that the list has no room for.
fn shorten_listing(listed: &mut [FileLoad]) {
    let mut left = MAX_SKILL_UTF16_UNITS;
    for load in listed.iter_mut().filter(|load| !load.text.is_empty()) {
        let units = utf16_len(&load.text);
        if units <= left {
            left -= units;
            continue;
        }
        left = 0;
        let folder = skills::folder_name(&load.source);
        let skill = SkillHeader::from_document(&load.source.document, &folder);
        load.text = format!("{}, ", skill.name);
        load.part = "name: the list of skills is full".to_owned();
    }
}

/// Adds instructions, rules, commands and agents from the folders of clients.
fn add_client_files(reader: &SourceReader, out: &mut ClientLoads) {
    for file in reader.autoload_files() {
        let path = file.path.as_str();
        let build: fn(&Rc<AuditSource>) -> Option<FileLoad> = if file
            .path
            .starts_with(".github/instructions")
            && path.ends_with(".instructions.md")
        {
            |source| Some(instructions_load(source, "applyTo"))
        } else if file.path.starts_with(".claude/rules") {
            |source| Some(instructions_load(source, "paths"))
        } else if file.path.starts_with(".claude/commands") {
            command_load
        } else if file.path.starts_with(".claude/agents") || file.path.starts_with(".github/agents")
        {
            agent_load
        } else {
            continue;
        };
        let source = reader.read_source(&SourcePlace::Inside(file.path.clone()));
        out.loads.extend(source.and_then(|source| build(&source)));
    }
}

/// Returns the load of instructions: whole if they are for all files, else the
/// row of a table that says which files they are for.
fn instructions_load(source: &Rc<AuditSource>, key: &str) -> FileLoad {
    let patterns = patterns_of(&source.document, key);
    let for_all = |pattern: &str| matches!(pattern, "*" | "**" | "**/*");
    if patterns.iter().all(|pattern| for_all(pattern)) {
        return FileLoad::whole_file(source, FileOrigin::Project, "instructions for all files");
    }
    let front = source.document.front_matter.as_ref();
    let about = front.and_then(|front| front.text("description"));
    let row = format!(
        "| {} | '{}' | {} |\n",
        patterns.join(", "),
        source.shown,
        skills::one_line(about.unwrap_or_default())
    );
    FileLoad {
        invoke: Some(strip_comments(&source.document).0),
        ..FileLoad::with_part(
            source,
            FileOrigin::Project,
            "instructions for matching files",
            "pattern and description",
            row,
        )
    }
}

/// Returns the patterns of the files that instructions are for.
fn patterns_of<'a>(document: &'a Document, key: &str) -> Vec<&'a str> {
    let front = document.front_matter.as_ref();
    let listed = front.map(|front| front.list(key)).unwrap_or_default();
    let parts = listed.into_iter().flat_map(|text| text.split(','));
    parts.map(str::trim).filter(|p| !p.is_empty()).collect()
}

/// Returns the load of a command, which is listed like a skill. Commands in
/// folders below are not.
fn command_load(source: &Rc<AuditSource>) -> Option<FileLoad> {
    let name = source.shown.strip_prefix(".claude/commands/")?;
    let name = name.strip_suffix(".md").filter(|n| !n.contains('/'))?;
    let mut skill = SkillHeader::from_document(&source.document, name);
    if skill.description.is_empty() {
        skill.description = skills::first_paragraph(&source.document);
    }
    let (part, text) = if skill.hidden {
        ("nothing until then", String::new())
    } else {
        let line = skill_xml(name, &skill.description, "project");
        ("name and description", line)
    };
    Some(FileLoad {
        invoke: Some(strip_comments(&source.document).0),
        ..FileLoad::with_part(source, FileOrigin::Project, "command", part, text)
    })
}

/// Returns the load of an agent; one without a description is unknown to the
/// client.
fn agent_load(source: &Rc<AuditSource>) -> Option<FileLoad> {
    let stem = source.shown.rsplit('/').next()?;
    let stem = stem.trim_end_matches(".md").trim_end_matches(".agent");
    let skill = SkillHeader::from_document(&source.document, stem);
    if skill.description.is_empty() {
        return None;
    }
    let text = format!("- **{}**: {}\n\n", skill.name, skill.description);
    let part = "name and description";
    Some(FileLoad {
        invoke: Some(strip_comments(&source.document).0),
        ..FileLoad::with_part(source, FileOrigin::Project, "agent", part, text)
    })
}
