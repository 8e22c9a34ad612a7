//! An uninstall that leaves parts which go on executing.

use std::collections::BTreeMap;
use std::fs;
#[cfg(unix)]
use std::os::unix::fs::PermissionsExt;
use std::path::{Path, PathBuf};

use testkit::TestWorkspace;

use crate::harness::ws;
use crate::i01_children_without_bound::provoke::{program_at, quiet};

const CLIENTS: [&str; 6] = ["claude", "codex", "opencode", "gemini", "copilot", "cursor"];

/// Every file of project, home and repository with its mode and bytes. What is
/// derived is ours and may stay.
fn all(ws: &TestWorkspace) -> BTreeMap<PathBuf, (u32, Option<Vec<u8>>)> {
    let mut found = BTreeMap::new();
    let mut open = vec![
        ws.root()
            .parent()
            .expect("below the temporary one")
            .to_owned(),
    ];
    while let Some(folder) = open.pop() {
        for entry in fs::read_dir(&folder).expect("ours") {
            let path = entry.expect("an entry").path();
            let derived = path == ws.path(".memory-forge");
            // Git rewrites its index when it is asked something.
            if derived || path.ends_with(".git/index") || path.ends_with("bin/memory-forge") {
                continue;
            }
            let meta = path.symlink_metadata().expect("just listed");
            let mode = meta.permissions().mode();
            if meta.is_dir() {
                open.push(path.clone());
                found.insert(path, (mode, None));
            } else {
                found.insert(path.clone(), (mode, Some(fs::read(path).expect("ours"))));
            }
        }
    }
    found
}

type Everything = BTreeMap<PathBuf, (u32, Option<Vec<u8>>)>;

#[track_caller]
fn assert_same(now: &Everything, before: &Everything, case: &str) {
    let shown = |one: Option<&(u32, Option<Vec<u8>>)>| {
        one.map(|(mode, bytes)| {
            let text = bytes
                .as_deref()
                .map(|it| String::from_utf8_lossy(it).into_owned());
            (format!("{mode:o}"), text)
        })
    };
    for path in now.keys().chain(before.keys()) {
        assert_eq!(
            shown(now.get(path)),
            shown(before.get(path)),
            "{case}: {}",
            path.display()
        );
    }
}

/// Nothing that remains names our program, and nothing can be run that could
/// not before.
#[track_caller]
fn nothing_of_ours(now: &Everything, case: &str) {
    for (path, (mode, bytes)) in now {
        let text = String::from_utf8_lossy(bytes.as_deref().unwrap_or_default()).into_owned();
        let inside = path.components().any(|it| it.as_os_str() == ".git");
        assert!(
            !text.contains("memory-forge"),
            "{case}: {} names us:\n{text}",
            path.display()
        );
        let runs = bytes.is_some() && mode & 0o111 != 0 && !inside;
        assert!(!runs, "{case}: {} can be run", path.display());
    }
}

/// A person's files as they are found in the wild: with modes of their own.
fn lived_in() -> TestWorkspace {
    let ws = ws("
        //- CLAUDE.md
        # Mine
        //- AGENTS.md
        # Ours
        //- knowledge/a.md
        # A
        //- .gitattributes
        *.png binary
        //- .mind/STATE.md
        # Project State
    ");
    // What keeps private notes out of git stays after an uninstall.
    ws.write(".gitignore", "target/\n*.local.md\n");
    ws.git_init();
    ws.git(&["config", "merge.conflictstyle", "diff3"]);
    let own = "{\n  \"theme\": \"dark\", // mine\n  \"hooks\": { \"Stop\": [] }\n}\n";
    for root in [ws.root().to_owned(), ws.home()] {
        for (name, mode) in [
            (".claude/settings.json", 0o600),
            (".gemini/settings.json", 0o640),
            (".cursor/mcp.json", 0o644),
        ] {
            let path = root.join(name);
            fs::create_dir_all(path.parent().expect("it has one")).expect("ours");
            fs::write(&path, own).expect("ours");
            fs::set_permissions(&path, fs::Permissions::from_mode(mode)).expect("ours");
        }
        fs::create_dir_all(root.join(".codex")).expect("ours");
        fs::write(
            root.join(".codex/config.toml"),
            "model = \"x\"\n\n[mcp_servers.other]\ncommand = \"other\"\n",
        )
        .expect("ours");
    }
    ws
}

/// All ways to install for one client.
fn ways() -> Vec<Vec<&'static str>> {
    let mut ways = Vec::new();
    for scope in ["project", "user"] {
        for flags in [
            &[][..],
            &["--hooks", "all"],
            &["--hooks", "none"],
            &["--no-mcp"],
            &["--no-claude-md"],
            &["--absolute"],
            &["--skills"],
            &["--skills", "--hooks", "all", "--absolute"],
        ] {
            let mut way = vec!["--scope", scope];
            way.extend(flags);
            ways.push(way);
        }
    }
    ways.push(vec!["--git"]);
    ways.push(vec!["--git", "--skills", "--hooks", "all", "--absolute"]);
    ways
}

