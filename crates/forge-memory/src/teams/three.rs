//! Decides what happens to each piece of three versions: kept, removed, or a
//! conflict. Looks at one piece at a time and never at its position.

use std::collections::{BTreeSet, HashMap};

use super::numbers::{self, Numbered, Renames, Series};
use super::task::Task;
use super::units::{Pieces, Unit, What};
use super::{Kind, align, woven_finely};
use crate::mind;

/// One piece, with its index in each version that has it.
#[derive(Debug)]
pub(super) struct Node {
    pub(super) base: Option<usize>,
    pub(super) ours: Option<usize>,
    pub(super) theirs: Option<usize>,
    pub(super) what: What,
    pub(super) number: Option<usize>,
    pub(super) fate: Fate,
}

#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) enum Fate {
    Gone,
    Kept(String),
    /// The texts of both sides; empty for a side that removed the piece.
    Conflict(String, String),
}

impl Node {
    pub(super) fn is_kept(&self) -> bool {
        self.fate != Fate::Gone
    }
}

pub(super) struct Three<'p, 't> {
    pub(super) base: &'p Pieces<'t>,
    pub(super) ours: &'p Pieces<'t>,
    pub(super) theirs: &'p Pieces<'t>,
    pub(super) nodes: Vec<Node>,
    /// The node of each piece, by version.
    pub(super) of_base: Vec<usize>,
    pub(super) of_ours: Vec<usize>,
    pub(super) of_theirs: Vec<usize>,
    /// New numbers of entries that the other side added.
    pub(super) renames: Renames,
    /// Renumberings that mentions follow, in our text and in theirs.
    follow: [Renames; 2],
}

/// Finds entries of one side that the other side has renumbered.
fn known_renames(from: &[Unit<'_>], to: &[Unit<'_>]) -> Renames {
    let mut later: HashMap<(Series, usize), Vec<&Unit<'_>>> = HashMap::new();
    for unit in to {
        if let Some(it) = &unit.numbered {
            for former in &it.former {
                later.entry((it.series, *former)).or_default().push(unit);
            }
        }
    }
    let mut found = Renames::new();
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
pub(super) fn settle_names<'t>(
    base: &Pieces<'t>,
    ours: &mut Pieces<'t>,
    theirs: &mut Pieces<'t>,
) -> [Renames; 2] {
    let mut follow = [Renames::new(), Renames::new()];
    let before: HashMap<&str, &str> = base.units.iter().map(|it| (&it.key[..], it.text)).collect();
    // A renumbered entry may mention another one, so repeat until nothing
    // changes.
    for _ in 0..MOST_CHAINED {
        let found = [
            known_renames(&ours.units, &theirs.units),
            known_renames(&theirs.units, &ours.units),
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
                unit.compare_as(renames, before);
            }
        }
    }
    follow
}

const MOST_CHAINED: usize = 8;

/// Merges three versions piece by piece. `fine` is set for pieces nested in an
/// item, which are not split further.
pub(super) fn three<'p, 't>(
    kind: Kind,
    fine: bool,
    base: &'p Pieces<'t>,
    ours: &'p Pieces<'t>,
    theirs: &'p Pieces<'t>,
    follow: [Renames; 2],
) -> Three<'p, 't> {
    let to_ours = align::versions(&base.units, &ours.units);
    let to_theirs = align::versions(&base.units, &theirs.units);
    let fresh = |to: &[Option<usize>], count: usize| {
        let mut fresh = vec![true; count];
        to.iter().flatten().for_each(|it| fresh[*it] = false);
        fresh
    };
    let new_ours = fresh(&to_ours, ours.units.len());
    let new_theirs = fresh(&to_theirs, theirs.units.len());
    let both = (&new_ours[..], &new_theirs[..]);
    let joined = align::additions(kind, &ours.units, &theirs.units, both);

    let mut it = Three {
        base,
        ours,
        theirs,
        nodes: Vec::new(),
        of_base: Vec::new(),
        of_ours: vec![usize::MAX; ours.units.len()],
        of_theirs: vec![usize::MAX; theirs.units.len()],
        renames: Renames::new(),
        follow,
    };
    for index in 0..base.units.len() {
        let node = it.add(Some(index), to_ours[index], to_theirs[index]);
        it.of_base.push(node);
    }
    for (index, other) in joined.into_iter().enumerate() {
        if new_ours[index] {
            it.add(None, Some(index), other);
        }
    }
    for index in 0..theirs.units.len() {
        if it.of_theirs[index] == usize::MAX {
            it.add(None, None, Some(index));
        }
    }
    it.renumber();
    let renames = it.renames.clone();
    it.follow[1].extend(renames);
    for index in 0..it.nodes.len() {
        it.nodes[index].fate = it.fate(kind, fine, index);
    }
    it.keep_edited_before_archived();
    it.keep_headings();
    it.drop_placeholders();
    it
}

