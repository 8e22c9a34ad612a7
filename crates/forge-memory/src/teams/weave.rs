//! Orders the kept pieces and restores the blank lines between them. One side
//! determines the order; additions of the other go where they were on that
//! side.

use std::collections::{HashMap, VecDeque};

use super::MergeKind;
use super::three::{MergeFate, MergeNode, ThreeWayMerge, detect_newest_first};
use super::units::{FilePieces, MergeUnit, MergeUnitKind};

/// Orders the nodes of the result.
pub(super) fn order_nodes(kind: MergeKind, three: &ThreeWayMerge<'_, '_>) -> Vec<usize> {
    let sorted = |of: &[usize]| {
        let bases = of.iter().map(|it| &three.nodes[*it]);
        let bases: Vec<usize> = bases
            .filter(|it| it.ours.is_some() && it.theirs.is_some())
            .filter_map(|it| it.base)
            .collect();
        bases.is_sorted()
    };
    let ours = MergeSide {
        pieces: three.ours,
        of: &three.of_ours,
    };
    let theirs = MergeSide {
        pieces: three.theirs,
        of: &three.of_theirs,
    };
    // The side that reordered pieces leads, so that its order is kept.
    let ours_lead = !sorted(&three.of_ours) || sorted(&three.of_theirs);
    let (lead, other) = if ours_lead {
        (ours, theirs)
    } else {
        (theirs, ours)
    };
    let numbered = |it: &MergeUnit<'_>| it.numbered.is_some();
    let default = || {
        let units = || {
            [three.ours, three.theirs]
                .into_iter()
                .flat_map(|it| &it.units)
        };
        kind == MergeKind::Sessions
            && !units().any(numbered)
            && units().any(|it| it.what == MergeUnitKind::Entry)
    };
    let newest_first = [three.ours, three.theirs, three.base]
        .into_iter()
        .find_map(|it| detect_newest_first(&it.units))
        .unwrap_or_else(default);
    NodeWeaver {
        three,
        lead,
        other,
        ours_lead,
        newest_first,
    }
    .weave_order()
}

#[derive(Clone, Copy)]
struct MergeSide<'p, 't> {
    pieces: &'p FilePieces<'t>,
    of: &'p [usize],
}

impl MergeSide<'_, '_> {
    fn section_node(&self, unit: usize) -> Option<usize> {
        self.pieces.units[unit].section.map(|it| self.of[it])
    }
}

struct NodeWeaver<'p, 't> {
    three: &'p ThreeWayMerge<'p, 't>,
    lead: MergeSide<'p, 't>,
    other: MergeSide<'p, 't>,
    ours_lead: bool,
    newest_first: bool,
}

impl NodeWeaver<'_, '_> {
    fn weave_order(&self) -> Vec<usize> {
        let nodes = &self.three.nodes;
        let mut places: HashMap<usize, Option<usize>> = HashMap::new();
        let mut sequence = Vec::new();
        for (unit, &node) in self.lead.of.iter().enumerate() {
            if nodes[node].is_kept() && !self.is_moved_by_other(&nodes[node]) {
                sequence.push(node);
                places.insert(node, self.lead.section_node(unit));
            }
        }
        let mut runs: HashMap<Option<usize>, VecDeque<usize>> = HashMap::new();
        let mut anchor = None;
        for (unit, &node) in self.other.of.iter().enumerate() {
            if !nodes[node].is_kept() {
                continue;
            }
            match places.get(&node) {
                // A piece that is in another section now is no anchor here.
                Some(place) if *place == self.other.section_node(unit) => anchor = Some(node),
                Some(_) if nodes[node].what == MergeUnitKind::Heading => anchor = Some(node),
                Some(_) => {}
                None => runs.entry(anchor).or_default().push_back(node),
            }
        }
        let mut order = Vec::with_capacity(nodes.len());
        let mut anchor = None;
        let mut waiting = runs.remove(&None).unwrap_or_default();
        for node in sequence {
            let shared = nodes[node].ours.is_some() && nodes[node].theirs.is_some();
            while let Some(&first) = waiting.front() {
                if !shared && !self.goes_first(first, node, anchor) {
                    break;
                }
                order.push(first);
                waiting.pop_front();
            }
            order.push(node);
            if let Some(run) = runs.remove(&Some(node)) {
                order.extend(waiting.drain(..));
                waiting = run;
                anchor = Some(node);
            }
        }
        order.extend(waiting);
        order
    }

