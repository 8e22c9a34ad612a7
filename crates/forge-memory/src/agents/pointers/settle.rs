//! The allocation of pointers to the index and the pages behind it. It is pure
//! and idempotent: its result, as input, gives that result again. Text of the
//! user moves whole or stays, and is never dropped. Pointers come back when
//! there is room; other text does not.

use std::collections::{HashMap, HashSet};

use jiff::Timestamp;

use super::units::{self, IndexSize, IndexUnit, PointerTargets, UnitKind};
use super::{MAX_INDEX_BYTES, MAX_INDEX_LINES, PointerShelf};
use crate::document;

/// The text of an index and of the pages behind it.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub(super) struct IndexTexts {
    pub(super) index: Option<String>,
    pub(super) pages: Vec<String>,
}

/// A topic as the allocation sees it.
#[derive(Debug, Clone, PartialEq)]
pub(super) struct PointerCandidate {
    pub(super) target: String,
    /// The line without its list marker.
    pub(super) line: String,
    /// Higher stays longer.
    pub(super) worth: f64,
    /// Newer topics are greater.
    pub(super) written: (Timestamp, Timestamp),
}

/// The result of an allocation.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub(super) struct PointerAllocation {
    pub(super) texts: IndexTexts,
    /// Topics that had no pointer and have one now.
    pub(super) added: Vec<String>,
    /// Pointers to missing files: page (0 is the index), line and target.
    pub(super) lost: Vec<(usize, usize, String)>,
    /// Topics that only the pages point to.
    pub(super) more: usize,
}

/// The caps of an index and of each page.
const MAX_INDEX_SIZE: IndexSize = IndexSize {
    lines: MAX_INDEX_LINES,
    bytes: MAX_INDEX_BYTES,
};
/// Reserved room for the note, and for the line ends that joining pieces may
/// add.
const SPARE_SIZE: IndexSize = IndexSize {
    lines: 6,
    bytes: 300,
};

/// The mark on a page between its pointers and text that was moved from the
/// index.
pub(super) const MOVED_MARK: &str = "<!-- moved here from the index, word for word -->";

/// Brings an index up to date. With `drop_lost` it removes pointers to missing
/// files.
pub(super) fn allocate_pointers(
    shelf: &PointerShelf,
    texts: &IndexTexts,
    candidates: &[PointerCandidate],
    exists: &dyn Fn(&str) -> bool,
    drop_lost: bool,
) -> PointerAllocation {
    let topics: HashSet<String> = candidates.iter().map(|it| it.target.clone()).collect();
    let names = PointerTargets {
        shelf,
        topics: &topics,
        exists,
    };
    let first = allocate_once(&names, texts, candidates, drop_lost, KeepPolicy::Text);
    let reported = |texts: IndexTexts, more: usize| PointerAllocation {
        texts,
        more,
        ..first.clone()
    };
    let mut start = texts.clone();
    let mut next = first.clone();
    // The rest of a text may parse differently without the text that moved, and
    // then a pointer that left could come back, but not to its place. So the
    // text that has to leave is found first, and pointers are chosen without
    // it.
    // Bounded, since each round parses everything again; the fallback below
    // always works.
    for _ in 0..4 {
        let (end, more, is_stable) = allocate_until_stable(&names, next, candidates, drop_lost);
        if is_stable && keeps_line_order(shelf, texts, &end, candidates, more) {
            return reported(end, more);
        }
        let Some(less) = without_moved_text(&names, &start, &end) else {
            break;
        };
        start = less;
        next = allocate_once(&names, &start, candidates, drop_lost, KeepPolicy::Text);
    }
    // Falls back to pointers alone, which cannot parse as anything else.
    let next = allocate_once(&names, texts, candidates, drop_lost, KeepPolicy::Pointers);
    let (end, more, _) = allocate_until_stable(&names, next, candidates, drop_lost);
    reported(end, more)
}

