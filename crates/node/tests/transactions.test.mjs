// Transactions, and what closing does.

import assert from 'node:assert/strict';
import { existsSync, writeFileSync } from 'node:fs';
import path from 'node:path';
import test from 'node:test';
import telar from 'telar';
import { LONG, folder, runsLong } from './helpers.mjs';

const count = (db) => db.querySync('MATCH (n) RETURN count(n)').value();

test('a transaction is committed or rolled back as a whole', async () => {
  const db = await telar.open();
  const tx = db.begin();
  await tx.query('CREATE (:City)');
  tx.querySync('CREATE (:City)');
  assert.equal((await tx.query('MATCH (c:City) RETURN count(c)')).value(), 2);
  assert.equal(count(db), 0);
  assert.ok(tx.open);
  const at = await tx.commit();
  assert.equal(at, db.querySync('RETURN 1').timestamp);
  assert.ok(!tx.open);
  assert.equal(count(db), 2);
  await assert.rejects(tx.query('RETURN 1'), telar.ClosedError);
  await assert.rejects(tx.commit(), /is committed/);
  await tx.rollback();
  const undone = db.begin();
  await undone.query('CREATE ()');
  await undone.rollback();
  await undone.rollback();
  assert.throws(() => undone.commitSync(), /is rolled back/);
  assert.equal(count(db), 2);
  const sync = db.begin();
  sync.querySync('CREATE ()');
  assert.ok(sync.commitSync() > at);
  assert.equal(count(db), 3);
});

test('statements that are not awaited run in their order', async () => {
  const db = await telar.open();
  const tx = db.begin();
  const all = [];
  for (let n = 0; n < 50; n++)
    all.push(tx.query('CREATE (c:C {n: $n}) RETURN count { (:C) } AS c', { n }));
  all.push(tx.commit());
  const counts = (await Promise.all(all)).slice(0, 50).map((result) => result.value());
  assert.equal(counts.length, 50);
  assert.equal(count(db), 50);
  assert.deepEqual(db.querySync('MATCH (c:C) RETURN c.n ORDER BY id(c)').values(), [
    ...Array(50).keys(),
  ]);
});

test('a statement at a time: a busy transaction refuses synchronous ones', async () => {
  const db = await telar.open();
  await assert.rejects(db.begin({ timeout: 50 }).query(LONG), telar.TimeLimitError);
  const tx = db.begin();
  const controller = new AbortController();
  const { signal } = controller;
  const long = assert.rejects(tx.query(LONG, null, { signal }), { name: 'AbortError' });
  await runsLong(db);
  assert.throws(() => tx.querySync('RETURN 1'), /a statement runs in this transaction/);
  assert.throws(() => tx.rollbackSync(), /a statement runs in this transaction/);
  controller.abort();
  await long;
  await tx.rollback();
});

test('an error ends a transaction', async () => {
  const db = await telar.open();
  const tx = db.begin();
  await tx.query('CREATE ()');
  await assert.rejects(tx.query('RETURN 1 / 0'), telar.StatementError);
  await assert.rejects(tx.commit(), telar.TelarError);
  assert.equal(count(db), 0);
});

test('a transaction that is forgotten is undone', { skip: !globalThis.gc && 'no gc' }, async () => {
  const db = await telar.open();
  await (async () => {
    const tx = db.begin();
    await tx.query('CREATE (:Forgotten)');
  })();
  globalThis.gc();
  assert.equal(count(db), 0);
});

for (const isolation of ['snapshot', 'serializable']) {
  test(`managed transactions are run again: ${isolation}`, async () => {
    const db = await telar.open();
    await db.query('CREATE (:Counter {n: 0})');
    const session = db.session({ isolation, writeWait: 0 });
    let runs = 0;
    const add = async () => {
      for (let n = 0; n < 25; n++) {
        await session.write(
          async (tx) => {
            runs++;
            const before = (await tx.query('MATCH (c:Counter) RETURN c.n')).value();
            await tx.query('MATCH (c:Counter) SET c.n = $n', { n: before + 1 });
          },
          { tries: 1000 },
        );
      }
    };
    await Promise.all(Array.from({ length: 8 }, add));
    assert.equal(db.querySync('MATCH (c:Counter) RETURN c.n').value(), 200);
    assert.ok(runs > 200, `${runs} runs: nothing was in conflict`);
  });
}

test('managed transactions hand errors and values on', async () => {
  const db = await telar.open();
  assert.equal(await db.write(async (tx) => (await tx.query('CREATE (n) RETURN 7')).value()), 7);
  const fails = async (tx) => {
    await tx.query('CREATE ()');
    throw new Error('mine');
  };
  await assert.rejects(db.write(fails), /mine/);
  assert.equal(count(db), 1);
  const tries = [];
  const loses = (tx) => {
    tries.push(tx);
    throw new telar.ConflictError('again');
  };
  await assert.rejects(db.write(loses, { tries: 3 }), telar.ConflictError);
  assert.equal(tries.length, 3);
  assert.ok(tries.every((tx) => !tx.open));
  await assert.rejects(db.write(), TypeError);
  await assert.rejects(
    db.read((tx) => tx.query('CREATE ()')),
    telar.ReadOnlyError,
  );
  const same = await db.read(async (tx) => {
    const before = (await tx.query('MATCH (n) RETURN count(n)')).value();
    await db.query('CREATE ()');
    return before === (await tx.query('MATCH (n) RETURN count(n)')).value();
  });
  assert.ok(same);
  // The callback may end the transaction itself.
  await db.write((tx) => tx.rollback());
});

