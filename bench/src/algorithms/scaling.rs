//! Several threads over one, for every iterative kernel of `telar_algo`.
//!
//! Kernels whose work grows faster than the graph run on a smaller one, whose scale the table
//! shows.

use telar_algo::centrality::{
    article_rank, betweenness, closeness, eigenvector, hits, pagerank as weighted_pagerank,
};
use telar_algo::community::{
    k_core, k_truss, label_propagation, leiden, local_clustering, louvain, scc,
};
use telar_algo::control::Control;
use telar_algo::csr::Csr as Packed;
use telar_algo::embedding::fast_rp;
use telar_algo::paths::{bellman_ford, random_walk, sssp};
use telar_algo::similarity::{knn, node_similarity};

use super::answer::Answer;
use super::kernel::{ITERATIONS, Kernel, weight};
use super::world::World;
use super::{Clock, Failed, Run, Subject, in_turns, pool};
use crate::figures::Bound;
use crate::report::Table;

/// Wanted of two threads.
const TWO: Bound = Bound::AtLeast(1.85);

/// Largest scales of kernels that do more than a few passes over the edges.
const MEDIUM: u32 = 16;
const SMALL: u32 = 13;

/// Entries of a vector for nearest neighbours.
const DIMENSION: u32 = 32;

/// Sources of betweenness.
const SOURCES: u32 = 16;

/// A graph in the forms that kernels take.
struct Forms {
    scale: u32,
    directed: World,
    oriented: World,
    out: Packed,
    incoming: Packed,
    weighted: Packed,
    weighted_incoming: Packed,
    undirected: Packed,
}

impl Forms {
    fn new(scale: u32) -> Self {
        let (directed, oriented) = (World::directed(scale), World::oriented(scale));
        let out = Packed::from_edges(directed.n, &directed.edges);
        let edges: Vec<_> = directed.edges.iter().map(|&(u, v)| (u, v, weight(u, v))).collect();
        let weighted = Packed::from_weighted(directed.n, &edges);
        Self {
            scale,
            incoming: out.reversed(),
            out,
            weighted_incoming: weighted.reversed(),
            weighted,
            undirected: Packed::from_edges(oriented.n, &oriented.edges).undirected(),
            directed,
            oriented,
        }
    }
}

