//! On a real GPU: the driver takes the base PTX, and the kernels agree with Rust bit for bit.
//!
//! Run with `cargo test --test gpu -- --ignored` on a machine with a GPU. The same tests run on the
//! stand-in driver where `LD_LIBRARY_PATH` leads to it, which proves the tests and not the kernels.
#![allow(
    clippy::unwrap_used,
    clippy::expect_used,
    clippy::panic,
    reason = "a test fails by panicking"
)]

use ncclbench::base::DataType;
use ncclbench::base::Env;
use ncclbench::base::Rank;
use ncclbench::base::RedOp;
use ncclbench::base::World;
use ncclbench::base::pattern;
use ncclbench::base::pattern::Recipe;
use ncclbench::base::pattern::Source;
use ncclbench::base::pattern::Stretch;
use ncclbench::ffi::cuda::Driver;
use ncclbench::ffi::cuda::Memory;
use ncclbench::ffi::cuda::Module;
use ncclbench::ffi::cuda::Stream;
use ncclbench::ffi::kernels;
use ncclbench::ffi::kernels::Launch;
use ncclbench::ffi::kernels::VerifyResult;

/// Odd, so that tails are used; large enough for several blocks and for whole vectors.
const COUNT: u64 = 270_003;

/// Where a buffer begins, in elements: on a vector, and off it where the element is narrower.
const STARTS: [u64; 2] = [0, 1];

/// One device with the kernels loaded.
struct Gpu {
    driver: Driver,
    module: Module,
    stream: Stream,
    multiprocessors: u32,
    result: Memory,
}

impl Gpu {
    fn open() -> Self {
        let driver = Driver::load(&Env::default()).expect("these tests need a GPU and its driver");
        let device = driver.device(0).unwrap();
        let context = driver.primary_context(device).unwrap();
        driver.set_current(context).unwrap();
        let module = driver.load_module(kernels::PTX).unwrap();
        let stream = driver.stream().unwrap();
        let multiprocessors = driver.multiprocessors(device).unwrap();
        let result = driver.alloc(size_of::<VerifyResult>() as u64).unwrap();
        Self {
            driver,
            module,
            stream,
            multiprocessors,
            result,
        }
    }

    fn run(&self, launch: &Launch) {
        let function = self.driver.function(self.module, launch.function).unwrap();
        self.driver
            .launch(
                function,
                launch.grid,
                launch.block,
                &launch.params,
                self.stream,
            )
            .unwrap();
    }

    fn wait(&self) {
        while !self.driver.is_idle(self.stream).unwrap() {
            std::thread::yield_now();
        }
    }

    /// Number of wrong elements, and the first of them.
    fn verify(&self, recipe: &Recipe, expect: &[Stretch], got: u64) -> (u64, Vec<(u64, u64)>) {
        self.driver.zero(self.result, self.stream).unwrap();
        let args = (got, self.result.address, self.multiprocessors);
        for launch in kernels::verify(recipe, expect, args.0, args.1, args.2).unwrap() {
            self.run(&launch);
        }
        self.wait();
        if self.read().wrong > 0 {
            for launch in kernels::diagnose(recipe, expect, args.0, args.1, args.2).unwrap() {
                self.run(&launch);
            }
            self.wait();
        }
        let found = self.read();
        (found.wrong, found.bad())
    }

    fn read(&self) -> VerifyResult {
        let mut found = VerifyResult::default();
        self.driver
            .download(self.result, bytemuck::bytes_of_mut(&mut found))
            .unwrap();
        found
    }

    fn upload(&self, bytes: &[u8], address: u64) {
        self.driver
            .upload(bytes, memory(address, bytes), self.stream)
            .unwrap();
        self.wait();
    }
}

fn memory(address: u64, bytes: &[u8]) -> Memory {
    Memory {
        address,
        len: bytes.len() as u64,
    }
}

/// Copies and every operator on every datatype, in worlds that are not powers of two as well.
fn recipes() -> Vec<Recipe> {
    let mut recipes = Vec::new();
    for (index, &dtype) in (0u64..).zip(DataType::ALL) {
        for redop in RedOp::ALL.iter().copied().map(Some).chain([None]) {
            for world in [1, 2, 3, 8, 40] {
                recipes.push(Recipe {
                    seed: 77 + index,
                    dtype,
                    redop,
                    world: World(world),
                });
            }
        }
    }
    recipes
}

#[test]
#[ignore = "needs a GPU"]
fn the_gpu_fills_and_poisons_as_rust_does() {
    let gpu = Gpu::open();
    for recipe in recipes() {
        let width = recipe.dtype.size();
        let buffer = gpu.driver.alloc((COUNT + 1) * width).unwrap();
        let mut rust = vec![0u8; usize::try_from(COUNT * width).unwrap()];
        let mut device = rust.clone();
        let mut compare = |launch: Launch, at: u64, rust: &[u8], what: &str| {
            gpu.run(&launch);
            gpu.wait();
            gpu.driver
                .download(memory(at, &device), &mut device)
                .unwrap();
            assert!(rust == device, "{what}: {recipe:?}");
        };
        for at in STARTS.map(|start| buffer.address + start * width) {
            for rank in [Rank(0), Rank(recipe.world.0 - 1)] {
                pattern::fill_bytes(&recipe, rank, 0, &mut rust);
                let fill = kernels::fill(&recipe, rank, at, COUNT, gpu.multiprocessors);
                compare(fill, at, &rust, "fill");
            }
            pattern::poison_bytes(&recipe, 0, &mut rust);
            let poison = kernels::poison(&recipe, at, COUNT, gpu.multiprocessors);
            compare(poison, at, &rust, "poison");
        }
        gpu.driver.free(buffer).unwrap();
    }
}

#[test]
#[ignore = "needs a GPU"]
fn the_gpu_accepts_what_rust_expects_and_finds_one_flipped_bit() {
    let gpu = Gpu::open();
    for recipe in recipes() {
        let source = match recipe.redop {
            Some(_) => Source::Reduced { at: 0 },
            None => Source::Copied {
                rank: Rank(recipe.world.0 - 1),
                at: 32,
            },
        };
        let expect = [Stretch { len: COUNT, source }];
        let width = usize::try_from(recipe.dtype.size()).unwrap();
        let mut bytes = Vec::with_capacity(usize::try_from(COUNT).unwrap() * width);
        for index in 0..COUNT {
            let bits = pattern::expected_bits(&recipe, &source, index).unwrap();
            bytes.extend_from_slice(&bits.to_le_bytes()[..width]);
        }
        let buffer = gpu.driver.alloc(bytes.len() as u64 + 8).unwrap();
        for at in STARTS.map(|start| buffer.address + start * recipe.dtype.size()) {
            gpu.upload(&bytes, at);
            assert_eq!(gpu.verify(&recipe, &expect, at), (0, vec![]), "{recipe:?}");
            for wrong in [0, 100_001, COUNT - 1] {
                let place = usize::try_from(wrong).unwrap() * width + width - 1;
                // a high bit, so that a neighbouring value is not what it makes
                bytes[place] ^= 0x20;
                gpu.upload(&bytes, at);
                let (count, bad) = gpu.verify(&recipe, &expect, at);
                assert_eq!((count, bad[0].0), (1, wrong), "{recipe:?}");
                bytes[place] ^= 0x20;
            }
        }
        gpu.driver.free(buffer).unwrap();
    }
}
