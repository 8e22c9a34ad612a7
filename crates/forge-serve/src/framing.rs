//! Splits bytes into messages, and wraps messages: JSON on lines of its own, as
//! MCP has it, or behind `Content-Length` headers, as older clients of memory
//! servers send it. The form is detected at every message. No input makes it
//! fail, and none makes it keep more than one message of the limit's length.

use std::mem;

use rmcp::model::RequestId;

use super::scan::IdScan;

/// Upper bound for all lines of one block of headers together.
const MAX_HEADER_BYTES: usize = 8_192;

/// Upper bound for a buffer that is kept after its message; a larger one is
/// freed.
const KEPT_CAPACITY: usize = 64 * 1024;

/// Form of a message on the wire.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum MessageFraming {
    Lines,
    Headers,
}

impl MessageFraming {
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
pub(crate) enum MessageFrame {
    /// One message, of which only the end is known.
    Message {
        text: Vec<u8>,
        framing: MessageFraming,
    },
    /// A message over the limit, skipped.
    TooLong {
        id: Option<RequestId>,
        framing: MessageFraming,
    },
    /// Headers without a length, skipped.
    BadHeader,
}

/// Reader that takes bytes in pieces of any size.
#[derive(Debug)]
pub(crate) struct FrameReader {
    limit: usize,
    state: FrameReaderState,
    /// Bytes of the line or body so far.
    buffer: Vec<u8>,
}

/// Position of the reader in the input.
#[derive(Debug)]
enum FrameReaderState {
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

impl FrameReader {
    pub(crate) fn new(limit: usize) -> Self {
        Self {
            limit,
            state: FrameReaderState::Line,
            buffer: Vec::new(),
        }
    }

    /// Takes a piece of input and adds the frames that end in it.
    pub(crate) fn feed_bytes(&mut self, mut bytes: &[u8], frames: &mut Vec<MessageFrame>) {
        while !bytes.is_empty() {
            let taken = match self.state {
                FrameReaderState::Body { left } | FrameReaderState::SkipBody { left, .. } => {
                    let taken = left.min(bytes.len());
                    self.add_body_piece(&bytes[..taken], frames);
                    taken
                }
                _ => {
                    let newline = bytes.iter().position(|&byte| byte == b'\n');
                    let taken = newline.map_or(bytes.len(), |at| at + 1);
                    self.add_line_piece(&bytes[..taken], newline.is_some(), frames);
                    taken
                }
            };
            bytes = &bytes[taken..];
        }
    }

    /// Takes the end of input. A last line may lack its line break; a truncated
    /// body is no message.
    pub(crate) fn finish(&mut self, frames: &mut Vec<MessageFrame>) {
        match &self.state {
            FrameReaderState::Line | FrameReaderState::SkipLine(_) => {
                self.add_line_piece(b"", true, frames)
            }
            FrameReaderState::Header { .. } => frames.push(MessageFrame::BadHeader),
            FrameReaderState::SkipHeader
            | FrameReaderState::Body { .. }
            | FrameReaderState::SkipBody { .. } => {}
        }
        self.state = FrameReaderState::Line;
        self.buffer = Vec::new();
    }

