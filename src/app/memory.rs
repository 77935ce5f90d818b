//! What a run's stages take of the devices' memory (nccl-tests' `-M`): asked between them, so that
//! nothing is asked inside a measurement.

use crate::backend::Session;
use crate::base::Bytes;
use crate::base::Fault;
use crate::bootstrap;
use crate::bootstrap::Bootstrap;
use crate::bootstrap::Step;
use crate::engine::Engine;
use crate::record::MemoryUse;
use crate::record::Tweaks;

/// One thread's devices: what is free, and what was taken so far on the one where it was the most.
#[derive(Debug)]
pub(super) struct Gauge {
    free: Vec<Option<Bytes>>,
    taken: MemoryUse,
}

impl Gauge {
    /// After the communicator was made; none where nobody wants to know.
    ///
    /// # Errors
    /// `Unsupported` where that is not known, `Call` where the driver fails, as for all that follow.
    pub(super) fn wished(
        tweaks: &Tweaks,
        session: &dyn Session,
        lanes: usize,
    ) -> Result<Option<Self>, Fault> {
        if !tweaks.memory_report {
            return Ok(None);
        }
        let lanes = 0..lanes;
        let made = lanes.clone().map(|lane| session.initialization_bytes(lane));
        let Some(initialization_bytes) = made.flatten().max() else {
            let text = "a report of the memory taken (`-M`) is not offered by this backend";
            return Err(Fault::unsupported(text).hint("run without `-M`"));
        };
        let free = lanes.map(|lane| session.free_memory(lane));
        Ok(Some(Self {
            free: free.collect::<Result<_, _>>()?,
            taken: MemoryUse {
                initialization_bytes,
                ..MemoryUse::default()
            },
        }))
    }

    /// After the buffers were allocated and registered.
    pub(super) fn buffers(&mut self, engine: &Engine<'_>) -> Result<(), Fault> {
        self.taken.user_bytes = self.step(engine)?;
        Ok(())
    }

    /// After the last operation.
    pub(super) fn operations(&mut self, engine: &Engine<'_>) -> Result<(), Fault> {
        self.taken.collective_bytes = self.step(engine)?;
        Ok(())
    }

    /// What was taken since the last step, on the device where that was the most.
    fn step(&mut self, engine: &Engine<'_>) -> Result<i64, Fault> {
        let now = engine.free_memory()?;
        let signed = |bytes: Bytes| i64::try_from(bytes.0).unwrap_or(i64::MAX);
        let taken = self.free.iter().zip(&now).filter_map(|pair| match pair {
            (Some(before), Some(after)) => Some(signed(*before) - signed(*after)),
            _ => None,
        });
        let most = taken.max().unwrap_or(0);
        self.free = now;
        Ok(most)
    }

    /// The most over all threads of the world, stage by stage.
    ///
    /// # Errors
    /// Those of the control plane.
    pub(super) fn agree(self, plane: &dyn Bootstrap, step: Step<'_>) -> Result<MemoryUse, Fault> {
        let mine = bootstrap::encode(&self.taken)?;
        bootstrap::decode(&plane.decide(step, &mine, &most)?)
    }
}

fn most(said: &[Vec<u8>]) -> Result<Vec<u8>, Fault> {
    let mut most: Option<MemoryUse> = None;
    for bytes in said {
        let theirs: MemoryUse = bootstrap::decode(bytes)?;
        most = Some(most.map_or(theirs, |most| most.max(theirs)));
    }
    bootstrap::encode(&most.unwrap_or_default())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn each_stage_is_the_most_of_all_threads_even_where_all_gave_back() {
        let stage = |initialization_bytes, user_bytes, collective_bytes| MemoryUse {
            initialization_bytes,
            user_bytes,
            collective_bytes,
        };
        let said = [stage(5, 1, -4), stage(2, 3, -9)];
        let said = said.map(|one| bootstrap::encode(&one).unwrap());
        let all: MemoryUse = bootstrap::decode(&most(&said).unwrap()).unwrap();
        assert_eq!(all, stage(5, 3, -4));
    }
}
