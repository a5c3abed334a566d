'use strict';

// The whole result of a statement.

const { decodeChunk, makeRow, rowsInAll } = require('./decode.js');
const { toError, checked } = require('./errors.js');
const { submit } = require('./hub.js');
const { INSPECT } = require('./temporal.js');

/** The summary that the native side gives of a statement, with its counters as an object. */
function summaryOf(told) {
  const { kind, timestamp, plan, notifications } = told;
  const counters = {};
  for (const { name, count } of told.counters) counters[camel(name)] = count;
  return { kind, counters, timestamp, plan: plan ?? null, notifications };
}

/** `nodes_created` as `nodesCreated`. */
function camel(name) {
  return name.replace(/_(.)/g, (_, letter) => letter.toUpperCase());
}

/** The whole result of a statement, held as columns outside of JavaScript's memory. */
class Result {
  #held;
  #bigint;
  /** Bytes of the first rows, until they are looked at. */
  #bytes;
  #first = null;
  #summary = null;

  constructor(held, bigint) {
    this.#held = held;
    this.#bigint = bigint;
    this.#bytes = held.chunk(0);
    this.length = rowsInAll(this.#bytes);
  }

  static heldOf(result) {
    return result.#held;
  }

  /** Names of the columns. */
  get columns() {
    return this.#chunk(0).names;
  }

  get #told() {
    return (this.#summary ??= summaryOf(this.#held.told()));
  }

  /** Counts of changes by name, those that are not 0. */
  get counters() {
    return this.#told.counters;
  }

  /** The kind of statement, by the changes it may make: 'read', 'write', 'read write' or 'schema'. */
  get kind() {
    return this.#told.kind;
  }

  /** The commit timestamp: of what was committed, or of the state that was read. */
  get timestamp() {
    return this.#told.timestamp;
  }

  /** The plan as text, for statements that begin with EXPLAIN or PROFILE. */
  get plan() {
    return this.#told.plan;
  }

  /** Remarks on the statement: what is probably not meant as it is written. */
  get notifications() {
    return this.#told.notifications;
  }

  #chunk(from) {
    if (from > 0) return decodeChunk(this.#held.chunk(from), this.#bigint);
    if (this.#first === null) {
      this.#first = decodeChunk(this.#bytes, this.#bigint);
      this.#bytes = null;
    }
    return this.#first;
  }

  /** Chunks of rows, each with the number of its first row. */
  *#chunks() {
    for (let from = 0; from < this.length;) {
      const chunk = this.#chunk(from);
      yield chunk;
      from += chunk.rows;
    }
  }

  *[Symbol.iterator]() {
    const names = this.columns;
    for (const { rows, columns } of this.#chunks()) {
      for (let row = 0; row < rows; row++) yield makeRow(names, columns, row);
    }
  }

  async *[Symbol.asyncIterator]() {
    for (const row of this) yield row;
  }

  /** All rows, as objects. */
  toArray() {
    const names = this.columns;
    const all = new Array(this.length);
    let at = 0;
    for (const { rows, columns } of this.#chunks()) {
      for (let row = 0; row < rows; row++) all[at++] = makeRow(names, columns, row);
    }
    return all;
  }

  /** All rows, as arrays in the order of the columns. */
  tuples() {
    const all = [];
    for (const { rows, columns } of this.#chunks()) {
      for (let row = 0; row < rows; row++) all.push(columns.map((column) => column[row]));
    }
    return all;
  }

  /** The row of a number, from the end if it is negative; undefined if there is none. */
  at(row) {
    const index = row < 0 ? this.length + row : row;
    if (!Number.isInteger(index) || index < 0 || index >= this.length) return undefined;
    const first = this.#chunk(0);
    if (index < first.rows) return makeRow(this.columns, first.columns, index);
    return makeRow(this.columns, this.#chunk(index).columns, 0);
  }

  /** The only row; an error if there is another number of them. */
  one() {
    if (this.length !== 1) throw new RangeError(`the result has ${this.length} rows, not one`);
    return this.at(0);
  }

  /** The value in the only row and column; an error if there is more, or none. */
  value() {
    const { columns } = this.#chunk(0);
    if (this.length !== 1 || columns.length !== 1) {
      const text = `the result has ${this.length} rows and ${columns.length} columns`;
      throw new RangeError(`${text}, not one of each`);
    }
    return columns[0][0];
  }

  /** The values of one column, by its name or number; without either, of the first. */
  values(column = 0) {
    const names = this.columns;
    const at = typeof column === 'string' ? names.indexOf(column) : column;
    if (!Number.isInteger(at) || at < 0 || at >= names.length) {
      throw new RangeError(`no column is ${column}; there are ${names.join(', ') || 'none'}`);
    }
    const all = new Array(this.length);
    let next = 0;
    for (const { rows, columns } of this.#chunks()) {
      for (let row = 0; row < rows; row++) all[next++] = columns[at][row];
    }
    return all;
  }

  /** All nodes and relationships of the result, each once. */
  graph() {
    const [[nodes], [relationships]] = decodeChunk(this.#held.graph(), this.#bigint).columns;
    return { nodes, relationships };
  }

  /** The result as Arrow IPC, a stream: made on a thread, handed over without a copy. */
  async toArrow() {
    try {
      return await submit((hub, number) => this.#held.arrow(hub, number));
    } catch (error) {
      throw toError(error);
    }
  }

  /** As toArrow, at once. */
  toArrowSync() {
    return checked(this.#held.arrowSync());
  }

  [INSPECT](depth, options, inspect) {
    const shown = [];
    for (const row of this) {
      if (shown.length === 3) break;
      shown.push(row);
    }
    const more = this.length > 3 ? ` and ${this.length - 3} more rows` : '';
    const head = `Result(${this.length}) [${this.columns.join(', ')}]`;
    return depth < 0 ? head : `${head} ${inspect(shown, options)}${more}`;
  }
}

const { heldOf } = Result;
delete Result.heldOf;

module.exports = { Result, heldOf, summaryOf };
