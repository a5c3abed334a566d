// Values, as parameters and in results.

import assert from 'node:assert/strict';
import test from 'node:test';
import fc from 'fast-check';
import telar, {
  Duration,
  Float,
  LocalDate,
  LocalDateTime,
  LocalTime,
  Point,
  Vector,
  ZonedDateTime,
  ZonedTime,
} from 'telar';

const db = telar.openSync();
const back = (value, options) => db.querySync('RETURN $v AS v', { v: value }, options).value();
const INT_MIN = -(2n ** 63n);
const INT_MAX = 2n ** 63n - 1n;

const ints = fc.oneof(
  fc.maxSafeInteger().map((n) => (n === 0 ? 0 : n)),
  fc.constantFrom(0, 1, -1, Number.MAX_SAFE_INTEGER, Number.MIN_SAFE_INTEGER),
);
const bigs = fc
  .bigInt({ min: INT_MIN, max: INT_MAX })
  .filter((n) => n > BigInt(Number.MAX_SAFE_INTEGER) || n < BigInt(Number.MIN_SAFE_INTEGER));
const floats = fc.oneof(fc.double(), fc.constantFrom(NaN, Infinity, -Infinity, -0, 1e300, 5e-324));
const texts = fc.oneof(
  fc.string({ unit: 'grapheme' }),
  fc.string({ maxLength: 60 }),
  fc.constantFrom('', 'é', '\u{1F9F6}', 'a'.repeat(100), '\0', 'Köln am Rhein', 'x'.repeat(12)),
);
const bytes = fc.uint8Array({ maxLength: 40 });
const days = fc.integer({ min: -3_000_000, max: 3_000_000 });
const nanos = fc
  .integer({ min: 0, max: 86_399_999 })
  .chain((ms) => fc.integer({ min: 0, max: 999_999 }).map((rest) => ms * 1_000_000 + rest));
const offsets = fc.integer({ min: -18 * 60, max: 18 * 60 }).map((minutes) => minutes * 60);
const made = (type, fields) => Object.assign(Object.create(type.prototype), fields);
const times = fc.oneof(
  days.map((epochDay) => made(LocalDate, { epochDay })),
  nanos.map((nanosecondOfDay) => made(LocalTime, { nanosecondOfDay })),
  fc
    .tuple(nanos, offsets)
    .map(([nanosecondOfDay, offset]) => made(ZonedTime, { nanosecondOfDay, offset })),
  fc
    .tuple(days, nanos)
    .map(([epochDay, nanosecondOfDay]) => made(LocalDateTime, { epochDay, nanosecondOfDay })),
  fc
    .tuple(days, nanos, offsets)
    .map(([epochDay, nanosecondOfDay, offset]) =>
      made(ZonedDateTime, { epochDay, nanosecondOfDay, offset, zone: null }),
    ),
  fc
    .tuple(fc.integer(), fc.integer(), fc.integer(), fc.integer({ min: 0, max: 999_999_999 }))
    .map(
      ([months, d, seconds, nanoseconds]) =>
        new Duration({ months, days: d, seconds, nanoseconds }),
    ),
);
// Coordinates know no zero with a sign.
const within = (max) => fc.double({ noNaN: true, min: -max, max }).map((x) => (x === 0 ? 0 : x));
const finite = within(1e6);
const points = fc.oneof(
  fc.tuple(finite, finite).map(([x, y]) => new Point(x, y)),
  fc.tuple(finite, finite, finite).map(([x, y, z]) => new Point(x, y, z)),
  fc.tuple(within(180), within(90)).map(([x, y]) => new Point(x, y, null, 4326)),
);
const vectors = fc.oneof(
  fc.float32Array({ minLength: 1, maxLength: 4, noNaN: true, noDefaultInfinity: true }),
  fc.float64Array({ minLength: 1, maxLength: 4, noNaN: true, noDefaultInfinity: true }),
  fc.int8Array({ minLength: 1, maxLength: 4 }),
  fc.int16Array({ minLength: 1, maxLength: 4 }),
  fc.int32Array({ minLength: 1, maxLength: 4 }),
  fc.bigInt64Array({ minLength: 1, maxLength: 4 }),
).map((all) => new Vector(all));
const keys = fc.oneof(fc.string(), fc.constantFrom('__proto__', 'constructor', 'a b', '1', ''));
const leaf = fc.oneof(
  fc.constant(null),
  fc.boolean(),
  ints,
  bigs,
  floats,
  texts,
  bytes,
  times,
  points,
  vectors,
);
const { tree } = fc.letrec((tie) => ({
  tree: fc.oneof(
    { depthSize: 'small', withCrossShrink: true },
    leaf,
    fc.array(tie('tree'), { maxLength: 5 }),
    fc.dictionary(keys, tie('tree'), { maxKeys: 5 }).map((map) => ({ ...map })),
  ),
}));

