//! What only a sweep does: its file in the store, going on after an interruption, its estimate.

mod earlier;
mod estimate;
mod examine;
pub(super) mod judge;
mod keep;

pub(super) use earlier::Earlier;
pub(super) use estimate::text as dry_run;
pub(super) use examine::Patient;
pub(super) use examine::examine;
pub(super) use examine::tell as tell_examination;
pub(super) use judge::Stop;
pub(super) use keep::create;
