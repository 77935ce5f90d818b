//! Which host this is: its name, and whether another process is on the same.

use crate::base::{Fault, Kind};
use std::os::unix::fs::MetadataExt;

/// The host's name, up to the first dot.
pub fn name() -> String {
    let system = rustix::system::uname();
    short(&system.nodename().to_string_lossy())
}

fn short(name: &str) -> String {
    match name.split('.').next() {
        Some(first) if !first.is_empty() => first.to_owned(),
        _ => "localhost".to_owned(),
    }
}

/// What two processes share if and only if they can share memory and loopback: host name, boot id
/// and network namespace; or `label`, where one is given.
///
/// # Errors
/// `Missing` if `/proc` does not say.
pub fn identity(label: Option<&str>) -> Result<String, Fault> {
    if let Some(label) = label {
        return Ok(label.to_owned());
    }
    let missing = |path: &str, error: &std::io::Error| {
        Fault::new(Kind::Missing, format!("cannot read `{path}`: {error}"))
            .hint("name this host by `--host-label`")
    };
    let boot = "/proc/sys/kernel/random/boot_id";
    let boot_id = std::fs::read_to_string(boot).map_err(|error| missing(boot, &error))?;
    let net = "/proc/self/ns/net";
    let namespace = std::fs::metadata(net).map_err(|error| missing(net, &error))?;
    Ok(format!("{}/{}/{}", name(), boot_id.trim(), namespace.ino()))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_name_ends_at_its_first_dot() {
        assert_eq!(short("node-a.cluster.example"), "node-a");
        assert_eq!(short(""), "localhost");
    }

    #[test]
    fn an_identity_is_stable_and_a_label_overrides_it() {
        assert_eq!(identity(None), identity(None));
        assert!(identity(None).unwrap().starts_with(&name()));
        assert_eq!(identity(Some("left")), Ok("left".to_owned()));
    }
}
