//! Finds the same text in several files. Lines are compared by a hash of their
//! words, so that time grows with the length of the files alone; runs of equal
//! lines count if they are long enough to be worth a finding.

use std::collections::{BTreeMap, HashMap, HashSet};
use std::hash::{DefaultHasher, Hash, Hasher};

use super::loads::{CLIENT_FOLDERS, FileLoad, owner_folder};
use super::source::SourcePlace;
use super::{AuditFinding, AuditFindingKind, AuditLevel, AuditView, FileOrigin, copilot};
use crate::client::AgentClient;
use crate::document::Document;
use crate::tokens::{Tokenizer, count_tokens, estimate_tokens, format_thousands};
use crate::workspace::RelPath;

/// Lower bound for a repetition; shorter ones are chance or custom.
pub(super) const MIN_REPEATED_TOKENS: usize = 40;
/// Lower bound for the first line of a run: too many files share shorter ones.
const MIN_FIRST_LINE_WORDS: usize = 4;
/// Upper bound for places of one line; a line in more places is boilerplate. It
/// also bounds the comparisons for each line.
const MAX_LINE_PLACES: usize = 16;

/// First and last line number.
type LineSpan = (usize, usize);

/// Line with at least one word.
#[derive(Clone, Copy)]
pub(super) struct HashedLine {
    number: usize,
    hash: u64,
    tokens: usize,
    begins: bool,
}

/// Equal lines in two files, as positions in their lists of lines.
#[derive(Clone, Copy, PartialEq, Eq)]
pub(super) struct RepeatedRun {
    pub(super) file: usize,
    theirs: (usize, usize),
    mine: (usize, usize),
}

/// Lines of some files, to be looked up by their hash.
#[derive(Default)]
pub(super) struct LineIndex {
    files: Vec<Vec<HashedLine>>,
    places: HashMap<u64, Vec<(usize, usize)>>,
}

impl LineIndex {
    /// Hashes the lines of a body, with their numbers in the file. Our own
    /// lines between their markers are the same in every file by design and are
    /// left out.
    pub(super) fn hash_document(document: &Document) -> Vec<HashedLine> {
        let first = document.line_number_at(document.body.start);
        let mut lines = LineIndex::hash_text(document.span_text(&document.body), first);
        let ours = own_blocks(document);
        lines.retain(|line| !ours.iter().any(|(a, b)| (*a..=*b).contains(&line.number)));
        lines
    }

    pub(super) fn hash_text(text: &str, first: usize) -> Vec<HashedLine> {
        let mut lines = Vec::new();
        for (number, line) in (first..).zip(text.split('\n')) {
            let words = line.split_whitespace();
            let mut hasher = DefaultHasher::new();
            let mut count = 0;
            for word in words.filter(|word| word.contains(char::is_alphanumeric)) {
                word.to_lowercase().hash(&mut hasher);
                count += 1;
            }
            if count > 0 {
                lines.push(HashedLine {
                    number,
                    hash: hasher.finish(),
                    // The estimate adds five for each text, which a line is
                    // not.
                    tokens: estimate_tokens(line).saturating_sub(5),
                    begins: count >= MIN_FIRST_LINE_WORDS,
                });
            }
        }
        lines
    }

    pub(super) fn add_file(&mut self, lines: Vec<HashedLine>) {
        let file = self.files.len();
        for (at, line) in lines.iter().enumerate().filter(|(_, line)| line.begins) {
            let places = self.places.entry(line.hash).or_default();
            if places.len() < MAX_LINE_PLACES {
                places.push((file, at));
            }
        }
        self.files.push(lines);
    }

