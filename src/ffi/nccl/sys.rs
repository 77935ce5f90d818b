//! NCCL's functions, codes and structures as `nccl.h` gives them; nothing is called here.
//!
//! The table is our own and not cudarc's, because that one never finds `libnccl.so.2`, panics on a
//! missing symbol and takes results as a Rust enum. Every function that is newer than NCCL 2.18
//! is optional, so that an older library still serves what it has.

use super::Tuning;
use crate::ffi::library::foreign_table;
use crate::record::CtaPolicy;
use std::ffi::c_char;
use std::ffi::c_int;
use std::ffi::c_uint;
use std::ffi::c_void;

/// `ncclResult_t`: a newtype, because a newer library may return codes that this header lacks.
#[repr(transparent)]
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(in crate::ffi) struct NcclResult(pub(in crate::ffi) c_int);

impl NcclResult {
    /// `ncclSuccess`.
    pub(in crate::ffi) const SUCCESS: Self = Self(0);
    /// `ncclRemoteError`: another rank has left, or the network to it has failed.
    pub(in crate::ffi) const REMOTE_ERROR: Self = Self(6);
    /// `ncclInProgress`.
    pub(in crate::ffi) const IN_PROGRESS: Self = Self(7);

    /// The header's name for the code.
    ///
    /// # Source
    /// NCCL 2.30.7, `nccl.h`, `ncclResult_t`.
    pub(in crate::ffi) fn name(self) -> &'static str {
        match self.0 {
            0 => "ncclSuccess",
            1 => "ncclUnhandledCudaError",
            2 => "ncclSystemError",
            3 => "ncclInternalError",
            4 => "ncclInvalidArgument",
            5 => "ncclInvalidUsage",
            6 => "ncclRemoteError",
            7 => "ncclInProgress",
            8 => "ncclTimeout",
            _ => "no name",
        }
    }
}

/// `ncclComm_t`.
pub(in crate::ffi) type CommHandle = *mut c_void;
/// `cudaStream_t`, which is the driver's `CUstream`.
pub(in crate::ffi) type StreamHandle = cudarc::driver::sys::CUstream;
/// `ncclDataType_t`; its numbering is `DataType::ALL`'s.
pub(in crate::ffi) type DataTypeCode = c_int;
/// `ncclRedOp_t`.
pub(in crate::ffi) type RedOpCode = c_int;

/// `NCCL_UNIQUE_ID_BYTES`.
pub(in crate::ffi) const UNIQUE_ID_BYTES: usize = 128;
/// `ncclScalarHostImmediate`.
pub(in crate::ffi) const SCALAR_HOST_IMMEDIATE: c_int = 1;

/// `ncclUniqueId`.
#[repr(C)]
#[derive(Debug, Clone, Copy)]
pub(in crate::ffi) struct RawUniqueId {
    pub(in crate::ffi) internal: [c_char; UNIQUE_ID_BYTES],
}

/// `NCCL_API_MAGIC`.
const CONFIG_MAGIC: c_uint = 0xcafe_beef;
/// `NCCL_CONFIG_UNDEF_INT`.
const UNDEFINED: c_int = c_int::MIN;
/// `NCCL_VERSION_CODE` of the header that [`RawConfig`] was taken from.
const HEADER_VERSION: i32 = 23007;

/// `ncclConfig_t` of NCCL 2.30.7.
///
/// Every version only appended fields, and a library reads no more than `size` says, so that the
/// structures of older versions are prefixes of this one.
///
/// # Source
/// `nccl.h` of NCCL 2.18.1 to 2.30.7; `src/init.cc`, `parseCommConfig`.
#[repr(C)]
#[derive(Debug, Clone, Copy)]
pub(in crate::ffi) struct RawConfig {
    size: usize,
    magic: c_uint,
    version: c_uint,
    blocking: c_int,
    cga_cluster_size: c_int,
    min_ctas: c_int,
    max_ctas: c_int,
    net_name: *const c_char,
    split_share: c_int,
    traffic_class: c_int,
    comm_name: *const c_char,
    collnet_enable: c_int,
    cta_policy: c_int,
    shrink_share: c_int,
    nvls_ctas: c_int,
    n_channels_per_net_peer: c_int,
    nvlink_centric_sched: c_int,
    graph_usage_mode: c_int,
    num_rma_ctx: c_int,
    max_p2p_peers: c_int,
    graph_stream_ordering: c_int,
}

