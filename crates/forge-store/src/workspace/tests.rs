use std::fs;

use super::*;

fn workspace(files: &[(&str, &[u8])]) -> (tempfile::TempDir, Workspace) {
    let dir = tempfile::tempdir().unwrap();
    for (path, bytes) in files {
        let path = dir.path().join(path);
        fs::create_dir_all(path.parent().unwrap()).unwrap();
        fs::write(path, bytes).unwrap();
    }
    let workspace = Workspace::open(dir.path()).unwrap();
    (dir, workspace)
}

fn rel(path: &str) -> RelPath {
    RelPath::new(path).unwrap()
}

#[test]
fn opening_needs_a_folder_and_creates_nothing() {
    let (dir, workspace) = workspace(&[("file", b"")]);
    assert!(matches!(
        Workspace::open(&dir.path().join("file")),
        Err(WorkspaceError::NotADirectory { .. })
    ));
    assert!(
        Workspace::open(&dir.path().join("gone"))
            .unwrap_err()
            .is_not_found()
    );
    workspace.scan();
    assert_eq!(fs::read_dir(dir.path()).unwrap().count(), 1);
    assert_eq!(
        workspace.root(),
        crate::system::canonicalize(dir.path()).unwrap()
    );
}

#[test]
fn text_is_read_as_it_is() {
    let (_dir, workspace) = workspace(&[("a.md", "\u{feff}one\r\ntwo \r\n".as_bytes())]);
    assert_eq!(
        workspace.read_text(&rel("a.md")).unwrap(),
        "\u{feff}one\r\ntwo \r\n"
    );
    assert!(workspace.read(&rel("gone.md")).unwrap_err().is_not_found());
}

#[test]
fn a_file_that_is_not_utf8_is_named_with_its_line() {
    let (_dir, workspace) = workspace(&[("a.md", b"one\ntwo\nthr\xe9e\n")]);
    let error = workspace.read_text(&rel("a.md")).unwrap_err();
    assert!(
        matches!(error, WorkspaceError::NotUtf8 { line: 3, .. }),
        "{error}"
    );
}

#[test]
fn large_files_are_refused() {
    let big = vec![b'x'; 2049];
    let (_dir, workspace) = workspace(&[
        ("memory-forge.toml", b"[index]\nmax_file_bytes = 2048\n"),
        ("big.md", &big),
        ("fits.md", &big[..2048]),
    ]);
    let error = workspace.read(&rel("big.md")).unwrap_err();
    assert!(
        matches!(
            error,
            WorkspaceError::TooLarge {
                size: 2049,
                limit: 2048,
                ..
            }
        ),
        "{error}"
    );
    assert_eq!(workspace.read(&rel("fits.md")).unwrap().len(), 2048);
}

#[test]
fn only_files_are_read() {
    let (_dir, workspace) = workspace(&[("folder/x.md", b"")]);
    assert!(matches!(
        workspace.read(&rel("folder")),
        Err(WorkspaceError::NotAFile { .. })
    ));
}

#[cfg(unix)]
#[test]
fn symlinks_are_read_only_inside() {
    use std::os::unix::fs::symlink;
    let outside = tempfile::tempdir().unwrap();
    fs::write(outside.path().join("secret.md"), "secret").unwrap();
    let (dir, workspace) = workspace(&[("docs/a.md", b"inside"), (".git/config", b"[core]")]);
    let root = dir.path();
    symlink("docs/a.md", root.join("in.md")).unwrap();
    symlink("docs", root.join("indir")).unwrap();
    symlink(outside.path().join("secret.md"), root.join("out.md")).unwrap();
    symlink(outside.path(), root.join("outdir")).unwrap();
    symlink(".git/config", root.join("git.md")).unwrap();
    symlink("loop.md", root.join("loop.md")).unwrap();
    assert_eq!(workspace.read(&rel("in.md")).unwrap(), b"inside");
    assert_eq!(workspace.read(&rel("indir/a.md")).unwrap(), b"inside");
    for path in ["out.md", "outdir/secret.md", "git.md"] {
        assert!(
            matches!(
                workspace.read(&rel(path)),
                Err(WorkspaceError::Outside { .. })
            ),
            "{path}"
        );
    }
    assert!(workspace.read(&rel("loop.md")).is_err());
}

#[test]
fn the_index_lock_is_held_by_one() {
    let (_dir, workspace) = workspace(&[]);
    let held = workspace.lock_index(Duration::ZERO).unwrap();
    let refused = workspace.lock_index(Duration::ZERO).unwrap_err();
    assert!(matches!(refused, WorkspaceError::Locked { .. }));
    drop(held);
    workspace.lock_index(Duration::ZERO).unwrap();
}

#[test]
fn wrong_settings_do_not_keep_a_workspace_shut() {
    let (_dir, workspace) = workspace(&[("memory-forge.toml", b"[search]\nlimit = 0\n")]);
    assert_eq!(workspace.config().search.limit, 5);
    assert_eq!(workspace.problems().len(), 1);
}
