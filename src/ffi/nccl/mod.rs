//! NCCL: one function for each call, with a fault that keeps the library's own words.
//!
//! Communicators are handles that the caller destroys or aborts; buffers are addresses that the
//! caller vouches for. Communicators are blocking ones, as nccl-tests': on a non-blocking one
//! NCCL starts a thread for every group call (`src/group.cc`, `ncclGroupEndInternal`), which would
//! be timed with the operation. Deadlines are therefore the caller's business.

mod collectives;
mod join;
mod memory;
mod register;
mod sys;
mod verbs;

pub use join::Tuning;
pub use join::UniqueId;
pub use register::Registered;
pub use verbs::Exchange;
pub use verbs::Operator;
pub use verbs::Queue;

use super::cuda::STAND_IN_MARK;
use super::library::Library;
use super::library::text_of;
use crate::base::Fault;
use crate::base::Kind;
use crate::record::LibraryRecord;
use std::ptr::null_mut;
use sys::CommHandle;
use sys::NcclResult;
use sys::NcclTable;

/// The oldest NCCL that the required functions and the configuration's layout are known for.
const OLDEST: i32 = 21800;

/// The loaded library.
#[derive(Debug)]
pub struct Nccl {
    calls: NcclTable,
    library: Library,
    version: i32,
}

/// One rank's communicator.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Comm(CommHandle);

// SAFETY: the handle is a token. NCCL allows its use from any thread, one at a time, and
// `ncclCommAbort` while another thread is inside a call; the session keeps to that.
unsafe impl Send for Comm {}
// SAFETY: as above.
unsafe impl Sync for Comm {}

impl Nccl {
    /// Loads `libnccl.so.2`, or what `explicit` names.
    ///
    /// # Errors
    /// `Missing` where there is none, or one that is too old.
    pub fn load(explicit: Option<&str>) -> Result<Self, Fault> {
        let names = match explicit {
            Some(path) => vec![path],
            None => vec!["libnccl.so.2", "libnccl.so"],
        };
        let library = Library::open("NCCL", &names, c"ncclGetVersion").map_err(|fault| {
            fault.hint("say where it is with `--nccl-lib PATH` or `NCCLBENCH_NCCL`")
        })?;
        // SAFETY: the signatures are those of `nccl.h`, whose library this is.
        let calls = unsafe { NcclTable::resolve(&library) }?;
        let mut version = 0;
        // SAFETY: writes one int.
        let code = unsafe { (calls.get_version)(&raw mut version) };
        let nccl = Self {
            calls,
            library,
            version,
        };
        nccl.check("ncclGetVersion", code)?;
        nccl.refuse_if_too_old()?;
        Ok(nccl)
    }

    fn refuse_if_too_old(&self) -> Result<(), Fault> {
        if self.version >= OLDEST {
            return Ok(());
        }
        let (found, path) = (self.version_text(), self.path());
        Err(Fault::new(
            Kind::Missing,
            format!("NCCL {found} (`{path}`) is too old: 2.18 or newer is needed"),
        )
        .hint("name a newer one with `--nccl-lib PATH` or `NCCLBENCH_NCCL`"))
    }

    /// The file it was loaded from.
    pub fn path(&self) -> &str {
        self.library.path()
    }

    /// Whether it is a test fixture of ours.
    pub fn is_stand_in(&self) -> bool {
        self.library.has(STAND_IN_MARK)
    }

    /// Its version as `ncclGetVersion` gives it: 23007 is 2.30.7.
    pub fn version(&self) -> i32 {
        self.version
    }

    /// Its version as people write it.
    pub fn version_text(&self) -> String {
        version_text(self.version)
    }

    /// What a record says of it.
    pub fn record(&self) -> LibraryRecord {
        LibraryRecord {
            name: "nccl".to_owned(),
            path: self.path().to_owned(),
            version: self.version_text(),
            code: Some(self.version),
            stand_in: self.is_stand_in(),
        }
    }

    /// Whether it has a collective, by our name, as one call: some came with 2.28.
    pub fn has(&self, collective: &str) -> bool {
        match collective {
            "allreduce" | "allgather" | "reducescatter" | "broadcast" | "reduce" => true,
            "alltoall" => self.calls.all_to_all.is_some(),
            "gather" => self.calls.gather.is_some(),
            "scatter" => self.calls.scatter.is_some(),
            _ => false,
        }
    }

