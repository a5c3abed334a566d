//! Edge lists: generated, and one that is there.

use std::io::{BufWriter, Write};
use std::path::Path;

use telar_cli::process_cpu_s;
use telar_db::import::{Columns, EdgeList, EdgeListOptions, ImportOptions, import_edge_list};
use telar_db::{Value, VertexId};
use telar_generate::{Rmat, rmat};

use super::{BenchError, Line, Options, adjacency_sums, edge_sum, expect, settings};
use crate::measure::Samples;

pub(super) fn generated(
    options: &Options,
    folder: &Path,
    stage: &mut dyn FnMut(&str),
) -> Result<Vec<Line>, BenchError> {
    stage("writing a generated edge list");
    let parameters =
        Rmat { scale: options.scale, edge_factor: options.edge_factor, seed: options.seed };
    let path = folder.join("rmat.txt");
    let mut edges = rmat(&parameters);
    let mut out = BufWriter::with_capacity(1 << 20, std::fs::File::create(&path)?);
    for (u, v) in &edges {
        writeln!(out, "{u} {v}")?;
    }
    out.flush()?;
    let records = edges.len();
    edges.sort_unstable();
    edges.dedup();
    let sum = edges.iter().fold(0, |sum, (u, v)| edge_sum(sum, (*u).into(), (*v).into()));
    let wanted = (edges.len() as u64, sum);
    drop(edges);
    import("rmat", &path, records, wanted, options.rounds, folder, stage)
}

pub(super) fn given(
    options: &Options,
    file: &Path,
    folder: &Path,
    stage: &mut dyn FnMut(&str),
) -> Result<Vec<Line>, BenchError> {
    stage("reading the given edge list");
    let mut how = EdgeListOptions::default();
    how.columns = Columns::Ignore;
    let list = EdgeList::read(file, &how, &|_| {})?;
    let id = |v: u32| match list.original_id(v).map(|id| id.to_string().parse()) {
        Some(Ok(id)) => id,
        _ => u64::from(v),
    };
    let records = list.edges.len();
    let mut edges: Vec<(u64, u64)> = list.edges.iter().map(|(u, v)| (id(*u), id(*v))).collect();
    edges.sort_unstable();
    edges.dedup();
    let sum = edges.iter().fold(0, |sum, (u, v)| edge_sum(sum, *u, *v));
    let wanted = (edges.len() as u64, sum);
    drop((edges, list));
    import("file", file, records, wanted, options.rounds, folder, stage)
}

fn import(
    name: &str,
    file: &Path,
    records: usize,
    wanted: (u64, u64),
    rounds: usize,
    folder: &Path,
    stage: &mut dyn FnMut(&str),
) -> Result<Vec<Line>, BenchError> {
    let (mut cpu, mut wall) = (Samples::default(), Samples::default());
    for round in 0..rounds {
        stage(&format!("importing {}", file.display()));
        let path = folder.join(format!("{name}-{round}"));
        let mut how = ImportOptions::default();
        how.simple = true;
        let begun = (process_cpu_s(), std::time::Instant::now());
        let db = telar_db::open_with(&path, settings())?;
        let report = import_edge_list(&db, file, &how, &|_| {})?;
        cpu.push(process_cpu_s() - begun.0);
        wall.push(begun.1.elapsed().as_secs_f64());
        if report.edges + report.duplicates != records as u64 {
            return Err(BenchError::Wrong(format!("{report:?} of {records} records")));
        }
        let key = db.find_property_key("id");
        let key = key.ok_or_else(|| BenchError::Wrong("no ids".into()))?;
        let ids: Vec<u64> = {
            let reader = db.reader()?;
            let id = |v: u32| match reader.vertex_property(VertexId::from_raw(v.into()), key) {
                Value::Int(n) => n.cast_unsigned(),
                _ => u64::from(v),
            };
            (0..report.vertices as u32).map(id).collect()
        };
        // The database of the last round is opened again: what is checked came from disk.
        let db = if round + 1 == rounds {
            db.close()?;
            telar_db::open_with(&path, settings())?
        } else {
            db
        };
        expect(name, adjacency_sums(&db, "LINK", |v| ids[v as usize])?, wanted)?;
        drop(db);
        std::fs::remove_dir_all(&path)?;
    }
    let line = |value, unit, target| Line { name: name.to_owned(), value, unit, target };
    let millions = records as f64 / 1e6;
    Ok(vec![
        line(millions / cpu.median(), "M edges per CPU-s", ">= 5"),
        line(millions / wall.median(), "M edges per s", ""),
    ])
}
