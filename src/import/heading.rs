//! The comments of nccl-tests' table: what opens a run and what closes it.

use super::row::DataRow;
use crate::base::sweep::Step;
use crate::record::Blocking;
use std::collections::BTreeMap;
use std::str::FromStr;

/// What a text tells of one run, before it is put in order.
#[derive(Debug, Clone, Default, PartialEq)]
pub(super) struct Draft {
    pub first_line: usize,
    pub program: Option<String>,
    pub version: Option<String>,
    /// NCCL's version as a number.
    pub library: Option<i32>,
    pub told: Option<Told>,
    pub seats: Vec<Seat>,
    pub clamp: Option<u64>,
    pub blocking: Blocking,
    /// `-I`, and how many leading iterations its figures leave out.
    pub per_iteration: Option<u32>,
    pub parallel_init: bool,
    pub issue_time: bool,
    pub in_table: bool,
    pub args: Vec<String>,
    pub environment: BTreeMap<String, String>,
    pub started: Option<String>,
    pub ended: Option<String>,
    pub rows: Vec<DataRow>,
    pub wrong_measurements: Option<u64>,
    pub average_busbw: Option<f64>,
    /// Whether the mean bandwidth that was asked for was reached.
    pub bandwidth_met: Option<bool>,
    pub failures: Vec<String>,
}

/// What the run was told to do.
#[derive(Debug, Clone, PartialEq)]
pub(super) struct Told {
    pub threads: u32,
    pub gpus: u32,
    pub min_bytes: u64,
    pub max_bytes: u64,
    pub step: Step,
    pub warmup: u32,
    pub iterations: u32,
    pub ops_per_batch: u32,
    pub checks: u32,
    pub graph: u32,
    pub unalign: u32,
}

/// One rank's line.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) struct Seat {
    pub rank: u32,
    pub group: u32,
    pub pid: u32,
    pub host: String,
    pub device: u32,
    pub bus_id: String,
    pub name: String,
}

impl Draft {
    /// Whether a comment opens another run than this.
    pub(super) fn is_over(&self, comment: &str) -> bool {
        let closed_or =
            |what: bool| what || !self.rows.is_empty() || self.wrong_measurements.is_some();
        if comment.starts_with("nccl-tests version ") {
            closed_or(self.version.is_some() || self.told.is_some())
        } else if comment.starts_with("Collective test starting:") {
            closed_or(self.program.is_some())
        } else {
            comment.starts_with("nThread ") && closed_or(self.told.is_some())
        }
    }

    /// Whether anything of a run has been seen.
    pub(super) fn is_begun(&self) -> bool {
        self.program.is_some() || self.told.is_some() || !self.rows.is_empty()
    }

    /// Takes a comment in, without the sign before it.
    ///
    /// # Errors
    /// What is wrong with one that is known and cannot be read.
    pub(super) fn comment(&mut self, text: &str) -> Result<(), String> {
        let text = text.trim();
        if let Some(rest) = text.strip_prefix("nccl-tests version ") {
            let mut words = rest.split(' ');
            self.version = words.next().map(str::to_owned);
            self.library = words.find_map(|word| number(word.strip_prefix("nccl-library=")?));
        } else if let Some(name) = text.strip_prefix("Collective test starting:") {
            self.program = Some(name.trim().to_owned());
        } else if let Some(name) = text.strip_prefix("Collective test concluded:") {
            self.program.get_or_insert_with(|| name.trim().to_owned());
        } else if text.starts_with("nThread ") {
            self.told = Some(told(text).ok_or("the line of the run's settings cannot be read")?);
        } else if text.starts_with("Rank ") {
            let seat = seat(text).ok_or("the line of a rank cannot be read")?;
            self.seats.push(seat);
        } else {
            return self.remark(text);
        }
        Ok(())
    }

