'use strict';

// Several statements in one transaction.

const { toError, checked } = require('./errors.js');
const { submit } = require('./hub.js');
const { abortable, options, textOf } = require('./options.js');
const { Result } = require('./result.js');
const { withArrow, withParameters } = require('./tables.js');

const QUERY = { signal: 'signal', bigint: 'boolean' };
const nothing = () => {};

/**
 * Several statements that are committed together or not at all; each sees what those before it did.
 * Statements that are not awaited run one after the other.
 */
class Transaction {
  #native;
  #bigint;
  #last = Promise.resolve();

  constructor(native, bigint) {
    this.#native = native;
    this.#bigint = bigint;
  }

  /** Runs `work` after everything that was asked for before it. */
  async #after(work) {
    const before = this.#last;
    const done = before.then(work);
    this.#last = done.then(nothing, nothing);
    try {
      return await done;
    } catch (error) {
      throw toError(error);
    }
  }

  /** Runs a statement. */
  async query(text, parameters, given) {
    const { signal, bigint = this.#bigint } = options('query', given, QUERY);
    textOf(text);
    const start = (hub, number) =>
      withParameters(parameters, (bytes, tables) =>
        this.#native.query(hub, number, text, bytes, tables),
      );
    const held = await this.#after(() =>
      abortable(
        signal,
        () => this.#native.cancel(),
        () => withArrow(() => submit(start)),
      ),
    );
    return new Result(held, bigint);
  }

  /** Runs a statement, and returns when it is done. */
  querySync(text, parameters, given) {
    const { bigint = this.#bigint } = options('querySync', given, { bigint: 'boolean' });
    textOf(text);
    const answer = withParameters(parameters, (bytes, tables) =>
      this.#native.querySync(text, bytes, tables),
    );
    return new Result(checked(answer), bigint);
  }

  /** Commits, and returns the commit timestamp. */
  commit() {
    return this.#after(() => submit((hub, number) => this.#native.commit(hub, number)));
  }

  commitSync() {
    return checked(this.#native.commitSync());
  }

  /** Undoes everything. Does nothing if it is not open any more. */
  async rollback() {
    await this.#after(() => submit((hub, number) => this.#native.rollback(hub, number)));
  }

  rollbackSync() {
    checked(this.#native.rollbackSync());
  }

  /** Whether it is neither committed nor rolled back. */
  get open() {
    const state = this.#native.state();
    return state === 'open' || state === 'busy';
  }
}

if (Symbol.dispose) {
  Transaction.prototype[Symbol.asyncDispose] = Transaction.prototype.rollback;
  Transaction.prototype[Symbol.dispose] = Transaction.prototype.rollbackSync;
}

module.exports = { Transaction };
