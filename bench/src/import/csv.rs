//! Vertices and edges with properties, as CSV.

use std::io::{BufWriter, Write};
use std::path::Path;

use telar_cli::process_cpu_s;
use telar_db::import::{CsvGroup, CsvImport, Ids, UniqueKey, import_csv};
use telar_db::{Direction, Value, VertexId, View};
use telar_generate::names::{CITIES, FAMILY, GIVEN};
use telar_generate::rng::Rng;

use super::{BenchError, Line, Options, adjacency_sums, disk_bytes, edge_sum, expect, settings};
use crate::measure::Samples;

/// Sums of what stands in the files.
#[derive(Default)]
struct Written {
    edges: (u64, u64),
    ages: i64,
    years: i64,
    /// In hundredths.
    weights: i64,
}

fn write(options: &Options, nodes: &Path, edges: &Path) -> std::io::Result<Written> {
    let mut rng = Rng::new(options.seed);
    let mut written = Written::default();
    let mut out = BufWriter::with_capacity(1 << 20, std::fs::File::create(nodes)?);
    writeln!(out, "id:ID(Person),name:string,age:int,city:string")?;
    let id = |person: u64| 1_000_000 + 3 * person;
    for person in 0..options.persons.into() {
        let (given, family) = (GIVEN[rng.index(GIVEN.len())], FAMILY[rng.index(FAMILY.len())]);
        let (age, city) = (18 + rng.below(70), CITIES[rng.index(CITIES.len())]);
        written.ages += age as i64;
        // A comma in a name is what quotes are for.
        writeln!(out, "{},\"{family}, {given} {person}\",{age},{city}", id(person))?;
    }
    out.flush()?;
    let mut out = BufWriter::with_capacity(1 << 20, std::fs::File::create(edges)?);
    writeln!(out, ":START_ID(Person),:END_ID(Person),since:int,weight:double")?;
    for _ in 0..options.friendships {
        let (u, v) = (rng.below(options.persons.into()), rng.below(options.persons.into()));
        let (year, weight) = (1990 + rng.below(35), rng.below(1000));
        written.years += year as i64;
        written.weights += weight as i64;
        written.edges = (written.edges.0 + 1, edge_sum(written.edges.1, u, v));
        let (u, v) = (id(u), id(v));
        writeln!(out, "{u},{v},{year},{}.{:02}", weight / 100, weight % 100)?;
    }
    out.flush()?;
    Ok(written)
}

/// Adds up every property that was written.
fn check(db: &telar_db::Database, persons: u32, written: &Written) -> Result<(), BenchError> {
    expect("csv", adjacency_sums(db, "KNOWS", u64::from)?, written.edges)?;
    let wrong = |what: &str| BenchError::Wrong(what.to_owned());
    let key = |name: &str| db.find_property_key(name).ok_or_else(|| wrong(name));
    let id = key("id")?;
    let (age, since, weight) = (key("age")?, key("since")?, key("weight")?);
    let ty = db.find_edge_type("KNOWS").ok_or_else(|| wrong("KNOWS"))?;
    let reader = db.reader()?;
    let int = |v: Value| if let Value::Int(n) = v { n } else { 0 };
    let (mut ages, mut years, mut weights, mut vertices) = (0, 0, 0, Vec::new());
    let first = VertexId::from_raw(0);
    reader
        .scan(db.find_label("Person"), first, reader.vertex_bound(), &mut vertices)
        .map_err(telar_engine::Error::from)?;
    if vertices.len() != persons as usize {
        return Err(wrong("number of persons"));
    }
    let index = db.indexes().into_iter().find(|i| i.properties == [id]);
    let index = index.ok_or_else(|| wrong("no index on the id"))?;
    for v in vertices {
        let key = reader.vertex_property(v, id);
        if reader.index_find(index.id, &[key]).ok().flatten() != Some(v) {
            return Err(wrong("the unique index does not find a person"));
        }
        ages += int(reader.vertex_property(v, age));
        for edge in reader.edges(v, ty, Direction::Out) {
            years += int(reader.edge_property(edge, since));
            if let Value::Float(x) = reader.edge_property(edge, weight) {
                weights += (x * 100.0).round() as i64;
            }
        }
    }
    if (ages, years, weights) != (written.ages, written.years, written.weights) {
        return Err(wrong("properties do not add up"));
    }
    Ok(())
}

pub(super) fn run(
    options: &Options,
    folder: &Path,
    stage: &mut dyn FnMut(&str),
) -> Result<Vec<Line>, BenchError> {
    stage("writing CSV files");
    let (nodes, edges) = (folder.join("persons.csv"), folder.join("knows.csv"));
    let written = write(options, &nodes, &edges)?;
    let mut import = CsvImport::default();
    import.ids = Ids::Integer;
    let group = |name: &str, file| CsvGroup { names: vec![name.to_owned()], files: vec![file] };
    import.nodes.push(group("Person", nodes));
    import.relationships.push(group("KNOWS", edges));
    import.unique.push(UniqueKey { label: "Person".to_owned(), key: "id".to_owned() });
    let (mut cpu, mut wall, mut bytes) = (Samples::default(), Samples::default(), 0);
    for round in 0..options.rounds {
        stage("importing CSV files");
        let path = folder.join(format!("csv-{round}"));
        let begun = (process_cpu_s(), std::time::Instant::now());
        let db = telar_db::open_with(&path, settings())?;
        import_csv(&db, &import, &|_| {})?;
        db.close()?;
        cpu.push(process_cpu_s() - begun.0);
        wall.push(begun.1.elapsed().as_secs_f64());
        bytes = disk_bytes(&path)?;
        let db = telar_db::open_with(&path, settings())?;
        check(&db, options.persons, &written)?;
        drop(db);
        std::fs::remove_dir_all(&path)?;
    }
    let line = |value, unit, target| Line { name: "csv".to_owned(), value, unit, target };
    Ok(vec![
        line(cpu.median(), "CPU-s", "<= 1.2"),
        line(wall.median(), "s", ""),
        line(bytes as f64 / 1e6, "MB on disk", "<= 35"),
    ])
}
