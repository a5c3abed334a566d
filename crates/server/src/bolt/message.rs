//! What clients ask for.
//!
//! | tag | request | fields | since |
//! |---|---|---|---|
//! | `01` | HELLO | extra (before 5.1 with the login) | |
//! | `6A` | LOGON | login | 5.1 |
//! | `6B` | LOGOFF | | 5.1 |
//! | `02` | GOODBYE | | |
//! | `0F` | RESET | | |
//! | `10` | RUN | text, parameters, extra | |
//! | `11` | BEGIN | extra | |
//! | `12`, `13` | COMMIT, ROLLBACK | | |
//! | `2F`, `3F` | DISCARD, PULL | extra: `n`, `qid` | |
//! | `66` | ROUTE | routing context, bookmarks, extra (4.3: the database) | |
//! | `54` | TELEMETRY | a number | 5.4 |
//!
//! The answers are `70` SUCCESS, `7E` IGNORED, `7F` FAILURE, and before a SUCCESS `71` RECORDs.

use telar_db::{Value, ValueMap, value};

use super::packstream::decode::Item;
use super::structure::{Decoder, Dialect, Refusal};
use super::version::Version;
use crate::dbms::Failure;

pub(crate) const HELLO: u8 = 0x01;
pub(crate) const LOGON: u8 = 0x6A;
const LOGOFF: u8 = 0x6B;
pub(crate) const GOODBYE: u8 = 0x02;
pub(crate) const RESET: u8 = 0x0F;
pub(crate) const RUN: u8 = 0x10;
pub(crate) const BEGIN: u8 = 0x11;
pub(crate) const COMMIT: u8 = 0x12;
pub(crate) const ROLLBACK: u8 = 0x13;
pub(crate) const DISCARD: u8 = 0x2F;
pub(crate) const PULL: u8 = 0x3F;
const TELEMETRY: u8 = 0x54;
const ROUTE: u8 = 0x66;
pub(crate) const SUCCESS: u8 = 0x70;
pub(crate) const RECORD: u8 = 0x71;
pub(crate) const IGNORED: u8 = 0x7E;
pub(crate) const FAILURE: u8 = 0x7F;

/// A statement.
#[derive(Debug, Clone, PartialEq)]
pub(crate) struct Run {
    pub(crate) text: String,
    pub(crate) parameters: ValueMap,
    pub(crate) extra: ValueMap,
}

/// How many rows to send, or to leave out.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct Demand {
    /// Left out instead of sent.
    pub(crate) discard: bool,
    /// None: all.
    pub(crate) rows: Option<u64>,
    /// Of which statement of the transaction; none: of the last.
    pub(crate) qid: Option<i64>,
}

/// A message of a client.
#[derive(Debug, Clone, PartialEq)]
pub(crate) enum Request {
    Hello(ValueMap),
    Logon(ValueMap),
    Logoff,
    Goodbye,
    Reset,
    Run(Run),
    Begin(ValueMap),
    Commit,
    Rollback,
    Demand(Demand),
    Route {
        context: ValueMap,
        bookmarks: Value,
        extra: ValueMap,
    },
    Telemetry,
    /// One that is understood as far as that it cannot be done.
    Unacceptable(Failure),
}

