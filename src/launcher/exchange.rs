//! A launcher's carrier for one short text, over PMIx, with our own deadlines.
//!
//! PMIx's calls may block for ever when a process is missing, whatever time-out they are given; each
//! is made on a thread that can be left behind.

use super::Meeting;
use crate::base::Fault;
use crate::base::Kind;
use crate::ffi::pmix::Pmix;
use std::sync::Arc;
use std::sync::mpsc;
use std::time::Duration;

const KEY: &str = "ncclbench.place";

/// How long registering may take, and saying goodbye.
const INIT_LIMIT: Duration = Duration::from_secs(30);
const BYE_LIMIT: Duration = Duration::from_secs(2);

/// How long the order to end all processes may take to be given.
pub(super) const ABORT_LIMIT: Duration = Duration::from_secs(1);

/// A registration with a PMIx server, until it is dropped.
#[derive(Debug)]
pub(super) struct Registration(Arc<Pmix>);

/// The meeting of launchers that carry nothing.
#[derive(Debug)]
pub(super) struct NoMeeting;

impl Registration {
    /// Registers this process.
    ///
    /// # Errors
    /// `Missing` without a library, `Call` without a server, `Timeout`.
    pub(super) fn new(library: Option<&str>) -> Result<Self, Fault> {
        let library = library.map(str::to_owned);
        let init = move || Pmix::init(library.as_deref());
        within(INIT_LIMIT, "PMIx_Init", init).map(|pmix| Self(Arc::new(pmix)))
    }

    pub(super) fn pmix(&self) -> &Pmix {
        &self.0
    }
}

impl Meeting for Registration {
    fn publish(&self, text: &str, limit: Duration) -> Result<(), Fault> {
        let (pmix, text) = (Arc::clone(&self.0), text.to_owned());
        within(limit, "PMIx_Fence", move || {
            pmix.put_text(KEY, &text)?;
            pmix.fence()
        })
    }

    fn lookup(&self, limit: Duration) -> Result<String, Fault> {
        let pmix = Arc::clone(&self.0);
        within(limit, "PMIx_Fence", move || {
            pmix.fence()?;
            pmix.get_text(0, KEY)
        })
    }

    fn abort(&self, code: u8, message: &str) {
        let (pmix, message) = (Arc::clone(&self.0), message.to_owned());
        // a server that does not take the order leaves the processes to end by themselves
        drop(within(ABORT_LIMIT, "PMIx_Abort", move || {
            pmix.abort(code.into(), &message)
        }));
    }
}

impl Drop for Registration {
    fn drop(&mut self) {
        let pmix = Arc::clone(&self.0);
        // a process that cannot say goodbye leaves without
        drop(within(BYE_LIMIT, "PMIx_Finalize", move || pmix.finalize()));
    }
}

impl Meeting for NoMeeting {
    fn publish(&self, _text: &str, _limit: Duration) -> Result<(), Fault> {
        Err(carries_nothing())
    }

    fn lookup(&self, _limit: Duration) -> Result<String, Fault> {
        Err(carries_nothing())
    }

    fn abort(&self, _code: u8, _message: &str) {}
}

fn carries_nothing() -> Fault {
    Fault::unsupported("this launcher carries nothing between its processes")
}

/// Makes a call that may block for ever, and waits for `limit`.
pub(super) fn within<T: Send + 'static>(
    limit: Duration,
    call: &str,
    body: impl FnOnce() -> Result<T, Fault> + Send + 'static,
) -> Result<T, Fault> {
    let (done, outcome) = mpsc::channel();
    let thread = std::thread::Builder::new().name("launcher".to_owned());
    let started = thread.spawn(move || drop(done.send(body())));
    if let Err(error) = started {
        return Err(Fault::new(
            Kind::Call,
            format!("cannot start a thread for {call}: {error}"),
        ));
    }
    outcome.recv_timeout(limit).unwrap_or_else(|_| {
        let text = format!("{call} did not come back within {} s", limit.as_secs_f64());
        Err(Fault::new(Kind::Timeout, text).hint("look whether all processes were started"))
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_call_that_does_not_come_back_is_left_behind() {
        let (keep, never) = mpsc::channel::<()>();
        let fault = within(Duration::from_millis(20), "PMIx_Fence", move || {
            never.recv().unwrap_or_default();
            Ok(())
        });
        assert!(
            fault
                .unwrap_err()
                .message
                .starts_with("PMIx_Fence did not come back")
        );
        drop(keep);
    }
}
