//! Files of a project that had programs run: a cloned repository is text, and
//! none of our commands may start what it names.

#![cfg(unix)]

use std::fs;
use std::os::unix::fs::PermissionsExt;
use std::path::PathBuf;

use serde_json::{Value, json};
use testkit::TestWorkspace;

use crate::harness::{json as parsed, ws};

/// A program outside of the workspace that leaves a trace when it is run.
struct Canary {
    program: PathBuf,
    trace: PathBuf,
}

impl Canary {
    fn beside(ws: &TestWorkspace) -> Canary {
        let folder = ws.root().parent().expect("it lies in a folder").to_owned();
        let canary = Canary {
            program: folder.join("canary.sh"),
            trace: folder.join("canary-was-run"),
        };
        let script = format!(
            "#!/bin/sh\necho \"$0 $*\" >> '{}'\ncat 2>/dev/null\n",
            canary.trace.display()
        );
        fs::write(&canary.program, script).expect("it can be written");
        let all = fs::Permissions::from_mode(0o755);
        fs::set_permissions(&canary.program, all).expect("it is ours");
        canary
    }

    fn name(&self) -> String {
        self.program.display().to_string()
    }

    #[track_caller]
    fn assert_quiet(&self, what: &str) {
        let trace = fs::read_to_string(&self.trace).unwrap_or_default();
        assert!(trace.is_empty(), "`{what}` ran {trace}");
    }
}

/// Every command that reads a workspace, as people and agents call it.
const COMMANDS: &[&[&str]] = &[
    &["status"],
    &["config"],
    &["index"],
    &["search", "zephyr"],
    &["search", "zephyr", "--scope", "all", "--json"],
    &["search", "zephyr", "--as-of", "HEAD"],
    &["search", "zephyr", "--as-of", "2026-03-02"],
    &["stats"],
    &["preview", "knowledge/a.md"],
    &["audit"],
    &["doctor"],
    &["check"],
    &["lint"],
    &["links", "check"],
    &["graph", "show"],
    &["mind", "show"],
    &["mind", "set", "--next", "go on"],
    &["mind", "decide", "D", "--decision", "d"],
    &["session", "start"],
    &["session", "end", "--title", "T", "--did", "it"],
    &[
        "agent",
        "remember",
        "topic",
        "--agent",
        "eng/builder",
        "--content",
        "The zephyr host moved in May.",
    ],
    &["agent", "recall", "zephyr", "--agent", "eng/builder"],
    &["agent", "context", "--squad", "eng", "--agent", "builder"],
    &["save", "context", "one", "--content", "The zephyr host."],
    &["forget", "knowledge/one.md", "--yes"],
    &["consolidate"],
    &["closets", "build"],
    &["share", "knowledge/a.md"],
    &["setup", "claude", "--git", "--yes", "--project"],
    &["uninstall", "claude", "--yes"],
    &["doctor", "--fix", "--dry-run"],
];

fn run_everything(ws: &TestWorkspace, canary: &Canary) {
    for arguments in COMMANDS {
        ws.run(arguments);
        canary.assert_quiet(&arguments.join(" "));
    }
    for event in [
        json!({ "hook_event_name": "SessionStart", "session_id": "one" }),
        json!({ "hook_event_name": "UserPromptSubmit", "prompt": "go", "session_id": "one" }),
        json!({ "hook_event_name": "PreCompact", "session_id": "one" }),
        json!({ "hook_event_name": "Stop", "session_id": "one" }),
        // Another session closes the first, and asks git what was changed.
        json!({ "hook_event_name": "SessionStart", "session_id": "two" }),
        json!({ "hook_event_name": "SessionEnd", "session_id": "two" }),
    ] {
        ws.feed(event.to_string(), &[], &["hook"]).ok();
        canary.assert_quiet(&event.to_string());
    }
}

