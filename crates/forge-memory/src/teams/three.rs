//! Decides what happens to each piece of three versions: kept, removed, or a
//! conflict. Looks at one piece at a time and never at its position.

use std::collections::{BTreeSet, HashMap};

use super::numbers::{self, EntryNumber, NumberSeries, RenameMap};
use super::task::TaskParts;
use super::units::{FilePieces, MergeUnit, MergeUnitKind};
use super::{MergeKind, align, merge_nested_items};
use crate::mind;

/// One piece, with its index in each version that has it.
#[derive(Debug)]
pub(super) struct MergeNode {
    pub(super) base: Option<usize>,
    pub(super) ours: Option<usize>,
    pub(super) theirs: Option<usize>,
    pub(super) what: MergeUnitKind,
    pub(super) number: Option<usize>,
    pub(super) fate: MergeFate,
}

#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) enum MergeFate {
    Gone,
    Kept(String),
    /// The texts of both sides; empty for a side that removed the piece.
    Conflict(String, String),
}

impl MergeNode {
    pub(super) fn is_kept(&self) -> bool {
        self.fate != MergeFate::Gone
    }
}

pub(super) struct ThreeWayMerge<'p, 't> {
    pub(super) base: &'p FilePieces<'t>,
    pub(super) ours: &'p FilePieces<'t>,
    pub(super) theirs: &'p FilePieces<'t>,
    pub(super) nodes: Vec<MergeNode>,
    /// The node of each piece, by version.
    pub(super) of_base: Vec<usize>,
    pub(super) of_ours: Vec<usize>,
    pub(super) of_theirs: Vec<usize>,
    /// New numbers of entries that the other side added.
    pub(super) renames: RenameMap,
    /// Renumberings that mentions follow, in our text and in theirs.
    follow: [RenameMap; 2],
}

/// Finds entries of one side that the other side has renumbered.
fn find_known_renames(from: &[MergeUnit<'_>], to: &[MergeUnit<'_>]) -> RenameMap {
    let mut later: HashMap<(NumberSeries, usize), Vec<&MergeUnit<'_>>> = HashMap::new();
    for unit in to {
        if let Some(it) = &unit.numbered {
            for former in &it.former {
                later.entry((it.series, *former)).or_default().push(unit);
            }
        }
    }
    let mut found = RenameMap::new();
    for unit in from {
        let Some(it) = &unit.numbered else { continue };
        let name = (it.series, it.number);
        let mut same = later.get(&name).into_iter().flatten();
        if let Some(new) = same.find(|new| new.same == unit.same)
            && let Some(new) = &new.numbered
            && new.number != it.number
        {
            found.insert(name, new.number);
        }
    }
    found
}

/// Compares mentions of renumbered entries by their new numbers, on both sides.
pub(super) fn resolve_renamed_mentions<'t>(
    base: &FilePieces<'t>,
    ours: &mut FilePieces<'t>,
    theirs: &mut FilePieces<'t>,
) -> [RenameMap; 2] {
    let mut follow = [RenameMap::new(), RenameMap::new()];
    let before: HashMap<&str, &str> = base.units.iter().map(|it| (&it.key[..], it.text)).collect();
    // A renumbered entry may mention another one, so repeat until nothing
    // changes.
    for _ in 0..MAX_RENAME_CHAIN {
        let found = [
            find_known_renames(&ours.units, &theirs.units),
            find_known_renames(&theirs.units, &ours.units),
        ];
        if found == follow {
            break;
        }
        follow = found;
        for (pieces, renames) in [(&mut *ours, &follow[0]), (&mut *theirs, &follow[1])] {
            if renames.is_empty() {
                continue;
            }
            for unit in &mut pieces.units {
                let before = before.get(&unit.key[..]).copied();
                unit.compare_with_renames(renames, before);
            }
        }
    }
    follow
}

const MAX_RENAME_CHAIN: usize = 8;

