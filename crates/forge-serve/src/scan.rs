//! Finds the `id` of a JSON object that is too long to be kept: it reads byte
//! by byte, with a few hundred bytes of memory, whatever the object holds.

use rmcp::model::RequestId;

/// Upper bound for an id that is returned.
const MAX_ID_BYTES: usize = 256;

/// Scanner for the `id` on the top level of one object.
#[derive(Debug, Default)]
pub(crate) struct IdScan {
    depth: usize,
    in_string: bool,
    escaped: bool,
    /// The key or value so far, on the top level.
    token: Vec<u8>,
    /// Whether the key or value is too long, or not a plain value.
    spoilt: bool,
    /// Whether the value belongs to the key `id`.
    of_id: bool,
    id: Option<RequestId>,
}

impl IdScan {
    pub(crate) fn feed_bytes(&mut self, bytes: &[u8]) {
        for &byte in bytes {
            self.feed_byte(byte);
        }
    }

    pub(crate) fn found_id(self) -> Option<RequestId> {
        self.id
    }

    fn feed_byte(&mut self, byte: u8) {
        if self.in_string {
            self.keep_byte(byte);
            match byte {
                _ if self.escaped => self.escaped = false,
                b'\\' => self.escaped = true,
                b'"' => self.in_string = false,
                _ => {}
            }
            return;
        }
        match byte {
            b'"' => {
                self.in_string = true;
                self.keep_byte(byte);
            }
            b'{' | b'[' => {
                // A value with an inside is no id; an array on top is a batch.
                self.spoilt |= self.depth == 1 || (self.depth == 0 && byte == b'[');
                self.depth += 1;
            }
            b'}' | b']' => {
                if self.depth == 1 {
                    self.end_value();
                }
                self.depth = self.depth.saturating_sub(1);
            }
            b':' if self.depth == 1 => {
                self.of_id = !self.spoilt && self.token == b"\"id\"";
                self.restart_token();
            }
            b',' if self.depth == 1 => self.end_value(),
            b' ' | b'\t' | b'\r' | b'\n' => {}
            _ => self.keep_byte(byte),
        }
    }

    fn keep_byte(&mut self, byte: u8) {
        if self.depth != 1 {
            return;
        }
        if self.token.len() < MAX_ID_BYTES {
            self.token.push(byte);
        } else {
            self.spoilt = true;
        }
    }

    fn end_value(&mut self) {
        if self.of_id && !self.spoilt {
            self.id = serde_json::from_slice(&self.token).ok();
        }
        self.of_id = false;
        self.restart_token();
    }

    fn restart_token(&mut self) {
        self.token.clear();
        self.spoilt = false;
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn scanned(text: &str) -> Option<RequestId> {
        let mut scan = IdScan::default();
        for byte in text.bytes() {
            scan.feed_bytes(&[byte]);
        }
        scan.found_id()
    }

    #[test]
    fn the_id_of_the_message_is_found_and_no_other() {
        let number = |id| Some(RequestId::Number(id));
        let string = |id: &str| Some(RequestId::String(id.into()));
        let cases = [
            (r#"{"jsonrpc":"2.0","id":7,"method":"x"}"#, number(7)),
            (
                r#"{"params":{"id":1,"a":["id",{"id":2}]},"id":3}"#,
                number(3),
            ),
            (r#"{ "id" : "a,}\"b" , "x":1}"#, string("a,}\"b")),
            (r#"{"method":"id","x":"id"}"#, None),
            (r#"{"\"id\"":4}"#, None),
            (r#"{"id":{"id":1}}"#, None),
            (r#"{"id":[1]}"#, None),
            (r#"{"id":null}"#, None),
            (r#"{"id":1.5}"#, None),
            (r#"[{"id":1}]"#, None),
            ("", None),
            ("}}}]]\"", None),
        ];
        for (text, id) in cases {
            assert_eq!(scanned(text), id, "{text}");
        }
        let long = format!(r#"{{"id":"{}"}}"#, "x".repeat(1_000));
        assert_eq!(scanned(&long), None);
        let digits = format!(r#"{{"id":{}}}"#, "1".repeat(1_000));
        assert_eq!(scanned(&digits), None);
    }
}