fn project() -> TestWorkspace {
    let ws = ws("
        //- knowledge/a.md
        # Zephyr
        The zephyr host.
        //- .mind/STATE.md
        # Project State

        ## Next Action
        Go on
        //- src/code.txt
        one
    ");
    ws.git_init();
    ws.commit("first");
    ws
}

#[test]
fn settings_of_a_repository_start_nothing() {
    let ws = project();
    let canary = Canary::beside(&ws);
    let name = canary.name();
    // A signature to be checked, files to be filtered, a submodule to be asked.
    ws.write(
        ".gitattributes",
        "* filter=evil diff=evil merge=evil\n*.txt filter=ev=il\n",
    );
    ws.commit("second");
    let hooks = ws.root().parent().expect("a folder").join("hooks");
    fs::create_dir(&hooks).expect("it is new");
    for hook in [
        "post-index-change",
        "pre-commit",
        "post-checkout",
        "reference-transaction",
        "fsmonitor-watchman",
    ] {
        for folder in [hooks.clone(), ws.path(".git/hooks")] {
            fs::create_dir_all(&folder).expect("it can be made");
            fs::copy(&canary.program, folder.join(hook)).expect("it can be copied");
        }
    }
    let config = format!(
        "[core]\n\tfsmonitor = {name}\n\thooksPath = {hooks}\n\tpager = {name}\n\teditor = {name}\n\
         \tsshCommand = {name}\n\taskPass = {name}\n\talternateRefsCommand = {name}\n\
         [diff]\n\texternal = {name}\n[diff \"evil\"]\n\ttextconv = {name}\n\tcommand = {name}\n\
         [filter \"evil\"]\n\tclean = {name}\n\tsmudge = {name}\n\tprocess = {name}\n\trequired = true\n\
         [filter \"ev=il\"]\n\tclean = {name}\n\tprocess = {name}\n\
         [merge \"evil\"]\n\tdriver = {name}\n[log]\n\tshowSignature = true\n\
         [gpg]\n\tprogram = {name}\n[gpg \"ssh\"]\n\tprogram = {name}\n\
         [credential]\n\thelper = !{name}\n[pager]\n\tlog = {name}\n\tdiff = {name}\n\tstatus = {name}\n\
         [alias]\n\tstatus = !{name}\n\tls-files = !{name}\n\tdiff = !{name}\n\
         [protocol \"ext\"]\n\tallow = always\n[remote \"origin\"]\n\turl = ext::{name}\n\tpromisor = true\n\
         \tpartialclonefilter = blob:none\n[extensions]\n\tpartialClone = origin\n\
         [uploadpack]\n\tpackObjectsHook = {name}\n[core]\n\trepositoryformatversion = 1\n",
        hooks = hooks.display()
    );
    let path = ws.path(".git/config");
    let own = fs::read_to_string(&path).expect("git made it");
    fs::write(&path, own + &config).expect("it can be written");
    // Files that differ from the index, so that git has to look into them.
    ws.write("src/code.txt", "two\n");
    ws.write("knowledge/a.md", "# Zephyr\nThe zephyr host moved.\n");
    // The trap works: git itself walks into it.
    let _ = std::process::Command::new("git")
        .args(["status", "--porcelain"])
        .current_dir(ws.root())
        .output();
    let trace = fs::read_to_string(&canary.trace).unwrap_or_default();
    assert!(!trace.is_empty(), "the trap is not set");
    fs::remove_file(&canary.trace).expect("it was left");
    run_everything(&ws, &canary);
}

/// A folder that was cloned can hold everything that makes a bare repository.
#[test]
fn a_repository_inside_of_a_repository_starts_nothing() {
    let ws = ws("");
    let canary = Canary::beside(&ws);
    for folder in ["objects", "refs/heads", "knowledge", ".mind"] {
        fs::create_dir_all(ws.path(folder)).expect("it can be made");
    }
    ws.write("HEAD", "ref: refs/heads/main\n");
    ws.write(
        "config",
        format!(
            "[core]\n\trepositoryformatversion = 0\n\tbare = false\n\tworktree = .\n\tfsmonitor = {name}\n[log]\n\tshowSignature = true\n[gpg]\n\tprogram = {name}\n",
            name = canary.name()
        ),
    );
    ws.write("knowledge/a.md", "# Zephyr\nThe zephyr host.\n");
    ws.write(".mind/STATE.md", "# Project State\n");
    run_everything(&ws, &canary);
}

#[test]
fn no_file_of_a_project_names_a_program() {
    let ws = project();
    let canary = Canary::beside(&ws);
    let name = canary.name();
    let hook = json!({ "hooks": { "SessionStart": [{ "hooks": [{ "type": "command", "command": name }] }] },
        "mcpServers": { "x": { "command": name } }, "statusLine": { "type": "command", "command": name } });
    for (path, text) in [
        (
            "memory-forge.toml",
            format!(
                "hook = \"{name}\"\n[index]\ncommand = \"{name}\"\nupdate = [\"{name}\"]\n[hooks]\nsession_start = \"{name}\"\n[search]\nembedder = \"{name}\"\nmodel = \"http://127.0.0.1:1/x\"\n"
            ),
        ),
        (
            ".memoryforge.config.json",
            json!({ "command": name, "preIndex": name, "embedder": name }).to_string(),
        ),
        (".claude/settings.json", hook.to_string()),
        (".mcp.json", hook.to_string()),
        (
            ".claude-plugin/plugin.json",
            json!({ "name": "p", "hooks": hook["hooks"], "mcpServers": hook["mcpServers"] })
                .to_string(),
        ),
        (".codex/config.toml", format!("notify = [\"{name}\"]\n")),
        (
            ".opencode/plugin/x.js",
            format!("require('child_process').execSync('{name}')\n"),
        ),
        (
            "package.json",
            json!({ "scripts": { "postinstall": name, "prepare": name } }).to_string(),
        ),
        (".envrc", name.clone()),
        (
            "knowledge/front.md",
            format!(
                "---\ncommand: {name}\nobject: !!python/object/apply:os.system [\"{name}\"]\nhook: |\n  {name}\n---\n# Zephyr front\n`!{name}`\n\n```!sh\n{name}\n```\n\n$({name})\n"
            ),
        ),
        (
            "_MANIFEST.md",
            format!(
                "# Manifest\n\n## Config\n\n| Key | Value |\n|---|---|\n| command | {name} |\n| pre | `{name}` |\n\n## Hub Map\n\n| Domain | Hub | Summary |\n|---|---|---|\n| $({name}) | [[ops/_CLOSETS]] | `{name}` |\n"
            ),
        ),
        (
            ".agents/squads/eng/builder.md",
            format!("---\nrole: $({name})\ntools: [\"{name}\"]\n---\n# Builder\n!`{name}`\n"),
        ),
        (".agents/context.toml", format!("command = \"{name}\"\n")),
    ] {
        ws.write(path, text);
    }
    // Names that a shell or a careless search for programs would take from here.
    for tool in ["git", "sh", "node", "less", "flock"] {
        fs::copy(&canary.program, ws.path(tool)).expect("it can be copied");
    }
    run_everything(&ws, &canary);
    ws.run(&["audit", "--plugin", "."]);
    canary.assert_quiet("audit --plugin");
}

/// Globs choose among the files of the workspace and cannot add others.
fn no_glob_reaches_outside(key: &str) {
    let ws = ws("
        //- outside.md
        # Outside

        Obsidian.
        //- inner/knowledge/a.md
        # A

        Amber.
    ");
    let (section, short) = key.split_once('.').expect("a section");
    let (outside, inner) = (ws.path("outside.md"), ws.path("inner"));
    for glob in [
        &outside.to_string_lossy(),
        "../*.md",
        "**/../*.md",
        "/**",
        "~/**",
    ] {
        let settings = format!("[{section}]\n{short} = {}\n", json!([glob]));
        ws.write("inner/memory-forge.toml", settings);
        let root = inner.to_string_lossy();
        let question = [
            "search", "--mode", "text", "--json", "--root", &root, "obsidian",
        ];
        let answer = ws.run(&question);
        assert!(!answer.stdout.contains("outside.md"), "{glob}: {answer}");
        assert!(answer.status != Some(0), "{glob}: {answer}");
    }
}

/// What a cloned `memory-forge.toml` can say: numbers within limits, words of a
/// list, plain names, where in the workspace files lie, and which server the
/// commands about one ask. No key takes another text of one's own, so none can
/// name a program, a path outside or any other address.
#[test]
fn no_setting_can_name_a_program_a_path_or_an_address() {
    let reference = parsed(&ws("").run(&["config", "--json"]));
    let keys = reference["keys"].as_array().expect("a list");
    assert!(keys.len() > 15, "{keys:?}");
    let hostile = [
        "/bin/sh",
        "../../outside",
        "https://evil.example",
        "$(id)",
        "`id`",
        "sh -c id",
        "~/.ssh/id_rsa",
        "",
    ];
    for key in keys {
        let name = key["key"].as_str().expect("a name");
        let kind = key["kind"].as_str().expect("a kind");
        let numbers = kind.starts_with("a number from ") && kind.contains(" to ");
        let words = kind.starts_with("one of ");
        let files = ["search.model", "graph.authority"];
        let model = files.contains(&name) && kind == "a path inside the workspace";
        // Asked by commands about them alone, and only once the user agreed.
        let server = kind.starts_with("a bolt://") || kind.starts_with("a postgres://");
        let called = kind == "a name";
        let globs = kind.starts_with("a list of globs");
        assert!(
            numbers || words || model || server || called || globs,
            "`{name}` takes {kind}"
        );
        if globs {
            no_glob_reaches_outside(name);
            continue;
        }
        if words {
            let plain = |c: char| c.is_ascii_alphanumeric() || "\", ._-".contains(c);
            assert!(kind.chars().all(plain), "`{name}` takes {kind}");
        }
        let (section, short) = name.split_once('.').expect("a section");
        let ws = ws("");
        for value in hostile {
            ws.write(
                "memory-forge.toml",
                format!("[{section}]\n{short} = {}\n", json!(value)),
            );
            let told = parsed(&ws.run(&["config", "--json"]));
            let now = told["keys"]
                .as_array()
                .expect("a list")
                .iter()
                .find(|it| it["key"] == name);
            let now: &Value = &now.expect("it is listed")["value"];
            if model {
                // Odd names of files inside, where nothing lies.
                let now = now.as_str().expect("a text");
                let outside = now.starts_with('/') || now.split('/').any(|it| it == "..");
                assert!(!outside, "`{name} = {value}` was taken");
                continue;
            }
            if called && value.is_empty() {
                continue;
            }
            assert_eq!(now, &key["default"], "`{name} = {value}` was taken");
        }
    }
}

/// A cloned project that names a server gets neither its text nor a password
/// there: the user is asked, and here nobody can answer.
#[test]
fn a_project_cannot_choose_who_is_sent_its_text() {
    testkit::worker::beside(env!("CARGO_BIN_EXE_memory-forge"));
    for address in [
        "db.evil.example",
        "203.0.113.7:5433",
        // Seems to be here, and is not.
        "localhost:5432/db?hostaddr=203.0.113.7",
        "127.0.0.1,db.evil.example",
    ] {
        let ws = project();
        ws.write(
            "memory-forge.toml",
            format!(
                "[engine]\nurl = \"postgres://me@{address}\"\ntenant = \"acme\"\n\
                 replica = \"postgres://me@{address}\"\n"
            ),
        );
        let secret = [("PGPASSWORD", "hunter2hunter2")];
        for command in [
            &["engine", "status"][..],
            &["engine", "push"],
            &["engine", "pull", "other"],
            &["engine", "search", "zephyr"],
            &["search", "zephyr", "--scope", "org"],
        ] {
            let output = ws.feed("", &secret, command);
            assert_eq!(output.status, Some(2), "{address}, {command:?}: {output}");
            assert!(output.stderr.contains("not agreed to"), "{output}");
        }
    }
    for url in ["bolt://graph.evil.example:7687", "bolt+s://203.0.113.7"] {
        let ws = project();
        ws.write(
            "memory-forge.toml",
            format!("[graph]\nurl = \"{url}\"\nengine = \"server\"\n"),
        );
        let secret = [("MEMORY_FORGE_GRAPH_PASSWORD", "hunter2hunter2")];
        for command in [
            &["graph", "push"][..],
            &["graph", "status"],
            &["graph", "cypher", "RETURN 1"],
            &["graph", "ask", "blocked"],
        ] {
            let output = ws.feed("", &secret, command);
            assert_eq!(output.status, Some(2), "{url}, {command:?}: {output}");
            assert!(output.stderr.contains("not agreed to"), "{output}");
        }
    }
}
