//! Files of nodes and relationships made of any bytes: an import ends with a graph or with an error
//! that has a place, and an error leaves the database empty.

use telar_db::View;
use telar_db::import::{CsvGroup, CsvImport, Ids, import_csv};

pub(crate) fn csv_import(bytes: &[u8]) {
    let Some((how, rest)) = bytes.split_first() else { return };
    let cut = rest.iter().position(|b| *b == 0).unwrap_or(rest.len());
    let (nodes, edges) = rest.split_at(cut);
    let folder = tempfile::tempdir().expect("a folder for temporary files");
    let file = |name: &str, text: &[u8]| {
        std::fs::write(folder.path().join(name), text).expect("a file in it");
        CsvGroup { names: vec!["X".to_owned()], files: vec![folder.path().join(name)] }
    };
    let mut import = CsvImport::default();
    import.threads = 1;
    import.trim = how & 1 == 1;
    import.ids = if how & 2 == 2 { Ids::Integer } else { Ids::Text };
    import.nodes.push(file("n.csv", nodes));
    if let Some((_, edges)) = edges.split_first() {
        import.relationships.push(file("e.csv", edges));
    }
    let db = telar_db::open_in_memory().expect("a database in memory");
    match import_csv(&db, &import, &|_| {}) {
        Ok(report) => {
            let statistics = db.reader().expect("a snapshot").statistics();
            assert_eq!((statistics.vertices, statistics.edges()), (report.vertices, report.edges));
        }
        Err(error) => {
            assert!(!error.to_string().is_empty());
            assert!(db.labels().is_empty() && db.property_keys().is_empty());
            assert_eq!(db.published(), telar_db::CommitTs::ZERO);
        }
    }
}
