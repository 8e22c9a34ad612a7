//! Computes the plain view: every file that any client loads at start, counted
//! whole, nested ones and imports included. It knows no client's rules, so its
//! sum is the most that a project could cost.

use std::collections::HashSet;
use std::rc::Rc;

use super::FileOrigin;
use super::claude;
use super::imports::InstructionImporter;
use super::loads::{ClientLoads, FileLoad};
use super::skills;
use super::source::{AuditSource, SourcePlace, SourceReader};
use crate::workspace::{FileRole, role_by_path};

pub(super) fn collect_loads(reader: &SourceReader) -> ClientLoads {
    let mut importer =
        InstructionImporter::new(reader, FileLoad::whole_file, claude::MAX_IMPORT_HOPS);
    let mut others = Vec::new();
    for source in autoload_sources(reader) {
        if follows_imports(&source) {
            importer.add_file(&source, load_reason(&source));
        } else {
            others.push(source);
        }
    }
    let named = claude::claude_files(reader);
    let agents = claude::agents_files(reader);
    let unread: Vec<_> = if named.is_empty() {
        Vec::new()
    } else {
        agents
            .iter()
            .filter(|s| {
                matches!(s.place, SourcePlace::Inside(_)) && !importer.is_imported(&s.place)
            })
            .cloned()
            .collect()
    };
    let (references, others): (Vec<_>, Vec<_>) =
        others.into_iter().partition(|source| is_reference(source));
    for source in others {
        importer.add_file_alone(&source, load_reason(&source));
    }
    let mut out = importer.finish();
    for source in references {
        let origin = reader.origin_of(&source.place);
        let why = "read when its skill needs it";
        out.loads.push(FileLoad::on_demand(&source, origin, why));
    }
    for source in &unread {
        out.findings
            .extend(claude::ignored_file_finding(source, &named));
    }
    // Imports from outside the workspace belong to the user.
    out.loads.retain(|load| load.origin == FileOrigin::Project);
    out.loads
        .sort_by(|a, b| a.source.place.cmp(&b.source.place));
    for load in &out.loads {
        skills::check_skill(&load.source, &mut out.findings);
    }
    out
}

/// Reads the files by path, each once however many links lead to it.
fn autoload_sources(reader: &SourceReader) -> Vec<Rc<AuditSource>> {
    let files = reader.autoload_files();
    let listed: HashSet<_> = files.iter().map(|f| &f.path).collect();
    let mut seen = HashSet::new();
    let mut found = Vec::new();
    for file in files {
        if role_by_path(&file.path) != FileRole::Autoload {
            continue;
        }
        let real = file.real.as_ref().unwrap_or(&file.path);
        let counted_there = file.real.is_some() && listed.contains(real);
        if !counted_there && seen.insert(real) {
            found.extend(reader.read_source(&SourcePlace::Inside(file.path.clone())));
        }
    }
    found
}

fn follows_imports(source: &AuditSource) -> bool {
    let name = source.shown.rsplit('/').next().unwrap_or("");
    matches!(
        name,
        "CLAUDE.md" | "CLAUDE.local.md" | "AGENTS.md" | "GEMINI.md"
    ) || source.shown.contains(".claude/rules/")
}

/// Returns `true` for a file that a skill points to: one below `references/` in
/// the folder of its `SKILL.md`. No client loads it at start, and a skill is
/// kept short by putting text there.
fn is_reference(source: &AuditSource) -> bool {
    let mut parts = source.shown.split('/');
    parts.any(|part| matches!(part, "skills" | "skill")) && parts.nth(1) == Some("references")
}

fn load_reason(source: &AuditSource) -> &'static str {
    if follows_imports(source) || source.shown.ends_with("copilot-instructions.md") {
        "instructions"
    } else if source.shown.ends_with("/SKILL.md") {
        "skill"
    } else {
        "in a folder that agents load"
    }
}
