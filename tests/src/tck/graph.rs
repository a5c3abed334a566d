//! Telar's values and graphs in the words of the TCK.

use telar_engine::Engine;
use telar_graph::value::{Path as GraphPath, Value, ValueMap};
use telar_graph::{Column, Direction, EdgeId, EdgeTypeId, PropertyKeyId, VertexId, View};

use super::subject::GraphState;
use super::value::{Entries, Hop, Node, Path, Relationship, TckValue};

/// Labels, types and properties of the vertices and edges that values name by id.
pub trait Entities {
    /// A vertex; `None` if it is not known.
    fn node(&self, id: VertexId) -> Option<Node>;
    /// An edge; `None` if it is not known.
    fn relationship(&self, id: EdgeId) -> Option<Relationship>;
}

/// A value in the words of the TCK: temporal values as their text, vertices and edges without ids.
///
/// # Errors
/// It names a vertex or an edge that `entities` does not know, or is of a type that the TCK has no
/// notation for.
pub fn to_tck(value: &Value, entities: &dyn Entities) -> Result<TckValue, String> {
    Ok(match value {
        Value::Null => TckValue::Null,
        Value::Bool(value) => TckValue::Bool(*value),
        Value::Int(value) => TckValue::Int(*value),
        Value::Float(value) => TckValue::float(*value),
        Value::String(text) => TckValue::string(&**text),
        Value::List(elements) => {
            let elements = elements.iter().map(|element| to_tck(element, entities));
            TckValue::List(elements.collect::<Result<_, _>>()?)
        }
        Value::Map(entries) => {
            let entry = |(key, value): (&std::sync::Arc<str>, _)| {
                Ok::<_, String>((key.to_string(), to_tck(value, entities)?))
            };
            TckValue::Map(entries.iter().map(entry).collect::<Result<_, _>>()?)
        }
        Value::Date(value) => TckValue::string(value.to_string()),
        Value::LocalTime(value) => TckValue::string(value.to_string()),
        Value::Time(value) => TckValue::string(value.to_string()),
        Value::LocalDateTime(value) => TckValue::string(value.to_string()),
        Value::DateTime(value) => TckValue::string(value.to_string()),
        Value::Duration(value) => TckValue::string(value.to_string()),
        Value::Vertex(id) => TckValue::Node(node(*id, entities)?),
        Value::Edge(id) => TckValue::Relationship(relationship(**id, entities)?),
        Value::Path(path) => TckValue::Path(Box::new(to_path(path, entities)?)),
        Value::Point(value) => TckValue::string(value.to_string()),
        Value::Bytes(_) | Value::Vector(_) => {
            return Err(format!("the TCK has no notation for {}", value.type_name()));
        }
    })
}

/// A parameter of a scenario as a value.
///
/// # Errors
/// It is or holds a node, a relationship or a path, which no parameter can be.
pub fn from_tck(value: &TckValue) -> Result<Value, String> {
    Ok(match value {
        TckValue::Null => Value::Null,
        TckValue::Bool(value) => Value::Bool(*value),
        TckValue::Int(value) => Value::Int(*value),
        TckValue::Float(value) => Value::Float(value.get()),
        TckValue::String(text) => Value::String(text.as_str().into()),
        TckValue::List(elements) => {
            Value::List(elements.iter().map(from_tck).collect::<Result<_, _>>()?)
        }
        TckValue::Map(entries) => {
            let mut map = ValueMap::new();
            for (key, value) in entries {
                map.insert(key.as_str().into(), from_tck(value)?);
            }
            Value::Map(map.into())
        }
        graph => return Err(format!("{graph} cannot be a parameter")),
    })
}

fn node(id: VertexId, entities: &dyn Entities) -> Result<Node, String> {
    entities.node(id).ok_or_else(|| format!("the result names an unknown vertex {id}"))
}

fn relationship(id: EdgeId, entities: &dyn Entities) -> Result<Relationship, String> {
    entities.relationship(id).ok_or_else(|| format!("the result names an unknown edge {id:?}"))
}

fn to_path(path: &GraphPath, entities: &dyn Entities) -> Result<Path, String> {
    let [start, rest @ ..] = path.vertices() else { return Err("an empty path".to_owned()) };
    let mut from = *start;
    let mut steps = Vec::new();
    for (edge, to) in path.edges().iter().zip(rest) {
        steps.push(Hop {
            forward: edge.src == from,
            relationship: relationship(*edge, entities)?,
            node: node(*to, entities)?,
        });
        from = *to;
    }
    Ok(Path { start: node(*start, entities)?, steps })
}

