//! What an operation does, on the stream's own thread.

use crate::comm::Comm;
use crate::journal;
use crate::steer::Effects;
use crate::verbs::{self, Verb};
use crate::wire::{Incoming, Outgoing, exchange};
use crate::{Code, INVALID_USAGE, fail};
use ncclbench::base::{DataType, RedOp, arith};
use std::path::Path;
use std::time::Duration;

/// A reduction: the operator, and this rank's scalar where it has one.
#[derive(Debug, Clone, Copy)]
pub struct Reduction {
    pub redop: RedOp,
    pub scalar_bits: Option<u64>,
}

/// An accepted operation.
#[derive(Debug, Clone, Copy)]
pub enum Action {
    AllReduce {
        send: usize,
        recv: usize,
        count: usize,
        by: Reduction,
    },
    #[cfg_attr(
        not(feature = "modern"),
        expect(dead_code, reason = "an old library has no such call")
    )]
    AllToAll {
        send: usize,
        recv: usize,
        count: usize,
    },
    Verb {
        verb: Verb,
        send: usize,
        recv: usize,
        count: usize,
    },
    Send {
        from: usize,
        count: usize,
        peer: usize,
    },
    Recv {
        into: usize,
        count: usize,
        peer: usize,
    },
}

/// An accepted operation and what goes wrong with it.
#[derive(Debug, Clone)]
pub struct Task {
    pub action: Action,
    pub dtype: DataType,
    pub effects: Effects,
}

impl Task {
    pub fn is_point_to_point(&self) -> bool {
        matches!(self.action, Action::Send { .. } | Action::Recv { .. })
    }

    fn bytes(&self, count: usize) -> usize {
        count * self.dtype.size() as usize
    }

    /// Where its input lies.
    fn input(&self, comm: &Comm) -> Option<(usize, usize)> {
        match self.action {
            Action::Verb {
                verb, send, count, ..
            } => Some((send, self.bytes(count) * verb.reach(comm).0)),
            Action::AllReduce { send, count, .. } => Some((send, self.bytes(count))),
            Action::AllToAll { send, count, .. } => Some((send, self.bytes(count) * comm.world)),
            Action::Send { from, count, .. } => Some((from, self.bytes(count))),
            Action::Recv { .. } => None,
        }
    }

    fn is_registered(&self, comm: &Comm) -> bool {
        let spans = [self.input(comm), self.output(comm)];
        let mut spans = spans.into_iter().flatten().filter(|(_, len)| *len > 0);
        spans.all(|(address, len)| comm.knows(address, len))
    }

    /// Where its output lies.
    fn output(&self, comm: &Comm) -> Option<(usize, usize)> {
        match self.action {
            Action::Verb {
                verb, recv, count, ..
            } => Some((recv, self.bytes(count) * verb.reach(comm).1)),
            Action::AllReduce { recv, count, .. } => Some((recv, self.bytes(count))),
            Action::AllToAll { recv, count, .. } => Some((recv, self.bytes(count) * comm.world)),
            Action::Recv { into, count, .. } => Some((into, self.bytes(count))),
            Action::Send { .. } => None,
        }
    }
}

/// Device memory as a slice.
///
/// # Safety
/// The range must lie in an allocation that nobody else uses while the slice lives.
unsafe fn memory<'a>(address: usize, len: usize) -> &'a mut [u8] {
    if len == 0 {
        return &mut [];
    }
    // SAFETY: the caller's promise.
    unsafe { std::slice::from_raw_parts_mut(std::ptr::with_exposed_provenance_mut(address), len) }
}

