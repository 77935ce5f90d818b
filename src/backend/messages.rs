//! Sends and receives of backends whose calls block: kept until their group closes, then run together.

use crate::base::Fault;
use crate::base::Rank;
use crate::base::Span;
use std::cell::Cell;
use std::cell::RefCell;

/// A send or a receive.
#[derive(Debug, Clone, Copy)]
pub(super) struct Message {
    /// What is sent, or where it goes.
    pub(super) span: Span,
    /// The other rank.
    pub(super) peer: Rank,
    /// Whether it comes from there.
    pub(super) receives: bool,
}

/// The open groups of a rank, and the messages in them.
#[derive(Debug, Default)]
pub(super) struct Messages {
    depth: Cell<u32>,
    kept: RefCell<Vec<Message>>,
}

impl Messages {
    /// Keeps a message for the open group; gives it back where there is none, to be run at once.
    pub(super) fn keep(&self, message: Message) -> Option<Message> {
        if self.depth.get() == 0 {
            return Some(message);
        }
        self.kept.borrow_mut().push(message);
        None
    }

    /// Runs `body` as a group, and with `run` the messages of the outermost one, if there are any.
    ///
    /// # Errors
    /// That of `body`, whose messages are forgotten then, else that of `run`.
    pub(super) fn group(
        &self,
        body: &mut dyn FnMut() -> Result<(), Fault>,
        run: impl FnOnce(&[Message]) -> Result<(), Fault>,
    ) -> Result<(), Fault> {
        self.depth.set(self.depth.get() + 1);
        let result = body();
        self.depth.set(self.depth.get() - 1);
        if result.is_err() {
            self.kept.take();
        }
        result?;
        if self.depth.get() > 0 {
            return Ok(());
        }
        match self.kept.take() {
            kept if kept.is_empty() => Ok(()),
            kept => run(&kept),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::base::Buffer;
    use crate::base::Bytes;

    fn to(peer: u32) -> Message {
        Message {
            span: Span::whole(Buffer(0), Bytes(8)),
            peer: Rank(peer),
            receives: false,
        }
    }

    #[test]
    fn messages_of_nested_groups_run_once_and_together_and_those_of_a_failed_one_never() {
        let messages = Messages::default();
        assert!(messages.keep(to(1)).is_some(), "outside a group");
        let ran = Cell::new(0);
        let run = |all: &[Message]| {
            ran.set(ran.get() + all.len());
            Ok(())
        };
        let inner = || {
            messages.group(
                &mut || {
                    assert!(messages.keep(to(2)).is_none());
                    Ok(())
                },
                |_| panic!("only the outermost group runs"),
            )
        };
        let outer = messages.group(&mut || inner().and_then(|()| inner()), run);
        assert!(outer.is_ok());
        assert_eq!(ran.get(), 2);
        let fails = &mut || {
            messages.keep(to(3));
            Err(Fault::unsupported("no"))
        };
        assert!(messages.group(fails, run).is_err());
        assert!(messages.group(&mut || Ok(()), run).is_ok());
        assert_eq!(ran.get(), 2);
    }
}
