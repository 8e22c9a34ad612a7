//! Two branches of one file: one side alone is the result, no line that a side
//! added is lost, and merging again changes nothing.

use forge_app::teams::{MergeKind, merge_texts};

use crate::input::{choice, texts};

const KINDS: [MergeKind; 7] = [
    MergeKind::Sessions,
    MergeKind::Decisions,
    MergeKind::Progress,
    MergeKind::Archive,
    MergeKind::Pointers,
    MergeKind::Learnings,
    MergeKind::State,
];

/// `pick ␞ base ␞ ours ␞ theirs`.
pub(crate) fn run(data: &[u8]) {
    let [pick, base, ours, theirs] = texts(data);
    let kind = KINDS[choice(&pick, KINDS.len())];
    for (left, right) in [(&ours, &ours), (&base, &ours), (&ours, &base)] {
        let merged = merge_texts(kind, &base, left, right).expect("one side is the result");
        assert_eq!(merged.text, ours);
    }
    let Ok(merged) = merge_texts(kind, &base, &ours, &theirs) else {
        return;
    };
    assert_eq!(
        merge_texts(kind, &base, &ours, &theirs).as_ref(),
        Ok(&merged)
    );
    // Every line that is new on a side is there, conflict or not, but for names
    // and boxes, which follow rules of their own.
    let plain = |line: &&str| {
        line.trim().len() > 1
            && !line.to_lowercase().contains("dec-")
            && !line.to_lowercase().contains("session")
            && !line.contains("- [")
            && !line.contains("None")
    };
    for side in [&ours, &theirs] {
        // Of two byte order marks one is enough.
        for line in side.trim_start_matches('\u{feff}').lines().filter(plain) {
            let new = !base.contains(line.trim());
            assert!(
                !new || merged.text.contains(line.trim()),
                "{line:?} {merged:?}"
            );
        }
    }
    if merged.conflicts > 0 {
        return;
    }
    for parent in [&ours, &theirs] {
        for (left, right) in [(&merged.text, parent), (parent, &merged.text)] {
            let again = merge_texts(kind, parent, left, right).expect("one side is the result");
            assert_eq!(again.text, merged.text);
        }
    }
}
