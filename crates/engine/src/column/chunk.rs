//! Settled values of one segment, in the tightest form that holds them.

use std::collections::HashSet;
use std::ops::Range;
use std::sync::Arc;

use telar_graph::column::FloatBlock;
use telar_graph::value::heap_bytes;
use telar_graph::{Column, Value};

use super::{Chunk, states};
use crate::adjacency::SEGMENT_VERTICES;
use crate::column::property;
use crate::mapped;

/// So few values are kept as a list. A schema may have thousands of keys that a handful of vertices
/// has, and an array of 1024 places for each would be all of the memory.
pub(crate) const FEW_MAX: usize = 16;

/// Words of a presence bitmap.
pub(crate) const BITMAP_WORDS: usize = SEGMENT_VERTICES / 64;

/// Label-set numbers of a segment's vertices; 0 means that there is no vertex.
#[derive(Debug)]
pub(crate) enum StateChunk {
    /// All the same.
    Uniform(u32),
    /// One each; and how many there are of each, so that counting looks at no vertex.
    Dense(Box<[u32; SEGMENT_VERTICES]>, Box<[(u32, u32)]>),
}

impl StateChunk {
    /// How many vertices are in each state.
    pub(crate) fn counts(&self) -> impl Iterator<Item = (u32, u32)> + '_ {
        let (uniform, dense): (_, &[(u32, u32)]) = match self {
            Self::Uniform(state) => (Some((*state, SEGMENT_VERTICES as u32)), &[]),
            Self::Dense(_, counts) => (None, counts),
        };
        uniform.into_iter().chain(dense.iter().copied())
    }
}

impl Chunk for StateChunk {
    type Value = u32;

    fn absent() -> Self {
        Self::Uniform(0)
    }

    #[inline]
    fn get(&self, local: usize) -> u32 {
        match self {
            Self::Uniform(state) => *state,
            Self::Dense(states, _) => states[local],
        }
    }

    fn build(values: &[u32; SEGMENT_VERTICES]) -> Self {
        if values.iter().all(|v| *v == values[0]) {
            Self::Uniform(values[0])
        } else {
            let mut sorted = *values;
            sorted.sort_unstable();
            let runs = sorted.chunk_by(|a, b| a == b);
            let counts = runs.map(|same| (same[0], same.len() as u32)).collect();
            Self::Dense(Box::new(*values), counts)
        }
    }

    fn decode(value: &mapped::Value<'_>) -> Result<Self, String> {
        let states = states::decode(value.body, value.label_sets, value.version)?;
        Ok(Self::build(&states))
    }

    fn bytes(&self) -> usize {
        match self {
            Self::Uniform(_) => 0,
            Self::Dense(_, counts) => SEGMENT_VERTICES * 4 + size_of_val(&**counts),
        }
    }
}

/// One bit per place: is there a value?
pub(crate) type Presence = Box<[u64; BITMAP_WORDS]>;

/// Property values of a segment. Values of one type are stored unboxed; a mixture is legal.
#[derive(Debug)]
pub(crate) enum PropertyChunk {
    /// No values.
    Absent,
    /// At most [`FEW_MAX`] values of any type, each with its place, ascending.
    Few(Box<[(u16, Value)]>),
    /// Truth values.
    Bool(Presence, Presence),
    /// Integers.
    Int(Presence, Box<[i64; SEGMENT_VERTICES]>),
    /// Floats.
    Float(Presence, Box<[f64; SEGMENT_VERTICES]>),
    /// Strings; equal ones share their text.
    Text(Box<[Option<Arc<str>>; SEGMENT_VERTICES]>),
    /// Lists or vectors of floats of one length: of each place the number of its list, and the
    /// lists.
    FloatLists(Box<[u16; SEGMENT_VERTICES]>, Arc<FloatBlock>),
    /// Anything else, and mixtures.
    Mixed(Box<[Value; SEGMENT_VERTICES]>),
}

/// Number of the list of a place that has none.
pub(crate) const NO_LIST: u16 = u16::MAX;

/// The number of the list of a place.
#[inline]
fn list_at(numbers: &[u16; SEGMENT_VERTICES], local: usize) -> Option<u32> {
    let number = numbers[local];
    (number != NO_LIST).then_some(number.into())
}