test('conflicts', async () => {
  const db = await telar.open();
  await db.query('CREATE (:Counter {n: 0})');
  const quick = db.session({ writeWait: 0 });
  const [one, other] = [quick.begin(), quick.begin()];
  const add = 'MATCH (c:Counter) SET c.n = c.n + 1';
  for (const tx of [one, other]) await tx.query('MATCH (c:Counter) RETURN c.n');
  await one.query(add);
  const lost = async () => {
    await other.query(add);
    await one.commit();
    await other.commit();
  };
  await assert.rejects(lost(), (error) => {
    assert.ok(error instanceof telar.ConflictError);
    return error.code.startsWith('Neo.TransientError');
  });
  if (one.open) await one.commit();
  assert.equal(db.querySync('MATCH (c:Counter) RETURN c.n').value(), 1);
});

test('one that holds what seventy others wait for can go on', async () => {
  const db = await telar.open();
  await db.query('CREATE (:Counter {n: 0})');
  const tx = db.begin();
  await tx.query('MATCH (c:Counter) SET c.n = 1');
  const patient = db.session({ writeWait: 30_000 });
  const others = Array.from({ length: 70 }, () =>
    patient.query('MATCH (c:Counter) SET c.n = c.n + 1'),
  );
  await new Promise((resolve) => setTimeout(resolve, 100));
  await tx.query('MATCH (c:Counter) SET c.n = 2');
  await tx.commit();
  await Promise.all(others);
  assert.equal(db.querySync('MATCH (c:Counter) RETURN c.n').value(), 72);
});

test('folders', async (t) => {
  const at = folder(t);
  const db = await telar.open(at);
  assert.deepEqual([db.path, db.closed], [at, false]);
  await db.query("CREATE (:City {name: 'Ulm'})");
  const session = db.session({ timeout: 10_000 });
  await db.close();
  assert.ok(db.closed);
  await assert.rejects(db.query('RETURN 1'), telar.ClosedError);
  await assert.rejects(session.query('RETURN 1'), telar.ClosedError);
  assert.throws(() => session.querySync('RETURN 1'), telar.ClosedError);
  assert.throws(() => db.begin(), telar.ClosedError);
  assert.throws(() => db.session(), telar.ClosedError);
  await assert.rejects(db.checkpoint(), telar.ClosedError);
  await db.close();
  const again = telar.openSync(at);
  assert.deepEqual(again.querySync('MATCH (c:City) RETURN c.name').values(), ['Ulm']);
  await again.checkpoint();
  await again.backup(`${at}.backup`);
  assert.ok(existsSync(`${at}.backup`));
  again.closeSync();
  again.closeSync();
  const file = path.join(path.dirname(at), 'file');
  writeFileSync(file, 'no database');
  await assert.rejects(telar.open(file), telar.StorageError);
});

test('closing waits for statements and ends what is open', async (t) => {
  const at = folder(t);
  const db = await telar.open(at);
  const tx = db.begin();
  await tx.query('CREATE (:Lost)');
  const stream = db.stream('UNWIND range(1, 1000000000000) AS n RETURN n');
  await stream.next();
  const running = Array.from({ length: 20 }, () => db.query('CREATE (:Kept)'));
  const closing = db.close();
  await assert.rejects(db.query('RETURN 1'), telar.ClosedError);
  await closing;
  await Promise.all(running);
  await assert.rejects(tx.commit(), telar.ClosedError);
  const again = telar.openSync(at);
  assert.deepEqual(again.querySync('MATCH (n) RETURN DISTINCT labels(n)').values(), [['Kept']]);
  assert.equal(count(again), 20);
  again.closeSync();
});

test('disposal', { skip: !Symbol.asyncDispose && 'no Symbol.asyncDispose' }, async () => {
  const db = await telar.open();
  const tx = db.begin();
  await tx.query('CREATE ()');
  await tx[Symbol.asyncDispose]();
  assert.equal(count(db), 0);
  const stream = db.stream('RETURN 1');
  await stream[Symbol.asyncDispose]();
  await db[Symbol.asyncDispose]();
  assert.ok(db.closed);
  const other = telar.openSync();
  other[Symbol.dispose]();
  assert.ok(other.closed);
});

test('many sessions are forgotten', async () => {
  const db = await telar.open();
  for (let n = 0; n < 10_000; n++) db.session({ timeout: 1 });
  assert.equal((await db.session().query('RETURN 1')).value(), 1);
});
