//! Lists what Copilot CLI puts into the context at start.
//!
//! - `.github/copilot-instructions.md`, `AGENTS.md`, `CLAUDE.md` and
//!   `GEMINI.md`, all of them together and whole: the same text in several is
//!   paid several times.
//! - Name and description of each skill in `.github/skills`, `.agents/skills`
//!   and `.claude/skills`.
//! - The person's own `~/.copilot/copilot-instructions.md`.
//!
//! `.github/instructions/*.instructions.md` wait for matching files.

use super::FileOrigin;
use super::claude::read_files_above;
use super::loads::{ClientLoads, FileLoad};
use super::skills::{self, SkillListing};
use super::source::{SourcePlace, SourceReader};

/// Instruction files that Copilot loads all together.
pub(super) const INSTRUCTION_FILES: [&str; 4] = [
    ".github/copilot-instructions.md",
    "AGENTS.md",
    "CLAUDE.md",
    "GEMINI.md",
];

const SKILL_LISTING: SkillListing = SkillListing {
    project: &[".github/skills", ".agents/skills", ".claude/skills"],
    home: &[".copilot/skills", ".agents/skills"],
    line: |skill, _| format!("- {}: {}\n", skill.name, skill.description),
    as_claude: false,
};

pub(super) fn collect_loads(reader: &SourceReader) -> ClientLoads {
    let mut out = ClientLoads::default();
    if let Some(source) = reader.read_home(".copilot/copilot-instructions.md") {
        let why = "your instructions for all projects";
        out.loads
            .push(FileLoad::whole_file(&source, FileOrigin::User, why));
    }
    for source in read_files_above(
        reader,
        &reader.repository_folders_above(),
        &INSTRUCTION_FILES,
    ) {
        let origin = reader.origin_of(&source.place);
        out.loads
            .push(FileLoad::whole_file(&source, origin, "instructions"));
    }
    out.loads
        .extend(skills::list_skills(reader, &SKILL_LISTING));
    for file in reader.autoload_files() {
        if file.path.starts_with(".github/instructions")
            && file.path.as_str().ends_with(".instructions.md")
            && let Some(source) = reader.read_source(&SourcePlace::Inside(file.path.clone()))
        {
            let why = "instructions for matching files";
            out.loads
                .push(FileLoad::on_demand(&source, FileOrigin::Project, why));
        }
    }
    for load in &out.loads {
        if load.origin == FileOrigin::Project {
            skills::check_skill(&load.source, &mut out.findings);
        }
    }
    out.loads.sort_by_key(|load| load.origin);
    out
}
