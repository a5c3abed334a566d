//! How much memory values take.

use telar_graph::Value;

/// Reference counts of an `Arc`.
const SHARED_BYTES: usize = 16;

/// Bytes of a value: its own 24, and what it owns or shares on the heap, counted in full.
///
/// Cost: linear in the number of values nested; recursion once per level.
#[must_use]
pub fn value_bytes(value: &Value) -> usize {
    // A node of a B-tree is about three quarters full.
    const MAP_ENTRY_BYTES: usize = (16 + size_of::<Value>()) * 4 / 3;
    let shared = match value {
        Value::Null
        | Value::Bool(_)
        | Value::Int(_)
        | Value::Float(_)
        | Value::Date(_)
        | Value::LocalTime(_)
        | Value::Time(_)
        | Value::LocalDateTime(_)
        | Value::Vertex(_) => return size_of::<Value>(),
        Value::String(text) => text.len(),
        Value::Bytes(bytes) => bytes.len(),
        Value::List(elements) => elements.iter().map(value_bytes).sum(),
        Value::Map(entries) => {
            let entry = |(key, value): (&std::sync::Arc<str>, &Value)| {
                MAP_ENTRY_BYTES + SHARED_BYTES + key.len() + value_bytes(value) - size_of::<Value>()
            };
            size_of_val(&**entries) + entries.iter().map(entry).sum::<usize>()
        }
        Value::DateTime(at) => size_of_val(&**at) + at.zone().map_or(0, str::len),
        Value::Duration(duration) => size_of_val(&**duration),
        Value::Point(point) => size_of_val(&**point),
        Value::Edge(edge) => size_of_val(&**edge),
        Value::Path(path) => {
            size_of_val(&**path) + size_of_val(path.vertices()) + size_of_val(path.edges())
        }
    };
    size_of::<Value>() + SHARED_BYTES + shared
}
