//! Every tool: results, refusals, limits.

use std::path::{Path, PathBuf};

use serde_json::{Value as Json, json};

use crate::client::Client;

/// A database of people who know each other, with words and vectors.
fn people() -> (tempfile::TempDir, PathBuf) {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("graph.telar");
    let mut client = start(&path, &["--allow-writes"]);
    client.write(
        "UNWIND [['Ada', 1.0, 0.0], ['Bob', 0.8, 0.6], ['Cleo', 0.0, 1.0], ['Dan', -1.0, 0.0]] AS r \
         CREATE (:Person {name: r[0], note: r[0] + ' likes tea', e: [r[1], r[2]]})",
    );
    client.write(
        "MATCH (a:Person {name: 'Ada'}), (b:Person {name: 'Bob'}), (c:Person {name: 'Cleo'}) \
         CREATE (a)-[:KNOWS {since: date('2020-01-02'), fact: 'they met in London'}]->(b), \
                (b)-[:KNOWS]->(c), (c)-[:LIKES]->(:Tea {kind: 'green'})",
    );
    client.write("CREATE FULLTEXT INDEX notes FOR (n:Person) ON EACH [n.name, n.note]");
    client.write("CREATE FULLTEXT INDEX facts FOR ()-[r:KNOWS]-() ON EACH [r.fact]");
    client.write("CREATE CONSTRAINT one_name FOR (p:Person) REQUIRE p.name IS UNIQUE");
    assert_eq!(client.end().0, Some(0));
    (folder, path)
}

fn start(path: &Path, arguments: &[&str]) -> Client {
    Client::start(path, &[arguments, &["--retain", "1000"]].concat())
}

/// The names of nodes in an answer.
fn names(nodes: &Json) -> Vec<&str> {
    let nodes = nodes.as_array().unwrap().iter();
    nodes.filter_map(|node| node["properties"]["name"].as_str()).collect()
}

/// The names of the nodes among hits.
fn hits(answer: &Json) -> Vec<String> {
    let hits = answer["hits"].as_array().unwrap().iter();
    hits.map(|hit| match &hit["node"]["properties"]["name"] {
        Json::String(name) => name.clone(),
        _ => hit["relationship"]["properties"]["fact"].as_str().unwrap().to_owned(),
    })
    .collect()
}

#[test]
fn tools_are_listed_with_schemas_and_hints() {
    let (_folder, path) = people();
    for (arguments, expected) in [
        (&[][..], &["schema", "read_query", "search", "neighbourhood", "changes"][..]),
        (
            &["--allow-writes"],
            &["schema", "read_query", "write_query", "search", "neighbourhood", "changes"],
        ),
    ] {
        let mut client = start(&path, arguments);
        let listed = client.ask("tools/list", &json!({}))["result"]["tools"].clone();
        let listed = listed.as_array().unwrap();
        assert_eq!(listed.iter().map(|tool| &tool["name"]).collect::<Vec<_>>(), expected);
        for tool in listed {
            let writes = tool["name"] == "write_query";
            assert_eq!(tool["annotations"]["readOnlyHint"], !writes);
            assert_eq!(tool["annotations"]["destructiveHint"], writes);
            assert_eq!(tool["inputSchema"]["type"], "object");
            assert_eq!(tool["outputSchema"]["type"], "object");
        }
    }
}

#[test]
fn the_schema_has_what_a_query_needs() {
    let (_folder, path) = people();
    let mut client = start(&path, &[]);
    let schema = client.tool("schema", json!({}));
    let person = schema["nodes"].as_array().unwrap().iter().find(|n| n["label"] == "Person");
    assert_eq!(
        person.unwrap(),
        &json!({ "label": "Person", "count": 4, "properties": [
            { "name": "e", "types": ["LIST<FLOAT>"], "found": 4 },
            { "name": "name", "types": ["STRING"], "found": 4 },
            { "name": "note", "types": ["STRING"], "found": 4 },
        ] })
    );
    let types = schema["relationships"].as_array().unwrap();
    assert_eq!(types[0]["patterns"], json!([{ "from": ["Person"], "to": ["Person"], "found": 2 }]));
    assert_eq!(types[0]["properties"][1]["types"], json!(["DATE"]));
    assert_eq!(types[1]["patterns"][0]["to"], json!(["Tea"]));
    let index = |name: &str| {
        let all = schema["indexes"].as_array().unwrap();
        all.iter().find(|index| index["name"] == name).unwrap()["type"].clone()
    };
    assert_eq!((index("notes"), index("facts")), (json!("FULLTEXT"), json!("FULLTEXT")));
    assert_eq!(schema["constraints"][0]["name"], "one_name");
    let some = client.tool("schema", json!({ "names": ["Tea"], "sample": 1 }));
    assert_eq!(some["nodes"].as_array().unwrap().len(), 1);
    assert_eq!(some["relationships"], json!([]));
    // At commit 0 the graph is empty.
    let past = client.tool("schema", json!({ "at": 0 }));
    assert_eq!((&past["nodes"], &past["at"]), (&json!([]), &json!(0)));
}

