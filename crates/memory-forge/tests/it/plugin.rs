//! The plugin without a client: its hook steps back where settings call us,
//! its skills come and go with `setup`, its cost is counted.

use serde_json::{Value, json};
use testkit::TestWorkspace;

use crate::harness::{self, ws};

const STATE: &str = "
    //- .mind/STATE.md
    # State

    ## Next Action
    Paint the seventh hull
";

const OURS: &str = r#"{"hooks": {"SessionStart": [{"hooks": [
    {"type": "command", "command": "memory-forge hook"}]}]}}"#;

/// What the plugin's call answers to the start of a session.
fn told(ws: &TestWorkspace, more: &Value, environment: &[(&str, &str)]) -> bool {
    let mut input = json!({
        "hook_event_name": "SessionStart",
        "session_id": "s",
        "cwd": ws.root(),
        "source": "startup",
    });
    for (key, value) in more.as_object().into_iter().flatten() {
        input[key] = value.clone();
    }
    let output = ws.feed(input.to_string(), environment, &["hook", "--plugin"]);
    let answer = output.ok().trim();
    assert!(answer.starts_with('{'), "{output}");
    answer != "{}"
}

fn claude(ws: &TestWorkspace) -> bool {
    let root = ws.root().to_string_lossy().into_owned();
    let environment = [("CLAUDECODE", "1"), ("CLAUDE_PROJECT_DIR", root.as_str())];
    told(ws, &json!({"transcript_path": "t"}), &environment)
}

fn codex(ws: &TestWorkspace) -> bool {
    told(
        ws,
        &json!({"model": "m", "permission_mode": "default"}),
        &[],
    )
}

fn copilot(ws: &TestWorkspace) -> bool {
    told(ws, &json!({"source": "new", "timestamp": "2026"}), &[])
}

#[test]
fn the_hook_of_a_plugin_steps_back_where_settings_call_us() {
    type Call = fn(&TestWorkspace) -> bool;
    let cases: [(&str, Call, bool); 9] = [
        (".claude/settings.json", claude, false),
        (".claude/settings.local.json", claude, false),
        (".codex/hooks.json", claude, true),
        (".codex/hooks.json", codex, false),
        (".claude/settings.json", codex, true),
        (".github/hooks/memory-forge.json", copilot, false),
        (".claude/settings.json", copilot, false),
        (".codex/hooks.json", copilot, true),
        ("sub/.claude/settings.json", claude, true),
    ];
    for (file, call, expect) in cases {
        let ws = ws(STATE);
        ws.git_init();
        assert!(call(&ws), "{file} is not there yet");
        ws.write(file, OURS);
        assert_eq!(call(&ws), expect, "{file}");
    }
    // The same in a home.
    for (file, call) in [
        (".claude/settings.json", claude as Call),
        (".codex/hooks.json", codex),
        (".copilot/hooks/memory-forge.json", copilot),
    ] {
        let ws = ws(STATE);
        let file = ws.home().join(file);
        std::fs::create_dir_all(file.parent().expect("it has a folder")).expect("made");
        std::fs::write(&file, OURS).expect("written");
        assert!(!call(&ws), "{}", file.display());
    }
}

#[test]
fn the_hook_of_a_plugin_answers_where_settings_do_not() {
    for text in [
        "",
        "not JSON, memory-forge hook",
        r#"{"hooks": {"Stop": [{"hooks": [{"command": "memory-forge hook"}]}]}}"#,
        r#"{"hooks": {"SessionStart": [{"hooks": [{"command": "./memory-forge.sh"}]}]}}"#,
        r#"{"hooks": {"SessionStart": "memory-forge hook"}}"#,
        r#"{"mcpServers": {"memory-forge": {"command": "memory-forge", "args": ["mcp"]}}}"#,
        r#"{"disableAllHooks": true, "hooks": {"SessionStart": [{"hooks": [{"command": "memory-forge hook"}]}]}}"#,
    ] {
        let ws = ws(STATE);
        ws.write(".claude/settings.json", text);
        assert!(claude(&ws), "{text}");
    }
    // Somebody's own call of it counts.
    let ws = ws(STATE);
    let own = OURS.replace(
        "memory-forge hook",
        "nice /opt/memory-forge hook && ./mine.sh",
    );
    ws.write(".claude/settings.json", own);
    assert!(!claude(&ws));
}

#[test]
fn skills_come_and_go_without_a_trace() {
    for client in ["claude", "codex", "opencode", "gemini", "copilot", "cursor"] {
        for scope in ["project", "user"] {
            let ws = ws(STATE);
            let before = ws.tree();
            let setup = ["setup", client, "--scope", scope, "--skills", "--yes"];
            ws.run(&setup).ok();
            let once = ws.tree();
            ws.run(&setup).ok();
            assert_eq!(ws.tree(), once, "twice is once: {client} {scope}");
            let has = match scope {
                "project" => once.contains("skills/memory-forge-idea/SKILL.md"),
                _ => list(&ws.home()).contains("skills/memory-forge-idea/SKILL.md"),
            };
            assert_eq!(has, client != "cursor", "{client} {scope}: {once}");
            ws.run(&["uninstall", client, "--yes"]).ok();
            let left = ws.tree_of_sources();
            assert!(!left.contains("memory-forge"), "{client} {scope}: {left}");
            assert_eq!(
                without_derived(&ws.tree()),
                without_derived(&before),
                "{client} {scope}"
            );
            assert_eq!(list(&ws.home()).trim(), "", "{client} {scope}");
        }
    }
}

