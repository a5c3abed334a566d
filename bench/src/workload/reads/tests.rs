//! Tests of the reads.

use telar_generate::{Rmat, rmat};

use super::*;

fn graph(orient: bool) -> (u32, Vec<Edge>) {
    let parameters = Rmat { scale: 9, edge_factor: 8, seed: 5 };
    let mut edges = rmat(&parameters);
    edges::dedup_undirected(&mut edges);
    if orient {
        edges::orient(&mut edges);
    }
    (parameters.vertices(), edges)
}

#[test]
fn every_kernel_is_timed_and_knows_its_work() {
    let (n, edges) = graph(true);
    let (out, incoming) = (Csr::outgoing(n, &edges), Csr::incoming(n, &edges));
    let options = ReadOptions { searches: 1000, ..ReadOptions::default() };
    let plan = ReadPlan::new(&out, &incoming, &options);
    let more = [Kernel::SearchVertex, Kernel::ScanVertices, Kernel::Triangles];
    for kernel in Kernel::DIRECTED.into_iter().chain(more) {
        let mut subjects = [Subject::new("A", &out, &incoming), Subject::new("B", &out, &incoming)];
        let outcomes = run_reads(&plan, kernel, &mut subjects, 3).unwrap();
        assert_eq!((outcomes.len(), outcomes[1].samples.count()), (2, 3));
        assert!(outcomes[0].work > 0 && outcomes[0].work <= 10 * out.edges().max(1000));
        assert!((outcomes[0].speed_ratio(&outcomes[0]) - 1.0).abs() < 1e-9);
    }
}

#[test]
fn missing_edge_is_noticed() {
    let (n, mut edges) = graph(false);
    let (out, incoming) = (Csr::outgoing(n, &edges), Csr::incoming(n, &edges));
    let plan = ReadPlan::new(&out, &incoming, &ReadOptions::default());
    edges.pop();
    let (less_out, less_in) = (Csr::<u32>::outgoing(n, &edges), Csr::incoming(n, &edges));
    for kernel in [Kernel::Scan, Kernel::RandomScan, Kernel::PageRank] {
        let mut subjects = [Subject::new("less", &less_out, &less_in)];
        let wrong = run_reads(&plan, kernel, &mut subjects, 1).unwrap_err();
        assert_eq!(wrong.subject, "less");
    }
}
