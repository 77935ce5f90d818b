//! A listener that strangers flood: the run neither notices nor suffers.

use super::harness::{Running, start};
use super::trouble::all_end;
use super::{LIMIT, SMALL, by_hand, free_address, one_table, small_sizes};
use std::io::Write as _;
use std::net::TcpStream;
use std::sync::atomic::{AtomicBool, Ordering};

/// How many connections of each kind are held open; more in all than are listened to at once.
const HELD: usize = 120;

/// What begins like a message of ours: its magic number, then nothing that is known.
const HALF_A_HEADER: &[u8] = b"ncb\x01\x02\x00";

/// Strangers that hold on to their connections.
struct Strangers {
    silent: Vec<TcpStream>,
    slow: Vec<TcpStream>,
}

impl Strangers {
    fn come(address: &str) -> Self {
        let connect = || TcpStream::connect(address).unwrap();
        for _ in 0..HELD {
            let mut rude = connect();
            // it may hang up while we are still talking
            drop(rude.write_all(&[0xff; 5000]));
            let mut web = connect();
            drop(web.write_all(b"GET / HTTP/1.1\r\nHost: here\r\n\r\n"));
        }
        Self {
            silent: (0..HELD).map(|_| connect()).collect(),
            slow: (0..HELD).map(|_| connect()).collect(),
        }
    }

    /// Each slow one says one more byte.
    fn go_on(&mut self, turn: usize) {
        let byte = HALF_A_HEADER[turn.min(HALF_A_HEADER.len() - 1)];
        for stream in &mut self.slow {
            drop(stream.write_all(&[byte]));
        }
    }
}

/// Rank 0 listens once somebody can connect.
fn await_listener(address: &str) {
    while TcpStream::connect(address).is_err() {
        std::thread::yield_now();
    }
}

#[test]
fn garbage_half_open_and_slow_connections_and_a_storm_of_them_do_not_disturb_a_run() {
    let address = free_address();
    let begin = |rank| start(&mut by_hand(rank, 3, &address, SMALL));
    let first = begin(0);
    await_listener(&address);
    let mut strangers = Strangers::come(&address);
    let over = AtomicBool::new(false);
    let finished = std::thread::scope(|scope| {
        // a storm that goes on while the others join and while they measure
        scope.spawn(|| {
            for turn in 0.. {
                if over.load(Ordering::Acquire) {
                    return;
                }
                strangers.go_on(turn);
                if let Ok(mut stream) = TcpStream::connect(&address) {
                    drop(stream.write_all(HALF_A_HEADER));
                }
            }
        });
        let running: Vec<Running> = vec![first, begin(1), begin(2)];
        let finished =
            std::panic::catch_unwind(std::panic::AssertUnwindSafe(|| all_end(running, LIMIT)));
        over.store(true, Ordering::Release);
        finished
    });
    drop(strangers.silent);
    let finished = finished.unwrap();
    let table = one_table(&finished);
    assert_eq!((table.seats.len(), table.sizes()), (3, small_sizes()));
    for one in &finished {
        assert!(!one.stderr.contains("error"), "{}", one.told());
    }
}
