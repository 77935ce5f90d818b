//! The clock as an interface, so that every wait and every measurement can be tested without one.
//!
//! The one implementation that reads the machine's clock is `engine/clock.rs`.

use std::fmt::Debug;
use std::time::Duration;

/// A monotonic clock.
pub trait Clock: Debug + Send + Sync {
    /// Time since an origin that never moves within a boot of the machine.
    ///
    /// On Linux the origin is that of `CLOCK_MONOTONIC`, so that two processes of one host may
    /// compare their readings; two hosts may not.
    fn now(&self) -> Duration;

    /// Gives the processor away for about `pause`; a fake clock moves forward by it instead.
    fn pause(&self, pause: Duration);
}
