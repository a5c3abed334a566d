//! PackStream once more, written for tests alone, so that a mistake in the server's own cannot hide
//! itself. Structures keep their tag and fields.

/// A value as it is on the wire.
#[derive(Debug, Clone, PartialEq)]
pub(crate) enum Data {
    Null,
    Bool(bool),
    Int(i64),
    Float(f64),
    String(String),
    Bytes(Vec<u8>),
    List(Vec<Self>),
    Map(Vec<(String, Self)>),
    Structure(u8, Vec<Self>),
}

impl From<i64> for Data {
    fn from(value: i64) -> Self {
        Self::Int(value)
    }
}

impl From<&str> for Data {
    fn from(value: &str) -> Self {
        Self::String(value.into())
    }
}

impl<T: Into<Self>> From<Vec<T>> for Data {
    fn from(value: Vec<T>) -> Self {
        Self::List(value.into_iter().map(Into::into).collect())
    }
}

/// A map with these entries.
pub(crate) fn map<const N: usize>(entries: [(&str, Data); N]) -> Data {
    Data::Map(entries.into_iter().map(|(key, value)| (key.into(), value)).collect())
}

impl Data {
    /// The value of a key; null without it.
    pub(crate) fn get(&self, key: &str) -> &Self {
        let Self::Map(entries) = self else { panic!("no map: {self:?}") };
        entries.iter().find(|(name, _)| name == key).map_or(&Self::Null, |(_, value)| value)
    }

    pub(crate) fn int(&self) -> i64 {
        let Self::Int(value) = self else { panic!("no integer: {self:?}") };
        *value
    }

    pub(crate) fn text(&self) -> &str {
        let Self::String(value) = self else { panic!("no string: {self:?}") };
        value
    }

    pub(crate) fn list(&self) -> &[Self] {
        let Self::List(value) = self else { panic!("no list: {self:?}") };
        value
    }

    pub(crate) fn fields(&self, tag: u8) -> &[Self] {
        match self {
            Self::Structure(found, fields) if *found == tag => fields,
            _ => panic!("no structure {:?}: {self:?}", char::from(tag)),
        }
    }

    pub(crate) fn write(&self, out: &mut Vec<u8>) {
        let mut sized = |tiny: u8, wide: u8, len: usize| match len {
            0..16 if tiny != 0 => out.push(tiny | len as u8),
            _ => {
                out.push(wide);
                out.extend([24, 16, 8, 0].map(|shift| (len >> shift) as u8));
            }
        };
        match self {
            Self::Null => out.push(0xC0),
            Self::Bool(value) => out.push(if *value { 0xC3 } else { 0xC2 }),
            // Always as long as can be: what is short is the server's business.
            Self::Int(value) => {
                out.push(0xCB);
                out.extend((0..8).rev().map(|byte| (value >> (8 * byte)) as u8));
            }
            Self::Float(value) => {
                out.push(0xC1);
                out.extend((0..8).rev().map(|byte| (value.to_bits() >> (8 * byte)) as u8));
            }
            Self::String(value) => {
                sized(0x80, 0xD2, value.len());
                out.extend(value.bytes());
            }
            Self::Bytes(value) => {
                sized(0, 0xCE, value.len());
                out.extend(value);
            }
            Self::List(elements) => {
                sized(0x90, 0xD6, elements.len());
                elements.iter().for_each(|element| element.write(out));
            }
            Self::Map(entries) => {
                sized(0xA0, 0xDA, entries.len());
                for (key, value) in entries {
                    Self::from(key.as_str()).write(out);
                    value.write(out);
                }
            }
            Self::Structure(tag, fields) => {
                out.extend([0xB0 | fields.len() as u8, *tag]);
                fields.iter().for_each(|field| field.write(out));
            }
        }
    }

    /// Reads a value from the front of `bytes`.
    pub(crate) fn read(bytes: &mut &[u8]) -> Self {
        let marker = number(bytes, 1) as u8;
        let tiny = usize::from(marker & 15);
        match marker {
            0xC0 => Self::Null,
            0xC2 | 0xC3 => Self::Bool(marker == 0xC3),
            0xC1 => Self::Float(f64::from_bits(number(bytes, 8))),
            0x00..=0x7F | 0xF0..=0xFF => Self::Int(i64::from(marker as i8)),
            0xC8 => Self::Int(i64::from(number(bytes, 1) as i8)),
            0xC9 => Self::Int(i64::from(number(bytes, 2) as i16)),
            0xCA => Self::Int(i64::from(number(bytes, 4) as i32)),
            0xCB => Self::Int(number(bytes, 8) as i64),
            0x80..=0x8F => Self::string(bytes, tiny),
            0x90..=0x9F => Self::elements(bytes, tiny),
            0xA0..=0xAF => Self::entries(bytes, tiny),
            0xB0..=0xBF => {
                let tag = number(bytes, 1) as u8;
                Self::Structure(tag, (0..tiny).map(|_| Self::read(bytes)).collect())
            }
            _ => {
                let len = number(bytes, 1 << (marker & 3)) as usize;
                match marker & 0xFC {
                    0xCC => Self::Bytes(take(bytes, len).to_vec()),
                    0xD0 => Self::string(bytes, len),
                    0xD4 => Self::elements(bytes, len),
                    0xD8 => Self::entries(bytes, len),
                    _ => panic!("the marker {marker:02X} does not exist"),
                }
            }
        }
    }

    fn string(bytes: &mut &[u8], len: usize) -> Self {
        Self::String(String::from_utf8(take(bytes, len).to_vec()).unwrap())
    }

    fn elements(bytes: &mut &[u8], len: usize) -> Self {
        Self::List((0..len).map(|_| Self::read(bytes)).collect())
    }

    fn entries(bytes: &mut &[u8], len: usize) -> Self {
        let entry = |bytes: &mut &[u8]| {
            let Self::String(key) = Self::read(bytes) else { panic!("a key that is no string") };
            (key, Self::read(bytes))
        };
        Self::Map((0..len).map(|_| entry(bytes)).collect())
    }
}

fn take<'b>(bytes: &mut &'b [u8], len: usize) -> &'b [u8] {
    let (taken, rest) = bytes.split_at(len);
    *bytes = rest;
    taken
}

fn number(bytes: &mut &[u8], len: usize) -> u64 {
    take(bytes, len).iter().fold(0, |number, byte| number << 8 | u64::from(*byte))
}
