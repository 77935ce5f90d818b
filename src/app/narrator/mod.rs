//! What the first thread of the world tells: the header, each row as it comes, and the footer.

mod sweep;

use super::book::Book;
use super::fleet::Fleet;
use super::groups::Groups;
use super::memory_limit::Limit;
use super::output::Files;
use super::sweep::Earlier;
use super::worker::Common;
use super::worker::Tally;
use crate::base::Env;
use crate::base::Fault;
use crate::base::World;
use crate::base::counted;
use crate::base::moment;
use crate::base::pattern::Exactness;
use crate::base::pattern::exactness;
use crate::cli::SweepArgs;
use crate::collective::Operator;
use crate::digest;
use crate::digest::Average;
use crate::engine::Measured;
use crate::engine::SystemClock;
use crate::launcher::ProcessSeat;
use crate::plan;
use crate::plan::PlanSpec;
use crate::record::Case;
use crate::record::Conditions;
use crate::record::Header;
use crate::record::PathRecord;
use crate::record::Release;
use crate::record::Row;
use crate::record::Settings;
use crate::record::path::LogFacts;
use std::collections::BTreeMap;
use std::path::PathBuf;
use std::sync::Arc;
use std::time::Duration;
use std::time::UNIX_EPOCH;

/// What the header says that is known before a session is open.
#[derive(Debug)]
pub(super) struct Facts<'a> {
    pub(super) args: Vec<String>,
    /// The program that the table names.
    pub(super) program: String,
    /// Whose first and last lines the table has, where it is not the newest release of nccl-tests.
    pub(super) table_release: Option<Release>,
    pub(super) env: &'a Env,
    pub(super) fleet: Fleet,
    /// The groups that the processes form, where they form several.
    pub(super) groups: Option<Groups>,
    pub(super) launch: &'a ProcessSeat,
    pub(super) wished: Vec<PlanSpec>,
    /// What a sweep is told; none of a plain measurement.
    pub(super) sweep: Option<&'a SweepArgs>,
    pub(super) measured: bool,
    pub(super) average: Average,
    pub(super) timestamps: bool,
    pub(super) seed: u64,
    pub(super) notes: Vec<String>,
}

impl Facts<'_> {
    /// The number of ranks that work together: those of the first group.
    fn world(&self) -> World {
        let first = self.groups.as_ref().map(|groups| groups.world(0));
        first.unwrap_or_else(|| self.fleet.world())
    }
}

/// The teller: its facts, where it writes, and what it has counted.
pub(super) struct Narrator<'a> {
    facts: Facts<'a>,
    book: Arc<Book>,
    started: Duration,
    init_ms: BTreeMap<String, f64>,
    /// The interrupted run that this one goes on with.
    earlier: Option<Earlier>,
    /// The header, once it is told.
    header: Option<Header>,
    /// The run's file in the store.
    file: Option<PathBuf>,
    /// Rows of a sweep, and how many of them belong to steps that have been judged.
    rows: Vec<Row>,
    rows_judged: usize,
    /// The devices' state when it was last asked for.
    conditions: Option<Conditions>,
    nccl_log: Option<LogFacts>,
}

impl<'a> Narrator<'a> {
    /// Opens what is written to.
    ///
    /// # Errors
    /// `Output` if a file cannot be created.
    pub(super) fn new(facts: Facts<'a>, files: Files<'_>) -> Result<Self, Fault> {
        Ok(Self {
            facts,
            book: Arc::new(Book::open(files)?),
            started: now(),
            init_ms: BTreeMap::new(),
            earlier: None,
            header: None,
            file: None,
            rows: Vec::new(),
            rows_judged: 0,
            conditions: None,
            nccl_log: None,
        })
    }

    /// What it writes in, for whoever must close it.
    pub(super) fn book(&self) -> Arc<Book> {
        Arc::clone(&self.book)
    }

    /// Keeps how long a step of initialisation took.
    pub(super) fn took(&mut self, step: &str, time: Duration) {
        self.init_ms
            .insert(step.to_owned(), time.as_secs_f64() * 1e3);
    }

    /// Keeps in which state the devices are: before the header it is the header's, later the footer's.
    pub(super) fn conditions(&mut self, conditions: Option<Conditions>) {
        if self.header.is_some() {
            self.book.conditions(conditions);
        } else {
            self.conditions = conditions;
        }
    }

