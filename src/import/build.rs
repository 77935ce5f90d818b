//! From what a text tells of a run to the run's record.
//!
//! What nccl-tests does not print is left out or said in a note; nothing is made up.

use super::ends;
use super::heading::{Draft, Seat, Told};
use super::row::{DataRow, Half};
use super::{About, Complaint};
use crate::base::moment;
use crate::base::sweep::Sweep;
use crate::base::{Bytes, DataType, GBps, Micros, Placement, RedOp, Uneven, World};
use crate::collective;
use crate::collective::Collective;
use crate::record::{Case, Outcome, Quality, Row, Run, Spread};
use std::collections::{BTreeMap, BTreeSet};

/// What makes rows of rows.
struct Builder<'a> {
    what: &'static dyn Collective,
    world: World,
    told: &'a Told,
    started: &'a str,
    issue_time: bool,
    seen: BTreeMap<Key, u32>,
    blocks: BTreeMap<Block, Requests>,
}

type Block = (DataType, Option<RedOp>, Option<u32>);
type Key = (Block, u64);
type Requests = Box<dyn Iterator<Item = Bytes>>;

/// The record of a run.
pub(super) fn run(draft: &Draft, about: &About) -> Result<Run, Complaint> {
    let refuse = |why: &str| Complaint::new(draft.first_line.max(1), why);
    if draft.rows.is_empty() {
        return Err(refuse("a run without a row"));
    }
    let told = draft
        .told
        .clone()
        .ok_or_else(|| refuse("a table without the line `# nThread …` above it"))?;
    let what = collective(draft, about).map_err(|why| refuse(&why))?;
    let world = world(&draft.seats, &told).ok_or_else(|| {
        refuse("a table without the ranks' lines above it, so that their number is not known")
    })?;
    let started = started(draft, about);
    let mut builder = Builder {
        what,
        world,
        told: &told,
        started: &started,
        issue_time: draft.issue_time,
        seen: BTreeMap::new(),
        blocks: BTreeMap::new(),
    };
    let rows = draft
        .rows
        .iter()
        .flat_map(|row| builder.rows(row))
        .collect();
    Ok(Run {
        header: ends::header(draft, &told, what, about, &started),
        rows,
        footer: ends::footer(draft, about),
        torn: None,
    })
}

/// The collective that a log names, else the one that it is said to be.
fn collective(draft: &Draft, about: &About) -> Result<&'static dyn Collective, String> {
    let Some(program) = &draft.program else {
        return about.collective.ok_or_else(|| {
            "a table that does not say which collective it is of; give it with `--collective`"
                .to_owned()
        });
    };
    // programs may have any suffix, usually `_mpi`
    let name = program
        .find("_perf")
        .map_or(program.as_str(), |end| &program[..end]);
    collective::by_name(name).map_err(|fault| fault.message)
}

/// The ranks of the first group. A process's list may end early, and the JSON names only the first
/// rank of each process.
fn world(seats: &[Seat], told: &Told) -> Option<World> {
    let first: Vec<&Seat> = seats.iter().filter(|seat| seat.group == 0).collect();
    let processes: BTreeSet<_> = first.iter().map(|seat| (&seat.host, seat.pid)).collect();
    let is_split = first.len() < seats.len();
    let listed = u32::try_from(first.len()).ok()?;
    let each = told.threads.checked_mul(told.gpus)?;
    let counted = u32::try_from(processes.len()).ok()?.checked_mul(each)?;
    let world = if is_split {
        listed
    } else {
        listed.max(counted)
    };
    (world > 0).then_some(World(world))
}

/// nccl-tests prints local times without their zone.
fn started(draft: &Draft, about: &About) -> String {
    let first = draft.rows.iter().find_map(|row| row.at.clone());
    let told = draft.started.clone().or(first);
    told.and_then(|local| utc(&local))
        .unwrap_or_else(|| about.written.clone())
}

/// `2026-11-29 14:17:39` as if it were UTC; none if it is no such time.
pub(super) fn utc(local: &str) -> Option<String> {
    let (date, time) = local.split_once(' ')?;
    let text = format!("{date}T{time}.000Z");
    moment::local_text(&text, 0).map(|_| text)
}