impl Three<'_, '_> {
    fn add(&mut self, base: Option<usize>, ours: Option<usize>, theirs: Option<usize>) -> usize {
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
        self.nodes.push(Node {
            base,
            ours,
            theirs,
            what: what.unwrap_or(What::Text),
            number: None,
            fate: Fate::Gone,
        });
        node
    }

    fn units(&self, node: usize) -> [Option<&Unit<'_>>; 3] {
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
    fn renumber(&mut self) {
        let mut highest: HashMap<Series, usize> = HashMap::new();
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
            if let Some((series, number)) = unit.stands_for {
                seen(series, number);
            }
        }
        let mut used: BTreeSet<(Series, usize)> = BTreeSet::new();
        let mut late = Vec::new();
        for index in 0..self.nodes.len() {
            let [base, ours, theirs] = self.units(index);
            let number = |it: Option<&Unit<'_>>| {
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
        if newest_first(&self.theirs.units) == Some(true) {
            late.reverse();
        }
        for index in late {
            let [_, _, theirs] = self.units(index);
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

    fn fate(&self, kind: Kind, fine: bool, index: usize) -> Fate {
        let [base, ours, theirs] = self.units(index);
        match (base, ours, theirs) {
            (_, Some(ours), Some(theirs)) => {
                let merged = || match ours.what {
                    What::Item if ours.counts_overflow() => Some(ours.text.to_owned()),
                    What::Item => item((!fine).then_some(kind), base, ours, theirs),
                    What::Text | What::Front => {
                        lines(base.map(|it| it.text), ours.text, theirs.text)
                    }
                    What::Heading | What::Entry => None,
                };
                self.both(index, base, ours, theirs, merged)
            }
            (Some(_), Some(ours), None) => match self.outlives(index) {
                None => Fate::Gone,
                Some(true) => Fate::Kept(self.told(OURS, index, ours)),
                Some(false) => Fate::Conflict(self.told(OURS, index, ours), String::new()),
            },
            (Some(_), None, Some(theirs)) => match self.outlives(index) {
                None => Fate::Gone,
                Some(true) => Fate::Kept(self.told(THEIRS, index, theirs)),
                Some(false) => Fate::Conflict(String::new(), self.told(THEIRS, index, theirs)),
            },
            (None, Some(ours), None) => Fate::Kept(self.told(OURS, index, ours)),
            (None, None, Some(theirs)) => Fate::Kept(self.told(THEIRS, index, theirs)),
            (_, None, None) => Fate::Gone,
        }
    }

    /// Decides about a piece that both sides have.
    fn both(
        &self,
        index: usize,
        base: Option<&Unit<'_>>,
        ours: &Unit<'_>,
        theirs: &Unit<'_>,
        merged: impl FnOnce() -> Option<String>,
    ) -> Fate {
        let mine = || self.told(OURS, index, ours);
        let other = || self.told(THEIRS, index, theirs);
        if ours.same == theirs.same {
            let as_before = base.is_some_and(|it| it.text == ours.text);
            return Fate::Kept(if as_before { other() } else { mine() });
        }
        match base {
            Some(base) if base.same == ours.same => return Fate::Kept(other()),
            Some(base) if base.same == theirs.same => return Fate::Kept(mine()),
            _ => {}
        }
        match merged() {
            Some(text) => Fate::Kept(text),
            None => Fate::Conflict(mine(), other()),
        }
    }

    /// Returns one side's text under the entry's final number, with mentions
    /// updated.
    fn told(&self, side: usize, index: usize, unit: &Unit<'_>) -> String {
        let [base, ours, theirs] = self.units(index);
        let before = base.map(|it| it.text);
        let own = unit.numbered.as_ref();
        let text = numbers::following(unit.text, own, before, &self.follow[side]);
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
        match Numbered::read(it.series, it.number, &text) {
            Some(it) => it.renamed(&text, number, &former),
            None => text,
        }
    }

    /// Decides about a piece that the other side removed: none if it is
    /// unchanged and goes, `true` if it must stay, `false` for a conflict.
    fn outlives(&self, index: usize) -> Option<bool> {
        let [base, ours, theirs] = self.units(index);
        let (base, now) = (base?, ours.or(theirs)?);
        if now.what == What::Heading {
            // A renamed heading is text that a person wrote, so it stays.
            return (base.same != now.same).then_some(true);
        }
        let of = if ours.is_some() {
            &self.of_ours
        } else {
            &self.of_theirs
        };
        let place = now.section.map(|it| of[it]);
        let moved = now.what == What::Item && base.section.map(|it| self.of_base[it]) != place;
        if base.same == now.same {
            // A moved item is still in use on that side.
            return moved.then_some(true);
        }
        // A completed task is worth keeping, even if the other side removed it.
        let done = |it: &Unit<'_>| Task::read(it.text).is_some_and(|it| it.done());
        Some(now.what == What::Item && base.key == now.key && !done(base) && done(now))
    }

    /// Keeps an entry that one side edited while the other moved it to the
    /// archive, and drops the line that refers to the archive.
    fn keep_edited_before_archived(&mut self) {
        for index in 0..self.nodes.len() {
            let Fate::Conflict(mine, other) = &self.nodes[index].fate else {
                continue;
            };
            let archived_by_ours = self.nodes[index].ours.is_none();
            let archived_by_theirs = self.nodes[index].theirs.is_none();
            let text = if archived_by_ours { other } else { mine }.clone();
            let [base, ..] = self.units(index);
            let Some(name) = base.and_then(|it| it.numbered.as_ref()) else {
                continue;
            };
            let name = (name.series, name.number);
            let (units, of) = match (archived_by_ours, archived_by_theirs) {
                (true, _) => (&self.ours.units, &self.of_ours),
                (_, true) => (&self.theirs.units, &self.of_theirs),
                _ => continue,
            };
            let line = units.iter().position(|it| it.stands_for == Some(name));
            if let Some(line) = line.map(|it| of[it])
                && self.nodes[line].base.is_none()
            {
                self.nodes[line].fate = Fate::Gone;
                self.nodes[index].fate = Fate::Kept(text);
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
            let [_, ours, theirs] = self.units(node);
            if let Some(it) = ours.or(theirs) {
                self.nodes[node].fate = Fate::Kept(it.text.to_owned());
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
                    it.what == What::Item && self.nodes[of_others[*other]].is_kept()
                })
                .filter_map(|(_, it)| it.section.map(|it| of_others[it]))
                .collect();
            for (index, unit) in units.iter().enumerate() {
                let node = of[index];
                let alone = self.nodes[node].ours.is_none() || self.nodes[node].theirs.is_none();
                if unit.what != What::Text || !alone || !mind::is_unset(unit.text) {
                    continue;
                }
                if unit.section.is_some_and(|it| filled.contains(&of[it])) {
                    self.nodes[node].fate = Fate::Gone;
                }
            }
        }
    }
}

const OURS: usize = 0;
const THEIRS: usize = 1;

/// Merges an item that both sides changed: a task by its parts, and what is
/// nested below it item by item.
fn item(
    kind: Option<Kind>,
    base: Option<&Unit<'_>>,
    ours: &Unit<'_>,
    theirs: &Unit<'_>,
) -> Option<String> {
    let task = Task::read(ours.text).zip(Task::read(theirs.text));
    let before = base.map(|it| Task::read(it.text));
    if let (Some((mine, other)), Some(Some(_)) | None) = (task, &before) {
        let base = before.flatten();
        return Task::merged(base.as_ref(), &mine, &other, |base, ours, theirs| {
            below(kind, base, ours, theirs)
        });
    }
    let (first, rest) = split_line(ours.text);
    let (other, other_rest) = split_line(theirs.text);
    let before = base.map(|it| split_line(it.text));
    let line = match &before {
        _ if first == other => first,
        Some((it, _)) if *it == first => other,
        Some((it, _)) if *it == other => first,
        _ => return None,
    };
    let rest = below(kind, before.map(|it| it.1), rest, other_rest)?;
    Some(format!("{line}{rest}"))
}

fn split_line(text: &str) -> (&str, &str) {
    text.split_at(text.find('\n').unwrap_or(text.len()))
}

/// Merges what is nested below an item.
fn below(kind: Option<Kind>, base: Option<&str>, ours: &str, theirs: &str) -> Option<String> {
    let base = base.unwrap_or_default();
    if ours == theirs || base == theirs {
        return Some(ours.to_owned());
    }
    if base == ours {
        return Some(theirs.to_owned());
    }
    woven_finely(kind?, base, ours, theirs)
}

/// Merges texts of equal line count, line by line; two dates become the later
/// one.
fn lines(base: Option<&str>, ours: &str, theirs: &str) -> Option<String> {
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
            () => later(ours, theirs)?,
        });
    }
    Some(out)
}

/// Returns the line with the later date, if that is the only difference.
fn later<'t>(ours: &'t str, theirs: &'t str) -> Option<&'t str> {
    let (mine, other) = (mind::first_date(ours)?, mind::first_date(theirs)?);
    let without = |text: &str, date: jiff::civil::Date| text.replacen(&date.to_string(), "", 1);
    let alike = without(ours, mine) == without(theirs, other);
    alike.then_some(if other > mine { theirs } else { ours })
}

/// Returns `true` if entries are ordered newest first; none if nothing
/// indicates an order.
pub(super) fn newest_first(units: &[Unit<'_>]) -> Option<bool> {
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
        .filter(|it| matches!(it.what, What::Entry | What::Item))
        .filter_map(|it| it.date)
        .collect();
    match dates[..] {
        [first, .., last] if first != last => Some(first > last),
        _ => None,
    }
}
