//! What an index is asked for: the ranges of its entries that a seek wants for each row.

use std::collections::HashSet;
use std::ops::Bound;
use std::sync::Arc;

use telar_graph::spatial::PointBox;
use telar_graph::value::heap_bytes_of;
use telar_graph::{
    EntryFilter, IndexRange, IndexUnavailable, PropertyType, ReadError, Stop, Value,
};

use super::Exec;
use super::memory::Held;
use super::sort::sort_rows;
use crate::batch::{BATCH_ROWS, Batch, Column, Slot};
use crate::exec::eval::{self, eval};
use crate::expr::Expr;
use crate::expr::area::Area;
use crate::function::area::{around, within};
use crate::plan::{NextKey, Sought};
use crate::query_error::QueryError;
use crate::watch;

/// The values that a seek compares with, for a batch of rows.
pub(super) struct Ranges<'p> {
    sought: &'p Sought,
    prefix: Vec<Arc<Column>>,
    next: Next,
}

enum Next {
    Anything,
    Between(Option<Side>, Option<Side>),
    StartsWith(Arc<Column>),
    EndsWith(Arc<Column>),
    Contains(Arc<Column>),
    In(Area<Arc<Column>>),
}

/// A bound, and whether it belongs to the range.
type Side = (Arc<Column>, bool);

impl<'p> Ranges<'p> {
    pub(super) fn new(
        sought: &'p Sought,
        rows: &Batch,
        cx: &mut Exec<'_>,
    ) -> Result<Self, QueryError> {
        let prefix = sought.prefix.iter().map(|e| eval(e, rows, cx)).collect::<Result<_, _>>()?;
        let mut side = |side: &Option<(Expr, bool)>| match side {
            Some((e, inclusive)) => Ok::<_, QueryError>(Some((eval(e, rows, cx)?, *inclusive))),
            None => Ok(None),
        };
        let next = match &sought.next {
            NextKey::Anything => Next::Anything,
            NextKey::Between(from, to) => Next::Between(side(from)?, side(to)?),
            NextKey::StartsWith(e) => Next::StartsWith(eval(e, rows, cx)?),
            NextKey::EndsWith(e) => Next::EndsWith(eval(e, rows, cx)?),
            NextKey::Contains(e) => Next::Contains(eval(e, rows, cx)?),
            NextKey::In(area) => Next::In(area.try_map(|e| eval(e, rows, cx))?),
        };
        Ok(Self { sought, prefix, next })
    }

    /// Whether each row gives values for all keys of the index.
    pub(super) fn are_points(&self) -> bool {
        matches!(self.next, Next::Anything) && self.prefix.len() == self.sought.keys.len()
    }

    /// Number of leading keys that each row gives values for.
    pub(super) fn keys(&self) -> usize {
        self.prefix.len()
    }

    /// True if the index answers for these rows. An index of values of one type knows nothing of
    /// what equals another value; an area made of other values is an error, which is raised where
    /// the condition is tested.
    pub(super) fn can_be_told(&self, rows: usize) -> bool {
        let Some(held) = self.sought.kind.capability().holds else { return true };
        let is_held = |value: &Value| held.admits(value);
        let is_point = |value: &Value| PropertyType::Point.admits(value);
        let compared = |row: usize| {
            self.prefix.iter().all(|column| match column.get(row) {
                Value::List(values) if self.sought.any => values.iter().all(is_held),
                value => is_held(&value),
            })
        };
        let area = |row: usize| match &self.next {
            Next::In(Area::Box(low, high)) => is_point(&low.get(row)) && is_point(&high.get(row)),
            Next::In(Area::Circle { center, .. }) => is_point(&center.get(row)),
            _ => true,
        };
        (0..rows).all(|row| compared(row) && area(row))
    }

    /// True if the same object may be found by several ranges of a row: values that are not equal
    /// may share a key of the index.
    pub(super) fn may_overlap(&self) -> bool {
        !self.sought.kind.capability().sorted_by_value
    }

    /// Appends the values of the leading keys for a row to `keys`, and the row to `places` for each
    /// list of them, as [`prefixes`](Self::prefixes) says.
    pub(super) fn push_prefixes(
        &self,
        row: usize,
        exact: &mut bool,
        (keys, places): (&mut Vec<Value>, &mut Vec<u32>),
    ) {
        if self.sought.any {
            for prefix in self.prefixes(row, exact) {
                keys.extend(prefix);
                places.push(row as u32);
            }
            return;
        }
        // PERF: telar bench cypher, point: no list of one list.
        let first = keys.len();
        keys.extend(self.prefix.iter().map(|column| column.get(row)));
        if keys[first..].iter().any(Value::is_null) {
            return keys.truncate(first);
        }
        *exact &= keys[first..].iter().all(is_plain);
        places.push(row as u32);
    }

