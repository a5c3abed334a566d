//! Values with structure: what they are made of, read from what a client sent.
//!
//! | tag | value | fields |
//! |---|---|---|
//! | `4E` | node | id, labels, properties, element id |
//! | `52` | relationship | id, start, end, type, properties, element ids: own, start, end |
//! | `72` | relationship of a path | id, type, properties, element id |
//! | `50` | path | nodes, relationships, which follows which |
//! | `44` | date | days since 1970 |
//! | `54` | time | nanoseconds of the day, offset in seconds |
//! | `74` | local time | nanoseconds of the day |
//! | `49`, `69` | date and time | seconds since 1970 UTC, nanoseconds, offset or zone |
//! | `46`, `66` | the same before Bolt 5 | seconds since 1970 by the clock, nanoseconds, ... |
//! | `64` | local date and time | seconds since 1970 by the clock, nanoseconds |
//! | `45` | duration | months, days, seconds, nanoseconds |
//! | `58`, `59` | point | reference system, two or three coordinates |
//! | `56` | vector (Bolt 6) | marker of the type of its coordinates, their bytes, big-endian |
//!
//! Element ids are there since Bolt 5. Bolt 4 has dates and times by the clock, unless both sides
//! agree on the patch `utc`. Before Bolt 6 a vector is a list of its coordinates.

use std::sync::Arc;

use telar_db::query::budget::SMALL_BYTES;
use telar_db::query::function::temporal::Zone;
use telar_db::query::{EvalError, QueryError, watch};
use telar_db::value::{
    ByteOrder, CoordinateType, Date, DateTime, Duration, LocalDateTime, LocalTime, Point, Srid,
    Time, UtcOffset, Vector,
};
use telar_db::{Value, ValueMap, value};

use super::client::Graph;
use super::packstream::decode::{Item, Malformed, Reader};
use super::version::Version;
use crate::dbms::Failure;

pub(crate) const NODE: u8 = b'N';
pub(crate) const RELATIONSHIP: u8 = b'R';
pub(crate) const UNBOUND_RELATIONSHIP: u8 = b'r';
pub(crate) const PATH: u8 = b'P';
pub(crate) const DATE: u8 = b'D';
pub(crate) const TIME: u8 = b'T';
pub(crate) const LOCAL_TIME: u8 = b't';
pub(crate) const DATE_TIME: u8 = b'I';
pub(crate) const DATE_TIME_ZONE: u8 = b'i';
pub(crate) const CLOCK_DATE_TIME: u8 = b'F';
pub(crate) const CLOCK_DATE_TIME_ZONE: u8 = b'f';
pub(crate) const LOCAL_DATE_TIME: u8 = b'd';
pub(crate) const DURATION: u8 = b'E';
pub(crate) const POINT_2D: u8 = b'X';
pub(crate) const POINT_3D: u8 = b'Y';
pub(crate) const VECTOR: u8 = b'V';

/// The markers of the types of coordinates of vectors: those of such numbers in PackStream.
const COORDINATES: [(CoordinateType, u8); 6] = [
    (CoordinateType::I8, 0xC8),
    (CoordinateType::I16, 0xC9),
    (CoordinateType::I32, 0xCA),
    (CoordinateType::I64, 0xCB),
    (CoordinateType::F32, 0xC6),
    (CoordinateType::F64, 0xC1),
];

/// The marker of a type of coordinates.
pub(crate) fn marker(ty: CoordinateType) -> u8 {
    let found = COORDINATES.iter().find(|(of, _)| *of == ty);
    found.map_or(0, |(_, marker)| *marker)
}

/// What differs between versions in how values are written.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct Dialect {
    /// Nodes and relationships have element ids.
    pub(crate) element_ids: bool,
    /// Dates and times count from 1970 UTC.
    pub(crate) utc: bool,
    /// Vectors have a structure.
    pub(crate) vectors: bool,
}

impl Dialect {
    /// What a version has.
    pub(crate) const fn of(version: Version) -> Self {
        let modern = version.major >= 5;
        Self { element_ids: modern, utc: modern, vectors: version.major >= 6 }
    }
}

/// Why a value cannot be had.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) enum Refusal {
    /// The bytes are no message: nothing that follows can be trusted.
    Malformed(Malformed),
    /// The message is understood, and not acceptable.
    Unacceptable(Failure),
}

impl From<Malformed> for Refusal {
    fn from(malformed: Malformed) -> Self {
        Self::Malformed(malformed)
    }
}

/// Reads values.
#[derive(Debug)]
pub(crate) struct Decoder<'b> {
    pub(crate) reader: Reader<'b>,
    dialect: Dialect,
    /// Bytes of memory that its values may still take.
    memory: usize,
    /// Those that they took since the server was asked whether it has room.
    unasked: usize,
    /// Where nodes and relationships go. Without, they are refused: they are no parameters.
    graph: Option<Graph>,
}

/// Memory that one entry of a map takes, beside its key's text and its value's contents.
const ENTRY_BYTES: usize = 96;
/// Memory that a list, map, text or the like takes beside its contents.
const SHARED_BYTES: usize = 64;

