use super::super::disk::{FaultKind, WorkspaceDisk, is_temp_name};
use super::*;
use forge_text::diagnostic::Diagnostic;
use jiff::Timestamp;
use std::collections::BTreeMap;

/// What people see of a workspace: every file that is not derived with its
/// text, and every folder.
type Tree = BTreeMap<String, Option<String>>;

fn tree(root: &Path) -> Tree {
    fn walk(dir: &Path, root: &Path, tree: &mut Tree) {
        for entry in fs::read_dir(dir).unwrap() {
            let path = entry.unwrap().path();
            let name = path
                .strip_prefix(root)
                .unwrap()
                .to_str()
                .unwrap()
                .to_string();
            if name == DERIVED_FOLDER {
                continue;
            }
            if path.is_dir() {
                tree.insert(name, None);
                walk(&path, root, tree);
            } else {
                tree.insert(name, Some(fs::read_to_string(&path).unwrap()));
            }
        }
    }
    let mut found = Tree::new();
    walk(root, root, &mut found);
    found
}

fn temps(dir: &Path) -> Vec<PathBuf> {
    let mut found = Vec::new();
    for entry in fs::read_dir(dir).unwrap() {
        let entry = entry.unwrap();
        if entry.path().is_dir() {
            found.extend(temps(&entry.path()));
        } else if is_temp_name(&entry.file_name()) {
            found.push(entry.path());
        }
    }
    found
}

fn rel(path: &str) -> RelPath {
    RelPath::new(path).unwrap()
}

fn now() -> Timestamp {
    Timestamp::UNIX_EPOCH
}

/// A workspace with two files, whose disk skips the syncs.
fn workspace() -> (tempfile::TempDir, Workspace) {
    let dir = tempfile::tempdir().unwrap();
    fs::create_dir(dir.path().join("knowledge")).unwrap();
    fs::write(dir.path().join("knowledge/a.md"), "old a\n").unwrap();
    fs::write(dir.path().join("knowledge/b.md"), "old b\n").unwrap();
    let workspace = open(dir.path(), WorkspaceDisk::quick());
    (dir, workspace)
}

fn open(root: &Path, disk: WorkspaceDisk) -> Workspace {
    let mut workspace = Workspace::open(root).unwrap();
    workspace.disk = disk;
    workspace
}

/// One of each: a file changed, one removed, one created in new folders.
fn edit(workspace: &Workspace) -> Result<ChangeReceipt, WorkspaceError> {
    workspace.change_within(Duration::ZERO, "Edit everything", now(), |change| {
        let text = change.read_text(&rel("knowledge/a.md"))?.unwrap();
        change.write(&rel("knowledge/a.md"), text.replace("old", "new"));
        change.remove(&rel("knowledge/b.md"));
        change.create(&rel("knowledge/x/y/c.md"), "new c\n")
    })
}

fn text(workspace: &Workspace, path: &str) -> String {
    workspace.read_text(&rel(path)).unwrap()
}

#[test]
fn a_change_does_what_it_staged() {
    let (dir, workspace) = workspace();
    let receipt = edit(&workspace).unwrap();
    assert_eq!(receipt.id.as_deref(), Some("0001"));
    let files: Vec<&str> = receipt.files.iter().map(RelPath::as_str).collect();
    assert_eq!(
        files,
        ["knowledge/a.md", "knowledge/b.md", "knowledge/x/y/c.md"]
    );
    assert_eq!(text(&workspace, "knowledge/a.md"), "new a\n");
    assert_eq!(text(&workspace, "knowledge/x/y/c.md"), "new c\n");
    assert!(!dir.path().join("knowledge/b.md").exists());
    assert_eq!(
        fs::read_to_string(dir.path().join(".memory-forge/.gitignore")).unwrap(),
        "*\n"
    );
}

