//! One line of NCCL's log: what was said, without who said it.
//!
//! A log may have gone through `srun -l`, mpirun's tags or a time stamp; what stands before NCCL's
//! own words is ignored.

/// What sort of line it is.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Level {
    /// `NCCL INFO`.
    Info,
    /// `NCCL WARN`.
    Warn,
    /// `NCCL TRACE` and `NCCL CALL`.
    Trace,
    /// A version that stands by itself, which is how NCCL says it below `INFO`.
    Version,
}

/// NCCL's words in a line, and their level; none where the line is not NCCL's.
///
/// # Source
/// NCCL 2.30.7, `src/debug.cc`, `ncclDebugLogV`: `HOST:PID:TID [DEVICE] NCCL INFO …`, and
/// `HOST:PID:TID [DEVICE] FILE:LINE NCCL WARN …` behind an empty line.
pub fn message(line: &str) -> Option<(Level, &str)> {
    let marks = [
        (" NCCL INFO ", Level::Info),
        (" NCCL WARN ", Level::Warn),
        (" NCCL TRACE ", Level::Trace),
        (" NCCL CALL ", Level::Trace),
    ];
    let line = line.trim_end();
    for (mark, level) in marks {
        if let Some((_, said)) = line.split_once(mark) {
            return Some((level, said));
        }
    }
    let bare = line.trim_start();
    bare.starts_with("NCCL version ")
        .then_some((Level::Version, bare))
}

/// The host that wrote a line, as NCCL names it.
pub fn host(line: &str) -> Option<&str> {
    let before = line.split(" NCCL ").next().filter(|part| *part != line)?;
    let who = before
        .split_whitespace()
        .find(|word| word.matches(':').count() == 2 && is_writer(word))?;
    who.split(':').next()
}

/// `HOST:PID:TID`.
fn is_writer(word: &str) -> bool {
    let mut parts = word.split(':');
    let host = parts.next().is_some_and(|host| !host.is_empty());
    let number = |part: &str| !part.is_empty() && part.bytes().all(|byte| byte.is_ascii_digit());
    host && parts.all(number)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn ncclss_words_are_found_behind_tags_and_time_stamps() {
        let said = "Using network AWS Libfabric";
        for before in [
            "node-a:2041:2041 [0]",
            "3: node-a:2041:2041 [0]",
            "[1,3]<stdout>:node-a:2041:2041 [0]",
            "[2026-11-30 01:02:03] node-a:1:2 [7]",
        ] {
            let line = format!("{before} NCCL INFO {said}\r\n");
            assert_eq!(message(&line), Some((Level::Info, said)), "{before}");
        }
    }

    #[test]
    fn a_warning_is_told_from_its_place_in_the_source_and_a_row_is_not_nccls() {
        let line = "[2026-11-30 01:02:03] a:1:2 [0] src/x.cc:7 NCCL WARN Call to connect failed";
        assert_eq!(message(line), Some((Level::Warn, "Call to connect failed")));
        assert_eq!(message("         256            16     float"), None);
        assert_eq!(
            message("NCCL version 2.28.3+cuda13.0"),
            Some((Level::Version, "NCCL version 2.28.3+cuda13.0"))
        );
    }

    #[test]
    fn the_host_is_the_one_that_nccl_names() {
        assert_eq!(host("3: node-a:20:21 [0] NCCL INFO x"), Some("node-a"));
        assert_eq!(host("[1,3]<stdout>: b:2:3 [0] NCCL INFO x"), Some("b"));
        assert_eq!(host("# nothing of NCCL"), None);
    }
}
