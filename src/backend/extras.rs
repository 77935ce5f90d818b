//! What a session may offer beyond running collectives: each a small trait, and none where it does not.

use crate::base::Bytes;
use crate::base::Clock;
use crate::base::Fault;
use crate::record::CtaPolicy;
use crate::record::Registration;
use std::fmt::Debug;
use std::sync::Arc;

/// What a communicator and its queues are told beside the defaults.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub struct CommWish {
    /// How many of a GPU's thread blocks the library may take (`-x`).
    pub cta_policy: Option<CtaPolicy>,
    /// With how many peers a rank exchanges messages, where those are few. It spares resources and
    /// changes no result, so that a backend may leave it at that.
    pub p2p_peers: Option<u32>,
    /// Enqueue on the device's null stream instead of a stream of one's own (`-y`).
    pub null_stream: bool,
}

impl CommWish {
    /// `Ok` where nothing is wished that only some backends can heed.
    ///
    /// # Errors
    /// `Unsupported`, naming the option.
    pub(super) fn require_none(self, backend: &str) -> Result<(), Fault> {
        let (what, option) = match self {
            Self {
                cta_policy: Some(_),
                ..
            } => ("a CTA policy", "-x"),
            Self {
                null_stream: true, ..
            } => ("a null stream", "-y"),
            _ => return Ok(()),
        };
        let text = format!("{what} (`{option}`) means nothing to backend `{backend}`");
        Err(Fault::unsupported(text).hint(format!("run without `{option}`")))
    }
}

/// What a session has besides its verbs; every default says that it has not.
pub trait Extras {
    /// The clock to time with, where it is not the run's: a cost model's.
    fn clock(&self) -> Option<Arc<dyn Clock>> {
        None
    }

    /// Recording operations and launching them as a whole.
    fn graphs(&self) -> Option<&dyn Graphs> {
        None
    }

    /// Marks in the lanes' queues.
    fn events(&self) -> Option<&dyn Events> {
        None
    }

    /// Registering buffers with the communicator.
    fn registrar(&self) -> Option<&dyn Registrar> {
        None
    }

    /// Device memory that making the communicator took on a lane, where that is known.
    fn initialization_bytes(&self, _lane: usize) -> Option<i64> {
        None
    }
}

/// Recording what is enqueued and launching it as a whole, again and again. One recording at a time.
pub trait Graphs: Debug {
    /// Whether it can be done with what is loaded here.
    ///
    /// # Errors
    /// `Unsupported`, naming what is missing.
    fn ready(&self) -> Result<(), Fault>;

    /// From here on what this thread enqueues on any lane is recorded and not run. Nothing may be
    /// waited for until [`Graphs::end`].
    ///
    /// # Errors
    /// `Call` where the driver fails, as for all that follow.
    fn begin(&self) -> Result<(), Fault>;

    /// Ends the recording and makes it launchable.
    ///
    /// # Errors
    /// `Call` too where something was done meanwhile that cannot be recorded.
    fn end(&self) -> Result<(), Fault>;

    /// Enqueues everything that was recorded, on every lane. Does not wait and does not allocate.
    ///
    /// # Errors
    /// `Call` where the driver fails.
    fn launch(&self) -> Result<(), Fault>;

    /// Forgets what was recorded, once nothing of it is in flight.
    ///
    /// # Errors
    /// `Call` where the driver fails.
    fn discard(&self) -> Result<(), Fault>;
}

/// Marks in a lane's queue, whose distances in time the device itself measures.
pub trait Events: Debug {
    /// Sees to it that each lane has at least `count` marks, numbered from 0.
    ///
    /// # Errors
    /// `Call` where the driver fails, as for all that follow.
    fn prepare(&self, count: usize) -> Result<(), Fault>;

    /// Puts a mark behind everything enqueued on its lane so far; one that was used is used anew.
    /// Does not wait and does not allocate.
    ///
    /// # Errors
    /// `Call` where the driver fails or there is no such mark.
    fn mark(&self, lane: usize, index: usize) -> Result<(), Fault>;

    /// From one mark of a lane to a later one in µs, once everything enqueued there is complete.
    ///
    /// # Errors
    /// `Call` where one of them was not passed.
    fn between_us(&self, lane: usize, from: usize, to: usize) -> Result<f64, Fault>;
}