    /// The values of the leading keys for a row, one or, of a list, several: none where a value is
    /// null, which equals nothing. What the values leave to be tested is noted in `exact`.
    pub(super) fn prefixes(&self, row: usize, exact: &mut bool) -> Vec<Vec<Value>> {
        let prefix: Vec<Value> = self.prefix.iter().map(|column| column.get(row)).collect();
        if prefix.iter().any(Value::is_null) {
            return Vec::new();
        }
        let prefixes = match self.sought.any {
            false => vec![prefix],
            true => alternatives(prefix),
        };
        *exact &= prefixes.iter().flatten().all(is_plain);
        prefixes
    }

    fn is_descending(&self) -> bool {
        self.sought.order.as_ref().is_some_and(|order| order.descending)
    }

    fn filtered(&self, filter: EntryFilter) -> IndexRange {
        let descending = self.is_descending();
        IndexRange { descending, stop: STOP, ..IndexRange::filtered(filter) }
    }

    /// What is to be read for a row: nothing where a value is null, which is below and above
    /// nothing and begins nothing, either.
    pub(super) fn of(&self, row: usize, exact: &mut bool) -> Vec<IndexRange> {
        let text = |column: &Arc<Column>| match column.get(row) {
            Value::String(text) => Some(text),
            _ => None,
        };
        let (from, to) = match &self.next {
            Next::Contains(part) => {
                let filter = text(part).map(EntryFilter::Contains);
                return filter.map(|filter| self.filtered(filter)).into_iter().collect();
            }
            Next::EndsWith(end) => {
                let filter = text(end).map(EntryFilter::EndsWith);
                return filter.map(|filter| self.filtered(filter)).into_iter().collect();
            }
            Next::In(area) => {
                let filters = boxes(area, row).into_iter().map(EntryFilter::Within);
                return filters.map(|filter| self.filtered(filter)).collect();
            }
            Next::Anything => (Bound::Unbounded, Bound::Unbounded),
            Next::Between(from, to) => match (bound(from, row), bound(to, row)) {
                (Some(from), Some(to)) => (from, to),
                _ => return Vec::new(),
            },
            Next::StartsWith(start) => match text(start) {
                Some(start) => strings_with(&start),
                None => return Vec::new(),
            },
        };
        let descending = self.is_descending();
        let range = |prefix| {
            let (from, to) = (from.clone(), to.clone());
            IndexRange { prefix, from, to, descending, stop: STOP, ..IndexRange::default() }
        };
        self.prefixes(row, exact).into_iter().map(range).collect()
    }
}

/// Hits from which on no further rows are looked at before these are handed on.
pub(super) const MANY: usize = 1 << 20;

/// End of a long read of an index, when the statement is to be given up: whoever reads asks then.
const STOP: Option<Stop> = Some(Stop(watch::is_over));

/// Whether what an index has for a value is what `=` finds: not for NaN, which equals nothing, and
/// what may hold it, nor for durations, which an index orders by their average length.
fn is_plain(value: &Value) -> bool {
    match value {
        Value::Bool(_) | Value::Int(_) | Value::String(_) => true,
        Value::Float(x) => !x.is_nan(),
        _ => false,
    }
}

/// What a read of an index says: `false` if there is no such index any more, or not yet, so that
/// everything must be looked at.
pub(super) fn was_read(read: Result<(), ReadError>) -> Result<bool, QueryError> {
    match read {
        Ok(()) => Ok(true),
        Err(ReadError::Index(IndexUnavailable::Unknown(_) | IndexUnavailable::NotReady(_))) => {
            Ok(false)
        }
        Err(e) => Err(e.into()),
    }
}

/// Sorts what was found from a place on, and leaves each once.
pub(super) fn sort_from<T: Ord + Copy>(from: usize, found: &mut Vec<T>) {
    let mut last = found.split_off(from);
    last.sort_unstable();
    last.dedup();
    found.append(&mut last);
}