    /// Finds the runs of lines that these files hold as well, without overlaps.
    /// If several places hold the same run, returns all or only the first.
    /// Skips files that `meets` refuses.
    pub(super) fn find_runs(
        &self,
        lines: &[HashedLine],
        all: bool,
        meets: impl Fn(usize) -> bool,
    ) -> Vec<RepeatedRun> {
        let mut runs: Vec<RepeatedRun> = Vec::new();
        let mut at = 0;
        let mut free = 0;
        while at < lines.len() {
            let places = if lines[at].begins {
                self.places.get(&lines[at].hash)
            } else {
                None
            };
            let places = places
                .into_iter()
                .flatten()
                .filter(|(file, _)| meets(*file));
            let found: Vec<RepeatedRun> = places
                .map(|&(file, place)| self.extend_run(file, place, lines, at, free))
                .collect();
            let tokens =
                |run: &RepeatedRun| lines[run.mine.0..run.mine.1].iter().map(|l| l.tokens).sum();
            let most: usize = found.iter().map(tokens).max().unwrap_or(0);
            if most < MIN_REPEATED_TOKENS {
                at += 1;
                continue;
            }
            let known = runs.len();
            for run in found.iter().filter(|run| tokens(run) == most) {
                let again = runs[known..].iter().any(|one| one.file == run.file);
                if !again && (all || runs.len() == known) {
                    runs.push(*run);
                }
            }
            at = runs[known].mine.1;
            free = at;
        }
        runs
    }

    /// Extends a pair of equal lines in both directions; the lines before it
    /// may be too short to begin a run of their own.
    fn extend_run(
        &self,
        file: usize,
        place: usize,
        lines: &[HashedLine],
        at: usize,
        free: usize,
    ) -> RepeatedRun {
        let theirs = &self.files[file];
        let same = |(a, b): &(&HashedLine, &HashedLine)| a.hash == b.hash;
        let on = theirs[place..]
            .iter()
            .zip(&lines[at..])
            .take_while(same)
            .count();
        let (before, mine) = (theirs[..place].iter().rev(), lines[free..at].iter().rev());
        let back = before.zip(mine).take_while(same).count();
        RepeatedRun {
            file,
            theirs: (place - back, place + on),
            mine: (at - back, at + on),
        }
    }

    /// Returns first and last line of a run, in the indexed file.
    pub(super) fn indexed_span(&self, run: &RepeatedRun) -> LineSpan {
        let lines = &self.files[run.file];
        (lines[run.theirs.0].number, lines[run.theirs.1 - 1].number)
    }
}

/// Markers around the lines that `setup` and `doctor` write.
const BLOCK_MARKERS: [(&str, &str); 2] = [
    ("<!-- memory-forge:begin -->", "<!-- memory-forge:end -->"),
    (
        "<!-- memory-forge:stub:begin -->",
        "<!-- memory-forge:stub:end -->",
    ),
];

/// Returns first and last line of each closed block of ours.
fn own_blocks(document: &Document) -> Vec<LineSpan> {
    let mut blocks = Vec::new();
    let mut open: Option<(usize, &str)> = None;
    for (number, line) in (1..).zip(document.text.split('\n')) {
        let line = line.trim();
        match open {
            Some((first, close)) if line == close => {
                blocks.push((first, number));
                open = None;
            }
            Some(_) => {}
            None => {
                let begun = BLOCK_MARKERS.iter().find(|(begin, _)| line == *begin);
                open = begun.map(|(_, close)| (number, *close));
            }
        }
    }
    blocks
}

/// Returns first and last line of a run, in the compared file.
pub(super) fn compared_span(lines: &[HashedLine], run: &RepeatedRun) -> LineSpan {
    (lines[run.mine.0].number, lines[run.mine.1 - 1].number)
}

/// Returns the text of some lines of a file.
pub(super) fn span_text(document: &Document, (first, last): LineSpan) -> &str {
    let start = document.line_starts[first - 1];
    let end = document.line_starts.get(last).copied();
    &document.text[start..end.unwrap_or(document.text.len())]
}