#[test]
fn read_queries_do_not_write() {
    let (_folder, path) = people();
    let mut client = start(&path, &[]);
    for query in [
        "CREATE (n)",
        "MATCH (n) SET n.x = 1",
        "MATCH (n) DETACH DELETE n",
        "MATCH (n) CALL (n) { CREATE (m) RETURN m } RETURN m",
        "MATCH (n) CALL (n) { SET n.x = 1 } IN TRANSACTIONS",
        "CALL apoc.create.node(['A'], {}) YIELD node RETURN node",
        "MATCH (n) CALL db.create.setNodeVectorProperty(n, 'x', [1.0]) RETURN 1",
        "CALL apoc.periodic.iterate('MATCH (n) RETURN n', 'SET n.x = 1', {})",
        "CALL apoc.cypher.doIt('CREATE (n)', {}) YIELD value RETURN value",
        "CREATE INDEX FOR (n:A) ON (n.b)",
        "DROP CONSTRAINT one_name",
        "TERMINATE TRANSACTIONS 'telar-transaction-1'",
        "SHOW TRANSACTIONS TERMINATE TRANSACTIONS 'telar-transaction-1'",
        "CREATE USER eve SET PASSWORD 'long enough'",
        "COPY (MATCH (n) RETURN n) TO 'x.csv'",
        "LOAD CSV FROM 'file:///etc/passwd' AS line RETURN line",
    ] {
        client.refused("read_query", json!({ "query": query }));
    }
    assert_eq!(client.rows("MATCH (n) RETURN count(n), count(n.x)"), json!([[5, 0]]));
    // Without the flag there is no tool that writes.
    let call = json!({ "name": "write_query", "arguments": { "query": "CREATE (n)" } });
    assert_eq!(client.ask("tools/call", &call)["error"]["code"], -32602);
    // Words that only look like it.
    assert_eq!(
        client.rows("RETURN 'CREATE (n) SET n.x = 1' AS `DELETE`")[0][0],
        "CREATE (n) SET n.x = 1"
    );
    assert!(
        client.tool("read_query", json!({ "query": "EXPLAIN CREATE (n)" }))["plan"].is_string()
    );
}

#[test]
fn values_are_json_that_names_everything() {
    let (_folder, path) = people();
    let mut client = start(&path, &["--allow-writes"]);
    let query = "MATCH p = (a:Person {name: $name})-[k]->(b) \
                 RETURN a.name, k, length(p), $map, duration('P1D'), point({x: 1, y: 2}), 0.5, null";
    let parameters =
        json!({ "name": "Ada", "map": { "d": { "$type": "Date", "_value": "2026-01-02" } } });
    let answer = client.tool("read_query", json!({ "query": query, "parameters": parameters }));
    let row = &answer["rows"][0];
    assert_eq!(row[0], "Ada");
    assert_eq!(row[1]["type"], "KNOWS");
    assert_eq!(
        row[1]["properties"],
        json!({ "since": "2020-01-02", "fact": "they met in London" })
    );
    assert!(row[1]["from"].as_str().unwrap().starts_with("n:"));
    let rest = json!([1, { "d": "2026-01-02" }, "P1D", "SRID=7203;POINT (1.0 2.0)", 0.5, null]);
    assert_eq!(Json::from(row.as_array().unwrap()[2..].to_vec()), rest);
    let made = json!({ "query": "CREATE (n:V {e: $e, t: $t}) RETURN n",
                       "parameters": { "e": vec![0.25; 768], "t": "x".repeat(5000) } });
    let made = client.tool("write_query", made);
    let properties = &made["rows"][0][0]["properties"];
    assert_eq!(properties["e"], "<768 numbers: 0.25, 0.25, 0.25, ...>");
    assert!(properties["t"].as_str().unwrap().ends_with("x... [5000 characters]"));
    assert_eq!(
        made["counters"],
        json!({ "nodes_created": 1, "properties_set": 2, "labels_added": 1 })
    );
}