/// Repeats steps until they change nothing; the flag is `true` if that state
/// was reached.
fn allocate_until_stable(
    names: &PointerTargets,
    first: PointerAllocation,
    candidates: &[PointerCandidate],
    drop_lost: bool,
) -> (IndexTexts, usize, bool) {
    let PointerAllocation {
        mut texts,
        mut more,
        ..
    } = first;
    // A result that alternates is cut off here and counts as unstable.
    for _ in 0..7 {
        let next = allocate_once(names, &texts, candidates, drop_lost, KeepPolicy::Text);
        let is_stable = next.texts == texts;
        (texts, more) = (next.texts, next.more);
        if is_stable {
            return (texts, more, true);
        }
    }
    (texts, more, false)
}

/// Returns `true` if the lines that stayed in an index kept their order.
/// Generated lines and lines that came from a page may be anywhere.
fn keeps_line_order(
    shelf: &PointerShelf,
    before: &IndexTexts,
    after: &IndexTexts,
    candidates: &[PointerCandidate],
    more: usize,
) -> bool {
    fn trimmed_lines(text: &str) -> impl Iterator<Item = &str> {
        let lines = text.trim_start_matches('\u{feff}').split(['\n', '\r']);
        lines.map(str::trim).filter(|line| !line.is_empty())
    }
    let was = before.index.as_deref().unwrap_or_default();
    let note = shelf.more_pages_line(more);
    let ours: HashSet<String> = candidates
        .iter()
        .map(|it| format!("- {}", it.line))
        .collect();
    let mut theirs: HashSet<&str> = trimmed_lines(was).collect();
    for line in before.pages.iter().flat_map(|page| trimmed_lines(page)) {
        theirs.remove(line);
    }
    let mut was = trimmed_lines(was);
    trimmed_lines(after.index.as_deref().unwrap_or_default())
        .filter(|line| theirs.contains(line) && *line != note && !ours.contains(*line))
        .all(|line| was.any(|it| it == line))
}

/// Moves the text that a page has in the end to a page at the start. Returns
/// `None` if that changes nothing.
fn without_moved_text(
    names: &PointerTargets,
    start: &IndexTexts,
    end: &IndexTexts,
) -> Option<IndexTexts> {
    let mut left: HashMap<&str, isize> = HashMap::new();
    for (texts, by) in [(end, 1), (start, -1)] {
        let moved = texts.pages.iter().map(|page| split_page(page).1);
        for line in moved.flat_map(str::lines) {
            *left.entry(line.trim()).or_default() += by;
        }
    }
    let (mut index, mut moved) = (String::new(), String::new());
    for unit in units::split_units(start.index.as_deref().unwrap_or_default(), names) {
        let mut lines = unit.text.lines().map(str::trim);
        let is_text = unit.kind == UnitKind::Other || matches!(unit.kind, UnitKind::Heading(_));
        let leaves = is_text
            && !unit.text.trim().is_empty()
            && lines.all(|line| line.is_empty() || left.get(line).is_some_and(|it| *it > 0));
        if !leaves {
            index.push_str(&unit.text);
            continue;
        }
        for line in unit.text.lines() {
            if let Some(count) = left.get_mut(line.trim()) {
                *count -= 1;
            }
        }
        add_lines(&mut moved, &unit.text);
    }
    if moved.is_empty() {
        return None;
    }
    let mut pages = start.pages.clone();
    pages.push(format!("{MOVED_MARK}\n{moved}"));
    let index = Some(index);
    Some(IndexTexts { index, pages })
}

/// The content that an index keeps when it is too long.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum KeepPolicy {
    /// Text of the user, as far as there is room.
    Text,
    /// No text, and only pointers that work on any page.
    Pointers,
}

