//! The control plane of engine threads: joins the threads of every process on top of a plane of processes.
//!
//! The last thread of a process to arrive makes the call of the process; the others wait for it.
//! It adds no connection and no ending of its own: those are the process plane's.

mod pack;

use super::{Bootstrap, Choose, Ending, Groups, Pulse, Step};
use crate::base::{Clock, Fault, Kind};
use pack::pack;
pub(super) use pack::unpack_all;
use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::{Arc, Condvar, Mutex, MutexGuard, PoisonError};
use std::time::Duration;

/// How often a waiting thread looks whether the run has ended.
const LOOK: Duration = Duration::from_millis(10);

/// How long a waiting thread keeps its processor before it sleeps.
const SPIN: Duration = Duration::from_micros(50);

/// How far ahead of the release the common start lies: enough to leave the wait.
const HEAD_START: Duration = Duration::from_micros(20);

/// One engine thread's member of the plane of all threads: member = process · threads + thread.
#[derive(Debug)]
pub struct ThreadPlane {
    shared: Arc<Shared>,
    thread: usize,
}

#[derive(Debug)]
struct Shared {
    inner: Arc<dyn Bootstrap>,
    clock: Arc<dyn Clock>,
    pulses: Vec<Arc<Pulse>>,
    round: Mutex<Round>,
    turned: Condvar,
    /// How many rounds are complete; a copy of `Round::complete` that can be watched without the lock.
    complete: AtomicU64,
}

#[derive(Debug)]
struct Round {
    complete: u64,
    asked: Option<(Verb, String)>,
    slots: Vec<Option<Vec<u8>>>,
    /// What the last complete round gave. All threads have read it before the next can be complete.
    last: Result<Yield, Fault>,
    /// Set when a thread did not come: no later round can be complete.
    broken: Option<Fault>,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Verb {
    Gather,
    Barrier,
    StartLine,
    Decide,
    Agree,
    Group,
}

#[derive(Debug, Clone, Default)]
struct Yield {
    parts: Arc<Vec<Vec<u8>>>,
    /// The plane of a group of processes.
    group: Option<Arc<Shared>>,
    start: Option<Duration>,
}

impl ThreadPlane {
    /// The members of this process's `threads` threads, in order. Every process has as many.
    pub fn join(
        inner: Arc<dyn Bootstrap>,
        threads: usize,
        clock: Arc<dyn Clock>,
    ) -> Vec<ThreadPlane> {
        let pulses: Vec<Arc<Pulse>> = (0..threads).map(|_| Arc::default()).collect();
        inner.pulse().consist_of(pulses.clone());
        let shared = Arc::new(Shared::new(inner, clock, pulses));
        (0..threads)
            .map(|thread| ThreadPlane {
                shared: Arc::clone(&shared),
                thread,
            })
            .collect()
    }

    fn call(&self, verb: Verb, step: Step<'_>, mine: Vec<u8>) -> Result<Yield, Fault> {
        self.call_with(verb, step, mine, &|_| Ok(Vec::new()))
    }

    fn call_with(
        &self,
        verb: Verb,
        step: Step<'_>,
        mine: Vec<u8>,
        choose: Choose<'_>,
    ) -> Result<Yield, Fault> {
        self.pulse().wait(true);
        let given = self.meet(verb, step, mine, choose);
        self.pulse().wait(false);
        given
    }

