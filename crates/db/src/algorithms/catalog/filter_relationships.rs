//! Relationships that a filter leaves of a graph, as relationships that the new graph holds.

use std::sync::Arc;

use telar_graph::{
    Column, Direction, EdgeId, EdgeTypeId, Expansion, PropertyKeyId, Value, VertexId,
};
use telar_query::{QueryError, Read};

use super::filter::{BATCH, Filter};
use crate::algorithms::config::wrong;
use crate::algorithms::held::HeldType;
use crate::algorithms::merging::Merge;
use crate::algorithms::selection::{ALL, Orientation, Selection};

const OF: &str = "gds.graph.filter";

/// Ends of a relationship.
type Ends = (VertexId, VertexId);

/// Types of the database that are one type in the graph.
struct Stored {
    name: Arc<str>,
    types: Vec<EdgeTypeId>,
    orientation: Orientation,
    /// Parallel relationships are one, if it says how.
    merge: Option<Merge>,
}

/// A property that relationships of the database have in the graph.
struct Property {
    name: Arc<str>,
    key: Option<PropertyKeyId>,
    default: Option<f64>,
    merge: Option<Merge>,
    /// False, if only the filter reads it: its values may be anything.
    is_number: bool,
}

/// Relationships between `nodes`, which are ascending, that stay.
pub(super) fn relationships(
    selection: &Selection,
    nodes: &[VertexId],
    filter: &Filter<'_, '_>,
) -> Result<Vec<HeldType>, QueryError> {
    let stored = stored_types(selection, filter)?;
    let properties = properties(selection, filter)?;
    let held = selection.held.types.iter();
    let names: Vec<&str> =
        stored.iter().map(|ty| &*ty.name).chain(held.clone().map(|ty| &*ty.name)).collect();
    if let Some(name) = filter.labels().find(|name| !names.contains(&&***name)) {
        return Err(filter.unknown("type", name, names));
    }
    let mut part = Part { filter, nodes, found: Vec::new(), bytes: 0 };
    for ty in held {
        part.add_held(ty)?;
    }
    for ty in &stored {
        part.add_stored(ty, &properties)?;
    }
    Ok(part.found)
}

fn stored_types(selection: &Selection, filter: &Filter<'_, '_>) -> Result<Vec<Stored>, QueryError> {
    let graph = filter.call.graph();
    let names = graph.edge_type_names();
    let every = selection.merged.get("*").copied();
    let by_property = selection.properties.iter().any(|weight| weight.merge.is_some());
    let is_all = selection.types.is_empty() && !selection.held.alone;
    let types: Vec<(Arc<str>, Option<Orientation>)> = match is_all {
        true => {
            let named = names.iter().filter(|name| !name.is_empty());
            named.map(|name| (name.as_str().into(), None)).collect()
        }
        false => selection.types.clone(),
    };
    let mut found: Vec<Stored> = Vec::new();
    for (name, orientation) in types {
        let Some(ty) = graph.find_edge_type(&name) else {
            return Err(filter.unknown("type", &name, names.iter().map(String::as_str)));
        };
        let merge = selection.merged.get(&name).copied().or(every);
        let merge = merge.or(by_property.then_some(Merge::Single));
        let orientation = orientation.or(selection.orientation).unwrap_or(Orientation::Natural);
        // Types that are merged as one have no names of their own.
        if merge.is_some() && (every.is_some() || is_all) {
            match found.iter_mut().find(|of| *of.name == *ALL && of.orientation == orientation) {
                Some(all) => all.types.push(ty),
                None => {
                    found.push(Stored { name: ALL.into(), types: vec![ty], orientation, merge });
                }
            }
            continue;
        }
        found.push(Stored { name, types: vec![ty], orientation, merge });
    }
    Ok(found)
}

/// Properties of relationships of the database: those of the graph, and those the filter reads.
fn properties(selection: &Selection, filter: &Filter<'_, '_>) -> Result<Vec<Property>, QueryError> {
    let graph = filter.call.graph();
    let of_graph = selection.properties.iter().map(|weight| Property {
        name: Arc::clone(&weight.name),
        // Counted relationships have no value each.
        key: graph
            .find_property_key(&weight.property)
            .filter(|_| weight.merge != Some(Merge::Count)),
        default: weight.default,
        merge: weight.merge,
        is_number: true,
    });
    // A call weighs by the first property of a name.
    let mut found: Vec<Property> = Vec::new();
    for property in of_graph {
        if !found.iter().any(|of| of.name == property.name) {
            found.push(property);
        }
    }
    for name in filter.properties() {
        if found.iter().any(|of| of.name == *name) {
            continue;
        }
        let key = graph.find_property_key(name);
        let mut held = selection.held.types.iter();
        if key.is_none() && !held.any(|ty| ty.values(name).is_some()) {
            let names = graph.property_key_names();
            let names = names.iter().map(String::as_str).filter(|name| !name.is_empty());
            return Err(filter.unknown("property", name, names));
        }
        let name = Arc::clone(name);
        found.push(Property { name, key, default: None, merge: None, is_number: false });
    }
    Ok(found)
}

