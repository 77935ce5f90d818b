//! What the variables tell this library to do wrong.

use std::str::FromStr;
use std::sync::LazyLock;

/// Which call of a rank: the n-th, from 1, or every one.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Which {
    Every,
    Nth(u64),
}

impl FromStr for Which {
    type Err = std::num::ParseIntError;

    fn from_str(text: &str) -> Result<Self, Self::Err> {
        if text == "*" {
            Ok(Self::Every)
        } else {
            text.parse().map(Self::Nth)
        }
    }
}

/// A variable's fields, `rank:…`, of which there may be several, separated by commas.
fn entries(name: &str) -> Vec<Vec<String>> {
    let Ok(text) = std::env::var(name) else {
        return Vec::new();
    };
    text.split(',')
        .map(|entry| entry.split(':').map(str::to_owned).collect())
        .collect()
}

/// Reads a field. One that cannot be read ends the process: a test that steers with a typing
/// error must not pass by steering nothing.
fn field<T: FromStr>(name: &str, entry: &[String], index: usize) -> T {
    entry
        .get(index)
        .and_then(|text| text.parse().ok())
        .unwrap_or_else(|| {
            eprintln!(
                "stand-in libnccl: field {index} of `{name}={}` cannot be read",
                entry.join(":")
            );
            std::process::exit(99);
        })
}

fn of_rank(name: &'static str, rank: usize) -> impl Iterator<Item = Vec<String>> {
    entries(name)
        .into_iter()
        .filter(move |entry| field::<usize>(name, entry, 0) == rank)
}

/// What goes wrong with one call.
#[derive(Debug, Clone, Default)]
pub struct Effects {
    /// Microseconds that the operation takes longer.
    pub slow_us: u64,
    /// The operation waits until this file is there.
    pub wait_for: Option<String>,
    /// The call does not return.
    pub hang: bool,
    /// The operation does not complete.
    pub hang_on_stream: bool,
    /// The call returns this code.
    pub error: Option<i32>,
    /// The operation fails later, with this code.
    pub error_later: Option<i32>,
    /// Element and bit of the output that is flipped.
    pub flip: Option<(usize, usize)>,
}

/// The effects on call `number` of `rank`.
pub fn effects(rank: usize, number: u64) -> Effects {
    let mut effects = Effects::default();
    for entry in of_rank("STAND_IN_SLOW", rank) {
        effects.slow_us = field("STAND_IN_SLOW", &entry, 1);
    }
    let this = |name: &str, entry: &[String]| match field(name, entry, 1) {
        Which::Every => true,
        Which::Nth(wanted) => wanted == number,
    };
    for entry in of_rank("STAND_IN_WAIT", rank).filter(|entry| this("STAND_IN_WAIT", entry)) {
        effects.wait_for = Some(field("STAND_IN_WAIT", &entry, 2));
    }
    for entry in of_rank("STAND_IN_HANG", rank).filter(|entry| this("STAND_IN_HANG", entry)) {
        let on_stream = entry.get(2).is_some_and(|text| text == "stream");
        effects.hang |= !on_stream;
        effects.hang_on_stream |= on_stream;
    }
    for entry in of_rank("STAND_IN_ERROR", rank).filter(|entry| this("STAND_IN_ERROR", entry)) {
        let code = Some(field("STAND_IN_ERROR", &entry, 2));
        let later = entry.get(3).is_some_and(|text| text == "later");
        *(if later {
            &mut effects.error_later
        } else {
            &mut effects.error
        }) = code;
    }
    for entry in of_rank("STAND_IN_CORRUPT", rank).filter(|entry| this("STAND_IN_CORRUPT", entry)) {
        let element = field("STAND_IN_CORRUPT", &entry, 2);
        effects.flip = Some((element, field("STAND_IN_CORRUPT", &entry, 3)));
    }
    effects
}

/// What initialisation of a rank does.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Init {
    Fine,
    Hang,
    Error(i32),
}

/// What `STAND_IN_INIT` says about a rank.
pub fn init(rank: usize) -> Init {
    match of_rank("STAND_IN_INIT", rank).next() {
        None => Init::Fine,
        Some(entry) if entry.get(1).is_some_and(|text| text == "hang") => Init::Hang,
        Some(entry) => Init::Error(field("STAND_IN_INIT", &entry, 1)),
    }
}

fn is_set(name: &str) -> bool {
    match std::env::var(name) {
        Err(_) => false,
        Ok(value) if value == "1" => true,
        Ok(value) => {
            eprintln!("stand-in libnccl: `{name}={value}` cannot be read");
            std::process::exit(99);
        }
    }
}

/// Whether windows that are accepted are made.
#[cfg(feature = "modern")]
pub fn makes_windows() -> bool {
    !is_set("STAND_IN_NO_WINDOWS")
}

/// Whether operations on buffers that are not registered fail.
pub fn wants_registered() -> bool {
    static WANTS: LazyLock<bool> = LazyLock::new(|| is_set("STAND_IN_REGISTERED_ONLY"));
    *WANTS
}

/// What the configuration must say: pairs of a name and a number, or `unset`.
pub fn wanted_config() -> Vec<(String, i32)> {
    let name = "STAND_IN_CONFIG";
    let pair = |entry: Vec<String>| {
        let value: String = field(name, &entry, 1);
        let number = match value.as_str() {
            "unset" => i32::MIN,
            _ => field(name, &entry, 1),
        };
        (field(name, &entry, 0), number)
    };
    entries(name).into_iter().map(pair).collect()
}

/// The version that is reported.
pub fn version() -> i32 {
    static VERSION: LazyLock<i32> = LazyLock::new(|| {
        let default = if cfg!(feature = "modern") {
            23007
        } else {
            21805
        };
        let entries = entries("STAND_IN_NCCL_VERSION");
        entries
            .first()
            .map_or(default, |entry| field("STAND_IN_NCCL_VERSION", entry, 0))
    });
    *VERSION
}