/// Allocates pointers and text to the index and its pages once.
fn allocate_once(
    names: &PointerTargets,
    texts: &IndexTexts,
    candidates: &[PointerCandidate],
    drop_lost: bool,
    keep: KeepPolicy,
) -> PointerAllocation {
    let index = texts.index.as_deref().unwrap_or_default();
    let mut lost = Vec::new();
    let mut read = |page: usize, text: &str| -> Vec<IndexUnit> {
        let mut units = units::split_units(text, names);
        for unit in &units {
            if let UnitKind::Lost { target } = &unit.kind {
                lost.push((page, unit.line, target.clone()));
            }
        }
        if drop_lost {
            units.retain(|unit| !matches!(unit.kind, UnitKind::Lost { .. }));
        }
        // Generated lines are rendered again at the end.
        remove_generated_lines(units)
    };
    let here = read(0, index);
    let (mut behind, mut moved): (Vec<IndexUnit>, String) = Default::default();
    for (number, page) in texts.pages.iter().enumerate() {
        let (pointers, rest) = split_page(page);
        for unit in read(number + 1, pointers) {
            match unit.kind {
                UnitKind::Pointer | UnitKind::Lost { .. } => behind.push(unit),
                UnitKind::Title => {}
                _ if unit.text.trim().is_empty() => {}
                _ => add_lines(&mut moved, &unit.text),
            }
        }
        add_lines(&mut moved, rest);
    }
    // A copy of what the index already contains is of no use on a page.
    let mut seen_texts: HashSet<String> = here.iter().map(trimmed_text).collect();
    behind.retain(|unit| seen_texts.insert(trimmed_text(unit)));
    let new = find_unpointed_topics(&here, &behind, candidates);
    let added = new.iter().map(|it| it.target.clone()).collect();
    let mut draft = IndexDraft {
        names,
        newline: document::parse_document(index).newline(),
        here: here.iter().collect(),
        back: behind.iter().collect(),
        new: new.iter().map(|it| it.line.as_str()).collect(),
        note: (!moved.is_empty()).then(|| names.shelf.more_pages_line(0)),
    };
    let whole = draft.render_readable(candidates);
    if fits_in_index(&whole) && keep == KeepPolicy::Text {
        let index = (!whole.is_empty() || texts.index.is_some()).then_some(whole);
        let pages = build_pages(names, &[], &moved);
        return PointerAllocation {
            texts: IndexTexts { index, pages },
            added,
            lost,
            more: 0,
        };
    }
    // Copies within the index go only when there is no room.
    let mut here = reduce_text(names, here.clone(), candidates, keep, &mut moved);
    let mut behind = behind.clone();
    let mut seen_texts = HashSet::new();
    here.retain(|unit| !is_pointer(unit, keep) || seen_texts.insert(trimmed_text(unit)));
    behind.retain(|unit| seen_texts.insert(trimmed_text(unit)));
    let new = find_unpointed_topics(&here, &behind, candidates);
    draft.here = here.iter().collect();
    draft.back = behind.iter().collect();
    draft.new = new.iter().map(|it| it.line.as_str()).collect();
    draft.note = (!moved.is_empty()).then(|| names.shelf.more_pages_line(0));
    let whole = draft.render_readable(candidates);
    if fits_in_index(&whole) {
        let texts = IndexTexts {
            index: Some(whole),
            pages: build_pages(names, &[], &moved),
        };
        return PointerAllocation {
            texts,
            added,
            lost,
            more: 0,
        };
    }
    let chosen = choose_pointers(&here, &behind, &new, candidates, keep, draft.newline);
    draft.here.retain(|unit| chosen.has_unit(unit));
    draft.back.retain(|unit| chosen.has_unit(unit));
    draft.new = chosen.new.clone();
    let generated: Vec<IndexUnit> = new
        .iter()
        .filter(|it| !chosen.new.contains(&it.line.as_str()))
        .map(|it| generate_pointer(it))
        .collect();
    let mut away: Vec<&IndexUnit> = Vec::new();
    away.extend(behind.iter().filter(|unit| !chosen.has_unit(unit)));
    for unit in here.iter().filter(|unit| !chosen.has_unit(unit)) {
        match unit.kind {
            _ if is_pointer(unit, keep) => away.push(unit),
            _ if unit.text.trim().is_empty() => {}
            _ => add_lines(&mut moved, &unit.text),
        }
    }
    away.extend(&generated);
    let inside: HashSet<&String> = draft
        .here
        .iter()
        .chain(&draft.back)
        .flat_map(|unit| &unit.targets)
        .collect();
    let more = candidates
        .iter()
        .filter(|it| !inside.contains(&it.target) && !chosen.new.contains(&it.line.as_str()))
        .count();
    let pages = build_pages(names, &away, &moved);
    draft.note = (!pages.is_empty()).then(|| names.shelf.more_pages_line(more));
    PointerAllocation {
        texts: IndexTexts {
            index: Some(draft.render_readable(candidates)),
            pages,
        },
        added,
        lost,
        more,
    }
}

