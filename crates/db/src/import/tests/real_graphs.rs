//! Counts of published graphs, where the shared data folder has them (docs/testing.md).

use std::path::PathBuf;

use super::*;

/// File, vertices, edges. Counts are those of the publishers, but for wiki-Vote: the publisher
/// counts 7,115 vertices, while the stored copy has the line `0,1412` and so one vertex more.
const GRAPHS: [(&str, u32, usize); 9] = [
    ("CollegeMsg.txt.zst", 1_899, 59_835),
    ("astro-ph.metis.zst", 16_706, 121_251),
    ("ca-GrQc.csv.zst", 5_242, 28_980),
    ("cnr-2000.txt.zst", 325_557, 3_216_152),
    ("email-Eu-core.csv.zst", 1_005, 25_571),
    ("soc-Epinions1.txt.zst", 75_879, 508_837),
    ("soc-sign-bitcoinotc.csv.zst", 5_881, 35_592),
    ("twitter_combined-renumbered.txt.zst", 81_306, 1_768_135),
    ("wiki-Vote.csv.zst", 7_116, 103_689),
];

#[path = "../../../../../tests/src/test_data.rs"]
#[expect(unreachable_pub, reason = "it is public where the file lives")]
mod test_data;

fn shared_graph(file: &str) -> Option<PathBuf> {
    test_data::shared(&format!("data/graphs/{file}"))
}

#[test]
fn published_graphs_have_their_published_counts() {
    for (file, vertices, edges) in GRAPHS {
        let Some(path) = shared_graph(file) else {
            continue;
        };
        let graph = EdgeList::read(path, &EdgeListOptions::default(), &|_| {}).unwrap();
        assert_eq!((graph.vertex_count, graph.edges.len()), (vertices, edges), "{file}");
    }
}

#[test]
fn published_columns_have_their_types() {
    if let Some(path) = shared_graph("soc-sign-bitcoinotc.csv.zst") {
        let graph = EdgeList::read(path, &EdgeListOptions::default(), &|_| {}).unwrap();
        assert_eq!(graph.columns[0].name, "feature");
        assert!(matches!(graph.columns[0].values, ColumnValues::Integers(_)));
        assert_eq!(graph.column("time").unwrap().values.get_f64(0), Some(1_289_241_911.728_36));
    }
    if let Some(path) = shared_graph("CollegeMsg.txt.zst") {
        let graph = EdgeList::read(path, &EdgeListOptions::default(), &|_| {}).unwrap();
        assert_eq!(graph.column("time").unwrap().values.get_f64(0), Some(1_082_040_961.0));
    }
}
