//! A file of edges into a database on disk, then PageRank over a snapshot.
//!
//! `cargo run --release -p telar-db --example import_and_rank -- edges.txt graph.telar`
#![allow(clippy::print_stdout, reason = "an example shows what it does")]

use std::error::Error;

use telar_db::Direction;
use telar_db::algo::pagerank;
use telar_db::import::{ImportOptions, import_edge_list};
use telar_db::{Topology, Value, VertexId};

fn main() -> Result<(), Box<dyn Error>> {
    let mut arguments = std::env::args().skip(1);
    let (Some(file), Some(path)) = (arguments.next(), arguments.next()) else {
        return Err("usage: import_and_rank FILE DATABASE".into());
    };
    let db = telar_db::open(&path)?;
    let mut options = ImportOptions::default();
    options.simple = true;
    let report = import_edge_list(&db, &file, &options, &|_| {})?;
    println!("{} vertices, {} edges", report.vertices, report.edges);

    let links = db.find_edge_type("LINK").ok_or("the import made no edge type")?;
    let id = db.find_property_key("id").ok_or("the import made no ids")?;
    let reader = db.reader()?;
    let outgoing = reader.adjacency(links, Direction::Out)?;
    let incoming = reader.adjacency(links, Direction::In)?;
    let degrees = pagerank::out_degrees(&outgoing, outgoing.vertex_bound());
    let ranks = pagerank::pagerank(&incoming, &degrees, &pagerank::Settings::default());

    let mut order: Vec<usize> = (0..ranks.scores.len()).collect();
    order.sort_unstable_by(|a, b| ranks.scores[*b].total_cmp(&ranks.scores[*a]));
    for vertex in order.into_iter().take(10) {
        let name = match reader.vertex_property(VertexId::from_raw(vertex as u64), id) {
            Value::Int(number) => number.to_string(),
            Value::String(text) => text.to_string(),
            _ => format!("vertex {vertex}"),
        };
        println!("{:.6}  {name}", ranks.scores[vertex]);
    }
    drop(reader);
    db.close()?;
    Ok(())
}