/// Returns the text of a unit without surrounding whitespace.
fn trimmed_text(unit: &IndexUnit) -> String {
    unit.text.trim().to_owned()
}

/// Returns the topics that nothing points to, the newest first.
fn find_unpointed_topics<'a>(
    here: &[IndexUnit],
    behind: &[IndexUnit],
    candidates: &'a [PointerCandidate],
) -> Vec<&'a PointerCandidate> {
    let units = here.iter().chain(behind);
    let pointed: HashSet<&String> = units.flat_map(|unit| &unit.targets).collect();
    let mut new: Vec<&PointerCandidate> = candidates
        .iter()
        .filter(|it| !pointed.contains(&it.target))
        .collect();
    new.sort_by(|a, b| (b.written, &a.target).cmp(&(a.written, &b.target)));
    new
}

/// Splits a page into its pointers and the moved text behind them.
fn split_page(page: &str) -> (&str, &str) {
    let mut at = 0;
    for line in page.split_inclusive('\n') {
        if line.trim_end() == MOVED_MARK {
            return (&page[..at], &page[at + line.len()..]);
        }
        at += line.len();
    }
    (page, "")
}

/// Adds text and makes it end with a line end.
fn add_lines(out: &mut String, text: &str) {
    out.push_str(text);
    if !text.is_empty() && !text.ends_with(['\n', '\r']) {
        out.push('\n');
    }
}

/// Removes generated lines, and the blank line after one that was alone.
fn remove_generated_lines(units: Vec<IndexUnit>) -> Vec<IndexUnit> {
    let mut out: Vec<IndexUnit> = Vec::new();
    let mut drops_blank = false;
    for unit in units {
        let is_blank = unit.text.trim().is_empty();
        if unit.kind == UnitKind::Note {
            drops_blank = !out
                .last()
                .is_some_and(|it| is_pointer(it, KeepPolicy::Text));
        } else if !(std::mem::take(&mut drops_blank) && is_blank) {
            out.push(unit);
        }
    }
    out
}

/// Moves text to pages until the longest pointer fits into the index. Parses
/// the rest again each time, since it may read differently.
fn reduce_text(
    names: &PointerTargets,
    mut here: Vec<IndexUnit>,
    candidates: &[PointerCandidate],
    keep: KeepPolicy,
    moved: &mut String,
) -> Vec<IndexUnit> {
    let longest = candidates.iter().map(|it| it.line.len()).max().unwrap_or(0);
    // Room for one pointer of the maximum size.
    let room = SPARE_SIZE.plus(IndexSize {
        lines: 1,
        bytes: longest.max(units::MAX_UNIT_BYTES) + 8,
    });
    // The last round moves all text, so that this ends.
    for round in 0..10 {
        let mut taken = room;
        let mut kept: Vec<IndexUnit> = Vec::new();
        let mut changed = false;
        for unit in here {
            let size = taken.plus(IndexSize::of_text(&unit.text));
            if is_pointer(&unit, keep) {
                kept.push(unit);
            } else if keep == KeepPolicy::Text && round < 9 && size.fits_within(MAX_INDEX_SIZE) {
                taken = size;
                kept.push(unit);
            } else {
                changed = true;
                if !unit.text.trim().is_empty() {
                    add_lines(moved, &unit.text);
                }
            }
        }
        here = kept;
        if !changed {
            break;
        }
        let mut text = String::new();
        here.iter()
            .for_each(|unit| add_lines(&mut text, &unit.text));
        here = remove_generated_lines(units::split_units(&text, names));
    }
    here
}

/// Returns `true` if the unit is a line that works on a page as well as in the
/// index.
fn is_pointer(unit: &IndexUnit, keep: KeepPolicy) -> bool {
    matches!(unit.kind, UnitKind::Pointer | UnitKind::Lost { .. })
        && (keep == KeepPolicy::Text
            || units::count_lines(&unit.text) == 1 && unit.text.starts_with(['-', '*', '+']))
}

/// Returns `true` if a text is within the caps of an index.
fn fits_in_index(text: &str) -> bool {
    units::count_lines(text) <= MAX_INDEX_LINES && text.len() <= MAX_INDEX_BYTES
}

