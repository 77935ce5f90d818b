//! Strangers at the hub: garbage, floods, guesses, and proofs that were recorded, sent back or cut.

use super::link::packet;
use super::tests::{STEP, joining, listener};
use super::*;
use crate::bootstrap::testing;
use auth::{NONCE, PROOF, Side};
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
    let mut stranger = Stranger::knock(address, [9; NONCE]);
    stranger.say(&Message::Proof([7; PROOF]));
    stranger.hears()
}

/// One who says that it is rank 1 of 2.
struct Stranger {
    stream: TcpStream,
    said: Vec<u8>,
    nonce: [u8; NONCE],
    hub_nonce: [u8; NONCE],
    hub_proof: [u8; PROOF],
}

impl Stranger {
    /// Says hello and reads the challenge.
    fn knock(address: SocketAddr, nonce: [u8; NONCE]) -> Self {
        let mut stream = TcpStream::connect(address).unwrap();
        let mut hello = member::hello(1, 2, testing::peer(1)).unwrap();
        hello.nonce = nonce;
        let hello = Message::Hello(hello);
        stream.write_all(&packet(job(), &hello)).unwrap();
        let mut challenge = [0; frame::HEADER + NONCE + PROOF];
        stream.read_exact(&mut challenge).unwrap();
        let (hub_nonce, hub_proof) = challenge[frame::HEADER..].split_at(NONCE);
        Self {
            stream,
            said: hello.encode().1,
            nonce,
            hub_nonce: hub_nonce.try_into().unwrap(),
            hub_proof: hub_proof.try_into().unwrap(),
        }
    }

    /// The proof of one who knows the secret.
    fn proof(&self) -> [u8; PROOF] {
        let secret = Secret::new("swordfish");
        secret.prove(Side::Member, &self.nonce, &self.hub_nonce, &self.said)
    }

    fn say(&mut self, message: &Message) {
        self.stream.write_all(&packet(job(), message)).unwrap();
    }

    /// Bytes that the hub still says before it hangs up.
    fn hears(mut self) -> usize {
        let mut rest = Vec::new();
        self.stream.read_to_end(&mut rest).map_or(0, |read| read)
    }
}

fn job() -> u64 {
    auth::job_id("a job")
}

/// Hosts a world of two, lets `attack` have a try at it and shows that the run is none the worse.
fn withstand(attack: impl FnOnce(SocketAddr)) {
    let (listener, address) = listener();
    std::thread::scope(|scope| {
        let hosting = scope.spawn(move || host(&joining(0, 2), vec![listener], String::new()));
        attack(address);
        let member = connect(&joining(1, 2), &[address]).unwrap();
        let first = hosting.join().unwrap().unwrap();
        testing::each(vec![first, member], |plane| {
            plane.barrier(STEP).unwrap();
            plane.leave();
        });
    });
}

#[test]
fn a_proof_that_was_recorded_is_worth_nothing_at_the_next_challenge() {
    withstand(|address| {
        let recorded = Stranger::knock(address, [9; NONCE]);
        let mut replayed = Stranger::knock(address, [9; NONCE]);
        assert_ne!(recorded.hub_nonce, replayed.hub_nonce);
        replayed.say(&Message::Proof(recorded.proof()));
        assert_eq!(replayed.hears(), 0);
    });
}

#[test]
fn the_hubs_own_proofs_sent_back_to_it_open_nothing() {
    withstand(|address| {
        let mut mirror = Stranger::knock(address, [9; NONCE]);
        mirror.say(&Message::Proof(mirror.hub_proof));
        assert_eq!(mirror.hears(), 0);
        // a second connection has the hub prove over the nonce of the first
        let mut first = Stranger::knock(address, [9; NONCE]);
        let second = Stranger::knock(address, first.hub_nonce);
        first.say(&Message::Proof(second.hub_proof));
        assert_eq!(first.hears(), 0);
    });
}

#[test]
fn proofs_that_are_cut_or_padded_open_nothing() {
    withstand(|address| {
        for len in [0, 1, PROOF - 1, PROOF + 1] {
            let mut stranger = Stranger::knock(address, [9; NONCE]);
            let mut proof = stranger.proof().to_vec();
            proof.resize(len, 0);
            let (kind, _) = Message::Proof([0; PROOF]).encode();
            let cut = frame::encode(job(), kind, &proof);
            stranger.stream.write_all(&cut).unwrap();
            assert_eq!(stranger.hears(), 0, "{len} bytes");
        }
    });
}

#[test]
fn a_stranger_that_goes_on_as_if_it_were_a_member_is_dropped() {
    withstand(|address| {
        for message in [Message::Leave, Message::Failed(Fault::usage("ended by me"))] {
            let mut stranger = Stranger::knock(address, [9; NONCE]);
            stranger.say(&message);
            assert_eq!(stranger.hears(), 0);
        }
    });
}

#[test]
fn a_flood_of_connections_that_say_nothing_does_not_keep_a_member_out() {
    let mut flood = Vec::new();
    withstand(|address| {
        let knock = |_| TcpStream::connect(address).unwrap();
        flood.extend((0..600).map(knock));
    });
    drop(flood);
}

#[test]
fn a_secret_is_in_no_text_that_tells_of_joining() {
    let joining = joining(1, 2);
    let (closed, address) = listener();
    drop(closed);
    let short = Joining {
        limit: Duration::from_millis(1),
        ..joining.clone()
    };
    let ending = connect(&short, &[address]).unwrap_err();
    for text in [
        format!("{joining:?}"),
        format!("{ending:?}"),
        ending.fault.to_string(),
    ] {
        assert!(!text.contains("swordfish"), "{text}");
    }
}
