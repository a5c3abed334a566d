'use strict';

// Parameters as bytes. The format is described in src/codec/mod.rs.

const { types } = require('node:util');
const temporal = require('./temporal.js');
const { Node, Relationship, Path, Point, Vector, COORDINATES, Float } = require('./graph.js');

const DEPTH_MAX = 200;
const INT_MIN = -(2n ** 63n);
const INT_MAX = 2n ** 63n - 1n;

/** Bytes that grow as they are written. */
class Writer {
  constructor(size) {
    this.use(size);
    this.at = 0;
    this.busy = false;
  }

  use(size) {
    this.bytes = Buffer.allocUnsafeSlow(size);
    this.view = new DataView(this.bytes.buffer, this.bytes.byteOffset, size);
  }

  room(count) {
    if (this.at + count <= this.bytes.length) return;
    const before = this.bytes;
    this.use(Math.max(before.length * 2, this.at + count));
    before.copy(this.bytes, 0, 0, this.at);
  }

  byte(value) {
    this.room(1);
    this.bytes[this.at++] = value;
  }

  u32(value) {
    this.room(4);
    this.view.setUint32(this.at, value, true);
    this.at += 4;
  }

  i32(value) {
    this.room(4);
    this.view.setInt32(this.at, value, true);
    this.at += 4;
  }

  i64(value) {
    this.room(8);
    this.view.setBigInt64(this.at, BigInt(value), true);
    this.at += 8;
  }

  f64(value) {
    this.room(8);
    this.view.setFloat64(this.at, value, true);
    this.at += 8;
  }

  text(text, what) {
    const most = text.length * 3;
    this.room(4 + most);
    const begin = this.at + 4;
    let end = begin;
    // Short texts of ASCII are written faster here than by a call.
    if (text.length <= 24) {
      for (let n = 0; n < text.length; n++) {
        const unit = text.charCodeAt(n);
        if (unit > 127) {
          end = -1;
          break;
        }
        this.bytes[end++] = unit;
      }
    } else {
      end = -1;
    }
    if (end < 0) {
      if (!text.isWellFormed()) {
        const place = typeof what === 'string' ? what : what.what;
        throw new TypeError(`${place} is a string with half a character (a lone surrogate)`);
      }
      end = begin + this.bytes.utf8Write(text, begin, most);
    }
    this.view.setUint32(this.at, end - begin, true);
    this.at = end;
  }

  /** The bytes that were written. They are overwritten by what is written next. */
  written() {
    return this.bytes.subarray(0, this.at);
  }
}

/** A name for the place of a value, made only for errors. */
function place(root, path) {
  let text = root;
  for (const key of path) {
    if (typeof key === 'number') text += `[${key}]`;
    else text += /^[\p{L}_$][\p{L}\p{N}_$]*$/u.test(key) ? `.${key}` : `[${JSON.stringify(key)}]`;
  }
  return text;
}

class Encoder {
  constructor(writer, root) {
    this.out = writer;
    this.root = root;
    this.path = [];
    this.around = [];
  }

  get what() {
    return place(this.root, this.path);
  }

  wrong(text) {
    return new TypeError(`${this.what} is ${text}`);
  }

  value(value) {
    switch (typeof value) {
      case 'string':
        this.out.byte(6);
        this.out.text(value, this);
        return;
      case 'number':
        this.number(value);
        return;
      case 'boolean':
        this.out.byte(value ? 2 : 1);
        return;
      case 'undefined':
        this.out.byte(0);
        return;
      case 'bigint':
        this.integer(value);
        return;
      case 'object':
        if (value === null) this.out.byte(0);
        else this.object(value);
        return;
      default:
        throw this.wrong(`a ${typeof value}, which is no value of Cypher`);
    }
  }

  number(value) {
    // Whole numbers are integers, except the zero that has a sign.
    const whole = Number.isSafeInteger(value) && !Object.is(value, -0);
    this.out.byte(whole ? 3 : 5);
    this.out.f64(value);
  }

  integer(value) {
    if (value < INT_MIN || value > INT_MAX) {
      throw new RangeError(`${this.what} is ${value}, and integers have 64 bits`);
    }
    this.out.byte(4);
    this.out.i64(value);
  }

  object(value) {
    if (Array.isArray(value)) this.list(value);
    else if (value instanceof temporal.Temporal) this.time(value);
    else if (value instanceof Date) this.date(value);
    else if (ArrayBuffer.isView(value) || types.isAnyArrayBuffer(value)) this.binary(value);
    else if (value instanceof Map) this.map([...value], value);
    else if (value instanceof Set) this.list([...value], value);
    else if (value instanceof Float) {
      this.out.byte(5);
      this.out.f64(value.value);
    } else if (value instanceof Point) this.point(value);
    else if (value instanceof Vector) this.vector(value);
    else if (types.isBoxedPrimitive(value)) this.value(value.valueOf());
    else this.plain(value);
  }

  plain(value) {
    if (value instanceof Node || value instanceof Relationship || value instanceof Path) {
      throw this.wrong(
        'a node, relationship or path of a result, which is no value to give: ' +
          'name it by a property, or by its elementId',
      );
    }
    if (types.isPromise(value)) throw this.wrong('a Promise: await it first');
    const odd =
      types.isRegExp(value) ||
      types.isNativeError(value) ||
      types.isWeakMap(value) ||
      types.isWeakSet(value) ||
      types.isGeneratorObject(value);
    if (odd) throw this.wrong(`a ${value.constructor?.name}, which is no value of Cypher`);
    this.map(Object.entries(value), value);
  }