#[test]
fn a_change_on_a_disk_that_syncs() {
    let (dir, _) = workspace();
    let before = tree(dir.path());
    let workspace = Workspace::open(dir.path()).unwrap();
    edit(&workspace).unwrap();
    assert_eq!(text(&workspace, "knowledge/a.md"), "new a\n");
    workspace.write_derived("x.json", b"{}").unwrap();
    workspace.undo(None, now()).unwrap();
    assert_eq!(tree(dir.path()), before);
}

#[test]
fn a_change_reads_what_it_staged() {
    let (_dir, workspace) = workspace();
    let path = rel("knowledge/a.md");
    let change = workspace.change("Try", now(), |change| {
        assert_eq!(change.read_text(&path)?.as_deref(), Some("old a\n"));
        change.write(&path, "one");
        assert_eq!(change.read_text(&path)?.as_deref(), Some("one"));
        assert!(matches!(
            change.create(&path, "x"),
            Err(WorkspaceError::Exists { .. })
        ));
        change.remove(&path);
        assert_eq!(change.read(&path)?, None);
        change.create(&path, "two")?;
        assert_eq!(change.read(&rel("knowledge/none.md"))?, None);
        Ok(())
    });
    assert_eq!(change.unwrap().files, [path]);
    assert_eq!(text(&workspace, "knowledge/a.md"), "two");
}

#[test]
fn unchanged_bytes_are_not_written_and_not_journaled() {
    let (dir, workspace) = workspace();
    let before = fs::metadata(dir.path().join("knowledge/a.md"))
        .unwrap()
        .modified()
        .unwrap();
    let receipt = workspace.change("Nothing", now(), |change| {
        change.write(&rel("knowledge/a.md"), "old a\n");
        change.remove(&rel("knowledge/none.md"));
        Ok(())
    });
    assert_eq!(
        receipt.unwrap(),
        ChangeReceipt {
            id: None,
            files: Vec::new(),
            changes: Vec::new()
        }
    );
    assert_eq!(workspace.history().unwrap(), []);
    let after = fs::metadata(dir.path().join("knowledge/a.md"))
        .unwrap()
        .modified()
        .unwrap();
    assert_eq!(before, after);
}

#[test]
fn a_change_that_is_given_up_leaves_nothing() {
    let (dir, workspace) = workspace();
    let before = tree(dir.path());
    let refused = workspace.change("Give up", now(), |change| {
        change.write(&rel("knowledge/a.md"), "x");
        Err(WorkspaceError::Refused("No".to_string()))
    });
    assert_eq!(refused.unwrap_err().to_string(), "No");
    assert_eq!(tree(dir.path()), before);
}

/// Whether the state is the one before, after, or an error in between.
fn whole(root: &Path, before: &Tree, after: &Tree, context: &str) -> bool {
    let now = tree(root);
    assert!(
        now == *before || now == *after,
        "{context}: in between: {now:#?}"
    );
    now == *after
}

/// How many steps an edit takes on a fresh workspace.
fn steps(run: impl Fn(&Workspace)) -> (usize, Tree, Tree) {
    let (dir, workspace) = workspace();
    let before = tree(dir.path());
    run(&workspace);
    (workspace.disk.steps(), before, tree(dir.path()))
}

#[test]
fn a_crash_at_any_step_leaves_all_or_nothing() {
    let (steps, before, after) = steps(|w| drop(edit(w).unwrap()));
    assert!(steps > 25, "every operation counts as a step, got {steps}");
    let mut finished = 0;
    for k in 0..=steps {
        let (dir, _) = workspace();
        let done = edit(&open(
            dir.path(),
            WorkspaceDisk::breaking(k, FaultKind::Crash),
        ))
        .is_ok();
        // The next writer, whatever it wants, puts things right first.
        let reopened = open(dir.path(), WorkspaceDisk::quick());
        reopened.change("Nothing", now(), |_| Ok(())).unwrap();
        let context = format!("crash at step {k}");
        let is_after = whole(dir.path(), &before, &after, &context);
        assert!(
            is_after || !done,
            "{context}: a change that was reported is lost"
        );
        finished += usize::from(is_after);
        assert_eq!(temps(dir.path()), Vec::<PathBuf>::new(), "{context}");
        // Undo works from either state.
        match reopened.undo(None, now()) {
            Ok(_) => assert!(is_after, "{context}"),
            Err(error) => assert!(
                !is_after && matches!(error, WorkspaceError::NothingToUndo),
                "{context}: {error}"
            ),
        }
        assert_eq!(tree(dir.path()), before, "{context}");
        // And so does the change itself.
        edit(&reopened).unwrap();
        assert_eq!(tree(dir.path()), after, "{context}");
    }
    assert!(finished >= 1 && finished < steps / 2);
}

