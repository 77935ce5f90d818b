//! Readers of single values, each with a message that says what is accepted.

use crate::base::{Bytes, Rank};
use crate::plan::Roots;
use crate::record::Release;
use std::time::Duration;

/// A size such as `8`, `1.5G`, `64K`.
pub(super) fn size(text: &str) -> Result<Bytes, String> {
    text.parse::<Bytes>().map_err(|fault| fault.message)
}

/// A whole number from `min` to `max`, decimal or `0x…`.
pub(super) fn whole(
    min: u32,
    max: u32,
) -> impl Fn(&str) -> Result<u32, String> + Clone + Send + Sync + 'static {
    move |text| {
        let range = if max == MANY {
            format!("an integer of at least {min}")
        } else {
            format!("an integer from {min} to {max}")
        };
        integer(text, &range)
            .and_then(|value| u32::try_from(value).map_err(|_| out_of_range(text, &range)))
            .and_then(|value| {
                let fits = (min..=max).contains(&value);
                fits.then_some(value)
                    .ok_or_else(|| out_of_range(text, &range))
            })
    }
}

/// A rank, or `-1` (also `all`) for all of them. nccl-tests' documentation offers `all` too, which its
/// program reads as 0.
pub(super) fn root(text: &str) -> Result<Roots, String> {
    if text == "-1" || text.eq_ignore_ascii_case("all") {
        return Ok(Roots::All);
    }
    whole(0, MANY)(text)
        .map(|root| Roots::One(Rank(root)))
        .map_err(|_| format!("`{text}` is not a root; expected a rank, or -1 for all"))
}

/// The most that nccl-tests can hold in a C `int`.
pub(super) const MANY: u32 = i32::MAX as u32;

/// More processes than any launcher starts: what is above is a mistake, and memory is reserved for each.
pub(super) const MOST_PROCESSES: u32 = 1 << 20;

/// A release of nccl-tests, `2.13` or `2.13.8`, whose table is known.
pub(super) fn release(text: &str) -> Result<Release, String> {
    let (oldest, newest) = (Release::OLDEST, Release::NEWEST);
    let numbers: Vec<Option<u32>> = text.split('.').map(|part| part.parse().ok()).collect();
    let read = match numbers.as_slice() {
        [Some(major), Some(minor)] => Some(Release([*major, *minor, 0])),
        [Some(major), Some(minor), Some(patch)] => Some(Release([*major, *minor, *patch])),
        _ => None,
    };
    read.filter(|read| (oldest..=newest).contains(read))
        .ok_or_else(|| {
            format!("`{text}` is no known release of nccl-tests; expected {oldest} to {newest}")
        })
}

/// A switch as nccl-tests has them: 0 is off, any other integer is on.
pub(super) fn switch(text: &str) -> Result<bool, String> {
    whole(0, MANY)(text)
        .map(|value| value != 0)
        .map_err(|_| format!("`{text}` is not a switch; expected 0 or 1"))
}

/// Any number of 64 bits.
pub(super) fn seed(text: &str) -> Result<u64, String> {
    integer(text, "an integer from 0 to 18446744073709551615")
}

/// nccl-tests reads numbers as C does, so that `010` is 8 there; here it is refused, because people
/// mean 10.
fn integer(text: &str, range: &str) -> Result<u64, String> {
    let parsed = match text.strip_prefix("0x").or_else(|| text.strip_prefix("0X")) {
        Some(digits) => u64::from_str_radix(digits, 16).ok(),
        None if is_octal(text) => {
            return Err(format!(
                "`{text}` starts with 0, which nccl-tests reads as octal; expected {range}"
            ));
        }
        None => text.parse().ok(),
    };
    parsed.ok_or_else(|| format!("`{text}` is not {range}"))
}

fn is_octal(text: &str) -> bool {
    text.len() > 1 && text.starts_with('0') && text.bytes().all(|byte| byte.is_ascii_digit())
}

fn out_of_range(text: &str, range: &str) -> String {
    format!("`{text}` is out of range; expected {range}")
}

/// Seconds, with a fraction where wanted.
pub(super) fn seconds(text: &str) -> Result<Duration, String> {
    const MOST: f64 = 1e9;
    let plain = text
        .bytes()
        .all(|byte| byte.is_ascii_digit() || byte == b'.');
    text.parse::<f64>()
        .ok()
        .filter(|value| plain && (0.0..=MOST).contains(value))
        .map(Duration::from_secs_f64)
        .ok_or_else(|| format!("`{text}` is not a number of seconds; expected e.g. `90` or `0.5`"))
}

/// `1%` or `0.01`: a share above 0 and below 1.
pub(super) fn share(text: &str) -> Result<f64, String> {
    let (number, unit) = match text.strip_suffix('%') {
        Some(number) => (number.trim_end(), 100.0),
        None => (text, 1.0),
    };
    let plain = number
        .bytes()
        .all(|byte| byte.is_ascii_digit() || byte == b'.');
    number
        .parse::<f64>()
        .ok()
        .map(|number| number / unit)
        .filter(|share| plain && *share > 0.0 && *share < 1.0)
        .ok_or_else(|| {
            format!("`{text}` is not a share above 0 and below 1; expected e.g. `1%` or `0.01`")
        })
}

