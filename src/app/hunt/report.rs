//! What a hunt found, as data: what `--json` prints, and what text and files are made of.

use crate::base::GBps;
use crate::base::Micros;
use crate::cli::By;
use crate::cli::HuntArgs;
use crate::hunt::Met;
use crate::hunt::Verdict;
use crate::hunt::traffic::Node;
use serde::Serialize;
use std::collections::BTreeMap;

/// Raised where a key of the JSON changes its meaning.
const SCHEMA: u32 = 1;

/// What a hunt found.
#[derive(Debug, Clone, PartialEq, Serialize)]
pub(super) struct Report {
    pub(super) schema: u32,
    pub(super) ncclbench: String,
    pub(super) backend: String,
    /// False for a cost model.
    pub(super) measured: bool,
    pub(super) by: &'static str,
    pub(super) size_bytes: u64,
    pub(super) iterations: u32,
    pub(super) seed: u64,
    pub(super) rounds: usize,
    pub(super) wrong: u64,
    /// Named: the slowest first.
    pub(super) culprits: Vec<Culprit>,
    /// The usual bandwidth of a rank's exchange, by class: within a host and between hosts.
    pub(super) usual_gbps: BTreeMap<usize, f64>,
    pub(super) participants: Vec<String>,
    pub(super) pairs: Vec<Pair>,
    pub(super) alone: Vec<Alone>,
    pub(super) halves: Option<Half>,
    pub(super) scale: Vec<Scale>,
    pub(super) groups: Vec<Group>,
}

/// Something slow, with the evidence.
#[derive(Debug, Clone, PartialEq, Serialize)]
pub(super) struct Culprit {
    /// `node`, `rail`, `gpu` or `link`.
    pub(super) kind: &'static str,
    pub(super) name: String,
    /// 1.43 is 43 % slower than usual.
    pub(super) ratio: f64,
    pub(super) evidence: String,
    /// A command that takes the node away; never run by this program.
    pub(super) command: Option<String>,
}

/// The bandwidth of a pair, the median of its measurements.
#[derive(Debug, Clone, PartialEq, Serialize)]
pub(super) struct Pair {
    pub(super) a: usize,
    pub(super) b: usize,
    pub(super) gbps: f64,
    pub(super) times: usize,
}

/// A node by itself: a ring of its ranks.
#[derive(Debug, Clone, PartialEq, Serialize)]
pub(super) struct Alone {
    pub(super) node: String,
    pub(super) gbps: f64,
}

/// The halves of all nodes: rings one after the other, and both at once.
#[derive(Debug, Clone, PartialEq, Serialize)]
pub(super) struct Half {
    pub(super) apart_gbps: [f64; 2],
    pub(super) together_gbps: [f64; 2],
}

/// A ring over the first nodes.
#[derive(Debug, Clone, PartialEq, Serialize)]
pub(super) struct Scale {
    pub(super) nodes: usize,
    /// None where there are not so many nodes, or one node has one rank.
    pub(super) gbps: Option<f64>,
}

/// Pairs inside a group, or between two.
#[derive(Debug, Clone, PartialEq, Serialize)]
pub(super) struct Group {
    pub(super) groups: [String; 2],
    pub(super) pairs: usize,
    pub(super) gbps: Option<f64>,
}

/// What was measured beside the pairs.
type Besides = (Vec<Alone>, Option<Half>, Vec<Scale>, Vec<Group>);

impl Report {
    pub(super) fn new(
        args: &HuntArgs,
        (nodes, seed, rounds, wrong): (&[Node], u64, usize, u64),
        (mets, verdict): (Vec<Met>, &Verdict),
        (alone, halves, scale, groups): Besides,
    ) -> Self {
        let names = Names { by: args.by, nodes };
        let gbps = |us: f64| GBps::of(args.size, Micros(us)).0;
        let usual = verdict.usual_us.iter();
        Self {
            schema: SCHEMA,
            ncclbench: env!("CARGO_PKG_VERSION").to_owned(),
            backend: args.backend.name().to_owned(),
            measured: args.backend.measures(),
            by: names.kind(),
            size_bytes: args.size.0,
            iterations: args.iterations,
            seed,
            rounds,
            wrong,
            culprits: names.culprits(verdict),
            usual_gbps: usual.map(|(class, us)| (*class, gbps(*us))).collect(),
            participants: (0..names.count()).map(|one| names.of(one)).collect(),
            pairs: pairs(mets, gbps),
            alone,
            halves,
            scale,
            groups,
        }
    }

