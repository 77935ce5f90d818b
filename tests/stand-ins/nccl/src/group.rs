//! Group calls, and handing accepted operations to their streams.

use crate::comm::{self, Comm};
use crate::cuda;
#[cfg(feature = "modern")]
use crate::register::Window;
use crate::steer;
use crate::wire::Meeting;
use crate::work::{self, Action, Task};
use crate::{Code, INTERNAL, INVALID_USAGE};
use ncclbench::base::DataType;
use std::cell::RefCell;
use std::sync::Arc;

/// A communicator to initialise when the group closes.
pub struct Join {
    pub comm: Arc<Comm>,
    pub meeting: Meeting,
}

struct Call {
    comm: Arc<Comm>,
    stream: usize,
    task: Task,
}

#[derive(Default)]
struct Group {
    depth: usize,
    joins: Vec<Join>,
    calls: Vec<Call>,
    #[cfg(feature = "modern")]
    windows: Vec<Window>,
    error: Option<Code>,
}

thread_local! {
    static GROUP: RefCell<Group> = RefCell::default();
}

/// Opens a group, or one more level of it.
pub fn start() {
    GROUP.with_borrow_mut(|group| group.depth += 1);
}

/// Closes a level; the outermost one runs everything.
pub fn end() -> Result<(), Code> {
    let group = GROUP.with_borrow_mut(|group| {
        group.depth = group.depth.checked_sub(1).ok_or(INVALID_USAGE)?;
        Ok::<_, Code>(if group.depth == 0 {
            std::mem::take(group)
        } else {
            Group::default()
        })
    })?;
    if let Some(code) = group.error {
        return Err(code);
    }
    join_all(group.joins)?;
    #[cfg(feature = "modern")]
    crate::register::make(group.windows)?;
    launch(group.calls)
}

/// Runs `body` in a group of its own, or as part of the open one. Its error fails the whole group.
pub fn within(body: impl FnOnce() -> Result<(), Code>) -> Result<(), Code> {
    start();
    let done = body();
    if let Err(code) = done {
        GROUP.with_borrow_mut(|group| group.error = Some(code));
    }
    let ended = end();
    done.and(ended)
}

/// Adds a communicator to the open group.
pub fn add_join(join: Join) {
    GROUP.with_borrow_mut(|group| group.joins.push(join));
}

/// Adds a window to the open group.
#[cfg(feature = "modern")]
pub fn add_window(window: Window) {
    GROUP.with_borrow_mut(|group| group.windows.push(window));
}

/// Initialises several communicators, each of which waits for the others. As with NCCL, one that
/// fails ends the others' waits.
fn join_all(joins: Vec<Join>) -> Result<(), Code> {
    let comms: Vec<_> = joins.iter().map(|join| Arc::clone(&join.comm)).collect();
    let comms = Arc::new(comms);
    let threads: Vec<_> = joins
        .into_iter()
        .map(|join| {
            let comms = Arc::clone(&comms);
            std::thread::spawn(move || {
                let joined = join.comm.connect(join.meeting);
                if joined.is_err() {
                    comms.iter().for_each(|comm| comm.give_up());
                }
                joined
            })
        })
        .collect();
    let ends: Vec<_> = threads
        .into_iter()
        .map(|thread| thread.join().unwrap_or(Err(INTERNAL)))
        .collect();
    ends.into_iter().collect()
}

/// Accepts an operation.
pub fn accept(handle: usize, stream: usize, dtype: DataType, action: Action) -> Result<(), Code> {
    let comm = comm::find(handle)?;
    let effects = steer::effects(comm.rank, comm.next_call());
    if effects.hang {
        comm.hang();
        return Err(INTERNAL);
    }
    within(|| {
        if let Some(code) = effects.error {
            return Err(crate::fail(code, "a call was told to fail"));
        }
        let task = Task {
            action,
            dtype,
            effects,
        };
        GROUP.with_borrow_mut(|group| group.calls.push(Call { comm, stream, task }));
        Ok(())
    })
}

/// Enqueues calls on their streams: collectives one by one, sends and receives of a rank together.
fn launch(calls: Vec<Call>) -> Result<(), Code> {
    let mut open: Vec<(Arc<Comm>, usize, Vec<Task>)> = Vec::new();
    let flush = |open: &mut Vec<(Arc<Comm>, usize, Vec<Task>)>, index: usize| {
        let (comm, stream, tasks) = open.remove(index);
        enqueue(comm, stream, tasks)
    };
    for call in calls {
        let mut batch = open
            .iter()
            .position(|(comm, stream, _)| Arc::ptr_eq(comm, &call.comm) && *stream == call.stream);
        if let Some(index) = batch
            && !call.task.is_point_to_point()
        {
            flush(&mut open, index)?;
            batch = None;
        }
        match batch {
            Some(index) => open[index].2.push(call.task),
            None if call.task.is_point_to_point() => {
                open.push((call.comm, call.stream, vec![call.task]));
            }
            None => {
                enqueue(call.comm, call.stream, vec![call.task])?;
            }
        }
    }
    while !open.is_empty() {
        flush(&mut open, 0)?;
    }
    Ok(())
}

fn enqueue(comm: Arc<Comm>, stream: usize, tasks: Vec<Task>) -> Result<(), Code> {
    cuda::on_device(comm.context, || {
        cuda::enqueue(stream, move || work::run(&comm, &tasks))
    })
}
