// Arrow, both ways, and tables that become nodes and relationships.

import assert from 'node:assert/strict';
import { createRequire } from 'node:module';
import test from 'node:test';
import * as arrow from 'apache-arrow';
import telar from 'telar';

const plain = (table) => table.toArray().map((row) => row.toJSON());

test('results become Arrow', async () => {
  const db = telar.openSync();
  const text = `UNWIND [1, null, 3] AS n
    RETURN n, n * 1.5 AS f, 'text ' + n AS t, n = 1 AS b, date('2024-02-29') AS d, [n] AS l`;
  for (const bytes of [await (await db.query(text)).toArrow(), db.querySync(text).toArrowSync()]) {
    assert.ok(bytes instanceof Uint8Array);
    const table = arrow.tableFromIPC(bytes);
    assert.deepEqual(
      table.schema.fields.map((field) => field.name),
      ['n', 'f', 't', 'b', 'd', 'l'],
    );
    const [first, second] = plain(table);
    assert.deepEqual(
      [first.n, first.f, first.t, first.b, first.l],
      [1n, 1.5, 'text 1', true, '[1]'],
    );
    assert.deepEqual([second.n, second.f, second.t, second.b], [null, null, null, null]);
  }
  const empty = arrow.tableFromIPC(db.querySync('UNWIND [] AS n RETURN n').toArrowSync());
  assert.deepEqual([empty.numRows, empty.numCols], [0, 1]);
  const many = await (await db.query('UNWIND range(1, 100000) AS n RETURN n')).toArrow();
  const column = arrow.tableFromIPC(many).getChild('n');
  assert.equal(column.length, 100_000);
  assert.equal(column.get(99_999), 100_000n);
});

test('streams become Arrow', async () => {
  const db = telar.openSync();
  const stream = db.stream('UNWIND range(1, 50000) AS n RETURN n');
  const reader = await arrow.RecordBatchReader.from(stream.arrow());
  let [rows, batches, last] = [0, 0, 0n];
  for await (const batch of reader) {
    rows += batch.numRows;
    batches++;
    last = batch.getChildAt(0).get(batch.numRows - 1);
  }
  assert.deepEqual([rows, last], [50_000, 50_000n]);
  assert.ok(batches > 1);
  const mixed = db.stream('RETURN 1');
  await mixed.next();
  await assert.rejects(mixed.arrow().next(), /as rows or as Arrow/);
  const parts = [];
  for await (const part of db.stream('UNWIND [] AS n RETURN n').arrow()) parts.push(part);
  assert.equal(arrow.tableFromIPC(parts).numRows, 0);
});

test('tables of the other copy of apache-arrow', async () => {
  const db = telar.openSync();
  const required = createRequire(import.meta.url)('apache-arrow');
  const text = 'UNWIND $t AS row RETURN row.name AS name';
  // The copy that CommonJS has can be read at once.
  const table = required.tableFromArrays({ name: ['Ulm', null] });
  assert.deepEqual(db.querySync(text, { t: table }).values(), ['Ulm', null]);
  class Table {
    numRows = 1;
    schema = { fields: [] };
    batches = [];
  }
  await assert.rejects(db.query(text, { t: new Table() }), /give tableToIPC\(table\)/);
});

test('tables are parameters', async () => {
  const db = telar.openSync();
  const table = arrow.tableFromArrays({
    name: ['Ulm', 'Köln'],
    people: Int32Array.from([128_928, 1_087_353]),
  });
  const text = 'UNWIND $t AS row RETURN row.name AS name, row.people AS people';
  const expected = [
    { name: 'Ulm', people: 128_928 },
    { name: 'Köln', people: 1_087_353 },
  ];
  const result = db.querySync('RETURN 1 AS one UNION ALL RETURN 2 AS one');
  for (const given of [
    table,
    table.batches[0],
    telar.fromArrow(table),
    telar.fromArrow(arrow.tableToIPC(table)),
    // Files of apache-arrow have their schema at the end alone.
    telar.fromArrow(arrow.tableToIPC(table, 'file')),
  ]) {
    assert.deepEqual((await db.query(text, { t: given })).toArray(), expected);
    assert.deepEqual(db.querySync(text, { t: given }).toArray(), expected);
  }
  assert.deepEqual(
    db.querySync('UNWIND $r AS row RETURN row.one + $n AS n', { r: result, n: 1 }).values(),
    [2, 3],
  );
  assert.equal(db.querySync('RETURN size($t)', { t: table }).value(), 2);
  const tx = db.begin();
  assert.deepEqual((await tx.query(text, { t: table })).toArray(), expected);
  await tx.rollback();
  const rows = [];
  for await (const row of db.stream(text, { t: table })) rows.push(row);
  assert.deepEqual(rows, expected);
});

