//! Cycles against all cycles that a plain search finds, filtered by the words of the conditions.

use std::sync::atomic::Ordering::Relaxed;

use super::*;
use crate::paths::path::threads;
use crate::random::Random;
use crate::testing::random_edges;

/// Edge lists of all simple cycles, each from its smallest vertex on.
fn all_cycles(graph: &Csr) -> Vec<Vec<(u32, u64)>> {
    let mut found = Vec::new();
    for root in 0..graph.vertices() {
        let mut open = vec![(root, Vec::new())];
        while let Some((v, path)) = open.pop() {
            for (&to, edge) in graph.of(v).iter().zip(graph.first_edge(v)..) {
                let longer = [&path[..], &[(v, edge)]].concat();
                if to == root {
                    found.push(longer);
                } else if to > root && longer.iter().all(|step| step.0 != to) {
                    open.push((to, longer));
                }
            }
        }
    }
    found
}

/// Rotations of a cycle that hold the conditions from their first edge on.
fn valid(cycle: &[(u32, u64)], settings: &Settings<'_>) -> Vec<Vec<(u32, u64)>> {
    let length = cycle.len() as u32;
    let in_length = (settings.min_length..=settings.max_length).contains(&length);
    let starts = settings.starts.as_ref();
    let passes = starts.is_none_or(|starts| cycle.iter().any(|step| starts.contains(&step.0)));
    if !in_length || !passes {
        return Vec::new();
    }
    if let (Some(times), Some(window)) = (settings.times, settings.window) {
        let times = cycle.iter().map(|step| times[step.1 as usize]);
        let (least, most) =
            times.fold((f64::INFINITY, f64::NEG_INFINITY), |(a, b), t| (a.min(t), b.max(t)));
        if most - least > window {
            return Vec::new();
        }
    }
    let holds = |pair: &[(u32, u64)]| {
        let (a, b) = (pair[0].1 as usize, pair[1].1 as usize);
        let in_order = settings.times.is_none_or(|times| match settings.order {
            TimeOrder::Any => true,
            TimeOrder::Ascending => times[a] < times[b],
            TimeOrder::NotDescending => times[a] <= times[b],
        });
        let similar = settings.amounts.zip(settings.amount_ratio.as_ref());
        in_order
            && similar.is_none_or(|(amounts, ratio)| {
                (amounts[a] * ratio.start()..=amounts[a] * ratio.end()).contains(&amounts[b])
            })
    };
    let rotations = (0..cycle.len()).map(|at| [&cycle[at..], &cycle[..at]].concat());
    rotations.filter(|rotation| rotation.windows(2).all(holds)).collect()
}

/// The cycles as they are to be reported, sorted.
fn verify(graph: &Csr, settings: &Settings<'_>) -> Vec<Vec<(u32, u64)>> {
    let mut expected: Vec<_> = all_cycles(graph)
        .iter()
        .filter_map(|cycle| valid(cycle, settings).into_iter().min_by_key(|steps| steps[0].0))
        .collect();
    expected.sort();
    expected
}

fn steps(cycles: &Cycles) -> Vec<Vec<(u32, u64)>> {
    let pairs = |cycle: Cycle<'_>| {
        cycle.vertices.iter().copied().zip(cycle.edges.iter().copied()).collect::<Vec<_>>()
    };
    cycles.iter().map(pairs).collect()
}

fn graph(seed: u64) -> (Csr, Vec<f64>, Vec<f64>) {
    let mut random = Random::new(seed, 4);
    let n = 1 + random.below(8);
    let graph = Csr::from_edges(n, &random_edges(seed, n, (n * random.below(6)) as usize));
    let mut draw =
        |bound: u32| (0..graph.edges()).map(|_| f64::from(random.below(bound))).collect();
    let (times, amounts) = (draw(8), draw(5));
    (graph, times, amounts)
}

fn settings<'a>(seed: u64, n: u32, times: &'a [f64], amounts: &'a [f64]) -> Settings<'a> {
    let mut random = Random::new(seed, 6);
    let order = [TimeOrder::Any, TimeOrder::Ascending, TimeOrder::NotDescending];
    let min_length = 1 + random.below(3);
    Settings {
        min_length,
        max_length: min_length + random.below(7),
        starts: (random.below(3) == 0).then(|| (0..3).map(|_| random.below(n)).collect()),
        times: Some(times),
        order: order[random.below(3) as usize],
        window: (random.below(2) == 0).then(|| f64::from(random.below(8))),
        amounts: Some(amounts),
        amount_ratio: (random.below(2) == 0).then_some(0.5..=1.5),
        limit: u64::MAX,
    }
}

