//! What a session on GPUs has besides its verbs: graphs, events, registration.

use super::lane::Lane;
use super::session::NcclSession;
use crate::backend::Events;
use crate::backend::Extras;
use crate::backend::Graphs;
use crate::backend::Registrar;
use crate::backend::extras::no_mark;
use crate::base::Fault;
use crate::base::FaultContext;
use crate::base::Kind;
use crate::ffi::cuda::Event;
use crate::ffi::cuda::Executable;
use crate::ffi::cuda::Recording;
use crate::ffi::nccl::Registered;
use crate::record::Registration;
use std::cell::RefCell;

/// What was made and must be given back.
#[derive(Debug, Default)]
pub(super) struct Kept {
    /// The recording of each lane, while there is one.
    recorded: RefCell<Vec<(Recording, Executable)>>,
    /// The events of each lane.
    events: RefCell<Vec<Vec<Event>>>,
    /// What is registered, with its lane.
    pub(super) registered: RefCell<Vec<(usize, Registered)>>,
}

impl Extras for NcclSession {
    fn graphs(&self) -> Option<&dyn Graphs> {
        Some(self)
    }

    fn events(&self) -> Option<&dyn Events> {
        Some(self)
    }

    fn registrar(&self) -> Option<&dyn Registrar> {
        Some(self)
    }

    fn initialization_bytes(&self, lane: usize) -> Option<i64> {
        self.initialization(lane)
    }
}

impl NcclSession {
    /// Runs `body` on every lane, with its device current; says where it failed.
    fn on_each<T>(&self, body: impl Fn(&Lane) -> Result<T, Fault>) -> Result<Vec<T>, Fault> {
        self.links().alive()?;
        let on_one = |lane: &Lane| {
            self.tools().driver.set_current(lane.context)?;
            body(lane).map_err(|fault| lane.placed(fault))
        };
        self.lanes().iter().map(on_one).collect()
    }

    /// Gives events and a forgotten recording back. What fails here concerns nobody any more.
    pub(super) fn give_back_kept(&self) {
        drop(self.discard());
        let events = self.kept.events.take();
        for event in events.into_iter().flatten() {
            drop(self.tools().driver.destroy_event(event));
        }
    }
}

impl Graphs for NcclSession {
    fn ready(&self) -> Result<(), Fault> {
        if self.lanes().iter().any(|lane| lane.queue.stream.is_null()) {
            let text = "the null stream (`-y`) cannot be recorded as a CUDA graph (`-G`)";
            return Err(Fault::unsupported(text).hint("run without one of the two"));
        }
        self.tools().driver.require_graphs()
    }

    fn begin(&self) -> Result<(), Fault> {
        let driver = &self.tools().driver;
        self.on_each(|lane| driver.begin_recording(lane.queue.stream))
            .map(drop)
    }

    /// All lanes end before any is made launchable, and all are ended even where one fails: a stream
    /// that is left recording could not be used any more.
    fn end(&self) -> Result<(), Fault> {
        let driver = &self.tools().driver;
        let ended = self.on_each(|lane| Ok(driver.end_recording(lane.queue.stream)))?;
        let ended: Result<Vec<_>, Fault> = ended.into_iter().collect();
        let mut ended = ended
            .while_doing(|| "recording operations as a CUDA graph".to_owned())?
            .into_iter();
        for lane in self.lanes() {
            let Some(recording) = ended.next() else { break };
            driver.set_current(lane.context)?;
            let made = driver.instantiate(recording);
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
            let launched = self
                .tools()
                .driver
                .launch_graph(*executable, lane.queue.stream);
            launched.map_err(|fault| lane.placed(fault))?;
        }
        Ok(())
    }

    fn discard(&self) -> Result<(), Fault> {
        let driver = &self.tools().driver;
        for (recording, executable) in self.kept.recorded.take() {
            driver.destroy_executable(executable)?;
            driver.destroy_recording(recording)?;
        }
        Ok(())
    }
}

impl Events for NcclSession {
    fn prepare(&self, count: usize) -> Result<(), Fault> {
        let driver = &self.tools().driver;
        let mut events = self.kept.events.borrow_mut();
        events.resize(self.lanes().len(), Vec::new());
        for (lane, events) in self.lanes().iter().zip(&mut *events) {
            driver.set_current(lane.context)?;
            while events.len() < count {
                let made = driver.event();
                events.push(made.map_err(|fault| lane.placed(fault))?);
            }
        }
        Ok(())
    }

    fn mark(&self, lane: usize, index: usize) -> Result<(), Fault> {
        let event = self.event(lane, index)?;
        let lane = &self.lanes()[lane];
        let driver = &self.tools().driver;
        let marked = driver.set_current(lane.context);
        let marked = marked.and_then(|()| driver.record_event(event, lane.queue.stream));
        marked.map_err(|fault| lane.placed(fault))
    }

    fn between_us(&self, lane: usize, from: usize, to: usize) -> Result<f64, Fault> {
        let (from, to) = (self.event(lane, from)?, self.event(lane, to)?);
        let elapsed = self.tools().driver.elapsed_ms(from, to);
        let elapsed = elapsed.map_err(|fault| self.lanes()[lane].placed(fault))?;
        Ok(elapsed * 1e3)
    }
}

impl NcclSession {
    fn event(&self, lane: usize, index: usize) -> Result<Event, Fault> {
        let events = self.kept.events.borrow();
        let event = events.get(lane).and_then(|events| events.get(index));
        event.copied().ok_or_else(|| no_mark(index))
    }
}

impl Registrar for NcclSession {
    fn register(&self, how: Registration) -> Result<Vec<String>, Fault> {
        let mut buffers = Vec::new();
        for (index, lane) in self.lanes().iter().enumerate() {
            let all = lane.buffers.iter();
            buffers.extend(all.map(|&memory| (index, (lane.queue.comm, memory))));
        }
        self.links().alive()?;
        let select = |at: usize| {
            let lane = &self.lanes()[buffers_lane(&buffers, at)];
            self.tools().driver.set_current(lane.context)
        };
        let wanted: Vec<_> = buffers.iter().map(|&(_, buffer)| buffer).collect();
        let made = self.tools().nccl.register(how, &wanted, &select);
        let made = made.map_err(|fault| self.lanes()[0].placed(fault))?;
        let not_made = made.iter().filter(|one| !one.is_real()).count();
        let lanes = buffers.iter().map(|&(lane, _)| lane);
        self.kept.registered.borrow_mut().extend(lanes.zip(made));
        Ok(note(how, not_made, wanted.len()))
    }
}

fn buffers_lane<T>(buffers: &[(usize, T)], at: usize) -> usize {
    buffers.get(at).map_or(0, |(lane, _)| *lane)
}

/// What must be said where NCCL accepted buffers and did nothing with them.
fn note(how: Registration, not_made: usize, of: usize) -> Vec<String> {
    if not_made == 0 {
        return Vec::new();
    }
    let what = match how {
        Registration::Symmetric => "symmetric windows (`-R 2`)",
        Registration::None | Registration::Local => "registrations (`-R 1`)",
    };
    vec![format!(
        "NCCL accepted {of} buffers for {what} and made none of {not_made}: they are used unregistered"
    )]
}
