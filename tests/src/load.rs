//! Bulk loads whose traces tell how many of them are in a database, and that each is whole, its
//! index entries included.

use telar_engine::{BulkOptions, Column, EdgeTypeOptions, Engine, Error, IndexSpec, IndexTarget};
use telar_graph::{Direction, IndexRange, Value, VertexId, View};

/// Vertices of one load: more than two segments of them.
const VERTICES: u32 = 2500;

fn bulk_vertices(db: &Engine) -> Result<Vec<VertexId>, Error> {
    let reader = db.reader()?;
    let mut found = Vec::new();
    if let Some(label) = db.find_label("Bulk") {
        reader.scan(Some(label), VertexId::from_raw(0), reader.vertex_bound(), &mut found)?;
    }
    Ok(found)
}

/// Loads vertices with a property, a ring of them, an edge with a property from each to every
/// vertex of the first load's first ten, and a label of this load's own.
///
/// # Errors
/// As the load; nothing is changed then.
pub fn load(db: &Engine) -> Result<(), Error> {
    let old = bulk_vertices(db)?;
    let number = old.len() as u32 / VERTICES;
    let mut options = BulkOptions::default();
    options.memory_bytes = 60_000;
    let mut load = db.bulk_load(options)?;
    let labels = [load.label("Bulk")?, load.label(&format!("Load{number}"))?];
    let key = load.property_key("bulk")?;
    let values: Column = (0..VERTICES).map(Value::from).collect();
    let serial = load.property_key("serial")?;
    let serials: Column = (0..VERTICES).map(|i| Value::from(number * VERTICES + i)).collect();
    load.make_unique("serials", labels[0], &[serial])?;
    load.add_vertices(&labels, VERTICES as usize, &[(key, values), (serial, serials)])?;
    let first = load.first_vertex()?.get() as u32;
    let ring = load.edge_type("RING", EdgeTypeOptions::simple())?;
    let all: Vec<_> = (0..VERTICES).map(|i| (first + i, first + (i + 1) % VERTICES)).collect();
    for part in all.chunks(700) {
        load.add_edges(ring, part.to_vec(), Vec::new())?;
    }
    if number == 1
        && let (Some(ty), Some(key)) = (db.find_edge_type("HOME"), db.find_property_key("bulk"))
    {
        // From the second load on one of edges is kept, too.
        let (target, properties) = (IndexTarget::Edges(ty), vec![key]);
        db.create_index(IndexSpec { name: "weights".to_owned(), target, properties })?;
    }
    let home = |i: u32| old.get(i as usize % 10).map_or(first + i % 10, |v| v.get() as u32);
    let to = load.edge_type("HOME", EdgeTypeOptions::general())?;
    let ends = (0..VERTICES).map(|i| (first + i, home(i))).collect();
    let weights: Column = (0..VERTICES).map(|i| Value::Float(f64::from(i) / 4.0)).collect();
    load.add_edges(to, ends, vec![(key, weights)])?;
    load.finish(&|_, _, _| {}).map(drop)
}

/// How many loads there are, each of them whole.
///
/// # Errors
/// Says what is only partly there.
pub fn verify(db: &Engine) -> Result<u64, String> {
    let text = |e: Error| e.to_string();
    let vertices = bulk_vertices(db).map_err(text)?;
    let loads = vertices.len() as u64 / u64::from(VERTICES);
    if vertices.len() as u64 != loads * u64::from(VERTICES) {
        return Err(format!("{} vertices are no whole loads", vertices.len()));
    }
    let names = db.labels().iter().filter(|l| l.starts_with("Load")).count() as u64;
    if names != loads {
        return Err(format!("{names} labels of {loads} loads"));
    }
    if loads == 0 {
        let known = db.edge_types().len() + db.property_keys().len();
        return if known + db.indexes().len() == 0 {
            Ok(0)
        } else {
            Err("names of a load that is not there".into())
        };
    }
    // Checks that lists mirror each other, that statistics fit, and much else.
    let dump = crate::dump::Dump::of(db)?;
    let reader = db.reader().map_err(text)?;
    let id = |name| db.find_edge_type(name).ok_or("an edge type is missing");
    let (ring, home) = (id("RING")?, id("HOME")?);
    let key = db.find_property_key("bulk").ok_or("the property key is missing")?;
    let total = loads * u64::from(VERTICES);
    let of_type = |name: &str| dump.edges.keys().filter(|(ty, ..)| ty == name).count() as u64;
    if (of_type("RING"), of_type("HOME")) != (total, total) {
        return Err(format!("{} and {} edges", of_type("RING"), of_type("HOME")));
    }
    let serial = db.find_property_key("serial").ok_or("a property key is missing")?;
    let all = IndexRange::default();
    for index in db.indexes() {
        let count = match index.target {
            IndexTarget::Edges(_) => {
                let found = reader.index_range_edges(index.id, &all);
                found.map_err(|e| e.to_string())?.len() as u64
            }
            IndexTarget::Vertices(_) => {
                let found = reader.index_range(index.id, &all).map_err(|e| e.to_string())?;
                let serials = found.iter().map(|v| reader.vertex_property(*v, serial));
                if !serials.eq((0..total as i64).map(Value::Int)) {
                    return Err("the serials are not in order".into());
                }
                found.len() as u64
            }
        };
        if count != total {
            return Err(format!("{count} of {total} are in index {}", index.name));
        }
    }
    if db.find_index("serials").is_none() {
        return Err("the constraint of the load is missing".into());
    }
    for v in &vertices {
        let Value::Int(n) = reader.vertex_property(*v, key) else {
            return Err(format!("vertex {v} has lost its property"));
        };
        let degrees = [Direction::Out, Direction::In].map(|d| reader.degree(*v, ring, d));
        if degrees != [1, 1] {
            return Err(format!("vertex {v} is in no ring: {degrees:?}"));
        }
        for edge in reader.edges(*v, home, Direction::Out) {
            if reader.edge_property(edge, key) != Value::Float(n as f64 / 4.0) {
                return Err(format!("edge {edge:?} has lost its property"));
            }
        }
    }
    Ok(loads)
}
