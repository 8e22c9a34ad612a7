use jiff::Timestamp;
use proptest::prelude::*;
use testkit::TestWorkspace;

use super::build::{ClosetBuildOptions, archive_link, build_closets, entry_names};
use super::check::{ClosetMismatchKind, check_closets};
use super::file::{ClosetBlock, ClosetFile, EntryStamp};
use super::*;
use crate::document::{self, parse_document};
use crate::routing::hubs::Hub;
use crate::workspace::{RelPath, Workspace};

fn entry_of(text: &str) -> ClosetEntry {
    let context = EntryContext {
        name: "note",
        archived: false,
    };
    extract_entry(&parse_document(text), &context)
}

fn now() -> Timestamp {
    "2026-03-20T12:00:00Z".parse().expect("a time")
}

const BUILD: ClosetBuildOptions = ClosetBuildOptions {
    force: false,
    dry_run: false,
};

fn hub(ws: &TestWorkspace, folder: &str) -> (Workspace, Hub) {
    let workspace = Workspace::open(ws.root()).expect("a folder");
    let mut members: Vec<RelPath> = workspace.markdown_files_in(folder);
    members.retain(|path| !path.file_name().starts_with('_'));
    let hub = Hub {
        name: folder.to_owned(),
        folder: RelPath::new(folder).expect("a path"),
        index: None,
        members,
    };
    (workspace, hub)
}

#[test]
fn an_entry_has_what_the_text_says_by_field() {
    let entry = entry_of(
        "---\ndate: 2026-03-16\npeople: [\"[[Alice]]\"]\ntags: [billing]\n---\n\
         # Ledger\n\nI'm allergic to penicillin. We switched from Stripe to Adyen last Thursday.\n\n\
         - SEPA mandates\n- dunning emails\n",
    );
    assert_eq!(entry.people, ["Alice"]);
    assert_eq!(entry.claims, ["I'm allergic to penicillin"]);
    assert_eq!(
        entry.decisions,
        ["We switched from Stripe to Adyen last Thursday"]
    );
    assert_eq!(
        entry.dates,
        ["2026-03-16", "2026-03-12 (\"last Thursday\")"]
    );
    assert_eq!(entry.status, "active");
    for wanted in ["Ledger", "billing", "SEPA mandates"] {
        assert!(
            entry.subjects.iter().any(|it| it == wanted),
            "{wanted}: {:?}",
            entry.subjects
        );
    }
}

#[test]
fn in_a_chat_the_users_words_are_the_facts() {
    let entry = entry_of(
        "**User:** By the way, I moved to Lisbon in 2024. Any tips for tiles?\n\n\
         **Assistant:** I have many ideas! You could visit the Museu Nacional do Azulejo.\n",
    );
    assert_eq!(entry.claims, ["I moved to Lisbon in 2024"]);
    assert!(
        entry.subjects.iter().any(|it| it.contains("Azulejo")),
        "{entry:?}"
    );
}

#[test]
fn decisions_and_facts_in_other_languages() {
    for (text, decision) in [
        (
            "Wir haben Postgres statt MySQL genommen.\n",
            "Wir haben Postgres statt MySQL genommen",
        ),
        (
            "Nous avons abandonné Redis hier.\n",
            "Nous avons abandonné Redis hier",
        ),
        (
            "Al final decidimos usar Kafka.\n",
            "Al final decidimos usar Kafka",
        ),
    ] {
        assert_eq!(entry_of(text).decisions, [decision]);
    }
    assert_eq!(
        entry_of("Ich bin allergisch gegen Erdnüsse.\n").claims,
        ["Ich bin allergisch gegen Erdnüsse"]
    );
}

#[test]
fn the_status_is_the_files_own() {
    for (front, status) in [
        ("status: draft", "draft"),
        ("superseded-by: \"[[b]]\"", "superseded"),
        ("x: y", "active"),
        ("status: \"[[x]] ## y\"", "active"),
    ] {
        assert_eq!(
            entry_of(&format!("---\n{front}\n---\ntext\n")).status,
            status
        );
    }
}

