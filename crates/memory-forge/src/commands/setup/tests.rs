//! The plugin's folder against the program: every command line and every tool
//! that a skill or an agent mentions exists.

use std::collections::BTreeSet;
use std::fs;
use std::path::{Path, PathBuf};

use forge_clients::setup::skills::{PLUGIN_AGENTS, PLUGIN_SKILLS, SKILL_REFERENCES};

use crate::cli::{command_definition, parse_command_line};

/// Commands that are being built; a line with one of these is not parsed yet.
const NOT_YET: [&str; 0] = [];

fn folder() -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("../../plugin")
}

fn read(path: &Path) -> String {
    fs::read_to_string(path).unwrap_or_else(|error| panic!("{}: {error}", path.display()))
}

/// What agents and people are told to run.
fn pages() -> Vec<(String, String)> {
    let embedded = PLUGIN_SKILLS.iter().chain(&PLUGIN_AGENTS);
    let mut pages: Vec<(String, String)> = embedded
        .map(|source| (source.name.to_owned(), source.text.to_owned()))
        .collect();
    for it in &SKILL_REFERENCES {
        pages.push((it.name.to_owned(), it.text.to_owned()));
    }
    for name in ["README.md", "../docs/plugin.md"] {
        pages.push((name.to_owned(), read(&folder().join(name))));
    }
    pages
}

/// Code of a Markdown text: spans, and the lines of fences.
fn code(text: &str) -> Vec<String> {
    let mut found = Vec::new();
    let mut fenced = false;
    for line in text.lines() {
        if line.trim_start().starts_with("```") {
            fenced = !fenced;
        } else if fenced {
            found.push(line.trim().to_owned());
        } else {
            found.extend(line.split('`').skip(1).step_by(2).map(str::to_owned));
        }
    }
    found
}

/// Words as a shell has them; comments end a line.
fn words(line: &str) -> Vec<String> {
    let mut words = Vec::new();
    let mut word: Option<String> = None;
    let mut quote = None;
    for c in line.chars() {
        match (quote, c) {
            (Some(open), c) if c == open => quote = None,
            (Some(_), c) => word.get_or_insert_default().push(c),
            (None, '"' | '\'') => {
                quote = Some(c);
                word.get_or_insert_default();
            }
            (None, '#') if word.is_none() => break,
            (None, c) if c.is_whitespace() => words.extend(word.take()),
            (None, c) => word.get_or_insert_default().push(c),
        }
    }
    words.extend(word);
    words
}

fn known_flags(command: &clap::Command, flags: &mut BTreeSet<String>) {
    for argument in command.get_arguments() {
        flags.extend(argument.get_long().map(|name| format!("--{name}")));
    }
    for command in command.get_subcommands() {
        known_flags(command, flags);
    }
}

#[test]
fn every_command_line_in_skills_and_agents_exists() {
    let mut flags = BTreeSet::new();
    known_flags(&command_definition(), &mut flags);
    let mut lines = 0;
    for (page, text) in pages() {
        for code in code(&text) {
            let words = words(&code);
            match words.first().map(String::as_str) {
                Some("memory-forge") if words.len() > 1 => {
                    if NOT_YET.contains(&words[1].as_str()) {
                        continue;
                    }
                    lines += 1;
                    let words: Vec<std::ffi::OsString> = words.iter().map(Into::into).collect();
                    if let Err(error) = parse_command_line(&words) {
                        panic!("{page}: `{code}`: {error}");
                    }
                }
                // A flag alone is one of the command before it.
                Some(flag) if flag.starts_with("--") => {
                    let others = ["--scope", "--marketplace", "--strict"];
                    assert!(
                        flags.contains(flag) || others.contains(&flag),
                        "{page}: `{code}`"
                    );
                }
                _ => {}
            }
        }
    }
    assert!(lines > 70, "{lines} lines were found");
}

/// Agents that have no shell are told of tools, and these exist.
#[test]
fn every_tool_that_agents_are_told_of_is_listed() {
    let listed = crate::mcp::tools::select_tools(&[]).expect("the usual ones");
    let names: BTreeSet<&str> = listed.iter().map(|spec| spec.name).collect();
    let mut seen = 0;
    for agent in &PLUGIN_AGENTS {
        for code in code(agent.text) {
            let is_tool = code.contains('_') && !code.contains(' ');
            if is_tool {
                seen += 1;
                assert!(names.contains(code.as_str()), "{}: `{code}`", agent.name);
            }
        }
    }
    assert!(seen > 8, "{seen} tools were found");
}

/// Seed 003: "Skills with known failure modes include a `## Gotchas` section at
/// the bottom of SKILL.md", and "Summary-writing rules (8 retrieval-tuned
/// rules)".
#[test]
fn skills_with_known_failure_modes_have_gotchas_and_the_rules_are_there_in_full() {
    for name in [
        "archive",
        "consolidate",
        "cross-search",
        "init",
        "lint",
        "reindex",
        "resummarize",
        "session-end",
        "session-start",
        "upgrade",
        "wikilinks",
    ] {
        let skill = PLUGIN_SKILLS.iter().find(|skill| skill.name == name);
        let text = skill.map(|skill| skill.text).unwrap_or_default();
        let (_, gotchas) = text.rsplit_once("\n## ").unwrap_or_default();
        assert!(gotchas.starts_with("Gotchas\n"), "{name}: {text}");
    }
    let reference = |name: &str| {
        let found = SKILL_REFERENCES.iter().find(|it| it.name == name);
        found.map(|it| it.text).unwrap_or_default()
    };
    assert!(reference("gotchas.md").contains("\n## Gotchas\n"));
    let rules = reference("summary-rules.md");
    for number in 1..=8 {
        assert!(rules.contains(&format!("\n{number}. **")), "rule {number}");
    }
    // What a skill points to beside itself is there.
    for skill in &PLUGIN_SKILLS {
        for code in code(skill.text) {
            if let Some(name) = code.strip_prefix("references/").filter(|it| !it.is_empty()) {
                assert!(!reference(name).is_empty(), "{}: `{code}`", skill.name);
            }
        }
    }
}
