// Results, streams, errors and algorithms.

import assert from 'node:assert/strict';
import test from 'node:test';
import { setTimeout as sleep } from 'node:timers/promises';
import telar from 'telar';
import { LONG, runsLong } from './helpers.mjs';

const db = telar.openSync();

test('results of 0, 1 and many rows', async () => {
  for (const rows of [0, 1, 2, 1023, 1024, 1025, 5000]) {
    const result = await db.query("UNWIND range(1, $n) AS n RETURN n, 'row ' + n AS text", {
      n: rows,
    });
    assert.equal(result.length, rows);
    assert.deepEqual(result.columns, ['n', 'text']);
    const expected = Array.from({ length: rows }, (_, n) => ({ n: n + 1, text: `row ${n + 1}` }));
    assert.deepEqual(result.toArray(), expected);
    assert.deepEqual([...result], expected);
    assert.deepEqual(
      result.tuples(),
      expected.map(({ n, text }) => [n, text]),
    );
    assert.deepEqual(
      result.values('text'),
      expected.map((row) => row.text),
    );
    assert.deepEqual(
      result.values(),
      expected.map((row) => row.n),
    );
    assert.deepEqual(result.at(-1), expected.at(-1));
    assert.deepEqual(result.at(rows - 1), expected.at(-1));
    assert.equal(result.at(rows), undefined);
    const again = [];
    for await (const row of result) again.push(row);
    assert.deepEqual(again, expected);
    const batches = [];
    const text = "UNWIND range(1, $n) AS n RETURN n, 'row ' + n AS text";
    for await (const row of db.stream(text, { n: rows })) batches.push(row);
    assert.deepEqual(batches, expected);
  }
});

test('one row and one value', () => {
  const one = db.querySync('RETURN 1 AS a');
  assert.deepEqual([one.one(), one.value()], [{ a: 1 }, 1]);
  assert.throws(() => db.querySync('UNWIND [1, 2] AS a RETURN a').one(), RangeError);
  assert.throws(() => db.querySync('UNWIND [1, 2] AS a RETURN a').value(), RangeError);
  assert.throws(() => db.querySync('RETURN 1 AS a, 2 AS b').value(), RangeError);
  assert.throws(() => db.querySync('CREATE ()').value(), RangeError);
  assert.throws(() => one.values('b'), RangeError);
  assert.throws(() => one.values(1), RangeError);
});

test('columns of odd names', () => {
  const row = db.querySync('RETURN 1 AS `__proto__`, 2 AS `é`, 3 AS `a b`').one();
  assert.deepEqual(Object.entries(row), [
    ['__proto__', 1],
    ['é', 2],
    ['a b', 3],
  ]);
  assert.equal(Object.getPrototypeOf(row), Object.prototype);
});

test('what there is to say beside rows', async () => {
  const own = telar.openSync();
  const made = await own.query("CREATE (:City {name: 'Ulm'})");
  assert.deepEqual(made.counters, { nodesCreated: 1, propertiesSet: 1, labelsAdded: 1 });
  assert.deepEqual([made.kind, made.columns, made.length], ['write', [], 0]);
  assert.equal(own.querySync('RETURN 1').kind, 'read');
  assert.ok(own.querySync('RETURN 1').timestamp >= made.timestamp);
  assert.match((await own.query('EXPLAIN MATCH (n) RETURN n')).plan, /Scan/);
  assert.equal(made.plan, null);
  const remarks = own.querySync('MATCH (a), (b) RETURN a, b').notifications;
  assert.ok(Array.isArray(remarks) && remarks.every((remark) => typeof remark === 'string'));
});

