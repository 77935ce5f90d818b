//! The CUDA driver: one function for each call, with a fault that keeps the driver's own words.
//!
//! It owns nothing: contexts, streams, memory and modules are handles that the caller destroys.
//! Addresses are plain numbers; the session that allocated them keeps every access inside. No
//! function here may be called before [`Driver::load`] returned, and none falls back to anything.

mod board;
mod device;
mod engine;
mod event;
mod graph;
mod memory;
mod module;
mod shared;
mod sys;

pub use board::Board;
pub use event::Event;
pub use graph::Executable;
pub use graph::Recording;
pub use shared::Allocation;

use super::library::Library;
use super::library::text_of;
use crate::base::Env;
use crate::base::Fault;
use crate::base::Kind;
use cudarc::driver::sys::CUcontext;
use cudarc::driver::sys::CUdevice;
use cudarc::driver::sys::CUfunction;
use cudarc::driver::sys::CUmodule;
use cudarc::driver::sys::CUstream;
use std::ffi::CStr;
use std::ffi::c_char;
use std::ptr::null_mut;
use sys::CuResult;
use sys::CudaTable;
use sys::STREAM_NON_BLOCKING;

/// The symbol that our own test libraries carry and a vendor's does not.
pub const STAND_IN_MARK: &CStr = c"ncclbench_stand_in";

/// A device, by the driver's own number for it.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Device(CUdevice);

/// A device's primary context, which NCCL uses too.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Context(CUcontext);

// SAFETY: a context may be current to any thread and to several at once (CUDA driver API, section
// Context Management); the handle is a token that only the driver looks behind.
unsafe impl Send for Context {}
// SAFETY: as above.
unsafe impl Sync for Context {}

/// A stream.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Stream(pub(in crate::ffi) CUstream);

// SAFETY: driver calls on one stream may come from any thread; the driver locks.
unsafe impl Send for Stream {}
// SAFETY: as above.
unsafe impl Sync for Stream {}

impl Stream {
    /// Whether it is the null stream, which is another one on each context.
    pub fn is_null(self) -> bool {
        self.0.is_null()
    }
}

/// A loaded module.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Module(CUmodule);

// SAFETY: the handle is a token that only the driver looks behind, and the driver locks.
unsafe impl Send for Module {}
// SAFETY: as above.
unsafe impl Sync for Module {}

/// A kernel of a loaded module.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Function(CUfunction);

// SAFETY: as for `Module`.
unsafe impl Send for Function {}
// SAFETY: as above.
unsafe impl Sync for Function {}

/// Device memory: an address in the device's space and how many bytes lie behind it.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Memory {
    /// First byte.
    pub address: u64,
    /// Number of bytes.
    pub len: u64,
}

impl Memory {
    /// The first `len` bytes of it.
    #[must_use]
    pub fn cut(self, len: u64) -> Self {
        Self {
            len: len.min(self.len),
            ..self
        }
    }
}

/// The loaded and initialised driver.
#[derive(Debug)]
pub struct Driver {
    calls: CudaTable,
    library: Library,
}

impl Driver {
    /// Loads `libcuda.so.1`, or what `NCCLBENCH_CUDA` names, and initialises it.
    ///
    /// # Errors
    /// `Missing` where there is no driver or no device, `Call` where it does not come up.
    pub fn load(env: &Env) -> Result<Self, Fault> {
        let names = match env.get("NCCLBENCH_CUDA") {
            Some(path) => vec![path],
            None => vec!["libcuda.so.1", "libcuda.so"],
        };
        let library = Library::open("the CUDA driver", &names, c"cuInit").map_err(|fault| {
            fault.hint("install the NVIDIA driver, or use `--backend host` to run without a GPU")
        })?;
        // SAFETY: the signatures are those of `cuda.h`, whose library this is.
        let calls = unsafe { CudaTable::resolve(&library) }?;
        let driver = Self { calls, library };
        driver.initialise()?;
        Ok(driver)
    }

    fn initialise(&self) -> Result<(), Fault> {
        // SAFETY: takes flags, which must be 0.
        let code = unsafe { (self.calls.init)(0) };
        if code == CuResult::NO_DEVICE {
            let fault = self.fault("cuInit", code);
            return Err(Fault {
                kind: Kind::Missing,
                ..fault
            }
            .hint(
                "look at `nvidia-smi -L` and at `CUDA_VISIBLE_DEVICES`, or use `--backend host`",
            ));
        }
        self.check("cuInit", code)
    }

    /// The file it was loaded from.
    pub fn path(&self) -> &str {
        self.library.path()
    }

    /// Whether it is a test fixture of ours.
    pub fn is_stand_in(&self) -> bool {
        self.library.has(STAND_IN_MARK)
    }

    /// The CUDA version that it supports: 12090 is 12.9.
    ///
    /// # Errors
    /// `Call` where the driver fails; so it is for every function below.
    pub fn version(&self) -> Result<i32, Fault> {
        let mut version = 0;
        // SAFETY: writes one int.
        let code = unsafe { (self.calls.driver_get_version)(&raw mut version) };
        self.check("cuDriverGetVersion", code)?;
        Ok(version)
    }