#[test]
fn every_kind_of_install_leaves_without_a_trace() {
    std::thread::scope(|scope| {
        for client in CLIENTS {
            scope.spawn(move || {
                let ws = lived_in();
                let before = all(&ws);
                for way in ways() {
                    let case = format!("{client} {}", way.join(" "));
                    let mut line = vec!["setup", client, "--yes"];
                    line.extend(&way);
                    ws.run(&line).ok();
                    let installed = all(&ws);
                    assert_ne!(installed, before, "{case}");
                    // A dry run changes nothing and says what would go.
                    let dry = ws.run(&["uninstall", "--dry-run"]);
                    assert!(!dry.ok().is_empty(), "{case}: {dry}");
                    assert_same(&all(&ws), &installed, &case);
                    // Without a yes, and nobody to ask, nothing happens.
                    ws.run(&["uninstall"]).fails(2);
                    assert_same(&all(&ws), &installed, &case);
                    ws.run(&["uninstall", "--yes"]).ok();
                    let after = all(&ws);
                    assert_same(&after, &before, &case);
                    nothing_of_ours(&after, &case);
                    // Twice is once.
                    ws.run(&["uninstall", "--yes"]).ok();
                    assert_same(&all(&ws), &before, &case);
                }
            });
        }
    });
}

/// All clients in both scopes, one over another, several times, by programs at
/// different places: one uninstall takes all of it out.
#[test]
fn installs_on_top_of_installs_leave_as_one() {
    let ws = lived_in();
    let before = all(&ws);
    let moved = ws.home().join("bin");
    let program = moved.join("memory-forge");
    program_at(&program);
    for round in 0..3 {
        for scope in ["user", "project"] {
            let mut line = vec!["setup"];
            line.extend(CLIENTS);
            line.extend(["--scope", scope, "--yes", "--force"]);
            line.extend(
                [
                    &["--skills", "--git"][..],
                    &["--absolute", "--hooks", "all"],
                    &[],
                ][round],
            );
            let mut command = std::process::Command::new(&program);
            command
                .env_clear()
                .env("HOME", ws.home())
                .env("XDG_STATE_HOME", ws.state_home())
                .env("PATH", "/usr/bin:/bin");
            command.current_dir(ws.root()).args(&line);
            quiet(&mut command, "setup").ok();
        }
    }
    assert_ne!(all(&ws), before);
    // The program that was installed is gone; another one cleans up.
    fs::remove_dir_all(&moved).expect("ours");
    ws.run(&["uninstall", "--yes"]).ok();
    let after = all(&ws);
    nothing_of_ours(&after, "layers");
    assert_same(&after, &before, "layers");
}

/// The plugin of a client is the client's to remove; what `setup` put beside
/// it goes, and the plugin's own call does not come back to life.
#[test]
fn with_the_plugin_beside_it() {
    let ws = lived_in();
    let plugin = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../plugin");
    let cache = ws.home().join(".claude/plugins/cache/memory-forge");
    let copied = std::process::Command::new("cp")
        .arg("-r")
        .arg(&plugin)
        .arg({
            fs::create_dir_all(cache.parent().expect("it has one")).expect("ours");
            &cache
        })
        .status();
    assert!(copied.is_ok_and(|status| status.success()));
    let before = all(&ws);
    for scope in ["project", "user"] {
        ws.run(&[
            "setup", "claude", "--scope", scope, "--skills", "--yes", "--force",
        ])
        .ok();
    }
    assert_ne!(all(&ws), before);
    ws.run(&["uninstall", "--yes"]).ok();
    assert_same(&all(&ws), &before, "with the plugin");
}

/// What was installed stops at once: a session of the client that is still
/// open calls a command that does nothing, and `git` merges as git does.
#[test]
fn what_is_uninstalled_runs_no_more() {
    let ws = lived_in();
    ws.run(&["setup", "claude", "--git", "--yes"]).ok();
    ws.commit("installed");
    ws.run(&["uninstall", "--yes"]).ok();
    let config = ws.read(".git/config");
    assert!(!config.contains("memory-forge"), "{config}");
    ws.commit("uninstalled");
    for (branch, text) in [("one", "# A\n\nOne.\n"), ("two", "# A\n\nTwo.\n")] {
        ws.git(&["checkout", "--quiet", "-b", branch, "main"]);
        ws.write("knowledge/a.md", text);
        ws.commit(branch);
    }
    let merge = std::process::Command::new("git")
        .args(["-c", "user.name=a", "-c", "user.email=b", "merge", "one"])
        .current_dir(ws.root())
        .env("PATH", "/usr/bin:/bin")
        .env("HOME", ws.home())
        .env("XDG_STATE_HOME", ws.state_home())
        .output()
        .expect("git runs");
    let told = String::from_utf8_lossy(&merge.stderr).into_owned();
    assert!(!told.contains("memory-forge"), "{told}");
    assert!(
        ws.read("knowledge/a.md").contains("<<<<<<< "),
        "git's own merge"
    );
}
