//! Events: marks in a stream whose distance in time the device measures.

use super::Driver;
use super::Stream;
use crate::base::Fault;
use cudarc::driver::sys::CUevent;
use std::ptr::null_mut;

/// A mark. It belongs to the context that was current when it was made.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Event(CUevent);

impl Driver {
    /// An event that can be timed, on the current context.
    ///
    /// # Errors
    /// `Call` where the driver fails.
    pub fn event(&self) -> Result<Event, Fault> {
        let mut event: CUevent = null_mut();
        // SAFETY: writes one handle; 0 is `CU_EVENT_DEFAULT`, which times.
        let code = unsafe { (self.calls.event_create)(&raw mut event, 0) };
        self.check("cuEventCreate", code)?;
        Ok(Event(event))
    }

    /// Puts the event behind everything enqueued on a stream of its own context so far.
    ///
    /// # Errors
    /// `Call` where the driver fails.
    #[inline]
    pub fn record_event(&self, event: Event, stream: Stream) -> Result<(), Fault> {
        // SAFETY: both handles are alive, as their owner vouches.
        let code = unsafe { (self.calls.event_record)(event.0, stream.0) };
        self.check("cuEventRecord", code)
    }

    /// Milliseconds from one event to a later one, both of which the device has passed.
    ///
    /// # Units
    /// About half a microsecond of resolution.
    ///
    /// # Errors
    /// `Call` where one of them was not recorded or not passed yet.
    pub fn elapsed_ms(&self, from: Event, to: Event) -> Result<f64, Fault> {
        let mut elapsed = 0f32;
        // SAFETY: both handles are alive; writes one number.
        let code = unsafe { (self.calls.event_elapsed_time)(&raw mut elapsed, from.0, to.0) };
        self.check("cuEventElapsedTime", code)?;
        Ok(f64::from(elapsed))
    }

    /// Destroys an event.
    ///
    /// # Errors
    /// `Call` where the driver fails.
    pub fn destroy_event(&self, event: Event) -> Result<(), Fault> {
        // SAFETY: the owner gives the handle up here.
        let code = unsafe { (self.calls.event_destroy)(event.0) };
        self.check("cuEventDestroy", code)
    }
}
