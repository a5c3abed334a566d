'use strict';

// One class for each thing that a program may want to do about an error.

/** Something that Telar refused or could not do. */
class TelarError extends Error {
  constructor(message, options) {
    super(message, options);
    this.code = null;
    this.detail = null;
    this.line = null;
    this.column = null;
    this.offset = null;
  }
}

/** The statement, or what it was given, is wrong. */
class StatementError extends TelarError {}
/** The text of the statement is wrong; the message shows where. */
class CypherSyntaxError extends StatementError {}
/** A constraint would be broken. Nothing was changed. */
class ConstraintError extends StatementError {}
/** Another transaction was first. Nothing was changed: run the transaction again. */
class ConflictError extends TelarError {}
/** The statement was ended from outside. Nothing was changed. */
class InterruptedError extends TelarError {}
/** The statement took longer than its time limit. Nothing was changed. */
class TimeLimitError extends InterruptedError {}
/** The statement needed more memory than its limit. Nothing was changed. */
class MemoryLimitError extends TelarError {}
/** The session only reads, and the statement writes. */
class ReadOnlyError extends TelarError {}
/** The files of the database, or the disk. */
class StorageError extends TelarError {}
/** Another process has the database open, and does not let this one in. */
class LockedError extends StorageError {}
/** The process that has the database ended or hangs: nobody knows whether this was committed. */
class UnknownOutcomeError extends StorageError {}
/** It was committed, and its rows are lost with the process that had the database. */
class ResultLostError extends StorageError {}
/** The database, transaction or stream is closed. */
class ClosedError extends TelarError {}

const errors = {
  TelarError,
  StatementError,
  CypherSyntaxError,
  ConstraintError,
  ConflictError,
  InterruptedError,
  TimeLimitError,
  MemoryLimitError,
  ReadOnlyError,
  StorageError,
  LockedError,
  UnknownOutcomeError,
  ResultLostError,
  ClosedError,
};

for (const [name, type] of Object.entries(errors)) {
  Object.defineProperty(type.prototype, 'name', {
    value: name,
    configurable: true,
    writable: true,
  });
}

/** The error of a failure of the native side; anything else is returned as it is. */
function toError(failure) {
  if (failure === null || typeof failure !== 'object' || failure.failed === undefined)
    return failure;
  if (failure.failed === 'RangeError') return new RangeError(failure.message);
  if (failure.failed === 'TypeError') return new TypeError(failure.message);
  const error = new errors[failure.failed](failure.message);
  for (const key of ['code', 'detail', 'line', 'column', 'offset'])
    error[key] = failure[key] ?? null;
  return error;
}

/** The value that a native call returned; throws if it is a failure. */
function checked(answer) {
  if (answer !== null && typeof answer === 'object' && answer.failed !== undefined) {
    throw toError(answer);
  }
  return answer;
}

module.exports = { errors, toError, checked };
