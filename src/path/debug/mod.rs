//! How NCCL's log is had without taking it from the user: which variables to set, and which lines of
//! what is then written the user would have seen.
//!
//! # Source
//! NCCL 2.30.7, `src/debug.cc` (levels, subsystems, file), `src/init.cc` (`showVersion`), and which
//! `INFO(…)` calls name which subsystem.

use super::line;
use super::line::Level;
use crate::base::Env;
use std::collections::BTreeSet;

/// The subsystems that tell of the path.
const WANTED: [&str; 4] = ["INIT", "NET", "ENV", "GRAPH"];

/// What NCCL shows where nothing is said.
const DEFAULT: [&str; 3] = ["INIT", "BOOTSTRAP", "ENV"];

/// How a process comes by NCCL's log.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Capture {
    /// NCCL is told to write to a file of ours.
    Ours {
        /// Variables to set, besides the file's.
        variables: Vec<(&'static str, String)>,
        /// What of it the user is to see.
        shown: Shown,
    },
    /// The user's own file holds it; `%h` and `%p` stand for host and process.
    Theirs(String),
    /// It cannot be had without changing what the user asked for; why.
    Not(String),
}

/// What of a captured log the user would have seen on stdout.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Shown {
    /// Nothing: NCCL was not asked to say anything.
    Nothing,
    /// NCCL's version, by itself.
    Version,
    /// Warnings, and NCCL's version by itself; with `NCCL_WARN_ENABLE_DEBUG_INFO` all that follows one.
    Warnings {
        /// Whether a warning turns all lines on.
        then_all: bool,
    },
    /// All but what only a subsystem says that the user did not ask for.
    All {
        /// Subsystems that were added to the user's, and others that the user did not ask for and whose
        /// lines an added one brings along.
        hidden: Vec<&'static str>,
    },
}

#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
enum Wished {
    Nothing,
    Version,
    Warn,
    Info,
}

/// Decides from the user's variables, among them those of NCCL's configuration files.
pub fn capture(env: &Env) -> Capture {
    let level = env.get("NCCL_DEBUG").map(str::to_ascii_uppercase);
    let wished = match level.as_deref() {
        Some("VERSION") => Wished::Version,
        Some("WARN") => Wished::Warn,
        Some("INFO" | "ABORT" | "TRACE") => Wished::Info,
        _ => Wished::Nothing,
    };
    // NCCL opens the file for what is more than a version only
    let file = env
        .get("NCCL_DEBUG_FILE")
        .filter(|file| !file.is_empty() && wished > Wished::Version);
    match (wished, file) {
        (Wished::Info, file) => capture_info(env, level, file),
        (_, Some(_)) => Capture::Not(
            "`NCCL_DEBUG_FILE` is set, and at `NCCL_DEBUG=WARN` that file says nothing of the path"
                .to_owned(),
        ),
        (wished, None) => Capture::Ours {
            variables: vec![
                ("NCCL_DEBUG", "INFO".to_owned()),
                ("NCCL_DEBUG_SUBSYS", WANTED.join(",")),
            ],
            shown: match wished {
                Wished::Version => Shown::Version,
                Wished::Warn => Shown::Warnings {
                    then_all: is_on(env.get("NCCL_WARN_ENABLE_DEBUG_INFO")),
                },
                _ => Shown::Nothing,
            },
        },
    }
}

fn is_on(value: Option<&str>) -> bool {
    value.is_some_and(|value| value != "0" && !value.is_empty())
}

fn capture_info(env: &Env, level: Option<String>, file: Option<&str>) -> Capture {
    let subsystems = env.get("NCCL_DEBUG_SUBSYS").filter(|text| !text.is_empty());
    let mask = Mask::of(subsystems);
    if !mask.has("INIT") {
        let text = subsystems.unwrap_or_default();
        return Capture::Not(format!(
            "`NCCL_DEBUG_SUBSYS={text}` leaves out INIT, which tells of the path"
        ));
    }
    if let Some(file) = file {
        return Capture::Theirs(file.to_owned());
    }
    let brought = WANTED.into_iter().chain(["PROXY"]);
    let hidden = brought.filter(|name| !mask.has(name)).collect();
    let added: Vec<&'static str> = WANTED.into_iter().filter(|name| !mask.has(name)).collect();
    Capture::Ours {
        variables: vec![
            ("NCCL_DEBUG", level.unwrap_or_default()),
            ("NCCL_DEBUG_SUBSYS", mask.with(&added)),
        ],
        shown: Shown::All { hidden },
    }
}

/// A list of subsystems: those that are named, or all but those.
struct Mask {
    inverted: bool,
    names: BTreeSet<String>,
}

impl Mask {
    fn of(text: Option<&str>) -> Self {
        let (inverted, names) = match text {
            None => (false, DEFAULT.join(",")),
            Some(text) => match text.strip_prefix('^') {
                Some(rest) => (true, rest.to_ascii_uppercase()),
                None => (false, text.to_ascii_uppercase()),
            },
        };
        Self {
            inverted,
            names: names
                .split(',')
                .map(|name| name.trim().to_owned())
                .collect(),
        }
    }

    fn has(&self, name: &str) -> bool {
        let named = self.names.contains(name) || self.names.contains("ALL");
        named != self.inverted
    }

