//! Who was where when a deadline passed: the arrival table, and who is to be blamed.
//!
//! Pure: readings in, text out. All members go the same way, so that one that is behind the others
//! is the one that they wait for.

use super::PeerInfo;
use super::peer;
use super::pulse::Reading;
use crate::base::Fault;
use crate::base::fault::Place;

/// How many lines a table has at most.
const MOST_LINES: usize = 16;

/// The ranks of one thread, or of a process that gave no answer.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) struct Seat {
    first: u32,
    ranks: u32,
    host: String,
    pid: u32,
    reading: Option<Reading>,
}

/// The seats of all processes that are still there; `answers` and `gone` are by member.
pub(super) fn seats(
    peers: &[PeerInfo],
    answers: &[Option<Vec<Reading>>],
    gone: &[bool],
) -> Vec<Seat> {
    let mut seats = Vec::new();
    for (member, peer) in peers.iter().enumerate().filter(|(one, _)| !gone[*one]) {
        let first = peer::first_rank(peer.ranks, member);
        let seat = |at: u32, ranks: u32, reading: Option<Reading>| Seat {
            first: first + at,
            ranks,
            host: peer.host.clone(),
            pid: peer.pid,
            reading,
        };
        let Some(readings) = &answers[member] else {
            seats.push(seat(0, peer.ranks.max(1), None));
            continue;
        };
        let threads = u32::try_from(readings.len()).unwrap_or(1).max(1);
        let each = (peer.ranks / threads).max(1);
        for (thread, reading) in (0u32..).zip(readings) {
            seats.push(seat(thread * each, each, Some(reading.clone())));
        }
    }
    seats
}

/// Whether somebody gave no answer.
pub(super) fn is_anyone_mute(seats: &[Seat]) -> bool {
    seats.iter().any(|seat| seat.reading.is_none())
}

/// Who gave no answer, else who is behind the others; nobody if all are equally far.
fn culprits(seats: &[Seat]) -> Vec<&Seat> {
    let progress = |seat: &Seat| seat.reading.as_ref().map(Reading::progress);
    let least = seats.iter().map(progress).min().flatten();
    let most = seats.iter().map(progress).max().flatten();
    let behind = |seat: &&Seat| progress(seat) == least;
    if least == most && !is_anyone_mute(seats) {
        return Vec::new();
    }
    seats.iter().filter(behind).collect()
}

/// Makes of a fault that somebody noticed one that says whom it is about, if that is known.
pub(super) fn accuse(fault: Fault, seats: &[Seat]) -> Fault {
    let culprits = culprits(seats);
    let Some(first) = culprits.first() else {
        let text = "all ranks stopped at the same place: this does not say which one is at fault";
        return if seats.len() > 1 {
            fault.detail(text)
        } else {
            fault
        };
    };
    let noticed = Fault {
        details: Vec::new(),
        hints: Vec::new(),
        ..fault.clone()
    };
    let (place, who) = name(&culprits);
    let by = if noticed.place.is_some() { " by" } else { ":" };
    let mut details = vec![format!("noticed{by} {noticed}")];
    details.extend(fault.details);
    Fault {
        message: who + &verdict(first, culprits.len()),
        context: Vec::new(),
        details,
        place,
        ..fault
    }
}

/// The place of one culprit, or the ranks of several.
fn name(culprits: &[&Seat]) -> (Option<Place>, String) {
    let first = culprits[0];
    if culprits.len() == 1 && first.ranks == 1 {
        let gpu = first.reading.as_ref().and_then(|said| said.gpus.first());
        let place = Place {
            rank: first.first,
            host: first.host.clone(),
            gpu: gpu.copied(),
        };
        return (Some(place), String::new());
    }
    let mut hosts: Vec<&str> = culprits.iter().map(|seat| seat.host.as_str()).collect();
    hosts.dedup();
    let hosts = match hosts.len() {
        1..=3 => hosts.join(", "),
        many => format!("{many} hosts"),
    };
    (None, format!("ranks {} ({hosts}) ", ranks_of(culprits)))
}

fn verdict(first: &Seat, count: usize) -> String {
    match &first.reading {
        None if count == 1 => format!(
            "did not go on and gives no answer: process {} is stopped or hung",
            first.pid
        ),
        None => "did not go on and give no answer: they are stopped or hung".to_owned(),
        Some(said) => {
            let counts = match said.issued {
                0 => String::new(),
                1 => format!(": 1 operation issued, {} finished", said.finished),
                many => format!(": {many} operations issued, {} finished", said.finished),
            };
            let doing = said.doing();
            format!("did not go on while {doing}{counts}; all others are further")
        }
    }
}

fn ranks_of(seats: &[&Seat]) -> String {
    let ranks = seats
        .iter()
        .flat_map(|seat| (seat.first..seat.first + seat.ranks).map(|rank| rank as usize));
    peer::rank_list(1, &ranks.collect::<Vec<_>>())
}

/// Adds the arrival table, those who are behind first; seats that say the same share a line.
pub(super) fn add_table(fault: Fault, seats: &[Seat]) -> Fault {
    let mut groups: Vec<Vec<&Seat>> = Vec::new();
    let blamed = culprits(seats);
    let (first, rest): (Vec<&Seat>, Vec<&Seat>) =
        seats.iter().partition(|seat| blamed.contains(seat));
    for seat in first.into_iter().chain(rest) {
        let same = |group: &&mut Vec<&Seat>| say_the_same(group[0], seat);
        match groups.iter_mut().find(same) {
            Some(group) => group.push(seat),
            None => groups.push(vec![seat]),
        }
    }
    let heading = ["ranks", "host", "gpus", "issued", "finished", "doing"].map(str::to_owned);
    let shown = groups.iter().take(MOST_LINES).map(|group| cells(group));
    let rows: Vec<[String; 6]> = std::iter::once(heading).chain(shown).collect();
    let fault = lay_out(&rows).into_iter().fold(fault, Fault::detail);
    match groups.len().saturating_sub(MOST_LINES) {
        0 => fault,
        more => fault.detail(format!("and {more} more lines")),
    }
}

