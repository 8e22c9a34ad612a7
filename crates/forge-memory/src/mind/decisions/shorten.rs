//! Shortens a file of decisions that has become too long for every session to
//! read: its oldest entries move word for word to an archive next to it, and a
//! line below the title links there. The newest entries always stay.

use std::ops::Range;

use super::{Decision, DecisionForm, is_newest_first, parse_decisions};
use crate::document::{self, Document};
use crate::mind::archive::StateArchive;
use crate::mind::compress::insert_line_below_title;
use crate::mind::values::{apply_edits, list_marker_length};
use crate::mind::{MindError, MindFile, MindStore, StateLayoutKind};
use crate::thresholds::NEARLY_FULL_DECISION_LINES;
use crate::workspace::RelPath;

/// Number of lines to shorten to: below the limit by enough that the next
/// decision does not exceed it again.
const SHORTENED_LINES: usize = 75;
/// Number of newest entries that always stay, however long they are.
const MIN_KEPT_ENTRIES: usize = 10;

const ARCHIVE_TITLE: &str = "Decisions - Archive";

/// A shortened file of decisions, with its archive.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct ShortenedDecisions {
    /// The text of the file afterwards.
    pub text: String,
    /// The file that entries move to.
    pub archive: RelPath,
    /// The text of the archive before and after.
    pub archived: (Option<String>, String),
    /// Number of entries that moved.
    pub moved: usize,
}

/// Fill level of the file of decisions, and the ways to shorten it.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum DecisionFullness {
    /// Nothing has to be done.
    Fine,
    /// Old entries can move to the archive.
    CanBeShortened,
    /// Most of its lines are not old entries, so a person has to shorten it.
    ByHand,
}

impl MindStore<'_> {
    /// Checks how full the file of decisions is. Files in `.mind/` have no such
    /// limit; `mind compress` handles their size.
    pub fn check_decisions_fullness(&self) -> DecisionFullness {
        let text = self.read_text(MindFile::Decisions).ok().flatten();
        let text = text.filter(|_| self.files.layout == StateLayoutKind::Manifest);
        match text {
            Some(text) if text.lines().count() >= NEARLY_FULL_DECISION_LINES => {
                match shorten_decisions(self.files.path(MindFile::Decisions), &text, None) {
                    Ok(Some(_)) => DecisionFullness::CanBeShortened,
                    Ok(None) | Err(_) => DecisionFullness::ByHand,
                }
            }
            _ => DecisionFullness::Fine,
        }
    }
}

/// Returns the archive path of a file of decisions: `decisions-archive.md` next
/// to it.
pub fn decisions_archive_path(path: &RelPath) -> Option<RelPath> {
    let stem = path.as_str().strip_suffix(".md")?;
    RelPath::new(&format!("{stem}-archive.md")).ok()
}

/// Moves the oldest entries to the archive; returns none if the file is not
/// nearly full, or if moving entries would not bring it below that limit.
pub fn shorten_decisions(
    path: &RelPath,
    text: &str,
    archive: Option<String>,
) -> Result<Option<ShortenedDecisions>, MindError> {
    let lines = text.lines().count();
    let Some(archive_path) =
        decisions_archive_path(path).filter(|_| lines >= NEARLY_FULL_DECISION_LINES)
    else {
        return Ok(None);
    };
    let document = document::parse_document(text.to_owned());
    let units = movable_entries(&document);
    let movable = units.len().saturating_sub(MIN_KEPT_ENTRIES);
    // Two lines for the link to the archive and its blank line.
    let mut left = lines + 2;
    let mut moved: Vec<&MovableEntry> = Vec::new();
    for unit in units.iter().take(movable) {
        if left <= SHORTENED_LINES {
            break;
        }
        left -= document.span_text(&unit.span).lines().count();
        moved.push(unit);
    }
    if moved.is_empty() || left >= NEARLY_FULL_DECISION_LINES {
        return Ok(None);
    }
    moved.sort_by_key(|it| it.entry.start);
    let blocks: Vec<&str> = moved
        .iter()
        .map(|it| document.span_text(&it.entry))
        .collect();
    let blocks: Vec<&str> = blocks.into_iter().map(str::trim_end).collect();
    let mut kept = StateArchive::new(&archive_path, archive.clone());
    kept.add_entries(ARCHIVE_TITLE, document.newline(), &blocks)?;
    let after_archive = kept.finish()?.unwrap_or_default();
    let removals = moved
        .iter()
        .map(|it| document.delete_lines(it.span.clone()));
    let after = apply_edits(path, text, removals.collect())?;
    let after = insert_line_below_title(
        path,
        after,
        &format!("Older decisions: [[{}]]", archive_path.stem()),
    )?;
    let count = |text: &str| parse_decisions(&document::parse_document(text.to_owned())).len();
    let all = count(&after) + count(&after_archive) - archive.as_deref().map_or(0, count);
    if all != count(text) || after.lines().count() >= NEARLY_FULL_DECISION_LINES {
        return Err(MindError::Unsafe {
            path: path.to_string(),
            why: "a decision would not read as before",
        });
    }
    Ok(Some(ShortenedDecisions {
        text: after,
        archive: archive_path,
        moved: moved.len(),
        archived: (archive, after_archive),
    }))
}

/// An entry with everything that belongs to it.
struct MovableEntry {
    entry: Range<usize>,
    /// The entry with the blank line after it, if another one precedes it.
    span: Range<usize>,
}

