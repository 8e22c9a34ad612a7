use super::*;

fn identity_of(file: &Path) -> FileIdentity {
    FileIdentity::of(file, &file.symlink_metadata().unwrap())
}

fn claim<'a>(root: &'a Path, file: &Path, content: &'a [u8]) -> TrustClaim<'a> {
    TrustClaim {
        root,
        purpose: "test",
        identity: identity_of(file),
        content,
    }
}

#[test]
fn a_mark_holds_for_the_same_file_and_content_alone() {
    let dir = tempfile::tempdir().unwrap();
    let file = dir.path().join("a");
    fs::write(&file, "x").unwrap();
    let mark = claim(dir.path(), &file, b"x").make_mark().unwrap();
    assert!(claim(dir.path(), &file, b"x").matches_mark(&mark));
    assert!(!claim(dir.path(), &file, b"y").matches_mark(&mark));
    let other = TrustClaim {
        purpose: "other",
        ..claim(dir.path(), &file, b"x")
    };
    assert!(!other.matches_mark(&mark));
    for broken in ["", "00", &mark[1..], &"0".repeat(64)] {
        assert!(
            !claim(dir.path(), &file, b"x").matches_mark(broken),
            "{broken}"
        );
    }
}

/// What a checkout and `cp` do: the name is the same, the file is another.
#[test]
#[cfg_attr(
    windows,
    ignore = "wine gives the number of a removed file out again; NTFS does not"
)]
fn a_file_that_was_replaced_or_copied_is_another() {
    let dir = tempfile::tempdir().unwrap();
    let (file, copy) = (dir.path().join("a"), dir.path().join("b"));
    fs::write(&file, "x").unwrap();
    let before = identity_of(&file);
    fs::copy(&file, &copy).unwrap();
    assert_ne!(identity_of(&copy), before);
    fs::remove_file(&file).unwrap();
    fs::write(&file, "x").unwrap();
    // The inode may be given out again; the time of birth is not.
    assert_ne!(identity_of(&file), before);
}

#[test]
fn a_renamed_or_edited_file_stays_itself() {
    let dir = tempfile::tempdir().unwrap();
    let (file, moved) = (dir.path().join("a"), dir.path().join("b"));
    fs::write(&file, "x").unwrap();
    let before = identity_of(&file);
    fs::write(&file, "more").unwrap();
    fs::rename(&file, &moved).unwrap();
    assert_eq!(identity_of(&moved), before);
}

#[test]
fn a_key_is_made_once_and_private() {
    let dir = tempfile::tempdir().unwrap();
    let folder = dir.path().join("state/memory-forge");
    assert!(read_key_file(&folder).is_none());
    let key = create_key(&folder).unwrap();
    assert_eq!(create_key(&folder).unwrap().0, key.0);
    assert_eq!(read_key_file(&folder).unwrap().0, key.0);
    assert_eq!(fs::read_dir(&folder).unwrap().count(), 1, "no leftovers");
    #[cfg(unix)]
    {
        use std::os::unix::fs::PermissionsExt;
        let mode = |path: &Path| path.metadata().unwrap().permissions().mode() & 0o777;
        assert_eq!(mode(&folder), 0o700);
        assert_eq!(mode(&folder.join(KEY_FILE)), 0o600);
    }
}

/// A key that others can read marks nothing, and is replaced.
#[cfg(unix)]
#[test]
fn a_key_that_others_can_read_is_replaced() {
    use std::os::unix::fs::PermissionsExt;
    let dir = tempfile::tempdir().unwrap();
    let folder = dir.path().join("memory-forge");
    let key = create_key(&folder).unwrap();
    let file = folder.join(KEY_FILE);
    fs::set_permissions(&file, fs::Permissions::from_mode(0o644)).unwrap();
    assert!(read_key_file(&folder).is_none());
    assert_ne!(create_key(&folder).unwrap().0, key.0);
}

#[test]
fn thousands_of_foreign_files_are_a_few_lines() {
    let many = (0..3_000).map(|n| format!("file {n}")).collect();
    let shown = shorten_notices(many);
    assert_eq!(shown[..3], ["file 0", "file 1", "file 2"]);
    assert!(
        shown.len() == 4 && shown[3].starts_with("2997 more"),
        "{shown:?}"
    );
    assert_eq!(shorten_notices(vec!["one".to_owned()]), ["one"]);
}

/// A home that is a repository could bring a key along.
#[test]
fn a_key_inside_of_the_workspace_is_not_used() {
    let dir = tempfile::tempdir().unwrap();
    let root = system::canonicalize(dir.path()).unwrap();
    let folder = KeyFolder {
        path: root.join(".local/state/memory-forge"),
        real: OnceLock::new(),
        key: OnceLock::new(),
    };
    assert!(folder.is_inside_workspace(&root));
    assert!(!folder.is_inside_workspace(&root.join("project")));
}
