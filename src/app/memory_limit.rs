//! What the memory allows: the largest buffers, and what is left of a sweep with them.

use super::worker;
use super::worker::Common;
use crate::backend::Session;
use crate::backend::ThreadSeat;
use crate::base::Bytes;
use crate::base::Fault;
use crate::base::Kind;
use crate::bootstrap;
use crate::bootstrap::Bootstrap;
use crate::engine;
use crate::plan::PlanSpec;

/// The size limit that memory sets, as all threads agreed on it.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) struct Limit(pub(super) Option<Bytes>);

/// The least over all ranks of what two buffers may take: free memory after the communicator is
/// made, shared fairly where ranks share a device, less a reserve for what libraries allocate late.
pub(super) fn memory_limit(
    common: &Common<'_>,
    seat: &ThreadSeat,
    session: &dyn Session,
    plane: &dyn Bootstrap,
) -> Result<Limit, Fault> {
    let mut mine: Option<u64> = None;
    let mut outcome = Ok(());
    for (lane, &rank) in seat.ranks.iter().enumerate() {
        match session.free_memory(lane) {
            Ok(Some(free)) => {
                let share = buffer_limit(free.0, common.berths.sharers(rank));
                mine = Some(mine.map_or(share, |least| least.min(share)));
            }
            Ok(None) => {}
            Err(fault) => outcome = Err(fault.at(worker::place(common, seat))),
        }
    }
    plane.agree(worker::step("the free memory", common.init_limit), outcome)?;
    let said = plane.decide(
        worker::step("the memory limit", common.init_limit),
        &bootstrap::encode(&mine)?,
        &least,
    )?;
    let least: Option<u64> = bootstrap::decode(&said)?;
    let padding = engine::padding(&common.parts[0].tweaks).0;
    Ok(Limit(
        least.map(|least| Bytes(least.saturating_sub(padding))),
    ))
}

/// The least of all that have a limit.
fn least(said: &[Vec<u8>]) -> Result<Vec<u8>, Fault> {
    let mut least: Option<u64> = None;
    for bytes in said {
        let theirs: Option<u64> = bootstrap::decode(bytes)?;
        least = [least, theirs].into_iter().flatten().min();
    }
    bootstrap::encode(&least)
}

/// Bytes for each of a rank's two buffers.
fn buffer_limit(free: u64, sharers: u64) -> u64 {
    let reserve = (free / 16).min(2 << 30);
    (free - reserve) / sharers.max(1) / 2
}

/// What is left of each part within the memory that there is.
pub(super) fn clamp(
    parts: &[PlanSpec],
    limit: Limit,
    may_clamp: bool,
) -> Result<Vec<PlanSpec>, Fault> {
    let Some(limit) = limit.0 else {
        return Ok(parts.to_vec());
    };
    let clamped = |part: &PlanSpec| {
        if limit < part.sweep.min || (!may_clamp && limit < part.sweep.max) {
            return Err(too_little(part, limit, may_clamp));
        }
        Ok(PlanSpec {
            sweep: part.sweep.clamped(limit),
            ..part.clone()
        })
    };
    parts.iter().map(clamped).collect()
}

fn too_little(part: &PlanSpec, limit: Bytes, may_clamp: bool) -> Fault {
    let (text, hint) = if may_clamp {
        let min = part.sweep.min;
        (
            format!("the smallest size is {min}"),
            "start with a smaller size, `-b`",
        )
    } else {
        let max = part.sweep.max;
        let text = format!("the largest size is {max}, and `--no-clamp` leaves none out");
        (
            text,
            "end with a smaller size, `-e`, or leave `--no-clamp` out",
        )
    };
    let text = format!("there is not enough memory: buffers of {limit} are the most, {text}");
    Fault::new(Kind::Missing, text).hint(hint)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn two_buffers_and_a_reserve_fit_into_each_ranks_share() {
        let limit = buffer_limit(100 << 30, 4);
        assert!(4 * 2 * limit <= (100 << 30) - (2 << 30) && limit > 12 << 30);
        assert!(buffer_limit(139 << 30, 1) >= 16 << 30);
        assert_eq!(buffer_limit(0, 0), 0);
    }
}