    /// Runs `body` between `ncclGroupStart` and `ncclGroupEnd`; `call` names what the group does
    /// in the fault of the closing call.
    ///
    /// # Errors
    /// Those of `body`, else `Call` where closing the group fails.
    pub fn group(
        &self,
        call: &'static str,
        body: &mut dyn FnMut() -> Result<(), Fault>,
    ) -> Result<(), Fault> {
        // SAFETY: takes nothing; the group belongs to this thread and is closed below.
        let code = unsafe { (self.calls.group_start)() };
        self.check("ncclGroupStart", code)?;
        let inside = body();
        // SAFETY: closes the group that was opened above.
        let code = unsafe { (self.calls.group_end)() };
        inside?;
        self.check(call, code)
    }

    /// Asks whether something that was enqueued has failed since.
    ///
    /// # Errors
    /// `Call` with the operation's own code.
    pub fn check_async(&self, comm: Comm) -> Result<(), Fault> {
        let mut state = NcclResult::SUCCESS;
        // SAFETY: the communicator is alive, as its session vouches; writes one code.
        let code = unsafe { (self.calls.comm_get_async_error)(comm.0, &raw mut state) };
        self.check("ncclCommGetAsyncError", code)?;
        if state == NcclResult::IN_PROGRESS {
            return Ok(());
        }
        self.check("an operation that NCCL had accepted", state)
    }

    /// Destroys a communicator after all its operations; waits for the other ranks to do the same.
    ///
    /// # Errors
    /// `Call` where the library fails.
    pub fn destroy(&self, comm: Comm) -> Result<(), Fault> {
        // SAFETY: the owner gives the communicator up here.
        let code = unsafe { (self.calls.comm_destroy)(comm.0) };
        self.check("ncclCommDestroy", code)
    }

    /// Ends a communicator and whatever runs on it; other threads' calls on it return.
    ///
    /// # Errors
    /// `Call` where the library fails.
    pub fn abort(&self, comm: Comm) -> Result<(), Fault> {
        // SAFETY: the owner gives the communicator up here. The one call that another thread may
        // be inside is what NCCL documents this function for.
        let code = unsafe { (self.calls.comm_abort)(comm.0) };
        self.check("ncclCommAbort", code)
    }

    #[inline]
    fn check(&self, call: &str, code: NcclResult) -> Result<(), Fault> {
        if code == NcclResult::SUCCESS {
            return Ok(());
        }
        Err(self.fault(call, code))
    }

    #[cold]
    fn fault(&self, call: &str, code: NcclResult) -> Fault {
        // SAFETY: takes any code and returns a constant string.
        let text = unsafe { text_of((self.calls.get_error_string)(code)) };
        let text = text.unwrap_or_else(|| "a code that this NCCL does not explain".to_owned());
        let message = format!("{call} failed: {text} ({}, {})", code.name(), code.0);
        // SAFETY: a null communicator asks for the process's last message, which NCCL keeps in a
        // buffer that it never frees.
        let last = unsafe { text_of((self.calls.get_last_error)(null_mut())) };
        // what NCCL meets when another rank has left comes of that rank's own fault
        let kind = match code {
            NcclResult::REMOTE_ERROR => Kind::Peer,
            _ => Kind::Call,
        };
        let fault = Fault::new(kind, message);
        let fault = match last {
            Some(last) => fault.detail(format!(
                "NCCL's last message, which may predate this call: {}",
                last.replace('\n', " / ")
            )),
            None => fault,
        };
        fault.hint("run once more with `NCCL_DEBUG=WARN`")
    }
}

/// A version code as people write it.
///
/// # Source
/// NCCL 2.30.7, `nccl.h`, `NCCL_VERSION`: up to 2.8 the minor version has one digit.
fn version_text(code: i32) -> String {
    let thousands = if code < 10_000 { 1_000 } else { 10_000 };
    let (major, rest) = (code / thousands, code % thousands);
    format!("{major}.{}.{}", rest / 100, rest % 100)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn versions_read_as_people_write_them() {
        for (code, text) in [(23007, "2.30.7"), (21805, "2.18.5"), (2708, "2.7.8")] {
            assert_eq!(version_text(code), text);
        }
    }

    #[test]
    fn a_library_that_is_not_there_says_how_to_name_one() {
        let fault = Nccl::load(Some("/nowhere/libnccl.so.2")).unwrap_err();
        assert_eq!(fault.kind, Kind::Missing);
        assert!(
            fault.details[0].contains("/nowhere/libnccl.so.2"),
            "{fault}"
        );
        assert!(fault.hints[0].contains("NCCLBENCH_NCCL"), "{fault}");
    }
}
