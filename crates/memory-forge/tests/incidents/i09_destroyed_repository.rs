//! A tool that destroys the user's repository or configuration.

use std::collections::BTreeMap;
use std::fs;
use std::path::{Path, PathBuf};

use testkit::TestWorkspace;

use crate::harness::ws;
use crate::i01_children_without_bound::provoke::{
    COMMANDS, HOUSE, below, can, house, quiet, read_only, run, words,
};

/// Every file below a folder, with its bytes; folders with none.
fn bytes_below(root: &Path) -> BTreeMap<PathBuf, Option<Vec<u8>>> {
    let mut found = BTreeMap::new();
    let mut open = vec![root.to_owned()];
    while let Some(folder) = open.pop() {
        for entry in fs::read_dir(&folder).expect("it can be listed") {
            let path = entry.expect("an entry").path();
            let kind = path.symlink_metadata().expect("just listed").file_type();
            if kind.is_dir() {
                open.push(path.clone());
                found.insert(path, None);
            } else if kind.is_symlink() {
                let target = fs::read_link(&path).expect("a link");
                found.insert(
                    path,
                    Some(target.to_string_lossy().into_owned().into_bytes()),
                );
            } else {
                let bytes = fs::read(&path).expect("it can be read");
                found.insert(path, Some(bytes));
            }
        }
    }
    found
}

/// What git keeps that is the user's: hooks, references, objects, the index's
/// list, what is stashed and configured. The index file itself may be renewed
/// by any `git status`.
fn of_git(ws: &TestWorkspace) -> String {
    let mut all = String::new();
    for arguments in [
        &["for-each-ref"][..],
        &["reflog", "--all"],
        &["stash", "list"],
        &["ls-files", "--stage"],
        &["rev-parse", "HEAD"],
        &["symbolic-ref", "HEAD"],
        &["worktree", "list"],
    ] {
        all.push_str(&format!("{arguments:?}\n{}\n", ws.git(arguments)));
    }
    all
}

/// The files of `.git` that nobody but git and its user may touch.
fn untouched(folder: &Path) -> BTreeMap<PathBuf, Option<Vec<u8>>> {
    let mut files = bytes_below(folder);
    files.retain(|path, _| {
        let name = path.strip_prefix(folder).expect("below");
        // Git itself writes these when it is asked a question.
        !matches!(
            name.to_str(),
            Some("index" | "config" | "info" | "info/attributes")
        )
    });
    files
}

fn with_a_life_of_its_own() -> TestWorkspace {
    let ws = house();
    // Hooks that would be missed, staged and unstaged work, a stash, a tag.
    for hook in ["pre-commit", "post-checkout", "commit-msg"] {
        ws.write(&format!(".git/hooks/{hook}"), "#!/bin/sh\nexit 0\n");
    }
    ws.git(&["tag", "v1"]);
    ws.git(&["branch", "other"]);
    ws.write("src/main.rs", "fn main() { stashed(); }\n");
    ws.git(&["stash", "push", "--quiet"]);
    ws.write("src/staged.rs", "fn staged() {}\n");
    ws.git(&["add", "src/staged.rs"]);
    ws.write("src/main.rs", "fn main() { unstaged(); }\n");
    ws.write("untracked.txt", "not in git\n");
    ws
}

/// Files that are the user's and none of a memory's.
const THEIRS: [&str; 4] = ["src/main.rs", "src/staged.rs", "untracked.txt", "theirs.md"];

#[test]
fn every_command_in_a_repository_with_uncommitted_work() {
    let ws = with_a_life_of_its_own();
    let git = of_git(&ws);
    let folder = untouched(&ws.path(".git"));
    let config = ws.read(".git/config");
    let theirs: Vec<Vec<u8>> = THEIRS.iter().map(|path| ws.read_bytes(path)).collect();
    for (line, code) in COMMANDS {
        let output = run(&ws, line);
        assert_eq!(output.status, Some(*code), "{line}: {output}");
        assert_eq!(of_git(&ws), git, "{line}");
        for (path, bytes) in THEIRS.iter().zip(&theirs) {
            assert_eq!(&ws.read_bytes(path), bytes, "{line}: {path}");
        }
    }
    assert_eq!(untouched(&ws.path(".git")), folder);
    // `setup --git` writes the driver there, and `uninstall` has taken it out.
    assert_eq!(ws.read(".git/config"), config);
    ws.git(&["fsck", "--strict", "--no-dangling"]);
}