#[test]
fn w2_fields_are_read_with_and_without_the_bullet() {
    let with = "# Closets: a\n\n<!-- memex-closets:1.0 -->\n\n## [[x]]\n- subjects: a, b c\n\
        - people: [[Alice]], [[Bob]]\n- claims: \"I say\"; \"no, never\"\n- decisions: took A; left B\n\
        - dates: 2026-04-15 (gala), 2026-03\n- status: active\n";
    let without = with.replace("\n- ", "\n").replace("people:", "people:   ");
    for text in [with, without.as_str()] {
        let file = ClosetFile::parse(text);
        let entries: Vec<&ClosetBlock> = file.entries().collect();
        assert_eq!(entries.len(), 1);
        let entry = &entries[0].entry;
        assert_eq!(entry.subjects, ["a", "b c"]);
        assert_eq!(entry.people, ["Alice", "Bob"]);
        assert_eq!(entry.claims, ["I say", "no, never"]);
        assert_eq!(entry.decisions, ["took A", "left B"]);
        assert_eq!(entry.dates, ["2026-04-15 (gala)", "2026-03"]);
        assert_eq!(entry.status, "active");
        assert_eq!(file.render(), text);
    }
}

#[test]
fn w6_only_the_entries_of_changed_files_are_redone() {
    let ws = TestWorkspace::files("//- a/x.md\nI like red.\n//- a/y.md\nI like blue.\n");
    let (workspace, hub) = hub(&ws, "a");
    let first = build_closets(&workspace, &hub, BUILD, now()).expect("it builds");
    assert_eq!((first.files, first.refreshed, first.skipped), (2, 2, 0));
    let before = ws.read("a/_CLOSETS.md");
    // One file changes; the closets file is newer than both afterwards.
    ws.write("a/x.md", "I like green.\n");
    let second = build_closets(&workspace, &hub, BUILD, now()).expect("it builds");
    assert_eq!((second.refreshed, second.skipped), (1, 1));
    ws.write("a/y.md", "I like yellow.\n");
    let third = build_closets(&workspace, &hub, BUILD, now()).expect("it builds");
    assert_eq!((third.refreshed, third.skipped), (1, 1));
    let after = ws.read("a/_CLOSETS.md");
    assert!(
        before.contains("blue") && !after.contains("blue"),
        "{after}"
    );
    assert!(
        after.contains("green") && after.contains("yellow"),
        "{after}"
    );
    let fourth = build_closets(&workspace, &hub, BUILD, now()).expect("it builds");
    assert!(fourth.changes.is_empty());
    assert_eq!(ws.read("a/_CLOSETS.md"), after);
}

#[test]
fn d14_a_refinement_stays_until_the_file_changes_and_is_merged_then() {
    let text = "I am allergic to nuts. I live in Oslo.\n";
    let ws = TestWorkspace::files(&format!("//- a/x.md\n{text}"));
    let (workspace, hub) = hub(&ws, "a");
    build_closets(&workspace, &hub, BUILD, now()).expect("it builds");
    let refined = ws
        .read("a/_CLOSETS.md")
        .replace("- subjects: ", "- subjects: hand made, ")
        .replace(
            "- claims: ",
            "- claims: \"allergic to nuts\"; \"long gone\"; ",
        )
        .replace("status: active", "status: superseded")
        + "\nA remark of an agent.\n";
    ws.write("a/_CLOSETS.md", &refined);
    build_closets(&workspace, &hub, BUILD, now()).expect("it builds");
    assert_eq!(
        ws.read("a/_CLOSETS.md"),
        refined,
        "kept while the file is the same"
    );

    ws.write(
        "a/x.md",
        format!("{text}I bought a hand made canoe in Bergen.\n"),
    );
    build_closets(&workspace, &hub, BUILD, now()).expect("it builds");
    let merged = ws.read("a/_CLOSETS.md");
    for kept in [
        "\"allergic to nuts\"",
        "hand made",
        "status: superseded",
        "A remark of an agent.",
    ] {
        assert!(merged.contains(kept), "{kept}:\n{merged}");
    }
    assert!(
        merged.contains("canoe") && !merged.contains("long gone"),
        "{merged}"
    );

    // It is still known as a refinement the time after that.
    ws.write(
        "a/x.md",
        format!("{text}I bought a hand made canoe in Turku.\n"),
    );
    build_closets(&workspace, &hub, BUILD, now()).expect("it builds");
    let merged = ws.read("a/_CLOSETS.md");
    assert!(
        merged.contains("\"allergic to nuts\"") && merged.contains("Turku"),
        "{merged}"
    );
    let (_, again) = (
        build_closets(&workspace, &hub, BUILD, now()),
        ws.read("a/_CLOSETS.md"),
    );
    assert_eq!(again, merged);
}