#[test]
fn errors_name_line_and_column() {
    let (_folder, path) = people();
    let mut client = start(&path, &["--allow-writes"]);
    for tool in ["read_query", "write_query"] {
        let said = client.refused(tool, json!({ "query": "MATCH (n)\nRETURN m" }));
        assert!(said.contains("(line 2, column 8)\nRETURN m\n       ^"), "{said}");
        assert!(said.ends_with("[Neo.ClientError.Statement.SyntaxError]"), "{said}");
    }
    let said = client.refused("read_query", json!({ "query": "EXPLAIN RETURN m", "at": 1 }));
    assert!(said.contains("(line 1, column 16)"), "{said}");
    for (arguments, expected) in [
        (json!({}), "argument 'query'"),
        (json!({ "query": 1 }), "argument 'query'"),
        (json!({ "query": "RETURN 1", "extra": 1 }), "there is no argument 'extra'"),
        (json!({ "query": "RETURN 1", "parameters": [] }), "argument 'parameters'"),
        (json!({ "query": "RETURN $x" }), "Neo.ClientError.Statement.ParameterMissing"),
        (json!({ "query": "SHOW INDEXES", "at": 1 }), "the present only"),
        (json!({ "query": "AT TIMESTAMP 1 RETURN 1", "at": 1 }), "AT TIMESTAMP itself"),
        (json!({ "query": "RETURN 1", "at": 1_000_000 }), "not retained"),
        (json!({ "query": "RETURN 1", "at": "yesterday" }), "yesterday"),
    ] {
        let said = client.refused("read_query", arguments.clone());
        assert!(said.contains(expected), "{arguments}: {said}");
    }
    // A statement that fails changes nothing.
    client.refused("write_query", json!({ "query": "CREATE (:Half) WITH 1 AS x RETURN x / 0" }));
    assert_eq!(client.rows("MATCH (h:Half) RETURN count(h)"), json!([[0]]));
}

#[test]
fn answers_stop_at_their_limits() {
    let (_folder, path) = people();
    let mut client = start(&path, &["--max-rows", "3", "--max-chars", "1000"]);
    let query = |query: &str| json!({ "query": query });
    let rows = client.tool("read_query", query("UNWIND range(1, 1000000000) AS i RETURN i"));
    assert_eq!(rows["rows"], json!([[1], [2], [3]]));
    assert!(rows["truncated"].as_str().unwrap().contains("first 3 rows"));
    let all = client.tool("read_query", query("UNWIND range(1, 3) AS i RETURN i"));
    assert!(all.get("truncated").is_none(), "{all}");
    let text = "UNWIND range(1, 3) AS i RETURN i, reduce(t = '', x IN range(1, 600) | t + 'a')";
    let large = client.tool("read_query", query(text));
    assert_eq!(large["rows"].as_array().unwrap().len(), 1);
    assert!(large["truncated"].as_str().unwrap().contains("1000 characters"), "{large}");
    let said = client.refused("search", json!({ "query": "tea", "limit": 4 }));
    assert!(said.contains("argument 'limit': expected an integer from 1 to 3"), "{said}");
    let near = json!({ "property": "name", "value": "Bob", "hops": 2, "max_nodes": 2 });
    let near = client.tool("neighbourhood", near);
    assert_eq!(near["nodes"].as_array().unwrap().len(), 2);
    assert!(near["truncated"].is_string());
}

#[test]
fn searches_find_by_words_by_vectors_and_by_both() {
    let (_folder, path) = people();
    let mut client = start(&path, &["--allow-writes"]);
    // Both indexes are asked.
    let found = client.tool("search", json!({ "query": "bob OR london" }));
    let mut both = hits(&found);
    both.sort_unstable();
    assert_eq!(both, ["Bob", "they met in London"]);
    let found = client.tool("search", json!({ "query": "tea", "index": "notes", "limit": 2 }));
    assert_eq!(hits(&found).len(), 2);
    let found =
        client.tool("search", json!({ "query": "what? (Bob)", "plain": true, "label": "Person" }));
    assert_eq!(hits(&found), ["Bob"]);
    let said = client.refused("search", json!({ "query": "what? (Bob" }));
    assert!(said.contains("Cannot parse") && said.contains("With 'plain'"), "{said}");
    for (wrong, expected) in [
        (json!({}), "'query', 'vector' or both"),
        (json!({ "query": "x", "index": "nowhere" }), "no full-text index 'nowhere'"),
        (json!({ "vector": [1, 0] }), "'property' is needed"),
        (json!({ "vector": [1, 0], "vector_index": "x" }), "no vector index 'x'"),
        (json!({ "vector": [1, 0, 0], "property": "e", "label": "Person" }), "2 and 3"),
        (json!({ "vector": ["a"], "property": "e" }), "argument 'vector'"),
    ] {
        let said = client.refused("search", wrong.clone());
        assert!(said.contains(expected), "{wrong}: {said}");
    }
    let near = json!({ "vector": [1, 0], "property": "e", "label": "Person", "limit": 3 });
    let found = client.tool("search", near);
    assert_eq!(hits(&found), ["Ada", "Bob", "Cleo"]);
    assert_eq!(found["hits"][0]["score"], 1.0);
    // Bob is second by his vector and the only one by words.
    let both = json!({ "query": "bob", "index": "notes", "vector": [1, 0], "property": "e",
                       "label": "Person", "limit": 2, "hops": 1, "types": ["KNOWS"] });
    let found = client.tool("search", both);
    assert_eq!(hits(&found), ["Bob", "Ada"]);
    assert_eq!(found["hits"][0]["matched"].as_array().unwrap().len(), 2);
    assert_eq!(names(&found["neighbourhood"]["nodes"]), ["Bob", "Ada", "Cleo"]);
    assert_eq!(found["neighbourhood"]["relationships"].as_array().unwrap().len(), 2);
    client.write("MATCH ()-[k:KNOWS]->() SET k.e = [0.0, 1.0]");
    let of = json!({ "vector": [0, 1], "property": "e", "relationships": true, "label": "KNOWS" });
    assert_eq!(client.tool("search", of)["hits"].as_array().unwrap().len(), 2);
}