fn no_room(error: EvalError) -> Refusal {
    Refusal::Unacceptable(QueryError::from(error).into())
}

fn unacceptable(message: impl Into<String>) -> Refusal {
    Refusal::Unacceptable(Failure::new("Neo.ClientError.Request.Invalid", message))
}

impl<'b> Decoder<'b> {
    /// Reads a message whose values may take so many bytes of memory.
    pub(crate) fn new(bytes: &'b [u8], dialect: Dialect, memory: usize) -> Self {
        Self { reader: Reader::new(bytes), dialect, memory, unasked: 0, graph: None }
    }

    /// The same, for what a server sent.
    pub(crate) fn with_graph(self, graph: Graph) -> Self {
        Self { graph: Some(graph), ..self }
    }

    /// The nodes and relationships that were read.
    pub(crate) fn into_graph(self) -> Graph {
        self.graph.unwrap_or_default()
    }

    /// Takes memory for something to be built.
    fn hold(&mut self, bytes: usize) -> Result<(), Refusal> {
        self.memory = self.memory.checked_sub(bytes).ok_or_else(|| {
            unacceptable(
                "the values of a message take more memory than they may (bolt.message_bytes)",
            )
        })?;
        self.unasked += bytes;
        if self.unasked >= SMALL_BYTES {
            let asked = std::mem::take(&mut self.unasked);
            watch::room(asked).map_err(no_room)?;
        }
        Ok(())
    }

    /// The next value. Lists and maps nest `levels` deep at most.
    pub(crate) fn value(&mut self, levels: u32) -> Result<Value, Refusal> {
        let item = self.reader.item()?;
        if let Item::Bytes(contents) = item {
            self.hold(contents.len() + SHARED_BYTES)?;
        }
        Ok(match item {
            Item::Null => Value::Null,
            Item::Bool(value) => Value::Bool(value),
            Item::Int(value) => Value::Int(value),
            Item::Float(value) => Value::Float(value),
            Item::Bytes(value) => Value::Bytes(value.into()),
            Item::String(value) => {
                self.hold(value.len() + SHARED_BYTES)?;
                Value::from(value)
            }
            Item::List(len) => {
                let below = below(levels)?;
                self.hold(len * size_of::<Value>() + SHARED_BYTES)?;
                // Once more as much while the list is made of them.
                watch::room(2 * len * size_of::<Value>()).map_err(no_room)?;
                let mut elements = Vec::with_capacity(len);
                for _ in 0..len {
                    elements.push(self.value(below)?);
                }
                Value::List(elements.into())
            }
            Item::Map(len) => Value::Map(Arc::new(self.entries(len, levels)?)),
            Item::Structure { tag, fields } => {
                self.hold(SHARED_BYTES)?;
                match (tag, self.graph.take()) {
                    (NODE | RELATIONSHIP | PATH, Some(mut graph)) => {
                        let entity = self.entity(&mut graph, tag, fields, below(levels)?)?;
                        self.graph = Some(graph);
                        entity
                    }
                    (tag, graph) => {
                        self.graph = graph;
                        self.structure(tag, fields)?
                    }
                }
            }
        })
    }

    /// A map, or null for an empty one.
    pub(crate) fn map(&mut self, levels: u32) -> Result<ValueMap, Refusal> {
        match self.reader.item()? {
            Item::Map(len) => self.entries(len, levels),
            Item::Null => Ok(ValueMap::new()),
            _ => Err(self.reader.malformed("something else than the map expected").into()),
        }
    }

    fn entries(&mut self, len: usize, levels: u32) -> Result<ValueMap, Refusal> {
        let below = below(levels)?;
        self.hold(len * ENTRY_BYTES + SHARED_BYTES)?;
        let mut map = ValueMap::new();
        for _ in 0..len {
            let Item::String(key) = self.reader.item()? else {
                return Err(self.reader.malformed("a key of a map that is no string").into());
            };
            self.hold(key.len())?;
            if map.insert(key.into(), self.value(below)?).is_some() {
                return Err(unacceptable(format!("the key '{key}' stands twice in a map")));
            }
        }
        Ok(map)
    }

    /// A structure's integer field.
    pub(crate) fn int(&mut self) -> Result<i64, Refusal> {
        match self.reader.item()? {
            Item::Int(value) => Ok(value),
            _ => Err(self.reader.malformed("a field of a structure that is no integer").into()),
        }
    }

    fn float(&mut self) -> Result<f64, Refusal> {
        match self.reader.item()? {
            Item::Float(value) => Ok(value),
            _ => Err(self.reader.malformed("a coordinate that is no float").into()),
        }
    }