/// Merges three versions piece by piece. `fine` is set for pieces nested in an
/// item, which are not split further.
pub(super) fn merge_three_ways<'p, 't>(
    kind: MergeKind,
    fine: bool,
    base: &'p FilePieces<'t>,
    ours: &'p FilePieces<'t>,
    theirs: &'p FilePieces<'t>,
    follow: [RenameMap; 2],
) -> ThreeWayMerge<'p, 't> {
    let to_ours = align::match_versions(&base.units, &ours.units);
    let to_theirs = align::match_versions(&base.units, &theirs.units);
    let fresh = |to: &[Option<usize>], count: usize| {
        let mut fresh = vec![true; count];
        to.iter().flatten().for_each(|it| fresh[*it] = false);
        fresh
    };
    let new_ours = fresh(&to_ours, ours.units.len());
    let new_theirs = fresh(&to_theirs, theirs.units.len());
    let both = (&new_ours[..], &new_theirs[..]);
    let joined = align::match_additions(kind, &ours.units, &theirs.units, both);

    let mut it = ThreeWayMerge {
        base,
        ours,
        theirs,
        nodes: Vec::new(),
        of_base: Vec::new(),
        of_ours: vec![usize::MAX; ours.units.len()],
        of_theirs: vec![usize::MAX; theirs.units.len()],
        renames: RenameMap::new(),
        follow,
    };
    for index in 0..base.units.len() {
        let node = it.add_node(Some(index), to_ours[index], to_theirs[index]);
        it.of_base.push(node);
    }
    for (index, other) in joined.into_iter().enumerate() {
        if new_ours[index] {
            it.add_node(None, Some(index), other);
        }
    }
    for index in 0..theirs.units.len() {
        if it.of_theirs[index] == usize::MAX {
            it.add_node(None, None, Some(index));
        }
    }
    it.renumber_entries();
    let renames = it.renames.clone();
    it.follow[1].extend(renames);
    for index in 0..it.nodes.len() {
        it.nodes[index].fate = it.decide_fate(kind, fine, index);
    }
    it.keep_edited_before_archived();
    it.keep_headings();
    it.drop_placeholders();
    it
}

impl ThreeWayMerge<'_, '_> {
    fn add_node(
        &mut self,
        base: Option<usize>,
        ours: Option<usize>,
        theirs: Option<usize>,
    ) -> usize {
        let node = self.nodes.len();
        if let Some(it) = ours {
            self.of_ours[it] = node;
        }
        if let Some(it) = theirs {
            self.of_theirs[it] = node;
        }
        let what = base.map(|it| self.base.units[it].what);
        let what = what.or(ours.map(|it| self.ours.units[it].what));
        let what = what.or(theirs.map(|it| self.theirs.units[it].what));
        self.nodes.push(MergeNode {
            base,
            ours,
            theirs,
            what: what.unwrap_or(MergeUnitKind::Text),
            number: None,
            fate: MergeFate::Gone,
        });
        node
    }

    fn node_units(&self, node: usize) -> [Option<&MergeUnit<'_>>; 3] {
        let node = &self.nodes[node];
        [
            node.base.map(|it| &self.base.units[it]),
            node.ours.map(|it| &self.ours.units[it]),
            node.theirs.map(|it| &self.theirs.units[it]),
        ]
    }

