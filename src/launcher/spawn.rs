//! `--spawn N`: N local processes of this program, the way to try several processes on one machine.
//!
//! The parent measures nothing. The first child inherits a socket that listens already, so that no
//! port is guessed; a secret keeps other users of the machine out.

use super::Wish;
use super::compose::hex;
use super::variables;
use crate::base::Clock;
use crate::base::Env;
use crate::base::Fault;
use crate::base::Kind;
use crate::bootstrap::most_severe;
use crate::bootstrap::tcp::Secret;
use rustix::process::Pid;
use rustix::process::Signal;
use std::net::SocketAddr;
use std::net::TcpListener;
use std::os::fd::AsFd;
use std::os::fd::OwnedFd;
use std::os::unix::process::CommandExt;
use std::os::unix::process::ExitStatusExt;
use std::process::Child;
use std::process::Command;
use std::process::ExitStatus;
use std::process::Stdio;
use std::sync::Arc;
use std::sync::mpsc::Receiver;
use std::time::Duration;

/// Where a child finds the run's secret.
pub(super) const SECRET: &str = "NCCLBENCH_SECRET";

/// Set for the first child: its standard input is a socket that listens.
const LISTENER: &str = "NCCLBENCH_LISTENER";

/// The process that a child must not outlive.
const PARENT: &str = "NCCLBENCH_PARENT";

/// How often the parent looks after its children.
const LOOK: Duration = Duration::from_millis(10);

/// How long the others have to end by themselves when one has failed; a stuck one takes three seconds.
const GRACE: Duration = Duration::from_secs(4);

/// The same after a signal, from which on they must agree on the end first.
const SIGNAL_GRACE: Duration = Duration::from_secs(10);

/// The code of a process that a signal ended: the others lost a rank.
const LOST: u8 = 4;

/// What came of `--spawn`.
#[derive(Debug)]
pub struct Spawned {
    /// The code to leave with.
    pub exit_code: u8,
    /// What a reader must know: a process that a signal ended.
    pub notes: Vec<String>,
}

/// `--spawn N`: starts N processes of this program here with `argv`, the name it was called by
/// included, less `--spawn`, and waits for them; stdout and stderr are theirs too. `signals` that come in
/// are passed on.
///
/// # Errors
/// `Usage` with `--rank` and the like, `Launch` in one of several processes that a launcher started, `Call` if a process cannot be started.
pub fn spawn(
    wish: &Wish,
    env: &Env,
    argv: &[String],
    clock: &Arc<dyn Clock>,
    signals: &Receiver<i32>,
) -> Result<Spawned, Fault> {
    let count = wish.spawn.unwrap_or(0);
    if wish.rank.is_some() || wish.world.is_some() || wish.rendezvous.is_some() {
        return Err(Fault::usage(
            "`--spawn` sets `--rank`, `--world` and `--rendezvous` itself",
        ));
    }
    if count == 0 {
        return Err(Fault::usage(
            "invalid value `0` for `--spawn`; expected at least 1",
        ));
    }
    refuse_one_of_many(count, env)?;
    let mut children = Vec::new();
    match start(count, &without_spawn(argv), &mut children) {
        Ok(()) => Ok(look_after(children, clock.as_ref(), signals)),
        Err(error) => {
            for child in &mut children {
                end(child);
            }
            Err(Fault::new(
                Kind::Call,
                format!("cannot start a process of this program: {error}"),
            ))
        }
    }
}

/// What launchers say of a process: its index, and how many there are.
const ANNOUNCED: [(&str, &str); 4] = [
    ("OMPI_COMM_WORLD_RANK", "OMPI_COMM_WORLD_SIZE"),
    ("PMI_RANK", "PMI_SIZE"),
    ("RANK", "WORLD_SIZE"),
    ("SLURM_STEP_ID", "SLURM_STEP_NUM_TASKS"),
];

/// In each of several processes that a launcher started, `--spawn` would make a world of its own, and the
/// worlds would share the machine without knowing of each other.
fn refuse_one_of_many(count: u32, env: &Env) -> Result<(), Fault> {
    for (index, size) in ANNOUNCED {
        if !env.has(index) {
            continue;
        }
        let started = variables::optional_number(env, size)?.unwrap_or(1);
        if started > 1 {
            let text = format!(
                "`--spawn {count}` would make {started} separate worlds, one in each process that a launcher started (`{size}={started}`)"
            );
            return Err(Fault::new(Kind::Launch, text)
                .hint("leave `--spawn` out: processes that a launcher started find each other"));
        }
    }
    Ok(())
}

