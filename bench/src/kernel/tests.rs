//! A quick run measures everything there is to measure.

use super::targets::TARGETS;
use super::*;

#[test]
fn quick_run_finds_a_finite_value_for_every_key() {
    let mut notes = 0;
    let options = Options { quick: true, rounds: 1, ..Options::default() };
    let outcome = run(&options, &mut |_| notes += 1).unwrap();
    let json = outcome.report().to_json();
    let ratios = json["ratios"].as_object().unwrap();
    let keys: Vec<&str> = ratios.keys().map(String::as_str).collect();
    assert!(keys.iter().eq(TARGETS.iter().map(|target| &target.key)), "{keys:?}");
    for (key, value) in ratios {
        assert!(
            value.as_f64().is_some_and(|value| value.is_finite() && value > 0.0),
            "{key}: {value}"
        );
    }
    let unsettled = json["figures"]["unsettled_share/unsettled_10pct"].as_f64().unwrap();
    assert!((0.05..0.2).contains(&unsettled), "{unsettled}");
    assert_eq!(json["figures"]["load/Telar"].as_array().map(Vec::len), Some(19));
    assert_eq!(json["figures"]["grid/Telar"].as_array().map(Vec::len), Some(8));
    let text = outcome.to_string();
    assert!(text.contains("targets met") && text.contains("InsVtx"));
    assert!(notes > 5 && outcome.met().1 == TARGETS.len());

    let folder = tempfile::tempdir().unwrap();
    outcome.write_charts(&folder.path().join("charts")).unwrap();
    outcome.write_json(&folder.path().join("report.json")).unwrap();
    for (file, svg) in outcome.charts() {
        assert!(svg.contains("<svg") && !svg.contains("NaN"), "{file}");
        assert!(folder.path().join("charts").join(file).is_file());
    }
}

#[test]
fn graphs_have_names() {
    for name in ["rmat:18:16", "uniform:12:4"] {
        assert_eq!(name.parse::<GraphSpec>().map(|spec| spec.to_string()).as_deref(), Ok(name));
    }
    assert_eq!("a/b.txt".parse::<GraphSpec>().unwrap().to_string(), "b.txt");
    for wrong in ["rmat:18", "rmat:7:16", "rmat:40:16", "uniform:x:1", "uniform:12:0"] {
        assert!(wrong.parse::<GraphSpec>().is_err(), "{wrong}");
    }
}

#[test]
fn files_are_read_without_repetitions_but_with_loops() {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("edges.txt");
    let line = |i: u32| format!("{} {}\n", i % 700, i * 7 % 700);
    let text: String =
        (0..3000).map(line).chain(["5 5\n".to_owned(), "5 5\n".to_owned()]).collect();
    std::fs::write(&path, text).unwrap();
    let spec = GraphSpec::File(path.clone());
    assert!(matches!(spec.read(1), Err(KernelError::TooSmall(_))));
    let text: String = (0..3000).map(|i| format!("{} {}\n", i / 10, i % 10)).collect();
    std::fs::write(&path, format!("{text}5 5\n299 9\n")).unwrap();
    let input = spec.read(1).unwrap();
    assert_eq!((input.n, input.edges.len()), (300, 3000));
    assert!(input.edges.contains(&(5, 5)));
}
