//! Reads nccl-tests' table back from a program's stdout.

/// A rank's line in the list of devices.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct Seat {
    pub(crate) rank: u32,
    pub(crate) pid: i32,
    pub(crate) host: String,
}

/// A line of figures.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct Line {
    pub(crate) size: u64,
    pub(crate) wrong: [String; 2],
}

/// The one table of a run.
#[derive(Debug, Default)]
pub(crate) struct Table {
    pub(crate) seats: Vec<Seat>,
    pub(crate) lines: Vec<Line>,
}

impl Table {
    /// Reads a whole stdout, and fails the test if it holds no table, or several, or anything else.
    pub(crate) fn read(stdout: &str) -> Self {
        let headings = stdout.lines().filter(|line| is_heading(line)).count();
        assert_eq!(headings, 1, "one table is wanted:\n{stdout}");
        let mut table = Self::default();
        for text in stdout.lines() {
            table.seats.extend(seat(text));
            table.lines.extend(line(text));
            assert!(
                text.trim().is_empty() || text.starts_with('#') || line(text).is_some(),
                "stdout holds data only, and this is none: {text}"
            );
        }
        table
    }

    pub(crate) fn hosts(&self) -> Vec<&str> {
        let mut hosts: Vec<&str> = self.seats.iter().map(|seat| seat.host.as_str()).collect();
        hosts.sort_unstable();
        hosts.dedup();
        hosts
    }

    pub(crate) fn sizes(&self) -> Vec<u64> {
        self.lines.iter().map(|line| line.size).collect()
    }

    /// Fails the test unless every measurement was checked and right.
    pub(crate) fn expect_right(&self) {
        assert!(!self.lines.is_empty(), "the table has no line");
        for line in &self.lines {
            assert_eq!(line.wrong, ["0", "0"], "{line:?}");
        }
    }
}

fn is_heading(text: &str) -> bool {
    let words: Vec<&str> = text.split_whitespace().collect();
    words.starts_with(&["#", "size", "count", "type"])
}

/// `#  Rank  0 Group  0 Pid   1203 on         vm device  0 [0000:00:06] NVIDIA H200`
pub(crate) fn seat(text: &str) -> Option<Seat> {
    let words: Vec<&str> = text.split_whitespace().collect();
    let [
        "#",
        "Rank",
        rank,
        "Group",
        _,
        "Pid",
        pid,
        "on",
        host,
        "device",
        ..,
    ] = words[..]
    else {
        return None;
    };
    Some(Seat {
        rank: rank.parse().ok()?,
        pid: pid.parse().ok()?,
        host: host.to_owned(),
    })
}

/// `  8  2  float  sum  -1  17036.6  0.00  0.00  0  15531.1  0.00  0.00  0`
pub(crate) fn line(text: &str) -> Option<Line> {
    let words: Vec<&str> = text.split_whitespace().collect();
    if words.len() < 13 || text.starts_with('#') {
        return None;
    }
    Some(Line {
        size: words[0].parse().ok()?,
        wrong: [words[8].to_owned(), words[12].to_owned()],
    })
}

#[test]
fn a_table_reads_back_and_a_second_one_is_refused() {
    let stdout = "# Using devices\n\
        #  Rank  0 Group  0 Pid   1203 on      node1 device  0 [0000:00:06] NVIDIA H200\n\
        #  Rank  1 Group  0 Pid   1204 on      node2 device  0 [0000:00:06] NVIDIA H200\n#\n\
        #       size         count      type   redop    root     time   algbw   busbw  #wrong\n\
        \x20  8  2  float  sum  -1  17036.6  0.00  0.00  0  15531.1  0.00  0.00  0\n\
        # Out of bounds values : 0 OK\n";
    let table = Table::read(stdout);
    table.expect_right();
    assert_eq!(
        (table.hosts(), table.sizes()),
        (vec!["node1", "node2"], vec![8])
    );
    assert_eq!(table.seats[1].pid, 1204);
    let twice = stdout.repeat(2);
    assert!(std::panic::catch_unwind(|| Table::read(&twice)).is_err());
}
