//! Numbers as nccl-tests' columns show them: C's `%f`, `%e` and `%g`, without C.

use crate::record::Case;

/// The operator's column, which nccl-tests leaves empty for a hypercube.
///
/// # Source
/// nccl-tests 2.19.6, `src/hypercube.cu`, `HyperCubeRunTest`.
pub(super) fn redop(case: &Case) -> &'static str {
    match case.redop {
        Some(redop) => redop.name(),
        None if case.collective == "hypercube" => "",
        None => "none",
    }
}

/// Two decimals, or as many as `width` leaves room for, or an exponent; right-aligned.
///
/// # Source
/// nccl-tests 2.19.6, `src/util.cu`, `getFloatStr`.
pub fn number(value: f64, width: usize) -> String {
    for decimals in [2, 1, 0] {
        let text = format!("{value:width$.decimals$}");
        if text.len() <= width {
            return text;
        }
    }
    let decimals = usize::from(width >= 7);
    format!("{:>width$}", exponential(value, decimals))
}

/// C's `%g`: six significant digits, no trailing zeros, an exponent where the value needs one.
pub fn general(value: f64) -> String {
    if value == 0.0 || !value.is_finite() {
        return format!("{value}");
    }
    // The exponent after rounding to six digits decides, as C defines.
    let exponent = exponent_of(&format!("{value:.5e}"));
    if (-4..6).contains(&exponent) {
        let decimals = usize::try_from(5 - exponent).unwrap_or(0);
        trimmed(&format!("{value:.decimals$}")).to_owned()
    } else {
        let text = exponential(value, 5);
        let (digits, exponent) = text.split_once('e').unwrap_or((&text, ""));
        format!("{}e{exponent}", trimmed(digits))
    }
}

/// C's `%.Ne`: the exponent has a sign and at least two digits.
fn exponential(value: f64, decimals: usize) -> String {
    let text = format!("{value:.decimals$e}");
    let exponent = exponent_of(&text);
    let digits = text.split('e').next().unwrap_or(&text);
    let sign = if exponent < 0 { '-' } else { '+' };
    format!("{digits}e{sign}{:02}", exponent.unsigned_abs())
}

fn exponent_of(text: &str) -> i32 {
    text.split_once('e')
        .and_then(|(_, exponent)| exponent.parse().ok())
        .unwrap_or(0)
}

fn trimmed(digits: &str) -> &str {
    if digits.contains('.') {
        digits.trim_end_matches('0').trim_end_matches('.')
    } else {
        digits
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    #[test]
    fn a_number_takes_the_most_decimals_that_fit_its_column() {
        let times = [
            (0.0, "   0.00"),
            (7.63, "   7.63"),
            (9999.99, "9999.99"),
            (9999.994, "9999.99"),
            (9_999.995_1, "10000.0"),
            (17036.607, "17036.6"),
            (99999.94, "99999.9"),
            (99999.96, " 100000"),
            (9_999_999.4, "9999999"),
            (9_999_999.6, "1.0e+07"),
            (123_456_789.0, "1.2e+08"),
        ];
        for (value, text) in times {
            assert_eq!(number(value, 7), text, "{value}");
        }
        let bandwidths = [
            (0.004, "  0.00"),
            (999.99, "999.99"),
            (999.996, "1000.0"),
            (9999.94, "9999.9"),
            (43046.4, " 43046"),
            (263_017.0, "263017"),
            (999_999.4, "999999"),
            (1_999_999.0, " 2e+06"),
            (14_400_000.0, " 1e+07"),
        ];
        for (value, text) in bandwidths {
            assert_eq!(number(value, 6), text, "{value}");
        }
    }

    #[test]
    fn ties_round_to_even_as_c_rounds_them() {
        for (value, text) in [(0.125, "  0.12"), (0.375, "  0.38"), (2.5, "  2.50")] {
            assert_eq!(number(value, 6), text);
        }
        assert_eq!(number(1000.25, 6), "1000.2");
        assert_eq!(number(10_000.5, 6), " 10000");
        assert_eq!(number(10_001.5, 6), " 10002");
    }

    #[test]
    fn the_general_form_is_that_of_c() {
        let cases = [
            (0.0, "0"),
            (0.000_416_942, "0.000416942"),
            (9.130_14e-5, "9.13014e-05"),
            (0.448_173, "0.448173"),
            (77.7424, "77.7424"),
            (100.0, "100"),
            (123_456.7, "123457"),
            (999_999.4, "999999"),
            (999_999.6, "1e+06"),
            (1_048_576.0, "1.04858e+06"),
            (1e100, "1e+100"),
            (3.0, "3"),
            (1234.5, "1234.5"),
        ];
        for (value, text) in cases {
            assert_eq!(general(value), text, "{value}");
        }
    }

    proptest! {
        #[test]
        fn a_number_never_leaves_its_column(value in 0.0f64..1e40, wide: bool) {
            let width = if wide { 7 } else { 6 };
            prop_assert_eq!(number(value, width).len(), width);
        }

        #[test]
        fn the_general_form_reads_back_within_six_digits(value in 1e-30f64..1e30) {
            let back: f64 = general(value).parse().unwrap();
            prop_assert!((back / value - 1.0).abs() < 1e-5);
        }
    }
}
