//! The kernels' work done by the CPU in host memory: for the stand-in driver and for tests.
//!
//! It decodes the arguments that [`super`] encodes and runs the Rust definition of the
//! pattern; the kernels' own code is compiled for the host by `tests/kernels.rs`.

use super::args::{FillArgs, GatherArgs, InputArgs, PlainArgs, VerifyArgs, VerifyResult};
use crate::base::Fault;
use crate::base::Kind;
use crate::base::pattern::{Findings, Plain, Scheme, compare_plain, fill_input, fill_plain};
use std::ffi::{CStr, c_void};

/// Does what launching `function` with the struct at `params` does, whatever the grid.
///
/// # Errors
/// `Missing` if there is no such kernel.
///
/// # Safety
/// `params` points to the function's argument struct, as in [`super::Launch::params`], and
/// every address in it is host memory of the size that the struct says, not used by anybody else
/// meanwhile.
pub unsafe fn emulate(function: &CStr, params: *const c_void) -> Result<(), Fault> {
    let name = function.to_string_lossy();
    // SAFETY: in every arm the caller says that the function's own struct is at `params`, and that
    // the addresses in it are good.
    unsafe {
        match name.as_ref() {
            "fill_plain" => plain(&read(params)),
            "verify" => check(&read(params)),
            "list" => list(&read(params)),
            "gather" => gather(&read(params)),
            _ => {
                let unknown = || Fault::new(Kind::Missing, format!("there is no kernel `{name}`"));
                let scheme = scheme_of(&name).ok_or_else(unknown)?;
                input(&read(params), scheme);
            }
        }
    }
    Ok(())
}

/// The scheme whose words a fill function makes.
fn scheme_of(name: &str) -> Option<Scheme> {
    let shapes = [
        ("fill_integer_sum", Scheme::IntegerSum),
        ("fill_integer_product", Scheme::IntegerProduct),
        ("fill_float_sum", Scheme::FloatSum),
        ("fill_float_product", Scheme::FloatProduct),
        ("fill_extreme", Scheme::Extreme),
        ("fill_carrier", Scheme::Carrier),
    ];
    let found = shapes.iter().find(|(prefix, _)| name.starts_with(prefix));
    found.map(|(_, scheme)| *scheme)
}

unsafe fn read<P: bytemuck::AnyBitPattern>(params: *const c_void) -> P {
    // SAFETY: the caller says that a P is there; parameters may be at any address.
    unsafe { params.cast::<P>().read_unaligned() }
}

unsafe fn plain(args: &FillArgs<PlainArgs>) {
    let plain = Plain::from(args.words);
    // SAFETY: the caller says that `count` elements are at `to`.
    let out = unsafe { bytes_mut(args.to, args.count, plain.bits) };
    fill_plain(&plain, args.at, out);
}

unsafe fn input(args: &FillArgs<InputArgs>, scheme: Scheme) {
    let input = args.words.input(scheme);
    // SAFETY: the caller says that `count` elements are at `to`.
    let out = unsafe { bytes_mut(args.to, args.count, input.result.bits) };
    fill_input(&input, args.at, out);
}

unsafe fn check(args: &VerifyArgs) {
    // SAFETY: the caller says that a result is at `result`.
    let result = unsafe { &mut *pointer::<VerifyResult>(args.result) };
    // SAFETY: and that `parts * len` elements are at `got`.
    unsafe {
        each_wrong(args, |index| {
            result.wrong += 1;
            result.inverted[0] = result.inverted[0].max(!index);
        });
    }
}

unsafe fn list(args: &VerifyArgs) {
    // SAFETY: as for `check`.
    let result = unsafe { &mut *pointer::<VerifyResult>(args.result) };
    let slot = usize::try_from(args.slot).unwrap_or(Findings::LISTED);
    let before = result.inverted[slot - 1];
    if before == 0 {
        return;
    }
    // SAFETY: as for `check`.
    unsafe {
        each_wrong(args, |index| {
            if index > !before {
                result.inverted[slot] = result.inverted[slot].max(!index);
            }
        });
    }
}

unsafe fn gather(args: &GatherArgs) {
    // SAFETY: as for `check`.
    let result = unsafe { &mut *pointer::<VerifyResult>(args.result) };
    for (inverted, got) in result.inverted.iter().zip(&mut result.got) {
        if *inverted != 0 {
            let bits = u32::try_from(args.bytes * 8).unwrap_or(64);
            // SAFETY: the caller says that the output holds the listed elements.
            let element = unsafe { bytes_mut(args.got + !inverted * args.bytes, 1, bits) };
            let mut word = [0; 8];
            word[..element.len()].copy_from_slice(element);
            *got = u64::from_le_bytes(word);
        }
    }
}

