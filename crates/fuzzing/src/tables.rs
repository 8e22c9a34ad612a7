//! The manifest's tables and the closets: rows are changed one by one, text
//! never becomes a row, and a file that nobody changed keeps its bytes.

use forge_app::document::{EditError, TextEdit, parse_document};
use forge_app::routing::closets::{self, ClosetField, EntryContext};
use forge_app::routing::manifest::{Manifest, ManifestEntry, ManifestPart, NewManifestEntry};

use crate::input::{choice, texts};

const PARTS: [ManifestPart; 4] = [
    ManifestPart::Tier1,
    ManifestPart::Tier2,
    ManifestPart::Tier3,
    ManifestPart::HubMap,
];

/// `pick ␞ text ␞ target ␞ manifest`.
pub(crate) fn manifest(data: &[u8]) {
    let [pick, summary, target, text] = texts(data);
    let before = Manifest::parse(text.as_str());
    assert_eq!(before.text(), text);
    let _ = (
        before.mode(),
        before.age(),
        before.domains(),
        before.hub_map(),
    );
    let _ = (before.retired_files(), before.config_value("root"));
    // A row that cannot be changed without another is left alone.
    let apply = |edit: Option<TextEdit>| match before.text_after_edits(vec![edit?]) {
        Ok(after) => Some(Manifest::parse(after)),
        Err(EditError::Disturbs { .. }) => None,
        Err(error) => panic!("{error}"),
    };
    for (at, entry) in before.entries().iter().enumerate().take(4) {
        let others = all_but(&before, at);
        if let Some(after) = apply(before.set_summary(entry, &summary)) {
            assert_eq!(all_but(&after, at), others, "{:?}", after.text());
            let new = &after.entries()[at];
            assert_eq!((new.part, &new.target), (entry.part, &entry.target));
            assert_eq!(after.set_summary(new, &summary), None, "{:?}", after.text());
        }
        if let Some(after) = apply(before.remove_entry(entry)) {
            let left = all_but(&after, usize::MAX);
            assert_eq!(left, others, "{:?}", after.text());
        }
    }
    let part = PARTS[choice(&pick, PARTS.len())];
    let new = NewManifestEntry {
        name: "Name",
        target: &target,
        text: &summary,
        note: "",
    };
    if !target.trim().is_empty()
        && let Some(after) = apply(before.list_entry(part, &new))
    {
        assert!(after.entries().len() <= before.entries().len() + 1);
        assert_eq!(after.list_entry(part, &new), None, "{:?}", after.text());
    }
    for edit in [before.set_version(), before.set_summary_format(2)] {
        let Some(after) = apply(edit) else {
            continue;
        };
        // A marker may stand in a cell.
        let lists = |it: &Manifest| -> Vec<[String; 4]> {
            let shown = |text: &str| text.split("<!--").next().unwrap_or_default().to_owned();
            let words = |it: &ManifestEntry| it.cell_values().1.map(shown);
            it.entries().iter().map(words).collect()
        };
        assert_eq!(lists(&after), lists(&before), "{:?}", after.text());
    }
}

/// What the entries say but for one of them.
fn all_but(manifest: &Manifest, one: usize) -> Vec<(ManifestPart, [&str; 4])> {
    let entries = manifest.entries().iter().enumerate();
    let others = entries.filter(|(at, _)| *at != one);
    others.map(|(_, it)| it.cell_values()).collect()
}

/// A closets file, and then a document to make an entry of.
pub(crate) fn closets(data: &[u8]) {
    let [file, text] = texts(data);
    let read = closets::file::ClosetFile::parse(file.as_str());
    assert_eq!(read.render(), file);
    for block in read.entries() {
        let _ = (
            block.is_refined(),
            block.char_length(),
            block.entry.render_lines(),
        );
    }
    let document = parse_document(text.as_str());
    let context = EntryContext {
        name: "note",
        archived: false,
    };
    let entry = closets::extract_entry(&document, &context);
    let lines = entry.render_lines();
    let long: usize = lines.iter().map(|line| line.chars().count() + 1).sum();
    assert!(long <= closets::MAX_ENTRY_CHARS, "{long}: {lines:?}");
    assert!(
        lines.iter().all(|line| !line.contains(['\n', '\r'])),
        "{lines:?}"
    );
    let file = format!(
        "# Closets\n\n## [[note]]\n{}\n\n## [[other]]\n",
        lines.join("\n")
    );
    let read = closets::file::ClosetFile::parse(file.as_str());
    let entries: Vec<_> = read.entries().collect();
    assert_eq!(entries.len(), 2, "{file}");
    assert_eq!(entries[0].entry, entry, "{file}");
    assert!(entries[1].entry.is_empty(), "{file}");
    assert!(parse_document(file.as_str()).links.len() >= 2);
    let _ = entry.values(ClosetField::Claims);
}
