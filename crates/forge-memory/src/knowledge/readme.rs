//! `knowledge/README.md`: the index for people. A part of it between two
//! comments lists the documents and is kept up to date by `init`, `index` and
//! `save`; every other byte belongs to its author. `init` and `doctor --fix`
//! begin the list, and a search never writes it.

use std::collections::BTreeMap;
use std::ops::Range;

use jiff::Timestamp;

use super::fresh::FreshIndex;
use crate::document::linked_items;
use crate::document::{self, BlockKind, Document, TextEdit};
use crate::index::{CatalogueEntry, Index};
use crate::workspace::{self, RelPath, Workspace};

/// Path of the README.
pub const README_PATH: &str = "knowledge/README.md";

const BEGIN_MARK: &str = "<!-- memory-forge:index:begin -->";
const END_MARK: &str = "<!-- memory-forge:index:end -->";

/// The heading of a new README.
const README_TITLE: &str = "# Knowledge";
/// The paragraph above the list of a new README.
const README_OPENING: &str = "What this project knows, one topic to a file. Search it with `memory-forge search \"<question>\"`, or with `grep`.";

/// A document as the list shows it.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct ReadmeEntry {
    /// The document.
    pub path: RelPath,
    /// Its title.
    pub title: String,
    /// The first sentence of its text; may be empty.
    pub summary: String,
}

impl ReadmeEntry {
    /// Parses a text and returns its entry.
    pub fn new(path: RelPath, text: &str) -> ReadmeEntry {
        ReadmeEntry::from_document(path, &document::parse_document(text))
    }

    /// Returns the entry of a parsed document.
    pub fn from_document(path: RelPath, document: &Document) -> ReadmeEntry {
        let title = document.title().map(str::to_owned);
        ReadmeEntry {
            title: title.unwrap_or_else(|| path.stem().to_owned()),
            summary: first_sentence(document),
            path,
        }
    }

    /// Renders the line of the list.
    fn render_line(&self) -> String {
        let link = linked_items::format_link(&self.title, readme_target(&self.path));
        match self.summary.as_str() {
            "" => format!("- {link}"),
            summary => format!("- {link} — {summary}"),
        }
    }
}

/// Returns the path of the README.
pub fn readme_path() -> RelPath {
    RelPath::new(README_PATH).expect("a constant that is a valid path")
}

/// Returns `true` if the list names a file of the workspace.
pub fn belongs_in_list(path: &RelPath) -> bool {
    path.starts_with("knowledge")
        && !path.is_private()
        && !matches!(path.as_str(), README_PATH | super::forget::RETRACTION_LIST)
}

/// Returns every document that the list should name, sorted by path. `overlay`
/// contains texts that are about to be written. Skips files that cannot be
/// read: the caller reports those elsewhere.
pub fn list_documents(workspace: &Workspace, overlay: &[(RelPath, String)]) -> Vec<ReadmeEntry> {
    let mut listed: Vec<ReadmeEntry> = Vec::new();
    for found in workspace.scan().files {
        let path = found.path;
        let is_listed = belongs_in_list(&path) && overlay.iter().all(|(new, _)| *new != path);
        if is_listed && let Ok(text) = workspace.read_text(&path) {
            listed.push(ReadmeEntry::new(path, &text));
        }
    }
    listed.extend(
        overlay
            .iter()
            .filter(|(path, _)| !path.is_private())
            .map(|(path, text)| ReadmeEntry::new(path.clone(), text)),
    );
    listed.sort_by(|a, b| a.path.cmp(&b.path));
    listed
}

/// Returns the README with its list brought up to date; `None` begins a new
/// one. Fails if the marks of the list do not pair up.
pub fn refresh_list(
    readme: Option<&str>,
    documents: &[ReadmeEntry],
) -> Result<String, workspace::WorkspaceError> {
    let lines: Vec<String> = documents.iter().map(ReadmeEntry::render_line).collect();
    replace_list(readme, &lines)
}

/// Returns the README with a line for one more document; `None` if it has no
/// list.
pub fn add_document(readme: &str, new: &ReadmeEntry) -> Option<String> {
    let document = document::parse_document(readme);
    let mut lines = lines_by_target(&document, &find_list_span(&document)?);
    lines.insert(readme_target(&new.path).to_owned(), new.render_line());
    let lines: Vec<String> = lines.into_values().collect();
    replace_list(Some(readme), &lines).ok()
}

/// The key under which the index remembers the files that the list was made
/// for: a hash of them, and the newest modification time.
const LIST_NOTE_KEY: &str = "readme";

