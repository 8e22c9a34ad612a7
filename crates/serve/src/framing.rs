//! Splits bytes into messages, and wraps messages: JSON on lines of its own, as
//! MCP has it, or behind `Content-Length` headers, as older clients of memory
//! servers send it. The form is detected at every message. No input makes it
//! fail, and none makes it keep more than one message of the limit's length.

use std::mem;

use rmcp::model::RequestId;

use super::scan::IdScan;

/// Upper bound for all lines of one block of headers together.
const HEADER_LIMIT: usize = 8_192;

/// Upper bound for a buffer that is kept after its message; a larger one is
/// freed.
const KEPT_CAPACITY: usize = 64 * 1024;

/// Form of a message on the wire.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Framing {
    Lines,
    Headers,
}

impl Framing {
    /// Wraps a message for the wire. JSON that a serializer wrote has no line
    /// break, so that it is one line.
    pub(crate) fn wrap(self, mut json: Vec<u8>) -> Vec<u8> {
        match self {
            Self::Lines => {
                json.push(b'\n');
                json
            }
            Self::Headers => {
                let mut bytes = format!("Content-Length: {}\r\n\r\n", json.len()).into_bytes();
                bytes.append(&mut json);
                bytes
            }
        }
    }
}

/// Part of the input.
#[derive(Debug, PartialEq)]
pub(crate) enum Frame {
    /// One message, of which only the end is known.
    Message { text: Vec<u8>, framing: Framing },
    /// A message over the limit, skipped.
    TooLong {
        id: Option<RequestId>,
        framing: Framing,
    },
    /// Headers without a length, skipped.
    BadHeader,
}

/// Reader that takes bytes in pieces of any size.
#[derive(Debug)]
pub(crate) struct Framer {
    limit: usize,
    state: State,
    /// Bytes of the line or body so far.
    buffer: Vec<u8>,
}

/// Position of the reader in the input.
#[derive(Debug)]
enum State {
    Line,
    /// In the rest of a line over the limit.
    SkipLine(IdScan),
    /// In header lines after the first one.
    Header {
        length: Option<usize>,
        seen: usize,
    },
    /// In the rest of a header line over the limit.
    SkipHeader,
    Body {
        left: usize,
    },
    SkipBody {
        left: usize,
        scan: IdScan,
    },
}

impl Framer {
    pub(crate) fn new(limit: usize) -> Self {
        Self {
            limit,
            state: State::Line,
            buffer: Vec::new(),
        }
    }

    /// Takes a piece of input and adds the frames that end in it.
    pub(crate) fn feed(&mut self, mut bytes: &[u8], frames: &mut Vec<Frame>) {
        while !bytes.is_empty() {
            let taken = match self.state {
                State::Body { left } | State::SkipBody { left, .. } => {
                    let taken = left.min(bytes.len());
                    self.body(&bytes[..taken], frames);
                    taken
                }
                _ => {
                    let newline = bytes.iter().position(|&byte| byte == b'\n');
                    let taken = newline.map_or(bytes.len(), |at| at + 1);
                    self.line(&bytes[..taken], newline.is_some(), frames);
                    taken
                }
            };
            bytes = &bytes[taken..];
        }
    }

    /// Takes the end of input. A last line may lack its line break; a truncated
    /// body is no message.
    pub(crate) fn finish(&mut self, frames: &mut Vec<Frame>) {
        match &self.state {
            State::Line | State::SkipLine(_) => self.line(b"", true, frames),
            State::Header { .. } => frames.push(Frame::BadHeader),
            State::SkipHeader | State::Body { .. } | State::SkipBody { .. } => {}
        }
        self.state = State::Line;
        self.buffer = Vec::new();
    }

