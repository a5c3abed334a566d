// Processes and threads: their ends, workers, memory.

import assert from 'node:assert/strict';
import test from 'node:test';
import { once } from 'node:events';
import { Worker } from 'node:worker_threads';
import telar from 'telar';
import { folder, run, start } from './helpers.mjs';

const LASTS = {
  nothing: '',
  'a result':
    "const result = await db.query('MATCH (n) RETURN n'); result[Symbol.iterator]().next();",
  'a transaction': "await db.begin().query('CREATE (:Lost)');",
  'a stream': "await db.stream('UNWIND range(1, 1000000000) AS n RETURN n').next();",
  'statements and an exit':
    "for (let n = 0; n < 100; n++) db.query('UNWIND range(1, 1000000000) AS n RETURN sum(n)');\n" +
    'await new Promise((r) => setTimeout(r, 50)); process.exit(0);',
  'an error': "db.query('RETURN 1'); throw new Error('mine');",
  'a rejection': "db.query('MINE');",
};

for (const [name, last] of Object.entries(LASTS)) {
  test(`the end of the program loses nothing: ${name}`, async (t) => {
    const at = folder(t);
    const done = await run(
      t,
      `import telar from 'telar';
       const db = await telar.open(${JSON.stringify(at)}, { durability: 'async' });
       await db.query('UNWIND range(1, 1000) AS n CREATE (:City)');
       ${last}`,
    );
    const fails = /mine/i.test(last);
    assert.equal(done.code, fails ? 1 : 0, done.stderr);
    assert.equal(fails ? /mine/i.test(done.stderr) : done.stderr === '', true, done.stderr);
    assert.doesNotMatch(done.stderr, /panicked|FATAL|Segmentation/);
    const db = await telar.open(at);
    assert.equal(db.querySync('MATCH (n) RETURN count(n)').value(), 1000);
    db.closeSync();
  });
}

test('a program ends by itself when nothing is awaited', async (t) => {
  const began = performance.now();
  const done = await run(
    t,
    `import telar from 'telar';
     const db = telar.openSync();
     await db.query('RETURN 1');
     db.stream('RETURN 1');
     db.begin();`,
  );
  assert.deepEqual([done.code, done.stderr], [0, '']);
  assert.ok(performance.now() - began < 20_000);
});

test('a program waits for what was asked for', async (t) => {
  const done = await run(
    t,
    `import telar from 'telar';
     const db = telar.openSync();
     db.query('UNWIND range(1, 300000) AS n RETURN sum(n) AS s').then((r) => console.log(r.value()));`,
  );
  assert.deepEqual([done.code, done.stdout], [0, '45000150000\n']);
});

for (const kind of ['one after the other', 'eight at a time']) {
  test(`a killed program loses nothing that was returned: ${kind}`, async (t) => {
    const at = folder(t);
    const lanes = kind === 'eight at a time' ? 8 : 1;
    const child = start(
      t,
      `import telar from 'telar';
       const db = await telar.open(${JSON.stringify(at)});
       async function lane(lane) {
         for (let n = lane; ; n += ${lanes}) {
           await db.query('CREATE (:City {n: $n})', { n });
           process.stdout.write(n + '\\n');
         }
       }
       await Promise.all(Array.from({ length: ${lanes} }, (_, n) => lane(n)));`,
    );
    let said = '';
    child.stdout.on('data', (text) => {
      said += text;
      if (said.split('\n').length > 200) child.kill('SIGKILL');
    });
    await once(child, 'close');
    // The last line may be half a number.
    const returned = said.split('\n').slice(0, -1).map(Number);
    assert.ok(returned.length >= 200);
    const db = await telar.open(at);
    const stored = new Set(db.querySync('MATCH (c:City) RETURN c.n').values());
    assert.deepEqual(
      returned.filter((n) => !stored.has(n)),
      [],
    );
    assert.ok(stored.size <= returned.length + 2 * lanes);
    db.closeSync();
  });
}

/** The message that a worker sends when it is done. */
async function answer(worker) {
  const said = await Promise.race([
    once(worker, 'message'),
    once(worker, 'error').then(([error]) => Promise.reject(error)),
  ]);
  return said[0];
}

