//! Reads a file of JSON lines, one at a time, whatever the length of the file
//! or a line. A line that cannot be used is reported with its number and never
//! ends the reading.

use std::io::{self, BufRead, BufReader};
use std::path::Path;

use serde_json::Value;

use crate::workspace::regular::{self, FileReadError, LinkPolicy};

/// Bytes of the longest line that is read; pictures make lines long, words do
/// not.
pub(super) const MAX_JSONL_LINE_BYTES: usize = 16 << 20;

/// Bytes of the largest file that is read; a larger one is not a conversation,
/// and reading it would take minutes.
const MAX_FILE_BYTES: u64 = 1 << 30;

/// Unusable lines that are listed; the rest is counted.
const MAX_NAMED_BAD_LINES: usize = 20;

/// A line that was skipped, with the reason.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct BadLine {
    /// The line, counted from 1.
    pub line: usize,
    /// Why it was skipped.
    pub why: String,
}

/// Result of reading a file.
#[derive(Clone, Debug, Default)]
pub(super) struct JsonlReadResult {
    /// Hash of the bytes that were read.
    pub(super) hash: String,
    pub(super) bad: Vec<BadLine>,
    /// Further bad lines, beyond those in `bad`.
    pub(super) more_bad: usize,
}

/// Passes every object of a file to `each`, with its line number. `each`
/// returns whether to continue.
pub(super) fn for_each_object(
    path: &Path,
    mut each: impl FnMut(usize, &Value) -> bool,
) -> io::Result<JsonlReadResult> {
    let file = regular::open_regular(path, LinkPolicy::Follow)?;
    let size = file.metadata()?.len();
    if size > MAX_FILE_BYTES {
        let limit = MAX_FILE_BYTES;
        return Err(FileReadError::TooLarge { size, limit }.into());
    }
    read_objects(BufReader::with_capacity(1 << 18, file), &mut each)
}

/// Reads objects until the end, or until `each` stops it.
fn read_objects(
    mut reader: impl BufRead,
    each: &mut impl FnMut(usize, &Value) -> bool,
) -> io::Result<JsonlReadResult> {
    let mut hasher = blake3::Hasher::new();
    let mut read = JsonlReadResult::default();
    let mut line = Vec::new();
    for number in 1.. {
        line.clear();
        let end = read_next_line(&mut reader, &mut line, &mut hasher)?;
        let mut bad = |why: String| {
            if read.bad.len() < MAX_NAMED_BAD_LINES {
                read.bad.push(BadLine { line: number, why })
            } else {
                read.more_bad += 1
            }
        };
        match parse_object(&line, end) {
            Ok(None) => {}
            Ok(Some(value)) => {
                if !each(number, &value) {
                    break;
                }
            }
            Err(why) => bad(why),
        }
        if end.of_file {
            break;
        }
    }
    read.hash = hasher.finalize().to_hex()[..32].to_owned();
    Ok(read)
}

/// Ending of a line.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
struct LineEnd {
    of_file: bool,
    too_long: bool,
}

/// Parses a line as a JSON object; `None` for an empty line.
fn parse_object(line: &[u8], end: LineEnd) -> Result<Option<Value>, String> {
    if end.too_long {
        return Err(format!(
            "it is longer than {} MiB",
            MAX_JSONL_LINE_BYTES >> 20
        ));
    }
    let Ok(text) = std::str::from_utf8(line) else {
        return Err("it is not UTF-8".to_owned());
    };
    let text = text.trim_start_matches('\u{feff}').trim();
    if text.is_empty() {
        return Ok(None);
    }
    match serde_json::from_str(text) {
        Ok(value @ Value::Object(_)) => Ok(Some(value)),
        Ok(_) => Err("it is not a JSON object".to_owned()),
        Err(_) if end.of_file => Err("it is cut off; the session may still be running".to_owned()),
        Err(error) => Err(format!("it is not valid JSON (column {})", error.column())),
    }
}

/// Reads up to the next line feed. Of a line that is too long, only the end is
/// searched.
fn read_next_line(
    reader: &mut impl BufRead,
    line: &mut Vec<u8>,
    hasher: &mut blake3::Hasher,
) -> io::Result<LineEnd> {
    let mut long = false;
    loop {
        let bytes = match reader.fill_buf() {
            Err(error) if error.kind() == io::ErrorKind::Interrupted => continue,
            other => other?,
        };
        if bytes.is_empty() {
            return Ok(LineEnd {
                of_file: true,
                too_long: long,
            });
        }
        let (taken, found) = match memchr::memchr(b'\n', bytes) {
            Some(at) => (at + 1, true),
            None => (bytes.len(), false),
        };
        // Also of a line that is too long, so that the hash covers every byte
        // read.
        hasher.update(&bytes[..taken]);
        long |= line.len() + taken > MAX_JSONL_LINE_BYTES;
        if long {
            line.clear();
        } else {
            line.extend_from_slice(&bytes[..taken]);
        }
        reader.consume(taken);
        if found {
            return Ok(LineEnd {
                of_file: false,
                too_long: long,
            });
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn bad_lines_are_named_and_the_others_used() {
        let mut text = b"{\"a\":1}\n\nnot json\n42\n{\"b\":\"\xff\"}\n".to_vec();
        text.extend(vec![b'x'; MAX_JSONL_LINE_BYTES + 5]);
        text.extend(b"\n{\"c\":3}\r\n{\"d\":");
        let mut seen = Vec::new();
        let read = read_objects(&text[..], &mut |line, _: &Value| {
            seen.push(line);
            true
        });
        let read = read.unwrap();
        assert_eq!(seen, [1, 7]);
        let bad: Vec<_> = read
            .bad
            .iter()
            .map(|bad| (bad.line, bad.why.as_str()))
            .collect();
        assert_eq!(
            bad,
            [
                (3, "it is not valid JSON (column 2)"),
                (4, "it is not a JSON object"),
                (5, "it is not UTF-8"),
                (6, "it is longer than 16 MiB"),
                (8, "it is cut off; the session may still be running"),
            ]
        );
    }
}