/// Whether two seats share a line.
fn say_the_same(one: &Seat, other: &Seat) -> bool {
    let said = |seat: &Seat| {
        let reading = seat.reading.as_ref();
        reading.map(|said| (said.doing().to_owned(), said.progress()))
    };
    one.host == other.host && said(one) == said(other)
}

fn cells(group: &[&Seat]) -> [String; 6] {
    let none = || "–".to_owned();
    let (ranks, host) = (ranks_of(group), group[0].host.clone());
    let Some(said) = &group[0].reading else {
        let doing = "no answer: stopped or hung".to_owned();
        return [ranks, host, none(), none(), none(), doing];
    };
    let mut gpus: Vec<usize> = group
        .iter()
        .filter_map(|seat| seat.reading.as_ref())
        .flat_map(|said| said.gpus.iter().map(|&gpu| gpu as usize))
        .collect();
    gpus.sort_unstable();
    gpus.dedup();
    let gpus = match gpus.len() {
        0 => none(),
        _ => peer::rank_list(1, &gpus),
    };
    let waits = if said.waits {
        ", waiting for the others"
    } else {
        ""
    };
    let (issued, finished) = (said.issued.to_string(), said.finished.to_string());
    let doing = format!("{}{waits}", said.doing());
    [ranks, host, gpus, issued, finished, doing]
}

/// Columns of one width; numbers to the right.
fn lay_out(rows: &[[String; 6]]) -> Vec<String> {
    let width = |column: usize| {
        let widths = rows.iter().map(|row| row[column].chars().count());
        widths.max().unwrap_or(0)
    };
    let widths: [usize; 5] = std::array::from_fn(width);
    let line = |[ranks, host, gpus, issued, finished, doing]: &[String; 6]| {
        format!(
            "{ranks:<0$}  {host:<1$}  {gpus:<2$}  {issued:>3$}  {finished:>4$}  {doing}",
            widths[0], widths[1], widths[2], widths[3], widths[4]
        )
    };
    rows.iter().map(line).collect()
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::base::Kind;
    use crate::bootstrap::testing;

    fn reading(issued: u64, finished: u64, gpu: u32) -> Vec<Reading> {
        vec![Reading {
            phase: "measuring 1 MiB".to_owned(),
            phases: 4,
            issued,
            finished,
            works: true,
            gpus: vec![gpu],
            ..Reading::default()
        }]
    }

    fn told(answers: &[Option<Vec<Reading>>], gone: &[bool]) -> String {
        let members = u32::try_from(answers.len()).unwrap();
        let peers: Vec<PeerInfo> = (0..members).map(testing::peer).collect();
        let seats = seats(&peers, answers, gone);
        let fault =
            Fault::new(Kind::Timeout, "nothing moved for 4 s").at(peer::place(&peers[1], 1));
        add_table(accuse(fault, &seats), &seats).to_string()
    }

    #[test]
    fn the_rank_that_is_furthest_behind_is_named_in_one_sentence_before_the_table() {
        let answers = [(49, 29), (49, 29), (30, 29), (47, 29), (49, 29)];
        let answers: Vec<_> = (0..5)
            .zip(answers)
            .map(|(gpu, (issued, finished))| Some(reading(issued, finished, gpu)))
            .collect();
        assert_eq!(
            told(&answers, &[false; 5]),
            "rank 2 (node1, gpu 2): did not go on while measuring 1 MiB: 30 operations issued, \
             29 finished; all others are further\n  \
             noticed by rank 1 (node1): nothing moved for 4 s\n  \
             ranks    host   gpus     issued  finished  doing\n  \
             2        node1  2            30        29  measuring 1 MiB\n  \
             0, 1, 4  node1  0, 1, 4      49        29  measuring 1 MiB\n  \
             3        node1  3            47        29  measuring 1 MiB"
        );
    }

    #[test]
    fn a_process_that_gives_no_answer_is_blamed_before_one_that_is_behind() {
        let answers = [Some(reading(9, 9, 0)), None, Some(reading(8, 8, 2))];
        let text = told(&answers, &[false; 3]);
        assert!(
            text.starts_with(
                "rank 1 (node1): did not go on and gives no answer: process 1001 is stopped or hung"
            ),
            "{text}"
        );
        assert!(text.contains("no answer: stopped or hung"), "{text}");
    }

    #[test]
    fn nobody_is_blamed_where_all_are_equally_far_and_the_dead_are_not_listed() {
        let answers = [Some(reading(9, 8, 0)), None, Some(reading(9, 8, 2))];
        let text = told(&answers, &[false, true, false]);
        assert!(text.starts_with("rank 1 (node1): nothing moved"), "{text}");
        assert!(
            text.contains("all ranks stopped at the same place"),
            "{text}"
        );
        assert!(text.contains("\n  0, 2   node1"), "{text}");
    }

    #[test]
    fn several_that_are_behind_are_named_together() {
        let answers = [(9, 8, 0), (7, 7, 1), (7, 7, 2)];
        let answers = answers.map(|(issued, finished, gpu)| Some(reading(issued, finished, gpu)));
        let text = told(&answers, &[false; 3]);
        assert!(
            text.starts_with("ranks 1, 2 (node1) did not go on"),
            "{text}"
        );
    }
}
