//! Two ranks' workspaces and buffers, and the operations on them, as `kernels/` has them.

use loom::sync::atomic::{AtomicU32, AtomicU64, Ordering, fence};

/// What is left out, to see that it matters.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Flaw {
    None,
    NoExit,
    RelaxedExit,
    OneGeneration,
    HalfFlag,
    SharedSlots,
    NoArrivals,
}

/// A slot: two halves, each of data and a tick.
#[derive(Debug)]
struct Slot([AtomicU64; 2]);

impl Slot {
    fn new() -> Self {
        Self([AtomicU64::new(0), AtomicU64::new(0)])
    }
}

/// What one rank has that the other writes, its input and its output.
#[derive(Debug)]
struct Space {
    flag: AtomicU32,
    data: [Slot; 2],
    results: [Slot; 2],
    /// Plain memory: written and read without any order of its own.
    input: AtomicU32,
    output: AtomicU32,
    tick: AtomicU32,
}

#[derive(Debug)]
pub(crate) struct Team {
    spaces: [Space; 2],
    flaw: Flaw,
}

/// A rank's value in an operation.
fn value(rank: usize, operation: u32) -> u32 {
    100 * operation + u32::try_from(rank).unwrap() + 1
}

/// As in `comm.h`: 0 is no tick.
fn after(tick: u32) -> u32 {
    if tick == u32::MAX { 2 } else { tick + 1 }
}

fn has_come(seen: u32, want: u32) -> bool {
    seen.wrapping_sub(want).cast_signed() >= 0
}

impl Team {
    pub(crate) fn new(flaw: Flaw, first_tick: u32) -> Self {
        let space = |rank| Space {
            flag: AtomicU32::new(first_tick),
            data: [Slot::new(), Slot::new()],
            results: [Slot::new(), Slot::new()],
            input: AtomicU32::new(value(rank, 0)),
            output: AtomicU32::new(0),
            tick: AtomicU32::new(first_tick),
        };
        Self {
            spaces: [space(0), space(1)],
            flaw,
        }
    }

    /// The tick that a launch begins with; earlier launches of this rank are complete.
    fn launch(&self, me: usize) -> u32 {
        fence(Ordering::Release);
        self.spaces[me].tick.load(Ordering::Relaxed)
    }

    fn keep(&self, me: usize, tick: u32) {
        self.spaces[me].tick.store(tick, Ordering::Relaxed);
    }

    fn arrive(&self, me: usize, tick: u32, released: bool) {
        let order = if released {
            Ordering::Release
        } else {
            Ordering::Relaxed
        };
        self.spaces[1 - me].flag.store(tick, order);
    }

    fn wait(&self, me: usize, tick: u32) {
        let flag = &self.spaces[me].flag;
        while !has_come(flag.load(Ordering::Relaxed), tick) {
            loom::thread::yield_now();
        }
        flag.load(Ordering::Acquire);
    }

    fn next_input(&self, me: usize, operation: u32) {
        let next = value(me, operation + 1);
        self.spaces[me].input.store(next, Ordering::Relaxed);
    }

    fn read_input(&self, of: usize) -> u32 {
        self.spaces[of].input.load(Ordering::Relaxed)
    }

    pub(crate) fn pull(&self, me: usize, operation: u32) {
        let entry = after(self.launch(me));
        let exit = after(entry);
        self.arrive(me, entry, false);
        self.wait(me, entry);
        assert_eq!(self.read_input(1 - me), value(1 - me, operation));
        if self.flaw != Flaw::NoExit {
            // What was read is used before this, as the kernel's stores use it.
            self.arrive(me, exit, true);
            self.wait(me, exit);
        }
        self.keep(me, exit);
        self.next_input(me, operation);
    }

    pub(crate) fn put(&self, me: usize, operation: u32) {
        let entry = after(self.launch(me));
        let exit = after(entry);
        self.arrive(me, entry, false);
        self.wait(me, entry);
        let mine = value(me, operation);
        self.spaces[1 - me].output.store(mine, Ordering::Relaxed);
        self.arrive(me, exit, self.flaw != Flaw::RelaxedExit);
        self.wait(me, exit);
        self.keep(me, exit);
        let got = self.spaces[me].output.load(Ordering::Relaxed);
        assert_eq!(got, value(1 - me, operation));
    }

    fn generation(&self, tick: u32) -> usize {
        match self.flaw {
            Flaw::OneGeneration => 0,
            _ => (tick & 1) as usize,
        }
    }

    /// Both halves carry the tick, so that neither order of their arrival matters.
    fn send(slot: &Slot, data: u32, tick: u32) {
        let half = |data: u32| u64::from(data) | u64::from(tick) << 32;
        slot.0[0].store(half(data), Ordering::Relaxed);
        slot.0[1].store(half(!data), Ordering::Relaxed);
    }

    fn receive(&self, slot: &Slot, tick: u32) -> u32 {
        #[expect(clippy::cast_possible_truncation, reason = "halves of a word")]
        let halves = |word: u64| (word as u32, (word >> 32) as u32);
        loop {
            let (low, low_tick) = halves(slot.0[0].load(Ordering::Relaxed));
            let (high, high_tick) = halves(slot.0[1].load(Ordering::Relaxed));
            let is_whole = low_tick == tick && (self.flaw == Flaw::HalfFlag || high_tick == tick);
            if is_whole {
                assert_eq!(low, !high, "a packet of two operations");
                return low;
            }
            loom::thread::yield_now();
        }
    }

    pub(crate) fn packets(&self, me: usize, operation: u32) {
        let tick = after(self.launch(me));
        let generation = self.generation(tick);
        let mine = self.read_input(me);
        Self::send(&self.spaces[1 - me].data[generation], mine, tick);
        let got = self.receive(&self.spaces[me].data[generation], tick);
        assert_eq!(got, value(1 - me, operation));
        self.keep(me, tick);
        self.next_input(me, operation);
    }

    pub(crate) fn two_shots(&self, me: usize, operation: u32) {
        let tick = after(self.launch(me));
        let generation = self.generation(tick);
        let results = |rank: usize| match self.flaw {
            Flaw::SharedSlots => &self.spaces[rank].data[generation],
            _ => &self.spaces[rank].results[generation],
        };
        let mine = self.read_input(me);
        Self::send(&self.spaces[1 - me].data[generation], mine, tick);
        let theirs = self.receive(&self.spaces[me].data[generation], tick);
        assert_eq!(theirs, value(1 - me, operation));
        // Each part's result carries whose it is.
        let part = |rank: u32| 1000 * (rank + 1) + value(0, operation) + value(1, operation);
        let number = u32::try_from(me).unwrap();
        assert_eq!(1000 * (number + 1) + mine + theirs, part(number));
        Self::send(results(1 - me), part(number), tick);
        assert_eq!(self.receive(results(me), tick), part(1 - number));
        self.keep(me, tick);
        self.next_input(me, operation);
    }

    /// Rank 0 sends; all tell each other that they are here.
    pub(crate) fn broadcast(&self, me: usize, operation: u32) {
        let tick = after(self.launch(me));
        let generation = self.generation(tick);
        let hears = self.flaw != Flaw::NoArrivals;
        if hears {
            self.arrive(me, tick, false);
        }
        if me == 0 {
            let mine = self.read_input(0);
            Self::send(&self.spaces[1].data[generation], mine, tick);
        } else {
            let got = self.receive(&self.spaces[1].data[generation], tick);
            assert_eq!(got, value(0, operation));
        }
        if hears {
            self.wait(me, tick);
        }
        self.keep(me, tick);
        self.next_input(me, operation);
    }
}
