//! The CUDA driver's functions and result codes as `cuda.h` gives them; nothing is called here.
//!
//! Handles, attributes and options are cudarc's types, which are generated from the header and so
//! cannot drift from it. They are used as arguments only. Result codes are our own newtype:
//! cudarc's `CUresult` is a Rust enum, and a code that a newer driver returns would be undefined
//! behaviour. cudarc's functions are not used either, because its loader panics where the library
//! or a symbol is missing.

use crate::ffi::library::foreign_table;
use cudarc::driver::sys::CUcontext;
use cudarc::driver::sys::CUdevice;
use cudarc::driver::sys::CUdevice_attribute;
use cudarc::driver::sys::CUdeviceptr;
use cudarc::driver::sys::CUevent;
use cudarc::driver::sys::CUfunction;
use cudarc::driver::sys::CUgraph;
use cudarc::driver::sys::CUgraphExec;
use cudarc::driver::sys::CUjit_option;
use cudarc::driver::sys::CUmodule;
use cudarc::driver::sys::CUstream;
use cudarc::driver::sys::CUstreamCaptureMode;
use cudarc::driver::sys::CUuuid;
use std::ffi::c_char;
use std::ffi::c_int;
use std::ffi::c_uchar;
use std::ffi::c_uint;
use std::ffi::c_ulonglong;
use std::ffi::c_void;

/// What a driver call returns.
#[repr(transparent)]
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(in crate::ffi) struct CuResult(pub(in crate::ffi) c_int);

impl CuResult {
    /// `CUDA_SUCCESS`.
    pub(in crate::ffi) const SUCCESS: Self = Self(0);
    /// `CUDA_ERROR_NO_DEVICE`.
    pub(in crate::ffi) const NO_DEVICE: Self = Self(100);
    /// `CUDA_ERROR_NOT_READY`.
    pub(in crate::ffi) const NOT_READY: Self = Self(600);
}

/// `CU_STREAM_NON_BLOCKING`.
pub(in crate::ffi) const STREAM_NON_BLOCKING: c_uint = 1;

foreign_table! {
    /// The functions that we call, by the versioned symbols that `cuda.h` maps their names to.
    ///
    /// # Source
    /// CUDA 12.9, `cuda.h`, as cudarc's bindings for `cuda-12090` show it.
    CudaTable returning CuResult;
    required {
        init = c"cuInit"(c_uint);
        driver_get_version = c"cuDriverGetVersion"(*mut c_int);
        get_error_name = c"cuGetErrorName"(CuResult, *mut *const c_char);
        get_error_string = c"cuGetErrorString"(CuResult, *mut *const c_char);
        device_get_count = c"cuDeviceGetCount"(*mut c_int);
        device_get = c"cuDeviceGet"(*mut CUdevice, c_int);
        device_get_name = c"cuDeviceGetName"(*mut c_char, c_int, CUdevice);
        device_get_uuid = c"cuDeviceGetUuid"(*mut CUuuid, CUdevice);
        device_get_pci_bus_id = c"cuDeviceGetPCIBusId"(*mut c_char, c_int, CUdevice);
        device_total_mem = c"cuDeviceTotalMem_v2"(*mut usize, CUdevice);
        device_get_attribute = c"cuDeviceGetAttribute"(*mut c_int, CUdevice_attribute, CUdevice);
        primary_ctx_retain = c"cuDevicePrimaryCtxRetain"(*mut CUcontext, CUdevice);
        ctx_set_current = c"cuCtxSetCurrent"(CUcontext);
        stream_create = c"cuStreamCreate"(*mut CUstream, c_uint);
        stream_query = c"cuStreamQuery"(CUstream);
        stream_destroy = c"cuStreamDestroy_v2"(CUstream);
        event_create = c"cuEventCreate"(*mut CUevent, c_uint);
        event_record = c"cuEventRecord"(CUevent, CUstream);
        event_elapsed_time = c"cuEventElapsedTime"(*mut f32, CUevent, CUevent);
        event_destroy = c"cuEventDestroy_v2"(CUevent);
        mem_alloc = c"cuMemAlloc_v2"(*mut CUdeviceptr, usize);
        mem_free = c"cuMemFree_v2"(CUdeviceptr);
        mem_get_info = c"cuMemGetInfo_v2"(*mut usize, *mut usize);
        memset_d8_async = c"cuMemsetD8Async"(CUdeviceptr, c_uchar, usize, CUstream);
        memcpy_htod_async = c"cuMemcpyHtoDAsync_v2"(CUdeviceptr, *const c_void, usize, CUstream);
        memcpy_dtoh = c"cuMemcpyDtoH_v2"(*mut c_void, CUdeviceptr, usize);
        module_load_data_ex = c"cuModuleLoadDataEx"(
            *mut CUmodule, *const c_void, c_uint, *mut CUjit_option, *mut *mut c_void);
        module_unload = c"cuModuleUnload"(CUmodule);
        module_get_function = c"cuModuleGetFunction"(*mut CUfunction, CUmodule, *const c_char);
        launch_kernel = c"cuLaunchKernel"(
            CUfunction, c_uint, c_uint, c_uint, c_uint, c_uint, c_uint, c_uint,
            CUstream, *mut *mut c_void, *mut *mut c_void);
    }
    optional {
        device_get_uuid_v2 = c"cuDeviceGetUuid_v2"(*mut CUuuid, CUdevice);
        stream_begin_capture = c"cuStreamBeginCapture_v2"(CUstream, CUstreamCaptureMode);
        stream_end_capture = c"cuStreamEndCapture"(CUstream, *mut CUgraph);
        graph_instantiate = c"cuGraphInstantiateWithFlags"(
            *mut CUgraphExec, CUgraph, c_ulonglong);
        graph_launch = c"cuGraphLaunch"(CUgraphExec, CUstream);
        graph_exec_destroy = c"cuGraphExecDestroy"(CUgraphExec);
        graph_destroy = c"cuGraphDestroy"(CUgraph);
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use cudarc::driver::sys::CUresult;

    #[test]
    fn the_codes_that_decide_something_are_the_headers() {
        assert_eq!(CuResult::SUCCESS.0, CUresult::CUDA_SUCCESS as c_int);
        assert_eq!(
            CuResult::NO_DEVICE.0,
            CUresult::CUDA_ERROR_NO_DEVICE as c_int
        );
        assert_eq!(
            CuResult::NOT_READY.0,
            CUresult::CUDA_ERROR_NOT_READY as c_int
        );
        let flag = cudarc::driver::sys::CUstream_flags::CU_STREAM_NON_BLOCKING;
        assert_eq!(STREAM_NON_BLOCKING, flag as c_uint);
    }

    #[test]
    fn handles_have_the_sizes_of_the_header() {
        assert_eq!(size_of::<CUdeviceptr>(), 8);
        assert_eq!(size_of::<CUdevice>(), 4);
        assert_eq!(size_of::<CUdevice_attribute>(), 4);
        assert_eq!(size_of::<CUjit_option>(), 4);
        assert_eq!(size_of::<CUuuid>(), 16);
        assert_eq!(size_of::<CUstreamCaptureMode>(), 4);
        for pointer in [
            size_of::<CUcontext>(),
            size_of::<CUstream>(),
            size_of::<CUmodule>(),
            size_of::<CUfunction>(),
            size_of::<CUevent>(),
            size_of::<CUgraph>(),
            size_of::<CUgraphExec>(),
        ] {
            assert_eq!(pointer, size_of::<*mut c_void>());
        }
    }
}
