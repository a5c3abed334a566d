// Several threads and processes of Node.js with one folder open.

import assert from 'node:assert/strict';
import { execFile } from 'node:child_process';
import { once } from 'node:events';
import { existsSync, readFileSync, readdirSync } from 'node:fs';
import { createInterface } from 'node:readline';
import test from 'node:test';
import { promisify } from 'node:util';
import { Worker } from 'node:worker_threads';

import telar from 'telar';

import { LONG, folder, start } from './helpers.mjs';

/** A program that has a folder open, and does what its input asks. */
const SERVANT = (at) => `
  import { createInterface } from 'node:readline';
  import telar from 'telar';
  const db = await telar.open(${JSON.stringify(at)});
  console.log(JSON.stringify(db.isOwner));
  let tx = null;
  for await (const line of createInterface({ input: process.stdin })) {
    const [what, text, parameters] = JSON.parse(line);
    try {
      if (what === 'begin') tx = db.begin();
      const on = what === 'tx' ? tx : db;
      const values = text ? (await on.query(text, parameters)).values() : [];
      if (what === 'close') await db.close();
      console.log(JSON.stringify(what === 'owns' ? db.isOwner : values));
    } catch (error) {
      console.log(JSON.stringify({ failed: error.name }));
    }
  }`;

/** A process that has a folder open: `ask` resolves to what it says. */
async function servant(t, at) {
  const child = start(t, SERVANT(at));
  const lines = createInterface({ input: child.stdout })[Symbol.asyncIterator]();
  const next = async () => JSON.parse((await lines.next()).value);
  const ask = (...request) => {
    child.stdin.write(`${JSON.stringify(request)}\n`);
    return next();
  };
  const isOwner = await next();
  return { child, ask, isOwner };
}

async function killed(child) {
  const gone = once(child, 'exit');
  child.kill('SIGKILL');
  await gone;
}

/** Stops a process; it has stopped when this returns. */
async function stopped(child) {
  child.kill('SIGSTOP');
  const tasks = `/proc/${child.pid}/task`;
  const state = (task) => readFileSync(`${tasks}/${task}/stat`, 'utf8').split(') ')[1][0];
  while (readdirSync(tasks).some((task) => state(task) !== 'T')) {
    await new Promise((resolve) => setTimeout(resolve, 5));
  }
}

test('who opens a folder that is open asks the first, and has it in the end', async (t) => {
  const at = folder(t);
  const owner = await telar.open(at);
  const guest = await telar.open(at);
  assert.deepEqual([owner.isOwner, guest.isOwner], [true, false]);
  await guest.query("CREATE (:City {name: 'Ulm', of: [1.5, 2.5], at: date('2026-11-29')})");
  const text = 'MATCH (c:City) RETURN c';
  assert.deepEqual((await guest.query(text)).toArray(), owner.querySync(text).toArray());
  assert.deepEqual(guest.querySync(text).toArray(), owner.querySync(text).toArray());
  const rows = [];
  for await (const row of guest.stream('UNWIND range(1, 20000) AS n RETURN n')) rows.push(row.n);
  assert.equal(rows.length, 20_000);
  assert.equal(rows.at(-1), 20_000);
  const numbers = await guest.query('UNWIND range(1, 3) AS n RETURN n');
  const tables = await guest.query('UNWIND $t AS row RETURN sum(row.n)', { t: numbers });
  assert.equal(tables.value(), 6);
  assert.ok(numbers.toArrowSync().length > 0);
  const load = await guest.createNodes('P', { id: [1, 2, 3] }, { unique: ['P.id'] });
  assert.equal(load.nodes, 3);
  const ends = { src: 'a', dst: 'b', label: 'P' };
  const made = await guest.createRelationships('R', { a: [1, 2], b: [2, 3] }, ends);
  assert.equal(made.relationships, 2);
  await guest.checkpoint();
  await guest.backup(`${at}.backup`);
  assert.ok(existsSync(`${at}.backup`));
  const session = guest.session({ readOnly: true, timeout: 60_000 });
  await assert.rejects(session.query('CREATE ()'), telar.ReadOnlyError);
  await assert.rejects(guest.query('MATCH (n RETURN n'), telar.CypherSyntaxError);
  await assert.rejects(guest.query('CREATE (:P {id: 1})'), telar.ConstraintError);
  await owner.close();
  assert.equal(guest.querySync('MATCH (n) RETURN count(n)').value(), 4);
  assert.ok(guest.isOwner);
  assert.equal((await session.query('MATCH (n) RETURN count(n)')).value(), 4);
  await guest.close();
  assert.throws(() => guest.isOwner, telar.ClosedError);
});

