//! Pairs the pieces of two versions of a file. Identical ones first, then those
//! of one name, then those that were obviously edited in place; a wrong pair
//! can cause a conflict, but never loses a piece.

use std::collections::{BTreeMap, HashMap, HashSet, VecDeque};

use super::MergeKind;
use super::units::{MergeUnit, MergeUnitKind};

/// Finds, for each piece of the first version, the same piece in the second.
pub(super) fn match_versions(from: &[MergeUnit<'_>], to: &[MergeUnit<'_>]) -> Vec<Option<usize>> {
    let mut pairs = UnitPairs::new(from, to);
    pairs.pair_by_key(|it| Some((it.what, it.key.clone(), it.same.clone())));
    // Numbers before keys: a renumbered entry is still the same entry.
    pairs.pair_by_number();
    pairs.pair_by_key(|it| it.numbered.is_none().then(|| (it.what, it.key.clone())));
    pairs.pair_renamed_headings();
    pairs.pair_edited_in_place();
    pairs.found
}

/// Finds additions that both sides made.
pub(super) fn match_additions(
    kind: MergeKind,
    ours: &[MergeUnit<'_>],
    theirs: &[MergeUnit<'_>],
    (new_ours, new_theirs): (&[bool], &[bool]),
) -> Vec<Option<usize>> {
    let mut pairs = UnitPairs::new(ours, theirs);
    pairs.restrict_to(new_ours, new_theirs);
    pairs.pair_by_key(|it| Some((it.what, it.key.clone(), it.same.clone())));
    pairs.pair_by_number_and_text();
    // Two sessions with the same title are different sessions, so only these
    // kinds pair by name.
    let named = |it: &MergeUnit<'_>| {
        matches!(
            it.what,
            MergeUnitKind::Heading | MergeUnitKind::Item | MergeUnitKind::Front
        )
    };
    pairs.pair_by_key(|it| named(it).then(|| (it.what, it.key.clone())));
    if kind == MergeKind::State {
        // A value that both sides set for the first time.
        fn index_new_texts<'u>(
            units: &'u [MergeUnit<'_>],
            new: &[bool],
        ) -> HashMap<&'u str, Vec<usize>> {
            let mut found: HashMap<&str, Vec<usize>> = HashMap::new();
            for (index, unit) in units.iter().enumerate() {
                if let (true, MergeUnitKind::Text, Some(it)) = (new[index], unit.what, unit.section)
                {
                    found.entry(&units[it].key).or_default().push(index);
                }
            }
            found
        }
        let there = index_new_texts(theirs, new_theirs);
        for (section, here) in index_new_texts(ours, new_ours) {
            let other = there.get(section);
            if let (&[one], Some(&[two])) = (&here[..], other.map(|it| &it[..])) {
                pairs.pair_units(one, two);
            }
        }
    }
    pairs.found
}

struct UnitPairs<'u, 't> {
    from: &'u [MergeUnit<'t>],
    to: &'u [MergeUnit<'t>],
    found: Vec<Option<usize>>,
    taken: Vec<bool>,
    out: Vec<bool>,
}

/// The section and kind that pieces must share to be paired.
type SectionPlace = (Option<usize>, MergeUnitKind);

/// Maximum number of pieces in one section that are compared pairwise.
const MAX_COMPARED_PIECES: usize = 64;
/// Share of common words from which two pieces count as one edited piece.
const MIN_LIKENESS: f64 = 0.6;

