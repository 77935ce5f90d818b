//! NCCL's ids: how many a world gets, which ranks make them, and how all come to have them.
//!
//! Every rank of a communicator asks the maker of an id for its neighbours. With one id that is one
//! rank for all; NCCL 2.23 and newer take several, each of which serves its share of the ranks.

use super::Tools;
use super::open::step;
use crate::backend::ThreadSeat;
use crate::base::Env;
use crate::base::Fault;
use crate::base::Kind;
use crate::base::Rank;
use crate::base::World;
use crate::bootstrap::Bootstrap;
use crate::ffi::nccl::Nccl;
use crate::ffi::nccl::UniqueId;

/// Worlds of more ranks than this get several ids.
const MOST_FOR_ONE: u32 = 512;

/// Ranks that one of several ids serves. Ours, and not measured: NCCL's guide asks for ids that are
/// spread evenly, and gives no number.
const RANKS_FOR_EACH: u32 = 128;

/// Sets both numbers, so that a test sees several ids in a small world. Nothing that a user needs.
const VARIABLE: &str = "NCCLBENCH_RANKS_FOR_EACH_ID";

/// How many ids a world gets from a library that can take several.
fn wanted(world: World, env: &Env) -> Result<u32, Fault> {
    let (most, each) = match env.get(VARIABLE) {
        None => (MOST_FOR_ONE, RANKS_FOR_EACH),
        Some(text) => match text.parse() {
            Ok(each) if each > 0 => (each, each),
            _ => {
                let text = format!("invalid value `{text}` for `{VARIABLE}`; expected at least 1");
                return Err(Fault::usage(text));
            }
        },
    };
    Ok(if world.0 > most {
        world.0.div_ceil(each)
    } else {
        1
    })
}

/// How many ids this library's world gets.
pub(super) fn count(world: World, nccl: &Nccl, env: &Env) -> Result<u32, Fault> {
    let wanted = wanted(world, env)?;
    Ok(if nccl.has_scalable() { wanted } else { 1 })
}

/// What a record says about it, where one id is not all there is to say.
pub(super) fn note(world: World, nccl: &Nccl, env: &Env) -> Option<String> {
    let wanted = wanted(world, env).unwrap_or(1);
    let version = nccl.version_text();
    match count(world, nccl, env) {
        _ if wanted == 1 => None,
        Ok(count) if count > 1 => Some(format!(
            "NCCL was initialised by ncclCommInitRankScalable with {count} ids, one for at most {} ranks",
            world.0.div_ceil(count)
        )),
        _ => Some(format!(
            "NCCL {version} has no ncclCommInitRankScalable: one rank's id serves all {world} ranks"
        )),
    }
}

/// Whether `rank` makes an id: the first of each stretch does. Stretches are as long as NCCL's own,
/// so that a rank is served by the id that was made nearest to it.
///
/// # Source
/// NCCL's user guide, "Creating a communicator using multiple ncclUniqueIds"; its example of 3 ids
/// for 7 ranks is a test below.
fn is_maker(rank: Rank, world: World, ids: u32) -> bool {
    let (each, longer) = (world.0 / ids, world.0 % ids);
    let in_longer = longer * (each + 1);
    match rank.0.checked_sub(in_longer) {
        None => rank.0.is_multiple_of(each + 1),
        Some(rank) => rank.is_multiple_of(each),
    }
}

/// Makes this thread's ids and gives all threads everybody's, in the order of the ranks.
pub(super) fn share(
    tools: &Tools,
    seat: &ThreadSeat,
    boot: &dyn Bootstrap,
) -> Result<Vec<UniqueId>, Fault> {
    let count = count(seat.world, &tools.nccl, &seat.wish.env)?;
    let mut mine = Vec::new();
    for &rank in &seat.ranks {
        if is_maker(rank, seat.world, count) {
            mine.extend_from_slice(tools.nccl.unique_id()?.as_bytes());
        }
    }
    let all = boot.decide(step(seat, "NCCL's ids"), &mine, &|said| Ok(said.concat()))?;
    let ids = UniqueId::all_from_bytes(&all)?;
    if ids.len() == count as usize {
        return Ok(ids);
    }
    let text = format!(
        "{count} ids of NCCL were to be made, and {} came",
        ids.len()
    );
    Err(Fault::new(Kind::Disagree, text))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn ids_are_made_by_the_first_rank_of_stretches_that_are_as_even_as_they_can_be() {
        let makers = |world, ids| -> Vec<u32> {
            let ranks = 0..world;
            ranks
                .filter(|&rank| is_maker(Rank(rank), World(world), ids))
                .collect()
        };
        assert_eq!(makers(7, 3), [0, 3, 5]);
        assert_eq!(makers(5, 1), [0]);
        assert_eq!(makers(5, 5), [0, 1, 2, 3, 4]);
        for world in [513, 777, 4096, 16_384] {
            let ids = wanted(World(world), &Env::default()).unwrap();
            assert_eq!(makers(world, ids).len(), ids as usize, "{world}");
        }
    }

    #[test]
    fn small_worlds_have_one_id_and_large_ones_one_for_each_128_ranks() {
        let count = |world| wanted(World(world), &Env::default()).unwrap();
        let counts = [1, 512, 513, 4096].map(count);
        assert_eq!(counts, [1, 1, 5, 32]);
        let env: Env = [(VARIABLE, "none")].into_iter().collect();
        assert_eq!(wanted(World(2), &env).unwrap_err().kind, Kind::Usage);
    }
}
