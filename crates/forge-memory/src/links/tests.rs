use proptest::prelude::*;
use testkit::TestWorkspace;

use super::*;
use crate::workspace::{RelPath, Workspace};

fn opened(fixture: &str) -> (TestWorkspace, Workspace) {
    let ws = TestWorkspace::files(fixture);
    let workspace = Workspace::open(ws.root()).expect("it is a folder");
    (ws, workspace)
}

fn broken(fixture: &str) -> Vec<String> {
    let (_ws, workspace) = opened(fixture);
    let report = check_links(&NoteVault::read(&workspace));
    let shown = report
        .missing_targets()
        .map(|it| format!("{}:{} {}", it.path, it.line, it.link));
    shown.collect()
}

fn now() -> jiff::Timestamp {
    "2026-03-01T09:00:00Z".parse().expect("a time")
}

#[test]
fn w1_the_archive_of_closets_has_two_names() {
    let found = broken(
        "
        //- _MANIFEST.md
        [[law-CLOSETS-archive]] [[law/_CLOSETS-archive]] [[tax-CLOSETS-archive]]
        //- work/law/_CLOSETS-archive.md
        ",
    );
    assert_eq!(found, ["_MANIFEST.md:1 tax-CLOSETS-archive"]);
}

#[test]
fn w9_headings_blocks_and_pictures_are_no_broken_links() {
    let found = broken(
        "
        //- a.md
        # Part
        [[b#Part]] [[#Part]] [[b^block]] [[b#^block]] ![[image.png]] [[image.png]]
        //- b.md
        # Part
        Text ^block
        //- image.png
        ",
    );
    assert_eq!(found, Vec::<String>::new());
}

#[test]
fn w10_mentions_have_the_line_of_the_file() {
    let (_ws, workspace) = opened(
        "
        //- a.md
        ---
        title: x
        ---

        ```
        glossary
        ```

        The glossary.
        //- glossary.md
        ",
    );
    let found = suggest_mentions(&workspace, &NoteVault::read(&workspace), &[]);
    assert_eq!(found.len(), 1);
    assert_eq!(found[0].line, 9);
}

#[test]
fn w11_a_wrong_folder_is_a_broken_link() {
    let found = broken("//- a.md\n[[wrong/dir/note]] [[right/note]]\n//- right/note.md\n");
    assert_eq!(found, ["a.md:1 wrong/dir/note"]);
}

#[test]
fn w12_any_locale_reads_the_same_and_other_encodings_are_told() {
    let ws = TestWorkspace::empty();
    ws.write("größe.md", "[[größe]] [[Größe]] [[GRÖßE]]".as_bytes());
    ws.write("latin1.md", b"[[gr\xf6\xdfe]]");
    let workspace = Workspace::open(ws.root()).expect("it is a folder");
    let vault = NoteVault::read(&workspace);
    assert_eq!(check_links(&vault).troubles, []);
    let told: Vec<String> = vault.problems.iter().map(ToString::to_string).collect();
    assert_eq!(
        told,
        ["`latin1.md`: line 1 is not UTF-8; convert the file to UTF-8 to have it used"]
    );
}

#[test]
#[cfg_attr(windows, ignore = "wine opens 4,000 files too slowly for the limit")]
fn w19_many_notes_take_the_time_of_one_reading() {
    // The earlier tool searched each line for each name: 400 notes of 60 lines
    // took minutes. Here ten times as many names must not take ten times as
    // long for the same text, which only one automaton can do.
    let notes = 4_000;
    let ws = TestWorkspace::empty();
    for note in 0..notes {
        ws.write(&format!("notes/topic number {note}.md"), "");
    }
    let text: String = (0..60)
        .map(|line| {
            format!(
                "Line {line} speaks of topic number {} and more.\n",
                line * 7
            )
        })
        .collect();
    ws.write("long.md", text);
    let workspace = Workspace::open(ws.root()).expect("it is a folder");
    let vault = NoteVault::read(&workspace);
    let start = std::time::Instant::now();
    let found = suggest_mentions(&workspace, &vault, &[]);
    assert_eq!(found.len(), 60);
    assert!(start.elapsed().as_secs() < 20, "{:?}", start.elapsed());
}

#[test]
fn w20_suggestions_keep_the_notes_own_case_and_leave_heads_of_tables() {
    let (_ws, workspace) = opened(
        "
        //- a.md
        | Status | Glossary |
        |---|---|
        | good | the glossary |

        Ask Claude about the manifest.
        //- CLAUDE.md
        //- _MANIFEST.md
        //- Status.md
        //- Glossary.md
        ",
    );
    let found = suggest_mentions(&workspace, &NoteVault::read(&workspace), &[]);
    let shown: Vec<String> = found
        .iter()
        .map(|it| format!("{} {}", it.line, it.render_link()))
        .collect();
    assert_eq!(shown, ["3 [[Glossary\\|glossary]]"]);
}

#[test]
fn names_fold_case_and_accents() {
    let names = LinkNames::new(["Caf\u{e9}.md", "ÀB.md"]);
    for name in ["cafe\u{301}", "CAFÉ", "café.md", "Cafe\u{301}.MD"] {
        assert_eq!(
            names.resolve(name, "x.md"),
            LinkResolution::File(0),
            "{name}"
        );
    }
    assert_eq!(names.resolve("àb", "x.md"), LinkResolution::File(1));
    assert_eq!(names.resolve("", "x.md"), LinkResolution::Missing);
}

#[test]
fn a_name_in_front_matter_is_read_in_every_form() {
    for (text, name) in [
        ("note", "note"),
        (" [[note]] ", "note"),
        ("[[dir/note#part|label]]", "dir/note"),
        ("./note.md", "./note.md"),
    ] {
        assert_eq!(reference_target(text), name);
    }
}

#[test]
fn crlf_and_a_bom_stay() {
    let ws = TestWorkspace::empty();
    ws.write(
        "a.md",
        "\u{feff}---\r\nrelated: \"[[old]]\"\r\n---\r\n[[old]] x\r\n[r]\r\n\r\n[r]: old.md\r\n",
    );
    ws.write("old.md", "");
    let workspace = Workspace::open(ws.root()).expect("it is a folder");
    let vault = NoteVault::read(&workspace);
    let path = |text| RelPath::new(text).expect("a path");
    let renaming =
        rename_file(&workspace, &vault, &path("old.md"), &path("new.md")).expect("it can");
    assert_eq!(
        renaming.proposal.text_after(&path("a.md")),
        Some(
            "\u{feff}---\r\nrelated: \"[[new]]\"\r\n---\r\n[[new]] x\r\n[r]\r\n\r\n[r]: new.md\r\n"
        )
    );
    assert_eq!(renaming.left_alone, []);
}

#[test]
fn a_link_that_would_become_a_list_is_left_to_its_author() {
    let ws = TestWorkspace::empty();
    ws.write(
        "a.md",
        "---\nrelated: [[old]]\nalso: \"[[old]]\"\n---\n[[old]]\n",
    );
    ws.write("old.md", "");
    let workspace = Workspace::open(ws.root()).expect("it is a folder");
    let vault = NoteVault::read(&workspace);
    let path = |text| RelPath::new(text).expect("a path");
    let renaming =
        rename_file(&workspace, &vault, &path("old.md"), &path("x, y.md")).expect("it can");
    assert_eq!(
        renaming.proposal.text_after(&path("a.md")),
        Some("---\nrelated: [[old]]\nalso: \"[[x, y]]\"\n---\n[[x, y]]\n")
    );
    assert_eq!(renaming.left_alone, [(path("a.md"), 2)]);
    assert_eq!(renaming.links, 2);
}

#[test]
fn quoted_front_matter_escapes_a_link_by_two_backslashes() {
    for (yaml, targets) in [
        (r#"title: "\\[[a]] and [[b]]""#, vec!["b"]),
        (r#"title: "\\\\[[a]]""#, vec!["a"]),
        (r"title: \[[a]]", vec![]),
        (r"title: '\[[a]] [[b]]'", vec!["b"]),
    ] {
        let document = crate::document::parse_document(format!("---\n{yaml}\n---\n"));
        let found: Vec<&str> = document.links.iter().map(|it| it.target.as_str()).collect();
        assert_eq!(found, targets, "{yaml}");
    }
}

#[test]
fn what_cannot_be_renamed_is_refused() {
    let (_ws, workspace) = opened("//- a.md\n//- b.md\n");
    let vault = NoteVault::read(&workspace);
    let path = |text| RelPath::new(text).expect("a path");
    let refused = |from, to| {
        rename_file(&workspace, &vault, &path(from), &path(to))
            .unwrap_err()
            .to_string()
    };
    assert_eq!(refused("x.md", "y.md"), "There is no file `x.md`");
    assert_eq!(
        refused("a.md", "b.md"),
        "`b.md` exists already; choose another name"
    );
    for odd in [
        "a#b.md",
        "a`b.md",
        #[cfg(unix)]
        "a <!-- b.md",
    ] {
        assert!(refused("a.md", odd).starts_with("No link can hold"));
    }
    for hidden in [".a.md", "x/.a.md", ".x/a.md"] {
        assert!(refused("a.md", hidden).contains("would be hidden"));
    }
    assert!(resolve_destination(&vault, &path("a.md"), "../out.md").is_err());
}

/// Pieces of text that are links, look like links, or get in their way.
fn piece() -> impl Strategy<Value = String> {
    let names = prop::sample::select(vec![
        "note",
        "Note",
        "a/note",
        "b/other",
        "other",
        "deep thing",
        "image.png",
        "gone",
        "x/../y",
        "./other",
        "../note",
        "é",
        "[[",
        "]]",
        "|",
        "#",
        "^",
    ]);
    let forms = prop::sample::select(vec![
        "[[@]]",
        "[[@|label]]",
        "[[@#Part]]",
        "[[@#^b]]",
        "![[@]]",
        "[[@.md]]",
        "[t](@)",
        "[t](@.md#part)",
        "[t](<@>)",
        "[t][r]\n\n[r]: @\n",
        "`[[@]]`",
        "<!-- [[@]] -->",
        "%% @ %%",
        "| [[@\\|c]] |\n|---|\n",
        "@",
        "\n# @\n",
        "\n```\n@\n```\n",
        "@ ^b\n",
        "\n---\nsupersedes: @\n---\n",
    ]);
    (names, forms).prop_map(|(name, form)| form.replace('@', name))
}

fn texts() -> impl Strategy<Value = Vec<String>> {
    let text = prop::collection::vec(prop_oneof![9 => piece(), 1 => "\\PC{0,12}"], 0..12);
    prop::collection::vec(text.prop_map(|pieces| pieces.join(" ")), 5)
}

const PATHS: [&str; 5] = [
    "note.md",
    "a/note.md",
    "b/other.md",
    "b/deep thing.md",
    "é.md",
];

fn vault_of(texts: &[String]) -> (TestWorkspace, Workspace) {
    let ws = TestWorkspace::empty();
    for (path, text) in PATHS.iter().zip(texts) {
        ws.write(path, text);
    }
    ws.write("b/image.png", "");
    let workspace = Workspace::open(ws.root()).expect("it is a folder");
    (ws, workspace)
}

/// What every link of the vault leads to, by the texts of the files.
fn leads(vault: &NoteVault, renamed: (&str, &str)) -> Vec<(String, Option<String>)> {
    let mut found = Vec::new();
    for (index, file, note) in vault.notes() {
        for link in &note.links {
            let to = vault.resolve(index, link).opened_file();
            let path = |path: &str| if path == renamed.0 { renamed.1 } else { path }.to_owned();
            let to = to.map(|to| path(vault.file(to).path.as_str()));
            found.push((path(file.path.as_str()), to));
        }
    }
    found.sort();
    found
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(96))]

    #[test]
    fn any_vault_can_be_checked(texts in texts()) {
        let (_ws, workspace) = vault_of(&texts);
        let vault = NoteVault::read(&workspace);
        let report = check_links(&vault);
        for one in &report.troubles {
            let lines = texts[PATHS.iter().position(|it| *it == one.path.as_str()).unwrap()].lines().count();
            prop_assert!(one.line >= 1 && one.line <= lines.max(1));
        }
        suggest_mentions(&workspace, &vault, &[]);
    }

    #[test]
    fn applying_twice_is_applying_once(texts in texts(), all: bool) {
        let (ws, workspace) = vault_of(&texts);
        let applied = link_mentions(&workspace, &NoteVault::read(&workspace), &[], all);
        applied.proposal.apply(&workspace, "Test", now()).unwrap();
        let once = ws.tree_of_sources();
        let again = link_mentions(&workspace, &NoteVault::read(&workspace), &[], all);
        again.proposal.apply(&workspace, "Test", now()).unwrap();
        prop_assert_eq!(ws.tree_of_sources(), once);
    }

    #[test]
    fn a_rename_keeps_every_link_and_its_way_back_every_byte(texts in texts(), which in 0usize..5) {
        let (ws, workspace) = vault_of(&texts);
        let before = NoteVault::read(&workspace);
        let from = RelPath::new(PATHS[which]).unwrap();
        let folder = from.parent().map_or(String::new(), |it| format!("{it}/"));
        let to = RelPath::new(&format!("{folder}fresh name.md")).unwrap();
        let there = rename_file(&workspace, &before, &from, &to).unwrap();
        prop_assert!(there.left_alone.is_empty(), "{:?}", there.left_alone);
        let id = there.proposal.apply(&workspace, "Test", now()).unwrap().id;
        let after = NoteVault::read(&workspace);
        prop_assert_eq!(
            leads(&before, (from.as_str(), to.as_str())),
            leads(&after, ("", ""))
        );
        workspace.undo(id.as_deref(), now()).unwrap();
        for (path, text) in PATHS.iter().zip(&texts) {
            prop_assert_eq!(&ws.read(path), text);
        }
    }
}

#[test]
fn there_and_back_is_the_same_bytes() {
    let fixture = "
        //- a.md
        ---
        supersedes: sub/plan
        ---
        [[plan]] [[plan|x]] [[sub/plan#Part]] [[sub/plan.md]] [m](sub/plan.md#part) ![[plan#^b]] [r]

        | [[plan\\|cell]] |
        |---|

        [r]: sub/plan.md
        //- sub/plan.md
        # Part
        [up](../a.md) [[a]] [[./b]] [b](b.md)
        //- sub/b.md
        [[./plan]] [p](plan.md)
        ";
    let (ws, workspace) = opened(fixture);
    let before = ws.tree_of_sources();
    let path = |text| RelPath::new(text).expect("a path");
    for (from, to) in [
        ("sub/plan.md", "other/road map.md"),
        ("other/road map.md", "sub/plan.md"),
    ] {
        let vault = NoteVault::read(&workspace);
        let renaming = rename_file(&workspace, &vault, &path(from), &path(to)).expect("it can");
        renaming
            .proposal
            .apply(&workspace, "Test", now())
            .expect("nothing is in the way");
        assert_eq!(
            check_links(&NoteVault::read(&workspace)).troubles.len(),
            1,
            "the block alone"
        );
    }
    let after = ws.tree_of_sources();
    let same = |tree: &str| {
        tree.lines()
            .filter(|it| !it.starts_with("other"))
            .map(str::to_owned)
            .collect::<Vec<_>>()
    };
    assert_eq!(same(&after), same(&before));
}
