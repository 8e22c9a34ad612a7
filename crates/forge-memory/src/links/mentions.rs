//! Mentions of notes that are not links.
//!
//! One automaton contains every name, so that a text is read once however many
//! notes there are. A name that several notes share is not linked.

use std::collections::{HashMap, HashSet};
use std::num::NonZero;
use std::ops::Range;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::thread;

use aho_corasick::{AhoCorasick, MatchKind};
use unicode_normalization::UnicodeNormalization;

use super::check::is_closets_file;
use super::names::{fold_name, last_segment};
use super::notes::{find_comments, find_covering};
use super::vault::NoteVault;
use crate::document::{self, BlockKind, Document, TextEdit};
use crate::workspace::{ChangeProposal, FileRole, RelPath, Workspace};

/// A note's name, title or alias in plain text.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct NoteMention {
    /// The note that contains the words.
    pub path: RelPath,
    /// The line of the words.
    pub line: usize,
    /// The words in the text.
    pub text: String,
    /// The name that a link to the note uses, in the note's own case.
    pub name: String,
    /// The path of the note.
    pub note: RelPath,
    /// Whether the words are the file's name in any case, and long enough to
    /// mean the note.
    pub exact: bool,
    in_table: bool,
    span: Range<usize>,
}

impl NoteMention {
    /// Returns the link that would replace the words, which stay as its label.
    pub fn render_link(&self) -> String {
        if self.text == self.name {
            return format!("[[{}]]", self.name);
        }
        // A bare bar would end the cell of a table.
        let bar = if self.in_table { "\\|" } else { "|" };
        format!("[[{}{bar}{}]]", self.name, self.text)
    }
}

/// The result of [`link_mentions`], before anything is written.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct AppliedMentions {
    /// The files that change.
    pub proposal: ChangeProposal,
    /// Number of mentions that become links.
    pub linked: usize,
    /// Suggestions that a person must decide.
    pub left: Vec<NoteMention>,
}

/// Minimum length of a name that is looked for. Names of this length are never
/// linked automatically.
const MIN_NAME_CHARS: usize = 3;
/// Maximum size of a name that is looked for. Many long names that begin alike
/// would all match at every word.
const MAX_NAME_BYTES: usize = 120;

/// Returns every mention in the files `only`, or in all files if that is empty.
pub fn suggest_mentions(
    workspace: &Workspace,
    vault: &NoteVault,
    only: &[RelPath],
) -> Vec<NoteMention> {
    let found = map_mentions(workspace, vault, only, |_, mentions| mentions);
    found.into_iter().flatten().collect()
}

/// Proposes links for mentions: of exact file names, or of `all` names. Names
/// of three letters stay suggestions.
pub fn link_mentions(
    workspace: &Workspace,
    vault: &NoteVault,
    only: &[RelPath],
    all: bool,
) -> AppliedMentions {
    let mut applied = AppliedMentions::default();
    let found = map_mentions(workspace, vault, only, |text, mentions| {
        let (taken, left): (Vec<NoteMention>, Vec<NoteMention>) = mentions
            .into_iter()
            .partition(|it| it.text.chars().count() > MIN_NAME_CHARS && (it.exact || all));
        let edits = taken.iter().map(|it| TextEdit {
            span: it.span.clone(),
            text: it.render_link(),
        });
        // The spans belong to this text, sorted and disjoint.
        let after =
            document::apply_edits(text, edits.collect()).unwrap_or_else(|_| text.to_owned());
        let changed = taken
            .first()
            .map(|it| (it.path.clone(), text.to_owned(), after));
        (changed, taken.len(), left)
    });
    for (changed, linked, left) in found {
        if let Some((path, before, after)) = changed {
            applied.proposal.add(path, Some(before), after);
            applied.linked += linked;
        }
        applied.left.extend(left);
    }
    applied
}