/// A kernel, and the largest scale that it runs on.
struct Case {
    name: &'static str,
    scale_max: u32,
    run: fn(&Forms, &Control<'_>) -> Result<Answer, Failed>,
}

const fn case(
    name: &'static str,
    scale_max: u32,
    run: fn(&Forms, &Control<'_>) -> Result<Answer, Failed>,
) -> Case {
    Case { name, scale_max, run }
}

const CASES: &[Case] = &[
    case("PageRank", u32::MAX, |forms, control| {
        Kernel::PageRank.run(&forms.directed.flat(), control)
    }),
    case("PageRank, weighted", u32::MAX, |forms, control| {
        let settings = weighted_pagerank::Settings { tolerance: 0.0, ..rank() };
        let (out, incoming) = (&forms.weighted, &forms.weighted_incoming);
        Ok(Answer::Scores(weighted_pagerank::pagerank(out, incoming, &settings, control)?.scores))
    }),
    case("ArticleRank", u32::MAX, |forms, control| {
        let (out, incoming, settings) = (&forms.out, &forms.incoming, rank());
        Ok(Answer::Scores(article_rank::article_rank(out, incoming, &settings, control)?.scores))
    }),
    case("eigenvector", u32::MAX, |forms, control| {
        let settings = eigenvector::Settings { max_iterations: ITERATIONS, tolerance: 0.0 };
        Ok(Answer::Scores(eigenvector::eigenvector(&forms.incoming, &settings, control)?.scores))
    }),
    case("HITS", u32::MAX, |forms, control| {
        let settings = hits::Settings { max_iterations: ITERATIONS, tolerance: 0.0 };
        Ok(Answer::Scores(hits::hits(&forms.out, &forms.incoming, &settings, control)?.hubs))
    }),
    case("label propagation", u32::MAX, |forms, control| {
        let settings = label_propagation::Settings::default();
        let (out, incoming) = (&forms.out, Some(&forms.incoming));
        let found = label_propagation::label_propagation(out, incoming, None, &settings, control)?;
        Ok(Answer::Numbers(found.labels))
    }),
    case("BFS", u32::MAX, |forms, control| Kernel::Bfs.run(&forms.directed.flat(), control)),
    case("SSSP, weights stored", u32::MAX, |forms, control| {
        let settings = sssp::Settings { source: forms.directed.source, delta: None };
        Ok(Answer::Scores(sssp::sssp(&forms.weighted, &settings, control)?.distances))
    }),
    case("WCC", u32::MAX, |forms, control| Kernel::Wcc.run(&forms.directed.flat(), control)),
    case("triangles", u32::MAX, |forms, control| {
        Kernel::Triangles.run(&forms.oriented.flat(), control)
    }),
    case("local clustering", u32::MAX, |forms, control| {
        let found = local_clustering::local_clustering(&forms.undirected, None, control)?;
        Ok(Answer::Scores(found.coefficients))
    }),
    case("betweenness, 16 sources", u32::MAX, |forms, control| {
        let settings = betweenness::Settings { sampling_size: Some(SOURCES), ..Default::default() };
        Ok(Answer::Scores(betweenness::betweenness(&forms.out, &settings, control)?))
    }),
    case("closeness", SMALL, |forms, control| {
        let found = closeness::closeness(&forms.out, &Default::default(), control)?;
        Ok(Answer::Scores(found.closeness))
    }),
    case("k-truss", SMALL, |forms, control| {
        Ok(Answer::Numbers(k_truss::k_truss(&forms.undirected, control)?.vertices))
    }),
    case("node similarity", SMALL, |forms, control| {
        let settings = node_similarity::Settings::default();
        let (out, incoming) = (&forms.out, &forms.incoming);
        let found = node_similarity::node_similarity(out, incoming, &settings, control)?;
        Ok(Answer::Total(found.pairs.iter().map(|pair| pair.similarity).sum()))
    }),
    case("FastRP", MEDIUM, |forms, control| {
        let settings = fast_rp::Settings::default();
        let found = fast_rp::fast_rp(&forms.undirected, &settings, control)?;
        Ok(Answer::Total(found.all().flatten().map(|entry| f64::from(entry.abs())).sum()))
    }),
    case("node2vec walks", MEDIUM, |forms, control| {
        let settings = random_walk::Settings {
            walk_length: 20,
            walks_per_node: 2,
            in_out_factor: 0.5,
            return_factor: 2.0,
            ..Default::default()
        };
        let mut sum = 0u64;
        let add = |walk: &[u32]| {
            sum = walk.iter().fold(sum, |sum, v| sum.wrapping_mul(31).wrapping_add((*v).into()));
        };
        random_walk::random_walk(&forms.undirected, &settings, control, add)?;
        Ok(Answer::Count(sum))
    }),
    case("kNN", SMALL, |forms, control| {
        let (n, dimension) = (forms.directed.n, u64::from(DIMENSION));
        // Numbers in 0..1 that have nothing to do with each other.
        let entry = |at: u64| (at.wrapping_mul(0x9e37_79b9_7f4a_7c15) >> 40) as f32;
        let values: Vec<f32> = (0..u64::from(n) * dimension).map(entry).collect();
        let settings = knn::Settings { max_iterations: 10, ..Default::default() };
        let found = knn::knn(&values, DIMENSION, &settings, control)?;
        Ok(Answer::Total(found.pairs.iter().map(|pair| pair.similarity).sum()))
    }),
    case("Louvain", MEDIUM, |forms, control| {
        let found = louvain::louvain(&forms.undirected, &Default::default(), control)?;
        Ok(Answer::Numbers(found.communities))
    }),
    case("Leiden", MEDIUM, |forms, control| {
        let found = leiden::leiden(&forms.undirected, &Default::default(), control)?;
        Ok(Answer::Numbers(found.communities))
    }),
    case("k-core", u32::MAX, |forms, control| {
        Ok(Answer::Numbers(k_core::k_core(&forms.undirected, control)?.cores))
    }),
    case("SCC", u32::MAX, |forms, control| {
        Ok(Answer::Numbers(scc::scc(&forms.out, Some(&forms.incoming), control)?.components))
    }),
    case("Bellman-Ford", MEDIUM, |forms, control| {
        let settings = bellman_ford::Settings { source: forms.directed.source };
        match bellman_ford::bellman_ford(&forms.weighted, &settings, control)? {
            bellman_ford::Outcome::Shortest(tree) => Ok(Answer::Scores(tree.distances)),
            other => Err(format!("{other:?}").into()),
        }
    }),
];

fn rank() -> weighted_pagerank::Settings {
    let max_iterations = ITERATIONS;
    weighted_pagerank::Settings { max_iterations, tolerance: 0.0, ..Default::default() }
}

pub(super) fn measure(run: &mut Run<'_>) -> Result<(), Failed> {
    let several: Vec<usize> =
        run.options.threads.iter().copied().filter(|threads| *threads > 1).collect();
    let titles = ["kernel", "scale", "1 thread, ms"].map(str::to_owned).into_iter();
    let of = |threads: &usize| match threads {
        2 => format!("2 threads ({TWO})"),
        threads => format!("{threads} threads"),
    };
    let mut table = Table::new(titles.chain(several.iter().map(of)));
    let mut forms: Vec<Forms> = Vec::new();
    for case in CASES {
        let scale = run.options.scale.min(case.scale_max);
        if !forms.iter().any(|forms| forms.scale == scale) {
            (run.stage)(&format!("making a graph of scale {scale}"));
            forms.push(Forms::new(scale));
        }
        let Some(forms) = forms.iter().find(|forms| forms.scale == scale) else { continue };
        (run.stage)(&format!("{} on several threads", case.name));
        let threads: Vec<usize> = [1].into_iter().chain(several.iter().copied()).collect();
        let pools = threads.iter().map(|threads| pool(*threads)).collect::<Result<Vec<_>, _>>()?;
        let subject = |pool| -> Subject<'_> {
            let control = Control::default().on(pool);
            let name = format!("{} threads", control.threads());
            (name, Box::new(move || (case.run)(forms, &control)))
        };
        let subjects: Vec<_> = pools.iter().map(subject).collect();
        let samples = in_turns(case.name, (Clock::Wall, run.options.rounds), &subjects)?;
        let key = |figure: &str| format!("scaling/{}/{figure}", case.name);
        let mut row = vec![case.name.to_owned(), scale.to_string()];
        row.push(run.ms(key("1_thread"), &samples[0]));
        for (threads, several) in threads.iter().zip(&samples).skip(1) {
            let ratio = samples[0].median() / several.median();
            let bound = (*threads == 2).then_some(TWO);
            row.push(run.ratio(key(&format!("{threads}_threads")), ratio, bound));
        }
        table.push(row);
    }
    run.table("Several threads: times as fast as one", table);
    Ok(())
}
