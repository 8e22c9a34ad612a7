use testkit::TestWorkspace;

use super::*;
use crate::links::NoteVault;
use crate::workspace::Workspace;

/// The groups that are found among these files.
#[track_caller]
fn check(files: &[(&str, &str)], expect: &[&str]) {
    let it = TestWorkspace::empty();
    for (path, text) in files {
        it.write(path, text);
    }
    let workspace = Workspace::open(it.root()).unwrap();
    let found = find_duplicates(&NoteVault::read(&workspace));
    let lines: Vec<String> = found.iter().map(DuplicateCandidate::render_line).collect();
    assert_eq!(lines, expect, "{files:?}");
}

#[test]
fn names_that_differ_by_two_letters_are_named() {
    check(
        &[("a/colour.md", ""), ("b/color.md", ""), ("a/shed.md", "")],
        &["a/colour.md, b/color.md (names 1 letter apart)"],
    );
    check(
        &[("a/meeting-note.md", ""), ("a/meetings-notes.md", "")],
        &["a/meeting-note.md, a/meetings-notes.md (names 2 letters apart)"],
    );
    check(
        &[("a/plan.md", ""), ("b/Plan.md", "")],
        &["a/plan.md, b/Plan.md (the same name)"],
    );
}

#[test]
fn series_short_names_and_pages_of_their_own_kind_are_not() {
    check(
        &[
            ("a/2026-01-01-call.md", ""),
            ("a/2026-01-02-call.md", ""),
            ("a/v1.md", ""),
            ("a/v2.md", ""),
        ],
        &[],
    );
    check(&[("a/api.md", ""), ("a/cli.md", "")], &[]);
    check(&[("a/README.md", ""), ("b/README.md", "")], &[]);
    check(&[("a/planet.md", ""), ("a/garden.md", "")], &[]);
}

#[test]
fn the_same_links_in_front_are_a_sign() {
    let notes = ["n1", "n2", "n3", "n4", "n5", "n6"];
    let mut files: Vec<(String, String)> = notes
        .iter()
        .map(|it| (format!("p/{it}{it}x.md"), String::new()))
        .collect();
    let links = |which: &[usize]| -> String {
        let link = |it: &usize| format!("[[{0}{0}x]] ", notes[*it]);
        which.iter().map(link).collect()
    };
    files.push(("a/first.md".into(), links(&[0, 1, 2, 3, 4])));
    files.push(("b/other.md".into(), links(&[0, 1, 2, 3, 5])));
    files.push(("c/third.md".into(), links(&[0, 1, 2])));
    files.push(("d/fourth-one.md".into(), links(&[0, 4])));
    let files: Vec<(&str, &str)> = files
        .iter()
        .map(|(path, text)| (path.as_str(), text.as_str()))
        .collect();
    check(
        &files,
        &["a/first.md, b/other.md (4 of 5 top links in common)"],
    );
}

#[test]
fn ten_thousand_names_are_not_compared_with_each_other() {
    use crate::workspace::RelPath;
    let words = ["river", "stone", "cloud", "lamp", "paper", "glass", "wind"];
    let mut vault = NoteVault::default();
    for n in 0..10_000usize {
        let pick = |by: usize| words[(n / by) % words.len()];
        let letters: String = (0..4)
            .map(|at| (b'a' + ((n >> (at * 4)) & 15) as u8) as char)
            .collect();
        let name = format!(
            "meeting-{}-{}-{letters}{letters}{letters}.md",
            pick(1),
            pick(7)
        );
        vault.files.push(crate::links::VaultFile {
            path: RelPath::new(&name).unwrap(),
            role: crate::workspace::FileRole::Knowledge,
            mtime_ns: 0,
            note: None,
        });
    }
    let start = std::time::Instant::now();
    let found = find_duplicates(&vault);
    // Comparing all pairs takes minutes without optimisation.
    assert!(start.elapsed().as_secs() < 30, "{:?}", start.elapsed());
    assert!(found.iter().all(|it| it.files.len() >= 2));
}