/// Returns the unit of a topic that has no pointer yet.
fn generate_pointer(candidate: &PointerCandidate) -> IndexUnit {
    IndexUnit {
        text: format!("- {}\n", candidate.line),
        kind: UnitKind::Pointer,
        targets: vec![candidate.target.clone()],
        line: 0,
        section: 0,
        begins: false,
    }
}

/// The units and new lines that stay in the index.
struct ChosenPointers<'a> {
    /// By address, since two units may have the same text.
    kept: HashSet<*const IndexUnit>,
    new: Vec<&'a str>,
}

impl ChosenPointers<'_> {
    fn has_unit(&self, unit: &IndexUnit) -> bool {
        self.kept.contains(&std::ptr::from_ref(unit))
    }
}

/// Chooses the newest pointer first, then text of the user, then the pointers
/// with the highest worth, while there is room. The order depends on the
/// content and not on its place, so that the choice is idempotent.
fn choose_pointers<'a>(
    here: &[IndexUnit],
    behind: &[IndexUnit],
    new: &[&'a PointerCandidate],
    candidates: &'a [PointerCandidate],
    keep: KeepPolicy,
    newline: &str,
) -> ChosenPointers<'a> {
    let mut chosen = ChosenPointers {
        kept: HashSet::new(),
        new: Vec::new(),
    };
    let mut taken = SPARE_SIZE;
    let mut take = |size: IndexSize| {
        let fits = taken.plus(size).fits_within(MAX_INDEX_SIZE);
        if fits {
            taken = taken.plus(size);
        }
        fits
    };
    let worth: HashMap<&String, f64> = candidates.iter().map(|it| (&it.target, it.worth)).collect();
    let all = || here.iter().chain(behind);
    let is_pointer = |unit: &&IndexUnit| is_pointer(unit, keep);
    // Counts the line as long as it is when it is parsed again; another size
    // would choose other lines.
    let indents = here.iter().filter(is_pointer);
    let indents = indents.map(|unit| unit.text.len() - unit.text.trim_start_matches(' ').len());
    let around = "- ".len() + newline.len() + indents.max().unwrap_or(0);
    let written = |it: &PointerCandidate| IndexSize {
        lines: 1,
        bytes: it.line.len() + around,
    };
    let newest = candidates
        .iter()
        // Of two topics of one moment, the first by name counts as newer.
        .max_by(|a, b| (a.written, &b.target).cmp(&(b.written, &a.target)));
    if let Some(newest) = newest {
        let its = all().find(|unit| is_pointer(unit) && unit.targets.contains(&newest.target));
        match its {
            Some(unit) if take(IndexSize::of_text(&unit.text)) => {
                chosen.kept.insert(std::ptr::from_ref(unit));
            }
            _ if take(written(newest)) => {
                chosen.new.push(&newest.line);
            }
            _ => {}
        }
    }
    for unit in here.iter().filter(|unit| !is_pointer(unit)) {
        if keep == KeepPolicy::Text && take(IndexSize::of_text(&unit.text)) {
            chosen.kept.insert(std::ptr::from_ref(unit));
        }
    }
    enum PointerLine<'u, 'c> {
        There(&'u IndexUnit),
        New(&'c PointerCandidate),
    }
    let of = |unit: &IndexUnit| {
        let worths = unit.targets.iter().filter_map(|it| worth.get(it).copied());
        worths.fold(0.0, f64::max)
    };
    let mut lines: Vec<(f64, String, PointerLine)> = all()
        .filter(|unit| is_pointer(unit) && !chosen.has_unit(unit))
        .map(|unit| (of(unit), trimmed_text(unit), PointerLine::There(unit)))
        .collect();
    let waiting = new
        .iter()
        .filter(|it| !chosen.new.contains(&it.line.as_str()));
    lines.extend(waiting.map(|it| (it.worth, format!("- {}", it.line), PointerLine::New(it))));
    // The text decides between equals, so that the choice does not depend on
    // the place of a line.
    lines.sort_by(|a, b| b.0.total_cmp(&a.0).then_with(|| a.1.cmp(&b.1)));
    for (_, _, line) in lines {
        match line {
            PointerLine::There(unit) if take(IndexSize::of_text(&unit.text)) => {
                chosen.kept.insert(std::ptr::from_ref(unit));
            }
            PointerLine::New(it) if take(written(it)) => {
                chosen.new.push(&it.line);
            }
            _ => {}
        }
    }
    // In the order in which they are rendered: newest first.
    let order: HashMap<&str, usize> = new
        .iter()
        .enumerate()
        .map(|(at, it)| (it.line.as_str(), at))
        .collect();
    chosen.new.sort_by_key(|line| order.get(line).copied());
    chosen
}

/// An index before it is rendered.
struct IndexDraft<'a> {
    names: &'a PointerTargets<'a>,
    newline: &'static str,
    /// Lines that stay in the index.
    here: Vec<&'a IndexUnit>,
    /// Lines that return from the pages.
    back: Vec<&'a IndexUnit>,
    /// Pointers to topics that had none.
    new: Vec<&'a str>,
    note: Option<String>,
}

