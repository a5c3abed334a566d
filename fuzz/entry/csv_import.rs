//! Files of nodes and relationships made of any bytes: an import ends with a graph or with an error
//! that has a place, and an error leaves the database empty.

use telar_db::import::{BadRows, CsvGroup, CsvImport, Ids, UniqueKey, import_csv};
use telar_db::{IndexRange, VertexId, View};
use telar_graph::Counts;

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
    if how & 4 == 4 {
        import.unique.push(UniqueKey { label: "X".to_owned(), key: "id".to_owned() });
    }
    if how & 8 == 8 {
        import.bad_rows = BadRows::Skip { file: folder.path().join("rejects"), max: u64::MAX };
    }
    let db = telar_db::open_in_memory().expect("a database in memory");
    match import_csv(&db, &import, &|_| {}) {
        Ok(report) => {
            let statistics = db.reader().expect("a snapshot").statistics().expect("read");
            assert_eq!((statistics.vertices, statistics.edges()), (report.vertices, report.edges));
            for index in db.indexes() {
                let reader = db.reader().expect("a snapshot");
                let found = reader.index_range(index.id, &IndexRange::default());
                let found = found.expect("an index that can be read");
                let keys = found.iter().map(|v| reader.vertex_property(*v, index.properties[0]));
                assert!(keys.is_sorted_by(|a, b| a < b), "a key is there twice");
                let mut all = Vec::new();
                reader
                    .scan(None, VertexId::from_raw(0), reader.vertex_bound(), &mut all)
                    .expect("read");
                all.retain(|v| !reader.vertex_property(*v, index.properties[0]).is_null());
                assert_eq!(all.len(), found.len());
            }
        }
        Err(error) => {
            assert!(!error.to_string().is_empty());
            assert!(db.labels().is_empty() && db.property_keys().is_empty());
            assert!(db.indexes().is_empty());
            assert_eq!(db.published(), telar_db::CommitTs::ZERO);
        }
    }
}