#[test]
fn a_crash_while_recovering_from_a_crash() {
    let (steps, before, after) = steps(|w| drop(edit(w).unwrap()));
    for k in 0..steps {
        for j in 0.. {
            let (dir, _) = workspace();
            let _ = edit(&open(
                dir.path(),
                WorkspaceDisk::breaking(k, FaultKind::Crash),
            ));
            // Only then is there something to recover from.
            if !dir
                .path()
                .join(".memory-forge/undo/0001.pending/entry.json")
                .exists()
            {
                break;
            }
            let second = open(dir.path(), WorkspaceDisk::breaking(j, FaultKind::Crash));
            let recovered = second.change("Nothing", now(), |_| Ok(())).is_ok();
            open(dir.path(), WorkspaceDisk::quick())
                .change("Nothing", now(), |_| Ok(()))
                .unwrap();
            let context = format!("crash at step {k}, then at step {j}");
            whole(dir.path(), &before, &after, &context);
            assert_eq!(temps(dir.path()), Vec::<PathBuf>::new(), "{context}");
            if recovered {
                break;
            }
        }
    }
}

#[test]
fn a_crash_at_any_step_of_an_undo() {
    let run = |w: &Workspace| drop(w.undo(None, now()).unwrap());
    let (all, after_undo, _) = steps(|w| {
        edit(w).unwrap();
        run(w);
    });
    for k in 0..all {
        let (dir, quick) = workspace();
        edit(&quick).unwrap();
        let edited = tree(dir.path());
        let broken = open(dir.path(), WorkspaceDisk::breaking(k, FaultKind::Crash));
        let done = broken.undo(None, now()).is_ok();
        quick.change("Nothing", now(), |_| Ok(())).unwrap();
        let context = format!("crash at step {k}");
        let undone = whole(dir.path(), &edited, &after_undo, &context);
        assert!(undone || !done, "{context}");
        assert_eq!(temps(dir.path()), Vec::<PathBuf>::new(), "{context}");
        if !undone {
            quick.undo(None, now()).unwrap();
        }
        assert_eq!(tree(dir.path()), after_undo, "{context}");
    }
}

#[test]
fn an_error_at_any_step_is_told_and_leaves_nothing_behind() {
    let (steps, before, after) = steps(|w| drop(edit(w).unwrap()));
    let kinds = [
        FaultKind::Once(io::ErrorKind::StorageFull),
        FaultKind::Once(io::ErrorKind::PermissionDenied),
        FaultKind::Full,
    ];
    for kind in kinds {
        for k in 0..steps {
            let (dir, _) = workspace();
            let broken = open(dir.path(), WorkspaceDisk::breaking(k, kind));
            let context = format!("{kind:?} at step {k}");
            match edit(&broken) {
                Ok(_) => assert_eq!(tree(dir.path()), after, "{context}"),
                Err(error) => {
                    let clear = matches!(
                        error,
                        WorkspaceError::Full { .. }
                            | WorkspaceError::ReadOnly { .. }
                            | WorkspaceError::Io { .. }
                    );
                    assert!(clear, "{context}: {error}");
                    // The files are right without waiting for the next writer,
                    // unless the disk stayed full and a file had to grow back.
                    if matches!(kind, FaultKind::Once(_)) {
                        assert_eq!(tree(dir.path()), before, "{context}");
                        assert_eq!(temps(dir.path()), Vec::<PathBuf>::new(), "{context}");
                    }
                    let reopened = open(dir.path(), WorkspaceDisk::quick());
                    reopened.change("Nothing", now(), |_| Ok(())).unwrap();
                    assert_eq!(tree(dir.path()), before, "{context}");
                    assert_eq!(temps(dir.path()), Vec::<PathBuf>::new(), "{context}");
                }
            }
        }
    }
}