#[test]
fn vector_indexes_are_used() {
    let (_folder, path) = people();
    let mut client = start(&path, &["--allow-writes"]);
    let options = "OPTIONS {indexConfig: {`vector.dimensions`: 2}}";
    let before = client.write(&format!("CREATE VECTOR INDEX near FOR (n:Person) ON n.e {options}"));
    let found = client.tool("search", json!({ "vector": [1, 0], "limit": 2 }));
    assert_eq!(hits(&found), ["Ada", "Bob"]);
    assert_eq!(found["hits"][0]["matched"][0]["by"], "vector index near");
    let of_property = json!({ "vector": [1, 0], "property": "e", "label": "Person", "limit": 1 });
    let found = client.tool("search", of_property);
    assert_eq!(found["hits"][0]["matched"][0]["by"], "vector index near");
    client.write("MATCH (p:Person {name: 'Ada'}) DETACH DELETE p");
    let near = json!({ "vector": [1, 0], "vector_index": "near", "limit": 1 });
    assert_eq!(hits(&client.tool("search", near)), ["Bob"]);
    let past = json!({ "vector": [1, 0], "query": "ada", "limit": 1, "at": before });
    let found = client.tool("search", past);
    assert_eq!(
        (hits(&found), found["hits"][0]["matched"].as_array().unwrap().len()),
        (vec!["Ada".to_owned()], 2)
    );
    client.write(&format!("CREATE VECTOR INDEX other FOR (n:Tea) ON n.e {options}"));
    let said = client.refused("search", json!({ "vector": [1, 0] }));
    assert!(said.contains("one of near, other"), "{said}");
}

#[test]
fn neighbourhoods_are_walked_within_limits() {
    let (_folder, path) = people();
    let mut client = start(&path, &["--allow-writes"]);
    let mut near = |arguments: Json| client.tool("neighbourhood", arguments);
    let around = near(json!({ "label": "Person", "property": "name", "value": "Ada", "hops": 2 }));
    assert_eq!(names(&around["nodes"]), ["Ada", "Bob", "Cleo"]);
    assert_eq!(around["nodes"][2]["hops"], 2);
    assert_eq!(around["relationships"].as_array().unwrap().len(), 2);
    let id = around["nodes"][1]["id"].clone();
    for (arguments, expected) in [
        (json!({ "id": id }), &["Bob", "Ada", "Cleo"][..]),
        (json!({ "id": id, "direction": "in" }), &["Bob", "Ada"]),
        (json!({ "id": id, "direction": "out" }), &["Bob", "Cleo"]),
        (json!({ "id": id, "types": ["LIKES"] }), &["Bob"]),
        (json!({ "id": id, "hops": 0 }), &["Bob"]),
    ] {
        let mut found = names(&near(arguments.clone())["nodes"]).join(" ");
        let mut expected = expected.join(" ");
        // Nodes at one distance come in any order.
        for text in [&mut found, &mut expected] {
            let mut words: Vec<&str> = text.split(' ').collect();
            words[1..].sort_unstable();
            *text = words.join(" ");
        }
        assert_eq!(found, expected, "{arguments}");
    }
    let nobody = near(json!({ "property": "name", "value": "Nobody" }));
    assert_eq!(nobody["nodes"], json!([]));
    client.write(
        "MATCH (a:Person {name: 'Ada'}) UNWIND range(1, 100) AS i CREATE (a)-[:HAS]->(:Thing)",
    );
    let hub = json!({ "property": "name", "value": "Ada", "fan_out": 10, "max_nodes": 100 });
    let hub = client.tool("neighbourhood", hub);
    assert_eq!(hub["nodes"].as_array().unwrap().len(), 11);
    assert!(hub["truncated"].as_str().unwrap().contains("'fan_out' 10"), "{hub}");
    for (wrong, expected) in [
        (json!({}), "a start is needed"),
        (json!({ "id": "x" }), "argument 'id'"),
        (json!({ "id": "n:99999" }), "there is no node"),
        (json!({ "id": "n:0", "direction": "up" }), "argument 'direction'"),
        (json!({ "id": "n:0", "hops": 7 }), "argument 'hops'"),
    ] {
        let said = client.refused("neighbourhood", wrong.clone());
        assert!(said.contains(expected), "{wrong}: {said}");
    }
}

