//! The values of `collect`, of all groups in one place.
//!
//! ```text
//! values   a  b  c  d  e  f      in the order in which they came
//! next     2  3  5  ∅  ∅  ∅      the next value of the same group
//! chains   group 0: first 0, last 5, 3 values (a c f);  group 1: first 1, ... (b d);  group 2: (e)
//! ```
//!
//! PERF: telar bench snb --only complex-5: a list for each of many groups, nearly all of them
//! short. A list of its own for each group grows, and moves, several times.

use telar_graph::value::heap_bytes;
use telar_graph::{Value, VertexId};

use crate::batch::Column;
use crate::error::{Detail, EvalError};
use crate::query_error::QueryError;
use crate::watch;
use crate::watch::sizes;

/// No value.
const NONE: u32 = u32::MAX;

/// The values of one group.
#[derive(Debug, Clone, Copy)]
struct Chain {
    first: u32,
    last: u32,
    count: u32,
}

impl Chain {
    const EMPTY: Self = Self { first: NONE, last: NONE, count: 0 };
}

/// Nodes, as long as nothing else came.
#[derive(Debug)]
enum Items {
    Vertices(Vec<VertexId>),
    Values(Vec<Value>),
}

/// Values for one list per group.
#[derive(Debug)]
pub(super) struct Collected {
    chains: Vec<Chain>,
    items: Items,
    next: Vec<u32>,
    /// Bytes of values beside their own places.
    heap: usize,
}

impl Items {
    fn len(&self) -> usize {
        match self {
            Self::Vertices(items) => items.len(),
            Self::Values(items) => items.len(),
        }
    }

    /// Moves an item out.
    fn take(&mut self, at: u32) -> Value {
        match self {
            Self::Vertices(items) => Value::Vertex(items[at as usize]),
            Self::Values(items) => std::mem::take(&mut items[at as usize]),
        }
    }

    /// Items of any kind from now on.
    fn values(&mut self) -> &mut Vec<Value> {
        if let Self::Vertices(items) = self {
            *self = Self::Values(items.drain(..).map(Value::Vertex).collect());
        }
        match self {
            Self::Values(items) => items,
            Self::Vertices(_) => unreachable!("INVARIANT: they were just replaced"),
        }
    }
}

impl Collected {
    pub(super) fn new() -> Self {
        let items = Items::Vertices(Vec::new());
        Self { chains: Vec::new(), items, next: Vec::new(), heap: 0 }
    }

    /// Makes room for so many groups.
    pub(super) fn grow(&mut self, groups: usize) {
        self.chains.resize(groups.max(self.chains.len()), Chain::EMPTY);
    }

    /// Bytes that it takes.
    pub(super) fn bytes(&self) -> usize {
        let items = match &self.items {
            Items::Vertices(items) => items.capacity() * size_of::<VertexId>(),
            Items::Values(items) => items.capacity() * size_of::<Value>(),
        };
        let next = self.next.capacity() * size_of::<u32>();
        self.chains.capacity() * size_of::<Chain>() + items + next + self.heap
    }

    /// The last item is one of this group.
    fn link(&mut self, group: u32) {
        let at = self.next.len() as u32;
        self.next.push(NONE);
        let chain = &mut self.chains[group as usize];
        if chain.count == 0 {
            chain.first = at;
        } else {
            self.next[chain.last as usize] = at;
        }
        chain.last = at;
        chain.count += 1;
    }

    fn push(&mut self, value: Value, group: u32) {
        self.heap += heap_bytes(&value);
        self.items.values().push(value);
        self.link(group);
    }

    /// Whether so many more have numbers, and room where the lists are when they grow.
    fn check(&self, more: usize) -> Result<(), QueryError> {
        let all = self.items.len() + more;
        if all < NONE as usize {
            if all > self.next.capacity() {
                // Twice as large, beside what they are now.
                watch::room(2 * all * (size_of::<Value>() + size_of::<u32>()))?;
            }
            return Ok(());
        }
        let message = format!("collect() cannot take more than {NONE} values in all groups");
        Err(EvalError::new(Detail::NumberOutOfRange, message).into())
    }

    /// Takes the values of a column that are not null.
    pub(super) fn update(&mut self, column: &Column, groups: &[u32]) -> Result<(), QueryError> {
        self.check(groups.len())?;
        if let (Items::Vertices(items), Some(vertices)) = (&mut self.items, column.vertices()) {
            items.extend_from_slice(vertices);
            groups.iter().for_each(|group| self.link(*group));
            return Ok(());
        }
        for (row, group) in groups.iter().enumerate() {
            let value = column.get(row);
            if !value.is_null() {
                sizes::check_element(&value)?;
                self.push(value, *group);
            }
        }
        Ok(())
    }

