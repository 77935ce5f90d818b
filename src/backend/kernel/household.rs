//! What the ranks of one process share: contexts, memory that is mapped once, modules.
//!
//! Every thread of a process opens its own session; the first of them founds the household of their
//! world and the others find it. Modules are loaded for all devices of the process before anything
//! of them is launched, because loading may wait for kernels that wait for the ranks that load.

use super::post::Label;
use super::post::Post;
use crate::base::Clock;
use crate::base::Fault;
use crate::base::FaultContext;
use crate::base::Kind;
use crate::ffi::cuda::Allocation;
use crate::ffi::cuda::Context;
use crate::ffi::cuda::Device;
use crate::ffi::cuda::Driver;
use crate::ffi::cuda::Function;
use crate::ffi::cuda::Memory;
use crate::ffi::kernels::collective::MAX_RANKS;
use crate::ffi::kernels::collective::Module;
use std::collections::HashMap;
use std::collections::hash_map::Entry;
use std::sync::Arc;
use std::sync::Mutex;
use std::sync::MutexGuard;
use std::sync::OnceLock;
use std::sync::PoisonError;
use std::sync::Weak;
use std::time::Duration;

/// How long a wait pauses between two looks.
const LOOK: Duration = Duration::from_micros(200);

/// Which of a rank's memory: its workspace, before its buffers.
pub(super) const WORKSPACE: u32 = u32::MAX;

/// A device of this process, with its context.
#[derive(Debug, Clone, Copy)]
pub(super) struct Home {
    pub(super) ordinal: u32,
    pub(super) device: Device,
    pub(super) context: Context,
}

/// The kernels of a module on a device, in the order of `Module::kernels`.
pub(super) type Functions = Arc<Vec<Function>>;

/// One process's share of a world.
#[derive(Debug)]
pub(super) struct Household {
    driver: Arc<Driver>,
    clock: Arc<dyn Clock>,
    state: Mutex<State>,
}

#[derive(Debug)]
struct State {
    homes: Vec<Home>,
    post: Post,
    /// The doorways of all processes, this one's too, once they are known; and which is ours.
    names: Vec<String>,
    me: usize,
    /// Everybody's memory as this process sees it, by rank and index.
    places: HashMap<(u32, u32), Memory>,
    /// What is to be unmapped and released at the end.
    held: Vec<(Allocation, Memory)>,
    modules: HashMap<(u32, Module), (crate::ffi::cuda::Module, Functions)>,
}

type Registry = Mutex<Vec<(u64, Weak<Household>)>>;

/// The households of this process, by their world's number: tests have several.
fn registry() -> MutexGuard<'static, Vec<(u64, Weak<Household>)>> {
    static REGISTRY: OnceLock<Registry> = OnceLock::new();
    let registry = REGISTRY.get_or_init(Registry::default);
    registry.lock().unwrap_or_else(PoisonError::into_inner)
}

impl Household {
    /// The household of world number `world`, founded where there is none; `homes` are added to it.
    ///
    /// # Errors
    /// `Call` where no socket can be opened.
    pub(super) fn join(
        world: u64,
        driver: &Arc<Driver>,
        clock: &Arc<dyn Clock>,
        homes: &[Home],
    ) -> Result<Arc<Self>, Fault> {
        let mut registry = registry();
        registry.retain(|(_, household)| household.strong_count() > 0);
        let known = registry.iter().find(|(number, _)| *number == world);
        let known = known.and_then(|(_, household)| household.upgrade());
        let household = if let Some(household) = known {
            household
        } else {
            let household = Arc::new(Self::found(driver, clock)?);
            registry.push((world, Arc::downgrade(&household)));
            household
        };
        let mut state = household.state();
        for home in homes {
            if state
                .homes
                .iter()
                .all(|known| known.ordinal != home.ordinal)
            {
                state.homes.push(*home);
            }
        }
        drop(state);
        Ok(household)
    }

    fn found(driver: &Arc<Driver>, clock: &Arc<dyn Clock>) -> Result<Self, Fault> {
        Ok(Self {
            driver: Arc::clone(driver),
            clock: Arc::clone(clock),
            state: Mutex::new(State {
                homes: Vec::new(),
                post: Post::open()?,
                names: Vec::new(),
                me: 0,
                places: HashMap::new(),
                held: Vec::new(),
                modules: HashMap::new(),
            }),
        })
    }

    fn state(&self) -> MutexGuard<'_, State> {
        self.state.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// The name of this process's doorway.
    pub(super) fn doorway(&self) -> String {
        self.state().post.name().to_owned()
    }

    /// Makes the processes known to each other: all doorways, each once.
    pub(super) fn meet(&self, names: &[String]) {
        let mut state = self.state();
        state.me = names
            .iter()
            .position(|name| name == state.post.name())
            .unwrap_or(0);
        state.names = names.to_vec();
    }

