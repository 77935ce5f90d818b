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
    /// `CUDA_ERROR_OUT_OF_MEMORY`.
    pub(in crate::ffi) const OUT_OF_MEMORY: Self = Self(2);
    /// `CUDA_ERROR_MPS_MAX_CONNECTIONS_REACHED`.
    pub(in crate::ffi) const TOO_MANY_CONNECTIONS: Self = Self(809);
    /// `CUDA_ERROR_NO_DEVICE`.
    pub(in crate::ffi) const NO_DEVICE: Self = Self(100);
    /// `CUDA_ERROR_NOT_READY`.
    pub(in crate::ffi) const NOT_READY: Self = Self(600);
}

/// `CU_STREAM_NON_BLOCKING`.
pub(in crate::ffi) const STREAM_NON_BLOCKING: c_uint = 1;

/// `CUmemGenericAllocationHandle`.
pub(in crate::ffi) type AllocationHandle = c_ulonglong;

/// `CU_MEM_HANDLE_TYPE_POSIX_FILE_DESCRIPTOR`.
pub(in crate::ffi) const POSIX_FILE_DESCRIPTOR: c_uint = 1;

/// `CUmemLocation` of a device.
#[repr(C)]
#[derive(Debug, Clone, Copy)]
pub(in crate::ffi) struct Location {
    /// `CU_MEM_LOCATION_TYPE_DEVICE` is 1.
    pub(in crate::ffi) kind: c_uint,
    pub(in crate::ffi) id: c_int,
}

/// `CUmemAllocationProp`: what is allocated where.
#[repr(C)]
#[derive(Debug, Clone, Copy)]
pub(in crate::ffi) struct AllocationProp {
    /// `CU_MEM_ALLOCATION_TYPE_PINNED` is 1, the only one.
    pub(in crate::ffi) kind: c_uint,
    /// As what it may be exported.
    pub(in crate::ffi) handle_types: c_uint,
    pub(in crate::ffi) location: Location,
    pub(in crate::ffi) win32: *mut c_void,
    /// Compression, GPUDirect RDMA and usage; none of them is wanted.
    pub(in crate::ffi) flags: [c_uint; 2],
}

/// `CUmemAccessDesc`: reading and writing from a device.
#[repr(C)]
#[derive(Debug, Clone, Copy)]
pub(in crate::ffi) struct AccessDesc {
    pub(in crate::ffi) location: Location,
    /// `CU_MEM_ACCESS_FLAGS_PROT_READWRITE` is 3.
    pub(in crate::ffi) flags: c_uint,
}

/// `CUlaunchAttribute`: 64 bytes of value, of which an integer takes four.
#[repr(C)]
#[derive(Debug, Clone, Copy)]
pub(in crate::ffi) struct LaunchAttribute {
    /// `CU_LAUNCH_ATTRIBUTE_PROGRAMMATIC_STREAM_SERIALIZATION` is 6.
    pub(in crate::ffi) id: c_uint,
    pub(in crate::ffi) padding: c_uint,
    pub(in crate::ffi) value: [c_int; 16],
}

