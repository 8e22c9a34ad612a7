//! What becomes of each piece of three versions: kept, gone, or a conflict.
//! Looks at one piece at a time and never at its place.

use std::collections::{BTreeSet, HashMap};

use super::numbers::{self, Renames, Series};
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
    /// The two sides; a side that removed it has nothing.
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
    /// The node of each unit, by version.
    pub(super) of_base: Vec<usize>,
    pub(super) of_ours: Vec<usize>,
    pub(super) of_theirs: Vec<usize>,
    pub(super) renames: Renames,
}

/// `fine` is for what is nested in an item: it is not taken apart further.
pub(super) fn three<'p, 't>(
    kind: Kind,
    fine: bool,
    base: &'p Pieces<'t>,
    ours: &'p Pieces<'t>,
    theirs: &'p Pieces<'t>,
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
    for index in 0..it.nodes.len() {
        it.nodes[index].fate = it.fate(kind, fine, index);
    }
    it.keep_edited_before_archived();
    it.keep_headings();
    it.drop_placeholders();
    it
}

impl Three<'_, '_> {
    fn add(
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

    /// Gives each numbered entry its number. Ours keep theirs; what the other
    /// side added under a number that is in use gets the next free one.
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
                // Theirs is this entry after it was renumbered elsewhere.
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
        // The older ones of theirs get the lower numbers.
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
        let number = self.nodes[index].number;
        match (base, ours, theirs) {
            (_, Some(ours), Some(theirs)) => {
                let merged = || match ours.what {
                    What::Item => item((!fine).then_some(kind), base, ours, theirs),
                    What::Text | What::Front => {
                        lines(base.map(|it| it.text), ours.text, theirs.text)
                    }
                    What::Heading | What::Entry => None,
                };
                self.both(base, ours, theirs, number, merged)
            }
            (Some(base), Some(ours), None) => match outlives(base, ours) {
                None => Fate::Gone,
                Some(true) => Fate::Kept(ours.text.to_owned()),
                Some(false) => Fate::Conflict(ours.text.to_owned(), String::new()),
            },
            (Some(base), None, Some(theirs)) => {
                let text = numbers::following(theirs.text, Some(base.text), &self.renames);
                match outlives(base, theirs) {
                    None => Fate::Gone,
                    Some(true) => Fate::Kept(text),
                    Some(false) => Fate::Conflict(String::new(), text),
                }
            }
            (None, Some(ours), None) => Fate::Kept(ours.text.to_owned()),
            (None, None, Some(theirs)) => {
                let text = self.named(theirs, theirs, theirs, number);
                Fate::Kept(numbers_in_body(&text, theirs, number, &self.renames))
            }
            (_, None, None) => Fate::Gone,
        }
    }

    /// What both sides have.
    fn both(
        &self,
        base: Option<&Unit<'_>>,
        ours: &Unit<'_>,
        theirs: &Unit<'_>,
        number: Option<usize>,
        merged: impl FnOnce() -> Option<String>,
    ) -> Fate {
        let named = |it| self.named(it, ours, theirs, number);
        let follow = |text: String| match base {
            Some(base) => numbers::following(&text, Some(base.text), &self.renames),
            None => text,
        };
        if ours.same == theirs.same {
            let as_before = base.is_some_and(|it| it.text == ours.text);
            return Fate::Kept(named(if as_before { theirs } else { ours }));
        }
        match base {
            Some(base) if base.same == ours.same => return Fate::Kept(follow(named(theirs))),
            Some(base) if base.same == theirs.same => return Fate::Kept(named(ours)),
            _ => {}
        }
        match merged() {
            Some(text) => Fate::Kept(text),
            None => Fate::Conflict(named(ours), named(theirs)),
        }
    }

    /// A side's text under the number that the entry has now.
    fn named(
        &self,
        text: &Unit<'_>,
        ours: &Unit<'_>,
        theirs: &Unit<'_>,
        number: Option<usize>,
    ) -> String {
        let (Some(it), Some(number)) = (&text.numbered, number) else {
            return text.text.to_owned();
        };
        let mut former = BTreeSet::new();
        for side in [ours, theirs] {
            if let Some(it) = &side.numbered {
                former.extend(it.former.iter().copied());
                former.insert(it.number);
            }
        }
        former.remove(&number);
        it.renamed(text.text, number, &former)
    }

    /// An entry that one side edited while the other moved it to the archive
    /// stays; the line that stood for it would stand for nothing.
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

    /// A heading stays while anything stays below it.
    fn keep_headings(&mut self) {
        let mut needed = BTreeSet::new();
        for (units, of) in [
            (&self.ours.units, &self.of_ours),
            (&self.theirs.units, &self.of_theirs),
        ] {
            for (index, unit) in units.iter().enumerate().rev() {
                let Some(section) = unit.section else { continue };
                // A piece that the other side has too has a place there.
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

    /// `None.` that one side wrote goes where the other added something.
    fn drop_placeholders(&mut self) {
        for (units, of, others, of_others) in [
            (&self.ours.units, &self.of_ours, &self.theirs.units, &self.of_theirs),
            (&self.theirs.units, &self.of_theirs, &self.ours.units, &self.of_ours),
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

/// Mentions of renamed entries in an entry of theirs; its own heading and its
/// former names are not mentions.
fn numbers_in_body(text: &str, unit: &Unit<'_>, number: Option<usize>, renames: &Renames) -> String {
    let (Some(it), Some(number)) = (&unit.numbered, number) else {
        return numbers::following(text, None, renames);
    };
    let followed = numbers::following(unit.text, None, renames);
    // The heading may have been renamed with the rest; reading it again tells
    // where things stand.
    let at = match renames.get(&(it.series, it.number)) {
        Some(new) => *new,
        None => it.number,
    };
    match numbers::Numbered::read(it.series, at, &followed) {
        Some(again) => {
            let mut former = it.former.clone();
            former.insert(it.number);
            former.remove(&number);
            again.renamed(&followed, number, &former)
        }
        None => text.to_owned(),
    }
}

/// What becomes of a piece that the other side removed: gone when it is as it
/// was, kept when it must be, else a conflict.
fn outlives(base: &Unit<'_>, now: &Unit<'_>) -> Option<bool> {
    if base.same == now.same || now.what == What::Heading {
        return None;
    }
    // Somebody did it meanwhile: that is worth more than the list being short.
    let done = |it: &Unit<'_>| Task::read(it.text).is_some_and(|it| it.done());
    Some(now.what == What::Item && base.key == now.key && !done(base) && done(now))
}

/// An item that both sides changed: a task by its parts, and what is nested
/// below it item by item.
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

/// What stands below an item.
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

/// Texts of as many lines each, line by line; two dates become the later one.
fn lines(base: Option<&str>, ours: &str, theirs: &str) -> Option<String> {
    let base = base?;
    let count = ours.split_inclusive('\n').count();
    if [base, theirs].iter().any(|it| it.split_inclusive('\n').count() != count) {
        return None;
    }
    let theirs = theirs.split_inclusive('\n');
    let all = base.split_inclusive('\n').zip(ours.split_inclusive('\n')).zip(theirs);
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

/// Of two lines that differ in one date alone, the one with the later date.
fn later<'t>(ours: &'t str, theirs: &'t str) -> Option<&'t str> {
    let (mine, other) = (mind::first_date(ours)?, mind::first_date(theirs)?);
    let without = |text: &str, date: jiff::civil::Date| text.replacen(&date.to_string(), "", 1);
    let alike = without(ours, mine) == without(theirs, other);
    alike.then_some(if other > mine { theirs } else { ours })
}

/// Whether entries stand newest first; none where nothing tells.
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
