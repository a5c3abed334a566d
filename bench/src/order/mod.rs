//! Orders of the vertices: the benchmark behind `telar bench order`.
//!
//! The ids of a graph are shuffled, and each order of `telar_algo::ordering` is computed on what
//! that gives. PageRank runs on the lists of each order, flat and in a database that was loaded in
//! it, and once more where lists keep the shuffled ids and each neighbour is looked up in an array
//! of places: the price of ids that stay while vertices move. Scores are compared with those of the
//! shuffled graph before anything is timed. Subjects take turns; times are medians of
//! processor time, on one thread.
//! Misses are those of the model in `cache.rs`.

mod cache;

use std::ops::Range;

use telar_algo::control::Control;
use telar_algo::csr::Csr;
use telar_algo::ordering::{self, Method, Quality};
use telar_algo::pagerank::{Settings, out_degrees, pagerank};
use telar_cli::process_cpu_s;
use telar_generate::edges::permutation;
use telar_graph::{Direction, Topology};

use crate::container::Telar;
use crate::kernel::GraphSpec;
use crate::measure::interleave;
use crate::report::{Report, Table, digits};

pub use cache::Misses;

/// Parameters of a run.
#[derive(Debug, Clone)]
pub struct Options {
    /// The graph.
    pub graph: GraphSpec,
    /// Orders to measure, beside the shuffled and the original one.
    pub methods: Vec<Method>,
    /// Iterations of PageRank in a run.
    pub iterations: u32,
    /// Rounds; medians count.
    pub rounds: usize,
    /// Seed of generated graphs, of the shuffle and of orders.
    pub seed: u64,
}

/// Runs `work`, and returns its result and the processor time of the process: kernels run on a
/// thread of their own, and nothing else does meanwhile.
fn time<R>(work: impl FnOnce() -> R) -> (R, f64) {
    let before = process_cpu_s();
    let result = std::hint::black_box(work());
    (result, process_cpu_s() - before)
}

/// An error, as text.
pub type Failed = Box<dyn std::error::Error + Send + Sync>;

/// Lists and degrees of the graph under one numbering.
struct Ordered {
    name: &'static str,
    /// Place of each vertex of the shuffled graph.
    places: Vec<u32>,
    incoming: Csr,
    degrees: Vec<u32>,
    telar: Telar,
    /// Seconds for the order.
    order_s: f64,
    /// Seconds for lists in both directions, where the order needs them.
    undirected_s: f64,
    /// Seconds for the lists of the new numbering, in one direction.
    permuted_s: f64,
    quality: Quality,
}

/// Lists under new places whose entries are still old ids: each is looked up when it is read.
struct Translated<'a> {
    /// Lists by place, with shuffled ids.
    lists: Csr,
    places: &'a [u32],
}

/// Ids that are translated at once.
const BUFFER: usize = 256;

impl Translated<'_> {
    fn runs(&self, v: u32, mut f: impl FnMut(&[u32])) {
        let mut buffer = [0; BUFFER];
        for ids in self.lists.of(v).chunks(BUFFER) {
            for (place, id) in buffer.iter_mut().zip(ids) {
                *place = self.places[*id as usize];
            }
            f(&buffer[..ids.len()]);
        }
    }
}

impl Topology for Translated<'_> {
    fn vertex_bound(&self) -> u32 {
        self.lists.vertices()
    }

    fn degree(&self, v: u32) -> u32 {
        self.lists.of(v).len() as u32
    }

    fn for_each_run<F: FnMut(&[u32])>(&self, v: u32, f: F) {
        self.runs(v, f);
    }

    fn scan<F: FnMut(u32, &[u32])>(&self, vertices: Range<u32>, mut f: F) {
        for v in vertices {
            self.runs(v, |run| f(v, run));
        }
    }

    fn visit<F: FnMut(u32, &[u32])>(&self, vertices: &[u32], mut f: F) {
        for &v in vertices {
            self.runs(v, |run| f(v, run));
        }
    }

    fn sorted<'a>(&'a self, v: u32, out: &'a mut Vec<u32>) -> &'a [u32] {
        out.clear();
        self.runs(v, |run| out.extend_from_slice(run));
        out.sort_unstable();
        out
    }

    fn contains(&self, u: u32, v: u32) -> bool {
        let mut found = false;
        self.runs(u, |run| found |= run.contains(&v));
        found
    }

    fn prefetch(&self, _: u32) {}
}

