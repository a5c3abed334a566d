//! Values out of JSON. The bytes are foreign: nothing here panics, and what is refused says
//! where it stands.

use std::sync::Arc;

use base64ct::{Base64, Encoding};
use serde_json::Value as Json;
use telar_graph::value::{CoordinateType, NESTING_MAX, Point, Srid, Vector};
use telar_graph::{Value, ValueMap};
use telar_query::function::{Context, Moment, lookup};

use super::Notation;

/// The parameters of a statement: an object with a value per name.
///
/// Numbers of plain JSON are integers if they are written without point and exponent.
///
/// # Errors
/// What is wrong and where, for people.
pub fn read_parameters(notation: Notation, json: Json) -> Result<ValueMap, String> {
    let Json::Object(entries) = json else {
        return Err("parameters: expected an object".to_owned());
    };
    let reader = Reader { notation, mixed: false };
    let read = |(name, json): (String, Json)| {
        let place = |what: String| format!("parameter '{name}': {what}");
        let value = reader.value(json, NESTING_MAX).map_err(place)?;
        Ok((Arc::from(name), value))
    };
    entries.into_iter().map(read).collect()
}

/// The value that a JSON text stands for.
///
/// Numbers of plain JSON are integers if they are written without point and exponent.
///
/// # Errors
/// What is wrong, for people.
pub fn read_value(notation: Notation, text: &[u8]) -> Result<Value, String> {
    let json = serde_json::from_slice(text).map_err(|e| e.to_string())?;
    Reader { notation, mixed: false }.value(json, NESTING_MAX)
}

/// The value that a plain JSON text stands for, in which objects of `$type` and `_value` are typed.
///
/// # Errors
/// What is wrong, for people.
pub fn read_mixed_value(json: Json) -> Result<Value, String> {
    Reader { notation: Notation::Plain, mixed: true }.value(json, NESTING_MAX)
}

/// The value of one type of typed JSON that a text stands for: `Integer`, `Date`, `Point`, ...
///
/// # Errors
/// What is wrong, for people.
pub fn read_scalar(name: &str, text: &str) -> Result<Value, String> {
    scalar(name, text)
}

struct Reader {
    notation: Notation,
    /// Typed values may stand in plain JSON.
    mixed: bool,
}

fn integer(number: &serde_json::Number) -> Option<i64> {
    number.as_i64()
}

fn number(number: &serde_json::Number) -> Result<Value, String> {
    match (integer(number), number.as_f64()) {
        (Some(x), _) => Ok(Value::Int(x)),
        (None, Some(x)) if !number.is_u64() => Ok(Value::Float(x)),
        _ => Err(format!("{number} is not a 64-bit integer")),
    }
}

fn below(levels: u32) -> Result<u32, String> {
    let deep = || format!("lists and maps nest deeper than {NESTING_MAX} levels");
    levels.checked_sub(1).ok_or_else(deep)
}

/// `SRID=7203;POINT (1.2 3.4)` or `SRID=9157;POINT Z (1 2 3)`.
fn point(text: &str) -> Result<Point, String> {
    let form = || format!("'{text}' is not a point of the form SRID=7203;POINT (1.0 2.0)");
    let (srid, rest) =
        text.strip_prefix("SRID=").and_then(|t| t.split_once(';')).ok_or_else(form)?;
    let srid: u16 = srid.parse().map_err(|_| form())?;
    let srid = Srid::from_raw(srid).ok_or_else(|| format!("there is no SRID {srid}"))?;
    let rest = rest.strip_prefix("POINT").ok_or_else(form)?.trim_start();
    let rest = rest.strip_prefix('Z').unwrap_or(rest).trim_start();
    let inner = rest.strip_prefix('(').and_then(|t| t.strip_suffix(')')).ok_or_else(form)?;
    let coordinates: Result<Vec<f64>, _> = inner.split_whitespace().map(str::parse).collect();
    Point::new(srid, &coordinates.map_err(|_| form())?).map_err(|e| e.to_string())
}

fn float(text: &str) -> Result<f64, String> {
    match text {
        "NaN" | "-NaN" => Ok(f64::NAN),
        "Infinity" => Ok(f64::INFINITY),
        "-Infinity" => Ok(f64::NEG_INFINITY),
        _ => {
            let digits = text.bytes().all(|b| b.is_ascii_digit() || b"+-.eE".contains(&b));
            let parsed = text.parse().ok().filter(|_| digits);
            parsed.ok_or_else(|| format!("'{text}' is not a float"))
        }
    }
}