/// The place of new pointers.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum PointerPlace {
    /// The place where a reader would put them.
    Usual,
    /// The top, where no other text can swallow them.
    Top,
}

impl IndexDraft<'_> {
    /// Renders the index, with new pointers where they parse as pointers.
    fn render_readable(&self, candidates: &[PointerCandidate]) -> String {
        let text = self.render_at(PointerPlace::Usual);
        if self.new.is_empty() && self.back.is_empty() && self.note.is_none() {
            return text;
        }
        let wanted = |text: &str| {
            let found = units::find_targets(text, self.names);
            let units = units::split_units(text, self.names);
            let has_note = units.iter().any(|unit| unit.kind == UnitKind::Note);
            let lines: HashSet<&str> = self.new.iter().copied().collect();
            let new = candidates
                .iter()
                .filter(|it| lines.contains(it.line.as_str()));
            let back = self.back.iter().flat_map(|unit| &unit.targets);
            has_note == self.note.is_some()
                && new
                    .map(|it| &it.target)
                    .chain(back)
                    .all(|it| found.contains(it))
        };
        if wanted(&text) {
            text
        } else {
            self.render_at(PointerPlace::Top)
        }
    }

    /// Renders the index with new pointers at a place.
    fn render_at(&self, place: PointerPlace) -> String {
        let is_pointer = |unit: &&IndexUnit| is_pointer(unit, KeepPolicy::Text);
        let adds = !self.new.is_empty() || self.note.is_some() || !self.back.is_empty();
        let (at, block) = if adds {
            self.find_place(place)
        } else {
            (usize::MAX, false)
        };
        let mut out = LineWriter::new(self.newline);
        // After the last pointer: the pointers that came back, and the note.
        let last = self.here.iter().rposition(is_pointer);
        let last = last.filter(|_| place == PointerPlace::Usual);
        let mut rest_done = false;
        for (index, unit) in self.here.iter().enumerate() {
            if index == at {
                self.add_new_pointers(&mut out, block, unit);
                if last.is_none() {
                    rest_done = self.add_returned_pointers(&mut out, block);
                }
                if block {
                    out.push_blank_line();
                }
            }
            out.push_piece(&unit.text);
            if last == Some(index) {
                rest_done = self.add_returned_pointers(&mut out, false);
            }
        }
        if at >= self.here.len() && adds {
            let empty = IndexUnit {
                text: String::new(),
                kind: UnitKind::Other,
                targets: Vec::new(),
                line: 0,
                section: 0,
                begins: true,
            };
            self.add_new_pointers(&mut out, block, &empty);
        }
        if !rest_done {
            self.add_returned_pointers(&mut out, block);
        }
        out.text
    }

    /// Adds the new pointers, indented as the unit that follows them.
    fn add_new_pointers(&self, out: &mut LineWriter, block: bool, before: &IndexUnit) {
        if block && !self.new.is_empty() {
            out.push_blank_line();
        }
        // Without the same indent, the following items would become children of
        // the new one.
        let text = &before.text;
        let indent = if block {
            ""
        } else {
            &text[..text.len() - text.trim_start_matches(' ').len()]
        };
        for line in &self.new {
            out.push_line(&format!("{indent}- {line}"));
        }
    }

    /// Adds the pointers that came back from pages, and the line that leads to
    /// the rest. Always returns `true`.
    fn add_returned_pointers(&self, out: &mut LineWriter, block: bool) -> bool {
        let mut first = block && self.new.is_empty();
        for unit in &self.back {
            if std::mem::take(&mut first) {
                out.push_blank_line();
            }
            out.push_piece(&unit.text);
        }
        if let Some(note) = &self.note {
            if first {
                out.push_blank_line();
            }
            out.push_line(note);
        }
        true
    }

    /// Returns the index of the unit before which new pointers go, and whether
    /// they need a list of their own. The newest come first: a client that
    /// truncates an index drops its end.
    fn find_place(&self, place: PointerPlace) -> (usize, bool) {
        let units = &self.here;
        if place == PointerPlace::Top {
            let body = units.iter().position(|unit| unit.begins);
            return (body.unwrap_or(units.len()), true);
        }
        let first = units
            .iter()
            .position(|unit| is_pointer(unit, KeepPolicy::Text) && unit.section <= 1);
        if let Some(mut first) = first {
            // An indented item belongs to the item above it.
            while units[first].text.starts_with(' ') && !units[first].begins && first > 0 {
                first -= 1;
            }
            return (first, false);
        }
        let heading = units
            .iter()
            .position(|unit| matches!(unit.kind, UnitKind::Heading(level) if level > 1));
        (heading.unwrap_or(units.len()), true)
    }
}

