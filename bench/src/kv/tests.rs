//! A quick run measures everything there is to measure.

use telar_generate::uniform;

use super::*;
use crate::kernel::graph::Input;

#[test]
fn quick_run_finds_finite_figures_for_every_subject() {
    let folder = tempfile::tempdir().unwrap();
    let options = Options {
        quick: true,
        rounds: 1,
        folder: Some(folder.path().to_owned()),
        ..Options::default()
    };
    let mut notes = 0;
    let outcome = run(&options, &mut |_| notes += 1).unwrap();
    let json = outcome.report().to_json();
    let ratios = json["ratios"].as_object().unwrap();
    for (key, value) in ratios {
        assert!(value.as_f64().is_some_and(|v| v.is_finite() && v > 0.0), "{key}: {value}");
    }
    for read in KvRead::ALL {
        for store in ["LMDB compact", "LMDB edge keys"] {
            assert!(ratios.contains_key(&format!("reads/{}/{store}", read.name())));
            assert!(ratios.contains_key(&format!("filled/{}/{store}", read.name())));
        }
    }
    for key in ["load/load", "updates/insert", "updates/delete", "updates/mixed_20_to_1"] {
        assert!(ratios.contains_key(&format!("{key}/LMDB compact")), "{key}");
        assert!(ratios.contains_key(&format!("packing/LMDB/{key}")), "{key}");
    }
    assert!(json["ratios"]["fill/bytes/LMDB edge keys"].as_f64().unwrap() > 1.0);
    // Four reads, twice, against two packings of one store or two.
    let cells = if cfg!(feature = "rocksdb") { 32 } else { 16 };
    assert_eq!((outcome.met().1, notes > 4), (cells, true));
    assert!(outcome.to_string().contains("three_hops"));
    outcome.write_json(&folder.path().join("kv.json")).unwrap();
    let left = std::fs::read_dir(folder.path()).unwrap().count();
    assert_eq!(left, 1, "the folders of stores are gone");
}

fn small_plan() -> Plan {
    let mut edges = uniform(300, 3000, 4);
    telar_generate::edges::dedup(&mut edges);
    telar_generate::edges::shuffle(&mut edges, 5);
    Plan::new(Input { n: 300, edges }, 1, true)
}

#[test]
fn plan_holds_back_edges_and_asks_about_the_rest() {
    let plan = small_plan();
    assert!(!plan.extra.is_empty() && plan.extra.len() * 40 < plan.loaded.len());
    assert!(plan.loaded.iter().all(|edge| !plan.extra.contains(edge)));
    assert!(plan.two_hops.len() >= plan.three_hops.len() && !plan.three_hops.is_empty());
    let hits = plan.searches.iter().filter(|edge| plan.loaded.contains(edge)).count();
    assert!(hits * 2 >= plan.searches.len());
}

/// A store that lost an edge does not get a figure.
#[test]
fn wrong_stores_are_noticed() {
    let plan = small_plan();
    let lossy = |edges: &[(u32, u32)]| Ok(Telar::filled(plan.n(), edges.to_vec()));
    let wrong = |result: Result<f64, KvError>| matches!(result, Err(KvError::Wrong(_)));
    let full = || Ok(Telar::filled(plan.n(), plan.loaded.clone()));
    let mut subject = Held::new(full, |_: &Plan| lossy(&plan.loaded[1..])).unwrap();
    assert!(wrong(subject.load(&plan)), "edges that were there already");
    assert!(wrong(subject.fill(&plan)), "an edge that is missing");
    assert!(wrong(subject.update(subject::Update::Delete, &plan)), "the same");
    let subject: Box<dyn Subject> = Box::new(subject);
    assert!(measure_reads("reads", &plan, &[subject], 1).is_err());
    let mut right = Held::new(|| Ok(Telar::in_memory()), |_: &Plan| lossy(&plan.loaded)).unwrap();
    assert!(right.fill(&plan).unwrap() >= 0.0);
}
