//! The only reader of the process's surroundings: its variables and its time zone.

use crate::base::Env;
use jiff::Timestamp;
use jiff::tz::TimeZone;
use std::time::Duration;

/// A copy of the process's variables.
#[expect(
    clippy::disallowed_methods,
    reason = "this file is the one that reads the environment"
)]
pub fn variables() -> Env {
    std::env::vars_os()
        .map(|(name, value)| {
            (
                name.to_string_lossy().into_owned(),
                value.to_string_lossy().into_owned(),
            )
        })
        .collect()
}

/// Seconds that local time is ahead of UTC at a moment, given as time since 1970.
///
/// The zone is that of `TZ`, else of `/etc/localtime`, else UTC.
pub fn utc_offset_s(since_1970: Duration) -> i32 {
    let seconds = i64::try_from(since_1970.as_secs()).unwrap_or(i64::MAX);
    Timestamp::from_second(seconds)
        .map_or(0, |moment| TimeZone::system().to_offset(moment).seconds())
}