/// A vector: the type of its coordinates, and these as texts or numbers.
fn vector(entries: &serde_json::Map<String, Json>) -> Result<Value, String> {
    let form = || "a Vector is an object of coordinatesType and coordinates".to_owned();
    let (ty, all) = (entries.get("coordinatesType"), entries.get("coordinates"));
    let (Some(Json::String(ty)), Some(Json::Array(all)), 2) = (ty, all, entries.len()) else {
        return Err(form());
    };
    let ty = CoordinateType::from_name(ty)
        .ok_or_else(|| format!("there are no coordinates of type '{ty}'"))?;
    let coordinate = |json: &Json| match json {
        Json::Number(x) => number(x),
        Json::String(text) => match text.parse() {
            Ok(int) => Ok(Value::Int(int)),
            Err(_) => float(text).map(Value::Float),
        },
        _ => Err(form()),
    };
    let coordinates = all.iter().map(coordinate).collect::<Result<Vec<_>, _>>()?;
    Vector::of_values(ty, &coordinates).map(Value::from).map_err(|e| e.to_string())
}

/// A date and time in a zone with a name; the rules of the zone give the offset if the text does
/// not.
fn zoned(text: &str) -> Result<Value, String> {
    let function = lookup("datetime").ok_or("datetime() is missing")?;
    let value = function.call(&[Value::from(text)], &Context::new(Moment::now()));
    value.map_err(|e| e.message)
}

fn parse<T: std::str::FromStr<Err: std::fmt::Display>>(text: &str) -> Result<T, String> {
    text.parse().map_err(|e: T::Err| e.to_string())
}

/// A scalar of typed JSON.
fn scalar(name: &str, text: &str) -> Result<Value, String> {
    Ok(match name {
        "Integer" => {
            Value::Int(text.parse().map_err(|_| format!("'{text}' is not a 64-bit integer"))?)
        }
        "Float" => Value::Float(float(text)?),
        "String" => Value::from(text),
        "Base64" => {
            let bytes = Base64::decode_vec(text).map_err(|_| "not base64 with padding")?;
            Value::Bytes(bytes.into())
        }
        "Date" => Value::Date(parse(text)?),
        "LocalTime" => Value::LocalTime(parse(text)?),
        "Time" => Value::Time(parse(text)?),
        "LocalDateTime" => Value::LocalDateTime(parse(text)?),
        "OffsetDateTime" => Value::DateTime(Arc::new(parse(text)?)),
        "ZonedDateTime" => zoned(text)?,
        "Duration" => Value::Duration(Arc::new(parse(text)?)),
        "Point" => Value::Point(Arc::new(point(text)?)),
        "Node" | "Relationship" | "Path" => return Err(format!("a {name} is no parameter")),
        _ => return Err(format!("there is no type '{name}'")),
    })
}

impl Reader {
    fn value(&self, json: Json, levels: u32) -> Result<Value, String> {
        match self.notation {
            Notation::Plain => self.plain(json, levels),
            Notation::Typed => self.typed(json, levels),
        }
    }

    fn list(&self, elements: Vec<Json>, levels: u32) -> Result<Value, String> {
        let levels = below(levels)?;
        let elements = elements.into_iter().map(|element| self.value(element, levels));
        elements.collect::<Result<Vec<_>, _>>().map(|list| Value::List(list.into()))
    }

    fn map(&self, entries: serde_json::Map<String, Json>, levels: u32) -> Result<Value, String> {
        let levels = below(levels)?;
        let entry = |(key, json): (String, Json)| Ok((Arc::from(key), self.value(json, levels)?));
        let map: Result<ValueMap, String> = entries.into_iter().map(entry).collect();
        map.map(|map| Value::Map(Arc::new(map)))
    }

    fn plain(&self, json: Json, levels: u32) -> Result<Value, String> {
        match json {
            Json::Null => Ok(Value::Null),
            Json::Bool(x) => Ok(Value::Bool(x)),
            Json::Number(x) => number(&x),
            Json::String(text) => Ok(Value::from(text)),
            Json::Array(elements) => self.list(elements, levels),
            Json::Object(entries)
                if self.mixed && entries.len() == 2 && entries.contains_key("$type") =>
            {
                let typed = Self { notation: Notation::Typed, mixed: false };
                typed.typed(Json::Object(entries), levels)
            }
            Json::Object(entries) => self.map(entries, levels),
        }
    }

