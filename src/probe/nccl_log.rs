//! The file that NCCL writes its log to, read while it is written.
//!
//! It lies in memory and has no name in a folder: nothing is left behind, and an image in which
//! nothing can be written has it too. NCCL opens it by its path under `/proc`.

use crate::base::{Env, Fault, Kind};
use rustix::fs::{FallocateFlags, MemfdFlags, fallocate, memfd_create};
use std::fs::File;
use std::io;
use std::os::fd::AsRawFd;
use std::os::unix::fs::FileExt;
use std::path::Path;

/// Bytes that are read at once.
const PIECE: usize = 64 << 10;

/// What has been read is given back to the system in pieces of this size.
const GIVE_BACK: u64 = 1 << 20;

/// A log that grows.
#[derive(Debug)]
pub struct NcclLog {
    file: File,
    path: String,
    read: u64,
    given_back: u64,
    /// The beginning of a line whose end has not been written yet.
    rest: Vec<u8>,
}

impl NcclLog {
    /// An empty one, for this process's NCCL to write to.
    ///
    /// # Errors
    /// `Call` where the system refuses.
    pub fn create() -> Result<Self, Fault> {
        let made = memfd_create("nccl-log", MemfdFlags::CLOEXEC)
            .map_err(|error| Fault::new(Kind::Call, format!("memfd_create failed: {error}")))?;
        let path = format!("/proc/self/fd/{}", made.as_raw_fd());
        // what NCCL does: a system without /proc must show now, and not in a log that stays empty
        File::options()
            .write(true)
            .open(&path)
            .map_err(|error| Fault::new(Kind::Missing, format!("cannot open `{path}`: {error}")))?;
        Ok(Self {
            file: File::from(made),
            path,
            read: 0,
            given_back: 0,
            rest: Vec::new(),
        })
    }

    /// What NCCL is to open.
    pub fn path(&self) -> &str {
        &self.path
    }

    /// The lines that have been completed since the last call, without their ends.
    ///
    /// # Errors
    /// Those of reading.
    pub fn new_lines(&mut self) -> io::Result<Vec<String>> {
        if self.file.metadata()?.len() < self.read {
            // NCCL has begun its file anew
            (self.read, self.given_back) = (0, 0);
        }
        let mut piece = vec![0; PIECE];
        loop {
            match self.file.read_at(&mut piece, self.read)? {
                0 => break,
                count => {
                    self.rest.extend_from_slice(&piece[..count]);
                    self.read += count as u64;
                }
            }
        }
        self.give_back();
        Ok(self.complete())
    }

    fn complete(&mut self) -> Vec<String> {
        let Some(end) = self.rest.iter().rposition(|byte| *byte == b'\n') else {
            return Vec::new();
        };
        let whole: Vec<u8> = self.rest.drain(..=end).collect();
        let text = String::from_utf8_lossy(&whole);
        text.lines().map(str::to_owned).collect()
    }

    /// A log that goes on for days must not fill the memory. What is refused costs nothing but that.
    fn give_back(&mut self) {
        let whole = self.read / GIVE_BACK * GIVE_BACK;
        if whole > self.given_back {
            let flags = FallocateFlags::PUNCH_HOLE | FallocateFlags::KEEP_SIZE;
            let len = whole - self.given_back;
            if fallocate(&self.file, flags, self.given_back, len).is_ok() {
                self.given_back = whole;
            }
        }
    }
}

/// The path of a user's own file, as NCCL makes it of `NCCL_DEBUG_FILE`.
///
/// # Source
/// NCCL 2.30.7, `src/debug.cc`, `ncclDebugInit`: `%h` the host's name up to the first dot, `%p` the
/// process id, `%%` a percent sign.
pub fn expanded(pattern: &str, host: &str, pid: u32) -> String {
    let mut path = String::new();
    let mut letters = pattern.chars();
    while let Some(letter) = letters.next() {
        if letter != '%' {
            path.push(letter);
            continue;
        }
        match letters.next() {
            Some('h') => path.push_str(host),
            Some('p') => path.push_str(&pid.to_string()),
            Some('%') | None => path.push('%'),
            Some(other) => path.extend(['%', other]),
        }
    }
    path
}

/// The text of a user's own file.
///
/// # Errors
/// `Missing` where it is no file that can be read.
pub fn text(path: &str) -> Result<String, Fault> {
    let refused = |why: String| Fault::new(Kind::Missing, format!("cannot read `{path}`: {why}"));
    if !Path::new(path).is_file() {
        return Err(refused("it is no regular file".to_owned()));
    }
    let bytes = std::fs::read(path).map_err(|error| refused(error.to_string()))?;
    Ok(String::from_utf8_lossy(&bytes).into_owned())
}