test('damaged tables are errors', async () => {
  const db = telar.openSync();
  const bytes = arrow.tableToIPC(arrow.tableFromArrays({ n: [1, 2, 3] }));
  const wrong = [new Uint8Array(0), new Uint8Array(50).fill(7), bytes.slice(0, bytes.length / 2)];
  for (let at = 0; at < bytes.length; at += 7) {
    const changed = bytes.slice();
    changed[at] ^= 0x55;
    wrong.push(changed);
  }
  for (const damaged of wrong) {
    const t = telar.fromArrow(damaged);
    await db.query('UNWIND $t AS row RETURN row', { t }).catch((error) => {
      assert.ok(error instanceof telar.TelarError || error instanceof RangeError, error);
    });
  }
  await assert.rejects(
    db.query('RETURN $t', { t: telar.fromArrow(wrong[1]) }),
    telar.StatementError,
  );
  assert.throws(() => telar.fromArrow('x'), TypeError);
  assert.throws(() => telar.fromArrow({}), TypeError);
});

const PEOPLE = [
  { id: 1, who: 'Ada' },
  { id: 2, who: 'Bob' },
  { id: 3, who: null },
];
const COLUMNS = { id: [1, 2, 3], who: ['Ada', 'Bob', null] };

test('tables become nodes', async () => {
  const source = telar.openSync();
  const result = source.querySync('UNWIND $p AS p RETURN p.id AS id, p.who AS who', { p: PEOPLE });
  const ipc = result.toArrowSync();
  for (const table of [
    PEOPLE,
    COLUMNS,
    result,
    ipc,
    telar.fromArrow(ipc),
    arrow.tableFromIPC(ipc),
  ]) {
    const db = telar.openSync();
    const report = await db.createNodes('Human', table, { unique: ['Human.id'] });
    assert.deepEqual([report.nodes, report.properties, report.rejected], [3, 5, []]);
    const rows = db.querySync('MATCH (h:Human) RETURN h.id AS id, h.who AS who ORDER BY id');
    assert.deepEqual(rows.toArray(), PEOPLE);
    assert.throws(() => db.querySync('CREATE (:Human {id: 1})'), telar.ConstraintError);
  }
});

test('tables become relationships', async () => {
  const db = telar.openSync();
  await db.createNodes(['Human', 'Poet'], PEOPLE, { unique: ['Human.id'] });
  const knows = { a: [1, 1, 9], b: [2, 3, 1], since: [1840, 1851, 0] };
  const ends = { src: 'a', dst: 'b', label: 'Human' };
  await assert.rejects(db.createRelationships('KNOWS', knows, ends), telar.StatementError);
  const report = await db.createRelationships('KNOWS', knows, { ...ends, badRows: 1 });
  assert.equal(report.relationships, 2);
  assert.deepEqual(
    report.rejected.map((row) => row.row),
    [2],
  );
  const found = db.querySync('MATCH (a)-[k:KNOWS]->(b) RETURN a.id, b.id, k.since ORDER BY b.id');
  assert.deepEqual(found.tuples(), [
    [1, 2, 1840],
    [1, 3, 1851],
  ]);
  const load = db.load({ unique: ['City.name'] });
  load
    .nodes('City', { name: ['Ulm', 'Bonn'] })
    .relationships(
      'LIVES_IN',
      { who: [1], city: ['Ulm'] },
      { src: 'who', srcLabel: 'Human', dst: 'city', dstLabel: 'City' },
    );
  assert.deepEqual((await load.commit()).relationships, 1);
  await assert.rejects(load.commit(), telar.ClosedError);
  assert.throws(() => load.nodes('City', []), telar.ClosedError);
});

test('a load of many rows', async () => {
  const db = telar.openSync();
  const id = Array.from({ length: 20_000 }, (_, n) => n);
  const report = await db.createNodes('N', { id: Int32Array.from(id) }, { unique: ['N.id'] });
  assert.equal(report.nodes, 20_000);
  const table = { a: id, b: id.map((n) => (n * 7) % 20_000) };
  const edges = await db.createRelationships('TO', table, { src: 'a', dst: 'b', label: 'N' });
  assert.equal(edges.relationships, 20_000);
});

test('wrong tables are refused', async () => {
  const db = telar.openSync();
  const refuses = (make, type, message) =>
    assert.rejects(async () => make(), { name: type, message });
  await refuses(() => db.createNodes('N', 5), 'TypeError', /a table is Arrow/);
  await refuses(() => db.createNodes('N', { a: [1], b: [1, 2] }), 'RangeError', /same length/);
  await refuses(() => db.createNodes('N', { a: 5 }), 'TypeError', /column 'a' is no array/);
  await refuses(() => db.createNodes('N', [1]), 'TypeError', /a row of a table is an object/);
  await refuses(() => db.createNodes(5, []), 'TypeError', /labels are/);
  await refuses(() => db.createNodes('N', [], { unique: ['x'] }), 'RangeError', /unique is like/);
  await refuses(() => db.createNodes('N', [], { badRows: -1 }), 'RangeError', /badRows/);
  await refuses(() => db.createRelationships('R', [], { src: 'a' }), 'TypeError', /dst is missing/);
  await refuses(
    () => db.createRelationships('R', [], { src: 'a', dst: 'b', label: 'N' }),
    'TypeError',
    /by which property a N is known/,
  );
  const nodes = db.querySync('CREATE (n:X) RETURN n');
  await refuses(() => db.createNodes('N', nodes), 'TypeError', /nodes or relationships/);
});
