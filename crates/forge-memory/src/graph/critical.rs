//! The longest chain of items that wait for each other, by weight. Items that
//! wait for each other in a ring are kept apart: no chain through them has an
//! end.

use std::collections::BTreeSet;

/// The longest chain, as places in the list of weights.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub(super) struct CriticalChain {
    /// In the order in which they have to be done.
    pub(super) steps: Vec<usize>,
    pub(super) weight: u64,
    /// Each ring in order, the rings by their first item.
    pub(super) rings: Vec<Vec<usize>>,
}

/// Finds the longest chain. `waits` are pairs of a place and one that it waits
/// for. Of equally long chains, the one whose places come first wins.
pub(super) fn find_longest_chain(weights: &[u32], waits: &[(usize, usize)]) -> CriticalChain {
    let waits: BTreeSet<(usize, usize)> = waits.iter().copied().collect();
    let mut blockers = vec![Vec::new(); weights.len()];
    let mut waiting = vec![Vec::new(); weights.len()];
    for (item, blocker) in &waits {
        blockers[*item].push(*blocker);
        waiting[*blocker].push(*item);
    }
    let rings = find_rings(&blockers, &waiting);
    let mut in_ring = vec![false; weights.len()];
    for place in rings.iter().flatten() {
        in_ring[*place] = true;
    }
    // From items that nothing waits for to items that wait for nothing.
    let mut left: Vec<usize> = (waiting.iter())
        .map(|list| list.iter().filter(|it| !in_ring[**it]).count())
        .collect();
    let mut ready: Vec<usize> = (0..weights.len())
        .filter(|it| !in_ring[*it] && left[*it] == 0)
        .collect();
    let mut behind = vec![0u64; weights.len()];
    let mut next = vec![None; weights.len()];
    while let Some(place) = ready.pop() {
        // Lists are sorted, so that the first of equals is the smallest.
        for follower in waiting[place].iter().filter(|it| !in_ring[**it]) {
            if behind[*follower] > behind[place] {
                behind[place] = behind[*follower];
                next[place] = Some(*follower);
            }
        }
        // At least 1, so that of unweighted chains the one with more items is
        // longer.
        behind[place] += u64::from(weights[place].max(1));
        for blocker in blockers[place].iter().filter(|it| !in_ring[**it]) {
            left[*blocker] -= 1;
            if left[*blocker] == 0 {
                ready.push(*blocker);
            }
        }
    }
    let free = (0..weights.len()).filter(|it| !in_ring[*it]);
    let first = free.max_by_key(|it| (behind[*it], std::cmp::Reverse(*it)));
    let mut chain = CriticalChain {
        weight: first.map_or(0, |it| behind[it]),
        rings,
        ..CriticalChain::default()
    };
    let mut at = first;
    while let Some(place) = at {
        chain.steps.push(place);
        at = next[place];
    }
    chain
}

/// Finds the rings: places that can reach each other, and places that wait for
/// themselves.
fn find_rings(out: &[Vec<usize>], back: &[Vec<usize>]) -> Vec<Vec<usize>> {
    // Kosaraju's algorithm with a stack of its own: recursion would overflow on
    // a long chain.
    let mut order = Vec::with_capacity(out.len());
    let mut seen = vec![false; out.len()];
    for start in 0..out.len() {
        if std::mem::replace(&mut seen[start], true) {
            continue;
        }
        let mut stack = vec![(start, 0)];
        while let Some((place, at)) = stack.pop() {
            match out[place].get(at) {
                Some(next) => {
                    stack.push((place, at + 1));
                    if !std::mem::replace(&mut seen[*next], true) {
                        stack.push((*next, 0));
                    }
                }
                None => order.push(place),
            }
        }
    }
    let mut rings = Vec::new();
    let mut taken = vec![false; out.len()];
    for start in order.into_iter().rev() {
        if std::mem::replace(&mut taken[start], true) {
            continue;
        }
        let mut ring = vec![start];
        let mut at = 0;
        while let Some(place) = ring.get(at).copied() {
            at += 1;
            for next in &back[place] {
                if !std::mem::replace(&mut taken[*next], true) {
                    ring.push(*next);
                }
            }
        }
        if ring.len() > 1 || out[start].contains(&start) {
            ring.sort_unstable();
            rings.push(ring);
        }
    }
    rings.sort();
    rings
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    /// Every simple chain, by trying all; and every place that can come back
    /// to itself.
    fn by_trying(weights: &[u32], waits: &[(usize, usize)]) -> (Vec<usize>, u64, Vec<usize>) {
        let follows = |a: usize, b: usize| waits.contains(&(b, a));
        let count = weights.len();
        let mut reach = vec![vec![false; count]; count];
        for (item, blocker) in waits {
            reach[*item][*blocker] = true;
        }
        for via in 0..count {
            for from in 0..count {
                for to in 0..count {
                    reach[from][to] |= reach[from][via] && reach[via][to];
                }
            }
        }
        let ringed: Vec<usize> = (0..count).filter(|it| reach[*it][*it]).collect();
        let mut best: (u64, Vec<usize>) = (0, Vec::new());
        let mut open: Vec<Vec<usize>> = (0..count)
            .filter(|it| !ringed.contains(it))
            .map(|it| vec![it])
            .collect();
        while let Some(chain) = open.pop() {
            let weight = chain.iter().map(|it| u64::from(weights[*it])).sum();
            if weight > best.0 || weight == best.0 && chain < best.1 {
                best = (weight, chain.clone());
            }
            let last = chain[chain.len() - 1];
            for next in (0..count).filter(|it| follows(last, *it) && !ringed.contains(it)) {
                let mut longer = chain.clone();
                longer.push(next);
                open.push(longer);
            }
        }
        (best.1, best.0, ringed)
    }

    proptest! {
        #[test]
        fn m11_the_longest_chain_is_the_longest_of_all(
            weights in prop::collection::vec(1u32..5, 1..8),
            waits in prop::collection::vec((0usize..8, 0usize..8), 0..14),
        ) {
            let count = weights.len();
            let waits: Vec<_> = waits.into_iter().map(|(a, b)| (a % count, b % count)).collect();
            let chain = find_longest_chain(&weights, &waits);
            let (steps, weight, ringed) = by_trying(&weights, &waits);
            prop_assert_eq!(chain.weight, weight);
            prop_assert_eq!(chain.steps, steps);
            let mut told: Vec<usize> = chain.rings.concat();
            told.sort_unstable();
            prop_assert_eq!(told, ringed);
        }
    }

    #[test]
    fn a_chain_of_a_hundred_thousand_takes_no_stack() {
        let count = 100_000;
        let waits: Vec<_> = (1..count).map(|it| (it, it - 1)).collect();
        let chain = find_longest_chain(&vec![1; count], &waits);
        assert_eq!(chain.weight, count as u64);
        let ring: Vec<_> = (0..count).map(|it| (it, (it + 1) % count)).collect();
        assert_eq!(find_longest_chain(&vec![1; count], &ring).rings.len(), 1);
    }
}