    fn typed(&self, json: Json, levels: u32) -> Result<Value, String> {
        let expected = || "expected an object of $type and _value".to_owned();
        let Json::Object(mut entries) = json else {
            return Err(expected());
        };
        let (name, value) = (entries.swap_remove("$type"), entries.swap_remove("_value"));
        let (Some(Json::String(name)), Some(value), true) = (name, value, entries.is_empty())
        else {
            return Err(expected());
        };
        match (name.as_str(), value) {
            ("Null", Json::Null) => Ok(Value::Null),
            ("Boolean", Json::Bool(x)) => Ok(Value::Bool(x)),
            ("List", Json::Array(elements)) => self.list(elements, levels),
            ("Map", Json::Object(entries)) => self.map(entries, levels),
            ("Vector", Json::Object(entries)) => vector(&entries),
            ("Integer", Json::Number(x)) => {
                let whole = integer(&x).map(Value::Int);
                whole.ok_or_else(|| format!("{x} is not a 64-bit integer"))
            }
            ("Float", Json::Number(x)) => {
                x.as_f64().map(Value::Float).ok_or_else(|| format!("{x} is not a float"))
            }
            (name @ ("Null" | "Boolean" | "List" | "Map" | "Vector"), _) => {
                Err(format!("_value is not what $type '{name}' needs"))
            }
            (name, Json::String(text)) => scalar(name, &text),
            (name, _) => Err(format!("_value of a {name} is a string")),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn read(notation: Notation, text: &str) -> Result<Value, String> {
        let json = serde_json::from_str(&format!("{{\"p\":{text}}}")).unwrap();
        read_parameters(notation, json).map(|map| map["p"].clone())
    }

    #[test]
    fn plain_numbers_are_integers_unless_written_as_floats() {
        assert_eq!(read(Notation::Plain, "9223372036854775807"), Ok(Value::Int(i64::MAX)));
        assert!(matches!(read(Notation::Plain, "1.0"), Ok(Value::Float(x)) if x == 1.0));
        assert!(matches!(read(Notation::Plain, "1e3"), Ok(Value::Float(x)) if x == 1000.0));
        // To the last bit: a random table once came back another one (telar-files, formats.rs).
        let float = -3.136_980_957_920_832e-153_f64;
        assert!(
            matches!(read(Notation::Plain, &format!("{float:e}")), Ok(Value::Float(x)) if x == float)
        );
        let error = read(Notation::Plain, "9223372036854775808").unwrap_err();
        assert_eq!(error, "parameter 'p': 9223372036854775808 is not a 64-bit integer");
    }

    #[test]
    fn typed_values_are_what_they_say() {
        let typed = |name: &str, text: &str| {
            read(Notation::Typed, &format!("{{\"$type\":\"{name}\",\"_value\":\"{text}\"}}"))
        };
        assert_eq!(typed("Integer", "-7"), Ok(Value::Int(-7)));
        assert!(matches!(typed("Float", "NaN"), Ok(Value::Float(x)) if x.is_nan()));
        assert_eq!(typed("Base64", "A2+/"), Ok(Value::Bytes([3, 0x6f, 0xbf].into())));
        assert_eq!(typed("Duration", "P14DT16H12M").unwrap().to_owned(), {
            Value::Duration(Arc::new("P14DT16H12M".parse().unwrap()))
        });
        let troll = typed("ZonedDateTime", "2015-11-21T21:40:32.142[Antarctica/Troll]").unwrap();
        let Value::DateTime(troll) = troll else { panic!("{troll:?}") };
        assert_eq!(troll.to_string(), "2015-11-21T21:40:32.142Z[Antarctica/Troll]");
        let point = typed("Point", "SRID=9157;POINT Z (1.0 2 -3e1)").unwrap();
        let Value::Point(point) = point else { panic!("{point:?}") };
        assert_eq!(point.coordinates(), [1.0, 2.0, -30.0]);
    }

    #[test]
    fn what_is_no_value_is_refused_with_its_place() {
        let cases = [
            (r#"{"$type":"Integer","_value":"1.5"}"#, "'1.5' is not a 64-bit integer"),
            (r#"{"$type":"Float","_value":"inf"}"#, "'inf' is not a float"),
            (r#"{"$type":"Node","_value":"x"}"#, "a Node is no parameter"),
            (r#"{"$type":"Integr","_value":"1"}"#, "there is no type 'Integr'"),
            (r#"{"$type":"Integer"}"#, "expected an object of $type and _value"),
            (r#"{"$type":"Null","_value":1}"#, "_value is not what $type 'Null' needs"),
            (r#"{"$type":"Null","_value":null,"x":1}"#, "expected an object of $type and _value"),
            ("1", "expected an object of $type and _value"),
            (r#"{"$type":"Base64","_value":"A2+"}"#, "not base64 with padding"),
            (r#"{"$type":"Point","_value":"SRID=1;POINT (1 2)"}"#, "there is no SRID 1"),
        ];
        for (json, message) in cases {
            let error = read(Notation::Typed, json).unwrap_err();
            assert_eq!(error, format!("parameter 'p': {message}"), "{json}");
        }
        let deep = format!("{}1{}", "[".repeat(65), "]".repeat(65));
        assert!(read(Notation::Plain, &deep).unwrap_err().contains("nest deeper than 64"));
    }
}
