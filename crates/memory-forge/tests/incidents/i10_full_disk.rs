//! A full disk that eats memory, and caches that fill it: a real file system
//! without room, and a thousand edits after which nothing of ours has grown.

use std::fs;
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};

use testkit::TestWorkspace;

use crate::harness::{found, ws};

/// A mount that ends with the test.
pub(crate) struct Mount(PathBuf);

impl Mount {
    /// A small file system of its own, if this process may make one.
    fn small(folder: &Path, bytes: usize) -> Option<Mount> {
        let size = format!("size={bytes},mode=755");
        Mount::with(folder, &["-t", "tmpfs", "-o", &size, "tmpfs"])
    }

    /// The folder as it is, and nobody may write to it.
    pub(crate) fn read_only(folder: &Path) -> Option<Mount> {
        let name = folder.to_str()?;
        let mount = Mount::with(folder, &["--bind", name])?;
        let again = Command::new("mount")
            .args(["-o", "remount,bind,ro", name])
            .stderr(Stdio::null())
            .status();
        again.is_ok_and(|it| it.success()).then_some(mount)
    }

    fn with(folder: &Path, arguments: &[&str]) -> Option<Mount> {
        let status = Command::new("mount")
            .args(arguments)
            .arg(folder)
            .stderr(Stdio::null())
            .status();
        status
            .is_ok_and(|it| it.success())
            .then(|| Mount(folder.to_owned()))
    }
}

impl Drop for Mount {
    fn drop(&mut self) {
        let _ = Command::new("umount").arg("--lazy").arg(&self.0).status();
    }
}

const MEMORY: &str = "
    //- knowledge/office.md
    # Office

    The lease ends in 2027.
    //- CLAUDE.md
    # Shop
    //- .mind/STATE.md
    # Project State

    ## Next Action
    Nothing
    //- .mind/PROGRESS.md
    # Progress Tracker

    ### In Progress
    - [ ] Carry the ledger over
    //- .mind/DECISIONS.md
    # Decision Log
    //- .mind/SESSION-LOG.md
    # Session Log
";

const WRITES: [&[&str]; 9] = [
    &[
        "save",
        "context",
        "retry",
        "--content",
        "Retry three times, then park it.",
    ],
    &["forget", "knowledge/office.md", "--yes"],
    &["forget", "--fact", "The port is 8080", "--yes"],
    &["mind", "decide", "Queue", "--decision", "The database"],
    &["mind", "task", "add", "Sow"],
    &["mind", "log", "Dug"],
    &["mind", "set", "--next", "Dig"],
    &[
        "agent",
        "remember",
        "Cache",
        "--agent",
        "eng/builder",
        "--type",
        "project",
        "--content",
        "It expires hourly.",
    ],
    &["setup", "claude", "--yes"],
];

/// From no room at all to nearly enough: wherever it ends, a write tells it,
/// what was there is there to the byte, and room brings everything back.
#[test]
fn a_disk_without_room_loses_nothing() {
    let ws = ws("");
    let Some(_mount) = Mount::small(ws.root(), 1_500_000) else {
        return testkit::skip("this process may not mount a small file system");
    };
    ws.add(MEMORY);
    let (mut refused, mut written) = (0, 0);
    for room in [0, 4_096, 12_288, 20_480, 40_960, 81_920] {
        for write in WRITES {
            fs::remove_dir_all(ws.root().join(".memory-forge")).ok();
            let before = ws.tree_of_sources();
            fill(&ws, room);
            let full = ws.tree_of_sources();
            let output = ws.run(write);
            match output.status {
                Some(0) => written += 1,
                Some(1) => {
                    refused += 1;
                    assert!(
                        output.stderr.contains("No space left to write `")
                            && output.stderr.contains("free some space"),
                        "{write:?} with {room}: {output}"
                    );
                    assert_eq!(
                        ws.tree_of_sources(),
                        full,
                        "{write:?} with {room}: {output}"
                    );
                }
                _ => panic!("{write:?} with {room}: {output}"),
            }
            hooks_answer(&ws);
            ws.remove("filler");
            // With room again, the next write finds all in order.
            ws.run(&["mind", "checkpoint"]).ok();
            if output.status == Some(0) {
                ws.run(&["doctor", "--undo", "--yes"]).ok();
            }
            let after = without_machine(&ws.tree_of_sources());
            assert_eq!(after, without_machine(&before), "{write:?} with {room}");
            assert_eq!(found(&ws, "lease ends", &[])[0], "knowledge/office.md");
        }
    }
    assert!(
        refused > 20 && written > 5,
        "{refused} refused, {written} written"
    );
}

