//! How the first process's engine thread talks to the hub in its own process: no connection, a wake-up.

use super::message::Message;
use crate::bootstrap::Witness;
use mio::{Registry, Token, Waker};
use std::io;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

/// What the first process's engine thread says to its own hub.
#[derive(Debug)]
pub(super) struct Mailbox {
    letters: Mutex<Vec<Letter>>,
    waker: Waker,
}

/// A message of the first member, or its wish that the hub stops without a word.
#[derive(Debug)]
pub(super) enum Letter {
    Say(Message),
    /// What the witness said.
    Witnessed(Vec<String>),
    Drop,
}

impl Mailbox {
    /// Hands something to the hub.
    pub(super) fn put(&self, letter: Letter) {
        self.lock().push(letter);
        // the pipe of a hub that has stopped is gone; nobody waits for its answer then
        drop(self.waker.wake());
    }

    fn lock(&self) -> MutexGuard<'_, Vec<Letter>> {
        self.letters.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

impl Mailbox {
    /// An empty one, whose letters wake the loop that polls for `token`.
    pub(super) fn new(registry: &Registry, token: Token) -> io::Result<Self> {
        Ok(Self {
            letters: Mutex::default(),
            waker: Waker::new(registry, token)?,
        })
    }

    /// Takes all letters out.
    pub(super) fn take(&self) -> Vec<Letter> {
        std::mem::take(&mut *self.lock())
    }
}

/// Asks a witness on a thread of its own, which leaves what it says in the mailbox; false if there
/// is none, or no thread, and then the report lacks what it would have said.
pub(super) fn ask(mailbox: &Arc<Mailbox>, witness: Option<Witness>) -> bool {
    let Some(witness) = witness else {
        return false;
    };
    let mailbox = Arc::clone(mailbox);
    let work = move || mailbox.put(Letter::Witnessed(witness.ask()));
    let thread = std::thread::Builder::new().name("witness".to_owned());
    thread.spawn(work).is_ok()
}