/// Relationships on their way to the new graph.
struct Part<'a, 'c> {
    filter: &'a Filter<'a, 'c>,
    nodes: &'a [VertexId],
    found: Vec<HeldType>,
    bytes: usize,
}

impl Part<'_, '_> {
    fn has(&self, node: VertexId) -> bool {
        self.nodes.binary_search(&node).is_ok()
    }

    /// Adds what stays of relationships that the graph holds.
    fn add_held(&mut self, ty: &HeldType) -> Result<(), QueryError> {
        let names: Vec<&Arc<str>> = ty.properties.iter().map(|(name, _)| name).collect();
        for from in (0..ty.ends.len()).step_by(BATCH) {
            let to = ty.ends.len().min(from + BATCH);
            let within: Vec<usize> = (from..to)
                .filter(|at| self.has(ty.ends[*at].0) && self.has(ty.ends[*at].1))
                .collect();
            let ends: Vec<Ends> = within.iter().map(|at| ty.ends[*at]).collect();
            let of = |(_, values): &(Arc<str>, Vec<f64>)| {
                Column::of(within.iter().map(|at| number_or_null(values[*at])).collect())
            };
            let columns: Vec<Column> = ty.properties.iter().map(of).collect();
            self.add((&ty.name, ty.undirected), &ends, (&names, &columns))?;
        }
        Ok(())
    }

    /// Adds what stays of relationships of the database.
    fn add_stored(&mut self, ty: &Stored, properties: &[Property]) -> Result<(), QueryError> {
        let names: Vec<&Arc<str>> = properties.iter().map(|of| &of.name).collect();
        let undirected = ty.orientation == Orientation::Undirected;
        let mut gathered = Gathered::new(properties.len());
        for some in self.nodes.chunks(BATCH) {
            for of in &ty.types {
                let read = self.read(some, *of, properties)?;
                match ty.merge {
                    Some(_) => gathered.add(read, properties, ty.orientation)?,
                    None => {
                        let ends = read.oriented(ty.orientation);
                        self.add((&ty.name, undirected), &ends, (&names, &read.columns))?;
                    }
                }
            }
            let call = self.filter.call;
            call.room(self.bytes.saturating_add(gathered.bytes()), OF)?;
        }
        let Some(merge) = ty.merge else { return Ok(()) };
        let (ends, values) = gathered.merged(merge, properties);
        for from in (0..ends.len()).step_by(BATCH) {
            let some = from..ends.len().min(from + BATCH);
            let of = |values: &Vec<f64>| {
                Column::of(values[some.clone()].iter().map(|n| number_or_null(*n)).collect())
            };
            let columns: Vec<Column> = values.iter().map(of).collect();
            self.add((&ty.name, undirected), &ends[some.clone()], (&names, &columns))?;
        }
        Ok(())
    }

    /// Reads relationships of a type from some nodes to nodes that stay.
    fn read(
        &self,
        nodes: &[VertexId],
        ty: EdgeTypeId,
        properties: &[Property],
    ) -> Result<Relationships, QueryError> {
        let graph = self.filter.call.graph();
        let mut expansion = Expansion::default();
        graph.expand(nodes, ty, Direction::Out, &mut expansion)?;
        let Expansion { offsets, neighbours, ordinals } = &expansion;
        let mut edges = Vec::with_capacity(neighbours.len());
        for (place, node) in nodes.iter().enumerate() {
            for at in offsets[place] as usize..offsets[place + 1] as usize {
                if self.has(neighbours[at]) {
                    let (dst, ordinal) = (neighbours[at], ordinals[at]);
                    edges.push(EdgeId { ty, src: *node, dst, ordinal });
                }
            }
        }
        let mut columns = Vec::with_capacity(properties.len());
        for property in properties {
            let mut column = Column::default();
            match property.key {
                Some(key) => graph.edge_properties(&edges, key, &mut column)?,
                None => column = Column::nulls(edges.len()),
            }
            if let Some(default) = property.default.filter(|_| column.may_have_nulls()) {
                let values = column.into_values().into_iter();
                let value = |v: Value| if v.is_null() { Value::Float(default) } else { v };
                column = Column::of(values.map(value).collect());
            }
            if property.is_number {
                check_numbers(&property.name, &column)?;
            }
            columns.push(column);
        }
        Ok(Relationships { edges, columns })
    }

    /// Adds those of some relationships that stay. `columns` are properties of these names.
    fn add(
        &mut self,
        (name, undirected): (&Arc<str>, bool),
        ends: &[Ends],
        (names, columns): (&[&Arc<str>], &[Column]),
    ) -> Result<(), QueryError> {
        let rows = ends.len();
        let stay = self.filter.test(rows, &mut |read| {
            Ok(match read {
                Read::Property(wanted) => match names.iter().position(|of| *of == wanted) {
                    Some(at) => columns[at].clone(),
                    None => Column::nulls(rows),
                },
                Read::Label(wanted) => vec![wanted == name; rows].into(),
                Read::AnyLabel => vec![true; rows].into(),
            })
        })?;
        let at = self.type_of(name, undirected, names);
        let ty = &mut self.found[at];
        // A type that is chosen in several directions is one with a direction.
        let twice = undirected && !ty.undirected;
        for row in stay {
            let (from, to) = ends[row as usize];
            let of_row = [Some((from, to)), twice.then_some((to, from))];
            for ends in of_row.into_iter().flatten() {
                ty.ends.push(ends);
                for ((_, values), column) in ty.properties.iter_mut().zip(columns) {
                    values.push(number(&column.get(row as usize)));
                }
                self.bytes += size_of::<Ends>() + columns.len() * size_of::<f64>();
            }
        }
        self.filter.call.room(self.bytes, OF)
    }