    /// Returns `true` if only the other side moved an item to another section.
    fn is_moved_by_other(&self, node: &MergeNode) -> bool {
        let (lead, other) = if self.ours_lead {
            (node.ours, node.theirs)
        } else {
            (node.theirs, node.ours)
        };
        let (Some(base), Some(lead), Some(other)) = (node.base, lead, other) else {
            return false;
        };
        if node.what != MergeUnitKind::Item {
            return false;
        }
        let before = self.three.base.units[base].section;
        let before = before.map(|it| self.three.of_base[it]);
        let (lead_at, other_at) = (self.lead.section_node(lead), self.other.section_node(other));
        let ticked = |unit: &MergeUnit<'_>| {
            super::task::TaskParts::read(unit.text).is_some_and(|it| it.is_done())
        };
        if other_at == before || other_at == lead_at {
            return false;
        }
        // If both moved it, the side that completed it knows the right section.
        lead_at == before
            || ticked(&self.other.pieces.units[other]) && !ticked(&self.lead.pieces.units[lead])
    }

    /// Returns `true` if an addition of the other side goes before one of the
    /// leading side at the same position.
    fn goes_first(&self, other: usize, lead: usize, anchor: Option<usize>) -> bool {
        let nodes = &self.three.nodes;
        let (node, next) = (&nodes[other], &nodes[lead]);
        match (
            node.what == MergeUnitKind::Heading,
            next.what == MergeUnitKind::Heading,
        ) {
            (true, true) => !self.ours_lead,
            (false, true) => true,
            (true, false) => {
                let after_entry = anchor.is_some_and(|it| nodes[it].what == MergeUnitKind::Entry);
                next.what == MergeUnitKind::Entry && !after_entry
            }
            (false, false) => {
                let older = match (node.number, next.number) {
                    (Some(one), Some(two)) if one != two => Some(one < two),
                    _ => match (self.node_date(node), self.node_date(next)) {
                        (Some(one), Some(two)) if one != two => Some(one < two),
                        _ => None,
                    },
                };
                // At equal age, ours counts as the older.
                older.unwrap_or(!self.ours_lead) != self.newest_first
            }
        }
    }

    fn node_date(&self, node: &MergeNode) -> Option<jiff::civil::Date> {
        let ours = node.ours.map(|it| &self.three.ours.units[it]);
        let theirs = node.theirs.map(|it| &self.three.theirs.units[it]);
        ours.or(theirs)?.date
    }
}

/// Renders the result with conflict markers.
pub(super) fn render_with_conflicts(three: &ThreeWayMerge<'_, '_>, order: &[usize]) -> String {
    render_nodes(three, order, |fate, newline| match fate {
        MergeFate::Kept(text) => text.clone(),
        MergeFate::Conflict(ours, theirs) => render_conflict(ours, theirs, newline),
        MergeFate::Gone => String::new(),
    })
}

/// Renders the result with our side of every conflict, and the pieces that
/// parsing it must return.
pub(super) fn render_ours(three: &ThreeWayMerge<'_, '_>, order: &[usize]) -> (String, Vec<String>) {
    let ours = |fate: &MergeFate| match fate {
        MergeFate::Kept(text) | MergeFate::Conflict(text, _) => text.clone(),
        MergeFate::Gone => String::new(),
    };
    let order: Vec<usize> = (order.iter().copied())
        .filter(|it| !ours(&three.nodes[*it].fate).is_empty())
        .collect();
    let pieces = order
        .iter()
        .map(|it| ours(&three.nodes[*it].fate))
        .collect();
    (render_nodes(three, &order, |fate, _| ours(fate)), pieces)
}

fn render_conflict(ours: &str, theirs: &str, newline: &str) -> String {
    let side = |text: &str| match text {
        "" => String::new(),
        text => format!("{text}{newline}"),
    };
    format!(
        "<<<<<<< ours{newline}{}======={newline}{}>>>>>>> theirs",
        side(ours),
        side(theirs)
    )
}

