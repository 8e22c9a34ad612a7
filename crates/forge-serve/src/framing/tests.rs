use proptest::prelude::*;

use super::*;

fn framed(limit: usize, pieces: &[&[u8]]) -> Vec<MessageFrame> {
    let mut framer = FrameReader::new(limit);
    let mut frames = Vec::new();
    for piece in pieces {
        framer.feed_bytes(piece, &mut frames);
        assert!(framer.buffer.len() <= limit.max(MAX_HEADER_BYTES));
    }
    framer.finish(&mut frames);
    assert!(framer.buffer.is_empty());
    frames
}

/// Messages as their text, the others by name; `#` marks headers.
fn told(limit: usize, input: &str) -> Vec<String> {
    let mark = |framing| {
        if framing == MessageFraming::Headers {
            "#"
        } else {
            ""
        }
    };
    framed(limit, &[input.as_bytes()])
        .into_iter()
        .map(|frame| match frame {
            MessageFrame::Message { text, framing } => {
                format!("{}{}", mark(framing), String::from_utf8_lossy(&text))
            }
            MessageFrame::TooLong { id, framing } => match id {
                Some(id) => format!("{}too long: {id}", mark(framing)),
                None => format!("{}too long", mark(framing)),
            },
            MessageFrame::BadHeader => "bad header".to_owned(),
        })
        .collect()
}

#[test]
fn m18_both_framings_are_seen_without_being_told() {
    let cases: [(&str, &[&str]); 14] = [
        ("{}\n", &["{}"]),
        ("{}\r\n{}\r\n", &["{}", "{}"]),
        ("\n\n \n{}\n\n", &["{}"]),
        ("{}", &["{}"]),
        ("\u{feff}{}\n", &["{}"]),
        ("Content-Length: 2\r\n\r\n{}", &["#{}"]),
        ("content-length:2\n\n{}", &["#{}"]),
        (
            "Content-Type: application/json\r\nContent-Length: 2\r\n\r\n{}",
            &["#{}"],
        ),
        (
            "Content-Length: 3\r\n\r\n{\n}Content-Length: 2\r\n\r\n[]{}\n",
            &["#{\n}", "#[]", "{}"],
        ),
        ("Content-Length: 2\r\n\r\n{}\n{}\n", &["#{}", "{}"]),
        ("Content-Length: 0\r\n\r\n{}\n", &["{}"]),
        ("Content-Length: x\r\n\r\n{}\n", &["bad header", "{}"]),
        ("Content-Length: 2\r\n{}\n", &["bad header", "{}"]),
        ("Content-Length: 99\r\n\r\n{}", &[]),
    ];
    for (input, expect) in cases {
        assert_eq!(told(100, input), expect, "{input:?}");
    }
}

#[test]
fn what_is_too_long_is_left_out_and_its_id_told() {
    let filler = "x".repeat(90);
    let message = format!(r#"{{"params":"{filler}{filler}","id":5}}"#);
    let length = message.len();
    let cases = [
        (format!("{message}\n{{}}\n"), vec!["too long: 5", "{}"]),
        (message.clone(), vec!["too long: 5"]),
        (
            format!("Content-Length: {length}\r\n\r\n{message}{{}}\n"),
            vec!["#too long: 5", "{}"],
        ),
        (format!("{filler}{filler}\n{{}}\n"), vec!["too long", "{}"]),
        (
            format!("Content-Length: 18446744073709551615\r\n\r\n{message}"),
            vec![],
        ),
        (
            "Content-Length: 99999999999999999999999\r\n\r\n{}\n".to_owned(),
            vec!["bad header", "{}"],
        ),
        (
            format!("Content-Type: a\r\n{}", "x: y\r\n".repeat(3_000)),
            vec!["bad header"],
        ),
    ];
    for (input, expect) in &cases {
        let found = told(100, input);
        assert_eq!(found[..expect.len()], expect[..], "{input:?}");
    }
    let exact = "x".repeat(100);
    assert_eq!(told(100, &format!("{exact}\n")), [exact.as_str()]);
    assert_eq!(told(100, &format!("{exact}y\n")), ["too long"]);
}

/// Bytes that look like the wire often enough to get into every state.
fn wire() -> impl Strategy<Value = Vec<u8>> {
    let piece = prop_oneof![
        4 => Just(b"{\"id\":1}".to_vec()),
        3 => Just(b"\n".to_vec()),
        3 => Just(b"\r\n".to_vec()),
        2 => Just(b"Content-Length: ".to_vec()),
        2 => (0_usize..300).prop_map(|length| length.to_string().into_bytes()),
        1 => Just(b"Content-Type: x\r\n".to_vec()),
        2 => prop::collection::vec(any::<u8>(), 0..40),
        1 => Just(b"{\"params\":\"".repeat(20)),
    ];
    prop::collection::vec(piece, 0..40).prop_map(|pieces| pieces.concat())
}

proptest! {
    #[test]
    fn any_bytes_in_any_pieces_are_the_same_messages(
        bytes in wire(),
        cuts in prop::collection::vec(any::<prop::sample::Index>(), 0..20),
    ) {
        let mut cuts: Vec<usize> = cuts.iter().map(|cut| cut.index(bytes.len() + 1)).collect();
        cuts.extend([0, bytes.len()]);
        cuts.sort_unstable();
        let pieces: Vec<&[u8]> = cuts.windows(2).map(|pair| &bytes[pair[0]..pair[1]]).collect();
        let whole = framed(64, &[&bytes]);
        prop_assert_eq!(framed(64, &pieces), whole);
        let single: Vec<&[u8]> = bytes.chunks(1).collect();
        prop_assert_eq!(framed(64, &single), framed(64, &[&bytes]));
        for frame in framed(64, &[&bytes]) {
            if let MessageFrame::Message { text, .. } = frame {
                prop_assert!(text.len() <= MAX_HEADER_BYTES);
            }
        }
    }

    #[test]
    fn what_was_wrapped_is_found_again(texts in prop::collection::vec("[ -~]{1,50}", 1..8), headers: bool) {
        let framing = if headers { MessageFraming::Headers } else { MessageFraming::Lines };
        let mut wire = Vec::new();
        let mut expect = Vec::new();
        for text in &texts {
            let json = serde_json::to_vec(text).expect("a string is JSON");
            expect.push(MessageFrame::Message { text: json.clone(), framing });
            wire.extend(framing.wrap(json));
        }
        prop_assert_eq!(framed(200, &[&wire]), expect);
    }
}