/// Brings the list of an existing README up to date with the index; returns
/// `true` if the file was written. A README without a list is left alone. If no
/// document changed since the last time, this reads only a note in the index;
/// otherwise it reads the documents that changed since.
pub fn keep_list(
    workspace: &Workspace,
    fresh: &FreshIndex,
    now: Timestamp,
) -> Result<bool, workspace::WorkspaceError> {
    let note = fresh
        .index
        .stored_value(LIST_NOTE_KEY)
        .ok()
        .flatten()
        .unwrap_or_default();
    let (made_for, newest) = note.split_once(' ').unwrap_or_default();
    let hash = hash_documents(&fresh.catalogue);
    if made_for == hash {
        return Ok(false);
    }
    let written = rewrite_list(workspace, fresh, newest.parse().unwrap_or(i64::MIN), now)?;
    // A rewritten list changes the hash of the README; the caller that indexes
    // it calls this again, and then the note is stored.
    if !written {
        let times = listed_documents(fresh).map(|(_, changed)| changed);
        let newest = times.max().unwrap_or(i64::MIN);
        // A note that cannot be stored costs only time at the next run.
        let _ = fresh
            .index
            .store_value(LIST_NOTE_KEY, &format!("{hash} {newest}"));
    }
    Ok(written)
}

/// Rewrites the list if it differs. Keeps the lines of documents that were
/// changed before `listed_at`.
fn rewrite_list(
    workspace: &Workspace,
    fresh: &FreshIndex,
    listed_at: i64,
    now: Timestamp,
) -> Result<bool, workspace::WorkspaceError> {
    let Some(text) = workspace.read_text_if_present(&readme_path())? else {
        return Ok(false);
    };
    let document = document::parse_document(text.as_str());
    let Some(span) = find_list_span(&document) else {
        return Ok(false);
    };
    let mut known = lines_by_target(&document, &span);
    let mut lines = BTreeMap::new();
    for (path, changed) in listed_documents(fresh) {
        let target = readme_target(&path).to_owned();
        let line = known.remove(&target).filter(|_| changed < listed_at);
        let line = match line {
            Some(line) => line,
            None => match workspace.read_text(&path) {
                Ok(text) => ReadmeEntry::new(path, &text).render_line(),
                Err(_) => continue,
            },
        };
        lines.insert(target, line);
    }
    let lines: Vec<String> = lines.into_values().collect();
    let after = replace_list(Some(&text), &lines)?;
    if after == text {
        return Ok(false);
    }
    let receipt = workspace.change("List the documents of knowledge/", now, |change| {
        // An undo without an id is meant for the user's own last change.
        change.mark_automatic();
        // Another process may have edited it since; the next run updates it.
        if change.read_text(&readme_path())?.as_deref() == Some(text.as_str()) {
            change.write(&readme_path(), after);
        }
        Ok(())
    })?;
    Ok(!receipt.files.is_empty())
}

/// Returns the documents of the list as the index has them, with their
/// modification times.
fn listed_documents(fresh: &FreshIndex) -> impl Iterator<Item = (RelPath, i64)> {
    let usable = fresh.catalogue.iter().filter(|it| it.problem.is_none());
    usable.filter_map(|entry| {
        let path = RelPath::new(&entry.path).ok()?;
        belongs_in_list(&path).then_some((path, entry.stamp.mtime_ns))
    })
}

/// Returns `true` if the list was made for the files of this catalogue, and
/// neither they nor the README changed since.
pub fn is_list_current(index: &Index, catalogue: &[CatalogueEntry]) -> bool {
    let note = index
        .stored_value(LIST_NOTE_KEY)
        .ok()
        .flatten()
        .unwrap_or_default();
    let (made_for, _) = note.split_once(' ').unwrap_or_default();
    made_for == hash_documents(catalogue)
}

/// Returns a hash of the paths of all files, the README among them, and of
/// their modification times.
fn hash_documents(catalogue: &[CatalogueEntry]) -> String {
    let mut hasher = blake3::Hasher::new();
    let documents = catalogue.iter();
    for entry in documents.filter(|entry| entry.path.starts_with("knowledge/")) {
        hasher.update(entry.path.as_bytes());
        hasher.update(&[0]);
        hasher.update(&entry.stamp.size.to_le_bytes());
        hasher.update(&entry.stamp.mtime_ns.to_le_bytes());
    }
    hasher.finalize().to_hex().to_string()
}