/// Runs tasks that were accepted together: one collective, or a batch of sends and receives.
pub fn run(comm: &Comm, tasks: &[Task]) {
    tasks
        .iter()
        .for_each(|_| journal::line(&format!("rank {} ran", comm.rank)));
    if crate::steer::wants_registered() && tasks.iter().any(|task| !task.is_registered(comm)) {
        let text = "a buffer of an operation is not registered";
        return comm.fail_on_stream(fail(INVALID_USAGE, text));
    }
    let slow: u64 = tasks.iter().map(|task| task.effects.slow_us).sum();
    if slow > 0 {
        std::thread::sleep(Duration::from_micros(slow));
    }
    for file in tasks
        .iter()
        .filter_map(|task| task.effects.wait_for.as_ref())
    {
        while !Path::new(file).exists() && !comm.is_gone() {
            std::thread::sleep(Duration::from_millis(2));
        }
    }
    if tasks.iter().any(|task| task.effects.hang_on_stream) {
        return comm.hang();
    }
    if let Some(code) = tasks.iter().find_map(|task| task.effects.error_later) {
        return comm.fail_on_stream(fail(code, "an operation was told to fail"));
    }
    let done = match tasks {
        [one] if !one.is_point_to_point() => collective(comm, one),
        batch => point_to_point(comm, batch),
    };
    match done {
        Err(code) if !comm.is_gone() => comm.fail_on_stream(code),
        _ => tasks.iter().for_each(|task| corrupt(comm, task)),
    }
}

/// Flips the bit that the task was told to.
fn corrupt(comm: &Comm, task: &Task) {
    let (Some((element, bit)), Some((address, len))) = (task.effects.flip, task.output(comm))
    else {
        return;
    };
    let at = element * task.dtype.size() as usize + bit / 8;
    if at < len {
        // SAFETY: the output of an operation that has just run on this stream.
        let output = unsafe { memory(address, len) };
        output[at] ^= 1 << (bit % 8);
    }
}

fn collective(comm: &Comm, task: &Task) -> Result<(), Code> {
    match task.action {
        Action::AllReduce {
            send,
            recv,
            count,
            by,
        } => {
            let len = task.bytes(count);
            // Copied, so that the in-place form is no special case.
            // SAFETY: NCCL's contract: the buffers are the operation's until it completes.
            let input = unsafe { memory(send, len) }.to_vec();
            // SAFETY: as above.
            let output = unsafe { memory(recv, len) };
            all_reduce(comm, task.dtype, by, input, output)
        }
        Action::AllToAll { send, recv, count } => {
            let len = task.bytes(count);
            // SAFETY: as above.
            let input = unsafe { memory(send, len * comm.world) }.to_vec();
            // SAFETY: as above.
            let output = unsafe { memory(recv, len * comm.world) };
            all_to_all(comm, &input, output)
        }
        Action::Verb {
            verb,
            send,
            recv,
            count,
        } => {
            let (len, (reads, writes)) = (task.bytes(count), verb.reach(comm));
            // SAFETY: as above.
            let input = unsafe { memory(send, len * reads) }.to_vec();
            // SAFETY: as above.
            let output = unsafe { memory(recv, len * writes) };
            verbs::run(comm, verb, task.dtype, input, output, len)
        }
        Action::Send { .. } | Action::Recv { .. } => Err(INVALID_USAGE),
    }
}

/// Does to a rank's input what comes before it is combined.
pub fn scale(comm: &Comm, dtype: DataType, by: Reduction, input: &mut [u8]) {
    match (by.redop, by.scalar_bits) {
        (_, Some(bits)) => arith::scale(dtype, input, bits),
        (RedOp::Avg, None) if dtype.is_float() => {
            arith::scale(
                dtype,
                input,
                arith::reciprocal_bits(dtype, comm.world as u32),
            );
        }
        _ => {}
    }
}

/// All ranks' inputs, scaled, reduced in rank order.
pub fn fold(comm: &Comm, dtype: DataType, by: Reduction, inputs: &mut [Vec<u8>]) -> Vec<u8> {
    let (first, rest) = inputs
        .split_first_mut()
        .expect("a world has at least one rank");
    for other in rest {
        arith::reduce_into(dtype, by.redop, first, other);
    }
    if by.redop == RedOp::Avg {
        arith::divide_by(dtype, first, comm.world as u32);
    }
    first.clone()
}

/// First and last byte of part `index` of `world` nearly equal parts of `count` elements.
fn part(count: usize, world: usize, index: usize, size: usize) -> std::ops::Range<usize> {
    count * index / world * size..count * (index + 1) / world * size
}

