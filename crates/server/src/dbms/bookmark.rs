//! Names of commits, which clients carry from one session to the next.

use std::fmt;
use std::str::FromStr;
use std::sync::Arc;

use telar_db::CommitTs;

use super::Failure;

/// A commit of a database, written `telar:<database>:<timestamp>`.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Bookmark {
    /// Which database.
    pub database: Arc<str>,
    /// Which commit.
    pub ts: CommitTs,
}

impl fmt::Display for Bookmark {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "telar:{}:{}", self.database, self.ts.get())
    }
}

impl FromStr for Bookmark {
    type Err = Failure;

    fn from_str(text: &str) -> Result<Self, Failure> {
        let parsed = text.strip_prefix("telar:").and_then(|rest| {
            let (database, ts) = rest.rsplit_once(':')?;
            let ts = CommitTs::from_raw(ts.parse().ok()?);
            Some(Self { database: database.into(), ts })
        });
        parsed.ok_or_else(|| {
            let code = "Neo.ClientError.Transaction.InvalidBookmark";
            Failure::new(code, format!("{text:?} is no bookmark of this server"))
        })
    }
}

#[test]
fn bookmarks_are_read_as_they_are_written() {
    let bookmark = Bookmark { database: "a:b".into(), ts: CommitTs::from_raw(7) };
    assert_eq!(bookmark.to_string().parse(), Ok(bookmark));
    for text in ["", "telar:x", "telar:x:", "telar:x:-1", "FB:kcwQ", "telar:x:18446744073709551616"]
    {
        assert!(text.parse::<Bookmark>().is_err(), "{text}");
    }
}
