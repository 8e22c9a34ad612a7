//! Parses the inline fields of a task: `[blocked-by:: Lexer]`, `(estimate:: 3)`
//! and `^id` at its end, in Obsidian's notation.

use crate::links::find_naming_key;

/// Field keys that do not name anything; any other word before `::` is plain
/// text.
const KNOWN_FIELD_KEYS: [&str; 8] = [
    "completed",
    "estimate",
    "phase",
    "priority",
    "rejection-count",
    "rejections",
    "status",
    "weight",
];

/// The text of a task without its fields, and the fields.
#[derive(Debug, Default, PartialEq, Eq)]
pub(crate) struct TaskFields {
    pub(crate) text: String,
    /// The id of `^id` at the end of the line.
    pub(crate) id: Option<String>,
    /// Keys in lower case with dashes, in text order.
    pub(crate) values: Vec<(String, String)>,
}

impl TaskFields {
    pub(crate) fn read(line: &str) -> TaskFields {
        let mut fields = TaskFields::default();
        let mut text = String::with_capacity(line.len());
        let mut rest = line;
        while let Some(open) = rest.find(['[', '(']) {
            text.push_str(&rest[..open]);
            rest = &rest[open..];
            match parse_field(rest) {
                Some((key, value, length)) => {
                    fields.values.push((key, value.to_owned()));
                    rest = &rest[length..];
                }
                None => {
                    text.push_str(&rest[..1]);
                    rest = &rest[1..];
                }
            }
        }
        text.push_str(rest);
        let mut text = text.split_whitespace().collect::<Vec<_>>().join(" ");
        if let Some((before, id)) = text.rsplit_once(" ^")
            && !id.is_empty()
            && id
                .bytes()
                .all(|it| it.is_ascii_alphanumeric() || it == b'-')
        {
            fields.id = Some(id.to_owned());
            text = before.trim_end().to_owned();
        }
        fields.text = text;
        fields
    }

    pub(crate) fn get(&self, key: &str) -> Option<&str> {
        let found = self.values.iter().find(|(name, _)| name == key);
        found.map(|(_, value)| value.as_str())
    }
}

/// Parses a field at the start of the text into key, value and length.
fn parse_field(text: &str) -> Option<(String, &str, usize)> {
    let close = match text.as_bytes()[0] {
        b'[' => ']',
        _ => ')',
    };
    let (key, _) = text[1..].split_once("::")?;
    let name = key.trim().to_lowercase().replace([' ', '_'], "-");
    if !KNOWN_FIELD_KEYS.contains(&name.as_str()) && find_naming_key(&name).is_none() {
        return None;
    }
    let start = 1 + key.len() + 2;
    // Links in the value contain brackets too, so count the depth.
    let mut depth = 0usize;
    let open = text.chars().next()?;
    for (at, char) in text[start..].char_indices() {
        if char == open {
            depth += 1;
        } else if char == close && depth > 0 {
            depth -= 1;
        } else if char == close {
            return Some((name, text[start..start + at].trim(), start + at + 1));
        }
    }
    None
}

/// Splits a value into names: links, or words between commas.
pub(crate) fn split_names(value: &str) -> Vec<&str> {
    let mut names = Vec::new();
    let mut depth = 0usize;
    let mut start = 0;
    for (at, char) in value.char_indices() {
        match char {
            '[' => depth += 1,
            ']' => depth = depth.saturating_sub(1),
            ',' if depth == 0 => {
                names.push(value[start..at].trim());
                start = at + 1;
            }
            _ => {}
        }
    }
    names.push(value[start..].trim());
    names.retain(|it| !it.is_empty());
    names
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn fields_are_taken_out_of_a_line_and_links_stay() {
        let fields = TaskFields::read(
            "Write [[parser]] [Blocked by:: [[a, b]], Lexer] (estimate:: 3) soon ^p1",
        );
        assert_eq!(fields.text, "Write [[parser]] soon");
        assert_eq!(fields.id.as_deref(), Some("p1"));
        assert_eq!(fields.get("blocked-by"), Some("[[a, b]], Lexer"));
        assert_eq!(fields.get("estimate"), Some("3"));
        assert_eq!(split_names("[[a, b]], Lexer,"), ["[[a, b]]", "Lexer"]);
    }

    #[test]
    fn what_is_no_field_stays_as_it_is() {
        for line in [
            "a [x] b (c::",
            "[::]",
            "std::fmt (see std::fmt, twice)",
            "2^8",
            "é[ü:",
        ] {
            let fields = TaskFields::read(line);
            assert_eq!(fields.text, line);
            assert_eq!(fields.id, None);
        }
    }
}