impl<'u, 't> UnitPairs<'u, 't> {
    fn new(from: &'u [MergeUnit<'t>], to: &'u [MergeUnit<'t>]) -> UnitPairs<'u, 't> {
        UnitPairs {
            from,
            to,
            found: vec![None; from.len()],
            taken: vec![false; to.len()],
            out: vec![false; from.len()],
        }
    }

    fn restrict_to(&mut self, from: &[bool], to: &[bool]) {
        self.out = from.iter().map(|it| !it).collect();
        self.taken = to.iter().map(|it| !it).collect();
    }

    fn is_open(&self, from: usize) -> bool {
        self.found[from].is_none() && !self.out[from]
    }

    fn pair_units(&mut self, from: usize, to: usize) {
        if self.is_open(from) && !self.taken[to] {
            self.found[from] = Some(to);
            self.taken[to] = true;
        }
    }

    /// Pairs pieces of equal key, in order.
    fn pair_by_key<K: std::hash::Hash + Eq>(&mut self, key: impl Fn(&MergeUnit<'_>) -> Option<K>) {
        let mut there: HashMap<K, VecDeque<usize>> = HashMap::new();
        for (index, unit) in self.to.iter().enumerate() {
            if !self.taken[index]
                && let Some(key) = key(unit)
            {
                there.entry(key).or_default().push_back(index);
            }
        }
        for index in 0..self.from.len() {
            if self.is_open(index)
                && let Some(key) = key(&self.from[index])
                && let Some(to) = there.get_mut(&key).and_then(VecDeque::pop_front)
            {
                self.pair_units(index, to);
            }
        }
    }

    /// Pairs entries by their current or former numbers; of several candidates,
    /// the most similar one.
    fn pair_by_number(&mut self) {
        self.pair_numbered(|from, to| Some(word_likeness(from, to)));
    }

    fn pair_by_number_and_text(&mut self) {
        self.pair_numbered(|from, to| (from.same == to.same).then_some(1.0));
    }

    fn pair_numbered(&mut self, likeness: impl Fn(&MergeUnit<'_>, &MergeUnit<'_>) -> Option<f64>) {
        let mut there: HashMap<(super::numbers::NumberSeries, usize), Vec<usize>> = HashMap::new();
        for (index, unit) in self.to.iter().enumerate() {
            if let Some(it) = unit.numbered.as_ref().filter(|_| !self.taken[index]) {
                for name in it.former.iter().chain([&it.number]) {
                    there.entry((it.series, *name)).or_default().push(index);
                }
            }
        }
        for index in 0..self.from.len() {
            let unit = &self.from[index];
            let Some(it) = unit.numbered.as_ref().filter(|_| self.is_open(index)) else {
                continue;
            };
            let names = it.former.iter().chain([&it.number]);
            let candidates = names.filter_map(|name| there.get(&(it.series, *name)));
            let mut best: Option<(f64, bool, usize)> = None;
            let candidates = candidates.flatten().filter(|to| !self.taken[**to]);
            for &to in candidates.take(MAX_COMPARED_PIECES) {
                let Some(likeness) = likeness(unit, &self.to[to]) else {
                    continue;
                };
                let number = self.to[to].numbered.as_ref().map(|it| it.number);
                let rank = (likeness, number == Some(it.number), to);
                if best.is_none_or(|best| (rank.0, rank.1) > (best.0, best.1)) {
                    best = Some(rank);
                }
            }
            if let Some((_, _, to)) = best {
                self.pair_units(index, to);
            }
        }
    }

    /// Pairs a renamed heading: the only unpaired one of its level below the
    /// same parent.
    fn pair_renamed_headings(&mut self) {
        let left = |units: &[MergeUnit<'_>], open: &dyn Fn(usize) -> bool| {
            let mut left: BTreeMap<(Option<usize>, u8), Vec<usize>> = BTreeMap::new();
            for (index, unit) in units.iter().enumerate() {
                if unit.what == MergeUnitKind::Heading && open(index) {
                    left.entry((unit.section, unit.level))
                        .or_default()
                        .push(index);
                }
            }
            left
        };
        let there = left(self.to, &|it| !self.taken[it]);
        let here = left(self.from, &|it| self.is_open(it));
        // Outer headings first: whether inner ones pair depends on them.
        for ((section, level), from) in here {
            let section = match section {
                Some(it) => match self.found[it] {
                    Some(it) => Some(it),
                    None => continue,
                },
                None => None,
            };
            if let (&[from], Some(&[to])) =
                (&from[..], there.get(&(section, level)).map(|it| &it[..]))
            {
                self.pair_units(from, to);
            }
        }
    }

    /// Pairs what is left in one section: pieces that are similar, and a text
    /// that is the only one.
    fn pair_edited_in_place(&mut self) {
        let mut there: HashMap<SectionPlace, Vec<usize>> = HashMap::new();
        for (index, unit) in self.to.iter().enumerate() {
            if !self.taken[index] && unit.numbered.is_none() && unit.what != MergeUnitKind::Heading
            {
                there
                    .entry((unit.section, unit.what))
                    .or_default()
                    .push(index);
            }
        }
        let mut here: Vec<(SectionPlace, Vec<usize>)> = Vec::new();
        let mut places = HashMap::new();
        for (index, unit) in self.from.iter().enumerate() {
            if !self.is_open(index)
                || unit.numbered.is_some()
                || unit.what == MergeUnitKind::Heading
            {
                continue;
            }
            let section = match unit.section.map(|it| self.found[it]) {
                None => None,
                Some(Some(it)) => Some(it),
                Some(None) => continue,
            };
            let at = *places.entry((section, unit.what)).or_insert_with(|| {
                here.push(((section, unit.what), Vec::new()));
                here.len() - 1
            });
            here[at].1.push(index);
        }
        for (place, from) in here {
            let Some(to) = there.get(&place) else {
                continue;
            };
            if let (&[from], &[to], MergeUnitKind::Text) = (&from[..], &to[..], place.1) {
                self.pair_units(from, to);
                continue;
            }
            if from.len().max(to.len()) > MAX_COMPARED_PIECES {
                continue;
            }
            for from in from {
                let unit = &self.from[from];
                let mut best: Option<(f64, usize)> = None;
                for &to in to.iter().filter(|to| !self.taken[**to]) {
                    let alike = word_likeness(unit, &self.to[to]);
                    if alike >= MIN_LIKENESS && best.is_none_or(|best| alike > best.0) {
                        best = Some((alike, to));
                    }
                }
                if let Some((_, to)) = best {
                    self.pair_units(from, to);
                }
            }
        }
    }
}

/// Returns the share of words that two pieces have in common, from 0 to 1.
fn word_likeness(one: &MergeUnit<'_>, two: &MergeUnit<'_>) -> f64 {
    fn unit_words<'s>(unit: &'s MergeUnit<'_>) -> HashSet<&'s str> {
        let words = unit.same.split(|c: char| !c.is_alphanumeric());
        words.filter(|it| !it.is_empty()).collect()
    }
    let (one, two) = (unit_words(one), unit_words(two));
    match one.len() + two.len() {
        0 => 1.0,
        all => 2.0 * one.intersection(&two).count() as f64 / all as f64,
    }
}
