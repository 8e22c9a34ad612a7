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

use super::Origin;
use super::claude::from_above;
use super::loads::{Load, Loads};
use super::skills::{self, Listing};
use super::source::{Place, Reader};

/// Instruction files that Copilot loads all together.
pub(super) const TOGETHER: [&str; 4] = [
    ".github/copilot-instructions.md",
    "AGENTS.md",
    "CLAUDE.md",
    "GEMINI.md",
];

const SKILLS: Listing = Listing {
    project: &[".github/skills", ".agents/skills", ".claude/skills"],
    home: &[".copilot/skills", ".agents/skills"],
    line: |skill, _| format!("- {}: {}\n", skill.name, skill.description),
    as_claude: false,
};

pub(super) fn loads(reader: &Reader) -> Loads {
    let mut out = Loads::default();
    if let Some(source) = reader.home(".copilot/copilot-instructions.md") {
        let why = "your instructions for all projects";
        out.loads.push(Load::whole(&source, Origin::User, why));
    }
    for source in from_above(reader, &reader.above_in_repository(), &TOGETHER) {
        let origin = reader.origin(&source.place);
        out.loads.push(Load::whole(&source, origin, "instructions"));
    }
    out.loads.extend(skills::list(reader, &SKILLS));
    for file in reader.files() {
        if file.path.starts_with(".github/instructions")
            && file.path.as_str().ends_with(".instructions.md")
            && let Some(source) = reader.read(&Place::Inside(file.path.clone()))
        {
            let why = "instructions for matching files";
            out.loads.push(Load::waiting(&source, Origin::Project, why));
        }
    }
    for load in &out.loads {
        if load.origin == Origin::Project {
            skills::check(&load.source, &mut out.findings);
        }
    }
    out.loads.sort_by_key(|load| load.origin);
    out
}
