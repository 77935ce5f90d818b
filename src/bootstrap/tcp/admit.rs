//! Who may join: a process that fits the world, in a place that is free.

use super::message::Hello;
use crate::base::{Fault, Kind};
use crate::bootstrap::PeerInfo;
use crate::bootstrap::peer;

/// The index of a process that says `hello`, if it belongs among `seats`, which meet at `place`.
///
/// # Errors
/// `Disagree` or `Launch`, with what is odd about it.
pub(super) fn check(
    seats: &[Option<PeerInfo>],
    place: &str,
    hello: &Hello,
) -> Result<usize, Fault> {
    let member = usize::try_from(hello.member).unwrap_or(usize::MAX);
    let them = &hello.info;
    let who = peer::describe(them, member);
    let Some(first) = &seats[0] else {
        return Err(Fault::new(Kind::Launch, format!("{who} came too early")));
    };
    let hub = peer::describe(first, 0);
    let disagree = |text: String| Fault::new(Kind::Disagree, text);
    if them.version != first.version {
        return Err(disagree(format!(
            "ranks run different versions: {hub} has {}, {who} has {}",
            first.version, them.version
        ))
        .hint("install one version on all hosts"));
    }
    if usize::try_from(hello.members) != Ok(seats.len()) {
        return Err(disagree(format!(
            "ranks disagree on the world: {hub} was started as one of {} processes, {who} as one of {}",
            seats.len(),
            hello.members
        )));
    }
    if them.ranks != first.ranks {
        return Err(disagree(format!(
            "ranks disagree on `-t` times `-g`: {hub} holds {} ranks, {who} holds {}",
            first.ranks, them.ranks
        )));
    }
    match seats.get(member) {
        Some(None) => Ok(member),
        Some(Some(other)) => Err(duplicate(place, member, other, them)),
        None => Err(Fault::new(
            Kind::Launch,
            format!("{who} is outside the world of {} processes", seats.len()),
        )),
    }
}

fn duplicate(place: &str, member: usize, one: &PeerInfo, other: &PeerInfo) -> Fault {
    let text = format!(
        "two processes at {} say that they are {}: pid {} on {} and pid {} on {}",
        place,
        peer::ranks_of(one.ranks, member),
        one.pid,
        one.host,
        other.pid,
        other.host
    );
    Fault::new(Kind::Launch, text)
        .hint("give each process its own rank, and each run its own place to meet")
}