/// Calls `f` with the text and the mentions of each file that has any.
fn map_mentions<T: Send>(
    workspace: &Workspace,
    vault: &NoteVault,
    only: &[RelPath],
    f: impl Fn(&str, Vec<NoteMention>) -> T + Sync,
) -> Vec<T> {
    let Some(wanted) = NameMatcher::from_vault(vault) else {
        return Vec::new();
    };
    let only: HashSet<&RelPath> = only.iter().collect();
    let sources: Vec<u32> = vault
        .notes()
        .filter(|(_, file, _)| only.is_empty() || only.contains(&file.path))
        .filter(|(_, file, _)| !is_closets_file(&file.path))
        .map(|(index, _, _)| index)
        .collect();
    let next = AtomicUsize::new(0);
    let work = || {
        let mut found = Vec::new();
        loop {
            let at = next.fetch_add(1, Ordering::Relaxed);
            let Some(&index) = sources.get(at) else {
                return found;
            };
            let Ok(text) = workspace.read_text(&vault.file(index).path) else {
                continue;
            };
            let document = document::parse_document(text);
            let mentions = wanted.find_mentions(vault, index, &document);
            if !mentions.is_empty() {
                found.push((at, f(&document.text, mentions)));
            }
        }
    };
    let threads = thread::available_parallelism()
        .map_or(2, NonZero::get)
        .clamp(1, 8);
    let mut found = Vec::new();
    thread::scope(|scope| {
        let others: Vec<_> = (1..threads).map(|_| scope.spawn(work)).collect();
        found = work();
        for other in others {
            match other.join() {
                Ok(part) => found.extend(part),
                Err(panic) => std::panic::resume_unwind(panic),
            }
        }
    });
    // The order in which threads finish must not show.
    found.sort_by_key(|(at, _)| *at);
    found.into_iter().map(|(_, it)| it).collect()
}

/// The names that are looked for.
struct NameMatcher {
    automaton: AhoCorasick,
    /// Folded name → note; `None` if several notes have it.
    notes: HashMap<String, Option<u32>>,
}

impl NameMatcher {
    /// Builds the automaton; `None` if there is nothing to look for.
    fn from_vault(vault: &NoteVault) -> Option<NameMatcher> {
        let mut stems: HashMap<String, Option<u32>> = HashMap::new();
        let mut others: HashMap<String, Option<u32>> = HashMap::new();
        for (index, file, note) in vault.notes() {
            // Texts mention Claude without meaning `CLAUDE.md`.
            let routing = file.path.file_name().starts_with('_');
            if matches!(file.role, FileRole::Autoload | FileRole::Derived) || routing {
                continue;
            }
            add_name_forms(note_stem(&file.path), index, &mut stems);
            for name in note.title.iter().chain(&note.aliases) {
                add_name_forms(name, index, &mut others);
            }
        }
        for (name, note) in stems {
            others.insert(name, note);
        }
        let patterns: HashSet<String> = others
            .iter()
            .filter(|(_, note)| note.is_some())
            .flat_map(|(name, _)| list_spellings(name))
            .collect();
        if patterns.is_empty() {
            return None;
        }
        let mut patterns: Vec<String> = patterns.into_iter().collect();
        patterns.sort_unstable();
        let automaton = AhoCorasick::builder()
            // Overlapping search needs standard matching; the longest match is
            // chosen below.
            .match_kind(MatchKind::Standard)
            .ascii_case_insensitive(true)
            .build(&patterns)
            .ok()?;
        Some(NameMatcher {
            automaton,
            notes: others,
        })
    }

    /// Finds the mentions in one document, without those of the note itself.
    fn find_mentions(&self, vault: &NoteVault, from: u32, document: &Document) -> Vec<NoteMention> {
        let text = &document.text[..document.body.end];
        let mut found: Vec<(Range<usize>, u32)> = Vec::new();
        for found_at in self.automaton.find_overlapping_iter(text) {
            let span = found_at.start()..found_at.end();
            if span.start < document.body.start || !is_whole_word(text, &span) {
                continue;
            }
            let name = fold_name(&text[span.clone()]);
            if let Some(Some(note)) = self.notes.get(name.as_ref())
                && *note != from
            {
                found.push((span, *note));
            }
        }
        if found.is_empty() {
            return Vec::new();
        }
        let table = TableLines::from_document(document);
        let closed = find_closed_ranges(document, &table);
        let mut linked_lines = find_linked_lines(vault, from);
        // Of two that overlap, the first one wins, then the longer one.
        found.sort_by_key(|(span, _)| (span.start, usize::MAX - span.end));
        let mut end = 0;
        let mut mentions = Vec::new();
        for (span, note) in found {
            let free = span.start >= end && !overlaps_any(&closed, &span);
            let line = document.line_number_at(span.start);
            if !free || !linked_lines.insert((line, note)) {
                continue;
            }
            end = span.end;
            let words = &text[span.clone()];
            let file = vault.file(note);
            mentions.push(NoteMention {
                path: vault.file(from).path.clone(),
                line,
                text: words.to_owned(),
                name: vault.link_name(note).to_owned(),
                note: file.path.clone(),
                exact: fold_name(words) == fold_name(note_stem(&file.path))
                    && words.chars().count() > MIN_NAME_CHARS,
                in_table: table.rows.contains(&line),
                span,
            });
        }
        mentions
    }
}

