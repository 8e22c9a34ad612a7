#![cfg(target_os = "linux")]

use std::collections::BTreeMap;
use std::fs;
use std::os::unix::fs::symlink;
use std::sync::atomic::{AtomicBool, AtomicUsize, Ordering};
use std::time::{Duration, Instant};

use jiff::Timestamp;

use super::super::Workspace;
use super::*;

/// Every file below a folder with its bytes, and every folder.
fn tree(root: &Path) -> BTreeMap<PathBuf, Option<Vec<u8>>> {
    let mut found = BTreeMap::new();
    let mut open = vec![root.to_owned()];
    while let Some(folder) = open.pop() {
        for entry in fs::read_dir(&folder).unwrap() {
            let path = entry.unwrap().path();
            if path.is_dir() {
                found.insert(path.clone(), None);
                open.push(path);
            } else {
                let bytes = fs::read(&path).unwrap();
                found.insert(path, Some(bytes));
            }
        }
    }
    found
}

#[test]
fn a_link_on_the_way_is_refused_and_named() {
    let dir = tempfile::tempdir().unwrap();
    fs::create_dir_all(dir.path().join("real/deep")).unwrap();
    symlink("real", dir.path().join("link")).unwrap();
    let open = |path: &str| HeldFile::open(dir.path(), &RelPath::new(path).unwrap());
    let held = open("real/deep/a.md").unwrap();
    fs::write(held.path(), "x").unwrap();
    assert_eq!(fs::read(dir.path().join("real/deep/a.md")).unwrap(), b"x");
    assert!(matches!(
        open("link/deep/a.md"),
        Err(WorkspaceError::Symlink { .. })
    ));
    assert!(matches!(
        open("real/deep/a.md/b.md"),
        Err(WorkspaceError::NotADirectory { .. })
    ));
    assert!(open("gone/a.md").is_err_and(|e| e.is_not_found()));
}

/// A checkout or an attacker puts a link in the place of a folder, again and
/// again, while files in it are written, removed, made and read.
#[test]
fn nothing_outside_changes_while_a_folder_becomes_a_link() {
    let dir = tempfile::tempdir().unwrap();
    let (root, outside) = (dir.path().join("ws"), dir.path().join("outside"));
    for folder in [
        "ws/knowledge/deep",
        "ws/.mind",
        "outside/deep",
        "outside/new",
    ] {
        fs::create_dir_all(dir.path().join(folder)).unwrap();
    }
    for name in [
        "a.md",
        "deep/b.md",
        "gone.md",
        "deep/gone.md",
        ".hook-failures",
        ".last",
    ] {
        fs::write(outside.join(name), "outside").unwrap();
    }
    fs::write(outside.join("secret.md"), "outside and secret").unwrap();
    let before = tree(&outside);
    let workspace = Workspace::open(&root).unwrap();
    let rel = |path: &str| RelPath::new(path).unwrap();
    let (stop, swaps) = (AtomicBool::new(false), AtomicUsize::new(0));
    let (mut done, mut refused) = (0, 0);
    std::thread::scope(|scope| {
        for folder in ["knowledge", ".mind"] {
            let (root, outside, stop, swaps) = (&root, &outside, &stop, &swaps);
            scope.spawn(move || {
                let (here, aside) = (root.join(folder), root.join(format!("{folder}-aside")));
                while !stop.load(Ordering::Relaxed) {
                    if fs::rename(&here, &aside).is_ok() {
                        let _ = symlink(outside, &here);
                        std::thread::yield_now();
                        let _ = fs::remove_file(&here);
                        // Somebody may have made the folder anew.
                        let _ = fs::remove_dir_all(&here);
                        let _ = fs::rename(&aside, &here);
                        swaps.fetch_add(1, Ordering::Relaxed);
                    }
                    std::thread::yield_now();
                }
            });
        }
        // Long enough that writers and swaps met; on a busy machine that takes
        // longer than on an idle one, so it is counted and not timed.
        let begun = Instant::now();
        for round in 0.. {
            let met = swaps.load(Ordering::Relaxed) > 50 && done > 0 && refused > 0;
            let long = Duration::from_secs(if met { 3 } else { 120 });
            if begun.elapsed() > long {
                break;
            }
            let changed = workspace.change("race", Timestamp::UNIX_EPOCH, |change| {
                change.write(&rel("knowledge/a.md"), format!("{round}"));
                change.write(&rel("knowledge/deep/b.md"), format!("{round}"));
                change.write(&rel(&format!("knowledge/new/{round}/c.md")), "c");
                change.remove(&rel("knowledge/gone.md"));
                change.remove(&rel("knowledge/deep/gone.md"));
                change.drop_folder_if_empty(&rel("knowledge/new"));
                Ok(())
            });
            let line = workspace.append_machine(&rel(".mind/.hook-failures"), "line", 10, 5);
            let kept = workspace.write_machine(&rel(".mind/.last"), b"kept");
            for ok in [changed.is_ok(), line.is_ok(), kept.is_ok()] {
                done += usize::from(ok);
                refused += usize::from(!ok);
            }
            for path in ["knowledge/secret.md", "knowledge/a.md"] {
                if let Ok(text) = workspace.read(&rel(path)) {
                    let text = String::from_utf8_lossy(&text).into_owned();
                    assert!(!text.contains("outside"), "{path} was read outside");
                }
            }
        }
        stop.store(true, Ordering::Relaxed);
    });
    assert_eq!(tree(&outside), before, "something outside was changed");
    assert!(swaps.into_inner() > 50, "the folders were hardly swapped");
    assert!(done > 0 && refused > 0, "{done} done, {refused} refused");
}