/** A map with its keys in the order of the database. */
function sorted(value) {
  if (Array.isArray(value)) return value.map(sorted);
  if (
    value === null ||
    typeof value !== 'object' ||
    Object.getPrototypeOf(value) !== Object.prototype
  ) {
    return value;
  }
  return new Map(
    Object.keys(value)
      .sort()
      .map((key) => [key, sorted(value[key])]),
  );
}

for (const [name, values] of Object.entries({
  ints,
  bigs,
  floats,
  texts,
  bytes,
  times,
  points,
  tree,
})) {
  test(`random ${name} come back as they were`, () => {
    fc.assert(
      fc.property(values, (value) => assert.deepStrictEqual(sorted(back(value)), sorted(value))),
      { numRuns: 400 },
    );
  });
}

test('columns of random values come back, whatever is in them', () => {
  fc.assert(
    fc.property(
      fc.constantFrom(ints, bigs, fc.oneof(ints, bigs), floats, texts, fc.boolean(), bytes, leaf),
      fc.context(),
      (kind) => {
        for (const nulls of [false, true]) {
          const some = nulls ? fc.option(kind) : kind;
          const [list] = fc.sample(fc.array(some, { maxLength: 60 }), 1);
          // A list of whole and other numbers has one type in JavaScript and two in Cypher.
          const result = db.querySync('UNWIND $l AS x RETURN x', { l: list });
          assert.deepStrictEqual(result.values(), list);
          assert.deepStrictEqual(
            result.toArray().map((row) => row.x),
            list,
          );
        }
      },
    ),
    { numRuns: 150 },
  );
});

test('values are stored and read again', () => {
  fc.assert(
    fc.property(fc.oneof(ints, bigs, floats, texts, bytes, times, points), (value) => {
      const written = db.querySync('CREATE (n:V {v: $v}) RETURN n', { v: value }).value();
      assert.deepStrictEqual(written.properties, { v: value });
      db.querySync('MATCH (n:V) DELETE n');
    }),
    { numRuns: 200 },
  );
});

test('integers are numbers where those are safe', () => {
  assert.equal(back(9007199254740991n), 9007199254740991);
  assert.equal(back(9007199254740992n), 9007199254740992n);
  assert.equal(back(INT_MIN), INT_MIN);
  assert.equal(back(1, { bigint: true }), 1n);
  assert.deepEqual(back([1, 2.5, { a: 3 }], { bigint: true }), [1n, 2.5, { a: 3n }]);
  const all = db.querySync('UNWIND [1, null, 3] AS n RETURN n', null, { bigint: true }).values();
  assert.deepEqual(all, [1n, null, 3n]);
  assert.equal(db.session({ bigint: true }).querySync('RETURN 7').value(), 7n);
  assert.equal(telar.openSync(null, { bigint: true }).querySync('RETURN 7').value(), 7n);
});

test('whole numbers are integers, others floats, and it can be said', () => {
  const type = (v) => db.querySync('RETURN valueType($v)', { v }).value().split(' ')[0];
  assert.equal(type(3), 'INTEGER');
  assert.equal(type(3n), 'INTEGER');
  assert.equal(type(new Float(3)), 'FLOAT');
  assert.equal(type(-0), 'FLOAT');
  assert.equal(type(2 ** 53), 'FLOAT');
  assert.equal(type(NaN), 'FLOAT');
});