    /// Assigns the final number of each numbered entry. Ours keep theirs; an
    /// entry that the other side added under a used number gets the next free
    /// one.
    fn renumber_entries(&mut self) {
        let mut highest: HashMap<NumberSeries, usize> = HashMap::new();
        for unit in [self.base, self.ours, self.theirs]
            .iter()
            .flat_map(|it| &it.units)
        {
            let mut seen = |series, number: usize| {
                let most = highest.entry(series).or_default();
                *most = number.max(*most);
            };
            if let Some(it) = &unit.numbered {
                it.former.iter().for_each(|former| seen(it.series, *former));
                seen(it.series, it.number);
            }
            if let Some((series, number)) = unit.represents {
                seen(series, number);
            }
        }
        let mut used: BTreeSet<(NumberSeries, usize)> = BTreeSet::new();
        let mut late = Vec::new();
        for index in 0..self.nodes.len() {
            let [base, ours, theirs] = self.node_units(index);
            let number = |it: Option<&MergeUnit<'_>>| {
                let it = it?.numbered.as_ref()?;
                Some((it.series, it.number))
            };
            let (base, mine, other) = (number(base), number(ours), number(theirs));
            let kin_after = || {
                let (ours, theirs) = (ours?.numbered.as_ref()?, theirs?.numbered.as_ref()?);
                Some(theirs.former.contains(&ours.number))
            };
            let chosen = match (mine, other) {
                (Some(_), Some(it)) if base.is_some() && base == mine => Some(it),
                // Their version is this entry, renumbered elsewhere.
                (Some(_), Some(it)) if base.is_none() && kin_after() == Some(true) => Some(it),
                (Some(it), _) => Some(it),
                (None, Some(_)) if base.is_none() => {
                    late.push(index);
                    None
                }
                (None, it) => it,
            };
            if let Some(it) = chosen {
                used.insert(it);
                self.nodes[index].number = Some(it.1);
            }
        }
        // The older of their additions get the lower numbers.
        if detect_newest_first(&self.theirs.units) == Some(true) {
            late.reverse();
        }
        for index in late {
            let [_, _, theirs] = self.node_units(index);
            let Some(it) = theirs.and_then(|it| it.numbered.as_ref()) else {
                continue;
            };
            let (series, mut number) = (it.series, it.number);
            if used.contains(&(series, number)) {
                let most = highest.entry(series).or_default();
                *most += 1;
                self.renames.insert((series, number), *most);
                number = *most;
            }
            used.insert((series, number));
            self.nodes[index].number = Some(number);
        }
    }

    fn decide_fate(&self, kind: MergeKind, fine: bool, index: usize) -> MergeFate {
        let [base, ours, theirs] = self.node_units(index);
        match (base, ours, theirs) {
            (_, Some(ours), Some(theirs)) => {
                let merged = || match ours.what {
                    MergeUnitKind::Item if ours.leads_to_overflow() => Some(ours.text.to_owned()),
                    MergeUnitKind::Item => merge_item((!fine).then_some(kind), base, ours, theirs),
                    MergeUnitKind::Text | MergeUnitKind::Front => {
                        merge_lines(base.map(|it| it.text), ours.text, theirs.text)
                    }
                    MergeUnitKind::Heading | MergeUnitKind::Entry => None,
                };
                self.decide_both_sides(index, base, ours, theirs, merged)
            }
            (Some(_), Some(ours), None) => match self.outlives_removal(index) {
                None => MergeFate::Gone,
                Some(true) => MergeFate::Kept(self.render_side(OURS_SIDE, index, ours)),
                Some(false) => {
                    MergeFate::Conflict(self.render_side(OURS_SIDE, index, ours), String::new())
                }
            },
            (Some(_), None, Some(theirs)) => match self.outlives_removal(index) {
                None => MergeFate::Gone,
                Some(true) => MergeFate::Kept(self.render_side(THEIRS_SIDE, index, theirs)),
                Some(false) => {
                    MergeFate::Conflict(String::new(), self.render_side(THEIRS_SIDE, index, theirs))
                }
            },
            (None, Some(ours), None) => MergeFate::Kept(self.render_side(OURS_SIDE, index, ours)),
            (None, None, Some(theirs)) => {
                MergeFate::Kept(self.render_side(THEIRS_SIDE, index, theirs))
            }
            (_, None, None) => MergeFate::Gone,
        }
    }

    /// Decides about a piece that both sides have.
    fn decide_both_sides(
        &self,
        index: usize,
        base: Option<&MergeUnit<'_>>,
        ours: &MergeUnit<'_>,
        theirs: &MergeUnit<'_>,
        merged: impl FnOnce() -> Option<String>,
    ) -> MergeFate {
        let mine = || self.render_side(OURS_SIDE, index, ours);
        let other = || self.render_side(THEIRS_SIDE, index, theirs);
        if ours.same == theirs.same {
            let as_before = base.is_some_and(|it| it.text == ours.text);
            return MergeFate::Kept(if as_before { other() } else { mine() });
        }
        match base {
            Some(base) if base.same == ours.same => return MergeFate::Kept(other()),
            Some(base) if base.same == theirs.same => return MergeFate::Kept(mine()),
            _ => {}
        }
        match merged() {
            Some(text) => MergeFate::Kept(text),
            None => MergeFate::Conflict(mine(), other()),
        }
    }

    /// Returns one side's text under the entry's final number, with mentions
    /// updated.
    fn render_side(&self, side: usize, index: usize, unit: &MergeUnit<'_>) -> String {
        let [base, ours, theirs] = self.node_units(index);
        let before = base.map(|it| it.text);
        let own = unit.numbered.as_ref();
        let text = numbers::follow_renames(unit.text, own, before, &self.follow[side]);
        let (Some(it), Some(number)) = (own, self.nodes[index].number) else {
            return text;
        };
        let mut former = BTreeSet::new();
        for it in [ours, theirs].into_iter().flatten() {
            if let Some(it) = &it.numbered {
                former.extend(it.former.iter().copied());
                former.insert(it.number);
            }
        }
        former.remove(&number);
        match EntryNumber::read(it.series, it.number, &text) {
            Some(it) => it.renumber_text(&text, number, &former),
            None => text,
        }
    }

    /// Decides about a piece that the other side removed: none if it is
    /// unchanged and goes, `true` if it must stay, `false` for a conflict.
    fn outlives_removal(&self, index: usize) -> Option<bool> {
        let [base, ours, theirs] = self.node_units(index);
        let (base, now) = (base?, ours.or(theirs)?);
        if now.what == MergeUnitKind::Heading {
            // A renamed heading is text that a person wrote, so it stays.
            return (base.same != now.same).then_some(true);
        }
        let of = if ours.is_some() {
            &self.of_ours
        } else {
            &self.of_theirs
        };
        let place = now.section.map(|it| of[it]);
        let moved =
            now.what == MergeUnitKind::Item && base.section.map(|it| self.of_base[it]) != place;
        if base.same == now.same {
            // A moved item is still in use on that side.
            return moved.then_some(true);
        }
        // A completed task is worth keeping, even if the other side removed it.
        let done = |it: &MergeUnit<'_>| TaskParts::read(it.text).is_some_and(|it| it.is_done());
        Some(now.what == MergeUnitKind::Item && base.key == now.key && !done(base) && done(now))
    }

    /// Keeps an entry that one side edited while the other moved it to the
    /// archive, and drops the line that refers to the archive.
    fn keep_edited_before_archived(&mut self) {
        for index in 0..self.nodes.len() {
            let MergeFate::Conflict(mine, other) = &self.nodes[index].fate else {
                continue;
            };
            let archived_by_ours = self.nodes[index].ours.is_none();
            let archived_by_theirs = self.nodes[index].theirs.is_none();
            let text = if archived_by_ours { other } else { mine }.clone();
            let [base, ..] = self.node_units(index);
            let Some(name) = base.and_then(|it| it.numbered.as_ref()) else {
                continue;
            };
            let name = (name.series, name.number);
            let (units, of) = match (archived_by_ours, archived_by_theirs) {
                (true, _) => (&self.ours.units, &self.of_ours),
                (_, true) => (&self.theirs.units, &self.of_theirs),
                _ => continue,
            };
            let line = units.iter().position(|it| it.represents == Some(name));
            if let Some(line) = line.map(|it| of[it])
                && self.nodes[line].base.is_none()
            {
                self.nodes[line].fate = MergeFate::Gone;
                self.nodes[index].fate = MergeFate::Kept(text);
            }
        }
    }

    /// Keeps a heading while anything below it stays.
    fn keep_headings(&mut self) {
        let mut needed = BTreeSet::new();
        for (units, of) in [
            (&self.ours.units, &self.of_ours),
            (&self.theirs.units, &self.of_theirs),
        ] {
            for (index, unit) in units.iter().enumerate().rev() {
                let Some(section) = unit.section else {
                    continue;
                };
                // A piece that both sides have appears in the other side's
                // section too.
                let node = &self.nodes[of[index]];
                let elsewhere = node.ours.is_some() && node.theirs.is_some();
                let stays = node.is_kept() && !elsewhere || needed.contains(&of[index]);
                if stays && !self.nodes[of[section]].is_kept() {
                    needed.insert(of[section]);
                }
            }
        }
        for node in needed {
            let [_, ours, theirs] = self.node_units(node);
            if let Some(it) = ours.or(theirs) {
                self.nodes[node].fate = MergeFate::Kept(it.text.to_owned());
            }
        }
    }

    /// Drops one side's placeholder, such as `None.`, if the other side added
    /// an item.
    fn drop_placeholders(&mut self) {
        for (units, of, others, of_others) in [
            (
                &self.ours.units,
                &self.of_ours,
                &self.theirs.units,
                &self.of_theirs,
            ),
            (
                &self.theirs.units,
                &self.of_theirs,
                &self.ours.units,
                &self.of_ours,
            ),
        ] {
            let filled: BTreeSet<usize> = others
                .iter()
                .enumerate()
                .filter(|(other, it)| {
                    it.what == MergeUnitKind::Item && self.nodes[of_others[*other]].is_kept()
                })
                .filter_map(|(_, it)| it.section.map(|it| of_others[it]))
                .collect();
            for (index, unit) in units.iter().enumerate() {
                let node = of[index];
                let alone = self.nodes[node].ours.is_none() || self.nodes[node].theirs.is_none();
                if unit.what != MergeUnitKind::Text || !alone || !mind::is_unset(unit.text) {
                    continue;
                }
                if unit.section.is_some_and(|it| filled.contains(&of[it])) {
                    self.nodes[node].fate = MergeFate::Gone;
                }
            }
        }
    }
}

