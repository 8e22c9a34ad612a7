//! The plugin's folder against what is compiled in: the copies are copies, the
//! sizes are kept.

use std::collections::BTreeSet;
use std::fs;
use std::path::{Path, PathBuf};

use crate::tokens::{Tokenizer, count_tokens};
use serde_json::Value;

use super::*;

fn folder() -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("../../plugin")
}

fn repository() -> PathBuf {
    folder().join("..")
}

fn read(path: &Path) -> String {
    fs::read_to_string(path).unwrap_or_else(|error| panic!("{}: {error}", path.display()))
}

#[test]
fn what_is_compiled_in_is_what_lies_in_the_folder() {
    let names = |folder: &Path| -> BTreeSet<String> {
        let entries = fs::read_dir(folder).expect("the folder is there");
        let names = entries.map(|entry| entry.expect("it is listed").file_name());
        names
            .map(|name| name.to_string_lossy().into_owned())
            .collect()
    };
    let expect: BTreeSet<String> = PLUGIN_SKILLS
        .iter()
        .map(|skill| skill.name.to_owned())
        .collect();
    assert_eq!(names(&folder().join("skills")), expect);
    let expect: BTreeSet<String> = PLUGIN_AGENTS
        .iter()
        .map(|a| format!("{}.md", a.name))
        .collect();
    assert_eq!(names(&folder().join("agents")), expect);
    for skill in &PLUGIN_SKILLS {
        let references = folder().join(format!("skills/{}/references", skill.name));
        let of_skill = SKILL_REFERENCES.iter().filter(|it| it.skill == skill.name);
        let expect: BTreeSet<String> = of_skill.map(|it| it.name.to_owned()).collect();
        let there = if references.exists() {
            names(&references)
        } else {
            BTreeSet::new()
        };
        assert_eq!(there, expect, "{}", skill.name);
    }
}

#[test]
fn skills_follow_their_policy_and_stay_short() {
    let autonomous = PLUGIN_SKILLS
        .iter()
        .filter(|s| s.policy == SkillPolicy::Autonomous);
    assert_eq!(autonomous.count(), 7, "six of the workspace and ours");
    for skill in &PLUGIN_SKILLS {
        let (name, body) = front_and_body(skill, "name: ");
        assert_eq!(name, skill.name);
        let explicit = skill.text.contains("\ndisable-model-invocation: true\n");
        assert_eq!(explicit, skill.policy == SkillPolicy::Explicit, "{name}");
        let yaml = folder().join(format!("skills/{name}/agents/openai.yaml"));
        assert_eq!(yaml.exists(), explicit, "{name}");
        if explicit {
            assert_eq!(read(&yaml), CODEX_POLICY);
        }
        assert!(!body.is_empty(), "{name}");
        // D16: "<300 tokens each at the core", counted as our own audit does.
        let tokens = count_tokens(Tokenizer::O200k, skill.text);
        assert!(tokens < 300, "{name}: {tokens} tokens");
    }
    for agent in &PLUGIN_AGENTS {
        let (_, body) = front_and_body(agent, "name: ");
        let tokens = count_tokens(Tokenizer::O200k, body);
        assert!(tokens < 400, "{}: {tokens} tokens", agent.name);
    }
}

/// Gemini CLI has no skills that only people start, but commands.
/// `MEMORY_FORGE_BLESS=1 cargo test -p forge-clients skills::tests::the_gemini`
/// writes the folder anew.
#[test]
fn the_gemini_extension_is_made_from_the_plugin() {
    let mut files: Vec<(String, String)> = Vec::new();
    for skill in &PLUGIN_SKILLS {
        files.push(match skill.policy {
            SkillPolicy::Autonomous => (
                format!("skills/{}/SKILL.md", skill.name),
                skill.text.to_owned(),
            ),
            SkillPolicy::Explicit => (
                format!("commands/memory-forge/{}.toml", skill.name),
                gemini_command(skill),
            ),
        });
    }
    for it in &SKILL_REFERENCES {
        let name = format!("skills/{}/references/{}", it.skill, it.name);
        files.push((name, it.text.to_owned()));
    }
    let extension = folder().join("gemini");
    let bless = std::env::var_os("MEMORY_FORGE_BLESS").is_some();
    for (name, text) in files {
        let file = extension.join(&name);
        if bless {
            fs::create_dir_all(file.parent().expect("it has a folder")).expect("made");
            fs::write(&file, &text).expect("written");
        }
        assert_eq!(read(&file), text, "{name}");
    }
}

