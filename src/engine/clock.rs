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

fn since_origin(time: Timespec) -> Duration {
    let part = |value: i64| u64::try_from(value).unwrap_or(0);
    Duration::from_secs(part(time.tv_sec)) + Duration::from_nanos(part(time.tv_nsec))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn it_moves_forward_by_at_least_the_pause() {
        let clock = SystemClock;
        let before = clock.now();
        clock.pause(Duration::from_millis(2));
        assert!(clock.now().saturating_sub(before) >= Duration::from_millis(2));
    }
}
