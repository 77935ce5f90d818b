//! Rounds of pairs in which nobody is twice.

use super::score::Suspects;
use crate::base::stats::random::Random;
use std::collections::BTreeSet;

/// The pairs of a round, each with the smaller number first; nobody is in two of them.
pub type Pairs = Vec<(usize, usize)>;

/// With how many others a suspect is measured again.
const PARTNERS: usize = 4;

/// As few rounds as there are of everybody with everybody.
const LEAST_ROUNDS: usize = 10;

/// How often a suspected pair is measured again.
const REPEATS: usize = 3;

/// Every pair once, in `n` − 1 rounds where `n` is even, and in `n` with one to rest in each where
/// it is odd.
///
/// # Source
/// The circle method of round-robin tournaments: one stays, the others move round a circle.
pub fn circle(n: usize) -> Vec<Pairs> {
    if n < 2 {
        return Vec::new();
    }
    let even = n + n % 2; // the one that is too many is nobody: its partner rests
    let seats = even - 1;
    let round = |turn: usize| {
        let fixed = (turn, seats);
        let others = (1..even / 2).map(move |step| {
            let left = (turn + step) % seats;
            let right = (turn + seats - step) % seats;
            (left, right)
        });
        let all = std::iter::once(fixed).chain(others);
        let real = all.filter(|(a, b)| *a < n && *b < n);
        real.map(|(a, b)| (a.min(b), a.max(b))).collect()
    };
    (0..seats).map(round).collect()
}

/// The circle, again and again where it is short: with few participants every pair is measured
/// several times, so that one hiccup is not taken for a slow pair.
pub fn full(n: usize) -> Vec<Pairs> {
    let circle = circle(n);
    let times = LEAST_ROUNDS.div_ceil(circle.len().max(1));
    let rounds = circle.len() * times;
    circle.into_iter().cycle().take(rounds).collect()
}

/// `count` random rounds in which everybody has a partner, or all but one where `n` is odd.
pub fn matchings(n: usize, count: usize, random: &mut Random) -> Vec<Pairs> {
    let mut all: Vec<usize> = (0..n).collect();
    let round = |_| {
        random.shuffle(&mut all);
        let pairs = all.chunks_exact(2);
        pairs
            .map(|two| (two[0].min(two[1]), two[0].max(two[1])))
            .collect()
    };
    (0..count).map(round).collect()
}

/// Rounds that tell whether suspects are slow again: each with partners that nobody suspects, each
/// suspected pair by itself, and beside them pairs that nobody suspects, to be held against.
pub fn again(suspects: &Suspects, n: usize, random: &mut Random) -> Vec<Pairs> {
    let mut good: Vec<usize> = (0..n).filter(|one| !suspects.units.contains(one)).collect();
    let mut wanted: Vec<(usize, usize)> = Vec::new();
    for &unit in &suspects.units {
        random.shuffle(&mut good);
        let partners = good.iter().take(PARTNERS);
        wanted.extend(partners.map(|&other| (unit.min(other), unit.max(other))));
    }
    for &pair in &suspects.pairs {
        wanted.extend([pair; REPEATS]);
    }
    let mut rounds = packed(wanted);
    for round in &mut rounds {
        random.shuffle(&mut good);
        controls(round, &good, suspects);
    }
    rounds
}

/// Fills a round with pairs of those that are free in it.
fn controls(round: &mut Pairs, good: &[usize], suspects: &Suspects) {
    let busy: BTreeSet<usize> = round.iter().flat_map(|(a, b)| [*a, *b]).collect();
    let mut free: Vec<usize> = good
        .iter()
        .copied()
        .filter(|one| !busy.contains(one))
        .collect();
    while let Some(one) = free.pop() {
        let pair = |other: &usize| (one.min(*other), one.max(*other));
        let partner = free
            .iter()
            .position(|other| !suspects.pairs.contains(&pair(other)));
        if let Some(at) = partner {
            let other = free.swap_remove(at);
            round.push(pair(&other));
        }
    }
}

/// Puts pairs into as few rounds as come of taking, for each round, whatever still fits.
fn packed(mut wanted: Vec<(usize, usize)>) -> Vec<Pairs> {
    let mut rounds = Vec::new();
    while !wanted.is_empty() {
        let mut busy: BTreeSet<usize> = BTreeSet::new();
        let (round, left) = wanted.into_iter().partition(|(a, b)| {
            let is_free = !busy.contains(a) && !busy.contains(b);
            if is_free {
                busy.extend([*a, *b]);
            }
            is_free
        });
        rounds.push(round);
        wanted = left;
    }
    rounds
}
