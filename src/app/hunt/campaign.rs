//! The rounds of a hunt, one after the other; every rank goes through the same and draws the same
//! conclusions.

use super::meet;
use super::report::Alone;
use super::report::Group;
use super::report::Half;
use super::report::Report;
use super::report::Scale;
use crate::base::Fault;
use crate::base::GBps;
use crate::base::Kind;
use crate::base::Micros;
use crate::base::Rank;
use crate::base::stats::order::median;
use crate::base::stats::random::Random;
use crate::bootstrap::Bootstrap;
use crate::bootstrap::PeerInfo;
use crate::bootstrap::Step;
use crate::cli::By;
use crate::cli::HuntArgs;
use crate::cli::Rounds;
use crate::engine::exchange::Exchange;
use crate::engine::exchange::Turns;
use crate::hunt::Limits;
use crate::hunt::Met;
use crate::hunt::Pairs;
use crate::hunt::judge;
use crate::hunt::rounds;
use crate::hunt::score;
use crate::hunt::score::Suspects;
use crate::hunt::traffic;
use crate::hunt::traffic::Move;
use crate::hunt::traffic::Node;

/// Up to so many participants every pair is measured unless something else is asked for.
const MOST_FULL: usize = 64;

/// Random partners of each in a screening.
const SCREENS: usize = 3;

/// A hunt as one rank goes through it.
pub(super) struct Campaign<'a> {
    args: &'a HuntArgs,
    plane: &'a dyn Bootstrap,
    exchange: Exchange<'a>,
    nodes: Vec<Node>,
    /// Node and rail of each rank.
    places: Vec<(usize, usize)>,
    random: Random,
    seed: u64,
    wrong: u64,
    rounds: usize,
}

impl<'a> Campaign<'a> {
    pub(super) fn new(
        args: &'a HuntArgs,
        plane: &'a dyn Bootstrap,
        exchange: Exchange<'a>,
        peers: &[PeerInfo],
        seed: u64,
    ) -> Self {
        let mut identities: Vec<&str> = Vec::new();
        let (mut nodes, mut places): (Vec<Node>, Vec<(usize, usize)>) = (Vec::new(), Vec::new());
        for (rank, peer) in (0u32..).zip(peers) {
            let known = identities.iter().position(|one| *one == peer.identity);
            let at = known.unwrap_or_else(|| {
                identities.push(&peer.identity);
                nodes.push(Node {
                    name: peer.host.clone(),
                    ranks: Vec::new(),
                });
                nodes.len() - 1
            });
            places.push((at, nodes[at].ranks.len()));
            nodes[at].ranks.push(rank);
        }
        // labels tell hosts of one machine apart, and are what a person knows them by
        for (node, identity) in nodes.iter_mut().zip(&identities) {
            if !identity.contains('/') {
                (*identity).clone_into(&mut node.name);
            }
        }
        Self {
            args,
            plane,
            exchange,
            nodes,
            places,
            random: Random::named(seed, "hunt"),
            seed,
            wrong: 0,
            rounds: 0,
        }
    }

    /// Everything, in the order in which it narrows fastest.
    pub(super) fn conduct(&mut self) -> Result<Report, Fault> {
        let n = self.participants();
        if n < 2 {
            let text = "all ranks are on one node, which has no other to exchange with";
            return Err(Fault::new(Kind::Launch, text).hint("`--by gpu` pairs the ranks of a node"));
        }
        let alone = self.alone()?;
        let first = match self.args.rounds {
            Rounds::Screen => rounds::matchings(n, SCREENS, &mut self.random),
            Rounds::Auto if n > MOST_FULL => rounds::matchings(n, SCREENS, &mut self.random),
            _ => rounds::full(n),
        };
        let mut mets = self.measure(&first, false)?;
        let limits = Limits {
            slower: self.args.slower,
            ..Limits::default()
        };
        let suspects = score::suspects(&mets, limits);
        let again = rounds::again(&self.met_by(&suspects), n, &mut self.random);
        mets.extend(self.measure(&again, true)?);
        let verdict = judge(&mets, &suspects, limits);
        let halves = self.halves()?;
        let scale = self.scale()?;
        let groups = self.groups(&mets);
        Ok(Report::new(
            self.args,
            (&self.nodes, self.seed, self.rounds, self.wrong),
            (mets, &verdict),
            (alone, halves, scale, groups),
        ))
    }

