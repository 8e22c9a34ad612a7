//! Lists what OpenCode puts into the context at start.
//!
//! - `AGENTS.md` of the folder and of those above it in the repository; where
//!   there is none, `CLAUDE.md` of the same folders. Whole, without imports.
//! - Files that `instructions` in `opencode.json` names, by pattern.
//! - Name, description and path of each skill in `.opencode/skill`, `.claude/skills`
//!   and `.agents/skills`.
//! - The person's own `~/.config/opencode/AGENTS.md`, else `~/.claude/CLAUDE.md`.

use std::collections::BTreeSet;

use super::claude::read_files_above;
use super::loads::{ClientLoads, FileLoad};
use super::skills::{self, SkillListing};
use super::source::SourceReader;
use super::{AuditFinding, AuditFindingKind, AuditLevel, FileOrigin, glob::PathPattern};
use crate::workspace::RelPath;

const SKILL_LISTING: SkillListing = SkillListing {
    project: &[
        ".opencode/skill",
        ".opencode/skills",
        ".claude/skills",
        ".agents/skills",
    ],
    home: &[
        ".config/opencode/skill",
        ".config/opencode/skills",
        ".claude/skills",
        ".agents/skills",
    ],
    line: skills::skill_xml_with_path,
    as_claude: false,
    waits_for_paths: false,
    max_description: usize::MAX,
};

const SETTINGS_FILES: [&str; 4] = [
    "opencode.json",
    "opencode.jsonc",
    ".opencode/opencode.json",
    ".opencode/opencode.jsonc",
];

pub(super) fn collect_loads(reader: &SourceReader) -> ClientLoads {
    let mut out = ClientLoads::default();
    let own = reader
        .read_home(".config/opencode/AGENTS.md")
        .or_else(|| reader.read_home(".claude/CLAUDE.md"));
    if let Some(source) = own {
        let why = "your instructions for all projects";
        out.loads
            .push(FileLoad::whole_file(&source, FileOrigin::User, why));
    }
    let above = reader.repository_folders_above();
    let mut files = read_files_above(reader, &above, &["AGENTS.md"]);
    let mut why = "instructions";
    if files.is_empty() {
        files = read_files_above(reader, &above, &["CLAUDE.md"]);
        why = "instructions, as there is no AGENTS.md";
    }
    for source in &files {
        let origin = reader.origin_of(&source.place);
        out.loads.push(FileLoad::whole_file(source, origin, why));
    }
    add_settings_instructions(reader, &mut out);
    out.loads
        .extend(skills::list_skills(reader, &SKILL_LISTING));
    for load in &out.loads {
        if load.origin == FileOrigin::Project {
            skills::check_skill(&load.source, &mut out.findings);
        }
    }
    out.loads.sort_by_key(|load| load.origin);
    out
}

/// Adds the files that `instructions` names, each once.
fn add_settings_instructions(reader: &SourceReader, out: &mut ClientLoads) {
    for file in SETTINGS_FILES {
        let Some(text) = reader.settings_text(file) else {
            continue;
        };
        let Ok(settings) = serde_json::from_str::<serde_json::Value>(&strip_json_comments(&text))
        else {
            let message =
                format!("{file}: is not valid JSON, so that its `instructions` are unknown");
            out.findings.push(AuditFinding::new(
                AuditLevel::Notice,
                AuditFindingKind::Unreadable,
                file,
                message,
            ));
            continue;
        };
        let patterns = settings["instructions"].as_array().into_iter().flatten();
        for pattern in patterns.filter_map(serde_json::Value::as_str) {
            if pattern.starts_with("https://") || pattern.starts_with("http://") {
                let message =
                    format!("{file}: loads `{pattern}` at every start, which is not counted");
                out.findings.push(AuditFinding::new(
                    AuditLevel::Notice,
                    AuditFindingKind::Ignored,
                    file,
                    message,
                ));
                continue;
            }
            let why = format!("instructions named in {file}");
            let mut sources = Vec::new();
            if let Some(below) = pattern.strip_prefix("~/") {
                sources.extend(reader.read_home(below));
            } else if pattern.contains(['*', '?', '{']) {
                let paths = files_matching(reader, pattern);
                sources.extend(paths.iter().filter_map(|path| reader.read_inside(path)));
            } else {
                sources.extend(reader.read_inside(pattern));
            }
            for source in sources {
                let taken = out
                    .loads
                    .iter()
                    .any(|load| load.source.place == source.place);
                if !taken {
                    let origin = reader.origin_of(&source.place);
                    out.loads.push(FileLoad::whole_file(&source, origin, &why));
                }
            }
        }
    }
}

/// Returns the files of the workspace that a pattern names. Only the folder
/// before the first wildcard is walked.
fn files_matching(reader: &SourceReader, pattern: &str) -> BTreeSet<String> {
    let pattern = pattern.trim_start_matches("./");
    let fixed = pattern.find(['*', '?', '{']).unwrap_or(pattern.len());
    let folder = pattern[..fixed]
        .rsplit_once('/')
        .map_or("", |(folder, _)| folder);
    let absolute = match RelPath::new(folder) {
        Ok(path) => reader.workspace().absolute_path(&path),
        Err(_) if folder.is_empty() => reader.workspace().root().to_path_buf(),
        Err(_) => return BTreeSet::new(),
    };
    // Without `**` a pattern names files of one depth only; eight levels bound
    // the walk otherwise.
    let depth = if pattern.contains("**") {
        8
    } else {
        pattern.matches('/').count()
    };
    let root = reader.workspace().root();
    let files = crate::workspace::list_beyond_workspace(&absolute, depth);
    let below = files
        .iter()
        .filter_map(|file| file.strip_prefix(root).ok()?.to_str());
    let pattern = PathPattern::new(pattern);
    below
        .map(|path| path.replace('\\', "/"))
        .filter(|path| pattern.matches(path))
        .collect()
}

/// Removes `//` and `/* */` from JSON, and commas before a closing bracket,
/// which editors allow in settings.
fn strip_json_comments(text: &str) -> String {
    let mut out = String::with_capacity(text.len());
    let mut chars = text.chars().peekable();
    let mut in_text = false;
    while let Some(c) = chars.next() {
        if in_text {
            out.push(c);
            match c {
                '\\' => out.extend(chars.next()),
                '"' => in_text = false,
                _ => {}
            }
            continue;
        }
        match (c, chars.peek()) {
            ('"', _) => {
                in_text = true;
                out.push(c);
            }
            ('/', Some('/')) => while chars.next_if(|c| *c != '\n').is_some() {},
            ('/', Some('*')) => {
                chars.next();
                let mut before = ' ';
                for c in chars.by_ref() {
                    if before == '*' && c == '/' {
                        break;
                    }
                    before = c;
                }
            }
            (']' | '}', _) => {
                let kept = out.trim_end();
                if kept.ends_with(',') {
                    out.truncate(kept.len() - 1);
                }
                out.push(c);
            }
            _ => out.push(c),
        }
    }
    out
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn settings_may_have_comments() {
        let check = |text: &str, expect: &str| {
            let read: serde_json::Value =
                serde_json::from_str(&strip_json_comments(text)).expect("valid JSON");
            assert_eq!(read.to_string(), expect);
        };
        check("{} // end", "{}");
        check("{\"a\": /* x */ [1, 2,],}", "{\"a\":[1,2]}");
        check(
            "{\"a\": \"// kept /* */ \\\" ,}\"}",
            "{\"a\":\"// kept /* */ \\\" ,}\"}",
        );
    }
}
