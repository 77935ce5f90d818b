//! `--dry-run`: the plan as text, without asking a launcher or a backend.

use super::groups::Groups;
use crate::base::Fault;
use crate::base::World;
use crate::cli::Args;
use crate::plan;

/// The rows that a run with these options would have, under a line with the plan's digest.
///
/// The number of processes is what `--spawn` or `--world` says, else 1.
///
/// # Errors
/// `Usage` if the plan is refused.
pub(super) fn text(args: &Args) -> Result<String, Fault> {
    let processes = args.launch.spawn.or(args.launch.world);
    let (processes, each) = (processes.unwrap_or(1), args.threads * args.gpus);
    let world = match args.split {
        None => World(processes * each),
        Some(split) => Groups::new(split, processes as usize, each).world(0),
    };
    let jobs = plan::jobs(&args.plan, world, 0)?;
    let digest = plan::digest(&args.plan, world);
    Ok(format!(
        "# plan {digest} for {world} ranks\n{}",
        plan::listing(&jobs)
    ))
}
