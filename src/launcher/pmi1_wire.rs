//! PMI-1's wire: lines of `name=value` words, a question and its answer at a time.
//!
//! Knows the protocol and nothing of what it is used for. Every answer has a deadline.
//!
//! # Source
//! MPICH 4.0, `src/pmi/simple/simple_pmi.c` and `src/pm/hydra/pm/pmiserv/pmiserv_pmi_v1.c`; Slurm
//! 22.05, `src/plugins/mpi/pmi2/pmi1.c`.

use super::compose::hex;
use crate::base::Fault;
use crate::base::Kind;
use rustix::event::{PollFd, PollFlags, Timespec, poll};
use rustix::io::Errno;
use std::collections::BTreeMap;
use std::os::fd::OwnedFd;
use std::time::Duration;

/// No answer is longer; what is has not come from a process manager.
const LONGEST_LINE: usize = 64 << 10;

/// Digits of a value: servers promise `vallen_max`, but some have only 1,024 bytes for the whole line.
const MOST_DIGITS: usize = 512;

/// The least that a server must take: a byte has two digits, and a key a number.
const LEAST: usize = 16;

/// The words of one answer, by name.
type Answer = BTreeMap<String, String>;

/// A connection to the process manager, after its greeting.
#[derive(Debug)]
pub(super) struct Wire {
    stream: OwnedFd,
    unread: Vec<u8>,
    kvs: String,
    digits: usize,
}

impl Wire {
    /// Greets the process manager; each answer may take `limit`.
    ///
    /// # Errors
    /// `Call` with its words if it speaks another version, `Timeout`.
    pub(super) fn open(stream: OwnedFd, limit: Duration) -> Result<Self, Fault> {
        let mut wire = Self {
            stream,
            unread: Vec::new(),
            kvs: String::new(),
            digits: MOST_DIGITS,
        };
        let init = "cmd=init pmi_version=1 pmi_subversion=1";
        wire.ask(init, "response_to_init", limit)?;
        let maxes = wire.ask("cmd=get_maxes", "maxes", limit)?;
        let (key, value) = (number(&maxes, "keylen_max")?, number(&maxes, "vallen_max")?);
        if key < LEAST || value < LEAST {
            let text = format!("PMI-1 offers keys of {key} and values of {value} bytes: too few");
            return Err(Fault::new(Kind::Call, text));
        }
        wire.digits = MOST_DIGITS.min(value - 1) & !1;
        let name = wire.ask("cmd=get_my_kvsname", "my_kvsname", limit)?;
        word(&name, "kvsname")?.clone_into(&mut wire.kvs);
        Ok(wire)
    }

    /// The name that all processes of the job have in common.
    pub(super) fn job(&self) -> &str {
        &self.kvs
    }

    /// Leaves a text of any length and content for all processes.
    ///
    /// # Errors
    /// `Call` with the manager's words, `Timeout`.
    pub(super) fn put_text(&mut self, text: &str, limit: Duration) -> Result<(), Fault> {
        let pieces: Vec<_> = text.as_bytes().chunks(self.digits / 2).map(hex).collect();
        self.put("ncclbench-n", &pieces.len().to_string(), limit)?;
        for (index, piece) in pieces.iter().enumerate() {
            self.put(&format!("ncclbench-{index}"), piece, limit)?;
        }
        Ok(())
    }

    /// The text that another process has left, after a [`Wire::barrier`].
    ///
    /// # Errors
    /// `Call` with the manager's words or if it is none of ours, `Timeout`.
    pub(super) fn get_text(&mut self, limit: Duration) -> Result<String, Fault> {
        let count = self.get("ncclbench-n", limit)?;
        let count: usize = count.parse().map_err(|_| garbled("the number of pieces"))?;
        let mut bytes = Vec::new();
        for index in 0..count {
            let piece = self.get(&format!("ncclbench-{index}"), limit)?;
            bytes.extend(unhex(&piece).ok_or_else(|| garbled("a piece"))?);
            if bytes.len() > LONGEST_LINE {
                return Err(garbled("its length"));
            }
        }
        String::from_utf8(bytes).map_err(|_| garbled("its text"))
    }

    fn put(&mut self, key: &str, value: &str, limit: Duration) -> Result<(), Fault> {
        let put = format!("cmd=put kvsname={} key={key} value={value}", self.kvs);
        self.ask(&put, "put_result", limit).map(drop)
    }

    /// The value of a key that some process has put.
    ///
    /// # Errors
    /// `Call` with the manager's words if there is none, `Timeout`.
    pub(super) fn get(&mut self, key: &str, limit: Duration) -> Result<String, Fault> {
        let get = format!("cmd=get kvsname={} key={key}", self.kvs);
        let answer = self.ask(&get, "get_result", limit)?;
        word(&answer, "value").map(str::to_owned)
    }

    /// Waits for all processes of the job.
    ///
    /// # Errors
    /// `Timeout`, `Call` if the manager has left.
    pub(super) fn barrier(&mut self, limit: Duration) -> Result<(), Fault> {
        self.ask("cmd=barrier_in", "barrier_out", limit).map(drop)
    }

