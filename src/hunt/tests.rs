//! Rounds are fair, and what is planted in made-up times is found, nothing else.

use super::rounds;
use super::score;
use super::score::Suspects;
use super::*;
use crate::base::stats::random::Random;
use std::collections::BTreeSet;

#[test]
fn the_circle_brings_every_pair_together_once_and_nobody_twice_in_a_round() {
    for n in [2, 3, 5, 7, 8, 16, 33] {
        let rounds = rounds::circle(n);
        assert_eq!(rounds.len(), n - 1 + n % 2, "{n}");
        let mut seen = BTreeSet::new();
        for round in &rounds {
            let mut busy = BTreeSet::new();
            for &(a, b) in round {
                assert!(
                    a < b && b < n && busy.insert(a) && busy.insert(b),
                    "{n}: {round:?}"
                );
                assert!(seen.insert((a, b)), "{n}: {a} and {b} meet twice");
            }
        }
        assert_eq!(seen.len(), n * (n - 1) / 2);
    }
    assert!(rounds::circle(0).is_empty() && rounds::circle(1).is_empty());
}

#[test]
fn a_matching_leaves_at_most_one_out() {
    for n in [2, 3, 7, 16] {
        for round in rounds::matchings(n, 3, &mut Random::seeded(7)) {
            let all: BTreeSet<usize> = round.iter().flat_map(|(a, b)| [*a, *b]).collect();
            assert_eq!((round.len(), all.len()), (n / 2, n / 2 * 2));
        }
    }
}

/// A cluster with something slow in it.
#[derive(Clone, Copy)]
struct Cluster {
    n: usize,
    node: Option<(usize, f64)>,
    link: Option<(usize, usize, f64)>,
}

impl Cluster {
    fn us(&self, (a, b): (usize, usize), random: &mut Random) -> f64 {
        // times have a floor and a tail: the sum of uniform numbers, and now and then a hiccup
        let noise: f64 = (0..4).map(|_| random.unit()).sum::<f64>() / 4.0 * 0.08;
        let hiccup = if random.unit() < 0.01 {
            1.0 + random.unit()
        } else {
            1.0
        };
        let node = match self.node {
            Some((slow, times)) if slow == a || slow == b => times,
            _ => 1.0,
        };
        let link = match self.link {
            Some((left, right, times)) if (left, right) == (a, b) => times,
            _ => 1.0,
        };
        1000.0 * (1.0 + noise) * hiccup * node.max(link)
    }

    fn measure(&self, rounds: &[Pairs], again: bool, random: &mut Random) -> Vec<Met> {
        let pairs = rounds.iter().flatten();
        pairs
            .map(|&(a, b)| Met {
                a,
                b,
                class: 0,
                us: self.us((a, b), random),
                again,
            })
            .collect()
    }

    /// As a hunt goes: rounds, suspects, rounds again, verdict.
    fn hunt(&self, seed: u64, rounds: &[Pairs]) -> (Verdict, usize) {
        let mut random = Random::named(seed, "hunt");
        let mut mets = self.measure(rounds, false, &mut random);
        let suspects = score::suspects(&mets, Limits::default());
        let more = rounds::again(&suspects, self.n, &mut random);
        mets.extend(self.measure(&more, true, &mut random));
        let count = rounds.len() + more.len();
        (judge(&mets, &suspects, Limits::default()), count)
    }
}

const HEALTHY: Cluster = Cluster {
    n: 16,
    node: None,
    link: None,
};

/// In how many of a hundred seeded trials the verdict is right.
fn right(
    cluster: impl Fn(usize) -> Cluster,
    is_right: impl Fn(&Verdict, &Cluster) -> bool,
) -> usize {
    let trial = |seed: &usize| {
        let cluster = cluster(*seed);
        let (verdict, _) = cluster.hunt(*seed as u64, &rounds::full(cluster.n));
        is_right(&verdict, &cluster)
    };
    (0..100).filter(trial).count()
}

#[test]
fn nothing_is_named_where_nothing_is_slow() {
    for n in [3, 5, 7, 16, 33] {
        let quiet =
            |verdict: &Verdict, _: &Cluster| verdict.units.is_empty() && verdict.pairs.is_empty();
        let count = right(|_| Cluster { n, ..HEALTHY }, quiet);
        assert!(count >= 99, "{n} nodes: {count} of 100");
    }
}

#[test]
fn a_slow_node_is_named_and_no_other() {
    for n in [3, 5, 7, 16] {
        let planted = |seed: usize| Cluster {
            n,
            node: Some((seed % n, 1.25)),
            ..HEALTHY
        };
        let named = |verdict: &Verdict, cluster: &Cluster| {
            let units: Vec<usize> = verdict.units.iter().map(|one| one.unit).collect();
            verdict.pairs.is_empty() && Some(units) == cluster.node.map(|(node, _)| vec![node])
        };
        let count = right(planted, named);
        assert!(count >= 99, "{n} nodes: {count} of 100");
    }
}

