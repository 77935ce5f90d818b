//! nccl-tests' own ways where it was called by one of its names, and its variables.

use super::guise::Guise;
use super::options::Options;
use crate::base::split::Split;
use crate::base::{Env, Fault};

const SPLIT: &str = "NCCL_TESTS_SPLIT";
const SPLIT_MASK: &str = "NCCL_TESTS_SPLIT_MASK";
const MIN_BW: &str = "NCCL_TESTS_MIN_BW";

/// Changes what nccl-tests changes with a warning, and says so.
///
/// # Source
/// nccl-tests 2.19.6, `src/common.cu`, `main`.
pub(super) fn settle(options: &mut Options) -> Vec<String> {
    let (loops, results) = (&mut options.loops, &mut options.results);
    let mut said = Vec::new();
    if loops.cudagraph > 0 && results.per_iter_timing {
        results.per_iter_timing = false;
        said.push("`-I` is left out: a graph (`-G`) has no iterations to time".to_owned());
    }
    if loops.cudagraph > 0 && loops.blocking == 3 {
        loops.blocking = 0;
        said.push("`-z 3` is left out: a graph (`-G`) runs without the host".to_owned());
    }
    let skip = results.per_iter_skip;
    if skip > 0 && !(results.per_iter_timing && skip < loops.iters) {
        results.per_iter_skip = 0;
        said.push(format!(
            "`-K {skip}` is left out: it needs `-I 1` and more iterations, `-n`"
        ));
    }
    if loops.device_implementation == 0 && loops.device_cta_count.take().is_some() {
        said.push("`-V` is of no effect without `-D`".to_owned());
    }
    said
}

/// Refuses a sweep from 0 bytes where nccl-tests was called: it never gets past its warm-up there.
///
/// # Errors
/// `Usage`.
pub(super) fn refuse_endless(options: &Options, guise: &Guise) -> Result<(), Fault> {
    if options.sizes.minbytes.0 > 0 || !guise.is_nccl_tests() {
        return Ok(());
    }
    Err(Fault::usage(
        "a sweep from 0 bytes never ends in nccl-tests; expected `-b` of at least 1",
    ))
}

/// The groups that the processes form; a mask wins over the other, as in nccl-tests.
///
/// # Errors
/// `Usage` for what cannot be read.
pub(super) fn split(env: &Env) -> Result<Option<Split>, Fault> {
    let (name, split) = match (env.get(SPLIT_MASK), env.get(SPLIT)) {
        (Some(mask), _) => (SPLIT_MASK, Split::parse_mask(mask)),
        (None, Some(text)) => (SPLIT, Split::parse(text)),
        (None, None) => return Ok(None),
    };
    split
        .map(Some)
        .map_err(|fault| fault.while_doing(format!("reading `{name}`")))
}

/// The mean bus bandwidth that is asked for, in GB/s.
///
/// # Errors
/// `Usage` for what is no number of at least 0.
pub(super) fn min_bw(env: &Env) -> Result<Option<f64>, Fault> {
    let Some(text) = env.get(MIN_BW) else {
        return Ok(None);
    };
    let number = text.trim().parse().ok();
    let usable = number.filter(|number: &f64| number.is_finite() && *number >= 0.0);
    usable
        .map(Some)
        .ok_or_else(|| Fault::usage(format!("`{MIN_BW}` is `{text}`; expected a number of GB/s")))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_mask_wins_over_a_split_and_both_name_their_variable_when_they_are_wrong() {
        let of = |variables: &[(&str, &str)]| split(&variables.iter().copied().collect());
        assert_eq!(of(&[]), Ok(None));
        let color = |split: Option<Split>| split.unwrap().color(19);
        assert_eq!(of(&[(SPLIT, "MOD 4")]).map(color), Ok(3));
        assert_eq!(
            of(&[(SPLIT, "MOD 4"), (SPLIT_MASK, "10")]).map(color),
            Ok(16)
        );
        for name in [SPLIT, SPLIT_MASK] {
            assert!(of(&[(name, "?")]).unwrap_err().to_string().contains(name));
        }
    }

    #[test]
    fn a_bandwidth_that_is_no_number_is_refused() {
        let of = |text: &str| min_bw(&Env::from_iter([(MIN_BW, text)]));
        assert_eq!(min_bw(&Env::default()), Ok(None));
        assert_eq!((of("12.5"), of("0")), (Ok(Some(12.5)), Ok(Some(0.0))));
        for text in ["", "x", "nan", "inf", "-1"] {
            assert!(of(text).is_err(), "{text}");
        }
    }
}
