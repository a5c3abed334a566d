//! The `Date` of answers.
//!
//! HTTP's dates have four digits for the year. A clock beyond that is shown as the last second that
//! there is: hyper's own header would end the connection's thread.

use std::time::{SystemTime, UNIX_EPOCH};

use axum::http::HeaderValue;
use axum::http::header::DATE;
use axum::response::Response;

/// The last second of the year 9999.
const SECONDS_MAX: u64 = 253_402_300_799;
const DAYS: [&str; 7] = ["Thu", "Fri", "Sat", "Sun", "Mon", "Tue", "Wed"];
const MONTHS: [&str; 12] =
    ["Jan", "Feb", "Mar", "Apr", "May", "Jun", "Jul", "Aug", "Sep", "Oct", "Nov", "Dec"];

/// Gives an answer its date.
pub(super) async fn add(mut response: Response) -> Response {
    if let Ok(date) = HeaderValue::try_from(text(SystemTime::now())) {
        response.headers_mut().insert(DATE, date);
    }
    response
}

/// A time as HTTP writes it; one that cannot be written is the nearest that can.
fn text(time: SystemTime) -> String {
    let seconds = time.duration_since(UNIX_EPOCH).map_or(0, |since| since.as_secs());
    let seconds = seconds.min(SECONDS_MAX);
    let (day, second) = (seconds / 86_400, seconds % 86_400);
    // Years begin in March here, so that leap days come last: Howard Hinnant, "chrono-Compatible
    // Low-Level Date Algorithms".
    let since = day + 719_468;
    let (era, of_era) = (since / 146_097, since % 146_097);
    let year = (of_era - of_era / 1_460 + of_era / 36_524 - of_era / 146_096) / 365;
    let of_year = of_era - (365 * year + year / 4 - year / 100);
    let month = (5 * of_year + 2) / 153;
    let of_month = of_year - (153 * month + 2) / 5 + 1;
    let year = era * 400 + year + u64::from(month >= 10);
    let name = MONTHS[(month as usize + 2) % 12];
    let (hour, minute, second) = (second / 3_600, second / 60 % 60, second % 60);
    let weekday = DAYS[(day % 7) as usize];
    format!("{weekday}, {of_month:02} {name} {year:04} {hour:02}:{minute:02}:{second:02} GMT")
}

#[cfg(test)]
mod tests {
    use std::time::Duration;

    use super::*;

    #[test]
    fn dates_are_written_as_http_wants_them_whatever_the_clock_says() {
        for (seconds, wanted) in [
            (0, "Thu, 01 Jan 1970 00:00:00 GMT"),
            (784_111_777, "Sun, 06 Nov 1994 08:49:37 GMT"),
            (951_782_400, "Tue, 29 Feb 2000 00:00:00 GMT"),
            (1_767_225_599, "Wed, 31 Dec 2025 23:59:59 GMT"),
            (4_107_542_400, "Mon, 01 Mar 2100 00:00:00 GMT"),
            (SECONDS_MAX, "Fri, 31 Dec 9999 23:59:59 GMT"),
            (SECONDS_MAX + 1, "Fri, 31 Dec 9999 23:59:59 GMT"),
            (1 << 50, "Fri, 31 Dec 9999 23:59:59 GMT"),
        ] {
            assert_eq!(text(UNIX_EPOCH + Duration::from_secs(seconds)), wanted);
        }
        assert_eq!(text(UNIX_EPOCH - Duration::from_secs(9)), "Thu, 01 Jan 1970 00:00:00 GMT");
    }
}