#[test]
fn a_slow_link_is_named_and_neither_of_its_nodes() {
    let planted = |seed: usize| {
        let (a, b) = (seed % 15, 15);
        Cluster {
            link: Some((a, b, 1.5)),
            ..HEALTHY
        }
    };
    let named = |verdict: &Verdict, cluster: &Cluster| {
        let pairs: Vec<(usize, usize)> = verdict.pairs.iter().map(|one| (one.a, one.b)).collect();
        verdict.units.is_empty() && Some(pairs) == cluster.link.map(|(a, b, _)| vec![(a, b)])
    };
    let count = right(planted, named);
    assert!(count >= 99, "{count} of 100");
}

/// Rails are paired as their nodes are, and each is timed by itself.
fn rails(planted: Option<usize>, seed: u64) -> Verdict {
    const RAILS: usize = 4;
    let mut random = Random::named(seed, "rails");
    let cluster = Cluster {
        node: planted.map(|unit| (unit, 1.25)),
        ..HEALTHY
    };
    let spread = |rounds: &[Pairs]| -> Vec<Pairs> {
        let rails = |&(a, b): &(usize, usize)| {
            (0..RAILS).map(move |rail| (a * RAILS + rail, b * RAILS + rail))
        };
        let wide = |round: &Pairs| round.iter().flat_map(rails).collect();
        rounds.iter().map(wide).collect()
    };
    let mut mets = cluster.measure(&spread(&rounds::full(16)), false, &mut random);
    let suspects = score::suspects(&mets, Limits::default());
    let nodes = Suspects {
        units: suspects.units.iter().map(|unit| unit / RAILS).collect(),
        pairs: suspects
            .pairs
            .iter()
            .map(|(a, b)| (a / RAILS, b / RAILS))
            .collect(),
    };
    let more = spread(&rounds::again(&nodes, 16, &mut random));
    mets.extend(cluster.measure(&more, true, &mut random));
    judge(&mets, &suspects, Limits::default())
}

#[test]
fn a_slow_rail_among_those_of_16_nodes_is_named_and_none_where_none_is_slow() {
    let trial = |seed: usize, planted: Option<usize>| {
        let verdict = rails(planted, seed as u64);
        let units: Vec<usize> = verdict.units.iter().map(|one| one.unit).collect();
        verdict.pairs.is_empty() && units == planted.into_iter().collect::<Vec<_>>()
    };
    let slow = (0..100).filter(|&seed| trial(seed, Some(seed % 64)));
    let quiet = (0..100).filter(|&seed| trial(seed, None));
    let (slow, quiet) = (slow.count(), quiet.count());
    assert!(slow >= 99 && quiet >= 99, "{slow} and {quiet} of 100");
}

#[test]
fn screening_finds_a_slow_node_among_512_in_rounds_that_do_not_grow_with_the_pairs() {
    let cluster = Cluster {
        n: 512,
        node: Some((300, 1.3)),
        link: None,
    };
    let mut right = 0;
    for seed in 0..5 {
        let mut random = Random::named(seed, "screen");
        let (verdict, rounds) = cluster.hunt(seed, &rounds::matchings(512, 3, &mut random));
        let units: Vec<usize> = verdict.units.iter().map(|one| one.unit).collect();
        right += usize::from(units == [300]);
        assert!(rounds < 512, "{rounds}");
    }
    assert_eq!(right, 5);
}

#[test]
fn of_two_nodes_their_pair_is_slow_and_neither_is_named() {
    let met = |us: f64, again| Met {
        a: 0,
        b: 1,
        class: 0,
        us,
        again,
    };
    // a pair alone has nothing to be held against
    let mets = [met(100.0, false), met(101.0, true)];
    assert_eq!(
        score::suspects(&mets, Limits::default()),
        Suspects::default()
    );
}

#[test]
fn classes_are_held_against_their_own_kind() {
    // pairs within a host are four times faster than those between hosts, and nothing is slow
    let met = |a: usize, b: usize| Met {
        a,
        b,
        class: usize::from(a / 4 != b / 4),
        us: if a / 4 == b / 4 { 25.0 } else { 100.0 },
        again: false,
    };
    let mets: Vec<Met> = rounds::circle(16)
        .into_iter()
        .flatten()
        .map(|(a, b)| met(a, b))
        .collect();
    assert!(score::suspects(&mets, Limits::default()).is_empty());
}

#[test]
fn nodes_exchange_by_rail_and_a_rail_that_one_lacks_rests() {
    let node = |name: &str, ranks: &[u32]| traffic::Node {
        name: name.to_owned(),
        ranks: ranks.to_vec(),
    };
    let nodes = [node("a", &[0, 1, 2]), node("b", &[3, 4]), node("c", &[5])];
    let moves = traffic::of_nodes(&nodes, &vec![(0, 1)], 6);
    assert_eq!(
        moves,
        [
            Some((3, 3)),
            Some((4, 4)),
            None,
            Some((0, 0)),
            Some((1, 1)),
            None
        ]
    );
    assert_eq!(
        traffic::alone(&nodes, 6)[..3],
        [Some((1, 2)), Some((2, 0)), Some((0, 1))]
    );
    assert_eq!(traffic::alone(&nodes, 6)[5], None);
    assert_eq!(traffic::across(&nodes, 6)[0], Some((3, 5)));
}
