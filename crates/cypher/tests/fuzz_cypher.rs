//! The entry point of the fuzz target `cypher`, on random and on nearly valid texts.

#[path = "../../../fuzz/entry/cypher.rs"]
mod entry;
#[path = "../../../fuzz/entry/random.rs"]
mod random;

#[test]
fn cypher_takes_any_bytes() {
    let texts = [
        "MATCH (a:A {b: 1})-[r:R*1..2]->(c) WHERE a.x > 1 AND (a)-->() RETURN a.b AS x ORDER BY x",
        "CREATE (a)-[:R {x: [1, 2.5, 'ä\\n']}]->(b) SET a += $p, b:A REMOVE a.x; MATCH (n) FINISH",
        "RETURN CASE a WHEN 1, > 2 THEN [x IN xs WHERE x | x.y] ELSE EXISTS { (a)--(b) } END",
        "MATCH p = ANY SHORTEST ((a)-[r]->(b) WHERE r.x){1,3} (c:A&!B|C) RETURN n {.*, a: 1}",
        "CALL (x) { RETURN 1 AS y UNION ALL RETURN 2 AS y } IN TRANSACTIONS OF 5 ROWS RETURN y",
        "CREATE INDEX a IF NOT EXISTS FOR ()-[r:R]-() ON (r.x, r.y) OPTIONS {`a b`: 0x1F}",
        "EXPLAIN AT TIMESTAMP $t UNWIND [1] AS x // c\nRETURN reduce(a = 0, x IN xs | a + x) /**/",
        "SHOW INDEXES YIELD name WHERE name IS :: STRING NOT NULL | LIST<INT> RETURN name",
    ];
    // An even first byte means text, an odd one numbers of words.
    let texts = texts.map(|text| format!("\n{text}").into_bytes());
    let numbers: Vec<u8> = (0..=u8::MAX).collect();
    let words = numbers.chunks(16).map(|chunk| [&[1], chunk].concat());
    let valid: Vec<Vec<u8>> = texts.into_iter().chain(words).collect();
    random::run(1, 4000, 60, &valid, entry::cypher);
}
