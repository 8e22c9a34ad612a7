use testkit::TestWorkspace;

use super::*;

fn now() -> Timestamp {
    "2026-03-01T09:00:00Z"
        .parse()
        .expect("a constant that is a time")
}

fn opened(ws: &TestWorkspace) -> Workspace {
    Workspace::open(ws.root()).expect("it is a folder")
}

fn home() -> MemoryHome {
    MemoryHome::for_agent("eng", "builder").expect("good names")
}

fn new<'a>(name: &'a str, body: &'a str) -> NewTopic<'a> {
    NewTopic {
        name,
        description: None,
        kind: TopicType::Project,
        body,
        importance: None,
        private: None,
        allow_similar: false,
    }
}

const AT: &str = ".agents/memory/eng/builder";

#[test]
fn a_topic_and_its_pointer_are_one_change() {
    let ws = TestWorkspace::empty();
    let workspace = opened(&ws);
    let body = "Rev 37 is out: \"x\". More to come.\n\n---\n# Not front matter\n";
    let done =
        remember_topic(&workspace, &home(), &new("API: migration", body), now()).expect("written");
    assert_eq!(
        ws.read(&format!("{AT}/api-migration.md")),
        "---\nname: \"API: migration\"\ndescription: \"Rev 37 is out: \\\"x\\\".\"\ntype: project\n\
         modified: 2026-03-01T09:00:00.000Z\n---\n\nRev 37 is out: \"x\". More to come.\n\n---\n# Not front matter\n"
    );
    assert_eq!(
        ws.read(&format!("{AT}/MEMORY.md")),
        "- [API: migration](api-migration.md) — Rev 37 is out: \"x\".\n"
    );
    assert_eq!(done.receipt.files.len(), 2);
    let id = done.receipt.id.expect("something changed");
    workspace.undo(Some(&id), now()).expect("it can be undone");
    assert!(
        !ws.exists(&format!("{AT}/MEMORY.md")) && !ws.exists(&format!("{AT}/api-migration.md"))
    );
}

#[test]
fn what_should_not_be_kept_is_refused() {
    let ws = TestWorkspace::empty();
    let workspace = opened(&ws);
    let refused = |name: &str, body: &str| {
        let error = remember_topic(&workspace, &home(), &new(name, body), now());
        error.expect_err(body).to_string()
    };
    let secret = format!("ok\n\ntoken ghp_{}", "a1B2".repeat(9));
    let error = refused("x", &secret);
    assert!(
        error.contains("line 3") && !error.contains("a1B2"),
        "{error}"
    );
    assert!(refused("x", "```\ndiff --git a/x b/x\n+1\n```").contains("a diff"));
    assert!(
        refused(
            "x",
            "commit 0123456789012345678901234567890123456789\nAuthor: me\n"
        )
        .contains("git log")
    );
    assert!(
        refused("x", "Traceback (most recent call last):\n  File \"x\"").contains("stack trace")
    );
    assert!(refused("x", " \n").contains("no text"));
    for name in ["state", "Memory", "memory more", "x index", "y archive"] {
        assert!(
            refused(name, "x").contains("not the name of a topic"),
            "{name}"
        );
    }
    assert_eq!(ws.tree_of_sources(), "", "nothing was written");
}

#[test]
fn a_topic_that_says_the_same_is_named() {
    let ws = TestWorkspace::empty();
    let workspace = opened(&ws);
    let body = "Deploys go out on Tuesday mornings because support is fully staffed then";
    remember_topic(&workspace, &home(), &new("Deploy window", body), now()).expect("written");
    let again = |name: &str, body: &str, allow_similar| {
        let new = NewTopic {
            allow_similar,
            ..new(name, body)
        };
        remember_topic(&workspace, &home(), &new, now()).map(|it| it.path.to_string())
    };
    for (name, text) in [
        ("Deploy window", "something else"),
        ("deploy-windows", "something else"),
        (
            "When to ship",
            "Deploys go out on Tuesday mornings because support is fully staffed then.",
        ),
    ] {
        let error = again(name, text, false).expect_err(name);
        assert!(
            matches!(&error, AgentError::Known { path, .. } if path.file_name() == "deploy-window.md"),
            "{error}"
        );
    }
    again("Phase 1", "one", false).expect("another");
    again("Phase 2", "two", false).expect("another");
    again("When to ship", body, true).expect("it was said to be new");
}

