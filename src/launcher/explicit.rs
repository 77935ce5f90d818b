//! Flags: `--rank`, `--world` and `--rendezvous` say everything.

use super::Launcher;
use super::ProcessSeat;
use super::Setting;
use super::Taken;
use super::Way;
use super::Wish;
use super::kubernetes;
use crate::base::Env;
use crate::base::Fault;
use crate::bootstrap::tcp::listen::Place;
use std::path::PathBuf;

/// See the module.
#[derive(Debug)]
pub(super) struct Explicit;

impl Launcher for Explicit {
    fn name(&self) -> &'static str {
        "flags"
    }

    fn summary(&self) -> &'static str {
        "`--rank`, `--world` and `--rendezvous` on each process"
    }

    /// `--world` alone tells the pods of an indexed job how many they are.
    fn is_announced(&self, wish: &Wish, env: &Env) -> bool {
        wish.rank.is_some() || (wish.world.is_some() && !env.has(kubernetes::INDEX))
    }

    fn take(&self, setting: &Setting<'_>) -> Result<Taken, Fault> {
        let wish = setting.wish;
        let (Some(rank), Some(world)) = (wish.rank, wish.world) else {
            return Err(Fault::usage("`--rank` and `--world` go together"));
        };
        if rank >= world {
            return Err(Fault::usage(format!(
                "`--rank {rank}` is not below `--world {world}`; ranks count from 0"
            )));
        }
        let way = match &wish.rendezvous {
            _ if world == 1 => Way::Alone,
            Some(text) => parse_way(text, "--rendezvous")?,
            None => {
                return Err(Fault::usage("`--world` above 1 needs `--rendezvous`")
                    .hint("name the host of `--rank 0` and a port that is free there: `HOST:PORT`")
                    .hint("or a folder that all processes share: `file:///shared/folder`"));
            }
        };
        Ok(Taken {
            seat: ProcessSeat {
                process: rank,
                processes: world,
                local_process: None,
                launcher: self.name(),
                reason: format!("--rank {rank} --world {world}"),
            },
            job: "flags".to_owned(),
            way,
            notes: Vec::new(),
        })
    }
}

/// Reads where to meet, as the flag or variable `who` says it: a place or a folder.
pub(super) fn parse_way(text: &str, who: &str) -> Result<Way, Fault> {
    match text.strip_prefix("file://") {
        Some(path) if path.starts_with('/') => Ok(Way::Folder(PathBuf::from(path))),
        Some(_) => Err(Fault::usage(format!(
            "invalid value `{text}` for `{who}`; expected the whole path of a folder, e.g., `file:///shared/folder`"
        ))),
        None => parse_place(text, who).map(Way::At),
    }
}

/// Reads `HOST:PORT`, `10.0.1.7:29500`, `[2001:db8::7]:29500`.
fn parse_place(text: &str, who: &str) -> Result<Place, Fault> {
    let refuse = || {
        Fault::usage(format!(
            "invalid value `{text}` for `{who}`; expected HOST:PORT, e.g., `10.0.1.7:29500`"
        ))
    };
    let (host, port) = text.rsplit_once(':').ok_or_else(refuse)?;
    let bare = host
        .strip_prefix('[')
        .and_then(|host| host.strip_suffix(']'));
    let host = match bare {
        Some(inner) => inner,
        None if host.contains(':') => return Err(refuse()),
        None => host,
    };
    let port: u16 = port.parse().map_err(|_| refuse())?;
    if host.is_empty() || port == 0 {
        return Err(refuse());
    }
    Ok(Place {
        host: host.to_owned(),
        ports: vec![port],
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn places_are_hosts_and_ports() {
        let place = |text: &str| {
            parse_place(text, "--rendezvous").map(|place| (place.host, place.ports[0]))
        };
        assert_eq!(place("node1:29500"), Ok(("node1".to_owned(), 29_500)));
        assert_eq!(place("[2001:db8::7]:1"), Ok(("2001:db8::7".to_owned(), 1)));
        for text in [
            "node1",
            ":1",
            "node1:",
            "node1:0",
            "node1:70000",
            "::1:5",
            "a:b:5",
        ] {
            assert!(parse_place(text, "--rendezvous").is_err(), "{text}");
        }
    }

    #[test]
    fn folders_are_whole_paths() {
        let way = parse_way("file:///shared/run 1", "--rendezvous").unwrap();
        assert!(matches!(way, Way::Folder(path) if path.as_os_str() == "/shared/run 1"));
        for text in ["file://", "file://shared/run", "file:/shared"] {
            assert!(parse_way(text, "--rendezvous").is_err(), "{text}");
        }
    }
}
