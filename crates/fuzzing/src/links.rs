//! Links and renames: after a rename every link leads where it led before, and
//! renaming back gives the bytes from before.

use std::collections::BTreeMap;

use forge_app::links::{LinkResolution, NoteVault, rename_file, resolve_destination};
use forge_app::workspace::{RelPath, Workspace};

use crate::input::{choice, every};
use crate::scratch;

/// Names that can be mistaken for one another.
const PATHS: [&str; 6] = [
    "knowledge/note.md",
    "knowledge/sub/note.md",
    "knowledge/Other Note.md",
    "knowledge/sub/deep/ünï.md",
    "readme.md",
    "knowledge/a.b.md",
];

/// `pick ␞ new name ␞ text of the first file ␞ of the second …`.
pub(crate) fn run(data: &[u8]) {
    let texts = every(data);
    let [pick, new, rest @ ..] = texts.as_slice() else {
        return;
    };
    let folder = scratch::folder();
    let count = rest.len().min(PATHS.len());
    if count == 0 {
        return;
    }
    for (path, text) in PATHS.iter().zip(rest) {
        scratch::write(folder.path(), path, text);
    }
    let workspace = Workspace::open(folder.path()).expect("a folder can be opened");
    let before = NoteVault::read(&workspace);
    let from = RelPath::new(PATHS[choice(pick, count)]).expect("a path");
    let Ok(to) = resolve_destination(&before, &from, new) else {
        return;
    };
    let Ok(renaming) = rename_file(&workspace, &before, &from, &to) else {
        return;
    };
    let now = jiff::Timestamp::UNIX_EPOCH;
    let led = places(&before);
    let bytes = all(&workspace, &before);
    // A name that the folder cannot hold, such as one that is too long.
    let Ok(receipt) = renaming.proposal.apply(&workspace, "rename", now) else {
        return;
    };
    let after = NoteVault::read(&workspace);
    let moved = |path: &str| {
        if path == from.as_str() {
            to.to_string()
        } else {
            path.to_owned()
        }
    };
    let expect: Vec<Vec<Place>> = led
        .into_iter()
        .map(|(path, links)| (moved(&path), links))
        .collect::<BTreeMap<_, _>>()
        .into_values()
        .map(|links| {
            let follow = |place: Place| place.map(|path| moved(&path));
            links.into_iter().map(follow).collect()
        })
        .collect();
    let found: Vec<Vec<Place>> = places(&after).into_values().collect();
    // Where no note is looked for, as in hidden folders, it is none any more.
    if renaming.left_alone.is_empty() && after.position_of(&to).is_some() {
        let shown = format!("{from} to {to}: {:?}", renaming.proposal);
        assert_eq!(found.len(), expect.len(), "{shown}");
        for (found, expect) in found.iter().zip(&expect) {
            assert_eq!(found.len(), expect.len(), "{shown}");
            // One that led nowhere may find the new name.
            let held = |(found, expect): (&Place, &Place)| expect.is_none() || found == expect;
            assert!(
                found.iter().zip(expect).all(held),
                "{found:?} {expect:?} {shown}"
            );
        }
    }
    workspace
        .undo(receipt.id.as_deref(), now)
        .expect("a rename can be undone");
    assert_eq!(all(&workspace, &NoteVault::read(&workspace)), bytes);
}

/// The one file that a link leads to.
type Place = Option<String>;

/// Each note with where its links lead.
fn places(vault: &NoteVault) -> BTreeMap<String, Vec<Place>> {
    vault
        .notes()
        .map(|(index, file, note)| {
            let lead = |link| match vault.resolve(index, link) {
                LinkResolution::File(file) => Some(vault.file(file).path.to_string()),
                _ => None,
            };
            let links = note.links.iter().map(lead).collect();
            (file.path.to_string(), links)
        })
        .collect()
}

fn all(workspace: &Workspace, vault: &NoteVault) -> Vec<(String, Vec<u8>)> {
    vault
        .notes()
        .map(|(_, file, _)| {
            let bytes = std::fs::read(workspace.absolute_path(&file.path)).expect("it is there");
            (file.path.to_string(), bytes)
        })
        .collect()
}