const OURS_SIDE: usize = 0;
const THEIRS_SIDE: usize = 1;

/// Merges an item that both sides changed: a task by its parts, and what is
/// nested below it item by item.
fn merge_item(
    kind: Option<MergeKind>,
    base: Option<&MergeUnit<'_>>,
    ours: &MergeUnit<'_>,
    theirs: &MergeUnit<'_>,
) -> Option<String> {
    let task = TaskParts::read(ours.text).zip(TaskParts::read(theirs.text));
    let before = base.map(|it| TaskParts::read(it.text));
    if let (Some((mine, other)), Some(Some(_)) | None) = (task, &before) {
        let base = before.flatten();
        return TaskParts::merge_versions(base.as_ref(), &mine, &other, |base, ours, theirs| {
            merge_below(kind, base, ours, theirs)
        });
    }
    let (first, rest) = split_first_line(ours.text);
    let (other, other_rest) = split_first_line(theirs.text);
    let before = base.map(|it| split_first_line(it.text));
    let line = match &before {
        _ if first == other => first,
        Some((it, _)) if *it == first => other,
        Some((it, _)) if *it == other => first,
        _ => return None,
    };
    let rest = merge_below(kind, before.map(|it| it.1), rest, other_rest)?;
    Some(format!("{line}{rest}"))
}