#[test]
fn the_past_is_read_by_every_tool() {
    let (_folder, path) = people();
    let mut client = start(&path, &["--allow-writes"]);
    let before = client.tool("read_query", json!({ "query": "RETURN 1" }))["at"].clone();
    client.write("MATCH (p:Person {name: 'Bob'}) SET p.name = 'Robert'");
    client.write("MATCH (p:Person {name: 'Dan'}) DELETE p");
    let count = "MATCH (p:Person) RETURN count(p)";
    assert_eq!(client.rows(count), json!([[3]]));
    let then = client.tool("read_query", json!({ "query": count, "at": before }));
    assert_eq!((&then["rows"], &then["at"]), (&json!([[4]]), &before));
    let bob = json!({ "query": "name:bob", "index": "notes" });
    assert_eq!(client.tool("search", bob)["hits"], json!([]));
    let bob = json!({ "query": "name:bob", "index": "notes", "hops": 1, "at": before });
    let found = client.tool("search", bob);
    assert_eq!((hits(&found), &found["at"]), (vec!["Bob".to_owned()], &before));
    assert_eq!(names(&found["neighbourhood"]["nodes"])[0], "Bob");
    let dan = json!({ "property": "name", "value": "Dan", "at": before });
    assert_eq!(names(&client.tool("neighbourhood", dan)["nodes"]), ["Dan"]);
    let schema = client.tool("schema", json!({ "names": ["Person"], "at": before }));
    assert_eq!(schema["nodes"][0]["count"], 4);
    // A time works as well: long ago there was nothing, or it is not retained.
    let now = client.rows("RETURN toString(datetime())")[0][0].clone();
    let at_time = client.tool("read_query", json!({ "query": count, "at": now }));
    assert_eq!(at_time["rows"], json!([[3]]));
}

#[test]
fn changes_go_on_from_their_cursor() {
    let (_folder, path) = people();
    let mut client = start(&path, &["--allow-writes", "--max-chars", "2000"]);
    let now = client.tool("changes", json!({}));
    assert_eq!((&now["commits"], &now["more"]), (&json!([]), &json!(false)));
    let first = client.write("CREATE (:Cup {size: 3})");
    client.write("MATCH (c:Cup) SET c.size = 4");
    client.write("UNWIND range(1, 500) AS i CREATE (:Cup {size: i, text: 'some words of a text'})");
    let (mut cursor, mut commits) = (now["cursor"].clone(), Vec::new());
    loop {
        let next = client.tool("changes", json!({ "after": cursor, "commits": 2 }));
        commits.extend(next["commits"].as_array().unwrap().clone());
        cursor = next["cursor"].clone();
        if next["more"] == false {
            break;
        }
    }
    let of = |commit: &Json| commit["commit"].as_i64();
    let made = commits.iter().find(|commit| of(commit) == Some(first)).unwrap();
    assert_eq!(made["changes"][0]["event"], "nodeCreated");
    assert_eq!(made["changes"][0]["labels"], json!(["Cup"]));
    assert!(made["time"].is_string());
    assert!(commits.windows(2).all(|pair| of(&pair[0]) < of(&pair[1])));
    let last = commits.last().unwrap();
    assert_eq!(last["total"], 1500);
    assert!((1..100).contains(&last["changes"].as_array().unwrap().len()), "{last}");
    let none = client.tool("changes", json!({ "after": cursor }));
    assert_eq!((&none["commits"], &none["cursor"]), (&json!([]), &cursor));
    let said = client.refused("changes", json!({ "after": 1_000_000 }));
    assert!(said.contains("not retained"), "{said}");
}
