//! Memory that belongs to a path, and is lost with it.

use std::fs;
use std::path::{Path, PathBuf};
use std::process::Command;

use serde_json::{Value, json};
use testkit::TestWorkspace;

use crate::harness::ws;
use crate::i01_children_without_bound::mcp_client::{Client, text_of};
use crate::i01_children_without_bound::provoke::quiet;

const HARBOUR: &str = "
    //- knowledge/tides.md
    # Tides

    High water at noon.
    //- .mind/STATE.md
    # Project State

    ## Next Action
    Build the pier
    //- .mind/DECISIONS.md
    # Decision Log

    ## DEC-001: Oak
    - **Decision:** Piles of oak
    //- src/deep/er/main.rs
    fn main() {}
";

fn harbour() -> TestWorkspace {
    let ws = ws(HARBOUR);
    ws.git_init();
    ws.commit("first");
    ws
}

/// The program at some place, in the surroundings of a workspace.
fn at(ws: &TestWorkspace, place: &Path) -> Command {
    let mut command = ws.command();
    command.current_dir(place);
    command
}

/// Everything that is known is known at this place: search, state, identity,
/// and what a session is told.
#[track_caller]
fn knows(ws: &TestWorkspace, place: &Path, identity: &str) {
    let shown = place.display();
    let search = quiet(at(ws, place).args(["search", "--json", "noon"]), "search");
    let answer: Value = serde_json::from_str(search.ok()).expect("JSON");
    assert_eq!(
        answer["results"][0]["path"], "knowledge/tides.md",
        "{shown}: {search}"
    );
    let state = quiet(at(ws, place).args(["mind", "show"]), "mind show");
    assert!(state.ok().contains("Build the pier"), "{shown}: {state}");
    assert_eq!(id(ws, place), identity, "{shown}");
    let payload =
        json!({ "hook_event_name": "SessionStart", "session_id": "s", "source": "resume" });
    let file = ws.home().join("payload");
    fs::write(&file, payload.to_string()).expect("ours");
    let mut hook = at(ws, place);
    hook.arg("hook").stdin(fs::File::open(&file).expect("ours"));
    let told = hook.output().expect("it can be started");
    let told = String::from_utf8_lossy(&told.stdout).into_owned();
    assert!(
        told.contains("Build the pier") && told.contains("Oak"),
        "{shown}: {told}"
    );
}

fn id(ws: &TestWorkspace, place: &Path) -> String {
    let status = quiet(at(ws, place).args(["status", "--json"]), "status");
    let status: Value = serde_json::from_str(status.ok()).expect("JSON");
    status["identity"]["id"]
        .as_str()
        .unwrap_or("none")
        .to_owned()
}

fn git(place: &Path, arguments: &[&str]) -> String {
    testkit::git::run(place, testkit::git::DATE, arguments)
}

#[test]
fn worktrees_clones_renames_and_moves_know_the_same() {
    let ws = harbour();
    let identity = id(&ws, ws.root());
    assert_ne!(identity, "none");
    knows(&ws, ws.root(), &identity);
    let beside = |name: &str| ws.root().with_file_name(name);
    // A worktree, also inside of the repository.
    for (branch, place) in [("one", beside("tree")), ("two", ws.path("trees/two"))] {
        ws.git(&[
            "worktree",
            "add",
            "--quiet",
            "-b",
            branch,
            &place.to_string_lossy(),
        ]);
        knows(&ws, &place, &identity);
    }
    // A clone, and one of a bare repository in between.
    let (bare, clone) = (beside("bare.git"), beside("clone"));
    ws.git(&["clone", "--quiet", "--bare", ".", &bare.to_string_lossy()]);
    git(
        &beside(""),
        &["clone", "--quiet", &bare.to_string_lossy(), "clone"],
    );
    knows(&ws, &clone, &identity);
    // Renamed, then moved to another folder, with an index from before.
    let renamed = beside("renamed");
    fs::rename(&clone, &renamed).expect("ours");
    knows(&ws, &renamed, &identity);
    fs::create_dir(beside("elsewhere")).expect("ours");
    let moved = beside("elsewhere/moved here");
    fs::rename(&renamed, &moved).expect("ours");
    knows(&ws, &moved, &identity);
    // Copied with everything that is derived.
    let copy = beside("copy");
    let copied = Command::new("cp")
        .args(["-a"])
        .arg(&moved)
        .arg(&copy)
        .status();
    assert!(copied.is_ok_and(|status| status.success()));
    knows(&ws, &copy, &identity);
    // What a copy forgets, the original keeps.
    quiet(
        at(&ws, &copy).args(["forget", "knowledge/tides.md", "--yes"]),
        "forget",
    )
    .ok();
    knows(&ws, &moved, &identity);
}