    /// Nodes, or ranks: who is paired with whom. Rails are paired as nodes are.
    fn participants(&self) -> usize {
        match self.args.by {
            By::Gpu => self.places.len(),
            By::Node | By::Rail => self.nodes.len(),
        }
    }

    /// Suspects as they are paired: a rail's node for the rail.
    fn met_by(&self, suspects: &Suspects) -> Suspects {
        if self.args.by != By::Rail {
            return suspects.clone();
        }
        let rails = self.rails();
        let mut units: Vec<usize> = suspects.units.iter().map(|unit| unit / rails).collect();
        units.dedup();
        let pairs = suspects.pairs.iter().map(|(a, b)| (a / rails, b / rails));
        let mut pairs: Vec<(usize, usize)> = pairs.filter(|(a, b)| a != b).collect();
        pairs.sort_unstable();
        pairs.dedup();
        Suspects { units, pairs }
    }

    fn rails(&self) -> usize {
        let rails = self.nodes.iter().map(|node| node.ranks.len());
        rails.max().unwrap_or(1).max(1)
    }

    fn measure(&mut self, rounds: &[Pairs], again: bool) -> Result<Vec<Met>, Fault> {
        let mut mets = Vec::new();
        for pairs in rounds {
            let world = self.places.len();
            let moves = match self.args.by {
                By::Gpu => traffic::of_ranks(pairs, world),
                By::Node | By::Rail => traffic::of_nodes(&self.nodes, pairs, world),
            };
            let times = self.round("pairs", &moves)?;
            for &pair in pairs {
                self.take(pair, &times, again, &mut mets);
            }
        }
        Ok(mets)
    }

    /// What a round says of a pair.
    fn take(
        &self,
        (a, b): (usize, usize),
        times: &[Option<f64>],
        again: bool,
        mets: &mut Vec<Met>,
    ) {
        let slower = |left: u32, right: u32| {
            let both = [left, right].map(|rank| times[rank as usize]);
            both.into_iter().flatten().reduce(f64::max)
        };
        let met = |a, b, class, us| Met {
            a,
            b,
            class,
            us,
            again,
        };
        if self.args.by == By::Gpu {
            let class = usize::from(self.places[a].0 != self.places[b].0);
            let number = |rank: usize| u32::try_from(rank).unwrap_or(u32::MAX);
            mets.extend(slower(number(a), number(b)).map(|us| met(a, b, class, us)));
            return;
        }
        let rails = self.nodes[a].ranks.iter().zip(&self.nodes[b].ranks);
        let rails: Vec<Option<f64>> = rails.map(|(left, right)| slower(*left, *right)).collect();
        if self.args.by == By::Node {
            let slowest = rails.into_iter().flatten().reduce(f64::max);
            mets.extend(slowest.map(|us| met(a, b, 0, us)));
            return;
        }
        let count = self.rails();
        for (rail, us) in rails.into_iter().enumerate() {
            mets.extend(us.map(|us| met(a * count + rail, b * count + rail, 0, us)));
        }
    }

    /// One round: the time of each rank that has something to do.
    fn round(&mut self, name: &str, moves: &[Move]) -> Result<Vec<Option<f64>>, Fault> {
        self.rounds += 1;
        let mine = moves[self.plane.member()].map(|(to, from)| (Rank(to), Rank(from)));
        let turns = Turns {
            warmups: self.args.warmups,
            iterations: self.args.iterations,
        };
        let found = self.exchange.run(name, mine, turns)?;
        let found = found.map(|(time, wrong)| (time.0, wrong.wrong));
        let step = Step {
            name: "the times of a round",
            limit: self.args.launch.timeout_init,
        };
        let all = meet(self.plane, step, found)?;
        self.wrong += all.iter().flatten().map(|(_, wrong)| wrong).sum::<u64>();
        Ok(all.into_iter().map(|one| one.map(|(us, _)| us)).collect())
    }