#[test]
fn an_update_keeps_what_is_there() {
    let ws = TestWorkspace::empty();
    let workspace = opened(&ws);
    let topic = "---\r\n# mine\r\nname: Deploy\r\ndescription: old\r\nextra: [1]\r\n---\r\n\r\nBody.\r\n\r\n## Why\r\n\r\nOld why.\r\n\r\n## Next\r\n\r\nLast.\r\n";
    ws.write(&format!("{AT}/deploy.md"), topic);
    pointers::update_pointer_indexes(&workspace, &home(), false, now()).expect("written");
    let index = format!("{AT}/MEMORY.md");
    assert_eq!(ws.read(&index), "- [Deploy](deploy.md) — old\n");
    let changed = |change: TopicUpdate| {
        update_topic(&workspace, &home(), "deploy.md", &change, now()).expect("written")
    };
    changed(TopicUpdate {
        section: Some("why"),
        body: "New why.\n# x",
        description: Some("new"),
        ..TopicUpdate::default()
    });
    let text = ws.read(&format!("{AT}/deploy.md"));
    assert!(
        text.starts_with("---\r\n# mine\r\nname: Deploy\r\ndescription: new\r\nextra: [1]\r\n"),
        "{text}"
    );
    assert!(
        text.contains("## Why\r\n\r\nNew why.\r\n\\# x\r\n\r\n## Next\r\n\r\nLast.\r\n"),
        "{text}"
    );
    assert_eq!(
        ws.read(&index),
        "- [Deploy](deploy.md) — new\n",
        "our own line follows"
    );
    ws.write(&index, "- [Deploy](deploy.md) — by hand\n");
    changed(TopicUpdate {
        body: "And more.",
        description: Some("newer"),
        ..TopicUpdate::default()
    });
    assert_eq!(
        ws.read(&index),
        "- [Deploy](deploy.md) — by hand\n",
        "other words are kept"
    );
    let once = ws.read(&format!("{AT}/deploy.md"));
    assert!(once.ends_with("Last.\r\n\r\nAnd more.\r\n"), "{once}");
    changed(TopicUpdate {
        body: "And more.",
        description: Some("newer"),
        ..TopicUpdate::default()
    });
    assert_eq!(ws.read(&format!("{AT}/deploy.md")), once, "twice is once");
    update_topic(
        &workspace,
        &home(),
        "nope.md",
        &TopicUpdate::default(),
        now(),
    )
    .expect_err("no such topic");
    update_topic(
        &workspace,
        &home(),
        "../../x.md",
        &TopicUpdate::default(),
        now(),
    )
    .expect_err("outside");
}

#[test]
fn what_is_about_a_person_stays_private() {
    let ws = TestWorkspace::empty();
    let user = NewTopic {
        kind: TopicType::User,
        ..new("Mike", "Likes short answers.")
    };
    remember_topic(&opened(&ws), &home(), &user, now()).expect("written");
    assert!(ws.exists(&format!("{AT}/mike.local.md")));
    assert!(
        !ws.exists(&format!("{AT}/MEMORY.md")),
        "nobody else has that file"
    );
    assert_eq!(
        ws.read(&format!("{AT}/MEMORY.local.md")),
        "- [Mike](mike.local.md) — Likes short answers.\n"
    );
}

#[test]
fn a4_two_spellings_of_one_folder_take_one_lock() {
    let ws = TestWorkspace::empty();
    let spelled = ws.root().join("..").join("ws").join(".");
    let workspaces = [
        opened(&ws),
        Workspace::open(&spelled).expect("the same folder"),
    ];
    std::thread::scope(|scope| {
        for writer in 0..8usize {
            let workspace = &workspaces[writer % 2];
            scope.spawn(move || {
                for n in 0..5 {
                    let name = format!("topic {writer} of {n}");
                    let body = format!("{}", "abcdefgh".chars().nth(writer).unwrap_or('x'));
                    let done = remember_topic(
                        workspace,
                        &home(),
                        &NewTopic {
                            allow_similar: true,
                            ..new(&name, &body)
                        },
                        now(),
                    );
                    done.expect("every writer gets its turn");
                }
            });
        }
    });
    let index = ws.read(&format!("{AT}/MEMORY.md"));
    assert_eq!(index.lines().count(), 40, "{index}");
    for writer in 0..8 {
        for n in 0..5 {
            assert!(index.contains(&format!("(topic-{writer}-of-{n}.md)")));
        }
    }
}