test('errors say what and where', async () => {
  await assert.rejects(db.query('MATCH (n)\nRETRUN n'), (error) => {
    assert.ok(error instanceof telar.CypherSyntaxError && error instanceof telar.TelarError);
    assert.ok(error instanceof telar.StatementError && error instanceof Error);
    assert.deepEqual([error.name, error.line, error.column], ['CypherSyntaxError', 2, 1]);
    assert.equal(error.code, 'Neo.ClientError.Statement.SyntaxError');
    assert.match(error.message, /RETRUN n\n\^\^\^\^\^\^/);
    // The stack is that of whoever asked.
    assert.match(error.stack, /results\.test\.mjs/);
    return true;
  });
  assert.throws(() => db.querySync('RETURN 1 / 0'), telar.StatementError);
  assert.throws(() => db.querySync('RETURN $missing'), { code: /ParameterMissing/ });
  const own = telar.openSync();
  own.querySync('CREATE CONSTRAINT FOR (p:Person) REQUIRE p.name IS UNIQUE');
  own.querySync("CREATE (:Person {name: 'Ada'})");
  assert.throws(
    () => own.querySync("CREATE (:Person {name: 'Ada'})"),
    (error) => {
      assert.ok(error instanceof telar.ConstraintError);
      return error.line === null;
    },
  );
});

test('limits of sessions and statements', async () => {
  await assert.rejects(db.query(LONG, null, { timeout: 50 }), telar.TimeLimitError);
  await assert.rejects(db.session({ timeout: 50 }).query(LONG), telar.TimeLimitError);
  assert.throws(() => db.querySync(LONG, null, { timeout: 50 }), telar.TimeLimitError);
  assert.throws(
    () => db.session({ memory: 1 << 20 }).querySync('RETURN size(range(1, 1000000))'),
    telar.MemoryLimitError,
  );
  const reads = db.session({ readOnly: true });
  await assert.rejects(reads.query('CREATE ()'), telar.ReadOnlyError);
  const both = db.session({ timeout: 50 }).session({ readOnly: true });
  await assert.rejects(both.query(LONG), telar.TimeLimitError);
  await assert.rejects(both.query('CREATE ()'), telar.ReadOnlyError);
  for (const [wrong, type] of [
    [{ isolation: 'none' }, RangeError],
    [{ timeout: -1 }, RangeError],
    [{ timeout: NaN }, RangeError],
    [{ timeout: '1' }, TypeError],
    [{ time: 1 }, TypeError],
    [5, TypeError],
  ]) {
    assert.throws(() => db.session(wrong), type, JSON.stringify(wrong));
  }
  await assert.rejects(telar.open(null, { durability: 'maybe' }), /durability is 'full'/);
  await assert.rejects(telar.open(null, { nothing: 1 }), /open has no option nothing/);
  await assert.rejects(telar.open(5), TypeError);
  await assert.rejects(db.query('RETURN 1', null, { signal: 1 }), TypeError);
});

test('a signal ends a statement at once', async () => {
  for (const run of [
    (signal) => db.query(LONG, null, { signal }),
    (signal) => db.begin().query(LONG, null, { signal }),
    (signal) => db.write((tx) => tx.query(LONG, null, { signal })),
    async (signal) => {
      for await (const row of db.stream(LONG, null, { signal })) void row;
    },
  ]) {
    const controller = new AbortController();
    setTimeout(() => controller.abort(), 100);
    const began = performance.now();
    await assert.rejects(run(controller.signal), { name: 'AbortError' });
    assert.ok(performance.now() - began < 5000);
    await assert.rejects(run(AbortSignal.abort(new Error('mine'))), /mine/);
  }
  await assert.rejects(db.query(LONG, null, { signal: AbortSignal.timeout(50) }), {
    name: 'TimeoutError',
  });
  const controller = new AbortController();
  const fine = await db.query('RETURN 1 AS a', null, { signal: controller.signal });
  controller.abort();
  assert.equal(fine.value(), 1);
  assert.equal(db.querySync('RETURN 2').value(), 2);
});

test('the event loop goes on while a statement runs', async () => {
  const controller = new AbortController();
  const limits = { signal: controller.signal, timeout: 60_000 };
  // Its time is over, and the error another one, unless the loop goes on.
  const long = assert.rejects(db.query(LONG, null, limits), { name: 'AbortError' });
  await runsLong(db);
  for (let tick = 0; tick <= 20; tick++) await sleep(1);
  controller.abort();
  await long;
});

