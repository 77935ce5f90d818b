//! The network path: `ncclbench path`, and what every run finds out about its own.

mod log;
mod offline;
mod watch;

pub(super) use log::Log;
pub(super) use offline::run;
pub(super) use watch::Ours;
pub(super) use watch::Watch;

use crate::base::Placement;
use crate::record::Case;

/// How often an engine runs the operation of a case: once before timing, all that are timed, and once
/// for each round of checking.
fn operations(case: &Case) -> u64 {
    let checked = case.placement == Placement::OutOfPlace || case.checkable;
    let checks = if checked { case.checks } else { 0 };
    1 + u64::from(case.iterations) * u64::from(case.ops_per_batch) + u64::from(checks)
}
