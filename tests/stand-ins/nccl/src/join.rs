//! Initialising a communicator: the id or ids, and the configuration, held against NCCL's rules.

use crate::group::{self, Join};
use crate::wire::Meeting;
use crate::{Code, INVALID_ARGUMENT, comm, cuda, fail, steer};
use std::ffi::{c_int, c_uint, c_void};

/// An id, by value.
#[repr(C)]
#[derive(Clone, Copy)]
pub struct UniqueId {
    internal: [u8; 128],
}

impl UniqueId {
    pub fn new(internal: [u8; 128]) -> Self {
        Self { internal }
    }
}

/// The part of the configuration that every version has.
#[repr(C)]
pub struct Config {
    size: usize,
    magic: c_uint,
    version: c_uint,
    blocking: c_int,
}

/// Fields that newer versions have: name, offset, and the size of the first structure with them.
///
/// # Source
/// `nccl.h` of NCCL 2.27.3 and 2.30.3.
const FIELDS: [(&str, usize, usize); 2] = [("cta-policy", 60, 72), ("p2p-peers", 88, 96)];

/// Refuses a configuration that does not say what a variable wants.
fn check_wanted(config: &Config) -> Result<(), Code> {
    for (name, wanted) in steer::wanted_config() {
        let Some((_, offset, from)) = FIELDS.iter().find(|(known, ..)| *known == name) else {
            return Err(fail(INVALID_ARGUMENT, &format!("no field `{name}`")));
        };
        let start = std::ptr::from_ref(config).cast::<u8>();
        let said = if config.size < *from {
            i32::MIN
        } else {
            // SAFETY: the structure is as long as it says, which holds the field.
            unsafe { start.add(*offset).cast::<i32>().read() }
        };
        if said != wanted {
            let text = format!("the configuration's {name} is {said} and not {wanted}");
            return Err(fail(INVALID_ARGUMENT, &text));
        }
    }
    Ok(())
}

/// Refuses a configuration that the header's initialiser did not make, or that asks for what
/// nccl-tests does not ask for.
fn check_config(config: &Config) -> Result<(), Code> {
    let known = matches!(config.size, 48 | 72 | 80 | 88 | 96);
    if !known || config.magic != 0xcafe_beef || config.version > steer::version().cast_unsigned() {
        return Err(fail(
            INVALID_ARGUMENT,
            "a configuration that no header makes",
        ));
    }
    if config.blocking != 1 {
        return Err(fail(
            INVALID_ARGUMENT,
            "this library has blocking communicators only",
        ));
    }
    check_wanted(config)
}

/// Adds a rank to the open group's communicators.
///
/// # Safety
/// `comm` must be writable until the group closes, and `config` must be NCCL's structure.
pub unsafe fn join(
    comm: *mut *mut c_void,
    world: c_int,
    rank: c_int,
    ids: &[UniqueId],
    config: *mut Config,
) -> Result<(), Code> {
    group::within(|| {
        let context = cuda::require_current()?;
        // SAFETY: the caller's promise.
        check_config(unsafe { &*config })?;
        let (Ok(rank), Ok(world)) = (usize::try_from(rank), usize::try_from(world)) else {
            return Err(fail(INVALID_ARGUMENT, "a negative rank or world"));
        };
        if rank >= world || ids.len() > world {
            return Err(fail(INVALID_ARGUMENT, "a rank or an id outside the world"));
        }
        let meeting = one_meeting(ids)?;
        let (handle, made) = comm::create(rank, world, context);
        // SAFETY: the caller's promise.
        unsafe { comm.write(std::ptr::without_provenance_mut(handle)) };
        group::add_join(Join {
            comm: made,
            meeting,
        });
        Ok(())
    })
}

/// The first of several meetings, each of which must be one, and none of them twice.
fn one_meeting(ids: &[UniqueId]) -> Result<Meeting, Code> {
    let mut texts: Vec<String> = ids
        .iter()
        .map(|id| {
            let text = String::from_utf8_lossy(&id.internal);
            text.trim_end_matches('\0').to_owned()
        })
        .collect();
    let meetings: Option<Vec<Meeting>> = texts.iter().map(|id| Meeting::from_text(id)).collect();
    texts.sort_unstable();
    texts.dedup();
    if texts.len() != ids.len() {
        return Err(fail(INVALID_ARGUMENT, "one id was given twice"));
    }
    let first = meetings.and_then(|meetings| meetings.into_iter().next());
    first.ok_or_else(|| fail(INVALID_ARGUMENT, "an id of another library"))
}
