//! A log's lines without what launchers put before them, apart by who wrote them.

use super::row::is_number;

/// A line and where it came from.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) struct LogLine<'a> {
    /// Its number in the file, from 1.
    pub number: usize,
    /// The tag that a launcher gave its writer; empty where it gave none.
    pub writer: &'a str,
    /// The line as it was written.
    pub text: &'a str,
}

/// The lines of a log.
pub(super) fn of(text: &str) -> impl Iterator<Item = LogLine<'_>> {
    text.split('\n').enumerate().map(|(index, line)| {
        let line = line.strip_suffix('\r').unwrap_or(line);
        let (writer, text) = untag(line);
        LogLine {
            number: index + 1,
            writer,
            text,
        }
    })
}

/// Takes a launcher's tag off a line: `[1,0]<stdout>:` of Open MPI 4, `[host@1,0]<stdout>: ` of
/// Open MPI 5, `0: ` of `srun -l`. What follows keeps its blanks.
fn untag(line: &str) -> (&str, &str) {
    mpirun_tag(line)
        .or_else(|| srun_label(line))
        .unwrap_or(("", line))
}

/// # Source
/// Open MPI 4.1 and PRRTE 3, `--tag-output`: job and rank, then the stream.
fn mpirun_tag(line: &str) -> Option<(&str, &str)> {
    let (tag, rest) = line.strip_prefix('[')?.split_once(']')?;
    let (job, rank) = tag.rsplit_once(',')?;
    if job.is_empty() || !is_number(rank) {
        return None;
    }
    let rest = rest
        .strip_prefix("<stdout>")
        .or_else(|| rest.strip_prefix("<stderr>"))?;
    let rest = rest.strip_prefix(':').unwrap_or(rest);
    Some((tag, without_separator(rest)))
}

/// `srun -l` right-aligns the number of the task and puts a colon and a blank behind it.
fn srun_label(line: &str) -> Option<(&str, &str)> {
    let (label, rest) = line.split_once(':')?;
    let label = label.trim_start();
    (is_number(label) && (rest.is_empty() || rest.starts_with(' ')))
        .then(|| (label, rest.strip_prefix(' ').unwrap_or(rest)))
}

/// The blank that some versions put behind a tag, unless it is a row's own: rows open with several.
fn without_separator(rest: &str) -> &str {
    match rest.strip_prefix(' ') {
        Some(after) if after.starts_with('#') => after,
        _ => rest,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn tags_of_launchers_are_taken_off_and_nothing_else_is() {
        for (line, writer, text) in [
            ("[1,0]<stdout>:           8", "1,0", "           8"),
            ("[1,12]<stdout>:# x", "1,12", "# x"),
            (
                "[prterun-n1-77@1,3]<stdout>: # x",
                "prterun-n1-77@1,3",
                "# x",
            ),
            ("[1,0]<stderr>:x", "1,0", "x"),
            ("0: # x", "0", "# x"),
            (" 7:            8", "7", "           8"),
            ("0:", "0", ""),
            (
                "           8             2",
                "",
                "           8             2",
            ),
            (
                "host:12:13 [0] NCCL INFO x",
                "",
                "host:12:13 [0] NCCL INFO x",
            ),
            ("12:30:01 up", "", "12:30:01 up"),
            ("[0] NCCL INFO", "", "[0] NCCL INFO"),
            ("", "", ""),
        ] {
            assert_eq!(untag(line), (writer, text), "{line}");
        }
    }

    #[test]
    fn lines_are_counted_from_one_and_carriage_returns_go() {
        let found: Vec<_> = of("a\r\nb").map(|line| (line.number, line.text)).collect();
        assert_eq!(found, [(1, "a"), (2, "b")]);
    }
}
