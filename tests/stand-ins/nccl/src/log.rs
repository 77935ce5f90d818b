//! What this library writes where `NCCL_DEBUG` asks for it: the lines of a file, as its own.
//!
//! Levels, subsystems and the file's name are NCCL's (`src/debug.cc` of 2.30.7): a warning comes
//! behind an empty line, a version below INFO by itself, the rest as `HOST:PID:TID [DEVICE] NCCL INFO`.

use crate::steer;
use std::fs::File;
use std::io::Write;
use std::sync::{LazyLock, Mutex, PoisonError};

/// Where the lines come from.
const SOURCE: &str = "STAND_IN_NCCL_LOG";

#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
enum Level {
    None,
    Version,
    Warn,
    Info,
}

struct Log {
    level: Level,
    lines: Vec<Line>,
    out: Mutex<Box<dyn Write + Send>>,
    host: String,
}

/// A line of the file: `[@rank N ][@SUBSYSTEM ]…NCCL INFO TEXT`.
struct Line {
    rank: Option<usize>,
    level: Level,
    text: String,
}

static LOG: LazyLock<Log> = LazyLock::new(Log::open);

/// What is said when a rank joins a communicator.
pub fn at_init(rank: usize) {
    let version = steer::version();
    let (major, rest) = (version / 10_000, version % 10_000);
    let text = format!(
        "NCCL version {major}.{}.{}+stand-in",
        rest / 100,
        rest % 100
    );
    LOG.version(rank, &text);
    LOG.say(rank, |line| !line.text.starts_with("Channel "));
}

/// What is said when a rank's first operation connects it to others.
pub fn at_first_operation(rank: usize) {
    LOG.say(rank, |line| line.text.starts_with("Channel "));
}

impl Log {
    fn open() -> Self {
        let level = match variable("NCCL_DEBUG").to_ascii_uppercase().as_str() {
            "VERSION" => Level::Version,
            "WARN" => Level::Warn,
            "INFO" | "ABORT" | "TRACE" => Level::Info,
            _ => Level::None,
        };
        let host = ncclbench::probe::host::name();
        Self {
            level,
            lines: lines(),
            out: Mutex::new(out(level, &host)),
            host,
        }
    }

    fn version(&self, rank: usize, text: &str) {
        match self.level {
            Level::None => {}
            Level::Version | Level::Warn => self.write(format!("{text}\n")),
            Level::Info => self.write(self.line(rank, "NCCL INFO", text)),
        }
    }

    fn say(&self, rank: usize, which: impl Fn(&Line) -> bool) {
        let mine = |line: &&Line| line.rank.is_none_or(|only| only == rank);
        for line in self.lines.iter().filter(mine).filter(|line| which(line)) {
            match line.level {
                level if level > self.level => {}
                Level::Warn => {
                    let text = self.line(rank, "stand_in.cc:1 NCCL WARN", &line.text);
                    self.write(format!("\n{text}"));
                }
                _ => self.write(self.line(rank, "NCCL INFO", &line.text)),
            }
        }
    }

    fn line(&self, rank: usize, level: &str, text: &str) -> String {
        let pid = std::process::id();
        format!("{}:{pid}:{pid} [{rank}] {level} {text}\n", self.host)
    }

    fn write(&self, text: String) {
        let mut out = self.out.lock().unwrap_or_else(PoisonError::into_inner);
        let _gone = out.write_all(text.as_bytes()).and_then(|()| out.flush());
    }
}

fn variable(name: &str) -> String {
    std::env::var(name).unwrap_or_default()
}

fn out(level: Level, host: &str) -> Box<dyn Write + Send> {
    let pattern = variable("NCCL_DEBUG_FILE");
    if level <= Level::Version || pattern.is_empty() {
        return Box::new(std::io::stdout());
    }
    let path = pattern
        .replace("%h", host)
        .replace("%p", &std::process::id().to_string());
    match File::create(&path) {
        Ok(file) => Box::new(file),
        Err(error) => {
            eprintln!("stand-in libnccl: `{path}`: {error}");
            std::process::exit(99);
        }
    }
}

/// The lines of the file, less those of subsystems that are not asked for.
fn lines() -> Vec<Line> {
    let path = variable(SOURCE);
    if path.is_empty() {
        return Vec::new();
    }
    let text = std::fs::read_to_string(&path).unwrap_or_else(|error| {
        eprintln!("stand-in libnccl: `{SOURCE}={path}`: {error}");
        std::process::exit(99);
    });
    let lines = text.lines().filter_map(line);
    lines.filter_map(obey).collect()
}

/// What `NCCL_NET` and `NCCL_NET_PLUGIN` make of a line: another network, no plugin's words.
fn obey(line: Line) -> Option<Line> {
    let net = variable("NCCL_NET");
    if variable("NCCL_NET_PLUGIN") == "none" && line.text.starts_with("NET/OFI") {
        return None;
    }
    let text = match line.text.split_once(" via NET/") {
        _ if net.is_empty() => line.text,
        Some((before, _)) => format!("{before} via NET/{net}/0"),
        None if line.text.starts_with("Using network ") => format!("Using network {net}"),
        None => line.text,
    };
    Some(Line { text, ..line })
}

fn line(text: &str) -> Option<Line> {
    let (rank, text) = match text
        .strip_prefix("@rank ")
        .and_then(|rest| rest.split_once(' '))
    {
        Some((rank, rest)) => (rank.parse().ok(), rest),
        None => (None, text),
    };
    let (subsystem, text) = match text.strip_prefix('@').and_then(|rest| rest.split_once(' ')) {
        Some((name, rest)) => (name, rest),
        None => ("INIT", text),
    };
    let marks = [(" NCCL INFO ", Level::Info), (" NCCL WARN ", Level::Warn)];
    let found = marks.iter().find_map(|(mark, level)| {
        let (_, said) = text.split_once(mark)?;
        Some((*level, said.to_owned()))
    });
    let (level, text) = found?;
    (level == Level::Warn || is_wanted(subsystem)).then_some(Line { rank, level, text })
}

/// Whether `NCCL_DEBUG_SUBSYS` asks for a subsystem.
fn is_wanted(name: &str) -> bool {
    let list = variable("NCCL_DEBUG_SUBSYS").to_ascii_uppercase();
    let (inverted, list) = match list.strip_prefix('^') {
        Some(rest) => (true, rest),
        None if list.is_empty() => (false, "INIT,BOOTSTRAP,ENV"),
        None => (false, list.as_str()),
    };
    let named = list
        .split(',')
        .any(|one| one.trim() == name || one == "ALL");
    named != inverted
}
