//! Worlds of engine threads in this process: sessions on the stand-ins, and operations with their checks.

use crate::stand_ins::library;
use crate::trial::{Said, Trial};
use ncclbench::backend::{self, Abort, CommWish, Equipment, Session, ThreadSeat, Wish};
use ncclbench::base::pattern::Recipe;
use ncclbench::base::{Buffer, Bytes, Clock, Env, Fault, Kind, Rank, Span, Uneven, World};
use ncclbench::bootstrap::solo::Solo;
use ncclbench::bootstrap::threads::ThreadPlane;
use ncclbench::bootstrap::{Bootstrap, PeerInfo};
use ncclbench::collective::{Call, Layout};
use ncclbench::engine::SystemClock;
use ncclbench::record::Mismatches;
use std::sync::{Arc, Mutex};
use std::time::Duration;

/// Room for the largest trial: 4099 elements of 8 bytes, 1008 for each of 5 peers.
const CAPACITY: Bytes = Bytes(48 << 10);

/// How long an operation may take before everything is aborted. The child processes' tests wait
/// for it; the others never reach it.
const PATIENCE: Duration = Duration::from_mins(1);
const CHILDS_PATIENCE: Duration = Duration::from_secs(2);

/// What a backend is told, with a stand-in NCCL by its name in the stand-ins' folder.
pub(crate) fn wish(nccl: &str) -> Wish {
    Wish {
        nccl_lib: Some(library(nccl)),
        env: Env::from_iter([("NCCLBENCH_CUDA", library("libcuda.so.1"))]),
        seed: 0,
        kernel: ncclbench::backend::KernelWish::default(),
        comm: backend::CommWish::default(),
    }
}

/// Looks round with the backend under test.
pub(crate) fn probe(wish: &Wish) -> Result<Equipment, Fault> {
    backend::ALL[0].probe(wish)
}

/// A shape of world, and what is special about it.
#[derive(Debug, Clone)]
pub(crate) struct Worlds {
    threads: u32,
    lanes: u32,
    libraries: Vec<&'static str>,
    limit: Duration,
    patience: Duration,
    variables: Vec<(&'static str, &'static str)>,
    comm: CommWish,
}

/// What the threads of a world share.
#[derive(Debug, Default)]
struct Shared {
    aborters: Mutex<Vec<Arc<dyn Abort>>>,
}

impl Shared {
    fn abort(&self) {
        for aborter in self.aborters.lock().unwrap().iter() {
            aborter.abort();
        }
    }
}

impl Worlds {
    pub(crate) fn new(threads: u32, lanes: u32) -> Self {
        Self {
            threads,
            lanes,
            libraries: vec!["libnccl.so.2"],
            limit: PATIENCE,
            patience: PATIENCE,
            variables: Vec::new(),
            comm: CommWish::default(),
        }
    }

    pub(crate) fn library(self, name: &'static str) -> Self {
        Self {
            libraries: vec![name],
            ..self
        }
    }

    pub(crate) fn limit_ms(self, limit: u64) -> Self {
        Self {
            limit: Duration::from_millis(limit),
            ..self
        }
    }

    pub(crate) fn variable(mut self, name: &'static str, value: &'static str) -> Self {
        self.variables.push((name, value));
        self
    }

    /// With another driver than the usual one, by its name in the stand-ins' folder.
    pub(crate) fn driver(mut self, name: &'static str) -> Self {
        let path = library(name).leak();
        self.variables.push(("NCCLBENCH_CUDA", path));
        self
    }

    /// With what the communicator is to be told.
    pub(crate) fn comm(self, comm: CommWish) -> Self {
        Self { comm, ..self }
    }

    fn world(&self) -> World {
        World(self.threads * self.lanes)
    }

    fn seat(&self, thread: u32) -> ThreadSeat {
        let ranks: Vec<_> = (0..self.lanes)
            .map(|lane| thread * self.lanes + lane)
            .collect();
        let mut wish = wish(self.libraries[thread as usize % self.libraries.len()]);
        let all = wish.env.iter().chain(self.variables.iter().copied());
        wish.env = all
            .map(|(name, value)| (name.to_owned(), value.to_owned()))
            .collect();
        wish.comm = self.comm;
        ThreadSeat {
            world: self.world(),
            devices: ranks.clone(),
            ranks: ranks.into_iter().map(Rank).collect(),
            host: "test".to_owned(),
            host_identity: "test".to_owned(),
            limit: self.limit,
            op_limit: None,
            clock: Arc::new(SystemClock),
            wish,
        }
    }

    /// Runs `body` on every thread, with its seat and its place on the control plane.
    pub(crate) fn on_threads<T: Send>(
        &self,
        body: impl Fn(&ThreadSeat, &dyn Bootstrap) -> T + Sync,
    ) -> Vec<T> {
        let solo = Solo::new(PeerInfo {
            host: "test".to_owned(),
            identity: "test".to_owned(),
            pid: 1,
            version: "0".to_owned(),
            ranks: self.world().0,
        });
        let planes =
            ThreadPlane::join(Arc::new(solo), self.threads as usize, Arc::new(SystemClock));
        std::thread::scope(|scope| {
            let started: Vec<_> = planes
                .iter()
                .zip(0..)
                .map(|(plane, thread)| {
                    let (seat, body) = (self.seat(thread), &body);
                    scope.spawn(move || body(&seat, plane))
                })
                .collect();
            started
                .into_iter()
                .map(|thread| thread.join().unwrap())
                .collect()
        })
    }