    fn remark(&mut self, text: &str) -> Result<(), String> {
        if let Some(rest) = text.strip_prefix("Reducing maxBytes to ") {
            self.clamp = rest.split(' ').next().and_then(number);
        } else if let Some(rest) = text.strip_prefix("Blocking Enabled:") {
            self.blocking = blocking(rest);
        } else if text.starts_with("Per-Iteration Report") {
            let skipped = text.split("skips first ").nth(1);
            let skipped = skipped.and_then(|rest| number(rest.split(' ').next()?));
            self.per_iteration = Some(skipped.unwrap_or(0));
        } else if text.starts_with("Parallel Init Enabled") {
            self.parallel_init = true;
        } else if text.starts_with("size ") && text.contains("busbw") {
            self.issue_time = text.contains("cputime");
            self.in_table = true;
        } else if let Some(rest) = text.strip_prefix("Out of bounds values") {
            self.in_table = false;
            let count = after_colon(rest).and_then(number);
            self.wrong_measurements =
                Some(count.ok_or("the number of wrong values cannot be read")?);
        } else if let Some(rest) = text.strip_prefix("Avg bus bandwidth") {
            let figure: Option<f64> = after_colon(rest).and_then(number);
            self.average_busbw = figure.filter(|value| value.is_finite());
            self.bandwidth_met = rest.split(' ').next_back().and_then(met);
        } else if let Some(error) = text.strip_prefix("error:") {
            self.failures.push(error.trim().to_owned());
        }
        Ok(())
    }
}

fn met(word: &str) -> Option<bool> {
    match word {
        "OK" => Some(true),
        "FAILED" => Some(false),
        _ => None,
    }
}

fn after_colon(text: &str) -> Option<&str> {
    text.split_once(':')?.1.split_ascii_whitespace().next()
}

fn number<T: FromStr>(word: &str) -> Option<T> {
    word.trim().parse().ok()
}

/// # Source
/// nccl-tests 2.19.6, `src/util.cu`, `writeResultHeader`: the texts of `-z`.
fn blocking(text: &str) -> Blocking {
    if text.contains("outer iteration") {
        Blocking::BarrierOutside
    } else if text.contains("no barrier") {
        Blocking::Wait
    } else {
        Blocking::WaitAndBarrier
    }
}

/// `nThread 1 nGpus 8 minBytes 8 maxBytes 64 step: 2(factor) warmup iters: 1 iters: 20 agg iters: 1
/// validation: 1 graph: 0 unalign: 0`; what older versions do not print is at its default.
fn told(text: &str) -> Option<Told> {
    let after = |key: &str| {
        let rest = &text[text.find(key)? + key.len()..];
        rest.split_ascii_whitespace().next()
    };
    let optional = |key: &str, default| after(key).map_or(Some(default), number);
    let (step, unit) = after("step: ")?.split_once('(')?;
    let step = number(step)?;
    let (_, iters) = text
        .split_once("warmup iters: ")?
        .1
        .split_once(" iters: ")?;
    Some(Told {
        threads: number(after("nThread ")?)?,
        gpus: number(after("nGpus ")?)?,
        min_bytes: number(after("minBytes ")?)?,
        max_bytes: number(after("maxBytes ")?)?,
        step: if unit.starts_with("factor") {
            Step::Factor(step)
        } else {
            Step::Bytes(step)
        },
        warmup: number(after("warmup iters: ")?)?,
        iterations: number(iters.split(' ').next()?)?,
        ops_per_batch: optional("agg iters: ", 1)?,
        checks: optional("validation: ", 1)?,
        graph: optional("graph: ", 0)?,
        unalign: optional("unalign: ", 0)?,
    })
}

