#!/usr/bin/env node
/* Telar, and other engines, as Node.js programs use them: points, rows, Arrow. One run, answers compared.

    node bench/compare/node.mjs [--package TARBALL] [--engines telar,kuzu] [--scale F] [--rounds N]

TARBALL is what `make npm` leaves. Engines are installed from the package registry into target/compare/node, at the
versions below. Each engine runs in a process of its own, in a folder; where one fails, the reason stands in place of
its figure.

    point sync, point async   one person by key: microseconds, median of all; async is awaited one by one
    point async x 64          the same, 64 at a time: microseconds for each
    create                    one person created: microseconds, median; asynchronous commits
    create durable            the same on disk when it returns, one by one and 64 at a time
    rows                      1,000,000 rows of a number and a text: seconds until all are objects
    stream                    the same rows one by one with `for await`, and in batches
    arrow                     10,000,000 rows of two columns as Arrow IPC, beside a copy of that many bytes */
import { execFileSync } from 'node:child_process';
import { existsSync, mkdirSync, mkdtempSync, readdirSync, rmSync, writeFileSync } from 'node:fs';
import { createRequire } from 'node:module';
import path from 'node:path';
import { fileURLToPath } from 'node:url';
import { parseArgs } from 'node:util';

const ROOT = path.resolve(path.dirname(fileURLToPath(import.meta.url)), '../..');
const INSTALLED = path.join(ROOT, 'target/compare/node');
const PACKAGES = { telar: null, kuzu: 'kuzu@0.11.3' };
const [PERSONS, ROWS, FRAME_ROWS] = [100_000, 1_000_000, 10_000_000];

const { values: options } = parseArgs({
  options: {
    package: { type: 'string' },
    engines: { type: 'string', default: 'telar,kuzu' },
    scale: { type: 'string', default: '1' },
    rounds: { type: 'string', default: '20000' },
    run: { type: 'string' },
  },
});
const scale = Number(options.scale);
const rounds = Number(options.rounds);
const rowsOf = (count) => Math.round(count * scale);

const median = (all) => all.sort((one, other) => one - other)[all.length >> 1];
const random = () => Math.floor(Math.random() * rowsOf(PERSONS));

/** Microseconds of each of `count` calls, one after the other. */
async function each(count, call) {
  for (let n = 0; n < count / 10; n++) await call(n);
  const times = [];
  for (let n = 0; n < count; n++) {
    const began = performance.now();
    const done = call(n);
    if (done instanceof Promise) await done;
    times.push((performance.now() - began) * 1000);
  }
  return median(times).toFixed(1);
}

/** Microseconds for each of `count` calls, of which 64 are under way. */
async function together(count, call) {
  let next = 0;
  const lane = async () => {
    while (next < count) await call(next++);
  };
  const began = performance.now();
  await Promise.all(Array.from({ length: 64 }, lane));
  return (((performance.now() - began) * 1000) / count).toFixed(1);
}

/** Seconds, the least of three. */
async function seconds(call) {
  const times = [];
  for (let n = 0; n < 3; n++) {
    const began = performance.now();
    await call();
    times.push((performance.now() - began) / 1000);
  }
  return Math.min(...times).toFixed(3);
}

function check(found, wanted) {
  if (found !== wanted) throw new Error(`the answer is ${found}, not ${wanted}`);
}

const BY_KEY = 'MATCH (p:Person {id: $id}) RETURN p.name AS name';
const CREATE = 'CREATE (:Person {id: $id, name: $name})';
const TEXTS = "UNWIND range(1, $n) AS n RETURN n, 'person number ' + n AS name";

