//! Recording what is enqueued on a stream and launching it as a whole, again and again (CUDA graphs).
//!
//! The functions are younger than the driver that everything else needs, so a driver may lack them.

use super::Driver;
use super::Stream;
use crate::base::Fault;
use cudarc::driver::sys::CUgraph;
use cudarc::driver::sys::CUgraphExec;
use cudarc::driver::sys::CUstreamCaptureMode;
use std::ptr::null_mut;

/// What was enqueued on a stream while it was recorded.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Recording(CUgraph);

/// A recording that can be launched.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Executable(CUgraphExec);

impl Driver {
    /// `Ok` where this driver has all that graphs need.
    ///
    /// # Errors
    /// `Unsupported`, naming what is missing and the driver's version.
    pub fn require_graphs(&self) -> Result<(), Fault> {
        let calls = &self.calls;
        let missing = [
            (
                "cuStreamBeginCapture_v2",
                calls.stream_begin_capture.is_none(),
            ),
            ("cuStreamEndCapture", calls.stream_end_capture.is_none()),
            (
                "cuGraphInstantiateWithFlags",
                calls.graph_instantiate.is_none(),
            ),
            ("cuGraphLaunch", calls.graph_launch.is_none()),
            ("cuGraphExecDestroy", calls.graph_exec_destroy.is_none()),
            ("cuGraphDestroy", calls.graph_destroy.is_none()),
        ];
        match missing.iter().find(|(_, missing)| *missing) {
            Some((name, _)) => Err(self.lacks(name)),
            None => Ok(()),
        }
    }

    /// From here on what this thread enqueues on `stream` is recorded and not run. Other threads may
    /// do meanwhile what a recording thread must not, such as allocate: NCCL's do.
    ///
    /// # Source
    /// nccl-tests 2.19.6, `src/common.cu`, `BenchTime`, for the thread-local mode.
    ///
    /// # Errors
    /// `Unsupported` where the driver has no graphs, `Call` where it fails.
    pub fn begin_recording(&self, stream: Stream) -> Result<(), Fault> {
        let Some(call) = self.calls.stream_begin_capture else {
            return Err(self.lacks("cuStreamBeginCapture_v2"));
        };
        let mode = CUstreamCaptureMode::CU_STREAM_CAPTURE_MODE_THREAD_LOCAL;
        // SAFETY: the handle came from `stream`, whose owner keeps it.
        let code = unsafe { call(stream.0, mode) };
        self.check("cuStreamBeginCapture", code)
    }

    /// Ends what [`Driver::begin_recording`] began.
    ///
    /// # Errors
    /// As there; `Call` too where something was done meanwhile that cannot be recorded.
    pub fn end_recording(&self, stream: Stream) -> Result<Recording, Fault> {
        let Some(call) = self.calls.stream_end_capture else {
            return Err(self.lacks("cuStreamEndCapture"));
        };
        let mut graph: CUgraph = null_mut();
        // SAFETY: as above; writes one handle.
        let code = unsafe { call(stream.0, &raw mut graph) };
        self.check("cuStreamEndCapture", code)?;
        Ok(Recording(graph))
    }

    /// Makes a recording launchable.
    ///
    /// # Errors
    /// As [`Driver::begin_recording`].
    pub fn instantiate(&self, recording: Recording) -> Result<Executable, Fault> {
        let Some(call) = self.calls.graph_instantiate else {
            return Err(self.lacks("cuGraphInstantiateWithFlags"));
        };
        let mut executable: CUgraphExec = null_mut();
        // SAFETY: the graph is alive; writes one handle.
        let code = unsafe { call(&raw mut executable, recording.0, 0) };
        self.check("cuGraphInstantiate", code)?;
        Ok(Executable(executable))
    }

    /// Enqueues all that was recorded.
    ///
    /// # Errors
    /// As [`Driver::begin_recording`].
    #[inline]
    pub fn launch_graph(&self, executable: Executable, stream: Stream) -> Result<(), Fault> {
        let Some(call) = self.calls.graph_launch else {
            return Err(self.lacks("cuGraphLaunch"));
        };
        // SAFETY: both handles are alive, as their owner vouches.
        let code = unsafe { call(executable.0, stream.0) };
        self.check("cuGraphLaunch", code)
    }

    /// Destroys what [`Driver::instantiate`] gave.
    ///
    /// # Errors
    /// As [`Driver::begin_recording`].
    pub fn destroy_executable(&self, executable: Executable) -> Result<(), Fault> {
        let Some(call) = self.calls.graph_exec_destroy else {
            return Err(self.lacks("cuGraphExecDestroy"));
        };
        // SAFETY: the owner gives the handle up here.
        let code = unsafe { call(executable.0) };
        self.check("cuGraphExecDestroy", code)
    }

    /// Destroys what [`Driver::end_recording`] gave.
    ///
    /// # Errors
    /// As [`Driver::begin_recording`].
    pub fn destroy_recording(&self, recording: Recording) -> Result<(), Fault> {
        let Some(call) = self.calls.graph_destroy else {
            return Err(self.lacks("cuGraphDestroy"));
        };
        // SAFETY: the owner gives the handle up here.
        let code = unsafe { call(recording.0) };
        self.check("cuGraphDestroy", code)
    }

    #[cold]
    fn lacks(&self, function: &str) -> Fault {
        let found = self.version().map_or_else(
            |_| "an unknown version".to_owned(),
            |version| format!("{}.{}", version / 1000, version % 1000 / 10),
        );
        Fault::unsupported(format!(
            "CUDA graphs need `{function}` (CUDA 11.4), and the driver (`{}`) is for CUDA {found}",
            self.path()
        ))
        .hint("run without `-G`, or update the driver")
    }
}