/// A `.git` that is a file, of a worktree and of a submodule: whatever it
/// points to is left alone as well.
#[test]
fn every_command_in_a_worktree_and_in_a_submodule() {
    let main = with_a_life_of_its_own();
    let tree = main.root().with_file_name("tree");
    let to = tree.to_string_lossy().into_owned();
    main.git(&["worktree", "add", "--quiet", "-b", "work", &to]);
    let outer = main.root().with_file_name("outer");
    fs::create_dir(&outer).expect("ours");
    let from = main.root().to_string_lossy().into_owned();
    testkit::git::run(&outer, testkit::git::DATE, &["init", "--quiet"]);
    let allow = "protocol.file.allow=always";
    testkit::git::run(
        &outer,
        testkit::git::DATE,
        &["-c", allow, "submodule", "--quiet", "add", &from, "inner"],
    );
    for root in [tree, outer.join("inner")] {
        assert!(root.join(".git").is_file());
        fs::write(root.join("knowledge/plan.local.md"), "# Mine\n").expect("ours");
        let git = of_git(&main);
        let before = [
            untouched(&main.path(".git")),
            untouched(&outer.join(".git")),
            bytes_below(main.root())
                .into_iter()
                .filter(|(path, _)| !path.starts_with(main.path(".git")))
                .collect(),
        ];
        let link = fs::read(root.join(".git")).expect("a file");
        for (line, _) in COMMANDS {
            let mut command = main.command();
            command.current_dir(&root).args(words(line));
            let output = quiet(&mut command, line);
            assert!(
                output.status.is_some_and(|code| code < 2),
                "{line}: {output}"
            );
        }
        assert_eq!(fs::read(root.join(".git")).expect("a file"), link);
        assert_eq!(of_git(&main), git);
        let after = [
            untouched(&main.path(".git")),
            untouched(&outer.join(".git")),
            bytes_below(main.root())
                .into_iter()
                .filter(|(path, _)| !path.starts_with(main.path(".git")))
                .collect(),
        ];
        for (before, after) in before.iter().zip(&after) {
            let changed: Vec<&PathBuf> = before
                .iter()
                .filter(|(path, bytes)| after.get(*path) != Some(bytes))
                .map(|(path, _)| path)
                .chain(after.keys().filter(|path| !before.contains_key(*path)))
                .collect();
            assert_eq!(changed, Vec::<&PathBuf>::new(), "{}", root.display());
        }
    }
    main.git(&["fsck", "--strict", "--no-dangling"]);
}

/// Places that no tool should take for a project. Nothing is written there that
/// was not asked for by name, and nothing of what is there changes.
#[test]
#[cfg(target_os = "linux")]
fn at_the_root_at_home_in_git_and_in_other_people_s_code() {
    let ws = house();
    fs::write(ws.home().join(".bashrc"), "mine\n").expect("ours");
    fs::create_dir_all(ws.home().join(".ssh")).expect("ours");
    fs::write(ws.home().join(".ssh/id"), "key\n").expect("ours");
    ws.write("node_modules/thing/index.js", "1\n");
    ws.write("node_modules/thing/README.md", "# Thing\n");
    ws.commit("second");
    let places = [
        PathBuf::from("/"),
        ws.home(),
        ws.path(".git"),
        ws.path(".git/refs/heads"),
        ws.path("node_modules/thing"),
    ];
    let isolated = can(&["unshare", "-m", "true"]);
    for place in places {
        if place == Path::new("/") && !isolated {
            continue;
        }
        // What reading and hooks keep in the project itself is known.
        let known = [ws.path(".memory-forge"), ws.path(".mind")];
        let rest = || {
            let mut all = bytes_below(ws.root().parent().expect("below the temporary one"));
            all.retain(|path, _| !known.iter().any(|it| path.starts_with(it)));
            all
        };
        let before = rest();
        for (line, _) in COMMANDS {
            // Only what needs no name of a file here.
            let reads = [
                "search",
                "stats",
                "audit",
                "status",
                "config",
                "check",
                "lint",
                "doctor",
                "links|check",
                "hook",
                "session|start",
                "mind|show",
                "mind|health",
                "closets|check",
                "graph|check",
                "manifest|show",
                "domain|list",
                "import|native",
                "agent|index",
            ];
            if !reads.iter().any(|it| line.starts_with(it)) || line.contains("--fix") {
                continue;
            }
            let mut command = if place == Path::new("/") {
                // Whatever it does there, it does to nobody.

                let wrapper = read_only(Path::new("/"));
                let wrapper: Vec<&str> = wrapper.iter().map(String::as_str).collect();
                below(&ws, &wrapper, &words(line))
            } else {
                let mut command = ws.command();
                command.args(words(line));
                command
            };
            let output = quiet(command.current_dir(&place), line);
            let ended = output.status.is_some_and(|code| code <= 2);
            assert!(ended, "{} {line}: {output}", place.display());
        }
        let after = rest();
        let changed: Vec<&PathBuf> = before
            .iter()
            .filter(|(path, bytes)| after.get(*path) != Some(bytes))
            .map(|(path, _)| path)
            .chain(after.keys().filter(|path| !before.contains_key(*path)))
            .collect();
        assert_eq!(changed, Vec::<&PathBuf>::new(), "{}", place.display());
    }
    ws.git(&["fsck", "--strict", "--no-dangling"]);
}

