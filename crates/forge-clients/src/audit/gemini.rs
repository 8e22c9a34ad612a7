//! Lists what Gemini CLI puts into the context at start.
//!
//! - `GEMINI.md`, or the names that `context.fileName` of its settings gives
//!   instead, of the folder and of those above it in the repository.
//! - `@path` in these, five hops deep.
//! - Name, description and path of each skill in `.agents/skills` and
//!   `.gemini/skills`; of two with one name the former counts.
//! - The person's own file of that name in `~/.gemini`.
//!
//! Files of that name in folders below wait until files there are read.

use std::rc::Rc;

use super::claude::read_files_above;
use super::imports::InstructionImporter;
use super::loads::{ClientLoads, FileLoad};
use super::skills::{self, SkillListing};
use super::source::{SourcePlace, SourceReader};
use super::{AuditFinding, AuditFindingKind, AuditLevel, FileOrigin};

const MAX_IMPORT_HOPS: usize = 5;

const SKILL_LISTING: SkillListing = SkillListing {
    project: &[".agents/skills", ".gemini/skills"],
    home: &[".agents/skills", ".gemini/skills"],
    line: skills::skill_xml_with_path,
    as_claude: false,
    waits_for_paths: false,
    max_description: usize::MAX,
};

pub(super) fn collect_loads(reader: &SourceReader) -> ClientLoads {
    let names = instruction_file_names(reader);
    let mut importer = InstructionImporter::new(reader, FileLoad::whole_file, MAX_IMPORT_HOPS);
    for name in &names {
        if let Some(source) = reader.read_home(&format!(".gemini/{name}")) {
            importer.add_file(&source, "your instructions for all projects");
        }
    }
    let above = reader.repository_folders_above();
    let borrowed: Vec<&str> = names.iter().map(String::as_str).collect();
    for source in read_files_above(reader, &above, &borrowed) {
        importer.add_file(&source, "instructions");
    }
    let unread = reader
        .read_inside("GEMINI.md")
        .filter(|s| !importer.has_taken(&s.place));
    let mut out = importer.finish();
    out.loads
        .extend(skills::list_skills(reader, &SKILL_LISTING));
    for file in reader.autoload_files() {
        let name = file.path.file_name();
        if file.path.parent().is_some()
            && names.iter().any(|n| n == name)
            && let Some(source) = reader.read_source(&SourcePlace::Inside(file.path.clone()))
            && !out
                .loads
                .iter()
                .any(|load| Rc::ptr_eq(&load.source, &source))
        {
            let why = "when files there are read";
            out.loads
                .push(FileLoad::on_demand(&source, FileOrigin::Project, why));
        }
    }
    if let Some(source) = unread {
        let message = format!(
            "GEMINI.md: Gemini CLI does not read it, because `context.fileName` names {}",
            names.join(", ")
        );
        let finding = AuditFinding::new(
            AuditLevel::Notice,
            AuditFindingKind::Ignored,
            &source.shown,
            message,
        );
        let advice = "Add `GEMINI.md` to `context.fileName` in .gemini/settings.json";
        out.findings.push(finding.with_advice(advice));
    }
    for load in &out.loads {
        if load.origin == FileOrigin::Project {
            skills::check_skill(&load.source, &mut out.findings);
        }
    }
    out.loads.sort_by_key(|load| load.origin);
    out
}

/// Returns the names of instruction files; the project's settings win over the
/// user's.
fn instruction_file_names(reader: &SourceReader) -> Vec<String> {
    for file in [".gemini/settings.json", "~/.gemini/settings.json"] {
        let settings = reader
            .settings_text(file)
            .and_then(|text| serde_json::from_str(&text).ok());
        let settings: serde_json::Value = settings.unwrap_or_default();
        let value = match &settings["context"]["fileName"] {
            // The name of the key in older versions.
            serde_json::Value::Null => &settings["contextFileName"],
            value => value,
        };
        let given: Vec<String> = match value {
            serde_json::Value::String(name) => vec![name.clone()],
            serde_json::Value::Array(names) => names
                .iter()
                .filter_map(|n| n.as_str().map(str::to_owned))
                .collect(),
            _ => continue,
        };
        let names: Vec<String> = given.into_iter().filter(|n| !n.trim().is_empty()).collect();
        if !names.is_empty() {
            return names;
        }
    }
    vec!["GEMINI.md".to_owned()]
}
