//! Lists what Gemini CLI puts into the context at start.
//!
//! - `GEMINI.md`, or the names that `context.fileName` of its settings gives
//!   instead, of the folder and of those above it in the repository.
//! - `@path` in these, five hops deep.
//! - Name and description of each skill in `.agents/skills` and
//!   `.gemini/skills`; of two with one name the former counts.
//! - The person's own file of that name in `~/.gemini`.
//!
//! Files of that name in folders below wait until files there are read.

use std::rc::Rc;

use super::claude::from_above;
use super::imports::Importer;
use super::loads::{Load, Loads};
use super::skills::{self, Listing};
use super::source::{Place, Reader};
use super::{Finding, Kind, Level, Origin};

const HOPS: usize = 5;

const SKILLS: Listing = Listing {
    project: &[".agents/skills", ".gemini/skills"],
    home: &[".agents/skills", ".gemini/skills"],
    line: |skill, _| format!("- {}: {}\n", skill.name, skill.description),
    as_claude: false,
};

pub(super) fn loads(reader: &Reader) -> Loads {
    let names = names(reader);
    let mut importer = Importer::new(reader, Load::whole, HOPS);
    for name in &names {
        if let Some(source) = reader.home(&format!(".gemini/{name}")) {
            importer.file(&source, "your instructions for all projects");
        }
    }
    let above = reader.above_in_repository();
    let borrowed: Vec<&str> = names.iter().map(String::as_str).collect();
    for source in from_above(reader, &above, &borrowed) {
        importer.file(&source, "instructions");
    }
    let unread = reader
        .inside("GEMINI.md")
        .filter(|s| !importer.has(&s.place));
    let mut out = importer.finish();
    out.loads.extend(skills::list(reader, &SKILLS));
    for file in reader.files() {
        let name = file.path.file_name();
        if file.path.parent().is_some()
            && names.iter().any(|n| n == name)
            && let Some(source) = reader.read(&Place::Inside(file.path.clone()))
            && !out
                .loads
                .iter()
                .any(|load| Rc::ptr_eq(&load.source, &source))
        {
            let why = "when files there are read";
            out.loads.push(Load::waiting(&source, Origin::Project, why));
        }
    }
    if let Some(source) = unread {
        let message = format!(
            "GEMINI.md: Gemini CLI does not read it, because `context.fileName` names {}",
            names.join(", ")
        );
        let finding = Finding::new(Level::Notice, Kind::Ignored, &source.shown, message);
        let advice = "Add `GEMINI.md` to `context.fileName` in .gemini/settings.json";
        out.findings.push(finding.advice(advice));
    }
    for load in &out.loads {
        if load.origin == Origin::Project {
            skills::check(&load.source, &mut out.findings);
        }
    }
    out.loads.sort_by_key(|load| load.origin);
    out
}

/// Returns the names of instruction files; the project's settings win over the
/// user's.
fn names(reader: &Reader) -> Vec<String> {
    for file in [".gemini/settings.json", "~/.gemini/settings.json"] {
        let settings = reader
            .settings(file)
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
