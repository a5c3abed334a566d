//! Loads columns from memory into a database on disk and prints what it cost:
//! `cargo run --release -p telar-db --example tables [PERSONS RELATIONSHIPS]`.

use telar_db::column::Column;
use telar_db::import::table::{End, NodeTable, RelationshipTable, Table, TableImport};
use telar_db::import::{UniqueKey, import_tables};

/// User and system time of this process, in seconds.
fn cpu_seconds() -> f64 {
    let stat = std::fs::read_to_string("/proc/self/stat").unwrap_or_default();
    let fields = stat.rsplit(')').next().unwrap_or_default().split_whitespace().skip(11).take(2);
    fields.filter_map(|field| field.parse::<f64>().ok()).sum::<f64>() / 100.0
}

fn end(column: &str) -> End {
    End { column: column.to_owned(), label: "Person".to_owned(), key: "id".to_owned() }
}

fn main() -> Result<(), Box<dyn std::error::Error>> {
    let mut counts = std::env::args().skip(1).filter_map(|count| count.parse::<i64>().ok());
    let persons = counts.next().unwrap_or(100_000);
    let relationships = counts.next().unwrap_or(2_000_000);
    // Numbers that look random, the same in every run.
    let mut state = 1_u64;
    let mut random = |below: i64| {
        state =
            state.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1_442_695_040_888_963_407);
        ((state >> 33) % below.unsigned_abs().max(1)) as i64
    };
    let mut names = Column::packed();
    (0..persons).for_each(|id| names.push(format!("Person {id}").into()));
    let ages: Vec<i64> = (0..persons).map(|_| random(90)).collect();
    let people = vec![Column::from((0..persons).collect::<Vec<_>>()), names, Column::from(ages)];
    let mut ends = || Column::from((0..relationships).map(|_| random(persons)).collect::<Vec<_>>());
    let (from, to) = (ends(), ends());
    let since: Vec<i64> = (0..relationships).map(|_| 1980 + random(45)).collect();
    let weight: Vec<f64> = (0..relationships).map(|_| random(1000) as f64 / 1000.0).collect();
    let knows = vec![from, to, Column::from(since), Column::from(weight)];

    let folder = tempfile::tempdir()?;
    let db = telar_db::open(folder.path().join("tables.telar"))?;
    let mut import = TableImport::default();
    import.unique.push(UniqueKey { label: "Person".to_owned(), key: "id".to_owned() });
    let rows = Box::new(Table::new(["id", "name", "age"], [people]));
    import.nodes.push(NodeTable { labels: vec!["Person".to_owned()], rows });
    let rows = Box::new(Table::new(["a", "b", "since", "weight"], [knows]));
    let (ty, from, to) = ("KNOWS".to_owned(), end("a"), end("b"));
    import.relationships.push(RelationshipTable { ty, from, to, rows });
    let (begun, cpu) = (std::time::Instant::now(), cpu_seconds());
    let report = import_tables(&db, import, &|_| Ok(()))?;
    let (wall, cpu) = (begun.elapsed().as_secs_f64(), cpu_seconds() - cpu);
    let text = format!(
        "{} nodes, {} relationships, {} properties: {cpu:.2} CPU s, {wall:.2} s\n",
        report.vertices, report.edges, report.properties
    );
    std::io::Write::write_all(&mut std::io::stdout(), text.as_bytes())?;
    Ok(())
}
