use super::*;

use std::fs;

struct Home {
    folder: tempfile::TempDir,
}

impl Home {
    fn new() -> Home {
        let folder = tempfile::tempdir().expect("a temporary folder");
        for name in ["work", "club"] {
            fs::create_dir_all(folder.path().join(name).join("knowledge")).expect("made");
        }
        Home { folder }
    }

    fn with(text: &str) -> Home {
        let home = Home::new();
        fs::create_dir_all(home.folder.path().join(".memex")).expect("made");
        fs::write(home.registry().path(), text).expect("written");
        home
    }

    fn registry(&self) -> SourceRegistry {
        SourceRegistry::in_folder(&testkit::workspace::canonicalize(self.folder.path()))
    }

    fn path(&self, name: &str) -> PathBuf {
        testkit::workspace::canonicalize(self.folder.path()).join(name)
    }

    fn text(&self) -> String {
        fs::read_to_string(self.registry().path()).expect("it is there")
    }
}

fn today() -> Date {
    "2026-03-01".parse().expect("a day")
}

#[test]
fn a_registry_begins_with_the_first_source() {
    let home = Home::new();
    assert_eq!(home.registry().sources().expect("read"), []);
    let added = home
        .registry()
        .add_source("demo", &home.path("work"), today());
    assert!(added.expect("added").has_memory);
    let path = home.path("work");
    let entry = format!(
        "\n## demo\n- path: {}\n- registered: 2026-03-01\n- searchable: true\n",
        path.display()
    );
    assert_eq!(home.text(), format!("{REGISTRY_TEMPLATE}{entry}"));
    let sources = home.registry().sources().expect("read");
    assert_eq!(sources.len(), 1);
    assert_eq!(sources[0].path, path);
    assert!(sources[0].searchable);
}

#[test]
fn an_existing_registry_is_read_and_kept_byte_for_byte() {
    let old = "# Memex Sources\r\n\r\n> Mine.\r\n\r\n<!-- memex-sources-version:1 -->\r\n\r\n## club\r\n- path: ~/club\r\n- registered: 2025-01-02\r\n- searchable: false\r\n- colour: red\r\n\r\nA note of mine.\r\n";
    let home = Home::with(old);
    let sources = home.registry().sources().expect("read");
    assert_eq!(sources[0].path, home.path("club"));
    assert!(!sources[0].searchable);
    home.registry()
        .add_source("work", &home.path("work"), today())
        .expect("added");
    assert!(home.text().starts_with(old));
    assert!(!home.text().replace("\r\n", "").contains('\n'));
    home.registry().remove_source("work").expect("removed");
    assert_eq!(home.text(), old);
    home.registry().set_searchable("club", true).expect("set");
    assert_eq!(
        home.text(),
        old.replace("searchable: false", "searchable: true")
    );
}

#[test]
fn a_source_without_the_flag_can_be_kept_out() {
    let home = Home::with("## club\n- path: ~/club\n");
    assert!(home.registry().sources().expect("read")[0].searchable);
    home.registry().set_searchable("Club", false).expect("set");
    assert_eq!(
        home.text(),
        "## club\n- path: ~/club\n- searchable: false\n"
    );
    assert!(!home.registry().sources().expect("read")[0].searchable);
}

#[test]
fn a_flag_that_is_not_clear_keeps_a_source_private() {
    let home = Home::with("## club\n- path: ~/club\n- searchable: ask me\n");
    assert!(!home.registry().sources().expect("read")[0].searchable);
}

#[test]
fn names_are_registered_once_and_say_what_is_wrong() {
    let home = Home::new();
    let registry = home.registry();
    registry
        .add_source("demo", &home.path("work"), today())
        .expect("added");
    let again = registry.add_source("Demo", &home.path("club"), today());
    assert_eq!(
        again.expect_err("taken").to_string(),
        "source name 'Demo' already registered"
    );
    let nope = registry.remove_source("nope").expect_err("unknown");
    assert_eq!(nope.to_string(), "no source named 'nope'");
    for odd in ["", "a\n## b", "a|b", "-x", "[[x]]", "<!-- x", "../x"] {
        assert!(
            registry
                .add_source(odd, &home.path("club"), today())
                .is_err(),
            "{odd:?}"
        );
    }
    assert!(
        registry
            .add_source("gone", &home.path("gone"), today())
            .is_err()
    );
    assert_eq!(registry.sources().expect("read").len(), 1);
}

#[test]
fn many_who_register_at_once_are_all_there() {
    let home = Home::new();
    std::thread::scope(|scope| {
        for n in 0..16 {
            let home = &home;
            scope.spawn(move || {
                let name = format!("ws-{n}");
                home.registry()
                    .add_source(&name, &home.path("work"), today())
                    .expect("added");
            });
        }
    });
    assert_eq!(home.registry().sources().expect("read").len(), 16);
}

#[test]
fn a_moved_workspace_keeps_its_name() {
    let home = Home::new();
    let registry = home.registry();
    registry
        .add_source("demo", &home.path("work"), today())
        .expect("added");
    registry
        .set_path("demo", &home.path("club"))
        .expect("moved");
    assert_eq!(registry.sources().expect("read")[0].path, home.path("club"));
}
