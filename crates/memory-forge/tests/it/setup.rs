//! `setup`, `uninstall` and `status` on whole files: what was there comes back
//! to the byte, and what belongs to others is never touched.

use std::collections::BTreeMap;
use std::fs;
use std::path::Path;

use testkit::TestWorkspace;

use crate::harness;

const CLIENTS: [&str; 6] = ["claude", "codex", "opencode", "gemini", "copilot", "cursor"];

/// Nothing but the essential is on the path, so that no client of the machine
/// is found.
fn ws(fixture: &str) -> TestWorkspace {
    harness::ws(fixture).env("PATH", "/nowhere")
}

/// JSON that clients keep, by scope; relative to the workspace or the home.
const JSON: [(&str, &[&str]); 2] = [
    (
        "project",
        &[
            ".claude/settings.json",
            ".mcp.json",
            ".codex/hooks.json",
            "opencode.json",
            ".gemini/settings.json",
            ".github/hooks/memory-forge.json",
            ".github/mcp.json",
            ".cursor/hooks.json",
            ".cursor/mcp.json",
        ],
    ),
    (
        "user",
        &[
            ".claude/settings.json",
            ".claude.json",
            ".codex/hooks.json",
            ".config/opencode/opencode.json",
            ".gemini/settings.json",
            ".copilot/hooks/memory-forge.json",
            ".copilot/mcp-config.json",
            ".cursor/hooks.json",
            ".cursor/mcp.json",
        ],
    ),
];

const FOREIGN: &str = r#"{
  // mine, and it stays
  "model": "opus",

  "hooks": {
    "SessionStart": [
      {
        "matcher": "startup",
        "hooks": [{ "type": "command", "command": "./mine.sh" }] /* theirs */
      }, // a trailing comma
    ],
    "BeforeAgent": [{ "hooks": [] }],
    "sessionStart": [ { "command": "./mine.sh" } ]
  },
  "mcpServers": { "other": { "command": "other", "args": [] } },
  "mcp": {
  }
}
"#;

/// The prior shapes of a settings file.
fn shapes() -> Vec<(&'static str, Option<String>)> {
    vec![
        ("absent", None),
        ("empty", Some(String::new())),
        ("an empty object", Some("{}".to_owned())),
        ("spaced", Some("{\n\n}\n".to_owned())),
        (
            "empty hooks",
            Some("{\"hooks\":{}, \"mcp\": { }}".to_owned()),
        ),
        ("foreign hooks", Some(FOREIGN.to_owned())),
        ("CRLF", Some(FOREIGN.replace('\n', "\r\n"))),
        ("tabs", Some(FOREIGN.replace("  ", "\t"))),
        ("BOM", Some(format!("\u{feff}{FOREIGN}"))),
        (
            "one line",
            Some("{\"hooks\":{\"Stop\":[{\"hooks\":[]}]},\"a\":1}".to_owned()),
        ),
    ]
}

/// Every file and folder below, with its bytes; derived files are left out.
fn bytes_below(root: &Path) -> BTreeMap<String, Option<Vec<u8>>> {
    fn walk(root: &Path, at: &Path, found: &mut BTreeMap<String, Option<Vec<u8>>>) {
        for entry in fs::read_dir(at).expect("it is a folder") {
            let path = entry.expect("it can be listed").path();
            let name = path
                .strip_prefix(root)
                .expect("below")
                .display()
                .to_string()
                .replace('\\', "/");
            if name == ".memory-forge" {
                continue;
            }
            if path.is_dir() {
                found.insert(format!("{name}/"), None);
                walk(root, &path, found);
            } else {
                found.insert(name, Some(fs::read(&path).expect("it can be read")));
            }
        }
    }
    let mut found = BTreeMap::new();
    walk(root, root, &mut found);
    found
}

fn both(ws: &TestWorkspace) -> [BTreeMap<String, Option<Vec<u8>>>; 2] {
    [bytes_below(&ws.path("")), bytes_below(&ws.home())]
}

