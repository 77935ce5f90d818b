//! The only reader of the machine's clocks.

use crate::base::Clock;
use rustix::time::ClockId;
use rustix::time::Timespec;
use rustix::time::clock_gettime;
use std::time::Duration;
use std::time::SystemTime;

/// `CLOCK_MONOTONIC`: comparable between the processes of a host.
#[derive(Debug, Clone, Copy, Default)]
pub struct SystemClock;

impl Clock for SystemClock {
    fn now(&self) -> Duration {
        since_origin(clock_gettime(ClockId::Monotonic))
    }

    fn pause(&self, pause: Duration) {
        std::thread::sleep(pause);
    }
}

impl SystemClock {
    /// The date and time, for records.
    #[expect(
        clippy::disallowed_methods,
        reason = "this is the one place that reads a clock"
    )]
    pub fn wall(self) -> SystemTime {
        SystemTime::now()
    }
}

#[expect(
    clippy::cast_sign_loss,
    reason = "a monotonic clock does not run before its origin"
)]
fn since_origin(time: Timespec) -> Duration {
    Duration::new(time.tv_sec as u64, time.tv_nsec.cast_unsigned() as u32)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn it_moves_forward_by_at_least_the_pause() {
        let clock = SystemClock;
        let before = clock.now();
        clock.pause(Duration::from_millis(2));
        assert!(clock.now() - before >= Duration::from_millis(2));
    }
}