    /// A device's primary context. It stays retained: NCCL's own threads use it to the very end.
    ///
    /// # Errors
    /// `Call` where the driver fails.
    pub fn primary_context(&self, device: Device) -> Result<Context, Fault> {
        let mut context: CUcontext = null_mut();
        // SAFETY: writes one handle.
        let code = unsafe { (self.calls.primary_ctx_retain)(&raw mut context, device.0) };
        self.check("cuDevicePrimaryCtxRetain", code)
            .map_err(|fault| crowded(fault, code))?;
        Ok(Context(context))
    }

    /// Makes a context this thread's; NCCL takes a thread's device from it.
    ///
    /// # Errors
    /// `Call` where the driver fails.
    pub fn set_current(&self, context: Context) -> Result<(), Fault> {
        // SAFETY: the handle came from `primary_context` and is never released.
        let code = unsafe { (self.calls.ctx_set_current)(context.0) };
        self.check("cuCtxSetCurrent", code)
    }

    /// A stream that does not wait for the default one, on the current context.
    ///
    /// # Errors
    /// `Call` where the driver fails.
    pub fn stream(&self) -> Result<Stream, Fault> {
        let mut stream: CUstream = null_mut();
        // SAFETY: writes one handle.
        let code = unsafe { (self.calls.stream_create)(&raw mut stream, STREAM_NON_BLOCKING) };
        self.check("cuStreamCreate", code)?;
        Ok(Stream(stream))
    }

    /// The stream of the current context that waits for all others and that all others wait for.
    pub fn null_stream() -> Stream {
        Stream(null_mut())
    }

    /// Whether everything enqueued on a stream is complete.
    ///
    /// # Errors
    /// `Call` where something enqueued has failed.
    #[inline]
    pub fn is_idle(&self, stream: Stream) -> Result<bool, Fault> {
        // SAFETY: the handle came from `stream`; a destroyed one is refused by its owner.
        let code = unsafe { (self.calls.stream_query)(stream.0) };
        match code {
            CuResult::SUCCESS => Ok(true),
            CuResult::NOT_READY => Ok(false),
            failed => Err(self.fault("cuStreamQuery", failed)),
        }
    }

    /// Destroys a stream; what is enqueued on it still runs.
    ///
    /// # Errors
    /// `Call` where the driver fails.
    pub fn destroy_stream(&self, stream: Stream) -> Result<(), Fault> {
        // SAFETY: the handle came from `stream`, and its owner gives it up here.
        let code = unsafe { (self.calls.stream_destroy)(stream.0) };
        self.check("cuStreamDestroy", code)
    }

    #[inline]
    fn check(&self, call: &'static str, code: CuResult) -> Result<(), Fault> {
        if code == CuResult::SUCCESS {
            return Ok(());
        }
        Err(self.fault(call, code))
    }

    #[cold]
    fn fault(&self, call: &'static str, code: CuResult) -> Fault {
        let name = words(self.calls.get_error_name, code);
        let text = words(self.calls.get_error_string, code);
        let name = name.unwrap_or_else(|| "no name".to_owned());
        let text = text.unwrap_or_else(|| "a code that this driver does not explain".to_owned());
        Fault::new(
            Kind::Call,
            format!("{call} failed: {text} ({name}, {})", code.0),
        )
    }
}

/// A function that a driver may be too old to have.
#[inline]
fn newer<F>(call: &'static str, function: Option<F>) -> Result<F, Fault> {
    function.ok_or_else(|| {
        Fault::unsupported(format!(
            "this driver has no {call}; it came with CUDA 11.8 at the latest"
        ))
    })
}

/// What to do where a context is not to be had because too many processes have one.
///
/// # Source
/// NVIDIA MPS guide, `CUDA_DEVICE_MAX_CONNECTIONS`: every client's connections are taken from the
/// device's own; measured on an H200 under MPS, where 4 processes with 32 each are refused.
#[cold]
fn crowded(fault: Fault, code: CuResult) -> Fault {
    match code {
        CuResult::OUT_OF_MEMORY => fault
            .hint("look at `nvidia-smi` for other processes' memory")
            .hint("under MPS unset `CUDA_DEVICE_MAX_CONNECTIONS`: each process takes so many of the GPU's connections"),
        CuResult::TOO_MANY_CONNECTIONS => fault.hint(
            "unset `CUDA_DEVICE_MAX_CONNECTIONS`, or start fewer processes on this GPU: MPS has no connections left",
        ),
        _ => fault,
    }
}

/// What one of the driver's two functions says about a code.
fn words(
    call: unsafe extern "C" fn(CuResult, *mut *const c_char) -> CuResult,
    code: CuResult,
) -> Option<String> {
    let mut text: *const c_char = std::ptr::null();
    // SAFETY: writes one pointer, null where the code is unknown.
    let answer = unsafe { call(code, &raw mut text) };
    if answer != CuResult::SUCCESS {
        return None;
    }
    // SAFETY: null, or a constant string of the driver.
    unsafe { text_of(text) }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_driver_that_is_not_there_says_how_to_run_without_one() {
        let env = Env::from_iter([("NCCLBENCH_CUDA", "/nowhere/libcuda.so.1")]);
        let fault = Driver::load(&env).unwrap_err();
        assert_eq!(fault.kind, Kind::Missing);
        assert!(
            fault.details[0].contains("/nowhere/libcuda.so.1"),
            "{fault}"
        );
        assert!(fault.hints[0].contains("--backend host"), "{fault}");
    }
}
