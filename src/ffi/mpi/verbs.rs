//! MPI's operations on memory of ours. They block; a group of transfers runs together.

use super::Mpi;
use super::check;
use crate::base::DataType;
use crate::base::Fault;
use crate::base::Rank;
use crate::base::RedOp;
use crate::ffi::shm::Region;
use mpi::ffi as sys;
use std::ffi::c_int;
use std::ffi::c_void;
use std::ptr;

/// The tag of all messages: only their order tells them apart.
const TAG: c_int = 0;

/// A stretch of memory.
#[derive(Debug, Clone, Copy)]
pub struct Piece<'a> {
    /// Where it lies.
    pub region: &'a Region,
    /// Its first byte there.
    pub at: usize,
    /// Its bytes.
    pub len: usize,
}

/// One message of a group.
#[derive(Debug, Clone, Copy)]
pub struct Transfer<'a> {
    /// What is sent, or where it goes.
    pub piece: Piece<'a>,
    /// To or from whom.
    pub peer: Rank,
    /// The direction.
    pub receives: bool,
}

impl Piece<'_> {
    fn address(self) -> *mut c_void {
        self.region.place(self.at, self.len).cast()
    }

    fn is(self, other: Self) -> bool {
        ptr::eq(self.region, other.region) && (self.at, self.len) == (other.at, other.len)
    }

    /// How many elements of `size` bytes, as MPI counts.
    fn count(self, size: u64) -> Result<c_int, Fault> {
        let bytes = self.len as u64;
        c_int::try_from(bytes / size).map_err(|_| {
            Fault::unsupported(format!(
                "{} elements are more than MPI counts",
                bytes / size
            ))
        })
    }
}

impl Mpi {
    /// `MPI_Allreduce`; in place where both are one stretch.
    ///
    /// # Errors
    /// `Unsupported` for what MPI has no type or operator for, `Call` with MPI's words.
    pub fn all_reduce(
        &self,
        (send, recv): (Piece<'_>, Piece<'_>),
        dtype: DataType,
        redop: RedOp,
    ) -> Result<(), Fault> {
        let (kind, op, count) = (number(dtype)?, operator(redop)?, send.count(dtype.size())?);
        let from = source(send, recv);
        // SAFETY: both stretches lie in mappings that live through the call, which blocks, and have
        // `count` elements each; they do not overlap, or are one, which MPI is told.
        let code = unsafe {
            sys::MPI_Allreduce(from, recv.address(), count, kind, op, sys::RSMPI_COMM_WORLD)
        };
        check("MPI_Allreduce", code)
    }

    /// `MPI_Alltoall` of whole buffers of as many equal parts as there are ranks.
    ///
    /// # Errors
    /// `Unsupported` for parts that are too long for MPI's counts, `Call` with MPI's words.
    pub fn all_to_all(
        &self,
        (send, recv): (Piece<'_>, Piece<'_>),
        dtype: DataType,
    ) -> Result<(), Fault> {
        let part = Piece {
            len: send.len / self.size.max(1) as usize,
            ..send
        };
        let (kind, count) = (word(dtype), part.count(dtype.size())?);
        let (from, into) = (source(send, recv), recv.address());
        // SAFETY: as in `all_reduce`; each buffer has `size` parts of `count` elements.
        let code = unsafe {
            sys::MPI_Alltoall(from, count, kind, into, count, kind, sys::RSMPI_COMM_WORLD)
        };
        check("MPI_Alltoall", code)
    }

    /// `MPI_Allgather`; `send` may be this rank's own part of `recv`.
    ///
    /// # Errors
    /// As [`Mpi::all_to_all`].
    pub fn all_gather(
        &self,
        (send, recv): (Piece<'_>, Piece<'_>),
        dtype: DataType,
    ) -> Result<(), Fault> {
        let (kind, count) = (word(dtype), send.count(dtype.size())?);
        let own = Piece {
            at: recv.at + self.rank as usize * send.len,
            len: send.len,
            ..recv
        };
        let (from, into) = (source(send, own), recv.address());
        // SAFETY: as in `all_reduce`; `recv` has `size` parts of `count` elements.
        let code = unsafe {
            sys::MPI_Allgather(from, count, kind, into, count, kind, sys::RSMPI_COMM_WORLD)
        };
        check("MPI_Allgather", code)
    }