    /// Allocates memory on a device for `rank` and gives it to all processes.
    ///
    /// # Errors
    /// `Call` where there is not enough or it cannot be mapped.
    pub(super) fn share(
        &self,
        rank: u32,
        index: u32,
        home: &Home,
        len: u64,
    ) -> Result<Memory, Fault> {
        let mut state = self.state();
        let allocation = self.driver.create(home.device, len)?;
        let memory = match self.driver.map(&allocation, &state.devices()) {
            Ok(memory) => memory,
            Err(fault) => {
                self.driver.release(allocation);
                return Err(fault);
            }
        };
        let label = Label {
            rank,
            index,
            len: allocation.len,
        };
        for process in 0..state.names.len() {
            if process != state.me {
                let fd = self.driver.export(&allocation)?;
                state.post.send(process, label, fd);
            }
        }
        state.places.insert((rank, index), memory);
        state.held.push((allocation, memory));
        Ok(memory.cut(len))
    }

    /// Waits until everybody's memory `index` is here; where it lies, by rank.
    ///
    /// # Errors
    /// `Timeout` naming whose is missing, `Call` where it cannot be mapped, that of `alive`.
    pub(super) fn everybodys(
        &self,
        index: u32,
        world: u32,
        limit: Duration,
        alive: &dyn Fn() -> Result<(), Fault>,
    ) -> Result<[u64; MAX_RANKS], Fault> {
        let start = self.clock.now();
        loop {
            let missing = {
                let mut state = self.state();
                self.take_in(&mut state)?;
                let missing: Vec<u32> = (0..world)
                    .filter(|rank| !state.places.contains_key(&(*rank, index)))
                    .collect();
                if missing.is_empty() {
                    return Ok(state.addresses(index));
                }
                missing
            };
            alive()?;
            if self.clock.now().saturating_sub(start) >= limit {
                return Err(too_late(&missing, limit));
            }
            self.clock.pause(LOOK);
        }
    }

    /// Maps what has come.
    fn take_in(&self, state: &mut State) -> Result<(), Fault> {
        let State { post, names, .. } = state;
        for (label, fd) in post.pump(names)? {
            let allocation = self.driver.import(&fd, label.len)?;
            let memory = self
                .driver
                .map(&allocation, &state.devices())
                .while_doing(|| format!("mapping the memory of rank {}", label.rank))?;
            state.places.insert((label.rank, label.index), memory);
            state.held.push((allocation, memory));
        }
        Ok(())
    }

    /// The kernels of a module on one device; they are loaded on all devices of the process first.
    ///
    /// # Errors
    /// `Call` where the driver cannot compile them.
    pub(super) fn functions(
        &self,
        ordinal: u32,
        module: Module,
        early: bool,
    ) -> Result<Functions, Fault> {
        let mut state = self.state();
        for home in state.homes.clone() {
            if let Entry::Vacant(place) = state.modules.entry((home.ordinal, module)) {
                place.insert(self.load(&home, module, early)?);
            }
        }
        let found = state.modules.get(&(ordinal, module));
        let (_, functions) = found.ok_or_else(|| {
            Fault::new(
                Kind::Call,
                format!("device {ordinal} is not this process's"),
            )
        })?;
        let functions = Arc::clone(functions);
        let home = state.homes.iter().find(|home| home.ordinal == ordinal);
        if let Some(home) = home {
            self.driver.set_current(home.context)?;
        }
        Ok(functions)
    }

    fn load(
        &self,
        home: &Home,
        module: Module,
        early: bool,
    ) -> Result<(crate::ffi::cuda::Module, Functions), Fault> {
        self.driver.set_current(home.context)?;
        let loaded = self
            .driver
            .load_module(&module.ptx(early))
            .while_doing(|| format!("loading the kernels of `{}`", module.name()))?;
        let kernels = module.kernels().iter();
        let functions = kernels
            .map(|kernel| self.driver.function(loaded, kernel.name()))
            .collect::<Result<_, _>>()?;
        Ok((loaded, Arc::new(functions)))
    }
}

impl State {
    fn devices(&self) -> Vec<Device> {
        self.homes.iter().map(|home| home.device).collect()
    }

    fn addresses(&self, index: u32) -> [u64; MAX_RANKS] {
        let address = |rank: usize| {
            let rank = u32::try_from(rank).unwrap_or(u32::MAX);
            self.places
                .get(&(rank, index))
                .map_or(0, |memory| memory.address)
        };
        std::array::from_fn(address)
    }
}

fn too_late(missing: &[u32], limit: Duration) -> Fault {
    let names: Vec<_> = missing.iter().map(ToString::to_string).collect();
    Fault::new(
        Kind::Timeout,
        format!(
            "the memory of ranks {} has not come within {} s",
            names.join(", "),
            limit.as_secs_f64()
        ),
    )
}

impl Drop for Household {
    /// Gives modules and memory back. Others keep what they have mapped.
    fn drop(&mut self) {
        let state = self.state.get_mut().unwrap_or_else(PoisonError::into_inner);
        for home in &state.homes {
            drop(self.driver.set_current(home.context));
            for ((ordinal, _), (module, _)) in &state.modules {
                if *ordinal == home.ordinal {
                    drop(self.driver.unload_module(*module));
                }
            }
        }
        for (allocation, memory) in std::mem::take(&mut state.held) {
            self.driver.unmap(memory);
            self.driver.release(allocation);
        }
    }
}
