//! What nccl-tests' rarer options change about the loop, its buffers and the memory they take.

use super::Engine;
use crate::backend::Registrar;
use crate::base::Bytes;
use crate::base::Fault;
use crate::record::Blocking;
use crate::record::Registration;
use crate::record::Tweaks;

/// Bytes of the widest element.
const WIDEST: u64 = 8;

/// Whether the tweaks and the waits can be had together.
///
/// # Errors
/// `Usage`, naming the options.
pub(super) fn check(tweaks: &Tweaks, blocking: Blocking) -> Result<(), Fault> {
    let (what, option) = match blocking {
        _ if tweaks.graph_launches == 0 => return Ok(()),
        Blocking::Wait => ("waiting for each operation", "-z 2"),
        Blocking::WaitAndBarrier => ("waiting for each operation", "-z 1"),
        Blocking::BarrierOutside => ("waiting for each iteration", "-z 3"),
        Blocking::None if tweaks.per_iteration.is_some() => ("timing each iteration", "-I"),
        Blocking::None => return Ok(()),
    };
    let text = format!("{what} (`{option}`) is impossible in a CUDA graph (`-G`)");
    Err(Fault::usage(text).hint("leave one of the two out"))
}

/// What each buffer needs beyond its capacity: room to be shifted by elements of any datatype.
pub fn padding(tweaks: &Tweaks) -> Bytes {
    Bytes(u64::from(tweaks.unalign_count) * WIDEST)
}

impl Engine<'_> {
    /// What has to be done before anything is measured: registers the buffers. Returns what a reader
    /// must know.
    ///
    /// Every thread of the world makes this call. A fault must end the run at once instead of being
    /// agreed on: others may wait for this thread inside the library.
    ///
    /// # Errors
    /// `Unsupported` where backend or library cannot do what is wished, `Call` where the library fails.
    pub fn prepare(&self, how: Registration) -> Result<Vec<String>, Fault> {
        if self.rules.tweaks.graph_launches > 0 {
            self.graphs()?.ready()?;
        }
        if how.is_none() {
            return Ok(Vec::new());
        }
        let pulse = self.plane.pulse();
        pulse.enter("registering the buffers");
        pulse.work(true);
        let notes = self.registrar()?.register(how);
        pulse.work(false);
        notes
    }

    fn registrar(&self) -> Result<&dyn Registrar, Fault> {
        self.session.registrar().ok_or_else(|| {
            Fault::unsupported("registering buffers (`-R`) is not offered by this backend")
                .hint("run without `-R`")
        })
    }

    /// Free bytes on each lane's device, where that is known.
    ///
    /// # Errors
    /// `Call` where the driver fails.
    pub fn free_memory(&self) -> Result<Vec<Option<Bytes>>, Fault> {
        let lanes = 0..self.lanes.len();
        lanes.map(|lane| self.session.free_memory(lane)).collect()
    }

    /// What making the communicator took on each lane's device, where that is known.
    pub fn initialization_bytes(&self) -> Vec<Option<i64>> {
        let lanes = 0..self.lanes.len();
        lanes
            .map(|lane| self.session.initialization_bytes(lane))
            .collect()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_a_graph_cannot_hold_is_refused_by_its_option() {
        let graph = Tweaks {
            graph_launches: 3,
            ..Tweaks::default()
        };
        let timed = Tweaks {
            per_iteration: Some(0),
            ..graph
        };
        for (tweaks, blocking, option) in [
            (graph, Blocking::WaitAndBarrier, "`-z 1`"),
            (graph, Blocking::Wait, "`-z 2`"),
            (graph, Blocking::BarrierOutside, "`-z 3`"),
            (timed, Blocking::None, "`-I`"),
        ] {
            let fault = check(&tweaks, blocking).unwrap_err();
            assert!(fault.message.contains(option), "{fault}");
        }
        assert!(check(&graph, Blocking::None).is_ok());
        let none = Tweaks {
            graph_launches: 0,
            ..timed
        };
        assert!(check(&none, Blocking::BarrierOutside).is_ok());
    }
}