#[test]
#[cfg(unix)]
fn links_subfolders_and_names_of_the_same_folder_are_the_same_workspace() {
    let ws = harbour();
    let identity = id(&ws, ws.root());
    let link = ws.root().with_file_name("link");
    std::os::unix::fs::symlink(ws.root(), &link).expect("ours");
    std::os::unix::fs::symlink(ws.path("src/deep"), ws.home().join("deep")).expect("ours");
    let places: [PathBuf; 6] = [
        link.clone(),
        link.join("src/deep"),
        ws.path("src/deep/er"),
        ws.path("knowledge"),
        ws.path("src/../src/./deep"),
        ws.home().join("deep/er"),
    ];
    for place in places {
        knows(&ws, &place, &identity);
        // Written from there, it lands in the one memory.
        let title = format!("From {}", place.display());
        quiet(at(&ws, &place).args(["mind", "log", &title]), "mind log").ok();
        assert!(ws.read(".mind/SESSION-LOG.md").contains(&title), "{title}");
    }
    for stray in [
        "src/.mind",
        "src/deep/.mind",
        "src/deep/er/.mind",
        "knowledge/.mind",
        "src/.memory-forge",
        "src/deep/er/.memory-forge",
    ] {
        assert!(!ws.exists(stray), "{stray}");
    }
    // By name, from nowhere near, in every way there is to name it.
    for root in [ws.root().to_owned(), link, ws.path("src/..")] {
        let output = quiet(
            at(&ws, Path::new("/"))
                .args(["mind", "show", "--root"])
                .arg(&root),
            "mind show",
        );
        assert!(output.ok().contains("Build the pier"), "{output}");
        let mut command = at(&ws, Path::new("/"));
        command
            .env("MEMORY_FORGE_PROJECT_ROOT", &root)
            .args(["mind", "show"]);
        let output = quiet(&mut command, "mind show");
        assert!(output.ok().contains("Build the pier"), "{output}");
    }
}

/// A folder that is renamed under a running server: it goes on where the folder
/// is now, or says that it cannot; it never makes a second memory.
#[test]
#[cfg(target_os = "linux")]
fn a_rename_under_a_running_server_makes_no_second_memory() {
    let ws = harbour();
    let place = ws.root().with_file_name("before");
    git(
        &ws.home(),
        &[
            "clone",
            "--quiet",
            &ws.root().to_string_lossy(),
            &place.to_string_lossy(),
        ],
    );
    let own = ws.home().join("nothing");
    fs::create_dir(&own).expect("ours");
    let root = place.to_string_lossy().into_owned();
    let mut client = Client::legacy(&ws, &["--root", &root]);
    client.text("memory_status", json!({}));
    let after = ws.root().with_file_name("after");
    fs::rename(&place, &after).expect("ours");
    let saved = client.call(
        "memory_save_decision",
        json!({ "title": "Lost?", "decision": "No" }),
    );
    let told = text_of(&saved);
    if saved["isError"] == json!(false) {
        let decisions = fs::read_to_string(after.join(".mind/DECISIONS.md")).expect("there");
        assert!(decisions.contains("Lost?"), "{told}");
    }
    assert!(
        !place.exists(),
        "a second memory where the folder was: {told}"
    );
    client.end();
}

/// Two projects side by side, one inside of another, and a project inside of a
/// repository that is none: nobody reads or writes the other's memory.
#[test]
fn neighbours_are_not_mixed_up() {
    let ws = ws("
        //- one/knowledge/a.md
        # A

        Amber.
        //- two/knowledge/b.md
        # B

        Basalt.
        //- two/inner/knowledge/c.md
        # C

        Chalk.
        //- plain/src/x
        x
    ");
    for (place, own, others) in [
        ("one", "amber", ["basalt", "chalk"]),
        ("two", "basalt", ["amber", "chalk"]),
        ("two/inner", "chalk", ["amber", "basalt"]),
    ] {
        let place = ws.path(place);
        let found = |question: &str| {
            let line = ["search", "--mode", "text", "--json", question];
            let output = quiet(at(&ws, &place).args(line), question);
            let answer: Value = serde_json::from_str(&output.stdout).expect("JSON");
            answer["results"].as_array().map_or(0, Vec::len)
        };
        assert_eq!(found(own), 1, "{}", place.display());
        for other in others {
            assert_eq!(found(other), 0, "{} knows {other}", place.display());
        }
    }
    // Where nothing is, nothing is made: `--root` above does not reach down.
    let plain = ws.path("plain/src");
    quiet(at(&ws, &plain).args(["search", "amber"]), "search").fails(1);
    assert_eq!(fs::read_dir(&plain).expect("ours").count(), 1);
}
