//! PMI-1 by hand, without any library: MPICH's Hydra (`mpiexec`, `mpirun.mpich`) and what speaks as
//! it does, such as `srun --mpi=pmi2`.

use super::Launcher;
use super::Meeting;
use super::ProcessSeat;
use super::Setting;
use super::Taken;
use super::Way;
use super::Wish;
use super::pmi1_wire::Wire;
use super::variables;
use crate::base::Env;
use crate::base::Fault;
use crate::base::Kind;
use crate::ffi::inherited;
use std::sync::Mutex;
use std::sync::MutexGuard;
use std::sync::PoisonError;
use std::time::Duration;

/// How long the process manager may take for its greeting, and for its goodbye.
const INIT_LIMIT: Duration = Duration::from_secs(30);
const BYE_LIMIT: Duration = Duration::from_secs(2);

/// See the module.
#[derive(Debug)]
pub(super) struct Pmi1;

impl Launcher for Pmi1 {
    fn name(&self) -> &'static str {
        "pmi1"
    }

    fn summary(&self) -> &'static str {
        "PMI-1: MPICH's mpiexec, `srun --mpi=pmi2`; no library is needed"
    }

    fn is_announced(&self, _wish: &Wish, env: &Env) -> bool {
        env.has("PMI_RANK") && (env.has("PMI_FD") || env.has("PMI_SIZE"))
    }

    fn take(&self, setting: &Setting<'_>) -> Result<Taken, Fault> {
        let env = setting.env;
        let (process, processes) = variables::index_of(env, "PMI_RANK", "PMI_SIZE")?;
        let wire = match variables::optional_number(env, "PMI_FD")? {
            Some(number) => Some(greet(number)?),
            None if processes == 1 => None,
            None => return Err(no_descriptor(env, processes)),
        };
        let reason = format!("PMI_RANK={process} PMI_SIZE={processes}");
        let job = wire.as_ref().map(Wire::job).unwrap_or_default().to_owned();
        Ok(Taken {
            seat: ProcessSeat {
                process,
                processes,
                local_process: variables::optional_number(env, "MPI_LOCALRANKID")?,
                launcher: self.name(),
                reason: if job.is_empty() {
                    reason
                } else {
                    format!("{reason} in {job}")
                },
            },
            job: format!("pmi1 {job}"),
            way: wire.map_or(Way::Alone, carried),
            notes: Vec::new(),
        })
    }
}

fn greet(number: u32) -> Result<Wire, Fault> {
    let number = i32::try_from(number).unwrap_or(-1);
    Wire::open(inherited::adopt(number, "PMI_FD")?, INIT_LIMIT)
        .map_err(|fault| fault.hint("`--launcher NAME` chooses another way to meet"))
}

/// What a manager without a descriptor is told: a port and PMI-2 alone are not spoken.
fn no_descriptor(env: &Env, processes: u32) -> Fault {
    let text = format!("`PMI_FD` is not set, so that these {processes} processes cannot meet");
    let fault = Fault::new(Kind::Launch, text);
    if env.has("PMI_PORT") {
        fault.hint("start mpiexec without `-pmi-port`")
    } else if env.has("SLURM_STEP_ID") {
        fault.hint("start the processes by `srun --mpi=pmi2`, `--mpi=pmix` or `--mpi=none`")
    } else {
        fault.hint("give `--rank`, `--world` and `--rendezvous`")
    }
}

fn carried(mut wire: Wire) -> Way {
    let mapping = wire.get("PMI_process_mapping", INIT_LIMIT);
    let one_host = mapping.is_ok_and(|mapping| is_one_node(&mapping));
    Way::Carried {
        meeting: Box::new(Manager(Mutex::new(Some(wire)))),
        one_host,
    }
}

