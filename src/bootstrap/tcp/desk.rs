//! Where a process's engine thread waits for what its service thread brings.
//!
//! Holds what has been delivered; does not talk to anybody.

use super::message::Release;
use crate::base::{Clock, Fault, Kind};
use crate::bootstrap::finish::Finish;
use crate::bootstrap::witness::Stand;
use crate::bootstrap::{Ending, PeerInfo};
use std::collections::BTreeMap;
use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::{Arc, Condvar, Mutex, MutexGuard, PoisonError};
use std::time::Duration;

/// How long a waiting thread keeps its processor before it sleeps: releases come in tens of
/// microseconds, and falling asleep costs as much.
const SPIN: Duration = Duration::from_micros(50);

/// How long a thread sleeps before it looks at the clock again.
const LOOK: Duration = Duration::from_millis(50);

/// What has been delivered to a process.
#[derive(Debug)]
pub(super) struct Desk {
    pub(super) finish: Finish,
    pub(super) stand: Stand,
    clock: Arc<dyn Clock>,
    trays: Mutex<Trays>,
    turned: Condvar,
    /// Rises with every delivery; can be watched without the lock.
    deliveries: AtomicU64,
}

#[derive(Debug, Default)]
struct Trays {
    peers: Option<Vec<PeerInfo>>,
    /// The last release of each group; 0 is the whole world.
    releases: BTreeMap<u64, Release>,
    leaving: bool,
    closed: bool,
}

impl Desk {
    pub(super) fn new(clock: Arc<dyn Clock>) -> Self {
        Self {
            finish: Finish::default(),
            stand: Stand::default(),
            clock,
            trays: Mutex::default(),
            turned: Condvar::new(),
            deliveries: AtomicU64::new(0),
        }
    }

    fn lock(&self) -> MutexGuard<'_, Trays> {
        self.trays.lock().unwrap_or_else(PoisonError::into_inner)
    }

    fn deliver(&self, put: impl FnOnce(&mut Trays)) {
        let mut trays = self.lock();
        put(&mut trays);
        self.deliveries.fetch_add(1, Ordering::Release);
        drop(trays);
        self.turned.notify_all();
    }

    /// All have met.
    pub(super) fn put_peers(&self, peers: Vec<PeerInfo>) {
        self.deliver(|trays| trays.peers = Some(peers));
    }

    /// All have come to a step.
    pub(super) fn put_release(&self, release: Release) {
        self.deliver(|trays| drop(trays.releases.insert(release.group, release)));
    }

    /// The run has ended.
    pub(super) fn put_ending(&self, ending: Ending) {
        self.finish.end(ending);
        self.deliver(|_| {});
    }

    /// Nothing more will be delivered.
    pub(super) fn put_closed(&self) {
        self.deliver(|trays| trays.closed = true);
    }

    /// From now on a closed connection is no death.
    pub(super) fn set_leaving(&self) {
        self.lock().leaving = true;
    }

    pub(super) fn is_leaving(&self) -> bool {
        self.lock().leaving
    }

    /// Who all are, once all have met. `None`: not within `limit`.
    pub(super) fn await_peers(&self, limit: Duration) -> Result<Option<Vec<PeerInfo>>, Fault> {
        self.wait(limit, |trays| trays.peers.clone())
    }

    /// The release of step `sequence` of a group. `None`: not within `limit`.
    pub(super) fn await_release(
        &self,
        (group, sequence): (u64, u64),
        limit: Duration,
    ) -> Result<Option<Release>, Fault> {
        self.wait(limit, |trays| {
            let release = trays.releases.get(&group)?;
            if release.sequence < sequence {
                return None;
            }
            trays.releases.remove(&group)
        })
    }

    /// The run's ending. `None`: not within `limit`.
    pub(super) fn await_ending(&self, limit: Duration) -> Option<Ending> {
        // an ending is what this wait is for, so that it comes as the error side
        drop(self.wait(limit, |trays| trays.closed.then_some(())));
        self.finish.get()
    }

    /// Waits until nothing more will be delivered, or for `limit`.
    pub(super) fn await_closed(&self, limit: Duration) {
        // an ending in between is as good
        drop(self.wait(limit, |trays| trays.closed.then_some(())));
    }

    /// Waits until `look` finds something, the run ends, or `limit` has passed.
    fn wait<T>(
        &self,
        limit: Duration,
        look: impl Fn(&mut Trays) -> Option<T>,
    ) -> Result<Option<T>, Fault> {
        let since = self.clock.now();
        let waited = || self.clock.now().saturating_sub(since);
        loop {
            let seen = self.deliveries.load(Ordering::Acquire);
            if let Some(found) = look(&mut self.lock()) {
                return Ok(Some(found));
            }
            if let Some(fault) = self.finish.fault() {
                return Err(fault);
            }
            if waited() >= limit {
                return Ok(None);
            }
            self.sleep(seen, limit.saturating_sub(waited()));
        }
    }

    /// Returns when something has been delivered since `seen` was read, or after a while.
    fn sleep(&self, seen: u64, limit: Duration) {
        let since = self.clock.now();
        while self.clock.now().saturating_sub(since) < SPIN {
            if self.deliveries.load(Ordering::Acquire) != seen {
                return;
            }
            std::thread::yield_now();
        }
        let trays = self.lock();
        if self.deliveries.load(Ordering::Acquire) == seen {
            let woken = self.turned.wait_timeout(trays, LOOK.min(limit));
            drop(woken);
        }
    }
}

/// The fault of a wait that the hub should have ended.
pub(super) fn no_answer(what: &str, limit: Duration) -> Fault {
    let text = format!(
        "rank 0 did not answer within {} s: {what}",
        limit.as_secs_f64()
    );
    Fault::new(Kind::Timeout, text)
}