/// The graph whose ids were shuffled.
struct World {
    outgoing: Csr,
    incoming: Csr,
    /// Place of each vertex before the shuffle.
    original: Vec<u32>,
}

impl World {
    fn new(options: &Options) -> Result<Self, Failed> {
        let input = options.graph.read(options.seed)?;
        let shuffle = permutation(input.n, options.seed + 2);
        let mut original = vec![0; shuffle.len()];
        (0..).zip(&shuffle).for_each(|(v, new)| original[*new as usize] = v);
        let moved = |&(u, v): &(u32, u32)| (shuffle[u as usize], shuffle[v as usize]);
        let edges: Vec<_> = input.edges.iter().map(moved).collect();
        let outgoing = Csr::from_edges(input.n, &edges);
        Ok(Self { incoming: outgoing.reversed(), outgoing, original })
    }

    fn ordered(
        &self,
        name: &'static str,
        places: impl FnOnce() -> Result<(Vec<u32>, f64), Failed>,
    ) -> Result<Ordered, Failed> {
        let control = Control::default();
        let (places, order_s) = time(places);
        let (places, undirected_s) = places?;
        let (outgoing, permuted_s) = time(|| ordering::permuted(&self.outgoing, &places, &control));
        let outgoing = outgoing?;
        let incoming = outgoing.reversed();
        let n = outgoing.vertices();
        let edges = outgoing.all_edges().map(|(u, v, _)| (u, v)).collect();
        Ok(Ordered {
            name,
            quality: ordering::quality(&self.outgoing, &places, &control)?,
            places,
            incoming,
            degrees: out_degrees(&outgoing, n),
            telar: Telar::filled(n, edges),
            order_s: order_s - undirected_s,
            undirected_s,
            permuted_s,
        })
    }

    fn by(&self, method: Method, seed: u64) -> Result<Ordered, Failed> {
        let control = Control::default();
        self.ordered(method.name(), || {
            if method.takes_directed() {
                return Ok((method.order(&self.outgoing, seed, &control)?, 0.0));
            }
            let (both, undirected_s) = time(|| self.outgoing.undirected());
            Ok((method.order(&both, seed, &control)?, undirected_s))
        })
    }

    fn translated<'a>(&self, of: &'a Ordered) -> Translated<'a> {
        let n = self.incoming.vertices();
        let mut ids = vec![0; n as usize];
        (0..).zip(&of.places).for_each(|(v, place)| ids[*place as usize] = v);
        let mut lists = telar_algo::csr::Piece::new();
        ids.iter().for_each(|v| lists.push(self.incoming.of(*v), &[]));
        Translated { lists: Csr::join(vec![lists]), places: &of.places }
    }
}

fn scores<T: Topology>(incoming: &T, of: &Ordered, iterations: u32) -> Vec<f64> {
    pagerank(incoming, &of.degrees, &Settings::fixed(iterations)).scores
}

fn in_place(of: &Ordered, iterations: u32) -> Result<Vec<f64>, Failed> {
    let reader = of.telar.engine().reader()?;
    let incoming = reader.adjacency(of.telar.edge_type(), Direction::In)?;
    Ok(scores(&incoming, of, iterations))
}

