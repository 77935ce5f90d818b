//! The kernels of our own collectives: their modules, entry points and arguments.
//!
//! What is launched is decided in backend `kernel`; nothing is launched here.

mod args;

pub use args::*;

use crate::base::DataType;
use std::borrow::Cow;
use std::ffi::CStr;

/// Ranks that a communicator has at the most.
pub const MAX_RANKS: usize = 16;
/// Blocks of a launch at the most.
pub const MAX_BLOCKS: u32 = 64;
/// Threads of a block at the most.
pub const MAX_THREADS: u32 = 512;
/// Packets of one block from one source.
pub const SLOT_PACKETS: u64 = 2048;
/// Bytes of data in a packet, and what is called a unit.
pub const UNIT: u64 = 8;
/// Where the flags of the copy engines begin in a workspace.
pub const ENGINE_FLAGS_AT: u64 = 16384;
/// Where the ticks begin, one 32-bit word for each block.
pub const TICKS_AT: u64 = 0;
/// Where the blocks' flags begin.
pub const FLAGS_AT: u64 = 8192;
/// Where the slots begin.
const SLOTS_AT: u64 = 32768;

/// Bytes of a rank's workspace.
pub fn workspace_bytes(world: usize) -> u64 {
    SLOTS_AT + 2 * world as u64 * u64::from(MAX_BLOCKS) * SLOT_PACKETS * 16
}

/// A module: kernels that are loaded together.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub enum Module {
    /// What reduces nothing.
    Copies,
    /// What reduces 8-bit integers, and so on.
    Int8,
    /// 32-bit integers.
    Int32,
    /// 64-bit integers.
    Int64,
    /// binary16.
    Half,
    /// bfloat16.
    Bfloat16,
    /// binary32.
    Float,
    /// binary64.
    Double,
    /// 8-bit floats, E4M3.
    F8e4m3,
    /// 8-bit floats, E5M2.
    F8e5m2,
}

macro_rules! modules {
    ($($module:ident = $name:literal;)*) => {
        impl Module {
            /// All of them.
            pub const ALL: &[Self] = &[$(Self::$module),*];

            /// The name of its file.
            pub fn name(self) -> &'static str {
                match self { $(Self::$module => $name),* }
            }

            /// Its PTX, for every GPU since compute capability 7.0.
            fn base(self) -> &'static str {
                match self {
                    $(Self::$module => include_str!(concat!("../../../../kernels/", $name, ".ptx"))),*
                }
            }
        }
    };
}
modules! {
    Copies = "copies";
    Int8 = "reduce_int8";
    Int32 = "reduce_int32";
    Int64 = "reduce_int64";
    Half = "reduce_half";
    Bfloat16 = "reduce_bfloat16";
    Float = "reduce_float";
    Double = "reduce_double";
    F8e4m3 = "reduce_f8e4m3";
    F8e5m2 = "reduce_f8e5m2";
}

/// What makes the PTX one whose launches may be made ready while earlier ones run.
///
/// # Source
/// PTX ISA 7.8, `griddepcontrol`: from `sm_90` on. `kernels/build.py` assembles the same replacements.
const EARLY: [(&str, &str); 4] = [
    (".version 7.0", ".version 7.8"),
    (".target sm_70", ".target sm_90"),
    ("// await earlier launches", "griddepcontrol.wait;"),
    (
        "// admit the next launch",
        "griddepcontrol.launch_dependents;",
    ),
];

impl Module {
    /// The module that reduces a datatype.
    pub fn reducing(dtype: DataType) -> Self {
        match dtype {
            DataType::Int8 | DataType::Uint8 => Self::Int8,
            DataType::Int32 | DataType::Uint32 => Self::Int32,
            DataType::Int64 | DataType::Uint64 => Self::Int64,
            DataType::Half => Self::Half,
            DataType::Bfloat16 => Self::Bfloat16,
            DataType::Float => Self::Float,
            DataType::Double => Self::Double,
            DataType::F8e4m3 => Self::F8e4m3,
            DataType::F8e5m2 => Self::F8e5m2,
        }
    }

