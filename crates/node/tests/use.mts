// Programs that TypeScript takes; each line that it must refuse says so.

import telar, {
  ConflictError,
  Database,
  Node,
  Result,
  Stream,
  Transaction,
  open,
  openSync,
  type Parameters,
  type Settings,
  type Value,
} from 'telar';
import { tableFromArrays, tableFromIPC } from 'apache-arrow';

const settings: Settings = { durability: 'async', history: 1000, bigint: true };
const db: Database = await open('folder', settings);
const memory: Database = openSync(null);
// @ts-expect-error: no such durability
await open(null, { durability: 'maybe' });
// @ts-expect-error: databases are opened
new Database();

interface Person {
  name: string;
  born: number;
}
const result: Result<Person> = await db.query<Person>('MATCH (p) RETURN p.name AS name', { a: 1 });
for (const { name, born } of result) console.log(name.toUpperCase(), born.toFixed());
for await (const row of result) console.log(row.name);
const rows: Person[] = result.toArray();
const born: number[] = result.values<number>('born');
const count: number = memory.querySync('RETURN 1').value();
// @ts-expect-error: a row has no such column
console.log(rows[0]?.height.x);
console.log(born, count, result.counters['nodesCreated'], result.at(0)?.name, result.one().born);

const parameters: Parameters = {
  nothing: undefined,
  big: 1n,
  at: new Date(),
  bytes: new Uint8Array(1),
  nested: { list: [1, 'two', [null, true]], set: new Set([1]), map: new Map([['a', 1]]) },
  day: new telar.LocalDate(2024, 2, 29),
  float: new telar.Float(3),
  table: tableFromArrays({ n: [1, 2] }),
  result,
};
await db.query('RETURN $big', parameters, { signal: AbortSignal.timeout(5), timeout: 5 });
// @ts-expect-error: functions are no values
await db.query('RETURN $f', { f: () => 1 });
// @ts-expect-error: symbols are no values
await db.query('RETURN $f', { f: [Symbol('x')] });
// @ts-expect-error: there is no such option
await db.query('RETURN 1', {}, { wait: 5 });
// @ts-expect-error: what runs on this thread cannot be aborted
memory.querySync('RETURN 1', {}, { signal: AbortSignal.timeout(5) });

const stream: Stream<{ n: number }> = db.stream<{ n: number }>('UNWIND [1] AS n RETURN n');
for await (const { n } of stream) console.log(n.toFixed());
for await (const batch of db.stream('RETURN 1').batches()) console.log(batch.length);
for await (const part of db.stream('RETURN 1').arrow()) console.log(part.byteLength);
const kind: 'read' | 'write' | 'read write' | 'schema' | undefined = stream.summary?.kind;

const answer: string = await db.write(async (tx: Transaction) => {
  await tx.query('CREATE ()');
  return 'done';
});
const same: number = await db.read((tx) => tx.querySync('RETURN 1').value<number>(), { tries: 2 });
const tx = db.begin({ timeout: 100 });
const at: number = await tx.commit();

const table = tableFromIPC(await result.toArrow());
console.log(kind, answer, same, at, table.numRows);
await db.createNodes('N', { id: [1, 2], at: [new Date(), null] }, { unique: ['N.id'] });
await db.createNodes(['N', 'M'], [{ id: 1 }], { badRows: 1 });
await db.createNodes('N', table);
await db.createRelationships('R', { a: [1], b: [2] }, { src: 'a', dst: 'b', label: 'N' });
// @ts-expect-error: where they lead to is missing
await db.createRelationships('R', { a: [1] }, { src: 'a' });
const report = await db
  .load()
  .nodes('N', [{ id: 1 }])
  .commit();
console.log(report.rejected[0]?.reason);

const ranks: Result = await db.algo.pageRank({ nodes: 'N', key: 'id', dampingFactor: 0.9 });
const stats: Result = await db.algo.wcc.stats({}, { timeout: 100 });

function show(value: Value): string {
  if (value instanceof Node) return value.labels.join();
  if (value instanceof telar.ZonedDateTime) return value.toDate().toISOString();
  if (typeof value === 'bigint') return value.toString();
  return String(value);
}
console.log(show(ranks.values<Value>()[0] ?? null), stats.length);

try {
  await db.query('RETRUN');
} catch (error) {
  if (error instanceof ConflictError) console.log(error.code?.length, error.line);
}
{
  await using own = await open();
  using other = openSync();
  console.log(own.path, other.closed);
}
