use super::super::disk::WorkspaceDisk;
use super::*;
use std::fs;

fn workspace() -> (tempfile::TempDir, Workspace) {
    let dir = tempfile::tempdir().unwrap();
    fs::write(dir.path().join("a.md"), "one\n").unwrap();
    let mut workspace = Workspace::open(dir.path()).unwrap();
    workspace.disk = WorkspaceDisk::quick();
    (dir, workspace)
}

fn at(second: i64) -> Timestamp {
    Timestamp::from_second(second).unwrap()
}

fn put(workspace: &Workspace, path: &str, text: &str) -> String {
    let path = RelPath::new(path).unwrap();
    let what = format!("Write {path}");
    let receipt = workspace.change(&what, at(60), |change| {
        change.write(&path, text);
        Ok(())
    });
    receipt.unwrap().id.unwrap()
}

fn get(dir: &tempfile::TempDir, path: &str) -> Option<String> {
    fs::read_to_string(dir.path().join(path)).ok()
}

#[test]
fn undo_restores_and_undoing_that_redoes() {
    let (dir, workspace) = workspace();
    put(&workspace, "a.md", "two\n");
    let undone = workspace.undo(None, at(120)).unwrap();
    assert_eq!(get(&dir, "a.md").unwrap(), "one\n");
    assert_eq!(
        (undone.undid.as_str(), undone.what.as_str()),
        ("0001", "Write a.md")
    );
    let redone = workspace.undo(undone.id.as_deref(), at(180)).unwrap();
    assert_eq!(get(&dir, "a.md").unwrap(), "two\n");
    // After the redo the change stands again and can be undone again.
    assert!(
        !workspace
            .history()
            .unwrap()
            .iter()
            .find(|e| e.id == "0001")
            .unwrap()
            .undone
    );
    workspace.undo(redone.id.as_deref(), at(240)).unwrap();
    assert_eq!(get(&dir, "a.md").unwrap(), "one\n");
}

#[test]
fn undo_without_an_id_goes_back_step_by_step() {
    let (dir, workspace) = workspace();
    put(&workspace, "a.md", "two\n");
    put(&workspace, "a.md", "three\n");
    workspace.undo(None, at(0)).unwrap();
    assert_eq!(get(&dir, "a.md").unwrap(), "two\n");
    workspace.undo(None, at(0)).unwrap();
    assert_eq!(get(&dir, "a.md").unwrap(), "one\n");
    assert!(matches!(
        workspace.undo(None, at(0)),
        Err(WorkspaceError::NothingToUndo)
    ));
}

/// A file that the program writes on its own.
fn derive(workspace: &Workspace, path: &str, text: &str) -> String {
    let path = RelPath::new(path).unwrap();
    let receipt = workspace.change("Derive", at(60), |change| {
        change.mark_automatic();
        change.write(&path, text);
        Ok(())
    });
    receipt.unwrap().id.unwrap()
}

/// "`doctor --undo` takes back the last thing that a person asked for; derived
/// lists come again by themselves."
#[test]
fn undo_without_an_id_passes_over_automatic_changes() {
    let (dir, workspace) = workspace();
    put(&workspace, "a.md", "two\n");
    derive(&workspace, "list.md", "- a\n");
    let undone = workspace.undo(None, at(120)).unwrap();
    assert_eq!(undone.undid, "0001");
    assert_eq!(get(&dir, "a.md").unwrap(), "one\n");
    assert_eq!(get(&dir, "list.md").unwrap(), "- a\n");
    // By its id it can be taken back like any other.
    workspace.undo(Some("2"), at(180)).unwrap();
    assert_eq!(get(&dir, "list.md"), None);
    let nothing = workspace.undo(None, at(240));
    assert!(
        matches!(nothing, Err(WorkspaceError::NothingToUndo)),
        "{nothing:?}"
    );
}