#[test]
fn pagination_keeps_thirty_and_promotes_what_is_touched() {
    let ws = TestWorkspace::empty();
    for at in 0..36 {
        let day = format!("2026-01-{:02}", at % 28 + 1);
        ws.write(
            &format!("a/n{at:02}.md"),
            format!("---\ndate: {day}\n---\nI own boat number {at} called Vessel{at}.\n"),
        );
    }
    let (workspace, hub) = hub(&ws, "a");
    let report = build_closets(&workspace, &hub, BUILD, now()).expect("it builds");
    assert_eq!(report.archived, 6);
    let primary = ClosetFile::parse(ws.read("a/_CLOSETS.md"));
    let archive = ClosetFile::parse(ws.read("a/_CLOSETS-archive.md"));
    assert_eq!(primary.entries().count(), MAX_PRIMARY_ENTRIES);
    assert_eq!(primary.marker_version(), Some("1.1"));
    assert_eq!(archive.marker_version(), Some("1.1"));
    // Equal times of a checkout: the documents' dates decide.
    let demoted: Vec<&str> = archive.entries().map(|it| it.name.as_str()).collect();
    assert_eq!(demoted, ["n02", "n30", "n01", "n29", "n00", "n28"]);
    assert!(
        ws.read("a/_CLOSETS.md")
            .contains("## Recently Archived\n- [[n02]] — ")
    );
    assert!(
        ws.read("a/_CLOSETS-archive.md")
            .starts_with("# Closets archive: a\n")
    );

    ws.write("a/n00.md", "---\ndate: 2026-03-01\n---\nI sold boat 0.\n");
    let report = build_closets(&workspace, &hub, BUILD, now()).expect("it builds");
    assert_eq!((report.promoted, report.demoted), (1, 1));
    let primary = ws.read("a/_CLOSETS.md");
    assert!(primary.contains("## [[n00]]"), "{primary}");
    let archive = ClosetFile::parse(ws.read("a/_CLOSETS-archive.md"));
    let names: Vec<&str> = archive.entries().map(|it| it.name.as_str()).collect();
    assert_eq!(names, ["n31", "n02", "n30", "n01", "n29", "n28"]);
    assert!(
        build_closets(&workspace, &hub, BUILD, now())
            .expect("it builds")
            .changes
            .is_empty()
    );
    assert_eq!(check_closets(&workspace, &hub).expect("it looks"), []);
}

#[test]
fn the_memory_hub_is_kept_whole() {
    let ws = TestWorkspace::empty();
    for at in 0..35 {
        ws.write(
            &format!("memory/n{at:02}.md"),
            format!("I have plan {at}.\n"),
        );
    }
    let (workspace, hub) = hub(&ws, "memory");
    let report = build_closets(&workspace, &hub, BUILD, now()).expect("it builds");
    assert_eq!(report.archived, 0);
    assert!(
        ws.read("memory/_CLOSETS.md")
            .contains("<!-- memex-closets:1.1 -->")
    );
    assert!(!ws.exists("memory/_CLOSETS-archive.md"));
}

