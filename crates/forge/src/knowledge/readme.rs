//! `knowledge/README.md`: the index for people. A part of it between two
//! comments lists the documents and is kept up to date; every other byte
//! belongs to whoever wrote it.

use super::entry;
use crate::document::{self, BlockKind, Document, Edit};
use crate::workspace::{self, RelPath, Workspace};

pub const PATH: &str = "knowledge/README.md";

const BEGIN: &str = "<!-- memory-forge:index:begin -->";
const END: &str = "<!-- memory-forge:index:end -->";

/// What a new README says above its list.
const OPENING: &str = "\
# Knowledge

What this project knows, one topic to a file. Search it with `memory-forge search \"<question>\"`, or with `grep`.
";

/// A document as the list shows it.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Listed {
    pub path: RelPath,
    pub title: String,
    /// The first sentence of its text; may be empty.
    pub summary: String,
}

impl Listed {
    pub fn new(path: RelPath, text: &str) -> Listed {
        Listed::of(path, &document::parse(text))
    }

    pub fn of(path: RelPath, document: &Document) -> Listed {
        let title = document.title().map(str::to_owned);
        Listed {
            title: title.unwrap_or_else(|| path.stem().to_owned()),
            summary: first_sentence(document),
            path,
        }
    }
}

pub fn path() -> RelPath {
    RelPath::new(PATH).expect("a constant that is a valid path")
}

/// Every document that the list should name, sorted by path. `overlay` are
/// texts that are about to be written. Files that cannot be read are left out:
/// whoever asked says so elsewhere.
pub fn documents(workspace: &Workspace, overlay: &[(RelPath, String)]) -> Vec<Listed> {
    let mut listed: Vec<Listed> = Vec::new();
    for found in workspace.scan().files {
        let path = found.path;
        let is_listed = path.starts_with("knowledge")
            && !path.is_private()
            && !matches!(path.as_str(), PATH | super::forget::LIST)
            && overlay.iter().all(|(new, _)| *new != path);
        if is_listed && let Ok(text) = workspace.read_text(&path) {
            listed.push(Listed::new(path, &text));
        }
    }
    listed.extend(
        overlay
            .iter()
            .filter(|(path, _)| !path.is_private())
            .map(|(path, text)| Listed::new(path.clone(), text)),
    );
    listed.sort_by(|a, b| a.path.cmp(&b.path));
    listed
}

/// The README with its list brought up to date; `None` begins a new one.
/// A README whose comments do not pair up is not understood, and refused.
pub fn refreshed(readme: Option<&str>, documents: &[Listed]) -> Result<String, workspace::Error> {
    let Some(text) = readme else {
        return Ok(format!("{OPENING}\n{}\n", list(documents, "\n")));
    };
    let document = document::parse(text);
    let newline = document.newline();
    let (begin, end) = (marks(&document, BEGIN), marks(&document, END));
    let edit = match (&begin[..], &end[..]) {
        ([], []) => {
            let mut text = String::new();
            if !document.text[document.body.clone()].trim().is_empty() {
                if !document.text.ends_with(['\n', '\r']) {
                    text.push_str(newline);
                }
                text.push_str(newline);
            }
            text.push_str(&list(documents, newline));
            text.push_str(newline);
            let end = document.text.len();
            Edit {
                span: end..end,
                text,
            }
        }
        ([begin], [end]) if begin < end => Edit {
            span: *begin..*end + END.len(),
            text: list(documents, newline),
        },
        _ => {
            return Err(workspace::Error::Refused(format!(
                "`{PATH}` must have `{BEGIN}` and `{END}` once each and in this order; delete what is left over"
            )));
        }
    };
    let after =
        document::apply(text, vec![edit]).map_err(|e| workspace::Error::Refused(e.to_string()))?;
    if !has_list(&after) {
        return Err(workspace::Error::Refused(format!(
            "`{PATH}` cannot be added to: a code block in it is never closed"
        )));
    }
    Ok(after)
}

/// Whether a README has a list that is kept up to date.
pub fn has_list(readme: &str) -> bool {
    !marks(&document::parse(readme), BEGIN).is_empty()
}

/// Where a comment stands that is all there is on its line, outside of code.
fn marks(document: &Document, mark: &str) -> Vec<usize> {
    let mut found = Vec::new();
    for start in &document.line_starts {
        let rest = &document.text[*start..];
        let rest = rest.strip_prefix('\u{feff}').unwrap_or(rest);
        let line = rest.split(['\n', '\r']).next().unwrap_or(rest);
        if line.trim() == mark && !document.in_code(*start) {
            let indent = line.len() - line.trim_start().len();
            found.push(document.text.len() - rest.len() + indent);
        }
    }
    found
}

fn list(documents: &[Listed], newline: &str) -> String {
    let mut text = format!("{BEGIN}{newline}");
    for one in documents {
        let target = one.path.as_str();
        let target = target.strip_prefix("knowledge/").unwrap_or(target);
        text.push_str(&format!("- {}", entry::link(&one.title, target)));
        if !one.summary.is_empty() {
            text.push_str(" — ");
            text.push_str(&one.summary);
        }
        text.push_str(newline);
    }
    text.push_str(END);
    text
}

