//! Moving bytes without a kernel: the copy engines copy, and flags in the order of the streams take
//! the place of the kernels' barriers.
//!
//! The values of the flags are counted on the host, so that such an operation cannot be replayed
//! from a graph.

use super::lane::Lane;
use super::lane::Means;
use super::moves::Moves;
use crate::base::Fault;
use std::sync::atomic::Ordering;

impl Lane {
    /// Enqueues an operation's copies between two barriers.
    pub(super) fn move_by_engine(&self, means: &Means, moves: &Moves) -> Result<(), Fault> {
        if self.recording.get() {
            return Err(Fault::unsupported(
                "algorithm `engine` counts on the host, so that it cannot be replayed from a CUDA graph (`-G`)",
            ));
        }
        if self.is_one_of_several {
            self.driver.set_current(self.home.context)?;
        }
        let done = self.meet(means).and_then(|()| {
            let entries = usize::try_from(moves.entries).unwrap_or(0);
            // Not all ranks turn to the same one first.
            for turn in 0..entries {
                let entry =
                    (turn + usize::try_from(means.ground.team.rank).unwrap_or(0) + 1) % entries;
                let (from, to) = (moves.from[entry], moves.to[entry]);
                if from != to {
                    self.driver.copy(from, to, moves.bytes, self.stream)?;
                }
            }
            self.meet(means)
        });
        done.map_err(|fault| self.placed(fault))
    }

    /// Tells all others that the stream has come here, and lets it wait for them.
    fn meet(&self, means: &Means) -> Result<(), Fault> {
        let (me, world) = (means.ground.team.rank, means.ground.team.world);
        let count = means
            .line
            .engine_count
            .fetch_add(1, Ordering::AcqRel)
            .wrapping_add(1);
        let others = || (0..world).filter(move |rank| *rank != me);
        for rank in others() {
            let flags = means.engine_flags[usize::try_from(rank).unwrap_or(0)];
            self.driver.write_flag(flags + 4 * me, count, self.stream)?;
        }
        for rank in others() {
            let flag = means.line.engine_flags.address + 4 * rank;
            self.driver.await_flag(flag, count, self.stream)?;
        }
        Ok(())
    }
}
