//! The manifest's tables and the closets: rows are changed one by one, text
//! never becomes a row, and a file that nobody changed keeps its bytes.

use forge_app::document::{Edit, EditError, parse};
use forge_app::routing::closets::{self, Context, Field};
use forge_app::routing::manifest::{Entry, Manifest, New, Part};

use crate::input::{choice, texts};

const PARTS: [Part; 4] = [Part::Tier1, Part::Tier2, Part::Tier3, Part::HubMap];

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
    let _ = (before.retired(), before.config("root"));
    // A row that cannot be changed without another is left alone.
    let apply = |edit: Option<Edit>| match before.edited(vec![edit?]) {
        Ok(after) => Some(Manifest::parse(after)),
        Err(EditError::Disturbs { .. }) => None,
        Err(error) => panic!("{error}"),
    };
    for (at, entry) in before.entries().iter().enumerate().take(4) {
        let others = all_but(&before, at);
        if let Some(after) = apply(before.set_text(entry, &summary)) {
            assert_eq!(all_but(&after, at), others, "{:?}", after.text());
            let new = &after.entries()[at];
            assert_eq!((new.part, &new.target), (entry.part, &entry.target));
            assert_eq!(after.set_text(new, &summary), None, "{:?}", after.text());
        }
        if let Some(after) = apply(before.unlist(entry)) {
            let left = all_but(&after, usize::MAX);
            assert_eq!(left, others, "{:?}", after.text());
        }
    }
    let part = PARTS[choice(&pick, PARTS.len())];
    let new = New {
        name: "Name",
        target: &target,
        text: &summary,
        note: "",
    };
    if !target.trim().is_empty()
        && let Some(after) = apply(before.list(part, &new))
    {
        assert!(after.entries().len() <= before.entries().len() + 1);
        assert_eq!(after.list(part, &new), None, "{:?}", after.text());
    }
    for edit in [before.set_version(), before.set_summary_format(2)] {
        let Some(after) = apply(edit) else {
            continue;
        };
        // A marker may stand in a cell.
        let lists = |it: &Manifest| -> Vec<[String; 4]> {
            let shown = |text: &str| text.split("<!--").next().unwrap_or_default().to_owned();
            let words = |it: &Entry| it.words().1.map(shown);
            it.entries().iter().map(words).collect()
        };
        assert_eq!(lists(&after), lists(&before), "{:?}", after.text());
    }
}

/// What the entries say but for one of them.
fn all_but(manifest: &Manifest, one: usize) -> Vec<(Part, [&str; 4])> {
    let entries = manifest.entries().iter().enumerate();
    let others = entries.filter(|(at, _)| *at != one);
    others.map(|(_, it)| it.words()).collect()
}

/// A closets file, and then a document to make an entry of.
pub(crate) fn closets(data: &[u8]) {
    let [file, text] = texts(data);
    let read = closets::file::File::parse(file.as_str());
    assert_eq!(read.render(), file);
    for block in read.entries() {
        let _ = (block.is_refined(), block.length(), block.entry.lines());
    }
    let document = parse(text.as_str());
    let context = Context {
        name: "note",
        archived: false,
    };
    let entry = closets::extract(&document, &context);
    let lines = entry.lines();
    let long: usize = lines.iter().map(|line| line.chars().count() + 1).sum();
    assert!(long <= closets::LONGEST_ENTRY, "{long}: {lines:?}");
    assert!(
        lines.iter().all(|line| !line.contains(['\n', '\r'])),
        "{lines:?}"
    );
    let file = format!(
        "# Closets\n\n## [[note]]\n{}\n\n## [[other]]\n",
        lines.join("\n")
    );
    let read = closets::file::File::parse(file.as_str());
    let entries: Vec<_> = read.entries().collect();
    assert_eq!(entries.len(), 2, "{file}");
    assert_eq!(entries[0].entry, entry, "{file}");
    assert!(entries[1].entry.is_empty(), "{file}");
    assert!(parse(file.as_str()).links.len() >= 2);
    let _ = entry.values(Field::Claims);
}