    fn meet(
        &self,
        verb: Verb,
        step: Step<'_>,
        mine: Vec<u8>,
        choose: Choose<'_>,
    ) -> Result<Yield, Fault> {
        let shared = &*self.shared;
        let mut round = shared.lock();
        if let Some(fault) = round.broken.clone().or_else(|| shared.inner.ended()) {
            return Err(fault);
        }
        let awaited = round.complete + 1;
        round.arrive(self.thread, verb, step.name, mine)?;
        if round.slots.iter().all(Option::is_some) {
            let given: Vec<Vec<u8>> = round.slots.iter_mut().filter_map(Option::take).collect();
            drop(round);
            let outcome = shared.ask(verb, step, &given, choose);
            return shared.turn(outcome);
        }
        drop(round);
        shared.wait(awaited, step)
    }
}

impl Round {
    fn arrive(
        &mut self,
        thread: usize,
        verb: Verb,
        name: &str,
        mine: Vec<u8>,
    ) -> Result<(), Fault> {
        let asked = self.asked.get_or_insert_with(|| (verb, name.to_owned()));
        if asked.0 != verb || asked.1 != name {
            let text = format!(
                "thread {thread} came to `{name}` while others are at `{}`",
                asked.1
            );
            return Err(Fault::new(Kind::Disagree, text));
        }
        self.slots[thread] = Some(mine);
        Ok(())
    }
}

impl Shared {
    fn new(inner: Arc<dyn Bootstrap>, clock: Arc<dyn Clock>, pulses: Vec<Arc<Pulse>>) -> Self {
        Self {
            round: Mutex::new(Round {
                complete: 0,
                asked: None,
                slots: vec![None; pulses.len()],
                last: Ok(Yield::default()),
                broken: None,
            }),
            inner,
            clock,
            pulses,
            turned: Condvar::new(),
            complete: AtomicU64::new(0),
        }
    }

    /// A plane of the same threads, over the group that their process is in.
    fn ask_for_group(&self, step: Step<'_>, given: &[Vec<u8>]) -> Result<Yield, Fault> {
        if given.iter().any(|one| one != &given[0]) {
            let text = "threads of one process want to be in different groups";
            return Err(Fault::new(Kind::Unsupported, text));
        }
        let (color, key) = super::decode(&given[0])?;
        let inner = self.inner.group(step, color, key)?;
        let group = Self::new(inner, Arc::clone(&self.clock), self.pulses.clone());
        Ok(Yield {
            group: Some(Arc::new(group)),
            ..Yield::default()
        })
    }

    fn lock(&self) -> MutexGuard<'_, Round> {
        self.round.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Makes the process's call with what its threads gave.
    fn ask(
        &self,
        verb: Verb,
        step: Step<'_>,
        given: &[Vec<u8>],
        choose: Choose<'_>,
    ) -> Result<Yield, Fault> {
        let parts = match verb {
            Verb::Barrier => self.inner.barrier(step).map(|()| Vec::new())?,
            Verb::StartLine => {
                self.inner.start_line(step)?;
                return Ok(Yield {
                    start: (given.len() > 1).then(|| self.clock.now() + HEAD_START),
                    ..Yield::default()
                });
            }
            Verb::Decide => {
                let threads = given.len();
                let choose = |all: &[Vec<u8>]| choose(&unpack_all(all, threads)?);
                vec![self.inner.decide(step, &pack(given), &choose)?]
            }
            Verb::Agree => {
                let failed = given.iter().find(|said| !said.is_empty());
                let mine = match failed.map(|said| super::decode::<Fault>(said)) {
                    None => Ok(()),
                    Some(Ok(fault) | Err(fault)) => Err(fault),
                };
                self.inner.agree(step, mine)?;
                Vec::new()
            }
            Verb::Group => return self.ask_for_group(step, given),
            Verb::Gather => {
                let theirs = self.inner.all_gather(step, &pack(given))?;
                unpack_all(&theirs, given.len())?
            }
        };
        Ok(Yield {
            parts: Arc::new(parts),
            ..Yield::default()
        })
    }

    /// Ends a round with its outcome.
    fn turn(&self, outcome: Result<Yield, Fault>) -> Result<Yield, Fault> {
        let mut round = self.lock();
        round.asked = None;
        round.last.clone_from(&outcome);
        round.complete += 1;
        self.complete.store(round.complete, Ordering::Release);
        self.turned.notify_all();
        outcome
    }