/// Calls `wrong` with the output index of every wrong element.
unsafe fn each_wrong(args: &VerifyArgs, mut wrong: impl FnMut(u64)) {
    let mut plain = Plain::from(args.plain);
    for part in 0..args.parts {
        if args.ranked != 0 {
            plain = plain.of_rank(args.rows, args.rank + part);
        }
        let size = u64::from(plain.bits / 8);
        // SAFETY: the caller says that `parts * len` elements are at `got`.
        let got = unsafe { bytes_mut(args.got + part * args.len * size, args.len, plain.bits) };
        let first = args.first + part * args.len;
        compare_plain(&plain, args.at, got, args.tolerance, |offset| {
            wrong(first + offset);
        });
    }
}

unsafe fn bytes_mut<'a>(address: u64, count: u64, bits: u32) -> &'a mut [u8] {
    let len = usize::try_from(count * u64::from(bits / 8)).unwrap_or(0);
    if len == 0 {
        return &mut [];
    }
    // SAFETY: the caller says that `count` elements of `bits` bits are there for us alone.
    unsafe { std::slice::from_raw_parts_mut(pointer(address), len) }
}

fn pointer<T>(address: u64) -> *mut T {
    std::ptr::with_exposed_provenance_mut(usize::try_from(address).unwrap_or(0))
}

#[cfg(test)]
mod tests {
    use super::super::{Launch, diagnose, fill, poison, verify};
    use super::*;
    use crate::base::pattern::{
        Recipe, Source, Stretch, fill_bytes, locate, poison_bytes, verify_bytes,
    };
    use crate::base::{DataType, Rank, RedOp, World};

    fn run(launch: &Launch) {
        // SAFETY: the launches of these tests hold addresses of their own buffers.
        unsafe { emulate(launch.function, launch.params.as_ptr().cast()) }.unwrap();
    }

    fn address<T>(buffer: &mut [T]) -> u64 {
        buffer.as_mut_ptr().expose_provenance() as u64
    }

    fn recipes() -> impl Iterator<Item = Recipe> {
        DataType::ALL.iter().flat_map(|&dtype| {
            let redops = RedOp::ALL.iter().copied().map(Some).chain([None]);
            redops.map(move |redop| Recipe {
                seed: 77,
                dtype,
                redop,
                world: World(6),
            })
        })
    }

    #[test]
    fn the_twin_fills_as_the_definition_says() {
        for recipe in recipes() {
            let size = usize::try_from(recipe.dtype.size()).unwrap();
            let (mut got, mut right) = (vec![0u8; 101 * size], vec![0u8; 101 * size]);
            run(&fill(&recipe, Rank(5), address(&mut got), 101, 1));
            fill_bytes(&recipe, Rank(5), 0, &mut right);
            assert_eq!(got, right, "{recipe:?}");
            run(&poison(&recipe, address(&mut got), 101, 1));
            poison_bytes(&recipe, 0, &mut right);
            assert_eq!(got, right, "{recipe:?}");
        }
    }

    #[test]
    fn the_twin_finds_and_lists_what_the_definition_finds() {
        for recipe in recipes().filter(|recipe| recipe.redop.is_none()) {
            let size = usize::try_from(recipe.dtype.size()).unwrap();
            let stretches = recipe.world.ranks().map(|rank| Stretch {
                len: 50,
                source: Source::Copied { rank, at: 3 },
            });
            let stretches: Vec<_> = stretches.collect();
            let mut got = vec![0u8; 300 * size];
            for (rank, part) in recipe.world.ranks().zip(got.chunks_mut(50 * size)) {
                fill_bytes(&recipe, rank, 3, part);
            }
            for index in (7..300).step_by(11) {
                got[index * size] ^= 1;
            }
            let mut result = [VerifyResult::default()];
            let (to, at) = (address(&mut got), address(&mut result));
            let checks = verify(&recipe, &stretches, to, at, 1).unwrap();
            let lists = diagnose(&recipe, &stretches, to, at, 1).unwrap();
            checks.iter().chain(&lists).for_each(run);
            let right = verify_bytes(&recipe, &stretches, 0, &got);
            assert_eq!(result[0].wrong, right.wrong);
            assert_eq!(locate(&recipe, &stretches, &result[0].bad()), right.first);
        }
    }

    #[test]
    fn an_unknown_kernel_is_a_fault() {
        // SAFETY: nothing is read for a name that is not known.
        let fault = unsafe { emulate(c"fill_tea", std::ptr::null()) }.unwrap_err();
        assert!(fault.message.contains("fill_tea"));
    }
}
