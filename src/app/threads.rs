//! The engine threads of a process: started, watched, and left behind if they are stuck.

use super::berths::Berths;
use super::measure::Process;
use super::narrator::Narrator;
use super::worker;
use super::worker::Common;
use super::worker::Tally;
use crate::backend::ThreadSeat;
use crate::base::Fault;
use crate::base::Kind;
use crate::base::Rank;
use crate::bootstrap::Bootstrap;
use crate::bootstrap::threads::ThreadPlane;
use crate::engine::Watch;
use crate::engine::watch::Limits;
use std::sync::Arc;

impl Process<'_> {
    /// Runs every engine thread of this process, the first one on a thread of its own too, so that
    /// all can be left behind if they are stuck.
    pub(super) fn run_threads(
        &self,
        common: &Common<'_>,
        narrator: Option<&mut Narrator<'_>>,
    ) -> Result<Tally, Fault> {
        let lanes = self.lanes();
        let planes: Vec<Arc<dyn Bootstrap>> =
            ThreadPlane::join(self.plane(), common.threads_each, Arc::clone(&self.clock))
                .into_iter()
                .map(|plane| Arc::new(plane) as Arc<dyn Bootstrap>)
                .collect();
        let _watch = self.watch(&planes)?;
        self.call_witness(common.rules.seed);
        let mut narrator = narrator;
        std::thread::scope(|scope| {
            let running: Vec<_> = (0u32..)
                .zip(&planes)
                .map(|(thread, plane)| {
                    let seat = self.thread_seat(common, thread, lanes);
                    let narrator = narrator.take();
                    plane.pulse().drive(gpus(common.berths, &seat));
                    scope.spawn(move || self.work(common, &seat, &**plane, narrator))
                })
                .collect();
            let outcomes: Vec<_> = running.into_iter().map(join_thread).collect();
            outcomes.into_iter().reduce(Result::and).unwrap_or_else(|| {
                Err(Fault::new(
                    Kind::Usage,
                    "a process needs at least one thread",
                ))
            })
        })
    }

    /// One thread's work; a thread that fails tells everybody at once, or they would wait for it.
    fn work(
        &self,
        common: &Common<'_>,
        seat: &ThreadSeat,
        plane: &dyn Bootstrap,
        mut narrator: Option<&mut Narrator<'_>>,
    ) -> Result<Tally, Fault> {
        let done = worker::work(common, seat, plane, narrator.as_deref_mut());
        let done = match (done, narrator) {
            (Ok(tally), Some(narrator)) => narrator.end(&tally).map(|()| tally),
            (done, _) => done,
        };
        done.inspect_err(|fault| {
            let ending = self
                .joined
                .plane
                .fail(fault.clone().at(worker::place(common, seat)));
            self.exit.begin(&ending);
        })
    }

    /// The library under test may know why it hangs.
    fn call_witness(&self, seed: u64) {
        if let Some(witness) = self.args.backend.witness(&self.backend_wish(seed)) {
            self.joined.plane.call_witness(witness);
        }
    }

    fn watch(&self, planes: &[Arc<dyn Bootstrap>]) -> Result<Option<Watch>, Fault> {
        let limits = Limits {
            progress: self.args.timeout_op,
            batch: self.args.timeout_batch,
        };
        if limits == Limits::default() {
            return Ok(None);
        }
        let plane = Arc::clone(&self.joined.plane);
        let exit = self.exit.clone();
        let on_timeout = Box::new(move |fault| exit.begin(&plane.fail(fault)));
        Watch::start(planes, limits, Arc::clone(&self.clock), on_timeout).map(Some)
    }

    fn thread_seat(&self, common: &Common<'_>, thread: u32, lanes: u32) -> ThreadSeat {
        let berths = common.berths;
        let process = self.joined.seat.process;
        let first = process * self.args.threads * self.args.gpus + thread * lanes;
        let ranks: Vec<_> = (first..first + lanes).map(Rank).collect();
        let device = |rank: &Rank| berths.device(*rank).ordinal;
        ThreadSeat {
            world: berths.world(),
            devices: ranks.iter().map(device).collect(),
            ranks,
            host: self.here.host.clone(),
            host_identity: self.here.identity.clone(),
            limit: self.args.timeout_init,
            op_limit: self.args.timeout_op,
            clock: Arc::clone(&self.clock),
            wish: self.backend_wish(common.rules.seed),
        }
    }
}

/// The GPUs of a thread's ranks; none where the devices are not GPUs.
fn gpus(berths: &Berths, seat: &ThreadSeat) -> Vec<u32> {
    let ranks = seat.ranks.iter();
    ranks
        .filter_map(|&rank| worker::gpu(berths, rank))
        .collect()
}

fn join_thread(
    thread: std::thread::ScopedJoinHandle<'_, Result<Tally, Fault>>,
) -> Result<Tally, Fault> {
    thread.join().unwrap_or_else(|_| {
        Err(Fault::new(
            Kind::Call,
            "an engine thread panicked; its message is above",
        ))
    })
}