impl RawConfig {
    /// The configuration that nccl-tests gives a communicator on a library of this version.
    ///
    /// # Source
    /// nccl-tests 2.19.6, `src/common.cu`, `initComms`: everything undefined but
    /// `nvlinkCentricSched = 1` from 2.28 on, `CTAPolicy` where `-x` is given, and from 2.30 on
    /// `maxP2pPeers = 2` for `sendrecv` (`src/sendrecv.cu`). `blocking` is spelled out; it is the
    /// default.
    pub(in crate::ffi) fn like_nccl_tests(library_version: i32, tuning: Tuning) -> Self {
        let version = library_version.min(HEADER_VERSION);
        let nvlink_centric_sched = if version >= 22800 { 1 } else { UNDEFINED };
        let peers = tuning.p2p_peers.filter(|_| version >= 23000);
        Self {
            size: config_bytes(version),
            magic: CONFIG_MAGIC,
            version: version.cast_unsigned(),
            blocking: 1,
            cga_cluster_size: UNDEFINED,
            min_ctas: UNDEFINED,
            max_ctas: UNDEFINED,
            net_name: std::ptr::null(),
            split_share: UNDEFINED,
            traffic_class: UNDEFINED,
            comm_name: std::ptr::null(),
            collnet_enable: UNDEFINED,
            cta_policy: tuning.cta_policy.map_or(UNDEFINED, CtaPolicy::number),
            shrink_share: UNDEFINED,
            nvls_ctas: UNDEFINED,
            n_channels_per_net_peer: UNDEFINED,
            nvlink_centric_sched,
            graph_usage_mode: UNDEFINED,
            num_rma_ctx: UNDEFINED,
            max_p2p_peers: peers.map_or(UNDEFINED, u32::cast_signed),
            graph_stream_ordering: UNDEFINED,
        }
    }
}

/// `sizeof(ncclConfig_t)` in the header of a version.
fn config_bytes(version: i32) -> usize {
    match version {
        ..22700 => 48,
        22700..22800 => 72,
        22800..22900 => 80,
        22900..23000 => 88,
        _ => 96,
    }
}

