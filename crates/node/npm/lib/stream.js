'use strict';

// The rows of a statement as they come.

const { decodeChunk, makeRow } = require('./decode.js');
const { ClosedError } = require('./errors.js').errors;
const { toError, checked } = require('./errors.js');
const { submitOr } = require('./hub.js');
const { summaryOf } = require('./result.js');
const { withArrow } = require('./tables.js');

/**
 * Rows of a statement that runs on a thread, a few batches ahead of who reads them. It begins when
 * the first row is asked for, and ends with its last row, with `break`, or when it is closed.
 */
class Stream {
  #open;
  #native = null;
  #arrow = false;
  #bigint;
  #signal;
  #abort;
  #names = [];
  #batch = null;
  #row = 0;
  #ended = false;

  constructor(open, bigint, signal) {
    this.#open = open;
    this.#bigint = bigint;
    this.#signal = signal;
    this.#abort = () => this.#native?.close();
  }

  async #begin(arrow) {
    if (this.#ended) throw new ClosedError('the stream is read to its end, or closed');
    if (this.#native === null) {
      this.#signal?.throwIfAborted();
      this.#native = await withArrow(() => this.#open(arrow));
      this.#arrow = arrow;
      this.#signal?.addEventListener('abort', this.#abort, { once: true });
    } else if (this.#arrow !== arrow) {
      throw new ClosedError('a stream is read as rows or as Arrow, not as both');
    }
  }

  /** Bytes of the next batch; null at the end. */
  async #pull(arrow) {
    if (this.#ended) return null;
    if (this.#native === null || this.#arrow !== arrow) await this.#begin(arrow);
    try {
      const next = await submitOr((hub, number) => {
        const now = checked(this.#native.pull(hub, number));
        return now === true ? undefined : now;
      });
      if (next !== false && next !== null && next !== undefined) return next;
    } catch (error) {
      this.#finish();
      this.#signal?.throwIfAborted();
      throw toError(error);
    }
    this.#finish();
    // Closed by the signal, it has ended without an error of its own.
    this.#signal?.throwIfAborted();
    return null;
  }

  #finish() {
    this.#ended = true;
    this.#batch = null;
    this.#signal?.removeEventListener('abort', this.#abort);
  }

  /** Makes the next batch the current one; false at the end. */
  async #advance() {
    for (;;) {
      const bytes = await this.#pull(false);
      if (bytes === null) return false;
      this.#batch = decodeChunk(bytes, this.#bigint);
      this.#row = 0;
      if (this.#names.length === 0) this.#names = this.#batch.names;
      if (this.#batch.rows > 0) return true;
    }
  }

  /** Names of the columns, once a row was read. */
  get columns() {
    return this.#names;
  }

  /** The summary, once the last row was read; null before. */
  get summary() {
    const told = this.#native?.told() ?? null;
    return told === null ? null : summaryOf(told);
  }

  #take() {
    return { value: makeRow(this.#names, this.#batch.columns, this.#row++), done: false };
  }

  /** The next row, as an iterator says it. */
  async next() {
    if (this.#batch !== null && this.#row < this.#batch.rows) return this.#take();
    return (await this.#advance()) ? this.#take() : { value: undefined, done: true };
  }

  /** Closes the stream: what `break` does. */
  async return(value) {
    this.close();
    return { value, done: true };
  }

  [Symbol.asyncIterator]() {
    return this;
  }

  /** The rows that were not read yet, batch by batch, each an array of rows. */
  async *batches() {
    try {
      while ((this.#batch !== null && this.#row < this.#batch.rows) || (await this.#advance())) {
        const rows = [];
        while (this.#row < this.#batch.rows) rows.push(this.#take().value);
        yield rows;
      }
    } finally {
      this.close();
    }
  }

  /** The rows as parts of one stream of Arrow IPC, which `RecordBatchReader.from` reads. */
  async *arrow() {
    try {
      for (let part = await this.#pull(true); part !== null; part = await this.#pull(true)) {
        if (part.length > 0) yield part;
      }
    } finally {
      this.close();
    }
  }

  /** Ends the statement. */
  close() {
    this.#native?.close();
    this.#finish();
  }
}

if (Symbol.dispose) {
  Stream.prototype[Symbol.dispose] = Stream.prototype.close;
  Stream.prototype[Symbol.asyncDispose] = async function dispose() {
    this.close();
  };
}

module.exports = { Stream };