/// Whatever room there is, a hook says something and succeeds.
fn hooks_answer(ws: &TestWorkspace) {
    for event in ["SessionStart", "Stop", "PreCompact", "SessionEnd"] {
        let input = format!("{{\"hook_event_name\":\"{event}\",\"session_id\":\"s\"}}");
        let output = ws.feed(input, &[], &["hook"]);
        let answer: Result<serde_json::Value, _> = serde_json::from_str(output.ok());
        assert!(answer.is_ok_and(|it| it.is_object()), "{event}: {output}");
    }
}

/// Takes all room but so much.
fn fill(ws: &TestWorkspace, room: usize) {
    let path = ws.path("filler");
    let mut bytes = 2_000_000;
    while bytes > 0 {
        if fs::write(&path, vec![0u8; bytes]).is_ok() {
            break;
        }
        bytes -= 4096;
    }
    let file = fs::File::options().write(true).open(&path).expect("ours");
    file.set_len((bytes.saturating_sub(room)) as u64)
        .expect("it shrinks");
}

fn without_machine(tree: &str) -> String {
    let kept = tree.lines().filter(|line| !line.starts_with(".mind/."));
    let kept = kept.filter(|line| !line.starts_with(".mind/checkpoints"));
    kept.map(|line| format!("{line}\n")).collect()
}

/// A thousand edits and as many events: the cache, its journal and the logs
/// stay as small as after a hundred.
#[test]
fn a_thousand_edits_do_not_make_the_cache_grow() {
    let ws = ws(MEMORY);
    let quick = quick();
    let mut sizes = Vec::new();
    for edit in 1..=1_000 {
        let next = format!("Step {edit} of the long way to the harvest");
        ws.feed("", &quick, &["mind", "set", "--next", &next]).ok();
        if edit % 4 == 0 {
            let text = format!("# Office\n\nThe lease ends in {edit}. Word w{edit}.\n");
            ws.write("knowledge/office.md", text);
            let event = format!(
                "{{\"hook_event_name\":\"SubagentStop\",\"session_id\":\"s{edit}\",\"agent_type\":\"reviewer\",\"agent_id\":\"a{edit}\"}}"
            );
            ws.feed(event, &quick, &["hook"]).ok();
            let input =
                format!("{{\"hook_event_name\":\"PreCompact\",\"session_id\":\"s{edit}\"}}");
            ws.feed(input, &quick, &["hook"]).ok();
        }
        if edit % 20 == 0 {
            let word = format!("w{edit}");
            let paths = ws.feed("", &quick, &["search", "--mode", "text", "--", &word]);
            assert!(paths.ok().contains("knowledge/office.md"), "{paths}");
        }
        if edit % 100 == 0 {
            sizes.push(size(&ws.path(".memory-forge")));
        }
    }
    // The index's log is moved into the file when it has 512 pages, and then
    // written over: that is the most there is.
    let (late, last) = (sizes[sizes.len() - 3], sizes[sizes.len() - 1]);
    assert!(last < late + late / 20 && last < 6_000_000, "{sizes:?}");
    let undo = fs::read_dir(ws.path(".memory-forge/undo")).expect("a journal");
    assert!(undo.count() <= 50);
    let checkpoints = fs::read_dir(ws.path(".mind/checkpoints")).expect("checkpoints");
    assert!(checkpoints.count() <= 10);
    assert!(size(&ws.path(".mind")) < 200_000, "{}", ws.tree());
}

/// Spares a test the waiting for the disk.
fn quick() -> Vec<(&'static str, &'static str)> {
    if cfg!(debug_assertions) {
        vec![("MEMORY_FORGE_FAULT", "stop:1000000000")]
    } else {
        Vec::new()
    }
}

fn size(folder: &Path) -> u64 {
    let entries = fs::read_dir(folder).expect("it is there");
    let of = |path: PathBuf| {
        if path.is_dir() {
            size(&path)
        } else {
            path.metadata().map_or(0, |it| it.len())
        }
    };
    entries.map(|entry| of(entry.expect("listed").path())).sum()
}