    /// Keeps what NCCL's log has said.
    pub(super) fn seen(&mut self, log: Option<LogFacts>) {
        self.nccl_log = log;
    }

    /// Keeps which way the bytes went, for the footer.
    pub(super) fn path(&self, record: Option<PathRecord>) {
        self.book.path(record);
    }

    /// Writes the header; says on stderr what a person must know before the first row.
    /// `call` is how the library runs what is measured.
    pub(super) fn begin(
        &mut self,
        parts: &[PlanSpec],
        limit: Limit,
        call: &str,
    ) -> Result<(), Fault> {
        let wished = plan::max_bytes_of(&self.facts.wished);
        let clamped = limit.0.filter(|limit| *limit < wished);
        if let Some(limit) = clamped {
            super::say(&format!(
                "warning: sizes above {} B are left out: the free memory allows no larger buffers",
                limit.0
            ));
        }
        super::say(&self.opening(parts, call));
        if parts.iter().any(|part| part.checks == 0) {
            super::say("note: results are not checked (`-c 0`)");
        }
        self.find_earlier()?;
        let world = self.facts.world();
        let inexact = parts.iter().filter_map(|part| inexact(part, world));
        self.facts.notes.extend(inexact);
        self.facts.notes.dedup();
        for note in &self.facts.notes {
            super::say(&format!("note: {note}"));
        }
        let header = Header {
            call: Some(call.to_owned()),
            ..self.header(parts, clamped.map(|limit| limit.0))
        };
        self.write(header)
    }

    /// Keeps what a reader must know that was found while preparing.
    pub(super) fn note(&mut self, notes: Vec<String>) {
        self.facts.notes.extend(notes);
    }

    pub(super) fn row(&mut self, row: &Row) -> Result<(), Fault> {
        if self.facts.sweep.is_some() {
            self.rows.push(row.clone());
        }
        self.book.row(row)
    }

    /// Writes the footer of a run that came to its end.
    pub(super) fn end(&self, tally: &Tally) -> Result<(), Fault> {
        if let Some(floor) = tally.floor.filter(|floor| !floor.met) {
            super::say(&format!(
                "gate: the mean busbw, {:.3} GB/s, is below {:.3} GB/s, nine tenths of `NCCL_TESTS_MIN_BW`",
                tally.figures.average_busbw_gbps(),
                floor.floor_gbps
            ));
        }
        self.book.end(tally)
    }

    /// Who runs what, where and how it was started: what nccl-tests' own first lines have no room for.
    fn opening(&self, parts: &[PlanSpec], call: &str) -> String {
        let Facts { fleet, launch, .. } = &self.facts;
        let card = &fleet.cards[0];
        let libraries: Vec<_> = card
            .libraries
            .iter()
            .map(|library| {
                let kind = if library.stand_in { " (stand-in)" } else { "" };
                format!(
                    ", {} {}{kind} from {}",
                    library.name, library.version, library.path
                )
            })
            .collect();
        let groups = self
            .facts
            .groups
            .as_ref()
            .map_or_else(String::new, |groups| {
                format!(", in {}", counted(groups.count(), "group", "groups"))
            });
        format!(
            "ncclbench {}: {} ({call}) on backend {}{}; {} in {} on {}{}; seed {}; launcher {} ({})",
            card.version,
            plan::names_of(parts),
            card.backend,
            libraries.concat(),
            counted(fleet.world().0, "rank", "ranks"),
            counted(launch.processes, "process", "processes"),
            counted(fleet.hosts(), "host", "hosts"),
            groups,
            self.facts.seed,
            launch.launcher,
            launch.reason
        )
    }

