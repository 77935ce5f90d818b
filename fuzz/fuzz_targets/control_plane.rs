//! Bytes off a connection, through frames and messages to the hub's decisions.
//!
//! The first byte chooses who sends them; the rest is what `bootstrap::tcp::fuzz` swallows.
#![no_main]

use libfuzzer_sys::fuzz_target;
use ncclbench::bootstrap::tcp::fuzz::{LIMITS, swallow};

fuzz_target!(|bytes: &[u8]| {
    if let Some((who, bytes)) = bytes.split_first() {
        swallow(bytes, LIMITS[usize::from(*who) % LIMITS.len()]);
    }
});