    /// The list with more in it, as NCCL reads it.
    fn with(&self, added: &[&str]) -> String {
        let mut names: Vec<&str> = self.names.iter().map(String::as_str).collect();
        if self.inverted {
            names.retain(|name| !added.contains(name));
            if names.is_empty() {
                return "ALL".to_owned();
            }
            return format!("^{}", names.join(","));
        }
        names.extend(added);
        names.join(",")
    }
}

/// Picks from a captured log, line by line, what the user would have seen.
#[derive(Debug, Clone)]
pub struct Filter {
    shown: Shown,
    warned: bool,
}

impl Filter {
    /// For what is to be shown.
    pub fn new(shown: Shown) -> Self {
        Self {
            shown,
            warned: false,
        }
    }

    /// Whether anything can be shown at all.
    pub fn shows_any(&self) -> bool {
        self.shown != Shown::Nothing
    }

    /// A line (without its end) as the user would have seen it, or nothing. An empty line, which NCCL
    /// writes before a warning, is left out and comes back with the warning.
    pub fn pick(&mut self, text: &str) -> Option<String> {
        let parsed = line::message(text);
        let warns = matches!(parsed, Some((Level::Warn, _)));
        let bare = match parsed {
            Some((Level::Version, said)) => Some(said),
            Some((Level::Info, said)) if said.starts_with("NCCL version ") => Some(said),
            _ => None,
        };
        let all = match &self.shown {
            Shown::Nothing => return None,
            Shown::Version => return bare.map(str::to_owned),
            Shown::Warnings { then_all } if !(warns || *then_all && self.warned) => {
                return bare.map(str::to_owned);
            }
            Shown::Warnings { then_all } => *then_all,
            Shown::All { hidden } => !is_only_of(parsed.map(|(_, said)| said), hidden),
        };
        if warns {
            self.warned = true;
            return Some(format!("\n{text}"));
        }
        (all && !text.trim().is_empty()).then(|| text.to_owned())
    }
}

/// Whether a line comes of hidden subsystems alone. What is not known by its words is taken for INIT's,
/// so that rather a line too many is shown than one too few.
fn is_only_of(said: Option<&str>, hidden: &[&str]) -> bool {
    let Some(said) = said else {
        return false;
    };
    let subsystems: &[&str] = if is_proxy(said) {
        &["NET", "PROXY"]
    } else if said.starts_with("ncclTopoPopulateNics : ") {
        &["NET", "GRAPH"]
    } else if said.starts_with("NCCL_IB_HCA set to ") {
        &["NET", "ENV"]
    } else if is_graph(said) {
        &["GRAPH"]
    } else if is_net(said) {
        &["NET"]
    } else if said.contains(" set by environment to ") {
        &["ENV"]
    } else {
        return false;
    };
    subsystems.iter().all(|name| hidden.contains(name))
}

/// Lines of NET and PROXY.
fn is_proxy(said: &str) -> bool {
    let starts = [
        "New proxy send connection ",
        "New proxy recv connection ",
        "Connected to proxy localRank ",
    ];
    starts.iter().any(|start| said.starts_with(start))
}

/// Lines that only GRAPH says.
fn is_graph(said: &str) -> bool {
    const STARTS: [&str; 21] = [
        "===",
        "+ ",
        "CPU/",
        "GPU/",
        "PCI/",
        "NIC/",
        "NET/0-",
        "NVS/",
        "Pattern ",
        "Ring ",
        "Tree ",
        "NVLS Trees",
        "Paths from",
        "TOPO/NET : Made",
        "TOPO/NET : Importing",
        "TOPO/NET : Changing",
        "KV Convert",
        "Topology detection",
        "Search ",
        "Loading topology file",
        "Could not find a path",
    ];
    let trimmed = said.trim_start();
    if said.contains(": group size used is ") {
        return true;
    }
    let indented = said.starts_with("  ") && (trimmed.starts_with("+ ") || trimmed.contains('/'));
    indented || is_graph_row(trimmed) || STARTS.iter().any(|start| said.starts_with(start))
}

/// ` 0 : NET/0 GPU/0-1b000 …`: a channel of a graph.
fn is_graph_row(trimmed: &str) -> bool {
    let Some((number, rest)) = trimmed.split_once(" : ") else {
        return false;
    };
    let listed = ["NET/", "GPU/", "NVS/"];
    number.bytes().all(|byte| byte.is_ascii_digit())
        && listed
            .iter()
            .any(|start| rest.trim_start().starts_with(start))
}

/// Lines that only NET says.
fn is_net(said: &str) -> bool {
    const STARTS: [&str; 10] = [
        "dlvsym failed on ",
        "NCCL_SOCKET_IFNAME set to ",
        "NET/IB: ",
        "NET/IB : Made virtual device",
        "NET/IB : Failed to open mlx5dv",
        "NET/IB : Local mergedDev",
        "NET/IB : Skipping makeVDevice",
        "HINT: ",
        "Could not get speed",
        "Found network interface",
    ];
    let of_init = ["NET/IB: Data Direct", "NET/IB: Ip address"];
    let starts = |list: &[&str]| list.iter().any(|start| said.starts_with(start));
    said.contains(" : GPU Direct RDMA ") || starts(&STARTS) && !starts(&of_init)
}

#[cfg(test)]
mod tests;