/// Returns the README with these lines as its list.
fn replace_list(
    readme: Option<&str>,
    lines: &[String],
) -> Result<String, workspace::WorkspaceError> {
    let Some(text) = readme else {
        return Ok(format!(
            "{README_TITLE}\n\n{README_OPENING}\n\n{}\n",
            render_list(lines, "\n")
        ));
    };
    let document = document::parse_document(text);
    let newline = document.newline();
    let (begin, end) = (
        find_marks(&document, BEGIN_MARK),
        find_marks(&document, END_MARK),
    );
    let edit = match (&begin[..], &end[..]) {
        ([], []) => {
            let mut text = String::new();
            if !document.text[document.body.clone()].trim().is_empty() {
                if !document.text.ends_with(['\n', '\r']) {
                    text.push_str(newline);
                }
                text.push_str(newline);
            }
            text.push_str(&render_list(lines, newline));
            text.push_str(newline);
            let end = document.text.len();
            TextEdit {
                span: end..end,
                text,
            }
        }
        ([begin], [end]) if begin < end => TextEdit {
            span: *begin..*end + END_MARK.len(),
            text: render_list(lines, newline),
        },
        _ => {
            return Err(workspace::WorkspaceError::Refused(format!(
                "`{README_PATH}` must have `{BEGIN_MARK}` and `{END_MARK}` once each and in this order; delete what is left over"
            )));
        }
    };
    let after = document::apply_edits(text, vec![edit])
        .map_err(|e| workspace::WorkspaceError::Refused(e.to_string()))?;
    // A list inside an open code block would not be found again.
    if !has_list(&after) {
        return Err(workspace::WorkspaceError::Refused(format!(
            "`{README_PATH}` cannot be added to: a code block in it is never closed"
        )));
    }
    Ok(after)
}

/// Returns the README as searches see it: without its list, which repeats the
/// first sentence of every document and would rank above the documents, and
/// without the text of every new README. Lines keep their numbers.
pub fn text_without_list(readme: &str) -> String {
    let document = document::parse_document(readme);
    let Some(list) = find_list_span(&document) else {
        return readme.to_owned();
    };
    let line_ends = |text: &str| text.chars().filter(|c| matches!(c, '\n' | '\r')).collect();
    let list_lines: String = line_ends(&readme[list.clone()]);
    let (above, below) = (&readme[..list.start], &readme[list.end..]);
    let above = above.replacen(README_OPENING, "", 1);
    let text = format!("{above}{list_lines}{below}");
    // A README with generated text alone is empty for a search.
    if text.replacen(END_MARK, "", 1).trim() == README_TITLE {
        return line_ends(&text);
    }
    text
}

/// Returns `true` if a README has a list that is kept up to date.
pub fn has_list(readme: &str) -> bool {
    !find_marks(&document::parse_document(readme), BEGIN_MARK).is_empty()
}

/// Returns the name of a document as links in `knowledge/README.md` write it.
fn readme_target(path: &RelPath) -> &str {
    let path = path.as_str();
    path.strip_prefix("knowledge/").unwrap_or(path)
}

/// Returns the span from the first mark to the last; `None` if they do not pair
/// up.
fn find_list_span(document: &Document) -> Option<Range<usize>> {
    match (
        &find_marks(document, BEGIN_MARK)[..],
        &find_marks(document, END_MARK)[..],
    ) {
        ([begin], [end]) if begin < end => Some(*begin..*end),
        _ => None,
    }
}

/// Returns the lines of the list by the documents that they lead to.
fn lines_by_target(document: &Document, list: &Range<usize>) -> BTreeMap<String, String> {
    linked_items::find_linked_items(document)
        .filter(|entry| list.contains(&entry.span.start))
        .map(|entry| {
            let line = document.span_text(&entry.span).trim_end();
            (entry.target.to_owned(), line.to_owned())
        })
        .collect()
}

/// Finds the positions of a mark that is alone on its line and outside code.
fn find_marks(document: &Document, mark: &str) -> Vec<usize> {
    let mut found = Vec::new();
    for start in &document.line_starts {
        let rest = &document.text[*start..];
        let rest = rest.strip_prefix('\u{feff}').unwrap_or(rest);
        let line = rest.split(['\n', '\r']).next().unwrap_or(rest);
        if line.trim() == mark && !document.is_in_code(*start) {
            let indent = line.len() - line.trim_start().len();
            found.push(document.text.len() - rest.len() + indent);
        }
    }
    found
}

/// Renders the list between its marks.
fn render_list(lines: &[String], newline: &str) -> String {
    let mut text = format!("{BEGIN_MARK}{newline}");
    for line in lines {
        text.push_str(line);
        text.push_str(newline);
    }
    text.push_str(END_MARK);
    text
}

/// Maximum length of a summary, which is cut at a word.
const MAX_SUMMARY_CHARS: usize = 160;

/// Returns the first sentence of the first paragraph, without links: their
/// targets would lead elsewhere from here.
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
    let end = find_sentence_end(&text);
    let mut sentence = text[..end].to_owned();
    if let Some((cut, _)) = sentence.char_indices().nth(MAX_SUMMARY_CHARS) {
        let word = sentence[..cut].rfind(' ').unwrap_or(cut);
        sentence.truncate(word);
        sentence.push('…');
    }
    document::escape_markdown_line(&sentence)
}

