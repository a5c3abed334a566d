//! Values of results, written as clients read them.

use std::collections::HashMap;
use std::hash::Hash;

use telar_db::query::{QueryError, Rows, watch};
use telar_db::query::{element_id_of_edge, element_id_of_vertex, number_of_edge};
use telar_db::value::{ByteOrder, DateTime, Path};
use telar_db::{EdgeId, Value, ValueMap, VertexId};

use super::packstream::encode as put;
use super::structure::{self as tag, Dialect};

/// Writes values.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Encoder<'r> {
    pub(crate) dialect: Dialect,
    /// What nodes and relationships are; without, they are null.
    pub(crate) rows: Option<&'r Rows<'r>>,
    /// Where in the output the row begins.
    pub(crate) begin: usize,
}

impl Encoder<'_> {
    /// Appends a value, which in part may be written when this fails: if the statement ends, or the
    /// row becomes too large.
    pub(crate) fn value(self, out: &mut Vec<u8>, value: &Value) -> Result<(), QueryError> {
        watch::wrote(watch::units_of(value), out.len() - self.begin)?;
        match value {
            Value::Null => put::null(out),
            Value::Bool(value) => put::bool(out, *value),
            Value::Int(value) => put::int(out, *value),
            Value::Float(value) => put::float(out, *value),
            Value::String(value) => put::string(out, value),
            Value::Bytes(value) => put::bytes(out, value),
            Value::List(elements) => {
                put::list(out, elements.len());
                elements.iter().try_for_each(|element| self.value(out, element))?;
            }
            Value::Map(entries) => self.map(out, entries)?,
            Value::Date(date) => {
                put::structure(out, tag::DATE, 1);
                put::int(out, date.epoch_days());
            }
            Value::LocalTime(time) => {
                put::structure(out, tag::LOCAL_TIME, 1);
                put::int(out, time.nanos_of_day());
            }
            Value::Time(time) => {
                put::structure(out, tag::TIME, 2);
                put::int(out, time.local().nanos_of_day());
                put::int(out, i64::from(time.offset().seconds()));
            }
            Value::LocalDateTime(at) => {
                put::structure(out, tag::LOCAL_DATE_TIME, 2);
                put::int(out, at.epoch_second());
                put::int(out, i64::from(at.time().nanosecond()));
            }
            Value::DateTime(at) => self.date_time(out, at),
            Value::Duration(duration) => {
                put::structure(out, tag::DURATION, 4);
                put::int(out, duration.months());
                put::int(out, duration.days());
                put::int(out, duration.seconds());
                put::int(out, i64::from(duration.nanos()));
            }
            Value::Point(point) => {
                let coordinates = point.coordinates();
                let kind = if coordinates.len() == 2 { tag::POINT_2D } else { tag::POINT_3D };
                put::structure(out, kind, 1 + coordinates.len() as u8);
                put::int(out, i64::from(point.srid().get()));
                coordinates.iter().for_each(|x| put::float(out, *x));
            }
            Value::Vector(vector) if self.dialect.vectors => {
                put::structure(out, tag::VECTOR, 2);
                put::bytes(out, &[tag::marker(vector.coordinate_type())]);
                let mut data = Vec::with_capacity(vector.bytes());
                vector.put_bytes(ByteOrder::Big, &mut data);
                put::bytes(out, &data);
            }
            Value::Vector(vector) => {
                put::list(out, vector.dimension());
                vector.to_values().iter().try_for_each(|number| self.value(out, number))?;
            }
            Value::Vertex(vertex) => self.node(out, *vertex)?,
            Value::Edge(edge) => self.relationship(out, **edge, true)?,
            Value::Path(path) => self.path(out, path)?,
        }
        Ok(())
    }

    pub(crate) fn map(self, out: &mut Vec<u8>, entries: &ValueMap) -> Result<(), QueryError> {
        put::map(out, entries.len());
        for (key, value) in entries {
            put::string(out, key);
            self.value(out, value)?;
        }
        Ok(())
    }

    fn date_time(self, out: &mut Vec<u8>, at: &DateTime) {
        let (seconds, offset, zone) = match self.dialect.utc {
            true => (at.epoch_second(), tag::DATE_TIME, tag::DATE_TIME_ZONE),
            false => {
                let seconds = at.local().epoch_second();
                (seconds, tag::CLOCK_DATE_TIME, tag::CLOCK_DATE_TIME_ZONE)
            }
        };
        put::structure(out, if at.zone().is_some() { zone } else { offset }, 3);
        put::int(out, seconds);
        put::int(out, i64::from(at.time().nanosecond()));
        match at.zone() {
            Some(zone) => put::string(out, zone),
            None => put::int(out, i64::from(at.offset().seconds())),
        }
    }

    fn node(self, out: &mut Vec<u8>, vertex: VertexId) -> Result<(), QueryError> {
        let Some(rows) = self.rows else {
            put::null(out);
            return Ok(());
        };
        let node = rows.node(vertex)?;
        put::structure(out, tag::NODE, if self.dialect.element_ids { 4 } else { 3 });
        put::int(out, vertex.get() as i64);
        put::list(out, node.labels.len());
        node.labels.iter().for_each(|label| put::string(out, label));
        self.map(out, &node.properties)?;
        self.element_id(out, || element_id_of_vertex(vertex));
        Ok(())
    }

    /// A relationship, with its ends unless it stands in a path.
    fn relationship(self, out: &mut Vec<u8>, edge: EdgeId, ends: bool) -> Result<(), QueryError> {
        let Some(rows) = self.rows else {
            put::null(out);
            return Ok(());
        };
        let relationship = rows.relationship(edge)?;
        let (kind, fields, ids) = match ends {
            true => (tag::RELATIONSHIP, 5, 3),
            false => (tag::UNBOUND_RELATIONSHIP, 3, 1),
        };
        put::structure(out, kind, if self.dialect.element_ids { fields + ids } else { fields });
        put::int(out, number_of_edge(&edge));
        if ends {
            put::int(out, edge.src.get() as i64);
            put::int(out, edge.dst.get() as i64);
        }
        put::string(out, &relationship.ty);
        self.map(out, &relationship.properties)?;
        self.element_id(out, || element_id_of_edge(&edge));
        if ends {
            self.element_id(out, || element_id_of_vertex(edge.src));
            self.element_id(out, || element_id_of_vertex(edge.dst));
        }
        Ok(())
    }

    fn element_id(self, out: &mut Vec<u8>, id: impl FnOnce() -> String) {
        if self.dialect.element_ids {
            put::string(out, &id());
        }
    }

    /// Its nodes and relationships, each once, and then their places: for each step that of the
    /// relationship, counted from 1 and negative if walked against its direction, and that of the
    /// node, counted from 0.
    fn path(self, out: &mut Vec<u8>, path: &Path) -> Result<(), QueryError> {
        let (mut nodes, mut edges) = (Distinct::new(), Distinct::new());
        let mut steps = Vec::with_capacity(2 * path.edges().len());
        nodes.place(path.vertices()[0]);
        for (at, edge) in path.edges().iter().enumerate() {
            let number = edges.place(*edge) + 1;
            let along = path.vertices()[at] == edge.src;
            steps.push(if along { number } else { -number });
            steps.push(nodes.place(path.vertices()[at + 1]));
        }
        put::structure(out, tag::PATH, 3);
        put::list(out, nodes.items.len());
        nodes.items.iter().try_for_each(|node| self.value(out, &Value::Vertex(*node)))?;
        put::list(out, edges.items.len());
        for edge in &edges.items {
            self.relationship(out, *edge, false)?;
        }
        put::list(out, steps.len());
        steps.iter().for_each(|step| put::int(out, *step));
        Ok(())
    }
}

/// Things in the order they came, each once.
struct Distinct<T> {
    items: Vec<T>,
    places: HashMap<T, i64>,
}

impl<T: Copy + Eq + Hash> Distinct<T> {
    fn new() -> Self {
        Self { items: Vec::new(), places: HashMap::new() }
    }

    /// Where `item` stands, counted from 0.
    fn place(&mut self, item: T) -> i64 {
        *self.places.entry(item).or_insert_with(|| {
            self.items.push(item);
            self.items.len() as i64 - 1
        })
    }
}
