//! The kernels' own source, compiled for the CPU with sanitizers: the checker's against the Rust
//! definition of the pattern, the collectives' between ranks; and the committed PTX.
//!
//! What only a GPU can show (speed, the driver's translation) is not tested here.

#![allow(
    clippy::unwrap_used,
    clippy::panic,
    clippy::cast_possible_truncation,
    reason = "a test fails by panicking; sizes are small"
)]

#[path = "kernels/collectives.rs"]
mod collectives;
#[path = "kernels/script.rs"]
mod script;

use ncclbench::base::pattern::{
    Findings, Recipe, Source, Stretch, fill_bytes, fill_plain, locate, poison_bytes, verify_bytes,
};
use ncclbench::base::{DataType, Rank, RedOp, World};
use ncclbench::ffi::kernels::{
    FUNCTIONS, Launch, PTX, VerifyResult, diagnose, fill, poison, verify,
};
use script::Script;

/// Bytes around every output that must stay as they are.
const GUARD: usize = 48;
const UNTOUCHED: u8 = 0xA5;

fn address(buffer: u64, offset: usize) -> u64 {
    (buffer << 40) + offset as u64
}

/// The same work in small blocks, so that a small buffer makes every thread go round several times.
fn in_small_blocks(launch: Launch) -> Launch {
    Launch {
        block: 8,
        grid: (3, launch.grid.1),
        ..launch
    }
}

