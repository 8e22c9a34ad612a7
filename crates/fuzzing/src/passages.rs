//! Passages: within their size, in order, with every word of the text in one.

use forge_app::document::parse_document;
use forge_app::index::{PassageSizes, chunk::split_into_passages};

pub(crate) fn run(data: &[u8]) {
    let Some((&first, rest)) = data.split_first() else {
        return;
    };
    let text = String::from_utf8_lossy(rest);
    let sizes = PassageSizes::with_limit(20 + usize::from(first));
    let document = parse_document(text.as_ref());
    let passages = split_into_passages(&document, sizes);
    let mut together = String::new();
    let mut line = 1;
    for passage in &passages {
        assert!(passage.tokens <= sizes.most, "{passage:?}");
        assert!(passage.lines.0 <= passage.lines.1, "{passage:?}");
        assert!(passage.lines.1 <= document.line_starts.len(), "{passage:?}");
        assert!(passage.lines.0 >= line, "{passages:?}");
        line = passage.lines.0;
        together += &passage.text;
        together.push('\n');
    }
    // What stands alone and is never too long for a passage.
    let short = |word: &&str| word.len() < 12 && word.bytes().all(|b| b.is_ascii_alphanumeric());
    for word in text.split_whitespace().filter(short) {
        assert!(together.contains(word), "{word:?} of {text:?}");
    }
}