    /// Takes a piece of a line, and whether the line ends with it.
    fn line(&mut self, piece: &[u8], ends: bool, frames: &mut Vec<Frame>) {
        match &mut self.state {
            State::Line => {
                // The line break does not count, so that a message of exactly
                // the limit passes.
                if self.buffer.len() + piece.len() > self.limit + usize::from(ends) {
                    let mut scan = IdScan::default();
                    scan.feed(&self.take_buffer());
                    self.state = State::SkipLine(scan);
                    return self.line(piece, ends, frames);
                }
                self.buffer.extend_from_slice(piece);
                if ends {
                    let line = self.take_buffer();
                    self.whole_line(line, frames);
                }
            }
            State::SkipLine(scan) => {
                scan.feed(piece);
                if ends {
                    let id = mem::take(scan).id();
                    let framing = Framing::Lines;
                    frames.push(Frame::TooLong { id, framing });
                    self.state = State::Line;
                }
            }
            State::Header { seen, .. } => {
                *seen += piece.len();
                if *seen > HEADER_LIMIT {
                    frames.push(Frame::BadHeader);
                    self.buffer = Vec::new();
                    self.state = if ends { State::Line } else { State::SkipHeader };
                    return;
                }
                self.buffer.extend_from_slice(piece);
                if ends {
                    let line = self.take_buffer();
                    self.header_line(line, frames);
                }
            }
            State::SkipHeader => {
                if ends {
                    self.state = State::Line;
                }
            }
            State::Body { .. } | State::SkipBody { .. } => unreachable!("bodies have no lines"),
        }
    }

    fn whole_line(&mut self, mut line: Vec<u8>, frames: &mut Vec<Frame>) {
        // A byte order mark is not part of the message.
        if line.starts_with(b"\xEF\xBB\xBF") {
            line.drain(..3);
        }
        if starts_headers(&line) {
            let seen = line.len();
            self.state = State::Header { length: None, seen };
            if seen > HEADER_LIMIT {
                frames.push(Frame::BadHeader);
                self.state = State::Line;
                return;
            }
            return self.header_line(line, frames);
        }
        line.truncate(line.trim_ascii_end().len());
        if !line.is_empty() {
            let framing = Framing::Lines;
            frames.push(Frame::Message {
                text: line,
                framing,
            });
        }
    }

    fn header_line(&mut self, line: Vec<u8>, frames: &mut Vec<Frame>) {
        let State::Header { length, .. } = &mut self.state else {
            unreachable!("the caller is among headers");
        };
        let text = line.trim_ascii();
        if text.is_empty() {
            self.state = match *length {
                None => {
                    frames.push(Frame::BadHeader);
                    State::Line
                }
                Some(0) => State::Line,
                Some(left) if left > self.limit => State::SkipBody {
                    left,
                    scan: IdScan::default(),
                },
                Some(left) => State::Body { left },
            };
            return;
        }
        // A client that sends a message where a header should be did not mean
        // headers.
        if text.starts_with(b"{") || text.starts_with(b"[") {
            frames.push(Frame::BadHeader);
            self.state = State::Line;
            return self.whole_line(line, frames);
        }
        if let Some(value) = header_value(text, "content-length") {
            let value = str::from_utf8(value).ok();
            *length = value.and_then(|value| value.trim().parse().ok());
        }
    }

    fn body(&mut self, piece: &[u8], frames: &mut Vec<Frame>) {
        let framing = Framing::Headers;
        match &mut self.state {
            State::Body { left } => {
                *left -= piece.len();
                let ended = *left == 0;
                self.buffer.extend_from_slice(piece);
                if ended {
                    let text = self.take_buffer();
                    frames.push(Frame::Message { text, framing });
                    self.state = State::Line;
                }
            }
            State::SkipBody { left, scan } => {
                *left -= piece.len();
                scan.feed(piece);
                if *left == 0 {
                    let id = mem::take(scan).id();
                    frames.push(Frame::TooLong { id, framing });
                    self.state = State::Line;
                }
            }
            _ => unreachable!("the caller is in a body"),
        }
    }

    /// Takes the buffer, whose memory is reused unless it is large.
    fn take_buffer(&mut self) -> Vec<u8> {
        if self.buffer.capacity() > KEPT_CAPACITY {
            return mem::take(&mut self.buffer);
        }
        let taken = self.buffer.clone();
        self.buffer.clear();
        taken
    }
}

/// Returns `true` if a line is a header; no JSON begins like one.
fn starts_headers(line: &[u8]) -> bool {
    ["content-length", "content-type"]
        .iter()
        .any(|name| header_value(line, name).is_some())
}

fn header_value<'a>(line: &'a [u8], name: &str) -> Option<&'a [u8]> {
    let colon = line.iter().position(|&byte| byte == b':')?;
    let (found, value) = line.split_at(colon);
    found
        .trim_ascii()
        .eq_ignore_ascii_case(name.as_bytes())
        .then(|| &value[1..])
}

#[cfg(test)]
#[path = "framing/tests.rs"]
mod tests;
