//! Dates in text: in order, on whole characters, and as they are written they
//! are read again.

use forge_app::document::when;
use forge_app::document::{document_date, parse_document};
use jiff::civil::date;

pub(crate) fn run(data: &[u8]) {
    let text = String::from_utf8_lossy(data);
    let mut at = 0;
    for anchor in [None, Some(date(2026, 11, 15)), Some(date(9999, 12, 31))] {
        at *= 0;
        for found in when::find_date_ranges(&text, anchor) {
            assert!(
                found.span.start >= at && !found.span.is_empty(),
                "{found:?}"
            );
            at = found.span.end;
            assert!(text.get(found.span.clone()).is_some(), "{found:?}");
            assert!(found.from <= found.to, "{found:?}");
            assert!(anchor.is_some() || !found.relative, "{found:?}");
            assert!(found.overlaps(found.from, found.to));
            let written = found.to_compact_text();
            if (1000..=9999).contains(&found.from.year()) {
                let read = when::parse_date_range(&written);
                assert_eq!(read, Some((found.from, found.to)), "{written}");
            }
        }
    }
    if let Some((from, to)) = when::parse_date_range(&text) {
        let _ = from <= to;
    }
    let document = parse_document(text.as_ref());
    let _ = document_date(&document, &text);
    assert!(document.dates.is_sorted_by_key(|it| it.span.start));
}