/// A summary is cut at the word before this many characters.
const LONGEST: usize = 160;

/// The first sentence of the first paragraph, without its markup for links:
/// their targets would lead elsewhere from here.
fn first_sentence(document: &Document) -> String {
    let Some(block) = document
        .blocks
        .iter()
        .find(|block| block.kind == BlockKind::Paragraph)
    else {
        return String::new();
    };
    let mut text = String::new();
    let mut at = block.span.start;
    for link in &document.links {
        if link.span.start < at || link.span.end > block.span.end {
            continue;
        }
        text.push_str(&document.text[at..link.span.start]);
        text.push_str(&link.label);
        at = link.span.end;
    }
    text.push_str(&document.text[at..block.span.end]);
    let text: Vec<&str> = text.split_whitespace().collect();
    let text = text.join(" ");
    let end = sentence_end(&text);
    let mut sentence = text[..end].to_owned();
    if let Some((cut, _)) = sentence.char_indices().nth(LONGEST) {
        let word = sentence[..cut].rfind(' ').unwrap_or(cut);
        sentence.truncate(word);
        sentence.push('…');
    }
    document::inert_line(&sentence)
}

fn sentence_end(text: &str) -> usize {
    for (at, c) in text.char_indices() {
        let end = at + c.len_utf8();
        let ends = match c {
            '.' | '!' | '?' => {
                let rest = &text[end..];
                // `e.g. this` and `v1.2` do not end a sentence.
                rest.is_empty()
                    || rest.starts_with(' ')
                        && rest[1..].starts_with(|c: char| !c.is_lowercase())
                        && at > 2
            }
            '。' | '！' | '？' => true,
            _ => false,
        };
        if ends {
            return end;
        }
    }
    text.len()
}

#[cfg(test)]
mod tests {
    use super::*;

    fn listed(path: &str, text: &str) -> Listed {
        Listed::new(RelPath::new(path).unwrap(), text)
    }

    #[test]
    fn the_first_sentence_is_what_a_reader_needs() {
        let check = |text: &str, expect: &str| {
            assert_eq!(
                listed("knowledge/a.md", text).summary,
                expect,
                "for {text:?}"
            );
        };
        check(
            "# A\n\nRetry three times. Then park.\n",
            "Retry three times.",
        );
        check(
            "Uses v1.2 e.g. here\nand there! More.\n",
            "Uses v1.2 e.g. here and there!",
        );
        check(
            "See [the *docs*](../x.md) and [[note|a note]].\n",
            "See the docs and a note.",
        );
        check("- a list\n\n```\ncode\n```\n", "");
        check("これは文です。次。", "これは文です。");
        let long = format!("{} end.", "word ".repeat(60));
        assert!(listed("knowledge/a.md", &long).summary.ends_with("word…"));
    }

    #[test]
    fn everything_around_the_list_is_untouched() {
        let documents = [
            listed("knowledge/a b.md", "# A [x]\n\nOne.\n"),
            listed("knowledge/z.md", "text"),
        ];
        let lines = "- [A \\[x\\]](a%20b.md) — One.\n- [z](z.md) — text\n";
        let check = |before: &str, expect: String| {
            let after = refreshed(Some(before), &documents).unwrap();
            assert_eq!(after, expect, "for {before:?}");
            assert_eq!(
                refreshed(Some(&after), &documents).unwrap(),
                after,
                "twice is once"
            );
        };
        check(
            "# Mine\n\nmine",
            format!("# Mine\n\nmine\n\n{BEGIN}\n{lines}{END}\n"),
        );
        check(
            &format!("top  \n{BEGIN}\nold\n{END}\n\ntail"),
            format!("top  \n{BEGIN}\n{lines}{END}\n\ntail"),
        );
        check(
            &format!("\u{feff}{BEGIN}\r\n{END}\r\nx\r\n"),
            format!(
                "\u{feff}{BEGIN}\r\n{}{END}\r\nx\r\n",
                lines.replace('\n', "\r\n")
            ),
        );
        check("", format!("{BEGIN}\n{lines}{END}\n"));
        let new = refreshed(None, &documents).unwrap();
        assert_eq!(new, format!("{OPENING}\n{BEGIN}\n{lines}{END}\n"));
        assert_eq!(refreshed(Some(&new), &documents).unwrap(), new);
    }

    #[test]
    fn marks_that_do_not_pair_up_are_refused() {
        for text in [
            format!("{BEGIN}\nx\n"),
            format!("{END}\n{BEGIN}\n"),
            format!("{BEGIN}\n{BEGIN}\n{END}\n"),
            "```\nnever closed".to_owned(),
        ] {
            assert!(refreshed(Some(&text), &[]).is_err(), "{text}");
        }
    }

    #[test]
    fn titles_cannot_end_the_list() {
        let hostile = listed(
            "knowledge/a.md",
            &format!("---\ntitle: \"x {END}\"\n---\n\nSo {END} it is.\n"),
        );
        let text = refreshed(None, std::slice::from_ref(&hostile)).unwrap();
        let again = refreshed(Some(&text), &[hostile]).unwrap();
        assert_eq!(text, again);
    }
}