/// The variables, and those that NCCL takes from its configuration files where they are not set.
///
/// # Source
/// NCCL 2.30.7, `src/misc/param.cc`, `initEnvFunc` and `setEnvFile`: `NCCL_CONF_FILE`, else
/// `~/.nccl.conf`, then `/etc/nccl.conf`; the first that sets a variable wins.
pub fn configured(env: &Env) -> Env {
    let own = match env.get("NCCL_CONF_FILE").filter(|file| !file.is_empty()) {
        Some(file) => Some(file.to_owned()),
        None => env.get("HOME").map(|home| format!("{home}/.nccl.conf")),
    };
    let files = own.into_iter().chain(["/etc/nccl.conf".to_owned()]);
    let mut all: Vec<(String, String)> = Vec::new();
    for file in files {
        let text = std::fs::read(&file).unwrap_or_default();
        all.extend(settings(&String::from_utf8_lossy(&text)));
    }
    // the last of a name wins here, and the environment over all
    all.reverse();
    all.extend(
        env.iter()
            .map(|(name, value)| (name.to_owned(), value.to_owned())),
    );
    all.into_iter().collect()
}

fn settings(text: &str) -> Vec<(String, String)> {
    let lines = text.lines().filter(|line| !line.starts_with('#'));
    let pairs = lines.filter_map(|line| line.split_once('='));
    pairs
        .map(|(name, value)| (name.to_owned(), value.to_owned()))
        .collect()
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::io::Write;

    fn writer(log: &NcclLog) -> File {
        let mut options = File::options();
        options.write(true).truncate(true).open(log.path()).unwrap()
    }

    #[test]
    fn whole_lines_come_once_and_half_a_line_when_it_is_complete() {
        let mut log = NcclLog::create().unwrap();
        let mut nccl = writer(&log);
        nccl.write_all(b"one\n\ntw").unwrap();
        assert_eq!(log.new_lines().unwrap(), ["one", ""]);
        assert_eq!(log.new_lines().unwrap(), [""; 0]);
        nccl.write_all(b"o\n").unwrap();
        assert_eq!(log.new_lines().unwrap(), ["two"]);
    }

    #[test]
    fn a_long_log_is_read_whole_while_its_memory_is_given_back() {
        let mut log = NcclLog::create().unwrap();
        let mut nccl = writer(&log);
        let line = "x".repeat(999) + "\n";
        for _ in 0..3 {
            for _ in 0..2000 {
                nccl.write_all(line.as_bytes()).unwrap();
            }
            assert_eq!(log.new_lines().unwrap().len(), 2000);
        }
        let held = log.file.metadata().unwrap();
        let bytes = std::os::unix::fs::MetadataExt::blocks(&held) * 512;
        assert!(bytes < 2 * GIVE_BACK && held.len() == 6_000_000, "{bytes}");
    }

    #[test]
    fn a_file_that_is_begun_anew_is_read_from_its_beginning() {
        let mut log = NcclLog::create().unwrap();
        writer(&log).write_all(b"a long line\n").unwrap();
        assert_eq!(log.new_lines().unwrap().len(), 1);
        writer(&log).write_all(b"new\n").unwrap();
        assert_eq!(log.new_lines().unwrap(), ["new"]);
    }

    #[test]
    fn a_users_file_has_its_hosts_and_processs_name() {
        assert_eq!(
            expanded("/t/n.%h.%p.%%.%x%", "node-a", 42),
            "/t/n.node-a.42.%.%x%"
        );
        let fault = text("/dev/stderr").unwrap_err();
        assert!(fault.message.contains("no regular file"), "{fault}");
    }

    #[test]
    fn the_environment_wins_over_the_users_file_of_settings() {
        let folder = tempfile::tempdir().unwrap();
        let file = folder.path().join("nccl.conf");
        std::fs::write(
            &file,
            "# x\nNCCL_DEBUG=WARN\nNCCL_NET=IB\nNCCL_NET=Socket\n",
        )
        .unwrap();
        let conf = file.to_str().unwrap();
        let env: Env = [("NCCL_CONF_FILE", conf), ("NCCL_DEBUG", "INFO")]
            .into_iter()
            .collect();
        let all = configured(&env);
        assert_eq!(
            (all.get("NCCL_DEBUG"), all.get("NCCL_NET")),
            (Some("INFO"), Some("IB"))
        );
    }
}