/// Reports text that several files of a view hold.
pub(super) fn check_repeats(
    loads: &[FileLoad],
    view: AuditView,
    judge: Tokenizer,
    findings: &mut Vec<AuditFinding>,
) {
    let mut mirrored = HashSet::new();
    let mut listed = HashSet::new();
    let mut files: Vec<&FileLoad> = loads
        .iter()
        .filter(|load| load.origin == FileOrigin::Project && load.invoke.is_none())
        .filter(|load| !load.text.is_empty())
        // Two files may import the same one.
        .filter(|load| listed.insert(&load.source.place))
        .filter(|load| match mirrored_name(&load.source.place) {
            Some(key) => mirrored.insert(key),
            None => true,
        })
        .collect();
    // Files of the root come first, as they are loaded together with all
    // others.
    files.sort_by_key(|load| owner_folder(&load.source.place).len());
    let mut lines = LineIndex::default();
    // Each run of lines in one file, with the other files that hold it.
    let mut shared: BTreeMap<(usize, LineSpan), Vec<(usize, usize)>> = BTreeMap::new();
    for (number, load) in files.iter().enumerate() {
        let own = LineIndex::hash_document(&load.source.document);
        let folder = owner_folder(&load.source.place);
        // Clients never load the instructions of two sibling folders together.
        let meets = |other: usize| {
            let other = owner_folder(&files[other].source.place);
            is_within(other, folder) || is_within(folder, other)
        };
        for run in lines.find_runs(&own, false, meets) {
            let holders = shared
                .entry((run.file, lines.indexed_span(&run)))
                .or_default();
            holders.push((number, compared_span(&own, &run).0));
        }
        lines.add_file(own);
    }
    let mut groups: BTreeMap<(usize, Vec<usize>), RepeatGroup> = BTreeMap::new();
    for ((first, place), holders) in shared {
        let others = holders.iter().map(|(file, _)| *file).collect();
        let group = groups.entry((first, others)).or_insert(RepeatGroup {
            tokens: 0,
            line: place.0,
            other_line: holders[0].1,
        });
        group.tokens += count_tokens(judge, span_text(&files[first].source.document, place));
    }
    for ((first, others), group) in groups {
        findings.push(repeat_finding(&files, first, &others, &group, view, judge));
    }
}

/// Returns `true` if a folder is another one or inside it; empty is the root.
fn is_within(folder: &str, other: &str) -> bool {
    other.is_empty()
        || folder == other
        || folder
            .strip_prefix(other)
            .is_some_and(|r| r.starts_with('/'))
}

struct RepeatGroup {
    tokens: usize,
    line: usize,
    other_line: usize,
}

fn repeat_finding(
    files: &[&FileLoad],
    first: usize,
    others: &[usize],
    group: &RepeatGroup,
    view: AuditView,
    judge: Tokenizer,
) -> AuditFinding {
    let shown = |file: usize| files[file].source.shown.as_str();
    let names: Vec<&str> = others.iter().map(|&file| shown(file)).collect();
    let verb = if others.len() == 1 {
        "repeats"
    } else {
        "repeat"
    };
    let mut message = format!(
        "{} {verb} {} tokens ({}) of {}:{}",
        join_names(&names),
        format_thousands(group.tokens),
        judge.label(),
        shown(first),
        group.line
    );
    let all = || others.iter().copied().chain([first]);
    // Copilot loads one of several files with the same text.
    let together: HashSet<&str> = all()
        .filter(|&f| copilot::INSTRUCTION_FILES.contains(&shown(f)))
        .map(|f| files[f].source.text())
        .collect();
    let together = together.len();
    let copilot = matches!(
        view,
        AuditView::Plain | AuditView::Client(AgentClient::Copilot)
    );
    if copilot && together > 1 {
        message.push_str(&format!("; Copilot pays this {together} times"));
    }
    // Skills share boilerplate and are seldom used together.
    let level = match all().filter(|&f| files[f].is_instructions).count() {
        0 | 1 => AuditLevel::Notice,
        _ => AuditLevel::Warning,
    };
    let mut finding = AuditFinding::new(level, AuditFindingKind::Repeated, names[0], message);
    finding.tokens = Some(group.tokens);
    finding
        .at_line(group.other_line)
        .with_advice("Keep it in one of them, and import it or point to it from the others")
}

fn join_names(names: &[&str]) -> String {
    match names {
        [] => String::new(),
        [one] => (*one).to_owned(),
        [most @ .., last] if names.len() <= 4 => format!("{} and {last}", most.join(", ")),
        [first, second, ..] => format!("{first}, {second} and {} others", names.len() - 2),
    }
}

