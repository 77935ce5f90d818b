//! What only a sweep does: its file in the store, going on after an interruption, its estimate.

mod earlier;
mod estimate;
mod keep;

pub(super) use earlier::Earlier;
pub(super) use estimate::text as dry_run;
pub(super) use keep::create;
