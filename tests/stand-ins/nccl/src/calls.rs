//! The calls of the collectives beyond all-reduce and all-to-all.

use crate::verbs::Verb;
use crate::work::Action;
use crate::{Code, code, datatype, group, rank, reduction};
use std::ffi::{c_int, c_void};

/// The arguments that all of them have.
pub struct Common {
    pub send: *const c_void,
    pub recv: *mut c_void,
    pub count: usize,
    pub dtype: c_int,
    pub comm: *mut c_void,
    pub stream: *mut c_void,
}

pub fn accept(args: Common, verb: impl FnOnce() -> Result<Verb, Code>) -> Code {
    let accept = || {
        let dtype = datatype(args.dtype)?;
        let action = Action::Verb {
            verb: verb()?,
            send: args.send.addr(),
            recv: args.recv.addr(),
            count: args.count,
        };
        group::accept(args.comm.addr(), args.stream.addr(), dtype, action)
    };
    code(accept())
}

#[unsafe(no_mangle)]
pub extern "C" fn ncclAllGather(
    send: *const c_void,
    recv: *mut c_void,
    count: usize,
    dtype: c_int,
    comm: *mut c_void,
    stream: *mut c_void,
) -> Code {
    let args = Common {
        send,
        recv,
        count,
        dtype,
        comm,
        stream,
    };
    accept(args, || Ok(Verb::AllGather))
}

#[unsafe(no_mangle)]
pub extern "C" fn ncclReduceScatter(
    send: *const c_void,
    recv: *mut c_void,
    count: usize,
    dtype: c_int,
    op: c_int,
    comm: *mut c_void,
    stream: *mut c_void,
) -> Code {
    let args = Common {
        send,
        recv,
        count,
        dtype,
        comm,
        stream,
    };
    accept(args, || {
        Ok(Verb::ReduceScatter(reduction(
            comm.addr(),
            datatype(dtype)?,
            op,
        )?))
    })
}

#[unsafe(no_mangle)]
pub extern "C" fn ncclBroadcast(
    send: *const c_void,
    recv: *mut c_void,
    count: usize,
    dtype: c_int,
    root: c_int,
    comm: *mut c_void,
    stream: *mut c_void,
) -> Code {
    let args = Common {
        send,
        recv,
        count,
        dtype,
        comm,
        stream,
    };
    accept(args, || {
        let root = rank(comm.addr(), root)?;
        Ok(Verb::Broadcast { root })
    })
}

#[unsafe(no_mangle)]
pub extern "C" fn ncclReduce(
    send: *const c_void,
    recv: *mut c_void,
    count: usize,
    dtype: c_int,
    op: c_int,
    root: c_int,
    comm: *mut c_void,
    stream: *mut c_void,
) -> Code {
    let args = Common {
        send,
        recv,
        count,
        dtype,
        comm,
        stream,
    };
    accept(args, || {
        let root = rank(comm.addr(), root)?;
        let by = reduction(comm.addr(), datatype(dtype)?, op)?;
        Ok(Verb::Reduce { by, root })
    })
}

/// What came with NCCL 2.28.
#[cfg(feature = "modern")]
mod modern {
    use super::*;

    #[unsafe(no_mangle)]
    pub extern "C" fn ncclGather(
        send: *const c_void,
        recv: *mut c_void,
        count: usize,
        dtype: c_int,
        root: c_int,
        comm: *mut c_void,
        stream: *mut c_void,
    ) -> Code {
        let args = Common {
            send,
            recv,
            count,
            dtype,
            comm,
            stream,
        };
        accept(args, || {
            let root = rank(comm.addr(), root)?;
            Ok(Verb::Gather { root })
        })
    }

    #[unsafe(no_mangle)]
    pub extern "C" fn ncclScatter(
        send: *const c_void,
        recv: *mut c_void,
        count: usize,
        dtype: c_int,
        root: c_int,
        comm: *mut c_void,
        stream: *mut c_void,
    ) -> Code {
        let args = Common {
            send,
            recv,
            count,
            dtype,
            comm,
            stream,
        };
        accept(args, || {
            let root = rank(comm.addr(), root)?;
            Ok(Verb::Scatter { root })
        })
    }
}