#[test]
fn cycles_of_random_graphs_equal_all_cycles_that_hold_the_conditions() {
    let pool = threads(3);
    let mut total = 0;
    for seed in 0..1500 {
        let (graph, times, amounts) = graph(seed);
        let incoming = graph.reversed();
        let settings = settings(seed, graph.vertices(), &times, &amounts);
        let expected = verify(&graph, &settings);
        total += expected.len();
        let found = cycles(&graph, &incoming, &settings, &Control::default()).unwrap();
        assert!(!found.limited);
        let mut sorted = steps(&found);
        sorted.sort();
        assert_eq!(sorted, expected, "seed {seed}: {settings:?}");
        let three = cycles(&graph, &incoming, &settings, &Control::default().on(&pool)).unwrap();
        assert_eq!(three, found);
        // A limit keeps the first.
        for limit in [0, 1, 3] {
            let some = Settings { limit, ..settings.clone() };
            let kept = cycles(&graph, &incoming, &some, &Control::default()).unwrap();
            let most = expected.len().min(limit as usize);
            assert_eq!(steps(&kept), steps(&found)[..most], "seed {seed}");
            assert_eq!(kept.limited, expected.len() > most, "seed {seed}");
            let three = cycles(&graph, &incoming, &some, &Control::default().on(&pool)).unwrap();
            assert_eq!(three, kept);
        }
    }
    assert!(total > 3000, "{total} cycles only");
}

#[test]
fn cycles_without_conditions_equal_all_cycles() {
    for seed in 0..300 {
        let (graph, ..) = graph(seed);
        for max_length in [1, 2, 3, 9] {
            let settings = Settings { min_length: 1, max_length, ..Default::default() };
            let found = cycles(&graph, &graph.reversed(), &settings, &Control::default()).unwrap();
            let mut sorted = steps(&found);
            sorted.sort();
            assert_eq!(sorted, verify(&graph, &settings), "seed {seed}");
        }
    }
}

#[test]
fn many_roots_run_in_several_batches_with_one_order() {
    let n = 9000;
    let graph = Csr::from_edges(n, &random_edges(3, n, 60_000));
    let incoming = graph.reversed();
    let settings = Settings { max_length: 4, ..Default::default() };
    let found = cycles(&graph, &incoming, &settings, &Control::default()).unwrap();
    assert!(found.len() > 20);
    let pool = threads(3);
    let control = Control::default().on(&pool);
    assert_eq!(cycles(&graph, &incoming, &settings, &control), Ok(found.clone()));
    let some = Settings { limit: 7, ..settings };
    let kept = cycles(&graph, &incoming, &some, &control).unwrap();
    assert_eq!(steps(&kept), steps(&found)[..7]);
}

#[test]
fn laundered_money_comes_back_smaller_and_later() {
    // Lists: 0 -> 1, 1 -> 2, 2 -> 0 twice; only the later of the two closes the ring.
    let graph = Csr::from_edges(3, &[(0, 1), (1, 2), (2, 0), (2, 0)]);
    let settings = Settings {
        times: Some(&[10.0, 11.0, 9.0, 12.0]),
        order: TimeOrder::Ascending,
        window: Some(2.0),
        amounts: Some(&[100.0, 90.0, 89.0, 81.0]),
        amount_ratio: Some(0.8..=1.0),
        ..Default::default()
    };
    let found = cycles(&graph, &graph.reversed(), &settings, &Control::default()).unwrap();
    assert_eq!(steps(&found), [[(0, 0), (1, 1), (2, 3)]]);
}

#[test]
fn bad_settings_and_a_stop_are_errors() {
    let graph = Csr::from_edges(2, &[(0, 1), (1, 0)]);
    let run = |settings: &Settings<'_>, control: &Control<'_>| {
        cycles(&graph, &graph.reversed(), settings, control)
    };
    let good =
        Settings { times: Some(&[1.0, 2.0]), amounts: Some(&[1.0, 1.0]), ..Default::default() };
    assert_eq!(run(&good, &Control::default()).unwrap().len(), 1);
    for settings in [
        Settings { min_length: 0, ..good.clone() },
        Settings { max_length: 1, ..good.clone() },
        Settings { starts: Some(vec![2]), ..good.clone() },
        Settings { times: Some(&[1.0]), ..good.clone() },
        Settings { times: Some(&[1.0, f64::NAN]), ..good.clone() },
        Settings { amounts: Some(&[1.0, -1.0]), ..good.clone() },
        Settings { window: Some(-1.0), ..good.clone() },
        Settings { window: Some(1.0), times: None, ..good.clone() },
        Settings { order: TimeOrder::Ascending, times: None, ..good.clone() },
        Settings { amount_ratio: Some(0.5..=1.0), amounts: None, ..good.clone() },
        Settings { amount_ratio: Some(2.0..=1.0), ..good.clone() },
    ] {
        let found = run(&settings, &Control::default());
        assert!(matches!(found, Err(Error::Invalid(_))), "{settings:?}");
    }
    assert_eq!(run(&good, &Control::default().stopped_by(&|| true)), Err(Error::Stopped));
    // A dense graph has too many cycles to finish; the search still stops.
    let edges: Vec<_> = (0..40).flat_map(|u| (0..40).map(move |v| (u, v))).collect();
    let dense = Csr::from_edges(40, &edges);
    let asked = AtomicU64::new(0);
    let stop = || asked.fetch_add(1, Relaxed) > 20;
    let settings = Settings { min_length: 30, max_length: 40, ..Default::default() };
    let found = cycles(&dense, &dense, &settings, &Control::default().stopped_by(&stop));
    assert_eq!(found, Err(Error::Stopped));
    let empty = Csr::from_edges(0, &[]);
    let found = cycles(&empty, &empty, &Settings::default(), &Control::default()).unwrap();
    assert!(found.is_empty());
}
