//! Shortens a file of decisions that has become too long for every session to
//! read: its oldest entries move word for word to an archive next to it, and a
//! line below the title links there. The newest entries always stay.

use std::ops::Range;

use super::{Decision, Form, newest_first, read};
use crate::document::{self, Document};
use crate::mind::archive::Archive;
use crate::mind::compress::with_line_below_title;
use crate::mind::values::{apply, marker};
use crate::mind::{Error, File, Layout, Mind};
use crate::thresholds::DECISIONS_NEARLY_FULL;
use crate::workspace::RelPath;

/// Number of lines to shorten to: below the limit by enough that the next
/// decision does not exceed it again.
const SHORTENED: usize = 75;
/// Number of newest entries that always stay, however long they are.
const KEPT_ENTRIES: usize = 10;

const TITLE: &str = "Decisions - Archive";

/// A shortened file of decisions, with its archive.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Shortened {
    pub text: String,
    pub archive: RelPath,
    /// The text of the archive before and after.
    pub archived: (Option<String>, String),
    /// Number of entries that moved.
    pub moved: usize,
}

/// How full the file of decisions is, and what can shorten it.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Fullness {
    Fine,
    /// Old entries can move to the archive.
    CanBeShortened,
    /// Most of its lines are not old entries, so a person has to shorten it.
    ByHand,
}

impl Mind<'_> {
    /// Checks how full the file of decisions is. Files in `.mind/` have no such
    /// limit; `mind compress` handles their size.
    pub fn decisions_fullness(&self) -> Fullness {
        let text = self.text(File::Decisions).ok().flatten();
        let text = text.filter(|_| self.files.layout == Layout::Manifest);
        match text {
            Some(text) if text.lines().count() >= DECISIONS_NEARLY_FULL => {
                match shortened(self.files.path(File::Decisions), &text, None) {
                    Ok(Some(_)) => Fullness::CanBeShortened,
                    Ok(None) | Err(_) => Fullness::ByHand,
                }
            }
            _ => Fullness::Fine,
        }
    }
}

/// Returns the archive path of a file of decisions: `decisions-archive.md` next
/// to it.
pub fn archive_of(path: &RelPath) -> Option<RelPath> {
    let stem = path.as_str().strip_suffix(".md")?;
    RelPath::new(&format!("{stem}-archive.md")).ok()
}

/// Moves the oldest entries to the archive; returns none if the file is not
/// nearly full, or if moving entries would not bring it below that limit.
pub fn shortened(
    path: &RelPath,
    text: &str,
    archive: Option<String>,
) -> Result<Option<Shortened>, Error> {
    let lines = text.lines().count();
    let Some(archive_path) = archive_of(path).filter(|_| lines >= DECISIONS_NEARLY_FULL) else {
        return Ok(None);
    };
    let document = document::parse(text.to_owned());
    let units = units(&document);
    let movable = units.len().saturating_sub(KEPT_ENTRIES);
    // Two lines for the link to the archive and its blank line.
    let mut left = lines + 2;
    let mut moved: Vec<&Unit> = Vec::new();
    for unit in units.iter().take(movable) {
        if left <= SHORTENED {
            break;
        }
        left -= document.str(&unit.span).lines().count();
        moved.push(unit);
    }
    if moved.is_empty() || left >= DECISIONS_NEARLY_FULL {
        return Ok(None);
    }
    moved.sort_by_key(|it| it.entry.start);
    let blocks: Vec<&str> = moved.iter().map(|it| document.str(&it.entry)).collect();
    let blocks: Vec<&str> = blocks.into_iter().map(str::trim_end).collect();
    let mut kept = Archive::new(&archive_path, archive.clone());
    kept.add(TITLE, document.newline(), &blocks)?;
    let after_archive = kept.finish()?.unwrap_or_default();
    let removals = moved.iter().map(|it| document.take_out(it.span.clone()));
    let after = apply(path, text, removals.collect())?;
    let after = with_line_below_title(
        path,
        after,
        &format!("Older decisions: [[{}]]", archive_path.stem()),
    )?;
    let count = |text: &str| read(&document::parse(text.to_owned())).len();
    let all = count(&after) + count(&after_archive) - archive.as_deref().map_or(0, count);
    if all != count(text) || after.lines().count() >= DECISIONS_NEARLY_FULL {
        return Err(Error::Unsafe {
            path: path.to_string(),
            why: "a decision would not read as before",
        });
    }
    Ok(Some(Shortened {
        text: after,
        archive: archive_path,
        moved: moved.len(),
        archived: (archive, after_archive),
    }))
}

/// An entry with everything that belongs to it.
struct Unit {
    entry: Range<usize>,
    /// The entry with the blank line after it, if another one precedes it.
    span: Range<usize>,
}

/// Lists the entries at the left edge, the oldest first: blocks, lines with
/// what is indented below them, and gathered weeks.
fn units(document: &Document) -> Vec<Unit> {
    let all = read(document);
    let outer =
        |it: &&Decision| it.form == Form::Block || !document.str(&it.span).starts_with([' ', '\t']);
    let mut spans: Vec<Range<usize>> = all.iter().filter(outer).map(|it| it.span.clone()).collect();
    let mut at = document.body.start;
    for line in document.text[at..].split_inclusive('\n') {
        if is_week(line) && !document.in_code(at) {
            spans.push(at..at + line.len());
        }
        at += line.len();
    }
    spans.sort_by_key(|it| it.start);
    spans.dedup_by(|next, before| next.start < before.end);
    let mut units: Vec<Unit> = spans.into_iter().map(|it| unit(document, it)).collect();
    let mut dated = all;
    dated.sort_by_key(|it| it.span.start);
    if newest_first(&dated) {
        units.reverse();
    }
    units
}

/// Returns `true` for `**2026-03-02–2026-03-05** - topic`, which has decisions
/// below it.
fn is_week(line: &str) -> bool {
    let body = marker(line).map_or(line, |length| line[length.min(line.len())..].trim_start());
    let date = |text: Option<&str>| text.is_some_and(|it| it.parse::<jiff::civil::Date>().is_ok());
    let Some((dates, _)) = body.strip_prefix("**").and_then(|it| it.split_once("**")) else {
        return false;
    };
    match dates.split_once('–') {
        Some((from, to)) => date(Some(from)) && date(Some(to)),
        None => false,
    }
}

fn unit(document: &Document, entry: Range<usize>) -> Unit {
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
    Unit {
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
            let done = shortened(&path(), &text, None)
                .expect("safe")
                .expect("it is full");
            assert!(done.text.lines().count() <= SHORTENED, "{}", done.text);
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
            let again = shortened(&path(), &done.text, Some(done.archived.1)).expect("safe");
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
        let first = shortened(&path(), &lines(1), None)
            .expect("safe")
            .expect("full");
        let text = format!("{}{}", first.text, lines(101));
        let archived = first.archived.1.clone();
        let second = shortened(&path(), &text, Some(archived))
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
        assert_eq!(shortened(&path(), &text, None).expect("safe"), None);
    }

    #[test]
    fn a_gathered_week_moves_whole() {
        let week = "**2025-01-06–2025-01-08** - Paper\n  - **2025-01-06** - Paper is A5\n  - **2025-01-08** - Paper is white\n";
        let rest: String = (0..100)
            .map(|n| format!("**2026-01-01** - Fact {n}\n"))
            .collect();
        let done = shortened(&path(), &format!("# Decisions\n\n{week}{rest}"), None)
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
