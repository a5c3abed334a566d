'use strict';

// Sessions, in which statements run.

const { setTimeout: sleep } = require('node:timers/promises');
const { algorithms } = require('./algorithms.js');
const { ClosedError, ConflictError } = require('./errors.js').errors;
const { checked, toError } = require('./errors.js');
const { submit, hub } = require('./hub.js');
const { Load } = require('./load.js');
const native = require('./native.js');
const { abortable, given, options, textOf } = require('./options.js');
const { Result } = require('./result.js');
const { Stream } = require('./stream.js');
const { withArrow, withParameters } = require('./tables.js');
const { Transaction } = require('./transaction.js');

const QUERY = { signal: 'signal', timeout: 'number', bigint: 'boolean' };
const SYNC = { timeout: 'number', bigint: 'boolean' };
const WRITE = { signal: 'signal', timeout: 'number', tries: 'number' };
const LIMITS = {
  timeout: 'number',
  memory: 'number',
  isolation: 'string',
  writeWait: 'number',
  readOnly: 'boolean',
  bigint: 'boolean',
};
const OPENING = {
  durability: 'string',
  memoryLimit: 'number',
  history: 'number',
  checkpointBytes: 'number',
  importFolder: 'string',
  exportFolder: 'string',
  share: 'boolean',
  bigint: 'boolean',
};

/** Longest pause before a transaction that lost a conflict is run again, in milliseconds. */
const PAUSE_MAX = 50;

/** Awaits what the native side does; its failures become errors here, with the caller's stack. */
async function finished(start) {
  try {
    return await submit(start);
  } catch (error) {
    throw toError(error);
  }
}

/** Statements of a database that were not finished yet, for closing. */
class Busy {
  count = 0;
  closing = false;
  idle = null;

  async during(work) {
    if (this.closing) throw new ClosedError('the database is closed: open it again');
    this.count++;
    try {
      return await work();
    } finally {
      this.count--;
      if (this.count === 0) this.idle?.();
    }
  }

  /** Refuses new statements, and waits for those that run. */
  async close() {
    this.closing = true;
    if (this.count > 0) await new Promise((resolve) => (this.idle = resolve));
  }
}

/** Settings under which statements run. It holds nothing that must be closed. */
class Session {
  #native;
  #bigint;
  #reading = null;
  #busy;

  constructor(own, bigint, busy) {
    this.#native = own;
    this.#bigint = bigint;
    this.#busy = busy;
  }

  static nativeOf(session) {
    return session.#native;
  }