test('transactions of who asks another process', async (t) => {
  const at = folder(t);
  const owner = await telar.open(at);
  const guest = await telar.open(at);
  await owner.query('CREATE (:C {n: 0})');
  const count = () => owner.querySync('MATCH (c:C) RETURN c.n').value();
  const add = 'MATCH (c:C) SET c.n = c.n + 1';
  const tx = guest.begin();
  await tx.query(add);
  assert.equal((await tx.query('MATCH (c:C) RETURN c.n')).value(), 1);
  assert.equal(count(), 0);
  assert.equal(typeof (await tx.commit()), 'number');
  assert.equal(count(), 1);
  await assert.rejects(tx.query(add), telar.ClosedError);
  // One without a statement, committed and rolled back; one that is rolled back; one at once.
  await guest.begin().commit();
  await guest.begin().rollback();
  const undone = guest.begin();
  undone.querySync(add);
  undone.rollbackSync();
  assert.equal(count(), 1);
  const quick = guest.begin();
  quick.querySync(add);
  quick.commitSync();
  assert.equal(count(), 2);
  await Promise.all(Array.from({ length: 8 }, () => guest.write((its) => its.query(add))));
  assert.equal(count(), 10);
  await guest.close();
  await owner.close();
});

test('statements of who asks another process end early', async (t) => {
  const at = folder(t);
  const owner = await telar.open(at);
  const guest = await telar.open(at);
  await assert.rejects(guest.query(LONG, null, { timeout: 50 }), telar.TimeLimitError);
  const aborted = guest.query(LONG, null, { signal: AbortSignal.timeout(50) });
  await assert.rejects(aborted, { name: 'TimeoutError' });
  const stream = guest.stream('UNWIND range(1, 1000000000000) AS n RETURN n');
  await stream.next();
  await stream.close();
  const tx = guest.begin();
  const controller = new AbortController();
  const long = tx.query(LONG, null, { signal: controller.signal });
  setTimeout(() => controller.abort(), 50);
  await assert.rejects(long, { name: 'AbortError' });
  await tx.rollback();
  assert.equal((await guest.query('RETURN 1 AS n')).value(), 1);
  await guest.close();
  await owner.close();
});

test('a folder that is not shared is open once', async (t) => {
  const at = folder(t);
  const alone = await telar.open(at, { share: false });
  await assert.rejects(telar.open(at), telar.LockedError);
  assert.throws(() => telar.openSync(at, { share: false }), telar.LockedError);
  await alone.close();
  const shared = await telar.open(at, { durability: 'async' });
  await assert.rejects(telar.open(at, { share: false }), telar.LockedError);
  await assert.rejects(telar.open(at), (error) => {
    assert.ok(error instanceof telar.LockedError);
    assert.match(error.message, /durability/);
    return true;
  });
  await shared.close();
  await assert.rejects(telar.open(at, { share: 'no' }), TypeError);
});

test('a worker asks the thread that has the folder open', async (t) => {
  const at = folder(t);
  const db = await telar.open(at);
  const program = `
    const { parentPort, workerData } = require('node:worker_threads');
    require('telar').open(workerData.at).then(async (db) => {
      await db.query('CREATE (:FromWorker)');
      parentPort.postMessage(db.isOwner);
    });`;
  const worker = new Worker(program, { eval: true, workerData: { at } });
  assert.deepEqual(await once(worker, 'message'), [false]);
  await worker.terminate();
  assert.equal(db.querySync('MATCH (n:FromWorker) RETURN count(n)').value(), 1);
  await db.close();
});

