//! Making a communicator: its id or ids, its configuration, joining it.

use super::Comm;
use super::Nccl;
use super::sys::CommHandle;
use super::sys::RawConfig;
use super::sys::RawUniqueId;
use super::sys::UNIQUE_ID_BYTES;
use crate::base::Fault;
use crate::base::Kind;
use crate::record::CtaPolicy;
use std::ptr::null_mut;

/// What a communicator is told beside nccl-tests' defaults.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub struct Tuning {
    /// How many of a GPU's thread blocks it may take (`-x`).
    pub cta_policy: Option<CtaPolicy>,
    /// With how many peers a rank exchanges messages, where those are few. Older libraries do
    /// without: it changes resources and no result.
    pub p2p_peers: Option<u32>,
}

/// What names a communicator before it exists.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct UniqueId([u8; UNIQUE_ID_BYTES]);

impl UniqueId {
    /// The id as it travels.
    pub fn as_bytes(&self) -> &[u8] {
        &self.0
    }

    /// An id that travelled.
    ///
    /// # Errors
    /// `Disagree` where the bytes are not as many as an id has.
    pub fn from_bytes(bytes: &[u8]) -> Result<Self, Fault> {
        bytes.try_into().map(Self).map_err(|_| {
            let got = bytes.len();
            let message = format!("NCCL's id has {UNIQUE_ID_BYTES} bytes, and {got} came");
            Fault::new(Kind::Disagree, message)
        })
    }
}

impl UniqueId {
    /// Several ids that travelled together.
    ///
    /// # Errors
    /// `Disagree` where the bytes are not a whole number of ids.
    pub fn all_from_bytes(bytes: &[u8]) -> Result<Vec<Self>, Fault> {
        bytes
            .chunks(UNIQUE_ID_BYTES)
            .map(Self::from_bytes)
            .collect()
    }

    fn raw(self) -> RawUniqueId {
        RawUniqueId {
            internal: self.0.map(|byte| std::ffi::c_char::from_ne_bytes([byte])),
        }
    }
}

impl Nccl {
    /// Whether it has `ncclCommInitRankScalable` (2.23 and newer).
    pub fn has_scalable(&self) -> bool {
        self.calls.comm_init_rank_scalable.is_some()
    }

    /// `Ok` where the library can be told so.
    ///
    /// # Errors
    /// `Unsupported`, naming the option and the versions.
    ///
    /// # Source
    /// nccl-tests 2.19.6, `src/common.cu`, option `-x`; it goes on without where we refuse.
    pub fn require_tuning(&self, tuning: Tuning) -> Result<(), Fault> {
        let (since, name) = match tuning.cta_policy {
            None => return Ok(()),
            Some(CtaPolicy::Zero) => (22800, "2.28"),
            Some(CtaPolicy::Default | CtaPolicy::Efficiency) => (22700, "2.27"),
        };
        if self.version >= since {
            return Ok(());
        }
        let policy = tuning.cta_policy.map_or(0, CtaPolicy::number);
        let found = self.version_text();
        let text = format!("CTA policy {policy} (`-x`) needs NCCL {name}, and {found} is loaded");
        let hint = "run without `-x`, or name a newer library with `--nccl-lib`";
        Err(Fault::unsupported(text).hint(hint))
    }

    /// The call that joins a communicator by so many ids.
    pub fn joining_call(ids: usize) -> &'static str {
        match ids {
            1 => "ncclCommInitRankConfig",
            _ => "ncclCommInitRankScalable",
        }
    }

    /// A new communicator's id; the calling process listens for its ranks from now on.
    ///
    /// # Errors
    /// `Call` where the library fails.
    pub fn unique_id(&self) -> Result<UniqueId, Fault> {
        let mut id = RawUniqueId {
            internal: [0; UNIQUE_ID_BYTES],
        };
        // SAFETY: writes one id.
        let code = unsafe { (self.calls.get_unique_id)(&raw mut id) };
        self.check("ncclGetUniqueId", code)?;
        Ok(UniqueId(id.internal.map(|byte| byte.to_ne_bytes()[0])))
    }

    /// Joins `ranks` of a communicator of `world` ranks from this thread, as one group call. Several
    /// ids are the same on all ranks and in the same order.
    ///
    /// `select` is called with an index into `ranks` and makes that rank's device current. Blocks
    /// until every rank of the world has come. The configuration is nccl-tests', with `tuning`.
    ///
    /// # Errors
    /// `Call` where the library fails, `Unsupported` where it takes one id only or cannot be tuned
    /// so, else `select`'s.
    pub fn join(
        &self,
        ids: &[UniqueId],
        world: u32,
        ranks: &[u32],
        tuning: Tuning,
        select: &dyn Fn(usize) -> Result<(), Fault>,
    ) -> Result<Vec<Comm>, Fault> {
        self.require_tuning(tuning)?;
        let mut config = RawConfig::like_nccl_tests(self.version, tuning);
        let mut handles: Vec<CommHandle> = vec![null_mut(); ranks.len()];
        let mut ids: Vec<RawUniqueId> = ids.iter().map(|id| id.raw()).collect();
        let call = Self::joining_call(ids.len());
        // The handles stay where they are until the group has closed: NCCL keeps their addresses.
        let slots = handles.as_mut_ptr();
        self.group(call, &mut || {
            for (index, &rank) in ranks.iter().enumerate() {
                select(index)?;
                // SAFETY: `index` is below the vector's length.
                let slot = unsafe { slots.add(index) };
                self.join_one((&mut ids, &mut config), world, rank, slot)?;
            }
            Ok(())
        })?;
        Ok(handles.into_iter().map(Comm).collect())
    }

    fn join_one(
        &self,
        (ids, config): (&mut [RawUniqueId], &mut RawConfig),
        world: u32,
        rank: u32,
        slot: *mut CommHandle,
    ) -> Result<(), Fault> {
        let call = Self::joining_call(ids.len());
        let config = &raw mut *config;
        let (world, rank) = (world.cast_signed(), rank.cast_signed());
        let code = match (ids, self.calls.comm_init_rank_scalable) {
            // SAFETY: the slot outlives the group; the configuration is read before the call
            // returns (`src/init.cc`, `parseCommConfig` copies it).
            ([id], _) => unsafe {
                (self.calls.comm_init_rank_config)(slot, world, *id, rank, config)
            },
            (ids, Some(scalable)) => {
                let count = i32::try_from(ids.len()).unwrap_or(i32::MAX);
                // SAFETY: as above; `ids` has `count` entries and outlives the group.
                unsafe { scalable(slot, world, rank, count, ids.as_mut_ptr(), config) }
            }
            (_, None) => return Err(Fault::unsupported(format!("this NCCL has no {call}"))),
        };
        self.check(call, code)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn an_id_of_the_wrong_length_is_a_disagreement() {
        let fault = UniqueId::from_bytes(&[0; 127]).unwrap_err();
        assert_eq!(fault.kind, Kind::Disagree);
        assert!(fault.message.contains("127"), "{fault}");
    }
}