#[test]
fn automatic_changes_of_a_file_go_with_the_change_before_them() {
    let (dir, workspace) = workspace();
    put(&workspace, "a.md", "two\n");
    derive(&workspace, "a.md", "two\n- listed\n");
    derive(&workspace, "a.md", "two\n- listed\n- more\n");
    workspace.undo(None, at(120)).unwrap();
    assert_eq!(get(&dir, "a.md").unwrap(), "one\n");
    // An edit by hand is never part of that.
    put(&workspace, "a.md", "two\n");
    derive(&workspace, "a.md", "two\n- listed\n");
    fs::write(dir.path().join("a.md"), "two\n- listed\nmine\n").unwrap();
    let refused = workspace.undo(None, at(180));
    assert!(matches!(refused, Err(WorkspaceError::ChangedSince { .. })));
    assert_eq!(get(&dir, "a.md").unwrap(), "two\n- listed\nmine\n");
}

#[test]
fn undo_removes_what_was_created_with_its_empty_folders() {
    let (dir, workspace) = workspace();
    put(&workspace, "x/y/z.md", "new");
    put(&workspace, "x/other.md", "new");
    workspace.undo(Some("1"), at(0)).unwrap();
    assert!(!dir.path().join("x/y").exists());
    assert!(
        dir.path().join("x/other.md").exists(),
        "what is not empty stays"
    );
    let redo = workspace.history().unwrap()[0].id.clone();
    workspace.undo(Some(&redo), at(0)).unwrap();
    assert_eq!(get(&dir, "x/y/z.md").unwrap(), "new");
}

#[test]
fn undo_refuses_what_was_edited_since() {
    let (dir, workspace) = workspace();
    put(&workspace, "a.md", "two\n");
    put(&workspace, "b.md", "b\n");
    fs::write(dir.path().join("a.md"), "by hand\n").unwrap();
    assert!(matches!(
        workspace.undo(Some("0001"), at(0)),
        Err(WorkspaceError::ChangedSince { .. })
    ));
    assert_eq!(get(&dir, "a.md").unwrap(), "by hand\n");
    fs::remove_file(dir.path().join("a.md")).unwrap();
    assert!(matches!(
        workspace.undo(Some("0001"), at(0)),
        Err(WorkspaceError::ChangedSince { .. })
    ));
    fs::create_dir(dir.path().join("a.md")).unwrap();
    assert!(matches!(
        workspace.undo(Some("0001"), at(0)),
        Err(WorkspaceError::ChangedSince { .. })
    ));
    assert!(matches!(
        workspace.undo(Some("9"), at(0)),
        Err(WorkspaceError::NoSuchChange { .. })
    ));
    assert!(matches!(
        workspace.undo(Some("../x"), at(0)),
        Err(WorkspaceError::NoSuchChange { .. })
    ));
}

#[cfg(unix)]
#[test]
fn undo_does_not_write_through_a_symlink_put_there_since() {
    let (dir, workspace) = workspace();
    let outside = tempfile::NamedTempFile::new().unwrap();
    put(&workspace, "a.md", "two\n");
    fs::write(outside.path(), "two\n").unwrap();
    fs::remove_file(dir.path().join("a.md")).unwrap();
    std::os::unix::fs::symlink(outside.path(), dir.path().join("a.md")).unwrap();
    assert!(matches!(
        workspace.undo(None, at(0)),
        Err(WorkspaceError::ChangedSince { .. })
    ));
    assert_eq!(fs::read_to_string(outside.path()).unwrap(), "two\n");
}

#[test]
fn undoing_twice_does_nothing_the_second_time() {
    let (_dir, workspace) = workspace();
    put(&workspace, "a.md", "two\n");
    workspace.undo(Some("0001"), at(0)).unwrap();
    let again = workspace.undo(Some("0001"), at(0)).unwrap();
    assert_eq!((again.id, again.files), (None, Vec::new()));
}