    /// Opens and closes a session on every thread; the first fault.
    pub(crate) fn open(&self) -> Result<(), Fault> {
        let opened = self.on_threads(|seat, boot| backend::ALL[0].open(seat, boot).map(drop));
        opened.into_iter().collect()
    }

    /// As [`Worlds::open`], with a library for each thread.
    pub(crate) fn open_with(mut self, libraries: &[&'static str]) -> Result<(), Fault> {
        self.libraries = libraries.to_vec();
        self.open()
    }

    /// The fault of asking a lane for too much memory.
    pub(crate) fn alloc_fault(&self, len: u64) -> Fault {
        let faults = self.on_threads(|seat, boot| {
            let mut session = backend::ALL[0].open(seat, boot).unwrap();
            session.alloc(0, Bytes(len)).unwrap_err()
        });
        faults.into_iter().next().unwrap()
    }

    /// Runs every trial on every rank of one communicator.
    pub(crate) fn run(&self, trials: &[Trial]) -> Vec<Said> {
        let shared = Shared::default();
        let said = self.on_threads(|seat, boot| {
            let mut session = backend::ALL[0].open(seat, boot).unwrap();
            shared.aborters.lock().unwrap().push(session.aborter());
            boot.barrier(ncclbench::bootstrap::Step {
                name: "all open",
                limit: seat.limit,
            })
            .unwrap();
            let mut thread = Thread::new(session.as_mut(), seat, &shared, self.patience);
            thread.run_all(trials)
        });
        said.into_iter().flatten().collect()
    }

    /// As [`Worlds::run`], for a child process: impatient, and telling everything on stdout.
    pub(crate) fn run_and_print(self, trials: &[Trial]) {
        let impatient = Self {
            patience: CHILDS_PATIENCE,
            ..self
        };
        for said in impatient.run(trials) {
            said.print();
        }
    }
}

/// One engine thread.
struct Thread<'a> {
    session: &'a mut dyn Session,
    seat: &'a ThreadSeat,
    shared: &'a Shared,
    patience: Duration,
    buffers: Vec<[Buffer; 2]>,
}

impl<'a> Thread<'a> {
    fn new(
        session: &'a mut dyn Session,
        seat: &'a ThreadSeat,
        shared: &'a Shared,
        patience: Duration,
    ) -> Self {
        let buffers = (0..seat.ranks.len())
            .map(|lane| {
                [
                    session.alloc(lane, CAPACITY).unwrap(),
                    session.alloc(lane, CAPACITY).unwrap(),
                ]
            })
            .collect();
        Self {
            session,
            seat,
            shared,
            patience,
            buffers,
        }
    }

    /// Stops at the first fault that is not a waived row.
    fn run_all(&mut self, trials: &[Trial]) -> Vec<Said> {
        let mut all = Vec::new();
        for (index, trial) in trials.iter().enumerate() {
            let native = self.session.ops(0).has_native(trial.collective);
            let results = match self.run(trial, index) {
                Ok(found) => found.into_iter().map(Ok).collect(),
                Err(fault) => vec![Err(fault); self.seat.ranks.len()],
            };
            let over = matches!(&results[0], Err(fault) if fault.kind != Kind::Unsupported);
            for (&rank, result) in self.seat.ranks.iter().zip(results) {
                all.push(Said {
                    rank,
                    trial: index,
                    what: trial.clone(),
                    native,
                    result,
                });
            }
            if over {
                break;
            }
        }
        all
    }

    fn call(&self, lane: usize, trial: &Trial) -> Call {
        let [send, recv] = self.buffers[lane];
        let size = trial.size(self.seat.world);
        Call {
            send: Span::whole(if trial.in_place { recv } else { send }, size),
            recv: Span::whole(recv, size),
            dtype: trial.dtype,
            redop: trial.redop,
            root: None,
            round: 0,
        }
    }

    fn run(&mut self, trial: &Trial, index: usize) -> Result<Vec<Mismatches>, Fault> {
        let world = self.seat.world;
        let recipe = Recipe {
            seed: 0x5eed + index as u64,
            dtype: trial.dtype,
            redop: trial.redop,
            world,
        };
        let lanes = self.seat.ranks.len();
        for lane in 0..lanes {
            let call = self.call(lane, trial);
            self.session.poison(lane, call.recv, &recipe)?;
            self.session.fill(lane, call.send, &recipe)?;
        }
        if trial.run {
            self.launch(trial)?;
        }
        self.drain()?;
        let layout = self.layout(trial);
        (0..lanes)
            .map(|lane| {
                let expect = trial
                    .what()
                    .expected(self.seat.ranks[lane], &layout, world, None);
                let got = self.call(lane, trial).recv;
                let found = self.session.verify(lane, got, &recipe, &expect)?;
                Ok(found.unwrap())
            })
            .collect()
    }

    fn layout(&self, trial: &Trial) -> Layout {
        let world = self.seat.world;
        let size = trial.size(world);
        trial
            .what()
            .layout(size, trial.dtype, world, &Uneven::default())
    }

    fn launch(&self, trial: &Trial) -> Result<(), Fault> {
        let (what, layout) = (trial.what(), self.layout(trial));
        self.session.group(&mut || {
            (0..self.seat.ranks.len()).try_for_each(|lane| {
                what.launch(self.session.ops(lane), &self.call(lane, trial), &layout)
            })
        })
    }

    fn drain(&mut self) -> Result<(), Fault> {
        let start = SystemClock.now();
        while !self.session.poll()? {
            if SystemClock.now().saturating_sub(start) > self.patience {
                self.shared.abort();
            }
            std::thread::yield_now();
        }
        Ok(())
    }
}
