'use strict';

// Arrow and results as parameters, and as tables that become nodes and relationships.

const { types } = require('node:util');
const native = require('./native.js');
const { checked } = require('./errors.js');
const { encodeParameters, encodeValue } = require('./encode.js');

/** Arrow IPC bytes that are a table, where bytes alone would be a byte string. */
class ArrowTable {
  constructor(bytes) {
    this.bytes = unshared(bytes);
  }
}

/** The same bytes, in memory that no other thread writes. */
function unshared(bytes) {
  return types.isSharedArrayBuffer(bytes.buffer) ? new Uint8Array(bytes) : bytes;
}

/** Whether it is a table or record batch of the package apache-arrow. */
function isArrow(value) {
  return (
    typeof value === 'object' &&
    value !== null &&
    typeof value.numRows === 'number' &&
    typeof value.schema === 'object' &&
    Array.isArray(value.schema?.fields) &&
    (Array.isArray(value.batches) || typeof value.data === 'object')
  );
}

/** A table that no copy of apache-arrow knows that was loaded so far. */
class UnknownCopy extends TypeError {
  constructor() {
    super('no copy of apache-arrow beside telar has made this table: give tableToIPC(table)');
  }
}

/** Copies of apache-arrow: that of `require`, and that of `import`, which has classes of its own. */
let required;
let imported = null;

function requireArrow() {
  try {
    return require('apache-arrow');
  } catch {
    return null;
  }
}

/** The IPC bytes of a table or record batch of apache-arrow. */
function ipcOf(given) {
  required ??= requireArrow();
  for (const arrow of [required, imported]) {
    if (arrow === null) continue;
    // Not `instanceof`, which holds for classes of the other copy, too.
    const isOf = (type) => Object.prototype.isPrototypeOf.call(type.prototype, given);
    if (isOf(arrow.Table)) return arrow.tableToIPC(given);
    if (isOf(arrow.RecordBatch)) return arrow.tableToIPC(new arrow.Table([given]));
  }
  throw new UnknownCopy();
}

/** Calls `use`, and again with the copy of apache-arrow that `import` has, if that was missing. */
async function withArrow(use) {
  try {
    return use();
  } catch (error) {
    if (!(error instanceof UnknownCopy) || imported !== null) throw error;
    imported = await import('apache-arrow').catch(() => null);
    return use();
  }
}

/** A table of Arrow: of IPC bytes, a file or a stream, or of a table of apache-arrow. */
function fromArrow(given) {
  if (given instanceof ArrowTable) return given;
  if (given instanceof Uint8Array) return new ArrowTable(given);
  if (given instanceof ArrayBuffer) return new ArrowTable(new Uint8Array(given));
  if (!isArrow(given)) {
    throw new TypeError('fromArrow takes Arrow IPC bytes, or a table of apache-arrow');
  }
  return new ArrowTable(ipcOf(given));
}

/** The rows of something that is a table as it is; null if it is none. */
function rowsOf(value) {
  if (typeof value !== 'object' || value === null) return null;
  const { Result, heldOf } = require('./result.js');
  if (value instanceof Result) return native.Rows.ofResult(heldOf(value));
  if (value instanceof ArrowTable) return native.Rows.ofIpc(value.bytes);
  if (isArrow(value)) return native.Rows.ofIpc(ipcOf(value));
  return null;
}

/** The rows of a table that is to become nodes or relationships. */
function tableRows(table) {
  if (table instanceof Uint8Array) return native.Rows.ofIpc(unshared(table));
  const rows = rowsOf(table);
  if (rows !== null) return rows;
  if (typeof table !== 'object' || table === null) {
    throw new TypeError('a table is Arrow, a result, an object of columns or an array of objects');
  }
  return checked(native.Rows.ofValue(encodeValue(table, 'the table')));
}

const NONE = new Uint8Array(0);

/** Calls `use` with parameters as the native side takes them: bytes, and tables or null. */
function withParameters(given, use) {
  if (given === undefined || given === null) return use(NONE, null);
  if (typeof given !== 'object' || Array.isArray(given)) {
    throw new TypeError('parameters are an object, from names to values');
  }
  const entries = given instanceof Map ? [...given] : Object.entries(given);
  let tables = null;
  let plain = entries;
  for (const entry of entries) {
    const [name, value] = entry;
    if (typeof name !== 'string') {
      throw new TypeError(`names of parameters are strings, and ${String(name)} is not`);
    }
    const rows = rowsOf(value);
    if (rows === null) continue;
    if (tables === null) {
      tables = new native.Tables();
      plain = [...entries];
    }
    tables.add(name, rows);
    plain.splice(plain.indexOf(entry), 1);
  }
  return use(encodeParameters(plain), tables);
}

module.exports = { ArrowTable, fromArrow, tableRows, withArrow, withParameters };
