//! nccl-tests' variables for `alltoallv`, read into a plain value; nothing else looks at them.

use crate::base::traffic::Matrix;
use crate::base::{Env, Fault, Uneven};

const SPREAD: &str = "NCCL_TESTS_ALLTOALLV_SPREAD";
const FILE: &str = "NCCL_TESTS_ALLTOALLV_MATRIX_FILE";
const SCALE: &str = "NCCL_TESTS_ALLTOALLV_MATRIX_SCALE";
const SUMMARY: &str = "NCCL_TESTS_ALLTOALLV_PRINT_SUMMARY";

/// How the sizes of parts are chosen; a matrix wins over a spread.
///
/// # Errors
/// `Usage` for a value or a file that cannot be read.
pub(super) fn uneven(env: &Env) -> Result<Uneven, Fault> {
    let scale = number(env, SCALE, 1.0, 0.0..=1e12)?;
    let spread = number(env, SPREAD, 1.0, 0.0..=1.0)?;
    let Some(path) = env.get(FILE) else {
        return Ok(Uneven::Spread(spread));
    };
    let text = std::fs::read_to_string(path)
        .map_err(|error| Fault::usage(format!("`{FILE}` is `{path}`: {error}")))?;
    let matrix = Matrix::parse(&text, scale);
    let matrix = matrix.map_err(|fault| fault.while_doing(format!("reading `{path}` (`{FILE}`)")));
    matrix.map(Uneven::Matrix)
}

/// Whether each rank's bytes are to be told.
///
/// # Errors
/// `Usage` for what is not an integer.
pub(super) fn rank_bytes(env: &Env) -> Result<bool, Fault> {
    let Some(text) = env.get(SUMMARY) else {
        return Ok(false);
    };
    let number: Option<i64> = text.trim().parse().ok();
    number.map(|number| number != 0).ok_or_else(|| {
        Fault::usage(format!(
            "`{SUMMARY}` is `{text}`; expected 0, or 1 to tell each rank's bytes"
        ))
    })
}

fn number(
    env: &Env,
    name: &str,
    default: f64,
    range: std::ops::RangeInclusive<f64>,
) -> Result<f64, Fault> {
    let Some(text) = env.get(name) else {
        return Ok(default);
    };
    let number = text.trim().parse().ok();
    number
        .filter(|number| range.contains(number))
        .ok_or_else(|| {
            let (least, most) = (range.start(), range.end());
            Fault::usage(format!(
                "`{name}` is `{text}`; expected a number from {least} to {most}"
            ))
        })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_spread_is_read_and_one_out_of_range_is_refused() {
        assert_eq!(uneven(&Env::default()), Ok(Uneven::Spread(1.0)));
        let of = |text| uneven(&Env::from_iter([(SPREAD, text)]));
        assert_eq!(of("0.25"), Ok(Uneven::Spread(0.25)));
        for text in ["", "x", "1.5", "-0.1", "nan"] {
            let fault = of(text).unwrap_err();
            assert!(fault.message.contains("from 0 to 1"), "{fault}");
        }
    }

    #[test]
    fn a_matrix_comes_from_its_file_and_is_scaled() {
        let folder = tempfile::tempdir().unwrap();
        let file = folder.path().join("matrix");
        std::fs::write(&file, "0 16\n32 0\n").unwrap();
        let path = file.to_str().unwrap();
        let read = uneven(&Env::from_iter([(FILE, path), (SCALE, "2")]));
        let expected = Matrix::parse("0 32\n64 0", 1.0).unwrap();
        assert_eq!(read, Ok(Uneven::Matrix(expected)));
        std::fs::write(&file, "0 16\n32\n").unwrap();
        let fault = uneven(&Env::from_iter([(FILE, path)]))
            .unwrap_err()
            .to_string();
        assert!(fault.contains("row 2") && fault.contains(path), "{fault}");
        let fault = uneven(&Env::from_iter([(FILE, "/nowhere")])).unwrap_err();
        assert!(fault.message.contains("/nowhere"), "{fault}");
    }

    #[test]
    fn a_summary_is_asked_for_by_any_number_but_0() {
        let of = |text| rank_bytes(&Env::from_iter([(SUMMARY, text)]));
        assert_eq!(
            (of("0"), of("1"), of("-3")),
            (Ok(false), Ok(true), Ok(true))
        );
        assert!(of("yes").is_err());
    }
}