test('twenty statements at a time, and a thousand', async () => {
  for (const count of [20, 1000]) {
    const all = Array.from({ length: count }, (_, n) =>
      db.query('UNWIND range(1, 100) AS n RETURN sum(n) + $n AS sum', { n }),
    );
    const sums = (await Promise.all(all)).map((result) => result.value());
    assert.deepEqual(
      sums,
      Array.from({ length: count }, (_, n) => 5050 + n),
    );
  }
});

test('a stream does not run ahead of a slow reader', async () => {
  const text = 'a text of some length, '.repeat(100);
  const stream = db.stream('UNWIND range(1, 1000000000) AS n RETURN $text + n AS t', { text });
  const before = process.memoryUsage().rss;
  assert.equal((await stream.next()).value.t, `${text}1`);
  await new Promise((resolve) => setTimeout(resolve, 1500));
  // A batch has 4,096 rows at least, and this text 2.3 KB.
  const grown = process.memoryUsage().rss - before;
  assert.ok(grown < 150 << 20, `${grown >> 20} MiB more`);
  stream.close();
});

test('streams are as long as they are, and end when nobody reads', async () => {
  let rows = 0;
  let last = 0;
  const stream = db.stream("UNWIND range(1, 1000000) AS n RETURN n, 'text of row ' + n AS text");
  for await (const batch of stream.batches()) {
    rows += batch.length;
    last = batch.at(-1).n;
  }
  assert.deepEqual([rows, last], [1_000_000, 1_000_000]);
  assert.equal(stream.summary.kind, 'read');
  const endless = db.stream('UNWIND range(1, 1000000000000) AS n RETURN n');
  const first = [];
  for await (const { n } of endless) {
    first.push(n);
    if (n === 10_000) break;
  }
  assert.equal(first.length, 10_000);
  assert.deepEqual(await endless.next(), { value: undefined, done: true });
  assert.deepEqual(await endless.arrow().next(), { value: undefined, done: true });
});

test('errors of streams come where they happen', async () => {
  const seen = [];
  const failing = async () => {
    for await (const { x } of db.stream(
      'UNWIND range(1, 20000) AS n RETURN 1 / (n - 15000) AS x',
    )) {
      seen.push(x);
    }
  };
  await assert.rejects(failing(), telar.StatementError);
  assert.ok(seen.length > 0 && seen.length < 15_000);
  await assert.rejects(db.stream('RETRUN').next(), telar.CypherSyntaxError);
  const closed = db.stream('RETURN 1');
  closed.close();
  assert.deepEqual(await closed.next(), { value: undefined, done: true });
  const one = db.stream('UNWIND range(1, 9999) AS n RETURN n');
  await assert.rejects(Promise.all([one.next(), one.next()]), /the stream is being read already/);
  one.close();
});

test('a stream writes, and its rows come after the commit', async () => {
  const own = telar.openSync();
  const stream = own.stream('UNWIND range(1, 10) AS n CREATE (c:C {n: n}) RETURN c.n AS n');
  const first = await stream.next();
  assert.equal(first.value.n, 1);
  stream.close();
  assert.equal(own.querySync('MATCH (c:C) RETURN count(c)').value(), 10);
});

test('algorithms', async () => {
  const own = telar.openSync();
  own.querySync("CREATE (a:P {name: 'a'})-[:TO]->(b:P {name: 'b'})<-[:TO]-(:P {name: 'c'})");
  const ranks = await own.algo.pageRank({ nodes: 'P', relationships: 'TO', key: 'name' });
  assert.deepEqual(ranks.columns, ['node', 'score']);
  const best = ranks.toArray().sort((one, other) => other.score - one.score)[0];
  assert.equal(best.node, 'b');
  const stats = await own.algo.wcc.stats({ relationships: 'TO' });
  assert.equal(stats.one().componentCount, 1);
  const [source] = own.querySync("MATCH (p:P {name: 'a'}) RETURN p").values();
  const reached = await own.algo.bfs({ relationships: 'TO', sourceNode: source });
  assert.ok(reached.length > 0);
  await assert.rejects(own.algo.nothing(), /there is no algorithm algo.nothing/);
  assert.equal(own.algo.then, undefined);
});
