//! What to launch to fill, poison and check device memory: functions, grids and their arguments.
//!
//! Pure: it calls no driver. The words are those of [`crate::base::pattern`]; the kernels are
//! `kernels/check.cu`, embedded as PTX.

mod args;
pub mod collective;
mod emulate;

pub use args::VerifyResult;
pub use emulate::emulate;

use crate::base::DataType;
use crate::base::Fault;
use crate::base::Rank;
use crate::base::pattern::{Findings, Recipe, Scheme, Source, Stretch};
use args::{FillArgs, GatherArgs, InputArgs, PlainArgs, VerifyArgs};
use std::ffi::CStr;

/// The kernels, for every GPU since compute capability 7.0; the driver translates them.
pub const PTX: &str = include_str!("../../../kernels/check.ptx");

/// Every entry point of [`PTX`].
pub const FUNCTIONS: &[&CStr] = &[
    c"fill_plain",
    c"fill_integer_sum_8",
    c"fill_integer_sum_32",
    c"fill_integer_sum_64",
    c"fill_integer_product_8",
    c"fill_integer_product_32",
    c"fill_integer_product_64",
    c"fill_float_sum_8",
    c"fill_float_sum_16",
    c"fill_float_sum_32",
    c"fill_float_sum_64",
    c"fill_float_product",
    c"fill_extreme",
    c"fill_carrier",
    c"verify",
    c"list",
    c"gather",
];

/// Threads of a block; the kernels are compiled for at most as many.
const BLOCK: u32 = 256;
/// Bytes that a block takes in one turn: four vectors of 16 bytes for each thread.
const TILE: u64 = 4 * 16 * BLOCK as u64;
/// Blocks that a multiprocessor holds at once, by the registers that the kernels need.
const BLOCKS_PER_MULTIPROCESSOR: u64 = 5;
/// The driver's limit for the second dimension of a grid.
const MAX_GRID_Y: u64 = 65_535;

/// One kernel launch.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Launch {
    /// Which of [`FUNCTIONS`].
    pub function: &'static CStr,
    /// Blocks in x and y; z is 1.
    pub grid: (u32, u32),
    /// Threads of a block, in x.
    pub block: u32,
    /// The bytes of the one parameter, a struct passed by value.
    pub params: Vec<u64>,
}

/// Writes `count` elements of a rank's input, from element 0 on, to device address `to`, which is
/// aligned to an element.
pub fn fill(recipe: &Recipe, rank: Rank, to: u64, count: u64, multiprocessors: u32) -> Launch {
    let input = recipe.input(rank);
    let grid = (blocks(recipe.dtype, count, multiprocessors), 1);
    let at = 0;
    if input.scheme == Scheme::Raw {
        let words = PlainArgs::from(recipe.raw(rank));
        return launch(
            c"fill_plain",
            grid,
            &FillArgs {
                to,
                count,
                at,
                words,
            },
        );
    }
    let words = InputArgs::from(input);
    launch(
        fill_function(input.scheme, input.result.bits),
        grid,
        &FillArgs {
            to,
            count,
            at,
            words,
        },
    )
}

/// Writes `count` elements of what an output holds before the operation, from its element 0 on.
pub fn poison(recipe: &Recipe, to: u64, count: u64, multiprocessors: u32) -> Launch {
    let grid = (blocks(recipe.dtype, count, multiprocessors), 1);
    let words = PlainArgs::from(recipe.poison());
    launch(
        c"fill_plain",
        grid,
        &FillArgs {
            to,
            count,
            at: 0,
            words,
        },
    )
}

/// Compares an output at device address `got` with what `stretches` promise. `result` is the device
/// address of a zeroed [`VerifyResult`].
///
/// # Errors
/// `Unsupported` for copies under a recipe for a reduction: no kernel makes those words.
pub fn verify(
    recipe: &Recipe,
    stretches: &[Stretch],
    got: u64,
    result: u64,
    multiprocessors: u32,
) -> Result<Vec<Launch>, Fault> {
    let runs = runs(recipe, stretches, got, result)?;
    Ok(launches(c"verify", &runs, recipe.dtype, 0, multiprocessors).collect())
}

/// Lists the first wrong elements with their bits, once the launches of [`verify`] have found some;
/// takes the same arguments.
///
/// # Errors
/// As [`verify`].
pub fn diagnose(
    recipe: &Recipe,
    stretches: &[Stretch],
    got: u64,
    result: u64,
    multiprocessors: u32,
) -> Result<Vec<Launch>, Fault> {
    let runs = runs(recipe, stretches, got, result)?;
    let bytes = recipe.dtype.size();
    let gather = launch(c"gather", (1, 1), &GatherArgs { got, bytes, result });
    Ok((1..Findings::LISTED as u64)
        .flat_map(|slot| launches(c"list", &runs, recipe.dtype, slot, multiprocessors))
        .chain([gather])
        .collect())
}