#[test]
fn gemini_commands_are_toml() {
    for skill in &PLUGIN_SKILLS {
        let text = gemini_command(skill);
        let table: toml_edit::DocumentMut = text.parse().expect("it is TOML");
        let (description, body) = front_and_body(skill, "description: ");
        assert_eq!(table["description"].as_str(), Some(description));
        assert!(
            table["prompt"]
                .as_str()
                .is_some_and(|p| p.starts_with(body))
        );
    }
}

#[test]
fn all_manifests_have_the_version_of_the_program() {
    for (file, key) in [
        ("plugin/.claude-plugin/plugin.json", "/version"),
        ("plugin/.codex-plugin/plugin.json", "/version"),
        ("plugin/gemini/gemini-extension.json", "/version"),
        ("plugin/opencode/package.json", "/version"),
    ] {
        let value: Value = serde_json::from_str(&read(&repository().join(file))).expect("JSON");
        let version = value.pointer(key).and_then(Value::as_str);
        assert_eq!(version, Some(env!("CARGO_PKG_VERSION")), "{file}");
    }
    // A manifest of Agent Plugins at the root hides the hooks from Codex and
    // Copilot CLI, which then read nothing else.
    assert!(!folder().join("plugin.json").exists());
    let market = read(&repository().join(".claude-plugin/marketplace.json"));
    let market: Value = serde_json::from_str(&market).expect("JSON");
    assert_eq!(market["plugins"][0]["source"], "./plugin");
}

#[test]
fn hooks_of_the_plugin_call_what_setup_calls() {
    use crate::setup::hooks;
    for (file, client, command) in [
        (
            "hooks/hooks.json",
            AgentClient::Claude,
            "memory-forge hook --plugin ; exit 0",
        ),
        (
            "gemini/hooks/hooks.json",
            AgentClient::Gemini,
            "memory-forge hook --plugin --client gemini ; exit 0",
        ),
    ] {
        let value: Value = serde_json::from_str(&read(&folder().join(file))).expect("JSON");
        let events = value["hooks"].as_object().expect("hooks are an object");
        let mut expect: BTreeSet<&str> = hooks::events_in_set(client, hooks::HookSet::Default)
            .into_iter()
            .filter_map(|event| hooks::client_event_name(client, event))
            .collect();
        if client == AgentClient::Claude {
            // What its own agents do is told to the next session.
            expect.extend(["SubagentStart", "SubagentStop", "TaskCompleted"]);
        }
        let names: BTreeSet<&str> = events.keys().map(String::as_str).collect();
        assert_eq!(names, expect, "{file}");
        for groups in events.values() {
            assert_eq!(groups[0]["hooks"][0]["command"], command, "{file}");
        }
    }
}

#[test]
fn an_edited_file_is_told_from_one_that_is_not() {
    for client in AgentClient::ALL {
        for scope in SetupScope::ALL {
            for file in skill_files(client, scope) {
                assert!(is_our_skill_file(&file.text), "{}", file.name);
                assert!(
                    !is_our_skill_file(&format!("{}mine\n", file.text)),
                    "{}",
                    file.name
                );
                assert!(!is_our_skill_file(&file.text.replacen(
                    "memory-forge setup",
                    "",
                    1
                )));
            }
        }
    }
    assert!(!is_our_skill_file("") && !is_our_skill_file("memory-forge setup "));
}
