//! Keeps what the last audit saw, so that the next one can report what is new.
//! It is derived: without it, an audit counts as the first one.

use std::collections::BTreeMap;

use jiff::Timestamp;

use super::source::{SourcePlace, SourceReader};
use super::{AuditFinding, AuditFindingKind, AuditLevel};
use crate::counts::count_noun;
use crate::document::content_hash;
use crate::workspace::{FileRole, role_by_path};

/// Name of the file in the folder of derived files.
pub const STATE_FILE_NAME: &str = "audit.json";

/// Hash of every file that agents load.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct AuditState {
    /// Moment at which it last differed from the audit before.
    pub changed: String,
    /// Hash of each file, by its path.
    pub files: BTreeMap<String, String>,
}

impl AuditState {
    /// Returns the text of the state file.
    pub fn to_json(&self) -> String {
        let json = serde_json::json!({
            "version": 1,
            "changed": self.changed,
            "files": self.files,
        });
        format!("{json:#}\n")
    }

    /// Parses a state file. Returns `None` for any other text.
    pub fn from_json(text: &str) -> Option<AuditState> {
        let json: serde_json::Value = serde_json::from_str(text).ok()?;
        if json["version"] != 1 {
            return None;
        }
        let files = json["files"].as_object()?.iter();
        let files = files.map(|(path, hash)| Some((path.clone(), hash.as_str()?.to_owned())));
        Some(AuditState {
            changed: json["changed"].as_str()?.to_owned(),
            files: files.collect::<Option<_>>()?,
        })
    }
}

/// Reports new and modified files, and returns the state to keep if it differs
/// from the one on disk.
pub(super) fn compare_with_last(
    reader: &SourceReader,
    now: Timestamp,
    findings: &mut Vec<AuditFinding>,
) -> Option<AuditState> {
    let mut files = BTreeMap::new();
    for file in reader.autoload_files() {
        if role_by_path(&file.path) == FileRole::Autoload
            && let Some(source) = reader.read_source(&SourcePlace::Inside(file.path.clone()))
        {
            files.insert(file.path.to_string(), content_hash(source.text()));
        }
    }
    let known = reader.workspace().read_marked(STATE_FILE_NAME);
    let known = known.and_then(|bytes| AuditState::from_json(&String::from_utf8(bytes).ok()?));
    let new = AuditState {
        changed: format!("{now:.0}"),
        files,
    };
    let Some(known) = known else {
        if new.files.is_empty() {
            return None;
        }
        let count = count_noun(new.files.len(), "file");
        let message = format!("First audit: recorded {count} as the baseline");
        findings.push(AuditFinding::new(
            AuditLevel::Notice,
            AuditFindingKind::FirstAudit,
            STATE_FILE_NAME,
            message,
        ));
        return Some(new);
    };
    for (path, hash) in &new.files {
        let (kind, word) = match known.files.get(path) {
            Some(before) if before == hash => continue,
            Some(_) => (AuditFindingKind::Modified, "modified"),
            None => (AuditFindingKind::New, "new"),
        };
        if is_skill_like(path) {
            let message = format!("{path}: {word} since the last audit");
            let finding = AuditFinding::new(AuditLevel::Notice, kind, path, message);
            findings.push(finding.with_advice("Read it before an agent does"));
        }
    }
    (known.files != new.files).then_some(new)
}

/// Returns `true` for files of the clients' folders. A `CLAUDE.md` changes
/// every day and people read it anyway.
fn is_skill_like(path: &str) -> bool {
    let name = path.rsplit('/').next().unwrap_or(path);
    !matches!(
        name,
        "CLAUDE.md" | "CLAUDE.local.md" | "AGENTS.md" | "GEMINI.md" | "copilot-instructions.md"
    )
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_state_survives_its_file_and_garbage_does_not() {
        let state = AuditState {
            changed: "2026-03-01T09:00:00Z".to_owned(),
            files: BTreeMap::from([("CLAUDE.md".to_owned(), "00ff".to_owned())]),
        };
        assert_eq!(AuditState::from_json(&state.to_json()), Some(state));
        for text in [
            "",
            "{",
            "[]",
            "{\"version\":2}",
            "{\"version\":1,\"changed\":\"\",\"files\":{\"a\":1}}",
        ] {
            assert_eq!(AuditState::from_json(text), None, "{text}");
        }
    }
}
