'use strict';

// Rows of results, read from bytes. The format is described in src/codec.

const temporal = require('./temporal.js');
const { Node, Relationship, Path, Point, Vector, COORDINATES } = require('./graph.js');

const NULL_TEXT = 0xffffffff;
/** Texts up to this length are cut out of a longer one; V8 copies those. */
const CUT_MAX = 12;

/** Sets a property of any name: an assignment to `__proto__` would do something else. */
function set(object, key, value) {
  if (key === '__proto__') {
    const all = { value, enumerable: true, configurable: true, writable: true };
    Object.defineProperty(object, key, all);
  } else {
    object[key] = value;
  }
}

/** An integer of 64 bits: a number if it is safe. */
function integer(value) {
  const number = Number(value);
  return Number.isSafeInteger(number) ? number : value;
}

class Reader {
  constructor(bytes, bigint) {
    this.bytes = bytes;
    this.view = new DataView(bytes.buffer, bytes.byteOffset, bytes.byteLength);
    this.at = 0;
    this.bigint = bigint;
    this.keys = [];
    this.nodes = [];
    this.relationships = [];
  }

  u8() {
    return this.bytes[this.at++];
  }

  u32() {
    const value = this.view.getUint32(this.at, true);
    this.at += 4;
    return value;
  }

  i32() {
    const value = this.view.getInt32(this.at, true);
    this.at += 4;
    return value;
  }

  i64() {
    const value = this.view.getBigInt64(this.at, true);
    this.at += 8;
    return value;
  }

  /** An integer of 64 bits that is no value of Cypher, but a part of one. */
  part() {
    return integer(this.i64());
  }

  f64() {
    const value = this.view.getFloat64(this.at, true);
    this.at += 8;
    return value;
  }

  text() {
    const length = this.u32();
    const begin = this.at;
    this.at += length;
    return this.slice(begin, length);
  }

  slice(begin, length) {
    const { bytes } = this;
    if (length <= CUT_MAX) {
      let text = '';
      for (let at = begin; at < begin + length; at++) {
        if (bytes[at] > 127) return bytes.utf8Slice(begin, begin + length);
        text += String.fromCharCode(bytes[at]);
      }
      return text;
    }
    return bytes.utf8Slice(begin, begin + length);
  }

  align(count) {
    this.at = Math.ceil(this.at / count) * count;
  }

  key() {
    const number = this.u32();
    if (number > 0) return this.keys[number - 1];
    const key = this.text();
    this.keys.push(key);
    return key;
  }

  map() {
    const map = {};
    for (let left = this.u32(); left > 0; left--) {
      const key = this.key();
      set(map, key, this.value());
    }
    return map;
  }

  list() {
    const list = new Array(this.u32());
    for (let n = 0; n < list.length; n++) list[n] = this.value();
    return list;
  }

  node() {
    const number = this.u32();
    if (number > 0) return this.nodes[number - 1];
    const id = this.part();
    const labels = new Array(this.u32());
    for (let n = 0; n < labels.length; n++) labels[n] = this.key();
    const node = new Node(id, labels, this.map());
    this.nodes.push(node);
    return node;
  }

  relationship() {
    const number = this.u32();
    if (number > 0) return this.relationships[number - 1];
    const [id, from, to] = [this.part(), this.part(), this.part()];
    const elementId = this.text();
    const type = this.key();
    const relationship = new Relationship(id, elementId, type, from, to, this.map());
    this.relationships.push(relationship);
    return relationship;
  }

  path() {
    const length = this.u32();
    const nodes = [];
    const relationships = [];
    for (let n = 0; n <= length; n++) nodes.push(this.node());
    for (let n = 0; n < length; n++) relationships.push(this.relationship());
    return new Path(nodes, relationships);
  }

  moment() {
    const [epochDay, nanosecondOfDay, offset] = [this.part(), this.part(), this.i32()];
    const zone = this.text() || null;
    return temporal.make(temporal.ZonedDateTime, { epochDay, nanosecondOfDay, offset, zone });
  }

  time(tag) {
    const { make } = temporal;
    switch (tag) {
      case 10:
        return make(temporal.LocalDate, { epochDay: this.part() });
      case 11:
        return make(temporal.LocalTime, { nanosecondOfDay: this.part() });
      case 12:
        return make(temporal.ZonedTime, { nanosecondOfDay: this.part(), offset: this.i32() });
      case 13: {
        const [epochDay, nanosecondOfDay] = [this.part(), this.part()];
        return make(temporal.LocalDateTime, { epochDay, nanosecondOfDay });
      }
      case 14:
        return this.moment();
      default: {
        const [months, days, seconds] = [this.part(), this.part(), this.part()];
        return make(temporal.Duration, { months, days, seconds, nanoseconds: this.u32() });
      }
    }
  }