#[test]
fn w1_the_link_to_an_archive_names_the_file() {
    let ws = TestWorkspace::files("//- working/legal/x.md\nx\n");
    let (_, hub) = hub(&ws, "working/legal");
    assert_eq!(archive_link(&hub), "working/legal/_CLOSETS-archive");
    assert_eq!(
        format!("{}.md", archive_link(&hub)),
        hub.closets_archive_path().as_str()
    );
}

#[test]
fn addresses_of_links_are_no_facts() {
    let entry = entry_of(
        "# Tea\n\nI drink green tea at home. [A chapter][tea] says why.\n\n\
         [tea]: ch10-03-tea.html#green\n[cups]: <cups.html> \"Cups\"\n",
    );
    let lines = entry.render_lines().join("\n");
    assert!(lines.contains("green tea"), "{lines}");
    assert!(
        !lines.contains("ch10-03") && !lines.contains("cups"),
        "{lines}"
    );
}

#[test]
fn names_are_as_long_as_needed() {
    let ws = TestWorkspace::empty();
    let (_, mut hub) = hub(&ws, "a");
    hub.members = ["a/x.md", "a/b/y.md", "a/c/y.md", "a/d.e.md"]
        .map(|path| RelPath::new(path).expect("a path"))
        .to_vec();
    assert_eq!(entry_names(&hub), ["x", "b/y", "c/y", "d.e"]);
}

#[test]
fn unknown_parts_of_a_file_stay() {
    let text = "# Mine\r\n\r\nProse.\r\n\r\n## [[x]]\r\nsubjects: old\r\nowner: me\r\n\r\n\
        ```\r\n## [[fake]]\r\n```\r\n\r\n## Notes\r\nkeep  \r\n";
    let ws = TestWorkspace::files("//- a/x.md\nI like old tea.\n");
    ws.write("a/_CLOSETS.md", text);
    let (workspace, hub) = hub(&ws, "a");
    build_closets(&workspace, &hub, BUILD, now()).expect("it builds");
    let after = ws.read("a/_CLOSETS.md");
    for kept in [
        "Prose.\r\n",
        "owner: me\r\n",
        "```\r\n## [[fake]]\r\n```\r\n",
        "## Notes\r\nkeep",
    ] {
        assert!(after.contains(kept), "{kept:?}\n{after:?}");
    }
    assert!(
        after.contains("# Mine\r\n\r\n<!-- memex-closets:1.0 -->\r\n"),
        "{after:?}"
    );
    assert!(!after.replace("\r\n", "").contains('\n'), "{after:?}");
    assert!(
        build_closets(&workspace, &hub, BUILD, now())
            .expect("it builds")
            .changes
            .is_empty()
    );
}

#[test]
fn entries_of_missing_files_go_unless_someone_edited_them() {
    let ws = TestWorkspace::files("//- a/x.md\nI like tea.\n//- a/y.md\nI like rum.\n");
    let (workspace, both) = hub(&ws, "a");
    build_closets(&workspace, &both, BUILD, now()).expect("it builds");
    ws.remove("a/y.md");
    let (workspace, one) = hub(&ws, "a");
    let found = check_closets(&workspace, &one).expect("it looks");
    assert_eq!(found[0].kind, ClosetMismatchKind::Orphan);
    let report = build_closets(&workspace, &one, BUILD, now()).expect("it builds");
    assert_eq!(report.removed, 1);
    assert!(!ws.read("a/_CLOSETS.md").contains("[[y]]"));

    let text = ws.read("a/_CLOSETS.md") + "\n## [[gone]]\n- subjects: by hand\n";
    ws.write("a/_CLOSETS.md", &text);
    let report = build_closets(&workspace, &one, BUILD, now()).expect("it builds");
    assert_eq!(report.remarks.len(), 1);
    assert_eq!(ws.read("a/_CLOSETS.md"), text);
}

