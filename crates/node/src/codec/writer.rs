//! Values of results, written.

use std::collections::HashMap;

use telar_db::query::{self, Columns};
use telar_db::value::{ByteOrder, DateTime, LocalDateTime};
use telar_db::{EdgeId, Value, ValueMap, VertexId, value};

use super::tag;

/// Integers whose absolute value is at most this are numbers of JavaScript without a loss.
pub(super) const SAFE_MAX: i64 = (1 << 53) - 1;

/// True for an integer that a number of JavaScript holds.
pub(super) fn is_safe(int: i64) -> bool {
    (-SAFE_MAX..=SAFE_MAX).contains(&int)
}

/// Bytes that values are written to.
pub(super) struct Writer<'c> {
    pub(super) out: Vec<u8>,
    columns: &'c Columns,
    keys: HashMap<String, u32>,
    nodes: HashMap<VertexId, u32>,
    relationships: HashMap<EdgeId, u32>,
}

impl<'c> Writer<'c> {
    /// A writer of values whose nodes and relationships are among those of `columns`.
    pub(super) fn new(columns: &'c Columns) -> Self {
        let (keys, nodes, relationships) = (HashMap::new(), HashMap::new(), HashMap::new());
        Self { out: Vec::with_capacity(64), columns, keys, nodes, relationships }
    }

    pub(super) fn byte(&mut self, byte: u8) {
        self.out.push(byte);
    }

    /// A length. What is longer than 4 GiB does not fit into a value of JavaScript either.
    pub(super) fn length(&mut self, length: usize) {
        let length = u32::try_from(length).unwrap_or(u32::MAX);
        self.out.extend(length.to_le_bytes());
    }

    pub(super) fn int(&mut self, int: i64) {
        self.out.extend(int.to_le_bytes());
    }

    pub(super) fn float(&mut self, float: f64) {
        self.out.extend(float.to_le_bytes());
    }

    pub(super) fn text(&mut self, text: &str) {
        self.length(text.len());
        self.out.extend(text.as_bytes());
    }

    /// Zeros up to a multiple of `bytes`.
    pub(super) fn align(&mut self, bytes: usize) {
        self.out.resize(self.out.len().next_multiple_of(bytes), 0);
    }

    fn key(&mut self, key: &str) {
        if let Some(number) = self.keys.get(key) {
            let number = 1 + number;
            self.out.extend(number.to_le_bytes());
            return;
        }
        self.length(0);
        self.text(key);
        self.keys.insert(key.to_owned(), self.keys.len() as u32);
    }

    fn map(&mut self, map: &ValueMap) {
        self.length(map.len());
        for (key, value) in map {
            self.key(key);
            self.value(value);
        }
    }

    fn number(&mut self, int: i64) {
        if is_safe(int) {
            self.byte(tag::NUMBER);
            self.float(int as f64);
        } else {
            self.byte(tag::INTEGER);
            self.int(int);
        }
    }

    fn local(&mut self, at: LocalDateTime) {
        self.int(at.date().epoch_days());
        self.int(at.time().nanos_of_day());
    }

    fn moment(&mut self, at: &DateTime) {
        self.local(at.local());
        self.out.extend(at.offset().seconds().to_le_bytes());
        self.text(at.zone().unwrap_or_default());
    }

    fn node(&mut self, vertex: VertexId) {
        if let Some(number) = self.nodes.get(&vertex) {
            let number = 1 + number;
            self.out.extend(number.to_le_bytes());
            return;
        }
        self.length(0);
        self.int(vertex.get().cast_signed());
        match self.columns.node(vertex) {
            Some(node) => {
                self.length(node.labels.len());
                for label in &node.labels {
                    self.key(label);
                }
                self.map(&node.properties);
            }
            None => self.out.extend([0; 8]),
        }
        self.nodes.insert(vertex, self.nodes.len() as u32);
    }

    fn relationship(&mut self, edge: EdgeId) {
        if let Some(number) = self.relationships.get(&edge) {
            let number = 1 + number;
            self.out.extend(number.to_le_bytes());
            return;
        }
        self.length(0);
        self.int(query::number_of_edge(&edge));
        self.int(edge.src.get().cast_signed());
        self.int(edge.dst.get().cast_signed());
        self.text(&query::element_id_of_edge(&edge));
        match self.columns.relationship(&edge) {
            Some(relationship) => {
                self.key(&relationship.ty);
                self.map(&relationship.properties);
            }
            None => {
                self.key("");
                self.length(0);
            }
        }
        self.relationships.insert(edge, self.relationships.len() as u32);
    }

    fn duration(&mut self, duration: &value::Duration) {
        self.int(duration.months());
        self.int(duration.days());
        self.int(duration.seconds());
        self.out.extend(duration.nanos().to_le_bytes());
    }

    /// A value.
    pub(super) fn value(&mut self, value: &Value) {
        match value {
            Value::Null => self.byte(tag::NULL),
            Value::Bool(false) => self.byte(tag::FALSE),
            Value::Bool(true) => self.byte(tag::TRUE),
            Value::Int(int) => self.number(*int),
            Value::Float(float) => {
                self.byte(tag::FLOAT);
                self.float(*float);
            }
            Value::String(text) => {
                self.byte(tag::TEXT);
                self.text(text);
            }
            Value::Bytes(bytes) => {
                self.byte(tag::BYTES);
                self.length(bytes.len());
                self.out.extend(&bytes[..]);
            }
            Value::List(list) => {
                self.byte(tag::LIST);
                self.length(list.len());
                list.iter().for_each(|value| self.value(value));
            }
            Value::Map(map) => {
                self.byte(tag::MAP);
                self.map(map);
            }
            Value::Vertex(vertex) => {
                self.byte(tag::NODE);
                self.node(*vertex);
            }
            Value::Edge(edge) => {
                self.byte(tag::RELATIONSHIP);
                self.relationship(**edge);
            }
            Value::Path(path) => {
                self.byte(tag::PATH);
                self.length(path.edges().len());
                path.vertices().iter().for_each(|vertex| self.node(*vertex));
                path.edges().iter().for_each(|edge| self.relationship(*edge));
            }
            other => self.time_or_place(other),
        }
    }

    fn time_or_place(&mut self, value: &Value) {
        match value {
            Value::Date(date) => {
                self.byte(tag::DATE);
                self.int(date.epoch_days());
            }
            Value::LocalTime(time) => {
                self.byte(tag::LOCAL_TIME);
                self.int(time.nanos_of_day());
            }
            Value::Time(time) => {
                self.byte(tag::TIME);
                self.int(time.local().nanos_of_day());
                self.out.extend(time.offset().seconds().to_le_bytes());
            }
            Value::LocalDateTime(at) => {
                self.byte(tag::LOCAL_DATE_TIME);
                self.local(*at);
            }
            Value::DateTime(at) => {
                self.byte(tag::DATE_TIME);
                self.moment(at);
            }
            Value::Duration(duration) => {
                self.byte(tag::DURATION);
                self.duration(duration);
            }
            Value::Point(point) => {
                self.byte(tag::POINT);
                self.out.extend(point.srid().get().to_le_bytes());
                self.byte(point.coordinates().len() as u8);
                point.coordinates().iter().for_each(|c| self.float(*c));
            }
            Value::Vector(vector) => {
                self.byte(tag::VECTOR);
                self.byte(vector.coordinate_type().number());
                self.length(vector.bytes());
                vector.put_bytes(ByteOrder::Little, &mut self.out);
            }
            other => unreachable!("INVARIANT: {} is written elsewhere", other.type_name()),
        }
    }
}