/// Lists the entries at the left edge, the oldest first: blocks, lines with
/// what is indented below them, and gathered weeks.
fn movable_entries(document: &Document) -> Vec<MovableEntry> {
    let all = parse_decisions(document);
    let outer = |it: &&Decision| {
        it.form == DecisionForm::Block || !document.span_text(&it.span).starts_with([' ', '\t'])
    };
    let mut spans: Vec<Range<usize>> = all.iter().filter(outer).map(|it| it.span.clone()).collect();
    let mut at = document.body.start;
    for line in document.text[at..].split_inclusive('\n') {
        if is_week_heading(line) && !document.is_in_code(at) {
            spans.push(at..at + line.len());
        }
        at += line.len();
    }
    spans.sort_by_key(|it| it.start);
    spans.dedup_by(|next, before| next.start < before.end);
    let mut units: Vec<MovableEntry> = spans
        .into_iter()
        .map(|it| movable_entry(document, it))
        .collect();
    let mut dated = all;
    dated.sort_by_key(|it| it.span.start);
    if is_newest_first(&dated) {
        units.reverse();
    }
    units
}

/// Returns `true` for `**2026-03-02–2026-03-05** - topic`, which has decisions
/// below it.
fn is_week_heading(line: &str) -> bool {
    let body =
        list_marker_length(line).map_or(line, |length| line[length.min(line.len())..].trim_start());
    let date = |text: Option<&str>| text.is_some_and(|it| it.parse::<jiff::civil::Date>().is_ok());
    let Some((dates, _)) = body.strip_prefix("**").and_then(|it| it.split_once("**")) else {
        return false;
    };
    match dates.split_once('–') {
        Some((from, to)) => date(Some(from)) && date(Some(to)),
        None => false,
    }
}

fn movable_entry(document: &Document, entry: Range<usize>) -> MovableEntry {
    let text = &document.text;
    let mut end = entry.end;
    for next in text[end..].split_inclusive('\n') {
        if !next.starts_with([' ', '\t']) || next.trim().is_empty() {
            break;
        }
        end += next.len();
    }
    let before = text[..entry.start].lines().next_back();
    let gap = match (
        before.map(str::trim),
        text[end..].split_inclusive('\n').next(),
    ) {
        (Some("") | None, Some(next)) if next.trim().is_empty() => next.len(),
        _ => 0,
    };
    MovableEntry {
        entry: entry.start..end,
        span: entry.start..end + gap,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn path() -> RelPath {
        RelPath::new("memory/decisions.md").expect("a plain path")
    }

    #[test]
    fn a_full_file_gets_below_its_limit_and_no_word_is_lost() {
        let forms: [fn(usize) -> String; 4] = [
            |n| format!("**2026-01-01** - Fact {n}.\n"),
            |n| format!("**2026-01-01** - Fact {n}.\n\n"),
            |n| format!("- **2026-01-01** - Fact {n}.\n  because of {n}.\n"),
            |n| {
                format!(
                    "## DEC-{n:03}: Title {n}\n- **Date:** 2026-01-01\n- **Decision:** Fact {n}.\n\n"
                )
            },
        ];
        for form in forms {
            let entries: Vec<String> = (1..=110).map(form).collect();
            let text = format!("# Decisions\n\n{}", entries.concat());
            let done = shorten_decisions(&path(), &text, None)
                .expect("safe")
                .expect("it is full");
            assert!(
                done.text.lines().count() <= SHORTENED_LINES,
                "{}",
                done.text
            );
            for entry in &entries {
                let word = entry.trim_end();
                let (_, archived) = &done.archived;
                assert!(
                    done.text.contains(word) != archived.contains(word),
                    "{word}"
                );
            }
            assert!(done.text.contains("Fact 110.") && !done.text.contains("Fact 1."));
            assert!(done.text.contains("Older decisions: [[decisions-archive]]"));
            let again =
                shorten_decisions(&path(), &done.text, Some(done.archived.1)).expect("safe");
            assert_eq!(again, None, "it is not full any more");
        }
    }

    #[test]
    fn a_second_time_adds_to_the_archive() {
        let lines = |from: usize| -> String {
            (from..from + 100)
                .map(|n| format!("**2026-01-01** - Fact {n}\n"))
                .collect()
        };
        let first = shorten_decisions(&path(), &lines(1), None)
            .expect("safe")
            .expect("full");
        let text = format!("{}{}", first.text, lines(101));
        let archived = first.archived.1.clone();
        let second = shorten_decisions(&path(), &text, Some(archived))
            .expect("safe")
            .expect("full");
        assert!(second.archived.1.starts_with(first.archived.1.trim_end()));
        assert_eq!(second.text.matches("Older decisions").count(), 1);
        for n in 1..=200 {
            let fact = format!("Fact {n}\n");
            let kept = format!("{}\n{}\n", second.text, second.archived.1);
            assert_eq!(kept.matches(&fact).count(), 1, "{fact}");
        }
    }

    #[test]
    fn prose_is_no_decision_and_stays() {
        let text = format!(
            "# Decisions\n\n{}",
            "A sentence about nothing.\n\n".repeat(60)
        );
        assert_eq!(shorten_decisions(&path(), &text, None).expect("safe"), None);
    }

    #[test]
    fn a_gathered_week_moves_whole() {
        let week = "**2025-01-06–2025-01-08** - Paper\n  - **2025-01-06** - Paper is A5\n  - **2025-01-08** - Paper is white\n";
        let rest: String = (0..100)
            .map(|n| format!("**2026-01-01** - Fact {n}\n"))
            .collect();
        let done = shorten_decisions(&path(), &format!("# Decisions\n\n{week}{rest}"), None)
            .expect("safe")
            .expect("full");
        assert!(
            done.archived.1.contains(week.trim_end()),
            "{}",
            done.archived.1
        );
        assert!(!done.text.contains("Paper"));
    }
}