/// Writing by name inside of `.git`, or out of the workspace through a link, is
/// refused and changes nothing.
#[test]
#[cfg(unix)]
fn links_that_lead_out_are_never_written_through() {
    let outside = tempfile::tempdir().expect("a folder");
    for name in ["tides.md", "old.md", "README.md"] {
        fs::write(outside.path().join(name), "# Theirs\n\nThe quokka.\n").expect("ours");
    }
    let before = bytes_below(outside.path());
    for link in [
        "knowledge",
        "memory",
        ".mind",
        ".agents",
        "garden",
        ".memory-forge",
        "scratch",
    ] {
        let ws = ws(HOUSE);
        ws.write("README.md", "a\n");
        ws.git_init();
        let _ = fs::remove_dir_all(ws.path(link));
        std::os::unix::fs::symlink(outside.path(), ws.path(link)).expect("ours");
        for (line, _) in COMMANDS {
            let output = run(&ws, line);
            assert!(
                output.status.is_some_and(|code| code <= 2),
                "{link}, {line}: {output}"
            );
        }
        let after = bytes_below(outside.path());
        assert_eq!(after, before, "{link}");
        let target = fs::read_link(ws.path(link)).expect("still a link");
        assert_eq!(target, outside.path());
    }
}

/// Files of clients with other people's hooks and comments in them: setup and
/// uninstall in every scope, and all of it is there, byte for byte.
#[test]
fn foreign_hooks_in_clients_files_survive() {
    const FOREIGN: &str = "{\r\n  // keep: written by hand\r\n  \"hooks\": {\r\n    \"SessionStart\": [ { \"hooks\": [ { \"type\": \"command\", \"command\": \"./guard.sh\" } ] } ],\r\n    \"PreToolUse\": []\r\n  },\r\n\t\"permissions\": { \"deny\": [\"Bash(rm:*)\"], },\r\n}";
    let files = [
        ".claude/settings.json",
        ".codex/hooks.json",
        ".gemini/settings.json",
        ".cursor/hooks.json",
        ".github/hooks/memory-forge.json",
        ".mcp.json",
    ];
    let ws = ws("//- knowledge/a.md\n# A\n");
    ws.write("CLAUDE.md", "\u{feff}# Mine\r\n\r\nNo newline at the end");
    for root in [ws.root().to_owned(), ws.home()] {
        for file in files {
            let path = root.join(file);
            fs::create_dir_all(path.parent().expect("it has one")).expect("ours");
            fs::write(path, FOREIGN).expect("ours");
        }
    }
    let below = |ws: &TestWorkspace| {
        let mut all = bytes_below(ws.root().parent().expect("below the temporary one"));
        all.retain(|path, _| !path.starts_with(ws.path(".memory-forge")));
        all
    };
    let before = below(&ws);
    let clients = ["claude", "codex", "opencode", "gemini", "copilot", "cursor"];
    for scope in ["project", "user"] {
        let mut line = vec!["setup"];
        line.extend(clients);
        line.extend(["--scope", scope, "--hooks", "all", "--yes", "--force"]);
        ws.run(&line).ok();
    }
    let installed = below(&ws);
    for (path, bytes) in &installed {
        let text = String::from_utf8_lossy(bytes.as_deref().unwrap_or_default());
        if files.iter().any(|file| path.ends_with(file)) {
            assert!(
                text.contains("./guard.sh") && text.contains("written by hand"),
                "{text}"
            );
        }
    }
    ws.run(&["uninstall", "--yes"]).ok();
    let after = below(&ws);
    for (path, bytes) in &before {
        assert_eq!(after.get(path), Some(bytes), "{}", path.display());
    }
    let new: Vec<&PathBuf> = after
        .keys()
        .filter(|path| !before.contains_key(*path))
        .collect();
    assert_eq!(new, Vec::<&PathBuf>::new());
}
