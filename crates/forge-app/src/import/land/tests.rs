use testkit::TestWorkspace;

use super::*;

fn options(force: bool) -> ImportOptions {
    ImportOptions {
        now: "2026-03-01T09:00:00Z".parse().unwrap(),
        dry_run: false,
        force,
        since: None,
        limit: None,
    }
}

fn incoming(text: &str) -> IncomingDocument {
    IncomingDocument {
        path: RelPath::new("knowledge/x/note.md").unwrap(),
        source: "test",
        source_id: "1".to_owned(),
        source_hash: document::content_hash(text)[..8].to_owned(),
        text: text.to_owned(),
        entries: 1,
        tally: ImportTally::default(),
    }
}

/// Imports a text and says what became of it.
#[track_caller]
fn import(ws: &TestWorkspace, text: &str, force: bool) -> ImportOutcome {
    let workspace = Workspace::open(ws.root()).unwrap();
    let options = options(force);
    let mut landing = ImportWriter::new(&workspace, &options).unwrap();
    landing.place_document(incoming(text)).unwrap();
    landing.finish().unwrap().files[0].outcome
}

#[test]
fn a_document_is_made_once_and_follows_its_source() {
    let ws = TestWorkspace::empty();
    assert_eq!(
        import(&ws, "---\ntitle: A\n---\n# A\n", false),
        ImportOutcome::New
    );
    let first = ws.tree_of_sources();
    let text = ws.read("knowledge/x/note.md");
    assert!(
        text.starts_with("---\ntitle: A\nsource: test\nsource_id: 1\nsource_hash: "),
        "{text}"
    );
    assert!(
        text.contains("\nimported: 2026-03-01\n") && text.ends_with("---\n# A\n"),
        "{text}"
    );
    assert_eq!(
        import(&ws, "---\ntitle: A\n---\n# A\n", false),
        ImportOutcome::Unchanged
    );
    assert_eq!(
        import(&ws, "---\ntitle: A\n---\n# A\n", true),
        ImportOutcome::Unchanged
    );
    assert_eq!(ws.tree_of_sources(), first);
    assert_eq!(
        import(&ws, "---\ntitle: B\n---\n# B\n", false),
        ImportOutcome::Updated
    );
    assert!(ws.read("knowledge/x/note.md").ends_with("---\n# B\n"));
}

#[test]
fn an_edit_of_the_text_or_of_a_value_is_kept_until_forced() {
    for (old, new) in [("body", "body, edited"), ("title: A", "title: Mine")] {
        let ws = TestWorkspace::empty();
        import(&ws, "---\ntitle: A\n---\nbody\n", false);
        let edited = ws.read("knowledge/x/note.md").replace(old, new);
        ws.write("knowledge/x/note.md", &edited);
        assert_eq!(
            import(&ws, "---\ntitle: A\n---\nother\n", false),
            ImportOutcome::Kept
        );
        assert_eq!(ws.read("knowledge/x/note.md"), edited);
        assert_eq!(
            import(&ws, "---\ntitle: A\n---\nother\n", true),
            ImportOutcome::Replaced
        );
        assert!(ws.read("knowledge/x/note.md").ends_with("---\nother\n"));
        let workspace = Workspace::open(ws.root()).unwrap();
        workspace.undo(None, options(false).now).unwrap();
        assert_eq!(ws.read("knowledge/x/note.md"), edited);
    }
}

#[test]
fn keys_that_a_person_added_stay_and_are_no_edit() {
    let ws = TestWorkspace::empty();
    import(&ws, "---\ntitle: A\n---\nbody\n", false);
    let text = ws.read("knowledge/x/note.md");
    let text = text.replace("title: A\n", "title: A\nimportance: 9 # mine\n");
    ws.write("knowledge/x/note.md", text);
    assert_eq!(
        import(&ws, "---\ntitle: A\n---\nmore\n", false),
        ImportOutcome::Updated
    );
    let text = ws.read("knowledge/x/note.md");
    assert!(
        text.contains("importance: 9 # mine\n") && text.ends_with("more\n"),
        "{text}"
    );
}

#[test]
fn a_document_that_was_moved_is_found_and_one_in_the_way_is_left_alone() {
    let ws = TestWorkspace::empty();
    ws.write("knowledge/x/note.md", "# Mine\n");
    assert_eq!(import(&ws, "one\n", false), ImportOutcome::New);
    assert_eq!(ws.read("knowledge/x/note.md"), "# Mine\n");
    let text = ws.read("knowledge/x/note-2.md");
    ws.remove("knowledge/x/note-2.md");
    ws.write("knowledge/elsewhere.md", text);
    assert_eq!(import(&ws, "two\n", false), ImportOutcome::Updated);
    assert!(ws.read("knowledge/elsewhere.md").ends_with("\ntwo\n"));
    assert!(!ws.exists("knowledge/x/note-2.md"));
}

#[test]
fn windows_line_ends_and_a_rule_at_the_top_survive() {
    let ws = TestWorkspace::empty();
    import(&ws, "a\r\nb\r\n", false);
    let text = ws.read("knowledge/x/note.md");
    assert!(
        text.ends_with("---\r\n\r\na\r\nb\r\n") && !text.replace("\r\n", "").contains('\n'),
        "{text:?}"
    );
    let before = ws.tree_of_sources();
    assert_eq!(import(&ws, "a\r\nb\r\n", true), ImportOutcome::Unchanged);
    assert_eq!(ws.tree_of_sources(), before);
    let ws = TestWorkspace::empty();
    import(&ws, "---\n\nno front matter\n\n***\n", false);
    assert!(
        ws.read("knowledge/x/note.md")
            .ends_with("---\n\nno front matter\n\n***\n")
    );
}
