//! Operations that are recorded once and launched as a whole (nccl-tests' `-G`).
//!
//! # Source
//! nccl-tests 2.19.6, `src/common.cu`, `BenchTime`: all n×m operations in one graph for each GPU, a
//! barrier, the clock, the graph k times, poll to completion, the clock; time / (n·m·k). There is no
//! launch before the timed ones, so that preparing the graph on the device is part of the first.

use super::Engine;
use super::batch::Timing;
use crate::backend::Graphs;
use crate::base::Fault;
use crate::plan::Job;

impl Engine<'_> {
    /// Times `launches` launches of a recording of the whole timed loop.
    pub(super) fn time_graph(&mut self, job: &Job, launches: u32) -> Result<Timing, Fault> {
        self.record(|engine| {
            (0..job.case.iterations).try_for_each(|iteration| engine.iterate(job, iteration))
        })?;
        self.plane.start_line(self.step("the start line"))?;
        let start = self.clock.now();
        let graphs = self.graphs()?;
        for _ in 0..launches {
            graphs.launch()?;
        }
        let issue = self.since(start);
        self.drain()?;
        let total = self.since(start);
        self.graphs()?.discard()?;
        Ok(Timing {
            total,
            issue,
            waited: std::time::Duration::ZERO,
        })
    }

    /// One operation at the start of the buffers, by the way that is measured, waited for.
    pub(super) fn run_once(&mut self, job: &Job) -> Result<(), Fault> {
        if self.rules.tweaks.graph_launches == 0 {
            self.enqueue_once(job)?;
            return self.drain();
        }
        self.record(|engine| engine.enqueue_once(job))?;
        self.graphs()?.launch()?;
        self.drain()?;
        self.graphs()?.discard()
    }

    /// Records what `body` enqueues. The recording is ended whatever happens in it, because a queue
    /// that is left recording cannot even be waited for.
    fn record(&mut self, body: impl FnOnce(&mut Self) -> Result<(), Fault>) -> Result<(), Fault> {
        self.graphs()?.begin()?;
        let enqueued = body(self);
        let ended = self.graphs()?.end();
        enqueued.and(ended)
    }

    pub(super) fn graphs(&self) -> Result<&dyn Graphs, Fault> {
        self.session.graphs().ok_or_else(|| {
            Fault::unsupported("CUDA graphs (`-G`) are not offered by this backend")
                .hint("run without `-G`")
        })
    }
}