foreign_table! {
    /// The functions that we call.
    ///
    /// # Source
    /// NCCL 2.30.7, `nccl.h`; which ones 2.18.1 lacks, from its header.
    NcclTable returning NcclResult;
    required {
        get_version = c"ncclGetVersion"(*mut c_int);
        get_unique_id = c"ncclGetUniqueId"(*mut RawUniqueId);
        get_error_string = c"ncclGetErrorString"(NcclResult) -> *const c_char;
        get_last_error = c"ncclGetLastError"(CommHandle) -> *const c_char;
        comm_init_rank_config = c"ncclCommInitRankConfig"(
            *mut CommHandle, c_int, RawUniqueId, c_int, *mut RawConfig);
        comm_destroy = c"ncclCommDestroy"(CommHandle);
        comm_abort = c"ncclCommAbort"(CommHandle);
        comm_get_async_error = c"ncclCommGetAsyncError"(CommHandle, *mut NcclResult);
        group_start = c"ncclGroupStart"();
        group_end = c"ncclGroupEnd"();
        all_reduce = c"ncclAllReduce"(
            *const c_void, *mut c_void, usize, DataTypeCode, RedOpCode, CommHandle, StreamHandle);
        all_gather = c"ncclAllGather"(
            *const c_void, *mut c_void, usize, DataTypeCode, CommHandle, StreamHandle);
        reduce_scatter = c"ncclReduceScatter"(
            *const c_void, *mut c_void, usize, DataTypeCode, RedOpCode, CommHandle, StreamHandle);
        broadcast = c"ncclBroadcast"(
            *const c_void, *mut c_void, usize, DataTypeCode, c_int, CommHandle, StreamHandle);
        reduce = c"ncclReduce"(
            *const c_void, *mut c_void, usize, DataTypeCode, RedOpCode, c_int, CommHandle,
            StreamHandle);
        send = c"ncclSend"(*const c_void, usize, DataTypeCode, c_int, CommHandle, StreamHandle);
        recv = c"ncclRecv"(*mut c_void, usize, DataTypeCode, c_int, CommHandle, StreamHandle);
        red_op_create_pre_mul_sum = c"ncclRedOpCreatePreMulSum"(
            *mut RedOpCode, *mut c_void, DataTypeCode, c_int, CommHandle);
        red_op_destroy = c"ncclRedOpDestroy"(RedOpCode, CommHandle);
    }
    optional {
        mem_alloc = c"ncclMemAlloc"(*mut *mut c_void, usize);
        mem_free = c"ncclMemFree"(*mut c_void);
        comm_register = c"ncclCommRegister"(CommHandle, *mut c_void, usize, *mut *mut c_void);
        comm_deregister = c"ncclCommDeregister"(CommHandle, *mut c_void);
        window_register = c"ncclCommWindowRegister"(
            CommHandle, *mut c_void, usize, *mut *mut c_void, c_int);
        window_deregister = c"ncclCommWindowDeregister"(CommHandle, *mut c_void);
        comm_init_rank_scalable = c"ncclCommInitRankScalable"(
            *mut CommHandle, c_int, c_int, c_int, *mut RawUniqueId, *mut RawConfig);
        all_to_all = c"ncclAlltoAll"(
            *const c_void, *mut c_void, usize, DataTypeCode, CommHandle, StreamHandle);
        gather = c"ncclGather"(
            *const c_void, *mut c_void, usize, DataTypeCode, c_int, CommHandle, StreamHandle);
        scatter = c"ncclScatter"(
            *const c_void, *mut c_void, usize, DataTypeCode, c_int, CommHandle, StreamHandle);
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::mem::offset_of;

    /// Offsets printed by a C program over the header of NCCL 2.30.7 on x86-64.
    #[test]
    fn the_configuration_is_laid_out_as_in_the_header_of_2_30_7() {
        let fields = [
            (offset_of!(RawConfig, size), 0),
            (offset_of!(RawConfig, magic), 8),
            (offset_of!(RawConfig, version), 12),
            (offset_of!(RawConfig, blocking), 16),
            (offset_of!(RawConfig, cga_cluster_size), 20),
            (offset_of!(RawConfig, min_ctas), 24),
            (offset_of!(RawConfig, max_ctas), 28),
            (offset_of!(RawConfig, net_name), 32),
            (offset_of!(RawConfig, split_share), 40),
            (offset_of!(RawConfig, traffic_class), 44),
            (offset_of!(RawConfig, comm_name), 48),
            (offset_of!(RawConfig, collnet_enable), 56),
            (offset_of!(RawConfig, cta_policy), 60),
            (offset_of!(RawConfig, shrink_share), 64),
            (offset_of!(RawConfig, nvls_ctas), 68),
            (offset_of!(RawConfig, n_channels_per_net_peer), 72),
            (offset_of!(RawConfig, nvlink_centric_sched), 76),
            (offset_of!(RawConfig, graph_usage_mode), 80),
            (offset_of!(RawConfig, num_rma_ctx), 84),
            (offset_of!(RawConfig, max_p2p_peers), 88),
            (offset_of!(RawConfig, graph_stream_ordering), 92),
        ];
        for (ours, header) in fields {
            assert_eq!(ours, header);
        }
        assert_eq!(size_of::<RawConfig>(), 96);
        assert_eq!(align_of::<RawConfig>(), 8);
        assert_eq!(size_of::<RawUniqueId>(), 128);
    }

    /// `sizeof(ncclConfig_t)` printed by a C program over each version's header.
    #[test]
    fn an_older_library_gets_its_own_headers_size_and_version() {
        for (version, bytes) in [
            (21801, 48),
            (21903, 48),
            (22602, 48),
            (22703, 72),
            (22803, 80),
            (22902, 88),
            (23003, 96),
            (23007, 96),
        ] {
            let config = RawConfig::like_nccl_tests(version, Tuning::default());
            assert_eq!(config.size, bytes, "{version}");
            assert_eq!(config.version, version.cast_unsigned());
        }
    }

    #[test]
    fn a_policy_and_few_peers_are_told_where_the_header_has_them() {
        let tuning = Tuning {
            cta_policy: Some(CtaPolicy::Zero),
            p2p_peers: Some(2),
        };
        for (version, policy, peers) in [(22803, 2, UNDEFINED), (23007, 2, 2)] {
            let config = RawConfig::like_nccl_tests(version, tuning);
            assert_eq!((config.cta_policy, config.max_p2p_peers), (policy, peers));
        }
        let config = RawConfig::like_nccl_tests(23007, Tuning::default());
        assert_eq!(config.cta_policy, UNDEFINED);
        assert_eq!(config.max_p2p_peers, UNDEFINED);
    }

    #[test]
    fn a_newer_library_is_told_the_header_we_know() {
        let config = RawConfig::like_nccl_tests(23203, Tuning::default());
        assert_eq!((config.size, config.version), (96, 23007));
    }

    #[test]
    fn nvlink_centric_scheduling_is_asked_for_where_nccl_tests_asks_for_it() {
        for (version, asked) in [(22709, UNDEFINED), (22800, 1), (23007, 1)] {
            let config = RawConfig::like_nccl_tests(version, Tuning::default());
            assert_eq!(config.nvlink_centric_sched, asked, "{version}");
        }
    }
}