/// The chunk of lists or vectors that are all of floats and of one length, if they are.
fn float_lists(values: &[Value; SEGMENT_VERTICES]) -> Option<PropertyChunk> {
    let block = FloatBlock::of(values.iter().filter(|value| !value.is_null()))?;
    let numbers = numbers_of(|local| !values[local].is_null());
    Some(PropertyChunk::FloatLists(numbers, Arc::new(block)))
}

/// Numbers, counted up, of the lists of those places that have one.
pub(crate) fn numbers_of(has: impl Fn(usize) -> bool) -> Box<[u16; SEGMENT_VERTICES]> {
    let mut numbers = Box::new([NO_LIST; SEGMENT_VERTICES]);
    let having = numbers.iter_mut().enumerate().filter(|(local, _)| has(*local));
    having.enumerate().for_each(|(number, (_, of_place))| *of_place = number as u16);
    numbers
}

/// Bytes of a vector beside its place.
fn vector_bytes(value: &Value) -> usize {
    if let Value::Vector(_) = value { heap_bytes(value) } else { 0 }
}

/// Bytes of a text or vector beside its place.
fn large(value: &Value) -> usize {
    if let Value::String(text) = value { text.len() + 16 } else { vector_bytes(value) }
}

fn bit(bits: &[u64; BITMAP_WORDS], i: usize) -> bool {
    bits[i / 64] >> (i % 64) & 1 == 1
}

/// True if the bits of places that follow each other are all set.
fn are_set(bits: &[u64; BITMAP_WORDS], places: &Range<usize>) -> bool {
    if places.is_empty() {
        return true;
    }
    (places.start / 64..places.end.div_ceil(64)).all(|word| {
        let (first, end) = (places.start.max(word * 64), places.end.min((word + 1) * 64));
        let mask = u64::MAX >> (64 - (end - first)) << (first % 64);
        bits[word] & mask == mask
    })
}

/// The bits of the places for which `f` holds.
pub(crate) fn collect_bits(mut f: impl FnMut(usize) -> bool) -> Presence {
    let mut bits = Box::new([0; BITMAP_WORDS]);
    for i in 0..SEGMENT_VERTICES {
        bits[i / 64] |= u64::from(f(i)) << (i % 64);
    }
    bits
}

fn collect<T: Copy + Default>(
    values: &[Value; SEGMENT_VERTICES],
    f: impl Fn(&Value) -> Option<T>,
) -> Box<[T; SEGMENT_VERTICES]> {
    let mut out = Box::new([T::default(); SEGMENT_VERTICES]);
    for (to, from) in out.iter_mut().zip(values) {
        *to = f(from).unwrap_or_default();
    }
    out
}

fn share_text(values: &[Value; SEGMENT_VERTICES]) -> Box<[Option<Arc<str>>; SEGMENT_VERTICES]> {
    let mut seen: HashSet<Arc<str>> = HashSet::new();
    let mut out = Box::new([const { None }; SEGMENT_VERTICES]);
    for (to, from) in out.iter_mut().zip(values) {
        if let Value::String(text) = from {
            let shared = seen.get(text).cloned().unwrap_or_else(|| {
                seen.insert(Arc::clone(text));
                Arc::clone(text)
            });
            *to = Some(shared);
        }
    }
    out
}

/// The value at `local` of few.
#[inline]
fn find(few: &[(u16, Value)], local: usize) -> Option<&Value> {
    let at = few.binary_search_by_key(&local, |(place, _)| usize::from(*place)).ok()?;
    Some(&few[at].1)
}

impl PropertyChunk {
    /// One whose values have a place each, however few they are.
    pub(crate) fn wide(values: &[Value; SEGMENT_VERTICES]) -> Self {
        let mut present = values.iter().filter(|v| !v.is_null());
        let Some(first) = present.next() else {
            return Self::Absent;
        };
        let kind = std::mem::discriminant(first);
        if present.any(|v| std::mem::discriminant(v) != kind) {
            return Self::Mixed(Box::new(values.clone()));
        }
        let some = || collect_bits(|i| !values[i].is_null());
        match first {
            Value::Bool(_) => {
                Self::Bool(some(), collect_bits(|i| matches!(values[i], Value::Bool(true))))
            }
            Value::Int(_) => Self::Int(
                some(),
                collect(values, |v| if let Value::Int(i) = v { Some(*i) } else { None }),
            ),
            Value::Float(_) => Self::Float(
                some(),
                collect(values, |v| if let Value::Float(x) = v { Some(*x) } else { None }),
            ),
            Value::String(_) => Self::Text(share_text(values)),
            Value::List(_) | Value::Vector(_) if let Some(lists) = float_lists(values) => lists,
            _ => Self::Mixed(Box::new(values.clone())),
        }
    }