  /** The same session with other settings. */
  session(limits) {
    const { bigint = this.#bigint, ...rest } = options('session', limits, LIMITS);
    return new Session(checked(this.#native.session(given(rest))), bigint, this.#busy);
  }

  /**
   * Runs a statement as a transaction of its own, on a thread, and resolves to its result once it
   * is committed. One that lost a conflict is run again.
   */
  async query(text, parameters, its) {
    const { signal, timeout, bigint = this.#bigint } = options('query', its, QUERY);
    textOf(text);
    const token = signal || timeout != null ? new native.Token(timeout) : null;
    const start = (own, number) =>
      withParameters(parameters, (bytes, tables) =>
        this.#native.query(own, number, text, bytes, tables, token),
      );
    try {
      const held = await this.#busy.during(() =>
        abortable(
          signal,
          () => token.cancel(),
          () => withArrow(() => submit(start)),
        ),
      );
      return new Result(held, bigint);
    } catch (error) {
      throw toError(error);
    }
  }

  /** Runs a statement, and returns its result when it is done: for short ones. */
  querySync(text, parameters, its) {
    const { timeout, bigint = this.#bigint } = options('querySync', its, SYNC);
    textOf(text);
    const token = timeout != null ? new native.Token(timeout) : null;
    const answer = withParameters(parameters, (bytes, tables) =>
      this.#native.querySync(text, bytes, tables, token),
    );
    return new Result(checked(answer), bigint);
  }

  /** Runs a statement and hands its rows on as they come. */
  stream(text, parameters, its) {
    const { signal, timeout, bigint = this.#bigint } = options('stream', its, QUERY);
    textOf(text);
    const token = timeout != null ? new native.Token(timeout) : null;
    const open = (arrow) =>
      withParameters(parameters, (bytes, tables) =>
        checked(this.#native.stream(text, bytes, tables, token, arrow)),
      );
    return new Stream(open, bigint, signal);
  }

  /** Begins a transaction of several statements. It never waits. */
  begin(its) {
    const { timeout } = options('begin', its, { timeout: 'number' });
    if (this.#busy.closing) throw new ClosedError('the database is closed: open it again');
    return new Transaction(checked(this.#native.begin(timeout)), this.#bigint);
  }

  /**
   * Calls `work` with a transaction and commits; again, with a new one, as long as it loses
   * conflicts, `tries` times at most. Resolves to what `work` returned.
   */
  async write(work, its) {
    const { signal, timeout, tries = 30 } = options('write', its, WRITE);
    if (typeof work !== 'function') throw new TypeError('write takes a function of a transaction');
    for (let attempt = 1, pause = 1; ; attempt++, pause = Math.min(2 * pause, PAUSE_MAX)) {
      signal?.throwIfAborted();
      const tx = this.begin({ timeout });
      try {
        const value = await work(tx);
        if (tx.open) await tx.commit();
        return value;
      } catch (error) {
        await tx.rollback();
        if (attempt >= tries || !(error instanceof ConflictError)) throw error;
      }
      await sleep(pause, undefined, { signal });
    }
  }

  /** As `write`, for a transaction that only reads: everything in it sees the same state. */
  async read(work, its) {
    this.#reading ??= this.session({ readOnly: true });
    return this.#reading.write(work, its);
  }

  /** Graph algorithms as methods. */
  get algo() {
    return algorithms(this);
  }
}

const { nativeOf } = Session;
delete Session.nativeOf;

/** An open database: a session with default settings. */
class Database extends Session {
  #busy;
  #native;
  #closed = null;

  constructor(own, bigint, busy) {
    super(own, bigint, busy);
    this.#native = own;
    this.#busy = busy;
  }

  /** The folder of the database; null in memory. */
  get path() {
    return this.#native.path();
  }

  /** Whether this process has the database open itself; false where it asks another one. */
  get isOwner() {
    return checked(this.#native.isOwner());
  }

  /** Whether it was closed. */
  get closed() {
    return this.#busy.closing || this.#native.closed();
  }

  /**
   * Waits for statements that run, rolls back transactions and ends streams that are open, writes
   * a checkpoint and closes the database, or lets go of it where another process has it.
   */
  close() {
    this.#closed ??= this.#busy
      .close()
      .then(() => finished((own, number) => this.#native.close(own, number)));
    return this.#closed.then(() => undefined);
  }

  /** The same, at once: statements that run on threads are waited for, for some seconds at most. */
  closeSync() {
    this.#busy.closing = true;
    checked(this.#native.closeSync());
  }

  /** Writes a checkpoint: the log before it is not needed any more. */
  async checkpoint() {
    await finished((own, number) => this.#native.checkpoint(own, number));
  }

  /** Copies the database into a new folder while it is used. */
  async backup(path) {
    if (typeof path !== 'string') throw new TypeError('backup takes the path of a new folder');
    await finished((own, number) => this.#native.backup(own, number, path));
  }

  /** Begins a load of tables that come in together. */
  load(its) {
    return new Load(this.#native, its);
  }

  /** Makes a node of each row of a table, as one commit. Resolves to the report. */
  async createNodes(labels, table, its) {
    const load = await withArrow(() => this.load(its).nodes(labels, table));
    return load.commit();
  }

  /** Makes a relationship of each row of a table, as one commit. Resolves to the report. */
  async createRelationships(type, table, { badRows, ...ends } = {}) {
    const add = () => this.load({ badRows }).relationships(type, table, ends);
    return (await withArrow(add)).commit();
  }
}

if (Symbol.dispose) {
  Database.prototype[Symbol.dispose] = Database.prototype.closeSync;
  Database.prototype[Symbol.asyncDispose] = Database.prototype.close;
}

function opening(path, its) {
  if (path !== undefined && path !== null && typeof path !== 'string') {
    throw new TypeError('open takes the path of a folder, or null for a database in memory');
  }
  const { bigint = false, ...rest } = options('open', its, OPENING);
  return { path: path ?? null, bigint, settings: given(rest) };
}

/** Opens a database: in a folder, made if there is none, or without a path in memory. */
async function open(path, its) {
  const { path: folder, bigint, settings } = opening(path, its);
  const own = await finished((to, number) => native.Database.open(to, number, folder, settings));
  return new Database(own, bigint, new Busy());
}

/** The same, at once. */
function openSync(path, its) {
  const { path: folder, bigint, settings } = opening(path, its);
  return new Database(checked(native.Database.openSync(hub, folder, settings)), bigint, new Busy());
}

module.exports = { Database, Session, open, openSync, nativeOf };