#[track_caller]
fn assert_same(
    now: &[BTreeMap<String, Option<Vec<u8>>>; 2],
    before: &[BTreeMap<String, Option<Vec<u8>>>; 2],
    case: &str,
) {
    for (now, before) in now.iter().zip(before) {
        let names = |files: &BTreeMap<String, _>| files.keys().cloned().collect::<Vec<_>>();
        assert_eq!(names(now), names(before), "{case}");
        for (name, bytes) in before {
            let show = |bytes: &Option<Vec<u8>>| {
                bytes
                    .as_ref()
                    .map(|b| String::from_utf8_lossy(b).into_owned())
            };
            assert_eq!(show(&now[name]), show(bytes), "{case}: {name}");
        }
    }
}

fn put(root: &Path, name: &str, text: &str) {
    let path = root.join(name);
    fs::create_dir_all(path.parent().expect("it has one")).expect("made");
    fs::write(path, text).expect("written");
}

/// A workspace whose settings files in one scope all have the same shape.
fn shaped(scope: usize, shape: Option<&str>) -> TestWorkspace {
    let ws = ws("");
    let root = if scope == 0 { ws.path("") } else { ws.home() };
    if let Some(text) = shape {
        for name in JSON[scope].1 {
            put(&root, name, text);
        }
    }
    ws
}

fn setup(ws: &TestWorkspace, scope: &str, more: &[&str]) -> testkit::Output {
    let mut arguments = vec!["setup"];
    arguments.extend(CLIENTS);
    arguments.extend(["--scope", scope, "--mcp", "--yes"]);
    arguments.extend(more);
    ws.run(&arguments)
}

#[test]
fn uninstall_is_the_inverse_of_setup_for_every_scope_and_shape() {
    for (scope, (name, _)) in JSON.iter().enumerate() {
        for (shape, text) in shapes() {
            let ws = shaped(scope, text.as_deref());
            let case = format!("{name}, {shape}");
            let before = both(&ws);
            setup(&ws, name, &[]).ok();
            let once = both(&ws);
            assert_ne!(once, before, "{case}");
            let again = setup(&ws, name, &[]);
            assert!(again.ok().contains("Nothing to do"), "{case}: {again}");
            assert_same(&both(&ws), &once, &case);
            ws.run(&["uninstall", "--yes"]).ok();
            assert_same(&both(&ws), &before, &case);
        }
    }
}

#[test]
fn the_sets_of_hooks_replace_each_other() {
    for (scope, (name, _)) in JSON.iter().enumerate() {
        for text in [None, Some(FOREIGN)] {
            let ws = shaped(scope, text);
            let before = both(&ws);
            setup(&ws, name, &[]).ok();
            let default = both(&ws);
            setup(&ws, name, &["--hooks", "all"]).ok();
            assert_ne!(both(&ws), default);
            setup(&ws, name, &["--hooks", "default"]).ok();
            assert_same(&both(&ws), &default, name);
            ws.run(&["uninstall", "--yes"]).ok();
            assert_same(&both(&ws), &before, name);
        }
    }
}

