//! Indexes of the crash tests' workload, checked against a scan of everything.

use telar_engine::{
    ConstraintKind, ConstraintSpec, Engine, Error, IndexInfo, IndexKind, IndexSpec, IndexState,
    IndexTarget, Reader,
};
use telar_graph::spatial::code;
use telar_graph::{
    Direction, EdgeId, EdgeTypeId, IndexRange, LabelId, PropertyKeyId, Value, VertexId, View,
};

/// Makes or finds what is there all the time: a unique key of units, another of edges, and that
/// every unit has one.
///
/// # Errors
/// Of the engine.
pub fn make(db: &Engine, unit: LabelId, edges: EdgeTypeId, id: PropertyKeyId) -> Result<(), Error> {
    let units = IndexTarget::Vertices(unit);
    for (name, target, kind) in [
        ("unit id", units, ConstraintKind::Unique),
        ("edge id", IndexTarget::Edges(edges), ConstraintKind::Unique),
        ("units have an id", units, ConstraintKind::Exists),
    ] {
        let (name, properties) = (name.to_owned(), vec![id]);
        db.create_constraint(ConstraintSpec { name, target, properties, kind })?;
    }
    Ok(())
}

/// Those that come and go together.
const PAIR: [&str; 2] = ["for a while", "for a while, too"];
/// What is there while they are not.
const BETWEEN: &str = "between";

/// In one transaction, lets an index and a constraint come and what was there in between go, or the
/// other way round; nothing, if it is so.
///
/// # Errors
/// Of the engine.
pub fn swap(
    db: &Engine,
    unit: LabelId,
    [touch, id]: [PropertyKeyId; 2],
    pair: bool,
) -> Result<(), Error> {
    let target = IndexTarget::Vertices(unit);
    let mut txn = db.begin()?;
    let gone = if pair { &[BETWEEN][..] } else { &PAIR };
    for name in gone.iter().filter(|name| db.find_index(name).is_some()) {
        txn.drop_index(name)?;
    }
    if pair {
        let (name, properties) = (PAIR[0].to_owned(), vec![touch, id]);
        txn.create_index(IndexSpec { name, target, properties })?;
        let (name, properties) = (PAIR[1].to_owned(), vec![id, touch]);
        let kind = ConstraintKind::Unique;
        txn.create_constraint(ConstraintSpec { name, target, properties, kind })?;
    } else {
        let (name, properties) = (BETWEEN.to_owned(), vec![touch]);
        txn.create_index(IndexSpec { name, target, properties })?;
    }
    txn.commit().map(drop)
}

/// Checks that no transaction that changed the schema is there by half.
fn verify_swaps(all: &[IndexInfo]) -> Result<(), String> {
    let there = |name: &str| all.iter().filter(|index| index.name == name).count();
    let [first, second, between] = [PAIR[0], PAIR[1], BETWEEN].map(there);
    match (first, second, between) {
        (0, 0, 0 | 1) | (1, 1, 0) => Ok(()),
        counts => Err(format!("{counts:?} of {PAIR:?} and {BETWEEN} are half a transaction")),
    }
}

/// Checks that every index can be read, and finds what a scan finds.
///
/// # Errors
/// Says which index finds something else.
pub fn verify(db: &Engine) -> Result<(), String> {
    let snapshot = db.snapshot().map_err(|e| e.to_string())?;
    let reader = &snapshot.reader();
    let all = db.indexes();
    verify_swaps(&all)?;
    for index in all {
        if index.state != IndexState::Online {
            return Err(format!("index {} is not online after opening", index.name));
        }
        let holds = match index.target {
            IndexTarget::Vertices(label) => {
                let mut all = Vec::new();
                let first = VertexId::from_raw(0);
                reader
                    .scan(Some(label), first, reader.vertex_bound(), &mut all)
                    .map_err(|e| e.to_string())?;
                compare(
                    &index,
                    &all,
                    |v, k| reader.vertex_property(*v, k),
                    |found: &mut Vec<_>| {
                        reader.index_vertices(index.id, &IndexRange::default(), found)
                    },
                )
            }
            IndexTarget::Edges(ty) => {
                let all = edges(reader, ty);
                compare(
                    &index,
                    &all,
                    |e, k| reader.edge_property(*e, k),
                    |found: &mut Vec<_>| {
                        reader.index_edges(index.id, &IndexRange::default(), found)
                    },
                )
            }
        };
        holds.map_err(|e| format!("index {}: {e}", index.name))?;
    }
    Ok(())
}

fn edges(reader: &Reader<'_>, ty: EdgeTypeId) -> Vec<EdgeId> {
    let mut all: Vec<EdgeId> = (0..reader.vertex_bound().get())
        .flat_map(|v| reader.edges(VertexId::from_raw(v), ty, Direction::Out))
        .collect();
    all.sort_by_key(|e| e.ordinal);
    all
}

fn compare<T: Copy + PartialEq + std::fmt::Debug>(
    index: &IndexInfo,
    all: &[T],
    value: impl Fn(&T, PropertyKeyId) -> Value,
    read: impl Fn(&mut Vec<T>) -> Result<(), telar_graph::ReadError>,
) -> Result<(), String> {
    let key =
        |object: &T| -> Vec<Value> { index.properties.iter().map(|k| value(object, *k)).collect() };
    let mut expected: Vec<(Vec<Value>, T)> = all.iter().map(|o| (key(o), *o)).collect();
    let is_held = |value: &Value| {
        let held = index.kind.index().and_then(|kind| kind.capability().holds);
        !value.is_null() && held.is_none_or(|ty| ty.admits(value))
    };
    let lacks = |(key, _): &(Vec<Value>, T)| !key.iter().all(is_held);
    if index.kind == ConstraintKind::Exists.into() {
        return expected
            .iter()
            .find(|e| lacks(e))
            .map_or(Ok(()), |e| Err(format!("broken by {e:?}")));
    }
    expected.retain(|e| !lacks(e));
    // Stable: objects come in ascending order.
    match index.kind.index() {
        Some(IndexKind::Point) => expected.sort_by_key(|(key, _)| match &key[..] {
            [Value::Point(point)] => code(point),
            _ => 0,
        }),
        _ => expected.sort_by(|a, b| a.0.cmp(&b.0)),
    }
    if index.kind == ConstraintKind::Unique.into()
        && let Some(pair) = expected.windows(2).find(|pair| pair[0].0 == pair[1].0)
    {
        return Err(format!("broken by {pair:?}"));
    }
    let mut found = Vec::new();
    read(&mut found).map_err(|e| e.to_string())?;
    if found.iter().eq(expected.iter().map(|(_, o)| o)) {
        return Ok(());
    }
    Err(format!("it finds {found:?}, where a scan finds {expected:?}"))
}