/// The function that makes the words of a scheme.
fn fill_function(scheme: Scheme, bits: u32) -> &'static CStr {
    match (scheme, bits) {
        (Scheme::Raw, _) => c"fill_plain",
        (Scheme::IntegerSum, 8) => c"fill_integer_sum_8",
        (Scheme::IntegerSum, 32) => c"fill_integer_sum_32",
        (Scheme::IntegerSum, _) => c"fill_integer_sum_64",
        (Scheme::IntegerProduct, 8) => c"fill_integer_product_8",
        (Scheme::IntegerProduct, 32) => c"fill_integer_product_32",
        (Scheme::IntegerProduct, _) => c"fill_integer_product_64",
        (Scheme::FloatSum, 8) => c"fill_float_sum_8",
        (Scheme::FloatSum, 16) => c"fill_float_sum_16",
        (Scheme::FloatSum, 32) => c"fill_float_sum_32",
        (Scheme::FloatSum, _) => c"fill_float_sum_64",
        (Scheme::FloatProduct, _) => c"fill_float_product",
        (Scheme::Extreme, _) => c"fill_extreme",
        (Scheme::Carrier, _) => c"fill_carrier",
    }
}

/// Stretches as arguments; equally long copies from consecutive ranks are one, whatever their number.
fn runs(
    recipe: &Recipe,
    stretches: &[Stretch],
    got: u64,
    result: u64,
) -> Result<Vec<VerifyArgs>, Fault> {
    let mut runs: Vec<VerifyArgs> = Vec::new();
    let mut first = 0;
    for stretch in stretches.iter().filter(|stretch| stretch.len > 0) {
        let mut run = VerifyArgs {
            got: got + first * recipe.dtype.size(),
            len: stretch.len,
            parts: 1,
            at: 0,
            first,
            rows: recipe.rows(),
            rank: 0,
            ranked: 0,
            tolerance: 0,
            result,
            slot: 0,
            plain: recipe.result().into(),
        };
        first += stretch.len;
        match stretch.source {
            Source::Unspecified => continue,
            Source::Untouched { at } => {
                run.at = at;
                run.plain = recipe.poison().into();
            }
            Source::Reduced { at } => {
                run.at = at;
                run.tolerance = recipe.exactness().tolerance();
            }
            Source::Copied { rank, at } => {
                if recipe.redop.is_some() {
                    return Err(Fault::unsupported(
                        "no kernel compares a copy of what was made for a reduction",
                    ));
                }
                (run.at, run.rank, run.ranked) = (at, rank.0.into(), 1);
                run.plain = recipe.raw(rank).into();
            }
        }
        match runs.last_mut() {
            Some(last) if continues(last, &run) => last.parts += 1,
            _ => runs.push(run),
        }
    }
    Ok(runs)
}

/// Whether `next` is the part that follows `last` in a launch over ranks.
fn continues(last: &VerifyArgs, next: &VerifyArgs) -> bool {
    last.ranked == 1
        && next.ranked == 1
        && (last.len, last.at) == (next.len, next.at)
        && last.rank + last.parts == next.rank
        && last.first + last.parts * last.len == next.first
}

fn launches<'a>(
    function: &'static CStr,
    runs: &'a [VerifyArgs],
    dtype: DataType,
    slot: u64,
    multiprocessors: u32,
) -> impl Iterator<Item = Launch> + use<'a> {
    runs.iter().map(move |run| {
        let y = run.parts.min(MAX_GRID_Y);
        let wanted = u64::from(blocks(dtype, run.len, multiprocessors));
        let share = (capacity(multiprocessors) / y).max(1);
        launch(
            function,
            (narrow(wanted.min(share)), narrow(y)),
            &VerifyArgs { slot, ..*run },
        )
    })
}

/// Blocks for `count` elements: one for each tile, as far as the device holds them at once.
fn blocks(dtype: DataType, count: u64, multiprocessors: u32) -> u32 {
    let tiles = (count * dtype.size()).div_ceil(TILE);
    narrow(tiles.clamp(1, capacity(multiprocessors)))
}

fn capacity(multiprocessors: u32) -> u64 {
    u64::from(multiprocessors.max(1)) * BLOCKS_PER_MULTIPROCESSOR
}

/// A number of blocks, which [`capacity`] and [`MAX_GRID_Y`] keep small.
fn narrow(blocks: u64) -> u32 {
    u32::try_from(blocks).unwrap_or(u32::MAX)
}

fn launch<P: bytemuck::Pod>(function: &'static CStr, grid: (u32, u32), params: &P) -> Launch {
    Launch {
        function,
        grid,
        block: BLOCK,
        params: bytemuck::cast_slice(std::slice::from_ref(params)).to_vec(),
    }
}
