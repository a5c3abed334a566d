//! Files of GraphML and GEXF as other programs write them, and what is refused of such files.
#![expect(clippy::unwrap_used, reason = "a test fails by panicking")]

use std::path::PathBuf;

use telar_db::import::import_tables;
use telar_db::query::QueryError;
use telar_db::{Database, Session};
use telar_exchange::{Names, Read, gexf, graphml};

fn names() -> Names {
    Names { label: "Vertex".into(), ty: "LINK".into() }
}

fn data(name: &str) -> PathBuf {
    PathBuf::from(format!("{}/tests/data/{name}", env!("CARGO_MANIFEST_DIR")))
}

/// The graph of a file, and what was said of it.
fn taken(read: Result<Read, QueryError>) -> (Database, Vec<String>) {
    let read = read.unwrap();
    let db = telar_db::open_in_memory().unwrap();
    import_tables(&db, read.import, &|_| Ok(())).unwrap();
    (db, read.notes)
}

fn rows(db: &Database, text: &str) -> Vec<String> {
    let rows = Session::new(db).run(text, &[]).unwrap().rows;
    let literal = |row: &Vec<_>| row.iter().map(telar_db::query::literal).collect::<Vec<_>>();
    rows.iter().map(|row| literal(row).join(" ")).collect()
}

const NODES: &str = "MATCH (n) RETURN labels(n), properties(n) ORDER BY toString(n.id), n.name";
const EDGES: &str = "MATCH (a)-[r]->(b) RETURN coalesce(a.id, a.name), type(r), properties(r), \
                     coalesce(b.id, b.name) ORDER BY toString(a.id), a.name, toString(b.id)";

/// `networkx.write_graphml` of an undirected graph with integers as nodes (tests/data/make.py).
#[test]
fn graphml_of_networkx() {
    let (db, notes) = taken(graphml::read(&data("networkx.graphml"), &names()));
    let expected = [
        "['Vertex'] {born: 1815, id: 1, name: 'Ada <&> \"q\"', score: 0.5, so: TRUE}",
        "['Vertex'] {id: 2, name: 'Bob\\n2'}",
        "['Vertex'] {id: 3}",
    ];
    assert_eq!(rows(&db, NODES), expected);
    assert_eq!(rows(&db, EDGES), ["1 'LINK' {since: 1840, weight: 2.5} 2", "2 'LINK' {} 3"]);
    assert!(notes[0].contains("2 undirected edges are stored once"), "{notes:?}");
    assert!(notes[1].contains("became :Vertex"), "{notes:?}");
}

/// `igraph.Graph.write_graphml` of a directed graph.
#[test]
fn graphml_of_igraph() {
    let (db, _) = taken(graphml::read(&data("igraph.graphml"), &names()));
    let found = rows(&db, "MATCH (a)-[r]->(b) RETURN a.name, r.w, b.name, b.x, a.id");
    assert_eq!(found, ["'a' 1.5 'b' 2.0 'n0'"]);
}

/// `apoc.export.graphml.all` with types, of APOC 5.26 in Neo4j 5.26.
#[test]
fn graphml_of_apoc() {
    let (db, notes) = taken(graphml::read(&data("apoc.graphml"), &names()));
    let text = "MATCH (a:Person:Author) RETURN a.id, a.name, a.born, a.big, a.inf, a.none, a.nums, \
                a.reals, a.tags, a.days, a.ok";
    let expected = "1 'Ada \"q\" \\'x\\' \\n' '1815-12-10' 9223372036854775807 inf [] [1, 2, 3] \
                    [1.5, 2.0] ['math', 'poetry'] ['2000-01-01', '2000-01-02'] TRUE";
    assert_eq!(rows(&db, text), [expected]);
    let text = "MATCH (a)-[r]->(b) RETURN a.id, type(r), properties(r), b.id ORDER BY type(r), r.w, b.id, a.id";
    let expected = [
        "1 'KNOWS' {since: '1840-01-01', w: 2.5} 2",
        "1 'KNOWS' {} 2",
        "2 'KNOWS' {} 2",
        "2 'LIVES IN' {} NULL",
    ];
    assert_eq!(rows(&db, text), expected);
    assert_eq!(rows(&db, "MATCH (n {odd: 'no label'}) RETURN labels(n)"), ["[]"]);
    assert_eq!(notes, Vec::<String>::new());
}

#[test]
fn graphml_of_others() {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("x.graphml");
    let read = |text: &str| {
        std::fs::write(&path, text).unwrap();
        graphml::read(&path, &names())
    };
    // TinkerPop's keys of labels, with a default, without declared types.
    let text = "<graphml><key id='labelV' for='node' attr.name='labelV'/>
        <key id='labelE' for='edge'/><key id='age' for='all'><default>7</default></key>
        <graph edgedefault='directed'><edge source='1' target='2'><data key='labelE'>knows</data>
        </edge><node id='1'><data key='labelV'>person::author</data></node><node id='2'>
        <data key='age'>8</data></node></graph></graphml>";
    let (db, _) = taken(read(text));
    let found = rows(&db, "MATCH (a)-[r]->(b) RETURN labels(a), a.age, type(r), r.age, labels(b)");
    assert_eq!(found, ["['person', 'author'] '7' 'knows' '7' []"]);
    // Graphics of yEd.
    let text =
        "<g:graphml xmlns:g='u' xmlns:y='v'><g:key id='d0' for='node' yfiles.type='nodegraphics'/>
        <g:graph edgedefault='undirected'><g:node id='n0'><g:data key='d0'><y:ShapeNode>
        <y:NodeLabel>x</y:NodeLabel></y:ShapeNode></g:data></g:node>
        <g:edge source='n0' target='n0' directed='true'/></g:graph></g:graphml>";
    let (db, notes) = taken(read(text));
    assert_eq!(rows(&db, NODES), ["['Vertex'] {id: 'n0'}"]);
    assert_eq!(notes.len(), 1, "{notes:?}");
}