fn start(count: u32, argv: &[String], children: &mut Vec<Child>) -> Result<(), std::io::Error> {
    let program = std::env::current_exe()?;
    let listener = TcpListener::bind("127.0.0.1:0")?;
    let address = listener.local_addr()?;
    let fresh = Secret::fresh().map_err(|fault| std::io::Error::other(fault.message))?;
    let secret = hex(fresh.expose());
    let mut listener = Some(listener);
    let (name, arguments) = argv.split_at(argv.len().min(1));
    for rank in 0..count {
        let mut command = Command::new(&program);
        let place = place(rank, count, address);
        let (word, options) = arguments.split_at(first_word(arguments));
        command.args(word).args(place).args(options);
        if let [name] = name {
            // the children answer to the same name
            command.arg0(name);
        }
        tie(&mut command, &secret, listener.take());
        children.push(command.spawn()?);
    }
    Ok(())
}

/// Gives a child the run's secret, this process's life to depend on, and the socket that listens, if it
/// is the first.
pub(super) fn tie(command: &mut Command, secret: &str, listener: Option<TcpListener>) {
    command.env(SECRET, secret);
    command.env(PARENT, std::process::id().to_string());
    match listener {
        Some(listener) => {
            command.env(LISTENER, "stdin");
            command.stdin(Stdio::from(OwnedFd::from(listener)));
        }
        None => {
            command.env_remove(LISTENER).stdin(Stdio::null());
        }
    }
}

fn place(rank: u32, world: u32, address: SocketAddr) -> Vec<String> {
    let pairs = [
        ("--rank", rank.to_string()),
        ("--world", world.to_string()),
        ("--rendezvous", address.to_string()),
    ];
    pairs
        .into_iter()
        .flat_map(|(name, value)| [name.to_owned(), value])
        .collect()
}

/// How many arguments come before the place: a subcommand is known by being the first, and behind
/// a `--` nothing is an option.
fn first_word(arguments: &[String]) -> usize {
    usize::from(arguments.first().is_some_and(|word| !word.starts_with('-')))
}

/// `arguments` less `--spawn N` and `--spawn=N`.
fn without_spawn(arguments: &[String]) -> Vec<String> {
    let mut kept = Vec::new();
    let mut arguments = arguments.iter();
    while let Some(argument) = arguments.next() {
        if argument == "--spawn" {
            arguments.next();
        } else if !argument.starts_with("--spawn=") {
            kept.push(argument.clone());
        }
    }
    kept
}

/// Waits for all; once one has failed, the others have a while to end by themselves.
pub(super) fn look_after(
    mut children: Vec<Child>,
    clock: &dyn Clock,
    signals: &Receiver<i32>,
) -> Spawned {
    let mut ended: Vec<Option<ExitStatus>> = vec![None; children.len()];
    let mut until = None;
    while ended.iter().any(Option::is_none) {
        for (child, ended) in children.iter_mut().zip(&mut ended) {
            if ended.is_none() {
                *ended = child.try_wait().unwrap_or_default();
            }
        }
        while let Ok(signal) = signals.try_recv() {
            pass_on(signal, &children, &ended);
            until.get_or_insert(clock.now() + SIGNAL_GRACE);
        }
        if ended.iter().flatten().any(|status| !status.success()) {
            let soon = clock.now() + GRACE;
            until = Some(until.map_or(soon, |until: Duration| until.min(soon)));
        }
        if until.is_some_and(|until| clock.now() >= until) {
            return conclude_by_force(&mut children, ended);
        }
        clock.pause(LOOK);
    }
    conclude(&ended)
}

/// Gives a signal to the children that are still there.
fn pass_on(signal: i32, children: &[Child], ended: &[Option<ExitStatus>]) {
    let Some(signal) = Signal::from_named_raw(signal) else {
        return;
    };
    for (child, _) in children.iter().zip(ended).filter(|(_, end)| end.is_none()) {
        // one that has ended meanwhile is waited for in the next turn
        let _ = rustix::process::kill_process(Pid::from_child(child), signal);
    }
}

