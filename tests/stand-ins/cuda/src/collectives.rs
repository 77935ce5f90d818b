//! The kernels of our own collectives: their own source, compiled for the CPU (`tests/kernels`),
//! every block a thread of the operating system.

use crate::{Code, NOT_FOUND, steer};
use ncclbench::ffi::kernels::collective::Module;
use std::ffi::{CStr, CString, c_char, c_int, c_uint, c_void};

unsafe extern "C" {
    fn host_params(module: *const c_char, kernel: *const c_char) -> c_int;
    fn host_launch(
        module: *const c_char,
        kernel: *const c_char,
        params: *const c_void,
        grid: c_uint,
        block: c_uint,
    );
}

/// The module that some PTX is, if it is one of the collectives'.
pub fn module_of(ptx: &str) -> Option<CString> {
    CString::new(Module::of(ptx)?.name()).ok()
}

/// Runs a grid. Blocks have few threads here, because each is a thread of the operating system.
pub fn run(module: &CStr, kernel: &CStr, params: &[u64], grid: u32) -> Result<(), Code> {
    // SAFETY: both names are C strings.
    let bytes = unsafe { host_params(module.as_ptr(), kernel.as_ptr()) };
    if usize::try_from(bytes).ok() != Some(size_of_val(params)) || bytes == 0 {
        return Err(NOT_FOUND);
    }
    let block = steer("STAND_IN_CUDA_THREADS").unwrap_or(1);
    // SAFETY: the parameters are as many as the kernel takes; what they point at is the caller's
    // memory, and a wrong address is the test's own crash.
    unsafe {
        host_launch(
            module.as_ptr(),
            kernel.as_ptr(),
            params.as_ptr().cast(),
            grid,
            block,
        );
    }
    Ok(())
}