/// Every datatype with every operator and with none, each with a world of its own.
fn recipes() -> Vec<Recipe> {
    let worlds = [1, 2, 3, 4, 5, 7, 8, 16, 64, 256, 300];
    let mut recipes = Vec::new();
    for &dtype in DataType::ALL {
        for redop in RedOp::ALL.iter().copied().map(Some).chain([None]) {
            for world in worlds {
                let seed = recipes.len() as u64;
                recipes.push(Recipe {
                    seed,
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
fn kernels_fill_and_poison_what_the_definition_says_and_nothing_else() {
    let mut script = Script::default();
    let mut expected = Vec::new();
    for (i, recipe) in recipes().into_iter().enumerate() {
        let size = recipe.dtype.size() as usize;
        let count = [0, 1, 37, 257, 1023][i % 5];
        let rank = Rank((i as u32 * 5 + 1) % recipe.world.0);
        // An address that is aligned to an element only, or to a vector.
        let start = GUARD + (i % 4) * size;
        let blank = vec![UNTOUCHED; start + count * size + GUARD];
        for poisoned in [false, true] {
            let (to, count64) = (address(0, start), count as u64);
            let launch = if poisoned {
                poison(&recipe, to, count64, 1)
            } else {
                fill(&recipe, rank, to, count64, 1)
            };
            script.buffer(0, &blank);
            script.launch(&if i % 3 == 0 {
                launch
            } else {
                in_small_blocks(launch)
            });
            script.read(0, blank.len());
            let mut right = blank.clone();
            let out = &mut right[start..start + count * size];
            if poisoned {
                poison_bytes(&recipe, 0, out);
            } else {
                fill_bytes(&recipe, rank, 0, out);
            }
            expected.push((recipe, rank, right));
        }
    }
    for (got, (recipe, rank, right)) in script.run().into_iter().zip(expected) {
        assert!(
            got == right,
            "{recipe:?} rank {rank}: {got:02x?}\n{right:02x?}"
        );
    }
}

/// An output of a recipe: what it should hold, and where in its buffer it begins.
struct Output {
    recipe: Recipe,
    stretches: Vec<Stretch>,
    start: usize,
    bytes: Vec<u8>,
}

/// One reduction, or copies of several ranks with a gap among them.
fn stretches(recipe: &Recipe, at: u64, len: u64) -> Vec<Stretch> {
    let untouched = Stretch {
        len: len / 3 + 1,
        source: Source::Untouched { at },
    };
    if recipe.redop.is_some() {
        let source = Source::Reduced { at };
        return vec![Stretch { len, source }, untouched];
    }
    let copied = |len, rank, at| Stretch {
        len,
        source: Source::Copied { rank, at },
    };
    let parts = recipe.world.ranks().take(9);
    let mut stretches: Vec<_> = parts.map(|rank| copied(len / 2 + 1, rank, at)).collect();
    stretches.push(Stretch {
        len: 5,
        source: Source::Unspecified,
    });
    stretches.push(copied(7, Rank(0), 2));
    stretches.push(untouched);
    stretches
}

impl Output {
    /// A right one. Its stretches begin at odd places of their rows.
    fn new(recipe: Recipe, i: usize) -> Self {
        let at = [0, 16, 3, 1][i % 4];
        let len = [1, 40, 333, 2050, 97][i % 5];
        let stretches = stretches(&recipe, at, len);
        let size = recipe.dtype.size() as usize;
        let mut bytes = Vec::new();
        for stretch in &stretches {
            let mut part = vec![0; stretch.len as usize * size];
            match stretch.source {
                Source::Reduced { at } => fill_plain(&recipe.result(), at, &mut part),
                Source::Copied { rank, at } => fill_bytes(&recipe, rank, at, &mut part),
                Source::Untouched { at } => poison_bytes(&recipe, at, &mut part),
                Source::Unspecified => part.fill(UNTOUCHED),
            }
            bytes.extend(part);
        }
        Self {
            recipe,
            stretches,
            start: GUARD + (i % 3) * size,
            bytes,
        }
    }

    fn elements(&self) -> usize {
        self.bytes.len() / self.recipe.dtype.size() as usize
    }

    /// Spoils some elements.
    fn spoil(&mut self, indices: impl Iterator<Item = usize>) {
        let size = self.recipe.dtype.size() as usize;
        for index in indices {
            self.bytes[index * size] ^= 0x10;
        }
    }

    /// Has the kernels check it.
    fn check(&self, script: &mut Script, small: bool) {
        let mut buffer = vec![UNTOUCHED; self.start];
        buffer.extend(&self.bytes);
        script.buffer(0, &buffer);
        script.buffer(1, &[0; size_of::<VerifyResult>()]);
        let (got, result) = (address(0, self.start), address(1, 0));
        let checks = verify(&self.recipe, &self.stretches, got, result, 1).unwrap();
        let lists = diagnose(&self.recipe, &self.stretches, got, result, 1).unwrap();
        for launch in checks.into_iter().chain(lists) {
            let gathers = launch.function == c"gather";
            script.launch(&if small && !gathers {
                in_small_blocks(launch)
            } else {
                launch
            });
        }
        script.read(1, size_of::<VerifyResult>());
    }

    /// Holds what the kernels found against what the definition finds.
    fn compare(&self, answer: &[u8]) {
        let result: VerifyResult = bytemuck::pod_read_unaligned(answer);
        let found = Findings {
            wrong: result.wrong,
            first: locate(&self.recipe, &self.stretches, &result.bad()),
        };
        let right = verify_bytes(&self.recipe, &self.stretches, 0, &self.bytes);
        assert_eq!(found, right, "{:?} {:?}", self.recipe, self.stretches);
    }
}

fn check_all(outputs: &[Output]) {
    let mut script = Script::default();
    for (i, output) in outputs.iter().enumerate() {
        output.check(&mut script, i % 3 != 0);
    }
    for (output, answer) in outputs.iter().zip(script.run()) {
        output.compare(&answer);
    }
}

#[test]
fn kernels_find_nothing_in_right_outputs() {
    let outputs = recipes()
        .into_iter()
        .enumerate()
        .map(|(i, recipe)| Output::new(recipe, i));
    let outputs: Vec<_> = outputs.collect();
    check_all(&outputs);
    for output in &outputs {
        assert_eq!(
            verify_bytes(&output.recipe, &output.stretches, 0, &output.bytes).wrong,
            0
        );
    }
}

#[test]
fn kernels_count_and_list_the_wrong_elements_that_the_definition_finds() {
    let mut outputs = Vec::new();
    for (i, recipe) in recipes().into_iter().enumerate() {
        let mut output = Output::new(recipe, i);
        let (step, elements) = ([1, 2, 17, 100, 1000][i / 5 % 5], output.elements());
        output.spoil((i % step.min(elements)..elements).step_by(step));
        outputs.push(output);
    }
    check_all(&outputs);
}

#[test]
fn a_neighbouring_value_passes_only_where_the_route_is_not_known() {
    for (world, wrong) in [(41, 0), (4, 1001)] {
        let recipe = Recipe {
            seed: 9,
            dtype: DataType::Float,
            redop: Some(RedOp::Avg),
            world: World(world),
        };
        let mut output = Output::new(recipe, 0);
        output.stretches = vec![Stretch {
            len: 1001,
            source: Source::Reduced { at: 0 },
        }];
        output.bytes = vec![0; 4004];
        fill_plain(&recipe.result(), 0, &mut output.bytes);
        for element in output.bytes.chunks_mut(4) {
            element[0] ^= 1;
        }
        let mut script = Script::default();
        output.check(&mut script, true);
        let answer = script.run().remove(0);
        output.compare(&answer);
        assert_eq!(
            bytemuck::pod_read_unaligned::<VerifyResult>(&answer).wrong,
            wrong
        );
    }
}

#[test]
fn an_all_to_all_over_many_ranks_is_one_launch() {
    let recipe = Recipe {
        seed: 1,
        dtype: DataType::Half,
        redop: None,
        world: World(4096),
    };
    let part = |rank| Stretch {
        len: 8,
        source: Source::Copied { rank, at: 24 },
    };
    let stretches: Vec<_> = recipe.world.ranks().map(part).collect();
    let launches = verify(&recipe, &stretches, 0, 0, 132).unwrap();
    assert_eq!((launches.len(), launches[0].grid), (1, (1, 4096)));
}

#[test]
fn a_grid_covers_small_and_fits_large_buffers() {
    let recipe = Recipe {
        seed: 1,
        dtype: DataType::Float,
        redop: None,
        world: World(2),
    };
    assert_eq!(fill(&recipe, Rank(0), 0, 1, 132).grid, (1, 1));
    let large = fill(&recipe, Rank(0), 0, 1 << 32, 132).grid;
    assert!(
        large.0 >= 132 && large.0 <= 132 * 8 && large.1 == 1,
        "{large:?}"
    );
}

#[test]
fn a_copy_of_what_was_made_for_a_reduction_is_refused() {
    let recipe = Recipe {
        seed: 1,
        dtype: DataType::Float,
        redop: Some(RedOp::Sum),
        world: World(2),
    };
    let stretches = [Stretch {
        len: 8,
        source: Source::Copied {
            rank: Rank(0),
            at: 0,
        },
    }];
    assert!(verify(&recipe, &stretches, 0, 0, 1).is_err());
}

#[test]
fn the_ptx_has_the_listed_functions_and_runs_on_every_gpu_since_7_0() {
    let entries: Vec<&str> = PTX
        .lines()
        .filter_map(|line| line.strip_prefix(".visible .entry ")?.strip_suffix('('))
        .collect();
    let listed: Vec<_> = FUNCTIONS
        .iter()
        .map(|function| function.to_str().unwrap())
        .collect();
    assert_eq!(entries, listed);
    for line in [".version 7.0", ".target sm_70", ".address_size 64"] {
        assert!(PTX.lines().any(|text| text == line), "no line `{line}`");
    }
    for unwanted in ["multimem", ".local", ".extern", "tex.", "bar.sync"] {
        assert!(!PTX.contains(unwanted), "`{unwanted}` in the PTX");
    }
}