    /// The same values, as a list if they are few.
    pub(crate) fn tight(self) -> Self {
        let places = (0..SEGMENT_VERTICES).filter(|local| self.has(*local));
        Self::of_few(places.map(|local| (local, self.get(local)))).unwrap_or(self)
    }

    /// One of these values, ascending by place, if they are few.
    fn of_few(present: impl Iterator<Item = (usize, Value)>) -> Option<Self> {
        let first = present.take(FEW_MAX + 1).map(|(local, value)| (local as u16, value));
        let few: Vec<(u16, Value)> = first.collect();
        match few.len() {
            0 => Some(Self::Absent),
            1..=FEW_MAX => Some(Self::Few(few.into())),
            _ => None,
        }
    }

    /// Every value, nulls included.
    pub(crate) fn values(&self) -> Box<[Value; SEGMENT_VERTICES]> {
        let mut values = Box::new([const { Value::Null }; SEGMENT_VERTICES]);
        values.iter_mut().enumerate().for_each(|(local, value)| *value = self.get(local));
        values
    }

    /// Whether there is a value at `local`.
    pub(crate) fn has(&self, local: usize) -> bool {
        match self {
            Self::Absent => false,
            Self::Few(few) => find(few, local).is_some(),
            Self::Bool(some, _) | Self::Int(some, _) | Self::Float(some, _) => bit(some, local),
            Self::Text(v) => v[local].is_some(),
            Self::FloatLists(numbers, _) => numbers[local] != NO_LIST,
            Self::Mixed(v) => !v[local].is_null(),
        }
    }

    /// Appends the values at these places.
    #[inline]
    pub(crate) fn append_to(&self, places: impl ExactSizeIterator<Item = usize>, out: &mut Column) {
        match self {
            Self::Absent => out.push_nulls(places.len()),
            Self::Bool(some, v) => {
                out.extend(places.map(|place| bit(some, place).then(|| bit(v, place))));
            }
            Self::Int(some, v) => {
                out.extend(places.map(|place| bit(some, place).then(|| v[place])));
            }
            Self::Float(some, v) => {
                out.extend(places.map(|place| bit(some, place).then(|| v[place])));
            }
            Self::Text(v) => out.extend_texts(places.map(|place| v[place].as_ref())),
            Self::FloatLists(numbers, block) => {
                out.extend_float_lists(block, places.map(|place| list_at(numbers, place)));
            }
            Self::Few(_) | Self::Mixed(_) => places.for_each(|place| out.push(self.get(place))),
        }
    }

    /// Appends the values at places that follow each other.
    #[inline]
    pub(crate) fn append_run(&self, run: Range<usize>, out: &mut Column) {
        // PERF: crates/db/examples/vector_index.rs, 1 %: numbers without a gap are copied.
        match self {
            Self::Int(some, v) if are_set(some, &run) => out.extend_from_slice(&v[run]),
            Self::Float(some, v) if are_set(some, &run) => out.extend_from_slice(&v[run]),
            _ => self.append_to(run, out),
        }
    }
}

impl Chunk for PropertyChunk {
    type Value = Value;

    fn absent() -> Self {
        Self::Absent
    }

    fn get(&self, local: usize) -> Value {
        match self {
            Self::Absent => Value::Null,
            Self::Few(few) => find(few, local).cloned().unwrap_or_default(),
            Self::Bool(some, v) if bit(some, local) => Value::Bool(bit(v, local)),
            Self::Int(some, v) if bit(some, local) => Value::Int(v[local]),
            Self::Float(some, v) if bit(some, local) => Value::Float(v[local]),
            Self::Text(v) => v[local].clone().map_or(Value::Null, Value::String),
            Self::FloatLists(numbers, block) => {
                list_at(numbers, local).map_or(Value::Null, |at| block.value(at as usize))
            }
            Self::Mixed(v) => v[local].clone(),
            Self::Bool(..) | Self::Int(..) | Self::Float(..) => Value::Null,
        }
    }

    fn build(values: &[Value; SEGMENT_VERTICES]) -> Self {
        let present = values.iter().enumerate().filter(|(_, value)| !value.is_null());
        let present = present.map(|(local, value)| (local, value.clone()));
        Self::of_few(present).unwrap_or_else(|| Self::wide(values))
    }