/// `CUlaunchConfig`.
#[repr(C)]
#[derive(Debug, Clone, Copy)]
pub(in crate::ffi) struct LaunchConfig {
    pub(in crate::ffi) grid: [c_uint; 3],
    pub(in crate::ffi) block: [c_uint; 3],
    pub(in crate::ffi) shared_bytes: c_uint,
    pub(in crate::ffi) stream: CUstream,
    pub(in crate::ffi) attributes: *const LaunchAttribute,
    pub(in crate::ffi) count: c_uint,
}

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
        launch_kernel_ex = c"cuLaunchKernelEx"(
            *const LaunchConfig, CUfunction, *mut *mut c_void, *mut *mut c_void);
        mem_get_allocation_granularity = c"cuMemGetAllocationGranularity"(
            *mut usize, *const AllocationProp, c_uint);
        mem_create = c"cuMemCreate"(*mut AllocationHandle, usize, *const AllocationProp, c_ulonglong);
        mem_release = c"cuMemRelease"(AllocationHandle);
        mem_export = c"cuMemExportToShareableHandle"(
            *mut c_void, AllocationHandle, c_uint, c_ulonglong);
        mem_import = c"cuMemImportFromShareableHandle"(*mut AllocationHandle, *mut c_void, c_uint);
        mem_address_reserve = c"cuMemAddressReserve"(
            *mut CUdeviceptr, usize, usize, CUdeviceptr, c_ulonglong);
        mem_address_free = c"cuMemAddressFree"(CUdeviceptr, usize);
        mem_map = c"cuMemMap"(CUdeviceptr, usize, usize, AllocationHandle, c_ulonglong);
        mem_unmap = c"cuMemUnmap"(CUdeviceptr, usize);
        mem_set_access = c"cuMemSetAccess"(CUdeviceptr, usize, *const AccessDesc, usize);
        mem_host_alloc = c"cuMemHostAlloc"(*mut *mut c_void, usize, c_uint);
        memcpy_dtod_async = c"cuMemcpyDtoDAsync_v2"(CUdeviceptr, CUdeviceptr, usize, CUstream);
        memset_d32_async = c"cuMemsetD32Async"(CUdeviceptr, c_uint, usize, CUstream);
        stream_write_value32 = c"cuStreamWriteValue32_v2"(CUstream, CUdeviceptr, c_uint, c_uint);
        stream_wait_value32 = c"cuStreamWaitValue32_v2"(CUstream, CUdeviceptr, c_uint, c_uint);
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
    fn structs_are_laid_out_as_in_the_header() {
        use cudarc::driver::sys as header;
        use std::mem::offset_of;
        assert_eq!(
            size_of::<AllocationProp>(),
            size_of::<header::CUmemAllocationProp>()
        );
        assert_eq!(
            offset_of!(AllocationProp, location),
            offset_of!(header::CUmemAllocationProp, location)
        );
        assert_eq!(
            offset_of!(AllocationProp, win32),
            offset_of!(header::CUmemAllocationProp, win32HandleMetaData)
        );
        assert_eq!(
            size_of::<AccessDesc>(),
            size_of::<header::CUmemAccessDesc>()
        );
        assert_eq!(
            size_of::<LaunchAttribute>(),
            size_of::<header::CUlaunchAttribute>()
        );
        assert_eq!(
            offset_of!(LaunchAttribute, value),
            offset_of!(header::CUlaunchAttribute, value)
        );
        assert_eq!(
            size_of::<LaunchConfig>(),
            size_of::<header::CUlaunchConfig>()
        );
        assert_eq!(
            offset_of!(LaunchConfig, stream),
            offset_of!(header::CUlaunchConfig, hStream)
        );
        assert_eq!(
            offset_of!(LaunchConfig, count),
            offset_of!(header::CUlaunchConfig, numAttrs)
        );
        let early =
            header::CUlaunchAttributeID::CU_LAUNCH_ATTRIBUTE_PROGRAMMATIC_STREAM_SERIALIZATION;
        assert_eq!(early as u32, 6);
        let fd = header::CUmemAllocationHandleType_enum::CU_MEM_HANDLE_TYPE_POSIX_FILE_DESCRIPTOR;
        assert_eq!(fd.0, POSIX_FILE_DESCRIPTOR);
        let location = header::CUmemLocationType::CU_MEM_LOCATION_TYPE_DEVICE;
        assert_eq!(location as u32, 1);
        let pinned = header::CUmemAllocationType::CU_MEM_ALLOCATION_TYPE_PINNED;
        assert_eq!(pinned as u32, 1);
        let access = header::CUmemAccess_flags::CU_MEM_ACCESS_FLAGS_PROT_READWRITE;
        assert_eq!(access as u32, 3);
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