test('other forms of values', () => {
  assert.equal(back(undefined), null);
  assert.deepEqual(back([undefined, { a: undefined }]), [null, { a: null }]);
  assert.deepEqual(back(new Map([['a', new Set([1, 2])]])), { a: [1, 2] });
  assert.deepEqual(back(new Float64Array([1, 2.5])), [1, 2.5]);
  assert.deepEqual(back(new Int32Array([1, -2])), [1, -2]);
  assert.deepEqual(back(new BigInt64Array([1n, INT_MIN])), [1, INT_MIN]);
  assert.deepEqual(back(Buffer.from('abc')), new Uint8Array([97, 98, 99]));
  assert.deepEqual(back(new Uint8Array([1, 2]).buffer), new Uint8Array([1, 2]));
  assert.equal(back(new String('text')), 'text');
  class Person {
    constructor() {
      this.name = 'Ada';
    }
  }
  assert.deepEqual(back(new Person()), { name: 'Ada' });
  assert.deepEqual(back(Object.assign(Object.create(null), { a: 1 })), { a: 1 });
  assert.equal(
    db
      .querySync(
        'RETURN $a + $b',
        new Map([
          ['a', 1],
          ['b', 2],
        ]),
      )
      .value(),
    3,
  );
  assert.equal(Object.getPrototypeOf(back({ ['__proto__']: 1 })), Object.prototype);
});

test('what is no value is refused, with its place', () => {
  const refuses = (value, type, message) =>
    assert.throws(() => back(value), { name: type, message });
  refuses(() => {}, 'TypeError', 'parameter v is a function, which is no value of Cypher');
  refuses(
    { a: [1, { 'b c': Symbol('x') }] },
    'TypeError',
    'parameter v.a[1]["b c"] is a symbol, which is no value of Cypher',
  );
  refuses([Promise.resolve(1)], 'TypeError', 'parameter v[0] is a Promise: await it first');
  refuses({ a: /x/ }, 'TypeError', 'parameter v.a is a RegExp, which is no value of Cypher');
  refuses(new Map([[1, 2]]), 'TypeError', 'keys of parameter v are strings, and 1 is not');
  const cyclic = { list: [] };
  cyclic.list.push(cyclic);
  refuses(cyclic, 'TypeError', 'parameter v.list[0] is within itself');
  const set = new Set();
  set.add(set);
  refuses(set, 'TypeError', 'parameter v[0] is within itself');
  refuses(
    { n: [2n ** 63n] },
    'RangeError',
    'parameter v.n[0] is 9223372036854775808, and integers have 64 bits',
  );
  refuses(
    new BigUint64Array([2n ** 63n]),
    'RangeError',
    'parameter v[0] is 9223372036854775808, and integers have 64 bits',
  );
  refuses(['\ud800'], 'TypeError', /^parameter v\[0\] is a string with half a character/);
  refuses(new Date(NaN), 'RangeError', 'parameter v is an invalid Date');
  let deep = [];
  for (let n = 0; n < 300; n++) deep = [deep];
  refuses(deep, 'RangeError', /is within more than 200 arrays and objects/);
  const node = db.querySync('CREATE (n) RETURN n').value();
  refuses(node, 'TypeError', /^parameter v is a node, relationship or path/);
  assert.throws(() => db.querySync('RETURN 1', [1]), TypeError);
  assert.throws(() => db.querySync('RETURN 1', 'x'), TypeError);
  assert.throws(() => db.querySync(1), TypeError);
});

test('parameters may use the database while they are read', () => {
  const odd = {
    get inner() {
      return db.querySync('RETURN $x AS x', { x: 'y'.repeat(100) }).value();
    },
  };
  assert.deepEqual(back([1, odd, 2]), [1, { inner: 'y'.repeat(100) }, 2]);
});

test('dates and times', () => {
  const date = new LocalDate(2024, 2, 29);
  assert.deepEqual([date.year, date.month, date.day, `${date}`], [2024, 2, 29, '2024-02-29']);
  assert.deepEqual(back(date), date);
  assert.deepEqual(LocalDate.parse('2024-02-29'), date);
  assert.throws(() => new LocalDate(2023, 2, 29), RangeError);
  assert.throws(() => LocalDate.parse('nonsense'), RangeError);
  const time = new LocalTime(12, 30, 5, 1);
  assert.deepEqual([time.hour, time.minute, time.second, time.nanosecond], [12, 30, 5, 1]);
  assert.equal(`${back(time)}`, '12:30:05.000000001');
  assert.equal(`${back(new ZonedTime(time, 3600))}`, '12:30:05.000000001+01:00');
  const local = new LocalDateTime(1815, 12, 10, 6);
  assert.equal(
    `${back(local)}`,
    `${db.querySync("RETURN toString(localdatetime('1815-12-10T06:00'))").value()}`,
  );
  const moment = db.querySync("RETURN datetime('2024-07-01T12:00[Europe/Berlin]') AS t").value();
  assert.deepEqual([moment.zone, moment.offset], ['Europe/Berlin', 7200]);
  assert.equal(moment.toDate().toISOString(), '2024-07-01T10:00:00.000Z');
  assert.equal(moment.epochNanoseconds, BigInt(moment.epochMilliseconds) * 1_000_000n);
  assert.deepEqual(back(moment), moment);
  assert.deepEqual(ZonedDateTime.parse(`${moment}`), moment);
  const now = new Date();
  assert.deepEqual(back(now).toDate(), now);
  assert.deepEqual(back(new Date(-1)).toDate(), new Date(-1));
  assert.equal(JSON.stringify({ date }), '{"date":"2024-02-29"}');
});