    /// `MPI_Reduce_scatter_block`, out of place.
    ///
    /// # Errors
    /// As [`Mpi::all_reduce`]; `Unsupported` in place, where MPI puts the result elsewhere than NCCL.
    pub fn reduce_scatter(
        &self,
        (send, recv): (Piece<'_>, Piece<'_>),
        dtype: DataType,
        redop: RedOp,
    ) -> Result<(), Fault> {
        if ptr::eq(send.region, recv.region) {
            let text = "MPI puts an in-place reduce-scatter's result at the buffer's start";
            return Err(Fault::unsupported(text));
        }
        let (kind, op, count) = (number(dtype)?, operator(redop)?, recv.count(dtype.size())?);
        let (from, into) = (send.address().cast_const(), recv.address());
        // SAFETY: as in `all_reduce`; `send` has `size` parts of `count` elements.
        let code = unsafe {
            sys::MPI_Reduce_scatter_block(from, into, count, kind, op, sys::RSMPI_COMM_WORLD)
        };
        check("MPI_Reduce_scatter_block", code)
    }

    /// `MPI_Bcast` of `piece`, the root's to all others'.
    ///
    /// # Errors
    /// As [`Mpi::all_to_all`].
    pub fn broadcast(&self, piece: Piece<'_>, dtype: DataType, root: Rank) -> Result<(), Fault> {
        let (kind, count) = (word(dtype), piece.count(dtype.size())?);
        let root = c_int::try_from(root.0)
            .map_err(|_| Fault::unsupported(format!("rank {root} is more than MPI counts")))?;
        // SAFETY: the stretch lies in a mapping that lives through the call, which blocks.
        let code =
            unsafe { sys::MPI_Bcast(piece.address(), count, kind, root, sys::RSMPI_COMM_WORLD) };
        check("MPI_Bcast", code)
    }

    /// One message, by `MPI_Send` or `MPI_Recv`.
    ///
    /// # Errors
    /// As [`Mpi::all_to_all`].
    pub fn transfer(&self, one: Transfer<'_>) -> Result<(), Fault> {
        let (peer, count, into) = (peer(one)?, one.piece.count(1)?, one.piece.address());
        let (kind, world) = (byte(), world());
        if one.receives {
            // SAFETY: the stretch lies in a mapping that lives through the call, which blocks.
            let code = unsafe {
                let status = sys::RSMPI_STATUS_IGNORE;
                sys::MPI_Recv(into, count, kind, peer, TAG, world, status)
            };
            return check("MPI_Recv", code);
        }
        // SAFETY: as above.
        let code = unsafe { sys::MPI_Send(into, count, kind, peer, TAG, world) };
        check("MPI_Send", code)
    }

