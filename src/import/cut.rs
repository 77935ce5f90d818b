//! Rows that NCCL's own lines cut in two.
//!
//! nccl-tests writes a row in pieces without ending the line: what the library logs meanwhile stands
//! behind the first piece on the same line, and the next piece opens a line of its own.

use super::row::is_number;

/// What a line is made of, as far as NCCL's log is concerned.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Parted<'a> {
    /// No line of NCCL.
    Whole(&'a str),
    /// NCCL's line behind something that was there before it; the latter is empty where NCCL's
    /// line opens the line.
    Before(&'a str),
}

/// Where columns end, from the front: the five of the case, then each half of a row; or the first
/// half, where the case stands on a line before. `N/A` makes a half one character shorter, and so
/// does every version before 2.17.3.
///
/// # Source
/// nccl-tests 2.19.6, `src/util.cu`, `writeBenchmarkLinePreamble` and `writeBenchMarkLineBody`.
const ENDS: [usize; 8] = [52, 85, 84, 118, 117, 116, 33, 32];

/// Parts a line from NCCL's.
///
/// # Source
/// NCCL 2.28, `src/debug.cc`, `ncclDebugLog`: `HOST:PID:TID [DEVICE] NCCL LEVEL …`, a time in
/// brackets before it where that was asked for; `NCCL version …` alone at the level `VERSION`.
pub(super) fn part(line: &str) -> Parted<'_> {
    let marks = [" NCCL INFO ", " NCCL WARN ", " NCCL TRACE ", " NCCL CALL "];
    let mark = marks.iter().filter_map(|mark| line.find(mark)).min();
    if let Some(start) = mark.and_then(|mark| log_start(line, mark)) {
        return Parted::Before(&line[..start]);
    }
    line.find("NCCL version ")
        .map_or(Parted::Whole(line), |at| {
            if line.starts_with('#') {
                Parted::Whole(line)
            } else {
                Parted::Before(&line[..at])
            }
        })
}

/// Where the line that holds NCCL's mark at `mark` begins; none where what is before the mark is
/// not what NCCL puts there.
fn log_start(line: &str, mark: usize) -> Option<usize> {
    let device = line[..mark].strip_suffix(']')?;
    let (before, device) = device.rsplit_once(" [")?;
    if !is_number(device) {
        return None;
    }
    let (before, thread) = before.rsplit_once(':')?;
    let (before, process) = before.rsplit_once(':')?;
    if !is_number(thread) || !is_number(process) {
        return None;
    }
    let host = before
        .rfind(|c: char| !(c.is_ascii_alphanumeric() || matches!(c, '.' | '-' | '_')))
        .map_or(0, |at| at + 1);
    let host = before_time(before, host);
    Some(end_of_columns(before, host))
}

/// Where a time in brackets begins that stands before `start`; `start` where none does.
fn before_time(text: &str, start: usize) -> usize {
    let Some(before) = text[..start].strip_suffix("] ") else {
        return start;
    };
    before.rfind('[').unwrap_or(start)
}

/// A host's name may run into the cell before it: `-1ip-10-0-0-1`. Rows have columns, so the cut is
/// where one ends.
fn end_of_columns(text: &str, host: usize) -> usize {
    if !text.trim_start().starts_with(|c: char| c.is_ascii_digit()) {
        return host;
    }
    let is_end = |end: &&usize| **end >= host && text.is_char_boundary(**end);
    ENDS.iter()
        .filter(is_end)
        .copied()
        .find(|&end| super::row::is_piece(&text[..end]) || super::row::is_half(&text[..end]))
        .unwrap_or(host)
}

#[cfg(test)]
mod tests {
    use super::*;

    const CASE: &str = "     1048576        262144     float     sum      -1";
    const HALF: &str = "    52.31   20.05   35.08       0";

    #[test]
    fn a_row_is_cut_where_its_columns_end_even_if_a_host_begins_with_a_digit() {
        for host in ["vm", "ip-10-0-1-23", "1node", "10.0.0.7", "n1.c"] {
            let log = format!("{host}:2305:2342 [0] NCCL INFO Channel 00/1");
            for row in [CASE.to_owned(), format!("{CASE}{HALF}")] {
                let line = format!("{row}{log}");
                assert_eq!(part(&line), Parted::Before(&row), "{line}");
            }
            assert_eq!(part(&log), Parted::Before(""));
        }
    }

    #[test]
    fn a_time_before_ncc_ls_line_belongs_to_it() {
        let line = format!("{CASE}[2026-11-30 01:02:03] vm:1:2 [3] NCCL WARN x");
        assert_eq!(part(&line), Parted::Before(CASE));
    }

    #[test]
    fn the_version_may_stand_alone_or_behind_a_piece() {
        assert_eq!(part("NCCL version 2.28.3+cuda13.0"), Parted::Before(""));
        let line = format!("{CASE}NCCL version 2.28.3+cuda13.0");
        assert_eq!(part(&line), Parted::Before(CASE));
    }

    #[test]
    fn lines_that_only_speak_of_nccl_are_whole() {
        for line in [
            "vm: Test NCCL failure common.cu:222 'x'",
            "# NCCL version 2.3 is what I use",
            "a NCCL INFO b",
            "x] NCCL INFO b",
            CASE,
        ] {
            assert_eq!(part(line), Parted::Whole(line));
        }
    }
}
