//! Lists what Codex puts into the context at start.
//!
//! - One file per folder from the repository's root down: `AGENTS.override.md`,
//!   else `AGENTS.md`, else a name that its configuration adds. Whole, without
//!   imports, until 32,768 bytes are used up: there the text ends, be it in the
//!   middle of a file.
//! - A line with name, description and short path for each skill in `.codex/skills`
//!   and `.agents/skills`.
//! - The person's own `~/.codex/AGENTS.md`, outside of that limit.

use std::path::{Path, PathBuf};

use super::loads::{ClientLoads, FileLoad, first_bytes, truncate_to_utf16};
use super::skills::{self, SkillListing};
use super::source::{SourcePlace, SourceReader};
use super::{AuditFinding, AuditFindingKind, AuditLevel, FileOrigin};
use crate::tokens::format_thousands;

const DEFAULT_INSTRUCTION_BYTES: usize = 32_768;

const SKILL_LISTING: SkillListing = SkillListing {
    project: &[".codex/skills", ".agents/skills"],
    home: &[".codex/skills", ".agents/skills"],
    line: |skill, source| {
        let about = truncate_to_utf16(&skill.description, 1024);
        let folder = skills::folder_name(source);
        // The client names each folder of skills once, as `r0`, `r1` and so on.
        format!("- {}: {about} (file: r1/{folder}/SKILL.md)\n", skill.name)
    },
    as_claude: false,
    waits_for_paths: false,
    max_description: usize::MAX,
};

pub(super) fn collect_loads(reader: &SourceReader) -> ClientLoads {
    let settings = CodexSettings::read_settings(reader);
    let mut out = ClientLoads::default();
    let own = reader
        .read_home(".codex/AGENTS.override.md")
        .or_else(|| reader.read_home(".codex/AGENTS.md"));
    if let Some(source) = own {
        let why = "your instructions for all projects";
        out.loads
            .push(FileLoad::whole_file(&source, FileOrigin::User, why));
    }
    let mut left = settings.most_bytes;
    let above = reader.repository_folders_above();
    for folder in above
        .iter()
        .map(PathBuf::as_path)
        .chain([reader.workspace().root()])
    {
        add_instructions(reader, folder, &settings, &mut left, &mut out);
    }
    out.loads
        .extend(skills::list_skills(reader, &SKILL_LISTING));
    add_nested_files(reader, &mut out);
    for load in &out.loads {
        if load.origin == FileOrigin::Project {
            skills::check_skill(&load.source, &mut out.findings);
        }
    }
    out.loads.sort_by_key(|load| load.origin);
    out
}

/// Adds the one instruction file of a folder, as far as the budget reaches.
fn add_instructions(
    reader: &SourceReader,
    folder: &Path,
    settings: &CodexSettings,
    left: &mut usize,
    out: &mut ClientLoads,
) {
    // Codex takes the first name that exists and ignores the other ones.
    let read = |name: &String| reader.read_source(&reader.place_of(&folder.join(name))?);
    let Some(source) = settings.names.iter().find_map(read) else {
        return;
    };
    let origin = reader.origin_of(&source.place);
    let mut load = FileLoad::whole_file(&source, origin, "instructions");
    let whole = load.text.len();
    if whole > *left {
        load.text = first_bytes(&load.text, *left).to_owned();
        load.part = match *left {
            0 => "nothing: files above used up the limit".to_owned(),
            left => format!("first {} bytes", format_thousands(left)),
        };
        let message = format!(
            "{}: Codex loads {} of its {} bytes and drops the rest; all such files together may \
             have {}",
            source.shown,
            format_thousands(*left),
            format_thousands(whole),
            format_thousands(settings.most_bytes)
        );
        let finding = AuditFinding::new(
            AuditLevel::Warning,
            AuditFindingKind::Cut,
            &source.shown,
            message,
        );
        let finding = finding.with_advice("Move what is not needed at every start to knowledge/");
        out.findings.push(finding);
    }
    *left = left.saturating_sub(whole);
    out.loads.push(load);
}

/// Adds instruction files of folders below, which count when Codex is started
/// there.
fn add_nested_files(reader: &SourceReader, out: &mut ClientLoads) {
    for file in reader.autoload_files() {
        if matches!(file.path.file_name(), "AGENTS.md" | "AGENTS.override.md")
            && file.path.parent().is_some()
            && let Some(source) = reader.read_source(&SourcePlace::Inside(file.path.clone()))
        {
            let why = "when Codex is started there";
            out.loads.push(FileLoad {
                invoke: Some(source.text().to_owned()),
                ..FileLoad::on_demand(&source, FileOrigin::Project, why)
            });
        }
    }
}

struct CodexSettings {
    /// The first of these that a folder has is its instructions.
    names: Vec<String>,
    most_bytes: usize,
}

impl CodexSettings {
    /// Reads the settings of the user and the project; those of the project
    /// win.
    fn read_settings(reader: &SourceReader) -> CodexSettings {
        let mut settings = CodexSettings {
            names: vec!["AGENTS.override.md".to_owned(), "AGENTS.md".to_owned()],
            most_bytes: DEFAULT_INSTRUCTION_BYTES,
        };
        let mut more = Vec::new();
        for file in ["~/.codex/config.toml", ".codex/config.toml"] {
            let table = reader
                .settings_text(file)
                .and_then(|text| text.parse::<toml::Table>().ok());
            let Some(table) = table else { continue };
            let most = table
                .get("project_doc_max_bytes")
                .and_then(toml::Value::as_integer);
            if let Some(most) = most.and_then(|most| usize::try_from(most).ok()) {
                settings.most_bytes = most;
            }
            let names = table.get("project_doc_fallback_filenames");
            if let Some(names) = names.and_then(toml::Value::as_array) {
                let names = names.iter().filter_map(toml::Value::as_str);
                // A name, not a way out of the folder.
                more = names
                    .filter(|n| !n.contains(['/', '\\']))
                    .map(str::to_owned)
                    .collect();
            }
        }
        settings.names.extend(more);
        settings
    }
}
