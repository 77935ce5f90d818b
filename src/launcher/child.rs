//! A child of this process that takes its place in a world of its own: fresh, with other variables.
//!
//! NCCL reads its variables once in a process, so that two settings are two processes.

use super::compose::hex;
use super::spawn;
use super::spawn::Spawned;
use crate::base::Clock;
use crate::base::Fault;
use crate::base::Kind;
use crate::bootstrap::tcp::Secret;
use crate::record::contrast::Arm;
use serde::Deserialize;
use serde::Serialize;
use std::net::TcpListener;
use std::os::fd::AsFd;
use std::path::PathBuf;
use std::process::Command;
use std::process::Stdio;
use std::sync::Arc;
use std::sync::mpsc::Receiver;

/// Where the children of all processes meet, and what only they know.
#[derive(Debug, Clone, Serialize, Deserialize)]
pub struct Rendezvous {
    address: String,
    secret: String,
}

/// A child to be started.
#[derive(Debug)]
pub struct ChildWish<'a> {
    /// Its arguments, without the program's name and without its place.
    pub arguments: &'a [String],
    /// Its variables, besides this process's.
    pub arm: &'a Arm,
    /// How it takes its place.
    pub place: Place<'a>,
}

/// How children take their places.
#[derive(Debug)]
pub enum Place<'a> {
    /// One among those of the other processes.
    Told {
        /// Its index among the children.
        rank: u32,
        /// How many there are.
        world: u32,
        /// Where they meet.
        rendezvous: &'a Rendezvous,
        /// The socket of that address, for the first.
        listener: Option<TcpListener>,
    },
    /// A command starts them all, as `mpirun -n 4`, and its launcher says the rest.
    By(&'a [String]),
}

impl Rendezvous {
    /// A new one on this host, at the address `place` (`HOST:PORT`) that others know it by but at a
    /// port of its own; on the loopback where there are no others.
    ///
    /// # Errors
    /// `Call` where the system has no port or no randomness.
    pub fn fresh(place: Option<&str>) -> Result<(Self, TcpListener), Fault> {
        let host = place.and_then(|place| Some(place.rsplit_once(':')?.0));
        let host = host.unwrap_or("127.0.0.1");
        let refused = |error: std::io::Error| {
            Fault::new(Kind::Call, format!("cannot listen on `{host}`: {error}"))
        };
        let listener = TcpListener::bind(format!("{host}:0")).map_err(refused)?;
        let address = listener.local_addr().map_err(refused)?.to_string();
        let secret = hex(Secret::fresh()?.expose());
        Ok((Self { address, secret }, listener))
    }
}

/// Starts a child and waits for it; its stdout goes to this process's stderr. `signals` that come in
/// are passed on.
///
/// # Errors
/// `Call` if it cannot be started.
pub fn run_child(
    wish: ChildWish<'_>,
    clock: &Arc<dyn Clock>,
    signals: &Receiver<i32>,
) -> Result<Spawned, Fault> {
    let refused = |error: std::io::Error| {
        let text = format!("cannot start a process of this program: {error}");
        Fault::new(Kind::Call, text)
    };
    let program = std::env::current_exe().map_err(refused)?;
    let mut command = match wish.place {
        Place::By(words) => started_by(words, program),
        Place::Told { .. } => Command::new(program),
    };
    command.args(wish.arguments).envs(&wish.arm.set);
    for name in &wish.arm.unset {
        command.env_remove(name);
    }
    take_place(&mut command, wish.place);
    let stderr = std::io::stderr().as_fd().try_clone_to_owned();
    command.stdout(Stdio::from(stderr.map_err(refused)?));
    let child = command.spawn().map_err(refused)?;
    Ok(spawn::look_after(vec![child], &**clock, signals))
}

fn started_by(words: &[String], program: PathBuf) -> Command {
    let mut words = words.iter();
    let mut command = match words.next() {
        Some(first) => Command::new(first),
        None => return Command::new(program),
    };
    command.args(words).arg(program);
    command
}

fn take_place(command: &mut Command, place: Place<'_>) {
    match place {
        Place::By(_) => {
            command.stdin(Stdio::null());
        }
        Place::Told {
            rank,
            world,
            rendezvous,
            listener,
        } => {
            command.args(["--rank", &rank.to_string(), "--world", &world.to_string()]);
            command.args(["--rendezvous", &rendezvous.address]);
            spawn::tie(command, &rendezvous.secret, listener);
        }
    }
}
