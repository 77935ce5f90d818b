//! Who does not belong to the run: strangers, impostors, another run.

use super::tests::{STEP, joining, listener};
use super::*;
use crate::bootstrap::testing;
use std::io::{Read, Write};
use std::net::TcpStream;

#[test]
fn garbage_strangers_and_impostors_do_not_disturb_a_run() {
    let (listener, address) = listener();
    std::thread::scope(|scope| {
        let hosting = scope.spawn(move || host(&joining(0, 2), vec![listener], String::new()));
        let silent = TcpStream::connect(address).unwrap();
        let mut rude = TcpStream::connect(address).unwrap();
        rude.write_all(&[0xff; 5000]).unwrap();
        let impostor = Joining {
            secret: Secret::new("guess"),
            limit: Duration::from_millis(10),
            ..joining(1, 2)
        };
        let fault = connect(&impostor, &[address]).unwrap_err().fault;
        assert!(
            fault.details[0].contains("does not know this run's secret"),
            "{fault}"
        );
        let lost = Joining {
            job: "another".to_owned(),
            limit: Duration::from_millis(10),
            ..joining(1, 2)
        };
        let fault = connect(&lost, &[address]).unwrap_err().fault;
        assert!(
            fault.details[0].contains("belongs to another run"),
            "{fault}"
        );
        assert_eq!(
            forge(address),
            0,
            "a proof by guess is dropped without a word"
        );

        let member = connect(&joining(1, 2), &[address]).unwrap();
        let first = hosting.join().unwrap().unwrap();
        testing::each(vec![first, member], |plane| {
            plane.barrier(STEP).unwrap();
            plane.leave();
        });
        drop(silent);
    });
}

/// Says hello as rank 1 and makes a proof up; gives how much was said after the challenge.
fn forge(address: SocketAddr) -> usize {
    let job = auth::job_id("a job");
    let mut stream = TcpStream::connect(address).unwrap();
    let hello = member::hello(1, 2, testing::peer(1)).unwrap();
    stream
        .write_all(&packet(job, &Message::Hello(hello)))
        .unwrap();
    let mut challenge = [0; frame::HEADER + auth::NONCE + auth::PROOF];
    stream.read_exact(&mut challenge).unwrap();
    stream
        .write_all(&packet(job, &Message::Proof([7; auth::PROOF])))
        .unwrap();
    let mut rest = Vec::new();
    stream.read_to_end(&mut rest).map_or(0, |read| read)
}

#[test]
fn the_second_of_two_places_is_found_when_another_run_sits_at_the_first() {
    let (other, taken) = listener();
    let (ours, address) = listener();
    std::thread::scope(|scope| {
        let stranger = Joining {
            job: "another".to_owned(),
            ..joining(0, 1)
        };
        let strange = host(&stranger, vec![other], String::new()).unwrap();
        let hosting = scope.spawn(move || host(&joining(0, 2), vec![ours], String::new()));
        let member = connect(&joining(1, 2), &[taken, address]).unwrap();
        let first = hosting.join().unwrap().unwrap();
        drop(strange);
        testing::each(vec![first, member], |plane| {
            plane.barrier(STEP).unwrap();
            plane.leave();
        });
    });
}