/// Fails unless `found`, by place, is what `expected` says by shuffled id.
fn compare(what: &str, of: &Ordered, found: &[f64], expected: &[f64]) -> Result<(), Failed> {
    for (expected, place) in expected.iter().zip(&of.places) {
        let found = found[*place as usize];
        if (found - expected).abs() > 1e-9 * expected {
            return Err(format!("{}, {what}: {found}, not {expected}", of.name).into());
        }
    }
    Ok(())
}

/// Runs PageRank on the lists of one order, and nothing else: for cachegrind and perf, which count
/// a whole process. Two runs that differ in iterations tell what one iteration costs.
///
/// # Errors
/// As [`run`].
pub fn run_only(options: &Options, method: Option<Method>) -> Result<f64, Failed> {
    let world = World::new(options)?;
    let control = Control::default();
    let outgoing = match method {
        None => world.outgoing,
        Some(method) => {
            let order = method.order(&world.outgoing.undirected(), options.seed, &control)?;
            ordering::permuted(&world.outgoing, &order, &control)?
        }
    };
    let degrees = out_degrees(&outgoing, outgoing.vertices());
    let found = pagerank(&outgoing.reversed(), &degrees, &Settings::fixed(options.iterations));
    Ok(found.scores.iter().map(|score| score * score).sum())
}

/// Runs the benchmark; `stage` is told what is done next. Returns the report and two tables: times,
/// and misses.
///
/// # Errors
/// If the graph cannot be read or scores differ.
pub fn run(
    options: &Options,
    stage: &mut dyn FnMut(&str),
) -> Result<(Report, Table, Table), Failed> {
    stage("reading or making the graph");
    let world = World::new(options)?;
    let n = world.outgoing.vertices();
    let mut orders = vec![
        world.ordered("shuffled", || Ok(((0..n).collect(), 0.0)))?,
        world.ordered("original", || Ok((world.original.clone(), 0.0)))?,
    ];
    for method in &options.methods {
        stage(&format!("order {method}"));
        orders.push(world.by(*method, options.seed)?);
    }
    stage("comparing scores");
    let translated: Vec<_> = orders.iter().map(|of| world.translated(of)).collect();
    let expected = scores(&orders[0].incoming, &orders[0], options.iterations);
    for (of, translated) in orders.iter().zip(&translated) {
        let found = scores(&of.incoming, of, options.iterations);
        compare("flat", of, &found, &expected)?;
        compare("in place", of, &in_place(of, options.iterations)?, &expected)?;
        compare("translated", of, &scores(translated, of, options.iterations), &expected)?;
    }
    stage("timing");
    let samples = interleave(3 * orders.len(), options.rounds, |subject, _| {
        let of = &orders[subject / 3];
        let (done, cpu_s) = time(|| match subject % 3 {
            0 => Ok(scores(&of.incoming, of, options.iterations)),
            1 => in_place(of, options.iterations),
            _ => Ok(scores(&translated[subject / 3], of, options.iterations)),
        });
        done.map(|_| cpu_s)
    })?;
    let medians: Vec<f64> =
        samples.iter().map(|s| s.median() / f64::from(options.iterations)).collect();
    stage("counting misses");
    let misses: Vec<[Misses; 2]> = orders
        .iter()
        .zip(&translated)
        .map(|(of, translated)| {
            let by_place = cache::misses(&of.incoming, None);
            [by_place, cache::misses(&translated.lists, Some(translated.places))]
        })
        .collect();
    Ok(tables(options, &world, &orders, &medians, &misses))
}