    pub(crate) fn string(&mut self) -> Result<&'b str, Refusal> {
        match self.reader.item()? {
            Item::String(value) => Ok(value),
            _ => Err(self.reader.malformed("a field of a structure that is no string").into()),
        }
    }

    fn structure(&mut self, tag: u8, fields: u8) -> Result<Value, Refusal> {
        let utc = self.dialect.utc;
        let expected = match tag {
            DATE | LOCAL_TIME => 1,
            TIME | LOCAL_DATE_TIME => 2,
            DATE_TIME | DATE_TIME_ZONE if utc => 3,
            CLOCK_DATE_TIME | CLOCK_DATE_TIME_ZONE if !utc => 3,
            VECTOR if self.dialect.vectors => 2,
            POINT_2D => 3,
            DURATION | POINT_3D => 4,
            VECTOR => return Err(no_parameter("Vector")),
            NODE => return Err(no_parameter("Node")),
            RELATIONSHIP | UNBOUND_RELATIONSHIP => return Err(no_parameter("Relationship")),
            PATH => return Err(no_parameter("Path")),
            _ => return Err(unacceptable(format!("no value has the structure tag 0x{tag:02X}"))),
        };
        if fields != expected {
            let message = "a structure with another number of fields than its kind has";
            return Err(self.reader.malformed(message).into());
        }
        Ok(match tag {
            DATE => Value::Date(Date::from_epoch_days(self.int()?).map_err(no_such)?),
            LOCAL_TIME => Value::LocalTime(self.local_time()?),
            TIME => Value::Time(Time::new(self.local_time()?, self.offset()?)),
            LOCAL_DATE_TIME => Value::LocalDateTime(self.clock()?),
            DURATION => {
                let [months, days, seconds] = [self.int()?, self.int()?, self.int()?];
                let duration = Duration::new(months, days, seconds, self.int()?);
                Value::Duration(Arc::new(duration.map_err(no_such)?))
            }
            POINT_2D | POINT_3D => {
                let number = self.int()?;
                let srid = u16::try_from(number).ok().and_then(Srid::from_raw);
                let srid = srid.ok_or_else(|| {
                    no_such(format!("there is no coordinate reference system {number}"))
                })?;
                let coordinates = (1..fields).map(|_| self.float()).collect::<Result<Vec<_>, _>>();
                Value::Point(Arc::new(Point::new(srid, &coordinates?).map_err(no_such)?))
            }
            VECTOR => Value::Vector(Arc::new(self.vector()?)),
            _ => Value::DateTime(Arc::new(self.date_time(tag)?)),
        })
    }

    fn bytes(&mut self) -> Result<&'b [u8], Refusal> {
        match self.reader.item()? {
            Item::Bytes(value) => Ok(value),
            _ => Err(self.reader.malformed("a field of a structure that is no byte string").into()),
        }
    }

    fn vector(&mut self) -> Result<Vector, Refusal> {
        let (marker, data) = (self.bytes()?, self.bytes()?);
        let ty = COORDINATES.iter().find(|(_, of)| [*of] == marker).map(|(ty, _)| *ty);
        let ty = ty.ok_or_else(|| unacceptable("a vector with coordinates of an unknown type"))?;
        if !data.len().is_multiple_of(ty.bytes()) {
            return Err(unacceptable("a vector whose last coordinate is cut off"));
        }
        self.hold(data.len() + SHARED_BYTES)?;
        Vector::of_bytes(ty, data, ByteOrder::Big).map_err(no_such)
    }

    fn local_time(&mut self) -> Result<LocalTime, Refusal> {
        LocalTime::from_nanos_of_day(self.int()?).map_err(no_such)
    }

    fn offset(&mut self) -> Result<UtcOffset, Refusal> {
        UtcOffset::from_seconds(self.int()?).map_err(no_such)
    }

    fn clock(&mut self) -> Result<LocalDateTime, Refusal> {
        let (seconds, nanos) = (self.int()?, self.int()?);
        LocalDateTime::from_epoch(seconds, nanos).map_err(no_such)
    }

    fn date_time(&mut self, tag: u8) -> Result<DateTime, Refusal> {
        match tag {
            CLOCK_DATE_TIME => Ok(DateTime::new(self.clock()?, self.offset()?)),
            CLOCK_DATE_TIME_ZONE => {
                let local = self.clock()?;
                self.zone()?.resolve(local, None).map_err(no_such)
            }
            DATE_TIME => {
                let (seconds, nanos) = (self.int()?, self.int()?);
                DateTime::from_epoch(seconds, nanos, self.offset()?).map_err(no_such)
            }
            _ => {
                let (seconds, nanos) = (self.int()?, self.int()?);
                self.zone()?.at_instant(seconds, nanos).map_err(no_such)
            }
        }
    }

    fn zone(&mut self) -> Result<Zone, Refusal> {
        Zone::parse(self.string()?).map_err(no_such)
    }
}

/// How deep what is below may nest.
fn below(levels: u32) -> Result<u32, Refusal> {
    let most = value::NESTING_MAX;
    let message = || unacceptable(format!("lists and maps nest more than {most} deep"));
    levels.checked_sub(1).ok_or_else(message)
}

fn no_parameter(what: &str) -> Refusal {
    let message = format!("{what} values cannot be used as parameters");
    Refusal::Unacceptable(Failure::new("Neo.ClientError.Statement.TypeError", message))
}

/// The fields are no such value: no such day, no such zone ...
fn no_such(reason: impl std::fmt::Display) -> Refusal {
    let code = "Neo.ClientError.Statement.ArgumentError";
    Refusal::Unacceptable(Failure::new(code, reason.to_string()))
}