    /// Waits until round `awaited` is complete.
    fn wait(&self, awaited: u64, step: Step<'_>) -> Result<Yield, Fault> {
        let since = self.clock.now();
        while self.clock.now().saturating_sub(since) < SPIN {
            if self.complete.load(Ordering::Acquire) >= awaited {
                break;
            }
            std::thread::yield_now();
        }
        let mut round = self.lock();
        loop {
            if round.complete >= awaited {
                return round.last.clone();
            }
            if let Some(fault) = round.broken.clone().or_else(|| self.inner.ended()) {
                return Err(fault);
            }
            let waited = self.clock.now().saturating_sub(since);
            if waited >= step.limit
                && let Some(fault) = self.missing(&round, step)
            {
                round.broken = Some(fault.clone());
                self.turned.notify_all();
                return Err(fault);
            }
            round = self
                .turned
                .wait_timeout(round, LOOK)
                .unwrap_or_else(PoisonError::into_inner)
                .0;
        }
    }

    /// Who has not come; `None` when all have and the process's own call is under way, which has
    /// its own deadline.
    fn missing(&self, round: &Round, step: Step<'_>) -> Option<Fault> {
        let absent: Vec<usize> = (0..round.slots.len())
            .filter(|&thread| round.slots[thread].is_none())
            .collect();
        if absent.is_empty() || absent.len() == round.slots.len() {
            return None;
        }
        let came = round.slots.len() - absent.len();
        let text = format!(
            "{came} of {} threads came to `{}` within {} s; missing: {}",
            round.slots.len(),
            step.name,
            step.limit.as_secs_f64(),
            super::peer::rank_list(1, &absent)
        );
        let fault = Fault::new(Kind::Timeout, text);
        Some(absent.iter().fold(fault, |fault, &thread| {
            let doing = self.pulses[thread].read().describe();
            fault.detail(format!("thread {thread}: {doing}"))
        }))
    }
}

impl Groups for ThreadPlane {
    /// By processes: all threads of one pass the same colour and key.
    fn group(&self, step: Step<'_>, color: u64, key: u64) -> Result<Arc<dyn Bootstrap>, Fault> {
        let given = self.call(Verb::Group, step, super::encode(&(color, key))?)?;
        let none = || Fault::new(Kind::Disagree, "no group came of its making");
        Ok(Arc::new(Self {
            shared: given.group.ok_or_else(none)?,
            thread: self.thread,
        }))
    }
}

impl Bootstrap for ThreadPlane {
    fn member(&self) -> usize {
        self.shared.inner.member() * self.shared.pulses.len() + self.thread
    }

    fn members(&self) -> usize {
        self.shared.inner.members() * self.shared.pulses.len()
    }

    fn all_gather(&self, step: Step<'_>, mine: &[u8]) -> Result<Vec<Vec<u8>>, Fault> {
        let all = self.call(Verb::Gather, step, mine.to_vec())?;
        Ok(Arc::unwrap_or_clone(all.parts))
    }

    fn barrier(&self, step: Step<'_>) -> Result<(), Fault> {
        self.call(Verb::Barrier, step, Vec::new()).map(drop)
    }

    fn start_line(&self, step: Step<'_>) -> Result<(), Fault> {
        let start = self.call(Verb::StartLine, step, Vec::new())?.start;
        if let Some(start) = start {
            while self.shared.clock.now() < start {
                std::hint::spin_loop();
            }
        }
        Ok(())
    }

    fn decide(&self, step: Step<'_>, mine: &[u8], choose: Choose<'_>) -> Result<Vec<u8>, Fault> {
        let all = self.call_with(Verb::Decide, step, mine.to_vec(), choose)?;
        Ok(all.parts.first().cloned().unwrap_or_default())
    }

    fn agree(&self, step: Step<'_>, mine: Result<(), Fault>) -> Result<(), Fault> {
        let said = match mine {
            Ok(()) => Vec::new(),
            Err(fault) => super::encode(&fault)?,
        };
        self.call(Verb::Agree, step, said).map(drop)
    }

    fn pulse(&self) -> &Pulse {
        &self.shared.pulses[self.thread]
    }

    fn ended(&self) -> Option<Fault> {
        self.shared.inner.ended()
    }

    fn fail(&self, fault: Fault) -> Ending {
        self.shared.inner.fail(fault)
    }
}

#[cfg(test)]
mod tests;