impl Request {
    /// Its name, for errors.
    pub(crate) fn name(&self) -> &'static str {
        match self {
            Self::Hello(_) => "HELLO",
            Self::Logon(_) => "LOGON",
            Self::Logoff => "LOGOFF",
            Self::Goodbye => "GOODBYE",
            Self::Reset => "RESET",
            Self::Run(_) => "RUN",
            Self::Begin(_) => "BEGIN",
            Self::Commit => "COMMIT",
            Self::Rollback => "ROLLBACK",
            Self::Demand(Demand { discard: false, .. }) => "PULL",
            Self::Demand(_) => "DISCARD",
            Self::Route { .. } => "ROUTE",
            Self::Telemetry => "TELEMETRY",
            Self::Unacceptable(_) => "of unknown kind",
        }
    }

    /// Reads a message. Its values may take so many bytes of memory.
    ///
    /// # Errors
    /// The client does not keep to the protocol: whatever follows cannot be trusted.
    pub(crate) fn read(
        message: &[u8],
        version: Version,
        dialect: Dialect,
        memory: usize,
    ) -> Result<Self, Failure> {
        match read(Decoder::new(message, dialect, memory), version) {
            Ok(request) => Ok(request),
            Err(Refusal::Unacceptable(failure)) => Ok(Self::Unacceptable(failure)),
            Err(Refusal::Malformed(found)) => {
                let message = format!("byte {} of the message: {}", found.at, found.what);
                Err(Failure::new("Neo.ClientError.Request.InvalidFormat", message))
            }
        }
    }
}

fn read(mut from: Decoder<'_>, version: Version) -> Result<Request, Refusal> {
    let Item::Structure { tag, fields } = from.reader.item()? else {
        return Err(from.reader.malformed("something else than a structure").into());
    };
    let since = |major, minor| version >= Version::new(major, minor);
    let expected = match tag {
        GOODBYE | RESET | COMMIT | ROLLBACK => 0,
        LOGOFF if since(5, 1) => 0,
        HELLO | BEGIN | PULL | DISCARD => 1,
        LOGON if since(5, 1) => 1,
        TELEMETRY if since(5, 4) => 1,
        RUN | ROUTE => 3,
        _ => return Err(from.reader.malformed("a kind of message that does not exist").into()),
    };
    if fields != expected {
        return Err(from.reader.malformed("another number of fields than expected").into());
    }
    // The outermost map is the protocol's own.
    let levels = value::NESTING_MAX + 1;
    let request = match tag {
        HELLO => Request::Hello(from.map(levels)?),
        LOGON => Request::Logon(from.map(levels)?),
        LOGOFF => Request::Logoff,
        GOODBYE => Request::Goodbye,
        RESET => Request::Reset,
        RUN => {
            let Item::String(text) = from.reader.item()? else {
                return Err(from.reader.malformed("a statement that is no string").into());
            };
            let text = text.to_owned();
            Request::Run(Run { text, parameters: from.map(levels)?, extra: from.map(levels)? })
        }
        BEGIN => Request::Begin(from.map(levels)?),
        COMMIT => Request::Commit,
        ROLLBACK => Request::Rollback,
        TELEMETRY => {
            from.value(0)?;
            Request::Telemetry
        }
        ROUTE => {
            let context = from.map(levels)?;
            let bookmarks = from.value(1)?;
            let extra = match since(4, 4) {
                true => from.map(levels)?,
                false => ValueMap::from_iter([("db".into(), from.value(0)?)]),
            };
            Request::Route { context, bookmarks, extra }
        }
        _ => Request::Demand(demand(&from.map(levels)?, tag == DISCARD)?),
    };
    match from.reader.is_at_end() {
        true => Ok(request),
        false => Err(from.reader.malformed("more than the message should hold").into()),
    }
}

/// What PULL and DISCARD say: `n`, -1 for all; `qid`, -1 for the last statement.
fn demand(extra: &ValueMap, discard: bool) -> Result<Demand, Refusal> {
    let int = |key| match extra.get(key) {
        None | Some(Value::Null) => Ok(-1),
        Some(Value::Int(value)) => Ok(*value),
        Some(other) => Err(invalid(format!("{key} is {}, expected INTEGER", other.type_name()))),
    };
    let rows = match int("n")? {
        -1 => None,
        n @ 1.. => Some(n as u64),
        n => return Err(invalid(format!("n is {n}: expected -1, for all, or at least 1"))),
    };
    Ok(Demand { discard, rows, qid: Some(int("qid")?).filter(|qid| *qid != -1) })
}

fn invalid(message: String) -> Refusal {
    Refusal::Unacceptable(Failure::new("Neo.ClientError.Request.Invalid", message))
}