#[test]
fn each_client_alone_comes_and_goes() {
    for scope in ["project", "user"] {
        for client in CLIENTS {
            let ws = ws("
                //- CLAUDE.md
                # Mine
                //- .github/copilot-instructions.md
                Mine.
            ");
            let before = both(&ws);
            let case = format!("{client}, {scope}");
            let arguments = ["setup", client, "--scope", scope, "--mcp", "--yes"];
            let output = ws.run(&arguments);
            output.ok();
            let after = both(&ws);
            assert_ne!(after, before, "{case}");
            let changed = usize::from(scope == "user");
            assert_eq!(
                after[1 - changed],
                before[1 - changed],
                "{case}: the other scope"
            );
            ws.run(&["uninstall", client, "--yes"]).ok();
            assert_same(&both(&ws), &before, &case);
        }
    }
}

#[test]
fn a_clone_without_derived_files_can_uninstall() {
    for text in [None, Some("{\n  \"a\": 1\n}\n"), Some(FOREIGN)] {
        let ws = shaped(0, text);
        // An empty object is not worth the remembering: it goes.
        let text = text.map(|text| text.replace(",\n  \"mcp\": {\n  }", ""));
        for name in JSON[0].1 {
            if let Some(text) = &text {
                ws.write(name, text);
            }
        }
        let before = both(&ws);
        setup(&ws, "project", &[]).ok();
        ws.remove(".memory-forge");
        ws.run(&["uninstall", "--yes"]).ok();
        let after = both(&ws);
        let read = |files: &BTreeMap<String, Option<Vec<u8>>>, name: &str| {
            let bytes = files.get(name)?.as_ref()?;
            Some(String::from_utf8_lossy(bytes).into_owned())
        };
        for name in [
            ".claude/settings.json",
            ".mcp.json",
            ".codex/hooks.json",
            ".gemini/settings.json",
        ] {
            assert_eq!(read(&after[0], name), read(&before[0], name), "{name}");
        }
        assert!(!ws.exists("AGENTS.md") && !ws.exists(".opencode"));
    }
}

#[test]
fn edits_between_setup_and_uninstall_survive() {
    let ws = ws("
        //- .claude/settings.json
        {
          \"a\": 1
        }
        //- AGENTS.md
        # Mine
    ");
    ws.run(&["setup", "claude", "--yes"]).ok();
    let settings = ws
        .read(".claude/settings.json")
        .replace("\"a\": 1", "\"a\": 2");
    ws.write(".claude/settings.json", settings);
    ws.write("AGENTS.md", format!("{}\nMore.\n", ws.read("AGENTS.md")));
    ws.run(&["uninstall", "--yes"]).ok();
    assert_eq!(ws.read(".claude/settings.json"), "{\n  \"a\": 2\n}\n");
    assert_eq!(ws.read("AGENTS.md"), "# Mine\n\nMore.\n");
}

#[test]
fn a_dry_run_shows_a_diff_and_changes_nothing() {
    let ws = ws("");
    let before = ws.tree();
    let output = ws.run(&["setup", "claude", "--dry-run"]);
    assert!(
        output.ok().starts_with("--- a/.claude/settings.json\n+++ "),
        "{output}"
    );
    assert!(
        output.stdout.contains("+<!-- memory-forge:begin -->"),
        "{output}"
    );
    assert!(output.stdout.contains("≤ 2,500 tokens"), "{output}");
    assert_eq!(ws.tree(), before);
    setup(&ws, "user", &["--dry-run"]).ok();
    assert_eq!(ws.tree(), before);
    assert!(bytes_below(&ws.home()).is_empty());
}

#[test]
fn without_an_answer_nothing_is_changed() {
    let ws = ws("");
    let output = ws.run(&["setup", "claude"]);
    assert!(
        output.fails(2).contains("Not a terminal: pass `--yes` to "),
        "{output}"
    );
    assert_eq!(ws.tree_of_sources(), "");
}

#[test]
fn a_broken_file_stops_everything_and_is_named_with_its_line() {
    for (client, file, text, line) in [
        ("claude", ".claude/settings.json", "{\n  \"hooks\": {\n", 2),
        (
            "claude",
            ".claude/settings.json",
            "{\n  \"hooks\": []\n}\n",
            2,
        ),
        ("codex", ".codex/config.toml", "a = 1\nb = = 2\n", 2),
        ("gemini", ".gemini/settings.json", "{\"a\": 1}\n}\n", 2),
        ("claude", "CLAUDE.md", "x\n<!-- memory-forge:begin -->\n", 2),
    ] {
        let ws = ws("");
        ws.write(file, text);
        let before = ws.tree_of_sources();
        let output = ws.run(&["setup", client, "cursor", "--mcp", "--yes"]);
        let place = format!("`{file}` line {line}:");
        assert!(output.fails(1).contains(&place), "{output}");
        assert_eq!(ws.tree_of_sources(), before);
    }
}

#[test]
#[cfg(unix)]
fn links_are_never_written_through() {
    use std::os::unix::fs::symlink;
    let ws = ws("
        //- real.json
        {}
    ");
    fs::create_dir_all(ws.path(".claude")).expect("made");
    symlink(ws.path("real.json"), ws.path(".claude/settings.json")).expect("linked");
    let output = ws.run(&["setup", "claude", "--yes"]);
    assert!(output.fails(1).contains("is a symlink"), "{output}");
    symlink(ws.path("elsewhere"), ws.home().join(".codex")).expect("linked");
    let output = ws.run(&["setup", "codex", "--scope", "user", "--yes"]);
    assert!(output.fails(1).contains("is a symlink"), "{output}");
    assert_eq!(ws.read("real.json"), "{}\n");
}

/// Many repositories have `CLAUDE.md` as a link to `AGENTS.md`: the lines go
/// into the file itself, once, and out of it again.
#[test]
#[cfg(unix)]
fn instructions_that_are_a_link_are_edited_where_they_are() {
    let ws = ws("
        //- AGENTS.md
        # Otter
    ");
    std::os::unix::fs::symlink("AGENTS.md", ws.path("CLAUDE.md")).expect("linked");
    let before = ws.tree_of_sources();
    ws.run(&["setup", "claude", "codex", "--yes"]).ok();
    let text = ws.read("AGENTS.md");
    assert_eq!(text.matches("memory-forge:begin").count(), 1, "{text}");
    assert!(ws.run(&["status"]).ok().contains("AGENTS.md"));
    ws.run(&["uninstall", "--yes"]).ok();
    assert_eq!(ws.tree_of_sources(), before);
}

/// A link may name a link, and a folder of the project's tools may have the
/// text: `CLAUDE.md` to `AGENTS.md` to `.agents/AGENTS.md`.
#[test]
#[cfg(unix)]
fn instructions_behind_two_links_are_edited_where_they_are() {
    let ws = ws("
        //- .agents/AGENTS.md
        # Otter
        //- web/AGENTS.md
        # Web
    ");
    let link = |to: &str, at: &str| {
        std::os::unix::fs::symlink(to, ws.path(at)).expect("linked");
    };
    link(".agents/AGENTS.md", "AGENTS.md");
    link("AGENTS.md", "CLAUDE.md");
    link("web/../.agents/AGENTS.md", "GEMINI.md");
    let before = ws.tree_of_sources();
    ws.run(&["setup", "claude", "codex", "gemini", "--yes"])
        .ok();
    let text = ws.read(".agents/AGENTS.md");
    assert_eq!(text.matches("memory-forge:begin").count(), 1, "{text}");
    for name in ["AGENTS.md", "CLAUDE.md", "GEMINI.md"] {
        let meta = ws.path(name).symlink_metadata().expect("it is there");
        assert!(meta.file_type().is_symlink(), "{name}");
    }
    assert!(ws.run(&["status"]).ok().contains(".agents/AGENTS.md"));
    ws.run(&["uninstall", "--yes"]).ok();
    assert_eq!(ws.tree_of_sources(), before);
}

#[test]
#[cfg(unix)]
fn files_that_do_not_speak_of_us_do_not_stop_uninstall() {
    let ws = ws("");
    ws.run(&["setup", "claude", "--yes"]).ok();
    put(&ws.home(), "dotfiles/settings.json", "{}");
    fs::create_dir_all(ws.home().join(".claude")).expect("made");
    let link = ws.home().join(".claude/settings.json");
    std::os::unix::fs::symlink(ws.home().join("dotfiles/settings.json"), link).expect("linked");
    put(&ws.home(), ".gemini/settings.json", "{ broken");
    ws.run(&["uninstall", "--yes"]).ok();
    assert_eq!(ws.tree_of_sources(), "");
}

#[test]
fn undo_takes_a_project_s_setup_back() {
    let ws = ws("
        //- CLAUDE.md
        # Mine
    ");
    let before = ws.tree_of_sources();
    let output = ws.run(&["setup", "claude", "codex", "--yes"]);
    output.ok();
    assert!(output.stderr.contains("doctor --undo 0001"), "{output}");
    ws.run(&["doctor", "--undo", "--yes"]).ok();
    assert_eq!(ws.tree_of_sources(), before);
}

#[test]
fn a_home_s_file_has_a_copy_beside_it_until_it_is_restored() {
    let ws = ws("");
    put(&ws.home(), ".claude/settings.json", "{ \"a\": 1 }");
    ws.run(&[
        "setup",
        "claude",
        "--scope",
        "user",
        "--no-claude-md",
        "--yes",
    ])
    .ok();
    let backup = ws.home().join(".claude/settings.json.memory-forge-backup");
    assert_eq!(fs::read_to_string(&backup).expect("there"), "{ \"a\": 1 }");
    ws.run(&["uninstall", "--yes"]).ok();
    assert!(!backup.exists());
}

#[test]
fn folders_that_variables_name_are_used() {
    let ws = ws("");
    let at = |name: &str| ws.home().join(name).display().to_string();
    let names = [
        "CLAUDE_CONFIG_DIR",
        "CODEX_HOME",
        "COPILOT_HOME",
        "XDG_CONFIG_HOME",
    ];
    let values = names.map(at);
    let mut moved = self::ws("");
    for (name, value) in names.iter().zip(&values) {
        moved = moved.env(name, value);
    }
    setup(&moved, "user", &[]).ok();
    let found: Vec<String> = bytes_below(&ws.home()).into_keys().collect();
    for file in [
        "CLAUDE_CONFIG_DIR/settings.json",
        "CLAUDE_CONFIG_DIR/.claude.json",
        "CODEX_HOME/hooks.json",
        "CODEX_HOME/config.toml",
        "COPILOT_HOME/mcp-config.json",
        "XDG_CONFIG_HOME/opencode/plugin/memory-forge.js",
    ] {
        assert!(found.iter().any(|name| name == file), "{file}: {found:?}");
    }
    moved.run(&["uninstall", "--yes"]).ok();
    let left = bytes_below(&ws.home());
    assert!(left.values().all(Option::is_none), "{left:?}");
}

#[test]
fn hooks_of_the_other_scope_are_not_doubled() {
    let ws = ws("");
    ws.run(&["setup", "claude", "--scope", "user", "--yes"])
        .ok();
    let output = ws.run(&["setup", "claude", "--yes"]);
    output.ok();
    assert!(output.stderr.contains("would fire twice"), "{output}");
    assert!(!ws.exists(".claude/settings.json"));
    let forced = ws.run(&["setup", "claude", "--yes", "--force"]);
    forced.ok();
    assert!(ws.exists(".claude/settings.json"));
    assert!(ws.run(&["status"]).ok().contains("fires twice"));
}

#[test]
fn copilot_shares_the_hooks_of_claude() {
    let ws = ws("");
    let output = ws.run(&["setup", "copilot", "claude", "--yes"]);
    output.ok();
    assert!(
        ws.exists(".claude/settings.json") && !ws.exists(".github"),
        "{output}"
    );
    assert!(output.stderr.contains("needs none of its own"), "{output}");
}

#[test]
fn one_file_with_the_lines_suffices_where_clients_share_it() {
    let check = |fixture: &str, clients: &[&str], expect: &[&str]| {
        let ws = ws(fixture);
        let arguments = [&["setup", "--yes", "--hooks", "none"], clients].concat();
        ws.run(&arguments).ok();
        let mut with: Vec<String> = bytes_below(&ws.path(""))
            .into_iter()
            .filter(|(_, bytes)| {
                let text = bytes
                    .as_ref()
                    .map(|b| String::from_utf8_lossy(b).into_owned());
                text.is_some_and(|text| text.contains("memory-forge:begin"))
            })
            .map(|(name, _)| name)
            .collect();
        with.sort();
        assert_eq!(with, expect, "{fixture} {clients:?}");
    };
    check(
        "",
        &["claude", "codex", "opencode", "copilot", "cursor"],
        &["AGENTS.md"],
    );
    check("", &["gemini"], &["GEMINI.md"]);
    check(
        "//- CLAUDE.md\nx\n",
        &["claude", "opencode", "copilot"],
        &["CLAUDE.md"],
    );
    check(
        "//- CLAUDE.md\nx\n",
        &["claude", "codex"],
        &["AGENTS.md", "CLAUDE.md"],
    );
    check(
        "//- CLAUDE.md\n@AGENTS.md\n//- AGENTS.md\nx\n",
        &["claude", "codex"],
        &["AGENTS.md"],
    );
    check("//- CLAUDE.local.md\nx\n", &["claude"], &["CLAUDE.md"]);
    check(
        "//- .gemini/settings.json\n{\"context\": {\"fileName\": [\"AGENTS.md\"]}}\n//- AGENTS.md\nx\n",
        &["gemini", "codex"],
        &["AGENTS.md"],
    );
}

/// "The stub lands in a file that the client reads, also below a parent's
/// CLAUDE.md; `.claude/CLAUDE.md` is not edited."
#[test]
fn the_lines_are_where_claude_code_reads_them() {
    const LINES: &str = "memory-forge:begin";
    // Below one of its own files Claude Code reads no `AGENTS.md`.
    for name in ["CLAUDE.md", "CLAUDE.local.md", ".claude/CLAUDE.md"] {
        let ws = ws("//- AGENTS.md\nx\n");
        let above = ws.root().parent().expect("a folder above").join(name);
        fs::create_dir_all(above.parent().expect("a folder")).expect("made");
        fs::write(&above, "Above.\n").expect("written");
        ws.run(&["setup", "claude", "--yes", "--hooks", "none"])
            .ok();
        assert!(ws.read("CLAUDE.md").contains(LINES), "{name}");
        assert_eq!(ws.read("AGENTS.md"), "x\n", "{name}");
        let status = ws.run(&["status"]);
        assert!(status.ok().contains("CLAUDE.md"), "{status}");
        ws.run(&["uninstall", "claude", "--yes"]).ok();
        assert!(!ws.exists("CLAUDE.md"), "{name}");
        assert_eq!(fs::read_to_string(&above).expect("read"), "Above.\n");
    }
    let within = ws("//- .claude/CLAUDE.md\nMine.\n");
    within.run(&["setup", "claude", "--yes"]).ok();
    assert_eq!(within.read(".claude/CLAUDE.md"), "Mine.\n");
    assert!(within.read("CLAUDE.md").contains(LINES));
    assert!(!within.exists("AGENTS.md"));
    // What a person has in their home does not hide `AGENTS.md`.
    let ws = ws("");
    fs::create_dir_all(ws.home().join(".claude")).expect("made");
    fs::write(ws.home().join(".claude/CLAUDE.md"), "Me.\n").expect("written");
    ws.run(&["setup", "claude", "--yes"]).ok();
    assert!(ws.read("AGENTS.md").contains(LINES));
}

/// What the installer of the scripts wrote, beside a hook of somebody's own.
const PREDECESSOR: &str = r#"
    //- .claude/settings.json
    {
      "hooks": {
        "SessionStart": [
          {
            "matcher": "startup|resume|compact|clear",
            "hooks": [{ "type": "command", "command": "node scripts/hooks/session-start.js", "timeout": 15 }]
          }
        ],
        "PreCompact": [
          {
            "hooks": [
              { "type": "command", "command": "./mine.sh" },
              { "type": "command", "command": "node scripts/hooks/pre-compact.js", "timeout": 10 }
            ]
          }
        ],
        "SessionEnd": [
          { "hooks": [{ "type": "command", "command": "bash \"$CLAUDE_PROJECT_DIR/scripts/hooks/session-end.sh\"" }] }
        ]
      }
    }
    //- .mcp.json
    {
      "mcpServers": {
        "memory": { "command": "node", "args": ["scripts/memory-mcp/server.js"] },
        "other": { "command": "other" }
      }
    }
    //- .mind/STATE.md
    # Project State
"#;

/// "Moving from the predecessor's hooks: skip, migrate, force, all three
/// entries."
#[test]
fn hooks_of_the_predecessor_are_skipped_migrated_or_joined() {
    const SCRIPTS: [&str; 3] = ["session-start.js", "pre-compact.js", "session-end.sh"];
    let setup = |more: &[&str]| {
        let ws = ws(PREDECESSOR);
        let said = ws.run(&[&["setup", "claude", "--yes"], more].concat());
        said.ok();
        (said, ws.read(".claude/settings.json"), ws)
    };
    let (said, settings, _) = setup(&[]);
    let warned = "(`.claude/settings.json`: SessionStart, PreCompact, SessionEnd)";
    assert!(said.stderr.contains(warned), "{said}");
    assert!(
        said.stderr.contains("`--migrate` replaces theirs"),
        "{said}"
    );
    assert!(SCRIPTS.iter().all(|it| settings.contains(it)), "{settings}");
    assert!(!settings.contains("memory-forge hook"), "{settings}");

    let (_, settings, ws) = setup(&["--migrate"]);
    assert!(
        !SCRIPTS.iter().any(|it| settings.contains(it)),
        "{settings}"
    );
    assert!(settings.contains("./mine.sh"), "{settings}");
    assert!(settings.contains("memory-forge hook"), "{settings}");
    let servers = ws.read(".mcp.json");
    assert!(!servers.contains("memory-mcp"), "{servers}");
    assert!(servers.contains("\"other\""), "{servers}");
    assert!(servers.contains("\"memory-forge\""), "{servers}");
    assert_eq!(ws.read(".mind/STATE.md"), "# Project State\n");
    let again = ws.run(&["setup", "claude", "--yes", "--migrate"]);
    assert!(again.ok().contains("Nothing to do"), "{again}");
    ws.run(&["doctor", "--undo"]).ok();
    assert!(
        ws.read(".claude/settings.json")
            .contains("session-start.js")
    );

    let (_, settings, _) = setup(&["--force"]);
    assert!(SCRIPTS.iter().all(|it| settings.contains(it)), "{settings}");
    assert!(settings.contains("memory-forge hook"), "{settings}");
}

/// Hooks that the predecessor installed for all projects fire here too.
#[test]
fn hooks_of_the_predecessor_in_the_home_count() {
    let ws = ws("");
    let home = ws.home().join(".claude/settings.json");
    fs::create_dir_all(home.parent().expect("a folder")).expect("made");
    let theirs = r#"{"hooks": {"SessionStart": [{"hooks": [{"type": "command", "command": "node \"/home/a/.claude/memoryforge/scripts/hooks/session-start.js\""}]}]}}"#;
    fs::write(&home, theirs).expect("written");
    let said = ws.run(&["setup", "claude", "--yes"]);
    assert!(said.stderr.contains("~/.claude/settings.json"), "{said}");
    assert!(!ws.exists(".claude/settings.json"));
    ws.run(&["setup", "claude", "--yes", "--migrate"]).ok();
    assert!(ws.exists(".claude/settings.json"));
    let left = fs::read_to_string(&home).expect("read");
    assert!(!left.contains("session-start.js"), "{left}");
}

#[test]
fn lines_stay_for_clients_that_still_read_them() {
    let ws = ws("");
    ws.run(&["setup", "claude", "codex", "--yes"]).ok();
    ws.run(&["uninstall", "claude", "--yes"]).ok();
    assert!(ws.read("AGENTS.md").contains("memory-forge:begin"));
    ws.run(&["uninstall", "codex", "--yes"]).ok();
    assert!(!ws.exists("AGENTS.md"));
}

#[test]
fn a_server_that_somebody_else_gave_our_name_stays() {
    let ws = ws("
        //- .mcp.json
        {\"mcpServers\": {\"memory-forge\": {\"command\": \"else\"}}}
    ");
    let before = ws.read(".mcp.json");
    let output = ws.run(&["setup", "claude", "--mcp", "--yes"]);
    output.ok();
    assert!(output.stderr.contains("not ours"), "{output}");
    ws.run(&["uninstall", "--yes"]).ok();
    assert_eq!(ws.read(".mcp.json"), before);
}

#[test]
fn an_edited_plugin_is_left_alone_and_said_to_be_there() {
    let ws = ws("");
    ws.run(&["setup", "opencode", "--yes"]).ok();
    let file = ".opencode/plugin/memory-forge.js";
    ws.write(file, format!("{}// mine\n", ws.read(file)));
    let output = ws.run(&["uninstall", "--yes"]);
    output.ok();
    assert!(output.stderr.contains("still runs"), "{output}");
    assert!(ws.exists(file));
}

#[test]
fn clients_in_use_are_proposed() {
    let ws = ws("
        //- .gemini/settings.json
        {}
    ");
    put(&ws.home(), ".codex/config.toml", "");
    let output = ws.run(&["setup", "--yes"]);
    output.ok();
    for part in [
        "Found Codex",
        "Found Gemini CLI",
        "until you trust the folder",
    ] {
        assert!(output.stderr.contains(part), "{part}: {output}");
    }
    assert!(ws.exists(".codex/hooks.json") && !ws.exists(".claude"));
    let nothing = self::ws("");
    assert!(nothing.run(&["setup"]).fails(2).contains("No agent client"));
}

#[test]
fn other_memories_are_told() {
    let ws = ws("
        //- CLAUDE.md
        # The Mind Protocol (MemoryForge)
        //- .mcp.json
        {\"mcpServers\": {\"basic-memory\": {\"command\": \"uvx\", \"args\": [\"basic-memory\", \"mcp\"]}}}
    ");
    put(
        &ws.home(),
        ".claude/settings.json",
        "{\"enabledPlugins\": {\"claude-mem@x\": true}}",
    );
    let output = ws.run(&["setup", "claude", "--json", "--yes"]);
    let value = output.ok();
    for system in ["Mind Protocol", "basic-memory", "claude-mem"] {
        assert!(
            value.contains(&format!("\"system\": \"{system}\"")),
            "{system}: {output}"
        );
    }
    assert!(value.contains("\"result\": \"done\""), "{output}");
}

#[test]
fn state_and_knowledge_stay() {
    let ws = ws("
        //- .mind/STATE.md
        # Project State
        //- knowledge/a.md
        # A
    ");
    let before = ws.tree_of_sources();
    setup(&ws, "project", &[]).ok();
    ws.run(&["uninstall", "--yes"]).ok();
    assert_eq!(ws.tree_of_sources(), before);
}

#[test]
fn status_fits_a_screen() {
    let ws = ws("
        //- .mind/STATE.md
        # Project State

        ## Current Phase
        Building the retry queue, which is a long name for a phase and goes on and on and on

        ## Blocked Items
        - waiting for keys
        - and for a review

        ## Next Action
        Write the test
        //- knowledge/a.md
        # A
    ")
    .env("COLUMNS", "80");
    setup(&ws, "project", &[]).ok();
    let output = ws.run(&["status"]);
    let screen = output.ok();
    for line in screen.lines() {
        assert!(line.chars().count() <= 80, "{line}");
    }
    assert!(screen.lines().count() <= 24, "{screen}");
    for part in [
        "Phase      Building the retry queue",
        "Next       Write the test",
        "Blocked    (2) waiting for keys; and for a review",
        "tokens a session",
        "Claude Code  project  6      yes  AGENTS.md",
    ] {
        assert!(screen.contains(part), "{part}:\n{screen}");
    }
    let json = ws.run(&["status", "--json"]);
    assert!(json.ok().contains("\"next\": \"Write the test\""), "{json}");
}