    /// Bandwidth of the slowest of some ranks.
    fn slowest(&self, times: &[Option<f64>], ranks: &[u32]) -> Option<f64> {
        let times = ranks.iter().filter_map(|rank| times[*rank as usize]);
        let us = times.reduce(f64::max)?;
        Some(GBps::of(self.args.size, Micros(us)).0)
    }

    fn alone(&mut self) -> Result<Vec<Alone>, Fault> {
        if self.rails() < 2 {
            return Ok(Vec::new());
        }
        let moves = traffic::alone(&self.nodes, self.places.len());
        let times = self.round("nodes alone", &moves)?;
        let nodes = self.nodes.iter();
        let alone = nodes.filter_map(|node| {
            Some(Alone {
                node: node.name.clone(),
                gbps: self.slowest(&times, &node.ranks)?,
            })
        });
        Ok(alone.collect())
    }

    /// Rings over the first half of the nodes, over the second, and over both at once.
    fn halves(&mut self) -> Result<Option<Half>, Fault> {
        let n = self.nodes.len();
        if n < 4 {
            return Ok(None);
        }
        let (left, right) = self.nodes.split_at(n / 2);
        let (left, right) = (left.to_vec(), right.to_vec());
        let world = self.places.len();
        let (one, two) = (
            traffic::across(&left, world),
            traffic::across(&right, world),
        );
        let both: Vec<Move> = one
            .iter()
            .zip(&two)
            .map(|(one, two)| one.or(*two))
            .collect();
        let ranks = |nodes: &[Node]| -> Vec<u32> {
            nodes.iter().flat_map(|node| node.ranks.clone()).collect()
        };
        let (left, right) = (ranks(&left), ranks(&right));
        let first = self.round("the first half", &one)?;
        let second = self.round("the second half", &two)?;
        let together = self.round("both halves", &both)?;
        let speed = |times: &[Option<f64>], ranks: &[u32]| self.slowest(times, ranks);
        let both = |one: Option<f64>, two: Option<f64>| Some([one?, two?]);
        let apart = both(speed(&first, &left), speed(&second, &right));
        let joined = both(speed(&together, &left), speed(&together, &right));
        Ok(apart.zip(joined).map(|(apart_gbps, together_gbps)| Half {
            apart_gbps,
            together_gbps,
        }))
    }

    fn scale(&mut self) -> Result<Vec<Scale>, Fault> {
        let mut all = Vec::new();
        for count in self.args.scale.clone() {
            let nodes: Vec<Node> = self.nodes.iter().take(count).cloned().collect();
            let world = self.places.len();
            let moves = match nodes.len() {
                1 => traffic::alone(&nodes, world),
                _ => traffic::across(&nodes, world),
            };
            let times = self.round("growing sets", &moves)?;
            let ranks: Vec<u32> = nodes.iter().flat_map(|node| node.ranks.clone()).collect();
            all.push(Scale {
                nodes: count,
                gbps: (nodes.len() == count)
                    .then(|| self.slowest(&times, &ranks))
                    .flatten(),
            });
        }
        Ok(all)
    }

    /// Medians of pairs inside each group and between each two.
    fn groups(&self, mets: &[Met]) -> Vec<Group> {
        let wished = &self.args.groups;
        let unit = match self.args.by {
            By::Node => 1,
            By::Rail => self.rails(),
            By::Gpu => 0,
        };
        let node = |participant: usize| match unit {
            0 => self.places[participant].0,
            rails => participant / rails,
        };
        let group = |participant: usize| {
            let name = &self.nodes[node(participant)].name;
            wished.iter().position(|(_, hosts)| hosts.contains(name))
        };
        let mut all = Vec::new();
        for left in 0..wished.len() {
            for right in left..wished.len() {
                let inside = mets.iter().filter(|met| {
                    let sides = (group(met.a), group(met.b));
                    node(met.a) != node(met.b)
                        && (sides == (Some(left), Some(right))
                            || sides == (Some(right), Some(left)))
                });
                let times: Vec<f64> = inside.map(|met| met.us).collect();
                all.push(Group {
                    groups: [wished[left].0.clone(), wished[right].0.clone()],
                    pairs: times.len(),
                    gbps: median(&times).map(|us| GBps::of(self.args.size, Micros(us)).0),
                });
            }
        }
        all
    }
}