fn split_first_line(text: &str) -> (&str, &str) {
    text.split_at(text.find('\n').unwrap_or(text.len()))
}

/// Merges what is nested below an item.
fn merge_below(
    kind: Option<MergeKind>,
    base: Option<&str>,
    ours: &str,
    theirs: &str,
) -> Option<String> {
    let base = base.unwrap_or_default();
    if ours == theirs || base == theirs {
        return Some(ours.to_owned());
    }
    if base == ours {
        return Some(theirs.to_owned());
    }
    merge_nested_items(kind?, base, ours, theirs)
}

/// Merges texts of equal line count, line by line; two dates become the later
/// one.
fn merge_lines(base: Option<&str>, ours: &str, theirs: &str) -> Option<String> {
    let base = base?;
    let count = ours.split_inclusive('\n').count();
    if [base, theirs]
        .iter()
        .any(|it| it.split_inclusive('\n').count() != count)
    {
        return None;
    }
    let theirs = theirs.split_inclusive('\n');
    let all = base
        .split_inclusive('\n')
        .zip(ours.split_inclusive('\n'))
        .zip(theirs);
    let mut out = String::new();
    for ((base, ours), theirs) in all {
        out.push_str(match () {
            () if ours == theirs || base == theirs => ours,
            () if base == ours => theirs,
            () => pick_later_dated(ours, theirs)?,
        });
    }
    Some(out)
}

/// Returns the line with the later date, if that is the only difference.
fn pick_later_dated<'t>(ours: &'t str, theirs: &'t str) -> Option<&'t str> {
    let (mine, other) = (mind::first_date(ours)?, mind::first_date(theirs)?);
    let without = |text: &str, date: jiff::civil::Date| text.replacen(&date.to_string(), "", 1);
    let alike = without(ours, mine) == without(theirs, other);
    alike.then_some(if other > mine { theirs } else { ours })
}

/// Returns `true` if entries are ordered newest first; none if nothing
/// indicates an order.
pub(super) fn detect_newest_first(units: &[MergeUnit<'_>]) -> Option<bool> {
    let numbers: Vec<usize> = units
        .iter()
        .filter_map(|it| it.numbered.as_ref().map(|it| it.number))
        .collect();
    if let [first, .., last] = numbers[..]
        && first != last
    {
        return Some(first > last);
    }
    let dates: Vec<_> = units
        .iter()
        .filter(|it| matches!(it.what, MergeUnitKind::Entry | MergeUnitKind::Item))
        .filter_map(|it| it.date)
        .collect();
    match dates[..] {
        [first, .., last] if first != last => Some(first > last),
        _ => None,
    }
}