#[test]
fn history_is_readable_and_newest_first() {
    let (dir, workspace) = workspace();
    put(&workspace, "a.md", "two\n");
    put(&workspace, "b.md", "b\n");
    workspace.undo(None, at(120)).unwrap();
    let history = workspace.history().unwrap();
    let shown: Vec<_> = history
        .iter()
        .map(|e| (e.id.as_str(), e.what.as_str(), e.undone, e.files[0].effect))
        .collect();
    let expect = [
        ("0003", "Undo 0002: Write b.md", false, FileEffect::Removed),
        ("0002", "Write b.md", true, FileEffect::Created),
        ("0001", "Write a.md", false, FileEffect::Changed),
    ];
    assert_eq!(shown, expect);
    assert_eq!(
        (history[0].time, history[0].undoes.as_deref()),
        (at(120), Some("0002"))
    );
    let entry = get(&dir, ".memory-forge/undo/0001/entry.json").unwrap();
    assert!(entry.contains("\"what\": \"Write a.md\"") && entry.contains("1970-01-01T00:01:00Z"));
    assert_eq!(
        get(&dir, ".memory-forge/undo/0001/0.before").unwrap(),
        "one\n"
    );
}

#[test]
fn fifty_entries_are_kept() {
    let (_dir, workspace) = workspace();
    for n in 0..55 {
        put(&workspace, "a.md", &n.to_string());
    }
    let history = workspace.history().unwrap();
    assert_eq!(history.len(), 50);
    assert_eq!(
        (history[0].id.as_str(), history[49].id.as_str()),
        ("0055", "0006")
    );
}

#[test]
fn a_damaged_entry_does_not_hide_the_others() {
    let (dir, workspace) = workspace();
    put(&workspace, "a.md", "two\n");
    put(&workspace, "a.md", "three\n");
    fs::write(dir.path().join(".memory-forge/undo/0002/entry.json"), "{").unwrap();
    let ids: Vec<String> = workspace
        .history()
        .unwrap()
        .into_iter()
        .map(|e| e.id)
        .collect();
    assert_eq!(ids, ["0001"]);
    fs::write(dir.path().join("a.md"), "two\n").unwrap();
    fs::write(
        dir.path().join(".memory-forge/undo/0001/0.before"),
        "forged",
    )
    .unwrap();
    assert!(matches!(
        workspace.undo(None, at(0)),
        Err(WorkspaceError::Journal { .. })
    ));
    assert_eq!(get(&dir, "a.md").unwrap(), "two\n");
}

/// The journal may have come with a repository from anywhere.
#[test]
fn a_forged_journal_reaches_nothing_it_should_not() {
    let (dir, workspace) = workspace();
    fs::create_dir(dir.path().join(".git")).unwrap();
    for path in [
        "../evil",
        ".git/config",
        "/etc/evil",
        ".memory-forge/write.lock",
    ] {
        let forged = dir.path().join(".memory-forge/undo/0007.pending");
        fs::create_dir_all(&forged).unwrap();
        let entry = format!(
            r#"{{"format":1,"id":"0007","what":"x","time":"1970-01-01T00:00:00Z","folders":[],
                "files":[{{"path":"{path}","before":"{}","after":null}}]}}"#,
            blake3::hash(b"evil").to_hex()
        );
        fs::write(forged.join("entry.json"), entry).unwrap();
        fs::write(forged.join("0.before"), "evil").unwrap();
        // Even with a mark, as a program with a fault could write it.
        for is_marked in [true, false] {
            let journal = Journal::of(&workspace);
            if is_marked {
                let json = fs::read(forged.join("entry.json")).unwrap();
                let mark = journal
                    .entry_claim(&forged, &json)
                    .unwrap()
                    .make_mark()
                    .unwrap();
                fs::write(forged.join("entry.mark"), mark).unwrap();
            } else {
                fs::remove_file(forged.join("entry.mark")).unwrap();
            }
            let change = workspace.change("Nothing", at(0), |_| Ok(()));
            assert_eq!(change.is_err(), is_marked, "{path}");
            assert!(!dir.path().join("../evil").exists());
            assert!(!dir.path().join(".git/config").exists());
        }
        assert!(!forged.exists(), "it was moved aside");
    }
}