    /// All messages of a group at a time, by `MPI_Isend`, `MPI_Irecv` and `MPI_Waitall`.
    ///
    /// # Errors
    /// As [`Mpi::all_to_all`]. Messages that were posted before the fault are waited for.
    pub fn transfer_all(&self, all: &[Transfer<'_>]) -> Result<(), Fault> {
        let mut requests = Vec::with_capacity(all.len());
        let posted = all
            .iter()
            .try_for_each(|one| post(*one).map(|request| requests.push(request)));
        let count = c_int::try_from(requests.len()).unwrap_or(c_int::MAX);
        // SAFETY: there are as many requests as is said, all posted and not waited for yet, and their
        // stretches live through this call.
        let code =
            unsafe { sys::MPI_Waitall(count, requests.as_mut_ptr(), sys::RSMPI_STATUSES_IGNORE) };
        posted.and_then(|()| check("MPI_Waitall", code))
    }
}

/// What MPI is told to send from: `MPI_IN_PLACE` where it is where the result goes.
///
/// # Source
/// `mpi.h`: Open MPI, whose handles are pointers, defines it as 1; MPICH, whose handles are
/// numbers, as -1.
fn source(send: Piece<'_>, recv: Piece<'_>) -> *const c_void {
    if !send.is(recv) {
        return send.address();
    }
    if size_of::<sys::MPI_Comm>() == size_of::<usize>() {
        ptr::without_provenance(1)
    } else {
        ptr::without_provenance(usize::MAX)
    }
}

fn post(one: Transfer<'_>) -> Result<sys::MPI_Request, Fault> {
    let (peer, count, at) = (peer(one)?, one.piece.count(1)?, one.piece.address());
    let (kind, world) = (byte(), world());
    // SAFETY: a constant of the library, to be written over.
    let mut request = unsafe { sys::RSMPI_REQUEST_NULL };
    let into = &raw mut request;
    if one.receives {
        // SAFETY: the stretch lies in a mapping that the caller keeps until the request is done.
        let code = unsafe { sys::MPI_Irecv(at, count, kind, peer, TAG, world, into) };
        check("MPI_Irecv", code)?;
    } else {
        // SAFETY: as above.
        let code = unsafe { sys::MPI_Isend(at, count, kind, peer, TAG, world, into) };
        check("MPI_Isend", code)?;
    }
    Ok(request)
}

fn peer(one: Transfer<'_>) -> Result<c_int, Fault> {
    c_int::try_from(one.peer.0)
        .map_err(|_| Fault::unsupported(format!("rank {} is more than MPI counts", one.peer.0)))
}

fn world() -> sys::MPI_Comm {
    // SAFETY: a constant of the library.
    unsafe { sys::RSMPI_COMM_WORLD }
}

fn byte() -> sys::MPI_Datatype {
    // SAFETY: a constant of the library.
    unsafe { sys::RSMPI_UINT8_T }
}

/// MPI's type of as many bytes, for what is moved and not reduced.
fn word(dtype: DataType) -> sys::MPI_Datatype {
    // SAFETY: constants of the library.
    unsafe {
        match dtype.size() {
            2 => sys::RSMPI_UINT16_T,
            4 => sys::RSMPI_UINT32_T,
            8 => sys::RSMPI_UINT64_T,
            _ => sys::RSMPI_UINT8_T,
        }
    }
}

/// MPI's type of a number that it can reduce.
fn number(dtype: DataType) -> Result<sys::MPI_Datatype, Fault> {
    // SAFETY: constants of the library.
    Ok(unsafe {
        match dtype {
            DataType::Int8 => sys::RSMPI_INT8_T,
            DataType::Uint8 => sys::RSMPI_UINT8_T,
            DataType::Int32 => sys::RSMPI_INT32_T,
            DataType::Uint32 => sys::RSMPI_UINT32_T,
            DataType::Int64 => sys::RSMPI_INT64_T,
            DataType::Uint64 => sys::RSMPI_UINT64_T,
            DataType::Float => sys::RSMPI_FLOAT,
            DataType::Double => sys::RSMPI_DOUBLE,
            DataType::Half | DataType::Bfloat16 | DataType::F8e4m3 | DataType::F8e5m2 => {
                let text = format!("MPI has no type for `{}`", dtype.name());
                return Err(Fault::unsupported(text));
            }
        }
    })
}

fn operator(redop: RedOp) -> Result<sys::MPI_Op, Fault> {
    // SAFETY: constants of the library.
    Ok(unsafe {
        match redop {
            RedOp::Sum => sys::RSMPI_SUM,
            RedOp::Prod => sys::RSMPI_PROD,
            RedOp::Min => sys::RSMPI_MIN,
            RedOp::Max => sys::RSMPI_MAX,
            RedOp::Avg | RedOp::MulSum => {
                let text = format!("MPI has no operator for `{}`", redop.name());
                return Err(Fault::unsupported(text));
            }
        }
    })
}