/// Whether `(vector,(FIRST,NODES,PROCESSES),…)` places all processes on one node. What cannot be
/// read is not one: then addresses are told that others can reach too.
///
/// # Source
/// MPICH 4.0, `src/pmi/src/pmi_util.c`, `PMI_process_mapping`.
fn is_one_node(mapping: &str) -> bool {
    let inner = mapping
        .strip_prefix("(vector,")
        .and_then(|rest| rest.strip_suffix(')'));
    let blocks = inner.unwrap_or_default().split("),(");
    let mut firsts = blocks.map(|block| {
        let block = block.trim_matches(['(', ')']);
        let numbers: Option<Vec<u32>> = block.split(',').map(|one| one.parse().ok()).collect();
        match numbers.as_deref() {
            Some([first, 1, _]) => Some(*first),
            _ => None,
        }
    });
    let first = firsts.next().flatten();
    first.is_some() && firsts.all(|other| other == first)
}

/// The process manager; none once it was asked to end everybody.
#[derive(Debug)]
struct Manager(Mutex<Option<Wire>>);

impl Manager {
    fn lock(&self) -> MutexGuard<'_, Option<Wire>> {
        self.0.lock().unwrap_or_else(PoisonError::into_inner)
    }

    fn with<T>(&self, body: impl FnOnce(&mut Wire) -> Result<T, Fault>) -> Result<T, Fault> {
        let ended = || Fault::new(Kind::Peer, "the run was ended");
        self.lock().as_mut().ok_or_else(ended).and_then(body)
    }
}

impl Meeting for Manager {
    fn publish(&self, text: &str, limit: Duration) -> Result<(), Fault> {
        self.with(|wire| {
            wire.put_text(text, limit)?;
            wire.barrier(limit)
        })
    }

    fn lookup(&self, limit: Duration) -> Result<String, Fault> {
        self.with(|wire| {
            wire.barrier(limit)?;
            wire.get_text(limit)
        })
    }

    fn abort(&self, code: u8, _message: &str) {
        if let Some(mut wire) = self.lock().take() {
            // a manager that has left ends its processes by itself
            drop(wire.abort(code));
        }
    }
}

impl Drop for Manager {
    fn drop(&mut self) {
        if let Some(wire) = self.lock().as_mut() {
            // a process that cannot say goodbye leaves without
            drop(wire.finalize(BYE_LIMIT));
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::io::BufRead;
    use std::io::BufReader;
    use std::io::Write;
    use std::os::unix::net::UnixStream;

    const SOON: Duration = Duration::from_secs(20);

    /// A manager that answers each line by what `answer` makes of it; gives the lines it heard.
    fn manager(
        mut stream: UnixStream,
        mut answer: impl FnMut(&str) -> String + Send + 'static,
    ) -> std::thread::JoinHandle<Vec<String>> {
        std::thread::spawn(move || {
            let lines = BufReader::new(stream.try_clone().unwrap()).lines();
            let mut heard = Vec::new();
            for line in lines.map_while(Result::ok) {
                let said = answer(&line);
                heard.push(line);
                stream.write_all(said.as_bytes()).unwrap();
            }
            heard
        })
    }

    fn word<'a>(line: &'a str, name: &str) -> &'a str {
        let mut words = line.split(' ').filter_map(|word| word.split_once('='));
        words.find(|(key, _)| *key == name).unwrap().1
    }

    /// What Hydra answers, with values of `most` bytes and other lines in between.
    fn hydra(most: usize) -> impl FnMut(&str) -> String + Send {
        let mut stored = std::collections::BTreeMap::new();
        move |line| match word(line, "cmd") {
            "init" => "cmd=response_to_init pmi_version=1 pmi_subversion=1 rc=0\n".to_owned(),
            "get_maxes" => {
                format!("cmd=maxes kvsname_max=256 keylen_max=64 vallen_max={most}\n")
            }
            "get_my_kvsname" => "cmd=my_kvsname kvsname=kvs_1_0\n".to_owned(),
            "put" => {
                let (key, value) = (word(line, "key"), word(line, "value"));
                assert!(key.len() < 64 && value.len() < most, "{line}");
                stored.insert(key.to_owned(), value.to_owned());
                "cmd=put_result rc=0 msg=success\n".to_owned()
            }
            "barrier_in" => {
                "mcmd=spawn\nnprocs=2\nexecname=a b\nendcmd\ncmd=barrier_out\n".to_owned()
            }
            "get" => match stored.get(word(line, "key")) {
                Some(value) => format!("cmd=get_result rc=0 msg=success value={value}\n"),
                None => "cmd=get_result rc=-1 msg=key_not_found\n".to_owned(),
            },
            "finalize" => "cmd=finalize_ack\n".to_owned(),
            _ => String::new(),
        }
    }