    fn with_few(&self, writes: &[(u32, Value)]) -> Option<Self> {
        let few: &[(u16, Value)] = match self {
            Self::Absent => &[],
            Self::Few(few) => few,
            _ => return None,
        };
        if few.len() + writes.len() > FEW_MAX {
            return None;
        }
        let mut values = few.to_vec();
        for (local, value) in writes {
            let local = *local as u16;
            match values.binary_search_by_key(&local, |(place, _)| *place) {
                Ok(at) => values[at].1 = value.clone(),
                Err(at) => values.insert(at, (local, value.clone())),
            }
        }
        values.retain(|(_, value)| !value.is_null());
        Some(if values.is_empty() { Self::Absent } else { Self::Few(values.into()) })
    }

    fn decode(value: &mapped::Value<'_>) -> Result<Self, String> {
        property::decode(value.body, value.version)
    }

    fn bytes(&self) -> usize {
        const BITMAP: usize = BITMAP_WORDS * 8;
        match self {
            Self::Absent => 0,
            Self::Few(few) => {
                size_of_val(&**few) + few.iter().map(|(_, v)| large(v)).sum::<usize>()
            }
            Self::Bool(..) => 2 * BITMAP,
            Self::Int(..) | Self::Float(..) => BITMAP + SEGMENT_VERTICES * 8,
            Self::Text(v) => {
                let mut seen = HashSet::new();
                let text = v.iter().flatten().filter(|t| seen.insert(t.as_ptr()));
                size_of_val(&**v) + text.map(|t| t.len() + 16).sum::<usize>()
            }
            Self::FloatLists(numbers, block) => size_of_val(&**numbers) + block.bytes(),
            Self::Mixed(v) => size_of_val(&**v) + v.iter().map(vector_bytes).sum::<usize>(),
        }
    }
}

#[cfg(test)]
mod tests {
    use telar_graph::value::{CoordinateType, Vector};

    use super::*;

    fn values(f: impl Fn(usize) -> Value) -> Box<[Value; SEGMENT_VERTICES]> {
        let all: Vec<Value> = (0..SEGMENT_VERTICES).map(f).collect();
        all.into_boxed_slice().try_into().unwrap()
    }

    #[test]
    fn every_kind_of_chunk_returns_what_was_put_in() {
        let vector = |ty: CoordinateType, x: f64| {
            Value::from(Vector::of_values(ty, &[x.into(), 0.1.into()]).unwrap())
        };
        let makers: [&dyn Fn(usize) -> Value; 12] = [
            &|_| Value::Null,
            &|i| {
                if i % 3 == 0 { Value::Null } else { Value::Bool(i % 2 == 0) }
            },
            &|i| {
                if i % 5 == 1 { Value::Null } else { Value::Int(i as i64 - 500) }
            },
            &|i| {
                if i % 7 == 1 { Value::Null } else { Value::Float(i as f64 / 3.0) }
            },
            &|i| {
                if i % 2 == 1 { Value::Null } else { format!("name {}", i % 10).as_str().into() }
            },
            &|i| {
                if i % 2 == 1 { Value::Int(1) } else { Value::Float(1.0) }
            },
            &|i| {
                if i % 3 == 1 { Value::Null } else { Value::list([i as f64, -0.5, f64::NAN]) }
            },
            &|i| Value::list([i as f64 / 3.0, f64::MAX]),
            // Of several lengths, and of none.
            &|i| Value::list((0..i % 3).map(|x| x as f64)),
            &|i| if i % 3 == 1 { Value::Null } else { vector(CoordinateType::F32, i as f64) },
            &|i| vector(CoordinateType::F64, i as f64 / 3.0),
            // Integers have no block.
            &|i| vector(CoordinateType::I16, i as f64),
        ];
        for (make, present) in makers.iter().flat_map(|make| {
            [0, 1, FEW_MAX / 2, FEW_MAX, FEW_MAX + 1, SEGMENT_VERTICES].map(|n| (make, n))
        }) {
            // So many of the values, spread over the segment.
            let mut input = values(make);
            let some: Vec<usize> = (0..SEGMENT_VERTICES).filter(|i| !input[*i].is_null()).collect();
            let step = (some.len() / present.max(1)).max(1);
            for (n, i) in some.iter().enumerate() {
                if n % step != 0 || n / step >= present {
                    input[*i] = Value::Null;
                }
            }
            let present = input.iter().filter(|v| !v.is_null()).count();
            let chunk = PropertyChunk::build(&input);
            let is_few = matches!(chunk, PropertyChunk::Few(_));
            assert_eq!(is_few, (1..=FEW_MAX).contains(&present));
            assert_eq!(matches!(chunk, PropertyChunk::Absent), present == 0);
            let wide = PropertyChunk::wide(&input);
            // Two bits for each place are little already.
            assert!(!is_few || chunk.bytes() < wide.bytes().max(1 << 10));
            for chunk in [chunk, wide.tight(), PropertyChunk::wide(&input)] {
                assert_eq!(chunk.values(), input);
                for (i, v) in input.iter().enumerate() {
                    let got = chunk.get(i);
                    assert_eq!(&got, v);
                    assert_eq!(std::mem::discriminant(&got), std::mem::discriminant(v));
                    assert_eq!(chunk.has(i), !v.is_null());
                }
                let mut column = Column::default();
                chunk.append_to(0..SEGMENT_VERTICES, &mut column);
                assert_eq!(column.into_values(), *input);
                let places = [1023, 0, 7, 7, 512];
                let (mut some, picked) =
                    (Column::from(vec![true]), places.map(|place| input[place].clone()));
                chunk.append_to(places.into_iter(), &mut some);
                assert_eq!(some.into_values()[1..], picked);
                for run in
                    [0..1024, 0..0, 5..5, 1024..1024, 3..4, 63..65, 64..128, 5..1000, 960..1024]
                {
                    let mut some = Column::from(vec![7]);
                    chunk.append_run(run.clone(), &mut some);
                    assert_eq!(some.into_values()[1..], input[run]);
                }
            }
        }
    }