/// Returns the name that copies of a skill or command in several clients'
/// folders share.
///
/// Clients look in different folders, so copies under one name are the way to
/// serve several of them, and no client loads more than one.
fn mirrored_name(place: &SourcePlace) -> Option<String> {
    let SourcePlace::Inside(path) = place else {
        return None;
    };
    mirror_key(path)
}

fn mirror_key(path: &RelPath) -> Option<String> {
    let names: Vec<&str> = path.components().collect();
    let special = names
        .iter()
        .position(|name| CLIENT_FOLDERS.contains(name))?;
    let [kind, below @ ..] = &names[special + 1..] else {
        return None;
    };
    if below.is_empty() {
        return None;
    }
    let below = below.join("/");
    let stem = below
        .rsplit_once('.')
        .map_or(below.as_str(), |(stem, _)| stem);
    let before = names[..special].join("/");
    Some(format!("{before}:{}:{stem}", kind.trim_end_matches('s')))
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::document::parse_document;

    const BLOCK: &str = "Use the retry helper for every call to the payment provider.\n\
        Never call it twice with one idempotency key.\n\n\
        - Timeouts are thirty seconds, and the third attempt is the last one.\n\
        - Log the request id, never the card number, and alert on the fifth failure.\n";

    fn runs(one: &str, other: &str) -> Vec<((usize, usize), (usize, usize))> {
        let (one, other) = (parse_document(one), parse_document(other));
        let mut lines = LineIndex::default();
        lines.add_file(LineIndex::hash_document(&one));
        let own = LineIndex::hash_document(&other);
        let runs = lines.find_runs(&own, false, |_| true);
        runs.iter()
            .map(|run| (lines.indexed_span(run), compared_span(&own, run)))
            .collect()
    }

    #[test]
    fn equal_blocks_are_found_wherever_they_stand() {
        let one = format!("# One\n\n{BLOCK}\nend\n");
        let other = format!("---\na: b\n---\n\nintro\n\n{}", BLOCK.replace("- ", "* "));
        assert_eq!(runs(&one, &other), [((3, 7), (7, 11))]);
        assert_eq!(runs(&one, &BLOCK.replace('\n', "\r\n")), [((3, 7), (1, 5))]);
    }

    /// The repair of `doctor` writes the same lines into `CLAUDE.md` and
    /// `AGENTS.md`; that is no duplication to be repaired.
    #[test]
    fn two_stubs_are_no_finding() {
        let block =
            format!("<!-- memory-forge:stub:begin -->\n{BLOCK}<!-- memory-forge:stub:end -->\n");
        assert!(runs(&block, &format!("# Other\n\n{block}")).is_empty());
        let unclosed = block.replace(":stub:end", "");
        assert_eq!(runs(&unclosed, &unclosed).len(), 1);
    }

    #[test]
    fn short_and_common_lines_are_not() {
        assert!(
            runs(
                "# Build\n\ncargo test --all\n",
                "# Build\n\ncargo test --all\n"
            )
            .is_empty()
        );
        assert!(
            runs(
                BLOCK,
                "Use the retry helper for every call to the payment provider.\n"
            )
            .is_empty()
        );
        assert!(runs("", "").is_empty());
    }

    #[test]
    fn time_grows_with_length_alone() {
        let text = "the same line of five words\n".repeat(20_000);
        let start = std::time::Instant::now();
        runs(&text, &text);
        assert!(start.elapsed().as_secs() < 20);
    }

    #[test]
    fn copies_for_several_clients_are_mirrors() {
        let key = |path: &str| mirror_key(&RelPath::new(path).expect("a path"));
        assert_eq!(
            key(".claude/skills/a/SKILL.md"),
            key(".opencode/skill/a/SKILL.md")
        );
        assert_eq!(key(".claude/rules/a.md"), key(".cursor/rules/a.mdc"));
        assert_ne!(
            key(".claude/skills/a/SKILL.md"),
            key(".claude/skills/b/SKILL.md")
        );
        assert_ne!(key("x/.claude/rules/a.md"), key(".claude/rules/a.md"));
        assert_eq!(key(".github/copilot-instructions.md"), None);
        assert_eq!(key("CLAUDE.md"), None);
    }
}
