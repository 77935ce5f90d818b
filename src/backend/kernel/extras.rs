//! What a session of ours has besides its verbs: graphs and events.

use super::lane::Lane;
use super::session::KernelSession;
use crate::backend::Events;
use crate::backend::Extras;
use crate::backend::Graphs;
use crate::backend::extras::no_mark;
use crate::base::Fault;
use crate::base::FaultContext;
use crate::base::Kind;
use crate::ffi::cuda::Event;
use crate::ffi::cuda::Executable;
use crate::ffi::cuda::Recording;
use std::cell::RefCell;

/// What was made and must be given back.
#[derive(Debug, Default)]
pub(super) struct Kept {
    /// The recording of each lane, while there is one.
    recorded: RefCell<Vec<(Recording, Executable)>>,
    /// The events of each lane.
    events: RefCell<Vec<Vec<Event>>>,
}

impl Extras for KernelSession {
    fn graphs(&self) -> Option<&dyn Graphs> {
        Some(self)
    }

    fn events(&self) -> Option<&dyn Events> {
        Some(self)
    }
}

impl KernelSession {
    /// Runs `body` on every lane, with its device current; says where it failed.
    fn on_each<T>(&self, body: impl Fn(&Lane) -> Result<T, Fault>) -> Result<Vec<T>, Fault> {
        self.links().alive()?;
        let on_one = |lane: &Lane| {
            lane.driver.set_current(lane.home.context)?;
            body(lane).map_err(|fault| lane.placed(fault))
        };
        self.lanes().iter().map(on_one).collect()
    }

    /// Gives events and a forgotten recording back. What fails here concerns nobody any more.
    pub(super) fn give_back_kept(&self) {
        drop(self.discard());
        for event in self.kept.events.take().into_iter().flatten() {
            drop(self.driver().destroy_event(event));
        }
    }

    fn event(&self, lane: usize, index: usize) -> Result<Event, Fault> {
        let events = self.kept.events.borrow();
        let found = events.get(lane).and_then(|events| events.get(index));
        found.copied().ok_or_else(|| no_mark(index))
    }
}

impl Graphs for KernelSession {
    fn ready(&self) -> Result<(), Fault> {
        self.driver().require_graphs()
    }

    fn begin(&self) -> Result<(), Fault> {
        self.on_each(|lane| {
            lane.recording.set(true);
            self.driver().begin_recording(lane.stream)
        })
        .map(drop)
    }

    /// All lanes end before any is made launchable, and all are ended even where one fails: a stream
    /// that is left recording could not be used any more.
    fn end(&self) -> Result<(), Fault> {
        let ended = self.on_each(|lane| {
            lane.recording.set(false);
            Ok(self.driver().end_recording(lane.stream))
        })?;
        let ended: Result<Vec<_>, Fault> = ended.into_iter().collect();
        let ended = ended.while_doing(|| "recording operations as a CUDA graph".to_owned())?;
        for (lane, recording) in self.lanes().iter().zip(ended) {
            lane.driver.set_current(lane.home.context)?;
            let made = lane.driver.instantiate(recording);
            let executable = made.map_err(|fault| lane.placed(fault))?;
            let mut recorded = self.kept.recorded.borrow_mut();
            recorded.push((recording, executable));
        }
        Ok(())
    }

    fn launch(&self) -> Result<(), Fault> {
        self.links().alive()?;
        let recorded = self.kept.recorded.borrow();
        if recorded.len() != self.lanes().len() {
            let text = "nothing was recorded, which is a defect of this program";
            return Err(Fault::new(Kind::Call, text));
        }
        for (lane, (_, executable)) in self.lanes().iter().zip(&*recorded) {
            let launched = lane.driver.launch_graph(*executable, lane.stream);
            launched.map_err(|fault| lane.placed(fault))?;
        }
        Ok(())
    }

    fn discard(&self) -> Result<(), Fault> {
        for (recording, executable) in self.kept.recorded.take() {
            self.driver().destroy_executable(executable)?;
            self.driver().destroy_recording(recording)?;
        }
        Ok(())
    }
}

impl Events for KernelSession {
    fn prepare(&self, count: usize) -> Result<(), Fault> {
        let mut events = self.kept.events.borrow_mut();
        events.resize(self.lanes().len(), Vec::new());
        for (lane, events) in self.lanes().iter().zip(&mut *events) {
            lane.driver.set_current(lane.home.context)?;
            while events.len() < count {
                let made = lane.driver.event();
                events.push(made.map_err(|fault| lane.placed(fault))?);
            }
        }
        Ok(())
    }

    fn mark(&self, lane: usize, index: usize) -> Result<(), Fault> {
        let event = self.event(lane, index)?;
        let lane = &self.lanes()[lane];
        let marked = lane
            .driver
            .set_current(lane.home.context)
            .and_then(|()| lane.driver.record_event(event, lane.stream));
        marked.map_err(|fault| lane.placed(fault))
    }

    fn between_us(&self, lane: usize, from: usize, to: usize) -> Result<f64, Fault> {
        let (from, to) = (self.event(lane, from)?, self.event(lane, to)?);
        let lane = &self.lanes()[lane];
        let elapsed = lane.driver.elapsed_ms(from, to);
        elapsed
            .map(|elapsed| elapsed * 1e3)
            .map_err(|fault| lane.placed(fault))
    }
}
