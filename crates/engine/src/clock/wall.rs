//! Wall-clock time, as operators name it and as the log keeps it: milliseconds since 1970, UTC.

use std::time::{SystemTime, UNIX_EPOCH};

use telar_graph::value::{DateTime, ParsedDateTime, UtcOffset};

/// Milliseconds since 1970 now; 0 on a clock that is set to before.
pub fn now_ms() -> u64 {
    let now = SystemTime::now().duration_since(UNIX_EPOCH);
    now.map_or(0, |d| u64::try_from(d.as_millis()).unwrap_or(u64::MAX))
}

/// Reads a date and time; without an offset it is in UTC.
///
/// # Errors
/// Says what is wrong with the text.
pub fn parse(text: &str) -> Result<u64, String> {
    let parsed: ParsedDateTime = text.parse().map_err(|e| format!("{e}"))?;
    let time = DateTime::new(parsed.local, parsed.offset.unwrap_or(UtcOffset::UTC));
    u64::try_from(time.epoch_nanos() / 1_000_000).map_err(|_| format!("{text} is before 1970"))
}

/// `ms` as a date and time in UTC.
pub fn show(ms: u64) -> String {
    let seconds = i64::try_from(ms / 1000).unwrap_or(i64::MAX);
    let nanos = (ms % 1000) as i64 * 1_000_000;
    match DateTime::from_epoch(seconds, nanos, UtcOffset::UTC) {
        Ok(time) => time.to_string(),
        Err(_) => format!("{ms} ms after 1970"),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn times_are_read_with_and_without_an_offset() {
        assert_eq!(parse("1970-01-01T00:00:01Z"), Ok(1000));
        assert_eq!(parse("1970-01-01T01:00:01+01:00"), Ok(1000));
        assert_eq!(parse("1970-01-01T00:00:01"), Ok(1000));
        assert!(parse("yesterday").is_err() && parse("1969-12-31T23:59:59Z").is_err());
        let now = now_ms();
        assert_eq!(parse(&show(now)), Ok(now));
        assert_eq!(show(0), "1970-01-01T00:00Z");
        assert_eq!(show(1_500), "1970-01-01T00:00:01.5Z");
    }
}