/// Objects that were not found by the index, in the order in which it would have them.
pub(super) fn in_order<T: Copy>(
    objects: Vec<T>,
    slot: Slot,
    sought: &Sought,
    cx: &mut Exec<'_>,
) -> Result<Vec<T>, QueryError>
where
    Column: From<Vec<T>>,
{
    let Some(order) = &sought.order else { return Ok(objects) };
    let mut held = Held::of("IndexSeek");
    let mut keys: Vec<Value> = Vec::with_capacity(objects.len());
    for some in objects.chunks(BATCH_ROWS) {
        cx.check()?;
        let mut rows = Batch::empty(some.len());
        rows.set(slot, Column::from(some.to_vec()));
        let values = eval(&order.key, &rows, cx)?;
        let before = keys.len();
        keys.extend((0..some.len()).map(|row| values.get(row)));
        let own = some.len() * (size_of::<Value>() + size_of::<T>() + size_of::<u32>());
        held.grow(own + heap_bytes_of(&keys[before..]), cx)?;
    }
    let compare = |a: &u32, b: &u32| {
        let ordering = keys[*a as usize].cmp(&keys[*b as usize]);
        let ordering = if order.descending { ordering.reverse() } else { ordering };
        ordering.then_with(|| a.cmp(b))
    };
    let mut places: Vec<u32> = (0..keys.len() as u32).collect();
    sort_rows(&mut places, compare, cx)?;
    Ok(places.into_iter().map(|place| objects[place as usize]).collect())
}

/// The rows for which the conditions of a seek hold, which its index may not have tested.
pub(super) fn tested(
    mut rows: Batch,
    sought: &Sought,
    cx: &mut Exec<'_>,
) -> Result<Batch, QueryError> {
    for condition in &sought.test {
        let holds = eval::condition(condition, &rows, cx)?;
        rows = rows.filter(&holds);
    }
    Ok(rows)
}

/// The boxes that hold every point of an area; none if there can be none.
fn boxes(area: &Area<Arc<Column>>, row: usize) -> Vec<PointBox> {
    match area.map(|column| column.get(row)) {
        Area::Box(Value::Point(low), Value::Point(high)) => within(&low, &high),
        Area::Circle { center: Value::Point(center), radius, .. } => match radius {
            Value::Int(radius) => around(&center, radius as f64),
            Value::Float(radius) => around(&center, radius),
            // No distance is less than what is no number.
            _ => Vec::new(),
        },
        _ => Vec::new(),
    }
}

fn bound(side: &Option<Side>, row: usize) -> Option<Bound<Value>> {
    Some(match side {
        None => Bound::Unbounded,
        Some((column, _)) if column.is_null(row) => return None,
        Some((column, true)) => Bound::Included(column.get(row)),
        Some((column, false)) => Bound::Excluded(column.get(row)),
    })
}

/// Strings with this beginning: up to the beginning whose last character is the next one.
fn strings_with(start: &Arc<str>) -> (Bound<Value>, Bound<Value>) {
    let mut end: String = start.to_string();
    let mut to = Bound::Unbounded;
    while let Some(last) = end.pop() {
        // Steps over the gap that is no character; after the last one there is none.
        if let Some(next) = (last..=char::MAX).nth(1) {
            end.push(next);
            to = Bound::Excluded(Value::from(end.as_str()));
            break;
        }
    }
    (Bound::Included(Value::String(Arc::clone(start))), to)
}

/// The prefixes to be looked for: one for each value in the list at the end, null left out.
fn alternatives(mut prefix: Vec<Value>) -> Vec<Vec<Value>> {
    let values = match prefix.pop() {
        Some(Value::List(values)) => values,
        // As IN has it where there is no index.
        Some(single) => Arc::from([single]),
        None => return Vec::new(),
    };
    let mut seen: HashSet<&Value> = HashSet::new();
    let each = values.iter().filter(|value| !value.is_null() && seen.insert(*value));
    each.map(|value| prefix.iter().chain([value]).cloned().collect()).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn beginnings_end_where_the_next_one_begins() {
        let end = |start: &str| match strings_with(&Arc::from(start)) {
            (Bound::Included(_), Bound::Excluded(Value::String(end))) => Some(end.to_string()),
            _ => None,
        };
        assert_eq!(end("ab").as_deref(), Some("ac"));
        assert_eq!(end("a\u{10ffff}\u{10ffff}").as_deref(), Some("b"));
        assert_eq!(end("\u{d7ff}").as_deref(), Some("\u{e000}"));
        assert_eq!(end("\u{10ffff}"), None);
        assert_eq!(end(""), None);
    }
}
