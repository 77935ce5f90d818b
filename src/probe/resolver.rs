//! What this host's own name means to the system's resolver, within a bounded time.

use std::net::IpAddr;
use std::net::ToSocketAddrs;
use std::sync::mpsc;
use std::time::Duration;

/// The addresses of `name`, in the resolver's order; else why there are none.
///
/// The resolver cannot be given a deadline, so that it is asked on a thread that may be left behind.
///
/// # Errors
/// The system's words, or that no answer came within `limit`.
pub fn addresses(name: &str, limit: Duration) -> Result<Vec<IpAddr>, String> {
    let (tell, told) = mpsc::channel();
    let owned = name.to_owned();
    let asked = std::thread::Builder::new().spawn(move || {
        let found = (owned.as_str(), 0).to_socket_addrs();
        let found = found.map(|all| all.map(|one| one.ip()).collect::<Vec<_>>());
        drop(tell.send(found.map_err(|error| error.to_string())));
    });
    asked.map_err(|error| format!("cannot start a thread: {error}"))?;
    let late = || Err(format!("no answer within {} s", limit.as_secs_f64()));
    let mut found = told.recv_timeout(limit).unwrap_or_else(|_| late())?;
    found.dedup();
    Ok(found)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn an_address_means_itself_and_a_name_that_is_none_says_why() {
        let limit = Duration::from_secs(30);
        let expected = "127.0.0.9".parse::<IpAddr>().unwrap();
        assert_eq!(addresses("127.0.0.9", limit), Ok(vec![expected]));
        assert!(!addresses("no name", limit).unwrap_err().is_empty());
    }

    #[test]
    fn a_resolver_that_does_not_answer_is_left_behind() {
        let said = addresses("127.0.0.9", Duration::ZERO);
        assert!(said.is_ok() || said.unwrap_err().starts_with("no answer within 0 s"));
    }
}