test('the owner is killed: nothing that was committed is lost, and others go on', async (t) => {
  const at = folder(t);
  const owner = await servant(t, at);
  const db = await telar.open(at);
  const third = await servant(t, at);
  assert.deepEqual([owner.isOwner, db.isOwner, third.isOwner], [true, false, false]);
  await owner.ask('query', 'CREATE (:C {n: 1})');
  await third.ask('query', 'MATCH (c:C) SET c.n = c.n + 1');
  await third.ask('begin');
  await third.ask('tx', 'MATCH (c:C) SET c.n = 100');
  await killed(owner.child);
  assert.deepEqual(await third.ask('tx', 'RETURN 1'), { failed: 'ConflictError' });
  const text = 'MATCH (c:C) RETURN c.n';
  assert.equal((await db.query(text)).value(), 2);
  await db.query('MATCH (c:C) SET c.n = c.n + 1');
  assert.deepEqual(await third.ask('query', text), [3]);
  assert.equal([db.isOwner, await third.ask('owns')].filter(Boolean).length, 1);
  await third.ask('close');
  assert.equal((await db.query(text)).value(), 3);
  await db.close();
});

test('a counter under kills of its owners counts each step once', async (t) => {
  const at = folder(t);
  const first = await telar.open(at);
  await first.query('CREATE (:C {n: 0})');
  await first.close();
  let done = 0;
  const rounds = 4;
  for (let round = 0; round < rounds; round++) {
    const owner = await servant(t, at);
    const guest = await telar.open(at);
    assert.deepEqual([owner.isOwner, guest.isOwner], [true, false]);
    const step = async () => {
      await guest.write((tx) => tx.query('MATCH (c:C) SET c.n = c.n + 1'));
      done++;
    };
    const steps = Array.from({ length: 20 }, step);
    // While they run.
    await Promise.race(steps);
    await killed(owner.child);
    await Promise.all(steps);
    assert.equal((await guest.query('MATCH (c:C) RETURN c.n')).value(), done);
    assert.ok(guest.isOwner);
    await guest.close();
  }
  assert.equal(done, 20 * rounds);
});

test('an owner that hangs keeps nobody from ending', async (t) => {
  const at = folder(t);
  const { child, ask } = await servant(t, at);
  const db = await telar.open(at);
  await db.query('CREATE (:C {n: 0})-[:R]->(:D)');
  const tx = db.begin();
  await tx.query('MATCH (c:C) SET c.n = 1');
  await stopped(child);
  // What waits on this thread, or for long, would show here.
  const text = 'MATCH (c:C) RETURN c.n';
  const ends = [telar.TimeLimitError, telar.UnknownOutcomeError, telar.InterruptedError];
  const anEnd = (error) =>
    ends.some((type) => error instanceof type) || error.name === 'TimeoutError';
  await assert.rejects(db.query(text, null, { timeout: 200 }), anEnd);
  await assert.rejects(db.query(text, null, { signal: AbortSignal.timeout(200) }), anEnd);
  const later = db.begin();
  const load = db.load().relationships('R', { a: [1], b: [2] }, { src: 'a', dst: 'b', label: 'P' });
  assert.equal(db.isOwner, false);
  await tx.rollback();
  await later.rollback();
  child.kill('SIGCONT');
  assert.equal((await db.query(text)).value(), 0);
  // The key of the label is looked for with the load.
  await assert.rejects(load.commit(), /nothing says by which property a P is known/);
  assert.deepEqual(await ask('query', text), [0]);
  await db.close();
});

test('statements that were aborted before they were sent are not', async (t) => {
  const at = folder(t);
  const owner = await servant(t, at);
  const guest = await telar.open(at);
  assert.equal(guest.isOwner, false);
  // As many as run at a time, behind which the others wait in line.
  const [running, waiting] = [new AbortController(), new AbortController()];
  const ask = (text, { signal }) => guest.query(text, null, { signal });
  const long = Array.from({ length: 64 }, () => ask(LONG, running));
  const late = Array.from({ length: 100 }, () => ask('CREATE (:Late)', waiting));
  waiting.abort();
  running.abort();
  for (const one of await Promise.allSettled([...long, ...late])) {
    assert.equal(one.reason?.name, 'AbortError');
  }
  assert.deepEqual(await owner.ask('query', 'MATCH (n:Late) RETURN count(n)'), [0]);
  await guest.close();
});

test('the shell reads what a program has open', { skip: !process.env.TELAR }, async (t) => {
  const at = folder(t);
  const db = await telar.open(at);
  await db.query("CREATE (:City {name: 'Ulm'})");
  const asked = ['shell', at, '-c', 'MATCH (c:City) RETURN c.name', '--format', 'csv'];
  const { stdout } = await promisify(execFile)(process.env.TELAR, asked);
  assert.match(stdout, /Ulm/);
  await db.close();
});
