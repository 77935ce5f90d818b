//! What to launch to fill, poison and check device memory: functions, grids and their arguments.
//!
//! Pure: it calls no driver. The words are those of [`crate::base::pattern`]; the kernels are
//! `kernels/check.cu`, embedded as PTX.

use crate::base::DataType;
use crate::base::Fault;
use crate::base::Rank;
use crate::base::pattern::{Exactness, Findings, Input, Plain, Recipe, Scheme, Source, Stretch};
use std::ffi::CStr;

/// The kernels, for every GPU since compute capability 7.0; the driver translates them.
pub const PTX: &str = include_str!("../../kernels/check.ptx");

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

/// What checks leave in device memory: `size_of::<VerifyResult>()` bytes, 8-aligned.
///
/// All zero before a check. After the launches of [`verify`] `wrong` holds the count and the first
/// entry of `inverted` the first wrong element; after those of [`diagnose`], which need the same
/// memory as `verify` left it, all entries are there.
#[repr(C)]
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub struct VerifyResult {
    /// Number of wrong elements.
    pub wrong: u64,
    /// Bits of their indices in the output, inverted, so that 0 is none.
    pub inverted: [u64; Findings::LISTED],
    /// Their bits.
    pub got: [u64; Findings::LISTED],
}

impl VerifyResult {
    /// Index and bits of each listed element, to be explained by `pattern::locate`.
    pub fn bad(&self) -> Vec<(u64, u64)> {
        self.inverted
            .iter()
            .zip(self.got)
            .take_while(|(inverted, _)| **inverted != 0)
            .map(|(inverted, got)| (!inverted, got))
            .collect()
    }
}

/// [`Plain`] as the kernels take it.
#[repr(C)]
#[derive(Debug, Clone, Copy)]
pub(super) struct PlainArgs {
    pub(super) key: u64,
    pub(super) mask: u64,
    pub(super) base: u64,
    pub(super) spread: u64,
    pub(super) offset: u64,
    pub(super) shift: u64,
    pub(super) signs: u64,
    pub(super) bits: u64,
}

/// [`Input`] as the kernels take it.
#[repr(C)]
#[derive(Debug, Clone, Copy)]
pub(super) struct InputArgs {
    pub(super) result: PlainArgs,
    pub(super) own: u64,
    pub(super) next: u64,
    pub(super) select: u64,
    pub(super) comb: u64,
    pub(super) member: u64,
    pub(super) period: u64,
    pub(super) field: u64,
    pub(super) lift: u64,
    pub(super) unit: u64,
    pub(super) brings: u64,
    pub(super) inverse: u64,
    pub(super) divisor: u64,
    pub(super) remainders: u64,
    pub(super) larger: u64,
    pub(super) magnitude: u64,
    pub(super) drop: u64,
}

/// Where a fill writes, and with what words.
#[repr(C)]
#[derive(Debug, Clone, Copy)]
pub(super) struct FillArgs<W> {
    pub(super) to: u64,
    pub(super) count: u64,
    pub(super) at: u64,
    pub(super) words: W,
}

/// What a check compares, and where it leaves what it finds.
#[repr(C)]
#[derive(Debug, Clone, Copy)]
pub(super) struct VerifyArgs {
    pub(super) got: u64,
    pub(super) len: u64,
    pub(super) parts: u64,
    pub(super) at: u64,
    pub(super) first: u64,
    pub(super) rows: u64,
    pub(super) rank: u64,
    pub(super) ranked: u64,
    pub(super) tolerance: u64,
    pub(super) result: u64,
    pub(super) slot: u64,
    pub(super) plain: PlainArgs,
}

/// Where the listed elements are, and their size.
#[repr(C)]
#[derive(Debug, Clone, Copy)]
pub(super) struct GatherArgs {
    pub(super) got: u64,
    pub(super) bytes: u64,
    pub(super) result: u64,
}

// As in kernels/gen.h and kernels/check.cu. With nothing but u64 a size fixes every offset.
const _: () = {
    assert!(size_of::<PlainArgs>() == 64);
    assert!(size_of::<InputArgs>() == 192);
    assert!(size_of::<FillArgs<PlainArgs>>() == 88);
    assert!(size_of::<FillArgs<InputArgs>>() == 216);
    assert!(size_of::<VerifyArgs>() == 152);
    assert!(size_of::<GatherArgs>() == 24);
    assert!(size_of::<VerifyResult>() == 264);
};

macro_rules! plain_data {
    ($($t:ty),*) => {$(
        // SAFETY: a repr(C) struct of u64 and of such structs: every bit pattern is a value.
        unsafe impl bytemuck::Zeroable for $t {}
        // SAFETY: as above, and there is no padding.
        unsafe impl bytemuck::Pod for $t {}
    )*};
}
plain_data!(
    PlainArgs,
    InputArgs,
    FillArgs<PlainArgs>,
    FillArgs<InputArgs>,
    VerifyArgs,
    GatherArgs,
    VerifyResult
);

impl From<Plain> for PlainArgs {
    fn from(plain: Plain) -> Self {
        Self {
            key: plain.key,
            mask: plain.mask,
            base: plain.base,
            spread: plain.spread,
            offset: plain.offset.into(),
            shift: plain.shift.into(),
            signs: plain.signs,
            bits: plain.bits.into(),
        }
    }
}

impl From<Input> for InputArgs {
    fn from(input: Input) -> Self {
        Self {
            result: input.result.into(),
            own: input.own,
            next: input.next,
            select: input.select,
            comb: input.comb,
            member: input.class.into(),
            period: input.period.into(),
            field: input.field,
            lift: input.lift,
            unit: input.unit,
            brings: input.brings.into(),
            inverse: input.inverse,
            divisor: input.divisor.into(),
            remainders: input.remainders,
            larger: input.larger,
            magnitude: input.magnitude,
            drop: input.drop.into(),
        }
    }
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
            Source::Reduced { at } => {
                run.at = at;
                run.tolerance = u64::from(recipe.exactness() == Exactness::OneUlp);
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
