//! The manifest's tables and the closets: rows are changed one by one, text
//! never becomes a row, and a file that nobody changed keeps its bytes.

use forge::document::parse;
use forge::routing::closets::{self, Context, Field};
use forge::routing::manifest::{Manifest, New, Part};

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
    for entry in before.entries().iter().take(4) {
        if let Some(edit) = before.set_text(entry, &summary) {
            let after = Manifest::parse(before.edited(vec![edit]).expect("it fits"));
            let shown = after.text();
            assert_eq!(after.entries().len(), before.entries().len(), "{shown:?}");
            for (new, old) in after.entries().iter().zip(before.entries()) {
                assert_eq!(
                    (new.part, &new.target),
                    (old.part, &old.target),
                    "{shown:?}"
                );
            }
        }
        // Keys are never taken out.
        if entry.part != Part::Config
            && let Some(edit) = before.unlist(entry)
        {
            let after = Manifest::parse(before.edited(vec![edit]).expect("it fits"));
            let shown = after.text();
            assert!(
                after.entries().len() < before.entries().len(),
                "{entry:?} {shown:?}"
            );
        }
    }
    let part = PARTS[choice(&pick, PARTS.len())];
    let new = New {
        name: "Name",
        target: &target,
        text: &summary,
        note: "",
    };
    if target.trim().is_empty() {
        return;
    }
    if let Some(edit) = before.list(part, &new) {
        let after = Manifest::parse(before.edited(vec![edit]).expect("it fits"));
        assert!(after.entries().len() <= before.entries().len() + 1);
    }
    for edit in [before.set_version(), before.set_summary_format(2)] {
        let Some(edit) = edit else { continue };
        let after = Manifest::parse(before.edited(vec![edit]).expect("it fits"));
        // A marker may stand in the cell that names the target.
        let shown = |target: &str| target.split("<!--").next().unwrap_or_default().to_owned();
        let lists = |it: &Manifest| -> Vec<String> {
            it.entries().iter().map(|it| shown(&it.target)).collect()
        };
        assert_eq!(lists(&after), lists(&before), "{:?}", after.text());
    }
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