/// `Rank  0 Group  0 Pid  18231 on ip-10-0-1-23 device  0 [0000:53:00] NVIDIA H100 80GB HBM3`; the
/// group came with 2.12, the long bus id with 2.14.1.
fn seat(text: &str) -> Option<Seat> {
    let (place, device) = text.split_once(" device ")?;
    let words: Vec<&str> = place.split_ascii_whitespace().collect();
    let after = |key: &str| {
        let at = words.iter().position(|word| *word == key)?;
        words.get(at + 1).copied()
    };
    let (ordinal, rest) = device.split_once('[')?;
    let (bus_id, name) = rest.split_once(']')?;
    Some(Seat {
        rank: number(after("Rank")?)?,
        group: after("Group").map_or(Some(0), number)?,
        pid: number(after("Pid")?)?,
        host: after("on")?.to_owned(),
        device: number(ordinal)?,
        bus_id: bus_id.trim().to_owned(),
        name: name.trim().to_owned(),
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    fn draft(comments: &[&str]) -> Draft {
        let mut draft = Draft::default();
        for comment in comments {
            draft.comment(comment).unwrap();
        }
        draft
    }

    #[test]
    fn settings_of_every_age_read() {
        let new = "nThread 2 nGpus 4 minBytes 8 maxBytes 64 step: 1048576(bytes) warmup iters: 5 iters: 20 agg iters: 3 validation: 0 graph: 7 unalign: 2";
        let told = draft(&[new]).told.unwrap();
        assert_eq!(
            (told.threads, told.gpus, told.min_bytes, told.max_bytes),
            (2, 4, 8, 64)
        );
        assert_eq!(told.step, Step::Bytes(1 << 20));
        assert_eq!(
            (told.warmup, told.iterations, told.ops_per_batch),
            (5, 20, 3)
        );
        assert_eq!((told.checks, told.graph, told.unalign), (0, 7, 2));
        let old = "nThread 1 nGpus 8 minBytes 8 maxBytes 64 step: 2(factor) warmup iters: 5 iters: 100 validation: 1 ";
        let told = draft(&[old]).told.unwrap();
        assert_eq!(
            (told.iterations, told.ops_per_batch, told.graph),
            (100, 1, 0)
        );
        assert!(Draft::default().comment("nThread 1 nGpus").is_err());
    }

    #[test]
    fn ranks_of_every_age_read() {
        let draft = draft(&[
            "  Rank  3 Group  1 Pid   1206 on         vm device  2 [0000:00:06] NVIDIA H200",
            "Rank 11 Pid 9 on node-7 device 0 [0x53] Tesla V100",
        ]);
        let [new, old] = draft.seats.as_slice() else {
            panic!("{draft:?}");
        };
        assert_eq!((new.rank, new.group, new.pid, new.device), (3, 1, 1206, 2));
        assert_eq!(
            (new.bus_id.as_str(), new.name.as_str()),
            ("0000:00:06", "NVIDIA H200")
        );
        assert_eq!((old.rank, old.group, old.host.as_str()), (11, 0, "node-7"));
        assert!(Draft::default().comment("Rank x").is_err());
    }

    #[test]
    fn the_footer_says_what_was_wrong_and_whether_it_was_fast_enough() {
        let draft = draft(&[
            "Out of bounds values : 3 FAILED",
            "Avg bus bandwidth    : 1.5e-05 OK",
        ]);
        assert_eq!(draft.wrong_measurements, Some(3));
        assert_eq!(draft.average_busbw, Some(1.5e-5));
        assert_eq!(draft.bandwidth_met, Some(true));
        assert_eq!(
            self::draft(&["Avg bus bandwidth    : -nan "]).average_busbw,
            None
        );
    }

    #[test]
    fn another_run_opens_with_its_first_line_whatever_its_version() {
        let run = draft(&["nccl-tests version 2.19.6 nccl-headers=1 nccl-library=2"]);
        assert!(!run.is_over("Collective test starting: all_reduce_perf"));
        assert!(!run.is_over("nThread 1"));
        let run = draft(&["Out of bounds values : 0 OK"]);
        for line in [
            "nccl-tests version 2",
            "Collective test starting: x",
            "nThread 1",
        ] {
            assert!(run.is_over(line), "{line}");
        }
        assert!(!run.is_over("Collective test concluded: x"));
    }
}