/// Registering buffers with the communicator, so that the library may use them as they are.
pub trait Registrar: Debug {
    /// Registers every buffer that the session has allocated; they are deregistered with the session.
    /// Every thread of the world makes this call, with buffers of the same sizes. Returns what a
    /// reader of the record must know.
    ///
    /// # Errors
    /// `Unsupported` where the library cannot, `Call` where it fails.
    fn register(&self, how: Registration) -> Result<Vec<String>, Fault>;
}

/// Marks for backends whose operations are complete when their calls return: the host's clock at
/// that moment is all there is to know.
#[derive(Debug)]
pub(super) struct ClockMarks {
    clock: Arc<dyn Clock>,
    moments: std::cell::RefCell<Vec<Option<std::time::Duration>>>,
}

impl ClockMarks {
    pub(super) fn new(clock: Arc<dyn Clock>) -> Self {
        Self {
            clock,
            moments: std::cell::RefCell::default(),
        }
    }
}

/// A session with such marks drives one lane.
impl Events for ClockMarks {
    fn prepare(&self, count: usize) -> Result<(), Fault> {
        let mut moments = self.moments.borrow_mut();
        if moments.len() < count {
            moments.resize(count, None);
        }
        Ok(())
    }

    fn mark(&self, _lane: usize, index: usize) -> Result<(), Fault> {
        match self.moments.borrow_mut().get_mut(index) {
            Some(moment) => {
                *moment = Some(self.clock.now());
                Ok(())
            }
            None => Err(no_mark(index)),
        }
    }

    fn between_us(&self, _lane: usize, from: usize, to: usize) -> Result<f64, Fault> {
        let moments = self.moments.borrow();
        let moment = |index: usize| moments.get(index).copied().flatten();
        match (moment(from), moment(to)) {
            (Some(from), Some(to)) => Ok(to.saturating_sub(from).as_secs_f64() * 1e6),
            (None, _) => Err(no_mark(from)),
            (_, None) => Err(no_mark(to)),
        }
    }
}

/// A mark that was not prepared, or not passed.
#[cold]
pub(super) fn no_mark(index: usize) -> Fault {
    let text = format!("mark {index} is not there, which is a defect of this program");
    Fault::new(crate::base::Kind::Call, text)
}

/// What `free` bytes before and after make of memory taken; negative where some was given back.
pub(super) fn taken(before: Bytes, after: Bytes) -> i64 {
    let signed = |bytes: Bytes| i64::try_from(bytes.0).unwrap_or(i64::MAX);
    signed(before) - signed(after)
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::time::Duration;

    /// A clock that is a millisecond later each time.
    #[derive(Debug, Default)]
    struct Ticking(std::sync::atomic::AtomicU64);

    impl Clock for Ticking {
        fn now(&self) -> Duration {
            Duration::from_millis(self.0.fetch_add(1, std::sync::atomic::Ordering::Relaxed))
        }

        fn pause(&self, _: Duration) {}
    }

    #[test]
    fn marks_by_the_clock_are_as_far_apart_as_the_clock_says_and_none_is_made_up() {
        let marks = ClockMarks::new(Arc::new(Ticking::default()));
        marks.prepare(3).unwrap();
        for index in 0..2 {
            marks.mark(0, index).unwrap();
        }
        assert!((marks.between_us(0, 0, 1).unwrap() - 1000.0).abs() < 1e-9);
        assert!(marks.between_us(0, 1, 2).is_err());
        assert!(marks.mark(0, 3).is_err());
    }

    #[test]
    fn a_wish_that_a_backend_cannot_heed_is_refused_by_its_option() {
        let policy = CommWish {
            cta_policy: Some(CtaPolicy::Zero),
            ..CommWish::default()
        };
        let stream = CommWish {
            null_stream: true,
            ..CommWish::default()
        };
        for (wish, option) in [(policy, "`-x`"), (stream, "`-y`")] {
            let fault = wish.require_none("host").unwrap_err();
            assert!(fault.message.contains(option) && fault.message.contains("`host`"));
        }
        let hint_only = CommWish {
            p2p_peers: Some(2),
            ..CommWish::default()
        };
        assert!(hint_only.require_none("host").is_ok());
    }

    #[test]
    fn memory_that_was_given_back_was_taken_negatively() {
        assert_eq!(taken(Bytes(10), Bytes(3)), 7);
        assert_eq!(taken(Bytes(3), Bytes(10)), -7);
    }
}