/// Reads a whole graph, batch by batch, through [`View`].
///
/// # Errors
/// What cannot be read.
pub fn state(db: &Engine) -> Result<GraphState, String> {
    let snapshot = db.snapshot().map_err(|e| e.to_string())?;
    let reader = snapshot.reader();
    let (labels, keys) = (db.labels(), db.property_keys());
    let mut vertices = Vec::new();
    let (first, text) = (VertexId::from_raw(0), |e: telar_graph::ReadError| e.to_string());
    reader.scan(None, first, reader.vertex_bound(), &mut vertices).map_err(text)?;
    let mut state = GraphState::default();
    for vertex in &vertices {
        let set = reader.labels(*vertex).ok_or("a vertex that was found does not exist")?;
        let labels = set.iter().map(|label| labels[usize::from(label.get())].clone()).collect();
        state.nodes.insert(vertex.get(), Node { labels, properties: Entries::new() });
    }
    let (mut edges, mut ids) = (Vec::new(), Vec::new());
    for (number, (ty, _)) in db.edge_types().iter().enumerate() {
        let id = EdgeTypeId::from_raw(u16::try_from(number).map_err(|e| e.to_string())?);
        for vertex in &vertices {
            for edge in reader.edges(*vertex, id, Direction::Out) {
                let relationship = Relationship { ty: ty.clone(), properties: Entries::new() };
                let identity =
                    [number as u64, edge.src.get(), edge.dst.get(), u64::from(edge.ordinal)];
                state.relationships.insert(identity, relationship);
                edges.push(edge);
                ids.push(identity);
            }
        }
    }
    for (number, key) in keys.iter().enumerate() {
        let id = PropertyKeyId::from_raw(u16::try_from(number).map_err(|e| e.to_string())?);
        let mut values = Column::default();
        reader.vertex_properties(&vertices, id, &mut values).map_err(text)?;
        for (value, vertex) in
            values.into_values().into_iter().zip(&vertices).filter(|(v, _)| !v.is_null())
        {
            let node = state.nodes.get_mut(&vertex.get()).ok_or("a vertex is gone")?;
            node.properties.insert(key.clone(), to_tck(&value, &Nothing)?);
        }
        let mut values = Column::default();
        reader.edge_properties(&edges, id, &mut values).map_err(text)?;
        for (value, edge) in
            values.into_values().into_iter().zip(&ids).filter(|(v, _)| !v.is_null())
        {
            let edge = state.relationships.get_mut(edge).ok_or("an edge is gone")?;
            edge.properties.insert(key.clone(), to_tck(&value, &Nothing)?);
        }
    }
    match snapshot.error() {
        None => Ok(state),
        Some(error) => Err(error.to_string()),
    }
}

/// What values that properties can hold need to know: no entities.
struct Nothing;

impl Entities for Nothing {
    fn node(&self, _: VertexId) -> Option<Node> {
        None
    }

    fn relationship(&self, _: EdgeId) -> Option<Relationship> {
        None
    }
}

#[cfg(test)]
mod tests {
    use telar_engine::EdgeTypeOptions;
    use telar_graph::value::Date;

    use super::super::literal;
    use super::super::subject::Effects;
    use super::*;

    fn small() -> (Engine, [VertexId; 2], EdgeId) {
        let db = Engine::in_memory(Default::default()).unwrap();
        let (a, b) = (db.label("A").unwrap(), db.label("B").unwrap());
        let (p, q) = (db.property_key("p").unwrap(), db.property_key("q").unwrap());
        let t = db.edge_type("T", EdgeTypeOptions::general()).unwrap();
        let mut txn = db.begin().unwrap();
        let from = txn.create_vertex(&[a, b]).unwrap();
        let to = txn.create_vertex(&[]).unwrap();
        txn.set_vertex_property(from, p, Value::list([1, 2])).unwrap();
        txn.set_vertex_property(to, q, Value::Date(Date::new(1984, 10, 11).unwrap())).unwrap();
        let edge = txn.create_edge(t, from, to, &[(p, Value::Float(0.5))]).unwrap();
        txn.create_edge(t, from, to, &[]).unwrap();
        txn.commit().unwrap();
        (db, [from, to], edge)
    }

    #[test]
    fn a_graph_is_read_whole() {
        let (db, [from, to], _) = small();
        let found = state(&db).unwrap();
        let show = |id: VertexId| TckValue::Node(found.nodes[&id.get()].clone()).to_string();
        assert_eq!(show(from), "(:A:B {p: [1, 2]})");
        assert_eq!(show(to), "({q: '1984-10-11'})");
        let mut edges: Vec<_> = found.relationships.values().map(ToString::to_string).collect();
        edges.sort();
        assert_eq!(edges, ["[:T {p: 0.5}]", "[:T]"]);
        // Deleting tells what is gone.
        db.write(Default::default(), |txn| txn.delete_vertex(to, true)).unwrap();
        let effects = Effects::between(&found, &state(&db).unwrap());
        assert_eq!(effects.to_string(), "-nodes 1, -properties 2, -relationships 2");
    }

    struct Of(GraphState);

    impl Entities for Of {
        fn node(&self, id: VertexId) -> Option<Node> {
            self.0.nodes.get(&id.get()).cloned()
        }

        fn relationship(&self, id: EdgeId) -> Option<Relationship> {
            let EdgeId { ty, src, dst, ordinal } = id;
            let id = [u64::from(ty.get()), src.get(), dst.get(), u64::from(ordinal)];
            self.0.relationships.get(&id).cloned()
        }
    }

    #[test]
    fn paths_are_told_in_the_direction_they_are_walked() {
        let (db, [from, to], edge) = small();
        let entities = Of(state(&db).unwrap());
        let text = |start| {
            let path = GraphPath::walk(start, [edge, edge]).unwrap();
            to_tck(&Value::Path(path.into()), &entities).unwrap().to_string()
        };
        let (a, b, t) = ("(:A:B {p: [1, 2]})", "({q: '1984-10-11'})", "[:T {p: 0.5}]");
        assert_eq!(text(from), format!("<{a}-{t}->{b}<-{t}-{a}>"));
        assert_eq!(text(to), format!("<{b}<-{t}-{a}-{t}->{b}>"));
        let unknown = Value::Vertex(VertexId::from_raw(77));
        assert!(to_tck(&Value::list([unknown]), &entities).is_err());
    }

    #[test]
    fn parameters_come_back_as_they_were() {
        for text in ["null", "[1, 2.5, 'a', true]", "{a: {b: []}}", "NaN"] {
            let value = literal::parse(text).unwrap();
            assert_eq!(to_tck(&from_tck(&value).unwrap(), &Nothing), Ok(value), "{text}");
        }
        assert!(from_tck(&literal::parse("[(:A)]").unwrap()).is_err());
    }
}