#[test]
fn errors_say_what_to_do() {
    let (dir, _) = workspace();
    let full = open(dir.path(), WorkspaceDisk::breaking(3, FaultKind::Full));
    let message = edit(&full).unwrap_err().describe();
    assert!(message.starts_with("No space left to write `"), "{message}");
    assert!(
        message.ends_with("free some space and try again"),
        "{message}"
    );
    let read_only = FaultKind::Once(io::ErrorKind::ReadOnlyFilesystem);
    let message = edit(&open(dir.path(), WorkspaceDisk::breaking(0, read_only)))
        .unwrap_err()
        .describe();
    assert!(
        message.ends_with("make it writable and try again"),
        "{message}"
    );
}

#[test]
fn an_edit_after_a_crash_is_kept_together_with_the_bytes_before() {
    let (dir, workspace) = workspace();
    let (all, ..) = steps(|w| drop(edit(w).unwrap()));
    // The latest crash that still leaves the entry pending.
    let mut pending = None;
    for k in (0..all).rev() {
        let (dir, _) = self::workspace();
        let _ = edit(&open(
            dir.path(),
            WorkspaceDisk::breaking(k, FaultKind::Crash),
        ));
        if dir
            .path()
            .join(".memory-forge/undo/0001.pending/entry.json")
            .exists()
        {
            pending = Some(k);
            break;
        }
    }
    let _ = edit(&open(
        dir.path(),
        WorkspaceDisk::breaking(pending.unwrap(), FaultKind::Crash),
    ));
    fs::write(dir.path().join("knowledge/a.md"), "by hand\n").unwrap();
    workspace.change("Nothing", now(), |_| Ok(())).unwrap();
    assert_eq!(text(&workspace, "knowledge/a.md"), "by hand\n");
    assert_eq!(text(&workspace, "knowledge/b.md"), "old b\n");
    assert!(!dir.path().join("knowledge/x").exists());
    let history = workspace.history().unwrap();
    assert!(history[0].interrupted);
    let kept = dir
        .path()
        .join(".memory-forge/undo/0001.interrupted/0.before");
    assert_eq!(fs::read_to_string(kept).unwrap(), "old a\n");
    assert!(matches!(
        workspace.undo(None, now()),
        Err(WorkspaceError::NothingToUndo)
    ));
    assert!(matches!(
        workspace.undo(Some("1"), now()),
        Err(WorkspaceError::ChangedSince { .. })
    ));
}

#[test]
fn an_edit_by_somebody_else_meanwhile_is_not_overwritten() {
    let (dir, workspace) = workspace();
    let change = workspace.change("Race", now(), |change| {
        change.remove(&rel("knowledge/b.md"));
        change.read(&rel("knowledge/a.md"))?;
        change.write(&rel("knowledge/a.md"), "ours");
        change.create(&rel("knowledge/c.md"), "ours")?;
        // An editor saves while this runs; it knows nothing of our lock.
        fs::write(dir.path().join("knowledge/c.md"), "theirs").unwrap();
        Ok(())
    });
    assert!(
        matches!(change, Err(WorkspaceError::ChangedSince { path }) if path.ends_with("knowledge/c.md"))
    );
    assert_eq!(text(&workspace, "knowledge/a.md"), "old a\n");
    assert_eq!(text(&workspace, "knowledge/b.md"), "old b\n");
    assert_eq!(text(&workspace, "knowledge/c.md"), "theirs");
    assert_eq!(workspace.history().unwrap(), []);
    assert_eq!(temps(dir.path()), Vec::<PathBuf>::new());
}