    fn joined(
        answer: impl FnMut(&str) -> String + Send + 'static,
    ) -> (Result<Wire, Fault>, std::thread::JoinHandle<Vec<String>>) {
        let (near, far) = UnixStream::pair().unwrap();
        let thread = manager(far, answer);
        (Wire::open(near.into(), SOON), thread)
    }

    #[test]
    fn a_text_of_any_length_and_content_comes_back_whatever_a_value_may_hold() {
        let text = "{\"addresses\": [\"10.0.1.7:29500\"]}\n= \u{e9}".repeat(70);
        for most in [16, 17, 1024, 1 << 20] {
            let (wire, thread) = joined(hydra(most));
            let meeting = Manager(Mutex::new(Some(wire.unwrap())));
            meeting.publish(&text, SOON).unwrap();
            assert_eq!(meeting.lookup(SOON).unwrap(), text);
            drop(meeting);
            let heard = thread.join().unwrap();
            assert_eq!(heard.last().unwrap(), "cmd=finalize", "{most}");
        }
    }

    #[test]
    fn an_abort_is_the_last_that_the_manager_hears() {
        let (wire, thread) = joined(hydra(1024));
        let meeting = Manager(Mutex::new(Some(wire.unwrap())));
        meeting.abort(4, "rank 1 has died");
        assert_eq!(meeting.publish("late", SOON).unwrap_err().kind, Kind::Peer);
        drop(meeting);
        assert_eq!(
            thread.join().unwrap().last().unwrap(),
            "cmd=abort exitcode=4"
        );
    }

    #[test]
    fn what_the_manager_refuses_is_told_in_its_words() {
        let (wire, _thread) = joined(hydra(1024));
        let fault = wire.unwrap().get("nothing", SOON).unwrap_err();
        assert_eq!(fault.message, "PMI-1 refused `cmd=get`: key_not_found (-1)");
        for (answers, expected) in [
            ("cmd=response_to_init rc=-1 msg=version\n", "version (-1)"),
            ("cmd=barrier_out\n", "not by `cmd=response_to_init`"),
        ] {
            let (wire, _thread) = joined(move |_| answers.to_owned());
            let fault = wire.unwrap_err();
            assert!(fault.message.contains(expected), "{fault}");
        }
        let (wire, _thread) = joined(hydra(8));
        assert!(wire.unwrap_err().message.contains("too few"));
    }

    #[test]
    fn a_manager_that_leaves_or_says_nothing_ends_the_wait() {
        let (near, far) = UnixStream::pair().unwrap();
        let fault = Wire::open(near.try_clone().unwrap().into(), Duration::from_millis(20));
        assert_eq!(fault.unwrap_err().kind, Kind::Timeout);
        drop(far);
        let fault = Wire::open(near.into(), SOON).unwrap_err();
        assert_eq!(fault.kind, Kind::Call, "{fault}");
    }

    #[test]
    fn a_mapping_of_one_node_is_told_from_others() {
        for one in ["(vector,(0,1,4))", "(vector,(0,1,1),(0,1,3))"] {
            assert!(is_one_node(one), "{one}");
        }
        for other in [
            "(vector,(0,2,2))",
            "(vector,(0,1,3),(1,1,1))",
            "",
            "(vector)",
            "(vector,)",
            "(vector,(0,1))",
        ] {
            assert!(!is_one_node(other), "{other}");
        }
    }
}