/// Renders the pages behind an index: pointers first, then moved text that only
/// people read.
fn build_pages(names: &PointerTargets, away: &[&IndexUnit], moved: &str) -> Vec<String> {
    let mut pages: Vec<(Vec<&str>, Vec<&str>)> = Vec::new();
    let mut taken = MAX_INDEX_SIZE;
    let pointers = away.iter().map(|unit| (true, unit.text.as_str()));
    let lines = moved.split_inclusive('\n').map(|line| (false, line));
    for (is_pointer, text) in pointers.chain(lines) {
        let size = IndexSize::of_text(text);
        if pages.is_empty() || !taken.plus(size).fits_within(MAX_INDEX_SIZE) {
            pages.push((Vec::new(), Vec::new()));
            taken = SPARE_SIZE;
        }
        taken = taken.plus(size);
        let (pointers, others) = pages.last_mut().expect("one was just added");
        if is_pointer {
            pointers.push(text)
        } else {
            others.push(text)
        }
    }
    let count = pages.len();
    let written = pages.into_iter().enumerate();
    written
        .map(|(number, (pointers, others))| {
            let mut out = LineWriter::new("\n");
            out.push_line(names.shelf.page_title());
            out.push_blank_line();
            pointers.iter().for_each(|text| out.push_piece(text));
            if number + 1 < count {
                out.push_line(&names.shelf.next_page_line(number + 2));
            }
            if !others.is_empty() {
                out.push_blank_line();
                out.push_line(MOVED_MARK);
            }
            others.iter().for_each(|text| out.push_piece(text));
            out.text
        })
        .collect()
}

/// A text that grows by whole lines.
struct LineWriter {
    text: String,
    newline: &'static str,
}

impl LineWriter {
    fn new(newline: &'static str) -> LineWriter {
        LineWriter {
            text: String::new(),
            newline,
        }
    }

    /// Ends the last line if it is not ended.
    fn end_line(&mut self) {
        let bare = self.text.trim_start_matches('\u{feff}');
        if !bare.is_empty() && !bare.ends_with(['\n', '\r']) {
            self.text.push_str(self.newline);
        }
    }

    /// Adds text that begins on a line of its own.
    fn push_piece(&mut self, text: &str) {
        self.end_line();
        self.text.push_str(text);
    }

    /// Adds one line.
    fn push_line(&mut self, line: &str) {
        self.push_piece(line);
        self.text.push_str(self.newline);
    }

    /// Adds a blank line, unless there is one or nothing above.
    fn push_blank_line(&mut self) {
        self.end_line();
        let bare = self.text.trim_start_matches('\u{feff}');
        let last = bare.lines().next_back();
        if last.is_some_and(|line| !line.trim().is_empty()) {
            self.text.push_str(self.newline);
        }
    }
}