/// Every rank reduces one part of all inputs, in rank order, and gives it to all.
fn all_reduce(
    comm: &Comm,
    dtype: DataType,
    by: Reduction,
    mut input: Vec<u8>,
    output: &mut [u8],
) -> Result<(), Code> {
    let (size, world, rank) = (dtype.size() as usize, comm.world, comm.rank);
    let count = input.len() / size;
    scale(comm, dtype, by, &mut input);
    let range = |peer| part(count, world, peer, size);
    let mine = range(rank);
    let mut theirs: Vec<Vec<u8>> = (0..world).map(|_| vec![0; mine.len()]).collect();
    theirs[rank].copy_from_slice(&input[mine.clone()]);
    swap(
        comm,
        1,
        |peer| &input[range(peer)],
        theirs.iter_mut().map(Vec::as_mut_slice),
    )?;
    let reduced = fold(comm, dtype, by, &mut theirs);
    output[mine].copy_from_slice(&reduced);
    let mut parts = Vec::with_capacity(world);
    let mut left = output;
    for peer in 0..world {
        let (part, rest) = left.split_at_mut(range(peer).len());
        parts.push(part);
        left = rest;
    }
    swap(comm, 2, |_| reduced.as_slice(), parts.into_iter())
}

fn all_to_all(comm: &Comm, input: &[u8], output: &mut [u8]) -> Result<(), Code> {
    let len = input.len() / comm.world;
    let own = comm.rank * len..(comm.rank + 1) * len;
    output[own.clone()].copy_from_slice(&input[own]);
    if len == 0 {
        let nothing = (0..comm.world).map(|_| <&mut [u8]>::default());
        return swap(comm, 3, |_| &[], nothing);
    }
    swap(
        comm,
        3,
        |peer| &input[peer * len..(peer + 1) * len],
        output.chunks_exact_mut(len),
    )
}

/// Sends `give(peer)` to every other rank and receives into `take`, which has a slice for each rank.
pub fn swap<'a, 'b>(
    comm: &Comm,
    kind: u64,
    give: impl Fn(usize) -> &'a [u8],
    take: impl Iterator<Item = &'b mut [u8]>,
) -> Result<(), Code> {
    let others = || (0..comm.world).filter(|&peer| peer != comm.rank);
    let mut out: Vec<_> = others()
        .map(|peer| Outgoing::new(peer, kind, give(peer)))
        .collect();
    let mut into: Vec<_> = take
        .enumerate()
        .filter(|&(peer, _)| peer != comm.rank)
        .map(|(peer, slice)| Incoming::new(peer, kind, slice))
        .collect();
    exchange(comm.peers(), &mut out, &mut into, &|| comm.is_gone())
}

fn point_to_point(comm: &Comm, batch: &[Task]) -> Result<(), Code> {
    const KIND: u64 = 4;
    let (mut out, mut into) = (Vec::new(), Vec::new());
    let (mut to_self, mut from_self) = (Vec::new(), Vec::new());
    for task in batch {
        match task.action {
            Action::Send { from, count, peer } => {
                // SAFETY: NCCL's contract: the buffers are the operation's until it completes.
                let bytes: &[u8] = unsafe { memory(from, task.bytes(count)) };
                if peer == comm.rank {
                    to_self.push(bytes)
                } else {
                    out.push(Outgoing::new(peer, KIND, bytes))
                }
            }
            Action::Recv {
                into: address,
                count,
                peer,
            } => {
                // SAFETY: as above.
                let bytes = unsafe { memory(address, task.bytes(count)) };
                if peer == comm.rank {
                    from_self.push(bytes)
                } else {
                    into.push(Incoming::new(peer, KIND, bytes))
                }
            }
            _ => return Err(INVALID_USAGE),
        }
    }
    if to_self.len() != from_self.len() {
        return Err(fail(INVALID_USAGE, "a send to oneself without its receive"));
    }
    for (from, into) in to_self.iter().zip(from_self) {
        let copy = from.to_vec();
        into.copy_from_slice(&copy);
    }
    exchange(comm.peers(), &mut out, &mut into, &|| comm.is_gone())
}
