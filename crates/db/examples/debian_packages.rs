//! The packages of a Debian machine and what they depend on: from dpkg's own file through CSV into
//! a graph, then the packages most others rest on.
//!
//! `cargo run --release -p telar-db --example debian_packages -- [STATUS-FILE [DATABASE]]`
//!
//! The file is `/var/lib/dpkg/status` unless another is named; without a database the graph is kept
//! in memory.
#![allow(clippy::print_stdout, reason = "an example shows what it does")]

use std::collections::{BTreeMap, BTreeSet};
use std::error::Error;
use std::fmt::Write;
use std::path::Path;

use telar_db::algo::pagerank;
use telar_db::import::{CsvGroup, CsvImport, import_csv};
use telar_db::{Direction, Topology, Value, VertexId};

/// Kinds of dependencies, as dpkg spells them and as edge types.
const KINDS: [(&str, &str); 4] = [
    ("Depends", "DEPENDS_ON"),
    ("Pre-Depends", "DEPENDS_ON"),
    ("Recommends", "RECOMMENDS"),
    ("Suggests", "SUGGESTS"),
];

/// The stanzas of the file, by field; continuation lines are left out.
fn stanzas(text: &str) -> Vec<BTreeMap<&str, &str>> {
    text.split("\n\n")
        .map(|stanza| {
            let lines = stanza.lines().filter(|line| !line.starts_with(' '));
            lines.filter_map(|line| line.split_once(": ")).collect()
        })
        .filter(|fields: &BTreeMap<&str, &str>| fields.contains_key("Package"))
        .collect()
}

fn quoted(text: &str) -> String {
    format!("\"{}\"", text.replace('"', "\"\""))
}

/// The graph as two CSV files in `folder`.
fn write_csv(text: &str, folder: &Path) -> Result<(), Box<dyn Error>> {
    let packages = stanzas(text);
    let known: BTreeSet<&str> = packages.iter().map(|fields| fields["Package"]).collect();
    let mut nodes = "name:ID(Package),version,section,installedKiB:long,essential:boolean,\
                     tags:string[],:LABEL\n"
        .to_owned();
    let mut edges = ":START_ID(Package),:END_ID(Package),:TYPE,condition\n".to_owned();
    let mut written = BTreeSet::new();
    for fields in &packages {
        let name = fields["Package"];
        // A package for several architectures has a stanza for each.
        if !written.insert(name) {
            continue;
        }
        let get = |field: &str| fields.get(field).copied().unwrap_or_default();
        let installed = get("Status").ends_with(" installed");
        writeln!(
            nodes,
            "{name},{},{},{},{},{},{}",
            quoted(get("Version")),
            quoted(get("Section")),
            get("Installed-Size"),
            get("Essential") == "yes",
            quoted(&get("Tag").replace(", ", ";")),
            if installed { "Installed" } else { "" },
        )?;
        for (field, ty) in KINDS {
            // `a (>= 1) | b, c` asks for one of a and b, and for c.
            for alternative in get(field).split([',', '|']).map(str::trim) {
                let (target, condition) = alternative.split_once(' ').unwrap_or((alternative, ""));
                let target = target.split(':').next().unwrap_or_default();
                if known.contains(target) {
                    writeln!(edges, "{name},{target},{ty},{}", quoted(condition))?;
                }
            }
        }
    }
    std::fs::write(folder.join("packages.csv"), nodes)?;
    std::fs::write(folder.join("dependencies.csv"), edges)?;
    Ok(())
}

fn main() -> Result<(), Box<dyn Error>> {
    let mut arguments = std::env::args().skip(1);
    let status = arguments.next().unwrap_or_else(|| "/var/lib/dpkg/status".to_owned());
    let text = std::fs::read_to_string(&status).map_err(|e| format!("{status}: {e}"))?;
    let folder = std::env::temp_dir().join(format!("telar-packages-{}", std::process::id()));
    std::fs::create_dir_all(&folder)?;
    write_csv(&text, &folder)?;

    let db = match arguments.next() {
        Some(path) => telar_db::open(path)?,
        None => telar_db::open_in_memory()?,
    };
    let mut import = CsvImport::default();
    let group = |names: &[&str], file: &str| CsvGroup {
        names: names.iter().map(|name| (*name).to_owned()).collect(),
        files: vec![folder.join(file)],
    };
    import.nodes.push(group(&["Package"], "packages.csv"));
    import.relationships.push(group(&[], "dependencies.csv"));
    let report = import_csv(&db, &import, &|_| {});
    std::fs::remove_dir_all(&folder)?;
    let report = report?;
    println!(
        "{} packages, {} dependencies, {} properties",
        report.vertices, report.edges, report.properties
    );

    let depends = db.find_edge_type("DEPENDS_ON").ok_or("no package depends on another")?;
    let name = db.find_property_key("name").ok_or("packages have no names")?;
    let reader = db.reader()?;
    let outgoing = reader.adjacency(depends, Direction::Out)?;
    let incoming = reader.adjacency(depends, Direction::In)?;
    let degrees = pagerank::out_degrees(&outgoing, outgoing.vertex_bound());
    let ranks = pagerank::pagerank(&incoming, &degrees, &pagerank::Settings::default());
    let mut order: Vec<usize> = (0..ranks.scores.len()).collect();
    order.sort_unstable_by(|a, b| ranks.scores[*b].total_cmp(&ranks.scores[*a]));
    println!("what most others rest on (PageRank, packages that depend on it directly):");
    for vertex in order.into_iter().take(10) {
        let vertex = VertexId::from_raw(vertex as u64);
        if let Value::String(text) = reader.vertex_property(vertex, name) {
            let direct = reader.degree(vertex, depends, Direction::In);
            println!("  {:.4}  {direct:>4}  {text}", ranks.scores[vertex.get() as usize]);
        }
    }
    drop(reader);
    db.close()?;
    Ok(())
}