fn note_stem(path: &RelPath) -> &str {
    let name = last_segment(path.as_str());
    name.strip_suffix(".md").unwrap_or(name)
}

/// Adds a name with hyphens for spaces and spaces for hyphens. A form that two
/// notes share becomes `None`.
fn add_name_forms(name: &str, note: u32, names: &mut HashMap<String, Option<u32>>) {
    let name = fold_name(name.trim());
    let usable = name.len() <= MAX_NAME_BYTES
        && name.chars().count() >= MIN_NAME_CHARS
        && !name.contains(['[', ']', '|', '#', '^', '\n', '\r'])
        && name.chars().any(char::is_alphabetic);
    if !usable {
        return;
    }
    let mut forms = vec![name.replace('-', " "), name.replace(' ', "-")];
    forms.push(name.into_owned());
    forms.sort();
    forms.dedup();
    for form in forms {
        let slot = names.entry(form).or_insert(Some(note));
        if *slot != Some(note) {
            *slot = None;
        }
    }
}

/// Returns the spellings of a name. The automaton ignores case in ASCII only;
/// other alphabets need each spelling.
fn list_spellings(name: &str) -> Vec<String> {
    let mut spellings = vec![name.to_owned()];
    if !name.is_ascii() {
        let mut chars = name.chars();
        let first: String = chars
            .next()
            .into_iter()
            .flat_map(char::to_uppercase)
            .collect();
        spellings.push(format!("{first}{}", chars.as_str()));
        spellings.push(name.to_uppercase());
        let apart: Vec<String> = spellings.iter().map(|it| it.nfd().collect()).collect();
        spellings.extend(apart);
    }
    spellings
}

/// Returns `true` if a span is whole words, and not part of a path, a tag or
/// brackets.
fn is_whole_word(text: &str, span: &Range<usize>) -> bool {
    let before = text[..span.start].chars().next_back();
    let after = text[span.end..].chars().next();
    let next = text[span.end..].chars().nth(1);
    let first = text[span.clone()].chars().next();
    let end = text[span.clone()].chars().next_back();
    // Scripts without spaces between words have no word boundaries.
    let dense = |c: Option<char>| c.is_some_and(|c| matches!(c, '\u{3040}'..='\u{9fff}'));
    let within = |c: char| c.is_alphanumeric() || c == '_';
    let opens = before.is_none_or(|c| {
        !(within(c) && !(dense(first) || dense(before)))
            && !matches!(c, '-' | '/' | '\\' | '#' | '@' | '[' | '$' | '.' | '{')
    });
    let closes = after.is_none_or(|c| match c {
        '-' | '.' | ':' | '\'' | '’' => {
            c == ':' || c == '\'' || c == '’' || !next.is_some_and(char::is_alphanumeric)
        }
        '/' | '\\' | ']' | '}' | '(' | '=' => false,
        c => !within(c) || dense(end) || dense(after),
    });
    opens && closes
}

/// Returns the lines of the file that link to a note already.
fn find_linked_lines(vault: &NoteVault, from: u32) -> HashSet<(usize, u32)> {
    let note = vault.file(from).note.iter();
    note.flat_map(|note| &note.links)
        .filter_map(|link| Some((link.line, vault.resolve(from, link).opened_file()?)))
        .collect()
}

/// The header lines and the rows of tables.
#[derive(Default)]
struct TableLines {
    headers: Vec<Range<usize>>,
    rows: HashSet<usize>,
}