#[test]
fn many_writers_lose_nothing() {
    let (dir, _) = workspace();
    let path = rel("knowledge/log.md");
    std::thread::scope(|scope| {
        for writer in 0..8 {
            let (root, path) = (dir.path(), &path);
            scope.spawn(move || {
                let workspace = open(root, WorkspaceDisk::quick());
                for n in 0..25 {
                    let wait = Duration::from_secs(600);
                    let append = workspace.change_within(wait, "Append", now(), |change| {
                        let mut text = change.read_text(path)?.unwrap_or_default();
                        text.push_str(&format!("- {writer} {n}\n"));
                        change.write(path, text);
                        Ok(())
                    });
                    append.unwrap();
                }
            });
        }
    });
    let workspace = open(dir.path(), WorkspaceDisk::quick());
    let mut lines: Vec<String> = text(&workspace, "knowledge/log.md")
        .lines()
        .map(str::to_string)
        .collect();
    assert_eq!(lines.len(), 200);
    lines.sort();
    lines.dedup();
    assert_eq!(lines.len(), 200);
    assert_eq!(
        workspace.history().unwrap().len(),
        50,
        "older entries are dropped"
    );
}

#[test]
fn without_the_lock_nothing_is_written() {
    let (dir, workspace) = workspace();
    let before = tree(dir.path());
    let inner = workspace.change("Outer", now(), |_| {
        let refused = edit(&open(dir.path(), WorkspaceDisk::quick())).unwrap_err();
        assert!(
            matches!(refused, WorkspaceError::Locked { .. }),
            "{refused}"
        );
        Ok(())
    });
    inner.unwrap();
    assert_eq!(tree(dir.path()), before);
}

fn refused(workspace: &Workspace, path: &str) -> String {
    let write = workspace.change("Try", now(), |change| {
        change.write(&rel(path), "x");
        Ok(())
    });
    let error = write.expect_err(path).to_string();
    let error = error.replace(workspace.root().to_str().unwrap(), "…");
    // A path of the system has its separators.
    error.replace('\\', "/")
}

#[test]
fn what_may_not_be_written() {
    let (dir, workspace) = workspace();
    fs::create_dir(dir.path().join("knowledge/folder.md")).unwrap();
    assert!(
        refused(&workspace, "knowledge/folder.md")
            .starts_with("`…/knowledge/folder.md` is not a regular file")
    );
    assert!(
        refused(&workspace, "knowledge/a.md/b.md")
            .starts_with("`…/knowledge/a.md` is not a folder")
    );
    assert!(
        refused(&workspace, ".memory-forge/x.md")
            .starts_with("`…/.memory-forge/x.md` belongs to Memory Forge")
    );
    let path = dir.path().join("knowledge/a.md");
    let mut permissions = fs::metadata(&path).unwrap().permissions();
    permissions.set_readonly(true);
    fs::set_permissions(&path, permissions).unwrap();
    assert!(
        refused(&workspace, "knowledge/a.md").starts_with("`…/knowledge/a.md` may not be written")
    );
}

#[cfg(unix)]
#[test]
fn nothing_is_written_through_a_symlink() {
    use std::os::unix::fs::symlink;
    let (dir, workspace) = workspace();
    let outside = tempfile::tempdir().unwrap();
    fs::write(outside.path().join("x.md"), "outside").unwrap();
    let root = dir.path();
    symlink(outside.path().join("x.md"), root.join("knowledge/out.md")).unwrap();
    symlink(outside.path(), root.join("knowledge/outdir")).unwrap();
    symlink(root.join("knowledge/a.md"), root.join("knowledge/in.md")).unwrap();
    symlink("nowhere.md", root.join("knowledge/dangling.md")).unwrap();
    for (path, link) in [
        ("knowledge/out.md", "knowledge/out.md"),
        ("knowledge/outdir/x.md", "knowledge/outdir"),
        ("knowledge/outdir/new/y.md", "knowledge/outdir"),
        ("knowledge/in.md", "knowledge/in.md"),
        ("knowledge/dangling.md", "knowledge/dangling.md"),
    ] {
        let message = refused(&workspace, path);
        assert!(
            message.starts_with(&format!("`…/{link}` is a symlink")),
            "{message}"
        );
    }
    let create = workspace.change("Try", now(), |c| {
        c.create(&rel("knowledge/dangling.md"), "x")
    });
    assert!(matches!(create, Err(WorkspaceError::Exists { .. })));
    assert_eq!(
        fs::read_to_string(outside.path().join("x.md")).unwrap(),
        "outside"
    );
    assert_eq!(fs::read_dir(outside.path()).unwrap().count(), 1);
}

