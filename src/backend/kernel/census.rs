//! Who is where: what every thread tells the others before anything is shared, and what follows.

use super::household::Home;
use crate::backend::ThreadSeat;
use crate::base::Fault;
use crate::bootstrap;
use crate::bootstrap::Bootstrap;
use crate::bootstrap::Step;
use crate::ffi::cuda::Driver;
use crate::ffi::kernels::collective::MAX_BLOCKS;
use crate::ffi::kernels::collective::MAX_RANKS;
use crate::ffi::kernels::collective::MAX_THREADS;
use crate::record::Shape;
use serde::Deserialize;
use serde::Serialize;
use std::collections::BTreeMap;

/// What every thread tells the others first.
#[derive(Debug, Clone, Serialize, Deserialize)]
pub(super) struct Told {
    pub(super) host: String,
    pub(super) identity: String,
    /// The world's number: the first thread's counts.
    pub(super) number: u64,
    pub(super) ranks: Vec<u32>,
    /// The GPU of each rank.
    pub(super) gpus: Vec<String>,
    pub(super) name: String,
    pub(super) multiprocessors: u32,
}

/// What all know of each other.
#[derive(Debug)]
pub(super) struct Census {
    pub(super) told: Vec<Told>,
    pub(super) shape: Shape,
    /// Threads that one rank's launch may have resident.
    pub(super) resident_threads: u32,
    /// Why there can be no collectives of ours here.
    pub(super) refusal: Option<String>,
}

/// Asks all threads, and counts.
pub(super) fn census(
    driver: &Driver,
    seat: &ThreadSeat,
    homes: &[Home],
    boot: &dyn Bootstrap,
) -> Result<Census, Fault> {
    let mut mine = Told {
        host: seat.host.clone(),
        identity: seat.host_identity.clone(),
        number: random(),
        ranks: seat.ranks.iter().map(|rank| rank.0).collect(),
        gpus: Vec::new(),
        name: String::new(),
        multiprocessors: u32::MAX,
    };
    for home in homes {
        mine.gpus.push(driver.device_uuid(home.device)?);
        mine.name = driver.device_name(home.device)?;
        let here = driver.multiprocessors(home.device)?;
        mine.multiprocessors = mine.multiprocessors.min(here);
    }
    let step = Step {
        name: "who shares memory with whom",
        limit: seat.limit,
    };
    let mut told = Vec::new();
    for bytes in boot.all_gather(step, &bootstrap::encode(&mine)?)? {
        told.push(bootstrap::decode::<Told>(&bytes)?);
    }
    Ok(take_census(told, seat.world.0))
}

fn take_census(told: Vec<Told>, world: u32) -> Census {
    let mut gpus: BTreeMap<(&str, &str), u32> = BTreeMap::new();
    for one in &told {
        for gpu in &one.gpus {
            *gpus.entry((&one.identity, gpu)).or_default() += 1;
        }
    }
    let ranks_per_gpu = gpus.values().copied().max().unwrap_or(1);
    let multiprocessors = told.iter().map(|one| one.multiprocessors).min();
    // A launch that is made ready early is resident beside the one that runs.
    let threads = multiprocessors.unwrap_or(0) * MAX_THREADS / (2 * ranks_per_gpu);
    let refusal = refusal(&told, world, ranks_per_gpu, threads);
    Census {
        shape: Shape {
            world,
            ranks_per_gpu,
            gpu: told.first().map(|one| one.name.clone()).unwrap_or_default(),
            processes: 0,
        },
        resident_threads: threads.min(MAX_BLOCKS * MAX_THREADS),
        told,
        refusal,
    }
}

/// Why these ranks cannot have collectives of ours, if they cannot.
fn refusal(told: &[Told], world: u32, ranks_per_gpu: u32, threads: u32) -> Option<String> {
    if world as usize > MAX_RANKS {
        return Some(format!(
            "backend `kernel` takes {MAX_RANKS} ranks at the most, and there are {world}"
        ));
    }
    let first = told.first()?;
    if let Some(other) = told.iter().find(|one| one.identity != first.identity) {
        return Some(format!(
            "backend `kernel` works within one host; rank {} is on {} and rank {} on {}",
            first.ranks.first()?,
            first.host,
            other.ranks.first()?,
            other.host
        ));
    }
    (threads < 64).then(|| {
        format!("{ranks_per_gpu} ranks share a GPU, more than its multiprocessors can hold at once")
    })
}

/// A number that no other world of this process has.
fn random() -> u64 {
    let mut bytes = [0; 8];
    let flags = rustix::rand::GetRandomFlags::empty();
    match rustix::rand::getrandom(&mut bytes, flags) {
        Ok(8) => u64::from_le_bytes(bytes),
        // The process's id and an address of its stack tell worlds apart too.
        _ => u64::from(std::process::id()) << 32 ^ std::ptr::from_ref(&bytes).addr() as u64,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn told(rank: u32, host: &str, gpu: &str, multiprocessors: u32) -> Told {
        Told {
            host: host.to_owned(),
            identity: format!("{host}/boot"),
            number: 1,
            ranks: vec![rank],
            gpus: vec![gpu.to_owned()],
            name: "a GPU".to_owned(),
            multiprocessors,
        }
    }

    #[test]
    fn ranks_on_one_gpu_share_what_it_can_hold_twice_over() {
        let of = |gpus: &[&str]| {
            let ranks = (0..).zip(gpus).map(|(rank, gpu)| told(rank, "a", gpu, 132));
            take_census(ranks.collect(), u32::try_from(gpus.len()).unwrap())
        };
        let alone = of(&["x", "y"]);
        assert_eq!(alone.shape.ranks_per_gpu, 1);
        assert_eq!(alone.resident_threads, 64 * 512);
        let shared = of(&["x"; 8]);
        assert_eq!(shared.shape.ranks_per_gpu, 8);
        assert_eq!(shared.resident_threads, 132 * 512 / 16);
        assert!(shared.refusal.is_none());
    }

    #[test]
    fn what_cannot_be_is_said_with_names() {
        let two = vec![told(0, "a", "x", 132), told(1, "b", "x", 132)];
        let reason = take_census(two, 2).refusal.unwrap();
        assert!(
            reason.contains("rank 0 is on a and rank 1 on b"),
            "{reason}"
        );
        let many = (0..17).map(|rank| told(rank, "a", &rank.to_string(), 132));
        let reason = take_census(many.collect(), 17).refusal.unwrap();
        assert!(reason.contains("16 ranks"), "{reason}");
        let tight = (0..16).map(|rank| told(rank, "a", "x", 2));
        let reason = take_census(tight.collect(), 16).refusal.unwrap();
        assert!(reason.contains("share a GPU"), "{reason}");
    }
}