test('dates are those of the calendar', () => {
  fc.assert(
    fc.property(days, (epochDay) => {
      const date = made(LocalDate, { epochDay });
      const row = db
        .querySync('RETURN $d.year AS y, $d.month AS m, $d.day AS d', { d: date })
        .one();
      assert.deepEqual(row, { y: date.year, m: date.month, d: date.day });
      assert.deepEqual(new LocalDate(row.y, row.m, row.d), date);
    }),
    { numRuns: 300 },
  );
});

test('durations', () => {
  const duration = new Duration({ months: 14, seconds: 90, nanoseconds: 5 });
  assert.equal(`${duration}`, 'P1Y2MT1M30.000000005S');
  assert.deepEqual(back(duration), duration);
  assert.deepEqual(Duration.parse('P1Y2MT1M30.000000005S'), duration);
  assert.throws(() => new Duration({ weeks: 1 }), TypeError);
  assert.throws(() => new Duration({ days: 1.5 }), RangeError);
});

test('points', () => {
  const point = db.querySync('RETURN point({longitude: 8.9, latitude: 48.4}) AS p').value();
  assert.deepEqual([point.x, point.y, point.z, point.srid], [8.9, 48.4, null, 4326]);
  assert.throws(() => new Point(1, 2, 3, 4326), RangeError);
  assert.throws(() => new Point(1, 2, null, 1), RangeError);
  assert.throws(() => new Point('1', 2), TypeError);
});

test('vectors', () => {
  const made = db.querySync('RETURN vector([1, -2], 2, INT8) AS v').value();
  assert.deepEqual([made.coordinates, made.coordinateType, made.dimension], [Int8Array.of(1, -2), 'INTEGER8', 2]);
  const part = new Float32Array([9, 1, 2, 9]).subarray(1, 3);
  assert.deepEqual(back(new Vector(part)), new Vector(Float32Array.of(1, 2)));
  const typed = db.querySync('RETURN $v IS :: VECTOR<FLOAT>(1) AS is', { v: new Vector(Float64Array.of(1)) });
  assert.equal(typed.value(), true);
  assert.throws(() => new Vector([1, 2]), TypeError);
  assert.throws(() => new Vector(Uint8Array.of(1)), TypeError);
  assert.throws(() => back(new Vector(Float32Array.of(NaN))));
});

test('nodes, relationships and paths', () => {
  const own = telar.openSync();
  const path = own
    .querySync(
      "CREATE p = (:Person:Poet {name: 'Ada', __proto__: 1})-[:KNOWS {since: 1840}]->(:Person) RETURN p",
    )
    .value();
  assert.ok(path instanceof telar.Path && path.length === 1);
  const [ada, bob] = path.nodes;
  assert.ok(ada instanceof telar.Node);
  assert.deepEqual(ada.labels, ['Person', 'Poet']);
  assert.deepEqual(Object.entries(ada.properties).sort(), [
    ['__proto__', 1],
    ['name', 'Ada'],
  ]);
  const [knows] = path.relationships;
  assert.deepEqual([knows.type, knows.properties], ['KNOWS', { since: 1840 }]);
  assert.deepEqual([knows.startId, knows.endId], [ada.id, bob.id]);
  const ids = own.querySync('MATCH (a)-[r]->() RETURN id(a), elementId(a), id(r), elementId(r)');
  assert.deepEqual(ids.tuples(), [[ada.id, ada.elementId, knows.id, knows.elementId]]);
  const graph = own.querySync('MATCH (a)-[r]->(b) RETURN [a, {r: r}] AS x, b').graph();
  assert.deepEqual(graph.nodes, [ada, bob]);
  assert.deepEqual(graph.relationships, [knows]);
});
