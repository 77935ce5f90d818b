//! `fi_pingpong`, libfabric's own ping-pong, driven between the hosts of two processes: the first
//! serves, the second connects, and its table is read.
//!
//! # Source
//! libfabric, `util/pingpong.c`, and its manual page `fi_pingpong(1)`: both sides print a table; sizes
//! and byte counts carry k and m of 1024, MB are 10⁶ bytes, usec/xfer is one way.

use super::Process;
use super::meeting;
use crate::base::Clock;
use crate::base::Fault;
use crate::base::Kind;
use crate::bootstrap;
use crate::bootstrap::Bootstrap;
use crate::cli::FabricWish;
use crate::doctor::Scene;
use crate::probe::command;
use crate::probe::command::Said;
use std::net::TcpListener;
use std::sync::Arc;
use std::time::Duration;

const PROGRAM: &str = "fi_pingpong";

/// How often the client tries while the server is not listening yet.
const TRIES: u32 = 40;

/// The pause between two tries.
const PAUSE: Duration = Duration::from_millis(250);

/// A row of its table.
#[derive(Debug, Clone, PartialEq)]
pub(super) struct Row {
    pub(super) bytes: u64,
    pub(super) transfers: u64,
    /// One way, in microseconds.
    pub(super) us: f64,
    /// Of 10⁶ bytes a second.
    pub(super) mb_s: f64,
}

/// Runs it between the two processes; the rows come back on both.
pub(super) fn run(
    process: &Process<'_>,
    plane: &dyn Bootstrap,
    wish: &FabricWish,
) -> Result<Vec<Row>, Fault> {
    let program = program(process)?;
    let limit = wish.limit;
    let place = meeting(process, plane, &port()?)?;
    let (address, port) = place.rsplit_once(' ').unwrap_or((&place, ""));
    let mut call = arguments(wish);
    let mine = if plane.member() == 0 {
        call.extend(["-B".to_owned(), port.to_owned()]);
        let server = serve(&program, &call, limit);
        server.and_then(|said| rows(&said))
    } else {
        call.extend(["-P".to_owned(), port.to_owned(), address.to_owned()]);
        let clock = &process.clock;
        connect(&program, &call, limit, clock).and_then(|said| rows(&said))
    };
    let step = process.step("what `fi_pingpong` said");
    let faults = plane.all_gather(step, &bootstrap::encode(&mine.as_ref().err())?)?;
    // the client's words come first: where it cannot connect, the server says that it waited
    for said in faults.iter().rev() {
        if let Some(fault) = bootstrap::decode::<Option<Fault>>(said)? {
            return Err(fault.hint(hint(wish)));
        }
    }
    mine
}

/// What is often wrong.
fn hint(wish: &FabricWish) -> String {
    match wish.provider.as_str() {
        "efa" => "look at `ncclbench doctor --only efa-provider,infiniband-devices,memlock`; a hang at the first message is a security group without a rule that names itself".to_owned(),
        provider => format!("look at `fi_info -p {provider}` on both hosts"),
    }
}

fn program(process: &Process<'_>) -> Result<String, Fault> {
    let scene = Scene::here(process.env.clone(), 1, None);
    let found = scene.program(PROGRAM, &["/opt/amazon/efa/bin"]);
    found.ok_or_else(|| {
        Fault::new(
            Kind::Missing,
            "`fi_pingpong` is neither on `PATH` nor in /opt/amazon/efa/bin",
        )
        .hint("install libfabric's programs (Debian: `libfabric-bin`; EFA: the installer)")
    })
}

/// A port of this host that is free now.
fn port() -> Result<String, Fault> {
    let cannot = |error: std::io::Error| Fault::new(Kind::Launch, format!("no free port: {error}"));
    let listener = TcpListener::bind(("0.0.0.0", 0)).map_err(cannot)?;
    Ok(listener.local_addr().map_err(cannot)?.port().to_string())
}

fn arguments(wish: &FabricWish) -> Vec<String> {
    let mut all = vec!["-p".to_owned(), wish.provider.clone()];
    all.extend(["-e".to_owned(), "rdm".to_owned()]);
    if let Some(fabric) = &wish.fabric {
        all.extend(["-f".to_owned(), fabric.clone()]);
    }
    all.extend(["-I".to_owned(), wish.iterations.to_string()]);
    if let Some(size) = wish.size {
        all.extend(["-S".to_owned(), size.to_string()]);
    }
    all
}