  point() {
    const srid = this.u8() + 256 * this.u8();
    const count = this.u8();
    const [x, y] = [this.f64(), this.f64()];
    return new Point(x, y, count === 3 ? this.f64() : null, srid);
  }

  vector() {
    const [, of] = COORDINATES[this.u8()];
    const length = this.u32();
    this.at += length;
    // A copy, which is aligned.
    const bytes = new Uint8Array(this.bytes.subarray(this.at - length, this.at));
    return new Vector(new of(bytes.buffer, 0, length / of.BYTES_PER_ELEMENT));
  }

  value() {
    const tag = this.u8();
    switch (tag) {
      case 0:
        return null;
      case 1:
        return false;
      case 2:
        return true;
      case 3:
        return this.bigint ? BigInt(this.f64()) : this.f64();
      case 4:
        return this.i64();
      case 5:
        return this.f64();
      case 6:
        return this.text();
      case 7: {
        const length = this.u32();
        this.at += length;
        // A copy: one of many values must not keep all of them in memory.
        return new Uint8Array(this.bytes.subarray(this.at - length, this.at));
      }
      case 8:
        return this.list();
      case 9:
        return this.map();
      case 16:
        return this.point();
      case 20:
        return this.vector();
      case 17:
        return this.node();
      case 18:
        return this.relationship();
      case 19:
        return this.path();
      default:
        if (tag >= 10 && tag <= 15) return this.time(tag);
        throw new Error(`telar: no value has the tag ${tag}`);
    }
  }

  /** Typed values of a column, over the bytes themselves. */
  typed(Type, rows) {
    const size = Type.BYTES_PER_ELEMENT;
    let { buffer } = this.bytes;
    let begin = this.bytes.byteOffset + this.at;
    if (begin % size !== 0) {
      buffer = buffer.slice(begin, begin + rows * size);
      begin = 0;
    }
    this.at += rows * size;
    return new Type(buffer, begin, rows);
  }

  /** A column of fixed size, of which `convert` makes values. */
  fixed(Type, rows, convert) {
    const present = this.u8() === 1 ? this.typed(Uint8Array, rows) : null;
    this.align(8);
    const values = this.typed(Type, rows);
    if (present === null && convert === null) return values;
    const all = new Array(rows);
    for (let row = 0; row < rows; row++) {
      if (present !== null && present[row] === 0) all[row] = null;
      else all[row] = convert === null ? values[row] : convert(values[row]);
    }
    return all;
  }

  texts(rows) {
    this.align(4);
    const lengths = this.typed(Uint32Array, rows);
    const ascii = this.u8() === 1;
    const count = this.u32();
    const begin = this.at;
    this.at += count;
    const all = new Array(rows);
    const whole = ascii && rows > 1 ? this.bytes.latin1Slice(begin, begin + count) : null;
    let at = begin;
    for (let row = 0; row < rows; row++) {
      const length = lengths[row];
      if (length === NULL_TEXT) {
        all[row] = null;
        continue;
      }
      if (whole !== null && length <= CUT_MAX) {
        all[row] = whole.substring(at - begin, at - begin + length);
      } else {
        all[row] = ascii ? this.bytes.latin1Slice(at, at + length) : this.slice(at, length);
      }
      at += length;
    }
    return all;
  }

  column(rows) {
    const kind = this.u8();
    switch (kind) {
      case 0:
        return new Array(rows).fill(this.value());
      case 1:
        return this.fixed(Uint8Array, rows, (value) => value === 1);
      case 2:
        return this.fixed(Float64Array, rows, this.bigint ? BigInt : null);
      case 3:
        return this.fixed(BigInt64Array, rows, this.bigint ? null : integer);
      case 4:
        return this.fixed(Float64Array, rows, null);
      case 5:
        return this.texts(rows);
      default: {
        const all = new Array(rows);
        for (let row = 0; row < rows; row++) all[row] = this.value();
        return all;
      }
    }
  }
}

/** Rows of the whole result that a chunk is a part of. */
function rowsInAll(bytes) {
  return bytes.readUInt32LE(0);
}

/** The columns of a chunk of rows, each something like an array, and their names. */
function decodeChunk(bytes, bigint) {
  const reader = new Reader(bytes, bigint);
  reader.at = 4;
  const rows = reader.u32();
  const columns = new Array(reader.u32());
  const names = new Array(columns.length);
  for (let n = 0; n < names.length; n++) names[n] = reader.text();
  for (let n = 0; n < columns.length; n++) columns[n] = reader.column(rows);
  return { rows, names, columns };
}

/** A row as an object. */
function makeRow(names, columns, row) {
  const object = {};
  for (let n = 0; n < names.length; n++) {
    const name = names[n];
    if (name === '__proto__') set(object, name, columns[n][row]);
    else object[name] = columns[n][row];
  }
  return object;
}

module.exports = { decodeChunk, makeRow, rowsInAll };
