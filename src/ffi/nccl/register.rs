//! Registering buffers with a communicator: each rank's own (2.19 and newer), or all ranks' together
//! as symmetric windows (2.27 and newer).

use super::Comm;
use super::Nccl;
use super::verbs::pointer;
use super::verbs::size;
use crate::base::Fault;
use crate::ffi::cuda::Memory;
use crate::record::Registration;
use std::ffi::c_int;
use std::ffi::c_void;
use std::ptr::null_mut;

/// `NCCL_WIN_COLL_SYMMETRIC`.
///
/// # Source
/// NCCL 2.27.3, `nccl.h`.
const SYMMETRIC: c_int = 1;

/// A registration, which its owner gives up with [`Nccl::deregister`].
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Registered {
    how: Registration,
    handle: *mut c_void,
}

// SAFETY: the handle is a token that only NCCL looks behind; it is used on one thread at a time.
unsafe impl Send for Registered {}

impl Registered {
    /// Whether NCCL did it: where ranks cannot reach each other's memory it accepts a window and makes
    /// none.
    ///
    /// # Source
    /// NCCL 2.27.3, user guide, `ncclCommWindowRegister`.
    pub fn is_real(&self) -> bool {
        !self.handle.is_null()
    }
}

impl Nccl {
    /// `Ok` where the library can register buffers so.
    ///
    /// # Errors
    /// `Unsupported`, naming the missing function and the versions.
    pub fn require_registration(&self, how: Registration) -> Result<(), Fault> {
        let calls = &self.calls;
        let (names, has, since) = match how {
            Registration::None => return Ok(()),
            Registration::Local => (
                ["ncclCommRegister", "ncclCommDeregister"],
                [
                    calls.comm_register.is_some(),
                    calls.comm_deregister.is_some(),
                ],
                "2.19",
            ),
            Registration::Symmetric => (
                ["ncclCommWindowRegister", "ncclCommWindowDeregister"],
                [
                    calls.window_register.is_some(),
                    calls.window_deregister.is_some(),
                ],
                "2.27",
            ),
        };
        let Some(missing) = has.iter().position(|has| !has) else {
            return Ok(());
        };
        let hint = "run without `-R`, or name a newer library with `--nccl-lib`";
        Err(self.lacks(names[missing], since).hint(hint))
    }

    /// Registers buffers from this thread, as one group call. For windows every rank of the world
    /// does so, with as many buffers of the same sizes in the same order.
    ///
    /// `select` is called with an index into `buffers` and makes that one's device current.
    ///
    /// # Errors
    /// `Unsupported` where the library cannot, `Call` where it fails, else `select`'s.
    pub fn register(
        &self,
        how: Registration,
        buffers: &[(Comm, Memory)],
        select: &dyn Fn(usize) -> Result<(), Fault>,
    ) -> Result<Vec<Registered>, Fault> {
        self.require_registration(how)?;
        let mut handles: Vec<*mut c_void> = vec![null_mut(); buffers.len()];
        // The handles stay where they are until the group has closed: NCCL keeps their addresses.
        let slots = handles.as_mut_ptr();
        self.group(call(how), &mut || {
            for (index, &(comm, memory)) in buffers.iter().enumerate() {
                select(index)?;
                // SAFETY: `index` is below the vector's length.
                let slot = unsafe { slots.add(index) };
                self.register_one(how, comm, memory, slot)?;
            }
            Ok(())
        })?;
        let registered = |handle| Registered { how, handle };
        Ok(handles.into_iter().map(registered).collect())
    }

    fn register_one(
        &self,
        how: Registration,
        comm: Comm,
        memory: Memory,
        slot: *mut *mut c_void,
    ) -> Result<(), Fault> {
        let (address, len) = (pointer(memory.address), size(memory.len));
        let calls = &self.calls;
        let code = match (how, calls.comm_register, calls.window_register) {
            // SAFETY: the communicator and the memory are alive, as the session vouches; the slot
            // outlives the group.
            (Registration::Local, Some(register), _) => unsafe {
                register(comm.0, address, len, slot)
            },
            // SAFETY: as above.
            (Registration::Symmetric, _, Some(register)) => unsafe {
                register(comm.0, address, len, slot, SYMMETRIC)
            },
            _ => return Ok(()),
        };
        self.check(call(how), code)
    }

    /// Gives a registration up, with its communicator alive and nothing in flight.
    ///
    /// # Errors
    /// `Call` where the library fails.
    pub fn deregister(&self, comm: Comm, registered: Registered) -> Result<(), Fault> {
        let calls = &self.calls;
        let (name, call) = match registered.how {
            Registration::Symmetric => ("ncclCommWindowDeregister", calls.window_deregister),
            Registration::None | Registration::Local => {
                ("ncclCommDeregister", calls.comm_deregister)
            }
        };
        let Some(call) = call.filter(|_| registered.is_real()) else {
            return Ok(());
        };
        // SAFETY: the owner gives the handle up here; it came from this communicator.
        let code = unsafe { call(comm.0, registered.handle) };
        self.check(name, code)
    }
}

fn call(how: Registration) -> &'static str {
    match how {
        Registration::Symmetric => "ncclCommWindowRegister",
        Registration::None | Registration::Local => "ncclCommRegister",
    }
}
