//! `sweep --dry-run`: the plan, and what it will take; nothing is launched or looked up but the store.

use super::earlier;
use crate::base::Bytes;
use crate::base::Fault;
use crate::base::World;
use crate::cli::Args;
use crate::cli::SweepArgs;
use crate::plan;
use crate::plan::Job;
use crate::plan::PlanSpec;
use crate::plan::Work;
use crate::plan::effort;
use crate::record::Case;
use std::fmt::Write as _;
use std::time::Duration;

/// What an operation is assumed to take before its bytes, in µs.
const LATENCY_US: f64 = 20.0;
/// The bus bandwidth that is assumed, in GB/s.
const BUSBW_GBPS: f64 = 100.0;
/// What data is assumed to be made, copied and checked at, in GB/s.
const MEMORY_GBPS: f64 = 500.0;

/// Shortest and longest time.
#[derive(Debug, Clone, Copy, Default)]
struct Range {
    least: Duration,
    most: Duration,
}

impl Range {
    fn add(&mut self, other: Self) {
        self.least += other.least;
        self.most += other.most;
    }
}

/// The plan as text, with its estimate on top.
///
/// # Errors
/// `Usage` if the plan is refused, `Output` where the store cannot be read.
pub(in crate::app) fn text(args: &Args) -> Result<String, Fault> {
    let processes = args.launch.spawn.or(args.launch.world).unwrap_or(1);
    let world = World(processes * args.threads * args.gpus);
    let (parts, steps) = (args.parts(), args.steps());
    plan::check_all(&parts, world)?;
    let digest = plan::digest_of(&parts, world);
    let mut text = String::new();
    let mut whole = Range::default();
    let mut rows = 0;
    let mut listed = None;
    for pass in plan::passes(&parts, &steps) {
        let jobs = plan::jobs(&parts[pass.part], world, pass.cycle)?;
        rows += jobs.iter().filter(|job| plan::is_row(job)).count();
        for job in &jobs {
            whole.add(estimate(job));
        }
        if listed.is_none_or(|part| part < pass.part) {
            listed = Some(pass.part);
            let name = args
                .sweep
                .as_ref()
                .map(|sweep| &sweep.config.steps[pass.step].name);
            text.push_str(&title(&parts[pass.part], name));
            text.push_str(&plan::listing(&jobs));
        }
    }
    let mut head = format!("# plan {digest} for {world} ranks, {rows} rows\n");
    head.push_str(&memory(&parts));
    head.push_str(&time(whole));
    if let Some(sweep) = &args.sweep {
        head.push_str(&before(sweep, &digest)?);
    }
    Ok(head + &text)
}

fn title(part: &PlanSpec, step: Option<&String>) -> String {
    let mut title = format!("#\n# {}", part.collective.name());
    if let Some(step) = step {
        let _ = write!(title, " (step `{step}`)");
    }
    match part.effort.precision {
        None => {
            let _ = write!(title, ", {} iterations", part.iterations);
        }
        Some(precision) => {
            let percent = precision.half_width * 100.0;
            let budget = precision.budget.as_secs_f64();
            let _ = write!(
                title,
                ", until ±{percent} % are reached or {budget} s are spent"
            );
        }
    }
    let times = if part.cycles == 1 { "once" } else { "times" };
    let cycles = if part.cycles == 1 {
        String::new()
    } else {
        format!("{} ", part.cycles)
    };
    let _ = writeln!(title, ", {cycles}{times}");
    title
}

fn memory(parts: &[PlanSpec]) -> String {
    let most = plan::max_bytes_of(parts);
    format!(
        "# memory: two buffers of {most} on each rank ({} together), besides what the library takes; where less\n\
         # is free, larger sizes are left out with a warning\n",
        Bytes(most.0.saturating_mul(2))
    )
}

fn time(whole: Range) -> String {
    format!(
        "# time: {} to {}, besides initialisation. Assumed, not measured: {LATENCY_US} us and {BUSBW_GBPS} GB/s busbw for an\n\
         # operation, {MEMORY_GBPS} GB/s for making and checking data; the longer time is with every size using its budget\n",
        clock(whole.least),
        clock(whole.most)
    )
}

/// What the same sweep took before, where the store has one.
fn before(sweep: &SweepArgs, digest: &str) -> Result<String, Fault> {
    Ok(match earlier::took(sweep, digest)? {
        None => "# no complete run of this plan is in the store to go by\n".to_owned(),
        Some((path, took)) => format!("# its last complete run took {} (`{path}`)\n", clock(took)),
    })
}

/// `42 s`, `3 min 20 s`, `1 h 5 min`.
fn clock(time: Duration) -> String {
    let seconds = time.as_secs();
    match seconds {
        0 => format!("{} ms", time.as_millis()),
        1..60 => format!("{seconds} s"),
        60..3600 => format!("{} min {} s", seconds / 60, seconds % 60),
        _ => format!("{} h {} min", seconds / 3600, seconds % 3600 / 60),
    }
}

fn estimate(job: &Job) -> Range {
    let case = &job.case;
    let operation = operation(case);
    let batch = operation * case.ops_per_batch;
    if job.work == Work::WarmUp {
        let time = batch * case.iterations;
        return Range {
            least: time,
            most: time,
        };
    }
    let mut range = timed(job, batch);
    let copies = f64::from(2 * case.checks + 1) * gigabytes(case.size) / MEMORY_GBPS;
    let mut rest = Duration::from_secs_f64(copies) + operation * (case.checks + 1);
    if job.effort.distribution {
        rest += operation * effort::distribution_operations(case.size, operation);
    }
    range.add(Range {
        least: rest,
        most: rest,
    });
    range
}

fn timed(job: &Job, batch: Duration) -> Range {
    let Some(precision) = job.effort.precision else {
        let time = batch * job.case.iterations;
        return Range {
            least: time,
            most: time,
        };
    };
    let fewest = u32::try_from(effort::FIRST_LOOK + 1).unwrap_or(u32::MAX);
    let least = batch * effort::batch_iterations(batch) * fewest;
    Range {
        least,
        most: precision.budget.max(least),
    }
}

fn operation(case: &Case) -> Duration {
    let bytes = gigabytes(case.algo_bytes);
    let bus = if case.bus_factor > 0.0 {
        bytes * case.bus_factor / BUSBW_GBPS
    } else {
        bytes / MEMORY_GBPS
    };
    Duration::from_secs_f64(LATENCY_US / 1e6 + bus)
}

#[expect(clippy::cast_precision_loss, reason = "an estimate")]
fn gigabytes(bytes: Bytes) -> f64 {
    bytes.0 as f64 / 1e9
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn times_are_told_in_units_that_people_use() {
        for (seconds, text) in [
            (0.25, "250 ms"),
            (59.0, "59 s"),
            (200.0, "3 min 20 s"),
            (3900.0, "1 h 5 min"),
        ] {
            assert_eq!(clock(Duration::from_secs_f64(seconds)), text);
        }
    }
}