    /// Takes the values of others behind its own: each of their groups belongs to the group whose
    /// number is given.
    pub(super) fn merge(&mut self, mut others: Self, groups: &[u32]) -> Result<(), QueryError> {
        self.check(others.items.len())?;
        for (group, into) in (0..).zip(groups) {
            let mut at = others.chains[group].first;
            while at != NONE {
                match (&mut self.items, &others.items) {
                    (Items::Vertices(own), Items::Vertices(theirs)) => {
                        own.push(theirs[at as usize]);
                        self.link(*into);
                    }
                    _ => {
                        let value = others.items.take(at);
                        self.push(value, *into);
                    }
                }
                at = others.next[at as usize];
            }
        }
        Ok(())
    }

    /// Moves the values of a group out.
    fn list(&mut self, group: usize) -> Vec<Value> {
        let chain = std::mem::replace(&mut self.chains[group], Chain::EMPTY);
        let mut values = Vec::with_capacity(chain.count as usize);
        let mut at = chain.first;
        while at != NONE {
            values.push(self.items.take(at));
            at = self.next[at as usize];
        }
        values
    }

    /// Moves the values of some groups out.
    pub(super) fn take(&mut self, groups: impl Iterator<Item = usize>) -> Self {
        let mut taken = Self::new();
        for group in groups {
            taken.chains.push(Chain::EMPTY);
            for value in self.list(group) {
                self.heap = self.heap.saturating_sub(heap_bytes(&value));
                let number = taken.chains.len() as u32 - 1;
                match (&mut taken.items, value) {
                    (Items::Vertices(items), Value::Vertex(vertex)) => {
                        items.push(vertex);
                        taken.link(number);
                    }
                    (_, value) => taken.push(value, number),
                }
            }
        }
        taken
    }

    /// The lists of some groups.
    pub(super) fn finish(&mut self, groups: std::ops::Range<usize>) -> Result<Column, QueryError> {
        let list = |group| {
            let list = Value::from(self.list(group));
            sizes::check_value(&list)?;
            Ok(list)
        };
        Ok(Column::Values(groups.map(list).collect::<Result<_, QueryError>>()?))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn vertices(numbers: &[u64]) -> Column {
        Column::from(numbers.iter().map(|n| VertexId::from_raw(*n)).collect::<Vec<_>>())
    }

    fn node(number: u64) -> Value {
        Value::Vertex(VertexId::from_raw(number))
    }

    fn lists(collected: &mut Collected) -> Vec<Vec<Value>> {
        let groups = collected.chains.len();
        let lists = collected.finish(0..groups).unwrap().into_values();
        let elements = |list: Value| match list {
            Value::List(list) => list.to_vec(),
            other => panic!("{other:?}"),
        };
        lists.into_iter().map(elements).collect()
    }

    #[test]
    fn values_stay_in_order_whatever_their_types() {
        let mut all = Collected::new();
        all.grow(3);
        all.update(&vertices(&[1, 2, 3]), &[0, 1, 0]).unwrap();
        let mixed = vec![Value::Null, "x".into(), Value::Int(4), "y".into()];
        all.update(&Column::Values(mixed), &[0, 0, 1, 0]).unwrap();
        all.update(&vertices(&[5]), &[0]).unwrap();
        let want = [
            vec![node(1), node(3), "x".into(), "y".into(), node(5)],
            vec![node(2), Value::Int(4)],
            Vec::new(),
        ];
        assert_eq!(lists(&mut all), want);
    }

    #[test]
    fn groups_that_are_merged_or_taken_keep_their_order() {
        for text in [false, true] {
            let mut one = Collected::new();
            one.grow(2);
            one.update(&vertices(&[1, 2]), &[0, 1]).unwrap();
            let mut other = Collected::new();
            other.grow(3);
            other.update(&vertices(&[3, 4, 5, 6]), &[0, 1, 2, 0]).unwrap();
            if text {
                other.update(&Column::Same("x".into(), 1), &[2]).unwrap();
            }
            one.grow(3);
            one.merge(other, &[1, 0, 2]).unwrap();
            let last = if text { vec![node(5), "x".into()] } else { vec![node(5)] };
            let want = [vec![node(1), node(4)], vec![node(2), node(3), node(6)], last];
            let bytes = one.bytes();
            let mut taken = one.take([2, 0].into_iter());
            assert!(one.bytes() <= bytes && taken.bytes() > 0);
            assert_eq!(lists(&mut taken), [want[2].clone(), want[0].clone()]);
            assert_eq!(lists(&mut one), [Vec::new(), want[1].clone(), Vec::new()]);
        }
    }
}