fn without_derived(tree: &str) -> String {
    let lines = tree
        .lines()
        .filter(|line| !line.starts_with(".memory-forge/"));
    lines.collect::<Vec<_>>().join("\n")
}

/// The files below a folder.
fn list(folder: &std::path::Path) -> String {
    let mut text = String::new();
    let Ok(entries) = std::fs::read_dir(folder) else {
        return text;
    };
    for path in entries.map(|entry| entry.expect("it is listed").path()) {
        if path.is_dir() {
            text.push_str(&list(&path))
        } else {
            let path = path.display().to_string();
            text.push_str(&format!("{}\n", path.replace('\\', "/")))
        }
    }
    text
}

#[test]
fn a_skill_that_somebody_edited_is_theirs() {
    let ws = ws(STATE);
    ws.run(&["setup", "claude", "--skills", "--yes"]).ok();
    let file = ".claude/skills/memory-forge-idea/SKILL.md";
    let edited = format!("{}Mine.\n", ws.read(file));
    ws.write(file, &edited);
    let again = ws.run(&["setup", "claude", "--skills", "--yes"]);
    assert!(again.stderr.contains("was edited"), "{again}");
    assert_eq!(ws.read(file), edited);
    let gone = ws.run(&["uninstall", "claude", "--yes"]);
    assert!(gone.stderr.contains("was edited"), "{gone}");
    assert_eq!(ws.read(file), edited);
    assert!(!ws.exists(".claude/skills/memory-forge-lint/SKILL.md"));
}

/// Without `--skills` nothing of it is written: the plugin does that.
#[test]
fn skills_are_not_the_default() {
    let ws = ws(STATE);
    ws.run(&["setup", "claude", "--yes"]).ok();
    assert!(!ws.tree().contains("skills/"), "{}", ws.tree());
}

fn folder(name: &str) -> String {
    format!("{}/../../plugin/{name}", env!("CARGO_MANIFEST_DIR"))
}

/// The promise of the plugin, and what the documentation says.
#[test]
fn the_plugin_costs_less_than_a_thousand_tokens_at_every_start() {
    let ws = ws(STATE);
    let report = harness::json(&ws.run(&[
        "audit",
        "--plugin",
        &folder(""),
        "--json",
        "--ci",
        "warning",
    ]));
    assert_eq!(report["tokenizer"], "o200k");
    let docs = std::fs::read_to_string(folder("../docs/plugin.md")).expect("it is there");
    let clients = report["clients"].as_array().expect("clients are a list");
    assert_eq!(clients.len(), 3);
    for client in clients {
        let always = client["alwaysOn"].as_u64().expect("a number");
        let most = if client["client"] == "claude" {
            1_000
        } else {
            1_300
        };
        assert!(always < most, "{client}");
        let told = forge_app::tokens::format_thousands(usize::try_from(always).expect("small"));
        assert!(docs.contains(&told), "docs/plugin.md says {told}: {client}");
        assert_eq!(client["uncountedServers"], json!([]));
    }
    let hooks = report["hooks"].as_array().expect("hooks are a list");
    assert!(
        hooks[0]["adds"]
            .as_str()
            .is_some_and(|s| s.contains("2,500 tokens"))
    );

    let report = harness::json(&ws.run(&["audit", "--plugin", &folder("gemini"), "--json"]));
    assert_eq!(report["clients"][0]["client"], "gemini");
}

#[test]
fn any_plugin_can_be_judged() {
    let long = "Reads the tables again and again. ".repeat(120);
    let ws = ws("
        //- tide/.claude-plugin/plugin.json
        {\"name\": \"tide\"}
        //- tide/.mcp.json
        {\"mcpServers\": {\"sonar\": {\"command\": \"sonar\"}}}
    ");
    let skill = format!("---\nname: read\ndescription: Reads tide tables.\n---\n{long}\n");
    ws.write("tide/skills/read/SKILL.md", skill);
    let output = ws.run(&["audit", "--plugin", "tide", "--client", "claude"]);
    let text = output.ok();
    for words in [
        "Always-on  On-invoke",
        "skill read",
        "CRITICAL",
        "known only when `sonar` runs",
    ] {
        assert!(text.contains(words), "{words}: {text}");
    }
    ws.run(&["audit", "--plugin", "tide", "--ci"]).fails(1);
    ws.run(&["audit", "--plugin", "nowhere"]).fails(2);
    ws.run(&["audit", "--plugin", "tide", "--client", "gemini"])
        .fails(2);
}