  /** Runs `write` for something with values in it. */
  within(value, write) {
    if (this.around.includes(value)) throw this.wrong('within itself');
    if (this.around.length >= DEPTH_MAX) {
      throw new RangeError(`${this.what} is within more than ${DEPTH_MAX} arrays and objects`);
    }
    this.around.push(value);
    write();
    this.around.pop();
  }

  list(values, around = values) {
    this.out.byte(8);
    this.out.u32(values.length);
    const { length } = values;
    this.within(around, () => {
      for (let n = 0; n < length; n++) {
        this.path.push(n);
        this.value(values[n]);
        this.path.pop();
      }
    });
  }

  map(entries, value) {
    this.out.byte(9);
    this.out.u32(entries.length);
    this.within(value, () => {
      for (const [key, inner] of entries) {
        if (typeof key !== 'string') {
          throw new TypeError(`keys of ${this.what} are strings, and ${String(key)} is not`);
        }
        this.out.text(key, `a key of ${this.root}`);
        this.path.push(key);
        this.value(inner);
        this.path.pop();
      }
    });
  }

  binary(value) {
    if (value instanceof Uint8Array || types.isAnyArrayBuffer(value) || value instanceof DataView) {
      const bytes = ArrayBuffer.isView(value)
        ? Buffer.from(value.buffer, value.byteOffset, value.byteLength)
        : Buffer.from(value);
      this.out.byte(7);
      this.out.u32(bytes.length);
      this.out.room(bytes.length);
      bytes.copy(this.out.bytes, this.out.at);
      this.out.at += bytes.length;
      return;
    }
    const float = value instanceof Float64Array || value instanceof Float32Array;
    this.out.byte(8);
    this.out.u32(value.length);
    this.out.room(9 * value.length);
    for (let n = 0; n < value.length; n++) {
      if (float) {
        this.out.byte(5);
        this.out.f64(value[n]);
      } else if (typeof value[n] === 'bigint') {
        this.path.push(n);
        this.integer(value[n]);
        this.path.pop();
      } else {
        this.out.byte(3);
        this.out.f64(value[n]);
      }
    }
  }

  date(value) {
    if (Number.isNaN(value.getTime())) throw new RangeError(`${this.what} is an invalid Date`);
    this.time(temporal.ZonedDateTime.fromDate(value));
  }

  time(value) {
    const { out } = this;
    if (value instanceof temporal.LocalDate) {
      out.byte(10);
      out.i64(value.epochDay);
    } else if (value instanceof temporal.LocalTime) {
      out.byte(11);
      out.i64(value.nanosecondOfDay);
    } else if (value instanceof temporal.ZonedTime) {
      out.byte(12);
      out.i64(value.nanosecondOfDay);
      out.i32(value.offset);
    } else if (value instanceof temporal.LocalDateTime) {
      out.byte(13);
      out.i64(value.epochDay);
      out.i64(value.nanosecondOfDay);
    } else if (value instanceof temporal.ZonedDateTime) {
      out.byte(14);
      out.i64(value.epochDay);
      out.i64(value.nanosecondOfDay);
      out.i32(value.offset);
      out.text(value.zone ?? '', this.root);
    } else {
      out.byte(15);
      out.i64(value.months);
      out.i64(value.days);
      out.i64(value.seconds);
      out.u32(value.nanoseconds);
    }
  }

  point(value) {
    const { out } = this;
    out.byte(16);
    out.byte(value.srid & 255);
    out.byte(value.srid >> 8);
    const all = value.z === null ? [value.x, value.y] : [value.x, value.y, value.z];
    out.byte(all.length);
    all.forEach((at) => out.f64(at));
  }

  vector({ coordinates }) {
    const { out } = this;
    out.byte(20);
    out.byte(COORDINATES.findIndex(([, of]) => coordinates instanceof of));
    const { buffer, byteOffset, byteLength } = coordinates;
    out.u32(byteLength);
    out.room(byteLength);
    Buffer.from(buffer, byteOffset, byteLength).copy(out.bytes, out.at);
    out.at += byteLength;
  }
}

const SHARED_BYTES = 1 << 12;
const KEPT_BYTES_MAX = 1 << 20;
let shared = new Writer(SHARED_BYTES);

/** Calls `write` with a writer that nobody else uses, and returns what `use` makes of the bytes. */
function writing(write) {
  // What a getter of a parameter does may need a writer, too.
  const writer = shared.busy ? new Writer(256) : shared;
  writer.busy = true;
  writer.at = 0;
  try {
    write(writer);
    return writer.written();
  } finally {
    writer.busy = false;
    if (writer === shared && writer.bytes.length > KEPT_BYTES_MAX)
      shared = new Writer(SHARED_BYTES);
  }
}

/** One value as bytes, which are good until the next call. */
function encodeValue(value, what) {
  return writing((writer) => new Encoder(writer, what).value(value));
}

/** Parameters as bytes, which are good until the next call. */
function encodeParameters(entries) {
  return writing((writer) => {
    writer.u32(entries.length);
    for (const [name, value] of entries) {
      writer.text(name, 'the name of a parameter');
      const encoder = new Encoder(writer, `parameter ${name}`);
      encoder.value(value);
    }
  });
}

module.exports = { encodeValue, encodeParameters };
