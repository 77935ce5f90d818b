//! Ending a session's waits: the kernels' own word for it, and the copy engines' flags.

use crate::backend::Abort;
use crate::base::Fault;
use crate::base::Kind;
use crate::ffi::cuda::Board;
use crate::ffi::cuda::Context;
use crate::ffi::cuda::Driver;
use crate::ffi::cuda::Memory;
use crate::ffi::cuda::Stream;
use crate::ffi::kernels::collective::report;
use std::sync::Arc;
use std::sync::Mutex;
use std::sync::PoisonError;
use std::sync::atomic::AtomicBool;
use std::sync::atomic::AtomicU32;
use std::sync::atomic::Ordering;

/// So far ahead of what a copy engine waits for that it is past it, across the wrap.
const FAR: u32 = 1 << 30;

/// What of a lane another thread needs to end its waits.
#[derive(Debug)]
pub(super) struct Line {
    pub(super) board: Board,
    pub(super) context: Context,
    /// A stream on which nothing ever waits.
    pub(super) rescue: Stream,
    /// The copy engines' flags of this rank, and the last value that was waited for.
    pub(super) engine_flags: Memory,
    pub(super) engine_count: AtomicU32,
}

/// A session's lanes, shared with whoever may abort them.
#[derive(Debug)]
pub(super) struct Links {
    driver: Arc<Driver>,
    lines: Mutex<Vec<Arc<Line>>>,
    aborted: AtomicBool,
}

impl Links {
    pub(super) fn new(driver: Arc<Driver>) -> Arc<Self> {
        Arc::new(Self {
            driver,
            lines: Mutex::default(),
            aborted: AtomicBool::new(false),
        })
    }

    pub(super) fn add(&self, line: Arc<Line>) {
        let mut lines = self.lines.lock().unwrap_or_else(PoisonError::into_inner);
        lines.push(line);
    }

    /// `Ok` as long as nobody has aborted.
    #[inline]
    pub(super) fn alive(&self) -> Result<(), Fault> {
        if self.aborted.load(Ordering::Relaxed) {
            return Err(over());
        }
        Ok(())
    }

    pub(super) fn is_aborted(&self) -> bool {
        self.aborted.load(Ordering::Acquire)
    }
}

#[cold]
fn over() -> Fault {
    Fault::new(
        Kind::Interrupted,
        "the operation was given up because the run has ended elsewhere",
    )
}

/// What ends a session's waits.
#[derive(Debug)]
pub(super) struct Aborter(pub(super) Arc<Links>);

impl Abort for Aborter {
    fn abort(&self) {
        if self.0.aborted.swap(true, Ordering::AcqRel) {
            return;
        }
        let lines = self.0.lines.lock().unwrap_or_else(PoisonError::into_inner);
        for line in lines.iter() {
            line.board.word(report::ABORT).store(1, Ordering::Release);
        }
        let lines: Vec<_> = lines.iter().map(Arc::clone).collect();
        let driver = Arc::clone(&self.0.driver);
        // The driver may be stuck, and this must not be.
        let job = move || lines.iter().for_each(|line| release(&driver, line));
        drop(
            std::thread::Builder::new()
                .name("kernel abort".to_owned())
                .spawn(job),
        );
    }
}

/// Sets the flags that a copy engine waits for. What fails here concerns nobody any more.
fn release(driver: &Driver, line: &Line) {
    let count = line.engine_count.load(Ordering::Acquire);
    if count == 0 {
        return;
    }
    drop(driver.set_current(line.context).and_then(|()| {
        let past = count.wrapping_add(FAR);
        driver.set_words(line.engine_flags, past, line.rescue)
    }));
}

/// The kind of fault that a wait which was given up is.
pub(super) fn given_up(words: [u64; report::WORDS]) -> Fault {
    let [_, _, rank, block, phase, peer, want, seen] = words;
    let phase = match phase {
        1 => "to begin",
        2 => "to finish",
        3 => "to send its data",
        4 => "to send its result",
        _ => "to come halfway",
    };
    Fault::new(
        Kind::Timeout,
        format!(
            "rank {rank} gave up waiting for rank {peer} {phase} (block {block}: wanted tick {want}, saw {seen})"
        ),
    )
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_wait_that_was_given_up_names_who_was_waited_for() {
        let fault = given_up([1, 1, 2, 3, 1, 5, 17, 16]);
        assert_eq!(fault.kind, Kind::Timeout);
        assert!(
            fault
                .message
                .contains("rank 2 gave up waiting for rank 5 to begin"),
            "{fault}"
        );
    }
}