    /// Wrong data before everything; a culprit is a gate that was not met.
    pub(super) fn exit_code(&self) -> u8 {
        match (self.wrong, self.culprits.is_empty()) {
            (0, true) => 0,
            (0, false) => 6,
            _ => 5,
        }
    }
}

/// The median of each pair's measurements.
fn pairs(mets: Vec<Met>, gbps: impl Fn(f64) -> f64) -> Vec<Pair> {
    let mut all: BTreeMap<(usize, usize), Vec<f64>> = BTreeMap::new();
    for met in mets {
        all.entry((met.a, met.b)).or_default().push(met.us);
    }
    let pair = |((a, b), times): ((usize, usize), Vec<f64>)| {
        let middle = crate::base::stats::order::median(&times).unwrap_or_default();
        Pair {
            a,
            b,
            gbps: gbps(middle),
            times: times.len(),
        }
    };
    all.into_iter().map(pair).collect()
}

/// What participants are called.
struct Names<'a> {
    by: By,
    nodes: &'a [Node],
}

impl Names<'_> {
    fn kind(&self) -> &'static str {
        match self.by {
            By::Node => "node",
            By::Rail => "rail",
            By::Gpu => "gpu",
        }
    }

    fn rails(&self) -> usize {
        let rails = self.nodes.iter().map(|node| node.ranks.len());
        rails.max().unwrap_or(1).max(1)
    }

    fn count(&self) -> usize {
        match self.by {
            By::Node => self.nodes.len(),
            By::Rail => self.nodes.len() * self.rails(),
            By::Gpu => self.nodes.iter().map(|node| node.ranks.len()).sum(),
        }
    }

    /// The node that a participant belongs to, and its rail there.
    fn place(&self, one: usize) -> (usize, usize) {
        match self.by {
            By::Node => (one, 0),
            By::Rail => (one / self.rails(), one % self.rails()),
            By::Gpu => {
                let rank = u32::try_from(one).unwrap_or(u32::MAX);
                let find = |node: &Node| node.ranks.iter().position(|mine| *mine == rank);
                let mut nodes = self.nodes.iter().enumerate();
                nodes
                    .find_map(|(at, node)| Some((at, find(node)?)))
                    .unwrap_or_default()
            }
        }
    }

    fn of(&self, one: usize) -> String {
        let (node, rail) = self.place(one);
        let name = &self.nodes[node].name;
        match self.by {
            By::Node => name.clone(),
            By::Rail => format!("{name} rail {rail}"),
            By::Gpu => format!("{name} gpu {rail} (rank {one})"),
        }
    }

    fn culprits(&self, verdict: &Verdict) -> Vec<Culprit> {
        let units = verdict.units.iter().map(|one| {
            let (node, rail) = self.place(one.unit);
            let with = format!("slow with {} of {} partners", one.slow_with, one.partners);
            // a rail that is slow on most nodes is not one node's fault
            let same = verdict
                .units
                .iter()
                .filter(|other| self.place(other.unit).1 == rail);
            let everywhere = self.by == By::Rail && same.count() * 2 > self.nodes.len().max(2);
            let evidence = if everywhere {
                format!("{with}; rail {rail} is slow on most nodes: look at what the rail shares")
            } else {
                with
            };
            Culprit {
                kind: self.kind(),
                name: self.of(one.unit),
                ratio: one.ratio,
                command: (!everywhere).then(|| drain(&self.nodes[node].name, one.ratio)),
                evidence,
            }
        });
        let links = verdict.pairs.iter().map(|one| Culprit {
            kind: "link",
            name: format!("{} – {}", self.of(one.a), self.of(one.b)),
            ratio: one.ratio,
            evidence: format!(
                "slow each of {} times, and neither is slow with others",
                one.times
            ),
            command: None,
        });
        units.chain(links).collect()
    }
}

/// Ready to copy, and never run from here.
fn drain(node: &str, ratio: f64) -> String {
    let percent = (ratio - 1.0) * 100.0;
    format!(
        "scontrol update NodeName={node} State=DRAIN Reason=\"ncclbench hunt: {percent:.0} % slower than its peers\""
    )
}
