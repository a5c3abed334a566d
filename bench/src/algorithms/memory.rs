//! Bytes that kernels allocate beside the graph at their peak, and what they estimate.
//!
//! The allocator of the program counts (`telar_graph::heap`), up to 64 KiB for each thread. In
//! the tests of the library no allocator does, and all is 0.

use telar_algo::control::Control;
use telar_graph::{Topology, heap};

use super::kernel::{DIRECTED, Kernel, Lists};
use super::world::World;
use super::{Failed, Run, pool};
use crate::container::{Container, Snapshot};
use crate::figures::Bound;
use crate::report::{Table, digits};

const ARRAYS: Bound = Bound::AtMost(2.0);

/// Bytes that a kernel has allocated at its peak, after a run that does not count.
fn peak<T: Topology>(
    kernel: Kernel,
    lists: &Lists<'_, T>,
    control: &Control<'_>,
) -> Result<u64, Failed> {
    let expected = kernel.run(lists, control)?;
    heap::watch_peak();
    let before = heap::peak();
    let found = kernel.run(lists, control)?;
    let bytes = heap::peak() - before;
    found.require(&expected).map_err(|wrong| format!("{}: {wrong}", kernel.name()))?;
    Ok(bytes)
}

pub(super) fn measure(run: &mut Run<'_>) -> Result<(), Failed> {
    let arrays = format!("arrays of n ({ARRAYS} for PageRank, BFS, WCC)");
    let mut table = Table::new([
        "kernel",
        "threads",
        "bytes per vertex",
        "bytes of an entry",
        arrays.as_str(),
        "estimate, bytes per vertex",
    ]);
    let (directed, oriented) =
        (World::directed(run.options.scale), World::oriented(run.options.scale));
    for (world, kernels) in [(&directed, DIRECTED), (&oriented, &[Kernel::Triangles][..])] {
        let telar = world.settled();
        let snapshot = telar.snapshot();
        let (out, incoming) = (snapshot.out(), snapshot.in_());
        let lists = Lists { out: &out, incoming: &incoming, n: world.n, source: world.source };
        for &kernel in kernels {
            for &threads in &run.options.threads {
                (run.stage)(&format!("memory of {}, {threads} threads", kernel.name()));
                let pool = pool(threads)?;
                let bytes = peak(kernel, &lists, &Control::default().on(&pool))?;
                let n = u64::from(world.n);
                let per_vertex = bytes as f64 / n as f64;
                let of_n = per_vertex / kernel.entry_bytes() as f64;
                let estimate = kernel.estimate(n, world.edges.len() as u64);
                let estimate = estimate.map(|bytes| bytes as f64 / n as f64);
                let key =
                    |figure: &str| format!("memory/{}/{threads}_threads/{figure}", kernel.name());
                run.found.report.figure(key("bytes_per_vertex"), per_vertex);
                if let Some(estimate) = estimate {
                    run.found.report.figure(key("estimate_bytes_per_vertex"), estimate);
                }
                let bounded = matches!(kernel, Kernel::PageRank | Kernel::Bfs | Kernel::Wcc);
                table.push([
                    kernel.name().to_owned(),
                    threads.to_string(),
                    digits(per_vertex),
                    kernel.entry_bytes().to_string(),
                    run.ratio(key("arrays_of_n"), of_n, bounded.then_some(ARRAYS)),
                    estimate.map_or("-".to_owned(), digits),
                ]);
            }
        }
    }
    run.table("Memory of kernels in place beside the graph", table);
    Ok(())
}