/// Text that tries to be something else.
fn hostile() -> impl Strategy<Value = String> {
    let piece = prop_oneof![
        Just("## [[evil]]\n"),
        Just("- status: archived\n"),
        Just("<!-- forge aa bb -->"),
        Just("<!--"),
        Just("-->"),
        Just("[[x]]"),
        Just("]]"),
        Just("|"),
        Just("\n\n"),
        Just("\r\n"),
        Just("\"; \"b"),
        Just("I am "),
        Just("We switched from A to B. "),
        Just("; "),
        Just(", "),
        Just("`"),
        Just("```\n"),
        Just("\\"),
        Just("**User:** "),
        Just("**Assistant:** "),
        Just("on 2026-03-01 "),
        Just("yesterday "),
        Just("<script>"),
        Just("\u{202e}"),
        Just("日本語。"),
        Just("Ärger mit Ärzten "),
        Just("[a](b) "),
        Just("my friend Zoe said "),
        Just("# T\n"),
    ];
    prop_oneof![
        proptest::collection::vec(piece, 0..60).prop_map(|all| all.concat()),
        ".{0,300}",
        "[a-zA-Z0-9 ,.;:!?\"'\n-]{0,4000}",
    ]
}

proptest! {
    #[test]
    fn any_text_gives_a_short_entry_that_is_read_again(text in hostile(), name in "[a-z]{1,200}") {
        let document = parse_document(text.clone());
        let entry = extract_entry(&document, &EntryContext { name: &name, archived: false });
        let block = ClosetBlock::new(&name, entry.clone(), EntryStamp::new(&text, &entry), "\n");
        prop_assert!(block.char_length() <= MAX_ENTRY_CHARS, "{}", block.char_length());
        let mut file = ClosetFile::new("Closets: a", false);
        file.arrange_entries(Some, Vec::new(), vec![block]);
        let rendered = file.render();
        let again = ClosetFile::parse(rendered.clone());
        let blocks: Vec<&ClosetBlock> = again.entries().collect();
        prop_assert_eq!(blocks.len(), 1, "{}", rendered);
        prop_assert_eq!(&blocks[0].entry, &entry, "{}", rendered);
        prop_assert!(!blocks[0].is_refined());
        prop_assert_eq!(again.parts().len(), 2);
        prop_assert_eq!(again.render(), rendered.clone());
        // Links and comments are ours alone.
        let written = document::parse_document(rendered);
        prop_assert_eq!(written.links.len(), 1 + entry.people.len(), "{}", written.text);
        prop_assert_eq!(written.comments.len(), 2);
        prop_assert_eq!(written.sections.len(), 3);
        prop_assert!(written.code.is_empty());
    }

    #[test]
    fn a_closets_file_of_any_kind_is_kept(text in hostile()) {
        let file = ClosetFile::parse(text.clone());
        prop_assert_eq!(file.render(), text);
    }

    #[test]
    fn building_twice_is_building_once(texts in proptest::collection::vec(hostile(), 1..4), closets in hostile()) {
        let ws = TestWorkspace::empty();
        for (at, text) in texts.iter().enumerate() {
            ws.write(&format!("a/n{at}.md"), text);
        }
        ws.write("a/_CLOSETS.md", &closets);
        let (workspace, hub) = hub(&ws, "a");
        if build_closets(&workspace, &hub, BUILD, now()).is_err() {
            // An open fence in the closets is for a person to close.
            prop_assert_eq!(ws.read("a/_CLOSETS.md"), closets);
            return Ok(());
        }
        let once = ws.read("a/_CLOSETS.md");
        let again = build_closets(&workspace, &hub, BUILD, now()).expect("it builds");
        prop_assert!(again.changes.is_empty(), "{once}\n----\n{}", again.changes[0].2);
    }
}