#[cfg(unix)]
#[test]
fn a_symlinked_derived_folder_is_refused() {
    let (dir, workspace) = workspace();
    let outside = tempfile::tempdir().unwrap();
    std::os::unix::fs::symlink(outside.path(), dir.path().join(DERIVED_FOLDER)).unwrap();
    assert!(matches!(
        edit(&workspace),
        Err(WorkspaceError::Symlink { .. })
    ));
    assert!(matches!(
        workspace.write_derived("x", b""),
        Err(WorkspaceError::Symlink { .. })
    ));
    assert_eq!(fs::read_dir(outside.path()).unwrap().count(), 0);
}

#[cfg(unix)]
#[test]
fn the_mode_of_a_file_is_kept() {
    use std::os::unix::fs::PermissionsExt;
    let (dir, workspace) = workspace();
    let mode = |name: &str| {
        fs::metadata(dir.path().join(name))
            .unwrap()
            .permissions()
            .mode()
            & 0o7777
    };
    let set = |name: &str, mode| {
        fs::set_permissions(dir.path().join(name), fs::Permissions::from_mode(mode)).unwrap();
    };
    set("knowledge/a.md", 0o755);
    set("knowledge/b.md", 0o600);
    // What the system gives to a new file here, whatever the umask is.
    fs::write(dir.path().join("plain"), "").unwrap();
    edit(&workspace).unwrap();
    assert_eq!(mode("knowledge/a.md"), 0o755);
    assert_eq!(mode("knowledge/x/y/c.md"), mode("plain"));
    workspace.undo(None, now()).unwrap();
    assert_eq!(mode("knowledge/a.md"), 0o755);
    assert_eq!(
        mode("knowledge/b.md"),
        0o600,
        "a removed file comes back as it was"
    );
}

#[test]
fn what_a_derived_write_left_goes_with_the_next_change() {
    let (dir, workspace) = workspace();
    workspace.write_derived("manifest.json", b"{}").unwrap();
    let left = dir
        .path()
        .join(DERIVED_FOLDER)
        .join(".memory-forge-Ab12Cd.tmp");
    fs::write(&left, "{").unwrap();
    let note = |text: &str| {
        workspace.change("Note", now(), |change| {
            change.write(&rel("knowledge/a.md"), text);
            Ok(())
        })
    };
    // Not while somebody may be writing it.
    let lock = workspace.lock_derived().unwrap();
    note("one\n").unwrap();
    assert!(left.exists());
    drop(lock);
    note("two\n").unwrap();
    assert!(!left.exists());
}

#[test]
fn derived_files_are_written_whole() {
    let (dir, workspace) = workspace();
    workspace.write_derived("manifest.json", b"{}").unwrap();
    workspace
        .write_derived("manifest.json", b"{\"files\":{}}")
        .unwrap();
    workspace.write_derived("usage/2026.json", b"[]").unwrap();
    let read = |name: &str| fs::read_to_string(dir.path().join(DERIVED_FOLDER).join(name)).unwrap();
    assert_eq!(read("manifest.json"), "{\"files\":{}}");
    assert_eq!(read("usage/2026.json"), "[]");
    assert_eq!(read(".gitignore"), "*\n");
    for name in ["../x", "/x", "", "undo/0001/entry.json", "write.lock"] {
        assert!(workspace.write_derived(name, b"").is_err(), "{name}");
    }
    assert_eq!(workspace.history().unwrap(), []);
}

