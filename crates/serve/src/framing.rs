//! Bytes to messages, and back: JSON on lines of its own, as MCP has it, or
//! behind `Content-Length` headers, as older clients of memory servers send it.
//! Which of the two is seen anew at every message. No input makes it fail, and
//! none makes it keep more than one message of the limit's length.

use std::mem;

use rmcp::model::RequestId;

use super::scan::IdScan;

/// All lines of one block of headers together.
const HEADER_LIMIT: usize = 8_192;

/// A buffer above this is given back after its message.
const KEPT_CAPACITY: usize = 64 * 1024;

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Framing {
    Lines,
    Headers,
}

impl Framing {
    /// The bytes on the wire. JSON that a serializer wrote has no line break.
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

#[derive(Debug, PartialEq)]
pub(crate) enum Frame {
    /// One message, of which nothing is known but its end.
    Message { text: Vec<u8>, framing: Framing },
    /// A message over the limit, left out.
    TooLong {
        id: Option<RequestId>,
        framing: Framing,
    },
    /// Headers that tell no length, left out.
    BadHeader,
}

/// Takes bytes in pieces of any size.
#[derive(Debug)]
pub(crate) struct Framer {
    limit: usize,
    state: State,
    /// What has come of the line or the body under way.
    buffer: Vec<u8>,
}

#[derive(Debug)]
enum State {
    Line,
    /// The rest of a line over the limit.
    SkipLine(IdScan),
    /// Header lines after the first one.
    Header {
        length: Option<usize>,
        seen: usize,
    },
    /// The rest of a header line over the limit.
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

    /// The input is over. A last line may lack its line break; a body that was
    /// cut off is no message.
    pub(crate) fn finish(&mut self, frames: &mut Vec<Frame>) {
        match &self.state {
            State::Line | State::SkipLine(_) => self.line(b"", true, frames),
            State::Header { .. } => frames.push(Frame::BadHeader),
            State::SkipHeader | State::Body { .. } | State::SkipBody { .. } => {}
        }
        self.state = State::Line;
        self.buffer = Vec::new();
    }

    /// A piece of a line, and whether the line ends with it.
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
        // Whoever sends a message where a header should be did not mean headers.
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

    fn take_buffer(&mut self) -> Vec<u8> {
        if self.buffer.capacity() > KEPT_CAPACITY {
            return mem::take(&mut self.buffer);
        }
        let taken = self.buffer.clone();
        self.buffer.clear();
        taken
    }
}

/// No JSON begins like this.
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