    /// Its PTX; `early` for launches that wait for the one before by themselves, which needs compute
    /// capability 9.0 and a driver of CUDA 11.8.
    pub fn ptx(self, early: bool) -> Cow<'static, str> {
        if !early {
            return Cow::Borrowed(self.base());
        }
        let put_in = |ptx: String, (mark, instead): (&str, &str)| ptx.replace(mark, instead);
        Cow::Owned(EARLY.into_iter().fold(self.base().to_owned(), put_in))
    }

    /// Which module some PTX is, in either form.
    pub fn of(ptx: &str) -> Option<Self> {
        let is_it =
            |module: &&Self| module.base() == ptx || (ptx.len() > 100 && module.ptx(true) == ptx);
        Self::ALL.iter().find(is_it).copied()
    }

    /// Its kernels.
    pub fn kernels(self) -> &'static [Kernel] {
        match self {
            Self::Copies => Kernel::COPYING,
            _ => Kernel::REDUCING,
        }
    }
}

/// An entry point.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub enum Kernel {
    /// Copies between two barriers.
    Copy,
    /// A broadcast in two steps.
    HandOut,
    /// Copies by packets.
    CopyPackets,
    /// Nothing.
    Nothing,
    /// A flag within the GPU.
    LocalFlag,
    /// A flag to the next rank.
    PeerFlag,
    /// A barrier.
    Barrier,
    /// Reductions by reading from all ranks.
    Reduce,
    /// Reductions by packets.
    ReducePackets,
    /// All-reduce by packets in two shots.
    ReducePacketsTwice,
}

impl Kernel {
    const COPYING: &[Self] = &[
        Self::Copy,
        Self::HandOut,
        Self::CopyPackets,
        Self::Nothing,
        Self::LocalFlag,
        Self::PeerFlag,
        Self::Barrier,
    ];
    const REDUCING: &[Self] = &[Self::Reduce, Self::ReducePackets, Self::ReducePacketsTwice];

    /// Its name in the PTX.
    pub fn name(self) -> &'static CStr {
        match self {
            Self::Copy => c"copy",
            Self::HandOut => c"hand_out",
            Self::CopyPackets => c"copy_packets",
            Self::Nothing => c"rung_nothing",
            Self::LocalFlag => c"rung_local_flag",
            Self::PeerFlag => c"rung_peer_flag",
            Self::Barrier => c"rung_barrier",
            Self::Reduce => c"reduce",
            Self::ReducePackets => c"reduce_packets",
            Self::ReducePacketsTwice => c"reduce_packets_twice",
        }
    }

    /// Its place among the kernels of its module.
    pub fn index(self) -> usize {
        let of = |all: &[Self]| all.iter().position(|kernel| *kernel == self);
        of(Self::COPYING)
            .or_else(|| of(Self::REDUCING))
            .unwrap_or(0)
    }
}

/// What a wait that was given up leaves on the board: the words of `Report` in `kernels/comm.h`.
pub mod report {
    /// Set by either side: all waits end.
    pub const ABORT: usize = 0;
    /// 1 once the rest is there.
    pub const STATE: usize = 1;
    /// How many words there are.
    pub const WORDS: usize = 8;
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_module_is_known_by_its_ptx_in_both_forms() {
        for &module in Module::ALL {
            for early in [false, true] {
                assert_eq!(Module::of(&module.ptx(early)), Some(module));
            }
            let early = module.ptx(true);
            let base = module.ptx(false);
            for (mark, instead) in EARLY {
                assert!(base.contains(mark) && !early.contains(mark), "{mark}");
                assert!(early.contains(instead), "{instead}");
            }
        }
        assert_eq!(Module::of(""), None);
    }

    #[test]
    fn every_kernel_is_an_entry_of_its_module_and_has_its_own_place() {
        for &module in Module::ALL {
            for (index, kernel) in module.kernels().iter().enumerate() {
                let entry = format!(".entry {}(", kernel.name().to_str().unwrap());
                assert!(module.ptx(false).contains(&entry), "{module:?} {entry}");
                assert_eq!(kernel.index(), index);
            }
            let entries = module.ptx(false).matches(".visible .entry").count();
            assert_eq!(entries, module.kernels().len(), "{module:?}");
        }
    }
}
