//! How much is done for each size: `--iters auto` and what it is to reach, and the distribution pass.

use super::options::LoopOptions;
use super::values::{MANY, seconds, share, whole};
use crate::base::Fault;
use crate::plan::{Effort, Precision};
use crate::record::Tweaks;
use clap::Args;
use std::time::Duration;

/// Beside the number of iterations.
#[derive(Debug, Args)]
#[command(next_help_heading = "Measurement")]
pub(super) struct EffortOptions {
    /// With `--iters auto`: iterate until half of the 95 % interval of the median is this share of
    /// it, e.g. `1%` [default: 1%]
    #[arg(long, value_name = "SHARE", value_parser = share, allow_negative_numbers = true)]
    pub ci: Option<f64>,
    /// With `--iters auto`: the most seconds of timed operations for a size [default: 2]
    #[arg(long, value_name = "SECONDS", value_parser = seconds, allow_negative_numbers = true)]
    pub budget: Option<Duration>,
    /// Time single operations too, in a pass of their own after each measurement; percentiles go
    /// into the run's file (`--output`)
    #[arg(long)]
    pub distribution: bool,
}

/// A number of iterations, or `auto`, which is 0.
pub(super) fn iterations(text: &str) -> Result<u32, String> {
    if text.eq_ignore_ascii_case("auto") {
        return Ok(0);
    }
    whole(1, MANY)(text).map_err(|message| format!("{message}, or `auto`"))
}

/// # Errors
/// `Usage` for what only goes with `--iters auto`, or not with it.
pub(super) fn effort(loops: &LoopOptions, tweaks: &Tweaks) -> Result<Effort, Fault> {
    let EffortOptions {
        ci,
        budget,
        distribution,
    } = loops.effort;
    let is_auto = loops.iters == 0;
    for (option, is_given) in [("--ci", ci.is_some()), ("--budget", budget.is_some())] {
        if is_given && !is_auto {
            return Err(Fault::usage(format!(
                "`{option}` says when `--iters auto` is to stop; a number of iterations is obeyed exactly"
            ))
            .hint("add `--iters auto`, or leave the option out"));
        }
    }
    for (option, is_given) in [
        ("-G", tweaks.graph_launches > 0),
        ("-I", tweaks.per_iteration.is_some()),
    ] {
        if is_given && is_auto {
            return Err(Fault::usage(format!(
                "`{option}` needs a number of iterations; `--iters auto` has none"
            ))
            .hint("give one with `-n`"));
        }
    }
    let plain = Precision::default();
    let precision = Precision {
        half_width: ci.unwrap_or(plain.half_width),
        budget: super::resolve::positive("--budget", budget.unwrap_or(plain.budget))?,
    };
    Ok(Effort {
        precision: is_auto.then_some(precision),
        distribution,
    })
}

#[cfg(test)]
mod tests {
    use super::super::{Parsed, parse};
    use crate::base::{Env, Fault};
    use crate::plan::{Effort, PlanSpec};
    use std::time::Duration;

    fn plan(line: &str) -> Result<PlanSpec, Fault> {
        let words = std::iter::once("ncclbench").chain(line.split_whitespace());
        match parse(words.map(Into::into), &Env::default())? {
            Parsed::Measure(args) => Ok(args.plan),
            other => panic!("{other:?}"),
        }
    }

    #[test]
    fn a_number_of_iterations_is_a_number_and_auto_is_a_precision() {
        let fixed = plan("allreduce -n 50").unwrap();
        assert_eq!((fixed.iterations, fixed.effort), (50, Effort::default()));
        let auto = plan("allreduce --iters auto --ci 2% --budget 0.5 --distribution").unwrap();
        let precision = auto.effort.precision.unwrap();
        assert_eq!((auto.iterations, auto.effort.distribution), (0, true));
        assert!((precision.half_width - 0.02).abs() < 1e-12);
        assert_eq!(precision.budget, Duration::from_millis(500));
    }

    #[test]
    fn what_does_not_go_together_is_refused_by_its_option() {
        for (line, said) in [
            ("allreduce --ci 1%", "`--ci`"),
            ("allreduce -n 7 --budget 3", "`--budget`"),
            ("allreduce -n auto -I 1", "`-I`"),
            ("allreduce -n auto -G 1", "`-G`"),
            ("allreduce -n auto --ci 0%", "`0%`"),
            ("allreduce -n auto --budget 0", "`--budget`"),
            ("allreduce -n 0", "or `auto`"),
            ("allreduce -n automatic", "or `auto`"),
        ] {
            let fault = plan(line).unwrap_err().to_string();
            assert!(fault.contains(said), "{line}: {fault}");
        }
    }
}
