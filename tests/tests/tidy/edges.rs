//! Which crate of the workspace may use which.

use serde_json::Value;

use crate::Violation;

/// Who may depend on whom inside the workspace; the picture is in ARCHITECTURE.md. `tests` may use
/// every crate. Dependencies for tests and build scripts count like any other: tests that need two
/// crates live in `tests`.
const EDGES: [(&str, &[&str]); 20] = [
    ("telar-graph", &[]),
    // For tests alone.
    ("telar-plain", &["telar-graph"]),
    ("telar-text", &[]),
    ("telar-vector", &[]),
    ("telar-engine", &["telar-graph", "telar-text", "telar-vector", "telar-plain"]),
    ("telar-algo", &["telar-graph"]),
    ("telar-cypher", &[]),
    ("telar-query", &["telar-graph", "telar-text", "telar-cypher", "telar-plain"]),
    ("telar-db", &["telar-graph", "telar-engine", "telar-query", "telar-algo"]),
    ("telar-arrow", &["telar-db"]),
    ("telar-files", &["telar-db", "telar-arrow"]),
    ("telar-share", &["telar-graph", "telar-db"]),
    ("telar-python", &["telar-db", "telar-arrow", "telar-files", "telar-share"]),
    ("telar-node", &["telar-db", "telar-arrow", "telar-files", "telar-share"]),
    ("telar-exchange", &["telar-db", "telar-files"]),
    ("telar-cli", &["telar-graph"]),
    ("telar-generate", &["telar-graph"]),
    ("telar-cluster", &["telar-graph", "telar-engine"]),
    (
        "telar-server",
        &[
            "telar-graph",
            "telar-arrow",
            "telar-cluster",
            "telar-db",
            "telar-exchange",
            "telar-files",
            "telar-share",
            "telar-cli",
            "telar-generate",
        ],
    ),
    (
        "telar-bench",
        &[
            "telar-graph",
            "telar-algo",
            "telar-arrow",
            "telar-cluster",
            "telar-engine",
            "telar-db",
            "telar-cli",
            "telar-generate",
        ],
    ),
];
const FREE: &str = "telar-tests";

/// Compares `cargo metadata` with [`EDGES`].
pub(crate) fn check(metadata: &Value) -> Vec<Violation> {
    let mut violations = Vec::new();
    // Packages of the workspace are those without a registry.
    let members: Vec<&Value> = packages(metadata).filter(|p| p["source"].is_null()).collect();
    let name = |package: &Value| package["name"].as_str().unwrap_or_default().to_owned();
    let names: Vec<String> = members.iter().map(|package| name(package)).collect();
    for package in members {
        let from = name(package);
        if from == FREE {
            continue;
        }
        let Some((_, allowed)) = EDGES.iter().find(|(crate_name, _)| *crate_name == from) else {
            violations.push(violation(format!("{from} is a new crate")));
            continue;
        };
        for dependency in package["dependencies"].as_array().into_iter().flatten() {
            let to = name(dependency);
            if names.contains(&to) && !allowed.contains(&to.as_str()) {
                let kind = dependency["kind"].as_str().map(|kind| format!(" ({kind})"));
                let kind = kind.unwrap_or_default();
                violations.push(violation(format!("{from} now depends on {to}{kind}")));
            }
        }
    }
    violations
}

fn violation(what: String) -> Violation {
    let advice = "ARCHITECTURE.md says who may use whom; if the rule is to change, change it there \
                  and in tests/tests/tidy/edges.rs";
    Violation::new("Cargo.toml", 0, format!("{what}: {advice}"))
}

/// All packages in `metadata`.
pub(crate) fn packages(metadata: &Value) -> impl Iterator<Item = &Value> {
    metadata["packages"].as_array().into_iter().flatten()
}

#[test]
fn check_reports_new_edges_of_every_kind_and_new_crates() {
    let metadata = serde_json::json!({ "packages": [
        { "name": "telar-graph", "source": null, "dependencies": [
            { "name": "telar-engine", "kind": "dev" },
        ]},
        { "name": "telar-engine", "source": null, "dependencies": [
            { "name": "telar-graph", "kind": null },
            { "name": "telar-algo", "kind": null },
            { "name": "rayon", "kind": null },
        ]},
        { "name": "telar-algo", "source": null, "dependencies": [] },
        { "name": "telar-tests", "source": null, "dependencies": [
            { "name": "telar-engine", "kind": null },
        ]},
        { "name": "telar-extra", "source": null, "dependencies": [] },
        { "name": "rayon", "source": "registry", "dependencies": [] },
    ]});
    let messages: Vec<String> = check(&metadata).into_iter().map(|v| v.message).collect();
    let expected = [
        "telar-graph now depends on telar-engine (dev): ",
        "telar-engine now depends on telar-algo: ",
        "telar-extra is a new crate: ",
    ];
    assert_eq!(messages.len(), expected.len(), "{messages:?}");
    for (message, expected) in messages.iter().zip(expected) {
        assert!(message.starts_with(expected) && message.contains("ARCHITECTURE.md"), "{message}");
    }
}
