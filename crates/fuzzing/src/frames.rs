//! The server's standard input: the same messages however the bytes are cut,
//! none over the limit, and what is wrapped comes out as it went in.

#![allow(dead_code, reason = "the server uses the rest of what is compiled in")]

use crate::input::choice;

#[path = "../../forge-serve/src/framing.rs"]
mod framing;
#[path = "../../forge-serve/src/scan.rs"]
mod scan;

use framing::{FrameReader, MessageFrame, MessageFraming};
use rmcp::model::RequestId;
use scan::IdScan;

/// Above the length of a header, as the server's own limit is.
const LIMITS: [usize; 4] = [64, 40, 300, 4096];

/// The first byte chooses limit and size of the pieces.
pub(crate) fn run(data: &[u8]) {
    let Some((&first, bytes)) = data.split_first() else {
        return;
    };
    let pick = char::from(first).to_string();
    let limit = LIMITS[choice(&pick, LIMITS.len())];
    let size = 1 + choice(&pick, 35) / LIMITS.len();
    let whole = framed(limit, bytes, bytes.len().max(1));
    assert_eq!(whole, framed(limit, bytes, size));
    assert!(whole.len() <= bytes.len() + 1);
    for frame in whole {
        let MessageFrame::Message { text, framing } = frame else {
            continue;
        };
        // A message among headers may be as long as they.
        assert!(!text.is_empty() && text.len() <= limit.max(8192));
        if text.len() > limit {
            continue;
        }
        assert_eq!(
            text.contains(&b'\n'),
            framing == MessageFraming::Headers && text.contains(&b'\n')
        );
        let mut again = MessageFraming::Headers.wrap(text.clone());
        again.extend(MessageFraming::Lines.wrap(b"{}".to_vec()));
        let again = framed(limit, &again, size);
        assert_eq!(again.len(), 2, "{again:?}");
        assert!(matches!(&again[0], MessageFrame::Message { text: same, .. } if *same == text));
    }
    id(bytes);
}

fn framed(limit: usize, bytes: &[u8], size: usize) -> Vec<MessageFrame> {
    let mut framer = FrameReader::new(limit);
    let mut frames = Vec::new();
    for piece in bytes.chunks(size) {
        framer.feed_bytes(piece, &mut frames);
    }
    framer.finish(&mut frames);
    frames
}

/// The id of a message that is not kept is the one that a parser would find.
fn id(bytes: &[u8]) {
    let mut scan = IdScan::default();
    bytes.chunks(3).for_each(|piece| scan.feed_bytes(piece));
    let found = scan.found_id();
    let Ok(message) = serde_json::from_slice::<serde_json::Value>(bytes) else {
        return;
    };
    let real = message.get("id").cloned();
    let real = real.and_then(|id| serde_json::from_value::<RequestId>(id).ok());
    assert!(found.is_none() || found == real, "{found:?} {real:?}");
}