/// Kills those that do not end by themselves, a stopped one too.
fn conclude_by_force(children: &mut [Child], mut ended: Vec<Option<ExitStatus>>) -> Spawned {
    let mut notes = Vec::new();
    for (rank, (child, ended)) in children.iter_mut().zip(&mut ended).enumerate() {
        if ended.is_none() {
            notes.push(format!(
                "the process of `--rank {rank}` (pid {}) did not end by itself and was killed",
                child.id()
            ));
            *ended = end(child).filter(|status| status.signal().is_none());
        }
    }
    let mut spawned = conclude(&ended);
    spawned.notes.append(&mut notes);
    spawned
}

/// Kills a child and waits for it; how it ended.
fn end(child: &mut Child) -> Option<ExitStatus> {
    // one that has ended meanwhile cannot be killed and is waited for alike
    drop(child.kill());
    child.wait().ok()
}

fn conclude(ended: &[Option<ExitStatus>]) -> Spawned {
    let mut notes = Vec::new();
    let mut codes = Vec::new();
    for (rank, status) in ended.iter().enumerate() {
        let Some(status) = status else {
            codes.push(LOST);
            continue;
        };
        if let Some(signal) = status.signal() {
            notes.push(format!(
                "the process of `--rank {rank}` was ended by signal {signal}"
            ));
        }
        codes.push(
            status
                .code()
                .and_then(|code| u8::try_from(code).ok())
                .unwrap_or(LOST),
        );
    }
    Spawned {
        exit_code: most_severe(codes),
        notes,
    }
}

/// What a child has from its parent.
pub(super) struct Inherited;

impl Inherited {
    /// Ties this process to its parent's life and takes the socket that it was given.
    ///
    /// # Errors
    /// `Launch` if the parent is gone or the socket is not one that listens.
    pub(super) fn read(env: &Env) -> Result<Option<TcpListener>, Fault> {
        if let Some(parent) = env.get(PARENT) {
            die_with(parent)?;
        }
        if env.get(LISTENER) != Some("stdin") {
            return Ok(None);
        }
        let copy = std::io::stdin()
            .as_fd()
            .try_clone_to_owned()
            .map_err(|error| no_socket(&error.to_string()))?;
        let listens = rustix::net::sockopt::socket_acceptconn(&copy);
        match listens {
            Ok(true) => Ok(Some(TcpListener::from(copy))),
            Ok(false) => Err(no_socket("it does not listen")),
            Err(error) => Err(no_socket(&error.to_string())),
        }
    }
}

fn no_socket(why: &str) -> Fault {
    let text = format!("`{LISTENER}` says that standard input is a socket: {why}");
    Fault::new(Kind::Launch, text)
}

fn die_with(parent: &str) -> Result<(), Fault> {
    let kill = Some(rustix::process::Signal::KILL);
    rustix::process::set_parent_process_death_signal(kill)
        .map_err(|error| Fault::new(Kind::Call, format!("prctl failed: {error}")))?;
    // if it ended before the call, no signal will come
    let now = rustix::process::getppid().map(|pid| pid.as_raw_nonzero().to_string());
    if now.as_deref() == Some(parent) {
        return Ok(());
    }
    let text = format!("the process {parent} that started this one is gone");
    Err(Fault::new(Kind::Launch, text))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn children_get_the_arguments_without_the_wish_to_spawn() {
        let given = ["allreduce", "--spawn", "3", "-b", "8", "--spawn=4"].map(str::to_owned);
        assert_eq!(without_spawn(&given), ["allreduce", "-b", "8"]);
    }

    #[test]
    fn a_subcommand_stays_the_first_argument() {
        let count = |line: &str| {
            let words: Vec<String> = line.split_whitespace().map(str::to_owned).collect();
            first_word(&words)
        };
        assert_eq!((count("where --json"), count("-g 3 allreduce")), (1, 0));
        assert_eq!(count(""), 0);
    }

    #[test]
    fn the_code_is_the_worst_and_a_signal_counts_as_a_lost_rank() {
        let raw = |raw| Some(ExitStatus::from_raw(raw));
        let all = conclude(&[raw(0), raw(3 << 8), raw(9)]);
        assert_eq!(all.exit_code, 4);
        assert_eq!(
            all.notes,
            ["the process of `--rank 2` was ended by signal 9"]
        );
        assert_eq!(conclude(&[raw(0), raw(0)]).exit_code, 0);
    }
}
