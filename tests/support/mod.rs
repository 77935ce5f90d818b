//! What benches and tests of real processes share: a control plane over a socket of the parent, and
//! a seat.
#![allow(
    clippy::unwrap_used,
    clippy::unwrap_in_result,
    clippy::panic,
    clippy::disallowed_methods,
    dead_code,
    reason = "a test fails by panicking, and each user of this file uses a part of it"
)]

use ncclbench::backend::{ThreadSeat, Wish};
use ncclbench::base::{Clock, Env, Fault, Kind, Rank, World};
use ncclbench::bootstrap::{Bootstrap, Ending, Pulse, Step};
use std::io::{Read, Write};
use std::os::linux::net::SocketAddrExt;
use std::os::unix::net::{SocketAddr, UnixListener, UnixStream};
use std::sync::{Arc, Mutex};
use std::time::{Duration, Instant};

/// The machine's clock.
#[derive(Debug)]
pub(crate) struct Running(Instant);

impl Clock for Running {
    fn now(&self) -> Duration {
        self.0.elapsed()
    }

    fn pause(&self, pause: Duration) {
        std::thread::park_timeout(pause);
    }
}

/// A clock that runs.
pub(crate) fn clock() -> Arc<dyn Clock> {
    Arc::new(Running(Instant::now()))
}

/// The seat of a rank on `host`.
pub(crate) fn seat(rank: Rank, world: World, host: &str, op_limit: Option<Duration>) -> ThreadSeat {
    ThreadSeat {
        world,
        ranks: vec![rank],
        devices: vec![0],
        host: host.to_owned(),
        host_identity: format!("{host}/test"),
        limit: Duration::from_secs(30),
        op_limit,
        clock: clock(),
        wish: Wish {
            nccl_lib: None,
            env: Env::default(),
            seed: 1,
            kernel: ncclbench::backend::KernelWish::default(),
            comm: ncclbench::backend::CommWish::default(),
        },
    }
}

/// A step that may take a minute.
pub(crate) fn step(name: &str) -> Step<'_> {
    Step {
        name,
        limit: Duration::from_mins(1),
    }
}

/// Where the members meet: it hands everything on to everybody.
pub(crate) struct Hub {
    listener: UnixListener,
    name: String,
    members: usize,
}

impl Hub {
    /// For so many members.
    pub(crate) fn open(members: usize) -> Self {
        static COUNT: std::sync::atomic::AtomicU32 = std::sync::atomic::AtomicU32::new(0);
        let count = COUNT.fetch_add(1, std::sync::atomic::Ordering::Relaxed);
        let name = format!("ncclbench-hub-{}-{count}", std::process::id());
        let address = SocketAddr::from_abstract_name(&name).unwrap();
        Self {
            listener: UnixListener::bind_addr(&address).unwrap(),
            name,
            members,
        }
    }

    /// What to join it by.
    pub(crate) fn name(&self) -> &str {
        &self.name
    }

    /// Serves until a member leaves.
    pub(crate) fn serve(&self) {
        let mut members: Vec<(u64, UnixStream)> = (0..self.members)
            .map(|_| {
                let (mut stream, _) = self.listener.accept().unwrap();
                (number(&mut stream).unwrap(), stream)
            })
            .collect();
        members.sort_by_key(|(member, _)| *member);
        loop {
            let mut round = Vec::new();
            for (_, stream) in &mut members {
                let Some(len) = number(stream) else { return };
                let mut bytes = vec![0; usize::try_from(len).unwrap()];
                if stream.read_exact(&mut bytes).is_err() {
                    return;
                }
                round.extend_from_slice(&len.to_le_bytes());
                round.append(&mut bytes);
            }
            for (_, stream) in &mut members {
                if stream.write_all(&round).is_err() {
                    return;
                }
            }
        }
    }
}

fn number(stream: &mut UnixStream) -> Option<u64> {
    let mut bytes = [0; 8];
    stream.read_exact(&mut bytes).ok()?;
    Some(u64::from_le_bytes(bytes))
}

/// A member of a [`Hub`].
#[derive(Debug)]
pub(crate) struct Spoke {
    stream: Mutex<UnixStream>,
    member: usize,
    members: usize,
    pulse: Pulse,
}

impl Spoke {
    /// Joins.
    pub(crate) fn join(hub: &str, member: usize, members: usize) -> Self {
        let address = SocketAddr::from_abstract_name(hub).unwrap();
        let mut stream = UnixStream::connect_addr(&address).unwrap();
        stream.write_all(&(member as u64).to_le_bytes()).unwrap();
        Self {
            stream: Mutex::new(stream),
            member,
            members,
            pulse: Pulse::default(),
        }
    }
}

impl Bootstrap for Spoke {
    fn member(&self) -> usize {
        self.member
    }

    fn members(&self) -> usize {
        self.members
    }

    fn all_gather(&self, step: Step<'_>, mine: &[u8]) -> Result<Vec<Vec<u8>>, Fault> {
        let lost = || Fault::new(Kind::Peer, format!("the hub is gone: {}", step.name));
        let mut stream = self.stream.lock().unwrap();
        let mut message = (mine.len() as u64).to_le_bytes().to_vec();
        message.extend_from_slice(mine);
        stream.write_all(&message).map_err(|_| lost())?;
        let mut read = || {
            let len = number(&mut stream).ok_or_else(lost)?;
            let mut bytes = vec![0; usize::try_from(len).unwrap()];
            stream.read_exact(&mut bytes).map_err(|_| lost())?;
            Ok(bytes)
        };
        (0..self.members).map(|_| read()).collect()
    }

    fn pulse(&self) -> &Pulse {
        &self.pulse
    }

    fn ended(&self) -> Option<Fault> {
        None
    }

    fn fail(&self, fault: Fault) -> Ending {
        fault.into()
    }
}
