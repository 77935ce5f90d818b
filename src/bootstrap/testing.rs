//! What the tests of this room share: a clock that runs, a process that says who it is.

use super::{Bootstrap, PeerInfo};
use crate::base::Clock;
use std::sync::Arc;
use std::time::{Duration, Instant};

#[derive(Debug)]
struct Running(Instant);

impl Clock for Running {
    fn now(&self) -> Duration {
        self.0.elapsed()
    }

    fn pause(&self, pause: Duration) {
        std::thread::park_timeout(pause);
    }
}

/// A clock that runs; sockets and condition variables cannot be waited for with one that does not.
#[expect(
    clippy::disallowed_methods,
    reason = "the engine's clock stands above this room"
)]
pub(super) fn clock() -> Arc<dyn Clock> {
    Arc::new(Running(Instant::now()))
}

/// Process `member` of a host with one rank for each process.
pub(super) fn peer(member: u32) -> PeerInfo {
    PeerInfo {
        host: "node1".to_owned(),
        identity: "node1/boot/1".to_owned(),
        pid: 1000 + member,
        version: "1.2.3".to_owned(),
        ranks: 1,
    }
}

/// Runs `body` with every member, each on a thread; a panic of one is a panic.
#[expect(
    clippy::needless_pass_by_value,
    reason = "members are dropped when all are done, so that none is taken for dead before"
)]
pub(super) fn each<P: Bootstrap>(planes: Vec<P>, body: impl Fn(&P) + Sync) {
    std::thread::scope(|scope| {
        for plane in &planes {
            scope.spawn(|| body(plane));
        }
    });
}