fn call(program: &str, call: &[String], limit: Duration) -> Result<Said, Fault> {
    let words: Vec<&str> = call.iter().map(String::as_str).collect();
    command::output(program, &words, limit).map_err(|why| Fault::new(Kind::Timeout, why))
}

fn serve(program: &str, words: &[String], limit: Duration) -> Result<Said, Fault> {
    call(program, words, limit)
}

/// The server may not be listening yet, which ends the client at once.
fn connect(
    program: &str,
    words: &[String],
    limit: Duration,
    clock: &Arc<dyn Clock>,
) -> Result<Said, Fault> {
    for _ in 1..TRIES {
        let said = call(program, words, limit)?;
        if said.code == Some(0) || !said.stderr.contains("failed to connect") {
            return Ok(said);
        }
        clock.pause(PAUSE);
    }
    call(program, words, limit)
}

/// The table. Lines of `[error]` before a good table are no failure.
fn rows(said: &Said) -> Result<Vec<Row>, Fault> {
    let rows: Vec<Row> = said.stdout.lines().filter_map(row).collect();
    if said.code == Some(0) && !rows.is_empty() {
        return Ok(rows);
    }
    let code = said
        .code
        .map_or("a signal".to_owned(), |code| code.to_string());
    let words = said.stderr.lines().chain(said.stdout.lines());
    let words = words
        .map(str::trim)
        .find(|line| !line.is_empty())
        .unwrap_or("no word");
    Err(Fault::new(
        Kind::Call,
        format!("`fi_pingpong` ended with {code} and no table: {words}"),
    ))
}

/// `64      10      =10      1.2k        0.04s      0.04    1821.80       0.00`.
fn row(line: &str) -> Option<Row> {
    let words: Vec<&str> = line.split_whitespace().collect();
    let [bytes, sent, _, _, _, speed, us, _] = words[..] else {
        return None;
    };
    Some(Row {
        bytes: scaled(bytes)?,
        transfers: scaled(sent)?,
        mb_s: speed.parse().ok()?,
        us: us.parse().ok()?,
    })
}

/// `1k`, `64`, `1m`.
fn scaled(text: &str) -> Option<u64> {
    let (digits, scale) = match text.as_bytes().last()? {
        b'k' => (&text[..text.len() - 1], 1 << 10),
        b'm' => (&text[..text.len() - 1], 1 << 20),
        b'g' => (&text[..text.len() - 1], 1 << 30),
        _ => (text, 1),
    };
    digits.parse::<u64>().ok()?.checked_mul(scale)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn said(code: Option<i32>, stdout: &str, stderr: &str) -> Said {
        Said {
            code,
            stdout: stdout.to_owned(),
            stderr: stderr.to_owned(),
        }
    }

    const TABLE: &str = "\
bytes   #sent   #ack     total       time     MB/sec    usec/xfer   Mxfers/sec
64      1k      =1k      125k        0.02s      5.90      10.85       0.09
1m      10      =10      20m         0.01s   6676.70     157.05       0.01
";

    #[test]
    fn a_table_is_read_with_its_units() {
        let read = rows(&said(
            Some(0),
            TABLE,
            "[error] util/pingpong.c:1119: cq_readerr\n",
        ))
        .unwrap();
        let expected = [(64, 1024, 10.85, 5.9), (1 << 20, 10, 157.05, 6676.7)];
        let expected = expected.map(|(bytes, transfers, us, mb_s)| Row {
            bytes,
            transfers,
            us,
            mb_s,
        });
        assert_eq!(read, expected);
    }

    #[test]
    fn a_run_without_a_table_is_a_failure_with_its_words() {
        let refused = said(
            Some(111),
            "",
            "[error] util/pingpong.c:408 : failed to connect: refused\n",
        );
        assert!(
            rows(&refused)
                .unwrap_err()
                .message
                .contains("ended with 111 and no table: [error]")
        );
        assert!(rows(&said(None, TABLE, "")).is_err());
        assert!(rows(&said(Some(0), "bytes #sent\n", "")).is_err());
    }
}
