//! Backend `kernel`: our own collectives on GPUs, by kernels of ours and by the copy engines.
//!
//! All ranks are on one host and reach each other's memory. One engine thread drives its ranks by
//! launching on each one's stream. Nothing here times, prints or decides what to do about a fault.

mod abort;
mod algo;
mod census;
mod choice;
mod engine;
mod extras;
mod household;
mod lane;
mod lanes;
mod moves;
mod open;
mod order;
mod post;
mod session;
mod verbs;

use super::Backend;
use super::Equipment;
use super::Session;
use super::ThreadSeat;
use super::Wish;
use crate::base::Fault;
use crate::base::World;
use crate::bootstrap::Bootstrap;
use crate::ffi::cuda::Driver;
use crate::record::Shape;
use crate::record::Tuning;

/// Our own kernels on the GPUs that this process can see.
#[derive(Debug)]
pub(super) struct KernelBackend;

impl Backend for KernelBackend {
    fn name(&self) -> &'static str {
        "kernel"
    }

    fn summary(&self) -> &'static str {
        "collectives of our own on the GPUs of one host: libcuda is loaded at run time"
    }

    fn measures(&self) -> bool {
        true
    }

    fn lanes_share_a_thread(&self) -> bool {
        true
    }

    fn probe(&self, wish: &Wish) -> Result<Equipment, Fault> {
        let driver = Driver::load(&wish.env)?;
        Ok(Equipment {
            libraries: vec![driver.record()?],
            devices: driver.devices()?,
            notes: Vec::new(),
        })
    }

    fn joining(&self, wish: &Wish, world: World) -> Option<String> {
        let devices = Driver::load(&wish.env).and_then(|driver| driver.devices());
        let gpu = devices
            .ok()
            .and_then(|devices| Some(devices.first()?.name.clone()));
        choice::note(&wish.kernel, world.0, gpu.as_deref())
    }

    fn open(&self, seat: &ThreadSeat, boot: &dyn Bootstrap) -> Result<Box<dyn Session>, Fault> {
        Ok(Box::new(open::open(seat, boot)?))
    }
}

/// The algorithms that can be asked for: the name, what it is, and which collectives it runs.
pub fn algorithms() -> Vec<(&'static str, &'static str, Vec<&'static str>)> {
    algo::Algo::ALL
        .iter()
        .map(|algo| {
            let verbs = algo.verbs().iter().map(|verb| verb.name()).collect();
            (algo.name(), algo.summary(), verbs)
        })
        .collect()
}

/// The collectives that this backend has.
pub fn collectives() -> Vec<&'static str> {
    algo::Verb::ALL.iter().map(|verb| verb.name()).collect()
}

/// The algorithms that run a collective, and whether each has a grid of blocks and threads.
pub fn moving(collective: &str) -> Vec<(&'static str, bool)> {
    let verb = algo::Verb::by_name(collective);
    let runs = |algo: &&algo::Algo| verb.is_some_and(|verb| algo.verbs().contains(&verb));
    algo::Algo::ALL
        .iter()
        .filter(|algo| algo.moves_data())
        .filter(runs)
        .map(|algo| (algo.name(), *algo != algo::Algo::Engine))
        .collect()
}

/// Whether there is an algorithm of this name.
///
/// # Errors
/// `Usage`, with all names.
pub fn check_algorithm(name: &str) -> Result<(), Fault> {
    algo::Algo::by_name(name).map(drop)
}

/// The table of algorithms that is used where none was measured.
pub fn built_in_table(shape: &Shape) -> Tuning {
    choice::built_in_table(shape)
}
