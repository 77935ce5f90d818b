//! A world of one process: nobody to talk to.

use super::finish::Finish;
use super::witness::Stand;
use super::{
    Bootstrap, EndHook, Ending, Groups, PeerInfo, ProcessPlane, Pulse, Step, Witness, arrivals,
    peer,
};
use crate::base::{Fault, Kind};
use std::sync::Arc;

/// The control plane of a single process.
#[derive(Debug)]
pub struct Solo(Arc<Shared>);

#[derive(Debug)]
struct Shared {
    peers: [PeerInfo; 1],
    pulse: Pulse,
    finish: Finish,
    stand: Stand,
}

impl Solo {
    /// A world that holds only this process.
    pub fn new(me: PeerInfo) -> Self {
        Self(Arc::new(Shared {
            peers: [me],
            pulse: Pulse::default(),
            finish: Finish::default(),
            stand: Stand::default(),
        }))
    }
}

impl Solo {
    /// Adds what each thread is doing, and what the witness says.
    fn hold_inquest(&self, fault: Fault) -> Fault {
        let seats = arrivals::seats(&self.0.peers, &[Some(self.0.pulse.read_each())], &[false]);
        let fault = fault.at(peer::place(&self.0.peers[0], 0));
        let fault = arrivals::add_table(arrivals::accuse(fault, &seats), &seats);
        let said = self.0.stand.take().map(|witness| witness.ask());
        said.unwrap_or_default()
            .into_iter()
            .fold(fault, Fault::detail)
    }
}

impl Groups for Solo {
    fn group(&self, _step: Step<'_>, _color: u64, _key: u64) -> Result<Arc<dyn Bootstrap>, Fault> {
        Ok(Arc::new(Self(Arc::clone(&self.0))))
    }
}

impl Bootstrap for Solo {
    fn member(&self) -> usize {
        0
    }

    fn members(&self) -> usize {
        1
    }

    fn all_gather(&self, _step: Step<'_>, mine: &[u8]) -> Result<Vec<Vec<u8>>, Fault> {
        match self.ended() {
            Some(fault) => Err(fault),
            None => Ok(vec![mine.to_vec()]),
        }
    }

    fn pulse(&self) -> &Pulse {
        &self.0.pulse
    }

    fn ended(&self) -> Option<Fault> {
        self.0.finish.fault()
    }

    fn fail(&self, fault: Fault) -> Ending {
        if let Some(ending) = self.0.finish.get() {
            return ending;
        }
        let fault = match fault.kind {
            Kind::Timeout => self.hold_inquest(fault),
            _ => fault,
        };
        self.0.finish.end(Ending::by(fault))
    }
}

impl ProcessPlane for Solo {
    fn peers(&self) -> &[PeerInfo] {
        &self.0.peers
    }

    fn place(&self) -> Option<&str> {
        None
    }

    fn on_end(&self, hook: EndHook) {
        self.0.finish.on_end(hook);
    }

    fn call_witness(&self, witness: Witness) {
        self.0.stand.call(witness);
    }

    fn leave(&self) {}
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::sync::mpsc;
    use std::time::Duration;

    const STEP: Step<'_> = Step {
        name: "a step",
        limit: Duration::from_secs(1),
    };

    fn solo() -> Solo {
        Solo::new(PeerInfo {
            host: "a".to_owned(),
            identity: "a".to_owned(),
            pid: 1,
            version: "0".to_owned(),
            ranks: 1,
        })
    }

    #[test]
    fn a_world_of_one_gets_its_own_bytes() {
        assert_eq!(solo().all_gather(STEP, b"x").unwrap(), [b"x"]);
        let solo: &dyn Bootstrap = &solo();
        assert_eq!(solo.broadcast(STEP, b"x").unwrap(), b"x");
    }

    #[test]
    fn the_first_fault_is_the_ending_and_is_told_to_hooks_set_before_and_after() {
        let plane = solo();
        let (tell, told) = mpsc::channel();
        let again = tell.clone();
        plane.on_end(Box::new(move |ending| tell.send(ending.exit_code).unwrap()));
        let ending = plane.fail(Fault::new(Kind::Call, "broken"));
        assert_eq!(plane.fail(Fault::usage("late")), ending);
        plane.on_end(Box::new(move |ending| {
            again.send(ending.exit_code).unwrap();
        }));
        assert_eq!((told.recv(), told.recv()), (Ok(3), Ok(3)));
        assert_eq!(plane.barrier(STEP), Err(ending.fault));
    }
}
