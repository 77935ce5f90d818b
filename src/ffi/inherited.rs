//! A file descriptor that another program left open for this one and told by its number.

use crate::base::Fault;
use crate::base::Kind;
use std::os::fd::BorrowedFd;
use std::os::fd::OwnedFd;
use std::os::fd::RawFd;

/// An own copy of descriptor `number`, which `who` named; children do not get it.
///
/// # Errors
/// `Launch` with the system's words if no such descriptor is open.
pub fn adopt(number: RawFd, who: &str) -> Result<OwnedFd, Fault> {
    let refuse = |why: &str| {
        let text = format!("`{who}={number}` names no open file descriptor: {why}");
        Fault::new(Kind::Launch, text)
            .hint("start the program directly by the launcher: a wrapper may have closed it")
    };
    if number < 0 {
        return Err(refuse("it is negative"));
    }
    // SAFETY: the number is not -1, and the borrow ends with this function, which closes nothing. A
    // number that is not open is answered by an error of the call, and is no memory of anybody's.
    let theirs = unsafe { BorrowedFd::borrow_raw(number) };
    theirs
        .try_clone_to_owned()
        .map_err(|error| refuse(&error.to_string()))
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::io::Read;
    use std::io::Write;
    use std::os::fd::AsRawFd;
    use std::os::unix::net::UnixStream;

    #[test]
    fn a_descriptor_that_is_open_can_be_used_and_one_that_is_not_is_told() {
        let (mut near, far) = UnixStream::pair().unwrap();
        let copy = adopt(far.as_raw_fd(), "PMI_FD").unwrap();
        near.write_all(b"x").unwrap();
        let mut got = [0];
        UnixStream::from(copy).read_exact(&mut got).unwrap();
        assert_eq!(&got, b"x");
        for wrong in [-1, 1_000_000] {
            let fault = adopt(wrong, "PMI_FD").unwrap_err();
            assert!(fault.message.starts_with("`PMI_FD="), "{fault}");
        }
    }
}
