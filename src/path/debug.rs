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
        /// Subsystems that were added to the user's.
        added: Vec<&'static str>,
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
    let added: Vec<&'static str> = WANTED.into_iter().filter(|name| !mask.has(name)).collect();
    Capture::Ours {
        variables: vec![
            ("NCCL_DEBUG", level.unwrap_or_default()),
            ("NCCL_DEBUG_SUBSYS", mask.with(&added)),
        ],
        shown: Shown::All { added },
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
            Shown::Warnings { then_all } if !(*then_all && self.warned) && !warns => {
                return bare.map(str::to_owned);
            }
            Shown::Warnings { then_all } => *then_all,
            Shown::All { added } => !is_only_of(parsed.map(|(_, said)| said), added),
        };
        if warns {
            self.warned = true;
            return Some(format!("\n{text}"));
        }
        (all && !text.trim().is_empty()).then(|| text.to_owned())
    }
}

/// Whether a line comes of added subsystems alone. What is not known by its words is taken for INIT's,
/// so that rather a line too many is shown than one too few.
fn is_only_of(said: Option<&str>, added: &[&str]) -> bool {
    let Some(said) = said else {
        return false;
    };
    let subsystem = if is_graph(said) {
        "GRAPH"
    } else if is_net(said) {
        "NET"
    } else if said.contains(" set by environment to ") {
        "ENV"
    } else {
        return false;
    };
    added.contains(&subsystem)
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
    const STARTS: [&str; 8] = [
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
mod tests {
    use super::*;

    fn of(variables: &[(&str, &str)]) -> Capture {
        capture(&variables.iter().copied().collect())
    }

    fn set(capture: &Capture) -> Vec<&str> {
        match capture {
            Capture::Ours { variables, .. } => {
                variables.iter().map(|(_, value)| value.as_str()).collect()
            }
            other => panic!("{other:?}"),
        }
    }

    fn picked(capture: &Capture, lines: &[&str]) -> Vec<String> {
        let Capture::Ours { shown, .. } = capture else {
            panic!("{capture:?}");
        };
        let mut filter = Filter::new(shown.clone());
        lines.iter().filter_map(|line| filter.pick(line)).collect()
    }

    const LOG: [&str; 6] = [
        "a:1:1 [0] NCCL INFO NCCL version 2.28.3+cuda13.0",
        "a:1:1 [0] NCCL INFO Using network Socket",
        "a:1:1 [0] NCCL INFO NET/IB : GPU Direct RDMA Enabled for HCA 0 'mlx5_0'",
        "a:1:1 [0] NCCL INFO === System : maxBw 24.0 totalBw 24.0 ===",
        "",
        "[2026-01-01 00:00:00] a:1:1 [0] x.cc:3 NCCL WARN oh",
    ];

    #[test]
    fn a_user_who_asked_for_nothing_sees_nothing() {
        let capture = of(&[("NCCL_DEBUG_FILE", "/never/opened")]);
        assert_eq!(set(&capture), ["INFO", "INIT,NET,ENV,GRAPH"]);
        assert!(picked(&capture, &LOG).is_empty());
    }

    #[test]
    fn a_user_who_asked_for_info_sees_it_without_what_was_added() {
        let capture = of(&[("NCCL_DEBUG", "info")]);
        assert_eq!(set(&capture), ["INFO", "BOOTSTRAP,ENV,INIT,NET,GRAPH"]);
        let warned = format!("\n{}", LOG[5]);
        assert_eq!(picked(&capture, &LOG), [LOG[0], LOG[1], &warned]);
    }

    #[test]
    fn a_user_who_asked_for_all_sees_all_and_in_one_piece() {
        let capture = of(&[("NCCL_DEBUG", "TRACE"), ("NCCL_DEBUG_SUBSYS", "ALL")]);
        assert_eq!(set(&capture), ["TRACE", "ALL"]);
        let all = picked(&capture, &LOG).join("\n");
        assert_eq!(all, LOG.join("\n"));
    }

    #[test]
    fn a_user_who_asked_for_warnings_sees_them_and_the_bare_version() {
        let capture = of(&[("NCCL_DEBUG", "WARN"), ("NCCL_DEBUG_SUBSYS", "COLL")]);
        assert_eq!(set(&capture), ["INFO", "INIT,NET,ENV,GRAPH"]);
        let warned = format!("\n{}", LOG[5]);
        assert_eq!(
            picked(&capture, &LOG),
            ["NCCL version 2.28.3+cuda13.0", &warned]
        );
        let version = of(&[("NCCL_DEBUG", "VERSION")]);
        assert_eq!(picked(&version, &LOG), ["NCCL version 2.28.3+cuda13.0"]);
        let more = of(&[("NCCL_DEBUG", "WARN"), ("NCCL_WARN_ENABLE_DEBUG_INFO", "1")]);
        assert_eq!(
            picked(&more, &[LOG[1], LOG[5], LOG[1]]),
            [warned.as_str(), LOG[1]]
        );
    }

    #[test]
    fn subsystems_are_added_to_a_list_and_to_a_list_of_exceptions() {
        let capture = of(&[("NCCL_DEBUG", "INFO"), ("NCCL_DEBUG_SUBSYS", "INIT,COLL")]);
        assert_eq!(set(&capture)[1], "COLL,INIT,NET,ENV,GRAPH");
        let env = "a:1:1 [0] NCCL INFO NCCL_NET set by environment to IB";
        assert!(picked(&capture, &[env]).is_empty());
        let capture = of(&[
            ("NCCL_DEBUG", "INFO"),
            ("NCCL_DEBUG_SUBSYS", "^GRAPH,PROXY"),
        ]);
        assert_eq!(set(&capture)[1], "^PROXY");
        let capture = of(&[("NCCL_DEBUG", "INFO"), ("NCCL_DEBUG_SUBSYS", "^GRAPH")]);
        assert_eq!(set(&capture)[1], "ALL");
    }

    #[test]
    fn what_the_user_set_is_left_alone_where_it_tells_enough_or_would_have_to_change() {
        let theirs = of(&[("NCCL_DEBUG", "INFO"), ("NCCL_DEBUG_FILE", "/tmp/n.%h.%p")]);
        assert_eq!(theirs, Capture::Theirs("/tmp/n.%h.%p".to_owned()));
        for (variables, words) in [
            (
                [("NCCL_DEBUG", "WARN"), ("NCCL_DEBUG_FILE", "/tmp/n")],
                "NCCL_DEBUG_FILE",
            ),
            (
                [("NCCL_DEBUG", "INFO"), ("NCCL_DEBUG_SUBSYS", "COLL")],
                "leaves out INIT",
            ),
            (
                [("NCCL_DEBUG", "INFO"), ("NCCL_DEBUG_SUBSYS", "^INIT")],
                "leaves out INIT",
            ),
        ] {
            assert!(matches!(of(&variables), Capture::Not(why) if why.contains(words)));
        }
    }

    #[test]
    fn topology_is_told_from_networks_that_are_named_alike() {
        for said in [
            "CPU/0-0 (1/1/2)",
            "+ PCI[24.0] - GPU/0-60 (0)",
            "               + NVL[20.0] - NVS/0",
            " 0 : GPU/0-60 GPU/0-61",
            "Pattern 4, crossNic 0",
        ] {
            assert!(is_graph(said), "{said}");
        }
        for said in [
            "NET/Socket : Using [0]lo:127.0.0.1<0>",
            "NET/OFI Selected provider is efa",
            "Trees [0] 2/-1/-1->0->-1",
            "Channel 00/02 : 0 1 2 3",
            "comm 0x1 rank 1 nRanks 4",
        ] {
            assert!(!is_graph(said) && !is_net(said), "{said}");
        }
    }
}