    fn type_of(&mut self, name: &Arc<str>, undirected: bool, names: &[&Arc<str>]) -> usize {
        let Some(at) = self.found.iter().position(|ty| ty.name == *name) else {
            let properties = names.iter().map(|name| (Arc::clone(name), Vec::new())).collect();
            let (name, ends) = (Arc::clone(name), Vec::new());
            self.found.push(HeldType { name, undirected, ends, properties });
            return self.found.len() - 1;
        };
        let ty = &mut self.found[at];
        if ty.undirected && !undirected {
            ty.undirected = false;
            ty.ends.extend_from_within(..);
            let half = ty.ends.len() / 2;
            ty.ends[half..].iter_mut().for_each(|(from, to)| std::mem::swap(from, to));
            ty.properties.iter_mut().for_each(|(_, values)| values.extend_from_within(..));
        }
        at
    }
}

/// Relationships of the database with their properties.
struct Relationships {
    edges: Vec<EdgeId>,
    columns: Vec<Column>,
}

impl Relationships {
    fn oriented(&self, orientation: Orientation) -> Vec<Ends> {
        let ends = |edge: &EdgeId| match orientation {
            Orientation::Reverse => (edge.dst, edge.src),
            Orientation::Natural | Orientation::Undirected => (edge.src, edge.dst),
        };
        self.edges.iter().map(ends).collect()
    }
}

/// Relationships that become one where they are parallel.
struct Gathered {
    ends: Vec<Ends>,
    values: Vec<Vec<f64>>,
}

impl Gathered {
    fn new(properties: usize) -> Self {
        Self { ends: Vec::new(), values: vec![Vec::new(); properties] }
    }

    fn bytes(&self) -> usize {
        // Sorted by an order beside them.
        self.ends.len() * (3 * size_of::<Ends>() + 2 * self.values.len() * size_of::<f64>())
    }

    fn add(
        &mut self,
        read: Relationships,
        properties: &[Property],
        orientation: Orientation,
    ) -> Result<(), QueryError> {
        let ends = read.oriented(orientation).into_iter();
        self.ends.extend(ends.map(|(from, to)| match orientation {
            Orientation::Undirected => (from.min(to), from.max(to)),
            Orientation::Natural | Orientation::Reverse => (from, to),
        }));
        let columns = read.columns.iter().zip(properties).zip(&mut self.values);
        for ((column, property), values) in columns {
            // Weight of a relationship without a value, in lists that are merged.
            let missing = property.default.unwrap_or(1.0);
            let of = |value: Value| if value.is_null() { missing } else { number(&value) };
            values.extend((0..column.len()).map(|row| of(column.get(row))));
        }
        Ok(())
    }

    /// One relationship for each pair of ends.
    fn merged(self, merge: Merge, properties: &[Property]) -> (Vec<Ends>, Vec<Vec<f64>>) {
        let mut order: Vec<usize> = (0..self.ends.len()).collect();
        order.sort_by_key(|at| self.ends[*at]);
        let mut ends: Vec<Ends> = Vec::new();
        let mut merged: Vec<Vec<f64>> = vec![Vec::new(); properties.len()];
        for at in order {
            let is_new = ends.last() != Some(&self.ends[at]);
            if is_new {
                ends.push(self.ends[at]);
            }
            let columns = properties.iter().zip(&self.values).zip(&mut merged);
            for ((property, values), merged) in columns {
                let value = values[at];
                match merged.last_mut().filter(|_| !is_new) {
                    None => merged.push(value),
                    Some(last) => *last = property.merge.unwrap_or(merge).weight(*last, value),
                }
            }
        }
        (ends, merged)
    }
}

fn number_or_null(number: f64) -> Value {
    if number.is_nan() { Value::Null } else { Value::Float(number) }
}

/// The number that a value is; NaN for others.
fn number(value: &Value) -> f64 {
    match value {
        Value::Int(number) => *number as f64,
        Value::Float(number) => *number,
        _ => f64::NAN,
    }
}

/// Refuses values of a property of relationships that are no numbers.
fn check_numbers(name: &str, column: &Column) -> Result<(), QueryError> {
    let is_number = |value: &Value| matches!(value, Value::Int(_) | Value::Float(_) | Value::Null);
    let wrong_one = (0..column.len()).map(|row| column.get(row)).find(|value| !is_number(value));
    match wrong_one {
        None => Ok(()),
        Some(value) => {
            let found = telar_query::literal(&value);
            Err(wrong(format!("{OF}: {name} is a number, and a relationship has {found}")))
        }
    }
}