    fn header(&self, parts: &[PlanSpec], clamped_to_bytes: Option<u64>) -> Header {
        let Facts { fleet, launch, .. } = &self.facts;
        let card = &fleet.cards[0];
        Header {
            schema: crate::record::SCHEMA,
            ncclbench: card.version.clone(),
            started: moment::rfc3339(self.started),
            utc_offset_s: crate::cli::environment::utc_offset_s(self.started),
            args: self.facts.args.clone(),
            collective: plan::names_of(parts),
            backend: card.backend.clone(),
            call: None,
            measured: self.facts.measured,
            stand_in: card.libraries.iter().any(|library| library.stand_in),
            launcher: launch.launcher.to_owned(),
            launcher_reason: launch.reason.clone(),
            shape: [launch.processes, card.shape.threads, card.shape.gpus],
            settings: Settings {
                program: self.facts.program.clone(),
                table_release: self.facts.table_release,
                ..plan::settings_of(&self.facts.wished, self.facts.timestamps)
            },
            seed: Some(self.facts.seed),
            average: self.facts.average.name().to_owned(),
            libraries: card.libraries.clone(),
            seats: fleet.seats.clone(),
            groups: self
                .facts
                .groups
                .as_ref()
                .map(Groups::by_rank)
                .unwrap_or_default(),
            environment: super::allow_list::of(self.facts.env),
            plan: plan::digest_of(parts, self.facts.world()),
            clamped_to_bytes,
            notes: self.facts.notes.clone(),
            nccl_log: self.nccl_log.clone(),
            init_ms: self.init_ms.clone(),
            sweep: self.sweep_record(),
            conditions: self.conditions.clone(),
        }
    }
}

/// The kinds whose results are compared to the nearest value and not to the bit, because the route by which a
/// library rounds them is not known.
fn inexact(spec: &PlanSpec, world: World) -> Option<String> {
    if spec.collective.uses().redop != Operator::Applied || spec.checks == 0 {
        return None;
    }
    let kinds: Vec<String> = spec
        .dtypes
        .iter()
        .flat_map(|&dtype| spec.redops.iter().map(move |&redop| (dtype, redop)))
        .filter_map(|(dtype, redop)| match exactness(dtype, redop, world) {
            Exactness::Exact => None,
            Exactness::Within(1) => Some(format!("{dtype} {redop}")),
            Exactness::Within(units) => Some(format!("{dtype} {redop} ({units} units)")),
        })
        .collect();
    let text = "checked to one unit in the last place and not to the bit";
    (!kinds.is_empty()).then(|| format!("{text}, over {world} ranks: {}", kinds.join(", ")))
}

/// The row of what the engine gave; the same on every thread.
pub(super) fn row(case: Case, measured: Measured, common: &Common<'_>) -> Row {
    let at = moment::rfc3339(now());
    match measured {
        Measured::Timed(sample, found) => {
            let skipped = common.parts[0].tweaks.per_iteration.unwrap_or(0);
            let series = &sample.iterations_us;
            let iterations = digest::iterations::of(series, skipped, common.threads_each);
            digest::row(case, &sample, found, common.average, at).with_iterations(iterations)
        }
        Measured::Waived(reason) => digest::waived(case, reason, at),
    }
}

pub(super) fn now() -> Duration {
    SystemClock
        .wall()
        .duration_since(UNIX_EPOCH)
        .unwrap_or_default()
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::base::Bytes;
    use crate::base::DataType;
    use crate::base::RedOp;
    use crate::base::sweep::Step;
    use crate::base::sweep::Sweep;
    use crate::collective;
    use crate::record::Blocking;
    use crate::record::Tweaks;

    #[test]
    fn averages_that_cannot_be_predicted_to_the_bit_are_named() {
        let spec = PlanSpec {
            collective: collective::by_name("allreduce").unwrap(),
            dtypes: vec![DataType::Float, DataType::Int32],
            redops: vec![RedOp::Sum, RedOp::Avg],
            roots: crate::plan::Roots::One(crate::base::Rank(0)),
            uneven: crate::base::Uneven::default(),
            rank_bytes: false,
            sweep: Sweep::new(Bytes(8), Bytes(8), Step::Factor(2)).unwrap(),
            list: Vec::new(),
            placements: crate::base::Placement::ALL.to_vec(),
            effort: crate::plan::Effort::default(),
            iterations: 1,
            ops_per_batch: 1,
            warmup: 0,
            checks: 1,
            blocking: Blocking::None,
            cycles: 1,
            tweaks: Tweaks::default(),
        };
        assert_eq!(inexact(&spec, World(8)), None);
        let note = inexact(&spec, World(41)).unwrap();
        assert!(note.ends_with("over 41 ranks: float avg"), "{note}");
    }
}