fn render_nodes(
    three: &ThreeWayMerge<'_, '_>,
    order: &[usize],
    render: impl Fn(&MergeFate, &str) -> String,
) -> String {
    let gaps = PieceGaps::new(three);
    let mut out = String::new();
    let mut before = None;
    for &node in order {
        out.push_str(&gaps.gap_between(before, Some(node)));
        out.push_str(&render(&three.nodes[node].fate, gaps.newline));
        before = Some(node);
    }
    out.push_str(&gaps.gap_between(before, None));
    out
}

/// The kinds of the pieces around a gap; none at an end of the file.
type GapKinds = (Option<MergeUnitKind>, Option<MergeUnitKind>);
type KnownGaps<'t> = HashMap<(Option<usize>, Option<usize>), &'t str>;

/// The gaps between pieces: unchanged where the same two pieces were adjacent,
/// else as the file has it between pieces of their kinds.
struct PieceGaps<'p, 't> {
    three: &'p ThreeWayMerge<'p, 't>,
    /// One map per version.
    known: [KnownGaps<'t>; 3],
    usual: HashMap<GapKinds, &'t str>,
    newline: &'static str,
}

impl<'p, 't> PieceGaps<'p, 't> {
    fn new(three: &'p ThreeWayMerge<'p, 't>) -> PieceGaps<'p, 't> {
        let mut counts: HashMap<GapKinds, Vec<(&'t str, usize)>> = HashMap::new();
        let mut known: [KnownGaps<'t>; 3] = Default::default();
        let mut crlf = false;
        let sides = [
            (three.base, &three.of_base),
            (three.ours, &three.of_ours),
            (three.theirs, &three.of_theirs),
        ];
        for (side, (pieces, of)) in sides.into_iter().enumerate() {
            for (index, gap) in pieces.gaps.iter().enumerate() {
                let before = index.checked_sub(1);
                let after = (index < of.len()).then_some(index);
                let what = |it: Option<usize>| it.map(|it| pieces.units[it].what);
                let node = |it: Option<usize>| it.map(|it| of[it]);
                known[side].insert((node(before), node(after)), gap);
                if side == 1 {
                    crlf |= gap.contains("\r\n");
                }
                // A gap without a line break is not typical of two kinds.
                let apart = gap.contains('\n') || before.is_none() || after.is_none();
                if side > 0 && apart {
                    let of_kind = counts.entry((what(before), what(after))).or_default();
                    match of_kind.iter_mut().find(|it| it.0 == *gap) {
                        Some(it) => it.1 += 1,
                        None => of_kind.push((gap, 1)),
                    }
                }
            }
        }
        let usual = counts.into_iter().filter_map(|(kinds, gaps)| {
            let most = gaps.iter().map(|it| it.1).max()?;
            // Of equal counts, the first, which is ours.
            let gap = gaps.iter().find(|it| it.1 == most)?;
            Some((kinds, gap.0))
        });
        PieceGaps {
            three,
            known,
            usual: usual.collect(),
            newline: if crlf { "\r\n" } else { "\n" },
        }
    }

    fn gap_between(&self, before: Option<usize>, after: Option<usize>) -> String {
        let [base, ours, theirs] = [0, 1, 2].map(|it| self.known[it].get(&(before, after)));
        let gap = match (base, ours, theirs) {
            (Some(base), Some(ours), Some(theirs)) if base == ours => Some(theirs),
            (_, Some(ours), _) => Some(ours),
            (_, None, Some(theirs)) => Some(theirs),
            (Some(base), None, None) => Some(base),
            (None, None, None) => None,
        };
        if let Some(gap) = gap {
            return (*gap).to_owned();
        }
        let what = |it: Option<usize>| it.map(|it| self.three.nodes[it].what);
        if let Some(gap) = self.usual.get(&(what(before), what(after))) {
            return (*gap).to_owned();
        }
        match (what(before), what(after)) {
            (None, _) => String::new(),
            (_, None) | (Some(MergeUnitKind::Item), Some(MergeUnitKind::Item)) => {
                self.newline.to_owned()
            }
            _ => self.newline.repeat(2),
        }
    }
}

/// Counts the conflicts.
pub(super) fn count_conflicts(three: &ThreeWayMerge<'_, '_>) -> usize {
    let conflict = |it: &&MergeNode| matches!(it.fate, MergeFate::Conflict(..));
    three.nodes.iter().filter(conflict).count()
}