impl TableLines {
    /// Finds tables by the line of dashes, so that tables in quotes and lists
    /// count.
    fn from_document(document: &Document) -> TableLines {
        let mut tables = TableLines::default();
        let starts = &document.line_starts;
        let line = |number: usize| {
            let end = starts.get(number).copied().unwrap_or(document.text.len());
            starts[number - 1]..end
        };
        let mut number = document.line_number_at(document.body.start) + 1;
        while number <= starts.len() {
            if !is_table_delimiter(&document.text[line(number)])
                || document.is_in_code(line(number).start)
            {
                number += 1;
                continue;
            }
            tables.headers.push(line(number - 1));
            tables.rows.insert(number - 1);
            number += 1;
            while number <= starts.len() && document.text[line(number)].contains('|') {
                tables.rows.insert(number);
                number += 1;
            }
        }
        tables
    }
}

/// Returns `true` for the line of dashes below the header of a table.
fn is_table_delimiter(line: &str) -> bool {
    line.contains('|') && line.contains('-') && line.bytes().all(|it| b"|:- \t>\r\n".contains(&it))
}

/// Returns the ranges in which nothing may be linked, sorted and disjoint.
fn find_closed_ranges(document: &Document, tables: &TableLines) -> Vec<Range<usize>> {
    let mut closed = Vec::new();
    closed.push(0..document.body.start);
    closed.extend(document.code.iter().map(|code| code.span.clone()));
    closed.extend(document.inline_code.iter().cloned());
    closed.extend(document.links.iter().map(|link| link.span.clone()));
    closed.extend(document.comments.iter().cloned());
    closed.extend(find_comments(document));
    closed.extend(tables.headers.iter().cloned());
    let html = document
        .blocks
        .iter()
        .filter(|it| it.kind == BlockKind::Html);
    closed.extend(html.map(|block| block.span.clone()));
    closed.extend(
        document
            .sections
            .iter()
            .map(|section| section.heading.clone()),
    );
    closed.extend(find_definitions(document));
    closed.extend(find_html_tags(document));
    closed.retain(|range| !range.is_empty());
    closed.sort_by_key(|range| range.start);
    let mut disjoint: Vec<Range<usize>> = Vec::with_capacity(closed.len());
    for range in closed {
        match disjoint.last_mut() {
            Some(last) if range.start < last.end => last.end = last.end.max(range.end),
            _ => disjoint.push(range),
        }
    }
    disjoint
}

/// Returns definitions of links and footnotes, which contain addresses.
fn find_definitions(document: &Document) -> impl Iterator<Item = Range<usize>> {
    let lines = document.line_starts.windows(2).map(|pair| pair[0]..pair[1]);
    lines.filter(|line| {
        let text = document.text[line.clone()].trim_start();
        text.starts_with('[') && !text.starts_with("[[") && text.contains("]:")
    })
}

/// Returns HTML tags within a line, whose attributes are not text.
fn find_html_tags(document: &Document) -> Vec<Range<usize>> {
    const MAX_TAG_BYTES: usize = 2_000;
    let bytes = document.text.as_bytes();
    let mut found = Vec::new();
    let mut done = document.body.start;
    let mut comments_end = true;
    for open in memchr::memchr_iter(b'<', bytes) {
        let named = bytes
            .get(open + 1)
            .is_some_and(|it| it.is_ascii_alphabetic() || matches!(it, b'/' | b'!'));
        if open < done || !named {
            continue;
        }
        let end = bytes.len().min(open + MAX_TAG_BYTES);
        let comment = bytes[open..].starts_with(b"<!--");
        let close = if !comment {
            memchr::memchr(b'>', &bytes[open..end]).map(|it| it + 1)
        } else if comments_end {
            let close = memchr::memmem::find(&bytes[open..], b"-->");
            // Without an end from here on, later comments have none either;
            // looking again for each would take quadratic time.
            comments_end = close.is_some();
            close.map(|it| it + 3)
        } else {
            None
        };
        if let Some(close) = close {
            done = open + close;
            found.push(open..done);
        }
    }
    found
}

/// Returns `true` if a span shares a byte with one of the ranges.
fn overlaps_any(ranges: &[Range<usize>], span: &Range<usize>) -> bool {
    let index = ranges.partition_point(|range| range.start < span.end);
    find_covering(ranges, span.start).is_some()
        || ranges[..index]
            .last()
            .is_some_and(|range| range.end > span.start)
}
