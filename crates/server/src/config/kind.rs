//! How the values of settings are written.

use std::fmt;
use std::net::{SocketAddr, ToSocketAddrs};
use std::path::PathBuf;
use std::time::Duration;

use telar_db::query::cypher::Secret;
use telar_db::{Durability, Retention};

use crate::dbms::Isolations;
use crate::http::{Allowed, Host, Origin};
use crate::replication::SourceUrl;

/// A type of values.
pub trait Kind: Sized {
    /// What they look like, for people.
    const FORM: &'static str;

    /// Reads one.
    ///
    /// # Errors
    /// What was expected.
    fn read(text: &str) -> Result<Self, String>;

    /// The text that reads as it.
    fn show(&self) -> String;
}

/// A number of bytes.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Bytes(pub u64);

/// A text that nobody is to see.
#[derive(Debug, Clone, PartialEq)]
pub struct Password(pub Secret);

macro_rules! choice {
    ($(#[$doc:meta])* $name:ident { $($(#[$of:meta])* $variant:ident = $text:literal,)* }) => {
        $(#[$doc])*
        #[derive(Debug, Clone, Copy, PartialEq, Eq)]
        pub enum $name {
            $($(#[$of])* $variant,)*
        }

        impl Kind for $name {
            const FORM: &'static str = concat!("One of:" $(, " ", $text)*);

            fn read(text: &str) -> Result<Self, String> {
                match text {
                    $($text => Ok(Self::$variant),)*
                    _ => Err(format!("expected one of:{}", concat!($(" ", $text),*))),
                }
            }

            fn show(&self) -> String {
                match self {
                    $(Self::$variant => $text,)*
                }.to_owned()
            }
        }
    };
}

choice! {
    /// What is worth a line.
    LogLevel {
        /// What is broken.
        Error = "error",
        /// What somebody should look at.
        Warn = "warn",
        /// What happens.
        Info = "info",
        /// Errors of connections, too.
        Debug = "debug",
        /// Everything.
        Trace = "trace",
    }
}

choice! {
    /// How lines are written.
    LogFormat {
        /// For people.
        Text = "text",
        /// An object per line.
        Json = "json",
    }
}

choice! {
    /// Purpose of a node of a cluster.
    NodeRole {
        /// It may lead.
        Voter = "voter",
        /// It only follows.
        Replica = "replica",
    }
}

choice! {
    /// State of the graph that reads of a follower see.
    FollowerReads {
        /// The one that the session's bookmarks name, or a later one.
        Bookmarks = "bookmarks",
        /// One with everything acknowledged before.
        Latest = "latest",
    }
}

/// URL of a cluster's store, whose password nobody is to see.
#[derive(Clone, PartialEq, Eq)]
pub struct StoreUrl(pub String);

impl fmt::Debug for StoreUrl {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_tuple("StoreUrl").field(&self.show()).finish()
    }
}

impl Kind for StoreUrl {
    const FORM: &'static str = "A URL: dir:PATH, etcd://HOST, postgres://HOST/DATABASE";

    fn read(text: &str) -> Result<Self, String> {
        let read = telar_cluster::store::StoreUrl::parse(text);
        read.map(|_| Self(text.to_owned())).map_err(|e| e.to_string())
    }

    fn show(&self) -> String {
        telar_cluster::store::without_password(&self.0)
    }
}

impl Kind for SourceUrl {
    const FORM: &'static str = "A URL: http://HOST:PORT, https://HOST:PORT";

    fn read(text: &str) -> Result<Self, String> {
        text.parse()
    }

    fn show(&self) -> String {
        self.to_string()
    }
}

/// Which statements are logged.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct QueryLog {
    /// All; the others say nothing then.
    pub all: bool,
    /// Those that took long.
    pub slow: bool,
    /// Those that failed.
    pub failed: bool,
}

impl QueryLog {
    /// What somebody should look at.
    pub const NOTABLE: Self = Self { all: false, slow: true, failed: true };
}

impl Kind for QueryLog {
    const FORM: &'static str = "off, slow, failed, slow,failed, or all";

    fn read(text: &str) -> Result<Self, String> {
        let mut log = Self { all: false, slow: false, failed: false };
        match text {
            "off" => return Ok(log),
            "all" => return Ok(Self { all: true, ..log }),
            _ => {}
        }
        for word in text.split(',') {
            match word.trim() {
                "slow" => log.slow = true,
                "failed" => log.failed = true,
                _ => return Err(format!("expected {}", Self::FORM)),
            }
        }
        Ok(log)
    }

    fn show(&self) -> String {
        match self {
            Self { all: true, .. } => "all",
            Self { slow: true, failed: true, .. } => "slow,failed",
            Self { slow: true, .. } => "slow",
            Self { failed: true, .. } => "failed",
            _ => "off",
        }
        .to_owned()
    }
}

/// A number and what follows it.
fn number(text: &str) -> Option<(u64, &str)> {
    let end = text.bytes().position(|b| !b.is_ascii_digit()).unwrap_or(text.len());
    Some((text[..end].parse().ok()?, text[end..].trim()))
}

/// What `units` say, the smallest first.
fn in_units(value: u64, units: &[(&str, u64)]) -> String {
    let fits = |(_, size): &&(&str, u64)| value.is_multiple_of(*size) && value > 0;
    match units.iter().rev().find(fits) {
        Some((unit, size)) => format!("{}{unit}", value / size),
        None => format!("{value}{}", units[0].0),
    }
}

const BYTES: [(&str, u64); 4] = [("B", 1), ("KiB", 1 << 10), ("MiB", 1 << 20), ("GiB", 1 << 30)];
const MILLIS: [(&str, u64); 5] =
    [("ms", 1), ("s", 1000), ("m", 60_000), ("h", 3_600_000), ("d", 86_400_000)];

fn sized(text: &str, units: &[(&str, u64)], bare: &str) -> Option<u64> {
    let (count, unit) = number(text)?;
    let unit = if unit.is_empty() { bare } else { unit };
    let (_, size) = units.iter().find(|(name, _)| name.eq_ignore_ascii_case(unit))?;
    count.checked_mul(*size)
}

impl Kind for Bytes {
    const FORM: &'static str = "Bytes: 4096, 64KiB, 16MiB, 2GiB";

    fn read(text: &str) -> Result<Self, String> {
        sized(text, &BYTES, "B").map(Self).ok_or_else(|| "expected bytes, such as 64MiB".to_owned())
    }

    fn show(&self) -> String {
        in_units(self.0, &BYTES)
    }
}

impl Kind for Duration {
    const FORM: &'static str = "A time: 500ms, 30s, 5m, 2h, 7d";

    fn read(text: &str) -> Result<Self, String> {
        let millis = sized(text, &MILLIS, "s").filter(|ms| *ms < u64::from(u32::MAX) * 1000);
        let expected = || "expected a time, such as 500ms, 30s or 7d".to_owned();
        millis.map(Self::from_millis).ok_or_else(expected)
    }

    fn show(&self) -> String {
        in_units(u64::try_from(self.as_millis()).unwrap_or(u64::MAX), &MILLIS)
    }
}

impl Kind for bool {
    const FORM: &'static str = "true or false";

    fn read(text: &str) -> Result<Self, String> {
        text.parse().map_err(|_| "expected true or false".to_owned())
    }

    fn show(&self) -> String {
        self.to_string()
    }
}

impl Kind for usize {
    const FORM: &'static str = "A number of 1 or more";

    fn read(text: &str) -> Result<Self, String> {
        // Places and threads are counted with less than 64 bits further down.
        let count: Option<u32> = text.parse().ok().filter(|count| *count > 0);
        let count = count.and_then(|count| Self::try_from(count).ok());
        count.filter(|count| *count <= 1 << 20).ok_or_else(|| "expected 1 to 1048576".to_owned())
    }

    fn show(&self) -> String {
        self.to_string()
    }
}

impl Kind for String {
    const FORM: &'static str = "A text";

    fn read(text: &str) -> Result<Self, String> {
        Ok(text.to_owned())
    }

    fn show(&self) -> String {
        self.clone()
    }
}

impl Kind for PathBuf {
    const FORM: &'static str = "A path";

    fn read(text: &str) -> Result<Self, String> {
        Ok(text.into())
    }

    fn show(&self) -> String {
        self.display().to_string()
    }
}

impl Kind for Password {
    const FORM: &'static str = "A text that is not shown";

    fn read(text: &str) -> Result<Self, String> {
        Ok(Self(Secret::new(text)))
    }

    fn show(&self) -> String {
        "******".to_owned()
    }
}

impl Kind for Allowed<Host> {
    const FORM: &'static str = "Hosts without ports: db.example.com, 10.0.0.7; * is any";

    fn read(text: &str) -> Result<Self, String> {
        Self::hosts(text)
    }

    fn show(&self) -> String {
        self.to_string()
    }
}

impl Kind for Allowed<Origin> {
    const FORM: &'static str = "Origins: https://app.example.com, http://localhost:3000; * is any";

    fn read(text: &str) -> Result<Self, String> {
        Self::origins(text)
    }

    fn show(&self) -> String {
        self.to_string()
    }
}

impl Kind for Isolations {
    const FORM: &'static str = "snapshot or serializable; for one database shop=serializable";

    fn read(text: &str) -> Result<Self, String> {
        Self::parse(text)
    }

    fn show(&self) -> String {
        self.to_string()
    }
}

impl Kind for SocketAddr {
    const FORM: &'static str = "host:port; port 0 takes any that is free";

    fn read(text: &str) -> Result<Self, String> {
        let expected = |e: &dyn fmt::Display| format!("expected host:port ({e})");
        let found = text.to_socket_addrs().map_err(|e| expected(&e))?.next();
        found.ok_or_else(|| expected(&"no such host"))
    }

    fn show(&self) -> String {
        self.to_string()
    }
}

impl Kind for Durability {
    const FORM: &'static str = "full, or async and a time: async 50ms";

    fn read(text: &str) -> Result<Self, String> {
        let expected = || "expected full, or async and a time up to 60s: async 50ms".to_owned();
        if text == "full" {
            return Ok(Self::Full);
        }
        let interval = text.strip_prefix("async").ok_or_else(expected)?.trim();
        let millis = sized(interval, &MILLIS, "ms").filter(|ms| (1..=60_000).contains(ms));
        millis.map(|interval_ms| Self::Async { interval_ms }).ok_or_else(expected)
    }

    fn show(&self) -> String {
        match self {
            Self::Full => "full".to_owned(),
            // No setting: databases of a cluster are opened so.
            Self::Replicated => "replicated".to_owned(),
            Self::Async { interval_ms } => format!("async {}", in_units(*interval_ms, &MILLIS)),
        }
    }
}

impl Kind for Retention {
    const FORM: &'static str = "as-stored, off, a time (7d), or a number of commits (1000 commits)";

    fn read(text: &str) -> Result<Self, String> {
        let expected = || format!("expected {}", Self::FORM);
        match text {
            "as-stored" => return Ok(Self::AsStored),
            "off" => return Ok(Self::Off),
            _ => {}
        }
        if let Some((commits, "commits")) = number(text) {
            return Some(commits).filter(|n| *n > 0).map(Self::commits).ok_or_else(expected);
        }
        let time = Duration::read(text).ok().filter(|time| !time.is_zero());
        time.map(Self::time).ok_or_else(expected)
    }

    fn show(&self) -> String {
        match self {
            Self::AsStored => "as-stored".to_owned(),
            Self::Off => "off".to_owned(),
            Self::Keep { commits, ms: 0 } => format!("{commits} commits"),
            Self::Keep { ms, .. } => in_units(*ms, &MILLIS),
        }
    }
}

impl<T: Kind> Kind for Option<T> {
    const FORM: &'static str = T::FORM;

    /// Empty is unset.
    fn read(text: &str) -> Result<Self, String> {
        if text.is_empty() { Ok(None) } else { T::read(text).map(Some) }
    }

    fn show(&self) -> String {
        self.as_ref().map(T::show).unwrap_or_default()
    }
}
