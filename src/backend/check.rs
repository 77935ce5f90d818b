//! Filling, poisoning and checking device memory with our own kernels, for all backends on GPUs.
//!
//! What the kernels compute is `ffi/kernels`' business; here they are loaded and launched, and
//! what they found is explained. Only a check waits.

use crate::base::Fault;
use crate::base::Kind;
use crate::base::Rank;
use crate::base::fault::Place;
use crate::base::pattern;
use crate::base::pattern::Recipe;
use crate::base::pattern::Stretch;
use crate::ffi::cuda::Device;
use crate::ffi::cuda::Driver;
use crate::ffi::cuda::Function;
use crate::ffi::cuda::Memory;
use crate::ffi::cuda::Module;
use crate::ffi::cuda::Stream;
use crate::ffi::kernels;
use crate::ffi::kernels::Launch;
use crate::ffi::kernels::VerifyResult;
use crate::record::BadElement;
use crate::record::Mismatches;
use std::ffi::CStr;

/// The kernels on one device, and the memory that they leave their findings in.
#[derive(Debug)]
pub(super) struct Checker {
    module: Module,
    functions: Vec<(&'static CStr, Function)>,
    result: Memory,
    stream: Stream,
    multiprocessors: u32,
}

impl Checker {
    /// Loads the kernels on the current context's device.
    pub(super) fn new(driver: &Driver, device: Device, stream: Stream) -> Result<Self, Fault> {
        let module = driver.load_module(kernels::PTX)?;
        let functions = kernels::FUNCTIONS
            .iter()
            .map(|&name| Ok((name, driver.function(module, name)?)))
            .collect::<Result<_, Fault>>()?;
        Ok(Self {
            module,
            functions,
            result: driver.alloc(size_of::<VerifyResult>() as u64)?,
            stream,
            multiprocessors: driver.multiprocessors(device)?,
        })
    }

    /// Gives the kernels and their memory back.
    pub(super) fn give_back(&self, driver: &Driver) {
        drop(driver.free(self.result));
        drop(driver.unload_module(self.module));
    }

    fn launch(&self, driver: &Driver, launch: &Launch) -> Result<(), Fault> {
        let named = |(name, _): &&(&CStr, Function)| *name == launch.function;
        let Some(&(_, function)) = self.functions.iter().find(named) else {
            let message = format!("{:?} is not among the kernels", launch.function);
            return Err(Fault::new(Kind::Call, message));
        };
        driver.launch(
            function,
            launch.grid,
            launch.block,
            &launch.params,
            self.stream,
        )
    }

    fn launch_all(&self, driver: &Driver, launches: &[Launch]) -> Result<(), Fault> {
        launches
            .iter()
            .try_for_each(|launch| self.launch(driver, launch))
    }

    fn download(&self, driver: &Driver) -> Result<VerifyResult, Fault> {
        let mut result = VerifyResult::default();
        driver.download(self.result, bytemuck::bytes_of_mut(&mut result))?;
        Ok(result)
    }
}

/// Device memory that is written or checked, from its first element on.
#[derive(Debug, Clone, Copy)]
pub(super) struct Stretched {
    /// Address.
    pub(super) at: u64,
    /// Bytes.
    pub(super) len: u64,
}

impl Checker {
    /// Enqueues writing a rank's input.
    pub(super) fn fill(
        &self,
        driver: &Driver,
        rank: Rank,
        into: Stretched,
        recipe: &Recipe,
    ) -> Result<(), Fault> {
        let count = into.len / recipe.dtype.size();
        if count == 0 {
            return Ok(());
        }
        let launch = kernels::fill(recipe, rank, into.at, count, self.multiprocessors);
        self.launch(driver, &launch)
    }

    /// Enqueues writing what no right result looks like.
    pub(super) fn poison(
        &self,
        driver: &Driver,
        into: Stretched,
        recipe: &Recipe,
    ) -> Result<(), Fault> {
        let count = into.len / recipe.dtype.size();
        if count == 0 {
            return Ok(());
        }
        let launch = kernels::poison(recipe, into.at, count, self.multiprocessors);
        self.launch(driver, &launch)
    }

    /// Compares a rank's output at address `at` with what is expected; `wait` waits for the stream.
    pub(super) fn verify(
        &self,
        driver: &Driver,
        (at, place): (u64, &Place),
        recipe: &Recipe,
        expect: &[Stretch],
        wait: &dyn Fn() -> Result<(), Fault>,
    ) -> Result<Mismatches, Fault> {
        let (into, multiprocessors) = (self.result.address, self.multiprocessors);
        driver.zero(self.result, self.stream)?;
        self.launch_all(
            driver,
            &kernels::verify(recipe, expect, at, into, multiprocessors)?,
        )?;
        wait()?;
        let wrong = self.download(driver)?.wrong;
        if wrong == 0 {
            return Ok(Mismatches::default());
        }
        self.launch_all(
            driver,
            &kernels::diagnose(recipe, expect, at, into, multiprocessors)?,
        )?;
        wait()?;
        let found = self.download(driver)?;
        Ok(explain(wrong, &found, recipe, expect, place))
    }
}

fn explain(
    wrong: u64,
    found: &VerifyResult,
    recipe: &Recipe,
    expect: &[Stretch],
    place: &Place,
) -> Mismatches {
    let bad = pattern::locate(recipe, expect, &found.bad());
    Mismatches {
        wrong,
        first: bad
            .into_iter()
            .take(Mismatches::LISTED)
            .map(|finding| BadElement::new(&finding, place.rank, &place.host, place.gpu))
            .collect(),
    }
}
