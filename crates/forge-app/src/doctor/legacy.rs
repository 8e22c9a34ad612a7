//! Decides where the text goes that leaves a context file: word for word to
//! `knowledge/legacy/`, below a note of its origin. Text that is already there
//! is kept.

use jiff::civil::Date;

use crate::document;
use crate::workspace::RelPath;

/// Returns the file for text that leaves `source`: `packages/a/CLAUDE.md` goes
/// to `knowledge/legacy/packages-a-CLAUDE.md`.
pub fn path_for_source(source: &RelPath) -> RelPath {
    let name: Vec<&str> = source
        .components()
        .map(|part| part.trim_start_matches('.'))
        .collect();
    // A name of valid parts is valid, unless it becomes too long.
    let whole = RelPath::new(&format!("knowledge/legacy/{}", name.join("-")));
    whole.unwrap_or_else(|_| {
        let hash = blake3::hash(source.as_str().as_bytes()).to_hex();
        let short = format!("knowledge/legacy/{}-{}", &hash[..12], source.file_name());
        RelPath::new(&short).expect("a short name of plain characters is a valid path")
    })
}

/// Returns the legacy file after `original`, the text of `source`, was added to
/// it.
pub fn merge_original(
    existing: Option<&str>,
    source: &RelPath,
    original: &str,
    day: Date,
) -> String {
    // A byte order mark belongs to the file, not to its text.
    let original = original.strip_prefix('\u{feff}').unwrap_or(original);
    let newline = document::parse_document(original).newline();
    let Some(existing) = existing else {
        let front = [
            "---".to_owned(),
            format!("source: {}", quote_yaml(source.as_str())),
            format!("date: {day}"),
            "---".to_owned(),
            String::new(),
            String::new(),
        ];
        return front.join(newline) + original;
    };
    // A repeated repair must not add the text a second time.
    if existing.contains(original) {
        return existing.to_owned();
    }
    let mut text = existing.to_owned();
    if !text.ends_with(['\n', '\r']) {
        text.push_str(newline);
    }
    text.push_str(&format!(
        "{newline}## From `{source}` on {day}{newline}{newline}{original}"
    ));
    text
}

/// Quotes a text as a YAML string, if it needs quotes.
fn quote_yaml(text: &str) -> String {
    let plain = |c: char| c.is_ascii_alphanumeric() || matches!(c, '/' | '.' | '_' | '-');
    if text.chars().all(plain) && text.starts_with(|c: char| c.is_ascii_alphabetic()) {
        text.to_owned()
    } else {
        format!("'{}'", text.replace('\'', "''"))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn path(text: &str) -> RelPath {
        RelPath::new(text).unwrap()
    }

    #[test]
    fn one_file_for_each_source() {
        let check = |source, expect| assert_eq!(path_for_source(&path(source)).as_str(), expect);
        check("CLAUDE.md", "knowledge/legacy/CLAUDE.md");
        check(
            "packages/a/CLAUDE.md",
            "knowledge/legacy/packages-a-CLAUDE.md",
        );
        check(".claude/CLAUDE.md", "knowledge/legacy/claude-CLAUDE.md");
        let deep = path_for_source(&path(&format!("{}CLAUDE.md", "long-folder/".repeat(40))));
        assert!(deep.as_str().ends_with("-CLAUDE.md"), "{deep}");
    }

    #[test]
    fn the_original_follows_word_for_word() {
        let day = "2026-03-01".parse().unwrap();
        let source = path("CLAUDE.md");
        let first = merge_original(None, &source, "\u{feff}# A\r\n\r\ntext", day);
        assert_eq!(
            first,
            "---\r\nsource: CLAUDE.md\r\ndate: 2026-03-01\r\n---\r\n\r\n# A\r\n\r\ntext"
        );
        assert_eq!(
            merge_original(Some(&first), &source, "# A\r\n\r\ntext", day),
            first
        );
        let second = merge_original(Some(&first), &source, "new\n", day);
        assert_eq!(
            second,
            format!("{first}\n\n## From `CLAUDE.md` on 2026-03-01\n\nnew\n")
        );
    }
}
