:begin
CREATE FULLTEXT INDEX full_idx FOR (n:Person) ON EACH [n.`name`];
CREATE POINT INDEX FOR (n:Place) ON (n.at);
CREATE RANGE INDEX FOR ()-[rel:KNOWS]-() ON (rel.since);
CREATE RANGE INDEX FOR (n:Person) ON (n.name);
CREATE TEXT INDEX FOR (n:Person) ON (n.name);
CREATE CONSTRAINT person_id FOR (node:Person) REQUIRE (node.id) IS UNIQUE;
CREATE CONSTRAINT UNIQUE_IMPORT_NAME FOR (node:`UNIQUE IMPORT LABEL`) REQUIRE (node.`UNIQUE IMPORT ID`) IS UNIQUE;
:commit
CALL db.awaitIndexes(300);
:begin
UNWIND [{id:1, properties:{reals:[1.5, 2.0], inf:Infinity, big:9223372036854775807, d:duration('P1Y2M3DT4H5M6.007S'), born:date('1815-12-10'), lt:localtime('01:02:03.000000004'), none:[], tags:["math", "poetry"], dt:datetime('2024-02-29T13:05:00+01:00[Europe/Berlin]'), score:0.5, t:time('12:00:00+01:00'), name:"Ada \"q\" 'x' \n", days:[date('2000-01-01'), date('2000-01-02')], ok:true, ldt:localdatetime('2024-02-29T13:05:00'), odt:datetime('2024-02-29T13:05:00+05:30'), nums:[1, 2, 3]}}] AS row
CREATE (n:Person{id: row.id}) SET n += row.properties SET n:Author;
UNWIND [{id:2, properties:{name:"Bob"}}] AS row
CREATE (n:Person{id: row.id}) SET n += row.properties;
UNWIND [{_id:7, properties:{odd:"no label"}}] AS row
CREATE (n:`UNIQUE IMPORT LABEL`{`UNIQUE IMPORT ID`: row._id}) SET n += row.properties;
UNWIND [{_id:6, properties:{at:point({x: 8.4, y: 49.0, crs: 'wgs-84'}), pt3:point({x: 1.0, y: 2.0, z: 3.0, crs: 'cartesian-3d'})}}] AS row
CREATE (n:`UNIQUE IMPORT LABEL`{`UNIQUE IMPORT ID`: row._id}) SET n += row.properties SET n:Place;
:commit
:begin
UNWIND [{start: {id:1}, end: {id:2}, properties:{w:2.5, since:date('1840-01-01')}}, {start: {id:1}, end: {id:2}, properties:{}}] AS row
MATCH (start:Person{id: row.start.id})
MATCH (end:Person{id: row.end.id})
CREATE (start)-[r:KNOWS]->(end) SET r += row.properties;
UNWIND [{start: {id:2}, end: {id:2}, properties:{}}] AS row
MATCH (start:Person{id: row.start.id})
MATCH (end:Person{id: row.end.id})
CREATE (start)-[r:KNOWS]->(end) SET r += row.properties;
UNWIND [{start: {id:2}, end: {_id:6}, properties:{}}] AS row
MATCH (start:Person{id: row.start.id})
MATCH (end:`UNIQUE IMPORT LABEL`{`UNIQUE IMPORT ID`: row.end._id})
CREATE (start)-[r:`LIVES IN`]->(end) SET r += row.properties;
:commit
:begin
MATCH (n:`UNIQUE IMPORT LABEL`)  WITH n LIMIT 20000 REMOVE n:`UNIQUE IMPORT LABEL` REMOVE n.`UNIQUE IMPORT ID`;
:commit
:begin
DROP CONSTRAINT UNIQUE_IMPORT_NAME;
:commit
