//! The outermost layer of what goes over the wire: bounded frames.
//!
//! Knows nothing of what a frame's bytes mean. A frame is magic, version, kind, job id and length,
//! then that many bytes; a length is held against a limit before anything is allocated for it.

use std::fmt;
use std::ops::Range;

const MAGIC: [u8; 4] = *b"ncb\x01";

/// Rises with every change of a message's form.
const VERSION: u16 = 2;

/// Bytes before a frame's own.
pub(super) const HEADER: usize = 20;

/// What a stranger may send before it has proved to be ours.
pub(super) const STRANGER_LIMIT: usize = 4 << 10;

/// What a member may send to the hub at once.
pub(super) const MEMBER_LIMIT: usize = 16 << 20;

/// What the hub may send to a member at once.
pub(super) const HUB_LIMIT: usize = 512 << 20;

/// What an empty inbox keeps for the next message.
const KEPT: usize = 64 << 10;

/// Why bytes are not a frame of this run. The connection is dropped.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Refusal {
    /// Not our protocol.
    Magic,
    /// Our protocol, another version of it.
    Version(u16),
    /// Another run.
    Job,
    /// Longer than anything that is sent here.
    Length(u32),
    /// A frame of ours whose bytes mean nothing, or that does not belong here.
    Content,
}

/// Bytes as they arrive, and the frames in them.
#[derive(Debug)]
pub(super) struct Inbox {
    job: u64,
    limit: usize,
    bytes: Vec<u8>,
    used: usize,
}

/// Puts a frame together.
pub(super) fn encode(job: u64, kind: u8, payload: &[u8]) -> Vec<u8> {
    let mut frame = Vec::with_capacity(HEADER + payload.len());
    frame.extend_from_slice(&MAGIC);
    frame.extend_from_slice(&VERSION.to_le_bytes());
    frame.extend_from_slice(&[kind, 0]);
    frame.extend_from_slice(&job.to_le_bytes());
    let len = u32::try_from(payload.len()).unwrap_or(u32::MAX);
    frame.extend_from_slice(&len.to_le_bytes());
    frame.extend_from_slice(payload);
    frame
}

impl Inbox {
    /// An empty inbox for frames of `job` of up to `limit` bytes.
    pub(super) fn new(job: u64, limit: usize) -> Self {
        Self {
            job,
            limit,
            bytes: Vec::new(),
            used: 0,
        }
    }

    /// Lets longer frames in from now on.
    pub(super) fn set_limit(&mut self, limit: usize) {
        self.limit = limit;
    }

    /// Adds what was read.
    pub(super) fn push(&mut self, bytes: &[u8]) {
        self.bytes.drain(..self.used);
        self.used = 0;
        if self.bytes.is_empty() && self.bytes.capacity() > KEPT {
            // one long message does not cost its memory for the rest of the run
            self.bytes = Vec::new();
        }
        self.bytes.extend_from_slice(bytes);
    }

    /// Whether more may be read before what is here has been looked at.
    pub(super) fn has_room(&self) -> bool {
        self.bytes.len() - self.used <= self.limit + HEADER
    }

    /// The next whole frame: its kind and its bytes. `None`: more is to come.
    pub(super) fn next(&mut self) -> Result<Option<(u8, &[u8])>, Refusal> {
        let Some((kind, range)) = locate(&self.bytes[self.used..], self.job, self.limit)? else {
            return Ok(None);
        };
        let start = self.used;
        self.used += range.end;
        Ok(Some((
            kind,
            &self.bytes[start + range.start..start + range.end],
        )))
    }
}

/// Where the first frame's bytes lie.
fn locate(bytes: &[u8], job: u64, limit: usize) -> Result<Option<(u8, Range<usize>)>, Refusal> {
    let Some((kind, len)) = header(bytes, job, limit)? else {
        return Ok(None);
    };
    let whole = HEADER..HEADER + len;
    Ok((bytes.len() >= whole.end).then_some((kind, whole)))
}

/// The kind and the length of the frame that `bytes` begin with; `None`: its header is not all there.
pub(super) fn header(bytes: &[u8], job: u64, limit: usize) -> Result<Option<(u8, usize)>, Refusal> {
    let known = bytes.len().min(MAGIC.len());
    if bytes[..known] != MAGIC[..known] {
        return Err(Refusal::Magic);
    }
    let Some(header) = bytes.first_chunk::<HEADER>() else {
        return Ok(None);
    };
    let version = u16::from_le_bytes([header[4], header[5]]);
    if version != VERSION {
        return Err(Refusal::Version(version));
    }
    if header[8..16] != job.to_le_bytes() {
        return Err(Refusal::Job);
    }
    let len = u32::from_le_bytes([header[16], header[17], header[18], header[19]]);
    match usize::try_from(len) {
        Ok(len) if len <= limit => Ok(Some((header[6], len))),
        _ => Err(Refusal::Length(len)),
    }
}

impl fmt::Display for Refusal {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Magic => f.write_str("it does not speak our protocol"),
            Self::Version(version) => write!(
                f,
                "it speaks version {version} of our protocol, not {VERSION}"
            ),
            Self::Job => f.write_str("it belongs to another run"),
            Self::Length(len) => write!(f, "it announced a message of {len} bytes"),
            Self::Content => f.write_str("it sent a message that cannot be read"),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    #[test]
    fn a_length_over_the_limit_is_refused_before_its_bytes_arrive() {
        let mut inbox = Inbox::new(7, 100);
        let frame = encode(7, 1, &[0; 101]);
        inbox.push(&frame[..HEADER]);
        assert_eq!(inbox.next(), Err(Refusal::Length(101)));
    }

    #[test]
    fn frames_of_others_are_refused() {
        let mut other = Inbox::new(8, 100);
        other.push(&encode(7, 1, b"x"));
        assert_eq!(other.next(), Err(Refusal::Job));
        let mut web = Inbox::new(7, 100);
        web.push(b"GE");
        assert_eq!(web.next(), Err(Refusal::Magic));
        let mut newer = Inbox::new(7, 100);
        let mut frame = encode(7, 1, b"x");
        frame[4] = 9;
        newer.push(&frame);
        assert_eq!(newer.next(), Err(Refusal::Version(9)));
    }

    proptest! {
        #[test]
        fn frames_come_out_as_they_went_in_however_they_are_cut(
            payloads in proptest::collection::vec(any::<Vec<u8>>(), 1..6),
            cut in 1usize..40,
        ) {
            let mut sent = Vec::new();
            for payload in &payloads {
                sent.extend(encode(7, 3, payload));
            }
            let mut inbox = Inbox::new(7, 1 << 10);
            let mut got = Vec::new();
            for piece in sent.chunks(cut) {
                inbox.push(piece);
                while let Some((kind, bytes)) = inbox.next().unwrap() {
                    prop_assert_eq!(kind, 3);
                    got.push(bytes.to_vec());
                }
            }
            prop_assert_eq!(got, payloads);
        }

        #[test]
        fn any_bytes_are_looked_at_without_a_panic_and_without_being_believed(
            mut bytes: Vec<u8>, ours: bool,
        ) {
            if ours {
                let head = encode(7, 1, b"");
                let start = bytes.len().min(HEADER - 4);
                bytes[..start].copy_from_slice(&head[..start]);
            }
            let mut inbox = Inbox::new(7, 64);
            inbox.push(&bytes);
            let before = inbox.bytes.capacity();
            while let Ok(Some((_, payload))) = inbox.next() {
                prop_assert!(payload.len() <= 64);
            }
            prop_assert_eq!(inbox.bytes.capacity(), before);
        }
    }
}
