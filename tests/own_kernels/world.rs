//! Worlds of engine threads in this process, with sessions of backend `kernel` on the stand-in driver.

use crate::stand_ins::library;
use ncclbench::backend::{self, Backend, KernelWish, Session, ThreadSeat, Wish};
use ncclbench::base::{Buffer, Bytes, DataType, Env, Rank, RedOp, Span, Uneven, World};
use ncclbench::bootstrap::solo::Solo;
use ncclbench::bootstrap::threads::ThreadPlane;
use ncclbench::bootstrap::{Bootstrap, PeerInfo};
use ncclbench::collective::{Call, Collective, Layout, Operator};
use ncclbench::engine::SystemClock;
use ncclbench::record::Tuning;
use std::sync::Arc;
use std::time::Duration;

/// A shape of world, and what is special about it.
#[derive(Debug, Clone)]
pub(crate) struct Worlds {
    threads: u32,
    lanes: u32,
    wish: KernelWish,
    apart: bool,
    op_limit: Option<Duration>,
    variables: Vec<(&'static str, &'static str)>,
}

fn kernel() -> &'static dyn Backend {
    let mut all = backend::ALL.iter();
    *all.find(|backend| backend.name() == "kernel").unwrap()
}

impl Worlds {
    pub(crate) fn new(threads: u32, lanes: u32) -> Self {
        Self {
            threads,
            lanes,
            wish: KernelWish::default(),
            apart: false,
            op_limit: Some(Duration::from_mins(2)),
            variables: Vec::new(),
        }
    }

    pub(crate) fn algo(mut self, name: &str) -> Self {
        self.wish.algo = Some(name.to_owned());
        self
    }

    pub(crate) fn blocks(mut self, blocks: u32) -> Self {
        self.wish.blocks = Some(blocks);
        self
    }

    pub(crate) fn tuning(mut self, tuning: Tuning) -> Self {
        self.wish.tuning = Some(tuning);
        self
    }

    pub(crate) fn variable(mut self, name: &'static str, value: &'static str) -> Self {
        self.variables.push((name, value));
        self
    }

    pub(crate) fn op_limit_ms(mut self, limit: u64) -> Self {
        self.op_limit = Some(Duration::from_millis(limit));
        self
    }

    /// Every thread says that it is on a host of its own.
    pub(crate) fn on_hosts_apart(mut self) -> Self {
        self.apart = true;
        self
    }

    fn world(&self) -> World {
        World(self.threads * self.lanes)
    }

    fn seat(&self, thread: u32) -> ThreadSeat {
        let first = thread * self.lanes;
        let ranks: Vec<_> = (first..first + self.lanes).collect();
        let driver = library("libcuda.so.1");
        let driver = [("NCCLBENCH_CUDA", driver.as_str())];
        let host = if self.apart {
            format!("host{thread}")
        } else {
            "test".to_owned()
        };
        ThreadSeat {
            world: self.world(),
            // The stand-in has eight devices.
            devices: ranks.iter().map(|rank| rank % 8).collect(),
            ranks: ranks.into_iter().map(Rank).collect(),
            host_identity: host.clone(),
            host,
            limit: Duration::from_mins(1),
            op_limit: self.op_limit,
            clock: Arc::new(SystemClock),
            wish: Wish {
                nccl_lib: None,
                env: (driver.into_iter())
                    .chain(self.variables.iter().copied())
                    .collect::<Env>(),
                seed: 0,
                comm: backend::CommWish::default(),
                kernel: self.wish.clone(),
            },
        }
    }

    /// Runs `body` on every thread with its session.
    pub(crate) fn on_threads<T: Send>(
        &self,
        body: impl Fn(&mut dyn Session, &ThreadSeat, &dyn Bootstrap) -> T + Sync,
    ) -> Vec<T> {
        let solo = Solo::new(PeerInfo {
            host: "test".to_owned(),
            identity: "test".to_owned(),
            pid: 1,
            version: "0".to_owned(),
            ranks: self.world().0,
        });
        let threads = self.threads as usize;
        let planes = ThreadPlane::join(Arc::new(solo), threads, Arc::new(SystemClock));
        std::thread::scope(|scope| {
            let started: Vec<_> = planes
                .iter()
                .zip(0..)
                .map(|(plane, thread)| {
                    let (seat, body) = (self.seat(thread), &body);
                    scope.spawn(move || {
                        let mut session = kernel().open(&seat, plane).unwrap();
                        body(session.as_mut(), &seat, plane)
                    })
                })
                .collect();
            let ended = started.into_iter();
            ended.map(|thread| thread.join().unwrap()).collect()
        })
    }
}

/// An operation on floats at the start of two buffers.
pub(crate) fn call(send: Buffer, recv: Buffer, bytes: u64, operator: Operator) -> Call {
    let applied = matches!(operator, Operator::Applied);
    Call {
        send: Span::whole(send, Bytes(bytes)),
        recv: Span::whole(recv, Bytes(bytes)),
        dtype: DataType::Float,
        redop: applied.then_some(RedOp::Sum),
        root: None,
        round: 0,
    }
}

pub(crate) fn layout(what: &dyn Collective, bytes: u64, world: World) -> Layout {
    what.layout(Bytes(bytes), DataType::Float, world, &Uneven::default())
}
