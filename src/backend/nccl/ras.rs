//! NCCL's own view of a run that hangs, asked from its RAS service (NCCL 2.24 and newer).
//!
//! The service listens in the processes under test. A machine without it, or one that does not
//! answer soon, is no fault: then there is nothing to tell.
//!
//! # Source
//! NCCL 2.28, `src/ras/client.cc`, for the protocol; NCCL's user guide, RAS, for the address.

use crate::base::Env;
use crate::bootstrap::Witness;
use std::io;
use std::io::BufRead;
use std::io::BufReader;
use std::io::Read;
use std::io::Write;
use std::net::TcpStream;
use std::net::ToSocketAddrs;
use std::sync::mpsc;
use std::time::Duration;

/// Where the service listens unless `NCCL_RAS_ADDR` says otherwise.
const ADDRESS: &str = "localhost:28028";

/// How long asking may take as a whole.
const LIMIT: Duration = Duration::from_secs(2);

/// How long connecting, and each read, may take.
const STEP_LIMIT: Duration = Duration::from_millis(1500);

/// How much of an answer is told.
const MOST_BYTES: u64 = 64 << 10;
const MOST_LINES: usize = 40;

/// Whom to ask, unless the service is switched off.
pub(super) fn witness(env: &Env) -> Option<Witness> {
    if env.get("NCCL_RAS_ENABLE") == Some("0") {
        return None;
    }
    let address = env.get("NCCL_RAS_ADDR").unwrap_or(ADDRESS).to_owned();
    Some(Witness::new(move || ask(&address)))
}

/// What the service says, with a heading; nothing if it says nothing in time.
fn ask(address: &str) -> Vec<String> {
    let (tell, told) = mpsc::channel();
    let to = address.to_owned();
    // resolving a name has no deadline, so that it is done on a thread that can be left behind
    let started = std::thread::Builder::new()
        .name("nccl ras".to_owned())
        .spawn(move || {
            let _nobody_listens_any_more = tell.send(converse(&to));
        });
    if started.is_err() {
        return Vec::new();
    }
    match told.recv_timeout(LIMIT) {
        Ok(Ok(text)) => report(address, &text),
        Ok(Err(_)) | Err(_) => Vec::new(),
    }
}

/// Asks for the verbose status.
fn converse(address: &str) -> io::Result<String> {
    let mut stream = connect(address)?;
    stream.set_read_timeout(Some(STEP_LIMIT))?;
    stream.set_write_timeout(Some(STEP_LIMIT))?;
    let mut lines = BufReader::new(stream.try_clone()?);
    stream.write_all(b"CLIENT PROTOCOL 2\n")?;
    expect(&mut lines, "SERVER PROTOCOL")?;
    // whole seconds: how long it waits for its own peers
    stream.write_all(b"TIMEOUT 1\n")?;
    expect(&mut lines, "OK")?;
    stream.write_all(b"VERBOSE STATUS\n")?;
    let mut said = Vec::new();
    lines.take(MOST_BYTES).read_to_end(&mut said)?;
    Ok(String::from_utf8_lossy(&said).into_owned())
}

fn connect(address: &str) -> io::Result<TcpStream> {
    let mut last = io::Error::from(io::ErrorKind::NotFound);
    for address in address.to_socket_addrs()? {
        match TcpStream::connect_timeout(&address, STEP_LIMIT) {
            Ok(stream) => return Ok(stream),
            Err(error) => last = error,
        }
    }
    Err(last)
}

/// Reads one short line, which must begin with `word`: another service may sit at that port.
fn expect(lines: &mut impl BufRead, word: &str) -> io::Result<()> {
    let mut line = String::new();
    lines.take(256).read_line(&mut line)?;
    if line.starts_with(word) {
        Ok(())
    } else {
        Err(io::Error::from(io::ErrorKind::InvalidData))
    }
}

/// The answer as lines of a fault; control characters are dropped, since it came over the network.
fn report(address: &str, text: &str) -> Vec<String> {
    let clean = |line: &str| {
        let kept = line.chars().filter(|one| !one.is_control() || *one == '\t');
        kept.collect::<String>().trim_end().to_owned()
    };
    let lines: Vec<String> = text
        .lines()
        .map(clean)
        .filter(|line| !line.is_empty())
        .collect();
    if lines.is_empty() {
        return Vec::new();
    }
    let mut said = vec![format!("NCCL's RAS service at {address} says:")];
    let more = lines.len().saturating_sub(MOST_LINES);
    said.extend(
        lines
            .into_iter()
            .take(MOST_LINES)
            .map(|line| format!("  {line}")),
    );
    if more > 0 {
        said.push(format!("  and {more} more lines; `ncclras -v` shows all"));
    }
    said
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::net::TcpListener;

    /// A service that answers `answer` to what it must be asked; gives its address.
    fn service(answer: &'static str) -> String {
        let listener = TcpListener::bind("127.0.0.1:0").unwrap();
        let address = listener.local_addr().unwrap().to_string();
        std::thread::spawn(move || {
            let (mut stream, _) = listener.accept().unwrap();
            let mut lines = BufReader::new(stream.try_clone().unwrap());
            let turns = [
                ("CLIENT PROTOCOL 2\n", "SERVER PROTOCOL 2\n"),
                ("TIMEOUT 1\n", "OK\n"),
                ("VERBOSE STATUS\n", answer),
            ];
            for (asked, answer) in turns {
                let mut line = String::new();
                lines.read_line(&mut line).unwrap();
                assert_eq!(line, asked);
                stream.write_all(answer.as_bytes()).unwrap();
            }
        });
        address
    }

    #[test]
    fn what_the_service_says_is_told_under_a_heading_and_without_control_characters() {
        let address = service("NCCL version 2.30.7\n\nErrors\n======\n\x1b[31mrank 2 is missing\n");
        let env: Env = [("NCCL_RAS_ADDR", address.as_str())].into_iter().collect();
        assert_eq!(
            witness(&env).unwrap().ask(),
            [
                format!("NCCL's RAS service at {address} says:").as_str(),
                "  NCCL version 2.30.7",
                "  Errors",
                "  ======",
                "  [31mrank 2 is missing",
            ]
        );
    }

    #[test]
    fn nobody_there_another_service_and_one_that_is_switched_off_say_nothing() {
        let listener = TcpListener::bind("127.0.0.1:0").unwrap();
        let address = listener.local_addr().unwrap().to_string();
        drop(listener);
        assert!(ask(&address).is_empty());
        let other = TcpListener::bind("127.0.0.1:0").unwrap();
        let address = other.local_addr().unwrap().to_string();
        std::thread::spawn(move || {
            let (mut stream, _) = other.accept().unwrap();
            stream.write_all(b"SSH-2.0\r\n").unwrap();
            let mut rest = Vec::new();
            drop(stream.read_to_end(&mut rest));
        });
        assert!(ask(&address).is_empty());
        let off: Env = [("NCCL_RAS_ENABLE", "0")].into_iter().collect();
        assert!(witness(&off).is_none());
    }

    #[test]
    fn a_service_that_accepts_and_says_nothing_is_given_up() {
        let mute = TcpListener::bind("127.0.0.1:0").unwrap();
        assert!(ask(&mute.local_addr().unwrap().to_string()).is_empty());
    }

    #[test]
    fn a_long_answer_is_cut_and_says_so() {
        let said = report("here", &"line\n".repeat(MOST_LINES + 7));
        assert_eq!(said.len(), MOST_LINES + 2);
        assert!(said.last().unwrap().contains("and 7 more lines"));
    }
}
