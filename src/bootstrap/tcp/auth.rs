//! The secret of a run, and how two processes show each other that they know it without saying it.
//!
//! Without a secret the proofs are made with an empty key and keep out nobody but strays.

use crate::base::{Fault, Kind};
use hmac::{Hmac, Mac};
use rustix::rand::{GetRandomFlags, getrandom};
use sha2::{Digest, Sha256};
use std::fmt;

/// Bytes of a nonce.
pub(super) const NONCE: usize = 32;

/// Bytes of a proof.
pub(super) const PROOF: usize = 32;

/// What only the processes of one run know.
///
/// It can be neither printed nor compared: proofs are compared, and that takes as long whether they
/// are alike or not.
#[derive(Clone)]
pub struct Secret(Vec<u8>);

/// Which side proves, so that one side's proof is never the other's.
#[derive(Debug, Clone, Copy)]
pub(super) enum Side {
    Hub,
    Member,
}

impl Secret {
    /// A secret of given bytes; empty means none.
    pub fn new(bytes: impl Into<Vec<u8>>) -> Self {
        Self(bytes.into())
    }

    /// No secret.
    pub fn none() -> Self {
        Self(Vec::new())
    }

    /// A fresh secret from the system's random numbers.
    ///
    /// # Errors
    /// `Missing` if there are none.
    pub fn fresh() -> Result<Self, Fault> {
        random::<32>().map(|bytes| Self(bytes.to_vec()))
    }

    /// Its bytes, to hand to a process of the same run.
    pub fn expose(&self) -> &[u8] {
        &self.0
    }

    fn mac(&self, side: Side, parts: [&[u8]; 3]) -> Option<Hmac<Sha256>> {
        let mut mac = Hmac::<Sha256>::new_from_slice(&self.0).ok()?;
        mac.update(match side {
            Side::Hub => b"hub",
            Side::Member => b"mem",
        });
        for part in parts {
            mac.update(part);
        }
        Some(mac)
    }

    /// The proof of `side` over both nonces and what the member said of itself.
    pub(super) fn prove(
        &self,
        side: Side,
        member: &[u8; NONCE],
        hub: &[u8; NONCE],
        hello: &[u8],
    ) -> [u8; PROOF] {
        self.mac(side, [member, hub, hello])
            .map_or([0; PROOF], |mac| mac.finalize().into_bytes().into())
    }

    /// Whether `proof` is that of `side`; takes as long whether it is or not.
    pub(super) fn verify(
        &self,
        side: Side,
        (member, hub): (&[u8; NONCE], &[u8; NONCE]),
        hello: &[u8],
        proof: &[u8; PROOF],
    ) -> bool {
        self.mac(side, [member, hub, hello])
            .is_some_and(|mac| mac.verify_slice(proof).is_ok())
    }
}

/// A number for a run's name.
pub(super) fn job_id(name: &str) -> u64 {
    let digest = Sha256::digest(name.as_bytes());
    digest
        .iter()
        .take(8)
        .fold(0, |id, byte| (id << 8) | u64::from(*byte))
}

fn no_random(why: &str) -> Fault {
    Fault::new(
        Kind::Missing,
        format!("the system has no random numbers: {why}"),
    )
}

/// Random bytes.
pub(super) fn random<const N: usize>() -> Result<[u8; N], Fault> {
    let mut bytes = [0; N];
    // a call, since a file cannot be opened where strangers hold the last descriptor
    match getrandom(&mut bytes, GetRandomFlags::empty()) {
        Ok(len) if len == N => Ok(bytes),
        Ok(len) => Err(no_random(&format!("{len} of {N} bytes came"))),
        Err(error) => Err(no_random(&error.to_string())),
    }
}

impl fmt::Debug for Secret {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(if self.0.is_empty() {
            "Secret(none)"
        } else {
            "Secret(…)"
        })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_proof_holds_for_its_side_its_nonces_its_hello_and_its_secret_only() {
        let (secret, other) = (Secret::new("a"), Secret::new("b"));
        let (member, hub) = ([1; NONCE], [2; NONCE]);
        let proof = secret.prove(Side::Member, &member, &hub, b"hello");
        let holds = |secret: &Secret, side, nonces, hello: &[u8]| {
            secret.verify(side, nonces, hello, &proof)
        };
        assert!(holds(&secret, Side::Member, (&member, &hub), b"hello"));
        assert!(!holds(&other, Side::Member, (&member, &hub), b"hello"));
        assert!(!holds(&secret, Side::Hub, (&member, &hub), b"hello"));
        assert!(!holds(&secret, Side::Member, (&hub, &member), b"hello"));
        assert!(!holds(&secret, Side::Member, (&member, &hub), b"hullo"));
    }

    #[test]
    fn a_secret_is_not_printed() {
        assert_eq!(format!("{:?}", Secret::new("swordfish")), "Secret(…)");
    }
}
