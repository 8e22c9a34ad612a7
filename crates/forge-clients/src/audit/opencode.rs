//! Lists what OpenCode puts into the context at start.
//!
//! - `AGENTS.md` of the folder and of those above it in the repository; where
//!   there is none, `CLAUDE.md` of the same folders. Whole, without imports.
//! - Files that `instructions` in `opencode.json` names, by pattern.
//! - Name and description of each skill in `.opencode/skill`, `.claude/skills`
//!   and `.agents/skills`.
//! - The person's own `~/.config/opencode/AGENTS.md`, else `~/.claude/CLAUDE.md`.

use std::collections::BTreeSet;

use super::claude::from_above;
use super::loads::{Load, Loads};
use super::skills::{self, Listing};
use super::source::Reader;
use super::{Finding, Kind, Level, Origin, glob};
use crate::workspace::RelPath;

const SKILLS: Listing = Listing {
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
    line: |skill, _| format!("- {}: {}\n", skill.name, skill.description),
    as_claude: false,
};

const SETTINGS: [&str; 4] = [
    "opencode.json",
    "opencode.jsonc",
    ".opencode/opencode.json",
    ".opencode/opencode.jsonc",
];

pub(super) fn loads(reader: &Reader) -> Loads {
    let mut out = Loads::default();
    let own = reader
        .home(".config/opencode/AGENTS.md")
        .or_else(|| reader.home(".claude/CLAUDE.md"));
    if let Some(source) = own {
        let why = "your instructions for all projects";
        out.loads.push(Load::whole(&source, Origin::User, why));
    }
    let above = reader.above_in_repository();
    let mut files = from_above(reader, &above, &["AGENTS.md"]);
    let mut why = "instructions";
    if files.is_empty() {
        files = from_above(reader, &above, &["CLAUDE.md"]);
        why = "instructions, as there is no AGENTS.md";
    }
    for source in &files {
        let origin = reader.origin(&source.place);
        out.loads.push(Load::whole(source, origin, why));
    }
    named_in_settings(reader, &mut out);
    out.loads.extend(skills::list(reader, &SKILLS));
    for load in &out.loads {
        if load.origin == Origin::Project {
            skills::check(&load.source, &mut out.findings);
        }
    }
    out.loads.sort_by_key(|load| load.origin);
    out
}

/// Adds the files that `instructions` names, each once.
fn named_in_settings(reader: &Reader, out: &mut Loads) {
    for file in SETTINGS {
        let Some(text) = reader.settings(file) else {
            continue;
        };
        let Ok(settings) = serde_json::from_str::<serde_json::Value>(&without_json_comments(&text))
        else {
            let message =
                format!("{file}: is not valid JSON, so that its `instructions` are unknown");
            out.findings
                .push(Finding::new(Level::Notice, Kind::Unreadable, file, message));
            continue;
        };
        let patterns = settings["instructions"].as_array().into_iter().flatten();
        for pattern in patterns.filter_map(serde_json::Value::as_str) {
            if pattern.starts_with("https://") || pattern.starts_with("http://") {
                let message =
                    format!("{file}: loads `{pattern}` at every start, which is not counted");
                out.findings
                    .push(Finding::new(Level::Notice, Kind::Ignored, file, message));
                continue;
            }
            let why = format!("instructions named in {file}");
            let mut sources = Vec::new();
            if let Some(below) = pattern.strip_prefix("~/") {
                sources.extend(reader.home(below));
            } else if pattern.contains(['*', '?', '{']) {
                let paths = matching(reader, pattern);
                sources.extend(paths.iter().filter_map(|path| reader.inside(path)));
            } else {
                sources.extend(reader.inside(pattern));
            }
            for source in sources {
                let taken = out
                    .loads
                    .iter()
                    .any(|load| load.source.place == source.place);
                if !taken {
                    let origin = reader.origin(&source.place);
                    out.loads.push(Load::whole(&source, origin, &why));
                }
            }
        }
    }
}

/// Returns the files of the workspace that a pattern names. Only the folder
/// before the first wildcard is walked.
fn matching(reader: &Reader, pattern: &str) -> BTreeSet<String> {
    let pattern = pattern.trim_start_matches("./");
    let fixed = pattern.find(['*', '?', '{']).unwrap_or(pattern.len());
    let folder = pattern[..fixed]
        .rsplit_once('/')
        .map_or("", |(folder, _)| folder);
    let absolute = match RelPath::new(folder) {
        Ok(path) => reader.workspace().absolute(&path),
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
    let files = crate::workspace::list_beyond(&absolute, depth);
    let below = files
        .iter()
        .filter_map(|file| file.strip_prefix(root).ok()?.to_str());
    below
        .map(|path| path.replace('\\', "/"))
        .filter(|path| glob::matches(pattern, path))
        .collect()
}

/// Removes `//` and `/* */` from JSON, and commas before a closing bracket,
/// which editors allow in settings.
fn without_json_comments(text: &str) -> String {
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
                serde_json::from_str(&without_json_comments(text)).expect("valid JSON");
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
