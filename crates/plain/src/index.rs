//! Reads of indexes: every object is looked at, and those that are found are sorted.

use std::ops::Bound;

use telar_graph::order::OrderRank;
use telar_graph::update::IndexedObjects;
use telar_graph::{
    EdgeId, EntryFilter, IndexId, IndexKind, IndexRange, IndexUnavailable, SchemaRule, Value,
    VertexId, sortkey, spatial,
};

use crate::{PlainGraph, Properties};

/// The bytes of an entry's values in the order of the index; `None` if it has no entry.
fn key(rule: &SchemaRule, properties: &Properties) -> Option<(Vec<Value>, Vec<u8>)> {
    let value = |key| properties.get(key).cloned().filter(|value| !value.is_null());
    let values: Vec<Value> = rule.properties.iter().map(value).collect::<Option<_>>()?;
    let mut bytes = Vec::new();
    match (rule.kind.index()?, &values[..]) {
        (IndexKind::Text, [Value::String(_)]) => sortkey::encode(&values[0], &mut bytes),
        (IndexKind::Point, [Value::Point(point)]) => {
            let code = spatial::code(point);
            bytes.extend((0..16).rev().map(|byte| (code >> (8 * byte)) as u8));
        }
        // Nobody asks it for values: procedures read the objects.
        (IndexKind::Text | IndexKind::Point | IndexKind::Fulltext | IndexKind::Vector, _) => {
            return None;
        }
        _ => values.iter().for_each(|value| sortkey::encode(value, &mut bytes)),
    }
    Some((values, bytes))
}

/// True if a value lies within a range's bounds.
fn is_within(range: &IndexRange, value: &Value) -> bool {
    let rank = |bound: &Bound<Value>| match bound {
        Bound::Included(value) | Bound::Excluded(value) => Some(OrderRank::of(value)),
        Bound::Unbounded => None,
    };
    // A side that is open while the other is not ends with the type of the other.
    let ranks = [rank(&range.from), rank(&range.to)];
    let same = |of: &Option<OrderRank>| of.is_none_or(|rank| rank == OrderRank::of(value));
    let one_sided = ranks.iter().any(Option::is_none);
    (!one_sided || ranks.iter().all(same))
        && match &range.from {
            Bound::Included(from) => value >= from,
            Bound::Excluded(from) => value > from,
            Bound::Unbounded => true,
        }
        && match &range.to {
            Bound::Included(to) => value <= to,
            Bound::Excluded(to) => value < to,
            Bound::Unbounded => true,
        }
}

fn passes(filter: &EntryFilter, value: &Value) -> bool {
    match (filter, value) {
        (EntryFilter::Within(area), Value::Point(point)) => area.contains(point),
        (EntryFilter::Contains(part), Value::String(text)) => text.contains(&**part),
        (EntryFilter::EndsWith(part), Value::String(text)) => text.ends_with(&**part),
        _ => false,
    }
}

impl PlainGraph {
    fn rule(&self, index: IndexId) -> Result<&SchemaRule, IndexUnavailable> {
        let rule = self.schema_rules.iter().find(|rule| rule.id == index);
        match rule {
            None => Err(IndexUnavailable::Unknown(index)),
            Some(rule) if !rule.kind.has_entries() => Err(IndexUnavailable::WrongKind(index)),
            Some(rule) => Ok(rule),
        }
    }

    /// Objects by their number, each with what it is.
    fn objects_in<'g, T: Ord + Copy>(
        rule: &SchemaRule,
        range: &IndexRange,
        objects: impl Iterator<Item = (u64, T, &'g Properties)>,
    ) -> Result<Vec<T>, IndexUnavailable> {
        let (index, properties) = (rule.id, rule.properties.len());
        let bounded = range.from != Bound::Unbounded || range.to != Bound::Unbounded;
        if range.prefix.len() + usize::from(bounded) > properties {
            return Err(IndexUnavailable::WrongNumberOfValues { index, properties });
        }
        let mut found = Vec::new();
        for (number, object, properties) in objects {
            let Some((values, bytes)) = key(rule, properties) else { continue };
            let (prefix, rest) = values.split_at(range.prefix.len());
            let within = prefix == range.prefix && rest.first().is_none_or(|v| is_within(range, v));
            if within && range.filter.as_ref().is_none_or(|filter| passes(filter, &values[0])) {
                found.push((bytes, number, object));
            }
        }
        found.sort();
        if range.descending {
            found.reverse();
        }
        found.truncate(range.limit);
        Ok(found.into_iter().map(|(_, _, object)| object).collect())
    }

    pub(crate) fn vertices_in(
        &self,
        index: IndexId,
        range: &IndexRange,
    ) -> Result<Vec<VertexId>, IndexUnavailable> {
        let rule = self.rule(index)?;
        let IndexedObjects::Vertices(label) = rule.objects else {
            return Err(IndexUnavailable::WrongKind(index));
        };
        let with = self.vertices.iter().filter(|(_, vertex)| vertex.labels.contains(&label));
        Self::objects_in(rule, range, with.map(|(id, vertex)| (id.get(), *id, &vertex.properties)))
    }

    pub(crate) fn edges_in(
        &self,
        index: IndexId,
        range: &IndexRange,
    ) -> Result<Vec<EdgeId>, IndexUnavailable> {
        let rule = self.rule(index)?;
        let IndexedObjects::Edges(ty) = rule.objects else {
            return Err(IndexUnavailable::WrongKind(index));
        };
        let of_type = self.edges.iter().filter(|(edge, _)| edge.ty == ty);
        let numbered = of_type.map(|(edge, all)| (edge.ordinal.into(), *edge, all));
        Self::objects_in(rule, range, numbered)
    }

    /// Number of an index's properties, if there are whole keys of it.
    pub(crate) fn check_keys(
        &self,
        index: IndexId,
        keys: &[Value],
    ) -> Result<usize, IndexUnavailable> {
        let properties = self.rule(index)?.properties.len();
        match keys.len().is_multiple_of(properties) {
            true => Ok(properties),
            false => Err(IndexUnavailable::WrongNumberOfValues { index, properties }),
        }
    }
}