    /// Takes a piece of a line, and whether the line ends with it.
    fn add_line_piece(&mut self, piece: &[u8], ends: bool, frames: &mut Vec<MessageFrame>) {
        match &mut self.state {
            FrameReaderState::Line => {
                // The line break does not count, so that a message of exactly
                // the limit passes.
                if self.buffer.len() + piece.len() > self.limit + usize::from(ends) {
                    let mut scan = IdScan::default();
                    scan.feed_bytes(&self.take_buffer());
                    self.state = FrameReaderState::SkipLine(scan);
                    return self.add_line_piece(piece, ends, frames);
                }
                self.buffer.extend_from_slice(piece);
                if ends {
                    let line = self.take_buffer();
                    self.whole_line(line, frames);
                }
            }
            FrameReaderState::SkipLine(scan) => {
                scan.feed_bytes(piece);
                if ends {
                    let id = mem::take(scan).found_id();
                    let framing = MessageFraming::Lines;
                    frames.push(MessageFrame::TooLong { id, framing });
                    self.state = FrameReaderState::Line;
                }
            }
            FrameReaderState::Header { seen, .. } => {
                *seen += piece.len();
                if *seen > MAX_HEADER_BYTES {
                    frames.push(MessageFrame::BadHeader);
                    self.buffer = Vec::new();
                    self.state = if ends {
                        FrameReaderState::Line
                    } else {
                        FrameReaderState::SkipHeader
                    };
                    return;
                }
                self.buffer.extend_from_slice(piece);
                if ends {
                    let line = self.take_buffer();
                    self.header_line(line, frames);
                }
            }
            FrameReaderState::SkipHeader => {
                if ends {
                    self.state = FrameReaderState::Line;
                }
            }
            FrameReaderState::Body { .. } | FrameReaderState::SkipBody { .. } => {
                unreachable!("bodies have no lines")
            }
        }
    }

    fn whole_line(&mut self, mut line: Vec<u8>, frames: &mut Vec<MessageFrame>) {
        // A byte order mark is not part of the message.
        if line.starts_with(b"\xEF\xBB\xBF") {
            line.drain(..3);
        }
        if starts_headers(&line) {
            let seen = line.len();
            self.state = FrameReaderState::Header { length: None, seen };
            if seen > MAX_HEADER_BYTES {
                frames.push(MessageFrame::BadHeader);
                self.state = FrameReaderState::Line;
                return;
            }
            return self.header_line(line, frames);
        }
        line.truncate(line.trim_ascii_end().len());
        if !line.is_empty() {
            let framing = MessageFraming::Lines;
            frames.push(MessageFrame::Message {
                text: line,
                framing,
            });
        }
    }

    fn header_line(&mut self, line: Vec<u8>, frames: &mut Vec<MessageFrame>) {
        let FrameReaderState::Header { length, .. } = &mut self.state else {
            unreachable!("the caller is among headers");
        };
        let text = line.trim_ascii();
        if text.is_empty() {
            self.state = match *length {
                None => {
                    frames.push(MessageFrame::BadHeader);
                    FrameReaderState::Line
                }
                Some(0) => FrameReaderState::Line,
                Some(left) if left > self.limit => FrameReaderState::SkipBody {
                    left,
                    scan: IdScan::default(),
                },
                Some(left) => FrameReaderState::Body { left },
            };
            return;
        }
        // A client that sends a message where a header should be did not mean
        // headers.
        if text.starts_with(b"{") || text.starts_with(b"[") {
            frames.push(MessageFrame::BadHeader);
            self.state = FrameReaderState::Line;
            return self.whole_line(line, frames);
        }
        if let Some(value) = header_value(text, "content-length") {
            let value = str::from_utf8(value).ok();
            *length = value.and_then(|value| value.trim().parse().ok());
        }
    }

    fn add_body_piece(&mut self, piece: &[u8], frames: &mut Vec<MessageFrame>) {
        let framing = MessageFraming::Headers;
        match &mut self.state {
            FrameReaderState::Body { left } => {
                *left -= piece.len();
                let ended = *left == 0;
                self.buffer.extend_from_slice(piece);
                if ended {
                    let text = self.take_buffer();
                    frames.push(MessageFrame::Message { text, framing });
                    self.state = FrameReaderState::Line;
                }
            }
            FrameReaderState::SkipBody { left, scan } => {
                *left -= piece.len();
                scan.feed_bytes(piece);
                if *left == 0 {
                    let id = mem::take(scan).found_id();
                    frames.push(MessageFrame::TooLong { id, framing });
                    self.state = FrameReaderState::Line;
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