    /// Says goodbye.
    ///
    /// # Errors
    /// As [`Wire::barrier`].
    pub(super) fn finalize(&mut self, limit: Duration) -> Result<(), Fault> {
        self.ask("cmd=finalize", "finalize_ack", limit).map(drop)
    }

    /// Asks for the end of all processes; there is no answer.
    ///
    /// # Errors
    /// `Call` if the manager has left.
    pub(super) fn abort(&mut self, code: u8) -> Result<(), Fault> {
        self.tell(&format!("cmd=abort exitcode={code}"))
    }

    fn ask(&mut self, question: &str, answer: &str, limit: Duration) -> Result<Answer, Fault> {
        self.tell(question)?;
        let command = question.split(' ').next().unwrap_or(question);
        let words = loop {
            let line = self.line(command, limit)?;
            if is_of_a_spawn(&line) {
                continue;
            }
            break words(&line);
        };
        if words.get("cmd").map(String::as_str) != Some(answer) {
            let text = format!("PMI-1 answered `{command}` by {words:?}, not by `cmd={answer}`");
            return Err(Fault::new(Kind::Call, text));
        }
        match words.get("rc").map(String::as_str) {
            None | Some("0") => Ok(words),
            Some(code) => {
                let said = words.get("msg").map_or("no reason", String::as_str);
                let text = format!("PMI-1 refused `{command}`: {said} ({code})");
                Err(Fault::new(Kind::Call, text))
            }
        }
    }

    fn tell(&self, line: &str) -> Result<(), Fault> {
        let line = format!("{line}\n");
        let mut rest = line.as_bytes();
        while !rest.is_empty() {
            match rustix::io::write(&self.stream, rest) {
                Ok(written) => rest = &rest[written..],
                Err(Errno::INTR) => {}
                Err(error) => return Err(gone("writing", &error.to_string())),
            }
        }
        Ok(())
    }

    fn line(&mut self, command: &str, limit: Duration) -> Result<String, Fault> {
        loop {
            if let Some(end) = self.unread.iter().position(|byte| *byte == b'\n') {
                let line: Vec<u8> = self.unread.drain(..=end).collect();
                return Ok(String::from_utf8_lossy(&line[..end]).into_owned());
            }
            if self.unread.len() > LONGEST_LINE {
                return Err(garbled("the length of a line"));
            }
            self.wait(command, limit)?;
            let mut chunk = [0; 4096];
            match rustix::io::read(&self.stream, &mut chunk) {
                Ok(0) => return Err(gone("reading", "it has closed the connection")),
                Ok(read) => self.unread.extend_from_slice(&chunk[..read]),
                Err(Errno::INTR) => {}
                Err(error) => return Err(gone("reading", &error.to_string())),
            }
        }
    }

    fn wait(&self, command: &str, limit: Duration) -> Result<(), Fault> {
        let mut fds = [PollFd::new(&self.stream, PollFlags::IN)];
        let until = Timespec::try_from(limit).ok();
        match poll(&mut fds, until.as_ref()) {
            Ok(0) => {
                let seconds = limit.as_secs_f64();
                let text = format!("PMI-1 did not answer `{command}` within {seconds} s");
                Err(Fault::new(Kind::Timeout, text).hint("look whether all processes were started"))
            }
            Ok(_) | Err(Errno::INTR) => Ok(()),
            Err(error) => Err(gone("waiting", &error.to_string())),
        }
    }
}

/// Lines about starting further processes, which nobody here has asked for: `mcmd=spawn` to
/// `endcmd`, and the words between, none of which is an answer.
fn is_of_a_spawn(line: &str) -> bool {
    let spawn = ["cmd=spawn", "mcmd="]
        .iter()
        .any(|head| line.starts_with(head));
    spawn || !line.starts_with("cmd=")
}

fn words(line: &str) -> Answer {
    let pairs = line
        .split_whitespace()
        .filter_map(|word| word.split_once('='));
    pairs
        .map(|(name, value)| (name.to_owned(), value.to_owned()))
        .collect()
}

fn word<'a>(answer: &'a Answer, name: &str) -> Result<&'a str, Fault> {
    let value = answer.get(name).map(String::as_str);
    value.ok_or_else(|| {
        let text = format!("PMI-1 answered {answer:?}, which has no `{name}`");
        Fault::new(Kind::Call, text)
    })
}

fn number(answer: &Answer, name: &str) -> Result<usize, Fault> {
    let text = word(answer, name)?;
    text.parse().map_err(|_| {
        let text = format!("PMI-1 answered `{name}={text}`; expected a number");
        Fault::new(Kind::Call, text)
    })
}

fn unhex(text: &str) -> Option<Vec<u8>> {
    let digits = text.as_bytes().chunks(2);
    digits
        .map(|pair| {
            let pair = std::str::from_utf8(pair)
                .ok()
                .filter(|pair| pair.len() == 2)?;
            u8::from_str_radix(pair, 16).ok()
        })
        .collect()
}

fn garbled(what: &str) -> Fault {
    let text = format!("what came over PMI-1 cannot be read: {what} is wrong");
    Fault::new(Kind::Call, text)
}

fn gone(doing: &str, why: &str) -> Fault {
    let text = format!("{doing} PMI-1's descriptor failed: {why}");
    Fault::new(Kind::Call, text).hint("look whether the launcher still runs")
}