impl Builder<'_> {
    fn rows(&mut self, row: &DataRow) -> [Row; 2] {
        let requested = self.requested(row);
        let block = (row.dtype, row.redop, row.root);
        let cycle = self.seen.entry((block, requested.0)).or_default();
        let this = *cycle;
        *cycle += 1;
        let [out, into] = &row.halves;
        [(Placement::OutOfPlace, out), (Placement::InPlace, into)].map(|(placement, half)| {
            let case = self.case(row, placement, requested, this);
            Row {
                outcome: self.outcome(half, &case),
                case,
                at: row
                    .at
                    .as_deref()
                    .and_then(utc)
                    .unwrap_or_else(|| self.started.to_owned()),
                quality: Quality::default(),
            }
        })
    }

    /// The size that was asked for: the sweep's, where it leads to the size that is printed.
    fn requested(&mut self, row: &DataRow) -> Bytes {
        let told = self.told;
        let start = || -> Requests {
            let sweep = Sweep::new(Bytes(told.min_bytes), Bytes(told.max_bytes), told.step);
            match sweep {
                Ok(sweep) => Box::new(sweep.sizes()),
                Err(_) => Box::new(std::iter::empty()),
            }
        };
        let block = (row.dtype, row.redop, row.root);
        let sizes = self.blocks.entry(block).or_insert_with(start);
        let next = sizes.next().or_else(|| {
            *sizes = start(); // the next cycle
            sizes.next()
        });
        let leads = |size: &Bytes| {
            let uneven = Uneven::default();
            self.what
                .layout(*size, row.dtype, self.world, &uneven)
                .size
                .0
                == row.size
        };
        next.filter(leads).unwrap_or(Bytes(row.size))
    }

    fn case(&self, row: &DataRow, placement: Placement, requested: Bytes, cycle: u32) -> Case {
        let layout = self
            .what
            .layout(requested, row.dtype, self.world, &Uneven::default());
        Case {
            collective: self.what.name().to_owned(),
            dtype: row.dtype,
            redop: row.redop,
            root: row.root,
            placement,
            requested,
            size: Bytes(row.size),
            count: row.count,
            send_count: layout.send,
            recv_count: layout.recv,
            in_place: layout.in_place,
            checkable: placement == Placement::OutOfPlace || self.what.uses().in_place,
            algo_bytes: layout.algo_bytes,
            bus_factor: self.what.bus_factor(self.world),
            iterations: row.iterations.unwrap_or(self.told.iterations),
            ops_per_batch: self.told.ops_per_batch,
            checks: self.told.checks,
            cycle,
            rank_bytes: Vec::new(),
        }
    }

    /// The table rounds to two decimals, which leaves nothing of a small bandwidth; the time has more.
    /// What is printed counts where the two do not agree.
    fn bandwidths(&self, half: &Half, case: &Case) -> (GBps, GBps) {
        let exact = GBps::of(case.algo_bytes, Micros(half.time_us));
        let near = |printed: f64, exact: f64| (printed - exact).abs() <= 0.005 + 0.01 * printed;
        let bus = exact.0 * case.bus_factor;
        if !self.issue_time && near(half.algbw, exact.0) && near(half.busbw, bus) {
            (exact, GBps(bus))
        } else {
            (GBps(half.algbw), GBps(half.busbw))
        }
    }

    /// One time is known, whichever the run's `average` says; how it spreads over ranks is not.
    fn outcome(&self, half: &Half, case: &Case) -> Outcome {
        let (algbw_gbps, busbw_gbps) = self.bandwidths(half, case);
        let time = Spread {
            mean_us: half.time_us,
            min_us: half.time_us,
            max_us: half.time_us,
            rank0_us: half.time_us,
        };
        Outcome::Measured {
            time_us: Micros(half.time_us),
            time,
            issue: self.issue_time.then_some(time),
            algbw_gbps,
            busbw_gbps,
            wrong: half.wrong,
            wrong_threads: u32::from(half.wrong.is_some_and(|wrong| wrong > 0)),
            unchecked: half
                .wrong
                .is_none()
                .then(|| "nccl-tests printed `N/A`".to_owned()),
            bad: Vec::new(),
            per_iteration: half.per_iteration.clone(),
        }
    }
}