    #[test]
    fn lists_of_floats_take_as_many_bytes_as_their_numbers_need() {
        let some = |f: fn(usize) -> f64| {
            let list = |i| Value::list((0..100).map(|x| f(i + x)));
            PropertyChunk::build(&values(|i| if i % 4 == 0 { list(i) } else { Value::Null }))
        };
        let lists = SEGMENT_VERTICES / 4;
        assert_eq!(some(|x| x as f64 / 2.0).bytes(), 2 * SEGMENT_VERTICES + lists * 100 * 4);
        assert_eq!(some(|x| x as f64 / 3.0).bytes(), 2 * SEGMENT_VERTICES + lists * 100 * 8);
        let narrow = PropertyChunk::build(&values(|i| Value::list([i as f64, f64::NAN, -0.0])));
        assert!(matches!(narrow, PropertyChunk::FloatLists(..)));
        let Value::List(list) = narrow.get(3) else { panic!("a list") };
        let bits = |x: &Value| if let Value::Float(x) = x { x.to_bits() } else { 0 };
        assert_eq!(bits(&list[2]), (-0.0f64).to_bits());
    }

    #[test]
    fn few_values_over_few_are_what_all_of_them_make() {
        let few = |from: usize, n: usize| {
            values(|i| if i >= from && i < from + n { Value::Int(i as i64) } else { Value::Null })
        };
        for (from, n) in [(0, 0), (3, 1), (3, 9), (1020, 4), (0, FEW_MAX), (0, FEW_MAX + 1)] {
            for (first, writes) in [(0, 0), (1, 1), (5, 7), (1015, 9), (0, FEW_MAX)] {
                for null in [false, true] {
                    let mut all = few(from, n);
                    let value = |i: u32| if null { Value::Null } else { format!("{i}")[..].into() };
                    // In no order.
                    let written: Vec<(u32, Value)> =
                        (first..first + writes as u32).rev().map(|i| (i, value(i))).collect();
                    let chunk = PropertyChunk::build(&all).with_few(&written);
                    assert_eq!(chunk.is_some(), n + writes <= FEW_MAX);
                    written.into_iter().for_each(|(i, value)| all[i as usize] = value);
                    let Some(chunk) = chunk else { continue };
                    assert_eq!(chunk.values(), all);
                    let built = PropertyChunk::build(&all);
                    let kind = std::mem::discriminant::<PropertyChunk>;
                    assert_eq!(kind(&chunk), kind(&built));
                }
            }
        }
    }

    #[test]
    fn equal_strings_share_their_text() {
        let chunk = PropertyChunk::build(&values(|i| format!("city {}", i % 4).as_str().into()));
        let PropertyChunk::Text(text) = &chunk else { panic!("one type: text") };
        let distinct: HashSet<_> = text.iter().flatten().map(|t| t.as_ptr()).collect();
        assert_eq!(distinct.len(), 4);
    }
}
