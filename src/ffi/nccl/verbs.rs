//! Sends, receives, operators, and what all operations are told; they enqueue and return.
//!
//! This is what a timed loop runs, so nothing here allocates, locks or looks anything up.

use super::Comm;
use super::Nccl;
use super::sys::RedOpCode;
use super::sys::SCALAR_HOST_IMMEDIATE;
use crate::base::DataType;
use crate::base::Fault;
use crate::base::RedOp;
use crate::ffi::cuda::Stream;
use std::ffi::c_int;
use std::ffi::c_void;

/// Where an operation goes: one rank's communicator and stream.
#[derive(Debug, Clone, Copy)]
pub struct Queue {
    /// The communicator.
    pub comm: Comm,
    /// The stream.
    pub stream: Stream,
}

/// What an operation works on: device addresses and a count of elements.
#[derive(Debug, Clone, Copy)]
pub struct Exchange {
    /// First byte that is sent.
    pub send: u64,
    /// First byte that is received.
    pub recv: u64,
    /// NCCL's count argument.
    pub count: u64,
    /// Element type.
    pub dtype: DataType,
}

/// A reduction operator as NCCL numbers it.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Operator(pub(super) RedOpCode);

impl Operator {
    /// NCCL's number of a built-in operator; none for `mulsum`, which is created.
    ///
    /// # Source
    /// NCCL 2.30.7, `nccl.h`, `ncclRedOp_t`.
    pub fn built_in(redop: RedOp) -> Option<Self> {
        match redop {
            RedOp::Sum => Some(Self(0)),
            RedOp::Prod => Some(Self(1)),
            RedOp::Max => Some(Self(2)),
            RedOp::Min => Some(Self(3)),
            RedOp::Avg => Some(Self(4)),
            RedOp::MulSum => None,
        }
    }
}

/// NCCL's number of a datatype.
///
/// # Source
/// NCCL 2.30.7, `nccl.h`, `ncclDataType_t`.
pub(super) fn code(dtype: DataType) -> c_int {
    match dtype {
        DataType::Int8 => 0,
        DataType::Uint8 => 1,
        DataType::Int32 => 2,
        DataType::Uint32 => 3,
        DataType::Int64 => 4,
        DataType::Uint64 => 5,
        DataType::Half => 6,
        DataType::Float => 7,
        DataType::Double => 8,
        DataType::Bfloat16 => 9,
        DataType::F8e4m3 => 10,
        DataType::F8e5m2 => 11,
    }
}

/// A device address as NCCL takes it. We never look behind it.
pub(super) fn pointer(address: u64) -> *mut c_void {
    std::ptr::without_provenance_mut(size(address))
}

/// A 64-bit number as C's `size_t`.
pub(super) fn size(number: u64) -> usize {
    usize::try_from(number).unwrap_or(usize::MAX)
}

impl Nccl {
    /// `ncclSend` of `data.send` to `peer`.
    ///
    /// # Errors
    /// `Call` where the library fails.
    #[inline]
    pub fn send(&self, to: Queue, data: Exchange, peer: u32) -> Result<(), Fault> {
        let (count, dtype, peer) = (size(data.count), code(data.dtype), peer.cast_signed());
        // SAFETY: communicator and stream are alive and the addresses lie in the session's
        // buffers, as the session vouches.
        let code = unsafe {
            (self.calls.send)(
                pointer(data.send),
                count,
                dtype,
                peer,
                to.comm.0,
                to.stream.0,
            )
        };
        self.check("ncclSend", code)
    }

    /// `ncclRecv` into `data.recv` from `peer`.
    ///
    /// # Errors
    /// `Call` where the library fails.
    #[inline]
    pub fn recv(&self, to: Queue, data: Exchange, peer: u32) -> Result<(), Fault> {
        let (count, dtype, peer) = (size(data.count), code(data.dtype), peer.cast_signed());
        // SAFETY: as for `send`.
        let code = unsafe {
            (self.calls.recv)(
                pointer(data.recv),
                count,
                dtype,
                peer,
                to.comm.0,
                to.stream.0,
            )
        };
        self.check("ncclRecv", code)
    }

    /// Creates the operator that multiplies this rank's elements by a scalar before they are
    /// summed; `bits` holds the scalar in its low bits.
    ///
    /// # Errors
    /// `Call` where the library fails.
    pub fn premultiply(&self, comm: Comm, dtype: DataType, bits: u64) -> Result<Operator, Fault> {
        let mut scalar = bits.to_le_bytes();
        let mut operator = 0;
        // SAFETY: the scalar is read before the call returns (`ncclScalarHostImmediate`) and is
        // as wide as the widest type; writes one operator.
        let code = unsafe {
            (self.calls.red_op_create_pre_mul_sum)(
                &raw mut operator,
                scalar.as_mut_ptr().cast(),
                code(dtype),
                SCALAR_HOST_IMMEDIATE,
                comm.0,
            )
        };
        self.check("ncclRedOpCreatePreMulSum", code)?;
        Ok(Operator(operator))
    }

    /// Destroys an operator that [`Nccl::premultiply`] made.
    ///
    /// # Errors
    /// `Call` where the library fails.
    pub fn destroy_operator(&self, comm: Comm, operator: Operator) -> Result<(), Fault> {
        // SAFETY: the owner gives the operator up here, and the communicator is alive.
        let code = unsafe { (self.calls.red_op_destroy)(operator.0, comm.0) };
        self.check("ncclRedOpDestroy", code)
    }

    /// The fault of a function that the library lacks.
    #[cold]
    pub(super) fn lacks(&self, function: &str, since: &str) -> Fault {
        let found = self.version_text();
        Fault::unsupported(format!(
            "`{function}` needs NCCL {since}, and {found} is loaded"
        ))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn datatypes_are_numbered_as_all_lists_them() {
        for (index, &dtype) in DataType::ALL.iter().enumerate() {
            assert_eq!(usize::try_from(code(dtype)), Ok(index));
        }
    }

    #[test]
    fn only_mulsum_has_no_number_of_its_own() {
        for &redop in RedOp::ALL {
            assert_eq!(Operator::built_in(redop).is_none(), redop == RedOp::MulSum);
        }
    }
}