async function telar(folder, say) {
  const { default: own } = await import(
    createRequire(path.join(INSTALLED, 'x.js')).resolve('telar')
  );
  const db = await own.open(path.join(folder, 'telar'), { durability: 'async' });
  const id = Array.from({ length: rowsOf(PERSONS) }, (_, n) => n);
  await db.createNodes(
    'Person',
    { id, name: id.map((n) => `person ${n}`) },
    { unique: ['Person.id'] },
  );
  const read = async () => {
    const given = { id: random() };
    check((await db.query(BY_KEY, given)).one().name, `person ${given.id}`);
  };
  await say('point sync', () =>
    each(rounds, () => {
      const given = { id: random() };
      check(db.querySync(BY_KEY, given).one().name, `person ${given.id}`);
    }),
  );
  await say('point async', () => each(rounds, read));
  await say('point async x 64', () => together(rounds, read));
  let next = 10_000_000;
  const person = () => ({ id: next++, name: 'somebody' });
  await say('create sync', () => each(rounds, () => db.querySync(CREATE, person())));
  await say('create async', () => each(rounds, () => db.query(CREATE, person())));
  await say('create async x 64', () => together(rounds, () => db.query(CREATE, person())));
  await db.close();
  const durable = await own.open(path.join(folder, 'telar'));
  await say('create durable', () => each(rounds / 10, () => durable.query(CREATE, person())));
  await say('create durable x 64', () =>
    together(rounds / 2, () => durable.query(CREATE, person())),
  );
  const n = rowsOf(ROWS);
  await say('rows', async () =>
    seconds(async () => check((await durable.query(TEXTS, { n })).toArray()[n - 1].n, n)),
  );
  await say('stream', async () =>
    seconds(async () => {
      let last = 0;
      for await (const row of durable.stream(TEXTS, { n })) last = row.n;
      check(last, n);
    }),
  );
  await say('stream in batches', async () =>
    seconds(async () => {
      let last = 0;
      for await (const rows of durable.stream(TEXTS, { n }).batches()) last = rows.at(-1).n;
      check(last, n);
    }),
  );
  const frame = rowsOf(FRAME_ROWS);
  const result = await durable.query('UNWIND range(1, $n) AS n RETURN n, n * 0.5 AS half', {
    n: frame,
  });
  await say('arrow', async () =>
    seconds(async () => check((await result.toArrow()).length > 16 * frame, true)),
  );
  const copied = result.toArrowSync();
  await say('a copy of its bytes', async () => seconds(async () => Buffer.from(copied)));
  await durable.close();
}

async function kuzu(folder, say) {
  const own = createRequire(path.join(INSTALLED, 'x.js'))('kuzu');
  const db = new own.Database(path.join(folder, 'kuzu'));
  const connection = new own.Connection(db);
  await connection.query('CREATE NODE TABLE Person(id INT64, name STRING, PRIMARY KEY(id))');
  const csv = path.join(folder, 'persons.csv');
  writeFileSync(
    csv,
    Array.from({ length: rowsOf(PERSONS) }, (_, n) => `${n},person ${n}`).join('\n'),
  );
  await connection.query(`COPY Person FROM '${csv}'`);
  const byKey = await connection.prepare(BY_KEY);
  const byKeySync = connection.prepareSync(BY_KEY);
  await say('point sync', () =>
    each(rounds / 10, () => {
      const given = { id: random() };
      const result = connection.executeSync(byKeySync, given);
      check(result.getNextSync().name, `person ${given.id}`);
      result.close();
    }),
  );
  await say('point async', () =>
    each(rounds / 10, async () => {
      const given = { id: random() };
      const result = await connection.execute(byKey, given);
      check((await result.getNext()).name, `person ${given.id}`);
      result.close();
    }),
  );
  let next = 10_000_000;
  const create = await connection.prepare(CREATE);
  await say('create durable', () =>
    each(rounds / 100, () => connection.execute(create, { id: next++, name: 'somebody' })),
  );
  const n = rowsOf(ROWS);
  const text = `UNWIND range(1, ${n}) AS n RETURN n, 'person number ' + CAST(n AS STRING) AS name`;
  await say('rows', async () =>
    seconds(async () => {
      const result = await connection.query(text);
      const all = await result.getAll();
      check(Number(all[n - 1].n), n);
      result.close();
    }),
  );
}

if (options.run) {
  const folder = mkdtempSync(path.join(INSTALLED, 'run-'));
  const say = async (name, measure) => {
    let figure;
    try {
      figure = await measure();
    } catch (error) {
      figure = `fails: ${error.message}`;
    }
    console.log(`${options.run.padEnd(8)}${name.padEnd(24)}${figure}`);
  };
  await { telar, kuzu }
    [options.run](folder, say)
    .finally(() => rmSync(folder, { recursive: true }));
  process.exit(0);
}

const folder = path.join(ROOT, 'target/node/packages');
const tarball = options.package ?? path.join(folder, readdirSync(folder)[0]);
mkdirSync(INSTALLED, { recursive: true });
if (!existsSync(path.join(INSTALLED, 'package.json'))) {
  writeFileSync(path.join(INSTALLED, 'package.json'), '{"private": true}\n');
}
const engines = options.engines.split(',');
const packages = engines.map((engine) => PACKAGES[engine] ?? path.resolve(tarball));
const npm = ['install', '--silent', '--no-audit', '--no-fund', '--no-save', '--no-package-lock'];
execFileSync('npm', [...npm, '--prefix', INSTALLED, ...packages], { stdio: 'inherit' });
console.log(`Node.js ${process.version}; microseconds for points, seconds for the rest`);
for (const engine of engines) {
  const arguments_ = ['--scale', options.scale, '--rounds', options.rounds, '--run', engine];
  execFileSync(process.execPath, [fileURLToPath(import.meta.url), ...arguments_], {
    stdio: 'inherit',
  });
}