fn tables(
    options: &Options,
    world: &World,
    orders: &[Ordered],
    medians: &[f64],
    misses: &[[Misses; 2]],
) -> (Report, Table, Table) {
    let mut report = Report::new("order");
    report.parameter("graph", options.graph.to_string());
    report.parameter("vertices", world.outgoing.vertices());
    report.parameter("edges", world.outgoing.edges());
    report.parameter("seed", options.seed);
    let mut times = Table::new([
        "order",
        "order, ms",
        "lists, ms",
        "PageRank, ms/it.",
        "times faster",
        "pays after it.",
        "in database, times faster",
        "looked up, times faster",
        "mean log gap",
        "same segment",
    ]);
    let mut counts = Table::new([
        "misses per 1000 edges",
        "L1",
        "L2",
        "L3",
        "TLB 1",
        "TLB 2",
        "L2, share of shuffled",
        "TLB 1, share of shuffled",
        "looked up: L2, share",
        "looked up: TLB 1, share",
    ]);
    let edges = world.outgoing.edges() as f64 / 1e3;
    for (at, of) in orders.iter().enumerate() {
        let flat = medians[3 * at];
        let faster: [f64; 3] =
            std::array::from_fn(|subject| medians[subject] / medians[3 * at + subject]);
        // The shuffled graph without a look-up is what stands against each look-up.
        let looked_up = medians[0] / medians[3 * at + 2];
        let lists_s = of.undirected_s + of.permuted_s;
        let pays = (of.order_s + lists_s) / (medians[0] - flat).max(0.0);
        times.push([
            of.name.to_owned(),
            digits(of.order_s * 1e3),
            digits(lists_s * 1e3),
            digits(flat * 1e3),
            digits(faster[0]),
            digits(pays),
            digits(faster[1]),
            digits(looked_up),
            digits(of.quality.mean_log_gap),
            digits(of.quality.same_segment),
        ]);
        let [by_place, by_id] = misses[at];
        let share = |of: u64, whole: u64| digits(of as f64 / whole as f64);
        let per_edge = |misses: u64| digits(misses as f64 / edges);
        let shuffled = misses[0][0];
        counts.push([
            of.name.to_owned(),
            per_edge(by_place.l1),
            per_edge(by_place.l2),
            per_edge(by_place.l3),
            per_edge(by_place.tlb1),
            per_edge(by_place.tlb2),
            share(by_place.l2, shuffled.l2),
            share(by_place.tlb1, shuffled.tlb1),
            share(by_id.l2, shuffled.l2),
            share(by_id.tlb1, shuffled.tlb1),
        ]);
        let name = of.name;
        report.figure(format!("{name}/order/s"), of.order_s);
        report.figure(format!("{name}/pagerank/ms_per_iteration"), flat * 1e3);
        report.figure(format!("{name}/pagerank/pays_after_iterations"), pays);
        report.figure(format!("{name}/mean_log_gap"), of.quality.mean_log_gap);
        report.ratio(format!("{name}/times_faster"), faster[0]);
        report.ratio(format!("{name}/times_faster/in_place"), faster[1]);
        report.ratio(format!("{name}/times_faster/looked_up"), looked_up);
        for (level, ours, all) in [
            ("l1", by_place.l1, shuffled.l1),
            ("l2", by_place.l2, shuffled.l2),
            ("l3", by_place.l3, shuffled.l3),
            ("tlb1", by_place.tlb1, shuffled.tlb1),
            ("tlb2", by_place.tlb2, shuffled.tlb2),
        ] {
            report.ratio(format!("{name}/misses/{level}"), ours as f64 / all as f64);
        }
    }
    (report, times, counts)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn all_orders_agree_on_a_small_graph() {
        let options = Options {
            graph: GraphSpec::Rmat { scale: 10, edge_factor: 8 },
            methods: Method::ALL.to_vec(),
            iterations: 3,
            rounds: 1,
            seed: 42,
        };
        let (report, times, counts) = run(&options, &mut |_| {}).unwrap();
        let rows = 2 + 2 + Method::ALL.len();
        assert_eq!(times.to_string().lines().count(), rows);
        assert_eq!(counts.to_string().lines().count(), rows);
        assert!(report.to_json()["ratios"]["gorder/times_faster"].as_f64().unwrap() > 0.0);
        let only = |method| run_only(&options, method).unwrap();
        assert!((only(None) - only(Some(Method::Rcm))).abs() < 1e-12);
    }
}