/// Returns the end of the first sentence of a text.
pub fn find_sentence_end(text: &str) -> usize {
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

    fn listed(path: &str, text: &str) -> ReadmeEntry {
        ReadmeEntry::new(RelPath::new(path).unwrap(), text)
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
            let after = refresh_list(Some(before), &documents).unwrap();
            assert_eq!(after, expect, "for {before:?}");
            assert_eq!(
                refresh_list(Some(&after), &documents).unwrap(),
                after,
                "twice is once"
            );
        };
        check(
            "# Mine\n\nmine",
            format!("# Mine\n\nmine\n\n{BEGIN_MARK}\n{lines}{END_MARK}\n"),
        );
        check(
            &format!("top  \n{BEGIN_MARK}\nold\n{END_MARK}\n\ntail"),
            format!("top  \n{BEGIN_MARK}\n{lines}{END_MARK}\n\ntail"),
        );
        check(
            &format!("\u{feff}{BEGIN_MARK}\r\n{END_MARK}\r\nx\r\n"),
            format!(
                "\u{feff}{BEGIN_MARK}\r\n{}{END_MARK}\r\nx\r\n",
                lines.replace('\n', "\r\n")
            ),
        );
        check("", format!("{BEGIN_MARK}\n{lines}{END_MARK}\n"));
        let new = refresh_list(None, &documents).unwrap();
        assert_eq!(
            new,
            format!("{README_TITLE}\n\n{README_OPENING}\n\n{BEGIN_MARK}\n{lines}{END_MARK}\n")
        );
        assert_eq!(refresh_list(Some(&new), &documents).unwrap(), new);
    }

    #[test]
    fn one_document_more_leaves_the_other_lines_alone() {
        let new = listed("knowledge/b c.md", "# B\n\nTwo.\n");
        let before = format!(
            "top\n\n{BEGIN_MARK}\n- [A](a.md) — Kept as it is.\n- [Z](z.md)\n{END_MARK}\nend\n"
        );
        let after = add_document(&before, &new).unwrap();
        let line = "- [B](b%20c.md) — Two.\n";
        assert_eq!(after, before.replace("- [Z]", &format!("{line}- [Z]")));
        assert_eq!(add_document(&after, &new).unwrap(), after);
        assert_eq!(add_document("mine\n", &new), None);
        assert_eq!(add_document(&format!("{BEGIN_MARK}\n"), &new), None);
    }

    #[test]
    fn searches_see_a_readme_without_its_list() {
        let text = format!("# K\n\n{BEGIN_MARK}\n- [A](a.md) — One.\n{END_MARK}\n\nMine.\n");
        let seen = text_without_list(&text);
        assert_eq!(seen, format!("# K\n\n\n\n{END_MARK}\n\nMine.\n"));
        assert_eq!(seen.lines().count(), text.lines().count());
        assert_eq!(text_without_list("mine\n"), "mine\n");
    }

    /// "The placeholder knowledge/README.md must never be an answer."
    #[test]
    fn searches_see_nothing_of_a_new_readme() {
        let document = listed("knowledge/a.md", "# A\n\nOne.\n");
        for documents in [&[][..], &[document]] {
            let new = refresh_list(None, documents).unwrap();
            let seen = text_without_list(&new);
            assert_eq!(seen.trim(), "", "{new}");
            assert_eq!(seen.lines().count(), new.lines().count());
            let edited = text_without_list(&format!("{new}\nStart with the glossary.\n"));
            let mut lines = edited.lines().filter(|line| !line.trim().is_empty());
            assert_eq!(lines.next(), Some(README_TITLE), "{edited}");
            assert_eq!(lines.next_back(), Some("Start with the glossary."));
            assert!(!edited.contains("one topic to a file"), "{edited}");
        }
    }

    #[test]
    fn marks_that_do_not_pair_up_are_refused() {
        for text in [
            format!("{BEGIN_MARK}\nx\n"),
            format!("{END_MARK}\n{BEGIN_MARK}\n"),
            format!("{BEGIN_MARK}\n{BEGIN_MARK}\n{END_MARK}\n"),
            "```\nnever closed".to_owned(),
        ] {
            assert!(refresh_list(Some(&text), &[]).is_err(), "{text}");
        }
    }

    #[test]
    fn titles_cannot_end_the_list() {
        let hostile = listed(
            "knowledge/a.md",
            &format!("---\ntitle: \"x {END_MARK}\"\n---\n\nSo {END_MARK} it is.\n"),
        );
        let text = refresh_list(None, std::slice::from_ref(&hostile)).unwrap();
        let again = refresh_list(Some(&text), &[hostile]).unwrap();
        assert_eq!(text, again);
    }
}
