//! Points in civil time as text: RFC 3339 in UTC, and the local time of nccl-tests' table.
//!
//! It reads no clock and no time zone; both are handed in.

use std::time::Duration;

const DAY: i64 = 86_400;

/// `2026-11-29T14:17:39.250Z` for a time since 1970 in UTC.
pub fn rfc3339(since_1970: Duration) -> String {
    let seconds = i64::try_from(since_1970.as_secs()).unwrap_or(i64::MAX / 2);
    let (date, time) = civil(seconds);
    format!("{date}T{time}.{:03}Z", since_1970.subsec_millis())
}

/// `2026-11-29 14:17:39` for seconds since 1970 in UTC.
pub fn text(seconds: i64) -> String {
    let (date, time) = civil(seconds);
    format!("{date} {time}")
}

/// `2026-11-29 15:17:39` for an RFC 3339 text in UTC, `offset_s` seconds later; `None` if it is no such text.
pub fn local_text(utc: &str, offset_s: i32) -> Option<String> {
    seconds_of(utc).map(|seconds| text(seconds + i64::from(offset_s)))
}

/// Seconds since 1970 of an RFC 3339 text in UTC; `None` if it is no such text.
pub fn seconds_of(utc: &str) -> Option<i64> {
    let (date, time) = utc.strip_suffix('Z')?.split_once('T')?;
    let [year, month, day] = numbers(date, '-')?;
    let [hour, minute, second] = numbers(time.split('.').next()?, ':')?;
    let in_range = (1..=12).contains(&month)
        && (1..=31).contains(&day)
        && hour < 24
        && minute < 60
        && second < 61
        && year < 100_000;
    in_range.then(|| days_of(year, month, day) * DAY + hour * 3600 + minute * 60 + second)
}

fn numbers(text: &str, between: char) -> Option<[i64; 3]> {
    let parts: Option<Vec<i64>> = text
        .split(between)
        .map(|part| part.parse::<u32>().ok().map(i64::from))
        .collect();
    parts?.try_into().ok()
}

/// Days since 1970-01-01 of a date of the Gregorian calendar.
///
/// # Source
/// H. Hinnant, "chrono-Compatible Low-Level Date Algorithms", `days_from_civil`.
fn days_of(year: i64, month: i64, day: i64) -> i64 {
    let year = if month <= 2 { year - 1 } else { year };
    let era = year.div_euclid(400);
    let year_of_era = year.rem_euclid(400);
    let day_of_year = (153 * ((month + 9) % 12) + 2) / 5 + day - 1;
    let day_of_era = year_of_era * 365 + year_of_era / 4 - year_of_era / 100 + day_of_year;
    era * 146_097 + day_of_era - 719_468
}

/// Date and time of day of seconds since 1970.
///
/// # Source
/// H. Hinnant, "chrono-Compatible Low-Level Date Algorithms", `civil_from_days`.
fn civil(seconds: i64) -> (String, String) {
    let days = seconds.div_euclid(DAY) + 719_468;
    let in_day = seconds.rem_euclid(DAY);
    let (era, day_of_era) = (days.div_euclid(146_097), days.rem_euclid(146_097));
    let year_of_era =
        (day_of_era - day_of_era / 1460 + day_of_era / 36_524 - day_of_era / 146_096) / 365;
    let day_of_year = day_of_era - (365 * year_of_era + year_of_era / 4 - year_of_era / 100);
    let shifted_month = (5 * day_of_year + 2) / 153;
    let day = day_of_year - (153 * shifted_month + 2) / 5 + 1;
    let month = (shifted_month + 2) % 12 + 1;
    let year = year_of_era + era * 400 + i64::from(month <= 2);
    let (hour, minute, second) = (in_day / 3600, in_day / 60 % 60, in_day % 60);
    (
        format!("{year:04}-{month:02}-{day:02}"),
        format!("{hour:02}:{minute:02}:{second:02}"),
    )
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    #[test]
    fn known_moments_read_as_they_should() {
        for (seconds, text) in [
            (0, "1970-01-01T00:00:00.000Z"),
            (951_782_399, "2000-02-28T23:59:59.000Z"),
            (951_782_400, "2000-02-29T00:00:00.000Z"),
            (1_795_961_859, "2026-11-29T14:17:39.000Z"),
            (4_107_542_400, "2100-03-01T00:00:00.000Z"),
        ] {
            assert_eq!(rfc3339(Duration::from_secs(seconds)), text);
        }
        assert_eq!(
            rfc3339(Duration::from_millis(250)),
            "1970-01-01T00:00:00.250Z"
        );
    }

    #[test]
    fn local_time_is_utc_moved_by_the_offset_even_over_midnight() {
        let local = |utc, offset| local_text(utc, offset);
        let at = "2026-12-31T23:30:00.5Z";
        assert_eq!(local(at, 0).unwrap(), "2026-12-31 23:30:00");
        assert_eq!(local(at, 3600).unwrap(), "2027-01-01 00:30:00");
        assert_eq!(local(at, -28_800).unwrap(), "2026-12-31 15:30:00");
    }

    #[test]
    fn text_that_is_no_moment_gives_nothing() {
        for text in [
            "",
            "2026-11-29",
            "2026-11-29T14:17:39+01:00",
            "2026-13-01T00:00:00Z",
            "2026-1-x",
            "T::Z",
        ] {
            assert_eq!(local_text(text, 0), None, "{text}");
        }
    }

    proptest! {
        #[test]
        fn a_printed_moment_reads_back(seconds in 0u64..200_000_000_000) {
            let text = rfc3339(Duration::from_secs(seconds));
            prop_assert_eq!(seconds_of(&text), i64::try_from(seconds).ok());
        }
    }
}
