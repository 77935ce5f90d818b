//! The kernels' work done by the CPU in host memory: for the stand-in driver and for tests.
//!
//! It decodes the arguments that [`super`] encodes and runs the Rust definition of the
//! pattern; the kernels' own code is compiled for the host by `tests/kernels.rs`.

use super::args::{FillArgs, GatherArgs, InputArgs, PlainArgs, VerifyArgs, VerifyResult};
use crate::base::Fault;
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
            _ => match scheme_of(&name) {
                Some(scheme) => input(&read(params), scheme),
                None => {
                    let unknown = format!("there is no kernel `{name}`");
                    return Err(Fault::new(crate::base::Kind::Missing, unknown));
                }
            },
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
            wrong(first + offset)
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
