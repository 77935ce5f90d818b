//! Filling, poisoning and checking device memory with our own kernels.
//!
//! What the kernels compute is `ffi/kernels.rs`'s business; here they are loaded and launched, and
//! what they found is explained. Only a check waits.

use super::lane::Lane;
use crate::base::Fault;
use crate::base::Kind;
use crate::base::Span;
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

impl Lane {
    /// Enqueues writing this rank's input.
    pub(super) fn fill(&self, into: Span, recipe: &Recipe) -> Result<(), Fault> {
        let (to, count) = (self.at(into)?, into.len / recipe.dtype.size());
        if count == 0 {
            return Ok(());
        }
        let multiprocessors = self.checker.multiprocessors;
        let launch = kernels::fill(recipe, self.seat.rank, to, count, multiprocessors);
        self.checker.launch(&self.tools.driver, &launch)
    }

    /// Enqueues writing what no right result looks like.
    pub(super) fn poison(&self, span: Span, recipe: &Recipe) -> Result<(), Fault> {
        let (to, count) = (self.at(span)?, span.len / recipe.dtype.size());
        if count == 0 {
            return Ok(());
        }
        let launch = kernels::poison(recipe, to, count, self.checker.multiprocessors);
        self.checker.launch(&self.tools.driver, &launch)
    }

    /// Compares an output with what is expected; `wait` waits for this lane's stream.
    pub(super) fn verify(
        &self,
        got: Span,
        recipe: &Recipe,
        expect: &[Stretch],
        wait: &dyn Fn() -> Result<(), Fault>,
    ) -> Result<Mismatches, Fault> {
        let (driver, checker) = (&self.tools.driver, &self.checker);
        let (at, into) = (self.at(got)?, checker.result.address);
        let (stream, multiprocessors) = (checker.stream, checker.multiprocessors);
        driver.zero(checker.result, stream)?;
        checker.launch_all(
            driver,
            &kernels::verify(recipe, expect, at, into, multiprocessors)?,
        )?;
        wait()?;
        let wrong = checker.download(driver)?.wrong;
        if wrong == 0 {
            return Ok(Mismatches::default());
        }
        checker.launch_all(
            driver,
            &kernels::diagnose(recipe, expect, at, into, multiprocessors)?,
        )?;
        wait()?;
        let found = checker.download(driver)?;
        Ok(self.explain(wrong, &found, recipe, expect))
    }

    fn explain(
        &self,
        wrong: u64,
        found: &VerifyResult,
        recipe: &Recipe,
        expect: &[Stretch],
    ) -> Mismatches {
        let bad = pattern::locate(recipe, expect, &found.bad());
        let place = &self.seat.place;
        Mismatches {
            wrong,
            first: bad
                .into_iter()
                .take(Mismatches::LISTED)
                .map(|finding| BadElement {
                    rank: place.rank,
                    host: place.host.clone(),
                    gpu: place.gpu,
                    index: finding.index,
                    expected_bits: finding.expected_bits,
                    got_bits: finding.got_bits,
                    class: finding.class.to_string(),
                })
                .collect(),
        }
    }
}