#[test]
fn what_is_no_graph_of_nodes_and_edges_is_refused_with_its_line() {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("x.xml");
    let bomb = "<!DOCTYPE graphml [<!ENTITY a 'x'><!ENTITY b '&a;&a;'>]>\n";
    for (inner, says) in [
        ("<node id='1'>\n<graph/></node>", ":4: a node holds a graph: nested graphs"),
        ("<node id='1'><port name='a'/></node>", ":3: nodes with ports"),
        ("<hyperedge/>", ":3: a hyperedge"),
        ("<node/>", ":3: a node has no id"),
        ("<node id='1'/>\n<node id='1'/>", ":4: another node has the id \"1\""),
        ("<node id='1'/><edge source='1'/>", ":3: an edge has no source or no target"),
        ("<node id='1'/>\n<edge source='1' target='7'/>", ":4: no node has the id \"7\""),
        (
            "<node id='1'>\n<data key='k'>x</data></node>",
            ":4: no key is declared with the id \"k\"",
        ),
        ("<node id='1'><data key='n'>x</data></node>", ":3: n: \"x\" is no whole number"),
        ("<node id='&e;'/>", ":3: element node"),
        ("<node id='1'><data key='s'>&e;</data></node>", ":3: there is no entity &e;"),
        ("<node id='1'></edge>", ":3: this is not XML"),
        ("<node id='1'>", "this is not XML"),
    ] {
        let text = format!(
            "<graphml><key id='n' for='node' attr.type='long'/><key id='s' for='node'/>\n<graph>\n\
             {inner}\n</graph></graphml>"
        );
        std::fs::write(&path, &text).unwrap();
        let Err(error) = graphml::read(&path, &names()) else { panic!("{inner}") };
        assert!(error.message.contains(says), "{inner}: {error}");
    }
    for (text, says) in [
        (format!("{bomb}<graphml><graph/></graphml>"), "declares entities or elements of its own"),
        ("<?xml version='1.0' encoding='ISO-8859-1'?><graphml/>".to_owned(), "iconv -f iso-8859-1"),
        ("<gexf/>".to_owned(), "this is no GraphML"),
        ("<graphml><key id='a' attr.type='x'/></graphml>".to_owned(), "unknown type x"),
        ("<graphml><graph>".to_owned(), "the file ends within"),
        (String::new(), "this is no GraphML"),
    ] {
        std::fs::write(&path, &text).unwrap();
        let Err(error) = graphml::read(&path, &names()) else { panic!("{text}") };
        assert!(error.message.contains(says), "{text}: {error}");
    }
}

/// `networkx.write_gexf`, and what Gephi writes beside that.
#[test]
fn gexf_of_networkx_and_gephi() {
    let (db, notes) = taken(gexf::read(&data("networkx.gexf"), &names()));
    let expected = [
        "['Vertex'] {born: 1815, id: 1, label: 'one', score: 0.5, so: TRUE}",
        "['Vertex'] {id: 2, label: '2'}",
    ];
    assert_eq!(rows(&db, NODES), expected);
    assert_eq!(rows(&db, EDGES), ["1 'LINK' {since: 1840, weight: 2.5} 2"]);
    assert_eq!(notes, Vec::<String>::new());
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("x.gexf");
    let read = |nodes: &str| {
        let text = format!(
            "<gexf xmlns='http://gexf.net/1.3' xmlns:viz='http://gexf.net/1.3/viz'>
             <graph defaultedgetype='undirected'><attributes class='node'>
             <attribute id='0' title='tags' type='liststring'/>
             <attribute id='1' title='n' type='integer'><default>5</default></attribute>
             </attributes><nodes>{nodes}</nodes><edges>
             <edge id='0' source='a' target='b' type='mutual' kind='KNOWS'/>
             <edge id='1' source='b' target='b'/></edges></graph></gexf>"
        );
        std::fs::write(&path, text).unwrap();
        gexf::read(&path, &names())
    };
    let (db, notes) = taken(read(
        "<node id='a' label='A'><attvalues><attvalue for='0' value='[x, y]'/></attvalues>
         <viz:color r='1' g='2' b='3'/></node>
         <node id='b'><attvalues><attvalue for='1' value='6'/></attvalues></node>",
    ));
    let expected =
        ["['Vertex'] {id: 'a', label: 'A', n: 5, tags: ['x', 'y']}", "['Vertex'] {id: 'b', n: 6}"];
    assert_eq!(rows(&db, NODES), expected);
    let expected = ["'a' 'KNOWS' {} 'b'", "'b' 'KNOWS' {} 'a'", "'b' 'LINK' {} 'b'"];
    assert_eq!(rows(&db, EDGES), expected);
    assert!(notes[0].contains("1 undirected") && notes[1].contains("positions"), "{notes:?}");
    for (nodes, says) in [
        ("<node id='a'/>", "no node has the id \"b\""),
        ("<node id='a'><nodes><node id='b'/></nodes></node>", "nested graphs"),
        ("<node id='a' pid='b'/>", "nested graphs"),
        (
            "<node id='a'><attvalues><attvalue for='9' value='1'/></attvalues></node>",
            "attribute \"9\"",
        ),
        (
            "<node id='a'><attvalues><attvalue for='1' value='x'/></attvalues></node>",
            "n: \"x\" is no",
        ),
    ] {
        let Err(error) = read(nodes) else { panic!("{nodes}") };
        assert!(error.message.contains(says), "{nodes}: {error}");
    }
}
