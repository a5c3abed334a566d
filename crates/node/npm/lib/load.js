'use strict';

// Tables that become nodes and relationships, without a statement for each row.

const native = require('./native.js');
const { checked, toError } = require('./errors.js');
const { submit } = require('./hub.js');
const { options } = require('./options.js');
const { tableRows } = require('./tables.js');

const ENDS = {
  src: 'string',
  dst: 'string',
  label: 'string',
  key: 'string',
  srcLabel: 'string',
  srcKey: 'string',
  dstLabel: 'string',
  dstKey: 'string',
};

function labelsOf(labels) {
  const all = typeof labels === 'string' ? [labels] : labels;
  if (!Array.isArray(all) || !all.every((label) => typeof label === 'string')) {
    throw new TypeError('labels are a string, or an array of strings');
  }
  return all;
}

/** Tables that come in together, as one commit. */
class Load {
  #native;

  constructor(database, given) {
    const { unique = [], badRows } = options('load', given, {
      unique: 'object',
      badRows: 'number',
    });
    if (badRows !== undefined && !(Number.isSafeInteger(badRows) && badRows >= 0)) {
      throw new RangeError(`badRows is a number of rows, not ${badRows}`);
    }
    this.#native = checked(native.Load.begin(database, labelsOf(unique), badRows));
  }

  /** Adds a table of nodes. Each column is a property; null is none. */
  nodes(labels, table) {
    checked(this.#native.nodes(labelsOf(labels), tableRows(table)));
    return this;
  }

  /** Adds a table of relationships of a type; the columns beside `src` and `dst` are properties. */
  relationships(type, table, given) {
    if (typeof type !== 'string') throw new TypeError('the type of relationships is a string');
    const ends = options('relationships', given, ENDS);
    const { src, dst, label, key, srcLabel = label, dstLabel = label } = ends;
    const { srcKey = key, dstKey = key } = ends;
    for (const [name, value] of Object.entries({ src, dst, srcLabel, dstLabel })) {
      if (value === undefined) {
        const either = name.endsWith('Label') ? ', or label,' : '';
        throw new TypeError(`${name}${either} is missing`);
      }
    }
    const all = { src, dst, srcLabel, dstLabel, srcKey, dstKey };
    checked(this.#native.relationships(type, tableRows(table), all));
    return this;
  }

  /** Brings everything in, as one commit that is on disk then. Returns the report. */
  async commit() {
    try {
      return await submit((hub, number) => this.#native.commit(hub, number));
    } catch (error) {
      throw toError(error);
    }
  }
}

module.exports = { Load };