test('four workers, each with a database of its own', async (t) => {
  const at = folder(t);
  const program = `
    const { parentPort, workerData } = require('node:worker_threads');
    const telar = require('telar');
    (async () => {
      const db = await telar.open(workerData.at);
      await Promise.all(Array.from({ length: 50 }, (_, n) => db.query('CREATE (:C {n: $n})', { n })));
      const sum = (await db.query('MATCH (c:C) RETURN sum(c.n)')).value();
      await db.close();
      parentPort.postMessage(sum);
    })();`;
  const workers = Array.from(
    { length: 4 },
    (_, n) => new Worker(program, { eval: true, workerData: { at: `${at}.${n}` } }),
  );
  assert.deepEqual(await Promise.all(workers.map(answer)), [1225, 1225, 1225, 1225]);
  await Promise.all(workers.map((worker) => worker.terminate()));
});

for (const how of ['terminate', 'exit']) {
  test(`a worker that ends closes what it has open: ${how}`, async (t) => {
    const at = folder(t);
    const program = `
      const { parentPort, workerData } = require('node:worker_threads');
      const telar = require('telar');
      (async () => {
        const db = await telar.open(workerData.at, { durability: 'async' });
        await db.query('UNWIND range(1, 1000) AS n CREATE (:City)');
        const tx = db.begin();
        await tx.query('CREATE (:Lost)');
        await db.stream('UNWIND range(1, 1000000000) AS n RETURN n').next();
        for (let n = 0; n < 5; n++) db.query('UNWIND range(1, 10000000000) AS n RETURN sum(n)');
        parentPort.postMessage('ready');
        if (workerData.how === 'exit') setTimeout(() => process.exit(0), 50);
      })();`;
    const worker = new Worker(program, { eval: true, workerData: { at, how } });
    const ended = once(worker, 'exit');
    assert.equal(await answer(worker), 'ready');
    if (how === 'terminate') await worker.terminate();
    await ended;
    const db = await telar.open(at);
    assert.equal(db.querySync('MATCH (n) RETURN count(n)').value(), 1000);
    await db.close();
  });
}

test('memory stays flat', { skip: !globalThis.gc && 'no gc' }, async () => {
  const db = telar.openSync();
  db.querySync("CREATE (:P {name: 'Ada', tags: ['a', 'b']})-[:KNOWS]->(:P {name: 'Bob'})");
  const text = 'MATCH p = (a)-[r]->(b) RETURN p, a, r, b.name AS b, $l AS l';
  const use = async (times) => {
    for (let n = 0; n < times; n++) {
      const result = await db.query(text, { l: [n, 'x'] });
      result.toArray();
      result.toArrowSync();
      await db.query('RETURN 1 / $zero', { zero: 0 }).catch(() => {});
      const tx = db.begin();
      tx.querySync('MATCH (n) RETURN n');
      if (n % 3 > 0) await tx.rollback();
      for await (const row of db.stream('UNWIND range(1, 3) AS n RETURN n')) {
        void row;
        if (n % 2 === 0) break;
      }
    }
    globalThis.gc();
    await new Promise((resolve) => setTimeout(resolve, 100));
  };
  await use(2000);
  const before = process.memoryUsage().rss;
  await use(6000);
  const grown = process.memoryUsage().rss - before;
  assert.ok(grown < 24 << 20, `${grown >> 20} MiB more`);
});

test('large results that are forgotten do not pile up', async () => {
  const db = telar.openSync();
  const text = 'a text of some length, '.repeat(10);
  const use = async (kind) => {
    const before = process.memoryUsage().rss;
    for (let n = 0; n < 60; n++) {
      const result = await db.query('UNWIND range(1, 100000) AS n RETURN $text + n AS t', { text });
      assert.equal(result.length, 100_000);
      if (kind === 'Arrow' && n % 4 === 0) assert.ok(result.toArrowSync().length > 23_000_000);
    }
    const grown = process.memoryUsage().rss - before;
    assert.ok(grown < 600 << 20, `${kind}: ${grown >> 20} MiB more`);
  };
  // Memory outside of V8, of which V8 must know; all of them together are 1.4 GB.
  await use('columns');
  await use('Arrow');
});
