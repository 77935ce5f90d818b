//! The control plane's decoders against two hundred thousand damaged messages: no panic, no memory
//! beyond what came, no end of time.
//!
//! The same every time; `fuzz/` looks further, for as long as one lets it. A binary of its own,
//! because it counts every allocation.
#![allow(
    clippy::unwrap_used,
    clippy::panic,
    reason = "a test fails by panicking"
)]

use cap::Cap;
use ncclbench::bootstrap::tcp::fuzz::{LIMITS, samples, swallow};
use std::alloc::System;
use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::sync::mpsc::{self, RecvTimeoutError};
use std::time::Duration;

#[global_allocator]
static HEAP: Cap<System> = Cap::new(System, usize::MAX);

const INPUTS: usize = 200_000;

/// Bytes before a message's own; the last four of them say how many follow.
const HEADER: usize = 20;

/// More is never at hand at once, whatever a length says: inputs have some thousands of bytes, of
/// which a part of four makes a vector of 24 and its share of a growing list.
const MOST_BYTES: usize = 1 << 20;

/// Far longer than all inputs take on a crowded machine.
const DEADLINE: Duration = Duration::from_mins(10);

/// Numbers that lengths and counts are replaced with.
const EXTREMES: [u32; 8] = [
    0,
    1,
    4096,
    4097,
    1 << 24,
    0x7fff_ffff,
    0xffff_fff0,
    u32::MAX,
];

/// Words that numbers in text are replaced with.
const WORDS: [&[u8]; 6] = [
    b"4294967295",
    b"-1",
    b"18446744073709551616",
    b"1e999",
    b"\"\"",
    b"[[[[[[[[",
];

/// Numbers that look random and are the same every time.
///
/// # Source
/// `SplitMix64`, Steele, Lea and Flood 2014.
struct Dice(u64);

impl Dice {
    fn roll(&mut self) -> u64 {
        self.0 = self.0.wrapping_add(0x9e37_79b9_7f4a_7c15);
        let mixed = (self.0 ^ (self.0 >> 30)).wrapping_mul(0xbf58_476d_1ce4_e5b9);
        let mixed = (mixed ^ (mixed >> 27)).wrapping_mul(0x94d0_49bb_1331_11eb);
        mixed ^ (mixed >> 31)
    }

    fn below(&mut self, most: usize) -> usize {
        usize::try_from(self.roll() % most.max(1) as u64).unwrap()
    }

    fn pick<'a, T>(&mut self, from: &'a [T]) -> &'a T {
        &from[self.below(from.len())]
    }
}

/// Some frames in a row, their messages damaged in a few places and then the whole, or neither.
fn input(dice: &mut Dice, samples: &[Vec<u8>]) -> Vec<u8> {
    let mut bytes = Vec::new();
    for _ in 0..=dice.below(4) {
        let (head, message) = dice.pick::<Vec<u8>>(samples).split_at(HEADER);
        let mut message = message.to_vec();
        for _ in 0..dice.below(3) {
            damage(dice, &mut message);
        }
        bytes.extend_from_slice(&head[..HEADER - 4]);
        bytes.extend_from_slice(&u32::try_from(message.len()).unwrap().to_le_bytes());
        bytes.append(&mut message);
    }
    for _ in 0..dice.below(3) {
        damage(dice, &mut bytes);
    }
    bytes
}

fn damage(dice: &mut Dice, bytes: &mut Vec<u8>) {
    let at = dice.below(bytes.len());
    let Some(byte) = bytes.get_mut(at) else {
        return;
    };
    match dice.below(7) {
        0 => *byte ^= 1 << dice.below(8),
        1 => *byte = dice.roll().to_le_bytes()[0],
        2 => bytes.truncate(at),
        3 => put(bytes, at, &dice.pick::<u32>(&EXTREMES).to_le_bytes()),
        4 => {
            // the length of the first frame
            let (word, less) = (*dice.pick::<u32>(&EXTREMES), dice.below(3));
            let word = word.wrapping_sub(u32::try_from(less).unwrap());
            put(bytes, 16, &word.to_le_bytes());
        }
        5 => {
            let digits = bytes[at..].iter().position(u8::is_ascii_digit);
            let from = at + digits.unwrap_or(0);
            bytes.splice(from..=from, dice.pick::<&[u8]>(&WORDS).iter().copied());
        }
        _ => {
            let copied = bytes[at..].to_vec();
            bytes.extend_from_slice(&copied);
        }
    }
}

fn put(bytes: &mut [u8], at: usize, with: &[u8]) {
    for (byte, with) in bytes.iter_mut().skip(at).zip(with) {
        *byte = *with;
    }
}

fn swallow_all(under_way: &AtomicUsize) -> usize {
    let (mut dice, samples) = (Dice(1), samples());
    let mut understood = 0;
    for number in 0..INPUTS {
        under_way.store(number, Ordering::Relaxed);
        let bytes = input(&mut dice, &samples);
        understood += swallow(&bytes, LIMITS[number % LIMITS.len()]);
    }
    understood
}

#[test]
fn damaged_messages_cost_neither_the_process_nor_its_memory_nor_its_time() {
    let under_way = Arc::new(AtomicUsize::new(0));
    let (tell, told) = mpsc::channel();
    let shared = Arc::clone(&under_way);
    let before = HEAP.allocated();
    std::thread::spawn(move || tell.send(swallow_all(&shared)));
    let number = || under_way.load(Ordering::Relaxed);
    match told.recv_timeout(DEADLINE) {
        Ok(understood) => assert!(
            understood > INPUTS / 2,
            "{understood} messages: too few get in"
        ),
        Err(RecvTimeoutError::Timeout) => panic!("input {} has no end", number()),
        Err(RecvTimeoutError::Disconnected) => panic!("input {} ended it", number()),
    }
    let took = HEAP.max_allocated().saturating_sub(before);
    assert!(took < MOST_BYTES, "{took} bytes at once");
}