/// `HOST:PORT`, `[v6::address]:PORT`, `file:///FOLDER`.
pub(super) fn rendezvous(text: &str) -> Result<String, String> {
    if text.starts_with("file:///") {
        return label(text);
    }
    let parts = text.rsplit_once(':');
    let port = parts.and_then(|(_, port)| port.parse::<u16>().ok());
    let host = parts.map_or("", |(host, _)| host);
    let bracketed = host.starts_with('[') && host.ends_with(']') && host.len() > 2;
    let plain = !host.is_empty() && !host.contains([':', '[', ']']) && !host.contains(' ');
    match port {
        Some(port) if port > 0 && (plain || bracketed) => Ok(text.to_owned()),
        _ => Err(format!(
            "`{text}` is not a place to meet; expected HOST:PORT, e.g. `10.0.1.7:29500` or `[fd00::7]:29500`, or `file:///FOLDER`"
        )),
    }
}

/// A name that is not empty and fits on a line.
pub(super) fn label(text: &str) -> Result<String, String> {
    let usable = !text.trim().is_empty() && !text.chars().any(char::is_control);
    usable
        .then(|| text.to_owned())
        .ok_or_else(|| "the name is empty or not one line".to_owned())
}

/// The name of a file to write. `-` would be taken for stdout, which holds the table.
pub(super) fn file(text: &str) -> Result<String, String> {
    match text {
        "-" => Err(
            "`-` is no file, and stdout holds the table; expected a name, e.g. `run.jsonl` or `./-`"
                .to_owned(),
        ),
        _ => label(text),
    }
}

/// The name of nccl-tests' JSON file, which ignores any name that ends otherwise.
pub(super) fn json_file(text: &str) -> Result<String, String> {
    let suffix = text.len().checked_sub(".json".len());
    let fits = suffix.is_some_and(|at| {
        at > 0 && text.is_char_boundary(at) && text[at..].eq_ignore_ascii_case(".json")
    });
    if fits {
        return file(text);
    }
    Err(format!(
        "`{text}` does not end in `.json`, and nccl-tests would write nothing"
    ))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_whole_number_outside_its_range_is_told_the_range() {
        let read = whole(1, 4096);
        assert_eq!(read("0x10"), Ok(16));
        assert_eq!(read("4096"), Ok(4096));
        for text in [
            "0",
            "4097",
            "-5",
            "99999999999",
            "abc",
            "",
            "1.5",
            "0x",
            "+-1",
        ] {
            let message = read(text).unwrap_err();
            assert!(message.contains("from 1 to 4096"), "{text}: {message}");
        }
        assert!(whole(0, MANY)("-1").unwrap_err().contains("at least 0"));
    }

    #[test]
    fn a_leading_zero_is_refused_because_nccl_tests_would_read_octal() {
        assert!(whole(0, MANY)("010").unwrap_err().contains("octal"));
        assert_eq!(whole(0, MANY)("0"), Ok(0));
    }

    #[test]
    fn a_root_is_a_rank_or_all_of_them() {
        assert_eq!(root("3"), Ok(Roots::One(Rank(3))));
        assert_eq!((root("-1"), root("all")), (Ok(Roots::All), Ok(Roots::All)));
        for text in ["-2", "any", "", "1.5"] {
            assert!(root(text).unwrap_err().contains("-1 for all"), "{text}");
        }
    }

    #[test]
    fn a_fraction_is_not_taken_for_an_octal_number() {
        let message = whole(0, MANY)("0.5").unwrap_err();
        assert_eq!(message, "`0.5` is not an integer of at least 0");
    }

    #[test]
    fn a_dash_is_refused_as_a_file_because_it_would_be_taken_for_stdout() {
        assert!(file("-").unwrap_err().contains("stdout"));
        assert_eq!(file("./-").as_deref(), Ok("./-"));
        assert!(file(" ").is_err());
    }

    #[test]
    fn seconds_may_have_a_fraction_and_nothing_else() {
        assert_eq!(seconds("0.5"), Ok(Duration::from_millis(500)));
        assert_eq!(seconds("90"), Ok(Duration::from_secs(90)));
        for text in ["-1", "inf", "nan", "1e3", "5s", "", ".", "99999999999"] {
            assert!(seconds(text).is_err(), "{text}");
        }
    }

    #[test]
    fn a_meeting_place_needs_a_host_and_a_port() {
        for text in [
            "node-a:29500",
            "10.0.1.7:1",
            "[fd00::7]:29500",
            "file:///shared/a folder",
        ] {
            assert_eq!(rendezvous(text).as_deref(), Ok(text));
        }
        for text in [
            "node-a",
            ":29500",
            "node-a:0",
            "node-a:99999",
            "fd00::7:29500",
            "[]:5",
            "a b:5",
            "file://shared",
        ] {
            assert!(rendezvous(text).is_err(), "{text}");
        }
    }
}
