use super::super::disk::FaultKind;
use super::*;

fn file(base: &Path, name: &str) -> OutsideFile {
    OutsideFile {
        base: base.to_owned(),
        path: base.join(name),
    }
}

fn change(base: &Path, name: &str, before: Option<&str>, after: Option<&str>) -> OutsideChange {
    OutsideChange {
        file: file(base, name),
        before: before.map(Into::into),
        after: after.map(Into::into),
        backup: BackupAction::Take,
    }
}

fn names(base: &Path) -> Vec<String> {
    let mut names: Vec<String> = fs::read_dir(base)
        .expect("it is there")
        .map(|entry| {
            entry
                .expect("listed")
                .file_name()
                .into_string()
                .expect("ASCII")
        })
        .collect();
    names.sort();
    names
}

fn temp() -> tempfile::TempDir {
    tempfile::tempdir().expect("a folder can be made")
}

#[test]
fn a_first_change_keeps_the_bytes_before_and_the_last_drops_them() {
    let dir = temp();
    fs::write(dir.path().join("a"), "old").expect("written");
    change_outside(&[change(dir.path(), "a", Some("old"), Some("new"))], &[]).expect("changed");
    assert_eq!(names(dir.path()), ["a", "a.memory-forge-backup"]);
    let a = file(dir.path(), "a");
    assert_eq!(a.read_backup().expect("read"), Some(b"old".to_vec()));

    let mut back = change(dir.path(), "a", Some("new"), Some("old"));
    back.backup = BackupAction::Drop;
    change_outside(&[back], &[]).expect("changed");
    assert_eq!(names(dir.path()), ["a"]);
    assert_eq!(a.read().expect("read"), Some(b"old".to_vec()));
}

#[test]
fn folders_are_made_and_dropped() {
    let dir = temp();
    let base = dir.path().join("home");
    let mut there = change(&base, "x/y/f", None, Some("1"));
    change_outside(std::slice::from_ref(&there), &[]).expect("changed");
    assert_eq!(names(&base.join("x/y")), ["f"]);
    there.before = there.after.take();
    there.backup = BackupAction::Drop;
    change_outside(&[there], &[file(&base, "x/y"), file(&base, "x")]).expect("changed");
    assert!(names(&base).is_empty());
}

#[test]
fn bytes_that_were_not_seen_are_not_overwritten() {
    let dir = temp();
    fs::write(dir.path().join("a"), "edited").expect("written");
    let result = change_outside(&[change(dir.path(), "a", Some("old"), Some("new"))], &[]);
    assert!(
        matches!(result, Err(WorkspaceError::ChangedSince { .. })),
        "{result:?}"
    );
    assert_eq!(names(dir.path()), ["a"]);
}

#[test]
#[cfg(unix)]
fn links_are_refused_wherever_they_are_below_the_base() {
    let dir = temp();
    let real = dir.path().join("real");
    fs::create_dir(&real).expect("made");
    fs::write(real.join("f"), "x").expect("written");
    let base = dir.path().join("base");
    fs::create_dir(&base).expect("made");
    std::os::unix::fs::symlink(&real, base.join("folder")).expect("linked");
    std::os::unix::fs::symlink(real.join("f"), base.join("f")).expect("linked");
    for name in ["f", "folder/f", "folder/new"] {
        let read = file(&base, name).read();
        assert!(
            matches!(read, Err(WorkspaceError::Symlink { .. })),
            "{name}: {read:?}"
        );
        let write = change_outside(&[change(&base, name, None, Some("y"))], &[]);
        assert!(
            matches!(write, Err(WorkspaceError::Symlink { .. })),
            "{name}: {write:?}"
        );
    }
    assert_eq!(fs::read_to_string(real.join("f")).expect("read"), "x");
}

#[test]
#[cfg(unix)]
fn the_copy_is_as_private_as_the_file() {
    use std::os::unix::fs::PermissionsExt;
    let dir = temp();
    let path = dir.path().join("a");
    fs::write(&path, "old").expect("written");
    fs::set_permissions(&path, fs::Permissions::from_mode(0o600)).expect("set");
    change_outside(&[change(dir.path(), "a", Some("old"), Some("new"))], &[]).expect("changed");
    for name in ["a", "a.memory-forge-backup"] {
        let mode = fs::metadata(dir.path().join(name))
            .expect("there")
            .permissions();
        assert_eq!(mode.mode() & 0o777, 0o600, "{name}");
    }
}

/// Wherever one step fails, both files are as before and nothing is left over.
#[test]
fn a_failure_half_way_takes_everything_back() {
    for step in 0..200 {
        let dir = temp();
        fs::write(dir.path().join("a"), "old").expect("written");
        let changes = [
            change(dir.path(), "a", Some("old"), Some("new")),
            change(dir.path(), "sub/b", None, Some("new")),
        ];
        let disk = WorkspaceDisk::breaking(step, FaultKind::Once(io::ErrorKind::Other));
        let result = change_outside_with(&disk, &changes, &[]);
        if result.is_ok() {
            assert!(step > 10, "it takes more steps than {step}");
            return;
        }
        assert_eq!(names(dir.path()), ["a"], "step {step}");
        let text = fs::read_to_string(dir.path().join("a")).expect("read");
        assert_eq!(text, "old", "step {step}");
    }
    panic!("it never came to its end");
}