#[test]
fn a_crash_at_any_step_of_a_derived_write() {
    let (steps, ..) = steps(|w| {
        w.write_derived("x.json", b"old").unwrap();
        w.write_derived("x.json", b"newer").unwrap();
    });
    for k in 0..steps {
        let (dir, quick) = workspace();
        let broken = open(dir.path(), WorkspaceDisk::breaking(k, FaultKind::Crash));
        let _ = broken.write_derived("x.json", b"old");
        let _ = broken.write_derived("x.json", b"newer");
        let text =
            fs::read_to_string(dir.path().join(DERIVED_FOLDER).join("x.json")).unwrap_or_default();
        assert!(
            ["", "old", "newer"].contains(&text.as_str()),
            "crash at step {k}: {text}"
        );
        quick.write_derived("y.json", b"").unwrap();
        assert_eq!(
            temps(dir.path()),
            Vec::<PathBuf>::new(),
            "crash at step {k}"
        );
    }
}

/// What hooks keep: one file of each way to write it.
fn keep(workspace: &Workspace) -> Result<(), WorkspaceError> {
    workspace.write_machine_unsynced(&rel(".mind/.last-activity"), b"new\n")?;
    workspace.append_machine(&rel(".mind/.agent-activity"), "new", 1, 1)?;
    workspace.write_machine(&rel(".mind/checkpoints/latest.md"), b"new\n")
}

#[test]
fn a_crash_at_any_step_of_what_hooks_keep_is_cleared_away_by_the_next() {
    let (steps, mut left) = {
        let (_dir, workspace) = workspace();
        keep(&workspace).unwrap();
        keep(&workspace).unwrap();
        (workspace.disk.steps(), 0)
    };
    for step in 0..steps {
        let (dir, _) = workspace();
        let crashing = open(dir.path(), WorkspaceDisk::breaking(step, FaultKind::Crash));
        let _ = keep(&crashing).and_then(|()| keep(&crashing));
        left += temps(dir.path()).len();
        let next = open(dir.path(), WorkspaceDisk::quick());
        next.write_machine_unsynced(&rel(".mind/.last-activity"), b"next\n")
            .unwrap();
        assert_eq!(temps(dir.path()), Vec::<PathBuf>::new(), "step {step}");
        assert_eq!(text(&next, ".mind/.last-activity"), "next\n");
    }
    assert!(left > 5, "the crashes left {left} files to clear away");
}

/// A hook and a change write in the same folder under two locks.
#[test]
fn nobody_sweeps_up_what_another_is_writing() {
    let (dir, workspace) = workspace();
    let mind = dir.path().join(".mind");
    fs::create_dir(&mind).unwrap();
    let of_a_change = mind.join(".memory-forge-Ab12Cd.tmp");
    let of_a_hook = mind.join(".memory-forge-machine-Ab12Cd.tmp");
    fs::write(&of_a_change, "").unwrap();
    keep(&workspace).unwrap();
    assert!(of_a_change.exists());
    let touch = |workspace: &Workspace| {
        workspace.change(
            "Set the state",
            now(),
            |change: &mut WorkspaceChange<'_>| -> Result<(), WorkspaceError> {
                change.write(&rel(".mind/STATE.md"), "new\n");
                Ok(())
            },
        )
    };
    // The last step before the end leaves an entry that is rolled back.
    let counted = open(dir.path(), WorkspaceDisk::quick());
    touch(&counted).unwrap();
    fs::remove_file(mind.join("STATE.md")).unwrap();
    let crashing = open(
        dir.path(),
        WorkspaceDisk::breaking(counted.disk.steps() - 3, FaultKind::Crash),
    );
    touch(&crashing).unwrap_err();
    fs::write(&of_a_hook, "").unwrap();
    touch(&workspace).unwrap();
    assert!(!of_a_change.exists(), "the roll-back sweeps up its own");
    assert!(of_a_hook.exists());
}
